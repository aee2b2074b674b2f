//! Writes the page of a bug: facts, since when, where it shows, its history, and an example; and the files that
//! the page offers: the reproducer and the issue's text.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_history::lives::{Bug, Change, History};
use litmake_report::html;
use litmake_report::issue::{Issue, Tracker};
use litmake_report::page::{self, escaped};

use crate::{File, begin, bug_file, end, run_link, state, tracker};

/// The page of a bug, and the files that it offers.
pub fn files(history: &History, bug: &Bug, version: &str) -> Vec<File> {
    let mut offers = Vec::new();
    if let Some(example) = history.examples.get(&bug.id) {
        let (source, _, _) = example.smallest();
        let text = if source.is_empty() { &example.reproducer } else { source };
        let issue = Issue::of(example).text(Tracker::of(&bug.family));
        for (what, ending, content) in [
            ("reproducer", "litmus", text.to_string()),
            ("text for the tracker", "issue.md", issue),
        ] {
            if !content.trim().is_empty() {
                let name = format!("bug-{}.{ending}", bug.id);
                offers.push((what, File { name, content }));
            }
        }
    }
    let links: Vec<String> = offers
        .iter()
        .map(|(what, file)| format!("<a href=\"{0}\" download>{what}</a>", file.name))
        .collect();
    let page = File { name: bug_file(&bug.id), content: page(history, bug, &links, version) };
    std::iter::once(page).chain(offers.into_iter().map(|(_, file)| file)).collect()
}

fn page(history: &History, bug: &Bug, offers: &[String], version: &str) -> String {
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
            ("tracker", tracker(bug.tracker.as_deref().unwrap_or(""))),
            ("kind", bug.class.name().to_string()),
            ("compiler", escaped(&bug.family)),
            ("first seen", seen(bug.first)),
            ("last seen", seen(bug.last)),
            ("fixed", fixed.map(|(at, _)| seen(*at)).unwrap_or_default()),
            ("owner", escaped(bug.owner.as_deref().unwrap_or(""))),
            ("notes", notes.join("<br>")),
            ("download", offers.join(", ")),
        ],
        &mut out,
    );
    since(history, bug, &mut out);
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

/// The builds between which the bug came and went: a row each time.
fn since(history: &History, bug: &Bug, out: &mut String) {
    if bug.spans.is_empty() {
        return;
    }
    out.push_str("<h2>Since when</h2>\n");
    page::table(&["last good build", "first bad", "last bad", "first good", "builds with it"], out);
    let named = |name: &str| {
        let build = history.builds.iter().find(|b| b.name == name);
        let day = build.and_then(|b| b.first).map(|at| history.runs[at].date.day());
        let day = day.map(|day| format!("<br><span class=\"dim\">first run {day}</span>"));
        format!("{}{}", escaped(name), day.unwrap_or_default())
    };
    for span in &bug.spans {
        let good = |name: &Option<String>, none: &str| match name {
            Some(name) => named(name),
            None => format!("<span class=\"dim\">{none}</span>"),
        };
        let _ = writeln!(
            out,
            "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
            good(&span.last_good, "no earlier build was asked"),
            between(span.last_good.as_deref(), &span.first_bad),
            named(&span.first_bad),
            named(&span.last_bad),
            good(&span.first_good, "none yet"),
            span.builds
        );
    }
    page::end_list(out);
}

/// A link to the commits between two builds of clang or gcc whose names have their commits.
fn between(good: Option<&str>, bad: &str) -> String {
    let hash = |name: &str| -> Option<String> {
        let word = name.rsplit([' ', '-']).next()?;
        let word = word.strip_prefix('g').unwrap_or(word);
        let is_hash = word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit());
        is_hash.then(|| word.to_string())
    };
    let Some((good, first)) = good.and_then(|g| Some((hash(g)?, hash(bad)?))) else {
        return String::new();
    };
    let address = match bad.split([' ', '+']).next() {
        Some("clang") => format!("https://github.com/llvm/llvm-project/compare/{good}...{first}"),
        Some("gcc" | "g") => {
            format!("https://gcc.gnu.org/cgit/gcc/log/?qt=range&amp;q={good}..{first}")
        }
        _ => return String::new(),
    };
    format!("<br><a href=\"{address}\">commits between</a>")
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
    for (profile, life) in bug.profiles.iter().filter(|(_, life)| !life.turns.is_empty()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_between_two_builds_have_a_link_where_both_are_known() {
        let llvm = between(Some("clang 23.0.0git 0123456789ab"), "clang 23.0.0git cafecafecafe");
        assert!(llvm.contains("/compare/0123456789ab...cafecafecafe"), "{llvm}");
        let gcc =
            between(Some("gcc 17.0.0 r17-2663-gabcdef012345"), "gcc 17.0.0 r17-2664-gabcdef012346");
        assert!(gcc.contains("q=abcdef012345..abcdef012346"), "{gcc}");
        for (good, bad) in [
            (None, "clang 23.0.0git cafecafecafe"),
            (Some("clang 15.0.7"), "clang 16.0.6"),
            (Some("tool 1.0 0123456789ab"), "tool 1.0 cafecafecafe"),
        ] {
            assert_eq!(between(good, bad), "");
        }
    }
}
