//! `litmake diff`: compares the code and the outcomes of two compilers, versions, levels or
//! architectures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::engine::ArgValueCompleter;
use litmake::diag::{Diag, Result, nearest};
use litmake::file::write;
use litmake::litmus::list;
use litmake::pipeline::kinds::{Changed, Compare, Compile, Diff, Generate, Simulate};
use litmake::pipeline::load::Axes;
use litmake::pipeline::made::Made;
use litmake::profile::files::{Disk, Files};
use litmake::profile::{Profiles, builds};
use litmake::report::terminal::Style;
use litmake::report::{judged, table};
use litmake::toolchain::process;

use super::{common, completions, made, pipelines};

/// Judge a change to a compiler, or compare versions of one.
///
/// With `--old` and `--new`, two builds of a compiler get the same tests. The report says how much
/// code changed, by operations; which outcomes were gained and lost; which bugs are new and which
/// are fixed. Only tests whose code changed are simulated. With `--profile`, each profile is
/// compared with the one before it: it lists the tests whose code changed, and those whose outcomes
/// changed with it.
///
/// Exit status with `--old` and `--new`: 0, no new bug; 1, a new bug, a bug on a target that did
/// not have it before, or differences of the new build that were not looked into; 2, wrong input;
/// 3, something that the command needs failed, or not everything was judged. With `--profile`: 0, the outcomes are the same,
/// except for differences that the `--baseline` has; 1, they differ; 2 and 3 likewise.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake diff --old clang-19 --new clang-22
  litmake diff --old /srv/llvm/main --new /srv/llvm/change --target aarch64,riscv64 --level O2,O3
  litmake diff --old ./main --new ./change --markdown comment.md --baseline known.json
  litmake diff -p 'clang-*-riscv64-O2' --family telechat-table3 --sample 500
  litmake diff --profile gcc-12-x86_64-O2 --profile gcc-13-x86_64-O2 @tests/@all --report new.json
  litmake report baseline new.json --baseline known.json     what differs is known from now on
  litmake diff --profile gcc-12-ppc64le-O1 --profile gcc-12-ppc64le-O3 @tests/@all")]
pub struct Args {
    /// The compiler before the change: a command (`clang-19`), a folder of a build (`./main`, with
    /// `bin/clang` or `bin/gcc` in it), or a profile
    #[arg(long, value_name = "BUILD", requires = "new", conflicts_with = "profile")]
    old: Option<String>,

    /// The compiler with the change: a command, a folder or a profile, like --old
    #[arg(long, value_name = "BUILD", requires = "old")]
    new: Option<String>,

    /// Targets to compile for, as profiles name them [default: those of x86_64, aarch64,
    /// aarch64-armv8.1-a, armv7, riscv64, ppc64le and mips64el that both builds have]
    #[arg(long, value_name = "TARGET", value_delimiter = ',', requires = "old")]
    target: Vec<String>,

    /// Optimisation levels to compile at [default: O2]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', requires = "old")]
    level: Vec<String>,

    /// Write the judgement as a comment for the change, in Markdown
    #[arg(long, value_name = "FILE", requires = "old")]
    markdown: Option<PathBuf>,

    /// The model of the sources
    #[arg(long, alias = "model", value_name = "MODEL", default_value = "rc11-lb", requires = "old", add = ArgValueCompleter::new(completions::models))]
    source_model: String,

    /// Reduce at most N differences of each target and build to their bugs
    #[arg(long, default_value_t = 10, value_name = "N", requires = "old")]
    investigate: u64,

    /// Profiles, each compared with the one before it
    ///
    /// Names or parts of them, files, or patterns such as `clang-*-aarch64-O2`, which stand for the
    /// installed profiles in the order of their versions
    #[arg(short, long, required_unless_present = "old", value_name = "NAME|FILE|PATTERN", add = ArgValueCompleter::new(completions::profiles))]
    profile: Vec<String>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Name every test whose code changed
    #[arg(short, long)]
    verbose: bool,

    /// Take the tests of a family that comes with litmake, such as `telechat-table3` [default with
    /// --old: a fixed suite]
    #[arg(long, value_name = "NAME", required_unless_present_any = ["inputs", "old"])]
    family: Option<String>,

    /// Take N tests of that family, among them every construct
    #[arg(long, default_value_t = 500, value_name = "N", requires = "family")]
    sample: u64,

    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list)
    #[arg(value_name = "FILE|FOLDER|@LIST", conflicts_with = "family")]
    inputs: Vec<String>,

    #[command(flatten)]
    how: made::How,
}

/// The targets that are compiled for by default.
const TARGETS: [&str; 7] =
    ["x86_64", "aarch64", "aarch64-armv8.1-a", "armv7", "riscv64", "ppc64le", "mips64el"];
const LEVEL: &str = "O2";

/// The compilers that a folder of a build can hold, the likelier ones first.
const TOOLS: [&str; 6] = ["clang", "gcc", "rustc", "clang++", "g++", "zig"];

pub fn main(args: Args) -> ExitCode {
    args.how.hush();
    let done = match (&args.old, &args.new) {
        (Some(old), Some(new)) => judge(&args, old, new),
        _ => compare(&args),
    };
    common::ended(done)
}

/// Compares each profile with the one before it.
fn compare(args: &Args) -> Result<u8> {
    let profiles = profiles(&args.profile)?;
    let tests = match tests(args)? {
        Some(tests) => tests,
        None => return Err(Diag::new("tests, or a --family of them, are needed")),
    };
    let report = made::run(compared(&profiles, tests), &args.how, None, |report, used| {
        args.how.place(report, used)?;
        if args.json {
            print!("{}", report.json());
            return Ok(());
        }
        print!("{}", table::changes(&report.changes, args.verbose));
        if report.errors.is_empty() {
            println!("{}", report.verdict.words());
        } else {
            let style = Style { color: common::stdout_color(), quiet: true, ..Style::default() };
            let mut errors = report.clone();
            errors.changes.clear();
            super::run::say_summary(&errors, style);
        }
        Ok(())
    })?;
    let moved = || report.changes.iter().any(|c| c.tests.iter().any(|t| t.moved() && !t.known));
    Ok(common::status_of(match report.exit_status() {
        // Other outcomes come before what was not judged, as findings do.
        _ if report.errors.is_empty() && moved() => 1,
        other => other,
    }))
}

/// Judges one build against another.
fn judge(args: &Args, old: &str, new: &str) -> Result<u8> {
    let pairs = pairs(args, old, new)?;
    let pipeline = judged(args, &pairs)?;
    let report = made::run(pipeline, &args.how, None, |report, used| {
        args.how.place(report, used)?;
        match args.json {
            true => print!("{}", report.json()),
            false => {
                let style = Style {
                    color: common::stdout_color(),
                    verbose: args.verbose,
                    ..Style::default()
                };
                super::output::raw(&judged::text(&report.harmless(), style));
            }
        }
        match &args.markdown {
            Some(path) => write(path, judged::markdown(report)),
            None => Ok(()),
        }
    })?;
    Ok(common::status_of(report.judged_status()))
}

/// The profiles of two builds, for each target and level.
fn pairs(args: &Args, old: &str, new: &str) -> Result<Vec<(String, String)>> {
    let known = common::known_profiles();
    let is_profile = |word: &str| {
        let is_file = word.ends_with(".yaml") || word.ends_with(".yml");
        word.contains('@') || is_file || known.get(word).is_some()
    };
    let own = |profile: &str| profile.split('@').next().unwrap_or(profile).to_string();
    let pair = match (is_profile(old), is_profile(new)) {
        (false, false) => return builds_of(args, &known, old, new),
        (true, true) => (old.to_string(), new.to_string()),
        (true, false) => (old.to_string(), format!("{}@{new}", own(old))),
        (false, true) => (format!("{}@{old}", own(new)), new.to_string()),
    };
    if let Some(word) = args.target.first().or(args.level.first()) {
        return Err(Diag::new(format!(
            "a profile says what it compiles for, so `{word}` says too much"
        ))
        .help("leave out --target and --level, or name two builds"));
    }
    Ok(vec![pair])
}

fn builds_of(args: &Args, known: &Profiles, old: &str, new: &str) -> Result<Vec<(String, String)>> {
    let tools = (tool(old)?, tool(new)?);
    let words = |given: &[String], usual: &[&str]| -> Vec<String> {
        match given {
            [] => usual.iter().map(|w| w.to_string()).collect(),
            some => some.to_vec(),
        }
    };
    let (mut out, mut left_out) = (Vec::new(), Vec::new());
    for target in words(&args.target, &TARGETS) {
        for level in words(&args.level, &[LEVEL]) {
            let before = profile_of(known, old, &tools.0, &target, &level);
            let after = profile_of(known, new, &tools.1, &target, &level);
            match (before, after) {
                (Ok(before), Ok(after)) => out.push((before, after)),
                (Err(e), _) | (_, Err(e)) if !args.target.is_empty() || !args.level.is_empty() => {
                    return Err(e);
                }
                (Err(e), _) | (_, Err(e)) => left_out.push((target.clone(), e)),
            }
        }
    }
    if out.is_empty() && !left_out.is_empty() {
        return Err(left_out.remove(0).1);
    }
    if !left_out.is_empty() {
        let mut targets: Vec<String> = left_out.into_iter().map(|(target, _)| target).collect();
        targets.dedup();
        let targets = targets.join(", ");
        note!("left out, since not both builds compile for them: {targets}");
    }
    Ok(out)
}

/// The compiler that a build has, such as `clang`.
fn tool(build: &str) -> Result<String> {
    let own = builds::parts(build.trim_end_matches('/')).1;
    if Path::new(build).is_dir() && build.contains('/') {
        let is_empty = Disk.list(Path::new(build)).is_empty();
        let is = |tool: &&&str| !is_empty && builds::program(&Disk, build, tool).is_some();
        let found = TOOLS.iter().find(is);
        return found.map(|tool| tool.to_string()).ok_or_else(|| {
            Diag::new(format!("there is no compiler in {build}"))
                .help("a build is a folder with `bin/clang`, `bin/gcc` or the like")
        });
    }
    if process::find(build).is_none() {
        let diag = Diag::new(format!("there is no compiler `{build}`"));
        return Err(match Path::new(build).is_dir() {
            true => diag.help(format!("a folder is written with a slash: ./{build}")),
            false => {
                diag.help("name a command, a folder with `bin/clang` or the like, or a profile")
            }
        });
    }
    match TOOLS.contains(&own) {
        true => Ok(own.to_string()),
        false => Err(Diag::new(format!("it is not known which compiler `{build}` is")).help(
            format!("name a profile of the same compiler before it: clang-x86_64-O2@{build}"),
        )),
    }
}

/// The profile of a build for a target at a level: the profile of its own version, or one that is
/// derived from the profile of another version.
fn profile_of(
    known: &Profiles,
    build: &str,
    tool: &str,
    target: &str,
    level: &str,
) -> Result<String> {
    let shipped = format!("{build}-{target}-{level}");
    let name = match known.get(&shipped) {
        Some(_) if !build.contains('/') => shipped,
        _ => {
            let like = format!("{tool}-{target}-{level}");
            let is = |p: &litmake::profile::Profile| p.unversioned().as_deref() == Some(&like);
            if !known.iter().any(|p| p.name == like || is(p)) {
                return Err(no_target(known, tool, target, level));
            }
            format!("{like}@{build}")
        }
    };
    let profile = known.find(&Disk, Path::new("."), &name)?;
    match process::find(&profile.compiler) {
        Some(_) => Ok(name),
        None => Err(Diag::new(format!("there is no compiler `{}`", profile.compiler))
            .help("`litmake doctor` says what is installed")),
    }
}

/// The error that a compiler lacks a target or level, with those that it has.
fn no_target(known: &Profiles, tool: &str, target: &str, level: &str) -> Box<Diag> {
    let own = known.iter().filter(|p| p.tool() == tool);
    let names = own.filter_map(|p| {
        let name = p.unversioned().unwrap_or_else(|| p.name.clone());
        let (target, level) = name.strip_prefix(tool)?.strip_prefix('-')?.rsplit_once('-')?;
        Some((target.to_string(), level.to_string()))
    });
    let (targets, levels): (
        std::collections::BTreeSet<String>,
        std::collections::BTreeSet<String>,
    ) = names.unzip();
    let of = |word: &str, all: &std::collections::BTreeSet<String>| match nearest(
        word,
        all.iter().map(String::as_str),
    ) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", all.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    match targets.contains(target) {
        false => Diag::new(format!("{tool} has no target `{target}`")).help(of(target, &targets)),
        true if !levels.contains(level) => {
            Diag::new(format!("{tool} has no level `{level}`")).help(of(level, &levels))
        }
        true => Diag::new(format!("there is no profile `{tool}-{target}-{level}`")),
    }
}

/// The profiles that the words of the command line stand for, in order.
fn profiles(words: &[String]) -> Result<Vec<String>> {
    let out = common::named_profiles(words)?;
    match out.len() {
        0 | 1 => Err(Diag::new("two profiles are needed to tell apart what they make")
            .help("name another --profile, or a pattern such as `clang-*-aarch64-O2`")),
        _ => Ok(out),
    }
}

/// The options of the stage that gives the tests. None stands for the suite.
fn tests(args: &Args) -> Result<Option<Generate>> {
    if let Some(family) = &args.family {
        return Ok(Some(Generate {
            families: [family.as_str()].into_iter().collect(),
            sample: Some(args.sample.into()),
            seed: Some(1.into()),
            ..Generate::default()
        }));
    }
    if args.inputs.is_empty() {
        return Ok(None);
    }
    Ok(Some(made::tests(&list::existing(&args.inputs)?)))
}

fn compile(from: &str, profile: &str) -> Compile {
    Compile { from: from.into(), profile: profile.into(), ..Compile::default() }
}

fn simulate(from: &str) -> Simulate {
    Simulate { from: from.into(), ..Simulate::default() }
}

fn compared(profiles: &[String], tests: Generate) -> Made {
    let mut out = Made::new("diff");
    out.add("tests", tests);
    for (i, profile) in profiles.iter().enumerate() {
        let (code, outcomes) = (format!("code-{i}"), format!("outcomes-{i}"));
        out.add(&code, compile("tests", profile));
        out.add(&outcomes, simulate(&code));
        if let Some(before) = i.checked_sub(1) {
            let before = format!("outcomes-{before}").into();
            out.add(format!("diff-{i}"), Diff { before, after: outcomes.into() });
        }
    }
    out
}

/// The stages of a judgement. Both builds compile all tests. For tests whose code changed, the
/// source and both codes are simulated and compared.
fn judged(args: &Args, pairs: &[(String, String)]) -> Result<Made> {
    let mut out = Made::new("diff");
    match tests(args)? {
        Some(tests) => out.add("tests", tests),
        None => out = out.after(pipelines::text("suite.yaml").unwrap_or_default()),
    }
    let axes = |(old, new): &(String, String)| {
        Axes::from([("from".into(), old.clone()), ("to".into(), new.clone())])
    };
    let code = |of: fn(&(String, String)) -> &String| {
        pairs.iter().map(move |pair| (axes(pair), compile("tests", of(pair))))
    };
    out.add_each("old-code", code(|pair| &pair.0));
    out.add_each("new-code", code(|pair| &pair.1));
    let model = Some(args.source_model.as_str().into());
    for (name, of, model) in
        [("source", "tests", model), ("old", "old-code", None), ("new", "new-code", None)]
    {
        let code = format!("{name}-changed");
        let (before, after) = ("old-code".into(), "new-code".into());
        out.add(&code, Changed { of: of.into(), before, after });
        out.add(format!("{name}-outcomes"), Simulate { model, ..simulate(&code) });
    }
    let (before, after) = ("old-outcomes".into(), "new-outcomes".into());
    out.add("diff", Diff { before, after });
    for side in ["old", "new"] {
        let compare = Compare {
            source: "source-outcomes".into(),
            target: format!("{side}-outcomes").into(),
            investigate: Some(args.investigate.into()),
            ..Compare::default()
        };
        out.add(format!("{side}-bugs"), compare);
    }
    Ok(out)
}
