//! Armv7: LDR, STR, and loops of LDREX and STREX.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{
    Asm, From, Linked, Scratch, Writer, Written, access_in_parts, threads, through_address,
};
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

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "CMP R", from.reg, ",R", from.reg);
    line!(asm, "BNE "; label);
    asm.place(label);
    if from.dep.kind == DepKind::CtrlIsb {
        line!(asm, "ISB");
    }
}

impl Linked for Arm {
    const LOAD: &str = "LDR R";
    const STORE: &str = "STR R";
    const LINK: &str = "LDREX R";

    fn constant(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        line!(asm, "MOV R", reg, ",#", value);
        Ok(reg)
    }

    fn zero(asm: &mut Asm, to: u8, from: u8) {
        line!(asm, "EOR R", to, ",R", from, ",R", from);
    }

    fn add(asm: &mut Asm, reg: u8, value: i32) {
        line!(asm, "ADD R", reg, ",R", reg, ",#", value);
    }

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
        Self::at(asm, "LDREX R", to, base);
        let status = asm.symbol(Scratch::Status, LAST);
        line!(asm, "STREX R", status, ",R", value, ",[R", base, "]");
        line!(asm, "CMP R", status, ",#0");
        line!(asm, "BNE "; label);
    }
}

impl Writer for Arm {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        access_in_parts(asm, event, from, control, Self::read, Self::write)
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let through = through_address(asm, from, control)?;
        let index = Self::index(asm, through)?;
        let mut base = asm.address(read.loc)?;
        let value = Self::constant(asm, write.value)?;
        let to = asm.alloc()?;
        if let Some(index) = index {
            base = Self::sum(asm, index, base);
        }
        Self::pair(asm, to, value, base);
        Ok(Some(to))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        Self::at(asm, Self::LOAD, to, base);
        Ok(to)
    }
}
