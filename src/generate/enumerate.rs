//! Enumerates every cycle of a vocabulary up to a size.
//!
//! A cycle is a necklace of relaxations. Necklaces are enumerated, so that each cycle is met once, not once
//! for each of its rotations. The mode says which relaxations may stand beside each other; its rules are
//! diy's. It does not know how a cycle becomes a test.

use std::ops::ControlFlow;

use super::cycle::Shape;
use super::dialect::Dialect;
use super::edge::{Com, Dir, Edge, Ie, Kind, Sd, may_precede, settled};
use super::syntax::Relaxation;
use litmake_litmus::Arch;

/// Which relaxations may follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Leaves out most redundant sequences, such as program order after program order.
    #[default]
    Default,
    /// Internal edges follow one another unless the vocabulary has one edge for both.
    Sc,
    /// Communication and program order in turn.
    Critical,
    /// Everything except sequences for which communication has one edge.
    Free,
    /// All edges are on one location.
    Uni,
    /// Everything that fits.
    Total,
}

impl Mode {
    /// Every mode, by the name that a recipe gives it.
    pub(crate) const NAMES: [(&'static str, Mode); 6] = [
        ("default", Mode::Default),
        ("sc", Mode::Sc),
        ("critical", Mode::Critical),
        ("free", Mode::Free),
        ("uni", Mode::Uni),
        ("total", Mode::Total),
    ];

    /// Whether a thread may go against coherence.
    pub fn allows_back(self) -> bool {
        !matches!(self, Mode::Default | Mode::Sc | Mode::Critical)
    }

    /// Whether cycles must have two external edges and change location twice.
    fn demands_two(self) -> bool {
        matches!(self, Mode::Default | Mode::Sc)
    }
}

/// A set of cycles to enumerate.
#[derive(Clone, Debug)]
pub struct Family {
    /// Relaxations of which a cycle must have some.
    pub relax: Vec<Relaxation>,
    /// Relaxations of which it may have any.
    pub safe: Vec<Relaxation>,
    /// Sequences that it may not have.
    pub reject: Vec<Relaxation>,
    /// The most relaxations in a cycle.
    pub size: usize,
    /// Whether a cycle has exactly so many.
    pub exact_size: bool,
    /// How many different relaxations of `relax` a cycle may have: at least and at most.
    pub mix: (usize, usize),
    /// Which relaxations may follow one another.
    pub mode: Mode,
    /// Fences that order what other threads did (diy's cumulativity) may stand beside `Rfe`.
    pub cumulative: bool,
    /// The bounds on a cycle.
    pub shape: Shape,
}

impl Default for Family {
    fn default() -> Family {
        Family {
            relax: Vec::new(),
            safe: Vec::new(),
            reject: Vec::new(),
            size: 6,
            exact_size: false,
            mix: (1, 1),
            mode: Mode::Default,
            cumulative: true,
            shape: Shape {
                threads: 4,
                exact_threads: false,
                per_thread: 4,
                allow_back: false,
                one_location: false,
            },
        }
    }
}

/// Longer cycles are not enumerated.
pub const MAX_SIZE: usize = 24;

/// A relaxation, with its properties that the search needs.
struct Chunk {
    edges: Relaxation,
    /// External edges.
    ext: usize,
    /// Internal edges before the first external edge, after the last, and the longest run
    /// between two of them.
    head: usize,
    tail: usize,
    inner: usize,
    relaxed: bool,
}

impl Chunk {
    fn new(edges: &Relaxation, relaxed: bool) -> Chunk {
        let mut chunk = Chunk { edges: edges.clone(), ext: 0, head: 0, tail: 0, inner: 0, relaxed };
        let mut run = 0;
        for edge in edges.iter().filter(|e| e.kind != Kind::Id) {
            if edge.is_ext() {
                if chunk.ext == 0 {
                    chunk.head = run;
                } else {
                    chunk.inner = chunk.inner.max(run);
                }
                chunk.ext += 1;
                run = 0;
            } else {
                run += 1;
            }
        }
        if chunk.ext == 0 {
            chunk.head = run;
        }
        chunk.tail = run;
        chunk
    }
}

/// A prepared family: its relaxations, numbered, and for each the ones that may follow it.
pub struct Search {
    chunks: Vec<Chunk>,
    /// For each relaxation, those that may follow it, in order.
    next: Vec<Vec<u32>>,
    family: Family,
    /// Whether a location is atomic in all its accesses or in none.
    uniform: bool,
}

/// The state of the search at one depth.
#[derive(Clone, Copy, Default)]
struct Level {
    ext: usize,
    /// Internal edges since the last external one, or since the start.
    run: usize,
    /// Internal edges before the first external one.
    head: usize,
    /// How many different relaxations of `relax` the cycle has.
    relaxed: usize,
    location: Location,
}

/// Whether the location of the last event is atomic.
#[derive(Clone, Copy, Default)]
struct Location {
    /// `None` while no event of the location is known completely: the first event's other edge comes last.
    atomic: Option<bool>,
    /// Whether an annotation was met since the last edge.
    annotated: bool,
    /// Whether the last edge stays at its location; `None` before the first edge.
    stays: Option<bool>,
}

impl Location {
    /// The state after a relaxation; `None` if a location would be atomic in some accesses only.
    fn along(mut self, edges: &[Edge]) -> Option<Location> {
        for edge in edges {
            self.annotated |= settled(edge.a1).is_some();
            if !edge.is_real() {
                continue;
            }
            match self.stays {
                None => {}
                Some(true) => {
                    if self.atomic.is_some_and(|a| a != self.annotated) {
                        return None;
                    }
                    self.atomic = Some(self.annotated);
                }
                Some(false) => self.atomic = Some(self.annotated),
            }
            self.stays = Some(edge.sd() == Sd::Same);
            self.annotated = settled(edge.a2).is_some();
        }
        Some(self)
    }
}

impl Search {
    /// Prepares the enumeration of a family.
    pub(crate) fn new(dialect: &Dialect, family: &Family) -> Search {
        let mut all: Vec<Chunk> = Vec::new();
        for r in &family.relax {
            all.push(Chunk::new(r, true));
        }
        for r in family.safe.iter().filter(|r| !family.relax.contains(r)) {
            all.push(Chunk::new(r, false));
        }
        let po_safe: Vec<(Sd, Dir, Dir)> = family
            .safe
            .iter()
            .filter_map(|r| match r.as_slice() {
                [Edge { kind: Kind::Po(sd, a, b), .. }] => Some((*sd, *a, *b)),
                _ => None,
            })
            .collect();
        let follows =
            |a: &Chunk, b: &Chunk| may_follow(dialect, family, &po_safe, &a.edges, &b.edges);
        let next = all
            .iter()
            .map(|a| (0..all.len() as u32).filter(|b| follows(a, &all[*b as usize])).collect())
            .collect();
        let uniform = dialect.arch == Arch::C;
        Search { chunks: all, next, family: family.clone(), uniform }
    }

    /// The number of relaxations.
    pub fn width(&self) -> usize {
        self.chunks.len()
    }

    fn follows(&self, a: usize, b: usize) -> bool {
        self.next[a].binary_search(&(b as u32)).is_ok()
    }

    /// Calls `f` on every cycle whose first relaxation is the given one (its least, in order),
    /// or on all.
    pub fn each(
        &self,
        first: Option<usize>,
        f: &mut dyn FnMut(&[Edge]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let size = self.family.size.min(MAX_SIZE);
        let mut run = Run {
            search: self,
            word: [0; MAX_SIZE + 1],
            edges: Vec::with_capacity(64),
            f,
            seen: vec![0; self.chunks.len()],
        };
        let range = match first {
            Some(c) => c..c + 1,
            None => 0..self.chunks.len(),
        };
        for c in range {
            // A necklace that begins with c has nothing smaller in it.
            if c < self.chunks.len() && size > 0 {
                run.step(1, 1, c, Level::default(), size)?;
            }
        }
        ControlFlow::Continue(())
    }
}

struct Run<'a> {
    search: &'a Search,
    /// The relaxations of the cycle; the first is at index 1.
    word: [usize; MAX_SIZE + 1],
    edges: Vec<Edge>,
    f: &'a mut dyn FnMut(&[Edge]) -> ControlFlow<()>,
    seen: Vec<u32>,
}

impl Run<'_> {
    /// Puts relaxation `c` at place `t` of a prenecklace of period `p`, and goes on from there.
    fn step(
        &mut self,
        t: usize,
        p: usize,
        c: usize,
        before: Level,
        size: usize,
    ) -> ControlFlow<()> {
        let search = self.search;
        let family = &search.family;
        let chunk = &search.chunks[c];
        let longest = family.shape.per_thread.saturating_sub(1);
        let mut level = before;
        if chunk.ext == 0 {
            level.run += chunk.tail;
            if before.ext == 0 {
                level.head = level.run;
            }
        } else {
            let joined = before.run + chunk.head;
            if before.ext == 0 {
                level.head = joined;
            }
            if joined > longest || chunk.inner > longest {
                return ControlFlow::Continue(());
            }
            level.run = chunk.tail;
            level.ext += chunk.ext;
        }
        if level.run > longest || level.ext > family.shape.threads {
            return ControlFlow::Continue(());
        }
        if chunk.relaxed && self.seen[c] == 0 {
            level.relaxed += 1;
            if level.relaxed > family.mix.1 {
                return ControlFlow::Continue(());
            }
        }
        if search.uniform {
            match before.location.along(&chunk.edges) {
                Some(location) => level.location = location,
                None => return ControlFlow::Continue(()),
            }
        }
        self.word[t] = c;
        self.seen[c] += 1;
        let length = self.edges.len();
        self.edges.extend_from_slice(&chunk.edges);
        let mut flow = ControlFlow::Continue(());
        if t.is_multiple_of(p) && (t == size || !family.exact_size) {
            flow = self.offer(t, level, longest);
        }
        if t < size && flow.is_continue() {
            // The next letter is at least that one period before; a larger one ends the period.
            let least = self.word[t + 1 - p];
            let list = &search.next[c];
            let from = list.partition_point(|n| (*n as usize) < least);
            for next in list[from..].iter().map(|n| *n as usize) {
                let period = if next == least { p } else { t + 1 };
                flow = self.step(t + 1, period, next, level, size);
                if flow.is_break() {
                    break;
                }
            }
        }
        self.edges.truncate(length);
        self.seen[c] -= 1;
        flow
    }

    /// Offers a complete necklace to `f`.
    fn offer(&mut self, t: usize, level: Level, longest: usize) -> ControlFlow<()> {
        let search = self.search;
        let family = &search.family;
        let fits = search.follows(self.word[t], self.word[1])
            && (family.relax.is_empty() || level.relaxed >= family.mix.0.max(1))
            && (level.ext == 0 || level.run + level.head <= longest)
            && !(family.shape.exact_threads && level.ext != family.shape.threads);
        if !fits {
            return ControlFlow::Continue(());
        }
        if family.mode.demands_two() {
            let changes = self.edges.iter().filter(|e| e.sd() == Sd::Diff).count();
            if level.ext < 2 || changes < 2 {
                return ControlFlow::Continue(());
            }
        }
        if family.reject.iter().any(|r| occurs(r, &self.edges)) {
            return ControlFlow::Continue(());
        }
        (self.f)(&self.edges)
    }
}

/// Whether a sequence occurs in a cycle.
pub fn occurs(sequence: &[Edge], cycle: &[Edge]) -> bool {
    let n = cycle.len();
    !sequence.is_empty()
        && sequence.len() <= n
        && (0..n).any(|from| {
            sequence.iter().enumerate().all(|(i, e)| *e == cycle[(from + i) % n].bare())
        })
}

/// The last edge of a relaxation that is no separate fence.
fn last(r: &[Edge]) -> Edge {
    *r.iter().rev().find(|e| !matches!(e.kind, Kind::Insert(_))).unwrap_or(&r[0])
}

fn first(r: &[Edge]) -> Edge {
    *r.iter().find(|e| !matches!(e.kind, Kind::Insert(_))).unwrap_or(&r[r.len() - 1])
}

fn may_follow(
    dialect: &Dialect,
    family: &Family,
    po_safe: &[(Sd, Dir, Dir)],
    a: &[Edge],
    b: &[Edge],
) -> bool {
    use Kind::{Com as C, Fenced, Id};
    let (x, y) = (last(a), first(b));
    if !may_precede(x, y) {
        return false;
    }
    let external = |e: Edge| e.is_ext();
    match (x.kind, y.kind) {
        // What these say together one communication says alone.
        (C(Com::Co | Com::Fr, _), C(Com::Co, _)) | (C(Com::Rf, _), C(Com::Fr, _)) => {
            external(x) != external(y)
        }
        (Id, Id) => false,
        (Id, _) => fits(dialect, x, y.source()),
        (_, Id) => fits(dialect, y, x.target()),
        (C(Com::Rf, _), Fenced(..)) | (Fenced(..), C(Com::Rf, _)) => {
            family.cumulative && by_mode(family.mode, po_safe, x, y)
        }
        _ => by_mode(family.mode, po_safe, x, y),
    }
}

fn fits(dialect: &Dialect, annotation: Edge, dir: Option<Dir>) -> bool {
    match (annotation.a1, dir) {
        (Some(a), Some(d)) => dialect.applies(a, d),
        _ => true,
    }
}

fn by_mode(mode: Mode, po_safe: &[(Sd, Dir, Dir)], x: Edge, y: Edge) -> bool {
    use Kind::{Com as C, Dp, Insert, Po, Rmw};
    let external = |e: Edge| e.is_ext();
    let some_external = external(x) || external(y);
    // Internal edges on one location, as communication or as program order.
    let local = |e: Edge| {
        matches!(
            e.kind,
            C(_, Ie::Int) | Po(Sd::Same, Dir::W, _) | Po(Sd::Same, Dir::R, Dir::W) | Insert(_)
        )
    };
    let forwards = |e: Edge| matches!(e.kind, C(Com::Rf, Ie::Int) | Po(Sd::Same, Dir::W, Dir::R));
    let other = |e: Edge| matches!(e.kind, Dp(..) | Po(Sd::Diff, ..));
    let rmw = matches!(x.kind, Rmw(_)) || matches!(y.kind, Rmw(_));
    match mode {
        Mode::Total => true,
        Mode::Default => {
            local(x) && other(y)
                || other(x) && local(y)
                || matches!(
                    (x.kind, y.kind),
                    (Dp(_, Sd::Diff, _), Po(Sd::Diff, ..)) | (Po(Sd::Diff, ..), Dp(_, Sd::Diff, _))
                )
                || forwards(x) && matches!(y.kind, Po(Sd::Same, ..))
                || matches!(x.kind, Po(Sd::Same, ..)) && forwards(y)
                || rmw
                || some_external
        }
        Mode::Critical => {
            matches!((x.kind, y.kind), (C(Com::Co | Com::Fr, _), C(Com::Rf, _)))
                || rmw
                || external(x) != external(y)
        }
        Mode::Uni => !matches!((x.kind, y.kind), (Po(..), Po(..))),
        Mode::Free => true,
        Mode::Sc => sequential(po_safe, x, y, some_external),
    }
}

fn sequential(po_safe: &[(Sd, Dir, Dir)], x: Edge, y: Edge, some_external: bool) -> bool {
    use Kind::{Com as C, Dp, Po, Rmw};
    let join = |a: Sd, b: Sd| if a == Sd::Same && b == Sd::Same { Sd::Same } else { Sd::Diff };
    let safe = |sd: Sd, a: Option<Dir>, b: Option<Dir>| match (a, b) {
        (Some(a), Some(b)) => po_safe.contains(&(sd, a, b)),
        _ => false,
    };
    let (from, to) = (x.source(), y.target());
    let forwards = |e: Edge| matches!(e.kind, C(Com::Rf, Ie::Int) | Po(Sd::Same, Dir::W, Dir::R));
    match (x.kind, y.kind) {
        (_, Dp(..)) if forwards(x) => true,
        (Dp(..), _) if forwards(y) => true,
        (
            Dp(_, sd, _),
            C(Com::Co | Com::Fr, Ie::Int)
            | Po(Sd::Same, Dir::W, Dir::W)
            | Po(Sd::Same, Dir::R, Dir::W),
        ) => !safe(sd, from, to),
        (Po(a, ..), Dp(_, b, _)) => !safe(a, from, x.target()) && !safe(join(a, b), from, to),
        (Dp(_, a, _), Po(b, ..)) => !safe(b, y.source(), to) && !safe(join(a, b), from, to),
        (Po(a, ..), Po(b, ..)) => !safe(join(a, b), from, to),
        (C(Com::Rf, Ie::Int), Po(sd, ..)) => safe(sd, y.source(), to) && !safe(sd, from, to),
        (Po(sd, ..), C(Com::Rf, Ie::Int)) => safe(sd, from, x.target()) && !safe(sd, from, to),
        (Rmw(_), _) | (_, Rmw(_)) => true,
        _ => some_external,
    }
}
