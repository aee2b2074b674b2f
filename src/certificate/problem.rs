//! Reads the part of a certificate that is trusted: the paths of the test's threads, and the model. What
//! it claims of them is not known here.

use rustc_hash::FxHashMap;

use super::Wrong;
use super::model::{Check, Model, Shape, Step};
use super::value::{Expr, Value, signed};

/// A range of memory that accesses cover as a whole.
pub struct Cell {
    pub bits: u32,
    pub initial: Value,
    /// The sets that its initial write is in, by number.
    pub sets: Vec<usize>,
}

/// A write of the bits from `shift` on of a value, by number. Pieces of one access have one number.
#[derive(Clone, Copy, PartialEq)]
pub struct Write {
    pub value: usize,
    pub shift: u32,
    pub bits: u32,
    pub whole: bool,
}

/// An event of a path. Those of an instruction have its number in the path.
pub struct Event {
    pub instance: usize,
    /// Its access, in program order.
    pub index: usize,
    pub sets: Vec<usize>,
    pub cell: Option<usize>,
    /// The number of the access whose value it reads, and where in that value, in bits.
    pub read: Option<(usize, u32)>,
    pub write: Option<Write>,
}

#[derive(Default)]
pub struct Path {
    /// It ends with an error: no allowed execution may take it.
    pub error: bool,
    pub events: Vec<Event>,
    /// By number of the relation, pairs of its events.
    pub relations: Vec<(usize, Vec<(usize, usize)>)>,
    /// It is taken if these values are true, or false.
    pub requires: Vec<(usize, bool)>,
    /// The behaviour is undefined if one of these is true.
    pub doubts: Vec<usize>,
    /// The final values of observed registers.
    pub finals: Vec<(usize, usize)>,
}

/// Where a final value lies: cells with their offset in the value, in bits, or a register.
pub enum Place {
    Register,
    Memory { initial: Value, cells: Vec<(usize, i32)> },
}

pub struct Observed {
    pub place: Place,
    pub thread: usize,
    pub bits: u32,
    pub signed: bool,
    pub label: String,
}

#[derive(Default)]
pub struct Problem {
    pub test: String,
    pub model_name: String,
    /// Paths with more turns of loops were left out.
    pub bounded: bool,
    /// What locations are called.
    locations: Vec<String>,
    pub cells: Vec<Cell>,
    pub exprs: Vec<Expr>,
    /// By thread.
    pub paths: Vec<Vec<Path>>,
    pub observed: Vec<Observed>,
    /// The names of relations and sets that the execution gives, and their numbers.
    pub names: FxHashMap<String, usize>,
    /// Pairs of threads whose events are all related.
    pub across: Vec<(usize, Vec<(usize, usize)>)>,
    pub model: Model,
}

/// The words of a line.
pub struct Words<'t> {
    words: std::str::SplitAsciiWhitespace<'t>,
    line: &'t str,
}

impl<'t> Words<'t> {
    pub fn of(line: &'t str) -> Words<'t> {
        Words { words: line.split_ascii_whitespace(), line }
    }

    pub fn wrong(&self, what: &str) -> Wrong {
        Wrong(format!("`{}`: {what}", self.line))
    }

    pub fn next(&mut self) -> Result<&'t str, Wrong> {
        self.words.next().ok_or_else(|| self.wrong("a word is missing"))
    }

    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T, Wrong> {
        let word = self.next()?;
        word.parse().map_err(|_| self.wrong(&format!("`{word}` is no number in range")))
    }

    /// The number of one of so many things.
    pub fn below(&mut self, of: usize) -> Result<usize, Wrong> {
        let n: usize = self.number()?;
        if n < of { Ok(n) } else { Err(self.wrong(&format!("there is no number {n}"))) }
    }

    fn value(&mut self) -> Result<Value, Wrong> {
        let word = self.next()?;
        Value::read(word).ok_or_else(|| self.wrong(&format!("`{word}` is no value")))
    }

    /// `7>2`
    pub fn pairs(&mut self, mark: char) -> Result<Vec<(usize, usize)>, Wrong> {
        let mut pairs = Vec::new();
        for word in self.words.by_ref() {
            let pair =
                word.split_once(mark).and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            pairs.push(pair.ok_or_else(|| Wrong(format!("`{}`: `{word}` is no pair", self.line)))?);
        }
        Ok(pairs)
    }

    pub fn rest(&mut self) -> impl Iterator<Item = &'t str> {
        self.words.by_ref()
    }

    fn done(&mut self) -> Result<(), Wrong> {
        match self.words.next() {
            Some(word) => Err(self.wrong(&format!("`{word}` is too much"))),
            None => Ok(()),
        }
    }
}

impl Problem {
    /// Reads the lines.
    pub fn read<'t>(lines: impl Iterator<Item = &'t str>) -> Result<Problem, Wrong> {
        let mut problem = Problem::default();
        for name in ["rf", "co", "id", "all", "loc", "ext"] {
            problem.number_of(name);
        }
        for line in lines {
            let mut words = Words::of(line);
            problem.line(&mut words)?;
            words.done()?;
        }
        problem.fits()?;
        problem.model.settle().map_err(Wrong)?;
        Ok(problem)
    }

    /// An outcome, as states are printed: names and values.
    pub fn state(&self, outcome: &[Value]) -> Vec<(String, String)> {
        let part = |(o, value): (&Observed, &Value)| {
            let value = match *value {
                Value::Int(n) if o.signed => signed(n, o.bits).to_string(),
                Value::At(at, 0) => {
                    self.locations.get(usize::from(at)).cloned().unwrap_or_default()
                }
                Value::At(at, offset) => {
                    let name = self.locations.get(usize::from(at)).map_or("", String::as_str);
                    format!("{name}{offset:+}")
                }
                other => other.to_string(),
            };
            (o.label.clone(), value)
        };
        self.observed.iter().zip(outcome).map(part).collect()
    }

    fn number_of(&mut self, name: &str) -> usize {
        let next = self.names.len();
        *self.names.entry(name.to_string()).or_insert(next)
    }

    fn line(&mut self, words: &mut Words) -> Result<(), Wrong> {
        let kind = words.next()?;
        match kind {
            "test" => self.test = words.rest().collect::<Vec<_>>().join(" "),
            "model" => self.model_name = words.rest().collect::<Vec<_>>().join(" "),
            "bounded" => self.bounded = true,
            "location" => self.locations.push(words.next()?.to_string()),
            "cell" => {
                let (bits, initial) = (words.number()?, words.value()?);
                let sets = words.rest().map(|w| self.number_of(w)).collect();
                self.cells.push(Cell { bits, initial, sets });
            }
            "value" => {
                let expr = self.expr(words)?;
                self.exprs.push(expr);
            }
            "observe" => self.observe(words)?,
            "thread" => self.paths.push(Vec::new()),
            "path" => {
                let error = words.rest().last() == Some("error");
                let thread =
                    self.paths.last_mut().ok_or_else(|| words.wrong("of which thread?"))?;
                thread.push(Path { error, ..Path::default() });
            }
            "across" => {
                let name = words.next()?;
                let number = self.number_of(name);
                self.across.push((number, words.pairs('>')?));
            }
            "step" | "recursion" | "check" => self.step(kind, words)?,
            _ => self.path_line(kind, words)?,
        }
        Ok(())
    }

    fn expr(&self, words: &mut Words) -> Result<Expr, Wrong> {
        let before = self.exprs.len();
        let width = |words: &mut Words| match words.number()? {
            w @ 1..=128 => Ok(w),
            _ => Err(words.wrong("a width is from 1 to 128")),
        };
        Ok(match words.next()? {
            "constant" => Expr::Constant(words.value()?),
            "read" => Expr::Read { thread: words.number()?, access: words.number()? },
            "one" => {
                let (op, width) = (words.next()?.to_string(), width(words)?);
                Expr::One { op, width, of: words.below(before)?, from: words.number()? }
            }
            "two" => {
                let (op, width) = (words.next()?.to_string(), width(words)?);
                Expr::Two { op, width, a: words.below(before)?, b: words.below(before)? }
            }
            _ => return Err(words.wrong("no kind of value")),
        })
    }

    fn observe(&mut self, words: &mut Words) -> Result<(), Wrong> {
        let (bits, signed) = (words.number()?, words.below(2)? == 1);
        let (place, thread) = match words.next()? {
            "register" => (Place::Register, words.number()?),
            "memory" => {
                let (initial, count) = (words.value()?, words.number::<usize>()?);
                let cell = |words: &mut Words| {
                    Ok((words.below(self.cells.len())?, words.number::<i32>()?))
                };
                let cells = (0..count).map(|_| cell(words)).collect::<Result<_, _>>()?;
                (Place::Memory { initial, cells }, 0)
            }
            _ => return Err(words.wrong("no place")),
        };
        let label = words.rest().collect::<Vec<_>>().join(" ");
        self.observed.push(Observed { place, thread, bits, signed, label });
        Ok(())
    }

    fn step(&mut self, kind: &str, words: &mut Words) -> Result<(), Wrong> {
        let before = self.model.steps.len();
        match kind {
            "recursion" => {
                let bodies: Option<_> = words.rest().map(|w| w.parse().ok()).collect();
                self.model.recursions.push(bodies.ok_or_else(|| words.wrong("no numbers"))?);
            }
            "check" => {
                let forbids = words.next()? == "require";
                let negated = words.next()? == "not";
                let shape = match words.next()? {
                    "acyclic" => Shape::Acyclic,
                    "irreflexive" => Shape::Irreflexive,
                    "empty" => Shape::Empty,
                    _ => return Err(words.wrong("no shape")),
                };
                let step = words.below(before)?;
                words.rest().last();
                self.model.checks.push(Check { shape, negated, step, forbids });
            }
            _ => {
                let kind = words.next()?;
                if kind == "base" {
                    let name = words.next()?;
                    let number = self.number_of(name);
                    self.model.steps.push(Step::Base(number));
                    return Ok(());
                }
                let recursive = matches!(kind, "var" | "fix");
                let mut number = || if recursive { words.number() } else { words.below(before) };
                let a = number()?;
                let step = match kind {
                    "inverse" => Step::Inverse(a),
                    "plus" => Step::Plus(a),
                    "union" => Step::Union(a, number()?),
                    "inter" => Step::Inter(a, number()?),
                    "minus" => Step::Minus(a, number()?),
                    "then" => Step::Then(a, number()?),
                    "var" => Step::Var(a, number()?),
                    "fix" => Step::Fix(a, number()?),
                    _ => return Err(words.wrong("no kind of step")),
                };
                self.model.steps.push(step);
            }
        }
        Ok(())
    }

    /// A line that belongs to the path before it.
    fn path_line(&mut self, kind: &str, words: &mut Words) -> Result<(), Wrong> {
        let exprs = self.exprs.len();
        match kind {
            "event" => {
                let event = self.event(words)?;
                self.path(words)?.events.push(event);
            }
            "relation" => {
                let name = words.next()?;
                let number = self.number_of(name);
                let pairs = words.pairs('>')?;
                self.path(words)?.relations.push((number, pairs));
            }
            "require" => {
                let pair = (words.below(exprs)?, words.below(2)? == 1);
                self.path(words)?.requires.push(pair);
            }
            "doubt" => {
                let value = words.below(exprs)?;
                self.path(words)?.doubts.push(value);
            }
            "final" => {
                let pair = (words.below(self.observed.len())?, words.below(exprs)?);
                self.path(words)?.finals.push(pair);
            }
            _ => return Err(words.wrong("no such line")),
        }
        Ok(())
    }

    fn path(&mut self, words: &Words) -> Result<&mut Path, Wrong> {
        let path = self.paths.last_mut().and_then(|t| t.last_mut());
        path.ok_or_else(|| words.wrong("of which path?"))
    }

    fn event(&mut self, words: &mut Words) -> Result<Event, Wrong> {
        let (instance, index) = (words.number()?, words.number()?);
        let mut event =
            Event { instance, index, sets: vec![], cell: None, read: None, write: None };
        loop {
            match words.next()? {
                "at" => event.cell = Some(words.below(self.cells.len())?),
                "reads" => event.read = Some((words.number()?, words.number()?)),
                "writes" => {
                    let (value, shift) = (words.below(self.exprs.len())?, words.number()?);
                    let (bits, whole) = (words.number()?, words.below(2)? == 1);
                    event.write = Some(Write { value, shift, bits, whole });
                }
                "in" => break,
                _ => return Err(words.wrong("no part of an event")),
            }
        }
        event.sets = words.rest().map(|w| self.number_of(w)).collect();
        if event.cell.is_none() && (event.read.is_some() || event.write.is_some()) {
            return Err(words.wrong("an access has no place"));
        }
        Ok(event)
    }

    /// Whether numbers that refer to what comes later are those of something.
    fn fits(&self) -> Result<(), Wrong> {
        let wrong = |what: &str| Err(Wrong(what.to_string()));
        let recursions = &self.model.recursions;
        let known = |g: usize, n: usize| recursions.get(g).is_some_and(|bodies| n < bodies.len());
        if self
            .model
            .steps
            .iter()
            .any(|s| matches!(s, Step::Var(g, n) | Step::Fix(g, n) if !known(*g, *n)))
        {
            return wrong("a step names no recursion");
        }
        if recursions.iter().flatten().any(|body| *body >= self.model.steps.len()) {
            return wrong("a recursion names no step");
        }
        let threads = self.paths.len();
        if threads == 0 || self.paths.iter().any(Vec::is_empty) {
            return wrong("a thread has no path");
        }
        if self.observed.iter().any(|o| o.thread >= threads.max(1)) {
            return wrong("an observed register is of no thread");
        }
        let across = self.across.iter().flat_map(|(_, pairs)| pairs);
        if across.into_iter().any(|(a, b)| *a >= threads || *b >= threads) {
            return wrong("a relation across threads names no thread");
        }
        for path in self.paths.iter().flatten() {
            let pairs = path.relations.iter().flat_map(|(_, pairs)| pairs);
            if pairs.into_iter().any(|(a, b)| *a.max(b) >= path.events.len()) {
                return wrong("a relation of a path names no event");
            }
        }
        Ok(())
    }
}
