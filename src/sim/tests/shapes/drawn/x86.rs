//! Moves as instructions of x86, in AT&T's syntax for 64 bits and in Intel's for 32.

use super::facts::POINTER;
use super::{Addr, Base, Column, Form, Move, Op, Operand, Order, Reg, UpdateOp};
use litmake::litmus::Arch;

/// A register for the parts of a move, as the number after the pointer's.
const SCRATCH: u8 = POINTER + 1;

fn wide(c: &Column) -> bool {
    c.facts.arch == Arch::X86_64
}

fn reg(c: &Column, r: u8, size: u8) -> String {
    let names = match (wide(c), r) {
        (_, 0) => ["al", "ax", "eax", "rax"],
        (_, 1) => ["cl", "cx", "ecx", "rcx"],
        (_, 2) => ["dl", "dx", "edx", "rdx"],
        (false, 3) => ["bl", "bx", "ebx", ""],
        (false, POINTER) => ["", "bp", "ebp", ""],
        (false, _) => ["", "si", "esi", ""],
        (true, 3) => ["sil", "si", "esi", "rsi"],
        (true, 4) => ["r8b", "r8w", "r8d", "r8"],
        (true, 5) => ["r9b", "r9w", "r9d", "r9"],
        (true, POINTER) => ["r10b", "r10w", "r10d", "r10"],
        (true, _) => ["r11b", "r11w", "r11d", "r11"],
    };
    let name = names[size.trailing_zeros() as usize];
    if wide(c) { format!("%{name}") } else { name.to_uppercase() }
}

/// An instruction with a source and a destination.
fn two(c: &mut Column, name: &str, size: u8, from: &str, to: &str) {
    let line = match wide(c) {
        true => format!("{name}{} {from},{to}", suffix(size)),
        false => format!("{} {to},{from}", name.to_uppercase()),
    };
    c.push(line);
}

fn suffix(size: u8) -> &'static str {
    ["b", "w", "l", "q"][size.trailing_zeros() as usize]
}

fn memory(c: &mut Column, at: &Addr, size: u8) -> String {
    if wide(c) {
        let base = match at.base {
            Base::Pointer(r) => reg(c, r, 8),
            base => {
                let number = Column::number(base).unwrap_or(0);
                // Either the name itself or a register that holds its address.
                if at.index.is_none() && at.off == 0 && number % 2 == 1 {
                    return format!("({})", c.name(number));
                }
                format!("%{}", ["rbx", "r12", "r13", "r14", "r15"][number])
            }
        };
        let off = if at.off == 0 { String::new() } else { at.off.to_string() };
        return match at.index {
            Some(index) => format!("{off}({base},{},1)", reg(c, index, 8)),
            None => format!("{off}({base})"),
        };
    }
    let mut parts = vec![match at.base {
        Base::Pointer(r) => reg(c, r, 4),
        base => {
            let number = Column::number(base).unwrap_or(0);
            match number {
                super::SLOT => c.name(number),
                _ if c.drawn.places[number].init.len() > 1 => "EDI".to_string(),
                _ => c.name(number),
            }
        }
    }];
    // herd adds nothing inside of brackets.
    if c.facts.plain {
        let index = at.index.map(|r| reg(c, r, 4));
        let more = index.into_iter().chain((at.off != 0).then(|| format!("${}", at.off)));
        let more: Vec<String> = more.collect();
        if parts[0] == "EDI" && !more.is_empty() {
            c.push("MOV ESI,EDI");
            more.iter().for_each(|m| c.push(format!("ADD ESI,{m}")));
            parts[0] = "ESI".to_string();
        }
        return format!("[{}]", parts[0]);
    }
    parts.extend(at.index.map(|r| reg(c, r, 4)));
    parts.extend((at.off != 0).then(|| at.off.to_string()));
    let size = ["BYTE", "WORD", "DWORD", "QWORD"][size.trailing_zeros() as usize];
    format!("{size} PTR [{}]", parts.join("+"))
}

fn value(c: &Column, from: Operand, size: u8) -> String {
    match from {
        Operand::Reg(r) => reg(c, r, size),
        Operand::Const(v) => format!("${v}"),
    }
}

fn compute(c: &mut Column, op: Op, to: u8, a: u8, b: Operand) {
    let size = if a >= POINTER { if wide(c) { 8 } else { 4 } } else { 4 };
    let (mut name, mut b) = match op {
        Op::Add => ("add", b),
        Op::Sub => ("sub", b),
        Op::And => ("and", b),
        Op::Or => ("or", b),
        Op::Xor => ("xor", b),
    };
    if c.facts.plain {
        // herd knows fewer.
        match (op, b) {
            (Op::Sub, Operand::Const(v)) => (name, b) = ("add", Operand::Const(-v)),
            (Op::Sub, Operand::Reg(_)) => name = "xor",
            (Op::And, _) => name = "",
            (Op::Or, _) if wide(c) => name = "orl",
            _ => {}
        }
    }
    let aim = if matches!(b, Operand::Reg(b) if b == to && a != to) { SCRATCH } else { to };
    if aim != a {
        let (from, aim) = (reg(c, a, size), reg(c, aim, size));
        two(c, "mov", size, &from, &aim);
    }
    let (from, aim_name) = (value(c, b, size), reg(c, aim, size));
    match name {
        "" => {}
        "orl" => c.push(format!("orl {from},{aim_name}")),
        name => two(c, name, size, &from, &aim_name),
    }
    if aim != to {
        let to = reg(c, to, size);
        two(c, "mov", size, &aim_name, &to);
    }
}

fn reverse(c: &mut Column, r: u8, size: u8) {
    let name = reg(c, r, size);
    match (wide(c), size) {
        (true, 2) => c.push(format!("rolw $8,{name}")),
        (false, 2) => c.push(format!("ROL {name},8")),
        (true, _) => c.push(format!("bswap {name}")),
        (false, _) => c.push(format!("BSWAP {name}")),
    }
}

fn jump(c: &mut Column, equal: bool, label: &str) {
    let name = if equal { "je" } else { "jne" };
    c.push(if wide(c) {
        format!("{name} {label}")
    } else {
        format!("{} {label}", name.to_uppercase())
    });
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => {
            let (from, to) = (format!("${value}"), reg(c, *to, 4));
            two(c, "mov", 4, &from, &to);
        }
        Move::Compute { op, to, a, b } => compute(c, *op, *to, *a, *b),
        Move::Take { to, place } => {
            let name = c.name(*place);
            let line = match (wide(c), c.facts.plain) {
                (true, true) => {
                    format!("movq %{},{}", ["rbx", "r12", "r13", "r14"][*place], reg(c, *to, 8))
                }
                (true, false) => format!("leaq {name}(%rip),{}", reg(c, *to, 8)),
                (false, _) => format!("MOV {},OFFSET {name}", reg(c, *to, 4)),
            };
            c.push(line);
        }
        Move::Load { to, at, size, form, .. } => {
            let at = memory(c, at, *size);
            let whole = if wide(c) && *to >= POINTER { 8 } else { 4 };
            if *size >= 4 || c.facts.plain {
                if *form == Form::Signed && *size == 4 && wide(c) {
                    let to = reg(c, *to, 8);
                    c.push(format!("movslq {at},{to}"));
                } else {
                    let to = reg(c, *to, *size);
                    two(c, "mov", *size, &at, &to);
                }
            } else {
                let sign = if *form == Form::Signed { 's' } else { 'z' };
                let to = reg(c, *to, whole);
                c.push(match wide(c) {
                    true => format!("mov{sign}{}l {at},{to}", suffix(*size)),
                    false => format!("MOV{}X {to},{at}", sign.to_ascii_uppercase()),
                });
            }
            if *form == Form::Reversed {
                reverse(c, *to, *size);
            }
        }
        Move::Store { from, at, size, reversed, .. } => {
            let mut from = *from;
            if let (Operand::Reg(r), true) = (from, *reversed) {
                let (r, to) = (reg(c, r, *size), reg(c, SCRATCH, *size));
                two(c, "mov", *size, &r, &to);
                reverse(c, SCRATCH, *size);
                from = Operand::Reg(SCRATCH);
            }
            let at = memory(c, at, *size);
            let from = value(c, from, *size);
            two(c, "mov", *size, &from, &at);
        }
        Move::Fence(name) => c.push(*name),
        Move::Update { op, to, from, at, size, order } => {
            update(c, *op, *to, *from, at, *size, *order)
        }
        Move::Compare { new, at, size, order, .. } => {
            let at = memory(c, at, *size);
            let (from, scratch) = (value(c, *new, *size), reg(c, SCRATCH, *size));
            two(c, "mov", *size, &from, &scratch);
            let lock = if *order == Order::Plain { "" } else { "lock " };
            let line = match wide(c) {
                true => format!("{lock}cmpxchg{} {scratch},{at}", suffix(*size)),
                false => format!("{}CMPXCHG {at},{scratch}", lock.to_uppercase()),
            };
            c.push(line);
        }
        Move::If { on, is, then } => {
            let end = c.label();
            let (k, on) = (format!("${is}"), reg(c, *on, 4));
            two(c, "cmp", 4, &k, &on);
            jump(c, false, &end);
            c.moves(then);
            c.push(format!("{end}:"));
        }
        Move::Select { to, on, is, other } => {
            let (k, on) = (format!("${is}"), reg(c, *on, 4));
            two(c, "cmp", 4, &k, &on);
            let (other, to) = (reg(c, *other, 4), reg(c, *to, 4));
            c.push(match wide(c) {
                true => format!("cmovel {other},{to}"),
                false => format!("CMOVE {to},{other}"),
            });
        }
        Move::Retry { to, counter, at, size, order } => {
            let again = c.retry(*to, *counter, *at, *size, *order);
            let to = reg(c, *to, *size);
            two(c, "cmp", *size, "$0", &to);
            jump(c, true, &again);
        }
        Move::Pair { .. } => unreachable!("x86 has no store-conditional"),
    }
}

fn update(c: &mut Column, op: UpdateOp, to: Reg, from: Operand, at: &Addr, size: u8, order: Order) {
    let at = memory(c, at, size);
    let lock = match (wide(c), order) {
        (_, Order::Plain) => "",
        // herd takes the prefix for no mistake in some instructions only.
        (_, _) if c.facts.plain && op == UpdateOp::Or => "",
        (true, _) => "lock ",
        (false, _) => "LOCK ",
    };
    let name = match op {
        UpdateOp::Swap => "xchg",
        UpdateOp::Add if !c.facts.plain => "xadd",
        UpdateOp::Add => "add",
        UpdateOp::Or => "or",
        UpdateOp::Xor => "xor",
    };
    let (from, to) = (value(c, from, size), reg(c, to, size));
    // An instruction that exchanges nothing updates without the old value.
    let from = if matches!(name, "xchg" | "xadd") {
        two(c, "mov", size, &from, &to);
        to
    } else {
        from
    };
    let lock = if name == "xchg" { "" } else { lock };
    let line = match wide(c) {
        true => format!("{lock}{name}{} {from},{at}", suffix(size)),
        false => format!("{lock}{} {at},{from}", name.to_uppercase()),
    };
    c.push(line);
}
