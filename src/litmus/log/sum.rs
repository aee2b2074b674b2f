//! Adds logs up: one log that has of each test what all of them show.
//!
//! It does not know which machines or models the logs are of.

use std::collections::BTreeMap;

use super::compare::normal_state;
use super::{Kind, LogEntry, Observation, Seen, State, Verdict};

/// The tests of all logs, in the order in which they are met first. States that are counted in each log are
/// counted in the sum; where a log has no counts, the sum has none.
pub fn sum(logs: &[Vec<LogEntry>]) -> Vec<LogEntry> {
    let mut out: Vec<LogEntry> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in logs.iter().flatten() {
        match places.get(entry.name.as_str()) {
            Some(at) => add(&mut out[*at], entry),
            None => {
                places.insert(&entry.name, out.len());
                out.push(entry.clone());
            }
        }
    }
    out
}

fn add(to: &mut LogEntry, more: &LogEntry) {
    let counted = is_counted(to) && is_counted(more);
    let mut states: BTreeMap<State, (String, Seen)> = BTreeMap::new();
    for entry in [&*to, more] {
        for (n, state) in entry.states.iter().enumerate() {
            let seen = entry.seen.get(n).copied().unwrap_or(Seen { count: 0, holds: false });
            let all = states
                .entry(normal_state(state))
                .or_insert_with(|| (state.clone(), Seen { count: 0, holds: seen.holds }));
            all.1.count += seen.count;
            all.1.holds |= seen.holds;
        }
    }
    let (states, seen): (Vec<String>, Vec<Seen>) = states.into_values().unzip();
    to.states = states;
    to.seen = if counted { seen } else { Vec::new() };
    to.positive += more.positive;
    to.negative += more.negative;
    to.cut |= more.cut;
    more.flags.iter().for_each(|f| to.flag(f));
    to.seconds = match (to.seconds, more.seconds) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    if to.hash != more.hash {
        to.hash = None;
    }
    to.observation = observation(to);
    to.verdict = verdict(to, more);
}

fn is_counted(entry: &LogEntry) -> bool {
    entry.states.len() == entry.seen.len()
}

fn observation(entry: &LogEntry) -> Option<Observation> {
    match (entry.positive, entry.negative) {
        (0, 0) => None,
        (0, _) => Some(Observation::Never),
        (_, 0) => Some(Observation::Always),
        _ => Some(Observation::Sometimes),
    }
}

fn verdict(to: &LogEntry, more: &LogEntry) -> Verdict {
    if to.is_undefined() || more.is_undefined() {
        return Verdict::Undef;
    }
    let holds = match (to.kind, to.observation) {
        (_, None) | (Kind::Final, _) => return Verdict::Unknown,
        (Kind::Allowed, Some(seen)) => seen != Observation::Never,
        (Kind::Forbidden, Some(seen)) => seen == Observation::Never,
        (Kind::Required, Some(seen)) => seen == Observation::Always,
    };
    if holds { Verdict::Ok } else { Verdict::No }
}
