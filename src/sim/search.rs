//! Searches one skeleton for outcomes: decides reads-from and coherence, and cuts what the model
//! already forbids and what can only show outcomes that were found before.
//!
//! Decisions come in the order in which they matter: reads that observed values depend on,
//! which write is last at each observed place, the other reads, then the rest of coherence.
//! Once the outcome is fixed, one consistent completion is enough.

use smallvec::SmallVec;

use super::eval::Choices;
use super::expr::Exprs;
use super::program::{Cond, Program};
use super::results::{EarlyEnd, Outcome, Results, holds, late};
use super::skeleton::{Cells, Skeleton};
use super::valuation::Valuation;
use litmake_base::rel::Rel;

/// How closely a partial execution is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Only the cheapest requirement: few executions lie below, so cutting saves little.
    Glance,
    /// All requirements.
    Whole,
}

/// Below a decision with at most so many executions, checking them costs less than checking it.
const FEW: u64 = 8;

/// Decides whether executions are allowed.
pub trait Judge {
    /// Prepares for a skeleton; false if no execution of it is allowed. All choices that are
    /// judged afterwards decide more than these.
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> Result<bool, String>;

    /// Whether a partial execution may still become an allowed one. A judge may always say yes.
    fn may_allow(&mut self, choices: &Choices, look: Look) -> bool;

    /// The verdict on a complete execution: the flags that it raises, or `None` if it is not
    /// allowed.
    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String>;

    /// Whether some completion could raise a flag that is not among `raised`. A judge may always
    /// say yes.
    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool;
}

/// What one more outcome may cost by enumeration before the solver is thought to be cheaper. The
/// solver carries every outcome that is known as a clause, so each outcome costs it more than the last.
const NODES_PER_OUTCOME: u64 = 16;

pub struct Search<'s> {
    program: &'s Program,
    skeleton: &'s Skeleton<'s>,
    pub judge: &'s mut dyn Judge,
    pub results: &'s mut Results,
    pub filter: Option<&'s Cond>,
    pub deadline: Option<std::time::Instant>,
    /// The search gives up when [`Stats::nodes`](super::results::Stats::nodes) passes this, and
    /// [`NODES_PER_OUTCOME`] more for each outcome that it has found.
    pub node_limit: u64,
    /// How many outcomes there were before this search.
    outcomes_before: usize,
    choices: Choices,
    /// The latest stamp given to choices.
    stamp: u64,
    values: Valuation<'s>,
    order: Vec<Decision>,
    /// See [`Search::count_leaves`].
    leaves: Vec<u64>,
    /// Unused copies of coherence, for reuse.
    spare: Vec<Coherence>,
}

/// Coherence as it was before a decision.
struct Coherence {
    lower: Rel,
    upper: Rel,
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
enum Decision {
    Read(usize),
    /// Which write of a cell is last.
    Last(u16),
}

impl<'s> Search<'s> {
    pub fn new(
        program: &'s Program,
        cells: &'s Cells,
        exprs: &'s Exprs,
        skeleton: &'s Skeleton<'s>,
        judge: &'s mut dyn Judge,
        results: &'s mut Results,
        deadline: Option<std::time::Instant>,
    ) -> Search<'s> {
        let outcomes_before = results.outcomes.len();
        let mut search = Search {
            program,
            skeleton,
            judge,
            results,
            filter: program.filter.as_ref(),
            deadline,
            node_limit: u64::MAX,
            outcomes_before,
            choices: Choices::start(skeleton),
            stamp: 0,
            values: Valuation::new(program, cells, exprs, skeleton),
            order: Vec::new(),
            leaves: Vec::new(),
            spare: Vec::new(),
        };
        search.order_decisions();
        search
    }

    fn order_decisions(&mut self) {
        let relevant = self.values.relevant(self.values.shown_vars());
        for want in [true, false] {
            for (access, relevant) in self.values.accesses.iter().zip(&relevant) {
                if *relevant == want {
                    self.order.extend((access.first..access.end).map(Decision::Read));
                }
            }
            if want {
                self.order.extend(self.values.shown_cells().into_iter().map(Decision::Last));
            }
        }
    }

    /// Searches this skeleton; what it finds goes to `results`.
    pub fn run(&mut self) -> Result<(), EarlyEnd> {
        // Reads with one source need no decision.
        for (i, read) in self.skeleton.reads.iter().enumerate() {
            if let [source] = read.candidates[..] {
                self.values.decide(i, Some(source));
                self.choices.rf_lower.insert(usize::from(source), usize::from(read.event));
            }
        }
        let reads = &self.skeleton.reads;
        let writes = &self.skeleton.writes;
        self.order.retain(|d| match d {
            Decision::Read(i) => reads[*i].candidates.len() != 1,
            Decision::Last(cell) => writes[usize::from(*cell)].len() > 2,
        });
        if !self.judge.bind(self.skeleton, &self.choices).map_err(EarlyEnd::Model)? {
            return Ok(());
        }
        self.count_leaves();
        self.decide(0).map(|_| ())
    }

    /// Estimates how many executions lie below each decision: the product of the choices below,
    /// without those of pairs of writes.
    fn count_leaves(&mut self) {
        let mut leaves = 1u64;
        self.leaves = vec![leaves; self.order.len() + 1];
        for (level, decision) in self.order.iter().enumerate().rev() {
            leaves = leaves.saturating_mul(match decision {
                Decision::Read(i) => self.skeleton.reads[*i].candidates.len() as u64,
                Decision::Last(cell) => self.skeleton.writes[usize::from(*cell)].len() as u64 - 1,
            });
            self.leaves[level] = leaves;
        }
    }

    /// Counts a partial execution; ends the search if time or nodes are used up.
    fn count(&mut self) -> Result<(), EarlyEnd> {
        self.results.stats.nodes += 1;
        let nodes = self.results.stats.nodes;
        if nodes.is_multiple_of(1024) && late(self.deadline) {
            return Err(EarlyEnd::TimedOut);
        }
        let new = (self.results.outcomes.len() - self.outcomes_before) as u64;
        let limit = self.node_limit.saturating_add(NODES_PER_OUTCOME * new);
        if nodes > limit { Err(EarlyEnd::Budget) } else { Ok(()) }
    }

    /// Explores below the first `level` decisions; true if a consistent execution was found.
    fn decide(&mut self, level: usize) -> Result<bool, EarlyEnd> {
        self.count()?;
        if !self.values.follow()
            || self.values.broken_constraint().is_some()
            || !self.values.circle().is_empty()
        {
            return Ok(false);
        }
        let outcome = self.values.outcome(|cell| last_write(self.skeleton, &self.choices, cell));
        if let Some(outcome) = &outcome {
            if self.filter.is_some_and(|f| !holds(f, self.program, outcome)) {
                return Ok(false);
            }
            if self.results.outcomes.contains(outcome) && !self.flags_open() {
                return Ok(true);
            }
        }
        let last = level == self.order.len();
        let look = if last || self.leaves[level] > FEW { Look::Whole } else { Look::Glance };
        if !self.judge.may_allow(&self.choices, look) {
            return Ok(false);
        }
        let fixed = outcome.is_some();
        match self.order.get(level).copied() {
            Some(Decision::Read(i)) => self.decide_read(level, i, fixed),
            Some(Decision::Last(cell)) => self.decide_last(level, cell, fixed),
            None => self.decide_pairs(&outcome),
        }
    }

    /// Whether a consistent execution makes its siblings superfluous.
    fn enough(&mut self, fixed: bool) -> bool {
        fixed && !self.flags_open()
    }

    /// Whether a flag that has not been raised could be raised by some completion.
    fn flags_open(&mut self) -> bool {
        self.judge.may_flag(&self.choices, &self.results.flags)
    }

    fn decide_read(&mut self, level: usize, i: usize, fixed: bool) -> Result<bool, EarlyEnd> {
        let skeleton = self.skeleton;
        let read = &skeleton.reads[i];
        let event = usize::from(read.event);
        let mut any = false;
        for w in &read.candidates {
            let source = usize::from(*w);
            self.values.decide(i, Some(*w));
            for other in &read.candidates {
                if other != w {
                    self.choices.rf_upper.remove(usize::from(*other), event);
                }
            }
            self.choices.rf_lower.insert(source, event);
            let before = self.choices.rf_stamp;
            self.choices.rf_stamp = self.next_stamp();
            let found = self.decide(level + 1)?;
            self.choices.rf_lower.remove(source, event);
            self.choices.rf_stamp = before;
            for other in &read.candidates {
                self.choices.rf_upper.insert(usize::from(*other), event);
            }
            self.values.decide(i, None);
            any |= found;
            if found && self.enough(fixed) {
                return Ok(true);
            }
        }
        Ok(any)
    }

    fn decide_last(&mut self, level: usize, cell: u16, fixed: bool) -> Result<bool, EarlyEnd> {
        let writes = &self.skeleton.writes[usize::from(cell)];
        let mut any = false;
        let saved = self.save_coherence();
        for last in &writes[1..] {
            let last = usize::from(*last);
            if self.choices.co_lower.successors(last).next().is_some() {
                continue;
            }
            for w in &writes[1..] {
                let w = usize::from(*w);
                if w != last {
                    self.order_pair(w, last);
                }
            }
            let found = self.decide(level + 1)?;
            self.restore_coherence(&saved);
            any |= found;
            if found && self.enough(fixed) {
                break;
            }
        }
        self.spare.push(saved);
        Ok(any)
    }

    fn save_coherence(&mut self) -> Coherence {
        let Choices { co_lower, co_upper, co_stamp, .. } = &self.choices;
        match self.spare.pop() {
            Some(mut saved) => {
                saved.lower.copy_from(co_lower);
                saved.upper.copy_from(co_upper);
                saved.stamp = *co_stamp;
                saved
            }
            None => {
                Coherence { lower: co_lower.clone(), upper: co_upper.clone(), stamp: *co_stamp }
            }
        }
    }

    fn restore_coherence(&mut self, saved: &Coherence) {
        self.choices.co_lower.copy_from(&saved.lower);
        self.choices.co_upper.copy_from(&saved.upper);
        self.choices.co_stamp = saved.stamp;
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Puts `a` before `b` in coherence, with all pairs that follow.
    fn order_pair(&mut self, a: usize, b: usize) {
        if self.choices.co_lower.contains(a, b) {
            return;
        }
        self.choices.co_stamp = self.next_stamp();
        let Some(cell) = self.skeleton.events[a].cell else { return };
        let Choices { co_lower, co_upper, .. } = &mut self.choices;
        // The predecessors of `a` and the successors of `b`, before anything changes.
        let (mut before, mut after) =
            (SmallVec::<[usize; 8]>::new(), SmallVec::<[usize; 8]>::new());
        for p in self.skeleton.writes[usize::from(cell)].iter().map(|w| usize::from(*w)) {
            if p == a || co_lower.contains(p, a) {
                before.push(p);
            }
            if p == b || co_lower.contains(b, p) {
                after.push(p);
            }
        }
        for p in before {
            for s in &after {
                co_lower.insert(p, *s);
                co_upper.remove(*s, p);
            }
        }
    }

    fn open_pair(&self) -> Option<(usize, usize)> {
        for writes in &self.skeleton.writes {
            for (i, a) in writes.iter().enumerate().skip(1) {
                for b in &writes[i + 1..] {
                    let (a, b) = (usize::from(*a), usize::from(*b));
                    if self.choices.co_upper.contains(a, b) && self.choices.co_upper.contains(b, a)
                    {
                        return Some((a, b));
                    }
                }
            }
        }
        None
    }

    fn decide_pairs(&mut self, outcome: &Option<Outcome>) -> Result<bool, EarlyEnd> {
        let Some((a, b)) = self.open_pair() else {
            return self.complete(outcome.as_ref());
        };
        let mut any = false;
        let saved = self.save_coherence();
        for (x, y) in [(a, b), (b, a)] {
            self.order_pair(x, y);
            self.count()?;
            let found = if self.judge.may_allow(&self.choices, Look::Whole) {
                self.decide_pairs(outcome)?
            } else {
                false
            };
            self.restore_coherence(&saved);
            any |= found;
            if found && self.enough(outcome.is_some()) {
                break;
            }
        }
        self.spare.push(saved);
        Ok(any)
    }

    /// Judges a complete execution, and records its outcome and flags if it is allowed.
    fn complete(&mut self, outcome: Option<&Outcome>) -> Result<bool, EarlyEnd> {
        let Some(flags) = self.judge.judge(&self.choices).map_err(EarlyEnd::Model)? else {
            return Ok(false);
        };
        let any = self.values.record(outcome.cloned(), self.results);
        if any {
            for flag in flags {
                if !self.results.flags.contains(&flag) {
                    self.results.flags.push(flag);
                }
            }
        }
        Ok(any)
    }
}

/// The last write of a cell, if it is decided.
fn last_write(skeleton: &Skeleton, choices: &Choices, cell: u16) -> Option<u16> {
    let is_last = |w: &u16| choices.co_upper.row(usize::from(*w)).iter().all(|x| *x == 0);
    skeleton.writes[usize::from(cell)].iter().copied().find(is_last)
}
