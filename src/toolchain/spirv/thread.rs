//! Makes a thread from a function of a module. Calls are replaced by the code of the called
//! functions, parameters by variables for the locations behind them, and names by names that say
//! what they stand for.
//!
//! Errors are the names of what is not supported. It does not know models, and of instructions only those that transfer control.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Function, Line, Module};
use super::reached;
use litmake_base::diag::Span;
use litmake_isa::functions::{self, plain};
use litmake_litmus::{InitItem, Line as Text};

pub struct Thread {
    pub lines: Vec<Text>,
    pub init: Vec<InitItem>,
}

/// Makes a thread from a function. `params` are the locations behind its parameters.
pub fn thread(
    module: &Module,
    function: &str,
    params: &[String],
    globals: &[(String, String)],
    workgroup: Option<u32>,
) -> Result<Thread, String> {
    let found = module.exported.get(function).and_then(|id| module.functions.get(id));
    let f = functions::function(found, function, |f| f.params.len(), params.len())?;
    let mut writer = Writer::new(module);
    writer.workgroup = workgroup;
    let narrowed;
    let f = match workgroup {
        Some(number) => {
            narrowed = reached::narrow(module, f, number);
            &narrowed
        }
        None => f,
    };
    let mut args = Vec::new();
    for ((_, ty), location) in f.params.iter().zip(params) {
        args.push(writer.parameter(ty, location)?);
    }
    writer.function(f, args, None, 0)?;
    writer.finish(globals)
}

/// A word of a line. Names of the module are kept apart from names that are made here.
#[derive(Clone, Debug)]
enum Piece {
    Word(String),
    /// A name in the module: a type, a constant or a variable.
    Declared(String),
    /// A value or label of the thread.
    Made(usize),
    /// The label at the end of a block in a copy of a function.
    End(usize, String),
}

struct Written {
    result: Option<Piece>,
    op: String,
    operands: Vec<Piece>,
}

struct Writer<'a> {
    module: &'a Module,
    declared: BTreeMap<&'a str, &'a Line>,
    /// The variables for locations behind parameters: storage class, type, name.
    parameters: Vec<(String, String, String)>,
    lines: Vec<Written>,
    made: usize,
    copies: usize,
    /// The number of the thread's workgroup.
    workgroup: Option<u32>,
    ends: BTreeMap<(usize, String), usize>,
}

/// Where a called function returns to, and the values that it returns.
struct Return {
    after: usize,
    values: Vec<(Option<Piece>, usize)>,
}

impl<'a> Writer<'a> {
    fn new(module: &'a Module) -> Writer<'a> {
        let named = |line: &'a Line| Some((line.result.as_deref()?, line));
        Writer {
            module,
            declared: module.declarations.iter().filter_map(named).collect(),
            parameters: Vec::new(),
            lines: Vec::new(),
            made: 0,
            copies: 0,
            workgroup: None,
            ends: BTreeMap::new(),
        }
    }

    fn fresh(&mut self) -> usize {
        self.made += 1;
        self.made - 1
    }

    fn line(
        &mut self,
        result: Option<Piece>,
        op: &str,
        operands: Vec<Piece>,
    ) -> Result<(), String> {
        functions::check_length(self.lines.len())?;
        self.lines.push(Written { result, op: op.to_string(), operands });
        Ok(())
    }

    /// The variable for a location behind a parameter.
    fn parameter(&mut self, ty: &str, location: &str) -> Result<Piece, String> {
        let pointer = self.declared.get(ty).filter(|line| line.op == "OpTypePointer");
        let pointer = pointer.ok_or("a parameter that is no pointer")?;
        let class = &pointer.operands[0];
        if matches!(class.as_str(), "Function" | "Private") {
            return Err(format!(
                "`{location}` is behind a pointer to the invocation's own memory ({class}): \
                 compile for pointers to memory that is shared, such as `global` ones of OpenCL C"
            ));
        }
        if class == "Generic" {
            return Err(format!(
                "`{location}` is behind a pointer whose storage class is open (Generic)"
            ));
        }
        self.parameters.push((class.clone(), ty.to_string(), location.to_string()));
        Ok(Piece::Word(format!("%{location}")))
    }

    fn function(
        &mut self,
        f: &Function,
        args: Vec<Piece>,
        mut back: Option<&mut Return>,
        depth: usize,
    ) -> Result<(), String> {
        functions::check_depth(depth)?;
        self.copies += 1;
        let copy = self.copies - 1;
        let mut names: BTreeMap<&str, Piece> = BTreeMap::new();
        for ((param, _), arg) in f.params.iter().zip(args) {
            names.insert(param, arg);
        }
        for line in &f.body {
            if let Some(result) = &line.result {
                let made = self.fresh();
                names.insert(result, Piece::Made(made));
            }
        }
        let mut block = (String::new(), 0);
        for line in &f.body {
            let result = line.result.as_ref().map(|r| names[r.as_str()].clone());
            let word = |word: &String| match names.get(word.as_str()) {
                Some(piece) => piece.clone(),
                None if word.starts_with('%') => Piece::Declared(word.clone()),
                None => Piece::Word(word.clone()),
            };
            let operands: Vec<Piece> = line.operands.iter().map(word).collect();
            match (line.op.as_str(), &result) {
                ("OpLabel", Some(Piece::Made(label))) => {
                    let name = line.result.clone().unwrap_or_default();
                    block = (name, *label);
                    self.ends.insert((copy, block.0.clone()), *label);
                    self.line(result, "OpLabel", operands)?;
                }
                ("OpReturn" | "OpReturnValue", _) if back.is_some() => {
                    let Some(back) = &mut back else { continue };
                    back.values.push((operands.first().cloned(), block.1));
                    let after = back.after;
                    self.line(None, "OpBranch", vec![Piece::Made(after)])?;
                }
                ("OpReturnValue", _) => self.line(None, "OpReturn", Vec::new())?,
                ("OpFunctionCall", _) => {
                    let called = line.operands.get(1).and_then(|f| self.module.functions.get(f));
                    let Some(called) =
                        called.filter(|f| f.body.first().is_some_and(|l| l.op == "OpLabel"))
                    else {
                        let name = self.spelt(line.operands.get(1).map_or("", String::as_str));
                        return Err(format!("a call of `{name}`, which is no function here"));
                    };
                    if called.params.len() + 2 != operands.len() {
                        return Err("a call with other arguments than the function has".into());
                    }
                    let mut after = Return { after: self.fresh(), values: Vec::new() };
                    // The copy of the function first makes a name for its first block.
                    let entry = Piece::Made(self.made);
                    self.line(None, "OpBranch", vec![entry])?;
                    self.function(called, operands[2..].to_vec(), Some(&mut after), depth + 1)?;
                    self.line(Some(Piece::Made(after.after)), "OpLabel", Vec::new())?;
                    block.1 = after.after;
                    self.ends.insert((copy, block.0.clone()), after.after);
                    self.returned(result, &operands[0], after.values)?;
                }
                ("OpPhi", _) => {
                    let mut pieces = operands;
                    for (n, piece) in pieces.iter_mut().enumerate().skip(2).step_by(2) {
                        *piece = Piece::End(copy, line.operands[n].clone());
                    }
                    self.line(result, "OpPhi", pieces)?;
                }
                (op, _) => self.line(result, op, operands)?,
            }
        }
        Ok(())
    }

    /// The result of a call: the value of the return that was taken.
    fn returned(
        &mut self,
        result: Option<Piece>,
        ty: &Piece,
        values: Vec<(Option<Piece>, usize)>,
    ) -> Result<(), String> {
        if values.iter().all(|(value, _)| value.is_none()) {
            return Ok(());
        }
        let mut operands = vec![ty.clone()];
        for (value, from) in values {
            operands.extend([value.ok_or("a return without a value")?, Piece::Made(from)]);
        }
        self.line(result, "OpPhi", operands)
    }

    /// The exported name of something.
    fn spelt(&self, id: &str) -> String {
        let exported = self.module.exported.iter().find(|(_, i)| *i == id);
        exported.map_or_else(|| id.trim_start_matches('%').to_string(), |(name, _)| name.clone())
    }

    /// The module's names that the code needs, directly or through other declarations.
    fn needed(&self) -> BTreeSet<&str> {
        let mut todo: Vec<&str> = self.parameters.iter().map(|(_, ty, _)| ty.as_str()).collect();
        for line in &self.lines {
            for piece in line.operands.iter().chain(&line.result) {
                if let Piece::Declared(id) = piece {
                    todo.push(id);
                }
            }
        }
        let mut out = BTreeSet::new();
        while let Some(id) = todo.pop() {
            if out.insert(id)
                && let Some(line) = self.declared.get(id)
            {
                todo.extend(
                    line.operands.iter().filter(|o| o.starts_with('%')).map(String::as_str),
                );
            }
        }
        out
    }

    /// The lines of the thread: the needed declarations, then its code.
    fn finish(self, globals: &[(String, String)]) -> Result<Thread, String> {
        let needed = self.needed();
        let mut names = Names::default();
        names.used.extend(self.parameters.iter().map(|(_, _, location)| location.clone()));
        names.used.extend(globals.iter().map(|(_, location)| location.clone()));
        let mut init = Vec::new();
        let mut declarations = Vec::new();
        for line in &self.module.declarations {
            let Some(id) = line.result.as_deref().filter(|id| needed.contains(id)) else {
                continue;
            };
            // Built-in values belong to the invocation.
            let line = &own(line);
            let class = line.operands.get(1).map(String::as_str);
            if let Some(what) = self.module.built_in.get(id)
                && line.op == "OpVariable"
            {
                names.known.insert(id.to_string(), format!("%{what}"));
                declarations.extend(self.given(id, what, line, &mut names)?);
                continue;
            }
            if line.op == "OpVariable" && class != Some("Private") {
                let symbol = self.spelt(id);
                let known = globals.iter().find(|(symbol_, _)| *symbol_ == symbol);
                let location = match known {
                    Some((_, location)) => location.clone(),
                    None => functions::location(&symbol),
                };
                names.known.insert(id.to_string(), format!("%{location}"));
                if let Some(value) = line.operands.get(2).filter(|_| known.is_none()) {
                    init.push(self.holds(&location, value)?);
                }
                let without = Line { operands: line.operands[..2].to_vec(), ..line.clone() };
                declarations.push(without);
                continue;
            }
            names.declare(line);
            declarations.push(line.clone());
        }
        let decorated =
            |line: &&Line| line.operands.first().is_some_and(|id| needed.contains(id.as_str()));
        let layout = self.module.layout.iter().filter(decorated);
        let mut lines = Vec::new();
        for line in self.module.model.iter().chain(layout).chain(&declarations) {
            lines.push(line.text(|id| names.of(id)));
        }
        // Several parameters may have one location, which a thread declares once.
        let mut seen = BTreeSet::new();
        for (class, ty, location) in &self.parameters {
            if seen.insert(location) {
                lines.push(format!("%{location} = OpVariable {} {class}", names.of(ty)));
            }
        }
        // Values are numbered in order.
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        for line in &self.lines {
            if let Some(Piece::Made(made)) = line.result {
                let n = numbers.len();
                numbers.insert(made, n);
            }
        }
        for line in &self.lines {
            let mut text = String::new();
            let word = |piece: &Piece| -> Result<String, String> {
                let made = |made: &usize| {
                    let number = numbers.get(made).ok_or("a name that nothing defines")?;
                    Ok::<String, String>(format!("%{number}"))
                };
                match piece {
                    Piece::Word(word) => Ok(word.clone()),
                    Piece::Declared(id) => Ok(names.of(id)),
                    Piece::Made(n) => made(n),
                    Piece::End(copy, block) => {
                        let end = self.ends.get(&(*copy, block.clone()));
                        made(end.ok_or("a block without an end")?)
                    }
                }
            };
            if let Some(result) = &line.result {
                text = format!("{} = ", word(result)?);
            }
            text.push_str(&line.op);
            for operand in &line.operands {
                text.push(' ');
                text.push_str(&word(operand)?);
            }
            lines.push(text);
        }
        let line = |text| Text { labels: Vec::new(), text, span: Span::default() };
        Ok(Thread { lines: lines.into_iter().map(line).collect(), init })
    }

    /// A private variable that holds a built-in value: the number of the workgroup, which has one
    /// dimension.
    fn given(
        &self,
        id: &str,
        what: &str,
        line: &Line,
        names: &mut Names,
    ) -> Result<Vec<Line>, String> {
        let unknown = || format!("the built-in variable {what}");
        let number = self.workgroup.filter(|_| what == "WorkgroupId").ok_or_else(unknown)?;
        let pointer = self.declared.get(line.operands[0].as_str()).ok_or_else(unknown)?;
        let vector = pointer.operands.get(1).ok_or_else(unknown)?;
        let scalar = self.declared.get(vector.as_str()).and_then(|v| v.operands.first());
        let scalar = scalar.ok_or_else(unknown)?;
        let new = |result: String, op: &str, operands: Vec<String>| Line {
            result: Some(result),
            op: op.to_string(),
            operands,
        };
        let parts: Vec<String> = (0..3).map(|n| format!("{id}_{n}")).collect();
        let mut out = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            let value = if n == 0 { number } else { 0 };
            out.push(new(part.clone(), "OpConstant", vec![scalar.clone(), value.to_string()]));
        }
        let whole = format!("{id}_all");
        let operands = [vec![vector.clone()], parts].concat();
        out.push(new(whole.clone(), "OpConstantComposite", operands));
        out.iter().for_each(|line| names.declare(line));
        let operands = vec![line.operands[0].clone(), "Private".into(), whole];
        out.push(new(id.to_string(), "OpVariable", operands));
        Ok(out)
    }

    /// The initial value of a variable of the module.
    fn holds(&self, location: &str, value: &str) -> Result<InitItem, String> {
        let unknown = || format!("what the variable `{location}` holds");
        let line = self.declared.get(value).ok_or_else(unknown)?;
        let ty = self.declared.get(line.operands[0].as_str()).ok_or_else(unknown)?;
        let number = match line.op.as_str() {
            "OpConstant" => line.operands[1].parse().map_err(|_| unknown())?,
            "OpConstantNull" | "OpUndef" => 0,
            _ => return Err(unknown()),
        };
        let bits: Option<u8> = match ty.op.as_str() {
            "OpTypeInt" => ty.operands[0].parse().ok(),
            _ => None,
        };
        let bytes = bits.ok_or_else(unknown)? / 8;
        Ok(functions::declared(location, bytes.into(), 1, Some(functions::held(vec![number]))))
    }
}

/// The declaration with input variables in private memory.
fn own(line: &Line) -> Line {
    let mut out = line.clone();
    let class = match out.op.as_str() {
        "OpTypePointer" => 0,
        "OpVariable" => 1,
        _ => return out,
    };
    if out.operands.get(class).is_some_and(|c| c == "Input") {
        out.operands[class] = "Private".to_string();
    }
    out
}

/// Names of declarations, made from their content.
#[derive(Default)]
struct Names {
    known: BTreeMap<String, String>,
    used: BTreeSet<String>,
}

impl Names {
    fn of(&self, id: &str) -> String {
        self.known.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn declare(&mut self, line: &Line) {
        let Some(id) = &line.result else { return };
        let operand = |i: usize| line.operands.get(i).map_or("", String::as_str);
        let word = |i: usize| plain(self.of(operand(i)).trim_start_matches('%'));
        let name = match line.op.as_str() {
            "OpTypeVoid" => "void".to_string(),
            "OpTypeBool" => "bool".to_string(),
            "OpTypeInt" => {
                let sign = if operand(1) == "1" { "int" } else { "uint" };
                format!("{sign}{}", operand(0))
            }
            "OpTypePointer" => format!("{}_{}", operand(0), word(1)),
            "OpConstantTrue" => "true".to_string(),
            "OpConstantFalse" => "false".to_string(),
            "OpConstantNull" => format!("{}_null", word(0)),
            "OpConstant" => format!("{}_{}", word(0), operand(1).replace('-', "n")),
            "OpExtInstImport" => "set".to_string(),
            op if op.starts_with("OpType") => op.trim_start_matches("OpType").to_lowercase(),
            _ => "constant".to_string(),
        };
        let mut unique = name.clone();
        for n in 2.. {
            if self.used.insert(unique.clone()) {
                break;
            }
            unique = format!("{name}_{n}");
        }
        self.known.insert(id.clone(), format!("%{unique}"));
    }
}
