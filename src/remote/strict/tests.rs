//! A strict server in memory: it wants the right instance and the right token, small batches, and real
//! actions with everything that they name. What it was asked is counted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use bazel_remote_apis::google::bytestream;
use bazel_remote_apis::google::longrunning::{self, Operation, operation};
use bazel_remote_apis::google::protobuf::Empty;
use bytestream::byte_stream_server::{ByteStream, ByteStreamServer};
use prost::Message;
use reapi::Digest as Named;
use reapi::action_cache_server::{ActionCache, ActionCacheServer};
use reapi::capabilities_server::{Capabilities, CapabilitiesServer};
use reapi::content_addressable_storage_server::{
    ContentAddressableStorage, ContentAddressableStorageServer,
};
use reapi::execution_server::{Execution, ExecutionServer};
use tonic::codegen::tokio_stream::Stream;
use tonic::transport::server::{Server, ServerTlsConfig, TcpIncoming};
use tonic::{Request, Response, Status, Streaming};

use crate::action::digest_of;

/// How a server behaves, and what it demands of requests.
#[derive(Clone)]
pub struct Rules {
    pub instance: String,
    pub token: Option<String>,
    pub batch: usize,
    pub updates: bool,
    /// The delay before every answer.
    pub delay: Duration,
    /// Executes actions; without it the server has no execution.
    pub worker: Option<Worker>,
    pub queue: Queue,
}

/// What becomes of actions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// They are done.
    Moves,
    /// They stay in the queue.
    Stands,
    /// A worker takes them and goes away.
    LosesWorkers,
    /// A worker takes them, and no more is said, except to those who ask how far an action is.
    IsSilent,
    /// The same, and the first action is forgotten.
    Forgets,
    /// A blob of the first one is missing, which others have uploaded by the time that somebody asks.
    MissedBlobs,
    /// No worker is of the kind that is asked for.
    HasNoSuchWorker,
}

pub type Worker = Arc<dyn Fn(&Given) -> Left + Send + Sync>;

/// The files in the folder that a worker is given.
#[derive(Clone)]
pub struct Given {
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A worker's result.
pub struct Left {
    pub status: i32,
    pub stderr: String,
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            instance: "team/litmus".into(),
            token: None,
            batch: 4 << 20,
            updates: true,
            delay: Duration::ZERO,
            worker: None,
            queue: Queue::Moves,
        }
    }
}

#[derive(Default)]
pub struct Kept {
    pub blobs: BTreeMap<String, Vec<u8>>,
    pub results: BTreeMap<String, reapi::ActionResult>,
    pub calls: BTreeMap<&'static str, usize>,
    /// The action that was sent last.
    pub asked: Option<reapi::ExecuteRequest>,
}

/// The contents of a server. They outlive it, and may be given to the next server.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Kept>>);

impl Store {
    pub fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    pub fn calls(&self, name: &str) -> usize {
        self.lock().calls.get(name).copied().unwrap_or(0)
    }
}

/// A server that runs until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub fn url(&self) -> String {
        format!("grpc://{}", self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever asks at this time is cut off.
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Starts a server, at a port of its own choice or at a given one.
pub fn start(store: &Store, rules: &Rules, port: u16, tls: Option<ServerTlsConfig>) -> Running {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let serving = Serving { store: store.clone(), rules: rules.clone() };
    let guard = runtime.enter();
    // The port of a server that was stopped may be free a little later.
    let mut tries = 0;
    let incoming = loop {
        match TcpIncoming::bind(([127, 0, 0, 1], port).into()) {
            Ok(incoming) => break incoming,
            Err(e) if tries == 200 => panic!("port {port}: {e}"),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
        tries += 1;
    };
    drop(guard);
    let address = incoming.local_addr().unwrap();
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls).unwrap();
    }
    let router = server
        .add_service(CapabilitiesServer::new(serving.clone()))
        .add_service(ActionCacheServer::new(serving.clone()))
        .add_service(ContentAddressableStorageServer::new(serving.clone()))
        .add_service(ExecutionServer::new(serving.clone()))
        .add_service(longrunning::operations_server::OperationsServer::new(serving.clone()))
        .add_service(ByteStreamServer::new(serving));
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::spawn(router.serve_with_incoming(incoming));
            // It ends when nobody holds the other side.
            let _ = ended.await;
        });
        runtime.shutdown_background();
    });
    Running { address, end: Some(end), thread: Some(thread) }
}

#[derive(Clone)]
struct Serving {
    store: Store,
    rules: Rules,
}

type Answer<T> = Result<Response<T>, Status>;

/// A list as a stream.
pub struct List<T>(std::vec::IntoIter<T>);

impl<T: Unpin> Stream for List<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

impl Serving {
    /// Counts a request, and turns it away where it breaks a rule.
    async fn enter<T>(
        &self,
        name: &'static str,
        request: &Request<T>,
        instance: &str,
    ) -> Result<(), Status> {
        *self.store.lock().calls.entry(name).or_default() += 1;
        tokio::time::sleep(self.rules.delay).await;
        let token = request.metadata().get("authorization").and_then(|v| v.to_str().ok());
        if let Some(wanted) = &self.rules.token
            && token != Some(wanted.as_str())
        {
            let given = token.unwrap_or("none");
            return Err(Status::unauthenticated(format!("token {given} is not valid")));
        }
        if instance != self.rules.instance {
            return Err(Status::invalid_argument(format!("no instance {instance}")));
        }
        Ok(())
    }

    fn blob(&self, digest: &Option<Named>) -> Option<Vec<u8>> {
        self.store.lock().blobs.get(&digest.as_ref()?.hash).cloned()
    }

    fn needed(&self, what: &str, digest: &Option<Named>) -> Result<Vec<u8>, Status> {
        self.blob(digest).ok_or_else(|| Status::failed_precondition(format!("no {what} here")))
    }
}

#[tonic::async_trait]
impl Capabilities for Serving {
    async fn get_capabilities(
        &self,
        request: Request<reapi::GetCapabilitiesRequest>,
    ) -> Answer<reapi::ServerCapabilities> {
        self.enter("capabilities", &request, &request.get_ref().instance_name).await?;
        let cache = reapi::CacheCapabilities {
            digest_functions: vec![reapi::digest_function::Value::Sha256.into()],
            action_cache_update_capabilities: Some(reapi::ActionCacheUpdateCapabilities {
                update_enabled: self.rules.updates,
            }),
            max_batch_total_size_bytes: self.rules.batch as i64,
            ..Default::default()
        };
        let execution = reapi::ExecutionCapabilities {
            digest_function: reapi::digest_function::Value::Sha256.into(),
            exec_enabled: self.rules.worker.is_some(),
            ..Default::default()
        };
        Ok(Response::new(reapi::ServerCapabilities {
            cache_capabilities: Some(cache),
            execution_capabilities: Some(execution),
            ..Default::default()
        }))
    }
}

#[tonic::async_trait]
impl ActionCache for Serving {
    async fn get_action_result(
        &self,
        request: Request<reapi::GetActionResultRequest>,
    ) -> Answer<reapi::ActionResult> {
        self.enter("look up", &request, &request.get_ref().instance_name).await?;
        let hash = request.into_inner().action_digest.unwrap_or_default().hash;
        let found = self.store.lock().results.get(&hash).cloned();
        found.map(Response::new).ok_or_else(|| Status::not_found("no such result"))
    }

    async fn update_action_result(
        &self,
        request: Request<reapi::UpdateActionResultRequest>,
    ) -> Answer<reapi::ActionResult> {
        self.enter("update", &request, &request.get_ref().instance_name).await?;
        if !self.rules.updates {
            return Err(Status::permission_denied("results are read only"));
        }
        let request = request.into_inner();
        let action = self.needed("action", &request.action_digest)?;
        let action = reapi::Action::decode(&action[..])
            .map_err(|_| Status::invalid_argument("this is no action"))?;
        let command = self.needed("command", &action.command_digest)?;
        let command = reapi::Command::decode(&command[..])
            .map_err(|_| Status::invalid_argument("this is no command"))?;
        let root = self.needed("input root", &action.input_root_digest)?;
        reapi::Directory::decode(&root[..])
            .map_err(|_| Status::invalid_argument("this is no folder"))?;
        let result = request.action_result.unwrap_or_default();
        for file in &result.output_files {
            self.needed("output", &file.digest)?;
            if !command.output_paths.contains(&file.path) {
                return Err(Status::invalid_argument("the command has no such output"));
            }
        }
        let hash = request.action_digest.unwrap_or_default().hash;
        self.store.lock().results.insert(hash, result.clone());
        Ok(Response::new(result))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for Serving {
    async fn find_missing_blobs(
        &self,
        request: Request<reapi::FindMissingBlobsRequest>,
    ) -> Answer<reapi::FindMissingBlobsResponse> {
        self.enter("find missing", &request, &request.get_ref().instance_name).await?;
        let kept = self.store.lock();
        let missing = request.into_inner().blob_digests.into_iter();
        let missing_blob_digests = missing.filter(|d| !kept.blobs.contains_key(&d.hash)).collect();
        Ok(Response::new(reapi::FindMissingBlobsResponse { missing_blob_digests }))
    }

    async fn batch_update_blobs(
        &self,
        request: Request<reapi::BatchUpdateBlobsRequest>,
    ) -> Answer<reapi::BatchUpdateBlobsResponse> {
        self.enter("batch update", &request, &request.get_ref().instance_name).await?;
        let requests = request.into_inner().requests;
        if requests.iter().map(|r| r.data.len()).sum::<usize>() > self.rules.batch {
            return Err(Status::invalid_argument("the batch is too large"));
        }
        let mut responses = Vec::new();
        for one in requests {
            let digest = one.digest.unwrap_or_default();
            let right = digest_of(&one.data) == digest;
            if right {
                // As servers do, it keeps what it has.
                self.store.lock().blobs.entry(digest.hash.clone()).or_insert(one.data);
            }
            let status = bazel_remote_apis::google::rpc::Status {
                code: if right { 0 } else { 3 },
                ..Default::default()
            };
            responses.push(reapi::batch_update_blobs_response::Response {
                digest: Some(digest),
                status: Some(status),
            });
        }
        Ok(Response::new(reapi::BatchUpdateBlobsResponse { responses }))
    }

    async fn batch_read_blobs(
        &self,
        request: Request<reapi::BatchReadBlobsRequest>,
    ) -> Answer<reapi::BatchReadBlobsResponse> {
        self.enter("batch read", &request, &request.get_ref().instance_name).await?;
        let digests = request.into_inner().digests;
        if digests.iter().map(|d| d.size_bytes as usize).sum::<usize>() > self.rules.batch {
            return Err(Status::invalid_argument("the batch is too large"));
        }
        let one = |digest: Named| {
            let data = self.blob(&Some(digest.clone()));
            let code = if data.is_some() { 0 } else { 5 };
            reapi::batch_read_blobs_response::Response {
                digest: Some(digest),
                data: data.unwrap_or_default(),
                status: Some(bazel_remote_apis::google::rpc::Status { code, ..Default::default() }),
                ..Default::default()
            }
        };
        let responses = digests.into_iter().map(one).collect();
        Ok(Response::new(reapi::BatchReadBlobsResponse { responses }))
    }

    type GetTreeStream = List<reapi::GetTreeResponse>;

    async fn get_tree(&self, _: Request<reapi::GetTreeRequest>) -> Answer<Self::GetTreeStream> {
        Err(Status::unimplemented(""))
    }

    async fn split_blob(
        &self,
        _: Request<reapi::SplitBlobRequest>,
    ) -> Answer<reapi::SplitBlobResponse> {
        Err(Status::unimplemented(""))
    }

    type GetChunkMappingStream = List<reapi::GetChunkMappingResponse>;

    async fn get_chunk_mapping(
        &self,
        _: Request<reapi::GetChunkMappingRequest>,
    ) -> Answer<Self::GetChunkMappingStream> {
        Err(Status::unimplemented(""))
    }

    async fn splice_blob(
        &self,
        _: Request<reapi::SpliceBlobRequest>,
    ) -> Answer<reapi::SpliceBlobResponse> {
        Err(Status::unimplemented(""))
    }

    async fn register_chunk_mapping(
        &self,
        _: Request<Streaming<reapi::RegisterChunkMappingRequest>>,
    ) -> Answer<reapi::RegisterChunkMappingResponse> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl ByteStream for Serving {
    type ReadStream = List<bytestream::ReadResponse>;

    async fn read(&self, request: Request<bytestream::ReadRequest>) -> Answer<Self::ReadStream> {
        let name = request.get_ref().resource_name.clone();
        let (instance, rest) = name.split_once("/blobs/").unwrap_or(("", &name));
        self.enter("stream read", &request, instance).await?;
        let hash = rest.split('/').next().unwrap_or_default();
        let blob = self.store.lock().blobs.get(hash).cloned();
        let blob = blob.ok_or_else(|| Status::not_found("no such blob"))?;
        let piece = |data: &[u8]| bytestream::ReadResponse { data: data.to_vec() };
        let pieces: Vec<_> = blob.chunks(100_000).map(piece).collect();
        Ok(Response::new(List(pieces.into_iter())))
    }

    async fn write(
        &self,
        request: Request<Streaming<bytestream::WriteRequest>>,
    ) -> Answer<bytestream::WriteResponse> {
        let instance = self.rules.instance.clone();
        self.enter("stream write", &request, &instance).await?;
        let mut stream = request.into_inner();
        let mut bytes = Vec::new();
        let mut name = String::new();
        let mut finished = false;
        while let Some(piece) = stream.message().await? {
            if piece.write_offset != bytes.len() as i64 || finished {
                return Err(Status::invalid_argument("a piece at a wrong place"));
            }
            name = piece.resource_name;
            bytes.extend_from_slice(&piece.data);
            finished = piece.finish_write;
        }
        let parts: Vec<&str> =
            name.strip_prefix(&format!("{instance}/uploads/")).unwrap_or("").split('/').collect();
        let [id, "blobs", hash, size] = parts[..] else {
            return Err(Status::invalid_argument(format!("{name} is no name of an upload")));
        };
        let digest = digest_of(&bytes);
        if id.len() != 36 || digest.hash != hash || size != bytes.len().to_string() || !finished {
            return Err(Status::invalid_argument("the upload is not what its name says"));
        }
        let committed_size = bytes.len() as i64;
        self.store.lock().blobs.entry(digest.hash).or_insert(bytes);
        Ok(Response::new(bytestream::WriteResponse { committed_size }))
    }

    async fn query_write_status(
        &self,
        _: Request<bytestream::QueryWriteStatusRequest>,
    ) -> Answer<bytestream::QueryWriteStatusResponse> {
        Err(Status::unimplemented(""))
    }
}

/// The stream of an action's states. It stays open where the last is not the end.
pub struct Operations {
    list: std::vec::IntoIter<Operation>,
    open: bool,
}

impl Stream for Operations {
    type Item = Result<Operation, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.list.next() {
            Some(operation) => Poll::Ready(Some(Ok(operation))),
            None if self.open => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

impl Serving {
    /// Executes an action of which everything has to be there.
    fn executed(
        &self,
        worker: &Worker,
        action: &Option<Named>,
    ) -> Result<reapi::ActionResult, Status> {
        let wrong = |what: &str| Status::invalid_argument(format!("this is no {what}"));
        let action = reapi::Action::decode(&self.needed("action", action)?[..])
            .map_err(|_| wrong("action"))?;
        let command = self.needed("command", &action.command_digest)?;
        let command = reapi::Command::decode(&command[..]).map_err(|_| wrong("command"))?;
        let root = self.needed("input root", &action.input_root_digest)?;
        let root = reapi::Directory::decode(&root[..]).map_err(|_| wrong("folder"))?;
        let mut files = BTreeMap::new();
        for file in &root.files {
            files.insert(file.name.clone(), self.needed("input", &file.digest)?);
        }
        if !root.files.is_sorted_by(|a, b| a.name < b.name) || !command.output_paths.is_sorted() {
            return Err(Status::invalid_argument("names are not in order"));
        }
        let answer = worker(&Given { files });
        let mut output_files = Vec::new();
        for (path, bytes) in
            answer.files.into_iter().filter(|f| command.output_paths.contains(&f.0))
        {
            let digest = digest_of(&bytes);
            self.store.lock().blobs.entry(digest.hash.clone()).or_insert(bytes);
            output_files.push(reapi::OutputFile {
                path,
                digest: Some(digest),
                ..Default::default()
            });
        }
        Ok(reapi::ActionResult {
            output_files,
            exit_code: answer.status,
            stderr_raw: answer.stderr.into(),
            ..Default::default()
        })
    }

    /// The end of an action: the result that is known, or that the worker makes.
    fn done(&self, worker: &Worker, request: &reapi::ExecuteRequest) -> Result<Operation, Status> {
        let hash = request.action_digest.clone().unwrap_or_default().hash;
        let known = self.store.lock().results.get(&hash).cloned();
        let known = known.filter(|_| !request.skip_cache_lookup);
        let cached_result = known.is_some();
        let result = match known {
            Some(known) => known,
            None => self.executed(worker, &request.action_digest)?,
        };
        if result.exit_code == 0 {
            self.store.lock().results.insert(hash, result.clone());
        }
        let response =
            reapi::ExecuteResponse { result: Some(result), cached_result, ..Default::default() };
        let mut any = Default::default();
        fill(&mut any, &response);
        let result = Some(operation::Result::Response(any));
        Ok(Operation { name: "one".into(), done: true, result, ..Operation::default() })
    }
}

#[tonic::async_trait]
impl Execution for Serving {
    type ExecuteStream = Operations;

    async fn execute(&self, request: Request<reapi::ExecuteRequest>) -> Answered {
        self.enter("execute", &request, &request.get_ref().instance_name).await?;
        let request = request.into_inner();
        let Some(worker) = &self.rules.worker else { return Err(Status::unimplemented("")) };
        use reapi::execution_stage::Value::{Executing, Queued};
        let again = self.store.calls("execute") > 1;
        let stages = match self.rules.queue {
            Queue::MissedBlobs if !again => return Err(Status::failed_precondition("a blob")),
            Queue::HasNoSuchWorker => return Err(Status::failed_precondition("no pool `none`")),
            Queue::Stands => vec![Queued],
            Queue::LosesWorkers => vec![Queued, Executing, Queued],
            Queue::IsSilent => vec![Queued, Executing],
            Queue::Forgets if !again => vec![Queued, Executing],
            Queue::Moves | Queue::Forgets | Queue::MissedBlobs => {
                let list = vec![state(Queued), self.done(worker, &request)?].into_iter();
                return Ok(Response::new(Operations { list, open: false }));
            }
        };
        self.store.lock().asked = Some(request);
        let list = stages.into_iter().map(state).collect::<Vec<_>>().into_iter();
        Ok(Response::new(Operations { list, open: true }))
    }

    type WaitExecutionStream = Operations;

    async fn wait_execution(&self, request: Request<reapi::WaitExecutionRequest>) -> Answered {
        self.enter("wait", &request, &self.rules.instance).await?;
        let asked = self.store.lock().asked.clone();
        match (&self.rules.worker, asked, self.rules.queue) {
            (Some(worker), Some(asked), Queue::IsSilent) => {
                let list = vec![self.done(worker, &asked)?].into_iter();
                Ok(Response::new(Operations { list, open: false }))
            }
            _ => Err(Status::not_found("no such operation")),
        }
    }
}

/// An operation that is not done.
fn state(stage: reapi::execution_stage::Value) -> Operation {
    let said = reapi::ExecuteOperationMetadata { stage: stage.into(), ..Default::default() };
    let mut out = Operation { name: "one".into(), ..Operation::default() };
    out.metadata.get_or_insert_default().value = said.encode_to_vec();
    out
}

#[tonic::async_trait]
impl longrunning::operations_server::Operations for Serving {
    async fn cancel_operation(
        &self,
        request: Request<longrunning::CancelOperationRequest>,
    ) -> Answer<Empty> {
        self.enter("cancel", &request, &self.rules.instance).await?;
        Ok(Response::new(Empty {}))
    }

    async fn list_operations(
        &self,
        _: Request<longrunning::ListOperationsRequest>,
    ) -> Answer<longrunning::ListOperationsResponse> {
        Err(Status::unimplemented(""))
    }

    async fn get_operation(
        &self,
        _: Request<longrunning::GetOperationRequest>,
    ) -> Answer<Operation> {
        Err(Status::unimplemented(""))
    }

    async fn delete_operation(
        &self,
        _: Request<longrunning::DeleteOperationRequest>,
    ) -> Answer<Empty> {
        Err(Status::unimplemented(""))
    }

    async fn wait_operation(
        &self,
        _: Request<longrunning::WaitOperationRequest>,
    ) -> Answer<Operation> {
        Err(Status::unimplemented(""))
    }
}

type Answered = Result<Response<Operations>, Status>;

fn fill(any: &mut bazel_remote_apis::google::protobuf::Any, message: &impl Message) {
    any.value = message.encode_to_vec();
}
