//! Runs a program of tests in a child process with a time limit, and reads the counted outcomes.
//!
//! It does not know models.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use super::build::Program;
use super::environment::Environment;
use super::machine::Machine;
use super::topology;
use litmake_base::failure::{Failure, Fault};
use litmake_base::stop::Stopping;
use litmake_toolchain::execute;
use litmake_toolchain::process::{self, Ended};

/// A request to run a test in some environments, one after the other.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The number of the test in the program.
    pub test: usize,
    /// The environments, in the order in which they run.
    pub environments: &'a [Environment],
    /// The time in each environment.
    pub seconds: f64,
    /// The largest number of rounds in each environment; 0 for as many as the time allows.
    pub rounds: u64,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The counts of one environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// The number of rounds that ran.
    pub rounds: u64,
    /// The time that they took.
    pub seconds: f64,
    /// The numbers of outcomes, and their counts.
    pub outcomes: Vec<(u64, u64)>,
    /// Outcomes with values that have no number: outcome, count, and values by column.
    pub raw: Vec<(u64, u64, Vec<u64>)>,
    /// The number of such outcomes that were not kept.
    pub lost: u64,
}

fn crashed(signal: i32) -> Failure {
    let message = format!("the test was ended by signal {signal}{}", signal_name(signal));
    Failure::broken(Fault::Crashed(Some(signal)), message)
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (segmentation fault)",
        libc::SIGILL => " (illegal instruction)",
        libc::SIGBUS => " (bus error)",
        libc::SIGFPE => " (arithmetic)",
        libc::SIGABRT => " (aborted)",
        libc::SIGTRAP => " (trap)",
        _ => "",
    }
}

/// The additional time for starting and ending a test on a busy machine.
const SLACK: f64 = 20.0;
const MEMORY_MIB: u64 = 1 << 16;
/// An emulator reserves more address space than it uses.
const EMULATED_MIB: u64 = 1 << 20;

/// Runs a program and reads its counts, an entry for each environment.
pub fn run(
    machine: &Machine,
    program: &Program,
    request: &Request,
    stop: &dyn Stopping,
) -> Result<Vec<Counted>, Failure> {
    // Such failures are due to the machine or the harness.
    let refused = |message: String| Failure::machine(message);
    let mut file = tempfile::NamedTempFile::new_in(program.folder())
        .map_err(|e| refused(format!("no temporary file: {e}")))?;
    let lines: Vec<String> = request.environments.iter().map(Environment::line).collect();
    file.write_all(lines.join("\n").as_bytes())
        .map_err(|e| refused(format!("environments cannot be written: {e}")))?;
    let mut args = Vec::new();
    let command = match &machine.emulator {
        None => &program.path,
        Some(emulator) => {
            args.extend(execute::everything(machine.arch));
            args.push(program.path.display().to_string());
            emulator
        }
    };
    args.extend([
        request.test.to_string(),
        request.seed.to_string(),
        request.seconds.to_string(),
        request.rounds.to_string(),
        file.path().display().to_string(),
    ]);
    if !machine.on.is_empty() {
        args.push(topology::text(&machine.on));
    }
    let planned = request.seconds * request.environments.len() as f64;
    let timeout = Duration::try_from_secs_f64(planned * 1.5 + SLACK)
        .map_err(|_| refused(format!("{planned} is no time in seconds")))?;
    let ended = process::measure(&process::Request {
        program: command,
        args: &args,
        env: &BTreeMap::new(),
        dir: program.folder(),
        timeout,
        memory_mib: if machine.emulator.is_some() { EMULATED_MIB } else { MEMORY_MIB },
        processors: machine.processors.max(1),
        stop,
    });
    match ended {
        Ended::Exit { code: 0, stdout, .. } => {
            read(&String::from_utf8_lossy(&stdout), request.environments.len()).map_err(refused)
        }
        // Like a shell, an emulator reports the signal that ended its program in its status.
        Ended::Exit { code, .. } if machine.emulator.is_some() && code > 128 => {
            Err(crashed(code - 128))
        }
        Ended::Exit { code, stderr, .. } => {
            let said = stderr.lines().next().unwrap_or("it said nothing");
            Err(refused(format!("the test ended with status {code}: {said}")))
        }
        Ended::Signal { signal, .. } => Err(crashed(signal)),
        Ended::TooSlow => {
            let message = format!("the test did not end within {} s", timeout.as_secs());
            Err(Failure::broken(Fault::Hung, message))
        }
        Ended::Stopped => Err(Failure::stopped()),
        Ended::NotStarted(e) => Err(refused(format!("the test did not start: {e}"))),
    }
}

/// Reads the output of the harness, one part for each environment.
fn read(text: &str, count: usize) -> Result<Vec<Counted>, String> {
    let mut out = Vec::new();
    let mut now: Option<Counted> = None;
    for line in text.lines() {
        let bad = || format!("the harness said `{line}`, which is not understood");
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or("");
        let rest: Vec<&str> = words.collect();
        let number = |i: usize| rest.get(i).and_then(|w| w.parse::<u64>().ok()).ok_or_else(bad);
        match (kind, &mut now) {
            ("environment", None) => {
                let seconds = rest.get(1).and_then(|w| w.parse().ok()).ok_or_else(bad)?;
                now = Some(Counted { rounds: number(0)?, seconds, ..Counted::default() });
            }
            ("outcome", Some(c)) => c.outcomes.push((number(0)?, number(1)?)),
            ("raw", Some(c)) => {
                let values = (2..rest.len()).map(number).collect::<Result<_, _>>()?;
                c.raw.push((number(0)?, number(1)?, values));
            }
            ("lost", Some(c)) => c.lost += number(0)?,
            ("end", Some(_)) => out.extend(now.take()),
            _ => return Err(bad()),
        }
    }
    if out.len() != count {
        return Err(format!("the harness ran {} of {count} environments", out.len()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_harness_says_is_read() {
        let text = "environment 3 0.5\noutcome 1 20\nraw 8 1 0 77\nlost 2\nend\n";
        let expected = Counted {
            rounds: 3,
            seconds: 0.5,
            outcomes: vec![(1, 20)],
            raw: vec![(8, 1, vec![0, 77])],
            lost: 2,
        };
        assert_eq!(read(text, 1), Ok(vec![expected]));
        assert_eq!(read("", 1).unwrap_err(), "the harness ran 0 of 1 environments");
        assert_eq!(
            read("outcome 1 1\n", 1).unwrap_err(),
            "the harness said `outcome 1 1`, which is not understood"
        );
    }
}
