//! Enumerates every small program up to symmetry: threads of reads and writes, with the order between them.
//!
//! Programs that differ only in the order of threads and the names of locations are one. They need not be
//! cycles, so this finds programs that no vocabulary of cycles contains. It does not know models.

use std::ops::ControlFlow;

use super::cycle::{Event, MAX_INSERTS, Refused, Workshop, Writes};
use super::dialect::Dialect;
use super::draft::{Ask, Draft};
use super::edge::{Atom, Com, Dep, DepKind, Dir, Edge, Fence, Ie, Kind, Sd};
use super::emit::{self, Base, Style};
use super::observe::Observe;

/// The order between an access and the next one of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Between {
    /// Nothing.
    Nothing,
    /// The strongest fence.
    Fence,
    /// One of the dialect's other fences, by number.
    Weak(Fence),
    /// A dependency of the next access on this one, which is a read.
    Dep(DepKind),
}

/// One access of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// Whether it reads or writes.
    pub dir: Dir,
    /// Its location, by number.
    pub loc: u8,
    /// The annotation that it bears.
    pub atom: Option<Atom>,
    /// Whether a read-modify-write makes it. That of a write is an exchange; that of a read writes back
    /// what it read.
    pub rmw: bool,
    /// The order between it and the next access.
    pub between: Between,
}

/// The accesses of each thread, in program order.
pub type Program = Vec<Vec<Access>>;

/// The bounds on a program, and the choices for its accesses.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The most threads.
    pub threads: usize,
    /// The most events.
    pub events: usize,
    /// The most locations.
    pub locations: usize,
    /// The annotations of accesses. The first does not count in `ordered`.
    pub atoms: Vec<Option<Atom>>,
    /// The choices for the order between an access and the next one.
    pub between: Vec<Between>,
    /// Whether accesses may be made by read-modify-writes.
    pub rmws: bool,
    /// The most accesses that have an annotation, or an order between them and the next one.
    pub ordered: usize,
}

impl Bounds {
    /// Bounds of plain accesses with nothing between them.
    pub fn new(threads: usize, events: usize, locations: usize) -> Bounds {
        Bounds {
            threads,
            events,
            locations,
            atoms: vec![None],
            between: vec![Between::Nothing],
            rmws: false,
            ordered: usize::MAX,
        }
    }
}

/// The most events; with more there are too many programs.
pub const MAX_EVENTS: usize = 8;

/// Calls `f` on every program with exactly this many events and, in it, `ordered` accesses that
/// are not plain and free, each once up to symmetry.
pub fn each(
    bounds: &Bounds,
    events: usize,
    ordered: usize,
    f: &mut dyn FnMut(&Program) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut search = Search { bounds, ordered, program: Vec::new(), scratch: Vec::new(), f };
    search.thread(events.min(MAX_EVENTS), 0)
}

struct Search<'a> {
    bounds: &'a Bounds,
    ordered: usize,
    program: Program,
    scratch: Vec<u8>,
    f: &'a mut dyn FnMut(&Program) -> ControlFlow<()>,
}

impl Search<'_> {
    /// Begins a thread, with `left` events to give away.
    fn thread(&mut self, left: usize, used: usize) -> ControlFlow<()> {
        if left == 0 {
            return if used == self.ordered { self.offer() } else { ControlFlow::Continue(()) };
        }
        if self.program.len() >= self.bounds.threads {
            return ControlFlow::Continue(());
        }
        // The last thread takes all that is left.
        let last = self.program.len() + 1 == self.bounds.threads;
        // Longer threads come first: the others are the same in another order.
        let most = self.program.last().map_or(left, Vec::len).min(left);
        let least = if last { left } else { 1 };
        for size in least..=most {
            self.program.push(Vec::new());
            let flow = self.access(size, left - size, used);
            self.program.pop();
            flow?;
        }
        ControlFlow::Continue(())
    }

    fn access(&mut self, left: usize, after: usize, used: usize) -> ControlFlow<()> {
        if left == 0 {
            return self.thread(after, used);
        }
        // A location that no access had is the next one.
        let known = self.program.iter().flatten().map(|a| a.loc + 1).max().unwrap_or(0);
        let locs = (known + 1).min(self.bounds.locations as u8);
        for dir in [Dir::W, Dir::R] {
            for loc in 0..locs {
                for i in 0..self.bounds.atoms.len() {
                    let atom = self.bounds.atoms[i];
                    let kinds = self.bounds.between.len();
                    for k in 0..kinds * (1 + usize::from(self.bounds.rmws)) {
                        let (between, rmw) = (self.bounds.between[k % kinds], k >= kinds);
                        let fenced = between != Between::Nothing;
                        let cost = usize::from(i > 0) + usize::from(fenced) + usize::from(rmw);
                        let free = left > 1 || between == Between::Nothing;
                        let depends = !matches!(between, Between::Dep(_)) || dir == Dir::R;
                        if !free || !depends || used + cost > self.ordered {
                            continue;
                        }
                        let Some(thread) = self.program.last_mut() else {
                            return ControlFlow::Continue(());
                        };
                        // Data flows into writes alone.
                        if let (Some(before), Dir::R) = (thread.last(), dir)
                            && before.between == Between::Dep(DepKind::Data)
                        {
                            continue;
                        }
                        thread.push(Access { dir, loc, atom, rmw, between });
                        let flow = self.access(left - 1, after, used + cost);
                        if let Some(thread) = self.program.last_mut() {
                            thread.pop();
                        }
                        flow?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn offer(&mut self) -> ControlFlow<()> {
        // A location that one thread alone has, or that is never written, tells nothing.
        let locs = self.program.iter().flatten().map(|a| a.loc + 1).max().unwrap_or(0);
        for loc in 0..locs {
            let threads = self.program.iter().filter(|t| t.iter().any(|a| a.loc == loc)).count();
            let written = self.program.iter().flatten().any(|a| a.loc == loc && a.dir == Dir::W);
            if threads < 2 || !written {
                return ControlFlow::Continue(());
            }
        }
        if self.is_least() { (self.f)(&self.program) } else { ControlFlow::Continue(()) }
    }

    /// Whether no other order of the threads gives a smaller program.
    fn is_least(&mut self) -> bool {
        let n = self.program.len();
        let own: Vec<usize> = (0..n).collect();
        let mut this = Vec::new();
        encode(&self.program, &own, &mut this);
        let mut order = own;
        // All orders, by Heap's method.
        let mut count = vec![0usize; n];
        let mut i = 0;
        while i < n {
            if count[i] < i {
                order.swap(if i % 2 == 0 { 0 } else { count[i] }, i);
                encode(&self.program, &order, &mut self.scratch);
                if self.scratch < this {
                    return false;
                }
                count[i] += 1;
                i = 0;
            } else {
                count[i] = 0;
                i += 1;
            }
        }
        true
    }
}

/// The program in another order of threads, its locations named as they are met.
fn encode(program: &Program, order: &[usize], out: &mut Vec<u8>) {
    let mut names = [u8::MAX; 32];
    let mut next = 0;
    out.clear();
    for t in order {
        // Longer threads are smaller.
        out.push(u8::MAX - program[*t].len() as u8);
        for access in &program[*t] {
            let slot = &mut names[usize::from(access.loc) % 32];
            if *slot == u8::MAX {
                *slot = next;
                next += 1;
            }
            out.push(access.dir as u8 + 2 * u8::from(access.rmw));
            out.push(*slot);
            out.push(match access.atom {
                None => 0,
                Some(Atom::Order(o)) => 1 + o as u8,
                Some(_) => 20,
            });
            out.push(match access.between {
                Between::Nothing => 0,
                Between::Fence => 1,
                Between::Dep(d) => 2 + d as u8,
                Between::Weak(f) => 10 + f,
            });
        }
    }
}

/// Writes a program as a test that shows every outcome.
pub fn emit(
    dialect: &Dialect,
    program: &Program,
    base: Base,
    shop: &mut Workshop,
    draft: &mut Draft,
) -> Result<(), Refused> {
    fill(dialect, program, shop)?;
    let style = Style { observe: Observe::Both, ask: Ask::Every, base, ..Style::default() };
    emit::emit(dialect, shop, &style, draft)
}

/// Writes the events of a program into a workshop, as if a cycle had made them.
fn fill(dialect: &Dialect, program: &Program, shop: &mut Workshop) -> Result<(), Refused> {
    shop.events.clear();
    shop.threads.clear();
    shop.threads.push(0);
    shop.writes.clear();
    shop.locs = program.iter().flatten().map(|a| usize::from(a.loc) + 1).max().unwrap_or(0);
    shop.writes.resize_with(shop.locs, Writes::default);
    for thread in program {
        for (i, access) in thread.iter().enumerate() {
            let Access { dir, loc, atom, rmw, between } = *access;
            if rmw {
                return Err("read-modify-writes are written elsewhere");
            }
            if atom.is_some_and(|a| !dialect.applies(a, dir)) {
                return Err("this annotation does not fit the access");
            }
            let kind = match thread.get(i + 1) {
                None => Kind::Com(if dir == Dir::R { Com::Fr } else { Com::Rf }, Ie::Ext),
                Some(next) => {
                    let sd = if next.loc == loc { Sd::Same } else { Sd::Diff };
                    match between {
                        Between::Nothing => Kind::Po(sd, dir, next.dir),
                        Between::Fence => match dialect.strong {
                            Some(strong) => Kind::Fenced(strong, sd, dir, next.dir),
                            None => return Err("there is no such fence"),
                        },
                        Between::Weak(f) if usize::from(f) < dialect.fences.len() => {
                            Kind::Fenced(f, sd, dir, next.dir)
                        }
                        Between::Weak(_) => return Err("there is no such fence"),
                        Between::Dep(kind) => {
                            let dep = Dep { kind, csel: false };
                            if !dialect.deps.iter().any(|(_, d)| *d == dep) {
                                return Err("there is no such dependency");
                            }
                            Kind::Dp(dep, sd, next.dir)
                        }
                    }
                }
            };
            let writes = &mut shop.writes[usize::from(loc)];
            let value = match dir {
                Dir::W => {
                    let value = writes.cells.len() as i32 + 1;
                    writes.cells.push(value);
                    value
                }
                // The value that a branch looks for.
                Dir::R => 1,
            };
            shop.events.push(Event {
                edge: Edge { kind, a1: atom, a2: None },
                dir,
                atom,
                loc,
                value,
                cell: value,
                rmw: false,
                before: 0,
                telling: true,
                inserts: [0; MAX_INSERTS],
                n_inserts: 0,
            });
        }
        shop.threads.push(shop.events.len());
    }
    Ok(())
}

/// A name made of the program's directions, locations and orders.
pub fn name(dialect: &Dialect, program: &Program) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for (t, thread) in program.iter().enumerate() {
        if t > 0 {
            out.push('+');
        }
        for access in thread {
            let dir = if access.dir == Dir::W { 'W' } else { 'R' };
            let loc = super::cycle::LOCS[usize::from(access.loc)];
            let _ = write!(out, "{dir}{loc}");
            if let Some(a) = access.atom {
                out.push_str(&dialect.atom_name(Some(a)).to_lowercase());
            }
            match access.between {
                Between::Nothing => {}
                Between::Fence => {
                    let _ = write!(
                        out,
                        "-{}-",
                        dialect.strong.map_or("fence", |f| dialect.fence(f).lower)
                    );
                }
                Between::Weak(f) => {
                    let _ = write!(out, "-{}-", dialect.fence(f).lower);
                }
                Between::Dep(kind) => {
                    let dep = dialect.dep_name(Dep { kind, csel: false }).to_lowercase();
                    let _ = write!(out, "-{dep}-");
                }
            }
        }
    }
    out
}
