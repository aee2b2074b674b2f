//! Mixes: each part of a test compiled under each profile, and what every mix of them allows.
//!
//! The work is that of the stages `compile` and `simulate`, called on parts and on mixes; what
//! they come to is kept in the store. How parts are found and joined is `mix`'s business.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::apply::{Done, Lab};
use super::compare::{Verdict, compare};
use super::simulate::Allowed;
use super::{Built, ITEM, UNREADABLE, read_test};
use crate::engine::graph::{Context, Node, Outcome, Work};
use crate::engine::store::Records;
use crate::litmus::{self, Test, canon};
use crate::mix::count::{Interner, Table};
use crate::mix::symmetry::symmetries;
use crate::mix::{By, Compiled, Split, notation, splice, split};
use crate::report::{Cause, Class, Error, Finding, Mixes, Outcomes, Report};

/// Mixes that differ beyond this number are refused, a test at a time.
const MAX_TESTS: usize = 100_000;

/// What a mix check is about.
pub struct Mix<'a> {
    pub by: By,
    /// The graph's nodes that compile, one a profile.
    pub compile: Vec<&'a Node>,
    pub source: &'a Node,
    pub target: &'a Node,
    pub profiles: Vec<String>,
    pub model_source: String,
    pub model_target: String,
    pub records: &'a dyn Records,
    pub context: Context,
}

/// The node of a graph that has this label.
pub fn node<'a>(built: &'a Built, label: &str) -> Option<&'a Node> {
    built.graph.nodes.iter().find(|n| n.label == label)
}

impl Mix<'_> {
    /// What a stage makes of some items, from the store where that is known.
    fn apply(&self, node: &Node, items: Vec<Vec<u8>>, done: &mut Done) -> Vec<Outcome> {
        let Work::Map(map) = &node.work else {
            return vec![Outcome::Broke("this stage does no work on items".into()); items.len()];
        };
        let lab = Lab { records: self.records, context: &self.context };
        lab.apply(&**map, node.fingerprint.digest(), &items, done)
    }

    /// Checks every mix of some tests: names and texts.
    pub fn check(&self, tests: &[(String, String)]) -> Report {
        let mut report = Report {
            litmake: env!("CARGO_PKG_VERSION").to_string(),
            pipeline: "check".into(),
            ..Report::default()
        };
        let mut parts: Vec<(String, String, Test, Split)> = Vec::new();
        for (name, text) in tests {
            let read = match read_test(text.as_bytes()) {
                Ok(test) => test,
                Err(message) => {
                    let message = message.strip_prefix(UNREADABLE).unwrap_or(&message);
                    report.errors.push(Error {
                        stage: "tests".into(),
                        test: name.clone(),
                        message: message.replacen(ITEM, name, 1),
                        cause: Cause::Input,
                        ..Error::default()
                    });
                    continue;
                }
            };
            match split(&read, self.by) {
                Ok(split) => parts.push((name.clone(), text.clone(), read, split)),
                Err(message) => report.errors.push(error("split", name, message)),
            }
        }
        // Each distinct part once, whatever test it is of.
        let distinct: Vec<String> = {
            let all = parts.iter().flat_map(|(.., s)| &s.pieces).map(|p| p.text.clone());
            all.collect::<BTreeSet<String>>().into_iter().collect()
        };
        let place: HashMap<&str, usize> =
            distinct.iter().enumerate().map(|(i, t)| (t.as_str(), i)).collect();
        let mut compiled: Vec<Vec<Result<(String, Compiled), String>>> = Vec::new();
        for (profile, node) in self.profiles.iter().zip(&self.compile) {
            let mut done = Done::default();
            let items = distinct.iter().map(|t| t.clone().into_bytes()).collect();
            let outcomes = self.apply(node, items, &mut done);
            let row: Vec<_> = outcomes.into_iter().map(part).collect();
            let failed = row.iter().filter(|r| r.is_err()).count() as u64;
            report.stages.push(stage(&format!("compile {profile}"), "compile", done, failed));
            compiled.push(row);
        }
        let mut sources = Done::default();
        let mut targets = Done::default();
        let (mut source_failed, mut target_failed) = (0, 0);
        for (name, text, test, split) in &parts {
            let of = |p: usize, i: usize| &compiled[p][place[split.pieces[i].text.as_str()]];
            let mut usable = Vec::new();
            for p in 0..self.profiles.len() {
                let trouble =
                    (0..split.pieces.len()).find_map(|i| of(p, i).as_ref().err().map(|e| (i, e)));
                match trouble {
                    None => usable.push(p),
                    Some((i, e)) => {
                        let stage = format!("compile {}", self.profiles[p]);
                        let message = format!("{}: {e}", split.pieces[i].name);
                        report.errors.push(error(&stage, name, message));
                    }
                }
            }
            if usable.is_empty() {
                continue;
            }
            let source = self.apply(self.source, vec![text.clone().into_bytes()], &mut sources);
            let source = match source.into_iter().next().map(allowed) {
                Some(Ok(allowed)) => allowed,
                Some(Err(message)) => {
                    source_failed += 1;
                    report.errors.push(error("source", name, message));
                    continue;
                }
                None => continue,
            };
            let mut numbers = Interner::default();
            let mut code: BTreeMap<u32, &Compiled> = BTreeMap::new();
            let mut table = Table::default();
            for (i, piece) in split.pieces.iter().enumerate() {
                let mut row = Vec::new();
                for p in &usable {
                    let Ok((text, c)) = of(*p, i) else { continue };
                    let n = numbers.number(text.as_str());
                    code.entry(n).or_insert(c);
                    row.push(n);
                }
                table.sequences.push(row);
                table.chosen.push(piece.chosen);
            }
            let one = One { mix: self, name, text, test, split, usable: &usable, table: &table };
            one.run(&code, &source, &mut targets, &mut target_failed, &mut report);
        }
        report.stages.push(stage("source", "simulate", sources, source_failed));
        report.stages.push(stage("target", "simulate", targets, target_failed));
        crate::report::merge::sort(&mut report);
        report
    }
}

/// One test's mixes.
struct One<'a> {
    mix: &'a Mix<'a>,
    name: &'a str,
    text: &'a str,
    test: &'a Test,
    split: &'a Split,
    /// The profiles that compile all of it.
    usable: &'a [usize],
    table: &'a Table,
}

impl One<'_> {
    fn run(
        &self,
        code: &BTreeMap<u32, &Compiled>,
        source: &Allowed,
        targets: &mut Done,
        failed: &mut u64,
        report: &mut Report,
    ) {
        let symmetries = symmetries(self.test, self.split);
        let mut combinations: Vec<(Vec<u32>, usize)> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let mut seen: HashMap<blake3::Hash, usize> = HashMap::new();
        let mut messages: BTreeSet<String> = BTreeSet::new();
        let mut too_many = false;
        self.table.each(&symmetries, &mut |combination| {
            let parts: Vec<&Compiled> =
                combination.iter().filter_map(|n| code.get(n).copied()).collect();
            match splice(self.test, self.split, &parts) {
                Ok(test) => {
                    let at = *seen.entry(canon::canonical_hash(&test)).or_insert_with(|| {
                        texts.push(litmus::write(&test));
                        texts.len() - 1
                    });
                    combinations.push((combination.clone(), at));
                }
                Err(message) => {
                    messages.insert(message);
                }
            }
            too_many = texts.len() > MAX_TESTS;
            !too_many && !self.mix.context.stopped()
        });
        if too_many {
            messages.insert(format!("there are over {MAX_TESTS} mixes that differ"));
        }
        for message in messages {
            report.errors.push(error("link", self.name, message));
        }
        let before = targets.executed;
        let items = texts.iter().map(|t| t.clone().into_bytes()).collect();
        let outcomes = self.mix.apply(self.mix.target, items, targets);
        let mut verdicts: Vec<Option<Verdict>> = Vec::new();
        for outcome in outcomes {
            let verdict = allowed(outcome).and_then(|target| compare(source, &target));
            if let Err(message) = &verdict {
                *failed += 1;
                report.errors.push(error("target", self.name, message.clone()));
            }
            verdicts.push(verdict.ok());
        }
        let profile = |p: usize| self.mix.profiles[self.usable[p]].clone();
        report.mixes.push(Mixes {
            test: self.name.to_string(),
            assignments: self.table.assignments().to_string(),
            sequences: (0..self.split.pieces.len())
                .filter(|i| self.split.pieces[*i].chosen)
                .map(|i| (self.split.pieces[i].name.clone(), self.table.distinct(i).len()))
                .collect(),
            combinations: self.table.combinations().to_string(),
            tests: texts.len() as u64,
            simulated: Some(targets.executed - before),
            adds_nothing: self.table.adds_nothing().into_iter().map(profile).collect(),
        });
        let bad = |at: usize| verdicts[at].as_ref().is_some_and(Verdict::is_finding);
        // Mixing is at fault only between profiles that are clean alone.
        let (mut clean, mut dirty) = (Vec::new(), Vec::new());
        for p in 0..self.usable.len() {
            let alone = self.table.uniform(p);
            match combinations.iter().find(|(c, _)| *c == alone) {
                Some((_, at)) if bad(*at) => dirty.push((p, *at)),
                Some(_) => clean.push(p),
                None => {}
            }
        }
        for (p, at) in dirty {
            let all = vec![p; self.split.pieces.len()];
            let text = texts[at].clone();
            report.findings.extend(self.finding(&[p], &all, verdicts[at].as_ref(), text));
        }
        // For each set of profiles the mix with the fewest parts that are foreign in it.
        let mut best: BTreeMap<Vec<usize>, (usize, Vec<usize>, usize)> = BTreeMap::new();
        for (combination, at) in combinations.iter().filter(|(_, at)| bad(*at)) {
            for (set, assignment) in self.table.smallest(combination, &clean) {
                if set.len() < 2 {
                    continue;
                }
                let foreign = self.foreign(&set, &assignment);
                if best.get(&set).is_none_or(|(n, ..)| foreign < *n) {
                    best.insert(set, (foreign, assignment, *at));
                }
            }
        }
        let sets: Vec<Vec<usize>> = best.keys().cloned().collect();
        let smaller = |set: &Vec<usize>| {
            sets.iter().any(|s| s.len() < set.len() && s.iter().all(|p| set.contains(p)))
        };
        for (set, (_, assignment, at)) in best.iter().filter(|(set, _)| !smaller(set)) {
            let text = texts[*at].clone();
            report.findings.extend(self.finding(set, assignment, verdicts[*at].as_ref(), text));
        }
    }

    fn foreign(&self, set: &[usize], assignment: &[usize]) -> usize {
        let mine = |p: usize| {
            (0..assignment.len())
                .filter(|i| self.split.pieces[*i].chosen && assignment[*i] == p)
                .count()
        };
        let all: usize = set.iter().map(|p| mine(*p)).sum();
        all - set.iter().map(|p| mine(*p)).max().unwrap_or(0)
    }

    fn finding(
        &self,
        set: &[usize],
        assignment: &[usize],
        verdict: Option<&Verdict>,
        target: String,
    ) -> Option<Finding> {
        let verdict = verdict?.clone();
        let profile = |p: usize| self.mix.profiles[self.usable[p]].clone();
        let profiles: Vec<String> = set.iter().map(|p| profile(*p)).collect();
        let split = match self.mix.by {
            By::Thread => "thread",
            By::Instruction => "instruction",
        };
        let mut command = format!("litmake check --split {split}");
        for profile in &profiles {
            command += &format!(" --profile {profile}");
        }
        command += &format!(
            " --source-model {} --target-model {} {}",
            self.mix.model_source, self.mix.model_target, self.name
        );
        let finding = Finding {
            class: if set.len() > 1 { Class::Mixing } else { Class::Concurrency },
            test: self.name.to_string(),
            source: self.text.to_string(),
            target,
            profiles,
            mix: notation(self.split, &|i| profile(assignment[i])),
            model_source: self.mix.model_source.clone(),
            model_target: self.mix.model_target.clone(),
            outcomes: Outcomes {
                forbidden: verdict.positive,
                source: verdict.source,
                target: verdict.target,
            },
            reproducer: self.text.to_string(),
            command,
            ..Finding::default()
        };
        Some(finding.identify())
    }
}

fn error(stage: &str, test: &str, message: String) -> Error {
    Error { stage: stage.into(), test: test.into(), message, cause: Cause::Run, ..Error::default() }
}

fn stage(name: &str, kind: &str, done: Done, failed: u64) -> crate::report::Stage {
    crate::report::Stage {
        name: name.to_string(),
        kind: kind.to_string(),
        tasks: done.tasks,
        executed: Some(done.executed),
        cached: Some(done.tasks - done.executed),
        failed,
        seconds: None,
    }
}

/// A compiled part, with its canonical form.
fn part(outcome: Outcome) -> Result<(String, Compiled), String> {
    let content = content(outcome)?;
    let test = read_test(&content)?;
    Ok((canon::canonical_text(&test), Compiled::new(&test)?))
}

fn allowed(outcome: Outcome) -> Result<Allowed, String> {
    Allowed::decode(&content(outcome)?)
}

fn content(outcome: Outcome) -> Result<Vec<u8>, String> {
    match outcome {
        Outcome::Done(content) | Outcome::Finding(content) => Ok(content),
        Outcome::Failed(message) | Outcome::Broke(message) => Err(message),
        Outcome::Stopped => Err("it was stopped".into()),
    }
}
