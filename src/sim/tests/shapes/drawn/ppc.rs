//! Moves as instructions of Power.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Status};

/// Registers for the parts of a move.
const VALUE: &str = "r15";
const ADDRESS: &str = "r16";

fn reg(r: u8) -> String {
    format!("r{}", 3 + r)
}

fn base(at: &Addr) -> String {
    match at.base {
        Base::Pointer(r) => reg(r),
        base => format!("r{}", 20 + Column::number(base).unwrap_or(0)),
    }
}

/// The register of an index, with the offset added to it.
fn index(c: &mut Column, at: &Addr) -> Option<String> {
    match (at.index, at.off) {
        (Some(index), 0) => Some(reg(index)),
        (Some(index), off) => {
            c.push(format!("addi {ADDRESS},{},{off}", reg(index)));
            Some(ADDRESS.to_string())
        }
        (None, _) => None,
    }
}

/// An access at an index, or at an offset.
fn access(c: &mut Column, name: &str, r: &str, at: &Addr) {
    match index(c, at) {
        Some(index) => c.push(format!("{name}x {r},{index},{}", base(at))),
        None => c.push(format!("{name} {r},{}({})", at.off, base(at))),
    }
}

/// An access that has no offset.
fn indexed(c: &mut Column, name: &str, r: &str, at: &Addr) {
    let index = match index(c, at) {
        Some(index) => index,
        None if at.off == 0 => "r0".to_string(),
        None => {
            c.push(format!("li {ADDRESS},{}", at.off));
            ADDRESS.to_string()
        }
    };
    c.push(format!("{name} {r},{index},{}", base(at)));
}

fn letter(size: u8) -> &'static str {
    ["b", "h", "w", "d"][size.trailing_zeros() as usize]
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

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("li {},{value}", reg(*to))),
        Move::Compute { op, to, a, b } => {
            let (to, a) = (reg(*to), reg(*a));
            match (op, b) {
                (Op::Add, Operand::Const(v)) => c.push(format!("addi {to},{a},{v}")),
                (Op::Sub, Operand::Const(v)) => c.push(format!("addi {to},{a},{}", -v)),
                (Op::Or, Operand::Const(v)) => c.push(format!("ori {to},{a},{v}")),
                (Op::Xor, Operand::Const(v)) => c.push(format!("xori {to},{a},{v}")),
                (Op::And, Operand::Const(v @ 0..)) => c.push(format!("andi. {to},{a},{v}")),
                (_, b) => {
                    let name = match op {
                        Op::Add => "add",
                        // `a - b` is written so by herd, too.
                        Op::Sub => "sub",
                        Op::And => "and",
                        Op::Or => "or",
                        Op::Xor => "xor",
                    };
                    let b = value(c, *b);
                    c.push(format!("{name} {to},{a},{b}"));
                }
            }
        }
        Move::Take { to, place } => c.push(format!("mr {},r{}", reg(*to), 20 + place)),
        Move::Load { to, at, size, form, .. } => {
            let to = reg(*to);
            match (form, size) {
                (Form::Reversed, _) => {
                    let name = format!("l{}brx", letter(*size));
                    indexed(c, &name, &to, at);
                }
                (Form::Signed, 2) => access(c, "lha", &to, at),
                (_, 8) => access(c, "ld", &to, at),
                (_, size) => {
                    let name = format!("l{}z", letter(*size));
                    access(c, &name, &to, at);
                    if *form == Form::Signed && *size == 1 {
                        c.push(format!("extsb {to},{to}"));
                    }
                }
            }
        }
        Move::Store { from, at, size, reversed, .. } => {
            let from = value(c, *from);
            let name = format!("st{}", letter(*size));
            if *reversed {
                indexed(c, &format!("{name}brx"), &from, at);
            } else {
                access(c, &name, &from, at);
            }
        }
        Move::Fence(name) => c.push(*name),
        Move::Pair { to, from, at, size, status, .. } => {
            let from = value(c, *from);
            let l = letter(*size);
            let again = c.pair(status);
            indexed(c, &format!("l{l}arx"), &reg(*to), at);
            indexed(c, &format!("st{l}cx."), &from, at);
            if let Status::Kept(r) = status {
                c.push(format!("li {},0", reg(*r)));
                c.push(format!("bne {again}"));
                c.push(format!("li {},1", reg(*r)));
                c.push(format!("{again}:"));
            }
            c.paired(status, &again, |c| c.push(format!("bne {again}")));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            c.push(format!("cmpwi {},{is}", reg(*on)));
            c.push(format!("bne {end}"));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            c.push(format!("cmpwi {},{is}", reg(*on)));
            c.push(format!("iseleq {},{},{}", reg(*to), reg(*other), reg(*to)));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("cmpwi {},0", reg(*to)));
            c.push(format!("beq {again}"));
        }
        Move::Update { .. } | Move::Compare { .. } => unreachable!("Power has no such instruction"),
    }
}
