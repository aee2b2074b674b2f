//! Reports the results of comparing mixes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::mixes::{Fault, Mixed};
use super::super::split::by;
use super::{Ran, content, family, label};
use litmake_base::plain;
use litmake_engine::run::Engine;
use litmake_mix::By;
use litmake_pipeline::kinds::Kind;
use litmake_profile::Profile;
use litmake_report::{
    Clash, Class, Coded, Compatibility, Error, Finding, FirstCode, Judged, Mixes, Outcomes, Report,
};

/// A `compare` stage over mixes, while its results are collected.
struct Stage<'a> {
    engine: &'a Engine<'a>,
    label: String,
    by: By,
    profiles: Vec<String>,
    mixed: &'a [Arc<Profile>],
    model_source: String,
    model_target: String,
    /// The weaker models of the source.
    further: Vec<String>,
    /// The node of the graph with the tests, and the list of mixes.
    tests: usize,
    mixes: usize,
    /// Whether the run takes a part of the tests.
    is_part: bool,
    /// How many mixes of each test this run simulated.
    simulated: BTreeMap<String, u64>,
}

/// The findings of a `compare` stage over mixes. Everything else goes into the report.
pub fn collect(run: &Ran, i: usize, out: &mut Report) -> Vec<Finding> {
    let Ran { plan, built, engine, .. } = run;
    let at = built.node_of[i];
    let node = &built.graph.nodes[at];
    let Some(target) = node.joined.first().copied() else { return Vec::new() };
    let list = built.graph.root(target);
    let Some(mixes) = built.links.get(&list) else { return Vec::new() };
    let model = |input: usize| run.model(i, input);
    let mut simulated = BTreeMap::new();
    if let Some(root) = engine.root_table(target) {
        for (shard, rows) in engine.executed_rows(target) {
            for row in rows {
                let Some(entry) = root.rows(shard as usize).get(row as usize) else { continue };
                let test = entry.name.rsplit_once('#').map_or(&*entry.name, |(test, _)| test);
                *simulated.entry(test.to_string()).or_default() += 1;
            }
        }
    }
    let stage = Stage {
        engine,
        label: node.label.clone(),
        by: by(mixes.by),
        profiles: plan.nodes[mixes.plan].mixed.iter().map(|p| p.name.clone()).collect(),
        mixed: &plan.nodes[mixes.plan].mixed,
        model_source: model(0).unwrap_or_else(|| "rc11".into()),
        model_target: model(1).unwrap_or_default(),
        further: run.further(i),
        tests: mixes.tests,
        mixes: list,
        is_part: engine.options.part.is_some_and(|(_, n)| n > 1),
        simulated,
    };
    let mut all = Vec::new();
    for (item, bytes) in results(engine, at) {
        if let Ok(mixed) = Mixed::decode(&bytes) {
            all.push((item, mixed));
        }
    }
    // One mix does not show how well profiles fit together.
    if !matches!(&plan.nodes[mixes.plan].kind, Kind::Link(link) if link.mix.is_some()) {
        out.compatibility.push(stage.compatibility(&all));
    }
    let mut findings = Vec::new();
    for (item, mixed) in &all {
        stage.test(item, mixed, out);
        findings.extend(mixed.faults.iter().map(|f| stage.finding(item, f)));
    }
    findings
}

/// The results of a node, with the names of the items.
fn results(engine: &Engine, node: usize) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let Some(root) = engine.root_table(node) else { return out };
    for shard in 0..root.shards() {
        let Ok(cells) = engine.cells(node, shard) else { continue };
        for (row, cell) in cells.iter().enumerate().filter(|(_, c)| c.state.usable()) {
            if let Ok(bytes) = engine.content(node, shard, row, *cell) {
                out.push((root.rows(shard)[row].name.to_string(), bytes));
            }
        }
    }
    out
}

impl Stage<'_> {
    fn name(&self, profile: usize) -> String {
        self.profiles.get(profile).cloned().unwrap_or_default()
    }

    fn names(&self, profiles: &[usize]) -> Vec<String> {
        profiles.iter().map(|p| self.name(*p)).collect()
    }

    fn test(&self, item: &str, mixed: &Mixed, out: &mut Report) {
        for message in &mixed.messages {
            out.errors.push(Error {
                stage: "link".into(),
                test: item.to_string(),
                message: message.clone(),
                ..Error::default()
            });
        }
        let left_out =
            (0..self.profiles.len()).filter(|p| !mixed.usable.contains(p)).collect::<Vec<_>>();
        out.mixes.push(Mixes {
            test: item.to_string(),
            assignments: mixed.assignments.clone(),
            sequences: mixed.sequences.iter().cloned().collect(),
            combinations: mixed.combinations.clone(),
            tests: mixed.tests,
            simulated: Some(self.simulated.get(item).copied().unwrap_or(0)),
            unknown: mixed.unknown,
            adds_nothing: self.names(&mixed.adds_nothing),
            left_out: self.names(&left_out),
        });
    }

    fn finding(&self, item: &str, fault: &Fault) -> Finding {
        let profiles = self.names(&fault.profiles);
        let split = match self.by {
            By::Whole => "whole",
            By::Thread => "thread",
            By::Instruction => "instruction",
        };
        let mut command = format!("litmake check --split {split}");
        for profile in &profiles {
            command += &format!(" --profile {}", plain::word(profile));
        }
        for model in [&self.model_source].into_iter().chain(&self.further) {
            command += &format!(" --source-model {}", plain::word(model));
        }
        command += " --target-model";
        command += &format!(" {} {}", plain::word(&self.model_target), plain::path(item));
        let gone = self.further.iter().zip(&fault.verdict.also).filter(|(_, left)| **left == 0);
        let allowed_by: Vec<String> = gone.map(|(model, _)| model.clone()).collect();
        let mut mix = fault.mix.clone();
        for p in &fault.profiles {
            mix = mix.replace(&format!("{{{p}}}"), &self.name(*p));
        }
        let alike = fault.profiles.iter().zip(&fault.alike).filter(|(_, a)| !a.is_empty());
        let clash = |(part, source, code): &(String, String, Vec<String>)| Clash {
            part: part.clone(),
            source: source.clone(),
            code: profiles.iter().cloned().zip(code.iter().cloned()).collect(),
        };
        let text = |node, name: &str| content(self.engine, node, name).unwrap_or_default();
        Finding {
            class: if profiles.len() > 1 { Class::Mixing } else { Class::Concurrency },
            family: family(fault.profiles.iter().filter_map(|p| self.mixed.get(*p)).map(|p| &**p)),
            test: item.to_string(),
            reproducer: text(self.tests, item),
            source: text(self.tests, item),
            label: label(&allowed_by),
            allowed_by,
            target: text(self.mixes, &format!("{item}#mix{}", fault.test)),
            mix,
            alike: alike.map(|(p, a)| (self.name(*p), self.names(a))).collect(),
            clash: fault.clash.iter().map(clash).collect(),
            profiles,
            model_source: self.model_source.clone(),
            model_target: self.model_target.clone(),
            outcomes: Outcomes {
                forbidden: fault.verdict.positive.clone(),
                source: fault.verdict.source.clone(),
                target: fault.verdict.target.clone(),
            },
            command,
            ..Finding::default()
        }
    }

    /// The verdicts on every profile and every pair of profiles, over all tests.
    fn compatibility(&self, all: &[(String, Mixed)]) -> Compatibility {
        let n = self.profiles.len();
        let mut judged: BTreeMap<Vec<usize>, Judged> = BTreeMap::new();
        for p in 0..n {
            judged.insert(vec![p], Judged::default());
            for q in p + 1..n {
                judged.insert(vec![p, q], Judged::default());
            }
        }
        let mut adds_nothing: BTreeSet<usize> = (1..n).collect();
        let (mut assignments, mut combinations) = (0u128, 0u128);
        let mut first: BTreeMap<String, FirstCode> = BTreeMap::new();
        for (item, mixed) in all {
            let add = |sum: &mut u128, text: &str| {
                *sum = sum.saturating_add(text.parse().unwrap_or(u128::MAX));
            };
            add(&mut assignments, &mixed.assignments);
            add(&mut combinations, &mixed.combinations);
            adds_nothing.retain(|p| mixed.adds_nothing.contains(p) || !mixed.usable.contains(p));
            for (operation, codes) in &mixed.operations {
                let of = first.entry(operation.clone()).or_default();
                for (code, profiles) in codes {
                    for p in profiles {
                        if of.get(p).is_none_or(|(before, _)| item < before) {
                            of.insert(*p, (item.clone(), code.clone()));
                        }
                    }
                }
            }
            // Profiles that are alike show the same fault; each pair counts once for each test.
            let mut at_fault: BTreeSet<Vec<usize>> = BTreeSet::new();
            for fault in mixed.faults.iter().filter(|f| f.profiles.len() <= 2) {
                let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
                for (p, alike) in fault.profiles.iter().zip(&fault.alike) {
                    let each = |s: &Vec<usize>| {
                        let with = |q: &usize| {
                            let mut s = s.clone();
                            s.push(*q);
                            s.sort_unstable();
                            s
                        };
                        std::iter::once(p).chain(alike).map(with).collect::<Vec<_>>()
                    };
                    sets = sets.iter().flat_map(each).collect();
                }
                at_fault.extend(sets);
            }
            for (set, sum) in &mut judged {
                if set.iter().all(|p| mixed.usable.contains(p)) {
                    sum.tests += 1;
                }
                if at_fault.contains(set) {
                    sum.found += 1;
                    sum.first.get_or_insert_with(|| item.clone());
                }
            }
        }
        let mut mappings: BTreeMap<String, Vec<Coded>> = BTreeMap::new();
        for (operation, code) in first {
            let mut distinct = Coded::distinct(code, &self.profiles);
            if !self.is_part {
                distinct.iter_mut().for_each(|coded| coded.first.clear());
            }
            mappings.insert(operation, distinct);
        }
        let named = |(set, mut sum): (Vec<usize>, Judged)| {
            sum.profiles = self.names(&set);
            sum
        };
        Compatibility {
            stage: self.label.clone(),
            split: format!("{:?}", self.by).to_lowercase(),
            model_source: self.model_source.clone(),
            model_target: self.model_target.clone(),
            profiles: self.profiles.clone(),
            tests: all.len() as u64,
            assignments: assignments.to_string(),
            combinations: combinations.to_string(),
            mixes: all.iter().map(|(_, m)| m.tests).sum(),
            adds_nothing: self.names(&adds_nothing.into_iter().collect::<Vec<_>>()),
            judged: judged.into_iter().map(named).collect(),
            threads: all.iter().map(|(_, m)| m.threads).max().unwrap_or(0),
            parts: all.iter().map(|(_, m)| m.sequences.len()).max().unwrap_or(0),
            mappings,
        }
    }
}
