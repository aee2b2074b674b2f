//! MIPS: word loads and stores, and loops of ll and sc.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{Asm, From, Scratch, Writer, access_in_parts, threads, through_address};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Mips,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences!["Sync" "sync" "sync"],
    strong: Some(0),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::Ctrl, DepKind::Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
    orders: any_orders,
    registers: Registers { prefix: "$", names: &[], first: 2, count: 24 },
    write: threads::<Mips>,
};

pub struct Mips;

/// Scratch registers are given from here downwards.
const LAST: u8 = 23;

fn li(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    line!(asm, "ori $", reg, ",$0,", value);
    Ok(reg)
}

fn zero(asm: &mut Asm, to: u8, from: u8) {
    line!(asm, "xor $", to, ",$", from, ",$", from);
}

fn sum(asm: &mut Asm, a: u8, b: u8) -> u8 {
    let to = asm.symbol(Scratch::Address, LAST);
    line!(asm, "addu $", to, ",$", a, ",$", b);
    to
}

fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
    line!(asm, name, reg, ",0($", base, ")");
}

fn pair(asm: &mut Asm, to: u8, value: u8, base: u8) {
    let label = asm.here();
    at(asm, "ll $", to, base);
    let status = asm.symbol(Scratch::Status, LAST);
    line!(asm, "ori $", status, ",$", value, ",0");
    at(asm, "sc $", status, base);
    line!(asm, "beq $", status, ",$0,"; label);
}

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "bne $", from.reg, ",$", from.reg, ","; label);
    asm.place(label);
}

fn read(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
    let mut index = None;
    if let Some(f) = from {
        let reg = asm.alloc()?;
        zero(asm, reg, f.reg);
        index = Some(reg);
    }
    let linked = event.atom == Some(Atom::Reserve);
    let looped = event.atom.is_some() && !linked;
    let (to, mut base);
    // Which register is given away first differs.
    if looped || linked && index.is_none() {
        base = asm.address(event.loc)?;
        to = asm.alloc()?;
    } else {
        to = asm.alloc()?;
        base = asm.address(event.loc)?;
    }
    if let Some(index) = index {
        base = sum(asm, index, base);
    }
    if looped {
        pair(asm, to, to, base);
    } else {
        at(asm, if linked { "ll $" } else { "lw $" }, to, base);
    }
    Ok(to)
}

fn write(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<Option<u8>, Refused> {
    let mut index = None;
    let mut value = None;
    if let Some(f) = from {
        let reg = asm.alloc()?;
        zero(asm, reg, f.reg);
        if f.dep.kind == DepKind::Data {
            let (to, v) = (reg, event.value);
            line!(asm, "addiu $", to, ",$", to, ",", v);
            value = Some(reg);
        } else {
            index = Some(reg);
        }
    }
    let looped = event.atom.is_some();
    let early = if looped && index.is_some() { Some(asm.address(event.loc)?) } else { None };
    let value = match value {
        Some(reg) => reg,
        None => li(asm, event.value)?,
    };
    let mut base = match early {
        Some(base) => base,
        None => asm.address(event.loc)?,
    };
    let to = if looped { Some(asm.alloc()?) } else { None };
    if let Some(index) = index {
        base = sum(asm, index, base);
    }
    match to {
        Some(to) => pair(asm, to, value, base),
        None => at(asm, "sw $", value, base),
    }
    Ok(to)
}

impl Writer for Mips {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<Option<u8>, Refused> {
        access_in_parts(asm, event, from, control, read, write)
    }

    fn rmw(
        asm: &mut Asm,
        _: Rmw,
        read: &Event,
        write: &Event,
        from: Option<From>,
    ) -> Result<Option<u8>, Refused> {
        let through = through_address(asm, from, control)?;
        let mut base = asm.address(read.loc)?;
        let to = asm.alloc()?;
        let value = li(asm, write.value)?;
        if let Some(f) = through {
            let scratch = asm.symbol(Scratch::Address, LAST);
            zero(asm, scratch, f.reg);
            base = sum(asm, base, scratch);
        }
        pair(asm, to, value, base);
        Ok(Some(to))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        at(asm, "lw $", to, base);
        Ok(to)
    }
}
