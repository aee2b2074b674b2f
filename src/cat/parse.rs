//! Parses cat text into trees, with the grammar and the precedences of herd's manual.
//!
//! From weak to strong: `|`, `++`, `;` (these lean right), `\` (leans left), `&` (right), then
//! `*` of sets, postfix `* + ?` and prefix `~`, which do not mix without parentheses, then
//! `^-1`. Nothing here looks at files or names.

use super::ast::*;
use super::lex::{Tok, Token, lex};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_base::watch;

/// The words that begin the instructions which people write most.
const BEGINNINGS: [&str; 7] = ["acyclic", "irreflexive", "empty", "let", "include", "show", "flag"];

/// How deep expressions and instructions may nest. It bounds the stack of whatever walks a tree.
const MAX_DEPTH: usize = 160;
/// How many postfix signs or arguments may follow one another: these nest, too.
const MAX_CHAIN: usize = 16;

/// Parses a file; an error points at the unexpected token.
pub fn parse(source: &Source) -> Result<File> {
    let tokens = lex(source)?;
    let mut parser = Parser { source, tokens, at: 0, depth: 0 };
    parser.file()
}

/// The arms of a match on tags, and the default one.
type Arms<T> = (Vec<(Name, T)>, Option<T>);

struct Parser<'s> {
    source: &'s Source,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

const OPTIONS: &[&str] = &["withco", "withoutco", "withinit", "withoutinit", "withsc", "withoutsc"];

impl Parser<'_> {
    fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    fn peek_at(&self, ahead: usize) -> &Tok {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].tok
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span from `start` to the token before this one.
    fn since(&self, start: Span) -> Span {
        start.to(self.tokens[self.at.saturating_sub(1)].span)
    }

    fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Tok::Sign(s) if *s == sign)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let here = self.is(sign);
        if here {
            self.next();
        }
        here
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            Tok::Name(n) => format!("`{n}`"),
            Tok::Tag(n) => format!("`'{n}`"),
            Tok::Str(s) => format!("\"{s}\""),
            Tok::Sign(s) => format!("`{s}`"),
            Tok::End => "the end of the file".into(),
        };
        let message = format!("expected {what}, found {found}");
        Err(Diag::at(self.source, self.span(), message))
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn name(&mut self, what: &str) -> Result<Name> {
        match self.peek().clone() {
            Tok::Name(n) => {
                self.next();
                Ok(n)
            }
            _ => self.expected(what),
        }
    }

    fn string(&mut self) -> Result<Name> {
        match self.peek().clone() {
            Tok::Str(s) => {
                self.next();
                Ok(s)
            }
            _ => self.expected("a string"),
        }
    }

    fn tag(&mut self) -> Result<Name> {
        match self.peek().clone() {
            Tok::Tag(t) => {
                self.next();
                Ok(t)
            }
            _ => self.expected("a tag, such as `'acq`"),
        }
    }

    /// Runs a part one level deeper.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Diag::at(
                self.source,
                self.span(),
                format!("this is nested more than {MAX_DEPTH} deep"),
            )
            .help("give names to the inner parts with `let`"));
        }
        self.depth += 1;
        let out = part(self);
        self.depth -= 1;
        out
    }

    fn file(&mut self) -> Result<File> {
        let mut file = File::default();
        let is_option = |t: &Tok| matches!(t, Tok::Name(n) if OPTIONS.contains(&n.as_ref()));
        match self.peek().clone() {
            Tok::Name(first) if !is_option(self.peek()) => {
                self.next();
                match self.peek().clone() {
                    Tok::Name(second) if !is_option(self.peek()) => {
                        self.next();
                        (file.arch, file.title) = (Some(first), Some(second));
                    }
                    Tok::Str(second) => {
                        self.next();
                        (file.arch, file.title) = (Some(first), Some(second));
                    }
                    _ => file.title = Some(first),
                }
            }
            Tok::Str(title) => {
                self.next();
                file.title = Some(title);
            }
            _ => {}
        }
        while is_option(self.peek()) {
            let option = self.name("an option")?;
            file.options.push(option);
        }
        file.catdep = self.eat("catdep");
        while *self.peek() != Tok::End {
            let ins = if self.is("enum") { self.enumeration()? } else { self.ins()? };
            file.body.push(ins);
        }
        Ok(file)
    }

    fn enumeration(&mut self) -> Result<Ins> {
        let start = self.span();
        self.expect("enum")?;
        let name = self.name("the name of the enumeration")?;
        self.expect("=")?;
        self.eat("||");
        let mut tags = vec![self.tag()?];
        while self.eat("||") {
            tags.push(self.tag()?);
        }
        Ok(Ins { span: self.since(start), kind: InsKind::Enum(name, tags) })
    }

    /// Instructions up to one of the closing words, which is not taken.
    fn block(&mut self, closing: &[&'static str]) -> Result<Vec<Ins>> {
        self.deeper(|p| {
            let mut body = Vec::new();
            while !closing.iter().any(|c| p.is(c)) {
                if *p.peek() == Tok::End {
                    let words: Vec<_> = closing.iter().map(|c| format!("`{c}`")).collect();
                    return p.expected(&format!("an instruction or {}", words.join(" or ")));
                }
                body.push(p.ins()?);
            }
            Ok(body)
        })
    }

    /// The error with the word that was probably meant.
    fn with_meant(&self, error: Box<Diag>) -> Box<Diag> {
        let Tok::Name(name) = self.peek() else { return error };
        match nearest(name, BEGINNINGS) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn ins(&mut self) -> Result<Ins> {
        watch::poll()?;
        let start = self.span();
        let Tok::Sign(sign) = *self.peek() else {
            return self.expected("an instruction").map_err(|e| self.with_meant(e));
        };
        let kind = match sign {
            "let" => self.let_ins()?,
            "match" => self.match_ins()?,
            "show" => {
                self.next();
                let expr = self.base(0)?;
                if self.eat("as") {
                    InsKind::ShowAs(expr, self.name("a name")?)
                } else if let ExprKind::Var(first) = expr.kind {
                    let mut names = vec![first];
                    while self.eat(",") {
                        names.push(self.name("a name")?);
                    }
                    InsKind::Show(names)
                } else {
                    return self.expected("`as` and a name for what is shown");
                }
            }
            "unshow" => {
                self.next();
                let mut names = vec![self.name("a name")?];
                while self.eat(",") {
                    names.push(self.name("a name")?);
                }
                InsKind::Unshow(names)
            }
            "include" => {
                self.next();
                InsKind::Include(self.string()?)
            }
            "procedure" => self.procedure()?,
            "call" => {
                self.next();
                let procedure = self.name("the name of a procedure")?;
                let arg = self.simple()?;
                let name = self.optional_name()?;
                InsKind::Call { procedure, arg, name }
            }
            "forall" => {
                self.next();
                let var = self.name("a variable")?;
                self.expect("in")?;
                let set = self.expr()?;
                self.expect("do")?;
                let body = self.block(&["end"])?;
                self.expect("end")?;
                InsKind::Forall { var, set, body }
            }
            "with" => {
                self.next();
                let var = self.name("a variable")?;
                self.expect("from")?;
                let from = self.expr()?;
                InsKind::With { var, from }
            }
            "if" => {
                self.next();
                let cond = self.variant(0)?;
                let yes = self.block(&["else", "end"])?;
                let no = if self.eat("else") { self.block(&["end"])? } else { Vec::new() };
                self.expect("end")?;
                InsKind::If(cond, yes, no)
            }
            "debug" => {
                self.next();
                InsKind::Debug(self.expr()?)
            }
            "instructions" | "default" => {
                self.next();
                let kind = self.name("a kind of instruction")?;
                self.expect("[")?;
                let args = self.args("]")?;
                InsKind::Events { kind, args, default: sign == "default" }
            }
            "flag" | "undefined_unless" | "assert" => {
                self.next();
                let kind = match sign {
                    "flag" => CheckKind::Flag,
                    "assert" => CheckKind::Assert,
                    _ => CheckKind::UndefinedUnless,
                };
                InsKind::Check(kind, self.checked_expr()?)
            }
            "acyclic" | "irreflexive" | "empty" | "~" => {
                InsKind::Check(CheckKind::Require, self.checked_expr()?)
            }
            _ => return self.expected("an instruction"),
        };
        Ok(Ins { span: self.since(start), kind })
    }

    fn let_ins(&mut self) -> Result<InsKind> {
        self.expect("let")?;
        let rec = self.eat("rec");
        let bindings = self.bindings()?;
        let bound = Let { rec, bindings };
        if rec && self.eat("when") {
            let checked = self.checked_expr()?;
            self.eat("in");
            return Ok(InsKind::LetWhen(bound, checked));
        }
        self.eat("in");
        Ok(InsKind::Let(bound))
    }

    fn match_ins(&mut self) -> Result<InsKind> {
        self.expect("match")?;
        let on = self.expr()?;
        self.expect("with")?;
        self.eat("||");
        let (arms, default) = self.arms(|parser, is_last| match is_last {
            true => parser.block(&["end"]),
            false => parser.block(&["||", "end"]),
        })?;
        Ok(InsKind::Match { on, arms, default })
    }

    /// The arms of a match on tags, to its end; `body` reads one, and is told whether no other can follow.
    fn arms<T>(&mut self, body: impl Fn(&mut Self, bool) -> Result<T>) -> Result<Arms<T>> {
        let (mut arms, mut default) = (Vec::new(), None);
        loop {
            if self.eat("_") {
                self.expect("->")?;
                default = Some(body(self, true)?);
                break;
            }
            let tag = self.tag()?;
            self.expect("->")?;
            arms.push((tag, body(self, false)?));
            if !self.eat("||") {
                break;
            }
        }
        self.expect("end")?;
        Ok((arms, default))
    }

    /// The parameters of a procedure or a function: one, or several in parentheses.
    fn params(&mut self) -> Result<Pat> {
        if !self.eat("(") {
            return Ok(vec![self.var()?]);
        }
        let params = self.formals()?;
        self.expect(")")?;
        Ok(params)
    }

    fn procedure(&mut self) -> Result<InsKind> {
        self.expect("procedure")?;
        let rec = self.eat("rec");
        let name = self.name("the name of the procedure")?;
        let params = self.params()?;
        self.expect("=")?;
        let body = self.block(&["end"])?;
        self.expect("end")?;
        Ok(InsKind::Procedure { name, params, body, rec })
    }

    fn optional_name(&mut self) -> Result<Option<Name>> {
        if self.eat("as") { self.name("a name").map(Some) } else { Ok(None) }
    }

    fn checked_expr(&mut self) -> Result<CheckedExpr> {
        let start = self.span();
        let negated = self.eat("~");
        let shape = match self.peek() {
            Tok::Sign("acyclic") => Shape::Acyclic,
            Tok::Sign("irreflexive") => Shape::Irreflexive,
            Tok::Sign("empty") => Shape::Empty,
            _ => return self.expected("`acyclic`, `irreflexive` or `empty`"),
        };
        self.next();
        let expr = self.expr()?;
        let name = self.optional_name()?;
        Ok(CheckedExpr { shape, negated, expr, name, span: self.since(start) })
    }

    fn var(&mut self) -> Result<Var> {
        if self.eat("_") {
            return Ok(None);
        }
        self.name("a variable or `_`").map(Some)
    }

    /// Variables separated by commas, possibly none.
    fn formals(&mut self) -> Result<Pat> {
        let mut pat = Vec::new();
        if matches!(self.peek(), Tok::Name(_)) || self.is("_") {
            pat.push(self.var()?);
            while self.eat(",") {
                pat.push(self.var()?);
            }
        }
        Ok(pat)
    }

    fn bindings(&mut self) -> Result<Vec<Binding>> {
        let mut bindings = vec![self.binding()?];
        while self.eat("and") {
            bindings.push(self.binding()?);
        }
        Ok(bindings)
    }

    fn binding(&mut self) -> Result<Binding> {
        let start = self.span();
        let (pat, params) = if self.eat("(") {
            let pat = self.formals()?;
            self.expect(")")?;
            (pat, None)
        } else {
            let first = self.var()?;
            if self.is("(") && first.is_some() {
                self.next();
                let params = self.formals()?;
                self.expect(")")?;
                (vec![first], Some(params))
            } else if (self.is("_") || matches!(self.peek(), Tok::Name(_))) && first.is_some() {
                let param = self.var()?;
                (vec![first], Some(vec![param]))
            } else {
                let mut pat = vec![first];
                while self.eat(",") {
                    pat.push(self.var()?);
                }
                (pat, None)
            }
        };
        if !self.is("=") {
            return self.expected("`=` and what the name stands for");
        }
        self.next();
        let body = self.expr()?;
        let span = self.since(start);
        let value = match params {
            None => body,
            Some(params) => Expr {
                span,
                kind: ExprKind::Fun(Box::new(Function {
                    name: pat.first().cloned().flatten(),
                    params,
                    body,
                })),
            },
        };
        Ok(Binding { pat, value, span })
    }

    fn expr(&mut self) -> Result<Expr> {
        self.deeper(Self::expr_here)
    }

    fn expr_here(&mut self) -> Result<Expr> {
        let start = self.span();
        let kind = match self.peek() {
            Tok::Sign("let") => {
                self.next();
                let rec = self.eat("rec");
                let bindings = self.bindings()?;
                self.expect("in")?;
                let body = self.expr()?;
                ExprKind::Let(Let { rec, bindings }, Box::new(body))
            }
            Tok::Sign("fun") => {
                self.next();
                let params = self.params()?;
                self.expect("->")?;
                let body = self.expr()?;
                ExprKind::Fun(Box::new(Function { name: None, params, body }))
            }
            Tok::Sign("try") => {
                self.next();
                let first = self.expr()?;
                self.expect("with")?;
                let second = self.expr()?;
                ExprKind::Try(Box::new(first), Box::new(second))
            }
            Tok::Sign("if") => {
                self.next();
                let cond = self.cond()?;
                self.expect("then")?;
                let yes = self.expr()?;
                self.expect("else")?;
                let no = self.expr()?;
                ExprKind::If(Box::new(cond), Box::new(yes), Box::new(no))
            }
            Tok::Sign("match") => self.match_expr()?,
            _ => {
                let first = self.base(0)?;
                if !self.is(",") {
                    return Ok(first);
                }
                let mut items = vec![first];
                while self.eat(",") {
                    items.push(self.base(0)?);
                }
                ExprKind::Tuple(items)
            }
        };
        Ok(Expr { span: self.since(start), kind })
    }

    fn match_expr(&mut self) -> Result<ExprKind> {
        self.expect("match")?;
        let on = Box::new(self.expr()?);
        self.expect("with")?;
        self.eat("||");
        let default_arm = self.is("_") && matches!(self.peek_at(1), Tok::Sign("->"));
        if default_arm || matches!(self.peek(), Tok::Tag(_)) {
            let (arms, default) = self.arms(|parser, _| parser.expr())?;
            let default = default.map(Box::new);
            return Ok(ExprKind::MatchTag { on, arms, default });
        }
        let (empty, other);
        if self.is("{") {
            empty = self.empty_arm()?;
            self.expect("||")?;
            other = self.set_arm()?;
        } else {
            other = self.set_arm()?;
            self.expect("||")?;
            empty = self.empty_arm()?;
        }
        self.expect("end")?;
        Ok(ExprKind::MatchSet { on, empty: Box::new(empty), other: Box::new(other) })
    }

    fn empty_arm(&mut self) -> Result<Expr> {
        if !self.is("{") {
            return self.expected("a tag, `{}` or a pattern such as `e ++ rest`");
        }
        self.next();
        self.expect("}")?;
        self.expect("->")?;
        self.expr()
    }

    fn set_arm(&mut self) -> Result<SetArm> {
        if !matches!(self.peek(), Tok::Name(_)) && !self.is("_") {
            return self.expected("a pattern such as `e ++ rest`");
        }
        let first = self.var()?;
        let (before, elem) = if self.eat("|") { (Some(first), self.var()?) } else { (None, first) };
        self.expect("++")?;
        let after = self.var()?;
        self.expect("->")?;
        let body = self.expr()?;
        Ok(SetArm { before, elem, after, body })
    }

    fn cond(&mut self) -> Result<Cond> {
        let mut ahead = 0;
        while matches!(self.peek_at(ahead), Tok::Sign("(")) {
            ahead += 1;
        }
        if matches!(self.peek_at(ahead), Tok::Str(_) | Tok::Sign("not" | "variant")) {
            return self.variant(0).map(Cond::Variant);
        }
        let left = self.expr()?;
        let Tok::Sign(sign @ ("=" | "subset" | "in")) = *self.peek() else {
            return self.expected("`=`, `subset` or `in`");
        };
        self.next();
        let right = self.expr()?;
        Ok(match sign {
            "=" => Cond::Eq(left, right),
            "subset" => Cond::Subset(left, right),
            _ => Cond::In(left, right),
        })
    }

    /// A condition on variants; `level` 0 takes `||`, 1 `&&` and stronger.
    fn variant(&mut self, level: usize) -> Result<Variant> {
        self.deeper(|p| {
            if level == 2 {
                return p.variant_atom();
            }
            let sign = ["||", "&&"][level];
            let mut left = p.variant(level + 1)?;
            for _ in 0.. {
                if !p.is(sign) {
                    break;
                }
                p.depth += 1;
                if p.depth >= MAX_DEPTH {
                    return p.expected("a shorter condition");
                }
                p.next();
                let right = Box::new(p.variant(level + 1)?);
                p.depth -= 1;
                left = match level {
                    0 => Variant::Or(Box::new(left), right),
                    _ => Variant::And(Box::new(left), right),
                };
            }
            Ok(left)
        })
    }

    fn variant_atom(&mut self) -> Result<Variant> {
        self.deeper(|p| {
            if p.eat("not") {
                return Ok(Variant::Not(Box::new(p.variant_atom()?)));
            }
            if p.eat("(") {
                let inner = p.variant(0)?;
                p.expect(")")?;
                return Ok(inner);
            }
            p.eat("variant");
            p.string().map(Variant::Name)
        })
    }

    /// An operand and the operators after it, at least as strong as `level` (an index into the
    /// five binary operators from weak to strong).
    fn base(&mut self, level: usize) -> Result<Expr> {
        const OPS: [(&str, BinOp); 5] = [
            ("|", BinOp::Union),
            ("++", BinOp::Add),
            (";", BinOp::Seq),
            ("\\", BinOp::Diff),
            ("&", BinOp::Inter),
        ];
        if level == OPS.len() {
            return self.deeper(Self::product);
        }
        let (sign, op) = OPS[level];
        let start = self.span();
        let first = self.base(level + 1)?;
        if !self.is(sign) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat(sign) {
            items.push(self.base(level + 1)?);
        }
        if matches!(op, BinOp::Union | BinOp::Seq) {
            items = flatten(op, items);
        }
        Ok(Expr { span: self.since(start), kind: ExprKind::Bin(op, items) })
    }

    /// `a * b`, and what is stronger.
    fn product(&mut self) -> Result<Expr> {
        let start = self.span();
        let left = self.unary()?;
        if !self.is("*") {
            return Ok(left);
        }
        self.next();
        let right = if self.is("~") {
            self.unary()?
        } else {
            let operand = self.operand()?;
            self.postfix(operand, &["^"])?
        };
        if self.is("*") || self.is("+") || self.is("?") {
            return self.no_mixing("`*` of sets");
        }
        Ok(Expr { span: self.since(start), kind: ExprKind::Bin(BinOp::Cross, vec![left, right]) })
    }

    fn no_mixing<T>(&self, first: &str) -> Result<T> {
        let Tok::Sign(sign) = self.peek() else {
            return self.expected("an operator");
        };
        Err(Diag::at(
            self.source,
            self.span(),
            format!("{first} and `{sign}` have no order of precedence"),
        )
        .help("write parentheses to say which comes first"))
    }

    /// Whether the token `ahead` of this one can begin an operand.
    fn operand_at(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            Tok::Name(_) | Tok::Tag(_) => true,
            Tok::Sign("~") => {
                !matches!(self.peek_at(ahead + 1), Tok::Sign("acyclic" | "irreflexive" | "empty"))
            }
            Tok::Sign(s) => matches!(*s, "0" | "_" | "(" | "{" | "[" | "begin"),
            _ => false,
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let start = self.span();
        if self.is("~") {
            self.next();
            let inner = self.deeper(|p| {
                if p.is("~") {
                    return p.unary();
                }
                let operand = p.operand()?;
                p.postfix(operand, &["^"])
            })?;
            if self.is("*") || self.is("+") || self.is("?") {
                return self.no_mixing("`~`");
            }
            return Ok(un(UnOp::Complement, inner, self.since(start)));
        }
        let operand = self.operand()?;
        self.postfix(operand, &["*", "+", "?", "^"])
    }

    /// The postfix signs after an operand; `*` before another operand is the product of sets.
    fn postfix(&mut self, mut expr: Expr, signs: &[&str]) -> Result<Expr> {
        for _ in 0..MAX_CHAIN {
            if !signs.iter().any(|s| self.is(s)) || (self.is("*") && self.operand_at(1)) {
                return Ok(expr);
            }
            let op = match self.peek() {
                Tok::Sign("*") => UnOp::Star,
                Tok::Sign("+") => UnOp::Plus,
                Tok::Sign("?") => UnOp::Opt,
                _ => UnOp::Inverse,
            };
            self.next();
            if op == UnOp::Inverse {
                self.expect("-1")?;
            }
            let span = self.since(expr.span);
            expr = un(op, expr, span);
        }
        self.expected("fewer operators in a row")
    }

    /// A simple operand, or a name and its arguments.
    fn operand(&mut self) -> Result<Expr> {
        let start = self.span();
        let Tok::Name(name) = self.peek().clone() else {
            return self.simple();
        };
        self.next();
        let mut expr = Expr { span: start, kind: ExprKind::Var(name) };
        for _ in 0..MAX_CHAIN {
            let arg = match self.peek().clone() {
                Tok::Name(name) => {
                    let span = self.span();
                    self.next();
                    Expr { span, kind: ExprKind::Var(name) }
                }
                Tok::Tag(_) | Tok::Sign("0" | "_" | "(" | "{" | "[" | "begin") => self.simple()?,
                _ => return Ok(expr),
            };
            expr = Expr {
                span: self.since(start),
                kind: ExprKind::App(Box::new(expr), Box::new(arg)),
            };
        }
        self.expected("fewer arguments")
    }

    fn simple(&mut self) -> Result<Expr> {
        let start = self.span();
        let tok = self.peek().clone();
        let kind = match tok {
            Tok::Tag(tag) => {
                self.next();
                ExprKind::Tag(tag)
            }
            Tok::Sign("0") => {
                self.next();
                ExprKind::EmptyRel
            }
            Tok::Sign("_") => {
                self.next();
                ExprKind::Universe
            }
            Tok::Sign("{") => {
                self.next();
                ExprKind::Set(self.args("}")?)
            }
            Tok::Sign("[") => {
                self.next();
                let inner = self.expr()?;
                self.expect("]")?;
                ExprKind::Un(UnOp::Identity, Box::new(inner))
            }
            Tok::Sign(open @ ("(" | "begin")) => {
                self.next();
                if open == "(" && self.eat(")") {
                    ExprKind::Tuple(Vec::new())
                } else {
                    let inner = self.expr()?;
                    self.expect(if open == "(" { ")" } else { "end" })?;
                    return Ok(inner);
                }
            }
            _ => return self.expected("an expression"),
        };
        Ok(Expr { span: self.since(start), kind })
    }

    /// Operands separated by commas, up to the closing sign, which is taken.
    fn args(&mut self, close: &str) -> Result<Vec<Expr>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.base(0)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(close)?;
        Ok(items)
    }
}

fn un(op: UnOp, inner: Expr, span: Span) -> Expr {
    Expr { span, kind: ExprKind::Un(op, Box::new(inner)) }
}

/// `a | (b | c)` as one union of three.
fn flatten(op: BinOp, items: Vec<Expr>) -> Vec<Expr> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match item.kind {
            ExprKind::Bin(o, inner) if o == op => out.extend(inner),
            kind => out.push(Expr { span: item.span, kind }),
        }
    }
    out
}
