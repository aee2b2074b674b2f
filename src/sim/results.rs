//! Outcomes, and the results of a search so far. It does not know how outcomes are searched for.

use std::hash::Hasher;
use std::time::Instant;

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::path::Doubt;
use super::program::{Cond, Program, Rhs};
use litmake_base::stop::{self, Stopping};
use litmake_litmus::CmpOp;
use litmake_ops::eval::sign_extend;
use litmake_ops::{Val, mask};

/// Final values of the observed places, in the order of [`Program::observed`].
pub type Outcome = SmallVec<[Val; 6]>;

/// Outcomes, each once, in little memory: each observed place has a list of its values, and an outcome is
/// a row of numbers in these lists.
#[derive(Default)]
pub(crate) struct OutcomeSet {
    places: Vec<Numbered>,
    /// How many bytes a number has: as many as the largest one needs.
    width: usize,
    /// The rows, one after the other.
    rows: Vec<u8>,
    count: usize,
    /// The numbers of the rows, by their content; nothing while they are few.
    index: HashTable<u32>,
}

/// The values of an observed place, in the order in which they were found.
#[derive(Default)]
struct Numbered {
    values: SmallVec<[Val; 4]>,
    /// Their numbers; nothing while they are few.
    numbers: FxHashMap<Val, u32>,
}

impl Numbered {
    /// So many values are found as fast one by one.
    const FEW: usize = 8;

    fn number(&self, value: &Val) -> Option<u32> {
        match self.numbers.is_empty() {
            true => self.values.iter().position(|v| v == value).map(|at| at as u32),
            false => self.numbers.get(value).copied(),
        }
    }

    fn add(&mut self, value: Val) -> u32 {
        self.values.push(value);
        let numbers = match self.values.len() {
            0..=Numbered::FEW => 0..0,
            _ if self.numbers.is_empty() => 0..self.values.len(),
            len => len - 1..len,
        };
        self.numbers.extend(numbers.map(|at| (self.values[at], at as u32)));
        self.values.len() as u32 - 1
    }
}

/// A row while it is written; most are short.
type Row = SmallVec<[u8; 32]>;

impl OutcomeSet {
    /// So many rows are found as fast one by one.
    const FEW: usize = 8;

    /// How many outcomes there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes all of this takes, about.
    pub fn bytes(&self) -> usize {
        // A table has a number and a byte for each element, and at least half of its places are used.
        self.rows.len() + self.count * (size_of::<u32>() + 1) * 3 / 2
    }

    /// The values of an observed place.
    pub fn values(&self, place: usize) -> &[Val] {
        self.places.get(place).map_or(&[], |p| &p.values)
    }

    /// How many bytes the numbers of values need.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of the value that an outcome has at an observed place.
    pub fn number(&self, outcome: usize, place: usize) -> usize {
        let row = at_row(&self.rows, outcome, self.places.len() * self.width);
        let bytes = row[place * self.width..].iter().take(self.width);
        bytes.rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    /// Each outcome.
    pub fn iter(&self) -> impl Iterator<Item = Outcome> + '_ {
        (0..self.count).map(|row| {
            let places = self.places.iter().enumerate();
            places.map(|(place, p)| p.values[self.number(row, place)]).collect()
        })
    }

    pub fn contains(&self, outcome: &Outcome) -> bool {
        let number = |(place, value): (usize, &Val)| self.places.get(place)?.number(value);
        let mut row = Row::new();
        for pair in outcome.iter().enumerate() {
            let Some(number) = number(pair) else { return false };
            row.extend_from_slice(&number.to_le_bytes()[..self.width]);
        }
        self.find(&row)
    }

    /// Adds an outcome. All have the same places.
    pub fn insert(&mut self, outcome: &Outcome) {
        if self.width == 0 {
            self.width = 1;
            self.places.resize_with(outcome.len(), Numbered::default);
            self.rows.reserve(OutcomeSet::FEW * outcome.len());
        }
        let mut numbers = SmallVec::<[u32; 16]>::new();
        for (place, value) in self.places.iter_mut().zip(outcome) {
            numbers.push(place.number(value).unwrap_or_else(|| place.add(*value)));
        }
        while numbers.iter().any(|n| n.to_le_bytes()[self.width..].iter().any(|b| *b != 0)) {
            self.widen();
        }
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(self.width));
        let row: Row = bytes.collect();
        if self.find(&row) {
            return;
        }
        self.rows.extend_from_slice(&row);
        self.count += 1;
        match self.count {
            0..=OutcomeSet::FEW => {}
            _ if self.index.is_empty() => self.make_index(0),
            count => self.make_index(count - 1),
        }
    }

    /// Gives each number twice as many bytes.
    fn widen(&mut self) {
        let (old, width) = (self.width, 2 * self.width);
        let wider = self
            .rows
            .chunks(old)
            .flat_map(|number| (0..width).map(move |byte| number.get(byte).copied().unwrap_or(0)));
        self.rows = wider.collect();
        self.width = width;
        if !self.index.is_empty() {
            self.index.clear();
            self.make_index(0);
        }
    }

    /// Adds the rows from one on to the index.
    fn make_index(&mut self, first: usize) {
        let stride = self.places.len() * self.width;
        let OutcomeSet { rows, index, count, .. } = self;
        let of = |at: &u32| hash(at_row(rows, *at as usize, stride));
        for at in first as u32..*count as u32 {
            index.insert_unique(of(&at), at, of);
        }
    }

    fn find(&self, row: &[u8]) -> bool {
        let same = |at: &u32| at_row(&self.rows, *at as usize, row.len()) == row;
        match self.index.is_empty() {
            true => (0..self.count as u32).any(|at| same(&at)),
            false => self.index.find(hash(row), same).is_some(),
        }
    }
}

fn at_row(rows: &[u8], at: usize, stride: usize) -> &[u8] {
    &rows[at * stride..][..stride]
}

fn hash(row: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(row);
    hasher.finish()
}

/// The results of the search through the skeletons of a test so far.
pub struct Results {
    /// The outcomes of allowed executions, each once.
    pub(crate) outcomes: OutcomeSet,
    /// How many bytes these may take, with what a search keeps for each of them.
    pub(crate) most: usize,
    /// Flags raised so far, as indices of the model's checks.
    pub(crate) flags: Vec<usize>,
    /// How much work the search was.
    pub(crate) stats: Stats,
    /// An undefined operation of some allowed execution, and the thread that does it.
    pub(crate) undefined: Option<(usize, Doubt)>,
    /// A value could not be computed.
    pub(crate) error: Option<String>,
}

impl Results {
    /// No results yet; `most` is the number of bytes that outcomes may take.
    pub fn new(most: usize) -> Results {
        Results {
            outcomes: OutcomeSet::default(),
            most,
            flags: Vec::new(),
            stats: Stats::default(),
            undefined: None,
            error: None,
        }
    }

    /// Adds the outcome of an allowed execution.
    pub fn record(&mut self, outcome: Outcome) {
        self.stats.executions += 1;
        self.outcomes.insert(&outcome);
    }

    /// Whether the outcomes take more memory than they may, where a search keeps so many bytes beside them.
    pub(crate) fn is_full(&self, beside: usize) -> bool {
        self.outcomes.bytes() + beside > self.most
    }

    /// Results of their own for a question beside, which counts its work here.
    pub(crate) fn aside(&self) -> Results {
        Results { stats: self.stats, ..Results::new(self.most) }
    }

    /// Notes that a value could not be computed.
    pub fn note_uncomputable(&mut self) {
        let message =
            "a value cannot be computed (arithmetic on addresses, or a `float` that is no number?)";
        self.error.get_or_insert_with(|| message.to_string());
    }
}

/// How much work a simulation was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// How many skeletons were gone through.
    pub skeletons: u64,
    /// Partial executions that were checked.
    pub nodes: u64,
    /// Complete allowed executions.
    pub executions: u64,
    /// Skeletons that went to the solver.
    pub solved: u64,
}

/// Why a search ended before it was done.
pub(crate) enum EarlyEnd {
    /// Its time is over, or the process is asked to stop.
    TimedOut,
    /// The limit of partial executions is reached.
    Budget,
    /// The outcomes take more memory than they may.
    OutOfMemory,
    /// The model has an error.
    Model(String),
}

/// Whether a run has to end now: its time is up, or the process is asked to stop.
pub fn late(deadline: Option<Instant>) -> bool {
    stop::of_the_process().asked() || deadline.is_some_and(|d| Instant::now() > d)
}

/// Whether a proposition holds of an outcome.
pub fn holds(cond: &Cond, program: &Program, outcome: &Outcome) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_hash::FxHashSet;

    proptest! {
        /// The set has what was put in, also where numbers outgrow a byte and then two.
        #[test]
        fn a_set_of_outcomes_is_a_set(
            outcomes in prop::collection::vec((0..3u128, 0..700u128, any::<u8>()), 0..900),
            seen in 0..1000usize,
        ) {
            let outcome = |(a, b, c): &(u128, u128, u8)| -> Outcome {
                [Val::Int(*a), Val::Int(*b), Val::Ptr { loc: 0, off: i64::from(*c) }].into_iter().collect()
            };
            let mut set = OutcomeSet::default();
            let mut want = FxHashSet::default();
            for (i, o) in outcomes.iter().map(outcome).enumerate() {
                prop_assert_eq!(set.contains(&o), want.contains(&o));
                set.insert(&o);
                want.insert(o.clone());
                prop_assert!(set.contains(&o) && set.len() == want.len());
                if i == seen {
                    prop_assert_eq!(set.iter().collect::<FxHashSet<_>>(), want.clone());
                }
            }
            prop_assert_eq!(set.iter().collect::<FxHashSet<_>>(), want);
        }
    }

    #[test]
    fn numbers_outgrow_two_bytes() {
        let mut set = OutcomeSet::default();
        let one = |v: u128| -> Outcome { [Val::Int(v), Val::ZERO].into_iter().collect() };
        (0..70_000).for_each(|v| set.insert(&one(v)));
        (0..70_000).for_each(|v| set.insert(&one(v)));
        assert_eq!((set.len(), set.values(0).len(), set.values(1).len()), (70_000, 70_000, 1));
        assert!((0..70_000).all(|v| set.contains(&one(v))) && !set.contains(&one(70_000)));
    }

    #[test]
    fn an_outcome_without_places_is_one() {
        let mut set = OutcomeSet::default();
        assert!(!set.contains(&Outcome::new()));
        set.insert(&Outcome::new());
        set.insert(&Outcome::new());
        assert!(set.contains(&Outcome::new()) && set.len() == 1 && set.iter().count() == 1);
    }
}
