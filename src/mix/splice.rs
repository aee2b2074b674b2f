//! Splices: joins the compiled parts of a test into one test.
//!
//! Labels and private locations are renamed apart. Each part finds the addresses of its locations
//! in the registers for which it was compiled: a register holds its address from the start if no
//! part changes it, and otherwise the address is moved there from a register that no part uses. It
//! does not know compilers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::meaning::meaning;
use super::pieces::{Piece, Split, Step, renamed};
use litmake_base::diag::{Source, Span};
use litmake_base::failure::Failure;
use litmake_isa::target::Target;
use litmake_isa::{Isa, target};
use litmake_lang::compiled;
use litmake_lang::compiled::{Kept, compose, declare, locations};
use litmake_litmus::{
    Arch, Body, Features, InitItem, InitValue, Line, Place, Symbols, Test, Type, Value,
};
use litmake_ops::{Op, Reg};

/// A compiled part, and the properties that depend on it alone.
#[derive(Clone, Debug)]
pub struct Compiled {
    lines: Vec<Line>,
    /// Registers and the locations that they have to point to.
    needs: Vec<(String, String)>,
    private: Vec<InitItem>,
    uses: BTreeSet<String>,
    writes: BTreeSet<String>,
    arch: Arch,
    features: Features,
    /// The description of its effects, if it can be followed; parts with equal descriptions are
    /// interchangeable.
    pub meaning: Option<String>,
}

/// The locations that the code names itself.
#[derive(Default)]
struct Named(Vec<String>);

impl Symbols for Named {
    fn location(&mut self, name: &str) -> u16 {
        let at = self.0.iter().position(|n| n == name).unwrap_or_else(|| {
            self.0.push(name.to_string());
            self.0.len() - 1
        });
        at as u16
    }
    fn declare(&mut self, name: &str, _: &Type) -> u16 {
        self.location(name)
    }
}

impl Compiled {
    /// Reads what a compiled part needs from the parts around it.
    pub fn new(part: &Test) -> Result<Compiled, Failure> {
        let isa = isa(part.arch, part.features())?;
        let [Body::Asm(lines)] = part.threads.as_slice() else {
            return Err("a compiled part has one thread of machine code".into());
        };
        let mut named = Named::default();
        let code = isa
            .thread(&Source::new("part", ""), lines, &mut named)
            .map_err(|e| format!("a compiled part cannot be read: {}", e.message))?;
        let (mut uses, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for inst in &code.insts {
            each_register(&inst.ops, &mut |reg, written| {
                if let Some(info) = code.regs.get(usize::from(reg)) {
                    uses.insert(info.name.clone());
                    if written {
                        writes.insert(info.name.clone());
                    }
                }
            });
        }
        let (mut needs, mut private) = (Vec::new(), Vec::new());
        for item in &part.init {
            match (&item.place, &item.value) {
                (
                    Place::Reg { name, .. },
                    Some(InitValue::One(Value::Addr { name: to, index: 0 })),
                ) => {
                    let name = isa.register(name).map_or(name.clone(), |r| r.name);
                    uses.insert(name.clone());
                    needs.push((name, to.clone()));
                }
                (Place::Reg { name, .. }, _) => {
                    return Err(Failure::unsupported(format!(
                        "a compiled part that needs an initial value in the register `{name}`"
                    )));
                }
                (Place::Mem { .. }, _) => private.push(item.clone()),
            }
        }
        let meaning = meaning(&code, &needs, &named.0).map(|mut text| {
            let mut init: Vec<String> = private.iter().map(litmake_litmus::init_text).collect();
            init.sort();
            init.iter().for_each(|line| text += line);
            text
        });
        let lines = lines.clone();
        let (arch, features) = (part.arch, part.features());
        Ok(Compiled { lines, needs, private, uses, writes, arch, features, meaning })
    }
}

/// Calls `f` with each register that operations name, also inside conditions, and whether they
/// write it.
fn each_register(ops: &[Op], f: &mut dyn FnMut(Reg, bool)) {
    for op in ops {
        match op {
            Op::WriteReg { reg, .. } => f(*reg, true),
            Op::ReadReg { reg, .. } => f(*reg, false),
            Op::If { yes, no, .. } => {
                each_register(yes, f);
                each_register(no, f);
            }
            Op::Rmw { body, .. } => each_register(body, f),
            _ => {}
        }
    }
}

fn isa(arch: Arch, features: Features) -> Result<&'static dyn Isa, Failure> {
    litmake_isa::with(arch, features).ok_or_else(|| Failure::from("a compiled part is no C"))
}

/// Joins compiled parts to a test; `parts` has one for each piece.
pub fn splice(test: &Test, split: &Split, parts: &[&Compiled]) -> Result<Test, Failure> {
    let arch = parts.first().map(|p| p.arch).ok_or("there is no part to join")?;
    if let Some(other) = parts.iter().find(|p| p.arch != arch) {
        return Err(format!(
            "code for {} and code for {} cannot be mixed",
            arch.name(),
            other.arch.name()
        )
        .into());
    }
    let target = target::of(arch, false, false, false).ok_or_else(|| {
        Failure::unsupported(format!("code for {} cannot be joined", arch.name()))
    })?;
    let mut init = locations(test);
    for (_, name, ty) in &split.own {
        declare(&mut init, name, ty.clone());
    }
    let mut threads = Vec::new();
    for (thread, steps) in split.threads.iter().enumerate() {
        let mut out = Thread {
            thread,
            target: &target,
            lines: Vec::new(),
            labels: Vec::new(),
            init: Vec::new(),
            starts: BTreeMap::new(),
            moved: BTreeMap::new(),
            tabled: Vec::new(),
            table: None,
            free: Vec::new(),
            value: None,
        };
        out.run(steps, &split.pieces, parts)?;
        // Threads share the locks of their locations.
        let fresh: Vec<InitItem> =
            out.init.into_iter().filter(|i| init.iter().all(|o| o.place != i.place)).collect();
        init.extend(fresh);
        threads.push(Body::Asm(out.lines));
    }
    let mut joined = compose(test, arch, Kept::In(&split.observed), init, threads)?;
    for part in parts {
        joined.add_features(part.features);
    }
    Ok(joined)
}

struct Thread<'a> {
    thread: usize,
    target: &'a Target,
    lines: Vec<Line>,
    /// The labels of the next line.
    labels: Vec<String>,
    init: Vec<InitItem>,
    /// Registers that hold the address of a location from start to end.
    starts: BTreeMap<String, String>,
    /// For each location, the register from which parts copy its address.
    moved: BTreeMap<String, String>,
    /// The locations whose addresses are in the thread's table, because there are too few
    /// registers, and the register that points to the table.
    tabled: Vec<String>,
    table: Option<String>,
    free: Vec<String>,
    /// The register for reading conditions.
    value: Option<String>,
}

impl Thread<'_> {
    fn run(
        &mut self,
        steps: &[Step],
        pieces: &[Piece],
        parts: &[&Compiled],
    ) -> Result<(), Failure> {
        let mine: Vec<usize> = steps
            .iter()
            .filter_map(|s| match s {
                Step::Piece(i) => Some(*i),
                _ => None,
            })
            .collect();
        let mut uses: BTreeSet<&str> = BTreeSet::new();
        let mut writes: BTreeSet<&str> = BTreeSet::new();
        for i in &mine {
            uses.extend(parts[*i].uses.iter().map(String::as_str));
            writes.extend(parts[*i].writes.iter().map(String::as_str));
        }
        // A register that all parts need for one location, and that none changes.
        let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for i in &mine {
            for (reg, place) in &parts[*i].needs {
                let place = self.place(*i, &pieces[*i], place);
                wanted.entry(reg.clone()).or_default().insert(place);
            }
        }
        for (reg, places) in wanted {
            if let (Some(place), 1) = (places.first(), places.len())
                && !writes.contains(reg.as_str())
            {
                self.starts.insert(reg, place.clone());
            }
        }
        self.free = self.target.spare.iter().map(|s| s.to_string()).collect();
        self.free.retain(|r| !uses.contains(r.as_str()));
        self.free.reverse();
        self.prepare(steps, pieces, parts)?;
        for step in steps {
            match step {
                Step::Piece(i) => self.piece(*i, &pieces[*i], parts[*i])?,
                Step::Label(n) => {
                    let target =
                        |s: &Step| matches!(s, Step::Jump(m) | Step::Unless(_, m) if m == n);
                    if steps.iter().any(target) {
                        self.labels.push(self.label(*n));
                    }
                }
                Step::Jump(n) => {
                    let text = self.target.jump(&self.label(*n));
                    self.line(text);
                }
                Step::Unless(place, n) => self.unless(place, *n)?,
            }
        }
        if !self.labels.is_empty() {
            self.line(String::new());
        }
        let holds = self.starts.iter().map(|(r, p)| (r.clone(), p.clone()));
        let moved = self.moved.iter().map(|(p, r)| (r.clone(), p.clone()));
        let mut all: Vec<(String, String)> = holds.chain(moved).collect();
        if let Some(base) = &self.table {
            let table = format!("P{}_addresses", self.thread);
            all.push((base.clone(), table.clone()));
            let at = |name: &String| Value::Addr { name: name.clone(), index: 0 };
            let to = Type::Pointer(Arc::new(Type::Void));
            self.init.push(InitItem {
                place: Place::Mem { name: table, index: None },
                ty: Some(Type::Array(Arc::new(to), self.tabled.len() as u64)),
                value: Some(InitValue::Array(self.tabled.iter().map(at).collect())),
                span: Span::default(),
            });
        }
        for (reg, place) in all {
            self.init.push(InitItem {
                place: Place::Reg { thread: self.thread, name: reg },
                ty: None,
                value: Some(InitValue::One(Value::Addr { name: place, index: 0 })),
                span: Span::default(),
            });
        }
        Ok(())
    }

    fn label(&self, n: usize) -> String {
        format!("M{}_{n}", self.thread)
    }

    fn line(&mut self, text: String) {
        let labels = std::mem::take(&mut self.labels);
        self.lines.push(Line { labels, text, span: Span::default() });
    }

    /// The test's name for a location of a part.
    fn place(&self, i: usize, piece: &Piece, name: &str) -> String {
        match piece.args.iter().find(|(own, _)| own == name) {
            Some((_, place)) => place.clone(),
            None if compiled::is_lock(name) => {
                let of = compiled::locked_by(name).unwrap_or(name);
                compiled::lock_of(&self.place(i, piece, of))
            }
            None => {
                let rest = name.strip_prefix("P0_").unwrap_or(name);
                format!("P{}_{i}_{rest}", self.thread)
            }
        }
    }

    /// Gives a register to each location whose address has to be moved to parts. If there are too
    /// few registers, the other addresses are put in a table.
    fn prepare(
        &mut self,
        steps: &[Step],
        pieces: &[Piece],
        parts: &[&Compiled],
    ) -> Result<(), Failure> {
        let mut all: Vec<String> = Vec::new();
        let mut conditions = false;
        for step in steps {
            let wanted: Vec<String> = match step {
                Step::Piece(i) => {
                    let needs = parts[*i].needs.iter();
                    let places =
                        needs.map(|(reg, place)| (reg, self.place(*i, &pieces[*i], place)));
                    let moved = places.filter(|(r, place)| self.starts.get(*r) != Some(place));
                    moved.map(|(_, place)| place).collect()
                }
                Step::Unless(place, _) if self.target.direct(place, 0).is_none() => {
                    conditions = true;
                    vec![place.clone()]
                }
                _ => Vec::new(),
            };
            for place in wanted {
                if !all.contains(&place) && !self.starts.values().any(|p| *p == place) {
                    all.push(place);
                }
            }
        }
        if conditions {
            // Parts pass no values in registers, so any register of theirs can be used.
            let held = |r: &str| self.starts.contains_key(r);
            let spare = self.target.spare.iter();
            let of_parts = spare.copied().find(|r| !held(r) && !self.free.iter().any(|f| f == r));
            self.value = Some(match of_parts {
                Some(reg) => reg.to_string(),
                None => self.spare()?,
            });
        }
        if all.len() > self.free.len() {
            let shared = |place: &String| {
                let of = |i: usize| pieces[i].shared.contains(place);
                steps.iter().any(|s| matches!(s, Step::Piece(i) if of(*i)))
            };
            let (first, last): (Vec<_>, Vec<_>) = all.iter().cloned().partition(shared);
            self.table = Some(self.spare()?);
            self.tabled = first.into_iter().chain(last).collect();
            self.tabled.truncate(all.len().saturating_sub(self.free.len()));
        }
        for place in all {
            if !self.tabled.contains(&place) {
                let reg = self.spare()?;
                self.moved.insert(place, reg);
            }
        }
        Ok(())
    }

    /// The register that holds the address of a location from start to end, if there is one.
    fn holder(&self, place: &str) -> Option<&String> {
        let start = self.starts.iter().find(|(_, p)| *p == place).map(|(r, _)| r);
        start.or(self.moved.get(place))
    }

    /// Puts the address of a location into a register.
    fn bring(&mut self, reg: &str, place: &str) -> Result<(), Failure> {
        let text = match (self.holder(place), &self.table) {
            (Some(from), _) => self.target.copy(reg, from, self.target.word),
            (None, Some(base)) => {
                let n = self.tabled.iter().position(|p| p == place).unwrap_or(0);
                self.target.load(reg, base, n * usize::from(self.target.word))
            }
            (None, None) => return Err(format!("no register holds `{place}`").into()),
        };
        self.line(text);
        Ok(())
    }

    fn spare(&mut self) -> Result<String, Failure> {
        self.free.pop().ok_or_else(|| {
            Failure::unsupported("the parts together leave no register free for addresses")
        })
    }

    fn piece(&mut self, i: usize, piece: &Piece, part: &Compiled) -> Result<(), Failure> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for item in &part.private {
            let Place::Mem { name, .. } = &item.place else { continue };
            let place = self.place(i, piece, name);
            names.insert(name.clone(), place.clone());
            if !piece.args.iter().any(|(own, _)| own == name) {
                let mut item = item.clone();
                item.place = Place::Mem { name: place, index: None };
                if !self.init.iter().any(|i| i.place == item.place) {
                    self.init.push(item);
                }
            }
        }
        for label in part.lines.iter().flat_map(|l| &l.labels) {
            names.insert(label.clone(), format!("{label}_{i}"));
        }
        for (reg, place) in &part.needs {
            let place = self.place(i, piece, place);
            if self.starts.get(reg) != Some(&place) {
                self.bring(reg, &place)?;
            }
        }
        for line in &part.lines {
            self.labels.extend(line.labels.iter().filter_map(|l| names.get(l).cloned()));
            if !line.text.is_empty() {
                self.line(renamed(&line.text, &names));
            }
        }
        Ok(())
    }

    /// Jumps if a private location holds 0.
    fn unless(&mut self, place: &str, n: usize) -> Result<(), Failure> {
        let label = self.label(n);
        let (base, value) = match (self.target.direct(place, 0), self.value.clone()) {
            (Some(memory), _) => (memory, String::new()),
            (None, None) => return Err("a condition has no register".into()),
            (None, Some(value)) => match self.holder(place).cloned() {
                Some(base) => (base, value),
                None => {
                    self.bring(&value, place)?;
                    (value.clone(), value)
                }
            },
        };
        for text in self.target.jump_if_zero(&label, &base, &value) {
            self.line(text);
        }
        Ok(())
    }
}
