//! Computes what reads return and what places end with, from the decided sources of reads, the
//! last writes and, in chains that commute, the order of the writes. It does not know how these are
//! decided, nor any model.

use smallvec::SmallVec;

use super::chain::Sum;
use super::expr::{ExprId, Exprs, Var};
use super::program::{ObservedPlace, Program};
use super::results::{Outcome, Results};
use super::skeleton::{CellRead, Cells, Skeleton, Source, initial_value, lay};
use litmake_base::rel::Rel;
use litmake_ops::eval::truth;
use litmake_ops::{Val, mask};

/// The cell reads of one access, as a range, and the variable of its value.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub first: usize,
    pub end: usize,
    thread: usize,
    access: usize,
}

/// A part of the outcome.
pub(super) enum Observed {
    Register(ExprId),
    Memory { cells: Vec<(u16, i32)>, initial: Val },
}

pub(super) struct Valuation<'s> {
    program: &'s Program,
    cells: &'s Cells,
    exprs: &'s Exprs,
    skeleton: &'s Skeleton<'s>,
    /// The source of each cell read, if decided.
    sources: Vec<Option<u16>>,
    /// By thread and access, the value of the access, if it follows from the sources.
    values: Vec<Vec<Option<Val>>>,
    /// The accesses that read.
    pub accesses: Vec<Access>,
    pub observed: Vec<Observed>,
    /// The value that each event writes, if it depends on no read.
    constant: Vec<Option<Val>>,
    /// Each access is one cell read of such a value, so its value follows from the source alone.
    direct: bool,
    /// For each access that is the read of a link in a chain that commutes, the indices of the chain and of the link.
    links: Vec<Option<(usize, usize)>>,
}

impl<'s> Valuation<'s> {
    pub fn new(
        program: &'s Program,
        cells: &'s Cells,
        exprs: &'s Exprs,
        skeleton: &'s Skeleton<'s>,
    ) -> Valuation<'s> {
        let observed = program.observed.iter().enumerate().map(|(i, o)| match o.place {
            ObservedPlace::Reg { thread, .. } => {
                let finals = &skeleton.paths[usize::from(thread)].finals;
                Observed::Register(finals.iter().find(|(k, _)| *k == i).map_or(0, |(_, e)| *e))
            }
            ObservedPlace::Mem { loc, off, size } => Observed::Memory {
                cells: Skeleton::observed_cells(cells, o.place),
                initial: initial_value(&program.locations[usize::from(loc)], off, size),
            },
        });
        let reads = skeleton.paths.iter().map(|p| p.events.iter().filter(|e| e.reads()).count());
        let accesses = accesses(&skeleton.reads);
        let constant: Vec<_> =
            (0..skeleton.len()).map(|e| written(exprs, skeleton, e, &|_| None)).collect();
        let known = |w: &u16| constant[usize::from(*w)].is_some();
        let direct = accesses.len() == skeleton.reads.len()
            && skeleton.reads.iter().all(|r| r.shift == 0 && r.candidates.iter().all(known));
        let mut links = Vec::new();
        if skeleton.chains.iter().any(|c| c.sum.is_some()) {
            let link = |a: &Access| {
                let summed = skeleton.chains.iter().enumerate().filter(|(_, c)| c.sum.is_some());
                let mut at = summed.flat_map(|(c, chain)| {
                    chain.links.iter().enumerate().map(move |(l, link)| (c, l, link.read))
                });
                at.find(|(_, _, read)| *read == a.first).map(|(c, l, _)| (c, l))
            };
            links = accesses.iter().map(link).collect();
        }
        Valuation {
            links,
            observed: observed.collect(),
            values: reads.map(|count| vec![None; count]).collect(),
            sources: vec![None; skeleton.reads.len()],
            program,
            cells,
            exprs,
            skeleton,
            accesses,
            constant,
            direct,
        }
    }

    /// Sets the source of a read, or opens it again.
    #[inline]
    pub fn decide(&mut self, read: usize, source: Option<u16>) {
        self.sources[read] = source;
        if self.direct {
            let Access { thread, access, .. } = self.accesses[read];
            self.values[thread][access] = source.and_then(|w| self.constant[usize::from(w)]);
        }
    }

    pub fn source(&self, read: usize) -> Option<u16> {
        self.sources[read]
    }

    pub fn value(&self, v: Var) -> Option<Val> {
        self.values[usize::from(v.thread)][usize::from(v.access)]
    }

    fn eval(&self, e: ExprId) -> Option<Val> {
        self.exprs.eval(e, &|v| self.value(v))
    }

    /// The link, in a chain that commutes, whose read is this access.
    pub fn link(&self, access: usize) -> Option<(usize, usize)> {
        self.links.get(access).copied().flatten()
    }

    /// The value that the read of a link returns, if coherence says of every other link whether it comes before.
    fn before_link(&self, (chain, link): (usize, usize), co: &Rel) -> Option<Val> {
        let chain = &self.skeleton.chains[chain];
        let write = |l: usize| usize::from(chain.links[l].write);
        let mut before = SmallVec::<[usize; 16]>::new();
        for other in (0..chain.links.len()).filter(|l| *l != link) {
            if co.contains(write(other), write(link)) {
                before.push(other);
            } else if !co.contains(write(link), write(other)) {
                return None;
            }
        }
        Some(Val::Int(chain.sum.as_ref()?.after(before.into_iter())))
    }

    /// Computes the values that follow from the sources and from coherence, as far as both are decided;
    /// false if an access is torn.
    pub fn follow(&mut self, co: &Rel) -> bool {
        if self.direct {
            return true;
        }
        for values in &mut self.values {
            values.fill(None);
        }
        for k in 0..self.links.len() {
            if let Some(link) = self.links[k] {
                let Access { thread, access, .. } = self.accesses[k];
                self.values[thread][access] = self.before_link(link, co);
            }
        }
        loop {
            // Whether a value was found, and whether one waits for another.
            let (mut changed, mut waiting) = (false, false);
            for k in 0..self.accesses.len() {
                let of = self.accesses[k];
                let open = self.values[of.thread][of.access].is_none() && self.link(k).is_none();
                if !open || self.sources[of.first..of.end].iter().any(Option::is_none) {
                    continue;
                }
                match self.read_value(of) {
                    Some(v) => {
                        self.values[of.thread][of.access] = Some(v);
                        changed = true;
                    }
                    None if self.torn(of) => return false,
                    None => waiting = true,
                }
            }
            if !(changed && waiting) {
                return true;
            }
        }
    }

    /// A constraint of a path that the values so far violate.
    pub fn broken_constraint(&self) -> Option<ExprId> {
        for path in &self.skeleton.paths {
            for (expr, want) in &path.constraints {
                if self.eval(*expr).is_some_and(|v| truth(v) != *want) {
                    return Some(*expr);
                }
            }
        }
        None
    }

    /// Whether an access is torn: its pieces are known, and are parts of different addresses, so that
    /// together they have no value.
    pub fn torn(&self, of: Access) -> bool {
        let settled =
            |s: &Option<u16>| s.is_some_and(|write| self.skeleton.settled(write, |e| self.eval(e)));
        of.end - of.first > 1
            && self.sources[of.first..of.end].iter().all(settled)
            && self.read_value(of).is_none()
    }

    /// The value of one access from the sources of its cells.
    fn read_value(&self, of: Access) -> Option<Val> {
        let reads = &self.skeleton.reads[of.first..of.end];
        let sources = &self.sources[of.first..of.end];
        if reads.len() > 1 {
            if sources.iter().any(Option::is_none) {
                return None;
            }
            let pieces = sources.iter().zip(reads);
            let pieces = pieces.filter_map(|(s, r)| Some(((*s)?, i64::from(r.shift))));
            let address = self.skeleton.address(pieces, |e| self.eval(e));
            if address.is_some() {
                return address;
            }
        }
        let mut sum = 0u128;
        for (read, source) in reads.iter().zip(sources) {
            match self.written(usize::from((*source)?))? {
                Val::Int(v) => sum |= v << read.shift,
                other if reads.len() == 1 => return Some(other),
                _ => return None,
            }
        }
        Some(Val::Int(sum))
    }

    pub fn written(&self, event: usize) -> Option<Val> {
        let written = || written(self.exprs, self.skeleton, event, &|v| self.value(v));
        self.constant[event].or_else(written)
    }

    /// The final values, if all are known. `last` gives the last write of a cell.
    pub fn outcome(&self, last: impl Fn(u16) -> Option<u16>) -> Option<Outcome> {
        let mut out = Outcome::new();
        for k in 0..self.observed.len() {
            out.push(self.final_value(k, &last)?);
        }
        Some(out)
    }

    /// The effect of all links on a cell, if the cell is a chain that commutes.
    fn sum(&self, cell: u16) -> Option<&Sum> {
        self.skeleton.chains.iter().find(|c| c.cell == cell)?.sum.as_ref()
    }

    pub fn final_value(&self, k: usize, last: impl Fn(u16) -> Option<u16>) -> Option<Val> {
        let bits = self.program.observed[k].bits;
        let (cells, initial) = match &self.observed[k] {
            Observed::Register(e) => match self.eval(*e)? {
                Val::Int(v) => return Some(Val::Int(v & mask(bits))),
                other => return Some(other),
            },
            Observed::Memory { cells, initial } => (cells, *initial),
        };
        // Chains that commute hold numbers.
        if cells.len() > 1 && cells.iter().all(|(cell, _)| self.sum(*cell).is_none()) {
            let pieces = cells.iter().map(|(cell, at)| Some((last(*cell)?, i64::from(*at))));
            let pieces: SmallVec<[(u16, i64); 4]> = pieces.collect::<Option<_>>()?;
            let address = self.skeleton.address(pieces.into_iter(), |e| self.eval(e));
            if address.is_some() {
                return address;
            }
        }
        let mut sum = match initial {
            Val::Int(v) => v,
            other if cells.is_empty() => return Some(other),
            _ => 0,
        };
        for (cell, shift) in cells {
            let value = match self.sum(*cell) {
                Some(sum) => Val::Int(sum.total()),
                None => self.written(usize::from(last(*cell)?))?,
            };
            match value {
                Val::Int(v) => {
                    let place = self.cells.places[usize::from(*cell)];
                    sum = lay(sum, v, place.size.saturating_mul(8), *shift);
                }
                other => return Some(other),
            }
        }
        Some(Val::Int(sum & mask(bits)))
    }

    /// Adds the outcome of an allowed execution. False if a value of it cannot be computed, so that
    /// it is no execution.
    pub fn record(&self, outcome: Option<Outcome>, results: &mut Results) -> bool {
        let Some(outcome) = outcome else {
            results.note_uncomputable();
            return false;
        };
        let sources = self.sources.iter().flatten().copied();
        if is_stuck(self.exprs, self.skeleton, sources, &|v| self.value(v)) {
            results.note_uncomputable();
            return false;
        }
        results.record(outcome);
        true
    }

    /// The accesses whose sources are decided and whose values depend on each other in a circle, by
    /// index. Nothing gives them a value, so a candidate that has any is no execution, under any
    /// model: a value is what some store computes, and none comes out of thin air.
    pub fn circle(&self) -> SmallVec<[usize; 8]> {
        let open = |k: &usize| {
            let of = self.accesses[*k];
            self.values[of.thread][of.access].is_none()
                && self.sources[of.first..of.end].iter().all(Option::is_some)
        };
        let mut waiting: SmallVec<[usize; 8]> = match self.direct {
            true => SmallVec::new(),
            false => (0..self.accesses.len()).filter(open).collect(),
        };
        // An access that waits for none of the others is open for another reason.
        loop {
            let before = waiting.clone();
            waiting.retain(|k| before.iter().any(|on| self.depends(*k, *on)));
            if waiting.len() == before.len() {
                return waiting;
            }
        }
    }

    /// Whether the value of an access is computed from that of another.
    fn depends(&self, access: usize, on: usize) -> bool {
        let (of, on) = (self.accesses[access], self.skeleton.reads[self.accesses[on].first].var);
        let mut vars = Vec::new();
        self.sources[of.first..of.end].iter().flatten().for_each(|w| self.vars_of(*w, &mut vars));
        vars.contains(&on)
    }

    /// The accesses from whose values the values of these are computed, themselves included.
    pub fn roots(&self, of: &[usize]) -> Vec<usize> {
        let mut all = of.to_vec();
        let mut done = 0;
        while let Some(k) = all.get(done).copied() {
            done += 1;
            let more = (0..self.accesses.len()).filter(|on| self.depends(k, *on));
            let more: Vec<usize> = more.filter(|on| !all.contains(on)).collect();
            all.extend(more);
        }
        all
    }

    /// The cells of the outcome whose last writes matter, each once.
    pub fn shown_cells(&self) -> SmallVec<[u16; 8]> {
        let mut all = SmallVec::new();
        for o in &self.observed {
            let Observed::Memory { cells, .. } = o else { continue };
            for (cell, _) in cells {
                if !all.contains(cell) && self.sum(*cell).is_none() {
                    all.push(*cell);
                }
            }
        }
        all
    }

    /// The variables of the outcome.
    pub fn shown_vars(&self) -> Vec<Var> {
        let mut vars = Vec::new();
        for o in &self.observed {
            if let Observed::Register(e) = o {
                self.exprs.each_var(*e, &mut |v| vars.push(v));
            }
        }
        for cell in self.shown_cells() {
            for w in &self.skeleton.writes[usize::from(cell)] {
                self.vars_of(*w, &mut vars);
            }
        }
        vars
    }

    /// The variables that a write's value is computed from. In a chain that commutes it follows from the
    /// order of the writes.
    fn vars_of(&self, write: u16, vars: &mut Vec<Var>) {
        let event = &self.skeleton.events[usize::from(write)];
        if event.cell.is_some_and(|cell| self.sum(cell).is_some()) {
            return;
        }
        if let Source::Part { value, .. } = event.value {
            self.exprs.each_var(value, &mut |v| vars.push(v));
        }
    }

    /// For each access, whether some of these variables can depend on it.
    pub fn relevant(&self, mut vars: Vec<Var>) -> SmallVec<[bool; 16]> {
        let reads = &self.skeleton.reads;
        let mut relevant = SmallVec::from_elem(false, self.accesses.len());
        while let Some(v) = vars.pop() {
            let Some(k) = self.accesses.iter().position(|a| reads[a.first].var == v) else {
                continue;
            };
            if !std::mem::replace(&mut relevant[k], true) {
                let Access { first, end, .. } = self.accesses[k];
                for w in reads[first..end].iter().flat_map(|r| &r.candidates) {
                    self.vars_of(*w, &mut vars);
                }
            }
        }
        relevant
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

/// The value that an event writes, given the values of reads.
pub(super) fn written(
    exprs: &Exprs,
    skeleton: &Skeleton,
    event: usize,
    lookup: &dyn Fn(Var) -> Option<Val>,
) -> Option<Val> {
    match skeleton.events[event].value {
        Source::None => None,
        Source::Init(v) => Some(v),
        Source::Part { value, shift, bits, whole } => match exprs.eval(value, lookup)? {
            Val::Int(v) => Some(Val::Int(v >> shift & mask(bits))),
            other if whole => Some(other),
            _ => None,
        },
    }
}

/// Whether some write that is read, or some constraint of a path, has no value though all of its
/// operands are known: it is arithmetic on addresses that has no meaning.
pub(super) fn is_stuck(
    exprs: &Exprs,
    skeleton: &Skeleton,
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
    let mut constraints = skeleton.paths.iter().flat_map(|p| &p.constraints);
    sources.any(stored) || constraints.any(|(e, _)| stuck(*e))
}
