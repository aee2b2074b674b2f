//! Armv7: LDR, STR, and loops of LDREX and STREX.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{Asm, From, Scratch, Writer, access_in_parts, threads, through_address};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Arm,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences![
        "DMB" "dmb" "DMB",
        "DMB.ST" "dmb.st" "DMB ST",
        "DSB" "dsb" "DSB",
        "DSB.ST" "dsb.st" "DSB ST",
        "ISB" "isb" "ISB",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlIsb", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
    orders: any_orders,
    registers: Registers { prefix: "R", names: &[], first: 0, count: 13 },
    write: threads::<Arm>,
};

pub struct Arm;

/// Scratch registers are given from here downwards.
const LAST: u8 = 10;

fn mov(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    line!(asm, "MOV R", reg, ",#", value);
    Ok(reg)
}

fn zero(asm: &mut Asm, to: u8, from: u8) {
    line!(asm, "EOR R", to, ",R", from, ",R", from);
}

/// The sum of an index and a base in the scratch register for addresses.
fn sum(asm: &mut Asm, a: u8, b: u8) -> u8 {
    let to = asm.symbol(Scratch::Address, LAST);
    line!(asm, "ADD R", to, ",R", a, ",R", b);
    to
}

fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
    line!(asm, name, reg, ",[R", base, "]");
}

fn indexed(asm: &mut Asm, name: &str, reg: u8, index: u8, base: u8) {
    line!(asm, name, reg, ",[R", index, ",R", base, "]");
}

fn pair(asm: &mut Asm, to: u8, value: u8, base: u8) {
    let label = asm.here();
    at(asm, "LDREX R", to, base);
    let status = asm.symbol(Scratch::Status, LAST);
    line!(asm, "STREX R", status, ",R", value, ",[R", base, "]");
    line!(asm, "CMP R", status, ",#0");
    line!(asm, "BNE "; label);
}

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "CMP R", from.reg, ",R", from.reg);
    line!(asm, "BNE "; label);
    asm.place(label);
    if from.dep.kind == DepKind::CtrlIsb {
        line!(asm, "ISB");
    }
}

/// The register with a zero that depends on another, where there is an address dependency.
fn index_of(asm: &mut Asm, from: Option<From>) -> Result<Option<u8>, Refused> {
    let Some(f) = from else { return Ok(None) };
    let reg = asm.alloc()?;
    zero(asm, reg, f.reg);
    Ok(Some(reg))
}

fn read(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
    let index = index_of(asm, from)?;
    match event.atom {
        None => {
            let to = asm.alloc()?;
            let base = asm.address(event.loc)?;
            match index {
                Some(index) => indexed(asm, "LDR R", to, index, base),
                None => at(asm, "LDR R", to, base),
            }
            Ok(to)
        }
        Some(Atom::Reserve) => match index {
            Some(index) => {
                let to = asm.alloc()?;
                let base = asm.address(event.loc)?;
                let sum = sum(asm, index, base);
                at(asm, "LDREX R", to, sum);
                Ok(to)
            }
            None => {
                let base = asm.address(event.loc)?;
                let to = asm.alloc()?;
                at(asm, "LDREX R", to, base);
                Ok(to)
            }
        },
        Some(_) => {
            let mut base = asm.address(event.loc)?;
            let to = asm.alloc()?;
            if let Some(index) = index {
                base = sum(asm, index, base);
            }
            pair(asm, to, to, base);
            Ok(to)
        }
    }
}

fn write(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<Option<u8>, Refused> {
    if let Some(f) = from
        && f.dep.kind == DepKind::Data
    {
        let value = asm.alloc()?;
        zero(asm, value, f.reg);
        line!(asm, "ADD R", value, ",R", value, ",#", event.value);
        let base = asm.address(event.loc)?;
        if event.atom.is_none() {
            at(asm, "STR R", value, base);
            return Ok(None);
        }
        let to = asm.alloc()?;
        pair(asm, to, value, base);
        return Ok(Some(to));
    }
    let index = index_of(asm, from)?;
    match (event.atom, index) {
        (None, index) => {
            let value = mov(asm, event.value)?;
            let base = asm.address(event.loc)?;
            match index {
                Some(index) => indexed(asm, "STR R", value, index, base),
                None => at(asm, "STR R", value, base),
            }
            Ok(None)
        }
        (Some(_), None) => {
            let value = mov(asm, event.value)?;
            let base = asm.address(event.loc)?;
            let to = asm.alloc()?;
            pair(asm, to, value, base);
            Ok(Some(to))
        }
        (Some(_), Some(index)) => {
            let base = asm.address(event.loc)?;
            let value = mov(asm, event.value)?;
            let to = asm.alloc()?;
            let base = sum(asm, index, base);
            pair(asm, to, value, base);
            Ok(Some(to))
        }
    }
}

impl Writer for Arm {
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
        let index = index_of(asm, through)?;
        let mut base = asm.address(read.loc)?;
        let value = mov(asm, write.value)?;
        let to = asm.alloc()?;
        if let Some(index) = index {
            base = sum(asm, index, base);
        }
        pair(asm, to, value, base);
        Ok(Some(to))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        at(asm, "LDR R", to, base);
        Ok(to)
    }
}
