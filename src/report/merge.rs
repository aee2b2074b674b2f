//! Merges the reports of the parts of one run.
//!
//! It does not know how the run was divided.

use std::collections::BTreeMap;

use super::evidence::{Changes, Differences};
use super::verdict::Verdict;
use super::{Coded, Compatibility, FirstCode, Report, Stage, bugs, coverage};
use litmake_base::diag::{Diag, Result};

/// Merges the reports of `--shard 1/n` to `n/n`. Parts that are missing are named in the verdict.
pub fn merge(parts: Vec<Report>) -> Result<Report> {
    let verdicts: Vec<&Verdict> = parts.iter().map(|part| &part.verdict).collect();
    let verdict = Verdict::join(&verdicts)?;
    let mut out = joined(parts)?;
    out.verdict = verdict;
    if out.verdict.shard.is_none() {
        // The report of a whole run only has the numbers.
        out.stages.iter_mut().for_each(|stage| stage.distinct = None);
        let coded = out.compatibility.iter_mut().flat_map(|c| c.mappings.values_mut().flatten());
        coded.for_each(|coded| coded.first.clear());
        let threads = out.changes.iter_mut().filter_map(|c| c.threads.as_mut());
        threads.for_each(|threads| threads.each.clear());
    }
    out.settle();
    Ok(out)
}

/// Adds the report of more tests, judged with the same compilers.
pub fn add_tests(before: Option<Report>, more: Report) -> Result<Report> {
    let mut verdict = more.verdict.clone();
    verdict.add(&before.as_ref().map(|b| b.verdict.clone()).unwrap_or_default());
    let mut out = joined(before.into_iter().chain([more]).collect())?;
    out.verdict = verdict;
    out.stopped = out.verdict.stopped;
    Ok(out)
}

fn joined(parts: Vec<Report>) -> Result<Report> {
    let mut parts = parts.into_iter();
    let Some(mut out) = parts.next() else {
        return Err(Diag::new("there is no report to merge"));
    };
    for part in parts {
        out.stopped |= part.stopped;
        if part.pipeline != out.pipeline || part.litmake != out.litmake {
            return Err(Diag::new(format!(
                "these reports are of different runs: `{}` by {} and `{}` by {}",
                out.pipeline, out.litmake, part.pipeline, part.litmake
            )));
        }
        for stage in part.stages {
            match out.stages.iter_mut().find(|s| s.name == stage.name) {
                Some(sum) => add(sum, &stage),
                None => out.stages.push(stage),
            }
        }
        for compiler in part.compilers {
            if !out.compilers.contains(&compiler) {
                out.compilers.push(compiler);
            }
        }
        out.coverage = coverage::join([out.coverage.take(), part.coverage]);
        for part in part.differences {
            match out.differences.iter_mut().find(|d| d.stage == part.stage) {
                Some(sum) => sum.add(&part),
                None => out.differences.push(part),
            }
        }
        for part in part.changes {
            match out.changes.iter_mut().find(|c| c.stage == part.stage) {
                Some(sum) => sum.add(part),
                None => out.changes.push(part),
            }
        }
        let limit = out.kept_occurrences;
        for finding in part.findings {
            match out.findings.iter_mut().find(|f| f.id == finding.id) {
                Some(old) => *old = bugs::join(std::mem::take(old), finding, limit),
                None => out.findings.push(finding),
            }
        }
        for rest in part.not_looked_into {
            bugs::join_rest(&mut out.not_looked_into, rest, limit);
        }
        for mixes in part.mixes {
            if !out.mixes.contains(&mixes) {
                out.mixes.push(mixes);
            }
        }
        for one in part.compatibility {
            let same = |c: &&mut Compatibility| c.stage == one.stage && c.profiles == one.profiles;
            match out.compatibility.iter_mut().find(same) {
                Some(sum) => both(sum, one),
                None => out.compatibility.push(one),
            }
        }
        for error in part.errors {
            if !out.errors.contains(&error) {
                out.errors.push(error);
            }
        }
    }
    sort(&mut out);
    Ok(out)
}

/// The reason for which a list of distinct items leaves some out, as `generate` has it.
pub const REPEATED: &str = "the same test as another";

fn add(sum: &mut Stage, part: &Stage) {
    // Each part makes the whole list before it takes its share, so that each part has the full
    // counts.
    if part.kind != "generate" {
        sum.considered += part.considered;
        for (why, n) in &part.dropped {
            *sum.dropped.entry(why.clone()).or_default() += n;
        }
    }
    let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    sum.tasks += part.tasks;
    sum.failed += part.failed;
    sum.skipped += part.skipped;
    if let (Some(own), Some(other)) = (&mut sum.distinct, &part.distinct) {
        own.tasks = own.tasks.union(&other.tasks);
        own.failed = own.failed.union(&other.failed);
        (sum.tasks, sum.failed) = (own.tasks.len(), own.failed.len());
        if let Some(repeated) = sum.dropped.get_mut(REPEATED) {
            *repeated = sum.considered.saturating_sub(sum.tasks);
        }
    }
    sum.executed = both(sum.executed, part.executed);
    sum.cached = both(sum.cached, part.cached);
    let either = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
    };
    sum.elsewhere = either(sum.elsewhere, part.elsewhere);
    sum.fetched = either(sum.fetched, part.fetched);
    sum.seconds = sum.seconds.zip(part.seconds).map(|(a, b)| ((a + b) * 1000.0).round() / 1000.0);
}

impl Differences {
    fn add(&mut self, part: &Differences) {
        self.compared += part.compared;
        self.positive += part.positive;
        for (model, n) in &part.positive_under {
            *self.positive_under.entry(model.clone()).or_default() += n;
        }
        self.negative += part.negative;
        self.undefined += part.undefined;
        self.undefined_positive += part.undefined_positive;
        for (flag, n) in &part.undefined_by {
            *self.undefined_by.entry(flag.clone()).or_default() += n;
        }
    }
}

impl Changes {
    fn add(&mut self, part: Changes) {
        self.compared += part.compared;
        self.code += part.code;
        self.outcomes += part.outcomes;
        self.gained += part.gained;
        self.lost += part.lost;
        self.threads = match (self.threads.take(), part.threads) {
            (Some(own), Some(other)) => Some(own.join(other)),
            (own, other) => own.or(other),
        };
        self.tests.extend(part.tests);
        self.tests.sort_by(|a, b| a.test.cmp(&b.test));
        self.gone.extend(part.gone);
        self.gone.sort();
        self.gone.dedup();
    }
}

/// Adds the sums over the tests of another part.
fn both(sum: &mut Compatibility, part: Compatibility) {
    let add = |a: &str, b: &str| {
        let number = |t: &str| t.parse::<u128>().unwrap_or(u128::MAX);
        number(a).saturating_add(number(b)).to_string()
    };
    sum.tests += part.tests;
    sum.mixes += part.mixes;
    sum.assignments = add(&sum.assignments, &part.assignments);
    sum.combinations = add(&sum.combinations, &part.combinations);
    sum.threads = sum.threads.max(part.threads);
    sum.parts = sum.parts.max(part.parts);
    let mut first: BTreeMap<String, FirstCode> = BTreeMap::new();
    for (operation, codes) in std::mem::take(&mut sum.mappings).into_iter().chain(part.mappings) {
        let of = first.entry(operation).or_default();
        for coded in codes {
            for (n, profile) in coded.profiles.iter().enumerate() {
                let Some(at) = sum.profiles.iter().position(|p| p == profile) else { continue };
                let test = coded.first.get(n).cloned().unwrap_or_default();
                if of.get(&at).is_none_or(|(before, _)| test < *before) {
                    of.insert(at, (test, coded.code.clone()));
                }
            }
        }
    }
    let distinct = |(operation, code)| (operation, Coded::distinct(code, &sum.profiles));
    sum.mappings = first.into_iter().map(distinct).collect();
    sum.adds_nothing.retain(|p| part.adds_nothing.contains(p));
    for judged in part.judged {
        if let Some(old) = sum.judged.iter_mut().find(|j| j.profiles == judged.profiles) {
            old.tests += judged.tests;
            old.found += judged.found;
            old.first = match (old.first.take(), judged.first) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
}

/// Sorts a report's lists, so that their order does not depend on the course of the run.
pub fn sort(report: &mut Report) {
    report
        .findings
        .sort_by(|a, b| (&a.test, &a.profiles, &a.id).cmp(&(&b.test, &b.profiles, &b.id)));
    report.compilers.sort_by(|a, b| (&a.profile, &a.build).cmp(&(&b.profile, &b.build)));
    report.mixes.sort_by(|a, b| a.test.cmp(&b.test));
    report
        .errors
        .sort_by(|a, b| (&a.test, &a.stage, &a.message).cmp(&(&b.test, &b.stage, &b.message)));
}
