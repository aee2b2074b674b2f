//! Random tests of a dialect, every engine against the exhaustive reference, as many as asked for:
//!
//!     cargo run --example differential -- DIALECT COUNT [SEED]
//!
//! simulates COUNT tests from SEED on under the built-in models and under models of users, and
//! prints each test on which they differ. `--write DIR` writes the tests to files instead, those
//! that herd7 can read too, to compare with it.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

#[path = "../tests/common/differ.rs"]
mod differ;
#[path = "../tests/common/exec.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod exec;
#[path = "../tests/common/wide.rs"]
mod wide;

use exec::Rng;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let folder = words.iter().position(|w| w == "--write").map(|i| {
        words.remove(i);
        if i < words.len() { words.remove(i) } else { ".".to_string() }
    });
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<u64>().ok());
    let named = |w: &String| wide::DIALECTS.iter().find(|(a, _)| a.name().eq_ignore_ascii_case(w));
    let (Some((arch, models)), Some(count)) = (words.first().and_then(named), number(1)) else {
        let names: Vec<&str> = wide::DIALECTS.iter().map(|(a, _)| a.name()).collect();
        eprintln!("usage: differential DIALECT COUNT [SEED] [--write DIR]");
        eprintln!("DIALECT is one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    let first = number(2).unwrap_or(0);
    if let Some(folder) = folder {
        for seed in first..first + count {
            let text = wide::test(&mut Rng::new(seed), *arch, true);
            let text = text.replacen(" wide\n", &format!(" wide{seed}\n"), 1);
            let path = format!("{folder}/{}-{seed}.litmus", arch.name());
            if let Err(e) = std::fs::write(&path, text) {
                eprintln!("cannot write {path}: {e}");
                return ExitCode::from(2);
            }
        }
        return ExitCode::SUCCESS;
    }
    let mut models = differ::built_in(*arch, models);
    models.extend(differ::users(*arch));
    let (mut answers, mut errors, mut wrong) = (0u64, 0u64, 0u64);
    for seed in first..first + count {
        let text = wide::test(&mut Rng::new(seed), *arch, false);
        for (name, model) in &models {
            match differ::compare(&text, model) {
                Ok(true) => answers += 1,
                Ok(false) => errors += 1,
                Err(difference) => {
                    wrong += 1;
                    println!("seed {seed} under {name}: {difference}\n{text}");
                }
            }
        }
    }
    println!("{answers} answers are equal, {errors} are errors of every engine, {wrong} differ");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
