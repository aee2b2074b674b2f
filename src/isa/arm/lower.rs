//! Computations that the meanings of AArch32 instructions have in common, as micro-ops.
//!
//! It does not know their spelling. Dependencies are those of the Arm ARM and of herd: an instruction whose
//! condition is false does nothing, and its effects depend on the flags by control inside the instruction.

use super::arg::Arg;
use super::insn::{
    Amount, Cond, Fields, LR, Mem, Offset, Operand, PC, Place, SP, Shift, Symbol, name_of,
};
use super::row::Row;
use crate::lex::{Names, R};
use crate::machine::{Flow, Update};
use crate::microcode::{Emit, Labels};
use litmake_base::diag::{Diag, Result};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Label, Op, Port, Reg, Tags, Temp, UnOp, Val};

/// The bits of a register.
pub const W: u8 = 32;

/// The flags.
const N: &str = "N";
const Z: &str = "Z";
const C: &str = "C";
const V: &str = "V";
pub const FLAGS: [&str; 4] = [N, Z, C, V];

/// The carries that parallel sums leave, one a byte.
pub const PART_CARRIES: [&str; 4] = ["GE0", "GE1", "GE2", "GE3"];

pub fn reg_name(reg: R, names: &Names) -> &str {
    name_of(reg).unwrap_or_else(|| names.name(reg).unwrap_or("%"))
}

/// An instruction that was read.
pub struct Insn {
    pub row: &'static Row,
    pub fields: Fields,
}

/// The form of data processing: with both operands; with the last one; with both, and no result but the flags.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Both,
    Last,
    Test,
}

pub struct Lower<'a> {
    pub e: Emit,
    pub code: &'a mut Code,
    pub symbols: &'a mut dyn Symbols,
    pub names: &'a Names,
    pub labels: &'a Labels<'a>,
    pub insns: &'a [Insn],
    /// LDRD and STRD access 8 bytes at once.
    pub lpae: bool,
    pub line: Label,
    /// Why the instruction has no meaning here.
    pub refused: Option<Box<Diag>>,
}

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Result<()> {
        let Insn { row, fields: f } = insn;
        let flow = row.flow(f);
        if is_padding(insn) {
            return Ok(());
        }
        if f.cond == Cond::AL {
            (row.means)(self, f);
        } else if let (Place::Line(target), Flow::Jump) = (&f.place, flow) {
            let (cond, target) = (self.cond(f.cond), *target);
            self.e.op(Op::Branch { cond, target });
        } else if flow != Flow::Next {
            let cond = self.cond(f.cond.inverse());
            let target = self.line + 1;
            self.e.op(Op::Branch { cond, target });
            (row.means)(self, f);
        } else {
            let cond = self.cond(f.cond);
            let outer = self.e.begin();
            (row.means)(self, f);
            let yes = self.e.end(outer);
            self.e.op(Op::If { cond, yes, no: Vec::new() });
        }
        self.refused.take().map_or(Ok(()), Err)
    }

    pub fn read(&mut self, reg: R) -> Temp {
        self.read_port(reg, Port::None)
    }

    pub fn read_port(&mut self, reg: R, port: Port) -> Temp {
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.read(reg, port)
    }

    /// Writing PC is a jump.
    pub fn write(&mut self, reg: R, src: Temp) {
        if reg == PC {
            return self.e.op(Op::JumpTo { addr: src });
        }
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.write(reg, src);
    }

    /// A computation on words.
    pub fn bin(&mut self, op: BinOp, a: Temp, b: Temp) -> Temp {
        self.e.bin(op, a, b, W)
    }

    pub fn un(&mut self, op: UnOp, a: Temp) -> Temp {
        self.e.un(op, a, W)
    }

    /// A flag, or another register of one bit.
    fn bit_reg(&mut self, name: &str) -> Reg {
        self.code.reg(name, 1, false)
    }

    fn flag(&mut self, name: &str) -> Temp {
        let reg = self.bit_reg(name);
        self.e.read(reg, Port::None)
    }

    fn set_flag(&mut self, name: &str, value: Temp) {
        let reg = self.bit_reg(name);
        self.e.write(reg, value);
    }

    /// 1 where the condition holds.
    fn cond(&mut self, cond: Cond) -> Temp {
        if cond == Cond::AL {
            return self.e.int(1);
        }
        let holds = match cond.0 / 2 {
            0 => self.flag(Z),
            1 => self.flag(C),
            2 => self.flag(N),
            3 => self.flag(V),
            // Higher; and greater: without Z.
            n @ (4 | 6) => {
                let base = if n == 4 { self.flag(C) } else { self.cond(Cond(10)) };
                let z = self.flag(Z);
                let nz = self.e.is_zero(z, 1);
                self.e.bin(BinOp::And, base, nz, 1)
            }
            _ => {
                let n = self.flag(N);
                let v = self.flag(V);
                self.e.bin(BinOp::Eq, n, v, 1)
            }
        };
        if cond.0.is_multiple_of(2) { holds } else { self.e.is_zero(holds, 1) }
    }

    pub fn address_of(&mut self, symbol: &Symbol) -> Temp {
        let val = self.place_of(symbol);
        self.e.val(val)
    }

    fn place_of(&mut self, symbol: &Symbol) -> Val {
        match self.labels.find(&symbol.name, self.line as usize) {
            Some(label) => Val::Code(label),
            None => Val::Ptr { loc: self.symbols.location(&symbol.name), off: symbol.off },
        }
    }

    /// Goes to a line or to the address in a register.
    pub fn jump(&mut self, f: &Fields, link: bool) {
        let addr = match f.place {
            Place::Line(_) => None,
            _ => Some(self.read(f.m)),
        };
        if link {
            let next = self.e.val(Val::Code(self.line + 1));
            self.write(LR, next);
        }
        self.e.op(match (&f.place, addr) {
            (Place::Line(target), _) => Op::Jump { target: *target },
            (_, Some(addr)) => Op::JumpTo { addr },
            _ => Op::Halt,
        });
    }

    /// Loads a register from memory, from a place that the code names, or with a value.
    pub fn load(&mut self, f: &Fields, size: u8, signed: bool) {
        let v = match &f.place {
            Place::Value(value) => {
                let v = self.operand(value, false).0;
                return self.write(f.t, v);
            }
            Place::Named(from) => match self.place_of(from) {
                Val::Code(label) => self.literal(label, from),
                place => {
                    let addr = self.e.val(place);
                    self.e.load(addr, size, Tags::NONE)
                }
            },
            _ => {
                let addr = self.address(&f.mem);
                self.e.load(addr, size, Tags::NONE)
            }
        };
        let v = if signed { self.e.sign_extend(v, 8 * size, W) } else { v };
        self.write(f.t, v);
    }

    /// The word at a label, where the code holds data there.
    fn literal(&mut self, label: Label, from: &Symbol) -> Temp {
        let index = i64::from(label) + from.off / 4;
        let insn = usize::try_from(index).ok().and_then(|i| self.insns.get(i));
        match insn.map(|insn| (insn.row.args, &insn.fields.place)) {
            Some(([Arg::Literal], Place::Value(value))) => self.operand(value, false).0,
            _ => {
                let diag = Diag::new(format!("no word of data at `{}`", from.name));
                self.refused = Some(diag.help(
                    "known are `.word N`, `.word SYMBOL` and `.word SYMBOL-(LABEL+N)`; of code \
                     that goes through a GOT, compile it with `-fno-pic`",
                ));
                self.e.int(0)
            }
        }
    }

    pub fn read_pair(&mut self, lo: R, hi: R, port: Port) -> Temp {
        let lo = self.read_port(lo, port);
        let hi = self.read_port(hi, port);
        let hi = self.e.shift(BinOp::Shl, hi, 32, 64);
        self.e.bin(BinOp::Or, lo, hi, 64)
    }

    pub fn write_pair(&mut self, lo: R, hi: R, v: Temp) {
        let low = self.e.zero_extend(v, 32, 64);
        let high = self.e.shift(BinOp::Shr, v, 32, 64);
        self.write(lo, low);
        self.write(hi, high);
    }

    /// The address of an access; the base is updated where the instruction says so.
    pub fn address(&mut self, mem: &Mem) -> Temp {
        let base = self.read_port(mem.base, Port::Addr);
        let moved = match mem.offset {
            Offset::Imm(n) => self.e.add_int(base, n, W),
            Offset::Reg { reg, negative, shift, amount } => {
                let m = self.read_port(reg, Port::Addr);
                let m = self.shift_by(m, shift, amount);
                self.bin(if negative { BinOp::Sub } else { BinOp::Add }, base, m)
            }
        };
        if mem.update != Update::None {
            self.write(mem.base, moved);
        }
        if mem.update == Update::Post { base } else { moved }
    }

    /// The addresses of the registers in a list, of `size` bytes each. They lie upwards or downwards from the
    /// base, which is in it or not.
    pub fn block(&mut self, f: &Fields, size: i64, down: bool, without_base: bool) -> Vec<Temp> {
        let bytes = size * f.list.len() as i64;
        let first = match (down, without_base) {
            (false, false) => 0,
            (false, true) => size,
            (true, false) => size - bytes,
            (true, true) => -bytes,
        };
        let start = self.read_port(f.n, Port::Addr);
        if f.writeback {
            let end = self.e.add_int(start, if down { -bytes } else { bytes }, W);
            self.write(f.n, end);
        }
        let first = self.e.add_int(start, first, W);
        (0..f.list.len() as i64).map(|i| self.e.add_int(first, size * i, W)).collect()
    }

    pub fn load_list(&mut self, f: &Fields, down: bool, without_base: bool) {
        let addresses = self.block(f, 4, down, without_base);
        let loaded: Vec<Temp> =
            addresses.into_iter().map(|addr| self.e.load(addr, 4, Tags::NONE)).collect();
        // PC is the last, as it has the highest number.
        for (reg, v) in f.list.iter().zip(loaded) {
            self.write(*reg, v);
        }
    }

    pub fn store_list(&mut self, f: &Fields, down: bool, without_base: bool) {
        let values: Vec<Temp> = f.list.iter().map(|r| self.read_port(*r, Port::Data)).collect();
        let addresses = self.block(f, 4, down, without_base);
        for (addr, v) in addresses.into_iter().zip(values) {
            self.e.store(addr, v, 4, Tags::NONE);
        }
    }

    /// A list on the stack.
    pub fn on_stack(f: &Fields) -> Fields {
        Fields { n: SP, writeback: true, ..f.clone() }
    }

    pub fn load_exclusive(&mut self, f: &Fields, size: u8, tags: Tags) {
        let addr = self.address(&f.mem);
        let v = self.e.load(addr, size, tags);
        match size {
            8 => self.write_pair(f.t, f.u, v),
            _ => self.write(f.t, v),
        }
    }

    pub fn store_exclusive(&mut self, f: &Fields, size: u8, tags: Tags) {
        let src = match size {
            8 => self.read_pair(f.t, f.u, Port::Data),
            _ => self.read_port(f.t, Port::Data),
        };
        let addr = self.address(&f.mem);
        let status = self.e.temp();
        let (ok, fail, status_dep, same_size) = (0, 1, false, true);
        self.e.op(Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, same_size });
        // The status depends on what the instruction was given, not on the write.
        let status = self.e.depending(status, src, if size == 8 { 64 } else { W });
        let status = self.e.depending(status, addr, W);
        self.write(f.d, status);
    }

    /// A register and a value.
    pub fn with(&mut self, reg: R, op: BinOp, v: Temp) -> Temp {
        let a = self.read(reg);
        self.bin(op, a, v)
    }

    pub fn product(&mut self, f: &Fields) -> Temp {
        let m = self.read(f.m);
        self.with(f.n, BinOp::Mul, m)
    }

    /// A product of two words, of 64 bits.
    pub fn long_product(&mut self, f: &Fields, signed: bool) -> Temp {
        let mut wide = |reg: R| {
            let t = self.read(reg);
            if signed { self.e.sign_extend(t, W, 64) } else { t }
        };
        let (n, m) = (wide(f.n), wide(f.m));
        self.e.bin(BinOp::Mul, n, m, 64)
    }

    /// The high word of a product that is added to the high word `a` or subtracted from it.
    pub fn product_top(&mut self, f: &Fields, op: Option<BinOp>) -> Temp {
        let mut v = self.long_product(f, true);
        if let Some(op) = op {
            let a = self.read(f.a);
            let a = self.e.shift(BinOp::Shl, a, 32, 64);
            v = self.e.bin(op, a, v, 64);
        }
        self.e.shift(BinOp::Shr, v, 32, 64)
    }

    /// The product of one half of each operand: the top one where `f.x` and `f.y` are 1.
    pub fn product_of_halves(&mut self, f: &Fields) -> Temp {
        let mut half = |reg: R, top: u8| {
            let t = self.read(reg);
            let t = self.e.shift(BinOp::Shr, t, 16 * top, W);
            self.e.sign_extend(t, 16, W)
        };
        let (n, m) = (half(f.n, f.x), half(f.m, f.y));
        self.bin(BinOp::Mul, n, m)
    }

    /// Sets the result to `v`, and N and Z where the mnemonic says so.
    pub fn result(&mut self, f: &Fields, v: Temp) {
        self.write(f.d, v);
        if f.flags {
            self.set_nz(v, W);
        }
    }

    /// Sets the two registers of a long result, and the flags in the same way.
    pub fn long_result(&mut self, f: &Fields, v: Temp) {
        self.write_pair(f.t, f.u, v);
        if f.flags {
            self.set_nz(v, 64);
        }
    }

    /// The lowest bits of a number, from 8 or 16 (`f.y`), with a sign where `f.x` is 0.
    pub fn extended(&mut self, f: &Fields) -> Temp {
        let m = self.read(f.m);
        let m = self.e.shift(BinOp::Ror, m, f.rotate, W);
        self.part(f, m, 8 << f.y)
    }

    /// The lowest bits of a number, with a sign where `f.x` is 0.
    pub fn part(&mut self, f: &Fields, t: Temp, bits: u8) -> Temp {
        match f.x {
            0 => self.e.sign_extend(t, bits, W),
            _ => self.e.zero_extend(t, bits, W),
        }
    }

    /// Adds parts of `bits` bits separately, and keeps their carries.
    pub fn add_parts(&mut self, f: &Fields, bits: u8) -> Temp {
        let (n, m) = (self.read(f.n), self.read(f.m));
        let mut v = self.e.int(0);
        for low in (0..W).step_by(bits.into()) {
            let part = |e: &mut Emit, t: Temp| {
                let t = e.shift(BinOp::Shr, t, low, W);
                e.zero_extend(t, bits, W)
            };
            let (a, b) = (part(&mut self.e, n), part(&mut self.e, m));
            let sum = self.bin(BinOp::Add, a, b);
            let carry = self.e.bit(sum, bits, W);
            for name in &PART_CARRIES[usize::from(low / 8)..usize::from((low + bits) / 8)] {
                self.set_flag(name, carry);
            }
            let sum = self.e.zero_extend(sum, bits, W);
            let sum = self.e.shift(BinOp::Shl, sum, low, W);
            v = self.bin(BinOp::Or, v, sum);
        }
        v
    }

    /// Takes each byte from `n` if the carry of its part is set, else from `m`.
    pub fn select(&mut self, f: &Fields) -> Temp {
        let (n, m) = (self.read(f.n), self.read(f.m));
        let mut v = self.e.int(0);
        for (byte, name) in PART_CARRIES.into_iter().enumerate() {
            let carry = self.flag(name);
            let from = self.e.select(carry, n, m);
            let from = self.e.bin_int(BinOp::And, from, 0xff << (8 * byte), W);
            v = self.bin(BinOp::Or, v, from);
        }
        v
    }

    fn shift_by(&mut self, a: Temp, shift: Shift, amount: u8) -> Temp {
        match shift {
            Shift::Lsl => self.e.shift(BinOp::Shl, a, amount, W),
            Shift::Lsr => self.e.shift(BinOp::Shr, a, amount, W),
            Shift::Asr => self.e.shift(BinOp::Sar, a, amount, W),
            Shift::Ror => self.e.shift(BinOp::Ror, a, amount % W, W),
            Shift::Rrx => {
                let c = self.flag(C);
                let top = self.e.shift(BinOp::Shl, c, 31, W);
                let rest = self.e.shift(BinOp::Shr, a, 1, W);
                self.bin(BinOp::Or, top, rest)
            }
        }
    }

    /// The value of the flexible operand, and the carry out of its shift; `None` where the carry stays as it was.
    pub fn operand(&mut self, operand: &Operand, want_carry: bool) -> (Temp, Option<Temp>) {
        match operand {
            Operand::Imm(n) => {
                let value = self.e.int(u128::from(*n));
                // A byte that is rotated leaves its top bit as the carry; one that is repeated, as
                // Thumb can have it, leaves the carry as it was.
                let is_byte = (0..W).any(|turn| n.rotate_left(turn.into()) <= 0xff);
                let rotated = want_carry && *n > 0xff && is_byte;
                (value, rotated.then(|| self.e.int(u128::from(*n >> 31))))
            }
            Operand::Reg(rm) => (self.read(*rm), None),
            Operand::Address(symbol) => (self.address_of(symbol), None),
            Operand::Shifted(rm, shift, Amount::Imm(n)) => {
                let m = self.read(*rm);
                let value = self.shift_by(m, *shift, *n);
                let last = match shift {
                    Shift::Lsl => W - (*n).min(W),
                    Shift::Lsr | Shift::Asr | Shift::Ror => n.saturating_sub(1) % W,
                    Shift::Rrx => 0,
                };
                (value, want_carry.then(|| self.e.bit(m, last, W)))
            }
            Operand::Shifted(rm, shift, Amount::Reg(rs)) => {
                let m = self.read(*rm);
                let s = self.read(*rs);
                let n = self.e.bin_int(BinOp::And, s, 0xff, W);
                let value = match shift {
                    Shift::Lsl => self.bin(BinOp::Shl, m, n),
                    Shift::Lsr => self.bin(BinOp::Shr, m, n),
                    Shift::Asr => self.bin(BinOp::Sar, m, n),
                    Shift::Ror | Shift::Rrx => {
                        let n = self.e.bin_int(BinOp::And, n, 31, W);
                        self.bin(BinOp::Ror, m, n)
                    }
                };
                (value, want_carry.then(|| self.carry_of(*shift, m, n, value)))
            }
        }
    }

    /// The carry out of a shift by a register: the last bit shifted out, or the old carry where
    /// nothing is shifted.
    fn carry_of(&mut self, shift: Shift, m: Temp, n: Temp, value: Temp) -> Temp {
        let out = match shift {
            Shift::Lsl => {
                let wide = self.e.bin(BinOp::Shl, m, n, 64);
                self.e.bit(wide, 32, 64)
            }
            Shift::Lsr => {
                let wide = self.e.shift(BinOp::Shl, m, 1, 64);
                let wide = self.e.bin(BinOp::Shr, wide, n, 64);
                self.e.bit(wide, 0, 64)
            }
            Shift::Asr => {
                let wide = self.e.sign_extend(m, W, 64);
                let wide = self.e.shift(BinOp::Shl, wide, 1, 64);
                let wide = self.e.bin(BinOp::Sar, wide, n, 64);
                self.e.bit(wide, 0, 64)
            }
            Shift::Ror | Shift::Rrx => self.e.bit(value, 31, W),
        };
        let old = self.flag(C);
        self.e.select(n, out, old)
    }

    /// A bitwise operation, whose carry is that of the shift of its second operand.
    pub fn logic(&mut self, f: &Fields, form: Form, op: fn(&mut Self, Temp, Temp) -> Temp) {
        let flags = f.flags || form == Form::Test;
        let a = (form != Form::Last).then(|| self.read(f.n));
        let (b, carry) = self.operand(&f.operand, flags);
        let v = op(self, a.unwrap_or(b), b);
        if flags {
            self.set_nz(v, W);
        }
        if let Some(carry) = carry {
            self.set_flag(C, carry);
        }
        if form != Form::Test {
            self.write(f.d, v);
        }
    }

    /// An operation that sets all flags, where its last argument says that any are set.
    pub fn sum(&mut self, f: &Fields, form: Form, op: fn(&mut Self, Temp, Temp, bool) -> Temp) {
        if f.n == PC {
            // What is added to PC is the address of a symbol relative to it.
            let (v, _) = self.operand(&f.operand, false);
            return self.write(f.d, v);
        }
        let a = self.read(f.n);
        let (b, _) = self.operand(&f.operand, false);
        let v = op(self, a, b, f.flags || form == Form::Test);
        if form != Form::Test {
            self.write(f.d, v);
        }
    }

    pub fn add(&mut self, a: Temp, b: Temp, flags: bool) -> Temp {
        let v = self.bin(BinOp::Add, a, b);
        if flags {
            let carry = self.bin(BinOp::LtU, v, a);
            self.set_flag(C, carry);
            self.overflow(a, b, v);
            self.set_nz(v, W);
        }
        v
    }

    pub fn subtract(&mut self, a: Temp, b: Temp, flags: bool) -> Temp {
        let v = self.bin(BinOp::Sub, a, b);
        if flags {
            let carry = self.bin(BinOp::LeU, b, a);
            self.set_flag(C, carry);
            let less = self.bin(BinOp::LtS, a, b);
            let negative = self.e.is_negative(v, W);
            let overflow = self.e.bin(BinOp::Xor, less, negative, 1);
            self.set_flag(V, overflow);
            // Also right for addresses, whose difference has no sign.
            let zero = self.bin(BinOp::Eq, a, b);
            self.set_flag(Z, zero);
            let negative = self.e.is_negative(v, W);
            self.set_flag(N, negative);
        }
        v
    }

    /// The sum of both and of the carry.
    pub fn add_with_carry(&mut self, a: Temp, b: Temp, flags: bool) -> Temp {
        let c = self.flag(C);
        let sum = self.e.bin(BinOp::Add, a, b, 64);
        let sum = self.e.bin(BinOp::Add, sum, c, 64);
        let v = self.e.zero_extend(sum, W, 64);
        if flags {
            let carry = self.e.bit(sum, 32, 64);
            self.set_flag(C, carry);
            self.overflow(a, b, v);
            self.set_nz(v, W);
        }
        v
    }

    /// Signed overflow of a sum: both operands have the sign that the result has not.
    fn overflow(&mut self, a: Temp, b: Temp, v: Temp) {
        let x = self.bin(BinOp::Xor, a, v);
        let y = self.bin(BinOp::Xor, b, v);
        let both = self.bin(BinOp::And, x, y);
        let v = self.e.bit(both, 31, W);
        self.set_flag(V, v);
    }

    pub fn set_nz(&mut self, v: Temp, width: u8) {
        let negative = self.e.is_negative(v, width);
        self.set_flag(N, negative);
        let zero = self.e.is_zero(v, width);
        self.set_flag(Z, zero);
    }
}

/// `ANDEQ R0,R0,R0`, of which the encoding is 0: it changes nothing, and herd takes it so.
fn is_padding(insn: &Insn) -> bool {
    let Insn { row, fields: f } = insn;
    let same = f.n == f.d && f.operand == Operand::Reg(f.d);
    row.spelling.starts_with("and{") && f.cond == Cond::EQ && !f.flags && same
}
