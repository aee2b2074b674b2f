//! Drops paths that need a value which no read can return.
//!
//! For each accessed range it collects the values that some path may write, up to a fixed point; this
//! is an over-approximation. A path with a constraint that no combination of these values satisfies
//! is dropped.

use rustc_hash::FxHashMap;

use super::expr::{ExprId, Exprs};
use super::path::{Path, PathEvent};
use super::program::Program;
use litmake_ops::Val;
use litmake_ops::eval::truth;

type Range = (u16, u32, u8);

/// A range with more values than this counts as one that holds anything.
const MOST: usize = 24;
const ROUNDS: usize = 6;

/// Drops the doubts that no combination of values bears out.
pub fn settle(program: &Program, exprs: &Exprs, paths: &mut [Vec<Path>]) {
    if paths.iter().flatten().all(|p| p.doubts.is_empty()) {
        return;
    }
    let domains = Domains::new(program, exprs, paths);
    for (thread, ps) in paths.iter_mut().enumerate() {
        for path in ps {
            let mut doubts = std::mem::take(&mut path.doubts);
            doubts.retain(|d| {
                let values = domains.possible(exprs, thread, path, d.cond);
                values.is_none_or(|vs| vs.iter().any(|v| truth(*v)))
            });
            path.doubts = doubts;
        }
    }
}

/// The values that each accessed range may hold.
pub struct Domains {
    /// `None` stands for anything.
    values: FxHashMap<Range, Option<Vec<Val>>>,
}

pub fn feasible<'p>(
    program: &Program,
    exprs: &Exprs,
    paths: &'p [Vec<Path>],
) -> Vec<Vec<&'p Path>> {
    let all = || paths.iter().flatten();
    if all().all(|p| p.constraints.is_empty()) {
        return paths.iter().map(|ps| ps.iter().collect()).collect();
    }
    let domains = Domains::new(program, exprs, paths);
    paths
        .iter()
        .enumerate()
        .map(|(thread, ps)| {
            ps.iter()
                .filter(|p| {
                    p.constraints.iter().all(|(e, want)| {
                        domains
                            .possible(exprs, thread, p, *e)
                            .is_none_or(|vs| vs.iter().any(|v| truth(*v) == *want))
                    })
                })
                .collect()
        })
        .collect()
}

impl Domains {
    pub fn new(program: &Program, exprs: &Exprs, paths: &[Vec<Path>]) -> Domains {
        let mut d = Domains { values: FxHashMap::default() };
        let accesses = || paths.iter().flatten().flat_map(|p| &p.events).filter(|e| e.is_access());
        for e in accesses() {
            let range = (e.loc, e.off, e.size);
            let location = &program.locations[usize::from(e.loc)];
            let init = super::skeleton::initial_value(location, e.off, e.size);
            d.values.entry(range).or_insert_with(|| Some(vec![init]));
        }
        // Ranges that overlap without being equal mix bytes, so they may hold anything.
        let ranges: Vec<Range> = d.values.keys().copied().collect();
        for a in &ranges {
            for b in &ranges {
                let meet = a.0 == b.0 && a.1 < b.1 + u32::from(b.2) && b.1 < a.1 + u32::from(a.2);
                if a != b && meet {
                    d.values.insert(*a, None);
                }
            }
        }
        for round in 0.. {
            let mut changed = false;
            for (thread, ps) in paths.iter().enumerate() {
                for p in ps {
                    for e in p.events.iter().filter(|e| e.writes()) {
                        let range = (e.loc, e.off, e.size);
                        let Some(Some(known)) = d.values.get(&range) else {
                            continue;
                        };
                        let new = d.possible(exprs, thread, p, e.value).map(|vs| {
                            let mut sum = known.clone();
                            for v in vs {
                                if !sum.contains(&v) {
                                    sum.push(v);
                                }
                            }
                            sum
                        });
                        let new = new.filter(|vs| vs.len() <= MOST && round < ROUNDS);
                        if d.values[&range] != new {
                            d.values.insert(range, new);
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                return d;
            }
        }
        d
    }

    /// The values that a read can return; `None` for anything.
    pub fn at(&self, read: &PathEvent) -> Option<Vec<Val>> {
        self.values.get(&(read.loc, read.off, read.size))?.clone()
    }

    /// The values that an expression can have on a path; `None` for anything.
    pub fn possible(
        &self,
        exprs: &Exprs,
        thread: usize,
        path: &Path,
        e: ExprId,
    ) -> Option<Vec<Val>> {
        if let Some(v) = exprs.as_const(e) {
            return Some(vec![v]);
        }
        let vars = exprs.vars(e);
        if vars.iter().any(|v| usize::from(v.thread) != thread) {
            return None;
        }
        let mut lists = Vec::new();
        let mut product = 1usize;
        for v in &vars {
            let read = path.events.iter().find(|x| x.reads() && x.access == v.access)?;
            let list = self.values.get(&(read.loc, read.off, read.size))?.as_ref()?;
            product = product.saturating_mul(list.len());
            lists.push(list);
        }
        if product > 256 {
            return None;
        }
        let mut out = Vec::new();
        for mut k in 0..product {
            let picked: Vec<Val> = lists
                .iter()
                .map(|l| {
                    let v = l[k % l.len()];
                    k /= l.len();
                    v
                })
                .collect();
            let value = exprs.eval(e, &|v| vars.iter().position(|w| *w == v).map(|i| picked[i]))?;
            if !out.contains(&value) {
                out.push(value);
            }
        }
        Some(out)
    }
}
