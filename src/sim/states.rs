//! Final states as they are shown, sorted and in little memory: each part of a state is the number of a text
//! in the list of this part. How outcomes are found is not known here.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::program::{Observable, Program, Shown};
use super::results::OutcomeSet;
use super::{State, show};
use litmake_ops::{Val, mask};

/// Final states, each once, in order.
#[derive(Clone, Default)]
pub struct States {
    columns: Vec<Shown>,
    /// For each part of a state, the texts of its values, in the order of the values; and where the texts
    /// of each part begin.
    texts: Vec<CompactString>,
    starts: SmallVec<[usize; 8]>,
    /// How many bytes the number of a text has, the highest byte first.
    width: usize,
    /// The numbers, a row for each state.
    rows: Vec<u8>,
    count: usize,
}

impl States {
    /// The states of a program that is done with.
    pub(crate) fn of(mut program: Program, outcomes: &OutcomeSet) -> States {
        let columns = std::mem::take(&mut program.shown);
        let parts: SmallVec<[usize; 8]> =
            columns.iter().flat_map(|s| s.parts.iter().copied()).collect();
        let mut states = States { columns, width: outcomes.width(), ..States::default() };
        // For each part, the new number of each old one.
        let mut renumbered: SmallVec<[SmallVec<[u32; 4]>; 8]> = SmallVec::new();
        for i in &parts {
            let o = &program.observed[*i];
            let values = outcomes.values(*i).iter().map(|v| unsigned(*v, o));
            let values: SmallVec<[Val; 4]> = values.collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let new = |v: &Val| sorted.partition_point(|s| s < v) as u32;
            renumbered.push(values.iter().map(new).collect());
            states.starts.push(states.texts.len());
            states.texts.extend(sorted.iter().map(|v| show(&program, *v, o)));
        }
        let stride = parts.len() * states.width;
        let mut rows = Vec::with_capacity(outcomes.len() * stride);
        for row in 0..outcomes.len() {
            for (i, new) in parts.iter().zip(&renumbered) {
                let number = new[outcomes.number(row, *i)];
                rows.extend_from_slice(&number.to_be_bytes()[size_of::<u32>() - states.width..]);
            }
        }
        states.put_in_order(&rows, stride, outcomes.len());
        states
    }

    /// Takes over rows, sorted and each once. They sort as the values do.
    fn put_in_order(&mut self, rows: &[u8], stride: usize, count: usize) {
        let row = |at: &u32| &rows[*at as usize * stride..][..stride];
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_unstable_by(|a, b| row(a).cmp(row(b)));
        order.dedup_by(|a, b| row(a) == row(b));
        self.count = order.len();
        self.rows.reserve_exact(self.count * stride);
        order.iter().for_each(|at| self.rows.extend_from_slice(row(at)));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The label and the value of each column, for each state.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (&str, Cow<'_, str>)>> {
        (0..self.count).map(move |row| {
            let mut part = 0;
            self.columns.iter().map(move |column| {
                let first = part;
                part += column.parts.len();
                let texts = (first..part).map(move |part| self.text(row, part));
                (column.label.as_str(), joined(texts, column))
            })
        })
    }

    /// Each state.
    pub fn iter(&self) -> impl Iterator<Item = State> + '_ {
        self.rows().map(|row| row.map(|(label, text)| (label.into(), text.into())).collect())
    }

    fn text(&self, row: usize, part: usize) -> &str {
        let number = &self.rows[(row * self.starts.len() + part) * self.width..][..self.width];
        let number = number.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        &self.texts[self.starts[part] + number]
    }
}

impl<'s> IntoIterator for &'s States {
    type Item = State;
    type IntoIter = Box<dyn Iterator<Item = State> + 's>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl PartialEq for States {
    fn eq(&self, other: &States) -> bool {
        self.count == other.count && self.rows().zip(other.rows()).all(|(a, b)| a.eq(b))
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A final state as it is shown, from the values of the shown parts in order.
pub fn state(program: &Program, mut values: impl Iterator<Item = Val>) -> State {
    let column = |s: &Shown| {
        let parts = s.parts.iter().zip(&mut values);
        let texts: Vec<CompactString> =
            parts.map(|(i, v)| show(program, v, &program.observed[*i])).collect();
        (s.label.clone(), joined(texts.iter().map(CompactString::as_str), s).into())
    };
    program.shown.iter().map(column).collect()
}

/// The value of a column, from its parts.
fn joined<'t>(mut parts: impl Iterator<Item = &'t str>, column: &Shown) -> Cow<'t, str> {
    match (&column.parts[..], column.array) {
        ([_], false) => parts.next().unwrap_or_default().into(),
        (_, false) => parts.collect::<Vec<_>>().join(",").into(),
        (_, true) => format!("{{{}}}", parts.collect::<Vec<_>>().join(",")).into(),
    }
}

/// Shifts signed values so that they sort as numbers. [`show`] undoes it.
fn unsigned(v: Val, o: &Observable) -> Val {
    match v {
        Val::Int(x) => Val::Int(x & mask(o.bits)),
        other => other,
    }
}
