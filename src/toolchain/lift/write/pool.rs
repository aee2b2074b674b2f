//! Addresses where there are more locations than registers: the register that the code itself has an address in is
//! loaded with it first, out of a pool in memory, as code of 32-bit Arm has them, or as a constant, as code of BPF has
//! them.
//!
//! The slots that are left of the stack are in the pool, too. The pool is private to its thread. The stack pointer,
//! which nothing else needs then, points to it.

use std::sync::Arc;

use litmake_base::diag::Span;
use litmake_litmus::{Arch, InitItem, InitValue, Place as Where, Type, Value};

use super::{Object, Writer};
use litmake_isa::target::Target;

/// The pool of a thread, which is filled while the text is written.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub on: bool,
    /// Objects, each with the number of words that it takes and the word at which it begins.
    entries: Vec<(Object, u64, u64)>,
    /// Lines that the instruction that is being written needs before it.
    pub first: Vec<String>,
}

impl Pool {
    pub(super) fn new(on: bool) -> Pool {
        Pool { on, ..Pool::default() }
    }

    /// The place of an entry, in bytes; the entry is made if it is missing.
    fn place(&mut self, object: Object, words: u64) -> u64 {
        if let Some((_, _, at)) = self.entries.iter().find(|(o, ..)| *o == object) {
            return 4 * at;
        }
        let end = self.words();
        // Doublewords are aligned.
        let at = if words > 1 { end.next_multiple_of(2) } else { end };
        self.entries.push((object, words, at));
        4 * at
    }

    fn words(&self) -> u64 {
        self.entries.last().map_or(0, |(_, words, at)| at + words)
    }

    pub(super) fn has(&self, from: i64) -> bool {
        self.entries.iter().any(|(o, ..)| *o == Object::Private(from))
    }
}

/// Whether a target can have a pool.
pub(super) fn possible(target: &Target) -> bool {
    target.arch == Arch::Arm || has_constants(target)
}

/// Whether addresses are constants in instructions; then the pool has slots alone.
fn has_constants(target: &Target) -> bool {
    target.arch == Arch::Bpf
}

impl Writer<'_> {
    /// Has a register loaded with an address, so many bytes into an object, before the instruction.
    pub(super) fn load_from_pool(&mut self, object: Object, offset: i64, reg: &str) {
        for text in self.pool_load(object, offset, reg) {
            if !self.pool.first.contains(&text) {
                self.pool.first.push(text);
            }
        }
    }

    pub(super) fn pool_load(&mut self, object: Object, offset: i64, reg: &str) -> Vec<String> {
        if let Object::Lock(loc) = object {
            self.locks.insert(loc);
        }
        if has_constants(self.target) {
            let load = format!("{reg} = {} ll", self.name_of(&object));
            let add = (offset != 0).then(|| format!("{reg} += {offset}"));
            return [load].into_iter().chain(add).collect();
        }
        let mut out = vec![match self.pool.place(object, 1) {
            0 => format!("LDR {reg},[{}]", self.target.stack),
            n => format!("LDR {reg},[{},#{n}]", self.target.stack),
        }];
        match offset {
            0 => {}
            n if n < 0 => out.push(format!("SUB {reg},{reg},#{}", n.unsigned_abs())),
            n => out.push(format!("ADD {reg},{reg},#{n}")),
        }
        out
    }

    /// Where in the pool a part of the stack is, in bytes.
    pub(super) fn in_pool(&mut self, from: i64) -> Option<i64> {
        let group = self.groups.iter().find(|g| g.0 == from)?;
        let words = u64::try_from(group.1 - group.0).ok()?.div_ceil(4);
        let place = self.pool.on.then(|| self.pool.place(Object::Private(from), words))?;
        i64::try_from(place).ok()
    }

    /// Whether an instruction's register can be loaded from the pool where it holds the address of a location: the
    /// instructions after it find the value that they expect.
    pub(super) fn can_pool(&self, i: usize, name: &str) -> bool {
        // A value that is known under a condition is not there where the condition does not hold.
        let always = self.dead_after(i, name) || self.before(i, name) == self.known(i, name);
        self.pool.on
            && always
            && self.known(i, name).and_then(|k| self.world.location(k)).is_some()
            && self.canonical(name).as_deref() != Some(self.target.stack)
    }

    /// Whether nothing reads the content that a register has after an instruction.
    pub(super) fn dead_after(&self, i: usize, name: &str) -> bool {
        self.canonical(name).is_some_and(|canonical| {
            let reg = self.flat.code.regs.iter().position(|r| r.name == canonical);
            let after = &self.plan.after[i].regs;
            reg.and_then(|r| after.get(r)).is_none_or(|bits| *bits == 0)
        })
    }

    /// The pool at the start.
    pub(super) fn pool_init(&self) -> Vec<InitItem> {
        if self.pool.entries.is_empty() {
            return Vec::new();
        }
        let name = format!("P{}_pool", self.given.thread);
        let mut entries = vec![Value::Int(0); self.pool.words() as usize];
        for (object, _, at) in &self.pool.entries {
            if let (Object::Location(_) | Object::Lock(_), Some(entry)) =
                (object, entries.get_mut(*at as usize))
            {
                *entry = Value::Addr { name: self.name_of(object), index: 0 };
            }
        }
        let ty = Type::Array(Arc::new(Type::INT), entries.len() as u64);
        let pool = InitItem {
            place: Where::Mem { name: name.clone(), index: None },
            ty: Some(ty),
            value: Some(InitValue::Array(entries)),
            span: Span::default(),
        };
        let register = InitItem {
            place: Where::Reg { thread: self.given.thread, name: self.target.stack.to_string() },
            ty: None,
            value: Some(InitValue::One(Value::Addr { name, index: 0 })),
            span: Span::default(),
        };
        vec![pool, register]
    }
}
