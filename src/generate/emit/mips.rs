//! MIPS: word loads and stores, and loops of ll and sc.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{
    Asm, From, Linked, Scratch, Writer, Written, access_in_parts, threads, through_address,
};
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

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "bne $", from.reg, ",$", from.reg, ","; label);
    asm.place(label);
}

impl Linked for Mips {
    const LOAD: &str = "lw $";
    const STORE: &str = "sw $";
    const LINK: &str = "ll $";

    fn constant(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        line!(asm, "ori $", reg, ",$0,", value);
        Ok(reg)
    }

    fn zero(asm: &mut Asm, to: u8, from: u8) {
        line!(asm, "xor $", to, ",$", from, ",$", from);
    }

    fn add(asm: &mut Asm, reg: u8, value: i32) {
        line!(asm, "addiu $", reg, ",$", reg, ",", value);
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
        Self::at(asm, "ll $", to, base);
        let status = asm.symbol(Scratch::Status, LAST);
        line!(asm, "ori $", status, ",$", value, ",0");
        Self::at(asm, "sc $", status, base);
        line!(asm, "beq $", status, ",$0,"; label);
    }
}

impl Writer for Mips {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        access_in_parts(asm, event, from, control, Self::read, Self::write)
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let through = through_address(asm, from, control)?;
        let mut base = asm.address(read.loc)?;
        let to = asm.alloc()?;
        let value = Self::constant(asm, write.value)?;
        if let Some(f) = through {
            let scratch = asm.symbol(Scratch::Address, LAST);
            Self::zero(asm, scratch, f.reg);
            base = Self::sum(asm, base, scratch);
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
