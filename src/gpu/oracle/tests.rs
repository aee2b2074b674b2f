//! The tests of the paper: their programs and outcomes, as listed beside.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use litmake_litmus::Place;
use litmake_mutate::mcm::{Mutant, Mutator, conformance, mutants, orders, scope_mutants};

struct Row {
    name: &'static str,
    program: &'static str,
    target: Option<&'static str>,
    classes: [Listed; 3],
}

struct Listed {
    outcomes: Vec<BTreeMap<String, u32>>,
    more: usize,
}

fn assignments(text: &str, between: &str) -> BTreeMap<String, u32> {
    let pair = |p: &str| {
        let (name, value) = p.trim().split_once('=').unwrap();
        (name.to_string(), value.parse().unwrap())
    };
    text.split(between).map(pair).collect()
}

fn listed(text: &str) -> Listed {
    let mut out = Listed { outcomes: Vec::new(), more: 0 };
    for part in text.split(" / ").filter(|p| *p != "-") {
        match part.strip_prefix('+') {
            Some(n) => out.more = n.parse().unwrap(),
            None => out.outcomes.push(assignments(part, ",")),
        }
    }
    out
}

fn rows() -> Vec<Row> {
    let lines = include_str!("expected.tsv").lines().filter(|l| !l.starts_with('#'));
    lines
        .map(|line| {
            let f: Vec<&'static str> = line.split('\t').collect();
            Row {
                name: f[0],
                program: f[1],
                target: (f[2] != "-").then_some(f[2]),
                classes: [listed(f[3]), listed(f[4]), listed(f[5])],
            }
        })
        .collect()
}

fn short(place: &Place) -> String {
    match place {
        Place::Reg { name, .. } | Place::Mem { name, .. } => name.clone(),
    }
}

#[test]
fn the_tests_of_the_paper_and_their_outcomes() {
    let conformance = conformance().unwrap();
    let mutants = mutants().unwrap();
    assert_eq!((conformance.len(), mutants.len()), (20, 32));
    let mut models = Models::new(None).unwrap();
    let mut seen = BTreeSet::new();
    for row in rows() {
        let find = |m: &&Mutant| {
            if row.target.is_some() { m.key == row.name } else { m.test.name == row.name }
        };
        let of = if row.target.is_some() { &mutants } else { &conformance };
        let m = of.iter().find(find).unwrap_or_else(|| panic!("no {}", row.name));
        seen.insert(m.test.name.clone());
        let program = Program::new(&m.test).unwrap();
        assert_eq!(program.text(), row.program, "{}", row.name);
        let oracle = Oracle::new(&m.test, &program, &mut models).unwrap();
        let outcome = |i: usize| -> BTreeMap<String, u32> {
            oracle.observed.iter().map(short).zip(oracle.outcome(i)).collect()
        };
        let shows = |i: usize, part: &BTreeMap<String, u32>| {
            let all = outcome(i);
            part.iter().all(|(k, v)| all.get(k) == Some(v))
        };
        for (class, listed) in
            [Class::Sequential, Class::Interleaved, Class::Weak].into_iter().zip(&row.classes)
        {
            let ours: Vec<usize> =
                (0..oracle.classes.len()).filter(|i| oracle.classes[*i] == class).collect();
            // What is not listed does not vary, so that each listed outcome is one of ours.
            assert_eq!(ours.len(), listed.outcomes.len() + listed.more, "{}: {class:?}", row.name);
            for part in &listed.outcomes {
                assert_eq!(
                    ours.iter().filter(|i| shows(**i, part)).count(),
                    1,
                    "{}: {part:?}",
                    row.name
                );
            }
        }
        let targets = (0..oracle.target.len()).filter(|i| oracle.target[*i]);
        match row.target {
            // A mutant's target is allowed: of reversed order it is an interleaving.
            Some(target) => {
                let want = assignments(target, " & ");
                let all: Vec<usize> = targets.collect();
                assert!(all.iter().all(|i| shows(*i, &want)), "{}", row.name);
                let class = match m.mutator {
                    Mutator::ReversingPoLoc => Class::Interleaved,
                    _ => Class::Weak,
                };
                assert_eq!(
                    all.iter().filter(|i| oracle.classes[**i] == class).count(),
                    1,
                    "{}",
                    row.name
                );
            }
            None => {
                let all: Vec<usize> = targets.collect();
                assert!(!all.is_empty(), "{}", row.name);
                assert!(all.iter().all(|i| oracle.classes[*i] == Class::Forbidden), "{}", row.name);
            }
        }
    }
    assert_eq!(seen.len(), 52);
}

#[test]
fn narrowed_fences_do_not_forbid() {
    let mut models = Models::new(None).unwrap();
    for m in scope_mutants().unwrap() {
        let program = Program::new(&m.test).unwrap();
        let oracle = Oracle::new(&m.test, &program, &mut models).unwrap();
        let weak =
            (0..oracle.target.len()).any(|i| oracle.target[i] && oracle.classes[i] == Class::Weak);
        assert!(weak, "{}", m.test.name);
    }
}

#[test]
fn what_acquires_and_releases_forbids_and_its_mutants_do_not() {
    let mut models = Models::new(None).unwrap();
    let all = orders().unwrap();
    assert_eq!(all.len(), 24);
    for m in &all {
        let program = Program::new(&m.test).unwrap();
        let oracle = Oracle::new(&m.test, &program, &mut models).unwrap();
        let relaxed = m.test.name.ends_with(".none");
        assert_eq!(oracle.model, if relaxed { "wgsl-rel-acq" } else { "vulkan" });
        let expected = if m.mutates.is_some() { Class::Weak } else { Class::Forbidden };
        let targets: Vec<usize> = (0..oracle.target.len()).filter(|i| oracle.target[*i]).collect();
        assert!(!targets.is_empty());
        let reached = targets.iter().any(|i| oracle.classes[*i] == expected);
        assert!(reached, "{}", m.test.name);
        if m.mutates.is_none() {
            assert!(targets.iter().all(|i| oracle.classes[*i] == expected), "{}", m.test.name);
        }
    }
}

#[test]
fn two_models_agree_on_fences_between_two_threads() {
    let (mut plain, mut vulkan) =
        (Models::new(Some("wgsl-rel-acq")).unwrap(), Models::new(Some("vulkan")).unwrap());
    let all = [conformance().unwrap(), mutants().unwrap(), scope_mutants().unwrap()].concat();
    for m in &all {
        let program = Program::new(&m.test).unwrap();
        let of = |models: &mut Models| Oracle::new(&m.test, &program, models).unwrap().classes;
        assert_eq!(of(&mut plain), of(&mut vulkan), "{}", m.test.name);
    }
}
