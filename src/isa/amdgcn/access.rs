//! Loads, stores and atomic operations, and the instructions that wait for them, write caches back or empty them.
//!
//! It gives each event the bits that its instruction has. It does not know what the caches of a generation make of them.

use super::lower::{Done, Lower, PRIVATE};
use super::read::{Bank, Half, Insn, Operand};
use litmake_ops::{BinOp, Op, Port, Tags, Temp, tag};

/// The beginnings of the names of instructions that only order others.
const ORDERS: [&str; 6] =
    ["s_waitcnt", "s_wait_", "buffer_wb", "buffer_inv", "buffer_gl", "global_wb"];

/// Whether an instruction does nothing but to order others.
pub(super) fn orders(name: &str) -> bool {
    name == "global_inv" || ORDERS.iter().any(|start| name.starts_with(start))
}

/// Words behind accesses that change no order: hints for caches, and who keeps a line.
const HINTS: [&str; 12] = [
    "nt",
    "slc",
    "dlc",
    "th:TH_LOAD_NT",
    "th:TH_LOAD_HT",
    "th:TH_LOAD_LU",
    "th:TH_STORE_NT",
    "th:TH_STORE_HT",
    "th:TH_STORE_RT",
    "th:TH_LOAD_RT",
    "th:TH_ATOMIC_NT",
    "th:TH_ATOMIC_RT",
];

/// Counters that say nothing of accesses to memory that threads share.
const OTHERS: [&str; 7] = ["expcnt", "samplecnt", "bvhcnt", "kmcnt", "dscnt", "alu", "xcnt"];

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Atomic,
}

/// The bytes of an access, how a load extends them, and the half of the register that is meant.
#[derive(Clone, Copy)]
struct Form {
    bytes: u8,
    signed: bool,
    half: Option<Half>,
}

/// The form that the end of the name of a load or a store says.
fn form(word: &str) -> Option<Form> {
    let (half, word) = match (word.strip_prefix("d16_hi_"), word.strip_prefix("d16_")) {
        (Some(rest), _) => (Some(Half::High), rest),
        (_, Some(rest)) => (Some(Half::Low), rest),
        _ => match (word.strip_suffix("_d16_hi"), word.strip_suffix("_d16")) {
            (Some(rest), _) => (Some(Half::High), rest),
            (_, Some(rest)) => (Some(Half::Low), rest),
            _ => (None, word),
        },
    };
    let (bytes, signed) = match word {
        "ubyte" | "u8" | "byte" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "u16" | "short" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => return None,
    };
    (half.is_none() || bytes <= 2).then_some(Form { bytes, signed, half })
}

/// The operation and the bytes of an atomic operation; no operation where it is an exchange or a compare-exchange.
fn operation(word: &str) -> Option<(Option<BinOp>, u8)> {
    let (name, bytes) = match word.rsplit_once('_') {
        Some((name, "u32" | "i32" | "b32")) => (name, 4),
        Some((name, "u64" | "i64" | "b64" | "x2")) => (name, 8),
        _ => (word, 4),
    };
    let signed = word.ends_with("i32") || word.ends_with("i64");
    let op = match name {
        "swap" | "cmpswap" => None,
        "add" => Some(BinOp::Add),
        "sub" => Some(BinOp::Sub),
        "and" => Some(BinOp::And),
        "or" => Some(BinOp::Or),
        "xor" => Some(BinOp::Xor),
        "smin" => Some(BinOp::MinS),
        "smax" => Some(BinOp::MaxS),
        "umin" => Some(BinOp::MinU),
        "umax" => Some(BinOp::MaxU),
        "min" => Some(if signed { BinOp::MinS } else { BinOp::MinU }),
        "max" => Some(if signed { BinOp::MaxS } else { BinOp::MaxU }),
        _ => return None,
    };
    Some((op, bytes))
}

/// The words behind an access.
#[derive(Default)]
struct Bits {
    tags: Tags,
    offset: i64,
    /// Whether a bit says that an atomic operation returns what it found.
    returns: bool,
}

impl Bits {
    fn read(words: &[&str], kind: Kind) -> Result<Bits, String> {
        let mut out = Bits::default();
        let (mut sc0, mut sc1) = (false, false);
        for &word in words {
            match (word, kind) {
                ("glc" | "sc0", Kind::Atomic) | ("th:TH_ATOMIC_RETURN", Kind::Atomic) => {
                    out.returns = true;
                }
                ("glc", _) => out.tags = out.tags | tag::GLC,
                ("sc0", _) => sc0 = true,
                ("sc1", _) => sc1 = true,
                _ if HINTS.contains(&word) => {}
                _ => match (word.strip_prefix("offset:"), scope(word)) {
                    (Some(offset), _) => {
                        let wrong = |_| format!("expected a number of bytes, found `{offset}`");
                        out.offset = offset.parse().map_err(wrong)?;
                    }
                    (_, Some(scope)) => out.tags = out.tags | scope,
                    _ => return Err(format!("unsupported: `{word}`")),
                },
            }
        }
        out.tags = out.tags
            | match (sc0, sc1, kind) {
                (_, true, Kind::Atomic) | (true, true, _) => tag::SY,
                (false, true, _) => tag::DV,
                (true, false, _) => tag::WG,
                (false, false, _) => Tags::NONE,
            };
        Ok(out)
    }
}

/// The scope that a word of gfx12 names; the narrowest one, which is that of one processor, has no annotation.
fn scope(word: &str) -> Option<Tags> {
    Some(match word {
        "scope:SCOPE_CU" => Tags::NONE,
        "scope:SCOPE_SE" => tag::WG,
        "scope:SCOPE_DEV" => tag::DV,
        "scope:SCOPE_SYS" => tag::SY,
        _ => return None,
    })
}

impl Lower<'_> {
    /// A load, a store or an atomic operation; false where the instruction is none.
    pub(super) fn access(&mut self, insn: &Insn) -> Result<bool, String> {
        let rest = insn.name.strip_prefix("flat_").or_else(|| insn.name.strip_prefix("global_"));
        let Some((kind, word)) = rest.and_then(|rest| rest.split_once('_')) else {
            return Ok(false);
        };
        let unknown = || format!("unsupported: `{}`", insn.name);
        match kind {
            "load" => self.load(insn, form(word).ok_or_else(unknown)?)?,
            "store" => self.store(insn, form(word).ok_or_else(unknown)?)?,
            "atomic" => {
                let (op, bytes) = operation(word).ok_or_else(unknown)?;
                self.atomic(insn, op, word.starts_with("cmpswap"), bytes)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An access to the memory of a lane or of a workgroup, where code has asked for the kind of an address first. No
    /// location of a test lies there, so one that is reached is an error.
    pub(super) fn elsewhere(&mut self, insn: &Insn) -> bool {
        let is = ["scratch_", "ds_", "buffer_"].iter().any(|start| insn.name.starts_with(start));
        if is {
            let addr = self.e.int(PRIVATE);
            self.e.load(addr, 4, Tags::NONE);
        }
        is
    }

    fn load(&mut self, insn: &Insn, form: Form) -> Done {
        let bits = Bits::read(&insn.words, Kind::Load)?;
        let (dst, rest) = split(&insn.operands)?;
        let addr = self.address(insn, rest, bits.offset)?;
        if let Some(words) = words(dst, form.bytes) {
            let words = words?;
            let load = |(n, _): (usize, &Operand)| {
                let addr = self.e.add_int(addr, 4 * n as i64, 64);
                self.e.load(addr, 4, bits.tags)
            };
            let values: Vec<Temp> = words.iter().enumerate().map(load).collect();
            return words
                .iter()
                .zip(values)
                .try_for_each(|(dst, value)| self.write(dst, value, 32));
        }
        let mut value = self.e.load(addr, form.bytes, bits.tags);
        let width = if form.half.is_some() { 16 } else { 8 * form.bytes.max(4) };
        if form.signed {
            value = self.e.sign_extend(value, 8 * form.bytes, width);
        }
        self.write(&half(dst, form.half)?, value, width)
    }

    fn store(&mut self, insn: &Insn, form: Form) -> Done {
        let bits = Bits::read(&insn.words, Kind::Store)?;
        let [addr, data, rest @ ..] = &insn.operands[..] else {
            return Err("expected an address and a register".into());
        };
        if let Some(words) = words(*data, form.bytes) {
            let addr = self.address(insn, &[&[*addr], rest].concat(), bits.offset)?;
            for (n, word) in words?.iter().enumerate() {
                let value = self.value(word, 32, Port::Data)?;
                let addr = self.e.add_int(addr, 4 * n as i64, 64);
                self.e.store(addr, value, 4, bits.tags);
            }
            return Ok(());
        }
        let value = match form.half {
            Some(_) => self.value(&half(*data, form.half)?, 16, Port::Data)?,
            None => self.value(data, 8 * form.bytes.max(4), Port::Data)?,
        };
        let addr = self.address(insn, &[&[*addr], rest].concat(), bits.offset)?;
        self.e.store(addr, value, form.bytes, bits.tags);
        Ok(())
    }

    fn atomic(&mut self, insn: &Insn, op: Option<BinOp>, compares: bool, bytes: u8) -> Done {
        let bits = Bits::read(&insn.words, Kind::Atomic)?;
        let (dst, rest) = match bits.returns {
            true => split(&insn.operands).map(|(dst, rest)| (Some(dst), rest))?,
            false => (None, &insn.operands[..]),
        };
        let [addr, data, base @ ..] = rest else {
            return Err("expected an address and a register".into());
        };
        let width = 8 * bytes;
        // A compare-exchange has the new value and behind it the expected one.
        let (data, expected) = if compares { parts(data, bytes)? } else { (*data, Operand::Null) };
        let value = self.value(&data, width, Port::Data)?;
        let addr = self.address(insn, &[&[*addr], base].concat(), bits.offset)?;
        let tags = bits.tags | tag::X | if bits.returns { Tags::NONE } else { tag::NoRet };
        let old = self.e.load(addr, bytes, tags);
        if compares {
            let expected = self.value(&expected, width, Port::None)?;
            let same = self.e.bin(BinOp::Eq, old, expected, width);
            self.e.if_else(same, |e| e.store(addr, value, bytes, tags), |_| ());
        } else {
            let new = op.map_or(value, |op| self.e.bin(op, old, value, width));
            self.e.store(addr, new, bytes, tags);
        }
        dst.map_or(Ok(()), |dst| self.write(&dst, old, width))
    }

    /// `v[0:1]`, `v[0:1], off` or `v0, s[2:3]`, plus bytes.
    fn address(&mut self, insn: &Insn, operands: &[Operand], offset: i64) -> Result<Temp, String> {
        let is_flat = insn.name.starts_with("flat_");
        let addr = match operands {
            [addr] if is_flat => self.value(addr, 64, Port::Addr)?,
            [addr, Operand::Off] if !is_flat => self.value(addr, 64, Port::Addr)?,
            [index, base @ Operand::Reg { bank: Bank::Scalar, .. }] if !is_flat => {
                let (base, index) =
                    (self.value(base, 64, Port::Addr)?, self.value(index, 32, Port::Addr)?);
                self.e.bin(BinOp::Add, base, index, 64)
            }
            _ => return Err("expected an address, such as `v[0:1]`".into()),
        };
        Ok(self.e.add_int(addr, offset, 64))
    }

    /// A wait, a write-back or an invalidation; false where the instruction is none.
    pub(super) fn order(&mut self, insn: &Insn) -> Result<bool, String> {
        let tags = match insn.name {
            "s_waitcnt" => {
                let mut tags = Tags::NONE;
                for word in &insn.words {
                    tags = tags | counted(word)?;
                }
                tags
            }
            "s_waitcnt_vscnt" => match insn.operands[..] {
                [Operand::Null, Operand::Int(0)] => tag::VS0,
                _ => return Err("unsupported: a wait for other than all stores".into()),
            },
            "buffer_wbl2" => tag::WB | scope_of(&insn.words)?,
            "buffer_inv" => tag::INV | scope_of(&insn.words)?,
            "global_wb" => tag::GWB | scope_of(&insn.words)?,
            "global_inv" => tag::GINV | scope_of(&insn.words)?,
            "buffer_wbinvl1_vol" | "buffer_wbinvl1" => tag::INVL1,
            "buffer_invl2" => tag::INVL2,
            "buffer_gl0_inv" => tag::GL0,
            "buffer_gl1_inv" => tag::GL1,
            name => match name.strip_prefix("s_wait_") {
                Some(counters) => self.wait(counters, insn)?,
                None => return Ok(false),
            },
        };
        if tags != Tags::NONE {
            self.e.op(Op::Fence { tags });
        }
        Ok(true)
    }

    /// A wait of gfx12, for one counter or for two: the number of the first is in the high byte then.
    fn wait(&self, counters: &str, insn: &Insn) -> Result<Tags, String> {
        if counters == "alu" {
            return Ok(Tags::NONE);
        }
        let [Operand::Int(number)] = insn.operands[..] else {
            return Err("expected a number".into());
        };
        let (first, second) = match counters.split_once('_') {
            Some((first, "dscnt")) => (first, true),
            Some(_) => return Err("unsupported: a wait for these counters".into()),
            None => (counters, false),
        };
        let number = if second { number >> 8 } else { number };
        match (first, number) {
            ("loadcnt", number) => all_but(number),
            ("storecnt", 0) => Ok(tag::VS0),
            (first, _) if OTHERS.contains(&first) => Ok(Tags::NONE),
            _ => Err("unsupported: a wait for other than all stores".into()),
        }
    }
}

/// `vmcnt(1)`, or another counter of `s_waitcnt`.
fn counted(word: &str) -> Result<Tags, String> {
    let (counter, number) = word
        .strip_suffix(')')
        .and_then(|w| w.split_once('('))
        .ok_or_else(|| format!("expected a counter, such as `vmcnt(0)`, found `{word}`"))?;
    let number = number.parse().map_err(|_| format!("expected a number, found `{number}`"))?;
    match counter {
        "vmcnt" => all_but(number),
        // Counts what flat accesses do to the memory of a group, and scalar loads, which are refused.
        "lgkmcnt" | "expcnt" => Ok(Tags::NONE),
        _ => Err(format!("unsupported: the counter `{counter}`")),
    }
}

/// A wait until all loads but so many are done.
fn all_but(number: i128) -> Result<Tags, String> {
    Ok(match number {
        0 => tag::VM0,
        1 => tag::VM1,
        2 => tag::VM2,
        3 => tag::VM3,
        _ => return Err(format!("unsupported: a wait for all loads but {number}")),
    })
}

/// The scope of a write-back or an invalidation: without words, it is that of the caches of the instruction.
fn scope_of(words: &[&str]) -> Result<Tags, String> {
    Ok(match words {
        [] => Tags::NONE,
        ["sc0"] => tag::WG,
        ["sc1"] => tag::DV,
        ["sc0", "sc1"] => tag::SY,
        [word] => scope(word).ok_or_else(|| format!("unsupported: `{word}`"))?,
        _ => return Err(format!("unsupported: `{}`", words.join(" "))),
    })
}

fn split<'o, 'a>(operands: &'o [Operand<'a>]) -> Result<(Operand<'a>, &'o [Operand<'a>]), String> {
    let (dst, rest) = operands.split_first().ok_or("expected a register and an address")?;
    Ok((*dst, rest))
}

/// An operand with the half that the name of the instruction says.
fn half<'a>(operand: Operand<'a>, which: Option<Half>) -> Result<Operand<'a>, String> {
    match (operand, which) {
        (operand, None) => Ok(operand),
        (Operand::Reg { bank, first, count: 1, half: None }, half) => {
            Ok(Operand::Reg { bank, first, count: 1, half })
        }
        _ => Err("expected a register".into()),
    }
}

/// The registers of an access of more than 64 bits, which is one access for each.
fn words<'a>(data: Operand<'a>, bytes: u8) -> Option<Result<Vec<Operand<'a>>, String>> {
    (bytes > 8).then(|| match data {
        Operand::Reg { bank, first, count, half: None } if count == u16::from(bytes / 4) => {
            let of = |first| Operand::Reg { bank, first, count: 1, half: None };
            Ok((first..first + count).map(of).collect())
        }
        _ => Err(format!("expected {} registers", bytes / 4)),
    })
}

/// The two values that follow one another in registers.
fn parts<'a>(data: &Operand<'a>, bytes: u8) -> Result<(Operand<'a>, Operand<'a>), String> {
    let each = u16::from(bytes / 4);
    match *data {
        Operand::Reg { bank, first, count, half: None } if count == 2 * each => {
            let of = |first| Operand::Reg { bank, first, count: each, half: None };
            Ok((of(first), of(first + each)))
        }
        _ => Err(format!("expected {} registers, as in `v[0:{}]`", 2 * each, 2 * each - 1)),
    }
}
