//! Finds the functions to compare in modules: `@src` and `@tgt` of one module, or functions of equal
//! names in two.
//!
//! It does not know what functions do, nor how they are compared.

use litmake_isa::llvm::module::Module;

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

/// A function in its module.
#[derive(Clone, Debug)]
pub struct Side {
    /// The module, with the functions that it calls.
    pub module: Module,
    /// Its name, with the sigil.
    pub function: String,
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

/// The pairs in one module: each `@srcX` with the `@tgtX` of the same `X`.
pub fn within(module: &Module) -> Vec<Pair> {
    let sources = module.functions.keys().filter_map(|name| name.strip_prefix("@src"));
    let pair = |rest: &str| {
        let target = format!("@tgt{rest}");
        let side = |function: String| Side { module: module.clone(), function };
        module.functions.contains_key(&target).then(|| Pair {
            name: format!("src{rest}"),
            source: side(format!("@src{rest}")),
            target: side(target),
            is_c: false,
        })
    };
    sources.filter_map(pair).collect()
}

/// The pairs of two modules: functions that both have, by name. A `@src` in the first and a `@tgt` in
/// the second are a pair, too. A module that does not say how values lie in memory is for the other one's target.
pub fn between(before: &Module, after: &Module) -> Vec<Pair> {
    let with = |module: &Module, other: &Module| {
        let layout = module.layout.or(other.layout);
        Module { layout, ..module.clone() }
    };
    let (before, after) = (with(before, after), with(after, before));
    let pair = |name: &str, source: &str, target: &str| Pair {
        name: name.trim_start_matches('@').to_string(),
        source: Side { module: before.clone(), function: source.to_string() },
        target: Side { module: after.clone(), function: target.to_string() },
        is_c: false,
    };
    let both = before.functions.keys().filter(|name| after.functions.contains_key(*name));
    let mut out: Vec<Pair> = both.map(|name| pair(name, name, name)).collect();
    for name in before.functions.keys() {
        let Some(rest) = name.strip_prefix("@src") else { continue };
        let target = format!("@tgt{rest}");
        if !after.functions.contains_key(name) && after.functions.contains_key(&target) {
            out.push(pair(name, name, &target));
        }
    }
    out
}
