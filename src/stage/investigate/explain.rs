//! Explains a wrong outcome: the target's execution that shows it, and the source's execution that
//! is forbidden.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::models::Models;
use litmake_base::diag::Source;
use litmake_lang::compiled::locals;
use litmake_litmus::execution::{self, Failure};
use litmake_litmus::{self as litmus, Test};
use litmake_report::State;
use litmake_report::evidence::{Edge, Event, Evidence, Execution, Failed};
use litmake_report::mechanism::distance;
use litmake_sim::witness::with_state;
use litmake_sim::{Options, Simulator};

/// The longest time to look for executions.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many forbidden executions of a source are compared with that of the code.
const COMPARED: usize = 256;

/// Executions of a source and a target for the first of some outcomes: of the source's, the nearest to
/// the target's. `None` if the target's is not found.
pub fn explain(
    models: Models,
    (source, model_source): (&str, &str),
    (target, model_target): (&str, &str),
    forbidden: &[State],
) -> Option<Evidence> {
    let outcome = forbidden.first()?.clone();
    let (target_allowed, target) = some(models, (target, model_target), &outcome, 1)?;
    let target = target.into_iter().next();
    let own = some(models, (source, model_source), &outcome, COMPARED);
    let (source_allowed, all) = own.unwrap_or_default();
    let distance = |own: &Execution| target.as_ref().map(|code| distance(own, code));
    let source = all.into_iter().min_by_key(distance);
    Some(Evidence {
        outcome,
        target: target.filter(|_| target_allowed),
        source: source.filter(|_| !source_allowed),
    })
}

/// The execution that a source would need for the first of some outcomes that a device showed.
pub fn forbidden(models: Models, source: (&str, &str), outcomes: &[State]) -> Option<Evidence> {
    let outcome = outcomes.first()?.clone();
    let (is_allowed, source) = some(models, source, &outcome, 1)?;
    let source = source.into_iter().next();
    Some(Evidence { outcome, target: None, source: source.filter(|_| !is_allowed) })
}

/// Whether a model allows an outcome of a test, and some executions that show it.
fn some(
    models: Models,
    (text, model): (&str, &str),
    outcome: &State,
    most: usize,
) -> Option<(bool, Vec<Execution>)> {
    let test = litmus::read(&Source::new("test", text)).ok()?;
    let asked = with_state(&test, &state_of(&test, outcome)).ok()?;
    let loaded = models.get(model, test.arch);
    let options = Options { timeout: Some(PATIENCE), ..Options::default() };
    let answer = Simulator::default().witness(&asked, loaded.model().ok()?, &options, most).ok()?;
    let shown = answer.executions.iter().map(|one| told(one, &asked, model));
    Some((answer.allowed, shown.collect()))
}

/// An outcome in the names of a test, because a compiled test may keep locals in memory.
fn state_of(test: &Test, outcome: &State) -> String {
    let kept: BTreeMap<String, String> =
        locals(test).into_iter().map(|(place, local)| (local, place)).collect();
    let parts: Vec<String> = outcome
        .iter()
        .map(|(name, value)| match kept.get(name) {
            Some(place) => format!("[{place}]={value}"),
            None if name.contains([':', '[']) => format!("{name}={value}"),
            None => format!("[{name}]={value}"),
        })
        .collect();
    parts.join(" /\\ ")
}

/// An execution of a test under a model with a name, as reports tell it.
fn told(one: &execution::Execution, test: &Test, name: &str) -> Execution {
    // Initial writes that nothing reads are left out.
    let initial = |e: usize| one.events.get(e).is_none_or(|e| e.thread.is_none());
    let read: Vec<usize> = one.rf.iter().map(|(w, _)| *w).collect();
    // Writes by which a compiled thread stores its locals are left out, too.
    let kept: Vec<String> = locals(test).into_keys().map(|place| format!("[{place}]")).collect();
    let private = |e: usize| {
        one.events.get(e).is_some_and(|e| kept.iter().any(|place| e.text.contains(place)))
    };
    let shown = |e: usize| (!initial(e) || read.contains(&e)) && !private(e);
    // Letters number the events that are shown, as in the pictures.
    let places: Vec<usize> = (0..one.events.len()).filter(|e| shown(*e)).collect();
    let letter = |e: &usize| {
        let place = places.binary_search(e).unwrap_or_else(|_| places.len() + e);
        execution::Execution::letter(place)
    };
    let pairs = |list: &[(usize, usize)]| {
        let list = list.iter().filter(|(a, b)| shown(*a) && shown(*b));
        list.map(|(a, b)| (letter(a), letter(b))).collect::<Vec<_>>()
    };
    let events = one.events.iter().enumerate().filter(|(i, _)| shown(*i)).map(|(i, e)| Event {
        id: letter(&i),
        thread: e.thread,
        line: e.line,
        code: e.instruction.clone(),
        event: e.text.clone(),
    });
    Execution {
        model: name.to_string(),
        events: events.collect(),
        rf: pairs(&one.rf),
        co: pairs(&one.co),
        fails: one.failures.iter().map(|f| failed(f, &letter)).collect(),
    }
}

fn failed(failure: &Failure, letter: &dyn Fn(&usize) -> String) -> Failed {
    let edges = failure.chains.iter().flatten().map(|e| Edge {
        from: letter(&e.from),
        edge: e.label.clone(),
        to: letter(&e.to),
    });
    Failed {
        check: failure.name.clone(),
        place: failure.place.clone(),
        is_cycle: failure.is_cycle,
        edges: edges.collect(),
    }
}
