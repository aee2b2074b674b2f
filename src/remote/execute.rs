//! Jobs of the engine as actions of a server: their inputs, their way there and back, and what is
//! made of what comes.
//!
//! A result counts where the worker ended with status 0, where it names the program that it was, which
//! has to be the one that was sent, and where every packet opens. It does not know what a job says.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use litmake_base::digest::Digest;
use litmake_engine::elsewhere::{Executed, Made, Order, Spent, Taker, Tally};
use prost::Message;
use reapi::{ActionResult, Digest as Named, OutputFile};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::action::{self, Blob};
use crate::client::{Link, lock};
use crate::program;
use crate::sealed;
use crate::trouble::{Meaning, Trouble};
use crate::wire::{Read, Stage};
use crate::work::{self, Answers, Told};

/// A worker's report on its work and a packet are shorter than this.
const MAX_TOLD: i64 = 64 << 20;
/// How often a job is sent again after the server went away or lost a part of the job.
const SENT_AGAIN: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How long a run that ends waits until the server has heard which jobs are not wanted.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The `PATH` of programs on workers, where this process has none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How jobs are executed.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Where the server is that executes; it reads what lies in the cache.
    pub address: crate::Address,
    /// The program that workers run.
    pub program: PathBuf,
    /// How many cores a job takes.
    pub cores: u32,
    /// How many jobs may be under way.
    pub slots: usize,
    /// How long a job may take.
    pub timeout: Duration,
    /// How long jobs wait in a queue in which nothing moves.
    pub patience: Duration,
    /// The platform properties that a worker must have.
    pub properties: Vec<(String, String)>,
}

/// A job under way.
struct Underway {
    /// Since when it waits for a worker, or has one.
    since: Instant,
    /// Whether a worker has the job, or the server does not tell. A job whose worker went away waits again.
    begun: bool,
    /// The name by which the server knows it.
    name: Option<String>,
    /// Notified when the engine takes the job back.
    recalled: Arc<Notify>,
}

/// The state of a client's jobs, and the data that they share.
#[derive(Default)]
pub struct Jobs {
    /// The program that workers run, by the path that it was read from, with its digest.
    program: Mutex<Option<Named>>,
    recipe: Mutex<Option<Arc<Vec<u8>>>>,
    /// Answers of compilers on this machine, and those from workers where a compiler answered otherwise, as
    /// in a sandbox that shows it other folders. They are sent with each job.
    answers: Mutex<Answers>,
    underway: Mutex<HashMap<u64, Underway>>,
    /// The server's names of jobs that were taken back.
    unwanted: Mutex<Vec<String>>,
    fetched: AtomicU64,
    /// When a worker last began or finished a job.
    moved: Mutex<Option<Instant>>,
    /// No job is sent before this time.
    paused: Mutex<Option<Instant>>,
    closed: Mutex<Option<String>>,
}

impl Jobs {
    pub fn set_recipe(&self, recipe: Vec<u8>, answers: Answers) {
        *lock(&self.recipe) = Some(Arc::new(recipe));
        lock(&self.answers).extend(answers);
    }

    pub fn is_open(&self) -> bool {
        lock(&self.closed).is_none()
            && lock(&self.recipe).is_some()
            && lock(&self.paused).is_none_or(|until| Instant::now() >= until)
    }

    pub fn tally(&self) -> Tally {
        let underway = lock(&self.underway);
        let running = underway.values().filter(|job| job.begun).count() as u64;
        Tally {
            running,
            queued: underway.len() as u64 - running,
            fetched: self.fetched.load(Ordering::Relaxed),
        }
    }

    /// Takes back a job that no worker has; says whether it could.
    pub fn recall(&self, number: u64) -> bool {
        let mut underway = lock(&self.underway);
        let Some(job) = underway.get(&number).filter(|job| !job.begun) else { return false };
        job.recalled.notify_one();
        let name = job.name.clone();
        underway.remove(&number);
        drop(underway);
        lock(&self.unwanted).extend(name);
        true
    }

    /// Notes how far a job is, and the name that the server gave it; an empty one where it has none any more.
    fn note(&self, number: u64, stage: Stage, name: &str) {
        let begun = stage != Stage::Queued;
        if let Some(job) = lock(&self.underway).get_mut(&number) {
            job.name = Some(name.to_string()).filter(|name| !name.is_empty());
            if job.begun == begun {
                return;
            }
            (job.begun, job.since) = (begun, Instant::now());
        }
        if begun {
            *lock(&self.moved) = Some(Instant::now());
        }
    }

    /// Since when a worker has a job, if one has it.
    fn running_since(&self, number: u64) -> Option<Instant> {
        lock(&self.underway).get(&number).filter(|job| job.begun).map(|job| job.since)
    }

    /// Whether a job waits although nothing has moved for a while.
    fn is_stuck(&self, number: u64, patience: Duration) -> bool {
        let underway = lock(&self.underway);
        let Some(job) = underway.get(&number).filter(|job| !job.begun) else { return false };
        let is_busy = underway.values().any(|job| job.begun);
        let moved = lock(&self.moved).map_or(job.since, |moved| moved.max(job.since));
        !is_busy && moved.elapsed() >= patience
    }
}

/// Executes a job, unless it is taken back.
pub async fn execute(link: Arc<Link>, number: u64, order: Order, taker: Taker) {
    let recalled = Arc::new(Notify::new());
    let job =
        Underway { since: Instant::now(), begun: false, name: None, recalled: recalled.clone() };
    lock(&link.shared.jobs.underway).insert(number, job);
    let done = tokio::select! {
        done = one(&link, number, &order) => done,
        () = recalled.notified() => return cancel(&link, false).await,
    };
    // Where it was taken back at this moment, nobody waits for it.
    let job = lock(&link.shared.jobs.underway).remove(&number);
    if let Some(job) = job {
        if let Executed::Made(_) = done {
            link.shared.jobs.fetched.fetch_add(1, Ordering::Relaxed);
            *lock(&link.shared.jobs.moved) = Some(Instant::now());
        } else if let Some(name) = job.name {
            let link = link.clone();
            tokio::spawn(async move { link.wire.cancel(name).await });
        }
        taker(done);
    }
}

/// Tells the server which jobs nobody waits for: those that were taken back, and at the end of a run all.
pub async fn cancel(link: &Arc<Link>, all: bool) {
    let jobs = &link.shared.jobs;
    let mut names = std::mem::take(&mut *lock(&jobs.unwanted));
    if all {
        names.extend(lock(&jobs.underway).values().filter_map(|job| job.name.clone()));
    }
    let mut requests = JoinSet::new();
    for name in names {
        let link = link.clone();
        requests.spawn(async move { link.wire.cancel(name).await });
    }
    // Servers that do not answer are not waited for.
    drop(tokio::time::timeout(LAST_WORDS, requests.join_all()).await);
}

async fn one(link: &Arc<Link>, number: u64, order: &Order) -> Executed {
    let Some(execution) = link.shared.options.execution.clone() else { return Executed::Gone };
    if let Err(trouble) = link.ready().await {
        return gone(link, &trouble);
    }
    if let Err(words) = link.executes().await {
        return close(link, &Trouble::unable(words));
    }
    let action = match Inputs::of(link, &execution, order).await {
        Ok(action) => action,
        Err(words) => return close(link, &Trouble::unable(words)),
    };
    let mut wait = FIRST_WAIT;
    let mut was_there = false;
    for attempt in 0..=SENT_AGAIN {
        if attempt > 0 {
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        let response = match sent(link, number, &execution, order, &action).await {
            Ok(response) => response,
            // Missing blobs are uploaded again. If everything is there that the job names, another job may
            // have uploaded it meanwhile. Where that is no help either, the server misses something else.
            Err(trouble) if trouble.unmet => {
                if action.is_there(link).await && std::mem::replace(&mut was_there, true) {
                    return close(link, &Trouble::unmet(trouble.words));
                }
                continue;
            }
            // It lost a part of the action between two requests, or went away and may come back.
            Err(trouble)
                if (trouble.meaning == Meaning::Missing || trouble.passing)
                    && attempt < SENT_AGAIN =>
            {
                continue;
            }
            Err(trouble) => match trouble.meaning {
                Meaning::Gone => return gone(link, &trouble),
                Meaning::Missing => return Executed::Failed(trouble.words),
                Meaning::Refused | Meaning::Unable => return close(link, &trouble),
            },
        };
        let status = response.status.clone().unwrap_or_default();
        match status.code {
            0 => return taken(link, &action, response, order.outputs).await,
            4 => {
                let seconds = execution.timeout.as_secs();
                return Executed::Failed(format!("a job took longer than {seconds} s"));
            }
            _ => {
                let said = plain(&status.message);
                return Executed::Failed(format!("the server could not execute a job: {said}"));
            }
        }
    }
    Executed::Failed("the server loses parts of a job again and again".into())
}

/// Sends a job and waits for what becomes of it.
async fn sent(
    link: &Arc<Link>,
    number: u64,
    execution: &Execution,
    order: &Order,
    inputs: &Inputs,
) -> Result<reapi::ExecuteResponse, Trouble> {
    inputs.upload(link, execution).await?;
    let jobs = &link.shared.jobs;
    let on_word = |stage: Stage, name: &str| jobs.note(number, stage, name);
    let past_cache = order.anew || !link.shared.options.reads;
    let running = link.wire.execute(&inputs.action.digest, past_cache, on_word);
    tokio::pin!(running);
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    // A server that does not end a job in time is not waited for.
    let longest = execution.timeout + execution.timeout / 4 + Duration::from_secs(30);
    loop {
        tokio::select! {
            done = &mut running => {
                jobs.note(number, Stage::Queued, "");
                return done;
            }
            _ = tick.tick() => {
                if jobs.is_stuck(number, execution.patience) {
                    let properties = match execution.properties.is_empty() {
                        true => "are there workers?".to_string(),
                        false => "is there a worker with the properties of --remote-platform?".into(),
                    };
                    let seconds = execution.patience.as_secs();
                    return Err(Trouble::gone(format!(
                        "no worker has begun a job for {seconds} s ({properties})"
                    )));
                }
                if jobs.running_since(number).is_some_and(|since| since.elapsed() > longest) {
                    let words = format!("a job took longer than {} s", longest.as_secs());
                    return Err(Trouble::gone(words));
                }
            }
        }
    }
}

/// Nobody is there. It is asked again after a while.
fn gone(link: &Arc<Link>, trouble: &Trouble) -> Executed {
    if trouble.meaning != Meaning::Gone {
        return close(link, trouble);
    }
    let jobs = &link.shared.jobs;
    let pause = crate::client::LEFT_ALONE_MOST;
    let was_open = jobs.is_open();
    *lock(&jobs.paused) = Some(Instant::now() + pause);
    if was_open {
        link.shared.notice_execution(format!(
            "{trouble}; work goes on here, and it is asked again after {} s",
            pause.as_secs()
        ));
    }
    Executed::Gone
}

/// It does not execute for this client, and will not in this run.
fn close(link: &Arc<Link>, trouble: &Trouble) -> Executed {
    let mut closed = lock(&link.shared.jobs.closed);
    if closed.is_none() {
        let help = trouble.help(&link.shared.options);
        let help = help.map_or(String::new(), |help| format!(" ({help})"));
        link.shared.notice_execution(format!("{trouble}{help}; everything is done here"));
        *closed = Some(trouble.words.clone());
    }
    Executed::Gone
}

/// A text from a server as one line: no control characters, and not long.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// A worker's standard error, in one line.
async fn said(link: &Arc<Link>, result: &ActionResult) -> String {
    let mut bytes = result.stderr_raw.to_vec();
    if bytes.is_empty()
        && let Some(digest) =
            result.stderr_digest.clone().filter(|d| (1..1 << 20).contains(&d.size_bytes))
        && let Ok(mut read) = link.wire.read(&[digest]).await
        && let Some(Read::Bytes(read)) = read.pop()
    {
        bytes = read;
    }
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    link.shared.options.without_secrets(&plain(line))
}

/// Checks what came of an action.
async fn taken(
    link: &Arc<Link>,
    inputs: &Inputs,
    response: reapi::ExecuteResponse,
    outputs: usize,
) -> Executed {
    let Some(result) = response.result else {
        return Executed::Failed("the server gave no result of a job".into());
    };
    match result.exit_code {
        0 => {}
        code if code == i32::from(work::REFUSED) => {
            return Executed::Refused(format!(
                "a worker refuses a job: {}",
                said(link, &result).await
            ));
        }
        code => {
            let said = said(link, &result).await;
            return Executed::Failed(format!("a worker ended with status {code}: {said}"));
        }
    }
    match opened(link, inputs, &result, outputs).await {
        Ok(made) => Executed::Made(Made { remembered: response.cached_result, ..made }),
        Err(words) => Executed::Failed(format!("what a worker gave cannot be used: {words}")),
    }
}

async fn opened(
    link: &Arc<Link>,
    inputs: &Inputs,
    result: &ActionResult,
    outputs: usize,
) -> Result<Made, String> {
    let files: HashMap<&str, &OutputFile> =
        result.output_files.iter().map(|file| (file.path.as_str(), file)).collect();
    let digest = |name: &str| -> Result<Named, String> {
        let digest = files.get(name).and_then(|file| file.digest.clone());
        let digest = digest.ok_or_else(|| format!("it has no `{name}`"))?;
        match action::is_sensible(&digest, MAX_TOLD) {
            true => Ok(digest),
            false => Err(format!("`{name}` has an absurd digest")),
        }
    };
    let told = read(link, &[digest(work::TOLD)?]).await?.pop().unwrap_or_default();
    let told =
        sealed::open(&inputs.job, &told).map_err(|why| format!("`{}`: {why}", work::TOLD))?;
    let told: Told = serde_json::from_slice(&told).map_err(|e| format!("`{}`: {e}", work::TOLD))?;
    if told.program != inputs.program.hash {
        return Err("another program has run than was sent".into());
    }
    if told.packets.len() > outputs || told.packets.iter().any(|(place, _)| *place >= outputs) {
        return Err("it has more packets than were asked for".into());
    }
    if files.contains_key(work::LEARNED) {
        let learned = read(link, &[digest(work::LEARNED)?]).await?.pop().unwrap_or_default();
        let learned = sealed::open(&inputs.job, &learned)
            .map_err(|why| format!("`{}`: {why}", work::LEARNED))?;
        let learned = work::decode_answers(&learned)
            .ok_or_else(|| format!("`{}`: it cannot be read", work::LEARNED))?;
        lock(&link.shared.jobs.answers).extend(learned);
    }
    let names = told.packets.iter().map(|(place, _)| digest(&work::packet_name(*place)));
    let digests = names.collect::<Result<Vec<_>, _>>()?;
    let mut packets = Vec::new();
    for ((_, key), bytes) in told.packets.iter().zip(read(link, &digests).await?) {
        let packet = sealed::open(key, &bytes).map_err(|why| format!("a packet: {why}"))?;
        link.shared.count_executed(bytes.len());
        packets.push((*key, packet));
    }
    for why in told.broke {
        link.shared.say_broke(&plain(&why));
    }
    let spent = told.spent.into_iter().map(|(work, items, nanos)| Spent { work, items, nanos });
    Ok(Made { packets, spent: spent.collect(), remembered: false })
}

/// Blobs, each with the bytes of its digest.
async fn read(link: &Arc<Link>, digests: &[Named]) -> Result<Vec<Vec<u8>>, String> {
    let found = link.wire.read(digests).await.map_err(|e| e.words)?;
    let bytes = |read| match read {
        Read::Bytes(bytes) => Ok(bytes),
        Read::Missing => Err("a part of it is gone".to_string()),
        Read::Broken => Err("its bytes do not have their digest".to_string()),
    };
    found.into_iter().map(bytes).collect()
}

/// The inputs of an action, and the action.
struct Inputs {
    /// The digest of the job, under which the answer is sealed.
    job: Digest,
    program: Named,
    /// How many bytes stand behind the program.
    padding: usize,
    /// Everything but the program.
    blobs: Vec<Blob>,
    action: Blob,
}

impl Inputs {
    /// A job that is done anew has other bytes in all that belongs to it: servers keep a blob that they
    /// have, even a broken one.
    async fn of(link: &Arc<Link>, execution: &Execution, order: &Order) -> Result<Inputs, String> {
        let attempt = u32::from(order.anew);
        let recipe = lock(&link.shared.jobs.recipe).clone().ok_or("there is no plan yet")?;
        let padding = attempt as usize;
        let program = digest_of_program(link, execution, padding)?;
        let seal = |key, bytes: &[u8]| sealed::seal(&key, attempt, bytes).map(Blob::new);
        let recipe = seal(work::recipe_key(), &recipe).ok_or("the pipeline is too large")?;
        let answers = work::encode_answers(&lock(&link.shared.jobs.answers));
        let answers =
            seal(work::answers_key(), &answers).ok_or("the answers of compilers are too large")?;
        let job = seal(work::job_key(), &order.job).ok_or("a job is too large")?;
        let file = |name: &str, digest: &Named| reapi::FileNode {
            name: name.into(),
            digest: Some(digest.clone()),
            is_executable: name == work::PROGRAM,
            ..reapi::FileNode::default()
        };
        let mut files = vec![
            file(work::PROGRAM, &program),
            file(work::RECIPE, &recipe.digest),
            file(work::JOB, &job.digest),
            file(work::ANSWERS, &answers.digest),
        ];
        // Servers insist on the order of names.
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let root = reapi::Directory { files, ..reapi::Directory::default() };
        let root = Blob::new(root.encode_to_vec());
        let mut arguments = vec![format!("./{}", work::PROGRAM), "worker".into()];
        arguments.extend(["--jobs".into(), execution.cores.to_string()]);
        let mut output_paths: Vec<String> = (0..order.outputs).map(work::packet_name).collect();
        output_paths.extend([work::TOLD.into(), work::LEARNED.into()]);
        output_paths.sort();
        let properties = execution.properties.iter();
        let property = |(name, value): &(String, String)| reapi::platform::Property {
            name: name.clone(),
            value: value.clone(),
        };
        let mut platform = reapi::Platform { properties: properties.map(property).collect() };
        platform.properties.sort_by(|a, b| (&a.name, &a.value).cmp(&(&b.name, &b.value)));
        let variable = |name: &str, value: String| reapi::command::EnvironmentVariable {
            name: name.into(),
            value,
        };
        // Programs are looked for in the same folders, so that an answer of a compiler here can hold there.
        let path = std::env::var("PATH").unwrap_or_else(|_| PATH.into());
        let mut environment_variables = vec![variable("PATH", path)];
        if order.anew {
            environment_variables.insert(0, variable("LITMAKE_ATTEMPT", attempt.to_string()));
        }
        #[expect(deprecated, reason = "servers of older versions look for properties here")]
        let command = reapi::Command {
            arguments,
            environment_variables,
            output_paths,
            platform: Some(platform.clone()),
            ..reapi::Command::default()
        };
        let command = Blob::new(command.encode_to_vec());
        let mut action = reapi::Action {
            command_digest: Some(command.digest.clone()),
            input_root_digest: Some(root.digest.clone()),
            platform: Some(platform),
            ..reapi::Action::default()
        };
        action.timeout.get_or_insert_default().seconds = execution.timeout.as_secs() as i64;
        let action = Blob::new(action.encode_to_vec());
        let blobs = vec![recipe, answers, job, root, command, action.clone()];
        Ok(Inputs { job: Digest::of(&order.job), program, padding, blobs, action })
    }

    /// The digests of everything that the action needs.
    fn digests(&self) -> Vec<Named> {
        self.blobs.iter().map(|b| &b.digest).chain([&self.program]).cloned().collect()
    }

    /// Whether the server has everything.
    async fn is_there(&self, link: &Arc<Link>) -> bool {
        link.wire.missing(self.digests()).await.is_ok_and(|missing| missing.is_empty())
    }

    /// Uploads what the server does not have.
    async fn upload(&self, link: &Arc<Link>, execution: &Execution) -> Result<(), Trouble> {
        let missing = link.wire.missing(self.digests()).await?;
        let missing: HashSet<String> = missing.into_iter().map(|digest| digest.hash).collect();
        let mut new: Vec<Blob> =
            self.blobs.iter().filter(|b| missing.contains(&b.digest.hash)).cloned().collect();
        if missing.contains(&self.program.hash) {
            // Jobs that begin together send the program once.
            let _one = link.uploading.lock().await;
            let still = link.wire.missing(vec![self.program.clone()]).await?;
            if !still.is_empty() {
                let bytes = program::read(&execution.program, self.padding)
                    .map_err(|e| Trouble::unable(format!("cannot read the program: {e}")))?;
                let blob = Blob::new(bytes);
                if blob.digest != self.program {
                    return Err(Trouble::unable("the program has changed since the run began"));
                }
                link.wire.write(vec![blob]).await?;
            }
        }
        new.sort_by_key(|blob| blob.bytes.len());
        link.wire.write(new).await
    }
}

/// The digest of the program that workers run.
fn digest_of_program(link: &Link, execution: &Execution, padding: usize) -> Result<Named, String> {
    let read = || {
        program::read(&execution.program, padding)
            .map_err(|e| format!("cannot read {}: {e}", execution.program.display()))
    };
    if padding > 0 {
        return Ok(action::digest_of(&read()?));
    }
    let mut known = lock(&link.shared.jobs.program);
    if let Some(known) = &*known {
        return Ok(known.clone());
    }
    let named = action::digest_of(&read()?);
    *known = Some(named.clone());
    Ok(named)
}
