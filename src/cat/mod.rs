//! The cat language, in which models are written: reads models, stages them to plans, interprets them.
//!
//! It does not know instruction sets, nor how executions are found.

#![allow(missing_docs, reason = "not yet: some public items of this crate have names alone")]

pub mod algebra;
pub mod ast;
mod bell;
pub mod conf;
pub mod define;
pub mod eval;
pub mod exec;
pub mod graph;
pub mod interp;
pub mod lex;
pub mod load;
pub mod names;
mod open;
pub mod parse;
pub mod plan;
pub mod plan_eval;
pub mod prims;
pub mod stage;
pub mod value;

pub use interp::interpret;
pub use load::{LoadOptions, Model, load};
pub use stage::{StageError, stage};
