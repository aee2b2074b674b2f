//! Moves as instructions of LoongArch.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Order, Status, UpdateOp};

/// Registers for the parts of a move.
const VALUE: &str = "$r14";
const ADDRESS: &str = "$r15";
const STATUS: &str = "$r16";

fn reg(r: u8) -> String {
    format!("$r{}", 4 + r)
}

fn letter(size: u8) -> &'static str {
    ["b", "h", "w", "d"][size.trailing_zeros() as usize]
}

/// The base with the index added; and the offset.
fn parts(c: &mut Column, at: &Addr) -> (String, i64) {
    let mut base = match at.base {
        Base::Pointer(r) => reg(r),
        base => format!("$r{}", 23 + Column::number(base).unwrap_or(0)),
    };
    if let Some(index) = at.index {
        c.push(format!("add.d {ADDRESS},{base},{}", reg(index)));
        base = ADDRESS.to_string();
    }
    (base, at.off)
}

fn address(c: &mut Column, at: &Addr) -> String {
    let (base, off) = parts(c, at);
    format!("{base},{off}")
}

fn alone(c: &mut Column, at: &Addr) -> String {
    let (base, off) = parts(c, at);
    if off == 0 {
        return base;
    }
    c.push(format!("addi.d {ADDRESS},{base},{off}"));
    ADDRESS.to_string()
}

fn value(c: &mut Column, from: Operand) -> String {
    match from {
        Operand::Reg(r) => reg(r),
        Operand::Const(0) => "$r0".to_string(),
        Operand::Const(v) => {
            c.push(format!("li.d {VALUE},{v}"));
            VALUE.to_string()
        }
    }
}

fn reverse(c: &mut Column, to: &str, from: &str, size: u8) {
    let name = match size {
        2 => "revb.2h",
        4 => "revb.2w",
        _ => "revb.d",
    };
    c.push(format!("{name} {to},{from}"));
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("li.d {},{value}", reg(*to))),
        Move::Compute { op, to, a, b } => {
            let (to, a) = (reg(*to), reg(*a));
            let (name, constant) = match op {
                Op::Add => ("add.w", "addi.w"),
                Op::Sub => ("sub.w", "addi.w"),
                Op::And => ("and", "andi"),
                Op::Or => ("or", "ori"),
                Op::Xor => ("xor", "xori"),
            };
            match (op, b) {
                (Op::Sub, Operand::Const(v)) => c.push(format!("{constant} {to},{a},{}", -v)),
                // Constants of logic have no sign.
                (_, Operand::Const(v @ 0..)) => c.push(format!("{constant} {to},{a},{v}")),
                (_, b) => {
                    let b = value(c, *b);
                    c.push(format!("{name} {to},{a},{b}"));
                }
            }
        }
        Move::Take { to, place } => c.push(format!("move {},$r{}", reg(*to), 23 + place)),
        Move::Load { to, at, size, form, .. } => {
            let to = reg(*to);
            let at = address(c, at);
            let u = if *form != Form::Signed && *size < 4 { "u" } else { "" };
            c.push(format!("ld.{}{u} {to},{at}", letter(*size)));
            if *form == Form::Reversed {
                reverse(c, &to, &to, *size);
            }
        }
        Move::Store { from, at, size, reversed, .. } => {
            let mut from = value(c, *from);
            if *reversed {
                reverse(c, VALUE, &from, *size);
                from = VALUE.to_string();
            }
            let at = address(c, at);
            c.push(format!("st.{} {from},{at}", letter(*size)));
        }
        Move::Fence(name) => c.push(*name),
        Move::Update { op, to, from, at, size, order } => {
            let from = value(c, *from);
            let at = alone(c, at);
            let name = match op {
                UpdateOp::Swap => "swap",
                UpdateOp::Add => "add",
                UpdateOp::Or => "or",
                UpdateOp::Xor => "xor",
            };
            let db = if *order == Order::Both { "_db" } else { "" };
            c.push(format!("am{name}{db}.{} {},{from},{at}", letter(*size), reg(*to)));
        }
        Move::Compare { .. } => unreachable!("LoongArch is drawn without compare-and-swap"),
        Move::Pair { to, from, at, size, status, .. } => {
            let from = value(c, *from);
            let at = address(c, at);
            let l = letter(*size);
            let again = c.pair(status);
            c.push(format!("ll.{l} {},{at}", reg(*to)));
            let kept = if let Status::Kept(r) = status { reg(*r) } else { STATUS.to_string() };
            // The status goes where the value was.
            c.push(format!("move {kept},{from}"));
            c.push(format!("sc.{l} {kept},{at}"));
            c.paired(status, &again, |c| c.push(format!("beq {kept},$r0,{again}")));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            let is = value(c, Operand::Const(*is));
            c.push(format!("bne {},{is},{end}", reg(*on)));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            // One of both is 0.
            c.push(format!("xori {STATUS},{},{is}", reg(*on)));
            c.push(format!("maskeqz {VALUE},{},{STATUS}", reg(*to)));
            c.push(format!("masknez {STATUS},{},{STATUS}", reg(*other)));
            c.push(format!("or {},{VALUE},{STATUS}", reg(*to)));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("beqz {},{again}", reg(*to)));
        }
    }
}
