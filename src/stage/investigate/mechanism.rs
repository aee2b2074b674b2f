//! Asks for the mechanism of a difference: finds an execution of the source and one of the code, and
//! the thread to blame. What two executions tell is the business of `report::mechanism`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bugs::shows;
use super::explain::explain;
use super::{Chain, Investigator};
use crate::verdict::Verdict;
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_litmus::c::ast::{Expr, ExprKind};
use litmake_litmus::c::orders::{Kind, orders};
use litmake_litmus::c::types::size_of;
use litmake_litmus::scopes::{Level, Scopes};
use litmake_litmus::{self as litmus, Arch, Body, Test, Type};
use litmake_profile::Profile;
use litmake_reduce::core::blamed;
use litmake_report::mechanism::{Change, Mechanism, Objects, told};
use litmake_report::{Class, Finding, State};

/// How a difference is compiled and judged.
type Way = (Chain, Arc<Profile>);

/// How many wrong outcomes of a smaller test are looked at for the mechanism of the whole one.
const OUTCOMES: usize = 3;

/// The part of a compiler that makes the code: the target, and the selector of instructions where
/// a target has two. Both sizes of x86 are one target of compilers.
fn back_end(profile: &Profile) -> String {
    let arch = match profile.arch {
        Arch::X86_64 => Arch::X86.name(),
        arch => arch.name(),
    };
    let has = |word: &str| profile.args.iter().any(|arg| arg == word);
    let last = profile.args.iter().rev().find(|arg| arg.starts_with("-O"));
    let is_plain = last.is_none_or(|arg| arg == "-O0");
    let is_global = match profile.arch {
        Arch::AArch64 => is_plain && !has("-fno-global-isel") || has("-fglobal-isel"),
        _ => has("-fglobal-isel"),
    };
    match profile.maker() == "clang" && is_global {
        true => format!("{arch} (GlobalISel)"),
        false => arch.to_string(),
    }
}

/// What a source says of its objects.
fn objects(source: &Test) -> Objects {
    let mut out = Objects::default();
    let mut sizes = Vec::new();
    for param in source.threads.iter().filter_map(Body::function).flat_map(|f| &f.params) {
        let Type::Pointer(to) = param.ty.bare() else { continue };
        if matches!(to.bare(), Type::Struct(_) | Type::Array(..)) {
            continue;
        }
        out.scalars.insert(param.name.to_string());
        let size = size_of(to).unwrap_or_default();
        if size == 16 {
            out.wide.insert(param.name.to_string());
        }
        sizes.push(size);
    }
    let has = |size: u64| sizes.contains(&size);
    let calls = |is: &dyn Fn(&[Kind]) -> bool| {
        source.functions().any(|f| {
            let mut found = false;
            let mut is_it = |e: &Expr| {
                let ExprKind::Call(name, _) = &e.kind else { return false };
                orders(name).is_some_and(|(_, kinds)| is(kinds))
            };
            f.each_expr(&mut |e| found |= e.any(&mut is_it));
            found
        })
    };
    out.special = match () {
        () if has(16) => "128-bit access",
        () if has(1) || has(2) => "8- or 16-bit access",
        () if calls(&|kinds| kinds == [Kind::Both, Kind::Load]) => "compare-exchange",
        () if calls(&|kinds| kinds == [Kind::Both]) => "read-modify-write",
        () => "access",
    }
    .to_string();
    out
}

/// The scopes that do not have all threads of a test.
fn narrow(code: &Test) -> Vec<Level> {
    let threads = code.threads.len();
    let scopes = code.scopes.clone().unwrap_or_else(|| Scopes::apart(threads));
    let is_narrow = |level: &Level| (1..threads).any(|t| !scopes.share(*level, 0, t));
    Level::ALL.into_iter().filter(is_narrow).collect()
}

impl Investigator<'_> {
    /// The mechanisms that a test and its code can have, each with its thread.
    fn each(
        &self,
        (_, profile): &Way,
        finding: &Finding,
        (source, target): (&str, &str),
        wrong: &[State],
    ) -> Vec<(Option<u16>, Mechanism)> {
        let place = back_end(profile);
        if wrong.is_empty() && !finding.faults.is_empty() {
            let change = Change::Writes;
            return vec![(None, Mechanism { target: place, change, ..Mechanism::default() })];
        }
        let models = (&finding.model_source, &finding.model_target);
        let evidence = explain(self.models, (source, models.0), (target, models.1), wrong);
        let read = |text: &str| litmus::read(&Source::new("test", text)).ok();
        let mut objects = read(source).map(|test| objects(&test)).unwrap_or_default();
        objects.narrow = read(target).map(|test| narrow(&test)).unwrap_or_default();
        let all = evidence.as_ref().map(|e| told(e, &objects)).unwrap_or_default();
        all.into_iter().map(|(t, m)| (t, Mechanism { target: place.clone(), ..m })).collect()
    }

    /// The mechanisms that the whole test of a difference can have.
    pub(super) fn mechanisms(&self, way: &Way, finding: &Finding) -> Vec<Mechanism> {
        let texts = (&*finding.source, &*finding.target);
        let all = self.each(way, finding, texts, &finding.outcomes.forbidden);
        all.into_iter().map(|(_, mechanism)| mechanism).collect()
    }

    /// Whether a smaller test that shows a difference still has one of the mechanisms of the whole
    /// test. Where the whole test tells none, any will do.
    pub(super) fn keeps(
        &mut self,
        way: &Way,
        finding: &Finding,
        (test, verdict): (&Test, &Result<Verdict, Failure>),
        wanted: &[Mechanism],
    ) -> bool {
        let Ok(verdict) = verdict else { return false };
        // Code of parts is not made here, and executions do not tell that a value survives a call.
        let survives = wanted.iter().any(|m| m.change == Change::Survives);
        if wanted.is_empty() || survives || way.0.parts.is_some() {
            return true;
        }
        let Some(code) = self.compiled(&way.0, &way.1, test) else { return true };
        let source = litmus::write(test);
        let mut wrong = verdict.positive.chunks(1).take(OUTCOMES);
        let mut is_told = false;
        let alike = |states: &[State]| {
            let own = self.each(way, finding, (&source, &code), states);
            is_told |= !own.is_empty();
            own.iter().any(|(_, own)| wanted.iter().any(|m| m.is_alike(own)))
        };
        verdict.positive.is_empty() || wrong.any(alike) || !is_told
    }

    /// The mechanism of a bug: that of the smallest test that shows it. Where the executions leave
    /// several, it is that of a thread to blame: the difference shows if all others are as strong as
    /// possible.
    pub(super) fn mechanism(&mut self, way: &Way, finding: &Finding) -> Option<Mechanism> {
        if finding.class == Class::Mixing || !finding.label.is_empty() {
            return None;
        }
        let (source, target, outcomes) = finding.smallest();
        let mut all = self.each(way, finding, (source, target), &outcomes.forbidden);
        all.sort_by_cached_key(|(_, m)| m.key());
        let first = all.first()?.1.clone();
        if all.iter().all(|(_, m)| m.is(&first)) {
            return Some(first);
        }
        let test = litmus::read(&Source::new(finding.test.clone(), source)).ok()?;
        let mut ask = |tests: &[Test]| -> Vec<bool> {
            let verdicts = self.verdicts(&way.0, &way.1, tests);
            verdicts.iter().map(|verdict| shows(verdict, finding)).collect()
        };
        let threads: BTreeSet<usize> = all.iter().filter_map(|(t, _)| t.map(usize::from)).collect();
        let blamed = blamed(&test, threads.into_iter().collect(), &mut ask);
        let is_blamed = |t: &Option<u16>| blamed.iter().any(|(b, _)| *t == u16::try_from(*b).ok());
        let blamed = all.into_iter().find(|(thread, _)| is_blamed(thread));
        Some(blamed.map_or(first, |(_, mechanism)| mechanism))
    }
}
