//! Reads expressions, with C's precedences.

use super::ast::{BinaryOp, Expr, ExprKind, IntLit, UnaryOp};
use super::lex::{Kind, Tok};
use super::parse::{MAX_DEPTH, Parser};
use crate::diag::{Diag, Result, Span};

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
        self.nested(Self::assignment_here)
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
                if self.is("{") && name.starts_with("__") {
                    return Err(Diag::at(
                        self.source,
                        start,
                        format!("`{name}{{...}}` is a primitive of the Linux kernel model"),
                    )
                    .help("this is a front end for C11; use the operations of <stdatomic.h>"));
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
                self.make(ExprKind::Call(name, args), start)
            }
            _ => Err(self.unexpected("an expression")),
        }
    }
}

/// The operator `op` of `op=`.
fn compound(text: &str) -> Option<BinaryOp> {
    BinaryOp::of(text).filter(|op| op.assigns())
}
