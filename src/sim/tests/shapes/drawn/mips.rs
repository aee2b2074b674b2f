//! Moves as instructions of MIPS.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Status};

/// Registers for the parts of a move.
const VALUE: &str = "$14";
const ADDRESS: &str = "$15";
const STATUS: &str = "$16";

fn reg(r: u8) -> String {
    format!("${}", 4 + r)
}

fn letter(size: u8) -> &'static str {
    ["b", "h", "w", "d"][size.trailing_zeros() as usize]
}

fn address(c: &mut Column, at: &Addr) -> String {
    let mut base = match at.base {
        Base::Pointer(r) => reg(r),
        base => format!("${}", 20 + Column::number(base).unwrap_or(0)),
    };
    if let Some(index) = at.index {
        c.push(format!("addu {ADDRESS},{base},{}", reg(index)));
        base = ADDRESS.to_string();
    }
    format!("{}({base})", at.off)
}

fn value(c: &mut Column, from: Operand) -> String {
    match from {
        Operand::Reg(r) => reg(r),
        Operand::Const(v) => {
            c.push(format!("li {VALUE},{v}"));
            VALUE.to_string()
        }
    }
}

fn reverse(c: &mut Column, to: &str, from: &str, size: u8) {
    match size {
        2 => c.push(format!("wsbh {to},{from}")),
        4 => {
            c.push(format!("wsbh {to},{from}"));
            c.push(format!("rotr {to},{to},16"));
        }
        _ => {
            c.push(format!("dsbh {to},{from}"));
            c.push(format!("dshd {to},{to}"));
        }
    }
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("li {},{value}", reg(*to))),
        Move::Compute { op, to, a, b } => {
            let (to, a) = (reg(*to), reg(*a));
            let (name, constant) = match op {
                Op::Add => ("addu", "addiu"),
                Op::Sub => ("subu", "addiu"),
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
        Move::Take { to, place } => c.push(format!("move {},${}", reg(*to), 20 + place)),
        Move::Load { to, at, size, form, .. } => {
            let to = reg(*to);
            let at = address(c, at);
            let u = if *form != Form::Signed && *size < 4 { "u" } else { "" };
            c.push(format!("l{}{u} {to},{at}", letter(*size)));
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
            c.push(format!("s{} {from},{at}", letter(*size)));
        }
        Move::Fence(name) => c.push(*name),
        Move::Pair { to, from, at, size, status, .. } => {
            let from = value(c, *from);
            let at = address(c, at);
            let d = if *size == 8 { "d" } else { "" };
            let again = c.pair(status);
            c.push(format!("ll{d} {},{at}", reg(*to)));
            let kept = if let Status::Kept(r) = status { reg(*r) } else { STATUS.to_string() };
            // The status goes where the value was.
            c.push(format!("move {kept},{from}"));
            c.push(format!("sc{d} {kept},{at}"));
            c.paired(status, &again, |c| c.push(format!("beq {kept},$0,{again}")));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            let is = match is {
                0 => "$0".to_string(),
                is => value(c, Operand::Const(*is)),
            };
            c.push(format!("bne {},{is},{end}", reg(*on)));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            c.push(format!("xori {STATUS},{},{is}", reg(*on)));
            c.push(format!("movz {},{},{STATUS}", reg(*to), reg(*other)));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("beq {},$0,{again}", reg(*to)));
        }
        Move::Update { .. } | Move::Compare { .. } => unreachable!("MIPS has no such instruction"),
    }
}
