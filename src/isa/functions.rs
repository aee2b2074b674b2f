//! What threads have in common that are made of the functions of a module, in whatever language the
//! module is text: limits, and the locations that they have beside those of the test. It does not
//! know instructions.

use litmake_base::diag::Span;
use litmake_litmus::{InitItem, InitValue, Place, Type, Value};

/// The deepest nesting of calls.
pub const DEEPEST: usize = 16;

/// The largest number of instructions in a thread.
const MOST_LINES: usize = 4096;

/// Refuses calls that are nested too deeply.
pub fn check_depth(depth: usize) -> Result<(), &'static str> {
    if depth > DEEPEST { Err("functions that call one another without end") } else { Ok(()) }
}

/// Refuses another instruction in a thread of so many.
pub fn check_length(lines: usize) -> Result<(), &'static str> {
    if lines >= MOST_LINES { Err("a thread of so many instructions") } else { Ok(()) }
}

/// The function of a test's thread; an error if the module has none with so many parameters.
pub fn function<F>(
    found: Option<F>,
    name: &str,
    params: impl Fn(&F) -> usize,
    given: usize,
) -> Result<F, String> {
    let f = found.ok_or_else(|| format!("the module has no function `{name}`"))?;
    match params(&f) {
        n if n == given => Ok(f),
        n => Err(format!("`{name}` has {n} parameters where the test gives {given}")),
    }
}

/// A name of a module with letters, digits and underscores alone.
pub fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The location for a variable of a module that is none of the test's.
pub fn location(symbol: &str) -> String {
    format!("module_{}", plain(symbol))
}

/// A location of `count` values of `unit` bytes.
pub fn declared(name: &str, unit: u64, count: u64, value: Option<InitValue>) -> InitItem {
    let one = Type::Int { bytes: unit as u8, signed: false };
    let ty = if count == 1 { one } else { Type::Array(one.into(), count) };
    let place = Place::Mem { name: name.to_string(), index: None };
    InitItem { place, ty: Some(ty), value, span: Span::default() }
}

/// The initial value of a location.
pub fn held(values: Vec<i128>) -> InitValue {
    match values[..] {
        [one] => InitValue::One(Value::Int(one)),
        _ => InitValue::Array(values.into_iter().map(Value::Int).collect()),
    }
}
