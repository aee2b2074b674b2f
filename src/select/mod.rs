//! Which tests are wanted, of those that there are and of those that could be made: by what they are
//! like, and by what models make of them.
//!
//! It does not know pipelines, nor how tests are stored.

pub mod collect;
pub mod distinguish;
pub mod filter;

#[cfg(test)]
mod tests;
