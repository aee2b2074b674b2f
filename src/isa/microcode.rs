//! Common parts of lowering instructions to micro-ops: a builder of ops, label resolution, and the removal
//! of register writes that nothing can see.
//!
//! It knows no instruction and no register name.

use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::Line;
pub use litmake_ops::mask;
use litmake_ops::{BinOp, Code, Inst, Label, Op, Port, Reg, Tags, Temp, UnOp, Val};
use std::collections::HashMap;

/// Writes the ops of one instruction; temporaries are numbered as they are needed.
#[derive(Default)]
pub struct Emit {
    ops: Vec<Op>,
    next: Temp,
}

/// A compare-exchange with its operands evaluated.
#[derive(Clone, Copy)]
pub struct Swap {
    /// The address.
    pub(crate) addr: Temp,
    /// Bytes and bits of the access.
    pub(crate) size: u8,
    /// The bits of the access.
    pub(crate) bits: u8,
    /// The value that is expected.
    pub(crate) want: Temp,
    /// The value that is written where it is found.
    pub(crate) new: Temp,
    /// Whether it may fail though it finds the expected value.
    pub(crate) weak: bool,
    /// The annotations of the read-modify-write.
    pub(crate) success: Tags,
    /// The annotations of the load where it fails.
    pub(crate) failure: Tags,
}

impl Emit {
    /// A builder without ops.
    pub(crate) fn new() -> Emit {
        Emit::default()
    }

    /// The ops, in the order in which they were written.
    pub(crate) fn finish(self) -> Vec<Op> {
        self.ops
    }

    /// A new temporary.
    pub(crate) fn temp(&mut self) -> Temp {
        // An instruction needs some dozens; the bound is there so that no input can wrap it.
        self.next = self.next.saturating_add(1);
        self.next - 1
    }

    /// A compare-exchange takes one of two ways: a read-modify-write of the expected value, or a load of
    /// another one (a weak one, of any). Gives the value found, and whether it was exchanged.
    pub fn compare_exchange(&mut self, swap: &Swap) -> (Temp, Temp) {
        let Swap { addr, size, bits, want, new, weak, success, failure } = *swap;
        let (old, ok) = (self.temp(), self.temp());
        let equal = |dst| Op::Bin { dst, op: BinOp::Eq, a: old, b: want, width: bits };
        let yes = self.block(|e| {
            e.op(Op::Rmw { dst: old, addr, size, tags: success, body: Vec::new(), new });
            e.op(equal(ok));
            e.op(Op::Assume { cond: ok });
        });
        let no = self.block(|e| {
            e.op(Op::Load { dst: old, addr, size, tags: failure });
            if weak {
                e.op(Op::Const { dst: ok, val: Val::ZERO });
            } else {
                e.op(equal(ok));
                let differs = e.is_zero(ok, 8);
                e.op(Op::Assume { cond: differs });
            }
        });
        let cond = self.temp();
        self.op(Op::Choose { dst: cond });
        self.op(Op::If { cond, yes, no });
        (old, ok)
    }

    /// Writes an op.
    pub(crate) fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// A temporary that takes a constant.
    pub(crate) fn val(&mut self, val: Val) -> Temp {
        let dst = self.temp();
        self.op(Op::Const { dst, val });
        dst
    }

    /// A temporary that takes a number.
    pub(crate) fn int(&mut self, n: u128) -> Temp {
        self.val(Val::Int(n))
    }

    /// A signed constant within `width` bits.
    pub fn signed(&mut self, n: i128, width: u8) -> Temp {
        self.int(n as u128 & mask(width))
    }

    /// A temporary with the value of a register.
    pub(crate) fn read(&mut self, reg: Reg, port: Port) -> Temp {
        let dst = self.temp();
        self.op(Op::ReadReg { dst, reg, port });
        dst
    }

    /// Sets a register.
    pub fn write(&mut self, reg: Reg, src: Temp) {
        self.op(Op::WriteReg { reg, src });
    }

    /// The result of a one-operand operation.
    pub(crate) fn un(&mut self, op: UnOp, a: Temp, width: u8) -> Temp {
        let dst = self.temp();
        self.op(Op::Un { dst, op, a, width });
        dst
    }

    /// The result of a two-operand operation.
    pub(crate) fn bin(&mut self, op: BinOp, a: Temp, b: Temp, width: u8) -> Temp {
        let dst = self.temp();
        self.op(Op::Bin { dst, op, a, b, width });
        dst
    }

    /// A binary operation whose second operand is a constant.
    pub fn bin_int(&mut self, op: BinOp, a: Temp, b: u128, width: u8) -> Temp {
        let b = self.int(b);
        self.bin(op, a, b, width)
    }

    /// `yes` where `cond` is true, else `no`.
    pub(crate) fn select(&mut self, cond: Temp, yes: Temp, no: Temp) -> Temp {
        let dst = self.temp();
        self.op(Op::Select { dst, cond, yes, no });
        dst
    }

    /// The value of a read of `size` bytes.
    pub(crate) fn load(&mut self, addr: Temp, size: u8, tags: Tags) -> Temp {
        let dst = self.temp();
        self.op(Op::Load { dst, addr, size, tags });
        dst
    }

    /// A read-modify-write in one event; `new` computes what is written from what was read. Gives the latter.
    pub(crate) fn rmw(
        &mut self,
        addr: Temp,
        size: u8,
        tags: Tags,
        new: impl FnOnce(&mut Emit, Temp) -> Temp,
    ) -> Temp {
        let dst = self.temp();
        let outer = self.begin();
        let new = new(self, dst);
        let body = self.end(outer);
        self.op(Op::Rmw { dst, addr, size, tags, body, new });
        dst
    }

    /// Writes `size` bytes.
    pub(crate) fn store(&mut self, addr: Temp, src: Temp, size: u8, tags: Tags) {
        self.op(Op::Store { addr, src, size, tags });
    }

    /// Starts a list of its own; give what this returns to [`Emit::end`], which gives the list.
    #[must_use]
    pub fn begin(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    /// Ends the list that [`Emit::begin`] started: gives it, and goes on with `outer`.
    pub(crate) fn end(&mut self, outer: Vec<Op>) -> Vec<Op> {
        std::mem::replace(&mut self.ops, outer)
    }

    /// The ops that `body` writes, apart from the list.
    pub fn block(&mut self, body: impl FnOnce(&mut Emit)) -> Vec<Op> {
        let outer = std::mem::take(&mut self.ops);
        body(self);
        std::mem::replace(&mut self.ops, outer)
    }

    /// Writes ops that run where `cond` is true, and ops that run where it is not.
    pub(crate) fn if_else(
        &mut self,
        cond: Temp,
        yes: impl FnOnce(&mut Emit),
        no: impl FnOnce(&mut Emit),
    ) {
        let yes = self.block(yes);
        let no = self.block(no);
        self.op(Op::If { cond, yes, no });
    }
}

/// A decimal, hexadecimal or binary integer with an optional sign.
pub fn parse_int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = if let Some(d) = prefixed(digits, "0x") {
        (16, d)
    } else if let Some(d) = prefixed(digits, "0b") {
        (2, d)
    } else {
        (10, digits)
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

fn prefixed<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// The labels of one thread. A label of digits only may be defined again; code then says
/// `1f` for the next one and `1b` for the last one, as assemblers have it.
pub struct Labels<'a> {
    named: HashMap<&'a str, Label>,
    numeric: HashMap<&'a str, Vec<Label>>,
}

impl<'a> Labels<'a> {
    /// The labels that stand before lines; an error where a name is defined twice.
    pub(crate) fn new(source: &Source, lines: &'a [Line]) -> Result<Labels<'a>> {
        let mut labels = Labels { named: HashMap::new(), numeric: HashMap::new() };
        for (i, line) in lines.iter().enumerate() {
            for name in &line.labels {
                if is_numeric(name) {
                    labels.numeric.entry(name).or_default().push(i as Label);
                } else if labels.named.insert(name, i as Label).is_some() {
                    return Err(Diag::at(
                        source,
                        line.span,
                        format!("label `{name}` is defined twice in this thread"),
                    )
                    .help("a branch needs one target; rename one of the two"));
                }
            }
        }
        Ok(labels)
    }

    /// The line that a name means when line `at` uses it.
    pub fn find(&self, name: &str, at: usize) -> Option<Label> {
        if let Some(target) = self.named.get(name) {
            return Some(*target);
        }
        let split = name.len().checked_sub(1)?;
        let (number, way) = (name.get(..split)?, name.get(split..)?);
        match way {
            "f" => {
                let all = self.numeric.get(number)?;
                all.iter().copied().find(|l| *l as usize > at)
            }
            "b" => {
                let all = self.numeric.get(number)?;
                all.iter().copied().rev().find(|l| *l as usize <= at)
            }
            // A plain number is clear as long as there is only one.
            _ => match self.numeric.get(name)?.as_slice() {
                [one] => Some(*one),
                _ => None,
            },
        }
    }

    /// The names of labels that are no numbers, in no particular order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.named.keys().copied()
    }
}

fn is_numeric(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
}

/// Removes writes of the registers `hidden` that no path reads, and the computations that
/// nothing uses then. What an instruction set keeps to itself (flags, mostly) so costs nothing
/// where code does not look at it. At most 64 registers may be hidden.
pub fn remove_unseen(code: &mut Code, hidden: &[Reg]) {
    let bit = |reg: Reg| hidden.iter().take(64).position(|h| *h == reg).map_or(0, |i| 1u64 << i);
    let live = live_out(&code.insts, &bit);
    for (inst, live) in code.insts.iter_mut().zip(live) {
        drop_dead_writes(&mut inst.ops, live, &bit);
        drop_unused(&mut inst.ops);
    }
}

/// How often liveness is propagated before every hidden register counts as read everywhere;
/// code needs one round for each jump back that is inside another.
const ROUNDS: usize = 64;

/// For each instruction, the hidden registers that something after it may read.
fn live_out(insts: &[Inst], bit: &impl Fn(Reg) -> u64) -> Vec<u64> {
    let after: Vec<After> = insts
        .iter()
        .enumerate()
        .map(|(at, inst)| {
            let mut after = After::default();
            if after.add(&inst.ops) {
                after.targets.push(at as Label + 1);
            }
            after
        })
        .collect();
    let mut live_in = vec![0u64; insts.len()];
    let mut out = vec![0u64; insts.len()];
    for _ in 0..ROUNDS {
        let mut changed = false;
        let anywhere = live_in.iter().fold(0, |all, live| all | live);
        for i in (0..insts.len()).rev() {
            out[i] = if after[i].anywhere { anywhere } else { 0 };
            for target in &after[i].targets {
                out[i] |= live_in.get(*target as usize).copied().unwrap_or(0);
            }
            let before = live_before(&insts[i].ops, out[i], bit);
            changed |= before != live_in[i];
            live_in[i] = before;
        }
        if !changed {
            return out;
        }
    }
    vec![u64::MAX; insts.len()]
}

/// Where control may go after an instruction.
#[derive(Default)]
struct After {
    targets: Vec<Label>,
    /// To any instruction, by an address in a register.
    anywhere: bool,
}

impl After {
    /// Adds the targets of a list of ops; returns whether control may also fall through.
    fn add(&mut self, ops: &[Op]) -> bool {
        for op in ops {
            match op {
                Op::Branch { target, .. } => self.targets.push(*target),
                Op::Jump { target } => {
                    self.targets.push(*target);
                    return false;
                }
                Op::JumpTo { .. } => {
                    self.anywhere = true;
                    return false;
                }
                Op::Halt => return false,
                Op::If { yes, no, .. } => {
                    let (yes, no) = (self.add(yes), self.add(no));
                    if !yes && !no {
                        return false;
                    }
                }
                _ => {}
            }
        }
        true
    }
}

fn live_before(ops: &[Op], mut live: u64, bit: &impl Fn(Reg) -> u64) -> u64 {
    for op in ops.iter().rev() {
        live = match op {
            Op::ReadReg { reg, .. } => live | bit(*reg),
            Op::WriteReg { reg, .. } => live & !bit(*reg),
            Op::If { yes, no, .. } => live_before(yes, live, bit) | live_before(no, live, bit),
            Op::Rmw { body, .. } => live_before(body, live, bit),
            _ => live,
        };
    }
    live
}

/// Drops dead writes, if the registers `live` are read later; returns those that are live before.
fn drop_dead_writes(ops: &mut Vec<Op>, mut live: u64, bit: &impl Fn(Reg) -> u64) -> u64 {
    let mut kept = Vec::with_capacity(ops.len());
    for mut op in std::mem::take(ops).into_iter().rev() {
        match &mut op {
            Op::WriteReg { reg, .. } => {
                let b = bit(*reg);
                if b != 0 && live & b == 0 {
                    continue;
                }
                live &= !b;
            }
            Op::ReadReg { reg, .. } => live |= bit(*reg),
            Op::If { yes, no, .. } => {
                let after = live;
                live = drop_dead_writes(yes, after, bit) | drop_dead_writes(no, after, bit);
            }
            Op::Rmw { body, .. } => live = live_before(body, live, bit),
            _ => {}
        }
        kept.push(op);
    }
    kept.reverse();
    *ops = kept;
    live
}

/// Drops computations without effect whose result no op uses.
fn drop_unused(ops: &mut Vec<Op>) {
    let mut used = vec![false; temps_of(ops)];
    drop_unused_in(ops, &mut used);
}

fn drop_unused_in(ops: &mut Vec<Op>, used: &mut [bool]) {
    let mut kept = Vec::with_capacity(ops.len());
    for mut op in std::mem::take(ops).into_iter().rev() {
        let is_pure = matches!(
            op,
            Op::Const { .. }
                | Op::ReadReg { .. }
                | Op::Un { .. }
                | Op::Bin { .. }
                | Op::Select { .. }
                | Op::Choose { .. }
        );
        if is_pure && !defined(&op).is_some_and(|t| used[t as usize]) {
            continue;
        }
        for t in uses(&op) {
            used[t as usize] = true;
        }
        match &mut op {
            Op::If { yes, no, .. } => {
                // Assignments of both sides are visible after; neither side sees the other.
                drop_unused_in(yes, used);
                drop_unused_in(no, used);
                if yes.is_empty() && no.is_empty() {
                    continue;
                }
            }
            Op::Rmw { body, .. } => drop_unused_in(body, used),
            _ => {}
        }
        kept.push(op);
    }
    kept.reverse();
    *ops = kept;
}

fn temps_of(ops: &[Op]) -> usize {
    let mut n = 0;
    for op in ops {
        for t in uses(op).chain(defined(op)) {
            n = n.max(t as usize + 1);
        }
        match op {
            Op::If { yes, no, .. } => n = n.max(temps_of(yes)).max(temps_of(no)),
            Op::Rmw { body, .. } => n = n.max(temps_of(body)),
            _ => {}
        }
    }
    n
}

fn defined(op: &Op) -> Option<Temp> {
    match op {
        Op::Const { dst, .. }
        | Op::ReadReg { dst, .. }
        | Op::Un { dst, .. }
        | Op::Bin { dst, .. }
        | Op::Select { dst, .. }
        | Op::Choose { dst }
        | Op::Load { dst, .. }
        | Op::Rmw { dst, .. } => Some(*dst),
        Op::StoreEx { status, .. } => Some(*status),
        _ => None,
    }
}

/// The temporaries that an op itself reads (those inside its lists left out).
fn uses(op: &Op) -> impl Iterator<Item = Temp> + use<> {
    let list = match op {
        Op::WriteReg { src, .. } => [Some(*src), None, None],
        Op::Un { a, .. } => [Some(*a), None, None],
        Op::Bin { a, b, .. } => [Some(*a), Some(*b), None],
        Op::Select { cond, yes, no, .. } => [Some(*cond), Some(*yes), Some(*no)],
        Op::Load { addr, .. } | Op::Touch { addr, .. } => [Some(*addr), None, None],
        Op::Store { addr, src, .. } | Op::StoreEx { addr, src, .. } => {
            [Some(*addr), Some(*src), None]
        }
        Op::Rmw { addr, new, .. } => [Some(*addr), Some(*new), None],
        Op::If { cond, .. }
        | Op::Branch { cond, .. }
        | Op::Assume { cond }
        | Op::Undefined { cond, .. } => [Some(*cond), None, None],
        Op::JumpTo { addr } => [Some(*addr), None, None],
        Op::Const { .. }
        | Op::ReadReg { .. }
        | Op::Choose { .. }
        | Op::Fence { .. }
        | Op::Control { .. }
        | Op::Jump { .. }
        | Op::Halt => [None, None, None],
    };
    list.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for (text, n) in [
            ("0", 0),
            ("-12", -12),
            ("+7", 7),
            ("0xFf", 255),
            ("-0x10", -16),
            ("0b101", 5),
            ("18446744073709551615", u64::MAX.into()),
        ] {
            assert_eq!(parse_int(text), Some(n), "{text}");
        }
        for bad in ["", "-", "0x", "1f", "1_0", "--1", "+-1", "0x-1", "x", "é", "1 2"] {
            assert_eq!(parse_int(bad), None, "{bad}");
        }
    }

    /// Two registers, the second hidden.
    fn code(insts: Vec<Vec<Op>>) -> (Code, Reg) {
        let mut code = Code::default();
        code.reg("a", 64, false);
        let flag = code.reg("flag", 1, false);
        for ops in insts {
            code.insts.push(Inst { ops, ..Inst::default() });
        }
        (code, flag)
    }

    fn write_flag() -> Vec<Op> {
        let mut e = Emit::new();
        let a = e.read(0, Port::None);
        let zero = e.un(UnOp::IsZero, a, 64);
        e.write(1, zero);
        e.finish()
    }

    fn branch_on_flag(target: Label) -> Vec<Op> {
        let mut e = Emit::new();
        let cond = e.read(1, Port::None);
        e.op(Op::Branch { cond, target });
        e.finish()
    }

    #[test]
    fn a_write_that_nothing_reads_goes_with_what_it_needed() {
        let (mut c, flag) = code(vec![write_flag(), write_flag(), branch_on_flag(3)]);
        remove_unseen(&mut c, &[flag]);
        assert_eq!(c.insts[0].ops, []);
        assert_eq!(c.insts[1].ops, write_flag());
    }

    #[test]
    fn a_write_that_a_loop_reads_stays() {
        let (mut c, flag) =
            code(vec![branch_on_flag(3), write_flag(), vec![Op::Jump { target: 0 }]]);
        remove_unseen(&mut c, &[flag]);
        assert_eq!(c.insts[1].ops, write_flag());
    }

    #[test]
    fn an_indirect_jump_may_go_where_it_is_read() {
        let jump = vec![Op::Const { dst: 0, val: Val::ZERO }, Op::JumpTo { addr: 0 }];
        let (mut c, flag) = code(vec![write_flag(), jump, branch_on_flag(0)]);
        remove_unseen(&mut c, &[flag]);
        assert_eq!(c.insts[0].ops, write_flag());
    }

    #[test]
    fn other_registers_stay() {
        let (mut c, _) = code(vec![write_flag()]);
        remove_unseen(&mut c, &[]);
        assert_eq!(c.insts[0].ops, write_flag());
    }
}
