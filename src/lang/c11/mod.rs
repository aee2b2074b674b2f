//! The C subset of litmus tests: its meaning, and emission as compilable code.
//!
//! It does not know assembly, nor what any model makes of the events it describes.

pub mod emit;
pub mod lower;
pub mod members;
pub mod outline;
pub mod readonly;
mod respell;
mod untyped;
pub mod variables;

pub use lower::{Options, PlainAtomic};

#[cfg(test)]
mod tests;
