//! Pipelines: the YAML's types, loading with places, variables and matrices, the plan.
//!
//! This room does not know how a stage does its work, nor what was done before.

pub mod load;
pub mod mapping;
pub mod plan;
pub mod profile;
pub mod query;
pub mod reference;
pub mod tree;
pub mod types;
pub mod vars;
pub mod yaml;
