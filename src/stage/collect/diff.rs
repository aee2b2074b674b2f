//! Reports the results of `diff`: the tests that changed, with the code of a few.

use std::collections::BTreeSet;

use super::super::changed::differ;
use super::super::diff::Change;
use super::super::items::read_test;
use super::{Decoded, Ran, Reported, each_row};
use litmake_engine::rows::Cell;
use litmake_litmus::c::print_function;
use litmake_litmus::{Body, Test};
use litmake_mix::mend::is_barrier;
use litmake_mix::pieces::operation;
use litmake_pipeline::kinds::{Diff, Kind};
use litmake_report::evidence::{Changed, Changes, Moved, Thread, Threads};
use litmake_report::{Finding, Report};

impl Reported for Diff {
    fn whole(&self, run: &Ran, i: usize, report: &mut Report) -> Vec<Finding> {
        report.changes.push(changes(run, i));
        Vec::new()
    }
}

/// The number of changed tests whose code the report shows.
const CODE_SHOWN: usize = 10;

/// The results of a `diff` stage.
fn changes(run: &Ran, i: usize) -> Changes {
    let node = &run.plan.nodes[i];
    let name = |input: usize| {
        let of = &run.plan.nodes[node.inputs[input]];
        of.profile.as_ref().map_or(of.label.clone(), |p| p.name.clone())
    };
    let mut out = Changes {
        stage: node.label.clone(),
        before: name(0),
        after: name(1),
        threads: threads(run, i),
        ..Changes::default()
    };
    let known = &mut Decoded::default();
    each_row(run.engine, run.built.node_of[i], known, Change::decode, |test, change| {
        out.compared += 1;
        out.code += u64::from(change.code);
        out.gained += u64::from(!change.gained.is_empty());
        out.lost += u64::from(!change.lost.is_empty());
        out.outcomes += u64::from(!change.gained.is_empty() || !change.lost.is_empty());
        if *change != Change::default() {
            out.tests.push(Changed {
                test: test.to_string(),
                code: change.code,
                gained: change.gained.clone(),
                lost: change.lost.clone(),
                ..Changed::default()
            });
        }
    });
    // Tests that were left out because their code is the same were compared, too.
    if let Some(all) = left_out(run, i) {
        out.compared += all;
    }
    // Code is shown for a few tests; those whose outcomes changed come first.
    let mut first: Vec<usize> = (0..out.tests.len()).collect();
    first.sort_by_key(|n| !out.tests[*n].moved());
    for n in first.into_iter().take(CODE_SHOWN) {
        let text = |input: usize| run.simulated(i, input, &out.tests[n].test);
        let (before, after) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
        out.tests[n].code_before = before;
        out.tests[n].code_after = after;
    }
    out
}

/// How many tests were not simulated because both compilers make the same code of them.
fn left_out(run: &Ran, i: usize) -> Option<u64> {
    let outcomes = &run.plan.nodes[*run.plan.nodes[i].inputs.first()?];
    let changed = *outcomes.inputs.first()?;
    matches!(run.plan.nodes[changed].kind, Kind::Changed(_)).then_some(())?;
    let summary = run.engine.summary(run.built.node_of[changed]);
    Some(summary.failed)
}

/// The node of the graph with the code behind an input of a diff: of threads if they were compiled
/// separately, otherwise of tests.
fn code(run: &Ran, i: usize, input: usize) -> Option<usize> {
    let mut at = run.plan.nodes[i].inputs[input];
    while !matches!(run.plan.nodes[at].kind, Kind::Compile(_)) {
        at = *run.plan.nodes[at].inputs.first()?;
    }
    let node = run.built.node_of[at];
    Some(run.engine.graph.nodes[node].joined.first().copied().unwrap_or(node))
}

/// The counts of changed code, by thread.
fn threads(run: &Ran, i: usize) -> Option<Threads> {
    let (before, after) = (code(run, i, 0)?, code(run, i, 1)?);
    let engine = run.engine;
    let of = engine.graph.root(before);
    if of != engine.graph.root(after) {
        return None;
    }
    let mut each = Vec::new();
    for s in 0..engine.root_table(of)?.shards() {
        let cells = |node: usize| engine.cells(node, s).ok();
        let (sources, old, new) = (cells(of)?, cells(before)?, cells(after)?);
        let content = |node: usize, row: usize, cell: Cell| engine.content(node, s, row, cell).ok();
        for (row, (source, (a, b))) in sources.iter().zip(old.iter().zip(&new)).enumerate() {
            if !a.state.usable() || !b.state.usable() {
                continue;
            }
            let operations = content(of, row, *source).map(|text| operations(&text));
            let mut thread = Thread {
                mark: source.content.short(),
                operations: operations.unwrap_or_default().into_iter().collect(),
                changed: None,
            };
            if a.content != b.content
                && let (Some(a), Some(b)) = (content(before, row, *a), content(after, row, *b))
                && differ(&a, &b).unwrap_or(true)
            {
                let (a, b) = (counts(&a), counts(&b));
                let moved = |before, after| Moved { before, after };
                thread.changed = Some([moved(a.0, b.0), moved(a.1, b.1)]);
            }
            each.push(thread);
        }
    }
    let mut out = Threads::of(&each);
    if engine.options.part.is_some_and(|(_, n)| n > 1) {
        each.sort_by(|a, b| a.mark.cmp(&b.mark));
        out.each = each;
    }
    Some(out)
}

/// The operations of a C test, each once; `plain accesses` if it has no others.
fn operations(text: &[u8]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for body in read_test(text).iter().flat_map(|test| &test.threads) {
        let Body::C(f) = body else { continue };
        // The first line has the parameters, and each statement is on a line of its own.
        out.extend(print_function(f).lines().skip(1).filter_map(|line| operation(f, line)));
    }
    match out.is_empty() {
        true => BTreeSet::from(["plain accesses".to_string()]),
        false => out,
    }
}

/// The numbers of instructions and barriers in a lifted test.
fn counts(code: &[u8]) -> (u64, u64) {
    let Ok(test) = read_test(code) else { return (0, 0) };
    let lines = |test: &Test| -> Vec<String> {
        let asm = |body: &Body| match body {
            Body::Asm(lines) => lines.iter().map(|l| l.text.clone()).collect(),
            Body::C(_) => Vec::new(),
        };
        test.threads.iter().flat_map(asm).filter(|text| !text.trim().is_empty()).collect()
    };
    let lines = lines(&test);
    let barriers = lines.iter().filter(|l| is_barrier(test.arch, l)).count();
    (lines.len() as u64, barriers as u64)
}
