//! The engine: digests and keys, the store, the scheduler, progress and explanations.
//!
//! It does not know litmus tests.

pub mod elsewhere;
pub mod events;
pub mod graph;
pub mod job;
mod packet;
pub mod parts;
pub mod predict;
pub mod remote;
pub mod rows;
pub mod run;
pub mod store;
pub mod worker;
