//! The model as steps over relations, and what they are worth while an execution is partly decided: a
//! lower bound (pairs that every completion has) and an upper one. A set is the identity on its members.
//! It does not know what executions are made of.

use std::rc::Rc;

/// A relation between at most 128 events: the successors of each, as bits.
pub type Relation = Vec<u128>;

/// The most events that an execution may have.
pub const MOST_EVENTS: usize = 128;

/// The bounds of a step, once they are known.
pub type MaybeBounds = Option<Rc<Bounds>>;

/// The bounds of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    pub lower: Relation,
    pub upper: Relation,
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A relation that the execution gives, by number.
    Base(usize),
    Union(usize, usize),
    Inter(usize, usize),
    Minus(usize, usize),
    Then(usize, usize),
    Inverse(usize),
    Plus(usize),
    /// A variable of a recursion.
    Var(usize, usize),
    /// The least solution for it.
    Fix(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Acyclic,
    Irreflexive,
    Empty,
}

/// Asks a shape of a step, or that it lacks it.
pub struct Check {
    pub shape: Shape,
    pub negated: bool,
    pub step: usize,
    /// Whether an execution that fails it is forbidden; else the program's behaviour is undefined.
    pub forbids: bool,
}

#[derive(Default)]
pub struct Model {
    pub steps: Vec<Step>,
    /// The bodies of each recursion.
    pub recursions: Vec<Vec<usize>>,
    pub checks: Vec<Check>,
    /// For each step, the recursions whose variables it uses without solving them.
    open: Vec<Vec<usize>>,
    /// The recursions that take away what they have so far. They are decided before the search.
    shrinking: Vec<usize>,
}

impl Model {
    /// Notes what follows from the steps; an error if a recursion over what is searched for, which these steps
    /// are, may shrink as it grows.
    pub fn settle(&mut self, searched: &[usize]) -> Result<(), String> {
        let mut varies: Vec<bool> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let operands = match step {
                Step::Base(_) | Step::Var(..) => Vec::new(),
                Step::Union(a, b) | Step::Inter(a, b) | Step::Minus(a, b) | Step::Then(a, b) => {
                    vec![*a, *b]
                }
                Step::Inverse(a) | Step::Plus(a) => vec![*a],
                Step::Fix(g, _) => self.recursions[*g].clone(),
            };
            if operands.iter().any(|body| *body >= at) {
                return Err("a recursion is solved before its bodies".to_string());
            }
            let mut open: Vec<usize> =
                operands.iter().flat_map(|of| self.open[*of].iter().copied()).collect();
            let searches = matches!(step, Step::Base(n) if searched.contains(n));
            varies.push(searches || operands.iter().any(|of| varies[*of]));
            match *step {
                Step::Var(g, _) => open.push(g),
                Step::Fix(g, _) => open.retain(|x| *x != g),
                Step::Minus(_, b) => self.shrinking.extend(&self.open[b]),
                _ => {}
            }
            open.sort_unstable();
            open.dedup();
            self.open.push(open);
        }
        let bodies = self.shrinking.iter().flat_map(|g| &self.recursions[*g]);
        match bodies.into_iter().find(|body| varies[**body]) {
            Some(body) => Err(format!("step {body} takes away what a recursion has so far")),
            None => Ok(()),
        }
    }

    /// The values of the steps, each found when a check asks for it; `known` has those that are known beforehand.
    pub fn bounds<'m>(&'m self, known: &'m [MaybeBounds], bases: &'m [Bounds]) -> Values<'m> {
        let empty = Rc::new(none(bases));
        let vars = self.recursions.iter().map(|b| vec![empty.clone(); b.len()]).collect();
        Values { model: self, known, bases, values: vec![None; self.steps.len()], vars }
    }
}

fn none(bases: &[Bounds]) -> Bounds {
    let empty = vec![0; bases.first().map_or(0, |b| b.lower.len())];
    Bounds { lower: empty.clone(), upper: empty }
}

/// The bounds of steps, computed when they are asked for.
pub struct Values<'m> {
    model: &'m Model,
    known: &'m [MaybeBounds],
    bases: &'m [Bounds],
    values: Vec<MaybeBounds>,
    vars: Vec<Vec<Rc<Bounds>>>,
}

impl Values<'_> {
    fn of(&mut self, at: usize) -> Rc<Bounds> {
        if let Some(known) = self.known.get(at).and_then(Option::as_ref) {
            return known.clone();
        }
        if let Some(value) = &self.values[at] {
            return value.clone();
        }
        let value = match self.model.steps[at] {
            Step::Base(n) => Rc::new(self.bases[n].clone()),
            Step::Union(a, b) => self.both(a, b, |x, y| each(x, y, |x, y| x | y)),
            Step::Inter(a, b) => self.both(a, b, |x, y| each(x, y, |x, y| x & y)),
            Step::Then(a, b) => self.both(a, b, then),
            Step::Minus(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                let minus = |x: &Relation, y: &Relation| each(x, y, |x, y| x & !y);
                let upper = minus(&a.upper, &b.lower);
                Rc::new(Bounds { lower: minus(&a.lower, &b.upper), upper })
            }
            Step::Inverse(a) => self.both(a, a, |x, _| inverse(x)),
            Step::Plus(a) => self.both(a, a, |x, _| plus(x)),
            Step::Var(g, n) => self.vars[g][n].clone(),
            Step::Fix(g, n) => self.solve(g).swap_remove(n),
        };
        self.values[at] = Some(value.clone());
        value
    }

    fn both(&mut self, a: usize, b: usize, f: fn(&Relation, &Relation) -> Relation) -> Rc<Bounds> {
        let (a, b) = (self.of(a), self.of(b));
        Rc::new(Bounds { lower: f(&a.lower, &b.lower), upper: f(&a.upper, &b.upper) })
    }

    /// Goes round from nothing until no body grows: each has the values of those before it at once.
    fn solve(&mut self, g: usize) -> Vec<Rc<Bounds>> {
        self.vars[g].fill(Rc::new(none(self.bases)));
        let bodies = &self.model.recursions[g];
        let events = self.bases.first().map_or(0, |b| b.lower.len());
        // One that only grows ends before.
        for _ in 0..=2 * bodies.len() * events * events {
            let mut grown = false;
            for (n, body) in bodies.iter().enumerate() {
                for (value, open) in self.values.iter_mut().zip(&self.model.open) {
                    if open.contains(&g) {
                        *value = None;
                    }
                }
                let new = self.of(*body);
                let old = std::mem::replace(&mut self.vars[g][n], new.clone());
                let more = |new: &Relation, old: &Relation| {
                    new.iter().zip(old).any(|(new, old)| new & !old != 0)
                };
                grown |= more(&new.lower, &old.lower) || more(&new.upper, &old.upper);
            }
            if !grown {
                return self.vars[g].clone();
            }
        }
        // It has no value, so nothing follows from it.
        let unknown = Bounds { upper: vec![u128::MAX; events], ..none(self.bases) };
        vec![Rc::new(unknown); bodies.len()]
    }

    /// Whether a check fails in every completion, and whether it holds in every one.
    pub fn fails(&mut self, check: &Check) -> bool {
        let value = self.of(check.step);
        match check.negated {
            false => !has(check.shape, &value.lower),
            true => has(check.shape, &value.upper),
        }
    }

    pub fn holds(&mut self, check: &Check) -> bool {
        let value = self.of(check.step);
        match check.negated {
            false => has(check.shape, &value.upper),
            true => !has(check.shape, &value.lower),
        }
    }

    /// The steps whose bounds are equal: nothing that is decided later changes them.
    pub fn decided(mut self) -> Vec<MaybeBounds> {
        for check in &self.model.checks {
            self.of(check.step);
        }
        let all = self.values.into_iter().zip(&self.model.open);
        let decided = |b: &Rc<Bounds>| b.lower == b.upper;
        all.map(|(v, open)| v.filter(|b| open.is_empty() && decided(b))).collect()
    }
}

fn each(x: &Relation, y: &Relation, f: fn(u128, u128) -> u128) -> Relation {
    x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()
}

pub fn bits(mut row: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (row != 0).then(|| row.trailing_zeros() as usize);
        row &= row.wrapping_sub(1);
        next
    })
}

fn then(x: &Relation, y: &Relation) -> Relation {
    x.iter().map(|row| bits(*row).fold(0, |sum, at| sum | y[at])).collect()
}

fn inverse(x: &Relation) -> Relation {
    let mut out = vec![0; x.len()];
    for (a, row) in x.iter().enumerate() {
        bits(*row).for_each(|b| out[b] |= 1 << a);
    }
    out
}

fn plus(x: &Relation) -> Relation {
    let mut out = x.clone();
    for middle in 0..out.len() {
        let row = out[middle];
        for of in &mut out {
            if *of >> middle & 1 == 1 {
                *of |= row;
            }
        }
    }
    out
}

fn has(shape: Shape, x: &Relation) -> bool {
    let irreflexive = |x: &Relation| x.iter().enumerate().all(|(a, row)| row >> a & 1 == 0);
    match shape {
        Shape::Empty => x.iter().all(|row| *row == 0),
        Shape::Irreflexive => irreflexive(x),
        Shape::Acyclic => irreflexive(&plus(x)),
    }
}
