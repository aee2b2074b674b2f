//! Moves as instructions of AArch32.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Order, Status};

/// Registers for the parts of a move.
const VALUE: &str = "R5";
const ADDRESS: &str = "R6";
const STATUS: &str = "R7";

fn letter(size: u8) -> &'static str {
    match size {
        1 => "B",
        2 => "H",
        _ => "",
    }
}

fn reg(r: u8) -> String {
    if r >= super::POINTER { "R4".to_string() } else { format!("R{r}") }
}

fn base(at: &Addr) -> String {
    match at.base {
        Base::Pointer(r) => reg(r),
        base => format!("R{}", 8 + Column::number(base).unwrap_or(0)),
    }
}

fn alone(c: &mut Column, at: &Addr) -> String {
    let mut to = base(at);
    if let Some(index) = at.index {
        c.push(format!("ADD {ADDRESS},{to},{}", reg(index)));
        to = ADDRESS.to_string();
    }
    if at.off != 0 {
        c.push(format!("ADD {ADDRESS},{to},#{}", at.off));
        to = ADDRESS.to_string();
    }
    format!("[{to}]")
}

fn address(c: &mut Column, at: &Addr) -> String {
    match (at.index, at.off) {
        (Some(index), 0) => format!("[{},{}]", base(at), reg(index)),
        (None, off) if off != 0 && !c.facts.plain => format!("[{},#{off}]", base(at)),
        _ => alone(c, at),
    }
}

fn value(c: &mut Column, from: Operand) -> String {
    match from {
        Operand::Reg(r) => reg(r),
        Operand::Const(v) => {
            set(c, VALUE, v);
            VALUE.to_string()
        }
    }
}

fn set(c: &mut Column, to: &str, v: i64) {
    match v {
        ..0 => c.push(format!("MVN {to},#{}", !v)),
        0..256 => c.push(format!("MOV {to},#{v}")),
        _ => c.push(format!("MOVW {to},#{v}")),
    }
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => set(c, &reg(*to), *value),
        Move::Compute { op, to, a, b } => {
            let (to, a) = (reg(*to), reg(*a));
            let name = match op {
                Op::Add => "ADD",
                Op::Sub => "SUB",
                Op::And => "AND",
                Op::Or => "ORR",
                Op::Xor => "EOR",
            };
            match (op, b) {
                (Op::And, Operand::Const(-2)) => c.push(format!("BIC {to},{a},#1")),
                // herd knows no constants there.
                (Op::Xor, Operand::Const(v)) => {
                    set(c, VALUE, *v);
                    c.push(format!("EOR {to},{a},{VALUE}"));
                }
                (_, Operand::Const(v)) => c.push(format!("{name} {to},{a},#{v}")),
                (_, Operand::Reg(b)) => c.push(format!("{name} {to},{a},{}", reg(*b))),
            }
        }
        Move::Take { to, place } => c.push(format!("MOV {},R{}", reg(*to), 8 + place)),
        Move::Load { to, at, size, order, form } => {
            let to = reg(*to);
            let l = letter(*size);
            if *order == Order::Plain {
                let at = address(c, at);
                let s = if *form == Form::Signed && *size < 4 { "S" } else { "" };
                c.push(format!("LDR{s}{l} {to},{at}"));
            } else {
                let at = alone(c, at);
                c.push(format!("LDA{l} {to},{at}"));
            }
            if *form == Form::Reversed {
                let name = if *size == 2 { "REV16" } else { "REV" };
                c.push(format!("{name} {to},{to}"));
            }
        }
        Move::Store { from, at, size, order, reversed } => {
            let mut from = value(c, *from);
            let l = letter(*size);
            if *reversed {
                let name = if *size == 2 { "REV16" } else { "REV" };
                c.push(format!("{name} {VALUE},{from}"));
                from = VALUE.to_string();
            }
            if order.releases() {
                let at = alone(c, at);
                c.push(format!("STL{l} {from},{at}"));
            } else {
                let at = address(c, at);
                c.push(format!("STR{l} {from},{at}"));
            }
        }
        Move::Fence(name) => c.push(*name),
        Move::Pair { to, from, at, size, order, status } => {
            let from = value(c, *from);
            let at = alone(c, at);
            let l = letter(*size);
            let again = c.pair(status);
            let ld = if order.acquires() { "LDAEX" } else { "LDREX" };
            let st = if order.releases() { "STLEX" } else { "STREX" };
            c.push(format!("{ld}{l} {},{at}", reg(*to)));
            let kept = if let Status::Kept(r) = status { reg(*r) } else { STATUS.to_string() };
            c.push(format!("{st}{l} {kept},{from},{at}"));
            c.paired(status, &again, |c| {
                c.push(format!("CMP {kept},#0"));
                c.push(format!("BNE {again}"));
            });
        }
        Move::If { on, is, then } => {
            let end = c.label();
            c.push(format!("CMP {},#{is}", reg(*on)));
            c.push(format!("BNE {end}"));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            c.push(format!("CMP {},#{is}", reg(*on)));
            c.push(format!("MOVEQ {},{}", reg(*to), reg(*other)));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("CMP {},#0", reg(*to)));
            c.push(format!("BEQ {again}"));
        }
        Move::Update { .. } | Move::Compare { .. } => unreachable!("Arm has no such instruction"),
    }
}
