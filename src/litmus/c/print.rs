//! Writes the tree as C. What is written reads back as the same tree.

use super::ast::{
    Annotated, BARRIER, BinaryOp, Expr, ExprKind, Function, Param, Stmt, StmtKind, UnaryOp,
};
use super::types::int_name;
use crate::Type;
use crate::types::float_name;
use std::fmt::Write;

/// A function in the form of a litmus test's body. The return type is left out where a test
/// leaves it out: at a thread that returns nothing.
pub fn print_function(f: &Function) -> String {
    let mut out = String::new();
    let thread = f
        .name
        .strip_prefix('P')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let param = |p: &Param| match p.local {
        true => format!("local {}", print_declaration(&p.ty, &p.name)),
        false => print_declaration(&p.ty, &p.name),
    };
    let params: Vec<String> = f.params.iter().map(param).collect();
    let head = format!("{}({})", f.name, params.join(", "));
    let _ = write!(out, "{}", f.told);
    if thread && f.ret == Type::Void && f.told.is_empty() {
        out.push_str(&head);
    } else {
        out.push_str(&print_declaration(&f.ret, &head));
    }
    out.push_str(" {\n");
    for s in &f.body {
        print_statement(&mut out, s, 1);
    }
    out.push_str("}\n");
    out
}

/// A type without a name.
pub fn print_type(ty: &Type) -> String {
    print_declaration(ty, "")
}

/// A declaration of `name` with this type, without the semicolon.
pub fn print_declaration(ty: &Type, name: &str) -> String {
    let (base, declarator) = split(ty, name.to_string());
    match declarator.is_empty() {
        true => base,
        false => format!("{base} {declarator}"),
    }
}

/// The specifier that a type's declaration begins with, and the declarator after it.
fn split(ty: &Type, inner: String) -> (String, String) {
    let bare = ty.bare();
    match bare {
        Type::Pointer(t) => {
            let mut star = "*".to_string();
            for (has, word) in [
                (ty.is_const(), "const"),
                (ty.is_volatile(), "volatile"),
                // Both C and C++ compilers know this spelling.
                (ty.is_restrict(), "__restrict"),
                (ty.is_atomic(), "_Atomic"),
            ] {
                if has {
                    star.push_str(word);
                    star.push(' ');
                }
            }
            let inner = format!("{star}{inner}");
            let inner = inner.trim_end().to_string();
            match t.bare() {
                Type::Array(..) => split(t, format!("({inner})")),
                _ => split(t, inner),
            }
        }
        Type::Array(t, n) => {
            let size = match n {
                0 => String::new(),
                n => n.to_string(),
            };
            split(t, format!("{inner}[{size}]"))
        }
        _ => {
            let mut base = String::new();
            if ty.is_const() {
                base.push_str("const ");
            }
            if ty.is_volatile() {
                base.push_str("volatile ");
            }
            match (bare, ty.is_atomic()) {
                (&Type::Int { bytes: 4, signed: true }, true) => base.push_str("atomic_int"),
                (_, atomic) => {
                    if atomic {
                        base.push_str("_Atomic ");
                    }
                    match bare {
                        Type::Int { bytes, signed } => base.push_str(int_name(*bytes, *signed)),
                        Type::Float { bytes } => base.push_str(float_name(*bytes)),
                        Type::Named(n) => base.push_str(n),
                        Type::Struct(s) => base.push_str(&s.name()),
                        _ => base.push_str("void"),
                    }
                }
            }
            (base, inner)
        }
    }
}

/// Appends a statement with its line ends, at a depth of so many blocks.
pub fn print_statement(out: &mut String, s: &Stmt, indent: usize) {
    let pad = "  ".repeat(indent);
    match &s.kind {
        StmtKind::Decl(_) | StmtKind::Expr(_) | StmtKind::Empty => {
            let _ = writeln!(out, "{pad}{};", simple(s));
        }
        StmtKind::If { cond, yes, no } => {
            let _ = write!(out, "{pad}if ({})", print_expr(cond));
            // An `if` below would take the `else` away.
            let braces = no.is_some() && ends_in_open_if(yes);
            body(out, yes, indent, braces);
            if let Some(no) = no {
                let _ = write!(out, "{pad}else");
                body(out, no, indent, false);
            }
        }
        StmtKind::While { cond, body: b } => {
            let _ = write!(out, "{pad}while ({})", print_expr(cond));
            body(out, b, indent, false);
        }
        StmtKind::DoWhile { body: b, cond } => {
            let _ = write!(out, "{pad}do");
            body(out, b, indent, false);
            let _ = writeln!(out, "{pad}while ({});", print_expr(cond));
        }
        StmtKind::For { init, cond, step, body: b } => {
            let part = |e: &Option<Expr>| e.as_ref().map_or(String::new(), print_expr);
            let _ = write!(out, "{pad}for ({}; {}; {})", simple(init), part(cond), part(step));
            body(out, b, indent, false);
        }
        StmtKind::Block(list) => {
            let _ = writeln!(out, "{pad}{{");
            for s in list {
                print_statement(out, s, indent + 1);
            }
            let _ = writeln!(out, "{pad}}}");
        }
        StmtKind::Return(None) => {
            let _ = writeln!(out, "{pad}return;");
        }
        StmtKind::Return(Some(e)) => {
            let _ = writeln!(out, "{pad}return {};", print_expr(e));
        }
        StmtKind::Break => {
            let _ = writeln!(out, "{pad}break;");
        }
        StmtKind::Continue => {
            let _ = writeln!(out, "{pad}continue;");
        }
        StmtKind::Goto(label) => {
            let _ = writeln!(out, "{pad}goto {label};");
        }
        StmtKind::Label(label, s) => {
            let _ = writeln!(out, "{pad}{label}:");
            print_statement(out, s, indent);
        }
    }
}

/// The statement under `if`, `else` or a loop: a block on the same line, another one below.
fn body(out: &mut String, s: &Stmt, indent: usize, braces: bool) {
    match &s.kind {
        StmtKind::Block(list) => {
            out.push_str(" {\n");
            for s in list {
                print_statement(out, s, indent + 1);
            }
            let _ = writeln!(out, "{}}}", "  ".repeat(indent));
        }
        _ if braces => {
            // A tree that was not read from text: the block is another tree, with its meaning.
            out.push_str(" {\n");
            print_statement(out, s, indent + 1);
            let _ = writeln!(out, "{}}}", "  ".repeat(indent));
        }
        _ => {
            out.push('\n');
            print_statement(out, s, indent + 1);
        }
    }
}

/// Whether an `else` after this statement would belong to an `if` inside it. The parser never
/// gives such a tree under an `if` with an `else`.
fn ends_in_open_if(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::If { no, .. } => match no {
            None => true,
            Some(no) => ends_in_open_if(no),
        },
        StmtKind::While { body, .. } | StmtKind::For { body, .. } => ends_in_open_if(body),
        StmtKind::Label(_, s) => ends_in_open_if(s),
        _ => false,
    }
}

/// A declaration, an expression or nothing, without the semicolon.
fn simple(s: &Stmt) -> String {
    match &s.kind {
        StmtKind::Decl(list) => {
            let mut out = String::new();
            for (i, d) in list.iter().enumerate() {
                let (base, declarator) = split(&d.ty, d.name.clone());
                match i {
                    0 => out = format!("{base} {declarator}"),
                    _ => {
                        let _ = write!(out, ", {declarator}");
                    }
                }
                if let Some(e) = &d.init {
                    let _ = write!(out, " = {}", operand(e, ASSIGN));
                }
            }
            out
        }
        StmtKind::Expr(e) => print_expr(e),
        _ => String::new(),
    }
}

// Levels above those of the binary operators; a larger number binds tighter.
const COMMA: u8 = 0;
const ASSIGN: u8 = 1;
const COND: u8 = 2;
const BINARY: u8 = 2;
const UNARY: u8 = 20;
const POSTFIX: u8 = 21;
const PRIMARY: u8 = 22;

fn level(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Comma(..) => COMMA,
        ExprKind::Assign(..) => ASSIGN,
        ExprKind::Cond(..) => COND,
        ExprKind::Binary(op, ..) => BINARY + op.precedence(),
        ExprKind::Unary(..)
        | ExprKind::Cast(..)
        | ExprKind::SizeofExpr(_)
        | ExprKind::SizeofType(_)
        | ExprKind::Step { prefix: true, .. } => UNARY,
        ExprKind::Step { .. } | ExprKind::Index(..) | ExprKind::Member { .. } => POSTFIX,
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Name(_)
        | ExprKind::Call(..)
        | ExprKind::List(_)
        | ExprKind::Annotated(_) => PRIMARY,
    }
}

/// An operand, in parentheses where it binds less tightly than its place asks.
fn operand(e: &Expr, least: u8) -> String {
    if level(e) >= least { print_expr(e) } else { format!("({})", print_expr(e)) }
}

/// The text of an expression, with the parentheses that it needs.
pub fn print_expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(i) => {
            let mut out = if i.decimal { i.value.to_string() } else { format!("{:#x}", i.value) };
            if i.unsigned {
                out.push('u');
            }
            if i.long {
                out.push('l');
            }
            out
        }
        ExprKind::Float(f) => f.to_string(),
        ExprKind::Name(n) => n.clone(),
        ExprKind::Unary(op, a) => {
            let op = match op {
                UnaryOp::Plus => "+",
                UnaryOp::Neg => "-",
                UnaryOp::Not => "~",
                UnaryOp::LogicalNot => "!",
                UnaryOp::Deref => "*",
                UnaryOp::Addr => "&",
            };
            let a = operand(a, UNARY);
            // `- -a` must not become `--a`, nor `& &a` a logical and. A blank nests no deeper.
            match a.starts_with(op) && matches!(op, "+" | "-" | "&") {
                true => format!("{op} {a}"),
                false => format!("{op}{a}"),
            }
        }
        ExprKind::Step { up, prefix, target } => {
            let op = if *up { "++" } else { "--" };
            match prefix {
                true => {
                    let a = operand(target, UNARY);
                    match a.starts_with(&op[..1]) {
                        true => format!("{op} {a}"),
                        false => format!("{op}{a}"),
                    }
                }
                false => format!("{}{op}", operand(target, POSTFIX)),
            }
        }
        ExprKind::Binary(op, a, b) => binary(*op, a, b),
        ExprKind::Assign(op, a, b) => {
            let op = op.map_or("", BinaryOp::text);
            format!("{} {op}= {}", operand(a, UNARY), operand(b, ASSIGN))
        }
        ExprKind::Cond(c, a, b) => {
            format!("{} ? {} : {}", operand(c, COND + 1), print_expr(a), operand(b, COND))
        }
        ExprKind::Comma(a, b) => format!("{}, {}", operand(a, COMMA), operand(b, ASSIGN)),
        ExprKind::Cast(ty, a) => format!("({}){}", print_type(ty), operand(a, UNARY)),
        ExprKind::SizeofType(ty) => format!("sizeof({})", print_type(ty)),
        ExprKind::SizeofExpr(a) => format!("sizeof({})", print_expr(a)),
        ExprKind::Call(f, _) if f == BARRIER => format!("{BARRIER} volatile(\"\" ::: \"memory\")"),
        ExprKind::Call(f, args) => {
            let args: Vec<String> = args.iter().map(|a| operand(a, ASSIGN)).collect();
            format!("{f}({})", args.join(", "))
        }
        ExprKind::List(all) => {
            let all: Vec<String> = all.iter().map(|e| operand(e, ASSIGN)).collect();
            format!("{{{}}}", all.join(", "))
        }
        ExprKind::Annotated(a) => annotated(a),
        ExprKind::Index(a, i) => format!("{}[{}]", operand(a, POSTFIX), print_expr(i)),
        ExprKind::Member { base, arrow, name } => {
            let dot = if *arrow { "->" } else { "." };
            // `1.x` would be a number.
            let number = matches!(base.kind, ExprKind::Int(_) | ExprKind::Float(_));
            let least = if number { PRIMARY + 1 } else { POSTFIX };
            format!("{}{dot}{name}", operand(base, least))
        }
    }
}

fn annotated(a: &Annotated) -> String {
    let mut out = a.primitive.name().to_string();
    if !a.tags.is_empty() {
        let _ = write!(out, "{{{}}}", a.tags.join(","));
    }
    let mut args: Vec<String> = a.args.iter().map(|e| operand(e, ASSIGN)).collect();
    if let Some(op) = a.op {
        args.insert(args.len().min(1), op.text().to_string());
    }
    if !args.is_empty() {
        let _ = write!(out, "({})", args.join(", "));
    }
    out
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr) -> String {
    let least = BINARY + op.precedence();
    let (a, b) = (operand(a, least), operand(b, least + 1));
    format!("{a} {} {b}", op.text())
}
