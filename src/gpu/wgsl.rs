//! WGSL of a test: one module with three entry points. `prepare` sets memory to its initial
//! state, `test` runs the threads of many instances, `count` finds out which outcome each
//! instance showed, counts it, and leaves memory as it was at first.
//!
//! Everything that changes from one iteration to the next is a parameter; the module depends on
//! the test and on [`Shape`] alone.

use std::fmt::Write;

use super::environment::{Scheme, WORKGROUP};
use super::oracle::Oracle;
use super::program::{MAX_LOCATIONS, Op, Operand, Program};
use super::variant::{MemoryModel, Scope, Variant};

/// Where the threads of an instance are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// In different workgroups.
    Workgroups,
    /// In one workgroup.
    Workgroup,
    /// In a block of so many neighbours of one workgroup.
    Subgroup(u32),
}

/// Which memory the locations of a test are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Buffers, which all workgroups share.
    Storage,
    /// Memory of one workgroup alone.
    Workgroup,
}

/// How a test is laid out in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How instances are laid out.
    pub(crate) scheme: Scheme,
    /// Where the threads of an instance are.
    pub(crate) reach: Reach,
    /// Which memory the locations are in.
    pub(crate) memory: Memory,
    /// Accesses to one location go by addresses that the compiler cannot see to be equal.
    pub(crate) aliased: bool,
    /// How far accesses and fences reach, where that can be said.
    pub(crate) scope: Scope,
}

impl Shape {
    /// A test between workgroups, in buffers, at the scope of the device.
    pub(crate) fn new(scheme: Scheme, program: &Program) -> Shape {
        Shape {
            scheme,
            reach: Reach::Workgroups,
            memory: Memory::Storage,
            aliased: program.hides_places(),
            scope: Scope::Device,
        }
    }

    /// Checks that a test can be laid out so, with code of a variant; the error says why not.
    pub fn check(&self, program: &Program, variant: Variant) -> Result<(), String> {
        let no = |what: &str| Err(what.to_string());
        if self.memory == Memory::Workgroup && self.reach == Reach::Workgroups {
            return no(
                "threads in different workgroups share no workgroup memory; use storage memory",
            );
        }
        if self.scheme == Scheme::Single && self.reach != Reach::Workgroups {
            return no("a single instance runs between workgroups only: leave out `reach`");
        }
        if self.memory == Memory::Workgroup && program.locations.iter().any(|(_, v)| *v != 0) {
            return no("workgroup memory starts as 0, so all locations must");
        }
        if let Reach::Subgroup(size) = self.reach
            && (!size.is_power_of_two()
                || size > WORKGROUP
                || (size as usize) < program.threads.len())
        {
            return no(&format!("{size} is no size of a subgroup for it"));
        }
        let apart = match self.reach {
            Reach::Workgroups => Scope::QueueFamily,
            Reach::Workgroup => Scope::Workgroup,
            Reach::Subgroup(_) => Scope::Subgroup,
        };
        if self.scope < apart {
            return no(&format!(
                "its threads are further apart than the scope `{}` reaches; give `--reach {}`",
                self.scope.name(),
                self.scope.name()
            ));
        }
        if !variant.has_words() && self.scope != Scope::Device {
            return no("WGSL has no words for scopes; give the variant `spirv` or `vulkan`");
        }
        if !variant.has_words() && program.has_ordered_accesses() {
            return no(
                "it has accesses that acquire or release, for which WGSL has no words; give the variant `spirv` or `vulkan`",
            );
        }
        if self.scope == Scope::QueueFamily && variant.memory_model() != MemoryModel::Vulkan {
            return no(
                "the scope `queue` is one of the Vulkan memory model; give the variant `vulkan`",
            );
        }
        Ok(())
    }
}

/// Words of memory that workgroup memory has room for.
const WORKGROUP_WORDS: u32 = 4096;
/// The most outcomes that a workgroup counts in its own memory before it adds its counts to all.
const LOCAL_OUTCOMES: usize = 1024;
/// The value of a register that no read has set.
pub const UNSET: u32 = u32::MAX;

/// The words of one instance's locations in workgroup memory.
pub fn workgroup_stride(program: &Program) -> u32 {
    let each = WORKGROUP_WORDS / WORKGROUP / program.locations.len().max(1) as u32;
    each.clamp(1, 7)
}

/// Parameters of one iteration, as the shader has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    /// How many workgroups run tests.
    pub(crate) testing: u32,
    /// How many instances there are.
    pub(crate) instances: u32,
    /// Where the iteration begins in the lists of roles and of words to stress.
    pub(crate) base: u32,
    /// The place of the iteration's count of threads that have arrived.
    pub(crate) slot: u32,
    /// Words from one instance to the next.
    pub(crate) span: u32,
    /// The multiplier that spreads the threads of an instance within workgroups.
    pub(crate) permute_first: u32,
    /// 1 where threads wait for each other before the test.
    pub(crate) barrier: u32,
    /// How many threads have to arrive until all go on.
    pub(crate) barrier_target: u32,
    /// How often a thread looks before it stops waiting.
    pub(crate) spin_limit: u32,
    /// How many threads of a workgroup stress memory.
    pub(crate) mem_stress: u32,
    /// How many turns the stress beside tests makes.
    pub(crate) mem_iterations: u32,
    /// The accesses of that stress: see [`super::environment::Iteration::mem_pattern`].
    pub(crate) mem_pattern: u32,
    /// How many threads of a workgroup stress memory before the test.
    pub(crate) pre_stress: u32,
    /// How many turns the stress before tests makes.
    pub(crate) pre_iterations: u32,
    /// The accesses of that stress.
    pub(crate) pre_pattern: u32,
    /// Where the locations of a single instance begin.
    pub(crate) single: u32,
    /// By view and location.
    pub(crate) permute: [[u32; MAX_LOCATIONS]; 2],
    /// Where each location lies in the words of its instance, by view and location.
    pub(crate) offset: [[u32; MAX_LOCATIONS]; 2],
}

impl Params {
    /// The size of the parameters in the uniform buffer.
    pub(crate) const BYTES: usize = 128;

    /// The parameters as the uniform buffer has them.
    pub(crate) fn bytes(&self) -> [u8; Params::BYTES] {
        let words = [
            self.testing,
            self.instances,
            self.base,
            self.slot,
            self.span,
            self.permute_first,
            self.barrier,
            self.barrier_target,
            self.spin_limit,
            self.mem_stress,
            self.mem_iterations,
            self.mem_pattern,
            self.pre_stress,
            self.pre_iterations,
            self.pre_pattern,
            self.single,
        ];
        let arrays = self.permute.iter().chain(&self.offset).flatten();
        let mut out = [0; Params::BYTES];
        for (four, word) in out.chunks_exact_mut(4).zip(words.iter().chain(arrays)) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        out
    }
}

const HEAD: &str = "\
struct Params {
  testing: u32, instances: u32, base: u32, slot: u32,
  span: u32, permute_first: u32, barrier: u32, barrier_target: u32,
  spin_limit: u32, mem_stress: u32, mem_iterations: u32, mem_pattern: u32,
  pre_stress: u32, pre_iterations: u32, pre_pattern: u32, single: u32,
  permute: array<vec4<u32>, 2>,
  offset: array<vec4<u32>, 2>,
}
@group(0) @binding(0) var<storage, read_write> memory: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
@group(0) @binding(2) var<storage, read> shuffled: array<u32>;
@group(0) @binding(3) var<storage, read> scratch_words: array<u32>;
@group(0) @binding(4) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(5) var<storage, read_write> arrivals: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> counters: array<atomic<u32>>;
@group(0) @binding(7) var<uniform> p: Params;
";

const STRESS: &str = "
fn stress(iterations: u32, pattern: u32, group: u32) {
  let at = scratch_words[p.base + group];
  for (var i = 0u; i < iterations; i++) {
    if (pattern < 2u) {
      scratch[at] = i;
    } else if (scratch[at] > 100000u) {
      scratch[at] = i;
      break;
    }
    if ((pattern & 1u) == 0u) {
      scratch[at] = i + 1u;
    } else if (scratch[at] > 100000u) {
      scratch[at] = i;
      break;
    }
  }
}

fn spin() {
  var seen = atomicAdd(&arrivals[p.slot], 1u) + 1u;
  for (var i = 0u; i < p.spin_limit && seen < p.barrier_target; i++) {
    seen = atomicAdd(&arrivals[p.slot], 0u);
  }
}
";

const COMPONENTS: [&str; MAX_LOCATIONS] = ["x", "y", "z", "w"];

/// The text of the module.
pub fn module(program: &Program, oracle: &Oracle, shape: &Shape) -> String {
    let mut out = String::from(HEAD);
    Writer { program, oracle, shape, out: &mut out }.all();
    out
}

struct Writer<'a> {
    program: &'a Program,
    oracle: &'a Oracle,
    shape: &'a Shape,
    out: &'a mut String,
}

/// Writing to a string does not fail.
macro_rules! w {
    ($self:expr, $($arg:tt)*) => { let _ = writeln!($self.out, $($arg)*); };
}

impl Writer<'_> {
    fn all(&mut self) {
        let locations = self.program.locations.len();
        if self.shape.memory == Memory::Workgroup {
            let words = WORKGROUP * locations as u32 * workgroup_stride(self.program);
            w!(self, "var<workgroup> near: array<atomic<u32>, {words}>;");
        }
        if self.outcomes() <= LOCAL_OUTCOMES {
            w!(self, "var<workgroup> table: array<atomic<u32>, {}>;", self.outcomes() + 1);
        }
        self.out.push_str(STRESS);
        w!(self, "\n@compute @workgroup_size({WORKGROUP})");
        w!(
            self,
            "fn test(@builtin(local_invocation_id) lid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>) {{"
        );
        w!(self, "  let l = lid.x;\n  let g = shuffled[p.base + wid.x];");
        match self.shape.scheme {
            Scheme::Parallel => self.parallel(),
            Scheme::Single => self.single(),
        }
        w!(self, "}}");
        self.prepare();
        self.count();
    }

    fn outcomes(&self) -> usize {
        self.oracle.classes.len()
    }

    /// Each testing thread runs every thread of the test, each for another instance.
    fn parallel(&mut self) {
        w!(self, "  if (g < p.testing) {{");
        w!(self, "    let g0 = g;\n    let l0 = l;\n    let id0 = g0 * {WORKGROUP}u + l0;");
        for k in 1..self.program.threads.len() {
            let j = k - 1;
            match self.shape.reach {
                Reach::Workgroups => {
                    w!(self, "    let g{k} = (g{j} + 1u + l{j} % (p.testing - 1u)) % p.testing;");
                    w!(self, "    let l{k} = (l{j} * p.permute_first) % {WORKGROUP}u;");
                }
                Reach::Workgroup => {
                    w!(
                        self,
                        "    let g{k} = g;\n    let l{k} = (l{j} * p.permute_first + {k}u) % {WORKGROUP}u;"
                    );
                }
                Reach::Subgroup(size) => {
                    w!(
                        self,
                        "    let g{k} = g;\n    let l{k} = l - l % {size}u + ((l{j} % {size}u) * p.permute_first + {k}u) % {size}u;"
                    );
                }
            }
            w!(self, "    let id{k} = g{k} * {WORKGROUP}u + l{k};");
        }
        for k in 0..self.program.threads.len() {
            self.addresses(k, "    ");
        }
        w!(self, "    if (l < p.pre_stress) {{ stress(p.pre_iterations, p.pre_pattern, g); }}");
        w!(self, "    if (p.barrier == 1u) {{ spin(); }}");
        if self.shape.memory == Memory::Workgroup {
            w!(self, "    workgroupBarrier();");
        }
        for k in 0..self.program.threads.len() {
            for (n, op) in self.program.threads[k].iter().enumerate() {
                let view = self.view(k, n);
                let text = self.op(k, view, op, true);
                w!(self, "    {text}");
            }
        }
        for (r, (k, _)) in self.program.registers.iter().enumerate() {
            w!(self, "    results[{r}u * p.instances + id{k}] = r{r};");
        }
        if self.shape.memory == Memory::Workgroup {
            w!(self, "    workgroupBarrier();");
            for x in 0..self.program.locations.len() {
                let row = self.program.registers.len() + x;
                let at = self.near(x, 0, "l");
                w!(self, "    results[{row}u * p.instances + id0] = atomicLoad(&near[{at}]);");
            }
        }
        w!(
            self,
            "  }} else if (l < p.mem_stress) {{\n    stress(p.mem_iterations, p.mem_pattern, g);\n  }}"
        );
    }

    /// One thread each of the first workgroups runs a thread of the test; fences are reached by
    /// the whole workgroup, as they have to be.
    fn single(&mut self) {
        let threads = self.program.threads.len();
        w!(self, "  if (g < {threads}u) {{\n    let on = l == wid.x % {WORKGROUP}u;");
        w!(
            self,
            "    if (on && p.pre_stress > 0u) {{ stress(p.pre_iterations, p.pre_pattern, g); }}"
        );
        w!(self, "    if (on && p.barrier == 1u) {{ spin(); }}");
        for k in 0..threads {
            w!(self, "    if (g == {k}u) {{");
            self.addresses(k, "      ");
            for (r, _) in self.program.registers.iter().enumerate().filter(|(_, (t, _))| *t == k) {
                w!(self, "      var r{r} = {UNSET}u;");
            }
            for (n, op) in self.program.threads[k].iter().enumerate() {
                let view = self.view(k, n);
                let text = self.op(k, view, op, false);
                match op {
                    Op::Fence { .. } => {
                        w!(self, "      {text}");
                    }
                    _ => {
                        w!(self, "      if (on) {{ {text} }}");
                    }
                }
            }
            for (r, _) in self.program.registers.iter().enumerate().filter(|(_, (t, _))| *t == k) {
                w!(self, "      if (on) {{ results[{r}u] = r{r}; }}");
            }
            w!(self, "    }}");
        }
        w!(
            self,
            "  }} else if (l < p.mem_stress) {{\n    stress(p.mem_iterations, p.mem_pattern, g);\n  }}"
        );
    }

    fn view(&self, thread: usize, op: usize) -> usize {
        view(self.program, self.shape, thread, op)
    }

    fn near(&self, location: usize, view: usize, local: &str) -> String {
        let stride = workgroup_stride(self.program);
        let span = stride * self.program.locations.len() as u32;
        let c = COMPONENTS[location];
        // The distance in memory is fixed here; that it is one location stays hidden.
        let offset = stride * location as u32;
        format!("({local} * p.permute[{view}].{c} % {WORKGROUP}u) * {span}u + {offset}u")
    }

    /// The addresses of a thread's instance, where threads are not in workgroup memory.
    fn addresses(&mut self, thread: usize, indent: &str) {
        let mut seen = Vec::new();
        for (n, op) in self.program.threads[thread].iter().enumerate() {
            let Some(location) = op.location() else { continue };
            let view = self.view(thread, n);
            if seen.contains(&(location, view)) {
                continue;
            }
            seen.push((location, view));
            let c = COMPONENTS[location];
            let at = match (self.shape.scheme, self.shape.memory) {
                (_, Memory::Workgroup) => self.near(location, view, &format!("l{thread}")),
                (Scheme::Single, _) => format!("p.single + p.offset[{view}].{c}"),
                (Scheme::Parallel, _) => format!(
                    "(id{thread} * p.permute[{view}].{c} % p.instances) * p.span + p.offset[{view}].{c}"
                ),
            };
            w!(self, "{indent}let a{thread}_{location}_{view} = {at};");
        }
    }

    fn op(&self, thread: usize, view: usize, op: &Op, declare: bool) -> String {
        let space = match self.shape.memory {
            Memory::Storage => "memory",
            Memory::Workgroup => "near",
        };
        let at = |location: &usize| format!("&{space}[a{thread}_{location}_{view}]");
        let operand = |v: &Operand| match v {
            Operand::Const(c) => format!("{c}u"),
            Operand::Register(r) => format!("r{r}"),
        };
        let to = |r: &usize| if declare { format!("let r{r} = ") } else { format!("r{r} = ") };
        match op {
            Op::Load { location, register, .. } => {
                format!("{}atomicLoad({});", to(register), at(location))
            }
            Op::Store { location, value, .. } => {
                format!("atomicStore({}, {});", at(location), operand(value))
            }
            Op::Rmw { op, location, value, register, .. } => {
                let call = format!("{}({}, {});", op.wgsl(), at(location), operand(value));
                match register {
                    Some(r) => format!("{}{call}", to(r)),
                    None => call,
                }
            }
            // The far fence orders the memory that the test is in.
            Op::Fence { near: false, .. } if self.shape.memory == Memory::Storage => {
                "storageBarrier();".into()
            }
            Op::Fence { .. } => "workgroupBarrier();".into(),
        }
    }

    /// The address of a location of instance `i`, for the passes after and before the test.
    fn plain_address(&self, location: usize) -> String {
        let c = COMPONENTS[location];
        match self.shape.scheme {
            Scheme::Single => format!("p.single + p.offset[0].{c}"),
            Scheme::Parallel => {
                format!("(i * p.permute[0].{c} % p.instances) * p.span + p.offset[0].{c}")
            }
        }
    }

    /// How many rows of results an instance has.
    fn rows(&self) -> usize {
        rows(self.program, self.shape)
    }

    fn prepare(&mut self) {
        w!(self, "\n@compute @workgroup_size({WORKGROUP})");
        w!(self, "fn prepare(@builtin(global_invocation_id) gid: vec3<u32>) {{\n  let i = gid.x;");
        w!(self, "  if (i < p.instances) {{");
        for r in 0..self.rows() {
            w!(self, "    results[{r}u * p.instances + i] = {UNSET}u;");
        }
        if self.shape.memory == Memory::Storage {
            for (x, (_, init)) in self.program.locations.iter().enumerate() {
                let at = self.plain_address(x);
                w!(self, "    atomicStore(&memory[{at}], {init}u);");
            }
        }
        w!(self, "  }}\n}}");
    }

    fn count(&mut self) {
        let other = self.outcomes();
        let local = other <= LOCAL_OUTCOMES;
        w!(self, "\n@compute @workgroup_size({WORKGROUP})");
        w!(
            self,
            "fn count(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {{"
        );
        w!(self, "  let i = gid.x;\n  if (i < p.instances) {{");
        w!(self, "    var index = 0u;\n    var known = true;\n    var v = 0u;");
        let registers = self.program.registers.len();
        for (n, radix) in self.oracle.radix.iter().enumerate() {
            let stored = n < registers || self.shape.memory == Memory::Workgroup;
            if stored {
                w!(self, "    v = results[{n}u * p.instances + i];");
                w!(self, "    results[{n}u * p.instances + i] = {UNSET}u;");
            } else {
                let x = n - registers;
                let at = self.plain_address(x);
                w!(self, "    v = atomicLoad(&memory[{at}]);");
                w!(self, "    atomicStore(&memory[{at}], {}u);", self.program.locations[x].1);
            }
            w!(self, "    known = known && v < {radix}u;\n    index = index * {radix}u + v;");
        }
        let table = if local { "table" } else { "counters" };
        w!(self, "    atomicAdd(&{table}[select({other}u, index, known)], 1u);\n  }}");
        if local {
            w!(self, "  workgroupBarrier();");
            w!(self, "  for (var k = lid.x; k <= {other}u; k += {WORKGROUP}u) {{");
            w!(self, "    let n = atomicLoad(&table[k]);");
            w!(self, "    if (n > 0u) {{ atomicAdd(&counters[k], n); }}\n  }}");
        }
        w!(self, "}}");
    }
}

/// The view by which an access goes: successive accesses of a thread to one location alternate between the
/// two views, and the first access of a thread takes the other view than that of the thread before.
pub fn view(program: &Program, shape: &Shape, thread: usize, op: usize) -> usize {
    if !shape.aliased {
        return 0;
    }
    let ops = &program.threads[thread];
    let location = ops[op].location();
    let same = |op: &&Op| op.location().is_some() && op.location() == location;
    let before = ops[..op].iter().filter(same).count();
    (before + thread) % 2
}

/// How many words of results an instance has.
pub fn rows(program: &Program, shape: &Shape) -> usize {
    let finals = if shape.memory == Memory::Workgroup { program.locations.len() } else { 0 };
    (program.registers.len() + finals).max(1)
}
