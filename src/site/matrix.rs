//! Writes the matrix of builds of compilers against bugs: a table for each compiler, with a column for each
//! build, the newest first. Neighbouring builds with one answer share a cell.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_history::builds::Build;
use litmake_history::lives::{Bug, History};
use litmake_report::number;
use litmake_report::page::{self, Column, escaped};

use crate::{begin, bug_link, end, state_cell};

/// The builds of one compiler, or the mixes and devices, by their places.
struct Group<'a> {
    head: &'a str,
    columns: Vec<usize>,
}

/// The page with the matrix.
pub fn matrix(history: &History, version: &str) -> String {
    let mut out = begin("Bugs by compiler", "matrix.html");
    out.push_str(
        "<p><b>yes</b>: a profile of this build showed the bug when it was last asked. <b>no</b>: the bug's \
         tests ran, and none did. Nothing: nobody asked. The newest build is on the left, and builds in a row \
         with one answer share a cell.</p>\n",
    );
    let bugs = history.by_state();
    for group in groups(&history.builds) {
        let mut told: Vec<&Bug> = bugs.clone();
        told.retain(|bug| group.columns.iter().any(|c| bug.builds.contains_key(c)));
        if !told.is_empty() {
            table(history, &group, &told, &mut out);
        }
    }
    end(version, out)
}

/// The builds by compiler, the newest first; what has no version comes last.
fn groups(builds: &[Build]) -> Vec<Group<'_>> {
    let mut out: Vec<Group> = Vec::new();
    let mut rest = Group { head: "Mixes and devices", columns: Vec::new() };
    for (place, build) in builds.iter().enumerate().filter(|(_, b)| !b.name.is_empty()) {
        match out.last_mut() {
            _ if build.tool == build.name => rest.columns.push(place),
            Some(group) if group.head == build.tool => group.columns.push(place),
            _ => out.push(Group { head: &build.tool, columns: vec![place] }),
        }
    }
    out.iter_mut().for_each(|group| group.columns.reverse());
    out.push(rest);
    out
}

fn table(history: &History, group: &Group, bugs: &[&Bug], out: &mut String) {
    let columns = &group.columns;
    let _ = writeln!(
        out,
        "<h2>{}</h2>\n<p class=\"dim\">{}</p>\n<div class=\"matrix\">",
        escaped(group.head),
        number(columns.len() as u64, "build")
    );
    let name = |place: &usize| {
        let build = &history.builds[*place];
        if build.version().is_empty() { &*build.name } else { build.version() }
    };
    let mut heads = vec![("bug", Column::Text), ("what", Column::Text), ("state", Column::Choice)];
    heads.extend(columns.iter().map(|c| (name(c), Column::Mark)));
    page::list(&format!("bugs of {}", group.head), &heads, out);
    for bug in bugs {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"wide\">{}</td>{}",
            bug_link(bug),
            escaped(&bug.title),
            state_cell(bug)
        );
        let answer = |c: &usize| bug.builds.get(c).copied();
        for cells in columns.chunk_by(|a, b| answer(a) == answer(b)) {
            let wide = match cells.len() {
                1 => String::new(),
                n => format!(" colspan=\"{n}\""),
            };
            let (class, word) = match answer(&cells[0]) {
                // Builds from before it was fixed.
                Some(true) if !bug.state.is_open() => (" class=\"was\"", "yes"),
                Some(true) => (" class=\"bad\"", "yes"),
                Some(false) => (" class=\"good\"", "no"),
                None => ("", ""),
            };
            let _ = write!(out, "<td{wide}{class}>{word}</td>");
        }
        out.push_str("</tr>\n");
    }
    page::end_list(out);
    out.push_str("</div>\n");
}
