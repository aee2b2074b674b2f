//! The values that some path writes to each place from which an address is computed: by them the reference finds
//! its addresses. It goes over whole paths, and knows neither what the other engines assume of addresses nor how they
//! find them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::expr::Exprs;
use crate::path::{Path, PathEvent};
use crate::program::Program;
use crate::skeleton::initial_value;
use litmake_ops::Val;

/// A location, the first byte, and the size.
type Range = (u16, u32, u8);

/// A place has at most so many values, and so many combinations are computed.
const MOST: usize = 4096;

/// The values of the places that were asked for.
#[derive(Default)]
pub struct Pools {
    values: RefCell<BTreeMap<Range, Vec<Val>>>,
}

/// The reference has an end: some place has too many values, or parts of addresses.
#[derive(Clone, Debug)]
pub struct Beyond(pub String);

impl Pools {
    /// The values known so far; the initial one for a place that was not asked for before.
    pub fn at(&self, program: &Program, range: Range) -> Vec<Val> {
        let (loc, off, size) = range;
        let initial = || initial_value(&program.locations[usize::from(loc)], off, size);
        self.values.borrow_mut().entry(range).or_insert_with(|| vec![initial()]).clone()
    }

    /// Computes the values anew from all paths; whether they are others than before. A value is computed by
    /// at most as many writes as an execution has, one after the other.
    pub fn renew(
        &self,
        program: &Program,
        exprs: &Exprs,
        paths: &[Vec<Path>],
    ) -> Result<bool, Beyond> {
        if self.values.borrow().is_empty() {
            return Ok(false);
        }
        let before = self.values.borrow().clone();
        let writes = |p: &Path| p.events.iter().filter(|e| e.writes()).count();
        let most: usize = paths.iter().map(|ps| ps.iter().map(writes).max().unwrap_or(0)).sum();
        self.values.borrow_mut().retain(|_, values| {
            values.truncate(1);
            true
        });
        for _ in 0..=most {
            let known: Vec<Range> = self.values.borrow().keys().copied().collect();
            let mut changed = false;
            for range in known {
                let now = self.written(program, exprs, paths, range)?;
                let old = self.values.borrow_mut().insert(range, now.clone());
                changed |= old.as_ref() != Some(&now);
            }
            if !changed {
                break;
            }
        }
        Ok(*self.values.borrow() != before)
    }

    /// The values that a read of a range can return: each is stored by one write, or made of bytes of several.
    fn written(
        &self,
        program: &Program,
        exprs: &Exprs,
        paths: &[Vec<Path>],
        range: Range,
    ) -> Result<Vec<Val>, Beyond> {
        let (loc, off, size) = range;
        let location = &program.locations[usize::from(loc)];
        let mut whole = vec![initial_value(location, off, size)];
        let mut bytes: Vec<Vec<u8>> = Vec::new();
        let mut mixed = false;
        for byte in off..off + u32::from(size) {
            bytes.push(vec![byte_of(initial_value(location, byte, 1), 0)]);
        }
        for path in paths.iter().flatten() {
            for event in path.events.iter().filter(|e| e.writes() && meets(e, range)) {
                for val in self.stored(program, exprs, path, event)? {
                    if (event.off, event.size) == (off, size) {
                        add(&mut whole, val);
                    } else {
                        mixed = true;
                        if !matches!(val, Val::Int(_)) {
                            return Err(beyond(program, loc, "parts of addresses"));
                        }
                    }
                    for (byte, values) in (off..).zip(&mut bytes) {
                        let at = byte.wrapping_sub(event.off);
                        if at < u32::from(event.size) {
                            add(values, byte_of(val, at));
                        }
                    }
                }
            }
        }
        if mixed {
            if !matches!(whole[0], Val::Int(_)) {
                return Err(beyond(program, loc, "parts of addresses"));
            }
            let all = bytes.iter().fold(1usize, |n, values| n.saturating_mul(values.len()));
            if all > MOST {
                return Err(beyond(program, loc, "too many values"));
            }
            for k in 0..all {
                let (mut rest, mut value) = (k, 0u128);
                for (i, values) in bytes.iter().enumerate() {
                    value |= u128::from(values[rest % values.len()]) << (8 * i);
                    rest /= values.len();
                }
                add(&mut whole, Val::Int(value));
            }
        }
        if whole.len() > MOST {
            return Err(beyond(program, loc, "too many values"));
        }
        Ok(whole)
    }

    /// The values that a write of a path can store.
    fn stored(
        &self,
        program: &Program,
        exprs: &Exprs,
        path: &Path,
        event: &PathEvent,
    ) -> Result<Vec<Val>, Beyond> {
        let vars = exprs.vars(event.value);
        let mut lists = Vec::new();
        for var in &vars {
            let read = path.events.iter().find(|e| e.reads() && e.access == var.access);
            let Some(read) = read else { return Ok(Vec::new()) };
            lists.push(self.at(program, (read.loc, read.off, read.size)));
        }
        let all = lists.iter().fold(1usize, |n, list| n.saturating_mul(list.len()));
        if all > MOST {
            return Err(beyond(program, event.loc, "too many values"));
        }
        let mut out = Vec::new();
        for k in 0..all {
            let mut rest = k;
            let mut picked = Vec::with_capacity(lists.len());
            for list in &lists {
                picked.push(list[rest % list.len()]);
                rest /= list.len();
            }
            let value = |v| vars.iter().position(|w| *w == v).map(|i| picked[i]);
            if let Some(val) = exprs.eval(event.value, &value) {
                add(&mut out, val);
            }
        }
        Ok(out)
    }
}

fn meets(event: &PathEvent, (loc, off, size): Range) -> bool {
    event.loc == loc && event.off < off + u32::from(size) && off < event.off + u32::from(event.size)
}

/// A byte of a number. Bytes of addresses are not asked for.
fn byte_of(val: Val, at: u32) -> u8 {
    match val {
        Val::Int(v) => (v >> (8 * at)) as u8,
        Val::Ptr { .. } | Val::Code(_) => 0,
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

fn beyond(program: &Program, loc: u16, why: &str) -> Beyond {
    let name = &program.locations[usize::from(loc)].name;
    Beyond(format!(
        "`{name}` has {why} from which an address is computed, for the exhaustive engine"
    ))
}
