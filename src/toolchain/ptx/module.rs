//! Reads a module of PTX: its functions as statements, its variables.
//!
//! Comments, versions and places in the source are left out. It does not know what instructions do.

use litmake_base::failure::Failure;
use std::collections::BTreeMap;

/// Longer modules have no litmus tests in them.
const MOST_FUNCTIONS: usize = 4096;

/// The functions and variables of one file of PTX.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The functions, by name.
    pub functions: BTreeMap<String, Function>,
    /// The variables, by name.
    pub variables: BTreeMap<String, Variable>,
}

/// A function or an entry of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The names of its results.
    pub results: Vec<String>,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// The pieces of its body, in the order of the text.
    pub body: Vec<Statement>,
}

/// A piece of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A label, by its name.
    Label(String),
    /// An instruction or a declaration, without the semicolon.
    Line(String),
    /// The braces around names of their own.
    Open,
    /// See [`Statement::Open`].
    Close,
}

/// A variable, or what a function keeps on its stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name, as code has it.
    pub name: String,
    /// The bytes of an element.
    pub unit: u64,
    /// The number of elements.
    pub count: u64,
    /// The initial values of the elements, without the zeros at the end; `None` where they are no list of numbers.
    pub values: Option<Vec<i128>>,
    /// Whether the variable is of another module.
    pub external: bool,
}

/// Directives that end with their line.
const LINES: &[&str] = &[".version", ".target", ".address_size", ".file", ".loc"];

/// Directives that change no meaning.
const SILENT: &[&str] =
    &[".pragma", ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".noreturn"];

impl Module {
    /// Reads the text that compilers write.
    pub fn read(text: &str) -> Result<Module, String> {
        let text = without_comments(text);
        let mut module = Module::default();
        let mut pieces = Pieces { rest: &text, depth: 0 };
        while let Some(piece) = pieces.next()? {
            match piece {
                Piece::Line(line) if line.contains(".func") || line.contains(".entry") => {}
                Piece::Line(line) => {
                    if let Some(variable) = variable(&line).map_err(|e| e.text())? {
                        module.variables.insert(variable.name.clone(), variable);
                    }
                }
                Piece::Open(head) if head.contains(".func") || head.contains(".entry") => {
                    let (name, results, params) = head_of(&head)?;
                    let body =
                        body(&mut pieces).map_err(|e| format!("the function `{name}`: {e}"))?;
                    if module.functions.len() >= MOST_FUNCTIONS {
                        return Err("unsupported: a module of so many functions".into());
                    }
                    module.functions.insert(name, Function { results, params, body });
                }
                Piece::Open(head) => return Err(format!("unsupported: `{head} {{`")),
                Piece::Close => return Err("a brace closes nothing".into()),
            }
        }
        Ok(module)
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let line = rest.find("//").unwrap_or(rest.len());
        let block = rest.find("/*").unwrap_or(rest.len());
        let at = line.min(block);
        out.push_str(&rest[..at]);
        if at == rest.len() {
            return out;
        }
        let end =
            if line < block { rest[at..].find('\n') } else { rest[at..].find("*/").map(|e| e + 2) };
        out.push(' ');
        rest = end.map_or("", |end| &rest[at + end..]);
    }
}

enum Piece {
    /// The text up to a semicolon.
    Line(String),
    /// The text before a brace that opens a body or a group of names.
    Open(String),
    Close,
}

struct Pieces<'t> {
    rest: &'t str,
    depth: usize,
}

impl Pieces<'_> {
    fn next(&mut self) -> Result<Option<Piece>, String> {
        loop {
            self.rest = self.rest.trim_start();
            let word = self.rest.split(char::is_whitespace).next().unwrap_or("");
            if !LINES.contains(&word) {
                break;
            }
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
        if self.rest.is_empty() {
            return match self.depth {
                0 => Ok(None),
                _ => Err("its end is missing".into()),
            };
        }
        if let Some(rest) = self.rest.strip_prefix('}') {
            self.rest = rest;
            self.depth = self.depth.checked_sub(1).ok_or("a brace closes nothing")?;
            return Ok(Some(Piece::Close));
        }
        // Braces inside a statement hold operands or values.
        let mut inside = 0usize;
        for (at, c) in self.rest.char_indices() {
            let before = &self.rest[..at];
            match c {
                '{' if inside == 0 && opens(before) => {
                    let head = words(before);
                    self.rest = &self.rest[at + 1..];
                    self.depth += 1;
                    return Ok(Some(Piece::Open(head)));
                }
                '{' => inside += 1,
                '}' => inside = inside.checked_sub(1).ok_or("a brace closes nothing")?,
                ';' if inside == 0 => {
                    let line = words(before);
                    self.rest = &self.rest[at + 1..];
                    return Ok(Some(Piece::Line(line)));
                }
                _ => {}
            }
        }
        Err(format!("`{}` is not ended", words(self.rest.lines().next().unwrap_or(""))))
    }
}

/// Whether a brace behind a text opens a body.
fn opens(before: &str) -> bool {
    let is_function = before.contains(".func") || before.contains(".entry");
    let text = before.trim_end();
    text.is_empty() || text.ends_with(':') || (is_function && !before.contains('='))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Name, results and parameters of a function.
fn head_of(head: &str) -> Result<(String, Vec<String>, Vec<String>), String> {
    let wrong = || format!("unsupported: the function `{head}`");
    let at = head.find(".func").map(|at| at + 5).or_else(|| head.find(".entry").map(|at| at + 6));
    let mut rest = head[at.ok_or_else(wrong)?..].trim_start();
    let mut results = Vec::new();
    if rest.starts_with('(') {
        let (list, behind) = rest[1..].split_once(')').ok_or_else(wrong)?;
        results = names(list)?;
        rest = behind.trim_start();
    }
    let end = rest.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(rest.len());
    let (name, rest) = (&rest[..end], rest[end..].trim_start());
    let params = match rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
        Some((list, _)) => names(list)?,
        None => Vec::new(),
    };
    if name.is_empty() { Err(wrong()) } else { Ok((name.to_string(), results, params)) }
}

/// The names of parameters. One that is a list of bytes keeps its brackets, so that no code finds it where a test gives
/// what it holds; calls take them away.
fn names(list: &str) -> Result<Vec<String>, String> {
    let name = |p: &str| p.split_whitespace().last().map(str::to_string);
    let parts = list.split(',').filter(|p| !p.trim().is_empty());
    parts.map(|p| name(p).ok_or_else(|| "a parameter without a name".to_string())).collect()
}

fn body(pieces: &mut Pieces) -> Result<Vec<Statement>, String> {
    let mut out = Vec::new();
    let outer = pieces.depth - 1;
    while let Some(piece) = pieces.next()? {
        match piece {
            Piece::Close if pieces.depth == outer => return Ok(out),
            Piece::Close => out.push(Statement::Close),
            Piece::Open(text) => {
                labels(&text, &mut out);
                out.push(Statement::Open);
            }
            Piece::Line(text) => {
                let line = labels(&text, &mut out);
                if !line.is_empty() && !SILENT.iter().any(|s| line.starts_with(s)) {
                    out.push(Statement::Line(line.to_string()));
                }
            }
        }
    }
    Err("its end is missing".into())
}

/// Takes the labels in front of an instruction.
fn labels<'t>(text: &'t str, out: &mut Vec<Statement>) -> &'t str {
    let mut rest = text;
    while let Some((label, behind)) = rest.split_once(':') {
        let name = label.trim();
        // A colon is also inside words (`shared::cta`).
        let is_name =
            name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%'));
        if name.is_empty() || !is_name || behind.starts_with(':') {
            break;
        }
        out.push(Statement::Label(name.to_string()));
        rest = behind.trim_start();
    }
    rest
}

/// A variable from its declaration; `None` where a line declares none.
pub fn variable(line: &str) -> Result<Option<Variable>, Failure> {
    let (declared, value) = match line.split_once('=') {
        Some((declared, value)) => (declared.trim(), Some(value.trim())),
        None => (line, None),
    };
    let words: Vec<&str> = declared.split_whitespace().collect();
    let space = [".global", ".shared", ".local", ".const", ".param"];
    if !words.iter().any(|w| space.contains(w)) {
        return Ok(None);
    }
    let (Some(last), Some(ty)) = (words.last(), words.iter().rev().nth(1)) else {
        return Ok(None);
    };
    let unsupported = || Failure::unsupported(format!("the variable `{declared}`"));
    let bits: u64 =
        ty[1..].trim_start_matches(char::is_alphabetic).parse().map_err(|_| unsupported())?;
    let mut dimensions = last.split('[');
    let name = dimensions.next().unwrap_or("").to_string();
    let mut count = 1u64;
    for dimension in dimensions {
        let number = dimension.strip_suffix(']').and_then(|n| n.parse::<u64>().ok());
        count = number.and_then(|n| count.checked_mul(n)).ok_or_else(unsupported)?;
    }
    let values = match value {
        None => Some(Vec::new()),
        Some(value) => {
            let inner = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')).unwrap_or(value);
            let numbers = inner.split(',').map(|n| litmake_isa::microcode::parse_int(n.trim()));
            numbers.collect::<Option<Vec<i128>>>()
        }
    };
    let external = words.contains(&".extern");
    Ok(Some(Variable { name, unit: bits / 8, count, values, external }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
//
.version 8.7
.target sm_70, debug
.address_size 64
	// .globl	f // -- Begin
.func  (.param .b32 func_retval0) help
(
	.param .b64 help_param_0
)
;
.extern .func  (.param .b32 func_retval0) other(.param .b64 a);
.global .align 4 .b8 tab[6] = {1, 0, 2};
.visible .global .align 4 .u32 gx = -5;
.visible .func f(
	.param .b64 f_param_0,
	.param .b64 f_param_1
)
{
	.local .align 8 .b8 	__local_depot0[72];
	.reg .b64 	%SP;
	/* a comment; with
	   lines */ .loc 1 2 3
$L__BB0_1:                              // =>This
	@%p1 bra 	$L__BB0_1;
	{ // callseq 0, 0
	.param .b64 	param0;
	call.uni (retval0), 
	help, 
	(
	param0
	);
	} // callseq 0
	mov.b64 {%r1, %r2}, %rd1;
	ld.shared::cta.u32 %r1, [%rd1];
	.pragma \"nounroll\";
$L_end:
	ret;
}
";

    #[test]
    fn functions_are_statements() {
        let module = Module::read(TEXT).expect("reads");
        assert_eq!(module.functions.len(), 1);
        let f = &module.functions["f"];
        assert_eq!(f.params, ["f_param_0", "f_param_1"]);
        let line = |text: &str| Statement::Line(text.to_string());
        let label = |text: &str| Statement::Label(text.to_string());
        assert_eq!(
            f.body,
            [
                line(".local .align 8 .b8 __local_depot0[72]"),
                line(".reg .b64 %SP"),
                label("$L__BB0_1"),
                line("@%p1 bra $L__BB0_1"),
                Statement::Open,
                line(".param .b64 param0"),
                line("call.uni (retval0), help, ( param0 )"),
                Statement::Close,
                line("mov.b64 {%r1, %r2}, %rd1"),
                line("ld.shared::cta.u32 %r1, [%rd1]"),
                label("$L_end"),
                line("ret"),
            ]
        );
        let tab = &module.variables["tab"];
        assert_eq!((tab.unit, tab.count, &tab.values), (1, 6, &Some(vec![1, 0, 2])));
        assert_eq!(module.variables["gx"].values, Some(vec![-5]));
    }

    #[test]
    fn broken_text_is_an_error() {
        for bad in [".func f() {\n ret;\n", ".func f() {\n ret\n}", "}", ".func () {\n}", "{ }"] {
            assert!(Module::read(bad).is_err(), "{bad}");
        }
    }
}
