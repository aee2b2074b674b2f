//! Contexts: what surrounds a function in its thread, and the other threads. Lists all of a size that can tell two
//! functions apart, smallest first.
//!
//! A context has accesses in other threads, before and after the call in the function's own thread, and within the
//! functions that it calls and does not have. An access that conflicts with none of another thread tells nothing, and
//! its context is left out. It does not know how contexts are written or simulated.

use rustc_hash::FxHashSet;

/// A place that accesses of the functions, or of contexts, have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The location, as an index into those of the setting.
    pub location: usize,
    /// The first byte.
    pub off: u32,
    /// How many bytes.
    pub size: u8,
    /// Whether a function may read it.
    pub read: bool,
    /// Whether a function may write it.
    pub written: bool,
    /// Whether a function may access it without atomics.
    pub plain: bool,
    /// Whether it holds a pointer that a function follows. Contexts only read it.
    pub pointer: bool,
}

impl Spot {
    /// Whether both have a byte in common.
    pub fn meets(&self, other: &Spot) -> bool {
        let end = |s: &Spot| s.off + u32::from(s.size);
        self.location == other.location && self.off < end(other) && other.off < end(self)
    }
}

/// The kind of an access of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A read, whose value is observed.
    Read,
    /// A read that waits until the place no longer holds what it held at first.
    Await,
    /// A write of a value.
    Write(u64),
    /// A read-modify-write that adds a value.
    Add(u64),
}

impl Kind {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Write(_) | Kind::Add(_))
    }
}

/// The order of an access of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Not atomic.
    Plain,
    /// `monotonic`
    Relaxed,
    /// `monotonic`, with a release fence behind it before the call, or an acquire fence before it after the call.
    Fenced,
    /// `seq_cst`
    Strong,
}

/// An access of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Op {
    /// The place, as an index into those of the setting.
    pub spot: usize,
    /// Its action.
    pub kind: Kind,
    /// Its order.
    pub order: Order,
}

/// The accesses in the function's own thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Around {
    /// Before the call.
    pub before: Vec<Op>,
    /// In the functions that it calls and does not have.
    pub during: Vec<Op>,
    /// After the call.
    pub after: Vec<Op>,
}

/// A context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The accesses in the function's own thread.
    pub around: Around,
    /// The accesses of each other thread.
    pub others: Vec<Vec<Op>>,
}

impl Context {
    /// How many accesses it has.
    pub fn accesses(&self) -> usize {
        let Around { before, during, after } = &self.around;
        let others: usize = self.others.iter().map(Vec::len).sum();
        before.len() + during.len() + after.len() + others
    }

    /// The same context where the accesses before and after the call have this order.
    pub fn ordered(&self, order: Order) -> Context {
        let mut out = self.clone();
        let around = &mut out.around;
        around.before.iter_mut().chain(&mut around.after).for_each(|op| op.order = order);
        out
    }

    /// The contexts in which one of the waiting reads does not wait. Those show all that this one shows.
    pub fn less_waiting(&self) -> Vec<Context> {
        let mut out = Vec::new();
        for (number, thread) in self.others.iter().enumerate() {
            for at in (0..thread.len()).filter(|at| thread[*at].kind == Kind::Await) {
                let mut less = self.clone();
                less.others[number][at].kind = Kind::Read;
                out.push(less);
            }
        }
        out
    }
}

/// How large contexts are at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Threads beside the function's own.
    pub threads: usize,
    /// Accesses in all.
    pub accesses: usize,
}

/// What is to be told apart, as far as contexts look at it.
pub struct Told<'a> {
    /// The places. Those behind the function's are for the context alone.
    pub spots: &'a [Spot],
    /// The values that a function compares with what it reads.
    pub compared: &'a [u64],
    /// Values that no function writes or compares.
    pub fresh: &'a [u64],
    /// Whether a function has a fence, which orders accesses around it without one of its own.
    pub fences: bool,
    /// Whether a function orders accesses of its thread: by a fence, a call, or an order above `monotonic`.
    pub orders: bool,
    /// Whether a function calls one that may read.
    pub reads_within: bool,
    /// Whether a function calls one that may do anything.
    pub acts_within: bool,
    /// Whether other threads access memory without atomics, too.
    pub plain: bool,
    /// Whether a function has a read-modify-write.
    pub updates: bool,
}

/// A thread of a context has at most so many accesses if there is another one: a critical cycle passes a thread with
/// two.
const IN_A_THREAD: usize = 2;
/// A thread that is the only one has at most so many: it may wait, look, and say that it has looked.
const IN_ONE_THREAD: usize = 3;

impl Told<'_> {
    /// The contexts with exactly so many accesses, in at most so many other threads.
    pub fn of_size(&self, accesses: usize, threads: usize) -> Vec<Context> {
        let mut out = Vec::new();
        let mut seen = FxHashSet::default();
        for others in 0..=accesses {
            let around = accesses - others;
            let arounds = self.arounds(around);
            if arounds.is_empty() {
                continue;
            }
            for others in self.threads_of(others, threads) {
                for around in &arounds {
                    let context = Context { around: around.clone(), others: others.clone() };
                    if !self.can_tell(&context) {
                        continue;
                    }
                    self.with_values(context, &mut seen, &mut out);
                }
            }
        }
        // Few threads are read more easily than many.
        out.sort_by_key(|c| c.others.len() + usize::from(c.others.is_empty()) * 2);
        out
    }

    /// The places that contexts of all kinds access: where the functions have one, one of the context's own is enough.
    fn usable(&self) -> usize {
        let own = self.spots.iter().filter(|s| !s.read && !s.written).count();
        let functions = self.spots.len() - own;
        if functions > 0 { functions + own.min(1) } else { own }
    }

    /// Accesses without values yet.
    fn ops(&self, own: bool) -> Vec<Op> {
        let mut out = Vec::new();
        for spot in 0..self.usable() {
            let orders: &[Order] = match (own, self.plain) {
                // Nothing orders a weaker access but its own location, and that orders a strong one as well.
                (true, _) if !self.orders => &[Order::Strong],
                (true, _) => &[Order::Relaxed, Order::Strong],
                (false, true) => &[Order::Strong, Order::Plain],
                (false, false) => &[Order::Strong],
            };
            // Where accesses may race, threads have to wait for one another.
            let waits = !own && self.spots.iter().any(|s| s.plain);
            let pointer = self.spots[spot].pointer;
            for order in orders {
                out.push(Op { spot, kind: Kind::Read, order: *order });
                if !pointer {
                    out.push(Op { spot, kind: Kind::Write(0), order: *order });
                }
            }
            if waits && !pointer && self.spots[spot].size <= 8 {
                out.push(Op { spot, kind: Kind::Await, order: Order::Strong });
            }
        }
        out
    }

    /// Contexts that are larger than others and known to tell: two threads write, meet in a read-modify-write of one
    /// place, and look at what the other one wrote. One of them comes second, and sees the write of the first.
    pub fn meetings(&self) -> Vec<Context> {
        let mut own = (0..self.spots.len()).filter(|s| {
            let spot = &self.spots[*s];
            !spot.read && !spot.written
        });
        let (true, Some(a), Some(b)) = (self.updates, own.next(), own.next()) else {
            return Vec::new();
        };
        let value = self.fresh.first().copied().unwrap_or(1);
        let meets = (0..self.spots.len()).filter(|s| {
            let spot = &self.spots[*s];
            spot.read && spot.written && !spot.pointer && spot.size <= 8
        });
        meets
            .map(|x| {
                let op = |spot, kind, order| Op { spot, kind, order };
                let around = Around {
                    before: vec![op(a, Kind::Write(value), Order::Fenced)],
                    during: Vec::new(),
                    after: vec![op(b, Kind::Read, Order::Fenced)],
                };
                let other = vec![
                    op(b, Kind::Write(value), Order::Strong),
                    op(x, Kind::Add(value), Order::Strong),
                    op(a, Kind::Read, Order::Strong),
                ];
                Context { around, others: vec![other] }
            })
            .collect()
    }

    /// Ways to have so many accesses around the call, at most one at each place.
    fn arounds(&self, count: usize) -> Vec<Around> {
        let none = || vec![Vec::new()];
        let one: Vec<Vec<Op>> = self.ops(true).into_iter().map(|op| vec![op]).collect();
        let within: Vec<Vec<Op>> = match (self.acts_within, self.reads_within) {
            (true, _) => self
                .ops(true)
                .into_iter()
                .filter(|op| op.order == Order::Strong)
                .map(|op| vec![op])
                .collect(),
            (false, true) => {
                let plain = |spot| vec![Op { spot, kind: Kind::Read, order: Order::Plain }];
                (0..self.usable()).map(plain).collect()
            }
            (false, false) => Vec::new(),
        };
        let mut out = Vec::new();
        for places in 0..8usize {
            if places.count_ones() as usize != count {
                continue;
            }
            let choose = |bit: usize, list: &Vec<Vec<Op>>| match places & bit {
                0 => none(),
                _ => list.clone(),
            };
            for before in choose(1, &one) {
                for during in choose(4, &within) {
                    for after in choose(2, &one) {
                        let during = during.clone();
                        out.push(Around { before: before.clone(), during, after });
                    }
                }
            }
        }
        out
    }

    /// Ways to have so many accesses in other threads, up to their order.
    fn threads_of(&self, count: usize, threads: usize) -> Vec<Vec<Vec<Op>>> {
        let ops = self.ops(false);
        // To wait with nothing behind it shows a part of what a read there shows.
        let last: Vec<Op> = ops.iter().copied().filter(|op| op.kind != Kind::Await).collect();
        let mut bodies: Vec<Vec<Op>> =
            last.iter().copied().chain(self.adds()).map(|op| vec![op]).collect();
        for a in &ops {
            bodies.extend(last.iter().map(|b| vec![*a, *b]));
        }
        debug_assert!(bodies.iter().all(|b| b.len() <= IN_A_THREAD));
        let mut out = Vec::new();
        if count == IN_ONE_THREAD && threads > 0 {
            for a in &ops {
                for b in ops.iter().copied().chain(self.adds()) {
                    out.extend(last.iter().map(|c| vec![vec![*a, b, *c]]));
                }
            }
        }
        fn extend(
            bodies: &[Vec<Op>],
            from: usize,
            left: usize,
            threads: usize,
            so_far: &mut Vec<Vec<Op>>,
            out: &mut Vec<Vec<Vec<Op>>>,
        ) {
            if left == 0 {
                out.push(so_far.clone());
                return;
            }
            if threads == 0 {
                return;
            }
            for at in from..bodies.len() {
                if bodies[at].len() <= left {
                    so_far.push(bodies[at].clone());
                    extend(bodies, at, left - bodies[at].len(), threads - 1, so_far, out);
                    so_far.pop();
                }
            }
        }
        extend(&bodies, 0, count, threads, &mut Vec::new(), &mut out);
        out
    }

    /// Read-modify-writes, where the functions have some.
    fn adds(&self) -> impl Iterator<Item = Op> {
        let updated = |s: &usize| {
            let spot = &self.spots[*s];
            self.updates && spot.read && spot.written && !spot.pointer
        };
        let op = |spot| Op { spot, kind: Kind::Add(0), order: Order::Strong };
        (0..self.spots.len()).filter(updated).map(op)
    }

    /// Whether each access conflicts with one of another thread, and the whole has to do with the function.
    fn can_tell(&self, context: &Context) -> bool {
        let Around { before, during, after } = &context.around;
        let own = || before.iter().chain(during).chain(after);
        let mut list: Vec<(usize, &Op)> = own().map(|op| (0, op)).collect();
        for (i, thread) in context.others.iter().enumerate() {
            list.extend(thread.iter().map(|op| (i + 1, op)));
        }
        let mut touches = list.is_empty();
        for (thread, op) in &list {
            let spot = &self.spots[op.spot];
            let writes = op.kind.writes();
            let among = list.iter().any(|(other, o)| {
                other != thread && self.spots[o.spot].meets(spot) && (writes || o.kind.writes())
            });
            let function = |s: &Spot| s.meets(spot) && (s.written || writes && s.read);
            let with_function = self.spots.iter().any(function);
            touches |= with_function && *thread != 0;
            if !among && (*thread == 0 || !with_function) {
                return false;
            }
        }
        // Without an access of the function, it is between two accesses that it may order.
        touches || (self.fences && !before.is_empty() && !after.is_empty()) || !during.is_empty()
    }

    /// The context with each choice of the values that it writes.
    fn with_values(&self, context: Context, seen: &mut FxHashSet<Context>, out: &mut Vec<Context>) {
        let mut slots = 0;
        each_op(&context, |op| slots += usize::from(op.kind.writes()));
        let choices = 1 + self.compared.len();
        let mut total = 1usize;
        for _ in 0..slots {
            total = total.saturating_mul(choices);
        }
        for mut number in 0..total {
            let mut made = context.clone();
            let mut fresh = self.fresh.iter();
            let mut set = |op: &mut Op| {
                let chosen = number % choices;
                number /= choices;
                let next = fresh.next().copied().unwrap_or(1);
                // A value that is compared matters where the function reads.
                let value = match chosen {
                    0 => next,
                    n => self.compared[n - 1],
                };
                let read = self.spots.iter().any(|s| s.read && s.meets(&self.spots[op.spot]));
                let value = if chosen > 0 && !read { return false } else { value };
                match &mut op.kind {
                    Kind::Read | Kind::Await => {}
                    Kind::Write(v) | Kind::Add(v) => *v = value,
                }
                true
            };
            let Around { before, during, after } = &mut made.around;
            let own = before.iter_mut().chain(during).chain(after);
            let all = own.chain(made.others.iter_mut().flatten());
            let mut good = true;
            for op in all.filter(|op| op.kind.writes()) {
                good &= set(op);
            }
            if good && seen.insert(made.clone()) {
                out.push(made);
            }
        }
    }
}

fn each_op(context: &Context, mut f: impl FnMut(&Op)) {
    let Around { before, during, after } = &context.around;
    before.iter().chain(during).chain(after).for_each(&mut f);
    context.others.iter().flatten().for_each(&mut f);
}
