//! The parts that writers of tests in other languages share: expressions as another language writes
//! them, and the page that a function is written on. It knows no language.

use std::collections::HashMap;

use litmake_base::failure::Failure;
use litmake_litmus::Type;
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

/// The type of a value of C; `what` names it where it has none.
pub fn value_type(ty: &Type, what: &str) -> Result<ValueType, Failure> {
    ValueType::of(ty).ok_or_else(|| Failure::unsupported(format!("{what} of this type")))
}

/// An expression that can be read and assigned.
pub enum Lvalue {
    Local(String, ValueType),
    /// A pointer, and the type of the object there.
    Memory(String, Type),
}

/// The text of a function, and the names that are declared where it stands.
pub struct Page {
    pub text: String,
    depth: usize,
    scopes: Vec<HashMap<String, ValueType>>,
}

impl Page {
    /// A page inside of a function.
    pub fn new() -> Page {
        Page { text: String::new(), depth: 1, scopes: vec![HashMap::new()] }
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Writes the line that begins a block.
    pub fn open(&mut self, head: &str) {
        self.line(head);
        self.enter();
    }

    /// Ends a block.
    pub fn close(&mut self) {
        self.leave();
        self.line("}");
    }

    /// Goes into a block.
    pub fn enter(&mut self) {
        self.depth += 1;
        self.scopes.push(HashMap::new());
    }

    /// Leaves the block.
    pub fn leave(&mut self) {
        self.depth -= 1;
        self.scopes.pop();
    }

    /// Declares a local in the innermost block.
    pub fn declare(&mut self, name: &str, ty: ValueType) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), ty);
        }
    }

    /// The type of a local.
    pub fn local(&self, name: &str) -> Option<ValueType> {
        self.scopes.iter().rev().find_map(|s| s.get(name)).cloned()
    }

    /// The type of a name that has to be declared.
    pub fn declared(&self, name: &str) -> Result<ValueType, Failure> {
        let undeclared = || Failure::unsupported(format!("`{name}` is not declared here"));
        self.local(name).ok_or_else(undeclared)
    }
}
