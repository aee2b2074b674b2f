//! Searches one skeleton for outcomes: decides reads-from and coherence, and cuts what the model
//! already forbids and what can only show outcomes that were found before.
//!
//! Decisions come in the order in which they matter: reads that observed values depend on,
//! which write is last at each observed place, the other reads, then the rest of coherence.
//! Once the outcome is fixed, one consistent completion is enough.
//!
//! In a chain, sources and coherence follow from each other. If it commutes, only the order of those
//! pairs is decided early of which one is the link whose value matters.

use smallvec::SmallVec;

use super::chain::Link;
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

/// Where at least so many executions lie below a decision, and so many outcomes were found since, it is worth a
/// look whether all of them meet a requirement.
const MANY: u64 = 64;
const OUTCOMES_PER_LOOK: usize = 16;

/// Decides whether executions are allowed.
pub trait Judge {
    /// Prepares for a skeleton; false if no execution of it is allowed. All choices that are
    /// judged afterwards decide more than these.
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> Result<bool, String>;

    /// Whether a partial execution may still become an allowed one. A judge may always say yes.
    fn may_allow(&mut self, choices: &Choices, look: Look) -> bool;

    /// Looks for requirements that all completions of the choices meet, and asks for them no more. Says which
    /// were known before, for [`Judge::forget`].
    fn assure(&mut self, _: &Choices) -> u64 {
        0
    }

    /// Asks again for all requirements but those that were known before.
    fn forget(&mut self, _before: u64) {}

    /// The verdict on a complete execution: the flags that it raises, or `None` if it is not
    /// allowed.
    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String>;

    /// Whether some completion could raise a flag that is not among `raised`. A judge may always
    /// say yes.
    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool;
}

/// The nodes that enumeration may visit for one more outcome before the solver is thought to be cheaper. The solver
/// carries every outcome that is known as a clause, so each outcome costs it more than the last.
const NODES_PER_OUTCOME: u64 = 64;
/// The bytes of stack that a level of the search needs, with what it calls, and those that are added where
/// fewer are left.
const STACK_LEFT: usize = 128 << 10;
const STACK_MORE: usize = 2 << 20;

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
    /// How many outcomes there have to be for the next [`Judge::assure`].
    next_look: usize,
    choices: Choices,
    /// The latest stamp given to choices.
    stamp: u64,
    values: Valuation<'s>,
    order: Vec<Decision>,
    /// See [`Search::count_leaves`].
    leaves: Vec<u64>,
    /// Unused copies of coherence, for reuse.
    spare: Vec<Coherence>,
    /// For each chain that commutes, which of its links matter.
    matters: Vec<Matters>,
    /// The reads whose sources follow from coherence at this point, in the order in which that was found.
    forced: Vec<usize>,
}

/// Which links of a chain have a value on which an outcome may depend.
#[derive(Default)]
struct Matters {
    /// For each link, whether what it reads is used beyond the chain.
    links: Vec<bool>,
    /// Other reads of the cell that matter. What they return is what their source leaves behind.
    readers: Vec<usize>,
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
    /// Which of two links of a chain is first.
    Order(usize, usize, usize),
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
            next_look: outcomes_before + OUTCOMES_PER_LOOK,
            choices: Choices::start(skeleton),
            stamp: 0,
            values: Valuation::new(program, cells, exprs, skeleton),
            order: Vec::new(),
            leaves: Vec::new(),
            spare: Vec::new(),
            matters: Vec::new(),
            forced: Vec::new(),
        };
        search.order_decisions();
        search
    }

    fn order_decisions(&mut self) {
        let relevant = self.values.relevant(self.values.shown_vars());
        for want in [true, false] {
            for (k, access) in self.values.accesses.iter().enumerate() {
                // The value that the read of a link returns follows from the order of the chain.
                if (relevant[k] && self.values.link(k).is_none()) == want {
                    self.order.extend((access.first..access.end).map(Decision::Read));
                }
            }
            if want {
                self.order_links(&relevant);
                self.order.extend(self.values.shown_cells().into_iter().map(Decision::Last));
            }
        }
    }

    /// Adds the pairs of links in chains that commute, if some value of the chain matters.
    fn order_links(&mut self, relevant: &[bool]) {
        let skeleton = self.skeleton;
        for (c, chain) in skeleton.chains.iter().enumerate() {
            let mut matters = Matters::default();
            matters.links.resize(chain.links.len(), false);
            for (k, access) in self.values.accesses.iter().enumerate().filter(|(k, _)| relevant[*k])
            {
                match self.values.link(k) {
                    Some((of, link)) if of == c => matters.links[link] = true,
                    Some(_) => {}
                    None => matters.readers.extend(
                        (access.first..access.end)
                            .filter(|r| skeleton.reads[*r].cell == chain.cell),
                    ),
                }
            }
            let any = matters.links.contains(&true) || !matters.readers.is_empty();
            if chain.sum.is_some() && any {
                let pairs = (1..chain.links.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
                self.order.extend(pairs.map(|(a, b)| Decision::Order(c, a, b)));
            }
            self.matters.push(matters);
        }
    }

    /// Whether a value depends on what this link of a chain reads or leaves behind.
    fn matters(&self, chain: usize, link: usize) -> bool {
        let write = Some(self.skeleton.chains[chain].links[link].write);
        let Matters { links, readers } = &self.matters[chain];
        links[link] || readers.iter().any(|read| self.values.source(*read) == write)
    }

    /// Whether a decision has been made, or need not be made here.
    fn is_made(&self, decision: Decision) -> bool {
        match decision {
            Decision::Read(i) => self.values.source(i).is_some(),
            Decision::Last(_) => false,
            Decision::Order(chain, a, b) => {
                let write =
                    |link: usize| usize::from(self.skeleton.chains[chain].links[link].write);
                let co = &self.choices.co_lower;
                co.contains(write(a), write(b))
                    || co.contains(write(b), write(a))
                    || !self.matters(chain, a) && !self.matters(chain, b)
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
            Decision::Order(..) => true,
        });
        if !self.judge.bind(self.skeleton, &self.choices).map_err(EarlyEnd::Model)? {
            return Ok(());
        }
        self.count_leaves();
        self.conclude(|s| s.decide(0, None)).map(|_| ())
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
                Decision::Order(..) => 2,
            });
            self.leaves[level] = leaves;
        }
    }

    /// Counts a partial execution; ends the search if time or nodes are used up.
    fn count(&mut self) -> Result<(), EarlyEnd> {
        self.results.stats.nodes += 1;
        let nodes = self.results.stats.nodes;
        if nodes.is_multiple_of(1024) {
            if late(self.deadline) {
                return Err(EarlyEnd::TimedOut);
            }
            if self.results.is_full(0) {
                return Err(EarlyEnd::OutOfMemory);
            }
        }
        let new = (self.results.outcomes.len() - self.outcomes_before) as u64;
        let limit = self.node_limit.saturating_add(NODES_PER_OUTCOME * new);
        if nodes > limit { Err(EarlyEnd::Budget) } else { Ok(()) }
    }

    /// Explores below the first `level` decisions; true if a consistent execution was found. An
    /// outcome that was known before the last decision has been looked up.
    fn decide(&mut self, level: usize, known: Option<&Outcome>) -> Result<bool, EarlyEnd> {
        self.count()?;
        let mut level = level;
        if !self.skeleton.chains.is_empty() {
            let rest = self.order[level..].iter();
            level += rest.take_while(|d| self.is_made(**d)).count();
        }
        if !self.values.follow(&self.choices.co_lower)
            || self.values.broken_constraint().is_some()
            || !self.values.circle().is_empty()
        {
            return Ok(false);
        }
        let found;
        let outcome = match known {
            Some(_) => known,
            None => {
                found = self.values.outcome(|cell| last_write(self.skeleton, &self.choices, cell));
                found.as_ref()
            }
        };
        if let (Some(outcome), None) = (outcome, known) {
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
        let worth = self.leaves[level] >= MANY && self.results.outcomes.len() >= self.next_look;
        if !worth {
            return self.go_on(level, outcome);
        }
        self.next_look += OUTCOMES_PER_LOOK;
        let before = self.judge.assure(&self.choices);
        let found = self.go_on(level, outcome);
        self.judge.forget(before);
        found
    }

    /// Explores below the first `level` decisions, after these were looked at.
    fn go_on(&mut self, level: usize, outcome: Option<&Outcome>) -> Result<bool, EarlyEnd> {
        match self.order.get(level).copied() {
            Some(Decision::Read(i)) => self.decide_read(level, i, outcome),
            Some(Decision::Last(cell)) => self.decide_last(level, cell, outcome),
            Some(Decision::Order(chain, a, b)) => {
                let write = |l: usize| self.skeleton.chains[chain].links[l].write;
                let (a, b) = (usize::from(write(a)), usize::from(write(b)));
                self.decide_pair(a, b, outcome, |s| s.decide(level + 1, outcome))
            }
            None => self.decide_pairs(outcome),
        }
    }

    /// Whether a consistent execution makes its siblings superfluous.
    fn enough(&mut self, outcome: Option<&Outcome>) -> bool {
        outcome.is_some() && !self.flags_open()
    }

    /// Whether a flag that has not been raised could be raised by some completion.
    fn flags_open(&mut self) -> bool {
        self.judge.may_flag(&self.choices, &self.results.flags)
    }

    fn decide_read(
        &mut self,
        level: usize,
        i: usize,
        outcome: Option<&Outcome>,
    ) -> Result<bool, EarlyEnd> {
        let skeleton = self.skeleton;
        let mut any = false;
        let saved = (!skeleton.chains.is_empty()).then(|| self.save_coherence());
        for w in &skeleton.reads[i].candidates {
            let before = self.choices.rf_stamp;
            self.choose(i, *w);
            let found = self.conclude(|s| s.decide(level + 1, outcome))?;
            self.open(i);
            self.choices.rf_stamp = before;
            if let Some(saved) = &saved {
                self.restore_coherence(saved);
            }
            any |= found;
            if found && self.enough(outcome) {
                break;
            }
        }
        self.spare.extend(saved);
        Ok(any)
    }

    /// Decides the source of a read.
    fn choose(&mut self, i: usize, source: u16) {
        let read = &self.skeleton.reads[i];
        let event = usize::from(read.event);
        self.values.decide(i, Some(source));
        for other in read.candidates.iter().filter(|w| **w != source) {
            self.choices.rf_upper.remove(usize::from(*other), event);
        }
        self.choices.rf_lower.insert(usize::from(source), event);
        self.choices.rf_stamp = self.next_stamp();
    }

    /// Opens a read again.
    fn open(&mut self, i: usize) {
        let read = &self.skeleton.reads[i];
        let event = usize::from(read.event);
        for w in &read.candidates {
            self.choices.rf_lower.remove(usize::from(*w), event);
            self.choices.rf_upper.insert(usize::from(*w), event);
        }
        self.values.decide(i, None);
    }

    /// Draws the conclusions from what is decided in chains, and goes on from there if there is no
    /// contradiction. What was concluded of reads is taken back; coherence is not.
    fn conclude(
        &mut self,
        next: impl FnOnce(&mut Self) -> Result<bool, EarlyEnd>,
    ) -> Result<bool, EarlyEnd> {
        // A search has as many levels as decisions: thousands where dozens of writes are unordered.
        stacker::maybe_grow(STACK_LEFT, STACK_MORE, || self.conclude_here(next))
    }

    fn conclude_here(
        &mut self,
        next: impl FnOnce(&mut Self) -> Result<bool, EarlyEnd>,
    ) -> Result<bool, EarlyEnd> {
        if self.skeleton.chains.is_empty() {
            return next(self);
        }
        let (forced, stamp) = (self.forced.len(), self.choices.rf_stamp);
        let found = if self.settle() { next(self)? } else { false };
        while self.forced.len() > forced
            && let Some(i) = self.forced.pop()
        {
            self.open(i);
        }
        self.choices.rf_stamp = stamp;
        Ok(found)
    }

    /// The source of each link is the write just before it; false if that cannot be. Ends when nothing
    /// more follows.
    fn settle(&mut self) -> bool {
        let skeleton = self.skeleton;
        loop {
            let stamp = self.stamp;
            for chain in &skeleton.chains {
                let writes = &skeleton.writes[usize::from(chain.cell)];
                for Link { write, read } in &chain.links {
                    let fits = match self.values.source(*read) {
                        Some(source) => self.is_next(writes, source, *write),
                        None => self.find_source(writes, *write, *read),
                    };
                    if !fits {
                        return false;
                    }
                }
            }
            if self.stamp == stamp {
                return true;
            }
        }
    }

    /// Orders all writes of a cell so that `b` comes right after `a`; false if that cannot be.
    fn is_next(&mut self, writes: &[u16], a: u16, b: u16) -> bool {
        let (a, b) = (usize::from(a), usize::from(b));
        if self.is_right_after(a, b) {
            return true;
        }
        let mut fits = self.put(a, b);
        for z in writes.iter().map(|z| usize::from(*z)).filter(|z| *z != a && *z != b) {
            if self.choices.co_lower.contains(a, z) {
                fits = fits && self.put(b, z);
            } else if self.choices.co_lower.contains(z, b) {
                fits = fits && self.put(z, a);
            }
        }
        fits
    }

    /// Whether coherence has `b` after `a`, and each other write on the same side of both as far as it is
    /// decided for one.
    fn is_right_after(&self, a: usize, b: usize) -> bool {
        let Choices { co_lower, co_upper, .. } = &self.choices;
        let without = |word: usize, e: usize| if e / 64 == word { !(1 << (e % 64)) } else { !0u64 };
        // What comes after `a` comes after `b`, and what can come after `a` can come after `b`.
        let after = |(word, (a_row, b_row)): (usize, (&u64, &u64))| {
            a_row & !b_row & without(word, a) & without(word, b) == 0
        };
        co_lower.contains(a, b)
            && co_lower.row(a).iter().zip(co_lower.row(b)).enumerate().all(after)
            && co_upper.row(a).iter().zip(co_upper.row(b)).enumerate().all(after)
    }

    fn put(&mut self, a: usize, b: usize) -> bool {
        let fits = !self.choices.co_lower.contains(b, a);
        if fits {
            self.order_pair(a, b);
        }
        fits
    }

    /// Decides the read of a link if the write just before the link is known; false if that is no
    /// candidate.
    fn find_source(&mut self, writes: &[u16], link: u16, read: usize) -> bool {
        let co = &self.choices.co_lower;
        if co.row(usize::from(link)) != self.choices.co_upper.row(usize::from(link)) {
            return true;
        }
        let before = |a: u16, b: u16| co.contains(usize::from(a), usize::from(b));
        let mut last: Option<u16> = None;
        for z in writes.iter().copied().filter(|z| *z != link) {
            if before(z, link) && last.is_none_or(|last| before(last, z)) {
                last = Some(z);
            }
        }
        let Some(last) = last else { return false };
        let others = || writes.iter().copied().filter(|z| *z != link && *z != last);
        if others().any(|z| before(z, link) && !before(z, last)) {
            return true;
        }
        if !self.skeleton.reads[read].candidates.contains(&last) {
            return false;
        }
        self.choose(read, last);
        self.forced.push(read);
        true
    }

    fn decide_last(
        &mut self,
        level: usize,
        cell: u16,
        outcome: Option<&Outcome>,
    ) -> Result<bool, EarlyEnd> {
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
            let found = self.conclude(|s| s.decide(level + 1, outcome))?;
            self.restore_coherence(&saved);
            any |= found;
            if found && self.enough(outcome) {
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

    /// A pair of writes whose order is open. Writes that are read come first: where no order will do,
    /// it is by these that it shows, and the others need not be gone through.
    fn open_pair(&self) -> Option<(usize, usize)> {
        let Choices { rf_lower, co_upper, .. } = &self.choices;
        let is_read = |w: usize| rf_lower.row(w).iter().any(|word| *word != 0);
        let is_open = |a: usize, b: usize| co_upper.contains(a, b) && co_upper.contains(b, a);
        let mut other = None;
        for writes in &self.skeleton.writes {
            for (i, a) in writes.iter().enumerate().skip(1) {
                for b in &writes[i + 1..] {
                    let (a, b) = (usize::from(*a), usize::from(*b));
                    if is_open(a, b) {
                        if is_read(a) && is_read(b) {
                            return Some((a, b));
                        }
                        other = other.or(Some((a, b)));
                    }
                }
            }
        }
        other
    }

    fn decide_pairs(&mut self, outcome: Option<&Outcome>) -> Result<bool, EarlyEnd> {
        let Some((a, b)) = self.open_pair() else {
            return self.complete(outcome);
        };
        self.decide_pair(a, b, outcome, |s| {
            s.count()?;
            match s.judge.may_allow(&s.choices, Look::Whole) {
                true => s.decide_pairs(outcome),
                false => Ok(false),
            }
        })
    }

    /// Goes on with each order of two writes.
    fn decide_pair(
        &mut self,
        a: usize,
        b: usize,
        outcome: Option<&Outcome>,
        next: impl Fn(&mut Self) -> Result<bool, EarlyEnd>,
    ) -> Result<bool, EarlyEnd> {
        let mut any = false;
        let saved = self.save_coherence();
        for (x, y) in [(a, b), (b, a)] {
            self.order_pair(x, y);
            let found = self.conclude(&next)?;
            self.restore_coherence(&saved);
            any |= found;
            if found && self.enough(outcome) {
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
