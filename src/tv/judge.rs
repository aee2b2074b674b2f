//! Judges a change: simulates both functions in one context after the other, until the second shows an outcome
//! that the first does not.
//!
//! A context in which the first function has a race or undefined behaviour excuses everything. A context that is not
//! judged (out of time, loops beyond the bound) is counted, and then the answer is never that the change holds.
//! It does not know how answers are shown.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use litmake_base::diag::Result as Maybe;
use litmake_cat::LoadOptions;
use litmake_cat::load::{Disk, Files, load_with};
use litmake_litmus::execution::Execution;
use litmake_litmus::{Arch, CmpOp, Line, Operand, Place, Prop, Test};
use litmake_sim::{Model, Options, Outcomes, Simulator, State};
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::{Around, Bound, Context, Order, Told};
use super::machine::{self, Name};
use super::observe::{Effect, UNDEFINED};
use super::pair::Pair;
use super::program::{self, Own, Subject};
use super::setting::{Obstacle, Setting, Subjects, UNDEF};

/// The family of models in which a race gives undef.
const LLVM: [&str; 2] = ["llvm", "llvm-lb"];
/// Models under which a stronger order of an access of a context takes outcomes away and adds none. That of C11, as it was
/// published, is none of them.
pub const MONOTONE: [&str; 10] =
    ["llvm", "llvm-lb", "rc11", "rc11-lb", "aarch64", "armv7", "x86tso", "riscv", "ppc", "mips"];
/// The flags of that model: undef goes into what a function computes, and into what memory holds at the end.
const UNDEF_IS_READ: &str = "undef-is-read";
const UNDEF_IS_LEFT: &str = "undef-is-left";
/// The model in which undef is a value.
const WITH_UNDEF: &str = "llvm-undef";
/// Loops of the first function may turn so many times as often as those of the second, which may be unrolled. If that
/// adds no outcome, no more turns are tried: a context writes few times, so a loop that waits changes no more.
const MORE_TURNS: u32 = 4;
/// The clock is looked at after so many contexts.
const LOOK: usize = 64;

/// How a change is judged.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name or the path of the model of intermediate code.
    pub model: String,
    /// The same of machine code; without it, the default of its instruction set.
    pub machine_model: Option<String>,
    /// The largest contexts.
    pub bound: Bound,
    /// How many contexts are tried at most; a size with more is left out.
    pub contexts: usize,
    /// How often the body of a loop may run.
    pub unroll: u32,
    /// How long all contexts may take.
    pub timeout: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            model: "llvm-lb".into(),
            machine_model: None,
            bound: Bound { threads: 2, accesses: 4 },
            contexts: 20_000,
            unroll: 2,
            timeout: Some(Duration::from_secs(60)),
        }
    }
}

/// The result of comparing two functions.
#[derive(Debug)]
pub struct Report {
    /// The name of the pair.
    pub name: String,
    /// The model, or both models.
    pub model: String,
    /// The answer.
    pub answer: Answer,
    /// How many contexts were judged.
    pub judged: usize,
    /// In how many of these the first function has undefined behaviour or a race.
    pub excused: usize,
    /// In how many the first function does not end within the bound.
    pub endless: usize,
    /// The size up to which all contexts were judged; `None` if not even those without accesses were.
    pub bound: Option<Bound>,
    /// How often the body of a loop may run, if a loop was cut.
    pub turns: Option<u32>,
    /// Whether results are not compared, since nobody says what machine code returns.
    pub no_result: bool,
    /// How long it took.
    pub time: Duration,
}

/// The answer to the question whether the second function shows an outcome that the first does not.
#[derive(Debug)]
pub enum Answer {
    /// The functions are the same code.
    Same,
    /// It shows none in the contexts within the bound.
    Holds,
    /// It shows one.
    Refuted(Box<Refutation>),
    /// Something in the functions is not understood, by name.
    NotUnderstood(String),
    /// Contexts were not judged: how many, and why the first was not.
    NotJudged(usize, String),
    /// The functions cannot be compared: they have different parameters or results.
    Different(String),
}

/// A context that tells two functions apart.
#[derive(Debug)]
pub struct Refutation {
    /// The arguments of the call, for people.
    pub arguments: Vec<String>,
    /// The setting.
    pub setting: Setting,
    /// The context.
    pub context: Context,
    /// The first function in the context.
    pub source: Test,
    /// The second function in the context.
    pub target: Test,
    /// Why the first function does not show it, and the second does.
    pub evidence: Evidence,
}

/// How the second function differs.
#[derive(Debug)]
pub enum Evidence {
    /// It shows an outcome that the first cannot have.
    Outcome {
        /// The outcome.
        state: State,
        /// Whether undef is a part of it, shown as this value.
        undef: Option<u64>,
        /// An execution of the first that the model forbids, if the code has one.
        forbidden: Option<Box<Execution>>,
        /// An execution of the second.
        shown: Option<Box<Execution>>,
    },
    /// Its behaviour is undefined, and that of the first is not.
    Undefined(Option<Box<Execution>>),
}

/// Compares functions.
pub struct Court {
    settings: Settings,
    /// The models that are loaded, each with its name and the instruction set that it is loaded for.
    models: Vec<((Arch, String), Rc<Model>)>,
    undef: Option<Model>,
    simulator: Simulator,
    /// The models of the functions at hand: before, and after the change; and their names.
    sides: [Rc<Model>; 2],
    names: [String; 2],
    /// Whether null is an address like others in the functions at hand.
    null: bool,
}

/// The word of one context.
enum Says {
    /// Nothing against the change.
    Nothing,
    /// The same, and nothing is in a race: the outcomes of the first function.
    Allows(Box<Outcomes>),
    /// The first function is undefined or has a race.
    Excused,
    /// The first function does not end.
    Endless,
    /// It was not judged: why.
    NotJudged(String),
    Refuted(Evidence),
}

impl Court {
    /// Loads the model.
    pub fn new(settings: Settings) -> Maybe<Court> {
        Court::with(settings, &Disk)
    }

    /// Loads the model, with files from a source.
    pub fn with(settings: Settings, files: &dyn Files) -> Maybe<Court> {
        let load = |name: &str| load(Arch::Llvm, name, files);
        let model = Rc::new(load(&settings.model)?);
        let undef = match LLVM.contains(&settings.model.as_str()) {
            true => Some(load(WITH_UNDEF)?),
            false => None,
        };
        Ok(Court {
            models: vec![((Arch::Llvm, settings.model.clone()), model.clone())],
            sides: [model.clone(), model],
            names: [settings.model.clone(), settings.model.clone()],
            settings,
            undef,
            simulator: Simulator::default(),
            null: false,
        })
    }

    /// Loads the models of a pair, and gives their names.
    pub fn prepare(&mut self, pair: &Pair) -> Maybe<[String; 2]> {
        let mut names = [String::new(), String::new()];
        for (n, side) in [&pair.source, &pair.target].into_iter().enumerate() {
            let key = match &side.machine {
                None => (Arch::Llvm, self.settings.model.clone()),
                Some(function) => {
                    let arch = function.lifts.arch();
                    let said = self.settings.machine_model.clone();
                    (arch, said.unwrap_or_else(|| arch.default_model().to_string()))
                }
            };
            self.sides[n] = match self.models.iter().find(|(known, _)| *known == key) {
                Some((_, model)) => model.clone(),
                None => {
                    let model = Rc::new(load(key.0, &key.1, &Disk)?);
                    self.models.push((key.clone(), model.clone()));
                    model
                }
            };
            names[n] = key.1;
        }
        self.names = names.clone();
        Ok(names)
    }

    fn options(&self) -> Options {
        Options {
            unroll: self.settings.unroll,
            timeout: Some(Duration::from_secs(10)),
            may_be_endless: true,
            null_is_undefined: !self.null,
            ..Options::default()
        }
    }

    /// Compares two functions.
    pub fn judge(&mut self, pair: &Pair) -> Report {
        let start = Instant::now();
        let mut report = Report {
            name: pair.name.clone(),
            model: String::new(),
            answer: Answer::Holds,
            judged: 0,
            excused: 0,
            endless: 0,
            bound: None,
            turns: None,
            no_result: false,
            time: Duration::ZERO,
        };
        let answer = self.all(pair, start, &mut report);
        report.answer = match answer {
            Ok(answer) => answer,
            Err(Obstacle::Different(words)) => Answer::Different(words),
            Err(Obstacle::NotUnderstood(words)) => Answer::NotUnderstood(words),
        };
        report.time = start.elapsed();
        report
    }

    fn all(
        &mut self,
        pair: &Pair,
        start: Instant,
        report: &mut Report,
    ) -> Result<Answer, Obstacle> {
        let names = self.prepare(pair)?;
        report.model = match &names {
            [before, after] if before == after => before.clone(),
            [before, after] => format!("{before} before and {after} after"),
        };
        let subjects = Subjects::of(pair)?;
        report.no_result = subjects.guessed;
        self.null = subjects.null;
        let options = self.options();
        let [before, after] = self.sides.clone();
        let settings = subjects.settings(&mut self.simulator, [&before, &after], &options)?;
        if same_code(&subjects, &settings)? {
            return Ok(Answer::Same);
        }
        let mut unjudged: BTreeMap<String, usize> = BTreeMap::new();
        let mut owns = Owns::default();
        for size in 0..=self.settings.bound.accesses {
            let lists: Vec<Vec<Context>> = settings
                .iter()
                .map(|s| {
                    told(&subjects, s, self.is_llvm()).of_size(size, self.settings.bound.threads)
                })
                .collect();
            let count: usize =
                lists.iter().zip(&settings).map(|(l, s)| l.len() * s.initial.len()).sum();
            if size > 0 && report.judged + count > self.settings.contexts {
                break;
            }
            let work = settings.iter().zip(lists).enumerate().collect();
            let ended = self.list(&subjects, work, &mut owns, start, report, &mut unjudged)?;
            if let Some(answer) = ended {
                return Ok(answer);
            }
            if unjudged.is_empty() {
                report.bound = Some(Bound { accesses: size, ..self.settings.bound });
            }
        }
        let larger = settings.iter().map(|s| told(&subjects, s, self.is_llvm()).meetings());
        let work = settings.iter().zip(larger).enumerate().collect();
        if let Some(answer) = self.list(&subjects, work, &mut owns, start, report, &mut unjudged)? {
            return Ok(answer);
        }
        if report.judged > 0 && report.endless == report.judged {
            unjudged.insert(
                "the first function does not end within the bound on loops".into(),
                report.judged,
            );
        }
        Ok(match unjudged.iter().next() {
            Some((why, _)) => Answer::NotJudged(unjudged.values().sum(), why.clone()),
            None if subjects.open.1 && report.excused < report.judged => {
                let words = "the second function has a value that is undef or poison, which may be anything";
                Answer::NotUnderstood(words.into())
            }
            None => Answer::Holds,
        })
    }

    /// Judges contexts in their settings, until one decides.
    fn list(
        &mut self,
        subjects: &Subjects,
        work: Vec<(usize, (&Setting, Vec<Context>))>,
        owns: &mut Owns,
        start: Instant,
        report: &mut Report,
        unjudged: &mut BTreeMap<String, usize>,
    ) -> Result<Option<Answer>, Obstacle> {
        for (number, (setting, contexts)) in &work {
            for initial in &setting.initial {
                let mut settled = FxHashSet::default();
                let mut between = FxHashSet::default();
                let orders = subjects.orders && self.names.iter().all(|n| MONOTONE.contains(&&**n));
                for context in contexts {
                    let weakest = orders.then(|| context.ordered(Order::Relaxed));
                    if weakest.as_ref().is_some_and(|weakest| between.contains(weakest)) {
                        report.judged += 1;
                        settled.insert(context);
                        continue;
                    }
                    // It would tell only what the one that does not wait has told.
                    if context.less_waiting().iter().any(|less| settled.contains(less)) {
                        settled.insert(context);
                        continue;
                    }
                    let late = report.judged.is_multiple_of(LOOK)
                        && self.settings.timeout.is_some_and(|t| start.elapsed() > t);
                    if late {
                        return Ok(Some(self.out_of_time(report, unjudged)));
                    }
                    report.judged += 1;
                    let case = Case { setting, number: *number, context, initial: *initial };
                    match self.context(subjects, &case, owns, report)? {
                        Says::Nothing => drop(settled.insert(context)),
                        Says::Allows(allowed) => {
                            settled.insert(context);
                            let is_weakest = weakest.filter(|weakest| weakest == context);
                            if let Some(weakest) = is_weakest
                                && self.orders_nothing(subjects, &case, owns, &allowed)?
                            {
                                between.insert(weakest);
                            }
                        }
                        Says::Excused => report.excused += 1,
                        Says::Endless => report.endless += 1,
                        Says::NotJudged(why) => *unjudged.entry(why).or_default() += 1,
                        Says::Refuted(evidence) => {
                            return self.refuted(subjects, &case, owns, evidence).map(Some);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether the first function has these outcomes, which are those of a context with the weakest accesses around the
    /// call, with the strongest ones as well. Then it has them with all orders between. The second function has no others:
    /// with the weakest ones it has none that the first has not, and stronger ones take outcomes away.
    fn orders_nothing(
        &mut self,
        subjects: &Subjects,
        case: &Case,
        owns: &mut Owns,
        allowed: &Outcomes,
    ) -> Result<bool, Obstacle> {
        let strongest = case.context.ordered(Order::Strong);
        if strongest == *case.context {
            return Ok(false);
        }
        let source = owns.test(&subjects.source, 0, &Case { context: &strongest, ..*case })?;
        let found = self.simulator.simulate(&source.test, &self.sides[0], &self.options());
        Ok(found.is_ok_and(|found| {
            found.flags.is_empty()
                && !found.undefined
                && found.cut == allowed.cut
                && found.states == allowed.states
        }))
    }

    fn is_llvm(&self) -> bool {
        self.undef.is_some()
    }

    fn out_of_time(&self, report: &Report, unjudged: &BTreeMap<String, usize>) -> Answer {
        let seconds = self.settings.timeout.unwrap_or_default().as_secs_f64();
        match report.bound {
            // All contexts of a smaller size are judged, and the answer says which.
            Some(bound) if bound.accesses >= 2 && unjudged.is_empty() => Answer::Holds,
            _ => {
                let why = format!("no answer within {seconds} s");
                Answer::NotJudged(unjudged.values().sum::<usize>() + 1, why)
            }
        }
    }

    /// The word of one context.
    fn context(
        &mut self,
        subjects: &Subjects,
        case: &Case,
        owns: &mut Owns,
        report: &mut Report,
    ) -> Result<Says, Obstacle> {
        let options = self.options();
        let source = owns.test(&subjects.source, 0, case)?;
        let mut before = match self.simulator.simulate(&source.test, &self.sides[0], &options) {
            Ok(outcomes) => outcomes,
            Err(diag) => return Ok(Says::NotJudged(diag.message.to_string())),
        };
        let is_code = [&subjects.source, &subjects.target].map(|s| s.machine.is_some());
        if is_code[0] {
            // Machine code has no races, whatever its model flags.
            before.flags.clear();
        }
        if before.undefined || undefined(&before) {
            return Ok(Says::Excused);
        }
        if before.states.is_empty() {
            return Ok(Says::Endless);
        }
        let mut with_undef = None;
        if !before.flags.is_empty() {
            // A race. In LLVM it gives undef to reads; otherwise it has no meaning.
            with_undef = self.source_with_undef(subjects, case, &source)?;
            if with_undef.is_none() {
                return Ok(Says::Excused);
            }
        }
        let target = owns.test(&subjects.target, 1, case)?;
        let mut after = match self.simulator.simulate(&target.test, &self.sides[1], &options) {
            Ok(outcomes) => outcomes,
            Err(diag) => return Ok(Says::NotJudged(diag.message.to_string())),
        };
        if is_code[1] {
            after.flags.clear();
        }
        if after.cut {
            report.turns = Some(options.unroll);
        }
        if after.states.is_empty() {
            let why = "the second function does not end within the bound on loops";
            return Ok(Says::NotJudged(why.into()));
        }
        // Most contexts end here: the outcomes are the same, and nothing is in a race.
        let races = !(before.flags.is_empty() && after.flags.is_empty());
        let same = is_code == [false; 2] && before.states == after.states;
        if !races && !after.undefined && same {
            return Ok(Says::Allows(before.into()));
        }
        if after.undefined {
            let why =
                self.simulator.undefined(&target.test, &self.sides[1], &options).ok().flatten();
            return Ok(Says::Refuted(Evidence::Undefined(why.map(Box::new))));
        }
        let mut allowed = Allowed::of(source.states(&before));
        with_undef.iter().for_each(|more| allowed.add(source.states(more)));
        let found = target.states(&after);
        let new_one = |allowed: &Allowed| found.iter().find(|s| !allowed.has(s));
        let mut new = new_one(&allowed);
        if new.is_some() && before.cut {
            let Ok(more) = self.simulator.simulate(&source.test, &self.sides[0], &longer(options))
            else {
                let why = "the first function has too many turns of loops";
                return Ok(Says::NotJudged(why.into()));
            };
            allowed.add(source.states(&more));
            new = new_one(&allowed);
            if new.is_some() && more.cut && more.states != before.states {
                let why = "the outcome may need more turns of a loop of the first function";
                return Ok(Says::NotJudged(why.into()));
            }
        }
        if let Some(state) = new {
            return Ok(match subjects.open.0 {
                // The first function may have more outcomes than were found.
                true => Says::NotJudged(
                    "the first function has a value that is undef or poison, which may be anything"
                        .into(),
                ),
                false => Says::Refuted(self.evidence(&source, &target, state.clone(), None)),
            });
        }
        match (&self.undef, after.flags.is_empty()) {
            (Some(_), false) => self.target_with_undef(subjects, case, &source, &target, &allowed),
            _ if !races && !before.cut => Ok(Says::Allows(before.into())),
            _ => Ok(Says::Nothing),
        }
    }

    /// The outcomes of the first function in which reads in a race give undef. `None` if a race excuses everything:
    /// if undef goes into what the function computes, or into what memory holds at the end.
    fn source_with_undef(
        &mut self,
        subjects: &Subjects,
        case: &Case,
        source: &Written,
    ) -> Result<Option<Outcomes>, Obstacle> {
        let Some(model) = &self.undef else { return Ok(None) };
        if subjects.odd || subjects.is_c {
            return Ok(None);
        }
        let test = program::with_undef(&source.test, case.setting, case.context, UNDEF);
        let options = self.options();
        let Ok(found) = self.simulator.simulate(&test, model, &options) else { return Ok(None) };
        let has = |flag: &str| found.flags.iter().any(|f| f == flag);
        if has(UNDEF_IS_LEFT) || has(UNDEF_IS_READ) && !subjects.moves {
            return Ok(None);
        }
        if found.cut {
            let more = self.simulator.simulate(&test, model, &longer(options));
            return Ok(more.ok().filter(|more| more.states == found.states));
        }
        Ok(Some(found))
    }

    /// The same where a read in a race of the second function gives undef.
    fn target_with_undef(
        &mut self,
        subjects: &Subjects,
        case: &Case,
        source: &Written,
        target: &Written,
        allowed: &Allowed,
    ) -> Result<Says, Obstacle> {
        if subjects.odd {
            return Ok(Says::NotJudged("a race beside an unordered volatile access".into()));
        }
        let test = program::with_undef(&target.test, case.setting, case.context, UNDEF);
        let test = Written { test, names: target.names.clone() };
        let Some(model) = &self.undef else { return Ok(Says::Nothing) };
        let options = self.options();
        let found = match self.simulator.simulate(&test.test, model, &options) {
            Ok(outcomes) => outcomes,
            Err(diag) => return Ok(Says::NotJudged(diag.message.to_string())),
        };
        let new = test.states(&found).into_iter().find(|s| !allowed.has(s));
        Ok(match new {
            None => Says::Nothing,
            Some(_) if subjects.open.0 => {
                Says::NotJudged("a race, and undef or poison in the first function".into())
            }
            Some(state) => Says::Refuted(self.evidence(source, &test, state, Some(UNDEF))),
        })
    }

    /// Executions that show why an outcome is wrong.
    fn evidence(
        &mut self,
        source: &Written,
        target: &Written,
        state: State,
        undef: Option<u64>,
    ) -> Evidence {
        let options = self.options();
        let of = |written: &Written| {
            condition(&state, &written.names).map(|prop| {
                let mut test = written.test.clone();
                test.condition.prop = prop;
                test
            })
        };
        let mut look = |test: Option<Test>, model: &Model, allowed: bool| {
            let answer = self.simulator.witness(&test?, model, &options, 1).ok()?;
            (answer.allowed == allowed).then(|| answer.executions.into_iter().next()).flatten()
        };
        let forbidden = match undef {
            None => look(of(source), &self.sides[0], false),
            Some(_) => None,
        };
        let model = if undef.is_some() { self.undef.as_ref() } else { None };
        let shown = look(of(target), model.unwrap_or(&self.sides[1]), true);
        let [forbidden, shown] = [forbidden, shown].map(|one| one.map(Box::new));
        Evidence::Outcome { state, undef, forbidden, shown }
    }

    fn refuted(
        &mut self,
        subjects: &Subjects,
        case: &Case,
        owns: &mut Owns,
        evidence: Evidence,
    ) -> Result<Answer, Obstacle> {
        if let Some(variable) = &subjects.private {
            let words = format!(
                "the variable {variable} is the module's own, and a pass may know all accesses to it"
            );
            return Err(Obstacle::NotUnderstood(words));
        }
        Ok(Answer::Refuted(Box::new(Refutation {
            arguments: case.setting.arguments(&subjects.source.signature.params),
            setting: case.setting.clone(),
            context: case.context.clone(),
            source: owns.test(&subjects.source, 0, case)?.test,
            target: owns.test(&subjects.target, 1, case)?.test,
            evidence,
        })))
    }
}

/// Loads a model for an instruction set.
fn load(arch: Arch, name: &str, files: &dyn Files) -> Maybe<Model> {
    Model::load(&load_with(name, &LoadOptions::new(arch), files)?)
}

/// The options with which loops turn more often.
fn longer(options: Options) -> Options {
    Options { unroll: MORE_TURNS * options.unroll, ..options }
}

/// The outcomes of the first function. Where one shows undef, any value is allowed.
struct Allowed {
    states: FxHashSet<State>,
    /// Those with undef.
    open: Vec<State>,
    /// Those with the address of a stack slot, as `without_slots` has them.
    slots: FxHashSet<State>,
}

impl Allowed {
    fn of(states: Vec<State>) -> Allowed {
        let states: FxHashSet<State> = states.into_iter().collect();
        let slots = states.iter().filter_map(without_slots).collect();
        Allowed { states, open: Vec::new(), slots }
    }

    fn add(&mut self, states: Vec<State>) {
        for state in states {
            if state.iter().any(|(_, value)| is_undef(value)) {
                self.open.push(state.clone());
            }
            self.slots.extend(without_slots(&state));
            self.states.insert(state);
        }
    }

    fn has(&self, state: &State) -> bool {
        let fits =
            |open: &State| open.iter().zip(state).all(|((_, a), (_, b))| a == b || is_undef(a));
        self.states.contains(state)
            || self.open.iter().any(fits)
            || without_slots(state).is_some_and(|state| self.slots.contains(&state))
    }
}

/// The state with one word for the address of any stack slot, if it has one: which slots there are, and where, is not
/// compared.
fn without_slots(state: &State) -> Option<State> {
    let is_slot = |part: &str| part.starts_with("stack_");
    let parts = |value: &str| value.trim_matches(['{', '}']).split(',').map(String::from).collect();
    let mut found = false;
    let mut out = state.clone();
    for (_, value) in &mut out {
        let mut list: Vec<String> = parts(value);
        for part in list.iter_mut().filter(|part| is_slot(part)) {
            *part = "stack".into();
            found = true;
        }
        *value = list.join(",").into();
    }
    found.then_some(out)
}

/// Whether undef is a part of a value that a state shows. Where the upper byte comes first, its own is the last one.
fn is_undef(value: &str) -> bool {
    let words = [0, 8, 24, 56].map(|shift| (UNDEF << shift).to_string());
    value.trim_matches(['{', '}']).split(',').any(|part| words.iter().any(|word| part == word))
}

/// A context in a setting.
#[derive(Clone, Copy)]
struct Case<'a> {
    setting: &'a Setting,
    /// The number of the setting.
    number: usize,
    context: &'a Context,
    /// What the locations hold at first.
    initial: u64,
}

/// A test, and what the places that it shows are called in the outcomes that are compared. Of intermediate code they have
/// their own names.
struct Written {
    test: Test,
    names: Vec<Name>,
}

impl Written {
    /// The states of the test, as they are compared.
    fn states(&self, outcomes: &Outcomes) -> Vec<State> {
        machine::states(outcomes, &self.names)
    }
}

/// A function's own thread.
enum Thread {
    Code(machine::Own),
    Intermediate(Own),
}

/// The functions' own threads, which many contexts share.
#[derive(Default)]
struct Owns(FxHashMap<(usize, usize), FxHashMap<Around, Thread>>);

impl Owns {
    fn test(&mut self, subject: &Subject, side: usize, case: &Case) -> Result<Written, Obstacle> {
        let Case { setting, context, initial, .. } = case;
        let known = self.0.entry((side, case.number)).or_default();
        let around = &context.around;
        if !known.contains_key(around) {
            known.insert(around.clone(), thread(subject, side, setting, around)?);
        }
        let test = match (&known[around], &subject.machine) {
            (Thread::Code(own), Some(code)) => {
                let (test, names) = machine::test(code, subject, setting, context, own, *initial)?;
                return Ok(Written { test, names });
            }
            (Thread::Intermediate(own), _) => {
                program::test(subject, setting, context, own, *initial)
            }
            (Thread::Code(_), None) => return Err("machine code is missing".to_string().into()),
        };
        Ok(Written { test, names: Vec::new() })
    }
}

/// A function's own thread in a setting.
fn thread(
    subject: &Subject,
    side: usize,
    setting: &Setting,
    around: &Around,
) -> Result<Thread, Obstacle> {
    Ok(match (&subject.machine, &setting.lifted[side]) {
        (Some(code), Some(lifted)) => {
            Thread::Code(machine::own(code, subject, lifted, setting, around)?)
        }
        _ => Thread::Intermediate(program::own(subject, setting, around)?),
    })
}

/// Whether both functions are the same code.
fn same_code(subjects: &Subjects, settings: &[Setting]) -> Result<bool, Obstacle> {
    for setting in settings {
        let around = Around::default();
        let source = thread(&subjects.source, 0, setting, &around)?;
        let target = thread(&subjects.target, 1, setting, &around)?;
        let texts = |lines: &[Line]| -> Vec<(Vec<String>, String)> {
            lines.iter().map(|l| (l.labels.clone(), l.text.clone())).collect()
        };
        let same = match (&source, &target) {
            (Thread::Intermediate(a), Thread::Intermediate(b)) => {
                texts(&a.lines) == texts(&b.lines)
            }
            (Thread::Code(a), Thread::Code(b)) => {
                texts(&a.lines) == texts(&b.lines) && a.init == b.init && same_set(subjects)
            }
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether both functions are of one instruction set.
fn same_set(subjects: &Subjects) -> bool {
    let arch = |s: &Subject| s.machine.as_ref().map(|code| code.lifts.arch());
    arch(&subjects.source) == arch(&subjects.target)
}

/// What contexts look at in a setting.
fn told<'a>(subjects: &'a Subjects, setting: &'a Setting, is_llvm: bool) -> Told<'a> {
    let calls = || [&subjects.source, &subjects.target].into_iter().flat_map(|s| &s.observed.calls);
    Told {
        spots: &setting.spots,
        compared: &subjects.compared[..subjects.compared.len().min(2)],
        fresh: &subjects.fresh,
        fences: subjects.fences,
        orders: subjects.orders && !subjects.translates,
        reads_within: calls().any(|c| c.effect == Effect::Reads),
        acts_within: calls().any(|c| c.synchronises),
        plain: !is_llvm,
        updates: subjects.updates,
    }
}

/// Whether an outcome says that a place with undefined behaviour was reached.
fn undefined(outcomes: &Outcomes) -> bool {
    outcomes.states.rows().any(|mut row| {
        row.any(|(label, value)| label.trim_matches(['[', ']']) == UNDEFINED && value != "0")
    })
}

/// The proposition that holds in one state alone, of which places have these names.
fn condition(state: &State, names: &[Name]) -> Option<Prop> {
    let one = |(label, value): &(compact_str::CompactString, compact_str::CompactString)| {
        let bare = litmake_litmus::bare(label);
        let named = names.iter().find(|n| n.name == bare).map(|n| n.place.clone());
        let place = match bare.split_once(':') {
            _ if named.is_some() => named?,
            Some((thread, name)) => {
                Place::Reg { thread: thread.parse().ok()?, name: name.to_string() }
            }
            None => Place::Mem { name: bare.to_string(), index: None },
        };
        let operand = match value.strip_prefix('{') {
            Some(list) => {
                let list = list.trim_end_matches('}').split(',');
                Operand::Array(list.map(program::value).collect::<Option<_>>()?)
            }
            None => Operand::Value(program::value(value)?),
        };
        Some(Prop::Cmp(place, CmpOp::Eq, operand))
    };
    state.iter().map(one).collect::<Option<Vec<_>>>().map(litmake_litmus::and)
}
