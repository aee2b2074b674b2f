//! Pipelines: the types of the YAML file, loading, instances, the plan.
//!
//! This crate does not know how a stage does its work, or what was done before.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod kinds;
pub mod load;
pub mod made;
pub mod plan;
pub mod query;
pub mod reference;
pub mod slice;
pub mod stages;
pub mod types;
mod unread;
