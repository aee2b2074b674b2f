//! Moves as instructions of RISC-V.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Order, Status, UpdateOp};

/// Registers for the parts of a move.
const VALUE: &str = "x15";
const ADDRESS: &str = "x16";
const STATUS: &str = "x17";

fn letter(size: u8) -> &'static str {
    ["b", "h", "w", "d"][size.trailing_zeros() as usize]
}

fn suffix(order: Order) -> &'static str {
    match order {
        Order::Plain => "",
        Order::Acquire | Order::AcquirePc => ".aq",
        Order::Release => ".rl",
        Order::Both => ".aq.rl",
    }
}

fn reg(r: u8) -> String {
    format!("x{}", 5 + r)
}

/// The base with the index added; and the offset.
fn parts(c: &mut Column, at: &Addr) -> (String, i64) {
    let mut base = match at.base {
        Base::Pointer(r) => reg(r),
        base => format!("x{}", 20 + Column::number(base).unwrap_or(0)),
    };
    if let Some(index) = at.index {
        c.push(format!("add {ADDRESS},{base},{}", reg(index)));
        base = ADDRESS.to_string();
    }
    (base, at.off)
}

fn alone(c: &mut Column, at: &Addr) -> String {
    let (mut base, off) = parts(c, at);
    if off != 0 {
        c.push(format!("addi {ADDRESS},{base},{off}"));
        base = ADDRESS.to_string();
    }
    format!("({base})")
}

fn address(c: &mut Column, at: &Addr) -> String {
    let (base, off) = parts(c, at);
    format!("{off}({base})")
}

fn value(c: &mut Column, from: Operand) -> String {
    match from {
        Operand::Reg(r) => reg(r),
        Operand::Const(0) => "x0".to_string(),
        Operand::Const(v) => {
            set(c, VALUE, v);
            VALUE.to_string()
        }
    }
}

fn set(c: &mut Column, to: &str, v: i64) {
    match v {
        -2048..2048 => c.push(format!("ori {to},x0,{v}")),
        _ => c.push(format!("li {to},{v}")),
    }
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => set(c, &reg(*to), *value),
        Move::Compute { op, to, a, b } => {
            let (to, a) = (reg(*to), reg(*a));
            let name = match op {
                Op::Add => "add",
                Op::Sub => "sub",
                Op::And => "and",
                Op::Or => "or",
                Op::Xor => "xor",
            };
            match (op, b) {
                (Op::Sub, Operand::Const(v)) => c.push(format!("addi {to},{a},{}", -v)),
                (_, Operand::Const(v)) => c.push(format!("{name}i {to},{a},{v}")),
                (_, Operand::Reg(b)) => c.push(format!("{name} {to},{a},{}", reg(*b))),
            }
        }
        Move::Take { to, place } => c.push(format!("addi {},x{},0", reg(*to), 20 + place)),
        Move::Load { to, at, size, order, form } => {
            let to = reg(*to);
            let at = address(c, at);
            let u = if *form != Form::Signed && *size < 4 { "u" } else { "" };
            c.push(format!("l{}{u}{} {to},{at}", letter(*size), suffix(*order)));
            if *form == Form::Reversed {
                c.push(format!("rev8 {to},{to}"));
                if *size < 8 {
                    c.push(format!("srli {to},{to},{}", 64 - u32::from(*size) * 8));
                }
            }
        }
        Move::Store { from, at, size, order, reversed } => {
            let mut from = value(c, *from);
            if *reversed {
                c.push(format!("rev8 {VALUE},{from}"));
                if *size < 8 {
                    c.push(format!("srli {VALUE},{VALUE},{}", 64 - u32::from(*size) * 8));
                }
                from = VALUE.to_string();
            }
            let at = address(c, at);
            c.push(format!("s{}{} {from},{at}", letter(*size), suffix(*order)));
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
            let (l, o) = (letter(*size), suffix(*order));
            c.push(format!("amo{name}.{l}{o} {},{from},{at}", reg(*to)));
        }
        Move::Pair { to, from, at, size, order, status } => {
            let from = value(c, *from);
            let at = alone(c, at);
            let l = letter(*size);
            let again = c.pair(status);
            let aq = if order.acquires() { ".aq" } else { "" };
            let rl = if order.releases() { ".rl" } else { "" };
            c.push(format!("lr.{l}{aq} {},{at}", reg(*to)));
            let kept = if let Status::Kept(r) = status { reg(*r) } else { STATUS.to_string() };
            c.push(format!("sc.{l}{rl} {kept},{from},{at}"));
            c.paired(status, &again, |c| c.push(format!("bne {kept},x0,{again}")));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            let is = value(c, Operand::Const(*is));
            c.push(format!("bne {},{is},{end}", reg(*on)));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            let (to, other) = (reg(*to), reg(*other));
            c.push(format!("xori {STATUS},{},{is}", reg(*on)));
            c.push(format!("czero.nez {VALUE},{other},{STATUS}"));
            c.push(format!("czero.eqz {to},{to},{STATUS}"));
            c.push(format!("or {to},{to},{VALUE}"));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("beq {},x0,{again}", reg(*to)));
        }
        Move::Compare { .. } => unreachable!("RISC-V is drawn without compare-and-swap"),
    }
}
