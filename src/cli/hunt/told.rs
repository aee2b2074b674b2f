//! Tells what a hunt found and covered, for people and for programs.
//!
//! It does not know how tests are drawn or compared.

use std::collections::BTreeMap;
use std::fmt::Write;

use litmake::hunt::cover::Cover;
use litmake::hunt::questions::QUESTIONS;
use litmake::hunt::{Arm, Hunt};
use litmake::report::Report;
use litmake::report::terminal::Style;
use serde::Serialize;

use super::super::{common, output, run};
use super::{Kept, Tally};

/// The report and the counts of the hunt, for programs.
#[derive(Serialize)]
struct Told<'a> {
    hunt: Counts<'a>,
    report: &'a Report,
}

#[derive(Serialize)]
struct Counts<'a> {
    seed: u64,
    rounds: u64,
    tests: u64,
    unjudged: u64,
    tally: &'a Tally,
    sequences: BTreeMap<&'a str, usize>,
    novelty: Vec<f64>,
    sources: &'a [Arm],
    cover: &'a Cover,
    questions: Vec<Asked<'a>>,
}

/// A question that passes have to ask, and how many tests show where one is not.
#[derive(Serialize)]
struct Asked<'a> {
    question: &'a str,
    passes: &'a [&'a str],
    tests: u64,
}

/// The report as JSON, with the counts of the hunt.
pub fn json(kept: &Kept, report: &Report) -> String {
    let Hunt { seed, rounds, tests, arms, cover, asked_of_passes, .. } = &kept.hunt;
    let questions = QUESTIONS.iter().zip(asked_of_passes);
    let hunt = Counts {
        seed: *seed,
        rounds: *rounds,
        tests: *tests,
        unjudged: kept.hunt.unjudged(),
        tally: &kept.tally,
        sequences: kept.hunt.by_arch().collect(),
        novelty: kept.hunt.rates(),
        sources: arms,
        cover,
        questions: questions
            .map(|(q, tests)| Asked { question: q.name, passes: q.passes, tests: *tests })
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&Told { hunt, report }).unwrap_or_default();
    text.push('\n');
    text
}

/// Prints the findings, and the counts of the hunt.
pub fn say(kept: &Kept, report: &Report) {
    let style = Style { color: common::stdout_color(), quiet: true, ..Style::default() };
    let mut shown = report.clone();
    shown.errors.clear();
    run::say_summary(&shown, style);
    output::raw(&litmake::plain::text(&told(kept)));
}

/// The counts of the hunt, as text.
fn told(kept: &Kept) -> String {
    let (hunt, tally) = (&kept.hunt, &kept.tally);
    let mut out = String::new();
    let not: u64 = tally.not_compared.values().sum();
    let known = match tally.known {
        0 => String::new(),
        n => format!(" ({n} tests with nothing new were compiled alone)"),
    };
    let whys: Vec<String> =
        tally.not_compared.iter().map(|(why, n)| format!("{n} {why}")).collect();
    let _ = writeln!(
        out,
        "\nhunted {:.0} s: {} rounds, {} tests on {} profiles, {} comparisons{known}; {not} not compared{}",
        tally.seconds,
        hunt.rounds,
        hunt.tests,
        kept.profiles.len(),
        tally.compared,
        if whys.is_empty() { String::new() } else { format!(" ({})", whys.join(", ")) },
    );
    out.push_str(&tally.reasons.told());
    let by_arch: Vec<String> = hunt.by_arch().map(|(arch, n)| format!("{arch} {n}")).collect();
    let _ =
        writeln!(out, "sequences of instructions: {} ({})", hunt.sequences(), by_arch.join(", "));
    if hunt.unjudged() > 0 {
        let _ = writeln!(out, "  of which no compared test has: {}", hunt.unjudged());
    }
    if !kept.open.is_empty() {
        let _ = writeln!(out, "open: {} tests with differences to look into", kept.open.len());
    }
    let rates: Vec<String> = hunt.rates().iter().map(|r| format!("{:.0} %", r * 100.0)).collect();
    let _ = writeln!(out, "tests with new code, over the hunt: {}", rates.join(", "));
    let list = |map: &BTreeMap<String, u64>| {
        map.iter().map(|(word, n)| format!("{word} {n}")).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(out, "orders: {}", list(&hunt.cover.orders));
    let _ = writeln!(out, "widths: {}", list(&hunt.cover.widths));
    let _ = writeln!(out, "constructs: {}", list(&hunt.cover.constructs));
    let _ = writeln!(
        out,
        "questions that passes have to ask, with the tests that show where one is not:"
    );
    for (question, tests) in QUESTIONS.iter().zip(&hunt.asked_of_passes) {
        let _ = writeln!(out, "  {} ({}): {tests}", question.name, question.passes.join(", "));
    }
    let _ = writeln!(out, "sources, with how many of their tests were new:");
    for arm in &hunt.arms {
        let left = if arm.is_left() { ", left" } else { "" };
        let _ = writeln!(out, "  {}: {} of {}{left}", arm.name, arm.novel, arm.drawn);
    }
    for (id, (seconds, tests)) in &tally.first_seen {
        let _ = writeln!(out, "bug {id}: first after {seconds:.0} s and {tests} tests");
    }
    out
}
