//! The meaning of the cat language, over any kind of sets and relations.
//!
//! One tree walk serves both staging, where sets and relations are nodes of a plan, and
//! interpretation, where they are those of one execution. It knows them only by the trait
//! [`Algebra`].

use super::algebra::{Algebra, EarlyEnd, Halt, Outcome, SetOrRel, Site};
use super::ast::*;
use super::load::{Model, variant_holds};
use super::names;
use super::prims::Prim;
use super::value::{Closure, Env, Procedure, Value, ValueOf, same, within};
use litmake_base::diag::{Diag, Span, nearest};
use litmake_base::watch;
use std::collections::HashMap;
use std::rc::Rc;

pub(super) struct Bound<'m, S, R> {
    pub(super) name: Name,
    pub(super) value: Value<'m, S, R>,
    pub(super) older: Env,
}

/// How deep calls and expressions may nest while a model runs.
const MAX_DEPTH: usize = 700;
/// How many expressions may be evaluated.
const MAX_STEPS: u64 = 500_000;

pub struct Eval<'m, A: Algebra> {
    pub alg: A,
    pub(super) model: &'m Model,
    pub(super) bound: Vec<Bound<'m, A::S, A::R>>,
    file: usize,
    depth: usize,
    steps: u64,
    /// For each tag, its enumeration.
    tag_types: HashMap<Name, Name>,
    enums: HashMap<Name, Vec<Name>>,
}

impl<'m, A: Algebra> Eval<'m, A> {
    pub fn new(model: &'m Model, alg: A) -> Self {
        Eval {
            alg,
            model,
            bound: Vec::new(),
            file: 0,
            depth: 0,
            steps: 0,
            tag_types: HashMap::new(),
            enums: HashMap::new(),
        }
    }

    /// Runs the library and the model.
    pub fn run_model(&mut self) -> Outcome<()> {
        let model = self.model;
        let mut env = 0;
        for &root in &model.roots {
            self.file = root;
            self.run(&model.files[root].ast.body, &mut env)?;
        }
        Ok(())
    }

    pub fn error<T>(&self, span: Span, message: impl Into<String>) -> Outcome<T> {
        let source = &self.model.files[self.file].source;
        Err(EarlyEnd::Error(Diag::at(source, span, message)))
    }

    pub(super) fn limit<T>(&self, span: Span, message: &str) -> Outcome<T> {
        let source = &self.model.files[self.file].source;
        Err(EarlyEnd::Limit(Diag::at(source, span, message)))
    }

    pub fn unstageable<T>(&self, span: Span, message: impl Into<String>) -> Outcome<T> {
        let source = &self.model.files[self.file].source;
        Err(EarlyEnd::Unstageable(Diag::at(source, span, message)))
    }

    pub(super) fn halt(&self, halt: Halt, span: Span) -> EarlyEnd {
        let source = &self.model.files[self.file].source;
        match halt {
            Halt::Failed(f) => EarlyEnd::Failed(f),
            Halt::Error(m) => EarlyEnd::Error(Diag::at(source, span, m)),
            Halt::Unstageable(m) => EarlyEnd::Unstageable(Diag::at(source, span, m)),
        }
    }

    pub(super) fn place(&self, name: String, span: Span) -> Site {
        let source = &self.model.files[self.file].source;
        let (line, _) = source.line_col(span.start as usize);
        Site { name, at: format!("{}:{line}", source.name) }
    }

    pub(super) fn bind(&mut self, env: Env, name: &Name, value: ValueOf<'m, A>) -> Env {
        self.bound.push(Bound { name: name.clone(), value, older: env });
        self.bound.len() as Env
    }

    pub(super) fn bind_var(&mut self, env: Env, var: &Var, value: ValueOf<'m, A>) -> Env {
        match var {
            Some(name) => self.bind(env, name, value),
            None => env,
        }
    }

    /// Binds the variables of a pattern to a value; `None` if they do not fit.
    pub(super) fn bind_pat(&mut self, env: Env, pat: &Pat, value: ValueOf<'m, A>) -> Option<Env> {
        if let [one] = pat.as_slice() {
            return Some(self.bind_var(env, one, value));
        }
        let parts: Vec<_> = match value {
            Value::Tuple(parts) => parts.to_vec(),
            Value::Pair(a, b) => vec![Value::Event(a), Value::Event(b)],
            other => vec![other],
        };
        if parts.len() != pat.len() {
            return None;
        }
        let pairs = pat.iter().zip(parts);
        Some(pairs.fold(env, |env, (v, part)| self.bind_var(env, v, part)))
    }

    pub(super) fn bound(&self, mut env: Env, name: &str) -> Option<&ValueOf<'m, A>> {
        while env != 0 {
            let b = &self.bound[env as usize - 1];
            if *b.name == *name {
                return Some(&b.value);
            }
            env = b.older;
        }
        None
    }

    /// The value of a name: one bound by the model, a base name, or a primitive.
    pub(super) fn lookup(&mut self, env: Env, name: &str, span: Span) -> Outcome<ValueOf<'m, A>> {
        if let Some(value) = self.bound(env, name) {
            return match value {
                Value::Broken(stop) => Err((**stop).clone()),
                value => Ok(value.clone()),
            };
        }
        if let Some(value) = self.base_named(name) {
            return Ok(value);
        }
        if let Some(prim) = Prim::named(name) {
            return Ok(Value::Prim(prim));
        }
        Err(EarlyEnd::Error(self.unknown(env, name, span)))
    }

    fn unknown(&self, mut env: Env, name: &str, span: Span) -> Box<Diag> {
        let source = &self.model.files[self.file].source;
        let arch = self.model.arch;
        if let Some(other) = names::elsewhere(arch, name) {
            let (other, arch) = (other.name(), arch.name());
            return Diag::at(
                source,
                span,
                format!("`{name}` is an annotation of {other} tests, and this test is {arch}"),
            )
            .help("choose a model of this architecture, or write `try .. with emptyset`");
        }
        let mut known = Vec::new();
        while env != 0 {
            let b = &self.bound[env as usize - 1];
            known.push(b.name.as_ref());
            env = b.older;
        }
        for name in names::all() {
            known.push(name);
        }
        let diag = Diag::at(source, span, format!("`{name}` is not defined"));
        match nearest(name, known) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None if self.model.has_bell() => diag,
            None => diag.help("if a bell file declares it, name that with `--bell`"),
        }
    }

    /// Runs `part` one level deeper and counts a step.
    fn nested<T>(&mut self, span: Span, part: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.steps += 1;
        watch::poll().map_err(EarlyEnd::Limit)?;
        if self.depth >= MAX_DEPTH {
            return self.limit(span, "the model nests its calls too deep");
        }
        if self.steps > MAX_STEPS {
            return self.limit(span, "the model takes too many steps");
        }
        self.depth += 1;
        let out = part(self);
        self.depth -= 1;
        out
    }

    // Instructions.

    fn run(&mut self, body: &'m [Ins], env: &mut Env) -> Outcome<()> {
        self.nested(Span::default(), |ev| body.iter().try_for_each(|ins| ev.exec(ins, env)))
    }

    fn exec(&mut self, ins: &'m Ins, env: &mut Env) -> Outcome<()> {
        match &ins.kind {
            InsKind::Let(l) => *env = self.define(l, *env)?,
            InsKind::LetWhen(l, checked) => {
                *env = self.define(l, *env)?;
                self.check(CheckKind::Require, checked, *env)?;
            }
            InsKind::Match { on, arms, default } => {
                let tag = self.tag_of(on, *env)?;
                let arm = arms.iter().find(|(t, _)| *t == tag).map(|(_, body)| body);
                match arm.or(default.as_ref()) {
                    Some(body) => self.run(body, env)?,
                    None => return self.error(on.span, format!("no arm is for `'{tag}`")),
                }
            }
            InsKind::Check(kind, checked) => self.check(*kind, checked, *env)?,
            InsKind::Show(names) => {
                for name in names {
                    if let Some(value) = self.bound(*env, name).cloned()
                        && let Some(v) = self.shown(value)
                    {
                        self.alg.show(name, v);
                    } else if let Some(value) = self.base_named(name)
                        && let Some(v) = self.shown(value)
                    {
                        self.alg.show(name, v);
                    }
                }
            }
            InsKind::ShowAs(expr, name) => match self.eval(expr, *env) {
                Ok(value) => {
                    if let Some(v) = self.shown(value) {
                        self.alg.show(name, v);
                    }
                }
                Err(stop @ (EarlyEnd::Failed(_) | EarlyEnd::Limit(_))) => return Err(stop),
                Err(_) => {} // What cannot be drawn is not drawn.
            },
            InsKind::Unshow(names) => names.iter().for_each(|n| self.alg.unshow(n)),
            InsKind::Include(_) => {
                let model = self.model;
                if let Some(&target) = model.files[self.file].includes.get(&ins.span.start) {
                    let from = std::mem::replace(&mut self.file, target);
                    self.run(&model.files[target].ast.body, env)?;
                    self.file = from;
                }
            }
            InsKind::Procedure { name, params, body, rec } => {
                let procedure = Procedure { params, body, env: *env, file: self.file };
                *env = self.bind(*env, name, Value::Procedure(procedure));
                if *rec {
                    let itself = *env;
                    if let Value::Procedure(p) = &mut self.bound[itself as usize - 1].value {
                        p.env = itself;
                    }
                }
            }
            InsKind::Call { procedure, arg, .. } => self.call(ins.span, procedure, arg, *env)?,
            InsKind::Enum(name, tags) => {
                for tag in tags {
                    self.tag_types.insert(tag.clone(), name.clone());
                }
                self.enums.insert(name.clone(), tags.clone());
                let all = tags.iter().cloned().map(Value::Tag).collect();
                *env = self.bind(*env, name, Value::Values(Rc::new(all)));
            }
            InsKind::Forall { var, set, body } => {
                let values = self.members(set, *env)?;
                for value in values {
                    let mut inner = self.bind(*env, var, value);
                    self.run(body, &mut inner)?;
                }
            }
            InsKind::With { var, from } => {
                let value = self.from(from, *env)?;
                *env = self.bind(*env, var, value);
            }
            InsKind::If(cond, yes, no) => {
                let model = self.model;
                let holds = variant_holds(cond, &|v| model.has_variant(v));
                self.run(if holds { yes } else { no }, env)?;
            }
            InsKind::Debug(_) | InsKind::Events { .. } => {}
        }
        Ok(())
    }

    fn call(&mut self, span: Span, name: &Name, arg: &'m Expr, env: Env) -> Outcome<()> {
        let Value::Procedure(procedure) = self.lookup(env, name, span)? else {
            return self.error(span, format!("`{name}` is not a procedure"));
        };
        let value = self.eval(arg, env)?;
        let Some(mut inner) = self.bind_pat(procedure.env, procedure.params, value) else {
            return self.error(span, format!("`{name}` takes other arguments"));
        };
        let from = std::mem::replace(&mut self.file, procedure.file);
        self.run(procedure.body, &mut inner)?;
        self.file = from;
        Ok(())
    }

    fn check(&mut self, kind: CheckKind, checked: &'m CheckedExpr, env: Env) -> Outcome<()> {
        let value = self.eval(&checked.expr, env)?;
        let value = match value {
            Value::Set(s) => SetOrRel::Set(s),
            Value::Event(e) => SetOrRel::Set(self.alg.set_of(&[e])),
            other => SetOrRel::Rel(self.as_rel(other, checked.expr.span)?),
        };
        if matches!(value, SetOrRel::Set(_)) && checked.shape != Shape::Empty {
            return self.error(checked.expr.span, "expected a relation, found a set");
        }
        let name = match &checked.name {
            Some(name) => name.to_string(),
            None => {
                let text = &self.model.files[self.file].source.text;
                let text = &text[checked.span.start as usize..checked.span.end as usize];
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        };
        let place = self.place(name, checked.span);
        self.alg
            .check(kind, checked.shape, checked.negated, value, &place)
            .map_err(|h| self.halt(h, checked.span))
    }

    /// Flags executions in which a relation is not empty.
    pub(super) fn flag(&mut self, rel: A::R, name: &str, span: Span) -> Outcome<()> {
        let place = self.place(name.to_string(), span);
        self.alg
            .check(CheckKind::Flag, Shape::Empty, true, SetOrRel::Rel(rel), &place)
            .map_err(|h| self.halt(h, span))
    }

    fn shown(&mut self, value: ValueOf<'m, A>) -> Option<SetOrRel<A::S, A::R>> {
        Some(match value {
            Value::Set(s) => SetOrRel::Set(s),
            Value::Rel(r) => SetOrRel::Rel(r),
            Value::Event(e) => SetOrRel::Set(self.alg.set_of(&[e])),
            Value::Pair(a, b) => SetOrRel::Rel(self.alg.rel_of(&[(a, b)])),
            Value::Empty => SetOrRel::Rel(self.alg.rel_of(&[])),
            Value::Universe => SetOrRel::Rel(self.alg.full_rel()),
            _ => return None,
        })
    }

    // Expressions.

    pub(super) fn eval(&mut self, expr: &'m Expr, env: Env) -> Outcome<ValueOf<'m, A>> {
        self.nested(expr.span, |ev| ev.eval_here(expr, env))
    }

    fn eval_here(&mut self, expr: &'m Expr, env: Env) -> Outcome<ValueOf<'m, A>> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::EmptyRel => Ok(Value::Rel(self.alg.rel_of(&[]))),
            ExprKind::Universe => Ok(Value::Universe),
            ExprKind::Tag(tag) => {
                if self.tag_types.contains_key(tag) {
                    return Ok(Value::Tag(tag.clone()));
                }
                self.error(span, format!("no enumeration has the tag `'{tag}`"))
            }
            ExprKind::Var(name) => self.lookup(env, name, span),
            ExprKind::Un(op, inner) => {
                let value = self.eval(inner, env)?;
                self.unary(*op, value, inner.span)
            }
            ExprKind::Bin(BinOp::Seq, items) => self.seq(items, env),
            ExprKind::Bin(BinOp::Cross, items) => {
                let (left, right) = (&items[0], &items[1]);
                let a = self.eval(left, env)?;
                let a = self.as_set(a, left.span)?;
                let b = self.eval(right, env)?;
                let b = self.as_set(b, right.span)?;
                Ok(Value::Rel(self.alg.cross(&a, &b)))
            }
            ExprKind::Bin(BinOp::Add, items) => {
                let Some((last, elems)) = items.split_last() else {
                    return Ok(Value::Empty);
                };
                let mut set = self.eval(last, env)?;
                for elem in elems.iter().rev() {
                    let value = self.eval(elem, env)?;
                    set = self.add(value, set, elem.span)?;
                }
                Ok(set)
            }
            ExprKind::Bin(op, items) => {
                let mut out = self.eval(&items[0], env)?;
                if items.len() == 1 {
                    return Ok(out);
                }
                for item in &items[1..] {
                    let value = self.eval(item, env)?;
                    out = self.binary(*op, out, value, item.span)?;
                }
                Ok(out)
            }
            ExprKind::Tuple(items) => {
                let items: Outcome<Vec<_>> = items.iter().map(|e| self.eval(e, env)).collect();
                Ok(Value::Tuple(Rc::new(items?)))
            }
            ExprKind::Set(items) => {
                let mut set = Value::Empty;
                for item in items.iter().rev() {
                    let value = self.eval(item, env)?;
                    set = self.add(value, set, item.span)?;
                }
                Ok(set)
            }
            ExprKind::App(fun, arg) => {
                let f = self.eval(fun, env)?;
                let arg = self.eval(arg, env)?;
                if let ExprKind::App(map, each) = &fun.kind
                    && let ExprKind::Var(name) = &map.kind
                    && name.as_ref() == "map"
                    && let Some(value) = self.map_members(&arg, each, env)?
                {
                    return Ok(value);
                }
                self.apply(f, arg, span, env)
            }
            ExprKind::Let(l, body) => {
                let inner = self.define(l, env)?;
                self.eval(body, inner)
            }
            ExprKind::Fun(fun) => Ok(Value::Closure(Closure { fun, env, file: self.file })),
            ExprKind::MatchTag { on, arms, default } => {
                let tag = self.tag_of(on, env)?;
                let arm = arms.iter().find(|(t, _)| *t == tag).map(|(_, e)| e);
                match arm.or(default.as_deref()) {
                    Some(arm) => self.eval(arm, env),
                    None => self.error(on.span, format!("no arm is for `'{tag}`")),
                }
            }
            ExprKind::MatchSet { on, empty, other } => self.match_set(on, empty, other, env),
            ExprKind::Try(first, second) => match self.eval(first, env) {
                Err(EarlyEnd::Error(_)) => self.eval(second, env),
                done => done,
            },
            ExprKind::If(cond, yes, no) => {
                let holds = self.cond(cond, env, span)?;
                self.eval(if holds { yes } else { no }, env)
            }
        }
    }

    pub(super) fn apply(
        &mut self,
        f: ValueOf<'m, A>,
        arg: ValueOf<'m, A>,
        span: Span,
        env: Env,
    ) -> Outcome<ValueOf<'m, A>> {
        match f {
            Value::Closure(c) => {
                let Some(inner) = self.bind_pat(c.env, &c.fun.params, arg) else {
                    let name = c.fun.name.as_deref().unwrap_or("the function");
                    let n = c.fun.params.len();
                    return self.error(span, format!("{name} takes {n} arguments"));
                };
                let from = std::mem::replace(&mut self.file, c.file);
                let out = self.eval(&c.fun.body, inner);
                self.file = from;
                out
            }
            Value::Prim(prim) => self.primitive(prim, arg, span, env),
            _ => self.error(span, "only functions can be applied"),
        }
    }

    fn tag_of(&mut self, on: &'m Expr, env: Env) -> Outcome<Name> {
        match self.eval(on, env)? {
            Value::Tag(tag) => Ok(tag),
            other => {
                let kind = other.kind();
                self.error(on.span, format!("expected a tag to match on, found {kind}"))
            }
        }
    }

    fn match_set(
        &mut self,
        on: &'m Expr,
        empty: &'m Expr,
        other: &'m SetArm,
        env: Env,
    ) -> Outcome<ValueOf<'m, A>> {
        let mut members = self.members(on, env)?;
        if members.is_empty() {
            return self.eval(empty, env);
        }
        let split = if other.before.is_some() { members.len() / 2 } else { 0 };
        let after = members.split_off(split + 1);
        let elem = members.swap_remove(split);
        let kind = elem.clone();
        let mut inner = self.bind_var(env, &other.elem, elem);
        let after = self.collect(&kind, after);
        inner = self.bind_var(inner, &other.after, after);
        if let Some(before) = &other.before {
            let value = self.collect(&kind, members);
            inner = self.bind_var(inner, before, value);
        }
        self.eval(&other.body, inner)
    }

    /// The members of a set of any type, in a fixed order.
    pub(super) fn members(&mut self, expr: &'m Expr, env: Env) -> Outcome<Vec<ValueOf<'m, A>>> {
        let value = self.eval(expr, env)?;
        self.members_of(value, expr.span)
    }

    pub(super) fn members_of(
        &mut self,
        value: ValueOf<'m, A>,
        span: Span,
    ) -> Outcome<Vec<ValueOf<'m, A>>> {
        const OPEN: &str = "what this set holds is not known before there is an execution";
        match value {
            Value::Empty => Ok(Vec::new()),
            Value::Tag(_) | Value::Event(_) | Value::Pair(..) => Ok(vec![value]),
            Value::Values(values) => Ok(values.to_vec()),
            Value::Set(s) => match self.alg.elements(&s) {
                Some(events) => Ok(events.into_iter().map(Value::Event).collect()),
                None => self.unstageable(span, OPEN),
            },
            Value::Rel(r) => match self.alg.pairs(&r) {
                Some(pairs) => Ok(pairs.into_iter().map(|(a, b)| Value::Pair(a, b)).collect()),
                None => self.unstageable(span, OPEN),
            },
            other => {
                let kind = other.kind();
                self.error(span, format!("expected a set, found {kind}"))
            }
        }
    }

    /// The set of members that are of the kind of `like`.
    fn collect(&mut self, like: &ValueOf<'m, A>, members: Vec<ValueOf<'m, A>>) -> ValueOf<'m, A> {
        match like {
            Value::Event(_) => {
                let events: Vec<_> = members
                    .iter()
                    .filter_map(|v| if let Value::Event(e) = v { Some(*e) } else { None })
                    .collect();
                Value::Set(self.alg.set_of(&events))
            }
            Value::Pair(..) => {
                let pairs: Vec<_> = members
                    .iter()
                    .filter_map(|v| if let Value::Pair(a, b) = v { Some((*a, *b)) } else { None })
                    .collect();
                Value::Rel(self.alg.rel_of(&pairs))
            }
            _ if members.is_empty() => Value::Empty,
            _ => Value::Values(Rc::new(members)),
        }
    }

    fn cond(&mut self, cond: &'m Cond, env: Env, span: Span) -> Outcome<bool> {
        const OPEN: &str = "this condition is not known before there is an execution";
        match cond {
            Cond::Variant(v) => {
                let model = self.model;
                Ok(variant_holds(v, &|name| model.has_variant(name)))
            }
            Cond::Eq(a, b) => {
                let va = self.eval(a, env)?;
                let vb = self.eval(b, env)?;
                if same(&va, &vb) {
                    return Ok(true);
                }
                if matches!((&va, &vb), (Value::Tag(_), Value::Tag(_))) {
                    return Ok(false);
                }
                let (ma, mb) = (self.members_of(va, a.span)?, self.members_of(vb, b.span)?);
                Ok(within(&ma, &mb) && within(&mb, &ma))
            }
            Cond::Subset(a, b) => {
                let va = self.eval(a, env)?;
                let vb = self.eval(b, env)?;
                if matches!(vb, Value::Universe) {
                    return Ok(true);
                }
                let ma = self.members_of(va, a.span)?;
                let mb = self.members_of(vb, b.span)?;
                Ok(within(&ma, &mb))
            }
            Cond::In(a, b) => {
                let mut va = self.eval(a, env)?;
                if let Value::Tuple(parts) = &va
                    && let [Value::Event(x), Value::Event(y)] = parts.as_slice()
                {
                    va = Value::Pair(*x, *y);
                }
                let vb = self.eval(b, env)?;
                if matches!(vb, Value::Universe) {
                    return Ok(true);
                }
                let mb = self.members_of(vb, b.span)?;
                if mb.iter().any(|v| same(v, &va)) {
                    return Ok(true);
                }
                // Different nodes of a plan may still have equal values.
                if mb.iter().any(|v| self.may_differ(v)) {
                    return self.unstageable(span, OPEN);
                }
                Ok(false)
            }
        }
    }

    fn may_differ(&self, value: &ValueOf<'m, A>) -> bool {
        match value {
            Value::Set(s) => self.alg.elements(s).is_none(),
            Value::Rel(r) => self.alg.pairs(r).is_none(),
            _ => false,
        }
    }

    pub(super) fn tag_set(&self, tag: &Name) -> Vec<Name> {
        self.tag_types.get(tag).and_then(|ty| self.enums.get(ty)).cloned().unwrap_or_default()
    }
}
