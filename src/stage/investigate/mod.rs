//! Investigates findings: the bug of each, a smaller test that shows it, the executions behind it,
//! and the compilers that have it.
//!
//! It applies the stages `compile`, `simulate` and `compare` to tests of its own, and keeps their
//! results in the store. How tests become smaller is the business of `reduce`.

pub mod bugs;
mod devices;
mod explain;
mod hidden;
mod judged;
mod mechanism;
mod mixing;
mod undefined;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::apply::{Done, Lab};
use super::collect::Origins;
use super::compilers::Compilers;
use super::models::Models;
use super::simulate::Allowed;
use super::verdict::{Verdict, judge};
use super::workspace::Workspace;
use super::{compiled, simulate};
use litmake_base::diag::{Result, Source};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::{self, Put, Records};
use litmake_engine::events::{Event, Listener};
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome};
use litmake_litmus::{self as litmus, Place, Test, Value};
use litmake_mix::By;
use litmake_pipeline::kinds::Kind;
use litmake_pipeline::plan::Plan;
use litmake_profile::{Profile, Profiles};
use litmake_reduce::reduce;
use litmake_report::evidence::{Presence, Shows};
use litmake_report::{Cause, Error, Finding, Report, State, Status};

/// How many findings of a stage are investigated by default.
const FINDINGS: u64 = 10;

/// The largest number of candidates to reduce one test.
const CANDIDATES: usize = 600;

/// How many kinds of compiler failures are reduced, and the largest number of candidates for each.
const FAILURES: usize = 3;
const FAILURE_CANDIDATES: usize = 200;

/// A stage that can be applied to tests.
#[derive(Clone)]
struct Piece {
    map: Arc<dyn Map>,
    fingerprint: Digest,
}

/// The stages that led to a comparison, by their positions in the plan.
#[derive(Clone)]
struct Chain {
    compile: usize,
    target: usize,
    sources: Vec<usize>,
    /// How tests are taken apart before they are compiled; none for whole tests.
    parts: Option<By>,
}

/// A test on which a compiler failed.
struct Failed {
    /// The position of its error in the report.
    place: usize,
    /// The node of the plan.
    node: usize,
    profile: Arc<Profile>,
    test: Test,
    kind: FailureKind,
    /// The largest number of smaller tests that it may be tried with.
    limit: usize,
}

/// Investigates the findings of one run.
pub struct Investigator<'a> {
    plan: &'a Plan,
    records: &'a dyn Records,
    context: &'a Context,
    profiles: Arc<Profiles>,
    /// Is told which finding is being investigated.
    listener: &'a dyn Listener,
    compilers: &'a Compilers,
    models: Models<'a>,
    /// Stages for a profile, by node of the plan and name of the profile.
    made: HashMap<(usize, String), Option<Piece>>,
    /// When other compilers are no longer asked and failures no longer reduced, if that is limited.
    until: Option<Instant>,
    /// Whether a mix of one profile shows the same in the whole test, by comparison, profile and
    /// test.
    whole: HashMap<(usize, String, String), bool>,
}

impl<'a> Investigator<'a> {
    /// An investigator for the findings of one run of a pipeline.
    pub fn new(
        workspace: &'a Workspace,
        plan: &'a Plan,
        records: &'a dyn Records,
        context: &'a Context,
        listener: &'a dyn Listener,
    ) -> Result<Investigator<'a>> {
        Ok(Investigator {
            plan,
            records,
            context,
            profiles: workspace.profiles()?,
            listener,
            compilers: workspace.compilers(),
            models: workspace.models(),
            made: HashMap::new(),
            until: None,
            whole: HashMap::new(),
        })
    }

    /// Investigates the new findings of a report, and failures of compilers. `content` gives the
    /// text of a test in a node of the plan. What is left at `until` stays unknown: which other compilers show
    /// a finding, and smaller tests of failures.
    pub fn report(
        &mut self,
        report: &mut Report,
        origins: &Origins,
        content: &dyn Fn(usize, &str) -> Option<String>,
        until: Option<Instant>,
    ) {
        self.until = until;
        let chosen = self.chosen(report, origins);
        let failures = self.failures(report, content);
        let all = (chosen.len() + failures.len()) as u64;
        let listener = self.listener;
        let tell = |done: usize, test: &str| {
            let done = done as u64;
            listener.event(&Event::Investigating { done, findings: all, test });
        };
        for (done, (place, node)) in chosen.iter().enumerate() {
            if self.context.stopped() {
                break;
            }
            let finding = &mut report.findings[*place];
            tell(done, &finding.test);
            if finding.evidence.is_none() {
                self.explain(finding);
            }
            if finding.label.is_empty() && !self.is_late() {
                self.elsewhere(finding, *node, content);
            }
        }
        for (done, failure) in failures.iter().enumerate() {
            if self.context.stopped() || self.is_late() {
                break;
            }
            let error = &mut report.errors[failure.place];
            tell(chosen.len() + done, &error.test);
            error.reproducer = litmus::write(&self.smallest(failure));
        }
        if all > 0 {
            tell(all as usize, "");
        }
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The findings to investigate, by position, with the comparisons that found them.
    fn chosen(&self, report: &Report, origins: &Origins) -> Vec<(usize, usize)> {
        let mut counts: BTreeMap<(usize, bool), u64> = BTreeMap::new();
        let mut out = Vec::new();
        for (place, finding) in report.findings.iter().enumerate() {
            let Some(node) = finding.ids().find_map(|id| origins.get(id)) else { continue };
            let Kind::Compare(options) = &self.plan.nodes[*node].kind else { continue };
            let most = options.investigate.as_ref().map_or(FINDINGS, |n| n.value);
            let count = counts.entry((*node, finding.label.is_empty())).or_default();
            if finding.status == Status::New && *count < most {
                *count += 1;
                out.push((place, *node));
            }
        }
        out
    }

    /// The stages behind a comparison. None if it is not about compiled tests.
    fn chain(&self, compare: usize) -> Option<Chain> {
        let inputs = &self.plan.nodes[compare].inputs;
        let (source, target) = (*inputs.first()?, *inputs.get(1)?);
        let mut compile = *self.plan.nodes[target].inputs.first()?;
        while !matches!(self.plan.nodes[compile].kind, Kind::Compile(_)) {
            compile = *self.plan.nodes[compile].inputs.first()?;
        }
        let sources = [source].into_iter().chain(inputs[2..].iter().copied()).collect();
        Some(Chain { compile, target, sources, parts: None })
    }

    /// The stages behind a finding of one profile, with that profile. For a mix in which one
    /// profile made all parts, the test is compiled as a whole if it shows the same then, and in
    /// parts otherwise.
    fn alone(&mut self, compare: usize, finding: &Finding) -> Option<(Chain, Arc<Profile>)> {
        let chain = self.chain(compare)?;
        if finding.mix.is_empty() {
            let profile = self.plan.nodes[chain.compile].profile.clone()?;
            return Some((chain, profile));
        }
        let way = self.way(finding, compare)?;
        let [(compile, profile)] = &way.compiles[..] else { return None };
        let whole = Chain { compile: *compile, ..chain };
        let key = (compare, profile.name.clone(), finding.test.clone());
        let shows = match self.whole.get(&key) {
            Some(shows) => *shows,
            None => {
                let text = finding.source.as_str();
                let test = litmus::read(&Source::new(finding.test.clone(), text)).ok()?;
                let verdict = self.verdicts(&whole, profile, &[test]).pop();
                let shows = verdict.is_some_and(|v| bugs::shows(&v, finding));
                self.whole.insert(key, shows);
                shows
            }
        };
        let parts = (!shows).then_some(way.by);
        Some((Chain { parts, ..whole }, profile.clone()))
    }

    /// Adds the other compilers that show a difference in the test of a finding.
    fn elsewhere(
        &mut self,
        finding: &mut Finding,
        compare: usize,
        content: &dyn Fn(usize, &str) -> Option<String>,
    ) {
        let subject = self.alone(compare, finding).and_then(|(chain, profile)| {
            let text = match chain.parts.is_some() || !finding.mix.is_empty() {
                true => finding.source.clone(),
                false => {
                    let tests = *self.plan.nodes[chain.compile].inputs.first()?;
                    content(tests, &finding.test)?
                }
            };
            let test = litmus::read(&Source::new(finding.test.clone(), text)).ok()?;
            Some((chain, profile, test))
        });
        if let Some((chain, profile, test)) = &subject {
            self.presence(finding, chain, profile, test);
        }
    }

    /// Adds the executions behind a finding, or behind its reduced form.
    pub fn explain(&mut self, finding: &mut Finding) {
        let (source, target, outcomes) = match &finding.reduced {
            Some(r) => (&r.source, &r.target, &r.outcomes),
            None => (&finding.source, &finding.target, &finding.outcomes),
        };
        finding.evidence = explain::explain(
            self.models,
            (source, &finding.model_source),
            (target, &finding.model_target),
            &outcomes.forbidden,
        );
    }

    /// Adds the versions of the compiler, and the other compilers, that show a difference in a
    /// test.
    fn presence(
        &mut self,
        finding: &mut Finding,
        chain: &Chain,
        profile: &Arc<Profile>,
        test: &Test,
    ) {
        let mut siblings = self.siblings(profile);
        siblings.sort_by(|a, b| {
            let key = |p: &Profile| (p.tool() != profile.tool(), p.tool().to_string());
            key(a).cmp(&key(b)).then(a.by_age(b))
        });
        self.compilers.look_up(&siblings, self.records);
        for sibling in siblings {
            if self.is_late() {
                // A part of them would be taken for all.
                finding.presence.clear();
                return;
            }
            let verdict = match self.compilers.tool(&sibling, self.records).program {
                // Compilers that are not installed are left out.
                Err(_) => continue,
                Ok(_) => self.verdicts(chain, &sibling, std::slice::from_ref(test)).pop(),
            };
            let way = (chain.clone(), sibling.clone());
            // Another bug in the same test is not this one.
            let mut is_this = |v: &std::result::Result<Verdict, Failure>| {
                self.keeps(&way, finding, (test, v), finding.mechanism.as_slice())
            };
            let (shows, error) = match verdict {
                Some(Ok(v))
                    if v.shows(!finding.outcomes.forbidden.is_empty())
                        && is_this(&Ok(v.clone())) =>
                {
                    (Shows::Present, String::new())
                }
                Some(Ok(_)) => (Shows::Absent, String::new()),
                Some(Err(e)) => (Shows::Unknown, e.text()),
                None => continue,
            };
            finding.presence.push(Presence {
                profile: sibling.name.clone(),
                compiler: sibling.compiler_name(),
                shows,
                error,
            });
        }
    }

    /// The profiles of other versions and other compilers that are siblings: those with a name, and
    /// those in the plan, such as builds and profiles from files.
    fn siblings(&self, profile: &Profile) -> Vec<Arc<Profile>> {
        let own = self.plan.nodes.iter().filter_map(|n| n.profile.as_ref());
        let mut out: Vec<Arc<Profile>> = Vec::new();
        for sibling in self.profiles.iter().chain(own).filter(|p| p.is_sibling(profile)) {
            let same = |p: &Arc<Profile>| p.fingerprint() == sibling.fingerprint();
            if !out.iter().any(same) {
                out.push(sibling.clone());
            }
        }
        out
    }

    /// A stage of the plan, for code of a profile.
    fn piece(&mut self, node: usize, profile: Option<&Arc<Profile>>) -> Option<Piece> {
        let key = (node, profile.map_or(String::new(), |p| p.name.clone()));
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let of = &self.plan.nodes[node];
        let made = match (&of.kind, profile) {
            (Kind::Compile(options), Some(profile)) => {
                let tool = self.compilers.tool(profile, self.records);
                Some(piece(compiled::stage(profile, options, tool)))
            }
            (Kind::Simulate(options), _) => {
                let compiled = profile.map_or(&of.mixed[..], std::slice::from_ref);
                let stage = simulate::stage(of, options, compiled, self.models);
                stage.ok().map(|(work, fingerprint, _)| piece((work, fingerprint)))
            }
            _ => None,
        };
        self.made.insert(key, made.clone());
        made
    }

    fn apply(
        &self,
        piece: Option<Piece>,
        items: &[Vec<u8>],
    ) -> Vec<std::result::Result<Vec<u8>, Failure>> {
        let Some(piece) = piece else {
            let failure = Failure::machine("a stage of the plan cannot be made");
            return vec![Err(failure); items.len()];
        };
        let lab = Lab { records: self.records, context: self.context };
        let outcomes = lab.apply(&*piece.map, piece.fingerprint, items, &mut Done::default());
        fn content(outcome: Outcome) -> std::result::Result<Vec<u8>, Failure> {
            match outcome {
                Outcome::Done(content)
                | Outcome::Finding(content)
                | Outcome::DoneForNow(content) => Ok(content),
                Outcome::Failed(failure) => Err(failure),
            }
        }
        outcomes.into_iter().map(content).collect()
    }

    fn compiled(&mut self, chain: &Chain, profile: &Arc<Profile>, test: &Test) -> Option<String> {
        let piece = self.piece(chain.compile, Some(profile));
        let code = self.apply(piece, &[litmus::write(test).into_bytes()]).pop()?.ok()?;
        String::from_utf8(code).ok()
    }

    /// The verdicts of a comparison on some tests, with code of a profile.
    fn verdicts(
        &mut self,
        chain: &Chain,
        profile: &Arc<Profile>,
        tests: &[Test],
    ) -> Vec<std::result::Result<Verdict, Failure>> {
        if let Some(by) = chain.parts {
            return tests.iter().map(|t| self.in_parts(chain, by, profile, t)).collect();
        }
        let code = self.piece(chain.compile, Some(profile));
        self.verdicts_of(chain, profile, code, tests)
    }

    /// The verdicts of a comparison on some tests, whose code `compile` makes.
    fn verdicts_of(
        &mut self,
        chain: &Chain,
        profile: &Arc<Profile>,
        compile: Option<Piece>,
        tests: &[Test],
    ) -> Vec<std::result::Result<Verdict, Failure>> {
        let texts: Vec<Vec<u8>> = tests.iter().map(|t| litmus::write(t).into_bytes()).collect();
        let mut out: Vec<std::result::Result<Verdict, Failure>> =
            vec![Err(Failure::stopped()); tests.len()];
        // Simulating sources is cheap: tests that have no meaning are not compiled.
        let mut sources: Vec<Vec<Allowed>> = vec![Vec::new(); tests.len()];
        let mut good: Vec<usize> = (0..tests.len()).collect();
        for simulate in &chain.sources {
            let piece = self.piece(*simulate, None);
            let items: Vec<Vec<u8>> = good.iter().map(|i| texts[*i].clone()).collect();
            let mut next = Vec::new();
            for (i, outcome) in good.iter().zip(self.apply(piece, &items)) {
                match outcome.and_then(|b| Allowed::decode(&b)) {
                    Ok(allowed) => {
                        sources[*i].push(allowed);
                        next.push(*i);
                    }
                    Err(failure) => out[*i] = Err(failure),
                }
            }
            good = next;
        }
        let items: Vec<Vec<u8>> = good.iter().map(|i| texts[*i].clone()).collect();
        let mut code = Vec::new();
        for (i, outcome) in good.iter().zip(self.apply(compile, &items)) {
            match outcome {
                Ok(text) => code.push((*i, text)),
                Err(failure) => out[*i] = Err(failure),
            }
        }
        let items: Vec<Vec<u8>> = code.iter().map(|(_, text)| text.clone()).collect();
        let piece = self.piece(chain.target, Some(profile));
        for ((i, _), outcome) in code.iter().zip(self.apply(piece, &items)) {
            let verdict = outcome.and_then(|b| Allowed::decode(&b)).and_then(|target| {
                let (first, further) = sources[*i].split_first().ok_or("no source")?;
                judge(first, &target, further)
            });
            out[*i] = verdict;
        }
        out
    }

    /// The failures of compilers whose tests are reduced: one of each kind, for a few kinds.
    fn failures(
        &self,
        report: &Report,
        content: &dyn Fn(usize, &str) -> Option<String>,
    ) -> Vec<Failed> {
        let plan = self.plan;
        let mut out: Vec<Failed> = Vec::new();
        for (place, error) in report.errors.iter().enumerate() {
            if error.cause != Cause::Run || out.len() >= FAILURES {
                continue;
            }
            let Some(node) = plan.nodes.iter().position(|n| n.label == error.stage) else {
                continue;
            };
            let Some(limit) = self.failure(node, error) else { continue };
            let kind = error.kind;
            if out.iter().any(|f| plan.nodes[f.node].label == error.stage && f.kind == kind) {
                continue;
            }
            let Some(profile) = plan.nodes[node].profile.clone() else { continue };
            let text = plan.nodes[node].inputs.first().and_then(|i| content(*i, &error.test));
            let test =
                text.and_then(|text| litmus::read(&Source::new(error.test.clone(), text)).ok());
            if let Some(test) = test {
                out.push(Failed { place, node, profile, test, kind, limit });
            }
        }
        out
    }

    /// The smallest test on which a compiler fails in the same way. It is kept, since the failures
    /// on the way to it are not, and is only believed while the compiler fails on it.
    fn smallest(&mut self, failed: &Failed) -> Test {
        let Some(piece) = self.piece(failed.node, Some(&failed.profile)) else {
            return failed.test.clone();
        };
        let fails = |tests: &[Test]| -> Vec<bool> {
            let texts: Vec<Vec<u8>> = tests.iter().map(|t| litmus::write(t).into_bytes()).collect();
            let results = self.apply(Some(piece.clone()), &texts);
            results.iter().map(|r| r.as_ref().is_err_and(|e| e.kind == failed.kind)).collect()
        };
        let key = Keyer::new("smallest failing test/1")
            .field("litmake", env!("LITMAKE_STAGE_INVESTIGATE").as_bytes())
            .field("stage", &piece.fingerprint.0)
            .field("test", litmus::write(&failed.test).as_bytes())
            .field("fails", format!("{:?} {}", failed.kind, failed.limit).as_bytes())
            .finish();
        let kept = self.records.get(&[key]).pop().flatten();
        let kept = kept.and_then(|text| String::from_utf8(text).ok());
        let kept = kept.and_then(|text| litmus::read(&Source::new("kept", text)).ok());
        if let Some(kept) = kept.filter(|kept| fails(std::slice::from_ref(kept)) == [true]) {
            return kept;
        }
        let smallest = reduce(&failed.test, failed.limit, &mut |tests| match self.is_late() {
            true => vec![false; tests.len()],
            false => fails(tests),
        });
        if !self.context.stopped() && !self.is_late() && self.compilers.moved().is_none() {
            let value = litmus::write(&smallest);
            let put = Put { kind: records::Kind::Alias, key, value: value.as_bytes() };
            self.records.put(&[put]);
        }
        smallest
    }

    /// How many smaller tests a compiler that failed may be tried with. None if its tests are not
    /// reduced.
    fn failure(&self, node: usize, error: &Error) -> Option<usize> {
        let node = &self.plan.nodes[node];
        let (Kind::Compile(_), Some(profile)) = (&node.kind, &node.profile) else { return None };
        match error.kind {
            // Each smaller test that hangs, too, takes the whole time limit.
            FailureKind::Broken(Fault::Hung) => {
                Some(20 / profile.timeout.as_secs().max(1) as usize)
            }
            FailureKind::Broken(Fault::Crashed(_) | Fault::Output) => Some(FAILURE_CANDIDATES),
            _ => None,
        }
    }
}

fn piece<M: Map + 'static>((work, fingerprint): (M, Fingerprint)) -> Piece {
    Piece { map: Arc::new(work), fingerprint: fingerprint.digest() }
}

/// An outcome as places and values. `None` if a value is no number.
fn places(outcome: &State) -> Option<Vec<(Place, Value)>> {
    let place = |name: &str| {
        if let Some((thread, local)) = name.split_once(':') {
            return Some(Place::Reg { thread: thread.parse().ok()?, name: local.to_string() });
        }
        match name.strip_suffix(']').and_then(|n| n.split_once('[')) {
            Some((name, i)) => Some(Place::Mem { name: name.to_string(), index: i.parse().ok() }),
            None => Some(Place::Mem { name: name.to_string(), index: None }),
        }
    };
    outcome
        .iter()
        .map(|(name, value)| Some((place(name)?, Value::Int(value.parse().ok()?))))
        .collect()
}
