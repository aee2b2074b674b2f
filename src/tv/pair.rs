//! Finds the functions to compare: `@src` and `@tgt` of one module or file, or functions of equal names in two.
//!
//! It does not know what functions do, nor how they are compared.

use litmake_isa::llvm::module::Module;

use super::machine::Function;

/// Two functions to compare.
#[derive(Clone, Debug)]
pub struct Pair {
    /// A name for people: that of the function, or `src` with what follows it.
    pub name: String,
    /// The function before the change.
    pub source: Side,
    /// The function after the change.
    pub target: Side,
    /// Whether the function before the change is C, in which a race has no meaning.
    pub is_c: bool,
}

/// A function in its module, or of machine code.
#[derive(Clone, Debug)]
pub struct Side {
    /// The module, with the functions that it calls. It is empty where the function is machine code.
    pub module: Module,
    /// Its name; that in a module has its sigil.
    pub function: String,
    /// The function, if it is machine code.
    pub machine: Option<Function>,
}

impl Pair {
    /// Whether a function has an atomic operation, a fence or a volatile access itself.
    pub fn is_concurrent(&self) -> bool {
        const WORDS: &[&str] = &["atomic", "atomicrmw", "cmpxchg", "fence", "volatile"];
        [&self.source, &self.target].into_iter().any(|side| {
            let function = side.module.functions.get(&side.function);
            let lines = function.into_iter().flat_map(|f| &f.blocks).flat_map(|b| &b.instructions);
            lines.flatten().any(|word| WORDS.contains(&word.as_str()))
        })
    }
}

/// A holder of functions: a module, or a file of machine code.
pub trait Functions {
    /// Their names. Those of a module have their sigils.
    fn names(&self) -> Vec<&str>;

    /// A function of this name.
    fn side(&self, name: &str) -> Side;
}

impl Functions for Module {
    fn names(&self) -> Vec<&str> {
        self.functions.keys().map(String::as_str).collect()
    }

    fn side(&self, name: &str) -> Side {
        Side { module: self.clone(), function: name.to_string(), machine: None }
    }
}

/// A name without its sigil.
fn bare(name: &str) -> &str {
    name.trim_start_matches('@')
}

/// The function of this name, with or without its sigil.
pub fn named<'f>(functions: &'f dyn Functions, name: &str) -> Option<&'f str> {
    functions.names().into_iter().find(|n| bare(n) == bare(name))
}

/// Two functions as a pair, which is called as the first one.
pub fn pair(before: &dyn Functions, after: &dyn Functions, source: &str, target: &str) -> Pair {
    let (mut one, mut two) = (before.side(source), after.side(target));
    // A module that does not say how values lie in memory is for the other one's target.
    one.module.layout = one.module.layout.or(two.module.layout);
    two.module.layout = two.module.layout.or(one.module.layout);
    Pair { name: bare(source).to_string(), source: one, target: two, is_c: false }
}

/// The pairs in one module or file: each `@srcX` with the `@tgtX` of the same `X`.
pub fn within(all: &dyn Functions) -> Vec<Pair> {
    let mut out = Vec::new();
    for source in all.names() {
        let Some(rest) = bare(source).strip_prefix("src") else { continue };
        if let Some(target) = named(all, &format!("tgt{rest}")) {
            out.push(pair(all, all, source, target));
        }
    }
    out
}

/// The pairs of two modules or files: functions that both have, by name. A `@src` in the first and a `@tgt` in
/// the second are a pair, too.
pub fn between(before: &dyn Functions, after: &dyn Functions) -> Vec<Pair> {
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for source in before.names() {
        let changed = bare(source).strip_prefix("src").map(|rest| format!("tgt{rest}"));
        if let Some(target) = named(after, source) {
            same.push(pair(before, after, source, target));
        } else if let Some(target) = changed.and_then(|name| named(after, &name)) {
            other.push(pair(before, after, source, target));
        }
    }
    same.append(&mut other);
    same
}
