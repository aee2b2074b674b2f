//! Evaluates a model's steps on one partial execution after another.
//!
//! [`super::steps`] makes the steps, and [`super::specialise`] decides which of them a skeleton
//! needs; neither is known here.

use smallvec::SmallVec;

use super::search::{Judge, Look};
use super::skeleton::Skeleton;
use super::small::{self, Small};
use super::specialise::Live;
use super::steps::{Body, Bound, Code, CompiledCheck, CompiledModel, Slot, Step};
use litmake_base::rel::{Rel, Set, rows};
use litmake_cat::define::{MAX_ROUNDS, NEVER_SETTLES};
use litmake_cat::plan::{BaseSet, CheckKind, Shape};

/// Reads-from and coherence of a partial execution: each as a lower bound (what is decided) and an
/// upper bound (what is still possible).
#[derive(Clone, Debug)]
pub struct Choices {
    pub rf_lower: Rel,
    pub rf_upper: Rel,
    pub co_lower: Rel,
    pub co_upper: Rel,
    /// The stamp of reads-from, and that of coherence: a new one whenever it changes, so that two
    /// states of one skeleton's search have different stamps.
    pub rf_stamp: u64,
    pub co_stamp: u64,
}

impl Choices {
    /// The choices at the root of a search: only what the skeleton leaves no choice of is decided.
    pub fn start(skeleton: &Skeleton) -> Choices {
        let n = skeleton.len();
        let mut choices = Choices {
            rf_lower: Rel::empty(n),
            rf_upper: Rel::empty(n),
            co_lower: Rel::empty(n),
            co_upper: Rel::empty(n),
            rf_stamp: 0,
            co_stamp: 0,
        };
        for read in &skeleton.reads {
            for w in &read.candidates {
                choices.rf_upper.insert(usize::from(*w), usize::from(read.event));
            }
        }
        for writes in &skeleton.writes {
            for (i, a) in writes.iter().enumerate() {
                for b in &writes[i + 1..] {
                    let (a, b) = (usize::from(*a), usize::from(*b));
                    choices.co_upper.insert(a, b);
                    if i == 0 {
                        choices.co_lower.insert(a, b);
                    } else {
                        choices.co_upper.insert(b, a);
                    }
                }
            }
        }
        for (a, b) in &skeleton.ordered {
            let (a, b) = (usize::from(*a), usize::from(*b));
            choices.co_lower.insert(a, b);
            choices.co_upper.remove(b, a);
        }
        choices
    }
}

/// Which bound of the choices a step reads.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    /// None: the step is static.
    None,
    /// The bound that the step itself names. The values are the lower bounds at the root of the
    /// search, from which a recursive definition starts.
    Bounds(&'a Choices, &'a Values),
    /// The lower bound. What a step subtracts is the upper bound, from the values given here.
    Lower(&'a Choices, &'a Values),
    /// The upper bound. What a step subtracts is the lower bound, from the values given here.
    Upper(&'a Choices, &'a Values),
}

impl<'a> View<'a> {
    fn of(self, bound: Bound) -> Option<(&'a Choices, Bound)> {
        match self {
            View::None => None,
            View::Bounds(c, _) => Some((c, bound)),
            View::Lower(c, _) => Some((c, Bound::Lower)),
            View::Upper(c, _) => Some((c, Bound::Upper)),
        }
    }

    fn other(self) -> Option<&'a Values> {
        match self {
            View::None | View::Bounds(..) => None,
            View::Lower(_, other) | View::Upper(_, other) => Some(other),
        }
    }
}

/// The size of a skeleton, and its writes.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) n: usize,
    pub(super) words: usize,
    /// Whether relations are [`Small`].
    small: bool,
    writes: Vec<u64>,
}

impl Frame {
    /// The set of all events, for small relations.
    fn all(&self) -> u16 {
        (1u32 << self.n.min(small::MOST)).wrapping_sub(1) as u16
    }
}

/// The values of a model's slots for one skeleton: all relations in one allocation, all sets in
/// another. The operands of a step come before its result, so that the two can be borrowed apart.
#[derive(Default)]
pub(super) struct Values {
    sets: Vec<u64>,
    /// The relations of a skeleton with many events; of one with few, `small` holds them.
    rels: Vec<u64>,
    small: Vec<Small>,
    /// A recursive definition found no solution: it does not grow with itself.
    unsettled: bool,
}

/// How a value changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    /// It lost members, and gained none.
    Shrank,
    /// It gained some.
    Grew,
}

impl Change {
    fn of(same: bool, less: impl Fn() -> bool) -> Change {
        match same {
            true => Change::None,
            false if less() => Change::Shrank,
            false => Change::Grew,
        }
    }
}

/// The values and the specialised steps of a model on one skeleton.
#[derive(Default)]
pub struct Machine {
    pub(super) frame: Frame,
    pub(super) values: Values,
    /// The lower bounds at the root of the search; while specialising, the upper bounds.
    pub(super) root: Values,
    pub(super) live: Live,
    /// The requirements, as a mask, that every completion of some choices meets: they are not looked at.
    met: u64,
    /// Upper bounds, for finding these; nothing where none was looked for in this skeleton.
    most: Option<Values>,
}

/// All slots before `out`, and the slot `out` for writing.
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
    /// Makes room for the slots of a model, with any content.
    fn make_room(&mut self, model: &CompiledModel, frame: &Frame) {
        self.sets.resize(model.sets as usize * frame.words, 0);
        if frame.small {
            self.small.resize(model.rels as usize, Small::EMPTY);
        } else {
            self.rels.resize(model.rels as usize * frame.words * frame.n, 0);
        }
    }

    pub(super) fn copy_from(&mut self, other: &Values, frame: &Frame) {
        self.sets.clone_from(&other.sets);
        if frame.small {
            self.small.clone_from(&other.small);
        } else {
            self.rels.clone_from(&other.rels);
        }
    }

    pub(super) fn set(&self, s: Slot, frame: &Frame) -> &[u64] {
        slot(&self.sets, s, frame.words)
    }

    pub(super) fn set_mut(&mut self, s: Slot, frame: &Frame) -> &mut [u64] {
        split(&mut self.sets, s, frame.words).1
    }

    fn rel(&self, s: Slot, frame: &Frame) -> &[u64] {
        slot(&self.rels, s, frame.words * frame.n)
    }

    fn rel_mut(&mut self, s: Slot, frame: &Frame) -> &mut [u64] {
        split(&mut self.rels, s, frame.words * frame.n).1
    }

    /// Puts a relation, as rows of words, into a slot.
    fn put(&mut self, s: Slot, rows: &[u64], frame: &Frame) {
        if frame.small {
            self.small[s as usize] = Small::of(rows);
        } else {
            self.rel_mut(s, frame).copy_from_slice(rows);
        }
    }

    /// Whether a relation is empty.
    pub(super) fn is_empty(&self, s: Slot, frame: &Frame) -> bool {
        match frame.small {
            true => self.small[s as usize].is_empty(),
            false => self.rel(s, frame).iter().all(|w| *w == 0),
        }
    }

    /// Makes a relation empty.
    pub(super) fn clear(&mut self, s: Slot, frame: &Frame) {
        match frame.small {
            true => self.small[s as usize] = Small::EMPTY,
            false => self.rel_mut(s, frame).fill(0),
        }
    }

    /// Whether a relation has the same value here and in `other`.
    pub(super) fn agrees(&self, other: &Values, s: Slot, frame: &Frame) -> bool {
        match frame.small {
            true => self.small[s as usize] == other.small[s as usize],
            false => self.rel(s, frame) == other.rel(s, frame),
        }
    }

    /// Copies the value of a set or a relation from `other`.
    pub(super) fn take(&mut self, other: &Values, s: Slot, is_set: bool, frame: &Frame) {
        match (is_set, frame.small) {
            (true, _) => self.set_mut(s, frame).copy_from_slice(other.set(s, frame)),
            (false, true) => self.small[s as usize] = other.small[s as usize],
            (false, false) => self.rel_mut(s, frame).copy_from_slice(other.rel(s, frame)),
        }
    }

    #[inline]
    pub(super) fn run(&mut self, step: &Step, frame: &Frame, view: View) {
        if frame.small {
            self.run_small(step, frame, view);
        } else if frame.words == 1 && step.code.is_plain() {
            self.run_narrow(step, frame.n, view);
        } else {
            self.run_any(step, frame, view);
        }
    }

    /// Any step, on small relations.
    fn run_small(&mut self, step: &Step, frame: &Frame, view: View) {
        let set = |s: Slot| self.sets[s as usize] as u16;
        let rel = |s: Slot| &self.small[s as usize];
        let result = match step.code {
            Code::RelUnion(a, b) => rel(a).union(rel(b)),
            Code::RelInter(a, b) => rel(a).inter(rel(b)),
            Code::RelDiff(a, b) => rel(a).diff(match view.other() {
                Some(other) => &other.small[b as usize],
                None => rel(b),
            }),
            Code::Seq(a, b) => rel(a).seq(rel(b)),
            Code::RestrictDomain(r, s) => rel(r).restrict_domain(set(s)),
            Code::RestrictRange(r, s) => rel(r).restrict_range(set(s)),
            Code::Plus(a) => rel(a).close(),
            Code::Inverse(a) => rel(a).inverse(),
            Code::RelComplement(a) => match view.other() {
                Some(other) => other.small[a as usize].complement(frame.all()),
                None => rel(a).complement(frame.all()),
            },
            Code::Cross(a, b) => Small::cross(set(a), set(b)),
            Code::IdentityOn(a) => Small::identity_on(set(a)),
            Code::Rf(bound) => match view.of(bound) {
                Some((c, Bound::Upper)) => Small::of(c.rf_upper.bits()),
                Some((c, _)) => Small::of(c.rf_lower.bits()),
                None => return,
            },
            Code::Co(bound) => match view.of(bound) {
                Some((c, Bound::Upper)) => Small::of(c.co_upper.bits()),
                Some((c, _)) => Small::of(c.co_lower.bits()),
                None => return,
            },
            Code::EmptyRel | Code::StaticRel(_) => Small::EMPTY,
            Code::Domain(r) => {
                self.sets[step.out as usize] = rel(r).domain().into();
                return;
            }
            Code::Range(r) => {
                self.sets[step.out as usize] = rel(r).range().into();
                return;
            }
            _ => return self.run_any(step, frame, view),
        };
        self.small[step.out as usize] = result;
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
                    let r = if bound == Bound::Upper { &c.rf_upper } else { &c.rf_lower };
                    out.copy_from_slice(r.bits());
                }
            }
            Code::Co(bound) => {
                if let Some((c, bound)) = view.of(*bound) {
                    let r = if bound == Bound::Upper { &c.co_upper } else { &c.co_lower };
                    out.copy_from_slice(r.bits());
                }
            }
            _ => out.fill(0),
        }
    }

    /// Whether a check holds of the value in a slot.
    fn hold(&self, check: &CompiledCheck, at: Slot, frame: &Frame) -> bool {
        let plain = match (check.is_set, frame.small, check.shape) {
            (true, ..) => self.set(at, frame).iter().all(|w| *w == 0),
            (_, _, Shape::Empty) => self.is_empty(at, frame),
            (_, true, Shape::Acyclic) => self.small[at as usize].is_acyclic(),
            (_, true, Shape::Irreflexive) => self.small[at as usize].is_irreflexive(),
            (_, _, Shape::Acyclic) => rows::is_acyclic(self.rel(at, frame), frame.words),
            (_, _, Shape::Irreflexive) => rows::is_irreflexive(self.rel(at, frame), frame.words),
        };
        plain != check.negated
    }

    /// Computes the least solution of a recursive definition, starting from below.
    fn solve(&mut self, bodies: &[Body], frame: &Frame, view: View) {
        for body in bodies {
            match view {
                // A lower bound at the root of the search is one everywhere below.
                View::Bounds(_, root) => self.take(root, body.var, body.is_set, frame),
                _ if body.is_set => self.set_mut(body.var, frame).fill(0),
                _ => self.clear(body.var, frame),
            }
        }
        // A definition that grows with itself settles sooner. A static one may do neither.
        let most = MAX_ROUNDS.max(bodies.len() * (frame.n * frame.n + 1) + 1);
        // A static definition may shrink, too: then its value is that of whole rounds.
        let is_static = matches!(view, View::None);
        let whole = is_static || bodies.len() > 64;
        let mut waiting = u64::MAX;
        for _ in 0..most {
            let mut going = false;
            for (k, body) in bodies.iter().enumerate() {
                let own = 1 << (k % 64);
                if !whole && waiting & own == 0 {
                    continue;
                }
                waiting = waiting & !own | body.feeds;
                for step in &body.steps {
                    self.run(step, frame, view);
                }
                match self.settle(body, frame) {
                    Change::None => {}
                    // Started from nothing, a static definition ends where it stops growing.
                    Change::Shrank if is_static => {}
                    _ => {
                        going = true;
                        waiting |= body.readers;
                    }
                }
            }
            if !going {
                return;
            }
        }
        self.unsettled = true;
    }

    /// Gives a variable the value of its body.
    fn settle(&mut self, body: &Body, frame: &Frame) -> Change {
        let (var, end) = (body.var as usize, body.end as usize);
        if frame.small && !body.is_set {
            let (old, new) = (self.small[var], self.small[end]);
            self.small[var] = new;
            return Change::of(old == new, || new.is_within(&old));
        }
        let stride = if body.is_set { frame.words } else { frame.words * frame.n };
        let bits = if body.is_set { &mut self.sets } else { &mut self.rels };
        let (var, end) = (var * stride, end * stride);
        let (old, new) = (&bits[var..var + stride], &bits[end..end + stride]);
        let change = Change::of(old == new, || rows::within(new, old));
        if change != Change::None {
            bits.copy_within(end..end + stride, var);
        }
        change
    }
}

impl Machine {
    /// Prepares for a skeleton: runs the static steps, and specialises the others to `choices`,
    /// with which the search starts. False if a static requirement fails.
    pub fn bind(
        &mut self,
        model: &CompiledModel,
        skeleton: &Skeleton,
        choices: &Choices,
    ) -> Result<bool, String> {
        let mut set = Set::empty(skeleton.len());
        let mut rel = Rel::empty(skeleton.len());
        let frame = &mut self.frame;
        frame.n = skeleton.len();
        frame.words = set.words().len();
        frame.small = frame.n <= small::MOST;
        skeleton.set(BaseSet::W, &mut set);
        frame.writes.clear();
        frame.writes.extend_from_slice(set.words());
        let frame = &self.frame;
        self.values.make_room(model, frame);
        self.values.unsettled = false;
        (self.met, self.most) = (0, None);
        for step in &model.statics {
            match &step.code {
                Code::StaticSet(base) => {
                    skeleton.set(*base, &mut set);
                    self.values.set_mut(step.out, frame).copy_from_slice(set.words());
                }
                Code::StaticRel(base) => {
                    skeleton.rel(*base, &mut rel);
                    self.values.put(step.out, rel.bits(), frame);
                }
                _ => self.values.run(step, frame, View::None),
            }
        }
        if self.values.unsettled {
            return Err(NEVER_SETTLES.into());
        }
        if !model.static_requires.iter().all(|t| self.holds(t, t.exact)) {
            return Ok(false);
        }
        self.specialise(model, choices);
        Ok(true)
    }

    /// The index of the first check, among the first `most` requirements, that no completion of
    /// the choices satisfies.
    fn first_broken(&mut self, choices: &Choices, most: usize) -> Option<usize> {
        self.live.turn_to(choices);
        let mut done = 0;
        let mut broken = None;
        for at in 0..self.live.requires.len().min(most) {
            if self.is_met(at) {
                continue;
            }
            self.run_to(&mut done, self.live.requires[at].steps, choices);
            let check = &self.live.requires[at];
            if !self.holds(check, check.early) {
                broken = Some(check.index);
                break;
            }
        }
        self.live.ran(done);
        broken
    }

    fn is_met(&self, requirement: usize) -> bool {
        requirement < 64 && self.met >> requirement & 1 != 0
    }

    /// Notes the requirements that all completions of the choices meet: those that hold of the upper
    /// bounds, where more pairs can only break them.
    fn note_met(&mut self, choices: &Choices) {
        let open = |at: &usize| self.live.requires[*at].grows && !self.is_met(*at);
        let open: SmallVec<[usize; 8]> =
            (0..self.live.requires.len().min(64)).filter(open).collect();
        let Machine { frame, values, live, met, most, .. } = self;
        let most = most.get_or_insert_with(|| {
            let mut most = Values::default();
            most.copy_from(values, frame);
            most
        });
        let mut done = 0;
        for at in open {
            let check = &live.requires[at];
            for step in &live.steps[done.min(check.steps)..check.steps] {
                most.run(step, frame, View::Upper(choices, values));
            }
            done = done.max(check.steps);
            if !most.unsettled && most.hold(check, check.early, frame) {
                *met |= 1 << at;
            }
        }
    }

    fn run_to(&mut self, done: &mut usize, end: usize, choices: &Choices) {
        let Machine { frame, values, root, live, .. } = self;
        while *done < end {
            if !live.is_done(*done) {
                values.run(&live.steps[*done], frame, View::Bounds(choices, root));
            }
            *done += 1;
        }
    }

    /// Runs the steps that flags need.
    pub fn complete(&mut self, choices: &Choices) {
        self.live.turn_to(choices);
        let end = self.live.flags.iter().map(|flag| flag.steps).max().unwrap_or(0);
        let mut done = 0;
        self.run_to(&mut done, end, choices);
        self.live.ran(end);
    }

    pub(super) fn raised(&self, model: &CompiledModel, check: &CompiledCheck, slot: Slot) -> bool {
        let holds = self.holds(check, slot);
        match model.checks[check.index].kind {
            CheckKind::UndefinedUnless => !holds,
            _ => holds,
        }
    }

    pub(super) fn holds(&self, check: &CompiledCheck, at: Slot) -> bool {
        self.values.hold(check, at, &self.frame)
    }
}

/// The final writes: as a lower bound, those after which no write can come; as an upper bound,
/// those after which none has to.
fn final_writes(out: &mut [u64], writes: &[u64], choices: &Choices, bound: Bound) {
    let co = if bound == Bound::Upper { &choices.co_lower } else { &choices.co_upper };
    rows::domain(out, co.bits());
    for (out, w) in out.iter_mut().zip(writes) {
        *out = w & !*out;
    }
}

/// Judges executions with a compiled model and the values of its slots.
pub struct CompiledJudge<'m> {
    pub model: &'m CompiledModel,
    pub machine: &'m mut Machine,
}

impl Judge for CompiledJudge<'_> {
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> Result<bool, String> {
        self.machine.bind(self.model, skeleton, choices)
    }

    fn may_allow(&mut self, choices: &Choices, look: Look) -> bool {
        // The cheapest requirement comes first. It is mostly coherence, which cuts most.
        let most = if look == Look::Glance { 1 } else { usize::MAX };
        self.machine.first_broken(choices, most).is_none()
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        // All requirements were checked after the last decision; flags remain.
        if self.machine.live.flags.is_empty() {
            return Ok(Some(SmallVec::new()));
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let raised = m.live.flags.iter().filter(|t| m.raised(self.model, t, t.exact));
        Ok(Some(raised.map(|t| t.index).collect()))
    }

    fn assure(&mut self, choices: &Choices) -> u64 {
        let before = self.machine.met;
        self.machine.note_met(choices);
        before
    }

    fn forget(&mut self, before: u64) {
        self.machine.met = before;
    }

    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool {
        if self.machine.live.flags.iter().all(|t| raised.contains(&t.index)) {
            return false;
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let mut open = m.live.flags.iter().filter(|t| !raised.contains(&t.index));
        open.any(|t| m.raised(self.model, t, t.early))
    }
}
