//! Simulates tests: computes the outcomes that a model allows.
//!
//! `lower` makes a program of a test, `unfold` finds the paths of its threads, `skeleton` combines
//! them, and `search` or `solver` goes through their executions. Only `lower` knows tests as text.

mod bodies;
mod domain;
mod eval;
mod exhaustive;
mod explain;
mod expr;
mod interpreted;
mod lower;
mod path;
mod private;
pub mod program;
mod reach;
mod reasons;
pub mod results;
mod search;
mod skeleton;
mod small;
mod solver;
mod specialise;
#[cfg(test)]
mod spirv;
mod steps;
mod symmetry;
mod theory;
mod unfold;
mod valuation;
mod visible;
pub mod witness;

use std::cell::Cell as Flag;
use std::time::{Duration, Instant};

use compact_str::{CompactString, ToCompactString, format_compact};
use smallvec::SmallVec;

use bodies::Bodies;
use eval::{CompiledJudge, Machine};
use exhaustive::Exhaustive;
use expr::Exprs;
use interpreted::{Interpreted, UNDEFINED};
use litmake_base::diag::{Diag, Result};
use litmake_base::failure::{FailureKind, Fault};
use litmake_base::watch;
use litmake_cat as cat;
use litmake_cat::plan::{CheckKind, Plan};
use litmake_cat::stage::StageError;
use litmake_lang::c11::lower::Dialect;
use litmake_litmus::c::macros::Macros;
use litmake_litmus::{Arch, Quantifier, Test};
use litmake_ops::eval::sign_extend;
use litmake_ops::{Op, Tags, Val, mask};
use path::{Path, PathError};
use program::{Observable, ObservedPlace, Program, Shown};
use reach::Reach;
use results::{EarlyEnd, Outcome, Results, Stats, holds};
use search::Search;
use skeleton::{Cells, Skeleton};
use steps::CompiledModel;
use symmetry::Symmetry;
use theory::Theory;
use unfold::{Limits, Obstacle, Unfolder};
use visible::{Private, Visible};

/// How a test is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often a loop's body may run.
    pub unroll: u32,
    /// How long a simulation may take; `None` for as long as it needs.
    pub timeout: Option<Duration>,
    /// How executions are gone through.
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Options {
        Options { unroll: 2, timeout: None, engine: Engine::Auto }
    }
}

/// How the executions of a skeleton are gone through. All engines find the same outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Enumerates, and hands over to the solver if that takes long.
    #[default]
    Auto,
    /// Enumerates, however long that takes.
    Enumerate,
    /// Uses the solver; enumerates under models that the solver cannot explain.
    Solve,
    /// Goes through every candidate execution, and judges each with the interpreter of cat. It is
    /// slow, and the reference for the other engines.
    Exhaustive,
}

/// How many partial executions of a skeleton are enumerated before the solver takes over.
const NODES: u64 = 1 << 11;
/// The same after the test has needed the solver once.
const NODES_AFTER: u64 = 1 << 8;

/// How many instructions a path may execute again in loops that end by themselves.
const MAX_AGAIN: usize = 10_000;

/// Room for outcomes at the start; most tests have no more.
const USUAL: usize = 14;

/// A model ready to simulate under.
pub struct Model {
    /// Its name, as it was loaded.
    pub name: String,
    cat: cat::Model,
    /// `None` for a model that only the interpreter can run.
    fast: Option<Fast>,
    /// What the model adds to C, where it has annotations of its own.
    dialect: Option<Dialect>,
    /// Whether the model compares the values of events.
    compares: bool,
}

/// A staged model.
struct Fast {
    plan: Plan,
    steps: CompiledModel,
    /// The plan for the solver, if the solver can explain it.
    theory: Option<Theory>,
}

impl Model {
    /// Stages and compiles a cat model. One that cannot be staged is interpreted, one execution
    /// after the other.
    pub fn load(model: &cat::Model) -> Result<Model> {
        Model::load_with(model, Macros::default())
    }

    /// Loads a model with the macros that stand for its primitives in C tests.
    pub fn load_with(model: &cat::Model, macros: Macros) -> Result<Model> {
        let fast = match cat::stage::stage(model) {
            Ok(plan) => {
                let steps = CompiledModel::new(&plan).map_err(|e| {
                    Diag::new(format!("{} cannot be simulated: {}", model.name, e.0))
                })?;
                let theory = Theory::new(&plan).ok();
                Some(Fast { plan, steps, theory })
            }
            Err(StageError::Unstageable(_)) => None,
            Err(StageError::Invalid(diag)) => return Err(diag),
        };
        let dialect = (model.has_bell() || !macros.is_empty()).then(|| Dialect {
            macros,
            kernel: model.has_bell(),
            annotations: model.annotations(),
            fenced: !model.has_variant("lkmmv2"),
        });
        Ok(Model {
            name: model.name.clone(),
            cat: model.clone(),
            fast,
            dialect,
            compares: model.compares_values(),
        })
    }

    /// Whether the interpreter judges every execution.
    pub fn is_interpreted(&self) -> bool {
        self.fast.is_none()
    }

    fn visible(&self, arch: Arch) -> Visible {
        Visible::under(&self.cat, self.fast.as_ref().map(|f| &f.plan), arch)
    }

    fn registers(&self) -> bool {
        self.fast.as_ref().map_or(self.cat.catdep(), |f| f.steps.registers)
    }
}

/// A final state as it is printed: a label and a value for each column. Most are short.
pub type State = Vec<(CompactString, CompactString)>;

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Each final state, sorted.
    pub states: Vec<State>,
    /// How many of the outcomes satisfy the condition, and how many do not.
    pub positive: u64,
    /// How many of the outcomes do not satisfy the condition.
    pub negative: u64,
    /// The quantifier of the condition, which says what the two numbers mean.
    pub quantifier: Quantifier,
    /// Names of the flags that some allowed execution raises.
    pub flags: Vec<String>,
    /// The program has undefined behaviour.
    pub undefined: bool,
    /// What is undefined, where it is no matter of the model: `signed overflow in ...`.
    pub undefined_by: Option<String>,
    /// The flag that says so.
    pub arithmetic: Option<&'static str>,
    /// Paths past the unrolling bound were dropped: outcomes may be missing.
    pub cut: bool,
    /// How much work it was.
    pub stats: Stats,
    /// How long it took.
    pub time: Duration,
}

impl Outcomes {
    /// Whether the condition, with its quantifier, is satisfied.
    pub fn validated(&self) -> bool {
        match self.quantifier {
            Quantifier::Exists => self.positive > 0,
            Quantifier::NotExists => self.positive == 0,
            Quantifier::Forall => self.negative == 0,
        }
    }
}

/// A simulator keeps its buffers from one test to the next.
#[derive(Default)]
pub struct Simulator {
    machine: Machine,
    exprs: Exprs,
    bodies: Bodies,
}

impl Simulator {
    /// The outcomes that a model allows for a test; an error where the test cannot be simulated.
    pub fn simulate(&mut self, test: &Test, model: &Model, options: &Options) -> Result<Outcomes> {
        let start = Instant::now();
        let program = Program::with(test, &mut self.bodies, model.dialect.as_ref())?;
        let mut results = Results::default();
        results.outcomes.reserve(USUAL);
        let deadline = options.timeout.map(|t| start + t);
        // Models that are interpreted poll it.
        let _limit = watch::until(deadline);
        // Flags of an interpreted model, by number.
        let mut names = Vec::new();
        let cut =
            self.search(test, &program, model, options, deadline, &mut results, &mut names)?;
        if let Some(error) = results.error {
            return Err(Diag::new(format!("{}: {error}", test.name)));
        }
        // Executions beyond the bound may have any outcome.
        if cut && results.outcomes.is_empty() {
            return Err(all_cut(test, options));
        }
        let mut positive = 0;
        let mut negative = 0;
        for o in &results.outcomes {
            if holds(&program.condition, &program, o) {
                positive += 1;
            } else {
                negative += 1;
            }
        }
        results.flags.sort_unstable();
        let mut flags: Vec<String> = match &model.fast {
            Some(fast) if options.engine != Engine::Exhaustive => {
                let name = |f: &usize| match &fast.steps.checks[*f] {
                    check if check.kind == CheckKind::UndefinedUnless => UNDEFINED.to_string(),
                    check => check.name.clone(),
                };
                results.flags.iter().map(name).collect()
            }
            _ => results.flags.iter().map(|f| names[*f].clone()).collect(),
        };
        let doubt = results.undefined;
        let arithmetic = doubt.map(|(_, d)| d.what.flag());
        flags.extend(arithmetic.map(String::from));
        let undefined_by = doubt.map(|(thread, d)| {
            let inst = program.threads[thread].code.insts.get(d.line);
            format!("{} in `{}`", d.what.text(), inst.map_or("", |i| i.text.as_str()))
        });
        Ok(Outcomes {
            states: states(&program, &results.outcomes),
            positive,
            negative,
            quantifier: program.quantifier,
            undefined: undefined_by.is_some() || flags.iter().any(|f| f == UNDEFINED),
            undefined_by,
            arithmetic,
            flags,
            cut,
            stats: results.stats,
            time: start.elapsed(),
        })
    }

    /// Fills `results` and the names of flags, and says whether paths were cut.
    #[expect(clippy::too_many_arguments, reason = "a run has this many parts")]
    fn search(
        &mut self,
        test: &Test,
        program: &Program,
        model: &Model,
        options: &Options,
        deadline: Option<Instant>,
        results: &mut Results,
        names: &mut Vec<String>,
    ) -> Result<bool> {
        let needed = model.visible(program.arch);
        let visible = match options.engine {
            // The reference leaves nothing out, with one exception: reads of later writes matter for
            // which values are the same in every execution, which a model that compares values sees.
            Engine::Exhaustive => {
                Visible { early: needed.early || !model.compares, ..Visible::all(program.arch) }
            }
            _ => needed,
        };
        let (mut paths, cut) =
            unfold_all(&mut self.exprs, test, program, options, deadline, model, visible)?;
        let exprs = &self.exprs;
        domain::settle(program, exprs, &mut paths);
        let cells = cells_of(test, program, &paths)?;
        let fast = model.fast.as_ref().filter(|_| options.engine != Engine::Exhaustive);
        let domains = model.compares.then(|| domain::Domains::new(program, exprs, &paths));
        let paths: Vec<Vec<&Path>> = if options.engine == Engine::Exhaustive {
            paths.iter().map(|ps| ps.iter().collect()).collect()
        } else {
            domain::feasible(program, exprs, &paths)
        };
        // The reference assumes nothing.
        let symmetry = match options.engine {
            Engine::Exhaustive => Symmetry::default(),
            _ => Symmetry::of(program),
        };
        let mut look = |picked: Vec<&Path>, results: &mut Results| {
            let mut skeleton = Skeleton::new(program, &cells, picked, visible.early);
            skeleton.ordered = symmetry.ordered(&skeleton);
            if let Some(domains) = &domains {
                skeleton.compare_values(exprs, domains);
            }
            results.stats.skeletons += 1;
            let Some(fast) = fast else {
                let mut judge = Interpreted::new(&model.cat, names);
                let result = if options.engine == Engine::Exhaustive {
                    let all =
                        Exhaustive { program, cells: &cells, exprs, skeleton: &skeleton, deadline };
                    all.run(&mut judge, results)
                } else {
                    Search::new(program, &cells, exprs, &skeleton, &mut judge, results, deadline)
                        .run()
                };
                return stopped(result, test, model, options, results);
            };
            let theory = match options.engine {
                Engine::Enumerate => None,
                _ => fast.theory.as_ref(),
            };
            let mut result = Err(EarlyEnd::Budget);
            if options.engine != Engine::Solve || theory.is_none() {
                let first = results.stats.solved == 0;
                let limit = results.stats.nodes + if first { NODES } else { NODES_AFTER };
                let mut judge = CompiledJudge { model: &fast.steps, machine: &mut self.machine };
                let mut search =
                    Search::new(program, &cells, exprs, &skeleton, &mut judge, results, deadline);
                if theory.is_some() {
                    search.node_limit = limit;
                }
                result = search.run();
            }
            if let (Err(EarlyEnd::Budget), Some(theory)) = (&result, theory) {
                results.stats.solved += 1;
                result =
                    solver::solve(program, theory, &cells, exprs, &skeleton, results, deadline);
            }
            stopped(result, test, model, options, results)
        };
        each_choice(&paths, &mut |picked| {
            if !symmetry.keeps(&picked) {
                return Ok(());
            }
            // If an allowed execution takes a path with an error, that is the result of the test.
            if let Some(error) = picked.iter().find_map(|path| path.error.as_deref()) {
                let mut aside = Results { stats: results.stats, ..Results::default() };
                look(picked, &mut aside)?;
                results.stats = aside.stats;
                return match aside.outcomes.is_empty() {
                    true => Ok(()),
                    false => {
                        Err(obstacle_diag(test, program, options, Obstacle::Error(error.clone())))
                    }
                };
            }
            look(picked.clone(), results)?;
            // Where an allowed execution bears out a doubt, the behaviour is undefined. The outcomes
            // are what they are without.
            for (thread, path) in picked.iter().enumerate() {
                for doubt in &path.doubts {
                    if results.undefined.is_some() {
                        return Ok(());
                    }
                    let mut doubted = Path::clone(path);
                    doubted.constraints.push((doubt.cond, true));
                    let mut picked = picked.clone();
                    picked[thread] = &doubted;
                    let mut aside = Results { stats: results.stats, ..Results::default() };
                    look(picked, &mut aside)?;
                    results.stats = aside.stats;
                    if !aside.outcomes.is_empty() {
                        results.undefined = Some((thread, *doubt));
                    }
                }
            }
            Ok(())
        })?;
        Ok(cut)
    }
}

fn stopped(
    result: std::result::Result<(), EarlyEnd>,
    test: &Test,
    model: &Model,
    options: &Options,
    results: &Results,
) -> Result<()> {
    match result {
        Err(EarlyEnd::Model(_)) if watch::is_over() => {
            let done = format!("{} partial executions looked at", results.stats.nodes);
            Err(out_of_time(test, options, &done))
        }
        Err(EarlyEnd::Model(message)) => Err(Diag::new(format!("{}: {message}", model.name))),
        Err(EarlyEnd::TimedOut) => {
            let done = format!("{} partial executions looked at", results.stats.nodes);
            Err(out_of_time(test, options, &done))
        }
        _ => Ok(()),
    }
}

fn out_of_time(test: &Test, options: &Options, done: &str) -> Box<Diag> {
    let seconds = options.timeout.unwrap_or_default().as_secs_f64();
    Diag::new(format!("{}: no answer within {seconds} s ({done})", test.name))
        .help("give it more time with --timeout, or fewer turns of loops with --unroll")
        .kind(FailureKind::Broken(Fault::OutOfTime))
}

/// The error of a test of which no execution within the bounds is allowed.
fn all_cut(test: &Test, options: &Options) -> Box<Diag> {
    Diag::new(format!(
        "{}: no answer: every execution has more than {} turns of a loop, or executes more than \
         {MAX_AGAIN} instructions again",
        test.name,
        options.unroll.saturating_sub(1),
    ))
    .help("give loops more turns with --unroll; a loop that never ends has no final state")
}

/// The paths of each thread, and whether some were cut.
fn unfold_all(
    exprs: &mut Exprs,
    test: &Test,
    program: &Program,
    options: &Options,
    deadline: Option<Instant>,
    model: &Model,
    visible: Visible,
) -> Result<(Vec<Vec<Path>>, bool)> {
    let mut limits = Limits {
        unroll: options.unroll,
        counters: true,
        deadline,
        max_paths: 1 << 14,
        max_again: MAX_AGAIN,
        register_events: model.registers(),
        branches: visible.branches,
        private: visible.private,
    };
    // In C every access has an annotation and so makes an event. Treating its memory as private would
    // only rule out open addresses.
    let mut private = match visible.private {
        Private::LeftOut { unless_fenced, .. } if program.arch != Arch::C => {
            private_locations(program, unless_fenced)
        }
        _ => vec![None; program.locations.len()],
    };
    // The reference for the other engines does without.
    let reach = match options.engine {
        Engine::Exhaustive => None,
        Engine::Auto | Engine::Enumerate | Engine::Solve => Reach::of(program),
    };
    let reach = reach.as_ref();
    'again: loop {
        exprs.clear();
        let mut all = Vec::with_capacity(program.threads.len());
        let mut cut = false;
        for thread in 0..program.threads.len() {
            let unfolder = Unfolder {
                program,
                limits,
                private: &private,
                reach,
                thread,
                cut: Flag::new(false),
            };
            match unfolder.run(exprs) {
                Ok(mut paths) => {
                    cut |= paths.cut;
                    for (number, path) in paths.paths.iter_mut().enumerate() {
                        path.number = number;
                    }
                    all.push(paths.paths);
                }
                Err(Obstacle::NotPrivate(loc)) => {
                    private[usize::from(loc)] = None;
                    continue 'again;
                }
                // Then loops with counters are cut as others are.
                Err(Obstacle::TooManyPaths { .. }) if limits.counters => {
                    limits.counters = false;
                    continue 'again;
                }
                Err(obstacle) => return Err(obstacle_diag(test, program, options, obstacle)),
            }
        }
        if let Some(loc) = escaped(&all, exprs, &private) {
            private[usize::from(loc)] = None;
            continue;
        }
        return Ok((all, cut));
    }
}

fn cells_of(test: &Test, program: &Program, paths: &[Vec<Path>]) -> Result<Cells> {
    let events = paths.iter().flatten().flat_map(|p| &p.events);
    let cells = Cells::new(program, events.filter(|e| e.is_access()));
    // No model says what such a location holds.
    let Some(loc) = cells.mixed_lock() else { return Ok(cells) };
    let label = &program.locations[usize::from(loc)].name;
    Err(Diag::new(format!("{}: `{label}` is a lock, and is read or written as well", test.name))
        .help("give the lock a location of its own"))
}

/// Calls `f` with each choice of one path for each thread.
fn each_choice<'p>(
    paths: &[Vec<&'p Path>],
    f: &mut dyn FnMut(Vec<&'p Path>) -> Result<()>,
) -> Result<()> {
    if paths.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut choice = vec![0usize; paths.len()];
    loop {
        f(choice.iter().zip(paths).map(|(c, ps)| ps[*c]).collect())?;
        if !exhaustive::advance(&mut choice, |t| paths[t].len()) {
            return Ok(());
        }
    }
}

fn obstacle_diag(
    test: &Test,
    program: &Program,
    options: &Options,
    obstacle: Obstacle,
) -> Box<Diag> {
    match obstacle {
        Obstacle::Error(PathError { thread, line, message }) => {
            let inst = program.threads[thread].code.insts.get(line);
            let text = inst.map_or("", |i| i.text.as_str());
            let message = format!("thread {thread}, `{text}`: {message}");
            match program.threads[thread].span(line) {
                Some(span) => Diag::at(&test.source, span, message),
                None => Diag::new(message),
            }
        }
        Obstacle::TooManyPaths { thread } => Diag::new(format!(
            "{}: thread {thread} has too many paths; fewer turns of loops (--unroll) may help",
            test.name
        )),
        Obstacle::OutOfTime { thread } => {
            out_of_time(test, options, &format!("thread {thread} has more paths than were found"))
        }
        Obstacle::NotPrivate(_) => Diag::new("a private location is shared"),
    }
}

/// For each location, the one thread that can reach its address, if there is one. A location is
/// shared if it is observed, or if code, registers or memory of two threads lead to it. A thread with
/// one of these fences has no private location.
fn private_locations(program: &Program, unless_fenced: Tags) -> Vec<Option<u16>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Reach {
        Nobody,
        One(u16),
        Shared,
    }
    let mut reach = vec![Reach::Nobody; program.locations.len()];
    let note = |reach: &mut [Reach], loc: u16, by: Reach| {
        let r = &mut reach[usize::from(loc)];
        *r = match (*r, by) {
            (Reach::Nobody, by) => by,
            (old, Reach::Nobody) => old,
            (old, by) if old == by => old,
            _ => Reach::Shared,
        };
    };
    for o in &program.observed {
        if let ObservedPlace::Mem { loc, .. } = o.place {
            note(&mut reach, loc, Reach::Shared);
        }
    }
    for (t, thread) in program.threads.iter().enumerate() {
        for (_, v) in &thread.reg_init {
            if let Val::Ptr { loc, .. } = v {
                note(&mut reach, *loc, Reach::One(t as u16));
            }
        }
        for inst in &thread.code.insts {
            each_const(&inst.ops, &mut |v| {
                if let Val::Ptr { loc, .. } = v {
                    note(&mut reach, loc, Reach::One(t as u16));
                }
            });
        }
    }
    // Whoever reaches a location reaches what it points to. Each location changes at most twice.
    loop {
        let before = reach.clone();
        for (location, by) in program.locations.iter().zip(&before) {
            for (_, _, v) in &location.init {
                if let Val::Ptr { loc, .. } = v {
                    note(&mut reach, *loc, *by);
                }
            }
        }
        if reach == before {
            break;
        }
    }
    let fenced = |thread: &program::Thread| {
        thread.code.insts.iter().any(|inst| has_fence(&inst.ops, unless_fenced))
    };
    let fenced: Vec<bool> = program.threads.iter().map(fenced).collect();
    reach
        .into_iter()
        .zip(&program.locations)
        .map(|(r, l)| match r {
            Reach::One(t) if !l.is_const && !fenced[usize::from(t)] => Some(t),
            _ => None,
        })
        .collect()
}

fn has_fence(ops: &[Op], of: Tags) -> bool {
    ops.iter().any(|op| match op {
        Op::Fence { tags } => tags.meets(of),
        Op::If { yes, no, .. } => has_fence(yes, of) || has_fence(no, of),
        _ => false,
    })
}

fn each_const(ops: &[Op], f: &mut dyn FnMut(Val)) {
    for op in ops {
        match op {
            Op::Const { val, .. } => f(*val),
            Op::If { yes, no, .. } => {
                each_const(yes, f);
                each_const(no, f);
            }
            Op::Rmw { body, .. } => each_const(body, f),
            _ => {}
        }
    }
}

/// A private location whose address some thread writes to shared memory, if there is one.
fn escaped(paths: &[Vec<Path>], exprs: &Exprs, private: &[Option<u16>]) -> Option<u16> {
    if private.iter().all(Option::is_none) {
        return None;
    }
    let mut found = None;
    for event in paths.iter().flatten().flat_map(|p| &p.events).filter(|e| e.writes()) {
        exprs.each_const(event.value, &mut |v| {
            if let Val::Ptr { loc, .. } = v
                && private[usize::from(loc)].is_some()
            {
                found = Some(loc);
            }
        });
    }
    found
}

fn states(program: &Program, outcomes: &rustc_hash::FxHashSet<Outcome>) -> Vec<State> {
    let parts: SmallVec<[usize; 8]> =
        program.shown.iter().flat_map(|s| s.parts.iter().copied()).collect();
    let mut seen: Vec<Outcome> = outcomes
        .iter()
        .map(|o| parts.iter().map(|i| signed(o[*i], &program.observed[*i])).collect())
        .collect();
    seen.sort_unstable();
    seen.dedup();
    seen.iter().map(|values| state(program, values.iter().copied())).collect()
}

/// A final state as it is shown, from the values of the shown parts in order.
pub fn state(program: &Program, mut values: impl Iterator<Item = Val>) -> State {
    let column = |s: &Shown| {
        if let ([i], false) = (&s.parts[..], s.array) {
            let value = values.next().unwrap_or(Val::ZERO);
            return (s.label.clone(), show(program, value, &program.observed[*i]));
        }
        let parts = s.parts.iter().zip(&mut values);
        let texts: Vec<CompactString> =
            parts.map(|(i, v)| show(program, v, &program.observed[*i])).collect();
        let text = texts.join(",");
        (s.label.clone(), if s.array { format_compact!("{{{text}}}") } else { text.into() })
    };
    program.shown.iter().map(column).collect()
}

/// Shifts signed values so that they sort as numbers. [`show`] undoes it.
fn signed(v: Val, o: &Observable) -> Val {
    match v {
        Val::Int(x) => Val::Int(x & mask(o.bits)),
        other => other,
    }
}

/// A value as states show it, where this is observed.
pub fn show(program: &Program, v: Val, o: &Observable) -> CompactString {
    match (v, o.place) {
        (Val::Code(at), ObservedPlace::Reg { thread, .. }) => {
            show_label(program, thread.into(), at).into()
        }
        _ => show_value(program, v, o.bits, o.signed),
    }
}

/// An address in the code of a thread, by the label that stands there.
fn show_label(program: &Program, thread: usize, at: u32) -> String {
    match program.labels[thread].iter().find(|(_, place)| *place == at) {
        Some((name, _)) => format!("label:\"P{thread}:{name}\""),
        None => format!("label:{at}"),
    }
}

fn show_value(program: &Program, v: Val, bits: u8, signed: bool) -> CompactString {
    match v {
        Val::Int(x) if signed => match i64::try_from(sign_extend(x, bits)) {
            Ok(small) => small.to_compact_string(),
            Err(_) => sign_extend(x, bits).to_compact_string(),
        },
        Val::Int(x) => match u64::try_from(x) {
            Ok(small) => small.to_compact_string(),
            Err(_) => x.to_compact_string(),
        },
        Val::Ptr { loc, off } => {
            let location = &program.locations[usize::from(loc)];
            let elem = i64::from(location.elem.max(1));
            if off == 0 {
                location.name.as_str().into()
            } else if off % elem == 0 {
                format_compact!("{}[{}]", location.name, off / elem)
            } else {
                format_compact!("{}+{off}", location.name)
            }
        }
        Val::Code(at) => format_compact!("label:{at}"),
    }
}
