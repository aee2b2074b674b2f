//! Reads expressions, with C's precedences.

use super::ast::{Annotated, BinaryOp, Change, Expr, ExprKind, IntLit, Primitive, UnaryOp};
use super::lex::{Kind, Tok};
use super::parse::{MAX_DEPTH, Parser};
use super::scoped::canonical;
use super::types::UNREAD;
use litmake_base::diag::{Diag, Result, Span};
use litmake_base::failure::FailureKind;

impl Parser<'_> {
    /// An expression, commas included.
    pub fn expr(&mut self) -> Result<Expr> {
        let start = self.span();
        let mut e = self.assignment()?;
        while self.eat(",") {
            let right = self.assignment()?;
            e = self.make(ExprKind::Comma(Box::new(e), Box::new(right)), start)?;
        }
        Ok(e)
    }

    /// An expression without a comma at its top.
    pub fn assignment(&mut self) -> Result<Expr> {
        match self.lone() {
            Some(e) => Ok(e),
            None => self.nested(Self::assignment_here),
        }
    }

    /// A number or a name with nothing before or after it that could belong to it: most operands
    /// are one, and need none of the levels of precedence.
    #[inline]
    fn lone(&mut self) -> Option<Expr> {
        if !matches!(self.peek_at(1), Tok::Punct(")" | "," | ";")) {
            return None;
        }
        let kind = match self.peek() {
            Tok::Int(lit) => ExprKind::Int(lit),
            Tok::Float(lit) => ExprKind::Float(lit),
            Tok::Word(w, Kind::Name) if !(w.starts_with("__") || matches!(w, "true" | "false")) => {
                ExprKind::Name(w.to_string())
            }
            _ => return None,
        };
        let span = self.span();
        self.skip();
        Some(Expr::new(kind, span))
    }

    fn make(&self, kind: ExprKind, start: Span) -> Result<Expr> {
        let e = Expr::new(kind, start.to(self.last_span()));
        if e.height() > MAX_DEPTH {
            return Err(self.too_deep(start));
        }
        Ok(e)
    }

    fn assignment_here(&mut self) -> Result<Expr> {
        let start = self.span();
        let target = self.conditional()?;
        let op = match self.peek() {
            Tok::Punct("=") => None,
            Tok::Punct(p) => match p.strip_suffix('=').and_then(compound) {
                Some(op) => Some(op),
                None => return Ok(target),
            },
            _ => return Ok(target),
        };
        self.skip();
        let value = self.assignment()?;
        self.make(ExprKind::Assign(op, Box::new(target), Box::new(value)), start)
    }

    fn conditional(&mut self) -> Result<Expr> {
        let start = self.span();
        let cond = self.binary(1)?;
        if !self.eat("?") {
            return Ok(cond);
        }
        let yes = self.nested(Self::expr)?;
        self.expect(":", "between the two values of `?`")?;
        let no = self.nested(Self::conditional)?;
        self.make(ExprKind::Cond(Box::new(cond), Box::new(yes), Box::new(no)), start)
    }

    fn binary(&mut self, least: u8) -> Result<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        loop {
            let Tok::Punct(p) = self.peek() else {
                return Ok(left);
            };
            let Some(op) = BinaryOp::of(p) else {
                return Ok(left);
            };
            if op.precedence() < least {
                return Ok(left);
            }
            self.skip();
            let right = self.binary(op.precedence() + 1)?;
            left = self.make(ExprKind::Binary(op, Box::new(left), Box::new(right)), start)?;
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        self.nested(Self::unary_here)
    }

    fn unary_here(&mut self) -> Result<Expr> {
        let start = self.span();
        let op = match self.peek() {
            Tok::Punct("+") => UnaryOp::Plus,
            Tok::Punct("-") => UnaryOp::Neg,
            Tok::Punct("~") => UnaryOp::Not,
            Tok::Punct("!") => UnaryOp::LogicalNot,
            Tok::Punct("*") => UnaryOp::Deref,
            Tok::Punct("&") => UnaryOp::Addr,
            Tok::Punct(p @ ("++" | "--")) => {
                let up = p == "++";
                self.skip();
                let target = Box::new(self.unary()?);
                let kind = ExprKind::Step { up, prefix: true, target };
                return self.make(kind, start);
            }
            Tok::Word("sizeof", _) => {
                self.skip();
                if self.is("(") && self.type_at(1, false) {
                    self.skip();
                    let ty = self.type_name()?;
                    self.expect(")", "after the type")?;
                    return self.make(ExprKind::SizeofType(ty), start);
                }
                let e = Box::new(self.unary()?);
                return self.make(ExprKind::SizeofExpr(e), start);
            }
            Tok::Punct("(") if self.type_at(1, false) => {
                self.skip();
                let ty = self.type_name()?;
                self.expect(")", "after the type of a cast")?;
                if self.is("{") {
                    return Err(Diag::at(
                        self.source,
                        self.span(),
                        "compound literals are not supported",
                    ));
                }
                let e = Box::new(self.unary()?);
                return self.make(ExprKind::Cast(ty, e), start);
            }
            _ => return self.postfix(),
        };
        self.skip();
        let e = Box::new(self.unary()?);
        self.make(ExprKind::Unary(op, e), start)
    }

    fn postfix(&mut self) -> Result<Expr> {
        let start = self.span();
        let mut e = self.primary()?;
        loop {
            let kind = match self.peek() {
                Tok::Punct("[") => {
                    self.skip();
                    let index = self.expr()?;
                    self.expect("]", "after the index")?;
                    ExprKind::Index(Box::new(e), Box::new(index))
                }
                Tok::Punct(p @ ("++" | "--")) => {
                    let up = p == "++";
                    self.skip();
                    ExprKind::Step { up, prefix: false, target: Box::new(e) }
                }
                Tok::Punct(p @ ("." | "->")) => {
                    let arrow = p == "->";
                    self.skip();
                    let (name, _) = self.name("the name of a member")?;
                    ExprKind::Member { base: Box::new(e), arrow, name }
                }
                Tok::Punct("(") => {
                    let message = "only a function's name can be called";
                    return Err(Diag::at(self.source, self.span(), message));
                }
                _ => return Ok(e),
            };
            e = self.make(kind, start)?;
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let start = self.span();
        match self.peek() {
            Tok::Int(lit) => {
                self.skip();
                self.make(ExprKind::Int(lit), start)
            }
            Tok::Float(lit) => {
                self.skip();
                self.make(ExprKind::Float(lit), start)
            }
            Tok::Punct("(") => {
                self.skip();
                let e = self.expr()?;
                self.expect(")", "after the expression")?;
                Ok(e)
            }
            Tok::Word(w @ ("true" | "false"), _) => {
                let value = u128::from(w == "true");
                self.skip();
                self.make(ExprKind::Int(IntLit::plain(value)), start)
            }
            Tok::Word("NULL" | "nullptr", _) => {
                self.skip();
                self.make(ExprKind::Int(IntLit::plain(0)), start)
            }
            Tok::Word("ATOMIC_VAR_INIT", _) => {
                self.skip();
                self.expect("(", "behind `ATOMIC_VAR_INIT`")?;
                let e = self.assignment()?;
                self.expect(")", "after the value")?;
                Ok(e)
            }
            Tok::Word(w, _) if UNREAD.contains(&w) => {
                Err(Diag::at(self.source, start, format!("`{w}` is not part of the C subset"))
                    .kind(FailureKind::Unsupported))
            }
            Tok::Word(w, Kind::Name) => {
                let mut name = w.to_string();
                self.skip();
                // `std::f`, and `memory_order::relaxed`.
                while (name == "std" || name == "memory_order") && self.eat("::") {
                    let (rest, _) = self.name("a name after `::`")?;
                    name = match name.as_str() {
                        "std" => rest,
                        outer => format!("{outer}_{rest}"),
                    };
                }
                if name.starts_with("__")
                    && let Some(primitive) = Primitive::named(&name)
                {
                    return self.annotated(primitive, start);
                }
                if !self.eat("(") {
                    return self.make(ExprKind::Name(name), start);
                }
                let mut args = Vec::new();
                if !self.eat(")") {
                    loop {
                        args.push(self.assignment()?);
                        if self.eat(")") {
                            break;
                        }
                        self.expect(",", "or `)` after an argument")?;
                    }
                }
                let (name, args) = canonical(name, args);
                self.make(ExprKind::Call(name, args), start)
            }
            _ => Err(self.unexpected("an expression")),
        }
    }
}

impl Parser<'_> {
    /// A primitive, from behind its name.
    fn annotated(&mut self, primitive: Primitive, start: Span) -> Result<Expr> {
        let name = primitive.name();
        let mut tags = Vec::new();
        let braces = self.is("{");
        if let Some(wanted) = primitive.braces()
            && wanted != braces
        {
            let expected = match wanted {
                true => format!("`{{` and annotations behind `{name}`"),
                false => format!("`(` behind `{name}`, which takes no annotations"),
            };
            return Err(self.unexpected(&expected));
        }
        if self.eat("{") {
            loop {
                tags.push(self.tag()?);
                if self.eat("}") {
                    break;
                }
                self.expect(",", "or `}` after an annotation")?;
            }
        }
        let (mut args, mut op) = (Vec::new(), None);
        // `__fence{mb}` has no arguments, and no parentheses.
        if primitive.arity() > 0 {
            self.expect("(", &format!("and arguments behind `{name}`"))?;
            loop {
                if primitive.changes() && args.len() == 1 && op.is_none() {
                    op = Some(self.change()?);
                } else {
                    args.push(self.assignment()?);
                }
                if self.eat(")") {
                    break;
                }
                self.expect(",", "or `)` after an argument")?;
            }
            // The value that ends a section of SRCU is an argument more.
            let most = primitive.arity() + usize::from(primitive == Primitive::Srcu);
            if !(primitive.arity()..=most).contains(&args.len()) {
                let (want, got) = (primitive.arity(), args.len());
                let s = if want == 1 { "" } else { "s" };
                let message = format!("`{name}` takes {want} argument{s}, found {got}");
                return Err(Diag::at(self.source, start.to(self.last_span()), message));
            }
        }
        self.make(ExprKind::Annotated(Box::new(Annotated { primitive, tags, op, args })), start)
    }

    /// An annotation: words joined by `-`.
    fn tag(&mut self) -> Result<String> {
        let mut tag = String::new();
        loop {
            match self.peek() {
                Tok::Word(w, _) => tag.push_str(w),
                _ => return Err(self.unexpected("an annotation, such as `once`")),
            }
            self.skip();
            if !self.eat("-") {
                return Ok(tag);
            }
            tag.push('-');
        }
    }

    /// The operator of an atomic operation.
    fn change(&mut self) -> Result<Change> {
        let op = match self.peek() {
            Tok::Punct("&") if matches!(self.peek_at(1), Tok::Punct("~")) => {
                self.skip();
                Some(Change::Clear)
            }
            Tok::Punct(p) => BinaryOp::of(p)
                .filter(|op| matches!(op.text(), "+" | "-" | "&" | "|" | "^"))
                .map(Change::Op),
            _ => None,
        };
        match op {
            Some(op) => {
                self.skip();
                Ok(op)
            }
            None => Err(self.unexpected("an operator: `+`, `-`, `&`, `|`, `^` or `&~`")),
        }
    }
}

/// The operator `op` of `op=`.
fn compound(text: &str) -> Option<BinaryOp> {
    BinaryOp::of(text).filter(|op| op.assigns())
}
