//! Functions of a module of PTX as threads of a litmus test: calls of the module's functions are replaced by
//! their code, parameters by moves of what they are given, the stack by a location, and names by numbers, so
//! that equal code has equal text.
//!
//! PTX is text, so nothing is decoded and nothing simplified: what the compiler wrote is what is simulated. It does not
//! know models, or what instructions do beyond where control goes.

pub mod module;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use litmake_base::diag::Span;
use litmake_base::failure::Failure;
use litmake_isa::functions;
use litmake_isa::ptx::types::{Kind, Type};
use litmake_litmus::{InitItem, Line};
use module::{Function, Module, Statement, Variable};

/// A jump by a table of more targets is refused.
const MOST_TARGETS: usize = 256;

/// How the names of a thread's own variables begin.
const SLOT: &str = "stack";

fn is_slot(name: &str) -> bool {
    let number = name.strip_prefix(SLOT);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// A function as a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its instructions.
    pub lines: Vec<Line>,
    /// The locations that it has beside those of the test.
    pub init: Vec<InitItem>,
}

/// The locations of the test by which a function becomes a thread.
pub struct Given<'a> {
    /// The location behind each parameter.
    pub params: &'a [String],
    /// The locations that are variables, by symbol.
    pub globals: &'a [(String, String)],
}

/// The thread that a function of a module makes.
pub fn thread(module: &Module, function: &str, given: &Given) -> Result<Thread, Failure> {
    let found = module.functions.get(function);
    let f = functions::function(found, function, |f| f.params.len(), given.params.len())?;
    if !f.results.is_empty() {
        return Err(format!("`{function}` has a result, which no thread has").into());
    }
    let mut writer = Writer {
        module,
        given,
        lines: Vec::new(),
        pending: Vec::new(),
        init: BTreeMap::new(),
        registers: BTreeMap::new(),
        labels: 0,
        slots: 0,
    };
    for name in given.params.iter().chain(given.globals.iter().map(|(_, location)| location)) {
        let what = match () {
            () if litmake_isa::ptx::lex::register(name).is_some() => "a register in PTX",
            () if is_slot(name) => "a variable of a thread in PTX",
            () => continue,
        };
        return Err(Failure::unsupported(format!(
            "`{name}` is a location, and the name of {what}"
        )));
    }
    let params = f.params.iter().cloned().zip(given.params.iter().cloned());
    writer.function(f, params.collect(), None, 0)?;
    Ok(writer.finish())
}

struct Written {
    labels: Vec<usize>,
    text: String,
    /// The label that it goes to.
    target: Option<usize>,
}

struct Writer<'a> {
    module: &'a Module,
    given: &'a Given<'a>,
    lines: Vec<Written>,
    /// Labels of the next line.
    pending: Vec<usize>,
    init: BTreeMap<String, InitItem>,
    /// How many registers there are of each kind.
    registers: BTreeMap<&'static str, usize>,
    labels: usize,
    slots: usize,
}

/// The meanings of the names of a function in one copy of it: the innermost group of names is the last.
#[derive(Default)]
struct Names {
    /// Registers that were declared by themselves, and variables, by name.
    exact: Vec<HashMap<String, String>>,
    /// Registers that were declared by a beginning (`%r<9>`), with their kinds.
    families: Vec<(String, &'static str)>,
    labels: HashMap<String, usize>,
    /// The targets of jumps by a table.
    tables: HashMap<String, Vec<String>>,
}

impl Names {
    fn get(&self, name: &str) -> Option<&String> {
        self.exact.iter().rev().find_map(|names| names.get(name))
    }

    fn set(&mut self, name: &str, value: String) {
        if let Some(names) = self.exact.last_mut() {
            names.insert(name.to_string(), value);
        }
    }
}

/// The letters of registers of a type.
fn letters(ty: &str) -> Result<&'static str, Failure> {
    let ty = Type::named(ty.trim_start_matches('.'));
    Ok(match ty.ok_or_else(|| Failure::unsupported("registers of this type"))? {
        Type { kind: Kind::Pred, .. } => "%p",
        Type { bits: 64, .. } => "%rd",
        Type { bits: 16, .. } => "%rs",
        _ => "%r",
    })
}

impl<'a> Writer<'a> {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn fresh(&mut self, letters: &'static str) -> String {
        let count = self.registers.entry(letters).or_default();
        *count += 1;
        format!("{letters}{}", *count - 1)
    }

    fn line(&mut self, text: String, target: Option<usize>) -> Result<(), Failure> {
        functions::check_length(self.lines.len()).map_err(Failure::unsupported)?;
        let labels = std::mem::take(&mut self.pending);
        self.lines.push(Written { labels, text, target });
        Ok(())
    }

    /// A copy of a function's code. `params` says what its parameters and results stand for. `back`
    /// is where it returns to; the thread ends where there is nothing.
    fn function(
        &mut self,
        f: &Function,
        params: HashMap<String, String>,
        back: Option<usize>,
        depth: usize,
    ) -> Result<(), Failure> {
        functions::check_depth(depth).map_err(Failure::unsupported)?;
        let mut names = Names { exact: vec![params, HashMap::new()], ..Names::default() };
        let mut table: Option<&String> = None;
        for statement in &f.body {
            match statement {
                Statement::Line(line) => {
                    if let (Some(name), Some(list)) = (table, line.strip_prefix(".branchtargets "))
                    {
                        let targets = list.split(',').map(|t| t.trim().to_string()).collect();
                        names.tables.insert(name.clone(), targets);
                    }
                    table = None;
                }
                Statement::Label(name) => {
                    let label = self.label();
                    names.labels.insert(name.clone(), label);
                    table = Some(name);
                }
                _ => table = None,
            }
        }
        for statement in &f.body {
            match statement {
                Statement::Open => names.exact.push(HashMap::new()),
                Statement::Close => {
                    names.exact.pop();
                }
                Statement::Label(name) => {
                    if !names.tables.contains_key(name) {
                        self.pending.extend(names.labels.get(name));
                    }
                }
                Statement::Line(line) => {
                    let of = |e: Failure| Failure::new(e.kind, format!("{} (`{line}`)", e.text()));
                    self.statement(line, &mut names, back, depth).map_err(of)?;
                }
            }
        }
        Ok(())
    }

    fn statement(
        &mut self,
        line: &str,
        names: &mut Names,
        back: Option<usize>,
        depth: usize,
    ) -> Result<(), Failure> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            ".reg" => return self.declare_registers(rest, names),
            ".param" => {
                let (ty, name) = rest.split_once(' ').unwrap_or((rest, ""));
                let Ok(letters) = letters(ty) else {
                    return self.slot(line, names);
                };
                let register = self.fresh(letters);
                names.set(name, register);
                return Ok(());
            }
            ".shared" => {
                return Err(Failure::unsupported("variables of a function in shared memory"));
            }
            ".local" => return self.slot(line, names),
            ".branchtargets" => return Ok(()),
            _ if word.starts_with('.') => return Err(Failure::unsupported(format!("`{word}`"))),
            _ => {}
        }
        let (guard, instruction) = match line.strip_prefix('@') {
            Some(guarded) => {
                let (guard, rest) = guarded.split_once(' ').ok_or("expected an instruction")?;
                (format!("@{} ", self.renamed(guard, names)?), rest)
            }
            None => (String::new(), line),
        };
        let (opcode, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        match opcode {
            "ret" | "ret.uni" => match back {
                Some(back) => self.line(format!("{guard}bra "), Some(back)),
                None => self.line(format!("{guard}ret"), None),
            },
            "bra" | "bra.uni" => {
                let target = names.labels.get(operands.trim());
                let target = *target.ok_or_else(|| format!("there is no label `{operands}`"))?;
                self.line(format!("{guard}bra "), Some(target))
            }
            "brx.idx" | "brx.idx.uni" if guard.is_empty() => self.table(operands, names),
            _ if opcode == "call" || opcode == "call.uni" => {
                if !guard.is_empty() {
                    return Err(Failure::unsupported("a call under a condition"));
                }
                self.call(operands, names, depth)
            }
            _ if opcode.starts_with("ld.param.") || opcode.starts_with("st.param.") => {
                self.parameter(&guard, opcode, operands, names)
            }
            _ => {
                let operands = self.renamed(operands, names)?;
                let text = format!("{guard}{opcode} {operands}");
                self.line(text.trim_end().to_string(), None)
            }
        }
    }

    /// A variable of the function, or a parameter that is a list of bytes. Each thread has its own, so that
    /// threads which are equal have equal text.
    fn slot(&mut self, line: &str, names: &mut Names) -> Result<(), Failure> {
        let variable = module::variable(line)?.ok_or_else(|| Failure::unsupported("a variable"))?;
        let name = format!("{SLOT}{}", self.slots);
        self.slots += 1;
        let bytes = variable.unit.saturating_mul(variable.count);
        names.set(&variable.name, name.clone());
        self.line(format!(".local .align 8 .b8 {name}[{bytes}]"), None)
    }

    /// `.reg .b32 %r<9>` or `.reg .b64 %SP, %SPL`.
    fn declare_registers(&mut self, text: &str, names: &mut Names) -> Result<(), Failure> {
        let (ty, list) = text.split_once(' ').ok_or("expected registers")?;
        let letters = letters(ty)?;
        for name in list.split(',').map(str::trim) {
            match name.split_once('<') {
                Some((beginning, _)) => names.families.push((beginning.to_string(), letters)),
                None => {
                    let register = self.fresh(letters);
                    names.set(name, register);
                }
            }
        }
        Ok(())
    }

    /// A jump by a table, as comparisons with each number.
    fn table(&mut self, operands: &str, names: &mut Names) -> Result<(), Failure> {
        let (index, table) = operands.split_once(',').ok_or("expected a table")?;
        let index = self.renamed(index, names)?;
        let targets = names.tables.get(table.trim()).cloned();
        let targets = targets.ok_or_else(|| Failure::unsupported("a table that is not there"))?;
        if targets.len() > MOST_TARGETS {
            return Err(Failure::unsupported("a jump to so many targets"));
        }
        for (number, target) in targets.iter().enumerate() {
            let label = names.labels.get(target);
            let label = *label.ok_or_else(|| format!("there is no label `{target}`"))?;
            if number + 1 == targets.len() {
                return self.line("bra ".to_string(), Some(label));
            }
            let equal = self.fresh("%p");
            self.line(format!("setp.eq.u32 {equal}, {index}, {number}"), None)?;
            self.line(format!("@{equal} bra "), Some(label))?;
        }
        Ok(())
    }

    /// `(retval0), f, (param0, param1)`.
    fn call(&mut self, operands: &str, names: &mut Names, depth: usize) -> Result<(), Failure> {
        let mut parts = Vec::new();
        let (mut level, mut from) = (0usize, 0);
        for (at, c) in operands.char_indices() {
            match c {
                '(' => level += 1,
                ')' => level = level.saturating_sub(1),
                ',' if level == 0 => {
                    parts.push(operands[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            }
        }
        parts.push(operands[from..].trim());
        let list = |text: &str| -> Vec<String> {
            let inner = text.trim_start_matches('(').trim_end_matches(')');
            inner.split(',').map(|n| n.trim().to_string()).filter(|n| !n.is_empty()).collect()
        };
        let results = match parts.first() {
            Some(first) if first.starts_with('(') => list(parts.remove(0)),
            _ => Vec::new(),
        };
        let (name, args) = match parts[..] {
            [name] => (name, Vec::new()),
            [name, args] if args.starts_with('(') => (name, list(args)),
            _ => return Err(Failure::unsupported("a call of what a register holds")),
        };
        if name.starts_with('%') {
            return Err(Failure::unsupported("a call of what a register holds"));
        }
        let module = self.module;
        let Some(f) = module.functions.get(name) else {
            return Err(Failure::unsupported(format!(
                "a call of `{name}`, which the module does not have"
            )));
        };
        if (f.params.len(), f.results.len()) != (args.len(), results.len()) {
            return Err(Failure::unsupported("a call with other arguments than the function"));
        }
        let mut params = HashMap::new();
        for (param, arg) in f.params.iter().zip(&args).chain(f.results.iter().zip(&results)) {
            let value = names
                .get(arg)
                .ok_or_else(|| Failure::unsupported("an argument that is no parameter"))?;
            // Code names one that is a list of bytes without their number.
            let param = param.split('[').next().unwrap_or(param);
            params.insert(param.to_string(), value.clone());
        }
        let after = self.label();
        self.function(f, params, Some(after), depth + 1)?;
        self.pending.push(after);
        Ok(())
    }

    /// A parameter is a register, the address of a location, or memory where it is a list of bytes.
    fn parameter(
        &mut self,
        guard: &str,
        opcode: &str,
        operands: &str,
        names: &mut Names,
    ) -> Result<(), Failure> {
        let word = &opcode["ld.param.".len()..];
        let ty = Type::named(word).filter(|ty| ty.bits >= 8);
        let ty = ty.ok_or_else(|| Failure::unsupported(format!("`{opcode}`")))?;
        let (first, second) = operands.split_once(',').ok_or("expected two operands")?;
        let (place, value) = match opcode.starts_with("ld.") {
            true => (second.trim(), first.trim()),
            false => (first.trim(), second.trim()),
        };
        let inner = place.strip_prefix('[').and_then(|p| p.strip_suffix(']')).unwrap_or(place);
        let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        let memory = names.get(base).filter(|name| is_slot(name)).cloned();
        if let Some(memory) = memory {
            let value = self.renamed(value, names)?;
            let text = match opcode.starts_with("ld.") {
                true => format!("{guard}ld.{word} {value}, [{memory}+{offset}]"),
                false => format!("{guard}st.{word} [{memory}+{offset}], {value}"),
            };
            return self.line(text, None);
        }
        let name = inner.strip_suffix("+0").unwrap_or(inner);
        let param = names.get(name).cloned();
        let param = param.ok_or_else(|| Failure::unsupported("a parameter of several parts"))?;
        let value = self.renamed(value, names)?;
        let (dst, src) = if opcode.starts_with("ld.") { (value, param) } else { (param, value) };
        // Eight bits are no register's width, so that they are taken from one.
        let text = match (ty.bits, ty.is_signed()) {
            (8, true) => format!("{guard}cvt.s16.s8 {dst}, {src}"),
            (8, false) => format!("{guard}cvt.u16.u8 {dst}, {src}"),
            _ => format!("{guard}mov.{word} {dst}, {src}"),
        };
        self.line(text, None)
    }

    /// A text with its names as those of the thread.
    fn renamed(&mut self, text: &str, names: &mut Names) -> Result<String, Failure> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let in_name = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
        while let Some(at) = rest.find(in_name) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
            out.push_str(&self.name(&rest[..end], names)?);
            rest = &rest[end..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn name(&mut self, word: &str, names: &mut Names) -> Result<String, Failure> {
        if let Some(name) = names.get(word) {
            return Ok(name.clone());
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) || word == "_" {
            return Ok(word.to_string());
        }
        // The longest beginning is meant: `%rd1` is none of `%r`.
        let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        let fits = |(b, _): &&(String, &str)| word.strip_prefix(b.as_str()).is_some_and(number);
        let family = names.families.iter().filter(fits).max_by_key(|(b, _)| b.len());
        if let Some((_, letters)) = family {
            let register = self.fresh(letters);
            // All of a function's code sees it.
            if let Some(outer) = names.exact.get_mut(1) {
                outer.insert(word.to_string(), register.clone());
            }
            return Ok(register);
        }
        match word.starts_with('%') {
            true => Err(Failure::unsupported(format!("the special register `{word}`"))),
            false => self.symbol(word),
        }
    }

    /// A variable of the module as a location.
    fn symbol(&mut self, name: &str) -> Result<String, Failure> {
        if let Some((_, location)) = self.given.globals.iter().find(|(symbol, _)| symbol == name) {
            return Ok(location.clone());
        }
        let Some(variable) = self.module.variables.get(name).filter(|v| !v.external) else {
            return Err(Failure::unsupported(format!("`{name}`, which the module does not have")));
        };
        let location = functions::location(name);
        self.declare(&location, variable)?;
        Ok(location)
    }

    fn declare(&mut self, name: &str, variable: &Variable) -> Result<(), Failure> {
        let Variable { unit, count, values, .. } = variable;
        if !matches!(unit, 1 | 2 | 4 | 8) || *count == 0 {
            return Err(Failure::unsupported(format!("the variable `{}`", variable.name)));
        }
        let mut values = match values {
            Some(values) if values.len() as u64 <= *count => values.clone(),
            _ => return Err(Failure::unsupported(format!("what `{}` holds", variable.name))),
        };
        let value = (!values.is_empty()).then(|| {
            values.resize(*count as usize, 0);
            functions::held(values)
        });
        let item = functions::declared(name, *unit, *count, value);
        self.init.entry(name.to_string()).or_insert(item);
        Ok(())
    }

    /// The lines, with the labels that are used, by their places.
    fn finish(mut self) -> Thread {
        if !self.pending.is_empty() {
            let labels = std::mem::take(&mut self.pending);
            self.lines.push(Written { labels, text: "ret".to_string(), target: None });
        }
        let used: BTreeSet<usize> = self.lines.iter().filter_map(|l| l.target).collect();
        let mut numbers = BTreeMap::new();
        for (number, written) in
            self.lines.iter().filter(|l| l.labels.iter().any(|l| used.contains(l))).enumerate()
        {
            numbers.extend(written.labels.iter().map(|l| (*l, number)));
        }
        let lines = self.lines.iter().map(|written| {
            let label = written.labels.iter().find_map(|l| numbers.get(l));
            let target = written.target.and_then(|t| numbers.get(&t));
            Line {
                labels: label.map(|n| format!("L{n}")).into_iter().collect(),
                text: match target {
                    Some(n) => format!("{}L{n}", written.text),
                    None => written.text.clone(),
                },
                span: Span::default(),
            }
        });
        Thread { lines: lines.collect(), init: self.init.into_values().collect() }
    }
}

#[cfg(test)]
mod tests;
