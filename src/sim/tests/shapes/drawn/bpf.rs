//! Moves as instructions of BPF.

use super::{Addr, Base, Column, Form, Move, Op, Operand, Order, POINTER, UpdateOp};

/// Registers for the parts of a move, which are none of those with values or places.
const VALUE: &str = "r9";
const ADDRESS: &str = "r8";

fn reg(r: u8) -> String {
    format!("r{}", if r < POINTER { 1 + r } else { r - POINTER + 5 })
}

fn bits(size: u8) -> u32 {
    u32::from(size) * 8
}

/// `r4 + 8`: herd7 is given registers with the addresses of places.
fn address(c: &mut Column, at: &Addr) -> String {
    let base = match at.base {
        Base::Pointer(r) => reg(r),
        place => {
            let number = Column::number(place).unwrap_or(0);
            match c.facts.plain {
                true => format!("r{}", 4 + number),
                false => {
                    c.push(format!("{ADDRESS} = {} ll", c.name(number)));
                    ADDRESS.to_string()
                }
            }
        }
    };
    let Some(index) = at.index else { return format!("{base} + {}", at.off) };
    if base != ADDRESS {
        c.push(format!("{ADDRESS} = {base}"));
    }
    c.push(format!("{ADDRESS} += {}", reg(index)));
    format!("{ADDRESS} + {}", at.off)
}

/// A register with a value, which may be changed.
fn value(c: &mut Column, from: Operand) -> &'static str {
    match from {
        Operand::Reg(r) => c.push(format!("{VALUE} = {}", reg(r))),
        Operand::Const(v) => c.push(format!("{VALUE} = {v}")),
    }
    VALUE
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("{} = {value}", reg(*to))),
        Move::Compute { op, to, a, b } => {
            let result = value(c, Operand::Reg(*a));
            let sign = match op {
                Op::Add => "+=",
                Op::Sub => "-=",
                Op::And => "&=",
                Op::Or => "|=",
                Op::Xor => "^=",
            };
            c.push(match b {
                Operand::Reg(b) => format!("{result} {sign} {}", reg(*b)),
                Operand::Const(v) => format!("{result} {sign} {v}"),
            });
            c.push(format!("{} = {result}", reg(*to)));
        }
        Move::Take { to, place } => {
            let name = c.name(*place);
            c.push(format!("{} = {name} ll", reg(*to)));
        }
        Move::Load { to, at, size, order, form } => {
            let (to, at, bits) = (reg(*to), address(c, at), bits(*size));
            let sign = if *form == Form::Signed && *size < 8 { 's' } else { 'u' };
            match order.acquires() {
                true => c.push(format!("{to} = load_acquire((u{bits} *)({at}))")),
                false => c.push(format!("{to} = *({sign}{bits} *)({at})")),
            }
            if *form == Form::Reversed && *size > 1 {
                c.push(format!("{to} = bswap{bits} {to}"));
            }
        }
        Move::Store { from, at, size, order, reversed } => {
            let (at, bits) = (address(c, at), bits(*size));
            match from {
                Operand::Const(v) if !order.releases() && !reversed => {
                    c.push(format!("*(u{bits} *)({at}) = {v}"));
                }
                _ => {
                    let from = value(c, *from);
                    if *reversed && *size > 1 {
                        c.push(format!("{from} = bswap{bits} {from}"));
                    }
                    match order.releases() {
                        true => c.push(format!("store_release((u{bits} *)({at}), {from})")),
                        false => c.push(format!("*(u{bits} *)({at}) = {from}")),
                    }
                }
            }
        }
        Move::Update { op, to, from, at, size, order } => {
            let from = value(c, *from);
            let (at, bits, to) = (address(c, at), bits(*size), reg(*to));
            let (name, sign) = match op {
                UpdateOp::Swap => ("", ""),
                UpdateOp::Add => ("add", "+="),
                UpdateOp::Or => ("or", "|="),
                UpdateOp::Xor => ("xor", "^="),
            };
            match (op, order) {
                (UpdateOp::Swap, _) => {
                    let name = if *size == 8 { "xchg_64" } else { "xchg_32_32" };
                    c.push(format!("{from} = {name}({at}, {from})"));
                }
                // It returns nothing, and so the register keeps what it has.
                (_, Order::Plain) => {
                    return c.push(format!("lock *(u{bits} *)({at}) {sign} {from}"));
                }
                _ => c.push(format!("{from} = atomic_fetch_{name}((u{bits} *)({at}), {from})")),
            }
            c.push(format!("{to} = {from}"));
        }
        Move::Compare { expected, new, at, size, .. } => {
            let (new, at, expected) = (value(c, *new), address(c, at), reg(*expected));
            let name = if *size == 8 { "cmpxchg_64" } else { "cmpxchg32_32" };
            c.push(format!("r0 = {expected}"));
            c.push(format!("r0 = {name}({at}, r0, {new})"));
            c.push(format!("{expected} = r0"));
        }
        Move::If { on, is, then } => {
            let end = c.label();
            c.push(format!("if {} != {is} goto {end}", reg(*on)));
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            c.push(format!("if {} == 0 goto {again}", reg(*to)));
        }
        Move::Fence(_) | Move::Pair { .. } | Move::Select { .. } => {
            unreachable!("BPF is drawn without these")
        }
    }
}
