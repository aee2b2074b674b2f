//! The command line: one file a subcommand. Only here is anything printed.

mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A make for litmus tests: finds concurrency bugs in compilers and in implementations of
/// memory models, and redoes only what changed.
#[derive(Parser)]
#[command(name = "litmake", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sim(sim::Args),
}

pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Sim(args) => sim::main(args),
    }
}
