//! Numbers the outcomes of a test. Each column (the final value of a register or a location) has a
//! number for every expected value and one for all others; an outcome is one number of mixed radix.
//!
//! The expected values decide how fast outcomes are counted, and never which outcomes are counted.
//! This module does not know models.

use std::collections::BTreeSet;

use litmake_base::diag::{Diag, Result};
use litmake_litmus::Test;
use litmake_ops::eval::sign_extend;
use litmake_ops::{Val, mask};
use litmake_sim::State;
use litmake_sim::program::{Cond, Observable, Program, Rhs};
use litmake_sim::results::Outcome;

/// The limit on the numbers of outcomes, so that each thread's part fits into 32 bits.
const MAX_OUTCOMES: u64 = u32::MAX as u64;
/// The largest number of columns; the harness has room for so many.
pub const MAX_COLUMNS: usize = 32;
/// If all values of a column are at most this, all values up to the largest get numbers.
const SMALL: u128 = 31;

/// The numbering of a test's outcomes: a digit for each observed value.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The values with numbers, for each column.
    pub values: Vec<Vec<Val>>,
    /// The weight of each column's digit.
    pub weight: Vec<u64>,
    /// The number of outcomes.
    pub outcomes: u64,
}

impl Columns {
    /// The columns of a test in which these states are expected.
    pub fn new(test: &Test, program: &Program, states: &[State]) -> Result<Columns> {
        let count = program.observed.len();
        if count > MAX_COLUMNS {
            return Err(Diag::new(format!(
                "{}: {count} values are observed, and {MAX_COLUMNS} can be",
                test.name
            ))
            .help("leave some out of `locations`"));
        }
        let mut expected: Vec<BTreeSet<Val>> = vec![BTreeSet::from([Val::ZERO]); count];
        for state in states {
            each_value(program, state, &mut |column, value| {
                expected[column].insert(value);
            });
        }
        constants(&program.condition, &mut expected);
        if let Some(filter) = &program.filter {
            constants(filter, &mut expected);
        }
        let values: Vec<Vec<Val>> = expected.into_iter().map(numbered).collect();
        let radix = |v: &Vec<Val>| v.len() as u64 + 1;
        let outcomes = values
            .iter()
            .try_fold(1u64, |n, v| n.checked_mul(radix(v)).filter(|n| *n < MAX_OUTCOMES));
        let Some(outcomes) = outcomes else {
            return Err(Diag::new(format!(
                "{}: {MAX_OUTCOMES} outcomes and more could show",
                test.name
            ))
            .help("observe fewer values, or smaller ones"));
        };
        let mut weight = vec![1u64; count];
        for c in (1..count).rev() {
            weight[c - 1] = weight[c] * radix(&values[c]);
        }
        Ok(Columns { values, weight, outcomes })
    }

    /// The number of digits in a column: one for each value, and one for all others.
    pub fn radix(&self, column: usize) -> u64 {
        self.values[column].len() as u64 + 1
    }

    /// Whether the values of a column are 0, 1, 2 and so on, and so are their own numbers.
    pub fn is_plain(&self, column: usize) -> bool {
        self.values[column].iter().enumerate().all(|(i, v)| *v == Val::Int(i as u128))
    }

    /// The values of an outcome; `None` for a value without a number.
    pub fn read(&self, outcome: u64) -> Vec<Option<Val>> {
        let of = |c: usize| {
            let number = outcome / self.weight[c] % self.radix(c);
            self.values[c].get(number as usize).copied()
        };
        (0..self.values.len()).map(of).collect()
    }
}

/// The values in order; if all are small, with those between.
fn numbered(values: BTreeSet<Val>) -> Vec<Val> {
    let small = values.iter().map(|v| match v {
        Val::Int(n) if *n <= SMALL => Some(*n),
        _ => None,
    });
    match small.collect::<Option<Vec<u128>>>().and_then(|all| all.into_iter().max()) {
        Some(most) => (0..=most).map(Val::Int).collect(),
        None => values.into_iter().collect(),
    }
}

fn constants(cond: &Cond, out: &mut [BTreeSet<Val>]) {
    match cond {
        Cond::Const(_) => {}
        Cond::Cmp(column, _, Rhs::Val(v @ (Val::Int(_) | Val::Ptr { .. }))) => {
            out[*column].insert(*v);
        }
        Cond::Cmp(..) => {}
        Cond::Not(c) => constants(c, out),
        Cond::And(cs) | Cond::Or(cs) => cs.iter().for_each(|c| constants(c, out)),
    }
}

/// Calls `f` with the values of a state, by column.
fn each_value(program: &Program, state: &State, f: &mut dyn FnMut(usize, Val)) {
    for (shown, (_, text)) in program.shown.iter().zip(state) {
        let inner = text.trim_start_matches('{').trim_end_matches('}');
        let texts = if shown.array { inner.split(',').collect() } else { vec![inner] };
        for (column, text) in shown.parts.iter().zip(texts) {
            if let Some(value) = value(program, &program.observed[*column], text) {
                f(*column, value);
            }
        }
    }
}

/// The outcome of a state; values that the state does not show are 0.
pub fn outcome(program: &Program, state: &State) -> Option<Outcome> {
    let mut out: Outcome = std::iter::repeat_n(Val::ZERO, program.observed.len()).collect();
    let mut count = 0;
    each_value(program, state, &mut |column, value| {
        out[column] = value;
        count += 1;
    });
    (count > 0 || program.shown.is_empty()).then_some(out)
}

/// The value that a state writes as this text.
fn value(program: &Program, observable: &Observable, text: &str) -> Option<Val> {
    if let Ok(n) = text.parse::<i128>() {
        return Some(Val::Int(n as u128 & mask(observable.bits)));
    }
    if let Ok(n) = text.parse::<u128>() {
        return Some(Val::Int(n & mask(observable.bits)));
    }
    let (name, index) = match text.split_once('[') {
        Some((name, rest)) => (name, rest.trim_end_matches(']').parse().ok()?),
        None => (text, 0i64),
    };
    let loc = program.locations.iter().position(|l| l.name == name)?;
    let off = index.checked_mul(i64::from(program.locations[loc].elem))?;
    Some(Val::Ptr { loc: loc as u16, off })
}

/// The value of a column with these low 64 bits.
pub fn shown_bits(observable: &Observable, raw: u64) -> Val {
    let bits = observable.bits.min(64);
    let value = u128::from(raw) & mask(bits);
    match observable.bits > 64 && observable.signed {
        true => Val::Int(sign_extend(value, bits) as u128 & mask(observable.bits)),
        false => Val::Int(value),
    }
}
