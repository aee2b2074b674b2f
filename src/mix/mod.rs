//! Mixing: one test whose parts come from different compilers.
//!
//! `pieces` takes a test apart, `count` says which mixes of compiled parts differ, `symmetry`
//! which of those are one and the same, `splice` joins parts into a test, and `link` does so for
//! all mixes, or for one; `threads` does both where one compiler makes all of a test. `notation` writes and reads
//! mixes, `meaning` says which parts do the same, `driver` is the program that calls parts, and
//! `mend` knows barriers that parts could have. What compiled them is not known here, nor what a
//! model makes of the result.

pub mod count;
pub mod driver;
pub mod link;
pub mod meaning;
pub mod mend;
pub mod notation;
pub mod pieces;
pub mod splice;
pub mod symmetry;
#[cfg(test)]
mod tests;
pub mod threads;

pub use notation::{Written, notation};
pub use pieces::{By, Piece, Split, split};
pub use splice::{Compiled, splice};
