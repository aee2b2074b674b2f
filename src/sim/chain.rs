//! Cells that read-modify-writes change, of which the model lets nothing come between a read and its
//! write. Coherence alone then says what they read, and where their operations commute it says no more
//! than who came before whom.
//!
//! A *link* is a write whose value is computed from a read of the same cell in the same thread. Of each
//! link `b` the judge is asked two questions, for every source `w` of its read and every other write `z`
//! of the cell: may `b` come before `w` in coherence, and may `z` come between `w` and `b`? If it forbids
//! all of that whatever else is decided, then in every allowed execution the source of each link is the
//! write just before it. So
//!
//! - no two links have one source, and
//! - if all writes of the cell are links that apply one operation that is associative and commutative (a
//!   sum, or a bitwise operation) to numbers known beforehand, a link reads the initial value with the
//!   numbers of the links before it, in whatever order these come; and the cell ends with all of them.
//!
//! Nothing is assumed of the model: where it answers that something of this may be, the cell is no chain.
//!
//! Not every question has to be put. A model sees the events of threads and not their values, so threads
//! with the same events can change places, and with them what is asked about: questions that differ by this
//! alone have one answer. How executions are searched is not known here.

use rustc_hash::FxHashMap;

use super::eval::Choices;
use super::expr::{Expr, ExprId, Exprs, Var};
use super::path::{Path, PathEvent};
use super::search::{Judge, Look};
use super::skeleton::{Skeleton, Source};
use litmake_ops::{BinOp, UnOp, Val, mask};

/// With fewer links in a cell, going through their orders costs less than asking.
const LEAST: usize = 3;

/// A cell whose links are atomic under the model.
#[derive(Clone, Debug)]
pub struct Chain {
    pub cell: u16,
    pub links: Vec<Link>,
    /// Set if all writes of the cell are links that commute.
    pub sum: Option<Sum>,
}

#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub write: u16,
    /// The read that the value is computed from, among the reads of the skeleton.
    pub read: usize,
}

/// The effect on a cell of links that commute.
#[derive(Clone, Debug)]
pub struct Sum {
    op: BinOp,
    initial: u128,
    bits: u8,
    /// For each link, the number that it applies.
    amounts: Vec<u128>,
}

impl Sum {
    /// The value of the cell after some of the links.
    pub fn after(&self, links: impl Iterator<Item = usize>) -> u128 {
        let apply = |value, link: usize| apply(self.op, value, self.amounts[link]);
        links.fold(self.initial, apply) & mask(self.bits)
    }

    /// The final value of the cell.
    pub fn total(&self) -> u128 {
        self.after(0..self.amounts.len())
    }
}

fn apply(op: BinOp, a: u128, b: u128) -> u128 {
    match op {
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        _ => a.wrapping_add(b),
    }
}

/// The chains of a skeleton under the model of a judge. No order of writes may be taken for granted yet.
pub fn chains(
    skeleton: &Skeleton,
    exprs: &Exprs,
    judge: &mut dyn Judge,
) -> Result<Vec<Chain>, String> {
    let mut found: Vec<Chain> =
        (0..skeleton.writes.len()).filter_map(|cell| candidate(skeleton, exprs, cell)).collect();
    if found.is_empty() {
        return Ok(found);
    }
    let start = Choices::start(skeleton);
    // Then there is nothing to search.
    if !judge.bind(skeleton, &start)? {
        return Ok(Vec::new());
    }
    let classes = (0..skeleton.paths.len()).map(|t| class(skeleton, t)).collect();
    let mut proof =
        Proof { skeleton, judge, classes, start, stamp: 0, known: FxHashMap::default() };
    for chain in &mut found {
        let all = chain.links.len();
        chain.links.retain(|link| proof.is_atomic(link));
        if chain.links.len() < all {
            chain.sum = None;
        }
    }
    found.retain(|chain| chain.links.len() >= LEAST);
    Ok(found)
}

/// The links of a cell, if they are enough.
fn candidate(skeleton: &Skeleton, exprs: &Exprs, cell: usize) -> Option<Chain> {
    let (first, writes) = skeleton.writes[cell].split_first()?;
    if writes.len() < LEAST {
        return None;
    }
    let mut links = Vec::new();
    let mut steps = Vec::new();
    for w in writes {
        let event = &skeleton.events[usize::from(*w)];
        let Source::Part { value, shift: 0, bits, whole: true } = event.value else { continue };
        let mut vars = Vec::new();
        exprs.each_var(value, &mut |v| vars.push(v));
        let own = |v: &Var| {
            let all = || skeleton.reads.iter().enumerate().filter(|(_, r)| r.var == *v);
            let (i, read) = all().next()?;
            let fits = usize::from(read.cell) == cell && event.thread == Some(v.thread);
            // An access of several cells has no value by one of them.
            (fits && all().count() == 1).then_some(i)
        };
        let reads: Vec<usize> = vars.iter().filter_map(own).collect();
        let [read] = reads[..] else { continue };
        if links.iter().any(|l: &Link| l.read == read) {
            return None;
        }
        links.push(Link { write: *w, read });
        steps.push(step(exprs, value, skeleton.reads[read].var, bits));
    }
    if links.len() < LEAST {
        return None;
    }
    let initial = match skeleton.events[usize::from(*first)].value {
        Source::Init(Val::Int(v)) if links.len() == writes.len() => Some(v),
        _ => None,
    };
    let sum = initial.and_then(|initial| sum(initial, &steps));
    Some(Chain { cell: cell as u16, links, sum })
}

/// An operation with a number, modulo a power of two.
#[derive(Clone, Copy)]
struct Step {
    op: BinOp,
    amount: u128,
    bits: u8,
}

fn sum(initial: u128, steps: &[Option<Step>]) -> Option<Sum> {
    let steps: Vec<Step> = steps.iter().copied().collect::<Option<_>>()?;
    let Step { op, bits, .. } = *steps.first()?;
    let alike = steps.iter().all(|s| s.op == op && s.bits == bits);
    alike.then(|| Sum { op, initial, bits, amounts: steps.iter().map(|s| s.amount).collect() })
}

/// The operation with a number that makes the low `bits` of an expression from those of a variable, if there is one.
fn step(exprs: &Exprs, e: ExprId, var: Var, bits: u8) -> Option<Step> {
    let number = |e| match exprs.as_const(e) {
        Some(Val::Int(v)) => Some(v & mask(bits)),
        _ => None,
    };
    match exprs.get(e) {
        // The low bits of these depend on no higher bit.
        Expr::Bin(op @ (BinOp::Add | BinOp::And | BinOp::Or | BinOp::Xor), a, b, w)
            if w >= bits =>
        {
            let (inner, amount) = match (number(a), number(b)) {
                (None, Some(n)) => (a, n),
                (Some(n), None) => (b, n),
                _ => return None,
            };
            // A mask that keeps every bit.
            if op == BinOp::And && amount == mask(bits) {
                return step(exprs, inner, var, bits);
            }
            same(exprs, inner, var, bits).then_some(Step { op, amount, bits })
        }
        Expr::Bin(BinOp::Sub, a, b, w) if w >= bits => {
            let amount = number(b)?.wrapping_neg() & mask(bits);
            same(exprs, a, var, bits).then_some(Step { op: BinOp::Add, amount, bits })
        }
        Expr::Un(UnOp::ZeroExt { from } | UnOp::SignExt { from }, inner, w)
            if from.min(w) >= bits =>
        {
            step(exprs, inner, var, bits)
        }
        _ => None,
    }
}

/// Whether the low `bits` of an expression are those of a variable.
fn same(exprs: &Exprs, e: ExprId, var: Var, bits: u8) -> bool {
    match exprs.get(e) {
        Expr::Var(v, _) => v == var,
        Expr::Un(UnOp::ZeroExt { from } | UnOp::SignExt { from }, inner, w) => {
            from.min(w) >= bits && same(exprs, inner, var, bits)
        }
        _ => false,
    }
}

/// The place of an event: the class of its thread, the number that the thread has among those of the question, and the
/// event's number in the thread. An initial write has no thread, and stands for itself.
type Standing = (usize, usize, usize);

struct Proof<'a, 's> {
    skeleton: &'a Skeleton<'s>,
    judge: &'a mut dyn Judge,
    /// For each thread, the first one with the same events.
    classes: Vec<usize>,
    start: Choices,
    stamp: u64,
    /// The answers of the judge, by the events of the question.
    known: FxHashMap<Vec<Standing>, bool>,
}

impl Proof<'_, '_> {
    /// Whether nothing comes between the read of a link and its write.
    fn is_atomic(&mut self, link: &Link) -> bool {
        let skeleton = self.skeleton;
        let read = &skeleton.reads[link.read];
        let writes = &skeleton.writes[usize::from(read.cell)];
        read.candidates.iter().all(|source| {
            let mut others = writes.iter().filter(|z| *z != source && **z != link.write);
            self.forbids(link, *source, None)
                && (*source == link.write || others.all(|z| self.forbids(link, *source, Some(*z))))
        })
    }

    /// Whether no allowed execution has this source of a link and, of the writes of the cell, this one
    /// between the two, or the link before its source.
    fn forbids(&mut self, link: &Link, source: u16, between: Option<u16>) -> bool {
        let skeleton = self.skeleton;
        let init = skeleton.writes[usize::from(skeleton.reads[link.read].cell)][0];
        // Initial writes come first.
        if between == Some(init) || between.is_none() && source == init {
            return true;
        }
        let mut events = vec![source, link.write, skeleton.reads[link.read].event];
        events.extend(between);
        let key = self.standings(&events);
        if let Some(answer) = self.known.get(&key) {
            return *answer;
        }
        let mut choices = self.start.clone();
        self.stamp += 1;
        (choices.rf_stamp, choices.co_stamp) = (self.stamp, self.stamp);
        let read = &skeleton.reads[link.read];
        for w in &read.candidates {
            choices.rf_upper.remove(usize::from(*w), usize::from(read.event));
        }
        choices.rf_upper.insert(usize::from(source), usize::from(read.event));
        choices.rf_lower.insert(usize::from(source), usize::from(read.event));
        let mut order = |a: u16, b: u16| put(&mut choices, a, b);
        match between {
            Some(z) if source == init => order(z, link.write),
            Some(z) => {
                order(source, z);
                order(source, link.write);
                order(z, link.write);
            }
            // No write is the source of its own read, whatever the order.
            None if source == link.write => {}
            None => order(link.write, source),
        }
        let answer = !self.judge.may_allow(&choices, Look::Whole);
        self.known.insert(key, answer);
        answer
    }

    fn standings(&self, events: &[u16]) -> Vec<Standing> {
        let skeleton = self.skeleton;
        let mut threads: Vec<u16> = Vec::new();
        let standing = |e: &u16| {
            let Some(thread) = skeleton.events[usize::from(*e)].thread else {
                return (usize::MAX, 0, usize::from(*e));
            };
            let number = threads.iter().position(|t| *t == thread).unwrap_or_else(|| {
                threads.push(thread);
                threads.len() - 1
            });
            let thread = usize::from(thread);
            let begin = skeleton.thread_events(thread).start;
            (self.classes[thread], number, usize::from(*e) - begin)
        };
        events.iter().map(standing).collect()
    }
}

/// Puts a write before another in coherence. Of at most three writes these are all pairs.
fn put(choices: &mut Choices, a: u16, b: u16) {
    choices.co_lower.insert(a.into(), b.into());
    choices.co_upper.remove(b.into(), a.into());
}

/// The first thread that has the same events as this one.
fn class(skeleton: &Skeleton, thread: usize) -> usize {
    let alike = |other: &usize| same_events(skeleton.paths[*other], skeleton.paths[thread]);
    let alike = (0..thread).find(alike).filter(|_| skeleton.is_exchangeable());
    alike.unwrap_or(thread)
}

/// Whether two paths have the same events, up to what these write.
fn same_events(a: &Path, b: &Path) -> bool {
    let bare = |e: &PathEvent| PathEvent { value: 0, line: 0, ..e.clone() };
    a.events.len() == b.events.len()
        && a.events.iter().zip(&b.events).all(|(x, y)| bare(x) == bare(y))
}
