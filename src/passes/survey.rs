//! Goes through the passes of a compiler for many tests at once: compiles each distinct thread
//! once, many in a module, and combines the code of threads into that of tests.
//!
//! The results equal those of single compilations. If a module of many threads does not show
//! enough, the thread is compiled in a module of its own; if the code of a test is wrong or cannot
//! be read, the whole test is compiled alone. This module does not know how code becomes tests, nor
//! what passes do.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::blame::{FRONT_END, Passes, Point, blame, not_llvm, points, through};
use super::ir;
use super::judge::Court;
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_isa::llvm::module::{Function, Module};
use litmake_lang::Language;
use litmake_litmus::{self as litmus, Test, write};
use litmake_mix::threads::apart;
use litmake_profile::types::Storage;
use litmake_toolchain::compile::{Compiler, Frame};
use litmake_toolchain::dumps::{Dump, START, list, told};
use litmake_toolchain::kind::Kind;

/// The number of threads in a module. LLVM searches the whole module to print a function, so larger
/// modules gain nothing.
const TOGETHER: usize = 40;

/// The largest number of threads whose code is kept.
const REMEMBERED: usize = 1 << 14;

/// The effects of a compiler's passes on many tests.
pub struct Survey<'a> {
    compiler: &'a Compiler<'a>,
    /// The code of threads, by their text.
    threads: HashMap<String, Option<Arc<History>>>,
    /// The code of tests that are not taken apart, by their text; only those of the last `prepare`.
    whole: HashMap<String, Option<Arc<History>>>,
}

/// The code of a unit after each pass that changed it, from the front end on.
struct History {
    /// The names of the unit's functions and locations.
    frame: Frame,
    steps: Vec<Step>,
}

/// The code after a pass.
struct Step {
    at: At,
    pass: String,
    on: String,
    module: Module,
}

/// The time at which a pass ran, which orders passes in different modules as if they were in one.
/// Compilers run some passes on the whole module, and between these several on one function, then
/// the same on the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    /// The number of passes on the whole module before.
    epoch: u32,
    /// How often since then the compiler turned to the function; 0 for a pass on the whole module.
    round: u32,
}

/// A unit of compilation: a thread, or a test that is not taken apart.
struct Unit {
    text: String,
    is_whole: bool,
}

impl<'a> Survey<'a> {
    /// A survey of a compiler.
    pub fn new(compiler: &'a Compiler<'a>) -> Survey<'a> {
        Survey { compiler, threads: HashMap::new(), whole: HashMap::new() }
    }

    /// Compiles together the units of some tests. A test that was not prepared only takes longer.
    pub fn prepare(&mut self, tests: &[&Test]) {
        self.whole.clear();
        if self.threads.len() > REMEMBERED {
            self.threads.clear();
        }
        if self.compiler.runtime.kind() != Kind::Clang {
            return;
        }
        let mut missing: Vec<(Unit, Test)> = Vec::new();
        let mut listed = std::collections::HashSet::new();
        for test in tests {
            for unit in self.units(test) {
                if self.known(&unit).is_some() || !listed.insert(unit.text.clone()) {
                    continue;
                }
                let read = match unit.is_whole {
                    true => Some((*test).clone()),
                    false => litmus::read(&Source::new("thread", unit.text.as_str())).ok(),
                };
                missing.extend(read.map(|test| (unit, test)));
            }
        }
        for batch in missing.chunks(TOGETHER) {
            self.batch(batch);
        }
    }

    /// Whether all units of a test are known.
    pub fn is_ready(&self, test: &Test) -> bool {
        self.histories(test).is_some()
    }

    /// The effects of the passes on a test.
    pub fn of(&self, test: &Test, court: &mut Court) -> Result<Passes, Failure> {
        if self.compiler.runtime.kind() != Kind::Clang {
            return Err(not_llvm(self.compiler));
        }
        if let Some(histories) = self.histories(test) {
            let source = court.source(test).map_err(Failure::from)?;
            let frame = self.compiler.frame_of(test)?;
            let out = through(&frame, &together(test, &frame, &histories), court, &source, None);
            if out.guilty.is_none() && out.refused.is_none() {
                return Ok(out);
            }
        }
        one(self.compiler, test, court)
    }

    /// The units of a test. Threads are compiled separately if their neighbours do not matter.
    fn units(&self, test: &Test) -> Vec<Unit> {
        let Compiler { profile, storage, helpers, .. } = self.compiler;
        let by_thread = *storage == Storage::Pointers && !helpers;
        let plain = matches!(profile.language, Language::C | Language::Cpp);
        match apart(test).filter(|_| by_thread && plain) {
            Some(threads) => {
                threads.into_iter().map(|t| Unit { text: t.text, is_whole: false }).collect()
            }
            None => vec![Unit { text: write(test), is_whole: true }],
        }
    }

    fn known(&self, unit: &Unit) -> Option<&Option<Arc<History>>> {
        let known = if unit.is_whole { &self.whole } else { &self.threads };
        known.get(&unit.text)
    }

    /// The histories of a test's units.
    fn histories(&self, test: &Test) -> Option<Vec<Arc<History>>> {
        let units = self.units(test);
        let histories = units.iter().map(|unit| self.known(unit)?.clone());
        histories.collect()
    }

    fn batch(&mut self, units: &[(Unit, Test)]) {
        if self.compiler.stop.asked() {
            return;
        }
        let tests: Vec<&Test> = units.iter().map(|(_, test)| test).collect();
        match self.compiler.changes_of(&tests) {
            Ok((frames, printed)) => {
                let found = histories(&printed, &frames);
                for ((unit, test), history) in units.iter().zip(found) {
                    let history = history.or_else(|| self.alone(test));
                    self.keep(unit, history);
                }
            }
            // A single test is compiled again when its result is asked for.
            Err(_) if units.len() == 1 => self.keep(&units[0].0, None),
            Err(_) => {
                let (a, b) = units.split_at(units.len() / 2);
                self.batch(a);
                self.batch(b);
            }
        }
    }

    /// The history from dumps of whole modules, for units whose functions do not show enough, as
    /// after a pass on loops or one that makes variables.
    fn alone(&self, test: &Test) -> Option<History> {
        let (frame, printed) = self.compiler.changes(test).ok()?;
        histories(&printed, &[frame]).pop()?
    }

    fn keep(&mut self, unit: &Unit, history: Option<History>) {
        let known = if unit.is_whole { &mut self.whole } else { &mut self.threads };
        known.insert(unit.text.clone(), history.map(Arc::new));
    }
}

/// The effects of the passes on a single test, from the changes that passes made. If the code is
/// wrong, all passes are examined, but not those on machine code.
pub fn one(compiler: &Compiler, test: &Test, court: &mut Court) -> Result<Passes, Failure> {
    let source = court.source(test).map_err(Failure::from)?;
    if compiler.runtime.kind() != Kind::Clang {
        return Err(not_llvm(compiler));
    }
    let (frame, printed) = compiler.changes(test)?;
    let mut dumps = list(&printed);
    match dumps.first_mut() {
        Some(first) if first.pass == START => first.pass = FRONT_END,
        // No pass ran that could change something, as at -O0 of old versions.
        _ => return blame(compiler, test, court, &[], None),
    }
    let out = through(&frame, &points(test, &frame, &dumps), court, &source, None);
    match out.guilty {
        Some(_) => blame(compiler, test, court, &[], None),
        None => Ok(out),
    }
}

/// The code of a test after each step of its units: of the whole test, or of its threads.
fn together<'a>(test: &'a Test, frame: &'a Frame, histories: &'a [Arc<History>]) -> Vec<Point<'a>> {
    let mut order: Vec<(At, usize, usize)> = Vec::new();
    for (part, history) in histories.iter().enumerate() {
        order.extend(history.steps.iter().enumerate().map(|(n, step)| (step.at, part, n)));
    }
    order.sort();
    let mut now = vec![0; histories.len()];
    let mut out: Vec<Point> = Vec::new();
    for (i, (at, part, n)) in order.iter().enumerate() {
        now[*part] = *n;
        // A pass on the whole module changes all functions at once.
        if at.round == 0 && order.get(i + 1).is_some_and(|(next, ..)| next == at) {
            continue;
        }
        let step = &histories[*part].steps[*n];
        let now = now.clone();
        let made = move || {
            let mut own = Frame { globals: Vec::new(), ..frame.clone() };
            let mut modules = Vec::new();
            for (history, n) in histories.iter().zip(&now) {
                for (function, _) in &history.frame.threads {
                    // The parameters have the same order as in the test.
                    own.threads[modules.len()].0.clone_from(function);
                    modules.push(&history.steps[*n].module);
                }
                own.globals.extend(history.frame.globals.iter().cloned());
            }
            ir::test_of(test, &own, &modules)
        };
        let dump = Dump { pass: &step.pass, on: &step.on, machine: false, text: "" };
        out.push(Point { number: out.len(), dump, repeats: false, made: Box::new(made) });
    }
    out
}

/// The histories of units from a compiler's output, in which functions have the number of their
/// unit in their names; `None` for a unit whose code was not printed completely.
fn histories(printed: &str, frames: &[Frame]) -> Vec<Option<History>> {
    let mut units: Vec<Following> = frames.iter().map(Following::new).collect();
    let mut header = Module::default();
    let (mut epoch, mut turn) = (0, None);
    let mut rounds: HashMap<usize, u32> = HashMap::new();
    for dump in told(printed).iter().filter(|d| !d.machine) {
        let module = match Module::read(dump.text) {
            Ok(module) => module,
            Err(_) => return frames.iter().map(|_| None).collect(),
        };
        let is_whole = dump.text.trim_start().starts_with("; ModuleID");
        if is_whole {
            header.variables = module.variables;
            header.types = module.types;
            header.layout = module.layout;
        }
        let defined = || module.functions.keys().find_map(|name| owner(name, frames.len()));
        let on_module = dump.pass == START || dump.on == "[module]";
        let unit = match on_module {
            true => None,
            // Some compilers do not name the function of a loop; it is then the function of the
            // pass before.
            false => {
                subject(dump.on, frames.len()).or_else(|| defined().filter(|_| !is_whole)).or(turn)
            }
        };
        let at = match unit {
            None if on_module => {
                epoch += 1;
                rounds.clear();
                At { epoch, round: 0 }
            }
            // The dump belongs to no unit.
            None => continue,
            Some(unit) => {
                let round = rounds.entry(unit).or_default();
                *round += u32::from(turn != Some(unit));
                At { epoch, round: *round }
            }
        };
        turn = unit;
        if dump.text.trim().is_empty() {
            continue;
        }
        let mut by_unit: BTreeMap<usize, Vec<(String, Function)>> = BTreeMap::new();
        for (name, function) in module.functions {
            if let Some(unit) = owner(&name, frames.len()) {
                by_unit.entry(unit).or_default().push((name, function));
            }
        }
        // The dump has only a part of a function.
        if let Some(unit) = unit.filter(|unit| !by_unit.contains_key(unit)) {
            units[unit].is_known = false;
        }
        for (unit, functions) in by_unit {
            let pass = if dump.pass == START { FRONT_END } else { dump.pass };
            units[unit].step(at, pass, dump.on, functions, &header, unit);
        }
    }
    units.into_iter().map(Following::finish).collect()
}

/// A function without its attributes, which change nothing by themselves.
fn code(function: &Function) -> impl PartialEq {
    let Function { params, heads, returns, blocks, attributes: _ } = function;
    (params, heads, returns, blocks)
}

/// A unit while its history is read.
struct Following {
    frame: Frame,
    functions: BTreeMap<String, Function>,
    steps: Vec<Step>,
    is_known: bool,
}

impl Following {
    fn new(frame: &Frame) -> Following {
        let (frame, functions) = (frame.clone(), BTreeMap::new());
        Following { frame, functions, steps: Vec::new(), is_known: true }
    }

    fn step(
        &mut self,
        at: At,
        pass: &str,
        on: &str,
        functions: Vec<(String, Function)>,
        header: &Module,
        unit: usize,
    ) {
        let mut changed = false;
        for (name, function) in functions {
            changed |= self.functions.get(&name).is_none_or(|known| code(known) != code(&function));
            self.is_known &= names_only(&function, header);
            self.functions.insert(name, function);
        }
        if !changed {
            return;
        }
        let ours = |name: &str| number(name).is_none_or(|n| n == unit);
        let variables = header.variables.iter().filter(|(name, _)| ours(name));
        let module = Module {
            functions: self.functions.clone(),
            variables: variables.map(|(name, words)| (name.clone(), words.clone())).collect(),
            types: header.types.clone(),
            layout: header.layout,
            ..Module::default()
        };
        self.steps.push(Step { at, pass: pass.to_string(), on: on.to_string(), module });
    }

    fn finish(self) -> Option<History> {
        let starts = self.steps.first().is_some_and(|s| s.pass == FRONT_END);
        (self.is_known && starts).then_some(History { frame: self.frame, steps: self.steps })
    }
}

/// Whether all variables that a function names are known; called functions need not be.
fn names_only(function: &Function, header: &Module) -> bool {
    let known = |words: &[String], i: usize| {
        let called = words.get(i + 1).is_some_and(|w| w == "(");
        !words[i].starts_with('@') || called || header.variables.contains_key(&words[i])
    };
    let mut instructions = function.blocks.iter().flat_map(|b| &b.instructions);
    instructions.all(|words| (0..words.len()).all(|i| known(words, i)))
}

/// The number of the unit of a function or variable: `@t3_P0`.
fn number(name: &str) -> Option<usize> {
    let (number, _) = name.trim_start_matches('@').strip_prefix('t')?.split_once('_')?;
    number.parse().ok()
}

fn owner(name: &str, units: usize) -> Option<usize> {
    number(name).filter(|n| *n < units)
}

/// The unit that a pass ran on: a function, several of one unit (`(t0_P0, t0_P1)`), or a loop in a
/// function.
fn subject(on: &str, units: usize) -> Option<usize> {
    let on = on.rsplit_once(" in function ").map_or(on, |(_, function)| function);
    on.split([' ', ',', '(', ')']).find_map(|name| owner(name, units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(unit: usize) -> Frame {
        Frame {
            init: Vec::new(),
            globals: Vec::new(),
            threads: vec![(format!("t{unit}_P0"), Vec::new())],
            locals: Vec::new(),
        }
    }

    fn function(name: &str, line: &str) -> String {
        format!("define void @{name}() {{\n  {line}\n  ret void\n}}\n")
    }

    /// The passes of each unit's steps, with their epochs and rounds.
    fn steps(printed: &str) -> Vec<Option<Vec<(String, u32, u32)>>> {
        let all = histories(printed, &[frame(0), frame(1)]);
        let step = |s: &Step| (s.pass.clone(), s.at.epoch, s.at.round);
        all.iter().map(|h| h.as_ref().map(|h| h.steps.iter().map(step).collect())).collect()
    }

    const ONE: &str = "store i32 1, ptr @x";
    const TWO: &str = "store i32 2, ptr @x";
    const THREE: &str = "store i32 3, ptr @x";

    fn start() -> String {
        let functions = function("t0_P0", ONE) + &function("t1_P0", ONE);
        format!("*** IR Dump At Start ***\n; ModuleID = 't'\n@x = global i32 0\n{functions}")
    }

    fn after(pass: &str, on: &str, code: &str) -> String {
        format!("*** IR Dump After {pass} on {on} ***\n{code}")
    }

    #[test]
    fn steps_are_placed_by_turns_between_passes_on_the_whole_module() {
        let idle = |pass: &str, on: &str| {
            format!("*** IR Dump After {pass} on {on} omitted because no change ***\n")
        };
        let printed = [
            start(),
            after("A", "t0_P0", &function("t0_P0", TWO)),
            idle("B", "t0_P0"),
            idle("A", "t1_P0"),
            after("B", "t1_P0", &function("t1_P0", TWO)),
            idle("C", "(t0_P0)"),
            after("C", "(t1_P0)", &function("t1_P0", THREE)),
            // Changed attributes are not a change of code.
            after("D", "t1_P0", &function("t1_P0", THREE).replace("() {", "() #0 {")),
            after("M", "[module]", &(function("t0_P0", THREE) + &function("t1_P0", THREE))),
        ]
        .concat();
        let list = |expected: &[(&str, u32, u32)]| {
            Some(expected.iter().map(|(p, e, r)| (p.to_string(), *e, *r)).collect::<Vec<_>>())
        };
        let found = steps(&printed);
        assert_eq!(found[0], list(&[(FRONT_END, 1, 0), ("A", 1, 1), ("M", 2, 0)]));
        assert_eq!(found[1], list(&[(FRONT_END, 1, 0), ("B", 1, 1), ("C", 1, 2)]));
    }

    #[test]
    fn a_function_of_which_something_is_missing_is_not_followed() {
        let part = after("LoopRotatePass", "loop %3 in function t1_P0", "; Loop:\n3:\n");
        let found = steps(&(start() + &part));
        assert!(found[0].is_some() && found[1].is_none());
        // Older compilers do not name the function of a loop.
        let before = after("A", "t0_P0", &function("t0_P0", TWO));
        let part = after("LoopRotatePass", "<unnamed loop>", "; Loop:\n3:\n");
        let found = steps(&(start() + &before + &part));
        assert!(found[0].is_none() && found[1].is_some());
        let table =
            after("A", "t0_P0", &function("t0_P0", "%1 = load i32, ptr @switch.table.t0_P0"));
        let found = steps(&(start() + &table));
        assert!(found[0].is_none() && found[1].is_some());
        // Without the first code, nothing is known.
        assert!(steps(&after("A", "t0_P0", &function("t0_P0", TWO)))[0].is_none());
    }
}
