//! Simulates tests: computes the outcomes that a model allows.
//!
//! `lower` makes a program of a test, `unfold` finds the paths of its threads, `skeleton` combines
//! them, and `search` or `solver` goes through their executions. Only `lower` knows tests as text.

mod bodies;
pub mod certify;
mod chain;
mod combine;
mod domain;
mod eval;
mod exhaustive;
mod explain;
mod expr;
mod groups;
mod interpreted;
mod lower;
mod path;
pub mod printed;
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
#[path = "spirv/tests.rs"]
mod spirv;
mod states;
mod steps;
mod symmetry;
mod theory;
pub mod touched;
mod unfold;
mod valuation;
mod visible;
mod whole;
pub mod witness;

use std::cell::Cell as Flag;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use compact_str::{CompactString, ToCompactString, format_compact};

use bodies::Bodies;
use combine::Combine;
use eval::Machine;
use expr::Exprs;
use interpreted::UNDEFINED;
use litmake_base::diag::{Diag, Result};
use litmake_base::failure::{FailureKind, Fault};
use litmake_base::rel::Rel;
use litmake_base::watch;
use litmake_cat as cat;
use litmake_cat::plan::{BaseRel, CheckKind, Node, Plan};
use litmake_cat::stage::StageError;
pub use litmake_lang::c11::PlainAtomic;
use litmake_lang::c11::lower::Dialect;
use litmake_litmus::c::macros::Macros;
use litmake_litmus::{Arch, Quantifier, Test};
use litmake_ops::Val;
use litmake_ops::eval::sign_extend;
use path::{Path, PathError};
use program::{Observable, ObservedPlace, Program};
use reach::Reach;
use results::{EarlyEnd, Results, Stats, holds};
use skeleton::{Cells, Skeleton};
pub use states::{States, state};
use steps::CompiledModel;
use symmetry::Symmetry;
use theory::Theory;
use unfold::pools::{Beyond, Pools};
use unfold::{Guide, Limits, Obstacle, Unfolder};
use visible::{Excepted, Private, Visible};
use whole::Whole;

/// How a test is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often a loop's body may run.
    pub unroll: u32,
    /// How long a simulation may take; `None` for as long as it needs.
    pub timeout: Option<Duration>,
    /// How many bytes its outcomes may take while they are looked for. Where they are read later, as
    /// text, they take several times as much.
    pub memory: usize,
    /// How executions are gone through.
    pub engine: Engine,
    /// The meaning of a plain access (`*x`) to an atomic object of C.
    pub plain_atomic: PlainAtomic,
    /// Whether a test has no outcome of which every execution is cut, or waits for what does not come; otherwise that
    /// is an error.
    pub may_be_endless: bool,
    /// Whether an access through the address 0 is undefined behaviour; otherwise that is an error. One that is volatile
    /// is an error always.
    pub null_is_undefined: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            unroll: 2,
            timeout: None,
            memory: MEMORY,
            engine: Engine::Auto,
            plain_atomic: PlainAtomic::default(),
            may_be_endless: false,
            null_is_undefined: false,
        }
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

/// How many instructions a path may execute again in loops that end by themselves.
const MAX_AGAIN: usize = 10_000;

/// Events and locations are numbered with so many bits.
const MOST_EVENTS: usize = u16::MAX as usize;

/// How often the reference finds paths anew with the values that the paths before write.
const MOST_TURNS: usize = 16;

/// How many bytes the outcomes of a test may take, if nobody says: some millions of them fit.
const MEMORY: usize = 128 << 20;

/// A model ready to simulate under.
pub struct Model {
    /// Its name, as it was loaded.
    pub name: String,
    cat: cat::Model,
    /// `None` for a model that only the interpreter can run.
    fast: Option<Fast>,
    /// The additions of the model to C, where it has annotations of its own.
    dialect: Option<Dialect>,
    /// Whether the model compares the values of events.
    compares: bool,
    /// Whether it relates the parts of an access, and says itself what they may observe.
    relates_parts: bool,
    /// The events that the model needs in a dialect, once that has been asked.
    visible: OnceLock<(Arch, Visible)>,
    /// The events of private memory that the model needs in a dialect, once a program had some.
    private: OnceLock<(Arch, Private)>,
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
        let parts = Node::BaseRel(BaseRel::SameAccess);
        let relates_parts = fast.as_ref().is_some_and(|f| f.plan.nodes.contains(&parts));
        Ok(Model {
            relates_parts,
            name: model.name.clone(),
            cat: model.clone(),
            fast,
            dialect,
            compares: model.compares_values(),
            visible: OnceLock::new(),
            private: OnceLock::new(),
        })
    }

    /// Whether the interpreter judges every execution.
    pub fn is_interpreted(&self) -> bool {
        self.fast.is_none()
    }

    fn visible(&self, arch: Arch) -> Visible {
        once(&self.visible, arch, || Visible::under(&self.cat, self.plan(), arch))
    }

    fn private(&self, arch: Arch) -> Private {
        once(&self.private, arch, || Private::under(&self.cat, self.plan(), arch))
    }

    fn plan(&self) -> Option<&Plan> {
        self.fast.as_ref().map(|fast| &fast.plan)
    }

    /// The parts of each aligned access, where the model leaves it to the simulator that these are whole. No
    /// language says so of its objects.
    fn parts(&self, arch: Arch, skeleton: &Skeleton) -> Option<Rel> {
        (arch.facts().machine && !self.relates_parts).then(|| Whole::parts_of(skeleton)).flatten()
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
    pub states: States,
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
    /// The operation that is undefined, where it is no matter of the model: `signed overflow in ...`.
    pub undefined_by: Option<String>,
    /// The flag for such an operation.
    pub arithmetic: Option<&'static str>,
    /// Paths past the unrolling bound were dropped: outcomes may be missing.
    pub cut: bool,
    /// The test has plain accesses to atomic objects, whose meaning [`Options`] say.
    pub plain_atomics: bool,
    /// Why there is no state, if there is none.
    pub empty: Option<Empty>,
    /// How much work it was.
    pub stats: Stats,
    /// How long it took.
    pub time: Duration,
}

/// Why a test that has executions has no outcome. Such a test says nothing about another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Empty {
    /// The test's own `filter` accepts none.
    Filter,
    /// The model forbids all: the requirements that the nearest one fails, with their places.
    Forbidden(Vec<(String, String)>),
}

impl std::fmt::Display for Empty {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Empty::Filter => write!(f, "no execution satisfies the test's `filter`"),
            Empty::Forbidden(checks) => {
                let name = |(name, place): &(String, String)| format!("`{name}` ({place})");
                let checks: Vec<String> = checks.iter().map(name).collect();
                write!(f, "the model allows no execution: it fails {}", checks.join(" and "))
            }
        }
    }
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
        let program = self.program(test, model, options)?;
        let mut results = Results::new(options.memory);
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
        let none = results.outcomes.is_empty() && !options.may_be_endless;
        if none && cut {
            return Err(all_cut(test, options));
        }
        let empty = if none { Some(self.why_none(test, &program, model, options)?) } else { None };
        let mut positive = 0;
        let mut negative = 0;
        for o in results.outcomes.iter() {
            if holds(&program.condition, &program, &o) {
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
        let plain_atomics = program.plain_atomics;
        Ok(Outcomes {
            positive,
            negative,
            quantifier: program.quantifier,
            states: States::of(program, &results.outcomes),
            undefined: undefined_by.is_some() || flags.iter().any(|f| f == UNDEFINED),
            undefined_by,
            arithmetic,
            flags,
            cut,
            plain_atomics,
            empty,
            stats: results.stats,
            time: start.elapsed(),
        })
    }

    fn program(&mut self, test: &Test, model: &Model, options: &Options) -> Result<Program> {
        let dialect = model.dialect.as_ref();
        let program = Program::with(test, &mut self.bodies, dialect, options.plain_atomic)?;
        match model.plan() {
            Some(plan) if test.arch == Arch::C => groups::known_to(&program, plan, &model.name)?,
            _ => {}
        }
        Ok(program)
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
        let domains = model.compares.then(|| domain::Domains::new(program, exprs, &paths));
        let paths: Vec<Vec<&Path>> = if options.engine == Engine::Exhaustive {
            paths.iter().map(|ps| ps.iter().collect()).collect()
        } else {
            domain::feasible(program, exprs, &paths)
        };
        let cells = cells_of(test, program, &paths)?;
        // The reference assumes nothing.
        let symmetry = match options.engine {
            Engine::Exhaustive => Symmetry::default(),
            _ => Symmetry::of(program),
        };
        let mut combine = Combine {
            test,
            program,
            model,
            options,
            deadline,
            cells: &cells,
            exprs,
            domains: domains.as_ref(),
            symmetry: &symmetry,
            early: visible.early,
            machine: &mut self.machine,
            names,
        };
        combine.each(&paths, results)?;
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
        Err(EarlyEnd::OutOfMemory) => Err(out_of_memory(test, options, results)),
        Ok(()) | Err(EarlyEnd::Budget) => Ok(()),
    }
}

fn out_of_memory(test: &Test, options: &Options, results: &Results) -> Box<Diag> {
    let most = match options.memory {
        few if few < 1 << 20 => format!("{} KiB", few >> 10),
        many => format!("{} MiB", many >> 20),
    };
    Diag::new(format!(
        "{}: no answer within {most} for outcomes ({} outcomes found)",
        test.name,
        results.outcomes.len()
    ))
    .help("observe fewer places, or let outcomes take more memory with --memory")
}

fn out_of_time(test: &Test, options: &Options, done: &str) -> Box<Diag> {
    let Some(timeout) = options.timeout else {
        return Diag::new(format!("{}: stopped before it had an answer ({done})", test.name))
            .kind(FailureKind::Stopped);
    };
    let seconds = timeout.as_secs_f64();
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

/// The value that was found for a dialect; for any other dialect it is found anew.
fn once<T: Copy>(kept: &OnceLock<(Arch, T)>, arch: Arch, find: impl Fn() -> T) -> T {
    match kept.get_or_init(|| (arch, find())) {
        (known, found) if *known == arch => *found,
        _ => find(),
    }
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
        null_is_undefined: options.null_is_undefined,
        register_events: model.registers(),
        branches: visible.branches,
        private: Private::Events,
        // herd's Power has no such dependency, so that models that were written for it do not see one.
        status_depends: program.arch != Arch::Ppc || model.cat.built_in().is_some(),
    };
    // The reference for the other engines has its own way to the places of addresses.
    let pools = Pools::default();
    let reach = match options.engine {
        Engine::Exhaustive => None,
        Engine::Auto | Engine::Enumerate | Engine::Solve => Reach::of(program),
    };
    let guide = match options.engine {
        Engine::Exhaustive => Guide::Values(&pools),
        Engine::Auto | Engine::Enumerate | Engine::Solve => Guide::Places(reach.as_ref()),
    };
    // The reference has no private memory.
    let mut private = match &reach {
        Some(reach) => private_locations(program, reach),
        None => vec![None; program.locations.len()],
    };
    if private.iter().any(Option::is_some) {
        limits.private = model.private(program.arch);
        leave_out(program, limits.private, &mut private);
    }
    let mut turns = 0;
    'again: loop {
        exprs.clear();
        let mut all = Vec::with_capacity(program.threads.len());
        let mut cut = false;
        for thread in 0..program.threads.len() {
            let unfolder = Unfolder {
                program,
                limits,
                private: &private,
                guide,
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
        match pools.renew(program, exprs, &all) {
            Ok(false) => return Ok((all, cut)),
            Ok(true) if turns < MOST_TURNS => turns += 1,
            Ok(true) => return Err(reference_ends(test, "the values of addresses do not settle")),
            Err(Beyond(why)) => return Err(reference_ends(test, &why)),
        }
    }
}

/// The error of a test for which the reference engine is too small.
fn reference_ends(test: &Test, why: &str) -> Box<Diag> {
    Diag::new(format!("{}: no answer: {why}", test.name))
        .help("the other engines have no such limit")
        .kind(FailureKind::Unsupported)
}

fn cells_of(test: &Test, program: &Program, paths: &[Vec<&Path>]) -> Result<Cells> {
    let events = paths.iter().flatten().flat_map(|p| &p.events);
    let cells = Cells::new(program, events.filter(|e| e.is_access()));
    // No model says what such a location holds.
    let most = |ps: &Vec<&Path>| ps.iter().map(|p| cells.events_of(p)).max().unwrap_or(0);
    let events: usize = cells.places.len() + paths.iter().map(most).sum::<usize>();
    if events > MOST_EVENTS {
        let message = format!("{}: an execution has more than {MOST_EVENTS} events", test.name);
        return Err(Diag::new(message).help("the test is too large to be simulated"));
    }
    let Some(loc) = cells.mixed_lock() else { return Ok(cells) };
    let label = &program.locations[usize::from(loc)].name;
    Err(Diag::new(format!("{}: `{label}` is a lock, and is read or written as well", test.name))
        .help("give the lock a location of its own"))
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
        Obstacle::Undefined(what) => Diag::new(what.text()),
        Obstacle::NotPrivate(_) => Diag::new("a private location is shared"),
    }
}

/// For each location, the one thread that can reach it, if there is one.
fn private_locations(program: &Program, reach: &Reach) -> Vec<Option<u16>> {
    let mut private = reach.private(program);
    for (thread, location) in private.iter_mut().zip(&program.locations) {
        if location.is_const {
            *thread = None;
        }
    }
    private
}

/// Keeps the locations at which the one thread's accesses make no events.
fn leave_out(program: &Program, needed: Private, private: &mut [Option<u16>]) {
    let fenced = |thread: &program::Thread| match needed {
        Private::Events => true,
        Private::LeftOut(Excepted { unless, .. }) => thread.code.is_annotated(unless),
    };
    let fenced: Vec<bool> = program.threads.iter().map(fenced).collect();
    for thread in private {
        *thread = thread.filter(|t| !fenced[usize::from(*t)]);
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
