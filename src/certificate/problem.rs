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
    /// It reads from what takes a lock (true), or leaves it free (false), and from nothing else.
    pub looks: Option<bool>,
    /// It takes a lock, or leaves it free. What leaves one free has the value 0 and no place in coherence.
    pub locks: Option<bool>,
}

#[derive(Default)]
pub struct Path {
    /// It ends with an error: no allowed execution may take it.
    pub error: bool,
    pub events: Vec<Event>,
    /// By number of the relation, pairs of its events.
    pub relations: Vec<(usize, Vec<(usize, usize)>)>,
    /// An event is related to those of other threads that wait at the same place: relation, event, place.
    pub meets: Vec<(usize, usize, String)>,
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
    /// The names of the locations, by number.
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

/// The words of a line; `None` where a word is not what it has to be.
pub struct Words<'t>(std::str::SplitAsciiWhitespace<'t>);

impl<'t> Words<'t> {
    pub fn of(line: &'t str) -> Words<'t> {
        Words(line.split_ascii_whitespace())
    }

    pub fn next(&mut self) -> Option<&'t str> {
        self.0.next()
    }

    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.next()?.parse().ok()
    }

    /// The number of one of so many things.
    pub fn below(&mut self, of: usize) -> Option<usize> {
        self.number().filter(|n| *n < of)
    }

    fn flag(&mut self) -> Option<bool> {
        self.below(2).map(|n| n == 1)
    }

    fn value(&mut self) -> Option<Value> {
        Value::read(self.next()?)
    }

    /// `7>2 7>3`
    fn pairs(&mut self) -> Option<Vec<(usize, usize)>> {
        let pair = |word: &str| {
            let (a, b) = word.split_once('>')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        };
        self.rest().map(pair).collect()
    }

    pub fn rest(&mut self) -> impl Iterator<Item = &'t str> {
        self.0.by_ref()
    }

    fn text(&mut self) -> String {
        self.rest().collect::<Vec<_>>().join(" ")
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
            let read = problem.line(&mut words).filter(|()| words.next().is_none());
            read.ok_or_else(|| Wrong(format!("`{line}` is no line of this place")))?;
        }
        if !problem.fits() {
            return Err(Wrong("a number stands for nothing".to_string()));
        }
        let searched = [problem.names["rf"], problem.names["co"]];
        problem.model.settle(&searched).map_err(Wrong)?;
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

    fn line(&mut self, words: &mut Words) -> Option<()> {
        match words.next()? {
            "test" => self.test = words.text(),
            "model" => self.model_name = words.text(),
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
                self.paths.last_mut()?.push(Path { error, ..Path::default() });
            }
            "across" => {
                let number = self.number_of(words.next()?);
                self.across.push((number, words.pairs()?));
            }
            "step" => {
                let step = self.step(words)?;
                self.model.steps.push(step);
            }
            "recursion" => {
                let bodies: Option<_> = words.rest().map(|w| w.parse().ok()).collect();
                self.model.recursions.push(bodies?);
            }
            "check" => self.check(words)?,
            kind => self.path_line(kind, words)?,
        }
        Some(())
    }

    fn expr(&self, words: &mut Words) -> Option<Expr> {
        let before = self.exprs.len();
        let kind = words.next()?;
        let mut operation = || {
            let op = words.next()?.to_string();
            Some((op, words.number::<u32>().filter(|w| (1..=128).contains(w))?))
        };
        Some(match kind {
            "constant" => Expr::Constant(words.value()?),
            "read" => Expr::Read { thread: words.number()?, access: words.number()? },
            "one" => {
                let (op, width) = operation()?;
                Expr::One { op, width, of: words.below(before)?, from: words.number()? }
            }
            "two" => {
                let (op, width) = operation()?;
                Expr::Two { op, width, a: words.below(before)?, b: words.below(before)? }
            }
            _ => return None,
        })
    }

    fn observe(&mut self, words: &mut Words) -> Option<()> {
        let (bits, signed) = (words.number()?, words.flag()?);
        let (place, thread) = match words.next()? {
            "register" => (Place::Register, words.number()?),
            "memory" => {
                let (initial, count) = (words.value()?, words.number::<usize>()?);
                let cell = |_| Some((words.below(self.cells.len())?, words.number()?));
                let cells = (0..count).map(cell).collect::<Option<_>>()?;
                (Place::Memory { initial, cells }, 0)
            }
            _ => return None,
        };
        self.observed.push(Observed { place, thread, bits, signed, label: words.text() });
        Some(())
    }

    fn step(&mut self, words: &mut Words) -> Option<Step> {
        let before = self.model.steps.len();
        Some(match words.next()? {
            "base" => Step::Base(self.number_of(words.next()?)),
            "var" => Step::Var(words.number()?, words.number()?),
            "fix" => Step::Fix(words.number()?, words.number()?),
            kind => {
                let a = words.below(before)?;
                match kind {
                    "inverse" => Step::Inverse(a),
                    "plus" => Step::Plus(a),
                    "union" => Step::Union(a, words.below(before)?),
                    "inter" => Step::Inter(a, words.below(before)?),
                    "minus" => Step::Minus(a, words.below(before)?),
                    "then" => Step::Then(a, words.below(before)?),
                    _ => return None,
                }
            }
        })
    }

    /// The name of a check, at the end of its line, is for people.
    fn check(&mut self, words: &mut Words) -> Option<()> {
        let either = |word: &str, yes, no| (word == yes || word == no).then_some(word == yes);
        let forbids = either(words.next()?, "require", "defined")?;
        let negated = either(words.next()?, "not", "is")?;
        let shape = match words.next()? {
            "acyclic" => Shape::Acyclic,
            "irreflexive" => Shape::Irreflexive,
            "empty" => Shape::Empty,
            _ => return None,
        };
        let step = words.below(self.model.steps.len())?;
        words.text();
        self.model.checks.push(Check { shape, negated, step, forbids });
        Some(())
    }

    /// A line that belongs to the path before it.
    fn path_line(&mut self, kind: &str, words: &mut Words) -> Option<()> {
        let exprs = self.exprs.len();
        match kind {
            "event" => {
                let event = self.event(words)?;
                self.path()?.events.push(event);
            }
            "relation" => {
                let number = self.number_of(words.next()?);
                let pairs = words.pairs()?;
                self.path()?.relations.push((number, pairs));
            }
            "meets" => {
                let (number, event) = (self.number_of(words.next()?), words.number()?);
                let place = words.text();
                self.path()?.meets.push((number, event, place));
            }
            "require" => self.path()?.requires.push((words.below(exprs)?, words.flag()?)),
            "doubt" => self.path()?.doubts.push(words.below(exprs)?),
            "final" => {
                let pair = (words.below(self.observed.len())?, words.below(exprs)?);
                self.path()?.finals.push(pair);
            }
            _ => return None,
        }
        Some(())
    }

    fn path(&mut self) -> Option<&mut Path> {
        self.paths.last_mut()?.last_mut()
    }

    fn event(&mut self, words: &mut Words) -> Option<Event> {
        let (instance, index) = (words.number()?, words.number()?);
        let (mut cell, mut read, mut write) = (None, None, None);
        let (mut looks, mut locks) = (None, None);
        loop {
            match words.next()? {
                "at" => cell = Some(words.below(self.cells.len())?),
                "reads" => read = Some((words.number()?, words.below(128)? as u32)),
                "writes" => {
                    let (value, shift) = (words.below(self.exprs.len())?, words.below(128)? as u32);
                    write =
                        Some(Write { value, shift, bits: words.number()?, whole: words.flag()? });
                }
                "looks" => looks = Some(words.flag()?),
                "locks" => locks = Some(words.flag()?),
                "in" => break,
                _ => return None,
            }
        }
        let sets = words.rest().map(|w| self.number_of(w)).collect();
        let placed = cell.is_some() || (read.is_none() && write.is_none());
        placed.then_some(Event { instance, index, sets, cell, read, write, looks, locks })
    }

    /// Whether numbers that refer to what comes later are those of something.
    fn fits(&self) -> bool {
        let Model { steps, recursions, .. } = &self.model;
        let variable = |g: usize, n: usize| recursions.get(g).is_some_and(|all| n < all.len());
        let threads = self.paths.len();
        let local = |path: &Path| {
            let mut pairs = path.relations.iter().flat_map(|(_, pairs)| pairs);
            pairs.all(|(a, b)| *a.max(b) < path.events.len())
                && path.meets.iter().all(|(_, event, _)| *event < path.events.len())
        };
        let mut across = self.across.iter().flat_map(|(_, pairs)| pairs);
        steps.iter().all(|s| !matches!(s, Step::Var(g, n) | Step::Fix(g, n) if !variable(*g, *n)))
            && recursions.iter().flatten().all(|body| *body < steps.len())
            && threads > 0
            && self.paths.iter().all(|paths| !paths.is_empty() && paths.iter().all(local))
            && self.observed.iter().all(|o| o.thread < threads)
            && across.all(|(a, b)| *a.max(b) < threads)
    }
}
