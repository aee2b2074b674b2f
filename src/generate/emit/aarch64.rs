//! AArch64: LDR and STR with their acquire, release and exclusive forms, and the atomics of LSE.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, csel, dep, fences, sized};
use super::super::edge::{Atom, DepKind, Dir, Order, Pair, Rmw, RmwOp, Size};
use super::{Asm, From, Scratch, Writer, Written, threads};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::AArch64,
    plain: "P",
    atoms: &[
        ("A", Atom::Order(Order::Acq)),
        ("Q", Atom::Order(Order::AcqPc)),
        ("L", Atom::Order(Order::Rel)),
        ("X", Atom::Loop(Order::Plain, Order::Plain)),
        ("XL", Atom::Loop(Order::Plain, Order::Rel)),
        ("XA", Atom::Loop(Order::Acq, Order::Plain)),
        ("XAL", Atom::Loop(Order::Acq, Order::Rel)),
        ("Pa", Atom::Pair(Pair::Plain)),
        ("PaN", Atom::Pair(Pair::NonTemporal)),
        ("PaA", Atom::Pair(Pair::Acq)),
        ("PaL", Atom::Pair(Pair::Rel)),
        ("PaIQ", Atom::Pair(Pair::AcqPc)),
        ("PaIL", Atom::Pair(Pair::RelEach)),
    ],
    sizes: &[
        ("w0", sized(Order::Plain, Size::WORD)),
        ("h0", sized(Order::Plain, Size::LOW)),
        ("h2", sized(Order::Plain, Size::HIGH)),
        ("A.w0", sized(Order::Acq, Size::WORD)),
        ("A.h0", sized(Order::Acq, Size::LOW)),
        ("A.h2", sized(Order::Acq, Size::HIGH)),
        ("Q.w0", sized(Order::AcqPc, Size::WORD)),
        ("Q.h0", sized(Order::AcqPc, Size::LOW)),
        ("Q.h2", sized(Order::AcqPc, Size::HIGH)),
        ("L.w0", sized(Order::Rel, Size::WORD)),
        ("L.h0", sized(Order::Rel, Size::LOW)),
        ("L.h2", sized(Order::Rel, Size::HIGH)),
    ],
    fences: fences![
        "DMB.SY" "dmb.sy" "DMB SY",
        "DMB.ST" "dmb.st" "DMB ST",
        "DMB.LD" "dmb.ld" "DMB LD",
        "DSB.SY" "dsb.sy" "DSB SY",
        "DSB.ST" "dsb.st" "DSB ST",
        "DSB.LD" "dsb.ld" "DSB LD",
        "ISB" "isb" "ISB",
        "DMB.ISH" "dmb.ish" "DMB ISH",
        "DMB.ISHST" "dmb.ishst" "DMB ISHST",
        "DMB.ISHLD" "dmb.ishld" "DMB ISHLD",
        "DSB.ISH" "dsb.ish" "DSB ISH",
        "DSB.ISHST" "dsb.ishst" "DSB ISHST",
        "DSB.ISHLD" "dsb.ishld" "DSB ISHLD",
        "DMB.OSH" "dmb.osh" "DMB OSH",
        "DMB.OSHST" "dmb.oshst" "DMB OSHST",
        "DMB.OSHLD" "dmb.oshld" "DMB OSHLD",
        "DSB.OSH" "dsb.osh" "DSB OSH",
        "DSB.OSHST" "dsb.oshst" "DSB OSHST",
        "DSB.OSHLD" "dsb.oshld" "DSB OSHLD",
        "DMB.NSH" "dmb.nsh" "DMB NSH",
        "DMB.NSHST" "dmb.nshst" "DMB NSHST",
        "DMB.NSHLD" "dmb.nshld" "DMB NSHLD",
        "DSB.NSH" "dsb.nsh" "DSB NSH",
        "DSB.NSHST" "dsb.nshst" "DSB NSHST",
        "DSB.NSHLD" "dsb.nshld" "DSB NSHLD",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlIsb", dep(DepKind::CtrlIsb)),
        ("AddrCsel", csel(DepKind::Addr)),
        ("DataCsel", csel(DepKind::Data)),
        ("CtrlCsel", csel(DepKind::Ctrl)),
        ("CtrlIsbCsel", csel(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    rmws: &[
        ("LxSx", Rmw::LxSx),
        ("Amo.Swp", Rmw::Exch),
        ("Amo.Cas", Rmw::Cas),
        ("Amo.LdAdd", Rmw::Fetch(RmwOp::Add)),
        ("Amo.LdEor", Rmw::Fetch(RmwOp::Xor)),
        ("Amo.LdSet", Rmw::Fetch(RmwOp::Or)),
        ("Amo.LdClr", Rmw::Fetch(RmwOp::Clr)),
        ("Amo.StAdd", Rmw::Store(RmwOp::Add)),
        ("Amo.StEor", Rmw::Store(RmwOp::Xor)),
        ("Amo.StSet", Rmw::Store(RmwOp::Or)),
        ("Amo.StClr", Rmw::Store(RmwOp::Clr)),
    ],
    rmw: Rmw::LxSx,
    orders: |rmw, r, w| {
        let acquires = !matches!(rmw, Rmw::Store(_));
        (r == Some(Order::Plain) || acquires && r == Some(Order::Acq))
            && matches!(w, Some(Order::Plain | Order::Rel))
    },
    registers: Registers { prefix: "X", names: &[], first: 0, count: 28 },
    write: threads::<AArch64>,
};

pub struct AArch64;

fn load_name(order: Order) -> &'static str {
    match order {
        Order::Acq => "LDAR W",
        Order::AcqPc => "LDAPR W",
        _ => "LDR W",
    }
}

fn mov(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    mov_to(asm, reg, value);
    Ok(reg)
}

fn mov_to(asm: &mut Asm, reg: u8, value: i32) {
    line!(asm, "MOV W", reg, ",#", value);
}

/// Puts into a register a zero that depends on another.
fn zero(asm: &mut Asm, from: From, to: u8) {
    let reg = from.reg;
    if from.dep.csel {
        line!(asm, "CMP W", reg, ",W", reg);
        line!(asm, "CSEL W", to, ",WZR,WZR,EQ");
    } else {
        line!(asm, "EOR W", to, ",W", reg, ",W", reg);
    }
}

fn sum(asm: &mut Asm, to: u8, base: u8, index: u8) {
    line!(asm, "ADD X", to, ",X", base, ",W", index, ",SXTW");
}

/// The branch of a control dependency, and the barrier behind it.
fn control(asm: &mut Asm, from: From) -> Result<(), Refused> {
    let mut reg = from.reg;
    if from.dep.csel {
        reg = asm.alloc()?;
        zero(asm, from, reg);
    }
    let label = asm.label();
    line!(asm, "CBNZ W", reg, ","; label);
    asm.place(label);
    if from.dep.kind == DepKind::CtrlIsb {
        line!(asm, "ISB");
    }
    Ok(())
}

/// A loop of a load-linked and a store-conditional that ends when the store succeeds.
fn pair(
    asm: &mut Asm,
    read: Order,
    write: Order,
    to: u8,
    value: u8,
    base: u8,
) -> Result<(), Refused> {
    let status = asm.scratch(Scratch::Status)?;
    let load = if read == Order::Acq { "LDAXR W" } else { "LDXR W" };
    let store = if write == Order::Rel { "STLXR W" } else { "STXR W" };
    let label = asm.here();
    line!(asm, load, to, ",[X", base, "]");
    line!(asm, store, status, ",W", value, ",[X", base, "]");
    line!(asm, "CBNZ W", status, ","; label);
    Ok(())
}

fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
    line!(asm, name, reg, ",[X", base, "]");
}

fn indexed(asm: &mut Asm, name: &str, reg: u8, base: u8, index: u8) {
    line!(asm, name, reg, ",[X", base, ",W", index, ",SXTW]");
}

/// Two elements are read, and added.
fn read_pair(asm: &mut Asm, sort: Pair, base: u8) -> Result<u8, Refused> {
    let name = match sort {
        Pair::NonTemporal => "LDNP",
        Pair::Acq => "LDAP",
        Pair::AcqPc => "LDIAPP",
        _ => "LDP",
    };
    let (to, second) = (asm.alloc()?, asm.alloc()?);
    three(asm, &[name], to, second, base);
    line!(asm, "ADD W", to, ",W", to, ",W", second);
    Ok(to)
}

/// A value goes to the second element, and the one before it to the first.
fn write_pair(asm: &mut Asm, sort: Pair, value: u8, base: u8) -> Result<(), Refused> {
    let name = match sort {
        Pair::NonTemporal => "STNP",
        Pair::Rel => "STLP",
        Pair::RelEach => "STILP",
        _ => "STP",
    };
    let first = asm.alloc()?;
    line!(asm, "SUB W", first, ",W", value, ",#1");
    three(asm, &[name], first, value, base);
    Ok(())
}

/// The address of a location, with a zero in it that depends on a register.
fn dependent(asm: &mut Asm, loc: u8, from: From) -> Result<u8, Refused> {
    let index = asm.alloc()?;
    zero(asm, from, index);
    let base = asm.address(loc)?;
    let address = asm.scratch(Scratch::Address)?;
    sum(asm, address, base, index);
    Ok(address)
}

/// An access to two elements.
fn access_pair(asm: &mut Asm, event: &Event, sort: Pair, from: Option<From>) -> Written {
    let (mut address, mut value) = (None, None);
    match from.map(|f| (f.dep.kind, f)) {
        None => {}
        Some((DepKind::Addr, f)) => address = Some(dependent(asm, event.loc, f)?),
        Some((DepKind::Data, _)) if event.dir == Dir::R => {
            return Err("there is no data dependency to a read");
        }
        Some((DepKind::Data, f)) => value = Some(computed(asm, f, event.value)?),
        Some((_, f)) => control(asm, f)?,
    }
    let base = match address {
        Some(address) => address,
        None => asm.address(event.loc)?,
    };
    if event.dir == Dir::R {
        return read_pair(asm, sort, base).map(Some);
    }
    let value = match value {
        Some(value) => value,
        None => mov(asm, event.value)?,
    };
    write_pair(asm, sort, value, base)?;
    Ok(None)
}

/// A register with a value: by a move, if an instruction can hold the value.
fn constant(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    if value < 1 << 12 { mov(asm, value) } else { asm.constant(value) }
}

/// An access to a word or to half of one.
fn access_sized(
    asm: &mut Asm,
    event: &Event,
    (order, size): (Order, Size),
    from: Option<From>,
) -> Written {
    let name = match (event.dir, order, size.bytes == 2) {
        (Dir::R, Order::Plain, false) => "LDR W",
        (Dir::R, Order::Plain, true) => "LDRH W",
        (Dir::R, Order::Acq, false) => "LDAR W",
        (Dir::R, Order::Acq, true) => "LDARH W",
        (Dir::R, Order::AcqPc, false) => "LDAPR W",
        (Dir::R, Order::AcqPc, true) => "LDAPRH W",
        (Dir::W, Order::Plain, false) => "STR W",
        (Dir::W, Order::Plain, true) => "STRH W",
        (Dir::W, Order::Rel, false) => "STLR W",
        (Dir::W, Order::Rel, true) => "STLRH W",
        _ => return Err("this annotation does not fit the access"),
    };
    let offset = i32::from(size.offset);
    let plus = |asm: &mut Asm, width: &str, to: u8, from: u8| {
        line!(asm, "ADD ", width, to, ",", width, from, ",#", offset);
    };
    let (mut index, mut data) = (None, None);
    match from.map(|f| (f.dep.kind, f)) {
        None => {}
        Some((DepKind::Data, _)) if event.dir == Dir::R => {
            return Err("there is no data dependency to a read");
        }
        Some((kind @ (DepKind::Addr | DepKind::Data), f)) => {
            let reg = asm.alloc()?;
            zero(asm, f, reg);
            *(if kind == DepKind::Addr { &mut index } else { &mut data }) = Some(reg);
        }
        Some((_, f)) => control(asm, f)?,
    }
    let reg = match event.dir {
        Dir::R => asm.alloc()?,
        Dir::W => constant(asm, event.value)?,
    };
    let reg = match data {
        Some(sum) => {
            let (s, c) = (sum, reg);
            line!(asm, "ADD W", s, ",W", s, ",W", c);
            sum
        }
        None => reg,
    };
    let base = asm.address(event.loc)?;
    match (order, index) {
        (Order::Plain, None) if offset == 0 => at(asm, name, reg, base),
        (Order::Plain, None) => {
            let (r, b) = (reg, base);
            line!(asm, name, r, ",[X", b, ",#", offset, "]");
        }
        (Order::Plain, Some(index)) => {
            if offset > 0 {
                plus(asm, "W", index, index);
            }
            indexed(asm, name, reg, base, index);
        }
        (_, None) if offset == 0 => at(asm, name, reg, base),
        (_, index) => {
            let address = asm.scratch(Scratch::Address)?;
            let mut from = base;
            if offset > 0 {
                plus(asm, "X", address, base);
                from = address;
            }
            if let Some(index) = index {
                sum(asm, address, from, index);
            }
            at(asm, name, reg, address);
        }
    }
    Ok((event.dir == Dir::R).then_some(reg))
}

fn order(atom: Option<Atom>) -> Result<Result<Order, (Order, Order)>, Refused> {
    match atom {
        None => Ok(Ok(Order::Plain)),
        Some(Atom::Order(o)) => Ok(Ok(o)),
        Some(Atom::Loop(r, w)) => Ok(Err((r, w))),
        Some(_) => Err("this annotation is none of AArch64"),
    }
}

fn read(asm: &mut Asm, event: &Event) -> Result<u8, Refused> {
    let base = asm.address(event.loc)?;
    let to = asm.alloc()?;
    match order(event.atom)? {
        Ok(o) => at(asm, load_name(o), to, base),
        Err((r, w)) => pair(asm, r, w, to, to, base)?,
    }
    Ok(to)
}

fn read_at(asm: &mut Asm, event: &Event, from: From) -> Result<u8, Refused> {
    let index = asm.alloc()?;
    zero(asm, from, index);
    match order(event.atom)? {
        Ok(o) => {
            let to = asm.alloc()?;
            let base = asm.address(event.loc)?;
            if o == Order::Plain {
                indexed(asm, "LDR W", to, base, index);
            } else {
                let address = asm.scratch(Scratch::Address)?;
                sum(asm, address, base, index);
                at(asm, load_name(o), to, address);
            }
            Ok(to)
        }
        Err((r, w)) => {
            let base = asm.address(event.loc)?;
            let address = asm.scratch(Scratch::Address)?;
            sum(asm, address, base, index);
            let to = asm.alloc()?;
            pair(asm, r, w, to, to, address)?;
            Ok(to)
        }
    }
}

fn store_name(order: Order) -> &'static str {
    if order == Order::Rel { "STLR W" } else { "STR W" }
}

fn write(asm: &mut Asm, event: &Event) -> Written {
    match order(event.atom)? {
        Ok(o) => {
            let value = mov(asm, event.value)?;
            let base = asm.address(event.loc)?;
            at(asm, store_name(o), value, base);
            Ok(None)
        }
        Err((r, w)) => {
            let base = asm.address(event.loc)?;
            let value = mov(asm, event.value)?;
            let to = asm.alloc()?;
            pair(asm, r, w, to, value, base)?;
            Ok(Some(to))
        }
    }
}

fn write_at(asm: &mut Asm, event: &Event, from: From) -> Written {
    let index = asm.alloc()?;
    zero(asm, from, index);
    match order(event.atom)? {
        Ok(o) => {
            let value = mov(asm, event.value)?;
            let base = asm.address(event.loc)?;
            if o == Order::Plain {
                indexed(asm, "STR W", value, base, index);
            } else {
                let address = asm.scratch(Scratch::Address)?;
                sum(asm, address, base, index);
                at(asm, store_name(o), value, address);
            }
            Ok(None)
        }
        Err((r, w)) => {
            let base = asm.address(event.loc)?;
            let address = asm.scratch(Scratch::Address)?;
            let value = mov(asm, event.value)?;
            sum(asm, address, base, index);
            let to = asm.alloc()?;
            pair(asm, r, w, to, value, address)?;
            Ok(Some(to))
        }
    }
}

/// A constant that depends on a register.
fn computed(asm: &mut Asm, from: From, constant: i32) -> Result<u8, Refused> {
    let value = asm.alloc()?;
    zero(asm, from, value);
    line!(asm, "ADD W", value, ",W", value, ",#", constant);
    Ok(value)
}

fn write_data(asm: &mut Asm, event: &Event, from: From) -> Written {
    let value = computed(asm, from, event.value)?;
    let base = asm.address(event.loc)?;
    match order(event.atom)? {
        Ok(o) => {
            at(asm, store_name(o), value, base);
            Ok(None)
        }
        Err((r, w)) => {
            let to = asm.alloc()?;
            pair(asm, r, w, to, value, base)?;
            Ok(Some(to))
        }
    }
}

fn suffix(read: Option<Atom>, write: Option<Atom>) -> &'static str {
    let acquires = read == Some(Atom::Order(Order::Acq));
    let releases = write == Some(Atom::Order(Order::Rel));
    match (acquires, releases) {
        (true, true) => "AL",
        (true, false) => "A",
        (false, true) => "L",
        (false, false) => "",
    }
}

fn op_name(op: RmwOp) -> Result<&'static str, Refused> {
    match op {
        RmwOp::Add => Ok("ADD"),
        RmwOp::Xor => Ok("EOR"),
        RmwOp::Or => Ok("SET"),
        RmwOp::Clr => Ok("CLR"),
        RmwOp::Sub | RmwOp::And => Err("AArch64 has no such operation"),
    }
}

impl Writer for AArch64 {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        if let Some(Atom::Pair(sort)) = event.atom {
            return access_pair(asm, event, sort, from);
        }
        if let Some(Atom::Sized(order, size)) = event.atom {
            return access_sized(asm, event, (order, size), from);
        }
        match (event.dir, from.map(|f| (f.dep.kind, f))) {
            (Dir::R, Some((DepKind::Addr, f))) => read_at(asm, event, f).map(Some),
            (Dir::W, Some((DepKind::Addr, f))) => write_at(asm, event, f),
            (Dir::W, Some((DepKind::Data, f))) => write_data(asm, event, f),
            (Dir::R, Some((DepKind::Data, _))) => Err("there is no data dependency to a read"),
            (dir, control_from) => {
                if let Some((_, f)) = control_from {
                    control(asm, f)?;
                }
                if dir == Dir::R { read(asm, event).map(Some) } else { write(asm, event) }
            }
        }
    }

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let acquires = read.atom == Some(Atom::Order(Order::Acq));
        let releases = write.atom == Some(Atom::Order(Order::Rel));
        let (r, w) = (
            if acquires { Order::Acq } else { Order::Plain },
            if releases { Order::Rel } else { Order::Plain },
        );
        let ends = suffix(read.atom, write.atom);
        // The address, and for a dependency through it what computes it.
        let mut index = None;
        match from.map(|f| (f.dep.kind, f)) {
            None => {}
            Some((DepKind::Addr, f)) => index = Some((asm.alloc()?, f)),
            Some((DepKind::Data, _)) => return Err("there is no data dependency to a read"),
            Some((_, f)) => control(asm, f)?,
        }
        let mut base = asm.address(read.loc)?;
        let address = |asm: &mut Asm, index: u8, f: From, base: u8, to: u8| {
            zero(asm, f, index);
            sum(asm, to, base, index);
        };
        let plain = base;
        if index.is_some() {
            base = asm.scratch(Scratch::Address)?;
        }
        if rmw != Rmw::LxSx
            && let Some((i, f)) = index
        {
            address(asm, i, f, plain, base);
        }
        match rmw {
            Rmw::LxSx => {
                let to = asm.alloc()?;
                let value = mov(asm, write.value)?;
                if let Some((i, f)) = index {
                    address(asm, i, f, plain, base);
                }
                pair(asm, r, w, to, value, base)?;
                Ok(Some(to))
            }
            Rmw::Cas => {
                let expected = mov(asm, read.value)?;
                let value = mov(asm, write.value)?;
                three(asm, &["CAS", ends], expected, value, base);
                Ok(Some(expected))
            }
            Rmw::Exch => {
                let to = asm.alloc()?;
                let value = mov(asm, write.value)?;
                three(asm, &["SWP", ends], value, to, base);
                Ok(Some(to))
            }
            Rmw::Fetch(op) => {
                let to = asm.alloc()?;
                let value = mov(asm, write.value)?;
                three(asm, &["LD", op_name(op)?, ends], value, to, base);
                Ok(Some(to))
            }
            Rmw::Store(op) => {
                let value = mov(asm, write.value)?;
                line!(asm, "ST", op_name(op)?, ends, " W", value, ",[X", base, "]");
                Ok(None)
            }
        }
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        at(asm, "LDR W", to, base);
        Ok(to)
    }
}

fn three(asm: &mut Asm, name: &[&str], a: u8, b: u8, base: u8) {
    let name = |i: usize| name.get(i).copied().unwrap_or("");
    line!(asm, name(0), name(1), name(2), " W", a, ",W", b, ",[X", base, "]");
}
