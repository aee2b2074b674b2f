//! Vector registers: moves between them and general registers, bitwise logic, shifts, and loads and
//! stores of elements. Enough for code that copies memory or clears it; no vector arithmetic
//! but addition.

use super::emit::{Emit, Lowered, Refusal, wrap, wrong_width};
use super::int::{Int, Unary, mask};
use super::operand::{Index, Operand, Shift, Vector};
use super::regs::{Name, View};
use litmake_ops::{BinOp, Port, Tags, Temp, UnOp, Val, tag};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simd {
    /// DUP, INS, UMOV, SMOV, FMOV: copies of all or part of a register.
    Dup,
    Insert,
    /// To a general register.
    Out {
        signed: bool,
    },
    Float,
    /// FCSEL.
    Select,
    Immediate {
        invert: bool,
    },
    /// `long`: the sum has twice the bits of an element.
    AddAcross {
        long: bool,
    },
    /// SSHR, USHR, SHL: each element by itself.
    Shift {
        op: BinOp,
    },
    /// SSHLL, USHLL: elements of twice the bits, shifted to the left.
    ShiftLong {
        signed: bool,
    },
    /// LD1 to LD4 and ST1 to ST4, of whole registers or of one lane.
    Load {
        ways: u8,
        tags: Tags,
    },
    Store {
        ways: u8,
        tags: Tags,
    },
    /// LD1R to LD4R.
    Replicate {
        ways: u8,
    },
}

pub const TABLE: &[(&str, Simd)] = &[
    ("DUP", Simd::Dup),
    ("INS", Simd::Insert),
    ("UMOV", Simd::Out { signed: false }),
    ("SMOV", Simd::Out { signed: true }),
    ("FMOV", Simd::Float),
    ("FCSEL", Simd::Select),
    ("MOVI", Simd::Immediate { invert: false }),
    ("MVNI", Simd::Immediate { invert: true }),
    ("ADDV", Simd::AddAcross { long: false }),
    ("UADDLV", Simd::AddAcross { long: true }),
    ("SSHR", Simd::Shift { op: BinOp::Sar }),
    ("USHR", Simd::Shift { op: BinOp::Shr }),
    ("SHL", Simd::Shift { op: BinOp::Shl }),
    ("SSHLL", Simd::ShiftLong { signed: true }),
    ("USHLL", Simd::ShiftLong { signed: false }),
    ("LD1", Simd::Load { ways: 1, tags: Tags::NONE }),
    ("LD2", Simd::Load { ways: 2, tags: Tags::NONE }),
    ("LD3", Simd::Load { ways: 3, tags: Tags::NONE }),
    ("LD4", Simd::Load { ways: 4, tags: Tags::NONE }),
    ("LDAP1", Simd::Load { ways: 1, tags: tag::Q }),
    ("ST1", Simd::Store { ways: 1, tags: Tags::NONE }),
    ("ST2", Simd::Store { ways: 2, tags: Tags::NONE }),
    ("ST3", Simd::Store { ways: 3, tags: Tags::NONE }),
    ("ST4", Simd::Store { ways: 4, tags: Tags::NONE }),
    ("STL1", Simd::Store { ways: 1, tags: tag::L }),
    ("LD1R", Simd::Replicate { ways: 1 }),
    ("LD2R", Simd::Replicate { ways: 2 }),
    ("LD3R", Simd::Replicate { ways: 3 }),
    ("LD4R", Simd::Replicate { ways: 4 }),
];

pub fn lower(simd: Simd, e: &mut Emit) -> Lowered {
    match simd {
        Simd::Dup => match vector(e, 0) {
            Ok(d) => {
                let value = source(e, 1, d.elem)?;
                e.only(2)?;
                let all = replicated(e, value, d);
                e.write(&whole(d), all);
                Ok(())
            }
            Err(_) => copy_out(e, false),
        },
        Simd::Insert => {
            let d = lane_of(e, 0)?;
            insert(e, d)
        }
        Simd::Out { signed } => copy_out(e, signed),
        Simd::Float => float_move(e),
        Simd::Select => {
            let (d, n, m) = (e.any_reg(0)?, e.any_reg(1)?, e.any_reg(2)?);
            let cond = e.cond(3)?;
            e.only(4)?;
            let holds = e.condition(cond);
            let yes = e.read(&n, Port::None);
            let no = e.read(&m, Port::None);
            let chosen = e.select(holds, yes, no);
            let chosen = e.zero_extend(chosen, d.bits, 128);
            e.write(&d, chosen);
            Ok(())
        }
        Simd::Immediate { invert } => immediate(e, invert),
        Simd::AddAcross { long } => {
            let d = e.any_reg(0)?;
            let n = vector(e, 1)?;
            e.only(2)?;
            let all = e.read_raw(&whole(n), Port::None);
            let mut sum = e.int(0);
            let bits = if long { 2 * n.elem.min(64) } else { n.elem };
            for lane in 0..n.count {
                let part = lane_value(e, all, n.elem, lane);
                sum = e.bin(BinOp::Add, sum, part, bits);
            }
            e.write(&d, sum);
            Ok(())
        }
        Simd::Shift { op } => {
            let (d, n) = (shape(e, 0)?, shape(e, 1)?);
            let count = e.imm_in(2, 0..i128::from(d.elem) + 1)?;
            e.only(3)?;
            if (n.elem, n.count) != (d.elem, d.count) {
                return Err(Refusal::new("expected vectors of one shape, such as `V0.4S`").on(1));
            }
            let all = e.read_raw(&whole(n), Port::None);
            each_lane(e, d, |e, lane| {
                let part = lane_value(e, all, d.elem, lane);
                e.bin_int(op, part, count.into(), d.elem)
            });
            Ok(())
        }
        Simd::ShiftLong { signed } => {
            let (d, n) = (vector(e, 0)?, vector(e, 1)?);
            let count = e.imm_in(2, 0..i128::from(n.elem))?;
            e.only(3)?;
            if (2 * n.elem, n.count) != (d.elem, d.count) {
                return Err(Refusal::new(
                    "expected as many elements of half the bits, such as `V1.8B` for `V0.8H`",
                )
                .on(1));
            }
            let all = e.read_raw(&whole(n), Port::None);
            each_lane(e, d, |e, lane| {
                let part = lane_value(e, all, n.elem, lane);
                let part = if signed { e.sign_extend(part, n.elem, d.elem) } else { part };
                e.bin_int(BinOp::Shl, part, count.into(), d.elem)
            });
            Ok(())
        }
        Simd::Load { ways, tags } => load(e, ways, tags),
        Simd::Store { ways, tags } => store(e, ways, tags),
        Simd::Replicate { ways } => {
            let list = list_of(e, ways)?;
            let (base, update) = element_base(e, u64::from(list[0].elem / 8) * list.len() as u64)?;
            for (i, v) in list.iter().enumerate() {
                let value = element(e, base, i, *v, Tags::NONE);
                let all = replicated(e, value, *v);
                e.write(&whole(*v), all);
            }
            write_base(e, update);
            Ok(())
        }
    }
}

/// An integer mnemonic on vector operands: MOV, bitwise logic, ADD.
pub fn lower_int(int: Int, e: &mut Emit) -> Lowered {
    match int {
        Int::Mov => mov(e),
        // `ORR V0.4S,#1,LSL #8`, `BIC V0.8H,#1`.
        Int::Logic { op, invert, flags: false }
            if matches!(e.operands.get(1), Some(Operand::Imm(_)))
                && matches!((op, invert), (BinOp::Or, false) | (BinOp::And, true)) =>
        {
            let (view, each) = constant(e, invert)?;
            let old = e.read_raw(&view, Port::None);
            let result = e.bin_int(op, old, each, 128);
            // ORR and BIC of 64 bits clear the upper half.
            let bits = vector(e, 0).map_or(view.bits, width);
            let result = e.zero_extend(result, bits, 128);
            e.write(&view, result);
            Ok(())
        }
        Int::Logic { op, invert, flags: false } => lanewise(e, |e, a, b, _| {
            let b = if invert { e.un(UnOp::Not, b, 128) } else { b };
            e.bin(op, a, b, 128)
        }),
        Int::Arith { sub, flags: false } => {
            let op = if sub { BinOp::Sub } else { BinOp::Add };
            lanewise(e, |e, a, b, elem| {
                let mut all = e.int(0);
                for lane in 0..128 / elem {
                    let (x, y) = (lane_value(e, a, elem, lane), lane_value(e, b, elem, lane));
                    let part = e.bin(op, x, y, elem);
                    all = placed(e, all, part, elem, lane);
                }
                all
            })
        }
        Int::Mvn => {
            let (d, n) = (vector(e, 0)?, vector(e, 1)?);
            e.only(2)?;
            let a = e.read_raw(&whole(n), Port::None);
            let result = e.un(UnOp::Not, a, 128);
            let result = e.zero_extend(result, width(d), 128);
            e.write(&whole(d), result);
            Ok(())
        }
        // How compilers count bits without FEAT_CSSC.
        Int::Unary(Unary::Cnt) => {
            let (d, n) = (vector(e, 0)?, vector(e, 1)?);
            e.only(2)?;
            if (d.elem, n.elem) != (8, 8) || d.count != n.count {
                return Err(Refusal::new("bits are counted in bytes, such as `V0.8B`").on(0));
            }
            let all = e.read_raw(&whole(n), Port::None);
            let mut result = e.int(0);
            for lane in 0..d.count {
                let part = lane_value(e, all, 8, lane);
                let part = e.un(UnOp::PopCount, part, 8);
                result = placed(e, result, part, 8, lane);
            }
            e.write(&whole(d), result);
            Ok(())
        }
        _ => Err(Refusal::new("this instruction on vector registers is not supported").on(0)),
    }
}

/// A vector; `ADD D0,D1,D2` is one lane of 64 bits.
fn shape(e: &Emit, i: usize) -> Lowered<Vector> {
    match e.operands.get(i) {
        Some(Operand::Reg(v)) if v.is_vec() && v.bits == 64 => {
            let Name::Vec(reg) = v.name else {
                return vector(e, i);
            };
            Ok(Vector { reg, elem: 64, count: 1, lane: None })
        }
        _ => vector(e, i),
    }
}

/// Writes each element of a vector; what is above them becomes 0.
pub fn each_lane(e: &mut Emit, d: Vector, f: impl Fn(&mut Emit, u8) -> Temp) {
    let mut all = e.int(0);
    for lane in 0..d.count {
        let part = f(e, lane);
        all = placed(e, all, part, d.elem, lane);
    }
    e.write(&whole(d), all);
}

fn lanewise(e: &mut Emit, f: impl FnOnce(&mut Emit, Temp, Temp, u8) -> Temp) -> Lowered {
    let (d, n, m) = (shape(e, 0)?, shape(e, 1)?, shape(e, 2)?);
    e.only(3)?;
    if (n.elem, n.count, m.elem, m.count) != (d.elem, d.count, d.elem, d.count) {
        return Err(Refusal::new("expected vectors of one shape, such as `V0.4S`").on(1));
    }
    let a = e.read_raw(&whole(n), Port::None);
    let b = e.read_raw(&whole(m), Port::None);
    let result = f(e, a, b, d.elem);
    let result = e.zero_extend(result, width(d), 128);
    e.write(&whole(d), result);
    Ok(())
}

/// The 128-bit view of a vector's register.
pub fn whole(v: Vector) -> View {
    View { name: Name::Vec(v.reg), bits: 128 }
}

/// How many bits of its register a shape covers.
fn width(v: Vector) -> u8 {
    match u32::from(v.count) * u32::from(v.elem) {
        0 => 128,
        n => n.min(128) as u8,
    }
}

/// A vector operand of a shape, without a lane.
pub fn vector(e: &Emit, i: usize) -> Lowered<Vector> {
    match e.operands.get(i) {
        Some(Operand::Vector(v)) if v.lane.is_none() && v.count > 0 => Ok(*v),
        _ => Err(e.missing(i, "a vector register, such as `V0.2D`")),
    }
}

fn lane_of(e: &Emit, i: usize) -> Lowered<Vector> {
    match e.operands.get(i) {
        Some(Operand::Vector(v)) if v.lane.is_some() => Ok(*v),
        _ => Err(e.missing(i, "a lane of a vector register, such as `V0.D[1]`")),
    }
}

pub fn lane_value(e: &mut Emit, all: Temp, elem: u8, lane: u8) -> Temp {
    let low = match lane {
        0 => all,
        n => e.bin_int(BinOp::Shr, all, u128::from(n) * u128::from(elem), 128),
    };
    e.zero_extend(low, elem, 128)
}

/// `all` with zero bits at a lane, and a value put there.
pub fn placed(e: &mut Emit, all: Temp, value: Temp, elem: u8, lane: u8) -> Temp {
    let value = e.zero_extend(value, elem, 128);
    let there = e.bin_int(BinOp::Shl, value, u128::from(lane) * u128::from(elem), 128);
    e.bin(BinOp::Or, all, there, 128)
}

fn replicated(e: &mut Emit, value: Temp, d: Vector) -> Temp {
    let mut all = e.int(0);
    for lane in 0..width(d) / d.elem {
        all = placed(e, all, value, d.elem, lane);
    }
    all
}

/// Writes a value to a lane and keeps the rest of the register.
fn set_lane(e: &mut Emit, d: Vector, lane: u8, value: Temp) {
    let at = u32::from(lane) * u32::from(d.elem);
    let old = e.read_raw(&whole(d), Port::None);
    let rest = e.bin_int(BinOp::And, old, !(mask(d.elem) << at), 128);
    let all = placed(e, rest, value, d.elem, lane);
    e.write(&whole(d), all);
}

/// The value for an element of `elem` bits, from a general register or a lane.
fn source(e: &mut Emit, i: usize, elem: u8) -> Lowered<Temp> {
    match e.operands.get(i) {
        Some(Operand::Vector(v)) => {
            let n = lane_of(e, i)?;
            if v.elem != elem {
                return Err(Refusal::new(format!(
                    "expected an element of {elem} bits, found one of {}",
                    v.elem
                ))
                .on(i));
            }
            let all = e.read_raw(&whole(n), Port::None);
            Ok(lane_value(e, all, n.elem, n.lane.unwrap_or(0)))
        }
        _ => {
            let r = e.gpr(i)?;
            if (elem == 64) != (r.bits == 64) {
                let want = if elem == 64 { "an X register" } else { "a W register" };
                return Err(e.missing(i, want));
            }
            Ok(e.read(&r, Port::None))
        }
    }
}

fn insert(e: &mut Emit, d: Vector) -> Lowered {
    let value = source(e, 1, d.elem)?;
    e.only(2)?;
    set_lane(e, d, d.lane.unwrap_or(0), value);
    Ok(())
}

/// A lane to a general register or to a scalar.
fn copy_out(e: &mut Emit, signed: bool) -> Lowered {
    let d = e.any_reg(0)?;
    let n = lane_of(e, 1)?;
    e.only(2)?;
    if n.elem > d.bits {
        return Err(Refusal::new(format!(
            "expected an element of at most {} bits, as the register has; this one has {}",
            d.bits, n.elem
        ))
        .on(1));
    }
    let all = e.read_raw(&whole(n), Port::None);
    let value = lane_value(e, all, n.elem, n.lane.unwrap_or(0));
    let value = if signed { e.sign_extend(value, n.elem, d.bits) } else { value };
    e.write(&d, value);
    Ok(())
}

fn mov(e: &mut Emit) -> Lowered {
    match (e.operands.first(), e.operands.get(1)) {
        (Some(Operand::Vector(d)), _) if d.lane.is_some() => insert(e, *d),
        (Some(Operand::Vector(_)), _) => {
            let (d, n) = (vector(e, 0)?, vector(e, 1)?);
            e.only(2)?;
            let all = e.read_raw(&whole(n), Port::None);
            let all = e.zero_extend(all, width(d), 128);
            e.write(&whole(d), all);
            Ok(())
        }
        // `MOV B1,V0.8B[0]` is herd's way to write `MOV B1,V0.B[0]`.
        _ => copy_out(e, false),
    }
}

/// The bits of a constant as a floating-point number of `bits`. What an instruction can hold
/// has few digits, so that none are lost.
fn float_bits(value: f64, bits: u8) -> u64 {
    match bits {
        16 => {
            let wide = value.to_bits();
            let exponent = (wide >> 52 & 0x7ff).wrapping_sub(1023 - 15) & 0x1f;
            wide >> 63 << 15 | exponent << 10 | wide >> 42 & 0x3ff
        }
        32 => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

/// FMOV: the bits, as they are, between registers or from a constant.
fn float_move(e: &mut Emit) -> Lowered {
    e.only(2)?;
    if let Some(Operand::Float(value)) = e.operands.get(1) {
        let value = f64::from_bits(*value);
        return match e.operands.first() {
            Some(Operand::Reg(v)) if v.is_vec() => {
                let bits = e.number(float_bits(value, v.bits).into());
                e.write(v, bits);
                Ok(())
            }
            _ => {
                let d = vector(e, 0)?;
                let bits = e.number(float_bits(value, d.elem).into());
                let all = replicated(e, bits, d);
                e.write(&whole(d), all);
                Ok(())
            }
        };
    }
    if let Some(Operand::Vector(d)) = e.operands.first()
        && d.lane == Some(1)
        && d.elem == 64
    {
        return insert(e, *d);
    }
    if let Some(Operand::Vector(_)) = e.operands.get(1) {
        return copy_out(e, false);
    }
    let (d, n) = (e.any_reg(0)?, e.any_reg(1)?);
    // A half goes to and from the low bits of any general register.
    let half = (d.bits == 16 && !n.is_vec()) || (n.bits == 16 && !d.is_vec());
    if d.bits != n.bits && !half {
        return Err(wrong_width(1, n.bits, d.bits));
    }
    let value = e.read(&n, Port::None);
    let value = if half { e.zero_extend(value, 16, 64) } else { value };
    e.write(&d, value);
    Ok(())
}

fn immediate(e: &mut Emit, invert: bool) -> Lowered {
    let (view, value) = constant(e, invert)?;
    let value = e.val(Val::Int(value));
    e.write(&view, value);
    Ok(())
}

/// The register, and what the immediate is in all its elements.
fn constant(e: &Emit, invert: bool) -> Lowered<(View, u128)> {
    let n = wrap(e.imm(1)?);
    e.only(3)?;
    let n = match e.operands.get(2) {
        None => n,
        Some(Operand::Shift(Shift::Lsl, Some(k))) if *k < 32 => n << k,
        // The vacated bits become ones.
        Some(Operand::Shift(Shift::Msl, Some(k))) if *k < 32 => (n << k) | mask(*k),
        Some(_) => return Err(e.missing(2, "`LSL` or `MSL` with an amount")),
    };
    let (view, elem, lanes) = match e.operands.first() {
        Some(Operand::Reg(v)) if v.is_vec() => (v.clone(), v.bits, 1),
        _ => {
            let d = vector(e, 0)?;
            (whole(d), d.elem, width(d) / d.elem)
        }
    };
    let each = if invert { !n } else { n } & mask(elem);
    let value =
        (0..lanes).fold(0u128, |all, lane| all | each << (u32::from(lane) * u32::from(elem)));
    Ok((view, value))
}

// Elements in memory.

fn list_of(e: &Emit, ways: u8) -> Lowered<Vec<Vector>> {
    let Some(Operand::List(list)) = e.operands.first() else {
        return Err(e.missing(0, "a list of vector registers, such as `{V0.2D}`"));
    };
    let first = list[0];
    let same = |v: &Vector| (v.elem, v.count) == (first.elem, first.count);
    let several = ways == 1 && first.lane.is_none();
    if !list.iter().all(same) || !(several || list.len() == usize::from(ways)) {
        return Err(Refusal::new(format!("expected a list of {ways} registers of one shape")).on(0));
    }
    if first.lane.is_none() && first.count == 0 {
        return Err(Refusal::new("expected a shape, such as `V0.2D`, or a lane").on(0));
    }
    Ok(list.clone())
}

/// The address, and what the base becomes. A post-index of a register steps by it.
fn element_base(e: &mut Emit, total: u64) -> Lowered<(Temp, Option<(View, Temp)>)> {
    if let (Some(Operand::Mem(_)), Some(Operand::Imm(n))) = (e.operands.get(1), e.operands.get(2))
        && *n != i128::from(total)
    {
        return Err(Refusal::new(format!(
            "expected the post-index #{total}, the bytes of this access"
        ))
        .on(2));
    }
    match e.operands.get(1) {
        Some(Operand::Mem(m)) if m.index == Index::Imm(0) && !m.pre => {
            let address = e.address(1)?;
            Ok((address.addr, address.update))
        }
        _ => Err(e.missing(1, "an address without offset, such as `[X1]`")),
    }
}

fn write_base(e: &mut Emit, update: Option<(View, Temp)>) {
    if let Some((view, next)) = update {
        e.write(&view, next);
    }
}

fn element_address(e: &mut Emit, base: Temp, index: usize, elem: u8) -> Temp {
    match index as u128 * u128::from(elem / 8) {
        0 => base,
        n => e.bin_int(BinOp::Add, base, n, 64),
    }
}

fn element(e: &mut Emit, base: Temp, index: usize, v: Vector, tags: Tags) -> Temp {
    let addr = element_address(e, base, index, v.elem);
    e.load(addr, v.elem / 8, tags)
}

/// For each element accessed: the register's place in the list, its lane, its place in memory.
fn elements(list: &[Vector], ways: u8) -> Vec<(usize, u8, usize)> {
    let lanes = width(list[0]) / list[0].elem;
    let mut all = Vec::new();
    for (r, v) in list.iter().enumerate() {
        match v.lane {
            Some(lane) => all.push((r, lane, r)),
            None if ways == 1 => {
                let first = r * usize::from(lanes);
                all.extend((0..lanes).map(|l| (r, l, first + usize::from(l))));
            }
            None => all.extend((0..lanes).map(|l| (r, l, usize::from(l) * list.len() + r))),
        }
    }
    all
}

fn total(list: &[Vector]) -> u64 {
    let each = match list[0].lane {
        Some(_) => list[0].elem,
        None => width(list[0]),
    };
    u64::from(each / 8) * list.len() as u64
}

fn load(e: &mut Emit, ways: u8, tags: Tags) -> Lowered {
    let list = list_of(e, ways)?;
    let (base, update) = element_base(e, total(&list))?;
    let one_lane = list[0].lane.is_some();
    let mut whole_values: Vec<Option<Temp>> = vec![None; list.len()];
    for (r, lane, index) in elements(&list, ways) {
        let v = list[r];
        let value = element(e, base, index, v, tags);
        if one_lane {
            set_lane(e, v, lane, value);
        } else {
            let sofar = match whole_values[r] {
                Some(t) => t,
                None => e.int(0),
            };
            whole_values[r] = Some(placed(e, sofar, value, v.elem, lane));
        }
    }
    for (v, value) in list.iter().zip(whole_values) {
        if let Some(value) = value {
            e.write(&whole(*v), value);
        }
    }
    write_base(e, update);
    Ok(())
}

fn store(e: &mut Emit, ways: u8, tags: Tags) -> Lowered {
    let list = list_of(e, ways)?;
    let (base, update) = element_base(e, total(&list))?;
    for (r, lane, index) in elements(&list, ways) {
        let v = list[r];
        let all = e.read_raw(&whole(v), Port::Data);
        let value = lane_value(e, all, v.elem, lane);
        let addr = element_address(e, base, index, v.elem);
        e.store(addr, value, v.elem / 8, tags);
    }
    write_base(e, update);
    Ok(())
}
