//! The meaning of one instruction as micro-ops.
//!
//! Values that are no scalars are lists of scalars, each in a register of its own. Which block ran before is in
//! a register that ends of blocks set and phi instructions read. What SPIR-V leaves open (`OpUndef`) is 0. It
//! does not know the other instructions of the thread.

use std::rc::Rc;

use super::Instruction;
use super::declare::{Declared, integer};
use super::memory::{self, Semantics};
use super::types::Type;
use crate::microcode::{Emit, Swap, mask};
use litmake_ops::{BinOp, Code, Op, Port, Reg, Tags, Temp, UnOp, tag};

type Read<T> = Result<T, String>;

/// The register that says which block ran before.
const FROM: &str = "%.from";

pub struct Lower<'a> {
    e: Emit,
    lines: &'a [Instruction<'a>],
    at: usize,
    /// The line of the block's label.
    block: usize,
    declared: &'a Declared<'a>,
    code: &'a mut Code,
    line: &'a Instruction<'a>,
}

impl<'a> Lower<'a> {
    pub fn new(
        lines: &'a [Instruction<'a>],
        at: usize,
        block: usize,
        declared: &'a Declared<'a>,
        code: &'a mut Code,
    ) -> Lower<'a> {
        Lower { e: Emit::new(), lines, at, block, declared, code, line: &lines[at] }
    }

    pub fn instruction(mut self) -> Read<Vec<Op>> {
        let line = self.line;
        if Declared::is_declaration(line.op) {
            return Ok(Vec::new());
        }
        let result = match line.op {
            "OpVariable" => {
                self.initialise()?;
                return Ok(self.e.finish());
            }
            "OpPhi" => return self.phis(),
            "OpBranch" => {
                self.leave();
                let target = self.target(0)?;
                self.e.op(Op::Jump { target });
                return Ok(self.e.finish());
            }
            "OpBranchConditional" => {
                let cond = self.scalar(0)?;
                self.leave();
                let (yes, no) = (self.target(1)?, self.target(2)?);
                let (yes, no) = (vec![Op::Jump { target: yes }], vec![Op::Jump { target: no }]);
                self.e.op(Op::If { cond, yes, no });
                return Ok(self.e.finish());
            }
            "OpSwitch" => return self.switch(),
            "OpReturn" => {
                self.e.op(Op::Halt);
                return Ok(self.e.finish());
            }
            "OpUnreachable" => {
                // This place has no meaning, so that no execution that comes here is looked at.
                let never = self.e.int(0);
                self.e.op(Op::Assume { cond: never });
                return Ok(self.e.finish());
            }
            "OpFunctionParameter" => {
                return Err(
                    "a thread's function has no parameters: name a location by a variable, \
                            as in `%x = OpVariable %pointer StorageBuffer`"
                        .into(),
                );
            }
            "OpFunctionCall" => {
                return Err("unsupported: a call; the code of the function stands here".into());
            }
            _ => self.computed()?,
        };
        if let Some(dst) = line.result {
            let expected = self.declared.ty(line.operand(0)?)?.count() as usize;
            if expected != result.len() {
                return Err("the result's type does not fit the operands".into());
            }
            self.assign(dst, &result);
        }
        Ok(self.e.finish())
    }

    /// The values that the instruction computes.
    fn computed(&mut self) -> Read<Vec<Temp>> {
        let line = self.line;
        if let Some(values) = self.in_memory()? {
            return Ok(values);
        }
        if let Some(op) = binary(line.op) {
            let bits = self.bits(line.operand(1)?)?;
            return self.each(1, 2, |e, v| match op {
                BinOp::DivU | BinOp::DivS | BinOp::RemU | BinOp::RemS => {
                    e.divide(op, v[0], v[1], bits)
                }
                _ => e.bin(op, v[0], v[1], bits),
            });
        }
        if let Some((op, swapped)) = comparison(line.op) {
            let bits = self.bits(line.operand(1)?)?;
            return self.each(1, 2, |e, v| {
                let (a, b) = if swapped { (v[1], v[0]) } else { (v[0], v[1]) };
                e.bin(op, a, b, bits)
            });
        }
        let result = || line.operand(0).and_then(|id| self.declared.ty(id).cloned());
        Ok(match line.op {
            "OpUndef" => {
                let count = result()?.scalars()?.len();
                (0..count).map(|_| self.e.int(0)).collect()
            }
            "OpCopyObject" | "OpCopyLogical" | "OpExpectKHR" => self.values(line.operand(1)?)?,
            // An address is one number, whatever it is said to point to.
            "OpBitcast"
            | "OpPtrCastToGeneric"
            | "OpGenericCastToPtr"
            | "OpGenericCastToPtrExplicit"
            | "OpConvertPtrToU"
            | "OpConvertUToPtr" => {
                let values = self.values(line.operand(1)?)?;
                let (from, to) = (self.bits(line.operand(1)?)?, scalar_bits(&*result()?)?);
                match values[..] {
                    [one] if to < from => vec![self.e.un(UnOp::ZeroExt { from: to }, one, from)],
                    [one] => vec![one],
                    _ => return Err("unsupported: a cast of a value of several parts".into()),
                }
            }
            "OpUConvert" | "OpSConvert" => {
                let (from, to) = (self.bits(line.operand(1)?)?, scalar_bits(&*result()?)?);
                let signed = line.op == "OpSConvert";
                self.each(1, 1, |e, v| match (signed, to < from) {
                    (_, true) => e.un(UnOp::ZeroExt { from: to }, v[0], from),
                    (true, false) => e.sign_extend(v[0], from, to),
                    (false, false) => v[0],
                })?
            }
            "OpSNegate" | "OpNot" | "OpBitReverse" | "OpBitCount" | "OpLogicalNot" => {
                let bits = self.bits(line.operand(1)?)?;
                let op = match line.op {
                    "OpSNegate" => UnOp::Neg,
                    "OpBitReverse" => UnOp::BitReverse,
                    "OpBitCount" => UnOp::PopCount,
                    "OpLogicalNot" => UnOp::IsZero,
                    _ => UnOp::Not,
                };
                self.each(1, 1, |e, v| e.un(op, v[0], bits))?
            }
            "OpSMod" => return Err("unsupported: the instruction OpSMod".into()),
            "OpSelect" => {
                let cond = self.values(line.operand(1)?)?;
                let (yes, no) = (self.values(line.operand(2)?)?, self.values(line.operand(3)?)?);
                let at = |i: usize| cond.get(i).or(cond.first()).copied().ok_or("no condition");
                let mut out = Vec::new();
                for (i, (y, n)) in yes.into_iter().zip(no).enumerate() {
                    out.push(self.e.select(at(i)?, y, n));
                }
                out
            }
            "OpExtInst" => self.extended()?,
            _ => self.composed()?,
        })
    }

    /// Values that are made of others: vectors, structures, and addresses of their parts.
    fn composed(&mut self) -> Read<Vec<Temp>> {
        let line = self.line;
        Ok(match line.op {
            "OpAll" | "OpAny" => {
                let mut parts = self.values(line.operand(1)?)?.into_iter();
                let first = parts.next().ok_or("a vector without parts")?;
                let op = if line.op == "OpAll" { BinOp::And } else { BinOp::Or };
                vec![parts.fold(first, |all, part| self.e.bin(op, all, part, 1))]
            }
            "OpCompositeConstruct" => {
                let mut all = Vec::new();
                for part in &line.operands[1..] {
                    all.extend(self.values(part)?);
                }
                all
            }
            "OpCompositeExtract" => {
                let ty = self.declared.type_of(line.operand(1)?)?.clone();
                let values = self.values(line.operand(1)?)?;
                let (part, _) = ty.range(&indices(&line.operands[2..])?)?;
                values.get(part).map(<[Temp]>::to_vec).ok_or("there is no such part")?
            }
            "OpCompositeInsert" => {
                let new = self.values(line.operand(1)?)?;
                let ty = self.declared.type_of(line.operand(2)?)?.clone();
                let mut values = self.values(line.operand(2)?)?;
                let (part, _) = ty.range(&indices(&line.operands[3..])?)?;
                if values.get(part.clone()).is_none_or(|old| old.len() != new.len()) {
                    return Err("expected a value of the part's type".into());
                }
                values.splice(part, new);
                values
            }
            "OpAccessChain" | "OpInBoundsAccessChain" => vec![self.chain(2, None)?],
            "OpPtrAccessChain" | "OpInBoundsPtrAccessChain" => {
                let pointer = self.declared.type_of(line.operand(1)?)?.clone();
                let of = self.declared.pointee(&pointer)?.size();
                let stride = match &*pointer {
                    Type::Pointer { stride: Some(stride), .. } => *stride,
                    _ => of,
                };
                vec![self.chain(3, Some(stride))?]
            }
            op => return Err(format!("unsupported: the instruction {op}")),
        })
    }

    /// Instructions that access memory, or order accesses to it.
    fn in_memory(&mut self) -> Read<Option<Vec<Temp>>> {
        let line = self.line;
        let declared = self.declared;
        Ok(Some(match line.op {
            "OpLoad" => {
                let ty = declared.ty(line.operand(0)?)?.clone();
                let tags = memory::plain(declared, line.operand(1)?, &line.operands[2..], false)?;
                let address = self.scalar(1)?;
                let mut out = Vec::new();
                for part in ty.scalars()? {
                    let at = self.e.add_int(address, part.at as i64, 64);
                    let (size, odd) = bytes(part.bits);
                    let value = self.e.load(at, size, tags);
                    out.push(match odd {
                        true => self.e.bin_int(BinOp::And, value, mask(part.bits), 8 * size),
                        false => value,
                    });
                }
                out
            }
            "OpStore" => {
                let ty = declared.type_of(line.operand(1)?)?.clone();
                let tags = memory::plain(declared, line.operand(0)?, &line.operands[2..], true)?;
                let address = self.scalar(0)?;
                let values = self.values(line.operand(1)?)?;
                for (part, value) in ty.scalars()?.into_iter().zip(values) {
                    let at = self.e.add_int(address, part.at as i64, 64);
                    self.e.store(at, value, bytes(part.bits).0, tags);
                }
                Vec::new()
            }
            "OpMemoryBarrier" => {
                let scope = memory::scope(declared, line.operand(0)?)?;
                let semantics = Semantics::read(declared, line.operand(1)?)?;
                if semantics.orders() {
                    let tags = semantics.barrier(scope, true, true);
                    self.e.op(Op::Fence { tags });
                }
                Vec::new()
            }
            // A release, the meeting of the invocations, and an acquire.
            "OpControlBarrier" => {
                let meeting = memory::scope(declared, line.operand(0)?)?;
                let scope = memory::scope(declared, line.operand(1)?)?;
                let semantics = Semantics::read(declared, line.operand(2)?)?;
                let mut part = |tags| self.e.op(Op::Fence { tags: tag::C_PART | tags });
                if semantics.release {
                    part(semantics.barrier(scope, false, true));
                }
                part(tag::CBAR | meeting);
                if semantics.acquire {
                    part(semantics.barrier(scope, true, false));
                }
                Vec::new()
            }
            "OpAtomicLoad" => {
                let tags = self.atomic(2, 3, true, false)?;
                let (size, _) = self.access(1)?;
                let address = self.scalar(1)?;
                vec![self.e.load(address, size, tags)]
            }
            "OpAtomicStore" => {
                let tags = self.atomic(1, 2, false, true)?;
                let (size, _) = self.access(0)?;
                let (address, value) = (self.scalar(0)?, self.scalar(3)?);
                self.e.store(address, value, size, tags);
                Vec::new()
            }
            "OpAtomicFlagTestAndSet" => {
                let tags = self.atomic(2, 3, true, true)?;
                let (size, _) = self.access(1)?;
                let (addr, new) = (self.scalar(1)?, self.e.int(1));
                let old = self.e.rmw(addr, size, tags, |_, _| new);
                vec![self.e.bin_int(BinOp::Ne, old, 0, 8 * size)]
            }
            "OpAtomicFlagClear" => {
                let tags = self.atomic(1, 2, false, true)?;
                let (size, _) = self.access(0)?;
                let (address, value) = (self.scalar(0)?, self.e.int(0));
                self.e.store(address, value, size, tags);
                Vec::new()
            }
            "OpAtomicCompareExchange" | "OpAtomicCompareExchangeWeak" => {
                vec![self.compare_exchange(line.op.ends_with("Weak"))?]
            }
            op => match update(op) {
                Some(how) => vec![self.read_modify_write(how)?],
                None if op.starts_with("OpAtomic") => {
                    return Err(format!("unsupported: the instruction {op}"));
                }
                None => return Ok(None),
            },
        }))
    }

    fn read_modify_write(&mut self, how: Update) -> Read<Temp> {
        let tags = self.atomic(2, 3, true, true)?;
        let (size, bits) = self.access(1)?;
        let addr = self.scalar(1)?;
        let operand = match how {
            Update::By(_) | Update::Swap => self.scalar(4)?,
            Update::One(_) => self.e.int(1),
        };
        Ok(self.e.rmw(addr, size, tags, |e, old| match how {
            Update::Swap => operand,
            Update::By(op) | Update::One(op) => e.bin(op, old, operand, bits),
        }))
    }

    /// The value found.
    fn compare_exchange(&mut self, weak: bool) -> Read<Temp> {
        let line = self.line;
        let success = self.atomic(2, 3, true, true)?;
        let failure = self.atomic(2, 4, true, false)?;
        let (size, bits) = self.access(1)?;
        let addr = self.scalar(1)?;
        let (new, want) = (self.one(line.operand(5)?)?, self.one(line.operand(6)?)?);
        let swap = Swap { addr, size, bits, want, new, weak, success, failure };
        Ok(self.e.compare_exchange(&swap).0)
    }

    /// The annotations of an atomic operation, by its operands for the scope and the semantics.
    fn atomic(&self, scope: usize, semantics: usize, reads: bool, writes: bool) -> Read<Tags> {
        let scope = memory::scope(self.declared, self.line.operand(scope)?)?;
        let semantics = Semantics::read(self.declared, self.line.operand(semantics)?)?;
        Ok(semantics.atomic(scope, reads, writes))
    }

    /// The bytes and bits of the object that a pointer operand points to.
    fn access(&self, pointer: usize) -> Read<(u8, u8)> {
        let ty = self.declared.type_of(self.line.operand(pointer)?)?;
        let bits = scalar_bits(self.declared.pointee(ty)?)?;
        Ok((bytes(bits).0, bits))
    }

    /// The address that an access chain computes from the indices that begin at an operand. With `stride`,
    /// the index before these steps over whole objects.
    fn chain(&mut self, from: usize, stride: Option<u64>) -> Read<Temp> {
        let line = self.line;
        let declared = self.declared;
        let base = declared.type_of(line.operand(1)?)?;
        let mut ty: Rc<Type> = declared.pointee(base)?.clone();
        let mut address = self.scalar(1)?;
        if let Some(stride) = stride {
            let index = line.operand(from - 1)?;
            address = self.step(address, index, stride)?;
        }
        for index in &line.operands[from..] {
            let next = match &*ty {
                Type::Struct(_) => {
                    let number = declared.number(index)? as u64;
                    let part = ty.part(number).map(|(ty, at)| (ty.clone(), at));
                    let (next, at) = part.ok_or_else(|| format!("there is no part {number}"))?;
                    address = self.e.add_int(address, at as i64, 64);
                    next
                }
                Type::Array { of, stride, .. } => {
                    address = self.step(address, index, *stride)?;
                    of.clone()
                }
                _ => return Err("an index into something that has no parts".into()),
            };
            ty = next;
        }
        Ok(address)
    }

    fn step(&mut self, address: Temp, index: &str, stride: u64) -> Read<Temp> {
        let bits = self.bits(index)?;
        let index = self.one(index)?;
        let wide = self.e.sign_extend(index, bits, 64);
        let scaled = match stride {
            1 => wide,
            stride => self.e.bin_int(BinOp::Mul, wide, u128::from(stride), 64),
        };
        Ok(self.e.bin(BinOp::Add, address, scaled, 64))
    }

    /// Functions of the extended sets that compute with integers.
    fn extended(&mut self) -> Read<Vec<Temp>> {
        let name = self.line.operand(2)?;
        let op = match name {
            "UMin" | "u_min" => BinOp::MinU,
            "UMax" | "u_max" => BinOp::MaxU,
            "SMin" | "s_min" => BinOp::MinS,
            "SMax" | "s_max" => BinOp::MaxS,
            _ => return Err(format!("unsupported: the extended instruction {name}")),
        };
        let bits = self.bits(self.line.operand(3)?)?;
        self.each(3, 2, |e, v| e.bin(op, v[0], v[1], bits))
    }

    /// An operation on each scalar of some operands.
    fn each(
        &mut self,
        from: usize,
        count: usize,
        op: impl Fn(&mut Emit, &[Temp]) -> Temp,
    ) -> Read<Vec<Temp>> {
        let mut operands = Vec::new();
        for i in from..from + count {
            operands.push(self.values(self.line.operand(i)?)?);
        }
        let parts = operands.first().map_or(0, Vec::len);
        if operands.iter().any(|o| o.len() != parts) {
            return Err("the operands have different numbers of parts".into());
        }
        let part = |i: usize| operands.iter().map(|o| o[i]).collect::<Vec<_>>();
        Ok((0..parts).map(|i| op(&mut self.e, &part(i))).collect())
    }

    /// The bits of each scalar of a value.
    fn bits(&self, id: &str) -> Read<u8> {
        scalar_bits(self.declared.type_of(id)?)
    }

    /// The scalars of a value, a constant or a variable's address.
    fn values(&mut self, id: &str) -> Read<Vec<Temp>> {
        if let Some(constant) = self.declared.constants.get(id) {
            return Ok(constant.values.iter().map(|v| self.e.int(*v)).collect());
        }
        if let Some(variable) = self.declared.variables.get(id) {
            return Ok(vec![self.e.val(variable.place)]);
        }
        let count = self.declared.type_of(id)?.scalars()?.len();
        let regs = self.regs(id, count);
        Ok(regs.into_iter().map(|r| self.e.read(r, Port::None)).collect())
    }

    fn one(&mut self, id: &str) -> Read<Temp> {
        match self.values(id)?[..] {
            [one] => Ok(one),
            _ => Err(format!("{id} has several parts")),
        }
    }

    /// An operand of one scalar.
    fn scalar(&mut self, operand: usize) -> Read<Temp> {
        let id = self.line.operand(operand)?;
        self.one(id)
    }

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

    /// Writes the initialiser of a variable that belongs to one invocation.
    fn initialise(&mut self) -> Read<()> {
        let line = self.line;
        let (Some(id), Some(value)) = (line.result, line.operands.get(2)) else { return Ok(()) };
        let ty = self.declared.type_of(value)?.clone();
        let (address, values) = (self.one(id)?, self.values(value)?);
        for (part, value) in ty.scalars()?.into_iter().zip(values) {
            let at = self.e.add_int(address, part.at as i64, 64);
            self.e.store(at, value, bytes(part.bits).0, Tags::NONE);
        }
        Ok(())
    }

    /// All phi instructions of a block take their values at once; the first one stands for them.
    fn phis(mut self) -> Read<Vec<Op>> {
        let is_phi = |line: &&Instruction| line.op == "OpPhi";
        if self.at > 0 && is_phi(&&self.lines[self.at - 1]) {
            return Ok(Vec::new());
        }
        let from = self.code.reg(FROM, 64, false);
        let from = self.e.read(from, Port::None);
        let mut all = Vec::new();
        for line in self.lines[self.at..].iter().take_while(is_phi) {
            let mut chosen: Option<Vec<Temp>> = None;
            for pair in line.operands[1..].chunks(2) {
                let [value, block] = pair else { return Err("a value without its block".into()) };
                let value = self.values(value)?;
                let block = self.label(block)?;
                chosen = Some(match chosen {
                    None => value,
                    Some(other) => {
                        let here = self.e.bin_int(BinOp::Eq, from, u128::from(block), 64);
                        let each = value.into_iter().zip(other);
                        each.map(|(v, o)| self.e.select(here, v, o)).collect()
                    }
                });
            }
            let name = line.result.ok_or("a phi without a result")?;
            all.push((name, chosen.unwrap_or_default()));
        }
        for (name, values) in all {
            self.assign(name, &values);
        }
        Ok(self.e.finish())
    }

    fn label(&self, id: &str) -> Read<u32> {
        let line = self.declared.labels.get(id).copied();
        line.ok_or_else(|| format!("there is no label {id} in this thread"))
    }

    fn target(&self, operand: usize) -> Read<u32> {
        self.label(self.line.operand(operand)?)
    }

    /// Records for phi instructions which block ends here.
    fn leave(&mut self) {
        let from = self.code.reg(FROM, 64, false);
        let block = self.e.int(self.block as u128);
        self.e.write(from, block);
    }

    fn switch(mut self) -> Read<Vec<Op>> {
        let line = self.line;
        let bits = self.bits(line.operand(0)?)?;
        let value = self.scalar(0)?;
        self.leave();
        let mut cases = Vec::new();
        for pair in line.operands[2..].chunks(2) {
            let [case, target] = pair else { return Err("a case without its label".into()) };
            let case = integer(case)? & mask(bits);
            cases.push((self.e.bin_int(BinOp::Eq, value, case, bits), self.label(target)?));
        }
        let last = vec![Op::Jump { target: self.target(1)? }];
        let ops = cases.into_iter().rev().fold(last, |no, (cond, target)| {
            vec![Op::If { cond, yes: vec![Op::Jump { target }], no }]
        });
        ops.into_iter().for_each(|op| self.e.op(op));
        Ok(self.e.finish())
    }
}

fn indices(words: &[&str]) -> Read<Vec<u64>> {
    words.iter().map(|w| super::declare::literal(w)).collect()
}

/// The bits of a scalar type, or of each part of a vector.
fn scalar_bits(ty: &Type) -> Read<u8> {
    match ty {
        Type::Bool => Ok(1),
        Type::Int(bits) => Ok(*bits),
        Type::Pointer { .. } => Ok(64),
        Type::Array { of, .. } => scalar_bits(of),
        Type::Other(why) => Err(why.clone()),
        Type::Void | Type::Struct(_) => Err("expected a number".into()),
    }
}

/// The bytes of an access to so many bits, and whether bits are left over.
fn bytes(bits: u8) -> (u8, bool) {
    let size = bits.div_ceil(8).max(1);
    (size, !bits.is_multiple_of(8))
}

/// How a read-modify-write makes the new value.
#[derive(Clone, Copy)]
enum Update {
    Swap,
    By(BinOp),
    One(BinOp),
}

fn update(name: &str) -> Option<Update> {
    Some(match name {
        "OpAtomicExchange" => Update::Swap,
        "OpAtomicIIncrement" => Update::One(BinOp::Add),
        "OpAtomicIDecrement" => Update::One(BinOp::Sub),
        "OpAtomicIAdd" => Update::By(BinOp::Add),
        "OpAtomicISub" => Update::By(BinOp::Sub),
        "OpAtomicSMin" => Update::By(BinOp::MinS),
        "OpAtomicUMin" => Update::By(BinOp::MinU),
        "OpAtomicSMax" => Update::By(BinOp::MaxS),
        "OpAtomicUMax" => Update::By(BinOp::MaxU),
        "OpAtomicAnd" => Update::By(BinOp::And),
        "OpAtomicOr" => Update::By(BinOp::Or),
        "OpAtomicXor" => Update::By(BinOp::Xor),
        _ => return None,
    })
}

fn binary(name: &str) -> Option<BinOp> {
    Some(match name {
        "OpIAdd" => BinOp::Add,
        "OpISub" => BinOp::Sub,
        "OpIMul" => BinOp::Mul,
        "OpUDiv" => BinOp::DivU,
        "OpSDiv" => BinOp::DivS,
        "OpUMod" => BinOp::RemU,
        "OpSRem" => BinOp::RemS,
        "OpBitwiseAnd" | "OpLogicalAnd" => BinOp::And,
        "OpBitwiseOr" | "OpLogicalOr" => BinOp::Or,
        "OpBitwiseXor" => BinOp::Xor,
        "OpShiftLeftLogical" => BinOp::Shl,
        "OpShiftRightLogical" => BinOp::Shr,
        "OpShiftRightArithmetic" => BinOp::Sar,
        _ => return None,
    })
}

/// A comparison, and whether its operands are exchanged.
fn comparison(name: &str) -> Option<(BinOp, bool)> {
    Some(match name {
        "OpIEqual" | "OpLogicalEqual" | "OpPtrEqual" => (BinOp::Eq, false),
        "OpINotEqual" | "OpLogicalNotEqual" | "OpPtrNotEqual" => (BinOp::Ne, false),
        "OpULessThan" => (BinOp::LtU, false),
        "OpULessThanEqual" => (BinOp::LeU, false),
        "OpUGreaterThan" => (BinOp::LtU, true),
        "OpUGreaterThanEqual" => (BinOp::LeU, true),
        "OpSLessThan" => (BinOp::LtS, false),
        "OpSLessThanEqual" => (BinOp::LeS, false),
        "OpSGreaterThan" => (BinOp::LtS, true),
        "OpSGreaterThanEqual" => (BinOp::LeS, true),
        _ => return None,
    })
}
