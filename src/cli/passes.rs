//! `litmake passes`: says what the passes of a compiler do to tests.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use litmake::base::failure::{Failure, FailureKind};
use litmake::diag::{Diag, Result, Source};
use litmake::file;
use litmake::litmus::{self, Arch, list};
use litmake::passes::alone::{self, Effect, Opt, Step};
use litmake::passes::blame::Passes;
use litmake::passes::judge::Court;
use litmake::passes::known::{self, Known};
use litmake::passes::spirv::{self, Tools};
use litmake::passes::survey::Survey;
use litmake::profile::Profile;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::report::passes::side_by_side;
use litmake::report::state_text;
use litmake::report::verdict::{Verdict, reason};
use litmake::stage::compilers::Compilers;
use litmake::stop::{Stop, Stopping};
use litmake::toolchain::compile::{Compiler, request};
use litmake::toolchain::process::{self, Ended, Request};
use litmake::toolchain::runtime::Runtime;

use super::common::CacheArgs;
use super::compile::StorageArg;
use super::{common, culprits};

/// Say whether passes of LLVM or of spirv-opt add outcomes to tests.
///
/// With `--opt`, a test is compiled to intermediate code that no pass has changed, `opt` runs the
/// passes on it, and the code before and after each pass is simulated. If the profile's code is
/// SPIR-V, the passes are those of `spirv-opt`, and each runs alone on the module that the
/// profile's compiler writes; `--opt all` stands for all that `spirv-opt` lists. Without `--opt`,
/// the passes are those of the profile's own compiler, and the code after each pass is compared
/// with the source.
///
/// Exit status: 0, everything was judged and there are no new outcomes; 1, a pass adds outcomes or
/// makes a SPIR-V module invalid; 2, wrong input; 3, something that the command needs failed, or was
/// not judged.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake passes --opt sroa,gvn,licm tests/*.litmus
  litmake passes --profile clang-22-aarch64-O2 tests/*.litmus
  litmake passes --opt 'default<O2>' --profile clang-14-aarch64-O2 @tests/@all
  litmake passes --opt all --profile glslang tests/*.litmus
  litmake passes --opt ccp,ssa-rewrite --profile llvm-spirv-14-O0 tests/*.litmus")]
pub struct Args {
    /// The passes, as for `opt -passes`; for SPIR-V, names of spirv-opt's passes, or `all`
    #[arg(long, required_unless_present = "profile", value_name = "LIST")]
    opt: Option<String>,

    /// The profile whose front end makes the code. At -O0 clang forbids passes to change it
    /// [default: clang-N-x86_64-O2, with the N of `opt`]
    #[arg(short, long, value_name = "NAME|FILE")]
    profile: Option<String>,

    /// The program that runs passes [default: the `opt` of the profile's version of LLVM, or
    /// `spirv-opt`]
    #[arg(long, requires = "opt", value_name = "PROGRAM")]
    tool: Option<String>,

    /// How tests reach the shared locations: through pointers that threads are given, or as
    /// variables
    #[arg(long, value_enum, default_value = "pointers")]
    storage: StorageArg,

    /// Put each atomic operation into a helper function that is not inlined
    #[arg(long)]
    helpers: bool,

    /// Print the effect of each pass as JSON, one line for each test, and a last line with the verdict
    /// on the run
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cache: CacheArgs,

    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list)
    #[arg(required = true, value_name = "FILE|FOLDER|@LIST")]
    inputs: Vec<String>,
}

/// The versions of LLVM whose `opt` is looked for, from the last one down.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=30;

pub fn main(args: Args) -> ExitCode {
    common::ended_as(run(&args))
}

/// So many tests are read ahead, so that threads that they share are compiled once.
const AHEAD: usize = 1024;

type Run<T> = std::result::Result<T, (u8, Box<Diag>)>;

fn run(args: &Args) -> Run<u8> {
    let input = |e| (2, e);
    let paths = list::existing(&args.inputs).map_err(input)?;
    let stop = common::stop();
    let (profile, tool) = tools(args)?;
    let program = process::find(&profile.compiler).ok_or_else(|| {
        let message = format!("the compiler `{}` is not installed", profile.compiler);
        (3, Diag::new(message).help("`litmake doctor` says how to get it"))
    })?;
    let runtime = Runtime::of(&profile, &program);
    let compiler = Compiler {
        profile: &profile,
        program: &program,
        observe: Observe::Condition,
        storage: Storage::from(args.storage),
        helpers: args.helpers,
        runtime: &runtime,
        stop: &stop,
    };
    let modules = match (&args.opt, &tool) {
        (Some(passes), Some(tool)) if profile.arch == Arch::Spirv => {
            Some(Modules::of(passes, tool, &profile, &stop)?)
        }
        _ => None,
    };
    let mut court = court(args, &profile, modules.is_some()).map_err(input)?;
    let mut table = Table { of_modules: modules.is_some(), ..Table::default() };
    let (mut unread, mut failed) = (false, false);
    let mut verdict = Verdict::default();
    // Results of single passes are not cached: the pass is under development and changes each time.
    let store = match args.opt {
        Some(_) => None,
        None => Some(args.cache.open().map_err(input)?),
    };
    let found = store.as_ref().map(|store| {
        known::identify(&compiler, store, &|| Compilers::default().tool(&profile, store))
    });
    let both = store.as_ref().zip(found.as_ref());
    let known = both.map(|(store, found)| Known::new(store, found, &compiler, &court));
    let mut survey = Survey::new(&compiler);
    let mut ready = std::collections::VecDeque::new();
    for (at, path) in paths.iter().enumerate() {
        if stop.asked() {
            common::stopped_before(at, paths.len(), path.display());
        }
        if ready.is_empty() {
            let ahead = if args.opt.is_none() { AHEAD } else { 1 };
            ready.extend(read_ahead(&paths[at..], ahead, known.as_ref(), &mut survey));
        }
        let (test, before) = ready.pop_front().unwrap_or_else(|| (read(path), None));
        let test = match test {
            Ok(test) => test,
            Err(e) => {
                eprintln!("{e}");
                unread = true;
                verdict.not_compared(reason(FailureKind::Unreadable), 1);
                continue;
            }
        };
        let lacked = table.lacks();
        let steps = match (&args.opt, &tool, &modules) {
            (.., Some(modules)) => {
                let tools = modules.tools(&stop);
                Some(spirv::run(&compiler, &tools, &modules.passes, &test, &mut court))
            }
            (Some(passes), Some(program), None) => {
                let opt = Opt { program, passes, stop: &stop };
                Some(alone::run(&compiler, &opt, &test, &mut court))
            }
            _ => None,
        };
        let done = match steps {
            Some(done) => done.map(|steps| {
                table.add(&steps);
                (serde_json::json!(steps), news(&test.name, &steps))
            }),
            None => match before {
                Some(passes) => Ok(passes),
                None => surveyed(&test, &mut survey, &mut court, known.as_ref()),
            }
            .map(|passes| {
                table.add(&steps_of(&passes));
                said(&test, passes)
            }),
        };
        match done.as_ref().err() {
            Some(e) => verdict.not_compared(reason(e.kind), 1),
            None => table.judge(lacked, &mut verdict),
        }
        match done {
            Ok((json, _)) if args.json => {
                println!("{}", serde_json::json!({ "test": test.name, "passes": json }));
            }
            Ok((_, text)) => print!("{text}"),
            Err(e) => {
                eprintln!("error: {}: {}", path.display(), e.text());
                failed = true;
            }
        }
    }
    finish(args, &table, verdict, (unread, failed))
}

/// The court that compares: of a compiler's passes the models of C judge, too.
fn court(args: &Args, profile: &Profile, of_modules: bool) -> Result<Court> {
    let models = if args.opt.is_some() { Vec::new() } else { super::check::judges() };
    if !of_modules {
        return Court::new(&models);
    }
    let model = profile.model.as_deref().unwrap_or(profile.arch.default_model());
    Court::of_code(&models, model, profile.arch)
}

/// The passes of a compilation of a test, as JSON and as text.
fn said(test: &litmus::Test, mut passes: Passes) -> (serde_json::Value, String) {
    // The machine code is examined only for findings.
    passes.machine = None;
    let text = match passes.guilty {
        Some(_) => format!("{}:\n{}", test.name, culprits::said(&passes, None).lines()),
        None => String::new(),
    };
    (serde_json::json!(passes), text)
}

/// Prints the results of all tests, and gives the exit status.
fn finish(
    args: &Args,
    table: &Table,
    mut verdict: Verdict,
    (unread, failed): (bool, bool),
) -> Run<u8> {
    if args.opt.is_some() && table.passes.is_empty() && !unread && !failed {
        let diag = Diag::new("none of the passes ran on any test");
        let why = "under -O0 clang marks functions so that passes leave them alone: --profile names one of another level";
        return Err((3, diag.help(why)));
    }
    if !args.json && !table.passes.is_empty() {
        print!("{}", table.text());
    }
    verdict.settle();
    match args.json {
        true => println!("{}", serde_json::json!({ "verdict": verdict })),
        false => println!("{}", verdict.words()),
    }
    Ok(common::status_of(match () {
        () if table.adds() => 1,
        () if unread => 2,
        () if failed => 3,
        () => verdict.status(),
    }))
}

/// A test, with the passes that are known for it.
type Ready = (Result<litmus::Test>, Option<Passes>);

/// Reads the first of some tests, and compiles the threads of those whose passes are not known.
fn read_ahead(
    paths: &[PathBuf],
    ahead: usize,
    known: Option<&Known>,
    survey: &mut Survey,
) -> Vec<Ready> {
    let mut tests: Vec<Ready> = paths.iter().take(ahead).map(|path| (read(path), None)).collect();
    let Some(known) = known else { return tests };
    let mut all: Vec<_> =
        tests.iter_mut().filter_map(|(test, passes)| Some((test.as_ref().ok()?, passes))).collect();
    let found = known.get(&all.iter().map(|(test, _)| *test).collect::<Vec<_>>());
    all.iter_mut().zip(found).for_each(|((_, passes), found)| **passes = found);
    let missing = all.iter().filter(|(_, passes)| passes.is_none());
    survey.prepare(&missing.map(|(test, _)| *test).collect::<Vec<_>>());
    tests
}

/// The passes of a test, which are stored unless a simulation ran out of time: another machine may
/// be faster.
fn surveyed(
    test: &litmus::Test,
    survey: &mut Survey,
    court: &mut Court,
    known: Option<&Known>,
) -> std::result::Result<Passes, Failure> {
    let given_up = court.gave_up();
    let passes = survey.of(test, court)?;
    if let Some(known) = known.filter(|_| court.gave_up() == given_up) {
        known.put(test, &passes);
    }
    Ok(passes)
}

fn read(path: &Path) -> Result<litmus::Test> {
    let text = file::read_text(path, file::MAX_TEXT)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    litmus::read(&Source::new(path.display().to_string(), text))
}

/// The front end and the program that runs passes, of one version of LLVM.
fn tools(args: &Args) -> Run<(Arc<Profile>, Option<PathBuf>)> {
    let input = |e| (2, e);
    let missing = |what: String| {
        let diag = Diag::new(format!("{what} is not installed"));
        (3, diag.help("Debian has it in `llvm-N`; --tool names another program"))
    };
    let named = |name: &str| process::find(name).ok_or_else(|| missing(format!("`{name}`")));
    let profile = |name: &str| common::find_profile(&Disk, name).map_err(input);
    if args.opt.as_ref().is_some_and(|list| list.trim_matches([',', ' ']).is_empty()) {
        return Err((2, Diag::new("--opt names no pass")));
    }
    if let Some(name) = &args.profile {
        let profile = profile(name)?;
        if args.opt.is_none() {
            return Ok((profile, None));
        }
        if profile.arch != Arch::Spirv && profile.maker() != "clang" {
            let what =
                format!("--opt is for passes of LLVM, and {} is not of LLVM", profile.compiler);
            return Err((
                2,
                Diag::new(what).help("name a profile of clang, or one whose code is SPIR-V"),
            ));
        }
        let tool = match (&args.tool, profile.version()) {
            (None, _) if profile.arch == Arch::Spirv => {
                process::find("spirv-opt").ok_or_else(|| {
                    let diag = Diag::new("`spirv-opt` is not installed");
                    (3, diag.help("Debian has it in `spirv-tools`; --tool names another program"))
                })?
            }
            (Some(tool), _) => named(tool)?,
            (None, Some(version)) => named(&format!("opt-{version}"))?,
            (None, None) => named("opt")?,
        };
        return Ok((profile, Some(tool)));
    }
    let of_version = |version: u32| {
        let tool = match &args.tool {
            Some(tool) => process::find(tool)?,
            None => process::find(&format!("opt-{version}"))?,
        };
        process::find(&format!("clang-{version}"))?;
        // The version of a program that the user names is known only from its name.
        let same = |tool: &String| tool.ends_with(&format!("-{version}"));
        args.tool.as_ref().is_none_or(same).then_some((version, tool))
    };
    let (version, tool) = VERSIONS.rev().find_map(of_version).ok_or_else(|| {
        let opt = args.tool.as_deref().unwrap_or("opt");
        missing(format!("`{opt}` beside a clang of its version"))
    })?;
    Ok((profile(&format!("clang-{version}-x86_64-O2"))?, Some(tool)))
}

/// Runs passes of spirv-opt.
struct Modules {
    opt: PathBuf,
    assembler: PathBuf,
    disassembler: PathBuf,
    validator: PathBuf,
    passes: Vec<String>,
}

impl Modules {
    /// The passes of a list. An unknown name is an error before the first test.
    fn of(list: &str, opt: &Path, profile: &Profile, stop: &Stop) -> Run<Modules> {
        let named = |name: &str| {
            let missing = || Diag::new(format!("`{name}` is not installed"));
            let missing = || (3, missing().help("Debian has it in `spirv-tools`"));
            process::find(name).ok_or_else(missing)
        };
        let (assembler, disassembler) = (named("spirv-as")?, named("spirv-dis")?);
        let validator = named("spirv-val")?;
        let (env, words) = (BTreeMap::new(), ["--help".to_string()]);
        let ended = process::run(&Request {
            env: &env,
            processors: 1,
            ..request(profile, opt, &words, Path::new("/"), stop)
        });
        let known = match ended {
            Ended::Exit { code: 0, stdout, .. } => spirv::listed(&String::from_utf8_lossy(&stdout)),
            _ => Vec::new(),
        };
        if known.is_empty() {
            let what = format!("{} lists no passes in what `--help` prints", opt.display());
            return Err((3, Diag::new(what).help("--tool names a `spirv-opt`")));
        }
        let mut passes: Vec<String> = Vec::new();
        for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            match name {
                "all" => passes.extend(known.iter().cloned()),
                "O" | "Os" => passes.push(name.to_string()),
                _ if known.iter().any(|k| k == name) => passes.push(name.to_string()),
                _ => {
                    let diag = Diag::new(format!("`{name}` is no pass of {}", opt.display()));
                    return Err((
                        2,
                        diag.help(format!("passes are all, O, Os, {}", known.join(", "))),
                    ));
                }
            }
        }
        if passes.is_empty() {
            return Err((2, Diag::new("--opt names no pass")));
        }
        Ok(Modules { opt: opt.to_path_buf(), assembler, disassembler, validator, passes })
    }

    fn tools<'a>(&'a self, stop: &'a Stop) -> Tools<'a> {
        let Modules { opt, assembler, disassembler, validator, .. } = self;
        Tools { opt, assembler, disassembler, validator, stop }
    }
}

/// The effect of all passes of a compilation, as one step.
fn steps_of(passes: &Passes) -> Vec<Step> {
    let effect = match (&passes.guilty, &passes.refused) {
        (Some(guilty), _) => Effect::Adds {
            outcomes: guilty.outcomes.clone(),
            before: guilty.before.clone(),
            after: guilty.after.clone(),
        },
        (None, Some(refused)) => {
            Effect::Refused { why: format!("after {}: {}", refused.pass, refused.why) }
        }
        (None, None) => Effect::Sound,
    };
    let pass = match &passes.guilty {
        Some(guilty) => guilty.pass.clone(),
        None => "all passes".to_string(),
    };
    vec![Step { pass, effect }]
}

/// Text about the passes that added outcomes to a test, or made its module invalid.
fn news(test: &str, steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        if let Effect::Invalid { why } = &step.effect {
            let _ = writeln!(out, "{test}: {} makes an invalid module: {why}", step.pass);
        }
        if let Effect::Adds { outcomes, before, after } = &step.effect {
            let _ = writeln!(out, "{test}: {} adds outcomes", step.pass);
            for state in outcomes.iter().take(8) {
                let _ = writeln!(out, "    {}", state_text(state));
            }
            out.push_str(&side_by_side(before, after));
        }
    }
    out
}

/// Counts of each pass's effects.
#[derive(Default)]
struct Table {
    /// In the order in which they first ran.
    passes: Vec<String>,
    counts: BTreeMap<String, [u64; 6]>,
    /// The reasons for which code was refused, and how often.
    refused: BTreeMap<String, u64>,
    invalid: BTreeMap<String, u64>,
    /// Whether the code is in modules, which passes may make invalid.
    of_modules: bool,
}

const INVALID: usize = 3;

const HEADS: [&str; 6] = ["ran", "changed", "new outcomes", "invalid", "open", "refused"];

impl Table {
    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            if !self.counts.contains_key(&step.pass) {
                self.passes.push(step.pass.clone());
            }
            let counts = self.counts.entry(step.pass.clone()).or_default();
            counts[0] += 1;
            let columns: &[usize] = match &step.effect {
                Effect::Nothing => &[],
                Effect::Sound => &[1],
                Effect::Adds { .. } => &[1, 2],
                Effect::Invalid { why } => {
                    let why = format!("{}: {why}", step.pass);
                    *self.invalid.entry(why).or_default() += 1;
                    &[1, INVALID]
                }
                Effect::Open => &[1, 4],
                Effect::Refused { why } => {
                    *self.refused.entry(why.clone()).or_default() += 1;
                    &[5]
                }
            };
            columns.iter().for_each(|column| counts[*column] += 1);
        }
    }

    /// How many steps were not judged: the simulation gave up, or the code was refused.
    fn lacks(&self) -> (u64, u64) {
        let sum = |column: usize| self.counts.values().map(|counts| counts[column]).sum();
        (sum(4), sum(5))
    }

    /// Counts a test in the verdict, by what the table lacked before it.
    fn judge(&self, lacked: (u64, u64), verdict: &mut Verdict) {
        let lacks = self.lacks();
        match () {
            () if lacks.0 > lacked.0 => verdict.not_compared("out of time", 1),
            () if lacks.1 > lacked.1 => verdict.not_compared("not understood", 1),
            () => (verdict.asked, verdict.judged) = (verdict.asked + 1, verdict.judged + 1),
        }
    }

    fn adds(&self) -> bool {
        self.counts.values().any(|counts| counts[2] + counts[3] > 0)
    }

    fn text(&self) -> String {
        let width = self.passes.iter().map(|p| p.chars().count()).max().unwrap_or(0).max(4);
        let mut out = format!("{:width$}", "pass");
        let shown = |column: &usize| *column != INVALID || self.of_modules;
        for column in (0..HEADS.len()).filter(shown) {
            let _ = write!(out, "  {:>12}", HEADS[column]);
        }
        out.push('\n');
        for pass in &self.passes {
            let _ = write!(out, "{pass:width$}");
            if let Some(counts) = self.counts.get(pass) {
                for column in (0..HEADS.len()).filter(shown) {
                    let _ = write!(out, "  {:>12}", counts[column]);
                }
            }
            out.push('\n');
        }
        for (why, n) in &self.invalid {
            let _ = writeln!(out, "invalid {n} times: {why}");
        }
        for (why, n) in &self.refused {
            let _ = writeln!(out, "refused {n} times: {why}");
        }
        out
    }
}
