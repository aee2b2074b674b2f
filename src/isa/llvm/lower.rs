//! Reads one instruction and says its meaning as micro-ops.
//!
//! Values that are aggregates are lists of scalars, each in a register of its own. Which block ran
//! before is in a register that ends of blocks set and phi instructions read. Flags under which a
//! result is poison (`nsw`, `inbounds`, `exact`, ...) are passed over: the result that the machine has
//! is one that poison may be. It does not know the other instructions of the thread.

mod call;
mod compute;
mod float;
mod memory;
mod target;

use super::types::{self, Type};
use crate::microcode::{Emit, Labels, mask};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Op, Port, Reg, Tags, Temp, UnOp, Val, tag};

type Read<T> = Result<T, String>;

/// The register that says which block ran before.
const FROM: &str = "%.from";

/// Words behind an instruction's name that say when its result is poison, or how likely it is.
const FLAGS: &[&str] = &[
    "nsw", "nuw", "exact", "disjoint", "nneg", "inbounds", "nusw", "samesign",
    // Under these, numbers in floating point may have other values than the one that is computed.
    "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc",
];

/// The thread that an instruction is in.
pub(super) struct Thread<'a> {
    pub(super) lines: &'a [Vec<&'a str>],
    pub(super) labels: &'a Labels<'a>,
    /// The bytes of its atomic accesses.
    pub(super) atomics: &'a [u8],
}

pub(super) struct Lower<'a> {
    e: Emit,
    lines: &'a [Vec<&'a str>],
    at: usize,
    /// The line that the block begins with.
    block: usize,
    labels: &'a Labels<'a>,
    atomics: &'a [u8],
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
        thread: Thread<'a>,
        at: usize,
        block: usize,
        code: &'a mut Code,
        symbols: &'a mut dyn Symbols,
        pointer: u8,
    ) -> Lower<'a> {
        let Thread { lines, labels, atomics } = thread;
        let (e, tokens) = (Emit::new(), &lines[at]);
        let (pos, element) = (0, None);
        Lower { e, lines, at, block, labels, atomics, code, symbols, tokens, pos, element, pointer }
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
            "fcmp" => self.fcmp()?,
            "fneg" => self.fneg()?,
            "select" => self.select()?,
            "extractvalue" => self.extractvalue()?,
            "insertvalue" => self.insertvalue()?,
            "extractelement" => vec![self.extractelement()?],
            "insertelement" => self.insertelement()?,
            "shufflevector" => self.shufflevector()?,
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
            _ => match compute::binary(name) {
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
        match lane(&ty).filter(|_| !matches!(ty, Type::Vector(..))) {
            Some(bits) => Ok((ty, bits)),
            None => Err("unsupported: arithmetic on aggregates".into()),
        }
    }

    /// A type that is computed with, lane by lane: a scalar or a vector. Gives it with the bits of a lane.
    fn lanes(&mut self) -> Read<(Type, u8)> {
        let ty = self.ty()?;
        let bits = lane(&ty).ok_or("unsupported: arithmetic on aggregates")?;
        Ok((ty, bits))
    }

    /// Two operands of one type, as pairs of their lanes, with the type and the bits of a lane.
    fn operands(&mut self) -> Read<(Vec<[Temp; 2]>, Type, u8)> {
        let (ty, bits) = self.lanes()?;
        let a = self.value(&ty)?;
        self.expect(",")?;
        let b = self.value(&ty)?;
        let pairs = a.into_iter().zip(b).map(|(a, b)| [a, b]);
        Ok((pairs.collect(), ty, bits))
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
            "<" => self.constants(">")?,
            "splat" => {
                self.expect("(")?;
                let (_, lane) = self.typed()?;
                self.expect(")")?;
                vec![one(&lane)?; scalars.len()]
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
            number => {
                let value = match (ty, number.parse::<i128>(), number.parse::<u128>()) {
                    (Type::Int(bits), Ok(n), _) => Some(self.e.int(n as u128 & mask(*bits))),
                    (Type::Int(bits), _, Ok(n)) => Some(self.e.int(n & mask(*bits))),
                    (Type::Float(format), ..) => float::constant(&mut self.e, number, *format),
                    _ => None,
                };
                let value = value.ok_or_else(|| format!("unsupported: the operand `{number}`"))?;
                vec![value]
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
            let (Type::Array(_, of) | Type::Vector(_, of)) = ty else {
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
}

fn one(values: &[Temp]) -> Read<Temp> {
    match values {
        [one] => Ok(*one),
        _ => Err("expected a value that is no aggregate".into()),
    }
}

/// The bits of a scalar, or of a vector's lanes.
fn lane(ty: &Type) -> Option<u8> {
    match ty {
        Type::Int(bits) | Type::Pointer(bits) => Some(*bits),
        Type::Float(format) => Some(format.bits()),
        Type::Vector(_, of) => lane(of),
        _ => None,
    }
}
