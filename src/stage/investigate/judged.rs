//! Says which bugs a change to a compiler adds, and which it fixes.
//!
//! A pipeline that compares two compilers (`diff`), and both with the source, has two comparisons
//! for each of its diffs: before and after. The reduced test of each bug goes through both. A bug
//! that shows only after the change is new, whichever of the two found it first.

use super::Investigator;
use litmake_base::diag::Source;
use litmake_litmus as litmus;
use litmake_pipeline::kinds::Kind;
use litmake_report::evidence::Shows;
use litmake_report::judged::{BugChange, Change};
use litmake_report::{Finding, Report, Status};

/// Whether a bug shows before a change, and after it.
type Pair = (Shows, Shows);

impl Investigator<'_> {
    /// Sets for each bug what the change does to it. A bug that was there before counts as known.
    pub fn judge(&mut self, report: &mut Report) {
        let pairs = self.judged_pairs();
        if pairs.is_empty() {
            return;
        }
        for finding in &mut report.findings {
            if finding.status == Status::Fixed || self.context.stopped() {
                continue;
            }
            let (mut before, mut after, mut shown) = (Vec::new(), Vec::new(), Vec::new());
            for (old, new) in &pairs {
                let pair = (self.shows(finding, *old), self.shows(finding, *new));
                for (shows, compare, list) in
                    [(pair.0, *old, &mut before), (pair.1, *new, &mut after)]
                {
                    if shows == Shows::Present {
                        list.extend(
                            self.plan.nodes[compare].profile.iter().map(|p| p.name.clone()),
                        );
                    }
                }
                shown.push(pair);
            }
            let change = change(&shown);
            match change {
                Change::New | Change::Wider => {}
                Change::Same | Change::Narrower => finding.status = Status::Known,
                Change::Fixed => finding.status = Status::Fixed,
            }
            let id = finding.id.clone();
            report.bug_changes.push(BugChange { id, change, before, after });
        }
    }

    /// The two comparisons of each diff.
    fn judged_pairs(&self) -> Vec<(usize, usize)> {
        let nodes = &self.plan.nodes;
        let of = |outcomes: usize| {
            let is = |n: &litmake_pipeline::plan::Node| {
                matches!(n.kind, Kind::Compare(_)) && n.inputs.get(1) == Some(&outcomes)
            };
            nodes.iter().position(is)
        };
        let diffs = nodes.iter().filter(|n| matches!(n.kind, Kind::Diff(_)));
        diffs.filter_map(|n| Some((of(*n.inputs.first()?)?, of(*n.inputs.get(1)?)?))).collect()
    }

    /// Whether a comparison of the plan shows a bug in its smallest test.
    fn shows(&mut self, finding: &Finding, compare: usize) -> Shows {
        let Some(chain) = self.chain(compare) else { return Shows::Unknown };
        let Some(profile) = self.plan.nodes[chain.compile].profile.clone() else {
            return Shows::Unknown;
        };
        let (text, _, _) = finding.smallest();
        let Ok(test) = litmus::read(&Source::new(finding.test.clone(), text)) else {
            return Shows::Unknown;
        };
        match self.verdicts(&chain, &profile, std::slice::from_ref(&test)).pop() {
            Some(Ok(v)) if v.shows(!finding.outcomes.forbidden.is_empty()) => Shows::Present,
            Some(Ok(_)) => Shows::Absent,
            Some(Err(_)) | None => Shows::Unknown,
        }
    }
}

/// The change of a bug, as all diffs show it.
fn change(shown: &[Pair]) -> Change {
    use Shows::{Absent, Present};
    let any = |f: &dyn Fn(&Pair) -> bool| shown.iter().any(f);
    let before = any(&|(old, _)| *old == Present);
    // If the new compiler cannot be asked, the bug does not count as gone.
    let gone = any(&|(old, new)| *old == Present && *new == Absent);
    let stays = any(&|(old, new)| *old == Present && *new != Absent);
    let comes = any(&|(old, new)| *old != Present && *new == Present);
    match (before, comes) {
        (false, _) => Change::New,
        (true, true) => Change::Wider,
        (true, false) if gone && !stays => Change::Fixed,
        (true, false) if gone => Change::Narrower,
        (true, false) => Change::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_new_where_only_the_new_compiler_shows_it() {
        use Shows::{Absent, Present, Unknown};
        for (shown, expected) in [
            (&[(Absent, Present)][..], Change::New),
            (&[(Unknown, Present)], Change::New),
            // The bug does not show again, so there is no evidence that it was there before.
            (&[(Unknown, Unknown)], Change::New),
            (&[(Present, Absent)], Change::Fixed),
            (&[(Present, Unknown)], Change::Same),
            (&[(Present, Present), (Absent, Absent)], Change::Same),
            (&[(Present, Present), (Present, Absent)], Change::Narrower),
            (&[(Present, Present), (Absent, Present)], Change::Wider),
            (&[(Present, Absent), (Absent, Present)], Change::Wider),
        ] {
            assert_eq!(change(shown), expected, "{shown:?}");
        }
    }
}
