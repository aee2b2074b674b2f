//! What running tests on GPUs and on CPUs has in common: random numbers, the parameters of an
//! environment, classes of outcomes, and results.
//!
//! It knows neither device, nor tests but by their names.

pub mod parameters;
pub mod random;
pub mod record;
pub mod tuning;

/// What an outcome is to the model that judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Of the threads one after the other.
    Sequential,
    /// Of some interleaving.
    Interleaved,
    /// Of none, and allowed.
    Weak,
    /// Of none, and forbidden: a bug of the device, its compiler or the model.
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
