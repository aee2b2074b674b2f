//! Lists the code of a function and of all functions that it calls: calls are replaced by the code
//! that they run, and each instruction has its meaning.
//!
//! It does not know values; a call through a register is left open until its target is known.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::image::{Function, Image};
use litmake_base::diag::{Diag, Source, Span};
use litmake_base::failure::Failure;
use litmake_isa::Isa;
use litmake_isa::machine::{Decoded, Flow, Mem, Operand, State};
use litmake_isa::rows;
use litmake_litmus::{Line, Symbols, Type};
use litmake_ops::{BinOp, Code, Op, Port, Reg, Tags, Val};

use super::copies::{self, Bytes};
use super::endian;
use super::locks;
use super::stubs::Stub;
use litmake_isa::target::{RETURN, Special, Target};

const MAX_NODES: usize = 4096;
const MAX_DEPTH: usize = 8;
/// A function that calls itself is put in so many times, one inside another; as many as in C.
const MAX_RECURSION: usize = litmake_lang::c11::lower::MAX_RECURSION;

/// The kinds of instructions, which decide how they are written.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A decoded instruction.
    Insn(Decoded),
    /// Sets registers to known values, which are in [`Node::ops`].
    Made,
    /// Puts the address of the lock of the object that the first parameter points to into this
    /// register.
    Lock(&'static str),
    /// A jump that inlining adds.
    Goto,
    /// A jump or call through a register with an unknown target.
    Open(Decoded),
    /// A copy whose size is in this register and is still unknown.
    Copy(&'static str),
    /// Only a label.
    Nothing,
    /// Code that is not understood, and why. Libraries contain much code that a test never runs.
    Unclear(Failure),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub at: u64,
    pub kind: Kind,
    pub ops: Vec<Op>,
    /// The number of the function's call that it belongs to; 0 for the function's own code.
    pub call: usize,
}

/// The list of instructions, with the registers that their ops name. Jumps go to indices in the
/// list; its length is the end.
pub struct Flat {
    pub nodes: Vec<Node>,
    pub code: Code,
}

pub struct Expand<'a> {
    pub image: &'a Image,
    pub target: &'a Target,
    /// The known targets of jumps and calls through registers.
    pub resolved: &'a BTreeMap<u64, u64>,
    /// The known sizes of copies and comparisons.
    pub sizes: &'a BTreeMap<u64, u64>,
    /// The function that stands for an ifunc.
    pub instead: &'a dyn Fn(&str) -> Option<String>,
    /// The function that an ifunc's resolver chooses.
    pub choose: &'a dyn Fn(&Function) -> Option<Function>,
    /// The effect that calls of a function are taken to have, where they are not followed.
    pub stub: &'a dyn Fn(&str) -> Option<Stub>,
    /// The functions whose calls were not followed for that reason.
    pub stubbed: &'a RefCell<BTreeMap<String, Stub>>,
    /// Whether calls are replaced by their code; otherwise they end the code.
    pub inlines: bool,
}

/// The target of a call.
enum Callee {
    Function(Function, u64),
    /// A function of the C library on bytes.
    Bytes(Bytes),
}

enum Draft {
    Insn(Decoded),
    /// An instruction that reads its own address, through this register in its text.
    Here(Decoded, &'static str, u64),
    Set(String, u64),
    Load(String, u64, u8, bool),
    AddStack(i64),
    /// A call that pushes the return address.
    Push(u64),
    /// As [`Kind::Lock`].
    Lock(&'static str),
    /// The part of a return that restores registers.
    Restore(Decoded),
    Goto,
    Open(Decoded),
    Copy(&'static str),
    Nothing,
    Unclear(Failure),
    /// The end of the code, at a call that is not followed.
    Stop,
}

/// A function that is being expanded.
struct Body {
    /// The label of each instruction, by its address.
    ids: HashMap<u64, usize>,
    /// The labels of code behind the function, which its branches go to.
    stubs: BTreeMap<u64, usize>,
    /// The label behind the call.
    ret: usize,
}

#[derive(Default)]
struct Lists {
    drafts: Vec<(u64, Draft, usize)>,
    lines: Vec<Line>,
    pending: Vec<usize>,
    labels: usize,
    /// The starts of the functions that are being expanded, the innermost last.
    active: Vec<u64>,
    /// The number of calls so far, and the call that is being expanded.
    calls: usize,
    call: usize,
}

/// Inlined code names no location.
struct NoSymbols;

impl Symbols for NoSymbols {
    fn location(&mut self, _: &str) -> u16 {
        u16::MAX
    }
    fn declare(&mut self, _: &str, _: &Type) -> u16 {
        u16::MAX
    }
}

fn name(label: usize) -> String {
    format!("l{label}l")
}

impl Lists {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn push(&mut self, at: u64, draft: Draft, text: String) -> Result<(), Failure> {
        if self.lines.len() >= MAX_NODES {
            return Err(Failure::unsupported(format!(
                "the code has over {MAX_NODES} instructions"
            )));
        }
        let labels = self.pending.drain(..).map(name).collect();
        self.lines.push(Line { labels, text, span: Span::default() });
        self.drafts.push((at, draft, self.call));
        Ok(())
    }

    /// Marks instructions whose text cannot be read as not understood.
    fn without_unclear(&mut self, isa: &dyn Isa) {
        let source = Source::new("object code", "");
        for (line, (_, draft, _)) in self.lines.iter_mut().zip(&mut self.drafts) {
            let alone = Line { labels: Vec::new(), ..line.clone() };
            if !matches!(draft, Draft::Insn(d) if code_operand(d).is_none()) {
                continue;
            }
            if let Err(e) = isa.thread(&source, &[alone], &mut NoSymbols) {
                *draft = Draft::Unclear(unread(&e));
                line.text.clear();
            }
        }
    }
}

fn unread(e: &Diag) -> Failure {
    Failure::unsupported(&e.message)
}

impl Expand<'_> {
    pub fn run(&self, function: &Function) -> Result<Flat, Failure> {
        let mut lists = Lists::default();
        let end = lists.label();
        self.function(function, function.start, end, &mut lists)?;
        // The end gets a line of its own while the meaning of lines is looked up.
        lists.pending.push(end);
        lists.push(0, Draft::Nothing, String::new())?;
        let isa = litmake_isa::of(self.target.arch).ok_or("C has no machine code")?;
        let source = Source::new("object code", "");
        let mut code = match isa.thread(&source, &lists.lines, &mut NoSymbols) {
            Ok(code) => code,
            Err(_) => {
                lists.without_unclear(isa);
                isa.thread(&source, &lists.lines, &mut NoSymbols).map_err(|e| unread(&e))?
            }
        };
        let mut nodes = Vec::with_capacity(lists.drafts.len());
        let insts = std::mem::take(&mut code.insts);
        for ((at, draft, call), inst) in lists.drafts.into_iter().zip(insts) {
            let (kind, ops) = self.node(at, draft, inst.ops, &mut code)?;
            nodes.push(Node { at, kind, ops, call });
        }
        Ok(Flat { nodes, code })
    }

    fn node(
        &self,
        at: u64,
        draft: Draft,
        mut ops: Vec<Op>,
        code: &mut Code,
    ) -> Result<(Kind, Vec<Op>), Failure> {
        let isa = litmake_isa::of(self.target.arch).ok_or("C has no machine code")?;
        let mut reg = |name: &str| {
            let r = isa.register(name).ok_or_else(|| format!("{name} is no register"))?;
            Ok::<_, Failure>((code.reg(&r.name, r.bits, r.signed), r.bits))
        };
        Ok(match draft {
            Draft::Insn(d) if self.image.big && !endian::knows(self.target.arch, &d, &ops) => {
                let why = Failure::unsupported(format!(
                    "`{}` loads or stores several registers, and their order in big-endian code is unknown",
                    d.mnemonic
                ));
                (Kind::Unclear(why), vec![Op::Halt])
            }
            Draft::Insn(d) => {
                if self.image.big {
                    endian::swap_vectors(self.target.arch, &d, &mut ops);
                }
                (Kind::Insn(d), ops)
            }
            Draft::Here(d, name, value) => {
                let (own, _) = reg(name)?;
                set_to(&mut ops, own, Val::Int(value.into()));
                (Kind::Insn(d), ops)
            }
            Draft::Restore(d) => {
                ops.retain(|op| !matches!(op, Op::JumpTo { .. } | Op::Halt));
                (Kind::Insn(d), ops)
            }
            Draft::Set(name, value) => {
                let (reg, _) = reg(&name)?;
                let val = Val::Int(value.into());
                (Kind::Made, vec![Op::Const { dst: 0, val }, Op::WriteReg { reg, src: 0 }])
            }
            Draft::Load(name, from, size, signed) => {
                let (reg, bits) = reg(&name)?;
                let value = self.image.read(from, size).ok_or_else(|| {
                    Failure::unsupported(format!(
                        "a constant at {from:#x}, where nothing lies (code at {at:#x})"
                    ))
                })?;
                let value = match signed {
                    true => {
                        litmake_ops::eval::sign_extend(value, size * 8) as u128
                            & litmake_ops::mask(bits)
                    }
                    false => value,
                };
                let val = Val::Int(value);
                (Kind::Made, vec![Op::Const { dst: 0, val }, Op::WriteReg { reg, src: 0 }])
            }
            Draft::AddStack(n) => {
                let (reg, bits) = reg(self.target.stack)?;
                (Kind::Made, sum(reg, reg, n.into(), bits))
            }
            Draft::Push(value) => {
                let (reg, bits) = reg(self.target.stack)?;
                let word = self.target.word;
                let mut ops = sum(reg, reg, -i128::from(word), bits);
                ops.push(Op::Const { dst: 3, val: Val::Int(value.into()) });
                ops.push(Op::Store { addr: 2, src: 3, size: word, tags: Tags::NONE });
                (Kind::Made, ops)
            }
            Draft::Lock(name) => {
                let first = self.target.params.first();
                let (from, bits) = reg(first.ok_or("locks take their object in a register")?)?;
                let (to, _) = reg(name)?;
                (Kind::Lock(name), sum(from, to, locks::FAR.into(), bits))
            }
            Draft::Goto => (Kind::Goto, ops),
            Draft::Open(d) => (Kind::Open(d), vec![Op::Halt]),
            Draft::Copy(name) => (Kind::Copy(name), vec![Op::Halt]),
            Draft::Nothing => (Kind::Nothing, ops),
            Draft::Unclear(why) => (Kind::Unclear(why), vec![Op::Halt]),
            Draft::Stop => (Kind::Nothing, vec![Op::Halt]),
        })
    }

    /// The instructions of a function, in the order of execution.
    fn decode(&self, f: &Function, entry: u64) -> Result<Vec<Decoded>, Failure> {
        if !self.target.has_delay_slots() {
            return Ok(self.reachable(f, entry)?.into_values().collect());
        }
        let (mut out, mut at) = (Vec::new(), f.start);
        while at < f.end {
            if out.len() >= MAX_NODES {
                return Err(Failure::unsupported(format!("`{}` is too long", f.name)));
            }
            let bytes = self.image.code_at(at).unwrap_or(&[]);
            let decoded = self.target.decoder.decode(bytes, at);
            let decoded =
                decoded.map_err(|e| Failure::unsupported(format!("{e} (in `{}`)", f.name)))?;
            at += u64::from(decoded.len.max(1));
            out.push(decoded);
        }
        let out = litmake_isa::mips::decode::without_halves(out, self.target.form.big);
        litmake_isa::mips::decode::without_delay_slots(out).map_err(Failure::unsupported)
    }

    /// The instructions of a function that can be reached from its entry.
    fn reachable(&self, f: &Function, entry: u64) -> Result<BTreeMap<u64, Decoded>, Failure> {
        let mut out = BTreeMap::new();
        let mut todo = vec![(entry, State::default())];
        let inside = |at: u64| (f.start..f.end).contains(&at);
        while let Some((at, mut state)) = todo.pop() {
            if out.contains_key(&at) || !inside(at) {
                continue;
            }
            if out.len() >= MAX_NODES {
                return Err(Failure::unsupported(format!("`{}` is too long", f.name)));
            }
            let bytes = self.image.code_at(at).unwrap_or(&[]);
            let decoded = match self.target.decoder.decode_after(&mut state, bytes, at) {
                Ok(decoded) => decoded,
                Err(e) => {
                    let why = format!("{e} (in `{}`)", f.name);
                    out.insert(at, unclear(at, why));
                    continue;
                }
            };
            let next = at + u64::from(decoded.len);
            let target = code_operand(&decoded);
            match decoded.flow {
                Flow::Next | Flow::Call | Flow::CallRegister | Flow::MayReturn => {
                    todo.push((next, state));
                }
                Flow::Jump => todo.extend(target.map(|t| (t, State::default()))),
                Flow::Branch => {
                    todo.extend(target.map(|t| (t, State::default())));
                    todo.push((next, state));
                }
                Flow::JumpRegister => {
                    todo.extend(self.resolved.get(&at).map(|t| (*t, State::default())));
                }
                Flow::Return | Flow::Trap => {}
            }
            out.insert(at, decoded);
        }
        Ok(out)
    }

    fn function(
        &self,
        f: &Function,
        entry: u64,
        ret: usize,
        lists: &mut Lists,
    ) -> Result<(), Failure> {
        lists.active.push(f.start);
        let code = self.decode(f, entry)?;
        let mut ids: HashMap<u64, usize> = HashMap::new();
        for d in &code {
            let label = lists.label();
            ids.entry(d.at).or_insert(label);
        }
        let first = code.first().map(|d| d.at);
        if first != Some(entry)
            && let Some(to) = ids.get(&entry)
        {
            self.jump(lists, entry, *to)?;
        }
        let mut body = Body { ids, stubs: BTreeMap::new(), ret };
        let slots = self.target.has_delay_slots();
        let mut labelled = BTreeSet::new();
        for (k, d) in code.iter().enumerate() {
            let at = &d.at;
            if labelled.insert(*at) {
                lists.pending.extend(body.ids.get(at));
            }
            let next = at.wrapping_add(u64::from(d.len));
            let falls = self.add(d, &mut body, lists)?;
            let follows = match code.get(k + 1) {
                Some(after) => slots || after.at == next,
                // Code after the last jump is padding.
                None => slots,
            };
            if falls && slots && code.get(k + 1).is_none() {
                lists.push(*at, Draft::Open(d.clone()), String::new())?;
            }
            if falls && !follows {
                match body.ids.get(&next) {
                    Some(label) => self.jump(lists, *at, *label)?,
                    // A call of `abort` or a similar function does not return.
                    None => {
                        let why = format!("`{}` runs past its end", f.name);
                        let why = Draft::Unclear(Failure::unsupported(why));
                        lists.push(*at, why, String::new())?;
                    }
                }
            }
        }
        for (to, label) in body.stubs {
            lists.pending.push(label);
            self.call(to, to, ret, lists)?;
        }
        lists.active.pop();
        Ok(())
    }

    /// Adds an instruction of a function; returns whether the code behind it follows.
    fn add(&self, d: &Decoded, body: &mut Body, lists: &mut Lists) -> Result<bool, Failure> {
        let at = d.at;
        let next = at.wrapping_add(u64::from(d.len));
        let mut falls = true;
        match d.flow {
            Flow::Trap if d.len == 0 => {
                falls = false;
                lists.push(at, Draft::Unclear(Failure::unsupported(&d.mnemonic)), String::new())?;
            }
            Flow::Next | Flow::Trap => {
                falls = d.flow == Flow::Next;
                self.plain(d, lists)?;
            }
            Flow::Jump | Flow::Branch => {
                let to = code_operand(d).ok_or("a branch without a target")?;
                let local = body.ids.get(&to).copied();
                if d.flow == Flow::Jump && local.is_none() {
                    self.call(to, at, body.ret, lists)?;
                } else {
                    let label = local
                        .unwrap_or_else(|| *body.stubs.entry(to).or_insert_with(|| lists.label()));
                    let text = self.text(d, &|_| Some(label));
                    lists.push(at, Draft::Insn(d.clone()), text)?;
                }
                falls = d.flow == Flow::Branch;
            }
            Flow::Call => {
                let to = code_operand(d).ok_or("a call without a target")?;
                if to == next && self.target.asks_by_call() {
                    lists.push(at, Draft::Push(next), String::new())?;
                } else if to == next {
                    return Err(Failure::unsupported("a call that only asks where it is"));
                } else {
                    self.call_and_back(d, to, lists)?;
                }
            }
            Flow::CallRegister => match self.resolved.get(&at) {
                Some(to) => self.call_and_back(d, *to, lists)?,
                None => {
                    lists.push(at, Draft::Open(d.clone()), String::new())?;
                }
            },
            Flow::JumpRegister => {
                falls = false;
                match self.resolved.get(&at) {
                    Some(&RETURN) => self.jump(lists, at, body.ret)?,
                    Some(to) => match body.ids.get(to) {
                        Some(label) => self.jump(lists, at, *label)?,
                        None => self.call(*to, at, body.ret, lists)?,
                    },
                    None => lists.push(at, Draft::Open(d.clone()), String::new())?,
                }
            }
            Flow::Return => {
                falls = false;
                let pushes = self.target.call_pushes();
                if pushes != 0 {
                    lists.push(at, Draft::AddStack(pushes), String::new())?;
                }
                if self.target.returns_by_load(d) {
                    let text = self.text(d, &|_| None);
                    lists.push(at, Draft::Restore(d.clone()), text)?;
                }
                self.jump(lists, at, body.ret)?;
            }
            Flow::MayReturn if self.target.returns_by_load(d) => {
                let (branch, load) = self.target.unless(d).ok_or_else(|| {
                    Failure::unsupported(format!("`{}`, a return under a condition", d.mnemonic))
                })?;
                let over = lists.label();
                let text = self.text(&branch, &|_| Some(over));
                lists.push(at, Draft::Insn(branch), text)?;
                let text = self.text(&load, &|_| None);
                lists.push(at, Draft::Restore(load), text)?;
                self.jump(lists, at, body.ret)?;
                lists.pending.push(over);
            }
            Flow::MayReturn => {
                let branch = self.target.conditional_return(d).ok_or_else(|| {
                    Failure::unsupported(format!("`{}`, a return under a condition", d.mnemonic))
                })?;
                let text = self.text(&branch, &|_| Some(body.ret));
                lists.push(at, Draft::Insn(branch), text)?;
            }
        }
        Ok(falls)
    }

    /// Adds an instruction that does not jump. What it computes from its own address is replaced.
    fn plain(&self, d: &Decoded, lists: &mut Lists) -> Result<(), Failure> {
        match self.target.special(d) {
            Some(Special::Set(r, value)) => {
                lists.push(d.at, Draft::Set(r, self.meant(value)), String::new())?;
            }
            Some(Special::Load(r, from, size, signed)) => {
                let draft = Draft::Load(r, from, size, signed);
                lists.push(d.at, draft, String::new())?;
            }
            None => match self.target.position(d) {
                Some((shown, name, value)) => {
                    let text = self.text(&shown, &|_| None);
                    // In a memory operand the stand-in is replaced by a location;
                    // elsewhere it must not be mistaken for the register.
                    let keep = match memory_operand(&shown) {
                        Some(_) => shown,
                        None => d.clone(),
                    };
                    lists.push(d.at, Draft::Here(keep, name, self.meant(value)), text)?;
                }
                None => {
                    let text = self.text(d, &|_| None);
                    lists.push(d.at, Draft::Insn(d.clone()), text)?;
                }
            },
        }
        Ok(())
    }

    /// The address that code means, where it can name even ones alone: a small variable lies at the end of its word
    /// ([`crate::image::pad`]), and nothing lies before it.
    fn meant(&self, address: u64) -> u64 {
        let begins = |at: u64| self.image.variable_at(at).is_some_and(|v| v.at == at);
        let odd = self.target.facts().even && self.image.variable_at(address).is_none();
        if odd && begins(address + 1) { address + 1 } else { address }
    }

    fn jump(&self, lists: &mut Lists, from: u64, to: usize) -> Result<(), Failure> {
        let text = self.target.jump(&name(to));
        lists.push(from, Draft::Goto, text)
    }

    /// A conditional call becomes a branch over the call.
    fn condition(&self, d: &Decoded, back: usize, lists: &mut Lists) -> Result<(), Failure> {
        if self.target.strange_call(d) {
            return Err(Failure::unsupported(format!(
                "`{}`, a call under a condition",
                d.mnemonic
            )));
        }
        if let Some((branch, _)) = self.target.unless(d) {
            let text = self.text(&branch, &|_| Some(back));
            lists.push(d.at, Draft::Insn(branch), text)?;
        }
        Ok(())
    }

    /// Adds a call that returns.
    fn call_and_back(&self, d: &Decoded, to: u64, lists: &mut Lists) -> Result<(), Failure> {
        let back = lists.label();
        self.condition(d, back, lists)?;
        let draft = match self.target.call_pushes() {
            0 => None,
            _ if self.target.asks_by_call() => Some(Draft::Push(d.at + u64::from(d.len))),
            pushes => Some(Draft::AddStack(-pushes)),
        };
        if let Some(draft) = draft {
            lists.push(d.at, draft, String::new())?;
        }
        let Some(frames) = self.target.frames() else {
            self.call(to, d.at, back, lists)?;
            lists.pending.push(back);
            return Ok(());
        };
        self.all(frames.save, d.at, lists)?;
        lists.push(d.at, Draft::AddStack(-frames.bytes), String::new())?;
        self.call(to, d.at, back, lists)?;
        lists.pending.push(back);
        lists.push(d.at, Draft::AddStack(frames.bytes), String::new())?;
        self.all(frames.restore, d.at, lists)
    }

    /// Adds instructions that stand for others at an address.
    fn all(&self, code: Vec<Decoded>, at: u64, lists: &mut Lists) -> Result<(), Failure> {
        for insn in code {
            let d = Decoded { at, ..insn };
            let text = self.text(&d, &|_| None);
            lists.push(at, Draft::Insn(d), text)?;
        }
        Ok(())
    }

    /// Adds the code at an address, which continues at `ret`.
    fn call(&self, to: u64, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        if lists.active.len() > 1 {
            return self.called(to, from, ret, lists);
        }
        lists.calls += 1;
        lists.call = lists.calls;
        let done = self.called(to, from, ret, lists);
        lists.call = 0;
        done
    }

    fn called(&self, to: u64, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        if !self.inlines {
            return lists.push(from, Draft::Stop, String::new());
        }
        if let Some(name) = self.image.name_at(to)
            && let Some(stub) = (self.stub)(&name)
        {
            self.stubbed.borrow_mut().insert(name, stub);
            return self.stub(stub, from, ret, lists);
        }
        match self.callee(to) {
            Ok(Callee::Function(function, to)) => self.enter(&function, to, from, ret, lists),
            Ok(Callee::Bytes(work)) => self.bytes(work, from, ret, lists),
            Err(why) => lists.push(from, Draft::Unclear(why), String::new()),
        }
    }

    /// Adds what a call is taken to do; continues at `ret`.
    fn stub(&self, stub: Stub, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        match stub {
            Stub::Never => {
                let forever = lists.label();
                lists.pending.push(forever);
                lists.push(from, Draft::Goto, self.target.jump(&name(forever)))
            }
            Stub::Gives(_) if self.target.result.is_empty() => {
                let why = Failure::unsupported("a call whose result is on the stack");
                lists.push(from, Draft::Unclear(why), String::new())
            }
            Stub::Gives(number) => {
                let result = self.target.result.to_string();
                lists.push(from, Draft::Set(result, number), String::new())?;
                self.back(from, ret, lists)
            }
        }
    }

    /// The target of a call to an address.
    fn callee(&self, to: u64) -> Result<Callee, Failure> {
        let mut to = to;
        if let Some(name) = self.image.missing_at(to) {
            let chosen = (self.instead)(name);
            if let Some(work) = copies::works_on(name) {
                return Ok(Callee::Bytes(work));
            }
            let named = chosen.as_ref().and_then(|n| self.image.function_named(n));
            let chooser = self.image.chooser(name);
            let function = named.or_else(|| chooser.as_ref().and_then(|f| (self.choose)(f)));
            to = match (function, chooser) {
                (Some(function), _) => function.start,
                (None, Some(_)) => {
                    return Err(Failure::unsupported(format!(
                        "a call of `{name}`, for which code is chosen at start-up; \
                         the profile's `runtime` can say which"
                    )));
                }
                (None, None) => {
                    return Err(Failure::unsupported(format!(
                        "a call of `{name}`, whose code is in no library at hand"
                    )));
                }
            };
        }
        match self.image.function_at(to).or_else(|| self.image.nameless_at(to)) {
            Some(function) => Ok(Callee::Function(function, to)),
            None => Err(Failure::unsupported(format!("a call of {to:#x}, where no function is"))),
        }
    }

    fn enter(
        &self,
        function: &Function,
        to: u64,
        from: u64,
        ret: usize,
        lists: &mut Lists,
    ) -> Result<(), Failure> {
        let again = lists.active.iter().filter(|start| **start == function.start).count();
        if again >= MAX_RECURSION || again > 0 && lists.active.len() >= MAX_DEPTH {
            // Recursion that goes on is cut like a loop that goes on, which is what stands here.
            let forever = lists.label();
            lists.pending.push(forever);
            return lists.push(from, Draft::Goto, self.target.jump(&name(forever)));
        }
        if lists.active.len() >= MAX_DEPTH {
            let why = Failure::unsupported(format!(
                "calls are nested too deeply, at `{}`",
                function.name
            ));
            return lists.push(from, Draft::Unclear(why), String::new());
        }
        if let Some(takes) = locks::takes(&function.name) {
            return self.lock(takes, from, ret, lists);
        }
        if let Some(entry) = self.target.entry
            && to == function.start
        {
            lists.push(from, Draft::Set(entry.to_string(), to), String::new())?;
        }
        self.function(function, to, ret, lists)
    }

    /// Adds the stand-in for `memcpy` or a similar function, once its size is known; continues at
    /// `ret`.
    fn bytes(&self, work: Bytes, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        let name = work.function();
        let Some(size) = self.target.params.get(2) else {
            let why = Failure::unsupported(format!("a call of `{name}`, its size on the stack"));
            return lists.push(from, Draft::Unclear(why), String::new());
        };
        let Some(bytes) = self.sizes.get(&from) else {
            return lists.push(from, Draft::Copy(size), String::new());
        };
        let code = copies::stand_in(self.target, work, *bytes)
            .ok_or_else(|| Failure::unsupported(format!("a call of `{name}` of {bytes} bytes")))?;
        self.all(code, from, lists)?;
        self.back(from, ret, lists)
    }

    /// Adds a return.
    fn back(&self, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        let pushes = self.target.call_pushes();
        if pushes != 0 {
            lists.push(from, Draft::AddStack(pushes), String::new())?;
        }
        lists.push(from, Draft::Goto, self.target.jump(&name(ret)))
    }

    /// Adds the stand-in for taking or releasing a lock; continues at `ret`.
    fn lock(&self, takes: bool, from: u64, ret: usize, lists: &mut Lists) -> Result<(), Failure> {
        let lock = self.target.facts().lock.as_ref().ok_or_else(|| {
            Failure::unsupported("a lock of `libatomic`, for which there is no stand-in")
        })?;
        lists.push(from, Draft::Lock(lock.address), String::new())?;
        let again = lists.label();
        let code = if takes { lock.take } else { lock.release };
        for (first, mut d) in rows::decoded(code.iter().copied()) {
            d.at = from;
            if first {
                lists.pending.push(again);
            }
            let text = self.text(&d, &|_| Some(again));
            lists.push(from, Draft::Insn(d), text)?;
        }
        self.back(from, ret, lists)
    }

    fn text(&self, d: &Decoded, label: &dyn Fn(u64) -> Option<usize>) -> String {
        d.text(self.target.decoder.style(), &|at| match label(at) {
            Some(label) => name(label),
            None => format!("{at:#x}"),
        })
    }
}

/// Stands for an instruction that cannot be decoded: it has no length, and its name is the reason.
fn unclear(at: u64, why: String) -> Decoded {
    Decoded { at, len: 0, mnemonic: why, operands: Vec::new(), flow: Flow::Trap }
}

/// Puts the sum of a register and a number into a register. The sum is the value 2.
fn sum(from: Reg, to: Reg, number: i128, bits: u8) -> Vec<Op> {
    let val = Val::Int(number as u128 & litmake_ops::mask(bits));
    vec![
        Op::ReadReg { dst: 0, reg: from, port: Port::None },
        Op::Const { dst: 1, val },
        Op::Bin { dst: 2, op: BinOp::Add, a: 0, b: 1, width: bits },
        Op::WriteReg { reg: to, src: 2 },
    ]
}

/// Replaces reads of a register by a constant, also inside conditions.
fn set_to(ops: &mut [Op], own: Reg, val: Val) {
    for op in ops {
        match op {
            Op::ReadReg { dst, reg, .. } if *reg == own => *op = Op::Const { dst: *dst, val },
            Op::If { yes, no, .. } => {
                set_to(yes, own, val);
                set_to(no, own, val);
            }
            _ => {}
        }
    }
}

pub fn code_operand(d: &Decoded) -> Option<u64> {
    d.operands.iter().find_map(|o| match o {
        Operand::Code(at) => Some(*at),
        _ => None,
    })
}

pub fn memory_operand(d: &Decoded) -> Option<&Mem> {
    d.operands.iter().find_map(|o| match o {
        Operand::Mem(mem) => Some(mem),
        _ => None,
    })
}
