//! SPIR-V of the pass that runs a test, word by word: the same work as the pass `test` of
//! [`super::wgsl`], with what WGSL has no words for: fences that are no barriers of execution,
//! accesses that acquire and release, how far each of them reaches, and the Vulkan memory model.
//!
//! It does not know which devices take what it writes.

mod words;

#[cfg(test)]
mod tests;

use words::{Id, Module, class, decoration, op};

use super::environment::{Scheme, WORKGROUP};
use super::program::{MAX_LOCATIONS, Op, Operand, Order, Program, RmwOp};
use super::variant::{MemoryModel, Scope, Variant};
use super::wgsl::{Memory, Params, Reach, Shape, UNSET, view, workgroup_stride};

/// Where things are in [`Params`], in words.
mod param {
    pub const TESTING: u32 = 0;
    pub const INSTANCES: u32 = 1;
    pub const BASE: u32 = 2;
    pub const SLOT: u32 = 3;
    pub const SPAN: u32 = 4;
    pub const PERMUTE_FIRST: u32 = 5;
    pub const BARRIER: u32 = 6;
    pub const BARRIER_TARGET: u32 = 7;
    pub const SPIN_LIMIT: u32 = 8;
    pub const MEM_STRESS: u32 = 9;
    pub const MEM_ITERATIONS: u32 = 10;
    pub const MEM_PATTERN: u32 = 11;
    pub const PRE_STRESS: u32 = 12;
    pub const PRE_ITERATIONS: u32 = 13;
    pub const PRE_PATTERN: u32 = 14;
    pub const SINGLE: u32 = 15;
    pub const PERMUTE: u32 = 16;
    pub const OFFSET: u32 = 24;
}

/// Bindings.
const MEMORY: usize = 0;
const RESULTS: usize = 1;
const SHUFFLED: usize = 2;
const SCRATCH_WORDS: usize = 3;
const SCRATCH: usize = 4;
const ARRIVALS: usize = 5;
const PARAMS: u32 = 7;

/// An access that no compiler may leave out.
const VOLATILE: u32 = 1;

/// Bits of memory semantics.
mod semantics {
    pub const ACQUIRE: u32 = 0x2;
    pub const RELEASE: u32 = 0x4;
    pub const ACQUIRE_RELEASE: u32 = 0x8;
    pub const STORAGE: u32 = 0x40;
    pub const WORKGROUP: u32 = 0x100;
    pub const MAKE_AVAILABLE: u32 = 0x2000;
    pub const MAKE_VISIBLE: u32 = 0x4000;
}

/// The module of a test; its entry point is `test`.
pub fn module(program: &Program, shape: &Shape, variant: Variant) -> Vec<u32> {
    Writer::new(program, shape, variant).all()
}

fn scope_word(scope: Scope) -> u32 {
    match scope {
        Scope::Device => 1,
        Scope::Workgroup => 2,
        Scope::Subgroup => 3,
        Scope::QueueFamily => 5,
    }
}

struct Writer<'a> {
    program: &'a Program,
    shape: &'a Shape,
    bounds: bool,
    model: MemoryModel,
    m: Module,
    /// GLSL's functions, where something is kept in bounds.
    functions: Id,
    /// Storage buffers by binding.
    buffers: [Id; 6],
    params: Id,
    /// Workgroup memory, and how many words it has.
    near: Option<(Id, u32)>,
    stress: Id,
    /// Values of registers, in order, as far as they have one.
    registers: Vec<Option<Id>>,
}

/// A place that an access goes to.
type Pointer = Id;

impl<'a> Writer<'a> {
    fn new(program: &'a Program, shape: &'a Shape, variant: Variant) -> Writer<'a> {
        Writer {
            program,
            shape,
            bounds: variant.bounds,
            model: variant.memory_model(),
            m: Module::default(),
            functions: 0,
            buffers: [0; 6],
            params: 0,
            near: None,
            stress: 0,
            registers: vec![None; program.registers.len()],
        }
    }

    fn all(mut self) -> Vec<u32> {
        self.m.capability(1);
        if self.shape.scope == Scope::Subgroup {
            self.m.capability(61);
        }
        match self.model {
            MemoryModel::Glsl450 => self.m.memory_model(1),
            MemoryModel::Vulkan => {
                self.m.capability(5345);
                if self.shape.scope == Scope::Device {
                    self.m.capability(5346);
                }
                self.m.extension("SPV_KHR_vulkan_memory_model");
                self.m.memory_model(3);
            }
        }
        if self.bounds {
            self.functions = self.m.import("GLSL.std.450");
        }
        self.variables();
        self.stress = self.stress_function();
        self.entry();
        self.m.words()
    }

    fn variables(&mut self) {
        let m = &mut self.m;
        let u32 = m.u32();
        let array = m.own_ty(op::TYPE_RUNTIME_ARRAY, &[u32]);
        m.decorate(array, &[decoration::ARRAY_STRIDE, 4]);
        let buffer = m.own_ty(op::TYPE_STRUCT, &[array]);
        m.decorate(buffer, &[decoration::BLOCK]);
        m.decorate_member(buffer, 0, &[decoration::OFFSET, 0]);
        for (binding, slot) in self.buffers.iter_mut().enumerate() {
            *slot = m.global(class::STORAGE_BUFFER, buffer);
            m.decorate(*slot, &[decoration::DESCRIPTOR_SET, 0]);
            m.decorate(*slot, &[decoration::BINDING, binding as u32]);
            if let SHUFFLED | SCRATCH_WORDS = binding {
                m.decorate(*slot, &[decoration::NON_WRITABLE]);
            }
        }
        let four = m.ty(op::TYPE_VECTOR, &[u32, 4]);
        let rows = m.number((Params::BYTES / 16) as u32);
        let table = m.own_ty(op::TYPE_ARRAY, &[four, rows]);
        m.decorate(table, &[decoration::ARRAY_STRIDE, 16]);
        let block = m.own_ty(op::TYPE_STRUCT, &[table]);
        m.decorate(block, &[decoration::BLOCK]);
        m.decorate_member(block, 0, &[decoration::OFFSET, 0]);
        self.params = m.global(class::UNIFORM, block);
        m.decorate(self.params, &[decoration::DESCRIPTOR_SET, 0]);
        m.decorate(self.params, &[decoration::BINDING, PARAMS]);
        if self.shape.memory == Memory::Workgroup {
            let words =
                WORKGROUP * self.program.locations.len() as u32 * workgroup_stride(self.program);
            let length = m.number(words);
            let array = m.ty(op::TYPE_ARRAY, &[u32, length]);
            self.near = Some((m.global(class::WORKGROUP, array), words));
        }
    }

    /// A built-in variable with what it holds; of a vector the first.
    fn built_in(&mut self, which: u32, is_vector: bool, inputs: &[(u32, Id)]) -> Id {
        let Some((_, variable)) = inputs.iter().find(|(w, _)| *w == which) else { return 0 };
        let u32 = self.m.u32();
        if !is_vector {
            return self.m.get(op::LOAD, u32, &[*variable]);
        }
        let (pointer, zero) = (self.m.pointer(class::INPUT, u32), self.m.number(0));
        let first = self.m.get(op::ACCESS_CHAIN, pointer, &[*variable, zero]);
        self.m.get(op::LOAD, u32, &[first])
    }

    fn param(&mut self, word: u32) -> Id {
        let u32 = self.m.u32();
        let pointer = self.m.pointer(class::UNIFORM, u32);
        let (zero, row, column) =
            (self.m.number(0), self.m.number(word / 4), self.m.number(word % 4));
        let at = self.m.get(op::ACCESS_CHAIN, pointer, &[self.params, zero, row, column]);
        self.m.get(op::LOAD, u32, &[at])
    }

    fn smaller(&mut self, a: Id, b: Id) -> Id {
        let (u32, functions) = (self.m.u32(), self.functions);
        self.m.get(op::EXT_INST, u32, &[functions, 38, a, b])
    }

    /// A word of a storage buffer.
    fn word(&mut self, binding: usize, mut index: Id) -> Pointer {
        let buffer = self.buffers[binding];
        let u32 = self.m.u32();
        if self.bounds {
            let length = self.m.get(op::ARRAY_LENGTH, u32, &[buffer, 0]);
            let one = self.m.number(1);
            let last = self.m.calc(op::I_SUB, &[length, one]);
            index = self.smaller(index, last);
        }
        let (pointer, zero) = (self.m.pointer(class::STORAGE_BUFFER, u32), self.m.number(0));
        self.m.get(op::ACCESS_CHAIN, pointer, &[buffer, zero, index])
    }

    /// A word of the memory that the test is in.
    fn place(&mut self, mut index: Id) -> Pointer {
        let Some((near, words)) = self.near else { return self.word(MEMORY, index) };
        if self.bounds {
            let last = self.m.number(words - 1);
            index = self.smaller(index, last);
        }
        let u32 = self.m.u32();
        let pointer = self.m.pointer(class::WORKGROUP, u32);
        self.m.get(op::ACCESS_CHAIN, pointer, &[near, index])
    }

    fn read(&mut self, binding: usize, index: Id) -> Id {
        let at = self.word(binding, index);
        let u32 = self.m.u32();
        self.m.get(op::LOAD, u32, &[at])
    }

    fn add(&mut self, a: Id, b: Id) -> Id {
        self.m.calc(op::I_ADD, &[a, b])
    }

    fn add_number(&mut self, a: Id, b: u32) -> Id {
        let b = self.m.number(b);
        self.add(a, b)
    }

    fn times(&mut self, a: Id, b: Id) -> Id {
        self.m.calc(op::I_MUL, &[a, b])
    }

    fn modulo(&mut self, a: Id, b: Id) -> Id {
        self.m.calc(op::U_MOD, &[a, b])
    }

    fn is_param(&mut self, word: u32, value: u32) -> Id {
        let (p, value) = (self.param(word), self.m.number(value));
        self.m.test(op::I_EQUAL, &[p, value])
    }

    /// Writes and reads of one word of the scratchpad.
    fn stress_function(&mut self) -> Id {
        let u32 = self.m.u32();
        let (function, given) = self.m.function(&[u32, u32, u32]);
        let [iterations, pattern, group] = given[..] else { return function };
        let base = self.param(param::BASE);
        let index = self.add(base, group);
        let at = self.read(SCRATCH_WORDS, index);
        let at = self.word(SCRATCH, at);
        let (zero, one, two) = (self.m.number(0), self.m.number(1), self.m.number(2));
        let sum = self.m.local(u32);
        self.m.put(op::STORE, &[sum, zero]);
        let stores_first = self.m.test(op::U_LESS_THAN, &[pattern, two]);
        let odd = self.modulo(pattern, two);
        let stores_second = self.m.test(op::I_EQUAL, &[odd, zero]);
        let round = self.m.count_up();
        let more = self.m.test(op::U_LESS_THAN, &[round.i, iterations]);
        self.m.goes_on(&round, more);
        let later = self.add(round.i, one);
        for (stores, value) in [(stores_first, round.i), (stores_second, later)] {
            self.choose(
                stores,
                |s| s.m.put(op::STORE, &[at, value, VOLATILE]),
                |s| {
                    let seen = s.m.get(op::LOAD, u32, &[at, VOLATILE]);
                    let before = s.m.get(op::LOAD, u32, &[sum]);
                    let after = s.add(before, seen);
                    s.m.put(op::STORE, &[sum, after]);
                },
            );
        }
        self.m.end_loop(round);
        // The values that were read are looked at, since some compilers would drop the reads otherwise.
        let unset = self.m.number(UNSET);
        let sum = self.m.get(op::LOAD, u32, &[sum]);
        let never = self.m.test(op::I_EQUAL, &[sum, unset]);
        self.choose(never, |s| s.m.put(op::STORE, &[at, zero]), |_| {});
        self.m.end_function();
        function
    }

    /// Stresses memory, if the thread is among as many first ones as a parameter says.
    fn stress(&mut self, threads: u32, iterations: u32, pattern: u32, group: Id, local: Id) {
        let threads = self.param(threads);
        let does = self.m.test(op::U_LESS_THAN, &[local, threads]);
        let stresses = |s: &mut Self| {
            let arguments = [s.stress, s.param(iterations), s.param(pattern), group];
            let void = s.m.ty(op::TYPE_VOID, &[]);
            s.m.get(op::FUNCTION_CALL, void, &arguments);
        };
        self.choose(does, stresses, |_| {});
    }

    /// Runs a part where a parameter is 1.
    fn if_set(&mut self, word: u32, part: impl FnOnce(&mut Self)) {
        let set = self.is_param(word, 1);
        self.choose(set, part, |_| {});
    }

    /// Runs one part or the other.
    fn choose(&mut self, condition: Id, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        let fork = self.m.fork(condition);
        yes(self);
        self.m.otherwise(&fork);
        no(self);
        self.m.join(fork);
    }

    /// Waits until as many threads are here as can be expected, or not much longer.
    fn spin(&mut self) {
        let u32 = self.m.u32();
        let slot = self.param(param::SLOT);
        let arrivals = self.word(ARRIVALS, slot);
        // Between workgroups; the queue's family is as far as that.
        let scope = match self.model {
            MemoryModel::Vulkan => Scope::QueueFamily,
            MemoryModel::Glsl450 => Scope::Device,
        };
        let scope = self.m.number(scope_word(scope));
        let (zero, one) = (self.m.number(0), self.m.number(1));
        let seen = self.m.local(u32);
        let ticket = self.m.get(op::ATOMIC_I_ADD, u32, &[arrivals, scope, zero, one]);
        let first = self.add(ticket, one);
        self.m.put(op::STORE, &[seen, first]);
        let (limit, target) = (self.param(param::SPIN_LIMIT), self.param(param::BARRIER_TARGET));
        let round = self.m.count_up();
        let few = self.m.test(op::U_LESS_THAN, &[round.i, limit]);
        let now = self.m.get(op::LOAD, u32, &[seen]);
        let waits = self.m.test(op::U_LESS_THAN, &[now, target]);
        let more = self.m.test(op::LOGICAL_AND, &[few, waits]);
        self.m.goes_on(&round, more);
        let now = self.m.get(op::ATOMIC_I_ADD, u32, &[arrivals, scope, zero, zero]);
        self.m.put(op::STORE, &[seen, now]);
        self.m.end_loop(round);
    }

    fn entry(&mut self) {
        const WORKGROUP_ID: u32 = 26;
        const LOCAL_ID: u32 = 27;
        const SUBGROUP_SIZE: u32 = 36;
        const SUBGROUP_ID: u32 = 40;
        const SUBGROUP_LOCAL_ID: u32 = 41;
        let u32 = self.m.u32();
        let three = self.m.ty(op::TYPE_VECTOR, &[u32, 3]);
        let mut wanted = vec![(WORKGROUP_ID, three), (LOCAL_ID, three)];
        if self.shape.scope == Scope::Subgroup {
            wanted.extend([SUBGROUP_SIZE, SUBGROUP_ID, SUBGROUP_LOCAL_ID].map(|b| (b, u32)));
        }
        let mut inputs = Vec::new();
        for (which, ty) in wanted {
            let variable = self.m.global(class::INPUT, ty);
            self.m.decorate(variable, &[decoration::BUILT_IN, which]);
            inputs.push((which, variable));
        }
        let (function, _) = self.m.function(&[]);
        let variables: Vec<Id> = inputs.iter().map(|(_, v)| *v).collect();
        self.m.entry_point(function, "test", WORKGROUP, &variables);
        let w = self.built_in(WORKGROUP_ID, true, &inputs);
        let l = match self.shape.scope {
            // Neighbours are those that the device puts side by side.
            Scope::Subgroup => {
                let id = self.built_in(SUBGROUP_ID, false, &inputs);
                let size = self.built_in(SUBGROUP_SIZE, false, &inputs);
                let lane = self.built_in(SUBGROUP_LOCAL_ID, false, &inputs);
                let (first, all) = (self.times(id, size), self.m.number(WORKGROUP));
                let l = self.add(first, lane);
                self.modulo(l, all)
            }
            _ => self.built_in(LOCAL_ID, true, &inputs),
        };
        let base = self.param(param::BASE);
        let role = self.add(base, w);
        let g = self.read(SHUFFLED, role);
        let tests = match self.shape.scheme {
            Scheme::Parallel => {
                let testing = self.param(param::TESTING);
                self.m.test(op::U_LESS_THAN, &[g, testing])
            }
            Scheme::Single => {
                let threads = self.m.number(self.program.threads.len() as u32);
                self.m.test(op::U_LESS_THAN, &[g, threads])
            }
        };
        self.choose(
            tests,
            |s| match s.shape.scheme {
                Scheme::Parallel => s.parallel(g, l),
                Scheme::Single => s.single(g, l, w),
            },
            |s| s.stress(param::MEM_STRESS, param::MEM_ITERATIONS, param::MEM_PATTERN, g, l),
        );
        self.m.end_function();
    }

    /// Each testing thread runs every thread of the test, each for another instance.
    fn parallel(&mut self, g: Id, l: Id) {
        let all = self.m.number(WORKGROUP);
        let first = self.param(param::PERMUTE_FIRST);
        let mut at = vec![(g, l)];
        for k in 1..self.program.threads.len() as u32 {
            let (before_g, before_l) = at.last().copied().unwrap_or((g, l));
            at.push(match self.shape.reach {
                Reach::Workgroups => {
                    let testing = self.param(param::TESTING);
                    let one = self.m.number(1);
                    let others = self.m.calc(op::I_SUB, &[testing, one]);
                    let step = self.modulo(before_l, others);
                    let next = self.add(before_g, one);
                    let next = self.add(next, step);
                    let moved = self.times(before_l, first);
                    (self.modulo(next, testing), self.modulo(moved, all))
                }
                Reach::Workgroup => {
                    let moved = self.times(before_l, first);
                    let moved = self.add_number(moved, k);
                    (g, self.modulo(moved, all))
                }
                Reach::Subgroup(size) => {
                    let size = self.m.number(size);
                    let (own, lane) = (self.modulo(l, size), self.modulo(before_l, size));
                    let start = self.m.calc(op::I_SUB, &[l, own]);
                    let moved = self.times(lane, first);
                    let moved = self.add_number(moved, k);
                    let moved = self.modulo(moved, size);
                    (g, self.add(start, moved))
                }
            });
        }
        let ids: Vec<Id> = at
            .iter()
            .map(|(g, l)| {
                let start = self.times(*g, all);
                self.add(start, *l)
            })
            .collect();
        if self.near.is_some() {
            self.clear(l);
        }
        let places: Vec<_> = (0..at.len()).map(|k| self.places(k, Some(ids[k]), at[k].1)).collect();
        self.stress(param::PRE_STRESS, param::PRE_ITERATIONS, param::PRE_PATTERN, g, l);
        self.if_set(param::BARRIER, Self::spin);
        if self.near.is_some() {
            self.workgroup_barrier();
        }
        for (k, places) in places.iter().enumerate() {
            self.run(k, places);
        }
        let instances = self.param(param::INSTANCES);
        for r in 0..self.registers.len() {
            let thread = self.program.registers[r].0;
            self.keep(r, instances, ids[thread], self.registers[r]);
        }
        if self.near.is_some() {
            self.workgroup_barrier();
            for x in 0..self.program.locations.len() {
                let index = self.near_index(x, 0, l);
                let place = self.place(index);
                let value = self.load(place, Order::Relaxed);
                self.keep(self.registers.len() + x, instances, ids[0], Some(value));
            }
        }
    }

    /// Writes a row of an instance's results.
    fn keep(&mut self, row: usize, instances: Id, id: Id, value: Option<Id>) {
        let row = self.m.number(row as u32);
        let start = self.times(row, instances);
        let index = self.add(start, id);
        let at = self.word(RESULTS, index);
        let value = value.unwrap_or_else(|| self.m.number(UNSET));
        self.m.put(op::STORE, &[at, value]);
    }

    /// One thread each of the first workgroups runs a thread of the test.
    fn single(&mut self, g: Id, l: Id, w: Id) {
        let all = self.m.number(WORKGROUP);
        let chosen = self.modulo(w, all);
        let on = self.m.test(op::I_EQUAL, &[l, chosen]);
        self.choose(
            on,
            |s| {
                // Whichever thread it is, it stresses.
                let first = s.m.number(0);
                s.stress(param::PRE_STRESS, param::PRE_ITERATIONS, param::PRE_PATTERN, g, first);
                s.if_set(param::BARRIER, Self::spin);
                for k in 0..s.program.threads.len() {
                    let number = s.m.number(k as u32);
                    let own = s.m.test(op::I_EQUAL, &[g, number]);
                    s.choose(own, |s| s.single_thread(k, l), |_| {});
                }
            },
            |_| {},
        );
    }

    fn single_thread(&mut self, k: usize, l: Id) {
        let places = self.places(k, None, l);
        self.run(k, &places);
        let (one, zero) = (self.m.number(1), self.m.number(0));
        for r in 0..self.registers.len() {
            if self.program.registers[r].0 == k {
                self.keep(r, one, zero, self.registers[r]);
            }
        }
    }

    /// Sets the words of workgroup memory to 0, each thread its own.
    fn clear(&mut self, l: Id) {
        for x in 0..self.program.locations.len() {
            let index = self.near_index(x, 0, l);
            let place = self.place(index);
            let zero = self.m.number(0);
            self.store(place, zero, Order::Relaxed);
        }
        self.workgroup_barrier();
    }

    /// Which word of workgroup memory a location of a thread's instance is.
    fn near_index(&mut self, location: usize, view: usize, local: Id) -> Id {
        let stride = workgroup_stride(self.program);
        let permute = self.by_view(param::PERMUTE, location, view);
        let (all, span) =
            (self.m.number(WORKGROUP), self.m.number(stride * self.program.locations.len() as u32));
        let moved = self.times(local, permute);
        let moved = self.modulo(moved, all);
        let start = self.times(moved, span);
        self.add_number(start, stride * location as u32)
    }

    fn by_view(&mut self, table: u32, location: usize, view: usize) -> Id {
        self.param(table + (view * MAX_LOCATIONS + location) as u32)
    }

    /// Where the accesses of a thread go, by location and view; `id` is its instance, if there are
    /// many.
    fn places(&mut self, thread: usize, id: Option<Id>, local: Id) -> Vec<(usize, usize, Pointer)> {
        let mut out: Vec<(usize, usize, Pointer)> = Vec::new();
        let program = self.program;
        for (n, op) in program.threads[thread].iter().enumerate() {
            let Some(location) = op.location() else { continue };
            let view = view(self.program, self.shape, thread, n);
            if out.iter().any(|(x, v, _)| (*x, *v) == (location, view)) {
                continue;
            }
            let index = match (self.shape.memory, id) {
                (Memory::Workgroup, _) => self.near_index(location, view, local),
                (Memory::Storage, None) => {
                    let (single, offset) =
                        (self.param(param::SINGLE), self.by_view(param::OFFSET, location, view));
                    self.add(single, offset)
                }
                (Memory::Storage, Some(id)) => {
                    let permute = self.by_view(param::PERMUTE, location, view);
                    let offset = self.by_view(param::OFFSET, location, view);
                    let (instances, span) = (self.param(param::INSTANCES), self.param(param::SPAN));
                    let moved = self.times(id, permute);
                    let moved = self.modulo(moved, instances);
                    let start = self.times(moved, span);
                    self.add(start, offset)
                }
            };
            let place = self.place(index);
            out.push((location, view, place));
        }
        out
    }

    /// The accesses and fences of a thread, one after the other.
    fn run(&mut self, thread: usize, places: &[(usize, usize, Pointer)]) {
        let program = self.program;
        for (n, op) in program.threads[thread].iter().enumerate() {
            let view = view(self.program, self.shape, thread, n);
            let place = |location: usize| {
                let found = places.iter().find(|(x, v, _)| (*x, *v) == (location, view));
                found.map_or(0, |(.., place)| *place)
            };
            match op {
                Op::Load { location, register, order } => {
                    let value = self.load(place(*location), *order);
                    self.registers[*register] = Some(value);
                }
                Op::Store { location, value, order } => {
                    let value = self.operand(value);
                    self.store(place(*location), value, *order);
                }
                Op::Rmw { op, location, value, register, order } => {
                    let value = self.operand(value);
                    let (scope, what) = (self.scope(), self.semantics(*order));
                    let old = self.m.calc(opcode(*op), &[place(*location), scope, what, value]);
                    if let Some(r) = register {
                        self.registers[*r] = Some(old);
                    }
                }
                Op::Fence { near, order } => {
                    let reach = if *near {
                        self.shape.scope.min(Scope::Workgroup)
                    } else {
                        self.shape.scope
                    };
                    let scope = self.m.number(scope_word(reach));
                    let what = self.semantics(*order);
                    self.m.put(op::MEMORY_BARRIER, &[scope, what]);
                }
            }
        }
    }

    fn operand(&mut self, operand: &Operand) -> Id {
        match operand {
            Operand::Const(c) => self.m.number(*c),
            Operand::Register(r) => match self.registers[*r] {
                Some(value) => value,
                None => self.m.number(UNSET),
            },
        }
    }

    /// How far accesses of the test reach.
    fn scope(&mut self) -> Id {
        let scope = match self.shape.memory {
            Memory::Storage => self.shape.scope,
            Memory::Workgroup => self.shape.scope.min(Scope::Workgroup),
        };
        self.m.number(scope_word(scope))
    }

    fn semantics(&mut self, order: Order) -> Id {
        let memory = match self.shape.memory {
            Memory::Storage => semantics::STORAGE,
            Memory::Workgroup => semantics::WORKGROUP,
        };
        let (available, visible) = match self.model {
            MemoryModel::Glsl450 => (0, 0),
            MemoryModel::Vulkan => (semantics::MAKE_AVAILABLE, semantics::MAKE_VISIBLE),
        };
        self.m.number(match order {
            Order::Relaxed => 0,
            Order::Acquire => semantics::ACQUIRE | memory | visible,
            Order::Release => semantics::RELEASE | memory | available,
            Order::AcqRel => semantics::ACQUIRE_RELEASE | memory | available | visible,
        })
    }

    fn load(&mut self, place: Pointer, order: Order) -> Id {
        let (scope, what) = (self.scope(), self.semantics(order));
        self.m.calc(op::ATOMIC_LOAD, &[place, scope, what])
    }

    fn store(&mut self, place: Pointer, value: Id, order: Order) {
        let (scope, what) = (self.scope(), self.semantics(order));
        self.m.put(op::ATOMIC_STORE, &[place, scope, what, value]);
    }

    /// All threads of the workgroup come here before one goes on, and see its memory.
    fn workgroup_barrier(&mut self) {
        let scope = self.m.number(scope_word(Scope::Workgroup));
        let what = self.semantics(Order::AcqRel);
        self.m.put(op::CONTROL_BARRIER, &[scope, scope, what]);
    }
}

fn opcode(rmw: RmwOp) -> u16 {
    match rmw {
        RmwOp::Exchange => op::ATOMIC_EXCHANGE,
        RmwOp::Add => op::ATOMIC_I_ADD,
        RmwOp::Sub => op::ATOMIC_I_SUB,
        RmwOp::Or => op::ATOMIC_OR,
        RmwOp::And => op::ATOMIC_AND,
        RmwOp::Xor => op::ATOMIC_XOR,
    }
}
