//! Tests the record of runs and its pages in a real browser.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]
#![allow(clippy::print_stderr, reason = "a test says how long the pages of a year take")]

mod browser;
mod nights;
mod simulator;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use browser::Browser;
use litmake_history::folder::Folder;
use litmake_history::lives::{Change, History, State};
use litmake_history::record::{Circumstances, Date, FORMAT, Mark, Note};
use litmake_report::coverage::Gather;
use litmake_report::{Class, Compiler, Finding, Report, html};
use litmake_site as site;

fn about(night: usize) -> Circumstances {
    Circumstances {
        date: nights::date(night),
        host: Some("here".into()),
        commit: Some(format!("c{night}")),
    }
}

/// A report in which each test of a list was judged with profile `p`, and some tests show a bug
/// with their name.
fn report(judged: &[&str], bugs: &[&str]) -> Report {
    let mut coverage = Gather::default();
    coverage.add(&["p".to_string()], false, judged.iter().map(|t| (*t, bugs.contains(t))));
    let finding = |name: &&str| Finding {
        id: name.to_string(),
        family: "clang".into(),
        test: name.to_string(),
        profiles: vec!["p".into()],
        ..Finding::default()
    };
    Report {
        pipeline: "nightly".into(),
        coverage: coverage.finish(),
        findings: bugs.iter().map(|b| finding(b).once()).collect(),
        ..Report::default()
    }
}

fn compiler(version: &str) -> Compiler {
    Compiler {
        profile: "p".into(),
        compiler: "clang".into(),
        version: format!("Debian clang version {version} (1~deb12)"),
        build: format!("build-{version}"),
        ..Compiler::default()
    }
}

fn history(folder: &Folder) -> History {
    let read = folder.read().unwrap();
    assert_eq!(read.warnings, Vec::<String>::new());
    History::of(read.kept)
}

fn states(history: &History) -> Vec<(&str, State)> {
    history.bugs.iter().map(|b| (b.id.as_str(), b.state)).collect()
}

#[test]
fn a_bug_is_fixed_where_its_test_ran_and_reopened_where_it_shows_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    let with =
        |version: &str, report: Report| Report { compilers: vec![compiler(version)], ..report };
    folder.add(&with("16.0.6", report(&["a", "b"], &["a", "b"])), &about(0)).unwrap();
    // `a` is fixed; `b` was not looked for.
    folder.add(&with("22.1.0", report(&["a", "c"], &[])), &about(1)).unwrap();
    let then = history(&folder);
    assert_eq!(states(&then), [("a", State::Fixed), ("b", State::Open)]);
    assert_eq!(then.changed(1, Change::Fixed).len(), 1);
    let a = then.bug("a").unwrap();
    assert_eq!((a.first, a.last), (0, 0));
    let known: Vec<_> = a.compilers.iter().map(|(n, s)| (n.as_str(), *s)).collect();
    assert_eq!(known, [("clang 16.0.6", true), ("clang 22.1.0", false)]);
    folder.add(&with("22.1.0", report(&["a", "b"], &["a"])), &about(2)).unwrap();
    let now = history(&folder);
    assert_eq!(states(&now), [("a", State::Open), ("b", State::Fixed)]);
    let said: Vec<Change> = now.bug("a").unwrap().changes.iter().map(|(_, c)| *c).collect();
    assert_eq!(said, [Change::New, Change::Fixed, Change::Reopened]);
    assert_eq!(now.open_after(), [2, 1, 1]);
    // A run without coverage changes nothing.
    folder.add(&Report { pipeline: "other".into(), ..Report::default() }, &about(3)).unwrap();
    assert_eq!(states(&history(&folder)), states(&now));
}

/// The version that clang built from HEAD says, for a letter of its commit.
fn head(letter: char) -> String {
    let hash: String = std::iter::repeat_n(letter, 40).collect();
    format!("clang version 23.0.0git (https://github.com/llvm/llvm-project.git {hash})")
}

/// A report like [`report`], of clang at a commit.
fn at_head(letter: char, judged: &[&str], bugs: &[&str]) -> Report {
    let compiler = Compiler { version: head(letter), ..compiler("23") };
    Report { compilers: vec![compiler], ..report(judged, bugs) }
}

#[test]
fn builds_of_head_are_apart_and_a_bug_says_between_which_of_them_it_began_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    // The commits are in no order of their own. `b` is only looked for from the third night on.
    let nights = [
        at_head('f', &["a"], &[]),
        at_head('c', &["a"], &["a"]),
        at_head('e', &["a", "b"], &["a", "b"]),
        at_head('b', &["a", "b"], &["b"]),
        at_head('d', &["a", "b"], &["a", "b"]),
    ];
    for (night, report) in nights.iter().enumerate() {
        folder.add(report, &about(night)).unwrap();
    }
    let history = history(&folder);
    let name = |letter: char| {
        let hash: String = std::iter::repeat_n(letter, 12).collect();
        format!("clang 23.0.0git {hash}")
    };
    let names: Vec<&str> = history.builds.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ['f', 'c', 'e', 'b', 'd'].map(name));
    let spans = |bug: &str| -> Vec<(Option<String>, String, Option<String>)> {
        let all = &history.bug(bug).unwrap().spans;
        all.iter()
            .map(|s| (s.last_good.clone(), s.first_bad.clone(), s.first_good.clone()))
            .collect()
    };
    // The night before the first one that showed it had judged its test.
    assert_eq!(
        spans("a"),
        [(Some(name('f')), name('c'), Some(name('b'))), (Some(name('b')), name('d'), None)]
    );
    assert_eq!(spans("b"), [(None, name('e'), None)]);
    let told = litmake_history::tell::bugs(&history, litmake_history::tell::Form::Text);
    let a = told.lines().find(|l| l.starts_with("a ")).unwrap();
    let dense: String = std::iter::repeat_n('e', 12).collect();
    assert!(a.contains(&format!("{}, 23.0.0git {dense}; {}", name('c'), name('d'))), "{told}");

    // A difference that was not looked into may have been the bug, so that the night before is not good.
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    let mut open = at_head('f', &["a"], &[]);
    open.not_looked_into.push(litmake_report::bugs::Unexplored {
        family: "clang".into(),
        count: 1,
        by_profile: [("p".to_string(), 1)].into(),
        ..Default::default()
    });
    folder.add(&open, &about(0)).unwrap();
    folder.add(&at_head('c', &["a"], &["a"]), &about(1)).unwrap();
    assert_eq!(self::history(&folder).bug("a").unwrap().spans[0].last_good, None);
}

#[test]
fn a_fixed_bug_keeps_the_builds_that_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    for (night, letter, bugs) in [(0, 'a', &["x"][..]), (1, 'b', &["x"]), (2, 'c', &[])] {
        folder.add(&at_head(letter, &["x"], bugs), &about(night)).unwrap();
    }
    let history = history(&folder);
    let bug = history.bug("x").unwrap();
    assert_eq!((bug.state, bug.spans.len()), (State::Fixed, 1));
    let told = litmake_history::tell::bugs(&history, litmake_history::tell::Form::Text);
    assert!(told.contains("clang 23.0.0git aaaaaaaaaaaa, 23.0.0git bbbbbbbbbbbb"), "{told}");
}

/// A note on a bug, of a day after the nights.
fn note(bug: &str, day: u64, state: Mark, of: Option<&str>) -> Note {
    Note {
        history: FORMAT,
        date: Date(nights::date(10).0 + day),
        bug: bug.into(),
        state: Some(state),
        of: of.map(String::from),
        ..Note::default()
    }
}

#[test]
fn people_give_bugs_states_and_runs_go_on_to_say_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    let names = ["closed", "dup", "gone", "invalid", "lb", "open", "sent", "taken", "wont"];
    let mut first = report(&names, &names);
    let lb = first.findings.iter_mut().find(|f| f.id == "lb").unwrap();
    lb.label = litmake_report::LOAD_BUFFERING.into();
    folder.add(&first, &about(0)).unwrap();
    let marks = [
        ("closed", Mark::Fixed, None),
        ("dup", Mark::Duplicate, Some("sent")),
        ("gone", Mark::Sent, None),
        ("invalid", Mark::Invalid, None),
        ("sent", Mark::Sent, None),
        ("taken", Mark::Invalid, None),
        ("taken", Mark::Open, None),
        ("wont", Mark::WontFix, None),
    ];
    for (day, (bug, mark, of)) in marks.into_iter().enumerate() {
        folder.note(&note(bug, day as u64, mark, of)).unwrap();
    }
    let now = history(&folder);
    let expected = [
        ("closed", State::Fixed),
        ("dup", State::Duplicate),
        ("gone", State::Sent),
        ("invalid", State::Invalid),
        ("lb", State::Expected),
        ("open", State::Open),
        ("sent", State::Sent),
        ("taken", State::Open),
        ("wont", State::WontFix),
    ];
    assert_eq!(states(&now), expected);
    assert_eq!(now.open(), 4);
    assert_eq!(now.bug("dup").unwrap().duplicate_of.as_deref(), Some("sent"));
    let new: Vec<&str> = now.changed(0, Change::New).iter().map(|b| b.id.as_str()).collect();
    assert!(!new.contains(&"lb") && !new.contains(&"invalid") && new.contains(&"open"), "{new:?}");
    // A later run shows what a note called fixed, and no longer shows what was sent.
    let left: Vec<&str> = names.into_iter().filter(|n| *n != "gone").collect();
    let mut later = report(&names, &left);
    later.findings.iter_mut().for_each(|f| f.label.clear());
    folder.add(&later, &about(20)).unwrap();
    let then = history(&folder);
    let state = |bug: &str| then.bug(bug).unwrap().state;
    assert_eq!((state("closed"), state("gone")), (State::Open, State::Fixed));
    // What notes closed is not open in runs after them.
    assert_eq!(then.open_after().last(), Some(&then.open()));
}

#[test]
fn what_is_left_open_may_be_the_bug() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    folder.add(&report(&["a"], &["a"]), &about(0)).unwrap();
    let mut open = report(&["a"], &[]);
    open.not_looked_into.push(litmake_report::bugs::Unexplored {
        family: "clang".into(),
        count: 1,
        by_profile: [("p".to_string(), 1)].into(),
        ..Default::default()
    });
    folder.add(&open, &about(1)).unwrap();
    assert_eq!(states(&history(&folder)), [("a", State::Open)]);
}

#[test]
fn a_device_that_shows_a_bug_now_and_then_is_flaky() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    for (night, bugs) in [(0, &["a"][..]), (1, &[]), (2, &["a"])] {
        let mut report = report(&["a"], bugs);
        report.findings.iter_mut().for_each(|f| f.class = Class::Conformance);
        folder.add(&report, &about(night)).unwrap();
    }
    assert_eq!(states(&history(&folder)), [("a", State::Flaky)]);
}

#[test]
fn additions_at_the_same_time_lose_nothing_and_broken_files_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    std::thread::scope(|scope| {
        for n in 0..16 {
            let folder = &folder;
            scope.spawn(move || {
                let name = format!("bug{n}");
                folder.add(&report(&[&name], &[&name]), &about(0)).unwrap();
            });
        }
    });
    let all = history(&folder);
    assert_eq!((all.runs.len(), all.bugs.len()), (16, 16));
    // An addition that was killed may leave an example without its run, and an incomplete file.
    std::fs::write(dir.path().join("bugs/.litmake-x.tmp"), "{").unwrap();
    std::fs::write(dir.path().join("runs/20251124T020000Z-0.json"), "{\"history\":1,").unwrap();
    let read = folder.read().unwrap();
    assert_eq!((read.kept.runs.len(), read.warnings.len()), (16, 1), "{:?}", read.warnings);
    assert!(read.warnings[0].contains("is left out"), "{:?}", read.warnings);
    // A finding whose id would lead to another folder is rejected.
    assert!(folder.add(&report(&["x"], &["../x"]), &about(1)).is_err());
    assert!(Folder::new(&dir.path().join("none")).read().is_err());
}

/// The pages of some nights, with a note and with texts that contain HTML.
fn pages(dir: &Path, count: usize, bugs: usize) -> (PathBuf, History) {
    let folder = Folder::new(&dir.join("history"));
    let mut made = nights::Nights::new(bugs);
    for night in 0..count {
        let mut report = made.night(night, count);
        if night == 0 {
            let hostile = "<script>alert(1)</script>\" onload=\"x";
            let finding = Finding {
                id: "hostile".into(),
                class: Class::Mixing,
                family: hostile.into(),
                cause: hostile.into(),
                test: hostile.into(),
                source: hostile.into(),
                reproducer: hostile.into(),
                profiles: vec![hostile.into()],
                command: "litmake check a.litmus".into(),
                evidence: Some(nights::evidence()),
                ..Finding::default()
            };
            report.findings.push(finding.once());
        }
        let commit = Some(format!("<b>{night}"));
        folder.add(&report, &Circumstances { commit, ..about(night) }).unwrap();
    }
    let date: Date = "2026-11-23".parse().unwrap();
    for tracker in ["https://example.org/1", "javascript:alert(1)"] {
        folder
            .note(&Note {
                history: FORMAT,
                date: Date(date.0 + tracker.len() as u64),
                bug: "hostile".into(),
                owner: Some("Ada".into()),
                tracker: Some(tracker.into()),
                text: Some("<i>said</i>".into()),
                ..Note::default()
            })
            .unwrap();
    }
    let start = std::time::Instant::now();
    let history = history(&folder);
    let read = start.elapsed();
    let pages = dir.join("pages");
    site::write(&history, "0.1.0", None, &pages).unwrap();
    eprintln!("{count} nights: read in {read:?}, read and written in {:?}", start.elapsed());
    (pages, history)
}

#[test]
fn texts_from_outside_are_escaped_and_links_lead_to_files() {
    let dir = tempfile::tempdir().unwrap();
    let (pages, _) = pages(dir.path(), 6, 12);
    let names: BTreeSet<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut followed = 0;
    for name in names.iter().filter(|n| n.ends_with(".html")) {
        let text = std::fs::read_to_string(pages.join(name)).unwrap();
        for wrong in ["<script>alert", "\" onload", "<i>said", "<b>0", "href=\"javascript"] {
            assert!(!text.contains(wrong), "{name} has {wrong}");
        }
        for link in text.split("href=\"").skip(1) {
            let target = link.split(['"', '?']).next().unwrap();
            let outside =
                ["#", "https://example.org/", "https://github.com/llvm/", "https://gcc.gnu.org/"];
            if outside.iter().any(|o| target.starts_with(o)) {
                continue;
            }
            assert!(names.contains(target), "{name} leads to {target}");
            followed += 1;
        }
    }
    assert!(followed > 100, "{followed}");
}

#[test]
fn a_year_of_nights_is_small() {
    let dir = tempfile::tempdir().unwrap();
    let (pages, history) = pages(dir.path(), 365, 500);
    assert!(history.bugs.len() > 450, "{}", history.bugs.len());
    let size: u64 =
        std::fs::read_dir(&pages).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert!(size < 20_000_000, "{size} bytes");
    // Each night has a column for each compiler; one mix has its own.
    let matrix = std::fs::read_to_string(pages.join("matrix.html")).unwrap();
    assert_eq!(matrix.matches("data-mark").count(), 2 * 365 + 1);
    let Some(mut browser) = Browser::start() else { return };
    let some_bug = history.bugs.iter().rev().find(|b| b.spans.len() > 1).unwrap();
    let bug_page = format!("bug-{}.html", some_bug.id);
    browser.look(420, true);
    for page in ["index.html", "bugs.html", "matrix.html", &bug_page] {
        browser.open(&pages.join(page));
        let ms = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
        eprintln!("{page} of a year: {ms} ms until it is loaded");
        assert_eq!(browser.eval(AUDIT), serde_json::json!([]), "{page}");
    }
}

/// Finds faults in the accessibility of a page: contrasts below WCAG AA, controls and pictures
/// without a name, tables without heads, skipped levels of headings, duplicate ids, and a page
/// wider than its window.
const AUDIT: &str = r#"(() => {
  const wrong = [];
  const color = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = color(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || e.closest("script, style, title") || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), inside = e.closest("svg");
    const [a, b] = [light(color(inside ? style.fill : style.color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    texts += 1;
    if (ratio < 4.5) wrong.push("contrast " + ratio.toFixed(2) + ": " + walk.currentNode.data.trim().slice(0, 40));
  }
  if (texts < 10) wrong.push("only " + texts + " texts");
  for (const e of document.querySelectorAll("button, input, select, a[href], summary")) {
    const label = e.getAttribute("aria-label") || e.textContent || (e.labels && e.labels[0] && e.labels[0].textContent);
    if (!label || !label.trim()) wrong.push("no name: " + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll("svg")) {
    if (e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")) wrong.push("a picture without a name");
  }
  for (const e of document.querySelectorAll("table")) {
    const heads = [...e.querySelectorAll("th")];
    if (!heads.length || heads.some((h) => !h.scope || !h.textContent.trim())) wrong.push("a table without heads");
  }
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    const now = Number(e.tagName[1]);
    if (now > level + 1) wrong.push("a level is left out before " + e.textContent);
    level = now;
  }
  if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1) wrong.push("landmarks");
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("a name is there twice");
  if (document.documentElement.scrollWidth > innerWidth) {
    wrong.push("wider than the window: " + document.documentElement.scrollWidth);
  }
  return wrong;
})()"#;

#[test]
fn pages_do_what_they_say_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (pages, history) = pages(dir.path(), 40, 40);
    let first = history.bugs.iter().find(|b| history.examples[&b.id].evidence.is_some()).unwrap();
    let bug_page = format!("bug-{}.html", first.id);
    let run_page = format!("run-{}.html", history.runs[30].id);
    // The page of one run, with the same parts.
    let mut one = nights::Nights::new(8).night(3, 6);
    one.findings.truncate(4);
    assert!(!one.findings.is_empty());
    std::fs::write(pages.join("one.html"), html::html(&one)).unwrap();
    let all = [
        "index.html",
        "bugs.html",
        "matrix.html",
        &bug_page,
        &run_page,
        "bug-hostile.html",
        "one.html",
    ];
    for (width, dark) in [(1280, false), (420, false), (1280, true), (420, true)] {
        browser.look(width, dark);
        for page in all {
            browser.open(&pages.join(page));
            // Folded parts are examined, too.
            browser.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
            let wrong = browser.eval(AUDIT);
            assert_eq!(wrong, serde_json::json!([]), "{page} at {width}, dark: {dark}");
            if let Some(folder) = std::env::var_os("LITMAKE_SCREENSHOTS") {
                let name = format!("{width}-{dark}-{page}.png.base64");
                std::fs::write(Path::new(&folder).join(name), browser.picture()).unwrap();
            }
        }
    }
    browser.look(1280, false);

    // Filters and choices hide rows and update the count.
    browser.open(&pages.join("bugs.html"));
    let shown = "[...document.querySelectorAll('tbody tr')].filter((r) => !r.hidden).length";
    let rows = browser.eval(shown).as_u64().unwrap();
    assert_eq!(rows, history.bugs.len() as u64);
    browser.click("input[type=search]", false);
    browser.write(&first.id);
    assert_eq!(browser.eval(shown), 1);
    let count = browser.eval("document.querySelector('.tools [role=status]').textContent");
    assert_eq!(count, format!("1 of {rows} bugs"));
    browser.eval("(() => { const i = document.querySelector('input[type=search]'); i.value = ''; i.dispatchEvent(new Event('input')); })()");
    let fixed = history.bugs.iter().filter(|b| b.state == State::Fixed).count();
    assert!(fixed > 0 && fixed < rows as usize);
    browser.eval("(() => { const s = document.querySelector('.tools select'); s.value = 'fixed'; s.dispatchEvent(new Event('change')); })()");
    assert_eq!(browser.eval(shown), fixed);

    // The choice is in the address, and another reader of the address sees the same rows.
    let address = browser.eval("location.search");
    assert_eq!(address, "?state=fixed");
    browser.eval("document.querySelector('tbody').dataset.old = '1'");
    browser.call("Page.reload", serde_json::json!({}));
    browser.wait_for("Page.loadEventFired");
    assert_eq!(browser.eval("document.querySelector('tbody').dataset.old ?? ''"), "");
    assert_eq!(browser.eval(shown), fixed);

    // A click on a heading sorts by its column, and a second click reverses the order.
    let ids = "[...document.querySelectorAll('tbody tr')].map((r) => r.cells[0].textContent)";
    let read = |browser: &mut Browser| -> Vec<String> {
        let list = browser.eval(ids);
        list.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_string()).collect()
    };
    browser.click("thead th:first-child button", false);
    let up = read(&mut browser);
    assert_eq!(
        browser.eval("document.querySelector('thead th').getAttribute('aria-sort')"),
        "ascending"
    );
    let numeric = |t: &String| t.parse::<f64>().is_ok();
    let words: Vec<&String> = up.iter().filter(|t| !numeric(t)).collect();
    assert!(words.len() > 5 && words.is_sorted(), "{words:?}");
    assert_eq!(browser.eval("location.search"), "?state=fixed&sort=bug");
    browser.click("thead th:first-child button", false);
    assert_eq!(browser.eval("location.search"), "?state=fixed&sort=-bug");
    let down = read(&mut browser);
    assert_eq!(down, up.into_iter().rev().collect::<Vec<_>>());

    // A link opens its target.
    browser.click("tbody tr:not([hidden]) a", true);
    let opened = browser.eval("location.pathname.split('/').pop()");
    let shown_id = browser.eval("document.querySelector('dd code').textContent");
    assert_eq!(opened, format!("bug-{}.html", shown_id.as_str().unwrap()));
    browser.open(&pages.join("one.html"));
    let last = one.findings.last().unwrap().id.clone();
    let link = format!("a[href=\"#{last}\"]");
    assert_eq!(browser.eval(&format!("document.getElementById('{last}').open")), false);
    browser.click(&link, false);
    browser.eval("new Promise((done) => setTimeout(done, 100))");
    assert_eq!(browser.eval(&format!("document.getElementById('{last}').open")), true);

    // The button copies the text beside it.
    browser.open(&pages.join(&bug_page));
    browser.click(".code button", false);
    browser.eval("new Promise((done) => setTimeout(done, 200))");
    assert_eq!(browser.eval("document.querySelector('.code button').textContent"), "Copied");
    browser.eval("document.body.append(document.createElement('textarea'))");
    browser.click("textarea", false);
    browser.eval("document.querySelector('textarea').focus()");
    browser.call(
        "Input.dispatchKeyEvent",
        serde_json::json!({ "type": "keyDown", "key": "v", "code": "KeyV", "modifiers": 2, "commands": ["paste"] }),
    );
    let pasted = browser.eval("document.querySelector('textarea').value");
    let text = browser.eval("document.querySelector('.code pre').textContent");
    assert!(text.as_str().unwrap().starts_with("litmake check"), "{text}");
    assert_eq!(pasted, text);

    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn dates_below_a_plot_do_not_touch() {
    let Some(mut browser) = Browser::start() else { return };
    for nights in [20, 90, 365] {
        let dir = tempfile::tempdir().unwrap();
        let (pages, _) = pages(dir.path(), nights, 4);
        browser.look(1280, false);
        browser.open(&pages.join("index.html"));
        let gaps = browser.eval(
            "[...document.querySelectorAll('svg.plot')].flatMap((plot) => { \
             const boxes = [...plot.querySelectorAll('text[text-anchor=middle]')] \
               .map((t) => [t.getBBox(), t.textContent]) \
               .filter(([, text]) => /^\\d{4}-/.test(text)).map(([box]) => box); \
             return boxes.slice(1).map((b, i) => b.x - boxes[i].x - boxes[i].width); })",
        );
        let gaps: Vec<f64> = gaps.as_array().unwrap().iter().filter_map(|g| g.as_f64()).collect();
        assert!(gaps.len() >= 4, "{gaps:?}");
        assert!(gaps.iter().all(|gap| *gap >= 6.0), "{nights} nights: {gaps:?}");
    }
}

#[test]
fn the_feed_is_well_formed_and_names_what_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (pages, history) = pages(dir.path(), 12, 30);
    let text = std::fs::read_to_string(pages.join("feed.xml")).unwrap();
    assert!(!text.contains("<script>"), "{text}");
    let changes: usize = (0..history.runs.len())
        .flat_map(|at| {
            [Change::New, Change::Reopened, Change::Fixed].map(|c| history.changed(at, c).len())
        })
        .sum();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&pages.join("index.html"));
    // What RFC 4287 requires: an id, a title and a date for the feed and for each entry, ids that are absolute and
    // unique, an author, and links with an address.
    let read = format!(
        "(() => {{ const xml = new DOMParser().parseFromString({text:?}, 'application/xml'); \
         if (xml.querySelector('parsererror')) return xml.documentElement.textContent; \
         const own = (e, name) => [...e.children].filter((c) => c.localName === name); \
         const feed = xml.documentElement, entries = own(feed, 'entry'); \
         if (feed.namespaceURI !== 'http://www.w3.org/2005/Atom' || feed.localName !== 'feed') return 'no feed'; \
         for (const e of [feed, ...entries]) for (const name of ['id', 'title', 'updated']) \
           if (own(e, name).length !== 1 || !own(e, name)[0].textContent) return 'no ' + name; \
         if (own(feed, 'author').length !== 1 || !own(own(feed, 'author')[0], 'name').length) return 'no author'; \
         const ids = [feed, ...entries].map((e) => own(e, 'id')[0].textContent); \
         if (new Set(ids).size !== ids.length || ids.some((id) => !id.startsWith('urn:uuid:'))) return 'ids'; \
         if ([...xml.querySelectorAll('updated')].some((u) => Number.isNaN(Date.parse(u.textContent)))) return 'date'; \
         if ([...xml.querySelectorAll('link')].some((l) => !l.getAttribute('href'))) return 'link'; \
         return entries.length; }})()"
    );
    assert_eq!(browser.eval(&read), changes.min(100));
    assert!(changes > 10);
    let linked = browser.eval("document.querySelector('link[type=\"application/atom+xml\"]').href");
    assert!(linked.as_str().unwrap().ends_with("/feed.xml"), "{linked}");
    // With an address, links have it.
    let based = site::files(&history, "0.1.0", Some("https://example.org/x/"));
    let feed = based.iter().find(|f| f.name == "feed.xml").unwrap();
    assert!(feed.content.contains(" xml:base=\"https://example.org/x/\""));
}
