//! `litmake passes` and `litmake check --passes`: say what the passes of a compiler do to tests.

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
use litmake::passes::blame::{self, FRONT_END, Omitted, Passes};
use litmake::passes::cross::{Asked, Opinion};
use litmake::passes::gcc::Pass;
use litmake::passes::judge::{Court, State};
use litmake::passes::known::Known;
use litmake::passes::operation::{gained_of_code, lost_of_accesses, lost_of_code};
use litmake::passes::spirv::{self, Tools};
use litmake::passes::survey::Survey;
use litmake::passes::{gcc, machine, omit, without};
use litmake::profile::Profile;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::report::bugs::join_shown;
use litmake::report::passes::{Culprit, Sure, side_by_side};
use litmake::report::verdict::{Verdict, reason};
use litmake::report::{Class, Finding, Report, Status, state_text};
use litmake::stage::compilers::Compilers;
use litmake::stop::{Stop, Stopping};
use litmake::toolchain::compile::{Compiler, request};
use litmake::toolchain::process::{self, Ended, Request};
use litmake::toolchain::runtime::Runtime;

use super::common::CacheArgs;
use super::compile::StorageArg;
use super::{common, findings};

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
    #[arg(long, value_name = "NAME|FILE")]
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
    match run(&args) {
        Ok(status) => ExitCode::from(status),
        Err((status, e)) => {
            eprintln!("{e}");
            ExitCode::from(status)
        }
    }
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
    let models = if args.opt.is_some() { Vec::new() } else { super::check::judges() };
    let modules = match (&args.opt, &tool) {
        (Some(passes), Some(tool)) if profile.arch == Arch::Spirv => {
            Some(Modules::of(passes, tool, &profile, &stop)?)
        }
        _ => None,
    };
    let mut court = match &modules {
        Some(_) => {
            let model = profile.model.as_deref().unwrap_or(profile.arch.default_model());
            Court::of_code(&models, model, profile.arch)
        }
        None => Court::new(&models),
    }
    .map_err(input)?;
    let mut table = Table { of_modules: modules.is_some(), ..Table::default() };
    let (mut unread, mut failed) = (false, false);
    let mut verdict = Verdict::default();
    // Results of single passes are not cached: the pass is under development and changes each time.
    let store = match args.opt {
        Some(_) => None,
        None => Some(args.cache.open().map_err(input)?),
    };
    let found = store.as_ref().map(|store| Compilers::default().tool(&profile, store));
    let known = match (&store, &found) {
        (Some(store), Some(found)) => Some(Known::new(store, found, &compiler, &court)),
        _ => None,
    };
    let mut survey = Survey::new(&compiler);
    let mut ready = std::collections::VecDeque::new();
    for (at, path) in paths.iter().enumerate() {
        if stop.asked() {
            common::stopped_before(at, paths.len(), path.display());
        }
        if ready.is_empty() {
            let ahead = if args.opt.is_none() { AHEAD } else { 1 };
            let mut tests: Vec<_> =
                paths[at..].iter().take(ahead).map(|path| (read(path), None)).collect();
            if let Some(known) = &known {
                let mut all: Vec<_> = tests
                    .iter_mut()
                    .filter_map(|(test, passes)| Some((test.as_ref().ok()?, passes)))
                    .collect();
                let found = known.get(&all.iter().map(|(test, _)| *test).collect::<Vec<_>>());
                all.iter_mut().zip(found).for_each(|((_, passes), found)| **passes = found);
                let missing: Vec<_> = all
                    .iter()
                    .filter(|(_, passes)| passes.is_none())
                    .map(|(test, _)| *test)
                    .collect();
                survey.prepare(&missing);
            }
            ready.extend(tests);
        }
        let (test, before): (_, Option<Passes>) =
            ready.pop_front().unwrap_or_else(|| (read(path), None));
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
        let say = |steps: &[Step]| (serde_json::json!(steps), news(&test.name, steps));
        let done = match (&args.opt, &tool, &modules) {
            (.., Some(modules)) => {
                let tools = modules.tools(&stop);
                let steps = spirv::run(&compiler, &tools, &modules.passes, &test, &mut court);
                steps.map(|steps| {
                    table.add(&steps);
                    say(&steps)
                })
            }
            (Some(passes), Some(tool), None) => {
                let opt = Opt { program: tool, passes, stop: &stop };
                alone::run(&compiler, &opt, &test, &mut court).map(|steps| {
                    table.add(&steps);
                    say(&steps)
                })
            }
            _ => match before {
                Some(passes) => Ok(passes),
                None => {
                    let given_up = court.gave_up();
                    survey.of(&test, &mut court).inspect(|passes| {
                        // Results of a simulation that ran out of time are not stored: another
                        // machine may be faster.
                        if let Some(known) = known.as_ref().filter(|_| court.gave_up() == given_up)
                        {
                            known.put(&test, passes);
                        }
                    })
                }
            }
            .map(|mut passes| {
                // The machine code is examined only for findings.
                passes.machine = None;
                table.add(&steps(&passes));
                let said = match passes.guilty {
                    Some(_) => format!("{}:\n{}", test.name, said(&passes).lines()),
                    None => String::new(),
                };
                (serde_json::json!(passes), said)
            }),
        };
        match &done {
            Ok(_) if table.lacks().0 > lacked.0 => verdict.not_compared("out of time", 1),
            Ok(_) if table.lacks().1 > lacked.1 => verdict.not_compared("not understood", 1),
            Ok(_) => (verdict.asked, verdict.judged) = (verdict.asked + 1, verdict.judged + 1),
            Err(e) => verdict.not_compared(reason(e.kind), 1),
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
fn steps(passes: &Passes) -> Vec<Step> {
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

/// Finds the responsible pass for each bug of one compiler, and joins bugs of one pass.
/// `evidence` finds the executions behind a finding.
pub fn explain(
    report: &mut Report,
    profiles: &[String],
    models: &[String],
    evidence: &mut dyn FnMut(&mut Finding),
) -> Result<()> {
    let stop = common::stop();
    let mut court = Court::new(models)?;
    for finding in &mut report.findings {
        // A write to a location that the source only reads can be found in the code, too. A crash
        // that showed only in a run cannot.
        let in_code = finding.class == Class::Concurrency || !finding.faults.is_empty();
        let asked = in_code && finding.status != Status::Fixed && finding.label.is_empty();
        if !asked {
            continue;
        }
        if stop.asked() {
            break;
        }
        let found = culprit(finding, profiles, &mut court, &stop);
        if let Some(mechanism) = finding.mechanism.as_mut().filter(|_| found.sure == Sure::Shown) {
            mechanism.pass = found.short().to_string();
            // A pass on intermediate code is the same for every target.
            if found.target.is_empty() {
                mechanism.target.clear();
            }
        }
        finding.pass = Some(found);
        evidence(finding);
    }
    join_shown(report);
    Ok(())
}

fn culprit(finding: &Finding, profiles: &[String], court: &mut Court, stop: &Stop) -> Culprit {
    let unknown = |why: String| Culprit { why, ..Culprit::default() };
    let mut found = || -> std::result::Result<Culprit, String> {
        let [name] = &finding.profiles[..] else {
            return Err("the code is of several compilers".into());
        };
        let asked = profiles.iter().map(|p| common::find_profile(&Disk, p));
        let profile = asked
            .filter_map(Result::ok)
            .find(|p| p.name == *name)
            .ok_or_else(|| format!("there is no profile `{name}`"))?;
        let program = process::find(&profile.compiler)
            .ok_or_else(|| format!("the compiler `{}` is not installed", profile.compiler))?;
        let runtime = Runtime::of(&profile, &program);
        let compiler = findings::compiler(finding, &profile, &program, &runtime, stop);
        let (source, _, outcomes) = finding.smallest();
        let test =
            litmus::read(&Source::new(finding.test.as_str(), source)).map_err(|e| e.to_string())?;
        let is_gcc = profile.maker() == "gcc";
        if let [place, ..] = &finding.faults[..] {
            if is_gcc {
                return Err("what writes is not looked for in dumps of gcc".into());
            }
            // The finding names the place as in the whole test, before reduction.
            let whole = litmus::read(&Source::new(finding.test.as_str(), &*finding.source));
            let whole = whole.map_err(|e| e.to_string())?;
            return of_write(&compiler, &whole, place).map_err(|e| e.text());
        }
        if is_gcc {
            let shown = &outcomes.forbidden;
            return of_gcc(&compiler, &test, finding, shown, court).map_err(|e| e.text());
        }
        let shown = &outcomes.forbidden;
        let thread = finding.reduced.as_ref().and_then(|r| r.thread).map(usize::from);
        let passes = blame::blame(&compiler, &test, court, shown, thread).map_err(|e| e.text())?;
        let mut out = said(&passes);
        if passes.guilty.is_none() && !out.pass.is_empty() {
            out.target = profile.arch.name().to_string();
        }
        Ok(out)
    };
    found().unwrap_or_else(unknown)
}

/// Finds the pass that added a write to a location which the source only reads.
fn of_write(
    compiler: &Compiler,
    test: &litmus::Test,
    place: &str,
) -> std::result::Result<Culprit, Failure> {
    let Some(guilty) = blame::writer(compiler, test, place)? else {
        let why = format!("no intermediate code has an instruction that writes to `{place}`");
        return Ok(Culprit { why, ..Culprit::default() });
    };
    Ok(Culprit {
        pass: guilty.pass,
        place: "intermediate code".into(),
        sure: Sure::Likely,
        why: format!(
            "likely: the code after it is the first with an instruction that writes to `{place}`, which the \
             source only reads"
        ),
        function: guilty.function,
        operation: gained_of_code(&guilty.before, &guilty.after),
        // Such a write depends on the target.
        target: compiler.profile.arch.name().to_string(),
        before: guilty.before,
        after: guilty.after,
        dump_before: guilty.dump_before,
        dump_after: guilty.dump_after,
        ..Culprit::default()
    })
}

/// Finds the responsible pass in the dumps of gcc.
fn of_gcc(
    compiler: &Compiler,
    test: &litmus::Test,
    finding: &Finding,
    shown: &[State],
    court: &mut Court,
) -> std::result::Result<Culprit, Failure> {
    let (frame, dumps) = compiler.written(test)?;
    let blamed = finding.reduced.as_ref().and_then(|r| r.thread).map(usize::from);
    let all = frame.threads.iter().map(|(function, _)| function.clone()).enumerate();
    let threads: Vec<(usize, String)> =
        all.filter(|(n, _)| blamed.is_none_or(|b| b == *n)).collect();
    let Some(trail) = gcc::trail(&dumps, &threads) else {
        let why =
            "no dump lacks, moves or changes an atomic operation, and none of them orders others";
        let why = why.to_string();
        return Ok(Culprit { why, ..Culprit::default() });
    };
    let target = match trail.rtl {
        true => compiler.profile.arch.name().to_string(),
        false => String::new(),
    };
    let place = match trail.rtl {
        true => "on RTL, in code generation",
        false => "on trees",
    };
    let suspect = Pass { name: trail.pass.clone(), rtl: trail.rtl };
    let others = gcc::changing(&dumps, &threads, &suspect);
    let source = court.source(test).map_err(Failure::from)?;
    let asked = Asked { test, source: &source, shown };
    let opinion = without::opinion(compiler, &asked, court, &suspect, &others);
    let (how_sure, why, note) = match opinion {
        // If leaving passes out fails, the suspicion stays as the dumps give it.
        Err(e) => {
            let note = format!("leaving passes out says nothing: {}", e.text());
            (sure(trail.sure), trail.why.to_string(), note)
        }
        Ok(opinion) => {
            // The pass is shown if the code is right without it, likely if nothing contradicts it, and
            // else only possible.
            let (how_sure, word) = match (&opinion, opinion.supports()) {
                (without::Opinion::Right, _) => (Sure::Shown, "shown"),
                (_, true) => (Sure::Likely, "likely"),
                (_, false) => (Sure::Possible, "possible"),
            };
            let said = opinion.said(&trail.pass);
            let dumps = trail.why.split_once(": ").map_or(trail.why, |(_, why)| why);
            (how_sure, format!("{word}: {said}; {dumps}"), String::new())
        }
    };
    Ok(Culprit {
        pass: trail.pass,
        place: place.into(),
        sure: how_sure,
        why,
        notes: Some(note).filter(|n| !n.is_empty()).into_iter().collect(),
        target,
        function: trail.function,
        before: trail.before.join("\n"),
        after: trail.after.join("\n"),
        dump_before: trail.dump_before,
        dump_after: trail.dump_after,
        operation: trail.operation,
        dumps: trail.dumps,
        ..Culprit::default()
    })
}

fn sure(sure: machine::Sure) -> Sure {
    match sure {
        machine::Sure::Likely => Sure::Likely,
        machine::Sure::Possible => Sure::Possible,
    }
}

/// The answer in the words of a report.
fn said(passes: &Passes) -> Culprit {
    let mut out =
        Culprit { dumps: passes.dumps, simulated: passes.simulated, ..Culprit::default() };
    if let Some(refused) = &passes.refused {
        out.notes.push(format!("not understood after {}: {}", refused.pass, refused.why));
    }
    if let Some(lowered) = &passes.lowered {
        out.notes.push(format!(
            "from {} on, intermediate code is the target's own and excludes no pass: {}",
            lowered.pass, lowered.why
        ));
    }
    if let Some(guilty) = &passes.guilty {
        out.pass = guilty.pass.clone();
        out.place = match guilty.pass == FRONT_END {
            true => "no pass had run".into(),
            false => "intermediate code".into(),
        };
        out.sure = Sure::Shown;
        out.why = "shown: the code after it allows the outcome, and no code before it does".into();
        if passes.refused.is_some() {
            out.sure = Sure::Likely;
            out.why =
                "likely: the code after it allows the outcome, and no code before it that is \
                       understood"
                    .into();
        }
        if guilty.open {
            out.notes.push("the code has undef or poison in it, which was taken to be 0".into());
        }
        out.function = guilty.function.clone();
        (out.before, out.after) = (guilty.before.clone(), guilty.after.clone());
        (out.dump_before, out.dump_after) = (guilty.dump_before.clone(), guilty.dump_after.clone());
        out.operation = lost_of_code(&guilty.before, &guilty.after);
        out.outcomes = guilty.outcomes.clone();
        return out;
    }
    let Some(machine) = &passes.machine else {
        out.why = "no intermediate code allows the outcome, and no machine code was printed".into();
        return out;
    };
    let (pass, how_sure, why) = machine.verdict();
    out.pass = pass;
    out.place = "after all passes on intermediate code, in code generation".into();
    out.sure = sure(how_sure);
    out.why = why.to_string();
    let without = |pass: &str| {
        let own = passes.omitted.iter().find(|o| o.change.pass == pass);
        own.and_then(|o| o.opinion.as_ref().ok())
    };
    // What repairs the code decides: a limit, unless leaving out its pass alone says otherwise, or
    // else leaving out one pass.
    let limit = match &passes.opinion {
        Some(Opinion::Names { pass, .. }) if machine.has(pass) => {
            Some(pass).filter(|pass| without(pass) != Some(&omit::Opinion::Wrong))
        }
        _ => None,
    };
    let cured = passes.omitted.iter().find(|o| o.opinion == Ok(omit::Opinion::Right));
    let shown = limit.or(cured.map(|o| &o.change.pass));
    if let Some(pass) = shown {
        out.pass = pass.clone();
        out.sure = Sure::Shown;
        let said: Vec<String> = [
            without(pass).filter(|o| **o == omit::Opinion::Right).map(|o| o.said(pass)),
            limit.and(passes.opinion.as_ref()).map(Opinion::said),
        ]
        .into_iter()
        .flatten()
        .collect();
        out.why = format!("shown: {}", said.join("; "));
    } else if let Some(opinion) = &passes.opinion {
        let supports = opinion.supports(&out.pass, &machine.selection);
        // The pass is likely if both methods agree, and only possible if they differ.
        out.sure = if supports { out.sure } else { Sure::Possible };
        if !supports {
            out.why = "possible: skipping passes does not name it".into();
        }
        out.notes.push(opinion.said());
    }
    for Omitted { change, opinion } in &passes.omitted {
        match opinion {
            // The text above has it already.
            Ok(omit::Opinion::Right) => {}
            Ok(opinion) => {
                let said = opinion.said(&change.pass);
                if *opinion == omit::Opinion::Wrong && shown.is_none() && change.pass == out.pass {
                    out.sure = Sure::Possible;
                    out.why = format!("possible: {said}");
                } else {
                    out.notes.push(said);
                }
            }
            Err(why) => out.notes.push(format!("leaving passes out says nothing: {why}")),
        }
    }
    for change in &machine.changes {
        out.notes.push(change.said());
    }
    let change = machine.by_suspicion(&out.pass).into_iter().next();
    if let Some(change) = change.filter(|change| change.pass == out.pass) {
        out.function = change.function.clone();
        (out.before, out.after) = (change.before.join("\n"), change.after.join("\n"));
        (out.dump_before, out.dump_after) = (change.dump_before.clone(), change.dump_after.clone());
        out.operation = lost_of_accesses(&change.before, &change.after);
    }
    out
}
