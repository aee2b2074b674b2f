//! `litmake report merge`: joins the reports of the parts of a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::report::terminal::Style;
use litmake::report::{Report, merge};

use super::common;

/// Join the reports of the parts of a run (`litmake run --shard I/N --report FILE`).
///
/// Each part is given once. Parts that are missing are named, and then the merged report is partial.
/// The exit status is that of the whole run: 3 if a part is missing or was stopped.
#[derive(clap::Args)]
pub struct Args {
    /// The report of each part
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,

    #[command(flatten)]
    formats: super::run::Formats,
}

pub fn read(path: &Path) -> Result<Report> {
    let text = litmake::file::read_text(path, litmake::report::MAX_BYTES)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    let mut report: Report = serde_json::from_str(&text)
        .map_err(|e| Diag::new(format!("{}: this is no report: {e}", path.display())))?;
    report.settle_old();
    Ok(report)
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let parts = args.reports.iter().map(|path| read(path)).collect::<Result<_>>()?;
    let report = merge::merge(parts)?;
    let style = Style { color: common::stdout_color(), ..Style::default() };
    super::run::say_summary(&report, style);
    args.formats.write(&report)?;
    // Each part has annotated its own findings.
    if super::run::on_github() {
        super::run::job_summary(&report);
    }
    Ok(report.exit_status())
}
