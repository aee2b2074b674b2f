//! Time from a saved one-line edit to the new verdict under `litmake run --watch`.
//!
//!     cargo bench --bench watch -- [TESTS] [EDITS]
//!
//! The pipeline compiles every test with gcc, simulates both sides and compares. An edit turns
//! the orders of one test from `seq_cst` to `relaxed` or back, which changes the outcomes of both
//! sides; the verdict is there when the report on the disk is another one.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn test(i: u64, order: &str) -> String {
    let (x, y) = (1 + i, 2 + i);
    format!(
        "C t{i:06}\n{{}}\nP0 (atomic_long* x, atomic_long* y) {{\n  atomic_store_explicit(x, {x}, memory_order_{order});\n  long r0 = atomic_load_explicit(y, memory_order_{order});\n}}\nP1 (atomic_long* x, atomic_long* y) {{\n  atomic_store_explicit(y, {y}, memory_order_{order});\n  long r0 = atomic_load_explicit(x, memory_order_{order});\n}}\nexists (0:r0=0 /\\ 1:r0=0)\n"
    )
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().filter(|t| t.ends_with("}\n"))
}

/// Waits for a report that is another than the last, and gives what ran for it.
fn wait(path: &Path, last: &mut String) -> u64 {
    loop {
        if let Some(now) = text(path).filter(|t| t != last) {
            let report: serde_json::Value = serde_json::from_str(&now).expect("JSON");
            *last = now;
            let stages = report["stages"].as_array().into_iter().flatten();
            return stages.map(|s| s["executed"].as_u64().unwrap_or(0)).sum();
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let count: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(10_000);
    let edits: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(20);
    let scratch = tempfile::tempdir().expect("a folder");
    let dir = scratch.path();
    std::fs::create_dir(dir.join("tests")).expect("a folder");
    let path = |i: u64| dir.join(format!("tests/t{i:06}.litmus"));
    for i in 0..count {
        std::fs::write(path(i), test(i, "seq_cst")).expect("a file");
    }
    let pipeline = "stages:\n  - {name: tests, generate: {files: tests}}\n  - {name: allowed, simulate: {from: tests, model: rc11}}\n  - {name: code, compile: {from: tests, profile: gcc-12-x86_64-O2}}\n  - {name: seen, simulate: {from: code}}\n  - {name: verdicts, compare: {source: allowed, target: seen}}\n";
    std::fs::write(dir.join("p.yaml"), pipeline).expect("a file");
    let report = dir.join("report.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_litmake"))
        .args(["run", "p.yaml", "--watch", "-q", "--report", "report.json"])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("litmake starts");
    let mut last = String::new();
    let start = Instant::now();
    let ran = wait(&report, &mut last);
    println!("{count} tests: first run {:.1} s, {ran} tasks ran", start.elapsed().as_secs_f64());
    std::thread::sleep(Duration::from_millis(500));
    let mut times = Vec::new();
    for edit in 0..edits {
        let i = edit * 7919 % count;
        last = text(&report).unwrap_or(last);
        let start = Instant::now();
        std::fs::write(path(i), test(count + edit, "relaxed")).expect("a file");
        let ran = wait(&report, &mut last);
        times.push(start.elapsed());
        println!(
            "edit {edit:2}: {:>7.1} ms, {ran} tasks ran",
            times[edit as usize].as_secs_f64() * 1e3
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    times.sort();
    println!(
        "median {:.1} ms, slowest {:.1} ms",
        times[times.len() / 2].as_secs_f64() * 1e3,
        times[times.len() - 1].as_secs_f64() * 1e3
    );
    let _ = child.kill();
    let _ = child.wait();
}
