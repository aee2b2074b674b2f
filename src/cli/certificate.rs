//! `litmake certificate`: confirms certificates. Also makes them, for `litmake sim --certify` and for findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use litmake::base::failure::{FailureKind, Fault};
use litmake::certificate::{self, Confirmed, Wrong};
use litmake::diag::{Diag, Result};
use litmake::file;
use litmake::litmus::Test;
use litmake::sim::{Model, Options, Simulator};

use super::common;

/// Confirm certificates, which `litmake sim --certify` and `--findings` write.
///
/// A certificate says which outcomes a model allows for a test, and proves it. A small checker confirms
/// it, without the simulator; docs/certificates.md says what it trusts.
///
/// Exit status: 0, all are confirmed; 1, one is not; 2, one could not be read.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake sim --certify certs SB.litmus && litmake certificate check certs/SB.cert
  litmake check --findings found TEST.litmus; cd found/*
  litmake certificate finding source.cert code.cert")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check that certificates prove what they say
    Check {
        /// The certificates
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,

        /// Print the outcomes, too
        #[arg(long)]
        outcomes: bool,
    },
    /// Check that compiled code allows an outcome that its source forbids: print each such outcome
    Finding {
        /// The certificate of the source
        source: PathBuf,

        /// The certificate of the code
        code: PathBuf,
    },
}

pub fn main(args: &Args) -> ExitCode {
    match &args.command {
        Command::Check { files, outcomes } => {
            let statuses = files.iter().map(|path| match confirmed(path) {
                Ok(Ok(confirmed)) => {
                    say(path, &confirmed);
                    if *outcomes {
                        confirmed.outcomes.iter().for_each(|o| println!("  {}", state(o)));
                    }
                    0
                }
                Ok(Err(wrong)) => unconfirmed(path, &wrong),
                Err(e) => {
                    eprintln!("{e}");
                    2
                }
            });
            ExitCode::from(statuses.max().unwrap_or(0))
        }
        Command::Finding { source, code } => common::ended(finding(source, code)),
    }
}

/// Reads the file of a certificate, and returns the claim that the checker confirms or the reason why it does not.
fn confirmed(path: &Path) -> Result<std::result::Result<Confirmed, Wrong>> {
    let text = file::read_text(path, file::MAX_DATA)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    Ok(certificate::check(&text))
}

fn unconfirmed(path: &Path, wrong: &Wrong) -> u8 {
    println!("{}: NOT CONFIRMED: {wrong}", path.display());
    1
}

fn say(path: &Path, confirmed: &Confirmed) {
    let Confirmed { test, model, combinations, clauses, steps, .. } = confirmed;
    let what = match (confirmed.undefined, confirmed.outcomes.len()) {
        (true, _) => "has undefined behaviour".to_string(),
        (_, n) => {
            let plural = if n == 1 { "" } else { "s" };
            let bounded = if confirmed.bounded { " within the bound of loops" } else { "" };
            format!(
                "has {n} outcome{plural} and no other{bounded} \
                 (combinations of paths: {combinations}, clauses: {clauses}, steps: {steps})"
            )
        }
    };
    println!("{}: confirmed: {test} under {model} {what}", path.display());
    println!("  seal {}", confirmed.seal);
}

fn state(outcome: &[(String, String)]) -> String {
    let parts: Vec<String> =
        outcome.iter().map(|(name, value)| format!("{name}={value};")).collect();
    parts.join(" ")
}

/// Confirms both sides of a finding, and prints what only the code allows.
fn finding(source: &Path, code: &Path) -> Result<u8> {
    let mut both = Vec::new();
    for path in [source, code] {
        match confirmed(path)? {
            Ok(confirmed) => {
                say(path, &confirmed);
                both.push(confirmed);
            }
            Err(wrong) => return Ok(unconfirmed(path, &wrong)),
        }
    }
    let [source, code] = &both[..] else { return Ok(2) };
    if source.undefined {
        println!("no finding: the source has undefined behaviour, so that every outcome is right");
        return Ok(1);
    }
    let names = |c: &Confirmed| -> BTreeSet<String> {
        c.outcomes.iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let common: BTreeSet<String> = names(source).intersection(&names(code)).cloned().collect();
    let shown = |c: &Confirmed| -> BTreeSet<BTreeMap<String, String>> {
        let kept = |o: &Vec<(String, String)>| {
            o.iter().filter(|(name, _)| common.contains(name)).cloned().collect()
        };
        c.outcomes.iter().map(kept).collect()
    };
    let (right, seen) = (shown(source), shown(code));
    let wrong: Vec<_> = seen.difference(&right).collect();
    for outcome in &wrong {
        let outcome: Vec<(String, String)> = (*outcome).clone().into_iter().collect();
        println!("the code allows, and the source forbids: {}", state(&outcome));
    }
    if wrong.is_empty() {
        println!("no finding: the source allows every outcome of the code");
    }
    Ok(u8::from(wrong.is_empty()))
}

/// Proves the outcomes of a test; the certificate's text.
pub fn made(
    simulator: &mut Simulator,
    test: &Test,
    model: &Model,
    options: &Options,
) -> Result<String> {
    let problem = simulator.problem(test, model, options)?;
    let end = options.timeout.map(|t| Instant::now() + t);
    let late = || end.is_some_and(|end| Instant::now() > end);
    let proved = certificate::prove(&problem.lines, &late).map_err(|Wrong(what)| match late() {
        true => Diag::new(format!("{}: no certificate in time", test.name))
            .help("give it more time with --timeout")
            .kind(FailureKind::Broken(Fault::OutOfTime)),
        false => Diag::new(format!("{}: there is no certificate: {what}", test.name)),
    })?;
    let (mut found, mut proved_ones) = (problem.outcomes, proved.outcomes);
    found.sort_unstable();
    proved_ones.sort_unstable();
    match problem.undefined == proved.undefined && (proved.undefined || found == proved_ones) {
        true => Ok(proved.text),
        false => Err(Diag::new(format!(
            "{}: the simulator and the proof have different outcomes; please report it",
            test.name
        ))),
    }
}

/// A folder that certificates are written to.
pub struct Folder<'f> {
    path: &'f Path,
    /// The names of those that are written.
    names: Mutex<BTreeSet<String>>,
}

impl Folder<'_> {
    pub fn new(path: &Path) -> Folder<'_> {
        Folder { path, names: Mutex::default() }
    }

    /// Writes the certificate of a test.
    pub fn add(
        &self,
        simulator: &mut Simulator,
        test: &Test,
        model: &Model,
        options: &Options,
    ) -> Result<()> {
        let plain = |c: char| if c.is_alphanumeric() || "+-_.".contains(c) { c } else { '_' };
        let name: String = test.name.chars().map(plain).collect();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.insert(name.clone()) {
            let message = format!("{}: another test of this name has its certificate", test.name);
            return Err(Diag::new(message).help("give each of them a folder of its own"));
        }
        drop(names);
        let text = made(simulator, test, model, options)?;
        std::fs::create_dir_all(self.path)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", self.path.display())))?;
        file::write(&self.path.join(format!("{name}.cert")), text)
    }
}
