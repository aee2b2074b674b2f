//! Writes the page of a bug: facts, where it shows, its history, and an example.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_history::lives::{Bug, Change, History};
use litmake_report::html;
use litmake_report::page::{self, escaped};

use crate::{begin, end, run_link, state, tracker};

/// The page of a bug.
pub fn bug(history: &History, bug: &Bug, version: &str) -> String {
    let mut out = begin(&bug.title, "");
    let link = |at: usize| run_link(history, at);
    let fixed = bug.turns.last().filter(|(_, change)| *change == Change::Fixed);
    let notes: Vec<String> =
        bug.notes.iter().map(|(date, text)| format!("{}: {}", date.day(), escaped(text))).collect();
    let seen = |at: usize| format!("{}{}", link(at), commit(history, at));
    page::facts(
        &[
            ("bug", format!("<code>{}</code>", bug.id)),
            ("state", state(bug)),
            ("kind", bug.class.name().to_string()),
            ("compiler", escaped(&bug.family)),
            ("first seen", seen(bug.first)),
            ("last seen", seen(bug.last)),
            ("fixed", fixed.map(|(at, _)| seen(*at)).unwrap_or_default()),
            ("owner", escaped(bug.owner.as_deref().unwrap_or(""))),
            ("tracker", tracker(bug.tracker.as_deref().unwrap_or(""))),
            ("notes", notes.join("<br>")),
        ],
        &mut out,
    );
    profiles(history, bug, &mut out);
    became(history, bug, &mut out);
    out.push_str("<h2>Example</h2>\n");
    match history.examples.get(&bug.id) {
        Some(example) => html::body(example, 3, &mut out),
        None => out.push_str("<p>The record has none.</p>\n"),
    }
    end(version, out)
}

fn commit(history: &History, at: usize) -> String {
    let commit = history.runs[at].commit.as_deref();
    commit.map_or(String::new(), |c| format!(", commit <code>{}</code>", escaped(c)))
}

/// The compiler of a profile in a run, with its build.
fn compiler(history: &History, at: usize, profile: &str) -> String {
    history.runs[at].compiler(profile).map_or(String::new(), |c| {
        let said = if c.version.is_empty() { &c.compiler } else { &c.version };
        format!("{} <span class=\"dim\">build {}</span>", escaped(said), escaped(&c.build))
    })
}

/// A table of the profiles, and whether the bug shows with each.
fn profiles(history: &History, bug: &Bug, out: &mut String) {
    out.push_str("<h2>Where</h2>\n");
    page::table(&["profile", "shows", "tests", "last asked", "compiler"], out);
    for (profile, life) in &bug.profiles {
        let (class, word) = if life.shows { ("bad", "yes") } else { ("good", "no") };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"{class}\">{word}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(profile),
            life.tests_that_show,
            run_link(history, life.asked),
            compiler(history, life.asked, profile)
        );
    }
    page::end_list(out);
}

/// The history of the bug, the last change first.
fn became(history: &History, bug: &Bug, out: &mut String) {
    let mut turns: Vec<(usize, &str, bool)> = Vec::new();
    for (profile, life) in &bug.profiles {
        turns.extend(life.turns.iter().map(|(at, shows)| (*at, profile.as_str(), *shows)));
    }
    turns.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
    out.push_str("<h2>What became of it</h2>\n");
    page::table(&["run", "the bug is", "profile", "there it", "compiler"], out);
    for (at, profile, shows) in turns {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            run_link(history, at),
            bug.change_in(at).map_or("", Change::name),
            escaped(profile),
            if shows { "appeared" } else { "went" },
            compiler(history, at, profile)
        );
    }
    page::end_list(out);
}
