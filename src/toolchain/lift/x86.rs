//! x86-64 code to litmus: the addresses that parameters hold are followed through registers and
//! stack slots, so that memory operands name locations; stack slots become locations that are
//! private to their thread.
//!
//! It does not know what instructions mean beyond how they move addresses and the stack
//! pointer; that is `isa::x86`'s matter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction,
    InstructionInfoFactory, Mnemonic, NumberBase, OpAccess, OpKind, Register, SymbolResolver,
    SymbolResult,
};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::{Given, Lifted};
use crate::diag::Span;
use crate::litmus::{InitItem, InitValue, Line, Place, Type, Value};

const MAX_INSTRUCTIONS: usize = 4096;
const MAX_STEPS: usize = 200_000;
const PARAMETERS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// What a register or a stack slot is known to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// The address of a location of the test, plus bytes.
    Location(usize, i64),
    /// The stack pointer at the start, plus bytes.
    Stack(i64),
    /// What this register held at the start.
    Start(Register),
}

/// What is known at one instruction; what is not in it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    regs: BTreeMap<Register, Known>,
    slots: BTreeMap<i64, Known>,
}

impl State {
    fn start(given: &Given) -> State {
        let mut state = State::default();
        for (i, _) in given.params.iter().enumerate() {
            match PARAMETERS.get(i) {
                Some(reg) => {
                    state.regs.insert(*reg, Known::Location(i, 0));
                }
                None => {
                    let at = 8 + 8 * (i - PARAMETERS.len()) as i64;
                    state.slots.insert(at, Known::Location(i, 0));
                }
            }
        }
        state.regs.insert(Register::RSP, Known::Stack(0));
        for reg in [
            Register::RBX,
            Register::RBP,
            Register::R12,
            Register::R13,
            Register::R14,
            Register::R15,
        ] {
            state.regs.insert(reg, Known::Start(reg));
        }
        state
    }

    /// Keeps what both sides agree on; whether anything was lost.
    fn join(&mut self, other: &State) -> bool {
        let before = (self.regs.len(), self.slots.len());
        self.regs.retain(|k, v| other.regs.get(k) == Some(v));
        self.slots.retain(|k, v| other.slots.get(k) == Some(v));
        before != (self.regs.len(), self.slots.len())
    }

    fn reg(&self, reg: Register) -> Option<&Known> {
        self.regs.get(&reg)
    }

    fn set(&mut self, reg: Register, known: Option<Known>) {
        match known {
            Some(k) => self.regs.insert(reg, k),
            None => self.regs.remove(&reg),
        };
    }
}

/// Where a memory operand points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Location(usize, i64),
    Stack(i64),
}

struct Lifter<'a> {
    given: &'a Given<'a>,
    code: Vec<Instruction>,
    /// Index by address.
    at: BTreeMap<u64, usize>,
    factory: InstructionInfoFactory,
}

/// Lifts one function of an object file.
pub fn lift(file: &object::File, function: &str, given: &Given) -> Result<Lifted, String> {
    let code = decode(file, function)?;
    let at = code.iter().enumerate().map(|(i, c)| (c.ip(), i)).collect();
    let mut lifter = Lifter { given, code, at, factory: InstructionInfoFactory::new() };
    let states = lifter.follow()?;
    lifter.write(&states)
}

/// The instructions of a function, after making sure that it calls and names nothing outside.
fn decode(file: &object::File, function: &str) -> Result<Vec<Instruction>, String> {
    let symbol = file
        .symbols()
        .find(|s| s.name() == Ok(function))
        .ok_or_else(|| format!("the object file has no function `{function}`"))?;
    let section = symbol
        .section_index()
        .and_then(|i| file.section_by_index(i).ok())
        .ok_or_else(|| format!("`{function}` lies in no section"))?;
    let bytes =
        section.data().map_err(|e| format!("the section of `{function}` cannot be read: {e}"))?;
    let start = symbol.address();
    let size = symbol.size();
    let from = start.saturating_sub(section.address()) as usize;
    let body = bytes
        .get(from..from.saturating_add(size as usize))
        .ok_or_else(|| format!("`{function}` ends outside its section"))?;
    for (offset, relocation) in section.relocations() {
        if !(start..start + size).contains(&offset) {
            continue;
        }
        let name = match relocation.target() {
            RelocationTarget::Symbol(i) => file
                .symbol_by_index(i)
                .ok()
                .and_then(|s| s.name().ok().map(str::to_string))
                .unwrap_or_default(),
            _ => String::new(),
        };
        return Err(format!(
            "unsupported: the code of `{function}` refers to `{name}`, which lies outside of it"
        ));
    }
    let mut decoder = Decoder::with_ip(64, body, start, DecoderOptions::NONE);
    let mut out = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(format!(
                "unsupported: unknown instruction at byte {} of `{function}`",
                instruction.ip() - start
            ));
        }
        if out.len() >= MAX_INSTRUCTIONS {
            return Err(format!(
                "unsupported: `{function}` has over {MAX_INSTRUCTIONS} instructions"
            ));
        }
        out.push(instruction);
    }
    Ok(out)
}

fn display(instruction: &Instruction) -> String {
    let mut text = String::new();
    formatter(None).format(instruction, &mut text);
    text
}

impl Lifter<'_> {
    /// What is known before each instruction; `None` for those that are not reached.
    fn follow(&mut self) -> Result<Vec<Option<State>>, String> {
        let mut states: Vec<Option<State>> = vec![None; self.code.len()];
        if self.code.is_empty() {
            return Ok(states);
        }
        states[0] = Some(State::start(self.given));
        let mut todo = VecDeque::from([0usize]);
        let mut steps = 0;
        while let Some(i) = todo.pop_front() {
            steps += 1;
            if steps > MAX_STEPS {
                return Err("unsupported: the code's loops are too many to follow".into());
            }
            let Some(mut state) = states[i].clone() else {
                continue;
            };
            self.step(i, &mut state)?;
            for next in self.successors(i)? {
                let Some(slot) = states.get_mut(next) else {
                    return Err("unsupported: the code runs past its end".into());
                };
                match slot {
                    None => {
                        *slot = Some(state.clone());
                        todo.push_back(next);
                    }
                    Some(old) => {
                        if old.join(&state) {
                            todo.push_back(next);
                        }
                    }
                }
            }
        }
        Ok(states)
    }

    fn target(&self, i: usize) -> Result<usize, String> {
        let address = self.code[i].near_branch_target();
        self.at.get(&address).copied().ok_or_else(|| {
            format!("unsupported: `{}` goes outside the function", display(&self.code[i]))
        })
    }

    fn successors(&self, i: usize) -> Result<Vec<usize>, String> {
        Ok(match self.code[i].flow_control() {
            FlowControl::Next => vec![i + 1],
            FlowControl::Return => vec![],
            FlowControl::UnconditionalBranch => vec![self.target(i)?],
            FlowControl::ConditionalBranch => vec![self.target(i)?, i + 1],
            _ => {
                return Err(format!(
                    "unsupported: `{}` leaves the function",
                    display(&self.code[i])
                ));
            }
        })
    }

    /// Where the memory operand of an instruction points.
    fn memory(&self, i: usize, state: &State) -> Result<Option<Target>, String> {
        let instruction = &self.code[i];
        let has_memory =
            (0..instruction.op_count()).any(|n| matches!(instruction.op_kind(n), OpKind::Memory));
        if !has_memory || matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) {
            return Ok(None);
        }
        let refuse =
            || format!("unsupported: it is not plain what `{}` points to", display(instruction));
        if instruction.memory_index() != Register::None
            || instruction.segment_prefix() != Register::None
        {
            return Err(refuse());
        }
        let offset = instruction.memory_displacement64() as i64;
        match state.reg(instruction.memory_base()) {
            Some(Known::Location(l, o)) => Ok(Some(Target::Location(*l, o.wrapping_add(offset)))),
            Some(Known::Stack(o)) => Ok(Some(Target::Stack(o.wrapping_add(offset)))),
            _ => Err(refuse()),
        }
    }

    /// The effect of one instruction on what is known.
    fn step(&mut self, i: usize, state: &mut State) -> Result<(), String> {
        let instruction = self.code[i];
        let target = self.memory(i, state)?;
        let kind = |n| instruction.op_kind(n);
        let full = |r: Register| r.full_register();
        let wide = |r: Register| r.size() == 8;
        let stack = match state.reg(Register::RSP) {
            Some(Known::Stack(o)) => *o,
            _ => return Err("unsupported: the stack pointer is lost".into()),
        };
        match instruction.mnemonic() {
            Mnemonic::Push => {
                let value = (kind(0) == OpKind::Register)
                    .then(|| state.reg(instruction.op0_register()).cloned())
                    .flatten();
                state.set(Register::RSP, Some(Known::Stack(stack - 8)));
                match value {
                    Some(v) => state.slots.insert(stack - 8, v),
                    None => state.slots.remove(&(stack - 8)),
                };
                return Ok(());
            }
            Mnemonic::Pop => {
                let value = state.slots.get(&stack).cloned();
                state.set(Register::RSP, Some(Known::Stack(stack + 8)));
                state.set(full(instruction.op0_register()), value);
                return Ok(());
            }
            Mnemonic::Leave => {
                let Some(Known::Stack(base)) = state.reg(Register::RBP).cloned() else {
                    return Err("unsupported: `leave` without a frame".into());
                };
                let value = state.slots.get(&base).cloned();
                state.set(Register::RSP, Some(Known::Stack(base + 8)));
                state.set(Register::RBP, value);
                return Ok(());
            }
            Mnemonic::Mov if kind(0) == OpKind::Register => {
                let to = instruction.op0_register();
                let value = match (kind(1), target) {
                    (OpKind::Register, _) if wide(to) => {
                        state.reg(instruction.op1_register()).cloned()
                    }
                    (OpKind::Memory, Some(Target::Stack(at))) if wide(to) => {
                        state.slots.get(&at).cloned()
                    }
                    _ => None,
                };
                state.set(full(to), value);
                return Ok(());
            }
            Mnemonic::Mov if kind(0) == OpKind::Memory => {
                if let Some(Target::Stack(at)) = target {
                    let size = instruction.memory_size().size() as i64;
                    let value = (kind(1) == OpKind::Register && wide(instruction.op1_register()))
                        .then(|| state.reg(instruction.op1_register()).cloned())
                        .flatten();
                    state.slots.retain(|o, _| *o + 8 <= at || at + size <= *o);
                    if let Some(v) = value {
                        state.slots.insert(at, v);
                    }
                }
                return Ok(());
            }
            Mnemonic::Lea if instruction.memory_index() == Register::None => {
                let offset = instruction.memory_displacement64() as i64;
                let value = match state.reg(instruction.memory_base()) {
                    Some(Known::Location(l, o)) => Some(Known::Location(*l, o + offset)),
                    Some(Known::Stack(o)) => Some(Known::Stack(o + offset)),
                    _ => None,
                };
                let to = instruction.op0_register();
                state.set(full(to), value.filter(|_| wide(to)));
                return Ok(());
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And
                if kind(0) == OpKind::Register && instruction.op0_register() == Register::RSP =>
            {
                if instruction.op_count() != 2 || !is_immediate(kind(1)) {
                    return Err("unsupported: the stack pointer is lost".into());
                }
                let n = instruction.immediate(1) as i64;
                let moved = match instruction.mnemonic() {
                    Mnemonic::Add => stack.wrapping_add(n),
                    Mnemonic::Sub => stack.wrapping_sub(n),
                    // Alignment: the start is 8 modulo 16 by the calling convention.
                    _ if n < 0 && (n & -n) <= 16 && n == -(n & -n) => ((stack - 8) & n) + 8,
                    _ => return Err("unsupported: the stack pointer is lost".into()),
                };
                state.set(Register::RSP, Some(Known::Stack(moved)));
                return Ok(());
            }
            Mnemonic::Ret => return Ok(()),
            _ => {}
        }
        // Anything else: what it writes is not known any more.
        let info = self.factory.info(&instruction);
        let writes = |a: OpAccess| {
            matches!(
                a,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let written: Vec<Register> = info
            .used_registers()
            .iter()
            .filter(|u| writes(u.access()))
            .map(|u| u.register().full_register())
            .collect();
        for reg in written {
            if reg == Register::RSP {
                return Err(format!(
                    "unsupported: `{}` moves the stack pointer",
                    display(&instruction)
                ));
            }
            state.set(reg, None);
        }
        // A locked operation that changes nothing is how compilers write a fence; it may hit the
        // slot of a saved register.
        let idle = matches!(instruction.mnemonic(), Mnemonic::Or | Mnemonic::Add | Mnemonic::Sub)
            && instruction.op_count() == 2
            && is_immediate(kind(1))
            && instruction.immediate(1) == 0;
        let reads = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        if let Some(Target::Stack(at)) = target
            && !idle
            && !reads
        {
            let size = instruction.memory_size().size() as i64;
            state.slots.retain(|o, _| *o + 8 <= at || at + size <= *o);
        }
        Ok(())
    }

    /// Whether an instruction only keeps the frame, or moves addresses that operands name.
    fn is_bookkeeping(&self, i: usize, state: &State, target: Option<Target>) -> bool {
        let instruction = &self.code[i];
        let kind = |n| instruction.op_kind(n);
        let address = |k: Option<&Known>| k.is_some();
        match instruction.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 => true,
            Mnemonic::Leave => true,
            Mnemonic::Push => {
                kind(0) == OpKind::Register && address(state.reg(instruction.op0_register()))
            }
            Mnemonic::Pop => {
                let Some(Known::Stack(at)) = state.reg(Register::RSP) else {
                    return false;
                };
                address(state.slots.get(at))
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And if kind(0) == OpKind::Register => {
                instruction.op0_register() == Register::RSP
            }
            // Of an address, or of a callee-saved register as it was at the start.
            Mnemonic::Mov if kind(0) == OpKind::Memory && kind(1) == OpKind::Register => {
                matches!(target, Some(Target::Stack(_)))
                    && instruction.op1_register().size() == 8
                    && address(state.reg(instruction.op1_register()))
            }
            Mnemonic::Mov if kind(0) == OpKind::Register && kind(1) == OpKind::Memory => {
                matches!(target, Some(Target::Stack(at))
                    if instruction.op0_register().size() == 8
                        && matches!(state.slots.get(&at), Some(Known::Stack(_) | Known::Start(_))))
            }
            Mnemonic::Mov if kind(0) == OpKind::Register && kind(1) == OpKind::Register => {
                instruction.op0_register().size() == 8
                    && matches!(
                        state.reg(instruction.op1_register()),
                        Some(Known::Stack(_) | Known::Start(_))
                    )
            }
            Mnemonic::Lea => {
                matches!(state.reg(instruction.memory_base()), Some(Known::Stack(_)))
                    && instruction.memory_index() == Register::None
            }
            _ => false,
        }
    }

    /// Whether an instruction copies the address of a location between registers.
    fn moves_address(&self, instruction: &Instruction, state: &State) -> bool {
        instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_kind() == OpKind::Register
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register().size() == 8
            && matches!(state.reg(instruction.op1_register()), Some(Known::Location(..)))
    }

    /// Whether an instruction computes the address of a location out of another.
    fn loads_address(&self, instruction: &Instruction, state: &State) -> bool {
        instruction.mnemonic() == Mnemonic::Lea
            && instruction.memory_index() == Register::None
            && matches!(state.reg(instruction.memory_base()), Some(Known::Location(..)))
    }

    /// The registers whose values matter after each instruction. A memory operand names its
    /// location, so the register that held the address does not count.
    fn live(&mut self, states: &[Option<State>]) -> Result<Vec<BTreeSet<Register>>, String> {
        let mut live = vec![BTreeSet::new(); self.code.len()];
        loop {
            let mut changed = false;
            for i in (0..self.code.len()).rev() {
                if states[i].is_none() {
                    continue;
                }
                let mut after = BTreeSet::new();
                for next in self.successors(i)? {
                    after.extend(self.live_before(next, states, &live));
                }
                if after != live[i] {
                    live[i] = after;
                    changed = true;
                }
            }
            if !changed {
                return Ok(live);
            }
        }
    }

    fn live_before(
        &mut self,
        i: usize,
        states: &[Option<State>],
        live: &[BTreeSet<Register>],
    ) -> BTreeSet<Register> {
        let (Some(Some(state)), Some(after)) = (states.get(i), live.get(i)) else {
            return BTreeSet::new();
        };
        let mut out = after.clone();
        let instruction = self.code[i];
        let target = self.memory(i, state).unwrap_or_default();
        if self.is_bookkeeping(i, state, target) || instruction.mnemonic() == Mnemonic::Ret {
            return out;
        }
        let address =
            self.moves_address(&instruction, state) || self.loads_address(&instruction, state);
        if address && !after.contains(&instruction.op0_register()) {
            return out;
        }
        let base = instruction.memory_base().full_register();
        let info = self.factory.info(&instruction);
        for used in info.used_registers() {
            if used.access() == OpAccess::Write && used.register().size() >= 4 {
                out.remove(&used.register().full_register());
            }
        }
        let memory = target.is_some();
        for used in info.used_registers() {
            let full = used.register().full_register();
            if used.access() != OpAccess::Write && !(memory && full == base) {
                out.insert(full);
            }
        }
        // A base register that is also an operand is read as such.
        if memory {
            for n in 0..instruction.op_count() {
                let reads = instruction.op_kind(n) == OpKind::Register
                    && instruction.op_register(n).full_register() == base;
                let written = n == 0 && instruction.mnemonic() == Mnemonic::Mov;
                if reads && !written {
                    out.insert(base);
                }
            }
        }
        out
    }

    /// The name of the location that a stack slot becomes.
    fn slot_name(&self, at: i64) -> String {
        if at < 0 {
            format!("P{}_m{}", self.given.thread, -at)
        } else {
            format!("P{}_p{at}", self.given.thread)
        }
    }

    fn write(&mut self, states: &[Option<State>]) -> Result<Lifted, String> {
        let mut labels: BTreeMap<u64, String> = BTreeMap::new();
        for i in 0..self.code.len() {
            if states[i].is_some()
                && matches!(
                    self.code[i].flow_control(),
                    FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                )
            {
                labels.insert(self.code[self.target(i)?].ip(), String::new());
            }
        }
        for (n, label) in labels.values_mut().enumerate() {
            *label = format!("L{}{n}", self.given.thread);
        }
        let end = format!("L{}end", self.given.thread);
        let last = (0..self.code.len()).rev().find(|i| states[*i].is_some());
        let mut lines: Vec<Line> = Vec::new();
        let mut pending: Vec<String> = Vec::new();
        let mut ends = false;
        let mut slots: BTreeMap<i64, u8> = BTreeMap::new();
        let live = self.live(states)?;
        for i in 0..self.code.len() {
            let Some(state) = &states[i] else { continue };
            let instruction = self.code[i];
            pending.extend(labels.get(&instruction.ip()).cloned());
            let target = self.memory(i, state)?;
            if self.is_bookkeeping(i, state, target) {
                continue;
            }
            let text = if instruction.flow_control() == FlowControl::Return {
                if Some(i) == last {
                    continue;
                }
                ends = true;
                format!("jmp {end}")
            } else {
                // A slot that holds an address is read as that address.
                let known = match target {
                    Some(Target::Stack(at)) => state.slots.get(&at),
                    _ => None,
                };
                if let (Some(Known::Location(l, 0)), Mnemonic::Mov, OpKind::Register) =
                    (known, instruction.mnemonic(), instruction.op0_kind())
                {
                    let to = instruction.op0_register();
                    if !live[i].contains(&to) {
                        continue;
                    }
                    format!("movq ${},%{}", self.given.params[*l], format!("{to:?}").to_lowercase())
                } else {
                    if let Some(Target::Stack(at)) = target {
                        let size = instruction.memory_size().size() as u8;
                        let largest = slots.entry(at).or_insert(size);
                        *largest = size.max(*largest);
                    }
                    let address = self.moves_address(&instruction, state)
                        || self.loads_address(&instruction, state);
                    if address && !live[i].contains(&instruction.op0_register()) {
                        continue;
                    }
                    self.text(&instruction, state, target, &labels)?
                }
            };
            lines.push(Line { labels: std::mem::take(&mut pending), text, span: Span::default() });
        }
        if ends {
            pending.push(end);
        }
        if !pending.is_empty() {
            lines.push(Line { labels: pending, text: String::new(), span: Span::default() });
        }
        let at_start = self.live_before(0, states, &live);
        let mut init = Vec::new();
        for (at, size) in slots {
            init.push(InitItem {
                place: Place::Mem { name: self.slot_name(at), index: None },
                ty: Some(Type::Int { bytes: size.clamp(1, 16), signed: true }),
                value: Some(InitValue::One(Value::Int(0))),
                span: Span::default(),
            });
        }
        for (i, name) in self.given.params.iter().enumerate() {
            if let Some(reg) = PARAMETERS.get(i)
                && at_start.contains(reg)
            {
                init.push(InitItem {
                    place: Place::Reg {
                        thread: self.given.thread,
                        name: format!("{reg:?}").to_lowercase(),
                    },
                    ty: None,
                    value: Some(InitValue::One(Value::Addr { name: name.clone(), index: 0 })),
                    span: Span::default(),
                });
            }
        }
        Ok(Lifted { lines, init })
    }

    /// An instruction in AT&T syntax, with locations and labels by name.
    fn text(
        &mut self,
        instruction: &Instruction,
        state: &State,
        target: Option<Target>,
        labels: &BTreeMap<u64, String>,
    ) -> Result<String, String> {
        let mut instruction = *instruction;
        let mut names = Names { memory: None, labels: labels.clone() };
        let info = self.factory.info(&instruction);
        let base = instruction.memory_base();
        for register in info.used_registers() {
            let full = register.register().full_register();
            if matches!(state.reg(full), Some(Known::Start(_) | Known::Stack(_)))
                && !(target.is_some() && full == base)
                && matches!(register.access(), OpAccess::Read | OpAccess::ReadWrite)
            {
                return Err(format!(
                    "unsupported: `{}` uses the stack pointer or a register that was never set",
                    display(&instruction)
                ));
            }
        }
        if let Some(target) = target {
            let name = match target {
                Target::Location(l, 0) => self.given.params[l].clone(),
                Target::Location(l, o) => format!("{}{o:+}", self.given.params[l]),
                Target::Stack(at) => self.slot_name(at),
            };
            names.memory = Some(format!("({name})"));
            instruction.set_memory_base(Register::None);
            instruction.set_memory_index(Register::None);
            instruction.set_memory_displacement64(MEMORY);
            instruction.set_memory_displ_size(8);
        }
        if instruction.code() == Code::Nopw {
            return Ok(String::new());
        }
        let mut out = String::new();
        formatter(Some(names)).format(&instruction, &mut out);
        let out = out.trim();
        // `test` of a register with itself sets the flags that a comparison with 0 sets, which
        // more tools read.
        if instruction.mnemonic() == Mnemonic::Test
            && instruction.op0_kind() == OpKind::Register
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register()
            && let Some((mnemonic, operands)) = out.split_once(' ')
            && let Some((_, register)) = operands.split_once(',')
        {
            return Ok(format!("{} $0,{register}", mnemonic.replacen("test", "cmp", 1)));
        }
        Ok(out.to_string())
    }
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

/// Stands for the memory operand's address while an instruction is written.
const MEMORY: u64 = 0x7fff_0000;

struct Names {
    memory: Option<String>,
    labels: BTreeMap<u64, String>,
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        _instruction: &Instruction,
        _operand: u32,
        instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let _ = instruction_operand?;
        if address == MEMORY {
            return Some(SymbolResult::with_str(address, self.memory.as_deref()?));
        }
        Some(SymbolResult::with_str(address, self.labels.get(&address)?))
    }
}

fn formatter(names: Option<Names>) -> GasFormatter {
    let resolver = names.map(|n| Box::new(n) as Box<dyn SymbolResolver>);
    let mut formatter = GasFormatter::with_options(resolver, None);
    let options = formatter.options_mut();
    options.set_gas_show_mnemonic_size_suffix(true);
    options.set_number_base(NumberBase::Decimal);
    options.set_signed_immediate_operands(true);
    formatter
}
