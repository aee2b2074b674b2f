//! Reads a litmus test, simulates it, and prints the final states that a memory model allows.
//!
//!     cargo run --example simulate -- TEST.litmus [MODEL]
//!
//! The model is a name (`sc`, `rc11`, `aarch64`, ...) or the path of a cat file; without one, it is the
//! model of the test's dialect.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints what it finds")]

use std::path::Path;
use std::process::ExitCode;

use litmake::cat::{self, LoadOptions};
use litmake::diag::{Diag, Result, Source};
use litmake::file;
use litmake::litmus;
use litmake::sim::{Model, Options, Simulator};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.first() else {
        eprintln!("usage: simulate TEST.litmus [MODEL]");
        return ExitCode::FAILURE;
    };
    match simulate(path, args.get(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(diag) => {
            eprintln!("{diag}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(path: &str, model: Option<&String>) -> Result<()> {
    let text = file::read_text(Path::new(path), file::MAX_TEXT)
        .map_err(|e| Diag::new(format!("cannot read {path}: {e}")))?;
    let test = litmus::read(&Source::new(path, text))?;

    let name = model.map_or(test.arch.default_model(), String::as_str);
    let model = Model::load(&cat::load(name, &LoadOptions::new(test.arch))?)?;

    let outcomes = Simulator::default().simulate(&test, &model, &Options::default())?;
    println!("{name} allows of {}:", test.name);
    for state in &outcomes.states {
        let values: Vec<String> = state.iter().map(|(name, v)| format!("{name}={v}")).collect();
        println!("  {}", values.join("; "));
    }
    println!(
        "its condition is {}",
        if outcomes.validated() { "satisfied" } else { "not satisfied" }
    );
    Ok(())
}
