//! Selects tests from those that exist or can be made, by their properties and by what models
//! allow.
//!
//! It does not know pipelines, nor how tests are stored.

pub mod collect;
pub mod distinguish;
pub mod filter;

#[cfg(test)]
mod tests;
