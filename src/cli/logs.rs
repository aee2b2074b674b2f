//! `litmake logs`: compares logs of simulators and machines, and adds them up.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result, Source};
use litmake::litmus::log;
use litmake::report::logs::{Comparison, Log, Rows};

use super::common;

/// Compare logs of models and machines, or add them up.
///
/// It reads logs of `litmake sim`, `litmake cpu`, herd7, litmus7 and klitmus7.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Compare(Compare),
    Diff(Diff),
    Sum(Sum),
}

/// Compare logs test by test, each with the first one (like mcompare7).
///
/// Give the log of a model first, then those of machines: `+` then marks what a machine shows and
/// the model forbids. The exit status is 1 if a log has states that the first one lacks.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake sim -m aarch64 @tests > model.log
  litmake logs compare model.log machine-1.log machine-2.log
  litmake logs compare model.log machine.log --rows more --markdown")]
struct Compare {
    /// The logs; `-` is standard input
    #[arg(required = true, num_args = 2.., value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The tests that are shown
    #[arg(long, value_enum, default_value = "differing")]
    rows: Shown,

    /// Print JSON, with all tests
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shown {
    /// Tests in which a log differs from the first, or that one of the two lacks
    Differing,
    /// Tests in which a log has states that the first lacks
    More,
    All,
}

/// Show where two logs differ (like mdiff7); the exit status is 1 if they do.
#[derive(clap::Args)]
struct Diff {
    /// A log; `-` is standard input
    #[arg(value_name = "LOG")]
    first: PathBuf,
    /// The log to compare it with
    #[arg(value_name = "LOG")]
    second: PathBuf,
}

/// Add logs up, test by test, and print the sum as a log (like msum7).
#[derive(clap::Args)]
struct Sum {
    /// The logs; `-` is standard input
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
}

pub fn main(args: Args) -> ExitCode {
    let result = match args.command {
        Command::Compare(args) => compare(&args),
        Command::Diff(args) => diff(&args),
        Command::Sum(args) => sum(&args),
    };
    common::ended(result)
}

fn compare(args: &Compare) -> Result<u8> {
    let all = Comparison::new(&read_all(&args.logs)?);
    let rows = match args.rows {
        Shown::Differing => Rows::Differing,
        Shown::More => Rows::More,
        Shown::All => Rows::All,
    };
    print!(
        "{}",
        match (args.json, args.markdown) {
            (true, _) => all.json(),
            (_, true) => all.markdown(rows),
            _ => all.text(rows),
        }
    );
    Ok(u8::from(all.has_more()))
}

fn diff(args: &Diff) -> Result<u8> {
    let all = Comparison::new(&read_all(&[args.first.clone(), args.second.clone()])?);
    print!("{}", all.text(Rows::Differing));
    Ok(u8::from(all.differs()))
}

fn sum(args: &Sum) -> Result<u8> {
    let logs: Vec<_> = read_all(&args.logs)?.into_iter().map(|l| l.entries).collect();
    for entry in log::sum(&logs) {
        print!("{entry}");
    }
    Ok(0)
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<Log>> {
    if paths.iter().filter(|p| is_input(p)).count() > 1 {
        return Err(Diag::new("standard input, `-`, can be read once"));
    }
    let names = names(paths);
    paths.iter().zip(names).map(|(path, name)| read(path, name)).collect()
}

fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The names of the logs: file names without their ending if these are distinct, otherwise paths.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short: Vec<String> = paths
        .iter()
        .map(|p| p.file_stem().unwrap_or(p.as_os_str()).to_string_lossy().into_owned())
        .collect();
    let mut distinct = short.clone();
    distinct.sort_unstable();
    distinct.dedup();
    match distinct.len() == short.len() {
        true => short,
        false => paths.iter().map(|p| p.display().to_string()).collect(),
    }
}

fn read(path: &Path, name: String) -> Result<Log> {
    let text = match is_input(path) {
        true => {
            let mut text = String::new();
            let limit = litmake::file::MAX_DATA;
            let read = std::io::stdin().lock().take(limit).read_to_string(&mut text);
            read.map_err(|e| Diag::new(format!("cannot read standard input: {e}")))?;
            text
        }
        false => litmake::file::read_text(path, litmake::file::MAX_DATA)
            .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?,
    };
    let source = Source::new(path.display().to_string(), text);
    let entries = log::read(&source)?;
    if entries.is_empty() {
        let message = format!("{}: there is no test in it", path.display());
        return Err(Diag::new(message).help(
            "a log has a line `Test NAME Allowed` for each test, as herd7 and litmus7 print",
        ));
    }
    Ok(Log { name, entries })
}
