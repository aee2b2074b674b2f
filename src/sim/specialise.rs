//! Specialises a model's steps to one skeleton: a value that cannot change below the root of the
//! search is computed once.
//!
//! For each step it computes both bounds over all completions. Where they are equal, the step is
//! done and is left out. It does not know how the search goes.

use smallvec::SmallVec;

use super::eval::{Choices, Frame, Machine, Values, View};
use super::steps::{Body, Bound, Code, CompiledCheck, CompiledModel, Slot, Step};

/// The choices that the result of a step depends on.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Needs {
    rf: bool,
    co: bool,
    /// The step reads an upper bound or a negation, so its value at the root is no lower bound.
    upper: bool,
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

    /// Prepares for other choices. Steps that ran with the same reads-from and coherence need not
    /// run again.
    pub(super) fn turn_to(&mut self, choices: &Choices) {
        for (done, stamp) in
            [(&mut self.rf_done, choices.rf_stamp), (&mut self.co_done, choices.co_stamp)]
        {
            if done.0 != stamp {
                *done = (stamp, 0);
            }
        }
    }

    /// Whether the result of a step is still valid.
    pub(super) fn is_done(&self, step: usize) -> bool {
        let needs = self.needs[step];
        (!needs.rf || step < self.rf_done.1) && (!needs.co || step < self.co_done.1)
    }

    /// Notes that the first `steps` steps have run.
    pub(super) fn ran(&mut self, steps: usize) {
        self.rf_done.1 = self.rf_done.1.max(steps);
        self.co_done.1 = self.co_done.1.max(steps);
    }
}

/// The steps that are left to run for a skeleton. A step whose result is always empty is gone, and
/// so is one that copies an operand, which then stands for the result.
#[derive(Default)]
pub(super) struct Live {
    pub(super) steps: Vec<Step>,
    /// The choices that each step depends on.
    pub(super) needs: Vec<Needs>,
    /// A stamp of reads-from, and how many of the first steps have run with it.
    pub(super) rf_done: (u64, usize),
    /// The same for coherence.
    pub(super) co_done: (u64, usize),
    /// The requirements that can still fail.
    pub(super) requires: Vec<CompiledCheck>,
    /// The flags that can still be raised.
    pub(super) flags: Vec<CompiledCheck>,
}

/// The facts that are known about the slots so far.
struct Facts {
    /// Relations that are empty in every completion.
    empty: Vec<bool>,
    /// Relations that differ between completions.
    open: Vec<bool>,
    /// For each relation, the slot that holds its value.
    stands: Vec<Slot>,
    /// Sets that differ between completions.
    open_sets: Vec<bool>,
}

impl Step {
    /// The choices that the result depends on; they are noted for the step's slot, too.
    fn note_needs(&self, rels: &mut [Needs], sets: &mut [Needs]) -> Needs {
        let join = |a: Needs, b: Needs| Needs {
            rf: a.rf || b.rf,
            co: a.co || b.co,
            upper: a.upper || b.upper,
        };
        let rel = |s: &Slot| rels[*s as usize];
        let set = |s: &Slot| sets[*s as usize];
        let negated = |n: Needs| Needs { upper: n != Needs::default(), ..n };
        let needs = match &self.code {
            Code::SetUnion(a, b) | Code::SetInter(a, b) | Code::Cross(a, b) => join(set(a), set(b)),
            Code::SetDiff(a, b) => join(set(a), negated(set(b))),
            Code::SetComplement(a) => negated(set(a)),
            Code::IdentityOn(a) => set(a),
            Code::Domain(a) | Code::Range(a) | Code::Inverse(a) | Code::Plus(a) => rel(a),
            Code::RelComplement(a) => negated(rel(a)),
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::Seq(a, b) => join(rel(a), rel(b)),
            Code::RelDiff(a, b) => join(rel(a), negated(rel(b))),
            Code::RestrictDomain(r, s) | Code::RestrictRange(r, s) => join(rel(r), set(s)),
            Code::FinalWrites(bound) => {
                Needs { rf: false, co: true, upper: *bound == Bound::Upper }
            }
            Code::Co(bound) => Needs { rf: false, co: true, upper: *bound == Bound::Upper },
            Code::Rf(bound) => Needs { rf: true, co: false, upper: *bound == Bound::Upper },
            // A variable needs what its body needs, other variables included.
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

/// The simple form of a step of which some operands are known to be empty.
enum Simple {
    /// The step's result is empty.
    Empty,
    /// The step's result is that of another slot.
    Copy(Slot),
    /// None: the step has to run.
    No,
}

impl Code {
    /// The same code, which reads relations from the slots that hold their values.
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

    /// Whether an operand differs between completions.
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
    /// A check on the slots that hold the values of its own slots. [`Machine::demand`] has just
    /// provided these.
    fn check(&self, check: &CompiledCheck) -> CompiledCheck {
        let mut check = check.clone();
        check.steps = self.live.steps.len();
        if !check.is_set {
            check.exact = self.facts.stands[check.exact as usize];
            check.early = self.facts.stands[check.early as usize];
        }
        let needs = if check.is_set { &self.set_needs } else { &self.needs };
        check.grows = !check.negated && !needs[check.early as usize].upper;
        check
    }

    /// Whether the check's answer can differ between completions.
    fn is_open(&self, check: &CompiledCheck) -> bool {
        self.varies(check, check.early)
    }

    fn varies(&self, check: &CompiledCheck, slot: Slot) -> bool {
        let open = if check.is_set { &self.facts.open_sets } else { &self.facts.open };
        open[slot as usize]
    }
}

fn is_zero(bits: &[u64]) -> bool {
    bits.iter().all(|w| *w == 0)
}

/// The state of specialising.
struct Work<'w> {
    model: &'w CompiledModel,
    choices: &'w Choices,
    facts: Facts,
    /// Which of the model's dynamic steps are specialised.
    done: Vec<bool>,
    live: Live,
    /// The choices that each relation depends on, and each set.
    needs: Vec<Needs>,
    set_needs: Vec<Needs>,
}

impl Machine {
    /// Makes [`Live`]: the steps that requirements and flags need, in their order.
    pub(super) fn specialise(&mut self, model: &CompiledModel, choices: &Choices) {
        let none =
            |(s, known): (usize, &bool)| *known && self.values.is_empty(s as Slot, &self.frame);
        let facts = Facts {
            empty: model.static_rels.iter().enumerate().map(none).collect(),
            open: vec![false; model.rels as usize],
            stands: (0..model.rels).collect(),
            open_sets: model.dynamic_sets.clone(),
        };
        let mut live = std::mem::take(&mut self.live);
        live.clear();
        self.root.copy_from(&self.values, &self.frame);
        let mut work = Work {
            model,
            choices,
            facts,
            done: vec![false; model.dynamics.len()],
            live,
            needs: vec![Needs::default(); model.rels as usize],
            set_needs: vec![Needs::default(); model.sets as usize],
        };
        for check in &model.requires {
            self.demand(check.early, check.is_set, &mut work);
            let check = work.check(check);
            if work.is_open(&check) || !self.holds(&check, check.early) {
                work.live.requires.push(check);
            }
        }
        for check in &model.flags {
            self.demand(check.early, check.is_set, &mut work);
            let early = work.check(check);
            if work.is_open(&early) || self.raised(model, &early, early.early) {
                self.demand(check.exact, check.is_set, &mut work);
                let mut check = work.check(check);
                // One that every execution raises needs no step.
                if !work.is_open(&check) && !work.varies(&check, check.exact) {
                    check.steps = 0;
                }
                work.live.flags.push(check);
            }
        }
        let mut live = work.live;
        if live.steps.iter().any(|s| matches!(s.code, Code::Fix(_))) {
            self.root.copy_from(&self.values, &self.frame);
        }
        // The values are lower bounds now. Steps that read upper bounds have to run once more.
        for (step, needs) in live.steps.iter().zip(&live.needs) {
            if needs.upper {
                self.values.run(step, &self.frame, View::Bounds(choices, &self.root));
            }
        }
        live.rf_done = (choices.rf_stamp, live.steps.len());
        live.co_done = (choices.co_stamp, live.steps.len());
        self.live = live;
    }

    /// Provides for a slot: either both of its bounds are known and equal, or live steps compute it.
    /// If one operand makes a result empty, the other operands are not provided for.
    fn demand(&mut self, slot: Slot, is_set: bool, work: &mut Work) {
        let model = work.model;
        let makers = if is_set { &model.set_makers } else { &model.rel_makers };
        let Some(maker) = makers[slot as usize] else { return };
        let mut todo: SmallVec<[(u32, usize); 32]> = SmallVec::new();
        todo.push((maker, 0));
        while let Some((step, next)) = todo.last_mut() {
            let at = *step as usize;
            if work.done[at] {
                todo.pop();
                continue;
            }
            let inputs = &model.inputs[at];
            if *next < inputs.len()
                && !matches!(self.simple(&model.dynamics[at].code, &work.facts), Simple::Empty)
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
            if let Some(step) = self.simplify(&model.dynamics[at], &mut work.facts)
                && self.varies(&step, &mut work.facts, work.choices)
            {
                let needs = step.note_needs(&mut work.needs, &mut work.set_needs);
                work.live.needs.push(needs);
                work.live.steps.push(step);
            }
        }
    }

    /// The simple form of a step by the facts that are known so far.
    fn simple(&self, code: &Code, facts: &Facts) -> Simple {
        let none = |s: Slot| facts.empty[s as usize];
        let no_set =
            |s: Slot| !facts.open_sets[s as usize] && is_zero(self.values.set(s, &self.frame));
        code.simple(none, no_set)
    }

    /// The step, simplified by the facts that are known so far; none if its result is empty or a copy.
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
        // A variable counts as empty until its body shows otherwise.
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
            // Later bodies may use the steps of a body whose variable stays empty.
            for (body, filled) in bodies.iter().zip(&filled) {
                if !filled {
                    self.clear(body.var);
                }
            }
            return filled.contains(&true).then_some(Step { out, code: Code::Fix(open) });
        }
    }

    /// Makes both bounds of a relation empty.
    fn clear(&mut self, out: Slot) {
        self.values.clear(out, &self.frame);
        self.root.clear(out, &self.frame);
    }

    /// Whether the result of a step differs between completions. If it does not, its slot holds it
    /// from now on.
    fn varies(&mut self, step: &Step, facts: &mut Facts, choices: &Choices) -> bool {
        let Machine { frame, values, root: most, .. } = self;
        values.run(step, frame, View::Lower(choices, most));
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
        most.run(step, frame, View::Upper(choices, values));
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
                // If one variable varies, all of the definition has to run.
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
