//! `litmake report baseline`: writes the file of known findings, and of known differences between
//! compilers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::Result;
use litmake::report::baseline::Baseline;
use litmake::report::number;

use super::common;

/// The name that this command had first: `litmake report baseline`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Update(Update),
}

/// Record the findings of a report as known, so that they do not make a run fail.
///
/// Findings that the report calls fixed are forgotten. From a report of `litmake diff`, the outcomes
/// that compilers gain and lose are recorded.
#[derive(clap::Args)]
pub struct Update {
    /// The run's report
    #[arg(value_name = "REPORT")]
    report: PathBuf,

    /// The baseline, which is created if it is missing
    #[arg(long, default_value = "baseline.json", value_name = "FILE")]
    baseline: PathBuf,
}

pub fn main(args: Args) -> ExitCode {
    let Command::Update(args) = args.command;
    update(&args)
}

pub fn update(args: &Update) -> ExitCode {
    match write(&args.report, &args.baseline) {
        Ok((findings, changes)) => {
            let mut known = number(findings as u64, "known finding");
            if changes > 0 {
                known += &format!(", {}", number(changes as u64, "known change"));
            }
            println!("{}: {known}", args.baseline.display());
            ExitCode::SUCCESS
        }
        Err(e) => common::fail(&e),
    }
}

pub fn write(report: &Path, baseline: &Path) -> Result<(usize, usize)> {
    let report = super::merge::read(report)?;
    let new = Baseline::read(baseline)?.update(&report);
    litmake::file::write(baseline, new.json())?;
    Ok((new.known.len(), new.changes.len()))
}
