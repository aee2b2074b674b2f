//! Goes through every candidate execution of a skeleton, one by one: the reference for the other
//! engines.
//!
//! It prunes nothing. With the search it shares only the skeleton, the judge, and the code that
//! computes what one write stores.

use std::time::Instant;

use super::eval::Choices;
use super::expr::{Exprs, Var};
use super::program::{ObservedPlace, Program};
use super::results::late;
use super::results::{EarlyEnd, Outcome, Results, holds};
use super::search::Judge;
use super::skeleton::{Cells, Skeleton, Source, initial_value, lay};
use super::valuation::{is_stuck, written};
use litmake_base::rel::Rel;
use litmake_ops::eval::truth;
use litmake_ops::{Val, mask};

/// The values of reads, by thread and access.
pub type Values = Vec<Vec<Option<Val>>>;

pub struct Exhaustive<'s> {
    pub program: &'s Program,
    pub cells: &'s Cells,
    pub exprs: &'s Exprs,
    pub skeleton: &'s Skeleton<'s>,
    pub deadline: Option<Instant>,
}

impl Exhaustive<'_> {
    pub fn run(&self, judge: &mut dyn Judge, results: &mut Results) -> Result<(), EarlyEnd> {
        if !judge.bind(self.skeleton, &Choices::start(self.skeleton)).map_err(EarlyEnd::Model)? {
            return Ok(());
        }
        let reads = &self.skeleton.reads;
        if reads.iter().any(|r| r.candidates.is_empty()) {
            return Ok(());
        }
        let mut picks = vec![0usize; reads.len()];
        loop {
            if late(self.deadline) {
                return Err(EarlyEnd::TimedOut);
            }
            let sources: Vec<u16> =
                reads.iter().zip(&picks).map(|(r, p)| r.candidates[*p]).collect();
            if let Some(values) = self.solve(&sources) {
                self.orders(&sources, &values, judge, results)?;
            }
            if !advance(&mut picks, |i| reads[i].candidates.len()) {
                return Ok(());
            }
        }
    }

    /// Goes through all coherence orders for one reads-from.
    fn orders(
        &self,
        sources: &[u16],
        values: &Values,
        judge: &mut dyn Judge,
        results: &mut Results,
    ) -> Result<(), EarlyEnd> {
        let n = self.skeleton.len();
        let mut rf = Rel::empty(n);
        for (read, w) in self.skeleton.reads.iter().zip(sources) {
            rf.insert(usize::from(*w), usize::from(read.event));
        }
        let mut orders: Vec<Vec<u16>> = self.skeleton.writes.clone();
        for order in &mut orders {
            order[1..].sort_unstable();
        }
        loop {
            results.stats.nodes += 1;
            if late(self.deadline) {
                return Err(EarlyEnd::TimedOut);
            }
            if results.is_full(0) {
                return Err(EarlyEnd::OutOfMemory);
            }
            let mut co = Rel::empty(n);
            for order in &orders {
                for (i, a) in order.iter().enumerate() {
                    for b in &order[i + 1..] {
                        co.insert(usize::from(*a), usize::from(*b));
                    }
                }
            }
            let choices = Choices {
                rf_lower: rf.clone(),
                rf_upper: rf.clone(),
                co_lower: co.clone(),
                co_upper: co,
                rf_stamp: results.stats.nodes,
                co_stamp: results.stats.nodes,
            };
            if let Some(flags) = judge.judge(&choices).map_err(EarlyEnd::Model)? {
                self.record(sources, values, &orders, &flags, results);
            }
            if !orders.iter_mut().any(|o| next_permutation(&mut o[1..])) {
                return Ok(());
            }
        }
    }

    fn record(
        &self,
        sources: &[u16],
        values: &Values,
        orders: &[Vec<u16>],
        flags: &[usize],
        results: &mut Results,
    ) {
        let Some(outcome) = self.outcome(values, orders) else {
            return results.note_uncomputable();
        };
        if self.program.filter.as_ref().is_some_and(|f| !holds(f, self.program, &outcome)) {
            return;
        }
        let lookup = |v: Var| values[place(v).0][place(v).1];
        let sources = sources.iter().copied();
        if is_stuck(self.exprs, self.skeleton, sources, &lookup) {
            return results.note_uncomputable();
        }
        results.record(outcome);
        for flag in flags {
            if !results.flags.contains(flag) {
                results.flags.push(*flag);
            }
        }
    }

    /// The values of reads that follow from the sources, if the paths agree with them. Reads that
    /// depend on each other in a circle have none.
    pub fn solve(&self, sources: &[u16]) -> Option<Values> {
        let values = self.skeleton.paths.iter();
        let mut values: Values =
            values.map(|p| vec![None; p.events.iter().filter(|e| e.reads()).count()]).collect();
        self.spread(sources, &mut values);
        (self.consistent(sources, &values) && !self.circular(sources, &values)).then_some(values)
    }

    fn circular(&self, sources: &[u16], values: &Values) -> bool {
        let open = |v: &Var| values[place(*v).0][place(*v).1].is_none();
        let pairs = self.skeleton.reads.iter().zip(sources);
        // The open reads that each open read depends on.
        let mut waits: Vec<(Var, Vec<Var>)> = Vec::new();
        for (read, w) in pairs.filter(|(r, _)| open(&r.var)) {
            let mut on = Vec::new();
            if let Source::Part { value, .. } = self.skeleton.events[usize::from(*w)].value {
                self.exprs.each_var(value, &mut |v| on.push(v));
            }
            on.retain(open);
            waits.push((read.var, on));
        }
        // A read is in a circle if it can be reached from itself.
        waits.iter().any(|(start, on)| {
            let mut seen = on.clone();
            let mut next = 0;
            while let Some(v) = seen.get(next).copied() {
                next += 1;
                for (_, more) in waits.iter().filter(|(of, _)| *of == v) {
                    seen.extend(
                        more.iter().filter(|m| !seen.contains(m)).copied().collect::<Vec<_>>(),
                    );
                }
            }
            seen.contains(start)
        })
    }

    fn spread(&self, sources: &[u16], values: &mut Values) {
        loop {
            let mut changed = false;
            for read in &self.skeleton.reads {
                let (t, a) = place(read.var);
                if values[t][a].is_none()
                    && let Some(v) = self.read_value(read.var, sources, values)
                {
                    values[t][a] = Some(v);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether the known values agree with the sources and the paths.
    fn consistent(&self, sources: &[u16], values: &Values) -> bool {
        let lookup = |v: Var| values[place(v).0][place(v).1];
        let constraints = self.skeleton.paths.iter().flat_map(|p| &p.constraints);
        let mut broken = constraints.filter(|(expr, want)| {
            self.exprs.eval(*expr, &lookup).is_some_and(|v| truth(v) != *want)
        });
        broken.next().is_none()
            && self.skeleton.reads.iter().all(|r| {
                match (lookup(r.var), self.read_value(r.var, sources, values)) {
                    (Some(a), Some(b)) => a == b,
                    (Some(_), None) => !self.torn(r.var, sources, values),
                    _ => true,
                }
            })
    }

    /// Whether an access is torn: what its sources store is known, and is parts of different addresses.
    fn torn(&self, var: Var, sources: &[u16], values: &Values) -> bool {
        let lookup = |v: Var| values[place(v).0][place(v).1];
        let parts = self.skeleton.reads.iter().zip(sources).filter(|(r, _)| r.var == var);
        let parts: Vec<u16> = parts.map(|(_, w)| *w).collect();
        let settled = |w: &u16| self.skeleton.settled(*w, |e| self.exprs.eval(e, &lookup));
        parts.len() > 1 && parts.iter().all(settled)
    }

    /// The value that the sources give to an access, from all its cells.
    fn read_value(&self, var: Var, sources: &[u16], values: &Values) -> Option<Val> {
        let parts = self.skeleton.reads.iter().zip(sources).filter(|(r, _)| r.var == var);
        let parts: Vec<_> = parts.collect();
        if parts.len() > 1 {
            let lookup = |v: Var| values[place(v).0][place(v).1];
            let pieces = parts.iter().map(|(r, w)| (**w, i64::from(r.shift)));
            let address = self.skeleton.address(pieces, |e| self.exprs.eval(e, &lookup));
            if address.is_some() {
                return address;
            }
        }
        let mut sum = 0;
        for (read, source) in &parts {
            match self.written(**source, values)? {
                Val::Int(v) => sum |= v << read.shift,
                other if parts.len() == 1 => return Some(other),
                _ => return None,
            }
        }
        Some(Val::Int(sum))
    }

    pub fn written(&self, event: u16, values: &Values) -> Option<Val> {
        let lookup = |v: Var| values[place(v).0][place(v).1];
        written(self.exprs, self.skeleton, usize::from(event), &lookup)
    }

    pub fn outcome(&self, values: &Values, orders: &[Vec<u16>]) -> Option<Outcome> {
        let lookup = |v: Var| values[place(v).0][place(v).1];
        let mut out = Outcome::new();
        for (i, o) in self.program.observed.iter().enumerate() {
            let value = match o.place {
                ObservedPlace::Reg { thread, .. } => {
                    let finals = &self.skeleton.paths[usize::from(thread)].finals;
                    let expr = finals.iter().find(|(k, _)| *k == i).map_or(0, |(_, e)| *e);
                    self.exprs.eval(expr, &lookup)?
                }
                ObservedPlace::Mem { loc, off, size } => {
                    let location = &self.program.locations[usize::from(loc)];
                    let mut value = initial_value(location, off, size);
                    let cells = Skeleton::observed_cells(self.cells, o.place);
                    if cells.len() > 1 {
                        let last = |cell: u16| orders[usize::from(cell)].last().copied();
                        let pieces = cells.iter().map(|(c, at)| Some((last(*c)?, i64::from(*at))));
                        let pieces: Vec<(u16, i64)> = pieces.collect::<Option<_>>()?;
                        let eval = |e| self.exprs.eval(e, &lookup);
                        if let Some(address) = self.skeleton.address(pieces.into_iter(), eval) {
                            out.push(address);
                            continue;
                        }
                    }
                    for (cell, shift) in cells {
                        let last = orders[usize::from(cell)].last()?;
                        let part = self.written(*last, values)?;
                        let size = self.cells.places[usize::from(cell)].size;
                        value = match (value, part) {
                            (_, Val::Int(p)) => {
                                let rest = if let Val::Int(v) = value { v } else { 0 };
                                Val::Int(lay(rest, p, size.saturating_mul(8), shift))
                            }
                            (_, other) => other,
                        };
                    }
                    value
                }
            };
            out.push(match value {
                Val::Int(v) => Val::Int(v & mask(o.bits)),
                other => other,
            });
        }
        Some(out)
    }
}

fn place(v: Var) -> (usize, usize) {
    (usize::from(v.thread), usize::from(v.access))
}

/// Advances to the next combination of picks; false after the last one.
pub fn advance(picks: &mut [usize], of: impl Fn(usize) -> usize) -> bool {
    for (i, p) in picks.iter_mut().enumerate() {
        *p += 1;
        if *p < of(i) {
            return true;
        }
        *p = 0;
    }
    false
}

/// Advances to the next permutation in lexical order; after the last one to the first, with false.
fn next_permutation(items: &mut [u16]) -> bool {
    let Some(i) = items.windows(2).rposition(|w| w[0] < w[1]) else {
        items.reverse();
        return false;
    };
    let j = items.iter().rposition(|x| *x > items[i]).unwrap_or(i + 1);
    items.swap(i, j);
    items[i + 1..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::next_permutation;

    #[test]
    fn permutations_come_once_each_and_start_over() {
        let mut items = [1, 2, 3];
        let mut seen = vec![items];
        while next_permutation(&mut items) {
            seen.push(items);
        }
        assert_eq!(seen.len(), 6);
        assert_eq!(items, [1, 2, 3]);
        assert!(!next_permutation(&mut []));
    }
}
