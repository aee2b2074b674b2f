//! Writes a record of runs as a static site: an index of runs with trends, all bugs, a matrix of
//! compilers against bugs, a page for each bug and each run, and a feed. The pages need no server and no
//! network.
//!
//! It does not know where the record is stored, nor how runs work.

mod bug;
mod feed;
mod index;
mod matrix;
mod run;

use std::path::Path;

use litmake_base::diag::{Diag, Result};
use litmake_history::lives::{Bug, History};
use litmake_history::record::Run;
use litmake_report::page::{self, Assets, escaped};

/// A page, or a file that pages share.
pub struct File {
    /// The path in the folder of the site.
    pub name: String,
    /// The content: HTML, CSS, a script or a picture.
    pub content: String,
}

/// The pages to which all pages link.
const LINKS: [(&str, &str); 3] =
    [("Runs", "index.html"), ("Bugs", "bugs.html"), ("Compilers", "matrix.html")];

/// Every file of the site. `base` is the address at which it will be, if that is known.
pub fn files(history: &History, version: &str, base: Option<&str>) -> Vec<File> {
    let file = |name: &str, content: String| File { name: name.to_string(), content };
    let mut out = vec![
        file("style.css", page::style()),
        file("page.js", page::SCRIPT.to_string()),
        file("index.html", index::runs(history, version)),
        file("bugs.html", index::bugs(history, version)),
        file("matrix.html", matrix::matrix(history, version)),
        file(feed::FILE, feed::feed(history, version, base)),
    ];
    out.extend(history.bugs.iter().flat_map(|b| bug::files(history, b, version)));
    out.extend((0..history.runs.len()).map(|at| File {
        name: run_file(&history.runs[at]),
        content: run::run(history, at, version),
    }));
    out
}

/// Writes the site, and returns the number of its files and bytes. Older pages are overwritten.
pub fn write(
    history: &History,
    version: &str,
    base: Option<&str>,
    folder: &Path,
) -> Result<(usize, u64)> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
    let all = files(history, version, base);
    let mut bytes = 0;
    for file in &all {
        let path = folder.join(&file.name);
        bytes += file.content.len() as u64;
        #[expect(
            clippy::disallowed_methods,
            reason = "pages are made anew at any time, and waiting for the disk takes longer than making them"
        )]
        std::fs::write(&path, &file.content)
            .map_err(|e| Diag::new(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok((all.len(), bytes))
}

fn begin(title: &str, current: &str) -> String {
    let head = format!(
        "<link rel=\"alternate\" type=\"application/atom+xml\" title=\"Bugs\" href=\"{}\"></head>",
        feed::FILE
    );
    page::begin(title, Assets::Beside, &LINKS, current).replacen("</head>", &head, 1)
}

fn end(version: &str, mut out: String) -> String {
    page::end(Assets::Beside, version, &mut out);
    out
}

fn bug_file(id: &str) -> String {
    format!("bug-{id}.html")
}

fn run_file(run: &Run) -> String {
    format!("run-{}.html", run.id)
}

fn bug_link(bug: &Bug) -> String {
    format!("<a href=\"{}\">{}</a>", bug_file(&bug.id), bug.id)
}

fn run_link(history: &History, at: usize) -> String {
    let run = &history.runs[at];
    format!("<a href=\"{}\">{}</a>", run_file(run), minute(run))
}

/// The time of a run, to the minute.
fn minute(run: &Run) -> String {
    run.date.to_string().chars().take(16).collect::<String>().replace('T', " ")
}

/// The state of a bug as a coloured word, with the bug of which it is a duplicate.
fn state(bug: &Bug) -> String {
    use litmake_history::lives::State;
    let class = match bug.state {
        State::Open => " bad",
        State::Flaky | State::Sent => " warn",
        State::Fixed => " good",
        State::WontFix | State::Duplicate | State::Invalid | State::Expected => "",
    };
    let other = bug.duplicate_of.as_ref().filter(|_| bug.state == State::Duplicate);
    let other = other.map(|id| format!(" of <a href=\"{}\">{id}</a>", bug_file(id)));
    format!("<span class=\"tag{class}\">{}</span>{}", bug.state.name(), other.unwrap_or_default())
}

/// The cell of a table with the state, by which rows are chosen.
fn state_cell(bug: &Bug) -> String {
    format!("<td data-v=\"{}\">{}</td>", bug.state.name(), state(bug))
}

/// The issue of a bug; an address becomes a link.
fn tracker(text: &str) -> String {
    match text.starts_with("https://") || text.starts_with("http://") {
        true => format!("<a href=\"{0}\">{0}</a>", escaped(text)),
        false => escaped(text),
    }
}
