//! Whether both ways to link a mix give tests that allow the same: joining the parts' code, and
//! linking separately compiled objects with lld or GNU ld and lifting the program, calls and all.
//!
//!     cargo run --profile fast --example link_both -- [--gnu] [--thread] [--seconds=N] 500 PROFILE PROFILE...
//!
//! The mixes are of tests of the families mix-accesses and mix-table4, each part by a profile that
//! is drawn. After so many seconds it ends with what was compared. The exit status is 1 where
//! outcomes differ.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use litmake::mix::By;

#[path = "../tests/common/mixes.rs"]
mod mixes;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (options, rest): (Vec<String>, Vec<String>) =
        args.into_iter().partition(|a| a.starts_with("--"));
    let count = rest.first().and_then(|n| n.parse().ok());
    let (Some(count), true) = (count, rest.len() > 1) else {
        eprintln!("usage: link_both [--gnu] [--thread] [--seconds=N] MIXES PROFILE...");
        return ExitCode::from(2);
    };
    let has = |name: &str| options.iter().any(|o| o == name);
    let seconds = options.iter().find_map(|o| o.strip_prefix("--seconds=")?.parse().ok());
    let request = mixes::Request {
        profiles: &rest[1..],
        mixes: count,
        tests: count / 3 + 1,
        gnu: has("--gnu"),
        by: if has("--thread") { By::Thread } else { By::Instruction },
        until: seconds.map(|s| Instant::now() + Duration::from_secs(s)),
    };
    let counts = match mixes::compare(&request) {
        Ok(counts) => counts,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    for (mix, spliced, linked) in counts.different.iter().take(3) {
        println!("different: {mix}\n{spliced}\n{linked}");
    }
    println!(
        "{} mixes equal ({} with calls), {} different; splice {:.1} s, ld {:.1} s",
        counts.equal,
        counts.with_calls,
        counts.different.len(),
        counts.seconds[0],
        counts.seconds[1]
    );
    for (message, n) in &counts.refused {
        println!("{n} refused: {message}");
    }
    ExitCode::from(u8::from(!counts.different.is_empty()))
}
