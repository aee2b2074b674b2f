//! Builds the instructions of one thread: values, the instructions they live in, and labels.
//!
//! Accesses of one full expression that C leaves unsequenced stand in one instruction, whose
//! events program order leaves unordered; an access that needs the result of another stands in a
//! later one. A value that crosses from one instruction to another goes through a register that
//! no source name can name. It does not know C's constructs.

use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_litmus::c::types::ValueType;
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{BinOp, Code, Inst, Op, Port, Reg, Tags, Temp, UnOp, Undefined, Val};
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;
use std::hash::Hash;

/// Bound of the instructions of one thread, helpers inlined.
const MAX_INSTS: usize = 20_000;

/// The result of an expression.
#[derive(Clone, Debug)]
pub struct Value {
    pub ty: ValueType,
    pub src: Src,
    /// The instruction in which a temporary lives.
    home: usize,
    /// The first instruction in which an access that needs this value may stand.
    pub after: usize,
}

#[derive(Clone, Debug)]
pub enum Src {
    /// Zero-extended from the type's width.
    Const(u128),
    Temp(Temp),
    /// A register that the rest of the full expression leaves alone.
    Reg(Reg),
    /// The address of a local variable, which has none at run time.
    Local(usize),
    /// Nothing (a call of a function that returns nothing).
    Void,
}

/// The state of an instruction while more may be added to it.
#[derive(Default)]
struct State {
    next: Temp,
    /// Temporaries that were copied to a register for later instructions.
    spilled: Few<Temp, Reg>,
    /// Registers and constants read in it.
    reads: Few<(Reg, Port), Temp>,
    consts: Few<Val, Temp>,
}

/// A map that rarely has more than a few entries: a list, with a table behind it.
struct Few<K, V> {
    list: SmallVec<[(K, V); 2]>,
    table: HashMap<K, V>,
}

/// The most entries of the list.
const LISTED: usize = 16;

impl<K, V> Default for Few<K, V> {
    fn default() -> Few<K, V> {
        Few { list: SmallVec::new(), table: HashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> Few<K, V> {
    fn get(&self, key: K) -> Option<V> {
        let listed = self.list.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        listed.or_else(|| if self.table.is_empty() { None } else { self.table.get(&key).copied() })
    }

    /// Adds an entry for a key that has none.
    fn add(&mut self, key: K, value: V) {
        if self.list.len() < LISTED {
            self.list.push((key, value));
        } else {
            self.table.insert(key, value);
        }
    }

    fn retain(&mut self, keep: impl Fn(K) -> bool) {
        self.list.retain(|(k, _)| keep(*k));
        self.table.retain(|k, _| keep(*k));
    }
}

pub type LabelId = usize;

/// Ops that are collected for a place inside another op of the instruction.
pub struct List {
    inst: usize,
    ops: Vec<Op>,
}

pub struct Builder<'a> {
    source: &'a Source,
    pub code: Code,
    states: Vec<State>,
    /// The first instruction that is open for ops of the current full expression.
    base: usize,
    /// Where pure ops go while the body of a read-modify-write or a branch of an `If` is built.
    sink: Option<List>,
    labels: Vec<Option<u32>>,
    /// Instructions whose target is a label not yet resolved.
    jumps: Vec<(usize, LabelId)>,
    spills: usize,
    span: Span,
}

pub fn mask(value: u128, bits: u8) -> u128 {
    match bits {
        128.. => value,
        bits => value & ((1u128 << bits) - 1),
    }
}

impl<'a> Builder<'a> {
    pub fn new(source: &'a Source) -> Builder<'a> {
        Builder {
            source,
            code: Code { insts: Vec::with_capacity(4), ..Code::default() },
            states: Vec::with_capacity(4),
            base: 0,
            sink: None,
            labels: Vec::with_capacity(4),
            jumps: Vec::new(),
            spills: 0,
            span: Span::default(),
        }
    }

    /// Sets the part of the test that the next instructions come from.
    pub fn at(&mut self, span: Span) {
        self.span = span;
    }

    /// Ends the instructions so far: what follows is ordered after them.
    pub fn flush(&mut self) {
        self.base = self.code.insts.len();
    }

    pub fn here(&self) -> usize {
        self.base
    }

    /// An error at the part of the test that is being lowered.
    #[cold]
    pub fn refuse(&self, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, self.span, message)
    }

    fn open(&mut self, inst: usize) -> Result<()> {
        while self.code.insts.len() <= inst {
            if self.code.insts.len() >= MAX_INSTS {
                return Err(Diag::at(
                    self.source,
                    self.span,
                    "this thread is too long with its helper functions inlined",
                )
                .help(format!("at most {MAX_INSTS} steps are taken in")));
            }
            let text = self
                .source
                .text
                .get(self.span.start as usize..self.span.end as usize)
                .unwrap_or("");
            let bytes = text.as_bytes();
            let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or(&[]));
            // Without leaving early, so that many bytes are looked at at once.
            let control = bytes.iter().fold(false, |found, b| found | (*b < b' '));
            let double = pairs.fold(false, |found, (a, b)| found | (*a == b' ' && *b == b' '));
            let text = match control || double {
                true => text.split_whitespace().collect::<Vec<_>>().join(" "),
                false => text.to_string(),
            };
            self.code.insts.push(Inst { ops: Vec::with_capacity(4), text, span: self.span });
            self.states.push(State::default());
        }
        Ok(())
    }

    pub fn temp(&mut self, inst: usize) -> Result<Temp> {
        self.open(inst)?;
        let state = &mut self.states[inst];
        let t = state.next;
        match t.checked_add(1) {
            Some(next) => state.next = next,
            None => {
                return Err(Diag::at(self.source, self.span, "this expression is too long"));
            }
        }
        Ok(t)
    }

    /// Adds an op at the end of an instruction, before the branch that may end it.
    fn push(&mut self, inst: usize, op: Op) {
        let ops = &mut self.code.insts[inst].ops;
        match ops.last() {
            Some(Op::Branch { .. } | Op::Jump { .. } | Op::Halt) => ops.insert(ops.len() - 1, op),
            _ => ops.push(op),
        }
    }

    /// Adds an op to an open instruction.
    pub fn emit(&mut self, inst: usize, op: Op) {
        match &mut self.sink {
            Some(list) => list.ops.push(op),
            None => self.push(inst, op),
        }
    }

    /// Starts a list of ops for a place inside another op of an instruction: what is emitted from
    /// here on goes to it. Constants and registers that are read for the first time are still
    /// read before it. Gives the list around it, for [`Builder::end_list`].
    pub fn start_list(&mut self, inst: usize) -> Option<List> {
        let ops = Vec::new();
        self.sink.replace(List { inst, ops })
    }

    pub fn end_list(&mut self, outer: Option<List>) -> Vec<Op> {
        let list = std::mem::replace(&mut self.sink, outer);
        list.map(|l| l.ops).unwrap_or_default()
    }

    /// Whether what is emitted goes to such a list.
    pub fn in_list(&self) -> bool {
        self.sink.is_some()
    }

    // Values.

    pub fn constant(&self, ty: ValueType, value: u128) -> Value {
        let value = mask(value, ty.bits());
        Value { ty, src: Src::Const(value), home: 0, after: 0 }
    }

    pub fn register(&self, ty: ValueType, reg: Reg) -> Value {
        Value { ty, src: Src::Reg(reg), home: 0, after: 0 }
    }

    pub fn local(&self, ty: ValueType, local: usize) -> Value {
        Value { ty, src: Src::Local(local), home: 0, after: 0 }
    }

    pub fn void(&self) -> Value {
        Value { ty: ValueType::Void, src: Src::Void, home: 0, after: 0 }
    }

    /// A temporary of an instruction as a value; accesses that need it stand later where it is
    /// the result of an access.
    pub fn result(&self, ty: ValueType, inst: usize, temp: Temp, access: bool) -> Value {
        Value { ty, src: Src::Temp(temp), home: inst, after: inst + usize::from(access) }
    }

    /// The value of a register as it is now.
    pub fn read(&mut self, ty: ValueType, reg: Reg) -> Result<Value> {
        let inst = self.base;
        let dst = self.temp(inst)?;
        self.push(inst, Op::ReadReg { dst, reg, port: Port::None });
        Ok(self.result(ty, inst, dst, false))
    }

    /// The value in a temporary of the given instruction.
    pub fn use_in(&mut self, v: &Value, inst: usize, port: Port) -> Result<Temp> {
        self.open(inst)?;
        match v.src {
            Src::Const(value) => self.const_in(Val::Int(value), inst),
            Src::Reg(reg) => self.reg_in(reg, inst, port),
            Src::Temp(t) if v.home == inst => Ok(t),
            Src::Temp(t) => {
                let reg = self.spill(v.home, t, v.ty.bits());
                self.reg_in(reg, inst, port)
            }
            Src::Local(_) | Src::Void => Err(Diag::at(
                self.source,
                self.span,
                match v.src {
                    Src::Void => "this has no value",
                    _ => "the address of a local variable is used as a value",
                },
            )
            .help(match v.src {
                Src::Void => "use the result of something else",
                _ => {
                    "locals are registers; their address can only be the `expected` argument of \
                     a compare-exchange, or passed to a helper function"
                }
            })),
        }
    }

    pub fn const_in(&mut self, val: Val, inst: usize) -> Result<Temp> {
        self.open(inst)?;
        if let Some(t) = self.states[inst].consts.get(val) {
            return Ok(t);
        }
        let dst = self.temp(inst)?;
        self.push(inst, Op::Const { dst, val });
        self.states[inst].consts.add(val, dst);
        Ok(dst)
    }

    fn reg_in(&mut self, reg: Reg, inst: usize, port: Port) -> Result<Temp> {
        if let Some(t) = self.states[inst].reads.get((reg, port)) {
            return Ok(t);
        }
        let dst = self.temp(inst)?;
        self.push(inst, Op::ReadReg { dst, reg, port });
        self.states[inst].reads.add((reg, port), dst);
        Ok(dst)
    }

    /// The register that holds a temporary of an earlier instruction.
    fn spill(&mut self, inst: usize, temp: Temp, bits: u8) -> Reg {
        if let Some(r) = self.states[inst].spilled.get(temp) {
            return r;
        }
        let reg = self.scratch(bits);
        self.push(inst, Op::WriteReg { reg, src: temp });
        self.states[inst].spilled.add(temp, reg);
        reg
    }

    /// A new register that no source name can name.
    pub fn scratch(&mut self, bits: u8) -> Reg {
        self.spills += 1;
        let name = format!("#{}", self.spills);
        self.code.reg(&name, bits, false)
    }

    pub fn write(&mut self, v: &Value, reg: Reg) -> Result<()> {
        let inst = self.home(&[v]);
        let src = self.use_in(v, inst, Port::None)?;
        self.emit(inst, Op::WriteReg { reg, src });
        // Reads of the register from here on are others.
        self.states[inst].reads.retain(|(r, _)| r != reg);
        Ok(())
    }

    /// The instruction in which an op without effect on memory over these values stands.
    pub fn home(&self, values: &[&Value]) -> usize {
        let homes = values.iter().map(|v| v.home);
        let home = homes.max().unwrap_or(0).max(self.base);
        home.max(self.sink.as_ref().map_or(0, |list| list.inst))
    }

    /// The instruction in which an access that needs these values stands.
    pub fn access_home(&self, values: &[&Value]) -> usize {
        let after = values.iter().map(|v| v.after).max().unwrap_or(0);
        after.max(self.home(values))
    }

    // Ops.

    pub fn un(&mut self, op: UnOp, a: &Value, ty: ValueType, width: u8) -> Result<Value> {
        if let Src::Const(value) = a.src
            && let Some(Val::Int(value)) = eval_un(op, Val::Int(value), width)
        {
            return Ok(self.constant(ty, value));
        }
        let inst = self.home(&[a]);
        let a_temp = self.use_in(a, inst, Port::None)?;
        let dst = self.temp(inst)?;
        self.emit(inst, Op::Un { dst, op, a: a_temp, width });
        let mut out = self.result(ty, inst, dst, false);
        out.after = out.after.max(a.after);
        Ok(out)
    }

    pub fn bin(
        &mut self,
        op: BinOp,
        a: &Value,
        b: &Value,
        ty: ValueType,
        width: u8,
    ) -> Result<Value> {
        if let (Src::Const(x), Src::Const(y)) = (&a.src, &b.src)
            && let Some(Val::Int(value)) = eval_bin(op, Val::Int(*x), Val::Int(*y), width)
        {
            return Ok(self.constant(ty, value));
        }
        let inst = self.home(&[a, b]);
        let (x, y) = (self.use_in(a, inst, Port::None)?, self.use_in(b, inst, Port::None)?);
        let dst = self.temp(inst)?;
        self.emit(inst, Op::Bin { dst, op, a: x, b: y, width });
        let mut out = self.result(ty, inst, dst, false);
        out.after = out.after.max(a.after).max(b.after);
        Ok(out)
    }

    pub fn select(&mut self, cond: &Value, yes: &Value, no: &Value) -> Result<Value> {
        if let Src::Const(c) = cond.src {
            let mut out = if c != 0 { yes.clone() } else { no.clone() };
            out.after = out.after.max(cond.after);
            return Ok(out);
        }
        let inst = self.home(&[cond, yes, no]);
        let c = self.use_in(cond, inst, Port::None)?;
        let y = self.use_in(yes, inst, Port::None)?;
        let n = self.use_in(no, inst, Port::None)?;
        let dst = self.temp(inst)?;
        self.emit(inst, Op::Select { dst, cond: c, yes: y, no: n });
        let mut out = self.result(yes.ty.clone(), inst, dst, false);
        out.after = out.after.max(cond.after).max(yes.after).max(no.after);
        Ok(out)
    }

    /// The behaviour is undefined where the value is not 0.
    pub fn undefined(&mut self, cond: &Value, what: Undefined) -> Result<()> {
        let inst = self.home(&[cond]);
        let cond = self.use_in(cond, inst, Port::None)?;
        self.emit(inst, Op::Undefined { cond, what });
        Ok(())
    }

    pub fn fence(&mut self, tags: Tags) -> Result<()> {
        self.flush();
        let inst = self.base;
        self.open(inst)?;
        self.emit(inst, Op::Fence { tags });
        self.flush();
        Ok(())
    }

    pub fn control(&mut self, depth: u16, enter: bool) -> Result<()> {
        self.flush();
        let inst = self.base;
        self.open(inst)?;
        self.emit(inst, Op::Control { depth, enter });
        self.flush();
        Ok(())
    }

    // Control.

    pub fn label(&mut self) -> LabelId {
        self.labels.push(None);
        self.labels.len() - 1
    }

    pub fn place(&mut self, label: LabelId) {
        self.flush();
        self.labels[label] = Some(self.base as u32);
    }

    pub fn jump(&mut self, label: LabelId) -> Result<()> {
        self.flush();
        let inst = self.base;
        self.open(inst)?;
        self.emit(inst, Op::Jump { target: 0 });
        self.jumps.push((inst, label));
        self.flush();
        Ok(())
    }

    /// Goes to the label where the value is not 0. The branch is an instruction of its own
    /// where the value comes from an access.
    pub fn branch(&mut self, cond: &Value, label: LabelId) -> Result<()> {
        let inst = self.access_home(&[cond]);
        if inst > self.home(&[cond]) || inst + 1 < self.code.insts.len() {
            self.flush();
        }
        let inst = self.home(&[cond]);
        let cond = self.use_in(cond, inst, Port::None)?;
        self.emit(inst, Op::Branch { cond, target: 0 });
        self.jumps.push((inst, label));
        self.flush();
        Ok(())
    }

    /// The finished code: labels become instruction numbers, and jumps to the next instruction
    /// and empty instructions go away.
    pub fn finish(mut self) -> Code {
        self.flush();
        let end = self.code.insts.len() as u32;
        for &(inst, label) in &self.jumps {
            let to = self.labels[label].unwrap_or(end);
            if let Some(Op::Branch { target, .. } | Op::Jump { target }) =
                self.code.insts[inst].ops.last_mut()
            {
                *target = to;
            }
        }
        loop {
            let keep: Vec<bool> = self
                .code
                .insts
                .iter()
                .enumerate()
                .map(|(i, inst)| match inst.ops.as_slice() {
                    [] => false,
                    [Op::Jump { target }] => *target as usize != i + 1,
                    _ => true,
                })
                .collect();
            if keep.iter().all(|k| *k) {
                return self.code;
            }
            let mut to = Vec::with_capacity(keep.len() + 1);
            let mut n = 0;
            for k in &keep {
                to.push(n);
                n += u32::from(*k);
            }
            to.push(n);
            let mut kept = keep.iter();
            self.code.insts.retain(|_| *kept.next().unwrap_or(&true));
            for inst in &mut self.code.insts {
                if let Some(Op::Branch { target, .. } | Op::Jump { target }) = inst.ops.last_mut() {
                    *target = to.get(*target as usize).copied().unwrap_or(n);
                }
            }
        }
    }
}
