//! Loads and stores: plain, acquire and release, pairs, exclusives, and those of vector registers. No
//! atomic read-modify-write.
//!
//! Every access of up to 8 bytes is one access. A pair and a 16-byte vector register are two accesses of
//! one instruction, each half with its own flow of data, unless FEAT_LSE2 makes them one; the address is
//! then taken to be aligned to 16 bytes. An exclusive pair is one access in any case. For a store that
//! succeeds, and for the load of such a store, the architecture says so. For a load whose store fails or is
//! missing it is what herd does; without FEAT_LSE2 that is stricter than the architecture.

use super::emit::{Address, Emit, Lowered, Refusal};
use super::operand::{Index, Operand};
use super::regs::{Name, View};
use litmake_ops::{Op, Port, Tags, Temp, tag};

/// How an access is ordered; for a load acquire, for a store release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Plain,
    /// Acquire, release.
    Full,
    /// Acquire with the weaker rule for earlier releases (LDAPR).
    Pc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// `size` in bytes, 0 for that of the register.
    Load {
        size: u8,
        signed: bool,
        order: Order,
    },
    Store {
        size: u8,
        order: Order,
    },
    /// `ordered`: the accesses of the pair come one after the other (LDIAPP, STILP).
    LoadPair {
        signed: bool,
        order: Order,
        ordered: bool,
    },
    StorePair {
        order: Order,
        ordered: bool,
    },
    LoadEx {
        size: u8,
        acquire: bool,
    },
    StoreEx {
        size: u8,
        release: bool,
    },
    LoadExPair {
        acquire: bool,
    },
    StoreExPair {
        release: bool,
    },
    Prefetch,
}

pub const TABLE: &[(&str, Mem)] = &{
    use Mem::*;
    use Order::*;
    const fn load(size: u8, order: Order) -> Mem {
        Load { size, signed: false, order }
    }
    const fn signed(size: u8, order: Order) -> Mem {
        Load { size, signed: true, order }
    }
    const fn store(size: u8, order: Order) -> Mem {
        Store { size, order }
    }
    const fn pair(order: Order, ordered: bool) -> Mem {
        LoadPair { signed: false, order, ordered }
    }
    const fn ex(size: u8, acquire: bool) -> Mem {
        LoadEx { size, acquire }
    }
    const fn stex(size: u8, release: bool) -> Mem {
        StoreEx { size, release }
    }
    [
        ("LDR", load(0, Plain)),
        ("LDRB", load(1, Plain)),
        ("LDRH", load(2, Plain)),
        ("LDRSB", signed(1, Plain)),
        ("LDRSH", signed(2, Plain)),
        ("LDRSW", signed(4, Plain)),
        ("LDUR", load(0, Plain)),
        ("LDURB", load(1, Plain)),
        ("LDURH", load(2, Plain)),
        ("LDURSB", signed(1, Plain)),
        ("LDURSH", signed(2, Plain)),
        ("LDURSW", signed(4, Plain)),
        ("LDAR", load(0, Full)),
        ("LDARB", load(1, Full)),
        ("LDARH", load(2, Full)),
        ("LDLAR", load(0, Full)),
        ("LDLARB", load(1, Full)),
        ("LDLARH", load(2, Full)),
        ("LDAPR", load(0, Pc)),
        ("LDAPRB", load(1, Pc)),
        ("LDAPRH", load(2, Pc)),
        ("LDAPUR", load(0, Pc)),
        ("LDAPURB", load(1, Pc)),
        ("LDAPURH", load(2, Pc)),
        ("LDAPURSB", signed(1, Pc)),
        ("LDAPURSH", signed(2, Pc)),
        ("LDAPURSW", signed(4, Pc)),
        ("STR", store(0, Plain)),
        ("STRB", store(1, Plain)),
        ("STRH", store(2, Plain)),
        ("STUR", store(0, Plain)),
        ("STURB", store(1, Plain)),
        ("STURH", store(2, Plain)),
        ("STLR", store(0, Full)),
        ("STLRB", store(1, Full)),
        ("STLRH", store(2, Full)),
        ("STLLR", store(0, Full)),
        ("STLLRB", store(1, Full)),
        ("STLLRH", store(2, Full)),
        ("STLUR", store(0, Full)),
        ("STLURB", store(1, Full)),
        ("STLURH", store(2, Full)),
        ("LDP", pair(Plain, false)),
        ("LDNP", pair(Plain, false)),
        ("LDPSW", LoadPair { signed: true, order: Plain, ordered: false }),
        ("LDAP", pair(Full, false)),
        ("LDAPP", pair(Pc, false)),
        ("LDIAPP", pair(Pc, true)),
        ("STP", StorePair { order: Plain, ordered: false }),
        ("STNP", StorePair { order: Plain, ordered: false }),
        ("STLP", StorePair { order: Full, ordered: false }),
        ("STILP", StorePair { order: Full, ordered: true }),
        ("LDXR", ex(0, false)),
        ("LDXRB", ex(1, false)),
        ("LDXRH", ex(2, false)),
        ("LDAXR", ex(0, true)),
        ("LDAXRB", ex(1, true)),
        ("LDAXRH", ex(2, true)),
        ("STXR", stex(0, false)),
        ("STXRB", stex(1, false)),
        ("STXRH", stex(2, false)),
        ("STLXR", stex(0, true)),
        ("STLXRB", stex(1, true)),
        ("STLXRH", stex(2, true)),
        ("LDXP", LoadExPair { acquire: false }),
        ("LDAXP", LoadExPair { acquire: true }),
        ("STXP", StoreExPair { release: false }),
        ("STLXP", StoreExPair { release: true }),
        ("PRFM", Prefetch),
        ("PRFUM", Prefetch),
    ]
};

pub fn lower(mem: Mem, e: &mut Emit) -> Lowered {
    match mem {
        Mem::Load { size, signed, order } => load(e, size, signed, load_tags(order)),
        Mem::Store { size, order } => store(e, size, store_tags(order)),
        Mem::LoadPair { signed, order, ordered } => load_pair(e, signed, load_tags(order), ordered),
        Mem::StorePair { order, ordered } => store_pair(e, store_tags(order), ordered),
        Mem::LoadEx { size, acquire } => {
            let d = e.gpr(0)?;
            let size = access_size(size, &d);
            let addr = bare_address(e, 1)?;
            let value = e.load(addr, size, ex_tags(acquire, tag::A));
            e.write(&d, value);
            Ok(())
        }
        Mem::LoadExPair { acquire } => {
            let (d, d2) = (e.gpr(0)?, e.gpr(1)?);
            e.gpr_like(1, &d)?;
            let addr = bare_address(e, 2)?;
            let value = e.load(addr, d.bits / 4, ex_tags(acquire, tag::A));
            let (low, high) = e.halves(value, d.bits);
            e.write(&d, low);
            e.write(&d2, high);
            Ok(())
        }
        Mem::StoreEx { size, release } => {
            let s = e.gpr(1)?;
            let size = access_size(size, &s);
            let addr = bare_address(e, 2)?;
            let value = e.read_raw(&s, Port::None);
            store_ex(e, addr, value, size, release)
        }
        Mem::StoreExPair { release } => {
            let s = e.gpr(1)?;
            let s2 = e.gpr_like(2, &s)?;
            let addr = bare_address(e, 3)?;
            let low = e.read_raw(&s, Port::None);
            let high = e.read_raw(&s2, Port::None);
            let value = e.join(low, high, s.bits);
            store_ex(e, addr, value, s.bits / 4, release)
        }
        // A hint: the address is not even computed.
        Mem::Prefetch => Ok(()),
    }
}

fn load_tags(order: Order) -> Tags {
    match order {
        Order::Plain => Tags::NONE,
        Order::Full => tag::A,
        Order::Pc => tag::Q,
    }
}

fn store_tags(order: Order) -> Tags {
    match order {
        Order::Plain => Tags::NONE,
        _ => tag::L,
    }
}

fn ex_tags(ordered: bool, order: Tags) -> Tags {
    if ordered { tag::EX | order } else { tag::EX }
}

fn access_size(size: u8, view: &View) -> u8 {
    if size == 0 { view.bits / 8 } else { size }
}

/// An address of a register alone, as exclusives and atomics have it.
pub fn bare_address(e: &mut Emit, i: usize) -> Lowered<Temp> {
    match e.operands.get(i) {
        Some(Operand::Mem(m)) if m.index == Index::Imm(0) && !m.pre => {
            e.only(i + 1)?;
            Ok(e.read_raw(&m.base, Port::Addr))
        }
        _ => Err(e.missing(i, "an address without offset, such as `[X1]`")),
    }
}

fn load(e: &mut Emit, size: u8, signed: bool, tags: Tags) -> Lowered {
    let d = e.any_reg(0)?;
    if (size != 0 || signed) && d.is_vec() {
        return Err(e.missing(0, "a general register"));
    }
    if let Some(value) = constant(e, &d)? {
        e.write(&d, value);
        return Ok(());
    }
    let size = access_size(size, &d);
    let address = e.address(1)?;
    let value = load_at(e, &address, size, tags);
    let value = if signed { e.sign_extend(value, size * 8, d.bits) } else { value };
    e.write_back(&address);
    e.write(&d, value);
    Ok(())
}

/// `LDR X0,=x`, and the address of a location out of its GOT entry: no access of the test's.
fn constant(e: &mut Emit, d: &View) -> Lowered<Option<Temp>> {
    let operands = e.operands;
    let value = match operands.get(1) {
        Some(Operand::LiteralImm(n)) => {
            let n = e.number(*n);
            e.zero_extend(n, d.bits, 64)
        }
        Some(Operand::Literal(s)) => e.address_of(&s.name, s.offset),
        Some(Operand::Symbol(s)) if s.modifier.as_deref() == Some("got") => {
            e.address_of(&s.name, s.offset)
        }
        Some(Operand::Mem(m)) => match &m.index {
            Index::Symbol(s)
                if matches!(
                    s.modifier.as_deref(),
                    Some("got_lo12" | "gotpage_lo15" | "gotpage_lo14")
                ) =>
            {
                e.address_of(&s.name, s.offset)
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    e.only(2)?;
    if d.is_vec() {
        return Err(e.missing(0, "a general register"));
    }
    Ok(Some(value))
}

/// One access, or two halves of 8 bytes where 16 bytes are not accessed at once.
fn load_at(e: &mut Emit, address: &Address, size: u8, tags: Tags) -> Temp {
    if size < 16 || e.lse2 {
        return e.load(address.addr, size, tags);
    }
    let low = e.load(address.addr, 8, tags);
    let above = e.plus(address.addr, 8);
    let high = e.load(above, 8, tags);
    e.join(low, high, 64)
}

fn store_at(e: &mut Emit, addr: Temp, src: Temp, size: u8, tags: Tags) {
    if size < 16 || e.lse2 {
        return e.store(addr, src, size, tags);
    }
    let (low, high) = e.halves(src, 64);
    e.store(addr, low, 8, tags);
    let above = e.plus(addr, 8);
    e.store(above, high, 8, tags);
}

fn store(e: &mut Emit, size: u8, tags: Tags) -> Lowered {
    let s = e.any_reg(0)?;
    if size != 0 && s.is_vec() {
        return Err(e.missing(0, "a general register"));
    }
    let size = access_size(size, &s);
    let address = e.address(1)?;
    let value = e.read_raw(&s, Port::Data);
    store_at(e, address.addr, value, size, tags);
    e.write_back(&address);
    Ok(())
}

/// The two registers of a pair, of one width.
fn two_regs(e: &Emit) -> Lowered<(View, View)> {
    let (a, b) = (e.any_reg(0)?, e.any_reg(1)?);
    if a.bits != b.bits || a.is_vec() != b.is_vec() {
        return Err(Refusal::new(
            "expected two registers of one kind and width, such as `X0,X1` or `W0,W1`",
        )
        .on(1));
    }
    Ok((a, b))
}

/// Whether a pair of registers of `bits` is one access.
fn one_access(e: &Emit, bits: u8) -> bool {
    e.lse2 && bits <= 64
}

fn second_tags(tags: Tags, ordered: bool) -> Tags {
    if ordered { tags | tag::AFTER } else { tags }
}

fn load_pair(e: &mut Emit, signed: bool, tags: Tags, ordered: bool) -> Lowered {
    let (a, b) = two_regs(e)?;
    let each = if signed { 32 } else { a.bits };
    let address = e.address(2)?;
    let (low, high) = if one_access(e, each) {
        let value = e.load(address.addr, each / 4, tags);
        e.halves(value, each)
    } else {
        let low = load_at(e, &address, each / 8, tags);
        let above = Address { addr: e.plus(address.addr, each / 8), update: None };
        let high = load_at(e, &above, each / 8, second_tags(tags, ordered));
        (low, high)
    };
    let (low, high) = if signed {
        (e.sign_extend(low, 32, a.bits), e.sign_extend(high, 32, b.bits))
    } else {
        (low, high)
    };
    e.write_back(&address);
    e.write(&a, low);
    e.write(&b, high);
    Ok(())
}

fn store_pair(e: &mut Emit, tags: Tags, ordered: bool) -> Lowered {
    let (a, b) = two_regs(e)?;
    let address = e.address(2)?;
    let low = e.read_raw(&a, Port::Data);
    let high = e.read_raw(&b, Port::Data);
    if one_access(e, a.bits) {
        let value = e.join(low, high, a.bits);
        e.store(address.addr, value, a.bits / 4, tags);
    } else {
        let each = a.bits / 8;
        let above = e.plus(address.addr, each);
        // A push stores from the top down (STILP with its pre-index, which is below 0).
        let mut halves = [(address.addr, low), (above, high)];
        if ordered && address.update.is_some() {
            halves.reverse();
        }
        store_at(e, halves[0].0, halves[0].1, each, tags);
        store_at(e, halves[1].0, halves[1].1, each, second_tags(tags, ordered));
    }
    e.write_back(&address);
    Ok(())
}

/// The status in the first operand says 0 for success, and depends on nothing.
fn store_ex(e: &mut Emit, addr: Temp, src: Temp, size: u8, release: bool) -> Lowered {
    let status_view = e.gpr(0)?;
    if status_view.bits != 32 || status_view.name == Name::Sp {
        return Err(e.missing(0, "a W register for the status"));
    }
    let status = e.temp();
    e.op(Op::StoreEx {
        status,
        addr,
        src,
        size,
        tags: ex_tags(release, tag::L),
        ok: 0,
        fail: 1,
        status_dep: false,
        same_size: true,
    });
    e.write(&status_view, status);
    Ok(())
}
