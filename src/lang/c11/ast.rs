//! The syntax tree of the C subset.

use crate::diag::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub span: Span,
    pub text: String,
}
