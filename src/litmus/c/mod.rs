//! The syntax of the C subset of litmus tests: trees, read from text and printed, and its types.
//!
//! It does not know what programs mean.

pub mod ast;
mod defines;
mod lex;
mod lists;
pub mod macros;
pub mod orders;
mod parse;
mod parse_expr;
mod print;
pub mod scoped;
pub mod structs;
pub mod types;

pub use defines::Defines;
pub use parse::{
    On, no_definitions, parse_definition, parse_function, parse_function_with, parse_type,
    parse_variables,
};
pub use print::{print_declaration, print_expr, print_function, print_statement, print_type};
