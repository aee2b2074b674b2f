//! AArch64: LDR and STR with their acquire, release and exclusive forms, and the atomics of LSE.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, csel, dep, fences, sized};
use super::super::edge::{Atom, DepKind, Dir, Order, Pair, Rmw, RmwOp, Size};
use super::linked::{First, Linked, Place, Words};
use super::{Asm, From, P, Scratch, Written, threads, through_address};
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

const WORDS: Words = Words {
    constant: "MOV W{to},#{value}",
    zero: "EOR W{to},W{from},W{from}",
    select: &["CMP W{from},W{from}", "CSEL W{to},WZR,WZR,EQ"],
    add: "ADD W{to},W{to},#{value}",
    sum: "ADD X{to},X{base},W{index},SXTW",
    branch: &["CBNZ W{from},"],
    isb: "ISB",
    load: "LD{order}R W{to},[X{base}]",
    load_indexed: Some("LDR W{to},[X{base},W{index},SXTW]"),
    store: "ST{order}R W{value},[X{base}]",
    store_indexed: Some("STR W{value},[X{base},W{index},SXTW]"),
    link: "LD{read}XR W{to},[X{base}]",
    store_back: &["ST{write}XR W{status},W{value},[X{base}]", "CBNZ W{status},"],
    order: |order| match order {
        Order::Acq => "A",
        Order::AcqPc => "AP",
        Order::Rel => "L",
        _ => "",
    },
    first: First { read: true, write: true, write_indexed: true, ..First::VALUES },
    ..Words::NONE
};

fn at(asm: &mut Asm, name: &str, reg: u8, base: u8) {
    line!(asm, name, reg, ",[X", base, "]");
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
    line!(asm, name, " W", to, ",W", second, ",[X", base, "]");
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
    line!(asm, name, " W", first, ",W", value, ",[X", base, "]");
    Ok(())
}

/// An access to two elements.
fn access_pair(asm: &mut Asm, event: &Event, sort: Pair, from: Option<From>) -> Written {
    let (mut base, mut value) = (None, None);
    match from.map(|f| (f.dep.kind, f)) {
        None => {}
        Some((DepKind::Addr, f)) => {
            let index = asm.alloc()?;
            WORDS.zero(asm, f, index);
            let plain = asm.address(event.loc)?;
            let address = asm.scratch(Scratch::Address)?;
            WORDS.sum(asm, address, plain, index);
            base = Some(address);
        }
        Some((DepKind::Data, _)) if event.dir == Dir::R => {
            return Err("there is no data dependency to a read");
        }
        Some((DepKind::Data, f)) => value = Some(WORDS.computed(asm, f, event.value)?),
        Some((_, f)) => WORDS.control(asm, f)?,
    }
    let base = base.map_or_else(|| asm.address(event.loc), Ok)?;
    if event.dir == Dir::R {
        return read_pair(asm, sort, base).map(Some);
    }
    let value = value.map_or_else(|| WORDS.constant(asm, event.value), Ok)?;
    write_pair(asm, sort, value, base)?;
    Ok(None)
}

/// A register with a value: by a move, if an instruction can hold the value.
fn constant(asm: &mut Asm, value: i32) -> Result<u8, Refused> {
    if value < 1 << 12 { WORDS.constant(asm, value) } else { asm.constant(value) }
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
            WORDS.zero(asm, f, reg);
            *(if kind == DepKind::Addr { &mut index } else { &mut data }) = Some(reg);
        }
        Some((_, f)) => WORDS.control(asm, f)?,
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
            line!(asm, name, reg, ",[X", base, ",W", index, ",SXTW]");
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
                WORDS.sum(asm, address, from, index);
            }
            at(asm, name, reg, address);
        }
    }
    Ok((event.dir == Dir::R).then_some(reg))
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

impl Linked for AArch64 {
    const WORDS: Words = WORDS;

    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        match event.atom {
            Some(Atom::Pair(sort)) => access_pair(asm, event, sort, from),
            Some(Atom::Sized(order, size)) => access_sized(asm, event, (order, size), from),
            _ => WORDS.access(asm, event, from),
        }
    }

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        let has = |event: &Event, order| event.atom == Some(Atom::Order(order));
        let acquires = if has(read, Order::Acq) { Order::Acq } else { Order::Plain };
        let releases = if has(write, Order::Rel) { Order::Rel } else { Order::Plain };
        let through = through_address(asm, from, |asm, from| WORDS.control(asm, from))?;
        let index = match through {
            Some(from) => Some((asm.alloc()?, from)),
            None => None,
        };
        let plain = asm.address(read.loc)?;
        let base = if index.is_some() { asm.scratch(Scratch::Address)? } else { plain };
        let address = |asm: &mut Asm| {
            if let Some((index, from)) = index {
                WORDS.zero(asm, from, index);
                WORDS.sum(asm, base, plain, index);
            }
        };
        if rmw == Rmw::LxSx {
            let to = asm.alloc()?;
            let value = WORDS.constant(asm, write.value)?;
            address(asm);
            WORDS.repeat(asm, (acquires, releases), (to, value), &Place::at(base))?;
            return Ok(Some(to));
        }
        address(asm);
        let to = match rmw {
            Rmw::Cas => Some(WORDS.constant(asm, read.value)?),
            Rmw::Store(_) => None,
            _ => Some(asm.alloc()?),
        };
        let value = WORDS.constant(asm, write.value)?;
        let (row, op) = match rmw {
            Rmw::Cas => ("CAS{acquires}{releases} W{to},W{value},[X{base}]", ""),
            Rmw::Fetch(op) => ("LD{op}{acquires}{releases} W{value},W{to},[X{base}]", op_name(op)?),
            Rmw::Store(op) => ("ST{op}{acquires}{releases} W{value},[X{base}]", op_name(op)?),
            _ => ("SWP{acquires}{releases} W{value},W{to},[X{base}]", ""),
        };
        let parts = [
            ("op", P::T(op)),
            ("acquires", P::T((WORDS.order)(acquires))),
            ("releases", P::T((WORDS.order)(releases))),
            ("to", P::of(to.unwrap_or(0))),
            ("value", P::of(value)),
            ("base", P::of(base)),
        ];
        asm.row(row, &parts, 0);
        Ok(to)
    }
}
