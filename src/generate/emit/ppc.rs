//! Power: word loads and stores, and loops of lwarx and stwcx.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, any_orders, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::{Asm, From, Writer, Written, access_in_parts, threads};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Ppc,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences![
        "Sync" "sync" "sync",
        "LwSync" "lwsync" "lwsync",
        "Eieio" "eieio" "eieio",
        "ISync" "isync" "isync",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlIsync", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
    orders: any_orders,
    registers: Registers { prefix: "r", names: &[], first: 1, count: 30 },
    write: threads::<Ppc>,
};

pub struct Ppc;

fn li(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    line!(asm, "li r", reg, ",", value);
    Ok(reg)
}

fn zero(asm: &mut Asm, to: u8, from: u8) {
    line!(asm, "xor r", to, ",r", from, ",r", from);
}

fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
    line!(asm, name, reg, ",0(r", base, ")");
}

fn indexed(asm: &mut Asm, name: &str, reg: u8, index: u8, base: u8) {
    line!(asm, name, reg, ",r", index, ",r", base);
}

/// Register 0 is no index.
fn pair(asm: &mut Asm, to: u8, value: u8, index: u8, base: u8) {
    let label = asm.here();
    indexed(asm, "lwarx r", to, index, base);
    indexed(asm, "stwcx. r", value, index, base);
    line!(asm, "bne "; label);
}

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "cmpw r", from.reg, ",r", from.reg);
    line!(asm, "beq "; label);
    asm.place(label);
    if from.dep.kind == DepKind::CtrlIsb {
        line!(asm, "isync");
    }
}

fn read(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
    let mut index = 0;
    if let Some(f) = from {
        index = asm.alloc()?;
        zero(asm, index, f.reg);
    }
    match event.atom {
        None | Some(Atom::Reserve) => {
            let to = asm.alloc()?;
            let base = asm.address(event.loc)?;
            match (event.atom, index) {
                (Some(_), index) => indexed(asm, "lwarx r", to, index, base),
                (None, 0) => at(asm, "lwz r", to, base),
                (None, index) => indexed(asm, "lwzx r", to, index, base),
            }
            Ok(to)
        }
        Some(_) => {
            let base = asm.address(event.loc)?;
            let to = asm.alloc()?;
            pair(asm, to, to, index, base);
            Ok(to)
        }
    }
}

fn write(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
    let mut index = 0;
    let mut value = None;
    if let Some(f) = from {
        let reg = asm.alloc()?;
        zero(asm, reg, f.reg);
        if f.dep.kind == DepKind::Data {
            let (to, v) = (reg, event.value);
            line!(asm, "addi r", to, ",r", to, ",", v);
            value = Some(reg);
        } else {
            index = reg;
        }
    }
    let value = match value {
        Some(reg) => reg,
        None => li(asm, event.value)?,
    };
    let base = asm.address(event.loc)?;
    match event.atom {
        None if index == 0 => at(asm, "stw r", value, base),
        None => indexed(asm, "stwx r", value, index, base),
        Some(_) => {
            let to = asm.alloc()?;
            pair(asm, to, value, index, base);
            return Ok(Some(to));
        }
    }
    Ok(None)
}

impl Writer for Ppc {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        access_in_parts(asm, event, from, control, read, write)
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let mut index = 0;
        match from.map(|f| (f.dep.kind, f)) {
            Some((DepKind::Addr, f)) => {
                index = asm.alloc()?;
                zero(asm, index, f.reg);
            }
            Some((DepKind::Data, _)) => return Err("there is no data dependency to a read"),
            Some((_, f)) => control(asm, f),
            None => {}
        }
        let base = asm.address(read.loc)?;
        let to = asm.alloc()?;
        let value = li(asm, write.value)?;
        pair(asm, to, value, index, base);
        Ok(Some(to))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        at(asm, "lwz r", to, base);
        Ok(to)
    }
}
