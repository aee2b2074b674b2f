//! Says what came of comparing functions: as text for people, as data, and as one line to quote.
//!
//! It does not know how functions are compared, and prints nothing.

use std::fmt::Write;

use litmake_base::numbers::grouped;
use litmake_litmus::execution::Execution;
use serde::Serialize;

use super::context::{Bound, Context, Kind, Op, Order};
use super::judge::{Answer, Evidence, Refutation, Report};
use super::observe;
use super::program;
use super::setting::Setting;

/// The state of an answer, one word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The functions are the same code.
    Same,
    /// No context within the bound tells them apart.
    Holds,
    /// A context tells them apart.
    Refuted,
    /// Something is not understood, or was not judged.
    NotUnderstood,
    /// They cannot be compared.
    BadInput,
}

impl Answer {
    /// The answer in one word.
    pub fn word(&self) -> Word {
        match self {
            Answer::Same => Word::Same,
            Answer::Holds => Word::Holds,
            Answer::Refuted(_) => Word::Refuted,
            Answer::NotUnderstood(_) | Answer::NotJudged(..) => Word::NotUnderstood,
            Answer::Different(_) => Word::BadInput,
        }
    }

    /// The exit status of a command with this answer.
    pub fn status(&self) -> u8 {
        match self.word() {
            Word::Same | Word::Holds => 0,
            Word::Refuted => 1,
            Word::BadInput => 2,
            Word::NotUnderstood => 3,
        }
    }
}

/// The exit status of several answers: a refutation goes before wrong input, and that before what is not understood.
pub fn status(reports: &[Report]) -> u8 {
    let all = reports.iter().map(|r| r.answer.status());
    all.min_by_key(|s| [3, 0, 1, 2][usize::from(*s)]).unwrap_or(2)
}

fn plural(n: usize, one: &str) -> String {
    let ending = match (n, one.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {one}{ending}", grouped(n as u64))
}

fn bound(bound: &Bound) -> String {
    // The function's own thread is one more.
    let threads = plural(bound.threads + 1, "thread");
    match bound.accesses {
        0 => "without accesses of their own".into(),
        n => format!("up to {threads} and {} of their own", plural(n, "access")),
    }
}

/// The answer about one pair, in lines.
pub fn text(report: &Report) -> String {
    let mut out = format!("{}: ", report.name);
    let under = format!("under {}", report.model);
    let _ = match &report.answer {
        Answer::Same => writeln!(out, "holds: both are the same code"),
        Answer::Holds => writeln!(out, "holds {under} for {}", held(report)),
        Answer::NotUnderstood(what) => writeln!(out, "not understood: {what}"),
        Answer::NotJudged(count, why) => {
            let contexts = plural(*count, "context");
            writeln!(out, "no answer: {contexts} not judged, the first because: {why}")
        }
        Answer::Different(why) => writeln!(out, "not comparable: {why}"),
        Answer::Refuted(refutation) => {
            let _ = writeln!(out, "REFUTED {under}, after {}", plural(report.judged, "context"));
            out.push_str(&refuted(refutation));
            Ok(())
        }
    };
    out
}

/// The contexts for which a change holds.
fn held(report: &Report) -> String {
    let Some(limit) = &report.bound else { return "no context".into() };
    let mut out = format!("all {} {}", plural(report.judged, "context"), bound(limit));
    let mut but = Vec::new();
    if report.excused > 0 {
        but.push(format!(
            "in {} of them the code before has a race or undefined behaviour, which excuses all",
            report.excused
        ));
    }
    if report.endless > 0 {
        but.push(format!("in {} it does not end", report.endless));
    }
    if let Some(turns) = report.turns {
        but.push(format!("a loop's body runs at most {}", plural(turns as usize, "time")));
    }
    if report.no_result {
        but.push("what the functions return is not compared, since nothing says what it is".into());
    }
    if !but.is_empty() {
        let _ = write!(out, " ({})", but.join("; "));
    }
    out
}

/// A refutation, in lines.
fn refuted(r: &Refutation) -> String {
    let mut out = String::new();
    let initially: Vec<String> = r
        .source
        .init
        .iter()
        .filter(|i| r.setting.locations.iter().any(|l| i.place.to_string() == l.name))
        .filter_map(program::shown)
        .collect();
    if !initially.is_empty() {
        let _ = writeln!(out, "  initially  {}", initially.join(", "));
    }
    for (thread, line) in threads(&r.context, &r.setting, &r.arguments).iter().enumerate() {
        let _ = writeln!(out, "  P{thread}         {line}");
    }
    match &r.evidence {
        Evidence::Outcome { state, undef, forbidden, shown } => {
            let parts: Vec<String> =
                state.iter().filter_map(|(l, v)| observed(r, l, v, *undef)).collect();
            let _ = writeln!(out, "  outcome    {}", parts.join(", "));
            match (undef, forbidden) {
                (Some(_), _) => {
                    let _ = writeln!(
                        out,
                        "  @{} has it: a read is in a race with a write that is not atomic, and gives undef.\n  \
                         @{} has no such race.",
                        r.target.name, r.source.name
                    );
                }
                (None, Some(one)) => {
                    let _ = writeln!(out, "  @{} cannot have it:", r.source.name);
                    out.push_str(&why(one));
                }
                (None, None) => {
                    let _ = writeln!(
                        out,
                        "  @{} cannot have it: no execution of its code shows it, whatever the model.",
                        r.source.name
                    );
                }
            }
            if let Some(one) = shown {
                let _ = writeln!(out, "  @{} has it:", r.target.name);
                out.push_str(&events(one));
            }
        }
        Evidence::Undefined(execution) => {
            let _ = writeln!(
                out,
                "  @{} has undefined behaviour there, and @{} has not:",
                r.target.name, r.source.name
            );
            if let Some(one) = execution {
                out.push_str(&why(one));
            }
        }
    }
    out
}

/// A part of an outcome for people, where it says something.
fn observed(r: &Refutation, label: &str, value: &str, undef: Option<u64>) -> Option<String> {
    let bare = litmake_litmus::bare(label);
    let value = match undef {
        Some(undef) if value == undef.to_string() => "undef".to_string(),
        _ => value.to_string(),
    };
    if bare == observe::RECORD || bare == observe::RECORDED {
        let words =
            if bare == observe::RECORD { "calls and volatile accesses" } else { return None };
        return Some(format!("{words} = {value}"));
    }
    if let Some((thread, name)) = bare.split_once(':') {
        return Some(format!("P{thread}:{} = {value}", name.trim_start_matches('%')));
    }
    let name = match bare.strip_prefix("returned_") {
        Some("0") if r.source.init.iter().all(|i| i.place.to_string() != "returned_1") => {
            "the result".to_string()
        }
        Some(n) => format!("result {n}"),
        None => bare.strip_prefix("seen_").map_or(bare.to_string(), |n| {
            match n.strip_prefix("within_") {
                Some(n) => format!("P0:w{n}"),
                None => format!("P0:s{n}"),
            }
        }),
    };
    Some(format!("{name} = {value}"))
}

/// The threads of a context, each in a line.
fn threads(context: &Context, setting: &Setting, arguments: &[String]) -> Vec<String> {
    let mut own: Vec<String> = Vec::new();
    let mut seen = 0;
    let mut named = |op: &Op, own: &mut Vec<String>| {
        own.push(written(op, setting, &format!("s{seen}")));
        seen += usize::from(!op.kind.writes());
    };
    let around = &context.around;
    around.before.iter().for_each(|op| named(op, &mut own));
    let within: Vec<String> = around
        .during
        .iter()
        .enumerate()
        .map(|(n, op)| written(op, setting, &format!("w{n}")))
        .collect();
    let within = match within.is_empty() {
        true => String::new(),
        false => format!(", and each call in it runs {}", within.join("; ")),
    };
    own.push(format!("the function({}){within}", arguments.join(", ")));
    around.after.iter().for_each(|op| named(op, &mut own));
    let mut out = vec![own.join("; ")];
    for ops in &context.others {
        let mut reads = 0;
        let each = ops.iter().map(|op| {
            let text = written(op, setting, &format!("r{reads}"));
            reads += usize::from(!op.kind.writes());
            text
        });
        out.push(each.collect::<Vec<_>>().join("; "));
    }
    out
}

/// An access of a context: `r0 = x (seq_cst)`.
fn written(op: &Op, setting: &Setting, name: &str) -> String {
    let spot = &setting.spots[op.spot];
    let place = match spot.off {
        0 => setting.locations[spot.location].name.clone(),
        off => format!("{}+{off}", setting.locations[spot.location].name),
    };
    let order = match op.order {
        Order::Plain => "plain",
        Order::Relaxed => "monotonic",
        Order::Fenced if op.kind.writes() => "monotonic, then a release fence",
        Order::Fenced => "monotonic, after an acquire fence",
        Order::Strong => "seq_cst",
    };
    match op.kind {
        Kind::Read => format!("{name} = {place} ({order})"),
        Kind::Await => format!("{name} = {place} ({order}), waiting for a change"),
        Kind::Write(value) => format!("{place} = {value} ({order})"),
        Kind::Add(value) => format!("{name} = {place} += {value} ({order})"),
    }
}

/// The events of an execution, and where reads read.
fn events(one: &Execution) -> String {
    let mut out = String::new();
    for (e, event) in one.events.iter().enumerate() {
        let Some(thread) = event.thread else { continue };
        let label = format!("{}: {}", Execution::letter(e), event.text);
        let _ = writeln!(out, "    {label:<26} P{thread} `{}`", event.instruction);
    }
    for (name, pairs) in [("reads from", &one.rf), ("comes before", &one.co)] {
        let named = |e: usize| match one.events.get(e).map(|event| (event.thread, &event.text)) {
            Some((None, text)) => format!("the initial {text}"),
            _ => Execution::letter(e),
        };
        for (a, b) in pairs {
            let _ = match name {
                "reads from" => writeln!(out, "      {} {name} {}", named(*b), named(*a)),
                _ if one.events.get(*a).is_some_and(|e| e.thread.is_none()) => Ok(()),
                _ => writeln!(out, "      {} {name} {}", named(*a), named(*b)),
            };
        }
    }
    out
}

/// The checks that an execution fails, with their cycles.
fn why(one: &Execution) -> String {
    let mut out = String::new();
    let event = |e: usize| match one.events.get(e) {
        Some(event) => format!("{}: {}", Execution::letter(e), event.text),
        None => Execution::letter(e),
    };
    for failure in &one.failures {
        let what = if failure.is_cycle { "forbids the cycle" } else { "says" };
        let _ = writeln!(out, "    `{}` ({}) {what}", failure.name, failure.place);
        for chain in &failure.chains {
            let Some(first) = chain.first() else { continue };
            let _ = writeln!(out, "      {}", event(first.from));
            for edge in chain {
                let _ = writeln!(out, "        -{}-> {}", edge.label, event(edge.to));
            }
        }
        if failure.chains.is_empty() {
            failure.events.iter().for_each(|e| {
                let _ = writeln!(out, "      {}", event(*e));
            });
        }
    }
    out
}

/// An answer as data.
#[derive(Serialize)]
pub struct Data {
    name: String,
    model: String,
    verdict: Word,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    contexts: usize,
    excused: usize,
    endless: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Limits>,
    /// That what the functions return is not compared, since nothing says what it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    without_results: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Counterexample>,
    seconds: f64,
}

#[derive(Serialize)]
struct Limits {
    threads: usize,
    accesses: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u32>,
}

#[derive(Serialize)]
struct Counterexample {
    arguments: Vec<String>,
    initially: Vec<String>,
    threads: Vec<String>,
    outcome: Vec<(String, String)>,
    undef: bool,
    undefined: bool,
    /// The checks of the model that forbid the outcome before the change.
    forbidden_by: Vec<String>,
    /// The tests, for `litmake sim`.
    source: String,
    target: String,
}

/// The answer as data.
pub fn data(report: &Report) -> Data {
    let reason = match &report.answer {
        Answer::NotUnderstood(why) | Answer::NotJudged(_, why) | Answer::Different(why) => {
            Some(why.clone())
        }
        _ => None,
    };
    let counterexample = match &report.answer {
        Answer::Refuted(r) => Some(counterexample(r)),
        _ => None,
    };
    let limits =
        |b: Bound| Limits { threads: b.threads + 1, accesses: b.accesses, turns: report.turns };
    Data {
        name: report.name.clone(),
        model: report.model.clone(),
        verdict: report.answer.word(),
        reason,
        contexts: report.judged,
        excused: report.excused,
        endless: report.endless,
        bound: report.bound.map(limits),
        without_results: report.no_result,
        counterexample,
        seconds: report.time.as_secs_f64(),
    }
}

fn counterexample(r: &Refutation) -> Counterexample {
    let own = |name: &str| r.setting.locations.iter().any(|l| l.name == name);
    let initially = r.source.init.iter().filter(|i| own(&i.place.to_string()));
    let (outcome, undef, checks) = match &r.evidence {
        Evidence::Outcome { state, undef, forbidden, .. } => {
            let pair = |(l, v): &(_, _)| -> (String, String) {
                let (l, v): (&compact_str::CompactString, &compact_str::CompactString) = (l, v);
                (litmake_litmus::bare(l).to_string(), v.to_string())
            };
            let checks = forbidden.iter().flat_map(|e| &e.failures).map(|f| f.name.clone());
            (state.iter().map(pair).collect(), undef.is_some(), checks.collect())
        }
        Evidence::Undefined(_) => (Vec::new(), false, Vec::new()),
    };
    Counterexample {
        arguments: r.arguments.clone(),
        initially: initially.filter_map(program::shown).collect(),
        threads: threads(&r.context, &r.setting, &r.arguments),
        outcome,
        undef,
        undefined: matches!(r.evidence, Evidence::Undefined(_)),
        forbidden_by: checks,
        source: litmake_litmus::write(&r.source),
        target: litmake_litmus::write(&r.target),
    }
}

/// One line that says what came of all pairs, to quote.
pub fn line(version: &str, model: &str, reports: &[Report]) -> String {
    let count = |word: Word| reports.iter().filter(|r| r.answer.word() == word).count();
    let mut parts = Vec::new();
    let refuted = count(Word::Refuted);
    if refuted > 0 {
        parts.push(format!("{refuted} refuted"));
    }
    let holding: Vec<&Report> =
        reports.iter().filter(|r| matches!(r.answer, Answer::Holds)).collect();
    if let Some(least) = holding.iter().filter_map(|r| r.bound).min_by_key(|b| b.accesses) {
        let contexts: usize = holding.iter().map(|r| r.judged).sum();
        let verb = if holding.len() == 1 { "holds" } else { "hold" };
        let all = plural(contexts, "context");
        let but = if holding.iter().any(|r| r.no_result) { ", without results" } else { "" };
        parts.push(format!("{} {verb} for all {all} {}{but}", holding.len(), bound(&least)));
    }
    for (word, words) in [
        (Word::Same, "unchanged"),
        (Word::NotUnderstood, "not understood"),
        (Word::BadInput, "not comparable"),
    ] {
        match count(word) {
            0 => {}
            n => parts.push(format!("{n} {words}")),
        }
    }
    format!("litmake {version} tv {model}: {}: {}", plural(reports.len(), "pair"), parts.join(", "))
}
