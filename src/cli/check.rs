//! `litmake check`: compiles a few tests and compares their outcomes with those of the source,
//! without a pipeline.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use clap_complete::engine::ArgValueCompleter;
use litmake::base::failure::FailureKind;
use litmake::diag::{Diag, Result, Source};
use litmake::litmus::list;
use litmake::mix::{By, Written, notation};
use litmake::pipeline::kinds::{self, Compare, Compile, Simulate, link::LinkBy, split::SplitBy};
use litmake::pipeline::made::Made;
use litmake::plain;
use litmake::profile::files::Disk;
use litmake::profile::yaml::Words;
use litmake::report::issue::Tracker;
use litmake::report::{Finding, Report};
use litmake::stage::investigate::Investigator;

use super::common;
use super::compile::StorageArg;
use super::run::Look;
use super::stream::Stream;
use super::{completions, findings, made, quotable};

/// Find out whether compilers compile a few tests right, without a pipeline.
///
/// Each test is compiled, lifted back from object code, and simulated; its outcomes are compared
/// with those of the source.
///
/// With several profiles and `--split thread` or `instruction`, every mix is checked: each part of
/// a test is compiled with each profile. With `--mix`, that mix is checked, and each of its
/// profiles alone.
///
/// Exit status: 0, everything that was asked was judged, and there are no new findings; 1, new
/// findings, or differences that were not looked into; 2, wrong input; 3, something that the command
/// needs failed, or not everything was judged, as when all sources have undefined behaviour.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake check test.litmus                                    the installed compilers
  litmake check -p clang-aarch64 -p 'gcc-*-O3' test.litmus
  litmake check --split instruction -p clang-16-armv7 -p clang-16-armv8 sb.litmus
  litmake check -p clang-16-armv8 -p clang-16-armv7 \\
      --mix '(A(P0_0); B(P0_1)) || (A(P1_0); A(P1_1))' sb.litmus")]
pub struct Args {
    /// Profiles: `clang`, `gcc-12-aarch64`, `clang-*-O3`, a file [default: what is installed]
    ///
    /// Names or parts of them, patterns, and files; may be given several times. With --split, every
    /// mix of them is checked. By default: the newest installed clang and gcc, for this machine and
    /// the common targets, at O2
    #[arg(short, long, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    profile: Vec<String>,

    /// The parts that are compiled separately [default: whole; with --mix, the parts that the mix
    /// names]
    #[arg(long, value_enum)]
    split: Option<Split>,

    /// One mix, in the notation of reports: in `(A(P0_0); B(P0_1)) || (A(P1_0))` the second
    /// --profile compiles the second statement of the first thread. `c1` or `comp_1` also stands
    /// for the first profile. With names of profiles in their place, --profile can be left out.
    /// `P0` is a whole thread
    #[arg(long, value_name = "MIX")]
    mix: Option<String>,

    /// How parts are joined: their code is spliced, or separately compiled objects are linked with
    /// lld or GNU ld
    #[arg(long, value_enum, default_value = "splice")]
    link: Link,

    /// How tests reach the shared locations: through pointers that threads are given, or as
    /// variables [default: through pointers; without --split and --helpers, also as static
    /// variables with `--helpers`]
    #[arg(long, value_enum)]
    storage: Option<StorageArg>,

    /// Put each atomic operation into a helper function that is not inlined
    #[arg(long)]
    helpers: bool,

    /// The model of the sources [default: rc11, and rc11-lb for load buffering]
    ///
    /// With several, the first one judges, and differences that a further one allows are labelled with
    /// its name. For shaders the default is vulkan
    #[arg(long, alias = "model", value_name = "MODEL", add = ArgValueCompleter::new(completions::models))]
    source_model: Vec<String>,

    /// The model of the mixes [default: the profiles' model, if they have one]
    #[arg(long, value_name = "MODEL", add = ArgValueCompleter::new(completions::models))]
    target_model: Option<String>,

    /// Reduce at most N differences of each profile to their bugs; other differences that
    /// show one of these bugs are counted without being reduced. With 0, nothing is reduced, and
    /// the whole tests tell the bugs
    #[arg(long, default_value_t = 10, value_name = "N")]
    investigate: u64,

    /// Also run the tests, on this machine or under qemu-user, and report crashes
    ///
    /// The threads run one after the other, with the locations that the source only reads in read-only memory
    #[arg(long)]
    run: bool,

    /// Find the pass of the compiler that caused each bug
    ///
    /// For compilers of LLVM, the code after each pass is simulated; for gcc, its dumps are compared
    #[arg(long, conflicts_with_all = ["split", "mix"])]
    passes: bool,

    /// Print each new bug as the text of an issue for a tracker
    ///
    /// The reduced source, command lines, the code before and after the responsible pass, both outcome sets, why the source forbids an
    /// outcome, the versions that have the bug, and a link to Compiler Explorer
    #[arg(long, value_enum, value_name = "TRACKER", conflicts_with = "json")]
    issue: Option<TrackerArg>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list); `-` is a test on standard input
    #[arg(required = true, value_name = "FILE|FOLDER|@LIST")]
    inputs: Vec<String>,

    #[command(flatten)]
    how: made::How,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Split {
    /// The whole test
    Whole,
    /// Each thread
    Thread,
    /// Each statement
    Instruction,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Link {
    /// The code of the parts is joined
    Splice,
    /// The objects of the parts are linked to a program
    Ld,
}

/// The tracker that an issue is written for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TrackerArg {
    /// LLVM's, in Markdown: bugs of clang
    Llvm,
    /// gcc's, in plain text: bugs of gcc
    Gcc,
}

impl From<TrackerArg> for Tracker {
    fn from(tracker: TrackerArg) -> Tracker {
        match tracker {
            TrackerArg::Llvm => Tracker::Llvm,
            TrackerArg::Gcc => Tracker::Gcc,
        }
    }
}

impl Split {
    /// The parts that are compiled separately; none for whole tests.
    pub fn by(self) -> Option<By> {
        match self {
            Split::Whole => None,
            Split::Thread => Some(By::Thread),
            Split::Instruction => Some(By::Instruction),
        }
    }
}

pub fn main(mut args: Args) -> ExitCode {
    let status = settle(&mut args).and_then(|()| {
        let stream = Stream::of(&mut args.inputs, &mut args.how.cache)?;
        run(&args, stream.as_ref())
    });
    common::ended(status)
}

impl Args {
    fn split(&self) -> Split {
        self.split.unwrap_or(Split::Whole)
    }
}

/// Takes from `--mix` the profiles and the split that other options leave out.
fn settle(args: &mut Args) -> Result<()> {
    let Some(mix) = &args.mix else {
        args.profile = common::profiles_or_usual(&args.profile)?;
        return Ok(());
    };
    args.profile = common::named_profiles(&args.profile)?;
    let text = Source::new("--mix", &**mix);
    let mix = Written::read(&text)?;
    let split = match mix.by()? {
        By::Whole => Split::Whole,
        By::Thread => Split::Thread,
        By::Instruction => Split::Instruction,
    };
    if args.split.is_some_and(|asked| asked != split) {
        let word = split.to_possible_value().map_or(String::new(), |v| v.get_name().to_string());
        return Err(Diag::new("--split does not agree with --mix")
            .help(format!("leave it out: a mix that is written like this is of --split {word}")));
    }
    args.split = Some(split);
    if args.profile.is_empty() {
        for (name, span) in mix.names() {
            common::find_profile(&Disk, name).map_err(|e| {
                let e = e.or_at(&text, span);
                match notation::place(name) {
                    Some(n) => e.help(format!(
                        "`{name}` stands for --profile number {}, which is not given",
                        n + 1
                    )),
                    None => e,
                }
            })?;
            args.profile.push(name.to_string());
        }
        return Ok(());
    }
    let find = |word: &String| Ok(common::find_profile(&Disk, word)?.name.clone());
    let known = args.profile.iter().map(find).collect::<Result<Vec<String>>>()?;
    let used = mix.profiles(&known)?;
    match (0..known.len()).find(|i| !used.contains(i)) {
        None => Ok(()),
        Some(i) => Err(Diag::new(format!("--profile {} is not in the mix", args.profile[i]))
            .help("leave it out, or name it in --mix")),
    }
}

fn run(args: &Args, stream: Option<&Stream>) -> Result<u8> {
    let paths = existing(&args.inputs)?;
    if args.run {
        super::crash::whole(args.split())?;
    }
    let models = models(&args.source_model, &args.profile)?;
    let question = Question {
        profiles: &args.profile,
        split: args.split(),
        mix: args.mix.as_deref(),
        link: args.link,
        ways: preparations(args),
        models: &models,
        target_model: args.target_model.as_deref(),
        investigate: args.investigate,
    };
    let pipeline = pipeline(&question, &paths);
    let mut passes = |report: &mut Report, investigator: &mut Investigator| {
        let mut evidence = |finding: &mut Finding| investigator.explain(finding);
        super::culprits::explain(report, &args.profile, &models, &mut evidence)
    };
    let look = args.passes || args.issue.is_some() && args.split().by().is_none();
    let look: Option<Look> = if look { Some(&mut passes) } else { None };
    let report = made::run(pipeline, &args.how, look, |report, used| {
        forgive(args, report);
        if args.run {
            super::crash::extend(report, &args.profile, &paths)?;
        }
        report.settle();
        let issues = args.issue.map(|tracker| findings::issues(report, used, tracker.into()));
        args.how.place(report, used)?;
        let named = stream.map(|stream| stream.named(report));
        let report = named.as_ref().unwrap_or(report);
        match issues {
            Some(issues) => say_issues(report, &issues),
            None => made::print(report, args.json),
        }
        if args.issue.is_none() && !args.json {
            println!("{}", quotable::line(report, &paths));
        }
        Ok(())
    })?;
    Ok(common::status_of(report.exit_status()))
}

/// The tests, of which each must be there. A link that leads nowhere is an error of that test alone,
/// which the run reports.
fn existing(inputs: &[String]) -> Result<Vec<PathBuf>> {
    let is_dangling = |path: &PathBuf| path.is_symlink() && !path.exists();
    let all = list::tests(inputs)?;
    if !all.iter().any(is_dangling) {
        return list::existing(inputs);
    }
    let others = all.iter().filter(|path| !is_dangling(path));
    let others: Vec<String> = others.map(|p| p.to_string_lossy().into_owned()).collect();
    list::existing(&others)?;
    Ok(all)
}

/// Prints the texts of issues, one below the other, and why other findings have none.
fn say_issues(report: &Report, issues: &findings::Issues) {
    for (n, text) in issues.texts.iter().enumerate() {
        if n > 0 {
            println!("{}\n", "=".repeat(78));
        }
        print!("{text}");
    }
    for note in &issues.left_out {
        eprintln!("note: {note}");
    }
    for error in &report.errors {
        eprintln!("error: {}: {}", plain::line(&error.test), plain::text(&error.message));
    }
    if issues.texts.is_empty() {
        eprintln!("note: there is nothing to report");
    }
}

/// A question about some tests, from which `pipeline` makes stages.
pub struct Question<'a> {
    pub profiles: &'a [String],
    pub split: Split,
    /// One mix. Without it, all of them.
    pub mix: Option<&'a str>,
    pub link: Link,
    /// How tests are prepared for compilers: where the locations are, and whether operations are in
    /// helper functions.
    pub ways: Vec<(StorageArg, bool)>,
    /// The models of the sources; the first one judges.
    pub models: &'a [String],
    pub target_model: Option<&'a str>,
    pub investigate: u64,
}

impl<'a> Question<'a> {
    /// A question about whole tests.
    pub fn whole(
        profiles: &'a [String],
        ways: Vec<(StorageArg, bool)>,
        models: &'a [String],
    ) -> Question<'a> {
        let (split, link) = (Split::Whole, Link::Splice);
        Question {
            profiles,
            split,
            mix: None,
            link,
            ways,
            models,
            target_model: None,
            investigate: 10,
        }
    }
}

/// The stages that answer a question.
pub fn pipeline(args: &Question, paths: &[PathBuf]) -> Made {
    let mut out = Made::new("check");
    out.add("tests", made::tests(paths));
    let simulate = |from: &str, model: Option<&str>| Simulate {
        from: from.into(),
        model: model.map(Into::into),
        ..Simulate::default()
    };
    for (i, model) in args.models.iter().enumerate() {
        out.add(label("source", i), simulate("tests", Some(model)));
    }
    let also: Words = (1..args.models.len()).map(|i| label("source", i)).collect();
    let compare = |target: &str| Compare {
        source: "source".into(),
        target: target.into(),
        also: also.clone(),
        investigate: Some(args.investigate.into()),
    };
    let compile = |from: &str, profile: &str, (storage, helpers): (StorageArg, bool)| Compile {
        from: from.into(),
        profile: profile.into(),
        storage: storage.into(),
        helpers,
        ..Compile::default()
    };
    if args.split != Split::Whole {
        let by = if args.split == Split::Thread { SplitBy::Thread } else { SplitBy::Instruction };
        let link = if args.link == Link::Ld { LinkBy::Ld } else { LinkBy::Splice };
        let mix = args.mix.map(Into::into);
        out.add("parts", kinds::Split { from: "tests".into(), by });
        out.add_for("compiled", ("profile", args.profiles), |p| compile("parts", p, args.ways[0]));
        out.add("mixes", kinds::Link { from: "compiled".into(), link, mix });
        out.add("target", simulate("mixes", args.target_model));
        out.add("compare", compare("target"));
        return out;
    }
    // All profiles with the first preparation, then all with the next.
    let cases = args.ways.iter().flat_map(|way| args.profiles.iter().map(move |p| (way, p)));
    for (i, (way, profile)) in cases.enumerate() {
        let (compiled, simulated) = (label("compiled", i), label("target", i));
        out.add(&compiled, compile("tests", profile, *way));
        out.add(&simulated, simulate(&compiled, args.target_model));
        out.add(label("compare", i), compare(&simulated));
    }
    out
}

/// How tests are prepared for compilers: where the locations are, and whether operations are in
/// helper functions. Some bugs show only with a program's own variables, others only with memory
/// from elsewhere.
fn preparations(args: &Args) -> Vec<(StorageArg, bool)> {
    match (args.storage, args.helpers, args.split().by()) {
        (None, false, None) => vec![(StorageArg::Pointers, false), (StorageArg::Statics, true)],
        (storage, helpers, _) => vec![(storage.unwrap_or(StorageArg::Pointers), helpers)],
    }
}

/// Drops errors of code that cannot be lifted in the second preparation, and the comparisons that
/// lack it: the user did not ask for it.
fn forgive(args: &Args, report: &mut Report) {
    if args.split().by().is_some() {
        return;
    }
    let asked = |stage: &str| -> BTreeSet<String> {
        (0..args.profile.len()).map(|i| label(stage, i)).collect()
    };
    let (compiled, compared) = (asked("compiled"), asked("compare"));
    let possible = |kind| !matches!(kind, FailureKind::Unsupported | FailureKind::Inexpressible);
    report.errors.retain(|e| {
        let of_code = e.stage == "compiled" || e.stage.starts_with("compiled-");
        !of_code || compiled.contains(&e.stage) || possible(e.kind)
    });
    report.verdict.not_asked(|stage, kind| !compared.contains(stage) && !possible(kind));
}

/// The default models of the sources: the first one judges, and the second one labels load
/// buffering.
pub fn judges() -> Vec<String> {
    vec!["rc11".into(), "rc11-lb".into()]
}

/// The models of the sources, of which the first one judges: those that the user named, or else
/// those of the profiles' language. Shaders and Go have another memory model than C.
pub fn models(named: &[String], profiles: &[String]) -> Result<Vec<String>> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    // An error in a profile is reported where the profile is used.
    let found = profiles.iter().filter_map(|p| common::find_profile(&Disk, p).ok());
    let mut own: Vec<Option<&str>> = found.map(|p| p.language.source_model()).collect();
    own.dedup();
    match own[..] {
        [] | [None] => Ok(judges()),
        [Some(model)] => Ok(vec![model.to_string()]),
        _ => Err(Diag::new("the profiles' languages have different memory models").help(
            "check shaders (GLSL, WGSL) and Go apart, or name one model with --source-model",
        )),
    }
}

/// The name of a stage for the n-th profile or model.
fn label(stage: &str, profile: usize) -> String {
    match profile {
        0 => stage.to_string(),
        n => format!("{stage}-{}", n + 1),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use litmake::report::Error;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_nobody_asked_for_may_be_unsupported_by_kind_and_not_by_words() {
        let args = Line::parse_from(["check", "--profile", "p", "t.litmus"]).args;
        let error = |stage: &str, kind, message: &str| Error {
            stage: stage.into(),
            kind,
            message: message.into(),
            ..Error::default()
        };
        let (item, unsupported) = (FailureKind::Item, FailureKind::Unsupported);
        let mut report = Report {
            errors: vec![
                error("compiled", unsupported, "asked for"),
                error("compiled-2", unsupported, "vectors"),
                error("compiled-2", item, "unsupported: vectors"),
                error("source", unsupported, "of another stage"),
            ],
            ..Report::default()
        };
        forgive(&args, &mut report);
        let left: Vec<&str> = report.errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(left, ["asked for", "unsupported: vectors", "of another stage"]);
    }
}
