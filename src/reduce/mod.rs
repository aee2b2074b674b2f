//! Reduces a test for as long as a property still shows.
//!
//! It takes C tests apart and asks its caller about each candidate. It does not know compilers,
//! models, or the property.

mod code;
mod copies;
pub mod core;
mod members;
mod names;
pub mod normal;
mod reach;
#[cfg(test)]
mod tests;
mod types;
pub mod within;

pub use core::{Core, core};
pub use normal::normal;
pub use reach::without_functions;
pub use within::within;

use std::collections::HashSet;

use litmake_base::diag::{Source, Span};
use litmake_litmus::{
    self as litmus, Arch, Body, CmpOp, Condition, Operand, Place, Prop, Quantifier, Test, canon,
};

/// How many candidates the caller is asked about at once, so that a compiler starts once for all of
/// them.
const TOGETHER: usize = 24;

/// Reduces a test until no smaller one shows the property, or `budget` candidates are used up.
/// `shows` answers for each candidate. Candidates are ordered by the size of the cut, the largest
/// first, and the first that shows is reduced further.
pub fn reduce(test: &Test, budget: usize, shows: &mut dyn FnMut(&[Test]) -> Vec<bool>) -> Test {
    descend(test, budget, &smaller, shows)
}

/// Reduces a test further, so that different tests with one cause end alike: types become plain,
/// plain accesses become atomic and relaxed, and indirect accesses become direct.
pub fn settle(test: &Test, budget: usize, shows: &mut dyn FnMut(&[Test]) -> Vec<bool>) -> Test {
    let plainer = |test: &Test| {
        let mut out = smaller(test);
        out.extend(simpler(test));
        out
    };
    descend(test, budget, &plainer, shows)
}

/// Candidates that do the same in a simpler way.
fn simpler(test: &Test) -> Vec<Test> {
    let mut out = types::plainer(test);
    out.extend(reach::simpler(test));
    out.extend(members::simpler(test));
    out.extend(copies::joined(test));
    out.extend(copies::not_stored(test));
    finish(out)
}

/// Replaces a test by the first of its candidates that shows the property, again and again.
fn descend(
    test: &Test,
    budget: usize,
    candidates: &dyn Fn(&Test) -> Vec<Test>,
    shows: &mut dyn FnMut(&[Test]) -> Vec<bool>,
) -> Test {
    let mut best = test.clone();
    let mut left = budget;
    let mut seen = HashSet::from([canon::canonical_hash(&best)]);
    'smaller: loop {
        let mut candidates = candidates(&best);
        candidates.retain(|c| !seen.contains(&canon::canonical_hash(c)));
        for chunk in candidates.chunks(TOGETHER) {
            if left == 0 {
                return best;
            }
            let chunk = &chunk[..chunk.len().min(left)];
            left -= chunk.len();
            let shown = shows(chunk);
            // A candidate that shows but is not taken may be a candidate of the next test, too.
            let not = chunk.iter().zip(&shown).filter(|(_, shows)| !**shows);
            seen.extend(not.map(|(c, _)| canon::canonical_hash(c)));
            if let Some(i) = shown.iter().position(|s| *s) {
                best = chunk[i].clone();
                seen.insert(canon::canonical_hash(&best));
                continue 'smaller;
            }
        }
        return best;
    }
}

/// The tests that one cut makes of a C test, the largest cuts first. Each is read again from its
/// text, as a user would read it.
pub fn smaller(test: &Test) -> Vec<Test> {
    if test.arch != Arch::C {
        return Vec::new();
    }
    let mut out = Vec::new();
    if test.threads.len() > 1 {
        out.extend((0..test.threads.len()).rev().filter_map(|t| without_thread(test, t)));
    }
    for cut in code::CUTS {
        for (t, body) in test.threads.iter().enumerate() {
            let Body::C(f) = body else { return Vec::new() };
            out.extend(cut(&f.body).into_iter().map(|body| with_body(test, t, body)));
        }
        for (h, f) in test.helpers.iter().enumerate() {
            for body in cut(&f.body) {
                let mut next = test.clone();
                next.helpers[h].body = body;
                out.push(next);
            }
        }
    }
    out.extend(fewer_observed(test));
    out.extend(members::fewer(test));
    let tidied = names::tidy(test);
    if litmus::write(&tidied) != litmus::write(test) {
        out.push(tidied);
    }
    finish(out)
}

/// Writes the candidates and reads them again, as a user would.
fn finish(candidates: Vec<Test>) -> Vec<Test> {
    candidates.into_iter().map(forget).filter_map(|t| read_again(&t)).collect()
}

/// The test with another body of a thread.
fn with_body(test: &Test, thread: usize, body: Vec<litmus::c::ast::Stmt>) -> Test {
    let mut out = test.clone();
    if let Body::C(f) = &mut out.threads[thread] {
        f.body = body;
    }
    out
}

/// The test with the condition that an outcome exists. Places that the outcome does not name are
/// not observed.
pub fn asking(test: &Test, outcome: &[(Place, litmus::Value)]) -> Option<Test> {
    let atoms = outcome
        .iter()
        .map(|(place, v)| Prop::Cmp(place.clone(), CmpOp::Eq, Operand::Value(v.clone())))
        .collect();
    let mut out = test.clone();
    out.locations.clear();
    out.condition = Condition {
        quantifier: Quantifier::Exists,
        prop: litmus::and(atoms),
        span: Span::default(),
    };
    read_again(&out)
}

fn read_again(test: &Test) -> Option<Test> {
    let text = litmus::write(test);
    litmus::read(&Source::new(test.source.name.clone(), text)).ok()
}

/// The test without one of its threads; later threads are renumbered.
fn without_thread(test: &Test, thread: usize) -> Option<Test> {
    let mut out = test.clone();
    let left: Vec<usize> = (0..out.threads.len()).filter(|t| *t != thread).collect();
    out.scopes = out.scopes.map(|s| s.of(&left));
    out.threads.remove(thread);
    for (t, body) in out.threads.iter_mut().enumerate() {
        let Body::C(f) = body else { return None };
        f.name = format!("P{t}");
    }
    let moved = |p: &Place| match p {
        Place::Reg { thread: t, .. } if *t == thread => None,
        Place::Reg { thread: t, name } if *t > thread => {
            Some(Place::Reg { thread: t - 1, name: name.clone() })
        }
        other => Some(other.clone()),
    };
    out.init.retain_mut(|i| moved(&i.place).map(|p| i.place = p).is_some());
    names::keep(&mut out, &moved);
    Some(out)
}

/// For each place that the condition names, the test that does not observe it.
fn fewer_observed(test: &Test) -> Vec<Test> {
    let places = test.shown();
    if places.len() < 2 {
        return Vec::new();
    }
    let without = |gone: &Place| {
        let mut out = test.clone();
        names::keep(&mut out, &|p| (p != gone).then(|| p.clone()));
        out
    };
    places.iter().map(without).collect()
}

/// Removes locals that are not declared any more from the condition.
fn forget(mut test: Test) -> Test {
    let declared = names::declared(&test);
    let there = |p: &Place| match p {
        Place::Reg { thread, name } => {
            declared.get(*thread).is_some_and(|names| names.contains(name))
        }
        Place::Mem { .. } => true,
    };
    if test.shown().iter().any(|p| !there(p)) {
        names::keep(&mut test, &|p| there(p).then(|| p.clone()));
    }
    test
}
