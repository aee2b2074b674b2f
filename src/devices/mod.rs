//! The common parts of running tests on GPUs and on CPUs: random numbers, parameters of
//! environments, classes of outcomes, and results.
//!
//! It does not know the devices, and knows tests only by their names.

pub mod parameters;
pub mod random;
pub mod record;
pub mod tuning;

/// The class of an outcome, by the model that judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The outcome of running the threads one after the other.
    Sequential,
    /// The outcome of some interleaving.
    Interleaved,
    /// Not the outcome of an interleaving, and allowed.
    Weak,
    /// Not the outcome of an interleaving, and forbidden: a bug of the device, its compiler or the
    /// model.
    Forbidden,
}

impl Class {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Class::Sequential => "seq",
            Class::Interleaved => "interleaved",
            Class::Weak => "weak",
            Class::Forbidden => "forbidden",
        }
    }
}
