//! A model's steps made for one skeleton: what cannot change below the root of its search is
//! computed once and left out.
//!
//! Each step's least and most values over all completions are computed; where they are equal,
//! the step is done. It does not know how the search goes.

use smallvec::SmallVec;

use super::eval::{Choices, Frame, Machine, Values, View};
use super::steps::{Body, Bound, Code, Program, Slot, Step, Test};

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
    /// Those that can be raised.
    pub(super) flags: Vec<Test>,
}

/// What specialising knows of slots.
struct Facts {
    /// Relations that are empty whatever is decided.
    empty: Vec<bool>,
    /// Relations that depend on what is decided.
    open: Vec<bool>,
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
    /// The same, with relations read from the slots that stand for them.
    fn renamed(&self, stands: &[Slot]) -> Code {
        let of = |s: Slot| stands[s as usize];
        match *self {
            Code::RelUnion(a, b) => Code::RelUnion(of(a), of(b)),
            Code::RelInter(a, b) => Code::RelInter(of(a), of(b)),
            Code::RelDiff(a, b) => Code::RelDiff(of(a), of(b)),
            Code::Seq(a, b) => Code::Seq(of(a), of(b)),
            Code::RelComplement(a) => Code::RelComplement(of(a)),
            Code::Inverse(a) => Code::Inverse(of(a)),
            Code::Plus(a) => Code::Plus(of(a)),
            Code::Domain(a) => Code::Domain(of(a)),
            Code::Range(a) => Code::Range(of(a)),
            Code::RestrictDomain(a, s) => Code::RestrictDomain(of(a), s),
            Code::RestrictRange(a, s) => Code::RestrictRange(of(a), s),
            ref other => other.clone(),
        }
    }

    /// Whether an operand depends on what is still to be decided.
    fn is_open(&self, facts: &Facts) -> bool {
        let rel = |s: &Slot| facts.open[*s as usize];
        let set = |s: &Slot| facts.open_sets[*s as usize];
        match self {
            Code::SetUnion(a, b) | Code::SetInter(a, b) | Code::SetDiff(a, b) => set(a) || set(b),
            Code::Cross(a, b) => set(a) || set(b),
            Code::SetComplement(a) | Code::IdentityOn(a) => set(a),
            Code::Domain(r) | Code::Range(r) | Code::RelComplement(r) => rel(r),
            Code::Inverse(r) | Code::Plus(r) => rel(r),
            Code::RelUnion(a, b) | Code::RelInter(a, b) => rel(a) || rel(b),
            Code::RelDiff(a, b) | Code::Seq(a, b) => rel(a) || rel(b),
            Code::RestrictDomain(r, s) | Code::RestrictRange(r, s) => rel(r) || set(s),
            Code::FinalWrites(_) | Code::Rf(_) | Code::Co(_) | Code::Fix(_) => true,
            Code::StaticSet(_) | Code::EmptySet | Code::StaticRel(_) | Code::EmptyRel => false,
        }
    }

    #[inline]
    fn simple(&self, none: impl Fn(Slot) -> bool, no_set: impl Fn(Slot) -> bool) -> Simple {
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

impl Work<'_> {
    /// A test on the slots that stand for its own, which have been asked for last.
    fn test(&self, test: &Test) -> Test {
        let mut test = test.clone();
        test.steps = self.live.steps.len();
        if !test.is_set {
            test.low = self.facts.stands[test.low as usize];
            test.early = self.facts.stands[test.early as usize];
        }
        test
    }

    /// Whether its answer depends on what is still to be decided.
    fn is_open(&self, test: &Test) -> bool {
        let open = if test.is_set { &self.facts.open_sets } else { &self.facts.open };
        open[test.early as usize]
    }
}

fn is_zero(bits: &[u64]) -> bool {
    bits.iter().all(|w| *w == 0)
}

/// Specialising at work.
struct Work<'w> {
    program: &'w Program,
    choices: &'w Choices,
    facts: Facts,
    /// Which of the program's steps have been dealt with.
    done: Vec<bool>,
    live: Live,
    /// What the slots so far depend on.
    needs: Vec<Needs>,
    set_needs: Vec<Needs>,
}

impl Machine {
    /// Makes [`Live`]: what requirements and flags ask for, in their order, and nothing else.
    pub(super) fn specialise(&mut self, program: &Program, choices: &Choices) {
        let none =
            |(s, known): (usize, &bool)| *known && self.values.is_empty(s as Slot, &self.frame);
        let facts = Facts {
            empty: program.static_rels.iter().enumerate().map(none).collect(),
            open: vec![false; program.rels as usize],
            stands: (0..program.rels).collect(),
            open_sets: program.dynamic_sets.clone(),
        };
        let mut live = std::mem::take(&mut self.live);
        live.clear();
        self.root.copy_from(&self.values, &self.frame);
        let mut work = Work {
            program,
            choices,
            facts,
            done: vec![false; program.dynamics.len()],
            live,
            needs: vec![Needs::default(); program.rels as usize],
            set_needs: vec![Needs::default(); program.sets as usize],
        };
        for test in &program.requires {
            self.demand(test.early, test.is_set, &mut work);
            let test = work.test(test);
            if work.is_open(&test) || !self.holds(&test, test.early) {
                work.live.requires.push(test);
            }
        }
        for test in &program.flags {
            self.demand(test.early, test.is_set, &mut work);
            let early = work.test(test);
            if work.is_open(&early) || self.raised(program, &early, early.early) {
                self.demand(test.low, test.is_set, &mut work);
                let test = work.test(test);
                work.live.flags.push(test);
            }
        }
        let mut live = work.live;
        if live.steps.iter().any(|s| matches!(s.code, Code::Fix(_))) {
            self.root.copy_from(&self.values, &self.frame);
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

    /// Sees to it that a slot is known at both ends, or computed by live steps. What an empty
    /// operand makes empty asks for none of the others.
    fn demand(&mut self, slot: Slot, is_set: bool, work: &mut Work) {
        let program = work.program;
        let makers = if is_set { &program.set_makers } else { &program.rel_makers };
        let Some(maker) = makers[slot as usize] else { return };
        let mut todo: SmallVec<[(u32, usize); 32]> = SmallVec::new();
        todo.push((maker, 0));
        while let Some((step, next)) = todo.last_mut() {
            let at = *step as usize;
            if work.done[at] {
                todo.pop();
                continue;
            }
            let inputs = &program.inputs[at];
            if *next < inputs.len()
                && !matches!(self.simple(&program.dynamics[at].code, &work.facts), Simple::Empty)
            {
                let input = inputs[*next];
                *next += 1;
                if !work.done[input as usize] {
                    todo.push((input, 0));
                }
                continue;
            }
            todo.pop();
            work.done[at] = true;
            if let Some(step) = self.simplify(&program.dynamics[at], &mut work.facts)
                && self.varies(&step, &mut work.facts, work.choices)
            {
                let needs = step.note_needs(&mut work.needs, &mut work.set_needs);
                work.live.needs.push(needs);
                work.live.steps.push(step);
            }
        }
    }

    /// What a step comes to by what is known. A copy is known to be empty as soon as what it copies.
    fn simple(&self, code: &Code, facts: &Facts) -> Simple {
        let none = |s: Slot| facts.empty[s as usize];
        let no_set =
            |s: Slot| !facts.open_sets[s as usize] && is_zero(self.values.set(s, &self.frame));
        code.simple(none, no_set)
    }

    /// A step on what is known by now; none where its result is empty or a copy.
    fn simplify(&mut self, step: &Step, facts: &mut Facts) -> Option<Step> {
        if let Code::Fix(bodies) = &step.code {
            return self.simplify_fix(step.out, bodies, facts);
        }
        let code = step.code.renamed(&facts.stands);
        let out = step.out as usize;
        match self.simple(&code, facts) {
            Simple::Empty => {
                facts.empty[out] = true;
                facts.open[out] = false;
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
        self.values.clear(out, &self.frame);
        self.root.clear(out, &self.frame);
    }

    /// Whether the result of a step depends on what is still to be decided; where it does not,
    /// it is in its slot for good.
    fn varies(&mut self, step: &Step, facts: &mut Facts, choices: &Choices) -> bool {
        let Machine { frame, values, root: most, .. } = self;
        values.run(step, frame, View::Least(choices, most));
        let is_set = !step.code.gives_relation();
        if !step.code.is_open(facts) {
            most.take(values, step.out, is_set, frame);
            if is_set {
                facts.open_sets[step.out as usize] = false;
            } else {
                facts.empty[step.out as usize] = values.is_empty(step.out, frame);
            }
            return false;
        }
        most.run(step, frame, View::Most(choices, values));
        let mut varies = false;
        let mut rel = |s: Slot, values: &Values, most: &Values, frame: &Frame| {
            let open = !values.agrees(most, s, frame);
            facts.open[s as usize] = open;
            varies |= open;
            if !open {
                facts.empty[s as usize] = values.is_empty(s, frame);
            }
        };
        match &step.code {
            Code::Fix(bodies) => {
                for body in bodies {
                    if body.is_set {
                        varies = true;
                        break;
                    }
                    rel(body.var, values, most, frame);
                }
                // The bodies change together.
                for body in bodies.iter().filter(|b| varies && !b.is_set) {
                    facts.open[body.var as usize] = true;
                }
            }
            _ if !is_set => rel(step.out, values, most, frame),
            _ => {
                varies = values.set(step.out, frame) != most.set(step.out, frame);
                facts.open_sets[step.out as usize] = varies;
            }
        }
        varies
    }
}
