//! The client: a thread of its own that asks and uploads, while the run goes on.
//!
//! Questions that come while others are under way are asked together. Where the server is gone,
//! questions are answered at once (with nothing) until it is time to look for it again; what is to be
//! uploaded waits for it. What cannot be uploaded is counted and said, and is lost to nobody: it lies
//! in the local cache.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use litmake_base::digest::Digest;
use litmake_base::stop::{Stop, Stopping};
use litmake_engine::elsewhere::{self, Elsewhere, Executed, Order};
use litmake_engine::remote::{Answers, Remote, Taker};
use reapi::{Digest as Named, ServerCapabilities};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::action::{self, Blob, Deed};
use crate::execute::{self, Jobs};
use crate::sealed;
use crate::trouble::{Meaning, Trouble};
use crate::wire::{Read, Wire};
use crate::{Options, doctor};

/// Requests under way for one batch of questions.
const IN_FLIGHT: usize = 64;
/// Packets that are uploaded together.
const UPLOADED_TOGETHER: usize = 256;
const UPLOADED_BYTES: usize = 16 << 20;
/// The most memory that packets may take while they wait for their upload.
const WAITING_BYTES: usize = 256 << 20;
/// How long no request is sent to a server that does not answer; the time doubles up to a limit.
const LEFT_ALONE: Duration = Duration::from_secs(2);
pub(crate) const LEFT_ALONE_MOST: Duration = Duration::from_secs(30);
/// A packet is sealed in up to so many ways, one after the other, where the server has broken a blob of it
/// and cannot be told to forget it.
const ATTEMPTS: u32 = 16;

/// Counts of the packets and jobs that a client exchanged with the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that were asked for.
    pub asked: u64,
    /// Packets that came.
    pub fetched: u64,
    /// The bytes of the packets that came.
    pub fetched_bytes: u64,
    /// Packets that came and failed a check.
    pub broken: u64,
    /// Packets that were uploaded.
    pub uploaded: u64,
    /// The bytes of the packets that were uploaded.
    pub uploaded_bytes: u64,
    /// Packets that could not be uploaded.
    pub lost: u64,
    /// Jobs whose results came.
    pub jobs: u64,
    /// Packets of jobs whose results came.
    pub executed: u64,
    /// The bytes of these packets.
    pub executed_bytes: u64,
}

#[derive(Default)]
struct Counts {
    asked: AtomicU64,
    fetched: AtomicU64,
    fetched_bytes: AtomicU64,
    broken: AtomicU64,
    uploaded: AtomicU64,
    uploaded_bytes: AtomicU64,
    lost: AtomicU64,
    executed: AtomicU64,
    executed_bytes: AtomicU64,
}

fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

enum Message {
    Ask(Vec<Digest>, Taker),
    Execute(u64, Order, elsewhere::Taker),
    /// Tell whether the server can be used.
    Check(std::sync::mpsc::Sender<Result<(), Trouble>>),
    CheckExecution(std::sync::mpsc::Sender<Result<(), Trouble>>),
    End,
}

/// The packets that the server took, of those that were offered, and their bytes.
#[derive(Default)]
struct Given {
    packets: usize,
    bytes: usize,
}

struct Offer {
    key: Digest,
    packet: Vec<u8>,
}

/// Whether the server answers.
struct Presence {
    /// No request is sent before this time, because the server did not answer.
    until: Option<Instant>,
    wait: Duration,
}

#[derive(Default)]
struct Uploads {
    waiting: Vec<Offer>,
    bytes: usize,
    /// Packets that are waiting or under way.
    pending: usize,
    /// Nothing comes any more, so nothing waits for a server that is gone.
    ending: bool,
    /// The run does not wait for the rest.
    given_up: bool,
}

pub(crate) struct Shared {
    pub(crate) options: Arc<Options>,
    pub(crate) jobs: Jobs,
    counts: Counts,
    notices: Mutex<Vec<String>>,
    presence: Mutex<Presence>,
    /// Why the cache is not read, or not written, for the rest of the run.
    no_reads: Mutex<Option<Trouble>>,
    no_writes: AtomicBool,
    said_not_taken: AtomicBool,
    uploads: Mutex<Uploads>,
    more: Notify,
    /// For keys whose packet was broken: the blob in which it was.
    broken: Mutex<HashMap<Digest, Named>>,
    said_broke: AtomicBool,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client of one endpoint, and the thread that does its work.
pub struct Client {
    shared: Arc<Shared>,
    inbox: UnboundedSender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Client {
    /// Starts a client. Nothing is waited for: whether the server is there shows later.
    pub fn start(options: Options) -> std::io::Result<Client> {
        let shared = Arc::new(Shared {
            counts: Counts::default(),
            notices: Mutex::default(),
            presence: Mutex::new(Presence { until: None, wait: LEFT_ALONE }),
            no_reads: Mutex::default(),
            no_writes: AtomicBool::new(!options.writes),
            said_not_taken: AtomicBool::new(false),
            uploads: Mutex::default(),
            more: Notify::new(),
            broken: Mutex::default(),
            said_broke: AtomicBool::new(false),
            jobs: Jobs::default(),
            options: Arc::new(options),
        });
        if !shared.options.address.encrypted && !shared.options.address.is_here() {
            shared.notice("grpc:// is not encrypted: whoever is on the way can read and change results, and see secrets in headers".into());
        }
        let (inbox, messages) = unbounded_channel();
        let inside = shared.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("remote cache".into()).spawn(move || {
            runtime.block_on(live(inside, messages));
            // Requests that are still under way are not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Client { shared, inbox, thread: Mutex::new(Some(thread)) })
    }

    /// Sets the recipe from which workers make the plan, and the answers of compilers on this machine. No
    /// job is sent before.
    pub fn set_recipe(&self, recipe: Vec<u8>, answers: crate::work::Answers) {
        self.shared.jobs.set_recipe(recipe, answers);
    }

    /// The address of the endpoint, for people.
    pub fn address(&self) -> String {
        self.shared.options.address.to_string()
    }

    /// Waits until it is known whether the server can be used.
    pub fn check(&self) -> Result<(), Trouble> {
        let (send, receive) = std::sync::mpsc::channel();
        let ended = || Trouble::unable("the client has ended");
        self.inbox.send(Message::Check(send)).map_err(|_| ended())?;
        receive.recv().map_err(|_| ended())?
    }

    /// Waits until it is known whether jobs are executed there.
    pub fn check_execution(&self) -> Result<(), Trouble> {
        let (send, receive) = std::sync::mpsc::channel();
        let ended = || Trouble::unable("the client has ended");
        self.inbox.send(Message::CheckExecution(send)).map_err(|_| ended())?;
        receive.recv().map_err(|_| ended())?
    }

    /// How many packets wait for their upload.
    pub fn pending(&self) -> usize {
        lock(&self.shared.uploads).pending
    }

    /// Waits until everything is uploaded, as far as the server takes it, and ends. A request to
    /// stop ends the waiting.
    pub fn finish(&self, stop: &Stop) -> Tally {
        lock(&self.shared.uploads).ending = true;
        self.shared.more.notify_one();
        let writes = || !self.shared.no_writes.load(Ordering::Relaxed);
        while self.pending() > 0 && writes() && !stop.asked() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end();
        self.tally()
    }

    fn end(&self) {
        {
            let mut uploads = lock(&self.shared.uploads);
            uploads.given_up = true;
            count(&self.shared.counts.lost, uploads.pending);
            uploads.pending = 0;
            uploads.waiting.clear();
        }
        let _ = self.inbox.send(Message::End);
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }

    /// The counts so far.
    pub(crate) fn tally(&self) -> Tally {
        let counts = &self.shared.counts;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally {
            asked: get(&counts.asked),
            fetched: get(&counts.fetched),
            fetched_bytes: get(&counts.fetched_bytes),
            broken: get(&counts.broken),
            uploaded: get(&counts.uploaded),
            uploaded_bytes: get(&counts.uploaded_bytes),
            lost: get(&counts.lost),
            jobs: self.shared.jobs.tally().fetched,
            executed: get(&counts.executed),
            executed_bytes: get(&counts.executed_bytes),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

impl Remote for Client {
    fn ask(&self, keys: Vec<Digest>, taker: Taker) {
        if !self.shared.options.reads || !self.shared.is_there() {
            let nothing = vec![None; keys.len()];
            return taker(nothing);
        }
        if let Err(back) = self.inbox.send(Message::Ask(keys, taker))
            && let Message::Ask(keys, taker) = back.0
        {
            taker(vec![None; keys.len()]);
        }
    }

    fn offer(&self, key: Digest, packet: Vec<u8>) {
        if self.shared.no_writes.load(Ordering::Relaxed) {
            return;
        }
        let mut uploads = lock(&self.shared.uploads);
        if uploads.bytes + packet.len() > WAITING_BYTES {
            count(&self.shared.counts.lost, 1);
            return;
        }
        uploads.bytes += packet.len();
        uploads.pending += 1;
        uploads.waiting.push(Offer { key, packet });
        drop(uploads);
        self.shared.more.notify_one();
    }

    fn refuse(&self, key: Digest, why: &str) {
        self.shared.say_broken(&key, None, why);
    }

    fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.notices))
    }
}

impl Elsewhere for Client {
    fn slots(&self) -> usize {
        self.shared.options.execution.as_ref().map_or(0, |execution| execution.slots)
    }

    fn is_open(&self) -> bool {
        self.shared.jobs.is_open() && self.shared.is_there()
    }

    fn execute(&self, number: u64, order: Order, taker: elsewhere::Taker) {
        if let Err(back) = self.inbox.send(Message::Execute(number, order, taker))
            && let Message::Execute(_, _, taker) = back.0
        {
            taker(Executed::Gone);
        }
    }

    fn recall(&self, number: u64) -> bool {
        self.shared.jobs.recall(number)
    }

    fn tally(&self) -> elsewhere::Tally {
        self.shared.jobs.tally()
    }
}

impl Shared {
    fn notice(&self, text: String) {
        lock(&self.notices).push(format!("remote cache {}: {text}", self.options.address));
    }

    pub(crate) fn notice_execution(&self, text: String) {
        let address = match &self.options.execution {
            Some(execution) => &execution.address,
            None => &self.options.address,
        };
        lock(&self.notices).push(format!("remote execution {address}: {text}"));
    }

    pub(crate) fn count_executed(&self, bytes: usize) {
        count(&self.counts.executed, 1);
        count(&self.counts.executed_bytes, bytes);
    }

    pub(crate) fn say_broke(&self, why: &str) {
        if !self.said_broke.swap(true, Ordering::Relaxed) {
            self.notice_execution(format!("something broke on a worker: {why}; it is done here"));
        }
    }

    /// Whether the server should be asked at this time.
    fn is_there(&self) -> bool {
        let gone = lock(&self.presence).until.is_some_and(|until| Instant::now() < until);
        !gone && lock(&self.no_reads).is_none()
    }

    /// Notes what a failed request means.
    fn failed(&self, trouble: &Trouble) {
        let help = trouble.help(&self.options).map_or(String::new(), |help| format!(" ({help})"));
        match trouble.meaning {
            Meaning::Gone => {
                let mut presence = lock(&self.presence);
                let now = Instant::now();
                // Requests that were under way together fail together.
                if presence.until.is_some_and(|until| now < until) {
                    return;
                }
                let was_there = presence.until.is_none();
                presence.until = Some(now + presence.wait);
                presence.wait = (presence.wait * 2).min(LEFT_ALONE_MOST);
                if was_there {
                    self.notice(format!(
                        "{trouble}{help}; work goes on here, and it is asked again from time to time"
                    ));
                }
            }
            _ => {
                let mut no_reads = lock(&self.no_reads);
                if no_reads.is_none() {
                    self.notice(format!("{trouble}{help}; this run goes on without it"));
                    *no_reads = Some(trouble.clone());
                    self.no_writes.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    fn succeeded(&self) {
        let mut presence = lock(&self.presence);
        if presence.until.take().is_some() {
            presence.wait = LEFT_ALONE;
            self.notice("it is there again".into());
        }
    }

    fn say_broken(&self, key: &Digest, blob: Option<&Named>, why: &str) {
        if let Some(blob) = blob {
            lock(&self.broken).insert(*key, blob.clone());
        }
        let before = self.counts.broken.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.notice(format!(
                "what it sent for {} is not what was stored: {why}; this counts as a miss, and is computed here. \
                 More of this is counted and not said",
                key.short()
            ));
        }
    }

    fn not_taken(&self, trouble: &Trouble) {
        if !self.said_not_taken.swap(true, Ordering::Relaxed) {
            self.notice(format!(
                "it did not take a result: {trouble}. More of this is counted and not said"
            ));
        }
    }

    fn nothing_is_written(&self, trouble: &Trouble) {
        if !self.no_writes.swap(true, Ordering::Relaxed) {
            let help = trouble.help(&self.options);
            let help = help.map_or(String::new(), |help| format!(" ({help})"));
            self.notice(format!("{trouble}{help}; nothing is uploaded from here on"));
        }
    }
}

/// The life of the thread.
async fn live(shared: Arc<Shared>, mut messages: UnboundedReceiver<Message>) {
    let wire = match Wire::new(shared.options.clone()) {
        Ok(wire) => Arc::new(wire),
        Err(trouble) => {
            shared.failed(&trouble);
            return refuse_all(&trouble, messages).await;
        }
    };
    let (uploading, executor, known) = Default::default();
    let link = Arc::new(Link { shared, wire, uploading, executor, known });
    let uploads = tokio::spawn(upload(link.clone()));
    'life: while let Some(first) = messages.recv().await {
        // Questions that came meanwhile are asked together with it.
        let mut next = Some(first);
        let mut asked: Vec<(Vec<Digest>, Taker)> = Vec::new();
        while let Some(message) = next {
            match message {
                Message::Ask(keys, taker) => asked.push((keys, taker)),
                Message::Execute(number, order, taker) => {
                    tokio::spawn(execute::execute(link.clone(), number, order, taker));
                }
                Message::Check(answer) => {
                    let link = link.clone();
                    tokio::spawn(async move { answer.send(link.ready().await) });
                }
                Message::CheckExecution(answer) => {
                    let link = link.clone();
                    tokio::spawn(async move {
                        let found = link.executes().await.map_err(Trouble::unable);
                        if let Err(trouble) = &found {
                            link.shared.notice_execution(trouble.to_string());
                        }
                        answer.send(found)
                    });
                }
                Message::End => break 'life,
            }
            next = messages.try_recv().ok();
        }
        if !asked.is_empty() {
            tokio::spawn(answer(link.clone(), asked));
        }
    }
    uploads.abort();
    execute::cancel(&link, true).await;
}

/// The life of a client that cannot begin.
async fn refuse_all(trouble: &Trouble, mut messages: UnboundedReceiver<Message>) {
    while let Some(message) = messages.recv().await {
        match message {
            Message::Ask(keys, taker) => taker(vec![None; keys.len()]),
            Message::Execute(_, _, taker) => taker(Executed::Gone),
            Message::Check(answer) | Message::CheckExecution(answer) => {
                drop(answer.send(Err(trouble.clone())));
            }
            Message::End => return,
        }
    }
}

/// A server, and what is known of it.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wire: Arc<Wire>,
    /// Held while the program is uploaded.
    pub(crate) uploading: tokio::sync::Mutex<()>,
    /// Whether the server that executes can be used; `None` until it was asked.
    executor: tokio::sync::Mutex<Option<Result<(), String>>>,
    known: tokio::sync::Mutex<Option<ServerCapabilities>>,
}

impl Link {
    /// Finds out what the server can do, where that is not known.
    pub(crate) async fn ready(&self) -> Result<(), Trouble> {
        let mut known = self.known.lock().await;
        if known.is_some() {
            return Ok(());
        }
        if let Some(trouble) = &*lock(&self.shared.no_reads) {
            return Err(trouble.clone());
        }
        let found = match self.wire.capabilities().await {
            Ok(found) => found,
            Err(trouble) => {
                self.shared.failed(&trouble);
                return Err(trouble);
            }
        };
        self.shared.succeeded();
        if let Err(words) = doctor::is_enough(&found) {
            let trouble = Trouble::unable(words);
            self.shared.failed(&trouble);
            return Err(trouble);
        }
        if !doctor::takes_results(&found) && self.shared.options.writes {
            self.shared
                .nothing_is_written(&Trouble::unable("it takes no results from this client"));
        }
        *known = Some(found);
        Ok(())
    }

    /// Whether jobs are executed there; else what is missing.
    pub(crate) async fn executes(&self) -> Result<(), String> {
        let mut known = self.executor.lock().await;
        if known.is_none() {
            let found = self.wire.executor_capabilities().await.map_err(|e| e.words)?;
            *known = Some(doctor::executes(&found));
        }
        known.clone().unwrap_or(Ok(()))
    }

    /// Looks packets up. It is one request for the digests of each, and one for the bytes of many.
    async fn look_up(self: &Arc<Self>, keys: &[Digest]) -> Answers {
        let mut out: Answers = vec![None; keys.len()];
        if self.ready().await.is_err() {
            return out;
        }
        count(&self.shared.counts.asked, keys.len());
        let room = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut tasks = JoinSet::new();
        for (at, key) in keys.iter().enumerate() {
            let (link, room, action) = (self.clone(), room.clone(), Deed::of(key).digest().clone());
            tasks.spawn(async move {
                let _permit = room.acquire_owned().await;
                // Where the server went away meanwhile, the rest is not asked.
                if !link.shared.is_there() {
                    return (at, Ok(None));
                }
                (at, link.wire.action_result(&action).await)
            });
        }
        let mut wanted: Vec<(usize, Named)> = Vec::new();
        let mut sent: Vec<(usize, Named, Vec<u8>)> = Vec::new();
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok((at, Ok(Some(result)))) => match action::packet_of(result) {
                    Some((digest, bytes)) if bytes.is_empty() => wanted.push((at, digest)),
                    Some((digest, bytes)) => sent.push((at, digest, bytes)),
                    None => self.shared.say_broken(&keys[at], None, "it names no packet"),
                },
                Ok((_, Ok(None))) => self.shared.succeeded(),
                Ok((_, Err(trouble))) => self.shared.failed(&trouble),
                Err(_) => {}
            }
        }
        let mut opened =
            |at: usize, digest: &Named, bytes: &[u8]| match sealed::open(&keys[at], bytes) {
                Ok(packet) => {
                    count(&self.shared.counts.fetched, 1);
                    count(&self.shared.counts.fetched_bytes, bytes.len());
                    out[at] = Some(packet);
                }
                Err(why) => self.shared.say_broken(&keys[at], Some(digest), why),
            };
        for (at, digest, bytes) in sent {
            match action::digest_of(&bytes) == digest {
                true => opened(at, &digest, &bytes),
                false => self.shared.say_broken(&keys[at], Some(&digest), CHANGED),
            }
        }
        if wanted.is_empty() {
            return out;
        }
        wanted.sort_by_key(|(at, _)| *at);
        let digests: Vec<Named> = wanted.iter().map(|w| w.1.clone()).collect();
        match self.wire.read(&digests).await {
            Ok(read) => {
                self.shared.succeeded();
                for ((at, digest), read) in wanted.into_iter().zip(read) {
                    match read {
                        Read::Bytes(bytes) => opened(at, &digest, &bytes),
                        // It was dropped there, as caches do.
                        Read::Missing => {}
                        Read::Broken => self.shared.say_broken(&keys[at], Some(&digest), CHANGED),
                    }
                }
            }
            Err(trouble) => self.shared.failed(&trouble),
        }
        out
    }

    /// Uploads packets: what is missing of blobs first, then what names them.
    async fn give(self: &Arc<Self>, offers: &[Offer], given: &mut Given) -> Result<(), Trouble> {
        self.ready().await?;
        let mut blobs: Vec<Blob> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut results = Vec::new();
        for Offer { key, packet } in offers {
            let Some(blob) = self.sealed(key, packet) else { continue };
            let deed = Deed::of(key);
            results.push((deed.digest().clone(), blob.digest.clone(), blob.bytes.len()));
            let new = deed.blobs.into_iter().chain([blob]);
            blobs.extend(new.filter(|blob| seen.insert(blob.digest.hash.clone())));
        }
        let digests = blobs.iter().map(|blob| blob.digest.clone()).collect();
        let missing = self.wire.missing(digests).await?;
        let missing: HashSet<String> = missing.into_iter().map(|digest| digest.hash).collect();
        blobs.retain(|blob| missing.contains(&blob.digest.hash));
        self.wire.write(blobs).await?;
        let room = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut tasks = JoinSet::new();
        for (action, packet, size) in results {
            let (link, room) = (self.clone(), room.clone());
            tasks.spawn(async move {
                let _permit = room.acquire_owned().await;
                let done = link.wire.update(&action, &action::result(&packet)).await;
                done.map(|()| size)
            });
        }
        let mut failed = None;
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok(Ok(size)) => {
                    given.packets += 1;
                    given.bytes += size;
                }
                // The server does not take this one; it may take the others.
                Ok(Err(trouble))
                    if matches!(trouble.meaning, Meaning::Unable | Meaning::Missing) =>
                {
                    self.shared.not_taken(&trouble);
                }
                Ok(Err(trouble)) => failed = Some(trouble),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The blob of a packet. Where the server has a broken one, the one after it.
    fn sealed(&self, key: &Digest, packet: &[u8]) -> Option<Blob> {
        let seal = |attempt| sealed::seal(key, attempt, packet).map(Blob::new);
        let broken = lock(&self.shared.broken).get(key).cloned();
        let is_broken = |attempt: &u32| seal(*attempt).map(|blob| blob.digest) == broken;
        let of_broken = broken.as_ref().and_then(|_| (0..ATTEMPTS).find(is_broken));
        // Where none is the broken one, that was of other results, and the first has its own digest.
        seal(of_broken.map_or(0, |attempt| attempt + 1))
    }
}

const CHANGED: &str = "its bytes do not have its digest";

async fn answer(link: Arc<Link>, asked: Vec<(Vec<Digest>, Taker)>) {
    // Two units that ask for the same packet get the same.
    let mut keys: Vec<Digest> = asked.iter().flat_map(|(keys, _)| keys.iter().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    let found = link.look_up(&keys).await;
    let found: HashMap<Digest, Option<Vec<u8>>> = keys.into_iter().zip(found).collect();
    for (keys, taker) in asked {
        taker(keys.iter().map(|key| found.get(key).cloned().flatten()).collect());
    }
}

/// Uploads what is offered, for as long as the thread lives.
async fn upload(link: Arc<Link>) {
    let shared = link.shared.clone();
    loop {
        let (offers, ending) = {
            let mut uploads = lock(&shared.uploads);
            let mut bytes = 0;
            let mut n = 0;
            for offer in uploads.waiting.iter().take(UPLOADED_TOGETHER) {
                if n > 0 && bytes + offer.packet.len() > UPLOADED_BYTES {
                    break;
                }
                bytes += offer.packet.len();
                n += 1;
            }
            let offers: Vec<Offer> = uploads.waiting.drain(..n).collect();
            uploads.bytes -= bytes;
            (offers, uploads.ending)
        };
        if offers.is_empty() {
            shared.more.notified().await;
            continue;
        }
        give_in_time(&link, &offers, ending).await;
        let mut uploads = lock(&shared.uploads);
        uploads.pending = uploads.pending.saturating_sub(offers.len());
    }
}

/// Uploads some packets, when the server is there. At the end of a run there is one more attempt.
async fn give_in_time(link: &Arc<Link>, offers: &[Offer], mut ending: bool) {
    let shared = &link.shared;
    loop {
        if shared.no_writes.load(Ordering::Relaxed) {
            count(&shared.counts.lost, offers.len());
            return;
        }
        let until = lock(&shared.presence).until;
        if let Some(until) = until
            && !ending
        {
            // The end of the run wakes it.
            let wait = until.saturating_duration_since(Instant::now());
            let _ = tokio::time::timeout(wait, shared.more.notified()).await;
            ending = lock(&shared.uploads).ending;
            if !ending && Instant::now() < until {
                continue;
            }
        }
        let mut given = Given::default();
        let done = link.give(offers, &mut given).await;
        let ends = || {
            count(&shared.counts.uploaded, given.packets);
            count(&shared.counts.uploaded_bytes, given.bytes);
            count(&shared.counts.lost, offers.len() - given.packets);
        };
        let Err(trouble) = done else {
            ends();
            return shared.succeeded();
        };
        match trouble.meaning {
            Meaning::Gone if !ending => {
                // All of them are uploaded again, and counted then.
                shared.failed(&trouble);
                ending = lock(&shared.uploads).ending;
            }
            _ => {
                match trouble.meaning {
                    Meaning::Gone => shared.failed(&trouble),
                    // Something was dropped there between two requests.
                    Meaning::Missing => {}
                    Meaning::Refused | Meaning::Unable => shared.nothing_is_written(&trouble),
                }
                ends();
                // Nothing that is left waits for a server that is gone.
                if trouble.meaning == Meaning::Gone {
                    let mut uploads = lock(&shared.uploads);
                    let left = uploads.waiting.len();
                    uploads.waiting.clear();
                    uploads.bytes = 0;
                    uploads.pending = uploads.pending.saturating_sub(left);
                    count(&shared.counts.lost, left);
                }
                return;
            }
        }
    }
}
