//! Says why the sources of tests have undefined behaviour: which two accesses race, or which
//! operation is undefined.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Investigator;
use crate::collect::{Ran, UndefinedIn};
use litmake_base::diag::Source;
use litmake_litmus as litmus;
use litmake_litmus::execution::{Event, Execution};
use litmake_report::Report;
use litmake_report::verdict::{UNDEFINED, Undefined};
use litmake_sim::{Options, Simulator};

/// The longest time to look for a race.
const PATIENCE: Duration = Duration::from_secs(10);

/// If something was judged, so many undefined tests get a reason; the others are only counted.
const FEW: usize = 20;

impl Investigator<'_> {
    /// Adds to the verdict why sources are undefined.
    pub fn undefined(&mut self, report: &mut Report, run: &Ran, tests: &UndefinedIn) {
        let mut all: Vec<(&str, usize)> = tests.iter().map(|(test, i)| (&**test, *i)).collect();
        all.sort_unstable();
        let most = if report.verdict.judged > 0 { FEW } else { UNDEFINED };
        report.verdict.more_undefined = all.len().saturating_sub(most) as u64;
        let mut simulator = Simulator::default();
        for (test, i) in all.into_iter().take(most) {
            if self.context.stopped() {
                break;
            }
            let why = self.why(run, i, test, &mut simulator);
            let why = why.unwrap_or_else(|| "the model does not define its behaviour".to_string());
            report.verdict.why_undefined.push(Undefined { test: test.to_string(), why });
        }
    }

    fn why(&self, run: &Ran, i: usize, name: &str, simulator: &mut Simulator) -> Option<String> {
        let text = run.source(i, name)?;
        let test = litmus::read(&Source::new(name, text)).ok()?;
        let model = run.source_model(i).unwrap_or_else(|| test.arch.default_model().to_string());
        let loaded = self.models.get(&model, test.arch);
        let ready = loaded.model().ok()?;
        let options = Options { timeout: Some(PATIENCE), ..Options::default() };
        let outcomes = simulator.simulate(&test, ready, &options).ok()?;
        if let Some(by) = outcomes.undefined_by {
            return Some(by);
        }
        let one = simulator.undefined(&test, ready, &options).ok()??;
        let events = in_question(&one);
        race(&one, &events)
    }
}

/// The events of the check that makes the behaviour undefined.
fn in_question(one: &Execution) -> BTreeSet<usize> {
    let Some(failure) = one.failures.first() else { return BTreeSet::new() };
    let ends = failure.chains.iter().filter_map(|c| Some([c.first()?.from, c.last()?.to]));
    match failure.events.is_empty() {
        true => ends.flatten().collect(),
        false => failure.events.iter().copied().collect(),
    }
}

/// The accesses in question, with their places.
fn race(one: &Execution, events: &BTreeSet<usize>) -> Option<String> {
    let failure = one.failures.first()?;
    let told: Vec<String> = events.iter().filter_map(|e| one.events.get(*e)).map(access).collect();
    match &told[..] {
        [] => Some(format!("the check `{}` of the model", failure.name)),
        [a, b] => Some(format!("{a} and {b} race")),
        some => Some(format!("{}: {}", failure.name, some.join(", "))),
    }
}

fn access(event: &Event) -> String {
    match event.thread {
        None => format!("the initial {}", event.text),
        Some(t) => format!("`{}` (P{t}, line {}: {})", event.instruction, event.line, event.text),
    }
}
