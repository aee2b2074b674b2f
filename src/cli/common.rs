//! Shared by several subcommands: the cache, profiles, signals, and the end of the program after an
//! error.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use litmake::base::failure::{FailureKind, Fault};
use litmake::base::records::Records;
use litmake::diag::{Diag, Result, nearest};
use litmake::engine::store::{GcOptions, Store, StoreOptions};
use litmake::pipeline::plan::profile_folders;
use litmake::profile::family::Library;
use litmake::profile::files::Disk;
use litmake::profile::{Profile, Profiles};
use litmake::stage::workspace::{Prepared, Workspace};
use litmake::stop::{self, Stop};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

/// A cache that is larger than this is made smaller at the end of a run.
const DEFAULT_CAP: u64 = 10 << 30;

/// The default folder of the cache.
const CACHE: &str = "cache";

/// The folder of the cache, for commands that do not open it.
pub fn cache_dir() -> PathBuf {
    variable("LITMAKE_CACHE").unwrap_or_else(|| CACHE.into())
}

/// The path in an environment variable; none if it is not set, or empty.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[derive(clap::Args, Clone)]
pub struct CacheArgs {
    // The variables are read here: clap shows an option that a variable gives as a part of the usage.
    /// The folder of the cache [default: cache] [env: LITMAKE_CACHE]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// A second cache, which is read for results that the first one lacks, such as a CI cache
    /// folder [env: LITMAKE_CACHE_SHARED]
    #[arg(long, value_name = "DIR")]
    shared_cache: Option<PathBuf>,

    /// Only read the cache; new results are kept in memory
    #[arg(long)]
    pub cache_read_only: bool,
}

impl CacheArgs {
    pub fn dir(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(cache_dir)
    }

    /// Takes a folder for the cache, unless the user names one.
    pub fn or(&mut self, folder: PathBuf) {
        if variable("LITMAKE_CACHE").is_none() {
            self.cache.get_or_insert(folder);
        }
    }

    fn shared(&self) -> Option<PathBuf> {
        self.shared_cache.clone().or_else(|| variable("LITMAKE_CACHE_SHARED"))
    }

    /// The same folders, wherever the working folder will be.
    pub fn in_place(&self) -> CacheArgs {
        let whole = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        CacheArgs {
            cache: Some(whole(self.dir())),
            shared_cache: self.shared().map(whole),
            cache_read_only: self.cache_read_only,
        }
    }

    /// An error unless the cache lies outside of the working folder, whose files are not believed.
    pub fn is_elsewhere(&self) -> Result<()> {
        let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
        let here = real(Path::new(".")).unwrap_or_default();
        for dir in std::iter::once(self.dir()).chain(self.shared()) {
            if real(&dir).is_ok_and(|dir| dir.starts_with(&here)) {
                return Err(Diag::new(format!(
                    "the cache {} lies in the tree, whose results are not believed with --foreign",
                    dir.display()
                ))
                .help("name a folder outside of it with --cache"));
            }
        }
        Ok(())
    }

    pub fn open(&self) -> Result<Store> {
        let options = StoreOptions { read_only: self.cache_read_only, shared: self.shared() };
        Store::open(&self.dir(), &options).map_err(|e| {
            Diag::new(format!("cannot open the cache {}: {e}", self.dir().display()))
                .help("name another folder with --cache")
        })
    }
}

/// A size such as `500M` or `10G`.
pub fn size(text: &str) -> std::result::Result<u64, String> {
    let text = text.trim().trim_end_matches("iB").trim_end_matches('B');
    let (digits, unit) = match text.char_indices().last() {
        Some((i, c)) if c.is_alphabetic() => (&text[..i], c.to_ascii_uppercase()),
        _ => (text, ' '),
    };
    let shift = match unit {
        ' ' => 0,
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        other => return Err(format!("`{other}` is no unit; units are K, M, G and T")),
    };
    let number: f64 = digits.trim().parse().map_err(|_| format!("`{digits}` is no number"))?;
    if !(0.0..1e18).contains(&number) {
        return Err(format!("`{digits}` is no size"));
    }
    Ok((number * (1u64 << shift) as f64) as u64)
}

pub fn show_size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 20 => format!("{:.1} MiB", b as f64 / (1u64 << 20) as f64),
        b if b >= 1 << 10 => format!("{:.1} KiB", b as f64 / 1024.0),
        b => format!("{b} bytes"),
    }
}

/// Keeps the cache below its cap, and closes it.
pub fn reduce(store: &Store) {
    let cap =
        std::env::var("LITMAKE_CACHE_MAX").ok().and_then(|v| size(&v).ok()).unwrap_or(DEFAULT_CAP);
    if !store.is_read_only() {
        // Damage that remains is reported again by the next run.
        let _ = store.heal();
        store.gc(&GcOptions { max_size: Some(cap), keep: None });
    }
    store.close();
}

/// Parses `NAME=VALUE`.
pub fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=')
        .map(|(n, v)| (n.trim().to_string(), v.to_string()))
        .ok_or_else(|| format!("`{text}` is not of the form NAME=VALUE"))
}

/// Parses `NAME=N`, of a parameter whose values are numbers.
pub fn parameter<T: std::str::FromStr>(text: &str) -> std::result::Result<(String, T), String> {
    let (name, value) = assignment(text)?;
    match value.trim().parse() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(format!("`{value}` is no value for `{name}`, which takes a number")),
    }
}

/// Parses `I/N`.
pub fn part(text: &str) -> std::result::Result<(u32, u32), String> {
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
    match parts {
        Some((i, n)) if i >= 1 && i <= n => Ok((i, n)),
        _ => Err(format!("`{text}` is not of the form I/N with 1 <= I <= N")),
    }
}

/// The profiles that the command line can name.
pub fn known_profiles() -> Profiles {
    Profiles::load(&Disk, &profile_folders(Path::new(".")), &[])
}

pub fn find_profile(library: &dyn Library, name: &str) -> Result<Arc<Profile>> {
    let profiles = Profiles::load(library, &profile_folders(Path::new(".")), &[]);
    profiles.find(library, Path::new("."), name)
}

/// The names of the profiles that words stand for, in order: names, parts of names, patterns, and
/// lists of these. A file and a build keep the name by which they are found.
pub fn named_profiles(words: &[String]) -> Result<Vec<String>> {
    let known = known_profiles();
    let mut out: Vec<String> = Vec::new();
    for word in words {
        let found = known.named(&Disk, Path::new("."), word)?;
        match word.contains(['/', '@']) || word.ends_with(".yaml") || word.ends_with(".yml") {
            true if !word.contains(',') => out.push(word.clone()),
            _ => out.extend(found.iter().map(|p| p.name.clone())),
        }
    }
    Ok(out)
}

/// The names of the profiles that words stand for. Without words, those of the installed compilers
/// for this machine and the common targets, which a note names.
pub fn profiles_or_usual(words: &[String]) -> Result<Vec<String>> {
    if !words.is_empty() {
        return named_profiles(words);
    }
    let usual: Vec<String> = usual()?.iter().map(|p| p.name.clone()).collect();
    note!("the profiles are {} (--profile names others)", usual.join(", "));
    Ok(usual)
}

/// The profile of this machine's compiler, which a note names.
pub fn usual_profile() -> Result<Arc<Profile>> {
    let one = usual()?.swap_remove(0);
    note!("the profile is {} (--profile names another)", one.name);
    Ok(one)
}

/// The profiles that are used if nobody names any; at least one.
pub fn usual() -> Result<Vec<Arc<Profile>>> {
    let usual = known_profiles().usual(&Disk);
    match usual.is_empty() {
        false => Ok(usual),
        true => Err(Diag::new("no C compiler is installed for which litmake has a profile").help(
            "install clang or gcc, such as with `apt-get install clang gcc`, or name a profile of \
             another compiler with --profile; `litmake doctor` says what there is",
        ).kind(FailureKind::Broken(Fault::Missing))),
    }
}

/// Whether to colour output; `terminal` says whether it goes to a terminal.
pub fn color(terminal: bool) -> bool {
    terminal
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|v| v != "dumb")
}

pub fn stdout_color() -> bool {
    color(std::io::stdout().is_terminal())
}

/// Plans a pipeline and builds its graph. Warns, once a run, about inputs that may decide results
/// and cannot be identified.
pub fn prepare(workspace: &mut Workspace, records: &dyn Records) -> Result<Prepared> {
    let prepared = workspace.prepare(records)?;
    warn(workspace);
    Ok(prepared)
}

/// Prints the warnings about compilers that were not printed yet.
pub fn warn(workspace: &Workspace) {
    for note in workspace.compilers().take_notes() {
        note!("{note}");
    }
}

/// Prints an error, and returns the exit status of wrong input; after a signal, that of the signal.
pub fn fail(diag: &Diag) -> ExitCode {
    eprintln!("{diag}");
    ExitCode::from(status_of(status_for(diag)))
}

/// The exit status with which a command ended; an error is printed.
pub fn ended(result: Result<u8>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(e) => fail(&e),
    }
}

/// The same of a command that has no statuses of its own.
pub fn done(result: Result<()>) -> ExitCode {
    ended(result.map(|()| 0))
}

/// The exit status of a command whose errors have statuses of their own; an error is printed.
pub fn ended_as(result: std::result::Result<u8, (u8, Box<Diag>)>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|(status, e)| {
        eprintln!("{e}");
        status
    }))
}

/// The error of a list from which the words of a command line choose nothing.
pub fn nothing_fits<'a>(
    what: &str,
    words: &[String],
    names: impl IntoIterator<Item = &'a str>,
    help: &str,
) -> Box<Diag> {
    let near = words.first().and_then(|word| nearest(word, names));
    let help = near.map_or_else(|| help.to_string(), |near| format!("there is `{near}`"));
    Diag::new(format!("no {what} fits")).help(help)
}

/// The exit status of an error: 3 where something that the command needs is missing or failed.
pub fn status_for(diag: &Diag) -> u8 {
    if matches!(diag.kind, FailureKind::Broken(_)) { 3 } else { 2 }
}

/// The request to stop, for commands that take long. The first interrupt (Ctrl-C), SIGTERM or
/// SIGHUP makes it; a later one ends the program at once, with all processes that its tools
/// started, and the cache loses nothing. Signals within [`ONE`] of the first count as the same.
pub fn stop() -> Stop {
    stop_within(None)
}

/// The same for commands that print as they go: if the current result takes longer than a second,
/// the program ends without it.
pub fn stop_between_results() -> Stop {
    stop_within(Some(Duration::from_secs(1)))
}

/// Signals that come so soon after the first belong to it: coreutils' `timeout` signals its child and
/// then the child's group, and a CI server may do the same.
const ONE: Duration = Duration::from_secs(1);

/// The signal that asked for the stop; 0 before.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

fn stop_within(patience: Option<Duration>) -> Stop {
    static HANDLERS: Once = Once::new();
    let stop = stop::of_the_process();
    HANDLERS.call_once(|| {
        // If no handler can be set, a signal ends the program, as it does by default.
        if let Ok(mut signals) = Signals::new(heeded()) {
            let (send, receive) = channel();
            std::thread::spawn(move || signals.forever().try_for_each(|signal| send.send(signal)));
            std::thread::spawn(move || {
                let Ok(first) = receive.recv() else { return };
                SIGNAL.store(first, Ordering::Relaxed);
                stop.ask();
                let asked = Instant::now();
                let second = loop {
                    let next = match patience {
                        Some(patience) => {
                            receive.recv_timeout(patience.saturating_sub(asked.elapsed()))
                        }
                        None => receive.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    };
                    if next.is_err() || asked.elapsed() >= ONE {
                        break next;
                    }
                };
                let signal = match second {
                    Ok(second) => {
                        eprintln!("\nlitmake: ended by a second signal; nothing more is written");
                        second
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        eprintln!("\nlitmake: stopped; what was printed before is whole");
                        first
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                // Exits without waiting for locks that other threads hold.
                low_level::exit(128 + signal);
            });
        }
    });
    stop.clone()
}

/// The signals that ask for a stop. SIGHUP is left out if the program was started with it ignored,
/// as by `nohup`.
fn heeded() -> Vec<i32> {
    // SAFETY: it only reads the current action.
    let ignored = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGHUP, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    };
    let mut out = vec![SIGINT, SIGTERM];
    if !ignored {
        out.push(SIGHUP);
    }
    out
}

/// The exit status of a command that a signal stopped; none if no signal came.
pub fn stopped_status() -> Option<u8> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(128 + signal as u8),
    }
}

/// The exit status of a command. After a signal it is that of the signal, because the result is
/// incomplete.
pub fn status_of(whole: u8) -> u8 {
    stopped_status().unwrap_or(whole)
}

/// Says how to continue after a stop, and ends the program.
#[expect(
    clippy::disallowed_methods,
    reason = "a stop leaves nothing to close: what is kept was written"
)]
pub fn stopped(message: &str) -> ! {
    eprintln!("\nlitmake: stopped; {message}");
    std::process::exit(status_of(2).into())
}

/// The same, for a stop between two tests.
pub fn stopped_before(at: usize, all: usize, next: impl std::fmt::Display) -> ! {
    stopped(&format!("{at} of {all} tests are done, the next is {next}"))
}
