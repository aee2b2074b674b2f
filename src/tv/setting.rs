//! Settings: with which arguments two functions are called, which memory they reach then, and what it holds at first.
//!
//! The arguments are pointers to locations, which may be the same one unless `noalias` says otherwise, and numbers. The
//! accesses of the functions are found by their code alone (`sim/touched`). It does not know contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use litmake_base::diag::Diag;
use litmake_isa::llvm::access::{UPPER_FIRST, accessed};
use litmake_isa::llvm::module::{Function, Module};
use litmake_isa::llvm::types;
use litmake_litmus::{InitItem, InitValue, Place, Type, Value};
use litmake_ops::tag;
use litmake_sim::touched::{Touch, Touched};
use litmake_sim::{Model, Options, Simulator};

use super::context::Spot;
use super::ir::{Param, Read, Scalar, Signature, line, number, split, until_comma};
use super::machine::{self, Callee, Lifted, known, lifted};
use super::observe::{Effect, NEW, Observed, Opaque};
use super::pair::{Pair, Side};
use super::program::{self, Subject};

/// Pointers that are loaded lead to memory of their own, so many steps deep.
const DEEPEST: usize = 3;
/// Locations are this large while the accesses to them are looked for.
const LARGEST: u64 = 1 << 10;
/// More places than this are too many for contexts.
const MOST_SPOTS: usize = 32;
/// At most so many combinations of numbers are given to the functions.
const MOST_NUMBERS: usize = 16;
/// At most so many ways for pointers to point to the same memory.
const MOST_ALIASES: usize = 8;
/// The value that stands for undef.
pub const UNDEF: u64 = 222;
/// Names that locations of the functions do not get.
const RESERVED: &[&str] = &["record", "recorded", "undefined_behaviour", "flag", "data"];

/// Numbers of turns that loops end after.
const FEW: [u64; 2] = [1, 2];

/// Intrinsics of targets that are seq_cst fences.
const BARRIERS: &[&str] = &["@llvm.arm.dmb", "@llvm.aarch64.dmb", "@llvm.ppc.sync"];

/// Two functions, ready to be called.
pub struct Subjects {
    /// The function before the change.
    pub source: Subject,
    /// The function after the change.
    pub target: Subject,
    /// The numbers that a function compares something with.
    pub compared: Vec<u64>,
    /// Numbers that no function names, in order.
    pub fresh: Vec<u64>,
    /// Whether a function has a fence, or a call that may be one.
    pub fences: bool,
    /// Whether a function orders accesses: by a fence, a call, or an order above `monotonic`.
    pub orders: bool,
    /// Whether the function before the change is C.
    pub is_c: bool,
    /// Whether the change maps seq_cst accesses to fences, so that those of contexts are mapped as well.
    pub maps: bool,
    /// A variable of the module alone that a pass may have changed all over the module.
    pub private: Option<String>,
    /// Whether some value is undetermined (`undef`, `poison`, `llvm.assume`): before, and after the change.
    pub open: (bool, bool),
    /// Whether undef cannot be shown as a value: an access is unordered and volatile, or that value is in the code.
    pub odd: bool,
    /// Whether a function has a read-modify-write.
    pub updates: bool,
    /// Variables of the module alone that all of its functions only load.
    pub unwritten: Vec<String>,
    /// Whether it matters that the upper byte of a number comes first in memory.
    pub upper_first: bool,
    /// Whether a function has a loop.
    pub loops: bool,
    /// Whether null is an address like others.
    pub null: bool,
    /// Whether the first function only moves what it reads without atomics, and computes nothing with it.
    pub moves: bool,
    /// Whether nobody says what the parameters and the result are, so that the result is not compared.
    pub guessed: bool,
    /// Whether machine code becomes something else, in which the weakest access of a context would order less than it does
    /// on the first machine.
    pub translates: bool,
}

/// A location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// How many bytes an element has.
    pub unit: u8,
    /// How many elements.
    pub count: u64,
    /// The elements that hold pointers, and the location that each points to.
    pub pointers: Vec<(u64, usize)>,
}

/// The arguments of a call and the memory that it reaches.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The arguments as operands, one for each parameter.
    pub operands: Vec<String>,
    /// The locations of variables of the module, by symbol.
    pub globals: Vec<(String, String)>,
    /// The locations. Behind those of the functions are two that only contexts access.
    pub locations: Vec<Location>,
    /// The places that the functions access, and those of the context alone.
    pub spots: Vec<Spot>,
    /// What the locations may hold at first.
    pub initial: Vec<u64>,
    /// Whether a seq_cst write of a context has a fence behind it.
    pub maps: bool,
    /// The bytes of a pointer.
    pub word: u8,
    /// Whether the upper byte of a number comes first in memory.
    pub upper_first: bool,
    /// Whether accesses around the call have full fences before and behind them.
    pub fenced: bool,
    /// The code of the two functions here, where it is machine code.
    pub lifted: [Option<Rc<Lifted>>; 2],
}

/// Why functions cannot be compared.
#[derive(Debug)]
pub enum Obstacle {
    /// They have different parameters or results.
    Different(String),
    /// Something is not understood, by name.
    NotUnderstood(String),
}

impl From<String> for Obstacle {
    fn from(words: String) -> Obstacle {
        Obstacle::NotUnderstood(words)
    }
}

impl From<Box<Diag>> for Obstacle {
    fn from(diag: Box<Diag>) -> Obstacle {
        Obstacle::NotUnderstood(diag.message.to_string())
    }
}

impl Subjects {
    /// The functions of a pair.
    pub fn of(pair: &Pair) -> Result<Subjects, Obstacle> {
        let (mut source, mut target) = called(pair)?;
        let guessed = same_guess(&mut source, &mut target);
        one_scope([&mut source.observed, &mut target.observed])?;
        let upper_first = Self::comparable(pair, &source, &target)?;
        if upper_first {
            for observed in [&mut source.observed, &mut target.observed] {
                [&mut observed.module, &mut observed.bare]
                    .into_iter()
                    .try_for_each(put_upper_first)?;
            }
        }
        let both = [&source.observed, &target.observed];
        let words = || both.into_iter().flat_map(|o| words(&o.module));
        let codes: Vec<&Callee> =
            [&source, &target].into_iter().filter_map(|s| s.machine.as_ref()).collect();
        let (named, compared) = numbers(&source, &target);
        let fresh = (1..=200).filter(|n| !named.contains(n)).collect();
        let fences = codes.iter().any(|code| code.has_fence())
            || both.into_iter().flat_map(|o| &o.calls).any(|c| c.effect == Effect::Anything)
            || words().any(|line| line.iter().any(|w| w == "fence"));
        const ORDERS: [&str; 4] = ["acquire", "release", "acq_rel", "seq_cst"];
        let maps = barriers(&target.observed.module) > barriers(&source.observed.module);
        let private = private(pair, [&source.observed, &target.observed]);
        let library = |w: &String| w.starts_with("@__atomic_");
        let order = |w: &String| ORDERS.contains(&w.as_str()) || library(w);
        let archs = [&source, &target].map(|s| s.machine.as_ref().map(|code| code.lifts.arch()));
        let translates = archs[0].is_some() && archs[0] != archs[1];
        let orders = fences || !codes.is_empty() || words().any(|line| line.iter().any(order));
        let open = |o: &Observed| words_open(&o.module);
        let odd = words()
            .any(|l| l.iter().any(|w| w == "unordered") && l.iter().any(|w| w == "volatile"));
        let assumes = pair.source.module.assumes;
        let unwritten = unwritten(&pair.source.module);
        let open = (assumes || open(&source.observed), open(&target.observed));
        let moves = source.observed.only_moves();
        let update = |w: &String| w == "atomicrmw" || w == "cmpxchg" || library(w);
        let updates = codes.len() == 2 || words().any(|line| line.iter().any(update));
        let bodies = || both.into_iter().flat_map(|o| o.module.functions.values());
        let loops = bodies().any(Function::has_loop);
        let null =
            bodies().any(|f| pair.source.module.has(&f.attributes, &["null_pointer_is_valid"]));
        Ok(Subjects {
            is_c: pair.is_c,
            source,
            target,
            compared,
            fresh,
            fences,
            orders,
            maps,
            private,
            open,
            odd,
            updates,
            unwritten,
            moves,
            upper_first,
            loops,
            null,
            guessed,
            translates,
        })
    }

    /// Refuses functions of which the types, or the accesses, do not let outcomes be compared. Says whether it matters that
    /// the upper byte of a number comes first.
    fn comparable(pair: &Pair, source: &Subject, target: &Subject) -> Result<bool, Obstacle> {
        let (a, b) = (&source.signature, &target.signature);
        let scalars =
            |s: &Signature| s.params.iter().map(|p| (p.scalar, p.lanes)).collect::<Vec<_>>();
        if scalars(a) != scalars(b) {
            let words = "the functions have different parameters";
            return Err(Obstacle::Different(words.into()));
        }
        if a.results != b.results {
            return Err(Obstacle::Different(
                "the functions have results of different types".into(),
            ));
        }
        let sides = [&pair.source, &pair.target];
        if sides.iter().any(|side| side.machine.is_some()) {
            return Self::comparable_code(source, target).map(|()| false);
        }
        let layouts = sides.map(|side| side.module.layout);
        if layouts[0] != layouts[1] {
            return Err(Obstacle::Different(
                "the modules are for targets of different layouts".into(),
            ));
        }
        let reached = [(&pair.source, source), (&pair.target, target)].map(|(side, subject)| {
            let names = subject.observed.module.functions.keys();
            let bodies = names.filter_map(|name| side.module.functions.get(name));
            (&side.module, bodies.flat_map(|f| &f.blocks).flat_map(|b| &b.instructions))
        });
        if layouts[0].is_some_and(|layout| layout.upper_first) {
            let accessed: BTreeSet<u8> = reached
                .into_iter()
                .flat_map(|(module, lines)| lines.flat_map(|line| widths(module, line)))
                .collect();
            return Ok(accessed.len() > 1);
        }
        Ok(false)
    }

    /// The same where a function is machine code, of which the lowest byte of a number comes first.
    fn comparable_code(source: &Subject, target: &Subject) -> Result<(), Obstacle> {
        let modules = [source, target].map(|s| &s.observed.module);
        if modules[0].is_narrow() != modules[1].is_narrow() {
            let words = modules.map(|m| format!("{} bits", m.pointer())).join(" and ");
            return Err(Obstacle::Different(format!("pointers have {words}")));
        }
        if modules.iter().any(|m| m.layout.is_some_and(|layout| layout.upper_first)) {
            let words =
                "unsupported: intermediate code with the upper byte first, beside machine code";
            return Err(Obstacle::NotUnderstood(words.into()));
        }
        Ok(())
    }

    /// The settings in which the functions are compared, the simplest first.
    pub fn settings(
        &self,
        simulator: &mut Simulator,
        models: [&Model; 2],
        options: &Options,
    ) -> Result<Vec<Setting>, Obstacle> {
        let params = &self.source.signature.params;
        let mut out: Vec<Setting> = Vec::new();
        for numbers in self.numbers() {
            for same in self.aliases() {
                let setting = self.setting(params, &numbers, &same, simulator, models, options)?;
                if !out
                    .iter()
                    .any(|s| s.operands == setting.operands && s.globals == setting.globals)
                {
                    out.push(setting);
                }
            }
        }
        Ok(out)
    }

    /// The values of the parameters that are numbers: distinct ones, and those that a function compares with.
    fn numbers(&self) -> Vec<Vec<u64>> {
        let decides = [&self.source.observed, &self.target.observed].into_iter().any(|o| {
            let decides = |w: &String| matches!(w.as_str(), "icmp" | "switch" | "select");
            words(&o.module).any(|line| line.iter().any(decides))
        });
        // The values behind the first ones are for contexts.
        let mut fresh = self.fresh.iter().rev();
        let mut out = vec![Vec::new()];
        for param in &self.source.signature.params {
            let choices: Vec<u64> = match param.scalar {
                Scalar::Int(1) => vec![1, 0],
                Scalar::Pointer => vec![0],
                Scalar::Float(_) => vec![0],
                Scalar::Int(bits) => {
                    let own = fresh.next().copied().unwrap_or(7);
                    // A loop may end after as many turns, and may not after more.
                    let counts = self.loops && self.decides(&format!("%{}", param.name));
                    let first = if counts { FEW.to_vec() } else { vec![own] };
                    let others: &[u64] = if decides { &self.compared } else { &[] };
                    first.iter().chain(others).map(|n| n & mask(bits)).collect()
                }
            };
            let longer = out.iter().flat_map(|so_far: &Vec<u64>| {
                choices.iter().map(move |n| so_far.iter().copied().chain([*n]).collect())
            });
            out = longer.take(MOST_NUMBERS).collect();
        }
        out
    }

    /// Whether a comparison names a value.
    fn decides(&self, name: &str) -> bool {
        let both = [&self.source.observed, &self.target.observed].into_iter();
        let mut lines = both.flat_map(|o| words(&o.module));
        lines.any(|line| ["icmp", name].iter().all(|word| line.iter().any(|w| w == word)))
    }

    /// Which pointer points where another one does: none, then one pair at a time.
    fn aliases(&self) -> Vec<Option<(usize, usize)>> {
        let signatures = [&self.source.signature, &self.target.signature];
        let params = &self.source.signature.params;
        let pointers: Vec<usize> =
            (0..params.len()).filter(|i| params[*i].scalar == Scalar::Pointer).collect();
        let alone = |i: usize| signatures.iter().any(|s| s.params[i].noalias);
        let mut out = vec![None];
        for (n, a) in pointers.iter().enumerate() {
            for b in &pointers[n + 1..] {
                if !alone(*a) && !alone(*b) {
                    out.push(Some((*a, *b)));
                }
            }
        }
        out.truncate(MOST_ALIASES);
        out
    }

    fn setting(
        &self,
        params: &[Param],
        numbers: &[u64],
        same: &Option<(usize, usize)>,
        simulator: &mut Simulator,
        models: [&Model; 2],
        options: &Options,
    ) -> Result<Setting, Obstacle> {
        let mut setting = Setting {
            operands: Vec::new(),
            globals: Vec::new(),
            locations: Vec::new(),
            spots: Vec::new(),
            initial: self.initial(),
            maps: self.maps,
            word: self.source.observed.module.pointer() / 8,
            upper_first: self.upper_first,
            fenced: self.translates,
            lifted: [None, None],
        };
        for (i, param) in params.iter().enumerate() {
            let operand = match param.scalar {
                Scalar::Pointer => match same {
                    Some((first, second)) if *second == i => setting.operands[*first].clone(),
                    _ => {
                        let at = setting.add(&param.name);
                        format!("@{}", setting.locations[at].name)
                    }
                },
                scalar => {
                    let number = |lane: u64| match scalar {
                        Scalar::Int(1) => (numbers[i].wrapping_add(lane) & 1 == 1).to_string(),
                        Scalar::Int(bits) => {
                            (numbers[i].wrapping_add(lane) & mask(bits)).to_string()
                        }
                        Scalar::Float(_) | Scalar::Pointer => format!("{}.5", i as u64 + lane + 1),
                    };
                    let typed = |lane| format!("{} {}", scalar.text(), number(lane));
                    match param.lanes {
                        None => number(0),
                        Some(n) => {
                            format!("<{}>", (0..n).map(typed).collect::<Vec<_>>().join(", "))
                        }
                    }
                }
            };
            setting.operands.push(operand);
        }
        for symbol in self.globals() {
            let at = setting.add(&symbol);
            let name = setting.locations[at].name.clone();
            setting.globals.push((symbol, name));
        }
        self.reached(&mut setting, simulator, models, options)?;
        setting.shape();
        if [&self.source, &self.target].iter().any(|s| s.machine.is_some()) {
            setting.lifted = [lifted(&self.source, &setting)?, lifted(&self.target, &setting)?];
            self.writable(&setting)?;
        }
        self.add_own(&mut setting);
        Ok(setting)
    }

    /// Refuses a setting with a place that contexts of an instruction set cannot access at once.
    fn writable(&self, setting: &Setting) -> Result<(), Obstacle> {
        for machine in [&self.source, &self.target].into_iter().filter_map(|s| s.machine.as_ref()) {
            let arch = machine.lifts.arch();
            let (_, written) = known(arch)?;
            for spot in &setting.spots {
                let Location { name, unit, .. } = &setting.locations[spot.location];
                let off = spot.off;
                if !written.accesses(spot.size) || off % u32::from(*unit) != 0 {
                    let words = format!(
                        "unsupported: {} bytes at {name}+{off}, which contexts of {} do not access",
                        spot.size,
                        arch.name()
                    );
                    return Err(Obstacle::NotUnderstood(words));
                }
            }
        }
        Ok(())
    }

    /// The variables that a function names and that may change, without the sigil.
    fn globals(&self) -> Vec<String> {
        let mut out = Vec::new();
        let subjects = [&self.source, &self.target];
        if subjects.iter().all(|s| s.machine.is_some()) {
            let codes = subjects.into_iter().filter_map(|s| s.machine.as_ref());
            let mut symbols: Vec<String> =
                codes.flat_map(|m| &m.first.variables).map(|(symbol, _)| symbol.clone()).collect();
            symbols.sort();
            symbols.dedup();
            return symbols;
        }
        for observed in [&self.source.observed, &self.target.observed] {
            let module = &observed.module;
            let returned: Vec<String> =
                observed.calls.iter().filter_map(Opaque::returned).collect();
            for word in words(module).flatten().chain(&returned) {
                let Some(variable) = module.variables.get(word) else { continue };
                let name = word[1..].trim_matches('"').to_string();
                let fixed = variable.iter().take_while(|w| *w != "global").any(|w| w == "constant");
                let own = fixed || self.unwritten.contains(word) || word.starts_with(NEW);
                if !own && !out.contains(&name) {
                    out.push(name);
                }
            }
        }
        out
    }

    /// Finds the places that the functions access, and the locations that pointers in memory lead to.
    fn reached(
        &self,
        setting: &mut Setting,
        simulator: &mut Simulator,
        models: [&Model; 2],
        options: &Options,
    ) -> Result<(), Obstacle> {
        for depth in 0..=DEEPEST {
            let mut all: Vec<(Touch, bool)> = Vec::new();
            let mut wrong = None;
            let initial = if self.loops { setting.initial.clone() } else { vec![0] };
            for (side, subject, initial) in [&self.source, &self.target]
                .into_iter()
                .enumerate()
                .flat_map(|(side, s)| initial.iter().map(move |i| (side, s, *i)))
            {
                let test = match &subject.machine {
                    None => program::alone(subject, setting, LARGEST, initial)?,
                    Some(code) => machine::alone(code, subject, setting, LARGEST, initial)?,
                };
                let Touched { paths, error, .. } =
                    simulator.touched(&test, 0, models[side], options)?;
                wrong = wrong.or(error);
                let is_ir = subject.machine.is_none();
                all.extend(paths.into_iter().flatten().map(|touch| (touch, is_ir)));
            }
            let mut more = false;
            for (touch, _) in all.iter().filter(|(_, is_ir)| *is_ir) {
                let words = line(&touch.instruction);
                let view: Vec<&str> = words.iter().map(String::as_str).collect();
                let access = accessed(&view, 8 * setting.word);
                let loads = access.is_some_and(|a| matches!(a.ty, types::Type::Pointer(_)));
                let location = touch.location.as_deref().and_then(|name| setting.find(name));
                let (true, Some(at)) = (loads && touch.reads, location) else { continue };
                let element = u64::from(touch.off) / u64::from(setting.word);
                if setting.locations[at].pointers.iter().any(|(e, _)| *e == element) {
                    continue;
                }
                let name = format!("behind_{}", setting.locations[at].name);
                let to = setting.add(&name);
                setting.locations[at].pointers.push((element, to));
                more = true;
            }
            if more && depth < DEEPEST {
                continue;
            }
            if let Some(error) = wrong {
                return Err(Obstacle::NotUnderstood(error));
            }
            for (touch, is_ir) in &all {
                setting.touch(touch, *is_ir);
            }
            if setting.spots.len() > MOST_SPOTS {
                let words = format!("unsupported: accesses to {} places", setting.spots.len());
                return Err(Obstacle::NotUnderstood(words));
            }
            return Ok(());
        }
        Ok(())
    }

    /// What the locations hold at first, one value after the other.
    fn initial(&self) -> Vec<u64> {
        // A store of what is there already would change nothing.
        let stores_zero = [&self.source.observed, &self.target.observed].into_iter().any(|o| {
            let zero = |line: &Vec<String>| {
                line.iter().any(|w| w == "store" || w == "atomicrmw" || w == "cmpxchg")
                    && line
                        .iter()
                        .any(|w| matches!(w.as_str(), "0" | "null" | "false" | "zeroinitializer"))
            };
            words(&o.module).any(zero)
        });
        let own = self.fresh.iter().rev().nth(8).copied().unwrap_or(9);
        let mut initial = match (self.loops, stores_zero) {
            // As with arguments.
            (true, _) => vec![FEW[0], 0],
            (false, true) => vec![own, 0],
            (false, false) => vec![0],
        };
        initial.extend(&self.compared);
        let mut seen = Vec::new();
        initial.retain(|n| {
            !seen.contains(n) && {
                seen.push(*n);
                true
            }
        });
        initial.truncate(4);
        initial
    }

    /// Adds the places of the context alone.
    fn add_own(&self, setting: &mut Setting) {
        for name in ["flag", "data"] {
            let location = setting.locations.len();
            let name = name.to_string();
            setting.locations.push(Location { name, unit: 4, count: 1, pointers: Vec::new() });
            setting.spots.push(Spot {
                location,
                off: 0,
                size: 4,
                read: false,
                written: false,
                plain: false,
                pointer: false,
            });
        }
    }
}

impl Setting {
    /// Adds a location, and returns its index.
    fn add(&mut self, name: &str) -> usize {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = name.chars().map(plain).collect();
        if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
            name = format!("arg{name}");
        }
        let taken = |name: &str, list: &[Location]| {
            let own = ["stack_", "module_", "returned_", "seen_"];
            RESERVED.contains(&name)
                || own.iter().any(|p| name.starts_with(p))
                || list.iter().any(|l| l.name == name)
        };
        while taken(&name, &self.locations) {
            name.insert(0, 'x');
        }
        let (unit, count) = (self.word, LARGEST / u64::from(self.word));
        self.locations.push(Location { name, unit, count, pointers: Vec::new() });
        self.locations.len() - 1
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.locations.iter().position(|l| l.name == name)
    }

    fn touch(&mut self, touch: &Touch, is_ir: bool) {
        let Some(location) = touch.location.as_deref().and_then(|name| self.find(name)) else {
            return;
        };
        let (off, size) = (touch.off, touch.size);
        let (read, written) = (touch.reads, touch.writes);
        // Machine code has no races.
        let plain = is_ir && !touch.tags.meets(tag::C_A);
        let same = |s: &&mut Spot| (s.location, s.off, s.size) == (location, off, size);
        match self.spots.iter_mut().find(same) {
            Some(spot) => {
                spot.read |= read;
                spot.written |= written;
                spot.plain |= plain;
            }
            None => {
                self.spots.push(Spot { location, off, size, read, written, plain, pointer: false })
            }
        }
    }

    /// Gives locations the sizes of the accesses to them.
    fn shape(&mut self) {
        for spot in &mut self.spots {
            let word = u64::from(self.word);
            let first = u64::from(spot.off) / word;
            let last = (u64::from(spot.off) + u64::from(spot.size) - 1) / word;
            let pointers = &self.locations[spot.location].pointers;
            spot.pointer = pointers.iter().any(|(e, _)| (first..=last).contains(e));
        }
        for (at, location) in self.locations.iter_mut().enumerate() {
            let own = || self.spots.iter().filter(|s| s.location == at);
            let mut unit = own().map(|s| s.size).min().unwrap_or(8);
            if !location.pointers.is_empty() {
                unit = self.word;
            }
            let end = own().map(|s| u64::from(s.off) + u64::from(s.size)).max().unwrap_or(8);
            let end = location
                .pointers
                .iter()
                .map(|(e, _)| u64::from(self.word) * (e + 1))
                .max()
                .unwrap_or(0)
                .max(end);
            (location.unit, location.count) = (unit, end.div_ceil(u64::from(unit)));
        }
    }

    /// The entries of the initial state for the locations, each element with this value.
    pub fn items(&self, value: u64) -> Vec<InitItem> {
        let item = |l: &Location| {
            let lowest = value & mask(l.unit.saturating_mul(8));
            let value = match self.upper_first && l.unit <= 8 {
                true => lowest.swap_bytes() >> (64 - 8 * u32::from(l.unit)),
                false => lowest,
            };
            l.item(value, &self.locations)
        };
        self.locations.iter().map(item).collect()
    }

    /// How the arguments are written: `p=x`, `n=5`.
    pub fn arguments(&self, params: &[Param]) -> Vec<String> {
        let each = params.iter().zip(&self.operands);
        each.map(|(p, o)| format!("%{} = {}", p.name, o.replace('@', "&"))).collect()
    }
}

impl Location {
    fn item(&self, value: u64, all: &[Location]) -> InitItem {
        let pointers: BTreeMap<u64, &str> =
            self.pointers.iter().map(|(e, to)| (*e, all[*to].name.as_str())).collect();
        let element = |e: u64| match pointers.get(&e) {
            Some(name) => Value::Addr { name: name.to_string(), index: 0 },
            None => Value::Int(value.into()),
        };
        let one = Type::Int { bytes: self.unit, signed: false };
        let place = Place::Mem { name: self.name.clone(), index: None };
        let (ty, value) = match self.count {
            1 => (one, InitValue::One(element(0))),
            n => (Type::Array(one.into(), n), InitValue::Array((0..n).map(element).collect())),
        };
        InitItem { place, ty: Some(ty), value: Some(value), span: Default::default() }
    }
}

/// The largest number of so many bits.
pub fn mask(bits: u8) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The functions of a pair, ready to be called, which are seen to do the same things beside accesses to memory.
fn called(pair: &Pair) -> Result<(Subject, Subject), Obstacle> {
    // How a volatile copy accesses memory is not told, so that accesses in its place are no others.
    let count = |side: &Side, of: fn(&[String]) -> bool| {
        let blocks = side.module.functions.get(&side.function).into_iter().flat_map(|f| &f.blocks);
        blocks.flat_map(|b| &b.instructions).filter(|line| of(line)).count()
    };
    let fewer = |of| count(&pair.target, of) < count(&pair.source, of);
    let more = |of| count(&pair.target, of) > count(&pair.source, of);
    // Of machine code, only accesses to memory are seen.
    let machine = pair.source.machine.is_some() || pair.target.machine.is_some();
    let told = !(machine || fewer(copies_volatile) && more(accesses_volatile));
    let subject = |side: &Side, other: Option<&Signature>| -> Read<Subject> {
        if let Some(machine) = &side.machine {
            return machine.subject(&side.function, other);
        }
        let function = side.module.functions.get(&side.function);
        let function = function.ok_or("a function is missing")?;
        let signature = Signature::of(&side.module, function)?;
        let observed = Observed::of(&side.module, &side.function, told)?;
        Ok(Subject { function: side.function.clone(), signature, observed, machine: None })
    };
    // Machine code is called as the other function is, or as someone says of one of them.
    let said = [&pair.source, &pair.target].map(|s| s.machine.as_ref()?.signature.as_ref());
    let (mut source, mut target);
    if pair.source.machine.is_none() {
        source = subject(&pair.source, None)?;
        target = subject(&pair.target, Some(&source.signature))?;
    } else {
        target = subject(&pair.target, said[0])?;
        let is_ir = pair.target.machine.is_none();
        source = subject(&pair.source, is_ir.then_some(&target.signature).or(said[1]))?;
    }
    if machine {
        for observed in [&mut source.observed, &mut target.observed] {
            observed.records = false;
            if let Some(call) = observed.calls.iter().find(|c| c.effect != Effect::Nothing) {
                let words = format!("unsupported: a call of {}, beside machine code", call.name);
                return Err(Obstacle::NotUnderstood(words));
            }
        }
    }
    // Both have the same locations, so that their outcomes can be compared.
    let (one, two) = (&mut source.observed, &mut target.observed);
    for (one, two) in
        [(&mut one.records, &mut two.records), (&mut one.undefined, &mut two.undefined)]
    {
        *one |= *two;
        *two = *one;
    }
    Ok((source, target))
}

/// The numbers that functions name, and those that they compare something with.
fn numbers(source: &Subject, target: &Subject) -> (Vec<u64>, Vec<u64>) {
    let both = [source, target];
    let (mut named, mut compared) = (Vec::new(), Vec::new());
    for line in both.into_iter().flat_map(|s| words(&s.observed.module)) {
        let all = || line.iter().filter_map(|w| number(w)).map(|n| n as u64);
        named.extend(all());
        if line.iter().any(|w| matches!(w.as_str(), "icmp" | "switch" | "cmpxchg")) {
            compared.extend(all());
        }
    }
    let codes: Vec<&Callee> = both.into_iter().filter_map(|s| s.machine.as_ref()).collect();
    for (names, compares) in codes.iter().map(|code| code.numbers()) {
        named.extend(names);
        // Across languages, the intermediate code has them all, and no others.
        if codes.len() == 2 {
            compared.extend(compares);
        }
    }
    compared.sort_unstable();
    compared.dedup();
    (named, compared)
}

/// If nobody says what the parameters of both functions are, both get as many as one of them uses. Says whether it is so.
fn same_guess(source: &mut Subject, target: &mut Subject) -> bool {
    let guessed = |s: &Subject| s.machine.as_ref().filter(|m| m.guessed).map(Callee::uses);
    let (Some(one), Some(two)) = (guessed(source), guessed(target)) else { return false };
    for subject in [source, target] {
        subject.signature.params.truncate(one.max(two));
    }
    true
}

/// How many seq_cst fences a module has.
fn barriers(module: &Module) -> usize {
    let barrier = |w: &String| BARRIERS.contains(&w.as_str());
    let fence = |l: &&Vec<String>| l[0] == "fence" && l[1] == "seq_cst" || l.iter().any(barrier);
    words(module).filter(fence).count()
}

/// Whether only the functions of its module know a variable.
fn is_own(variable: &[String]) -> bool {
    variable.iter().any(|w| w == "internal" || w == "private")
}

/// The functions of a module that name a variable, with the name of each.
fn users<'m>(module: &'m Module, variable: &str) -> Vec<(&'m String, &'m Function)> {
    let names = |f: &&'m Function| {
        let mut lines = f.blocks.iter().flat_map(|b| &b.instructions);
        lines.any(|line| line.iter().any(|w| w == variable))
    };
    module.functions.iter().filter(|(_, f)| names(f)).collect()
}

/// The variables of the module alone that nothing in it does more than load.
fn unwritten(module: &Module) -> Vec<String> {
    let own = module.variables.iter().filter(|(_, variable)| is_own(variable));
    let others = |name: &String| module.variables.values().any(|v| v.contains(name));
    let loads = |name: &String| {
        let mut lines = words(module).filter(|line| line.contains(name));
        lines.all(|line| split(line).1.first().is_some_and(|w| w == "load"))
    };
    own.map(|(name, _)| name).filter(|name| loads(name) && !others(name)).cloned().collect()
}

/// A variable of the module alone, named in a function, that other functions do not use as they did: a pass may know
/// of all accesses to it, as contexts do not.
fn private(pair: &Pair, functions: [&Observed; 2]) -> Option<String> {
    let (before, after) = (&pair.source.module, &pair.target.module);
    if before.functions == after.functions {
        return None;
    }
    let named = functions.into_iter().flat_map(|o| words(&o.module)).flatten();
    let changed = |name: &&String| {
        let own = [before, after].iter().any(|m| m.variables.get(*name).is_some_and(|v| is_own(v)));
        let others = |module, function: &String| {
            let mut all = users(module, name);
            all.retain(|(other, _)| *other != function);
            all.into_iter().map(|(name, f)| (name.clone(), f.clone())).collect::<Vec<_>>()
        };
        let was = others(before, &pair.source.function);
        own && (was.is_empty() || was != others(after, &pair.target.function))
    };
    named.filter(|w| w.starts_with('@')).find(changed).cloned()
}

/// Leaves out the scope of atomic operations if all have the same one: the threads of contexts are in it.
fn one_scope(functions: [&mut Observed; 2]) -> Result<(), Obstacle> {
    const SINGLE: &str = "\"singlethread\"";
    let scope = |line: &Vec<String>| {
        let at = line.iter().position(|w| w == "syncscope");
        at.map_or("\"system\"".to_string(), |at| line[at + 2].clone())
    };
    let atomic = |line: &&Vec<String>| {
        let words = ["atomic", "atomicrmw", "cmpxchg", "fence"];
        line.iter().take(4).any(|w| words.contains(&w.as_str())) && scope(line) != SINGLE
    };
    let mut scopes: Vec<String> =
        functions.iter().flat_map(|o| words(&o.module).filter(atomic).map(scope)).collect();
    scopes.sort();
    scopes.dedup();
    if scopes.len() > 1 {
        let words = format!("unsupported: several scopes ({})", scopes.join(", "));
        return Err(Obstacle::NotUnderstood(words));
    }
    for module in functions.into_iter().flat_map(|o| [&mut o.module, &mut o.bare]) {
        for line in module.functions.values_mut().flat_map(|f| &mut f.blocks) {
            for words in &mut line.instructions {
                if let Some(at) = words.iter().position(|w| w == "syncscope")
                    && words[at + 2] != SINGLE
                {
                    words.drain(at..at + 4);
                }
            }
        }
    }
    Ok(())
}

/// The instructions of all functions of a module.
fn words(module: &Module) -> impl Iterator<Item = &Vec<String>> {
    module.functions.values().flat_map(|f| &f.blocks).flat_map(|b| &b.instructions)
}

/// Says of each access to a number that the upper byte comes first.
fn put_upper_first(module: &mut Module) -> Read<()> {
    let pointer = module.pointer();
    let blocks = module.functions.values_mut().flat_map(|f| &mut f.blocks);
    for words in blocks.flat_map(|b| &mut b.instructions) {
        let view: Vec<&str> = words.iter().map(String::as_str).collect();
        match accessed(&view, pointer) {
            Some(access) if !matches!(access.ty, types::Type::Pointer(_)) => {
                if view.contains(&"call") {
                    return Err("unsupported: the library where the upper byte comes first".into());
                }
                let at = 1 + words.len() - split(words).1.len();
                words.insert(at, UPPER_FIRST.into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether an instruction copies or fills memory by accesses that are volatile.
fn copies_volatile(line: &[String]) -> bool {
    line.iter().any(|w| w.starts_with("@llvm.mem"))
        && line.windows(3).any(|w| w.iter().map(String::as_str).eq(["i1", "true", ")"]))
}

/// Whether an instruction is one volatile access.
fn accesses_volatile(line: &[String]) -> bool {
    split(line).1.iter().take(3).any(|w| w == "volatile")
}

/// The bits of what an instruction accesses at once. Copies of memory are by bytes.
fn widths(module: &Module, line: &[String]) -> Vec<u8> {
    let line = module.expanded(line);
    let view: Vec<&str> = line.iter().map(String::as_str).collect();
    match accessed(&view, module.pointer()) {
        Some(access) => access.ty.scalars().into_iter().map(|scalar| scalar.bits).collect(),
        None => {
            let copies = |w: &String| w.starts_with("@llvm.mem") || w.starts_with("@__atomic");
            if line.iter().any(copies) { vec![8] } else { Vec::new() }
        }
    }
}

/// Whether a value is undetermined. The aggregate that parts are put into is not looked at before they are, and of the
/// vectors that lanes are taken from, only those lanes.
fn words_open(module: &Module) -> bool {
    let open = |w: &String| matches!(w.as_str(), "undef" | "poison");
    let looked_at = |line: &Vec<String>| match split(line).1 {
        [op, ..] if op == "insertvalue" || op == "insertelement" => Vec::new(),
        [op, rest @ ..] if op == "shufflevector" => until_comma(until_comma(rest).1).1.to_vec(),
        rest => rest.to_vec(),
    };
    words(module).any(|line| line.iter().any(open) && looked_at(line).iter().any(open))
}
