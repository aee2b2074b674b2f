//! Moves as instructions of AArch64.

use super::Base;
use super::{Addr, Column, Form, Move, Op, Operand, Order, Reg, Status, UpdateOp};

/// Registers for the parts of a move.
const VALUE: u8 = 11;
const ADDRESS: u8 = 12;
const STATUS: u8 = 13;

fn letter(size: u8) -> &'static str {
    match size {
        1 => "B",
        2 => "H",
        _ => "",
    }
}

fn width(size: u8) -> &'static str {
    if size == 8 { "X" } else { "W" }
}

fn base(at: &Addr) -> String {
    match at.base {
        Base::Pointer(r) => format!("X{r}"),
        base => format!("X{}", 20 + Column::number(base).unwrap_or(0)),
    }
}

/// An address as a register alone, which annotated accesses want.
fn alone(c: &mut Column, at: &Addr) -> String {
    let mut reg = base(at);
    if let Some(index) = at.index {
        c.push(format!("ADD X{ADDRESS},{reg},X{index}"));
        reg = format!("X{ADDRESS}");
    }
    if at.off != 0 {
        c.push(format!("ADD X{ADDRESS},{reg},#{}", at.off));
        reg = format!("X{ADDRESS}");
    }
    format!("[{reg}]")
}

fn address(c: &mut Column, at: &Addr) -> String {
    match (at.index, at.off) {
        (None, 0) => format!("[{}]", base(at)),
        (None, off) => format!("[{},#{off}]", base(at)),
        (Some(index), 0) => format!("[{},X{index}]", base(at)),
        _ => alone(c, at),
    }
}

fn value(c: &mut Column, from: Operand, size: u8) -> String {
    let w = width(size);
    match from {
        Operand::Reg(r) => format!("{w}{r}"),
        Operand::Const(v) => {
            c.push(format!("MOV {w}{VALUE},#{v}"));
            format!("{w}{VALUE}")
        }
    }
}

fn suffix(order: Order) -> &'static str {
    match order {
        Order::Plain => "",
        Order::Acquire | Order::AcquirePc => "A",
        Order::Release => "L",
        Order::Both => "AL",
    }
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("MOV W{to},#{value}")),
        Move::Compute { op, to, a, b } => compute(c, *op, *to, *a, *b),
        Move::Take { to, place } => c.push(format!("MOV X{to},X{}", 20 + place)),
        Move::Load { to, at, size, order, form } => load(c, *to, at, *size, *order, *form),
        Move::Store { from, at, size, order, reversed } => {
            let mut reg = value(c, *from, *size);
            let (l, w) = (letter(*size), width(*size));
            if *reversed {
                let name = if *size == 2 { "REV16" } else { "REV" };
                c.push(format!("{name} {w}{VALUE},{reg}"));
                reg = format!("{w}{VALUE}");
            }
            if order.releases() {
                let at = alone(c, at);
                c.push(format!("STLR{l} {reg},{at}"));
            } else {
                let at = address(c, at);
                c.push(format!("STR{l} {reg},{at}"));
            }
        }
        Move::Fence(name) => c.push(*name),
        Move::Update { op, to, from, at, size, order } => {
            let reg = value(c, *from, *size);
            let at = alone(c, at);
            let name = match op {
                UpdateOp::Swap => "SWP",
                UpdateOp::Add => "LDADD",
                UpdateOp::Or => "LDSET",
                UpdateOp::Xor => "LDEOR",
            };
            let (l, w) = (letter(*size), width(*size));
            c.push(format!("{name}{}{l} {reg},{w}{to},{at}", suffix(*order)));
        }
        Move::Compare { expected, new, at, size, order } => {
            let reg = value(c, *new, *size);
            let at = alone(c, at);
            let (l, w) = (letter(*size), width(*size));
            c.push(format!("CAS{}{l} {w}{expected},{reg},{at}", suffix(*order)));
        }
        Move::Pair { to, from, at, size, order, status } => {
            let reg = value(c, *from, *size);
            let at = alone(c, at);
            let (l, w) = (letter(*size), width(*size));
            let again = c.pair(status);
            let (ld, st) = (
                if order.acquires() { "LDAXR" } else { "LDXR" },
                if order.releases() { "STLXR" } else { "STXR" },
            );
            c.push(format!("{ld}{l} {w}{to},{at}"));
            let kept = if let Status::Kept(r) = status { *r } else { STATUS };
            c.push(format!("{st}{l} W{kept},{reg},{at}"));
            c.paired(status, &again, |c| c.push(format!("CBNZ W{kept},{again}")));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            if *is == 0 {
                c.push(format!("CBNZ W{on},{end}"));
            } else {
                c.push(format!("CMP W{on},#{is}"));
                c.push(format!("B.NE {end}"));
            }
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            c.push(format!("CMP W{on},#{is}"));
            c.push(format!("CSEL W{to},W{other},W{to},EQ"));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("CBZ {}{to},{again}", width(*size)));
        }
    }
}

fn load(c: &mut Column, to: Reg, at: &Addr, size: u8, order: Order, form: Form) {
    let wide = if to >= super::POINTER { 8 } else { size };
    let (l, w) = (letter(size), width(wide));
    match order {
        Order::Plain => {
            let at = address(c, at);
            match (form, size) {
                (Form::Signed, 4) => c.push(format!("LDRSW X{to},{at}")),
                (Form::Signed, 1 | 2) => c.push(format!("LDRS{l} W{to},{at}")),
                _ => c.push(format!("LDR{l} {w}{to},{at}")),
            }
        }
        _ => {
            let at = alone(c, at);
            let name = if order == Order::AcquirePc { "LDAPR" } else { "LDAR" };
            c.push(format!("{name}{l} {w}{to},{at}"));
        }
    }
    if form == Form::Reversed {
        let name = if size == 2 { "REV16" } else { "REV" };
        c.push(format!("{name} {w}{to},{w}{to}"));
    }
}

fn compute(c: &mut Column, op: Op, to: Reg, a: Reg, b: Operand) {
    let w = if a >= super::POINTER { "X" } else { "W" };
    let name = match op {
        Op::Add => "ADD",
        Op::Sub => "SUB",
        Op::And => "AND",
        Op::Or => "ORR",
        Op::Xor => "EOR",
    };
    match b {
        Operand::Reg(b) => c.push(format!("{name} {w}{to},{w}{a},{w}{b}")),
        Operand::Const(v) if matches!((op, v), (Op::Add | Op::Sub, _) | (_, 1 | -2)) => {
            c.push(format!("{name} {w}{to},{w}{a},#{v}"))
        }
        Operand::Const(v) => {
            c.push(format!("MOV {w}{VALUE},#{v}"));
            c.push(format!("{name} {w}{to},{w}{a},{w}{VALUE}"));
        }
    }
}
