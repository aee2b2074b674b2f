//! The cat language, in which models are written: reads models, stages them to plans, interprets them.
//!
//! It does not know instruction sets, nor how executions are found.

pub mod algebra;
pub mod ast;
mod bell;
pub mod conf;
pub mod define;
mod eval;
pub mod exec;
mod graph;
pub mod interp;
mod lex;
pub mod load;
pub mod names;
mod open;
pub mod parse;
pub mod plan;
pub mod plan_eval;
mod prims;
pub mod stage;
mod value;

pub use interp::interpret;
pub use load::{LoadOptions, Model, load};
pub use stage::{StageError, stage};
