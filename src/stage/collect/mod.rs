//! Collects the results of a run into a report. This file does what is common to all kinds of
//! stages; each kind has a file of its own.

mod compare;
mod coverage;
mod diff;
mod judged;
mod layout;
mod mixed;
mod run;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;

use rustc_hash::FxHashMap;

pub use coverage::coverage;
pub use judged::{UndefinedIn, verdict};

use super::threads;
use super::verdict::Verdict;
use super::{Built, kinds};
use litmake_base::diag::Source;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_engine::graph::{Counts, Work};
use litmake_engine::rows::State;
use litmake_engine::run::{Engine, Found};
use litmake_generate::REPEATED;
use litmake_litmus::{self as litmus, canon};
use litmake_pipeline::kinds::Kind;
use litmake_pipeline::plan::{Node, Plan};
use litmake_profile::Profile;
use litmake_report::baseline::Seen;
use litmake_report::bugs::{Bugs, Rank, rank};
use litmake_report::coverage::Tests;
use litmake_report::{self as report, Cause, Error, Finding, Report};

/// The node of the plan that each finding came from, by the finding's id.
pub type Origins = BTreeMap<String, usize>;

/// A difference whose bug is not known yet: only its place and rank.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The place: node of the graph, shard and row.
    pub node: usize,
    /// See `node`.
    pub shard: usize,
    /// See `node`.
    pub row: usize,
    /// How good an example of its bug it is.
    pub rank: Rank,
    /// The bug, when it is known.
    pub bug: Option<usize>,
}

/// The results of a run.
pub struct Collected {
    /// The report, without findings.
    pub report: Report,
    /// The bugs that are known without an investigation.
    pub bugs: Bugs,
    /// For each bug, the comparison that found it.
    pub origins: Origins,
    /// The differences to investigate.
    pub open: Vec<Open>,
    /// Wrong mixes, of which there are few: the node of the plan, the finding, and the bug when it
    /// is known.
    pub mixes: Vec<(usize, Finding, Option<usize>)>,
}

impl Collected {
    /// The report, with the bugs that are known.
    pub fn finish(mut self) -> (Report, Origins) {
        self.report.findings = self.bugs.finish();
        report::merge::sort(&mut self.report);
        (self.report, self.origins)
    }
}

/// Decoded results, by the digests of their contents.
type Decoded<T> = FxHashMap<Digest, Rc<T>>;

/// So many decoded results are kept, for campaigns in which all differ.
const MOST_KNOWN: usize = 1 << 16;

/// A run that has ended.
pub struct Ran<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// The graph of the plan.
    pub built: &'a Built,
    /// The engine that ran it, with the results.
    pub engine: &'a Engine<'a>,
    /// The verdicts of comparisons, of which a campaign has few different ones.
    verdicts: RefCell<Decoded<Verdict>>,
}

/// Adds findings and files of a kind to the report, beside its counts. The options of some kinds
/// implement it.
pub trait Reported {
    /// The findings that an item shows, without what [`Reported::example`] adds. A finding without
    /// an id has to be investigated.
    fn findings(&self, _run: &Ran, _found: &Found) -> Vec<Finding> {
        Vec::new()
    }

    /// Adds the descriptions for people to a finding that is the example of a bug.
    fn example(&self, _run: &Ran, _stage: usize, _finding: &mut Finding) {}

    /// Adds the results of a whole stage to the report; returns the findings that show only in the
    /// whole.
    fn whole(&self, _run: &Ran, _stage: usize, _report: &mut Report) -> Vec<Finding> {
        Vec::new()
    }

    /// The files that a stage of the plan asks for, with their content.
    fn files(&self, _run: &Ran, _stage: usize) -> Vec<(PathBuf, String)> {
        Vec::new()
    }
}

/// An item whose work failed in a node of the graph.
struct Failed {
    node: usize,
    item: String,
    failure: Failure,
}

/// The results of a run that has ended, with at most so many occurrences of each bug.
pub fn collect(run: &Ran, occurrences: Option<usize>) -> Collected {
    let Ran { plan, built, engine, .. } = run;
    let mut origins = Origins::new();
    let mut out = Report {
        litmake: env!("CARGO_PKG_VERSION").to_string(),
        pipeline: plan.pipeline.name.clone(),
        kept_occurrences: occurrences,
        ..Report::default()
    };
    // Items that a stage left out on purpose are counted, but did not fail.
    let (left_out, failed): (Vec<Failed>, Vec<Failed>) = engine
        .found(&[State::Failed, State::Broke])
        .into_iter()
        .map(|found| Failed { failure: found.failure(), node: found.node, item: found.item })
        .partition(|f| f.failure.kind == FailureKind::LeftOut);
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    for (at, i) in built.of_plan.iter().enumerate() {
        parts[*i].push(at);
    }
    for (node, parts) in plan.nodes.iter().zip(parts) {
        out.stages.push(counted(run, node, parts, &failed, &left_out));
    }
    let mut bugs = Bugs::new(occurrences, repeats(plan));
    let mut open = Vec::new();
    run.each_difference(&mut |finding, i, place| {
        let subject = (finding.test.as_str(), &finding.profiles[..]);
        if finding.id.is_empty() {
            let rank = rank(&finding.test, &finding.outcomes);
            open.push(Open { rank, ..place });
            return;
        }
        let make = || run.example(i, finding.clone());
        bugs.add(&finding.id, subject, &finding.outcomes, make);
        origins.entry(finding.id.clone()).or_insert(i);
    });
    let mut mixes = Vec::new();
    for (i, node) in plan.nodes.iter().enumerate() {
        let Some(reported) = kinds::of(&node.kind).reported else { continue };
        mixes.extend(reported.whole(run, i, &mut out).into_iter().map(|f| (i, f, None)));
    }
    for (node, of) in built.graph.nodes.iter().enumerate() {
        let Work::Source(source) = &of.work else { continue };
        let label = &plan.nodes[built.of_plan[node]].label;
        out.errors.extend(source.counts().unreadable.into_iter().map(|(test, message)| Error {
            stage: label.clone(),
            test,
            message,
            cause: Cause::Input,
            kind: FailureKind::Unreadable,
            ..Error::default()
        }));
    }
    out.errors.extend(errors_of(run, failed));
    // If a test itself is wrong, the errors of compilers and comparisons about it add nothing.
    let wrong = out.errors.iter().filter(|e| e.cause == Cause::Input);
    let wrong: BTreeSet<String> = wrong.map(|e| e.test.clone()).collect();
    let is_broken = |kind: FailureKind| matches!(kind, FailureKind::Broken(_));
    out.errors.retain(|e| e.cause == Cause::Input || is_broken(e.kind) || !wrong.contains(&e.test));
    for error in engine.take_errors() {
        let message = error.to_string();
        out.errors.push(Error {
            // Outputs say themselves that it is an error.
            message: message.strip_prefix("error: ").map_or(message.clone(), String::from),
            cause: Cause::Input,
            ..Error::default()
        });
    }
    Collected { report: out, bugs, origins, open, mixes }
}

/// What became of the tasks of a stage, over the nodes of the graph that are its parts.
fn counted(
    run: &Ran,
    node: &Node,
    parts: Vec<usize>,
    failed: &[Failed],
    left_out: &[Failed],
) -> report::Stage {
    let Ran { built, engine, .. } = run;
    let is_part = engine.options.part.is_some_and(|(_, n)| n > 1);
    let mut stage = report::Stage {
        name: node.label.clone(),
        kind: node.kind.name().to_string(),
        ..report::Stage::default()
    };
    let (mut executed, mut elsewhere, mut fetched, mut seconds) = (0, 0, 0, 0.0);
    for at in parts {
        // A list of parts is the output of the node before it, and a result that is not stored
        // is made when it is read. Neither is a task.
        match &built.graph.nodes[at].work {
            Work::Parts => continue,
            Work::Map(work) if !work.keeps() => continue,
            _ => {}
        }
        let summary = engine.summary(at);
        // A failure of an earlier node counts only there.
        stage.failed += failed.iter().filter(|f| f.node == at).count() as u64;
        executed += summary.executed;
        elsewhere += summary.elsewhere;
        fetched += summary.fetched;
        seconds += summary.time.as_secs_f64();
        // A stage may have two nodes: the one with more tasks does the work.
        stage.tasks = stage.tasks.max(summary.tasks);
        if is_part {
            stage.distinct = distinct(engine, at, failed).or(stage.distinct);
        }
        // A broken item is passed on as broken, and counts as skipped there.
        let own = |f: &&Failed| f.node == at && f.failure.is_broken();
        let skipped = summary.skipped + summary.broke - failed.iter().filter(own).count() as u64;
        stage.skipped = stage.skipped.max(skipped);
        for (why, n) in dropped(built, engine, at, left_out, &mut stage.considered) {
            *stage.dropped.entry(why).or_default() += n;
        }
    }
    stage.executed = Some(executed);
    stage.elsewhere = engine.options.elsewhere.is_some().then_some(elsewhere);
    stage.cached = Some(stage.tasks.saturating_sub(executed + stage.skipped));
    stage.fetched = engine.options.remote.is_some().then_some(fetched);
    stage.seconds = Some((seconds * 1000.0).round() / 1000.0);
    stage
}

/// The errors of items that failed, each once.
fn errors_of(run: &Ran, failed: Vec<Failed>) -> Vec<Error> {
    let Ran { plan, built, engine, .. } = run;
    let mut errors = Vec::new();
    let mut said = BTreeSet::new();
    let mut missing = BTreeSet::new();
    for Failed { node, item, failure } in failed {
        let label = &engine.graph.nodes[node].label;
        let root = &built.graph.nodes[built.graph.root(node)];
        let (test, part) = match root.work {
            Work::Parts => item.rsplit_once('#').unwrap_or((&item, "")),
            _ => (item.as_str(), ""),
        };
        let is_thread = root.kind == threads::KIND;
        let message = match part.is_empty() {
            true => failure.told(&item),
            // In messages, a thread is the first of its own test, but has another number in the
            // user's test.
            false if is_thread && failure.is_of_thread() => failure.told_of(part, &item),
            false if is_thread => failure.told(&item),
            false => format!("{part}: {}", failure.told(&item)),
        };
        // An error in a source shows when the test is read or simulated.
        let of = &plan.nodes[built.of_plan[node]];
        let is_source = of.profile.is_none() && of.mixed.is_empty();
        let is_wrong = failure.kind == FailureKind::Unreadable
            || failure.kind == FailureKind::Item
                && is_source
                && matches!(of.kind, Kind::Simulate(_));
        // A compiler that is missing is missing for each preparation of a test.
        if failure.kind == FailureKind::Broken(Fault::Missing) {
            let profile = of.profile.as_ref().map(|p| p.name.clone());
            if !missing.insert((profile, test.to_string(), failure.told(""))) {
                continue;
            }
        }
        // A wrong test fails in every stage that reads it, and an error of a compiler can come with
        // each thread. Each is reported once.
        // Stages of one kind that differ in a test's preparation or in the model fail alike.
        let once = match (is_wrong, is_thread) {
            (true, _) => (item.clone(), failure.told(&item)),
            (false, true) => (format!("{label} {test}"), failure.told_of("", &item)),
            (false, false) => {
                let profile = of.profile.as_ref().map_or("", |p| &p.name);
                (format!("{} {profile} {item}", of.kind.name()), message.clone())
            }
        };
        if !said.insert(once) {
            continue;
        }
        // Outputs say themselves that it is an error.
        let message = message.strip_prefix("error: ").map_or(message.clone(), String::from);
        errors.push(Error {
            stage: label.clone(),
            message,
            test: test.to_string(),
            cause: if is_wrong { Cause::Input } else { Cause::Run },
            kind: failure.kind,
            ..Error::default()
        });
    }
    errors
}

/// The distinct items of a node, and those that failed. None if the node's items have names of their
/// own.
fn distinct(engine: &Engine, at: usize, failed: &[Failed]) -> Option<report::Distinct> {
    let ids = engine.identities(at)?;
    let root = engine.root_table(at)?;
    let names: HashMap<&str, Digest> =
        root.entries.iter().map(|e| &*e.name).zip(ids.iter().copied()).collect();
    let own = failed.iter().filter(|f| f.node == at).filter_map(|f| names.get(&*f.item));
    Some(report::Distinct {
        tasks: Tests::of_digests(ids.iter().copied()),
        failed: Tests::of_digests(own.copied()),
    })
}

/// Whether a plan compares a test more than once with the same profile.
fn repeats(plan: &Plan) -> bool {
    let mut seen = BTreeSet::new();
    let compares = plan.nodes.iter().filter(|n| matches!(n.kind, Kind::Compare(_)));
    compares.filter_map(|n| n.profile.as_ref()).any(|p| !seen.insert(&p.name))
}

/// The families of compilers that some profiles have.
pub fn family<'p>(profiles: impl Iterator<Item = &'p Profile>) -> String {
    let names: BTreeSet<&str> = profiles.map(Profile::maker).collect();
    names.into_iter().collect::<Vec<_>>().join(" + ")
}

/// The form of a test that is not reduced: equal for tests that differ only in names.
pub fn form(text: &str) -> String {
    match litmus::read(&Source::new("test", text)) {
        Ok(test) => canon::canonical_text(&litmake_reduce::normal(&test)),
        Err(_) => text.to_string(),
    }
}

/// How many items a node left out, by reason; adds the number of all items to `considered`.
fn dropped(
    built: &Built,
    engine: &Engine,
    at: usize,
    left_out: &[Failed],
    considered: &mut u64,
) -> BTreeMap<String, u64> {
    let mut counts = Counts::default();
    match &built.graph.nodes[at].work {
        Work::Source(source) => counts = source.counts(),
        Work::Distinct => {
            let before = engine.summary(built.graph.nodes[at].inputs[1]);
            counts.considered = before.tasks - before.failed - before.broke - before.skipped;
            let kept = engine.summary(at).tasks;
            counts.drop(REPEATED, counts.considered.saturating_sub(kept));
        }
        Work::Map(_) => {
            for found in left_out.iter().filter(|f| f.node == at) {
                counts.drop(&found.failure.text(), 1);
            }
            if !counts.dropped.is_empty() {
                counts.considered = engine.summary(at).tasks;
            }
        }
        Work::Parts => {}
    }
    *considered += counts.considered;
    counts.dropped
}

/// A decoded result: a known one, or one that is read now.
fn decoded<T>(
    known: &mut Decoded<T>,
    digest: Digest,
    read: impl FnOnce() -> Result<T, Failure>,
) -> Result<Rc<T>, Failure> {
    if let Some(value) = known.get(&digest) {
        return Ok(value.clone());
    }
    let value = Rc::new(read()?);
    if known.len() < MOST_KNOWN {
        known.insert(digest, value.clone());
    }
    Ok(value)
}

/// Calls `f` with the name and the result of each row of a node. Most rows of a comparison have one
/// of a few results, so each result is read and decoded once.
fn each_row<T>(
    engine: &Engine,
    node: usize,
    known: &mut Decoded<T>,
    decode: impl Fn(&[u8]) -> Result<T, Failure>,
    mut f: impl FnMut(&str, &T),
) {
    let Some(root) = engine.root_table(node) else { return };
    for (s, shard) in engine.shards_of(node).into_iter().enumerate() {
        let Some(cells) = shard.and_then(|_| engine.cells(node, s).ok()) else { continue };
        for (row, cell) in cells.iter().enumerate().filter(|(_, c)| c.state.usable()) {
            let read = || decode(&engine.content(node, s, row, *cell)?);
            if let Ok(value) = decoded(known, cell.content, read) {
                f(&root.rows(s)[row].name, &value);
            }
        }
    }
}

impl<'a> Ran<'a> {
    /// A run that an engine has ended.
    pub fn new(plan: &'a Plan, built: &'a Built, engine: &'a Engine<'a>) -> Ran<'a> {
        Ran { plan, built, engine, verdicts: RefCell::default() }
    }

    /// Calls `f` for each difference that an item shows in a stage of the plan, with its place.
    pub fn each_difference(&self, f: &mut dyn FnMut(Finding, usize, Open)) {
        self.engine.each_found(&[State::Finding], &mut |found, shard, row| {
            let i = self.built.of_plan[found.node];
            let Some(reported) = kinds::of(&self.plan.nodes[i].kind).reported else { return };
            let node = found.node;
            for finding in reported.findings(self, &found) {
                f(finding, i, Open { node, shard, row, rank: Rank::default(), bug: None });
            }
        });
    }

    /// The difference at a place, with its node of the plan.
    pub fn difference(&self, at: &Open) -> Option<(usize, Finding)> {
        let cell = *self.engine.cells(at.node, at.shard).ok()?.get(at.row)?;
        let content = self.engine.content(at.node, at.shard, at.row, cell).ok()?;
        let item = self.engine.root_table(at.node)?.rows(at.shard)[at.row].name.to_string();
        let i = self.built.of_plan[at.node];
        let reported = kinds::of(&self.plan.nodes[i].kind).reported?;
        let found = Found { node: at.node, item, state: cell.state, content };
        Some((i, reported.findings(self, &found).into_iter().next()?))
    }

    /// A finding with the descriptions that an example has.
    pub fn example(&self, i: usize, mut finding: Finding) -> Finding {
        if let Some(reported) = kinds::of(&self.plan.nodes[i].kind).reported {
            reported.example(self, i, &mut finding);
        }
        finding
    }

    /// Calls `f` for the code of each test and profile: with the profile, the name of the test, and
    /// the code as a test. Tests of equal code may get it with one name inside.
    pub fn each_code(&self, f: &mut dyn FnMut(&Profile, &str, &str)) {
        for (i, node) in self.plan.nodes.iter().enumerate() {
            let (Kind::Compile(_), Some(profile)) = (&node.kind, &node.profile) else { continue };
            let text = |bytes: &[u8]| Ok(String::from_utf8_lossy(bytes).into_owned());
            let known = &mut Decoded::default();
            each_row(self.engine, self.built.node_of[i], known, text, |name, text| {
                f(profile, name, text);
            });
        }
    }

    /// The result of a node of the plan for a test.
    pub fn saw(&self, i: usize, test: &str) -> Seen {
        let node = self.built.node_of[i];
        let cell = place(self.engine, node, test)
            .and_then(|(shard, row)| self.engine.cells(node, shard).ok()?.get(row).copied());
        match cell.map(|c| c.state) {
            Some(State::Finding) => Seen::Differs,
            Some(State::Done) => Seen::Clean,
            _ => Seen::Nothing,
        }
    }

    /// The name of the model of a comparison's input.
    fn model(&self, i: usize, input: usize) -> Option<String> {
        self.built.models[*self.plan.nodes[i].inputs.get(input)?].clone()
    }

    /// The names of the further models of a comparison's sources.
    fn further(&self, i: usize) -> Vec<String> {
        (2..self.plan.nodes[i].inputs.len())
            .map(|input| self.model(i, input).unwrap_or_else(|| "rc11".into()))
            .collect()
    }

    /// The text of the source that a comparison judges.
    pub fn source(&self, i: usize, item: &str) -> Option<String> {
        self.simulated(i, 0, item)
    }

    /// The name of the model of the sources of a comparison.
    pub fn source_model(&self, i: usize) -> Option<String> {
        self.model(i, 0)
    }

    /// The text of the test that was simulated for an input of a comparison.
    fn simulated(&self, i: usize, input: usize, item: &str) -> Option<String> {
        let simulate = self.built.node_of[*self.plan.nodes[i].inputs.get(input)?];
        let tests = *self.engine.graph.nodes[simulate].inputs.first()?;
        content(self.engine, tests, item)
    }
}

/// The files that stages ask for, with their content.
pub fn files(run: &Ran) -> Vec<(PathBuf, String)> {
    let reported = run.plan.nodes.iter().map(|node| kinds::of(&node.kind).reported).enumerate();
    reported.flat_map(|(i, r)| r.map_or(Vec::new(), |r| r.files(run, i))).collect()
}

/// The label of a difference that these models allow.
pub fn label(allowed_by: &[String]) -> String {
    let name = |m: &String| {
        let file = m.rsplit('/').next().unwrap_or(m);
        file.strip_suffix(".cat").unwrap_or(file).to_string()
    };
    match allowed_by.first().map(name).as_deref() {
        None => String::new(),
        Some("rc11-lb") => report::LOAD_BUFFERING.into(),
        Some(other) => format!("allowed by {other}"),
    }
}

/// The text of an item in a node.
pub fn content(engine: &Engine, node: usize, item: &str) -> Option<String> {
    let (shard, row) = place(engine, node, item)?;
    let cell = *engine.cells(node, shard).ok()?.get(row)?;
    let bytes = engine.content(node, shard, row, cell).ok()?;
    String::from_utf8(bytes).ok()
}

/// The shard and the row of an item in a node's list.
pub fn place(engine: &Engine, node: usize, item: &str) -> Option<(usize, usize)> {
    let root = engine.root_table(node)?;
    let at = root.entries.binary_search_by(|e| (*e.name).cmp(item)).ok()?;
    let shard = root.bounds.partition_point(|b| *b <= at) - 1;
    Some((shard, at - root.bounds[shard]))
}
