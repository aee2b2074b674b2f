//! `litmake hunt`: looks for unknown bugs until its time is over.

mod stages;
mod told;
mod uncompared;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap_complete::engine::ArgValueCompleter;
use litmake::base::failure::{FailureKind, Fault};
use litmake::diag::{Diag, Result, Source};
use litmake::file::{self, write};
use litmake::hunt::choose::Chosen;
use litmake::hunt::sources::Sources;
use litmake::hunt::{Drawn, Hunt};
use litmake::litmus;
use litmake::profile::types::Storage;
use litmake::report::baseline::{Baseline, Seen};
use litmake::report::verdict::Verdict;
use litmake::report::{Class, Finding, Report, Status, merge};
use litmake::stage::collect::Ran;
use litmake::stop::Stopping;
use litmake::toolchain::process;
use serde::{Deserialize, Serialize};

use self::stages::{FEW, MIXED, Machines, Tests, pipeline};
use self::uncompared::Uncompared;
use super::compile::StorageArg;
use super::{common, completions, findings, made};

/// Look for unknown bugs in compilers, for minutes or nights.
///
/// It draws tests, compiles and compares them, and learns where to look next.
///
/// If the code of a test has a sequence of instructions that is new, the hunt draws similar tests;
/// it leaves a source of tests whose code is no longer new. Every test is compiled. It is compared
/// if its code is new, or if its source uses that code in a new way. Each bug is reduced and
/// written as soon as it shows. The hunt is kept in a folder: an interrupt (Ctrl-C) stops it, and
/// the same command continues. For profiles of one machine, the hunt also mixes their code and
/// compares their layouts of atomic types.
///
/// Exit status: 0, no new bugs; 1, new bugs, or differences that were not looked into; 2, wrong
/// input; 3, something that the hunt needs failed, or there are no new bugs and for some profile no
/// test could be compared.
/// Tests that the hunt drew and that litmake cannot compare are counted, and are not missing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake hunt --budget 8h                                     the newest compilers, every target
  litmake hunt --budget 30m --profile 'clang-22-*-O2' --profile 'gcc-12-riscv64-O?'
  litmake hunt --budget 1h --profile gcc-12-ppc64le-O2 --state ppc --baseline known.json
  litmake hunt --budget 16h                                    eight hours more than the first")]
pub struct Args {
    /// The time for the whole hunt, including the time before an interrupt: 90s, 30m, 8h
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Duration,

    /// Profiles to compile with: names or parts of them (`clang-riscv64`), files, or patterns such as
    /// `clang-22-*-O2`, which stand for the installed profiles [default: the newest version of each C compiler for each target, at
    /// O2]
    #[arg(short, long, value_name = "NAME|FILE|PATTERN", add = ArgValueCompleter::new(completions::profiles))]
    profile: Vec<String>,

    /// The seed of all random choices; one seed gives the same tests as long as the compiled code
    /// is the same
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// The folder that keeps the hunt
    #[arg(long, value_name = "DIR", default_value = "hunt")]
    state: PathBuf,

    /// Tests in a round
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    round: u32,

    /// Stop after N rounds in all, even if time is left
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,

    /// The model of the sources. `rc11-lb` allows load buffering, so it does not count as a bug
    #[arg(long, alias = "model", value_name = "MODEL", default_value = "rc11-lb", add = ArgValueCompleter::new(completions::models))]
    source_model: String,

    /// How tests reach the shared locations: through pointers that threads are given, or as
    /// variables
    #[arg(long, value_enum, default_value = "pointers")]
    storage: StorageArg,

    /// Reduce at most N differences of each profile and round to their bugs, beside known bugs
    #[arg(long, default_value_t = 2, value_name = "N")]
    investigate: u64,

    /// Draw without learning, and compare every test; this shows what the learning gains
    #[arg(long)]
    blind: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    how: made::How,
}

/// The largest number of errors that are kept as examples.
const ERRORS: usize = 50;

/// The shortest and the longest time, in seconds, that a round looks into differences. Those that
/// remain are open.
const LOOK: (f64, f64) = (10.0, 120.0);

/// The counts of a hunt, beside its report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tally {
    seconds: f64,
    /// Tests that were not compared, because nothing in them was new.
    known: u64,
    /// Comparisons, each of a test with a profile.
    compared: u64,
    /// Tests that could not be compared, by reason: `refused` by the lifting or the readers, `not
    /// for the compiler`, which lacks a type, `given up` by the simulation, or `failed`.
    not_compared: BTreeMap<String, u64>,
    /// The messages for these.
    #[serde(default)]
    reasons: Uncompared,
    /// How many tests were drawn for each profile.
    #[serde(default)]
    given: BTreeMap<String, u64>,
    /// How many tests were compared, by profile.
    profiles: BTreeMap<String, u64>,
    /// When each bug was first seen: after how many seconds and tests.
    first_seen: BTreeMap<String, (f64, u64)>,
}

/// The state of a hunt that is written to its folder.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    profiles: Vec<String>,
    source_model: String,
    storage: String,
    hunt: Hunt,
    tally: Tally,
    /// Tests with differences that were not looked into yet; later rounds take them again.
    open: Vec<Open>,
    report: Option<Report>,
}

/// A test with differences that were not looked into yet.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    /// The name of its file.
    name: String,
    text: String,
    /// The profiles whose code differs.
    profiles: BTreeSet<String>,
}

fn budget(text: &str) -> std::result::Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => {
            Err("a hunt needs more time than 0: give a budget such as 30m or 8h".into())
        }
        Ok(time) => Ok(time),
        Err(e) => Err(format!("{e}; give a budget such as 30m or 8h")),
    }
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let mut kept = begin(args)?;
    let machines = Machines::of(&kept.profiles);
    let mut sources = Sources::default();
    let cache = args.how.open()?;
    let stop = common::stop();
    let mut broken = false;
    let mut first = true;
    if !args.how.quiet {
        let profiles = litmake::report::number(kept.profiles.len() as u64, "profile");
        eprintln!(
            "hunting for {}: drawing, compiling and comparing tests for {profiles}",
            humantime::format_duration(args.budget)
        );
    }
    let more = |kept: &Kept| {
        let rounds = args.rounds.is_none_or(|n| kept.hunt.rounds < n);
        rounds && kept.tally.seconds < args.budget.as_secs_f64()
    };
    while more(&kept) && !stop.asked() {
        if !round(args, &mut kept, &machines, &mut sources, &cache, first, &mut broken)? {
            break;
        }
        first = false;
    }
    cache.end(args.how.quiet);
    let mut report = kept.report.clone().unwrap_or_default();
    let (silent, waits) = silent(&kept);
    report.verdict = verdict(&kept, &silent, waits.len(), &report);
    report.stopped = report.verdict.stopped;
    if args.json {
        print!("{}", told::json(&kept, &report))
    } else {
        told::say(&kept, &report)
    }
    args.how.formats.write(&report)?;
    let open = !report.not_looked_into.is_empty() || !kept.open.is_empty();
    Ok(common::status_of(match () {
        () if broken => 3,
        () if report.count(Status::New) > 0 || open => 1,
        // A profile for which nothing was compared must not look like success.
        () if !silent.is_empty() && common::stopped_status().is_none() => 3,
        () => report.verdict.status(),
    }))
}

fn place(args: &Args) -> PathBuf {
    args.state.join("hunt.json")
}

/// The hunt in the folder, or a new one.
fn begin(args: &Args) -> Result<Kept> {
    let storage = format!("{:?}", Storage::from(args.storage)).to_lowercase();
    let profiles = profiles(args)?;
    let path = place(args);
    if !path.exists() {
        std::fs::create_dir_all(&args.state)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", args.state.display())))?;
        return Ok(Kept {
            profiles,
            source_model: args.source_model.clone(),
            storage,
            hunt: Hunt::new(args.seed, args.blind),
            tally: Tally::default(),
            open: Vec::new(),
            report: None,
        });
    }
    let text = file::read_text(&path, file::MAX_DATA)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    let another =
        || format!("name another folder with --state, or remove {}", args.state.display());
    let kept: Kept = serde_json::from_str(&text).map_err(|e| {
        Diag::new(format!("{}: this is no hunt: {e}", path.display())).help(another())
    })?;
    let differs = [
        (kept.profiles != profiles, "profiles"),
        (kept.hunt.seed != args.seed, "seed"),
        (kept.hunt.blind != args.blind, "way to draw"),
        (kept.source_model != args.source_model, "model of the sources"),
        (kept.storage != storage, "storage"),
        (!kept.hunt.is_current(), "version of litmake"),
    ];
    match differs.into_iter().find(|(differs, _)| *differs) {
        Some((_, what)) => {
            Err(Diag::new(format!("the hunt in {} has another {what}", args.state.display()))
                .help(another()))
        }
        None => Ok(kept),
    }
}

/// The profiles that the command line names, or those of the newest compilers.
fn profiles(args: &Args) -> Result<Vec<String>> {
    let mut out = match args.profile.is_empty() {
        false => common::named_profiles(&args.profile)?,
        true => newest(),
    };
    let mut seen = BTreeSet::new();
    out.retain(|name| seen.insert(name.clone()));
    match out.is_empty() {
        true => Err(Diag::new("no compiler of C is installed for which there is a profile")
            .help("`litmake doctor` says what is missing, and how to get it")),
        false => Ok(out),
    }
}

/// The installed profiles of C at O2, each in its newest version.
fn newest() -> Vec<String> {
    let known = common::known_profiles();
    let mut best: BTreeMap<String, &litmake::profile::Profile> = BTreeMap::new();
    let mut installed: BTreeMap<&str, bool> = BTreeMap::new();
    for profile in known.iter() {
        let Some(family) = profile.unversioned().filter(|f| f.ends_with("-O2")) else { continue };
        let is_c = profile.language == litmake::lang::Language::C;
        let there = installed
            .entry(&profile.compiler)
            .or_insert_with(|| process::find(&profile.compiler).is_some());
        if !is_c || !*there {
            continue;
        }
        let place = best.entry(family).or_insert(profile);
        if profile.by_age(place).is_gt() {
            *place = profile;
        }
    }
    best.into_values().map(|p| p.name.clone()).collect()
}

/// Runs one round; says whether it was completed. An interrupted round is repeated.
fn round(
    args: &Args,
    kept: &mut Kept,
    machines: &Machines,
    sources: &mut Sources,
    cache: &made::Backend,
    first: bool,
    broken: &mut bool,
) -> Result<bool> {
    let started = Instant::now();
    let left = args.budget.as_secs_f64() - kept.tally.seconds;
    let mut hunt = kept.hunt.clone();
    let drawn = hunt.draw(sources, count(args, kept, left, machines));
    if drawn.is_empty() {
        return Err(Diag::new("no more tests can be drawn").help("try another --seed"));
    }
    let folder = args.state.join("round");
    let known = known(args, kept)?;
    let (tests, proofs) = files(&folder, &drawn, &proofs_of(&known))?;
    let waiting = waiting(&folder, kept)?;
    let besides = kept.open.iter().take(OPEN).flat_map(|o| &o.profiles).map(String::as_str);
    let besides: BTreeSet<&str> = besides.collect();
    let turn = machines.turn(kept.hunt.rounds, drawn.len(), &besides);
    // The tests to compare are chosen after all are compiled. Without learning, all are compared.
    let mut chosen = Chosen::all(Vec::new(), drawn.len());
    let mut code = Vec::new();
    let mut refused = None;
    if !hunt.blind {
        let all = Tests { drawn: tests.iter().enumerate().collect(), ..Tests::default() };
        let mut look = |run: &Ran| code = learned(run, &tests);
        let stages = pipeline(kept, args, machines, &turn, &all, None);
        let ask = args.how.ask.for_part(LOOK.0 as u64, Vec::new());
        let (report, _) = made::part(stages, &args.how, &ask, cache, first, &mut look)?;
        if report.stopped {
            return Ok(false);
        }
        refused = Some(report);
        chosen = hunt.learn(sources, &drawn, &code);
    }
    let mut compared = BTreeSet::new();
    let mut shown: Vec<(String, String)> = Vec::new();
    let mut look = |run: &Ran| {
        if hunt.blind {
            code = learned(run, &tests);
        }
        shown = seen(run, &proofs);
        compared = judged(run, &tests);
    };
    let by_profile: Vec<BTreeSet<String>> =
        proofs.iter().map(|(_, id)| shown_by(&known, id)).collect();
    let proved = proofs.iter().map(|(path, _)| path).zip(&by_profile);
    let open = waiting.iter().zip(kept.open.iter().map(|open| &open.profiles));
    let asked = Tests {
        drawn: chosen.tests.iter().map(|at| (*at, &tests[*at])).collect(),
        others: proved.chain(open).collect(),
    };
    let mechanisms = known.iter().filter_map(|bug| bug.mechanism.clone()).collect();
    let drawing = started.elapsed().as_secs_f64();
    // Until every profile had its turn, a round takes no more than its share of the time.
    let rounds = machines.turns.first().saturating_sub(kept.hunt.rounds).max(1);
    let ask = args.how.ask.for_part(look_for(drawing, left / rounds as f64, left), mechanisms);
    let (mut report, used) = match asked.is_empty() {
        true => Default::default(),
        false => {
            let mixed = Some((drawn.len() / MIXED) as u32);
            let stages = pipeline(kept, args, machines, &turn, &asked, mixed);
            let first = first && hunt.blind;
            made::part(stages, &args.how, &ask, cache, first, &mut look)?
        }
    };
    if report.stopped {
        return Ok(false);
    }
    if hunt.blind {
        chosen = hunt.learn(sources, &drawn, &code);
    } else {
        // Refused tests were counted when they were compiled.
        report.errors.retain(|e| !was_counted(e));
    }
    hunt.judged(&drawn, &chosen, &compared);
    kept.hunt = hunt;
    for (profile, tests) in turn.given(drawn.len()) {
        *kept.tally.given.entry(profile.into()).or_default() += tests;
    }
    kept.tally.seconds += started.elapsed().as_secs_f64();
    kept.tally.known += (drawn.len() - chosen.tests.len()) as u64;
    for report in refused.iter().chain([&report]) {
        count_errors(&mut kept.tally, report, broken);
    }
    for d in &report.differences {
        // The tests of open differences were counted when they were drawn.
        let has = |of: &BTreeSet<String>| of.contains(&d.profile);
        let again = asked.others.iter().filter(|(_, of)| has(of)).count() as u64;
        let compared = d.compared.saturating_sub(again);
        kept.tally.compared += compared;
        *kept.tally.profiles.entry(d.profile.clone()).or_default() += compared;
    }
    take_away(&mut report, &shown);
    let later: Vec<_> = kept.open.iter().skip(OPEN).cloned().collect();
    kept.open = still_open(&mut report);
    kept.open.extend(later);
    let folder = args.how.ask.findings.clone().unwrap_or_else(|| args.state.join("findings"));
    new_folders(kept, &mut report, &used, &folder, args)?;
    if !args.how.quiet {
        say_round(kept, drawn.len(), chosen.tests.len());
    }
    kept.report = Some(joined(kept.report.take(), report)?);
    let text = serde_json::to_string(kept).unwrap_or_default();
    write(&place(args), text)?;
    Ok(true)
}

/// Says what a round did.
fn say_round(kept: &Kept, drawn: usize, compared: usize) {
    let novel = kept.hunt.marks.last().map_or(0, |m| m.novel);
    eprintln!(
        "round {}: {drawn} tests, {novel} new code, {compared} compared; {} sequences, {} of {} sources \
         left, {} bugs{}",
        kept.hunt.rounds,
        kept.hunt.sequences(),
        kept.hunt.arms.iter().filter(|a| a.is_left()).count(),
        kept.hunt.arms.len(),
        kept.tally.first_seen.len(),
        match kept.tally.seconds {
            s if s < 120.0 => format!(", {s:.0} s"),
            s => format!(", {:.0} min", s / 60.0),
        }
    );
}

/// The number of tests in the next round: as many as asked for, or as are likely to leave time for
/// every profile to have its turn.
fn count(args: &Args, kept: &Kept, left: f64, machines: &Machines) -> usize {
    let (most, cycle) = (args.round as usize, machines.turns.first());
    let few = FEW * machines.parts();
    match kept.hunt.tests {
        // The first round measures how long tests take.
        0 => most.min(few),
        tests => {
            let each = kept.tally.seconds / tests as f64;
            let fit = (left / each.max(1e-6)).ceil() as usize;
            fit.div_ceil(cycle as usize).max(fit.min(few)).clamp(1, most)
        }
    }
}

/// The time, in whole seconds, for which a round looks into differences: as long as it took to draw and to
/// compile, within the round's share of the time, but at least half as long, since nobody can do much with a
/// difference that was not looked into. The next rounds are smaller then.
fn look_for(drawing: f64, share: f64, left: f64) -> u64 {
    let (shortest, longest) = LOOK;
    let within = (share - drawing).max(drawing / 2.0).min(left - drawing);
    drawing.min(within).clamp(shortest, longest) as u64
}

/// The known bugs, from the baseline and from this hunt.
fn known(args: &Args, kept: &Kept) -> Result<Vec<Finding>> {
    let mut out: Vec<Finding> = match &args.how.baseline {
        Some(path) if path.exists() => Baseline::read(path)?.known,
        _ => Vec::new(),
    };
    out.extend(kept.report.iter().flat_map(|r| r.findings.iter().cloned()));
    Ok(out)
}

/// The profiles that are known to show a bug.
fn shown_by(known: &[Finding], id: &str) -> BTreeSet<String> {
    known.iter().filter(|f| f.id == id).flat_map(|f| f.by_profile.keys().cloned()).collect()
}

/// The smallest test of each of some bugs, with its id.
fn proofs_of(known: &[Finding]) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for f in known {
        let test = f.class == Class::Concurrency && f.reduced.is_some();
        if test && f.label.is_empty() && !out.iter().any(|(id, _)| *id == f.id) {
            out.push((f.id.clone(), f.reproducer.clone()));
        }
    }
    out
}

/// The beginning of the names of known bugs' tests.
const PROOF: &str = "known-";

type Proofs = Vec<(PathBuf, String)>;

/// The largest number of open tests that are added to a round.
const OPEN: usize = 24;

/// Writes the first of the open tests.
fn waiting(folder: &Path, kept: &Kept) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for open in kept.open.iter().take(OPEN) {
        let path = folder.join(&open.name);
        write(&path, &open.text)?;
        out.push(path);
    }
    Ok(out)
}

/// The tests whose differences are open after a round. They are removed from the report's count of
/// differences that were not looked into.
fn still_open(report: &mut Report) -> Vec<Open> {
    let mut out: Vec<Open> = Vec::new();
    for rest in &mut report.not_looked_into {
        for o in std::mem::take(&mut rest.occurrences) {
            let path = Path::new(&o.test);
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
            let text = file::read_text(path, file::MAX_DATA);
            let (Some(name), Ok(text)) = (name, text) else { continue };
            rest.count = rest.count.saturating_sub(1);
            let key = litmake::report::bugs::profiles_key(&o.profiles);
            if let Some(n) = rest.by_profile.get_mut(&key) {
                *n = n.saturating_sub(1);
            }
            match out.iter_mut().find(|open| open.name == name) {
                // The test of a known bug comes again anyway.
                _ if is_proof(&o.test) => {}
                Some(open) => open.profiles.extend(o.profiles),
                None => out.push(Open { name, text, profiles: o.profiles.into_iter().collect() }),
            }
        }
        rest.by_profile.retain(|_, n| *n > 0);
    }
    report.not_looked_into.retain(|rest| rest.count > 0);
    out
}

/// Writes the tests of a round, and the tests of known bugs with the ids of these bugs.
fn files(
    folder: &Path,
    drawn: &[Drawn],
    known: &[(String, String)],
) -> Result<(Vec<PathBuf>, Proofs)> {
    let failed = |e: std::io::Error| Diag::new(format!("cannot make {}: {e}", folder.display()));
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut tests = Vec::new();
    for test in drawn {
        let path = folder.join(format!("{}.litmus", test.name));
        write(&path, &test.text)?;
        tests.push(path);
    }
    let mut proofs = Vec::new();
    for (id, text) in known {
        let path = folder.join(format!("{PROOF}{id}.litmus"));
        write(&path, text)?;
        proofs.push((path, id.clone()));
    }
    Ok((tests, proofs))
}

/// The code of the drawn tests, by position.
fn learned(run: &Ran, tests: &[PathBuf]) -> Vec<(usize, litmus::Test)> {
    let places: BTreeMap<String, usize> =
        tests.iter().enumerate().map(|(i, p)| (p.to_string_lossy().into_owned(), i)).collect();
    let mut out = Vec::new();
    run.each_code(&mut |_, name, text| {
        if let Some(at) = places.get(name)
            && let Ok(code) = litmus::read(&Source::new(name, text))
        {
            out.push((*at, code));
        }
    });
    out
}

/// The positions of the drawn tests that were compared, with the instruction set.
fn judged(run: &Ran, tests: &[PathBuf]) -> BTreeSet<(usize, &'static str)> {
    let mut out = BTreeSet::new();
    for (i, node) in run.plan.nodes.iter().enumerate() {
        let Some(profile) = &node.profile else { continue };
        if !node.kind.options().judges() {
            continue;
        }
        for (at, path) in tests.iter().enumerate() {
            if run.saw(i, &path.to_string_lossy()) != Seen::Nothing {
                out.insert((at, profile.arch.name()));
            }
        }
    }
    out
}

/// The tests of known bugs that showed a difference, with the profile.
fn seen(run: &Ran, proofs: &Proofs) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (i, node) in run.plan.nodes.iter().enumerate() {
        let Some(profile) = &node.profile else { continue };
        if !node.kind.options().judges() {
            continue;
        }
        for (path, id) in proofs {
            if run.saw(i, &path.to_string_lossy()) == Seen::Differs {
                out.push((id.clone(), profile.name.clone()));
            }
        }
    }
    out
}

/// Whether an error was counted when the drawn tests were compiled.
fn was_counted(error: &litmake::report::Error) -> bool {
    let is_of = |stage: &str| error.stage.starts_with(stage);
    is_of("code") || is_of("tests") || error.kind == FailureKind::Unreadable
}

fn count_errors(tally: &mut Tally, report: &Report, broken: &mut bool) {
    for error in &report.errors {
        let word = uncompared::word(error);
        *broken |= word == "failed" && matches!(error.kind, FailureKind::Broken(_));
        *tally.not_compared.entry(word.into()).or_default() += 1;
        tally.reasons.count(error);
    }
}

/// Whether a test is that of a known bug.
fn is_proof(test: &str) -> bool {
    Path::new(test).file_name().is_some_and(|n| n.to_string_lossy().starts_with(PROOF))
}

/// Subtracts the tests of known bugs from the counts: they only serve to recognise these bugs.
fn take_away(report: &mut Report, shown: &[(String, String)]) {
    for finding in &mut report.findings {
        for (_, profile) in shown.iter().filter(|(id, _)| *id == finding.id) {
            finding.count = finding.count.saturating_sub(1);
            if let Some(n) = finding.by_profile.get_mut(profile) {
                *n = n.saturating_sub(1);
            }
        }
        finding.by_profile.retain(|_, n| *n > 0);
        finding.occurrences.retain(|o| !is_proof(&o.test));
    }
    // A bug that showed only in its own test was not found again.
    report.findings.retain(|f| f.count > 0 || f.status == Status::Fixed);
}

/// Writes the folders of the bugs that this hunt had not found before.
fn new_folders(
    kept: &mut Kept,
    report: &mut Report,
    used: &findings::Used,
    folder: &Path,
    args: &Args,
) -> Result<()> {
    let met = |f: &Finding| kept.report.iter().flat_map(|r| &r.findings).any(|old| old.id == f.id);
    let (old, new): (Vec<Finding>, Vec<Finding>) = report.findings.drain(..).partition(met);
    report.findings = new;
    for finding in &mut report.findings {
        finding.file.clear();
        let when = (kept.tally.seconds, kept.hunt.tests);
        kept.tally.first_seen.insert(finding.id.clone(), when);
    }
    findings::place(report, used, Some(folder))?;
    for finding in report.findings.iter().filter(|f| f.status == Status::New) {
        if !args.how.quiet {
            eprintln!("new bug {}: {}, in {}", finding.id, finding.title(), finding.folder);
        }
    }
    report.findings.extend(old);
    Ok(())
}

/// Joins the report of the hunt with that of one more round.
fn joined(before: Option<Report>, mut round: Report) -> Result<Report> {
    // The hunt itself counts the tests that were judged.
    round.coverage = None;
    for finding in &mut round.findings {
        // A known bug keeps its first description.
        if let Some(old) = before.iter().flat_map(|r| &r.findings).find(|old| old.id == finding.id)
        {
            let counts = (finding.count, std::mem::take(&mut finding.by_profile));
            let occurrences = std::mem::take(&mut finding.occurrences);
            let presence = match old.presence.is_empty() {
                true => std::mem::take(&mut finding.presence),
                false => old.presence.clone(),
            };
            let (count, by_profile) = counts;
            *finding = Finding { count, by_profile, occurrences, presence, ..old.clone() };
        }
    }
    // Tests that the hunt drew itself and that cannot be compared with a profile are counted apart.
    round.verdict.not_asked(|_, kind| !matches!(kind, FailureKind::Broken(_)) || is_given_up(kind));
    round.verdict.errors = 0;
    let mut out = merge::add_tests(before, round)?;
    out.errors.truncate(ERRORS);
    Ok(out)
}

/// Whether a simulation took longer than a hunt allows. The many tests of a hunt make up for it.
fn is_given_up(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Broken(Fault::OutOfTime | Fault::Open))
}

/// The profiles for which nothing was compared: those of which enough tests were tried, and those that had no
/// turn, or only a few tests.
fn silent(kept: &Kept) -> (Vec<&String>, Vec<&String>) {
    let compared = |p: &String| kept.tally.profiles.get(p).is_some_and(|n| *n > 0);
    let was_tried = |p: &&String| kept.tally.given.get(*p).is_some_and(|n| *n >= FEW as u64);
    kept.profiles.iter().filter(|p| !compared(p)).partition(was_tried)
}

/// The verdict on the hunt: that on its rounds, with the tests that failed, and with the profiles for
/// which nothing was compared: `silent` ones, and those that wait for a turn.
fn verdict(kept: &Kept, silent: &[&String], waits: usize, report: &Report) -> Verdict {
    let mut out = report.verdict.clone();
    out.errors = kept.tally.not_compared.get("failed").copied().unwrap_or(0);
    out.missing.extend(silent.iter().map(|p| format!("any comparison with {p}")));
    if waits > 0 {
        let all = kept.profiles.len();
        out.missing.push(format!("a turn for {waits} of {all} profiles, which needs more time,"));
    }
    out.stopped |= common::stopped_status().is_some();
    out.settle();
    out
}
