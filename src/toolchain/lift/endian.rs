//! Writes big-endian code as a litmus test, whose memory is little endian.
//!
//! A location of a test has its C value, whatever the order of bytes. Where code counts bytes from
//! the most significant one, the test counts from the least. So a part of a value is found at the
//! mirrored place, and registers that are accessed one after the other in memory (`LDP`, `LDXP`,
//! `CASP`) change places. Elements of an array stay where they are, and so do those of a vector that is
//! accessed element by element (`LD1`, `ST1`).
//!
//! [`pairs`] lists which instructions access several registers. One that does so and is missing
//! from the list is refused. This module does not know the code around an instruction.

use std::collections::{BTreeSet, HashMap};

use litmake_isa::machine::{Decoded, Operand};
use litmake_litmus::Arch;
use litmake_ops::{Op, Reg, Temp};

/// The offset in a test of the `size` bytes at `offset` in big-endian code, in values of `unit`
/// bytes.
fn mirrored(unit: u64, offset: i64, size: u64) -> Option<i64> {
    let (unit, size) = (i64::try_from(unit).ok().filter(|u| *u > 0)?, i64::try_from(size).ok()?);
    // The word that ends with the value.
    if offset < 0 && offset + size == unit {
        return Some(0);
    }
    let within = offset.rem_euclid(unit);
    (within + size <= unit).then_some(offset - within + unit - within - size)
}

/// Whether an instruction accesses elements of vectors, each in the order of its own bytes, one after
/// the other as in an array.
pub fn takes_elements(arch: Arch, d: &Decoded) -> bool {
    let elements = ["LD1", "LD2", "LD3", "LD4", "ST1", "ST2", "ST3", "ST4", "LDAP1", "STL1"];
    arch == Arch::AArch64 && elements.iter().any(|name| d.mnemonic.starts_with(name))
}

/// Whether an instruction copies bytes from one place in memory to another, or clears them.
pub fn copies(arch: Arch, d: &Decoded) -> bool {
    arch == Arch::S390x && matches!(d.mnemonic.as_str(), "mvc" | "xc")
}

/// The pairs of operands that are registers accessed in the order of addresses; empty for an
/// instruction that accesses one register, or elements of vectors ([`takes_elements`]). `None` for an
/// instruction that has no counterpart in a little-endian test.
pub fn pairs(arch: Arch, d: &Decoded) -> Option<&'static [(usize, usize)]> {
    let name = d.mnemonic.as_str();
    let starts = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    match arch {
        Arch::AArch64 => Some(match name {
            "STXP" | "STLXP" => &[(1, 2)],
            _ if name.starts_with("CASP") => &[(0, 1), (2, 3)],
            "LDP" | "STP" | "LDNP" | "STNP" | "LDPSW" | "LDAP" | "LDAPP" | "STLP" | "LDXP"
            | "LDAXP" | "LDIAPP" | "STILP" => &[(0, 1)],
            _ if starts(&["SWPP", "LDCLRP", "LDSETP"]) => &[(0, 1)],
            _ => &[],
        }),
        // Halves of an address that is not aligned.
        Arch::Mips if starts(&["lwl", "lwr", "swl", "swr", "ldl", "ldr", "sdl", "sdr"]) => None,
        Arch::Ppc if starts(&["lxv", "stxv", "lv", "stv", "lmw", "stmw", "ls", "sts"]) => None,
        Arch::S390x if starts(&["lm", "stm"]) => None,
        Arch::Arm if starts(&["LDM", "STM", "VLD", "VST", "LDRD", "STRD", "LDREXD", "STREXD"]) => {
            None
        }
        _ => Some(&[]),
    }
}

/// Whether [`pairs`] is right about an instruction that lowers to `ops`: an instruction that loads
/// or stores several registers must be listed there, or have a vector that [`swap_vectors`] turns
/// round.
pub fn knows(arch: Arch, d: &Decoded, ops: &[Op]) -> bool {
    let listed = pairs(arch, d).is_none_or(|pairs| !pairs.is_empty());
    // All code of s390x has the upper half first, so that the ops say which register has it.
    listed
        || arch == Arch::S390x
        || takes_elements(arch, d)
        || has_vector(arch, d)
        || Transfers::of(ops).count() < 2
}

/// The registers whose values an instruction moves from or to memory.
#[derive(Default)]
struct Transfers {
    loaded: BTreeSet<Reg>,
    stored: BTreeSet<Reg>,
    /// For each temporary, the registers that its value comes from, and whether it comes from a
    /// load.
    temps: HashMap<Temp, (BTreeSet<Reg>, bool)>,
}

impl Transfers {
    fn of(ops: &[Op]) -> Transfers {
        let mut out = Transfers::default();
        out.follow(ops);
        out
    }

    fn count(&self) -> usize {
        self.loaded.len().max(self.stored.len())
    }

    fn follow(&mut self, ops: &[Op]) {
        for op in ops {
            match op {
                Op::ReadReg { dst, reg, .. } => {
                    self.temps.insert(*dst, (BTreeSet::from([*reg]), false));
                }
                Op::Load { dst, .. } => {
                    self.temps.insert(*dst, (BTreeSet::new(), true));
                }
                Op::Un { dst, a, .. } => self.combine(*dst, &[*a]),
                Op::Bin { dst, a, b, .. } => self.combine(*dst, &[*a, *b]),
                Op::Select { dst, yes, no, .. } => self.combine(*dst, &[*yes, *no]),
                Op::WriteReg { reg, src } if self.temps.get(src).is_some_and(|t| t.1) => {
                    self.loaded.insert(*reg);
                }
                Op::Store { src, .. } | Op::StoreEx { src, .. } => {
                    let from = self.temps.get(src).map(|t| t.0.clone());
                    self.stored.extend(from.unwrap_or_default());
                }
                Op::If { yes, no, .. } => {
                    self.follow(yes);
                    self.follow(no);
                }
                _ => {}
            }
        }
    }

    fn combine(&mut self, dst: Temp, operands: &[Temp]) {
        let mut all = (BTreeSet::new(), false);
        for (regs, loaded) in operands.iter().filter_map(|t| self.temps.get(t)) {
            all.0.extend(regs);
            all.1 |= loaded;
        }
        self.temps.insert(dst, all);
    }
}

/// An access in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub offset: i64,
    /// Whether the registers of each pair change places.
    pub swap: bool,
}

/// The values that an object is made of.
#[derive(Clone, Debug)]
pub enum Parts {
    /// All of one size, from the start on.
    Each(u64),
    /// The beginning of each value, and its size; the bytes between them belong to none.
    Members(Vec<(u64, u64)>),
}

impl Parts {
    /// The offset in a test of the `size` bytes that begin at `offset`.
    fn mirrored(&self, offset: i64, size: u64) -> Option<i64> {
        match self {
            Parts::Each(unit) => mirrored(*unit, offset, size),
            Parts::Members(list) => {
                let at = u64::try_from(offset).ok()?;
                let (start, unit) = list.iter().find(|(s, n)| (*s..*s + *n).contains(&at))?;
                let start = i64::try_from(*start).ok()?;
                Some(start + mirrored(*unit, offset - start, size)?)
            }
        }
    }

    /// Whether the `size` bytes that begin at `offset` are all bytes of some values.
    fn are_whole(&self, offset: i64, size: u64) -> bool {
        let Ok(from) = u64::try_from(offset) else { return false };
        let to = from.saturating_add(size);
        let begins = |at: u64| match self {
            Parts::Each(unit) => at.checked_rem(*unit) == Some(0),
            Parts::Members(list) => list.iter().all(|(start, n)| at <= *start || at >= start + n),
        };
        begins(from) && begins(to)
    }

    /// The places, one of each kind, that an access of `size` bytes may have whose address has
    /// these lowest bits, if they are known: modulo `aligned`. `None` where there are more.
    pub fn places(&self, low: Option<u8>, size: u8, aligned: u64) -> Option<Vec<i64>> {
        match self {
            Parts::Each(unit) => {
                if low.is_none() && *unit != u64::from(size) || *unit > aligned {
                    return None;
                }
                let within = u64::from(low.unwrap_or(0)).checked_rem(*unit)?;
                Some(vec![i64::try_from(within).ok()?])
            }
            Parts::Members(list) => {
                if low.is_none() && list.iter().any(|(_, n)| *n != u64::from(size)) {
                    return None;
                }
                let all = list.iter().flat_map(|(start, n)| *start..start.saturating_add(*n));
                let fits = |at: &u64| match low {
                    Some(low) => at % aligned == u64::from(low),
                    None => list.iter().any(|(start, _)| start == at),
                };
                all.filter(fits).map(|at| i64::try_from(at).ok()).collect()
            }
        }
    }
}

/// How a test has an instruction that accesses `size` bytes from `offset` on, `each` at a time, in an
/// object made of these values; `None` where it has no counterpart.
pub fn place(
    arch: Arch,
    d: &Decoded,
    parts: &Parts,
    offset: i64,
    (size, each): (u64, u64),
) -> Option<Placed> {
    if takes_elements(arch, d) {
        // Elements keep their order, so that all have to move by as much.
        let places = (0..size.checked_div(each)?).map(|n| offset + (n * each) as i64);
        let mut moves = places.map(|at| Some(parts.mirrored(at, each)? - at));
        let first = moves.next()??;
        return moves
            .all(|by| by == Some(first))
            .then_some(Placed { offset: offset + first, swap: false });
    }
    // Bytes that are copied stay where they are, if they are all bytes of some values.
    if copies(arch, d) && parts.are_whole(offset, size) {
        return Some(Placed { offset, swap: false });
    }
    if pairs(arch, d)?.is_empty() {
        return Some(Placed { offset: parts.mirrored(offset, size)?, swap: false });
    }
    let half = size / 2;
    let step = i64::try_from(half).ok()?;
    let (first, second) = (parts.mirrored(offset, half)?, parts.mirrored(offset + step, half)?);
    match (second - first, first - second) {
        (d, _) if d == step => Some(Placed { offset: first, swap: false }),
        (_, d) if d == step => Some(Placed { offset: second, swap: true }),
        _ => None,
    }
}

/// Whether an instruction accesses memory by 16-byte vector registers.
fn has_vector(arch: Arch, d: &Decoded) -> bool {
    let vector = |o: &Operand| matches!(o, Operand::Reg(r) if r.starts_with('Q'));
    let memory = |o: &Operand| matches!(o, Operand::Mem(_));
    arch == Arch::AArch64 && d.operands.iter().any(vector) && d.operands.iter().any(memory)
}

/// Swaps the halves of 16-byte vector registers in memory, which are two accesses each: the upper
/// half of the register comes first.
pub fn swap_vectors(arch: Arch, d: &Decoded, ops: &mut Vec<Op>) {
    if !has_vector(arch, d) {
        return;
    }
    let access = |op: &Op| matches!(op, Op::Load { size: 8, .. } | Op::Store { size: 8, .. });
    let at: Vec<usize> = (0..ops.len()).filter(|i| access(&ops[*i])).collect();
    // From the last pair on, so that places before it stay.
    for pair in at.chunks_exact(2).rev() {
        let [first, second] = *pair else { continue };
        let (low, high) = (address(&ops[first]), address(&ops[second]));
        let mut op = ops.remove(first);
        set_address(&mut op, high);
        set_address(&mut ops[second - 1], low);
        ops.insert(second - 1, op);
    }
}

fn address(op: &Op) -> u16 {
    match op {
        Op::Load { addr, .. } | Op::Store { addr, .. } => *addr,
        _ => 0,
    }
}

fn set_address(op: &mut Op, to: u16) {
    if let Op::Load { addr, .. } | Op::Store { addr, .. } = op {
        *addr = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_isa::machine::Flow;
    use litmake_ops::BinOp;

    fn insn(mnemonic: &str) -> Decoded {
        let (mnemonic, operands) = (mnemonic.to_string(), Vec::new());
        Decoded { at: 0, len: 4, mnemonic, operands, flow: Flow::Next }
    }

    #[test]
    fn parts_of_a_value_are_mirrored_and_elements_stay() {
        assert_eq!(mirrored(8, 0, 8), Some(0));
        assert_eq!(mirrored(8, 0, 4), Some(4));
        assert_eq!(mirrored(8, 7, 1), Some(0));
        assert_eq!(mirrored(8, 20, 4), Some(16));
        assert_eq!(mirrored(4, 2, 4), None);
        // The word around a small value has it in its lowest bits.
        assert_eq!(
            (crate::image::pad(2), mirrored(2, -2, 4), mirrored(2, -6, 8)),
            (6, Some(0), Some(0))
        );
        assert_eq!(mirrored(2, -2, 2), Some(-2));
        assert_eq!(mirrored(0, 0, 1), None);
    }

    #[test]
    fn registers_of_one_value_change_places() {
        let place = |name, unit, offset, size| {
            place(Arch::AArch64, &insn(name), &Parts::Each(unit), offset, (size, size))
        };
        let at = |offset, swap| Some(Placed { offset, swap });
        for name in ["LDP", "LDAXP", "STLXP", "CASPAL", "SWPPA"] {
            assert_eq!(place(name, 16, 0, 16), at(0, true), "{name}");
        }
        // Elements of an array are values of their own.
        assert_eq!(place("LDP", 8, 8, 16), at(8, false));
        assert_eq!(place("LDR", 16, 0, 8), at(8, false));
        assert_eq!(place("LDR", 16, 0, 16), at(0, false));
        // A vector of two elements has no counterpart.
        assert_eq!(place("LDR", 8, 0, 16), None);
    }

    #[test]
    fn elements_of_a_vector_keep_their_order() {
        let place = |parts: &Parts, offset, size, each| {
            place(Arch::AArch64, &insn("ST1"), parts, offset, (size, each))
        };
        let at = |offset| Some(Placed { offset, swap: false });
        let longs = Parts::Each(8);
        assert_eq!((place(&longs, 8, 16, 8), place(&longs, 8, 8, 8)), (at(8), at(8)));
        // One lane of four bytes is the upper half of a number of eight, and two are both halves, which
        // a number of a test has in the other order.
        assert_eq!((place(&longs, 8, 4, 4), place(&longs, 8, 8, 4)), (at(12), None));
        // The same of a number of sixteen bytes.
        assert_eq!(
            (place(&Parts::Each(16), 0, 8, 8), place(&Parts::Each(16), 0, 16, 8)),
            (at(8), None)
        );
        let members = Parts::Members(vec![(0, 4), (4, 4), (8, 8)]);
        assert_eq!((place(&members, 0, 8, 4), place(&members, 0, 16, 4)), (at(0), None));
    }

    #[test]
    fn bytes_that_are_copied_stay_where_they_are() {
        let place = |parts: &Parts, offset: i64, size: u64| {
            let each = size.min(8);
            place(Arch::S390x, &insn("mvc"), parts, offset, (size, each)).map(|p| p.offset)
        };
        // All bytes of two numbers, and of a structure; a part of a number is found at the mirrored place.
        assert_eq!(place(&Parts::Each(4), 4, 8), Some(4));
        let members = Parts::Members(vec![(0, 4), (8, 8)]);
        assert_eq!((place(&members, 0, 16), place(&members, 0, 4)), (Some(0), Some(0)));
        assert_eq!((place(&members, 8, 4), place(&Parts::Each(8), 0, 4)), (Some(12), Some(4)));
        assert_eq!(place(&Parts::Each(8), 4, 8), None);
        for text in ["mvc 0(8,r2),0(r3)", "lpq r2,0(r4)"] {
            let d = insn(text.split(' ').next().unwrap());
            assert!(knows(Arch::S390x, &d, &ops(Arch::S390x, text)), "{text}");
        }
        assert_eq!(pairs(Arch::S390x, &insn("lmg")), None);
    }

    /// The meaning of one line of code.
    fn ops(arch: Arch, text: &str) -> Vec<Op> {
        use litmake_base::diag::{Source, Span};
        use litmake_litmus::{Anything, Line};
        let line = Line { labels: Vec::new(), text: text.to_string(), span: Span::default() };
        let isa = litmake_isa::of(arch).unwrap();
        let code = isa.thread(&Source::new("test", text), &[line], &mut Anything);
        code.unwrap().insts.remove(0).ops
    }

    #[test]
    fn an_instruction_on_several_registers_is_listed_or_refused() {
        let knows = |arch, text: &str, as_if: &str| knows(arch, &insn(as_if), &ops(arch, text));
        for text in [
            "LDP X0,X1,[X2]",
            "STP X0,X1,[X2]",
            "LDPSW X0,X1,[X2]",
            "LDXP X0,X1,[X2]",
            "STLXP W3,X0,X1,[X2]",
            "CASPAL X0,X1,X2,X3,[X4]",
            "LDIAPP X0,X1,[X2]",
            "SWPPA X0,X1,[X2]",
        ] {
            let mnemonic = text.split(' ').next().unwrap();
            assert!(knows(Arch::AArch64, text, mnemonic), "{text}");
            // The same by a name that the list does not have.
            assert!(!knows(Arch::AArch64, text, "UNKNOWN"), "{text}");
        }
        for text in [
            "LDR X0,[X1]",
            "STR X0,[X1,X2]",
            "LDR X0,[X1],#8",
            "STXR W0,X1,[X2]",
            "LDADDAL X0,X1,[X2]",
            "CASA X0,X1,[X2]",
            "SWP X0,X1,[X2]",
            "ADD X0,X1,X2",
        ] {
            assert!(knows(Arch::AArch64, text, "UNKNOWN"), "{text}");
        }
        for text in ["ld $2,0($4)", "sc $2,0($4)", "ll $2,0($4)", "sd $2,8($4)"] {
            assert!(knows(Arch::Mips, text, text.split(' ').next().unwrap()), "{text}");
        }
        assert!(!knows(Arch::Ppc, "lq r4,0(r3)", "lq"));
        assert!(!knows(Arch::Ppc, "stqcx. r4,0,r3", "stqcx."));
    }

    #[test]
    fn members_are_mirrored_each_in_itself() {
        let parts = Parts::Members(vec![(0, 4), (8, 2), (16, 16)]);
        let place = |name, offset, size| {
            let size = (size, if name == "LDP" { size / 2 } else { size });
            place(Arch::AArch64, &insn(name), &parts, offset, size).map(|p| (p.offset, p.swap))
        };
        assert_eq!(place("LDR", 0, 4), Some((0, false)));
        assert_eq!(place("LDRH", 0, 2), Some((2, false)));
        assert_eq!(place("LDRH", 8, 2), Some((8, false)));
        assert_eq!(place("LDP", 16, 16), Some((16, true)));
        // More than a member, and what is none.
        assert_eq!((place("LDR", 0, 8), place("LDR", 4, 4)), (None, None));
        assert_eq!(parts.places(Some(0), 4, 16), Some(vec![0, 16]));
        assert_eq!(parts.places(Some(9), 1, 16), Some(vec![9, 25]));
        assert_eq!(parts.places(None, 4, 16), None);
        let same = Parts::Members(vec![(0, 4), (8, 4)]);
        assert_eq!(same.places(None, 4, 16), Some(vec![0, 8]));
    }

    #[test]
    fn the_upper_half_of_a_vector_comes_first() {
        use litmake_isa::machine::{Mem, Update};
        let mut d = insn("LDR");
        let mem = Mem { base: Some("X0".into()), offset: 0, index: None, update: Update::None };
        d.operands = vec![Operand::Reg("Q0".into()), Operand::Mem(mem)];
        let tags = litmake_ops::Tags::NONE;
        let load = |dst, addr| Op::Load { dst, addr, size: 8, tags };
        let above = Op::Bin { dst: 2, op: BinOp::Add, a: 0, b: 1, width: 64 };
        let mut ops = vec![load(3, 0), above.clone(), load(4, 2)];
        swap_vectors(Arch::AArch64, &d, &mut ops);
        assert_eq!(ops, [above, load(3, 2), load(4, 0)]);
    }
}
