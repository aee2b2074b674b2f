//! `litmake mutants`: measures by mutants how good a testing environment is.

mod analyses;
pub mod reproduce;
mod run;
pub mod tune;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::stats::results::{MAX_BYTES, Results};

use super::{common, confidence};

/// Run tests on a GPU, and measure by mutants how good the testing was.
///
/// Result files have the form of the MC Mutants artifact.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Score(analyses::Score),
    Merge(analyses::Merge),
    Correlate(analyses::Correlate),
    Confidence(confidence::Args),
    Run(run::Run),
    Tune(tune::Tune),
    Reproduce(reproduce::Reproduce),
    List(run::List),
    Devices(run::Devices),
}

pub fn main(args: Args) -> ExitCode {
    let done = match &args.command {
        Command::Score(a) => analyses::score(a),
        Command::Merge(a) => analyses::merge(a),
        Command::Correlate(a) => analyses::correlate(a),
        Command::Run(a) => run::run(a),
        Command::Tune(a) => tune::tune(a),
        Command::Reproduce(a) => reproduce::reproduce(a),
        Command::List(a) => run::list(a),
        Command::Devices(a) => run::devices(a),
        Command::Confidence(a) => confidence::run(a).map(|()| 0),
    };
    common::ended(done)
}

/// Results that are analysed together: one file for each device.
pub struct Set {
    pub name: String,
    pub devices: Vec<(String, Results)>,
}

pub fn read(path: &Path) -> Result<Results> {
    let at = |e: String| Diag::new(format!("{}: {e}", path.display()));
    let size = std::fs::metadata(path)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?
        .len();
    if size > MAX_BYTES {
        return Err(at(format!("{size} bytes are too many for a result file")));
    }
    let text = litmake::file::read_text(path, litmake::file::MAX_DATA)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    Results::read(&text).map_err(at)
}

fn part(path: Option<&std::ffi::OsStr>) -> String {
    path.map_or(String::new(), |p| p.to_string_lossy().into_owned())
}

/// Reads files as one set, or as one set for each folder.
pub fn sets(paths: &[PathBuf], by_folder: bool) -> Result<Vec<Set>> {
    let mut out: Vec<Set> = Vec::new();
    for path in paths {
        let folder = part(path.parent().and_then(Path::file_name));
        let stem = part(path.file_stem());
        let name = if by_folder { folder.clone() } else { String::new() };
        let results = read(path)?;
        let at = match out.iter().position(|s| s.name == name) {
            Some(at) => at,
            None => {
                out.push(Set { name, devices: Vec::new() });
                out.len() - 1
            }
        };
        let devices = &mut out[at].devices;
        let taken = |n: &String| devices.iter().any(|(d, _)| d == n);
        let mut device = stem.clone();
        if taken(&device) {
            device = format!("{folder}/{stem}");
        }
        let mut n = 2;
        while taken(&device) {
            device = format!("{folder}/{stem}#{n}");
            n += 1;
        }
        devices.push((device, results));
    }
    Ok(out)
}
