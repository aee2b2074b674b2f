//! Macro files: what functions of a test stand for, as expressions or statements over the
//! annotated primitives.
//!
//! A macro is `NAME(X, Y) expression` or `NAME(X, Y) { statements }`. Arguments are trees, so
//! that no parentheses are needed around them. It does not know what the primitives mean.

use rustc_hash::FxHashMap;

use super::ast::{Annotated, Expr, ExprKind, Function, PartMut, Primitive, Stmt, StmtKind};
use super::lex::Tok;
use super::parse::{MAX_DEPTH, Parser};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};

/// How deep macros may stand for macros.
const MAX_NESTING: usize = 32;
/// How many nodes the macros of one function may stand for.
const MAX_NODES: usize = 100_000;

/// The macros of a file.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    /// As errors name it.
    file: String,
    list: FxHashMap<String, Macro>,
}

#[derive(Clone, Debug)]
struct Macro {
    params: Vec<String>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Value(Expr),
    Statements(Vec<Stmt>),
}

impl Macros {
    /// Reads a macro file.
    pub fn read(source: &Source) -> Result<Macros> {
        let mut p = Parser::new(source, Span::new(0, source.text.len()))?;
        let mut macros = Macros { file: source.name.to_string(), ..Macros::default() };
        while p.peek() != Tok::End {
            let (name, span) = p.name("the name of a macro")?;
            let params = params(&mut p)?;
            let body = match p.eat("{") {
                true => Body::Statements(p.statements_to_brace()?),
                false => Body::Value(p.expr()?),
            };
            if macros.list.insert(name.clone(), Macro { params, body }).is_some() {
                let message = format!("the macro `{name}` is defined twice");
                return Err(Diag::at(source, span, message).help("keep one of the two"));
            }
        }
        Ok(macros)
    }

    /// Whether the file has no macro.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The name of the file, as errors have it.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The names of all macros, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.keys().map(String::as_str)
    }

    /// A function of a test with every call of a macro replaced by what it stands for. `own` are
    /// functions of the test, which come first.
    pub fn expand(&self, source: &Source, f: &Function, own: &[Function]) -> Result<Function> {
        let mut e = Expander { macros: self, own, source, nodes: 0, depth: 0, nesting: 0 };
        let mut out = f.clone();
        e.statements(&mut out.body)?;
        Ok(out)
    }
}

/// Names in parentheses.
fn params(p: &mut Parser) -> Result<Vec<String>> {
    p.expect("(", "behind the name of the macro")?;
    let mut out: Vec<String> = Vec::new();
    if p.eat(")") {
        return Ok(out);
    }
    loop {
        let (name, span) = p.name("the name of a parameter")?;
        if out.contains(&name) {
            let message = format!("parameter `{name}` is there twice");
            return Err(Diag::at(p.source, span, message).help("rename one of them"));
        }
        out.push(name);
        if p.eat(")") {
            return Ok(out);
        }
        p.expect(",", "or `)` behind a parameter")?;
    }
}

struct Expander<'e> {
    macros: &'e Macros,
    own: &'e [Function],
    source: &'e Source,
    nodes: usize,
    /// How deep the current macro is inside others.
    depth: usize,
    /// How deep the current statement is inside others.
    nesting: u32,
}

/// The arguments of a macro that is being put in, and where it was called.
struct Call<'c> {
    params: &'c [String],
    args: Vec<Expr>,
    span: Span,
}

impl<'e> Expander<'e> {
    fn error(&self, span: Span, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, span, message)
    }

    fn find(&self, name: &str) -> Option<&'e Macro> {
        if self.own.iter().any(|f| f.name == name) { None } else { self.macros.list.get(name) }
    }

    fn statements(&mut self, list: &mut [Stmt]) -> Result<()> {
        list.iter_mut().try_for_each(|s| self.statement(s))
    }

    fn statement(&mut self, s: &mut Stmt) -> Result<()> {
        if self.nesting > 2 * MAX_DEPTH {
            return Err(self.error(s.span, "this is nested too deeply once macros are put in"));
        }
        self.nesting += 1;
        let out = self.statement_here(s);
        self.nesting -= 1;
        out
    }

    fn statement_here(&mut self, s: &mut Stmt) -> Result<()> {
        if let StmtKind::Expr(e) = &mut s.kind
            && let ExprKind::Call(name, args) = &mut e.kind
            && let Some(Macro { params, body: Body::Statements(body) }) = self.find(name)
        {
            for arg in args.iter_mut() {
                self.expr(arg)?;
            }
            let call = self.call(name, params, args, e.span)?;
            s.kind = self.statements_of(body, &call)?;
            return Ok(());
        }
        let mut result = Ok(());
        s.each_part_mut(&mut |part| {
            if result.is_ok() {
                result = match part {
                    PartMut::Expr(e) => self.expr(e),
                    PartMut::Stmt(s) => self.statement(s),
                };
            }
        });
        result
    }

    /// The statements that a call of a macro stands for, expanded.
    fn statements_of(&mut self, body: &[Stmt], call: &Call) -> Result<StmtKind> {
        let mut body = body.to_vec();
        for s in &mut body {
            self.put_in(s, call)?;
        }
        self.inside(call.span, |e| e.statements(&mut body))?;
        Ok(StmtKind::Block(body))
    }

    fn expr(&mut self, e: &mut Expr) -> Result<()> {
        let mut result = Ok(());
        e.each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.expr(child);
            }
        });
        result?;
        self.sized(e)?;
        let ExprKind::Call(name, args) = &e.kind else { return Ok(()) };
        let Some(Macro { params, body }) = self.find(name) else {
            // Macro files that leave it out mean the primitive of that name.
            if name == "atomic_add_unless" && args.len() == 3 && !self.macros.is_empty() {
                let primitive = Primitive::AddUnless;
                let own = Annotated { primitive, tags: Vec::new(), op: None, args: args.clone() };
                *e = Expr::new(ExprKind::Annotated(Box::new(own)), e.span);
            }
            return Ok(());
        };
        let Body::Value(body) = body else {
            let message = format!("`{name}` gives no value: it is a statement");
            return Err(self.error(e.span, message).help("let it stand alone, with a semicolon"));
        };
        let call = self.call(name, params, args, e.span)?;
        let span = e.span;
        let mut body = body.clone();
        self.replace(&mut body, &call)?;
        self.inside(span, |x| x.expr(&mut body))?;
        *e = body;
        Ok(())
    }

    fn inside(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.depth >= MAX_NESTING {
            let message = "macros stand for macros without end here";
            return Err(self.error(span, message).help("does one of them call itself?"));
        }
        self.depth += 1;
        let out = f(self);
        self.depth -= 1;
        out
    }

    fn call<'c>(
        &self,
        name: &str,
        params: &'c [String],
        args: &[Expr],
        span: Span,
    ) -> Result<Call<'c>> {
        if params.len() != args.len() {
            let (want, got) = (params.len(), args.len());
            let s = if want == 1 { "" } else { "s" };
            let message = format!("`{name}` takes {want} argument{s}, found {got}");
            let file = &self.macros.file;
            return Err(self.error(span, message).help(format!("it is a macro of {file}")));
        }
        Ok(Call { params, args: args.to_vec(), span })
    }

    /// Puts arguments into a statement of a macro.
    fn put_in(&mut self, s: &mut Stmt, call: &Call) -> Result<()> {
        s.span = call.span;
        let mut result = Ok(());
        s.each_part_mut(&mut |part| {
            if result.is_ok() {
                result = match part {
                    PartMut::Expr(e) => self.replace(e, call),
                    PartMut::Stmt(s) => self.put_in(s, call),
                };
            }
        });
        result
    }

    /// Puts arguments into an expression of a macro.
    fn replace(&mut self, e: &mut Expr, call: &Call) -> Result<()> {
        self.count(call.span)?;
        if let ExprKind::Name(n) = &e.kind
            && let Some(i) = call.params.iter().position(|p| p == n)
        {
            *e = call.args[i].clone();
            return self.count_all(e, call.span);
        }
        let mut result = Ok(());
        e.each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.replace(child, call);
            }
        });
        result?;
        e.span = call.span;
        self.sized(e)
    }

    /// Brings the height of a tree whose parts have changed up to date.
    fn sized(&self, e: &mut Expr) -> Result<()> {
        let kind = std::mem::replace(&mut e.kind, ExprKind::Name(String::new()));
        *e = Expr::new(kind, e.span);
        match e.height() > MAX_DEPTH {
            true => Err(self
                .error(e.span, "this is nested too deeply once macros are put in")
                .help(format!("at most {MAX_DEPTH} levels are read"))),
            false => Ok(()),
        }
    }

    fn count(&mut self, span: Span) -> Result<()> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(self.error(span, "the macros of this function stand for too much")),
            false => Ok(()),
        }
    }

    fn count_all(&mut self, e: &Expr, span: Span) -> Result<()> {
        self.count(span)?;
        e.children().into_iter().try_for_each(|c| self.count_all(c, span))
    }
}

/// Adds help to the error of a name that is neither a macro nor a function.
pub fn unknown(macros: &Macros, diag: Box<Diag>, name: &str) -> Box<Diag> {
    match nearest(name, macros.names()) {
        Some(near) => diag.help(format!("did you mean `{near}` of {}?", macros.file())),
        None => diag.help(format!("it is neither a function of the test nor in {}", macros.file())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::{parse_function, print_function};

    fn expanded(macros: &str, body: &str) -> Result<String> {
        let macros = Macros::read(&Source::new("m.def", macros.to_string()))?;
        let text = format!("P0(int* x) {{ {body} }}");
        let source = Source::new("t.litmus", text.clone());
        let f = parse_function(&source, Span::new(0, text.len()))?;
        Ok(print_function(&macros.expand(&source, &f, &[])?))
    }

    #[test]
    fn arguments_are_trees() {
        let macros = "// comment\ntwice(X) X * 2\nset(X, V) { __store{a-b}(*X, twice(V)); }\n";
        assert_eq!(
            expanded(macros, "set(x, 1 + r);").unwrap(),
            "P0(int *x) {\n  {\n    __store{a-b}(*x, (1 + r) * 2);\n  }\n}\n"
        );
    }

    #[test]
    fn expressions_end_where_the_next_macro_begins() {
        let macros = "a(X) __atomic_op_return{m}(X, -, 1) == 0\nb() a(x)\n";
        assert_eq!(
            expanded(macros, "r = b();").unwrap(),
            "P0(int *x) {\n  r = __atomic_op_return{m}(x, -, 1) == 0;\n}\n"
        );
    }

    #[test]
    fn errors_have_a_place() {
        for (macros, body, error) in [
            ("a(X X\n", "", "m.def:1:5: error: expected `,` or `)` behind a parameter, found `X`"),
            ("a() 1\na() 2\n", "", "m.def:2:1: error: the macro `a` is defined twice"),
            ("a(X, X) 1\n", "", "m.def:1:6: error: parameter `X` is there twice"),
            ("a() 1 +\n", "", "m.def:2:1: error: expected an expression, found the end"),
            ("a() a()\n", "a();", "t.litmus:1:14: error: macros stand for macros without end here"),
            ("a(X) X\n", "a();", "t.litmus:1:14: error: `a` takes 1 argument, found 0"),
        ] {
            let found = expanded(macros, body).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn what_stands_for_too_much_is_refused() {
        let mut macros = "m0(X) X + X\n".to_string();
        for i in 1..30 {
            macros += &format!("m{i}(X) m{}(X) + m{}(X)\n", i - 1, i - 1);
        }
        let found = expanded(&macros, "m29(1);").unwrap_err().to_string();
        assert!(found.contains("stand for too much") || found.contains("too deeply"), "{found}");
    }
}
