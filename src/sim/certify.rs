//! Writes what a certificate is about: the paths of a test's threads and the model, as plain lines that need
//! no simulator, and the outcomes that a certificate has to agree with. `litmake-certificate` describes how
//! they are read.
//!
//! Nothing is left out that only a search may leave out: paths that need values which nothing writes, symmetric
//! executions, the order of writes that commute. It does not know how a certificate is proved.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::expr::{Expr, ExprId, Exprs};
use super::path::{Kind, Path};
use super::program::{ObservedPlace, Program};
use super::results::Results;
use super::skeleton::{Cells, Skeleton, Source, initial_value};
use super::{Model, Options, Simulator, all_cut, cells_of, domain, unfold_all};
use litmake_base::diag::{Diag, Result};
use litmake_base::failure::FailureKind;
use litmake_base::rel::{Rel, Set};
use litmake_cat::plan::{BaseRel, BaseSet, Check, CheckKind, Node, NodeId, Plan, Shape};
use litmake_lang::compiled::locals;
use litmake_litmus::Test;
use litmake_ops::{UnOp, Val, tag};

/// A certificate of more combinations of paths would be too long.
const MOST_COMBINATIONS: usize = 4096;

/// The trusted part of a certificate: a test and a model, with the outcomes that the search found.
pub struct Problem {
    /// The lines of that part.
    pub lines: String,
    /// The outcomes that the search found, as values of the observed places, whatever the test's `filter`.
    pub outcomes: Vec<Vec<String>>,
    /// Some allowed execution has undefined behaviour.
    pub undefined: bool,
}

impl Simulator {
    /// Writes the trusted part of a certificate of a test.
    pub fn problem(&mut self, test: &Test, model: &Model, options: &Options) -> Result<Problem> {
        let refused = |what: &str| {
            let message = format!("{}: there is no certificate: {what}", test.name);
            Diag::new(message).kind(FailureKind::Unsupported)
        };
        let mut program = self.program(test, model, options)?;
        program.filter = None;
        let program = &program;
        let Some(fast) = &model.fast else {
            return Err(refused("the model is no fixed list of steps, it is interpreted"));
        };
        let needed = needed(&fast.plan);
        let compares = |n: &Node| matches!(n, Node::BaseRel(BaseRel::Differ | BaseRel::MayDiffer));
        if fast.plan.nodes.iter().zip(&needed).any(|(n, needed)| *needed && compares(n)) {
            return Err(refused("the model compares values"));
        }
        let mut results = Results::new(options.memory);
        let deadline = options.timeout.map(|t| std::time::Instant::now() + t);
        let cut =
            self.search(test, program, model, options, deadline, &mut results, &mut Vec::new())?;
        if cut && results.outcomes.is_empty() {
            return Err(all_cut(test, options));
        }
        if let Some(error) = &results.error {
            return Err(Diag::new(format!("{}: {error}", test.name)));
        }
        let undef = |f: &usize| fast.plan.checks[*f].kind == CheckKind::UndefinedUnless;
        let undefined = results.undefined.is_some() || results.flags.iter().any(undef);
        let visible = model.visible(program.arch);
        let exprs = &mut self.exprs;
        let (mut paths, _) = unfold_all(exprs, test, program, options, deadline, model, visible)?;
        domain::settle(program, exprs, &mut paths);
        let paths: Vec<Vec<&Path>> = paths.iter().map(|ps| ps.iter().collect()).collect();
        if paths
            .iter()
            .map(Vec::len)
            .try_fold(1, usize::checked_mul)
            .is_none_or(|n| n > MOST_COMBINATIONS)
        {
            let most =
                format!("the threads have more than {MOST_COMBINATIONS} combinations of paths");
            return Err(refused(&most));
        }
        let cells = cells_of(test, program, &paths)?;
        let mut lines = Lines {
            program,
            names: locals(test),
            model,
            plan: &fast.plan,
            base_sets: base_sets(&fast.plan),
            cells: &cells,
            exprs,
            numbers: FxHashMap::default(),
            values: 0,
            steps: Steps::default(),
            out: String::new(),
        };
        let _ = writeln!(lines.out, "test {}\nmodel {}", test.name, model.name);
        if cut {
            lines.out.push_str("bounded\n");
        }
        lines.places();
        let whole = lines.threads(&paths);
        lines.model(whole);
        let lines = lines.out;
        let words = |o: super::results::Outcome| o.iter().map(|v| word(*v)).collect();
        Ok(Problem { lines, outcomes: results.outcomes.iter().map(words).collect(), undefined })
    }
}

/// The text of a value.
fn word(v: Val) -> String {
    match v {
        Val::Int(n) => n.to_string(),
        Val::Ptr { loc, off } => format!("@{loc}{off:+}"),
        Val::Code(at) => format!("#{at}"),
    }
}

struct Lines<'l> {
    program: &'l Program,
    /// The names of the locals of a test's source, by the locations that hold them.
    names: BTreeMap<String, String>,
    model: &'l Model,
    plan: &'l Plan,
    /// The sets that the model begins with, with a name for each.
    base_sets: Vec<(BaseSet, String)>,
    cells: &'l Cells,
    exprs: &'l Exprs,
    /// The numbers of expressions that are written.
    numbers: FxHashMap<ExprId, usize>,
    /// How many expressions are written.
    values: usize,
    steps: Steps,
    out: String,
}

/// The steps that are written, each once.
#[derive(Default)]
struct Steps {
    lines: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

impl Steps {
    fn add(&mut self, line: String) -> usize {
        let next = self.lines.len();
        *self.numbers.entry(line.clone()).or_insert_with(|| {
            self.lines.push(line);
            next
        })
    }

    fn base(&mut self, name: &str) -> usize {
        self.add(format!("base {name}"))
    }

    fn two(&mut self, op: &str, a: usize, b: usize) -> usize {
        self.add(format!("{op} {a} {b}"))
    }
}

impl Lines<'_> {
    fn line(&mut self, line: std::fmt::Arguments) {
        let _ = self.out.write_fmt(line);
        self.out.push('\n');
    }

    /// Locations, cells and observed places.
    fn places(&mut self) {
        let program = self.program;
        for location in &program.locations {
            self.line(format_args!("location {}", location.name));
        }
        // Initial writes are the same in all combinations.
        let none = Skeleton::new(program, self.cells, Vec::new(), true);
        let sets = self.sets(&none, 0..self.cells.places.len());
        for (at, place) in self.cells.places.iter().enumerate() {
            let location = &program.locations[usize::from(place.loc)];
            let value = word(initial_value(location, place.off, place.size));
            self.line(format_args!("cell {} {value}{}", place.size.saturating_mul(8), sets[at]));
        }
        for o in &program.observed {
            let place = match o.place {
                ObservedPlace::Reg { thread, .. } => format!("register {thread}"),
                ObservedPlace::Mem { loc, off, size } => {
                    let initial = initial_value(&program.locations[usize::from(loc)], off, size);
                    let cells = Skeleton::observed_cells(self.cells, o.place);
                    let mut text = format!("memory {} {}", word(initial), cells.len());
                    cells.iter().for_each(|(cell, at)| text += &format!(" {cell} {at}"));
                    text
                }
            };
            let bare = litmake_litmus::bare(&o.label);
            let name = self.names.get(bare).map_or(bare, String::as_str).to_string();
            let signed = u8::from(o.signed);
            self.line(format_args!("observe {} {signed} {place} {name}", o.bits));
        }
    }

    /// The sets of the model that each of some events is in.
    fn sets(&self, skeleton: &Skeleton, events: Range<usize>) -> Vec<String> {
        let mut texts = vec![String::new(); events.len()];
        let mut set = Set::empty(skeleton.len());
        for (base, name) in &self.base_sets {
            skeleton.set(*base, &mut set);
            for (text, event) in texts.iter_mut().zip(events.clone()) {
                if set.contains(event) {
                    *text += &format!(" {name}");
                }
            }
        }
        texts
    }

    fn set_name(&self, base: BaseSet) -> String {
        let named = self.base_sets.iter().find(|(b, _)| *b == base);
        named.map_or(String::new(), |(_, name)| name.clone())
    }

    /// The paths of the threads; says whether some aligned access has several parts.
    fn threads(&mut self, paths: &[Vec<&Path>]) -> bool {
        let mut whole = false;
        for (thread, own) in paths.iter().enumerate() {
            self.out.push_str("thread\n");
            for (n, path) in own.iter().enumerate() {
                let picked = paths.iter().enumerate();
                let picked = picked.filter_map(|(t, ps)| ps.get(if t == thread { n } else { 0 }));
                let skeleton =
                    Skeleton::new(self.program, self.cells, picked.copied().collect(), true);
                whole |= self.path(&skeleton, thread, path);
            }
        }
        let mut levels: Vec<BaseRel> = Vec::new();
        for node in &self.plan.nodes {
            if let Node::BaseRel(base @ BaseRel::SameLevel(level)) = node
                && !levels.contains(base)
            {
                levels.push(*base);
                let count = 0..paths.len();
                let pairs = count.clone().flat_map(|a| count.clone().map(move |b| (a, b)));
                let share = |(a, b): &(usize, usize)| self.program.scopes.share(*level, *a, *b);
                let text: String = pairs.filter(share).map(|(a, b)| format!(" {a}>{b}")).collect();
                self.line(format_args!("across {}{text}", relation_name(*base)));
            }
        }
        whole
    }

    fn path(&mut self, skeleton: &Skeleton, thread: usize, path: &Path) -> bool {
        let range = skeleton.thread_events(thread);
        // Values are written before what uses them.
        let mut lines = String::new();
        let sets = self.sets(skeleton, range.clone());
        lines += if path.error.is_some() { "path error\n" } else { "path\n" };
        for at in range.clone() {
            let event = &skeleton.events[at];
            lines += &format!("event {} {}", event.instance, event.index);
            if let Some(cell) = event.cell {
                lines += &format!(" at {cell}");
            }
            if let Some(read) = skeleton.reads.iter().find(|r| usize::from(r.event) == at) {
                lines += &format!(" reads {} {}", read.var.access, read.shift);
            }
            lines += match (event.kind, event.tags) {
                (Kind::LockRead, tags) if tags.meets(tag::C_RU) => " looks 0",
                (Kind::LockRead, _) => " looks 1",
                (Kind::LockWrite, _) => " locks 1",
                (_, tags) if tags.meets(tag::C_UL) => " locks 0",
                _ => "",
            };
            if let Source::Part { value, shift, bits, whole } = event.value {
                let value = self.value(value);
                lines += &format!(" writes {value} {shift} {bits} {}", u8::from(whole));
            }
            lines += &format!(" in{}\n", sets[at - range.start]);
        }
        let mut rel = Rel::empty(skeleton.len());
        let mut done: Vec<BaseRel> = Vec::new();
        let local = |rel: &Rel, name: &str| {
            let inside = |(a, b): &(usize, usize)| range.contains(a) && range.contains(b);
            let pair = |(a, b)| format!(" {}>{}", a - range.start, b - range.start);
            let pairs: String = rel.iter().filter(inside).map(pair).collect();
            if pairs.is_empty() { pairs } else { format!("relation {name}{pairs}\n") }
        };
        for node in &self.plan.nodes {
            let Node::BaseRel(base) = *node else { continue };
            let given = matches!(
                base,
                BaseRel::Rf | BaseRel::Co | BaseRel::Id | BaseRel::Ext | BaseRel::SameLevel(_)
            );
            if !given && !done.contains(&base) {
                done.push(base);
                skeleton.rel(base, &mut rel);
                lines += &local(&rel, &relation_name(base));
            }
        }
        if done.contains(&BaseRel::SameBarrier) {
            for (at, meeting) in range.clone().filter_map(|at| Some((at, skeleton.meeting(at)?))) {
                let name = relation_name(BaseRel::SameBarrier);
                let (tags, number) = meeting;
                lines += &format!("meets {name} {} {number} {tags:?}\n", at - range.start);
            }
        }
        let whole = self.model.parts(self.program.arch, skeleton);
        if let Some(parts) = &whole {
            lines += &local(parts, "whole");
        }
        for (value, want) in &path.constraints {
            lines += &format!("require {} {}\n", self.value(*value), u8::from(*want));
        }
        for doubt in &path.doubts {
            lines += &format!("doubt {}\n", self.value(doubt.cond));
        }
        for (observed, value) in &path.finals {
            lines += &format!("final {observed} {}\n", self.value(*value));
        }
        self.out += &lines;
        whole.is_some()
    }

    /// Writes an expression, after those that it uses, and returns its number.
    fn value(&mut self, id: ExprId) -> usize {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let text = match self.exprs.get(id) {
            Expr::Assumed(of, _) => {
                let number = self.value(of);
                self.numbers.insert(id, number);
                return number;
            }
            Expr::Const(v) => format!("constant {}", word(v)),
            Expr::Var(v, _) => format!("read {} {}", v.thread, v.access),
            Expr::Un(op, a, width) => {
                let (op, from) = one_operand(op);
                format!("one {op} {width} {} {from}", self.value(a))
            }
            Expr::Bin(op, a, b, width) => {
                format!("two {op:?} {width} {} {}", self.value(a), self.value(b))
            }
        };
        let number = self.values;
        self.values += 1;
        self.line(format_args!("value {text}"));
        self.numbers.insert(id, number);
        number
    }

    /// The steps that the checks need, and the checks.
    fn model(&mut self, whole: bool) {
        let plan = self.plan;
        let checks: Vec<_> = plan.checks.iter().filter(|c| counts(c)).collect();
        let mut numbers: Vec<usize> = Vec::with_capacity(plan.nodes.len());
        let mut groups: Vec<u32> = Vec::new();
        for (node, needed) in plan.nodes.iter().zip(&needed(plan)) {
            numbers.push(if *needed { self.step(node, &numbers, &mut groups) } else { usize::MAX });
        }
        let mut lines = Vec::new();
        for check in checks {
            let kind = if check.kind == CheckKind::Require { "require" } else { "defined" };
            let shape = if plan.is_set[check.node as usize] { Shape::Empty } else { check.shape };
            let (is, step) =
                (if check.negated { "not" } else { "is" }, numbers[check.node as usize]);
            let shape = format!("{shape:?}").to_lowercase();
            lines.push(format!("check {kind} {is} {shape} {step} {} {}", check.name, check.place));
        }
        if whole {
            lines.push(self.whole());
        }
        for line in std::mem::take(&mut self.steps.lines) {
            self.line(format_args!("step {line}"));
        }
        for group in groups {
            let bodies = plan.groups[group as usize].bodies.iter();
            let text: String = bodies.map(|b| format!(" {}", numbers[*b as usize])).collect();
            self.line(format_args!("recursion{text}"));
        }
        for line in lines {
            self.line(format_args!("{line}"));
        }
    }

    /// That aligned accesses are observed as wholes, as [`super::whole`] has it.
    fn whole(&mut self) -> String {
        let steps = &mut self.steps;
        let (rf, co, id) = (steps.base("rf"), steps.base("co"), steps.base("id"));
        let back = steps.add(format!("inverse {rf}"));
        let fr = steps.two("then", back, co);
        let fr = steps.two("minus", fr, id);
        let all = steps.two("union", rf, co);
        let all = steps.two("union", all, fr);
        let whole = steps.base("whole");
        let parts = steps.two("union", whole, id);
        let round = steps.two("then", all, parts);
        format!("check require is acyclic {round} whole accesses")
    }

    /// Writes a step, and returns its number. A set is the identity on its members.
    fn step(&mut self, node: &Node, numbers: &[usize], groups: &mut Vec<u32>) -> usize {
        let of = |node: NodeId| numbers[node as usize];
        let mut group = |g: u32| {
            groups.iter().position(|known| *known == g).unwrap_or_else(|| {
                groups.push(g);
                groups.len() - 1
            })
        };
        let is_set = |node: NodeId| self.plan.is_set[node as usize];
        let name = match node {
            Node::BaseSet(base) => self.set_name(*base),
            Node::BaseRel(base) => relation_name(*base),
            _ => String::new(),
        };
        let steps = &mut self.steps;
        let (id, all) = (steps.base("id"), steps.base("all"));
        match *node {
            Node::BaseSet(BaseSet::Fw) => {
                let (writes, co) = (steps.base("W"), steps.base("co"));
                let before = steps.two("then", co, all);
                steps.two("minus", writes, before)
            }
            // Initial writes are accesses of one part.
            Node::BaseRel(BaseRel::SameAccess) => {
                let own = steps.base(&name);
                steps.two("union", own, id)
            }
            Node::BaseSet(_) | Node::BaseRel(_) => steps.base(&name),
            Node::EmptySet | Node::EmptyRel => steps.two("minus", id, id),
            Node::Union(a, b) => steps.two("union", of(a), of(b)),
            Node::Inter(a, b) => steps.two("inter", of(a), of(b)),
            Node::Diff(a, b) => steps.two("minus", of(a), of(b)),
            Node::Complement(a) => steps.two("minus", if is_set(a) { id } else { all }, of(a)),
            Node::Seq(a, b) | Node::RestrictDomain(b, a) | Node::RestrictRange(a, b) => {
                steps.two("then", of(a), of(b))
            }
            Node::Inverse(a) => steps.add(format!("inverse {}", of(a))),
            Node::Plus(a) => steps.add(format!("plus {}", of(a))),
            Node::Cross(a, b) => {
                let from = steps.two("then", of(a), all);
                steps.two("then", from, of(b))
            }
            Node::IdentityOn(a) => of(a),
            Node::Domain(a) => {
                let from = steps.two("then", of(a), all);
                steps.two("inter", from, id)
            }
            Node::Range(a) => {
                let to = steps.two("then", all, of(a));
                steps.two("inter", to, id)
            }
            Node::FixVar(g, n) => steps.add(format!("var {} {n}", group(g))),
            Node::Fix(g, n) => steps.add(format!("fix {} {n}", group(g))),
        }
    }
}

/// The name of an operation on one value, and the width of that value where it has one of its own.
pub fn one_operand(op: UnOp) -> (String, u8) {
    match op {
        UnOp::ZeroExt { from } => ("ZeroExt".to_string(), from),
        UnOp::SignExt { from } => ("SignExt".to_string(), from),
        UnOp::FloatResize { from } => ("FloatResize".to_string(), from),
        UnOp::FloatFromInt { from, signed: true } => ("FloatFromS".to_string(), from),
        UnOp::FloatFromInt { from, signed: false } => ("FloatFromU".to_string(), from),
        UnOp::FloatToInt { from, signed: true } => ("FloatToS".to_string(), from),
        UnOp::FloatToInt { from, signed: false } => ("FloatToU".to_string(), from),
        other => (format!("{other:?}"), 0),
    }
}

/// Whether a certificate is about a check. Flags that are only reported are not its matter.
fn counts(check: &Check) -> bool {
    matches!(check.kind, CheckKind::Require | CheckKind::UndefinedUnless)
}

/// Which nodes of a plan these checks need.
fn needed(plan: &Plan) -> Vec<bool> {
    let mut needed = vec![false; plan.nodes.len()];
    let checks = plan.checks.iter().filter(|c| counts(c));
    let mut todo: Vec<NodeId> = checks.map(|c| c.node).collect();
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut needed[node as usize], true) {
            todo.extend(plan.nodes[node as usize].operands());
            if let Node::Fix(g, _) = plan.nodes[node as usize] {
                todo.extend(&plan.groups[g as usize].bodies);
            }
        }
    }
    needed
}

/// The sets that a model begins with, with a name for each.
fn base_sets(plan: &Plan) -> Vec<(BaseSet, String)> {
    let mut all: Vec<(BaseSet, String)> = vec![(BaseSet::W, "W".to_string())];
    for node in &plan.nodes {
        if let Node::BaseSet(base) = node
            && !all.iter().any(|(b, _)| b == base)
        {
            let mut name = match base {
                BaseSet::Tags(tags) => format!("tag:{}", plan.tag_names(*tags)),
                other => format!("{other:?}"),
            };
            while all.iter().any(|(_, n)| *n == name) {
                name.push('\'');
            }
            all.push((*base, name));
        }
    }
    all
}

/// How a relation is called that the execution gives.
fn relation_name(base: BaseRel) -> String {
    match base {
        BaseRel::Rf => "rf".to_string(),
        BaseRel::Co => "co".to_string(),
        BaseRel::Id => "id".to_string(),
        BaseRel::Loc => "loc".to_string(),
        BaseRel::Ext => "ext".to_string(),
        BaseRel::SameLevel(level) => format!("same-{}", level.name()),
        other => format!("{other:?}"),
    }
}
