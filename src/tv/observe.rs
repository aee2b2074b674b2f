//! Makes visible in memory what a function does beside its accesses to memory: volatile accesses, calls of
//! functions that are only declared, and undefined behaviour at `unreachable`.
//!
//! Volatile accesses and calls go into a record, in their order. Only the thread of the function reads or writes the
//! record, so that it makes no event. It does not know contexts or models.

use std::cmp::Ordering;

use litmake_isa::functions::plain;
use litmake_isa::llvm::module::{Declared, Function, Layout, Module};

use super::ir::{Read, Scalar, line, result, scalars, split, until_comma};
use litmake_isa::llvm::types::Type;

/// The location of the record.
pub const RECORD: &str = "record";
/// The location of its length.
pub const RECORDED: &str = "recorded";
/// The location that says whether the behaviour is undefined.
pub const UNDEFINED: &str = "undefined_behaviour";
/// The variable that stands for what is at the address 0.
const NULL: &str = "@null";
/// How the names of variables begin that stand for new memory, which contexts do not know.
pub const NEW: &str = "@new.";
/// How many entries the record has. A longer one is an error of the simulation.
pub const ENTRIES: u64 = 48;

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
    /// Whether it returns memory that nobody else knows (`noalias`).
    fresh: bool,
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
    /// Of machine code, of which nothing beside its accesses to memory is seen.
    pub fn nothing(narrow: bool) -> Observed {
        let layout = Some(Layout { narrow, upper_first: false });
        let module = Module { layout, ..Module::default() };
        Observed {
            bare: module.clone(),
            module,
            calls: Vec::new(),
            records: false,
            undefined: false,
        }
    }

    /// Adds records to all functions that a function calls, and to itself.
    ///
    /// `volatile`: volatile accesses are recorded, too.
    pub fn of(module: &Module, function: &str, volatile: bool) -> Read<Observed> {
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
            let (recorded, called) = out.function(module, of, volatile, name == function)?;
            out.module.functions.insert(name.clone(), recorded);
            let (bare, _) = out.function(module, of, false, false)?;
            out.bare.functions.insert(name, bare);
            for Called { name, declared } in called {
                if module.functions.contains_key(&name) {
                    todo.push(name);
                } else if let Some(declared) = declared {
                    out.opaque(module, &name, &declared)?;
                }
            }
        }
        out.calls.sort_by(|a, b| a.name.cmp(&b.name));
        out.records |= out.calls.iter().any(|c| c.effect == Effect::Anything);
        Ok(out)
    }

    /// Adds a function that is only declared.
    fn opaque(&mut self, module: &Module, name: &str, declared: &Declared) -> Read<()> {
        let call = Opaque::of(module, name, declared)?;
        let known = self.calls.iter().any(|o| o.name == name);
        if known && call.fresh {
            return Err(format!("unsupported: several calls of {name}, which returns new memory"));
        }
        if let Some(variable) = call.returned() {
            self.variable(&variable, "global [ 128 x i64 ] zeroinitializer");
        }
        if !known {
            self.calls.push(call);
        }
        Ok(())
    }

    /// Adds a variable that the module does not have.
    fn variable(&mut self, name: &str, words: &str) {
        for module in [&mut self.module, &mut self.bare] {
            module.variables.insert(name.to_string(), line(words));
        }
    }

    /// The function as it is compared, and those that it calls.
    fn function(
        &mut self,
        module: &Module,
        of: &Function,
        records: bool,
        outermost: bool,
    ) -> Read<(Function, Vec<Called>)> {
        let has_null = module.has(&of.attributes, &["null_pointer_is_valid"]);
        let mut out = of.clone();
        let mut called = Vec::new();
        let mut count = 0;
        for (at, block) in out.blocks.iter_mut().enumerate() {
            // Nothing goes back to the first block of the function that is compared.
            let mut recorded = (outermost && at == 0).then_some(0);
            let mut lines = Vec::with_capacity(block.instructions.len());
            for mut words in std::mem::take(&mut block.instructions) {
                if names_null(&mut words, has_null) {
                    self.variable(NULL, "global i64 0");
                }
                if let Some(call) = Called::of(module, &mut words) {
                    called.push(call);
                    recorded = None;
                }
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
                        if let Some(values) = volatile_copy(rest) {
                            self.records = true;
                            count += 1;
                            let prefix = format!("%tv.volatile.{count}");
                            let lines_of = record(&values, &prefix, &mut recorded);
                            lines.extend(lines_of.into_iter().filter(|_| records));
                        }
                    }
                    _ if rest.iter().take(3).any(|w| w == "volatile") => {
                        self.records = true;
                        if records {
                            count += 1;
                            let prefix = format!("%tv.volatile.{count}");
                            let values = volatile(module, rest, &prefix, &mut lines)?;
                            lines.extend(record(&values, &prefix, &mut recorded));
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

/// A function that is called.
struct Called {
    /// Its name, with the sigil.
    name: String,
    /// What it is declared as, if it has no body.
    declared: Option<Declared>,
}

impl Called {
    /// The function that an instruction calls. One with any number of arguments is another one for each list of them.
    fn of(module: &Module, words: &mut [String]) -> Option<Called> {
        let call = split(words).1;
        if call.first()? != "call" {
            return None;
        }
        let name = name_called(call)?.to_string();
        let mut declared = module.declared.get(&name).cloned();
        let Some(of) = declared.as_mut().filter(|d| d.params.iter().any(|p| p[0] == "...")) else {
            return Some(Called { name, declared });
        };
        let at = words.iter().position(|w| *w == name)?;
        let list = words.get(at + 2..words.iter().rposition(|w| w == ")")?)?;
        of.params.clear();
        let mut rest = list;
        while !rest.is_empty() {
            let (argument, behind) = until_comma(rest);
            of.params.push(argument.to_vec());
            rest = behind;
        }
        let types = of.params.iter().map(|p| plain(&p[0]));
        let name = types.fold(name, |name, ty| format!("{name}.{ty}"));
        words[at] = name.clone();
        Some(Called { name, declared })
    }
}

/// Puts a variable for an address that is `null`, or may be, where an access to that has a meaning: it is volatile, in
/// another address space, or in a function for which null is an address like others.
fn names_null(words: &mut [String], valid: bool) -> bool {
    let at = words.len() - split(words).1.len();
    let (op, rest) = match words[at..].split_first_mut() {
        Some((op, rest)) if ["load", "store", "atomicrmw", "cmpxchg"].contains(&op.as_str()) => {
            (op.clone(), rest)
        }
        _ => return false,
    };
    let volatile = rest.iter().take(3).any(|w| w == "volatile");
    let (first, second) = until_comma(rest);
    let range = match op.as_str() {
        "load" | "store" => rest.len() - second.len()..rest.len(),
        _ => 0..first.len(),
    };
    let address = &mut rest[range];
    let end = until_comma(address).0.len();
    let spaced = address[..end].iter().any(|w| w == "addrspace");
    let open = |w: &&mut String| matches!(w.as_str(), "null" | "undef" | "poison");
    match address[..end].iter_mut().find(open) {
        Some(word) if volatile || spaced || valid => {
            *word = NULL.into();
            true
        }
        _ => false,
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

/// The entry of a volatile access: its kind, its address and what it stores. Parts of aggregates are taken out of them by
/// lines that are added, with names that begin with `prefix`.
fn volatile(
    module: &Module,
    words: &[String],
    prefix: &str,
    lines: &mut Vec<Vec<String>>,
) -> Read<Vec<(Scalar, Vec<String>)>> {
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
        let part = module.expanded(part);
        let view: Vec<&str> = part.iter().map(String::as_str).collect();
        let Ok((ty, n)) = Type::read(&view, module.pointer()) else { break };
        let orders =
            ["syncscope", "monotonic", "acquire", "release", "acq_rel", "seq_cst", "unordered"];
        let value = part[n..].iter().take_while(|w| !orders.contains(&w.as_str()));
        let value: Vec<String> = value.cloned().collect();
        let mut parts = Vec::new();
        scalars(&ty, &mut Vec::new(), &mut parts);
        for (at, scalar) in parts {
            if matches!(scalar, Scalar::Int(65..)) {
                return Err("unsupported: a volatile access to such a type".into());
            }
            if at.is_empty() {
                out.push((scalar, value.clone()));
                continue;
            }
            let name = format!("{prefix}.e{}", out.len());
            let at: Vec<String> = at.iter().map(ToString::to_string).collect();
            let whole = format!("{} {}", part[..n].join(" "), value.join(" "));
            lines.push(line(&format!("{name} = extractvalue {whole}, {}", at.join(", "))));
            out.push((scalar, vec![name]));
        }
        rest = behind;
    }
    Ok(out)
}

/// Lines that add values to the record. The names of what they compute begin with `prefix`. How many values are there
/// already may be known, which saves to look for them.
fn record(
    values: &[(Scalar, Vec<String>)],
    prefix: &str,
    recorded: &mut Option<usize>,
) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    if recorded.is_none() {
        out.push(line(&format!("{prefix}.n = load i64, ptr @{RECORDED}")));
    }
    for (i, (scalar, value)) in values.iter().enumerate() {
        let value = value.join(" ");
        let at = match recorded {
            Some(n) => format!("{}", *n + i),
            None => {
                out.push(line(&format!("{prefix}.i{i} = add i64 {prefix}.n, {i}")));
                format!("{prefix}.i{i}")
            }
        };
        out.push(line(&format!("{prefix}.a{i} = getelementptr i64, ptr @{RECORD}, i64 {at}")));
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
    let after = match recorded {
        Some(n) => {
            *n += values.len();
            n.to_string()
        }
        None => {
            out.push(line(&format!("{prefix}.m = add i64 {prefix}.n, {}", values.len())));
            format!("{prefix}.m")
        }
    };
    out.push(line(&format!("store i64 {after}, ptr @{RECORDED}")));
    out
}

impl Opaque {
    fn of(module: &Module, name: &str, declared: &Declared) -> Read<Opaque> {
        let scalar = |words: &[String]| -> Read<Scalar> {
            let words = module.expanded(words);
            let view: Vec<&str> = words.iter().map(String::as_str).collect();
            let (ty, _) = Type::read(&view, module.pointer())?;
            match ty {
                Type::Int(bits) if bits <= 64 => Ok(Scalar::Int(bits)),
                Type::Pointer(_) => Ok(Scalar::Pointer),
                Type::Float(format) => Ok(Scalar::Float(format)),
                _ => Err(format!("unsupported: the call of {name}, with such a type")),
            }
        };
        let params = declared.params.iter().map(|p| scalar(p)).collect::<Read<_>>()?;
        let returns = match result(module, &declared.returns)? {
            (Type::Void, _) => None,
            (_, text) => Some(scalar(&line(&text))?),
        };
        let has = |phrase: &[&str]| module.has(&declared.attributes, phrase);
        let effect = match () {
            () if has(&["memory", "(", "none", ")"]) || has(&["readnone"]) => Effect::Nothing,
            () if has(&["memory", "(", "read", ")"]) || has(&["readonly"]) => Effect::Reads,
            () => Effect::Anything,
        };
        let synchronises = effect == Effect::Anything && !has(&["nosync"]);
        let fresh =
            returns == Some(Scalar::Pointer) && declared.returns.iter().any(|w| w == "noalias");
        Ok(Opaque { name: name.to_string(), effect, synchronises, params, returns, fresh })
    }

    /// A number that stands for the function, from 0 to 999, whichever others are called.
    fn number(&self) -> u64 {
        let add = |sum: u64, byte: u8| (31 * sum + u64::from(byte)) % 1000;
        self.name.bytes().fold(7, add)
    }

    /// The variable whose address it returns, if it returns one.
    pub fn returned(&self) -> Option<String> {
        let kind = if self.fresh { NEW } else { "@from." };
        (self.returns == Some(Scalar::Pointer)).then(|| format!("{kind}{}", &self.name[1..]))
    }

    /// The function as a context has it: it is recorded, runs some lines, and returns a number. If it only reads, it
    /// returns the value that the lines leave in `read`.
    pub fn body(
        &self,
        records: bool,
        lines: &[Vec<String>],
        read: Option<&(String, u8)>,
    ) -> Function {
        let params: Vec<String> = (0..self.params.len()).map(|i| format!("%p{i}")).collect();
        let heads = self.params.iter().map(|scalar| vec![scalar.text()]).collect();
        let mut out = Vec::new();
        if self.effect == Effect::Anything && records {
            let id = (Scalar::Int(64), vec![(100 + self.number()).to_string()]);
            let args = self.params.iter().zip(&params).map(|(s, p)| (*s, vec![p.clone()]));
            out.extend(record(
                &[id].into_iter().chain(args).collect::<Vec<_>>(),
                "%tv.call",
                &mut None,
            ));
        }
        out.extend(lines.iter().cloned());
        out.extend(self.ending(read));
        let name = vec![match self.returns {
            None => "void".to_string(),
            Some(scalar) => scalar.text(),
        }];
        let mut function = super::ir::function(out);
        (function.params, function.heads, function.returns) = (params, heads, name);
        function
    }

    /// The lines that return a value.
    fn ending(&self, read: Option<&(String, u8)>) -> Vec<Vec<String>> {
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
            (Scalar::Int(_), _) => vec![line(&format!("ret {text} {}", 40 + self.number() % 60))],
            (Scalar::Pointer, _) => {
                vec![line(&format!("ret ptr {}", self.returned().unwrap_or_default()))]
            }
            _ => vec![line(&format!("ret {text} zeroinitializer"))],
        }
    }
}
