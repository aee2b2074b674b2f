//! Mixes the code of several compilers in one test.
//!
//! `pieces` takes a test apart, and `count` counts the mixes of compiled parts that differ.
//! `symmetry` finds mixes that are equal because of symmetries of the test. `splice` joins parts
//! into a test, and `link` does so for all mixes or for one. `threads` takes apart and joins tests
//! that one compiler compiles. `notation` reads and writes mixes, `meaning` decides which parts do
//! the same, `driver` writes the program that calls parts, and `mend` lists barriers that parts
//! could have.
//!
//! Nothing here knows what compiled the parts, nor what a model makes of the result.

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
