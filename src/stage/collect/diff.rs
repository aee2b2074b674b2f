//! What the report says of `diff`: which tests changed, with the code of a few.

use super::super::diff::Change;
use super::{Ran, Reported, each_row};
use litmake_pipeline::kinds::Diff;
use litmake_report::evidence::{Changed, Changes};
use litmake_report::{Finding, Report};

impl Reported for Diff {
    fn whole(&self, run: &Ran, i: usize, report: &mut Report) -> Vec<Finding> {
        report.changes.push(changes(run, i));
        Vec::new()
    }
}

/// Of so many changed tests a diff shows the code.
const CODE_SHOWN: usize = 10;

/// What a diff stage came to.
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
        ..Changes::default()
    };
    each_row(run.engine, run.built.node_of[i], Change::decode, |test, change| {
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
    // Code is shown for a few, those whose outcomes changed before others.
    let moved = |t: &Changed| !t.gained.is_empty() || !t.lost.is_empty();
    let mut first: Vec<usize> = (0..out.tests.len()).collect();
    first.sort_by_key(|n| !moved(&out.tests[*n]));
    for n in first.into_iter().take(CODE_SHOWN) {
        let text = |input: usize| run.simulated(i, input, &out.tests[n].test);
        let (before, after) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
        out.tests[n].code_before = before;
        out.tests[n].code_after = after;
    }
    out
}
