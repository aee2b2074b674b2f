//! The C subset of litmus tests: syntax, meaning, emission as compilable code.
//!
//! It does not know assembly, nor what any model makes of the events it describes.

pub mod ast;
pub mod emit;
mod lex;
pub mod lower;
pub mod macros;
pub mod members;
pub mod outline;
mod parse;
mod parse_expr;
mod print;
pub mod readonly;
mod respell;
pub mod types;
mod untyped;

pub use lower::{Options, PlainAtomic};
pub use parse::{parse_function, parse_type};
pub use print::{print_declaration, print_expr, print_function, print_type};

#[cfg(test)]
mod tests;
