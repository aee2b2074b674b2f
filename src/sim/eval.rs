//! Evaluation of a model's steps for one partial execution after another.
//!
//! It does not know how the steps came about ([`super::steps`]), nor which of them a skeleton
//! makes needless ([`super::specialise`]).

use smallvec::SmallVec;

use super::search::{Judge, Look};
use super::skeleton::Skeleton;
use super::specialise::Live;
use super::steps::{Body, Bound, Code, Program, Slot, Step, Test};
use crate::cat::plan::{BaseSet, CheckKind, Shape};
use crate::rel::{Rel, Set, rows};

/// What is decided and what is possible, of reads-from and coherence.
#[derive(Clone, Debug)]
pub struct Choices {
    pub rf_low: Rel,
    pub rf_high: Rel,
    pub co_low: Rel,
    pub co_high: Rel,
    /// Change whenever reads-from, or coherence, does: never the same for two states of one
    /// skeleton's search.
    pub rf_stamp: u64,
    pub co_stamp: u64,
}

impl Choices {
    /// Nothing is decided but what the skeleton leaves no choice of.
    pub fn start(skeleton: &Skeleton) -> Choices {
        let n = skeleton.len();
        let mut choices = Choices {
            rf_low: Rel::empty(n),
            rf_high: Rel::empty(n),
            co_low: Rel::empty(n),
            co_high: Rel::empty(n),
            rf_stamp: 0,
            co_stamp: 0,
        };
        for read in &skeleton.reads {
            for w in &read.candidates {
                choices.rf_high.insert(usize::from(*w), usize::from(read.event));
            }
        }
        for writes in &skeleton.writes {
            for (i, a) in writes.iter().enumerate() {
                for b in &writes[i + 1..] {
                    let (a, b) = (usize::from(*a), usize::from(*b));
                    choices.co_high.insert(a, b);
                    if i == 0 {
                        choices.co_low.insert(a, b);
                    } else {
                        choices.co_high.insert(b, a);
                    }
                }
            }
        }
        choices
    }
}

/// What of the choices a step takes.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    /// Nothing: what is computed does not depend on them.
    None,
    /// What is decided or what is possible, as the step's own bound says. The values are the
    /// least ones at the root of the search, where a recursive definition starts.
    Bounds(&'a Choices, &'a Values),
    /// What every completion has; what is taken away, is taken from the other end's values.
    Least(&'a Choices, &'a Values),
    /// What any completion may have.
    Most(&'a Choices, &'a Values),
}

impl<'a> View<'a> {
    fn of(self, bound: Bound) -> Option<(&'a Choices, Bound)> {
        match self {
            View::None => None,
            View::Bounds(c, _) => Some((c, bound)),
            View::Least(c, _) => Some((c, Bound::Low)),
            View::Most(c, _) => Some((c, Bound::High)),
        }
    }

    fn other(self) -> Option<&'a Values> {
        match self {
            View::None | View::Bounds(..) => None,
            View::Least(_, other) | View::Most(_, other) => Some(other),
        }
    }
}

/// The size of a skeleton, and its writes.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) n: usize,
    pub(super) words: usize,
    writes: Vec<u64>,
}

/// The values of a program's slots for one skeleton, all relations in one allocation and all
/// sets in another. A step's operands lie before its result, so that the two can be borrowed
/// apart.
#[derive(Default)]
pub(super) struct Values {
    pub(super) sets: Vec<u64>,
    pub(super) rels: Vec<u64>,
}

/// A model's program at work on a skeleton.
#[derive(Default)]
pub struct Machine {
    pub(super) frame: Frame,
    pub(super) values: Values,
    /// The least values at the root of the search; while specialising, the greatest.
    pub(super) root: Values,
    pub(super) live: Live,
}

/// The slot at `out`, to be written, and all before it.
#[inline(always)]
fn split(bits: &mut [u64], out: Slot, stride: usize) -> (&[u64], &mut [u64]) {
    let (before, rest) = bits.split_at_mut(out as usize * stride);
    (before, &mut rest[..stride])
}

#[inline(always)]
fn slot(bits: &[u64], s: Slot, stride: usize) -> &[u64] {
    &bits[s as usize * stride..(s as usize + 1) * stride]
}

impl Values {
    pub(super) fn copy_from(&mut self, other: &Values) {
        self.sets.clone_from(&other.sets);
        self.rels.clone_from(&other.rels);
    }

    pub(super) fn set(&self, s: Slot, frame: &Frame) -> &[u64] {
        slot(&self.sets, s, frame.words)
    }

    pub(super) fn rel(&self, s: Slot, frame: &Frame) -> &[u64] {
        slot(&self.rels, s, frame.words * frame.n)
    }

    pub(super) fn set_mut(&mut self, s: Slot, frame: &Frame) -> &mut [u64] {
        split(&mut self.sets, s, frame.words).1
    }

    pub(super) fn rel_mut(&mut self, s: Slot, frame: &Frame) -> &mut [u64] {
        split(&mut self.rels, s, frame.words * frame.n).1
    }

    #[inline]
    pub(super) fn run(&mut self, step: &Step, frame: &Frame, view: View) {
        if frame.words == 1 && step.code.is_plain() {
            self.run_narrow(step, frame.n, view);
        } else {
            self.run_any(step, frame, view);
        }
    }

    /// The commonest steps on relations of one word a row.
    fn run_narrow(&mut self, step: &Step, n: usize, view: View) {
        let (rels, rest) = self.rels.split_at_mut(step.out as usize * n);
        let out = &mut rest[..n];
        macro_rules! rel {
            ($s:expr) => {
                &rels[$s as usize * n..][..n]
            };
        }
        match step.code {
            Code::RelUnion(a, b) => rows::zip(out, rel!(a), rel!(b), |a, b| a | b),
            Code::RelInter(a, b) => rows::zip(out, rel!(a), rel!(b), |a, b| a & b),
            Code::Seq(a, b) => rows::seq(out, rel!(a), rel!(b), 1),
            Code::RestrictDomain(r, s) => {
                rows::restrict_domain(out, rel!(r), &self.sets[s as usize..][..1]);
            }
            Code::RestrictRange(r, s) => {
                rows::restrict_range(out, rel!(r), &self.sets[s as usize..][..1]);
            }
            Code::Plus(a) => {
                out.copy_from_slice(rel!(a));
                rows::close(out, 1);
            }
            Code::Inverse(a) => rows::inverse(out, rel!(a), 1),
            Code::RelDiff(a, b) => {
                let b = match view.other() {
                    Some(other) => &other.rels[b as usize * n..][..n],
                    None => rel!(b),
                };
                rows::zip(out, rel!(a), b, |a, b| a & !b);
            }
            _ => {}
        }
    }

    fn run_any(&mut self, step: &Step, frame: &Frame, view: View) {
        let words = frame.words;
        let stride = words * frame.n;
        match &step.code {
            Code::Fix(bodies) => return self.solve(bodies, frame, view),
            Code::SetUnion(..)
            | Code::SetInter(..)
            | Code::SetDiff(..)
            | Code::SetComplement(_)
            | Code::Domain(_)
            | Code::Range(_)
            | Code::FinalWrites(_)
            | Code::StaticSet(_)
            | Code::EmptySet => {
                let (sets, out) = split(&mut self.sets, step.out, words);
                let set = |s: &Slot| slot(sets, *s, words);
                let rel = |s: &Slot| slot(&self.rels, *s, stride);
                let not = |s: &Slot| view.other().map_or(set(s), |v| slot(&v.sets, *s, words));
                match &step.code {
                    Code::SetUnion(a, b) => rows::zip(out, set(a), set(b), |a, b| a | b),
                    Code::SetInter(a, b) => rows::zip(out, set(a), set(b), |a, b| a & b),
                    Code::SetDiff(a, b) => rows::zip(out, set(a), not(b), |a, b| a & !b),
                    Code::SetComplement(a) => rows::complement(out, not(a), frame.n, words),
                    Code::Domain(r) => rows::domain(out, rel(r)),
                    Code::Range(r) => rows::range(out, rel(r)),
                    Code::FinalWrites(bound) => {
                        if let Some((c, bound)) = view.of(*bound) {
                            final_writes(out, &frame.writes, c, bound);
                        }
                    }
                    _ => out.fill(0),
                }
                return;
            }
            _ => {}
        }
        let (rels, out) = split(&mut self.rels, step.out, stride);
        let set = |s: &Slot| slot(&self.sets, *s, words);
        let rel = |s: &Slot| slot(rels, *s, stride);
        let not = |s: &Slot| view.other().map_or(rel(s), |v| slot(&v.rels, *s, stride));
        match &step.code {
            Code::RelUnion(a, b) => rows::zip(out, rel(a), rel(b), |a, b| a | b),
            Code::RelInter(a, b) => rows::zip(out, rel(a), rel(b), |a, b| a & b),
            Code::RelDiff(a, b) => rows::zip(out, rel(a), not(b), |a, b| a & !b),
            Code::RelComplement(a) => rows::complement(out, not(a), frame.n, words),
            Code::Seq(a, b) => rows::seq(out, rel(a), rel(b), words),
            Code::Inverse(a) => rows::inverse(out, rel(a), words),
            Code::Plus(a) => {
                out.copy_from_slice(rel(a));
                rows::close(out, words);
            }
            Code::Cross(a, b) => rows::cross(out, set(a), set(b)),
            Code::IdentityOn(a) => rows::identity_on(out, set(a)),
            Code::RestrictDomain(r, s) => rows::restrict_domain(out, rel(r), set(s)),
            Code::RestrictRange(r, s) => rows::restrict_range(out, rel(r), set(s)),
            Code::Rf(bound) => {
                if let Some((c, bound)) = view.of(*bound) {
                    let r = if bound == Bound::High { &c.rf_high } else { &c.rf_low };
                    out.copy_from_slice(r.bits());
                }
            }
            Code::Co(bound) => {
                if let Some((c, bound)) = view.of(*bound) {
                    let r = if bound == Bound::High { &c.co_high } else { &c.co_low };
                    out.copy_from_slice(r.bits());
                }
            }
            _ => out.fill(0),
        }
    }

    /// The least solution of a recursive definition, from below.
    fn solve(&mut self, bodies: &[Body], frame: &Frame, view: View) {
        let stride = |is_set| if is_set { frame.words } else { frame.words * frame.n };
        for body in bodies {
            let out = if body.is_set {
                self.set_mut(body.var, frame)
            } else {
                self.rel_mut(body.var, frame)
            };
            // What holds at the root of the search holds below it too.
            match view {
                View::Bounds(_, root) if body.is_set => {
                    out.copy_from_slice(root.set(body.var, frame));
                }
                View::Bounds(_, root) => out.copy_from_slice(root.rel(body.var, frame)),
                _ => out.fill(0),
            }
        }
        loop {
            let mut changed = false;
            for body in bodies {
                for step in &body.steps {
                    self.run(step, frame, view);
                }
                let bits = if body.is_set { &mut self.sets } else { &mut self.rels };
                let stride = stride(body.is_set);
                let (var, end) = (body.var as usize * stride, body.end as usize * stride);
                if bits[var..var + stride] != bits[end..end + stride] {
                    bits.copy_within(end..end + stride, var);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

impl Machine {
    /// Computes what is static; false where a static requirement fails. `choices` are those
    /// with which the search starts: they only become more decided.
    pub fn bind(&mut self, program: &Program, skeleton: &Skeleton, choices: &Choices) -> bool {
        let mut set = Set::empty(skeleton.len());
        let mut rel = Rel::empty(skeleton.len());
        let frame = &mut self.frame;
        frame.n = skeleton.len();
        frame.words = set.words().len();
        skeleton.set(BaseSet::W, &mut set);
        frame.writes.clear();
        frame.writes.extend_from_slice(set.words());
        let frame = &self.frame;
        self.values.sets.resize(program.sets as usize * frame.words, 0);
        self.values.rels.resize(program.rels as usize * frame.words * frame.n, 0);
        for step in &program.statics {
            match &step.code {
                Code::StaticSet(base) => {
                    skeleton.set(*base, &mut set);
                    self.values.set_mut(step.out, frame).copy_from_slice(set.words());
                }
                Code::StaticRel(base) => {
                    skeleton.rel(*base, &mut rel);
                    self.values.rel_mut(step.out, frame).copy_from_slice(rel.bits());
                }
                _ => self.values.run(step, frame, View::None),
            }
        }
        if !program.static_requires.iter().all(|t| self.holds(t, t.low)) {
            return false;
        }
        self.specialise(program, choices);
        true
    }

    /// The requirement that is broken for good, by its index among the checks; of the first
    /// `most` ones.
    fn first_broken(&mut self, choices: &Choices, most: usize) -> Option<usize> {
        let mut live = std::mem::take(&mut self.live);
        live.turn_to(choices);
        let mut done = 0;
        let mut broken = None;
        for test in live.requires.iter().take(most) {
            self.run_to(&live, &mut done, test.steps, choices);
            if !self.holds(test, test.early) {
                broken = Some(test.check);
                break;
            }
        }
        live.ran(done);
        self.live = live;
        broken
    }

    fn run_to(&mut self, live: &Live, done: &mut usize, end: usize, choices: &Choices) {
        while *done < end {
            if !live.is_done(*done) {
                self.values.run(&live.steps[*done], &self.frame, View::Bounds(choices, &self.root));
            }
            *done += 1;
        }
    }

    /// Runs every step, so that flags are known.
    pub fn complete(&mut self, choices: &Choices) {
        let mut live = std::mem::take(&mut self.live);
        live.turn_to(choices);
        let (mut done, end) = (0, live.steps.len());
        self.run_to(&live, &mut done, end, choices);
        live.ran(end);
        self.live = live;
    }

    fn raised(&self, program: &Program, test: &Test, slot: Slot) -> bool {
        let holds = self.holds(test, slot);
        match program.checks[test.check].kind {
            CheckKind::UndefinedUnless => !holds,
            _ => holds,
        }
    }

    fn holds(&self, test: &Test, at: Slot) -> bool {
        let plain = if test.is_set {
            slot(&self.values.sets, at, self.frame.words).iter().all(|w| *w == 0)
        } else {
            let r = slot(&self.values.rels, at, self.frame.words * self.frame.n);
            match test.shape {
                Shape::Acyclic => rows::is_acyclic(r, self.frame.words),
                Shape::Irreflexive => rows::is_irreflexive(r, self.frame.words),
                Shape::Empty => r.iter().all(|w| *w == 0),
            }
        };
        plain != test.negated
    }
}

/// From below: writes after which none can come; from above: writes after which none must.
fn final_writes(out: &mut [u64], writes: &[u64], choices: &Choices, bound: Bound) {
    let co = if bound == Bound::High { &choices.co_low } else { &choices.co_high };
    rows::domain(out, co.bits());
    for (out, w) in out.iter_mut().zip(writes) {
        *out = w & !*out;
    }
}

/// A compiled model and the values of its slots, as a judge of executions.
pub struct Compiled<'m> {
    pub program: &'m Program,
    pub machine: &'m mut Machine,
}

impl Judge for Compiled<'_> {
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> bool {
        self.machine.bind(self.program, skeleton, choices)
    }

    fn possible(&mut self, choices: &Choices, look: Look) -> bool {
        // The cheapest requirement comes first; most often it is coherence, which cuts most.
        let most = if look == Look::Glance { 1 } else { usize::MAX };
        self.machine.first_broken(choices, most).is_none()
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        // The last decision was followed by a look at all requirements.
        if !self.machine.live.flags_possible {
            return Ok(Some(SmallVec::new()));
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let raised = m.live.flags.iter().filter(|t| m.raised(self.program, t, t.low));
        Ok(Some(raised.map(|t| t.check).collect()))
    }

    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool {
        if !self.machine.live.flags_possible
            || self.machine.live.flags.iter().all(|t| raised.contains(&t.check))
        {
            return false;
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let mut open = m.live.flags.iter().filter(|t| !raised.contains(&t.check));
        open.any(|t| m.raised(self.program, t, t.early))
    }
}
