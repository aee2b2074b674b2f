//! A model's steps made for one skeleton: what cannot change below the root of its search is
//! computed once and left out.
//!
//! Each step's least and most values over all completions are computed; where they are equal,
//! the step is done. It does not know how the search goes.

use smallvec::SmallVec;

use super::eval::{Choices, Frame, Machine, Values, View};
use super::steps::{Body, Bound, Code, Program, Slot, Step, Test};
use crate::cat::plan::CheckKind;

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Needs {
    rf: bool,
    co: bool,
    /// The value at the root is not the least one: what is possible matters, or what is taken
    /// away.
    possible: bool,
}

impl Live {
    fn clear(&mut self) {
        self.steps.clear();
        self.needs.clear();
        self.rf_done = (u64::MAX, 0);
        self.co_done = (u64::MAX, 0);
        self.requires.clear();
        self.flags.clear();
    }

    /// Prepares for other choices: what ran with the same ones need not run again.
    pub(super) fn turn_to(&mut self, choices: &Choices) {
        for (done, stamp) in
            [(&mut self.rf_done, choices.rf_stamp), (&mut self.co_done, choices.co_stamp)]
        {
            if done.0 != stamp {
                *done = (stamp, 0);
            }
        }
    }

    /// Whether the result of a step is still there.
    pub(super) fn is_done(&self, step: usize) -> bool {
        let needs = self.needs[step];
        (!needs.rf || step < self.rf_done.1) && (!needs.co || step < self.co_done.1)
    }

    /// The first `steps` steps have run.
    pub(super) fn ran(&mut self, steps: usize) {
        self.rf_done.1 = self.rf_done.1.max(steps);
        self.co_done.1 = self.co_done.1.max(steps);
    }
}

/// What is left to do for a skeleton: steps whose result is empty whatever is decided are
/// gone, and those that copy an operand stand for it.
#[derive(Default)]
pub(super) struct Live {
    pub(super) steps: Vec<Step>,
    /// What each step depends on.
    pub(super) needs: Vec<Needs>,
    /// How many of the first steps have run with the reads-from, and with the coherence, of
    /// these stamps.
    pub(super) rf_done: (u64, usize),
    pub(super) co_done: (u64, usize),
    pub(super) requires: Vec<Test>,
    pub(super) flags: Vec<Test>,
    /// Some flag can be raised.
    pub(super) flags_possible: bool,
}

/// What specialising knows of slots.
struct Facts {
    /// Relations that are empty whatever is decided.
    empty: Vec<bool>,
    /// The slot that stands for each relation.
    stands: Vec<Slot>,
    /// Sets that depend on what is decided.
    open_sets: Vec<bool>,
}

impl Step {
    /// What the result depends on, noted for its slot.
    fn note_needs(&self, rels: &mut [Needs], sets: &mut [Needs]) -> Needs {
        let join = |a: Needs, b: Needs| Needs {
            rf: a.rf || b.rf,
            co: a.co || b.co,
            possible: a.possible || b.possible,
        };
        let rel = |s: &Slot| rels[*s as usize];
        let set = |s: &Slot| sets[*s as usize];
        let taken = |n: Needs| Needs { possible: n != Needs::default(), ..n };
        let needs = match &self.code {
            Code::SetUnion(a, b) | Code::SetInter(a, b) | Code::Cross(a, b) => join(set(a), set(b)),
            Code::SetDiff(a, b) => join(set(a), taken(set(b))),
            Code::SetComplement(a) => taken(set(a)),
            Code::IdentityOn(a) => set(a),
            Code::Domain(a) | Code::Range(a) | Code::Inverse(a) | Code::Plus(a) => rel(a),
            Code::RelComplement(a) => taken(rel(a)),
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::Seq(a, b) => join(rel(a), rel(b)),
            Code::RelDiff(a, b) => join(rel(a), taken(rel(b))),
            Code::RestrictDomain(r, s) | Code::RestrictRange(r, s) => join(rel(r), set(s)),
            Code::FinalWrites(bound) => {
                Needs { rf: false, co: true, possible: *bound == Bound::High }
            }
            Code::Co(bound) => Needs { rf: false, co: true, possible: *bound == Bound::High },
            Code::Rf(bound) => Needs { rf: true, co: false, possible: *bound == Bound::High },
            // The variables need what their bodies do, which may be other variables.
            Code::Fix(bodies) => {
                let mut all = Needs::default();
                loop {
                    for body in bodies {
                        let needs = if body.is_set { &mut *sets } else { &mut *rels };
                        needs[body.var as usize] = all;
                    }
                    let mut next = all;
                    for body in bodies {
                        for step in &body.steps {
                            step.note_needs(rels, sets);
                        }
                        let needs = if body.is_set { &*sets } else { &*rels };
                        next = join(next, needs[body.end as usize]);
                    }
                    if next == all {
                        return all;
                    }
                    all = next;
                }
            }
            Code::StaticSet(_) | Code::EmptySet | Code::StaticRel(_) | Code::EmptyRel => {
                Needs::default()
            }
        };
        if self.code.gives_relation() {
            rels[self.out as usize] = needs;
        } else {
            sets[self.out as usize] = needs;
        }
        needs
    }
}

/// What a step comes to once some operands are known to be empty.
enum Simple {
    Empty,
    Copy(Slot),
    No,
}

impl Code {
    /// Reads relations from the slots that stand for them.
    fn rename(&mut self, stands: &[Slot]) {
        let of = |s: &mut Slot| *s = stands[*s as usize];
        match self {
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::RelDiff(a, b) | Code::Seq(a, b) => {
                of(a);
                of(b);
            }
            Code::RelComplement(a)
            | Code::Inverse(a)
            | Code::Plus(a)
            | Code::Domain(a)
            | Code::Range(a)
            | Code::RestrictDomain(a, _)
            | Code::RestrictRange(a, _) => of(a),
            _ => {}
        }
    }

    fn simple(&self, none: &dyn Fn(Slot) -> bool, no_set: &dyn Fn(Slot) -> bool) -> Simple {
        match *self {
            Code::RelUnion(a, b) if none(a) && none(b) => Simple::Empty,
            Code::RelUnion(a, b) if none(b) => Simple::Copy(a),
            Code::RelUnion(a, b) if none(a) => Simple::Copy(b),
            Code::RelInter(a, b) | Code::Seq(a, b) if none(a) || none(b) => Simple::Empty,
            Code::RelDiff(a, _) if none(a) => Simple::Empty,
            Code::RelDiff(a, b) if none(b) => Simple::Copy(a),
            Code::Inverse(a) | Code::Plus(a) if none(a) => Simple::Empty,
            Code::RestrictDomain(a, s) | Code::RestrictRange(a, s) if none(a) || no_set(s) => {
                Simple::Empty
            }
            Code::Cross(a, b) if no_set(a) || no_set(b) => Simple::Empty,
            Code::IdentityOn(a) if no_set(a) => Simple::Empty,
            _ => Simple::No,
        }
    }
}

fn is_zero(bits: &[u64]) -> bool {
    bits.iter().all(|w| *w == 0)
}

impl Machine {
    /// Makes [`Live`].
    pub(super) fn specialise(&mut self, program: &Program, choices: &Choices) {
        let none =
            |(s, known): (usize, &bool)| *known && is_zero(self.values.rel(s as Slot, &self.frame));
        let mut facts = Facts {
            empty: program.static_rels.iter().enumerate().map(none).collect(),
            stands: (0..program.rels).collect(),
            open_sets: program.dynamic_sets.clone(),
        };
        let mut live = std::mem::take(&mut self.live);
        live.clear();
        self.root.copy_from(&self.values);
        let mut needs: Vec<Needs> = vec![Needs::default(); program.rels as usize];
        let mut set_needs: Vec<Needs> = vec![Needs::default(); program.sets as usize];
        // How many live steps stand for the first so many steps of the program.
        let mut at = Vec::with_capacity(program.dynamics.len() + 1);
        at.push(0);
        for step in &program.dynamics {
            if let Some(step) = self.simplify(step, &mut facts)
                && self.varies(&step, &mut facts, choices)
            {
                live.needs.push(step.note_needs(&mut needs, &mut set_needs));
                live.steps.push(step);
            }
            at.push(live.steps.len());
        }
        let Facts { empty, stands, .. } = facts;
        let rename = |t: &Test| {
            let mut t = t.clone();
            t.steps = at[t.steps];
            if !t.is_set {
                t.low = stands[t.low as usize];
                t.early = stands[t.early as usize];
            }
            t
        };
        let trivial = |t: &Test| !t.is_set && !t.negated && empty[t.early as usize];
        live.requires.extend(program.requires.iter().map(rename).filter(|t| !trivial(t)));
        live.flags.extend(program.flags.iter().map(rename));
        live.flags_possible = live.flags.iter().any(|t| {
            let never = trivial(t) && program.checks[t.check].kind == CheckKind::UndefinedUnless
                || !t.is_set
                    && t.negated
                    && empty[t.early as usize]
                    && program.checks[t.check].kind == CheckKind::Flag;
            !never
        });
        if live.steps.iter().any(|s| matches!(s.code, Code::Fix(_))) {
            self.root.copy_from(&self.values);
        }
        // With the least values in place, the root's are complete but for upper bounds.
        for (step, needs) in live.steps.iter().zip(&live.needs) {
            if needs.possible {
                self.values.run(step, &self.frame, View::Bounds(choices, &self.root));
            }
        }
        live.rf_done = (choices.rf_stamp, live.steps.len());
        live.co_done = (choices.co_stamp, live.steps.len());
        self.live = live;
    }

    /// A step on what is known by now; none where its result is empty or a copy.
    fn simplify(&mut self, step: &Step, facts: &mut Facts) -> Option<Step> {
        if let Code::Fix(bodies) = &step.code {
            return self.simplify_fix(step.out, bodies, facts);
        }
        let mut code = step.code.clone();
        code.rename(&facts.stands);
        let out = step.out as usize;
        let simple = code.simple(&|s| facts.empty[s as usize], &|s| {
            !facts.open_sets[s as usize] && is_zero(self.values.set(s, &self.frame))
        });
        match simple {
            Simple::Empty => {
                facts.empty[out] = true;
                self.clear(step.out);
                None
            }
            Simple::Copy(of) => {
                facts.stands[out] = of;
                facts.empty[out] = facts.empty[of as usize];
                None
            }
            Simple::No => {
                if code.gives_relation() {
                    facts.stands[out] = step.out;
                    facts.empty[out] = false;
                }
                Some(Step { out: step.out, code })
            }
        }
    }

    fn simplify_fix(&mut self, out: Slot, bodies: &[Body], facts: &mut Facts) -> Option<Step> {
        // A variable is empty until a body shows that it need not be.
        let mut filled: SmallVec<[bool; 8]> = bodies.iter().map(|b| b.is_set).collect();
        loop {
            for (body, filled) in bodies.iter().zip(&filled) {
                if !body.is_set {
                    facts.empty[body.var as usize] = !filled;
                }
            }
            let mut changed = false;
            let mut open = Vec::with_capacity(bodies.len());
            for (body, filled) in bodies.iter().zip(&mut filled) {
                let steps = body.steps.iter().filter_map(|s| self.simplify(s, facts)).collect();
                if !*filled && !facts.empty[body.end as usize] {
                    *filled = true;
                    changed = true;
                }
                let end = if body.is_set { body.end } else { facts.stands[body.end as usize] };
                open.push(Body { steps, end, ..*body });
            }
            if changed {
                continue;
            }
            // What a body without a value computes, later ones may use.
            for (body, filled) in bodies.iter().zip(&filled) {
                if !filled {
                    self.clear(body.var);
                }
            }
            return filled.contains(&true).then_some(Step { out, code: Code::Fix(open) });
        }
    }

    /// Makes a relation empty at both ends.
    fn clear(&mut self, out: Slot) {
        self.values.rel_mut(out, &self.frame).fill(0);
        self.root.rel_mut(out, &self.frame).fill(0);
    }

    /// Whether the result of a step depends on what is still to be decided; where it does not,
    /// it is in its slot for good.
    fn varies(&mut self, step: &Step, facts: &mut Facts, choices: &Choices) -> bool {
        let Machine { frame, values, root: most, .. } = self;
        values.run(step, frame, View::Least(choices, most));
        most.run(step, frame, View::Most(choices, values));
        let mut varies = false;
        let mut rel = |s: Slot, values: &Values, most: &Values, frame: &Frame| {
            if values.rel(s, frame) != most.rel(s, frame) {
                varies = true;
            } else {
                facts.empty[s as usize] = is_zero(values.rel(s, frame));
            }
        };
        match &step.code {
            Code::Fix(bodies) => {
                for body in bodies {
                    if body.is_set {
                        return true;
                    }
                    rel(body.var, values, most, frame);
                }
            }
            code if code.gives_relation() => rel(step.out, values, most, frame),
            _ => {
                varies = values.set(step.out, frame) != most.set(step.out, frame);
                facts.open_sets[step.out as usize] = varies;
            }
        }
        varies
    }
}
