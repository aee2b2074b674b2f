//! Writes a report as one page for a browser: for each bug the test, compiler, outcome, versions
//! that have it, reason and smallest reproducer. The page needs no other file.
//!
//! It does not know how findings were made.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::bugs::profiles_key;
use super::clause;
use super::compilation::Compilation;
use super::evidence::{self, Evidence, presence_lines};
use super::page::{self, Assets, copied, escaped, part, pre};
use super::passes::Culprit;
use super::{
    Compiler, Error, Finding, Outcomes, Report, State, Status, matrix, number, picture, state_text,
    statement, table,
};
use litmake_litmus::execution::{self, Edge, Failure};

/// The number of findings that are open at first; the others open at a click.
const OPEN: usize = 3;
/// Larger sets of outcomes are only in the JSON report.
const STATES: usize = 64;

/// The page.
pub fn html(report: &Report) -> String {
    let mut out = page::begin(&report.pipeline, Assets::Inside, &[], "");
    verdict(report, &mut out);
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    // New findings come first, and among them those that were looked into and have no label.
    findings.sort_by_key(|f| (f.status as u8, f.evidence.is_none(), !f.label.is_empty()));
    overview(&findings, &mut out);
    if !findings.is_empty() {
        out.push_str("<h2>Bugs</h2>\n");
    }
    for (i, f) in findings.iter().filter(|f| f.status != Status::Fixed).enumerate() {
        finding(f, i < OPEN && f.status == Status::New, &mut out);
    }
    errors(report, &mut out);
    stages(report, &mut out);
    let mut text = String::new();
    for c in &report.compatibility {
        matrix::matrix(c, true, &mut text);
    }
    let changes = table::changes(&report.changes, true);
    compilers(&report.compilers, &mut out);
    for (head, text) in [
        ("Differences", table::differences(report)),
        ("Changes", changes),
        ("Compatibility", text),
        ("ABI statement, in Markdown", statement::document(report)),
    ] {
        if !text.is_empty() {
            let _ = writeln!(out, "<h2>{head}</h2>");
            pre(&text, &mut out);
        }
    }
    page::end(Assets::Inside, &report.litmake, &mut out);
    out
}

fn verdict(report: &Report, out: &mut String) {
    let (colour, said) = report.headline("new finding");
    let _ = write!(out, "<p><b class=\"{}\">{}</b>", colour.class(), escaped(&said));
    let others = [(report.count(Status::Known), "known"), (report.count(Status::Fixed), "fixed")];
    for (n, what) in others.into_iter().filter(|(n, _)| *n > 0) {
        let _ = write!(out, ", {n} {what}");
    }
    if !report.errors.is_empty() {
        let _ = write!(out, ", {}", number(report.errors.len() as u64, "error"));
    }
    out.push_str("</p>\n");
    let class = report.verdict.headline("").0.class();
    let _ = writeln!(out, "<p class=\"{class}\">{}</p>", escaped(&report.verdict.words()));
    let notes = report.verdict.notes();
    if !notes.is_empty() {
        let items: Vec<String> = notes.iter().map(|l| format!("<li>{}</li>", escaped(l))).collect();
        let _ = writeln!(out, "<ul class=\"facts\">{}</ul>", items.concat());
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(out, "<p>{}</p>", escaped(&rest.said()));
    }
}

/// A table with a row for each finding.
fn overview(findings: &[&Finding], out: &mut String) {
    if findings.is_empty() {
        return;
    }
    page::table(&["bug", "seen", "what", "where else"], out);
    for f in findings {
        let status = match f.status {
            Status::New => "",
            Status::Known => " (known)",
            Status::Fixed => " (fixed)",
        };
        let name = match f.status {
            Status::Fixed => escaped(&f.id),
            _ => format!("<a href=\"#{0}\">{0}</a>", escaped(&f.id)),
        };
        let wrong = f.wrong().into_iter().next().unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td>{name}{status}</td><td>{}</td><td>{}<br><code>{}</code></td><td>{}</td></tr>",
            escaped(&f.seen()),
            escaped(&f.fault()),
            escaped(&wrong),
            presence_lines(&f.presence).iter().map(|l| escaped(l)).collect::<Vec<_>>().join("<br>"),
        );
    }
    page::end_list(out);
}

fn finding(f: &Finding, open: bool, out: &mut String) {
    let _ = writeln!(
        out,
        "<details id=\"{}\"{}><summary><b>{}</b> ({}, {})</summary>",
        escaped(&f.id),
        if open { " open" } else { "" },
        escaped(&f.fault()),
        escaped(&f.seen()),
        escaped(&f.id)
    );
    body(f, 3, out);
    out.push_str("</details>\n");
}

/// Everything that the report says of a bug: the wrong outcomes, the test and its code, the reason,
/// and the command that shows it again. `level` is the level of its headings.
pub fn body(f: &Finding, level: u8, out: &mut String) {
    let _ = writeln!(out, "<p>{}</p>", escaped(&f.claim()));
    for wrong in f.wrong() {
        let _ = writeln!(out, "<pre class=\"bad\">{}</pre>", escaped(&wrong));
    }
    let mut facts = f.facts();
    if !f.cause.is_empty() {
        facts.insert(0, f.cause.clone());
    }
    facts.extend(presence_lines(&f.presence));
    if !facts.is_empty() {
        let items: Vec<String> = facts.iter().map(|l| format!("<li>{}</li>", escaped(l))).collect();
        let _ = writeln!(out, "<ul class=\"facts\">{}</ul>", items.concat());
    }
    part(level, "Again", &f.command, out);
    let (source, target, outcomes) = f.smallest();
    out.push_str("<div class=\"side\">");
    part(level, if f.reduced.is_some() { "Reduced to" } else { "Source" }, source, out);
    part(level, "What the compiler made of it", target, out);
    out.push_str("</div>\n");
    for c in f.compilations.iter().filter(|c| !c.threads.is_empty()) {
        code(level, c, out);
    }
    sets(f, level, outcomes, out);
    if let Some(e) = &f.evidence {
        why(f, level, e, out);
    }
    if let Some(culprit) = &f.pass {
        pass(level, culprit, out);
    }
    if !f.folder.is_empty() {
        part(level, "Folder", &f.folder, out);
    }
    occurrences(f, out);
    if f.reduced.is_some() && !f.source.is_empty() {
        out.push_str("<details><summary>The whole test</summary>");
        copied("the whole test", &f.source, out);
        copied("its code", &f.target, out);
        out.push_str("</details>");
    }
}

/// The pass to blame, with the code before and after it side by side, and the compiler's own dumps.
fn pass(level: u8, culprit: &Culprit, out: &mut String) {
    let _ = writeln!(out, "<h{level}>{}</h{level}>", escaped(&culprit.head()));
    let mut facts = vec![culprit.why.clone()];
    if !culprit.place.is_empty() {
        facts.push(culprit.place.clone());
    }
    facts.extend(culprit.notes.iter().cloned());
    let items: Vec<String> = facts.iter().map(|l| format!("<li>{}</li>", escaped(l))).collect();
    let _ = writeln!(out, "<ul class=\"facts\">{}</ul>", items.concat());
    out.push_str("<div class=\"side\">");
    part(level, "Before it", &culprit.before, out);
    part(level, "After it", &culprit.after, out);
    out.push_str("</div>\n");
    if !culprit.dump_before.is_empty() && !culprit.dump_after.is_empty() {
        out.push_str("<details><summary>As the compiler prints it</summary>");
        copied("before it", &culprit.dump_before, out);
        copied("after it", &culprit.dump_after, out);
        out.push_str("</details>\n");
    }
}

/// The instructions of a compilation: the source line, the disassembly, and what it became when lifted.
fn code(level: u8, c: &Compilation, out: &mut String) {
    let _ = writeln!(out, "<h{level}>Instructions of {}</h{level}>", escaped(&c.profile));
    if !c.version.is_empty() {
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&c.version));
    }
    page::table(&["thread", "source", "instruction", "lifted"], out);
    for (n, thread) in c.threads.iter().enumerate() {
        let mut last = "";
        for (i, instruction) in thread.iter().enumerate() {
            let name = if i == 0 { format!("P{n}") } else { String::new() };
            let line = if instruction.line == last { "" } else { &instruction.line };
            last = &instruction.line;
            let lifted: Vec<String> = instruction.became.iter().map(|l| escaped(l)).collect();
            let _ = writeln!(
                out,
                "<tr><td>{name}</td><td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td></tr>",
                escaped(line),
                escaped(&instruction.code),
                lifted.join("<br>")
            );
        }
    }
    page::end_list(out);
    if !c.source.is_empty() {
        let _ = write!(out, "<details><summary>{}</summary>", escaped(&c.file));
        copied(&c.file, &c.source, out);
        copied("the command", &c.command, out);
        out.push_str("</details>\n");
    }
}

/// The tests and profiles that show the bug, and the number of tests for each profile.
fn occurrences(f: &Finding, out: &mut String) {
    if f.count < 2 {
        return;
    }
    let _ = write!(out, "<details><summary>{}</summary>", escaped(&f.seen()));
    page::table(&["profile", "tests"], out);
    for (profile, n) in &f.by_profile {
        let _ = writeln!(out, "<tr><td>{}</td><td>{n}</td></tr>", escaped(profile));
    }
    page::end_list(out);
    page::table(&["test", "profile", "forbidden outcome"], out);
    for o in &f.occurrences {
        let state = o.outcomes.forbidden.first().map(state_text).unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escaped(&o.test),
            escaped(&profiles_key(&o.profiles)),
            escaped(&state)
        );
    }
    page::end_list(out);
    let more = f.count.saturating_sub(f.occurrences.len() as u64);
    if more > 0 {
        let _ = write!(out, "<p>and {more} more</p>");
    }
    out.push_str("</details>\n");
}

/// Both outcome sets, side by side.
fn sets(f: &Finding, level: u8, outcomes: &Outcomes, out: &mut String) {
    let all: BTreeSet<&State> = outcomes.source.iter().chain(&outcomes.target).collect();
    if all.is_empty() || all.len() > STATES {
        return;
    }
    let _ = writeln!(out, "<h{level}>Outcomes</h{level}>");
    page::table(&["final state", &f.model_source, &f.model_target, "verdict"], out);
    for state in all {
        let mark = |list: &[State]| if list.contains(state) { "yes" } else { "no" };
        let (class, verdict) = match outcomes.forbidden.contains(state) {
            true => (" class=\"bad\"", "forbidden"),
            false => ("", ""),
        };
        let _ = writeln!(
            out,
            "<tr{class}><td><code>{}</code></td><td>{}</td><td>{}</td><td>{verdict}</td></tr>",
            escaped(&state_text(state)),
            mark(&outcomes.source),
            mark(&outcomes.target)
        );
    }
    page::end_list(out);
}

/// The execution that shows the outcome, and the forbidden execution of the source. Thick edges
/// mark the steps that no interleaving has in the first, and the cycle that forbids the second.
fn why(f: &Finding, level: u8, e: &Evidence, out: &mut String) {
    let mut draw = |head: &str, run: &evidence::Execution| {
        let drawn = drawn(&e.outcome, run);
        let _ = write!(out, "<h{level}>{}</h{level}><figure>", escaped(head));
        out.push_str(&picture::inline(&run.model, std::slice::from_ref(&drawn)));
        let mark = picture::mark(&drawn).map(|said| format!("Thick: {said}. ")).unwrap_or_default();
        let _ = write!(
            out,
            "<figcaption>{}rf: a read and the write that it reads; co: the order of writes; fr: a read \
             before a later write; po: the order of the program.</figcaption></figure>",
            escaped(&mark)
        );
        let lines: Vec<String> =
            picture::words(&drawn).iter().map(|l| format!("<li>{}</li>", escaped(l))).collect();
        let _ = writeln!(
            out,
            "<details><summary>The picture in words</summary><ul>{}</ul></details>",
            lines.concat()
        );
    };
    if let Some(run) = &e.target {
        draw("What the target does", run);
    }
    match &e.source {
        Some(run) => {
            draw("What the source may not do", run);
            for failed in &run.fails {
                forbidden(run, failed, out);
            }
        }
        None if f.outcomes.source.is_empty() => {}
        None => out.push_str("<p>No execution of the source shows it, whatever the model.</p>"),
    }
}

/// The steps of a forbidden execution in words, and the clause that they break.
fn forbidden(run: &evidence::Execution, failed: &evidence::Failed, out: &mut String) {
    let told = clause::argument(run, failed);
    let lines: Vec<String> =
        told.events.iter().chain(&told.steps).map(|l| format!("<li>{}</li>", escaped(l))).collect();
    let _ = writeln!(
        out,
        "<ul class=\"facts\">{}</ul>\n<p>That cannot be: {}.</p>",
        lines.concat(),
        escaped(&told.clause)
    );
}

/// Converts an execution of a report for drawing. Computes program order and from-reads, which
/// reports leave out.
fn drawn(outcome: &State, run: &evidence::Execution) -> execution::Execution {
    let at = |id: &str| run.events.iter().position(|e| e.id == id);
    let known = |list: &[(String, String)]| -> Vec<(usize, usize)> {
        list.iter().filter_map(|(a, b)| Some((at(a)?, at(b)?))).collect()
    };
    let (rf, co) = (known(&run.rf), known(&run.co));
    let mut po = Vec::new();
    for (i, event) in run.events.iter().enumerate().filter(|(_, e)| e.thread.is_some()) {
        let later = run.events.iter().skip(i + 1).position(|e| e.thread == event.thread);
        po.extend(later.map(|n| (i, i + 1 + n)));
    }
    let mut fr = Vec::new();
    for (from, read) in &rf {
        fr.extend(co.iter().filter(|(a, b)| a == from && b != read).map(|(_, b)| (*read, *b)));
    }
    let failures = run.fails.iter().map(|failed| Failure {
        name: failed.check.clone(),
        place: failed.place.clone(),
        chains: vec![
            failed
                .edges
                .iter()
                .filter_map(|e| Some(Edge::new(at(&e.from)?, at(&e.to)?, e.edge.clone())))
                .collect(),
        ],
        events: Vec::new(),
        is_cycle: failed.is_cycle,
        negated: false,
    });
    execution::Execution {
        events: run
            .events
            .iter()
            .map(|e| execution::Event {
                thread: e.thread,
                text: e.event.clone(),
                instruction: e.code.clone(),
                line: e.line,
            })
            .collect(),
        po,
        rf,
        co,
        fr,
        others: Vec::new(),
        failures: failures.collect(),
        state: outcome.iter().map(|(k, v)| (k.into(), v.into())).collect(),
    }
}

fn errors(report: &Report, out: &mut String) {
    if report.errors.is_empty() {
        return;
    }
    out.push_str("<h2>Errors</h2>\n");
    for ((message, stage), errors) in report.error_groups() {
        let tests: Vec<&str> =
            errors.iter().map(|e| e.test.as_str()).filter(|t| !t.is_empty()).collect();
        let _ = writeln!(
            out,
            "<details><summary>{}: {} ({})</summary>",
            escaped(stage),
            escaped(message.lines().next().unwrap_or("").trim_start_matches(':')),
            errors.len()
        );
        pre(message, out);
        pre(&tests.join("\n"), out);
        let reproducer = |e: &&&Error| !e.reproducer.is_empty();
        if let Some(error) = errors.iter().find(reproducer) {
            part(3, "Reduced to", &error.reproducer, out);
        }
        out.push_str("</details>\n");
    }
}

fn stages(report: &Report, out: &mut String) {
    out.push_str("<h2>Stages</h2>\n");
    page::table(&["stage", "tasks", "run", "failed", "seconds"], out);
    for s in &report.stages {
        let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&s.name),
            s.tasks,
            number(s.executed),
            number((s.failed > 0).then_some(s.failed)),
            s.seconds.map_or(String::new(), |s| format!("{s:.2}")),
        );
        if let Some(device) = &s.device {
            let _ =
                writeln!(out, "<tr><td></td><td colspan=4>{}</td></tr>", escaped(&device.line()));
        }
    }
    page::end_list(out);
}

/// A table of the compilers of a run.
pub fn compilers(list: &[Compiler], out: &mut String) {
    if list.is_empty() {
        return;
    }
    out.push_str("<h2>Compilers</h2>\n");
    page::table(&["profile", "compiler", "code", "version", "build"], out);
    for c in list {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escaped(&c.profile),
            escaped(&c.name()),
            escaped(&c.arch),
            escaped(&c.version),
            escaped(&c.build),
        );
    }
    page::end_list(out);
}
