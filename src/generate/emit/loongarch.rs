//! LoongArch: word loads and stores, and loops of LL and SC.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{
    Asm, From, Linked, Scratch, Writer, Written, access_in_parts, threads, through_address,
};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::LoongArch,
    plain: "P",
    atoms: &[("X", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    // The hints that only keep the order.
    fences: fences![
        "Dbar.rw.rw" "dbar.rw.rw" "dbar 16",
        "Dbar.rw.r" "dbar.rw.r" "dbar 17",
        "Dbar.rw.w" "dbar.rw.w" "dbar 18",
        "Dbar.r.rw" "dbar.r.rw" "dbar 20",
        "Dbar.r.r" "dbar.r.r" "dbar 21",
        "Dbar.r.w" "dbar.r.w" "dbar 22",
        "Dbar.w.rw" "dbar.w.rw" "dbar 24",
        "Dbar.w.r" "dbar.w.r" "dbar 25",
        "Dbar.w.w" "dbar.w.w" "dbar 26",
        "Dbar.same" "dbar.same" "dbar 1792",
    ],
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
    registers: Registers { prefix: "$r", names: &[], first: 4, count: 28 },
    write: threads::<LoongArch>,
};

pub struct LoongArch;

/// Scratch registers are given from here downwards.
const LAST: u8 = 20;

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "bne $r", from.reg, ",$r0,"; label);
    asm.place(label);
}

impl Linked for LoongArch {
    const LOAD: &str = "ld.w $r";
    const STORE: &str = "st.w $r";
    const LINK: &str = "ll.w $r";

    fn constant(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
        if value >= 1 << 12 {
            return asm.constant(value);
        }
        let reg = asm.alloc()?;
        line!(asm, "ori $r", reg, ",$r0,", value);
        Ok(reg)
    }

    fn zero(asm: &mut Asm, to: u8, from: u8) {
        line!(asm, "xor $r", to, ",$r", from, ",$r", from);
    }

    fn add(asm: &mut Asm, reg: u8, value: i32) {
        line!(asm, "addi.w $r", reg, ",$r", reg, ",", value);
    }

    fn sum(asm: &mut Asm, a: u8, b: u8) -> u8 {
        let to = asm.symbol(Scratch::Address, LAST);
        line!(asm, "add.d $r", to, ",$r", a, ",$r", b);
        to
    }

    fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
        line!(asm, name, reg, ",$r", base, ",0");
    }

    fn pair(asm: &mut Asm, to: u8, value: u8, base: u8) {
        let label = asm.here();
        Self::at(asm, Self::LINK, to, base);
        let status = asm.symbol(Scratch::Status, LAST);
        // The status goes where the value was.
        line!(asm, "move $r", status, ",$r", value);
        Self::at(asm, "sc.w $r", status, base);
        line!(asm, "beq $r", status, ",$r0,"; label);
    }
}

impl Writer for LoongArch {
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
