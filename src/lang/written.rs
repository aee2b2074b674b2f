//! An expression as another language writes it, and the lines of a page. It knows no language.

use litmake_litmus::c::types::ValueType;

/// An expression and its type.
#[derive(Clone)]
pub struct Value {
    pub text: String,
    pub ty: ValueType,
    /// The expression as a truth value of the language, if it is one that was made a number.
    pub truth: Option<String>,
}

/// An expression that is no truth value.
pub fn value(text: impl Into<String>, ty: ValueType) -> Value {
    Value { text: text.into(), ty, truth: None }
}

/// Writes a line that stands so deep.
pub fn line(out: &mut String, depth: usize, text: &str) {
    for _ in 0..depth {
        out.push_str("  ");
    }
    out.push_str(text);
    out.push('\n');
}
