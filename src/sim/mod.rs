//! What a model allows: threads to events, candidate executions, pruning, outcomes.
//!
//! It does not know text formats, but for `lower`, which reads a test.

pub mod domain;
pub mod eval;
pub mod expr;
pub mod lower;
pub mod private;
pub mod program;
mod reasons;
pub mod search;
pub mod skeleton;
mod solver;
mod theory;
pub mod unfold;

use std::cell::Cell as Flag;
use std::time::{Duration, Instant};

use crate::cat;
use crate::cat::plan::CheckKind;
use crate::cat::stage::StageError;
use crate::diag::{Diag, Result};
use crate::isa::ops::Val;
use crate::litmus::{Quantifier, Test};
use eval::{Compiled, Machine};
use expr::{Exprs, mask, sign_extend};
use program::{Observable, Program, What};
use search::{Found, Outcome, Search, Stats, Stop};
use skeleton::{Cells, Skeleton};
use theory::Theory;
use unfold::{Limits, Path, Stuck, Unfolder};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often a loop's body may run.
    pub unroll: u32,
    pub timeout: Option<Duration>,
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Options {
        Options { unroll: 2, timeout: None, engine: Engine::Auto }
    }
}

/// How the executions of a skeleton are gone through; all ways find the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// By enumeration, and by the solver where that takes long.
    #[default]
    Auto,
    Enumerate,
    /// By the solver (by enumeration under models that it cannot explain).
    Solve,
}

/// How many partial executions of a skeleton are enumerated before the solver takes over. It
/// takes over sooner once it has been needed.
const NODES: u64 = 1 << 11;
const NODES_AFTER: u64 = 1 << 8;

/// A model ready to simulate under.
pub struct Model {
    pub name: String,
    program: eval::Program,
    /// The plan as the solver wants it, where it can.
    theory: Option<Theory>,
}

impl Model {
    /// Stages and compiles a cat model.
    pub fn load(model: &cat::Model) -> Result<Model> {
        let plan = cat::stage::stage(model).map_err(|e| match e {
            StageError::Invalid(diag) | StageError::Unstageable(diag) => diag,
        })?;
        let program = eval::Program::new(&plan)
            .map_err(|e| Diag::new(format!("{} cannot be simulated: {}", model.name, e.0)))?;
        Ok(Model { name: model.name.clone(), program, theory: Theory::new(&plan).ok() })
    }
}

/// What a simulation found.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Each final state, as label and value of what is shown, sorted.
    pub states: Vec<Vec<(String, String)>>,
    /// How many of the outcomes satisfy the condition, and how many do not.
    pub positive: u64,
    pub negative: u64,
    pub quantifier: Quantifier,
    /// Names of the flags that some allowed execution raises.
    pub flags: Vec<String>,
    /// The program has undefined behaviour.
    pub undefined: bool,
    /// Paths past the unrolling bound were dropped: outcomes may be missing.
    pub cut: bool,
    pub stats: Stats,
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
}

impl Simulator {
    pub fn simulate(&mut self, test: &Test, model: &Model, options: &Options) -> Result<Outcomes> {
        let start = Instant::now();
        let program = Program::new(test)?;
        let mut found = Found::default();
        let deadline = options.timeout.map(|t| start + t);
        let cut = self.search(test, &program, model, options, deadline, &mut found)?;
        if let Some(trouble) = found.trouble {
            return Err(Diag::new(format!("{}: {trouble}", test.name)));
        }
        let mut positive = 0;
        let mut negative = 0;
        for o in &found.outcomes {
            if search::holds(&program.condition, &program, o) {
                positive += 1;
            } else {
                negative += 1;
            }
        }
        found.flags.sort_unstable();
        let checks = &model.program.checks;
        let undefined = found.flags.iter().any(|f| checks[*f].kind == CheckKind::UndefinedUnless);
        Ok(Outcomes {
            states: states(&program, &found.outcomes),
            positive,
            negative,
            quantifier: program.quantifier,
            flags: found
                .flags
                .iter()
                .map(|f| match checks[*f].kind {
                    CheckKind::UndefinedUnless => "undef".to_string(),
                    _ => checks[*f].name.clone(),
                })
                .collect(),
            undefined,
            cut,
            stats: found.stats,
            time: start.elapsed(),
        })
    }

    /// Fills `found`; whether paths were cut.
    fn search(
        &mut self,
        test: &Test,
        program: &Program,
        model: &Model,
        options: &Options,
        deadline: Option<Instant>,
        found: &mut Found,
    ) -> Result<bool> {
        let limits = Limits {
            unroll: options.unroll,
            max_paths: 1 << 14,
            max_steps: 10_000,
            register_events: model.program.registers,
        };
        let mut private = private_locations(program);
        let (paths, cut) = 'again: loop {
            self.exprs.clear();
            let mut all = Vec::with_capacity(program.threads.len());
            let mut cut = false;
            for thread in 0..program.threads.len() {
                let unfolder =
                    Unfolder { program, limits, private: &private, thread, cut: Flag::new(false) };
                match unfolder.run(&mut self.exprs) {
                    Ok(paths) => {
                        cut |= paths.cut;
                        all.push(paths.paths);
                    }
                    Err(Stuck::Share(loc)) => {
                        private[usize::from(loc)] = None;
                        continue 'again;
                    }
                    Err(stuck) => return Err(stuck_diag(test, program, stuck)),
                }
            }
            if let Some(loc) = escaped(&all, &self.exprs, &private) {
                private[usize::from(loc)] = None;
                continue;
            }
            break (all, cut);
        };
        let cells = Cells::new(
            program,
            paths.iter().flatten().flat_map(|p| &p.events).filter(|e| e.is_access()),
        );
        let paths: Vec<Vec<&Path>> = domain::feasible(program, &self.exprs, &paths);
        let mut choice = vec![0usize; paths.len()];
        if paths.iter().any(Vec::is_empty) {
            return Ok(cut);
        }
        loop {
            let picked: Vec<&Path> = choice.iter().zip(&paths).map(|(c, ps)| ps[*c]).collect();
            let branches = model.program.branches;
            let skeleton = Skeleton::new(program, &cells, picked, branches);
            found.stats.skeletons += 1;
            let theory = match options.engine {
                Engine::Enumerate => None,
                _ => model.theory.as_ref(),
            };
            let mut result = Err(Stop::Budget);
            if options.engine != Engine::Solve || theory.is_none() {
                let first = found.stats.solved == 0;
                let limit = found.stats.nodes + if first { NODES } else { NODES_AFTER };
                let mut judge = Compiled { program: &model.program, machine: &mut self.machine };
                let exprs = &self.exprs;
                let mut search =
                    Search::new(program, &cells, exprs, &skeleton, &mut judge, found, deadline);
                if theory.is_some() {
                    search.node_limit = limit;
                }
                result = search.run();
            }
            if let (Err(Stop::Budget), Some(theory)) = (&result, theory) {
                found.stats.solved += 1;
                let exprs = &self.exprs;
                result = solver::solve(program, theory, &cells, exprs, &skeleton, found, deadline);
            }
            if let Err(Stop::Model(message)) = result {
                return Err(Diag::new(format!("{}: {message}", model.name)));
            }
            if let Err(Stop::TimedOut) = result {
                let seconds = options.timeout.unwrap_or_default().as_secs_f64();
                return Err(Diag::new(format!(
                    "{}: no answer within {seconds} s ({} partial executions looked at)",
                    test.name, found.stats.nodes
                ))
                .help("give it more time with --timeout, or fewer turns of loops with --unroll"));
            }
            // The next combination of paths.
            let mut t = 0;
            loop {
                if t == choice.len() {
                    return Ok(cut);
                }
                choice[t] += 1;
                if choice[t] < paths[t].len() {
                    break;
                }
                choice[t] = 0;
                t += 1;
            }
        }
    }
}

fn stuck_diag(test: &Test, program: &Program, stuck: Stuck) -> Box<Diag> {
    match stuck {
        Stuck::At { thread, line, message } => {
            let inst = program.threads[thread].insts.get(line);
            let text = inst.map_or("", |i| i.text.as_str());
            let message = format!("thread {thread}, `{text}`: {message}");
            match inst {
                Some(inst) => Diag::at(&test.source, inst.span, message),
                None => Diag::new(message),
            }
        }
        Stuck::TooManyPaths { thread } => Diag::new(format!(
            "{}: thread {thread} has too many paths; fewer turns of loops (--unroll) may help",
            test.name
        )),
        Stuck::Share(_) => Diag::new("a private location is shared"),
    }
}

/// Locations that the address of reaches one thread only: nothing that is observed, nothing
/// that another thread's code or registers, or initial memory, mentions.
fn private_locations(program: &Program) -> Vec<Option<u16>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Reach {
        Nobody,
        One(u16),
        Shared,
    }
    let mut reach = vec![Reach::Nobody; program.locations.len()];
    let mut note = |loc: u16, by: Reach| {
        let r = &mut reach[usize::from(loc)];
        *r = match (*r, by) {
            (Reach::Nobody, by) => by,
            (old, by) if old == by => old,
            _ => Reach::Shared,
        };
    };
    for o in &program.observed {
        if let What::Mem { loc, .. } = o.what {
            note(loc, Reach::Shared);
        }
    }
    for location in &program.locations {
        for (_, _, v) in &location.init {
            if let Val::Ptr { loc, .. } = v {
                note(*loc, Reach::Shared);
            }
        }
    }
    for (t, code) in program.threads.iter().enumerate() {
        for (_, v) in &code.reg_init {
            if let Val::Ptr { loc, .. } = v {
                note(*loc, Reach::One(t as u16));
            }
        }
        for inst in &code.insts {
            each_const(&inst.ops, &mut |v| {
                if let Val::Ptr { loc, .. } = v {
                    note(loc, Reach::One(t as u16));
                }
            });
        }
    }
    reach
        .into_iter()
        .zip(&program.locations)
        .map(|(r, l)| match r {
            Reach::One(t) if !l.is_const => Some(t),
            _ => None,
        })
        .collect()
}

fn each_const(ops: &[crate::isa::ops::Op], f: &mut dyn FnMut(Val)) {
    use crate::isa::ops::Op;
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

/// A private location whose address some thread writes to shared memory.
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

fn states(
    program: &Program,
    outcomes: &rustc_hash::FxHashSet<Outcome>,
) -> Vec<Vec<(String, String)>> {
    let mut seen: Vec<Vec<Val>> = outcomes
        .iter()
        .map(|o| {
            program
                .shown
                .iter()
                .flat_map(|s| &s.parts)
                .map(|i| signed(o[*i], &program.observed[*i]))
                .collect()
        })
        .collect();
    seen.sort();
    seen.dedup();
    seen.iter()
        .map(|values| {
            let mut values = values.iter();
            program
                .shown
                .iter()
                .map(|s| {
                    let parts = s
                        .parts
                        .iter()
                        .zip(&mut values)
                        .map(|(i, v)| show(program, *v, &program.observed[*i]));
                    let text = parts.collect::<Vec<_>>().join(",");
                    (s.label.clone(), if s.array { format!("{{{text}}}") } else { text })
                })
                .collect()
        })
        .collect()
}

/// Moves signed values so that they sort as numbers; undone by [`show`].
fn signed(v: Val, o: &Observable) -> Val {
    match v {
        Val::Int(x) => Val::Int(x & mask(o.bits)),
        other => other,
    }
}

fn show(program: &Program, v: Val, o: &Observable) -> String {
    match v {
        Val::Int(x) if o.signed => sign_extend(x, o.bits).to_string(),
        Val::Int(x) => x.to_string(),
        Val::Ptr { loc, off } => {
            let location = &program.locations[usize::from(loc)];
            let elem = i64::from(location.elem.max(1));
            if off == 0 {
                location.name.clone()
            } else if off % elem == 0 {
                format!("{}[{}]", location.name, off / elem)
            } else {
                format!("{}+{off}", location.name)
            }
        }
        Val::Code(at) => format!("label:{at}"),
    }
}
