//! `litmake sim`: prints the outcomes that a model allows, test by test, in herd's log format.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use clap_complete::engine::ArgValueCompleter;
use litmake::base::failure::{FailureKind, Fault};
use litmake::base::watch;
use litmake::cat::conf::{self, Conf};
use litmake::cat::load::Disk;
use litmake::cat::{self, LoadOptions};
use litmake::diag::{Diag, Result, Source};
use litmake::litmus::c::macros::Macros;
use litmake::litmus::{self, Arch, Features, list, pack};
use litmake::report::picture;
use litmake::sim::printed::{block, condition};
use litmake::sim::witness::{self, with_state};
use litmake::sim::{Engine, Model, Options, Outcomes, PlainAtomic, Simulator};
use litmake::stop::{Stop, Stopping};

use super::byname::ByName;
use super::{byname, certificate, common, completions};

/// Print every outcome that a memory model allows for litmus tests.
///
/// The command prints one block a test, in the given order, in the format of herd's logs.
///
/// Exit status: 0, done; 2, a test could not be read or simulated. Its error is on standard error,
/// and the other tests are simulated all the same.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake sim SB.litmus                       the default model of the test's architecture
  litmake sim --model my.cat @tests/@all      a model of your own, and a list of tests
  litmake sim -I ~/herd/libdir --model aarch64.cat MP.litmus
                                              a model of herd's own library
  litmake sim -I ~/linux/tools/memory-model --conf linux-kernel.cfg MP+polocks.litmus
                                              the Linux kernel's own model
  litmake sim --explain '1:X0=1; 1:X2=0' MP.litmus
                                              why an outcome is forbidden
  litmake sim --certify certs SB.litmus       a proof of the outcomes, in certs/SB.cert
  find . -name '*.litmus' | litmake sim --names wanted @-
                                              tests whose paths are read from standard input")]
pub struct Args {
    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list); `-` is a test on standard input, and `@-` a list
    #[arg(required = true, value_name = "FILE|FOLDER|@LIST")]
    inputs: Vec<String>,

    #[command(flatten)]
    named: byname::Lists,

    /// The model: a built-in name or a cat file [default: by dialect]
    #[arg(short, long, value_name = "FILE|NAME", add = ArgValueCompleter::new(completions::models))]
    model: Option<String>,

    /// A folder in which models and the files that they include are looked up first
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,

    /// A bell file: declares annotations that the model adds to those of the dialect
    #[arg(long, value_name = "FILE")]
    bell: Option<String>,

    /// A macro file: defines functions that C tests call
    #[arg(long, value_name = "FILE")]
    macros: Option<String>,

    /// A configuration file of herd's, for the model, bell file, macros and variants that it names;
    /// options on the command line go before it
    #[arg(long, value_name = "FILE")]
    conf: Option<String>,

    /// Set a variant that the model asks about (such as `mixed`), that says which accesses are
    /// single (`lse2`, `lpae`, `avx`), or that gives LLVM's pointers 32 bits (`ptr32`)
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,

    /// Leave the checks of these names out of the model
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    skip_check: Vec<String>,

    /// How often the body of a loop may run; the output marks a test that needs more [default: 2]
    #[arg(long, value_name = "N")]
    unroll: Option<u32>,

    /// Give up on a test after S seconds [default: never]
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,

    /// Give up on a test whose outcomes take more than so many MiB while they are looked for
    #[arg(long, value_name = "MIB", default_value_t = 128)]
    memory: usize,

    /// The meaning of plain accesses (`*x`, `*x = 1`) to atomic objects of C. All commands that compile tests, and
    /// pipelines, read them as C11 has them
    #[arg(long, value_enum, default_value = "herd", value_name = "READING")]
    plain_atomics: Reading,

    /// How to search the executions; all engines find the same outcomes
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,

    /// Say why the model forbids a final state, or show an execution that has it; a state is
    /// `0:X1=1; [x]=2`, any proposition, or `condition` for the test's own
    #[arg(long, value_name = "STATE", conflicts_with = "json")]
    explain: Option<String>,

    /// Draw executions that satisfy the condition's proposition; if the model allows none,
    /// forbidden ones
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "explain"])]
    show: Option<ShowFormat>,

    /// Draw executions with this state instead
    #[arg(long, value_name = "STATE", requires = "show")]
    show_of: Option<String>,

    /// The number of executions to draw for a state
    #[arg(long, default_value_t = 1, value_name = "N", requires = "show")]
    show_limit: usize,

    /// The file for the drawing [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "show")]
    output: Option<PathBuf>,

    /// Write to DIR for each test a certificate, NAME.cert: an execution for each outcome, and a proof
    /// that there is no other one. `litmake certificate check` confirms it without the simulator
    #[arg(long, value_name = "DIR", conflicts_with_all = ["explain", "show", "engine"])]
    certify: Option<PathBuf>,

    /// Print one JSON object a test, one a line
    #[arg(long)]
    json: bool,

    /// Leave out the lines `Hash=`: tools that compare logs by hash refuse hashes of another tool
    #[arg(long)]
    no_hash: bool,

    /// The number of threads [default: all cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ShowFormat {
    /// For Graphviz
    Dot,
    /// For browsers
    Svg,
}

/// How plain accesses to atomic objects are read.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Reading {
    /// They are not atomic, as in herd
    Herd,
    /// They are seq_cst, as in C11
    C11,
}

impl Reading {
    /// Which reading holds, for a test whose accesses are read in two ways.
    fn said(self) -> &'static str {
        match self {
            Reading::Herd => {
                "accesses such as `*x = 1` to atomic objects are read as herd has them, not atomic; \
                 in C11, and where tests are compiled, they are seq_cst (--plain-atomics c11)"
            }
            Reading::C11 => {
                "accesses such as `*x = 1` to atomic objects are read as C11 has them, seq_cst; \
                 herd reads them as not atomic"
            }
        }
    }
}

impl From<Reading> for PlainAtomic {
    fn from(reading: Reading) -> PlainAtomic {
        match reading {
            Reading::Herd => PlainAtomic::NonAtomic,
            Reading::C11 => PlainAtomic::SeqCst,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum EngineName {
    /// Enumerates, and uses the solver if that takes long
    Auto,
    /// Enumerates executions one by one
    Enumerate,
    /// Uses a SAT solver that learns from executions that the model forbids
    Solve,
    /// Enumerates all executions and checks each with the interpreter of models: slow, to check the
    /// other engines
    Exhaustive,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Engine {
        match name {
            EngineName::Auto => Engine::Auto,
            EngineName::Enumerate => Engine::Enumerate,
            EngineName::Solve => Engine::Solve,
            EngineName::Exhaustive => Engine::Exhaustive,
        }
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(diag) => {
            eprintln!("{diag}");
            ExitCode::from(2)
        }
    }
}

/// A model that is loaded when the first test asks for it.
type Asked = Arc<OnceLock<Result<Arc<Model>>>>;

/// The loaded models, by dialect.
struct Models<'a> {
    args: &'a Args,
    conf: &'a Conf,
    timeout: Option<Duration>,
    loaded: Mutex<HashMap<Arch, Asked>>,
}

impl Models<'_> {
    fn get(&self, arch: Arch) -> Result<Arc<Model>> {
        let cell = {
            let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.entry(arch).or_default().clone()
        };
        let load = || {
            let _limit = watch::until(self.timeout.map(|t| Instant::now() + t));
            self.load(arch).map(Arc::new).map_err(|e| match e.kind {
                FailureKind::Broken(Fault::OutOfTime) => {
                    let name = self.args.model.as_deref().unwrap_or(arch.default_model());
                    Diag::new(format!("{name}: it cannot be read in time"))
                        .help("give it more time with --timeout")
                        .kind(e.kind)
                }
                _ => e,
            })
        };
        cell.get_or_init(load).clone()
    }

    fn load(&self, arch: Arch) -> Result<Model> {
        let (args, conf) = (self.args, self.conf);
        let name = args.model.as_ref().or(conf.model.as_ref()).map(String::as_str);
        let mut options = LoadOptions::new(arch);
        options.include_dirs = [args.include.clone(), conf.include.clone()].concat();
        options.variants = [args.variant.clone(), conf.variants.clone()].concat();
        options.skip = [args.skip_check.clone(), conf.skip.clone()].concat();
        options.bell = args.bell.clone().or(conf.bell.clone());
        let macros = match args.macros.as_ref().or(conf.macros.as_ref()) {
            Some(name) => {
                Macros::read(&conf::find(name, "macro file", &options.include_dirs, &Disk)?)?
            }
            None => Macros::default(),
        };
        let model = cat::load(name.unwrap_or(arch.default_model()), &options)?;
        for variant in args.variant.iter().chain(&conf.variants) {
            // The model may ask for a variant by name. Other variants say which accesses are
            // single.
            let asks = |f: &cat::load::Loaded| {
                f.source.text.to_lowercase().contains(&format!("\"{}\"", variant.to_lowercase()))
            };
            if !Features::default().add(variant) && !model.files.iter().any(asks) {
                let name = name.unwrap_or(arch.default_model());
                return Err(Diag::new(format!("the model {name} has no variant `{variant}`"))
                    .help(
                        "lse2, lpae and avx say which accesses are single, ptr32 that pointers have 32 bits; models ask for others",
                    ));
            }
        }
        Model::load_with(&model, macros)
    }
}

/// Simulates the tests; says whether each of them could be read and simulated.
fn run(args: &Args) -> Result<bool> {
    let timeout = match args.timeout {
        Some(s) if s.is_finite() && s > 0.0 => Some(Duration::from_secs_f64(s.min(1e9))),
        Some(_) => return Err(Diag::new("--timeout wants a number of seconds above 0")),
        None => None,
    };
    let memory = match args.memory {
        0 => return Err(Diag::new("--memory wants a number of MiB above 0")),
        mib => mib.saturating_mul(1 << 20),
    };
    let conf = match &args.conf {
        Some(name) => conf::read(&conf::find(name, "configuration file", &args.include, &Disk)?)?,
        None => Conf::default(),
    };
    let unroll = args.unroll.or(conf.unroll).unwrap_or(Options::default().unroll);
    if unroll == 0 {
        return Err(Diag::new("--unroll wants at least 1: a loop's body runs that often"));
    }
    let named = ByName::read(&args.named)?;
    let paths = list::tests(&args.inputs)?;
    let plain_atomic = args.plain_atomics.into();
    let engine = args.engine.into();
    let options = Options { unroll, timeout, memory, engine, plain_atomic, ..Options::default() };
    let differs = AtomicBool::new(false);
    let mut features = Features::default();
    for name in args.variant.iter().chain(&conf.variants) {
        features.add(name);
    }
    let certificates = args.certify.as_deref().map(certificate::Folder::new);
    let models = Models { args, conf: &conf, timeout, loaded: Mutex::default() };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or_else(cores).clamp(1, 256).min(paths.len().max(1));
    let one = |simulator: &mut Simulator, path: &Path| -> Result<String> {
        let text = match path == Path::new(list::STDIN) {
            true => std::io::read_to_string(std::io::stdin()),
            false => pack::read_to_string(path),
        };
        let text = text.map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
        let source = Source::new(path.display().to_string(), text);
        let Some(mut test) = named.apply(litmus::read(&source)?)? else {
            return Ok(String::new());
        };
        test.add_features(features);
        let model = models.get(test.arch)?;
        if let Some(state) = args.explain.as_deref().or(args.show_of.as_deref()) {
            let own = if state == "condition" { test.clone() } else { with_state(&test, state)? };
            return pictured(args, simulator, &own, &model, &options, state);
        }
        if args.show.is_some() {
            return pictured(args, simulator, &test, &model, &options, "condition");
        }
        if let Some(folder) = &certificates {
            folder.add(simulator, &test, &model, &options)?;
        }
        let outcomes = simulator
            .simulate(&test, &model, &options)
            .map_err(|d| d.or_at(&test.source, test.condition.span))?;
        if outcomes.plain_atomics && !differs.swap(true, Ordering::Relaxed) {
            eprintln!("note: {}: {}", test.name, args.plain_atomics.said());
        }
        if let Some(empty) = &outcomes.empty {
            eprintln!("warning: {}: {empty}", test.name);
        }
        Ok(if args.json {
            json(&test, &model, &outcomes)
        } else {
            block(&test, &outcomes, (!args.no_hash).then(|| text_hash(&test)))
        })
    };
    let Some(path) = &args.output else {
        let good = in_order(&paths, jobs, one)?;
        // Errors of tests that could not be read are printed already.
        if good {
            named.some(paths.len())?;
        }
        return Ok(good);
    };
    let [test] = &paths[..] else {
        return Err(Diag::new("-o takes the drawing of one test")
            .help("name one test, or leave -o out and take the drawings from standard output"));
    };
    let text = one(&mut Simulator::default(), test)?;
    named.some(1)?;
    litmake::file::write(path, text)?;
    Ok(true)
}

/// Explains or draws executions that satisfy a test's proposition.
fn pictured(
    args: &Args,
    simulator: &mut Simulator,
    test: &litmus::Test,
    model: &Model,
    options: &Options,
    state: &str,
) -> Result<String> {
    let limit = if args.show.is_some() { args.show_limit.max(1) } else { 1 };
    let answer = simulator.witness(test, model, options, limit)?;
    let state = if state == "condition" { condition(test) } else { state.trim().to_string() };
    Ok(match args.show {
        None => witness::text(test, model, &state, &answer),
        Some(ShowFormat::Dot) => picture::dot(&test.name, &answer.executions),
        Some(ShowFormat::Svg) => picture::svg(&test.name, &answer.executions),
    })
}

/// Runs `one` on every path in several threads, and prints each result, in the order of the paths,
/// as soon as the results before it are printed.
fn in_order(
    paths: &[PathBuf],
    jobs: usize,
    one: impl Fn(&mut Simulator, &Path) -> Result<String> + Sync,
) -> Result<bool> {
    if jobs == 1 {
        return one_by_one(paths, one);
    }
    struct Done {
        results: HashMap<usize, Result<String>>,
        /// Results before this one are printed. Workers stay close to it.
        printed: usize,
    }
    let ahead = 64 * jobs.max(1);
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let state = Mutex::new(Done { results: HashMap::new(), printed: 0 });
    let changed = Condvar::new();
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut out = Printer::new();
    let wrote = std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut simulator = Simulator::default();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(i) else { return };
                    let mut guard = lock();
                    while i > guard.printed + ahead && !stop.load(Ordering::Relaxed) {
                        guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
                    }
                    drop(guard);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let result = guarded(&one, &mut simulator, path);
                    lock().results.insert(i, result);
                    changed.notify_all();
                }
            });
        }
        for i in 0..paths.len() {
            let mut guard = lock();
            let result = loop {
                out.stop_before(i, paths);
                match guard.results.remove(&i) {
                    Some(result) => break result,
                    None => {
                        let wait = changed.wait_timeout(guard, Duration::from_millis(100));
                        guard = wait.unwrap_or_else(PoisonError::into_inner).0;
                    }
                }
            };
            guard.printed = i;
            drop(guard);
            changed.notify_all();
            let wrote = out.print(result);
            if wrote.is_err() {
                stop.store(true, Ordering::Relaxed);
                changed.notify_all();
                return wrote;
            }
        }
        out.text.flush()
    });
    written(wrote, out.good)
}

/// Prints results in their order.
struct Printer {
    text: std::io::BufWriter<std::io::StdoutLock<'static>>,
    /// Whether no result was an error.
    good: bool,
    interrupted: Stop,
}

impl Printer {
    fn new() -> Printer {
        let text = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        Printer { text, good: true, interrupted: common::stop_between_results() }
    }

    fn print(&mut self, result: Result<String>) -> std::io::Result<()> {
        match result {
            Ok(text) => self.text.write_all(text.as_bytes()),
            Err(diag) => {
                self.good = false;
                // Keeps standard output and standard error in order for a reader of both.
                let flushed = self.text.flush();
                eprintln!("{diag}");
                flushed
            }
        }
    }

    /// Ends the program if it was interrupted, after writing the results so far.
    fn stop_before(&mut self, at: usize, paths: &[PathBuf]) {
        if self.interrupted.asked() {
            let _ = self.text.flush();
            common::stopped_before(at, paths.len(), paths[at].display())
        }
    }
}

/// The same in this thread alone.
fn one_by_one(
    paths: &[PathBuf],
    one: impl Fn(&mut Simulator, &Path) -> Result<String>,
) -> Result<bool> {
    let mut simulator = Simulator::default();
    let mut out = Printer::new();
    for (i, path) in paths.iter().enumerate() {
        out.stop_before(i, paths);
        let wrote = out.print(guarded(&one, &mut simulator, path));
        if wrote.is_err() {
            return written(wrote, out.good);
        }
    }
    written(out.text.flush(), out.good)
}

/// Runs one test. A panic becomes an error of that test, and the others go on.
fn guarded(
    one: &impl Fn(&mut Simulator, &Path) -> Result<String>,
    simulator: &mut Simulator,
    path: &Path,
) -> Result<String> {
    let work = std::panic::AssertUnwindSafe(|| one(simulator, path));
    std::panic::catch_unwind(work).unwrap_or_else(|_| {
        *simulator = Simulator::default();
        Err(Diag::new(format!("{}: an internal error; please report it", path.display())))
    })
}

/// A closed pipe, as by `| head`, is no error.
fn written(result: std::io::Result<()>, good: bool) -> Result<bool> {
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(good),
        Err(e) => Err(Diag::new(format!("cannot write the results: {e}"))),
        Ok(()) => Ok(good),
    }
}

/// A hash of the test's text from its initial state on, with blanks folded: it ignores the name and
/// the comments before. The canonical hash is in the JSON output.
fn text_hash(test: &litmus::Test) -> String {
    let text = &test.source.text;
    let body = text.find('{').map_or(&**text, |i| &text[i..]);
    let bytes = body.as_bytes();
    let mut folded = Vec::with_capacity(bytes.len() + 1);
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && bytes[at] > b' ' {
            at += 1;
        }
        if at > start {
            folded.extend_from_slice(&bytes[start..at]);
            folded.push(b' ');
        }
        at += 1;
    }
    blake3::hash(&folded).to_hex().to_string()
}

fn json(test: &litmus::Test, model: &Model, outcomes: &Outcomes) -> String {
    let states: Vec<serde_json::Value> = outcomes
        .states
        .rows()
        .map(|s| s.map(|(k, v)| (k.to_string(), serde_json::Value::from(v))).collect())
        .collect();
    let value = serde_json::json!({
        "test": test.name,
        "arch": test.arch.name(),
        "file": &*test.source.name,
        "model": model.name,
        "condition": condition(test),
        "holds": outcomes.validated(),
        "states": states,
        "positive": outcomes.positive,
        "negative": outcomes.negative,
        "flags": outcomes.flags,
        "undefined": outcomes.undefined,
        "undefined_by": outcomes.undefined_by,
        "cut": outcomes.cut,
        "empty": outcomes.empty.as_ref().map(ToString::to_string),
        "skeletons": outcomes.stats.skeletons,
        "candidates": outcomes.stats.nodes,
        "executions": outcomes.stats.executions,
        "solved": outcomes.stats.solved,
        "seconds": outcomes.time.as_secs_f64(),
        "hash": litmus::canon::canonical_hash(test).to_hex().to_string(),
    });
    format!("{value}\n")
}
