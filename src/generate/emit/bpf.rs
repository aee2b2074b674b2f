//! BPF: loads and stores, with acquire and release or without, and read-modify-writes.

use super::super::cycle::{Event, Refused, size};
use super::super::dialect::{Dialect, LOOPS, Registers, SIZES};
use super::super::edge::{Atom, DepKind, Order, Rmw, RmwOp, Size};
use super::{Asm, From, Writer, Written, access_in_parts, threads, through_address};
use litmake_litmus::Arch;

/// BPF has no fences: its read-modify-writes order what is around them.
pub static DIALECT: Dialect = Dialect {
    arch: Arch::Bpf,
    plain: "P",
    atoms: &[("Aq", Atom::Order(Order::Acq)), ("Rl", Atom::Order(Order::Rel))],
    sizes: SIZES,
    fences: &[],
    strong: None,
    deps: LOOPS.deps,
    default_dep: LOOPS.default_dep,
    rmws: &[
        ("Exch", Rmw::Exch),
        ("Cas", Rmw::Cas),
        ("Fetch.Add", Rmw::Fetch(RmwOp::Add)),
        ("Fetch.And", Rmw::Fetch(RmwOp::And)),
        ("Fetch.Or", Rmw::Fetch(RmwOp::Or)),
        ("Fetch.Xor", Rmw::Fetch(RmwOp::Xor)),
        ("Lock.Add", Rmw::Store(RmwOp::Add)),
        ("Lock.And", Rmw::Store(RmwOp::And)),
        ("Lock.Or", Rmw::Store(RmwOp::Or)),
        ("Lock.Xor", Rmw::Store(RmwOp::Xor)),
    ],
    rmw: Rmw::Exch,
    // What returns a value orders everything, whatever is asked for.
    orders: |_, r, w| (r, w) == (Some(Order::Plain), Some(Order::Plain)),
    registers: Registers { prefix: "r", names: &[], first: 1, count: 9 },
    write: threads::<Bpf>,
};

pub struct Bpf;

fn set(asm: &mut Asm, reg: u8, value: i32) {
    line!(asm, "r", reg, " = ", value);
}

/// A register that takes 0 from another one.
fn zero(asm: &mut Asm, from: u8) -> Result<u8, Refused> {
    let to = asm.alloc()?;
    line!(asm, "r", to, " = r", from);
    line!(asm, "r", to, " ^= r", to);
    Ok(to)
}

fn control(asm: &mut Asm, from: From) -> Result<(), Refused> {
    let label = asm.label();
    line!(asm, "if r", from.reg, " == r", from.reg, " goto "; label);
    asm.place(label);
    Ok(())
}

/// The register with the address of an event, which depends on what is given.
fn base(asm: &mut Asm, loc: u8, from: Option<From>) -> Result<u8, Refused> {
    let Some(from) = from else { return asm.address(loc) };
    let to = zero(asm, from.reg)?;
    let base = asm.address(loc)?;
    line!(asm, "r", to, " += r", base);
    Ok(to)
}

/// The order and the size of an access.
fn access(event: &Event) -> Result<(Order, Size), Refused> {
    match event.atom {
        None => Ok((Order::Plain, Size::WORD)),
        Some(Atom::Order(o) | Atom::Sized(o, _)) => Ok((o, size(event.atom).unwrap_or(Size::WORD))),
        Some(_) => Err("this annotation is none of BPF"),
    }
}

fn bits(size: Size) -> i32 {
    8 * i32::from(size.bytes)
}

fn read(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
    let (order, size) = access(event)?;
    let base = base(asm, event.loc, from)?;
    let to = asm.alloc()?;
    match order {
        Order::Acq => {
            line!(
                asm,
                "r",
                to,
                " = load_acquire((u",
                bits(size),
                " *)(r",
                base,
                " + ",
                size.offset,
                "))"
            );
        }
        _ => line!(asm, "r", to, " = *(u", bits(size), " *)(r", base, " + ", size.offset, ")"),
    }
    Ok(to)
}

fn write(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
    let (order, size) = access(event)?;
    let (through, data) = match from {
        Some(f) if f.dep.kind == DepKind::Data => (None, Some(f)),
        other => (other, None),
    };
    let base = base(asm, event.loc, through)?;
    let value = match data {
        Some(f) => {
            let value = zero(asm, f.reg)?;
            line!(asm, "r", value, " += ", event.value);
            Some(value)
        }
        None if order == Order::Rel => {
            let value = asm.alloc()?;
            set(asm, value, event.value);
            Some(value)
        }
        None => None,
    };
    let (bits, offset) = (bits(size), size.offset);
    match (value, order) {
        (Some(value), Order::Rel) => {
            line!(asm, "store_release((u", bits, " *)(r", base, " + ", offset, "), r", value, ")");
        }
        (Some(value), _) => {
            line!(asm, "*(u", bits, " *)(r", base, " + ", offset, ") = r", value);
        }
        (None, _) => line!(asm, "*(u", bits, " *)(r", base, " + ", offset, ") = ", event.value),
    }
    Ok(None)
}

/// The name of an operation that returns a value, and the operator of the one that does not.
fn operation(op: RmwOp) -> Result<(&'static str, &'static str), Refused> {
    match op {
        RmwOp::Add => Ok(("add", "+=")),
        RmwOp::And => Ok(("and", "&=")),
        RmwOp::Or => Ok(("or", "|=")),
        RmwOp::Xor => Ok(("xor", "^=")),
        _ => Err("BPF has no such operation"),
    }
}

impl Writer for Bpf {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        access_in_parts(asm, event, from, control, read, write)
    }

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let through = through_address(asm, from, control)?;
        let base = base(asm, read.loc, through)?;
        let reg = asm.alloc()?;
        set(asm, reg, write.value);
        match rmw {
            Rmw::Exch => line!(asm, "r", reg, " = xchg_32_32(r", base, " + 0, r", reg, ")"),
            Rmw::Cas => {
                set(asm, 0, read.value);
                line!(asm, "r0 = cmpxchg32_32(r", base, " + 0, r0, r", reg, ")");
                line!(asm, "r", reg, " = r0");
            }
            Rmw::Fetch(op) => {
                let (name, _) = operation(op)?;
                line!(
                    asm,
                    "r",
                    reg,
                    " = atomic_fetch_",
                    name,
                    "((u32 *)(r",
                    base,
                    " + 0), r",
                    reg,
                    ")"
                );
            }
            Rmw::Store(op) => {
                let (_, operator) = operation(op)?;
                line!(asm, "lock *(u32 *)(r", base, " + 0) ", operator, " r", reg);
                return Ok(None);
            }
            Rmw::LxSx => return Err("BPF has no exclusive accesses"),
        }
        Ok(Some(reg))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let base = asm.address(loc)?;
        let to = asm.alloc()?;
        line!(asm, "r", to, " = *(u32 *)(r", base, " + 0)");
        Ok(to)
    }
}
