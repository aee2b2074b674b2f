//! `litmake table`: the numbers of a report, in the form of Telechat's Table IV.

use std::path::PathBuf;
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::report::table;

use super::common;

/// Print what comparisons came to, by architecture, compiler and level, as Telechat's Table IV.
#[derive(clap::Args)]
#[command(after_help = "Example:
  litmake run pipelines/telechat-table4.yaml --report report.json
  litmake table report.json")]
pub struct Args {
    /// A report that `litmake run`, `check`, `diff` or `merge` wrote
    #[arg(value_name = "REPORT")]
    report: PathBuf,

    /// Of what changed between compilers, name every test
    #[arg(short, long)]
    verbose: bool,
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(e) => common::fail(&e),
    }
}

fn run(args: &Args) -> Result<String> {
    let report = super::merge::read(&args.report)?;
    let text = table::differences(&report) + &table::changes(&report.changes, args.verbose);
    match text.is_empty() {
        true => Err(Diag::new(format!("{}: nothing was compared", args.report.display()))
            .help("a table is made of what `compare` and `diff` stages found")),
        false => Ok(text),
    }
}
