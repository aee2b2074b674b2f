//! The search for outcomes: decides reads-from and coherence of one skeleton, cutting what the
//! model already forbids and what can only show an outcome already seen.
//!
//! Decisions come in the order in which they matter: reads that observed values depend on,
//! which write is last at each observed place, the other reads, then the rest of coherence.
//! Once the outcome is fixed, one consistent completion is enough.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::eval::Choices;
use super::expr::{Exprs, Var, mask, truth};
use super::program::{Cond, Program, What};
use super::skeleton::{CellRead, Cells, Skeleton, Source};
use crate::isa::ops::Val;
use crate::rel::Rel;

/// Final values of the observed places, in the order of [`Program::observed`].
pub type Outcome = SmallVec<[Val; 6]>;

/// What a run over all skeletons of a test has found so far.
#[derive(Default)]
pub struct Found {
    pub outcomes: FxHashSet<Outcome>,
    /// Flags raised so far, by index among the model's checks.
    pub flags: Vec<usize>,
    pub stats: Stats,
    /// Set where a value could not be computed.
    pub trouble: Option<String>,
}

impl Found {
    /// Adds the outcome of an allowed execution; false where it is none, since a value in it cannot
    /// be computed.
    pub(super) fn record(
        &mut self,
        outcome: Outcome,
        skeleton: &Skeleton,
        exprs: &Exprs,
        sources: impl Iterator<Item = u16>,
        lookup: &dyn Fn(Var) -> Option<Val>,
    ) -> bool {
        if is_stuck(skeleton, exprs, sources, lookup) {
            self.stuck();
            return false;
        }
        self.stats.executions += 1;
        self.outcomes.insert(outcome);
        true
    }

    /// Notes that a value could not be computed.
    pub(super) fn stuck(&mut self) {
        let message = "a value cannot be computed (arithmetic on addresses?)";
        self.trouble.get_or_insert_with(|| message.to_string());
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    pub skeletons: u64,
    /// Partial executions looked at.
    pub nodes: u64,
    /// Complete consistent executions.
    pub executions: u64,
    /// Skeletons that went to the solver.
    pub solved: u64,
}

pub enum Stop {
    TimedOut,
    /// More partial executions than [`Search::node_limit`] allows.
    Budget,
    /// The model itself is at fault.
    Model(String),
}

/// How much of a partial execution is worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Only what is cheap: little lies below.
    Glance,
    Whole,
}

/// Where at most so many executions lie below, looking at them costs less than at their parents.
const FEW: u64 = 8;

/// What decides whether executions are allowed.
pub trait Judge {
    /// Prepares for a skeleton; false where no execution of it is allowed. All choices that are
    /// judged afterwards decide more than these.
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> Result<bool, String>;

    /// Whether a partial execution may still become an allowed one. True is always sound.
    fn possible(&mut self, choices: &Choices, look: Look) -> bool;

    /// The verdict on a complete execution: the flags that it raises, or `None` where it is not
    /// allowed.
    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String>;

    /// Whether some completion could raise a flag that is not among `raised`. True is sound.
    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool;
}

pub struct Search<'s> {
    pub program: &'s Program,
    pub cells: &'s Cells,
    pub exprs: &'s Exprs,
    pub skeleton: &'s Skeleton<'s>,
    pub judge: &'s mut dyn Judge,
    pub found: &'s mut Found,
    pub filter: Option<&'s Cond>,
    pub deadline: Option<std::time::Instant>,
    /// The search gives up where [`Stats::nodes`] passes this.
    pub node_limit: u64,
    choices: Choices,
    /// The latest stamp given to choices.
    stamp: u64,
    /// The source of each cell read, once decided.
    sources: Vec<Option<u16>>,
    order: Vec<Decision>,
    /// See [`Search::count_leaves`].
    leaves: Vec<u64>,
    /// The value of each access, once it follows from what is decided.
    values: Vec<Vec<Option<Val>>>,
    /// The reads that each access is made of.
    accesses: Vec<Access>,
    observed: Vec<Observed>,
    /// What each event writes, where no read decides it.
    constant: Vec<Option<Val>>,
    /// Every access is one read of what no read decides: a value follows from the source alone.
    direct: bool,
    /// Room for coherence to be kept in.
    spare: Vec<Coherence>,
}

/// The reads of one access, as a range, and the place of its value.
#[derive(Clone, Copy)]
struct Access {
    first: usize,
    end: usize,
    thread: usize,
    access: usize,
}

/// Coherence as it was before a decision.
struct Coherence {
    low: Rel,
    high: Rel,
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
enum Decision {
    Read(usize),
    /// Which write of a cell is last.
    Last(u16),
}

enum Observed {
    Register(super::expr::ExprId),
    Memory { cells: Vec<(u16, i32)>, initial: Val },
}

impl<'s> Search<'s> {
    #[expect(clippy::too_many_arguments, reason = "the search borrows every part of a run")]
    pub fn new(
        program: &'s Program,
        cells: &'s Cells,
        exprs: &'s Exprs,
        skeleton: &'s Skeleton<'s>,
        judge: &'s mut dyn Judge,
        found: &'s mut Found,
        deadline: Option<std::time::Instant>,
    ) -> Search<'s> {
        let choices = Choices::start(skeleton);
        let observed = program
            .observed
            .iter()
            .enumerate()
            .map(|(i, o)| match o.what {
                What::Reg { thread, .. } => Observed::Register(
                    skeleton.paths[usize::from(thread)]
                        .finals
                        .iter()
                        .find(|(k, _)| *k == i)
                        .map_or(0, |(_, e)| *e),
                ),
                What::Mem { loc, off, size } => Observed::Memory {
                    cells: Skeleton::observed_cells(cells, o.what),
                    initial: super::skeleton::initial_value(
                        &program.locations[usize::from(loc)],
                        off,
                        size,
                    ),
                },
            })
            .collect();
        let values = skeleton
            .paths
            .iter()
            .map(|p| vec![None; p.events.iter().filter(|e| e.reads()).count()])
            .collect();
        let mut search = Search {
            program,
            cells,
            exprs,
            skeleton,
            judge,
            found,
            filter: program.filter.as_ref(),
            deadline,
            node_limit: u64::MAX,
            sources: vec![None; skeleton.reads.len()],
            choices,
            stamp: 0,
            order: Vec::new(),
            leaves: Vec::new(),
            values,
            accesses: accesses(&skeleton.reads),
            observed,
            constant: Vec::new(),
            direct: false,
            spare: Vec::new(),
        };
        let constant = (0..skeleton.len()).map(|e| search.written_now(e, &|_| None));
        search.constant = constant.collect();
        let known = |w: &u16| search.constant[usize::from(*w)].is_some();
        search.direct = search.accesses.len() == skeleton.reads.len()
            && skeleton.reads.iter().all(|r| r.shift == 0 && r.candidates.iter().all(known));
        search.order_decisions();
        search
    }

    fn order_decisions(&mut self) {
        let reads = &self.skeleton.reads;
        let mut relevant = vec![false; reads.len()];
        let mut vars: Vec<Var> = Vec::new();
        for o in &self.observed {
            if let Observed::Register(e) = o {
                self.exprs.each_var(*e, &mut |v| vars.push(v));
            }
        }
        let mut last = Vec::new();
        let source_vars = |write: u16, vars: &mut Vec<Var>| {
            if let Source::Part { value, .. } = self.skeleton.events[usize::from(write)].value {
                self.exprs.each_var(value, &mut |v| vars.push(v));
            }
        };
        for o in &self.observed {
            if let Observed::Memory { cells, .. } = o {
                for (cell, _) in cells {
                    if !last.contains(cell) {
                        last.push(*cell);
                        for w in &self.skeleton.writes[usize::from(*cell)] {
                            source_vars(*w, &mut vars);
                        }
                    }
                }
            }
        }
        // A read whose value matters makes the reads matter that its sources depend on.
        while let Some(v) = vars.pop() {
            for (i, read) in reads.iter().enumerate() {
                if read.var == v && !relevant[i] {
                    relevant[i] = true;
                    for w in &read.candidates {
                        source_vars(*w, &mut vars);
                    }
                }
            }
        }
        let pick = |want: bool| (0..reads.len()).filter(move |i| relevant[*i] == want);
        let mut order: Vec<Decision> = pick.clone()(true).map(Decision::Read).collect();
        order.extend(last.into_iter().map(Decision::Last));
        order.extend(pick(false).map(Decision::Read));
        self.order = order;
    }

    /// Searches this skeleton; what it finds goes to `found`.
    pub fn run(&mut self) -> Result<(), Stop> {
        // Reads with one source are decided before anything is looked at.
        for (i, read) in self.skeleton.reads.iter().enumerate() {
            if let [source] = read.candidates[..] {
                self.sources[i] = Some(source);
                self.note_value(i, Some(source));
                self.choices.rf_low.insert(usize::from(source), usize::from(read.event));
            }
        }
        let reads = &self.skeleton.reads;
        let writes = &self.skeleton.writes;
        self.order.retain(|d| match d {
            Decision::Read(i) => reads[*i].candidates.len() != 1,
            Decision::Last(cell) => writes[usize::from(*cell)].len() > 2,
        });
        if !self.judge.bind(self.skeleton, &self.choices).map_err(Stop::Model)? {
            return Ok(());
        }
        self.count_leaves();
        self.decide(0).map(|_| ())
    }

    /// How many executions lie below each decision at most, but for what pairs of writes add.
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

    /// Counts a partial execution; stops where time or nodes are used up.
    fn count(&mut self) -> Result<(), Stop> {
        self.found.stats.nodes += 1;
        let nodes = self.found.stats.nodes;
        let late = |d| std::time::Instant::now() > d;
        if nodes.is_multiple_of(1024) && self.deadline.is_some_and(late) {
            return Err(Stop::TimedOut);
        }
        if nodes > self.node_limit { Err(Stop::Budget) } else { Ok(()) }
    }

    /// Explores below the first `level` decisions; true where a consistent execution was found.
    fn decide(&mut self, level: usize) -> Result<bool, Stop> {
        self.count()?;
        if !self.propagate() {
            return Ok(false);
        }
        let outcome = self.outcome();
        if let Some(outcome) = &outcome {
            if self.filter.is_some_and(|f| !holds(f, self.program, outcome)) {
                return Ok(false);
            }
            if self.found.outcomes.contains(outcome) && !self.flags_open() {
                return Ok(true);
            }
        }
        let last = level == self.order.len();
        let look = if last || self.leaves[level] > FEW { Look::Whole } else { Look::Glance };
        if !self.judge.possible(&self.choices, look) {
            return Ok(false);
        }
        let fixed = outcome.is_some();
        match self.order.get(level).copied() {
            Some(Decision::Read(i)) => self.decide_read(level, i, fixed),
            Some(Decision::Last(cell)) => self.decide_last(level, cell, fixed),
            None => self.decide_pairs(&outcome),
        }
    }

    /// After a consistent execution: whether its siblings can be left out.
    fn enough(&mut self, fixed: bool) -> bool {
        fixed && !self.flags_open()
    }

    /// Whether a flag that has not been raised could be raised by some completion.
    fn flags_open(&mut self) -> bool {
        self.judge.may_flag(&self.choices, &self.found.flags)
    }

    fn decide_read(&mut self, level: usize, i: usize, fixed: bool) -> Result<bool, Stop> {
        let skeleton = self.skeleton;
        let read = &skeleton.reads[i];
        let event = usize::from(read.event);
        let mut any = false;
        for w in &read.candidates {
            let source = usize::from(*w);
            self.sources[i] = Some(*w);
            self.note_value(i, Some(*w));
            for other in &read.candidates {
                if other != w {
                    self.choices.rf_high.remove(usize::from(*other), event);
                }
            }
            self.choices.rf_low.insert(source, event);
            let before = self.choices.rf_stamp;
            self.choices.rf_stamp = self.next_stamp();
            let found = self.decide(level + 1)?;
            self.choices.rf_low.remove(source, event);
            self.choices.rf_stamp = before;
            for other in &read.candidates {
                self.choices.rf_high.insert(usize::from(*other), event);
            }
            self.sources[i] = None;
            self.note_value(i, None);
            any |= found;
            if found && self.enough(fixed) {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// The value of a read from its source, where nothing else decides it.
    fn note_value(&mut self, i: usize, source: Option<u16>) {
        if self.direct {
            let Access { thread, access, .. } = self.accesses[i];
            self.values[thread][access] = source.and_then(|w| self.constant[usize::from(w)]);
        }
    }

    fn decide_last(&mut self, level: usize, cell: u16, fixed: bool) -> Result<bool, Stop> {
        let writes = &self.skeleton.writes[usize::from(cell)];
        let mut any = false;
        let saved = self.save_coherence();
        for last in &writes[1..] {
            let last = usize::from(*last);
            if self.choices.co_low.successors(last).next().is_some() {
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
        let Choices { co_low, co_high, co_stamp, .. } = &self.choices;
        match self.spare.pop() {
            Some(mut saved) => {
                saved.low.copy_from(co_low);
                saved.high.copy_from(co_high);
                saved.stamp = *co_stamp;
                saved
            }
            None => Coherence { low: co_low.clone(), high: co_high.clone(), stamp: *co_stamp },
        }
    }

    fn restore_coherence(&mut self, saved: &Coherence) {
        self.choices.co_low.copy_from(&saved.low);
        self.choices.co_high.copy_from(&saved.high);
        self.choices.co_stamp = saved.stamp;
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Puts `a` before `b` in coherence, and what follows from that.
    fn order_pair(&mut self, a: usize, b: usize) {
        if self.choices.co_low.contains(a, b) {
            return;
        }
        self.choices.co_stamp = self.next_stamp();
        let Some(cell) = self.skeleton.events[a].cell else { return };
        let Choices { co_low, co_high, .. } = &mut self.choices;
        // Both ends as they were before.
        let writes = self.skeleton.writes[usize::from(cell)].iter().map(|w| usize::from(*w));
        let before: SmallVec<[usize; 8]> =
            writes.filter(|p| *p == a || co_low.contains(*p, a)).collect();
        let after: SmallVec<[usize; 8]> = std::iter::once(b).chain(co_low.successors(b)).collect();
        for p in before {
            for s in &after {
                co_low.insert(p, *s);
                co_high.remove(*s, p);
            }
        }
    }

    fn open_pair(&self) -> Option<(usize, usize)> {
        for writes in &self.skeleton.writes {
            for (i, a) in writes.iter().enumerate().skip(1) {
                for b in &writes[i + 1..] {
                    let (a, b) = (usize::from(*a), usize::from(*b));
                    if self.choices.co_high.contains(a, b) && self.choices.co_high.contains(b, a) {
                        return Some((a, b));
                    }
                }
            }
        }
        None
    }

    fn decide_pairs(&mut self, outcome: &Option<Outcome>) -> Result<bool, Stop> {
        let Some((a, b)) = self.open_pair() else {
            return self.complete(outcome.as_ref());
        };
        let mut any = false;
        let saved = self.save_coherence();
        for (x, y) in [(a, b), (b, a)] {
            self.order_pair(x, y);
            self.count()?;
            let found = if self.judge.possible(&self.choices, Look::Whole) {
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

    /// A complete execution: where it is allowed, records its outcome and flags.
    fn complete(&mut self, outcome: Option<&Outcome>) -> Result<bool, Stop> {
        let Some(flags) = self.judge.judge(&self.choices).map_err(Stop::Model)? else {
            return Ok(false);
        };
        let any = match outcome {
            Some(outcome) => self.record(outcome.clone()),
            None => self.solve_cycle(),
        };
        if any {
            for flag in flags {
                if !self.found.flags.contains(&flag) {
                    self.found.flags.push(flag);
                }
            }
        }
        Ok(any)
    }

    fn record(&mut self, outcome: Outcome) -> bool {
        let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
        let sources = self.sources.iter().flatten().copied();
        self.found.record(outcome, self.skeleton, self.exprs, sources, &lookup)
    }

    /// Reads that depend on each other in a circle: every value that some store or the initial
    /// state mentions is tried for one of them.
    fn solve_cycle(&mut self) -> bool {
        let Some((t, a)) = first_open(&self.values, self.found) else {
            return false;
        };
        let saved = self.values.clone();
        let mut any = false;
        for guess in guesses(self.skeleton, self.exprs) {
            self.values[t][a] = Some(guess);
            let ok = self.propagate_from_guess() && self.agrees();
            if ok {
                match self.outcome() {
                    Some(o) if self.filter.is_none_or(|f| holds(f, self.program, &o)) => {
                        any |= self.record(o);
                    }
                    Some(_) => {}
                    None => any |= self.solve_cycle(),
                }
            }
            self.values.clone_from(&saved);
        }
        any
    }

    /// Values of reads that follow from what is decided, and whether no constraint is broken.
    fn propagate(&mut self) -> bool {
        if self.direct {
            return self.constraints_hold();
        }
        for vs in &mut self.values {
            vs.fill(None);
        }
        self.propagate_from_guess()
    }

    fn propagate_from_guess(&mut self) -> bool {
        let skeleton = self.skeleton;
        loop {
            // Values found, and ones that others in turn may give.
            let (mut changed, mut waiting) = (false, false);
            for k in 0..self.accesses.len() {
                let Access { first, end, thread, access } = self.accesses[k];
                let open = self.values[thread][access].is_none();
                if !open || self.sources[first..end].iter().any(Option::is_none) {
                    continue;
                }
                match self.read_value(&skeleton.reads[first..end], first) {
                    Some(v) => {
                        self.values[thread][access] = Some(v);
                        changed = true;
                    }
                    None if self.torn(first, end) => return false,
                    None => waiting = true,
                }
            }
            if !(changed && waiting) {
                break;
            }
        }
        self.constraints_hold()
    }

    /// Whether the values so far break no condition of a path.
    fn constraints_hold(&self) -> bool {
        let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
        for path in &self.skeleton.paths {
            for (expr, want) in &path.constraints {
                if let Some(v) = self.exprs.eval(*expr, &lookup)
                    && truth(v) != *want
                {
                    return false;
                }
            }
        }
        true
    }

    /// Whether the pieces of an access, all known, are of different addresses: they have no value
    /// together, whatever the path takes it for.
    fn torn(&self, first: usize, end: usize) -> bool {
        let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
        let eval = |e| self.exprs.eval(e, &lookup);
        let settled = |s: &Option<u16>| s.is_some_and(|write| self.skeleton.settled(write, eval));
        end - first > 1
            && self.sources[first..end].iter().all(settled)
            && self.read_value(&self.skeleton.reads[first..end], first).is_none()
    }

    /// The value of one access from the sources of its cells.
    fn read_value(&self, reads: &[CellRead], first: usize) -> Option<Val> {
        if reads.len() > 1 {
            let sources = &self.sources[first..first + reads.len()];
            if sources.iter().any(Option::is_none) {
                return None;
            }
            let pieces = sources.iter().zip(reads);
            let pieces = pieces.filter_map(|(s, r)| Some(((*s)?, i64::from(r.shift))));
            let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
            let address = self.skeleton.address(pieces, |e| self.exprs.eval(e, &lookup));
            if address.is_some() {
                return address;
            }
        }
        let mut sum = 0u128;
        for (k, read) in reads.iter().enumerate() {
            let source = self.sources[first + k]?;
            match self.written(usize::from(source))? {
                Val::Int(v) => sum |= v << read.shift,
                other if reads.len() == 1 => return Some(other),
                _ => return None,
            }
        }
        Some(Val::Int(sum))
    }

    fn written(&self, event: usize) -> Option<Val> {
        self.constant[event].or_else(|| {
            let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
            self.written_now(event, &lookup)
        })
    }

    fn written_now(&self, event: usize, lookup: &dyn Fn(Var) -> Option<Val>) -> Option<Val> {
        match self.skeleton.events[event].value {
            Source::None => None,
            Source::Init(v) => Some(v),
            Source::Part { value, shift, bits, whole } => match self.exprs.eval(value, lookup)? {
                Val::Int(v) => Some(Val::Int(v >> shift & mask(bits))),
                other if whole => Some(other),
                _ => None,
            },
        }
    }

    /// Whether every read has the value that its sources write. Pieces of different addresses have
    /// none together.
    fn agrees(&self) -> bool {
        self.accesses.iter().all(|a| {
            let known = self.values[a.thread][a.access];
            let reads = &self.skeleton.reads[a.first..a.end];
            known.is_none()
                || match self.read_value(reads, a.first) {
                    Some(v) => Some(v) == known,
                    None => !self.torn(a.first, a.end),
                }
        })
    }

    /// The final values, where all are known.
    fn outcome(&self) -> Option<Outcome> {
        let lookup = |v: Var| self.values[usize::from(v.thread)][usize::from(v.access)];
        let mut out = Outcome::new();
        for (o, shown) in self.observed.iter().zip(&self.program.observed) {
            let value = match o {
                Observed::Register(e) => match self.exprs.eval(*e, &lookup)? {
                    Val::Int(v) => Val::Int(v & mask(shown.bits)),
                    other => other,
                },
                Observed::Memory { cells, initial } => {
                    self.final_memory(cells, *initial, shown.bits)?
                }
            };
            out.push(value);
        }
        Some(out)
    }

    fn final_memory(&self, cells: &[(u16, i32)], initial: Val, bits: u8) -> Option<Val> {
        let mut sum = match initial {
            Val::Int(v) => v,
            other if cells.is_empty() => return Some(other),
            _ => 0,
        };
        for (cell, shift) in cells {
            let writes = &self.skeleton.writes[usize::from(*cell)];
            let last = writes
                .iter()
                .find(|w| self.choices.co_high.row(usize::from(**w)).iter().all(|x| *x == 0))?;
            match self.written(usize::from(*last))? {
                Val::Int(v) => {
                    let place = self.cells.places[usize::from(*cell)];
                    sum = super::skeleton::lay(sum, v, place.size.saturating_mul(8), *shift);
                }
                other => return Some(other),
            }
        }
        Some(Val::Int(sum & mask(bits)))
    }
}

fn accesses(reads: &[CellRead]) -> Vec<Access> {
    let mut all: Vec<Access> = Vec::with_capacity(reads.len());
    for (i, read) in reads.iter().enumerate() {
        match all.last_mut() {
            Some(last) if reads[last.first].var == read.var => last.end = i + 1,
            _ => all.push(Access {
                first: i,
                end: i + 1,
                thread: usize::from(read.var.thread),
                access: usize::from(read.var.access),
            }),
        }
    }
    all
}

/// Whether some write that is read, or some condition of a path, has no value though all that it is
/// made of is known: arithmetic on addresses that means nothing here.
fn is_stuck(
    skeleton: &Skeleton,
    exprs: &Exprs,
    mut sources: impl Iterator<Item = u16>,
    lookup: &dyn Fn(Var) -> Option<Val>,
) -> bool {
    let stuck = |e| {
        let mut known = exprs.eval(e, lookup).is_none();
        exprs.each_var(e, &mut |v| known = known && lookup(v).is_some());
        known
    };
    let stored = |w: u16| match skeleton.events[usize::from(w)].value {
        Source::Part { value, .. } => stuck(value),
        Source::None | Source::Init(_) => false,
    };
    sources.any(stored)
        || skeleton.paths.iter().flat_map(|p| &p.constraints).any(|(e, _)| stuck(*e))
}

/// The first read whose value is open; without one, values that are open for another reason
/// are noted as trouble.
pub(super) fn first_open(values: &[Vec<Option<Val>>], found: &mut Found) -> Option<(usize, usize)> {
    let open = values
        .iter()
        .enumerate()
        .find_map(|(t, vs)| vs.iter().position(Option::is_none).map(|a| (t, a)));
    if open.is_none() {
        found.stuck();
    }
    open
}

/// Every value that the initial state or a store of a constant mentions, and 0.
pub(super) fn guesses(skeleton: &Skeleton, exprs: &Exprs) -> Vec<Val> {
    let mut domain: Vec<Val> = vec![Val::ZERO];
    for e in &skeleton.events {
        let v = match e.value {
            Source::Init(v) => Some(v),
            Source::Part { value, .. } => exprs.as_const(value),
            Source::None => None,
        };
        if let Some(v) = v
            && !domain.contains(&v)
        {
            domain.push(v);
        }
    }
    domain
}

/// Whether a proposition holds of an outcome.
pub fn holds(cond: &Cond, program: &Program, outcome: &Outcome) -> bool {
    use super::program::Rhs;
    use crate::litmus::CmpOp;
    match cond {
        Cond::Const(b) => *b,
        Cond::Not(c) => !holds(c, program, outcome),
        Cond::And(cs) => cs.iter().all(|c| holds(c, program, outcome)),
        Cond::Or(cs) => cs.iter().any(|c| holds(c, program, outcome)),
        Cond::Cmp(i, op, rhs) => {
            let bits = program.observed[*i].bits;
            let (other, other_bits) = match rhs {
                Rhs::Val(v) => (*v, bits),
                Rhs::Observable(j) => (outcome[*j], program.observed[*j].bits),
            };
            match (outcome[*i], other) {
                (Val::Int(a), Val::Int(b)) => {
                    use super::expr::sign_extend;
                    let signed = program.observed[*i].signed;
                    let (x, y) = if signed {
                        (sign_extend(a, bits), sign_extend(b & mask(other_bits), other_bits))
                    } else {
                        ((a & mask(bits)) as i128, (b & mask(other_bits)) as i128)
                    };
                    match op {
                        CmpOp::Eq => x == y,
                        CmpOp::Ne => x != y,
                        CmpOp::Lt => x < y,
                        CmpOp::Le => x <= y,
                        CmpOp::Gt => x > y,
                        CmpOp::Ge => x >= y,
                    }
                }
                (a, b) => match op {
                    CmpOp::Eq => a == b,
                    CmpOp::Ne => a != b,
                    _ => false,
                },
            }
        }
    }
}
