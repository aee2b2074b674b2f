//! Reads a module of LLVM's textual intermediate representation: its functions as blocks of
//! instructions, its variables, and its named types.
//!
//! Parts without a meaning for tests are left out: comments, metadata, attributes, alignments,
//! debug records, and the lifetimes of stack slots. It does not know what instructions do.

use std::collections::BTreeMap;

use super::lex::tokens;
use super::types::skip;
use crate::functions::DEEPEST;

/// The largest number of functions in a module; larger ones are not from litmus tests.
const MOST_FUNCTIONS: usize = 4096;

/// Intermediate code as tokens.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The functions, by their names with the sigil.
    pub functions: BTreeMap<String, Function>,
    /// The tokens after the `=` of each variable's declaration.
    pub variables: BTreeMap<String, Vec<String>>,
    /// The tokens of each named type.
    pub types: BTreeMap<String, Vec<String>>,
    /// The functions without a body, by their names with the sigil.
    pub declared: BTreeMap<String, Declared>,
    /// The attributes in each group (`#0`).
    pub groups: BTreeMap<String, Vec<String>>,
    /// Whether it says what may be assumed (`llvm.assume`), which is left out.
    pub assumes: bool,
    /// How values lie in memory, if it says so.
    pub layout: Option<Layout>,
}

/// How values lie in a target's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pointers have 32 bits; otherwise 64.
    pub narrow: bool,
    /// The upper byte of a number comes first.
    pub upper_first: bool,
}

impl Layout {
    fn read(text: &str) -> Layout {
        let mut parts = text.trim_matches('"').split('-');
        let upper_first = parts.clone().any(|part| part == "E");
        Layout { narrow: parts.any(|part| part.starts_with("p:32:")), upper_first }
    }
}

/// A function without a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The type of the result, and its attributes before it.
    pub returns: Vec<String>,
    /// The type of each parameter, with what follows it; `...` for more of them.
    pub params: Vec<Vec<String>>,
    /// The words behind the parameters: attributes and groups of them.
    pub attributes: Vec<String>,
}

/// A function that has a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The names of the parameters, with their sigil.
    pub params: Vec<String>,
    /// The type of each parameter, and its attributes behind it.
    pub heads: Vec<Vec<String>>,
    /// The words before the function's name: linkage, attributes, and last the type of the result.
    pub returns: Vec<String>,
    /// The words behind the parameters: attributes and groups of them.
    pub attributes: Vec<String>,
    /// The blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The name with the sigil, as branches write it.
    pub name: String,
    /// The tokens of each instruction, without calls that do nothing.
    pub instructions: Vec<Vec<String>>,
}

/// The beginnings of the names of functions whose calls do nothing.
const MARKS: &[&str] = &[
    "@llvm.dbg.",
    "@llvm.lifetime.",
    "@llvm.experimental.noalias.scope.decl",
    "@llvm.invariant.",
    "@llvm.assume",
    "@llvm.fake.use",
];

impl Module {
    /// The words with named types replaced by their definitions.
    pub fn expanded(&self, words: &[String]) -> Vec<String> {
        let mut out = words.to_vec();
        // A recursive type stays as it is.
        for _ in 0..DEEPEST {
            if !out.iter().any(|w| self.types.contains_key(w)) {
                break;
            }
            let whole = |w: &String| self.types.get(w).cloned().unwrap_or_else(|| vec![w.clone()]);
            out = out.iter().flat_map(whole).collect();
        }
        out
    }

    /// Whether attributes have these words, themselves or in one of their groups.
    pub fn has(&self, attributes: &[String], phrase: &[&str]) -> bool {
        let groups = attributes.iter().filter_map(|w| self.groups.get(w)).flatten();
        let words: Vec<&str> = attributes.iter().chain(groups).map(String::as_str).collect();
        words.windows(phrase.len()).any(|w| w == phrase)
    }

    /// The number of bits in a pointer.
    pub fn pointer(&self) -> u8 {
        if self.is_narrow() { 32 } else { 64 }
    }

    /// Whether pointers have 32 bits.
    pub fn is_narrow(&self) -> bool {
        self.layout.is_some_and(|layout| layout.narrow)
    }

    /// Reads a dump; the error is for people.
    pub fn read(text: &str) -> Result<Module, String> {
        let assumes = text.contains("call void @llvm.assume");
        let mut module = Module { assumes, ..Module::default() };
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut words = tokens(line);
            if let Some(layout) = line.strip_prefix("target datalayout = ") {
                module.layout = Some(Layout::read(layout));
            }
            match words[..] {
                ["define", ..] => {
                    let body = head(&mut words, &mut lines)?;
                    let name = name_of(&words)?;
                    let function = Function::read(&words[..body], &words[body + 1..], &mut lines)
                        .map_err(|e| format!("the function {name}: {e}"))?;
                    if module.functions.len() >= MOST_FUNCTIONS {
                        return Err("unsupported: a module of so many functions".into());
                    }
                    module.functions.insert(name, function);
                }
                ["declare", ..] => {
                    let name = name_of(&words)?;
                    module.declared.insert(name, Declared::read(&words));
                }
                ["attributes", group, "=", ..] => {
                    let words = words[3..].iter().map(|w| w.to_string()).collect();
                    module.groups.insert(group.to_string(), words);
                }
                [name, "=", "type", ..] if name.starts_with('%') => {
                    let rest = words[3..].iter().map(|w| w.to_string()).collect();
                    module.types.insert(name.to_string(), rest);
                }
                [name, "=", ..] if name.starts_with('@') => {
                    let rest = words[2..].iter().map(|w| w.to_string()).collect();
                    module.variables.insert(name.to_string(), rest);
                }
                _ => {}
            }
        }
        Ok(module)
    }
}

/// Reads on to the brace that opens the body of a definition, and gives its place.
fn head<'t>(
    words: &mut Vec<&'t str>,
    lines: &mut impl Iterator<Item = &'t str>,
) -> Result<usize, String> {
    loop {
        let at = words.iter().position(|w| w.starts_with('@'));
        let behind = at.and_then(|at| Some(at + 1 + skip(&words[at + 1..])?));
        let body =
            behind.and_then(|from| Some(from + words[from..].iter().position(|w| *w == "{")?));
        match body {
            Some(body) => return Ok(body),
            None => words.extend(tokens(lines.next().ok_or("a function without a body")?)),
        }
    }
}

/// The name in the head of a definition.
fn name_of(words: &[&str]) -> Result<String, String> {
    let at = words.iter().position(|w| w.starts_with('@'));
    at.map(|at| words[at].to_string()).ok_or_else(|| "a function without a name".into())
}

impl Declared {
    fn read(words: &[&str]) -> Declared {
        let at = words.iter().position(|w| w.starts_with('@')).unwrap_or(0);
        let strings =
            |words: &[&str]| -> Vec<String> { words.iter().map(|w| w.to_string()).collect() };
        let rest = words.get(at + 1..).unwrap_or(&[]);
        let behind = skip(rest).unwrap_or(rest.len());
        let inner = rest.get(1..behind.saturating_sub(1)).unwrap_or(&[]);
        let params = split(inner).into_iter().map(strings).collect();
        let returns = strings(&words[1..at.max(1)]);
        Declared { returns, params, attributes: strings(&rest[behind..]) }
    }
}

impl Function {
    /// Whether a block goes back to one that stands before it, or to itself.
    pub fn has_loop(&self) -> bool {
        let names = |at: usize| self.blocks[..=at].iter().map(|b| &b.name);
        let mut ends = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| Some((at, block.instructions.last()?)));
        ends.any(|(at, end)| names(at).any(|name| end.contains(name)))
    }

    /// Reads a function from its head, the words behind the brace there, and the lines after it.
    fn read<'t>(
        head: &[&str],
        first: &[&'t str],
        lines: &mut impl Iterator<Item = &'t str>,
    ) -> Result<Function, String> {
        let at = head.iter().position(|w| w.starts_with('@')).unwrap_or(0);
        let behind = head.get(at + 1..).unwrap_or(&[]);
        let list = parameters(behind)?;
        let attributes = behind.iter().skip(skip(behind).unwrap_or(0));
        let attributes: Vec<String> = attributes.map(|w| w.to_string()).collect();
        let (params, heads): (Vec<String>, Vec<Vec<String>>) = list.into_iter().unzip();
        let returns = head[1..at.max(1)].iter().map(|w| w.to_string()).collect();
        // An entry block without a name has the number after those of the parameters.
        let number = |p: &String| p.strip_prefix('%').and_then(|n| n.parse::<u32>().ok());
        let entry = params.iter().filter_map(number).max().map_or(0, |n| n + 1);
        let mut blocks = vec![Block { name: format!("%{entry}"), instructions: Vec::new() }];
        let mut named = false;
        let mut words = first.to_vec();
        loop {
            if let [name, ":", ..] = words[..] {
                let block = Block { name: format!("%{name}"), instructions: Vec::new() };
                match !named && blocks.len() == 1 && blocks[0].instructions.is_empty() {
                    true => blocks[0] = block,
                    false => blocks.push(block),
                }
                named = true;
                words.drain(..2);
            }
            let mut next = || lines.next().map(tokens).ok_or("its end is missing");
            // An instruction goes on until its brackets are closed.
            let end = loop {
                match brackets(&words) {
                    Brackets::Open => words.extend(next()?),
                    Brackets::Closed if words.last() == Some(&",") => words.extend(next()?),
                    Brackets::Closed => break words.len(),
                    Brackets::Over(at) => break at,
                }
            };
            let instruction = &words[..end];
            let silent = instruction.first().is_none_or(|w| w.starts_with("#dbg"));
            if !silent
                && !is_mark(instruction)
                && let Some(block) = blocks.last_mut()
            {
                block.instructions.push(plain(instruction));
            }
            match words.get(end..) {
                None | Some([]) => words = next()?,
                Some(["}"]) => {
                    return Ok(Function { params, heads, returns, attributes, blocks });
                }
                Some(rest) => {
                    return Err(format!("expected its end, found `{}`", rest.join(" ")));
                }
            }
        }
    }
}

/// The brackets of an instruction.
enum Brackets {
    /// One is still open.
    Open,
    Closed,
    /// The word here closes one that the instruction does not open.
    Over(usize),
}

fn brackets(words: &[&str]) -> Brackets {
    let mut open = 0usize;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" | "<" => open += 1,
            ")" | "]" | "}" | ">" if open == 0 => return Brackets::Over(at),
            ")" | "]" | "}" | ">" => open -= 1,
            _ => {}
        }
    }
    if open > 0 { Brackets::Open } else { Brackets::Closed }
}

/// Whether an instruction is a call that does nothing.
fn is_mark(words: &[&str]) -> bool {
    let call = words.contains(&"call");
    let called = words.iter().find(|w| w.starts_with('@'));
    call && called.is_some_and(|name| MARKS.iter().any(|mark| name.starts_with(mark)))
}

/// The parts of a list between commas that are in no bracket.
fn split<'w>(words: &'w [&'w str]) -> Vec<&'w [&'w str]> {
    let (mut depth, mut from, mut out) = (0usize, 0, Vec::new());
    for (i, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                out.push(&words[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    if from < words.len() {
        out.push(&words[from..]);
    }
    out
}

/// The parameters in a list in parentheses: the name of each, and the words before it. Those without a name are
/// numbered. What may be given in addition (`...`) has no name.
fn parameters(words: &[&str]) -> Result<Vec<(String, Vec<String>)>, String> {
    let len = skip(words).ok_or("its list of parameters is not closed")?;
    let mut out = Vec::new();
    let (mut from, mut unnamed) = (1, 0..);
    let mut depth = 0usize;
    for i in 1..len {
        match words[i] {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" if depth > 0 => depth -= 1,
            "," | ")" if depth == 0 => {
                match words[from..i].split_last() {
                    Some((name, head)) if name.starts_with('%') => {
                        let head = head.iter().map(|w| w.to_string()).collect();
                        out.push((name.to_string(), head));
                    }
                    Some((&"...", _)) | None => {}
                    Some(_) => {
                        let head = words[from..i].iter().map(|w| w.to_string()).collect();
                        out.push((format!("%{}", unnamed.next().unwrap_or(0)), head));
                    }
                }
                from = i + 1;
            }
            _ => {}
        }
    }
    Ok(out)
}

/// The instruction without the parts that have no meaning for tests.
fn plain(words: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut i = 0;
    while i < words.len() {
        match words[i..] {
            [",", "align", _, ..] => i += 3,
            ["align", _, ..] => i += 2,
            [",", name, "!", "{", "}", ..] if name.starts_with('!') => i += 5,
            [",", name, value, ..] if name.starts_with('!') && value.starts_with('!') => i += 3,
            [attribute, ..] if attribute.starts_with('#') => i += 1,
            ["tail" | "musttail" | "notail", "call", ..] => i += 1,
            [word, ..] => {
                out.push(word.to_string());
                i += 1;
            }
            [] => break,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
; ModuleID = 'test.c'
%struct.pair = type { i32, i32 }
@x = internal global i32 0, align 4
; Function Attrs: nounwind
define dso_local void @f(ptr noundef captures(none) %0, i32 range(i32 0, 2) %1) local_unnamed_addr #0 !dbg !7 {
  call void @llvm.lifetime.start.p0(i64 4, ptr %0) #2
  %3 = load i32, ptr %0, align 4, !tbaa !5
  switch i32 %3, label %5 [
    i32 0, label %4
    i32 1, label %4
  ], !prof !3

4:                                                ; preds = %2
  %a = tail call i32 @g(ptr align 4 %0) #3
  br label %5

5:                                                ; preds = %4, %2
    #dbg_value(i32 %3, !12, !DIExpression(), !13)
  ret void
}
declare void @g(ptr) #1
attributes #1 = { memory(read) }
"#;

    #[test]
    fn functions_are_blocks_of_instructions() {
        let module = Module::read(TEXT).expect("reads");
        let f = &module.functions["@f"];
        assert_eq!(f.params, ["%0", "%1"]);
        assert_eq!(f.heads[0].join(" "), "ptr noundef captures ( none )");
        assert_eq!(f.returns, ["dso_local", "void"]);
        assert_eq!(module.declared["@g"].returns, ["void"]);
        assert_eq!(module.declared["@g"].attributes, ["#1"]);
        assert_eq!(module.groups["#1"].join(" "), "{ memory ( read ) }");
        let names: Vec<_> = f.blocks.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names, ["%2", "%4", "%5"]);
        let text = |b: usize, i: usize| f.blocks[b].instructions[i].join(" ");
        assert_eq!(text(0, 0), "%3 = load i32 , ptr %0");
        assert_eq!(text(0, 1), "switch i32 %3 , label %5 [ i32 0 , label %4 i32 1 , label %4 ]");
        assert_eq!(text(1, 0), "%a = call i32 @g ( ptr %0 )");
        assert_eq!(text(2, 0), "ret void");
        assert_eq!(module.types["%struct.pair"].join(" "), "{ i32 , i32 }");
        assert!(module.variables.contains_key("@x"));
        assert_eq!(module.layout, None);
        let layout = "target datalayout = \"e-m:e-p:32:32-Fi8-i64:64\"\n";
        let module = Module::read(&(layout.to_string() + TEXT)).expect("reads");
        assert_eq!(module.layout, Some(Layout { narrow: true, upper_first: false }));
        assert!(Layout::read("\"E-m:e-i64:64-n32:64\"").upper_first);
    }

    #[test]
    fn lines_may_be_broken_anywhere() {
        for text in [
            "define { i32, i32 } @f(ptr %x,\n  i32) #0 {\nentry:\n call void @g(ptr %x,\n i32 %0)\n ret void\n  }",
            "define { i32, i32 }\n@f(ptr %x, i32, ...)\n{ entry: call void @g(ptr %x, i32 %0)\nret void }",
        ] {
            let module = Module::read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            let f = &module.functions["@f"];
            assert_eq!(
                (f.params.join(" "), f.returns.join(" ")),
                ("%x %0".into(), "{ i32 , i32 }".into())
            );
            let lines: Vec<String> = f.blocks[0].instructions.iter().map(|l| l.join(" ")).collect();
            assert_eq!((&*f.blocks[0].name, f.blocks.len()), ("%entry", 1));
            assert_eq!(lines, ["call void @g ( ptr %x , i32 %0 )", "ret void"]);
        }
    }

    #[test]
    fn broken_text_is_an_error() {
        assert!(Module::read("define void @f() {\n ret void\n").is_err());
        assert!(Module::read("define void @f() {\n ret void\n} ret void\n").is_err());
        assert!(Module::read("define void @f(\n").is_err());
        assert!(Module::read("define void () {\n}\n").is_err());
    }
}
