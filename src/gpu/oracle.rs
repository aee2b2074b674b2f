//! Every outcome that a test may show, by its index, with its class by the models.
//!
//! An outcome is the values of all reads and the final values of all locations. All outcomes that the model
//! does not allow are violations, whatever the test's condition asks for.

use std::collections::BTreeSet;

use super::program::{Op, Operand, Program, RmwOp};
use litmake_base::diag::{Diag, Result, Span};
use litmake_cat::{self as cat, LoadOptions};
pub use litmake_devices::Class;
use litmake_litmus::{self as litmus, CmpOp, Observed, Operand as Side, Place, Prop, Test, Value};
use litmake_sim::{Model, Options, Simulator};

/// The model of relaxed accesses and fences across workgroups.
pub const MODEL: &str = "wgsl-rel-acq";
/// The model of tests whose accesses acquire or release, or whose fences do one of the two.
pub const ORDERED: &str = "vulkan";
/// The most outcomes of a test.
const MAX_OUTCOMES: u64 = 1 << 16;

/// Models that tests are judged by; made once for many tests.
pub struct Models {
    /// By name: those that judge.
    judges: Vec<(String, Model)>,
    interleaved: Model,
    simulator: Simulator,
}

impl Models {
    /// Loads the models. `allowed` is the name or the path of the model that judges; without it [`MODEL`]
    /// and [`ORDERED`] judge, each its tests.
    pub fn new(allowed: Option<&str>) -> Result<Models> {
        let load =
            |name: &str| Model::load(&cat::load(name, &LoadOptions::new(litmake_litmus::Arch::C))?);
        let names = Models::names(allowed);
        Ok(Models {
            judges: names
                .into_iter()
                .map(|n| Ok((n.to_string(), load(n)?)))
                .collect::<Result<_>>()?,
            interleaved: load("sc")?,
            simulator: Simulator::default(),
        })
    }

    /// The models that may judge.
    pub fn names(allowed: Option<&str>) -> Vec<&str> {
        allowed.map_or(vec![MODEL, ORDERED], |name| vec![name])
    }

    /// Which of them judges a test.
    fn judge(&self, program: &Program) -> usize {
        usize::from(program.has_orders()).min(self.judges.len() - 1)
    }
}

/// The outcomes that a test may show, and the class of each.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The places whose values make up an outcome, in order.
    pub observed: Vec<Place>,
    /// The number of values that each place may have; no execution gives a larger value.
    pub radix: Vec<u32>,
    /// The class of each outcome, by index.
    pub classes: Vec<Class>,
    /// Whether the test's condition asks for the outcome, by index.
    pub target: Vec<bool>,
    /// The model that judged.
    pub model: String,
}

impl Oracle {
    /// Finds all outcomes and classes them; an error where there are too many, or a model refuses
    /// the test.
    pub(crate) fn new(test: &Test, program: &Program, models: &mut Models) -> Result<Oracle> {
        let judge = models.judge(program);
        let observed = program.observed();
        let radix = radix(program);
        let size = radix
            .iter()
            .try_fold(1u64, |n, r| n.checked_mul(u64::from(*r)).filter(|n| *n <= MAX_OUTCOMES));
        let Some(size) = size else {
            return Err(Diag::new(format!(
                "{}: more than {MAX_OUTCOMES} outcomes could show; use fewer reads or smaller values",
                test.name
            )));
        };
        let mut whole = test.clone();
        whole.locations = observed
            .iter()
            .map(|p| Observed { place: p.clone(), ty: None, span: Span::default() })
            .collect();
        let Models { judges, interleaved, simulator } = models;
        let (model, allowed) = &judges[judge];
        let mut oracle = Oracle {
            model: model.clone(),
            classes: vec![Class::Forbidden; size as usize],
            target: vec![false; size as usize],
            observed,
            radix,
        };
        for (class, outcomes) in [
            (Class::Weak, oracle.simulated(&whole, allowed, simulator)?),
            (Class::Interleaved, oracle.simulated(&whole, interleaved, simulator)?),
            (Class::Sequential, sequential(program)),
        ] {
            for outcome in outcomes {
                let Some(i) = oracle.index(&outcome) else {
                    return Err(Diag::new(format!(
                        "{}: the outcome {outcome:?} has a value that no write gives",
                        test.name
                    )));
                };
                // What is forbidden stays so, even where threads run one after the other.
                if class == Class::Weak || oracle.classes[i] != Class::Forbidden {
                    oracle.classes[i] = class;
                }
            }
        }
        for i in 0..oracle.target.len() {
            oracle.target[i] = oracle.holds(&test.condition.prop, &oracle.outcome(i))?;
        }
        Ok(oracle)
    }

    fn simulated(
        &self,
        test: &Test,
        model: &Model,
        simulator: &mut Simulator,
    ) -> Result<BTreeSet<Vec<u32>>> {
        let outcomes = simulator.simulate(test, model, &Options::default())?;
        let mut out = BTreeSet::new();
        for state in &outcomes.states {
            let value = |place: &Place| {
                let label = place.to_string();
                let text =
                    state.iter().find(|(l, _)| litmus::bare(l) == label).map(|(_, v)| v.as_str());
                text.and_then(|t| t.parse().ok())
            };
            let values: Option<Vec<u32>> = self.observed.iter().map(value).collect();
            match values {
                Some(values) => out.insert(values),
                None => {
                    return Err(Diag::new(format!(
                        "{}: a state of the simulator is not understood",
                        test.name
                    )));
                }
            };
        }
        Ok(out)
    }

    /// The index of an outcome, if all its values are told apart.
    pub fn index(&self, outcome: &[u32]) -> Option<usize> {
        let mut index = 0;
        for (value, radix) in outcome.iter().zip(&self.radix) {
            if value >= radix {
                return None;
            }
            index = index * *radix as usize + *value as usize;
        }
        Some(index)
    }

    /// The outcome of this index: the value of each place that is observed.
    pub(crate) fn outcome(&self, mut index: usize) -> Vec<u32> {
        let mut out: Vec<u32> = self
            .radix
            .iter()
            .rev()
            .map(|radix| {
                let value = index % *radix as usize;
                index /= *radix as usize;
                value as u32
            })
            .collect();
        out.reverse();
        out
    }

    /// `1:r0=1; x=2;`
    pub fn text(&self, index: usize) -> String {
        let pairs = self.observed.iter().zip(self.outcome(index));
        pairs.map(|(p, v)| format!("{p}={v};")).collect::<Vec<_>>().join(" ")
    }

    /// How many outcomes are allowed.
    pub fn allowed(&self) -> usize {
        self.classes.iter().filter(|c| **c != Class::Forbidden).count()
    }

    fn holds(&self, prop: &Prop, outcome: &[u32]) -> Result<bool> {
        Ok(match prop {
            Prop::True => true,
            Prop::False => false,
            Prop::Not(p) => !self.holds(p, outcome)?,
            Prop::And(ps) => {
                for p in ps {
                    if !self.holds(p, outcome)? {
                        return Ok(false);
                    }
                }
                true
            }
            Prop::Or(ps) => {
                for p in ps {
                    if self.holds(p, outcome)? {
                        return Ok(true);
                    }
                }
                false
            }
            Prop::Implies(a, b) => !self.holds(a, outcome)? || self.holds(b, outcome)?,
            Prop::Cmp(place, op, side) => {
                let value = |place: &Place| {
                    let i = self.observed.iter().position(|p| p == place);
                    i.map(|i| i128::from(outcome[i])).ok_or_else(|| {
                        Diag::new(format!(
                            "the condition asks for {place}, which no read or write of the test has"
                        ))
                    })
                };
                let left = value(place)?;
                let right = match side {
                    Side::Value(Value::Int(v)) => *v,
                    Side::Place(p) => value(p)?,
                    _ => return Err(Diag::new("conditions of tests on GPUs compare with numbers")),
                };
                match op {
                    CmpOp::Eq => left == right,
                    CmpOp::Ne => left != right,
                    CmpOp::Lt => left < right,
                    CmpOp::Le => left <= right,
                    CmpOp::Gt => left > right,
                    CmpOp::Ge => left >= right,
                }
            }
        })
    }
}

/// The outcomes of running the threads one after the other, in every order.
fn sequential(program: &Program) -> BTreeSet<Vec<u32>> {
    fn orders(left: &mut Vec<usize>, taken: &mut Vec<usize>, f: &mut dyn FnMut(&[usize])) {
        if left.is_empty() {
            return f(taken);
        }
        for i in 0..left.len() {
            let t = left.remove(i);
            taken.push(t);
            orders(left, taken, f);
            taken.pop();
            left.insert(i, t);
        }
    }
    let mut out = BTreeSet::new();
    let mut left: Vec<usize> = (0..program.threads.len()).collect();
    orders(&mut left, &mut Vec::new(), &mut |order| {
        out.insert(program.run_in_order(order));
    });
    out
}

/// For each observed place, one more than the largest value that it could have.
fn radix(program: &Program) -> Vec<u32> {
    let inits: Vec<u64> = program.locations.iter().map(|(_, v)| u64::from(*v)).collect();
    let mut memory = inits.clone();
    let mut read = vec![0u64; program.registers.len()];
    // Values travel from location to location through registers; where that never settles, as
    // for a sum of itself, no bound is known.
    let rounds = program.threads.iter().map(Vec::len).sum::<usize>() + 2;
    for round in 0..=rounds {
        for op in program.threads.iter().flatten() {
            match op {
                Op::Load { location, register, .. }
                | Op::Rmw { location, register: Some(register), .. } => {
                    read[*register] = memory[*location];
                }
                _ => {}
            }
        }
        let mut next = inits.clone();
        let mut added = vec![0u64; next.len()];
        let mut bits = vec![false; next.len()];
        for op in program.threads.iter().flatten() {
            let (location, value, rmw) = match op {
                Op::Store { location, value, .. } => (*location, value, RmwOp::Exchange),
                Op::Rmw { op, location, value, .. } => (*location, value, *op),
                _ => continue,
            };
            let value = match value {
                Operand::Const(c) => u64::from(*c),
                Operand::Register(r) => read[*r],
            };
            match rmw {
                RmwOp::Add => added[location] = added[location].saturating_add(value),
                // Below 0 it goes round.
                RmwOp::Sub if value > 0 => added[location] = u64::from(u32::MAX),
                RmwOp::Sub | RmwOp::And => {}
                RmwOp::Or | RmwOp::Xor | RmwOp::Exchange => {
                    bits[location] |= rmw != RmwOp::Exchange;
                    next[location] = next[location].max(value);
                }
            }
        }
        for ((value, added), bits) in next.iter_mut().zip(added).zip(bits) {
            *value = value.saturating_add(added).min(u64::from(u32::MAX));
            if bits {
                *value = (*value + 1).next_power_of_two() - 1;
            }
        }
        if next == memory {
            break;
        }
        memory = if round == rounds { vec![u64::from(u32::MAX); next.len()] } else { next };
    }
    let all = read.into_iter().chain(memory);
    all.map(|v| u32::try_from(v.saturating_add(1)).unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests;
