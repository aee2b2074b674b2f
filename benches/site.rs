//! A year of nights: how large its record and its site are, and how long it takes to make them.
//!
//!     cargo bench --bench site -- [NIGHTS] [BUGS]
//!
//! The reports are made up. What they say of bugs is no result of anything.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

#[path = "../src/site/tests/pages/nights.rs"]
mod nights;

use std::time::Instant;

use litmake::site;
use litmake_history::folder::Folder;
use litmake_history::lives::History;
use litmake_history::record::Circumstances;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let (nights, bugs) = (numbers.next().unwrap_or(365), numbers.next().unwrap_or(500));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::new(&dir.path().join("history"));
    let mut reports = nights::Nights::new(bugs);
    let start = Instant::now();
    for night in 0..nights {
        let about = Circumstances {
            date: nights::date(night),
            host: Some("made up".into()),
            commit: Some(format!("{night:07x}")),
        };
        folder.add(&reports.night(night, nights), &about).expect("a run is added");
    }
    println!(
        "{nights} nights added in {:.2} s, one after the other",
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let read = folder.read().expect("the record is read");
    let history = History::of(read.kept);
    println!(
        "read in {:.2} s: {} runs, {} bugs, {:.1} MB of files",
        start.elapsed().as_secs_f64(),
        history.runs.len(),
        history.bugs.len(),
        size(folder.path()) as f64 / 1e6
    );
    let start = Instant::now();
    let pages = dir.path().join("pages");
    let (files, bytes) = site::write(&history, "bench", None, &pages).expect("the site is written");
    println!(
        "site written in {:.2} s: {files} files, {:.1} MB",
        start.elapsed().as_secs_f64(),
        bytes as f64 / 1e6
    );
}

fn size(folder: &std::path::Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|e| e.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
