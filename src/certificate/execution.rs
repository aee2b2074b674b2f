//! One path of each thread: the variables of its executions, the clauses that say what an execution is,
//! and what follows from some literals: the values of reads, the outcome, and what the model forbids.
//! It does not know what a certificate claims.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::Wrong;
use super::clauses::{Clauses, Literal, variable};
use super::model::{Bounds, MOST_EVENTS, MaybeBounds, Relation, Values, bits};
use super::problem::{Path, Place, Problem, Write};
use super::value::{Value, evaluate, low};

/// A read of a cell.
struct Read {
    event: usize,
    /// Which access it belongs to.
    access: usize,
    shift: u32,
    /// The writes that it may read from.
    sources: Vec<usize>,
}

/// An event, as the whole execution numbers it: the initial writes first, then the threads.
struct Event {
    /// The thread and the event of its path; an initial write has none.
    place: Option<(usize, usize)>,
    cell: Option<usize>,
    write: Option<Write>,
}

pub struct Combination<'p> {
    problem: &'p Problem,
    paths: Vec<&'p Path>,
    events: Vec<Event>,
    reads: Vec<Read>,
    /// The thread and number of each access that reads.
    accesses: Vec<(usize, usize)>,
    /// The writes of each cell but the initial one.
    writes: Vec<Vec<usize>>,
    /// Literals by the pair of events: a write and a read from it, or a write and a later one.
    rf: FxHashMap<(usize, usize), Literal>,
    co: FxHashMap<(usize, usize), Literal>,
    /// The meaning of each literal, from 1 on: the kind of the pair, and its two events.
    pairs: Vec<(char, usize, usize)>,
    /// Clauses that say what an execution is: every execution makes all of them true.
    pub definition: Vec<Vec<Literal>>,
    /// The literals that follow from the definition alone.
    pub root: Vec<i8>,
    bases: Vec<Bounds>,
    known: Vec<MaybeBounds>,
}

/// The values of accesses, as far as they follow from some literals.
pub struct Valued {
    values: Vec<Option<Value>>,
    /// No execution has such values: they go round in a circle, an access is torn, or a path is not taken.
    pub impossible: bool,
}

impl<'p> Combination<'p> {
    pub fn new(problem: &'p Problem, picks: &[usize]) -> Result<Combination<'p>, Wrong> {
        let paths: Vec<&Path> = problem.paths.iter().zip(picks).map(|(ps, k)| &ps[*k]).collect();
        let initial = |cell| Event { place: None, cell: Some(cell), write: None };
        let mut it = Combination {
            problem,
            events: (0..problem.cells.len()).map(initial).collect(),
            paths,
            reads: Vec::new(),
            accesses: Vec::new(),
            writes: vec![Vec::new(); problem.cells.len()],
            rf: FxHashMap::default(),
            co: FxHashMap::default(),
            pairs: Vec::new(),
            definition: Vec::new(),
            root: Vec::new(),
            bases: Vec::new(),
            known: Vec::new(),
        };
        it.number_events();
        if it.events.len() > MOST_EVENTS {
            return Err(Wrong(format!("an execution has more than {MOST_EVENTS} events")));
        }
        it.define();
        it.bases = it.fixed();
        let nothing = vec![0; it.pairs.len() + 1];
        it.known = problem.model.bounds(&[], &it.decided(&nothing)).decided();
        let mut clauses = Clauses::new(it.pairs.len());
        let mut conflict = None;
        for clause in &it.definition {
            conflict = clauses.add(clause.clone()).or(conflict);
        }
        if conflict.is_none() {
            clauses.propagate();
            it.root = clauses.values;
        } else {
            it.root = nothing;
        }
        Ok(it)
    }

    fn number_events(&mut self) {
        for (thread, path) in self.paths.iter().enumerate() {
            for (n, event) in path.events.iter().enumerate() {
                let number = self.events.len();
                self.events.push(Event {
                    place: Some((thread, n)),
                    cell: event.cell,
                    write: event.write,
                });
                let Some(cell) = event.cell else { continue };
                if event.write.is_some() {
                    self.writes[cell].push(number);
                }
                if let Some((access, shift)) = event.read {
                    let of = (thread, access);
                    let at = self.accesses.iter().position(|a| *a == of);
                    let access = at.unwrap_or_else(|| {
                        self.accesses.push(of);
                        self.accesses.len() - 1
                    });
                    self.reads.push(Read { event: number, access, shift, sources: vec![] });
                }
            }
        }
    }

    fn path_event(&self, event: usize) -> Option<&super::problem::Event> {
        self.events[event].place.map(|(thread, n)| &self.paths[thread].events[n])
    }

    fn literal(&mut self, kind: char, a: usize, b: usize) -> Literal {
        self.pairs.push((kind, a, b));
        let literal = self.pairs.len() as Literal;
        let of = if kind == '>' { &mut self.rf } else { &mut self.co };
        of.insert((a, b), literal);
        if kind == '<' {
            self.co.insert((b, a), -literal);
        }
        literal
    }

    /// The writes that an event may read from.
    fn sources(&self, event: usize, cell: usize) -> Vec<usize> {
        let of = |e: usize| self.path_event(e).zip(self.events[e].place);
        let looks = self.path_event(event).and_then(|e| e.looks);
        let may = |w: &usize| match (of(*w), of(event)) {
            (Some((w, (w_thread, _))), Some((e, (thread, _)))) if w_thread == thread => {
                // No read returns a write of its own instruction that is not before it, and no look at a lock
                // what happens later.
                w.index < e.index || looks.is_none() && w.instance != e.instance
            }
            _ => true,
        };
        let Some(taken) = looks else {
            return self.all_writes(cell).filter(may).collect();
        };
        let locks = |w: &usize| self.path_event(*w).map_or(Some(false), |e| e.locks);
        let here = |w: &usize| self.events[*w].cell == Some(cell) && locks(w) == Some(taken);
        (0..self.events.len()).filter(here).filter(may).collect()
    }

    /// The writes of a cell, the initial one first.
    fn all_writes(&self, cell: usize) -> impl Iterator<Item = usize> {
        std::iter::once(cell).chain(self.writes[cell].iter().copied())
    }

    /// Each read has one source, and coherence is an order of the writes of each cell.
    fn define(&mut self) {
        for at in 0..self.reads.len() {
            let event = self.reads[at].event;
            let cell = self.events[event].cell.unwrap_or_default();
            let sources = self.sources(event, cell);
            let literals: Vec<Literal> =
                sources.iter().map(|w| self.literal('>', *w, event)).collect();
            for (n, a) in literals.iter().enumerate() {
                self.definition.extend(literals[..n].iter().map(|b| vec![-*a, -*b]));
            }
            self.definition.push(literals);
            self.reads[at].sources = sources;
        }
        for writes in self.writes.clone() {
            for (n, b) in writes.iter().enumerate() {
                for a in &writes[..n] {
                    self.literal('<', *a, *b);
                }
            }
            let every = || writes.iter().copied();
            for (a, b, c) in
                every().flat_map(|a| every().flat_map(move |b| every().map(move |c| (a, b, c))))
            {
                if a != b && b != c && a != c {
                    self.definition.push(vec![
                        -self.co[&(a, b)],
                        -self.co[&(b, c)],
                        self.co[&(a, c)],
                    ]);
                }
            }
        }
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_error(&self) -> bool {
        self.paths.iter().any(|p| p.error)
    }

    /// `2>7` (7 reads from 2), `2<4` (4 is after 2 in coherence); `!` before it for its negation.
    pub fn show(&self, literal: Literal) -> String {
        let (kind, a, b) = self.pairs[variable(literal) - 1];
        match (kind, literal > 0) {
            ('<', false) => format!("{b}<{a}"),
            (_, true) => format!("{a}{kind}{b}"),
            (_, false) => format!("!{a}{kind}{b}"),
        }
    }

    pub fn read_literal(&self, text: &str) -> Result<Literal, Wrong> {
        let (sign, name) = text.strip_prefix('!').map_or((1, text), |rest| (-1, rest));
        let of = |mark, map: &FxHashMap<(usize, usize), Literal>| {
            let (a, b) = name.split_once(mark)?;
            map.get(&(a.parse().ok()?, b.parse().ok()?)).copied()
        };
        let found = of('>', &self.rf).or_else(|| of('<', &self.co));
        let wrong = || Wrong(format!("`{text}` is no literal of the combination"));
        found.map(|l| l * sign).ok_or_else(wrong)
    }

    /// The literals of a complete execution that say which pairs it has.
    pub fn positive(&self, values: &[i8]) -> Vec<String> {
        let all = 1..=self.pairs.len() as Literal;
        let told = all.filter_map(|l| match (self.pairs[l as usize - 1].0, values[l as usize]) {
            (_, 1) => Some(l),
            ('<', -1) => Some(-l),
            _ => None,
        });
        told.map(|l| self.show(l)).collect()
    }

    /// Whether a literal says that a pair is there.
    pub fn tells(&self, literal: Literal) -> bool {
        literal > 0 || self.pairs[variable(literal) - 1].0 == '<'
    }

    /// Reads do not return what no literal says that they return.
    pub fn close_reads(&self, values: &mut [i8]) {
        for literal in self.rf.values() {
            let value = &mut values[variable(*literal)];
            *value = if *value == 0 { -1 } else { *value };
        }
    }

    fn is(&self, literal: Option<&Literal>, values: &[i8]) -> bool {
        literal.is_some_and(|l| values[variable(*l)] == l.signum() as i8)
    }

    /// The relations and sets that do not depend on decisions.
    fn fixed(&self) -> Vec<Bounds> {
        let n = self.events.len();
        let mut all: Vec<Relation> = vec![vec![0; n]; self.problem.names.len()];
        let mut offset = self.problem.cells.len();
        let every = low(u128::MAX, n as u32);
        let initial = low(u128::MAX, offset as u32);
        let number = |name: &str| self.problem.names[name];
        for (cell, of) in self.problem.cells.iter().enumerate() {
            of.sets.iter().for_each(|set| all[*set][cell] |= 1 << cell);
        }
        let (mut threads, mut waiting) = (Vec::new(), Vec::new());
        for path in &self.paths {
            for (n, event) in path.events.iter().enumerate() {
                event.sets.iter().for_each(|set| all[*set][offset + n] |= 1 << (offset + n));
            }
            for (relation, event, place) in &path.meets {
                waiting.push((*relation, offset + event, threads.len(), place));
            }
            for (relation, pairs) in &path.relations {
                pairs.iter().for_each(|(a, b)| all[*relation][offset + a] |= 1 << (offset + b));
            }
            let from = offset;
            offset += path.events.len();
            threads.push(low(u128::MAX, offset as u32) & !low(u128::MAX, from as u32));
        }
        for (relation, a, thread, place) in &waiting {
            let there = waiting.iter().filter(|w| (w.0, w.3) == (*relation, *place));
            there.filter(|w| w.2 != *thread).for_each(|w| all[*relation][*a] |= 1 << w.1);
        }
        for (relation, pairs) in &self.problem.across {
            for (a, b) in pairs {
                bits(threads[*a]).for_each(|event| all[*relation][event] |= threads[*b]);
            }
        }
        for (a, event) in self.events.iter().enumerate() {
            all[number("id")][a] = 1 << a;
            all[number("all")][a] = every;
            let own = event.place.map_or(initial, |(thread, _)| threads[thread]);
            all[number("ext")][a] = every & !own;
            let same =
                (0..n).filter(|b| event.cell.is_some() && self.events[*b].cell == event.cell);
            same.for_each(|b| all[number("loc")][a] |= 1 << b);
        }
        all.into_iter().map(|r| Bounds { lower: r.clone(), upper: r }).collect()
    }

    /// All relations and sets, with bounds of those that are decided by literals.
    fn decided(&self, values: &[i8]) -> Vec<Bounds> {
        let mut all = self.bases.clone();
        let number = |name: &str| self.problem.names[name];
        for (name, of) in [("rf", &self.rf), ("co", &self.co)] {
            let bounds = &mut all[number(name)];
            for ((a, b), literal) in of {
                bounds.lower[*a] |= u128::from(self.is(Some(literal), values)) << b;
                bounds.upper[*a] |= u128::from(!self.is(Some(&-literal), values)) << b;
            }
        }
        let co = &mut all[number("co")];
        for (cell, writes) in self.writes.iter().enumerate() {
            for w in writes {
                co.lower[cell] |= 1 << w;
                co.upper[cell] |= 1 << w;
            }
        }
        all
    }

    /// Asks for values of the model's steps under some literals.
    fn model<T>(&self, values: &[i8], ask: impl FnOnce(&mut Values) -> T) -> T {
        ask(&mut self.problem.model.bounds(&self.known, &self.decided(values)))
    }

    /// Whether the model forbids every completion.
    pub fn is_forbidden(&self, values: &[i8]) -> bool {
        self.model(values, |steps| {
            self.problem.model.checks.iter().any(|c| c.forbids && steps.fails(c))
        })
    }

    /// Whether no completion has undefined behaviour.
    pub fn is_defined(&self, values: &[i8], valued: &Valued) -> bool {
        self.doubts(valued).all(|doubt| doubt == Some(false))
            && self.model(values, |steps| {
                self.problem.model.checks.iter().all(|c| c.forbids || steps.holds(c))
            })
    }

    /// Whether every completion has undefined behaviour.
    pub fn is_undefined(&self, values: &[i8], valued: &Valued) -> bool {
        self.doubts(valued).any(|doubt| doubt == Some(true))
            || self.model(values, |steps| {
                self.problem.model.checks.iter().any(|c| !c.forbids && steps.fails(c))
            })
    }

    /// For each value that makes the behaviour undefined if it is true, whether it is, as far as it is known.
    fn doubts(&self, valued: &Valued) -> impl Iterator<Item = Option<bool>> {
        let doubts = self.paths.iter().flat_map(|p| &p.doubts);
        doubts.map(|d| self.value(*d, &valued.values).map(Value::is_true))
    }

    fn source(&self, read: &Read, values: &[i8]) -> Option<usize> {
        read.sources.iter().copied().find(|w| self.is(self.rf.get(&(*w, read.event)), values))
    }

    fn value(&self, expr: usize, known: &[Option<Value>]) -> Option<Value> {
        evaluate(&self.problem.exprs, expr, &|thread, access| {
            let at = self.accesses.iter().position(|a| *a == (thread, access))?;
            known[at]
        })
    }

    /// The value that a write stores.
    fn written(&self, event: usize, known: &[Option<Value>]) -> Option<Value> {
        let of = &self.events[event];
        let Some(write) = &of.write else {
            let free = self.path_event(event).is_some_and(|e| e.locks == Some(false));
            let initial = of.place.is_none().then(|| self.problem.cells[event].initial);
            return initial.or(free.then_some(Value::Int(0)));
        };
        match self.value(write.value, known)? {
            Value::Int(n) => Some(Value::Int(low(n.checked_shr(write.shift)?, write.bits))),
            address => write.whole.then_some(address),
        }
    }

    /// An address in several pieces, if all are those of one write of it.
    fn address(&self, pieces: &[(usize, i64)], known: &[Option<Value>]) -> Option<Value> {
        let (first, at) = *pieces.first()?;
        let own = |w: usize| self.events[w].write.map(|write| (write, self.path_event(w)));
        let value = match self.events[first].write {
            None if at == 0 => self.written(first, known)?,
            Some(write) if i64::from(write.shift) == at => self.value(write.value, known)?,
            _ => return None,
        };
        let key = |w: usize| {
            own(w).map(|(write, e)| {
                (write.value, self.events[w].place.map(|p| p.0), e.map(|e| e.index))
            })
        };
        let one = pieces.iter().all(|(w, at)| {
            key(*w) == key(first)
                && self.events[*w].write.is_none_or(|write| i64::from(write.shift) == *at)
        });
        (one && !matches!(value, Value::Int(_))).then_some(value)
    }

    /// The value of an access, from the sources of its reads.
    fn read_value(&self, pieces: &[(usize, i64)], known: &[Option<Value>]) -> Option<Value> {
        if let [(source, shift)] = pieces {
            return match self.written(*source, known)? {
                Value::Int(n) => Some(Value::Int(n << shift)),
                address => Some(address),
            };
        }
        if let Some(address) = self.address(pieces, known) {
            return Some(address);
        }
        let mut sum = 0;
        for (source, shift) in pieces {
            let Value::Int(n) = self.written(*source, known)? else { return None };
            sum |= n << shift;
        }
        Some(Value::Int(sum))
    }

    /// Finds the values of accesses that follow from some literals.
    pub fn valued(&self, values: &[i8]) -> Valued {
        let mut known = vec![None; self.accesses.len()];
        // The sources of the accesses of which all are decided.
        let mut sources: Vec<Option<Vec<(usize, i64)>>> = vec![Some(vec![]); self.accesses.len()];
        for read in &self.reads {
            let source = self.source(read, values).map(|w| (w, i64::from(read.shift)));
            match (&mut sources[read.access], source) {
                (Some(all), Some(piece)) => all.push(piece),
                (all, _) => *all = None,
            }
        }
        loop {
            let mut changed = false;
            for (at, pieces) in sources.iter().enumerate() {
                if let (None, Some(pieces)) = (known[at], pieces) {
                    known[at] = self.read_value(pieces, &known);
                    changed |= known[at].is_some();
                }
            }
            if !changed {
                break;
            }
        }
        let untaken = |(value, want): &(usize, bool)| {
            self.value(*value, &known).is_some_and(|v| v.is_true() != *want)
        };
        let impossible = self.paths.iter().flat_map(|p| &p.requires).any(untaken)
            || self.is_torn(&sources, &known)
            || self.is_circular(&sources, &known);
        Valued { values: known, impossible }
    }

    /// Whether the pieces of an access are known and make up no value.
    fn is_torn(&self, sources: &[Option<Vec<(usize, i64)>>], known: &[Option<Value>]) -> bool {
        let settled = |w: usize| match &self.events[w].write {
            None => true,
            Some(write) => self.value(write.value, known).is_some(),
        };
        let mut open = sources.iter().zip(known).filter(|(_, value)| value.is_none());
        open.any(|(pieces, _)| {
            pieces.as_ref().is_some_and(|all| all.len() > 1 && all.iter().all(|(w, _)| settled(*w)))
        })
    }

    /// Whether values depend on each other in a circle, so that none ever comes out of it.
    fn is_circular(&self, sources: &[Option<Vec<(usize, i64)>>], known: &[Option<Value>]) -> bool {
        // For each access without a value whose sources are decided, the accesses without one that it
        // waits for.
        let waits: Vec<Option<Vec<usize>>> = sources
            .iter()
            .enumerate()
            .map(|(at, pieces)| {
                let pieces = pieces.as_ref().filter(|_| known[at].is_none())?;
                let mut on = Vec::new();
                for (w, _) in pieces {
                    if let Some(write) = &self.events[*w].write {
                        self.reads_of(write.value, &mut on);
                    }
                }
                on.retain(|a| known[*a].is_none());
                Some(on)
            })
            .collect();
        let mut closed: Vec<bool> = waits.iter().map(Option::is_some).collect();
        let shrink = |closed: &mut Vec<bool>, keep: &dyn Fn(&[usize], &[bool]) -> bool| loop {
            let before = closed.clone();
            for (at, on) in waits.iter().enumerate() {
                closed[at] &= on.as_ref().is_some_and(|on| keep(on, &before));
            }
            if *closed == before {
                return;
            }
        };
        // Only what later decisions cannot change.
        shrink(&mut closed, &|on, closed| on.iter().all(|a| closed[*a]));
        shrink(&mut closed, &|on, closed| on.iter().any(|a| closed[*a]));
        closed.contains(&true)
    }

    fn reads_of(&self, expr: usize, out: &mut Vec<usize>) {
        use super::value::Expr;
        match &self.problem.exprs[expr] {
            Expr::Constant(_) => {}
            Expr::Read { thread, access } => {
                out.extend(self.accesses.iter().position(|a| *a == (*thread, *access)));
            }
            Expr::One { of, .. } => self.reads_of(*of, out),
            Expr::Two { a, b, .. } => {
                self.reads_of(*a, out);
                self.reads_of(*b, out);
            }
        }
    }

    /// Whether every value that an execution computes is known. Where one is not, it is arithmetic without
    /// meaning.
    pub fn is_computed(&self, valued: &Valued) -> bool {
        let mut requires = self.paths.iter().flat_map(|p| &p.requires);
        valued.values.iter().all(Option::is_some)
            && requires.all(|(value, _)| self.value(*value, &valued.values).is_some())
    }

    /// The final values of the observed places, if they follow from some literals.
    pub fn outcome(&self, values: &[i8], valued: &Valued) -> Option<Vec<Value>> {
        let known = &valued.values;
        let mut outcome = Vec::new();
        for (n, o) in self.problem.observed.iter().enumerate() {
            let value = match &o.place {
                Place::Register => {
                    let finals = &self.paths[o.thread].finals;
                    self.value(finals.iter().find(|(k, _)| *k == n)?.1, known)?
                }
                Place::Memory { initial, cells } => self.memory(*initial, cells, values, known)?,
            };
            outcome.push(match value {
                Value::Int(n) => Value::Int(low(n, o.bits)),
                address => address,
            });
        }
        Some(outcome)
    }

    fn memory(
        &self,
        initial: Value,
        cells: &[(usize, i32)],
        values: &[i8],
        known: &[Option<Value>],
    ) -> Option<Value> {
        let mut pieces = Vec::new();
        for (cell, at) in cells {
            let last = |w: &usize| {
                let others = self.writes[*cell].iter().filter(|v| *v != w);
                others.into_iter().all(|v| self.is(self.co.get(&(*v, *w)), values))
            };
            let w = match self.writes[*cell].is_empty() {
                true => *cell,
                false => self.writes[*cell].iter().copied().find(last)?,
            };
            pieces.push((w, i64::from(*at)));
        }
        if pieces.len() > 1
            && let Some(address) = self.address(&pieces, known)
        {
            return Some(address);
        }
        let mut sum = match initial {
            Value::Int(n) => n,
            address if cells.is_empty() => return Some(address),
            _ => 0,
        };
        for ((cell, at), (w, _)) in cells.iter().zip(&pieces) {
            let n = match self.written(*w, known)? {
                Value::Int(n) => n,
                address => return Some(address),
            };
            let moved = |n: u128| match at {
                0.. => n.checked_shl(at.unsigned_abs()),
                _ => n.checked_shr(at.unsigned_abs()),
            };
            let bits = self.problem.cells[*cell].bits;
            let covered = moved(low(u128::MAX, bits)).unwrap_or(0);
            sum = sum & !covered | moved(low(n, bits)).unwrap_or(0);
        }
        Some(Value::Int(sum))
    }

    /// The values of the events, for people: `7=1` for what is read, `7:=1` for what is written.
    pub fn event_values(&self, values: &[i8], valued: &Valued) -> String {
        let mut out = String::new();
        for (event, of) in self.events.iter().enumerate() {
            if let Some(read) = self.reads.iter().find(|r| r.event == event)
                && let Some(v) =
                    self.source(read, values).and_then(|w| self.written(w, &valued.values))
            {
                let _ = write!(out, " {event}={v}");
            }
            if let Some(v) = of.cell.and_then(|_| self.written(event, &valued.values)) {
                let _ = write!(out, " {event}:={v}");
            }
        }
        out
    }
}
