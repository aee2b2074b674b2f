//! How fast tests are read and simulated, on one thread.
//!
//!     cargo bench --bench simulate -- @LIST...
//!
//! Without a list, a family of message-passing tests made here. Where HERD7 names a herd7, it is
//! run on the same lists, one process a list, right after, and the ratio is printed.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Arch, list};
use litmake::sim::{Model, Options, Simulator};

fn main() {
    let lists: Vec<String> = std::env::args().skip(1).filter(|a| a.starts_with('@')).collect();
    if lists.is_empty() {
        let sources: Vec<Source> = (0..2000).map(message_passing).collect();
        report("built-in", &sources);
        return;
    }
    for name in &lists {
        let paths =
            match list::arguments(std::slice::from_ref(name), &|p| std::fs::read_to_string(p)) {
                Ok(paths) => paths,
                Err(diag) => {
                    eprintln!("{diag}");
                    continue;
                }
            };
        let sources: Vec<Source> = paths.iter().filter_map(source).collect();
        let ours = report(name, &sources);
        if let Some(herd) = std::env::var_os("HERD7") {
            against(&herd, &paths, &sources, ours);
        }
    }
}

fn source(path: &PathBuf) -> Option<Source> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(Source::new(path.display().to_string(), text))
}

/// Reads and simulates every test until two seconds have passed; the time of one round.
fn report(name: &str, sources: &[Source]) -> Duration {
    let mut simulator = Simulator::default();
    let mut models: Vec<(Arch, Model)> = Vec::new();
    let mut best = Duration::MAX;
    let (mut outcomes, mut errors, mut nodes) = (0, 0, 0);
    let begin = Instant::now();
    while best == Duration::MAX || begin.elapsed() < Duration::from_secs(2) {
        (outcomes, errors, nodes) = (0, 0, 0);
        let start = Instant::now();
        for source in sources {
            let Ok(test) = litmus::read(source) else {
                errors += 1;
                continue;
            };
            if !models.iter().any(|(a, _)| *a == test.arch) {
                let options = LoadOptions::new(test.arch);
                let model = cat::load(test.arch.default_model(), &options)
                    .and_then(|m| Model::load(&m))
                    .expect("built-in models load");
                models.push((test.arch, model));
            }
            let model = &models.iter().find(|(a, _)| *a == test.arch).expect("just added").1;
            match simulator.simulate(&test, model, &Options::default()) {
                Ok(found) => {
                    outcomes += found.states.len();
                    nodes += found.stats.nodes;
                }
                Err(_) => errors += 1,
            }
        }
        best = best.min(start.elapsed());
    }
    let n = sources.len().max(1) as f64;
    println!(
        "{name}: {} tests, {:.1} us a test, {:.0} tests/s, {:.1} partial executions a test, \
         {outcomes} outcomes, {errors} errors",
        sources.len(),
        best.as_secs_f64() * 1e6 / n,
        n / best.as_secs_f64(),
        nodes as f64 / n,
    );
    best
}

fn against(herd: &std::ffi::OsStr, paths: &[PathBuf], sources: &[Source], ours: Duration) {
    let is_c = sources.first().is_some_and(|s| s.text.starts_with("C "));
    let mut command = Command::new(herd);
    if is_c {
        command.args(["-model", "rc11.cat"]);
    }
    command.args(paths).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    match command.status() {
        Ok(_) => {
            let theirs = start.elapsed();
            println!(
                "  herd7: {:.2} s; ratio {:.0}",
                theirs.as_secs_f64(),
                theirs.as_secs_f64() / ours.as_secs_f64()
            );
        }
        Err(e) => eprintln!("  herd7 did not run: {e}"),
    }
}

/// Message passing with every combination of some orders, under names of their own.
fn message_passing(i: usize) -> Source {
    let store = ["memory_order_relaxed", "memory_order_release", "memory_order_seq_cst"];
    let load = ["memory_order_relaxed", "memory_order_acquire", "memory_order_seq_cst"];
    let text = format!(
        "C MP{i}\n{{}}\nP0 (atomic_int* x, atomic_int* y) {{\n  \
         atomic_store_explicit(x,{},{});\n  atomic_store_explicit(y,1,{});\n}}\n\
         P1 (atomic_int* x, atomic_int* y) {{\n  int r0 = atomic_load_explicit(y,{});\n  \
         int r1 = atomic_load_explicit(x,{});\n}}\nexists (1:r0=1 /\\ 1:r1=0)\n",
        1 + i % 5,
        store[i % 3],
        store[i / 3 % 3],
        load[i / 9 % 3],
        load[i / 27 % 3],
    );
    Source::new(format!("MP{i}"), text)
}
