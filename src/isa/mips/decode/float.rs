//! Encodings of floating point. Litmus tests have none of it; code around atomics may.

use super::Release;
use super::fields::Field::{Branch16, Fd, FlagRead, FlagSet, Fr, Fs, Ft, Indexed, Mem16, Rd, Rt};
use super::fields::{Field, OP, OPF, RD, RS, RT, Row, SA, f, goes, op, row};
use crate::machine::Flow;

const COP1: u32 = 0x11;
const COP1X: u32 = 0x13;

const F3: &[Field] = &[Fd, Fs, Ft];
const F2: &[Field] = &[Fd, Fs];
const CMP: &[Field] = &[FlagSet, Fs, Ft];

/// The formats of operands, where `rs` stands.
const S: u32 = 16;
const D: u32 = 17;
const W: u32 = 20;
const L: u32 = 21;

const fn at(format: u32, funct: u32) -> u32 {
    f(COP1, funct) | format << 21
}

const fn f3(name: &'static str, format: u32, funct: u32) -> Row {
    row(name, OPF | RS, at(format, funct), F3)
}

const fn f2(name: &'static str, format: u32, funct: u32) -> Row {
    row(name, OPF | RS | RT, at(format, funct), F2)
}

const fn cmp(name: &'static str, format: u32, funct: u32) -> Row {
    row(name, OPF | RS | 3 << 6, at(format, funct), CMP)
}

/// A move between the two kinds of registers.
const fn between(name: &'static str, which: u32) -> Row {
    row(name, OP | RS | 0x7ff, op(COP1) | which << 21, &[Rt, Fs])
}

const fn fused(name: &'static str, funct: u32) -> Row {
    row(name, OPF, f(COP1X, funct), &[Fd, Fr, Fs, Ft])
}

/// A branch on a flag: whether set, and whether it is likely.
const fn branch(name: &'static str, which: u32) -> Row {
    goes(
        name,
        OP | RS | 3 << 16,
        op(COP1) | 8 << 21 | which << 16,
        &[FlagRead, Branch16],
        Flow::Branch,
    )
}

const BOTH: &[Row] = &[
    row("lwc1", OP, op(0x31), &[Ft, Mem16]),
    row("ldc1", OP, op(0x35), &[Ft, Mem16]),
    row("swc1", OP, op(0x39), &[Ft, Mem16]),
    row("sdc1", OP, op(0x3d), &[Ft, Mem16]),
    between("mfc1", 0),
    between("dmfc1", 1),
    between("mfhc1", 3),
    between("mtc1", 4),
    between("dmtc1", 5),
    between("mthc1", 7),
    row("cfc1", OP | RS | 0x7ff, op(COP1) | 2 << 21, &[Rt, Rd]),
    row("ctc1", OP | RS | 0x7ff, op(COP1) | 6 << 21, &[Rt, Rd]),
    f3("add.s", S, 0x00),
    f3("sub.s", S, 0x01),
    f3("mul.s", S, 0x02),
    f3("div.s", S, 0x03),
    f2("sqrt.s", S, 0x04),
    f2("abs.s", S, 0x05),
    f2("mov.s", S, 0x06),
    f2("neg.s", S, 0x07),
    f2("round.l.s", S, 0x08),
    f2("trunc.l.s", S, 0x09),
    f2("ceil.l.s", S, 0x0a),
    f2("floor.l.s", S, 0x0b),
    f2("round.w.s", S, 0x0c),
    f2("trunc.w.s", S, 0x0d),
    f2("ceil.w.s", S, 0x0e),
    f2("floor.w.s", S, 0x0f),
    f3("add.d", D, 0x00),
    f3("sub.d", D, 0x01),
    f3("mul.d", D, 0x02),
    f3("div.d", D, 0x03),
    f2("sqrt.d", D, 0x04),
    f2("abs.d", D, 0x05),
    f2("mov.d", D, 0x06),
    f2("neg.d", D, 0x07),
    f2("round.l.d", D, 0x08),
    f2("trunc.l.d", D, 0x09),
    f2("ceil.l.d", D, 0x0a),
    f2("floor.l.d", D, 0x0b),
    f2("round.w.d", D, 0x0c),
    f2("trunc.w.d", D, 0x0d),
    f2("ceil.w.d", D, 0x0e),
    f2("floor.w.d", D, 0x0f),
    f2("cvt.s.d", D, 0x20),
    f2("cvt.s.w", W, 0x20),
    f2("cvt.s.l", L, 0x20),
    f2("cvt.d.s", S, 0x21),
    f2("cvt.d.w", W, 0x21),
    f2("cvt.d.l", L, 0x21),
    f2("cvt.w.s", S, 0x24),
    f2("cvt.w.d", D, 0x24),
    f2("cvt.l.s", S, 0x25),
    f2("cvt.l.d", D, 0x25),
];

const OLD: &[Row] = &[
    branch("bc1f", 0),
    branch("bc1t", 1),
    branch("bc1fl", 2),
    branch("bc1tl", 3),
    row("movf.s", OPF | RS | 3 << 16, at(S, 0x11), &[Fd, Fs, FlagRead]),
    row("movt.s", OPF | RS | 3 << 16, at(S, 0x11) | 1 << 16, &[Fd, Fs, FlagRead]),
    row("movz.s", OPF | RS, at(S, 0x12), &[Fd, Fs, Rt]),
    row("movn.s", OPF | RS, at(S, 0x13), &[Fd, Fs, Rt]),
    f2("recip.s", S, 0x15),
    f2("rsqrt.s", S, 0x16),
    cmp("c.f.s", S, 0x30),
    cmp("c.un.s", S, 0x31),
    cmp("c.eq.s", S, 0x32),
    cmp("c.ueq.s", S, 0x33),
    cmp("c.olt.s", S, 0x34),
    cmp("c.ult.s", S, 0x35),
    cmp("c.ole.s", S, 0x36),
    cmp("c.ule.s", S, 0x37),
    cmp("c.sf.s", S, 0x38),
    cmp("c.ngle.s", S, 0x39),
    cmp("c.seq.s", S, 0x3a),
    cmp("c.ngl.s", S, 0x3b),
    cmp("c.lt.s", S, 0x3c),
    cmp("c.nge.s", S, 0x3d),
    cmp("c.le.s", S, 0x3e),
    cmp("c.ngt.s", S, 0x3f),
    row("movf.d", OPF | RS | 3 << 16, at(D, 0x11), &[Fd, Fs, FlagRead]),
    row("movt.d", OPF | RS | 3 << 16, at(D, 0x11) | 1 << 16, &[Fd, Fs, FlagRead]),
    row("movz.d", OPF | RS, at(D, 0x12), &[Fd, Fs, Rt]),
    row("movn.d", OPF | RS, at(D, 0x13), &[Fd, Fs, Rt]),
    f2("recip.d", D, 0x15),
    f2("rsqrt.d", D, 0x16),
    cmp("c.f.d", D, 0x30),
    cmp("c.un.d", D, 0x31),
    cmp("c.eq.d", D, 0x32),
    cmp("c.ueq.d", D, 0x33),
    cmp("c.olt.d", D, 0x34),
    cmp("c.ult.d", D, 0x35),
    cmp("c.ole.d", D, 0x36),
    cmp("c.ule.d", D, 0x37),
    cmp("c.sf.d", D, 0x38),
    cmp("c.ngle.d", D, 0x39),
    cmp("c.seq.d", D, 0x3a),
    cmp("c.ngl.d", D, 0x3b),
    cmp("c.lt.d", D, 0x3c),
    cmp("c.nge.d", D, 0x3d),
    cmp("c.le.d", D, 0x3e),
    cmp("c.ngt.d", D, 0x3f),
    fused("madd.s", 0x20),
    fused("madd.d", 0x21),
    fused("msub.s", 0x28),
    fused("msub.d", 0x29),
    fused("nmadd.s", 0x30),
    fused("nmadd.d", 0x31),
    fused("nmsub.s", 0x38),
    fused("nmsub.d", 0x39),
    row("lwxc1", OPF | RD, f(COP1X, 0x00), &[Fd, Indexed]),
    row("ldxc1", OPF | RD, f(COP1X, 0x01), &[Fd, Indexed]),
    row("swxc1", OPF | SA, f(COP1X, 0x08), &[Fs, Indexed]),
    row("sdxc1", OPF | SA, f(COP1X, 0x09), &[Fs, Indexed]),
];

const R6: &[Row] = &[
    goes("bc1eqz", OP | RS, op(COP1) | 9 << 21, &[Ft, Branch16], Flow::Branch),
    goes("bc1nez", OP | RS, op(COP1) | 13 << 21, &[Ft, Branch16], Flow::Branch),
    f3("sel.s", S, 0x10),
    f3("seleqz.s", S, 0x14),
    f3("selnez.s", S, 0x17),
    f3("maddf.s", S, 0x18),
    f3("msubf.s", S, 0x19),
    f3("min.s", S, 0x1c),
    f3("mina.s", S, 0x1d),
    f3("max.s", S, 0x1e),
    f3("maxa.s", S, 0x1f),
    f2("rint.s", S, 0x1a),
    f2("class.s", S, 0x1b),
    f3("sel.d", D, 0x10),
    f3("seleqz.d", D, 0x14),
    f3("selnez.d", D, 0x17),
    f3("maddf.d", D, 0x18),
    f3("msubf.d", D, 0x19),
    f3("min.d", D, 0x1c),
    f3("mina.d", D, 0x1d),
    f3("max.d", D, 0x1e),
    f3("maxa.d", D, 0x1f),
    f2("rint.d", D, 0x1a),
    f2("class.d", D, 0x1b),
    f3("cmp.af.s", W, 0x00),
    f3("cmp.un.s", W, 0x01),
    f3("cmp.eq.s", W, 0x02),
    f3("cmp.ueq.s", W, 0x03),
    f3("cmp.lt.s", W, 0x04),
    f3("cmp.ult.s", W, 0x05),
    f3("cmp.le.s", W, 0x06),
    f3("cmp.ule.s", W, 0x07),
    f3("cmp.saf.s", W, 0x08),
    f3("cmp.sun.s", W, 0x09),
    f3("cmp.seq.s", W, 0x0a),
    f3("cmp.sueq.s", W, 0x0b),
    f3("cmp.slt.s", W, 0x0c),
    f3("cmp.sult.s", W, 0x0d),
    f3("cmp.sle.s", W, 0x0e),
    f3("cmp.sule.s", W, 0x0f),
    f3("cmp.or.s", W, 0x11),
    f3("cmp.une.s", W, 0x12),
    f3("cmp.ne.s", W, 0x13),
    f3("cmp.sor.s", W, 0x19),
    f3("cmp.sune.s", W, 0x1a),
    f3("cmp.sne.s", W, 0x1b),
    f3("cmp.af.d", L, 0x00),
    f3("cmp.un.d", L, 0x01),
    f3("cmp.eq.d", L, 0x02),
    f3("cmp.ueq.d", L, 0x03),
    f3("cmp.lt.d", L, 0x04),
    f3("cmp.ult.d", L, 0x05),
    f3("cmp.le.d", L, 0x06),
    f3("cmp.ule.d", L, 0x07),
    f3("cmp.saf.d", L, 0x08),
    f3("cmp.sun.d", L, 0x09),
    f3("cmp.seq.d", L, 0x0a),
    f3("cmp.sueq.d", L, 0x0b),
    f3("cmp.slt.d", L, 0x0c),
    f3("cmp.sult.d", L, 0x0d),
    f3("cmp.sle.d", L, 0x0e),
    f3("cmp.sule.d", L, 0x0f),
    f3("cmp.or.d", L, 0x11),
    f3("cmp.une.d", L, 0x12),
    f3("cmp.ne.d", L, 0x13),
    f3("cmp.sor.d", L, 0x19),
    f3("cmp.sune.d", L, 0x1a),
    f3("cmp.sne.d", L, 0x1b),
];

pub fn find(word: u32, release: Release) -> Option<&'static Row> {
    let own = match release {
        Release::R2 => OLD,
        Release::R6 => R6,
    };
    own.iter().chain(BOTH).find(|r| r.is(word))
}
