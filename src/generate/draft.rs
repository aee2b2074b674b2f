//! A test as text in buffers that are used again: printed, and hashed in canonical form, without
//! building a syntax tree.
//!
//! Both texts are those that reading the test back would give (`litmus::write`,
//! `litmus::canon`), which tests compare.

use std::fmt::Write;

use super::cycle::{LOCS, MAX_LOCS};
use super::dialect;
use litmake_base::diag::{Result, Source};
use litmake_litmus::{self as litmus, Arch, Test};

/// A line of an assembly thread: a range of the draft's text, with its labels.
#[derive(Clone, Copy, Debug, Default)]
pub struct DraftLine {
    /// Where the line begins in [`Draft::text`].
    pub(crate) start: u32,
    /// Where it ends.
    pub(crate) end: u32,
    /// The label that it bears, counted from 1; 0 for none.
    pub(crate) label: u16,
    /// The label at its end, if it is a branch.
    pub(crate) target: u16,
}

/// A place whose final value the condition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A thread and the number of a register in it.
    Reg(u8, u8),
    /// A location, as an index into [`LOCS`].
    Loc(u8),
}

/// How a test's condition names the outcome of its cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// `exists` with the outcome of the cycle.
    #[default]
    Exists,
    /// `~exists` with it.
    NotExists,
    /// Every outcome, by a `locations` clause.
    Every,
}

/// The one object in which locations lie: its name is [`ARRAY`].
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// The C type of its elements.
    pub(crate) ty: &'static str,
    /// How many elements it has.
    pub(crate) len: u16,
    /// The element of each location.
    pub(crate) index: [u16; MAX_LOCS],
}

/// The name of the object in which locations lie.
pub(crate) const ARRAY: &str = "s";

/// A test while it is built. Its buffers are used for one test after the other.
#[derive(Default)]
pub struct Draft {
    /// The dialect; `None` before the first test.
    pub arch: Option<Arch>,
    /// The name of the test.
    pub name: String,
    /// The quoted line under the name.
    pub doc: String,
    /// The text of all lines of code.
    pub(crate) text: String,
    /// The lines of all threads.
    pub(crate) lines: Vec<DraftLine>,
    /// Where each thread begins in `lines`, and their number at the end. In C, a line is a
    /// function.
    pub(crate) threads: Vec<usize>,
    /// Thread, register and location, sorted.
    pub(crate) init: Vec<(u8, u8, u8)>,
    /// Registers that hold constants from the start: thread, register, value.
    pub(crate) values: Vec<(u8, u8, i32)>,
    /// Types of locations, where a test has to give them: location, C name.
    pub(crate) types: Vec<(u8, &'static str)>,
    /// The array or structure that the locations are elements of, if they are not separate variables.
    pub(crate) array: Option<Array>,
    /// Locations that are two elements, and the second's value at the end.
    pub(crate) pairs: Vec<(u8, i32)>,
    /// Functions that threads of a C test call.
    pub(crate) helpers: Vec<String>,
    /// The places that the condition names, and the value of each.
    pub shown: Vec<(Shown, i32)>,
    /// How the condition asks for it.
    pub(crate) ask: Ask,
    labels: Vec<u32>,
    order: Vec<(u32, u32)>,
    sorted: String,
    canon: String,
}

/// The name of a register, by its number among those that generated tests use.
pub fn reg_name(arch: Arch, reg: u8, out: &mut String) {
    let registers = &dialect::of(arch).registers;
    match registers.names {
        [] => {
            out.push_str(registers.prefix);
            number(i64::from(reg), out);
        }
        names => out.push_str(names[usize::from(reg) % names.len()]),
    }
}

/// A function in the canonical form.
fn function(text: &str, out: &mut String) {
    out.push_str("function ");
    number(text.len() as i64, out);
    out.push('\n');
    out.push_str(text);
    out.push('\n');
}

/// A decimal number, without the machinery of formatting.
pub fn number(n: i64, out: &mut String) {
    let digit = |n: i64| char::from(b'0' + n as u8);
    match n {
        0..10 => out.push(digit(n)),
        10..100 => {
            out.push(digit(n / 10));
            out.push(digit(n % 10));
        }
        _ => {
            let _ = write!(out, "{n}");
        }
    }
}

impl Draft {
    /// Empties the buffers for a test of a dialect.
    pub(crate) fn clear(&mut self, arch: Arch) {
        self.arch = Some(arch);
        self.ask = Ask::Exists;
        for text in [&mut self.name, &mut self.doc, &mut self.text] {
            text.clear();
        }
        self.lines.clear();
        self.threads.clear();
        self.init.clear();
        self.values.clear();
        self.types.clear();
        self.array = None;
        self.pairs.clear();
        self.helpers.clear();
        self.shown.clear();
    }

    fn arch(&self) -> Arch {
        self.arch.unwrap_or(Arch::C)
    }

    /// How many threads there are.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len().saturating_sub(1)
    }

    fn place(&self, shown: Shown, out: &mut String) {
        match shown {
            Shown::Reg(thread, reg) => {
                number(i64::from(thread), out);
                out.push(':');
                reg_name(self.arch(), reg, out);
            }
            Shown::Loc(loc) => match &self.array {
                None => {
                    out.push('[');
                    out.push_str(LOCS[usize::from(loc)]);
                    out.push(']');
                }
                Some(array) => {
                    out.push_str(ARRAY);
                    out.push('[');
                    number(i64::from(array.index[usize::from(loc)]), out);
                    out.push(']');
                }
            },
        }
    }

    /// Whether a place is two elements.
    fn pair(&self, shown: Shown) -> Option<(u8, i32)> {
        self.pairs.iter().copied().find(|(loc, _)| shown == Shown::Loc(*loc))
    }

    fn condition(&self, out: &mut String) {
        if self.ask == Ask::Every {
            out.push_str("forall (true)");
            return;
        }
        out.push_str(if self.ask == Ask::Exists { "exists (" } else { "~exists (" });
        for (i, (place, value)) in self.shown.iter().enumerate() {
            if i > 0 {
                out.push_str(" /\\ ");
            }
            if let Some((loc, second)) = self.pair(*place) {
                out.push_str(LOCS[usize::from(loc)]);
                out.push_str("={");
                number(i64::from(*value), out);
                out.push(',');
                number(i64::from(second), out);
                out.push('}');
                continue;
            }
            self.place(*place, out);
            out.push('=');
            number(i64::from(*value), out);
        }
        if self.shown.is_empty() {
            out.push_str("true");
        }
        out.push(')');
    }

    /// A place in the `locations` clause, where a location stands alone.
    fn location(&self, shown: Shown, out: &mut String) {
        match shown {
            Shown::Loc(loc) if self.array.is_none() => out.push_str(LOCS[usize::from(loc)]),
            other => self.place(other, out),
        }
    }

    /// The test as it is written into files.
    pub fn print(&self, out: &mut String) {
        let arch = self.arch();
        out.push_str(arch.name());
        out.push(' ');
        out.push_str(&self.name);
        out.push('\n');
        if !self.doc.is_empty() {
            out.push('"');
            out.push_str(&self.doc);
            out.push_str("\"\n");
        }
        self.print_init(out);
        if arch == Arch::C {
            for helper in &self.helpers {
                out.push_str(helper);
            }
            for line in &self.lines {
                out.push_str(&self.text[line.start as usize..line.end as usize]);
            }
        } else {
            self.print_table(out);
        }
        if self.ask == Ask::Every {
            out.push_str("locations [");
            for (i, (place, _)) in self.shown.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" });
                self.location(*place, out);
                out.push(';');
            }
            out.push_str("]\n");
        }
        self.condition(out);
        out.push('\n');
    }

    fn print_init(&self, out: &mut String) {
        let objects = self.values.is_empty()
            && self.types.is_empty()
            && self.pairs.is_empty()
            && self.array.is_none();
        if self.init.is_empty() && objects {
            out.push_str("{}\n");
            return;
        }
        out.push_str("{\n");
        if let Some(array) = &self.array {
            let _ = writeln!(out, " {} {ARRAY}[{}];", array.ty, array.len);
        }
        for (loc, _) in &self.pairs {
            for part in [" int ", LOCS[usize::from(*loc)], "[2];\n"] {
                out.push_str(part);
            }
        }
        if !self.types.is_empty() {
            for (loc, ty) in &self.types {
                for part in [" ", ty, " ", LOCS[usize::from(*loc)], ";"] {
                    out.push_str(part);
                }
            }
            out.push('\n');
        }
        for (i, (thread, reg, loc)) in self.init.iter().enumerate() {
            out.push(' ');
            self.place(Shown::Reg(*thread, *reg), out);
            out.push('=');
            out.push_str(LOCS[usize::from(*loc)]);
            out.push(';');
            if self.init.get(i + 1).is_none_or(|next| next.0 != *thread) {
                out.push('\n');
            }
        }
        for (thread, reg, value) in &self.values {
            out.push(' ');
            self.place(Shown::Reg(*thread, *reg), out);
            out.push('=');
            number(i64::from(*value), out);
            out.push_str(";\n");
        }
        out.push_str("}\n");
    }

    fn label(label: u16, out: &mut String) {
        out.push('L');
        let label = label - 1;
        if label < 10 {
            out.push('0');
        }
        number(i64::from(label), out);
    }

    /// The width of a cell, without writing it.
    fn width(&self, line: &DraftLine) -> usize {
        let label = |l: u16| if l == 0 { 0 } else { 3 + usize::from(l > 100) };
        let own = if line.label == 0 { 0 } else { label(line.label) + 2 };
        (line.end - line.start) as usize + own + label(line.target)
    }

    fn print_table(&self, out: &mut String) {
        const BLANKS: &str = "                                                                ";
        let pad = |n: usize, out: &mut String| match BLANKS.get(..n) {
            Some(blanks) => out.push_str(blanks),
            None => out.extend(std::iter::repeat_n(' ', n)),
        };
        let threads = self.thread_count();
        let mut widths = [2usize; 64];
        let mut rows = 1;
        for (t, width) in widths.iter_mut().enumerate().take(threads) {
            let lines = &self.lines[self.threads[t]..self.threads[t + 1]];
            rows = rows.max(lines.len());
            *width = lines.iter().map(|l| self.width(l)).max().unwrap_or(0).max(2);
        }
        for (t, width) in widths.iter().enumerate().take(threads) {
            out.push_str(" P");
            number(t as i64, out);
            pad(width + 1 - if t < 10 { 2 } else { 3 }.min(*width), out);
            out.push_str(if t + 1 == threads { ";\n" } else { "|" });
        }
        for row in 0..rows {
            for (t, width) in widths.iter().enumerate().take(threads) {
                out.push(' ');
                let mut used = 0;
                if let Some(line) = self.lines[self.threads[t]..self.threads[t + 1]].get(row) {
                    used = self.width(line);
                    if line.label > 0 {
                        Draft::label(line.label, out);
                        out.push_str(": ");
                    }
                    out.push_str(&self.text[line.start as usize..line.end as usize]);
                    if line.target > 0 {
                        Draft::label(line.target, out);
                    }
                }
                pad(width - used + 1, out);
                out.push_str(if t + 1 == threads { ";\n" } else { "|" });
            }
        }
    }

    /// The hash of the canonical form.
    pub fn canonical_hash(&mut self) -> blake3::Hash {
        let mut text = std::mem::take(&mut self.canon);
        text.clear();
        self.canonical(&mut text);
        let hash = blake3::hash(text.as_bytes());
        self.canon = text;
        hash
    }

    /// The canonical form, as [`litmus::canon::canonical_text`] has it.
    pub fn canonical(&mut self, out: &mut String) {
        let arch = self.arch();
        out.push_str("litmus 1 ");
        out.push_str(arch.name());
        out.push('\n');
        self.canonical_init(out);
        for helper in &self.helpers {
            function(helper, out);
        }
        for t in 0..self.thread_count() {
            out.push_str("thread ");
            number(t as i64, out);
            out.push('\n');
            let lines = &self.lines[self.threads[t]..self.threads[t + 1]];
            if arch == Arch::C {
                for line in lines {
                    let text = &self.text[line.start as usize..line.end as usize];
                    function(text, out);
                }
                continue;
            }
            self.labels.clear();
            for (i, line) in lines.iter().enumerate() {
                if line.label > 0 {
                    let at = usize::from(line.label);
                    if self.labels.len() <= at {
                        self.labels.resize(at + 1, 0);
                    }
                    self.labels[at] = i as u32;
                }
            }
            for line in lines {
                out.push_str(&self.text[line.start as usize..line.end as usize]);
                if line.start < line.end || line.target > 0 {
                    if line.target > 0 {
                        out.push('\u{1}');
                        let to = self.labels.get(usize::from(line.target)).copied().unwrap_or(0);
                        number(i64::from(to), out);
                    }
                    out.push('\n');
                }
            }
        }
        if self.ask == Ask::Every {
            for (place, _) in &self.shown {
                out.push_str("location ");
                self.location(*place, out);
                out.push_str(" \n");
            }
        }
        self.condition(out);
        out.push('\n');
    }

    /// Initialisations, sorted as texts.
    fn canonical_init(&mut self, out: &mut String) {
        let mut text = std::mem::take(&mut self.sorted);
        let mut order = std::mem::take(&mut self.order);
        text.clear();
        order.clear();
        for (thread, reg, loc) in &self.init {
            let start = text.len() as u32;
            self.place(Shown::Reg(*thread, *reg), &mut text);
            text.push_str(" [1]=");
            text.push_str(LOCS[usize::from(*loc)]);
            order.push((start, text.len() as u32));
        }
        for (thread, reg, value) in &self.values {
            let start = text.len() as u32;
            self.place(Shown::Reg(*thread, *reg), &mut text);
            text.push_str(" [1]=");
            number(i64::from(*value), &mut text);
            order.push((start, text.len() as u32));
        }
        for (loc, ty) in &self.types {
            let start = text.len() as u32;
            for part in [LOCS[usize::from(*loc)], " ", ty, "[1]="] {
                text.push_str(part);
            }
            order.push((start, text.len() as u32));
        }
        for (loc, _) in &self.pairs {
            let start = text.len() as u32;
            for part in [LOCS[usize::from(*loc)], " int[2]="] {
                text.push_str(part);
            }
            order.push((start, text.len() as u32));
        }
        if let Some(array) = &self.array {
            let start = text.len() as u32;
            let _ = write!(text, "{ARRAY} {}[{}]=", array.ty, array.len);
            order.push((start, text.len() as u32));
        }
        order.sort_unstable_by_key(|(a, b)| &text[*a as usize..*b as usize]);
        for (a, b) in &order {
            out.push_str("init ");
            out.push_str(&text[*a as usize..*b as usize]);
            out.push('\n');
        }
        self.sorted = text;
        self.order = order;
    }

    /// The test as a value.
    pub fn test(&self) -> Result<Test> {
        let mut text = String::new();
        self.print(&mut text);
        litmus::read(&Source::new(self.name.as_str(), text))
    }
}
