//! Writes the outcomes of a test as a log of litmus7, which herd's users and their tools read.
//!
//! It does not know how tests run.

use std::fmt::Write;

use super::environment::Environment;
use super::judge::{Tally, text};
use super::machine::Machine;
use super::session::{Prepared, Setup};
use litmake_isa as isa;
use litmake_litmus::log::{LogEntry, Seen};
use litmake_litmus::{Place, condition_text, place_brackets};
use litmake_profile::Profile;

/// The log entry of a test, without a hash: tools that compare logs take different hashes to mean
/// different tests, and litmake's hashes are not those of other tools.
pub fn block(test: &Prepared, tally: &Tally) -> String {
    let (states, seen) = tally
        .states
        .iter()
        .map(|(state, s)| (text(state), Seen { count: s.count, holds: s.holds }))
        .unzip();
    let mut entry = LogEntry::new(
        &test.test.name,
        test.test.condition.quantifier,
        condition(test),
        states,
        (tally.positive(), tally.total() - tally.positive()),
    );
    entry.seen = seen;
    entry.seconds = Some(tally.seconds);
    entry.to_string()
}

/// The condition, with the full names of registers.
pub(super) fn condition(test: &Prepared) -> String {
    let isa = isa::of(test.test.arch);
    condition_text(&test.test.condition, test.test.arch, &|place: &Place| match place {
        Place::Reg { thread, name } => {
            let full = isa.and_then(|i| i.register(name)).map_or(name.clone(), |r| r.name);
            format!("{thread}:{full}")
        }
        mem => place_brackets(mem),
    })
}

/// The end of a log: the machine and how the tests ran.
pub fn trailer(
    machine: &Machine,
    profile: &Profile,
    setup: &Setup,
    environments: &[Environment],
) -> String {
    let mut out = format!("Machine {machine}\n");
    if machine.emulator.is_some() {
        out.push_str("Emulated: values and crashes mean something, counts do not\n");
    }
    let _ = writeln!(out, "Compiler {} {}", profile.compiler, profile.args.join(" "));
    let _ = writeln!(
        out,
        "Parameters seed={} environments={} seconds={} rounds={}",
        setup.seed,
        environments.len(),
        setup.seconds,
        setup.rounds
    );
    for (i, env) in environments.iter().enumerate() {
        let params: Vec<String> =
            env.params().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(out, "/* environment {i}: {} */", params.join(" "));
    }
    out
}
