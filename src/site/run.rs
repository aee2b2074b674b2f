//! Writes the page of a run.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_history::lives::{Change, History};
use litmake_history::tell;
use litmake_report::{html, page};

use crate::{begin, bug_file, end, index, minute};

/// The page of a run.
pub fn run(history: &History, at: usize, version: &str) -> String {
    let run = &history.runs[at];
    let mut out = begin(&format!("{}, {}", run.pipeline, minute(run)), "");
    neighbours(history, at, &mut out);
    let (colour, said) = tell::headline(history, at);
    let _ = writeln!(out, "<p><b class=\"{}\">{}</b></p>", colour.class(), page::escaped(&said));
    let told = tell::facts(run);
    let facts: Vec<(&str, String)> = told
        .iter()
        .filter(|(name, _)| *name != "compiler")
        .map(|(name, value)| (*name, page::escaped(value)))
        .collect();
    page::facts(&facts, &mut out);
    for change in [Change::New, Change::Reopened, Change::Fixed] {
        index::changed(&history.changed(at, change), change, &mut out);
    }
    // Bugs without a change are listed by id only, so that the pages of a year stay small.
    let mut still: Vec<&str> = Vec::new();
    for shown in &run.bugs {
        if history.bug(&shown.id).is_some_and(|b| b.change_in(at).is_none()) {
            still.push(&shown.id);
        }
    }
    if !still.is_empty() {
        let _ = writeln!(out, "<h2>Still there</h2>\n<p class=\"many\">");
        for id in still {
            let _ = writeln!(out, "<a href=\"{}\">{id}</a>", bug_file(id));
        }
        out.push_str("</p>\n");
    }
    html::compilers(&run.compilers, &mut out);
    end(version, out)
}

/// Links to the runs before and after.
fn neighbours(history: &History, at: usize, out: &mut String) {
    let before = at.checked_sub(1).map(|i| ("before", i));
    let after = (at + 1 < history.runs.len()).then_some(("after", at + 1));
    let links: Vec<String> = [before, after]
        .into_iter()
        .flatten()
        .map(|(word, i)| format!("the run {word}: {}", crate::run_link(history, i)))
        .collect();
    if !links.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", links.join("; "));
    }
}
