//! Finds the outcomes of a skeleton with a SAT solver: the solver proposes reads-from and coherence,
//! and learns from each forbidden proposal a reason that rules out many others.
//!
//! It finds the same outcomes as `search`, and is faster where executions are many and outcomes few.
//! The parts of an outcome (values of reads, last writes) have literals of their own, implied by the
//! choices, so that one clause rules out an outcome that was found before.

use batsat::{Callbacks, Lit, SolverInterface, SolverOpts, lbool};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::cell::Cell;
use std::hash::BuildHasher;
use std::time::Instant;

use super::chain::{Chain, Link};
use super::expr::{ExprId, Exprs, Var};
use super::program::Program;
use super::reasons::{Atom, Explain};
use super::results::{EarlyEnd, Outcome, Results, holds, late};
use super::skeleton::{Cells, Skeleton, Source};
use super::theory::{Base, Check, Theory, Values};
use super::valuation::{Access, Observed, Valuation};
use litmake_cat::define::NEVER_SETTLES;
use litmake_ops::Val;

/// For at most so many writes of a cell, clauses make coherence transitive from the start. For more,
/// a clause is added when a proposal is not transitive.
const TRANSITIVE: usize = 16;

/// How many bytes the solver needs for a clause beside its literals: its head and two watches.
const KEPT: usize = 48;

/// A part of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fact {
    /// An access returns a value.
    Read(Var, Val),
    /// An observable ends with a value.
    Final(u16, Val),
    /// A write is the last of its cell.
    Last(u16),
}

/// Looks at the time now and then. Once late it stays late, since the solver asks again on its way
/// out.
struct Clock {
    deadline: Option<Instant>,
    calls: Cell<u32>,
    late: Cell<bool>,
}

impl Callbacks for Clock {
    fn stop(&self) -> bool {
        self.calls.set(self.calls.get().wrapping_add(1));
        if self.calls.get().is_multiple_of(256) {
            self.late.set(late(self.deadline));
        }
        self.late.get()
    }
}

/// The verdict on a proposal.
#[expect(clippy::large_enum_variant, reason = "returned once a proposal and not kept")]
enum Verdict {
    /// Something was learned that rules it out.
    Refuted,
    /// Its values are sound. The outcome, if all of it is known.
    Sound(Option<Outcome>),
}

pub struct Solver<'s> {
    program: &'s Program,
    exprs: &'s Exprs,
    skeleton: &'s Skeleton<'s>,
    theory: &'s Theory,
    results: &'s mut Results,
    deadline: Option<Instant>,
    sat: batsat::Solver<Clock>,
    /// A literal for each candidate of each read.
    rf: Vec<Vec<Lit>>,
    /// For each event, its number among the reads.
    read_of: Vec<Option<u16>>,
    co: FxHashMap<(u16, u16), Lit>,
    co_pairs: Vec<(u16, u16, Lit)>,
    facts: FxHashMap<Fact, Lit>,
    /// The implications that were learned, by their literals.
    implied: FxHashSet<Vec<Lit>>,
    /// How many bytes the clauses take that rule out outcomes.
    kept: usize,
    /// The proposals whose outcomes had been found before.
    met: FxHashSet<u64>,
    /// The literal under which outcomes that were found before are ruled out.
    new_outcome: Lit,
    /// The accesses on whose values the outcome or a path depends.
    relevant: Vec<Access>,
    values: Values,
    /// The bounds before anything is decided, and the proposal at hand.
    lower: Base,
    upper: Base,
    now: Base,
    known: Valuation<'s>,
}

/// Adds to `results` the outcomes and flags of a skeleton.
pub fn solve(
    program: &Program,
    theory: &Theory,
    cells: &Cells,
    exprs: &Exprs,
    skeleton: &Skeleton,
    results: &mut Results,
    deadline: Option<Instant>,
) -> Result<(), EarlyEnd> {
    let mut solver = Solver::new(program, theory, cells, exprs, skeleton, results, deadline);
    if !solver.prepare()? {
        return Ok(());
    }
    solver.find_outcomes()?;
    solver.find_flags()
}

impl<'s> Solver<'s> {
    fn new(
        program: &'s Program,
        theory: &'s Theory,
        cells: &'s Cells,
        exprs: &'s Exprs,
        skeleton: &'s Skeleton<'s>,
        results: &'s mut Results,
        deadline: Option<Instant>,
    ) -> Solver<'s> {
        let n = skeleton.len();
        let clock = Clock { deadline, calls: Cell::new(0), late: Cell::new(false) };
        let mut sat = batsat::Solver::new(SolverOpts::default(), clock);
        let new_outcome = Lit::new(sat.new_var_default(), true);
        let mut solver = Solver {
            known: Valuation::new(program, cells, exprs, skeleton),
            program,
            exprs,
            skeleton,
            theory,
            results,
            deadline,
            sat,
            rf: Vec::new(),
            read_of: vec![None; n],
            co: FxHashMap::default(),
            co_pairs: Vec::new(),
            facts: FxHashMap::default(),
            implied: FxHashSet::default(),
            kept: 0,
            met: FxHashSet::default(),
            new_outcome,
            relevant: Vec::new(),
            values: Values::new(theory, skeleton),
            lower: Base::new(n),
            upper: Base::new(n),
            now: Base::new(n),
        };
        solver.add_reads();
        solver.add_coherence();
        solver.add_chains();
        solver.add_accesses();
        solver.add_last();
        solver
    }

    fn literal(&mut self) -> Lit {
        Lit::new(self.sat.new_var_default(), true)
    }

    fn clause(&mut self, mut lits: Vec<Lit>) {
        self.sat.add_clause_reuse(&mut lits);
    }

    /// Adds clauses: every read has one source.
    fn add_reads(&mut self) {
        for (i, read) in self.skeleton.reads.iter().enumerate() {
            self.read_of[usize::from(read.event)] = Some(i as u16);
            let lits: Vec<Lit> = read.candidates.iter().map(|_| self.literal()).collect();
            for w in &read.candidates {
                self.upper.rf.insert(usize::from(*w), usize::from(read.event));
            }
            if let [only] = read.candidates[..] {
                self.lower.rf.insert(usize::from(only), usize::from(read.event));
            }
            for (k, a) in lits.iter().enumerate() {
                for b in &lits[k + 1..] {
                    self.clause(vec![!*a, !*b]);
                }
            }
            self.clause(lits.clone());
            self.rf.push(lits);
        }
    }

    /// Adds clauses: the writes of a cell are in a total order, the initial one first.
    fn add_coherence(&mut self) {
        let skeleton = self.skeleton;
        for writes in &skeleton.writes {
            let Some((first, rest)) = writes.split_first() else { continue };
            for w in rest {
                self.lower.co.insert(usize::from(*first), usize::from(*w));
                self.upper.co.insert(usize::from(*first), usize::from(*w));
            }
            for (k, a) in rest.iter().enumerate() {
                for b in &rest[k + 1..] {
                    // The solver guesses false first, which is the order of the events.
                    let later_first = self.literal();
                    self.co.insert((*a, *b), !later_first);
                    self.co.insert((*b, *a), later_first);
                    self.co_pairs.push((*b, *a, later_first));
                    self.upper.co.insert(usize::from(*a), usize::from(*b));
                    self.upper.co.insert(usize::from(*b), usize::from(*a));
                }
            }
            if rest.len() <= TRANSITIVE {
                for (i, a) in rest.iter().enumerate() {
                    for (j, b) in rest.iter().enumerate().skip(i + 1) {
                        for c in &rest[j + 1..] {
                            self.no_circle(*a, *b, *c);
                            self.no_circle(*a, *c, *b);
                        }
                    }
                }
            }
            for (a, b) in skeleton.ordered.iter().filter(|(a, _)| rest.contains(a)) {
                let lit = self.co[&(*a, *b)];
                self.clause(vec![lit]);
                self.lower.co.insert(usize::from(*a), usize::from(*b));
                self.upper.co.remove(usize::from(*b), usize::from(*a));
            }
            for w in writes {
                let w = usize::from(*w);
                if self.upper.co.row(w).iter().all(|x| *x == 0) {
                    self.lower.last.insert(w);
                }
                if self.lower.co.row(w).iter().all(|x| *x == 0) {
                    self.upper.last.insert(w);
                }
            }
        }
    }

    fn no_circle(&mut self, a: u16, b: u16, c: u16) {
        let lits = [(a, b), (b, c), (c, a)].map(|pair| !self.co[&pair]);
        self.clause(lits.to_vec());
    }

    /// Adds clauses: the source of each link of a chain is the write just before it.
    fn add_chains(&mut self) {
        let skeleton = self.skeleton;
        for chain in &skeleton.chains {
            let (init, rest) = skeleton.writes[usize::from(chain.cell)].split_at(1);
            let mut users: FxHashMap<u16, Vec<Lit>> = FxHashMap::default();
            for Link { write, read } in &chain.links {
                for (k, source) in skeleton.reads[*read].candidates.iter().enumerate() {
                    let reads = self.rf[*read][k];
                    if source == write {
                        self.clause(vec![!reads]);
                        continue;
                    }
                    let users = users.entry(*source).or_default();
                    users.iter().for_each(|other| {
                        self.sat.add_clause_reuse(&mut vec![!reads, !*other]);
                    });
                    users.push(reads);
                    let first = init.contains(source);
                    if !first {
                        self.clause(vec![!reads, self.co[&(*source, *write)]]);
                    }
                    for z in rest.iter().filter(|z| *z != source && *z != write) {
                        let mut clause = vec![!reads, self.co[&(*write, *z)]];
                        if !first {
                            clause.push(!self.co[&(*source, *z)]);
                        }
                        self.clause(clause);
                    }
                }
            }
        }
    }

    /// Finds the accesses that matter to outcomes and paths, and adds what they read from constant
    /// writes.
    fn add_accesses(&mut self) {
        let skeleton = self.skeleton;
        let mut vars = self.known.shown_vars();
        for (e, _) in skeleton.paths.iter().flat_map(|p| &p.constraints) {
            self.exprs.each_var(*e, &mut |v| vars.push(v));
        }
        // If addresses are written, the pieces of an access may be of different ones, so all matter.
        if skeleton.holds_addresses(self.exprs) {
            let pieces = self.known.accesses.iter().filter(|a| a.end - a.first > 1);
            vars.extend(pieces.map(|a| skeleton.reads[a.first].var));
        }
        let relevant = self.known.relevant(vars);
        let accesses = self.known.accesses.iter().zip(relevant);
        self.relevant = accesses.filter(|(_, relevant)| *relevant).map(|(a, _)| *a).collect();
        for k in 0..self.relevant.len() {
            let Access { first, end, .. } = self.relevant[k];
            if end > first + 1 {
                continue;
            }
            let read = &skeleton.reads[first];
            for (c, w) in read.candidates.iter().enumerate() {
                let value = match self.known.written(usize::from(*w)) {
                    Some(Val::Int(v)) => Val::Int(v << read.shift),
                    Some(other) => other,
                    None => continue,
                };
                self.imply(vec![self.rf[first][c]], Fact::Read(read.var, value));
            }
        }
    }

    /// Adds literals for the last writes of observed cells.
    fn add_last(&mut self) {
        let skeleton = self.skeleton;
        let mut cells = self.known.shown_cells();
        cells.sort_unstable();
        for cell in cells {
            let Some((_, rest)) = skeleton.writes[usize::from(cell)].split_first() else {
                continue;
            };
            if rest.len() < 2 {
                continue;
            }
            for w in rest {
                let before: Vec<Lit> =
                    rest.iter().filter(|x| *x != w).map(|x| self.co[&(*x, *w)]).collect();
                self.imply(before.clone(), Fact::Last(*w));
                let last = self.fact(Fact::Last(*w));
                for lit in before {
                    self.clause(vec![!last, lit]);
                }
            }
            // Some write is last. That follows from coherence, but only from all of it at once.
            let some = rest.iter().map(|w| self.fact(Fact::Last(*w))).collect();
            self.clause(some);
        }
    }

    fn fact(&mut self, fact: Fact) -> Lit {
        if let Some(lit) = self.facts.get(&fact) {
            return *lit;
        }
        // The solver never guesses a fact: if nothing implies it, it may as well be false.
        let lit = Lit::new(self.sat.new_var(lbool::UNDEF, false), true);
        self.facts.insert(fact, lit);
        lit
    }

    /// The literal of a fact that some choices imply.
    fn imply(&mut self, reasons: Vec<Lit>, fact: Fact) -> Lit {
        let lit = self.fact(fact);
        let mut clause: Vec<Lit> = reasons.into_iter().map(|r| !r).collect();
        clause.push(lit);
        clause.sort_unstable();
        clause.dedup();
        if !self.implied.contains(&clause) {
            self.implied.insert(clause.clone());
            self.clause(clause);
        }
        lit
    }

    /// Computes bounds on all nodes; false if no execution is allowed.
    fn prepare(&mut self) -> Result<bool, EarlyEnd> {
        if self.values.unsettled {
            return Err(EarlyEnd::Model(NEVER_SETTLES.into()));
        }
        self.values.bound(self.theory, &self.lower, &self.upper, true);
        let theory = self.theory;
        Ok(theory.requires.iter().all(|c| self.values.may_hold(theory, c)))
    }

    fn find_outcomes(&mut self) -> Result<(), EarlyEnd> {
        while self.propose(&[self.new_outcome])? {
            let Verdict::Sound(outcome) = self.examine() else { continue };
            if let Some(outcome) = &outcome
                && self.results.outcomes.contains(outcome)
            {
                self.block_known();
                continue;
            }
            if self.broken() {
                continue;
            }
            let known = outcome.is_some();
            self.accept(outcome);
            if known { self.block(true) } else { self.block_choices() }
        }
        Ok(())
    }

    /// For each flag that has not been raised, looks for an allowed execution that raises it.
    fn find_flags(&mut self) -> Result<(), EarlyEnd> {
        let theory = self.theory;
        for flag in &theory.flags {
            if self.results.flags.contains(&flag.index) || !self.values.may_hold(theory, flag) {
                continue;
            }
            self.find_flag(flag)?;
        }
        Ok(())
    }

    fn find_flag(&mut self, flag: &Check) -> Result<(), EarlyEnd> {
        // Of the pairs that could raise the flag, at least one must be there.
        let wanted = self.literal();
        let mut goals = Vec::new();
        if !flag.want && flag.shape != litmake_cat::plan::Shape::Acyclic {
            let targets = self.explain().targets(flag);
            for pair in targets {
                let lit = self.literal();
                goals.push((pair, lit));
            }
            let mut clause: Vec<Lit> = goals.iter().map(|(_, lit)| *lit).collect();
            clause.push(!wanted);
            self.clause(clause);
        }
        while self.propose(&[wanted])? {
            let aimed: Vec<((usize, usize), Lit)> =
                goals.iter().copied().filter(|(_, lit)| self.is_true(*lit)).collect();
            let Verdict::Sound(outcome) = self.examine() else { continue };
            let broken = self.broken();
            let theory = self.theory;
            if self.values.holds(theory, flag, super::theory::Which::Now) {
                if !broken && self.accept(outcome) {
                    return Ok(());
                }
                if !broken {
                    // It has no values, so it is no execution.
                    self.block_choices();
                }
                continue;
            }
            if goals.is_empty() {
                let mut reasons = Vec::new();
                self.explain().against(flag, &mut reasons);
                for reason in reasons {
                    self.refute(&reason, Some(wanted));
                }
            }
            for ((a, b), lit) in aimed {
                let reason = self.explain().absent(flag.node, a, b);
                self.refute(&reason, Some(lit));
            }
        }
        Ok(())
    }

    /// Asks the solver for the next proposal; false if there is none.
    fn propose(&mut self, assumptions: &[Lit]) -> Result<bool, EarlyEnd> {
        self.results.stats.nodes += 1;
        if late(self.deadline) {
            return Err(EarlyEnd::TimedOut);
        }
        if self.results.is_full(self.kept) {
            return Err(EarlyEnd::OutOfMemory);
        }
        let answer = self.sat.solve_limited(assumptions);
        if answer == lbool::FALSE {
            return Ok(false);
        }
        if answer != lbool::TRUE {
            return Err(EarlyEnd::TimedOut);
        }
        let skeleton = self.skeleton;
        self.now.rf.clear();
        for (i, read) in skeleton.reads.iter().enumerate() {
            let k = self.rf[i].iter().position(|lit| self.is_true(*lit)).unwrap_or(0);
            let source = read.candidates.get(k).copied().unwrap_or(0);
            self.known.decide(i, Some(source));
            self.now.rf.insert(usize::from(source), usize::from(read.event));
        }
        self.now.co.copy_from(&self.lower.co);
        for (b, a, lit) in &self.co_pairs {
            let (from, to) = if self.is_true(*lit) { (*b, *a) } else { (*a, *b) };
            self.now.co.insert(usize::from(from), usize::from(to));
        }
        self.now.last.clear();
        for w in skeleton.writes.iter().flatten() {
            let w = usize::from(*w);
            if self.now.co.row(w).iter().all(|x| *x == 0) {
                self.now.last.insert(w);
            }
        }
        Ok(true)
    }

    fn is_true(&self, lit: Lit) -> bool {
        self.sat.value_lit(lit) == lbool::TRUE
    }

    /// Checks a proposal's coherence and values, and learns the facts that follow from it.
    fn examine(&mut self) -> Verdict {
        if !self.is_ordered() {
            return Verdict::Refuted;
        }
        self.known.follow(&self.now.co);
        // A value needs its literal before it can be a reason for another.
        let valued = |s: &Self, a: &Access| {
            let var = s.skeleton.reads[a.first].var;
            Some((*a, var, s.known.value(var)?))
        };
        let valued: Vec<_> = self.relevant.iter().filter_map(|a| valued(self, a)).collect();
        for (_, var, value) in &valued {
            self.fact(Fact::Read(*var, *value));
        }
        for (access, var, value) in valued {
            let reasons = self.access_reasons(access);
            self.imply(reasons, Fact::Read(var, value));
        }
        if let Some(torn) = self.known.accesses.iter().copied().find(|a| self.known.torn(*a)) {
            let reasons = self.access_reasons(torn);
            self.clause(reasons.into_iter().map(|r| !r).collect());
            return Verdict::Refuted;
        }
        if let Some(broken) = self.known.broken_constraint() {
            let mut reasons = Vec::new();
            self.expr_reasons(broken, &mut reasons);
            self.clause(reasons.into_iter().map(|r| !r).collect());
            return Verdict::Refuted;
        }
        let circle = self.known.circle();
        if !circle.is_empty() {
            let mut reasons = Vec::new();
            for k in self.known.roots(&circle) {
                self.choices_of(self.known.accesses[k], &mut reasons);
            }
            self.clause(reasons.into_iter().map(|r| !r).collect());
            return Verdict::Refuted;
        }
        let outcome = self.known.outcome(last_write(self.skeleton, &self.now));
        if let (Some(filter), Some(outcome)) = (&self.program.filter, &outcome)
            && !holds(filter, self.program, outcome)
        {
            self.block(false);
            return Verdict::Refuted;
        }
        Verdict::Sound(outcome)
    }

    /// Whether coherence is an order in every cell. If not, learns clauses that require it.
    fn is_ordered(&mut self) -> bool {
        let skeleton = self.skeleton;
        let mut ordered = true;
        for writes in skeleton.writes.iter().filter(|ws| ws.len() > TRANSITIVE + 1) {
            let rest = &writes[1..];
            let before = |s: &Self, a: u16, b: u16| s.now.co.contains(a.into(), b.into());
            for a in rest {
                // If b is before a and a before c, then b must be before c. One clause for each a.
                let circle = rest.iter().filter(|b| before(self, **b, *a)).find_map(|b| {
                    let c = rest.iter().find(|c| before(self, *a, **c) && before(self, **c, *b));
                    c.map(|c| (*b, *c))
                });
                if let Some((b, c)) = circle {
                    self.no_circle(b, *a, c);
                    ordered = false;
                }
            }
        }
        ordered
    }

    fn source_literal(&self, read: usize) -> Lit {
        let candidates = &self.skeleton.reads[read].candidates;
        let source = self.known.source(read);
        let k = candidates.iter().position(|w| Some(*w) == source).unwrap_or(0);
        self.rf[read][k]
    }

    /// Adds literals that imply the value of an expression.
    fn expr_reasons(&self, e: ExprId, reasons: &mut Vec<Lit>) {
        self.exprs.each_var(e, &mut |v| {
            if let Some(value) = self.known.value(v)
                && let Some(lit) = self.facts.get(&Fact::Read(v, value))
            {
                reasons.push(*lit);
            }
        });
    }

    /// Literals that imply the value of an access.
    fn access_reasons(&self, of: Access) -> Vec<Lit> {
        let mut reasons = Vec::new();
        self.choices_of(of, &mut reasons);
        for source in (of.first..of.end).filter_map(|read| self.known.source(read)) {
            self.write_reasons(source, &mut reasons);
        }
        reasons
    }

    /// Adds the literals of the choices that say what an access reads: its sources, and in chains that
    /// commute the order.
    fn choices_of(&self, of: Access, reasons: &mut Vec<Lit>) {
        for read in of.first..of.end {
            if let Some((chain, link)) = self.summed(|l| l.read == read) {
                self.order_of(chain, link, reasons);
                continue;
            }
            reasons.push(self.source_literal(read));
            if let Some(source) = self.known.source(read)
                && let Some((chain, link)) = self.summed(|l| l.write == source)
            {
                self.order_of(chain, link, reasons);
            }
        }
    }

    /// Whether a cell is a chain that commutes, so that it ends with one value.
    fn is_summed(&self, cell: u16) -> bool {
        self.skeleton.chains.iter().any(|c| c.cell == cell && c.sum.is_some())
    }

    /// The link of a chain that commutes of which something is true.
    fn summed(&self, wanted: impl Fn(&Link) -> bool) -> Option<(&'s Chain, Link)> {
        let skeleton = self.skeleton;
        let links = skeleton.chains.iter().filter(|c| c.sum.is_some());
        let mut links = links.flat_map(|c| c.links.iter().map(move |l| (c, *l)));
        links.find(|(_, l)| wanted(l))
    }

    /// Adds the literals that say which links of a chain come before one of them.
    fn order_of(&self, chain: &Chain, of: Link, reasons: &mut Vec<Lit>) {
        for Link { write, .. } in chain.links.iter().filter(|l| l.write != of.write) {
            let before = self.now.co.contains((*write).into(), of.write.into());
            let pair = if before { (*write, of.write) } else { (of.write, *write) };
            reasons.push(self.co[&pair]);
        }
    }

    /// Adds literals that imply the value of a write. Of a link of a chain that commutes there are none:
    /// its place in the order implies the value.
    fn write_reasons(&self, write: u16, reasons: &mut Vec<Lit>) {
        if let Source::Part { value, .. } = self.skeleton.events[usize::from(write)].value
            && self.summed(|l| l.write == write).is_none()
        {
            self.expr_reasons(value, reasons);
        }
    }

    /// Rules out the outcome at hand: by its final values if all are known, else by everything on which
    /// they depend.
    fn block(&mut self, while_new: bool) {
        let mut lits = Vec::new();
        for i in 0..self.known.observed.len() {
            let last_write = last_write(self.skeleton, &self.now);
            let mut reasons = Vec::new();
            let Some(value) = self.known.final_value(i, last_write) else {
                lits = self.all_that_matters();
                break;
            };
            match &self.known.observed[i] {
                Observed::Register(e) => self.expr_reasons(*e, &mut reasons),
                Observed::Memory { cells, .. } => {
                    for (cell, _) in cells.iter().filter(|(cell, _)| !self.is_summed(*cell)) {
                        let Some(last) = last_write(*cell) else { continue };
                        reasons.extend(self.facts.get(&Fact::Last(last)));
                        self.write_reasons(last, &mut reasons);
                    }
                }
            }
            match reasons[..] {
                [] => {}
                [only] => lits.push(only),
                _ => lits.push(self.imply(reasons, Fact::Final(i as u16, value))),
            }
        }
        let mut clause: Vec<Lit> = lits.into_iter().map(|l| !l).collect();
        if while_new {
            clause.push(!self.new_outcome);
        }
        self.kept += KEPT + clause.len() * size_of::<Lit>();
        self.clause(clause);
    }

    /// Rules out a proposal with an outcome that was found before. Where values go in a circle that does not show in
    /// the outcome, facts about it need not follow from the choices; then the proposal comes again, and its choices
    /// are ruled out.
    fn block_known(&mut self) {
        let proposal = FxBuildHasher.hash_one((&self.now.rf, &self.now.co));
        if self.met.insert(proposal) { self.block(true) } else { self.block_choices() }
    }

    /// Rules out a proposal that has no outcome, since some values are not known. Facts about them do not follow from
    /// the choices, so it is the choices that are ruled out.
    fn block_choices(&mut self) {
        let reads = (0..self.skeleton.reads.len()).map(|read| !self.source_literal(read));
        let order = self.co_pairs.iter();
        let order = order.map(|(.., lit)| if self.is_true(*lit) { !*lit } else { *lit });
        let clause: Vec<Lit> = reads.chain(order).collect();
        self.kept += KEPT + clause.len() * size_of::<Lit>();
        self.clause(clause);
    }

    fn all_that_matters(&self) -> Vec<Lit> {
        let mut lits = Vec::new();
        let open = |a: &&Access| {
            let var = self.skeleton.reads[a.first].var;
            self.known.value(var).is_none() && !self.relevant.iter().any(|r| r.first == a.first)
        };
        for of in self.relevant.iter().chain(self.known.accesses.iter().filter(open)) {
            self.choices_of(*of, &mut lits);
        }
        let last = self.known.shown_cells().into_iter();
        let last = last.filter_map(last_write(self.skeleton, &self.now));
        lits.extend(last.filter_map(|w| self.facts.get(&Fact::Last(w))));
        lits
    }

    /// Whether the model forbids the proposal. If so, learns why.
    fn broken(&mut self) -> bool {
        let theory = self.theory;
        let flags = theory.flags.iter().any(|f| !self.results.flags.contains(&f.index));
        self.values.evaluate(theory, &self.now, flags);
        let mut reasons = Vec::new();
        for check in &theory.requires {
            if !self.values.holds(theory, check, super::theory::Which::Now) {
                self.explain().against(check, &mut reasons);
            }
        }
        for reason in &reasons {
            self.refute(reason, None);
        }
        !reasons.is_empty()
    }

    fn explain(&mut self) -> Explain<'_> {
        Explain::new(self.theory, &mut self.values, &self.now)
    }

    /// Learns that these choices exclude each other (while a literal holds).
    fn refute(&mut self, reason: &[Atom], unless_not: Option<Lit>) {
        let mut clause: Vec<Lit> = unless_not.map(|l| !l).into_iter().collect();
        debug_assert!(reason.iter().all(|a| self.holds_now(a)), "a reason that does not hold");
        for atom in reason {
            match atom {
                Atom::Rf(w, r) => clause.extend(self.rf_literal(*w, *r).map(|l| !l)),
                Atom::NotRf(w, r) => clause.extend(self.rf_literal(*w, *r)),
                Atom::Co(a, b) => clause.extend(self.co.get(&(*a, *b)).map(|l| !*l)),
            }
        }
        self.clause(clause);
    }

    fn holds_now(&self, atom: &Atom) -> bool {
        match *atom {
            Atom::Rf(w, r) => self.now.rf.contains(w.into(), r.into()),
            Atom::NotRf(w, r) => !self.now.rf.contains(w.into(), r.into()),
            Atom::Co(a, b) => self.now.co.contains(a.into(), b.into()),
        }
    }

    fn rf_literal(&self, w: u16, r: u16) -> Option<Lit> {
        let read = usize::from(self.read_of[usize::from(r)]?);
        let k = self.skeleton.reads[read].candidates.iter().position(|c| *c == w)?;
        Some(self.rf[read][k])
    }

    /// Records an allowed execution; false if it has no values.
    fn accept(&mut self, outcome: Option<Outcome>) -> bool {
        let theory = self.theory;
        let any = self.known.record(outcome, self.results);
        if any {
            for flag in &theory.flags {
                if !self.results.flags.contains(&flag.index)
                    && self.values.holds(theory, flag, super::theory::Which::Now)
                {
                    self.results.flags.push(flag.index);
                }
            }
        }
        any
    }
}

/// The last write of a cell in a proposal.
fn last_write<'a>(
    skeleton: &'a Skeleton,
    now: &'a Base,
) -> impl Fn(u16) -> Option<u16> + Copy + 'a {
    |cell| {
        let writes = &skeleton.writes[usize::from(cell)];
        writes.iter().copied().find(|w| now.last.contains(usize::from(*w)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_that_is_late_stays_late() {
        let clock = |deadline| Clock { deadline, calls: Cell::new(0), late: Cell::new(false) };
        let stops = |clock: Clock| (0..1000).position(|_| clock.stop());
        assert_eq!(stops(clock(None)), None);
        assert_eq!(stops(clock(Some(Instant::now() + Duration::from_secs(3600)))), None);
        let late = clock(Some(Instant::now()));
        assert!((0..256).any(|_| late.stop()));
        assert!((0..1000).all(|_| late.stop()));
    }
}
