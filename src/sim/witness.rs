//! Finds executions that show an outcome: one that the model allows, or those that it forbids, with
//! the reason.
//!
//! It uses the search, with the outcome as a filter. It draws and prints nothing.

use smallvec::SmallVec;
use std::time::Instant;

use super::combine::each_choice;
use super::eval::{Choices, CompiledJudge};
use super::exhaustive::Exhaustive;
use super::explain::failures;
use super::expr::Var;
use super::interpreted::{Interpreted, choose, skeleton_exec};
use super::path::{Kind, Path};
use super::program::{Cond, Program};
use super::results::{Results, holds};
use super::search::{Judge, Look, Search};
use super::skeleton::{Cells, Skeleton};
use super::valuation::written;
use super::{Empty, Model, Options, Simulator, cells_of, stopped, unfold_all};
use litmake_base::diag::{Diag, Result, Source};
use litmake_base::rel::Rel;
use litmake_base::watch;
use litmake_cat::exec::Exec;
use litmake_cat::plan::{BaseRel, CheckKind};
use litmake_litmus::execution::{Event, Execution, Failure, Pairs};
use litmake_litmus::{Test, read};
use litmake_ops::{Annotations, TAG_TABLE};

/// At most so many executions are looked at for one answer.
const MOST: u64 = 5_000;

/// The flag by which the kernel's model reports a data race.
const RACE: &str = "data-race";

/// The answer to a question about an outcome.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether some allowed execution shows the outcome.
    pub allowed: bool,
    /// How many executions that show the outcome were looked at.
    pub looked_at: u64,
    /// Whether there are more such executions.
    pub more: bool,
    /// The executions. If the outcome is forbidden, those that fail the fewest checks, by the shortest
    /// cycles, come first.
    pub executions: Vec<Execution>,
}

/// The test with another condition: a state such as `1:X0=1; [x]=2`, or any proposition.
pub fn with_state(test: &Test, state: &str) -> Result<Test> {
    let state = state.trim().trim_end_matches(';').replace(';', " /\\ ");
    let before = test.source.text.get(..test.condition.span.start as usize).unwrap_or("");
    let text = format!("{before}exists ({state})\n");
    read(&Source::new(test.source.name.clone(), text)).map_err(|e| {
        Diag::new(format!("the state cannot be read: {}", e.message))
            .help("write a state as `0:X1=1; [x]=2`, or a proposition as a test's condition has")
    })
}

impl Simulator {
    /// At most `limit` executions that satisfy the test's proposition, whatever its quantifier.
    pub fn witness(
        &mut self,
        test: &Test,
        model: &Model,
        options: &Options,
        limit: usize,
    ) -> Result<Answer> {
        self.look(test, model, options, limit, CheckKind::Require)
    }

    /// An allowed execution that makes the test's behaviour undefined under the model, with the check
    /// that says so. `None` if there is none among those that are looked at.
    pub fn undefined(
        &mut self,
        test: &Test,
        model: &Model,
        options: &Options,
    ) -> Result<Option<Execution>> {
        // The kernel's model raises a flag instead.
        for why in [CheckKind::UndefinedUnless, CheckKind::Flag] {
            let answer = self.look(test, model, options, MOST as usize, why)?;
            if let Some(one) = answer.executions.into_iter().next() {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }

    /// Executions with the checks of this kind that they fail. Requirements are explained for the
    /// test's proposition; for other checks, any allowed execution counts that fails one.
    fn look(
        &mut self,
        test: &Test,
        model: &Model,
        options: &Options,
        limit: usize,
        why: CheckKind,
    ) -> Result<Answer> {
        let program = self.program(test, model, options)?;
        let condition = (why == CheckKind::Require).then(|| program.condition.clone());
        let wanted = Cond::And(condition.into_iter().chain(program.filter.clone()).collect());
        self.executions(test, &program, model, options, wanted, limit, why)
    }

    /// Why there is no outcome: what forbids the execution that fails the fewest checks.
    pub(crate) fn why_none(
        &mut self,
        test: &Test,
        program: &Program,
        model: &Model,
        options: &Options,
    ) -> Result<Empty> {
        let why = CheckKind::Require;
        let all = self.executions(test, program, model, options, Cond::Const(true), 1, why)?;
        let Some(nearest) = all.executions.first() else {
            return Err(Diag::new(format!("{}: no answer: the test has no execution", test.name))
                .help("an access may lead to no location, or a value may come from nowhere"));
        };
        Ok(match all.allowed {
            true => Empty::Filter,
            false => {
                let checks = nearest.failures.iter();
                Empty::Forbidden(checks.map(|f| (f.name.clone(), f.place.clone())).collect())
            }
        })
    }

    /// At most `limit` executions that satisfy a proposition: allowed ones, or, where there is none, others.
    #[expect(clippy::too_many_arguments, reason = "a search has this many parts")]
    fn executions(
        &mut self,
        test: &Test,
        program: &Program,
        model: &Model,
        options: &Options,
        wanted: Cond,
        limit: usize,
        why: CheckKind,
    ) -> Result<Answer> {
        let visible = model.visible(program.arch);
        let deadline = options.timeout.map(|t| Instant::now() + t);
        let _limit = watch::until(deadline);
        let (paths, _) =
            unfold_all(&mut self.exprs, test, program, options, deadline, model, visible)?;
        let annotations = model.cat.annotations();
        let domains =
            model.compares.then(|| super::domain::Domains::new(program, &self.exprs, &paths));
        let mut paths: Vec<Vec<&Path>> = super::domain::feasible(program, &self.exprs, &paths);
        for paths in &mut paths {
            paths.retain(|path| path.error.is_none());
        }
        let cells = cells_of(test, program, &paths)?;
        let explains = why == CheckKind::Require;
        let mut answer =
            Answer { allowed: false, looked_at: 0, more: false, executions: Vec::new() };
        for any in [false, true].into_iter().take(if explains { 2 } else { 1 }) {
            // First look for executions that the model allows; if there is none, for all.
            each_choice(&paths, &mut |picked| {
                let found = if explains { limit } else { 1 };
                if answer.more || !any && answer.executions.len() >= found {
                    return Ok(());
                }
                let mut skeleton = Skeleton::new(program, &cells, picked, visible.early);
                if let Some(domains) = &domains {
                    skeleton.compare_values(&self.exprs, domains);
                }
                let mut flags = Vec::new();
                let (mut compiled, mut interpreted);
                let inner: Option<&mut dyn Judge> = match &model.fast {
                    _ if any => None,
                    Some(fast) => {
                        compiled = CompiledJudge { model: &fast.steps, machine: &mut self.machine };
                        Some(&mut compiled)
                    }
                    None => {
                        interpreted = Interpreted::new(&model.cat, &mut flags);
                        Some(&mut interpreted)
                    }
                };
                let most = if any { MOST - answer.looked_at } else { limit as u64 };
                let mut judge = Keep { inner, most, seen: 0, kept: Vec::new() };
                let mut results = Results::new(options.memory);
                let mut search = Search::new(
                    program,
                    &cells,
                    &self.exprs,
                    &skeleton,
                    &mut judge,
                    &mut results,
                    deadline,
                );
                search.filter = Some(&wanted);
                let result = search.run();
                let full = judge.seen >= judge.most;
                if !full {
                    stopped(result, test, model, options, &results)?;
                }
                answer.more |= full && any;
                let annotations = &annotations;
                let view = View { program, cells: &cells, skeleton: &skeleton, test, annotations };
                for (rf, co) in judge.kept {
                    if !explains && !answer.executions.is_empty() {
                        break;
                    }
                    if let Some(mut one) =
                        view.execution(model, &self.exprs, &wanted, &rf, &co, why)?
                    {
                        answer.looked_at += 1;
                        one.failures.retain(|f| why != CheckKind::Flag || f.name == RACE);
                        if !explains && one.failures.is_empty() {
                            continue;
                        }
                        answer.executions.push(one);
                    }
                }
                if any {
                    best(&mut answer.executions, limit);
                } else {
                    answer.executions.truncate(limit);
                }
                Ok(())
            })?;
            if !answer.executions.is_empty() {
                answer.allowed = !any;
                break;
            }
        }
        Ok(answer)
    }
}

fn best(executions: &mut Vec<Execution>, limit: usize) {
    let length = |f: &Failure| f.chains.iter().map(Vec::len).sum::<usize>();
    executions.sort_by_key(|e| (e.failures.len(), e.failures.first().map_or(0, length)));
    executions.truncate(limit);
}

/// Keeps the executions that `inner` allows; without `inner`, all.
struct Keep<'j> {
    inner: Option<&'j mut dyn Judge>,
    most: u64,
    seen: u64,
    kept: Vec<(Rel, Rel)>,
}

impl Judge for Keep<'_> {
    fn bind(
        &mut self,
        skeleton: &Skeleton,
        choices: &Choices,
    ) -> std::result::Result<bool, String> {
        self.inner.as_mut().map_or(Ok(true), |j| j.bind(skeleton, choices))
    }

    fn may_allow(&mut self, choices: &Choices, look: Look) -> bool {
        self.inner.as_mut().is_none_or(|j| j.may_allow(choices, look))
    }

    fn judge(
        &mut self,
        choices: &Choices,
    ) -> std::result::Result<Option<SmallVec<[usize; 2]>>, String> {
        let verdict = match &mut self.inner {
            Some(j) => j.judge(choices)?,
            None => Some(SmallVec::new()),
        };
        if verdict.is_some() {
            if self.seen >= self.most {
                return Err("enough".to_string());
            }
            self.seen += 1;
            self.kept.push((choices.rf_lower.clone(), choices.co_lower.clone()));
        }
        Ok(verdict)
    }

    /// Further executions of an outcome are wanted, too.
    fn may_flag(&mut self, _: &Choices, _: &[usize]) -> bool {
        true
    }
}

struct View<'v> {
    program: &'v Program,
    cells: &'v Cells,
    skeleton: &'v Skeleton<'v>,
    test: &'v Test,
    /// The annotations that the model adds to those of the dialect.
    annotations: &'v Annotations,
}

impl View<'_> {
    fn execution(
        &self,
        model: &Model,
        exprs: &super::Exprs,
        wanted: &Cond,
        rf: &Rel,
        co: &Rel,
        why: CheckKind,
    ) -> Result<Option<Execution>> {
        let skeleton = self.skeleton;
        let all = Exhaustive {
            program: self.program,
            cells: self.cells,
            exprs,
            skeleton,
            deadline: None,
        };
        let source = |e: u16| (0..skeleton.len()).find(|w| rf.contains(*w, usize::from(e)));
        let sources: Vec<u16> =
            skeleton.reads.iter().map(|r| source(r.event).unwrap_or(0) as u16).collect();
        let mut orders = skeleton.writes.clone();
        for order in &mut orders {
            order.sort_by_key(|w| std::cmp::Reverse(co.successors(usize::from(*w)).count()));
        }
        let Some(values) = all.solve(&sources) else { return Ok(None) };
        let Some(outcome) = all.outcome(&values, &orders) else { return Ok(None) };
        if !holds(wanted, self.program, &outcome) {
            return Ok(None);
        }
        let mut exec = skeleton_exec(skeleton);
        choose(&mut exec, rf, co);
        let (failed, shows) = match &model.fast {
            Some(fast) => failures(&fast.plan, &exec, why)?,
            None => (interpreted(model, &exec, why)?, Vec::new()),
        };
        let lookup = |v: Var| values[usize::from(v.thread)][usize::from(v.access)];
        let value_of = |e: usize| {
            let event = &skeleton.events[e];
            let stored = || written(exprs, skeleton, e, &lookup);
            let read = || {
                let w = source(e as u16)?;
                written(exprs, skeleton, w, &lookup)
            };
            let bits =
                event.cell.map_or(64, |c| self.cells.places[usize::from(c)].size.saturating_mul(8));
            let show = |v: Option<_>| match v {
                Some(v) => super::show_value(self.program, v, bits, false).into_string(),
                None => "?".to_string(),
            };
            match event.kind {
                Kind::Read => show(read()),
                Kind::ReadWrite => format!("{}->{}", show(read()), show(stored())),
                // The model says what a lock holds.
                Kind::LockRead | Kind::LockWrite | Kind::Touch => String::new(),
                _ => show(stored()),
            }
        };
        let events = (0..skeleton.len()).map(|e| self.event(e, &value_of)).collect();
        let mut others = Vec::new();
        for (name, base) in [
            ("addr", BaseRel::Addr),
            ("data", BaseRel::Data),
            ("ctrl", BaseRel::Ctrl),
            ("amo", BaseRel::Amo),
            ("lxsx", BaseRel::LxSx),
        ] {
            others.push((name.to_string(), exec.rel(base).iter().collect::<Pairs>()));
        }
        for (name, rel) in shows {
            let known = ["po", "rf", "co", "fr", "rfe", "rfi", "coe", "coi", "fre", "fri"];
            if !known.contains(&name.as_str()) && !others.iter().any(|(n, _)| *n == name) {
                others.push((name, rel.iter().collect()));
            }
        }
        others.retain(|(_, pairs)| !pairs.is_empty());
        let values = self.program.shown.iter().flat_map(|s| &s.parts).map(|i| outcome[*i]);
        let state = super::state(self.program, values);
        Ok(Some(Execution {
            events,
            po: reduced(&exec.rel(BaseRel::Po)),
            rf: rf.iter().collect(),
            co: reduced(co),
            fr: reduced_from(rf, co),
            others,
            failures: failed,
            state,
        }))
    }

    fn event(&self, e: usize, value_of: &dyn Fn(usize) -> String) -> Event {
        let event = &self.skeleton.events[e];
        let kind = match event.kind {
            Kind::Read => "R",
            Kind::Write => "W",
            Kind::ReadWrite => "RW",
            Kind::LockRead | Kind::LockWrite | Kind::Touch => "L",
            Kind::Fence => "F",
            Kind::Branch | Kind::Decision => "B",
            Kind::RegRead => "Rreg",
            Kind::RegWrite => "Wreg",
        };
        let arch = self.test.arch.name();
        let tags = TAG_TABLE.iter().filter(|(t, _, archs)| {
            t.meets(event.tags) && (*archs == "*" || archs.split(' ').any(|a| a == arch))
        });
        let tags = tags.map(|(_, n, _)| *n).filter(|n| !matches!(*n, "AFTER" | "NoRet"));
        let tags: Vec<&str> = tags.chain(self.annotations.of(event.tags)).collect();
        let tags = if tags.is_empty() { String::new() } else { format!("({})", tags.join(",")) };
        let place = event.cell.map(|c| {
            let place = self.cells.places[usize::from(c)];
            let location = &self.program.locations[usize::from(place.loc)];
            match place.off {
                0 => format!("[{}]", location.name),
                off => format!("[{}+{off}]", location.name),
            }
        });
        let text = match place {
            Some(place) => match value_of(e) {
                value if value.is_empty() => format!("{kind}{tags}{place}"),
                value => format!("{kind}{tags}{place}={value}"),
            },
            None => format!("{kind}{tags}"),
        };
        let thread = event.thread.and_then(|t| self.program.threads.get(usize::from(t)));
        let inst = thread.and_then(|t| t.code.insts.get(usize::from(event.line)));
        let span = thread.and_then(|t| t.span(usize::from(event.line)));
        Event {
            thread: event.thread,
            text,
            instruction: inst.map_or(String::new(), |i| i.text.clone()),
            line: span.map_or(0, |s| self.test.source.line_col(s.start as usize).0),
        }
    }
}

fn interpreted(model: &Model, exec: &Exec, why: CheckKind) -> Result<Vec<Failure>> {
    let verdict = litmake_cat::interpret(&model.cat, exec)?;
    if why != CheckKind::Require {
        // The interpreter does not say which events a flag is about.
        let undefined = match why {
            CheckKind::Flag => verdict.flags.iter().any(|f| f == RACE),
            _ => verdict.undefined,
        };
        let flag = Failure { name: RACE.to_string(), ..Failure::default() };
        return Ok(undefined.then_some(flag).into_iter().collect());
    }
    Ok(verdict
        .failed
        .map(|f| Failure {
            name: f.name,
            place: f.place,
            chains: Vec::new(),
            events: f.events,
            is_cycle: false,
            negated: false,
        })
        .into_iter()
        .collect())
}

/// A transitive order without the pairs that follow from the others.
fn reduced(r: &Rel) -> Pairs {
    r.diff(&r.seq(r)).iter().collect()
}

/// From-reads to the next write only.
fn reduced_from(rf: &Rel, co: &Rel) -> Pairs {
    let next = co.diff(&co.seq(co));
    rf.inverse().seq(&next).iter().filter(|(a, b)| a != b).collect()
}

/// The answer as text, for people.
pub fn text(test: &Test, model: &Model, state: &str, answer: &Answer) -> String {
    use std::fmt::Write;
    let mut out = format!("Test {}, model {}: ", test.name, model.name);
    let Some(one) = answer.executions.first() else {
        let _ = writeln!(out, "no execution shows {state}, whatever the model.");
        return out;
    };
    if answer.allowed {
        let _ = writeln!(out, "{state} is allowed. An execution that shows it:");
    } else {
        let _ = writeln!(out, "{state} is forbidden.");
        let more = if answer.more { "the first " } else { "" };
        let plural = if answer.looked_at == 1 { "" } else { "s" };
        let _ = writeln!(
            out,
            "Looked at {more}{} execution{plural} that would show it; this one fails fewest checks:",
            answer.looked_at
        );
    }
    let letter = |e: usize| Execution::letter(e);
    let event = |e: usize| match one.events.get(e) {
        Some(event) => format!("{}: {}", letter(e), event.text),
        None => letter(e),
    };
    for (e, view) in one.events.iter().enumerate() {
        let at = match view.thread {
            None => "initially".to_string(),
            Some(t) => format!("P{t}, line {}: `{}`", view.line, view.instruction),
        };
        let _ = writeln!(out, "  {:<24} {at}", event(e));
    }
    for (name, pairs) in [("rf", &one.rf), ("co", &one.co)] {
        let pairs: Vec<String> =
            pairs.iter().map(|(a, b)| format!("{} -> {}", letter(*a), letter(*b))).collect();
        let _ = writeln!(
            out,
            "  {name}: {}",
            if pairs.is_empty() { "none".into() } else { pairs.join(", ") }
        );
    }
    let state: Vec<String> = one.state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    let _ = writeln!(out, "  final state: {}", state.join(" "));
    for f in &one.failures {
        let what = match (f.negated, f.is_cycle) {
            (true, _) => "asks for what is not there",
            (false, true) => "forbids this cycle",
            (false, false) => "forbids this",
        };
        let _ = writeln!(out, "The check `{}` ({}) {what}:", f.name, f.place);
        for chain in &f.chains {
            let Some(first) = chain.first() else { continue };
            let _ = writeln!(out, "  {}", event(first.from));
            for edge in chain {
                let _ = writeln!(out, "    -{}-> {}", edge.label, event(edge.to));
            }
        }
        if f.chains.is_empty() {
            for e in &f.events {
                let _ = writeln!(out, "  {}", event(*e));
            }
        }
    }
    out
}
