//! Requests to a server, one function each: with headers, a time limit, and further tries.
//!
//! It does not know packets, and keeps no state but the connection and what the server can do.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream;
use bazel_remote_apis::google::longrunning::CancelOperationRequest;
use bazel_remote_apis::google::longrunning::operation::Result as Done;
use bazel_remote_apis::google::longrunning::operations_client::OperationsClient;
use prost::Message;
use reapi::action_cache_client::ActionCacheClient;
use reapi::capabilities_client::CapabilitiesClient;
use reapi::content_addressable_storage_client::ContentAddressableStorageClient;
use reapi::execution_client::ExecutionClient;
use reapi::{ActionResult, Digest as Named, ServerCapabilities};
use tonic::metadata::{AsciiMetadataKey, BinaryMetadataValue, MetadataMap};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};

use crate::action::{self, Blob};
use crate::helper::Credentials;
use crate::trouble::{Meaning, Trouble};
use crate::{Address, Options};

/// The most bytes of blobs in one message, unless the server allows less; room is left for the frame.
const BATCH: usize = (4 << 20) - FRAME;
const FRAME: usize = 64 << 10;
/// The bytes that each digest of a batch takes beside its blob.
const ITEM: usize = 128;
const MAX_MESSAGE: usize = 64 << 20;
/// The size of the pieces in which a blob larger than a batch is sent.
const PIECE: usize = 1 << 20;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// How often the system checks that a silent connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// A large blob gets more time: a second for so many bytes.
const SLOWEST: f64 = 256.0 * 1024.0;

/// Puts headers on every request: those that stay, and what the credential helper says.
#[derive(Clone)]
pub struct Headers(Arc<MetadataMap>, Arc<Credentials>);

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata_mut();
        for pair in self.0.iter() {
            match pair {
                tonic::metadata::KeyAndValueRef::Ascii(key, value) => {
                    metadata.insert(key, value.clone());
                }
                tonic::metadata::KeyAndValueRef::Binary(key, value) => {
                    metadata.insert_bin(key, value.clone());
                }
            }
        }
        for (key, value) in &*self.1.headers() {
            metadata.append(key.clone(), value.clone());
        }
        Ok(request)
    }
}

type Service = InterceptedService<Channel, Headers>;

/// How far an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Queued,
    /// A worker has begun it, or the server does not tell.
    Running,
}

/// The result of reading one blob.
pub enum Read {
    Bytes(Vec<u8>),
    Missing,
    /// The bytes are not those of the digest.
    Broken,
}

pub struct Wire {
    options: Arc<Options>,
    service: Service,
    credentials: Arc<Credentials>,
    /// Where actions are executed.
    executor: Service,
    executor_credentials: Arc<Credentials>,
    batch: AtomicUsize,
    uploads: AtomicU64,
}

impl Wire {
    /// The way to an address.
    fn channel(options: &Options, address: &Address) -> Result<Channel, Trouble> {
        let unable = |e: String| Trouble::unable(options.without_secrets(&e));
        let mut endpoint = Endpoint::from_shared(address.uri())
            .map_err(|e| unable(e.to_string()))?
            .connect_timeout(options.timeout)
            .tcp_keepalive(Some(KEEP_ALIVE))
            .user_agent(concat!("litmake/", env!("CARGO_PKG_VERSION")))
            .map_err(|e| unable(e.to_string()))?;
        if address.encrypted {
            let host = address.host.trim_matches(['[', ']']);
            let mut tls = ClientTlsConfig::new().domain_name(host);
            tls = match &options.tls.authority {
                Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
                None => tls.with_native_roots(),
            };
            if let Some((certificate, key)) = &options.tls.client {
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            let said = |e: tonic::transport::Error| {
                let mut words = e.to_string();
                let mut source = std::error::Error::source(&e);
                while let Some(error) = source {
                    words = format!("{words}: {error}");
                    source = error.source();
                }
                unable(format!("the certificates or the key cannot be used: {words}"))
            };
            endpoint = endpoint.tls_config(tls).map_err(said)?;
        }
        Ok(endpoint.connect_lazy())
    }

    /// Connects when the first request is made. Has to be called within a runtime.
    pub fn new(options: Arc<Options>) -> Result<Wire, Trouble> {
        let mut headers = MetadataMap::new();
        for header in &options.headers {
            let key = AsciiMetadataKey::from_bytes(header.name.as_bytes());
            let value = header.value.parse();
            match (key, value) {
                (Ok(key), Ok(value)) => {
                    headers.insert(key, value);
                }
                _ => {
                    return Err(Trouble::unable(format!("`{}` is no header", header.name)));
                }
            }
        }
        let about = reapi::RequestMetadata {
            tool_details: Some(reapi::ToolDetails {
                tool_name: "litmake".into(),
                tool_version: env!("CARGO_PKG_VERSION").into(),
            }),
            ..reapi::RequestMetadata::default()
        };
        headers.insert_bin(
            "build.bazel.remote.execution.v2.requestmetadata-bin",
            BinaryMetadataValue::from_bytes(&about.encode_to_vec()),
        );
        let headers = Arc::new(headers);
        let credentials = |address: &Address| {
            Arc::new(Credentials::new(&options.helpers, address, options.told.clone()))
        };
        let of_cache = credentials(&options.address);
        let channel = Wire::channel(&options, &options.address)?;
        let (executor, of_executor) = match &options.execution {
            Some(execution) if execution.address != options.address => {
                (Wire::channel(&options, &execution.address)?, credentials(&execution.address))
            }
            _ => (channel.clone(), of_cache.clone()),
        };
        let with = |channel, credentials: &Arc<Credentials>| {
            InterceptedService::new(channel, Headers(headers.clone(), credentials.clone()))
        };
        Ok(Wire {
            service: with(channel, &of_cache),
            credentials: of_cache,
            executor: with(executor, &of_executor),
            executor_credentials: of_executor,
            options,
            batch: AtomicUsize::new(BATCH),
            uploads: AtomicU64::new(0),
        })
    }

    /// Makes a request to the cache, as below.
    async fn often<T, F, A>(&self, bytes: usize, request: F) -> Result<T, Trouble>
    where
        F: FnMut() -> A,
        A: Future<Output = Result<T, Status>>,
    {
        self.often_as(&self.credentials, bytes, request).await
    }

    /// Makes a request until it succeeds, fails for good, or was made often enough.
    async fn often_as<T, F, A>(
        &self,
        credentials: &Credentials,
        bytes: usize,
        mut request: F,
    ) -> Result<T, Trouble>
    where
        F: FnMut() -> A,
        A: Future<Output = Result<T, Status>>,
    {
        let limit = self.options.timeout + Duration::from_secs_f64(bytes as f64 / SLOWEST);
        let mut wait = FIRST_WAIT;
        let mut left = self.options.retries;
        let begun = Instant::now();
        loop {
            let trouble = match self.once_as(credentials, limit, &mut request).await {
                Ok(value) => return Ok(value),
                Err(trouble) => trouble,
            };
            // A request that failed late is not tried again: somebody may wait for it.
            if left == 0 || !trouble.passing || begun.elapsed() >= limit {
                return Err(trouble);
            }
            left -= 1;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(self.options.timeout);
        }
    }

    /// Makes a request. A helper whose word the server does not take is asked once more.
    async fn once_as<T, F, A>(
        &self,
        credentials: &Credentials,
        limit: Duration,
        mut request: F,
    ) -> Result<T, Trouble>
    where
        F: FnMut() -> A,
        A: Future<Output = Result<T, Status>>,
    {
        let mut is_told_anew = false;
        loop {
            credentials.refresh().await?;
            let shown = credentials.headers();
            match tokio::time::timeout(limit, request()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(status))
                    if status.code() == Code::Unauthenticated
                        && !is_told_anew
                        && credentials.forget(&shown) =>
                {
                    is_told_anew = true;
                }
                Ok(Err(status)) => return Err(Trouble::of(&self.options, &status)),
                Err(_) => return Err(Trouble::slow(limit)),
            }
        }
    }

    fn instance(&self) -> String {
        self.options.instance.clone()
    }

    fn storage(&self) -> ContentAddressableStorageClient<Service> {
        ContentAddressableStorageClient::new(self.service.clone())
            .max_decoding_message_size(MAX_MESSAGE)
    }

    fn actions(&self) -> ActionCacheClient<Service> {
        ActionCacheClient::new(self.service.clone()).max_decoding_message_size(MAX_MESSAGE)
    }

    fn bytes(&self) -> bytestream::byte_stream_client::ByteStreamClient<Service> {
        bytestream::byte_stream_client::ByteStreamClient::new(self.service.clone())
            .max_decoding_message_size(MAX_MESSAGE)
    }

    /// The abilities of the server that executes.
    pub async fn executor_capabilities(&self) -> Result<ServerCapabilities, Trouble> {
        let found = self.often_as(&self.executor_credentials, 0, || {
            let mut client = CapabilitiesClient::new(self.executor.clone());
            let request = reapi::GetCapabilitiesRequest { instance_name: self.instance() };
            async move { client.get_capabilities(request).await.map(tonic::Response::into_inner) }
        });
        found.await
    }

    /// Has an action executed. It takes as long as it takes; `on_word` hears how far it is, and by which name
    /// the server knows it. A server that says nothing for a while is asked again.
    pub async fn execute(
        &self,
        action: &Named,
        anew: bool,
        on_word: impl Fn(Stage, &str),
    ) -> Result<reapi::ExecuteResponse, Trouble> {
        let trouble = |status: Status| Trouble::of(&self.options, &status);
        let request = reapi::ExecuteRequest {
            instance_name: self.instance(),
            skip_cache_lookup: anew,
            action_digest: Some(action.clone()),
            digest_function: reapi::digest_function::Value::Sha256.into(),
            inline_stderr: true,
            ..reapi::ExecuteRequest::default()
        };
        let begun = self.once_as(&self.executor_credentials, self.options.timeout, || {
            let (mut client, request) = (self.execution(), request.clone());
            async move { client.execute(request).await }
        });
        let mut stream = begun.await?.into_inner();
        let mut name = String::new();
        loop {
            let operation = match tokio::time::timeout(self.options.silence, stream.message()).await
            {
                Ok(said) => said.map_err(trouble)?,
                // Before a server has named the action, there is nothing to ask for.
                Err(_) if name.is_empty() => continue,
                // A server that follows the action says at once how far it is.
                Err(_) => {
                    let request = reapi::WaitExecutionRequest { name: name.clone() };
                    let asked =
                        self.once_as(&self.executor_credentials, self.options.timeout, || {
                            let (mut client, request) = (self.execution(), request.clone());
                            async move { client.wait_execution(request).await }
                        });
                    match asked.await {
                        Ok(answer) => stream = answer.into_inner(),
                        // It has no such request.
                        Err(trouble) if trouble.meaning == Meaning::Unable => {}
                        Err(trouble) => return Err(trouble),
                    }
                    continue;
                }
            };
            let Some(operation) = operation else {
                return Err(trouble(Status::unavailable("it went away during a job")));
            };
            if !operation.done {
                let said = operation
                    .metadata
                    .and_then(|any| reapi::ExecuteOperationMetadata::decode(&any.value[..]).ok());
                let stage = match said.map(|said| said.stage()) {
                    Some(
                        reapi::execution_stage::Value::Queued
                        | reapi::execution_stage::Value::CacheCheck,
                    ) => Stage::Queued,
                    _ => Stage::Running,
                };
                name = operation.name;
                on_word(stage, &name);
                continue;
            }
            return match operation.result {
                Some(Done::Response(any)) => {
                    let response = reapi::ExecuteResponse::decode(&any.value[..])
                        .map_err(|_| Trouble::unable("its answer to a job cannot be read"))?;
                    // Some servers say here that something is missing, and some in the place of an answer.
                    match &response.status {
                        Some(status) if Code::from(status.code) == Code::FailedPrecondition => {
                            Err(trouble(Status::failed_precondition(&*status.message)))
                        }
                        _ => Ok(response),
                    }
                }
                Some(Done::Error(status)) => {
                    Err(trouble(Status::new(Code::from(status.code), status.message)))
                }
                None => Err(Trouble::unable("it ended a job without an answer")),
            };
        }
    }

    fn execution(&self) -> ExecutionClient<Service> {
        ExecutionClient::new(self.executor.clone()).max_decoding_message_size(MAX_MESSAGE)
    }

    /// Tells the server that nobody waits for an action. Servers need not listen, so that there is no answer.
    pub async fn cancel(&self, name: String) {
        let mut client = OperationsClient::new(self.executor.clone());
        let request = CancelOperationRequest { name };
        drop(tokio::time::timeout(self.options.timeout, client.cancel_operation(request)).await);
    }

    /// The abilities of the server; its limit on batches holds from then on.
    pub async fn capabilities(&self) -> Result<ServerCapabilities, Trouble> {
        let found = self.often(0, || {
            let mut client = CapabilitiesClient::new(self.service.clone());
            let request = reapi::GetCapabilitiesRequest { instance_name: self.instance() };
            async move { client.get_capabilities(request).await.map(tonic::Response::into_inner) }
        });
        let found = found.await?;
        if let Some(cache) = &found.cache_capabilities
            && let Ok(limit @ 1..) = usize::try_from(cache.max_batch_total_size_bytes)
        {
            let limit = limit.saturating_sub(FRAME).max(limit / 2);
            self.batch.store(limit.min(BATCH), Ordering::Relaxed);
        }
        Ok(found)
    }

    /// The result that is kept for an action, with the bytes of its packet where these are few.
    pub async fn action_result(&self, action: &Named) -> Result<Option<ActionResult>, Trouble> {
        let found = self.often(0, || {
            let mut client = self.actions();
            let request = reapi::GetActionResultRequest {
                instance_name: self.instance(),
                action_digest: Some(action.clone()),
                inline_output_files: vec![action::OUTPUT.into()],
                digest_function: reapi::digest_function::Value::Sha256.into(),
                ..reapi::GetActionResultRequest::default()
            };
            async move { client.get_action_result(request).await.map(tonic::Response::into_inner) }
        });
        match found.await {
            Ok(result) => Ok(Some(result)),
            Err(trouble) if trouble.meaning == Meaning::Missing => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Says which of some blobs the server does not have.
    pub async fn missing(&self, digests: Vec<Named>) -> Result<Vec<Named>, Trouble> {
        let found = self.often(0, || {
            let mut client = self.storage();
            let request = reapi::FindMissingBlobsRequest {
                instance_name: self.instance(),
                blob_digests: digests.clone(),
                digest_function: reapi::digest_function::Value::Sha256.into(),
            };
            async move { client.find_missing_blobs(request).await.map(tonic::Response::into_inner) }
        });
        Ok(found.await?.missing_blob_digests)
    }

    /// Cuts a list so that each piece fits into a message; what is too large stands alone.
    fn batches<T>(&self, items: Vec<T>, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
        let limit = self.batch.load(Ordering::Relaxed);
        let mut out: Vec<Vec<T>> = Vec::new();
        let mut room = 0;
        for item in items {
            let size = size(&item).saturating_add(ITEM);
            match out.last_mut() {
                Some(last) if size <= room => {
                    room -= size;
                    last.push(item);
                }
                _ => {
                    room = limit.saturating_sub(size);
                    out.push(vec![item]);
                }
            }
        }
        out
    }

    fn is_large(&self, size: usize) -> bool {
        size + ITEM > self.batch.load(Ordering::Relaxed)
    }

    /// Reads blobs, and checks each against its digest.
    pub async fn read(&self, digests: &[Named]) -> Result<Vec<Read>, Trouble> {
        let mut out: Vec<Read> = digests.iter().map(|_| Read::Missing).collect();
        let size = |at: &usize| usize::try_from(digests[*at].size_bytes).unwrap_or(usize::MAX);
        for batch in self.batches((0..digests.len()).collect(), size) {
            if let [at] = batch[..]
                && self.is_large(size(&at))
            {
                out[at] = self.read_large(&digests[at]).await?;
                continue;
            }
            let bytes = batch.iter().map(size).sum();
            let found =
                self.often(bytes, || {
                    let mut client = self.storage();
                    let request = reapi::BatchReadBlobsRequest {
                        instance_name: self.instance(),
                        digests: batch.iter().map(|at| digests[*at].clone()).collect(),
                        digest_function: reapi::digest_function::Value::Sha256.into(),
                        ..reapi::BatchReadBlobsRequest::default()
                    };
                    async move {
                        client.batch_read_blobs(request).await.map(tonic::Response::into_inner)
                    }
                });
            for response in found.await?.responses {
                let Some(digest) = response.digest else { continue };
                let sound = response.status.as_ref().is_none_or(|s| s.code == 0);
                for at in batch.iter().filter(|at| digests[**at] == digest) {
                    out[*at] = match sound {
                        true => checked(&digest, response.data.clone()),
                        false => Read::Missing,
                    };
                }
            }
        }
        Ok(out)
    }

    async fn read_large(&self, digest: &Named) -> Result<Read, Trouble> {
        let size = usize::try_from(digest.size_bytes).unwrap_or(usize::MAX);
        let name = self.resource(&format!("blobs/{}/{size}", digest.hash));
        let found = self.often(size, || {
            let mut client = self.bytes();
            let request =
                bytestream::ReadRequest { resource_name: name.clone(), ..Default::default() };
            async move {
                let mut stream = client.read(request).await?.into_inner();
                let mut out = Vec::new();
                while let Some(piece) = stream.message().await? {
                    out.extend_from_slice(&piece.data);
                    if out.len() > size {
                        break;
                    }
                }
                Ok(out)
            }
        });
        match found.await {
            Ok(bytes) => Ok(checked(digest, bytes)),
            Err(trouble) if trouble.meaning == Meaning::Missing => Ok(Read::Missing),
            Err(trouble) => Err(trouble),
        }
    }

    fn resource(&self, rest: &str) -> String {
        match self.options.instance.as_str() {
            "" => rest.to_string(),
            instance => format!("{instance}/{rest}"),
        }
    }

    /// Gives blobs to the server.
    pub async fn write(&self, blobs: Vec<Blob>) -> Result<(), Trouble> {
        for batch in self.batches(blobs, |blob| blob.bytes.len()) {
            if let [blob] = &batch[..]
                && self.is_large(blob.bytes.len())
            {
                self.write_large(blob).await?;
                continue;
            }
            let bytes = batch.iter().map(|blob| blob.bytes.len()).sum();
            let done = self.often(bytes, || {
                let mut client = self.storage();
                let one = |blob: &Blob| reapi::batch_update_blobs_request::Request {
                    digest: Some(blob.digest.clone()),
                    data: blob.bytes.clone(),
                    ..Default::default()
                };
                let request = reapi::BatchUpdateBlobsRequest {
                    instance_name: self.instance(),
                    requests: batch.iter().map(one).collect(),
                    digest_function: reapi::digest_function::Value::Sha256.into(),
                };
                async move {
                    let done = client.batch_update_blobs(request).await?.into_inner();
                    let failed = done.responses.into_iter().filter_map(|r| r.status);
                    match failed.filter(|s| s.code != 0).max_by_key(|s| s.code) {
                        Some(status) => Err(Status::new(Code::from(status.code), status.message)),
                        None => Ok(()),
                    }
                }
            });
            done.await?;
        }
        Ok(())
    }

    async fn write_large(&self, blob: &Blob) -> Result<(), Trouble> {
        let size = blob.bytes.len();
        let done = self.often(size, || {
            let mut client = self.bytes();
            // Servers want a name for each attempt; it is no part of what is kept.
            let attempt = self.uploads.fetch_add(1, Ordering::Relaxed);
            let name = self.resource(&format!(
                "uploads/{}/blobs/{}/{size}",
                attempt_name(attempt, &blob.digest.hash),
                blob.digest.hash
            ));
            let pieces: Vec<bytestream::WriteRequest> = blob
                .bytes
                .chunks(PIECE.min(self.batch.load(Ordering::Relaxed)))
                .scan(0i64, |at, piece| {
                    let offset = *at;
                    *at += piece.len() as i64;
                    Some(bytestream::WriteRequest {
                        resource_name: name.clone(),
                        write_offset: offset,
                        finish_write: *at as usize == size,
                        data: piece.to_vec(),
                    })
                })
                .collect();
            async move {
                let done = client.write(Pieces(pieces.into_iter())).await?.into_inner();
                // -1 says that the server had it already.
                match done.committed_size == size as i64 || done.committed_size == -1 {
                    true => Ok(()),
                    false => Err(Status::unknown("it took a part of a blob")),
                }
            }
        });
        done.await
    }

    /// Keeps a result under an action.
    pub async fn update(&self, action: &Named, result: &ActionResult) -> Result<(), Trouble> {
        let done = self.often(0, || {
            let mut client = self.actions();
            let request = reapi::UpdateActionResultRequest {
                instance_name: self.instance(),
                action_digest: Some(action.clone()),
                action_result: Some(result.clone()),
                digest_function: reapi::digest_function::Value::Sha256.into(),
                ..reapi::UpdateActionResultRequest::default()
            };
            async move { client.update_action_result(request).await.map(drop) }
        });
        done.await
    }
}

fn checked(digest: &Named, bytes: Vec<u8>) -> Read {
    match action::digest_of(&bytes) == *digest {
        true => Read::Bytes(bytes),
        false => Read::Broken,
    }
}

/// A name in the form of a UUID, which no other upload of this program has. Two clients that use the
/// same one upload the same bytes.
fn attempt_name(attempt: u64, hash: &str) -> String {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), hash);
    let hex = format!("{random:016x}{attempt:016x}");
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// A list as the stream that the library wants.
struct Pieces(std::vec::IntoIter<bytestream::WriteRequest>);

impl tonic::codegen::tokio_stream::Stream for Pieces {
    type Item = bytestream::WriteRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}
