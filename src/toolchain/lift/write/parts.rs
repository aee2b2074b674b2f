//! Writes of parts of registers that may hold addresses, in code of x86: what is above the part is
//! cleared first where nothing reads it, since a part of an address is no value in a test.
//!
//! It works on lines alone. Where what is above is read, lines stay as they are.

use std::collections::BTreeSet;

use litmake_base::diag::{Source, Span};
use litmake_isa::Isa;
use litmake_litmus::{Anything, Arch, InitItem, InitValue, Line, Place, Value};
use litmake_ops::{Code, Op, Reg, Temp, UnOp, Val};

use super::super::needed::{Matters, needed};
use super::Origin;
use litmake_isa::target::Target;

/// More rounds than this are not made.
const MAX_STEPS: usize = 100_000;

/// Clears what is above. `calls` has something for each line; `spare` is a register that no line
/// names.
pub(super) fn clear(
    target: &Target,
    isa: &dyn Isa,
    lines: &mut Vec<Line>,
    calls: &mut Vec<Origin>,
    init: &[InitItem],
    spare: Option<&str>,
) {
    let narrow = |l: &Line| {
        let text = l.text.to_ascii_lowercase();
        let name = text.strip_prefix("lock ").unwrap_or(&text);
        let name = name.split(' ').next().unwrap_or("");
        name.ends_with(['b', 'w']) || name.starts_with("set")
    };
    if !target.is_x86() || !lines.iter().any(narrow) {
        return;
    }
    let Ok(code) = isa.thread(&Source::new("lifted code", ""), lines, &mut Anything) else {
        return;
    };
    if code.insts.len() != lines.len() {
        return;
    }
    let Some(known) = Registers::of(&code, isa, init, target.word) else { return };
    let (mut out, mut out_calls) = (Vec::with_capacity(lines.len()), Vec::new());
    for (i, line) in lines.iter().enumerate() {
        let mut texts = Vec::new();
        let mut other = false;
        for reg in known.merged(&code, i) {
            let name = &code.regs[usize::from(reg)].name;
            let zero = target.cleared(name);
            match known.use_of_rest(&code, i, reg) {
                Use::No => texts.push(zero),
                Use::Address => {
                    let form = apart(target, &line.text, name, spare);
                    other |= !form.is_empty();
                    texts.extend(form);
                }
                Use::Yes => {}
            }
        }
        // The line itself is last, unless another form stands for it.
        if !other {
            texts.push(line.text.clone());
        }
        let mut labels = line.labels.clone();
        for text in texts {
            let labels = std::mem::take(&mut labels);
            out.push(Line { labels, text, span: Span::default() });
            out_calls.push(calls.get(i).copied().unwrap_or_default());
        }
    }
    (*lines, *calls) = (out, out_calls);
}

/// A load into a part of a register that is in its address: with a copy of the address, or of
/// more than the part. Loads of 32-bit code are of whole registers then.
fn apart(target: &Target, text: &str, reg: &str, spare: Option<&str>) -> Vec<String> {
    if target.arch != Arch::X86_64 {
        return Vec::new();
    }
    let size = match text.split(' ').next() {
        Some("movw") => 'w',
        Some("movb") => 'b',
        _ => return Vec::new(),
    };
    let Some((memory, to)) = text[4..].trim_start().rsplit_once(',') else { return Vec::new() };
    let Some(spare) = spare else {
        return vec![format!("movz{size}l {memory},{}", target.view(reg, 4))];
    };
    let (from, copy) = (target.view(reg, 8), target.view(spare, 8));
    // No name of a register of 64 bits is the start of another's.
    let memory = memory.replace(&from, &copy);
    vec![format!("movq {from},{copy}"), target.constant(reg, 0), format!("mov{size} {memory},{to}")]
}

enum Use {
    No,
    /// The address of what is loaded is computed from it.
    Address,
    Yes,
}

/// The registers that may hold addresses before each line, and the bits of registers that matter after it.
struct Registers {
    /// Whether a register may hold an address; nothing where a line is not reached.
    addresses: Vec<Option<Vec<bool>>>,
    after: Vec<Vec<u128>>,
    /// Bytes of an address.
    word: u8,
}

impl Registers {
    fn of(code: &Code, isa: &dyn Isa, init: &[InitItem], word: u8) -> Option<Registers> {
        let (len, count) = (code.insts.len(), code.regs.len());
        let next: Vec<BTreeSet<usize>> = (0..len).map(|i| next(&code.insts[i].ops, i)).collect();
        let mut start = vec![false; count];
        for item in init {
            if let Place::Reg { name, .. } = &item.place
                && matches!(&item.value, Some(InitValue::One(Value::Addr { .. })))
                && let Some(found) = isa.register(name)
                && let Some(r) = code.regs.iter().position(|r| r.name == found.name)
            {
                start[r] = true;
            }
        }
        let mut addresses: Vec<Option<Vec<bool>>> = vec![None; len];
        *addresses.first_mut()? = Some(start);
        let (mut todo, mut steps) = (vec![0usize], 0);
        while let Some(i) = todo.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
            let Some(mut state) = addresses[i].clone() else { continue };
            hold(&code.insts[i].ops, &mut state, &mut Vec::new(), word);
            for to in next[i].iter().filter(|to| **to < len) {
                match &mut addresses[*to] {
                    None => addresses[*to] = Some(state.clone()),
                    Some(old) if old.iter().zip(&state).all(|(o, s)| *o || !s) => continue,
                    Some(old) => old.iter_mut().zip(&state).for_each(|(o, s)| *o |= s),
                }
                todo.push(*to);
            }
        }
        let mut before = vec![vec![0u128; count]; len + 1];
        let mut after = vec![vec![0u128; count]; len];
        let mut changed = true;
        while changed {
            changed = false;
            for i in (0..len).rev() {
                steps += 1;
                if steps > MAX_STEPS {
                    return None;
                }
                let mut live = vec![0u128; count];
                for to in next[i].iter().filter(|to| **to < len) {
                    live.iter_mut().zip(&before[*to]).for_each(|(l, b)| *l |= b);
                }
                after[i].clone_from(&live);
                matter(&code.insts[i].ops, &mut live, true);
                changed |= live != before[i];
                before[i] = live;
            }
        }
        Some(Registers { addresses, after, word })
    }

    /// The registers that a line writes a part of, while they may hold addresses.
    fn merged(&self, code: &Code, i: usize) -> Vec<Reg> {
        let Some(before) = &self.addresses[i] else { return Vec::new() };
        let ops = &code.insts[i].ops;
        let holds = |with: bool, reg: Reg| {
            let mut state = before.clone();
            state[usize::from(reg)] = with;
            hold(ops, &mut state, &mut Vec::new(), self.word);
            state[usize::from(reg)]
        };
        let written: BTreeSet<Reg> = ops
            .iter()
            .filter_map(|op| match op {
                Op::WriteReg { reg, .. } => Some(*reg),
                _ => None,
            })
            .filter(|reg| before.get(usize::from(*reg)).copied().unwrap_or(false))
            .collect();
        written.into_iter().filter(|r| holds(true, *r) && !holds(false, *r)).collect()
    }

    /// The use that a line and those after it make of the content that a register has before the line.
    fn use_of_rest(&self, code: &Code, i: usize, reg: Reg) -> Use {
        let wanted = |address: bool| {
            let mut live = self.after[i].clone();
            matter(&code.insts[i].ops, &mut live, address);
            live[usize::from(reg)] != 0
        };
        match (wanted(true), wanted(false)) {
            (false, _) => Use::No,
            (true, false) => Use::Address,
            (true, true) => Use::Yes,
        }
    }
}

/// Turns the bits that matter after an instruction into those that matter before it.
fn matter(ops: &[Op], live: &mut [u128], address: bool) {
    let matters = Matters { address: &|_| address, stored: &|_| u128::MAX };
    needed(ops, live, &matters);
}

fn next(ops: &[Op], i: usize) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    for op in ops {
        match op {
            Op::Branch { target, .. } => drop(out.insert(*target as usize)),
            Op::Jump { target } => {
                out.insert(*target as usize);
                return out;
            }
            Op::Halt => return out,
            _ => {}
        }
    }
    out.insert(i + 1);
    out
}

/// Which registers may hold addresses after some ops; `temps` says it of temporaries. What comes
/// out of a word of memory may be one, and what is computed from one.
fn hold(ops: &[Op], regs: &mut [bool], temps: &mut Vec<bool>, word: u8) {
    for op in ops {
        let get = |temps: &Vec<bool>, t: Temp| temps.get(usize::from(t)).copied().unwrap_or(false);
        let put = |temps: &mut Vec<bool>, t: Temp, is: bool| {
            let t = usize::from(t);
            if temps.len() <= t {
                temps.resize(t + 1, false);
            }
            temps[t] = is;
        };
        match op {
            Op::Const { dst, val } => put(temps, *dst, !matches!(val, Val::Int(_))),
            Op::ReadReg { dst, reg, .. } => {
                let is = regs.get(usize::from(*reg)).copied().unwrap_or(false);
                put(temps, *dst, is);
            }
            Op::WriteReg { reg, src } => {
                if let Some(r) = regs.get_mut(usize::from(*reg)) {
                    *r = get(temps, *src);
                }
            }
            Op::Un { dst, op, a, .. } => {
                let whole = match op {
                    UnOp::ZeroExt { from } | UnOp::SignExt { from } => *from >= 8 * word,
                    _ => true,
                };
                let is = whole && get(temps, *a);
                put(temps, *dst, is);
            }
            Op::Bin { dst, a, b, .. } => {
                let is = get(temps, *a) || get(temps, *b);
                put(temps, *dst, is);
            }
            Op::Select { dst, yes, no, .. } => {
                let is = get(temps, *yes) || get(temps, *no);
                put(temps, *dst, is);
            }
            Op::Load { dst, size, .. } => put(temps, *dst, *size >= word),
            Op::Rmw { dst, size, body, .. } => {
                put(temps, *dst, *size >= word);
                hold(body, regs, temps, word);
            }
            Op::If { yes, no, .. } => {
                let (mut other, mut left) = (regs.to_vec(), temps.clone());
                hold(yes, regs, temps, word);
                hold(no, &mut other, &mut left, word);
                regs.iter_mut().zip(other).for_each(|(r, o)| *r |= o);
                for (t, is) in left.iter().enumerate() {
                    let is = *is || get(temps, t as Temp);
                    put(temps, t as Temp, is);
                }
            }
            Op::Choose { .. }
            | Op::Store { .. }
            | Op::StoreEx { .. }
            | Op::Assume { .. }
            | Op::Undefined { .. }
            | Op::Fence { .. }
            | Op::Touch { .. }
            | Op::Control { .. }
            | Op::Branch { .. }
            | Op::Jump { .. }
            | Op::JumpTo { .. }
            | Op::Halt => {}
        }
    }
}
