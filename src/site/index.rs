//! Writes the pages that list all runs, with trends, and all bugs.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_history::lives::{Bug, Change, History, State};
use litmake_history::tell;
use litmake_report::page::{self, Column, escaped};
use litmake_report::plot::{Panel, Scale, svg};

use crate::{begin, bug_link, end, run_link, state_cell, tracker};

/// The number of runs in trends, the last ones.
const NIGHTS: usize = 365;

/// The page of all runs.
pub fn runs(history: &History, version: &str) -> String {
    let mut out = begin("Runs", "index.html");
    let open = history.open_after();
    let Some(last) = history.runs.len().checked_sub(1) else {
        out.push_str("<p>There are no runs yet.</p>\n");
        return end(version, out);
    };
    let (colour, said) = tell::headline(history, last);
    let _ = writeln!(
        out,
        "<p>The last run, {}: <b class=\"{}\">{}</b>; {}. \
         <a href=\"feed.xml\">Feed</a></p>",
        run_link(history, last),
        colour.class(),
        escaped(&said),
        to_do(history)
    );
    let _ = writeln!(out, "<p>{}</p>", escaped(&history.runs[last].verdict().words()));
    for change in [Change::New, Change::Reopened, Change::Fixed] {
        changed(&history.changed(last, change), change, &mut out);
    }
    trends(history, &open, &mut out);
    out.push_str("<h2>All runs</h2>\n");
    page::list(
        "runs",
        &[
            ("run", Column::Text),
            ("pipeline", Column::Choice),
            ("bugs", Column::Text),
            ("judged", Column::Text),
            ("open", Column::Number),
            ("errors", Column::Number),
            ("compared", Column::Number),
            ("compilers", Column::Text),
            ("commit", Column::Text),
            ("host", Column::Text),
        ],
        &mut out,
    );
    for (at, run) in history.runs.iter().enumerate().rev() {
        let (colour, said) = tell::headline(history, at);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            run_link(history, at),
            escaped(&run.pipeline),
            colour.class(),
            escaped(&said),
            escaped(&run.verdict().words()),
            open[at],
            run.counts.errors,
            run.counts.compared,
            escaped(&tell::compilers(run)),
            escaped(run.commit.as_deref().unwrap_or("")),
            escaped(run.host.as_deref().unwrap_or("")),
        );
    }
    page::end_list(&mut out);
    end(version, out)
}

/// How many bugs somebody has to act on, by state, each with a link to them.
fn to_do(history: &History) -> String {
    let told = [State::Open, State::Flaky, State::Sent].into_iter().filter_map(|state| {
        let count = history.bugs.iter().filter(|b| b.state == state).count();
        let name = state.name();
        (count > 0).then(|| format!("<a href=\"bugs.html?state={name}\">{count} {name}</a>"))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "no bug is open".to_string() } else { told.join(", ") }
}

/// The bugs with a change of this kind in a run.
pub fn changed(bugs: &[&Bug], change: Change, out: &mut String) {
    if bugs.is_empty() {
        return;
    }
    let head = match change {
        Change::New => "New",
        Change::Reopened => "Reopened",
        Change::Fixed => "Fixed",
    };
    let _ = writeln!(out, "<h2>{head}</h2>\n<ul>");
    for bug in bugs {
        let _ = writeln!(
            out,
            "<li>{} {} <span class=\"dim\">({})</span></li>",
            bug_link(bug),
            escaped(&bug.title),
            bug.class.name()
        );
    }
    out.push_str("</ul>\n");
}

fn trends(history: &History, open: &[u64], out: &mut String) {
    if history.runs.len() < 2 {
        return;
    }
    let first = history.runs.len().saturating_sub(NIGHTS);
    let groups: Vec<String> = history.runs[first..].iter().map(|r| r.date.day()).collect();
    let of = |at: usize, change| history.changed(at, change).len() as f64;
    let came = (first..history.runs.len())
        .map(|at| {
            vec![Some(of(at, Change::New) + of(at, Change::Reopened)), Some(of(at, Change::Fixed))]
        })
        .collect();
    let open = open[first..].iter().map(|n| vec![Some(*n as f64)]).collect();
    let panel = |title: &str, values, lines| Panel {
        title: title.to_string(),
        scale: Scale::Count,
        groups: groups.clone(),
        values,
        lines,
    };
    let draw = |title: &str, series: &[&str], panel: Panel, out: &mut String| {
        let series: Vec<String> = series.iter().map(|s| s.to_string()).collect();
        let _ = write!(out, "<figure>{}</figure>", svg(title, &series, &[panel]));
    };
    out.push_str("<h2>Trends</h2>\n<div class=\"side\"><div>");
    draw("Open bugs", &["open"], panel("after each run", open, true), out);
    out.push_str("</div><div>");
    let came = panel("in each run", came, false);
    draw("New and fixed bugs", &["new or reopened", "fixed"], came, out);
    out.push_str("</div></div>\n<p class=\"dim\">The table below has the same numbers.</p>\n");
}

/// The page of all bugs.
pub fn bugs(history: &History, version: &str) -> String {
    let mut out = begin("Bugs", "bugs.html");
    page::list(
        "bugs",
        &[
            ("bug", Column::Text),
            ("state", Column::Choice),
            ("what", Column::Text),
            ("kind", Column::Choice),
            ("compiler", Column::Choice),
            ("first seen", Column::Text),
            ("last seen", Column::Text),
            ("first bad", Column::Text),
            ("last good", Column::Text),
            ("runs", Column::Number),
            ("owner", Column::Choice),
            ("tracker", Column::Text),
        ],
        &mut out,
    );
    for bug in history.by_state() {
        let _ = writeln!(
            out,
            "<tr><td>{}</td>{}<td class=\"wide\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            bug_link(bug),
            state_cell(bug),
            escaped(&bug.title),
            bug.class.name(),
            escaped(&bug.family),
            run_link(history, bug.first),
            run_link(history, bug.last),
            escaped(bug.spans.last().map_or("", |span| &span.first_bad)),
            escaped(bug.spans.last().and_then(|span| span.last_good.as_deref()).unwrap_or("")),
            bug.nights,
            escaped(bug.owner.as_deref().unwrap_or("")),
            tracker(bug.tracker.as_deref().unwrap_or("")),
        );
    }
    page::end_list(&mut out);
    end(version, out)
}
