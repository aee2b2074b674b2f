//! From what a run found to its report: what is said of every kind of stages here, what of one kind in a
//! file of its own.

mod compare;
mod diff;
mod layout;
mod mixed;
mod run;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::rc::Rc;

use super::items::{DROPPED, ITEM, UNREADABLE};
use super::threads;
use super::{Built, kinds};
use litmake_base::digest::Digest;
use litmake_engine::graph::{Counts, Work};
use litmake_engine::rows::State;
use litmake_engine::run::{Engine, Found};
use litmake_generate::REPEATED;
use litmake_pipeline::plan::Plan;
use litmake_report::{self as report, Cause, Error, Finding, Report};

/// Puts the item's name into a message that was stored without it.
fn named(message: &str, item: &str) -> String {
    let message = message.strip_prefix(UNREADABLE).unwrap_or(message);
    match message.strip_prefix(ITEM) {
        Some(rest) if rest.starts_with([':', ' ']) => format!("{item}{rest}"),
        _ => message.to_string(),
    }
}

/// The plan's nodes that findings came from, by the findings' identities.
pub type Origins = BTreeMap<String, usize>;

/// A run that came to its end.
#[derive(Clone, Copy)]
pub struct Ran<'a> {
    pub plan: &'a Plan,
    pub built: &'a Built,
    pub engine: &'a Engine<'a>,
}

/// What the report says of a kind's results beside how many there are. The options of kinds
/// implement it, where there is something.
pub trait Reported {
    /// What an item says that someone should look at.
    fn findings(&self, _run: &Ran, _found: &Found) -> Vec<Finding> {
        Vec::new()
    }

    /// What all items of a stage of the plan come to, and the findings that only all of them show.
    fn whole(&self, _run: &Ran, _stage: usize, _report: &mut Report) -> Vec<Finding> {
        Vec::new()
    }

    /// The files that a stage of the plan asks for, with their content.
    fn files(&self, _run: &Ran, _stage: usize) -> Vec<(PathBuf, String)> {
        Vec::new()
    }
}

/// The report of a run that came to its end.
pub fn collect(plan: &Plan, built: &Built, engine: &Engine) -> (Report, Origins) {
    let mut origins = Origins::new();
    let mut out = Report {
        litmake: env!("CARGO_PKG_VERSION").to_string(),
        pipeline: plan.pipeline.name.clone(),
        ..Report::default()
    };
    // What a stage left out on purpose is counted, and did not fail.
    let (left_out, failed): (Vec<Found>, Vec<Found>) = engine
        .found(&[State::Failed, State::Broke])
        .into_iter()
        .partition(|f| f.state == State::Failed && f.content.starts_with(DROPPED.as_bytes()));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    for (at, i) in built.of_plan.iter().enumerate() {
        parts[*i].push(at);
    }
    for (node, parts) in plan.nodes.iter().zip(parts) {
        let mut stage = report::Stage {
            name: node.label.clone(),
            kind: node.kind.name().to_string(),
            ..report::Stage::default()
        };
        let (mut executed, mut seconds) = (0, 0.0);
        for at in parts {
            // A list of parts is what the work made of the tasks; and what is made when it is read is
            // no task.
            match &built.graph.nodes[at].work {
                Work::Parts => continue,
                Work::Map(work) if !work.keeps() => continue,
                _ => {}
            }
            let summary = engine.summary(at);
            // What failed because something before it did is counted there.
            stage.failed += failed.iter().filter(|f| f.node == at).count() as u64;
            executed += summary.executed;
            seconds += summary.time.as_secs_f64();
            // A stage of two nodes counts the tasks of the one that does the work.
            stage.tasks = stage.tasks.max(summary.tasks);
            // What is broken is handed on as broken.
            let own = |f: &&Found| f.node == at && f.state == State::Broke;
            let skipped =
                summary.skipped + summary.broke - failed.iter().filter(own).count() as u64;
            stage.skipped = stage.skipped.max(skipped);
            for (why, n) in dropped(built, engine, at, &left_out, &mut stage.considered) {
                *stage.dropped.entry(why).or_default() += n;
            }
        }
        stage.executed = Some(executed);
        stage.cached = Some(stage.tasks.saturating_sub(executed + stage.skipped));
        stage.seconds = Some((seconds * 1000.0).round() / 1000.0);
        out.stages.push(stage);
    }
    let run = Ran { plan, built, engine };
    let mut subjects: HashMap<u64, Vec<usize>> = HashMap::new();
    for found in engine.found(&[State::Finding]) {
        let i = built.of_plan[found.node];
        let Some(reported) = kinds::of(&plan.nodes[i].kind).reported else { continue };
        for finding in reported.findings(&run, &found) {
            let alike = subjects.entry(subject(&finding)).or_default();
            if alike.iter().any(|i| covers(&out.findings[*i], &finding)) {
                continue;
            }
            alike.push(out.findings.len());
            origins.insert(finding.id.clone(), i);
            out.findings.push(finding);
        }
    }
    for (i, node) in plan.nodes.iter().enumerate() {
        let Some(reported) = kinds::of(&node.kind).reported else { continue };
        for finding in reported.whole(&run, i, &mut out) {
            origins.insert(finding.id.clone(), i);
            out.findings.push(finding);
        }
    }
    let mut said = BTreeSet::new();
    for found in failed {
        let text = String::from_utf8_lossy(&found.content).into_owned();
        // A test that cannot be read fails in every stage that reads it; once is enough.
        let unreadable = text.starts_with(UNREADABLE);
        if unreadable && !said.insert((found.item.clone(), text.clone())) {
            continue;
        }
        let root = &built.graph.nodes[built.graph.root(found.node)];
        let (test, part) = match root.work {
            Work::Parts => found.item.rsplit_once('#').unwrap_or((&found.item, "")),
            _ => (found.item.as_str(), ""),
        };
        let mut message = named(&text, &found.item);
        if root.kind == threads::KIND {
            // A thread is the first of its own test, and another one of the test that people know.
            if let Some(rest) = message.strip_prefix("P0: ") {
                message = format!("{part}: {rest}");
            }
            // What is wrong with a compiler is so for each thread.
            let of = format!("{} {test}", engine.graph.nodes[found.node].label);
            if !said.insert((of, message.clone())) {
                continue;
            }
        } else if !part.is_empty() {
            message = format!("{part}: {message}");
        }
        out.errors.push(Error {
            stage: engine.graph.nodes[found.node].label.clone(),
            message,
            test: test.to_string(),
            cause: if unreadable { Cause::Input } else { Cause::Run },
            ..Error::default()
        });
    }
    for error in engine.take_errors() {
        out.errors.push(Error {
            message: error.to_string(),
            cause: Cause::Input,
            ..Error::default()
        });
    }
    report::merge::sort(&mut out);
    (out, origins)
}

/// A hash of what a finding is about: test, compilers, models.
fn subject(f: &Finding) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&f.test, &f.profiles, &f.model_source, &f.model_target).hash(&mut hasher);
    hasher.finish()
}

/// What a node left out, by reason, of how much.
fn dropped(
    built: &Built,
    engine: &Engine,
    at: usize,
    left_out: &[Found],
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
                let why = String::from_utf8_lossy(&found.content[DROPPED.len()..]).into_owned();
                counts.drop(&why, 1);
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

/// Whether a finding says all that another one says: the same test through the same compiler, put
/// to it in another way, shows no more.
fn covers(old: &Finding, new: &Finding) -> bool {
    old.preparation != new.preparation
        && old.class == new.class
        && old.test == new.test
        && old.profiles == new.profiles
        && old.model_source == new.model_source
        && old.model_target == new.model_target
        && new.outcomes.forbidden.iter().all(|o| old.outcomes.forbidden.contains(o))
}

/// Calls `f` for each row of a node that came to something, with its name. Most rows of a
/// comparison have one of a few contents, so each is read and decoded once.
fn each_row<T>(
    engine: &Engine,
    node: usize,
    decode: impl Fn(&[u8]) -> Result<T, String>,
    mut f: impl FnMut(&str, &T),
) {
    let Some(root) = engine.root_table(node) else { return };
    let mut known: HashMap<Digest, Rc<T>> = HashMap::new();
    for (s, shard) in engine.shards_of(node).into_iter().enumerate() {
        let Some(cells) = shard.and_then(|_| engine.cells(node, s).ok()) else { continue };
        for (row, cell) in cells.iter().enumerate().filter(|(_, c)| c.state.usable()) {
            let value = match known.get(&cell.content) {
                Some(value) => value.clone(),
                None => {
                    let content = engine.content(node, s, row, *cell);
                    let Ok(value) = content.and_then(|bytes| decode(&bytes)) else { continue };
                    let value = Rc::new(value);
                    // A bound, for campaigns in which all contents differ.
                    if known.len() < 1 << 16 {
                        known.insert(cell.content, value.clone());
                    }
                    value
                }
            };
            f(&root.rows(s)[row].name, &value);
        }
    }
}

impl Ran<'_> {
    /// The model by which an input of a comparison goes.
    fn model(&self, i: usize, input: usize) -> Option<String> {
        self.built.models[*self.plan.nodes[i].inputs.get(input)?].clone()
    }

    /// The further models of a comparison's sources.
    fn further(&self, i: usize) -> Vec<String> {
        (2..self.plan.nodes[i].inputs.len())
            .map(|input| self.model(i, input).unwrap_or_else(|| "rc11".into()))
            .collect()
    }

    /// The test that was simulated for an input of a comparison, as text.
    fn simulated(&self, i: usize, input: usize, item: &str) -> Option<String> {
        let simulate = self.built.node_of[*self.plan.nodes[i].inputs.get(input)?];
        let tests = *self.engine.graph.nodes[simulate].inputs.first()?;
        content(self.engine, tests, item)
    }
}

/// The files that stages ask for, with their content.
pub fn files(plan: &Plan, built: &Built, engine: &Engine) -> Vec<(PathBuf, String)> {
    let run = Ran { plan, built, engine };
    let reported = plan.nodes.iter().map(|node| kinds::of(&node.kind).reported).enumerate();
    reported.flat_map(|(i, r)| r.map_or(Vec::new(), |r| r.files(&run, i))).collect()
}

/// What a difference that a model allows is called.
pub fn label(allowed_by: &[String]) -> String {
    let name = |m: &String| {
        let file = m.rsplit('/').next().unwrap_or(m);
        file.strip_suffix(".cat").unwrap_or(file).to_string()
    };
    match allowed_by.first().map(name).as_deref() {
        None => String::new(),
        Some("rc11-lb") => "load buffering".into(),
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

/// Where an item stands in a node's list.
pub fn place(engine: &Engine, node: usize, item: &str) -> Option<(usize, usize)> {
    let root = engine.root_table(node)?;
    let at = root.entries.binary_search_by(|e| (*e.name).cmp(item)).ok()?;
    let shard = root.bounds.partition_point(|b| *b <= at) - 1;
    Some((shard, at - root.bounds[shard]))
}
