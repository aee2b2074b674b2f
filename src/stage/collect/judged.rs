//! Counts what a run judged of what was asked of it: the comparisons of each stage that judges. If
//! no stage judges, the results of the last stages count.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::layout::Group;
use super::super::mixes::Mixed;
use super::super::simulate::Allowed;
use super::super::verdict::Verdict as Compared;
use super::{Ran, decoded};
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, FailureKind};
use litmake_devices::record::Record;
use litmake_engine::graph::Work;
use litmake_engine::rows::Cell;
use litmake_pipeline::kinds::Kind;
use litmake_report::verdict::{STOPPED, Verdict, reason};

/// The result of an item in a stage that judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Judged,
    /// Judged, with loops cut at a bound.
    Bounded,
    /// The source has undefined behaviour.
    Undefined,
    /// Nobody asked for the item: it was left out on purpose.
    NotAsked,
    Failed(FailureKind),
    Lacking(&'static str),
}

impl Came {
    /// The rank of the result. Of several results of one test, that with the largest rank counts.
    fn rank(self) -> u8 {
        match self {
            Came::NotAsked => 0,
            Came::Judged => 1,
            Came::Bounded => 2,
            Came::Undefined => 3,
            Came::Lacking(_) => 4,
            Came::Failed(_) => 5,
        }
    }
}

/// The tests whose sources are undefined, each with the first stage of the plan that compares it.
pub type UndefinedIn = FxHashMap<String, usize>;

/// The verdict on a run, without its errors, and the tests whose sources are undefined.
pub fn verdict(run: &Ran, stopped: bool) -> (Verdict, UndefinedIn) {
    let plan = run.plan;
    let judges = |i: &usize| plan.nodes[*i].kind.judges();
    let mut stages: Vec<usize> = (0..plan.nodes.len()).filter(judges).collect();
    if stages.is_empty() {
        let is_used = |i: &usize| plan.nodes.iter().any(|node| node.inputs.contains(i));
        stages = (0..plan.nodes.len()).filter(|i| !is_used(i)).collect();
    }
    let part = run.engine.options.part;
    let mut out = Verdict {
        shard: part.filter(|(_, n)| *n > 1).map(|(i, n)| format!("{i}/{n}")),
        only: plan.only.clone(),
        stopped,
        ..Verdict::default()
    };
    // A test that a profile compiles in several preparations is one comparison.
    let mut groups: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for i in stages {
        let node = &plan.nodes[i];
        let own = match (&node.kind, &node.profile) {
            (Kind::Compare(_), Some(profile)) => vec![profile.name.clone()],
            (Kind::Compare(_), None) if !node.mixed.is_empty() => {
                node.mixed.iter().map(|p| p.name.clone()).chain(["mixed".into()]).collect()
            }
            _ => vec![node.label.clone(), "alone".into()],
        };
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, stages)) => stages.push(i),
            None => groups.push((own, vec![i])),
        }
    }
    let mut undefined = UndefinedIn::default();
    let mut note = |came, i, test: &str| {
        if came == Came::Undefined && !undefined.contains_key(test) {
            undefined.insert(test.to_string(), i);
        }
    };
    let mut plain_atomics = FxHashSet::default();
    for (_, stages) in groups {
        if let [i] = stages[..] {
            each(run, i, &mut out, &mut plain_atomics, &mut |out, came, n, test| {
                add(out, i, came, None, n, run);
                note(came, i, test);
            });
            continue;
        }
        let mut all: BTreeMap<String, Vec<(usize, Came)>> = BTreeMap::new();
        for i in stages {
            each(run, i, &mut out, &mut plain_atomics, &mut |out, came, n, test| match test
                .is_empty()
            {
                true => add(out, i, came, None, n, run),
                false => all.entry(test.to_string()).or_default().push((i, came)),
            });
        }
        for (test, mut list) in all {
            list.sort_by_key(|(_, came)| std::cmp::Reverse(came.rank()));
            let (i, worst) = list[0];
            let lost = |came: &Came| matches!(came, Came::Failed(_) | Came::Lacking(_));
            let other = list.iter().map(|(_, came)| *came).find(|came| !lost(came));
            add(&mut out, i, worst, other, 1, run);
            note(worst, i, &test);
        }
    }
    out.plain_atomics = plain_atomics.len() as u64;
    (out, undefined)
}

/// Adds comparisons to a verdict. `other` is what other preparations of a test came to that failed in
/// one of them.
fn add(out: &mut Verdict, i: usize, came: Came, other: Option<Came>, n: u64, run: &Ran) {
    match came {
        Came::Judged => (out.asked, out.judged) = (out.asked + n, out.judged + n),
        Came::Bounded => {
            (out.asked, out.judged) = (out.asked + n, out.judged + n);
            out.bounded += n;
        }
        Came::Undefined => (out.asked, out.undefined) = (out.asked + n, out.undefined + n),
        Came::NotAsked => {}
        Came::Failed(kind) => {
            let mut otherwise = Verdict::default();
            if let Some(other) = other {
                add(&mut otherwise, i, other, None, n, run);
            }
            out.fail(&run.plan.nodes[i].label, kind, n, &otherwise);
        }
        Came::Lacking(why) => out.not_compared(why, n),
    }
}

/// Calls `f` for each item of a stage; with an empty name for items that have none. Adds the names of
/// tests whose sources have plain accesses to atomic objects.
fn each(
    run: &Ran,
    i: usize,
    out: &mut Verdict,
    plain_atomics: &mut FxHashSet<String>,
    f: &mut dyn FnMut(&mut Verdict, Came, u64, &str),
) {
    let (engine, label) = (run.engine, &run.plan.nodes[i].label);
    let at = run.built.node_of[i];
    let mut list = engine.graph.root(at);
    while let Some(before) = engine.graph.nodes[list].inputs.first() {
        list = engine.graph.root(*before);
    }
    if let Work::Source(source) = &engine.graph.nodes[list].work {
        for (name, _) in source.counts().unreadable {
            f(out, Came::Lacking(reason(FailureKind::Unreadable)), 1, &name);
        }
    }
    let Some(root) = engine.root_table(at) else {
        out.missing.push(format!("stage {label}"));
        return;
    };
    if !matches!(engine.graph.nodes[at].work, Work::Map(_)) {
        // A list of tests, which no other stage uses.
        f(out, Came::Judged, root.entries.len() as u64, "");
        return;
    }
    // Most items have one of a few results.
    let mut known: FxHashMap<(Digest, bool), (Came, bool)> = FxHashMap::default();
    for (s, shard) in engine.shards_of(at).into_iter().enumerate() {
        let (Some(_), Ok(cells)) = (shard, engine.cells(at, s)) else {
            let why = if out.stopped { STOPPED } else { "not reached" };
            root.rows(s).iter().for_each(|row| f(out, Came::Lacking(why), 1, &row.name));
            continue;
        };
        for (row, cell) in cells.iter().enumerate() {
            let (came, plain) = *known
                .entry((cell.content, cell.state.usable()))
                .or_insert_with(|| came(run, i, cell, &|| engine.content(at, s, row, *cell)));
            let name = &root.rows(s)[row].name;
            if plain && !plain_atomics.contains(&**name) {
                plain_atomics.insert(name.to_string());
            }
            f(out, came, 1, name);
        }
    }
}

/// The result of an item, by its cell and the content of the cell, and whether its source has plain
/// accesses to atomic objects.
fn came(run: &Ran, i: usize, cell: &Cell, content: &Content) -> (Came, bool) {
    let read = read(run, i, cell, content);
    read.unwrap_or_else(|failure| (Came::Failed(failure.kind), false))
}

/// Reads the content of a cell.
type Content<'c> = dyn Fn() -> Result<Vec<u8>, Failure> + 'c;

fn read(run: &Ran, i: usize, cell: &Cell, content: &Content) -> Result<(Came, bool), Failure> {
    let kind = &run.plan.nodes[i].kind;
    if !cell.state.usable() {
        let failure = Failure::decode(&content()?).map_or(FailureKind::Item, |f| f.kind);
        let came = match (failure, kind) {
            // Equal code was compared before anything was simulated.
            (FailureKind::LeftOut, Kind::Diff(_)) => Came::Judged,
            (FailureKind::LeftOut, _) => Came::NotAsked,
            (failure, _) => Came::Failed(failure),
        };
        return Ok((came, false));
    }
    let bounded = |cut: bool| if cut { Came::Bounded } else { Came::Judged };
    Ok(match kind {
        Kind::Compare(_) if !run.engine.graph.nodes[run.built.node_of[i]].joined.is_empty() => {
            let mixed = Mixed::decode(&content()?)?;
            let came = match &mixed {
                mixed if mixed.undefined => Came::Undefined,
                mixed if mixed.tests == 0 => Came::Lacking("has no mixes"),
                mixed if mixed.unknown > 0 => Came::Lacking("some mixes have no outcomes"),
                _ => Came::Judged,
            };
            (came, mixed.plain_atomics)
        }
        Kind::Compare(_) => {
            let known = &mut run.verdicts.borrow_mut();
            let verdict = decoded(known, cell.content, || Compared::decode(&content()?))?;
            let came = if verdict.undefined { Came::Undefined } else { bounded(verdict.cut) };
            (came, verdict.plain_atomics)
        }
        Kind::Layout(_) => {
            let groups: Vec<Group> = serde_json::from_slice(&content()?).unwrap_or_default();
            // A type that fewer than two targets have leaves nothing to compare.
            let came = match groups.iter().map(|g| g.profiles.len()).sum::<usize>() {
                0 | 1 => Came::NotAsked,
                _ => Came::Judged,
            };
            (came, false)
        }
        Kind::Run(_) => {
            let came = match serde_json::from_slice::<Record>(&content()?) {
                Ok(record) if record.left_out.is_some() => Came::NotAsked,
                Ok(record) if record.crash.is_some() => Came::Judged,
                Ok(record) if record.cells.iter().all(|c| c.instances() == 0) => {
                    Came::Lacking("no instance ran")
                }
                Ok(_) => Came::Judged,
                Err(_) => Came::Failed(FailureKind::Item),
            };
            (came, false)
        }
        Kind::Simulate(_) => {
            let allowed = Allowed::decode(&content()?)?;
            (bounded(allowed.cut), allowed.plain_atomics)
        }
        // What is made when it is read may fail there.
        _ => content().map(|_| (Came::Judged, false))?,
    })
}
