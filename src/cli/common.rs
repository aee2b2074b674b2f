//! What several subcommands share: the cache, profiles, signals, how errors end a program.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use litmake::base::records::Records;
use litmake::diag::{Diag, Result};
use litmake::engine::store::{GcOptions, Store, StoreOptions};
use litmake::pipeline::plan::{Plan, profile_folders};
use litmake::profile::files::Files;
use litmake::profile::{Profile, Profiles};
use litmake::stage::{self, Built};
use signal_hook::consts::{SIGALRM, SIGINT};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

/// A cache larger than this is reduced at the end of a run.
const DEFAULT_CAP: u64 = 10 << 30;

#[derive(clap::Args, Clone)]
pub struct CacheArgs {
    /// The folder of the cache [default: cache]
    #[arg(long, value_name = "DIR", env = "LITMAKE_CACHE")]
    pub cache: Option<PathBuf>,

    /// A second cache that is read where the first has nothing, such as a CI cache folder
    #[arg(long, value_name = "DIR", env = "LITMAKE_CACHE_SHARED")]
    pub shared_cache: Option<PathBuf>,

    /// Only read the cache; results are kept in memory
    #[arg(long)]
    pub cache_read_only: bool,
}

impl CacheArgs {
    pub fn dir(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| "cache".into())
    }

    pub fn open(&self) -> Result<Store> {
        let options =
            StoreOptions { read_only: self.cache_read_only, shared: self.shared_cache.clone() };
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

/// Keeps the cache below its cap, and closes it: the handler of interrupts holds it until the
/// program ends.
pub fn reduce(store: &Store) {
    let cap =
        std::env::var("LITMAKE_CACHE_MAX").ok().and_then(|v| size(&v).ok()).unwrap_or(DEFAULT_CAP);
    if !store.is_read_only() {
        store.gc(&GcOptions { max_size: Some(cap), keep: None });
    }
    store.close();
}

/// `NAME=VALUE`.
pub fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=')
        .map(|(n, v)| (n.trim().to_string(), v.to_string()))
        .ok_or_else(|| format!("`{text}` is not of the form NAME=VALUE"))
}

/// `NAME=N`, of a parameter whose values are numbers.
pub fn parameter<T: std::str::FromStr>(text: &str) -> std::result::Result<(String, T), String> {
    let (name, value) = assignment(text)?;
    match value.trim().parse() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(format!("`{value}` is no value for `{name}`, which takes a number")),
    }
}

/// `I/N`.
pub fn part(text: &str) -> std::result::Result<(u32, u32), String> {
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
    match parts {
        Some((i, n)) if i >= 1 && i <= n => Ok((i, n)),
        _ => Err(format!("`{text}` is not of the form I/N with 1 <= I <= N")),
    }
}

pub fn find_profile(files: &dyn Files, name: &str) -> Result<Arc<Profile>> {
    let profiles = Profiles::load(files, &profile_folders(Path::new(".")), &[]);
    profiles.find(files, Path::new("."), name)
}

/// Whether standard error should be coloured.
pub fn color(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

pub fn stdout_color() -> bool {
    color(std::io::stdout().is_terminal())
}

/// Says what is wrong and ends with the status of wrong input.
/// The graph of a plan. What cannot be known and may decide results is said, once a run.
pub fn build(plan: &Plan, records: &dyn Records) -> Result<Built> {
    let built = stage::build(plan, records)?;
    for note in &built.notes {
        eprintln!("note: {note}");
    }
    Ok(built)
}

pub fn fail(diag: &Diag) -> ExitCode {
    eprintln!("{diag}");
    ExitCode::from(2)
}

/// Set by the first interrupt, which asks a command to stop at the next good place; the second ends
/// the program.
pub fn stop_asked() -> &'static AtomicBool {
    on_first_interrupt(|| {})
}

/// For commands that print as they go: the first interrupt asks them to stop after the result in
/// hand, and to say how to go on; where that takes long, or at the second, the program ends.
pub fn interruptible() -> &'static AtomicBool {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let end = || {
            let said = "\nlitmake: stopped; what was printed before is whole\n";
            // SAFETY: the bytes are there, and handlers may write.
            unsafe { libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len()) };
            low_level::exit(INTERRUPTED.into());
        };
        // SAFETY: it does what handlers may, no more.
        let _ = unsafe { low_level::register(SIGALRM, end) };
    });
    // SAFETY: handlers may set the alarm.
    on_first_interrupt(|| unsafe {
        libc::alarm(1);
    })
}

/// `then` is called by a handler of signals. There is no thread that waits for them: starting one
/// takes longer than many a command.
fn on_first_interrupt(then: fn()) -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let asked = move || match STOP.swap(true, Ordering::Relaxed) {
            true => low_level::exit(INTERRUPTED.into()),
            false => then(),
        };
        // SAFETY: it does what handlers may, no more. Where none can be set, an interrupt ends the
        // program as it would anyhow.
        let _ = unsafe { low_level::register(SIGINT, asked) };
    });
    &STOP
}

/// Says how to go on after an interrupt, and ends the program.
pub fn stopped(message: &str) -> ! {
    eprintln!("\nlitmake: stopped; {message}");
    std::process::exit(INTERRUPTED.into())
}

/// The same between two of some tests.
pub fn stopped_before(at: usize, all: usize, next: impl std::fmt::Display) -> ! {
    stopped(&format!("{at} of {all} tests are done, the next is {next}"))
}

/// The status of a program that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// The first interrupt asks the run to stop; where that takes long, or at the second, the cache
/// is closed and the program ends.
pub fn on_interrupt(stop: Arc<AtomicBool>, store: Arc<Store>) {
    // Where no handler can be set, an interrupt ends the program as it would anyhow.
    let Ok(mut signals) = Signals::new([SIGINT]) else { return };
    let end = move || {
        store.close();
        eprintln!(
            "\nlitmake: stopped; what was done is kept, and the same command goes on from here"
        );
        std::process::exit(INTERRUPTED.into());
    };
    std::thread::spawn(move || {
        let mut late = Some(end.clone());
        for _ in signals.forever() {
            stop.store(true, Ordering::Relaxed);
            match late.take() {
                Some(end) => drop(std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(700));
                    end();
                })),
                None => end(),
            }
        }
    });
}
