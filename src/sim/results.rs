//! Outcomes, and the results of a search so far. It does not know how outcomes are searched for.

use std::time::Instant;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::path::Doubt;
use super::program::{Cond, Program, Rhs};
use litmake_base::stop::{self, Stopping};
use litmake_litmus::CmpOp;
use litmake_ops::eval::sign_extend;
use litmake_ops::{Val, mask};

/// Final values of the observed places, in the order of [`Program::observed`].
pub type Outcome = SmallVec<[Val; 6]>;

/// What the search through the skeletons of a test has found so far.
#[derive(Default)]
pub struct Results {
    /// The outcomes of allowed executions, each once.
    pub(crate) outcomes: FxHashSet<Outcome>,
    /// Flags raised so far, as indices of the model's checks.
    pub(crate) flags: Vec<usize>,
    /// How much work the search was.
    pub(crate) stats: Stats,
    /// What some allowed execution does that is undefined, and which thread does it.
    pub(crate) undefined: Option<(usize, Doubt)>,
    /// A value could not be computed.
    pub(crate) error: Option<String>,
}

impl Results {
    /// Adds the outcome of an allowed execution.
    pub fn record(&mut self, outcome: Outcome) {
        self.stats.executions += 1;
        self.outcomes.insert(outcome);
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
