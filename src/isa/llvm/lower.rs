//! Reads one instruction and says its meaning as micro-ops.
//!
//! Values that are aggregates are lists of scalars, each in a register of its own. Which block ran
//! before is in a register that ends of blocks set and phi instructions read. Flags under which a
//! result is poison (`nsw`, `inbounds`, `exact`, ...) are passed over: the result that the machine has
//! is one that poison may be. It does not know the other instructions of the thread.

mod target;

use super::types::{self, Type};
use crate::microcode::{Emit, Labels, Swap, mask};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Op, Port, Reg, Tags, Temp, UnOp, Val, tag};

type Read<T> = Result<T, String>;

/// The register that says which block ran before.
const FROM: &str = "%.from";

/// A copy of more bytes is refused.
const MOST_COPIED: u64 = 256;

/// Words that are no attributes of an argument but its value.
const VALUES: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "undef",
    "poison",
    "zeroinitializer",
    "getelementptr",
    "bitcast",
    "ptrtoint",
    "inttoptr",
    "addrspacecast",
];

/// Words behind an instruction's name that say when its result is poison, or how likely it is.
const FLAGS: &[&str] = &[
    "nsw", "nuw", "exact", "disjoint", "nneg", "inbounds", "nusw", "samesign",
    // Under these, numbers in floating point may have other values than the one that is computed.
    "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc",
];

/// Intrinsics that do nothing that other threads could see.
const SILENT: &[&str] = &[
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
    "llvm.donothing",
    "llvm.invariant.",
    "llvm.var.annotation",
    "llvm.prefetch",
    "llvm.fake.use",
    "llvm.stackrestore",
    "llvm.sideeffect",
    "llvm.pseudoprobe",
];

pub(super) struct Lower<'a> {
    e: Emit,
    lines: &'a [Vec<&'a str>],
    at: usize,
    /// The line that the block begins with.
    block: usize,
    labels: &'a Labels<'a>,
    code: &'a mut Code,
    symbols: &'a mut dyn Symbols,
    tokens: &'a [&'a str],
    pos: usize,
    /// The bytes of what an argument points to, where it says so (`elementtype(i32)`).
    element: Option<u8>,
    /// The bits of a pointer.
    pointer: u8,
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        lines: &'a [Vec<&'a str>],
        at: usize,
        block: usize,
        labels: &'a Labels<'a>,
        code: &'a mut Code,
        symbols: &'a mut dyn Symbols,
        pointer: u8,
    ) -> Lower<'a> {
        let tokens = &lines[at];
        let e = Emit::new();
        let (pos, element) = (0, None);
        Lower { e, lines, at, block, labels, code, symbols, tokens, pos, element, pointer }
    }

    pub(super) fn instruction(mut self) -> Read<Vec<Op>> {
        let dst = match self.tokens {
            [] => return Ok(Vec::new()),
            [name, "=", ..] if name.starts_with('%') => {
                self.pos = 2;
                Some(*name)
            }
            _ => None,
        };
        while matches!(self.peek(), "tail" | "musttail" | "notail") {
            self.pos += 1;
        }
        let name = self.take();
        let result = match name {
            "load" => self.load()?,
            "store" => self.store()?,
            "atomicrmw" => self.atomicrmw()?,
            "cmpxchg" => self.cmpxchg()?,
            "fence" => self.fence()?,
            "getelementptr" => vec![self.getelementptr(",")?],
            "trunc" | "zext" | "sext" | "bitcast" | "ptrtoint" | "inttoptr" | "addrspacecast"
            | "sitofp" | "uitofp" | "fptosi" | "fptoui" | "fpext" | "fptrunc" => self.cast(name)?,
            "freeze" => {
                let ty = self.ty()?;
                self.value(&ty)?
            }
            "icmp" => self.icmp()?,
            "fcmp" => vec![self.fcmp()?],
            "fneg" => vec![self.fneg()?],
            "select" => self.select()?,
            "extractvalue" => self.extractvalue()?,
            "insertvalue" => self.insertvalue()?,
            "phi" => return self.phis(),
            "br" => return self.br(),
            "switch" => return self.switch(),
            "ret" => {
                self.e.op(Op::Halt);
                return Ok(self.e.finish());
            }
            "unreachable" => {
                // This place has no meaning, so that no execution that comes here is looked at.
                let never = self.e.int(0);
                self.e.op(Op::Assume { cond: never });
                return Ok(self.e.finish());
            }
            "call" => self.call()?,
            "alloca" => {
                return Err("unsupported: a stack slot whose address is not fixed".into());
            }
            _ => match binary(name) {
                Some(op) => self.binary(op)?,
                None => return Err(format!("unsupported: the instruction `{name}`")),
            },
        };
        self.rest()?;
        if let Some(dst) = dst {
            self.assign(dst, &result);
        }
        Ok(self.e.finish())
    }

    fn peek(&self) -> &'a str {
        self.tokens.get(self.pos).copied().unwrap_or("")
    }

    fn take(&mut self) -> &'a str {
        let token = self.peek();
        self.pos += 1;
        token
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.pos += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(format!("expected `{token}`, found {}", self.found())),
        }
    }

    fn found(&self) -> String {
        match self.peek() {
            "" => "the end of the instruction".into(),
            token => format!("`{token}`"),
        }
    }

    fn flags(&mut self) {
        while FLAGS.contains(&self.peek()) {
            self.pos += 1;
        }
    }

    /// Alignments, metadata and attributes at the end.
    fn rest(&mut self) -> Read<()> {
        loop {
            match self.tokens.get(self.pos..).unwrap_or(&[]) {
                [] => return Ok(()),
                [",", "align", _, ..] => self.pos += 3,
                [",", name, "!", "{", "}", ..] if name.starts_with('!') => self.pos += 5,
                [",", name, value, ..] if name.starts_with('!') && value.starts_with('!') => {
                    self.pos += 3;
                }
                [attribute, ..] if attribute.starts_with('#') => self.pos += 1,
                _ => {
                    return Err(format!(
                        "expected the end of the instruction, found {}",
                        self.found()
                    ));
                }
            }
        }
    }

    fn ty(&mut self) -> Read<Type> {
        let (ty, n) = Type::read(self.tokens.get(self.pos..).unwrap_or(&[]), self.pointer)?;
        self.pos += n;
        Ok(ty)
    }

    /// A type that is no aggregate, and its bits.
    fn scalar(&mut self) -> Read<(Type, u8)> {
        let ty = self.ty()?;
        match ty {
            Type::Int(bits) | Type::Pointer(bits) | Type::Float(bits) => Ok((ty, bits)),
            _ => Err("unsupported: arithmetic on aggregates".into()),
        }
    }

    fn number(&mut self) -> Read<u64> {
        let token = self.take();
        token.parse().map_err(|_| format!("expected a number, found `{token}`"))
    }

    /// The registers of a name.
    fn regs(&mut self, name: &str, count: usize) -> Vec<Reg> {
        if count == 1 {
            return vec![self.code.reg(name, 128, false)];
        }
        (0..count).map(|i| self.code.reg(&format!("{name}[{i}]"), 128, false)).collect()
    }

    fn assign(&mut self, name: &str, values: &[Temp]) {
        for (reg, value) in self.regs(name, values.len()).into_iter().zip(values) {
            self.e.write(reg, *value);
        }
    }

    /// A value of a type: its scalars.
    fn value(&mut self, ty: &Type) -> Read<Vec<Temp>> {
        let scalars = ty.scalars();
        let token = self.take();
        Ok(match token {
            "undef" | "poison" | "zeroinitializer" | "null" | "none" | "false" => {
                scalars.iter().map(|_| self.e.int(0)).collect()
            }
            "true" => vec![self.e.int(1)],
            "{" | "[" => {
                let close = if token == "{" { "}" } else { "]" };
                self.constants(close)?
            }
            "<" if self.eat("{") => {
                let all = self.constants("}")?;
                self.expect(">")?;
                all
            }
            "getelementptr" => {
                self.flags();
                self.expect("(")?;
                let address = self.getelementptr(")")?;
                self.expect(")")?;
                vec![address]
            }
            "bitcast" | "ptrtoint" | "inttoptr" | "addrspacecast" => {
                self.expect("(")?;
                let value = self.cast(token)?;
                self.expect(")")?;
                value
            }
            name if name.starts_with('%') => {
                let regs = self.regs(name, scalars.len());
                regs.into_iter().map(|r| self.e.read(r, Port::None)).collect()
            }
            name if name.starts_with('@') => {
                let loc = self.symbols.location(name[1..].trim_matches('"'));
                vec![self.e.val(Val::Ptr { loc, off: 0 })]
            }
            number if matches!(ty, Type::Float(_)) => {
                let bits = float(number, ty);
                let bits = bits.ok_or_else(|| format!("unsupported: the operand `{number}`"))?;
                vec![self.e.int(bits)]
            }
            number => {
                let bits = match (ty, number.parse::<i128>(), number.parse::<u128>()) {
                    (Type::Int(bits), Ok(n), _) => self.e.int(n as u128 & mask(*bits)),
                    (Type::Int(bits), _, Ok(n)) => self.e.int(n & mask(*bits)),
                    _ => return Err(format!("unsupported: the operand `{number}`")),
                };
                vec![bits]
            }
        })
    }

    fn constants(&mut self, close: &str) -> Read<Vec<Temp>> {
        let mut out = Vec::new();
        while !self.eat(close) {
            let ty = self.ty()?;
            out.extend(self.value(&ty)?);
            if !self.eat(",") && self.peek() != close {
                return Err(format!("expected `,` or `{close}`, found {}", self.found()));
            }
        }
        Ok(out)
    }

    /// A value with its type before it.
    fn typed(&mut self) -> Read<(Type, Vec<Temp>)> {
        let ty = self.ty()?;
        let value = self.value(&ty)?;
        Ok((ty, value))
    }

    /// A pointer with its type before it.
    fn pointer(&mut self) -> Read<Temp> {
        match self.typed()? {
            (Type::Pointer(_), value) => one(&value),
            _ => Err("expected a pointer".into()),
        }
    }

    /// Whether an operation is for threads of one processor alone, which is said before its order.
    fn single(&mut self) -> Read<bool> {
        if !self.eat("syncscope") {
            return Ok(false);
        }
        self.expect("(")?;
        let scope = self.take();
        self.expect(")")?;
        match scope {
            "\"singlethread\"" => Ok(true),
            "\"\"" => Ok(false),
            _ => Err(format!("unsupported: the scope {scope}")),
        }
    }

    fn order(&mut self) -> Read<Tags> {
        let of = match self.take() {
            "unordered" => tag::UNORDERED,
            "monotonic" => tag::C_RLX,
            "acquire" => tag::C_ACQ,
            "release" => tag::C_REL,
            "acq_rel" => tag::C_ACQ_REL,
            "seq_cst" => tag::C_SC,
            other => return Err(format!("expected an order such as `monotonic`, found `{other}`")),
        };
        Ok(of | tag::C_A)
    }

    /// The order of an access, where it is atomic.
    fn access(&mut self, atomic: bool, volatile: bool) -> Read<Tags> {
        let tags = match atomic {
            true if self.single()? => {
                return Err("unsupported: an access for one processor alone".into());
            }
            true => self.order()?,
            false => Tags::NONE,
        };
        Ok(if volatile { tags | tag::C_VOLATILE } else { tags })
    }

    fn load(&mut self) -> Read<Vec<Temp>> {
        let (atomic, volatile) = (self.eat("atomic"), self.eat("volatile"));
        let ty = self.ty()?;
        self.expect(",")?;
        let address = self.pointer()?;
        let tags = self.access(atomic, volatile)?;
        self.read_memory(&ty, address, tags)
    }

    fn read_memory(&mut self, ty: &Type, address: Temp, tags: Tags) -> Read<Vec<Temp>> {
        let mut out = Vec::new();
        for part in ty.scalars() {
            let size = bytes(part.bits)?;
            let at = self.e.add_int(address, part.at as i64, self.pointer);
            let value = self.e.load(at, size, tags);
            out.push(match u16::from(part.bits) < 8 * u16::from(size) {
                true => self.e.bin_int(BinOp::And, value, mask(part.bits), 8 * size),
                false => value,
            });
        }
        Ok(out)
    }

    fn store(&mut self) -> Read<Vec<Temp>> {
        let (atomic, volatile) = (self.eat("atomic"), self.eat("volatile"));
        let (ty, value) = self.typed()?;
        self.expect(",")?;
        let address = self.pointer()?;
        let tags = self.access(atomic, volatile)?;
        for (part, value) in ty.scalars().iter().zip(value) {
            let size = bytes(part.bits)?;
            let at = self.e.add_int(address, part.at as i64, self.pointer);
            self.e.store(at, value, size, tags);
        }
        Ok(Vec::new())
    }

    fn atomicrmw(&mut self) -> Read<Vec<Temp>> {
        let volatile = self.eat("volatile");
        let op = self.take();
        let addr = self.pointer()?;
        self.expect(",")?;
        let (ty, bits) = self.scalar()?;
        let value = self.value(&ty)?;
        let value = one(&value)?;
        let tags = self.access(true, volatile)?;
        let size = bytes(bits)?;
        let dst = self.e.temp();
        let bin = |op| move |e: &mut Emit| e.bin(op, dst, value, bits);
        let mut new = value;
        let body = match op {
            "xchg" => Vec::new(),
            "nand" => self.e.block(|e| {
                let both = bin(BinOp::And)(e);
                new = e.un(UnOp::Not, both, bits);
            }),
            _ => {
                let op = match op {
                    "add" => BinOp::Add,
                    "sub" => BinOp::Sub,
                    "and" => BinOp::And,
                    "or" => BinOp::Or,
                    "xor" => BinOp::Xor,
                    "max" => BinOp::MaxS,
                    "min" => BinOp::MinS,
                    "umax" => BinOp::MaxU,
                    "umin" => BinOp::MinU,
                    _ => return Err(format!("unsupported: `atomicrmw {op}`")),
                };
                self.e.block(|e| new = bin(op)(e))
            }
        };
        self.e.op(Op::Rmw { dst, addr, size, tags, body, new });
        Ok(vec![dst])
    }

    /// A compare-exchange takes one of two ways: a read-modify-write of the expected value, or a
    /// load of another one (a weak one, of any).
    fn cmpxchg(&mut self) -> Read<Vec<Temp>> {
        let weak = self.eat("weak");
        let volatile = self.eat("volatile");
        let addr = self.pointer()?;
        self.expect(",")?;
        let (ty, bits) = self.scalar()?;
        let want = self.value(&ty)?;
        let want = one(&want)?;
        self.expect(",")?;
        let (_, new) = self.typed()?;
        let new = one(&new)?;
        let success = self.access(true, volatile)?;
        let failure = self.order()? | success.among(tag::C_VOLATILE);
        let size = bytes(bits)?;
        let swap = Swap { addr, size, bits, want, new, weak, success, failure };
        let (old, ok) = self.e.compare_exchange(&swap);
        Ok(vec![old, ok])
    }

    fn fence(&mut self) -> Read<Vec<Temp>> {
        let single = self.single()?;
        let order = self.order()?.without(tag::C_A);
        let tags = if single { tag::C_SIGNAL } else { order };
        self.e.op(Op::Fence { tags });
        Ok(Vec::new())
    }

    /// An address, up to the sign that ends it.
    fn getelementptr(&mut self, end: &str) -> Read<Temp> {
        self.flags();
        if self.eat("inrange") {
            self.parenthesis()?;
        }
        let ty = self.ty()?;
        self.expect(",")?;
        let mut address = self.pointer()?;
        let mut ty = Type::Array(1, Box::new(ty));
        while self.peek() == "," && !(end == "," && self.behind_instruction()) {
            self.pos += 1;
            self.eat("inrange");
            let (index_ty, bits) = self.scalar()?;
            if matches!(ty, Type::Struct { .. }) {
                let index = self.number()? as usize;
                address = self.e.add_int(address, ty.offset(index) as i64, self.pointer);
                let part = ty.part(index).cloned();
                ty = part.ok_or_else(|| format!("the structure has no field {index}"))?;
                continue;
            }
            let index = self.value(&index_ty)?;
            let index = one(&index)?;
            let Type::Array(_, of) = ty else {
                return Err("an index into something that has no elements".into());
            };
            // An index that is wider than a pointer loses what is beyond it.
            let wide = match bits < self.pointer {
                true => self.e.sign_extend(index, bits, self.pointer),
                false if bits > self.pointer => {
                    self.e.un(UnOp::ZeroExt { from: self.pointer }, index, bits)
                }
                false => index,
            };
            let scaled = match of.size() {
                1 => wide,
                size => self.e.bin_int(BinOp::Mul, wide, u128::from(size), self.pointer),
            };
            address = self.e.bin(BinOp::Add, address, scaled, self.pointer);
            ty = *of;
        }
        Ok(address)
    }

    /// Whether metadata or an alignment follows a comma.
    fn behind_instruction(&self) -> bool {
        let next = self.tokens.get(self.pos + 1).copied().unwrap_or("");
        next.starts_with('!') || next == "align"
    }

    fn cast(&mut self, name: &str) -> Read<Vec<Temp>> {
        self.flags();
        let (from, values) = self.typed()?;
        self.expect("to")?;
        let to = self.ty()?;
        let bits = |ty: &Type| match ty {
            Type::Int(bits) | Type::Pointer(bits) | Type::Float(bits) => Ok(*bits),
            _ => Err(format!("unsupported: `{name}` of aggregates")),
        };
        let (from, to) = (bits(&from)?, bits(&to)?);
        let value = one(&values)?;
        Ok(vec![match name {
            "sext" => self.e.sign_extend(value, from, to),
            "sitofp" => self.e.un(UnOp::FloatFromInt { from, signed: true }, value, to),
            "uitofp" => self.e.un(UnOp::FloatFromInt { from, signed: false }, value, to),
            "fptosi" => self.e.un(UnOp::FloatToInt { from, signed: true }, value, to),
            "fptoui" => self.e.un(UnOp::FloatToInt { from, signed: false }, value, to),
            "fpext" | "fptrunc" => self.e.un(UnOp::FloatResize { from }, value, to),
            _ if to < from => self.e.un(UnOp::ZeroExt { from: to }, value, from),
            _ => value,
        }])
    }

    fn binary(&mut self, op: BinOp) -> Read<Vec<Temp>> {
        self.flags();
        let (ty, bits) = self.scalar()?;
        let a = self.value(&ty)?;
        self.expect(",")?;
        let b = self.value(&ty)?;
        let (a, b) = (one(&a)?, one(&b)?);
        Ok(vec![match op {
            BinOp::DivU | BinOp::DivS | BinOp::RemU | BinOp::RemS => self.e.divide(op, a, b, bits),
            _ => self.e.bin(op, a, b, bits),
        }])
    }

    fn icmp(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        let (op, swapped) = match self.take() {
            "eq" => (BinOp::Eq, false),
            "ne" => (BinOp::Ne, false),
            "ult" => (BinOp::LtU, false),
            "ule" => (BinOp::LeU, false),
            "ugt" => (BinOp::LtU, true),
            "uge" => (BinOp::LeU, true),
            "slt" => (BinOp::LtS, false),
            "sle" => (BinOp::LeS, false),
            "sgt" => (BinOp::LtS, true),
            "sge" => (BinOp::LeS, true),
            other => return Err(format!("expected a comparison such as `eq`, found `{other}`")),
        };
        let (ty, bits) = self.scalar()?;
        let a = self.value(&ty)?;
        self.expect(",")?;
        let b = self.value(&ty)?;
        let (a, b) = (one(&a)?, one(&b)?);
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        Ok(vec![self.e.bin(op, a, b, bits)])
    }

    /// A comparison of numbers in floating point. One that is ordered (`o...`) does not hold where one of them is no
    /// number, and the other kind is what is left of its opposite.
    fn fcmp(&mut self) -> Read<Temp> {
        self.flags();
        let name = self.take();
        let (ty, bits) = self.scalar()?;
        let a = self.value(&ty)?;
        self.expect(",")?;
        let b = self.value(&ty)?;
        let (a, b) = (one(&a)?, one(&b)?);
        let (ordered, holds) = match name {
            "false" => return Ok(self.e.int(0)),
            "true" => return Ok(self.e.int(1)),
            "oeq" => ("eq", true),
            "une" => ("eq", false),
            "olt" => ("lt", true),
            "uge" => ("lt", false),
            "ole" => ("le", true),
            "ugt" => ("le", false),
            "ogt" => ("gt", true),
            "ule" => ("gt", false),
            "oge" => ("ge", true),
            "ult" => ("ge", false),
            "one" => ("ne", true),
            "ueq" => ("ne", false),
            "ord" => ("ord", true),
            "uno" => ("ord", false),
            other => return Err(format!("expected a comparison such as `oeq`, found `{other}`")),
        };
        let e = &mut self.e;
        let found = match ordered {
            "eq" => e.bin(BinOp::FloatEq, a, b, bits),
            "lt" => e.bin(BinOp::FloatLt, a, b, bits),
            "le" => e.bin(BinOp::FloatLe, a, b, bits),
            "gt" => e.bin(BinOp::FloatLt, b, a, bits),
            "ge" => e.bin(BinOp::FloatLe, b, a, bits),
            "ne" => {
                let (less, more) =
                    (e.bin(BinOp::FloatLt, a, b, bits), e.bin(BinOp::FloatLt, b, a, bits));
                e.bin(BinOp::Or, less, more, 1)
            }
            // A NaN is not equal to itself.
            _ => {
                let (left, right) =
                    (e.bin(BinOp::FloatEq, a, a, bits), e.bin(BinOp::FloatEq, b, b, bits));
                e.bin(BinOp::And, left, right, 1)
            }
        };
        Ok(if holds { found } else { self.e.bin_int(BinOp::Xor, found, 1, 1) })
    }

    /// The sign is a bit, of what is no number, too.
    fn fneg(&mut self) -> Read<Temp> {
        self.flags();
        let (ty, bits) = self.scalar()?;
        let value = self.value(&ty)?;
        let value = one(&value)?;
        Ok(self.e.bin_int(BinOp::Xor, value, 1 << (bits - 1), bits))
    }

    fn select(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        let (_, cond) = self.typed()?;
        let cond = one(&cond)?;
        self.expect(",")?;
        let (_, yes) = self.typed()?;
        self.expect(",")?;
        let (_, no) = self.typed()?;
        Ok(yes.into_iter().zip(no).map(|(y, n)| self.e.select(cond, y, n)).collect())
    }

    /// The scalars of a part of an aggregate, by the indices that follow.
    fn part(&mut self, ty: &Type) -> Read<std::ops::Range<usize>> {
        let (mut ty, mut first) = (ty.clone(), 0);
        while self.peek() == "," && !self.behind_instruction() {
            self.pos += 1;
            let index = self.number()? as usize;
            let missing = || format!("the aggregate has no part {index}");
            for before in 0..index.min(ty.parts()) {
                first += ty.part(before).map_or(0, Type::count) as usize;
            }
            ty = ty.part(index).ok_or_else(missing)?.clone();
        }
        Ok(first..first + ty.count() as usize)
    }

    fn extractvalue(&mut self) -> Read<Vec<Temp>> {
        let (ty, values) = self.typed()?;
        let part = self.part(&ty)?;
        values.get(part).map(<[Temp]>::to_vec).ok_or_else(|| "expected an aggregate".into())
    }

    fn insertvalue(&mut self) -> Read<Vec<Temp>> {
        let (ty, mut values) = self.typed()?;
        self.expect(",")?;
        let (_, new) = self.typed()?;
        let part = self.part(&ty)?;
        if values.get(part.clone()).is_none_or(|old| old.len() != new.len()) {
            return Err("expected a value of the part's type".into());
        }
        values.splice(part, new);
        Ok(values)
    }

    /// All phi instructions of a block take their values at once; the first one stands for them.
    fn phis(mut self) -> Read<Vec<Op>> {
        let is_phi = |line: &&Vec<&str>| matches!(line[..], [_, "=", "phi", ..]);
        let before = self.at.checked_sub(1).and_then(|i| self.lines.get(i));
        if self.at != self.block && before.as_ref().is_some_and(is_phi) {
            return Ok(Vec::new());
        }
        let from = self.code.reg(FROM, 64, false);
        let from = self.e.read(from, Port::None);
        let mut values = Vec::new();
        for line in self.lines[self.at..].iter().take_while(is_phi) {
            (self.tokens, self.pos) = (line, 3);
            self.flags();
            let ty = self.ty()?;
            let mut chosen: Option<Vec<Temp>> = None;
            loop {
                self.expect("[")?;
                let value = self.value(&ty)?;
                self.expect(",")?;
                let block = self.label_name()?;
                self.expect("]")?;
                chosen = Some(match chosen {
                    None => value,
                    Some(other) => {
                        let here = self.e.bin_int(BinOp::Eq, from, u128::from(block), 64);
                        let each = value.into_iter().zip(other);
                        each.map(|(v, o)| self.e.select(here, v, o)).collect()
                    }
                });
                if self.peek() != "," || self.behind_instruction() {
                    break;
                }
                self.pos += 1;
            }
            self.rest()?;
            values.push((line[0], chosen.unwrap_or_default()));
        }
        for (name, value) in values {
            self.assign(name, &value);
        }
        Ok(self.e.finish())
    }

    /// A block by its label.
    fn label_name(&mut self) -> Read<u32> {
        let token = self.take();
        let name = token.strip_prefix('%').unwrap_or(token).trim_matches('"');
        self.labels.find(name, self.at).ok_or_else(|| format!("no label `{name}` in this thread"))
    }

    fn target(&mut self) -> Read<u32> {
        self.expect("label")?;
        self.label_name()
    }

    /// Says for phi instructions which block ends here.
    fn leave(&mut self) {
        let from = self.code.reg(FROM, 64, false);
        let block = self.e.int(self.block as u128);
        self.e.write(from, block);
    }

    fn br(mut self) -> Read<Vec<Op>> {
        self.leave();
        if self.peek() == "label" {
            let target = self.target()?;
            self.rest()?;
            self.e.op(Op::Jump { target });
            return Ok(self.e.finish());
        }
        let (_, cond) = self.typed()?;
        let cond = one(&cond)?;
        self.expect(",")?;
        let yes = self.target()?;
        self.expect(",")?;
        let no = self.target()?;
        self.rest()?;
        let (yes, no) = (vec![Op::Jump { target: yes }], vec![Op::Jump { target: no }]);
        self.e.op(Op::If { cond, yes, no });
        Ok(self.e.finish())
    }

    fn switch(mut self) -> Read<Vec<Op>> {
        self.leave();
        let (ty, bits) = self.scalar()?;
        let value = self.value(&ty)?;
        let value = one(&value)?;
        self.expect(",")?;
        let default = self.target()?;
        self.expect("[")?;
        let mut cases = Vec::new();
        while !self.eat("]") {
            let (_, case) = self.typed()?;
            let case = one(&case)?;
            self.expect(",")?;
            let target = self.target()?;
            let cond = self.e.bin(BinOp::Eq, value, case, bits);
            cases.push((cond, target));
        }
        self.rest()?;
        let last = vec![Op::Jump { target: default }];
        let ops = cases.into_iter().rev().fold(last, |no, (cond, target)| {
            vec![Op::If { cond, yes: vec![Op::Jump { target }], no }]
        });
        ops.into_iter().for_each(|op| self.e.op(op));
        Ok(self.e.finish())
    }

    fn parenthesis(&mut self) -> Read<()> {
        let n = types::skip(self.tokens.get(self.pos..).unwrap_or(&[]));
        self.pos += n.ok_or("a parenthesis that is not closed")?;
        Ok(())
    }

    fn call(&mut self) -> Read<Vec<Temp>> {
        // Calling conventions and attributes of what is returned.
        while !types::begins(self.peek()) {
            match self.take() {
                "" => return Err("expected a function".into()),
                "(" => {
                    self.pos -= 1;
                    self.parenthesis()?;
                }
                _ => {}
            }
        }
        let ty = self.ty()?;
        if self.peek() == "(" {
            self.parenthesis()?;
        }
        let name = self.take();
        if name == "asm" {
            return self.asm();
        }
        let Some(name) = name.strip_prefix('@') else {
            return Err("unsupported: a call through a pointer".into());
        };
        if SILENT.iter().any(|silent| name.starts_with(silent)) {
            self.parenthesis()?;
            while self.peek().starts_with('#') || self.peek() == "[" {
                match self.peek() {
                    "[" => self.parenthesis()?,
                    _ => self.pos += 1,
                }
            }
            return Ok(Vec::new());
        }
        self.expect("(")?;
        let mut args: Vec<(Type, Vec<Temp>)> = Vec::new();
        let mut literals: Vec<&str> = Vec::new();
        while !self.eat(")") {
            let ty = self.ty()?;
            self.attributes()?;
            literals.push(self.peek());
            let value = self.value(&ty)?;
            args.push((ty, value));
            if !self.eat(",") && self.peek() != ")" {
                return Err(format!("expected `,` or `)`, found {}", self.found()));
            }
        }
        self.intrinsic(name, &ty, &args, &literals)
    }

    /// Attributes between the type and the value of an argument.
    fn attributes(&mut self) -> Read<()> {
        loop {
            let token = self.peek();
            let word = token.starts_with(|c: char| c.is_ascii_alphabetic());
            if !word || VALUES.contains(&token) {
                return Ok(());
            }
            self.pos += 1;
            if token == "elementtype" && self.peek() == "(" {
                let bits = self.tokens.get(self.pos + 1).and_then(|t| t.strip_prefix('i'));
                self.element = bits.and_then(|b| b.parse::<u8>().ok()).map(|bits| bits / 8);
            }
            if self.peek() == "(" {
                self.parenthesis()?;
            } else if token == "align" {
                self.pos += 1;
            }
        }
    }

    /// Assembly between instructions. An empty one keeps compilers from moving code across it and
    /// does nothing else.
    fn asm(&mut self) -> Read<Vec<Temp>> {
        while matches!(self.peek(), "sideeffect" | "alignstack" | "inteldialect" | "unwind") {
            self.pos += 1;
        }
        let text = self.take();
        if text != "\"\"" {
            return Err(format!("unsupported: the assembly {text}"));
        }
        self.expect(",")?;
        self.take();
        self.parenthesis()?;
        self.e.op(Op::Fence { tags: tag::C_SIGNAL });
        Ok(Vec::new())
    }

    fn intrinsic(
        &mut self,
        name: &str,
        ty: &Type,
        args: &[(Type, Vec<Temp>)],
        literals: &[&str],
    ) -> Read<Vec<Temp>> {
        let arg = |i: usize| args.get(i).ok_or("too few arguments").and_then(|(_, v)| first(v));
        let starts = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
        let bits = match ty {
            Type::Int(bits) | Type::Float(bits) => *bits,
            _ => self.pointer,
        };
        let plain = [
            ("llvm.umax.", BinOp::MaxU),
            ("llvm.umin.", BinOp::MinU),
            ("llvm.smax.", BinOp::MaxS),
            ("llvm.smin.", BinOp::MinS),
        ];
        if let Some((_, op)) = plain.iter().find(|(p, _)| name.starts_with(p)) {
            return Ok(vec![self.e.bin(*op, arg(0)?, arg(1)?, bits)]);
        }
        let unary = [
            ("llvm.ctpop.", UnOp::PopCount),
            ("llvm.bswap.", UnOp::ByteSwap),
            ("llvm.bitreverse.", UnOp::BitReverse),
            ("llvm.ctlz.", UnOp::Clz),
        ];
        if let Some((_, op)) = unary.iter().find(|(p, _)| name.starts_with(p)) {
            return Ok(vec![self.e.un(*op, arg(0)?, bits)]);
        }
        if starts(&[
            "llvm.expect.",
            "llvm.launder.",
            "llvm.strip.",
            "llvm.ssa.copy",
            "llvm.threadlocal.address",
        ]) {
            return Ok(vec![arg(0)?]);
        }
        if starts(&["llvm.fabs."]) {
            return Ok(vec![self.e.bin_int(BinOp::And, arg(0)?, mask(bits - 1), bits)]);
        }
        // It may be rounded once or twice.
        if starts(&["llvm.fmuladd."]) {
            let product = self.e.bin(BinOp::FloatMul, arg(0)?, arg(1)?, bits);
            return Ok(vec![self.e.bin(BinOp::FloatAdd, product, arg(2)?, bits)]);
        }
        if starts(&["llvm.abs."]) {
            let (a, zero) = (arg(0)?, self.e.int(0));
            let negative = self.e.un(UnOp::Neg, a, bits);
            let below = self.e.bin(BinOp::LtS, a, zero, bits);
            return Ok(vec![self.e.select(below, negative, a)]);
        }
        if starts(&["llvm.memcpy.", "llvm.memmove.", "llvm.memset."]) {
            let volatile = literals.get(3) == Some(&"true");
            let tags = if volatile { tag::C_VOLATILE } else { Tags::NONE };
            let size: u64 = literals
                .get(2)
                .and_then(|n| n.parse().ok())
                .filter(|n| *n <= MOST_COPIED)
                .ok_or_else(|| format!("unsupported: `{name}` of unknown or great size"))?;
            let (to, from) = (arg(0)?, arg(1)?);
            if starts(&["llvm.memset."]) {
                let ones = self.e.int(u128::from(u64::MAX / 0xff));
                let byte = self.e.bin_int(BinOp::And, from, 0xff, 64);
                let pattern = self.e.bin(BinOp::Mul, byte, ones, 64);
                for (at, n) in pieces(size, self.pointer / 8) {
                    let to = self.e.add_int(to, at as i64, self.pointer);
                    self.e.store(to, pattern, n, tags);
                }
                return Ok(Vec::new());
            }
            // All is read before any of it is written, as of memory that overlaps.
            let mut read = Vec::new();
            for (at, n) in pieces(size, self.pointer / 8) {
                let from = self.e.add_int(from, at as i64, self.pointer);
                read.push((at, n, self.e.load(from, n, tags)));
            }
            for (at, n, value) in read {
                let to = self.e.add_int(to, at as i64, self.pointer);
                self.e.store(to, value, n, tags);
            }
            return Ok(Vec::new());
        }
        if let Some(operation) = name.strip_prefix("__atomic_") {
            return self.library(operation, ty, args, literals);
        }
        let values: Vec<Vec<Temp>> = args.iter().map(|(_, values)| values.clone()).collect();
        if let Some(values) = self.of_target(name, &values, literals)? {
            return Ok(values);
        }
        match name.starts_with("llvm.") {
            true => Err(format!("unsupported: the intrinsic `{name}`")),
            false => Err(format!("unsupported: a call of `{name}`, which is no function here")),
        }
    }
}

impl Lower<'_> {
    /// An operation of `libatomic`, which compilers call for objects that they do not access
    /// themselves: with its size in its name and values by value, or with the size as the first
    /// argument and values through pointers.
    fn library(
        &mut self,
        operation: &str,
        ty: &Type,
        args: &[(Type, Vec<Temp>)],
        literals: &[&str],
    ) -> Read<Vec<Temp>> {
        let unknown = || format!("unsupported: the library's `__atomic_{operation}`");
        let sized =
            operation.rsplit_once('_').and_then(|(op, n)| Some((op, n.parse::<u8>().ok()?)));
        let (op, size, first, by_value) = match sized {
            Some((op, size)) => (op, size, 0, true),
            None => {
                let size = literals.first().and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
                (operation, size, 1, false)
            }
        };
        let bits = match size {
            1 | 2 | 4 | 8 | 16 => size * 8,
            _ => return Err(unknown()),
        };
        let arg = |i: usize| args.get(first + i).ok_or_else(unknown).and_then(|(_, v)| one(v));
        let order = |i: usize| -> Read<Tags> {
            let of = [tag::C_RLX, tag::C_ACQ, tag::C_ACQ, tag::C_REL, tag::C_ACQ_REL, tag::C_SC];
            let number = literals.get(first + i).and_then(|n| n.parse::<usize>().ok());
            number.and_then(|n| of.get(n)).map(|t| *t | tag::C_A).ok_or_else(unknown)
        };
        // A value that is given, by itself or through a pointer.
        let given = |this: &mut Self, i: usize| -> Read<Temp> {
            let value = arg(i)?;
            Ok(if by_value { value } else { this.e.load(value, size, Tags::NONE) })
        };
        let addr = arg(0)?;
        match op {
            "load" => {
                let value = self.e.load(addr, size, order(if by_value { 1 } else { 2 })?);
                if !by_value {
                    self.e.store(arg(1)?, value, size, Tags::NONE);
                }
                Ok(if by_value { vec![value] } else { Vec::new() })
            }
            "store" => {
                let value = given(self, 1)?;
                self.e.store(addr, value, size, order(2)?);
                Ok(Vec::new())
            }
            "exchange" => {
                let (new, dst) = (given(self, 1)?, self.e.temp());
                let tags = order(if by_value { 2 } else { 3 })?;
                self.e.op(Op::Rmw { dst, addr, size, tags, body: Vec::new(), new });
                if !by_value {
                    self.e.store(arg(2)?, dst, size, Tags::NONE);
                }
                Ok(if by_value { vec![dst] } else { Vec::new() })
            }
            "compare_exchange" => {
                let want = self.e.load(arg(1)?, size, Tags::NONE);
                let new = given(self, 2)?;
                let (success, failure) = (order(3)?, order(4)?);
                let swap = Swap { addr, size, bits, want, new, weak: false, success, failure };
                let (old, ok) = self.e.compare_exchange(&swap);
                let expected = arg(1)?;
                let no = self.e.block(|e| e.store(expected, old, size, Tags::NONE));
                self.e.op(Op::If { cond: ok, yes: Vec::new(), no });
                Ok(vec![ok])
            }
            _ => {
                let (op, new_value) = match (op.strip_prefix("fetch_"), op.strip_suffix("_fetch")) {
                    (Some(op), _) => (op, false),
                    (None, Some(op)) => (op, true),
                    (None, None) => return Err(unknown()),
                };
                let op = match op {
                    "add" => BinOp::Add,
                    "sub" => BinOp::Sub,
                    "and" => BinOp::And,
                    "or" => BinOp::Or,
                    "xor" => BinOp::Xor,
                    _ => return Err(unknown()),
                };
                if *ty == Type::Void || !by_value {
                    return Err(unknown());
                }
                let (value, dst, tags) = (arg(1)?, self.e.temp(), order(2)?);
                let mut new = value;
                let body = self.e.block(|e| new = e.bin(op, dst, value, bits));
                self.e.op(Op::Rmw { dst, addr, size, tags, body, new });
                Ok(vec![if new_value { self.e.bin(op, dst, value, bits) } else { dst }])
            }
        }
    }
}

/// Pieces of a run of bytes that are accessed at once: words, each as wide as a pointer, and what is left.
fn pieces(size: u64, word: u8) -> Vec<(u64, u8)> {
    let (mut at, mut out) = (0, Vec::new());
    while at < size {
        let n = [8, 4, 2, 1]
            .into_iter()
            .find(|n| *n <= word && u64::from(*n) <= size - at)
            .unwrap_or(1);
        out.push((at, n));
        at += u64::from(n);
    }
    out
}

fn first(values: &[Temp]) -> Result<Temp, &'static str> {
    match values {
        [one] => Ok(*one),
        _ => Err("unsupported: an argument that is an aggregate"),
    }
}

fn one(values: &[Temp]) -> Read<Temp> {
    match values {
        [one] => Ok(*one),
        _ => Err("expected a value that is no aggregate".into()),
    }
}

/// The bytes of an access to so many bits.
fn bytes(bits: u8) -> Read<u8> {
    let size = bits.div_ceil(8);
    match size.is_power_of_two() && size <= 16 {
        true => Ok(size),
        false => Err(format!("unsupported: an access to {bits} bits")),
    }
}

fn binary(name: &str) -> Option<BinOp> {
    Some(match name {
        "add" => BinOp::Add,
        "sub" => BinOp::Sub,
        "mul" => BinOp::Mul,
        "udiv" => BinOp::DivU,
        "sdiv" => BinOp::DivS,
        "urem" => BinOp::RemU,
        "srem" => BinOp::RemS,
        "and" => BinOp::And,
        "or" => BinOp::Or,
        "xor" => BinOp::Xor,
        "shl" => BinOp::Shl,
        "lshr" => BinOp::Shr,
        "ashr" => BinOp::Sar,
        "fadd" => BinOp::FloatAdd,
        "fsub" => BinOp::FloatSub,
        "fmul" => BinOp::FloatMul,
        "fdiv" => BinOp::FloatDiv,
        _ => return None,
    })
}

/// The bits of a number in floating point: as a decimal number, or by the bits that it has as a `double`, whichever
/// type it has.
fn float(text: &str, ty: &Type) -> Option<u128> {
    let number = match text.strip_prefix("0x") {
        Some(bits) => f64::from_bits(u64::from_str_radix(bits, 16).ok()?),
        None => text.parse().ok().filter(|_| text.contains('.'))?,
    };
    Some(match ty {
        Type::Float(32) => (number as f32).to_bits().into(),
        _ => number.to_bits().into(),
    })
}
