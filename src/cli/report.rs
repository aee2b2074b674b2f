//! `litmake report`: what can be done with the reports of runs. It does not know how they are made.

use std::process::ExitCode;

use super::{baseline, merge, table};

/// Join reports, print one as a table, or record its findings as known.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake report merge part1.json part2.json --report whole.json
  litmake report table whole.json
  litmake report baseline whole.json --baseline known.json")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Merge(merge::Args),
    Table(table::Args),
    Baseline(baseline::Update),
}

pub fn main(args: Args) -> ExitCode {
    match args.command {
        Command::Merge(args) => merge::main(args),
        Command::Table(args) => table::main(args),
        Command::Baseline(args) => baseline::update(&args),
    }
}
