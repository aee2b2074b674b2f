//! `litmake report table`: prints the counts of a report, in the form of Telechat's Table IV.

use std::path::PathBuf;
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::report::{statement, table};

use super::common;

/// Print the counts of a report by architecture, compiler and level.
///
/// The table has the form of Telechat's Table IV.
///
/// Exit status: 0, the report's run judged everything that was asked; 2, wrong input; 3, it did not.
#[derive(clap::Args)]
#[command(after_help = "Example:
  litmake run pipelines/telechat-table4.yaml --report report.json
  litmake report table report.json
  litmake run pipelines/abi-riscv.yaml --report abi.json
  litmake report table --abi abi.json > ABI.md")]
pub struct Args {
    /// A report that `litmake run`, `check`, `diff` or `report merge` wrote
    #[arg(value_name = "REPORT")]
    report: PathBuf,

    /// Also name every test whose code or outcomes changed between compilers
    #[arg(short, long)]
    verbose: bool,

    /// Print the ABI statement of mixed compilers, in Markdown: which of them fit together, the
    /// code of each operation by compiler and version, and the tests that this is based on
    #[arg(long, conflicts_with = "verbose")]
    abi: bool,
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok((text, status)) => {
            print!("{text}");
            ExitCode::from(status)
        }
        Err(e) => common::fail(&e),
    }
}

fn run(args: &Args) -> Result<(String, u8)> {
    let report = super::merge::read(&args.report)?;
    let status = report.verdict.status();
    if args.abi {
        let text = statement::document(&report);
        return match text.is_empty() {
            true => Err(Diag::new(format!("{}: nothing was mixed", args.report.display()))
                .help("a statement is made of `compare` stages behind a `link` stage, or of `check --split`")),
            false => Ok((text, status)),
        };
    }
    let text = table::differences(&report) + &table::changes(&report.changes, args.verbose);
    match text.is_empty() {
        true => Err(Diag::new(format!("{}: nothing was compared", args.report.display()))
            .help("a table is made of what `compare` and `diff` stages found")),
        false => Ok((format!("{text}{}\n", report.verdict.words()), status)),
    }
}
