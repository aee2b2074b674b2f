//! What a model allows: threads to events, candidate executions, pruning, outcomes.
//!
//! It does not know text formats.

pub mod program;
