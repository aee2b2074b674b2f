//! RISC-V: loads and stores, loops of LR and SC, and AMOSWAP.

use super::super::cycle::{Event, Refused, size};
use super::super::dialect::{Dialect, Registers, SIZES, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw, Size};
use super::{Asm, From, Scratch, Writer, Written, access_in_parts, threads};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::RiscV,
    plain: "P",
    atoms: &[
        ("Aq", Atom::Order(Order::Acq)),
        ("Rl", Atom::Order(Order::Rel)),
        ("AR", Atom::Order(Order::AcqRel)),
        ("X", Atom::Loop(Order::Plain, Order::Plain)),
        ("XPAq", Atom::Loop(Order::Plain, Order::Acq)),
        ("XPRl", Atom::Loop(Order::Plain, Order::Rel)),
        ("XPAR", Atom::Loop(Order::Plain, Order::AcqRel)),
        ("XAqP", Atom::Loop(Order::Acq, Order::Plain)),
        ("XAqAq", Atom::Loop(Order::Acq, Order::Acq)),
        ("XAqRl", Atom::Loop(Order::Acq, Order::Rel)),
        ("XAqAR", Atom::Loop(Order::Acq, Order::AcqRel)),
        ("XRlP", Atom::Loop(Order::Rel, Order::Plain)),
        ("XRlAq", Atom::Loop(Order::Rel, Order::Acq)),
        ("XRlRl", Atom::Loop(Order::Rel, Order::Rel)),
        ("XRlAR", Atom::Loop(Order::Rel, Order::AcqRel)),
        ("XARP", Atom::Loop(Order::AcqRel, Order::Plain)),
        ("XARAq", Atom::Loop(Order::AcqRel, Order::Acq)),
        ("XARRl", Atom::Loop(Order::AcqRel, Order::Rel)),
        ("XARAR", Atom::Loop(Order::AcqRel, Order::AcqRel)),
    ],
    sizes: SIZES,
    fences: fences![
        "Fence.rw.rw" "fence.rw.rw" "fence rw,rw",
        "Fence.r.r" "fence.r.r" "fence r,r",
        "Fence.r.w" "fence.r.w" "fence r,w",
        "Fence.r.rw" "fence.r.rw" "fence r,rw",
        "Fence.w.r" "fence.w.r" "fence w,r",
        "Fence.w.w" "fence.w.w" "fence w,w",
        "Fence.w.rw" "fence.w.rw" "fence w,rw",
        "Fence.rw.r" "fence.rw.r" "fence rw,r",
        "Fence.rw.w" "fence.rw.w" "fence rw,w",
        "Fence.tso" "fence.tso" "fence.tso",
        "Fence.i" "fence.i" "fence.i",
        "Fence.iorw.iorw" "fence.iorw.iorw" "fence iorw,iorw",
    ],
    strong: Some(11),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlFenceI", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
    orders: |_, r, w| {
        let clash = [(Order::Rel, Order::Rel), (Order::Rel, Order::Acq), (Order::Acq, Order::Acq)];
        r.zip(w).is_some_and(|pair| !clash.contains(&pair))
    },
    registers: Registers { prefix: "x", names: &[], first: 5, count: 27 },
    write: threads::<RiscV>,
};

pub struct RiscV;

fn suffix(order: Order) -> &'static str {
    match order {
        Order::Acq => ".aq",
        Order::Rel => ".rl",
        Order::AcqRel => ".aqrl",
        _ => "",
    }
}

fn li(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    if value >= 1 << 11 {
        return asm.constant(value);
    }
    let reg = asm.alloc()?;
    li_to(asm, reg, value);
    Ok(reg)
}

fn li_to(asm: &mut Asm, reg: u8, value: i32) {
    line!(asm, "ori x", reg, ",x0,", value);
}

fn zero(asm: &mut Asm, to: u8, from: u8) {
    line!(asm, "xor x", to, ",x", from, ",x", from);
}

fn add(asm: &mut Asm, to: u8, a: u8, b: u8) {
    line!(asm, "add x", to, ",x", a, ",x", b);
}

fn at(asm: &mut Asm, name: &str, order: Order, reg: u8, base: u8) {
    at_offset(asm, name, order, reg, base, 0);
}

fn at_offset(asm: &mut Asm, name: &str, order: Order, reg: u8, base: u8, offset: u8) {
    line!(asm, name, suffix(order), " x", reg, ",", i32::from(offset), "(x", base, ")");
}

fn pair(
    asm: &mut Asm,
    read: Order,
    write: Order,
    to: u8,
    value: u8,
    base: u8,
) -> Result<(), Refused> {
    let status = asm.scratch(Scratch::Status)?;
    let label = asm.here();
    at(asm, "lr.w", read, to, base);
    line!(asm, "sc.w", suffix(write), " x", status, ",x", value, ",0(x", base, ")");
    line!(asm, "bne x", status, ",x0,"; label);
    Ok(())
}

fn control(asm: &mut Asm, from: From) {
    let label = asm.label();
    line!(asm, "bne x", from.reg, ",x0,"; label);
    asm.place(label);
    if from.dep.kind == DepKind::CtrlIsb {
        line!(asm, "fence.i");
    }
}

fn order(atom: Option<Atom>) -> Result<Result<Order, (Order, Order)>, Refused> {
    match atom {
        None => Ok(Ok(Order::Plain)),
        Some(Atom::Order(o) | Atom::Sized(o, _)) => Ok(Ok(o)),
        Some(Atom::Loop(r, w)) => Ok(Err((r, w))),
        Some(_) => Err("this annotation is none of RISC-V"),
    }
}

fn read(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
    let mut index = None;
    if let Some(f) = from {
        let reg = asm.alloc()?;
        zero(asm, reg, f.reg);
        index = Some(reg);
    }
    match order(event.atom)? {
        Ok(o) => {
            let to = asm.alloc()?;
            let mut base = asm.address(event.loc)?;
            if let Some(index) = index {
                let sum = asm.alloc()?;
                add(asm, sum, base, index);
                base = sum;
            }
            let size = size(event.atom).unwrap_or(Size::WORD);
            let name = if size.bytes == 2 { "lh" } else { "lw" };
            at_offset(asm, name, o, to, base, size.offset);
            Ok(to)
        }
        Err((r, w)) => {
            let mut base = asm.address(event.loc)?;
            if let Some(index) = index {
                let sum = asm.alloc()?;
                add(asm, sum, base, index);
                base = sum;
            }
            let to = asm.alloc()?;
            pair(asm, r, w, to, to, base)?;
            Ok(to)
        }
    }
}

fn write(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
    let mut index = None;
    let mut data = None;
    if let Some(f) = from {
        let reg = asm.alloc()?;
        zero(asm, reg, f.reg);
        if f.dep.kind == DepKind::Data {
            let to = reg;
            if event.value < 1 << 11 {
                line!(asm, "ori x", to, ",x", to, ",", event.value);
            } else {
                let constant = asm.constant(event.value)?;
                line!(asm, "or x", to, ",x", to, ",x", constant);
            }
            data = Some(reg);
        } else {
            index = Some(reg);
        }
    }
    match order(event.atom)? {
        Ok(o) => {
            let value = match data {
                Some(reg) => reg,
                None => li(asm, event.value)?,
            };
            let mut base = asm.address(event.loc)?;
            if let Some(index) = index {
                let sum = asm.alloc()?;
                add(asm, sum, base, index);
                base = sum;
            }
            let size = size(event.atom).unwrap_or(Size::WORD);
            let name = if size.bytes == 2 { "sh" } else { "sw" };
            at_offset(asm, name, o, value, base, size.offset);
            Ok(None)
        }
        Err((r, w)) => {
            let mut base = asm.address(event.loc)?;
            let sum = match index {
                Some(_) => Some(asm.alloc()?),
                None => None,
            };
            let value = match data {
                Some(reg) => reg,
                None => li(asm, event.value)?,
            };
            if let (Some(sum), Some(index)) = (sum, index) {
                add(asm, sum, base, index);
                base = sum;
            }
            let to = asm.alloc()?;
            pair(asm, r, w, to, value, base)?;
            Ok(Some(to))
        }
    }
}

fn swap_order(read: Option<Atom>, write: Option<Atom>) -> Result<Order, Refused> {
    let one = |a: Option<Atom>| match a {
        None => Ok(Order::Plain),
        Some(Atom::Order(o)) => Ok(o),
        Some(_) => Err("this annotation does not fit a read-modify-write"),
    };
    Ok(match (one(read)?, one(write)?) {
        (Order::Plain, o) | (o, Order::Plain) => o,
        _ => Order::AcqRel,
    })
}

impl Writer for RiscV {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        access_in_parts(asm, event, from, control, read, write)
    }

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        if rmw != Rmw::Exch {
            return Err("RISC-V tests have exchanges only");
        }
        let order = swap_order(read.atom, write.atom)?;
        let (to, value, base);
        match from.map(|f| (f.dep.kind, f)) {
            Some((DepKind::Addr, f)) => {
                let index = asm.alloc()?;
                zero(asm, index, f.reg);
                let plain = asm.address(read.loc)?;
                // The sum goes into the register that is given away last.
                value = asm.alloc()?;
                to = asm.alloc()?;
                base = asm.alloc()?;
                add(asm, base, plain, index);
                li_to(asm, value, write.value);
            }
            Some((DepKind::Data, _)) => return Err("there is no data dependency to a read"),
            f => {
                if let Some((_, f)) = f {
                    control(asm, f);
                }
                base = asm.address(read.loc)?;
                to = asm.alloc()?;
                value = li(asm, write.value)?;
            }
        }
        line!(asm, "amoswap.w", suffix(order), " x", to, ",x", value, ",(x", base, ")");
        Ok(Some(to))
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        at(asm, "lw", Order::Plain, to, base);
        Ok(to)
    }
}
