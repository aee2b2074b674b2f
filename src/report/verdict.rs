//! The verdict on a run itself: what it judged of what was asked. Every output takes its headline,
//! its colour and its exit status from here.
//!
//! It does not know what is judged, nor how.

use std::collections::BTreeMap;
use std::fmt::Write;

use litmake_base::diag::{Diag, Result};
use litmake_base::failure::{FailureKind, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audited::Audited;
use super::{Report, Status, number};

/// The exit status of a run that did not judge all that was asked.
pub const UNJUDGED: u8 = 3;

/// How much of what was asked was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Everything that was asked was judged. Some sources may be undefined.
    Complete,
    /// Something was judged, and something is missing.
    Partial,
    /// Nothing was judged: all sources are undefined, or nothing could be compared.
    #[default]
    NothingJudged,
}

impl State {
    /// The words in outputs.
    pub fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Partial => "partial",
            State::NothingJudged => "nothing judged",
        }
    }
}

/// How much a run judged of the comparisons that were asked for. A comparison is a test with a profile, or with all
/// mixes of some profiles. `asked` is the sum of `judged`, `undefined` and `not_compared`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// How much was judged.
    pub state: State,
    /// The number of comparisons that were asked for, as far as the run came to know it.
    pub asked: u64,
    /// The number of comparisons with a verdict on the compiled code.
    pub judged: u64,
    /// The number of comparisons whose source has undefined behaviour, so that any code is right.
    pub undefined: u64,
    /// The number of comparisons without a result, by the reason.
    pub not_compared: BTreeMap<String, u64>,
    /// The number of errors in the report.
    pub errors: u64,
    /// The part of the tests that the run took, `I/N`; null if it took all.
    pub shard: Option<String>,
    /// The stages that the run was asked for, if it left others out that judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// The number of judged comparisons in which loops were cut at a bound (`unroll`), so that outcomes
    /// beyond it were not seen.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub bounded: u64,
    /// The number of tests whose sources have plain accesses (`*x`, `*x = 1`) to atomic objects, which
    /// C11 reads as `seq_cst`, as litmake does here, and herd as not atomic.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub plain_atomics: u64,
    /// Other parts that are missing and cannot be counted, such as `part 2 of 2`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Undefined sources, and why each is undefined; only the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_undefined: Vec<Undefined>,
    /// How many more tests are undefined.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub more_undefined: u64,
    /// The part of the cache that its audit covered, if the pipeline asks for one; absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audited>,
    /// The comparisons without a result by stage and kind of failure, for decisions during the run.
    #[serde(skip)]
    pub failed: Vec<Lost>,
}

/// Comparisons that failed in a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    stage: String,
    kind: FailureKind,
    n: u64,
    /// How many of them were judged in other preparations of the test, or are undefined.
    judged: u64,
    undefined: u64,
    bounded: u64,
}

/// A test whose source has undefined behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undefined {
    /// The test.
    pub test: String,
    /// The reason: which two accesses race, or which operation is undefined.
    pub why: String,
}

/// The colour of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Everything that was asked was judged, and nothing new was found.
    Good,
    /// Something is missing.
    Warning,
    /// Something new was found.
    Bad,
}

impl Colour {
    /// The class of elements on pages.
    pub fn class(self) -> &'static str {
        match self {
            Colour::Good => "good",
            Colour::Warning => "warn",
            Colour::Bad => "bad",
        }
    }

    /// The code of terminals.
    pub fn code(self) -> &'static str {
        match self {
            Colour::Good => "32;1",
            Colour::Warning => "33;1",
            Colour::Bad => "31;1",
        }
    }
}

/// The reason for which a comparison has no result.
pub fn reason(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unreadable => "cannot be read",
        FailureKind::Unsupported => "not supported",
        FailureKind::Inexpressible => "not expressible in the language",
        FailureKind::Item => "failed",
        FailureKind::LeftOut => "left out",
        FailureKind::Refused => "refused by a tool",
        FailureKind::Broken(fault) => match fault {
            Fault::Open => "a tool failed",
            Fault::Crashed(_) => "a tool crashed",
            Fault::Hung => "a tool hung",
            Fault::OutOfTime => "out of time",
            Fault::Missing => "a tool, device or model is missing",
            Fault::Output => "a tool wrote what cannot be used",
            Fault::Lost => "the device was lost",
            Fault::Machine => "the machine failed",
            Fault::Own => "litmake failed",
        },
        FailureKind::Stopped => STOPPED,
    }
}

/// The reason of comparisons that a stopped run did not reach.
pub const STOPPED: &str = "stopped";

impl Verdict {
    /// The verdict on so many comparisons, all of which were judged.
    pub fn of_judged(judged: u64) -> Verdict {
        let mut out = Verdict { asked: judged, judged, ..Verdict::default() };
        out.settle();
        out
    }

    /// Adds comparisons without a result.
    pub fn not_compared(&mut self, why: &str, n: u64) {
        if n > 0 {
            self.asked += n;
            *self.not_compared.entry(why.to_string()).or_default() += n;
        }
    }

    /// Adds comparisons that failed in a stage; `otherwise` is what other preparations of their tests
    /// came to.
    pub fn fail(&mut self, stage: &str, kind: FailureKind, n: u64, otherwise: &Verdict) {
        self.not_compared(reason(kind), n);
        let known = self.failed.iter().position(|l| l.stage == stage && l.kind == kind);
        let at = known.unwrap_or_else(|| {
            self.failed.push(Lost { stage: stage.to_string(), kind, ..Lost::default() });
            self.failed.len() - 1
        });
        let lost = &mut self.failed[at];
        lost.n += n;
        lost.judged += otherwise.judged;
        lost.undefined += otherwise.undefined;
        lost.bounded += otherwise.bounded;
    }

    /// Takes back failed comparisons that nobody asked for: what other preparations of the test came
    /// to counts.
    pub fn not_asked(&mut self, of: impl Fn(&str, FailureKind) -> bool) {
        let taken: Vec<Lost> = self.failed.extract_if(.., |l| of(&l.stage, l.kind)).collect();
        for Lost { kind, n, judged, undefined, bounded, .. } in taken {
            self.asked -= n - (judged + undefined);
            self.judged += judged;
            self.undefined += undefined;
            self.bounded += bounded;
            let why = reason(kind);
            if let Some(left) = self.not_compared.get_mut(why) {
                *left -= n;
                if *left == 0 {
                    self.not_compared.remove(why);
                }
            }
        }
    }

    /// Sets the state to what the numbers say.
    pub fn settle(&mut self) {
        let lacks = self.stopped
            || self.errors > 0
            || !self.not_compared.is_empty()
            || !self.missing.is_empty();
        // A part of a run may have no test of its own.
        let has_no_share = self.asked == 0 && self.shard.is_some() && !lacks;
        self.state = match self.judged {
            0 if has_no_share => State::Complete,
            0 => State::NothingJudged,
            _ if lacks => State::Partial,
            _ => State::Complete,
        };
    }

    /// Whether everything that was asked was judged.
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// The exit status, if nothing new was found and nothing failed.
    pub fn status(&self) -> u8 {
        if self.is_complete() { 0 } else { UNJUDGED }
    }

    /// The part of the pipeline that was run, in words: `part 1 of 2`, `stage source`.
    pub fn part(&self) -> Option<String> {
        let shard = self.shard.as_deref().and_then(|shard| shard.split_once('/'));
        let mut out: Vec<String> =
            shard.map(|(i, n)| format!("part {i} of {n}")).into_iter().collect();
        match &self.only[..] {
            [] => {}
            [stage] => out.push(format!("stage {stage}")),
            stages => out.push(format!("stages {}", stages.join(", "))),
        }
        (!out.is_empty()).then(|| out.join(", "))
    }

    /// The headline of an output that found nothing new; `nothing` says so for a complete run.
    pub fn headline(&self, nothing: &str) -> (Colour, String) {
        match (self.state, self.part()) {
            (State::Complete, None) => (Colour::Good, nothing.to_string()),
            (State::Complete, Some(part)) => (Colour::Warning, format!("only {part}: {nothing}")),
            (State::Partial, _) => (Colour::Warning, "partial: not everything was judged".into()),
            (State::NothingJudged, _) => (Colour::Warning, "nothing judged".into()),
        }
    }

    /// The numbers in one line: `partial: 3 of 24 judged; 21 not compared (21 out of time)`.
    pub fn words(&self) -> String {
        let asked = number(self.asked, "comparison");
        let mut out = format!("{}: {} of {asked} judged", self.state.name(), self.judged);
        if self.undefined > 0 {
            let _ = write!(out, ", {} with an undefined source", self.undefined);
        }
        if self.bounded > 0 {
            let _ = write!(out, ", {} within a bound on loops", self.bounded);
        }
        for part in self.lacks() {
            let _ = write!(out, "; {part}");
        }
        if let Some(part) = self.part() {
            let _ = write!(out, "; only {part}");
        }
        out
    }

    /// The comparisons that are missing, the errors and the parts that are missing, in words.
    pub fn lacks(&self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.not_compared.is_empty() {
            let sum: u64 = self.not_compared.values().sum();
            let each: Vec<String> =
                self.not_compared.iter().map(|(why, n)| format!("{n} {why}")).collect();
            out.push(format!("{sum} not compared ({})", each.join(", ")));
        }
        if self.errors > 0 {
            out.push(number(self.errors, "error"));
        }
        if self.stopped {
            out.push("stopped before its end".to_string());
        }
        out.extend(self.missing.iter().map(|what| format!("{what} is missing")));
        out
    }

    /// How sources are read where their readers differ, and why sources are undefined, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.plain_atomics > 0 {
            let has = if self.plain_atomics == 1 { "has" } else { "have" };
            out.push(format!(
                "{} {has} accesses such as `*x = 1` to atomic objects: they are read as C11 has \
                 them, seq_cst; herd reads them as not atomic",
                number(self.plain_atomics, "test")
            ));
        }
        out.extend(self.undefined_lines());
        out.extend(self.audit.map(|audit| format!("audit: {}", audit.words())));
        out
    }

    fn undefined_lines(&self) -> Vec<String> {
        let mut out: Vec<String> = self
            .why_undefined
            .iter()
            .map(|u| format!("{}: the source is undefined: {}", u.test, u.why))
            .collect();
        if self.more_undefined > 0 {
            out.push(format!("... and {}", number(self.more_undefined, "more test")));
        }
        out
    }

    /// Adds the numbers of another verdict, on other tests.
    pub fn add(&mut self, other: &Verdict) {
        self.asked += other.asked;
        self.judged += other.judged;
        self.undefined += other.undefined;
        self.bounded += other.bounded;
        self.plain_atomics += other.plain_atomics;
        for (why, n) in &other.not_compared {
            *self.not_compared.entry(why.clone()).or_default() += n;
        }
        self.more_undefined += other.more_undefined;
        if let Some(audit) = other.audit {
            self.audit.get_or_insert_default().add(audit);
        }
        self.errors += other.errors;
        self.stopped |= other.stopped;
        let more = other.only.iter().filter(|stage| !self.only.contains(stage));
        let more: Vec<String> = more.cloned().collect();
        self.only.extend(more);
        self.missing.extend(other.missing.iter().cloned());
        self.missing.sort();
        self.missing.dedup();
        for why in &other.why_undefined {
            if !self.why_undefined.contains(why) {
                self.why_undefined.push(why.clone());
            }
        }
        self.why_undefined.sort_by(|a, b| a.test.cmp(&b.test));
        self.why_undefined.truncate(UNDEFINED);
        self.settle();
    }

    /// The verdict on a whole run from those on its parts. Parts that are missing are named in it; a
    /// part that is given twice, or of another number of parts, is an error.
    pub fn join(parts: &[&Verdict]) -> Result<Verdict> {
        let mut out = Verdict::default();
        let mut seen: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for part in parts {
            match part.shard.as_deref() {
                None if parts.len() > 1 => {
                    return Err(Diag::new("one of these reports is of a whole run")
                        .help("the reports of `litmake run --shard I/N` are joined, each once"));
                }
                None => {}
                Some(shard) => {
                    for (i, n) in shards(shard)? {
                        let times = seen.entry(n).or_default().entry(i).or_default();
                        *times += 1;
                        if *times > 1 {
                            return Err(Diag::new(format!("part {i} of {n} is given twice"))
                                .help("each part is joined once"));
                        }
                    }
                }
            }
            out.add(part);
        }
        match seen.len() {
            0 => {}
            1 => {
                for (n, given) in seen {
                    // A report that was joined of some parts names those that it lacked.
                    out.missing.retain(|m| !is_part(m));
                    let lacks: Vec<u64> = (1..=n).filter(|i| !given.contains_key(i)).collect();
                    out.missing.extend(lacks.iter().map(|i| format!("part {i} of {n}")));
                    if !lacks.is_empty() {
                        let given: Vec<String> = given.keys().map(u64::to_string).collect();
                        out.shard = Some(format!("{}/{n}", given.join("+")));
                    }
                }
            }
            _ => {
                let all: Vec<String> = seen.keys().map(|n| format!("{n}")).collect();
                return Err(Diag::new(format!(
                    "these reports are of runs in {} parts",
                    all.join(" and in ")
                ))
                .help("the parts of one run are joined"));
            }
        }
        Ok(out)
    }
}

/// The number of undefined sources whose reason is kept.
pub const UNDEFINED: usize = 20;

fn is_part(missing: &str) -> bool {
    missing.starts_with("part ")
}

/// The parts that a `shard` names: `I/N`, or `I+J/N` in a report that was joined of some parts.
fn shards(shard: &str) -> Result<Vec<(u64, u64)>> {
    let read = || {
        let (given, n) = shard.split_once('/')?;
        let n: u64 = n.parse().ok()?;
        let given = given.split('+').map(|i| i.parse().ok().filter(|i| (1..=n).contains(i)));
        given.map(|i: Option<u64>| Some((i?, n))).collect::<Option<Vec<_>>>()
    };
    read().ok_or_else(|| Diag::new(format!("`{shard}` is no part of a run, such as 1/2")))
}

impl Report {
    /// Gives a report that an older litmake wrote a verdict: how much was asked is not known.
    pub fn settle_old(&mut self) {
        let old = Verdict::default();
        if self.verdict != old || self.stages.is_empty() {
            return;
        }
        let compared: u64 = self.differences.iter().map(|d| d.compared).sum();
        let undefined: u64 = self.differences.iter().map(|d| d.undefined).sum();
        self.verdict = Verdict {
            asked: compared,
            judged: compared - undefined.min(compared),
            undefined,
            missing: vec!["the verdict, which an older litmake did not write,".into()],
            ..old
        };
        self.settle();
    }

    /// Makes the verdict from the numbers of the run, its errors, and whether it was stopped. What
    /// adds or drops errors calls it again.
    pub fn settle(&mut self) {
        self.verdict.errors = self.errors.len() as u64;
        self.verdict.stopped |= self.stopped;
        self.stopped = self.verdict.stopped;
        self.verdict.settle();
    }

    /// The headline: its colour, and what it says about new findings, which `finding` names.
    pub fn headline(&self, finding: &str) -> (Colour, String) {
        match (self.count(Status::New), self.unexplored()) {
            (0, 0) => self.verdict.headline("no new findings"),
            (0, n) => {
                let (_, said) = self.verdict.headline("no new findings");
                (Colour::Bad, format!("{said}, not looked into: {n}"))
            }
            (n, _) => (Colour::Bad, number(n as u64, finding)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bugs::Unexplored;
    use crate::evidence::Changes;
    use crate::terminal::{Style, summary};
    use crate::{Compatibility, Error, Finding, Stage};
    use crate::{github, html, judged, junit, sarif, statement};

    fn verdict(judged: u64) -> Verdict {
        Verdict::of_judged(judged)
    }

    /// A report of a run with this verdict, which found nothing new.
    fn report(verdict: Verdict) -> Report {
        let mut out = Report {
            pipeline: "p".into(),
            stopped: verdict.stopped,
            stages: vec![Stage { name: "s".into(), tasks: 3, ..Stage::default() }],
            errors: vec![Error { test: "t".into(), ..Error::default() }; verdict.errors as usize],
            compatibility: vec![Compatibility {
                tests: verdict.judged,
                ..Compatibility::default()
            }],
            changes: vec![Changes::default()],
            verdict,
            ..Report::default()
        };
        out.settle();
        out
    }

    /// Every output of a report, by name.
    fn outputs(report: &Report) -> Vec<(&'static str, String)> {
        vec![
            ("terminal", summary(report, Style::default())),
            ("quiet terminal", summary(report, Style { quiet: true, ..Style::default() })),
            ("json", report.json()),
            ("html", html::html(report)),
            ("junit", junit::junit(report)),
            ("sarif", sarif::sarif(report)),
            ("annotations", github::annotations(report)),
            ("job summary", github::summary(report)),
            ("judgement", judged::text(report, Style::default())),
            ("comment", judged::markdown(report)),
            ("statement", statement::document(report)),
        ]
    }

    /// The ways in which a run judges less than was asked, with words that every output has to say.
    fn ways() -> Vec<(Verdict, &'static str)> {
        let with = |change: &dyn Fn(&mut Verdict)| {
            let mut out = verdict(3);
            change(&mut out);
            out.settle();
            out
        };
        vec![
            (with(&|v| v.stopped = true), "stopped"),
            (with(&|v| v.not_compared("out of time", 2)), "out of time"),
            (with(&|v| v.not_compared(reason(FailureKind::Unreadable), 1)), "cannot be read"),
            (with(&|v| v.errors = 2), "2 errors"),
            (with(&|v| v.missing.push("part 2 of 2".into())), "part 2 of 2"),
            (
                with(&|v| {
                    v.judged = 0;
                    v.undefined = 3;
                }),
                "undefined source",
            ),
            (
                {
                    let mut none = Verdict::default();
                    none.not_compared(reason(FailureKind::Broken(Fault::Missing)), 24);
                    none.settle();
                    none
                },
                "missing",
            ),
            (Verdict::default(), "0 of 0"),
        ]
    }

    #[test]
    fn no_output_is_green_unless_everything_was_judged() {
        for (verdict, words) in ways() {
            let report = report(verdict);
            assert_ne!(report.exit_status(), 0, "{words}");
            assert_ne!(report.judged_status(), 0, "{words}");
            for (name, text) in outputs(&report) {
                let at = format!("{name}, {words}: {text}");
                assert!(text.contains(words) || name == "json", "{at}");
                for green in
                    ["no new findings", "no new bugs", "nothing new", "No profile is wrong"]
                {
                    assert!(!text.contains(green), "{at}");
                }
                match name {
                    "html" => assert!(!text.contains("class=\"good\""), "{at}"),
                    "junit" => assert!(text.contains("<error message=\""), "{at}"),
                    "sarif" => assert!(text.contains("\"executionSuccessful\": false"), "{at}"),
                    "annotations" => assert!(text.starts_with("::warning"), "{at}"),
                    "json" => {
                        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                        assert_ne!(json["verdict"]["state"], "complete", "{at}");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_complete_run_is_green_in_every_output_and_says_how_many_sources_are_undefined() {
        let mut complete = verdict(3);
        (complete.asked, complete.undefined) = (4, 1);
        complete.settle();
        let report = report(complete);
        assert_eq!((report.exit_status(), report.judged_status()), (0, 0));
        for (name, text) in outputs(&report) {
            let told = match name {
                "json" => "\"state\": \"complete\"",
                "statement" => "Every mix was judged",
                _ => "3 of 4 comparisons judged, 1 with an undefined source",
            };
            assert!(text.contains(told), "{name}: {text}");
            match name {
                "html" => assert!(text.contains("class=\"good\">no new findings"), "{text}"),
                "junit" => assert!(!text.contains("<error"), "{text}"),
                "sarif" => assert!(text.contains("\"executionSuccessful\": true"), "{text}"),
                _ => {}
            }
        }
    }

    #[test]
    fn a_part_of_a_run_says_so_and_is_not_green() {
        let report = report(Verdict { shard: Some("1/2".into()), ..verdict(3) });
        // Its job in a matrix has done what it was asked.
        assert_eq!(report.exit_status(), 0);
        for (name, text) in outputs(&report).into_iter().filter(|(name, _)| *name != "json") {
            assert!(text.contains("part 1 of 2"), "{name}: {text}");
            assert!(!text.contains("class=\"good\""), "{name}: {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["verdict"]["shard"], "1/2");
    }

    #[test]
    fn what_was_found_comes_before_what_was_not_judged_and_behind_what_failed() {
        let mut found = report(Verdict { stopped: true, ..verdict(3) });
        assert_eq!(found.exit_status(), UNJUDGED);
        found.findings.push(Finding::default());
        found.settle();
        assert_eq!(found.exit_status(), 1);
        assert_eq!(found.headline("finding"), (Colour::Bad, "1 finding".into()));
        found.errors.push(Error::default());
        assert_eq!(found.exit_status(), 3);
        let mut open = report(verdict(3));
        open.not_looked_into.push(Unexplored { count: 2, ..Unexplored::default() });
        assert_eq!(open.headline("finding").0, Colour::Bad);
        assert_eq!(open.exit_status(), 1);
    }

    #[test]
    fn parts_make_a_whole_and_a_part_that_is_missing_is_named() {
        let part = |shard: &str| Verdict { shard: Some(shard.into()), ..verdict(3) };
        let (one, two) = (part("1/2"), part("2/2"));
        let joined = |parts: &[&Verdict]| {
            Verdict::join(parts).map(|mut v| {
                v.settle();
                v
            })
        };
        assert_eq!(joined(&[&one, &two]).unwrap(), verdict(6));
        let alone = joined(&[&one]).unwrap();
        assert_eq!(
            (alone.state, &alone.missing[..]),
            (State::Partial, &["part 2 of 2".to_string()][..])
        );
        // Some parts, joined, are a part, too.
        let thirds = ["1/3", "2/3", "3/3"].map(part);
        let first = joined(&[&thirds[0], &thirds[2]]).unwrap();
        assert_eq!(first.shard.as_deref(), Some("1+3/3"));
        assert_eq!(joined(&[&first, &thirds[1]]).unwrap(), verdict(9));
        let error = |parts: &[&Verdict]| joined(parts).unwrap_err().to_string();
        assert!(error(&[&one, &one]).contains("part 1 of 2 is given twice"));
        assert!(error(&[&one, &thirds[1]]).contains("in 2 and in 3 parts"));
        assert!(error(&[&one, &verdict(3)]).contains("whole run"));
        assert!(error(&[&part("5/2")]).contains("no part of a run"));
        let stopped = Verdict { stopped: true, ..two.clone() };
        assert_eq!(joined(&[&one, &stopped]).unwrap().state, State::Partial);
    }

    #[test]
    fn what_nobody_asked_for_is_taken_back_and_other_preparations_count() {
        let unsupported = FailureKind::Unsupported;
        let mut out = Verdict::default();
        out.fail("compare-2", unsupported, 2, &verdict(2));
        out.fail("compare-2", FailureKind::Item, 1, &Verdict::default());
        out.fail("compare", unsupported, 1, &Verdict::default());
        assert_eq!((out.asked, out.judged), (4, 0));
        out.not_asked(|stage, kind| stage == "compare-2" && kind == unsupported);
        assert_eq!((out.asked, out.judged), (4, 2));
        let left: Vec<(&str, u64)> = out.not_compared.iter().map(|(k, n)| (&**k, *n)).collect();
        assert_eq!(left, [("failed", 1), ("not supported", 1)]);
    }

    #[test]
    fn a_report_without_a_verdict_is_not_taken_as_complete() {
        let text = report(verdict(3)).json().replacen("\"verdict\"", "\"old\"", 1);
        let mut old: Report = serde_json::from_str(&text).unwrap();
        old.settle_old();
        assert!(!old.verdict.is_complete() && old.exit_status() == UNJUDGED);
        assert!(old.verdict.words().contains("older litmake"), "{}", old.verdict.words());
    }
}
