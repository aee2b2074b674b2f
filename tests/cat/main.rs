//! Models: finding, reading and staging them, and what ours say of well-known executions.

#[path = "../common/exec.rs"]
mod exec;
mod load;
mod models;
mod parse;
mod stage;
