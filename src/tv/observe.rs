//! Makes visible in memory what a function does beside its accesses to memory: volatile accesses, calls of
//! functions that are only declared, and undefined behaviour at `unreachable`.
//!
//! Volatile accesses and calls go into a record, in their order. Only the thread of the function reads or writes the
//! record, so that it makes no event. It does not know contexts or models.

use std::cmp::Ordering;

use litmake_isa::llvm::module::{Declared, Function, Module};

use super::ir::{Read, Scalar, expanded, line, result, split, until_comma};
use litmake_isa::llvm::types::Type;

/// The location of the record.
pub const RECORD: &str = "record";
/// The location of its length.
pub const RECORDED: &str = "recorded";
/// The location that says whether the behaviour is undefined.
pub const UNDEFINED: &str = "undefined_behaviour";
/// How many entries the record has. A longer one is an error of the simulation.
pub const ENTRIES: u64 = 24;

/// What a function that is only declared may do to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it can be left out.
    Nothing,
    /// It may read.
    Reads,
    /// It may do anything, and so everybody sees that it is called.
    Anything,
}

/// A function that is only declared.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// Its name, with the sigil.
    pub name: String,
    /// What it may do.
    pub effect: Effect,
    /// Whether it may synchronise with other threads.
    pub synchronises: bool,
    params: Vec<Scalar>,
    returns: Option<Scalar>,
}

/// A module whose functions record what they do, and the functions that they call and do not have.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The module.
    pub module: Module,
    /// The module without records.
    pub bare: Module,
    /// The functions that are only declared, by name.
    pub calls: Vec<Opaque>,
    /// Whether something is recorded: a volatile access, or a call that everybody sees.
    pub records: bool,
    /// Whether some place is undefined behaviour to reach.
    pub undefined: bool,
}

impl Observed {
    /// Adds records to all functions that a function calls, and to itself.
    pub fn of(module: &Module, function: &str) -> Read<Observed> {
        let mut out = Observed {
            module: Module { functions: Default::default(), ..module.clone() },
            bare: Module { functions: Default::default(), ..module.clone() },
            calls: Vec::new(),
            records: false,
            undefined: false,
        };
        let mut todo = vec![function.to_string()];
        while let Some(name) = todo.pop() {
            if out.module.functions.contains_key(&name) {
                continue;
            }
            let Some(of) = module.functions.get(&name) else {
                return Err(format!("the module has no function {name}"));
            };
            let (recorded, called) = out.function(module, of, true)?;
            out.module.functions.insert(name.clone(), recorded);
            let (bare, _) = out.function(module, of, false)?;
            out.bare.functions.insert(name, bare);
            for name in called {
                if module.functions.contains_key(&name) {
                    todo.push(name);
                } else if let Some(declared) = module.declared.get(&name)
                    && !out.calls.iter().any(|o| o.name == name)
                {
                    out.calls.push(Opaque::of(module, &name, declared)?);
                }
            }
        }
        out.calls.sort_by(|a, b| a.name.cmp(&b.name));
        out.records |= out.calls.iter().any(|c| c.effect == Effect::Anything);
        Ok(out)
    }

    /// The function as it is compared, and the names of those that it calls.
    fn function(
        &mut self,
        module: &Module,
        of: &Function,
        records: bool,
    ) -> Read<(Function, Vec<String>)> {
        let mut out = of.clone();
        let mut called = Vec::new();
        let mut count = 0;
        for block in &mut out.blocks {
            let mut lines = Vec::with_capacity(block.instructions.len());
            for words in std::mem::take(&mut block.instructions) {
                let (_, rest) = split(&words);
                match rest.first().map(String::as_str) {
                    Some("unreachable") => {
                        self.undefined = true;
                        lines.push(line(&format!("store i8 1, ptr @{UNDEFINED}")));
                        let (ty, text) = result(module, &of.returns)?;
                        lines.push(match ty {
                            Type::Void => line("ret void"),
                            _ => line(&format!("ret {text} zeroinitializer")),
                        });
                        continue;
                    }
                    Some("call") => {
                        called.extend(name_called(rest).map(String::from));
                        if let Some(values) = volatile_copy(rest) {
                            self.records = true;
                            count += 1;
                            let lines_of = record(&values, &format!("%tv.volatile.{count}"));
                            lines.extend(lines_of.into_iter().filter(|_| records));
                        }
                    }
                    _ if rest.iter().take(3).any(|w| w == "volatile") => {
                        self.records = true;
                        if records {
                            count += 1;
                            let values = volatile(module, rest)?;
                            lines.extend(record(&values, &format!("%tv.volatile.{count}")));
                        }
                    }
                    _ => {}
                }
                lines.push(words);
            }
            block.instructions = lines;
        }
        Ok((out, called))
    }
}

impl Observed {
    /// Whether values of loads that are not atomic are only moved: returned, stored, chosen. Then undef, where a load
    /// reads it, is seen as it is.
    pub fn only_moves(&self) -> bool {
        const MOVES: &[&str] = &[
            "phi",
            "ret",
            "insertvalue",
            "extractvalue",
            "insertelement",
            "extractelement",
            "shufflevector",
            "freeze",
            "load",
            "alloca",
        ];
        let functions = &self.bare.functions;
        functions.len() == 1
            && functions.values().all(|f| {
                let lines = || f.blocks.iter().flat_map(|b| &b.instructions);
                let mut read: Vec<&str> = Vec::new();
                loop {
                    let before = read.len();
                    for words in lines() {
                        let (name, rest) = split(words);
                        let Some(name) = name.filter(|n| !read.contains(n)) else { continue };
                        let plain = rest[0] == "load" && !rest.iter().any(|w| w == "atomic");
                        if plain || rest.iter().any(|w| read.contains(&w.as_str())) {
                            read.push(name);
                        }
                    }
                    if read.len() == before {
                        break;
                    }
                }
                lines().all(|words| {
                    let (_, rest) = split(words);
                    let has = |words: &[String]| words.iter().any(|w| read.contains(&w.as_str()));
                    match rest.first().map(String::as_str) {
                        // What chooses, and where something is stored, are no mere moves.
                        Some("select") => !has(until_comma(rest).0),
                        Some("store") => !has(until_comma(rest).1),
                        Some(op) => !has(rest) || MOVES.contains(&op) && op != "load",
                        None => true,
                    }
                })
            })
    }
}

/// The function that a call names, unless it is part of the language.
fn name_called(words: &[String]) -> Option<&str> {
    let name = words.iter().find(|w| w.starts_with('@') || *w == "asm")?;
    (name.starts_with('@') && !name.starts_with("@llvm.") && !name.starts_with("@__atomic_"))
        .then_some(name)
}

/// The entry of a volatile copy of memory: a number for its kind, and its arguments.
fn volatile_copy(words: &[String]) -> Option<Vec<(Scalar, Vec<String>)>> {
    const KINDS: [&str; 3] = ["@llvm.memset.", "@llvm.memcpy.", "@llvm.memmove."];
    let at = words.iter().position(|w| w.starts_with('@'))?;
    let kind = KINDS.iter().position(|k| words[at].starts_with(k))?;
    let end = words.iter().rposition(|w| w == ")")?;
    if words[..end].last()? != "true" {
        return None;
    }
    let mut out = vec![(Scalar::Int(64), vec![(10 + kind).to_string()])];
    let mut rest = &words[at + 2..end];
    for _ in 0..3 {
        let (part, behind) = until_comma(rest);
        let scalar = match part.first()?.strip_prefix('i').and_then(|bits| bits.parse().ok()) {
            Some(bits) => Scalar::Int(bits),
            None => Scalar::Pointer,
        };
        out.push((scalar, vec![part.last()?.clone()]));
        rest = behind;
    }
    Some(out)
}

/// The entry of a volatile access: its kind, its address and what it stores.
fn volatile(module: &Module, words: &[String]) -> Read<Vec<(Scalar, Vec<String>)>> {
    let kinds = ["load", "store", "atomicrmw", "cmpxchg"];
    let kind = kinds.iter().position(|k| words[0] == *k).unwrap_or(kinds.len());
    let at = words.iter().position(|w| w == "volatile").unwrap_or(0);
    let mut rest = &words[at + 1..];
    if words[0] == "atomicrmw" {
        rest = &rest[1.min(rest.len())..];
    }
    let mut out = vec![(Scalar::Int(64), vec![(kind + 1).to_string()])];
    // A load has a type first, and the others what they store or where.
    if words[0] == "load" {
        rest = until_comma(rest).1;
    }
    for _ in 0..3 {
        let (part, behind) = until_comma(rest);
        let part = expanded(module, part);
        let view: Vec<&str> = part.iter().map(String::as_str).collect();
        let Ok((ty, n)) = Type::read(&view, module.pointer()) else { break };
        let scalar = match ty {
            Type::Int(bits) if bits <= 64 => Scalar::Int(bits),
            Type::Pointer(_) => Scalar::Pointer,
            _ => return Err("unsupported: a volatile access to such a type".into()),
        };
        let orders =
            ["syncscope", "monotonic", "acquire", "release", "acq_rel", "seq_cst", "unordered"];
        let value = part[n..].iter().take_while(|w| !orders.contains(&w.as_str()));
        out.push((scalar, value.cloned().collect()));
        rest = behind;
    }
    Ok(out)
}

/// Lines that add values to the record. The names of what they compute begin with `prefix`.
fn record(values: &[(Scalar, Vec<String>)], prefix: &str) -> Vec<Vec<String>> {
    let mut out = vec![line(&format!("{prefix}.n = load i64, ptr @{RECORDED}"))];
    for (i, (scalar, value)) in values.iter().enumerate() {
        let value = value.join(" ");
        out.push(line(&format!("{prefix}.i{i} = add i64 {prefix}.n, {i}")));
        out.push(line(&format!(
            "{prefix}.a{i} = getelementptr i64, ptr @{RECORD}, i64 {prefix}.i{i}"
        )));
        let stored = match scalar {
            Scalar::Int(64) => format!("i64 {value}"),
            Scalar::Int(bits) => {
                out.push(line(&format!("{prefix}.w{i} = zext i{bits} {value} to i64")));
                format!("i64 {prefix}.w{i}")
            }
            Scalar::Float(format) => {
                let bits = format.bits();
                out.push(line(&format!(
                    "{prefix}.f{i} = bitcast {} {value} to i{bits}",
                    scalar.text()
                )));
                out.push(line(&format!("{prefix}.w{i} = zext i{bits} {prefix}.f{i} to i64")));
                format!("i64 {prefix}.w{i}")
            }
            Scalar::Pointer => format!("ptr {value}"),
        };
        out.push(line(&format!("store {stored}, ptr {prefix}.a{i}")));
    }
    out.push(line(&format!("{prefix}.m = add i64 {prefix}.n, {}", values.len())));
    out.push(line(&format!("store i64 {prefix}.m, ptr @{RECORDED}")));
    out
}

impl Opaque {
    fn of(module: &Module, name: &str, declared: &Declared) -> Read<Opaque> {
        let scalar = |words: &[String]| -> Read<Scalar> {
            let words = expanded(module, words);
            let view: Vec<&str> = words.iter().map(String::as_str).collect();
            let (ty, _) = Type::read(&view, module.pointer())?;
            match ty {
                Type::Int(bits) if bits <= 64 => Ok(Scalar::Int(bits)),
                Type::Pointer(_) => Ok(Scalar::Pointer),
                Type::Float(format) => Ok(Scalar::Float(format)),
                _ => Err(format!("unsupported: the call of {name}, with such a type")),
            }
        };
        if declared.params.iter().any(|p| p.first().is_some_and(|w| w == "...")) {
            return Err(format!("unsupported: the call of {name}, with any number of arguments"));
        }
        let params = declared.params.iter().map(|p| scalar(p)).collect::<Read<_>>()?;
        let returns = match result(module, &declared.returns)? {
            (Type::Void, _) => None,
            (_, text) => match scalar(&line(&text))? {
                Scalar::Pointer => {
                    return Err(format!(
                        "unsupported: the call of {name}, which returns a pointer"
                    ));
                }
                scalar => Some(scalar),
            },
        };
        let groups = declared.attributes.iter().filter_map(|w| module.groups.get(w)).flatten();
        let words: Vec<&str> =
            declared.attributes.iter().chain(groups).map(String::as_str).collect();
        let has = |phrase: &[&str]| words.windows(phrase.len()).any(|w| w == phrase);
        let effect = match () {
            () if has(&["memory", "(", "none", ")"]) || has(&["readnone"]) => Effect::Nothing,
            () if has(&["memory", "(", "read", ")"]) || has(&["readonly"]) => Effect::Reads,
            () => Effect::Anything,
        };
        let synchronises = effect == Effect::Anything && !has(&["nosync"]);
        Ok(Opaque { name: name.to_string(), effect, synchronises, params, returns })
    }

    /// The function as a context has it: it is recorded, runs some lines, and returns a number. If it only reads, it
    /// returns the value that the lines leave in `read`.
    pub fn body(
        &self,
        number: usize,
        records: bool,
        lines: &[Vec<String>],
        read: Option<&(String, u8)>,
    ) -> Function {
        let params: Vec<String> = (0..self.params.len()).map(|i| format!("%p{i}")).collect();
        let heads = self.params.iter().map(|scalar| vec![scalar.text()]).collect();
        let mut out = Vec::new();
        if self.effect == Effect::Anything && records {
            let id = (Scalar::Int(64), vec![(100 + number).to_string()]);
            let args = self.params.iter().zip(&params).map(|(s, p)| (*s, vec![p.clone()]));
            out.extend(record(&[id].into_iter().chain(args).collect::<Vec<_>>(), "%tv.call"));
        }
        out.extend(lines.iter().cloned());
        out.extend(self.ending(number, read));
        let name = vec![match self.returns {
            None => "void".to_string(),
            Some(scalar) => scalar.text(),
        }];
        let mut function = super::ir::function(out);
        (function.params, function.heads, function.returns) = (params, heads, name);
        function
    }

    /// The lines that return a value.
    fn ending(&self, number: usize, read: Option<&(String, u8)>) -> Vec<Vec<String>> {
        let Some(scalar) = self.returns else { return vec![line("ret void")] };
        let text = scalar.text();
        match (scalar, read) {
            (Scalar::Int(bits), Some((name, size))) => {
                let from = 8 * size;
                let cast = match bits.cmp(&from) {
                    Ordering::Less => format!("trunc i{from} {name} to {text}"),
                    Ordering::Equal => format!("freeze {text} {name}"),
                    Ordering::Greater => format!("zext i{from} {name} to {text}"),
                };
                let cast = line(&format!("%tv.returned = {cast}"));
                vec![cast, line(&format!("ret {text} %tv.returned"))]
            }
            (Scalar::Int(1), _) => vec![line("ret i1 true")],
            (Scalar::Int(_), _) => vec![line(&format!("ret {text} {}", 40 + number))],
            _ => vec![line(&format!("ret {text} zeroinitializer"))],
        }
    }
}
