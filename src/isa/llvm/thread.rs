//! Makes a thread of a litmus test from a function of a module. Calls are replaced by the code of
//! the called functions, parameters by the locations behind them, stack slots by locations, and
//! names by numbers, so that equal code has equal text.
//!
//! It does not know passes or models, and of instructions only those that transfer control.

use std::collections::BTreeMap;

use super::module::{Block, Function, Module};
use super::types::{Scalar, Type, skip};
use crate::functions;
use litmake_base::diag::Span;
use litmake_litmus::{InitItem, Line};

/// A function as a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The code, in the dialect of intermediate code.
    pub lines: Vec<Line>,
    /// The locations in addition to those of the test.
    pub init: Vec<InitItem>,
    /// Whether some value is undetermined (`undef`, `poison`).
    pub open: bool,
}

/// The context in which a function becomes a thread.
pub struct Given<'a> {
    /// The module with the functions that it calls.
    pub module: &'a Module,
    /// The number of the thread.
    pub thread: usize,
    /// The location behind each parameter.
    pub params: &'a [String],
    /// The locations that are variables, by symbol.
    pub globals: &'a [(String, String)],
}

/// Makes a thread from a function of a module.
pub fn thread(function: &str, given: &Given) -> Result<Thread, String> {
    let symbol = format!("@{function}");
    let found = given.module.functions.get(&symbol);
    let f = functions::function(found, function, |f| f.params.len(), given.params.len())?;
    let args = given.params.iter().map(|p| vec![format!("@{p}")]).collect();
    let mut writer = Writer::new(given);
    writer.function(f, args, None, 0)?;
    writer.finish()
}

/// A token of a line. The labels in a phi instruction are filled in when all lines are written.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The label at the end of a block in a copy of a function.
    End(usize, usize),
}

struct Written {
    label: Option<usize>,
    pieces: Vec<Piece>,
}

struct Writer<'a> {
    given: &'a Given<'a>,
    lines: Vec<Written>,
    init: BTreeMap<String, InitItem>,
    values: usize,
    labels: usize,
    slots: usize,
    copies: usize,
    /// The label at the end of each block of each copy.
    ends: BTreeMap<(usize, usize), usize>,
    open: bool,
}

/// Where a called function returns to, and the values that it returns.
struct Return {
    after: usize,
    values: Vec<(Vec<String>, usize)>,
}

/// The names in one copy of a function.
struct Names<'f> {
    copy: usize,
    values: BTreeMap<&'f str, Vec<String>>,
    blocks: BTreeMap<&'f str, (usize, usize)>,
}

impl<'a> Writer<'a> {
    fn new(given: &'a Given<'a>) -> Writer<'a> {
        Writer {
            given,
            lines: Vec::new(),
            init: BTreeMap::new(),
            values: 0,
            labels: 0,
            slots: 0,
            copies: 0,
            ends: BTreeMap::new(),
            open: false,
        }
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn fresh(&mut self) -> String {
        self.values += 1;
        format!("%{}", self.values - 1)
    }

    fn line(&mut self, label: &mut Option<usize>, pieces: Vec<Piece>) -> Result<(), String> {
        functions::check_length(self.lines.len()).map_err(unsupported)?;
        self.lines.push(Written { label: label.take(), pieces });
        Ok(())
    }

    fn function(
        &mut self,
        f: &Function,
        args: Vec<Vec<String>>,
        mut back: Option<&mut Return>,
        depth: usize,
    ) -> Result<(), String> {
        functions::check_depth(depth).map_err(unsupported)?;
        self.copies += 1;
        let copy = self.copies - 1;
        let mut names = Names { copy, values: BTreeMap::new(), blocks: BTreeMap::new() };
        for (param, arg) in f.params.iter().zip(args) {
            names.values.insert(param, arg);
        }
        for (i, block) in f.blocks.iter().enumerate() {
            let label = self.label();
            names.blocks.insert(&block.name, (label, i));
            for words in &block.instructions {
                if let [name, eq, rest @ ..] = &words[..]
                    && eq == "="
                {
                    let value = match rest.first().map(String::as_str) {
                        Some("alloca") if i == 0 => self.slot(rest)?,
                        Some("alloca") => {
                            return Err(
                                "unsupported: a stack slot that is made more than once".into()
                            );
                        }
                        _ => self.fresh(),
                    };
                    names.values.insert(name, vec![value]);
                }
            }
        }
        for (i, block) in f.blocks.iter().enumerate() {
            self.block(i, block, &names, &mut back, depth)?;
        }
        Ok(())
    }

    /// The location for a stack slot.
    fn slot(&mut self, words: &[String]) -> Result<String, String> {
        let expanded = self.given.module.expanded(&words[1..]);
        let rest: Vec<&str> = expanded.iter().map(String::as_str).collect();
        let rest = rest.strip_prefix(&["inalloca"]).unwrap_or(&rest);
        let pointer = self.given.module.pointer();
        let (mut ty, n) = Type::read(rest, pointer)?;
        match rest.get(n..) {
            None | Some([] | [",", "addrspace", ..]) => {}
            Some([",", count @ ..]) => {
                let (_, n) = Type::read(count, pointer)?;
                let count = count.get(n).and_then(|n| n.parse().ok());
                let count = count.ok_or("unsupported: a stack slot of a size that is computed")?;
                ty = Type::Array(count, ty.into());
            }
            _ => return Err("unsupported: such a stack slot".into()),
        }
        let name = format!("stack_{}_{}", self.given.thread, self.slots);
        self.slots += 1;
        let (unit, count) = match ty.size() {
            0 => (1, 1),
            n @ (1 | 2 | 4 | 8 | 16) => (n, 1),
            n if n % 8 == 0 => (8, n / 8),
            n => (1, n),
        };
        self.init.insert(name.clone(), functions::declared(&name, unit, count, None));
        Ok(format!("@{name}"))
    }

    fn block(
        &mut self,
        index: usize,
        block: &Block,
        names: &Names,
        back: &mut Option<&mut Return>,
        depth: usize,
    ) -> Result<(), String> {
        let first = names.blocks[block.name.as_str()].0;
        let mut label = Some(first);
        let mut current = first;
        for words in &block.instructions {
            let (dst, rest) = match &words[..] {
                [name, eq, rest @ ..] if eq == "=" => (Some(name.as_str()), rest),
                rest => (None, rest),
            };
            match rest.first().map(String::as_str) {
                Some("alloca") => continue,
                Some("ret") => {
                    let Some(back) = back else {
                        self.line(&mut label, text("ret void"))?;
                        continue;
                    };
                    let value: Vec<String> = match rest.get(1).map(String::as_str) {
                        None | Some("void") => Vec::new(),
                        Some(_) => self.words(&rest[1..], names)?,
                    };
                    back.values.push((value, current));
                    let after = back.after;
                    self.line(&mut label, text(&format!("br label %L{after}")))?;
                }
                Some("call") => {
                    let function = self.called(rest);
                    let Some((f, list)) = function else {
                        let pieces = self.pieces(dst, rest, names)?;
                        self.line(&mut label, pieces)?;
                        continue;
                    };
                    let args = self.arguments(list, names)?;
                    if args.len() != f.params.len() {
                        return Err(
                            "unsupported: a call with other arguments than the function".into()
                        );
                    }
                    let after = self.label();
                    let entry = self.labels;
                    self.line(&mut label, text(&format!("br label %L{entry}")))?;
                    let mut returned = Return { after, values: Vec::new() };
                    self.function(f, args, Some(&mut returned), depth + 1)?;
                    label = Some(after);
                    current = after;
                    if let Some(dst) = dst {
                        let dst = names.values[dst].join(" ");
                        let phi = phi(&dst, &returned.values)?;
                        self.line(&mut label, text(&phi))?;
                    }
                }
                Some("phi") => {
                    let mut pieces = self.pieces(dst, rest, names)?;
                    // In `[ value, %block ]`, the label is the one at the end of the block.
                    for i in 0..pieces.len().saturating_sub(1) {
                        if let (Piece::Text(name), Piece::Text(close)) =
                            (&pieces[i], &pieces[i + 1])
                            && close == "]"
                            && let Some(number) = name.strip_prefix("%L")
                            && let Ok(number) = number.parse::<usize>()
                            && let Some((_, at)) = names.blocks.values().find(|(l, _)| *l == number)
                        {
                            pieces[i] = Piece::End(names.copy, *at);
                        }
                    }
                    self.line(&mut label, pieces)?;
                }
                _ => {
                    let pieces = self.pieces(dst, rest, names)?;
                    self.line(&mut label, pieces)?;
                }
            }
        }
        // A block whose instructions were all left out.
        if label.is_some() {
            self.line(&mut label, Vec::new())?;
        }
        self.ends.insert((names.copy, index), current);
        Ok(())
    }

    /// The function that a call runs, if the module has it, and the words of its arguments.
    fn called<'w>(&self, words: &'w [String]) -> Option<(&'a Function, &'w [String])> {
        let at = words.iter().position(|w| w.starts_with('@') || w == "asm")?;
        let f = self.given.module.functions.get(&words[at])?;
        let rest = &words[at + 1..];
        let view: Vec<&str> = rest.iter().map(String::as_str).collect();
        Some((f, &rest[..skip(&view)?]))
    }

    /// The values of a call's arguments, without types and attributes.
    fn arguments(&mut self, words: &[String], names: &Names) -> Result<Vec<Vec<String>>, String> {
        let mut out = Vec::new();
        let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or(&[]);
        let (mut depth, mut from) = (0usize, 0);
        for i in 0..=inner.len() {
            match inner.get(i).map(String::as_str) {
                Some("(" | "[" | "{" | "<") => depth += 1,
                Some(")" | "]" | "}" | ">") => depth = depth.saturating_sub(1),
                None | Some(",") if depth == 0 => {
                    if from < i {
                        out.push(self.argument(&inner[from..i], names)?);
                    }
                    from = i + 1;
                }
                _ => {}
            }
        }
        Ok(out)
    }

    fn argument(&mut self, words: &[String], names: &Names) -> Result<Vec<String>, String> {
        let expanded = self.given.module.expanded(words);
        let view: Vec<&str> = expanded.iter().map(String::as_str).collect();
        let (_, mut at) = Type::read(&view, self.given.module.pointer())?;
        // Attributes come before the value, which is the last word unless it is an expression.
        loop {
            let rest = &view[at..];
            let word =
                rest.first().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_lowercase()));
            let expression = ["getelementptr", "bitcast", "ptrtoint", "inttoptr", "addrspacecast"];
            if !word || rest.len() == 1 || expression.contains(&rest[0]) {
                break;
            }
            at += 1;
            if view.get(at) == Some(&"(") {
                at += skip(&view[at..]).ok_or("a parenthesis that is not closed")?;
            }
        }
        self.words(&expanded[at..], names)
    }

    /// The words with the thread's names.
    fn words(&mut self, words: &[String], names: &Names) -> Result<Vec<String>, String> {
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            let word = word.as_str();
            self.open |= matches!(word, "undef" | "poison");
            if let Some(value) = names.values.get(word) {
                out.extend(value.iter().cloned());
            } else if let Some((label, _)) = names.blocks.get(word) {
                out.push(format!("%L{label}"));
            } else if self.given.module.types.contains_key(word) {
                out.extend(self.given.module.expanded(&[word.to_string()]));
            } else if word.starts_with('@') {
                out.push(self.symbol(word)?);
            } else {
                out.push(word.to_string());
            }
        }
        Ok(out)
    }

    /// The location for a variable.
    fn symbol(&mut self, word: &str) -> Result<String, String> {
        let name = word[1..].trim_matches('"');
        if let Some((_, location)) = self.given.globals.iter().find(|(symbol, _)| symbol == name) {
            return Ok(format!("@{location}"));
        }
        let Some(words) = self.given.module.variables.get(word) else {
            return Ok(word.to_string());
        };
        let location = functions::location(name);
        if !self.init.contains_key(&location) {
            let (unit, values) =
                self.initial(words).map_err(|e| format!("the variable {word}: {e}"))?;
            let (count, value) = (values.len() as u64, functions::held(values));
            let item = functions::declared(&location, unit, count, Some(value));
            self.init.insert(location.clone(), item);
        }
        Ok(format!("@{location}"))
    }

    /// The initial values of a variable, which all have one size, and that size in bytes.
    fn initial(&self, words: &[String]) -> Result<(u64, Vec<i128>), String> {
        let words = self.given.module.expanded(words);
        let view: Vec<&str> = words.iter().map(String::as_str).collect();
        let at = view
            .iter()
            .position(|w| matches!(*w, "global" | "constant"))
            .ok_or("unsupported: what it holds is not known here")?;
        let (ty, n) = Type::read(&view[at + 1..], self.given.module.pointer())?;
        let rest = &view[at + 1 + n..];
        let scalars = ty.scalars();
        if scalars.is_empty() {
            return Err("unsupported: a variable of such a type".into());
        }
        // What another module puts there is one of many values, and is not changed.
        let elsewhere = view[..at].contains(&"external");
        let zero = matches!(rest, ["zeroinitializer" | "undef" | "poison", ..]);
        let numbers: Vec<i128> = match elsewhere || zero {
            true => vec![0; scalars.len()],
            false => rest
                .iter()
                .take_while(|w| **w != "align" && **w != "section")
                .filter_map(|w| match *w {
                    "true" => Some(1),
                    "false" | "null" => Some(0),
                    w => w.parse().ok(),
                })
                .collect(),
        };
        if numbers.len() != scalars.len() {
            return Err("unsupported: what it holds".into());
        }
        let unit = ty.size() / ty.count().max(1);
        let bytes = |scalar: &Scalar| u64::from(scalar.bits.div_ceil(8));
        let even = |(i, s): (usize, &Scalar)| s.at == unit * i as u64 && bytes(s) == unit;
        if scalars.iter().enumerate().all(even) {
            return Ok((unit, numbers));
        }
        // Of different sizes: byte by byte.
        let mut out = vec![0; ty.size() as usize];
        for (scalar, number) in scalars.iter().zip(numbers) {
            for i in 0..bytes(scalar) {
                out[(scalar.at + i) as usize] = number >> (8 * i) & 0xff;
            }
        }
        Ok((1, out))
    }

    fn pieces(
        &mut self,
        dst: Option<&str>,
        rest: &[String],
        names: &Names,
    ) -> Result<Vec<Piece>, String> {
        let mut out = Vec::new();
        if let Some(dst) = dst {
            out.extend(names.values[dst].iter().cloned());
            out.push("=".to_string());
        }
        out.extend(self.words(rest, names)?);
        Ok(out.into_iter().map(Piece::Text).collect())
    }

    /// The lines, with the labels that are used.
    fn finish(self) -> Result<Thread, String> {
        let mut lines = Vec::with_capacity(self.lines.len());
        let mut used = std::collections::BTreeSet::new();
        let mut texts = Vec::new();
        for written in &self.lines {
            let mut words = Vec::with_capacity(written.pieces.len());
            for piece in &written.pieces {
                words.push(match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::End(copy, block) => {
                        let end =
                            self.ends.get(&(*copy, *block)).ok_or("a block without an end")?;
                        format!("%L{end}")
                    }
                });
            }
            for word in words.iter().flat_map(|w| w.split(' ')) {
                let label = word.trim_end_matches(',').strip_prefix("%L");
                used.extend(label.and_then(|n| n.parse::<usize>().ok()));
            }
            texts.push(join(&words));
        }
        // Labels are numbered in order.
        let mut numbers = BTreeMap::new();
        for label in self.lines.iter().filter_map(|w| w.label).filter(|l| used.contains(l)) {
            let n = numbers.len();
            numbers.insert(label, n);
        }
        for (written, text) in self.lines.iter().zip(texts) {
            let label = written.label.and_then(|l| numbers.get(&l));
            lines.push(Line {
                labels: label.map(|n| format!("L{n}")).into_iter().collect(),
                text: renumbered(&text, &numbers),
                span: Span::default(),
            });
        }
        Ok(Thread { lines, init: self.init.into_values().collect(), open: self.open })
    }
}

fn unsupported(what: &str) -> String {
    format!("unsupported: {what}")
}

fn text(line: &str) -> Vec<Piece> {
    vec![Piece::Text(line.to_string())]
}

/// The text with its labels renumbered.
fn renumbered(text: &str, numbers: &BTreeMap<usize, usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("%L") {
        let len = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let number = behind[..len].parse::<usize>().ok().and_then(|n| numbers.get(&n));
        out.push_str(before);
        match number {
            Some(n) => out.push_str(&format!("%L{n}")),
            None => out.push_str(&format!("%L{}", &behind[..len])),
        }
        rest = &behind[len..];
    }
    out + rest
}

/// The words as a line for people.
fn join(words: &[String]) -> String {
    let mut out = String::new();
    for word in words {
        let tight = matches!(word.as_str(), "," | ")" | "*") || out.ends_with('(');
        let open = word == "(" && !out.ends_with([' ', ',']) && !out.is_empty();
        if !(out.is_empty() || tight || open) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The result of a called function as a phi of the returned values. Each value begins with its
/// type.
fn phi(dst: &str, values: &[(Vec<String>, usize)]) -> Result<String, String> {
    let Some((first, _)) = values.first() else {
        return Ok(format!("{dst} = freeze i32 poison"));
    };
    let view: Vec<&str> = first.iter().map(String::as_str).collect();
    // The number of words in the type does not depend on the width of pointers.
    let (_, n) = Type::read(&view, 64)?;
    let mut out = format!("{dst} = phi {}", first[..n].join(" "));
    for (i, (value, label)) in values.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let value = value.get(n..).unwrap_or(&[]).join(" ");
        out.push_str(&format!("{comma} [ {value}, %L{label} ]"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_litmus::{InitValue, Value};

    const TEXT: &str = "
%struct.s = type { i32, i32 }
@t0_loc_x = internal global i32 0
@table = private unnamed_addr constant [3 x i32] [i32 4, i32 5, i32 6]
define void @t0_P0(ptr noundef %out) {
entry:
  %slot = alloca %struct.s, align 4
  %r = call i32 @twice(i32 noundef 3)
  br label %loop

loop:
  %i = phi i32 [ %r, %entry ], [ %n, %loop ]
  %n = call i32 @twice(i32 %i)
  %p = getelementptr [3 x i32], ptr @table, i64 0, i64 1
  store i32 %n, ptr %slot
  store atomic i32 %n, ptr @t0_loc_x release, align 4
  %c = icmp ult i32 %n, 20
  br i1 %c, label %loop, label %done

done:
  store i32 undef, ptr %out
  ret void
}
define internal i32 @twice(i32 noundef %v) {
  %z = icmp eq i32 %v, 0
  br i1 %z, label %1, label %2

1:
  ret i32 0

2:
  %d = shl i32 %v, 1
  ret i32 %d
}
";

    fn made(text: &str) -> Result<Thread, String> {
        let module = Module::read(text).expect("reads");
        let globals = [("t0_loc_x".to_string(), "x".to_string())];
        let params = ["out_P0_r".to_string()];
        thread("t0_P0", &Given { module: &module, thread: 0, params: &params, globals: &globals })
    }

    fn text(thread: &Thread) -> String {
        let line = |l: &Line| {
            let labels: String = l.labels.iter().map(|l| format!("{l}: ")).collect();
            labels + &l.text
        };
        thread.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn calls_are_replaced_by_code() {
        let thread = made(TEXT).expect("a thread");
        let text = text(&thread);
        for part in [
            "store i32 %2, ptr @stack_0_0",
            "store atomic i32 %2, ptr @x release",
            "getelementptr [ 3 x i32 ], ptr @module_table, i64 0, i64 1",
            "store i32 undef, ptr @out_P0_r",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains("call") && !text.contains("alloca"), "{text}");
        assert!(thread.open);
        let table = thread.init.iter().find(|i| i.place.to_string() == "module_table");
        let values = [4, 5, 6].map(Value::Int).to_vec();
        assert_eq!(table.and_then(|t| t.value.clone()), Some(InitValue::Array(values)));
        // The remaining code is one function that computes what the module computes.
        let source = litmake_base::diag::Source::new("t", "");
        let lines = &thread.lines;
        let code = crate::Isa::thread(
            &super::super::Llvm { pointer: 64 },
            &source,
            lines,
            &mut litmake_litmus::Anything,
        );
        assert!(code.is_ok(), "{:?}\n{text}", code.err());
    }

    #[test]
    fn equal_code_has_equal_text() {
        let other =
            TEXT.replace("%n", "%next").replace("%loop", "%again").replace("loop:", "again:");
        let texts = [TEXT, &other].map(|t| text(&made(t).expect("a thread")));
        assert_eq!(texts[0], texts[1]);
    }

    #[test]
    fn what_has_no_form_as_a_thread_is_refused() {
        for (from, to, why) in [
            ("%slot = alloca %struct.s", "%slot = alloca i32, i32 %r", "computed"),
            ("%d = shl i32 %v, 1", "%d = call i32 @twice(i32 %v)", "without end"),
            ("%p = getelementptr", "%q = alloca i32\n  %p = getelementptr", "more than once"),
            ("[i32 4, i32 5, i32 6]", "[i32 4]", "what it holds"),
            ("ptr noundef %out", "", "parameters"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let e = made(&TEXT.replace(from, to)).expect_err(to);
            assert!(e.contains(why), "{to}: {e}");
        }
    }
}
