//! Draws tests as moves: a scene, which says what the shared memory is, and for each thread a few of the
//! idioms that compilers write. It does not know dialects but for their [`Facts`].

use super::facts::{Facts, POINTER};
use super::{
    Addr, Base, Drawn, DrawnPlace, Form, Initial, Move, Op, Operand, Order, Reg, Status, UpdateOp,
};
use crate::exec::Rng;
use litmake::litmus::Arch;

/// The shared memory of a test, besides two locations that every thread can access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// Nothing else.
    Two,
    /// The two are neighbours in one array.
    Neighbours,
    /// A table that is read, and written by no thread, by one, or by all.
    Table(Writers),
    /// A pointer.
    Pointer { tagged: bool },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writers {
    None,
    Owner,
    All,
}

const TABLE: usize = 2;

struct Draw<'r> {
    rng: &'r mut Rng,
    facts: &'r Facts,
    scene: Scene,
    places: Vec<DrawnPlace>,
    /// The two shared locations: each a place, and where in it.
    shared: [(usize, i64); 2],
    size: u8,
    slot: u8,
    /// Values that are stored.
    pool: Vec<i64>,
    /// The bytes of an element of the table, as indices count them.
    step: i64,
    /// Of the thread that is drawn: its moves, and the registers that hold something.
    moves: Vec<Move>,
    read: Vec<Reg>,
    holds_pointer: bool,
    /// Whether an access of the test is to a part of a location, or to two.
    mixed: bool,
    owner: usize,
    thread: usize,
    /// Each thread accesses the two locations once, in turn, with something between that may order them.
    turns: bool,
}

pub fn test(rng: &mut Rng, facts: &Facts) -> Drawn {
    let mut draw = Draw::new(rng, facts);
    let threads = if draw.rng.one_in(4) { 3 } else { 2 };
    let same = draw.rng.one_in(8);
    draw.owner = draw.rng.below(threads);
    let mut lengths = vec![1; threads];
    for _ in 0..draw.rng.below(6 - threads) {
        lengths[draw.rng.below(threads)] += 1;
    }
    let mut drawn = Drawn {
        places: Vec::new(),
        threads: Vec::new(),
        slot: draw.slot,
        seen: Vec::new(),
        registers: Vec::new(),
        tagged: draw.scene == Scene::Pointer { tagged: true },
        parts: false,
    };
    for (thread, length) in lengths.into_iter().enumerate() {
        if same && thread > 0 {
            drawn.threads.push(drawn.threads[0].clone());
            drawn.registers.push(drawn.registers[0].clone());
            continue;
        }
        let (moves, registers) = draw.thread(thread, length);
        drawn.threads.push(moves);
        drawn.registers.push(registers);
    }
    // A few of the registers and of the memory; what is not observed may be left out by an engine.
    for registers in &mut drawn.registers {
        registers.sort_unstable();
        registers.dedup();
        if draw.rng.one_in(4) {
            registers.truncate(1);
        }
    }
    let elem = |place: usize, off: i64| (off / i64::from(draw.places[place].elem)) as usize;
    drawn.seen = draw.shared.iter().map(|(p, off)| (*p, elem(*p, *off))).collect();
    match draw.scene {
        Scene::Table(writers) if writers != Writers::None => {
            drawn.seen.extend(draw.pool.iter().map(|i| (TABLE, (i / draw.step) as usize)));
        }
        _ => {}
    }
    drawn.seen.sort_unstable();
    drawn.seen.dedup();
    drawn.parts = draw.mixed;
    drawn.places = draw.places;
    drawn
}

impl<'r> Draw<'r> {
    fn new(rng: &'r mut Rng, facts: &'r Facts) -> Draw<'r> {
        let tables = [Writers::None, Writers::Owner, Writers::All];
        let scene = match rng.below(12) {
            0..=2 => Scene::Two,
            3 | 4 if !(facts.plain && facts.arch == Arch::C) => Scene::Neighbours,
            5..=8 if facts.tables => Scene::Table(tables[rng.below(3)]),
            9 | 10 if facts.pointers => Scene::Pointer { tagged: false },
            11 if facts.tags => Scene::Pointer { tagged: true },
            _ => Scene::Two,
        };
        // Indices and pointers want an integer of the machine's size now and then, words mostly.
        let size = match facts.sizes {
            [one] => *one,
            // herd's addresses have no parts.
            _ if facts.plain && matches!(scene, Scene::Pointer { .. }) => facts.word,
            all if rng.one_in(3) => all[rng.below(all.len())],
            _ => 4,
        };
        let c = facts.arch == Arch::C;
        let place = |name: &str, elem, init: Vec<i64>, atomic| DrawnPlace {
            name: name.to_string(),
            elem,
            init: init.into_iter().map(Initial::Int).collect(),
            atomic,
        };
        let start = |rng: &mut Rng| if rng.one_in(4) { 1 + rng.below(2) as i64 } else { 0 };
        let (mut places, mut shared) = (Vec::new(), [(0, 0), (1, 0)]);
        if scene == Scene::Neighbours {
            places.push(place("a", size, vec![start(rng), start(rng)], true));
            shared = [(0, 0), (0, i64::from(size))];
        } else {
            // An index starts as one.
            let zero = matches!(scene, Scene::Table(_));
            let mut value = || if zero { 0 } else { start(rng) };
            places.push(place("x", size, vec![value()], true));
            places.push(place("y", size, vec![value()], true));
        }
        let (mut step, mut length) = (1, 0);
        match scene {
            Scene::Table(writers) => {
                let elem =
                    if rng.one_in(3) { facts.sizes[rng.below(facts.sizes.len())] } else { size };
                length = [2, 3, 4, 20][rng.below(4)];
                step = if c { 1 } else { i64::from(elem) };
                let repeated = rng.one_in(3);
                let init = (0..length).map(|i| if repeated { 1 } else { i % 100 + 1 }).collect();
                let atomic = writers == Writers::All && !rng.one_in(4);
                places.push(place("t", elem, init, atomic));
            }
            Scene::Pointer { .. } => {
                let mut pointer = place("q", facts.word, Vec::new(), true);
                pointer.init.push(Initial::At(rng.below(2)));
                places.push(pointer);
            }
            Scene::Two | Scene::Neighbours => {}
        }
        let pool = match scene {
            Scene::Table(_) => {
                let mut pool: Vec<i64> = (0..1 + rng.below(2))
                    .map(|_| rng.below(length as usize) as i64 * step)
                    .collect();
                // An offset that is not a multiple of the element's size.
                if !c && !facts.plain && step > 1 && length > 2 && rng.one_in(4) {
                    pool.push(step / 2);
                }
                pool
            }
            _ => {
                let small: [&[i64]; 4] = [&[1, 2], &[1], &[1, 2, 3], &[2, 1]];
                let odd: [&[i64]; 4] = [&[-1, 1], &[0x80, 1], &[0x1234, 0x34], &[-128]];
                let odd = if rng.one_in(4) && !facts.plain { odd } else { small };
                odd[rng.below(odd.len())].to_vec()
            }
        };
        // A byte takes no large numbers.
        let most = if size == 1 { 127 } else { i64::MAX };
        let pool = pool.into_iter().filter(|v| *v <= most).collect::<Vec<_>>();
        Draw {
            slot: if size == 8 || rng.one_in(4) && facts.word == 8 { 8 } else { 4 },
            pool: if pool.is_empty() { vec![1] } else { pool },
            moves: Vec::new(),
            read: Vec::new(),
            holds_pointer: false,
            mixed: false,
            owner: 0,
            thread: 0,
            turns: matches!(scene, Scene::Two | Scene::Neighbours) && rng.one_in(2),
            rng,
            facts,
            scene,
            places,
            shared,
            size,
            step,
        }
    }

    fn thread(&mut self, thread: usize, length: usize) -> (Vec<Move>, Vec<Reg>) {
        self.thread = thread;
        self.read.clear();
        self.holds_pointer = false;
        if self.turns {
            self.turn();
            return (std::mem::take(&mut self.moves), self.read.clone());
        }
        for item in 0..length {
            // The scene is played first: one thread stores an index or an address, others use it.
            match self.scene {
                Scene::Table(_) if item == 0 && thread != self.owner => {
                    let from = Operand::Const(self.constant());
                    let order = self.one_of(self.facts.stores);
                    let (at, size) = self.index_place();
                    self.moves.push(Move::Store { from, at, size, order, reversed: false });
                }
                Scene::Table(_) if item == 0 => self.look_up(),
                Scene::Pointer { tagged } if item == 0 && thread != self.owner => {
                    self.point(tagged)
                }
                Scene::Pointer { tagged } if item == 0 => self.follow(tagged),
                _ => self.item(true),
            }
        }
        (std::mem::take(&mut self.moves), self.read.clone())
    }

    /// Two accesses, of which the second may depend on the first, through private memory or not.
    fn turn(&mut self) {
        let at = |draw: &Draw, which: usize| {
            let (place, off) = draw.shared[which % 2];
            Addr { base: Base::Place(place), index: None, off }
        };
        let first = at(self, self.thread);
        if self.rng.one_in(3) {
            let value = Operand::Const(self.constant());
            self.store(value, first, self.size);
        } else {
            self.load(first, self.size);
        }
        for _ in 0..1 + self.rng.below(3) {
            match self.rng.below(6) {
                0 | 1 => {
                    self.fence();
                }
                2 | 3 => {
                    let slot = Addr { base: Base::Slot, index: None, off: 0 };
                    self.load_slot(slot);
                }
                4 => self.spill(),
                _ => {}
            }
        }
        let before = std::mem::take(&mut self.moves);
        let mut second = at(self, self.thread + 1);
        let mut value = Operand::Const(self.constant());
        if let Some(a) = self.read.last().copied()
            && !self.rng.one_in(3)
        {
            let to = self.fresh();
            self.moves.push(Move::Compute { op: Op::Xor, to, a, b: Operand::Reg(a) });
            if self.rng.one_in(2) && !(self.facts.plain && self.facts.arch == Arch::C) {
                second.index = Some(to);
            } else if let Operand::Const(v) = value {
                self.moves.push(Move::Compute {
                    op: Op::Add,
                    to,
                    a: to,
                    b: Operand::Const(v.clamp(0, 100)),
                });
                value = Operand::Reg(to);
            }
        }
        if self.rng.one_in(3) {
            self.load(second, self.size);
        } else {
            self.store(value, second, self.size);
        }
        let then = std::mem::replace(&mut self.moves, before);
        match self.read.first().copied() {
            Some(on) if self.rng.one_in(6) => {
                let is = self.rng.below(2) as i64;
                self.moves.push(Move::If { on, is, then });
            }
            _ => self.moves.extend(then),
        }
    }

    /// A fence, where the dialect has one.
    fn fence(&mut self) {
        if !self.facts.fences.is_empty() {
            let fence = self.one_of(self.facts.fences);
            self.moves.push(Move::Fence(fence));
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.below(all.len())]
    }

    fn constant(&mut self) -> i64 {
        self.pool[self.rng.below(self.pool.len())]
    }

    fn fresh(&mut self) -> Reg {
        let r = (self.read.len() % usize::from(self.facts.values)) as Reg;
        self.read.push(r);
        r
    }

    /// A register with a value; none where nothing was read.
    fn old(&mut self) -> Option<Reg> {
        (!self.read.is_empty()).then(|| self.read[self.rng.below(self.read.len())])
    }

    /// The value of a store: a constant, a value that was read, or the result of an operation on one.
    fn value(&mut self) -> Operand {
        match self.old() {
            Some(r) if self.rng.one_in(3) => Operand::Reg(r),
            Some(a) if self.rng.one_in(3) => {
                let to = self.fresh();
                let op = self.one_of(&[Op::Add, Op::Sub, Op::Xor, Op::And, Op::Or]);
                // herd7 has results below 0 of which it is not clear how wide they are.
                let op = if self.facts.plain && op == Op::Sub { Op::Add } else { op };
                let b = match op {
                    // Then nothing is left of the value but the dependency.
                    Op::Xor | Op::Sub if self.rng.one_in(2) => Operand::Reg(a),
                    Op::Sub => Operand::Const(1),
                    _ => Operand::Const(1 + self.rng.below(2) as i64),
                };
                self.moves.push(Move::Compute { op, to, a, b });
                Operand::Reg(to)
            }
            _ => Operand::Const(self.constant()),
        }
    }

    fn index_place(&self) -> (Addr, u8) {
        let (place, off) = self.shared[0];
        (Addr { base: Base::Place(place), index: None, off }, self.size)
    }

    /// One of the shared locations, or a part of it, or both neighbours; its address may depend on a read.
    fn place(&mut self) -> (Addr, u8) {
        let c = self.facts.arch == Arch::C;
        let which = self.rng.below(2);
        let (place, mut off) = self.shared[which];
        let mut size = self.size;
        let own = size;
        if !c && self.parts() && self.rng.one_in(5) {
            size = self.facts.sizes[self.rng.below(self.facts.sizes.len())];
        }
        match self.scene {
            Scene::Neighbours if size > own => {
                off = 0;
                size = size.min(2 * own);
            }
            _ => size = size.min(own),
        }
        if size < own && self.rng.one_in(2) {
            off += i64::from(own - size);
        }
        self.mixed |= size != own;
        let mut index = None;
        if let Some(a) = self.old()
            && self.rng.one_in(5)
        {
            let to = self.fresh();
            self.moves.push(Move::Compute { op: Op::Xor, to, a, b: Operand::Reg(a) });
            index = Some(to);
        }
        (Addr { base: Base::Place(place), index, off }, size)
    }

    /// Whether accesses may be to parts of locations.
    fn parts(&self) -> bool {
        // herd7's addresses have no parts, and its Power is big-endian.
        let whole = self.facts.plain
            && (matches!(self.scene, Scene::Pointer { .. }) || self.facts.arch == Arch::Ppc);
        self.facts.sizes.len() > 1 && !whole
    }

    fn form(&mut self, size: u8) -> Form {
        match self.rng.below(6) {
            0 if self.facts.signed && size < self.facts.word => Form::Signed,
            1 if self.facts.reversed && size > 1 && size <= self.facts.word => Form::Reversed,
            _ => Form::Unsigned,
        }
    }

    fn load(&mut self, at: Addr, size: u8) -> Reg {
        let order = self.one_of(self.facts.loads);
        let form = if order == Order::Plain { self.form(size) } else { Form::Unsigned };
        let to = self.fresh();
        self.moves.push(Move::Load { to, at, size, order, form });
        to
    }

    fn store(&mut self, from: Operand, at: Addr, size: u8) {
        let order = self.one_of(self.facts.stores);
        let reversed = order == Order::Plain
            && matches!(from, Operand::Reg(_))
            && self.form(size) == Form::Reversed;
        self.moves.push(Move::Store { from, at, size, order, reversed });
    }

    /// An access to the table with an index that was read.
    fn look_up(&mut self) {
        let Scene::Table(writers) = self.scene else { return };
        let (at, size) = self.index_place();
        let order = self.one_of(self.facts.loads);
        let index = self.fresh();
        self.moves.push(Move::Load { to: index, at, size, order, form: Form::Unsigned });
        let mut used = index;
        if self.rng.one_in(5) {
            // A bound, as code has it that checks an index.
            used = self.fresh();
            let b = Operand::Const(self.pool.iter().fold(0, |all, v| all | v));
            self.moves.push(Move::Compute { op: Op::And, to: used, a: index, b });
        }
        let at = Addr { base: Base::Place(TABLE), index: Some(used), off: 0 };
        let elem = self.places[TABLE].elem;
        let writes =
            writers == Writers::All || writers == Writers::Owner && self.thread == self.owner;
        if writes && self.rng.one_in(2) {
            let value = self.value();
            self.store(value, at, elem);
            if self.rng.one_in(2) {
                // A value that was stored is read at a known place.
                let off = self.constant();
                self.load(Addr { index: None, off, ..at }, elem);
            }
        } else {
            self.load(at, elem);
        }
    }

    /// Stores the address of a location.
    fn point(&mut self, tagged: bool) {
        let place = self.rng.below(2);
        self.moves.push(Move::Take { to: POINTER, place });
        if tagged {
            let b = Operand::Const(1);
            self.moves.push(Move::Compute { op: Op::Or, to: POINTER, a: POINTER, b });
        }
        let at = Addr { base: Base::Place(TABLE), index: None, off: 0 };
        let (order, size) = (self.one_of(self.facts.stores), self.facts.word);
        self.moves.push(Move::Store {
            from: Operand::Reg(POINTER),
            at,
            size,
            order,
            reversed: false,
        });
    }

    /// Loads an address and accesses what is there.
    fn follow(&mut self, tagged: bool) {
        let at = Addr { base: Base::Place(TABLE), index: None, off: 0 };
        let (order, size) = (self.one_of(self.facts.loads), self.facts.word);
        self.moves.push(Move::Load { to: POINTER, at, size, order, form: Form::Unsigned });
        self.holds_pointer = true;
        if self.slot == self.facts.word && self.facts.arch != Arch::C && self.rng.one_in(3) {
            // The address goes through the stack slot.
            let at = Addr { base: Base::Slot, ..at };
            let (from, order) = (Operand::Reg(POINTER), Order::Plain);
            self.moves.push(Move::Store { from, at, size, order, reversed: false });
            self.moves.push(Move::Load { to: POINTER, at, size, order, form: Form::Unsigned });
        }
        if tagged {
            let to = self.fresh();
            self.moves.push(Move::Compute { op: Op::And, to, a: POINTER, b: Operand::Const(1) });
            let b = Operand::Const(-2);
            self.moves.push(Move::Compute { op: Op::And, to: POINTER, a: POINTER, b });
        }
        let at = Addr { base: Base::Pointer(POINTER), index: None, off: 0 };
        if self.rng.one_in(2) {
            self.load(at, self.size);
        } else {
            let value = self.value();
            self.store(value, at, self.size);
        }
    }

    /// A value goes through the thread's stack slot, as in code that is not optimised.
    fn spill(&mut self) {
        let value = self.value();
        let at = Addr { base: Base::Slot, index: None, off: 0 };
        self.moves.push(Move::Store {
            from: value,
            at,
            size: self.slot,
            order: Order::Plain,
            reversed: false,
        });
        if self.rng.one_in(3) {
            self.fence();
        }
        self.load_slot(at);
    }

    fn load_slot(&mut self, at: Addr) {
        let c = self.facts.arch == Arch::C;
        let size = if !c && self.parts() && self.rng.one_in(5) { 1 } else { self.slot };
        self.mixed |= size != self.slot;
        let to = self.fresh();
        self.moves.push(Move::Load { to, at, size, order: Order::Plain, form: Form::Unsigned });
    }

    /// The moves of one more item, apart.
    fn inner(&mut self) -> Vec<Move> {
        let before = std::mem::take(&mut self.moves);
        self.item(false);
        std::mem::replace(&mut self.moves, before)
    }

    /// A size that read-modify-writes have.
    fn whole(&self) -> u8 {
        match self.facts.arch {
            Arch::Ppc if self.facts.plain => 4,
            // The register for the parts of a move has no byte.
            Arch::X86 => self.size.max(2),
            Arch::RiscV | Arch::Ppc | Arch::Mips | Arch::LoongArch | Arch::Bpf => self.size.max(4),
            _ => self.size,
        }
    }

    fn item(&mut self, outer: bool) {
        match self.rng.below(24) {
            0..=4 => {
                let (at, size) = self.place();
                self.load(at, size);
            }
            5..=9 => {
                let value = self.value();
                let (at, size) = self.place();
                self.store(value, at, size);
            }
            10 | 11 => {
                self.fence();
            }
            12 | 13 => self.spill(),
            14 | 15 if outer => self.update(),
            16 | 17 if outer => self.pair(),
            18 if outer && self.size >= 4 => {
                let (at, size) = self.index_place();
                let order = self.one_of(self.facts.loads);
                let counter = self.rng.one_in(2).then(|| self.fresh());
                let to = self.fresh();
                let counter = counter.filter(|c| *c != to);
                self.moves.push(Move::Retry { to, counter, at, size, order });
            }
            19 | 20 if outer && !self.read.is_empty() => {
                let on = self.read[self.rng.below(self.read.len())];
                let is = self.rng.below(2) as i64;
                let full = self.facts.plain && self.facts.arch == Arch::C;
                let then = if !full && self.rng.one_in(3) { Vec::new() } else { self.inner() };
                let empty = then.is_empty();
                self.moves.push(Move::If { on, is, then });
                if empty {
                    self.item(false);
                }
            }
            21 if self.facts.selects && !self.read.is_empty() => {
                let on = self.read[self.rng.below(self.read.len())];
                let other = self.fresh();
                let value = self.constant();
                self.moves.push(Move::Set { to: other, value });
                let to = self.fresh();
                if to != other && to != on && other != on {
                    self.moves.push(Move::Set { to, value: 0 });
                    self.moves.push(Move::Select { to, on, is: self.rng.below(2) as i64, other });
                }
            }
            22 if matches!(self.scene, Scene::Table(_)) => match self.scene {
                Scene::Table(Writers::Owner) if self.thread != self.owner => {}
                _ => self.look_up(),
            },
            _ if self.holds_pointer => {
                let at = Addr { base: Base::Pointer(POINTER), index: None, off: 0 };
                let size = self.size;
                self.load(at, size);
            }
            _ => {
                let (at, size) = self.place();
                self.load(at, size);
            }
        }
    }

    fn update(&mut self) {
        let facts = self.facts;
        let (at, _) = self.index_place();
        let size = self.whole();
        if size != self.size || !facts.updates && !facts.compares {
            return self.pair();
        }
        let order = self.one_of(facts.both);
        if facts.compares && self.rng.one_in(3) {
            let new = self.value();
            // x86 has one register for it.
            let expected = 0;
            let value = self.rng.below(2) as i64;
            self.read.push(expected);
            let new = match new {
                Operand::Reg(r) if r == expected => Operand::Const(1),
                new => new,
            };
            self.moves.push(Move::Set { to: expected, value });
            self.moves.push(Move::Compare { expected, new, at, size, order });
            return;
        }
        let from = self.value();
        let to = self.fresh();
        let from = match from {
            Operand::Reg(r) if r == to => Operand::Const(1),
            from => from,
        };
        let op = self.one_of(&[UpdateOp::Swap, UpdateOp::Add, UpdateOp::Or, UpdateOp::Xor]);
        self.moves.push(Move::Update { op, to, from, at, size, order });
    }

    fn pair(&mut self) {
        let size = self.whole();
        if !self.facts.pairs || size != self.size {
            if self.facts.updates && size == self.size {
                return self.update();
            }
            return self.fence();
        }
        let (at, _) = self.index_place();
        let order = self.one_of(self.facts.both);
        let from = self.value();
        let to = self.fresh();
        let from = match from {
            Operand::Reg(r) if r == to && self.rng.one_in(2) => Operand::Const(2),
            from => from,
        };
        let status = match self.rng.below(4) {
            0 => Status::Ignored,
            1 => match self.fresh() {
                r if r == to => Status::Ignored,
                r => Status::Kept(r),
            },
            2 => Status::Done(self.inner()),
            _ => Status::Again,
        };
        self.moves.push(Move::Pair { to, from, at, size, order, status });
    }
}

/// The numbers of operations that multiply the executions.
#[derive(Default)]
struct Count {
    loads: u32,
    stores: u32,
    open: u32,
    branches: u32,
}

impl Drawn {
    /// About how many executions the reference goes through.
    pub(super) fn weight(&self) -> u64 {
        let mut all = Count::default();
        for moves in &self.threads {
            count(moves, &mut all);
        }
        let stores = u64::from(all.stores);
        // A load can read from each store to its location, which is every second one, and half of the
        // orders of stores to one location.
        let sources = (1 + stores.div_ceil(2)).saturating_pow(all.loads);
        let orders: u64 = (1..=stores.div_ceil(2)).product::<u64>();
        let elements: usize = self.places.iter().map(|p| p.init.len()).sum();
        let open = (elements as u64).min(6).saturating_pow(all.open);
        sources.saturating_mul(orders).saturating_mul(open).saturating_mul(1 << all.branches.min(8))
    }
}

fn count(moves: &[Move], all: &mut Count) {
    for m in moves {
        let mut slot = false;
        match m {
            Move::Load { at, .. } => {
                slot = at.base == Base::Slot;
                all.loads += u32::from(!slot);
                open(at, all);
            }
            Move::Store { at, .. } => {
                slot = at.base == Base::Slot;
                all.stores += u32::from(!slot);
                open(at, all);
            }
            Move::Update { .. } | Move::Compare { .. } => {
                all.loads += 1;
                all.stores += 1;
            }
            Move::Pair { status, .. } => {
                all.loads += 1;
                all.stores += 1;
                all.branches += 1;
                if let Status::Done(then) = status {
                    count(then, all);
                }
            }
            Move::If { then, .. } => {
                all.branches += 1;
                count(then, all);
            }
            Move::Retry { .. } => all.loads += 2,
            _ => {}
        }
        if slot {
            all.branches += 1;
        }
    }
}

fn open(at: &Addr, all: &mut Count) {
    all.open += u32::from(
        matches!(at.base, Base::Pointer(_)) || at.base == Base::Place(TABLE) && at.index.is_some(),
    );
}
