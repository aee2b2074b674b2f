//! Atomic read-modify-writes of one instruction: LSE, LSE128, and compare-and-swap of one or
//! two registers. Each reads and writes memory in one access of up to 16 bytes.

use super::emit::{Emit, Lowered, Refusal, wrong_width};
use super::mem::bare_address;
use super::regs::{Name, View};
use litmake_ops::{BinOp, Op, Port, Tags, Temp, UnOp, tag};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    pub op: Rmw,
    pub form: Form,
    /// Bytes accessed, 0 for those of the register.
    pub size: u8,
    pub acquire: bool,
    pub release: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rmw {
    Swap,
    Add,
    Clear,
    Xor,
    Set,
    MinMax(BinOp),
    /// Compare and swap.
    Cas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Operand, result, address; for CAS expected value and result, new value, address.
    Load,
    /// Operand, address: nothing is returned.
    Store,
    /// Two registers for each value.
    Pair,
}

/// Every mnemonic of the family.
pub fn table() -> Vec<(String, Atomic)> {
    let ops = [
        ("ADD", Rmw::Add),
        ("CLR", Rmw::Clear),
        ("EOR", Rmw::Xor),
        ("SET", Rmw::Set),
        ("SMAX", Rmw::MinMax(BinOp::MaxS)),
        ("SMIN", Rmw::MinMax(BinOp::MinS)),
        ("UMAX", Rmw::MinMax(BinOp::MaxU)),
        ("UMIN", Rmw::MinMax(BinOp::MinU)),
    ];
    let orders = [("", false, false), ("A", true, false), ("L", false, true), ("AL", true, true)];
    let sizes = [("", 0), ("B", 1), ("H", 2)];
    let mut all = Vec::new();
    for (order, acquire, release) in orders {
        for (suffix, size) in sizes {
            let mut add = |stem: &str, op, form| {
                let atomic = Atomic { op, form, size, acquire, release };
                all.push((format!("{stem}{order}{suffix}"), atomic));
            };
            add("SWP", Rmw::Swap, Form::Load);
            add("CAS", Rmw::Cas, Form::Load);
            for (name, op) in ops {
                add(&format!("LD{name}"), op, Form::Load);
                if !acquire {
                    add(&format!("ST{name}"), op, Form::Store);
                }
            }
        }
        for (stem, op) in
            [("CASP", Rmw::Cas), ("SWPP", Rmw::Swap), ("LDCLRP", Rmw::Clear), ("LDSETP", Rmw::Set)]
        {
            let atomic = Atomic { op, form: Form::Pair, size: 0, acquire, release };
            all.push((format!("{stem}{order}"), atomic));
        }
    }
    all
}

pub fn lower(a: Atomic, e: &mut Emit) -> Lowered {
    match (a.op, a.form) {
        (Rmw::Cas, Form::Pair) => {
            let expected = Registers::pair(e, 0, true)?;
            let new = Registers::pair(e, 2, true)?;
            if new.view.bits != expected.view.bits {
                return Err(wrong_width(2, new.view.bits, expected.view.bits));
            }
            let size = expected.view.bits / 4;
            let addr = bare_address(e, 4)?;
            compare_and_swap(e, a, &expected, &new, addr, size);
        }
        (Rmw::Cas, _) => {
            let expected = Registers::single(e.gpr(0)?);
            let new = Registers::single(e.gpr_like(1, &expected.view)?);
            let size = match a.size {
                0 => expected.view.bits / 8,
                n => n,
            };
            let addr = bare_address(e, 2)?;
            compare_and_swap(e, a, &expected, &new, addr, size);
        }
        (_, Form::Pair) => {
            // LSE128: the two registers are operand and result.
            let place = Registers::pair(e, 0, false)?;
            let addr = bare_address(e, 2)?;
            modify(e, a, &place, Some(&place), addr, place.view.bits / 4);
        }
        (_, form) => {
            let operand = Registers::single(e.gpr(0)?);
            let size = match a.size {
                0 => operand.view.bits / 8,
                n => n,
            };
            let result = match form {
                Form::Store => None,
                _ => Some(Registers::single(e.gpr_like(1, &operand.view)?)),
            };
            let addr = bare_address(e, if result.is_some() { 2 } else { 1 })?;
            modify(e, a, &operand, result.as_ref(), addr, size);
        }
    }
    Ok(())
}

/// One register, or two that hold a value together, the low half first.
struct Registers {
    view: View,
    high: Option<View>,
}

impl Registers {
    fn single(view: View) -> Registers {
        Registers { view, high: None }
    }

    /// `even`: an even register and the next, as CASP has it, in either order.
    fn pair(e: &Emit, i: usize, even: bool) -> Lowered<Registers> {
        let view = e.gpr(i)?;
        let high = e.gpr_like(i + 1, &view)?;
        if even {
            let next = match (&view.name, &high.name) {
                (Name::Gpr(30), Name::Zero) => true,
                // The other order is that of big-endian code in tests.
                (Name::Zero, Name::Gpr(30)) => true,
                (Name::Gpr(a), Name::Gpr(b)) => a / 2 == b / 2 && a != b,
                (Name::Symbolic(_), _) | (_, Name::Symbolic(_)) => true,
                _ => false,
            };
            if !next {
                return Err(
                    Refusal::new("expected an even register and the one after it").on(i + 1)
                );
            }
        }
        Ok(Registers { view, high: Some(high) })
    }

    fn read(&self, e: &mut Emit) -> Temp {
        let low = e.read_raw(&self.view, Port::Data);
        match &self.high {
            None => low,
            Some(high) => {
                let high = e.read_raw(high, Port::Data);
                e.join(low, high, self.view.bits)
            }
        }
    }

    fn write(&self, e: &mut Emit, value: Temp) {
        match &self.high {
            None => e.write(&self.view, value),
            Some(high) => {
                let (l, h) = e.halves(value, self.view.bits);
                e.write(&self.view, l);
                e.write(high, h);
            }
        }
    }

    fn discards(&self) -> bool {
        self.view.name == Name::Zero
    }
}

/// The annotations of the read and the write. A read whose value goes nowhere has none of the
/// ordering of an acquire, nor is it seen by fences that order loads (NoRet).
fn tags(a: Atomic, returns: bool) -> (Tags, Tags) {
    let read = match (returns, a.acquire) {
        (false, _) => tag::X | tag::NoRet,
        (true, true) => tag::X | tag::A,
        (true, false) => tag::X,
    };
    let write = if a.release { tag::X | tag::L } else { tag::X };
    (read, write)
}

/// The written value depends on the operand, and but for a swap on what was read; the result
/// depends on what was read alone.
fn modify(
    e: &mut Emit,
    a: Atomic,
    operand: &Registers,
    result: Option<&Registers>,
    addr: Temp,
    size: u8,
) {
    let result = result.filter(|r| r.high.is_some() || !r.discards());
    let (read, write) = tags(a, result.is_some());
    let value = operand.read(e);
    let old = e.load(addr, size, read);
    let width = size * 8;
    let new = match a.op {
        Rmw::Swap | Rmw::Cas => value,
        Rmw::Add => e.bin(BinOp::Add, old, value, width),
        Rmw::Xor => e.bin(BinOp::Xor, old, value, width),
        Rmw::Set => e.bin(BinOp::Or, old, value, width),
        Rmw::MinMax(op) => e.bin(op, old, value, width),
        Rmw::Clear => {
            let keep = e.un(UnOp::Not, value, width);
            e.bin(BinOp::And, old, keep, width)
        }
    };
    e.store(addr, new, size, write);
    if let Some(result) = result {
        result.write(e, old);
    }
}

/// Writes where what was read equals the expected value. The result register is written
/// either way: with the value read, without a dependency on the comparison; or, where the
/// comparison holds, with the expected value itself, which then depends on its own register by
/// data and on the comparison by a decision inside the instruction. Both are allowed, and
/// neither is stronger, so either may be chosen.
///
/// The architecture also lets a failing compare-and-swap write back what it read. Such a write
/// changes no outcome: take it away, let its readers read what it read, and every order that
/// remains was there before. So there is none.
fn compare_and_swap(
    e: &mut Emit,
    a: Atomic,
    expected: &Registers,
    new: &Registers,
    addr: Temp,
    size: u8,
) {
    let returns = expected.high.is_some() || !expected.discards();
    let (read, write) = tags(a, returns);
    let width = size * 8;
    let wanted = expected.read(e);
    let value = new.read(e);
    let old = e.load(addr, size, read);
    let same = e.bin(BinOp::Eq, old, wanted, width);
    let store = |e: &mut Emit| e.store(addr, value, size, write);
    if !returns {
        let yes = e.block(store);
        e.op(Op::If { cond: same, yes, no: Vec::new() });
        return;
    }
    let choice = e.temp();
    e.op(Op::Choose { dst: choice });
    let from_register = e.block(|e| {
        let yes = e.block(|e| {
            store(e);
            // The bits above the accessed bytes are zero, as with the value read.
            let kept = e.zero_extend(wanted, width, width.max(64));
            expected.write(e, kept);
        });
        let no = e.block(|e| expected.write(e, old));
        e.op(Op::If { cond: same, yes, no });
    });
    let from_memory = e.block(|e| {
        let yes = e.block(store);
        e.op(Op::If { cond: same, yes, no: Vec::new() });
        expected.write(e, old);
    });
    e.op(Op::If { cond: choice, yes: from_register, no: from_memory });
}
