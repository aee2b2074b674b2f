//! The one test type: what a litmus test is, in every dialect.
//!
//! This room reads, writes and compares tests. It does not know what an instruction means:
//! assembly is kept as text here, and `isa` gives it meaning.

#![allow(missing_docs, reason = "not yet: some public items of this crate have names alone")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod c;
pub mod canon;
mod cond;
pub mod execution;
pub mod list;
pub mod log;
pub mod pack;
mod print;
mod read;
pub mod scan;
pub mod scopes;
mod state;
mod symbolic;
mod symbols;
pub mod types;
mod write;

pub use print::{
    condition_source, condition_text, init_text, place_brackets, prop_source, value_text,
};
pub use read::read;
pub use symbols::{Anything, Symbols};
pub use write::write;

use std::fmt;
use std::sync::Arc;

use crate::c::ast::Function;
use crate::scopes::Scopes;
use litmake_base::diag::{Diag, Source, Span};

/// Tests with more threads are not read.
pub const MAX_THREADS: usize = 64;

/// A dialect of litmus tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    C,
    AArch64,
    Arm,
    X86_64,
    X86,
    RiscV,
    Ppc,
    Mips,
    /// LLVM's intermediate representation, as text.
    Llvm,
    /// The instruction set that compilers write for NVIDIA's GPUs.
    Ptx,
    /// SPIR-V, as `spirv-dis` prints it.
    Spirv,
}

impl Arch {
    pub const ALL: [Arch; 11] = [
        Arch::C,
        Arch::AArch64,
        Arch::Arm,
        Arch::X86_64,
        Arch::X86,
        Arch::RiscV,
        Arch::Ppc,
        Arch::Mips,
        Arch::Llvm,
        Arch::Ptx,
        Arch::Spirv,
    ];

    /// The word that opens a test of this dialect.
    pub fn name(self) -> &'static str {
        match self {
            Arch::C => "C",
            Arch::AArch64 => "AArch64",
            Arch::Arm => "ARM",
            Arch::X86_64 => "X86_64",
            Arch::X86 => "X86",
            Arch::RiscV => "RISCV",
            Arch::Ppc => "PPC",
            Arch::Mips => "MIPS",
            Arch::Llvm => "LLVM",
            Arch::Ptx => "PTX",
            Arch::Spirv => "SPIRV",
        }
    }

    /// The dialect that a word names. Case counts, but for what herd's users write either way.
    pub fn named(word: &str) -> Option<Arch> {
        match word {
            "RISC_V" | "RISC-V" => Some(Arch::RiscV),
            "x86" => Some(Arch::X86),
            "x86_64" => Some(Arch::X86_64),
            "Arm" => Some(Arch::Arm),
            _ => Arch::ALL.into_iter().find(|a| a.name() == word),
        }
    }

    /// The model a test is simulated under where none is named.
    pub fn default_model(self) -> &'static str {
        match self {
            Arch::C => "rc11",
            Arch::AArch64 => "aarch64",
            Arch::Arm => "armv7",
            Arch::X86_64 | Arch::X86 => "x86tso",
            Arch::RiscV => "riscv",
            Arch::Ppc => "ppc",
            Arch::Mips => "mips",
            Arch::Llvm => "llvm",
            Arch::Ptx => "ptx",
            Arch::Spirv => "spirv",
        }
    }
}

/// What the machines of a test have beyond the base of their instruction set, as far as it
/// changes which accesses are single or how wide pointers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    /// AArch64: aligned accesses of 16 bytes, pairs among them, are single (Armv8.4).
    pub lse2: bool,
    /// AArch32: LDRD and STRD are single (Armv7 with large physical addresses, and Armv8).
    pub lpae: bool,
    /// x86: aligned accesses of 16 bytes by SSE are single.
    pub avx: bool,
    /// Intermediate code of LLVM: a pointer in memory has 32 bits, not 64.
    pub ptr32: bool,
}

impl Features {
    /// The info line that names them. Other tools pass over it.
    pub const KEY: &str = "Features";

    pub const NAMES: [&str; 4] = ["lse2", "lpae", "avx", "ptr32"];

    fn of(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "lse2" => Some(&mut self.lse2),
            "lpae" => Some(&mut self.lpae),
            "avx" => Some(&mut self.avx),
            "ptr32" => Some(&mut self.ptr32),
            _ => None,
        }
    }

    /// Adds one by its name; whether there is one.
    pub fn add(&mut self, name: &str) -> bool {
        self.of(&name.to_ascii_lowercase()).map(|has| *has = true).is_some()
    }

    pub fn names(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|n| self.of(n).is_some_and(|has| *has)).collect()
    }

    pub fn or(self, o: Features) -> Features {
        Features {
            lse2: self.lse2 || o.lse2,
            lpae: self.lpae || o.lpae,
            avx: self.avx || o.avx,
            ptr32: self.ptr32 || o.ptr32,
        }
    }
}

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    pub arch: Arch,
    pub name: String,
    /// The quoted line under the name.
    pub doc: Option<String>,
    /// `Key=value` lines between the name and the initial state, in order.
    pub info: Vec<(String, String)>,
    pub init: Vec<InitItem>,
    pub threads: Vec<Body>,
    /// C functions that threads call and that are not threads themselves.
    pub helpers: Vec<Function>,
    /// Where the threads lie, if the test says so.
    pub scopes: Option<Scopes>,
    /// The `locations [...]` clause.
    pub locations: Vec<Observed>,
    pub filter: Option<Prop>,
    pub condition: Condition,
    pub source: Source,
}

/// What one thread runs.
#[derive(Clone, Debug)]
pub enum Body {
    Asm(Vec<Line>),
    C(Function),
}

/// One instruction of an assembly thread, or labels at its end (`text` is then empty).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub labels: Vec<String>,
    pub text: String,
    pub span: Span,
}

/// An entry of the initial state, such as `0:X1=x`, `uint64_t x=1` or `int x[2]={0,1}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitItem {
    pub place: Place,
    pub ty: Option<Type>,
    pub value: Option<InitValue>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitValue {
    One(Value),
    Array(Vec<Value>),
}

/// A constant, as written in an initial state or a condition. That of a number in floating point is
/// its bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Two's complement; a negative literal is sign-extended to 128 bits.
    Int(i128),
    /// The address of a location, plus an offset in elements (`&x[2]`).
    Addr { name: String, index: u64 },
    /// The address of a label in a thread's code (`P0:L1`).
    Label { thread: Option<usize>, name: String },
}

/// Something with a final value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    Reg {
        thread: usize,
        name: String,
    },
    /// A shared location, or an element of one (`x[1]`).
    Mem {
        name: String,
        index: Option<u64>,
    },
}

/// An entry of the `locations` clause, with the type it is to be read as, where given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub place: Place,
    pub ty: Option<Type>,
    pub span: Span,
}

/// A C type as litmus tests use them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Int {
        bytes: u8,
        signed: bool,
    },
    /// A number in floating point. As a [`Value`] it is its bits.
    Float {
        bytes: u8,
    },
    Pointer(Arc<Type>),
    Array(Arc<Type>, u64),
    Atomic(Arc<Type>),
    Const(Arc<Type>),
    Volatile(Arc<Type>),
    /// A pointer that its holder alone uses for what it points to, as C has it.
    Restrict(Arc<Type>),
    Void,
    /// A structure or a union that the test defines.
    Struct(Arc<c::structs::Struct>),
    /// A name this room has no layout for; kept as written.
    Named(String),
}

impl Type {
    pub const INT: Type = Type::Int { bytes: 4, signed: true };

    /// The type below qualifiers and `_Atomic`.
    pub fn bare(&self) -> &Type {
        match self {
            Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => t.bare(),
            t => t,
        }
    }

    pub fn is_atomic(&self) -> bool {
        match self {
            Type::Atomic(_) => true,
            Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => t.is_atomic(),
            _ => false,
        }
    }

    pub fn is_const(&self) -> bool {
        match self {
            Type::Const(_) => true,
            Type::Atomic(t) | Type::Volatile(t) | Type::Restrict(t) => t.is_const(),
            _ => false,
        }
    }

    pub fn is_volatile(&self) -> bool {
        match self {
            Type::Volatile(_) => true,
            Type::Atomic(t) | Type::Const(t) | Type::Restrict(t) => t.is_volatile(),
            _ => false,
        }
    }

    pub fn is_restrict(&self) -> bool {
        match self {
            Type::Restrict(_) => true,
            Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) => t.is_restrict(),
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub quantifier: Quantifier,
    pub prop: Prop,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    Exists,
    NotExists,
    Forall,
}

/// A proposition about a final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prop {
    True,
    False,
    Cmp(Place, CmpOp, Operand),
    Not(Box<Prop>),
    And(Vec<Prop>),
    Or(Vec<Prop>),
    Implies(Box<Prop>, Box<Prop>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Value(Value),
    /// The content of a whole array (`x={0,1}`), under `=` only.
    Array(Vec<Value>),
    Place(Place),
}

impl Test {
    /// The places that it shows, listed or named by its condition, in order, each once.
    pub fn shown(&self) -> Vec<Place> {
        let mut out: Vec<Place> = Vec::new();
        let listed = self.locations.iter().map(|o| &o.place);
        for place in listed.chain(self.condition.prop.places()) {
            if !out.contains(place) {
                out.push(place.clone());
            }
        }
        out
    }

    /// Where its threads lie: as it says, or each in a workgroup of its own.
    pub fn placed(&self) -> Scopes {
        self.scopes.clone().unwrap_or_else(|| Scopes::apart(self.threads.len()))
    }

    /// What its info lines say of its machines: `Features=` or, as herd has it, `Variant=`.
    pub fn features(&self) -> Features {
        let mut features = Features::default();
        for (key, value) in &self.info {
            if key == Features::KEY || key.eq_ignore_ascii_case("variant") {
                for name in value.split([',', ' ']) {
                    features.add(name);
                }
            }
        }
        features
    }

    /// Says that its machines have these too.
    pub fn add_features(&mut self, more: Features) {
        let all = self.features().or(more);
        if all != self.features() {
            self.info.retain(|(key, _)| key != Features::KEY);
            self.info.push((Features::KEY.to_string(), all.names().join(",")));
        }
    }
}

impl Prop {
    /// The places that it names, from left to right.
    pub fn places(&self) -> Vec<&Place> {
        let mut out = Vec::new();
        let mut todo = vec![self];
        while let Some(prop) = todo.pop() {
            match prop {
                Prop::True | Prop::False => {}
                Prop::Cmp(place, _, operand) => {
                    out.push(place);
                    if let Operand::Place(place) = operand {
                        out.push(place);
                    }
                }
                Prop::Not(p) => todo.push(p),
                Prop::And(list) | Prop::Or(list) => todo.extend(list.iter().rev()),
                Prop::Implies(a, b) => todo.extend([&**b, &**a]),
            }
        }
        out
    }
}

/// The conjunction of propositions, without one in another.
pub fn and(props: Vec<Prop>) -> Prop {
    join(props, Prop::True, |p| match p {
        Prop::And(ps) => Ok(ps),
        p => Err(p),
    })
    .map_or_else(|p| p, Prop::And)
}

/// The disjunction of propositions, without one in another.
pub fn or(props: Vec<Prop>) -> Prop {
    join(props, Prop::False, |p| match p {
        Prop::Or(ps) => Ok(ps),
        p => Err(p),
    })
    .map_or_else(|p| p, Prop::Or)
}

fn join(
    props: Vec<Prop>,
    neutral: Prop,
    inner: impl Fn(Prop) -> Result<Vec<Prop>, Prop>,
) -> Result<Vec<Prop>, Prop> {
    let mut flat = Vec::with_capacity(props.len());
    for prop in props {
        match inner(prop) {
            Ok(ps) => flat.extend(ps),
            Err(p) => flat.push(p),
        }
    }
    match flat.len() {
        0 => Err(neutral),
        1 => Err(flat.pop().unwrap_or(neutral)),
        _ => Ok(flat),
    }
}

#[cold]
fn no_such_thread(source: &Source, span: Span, thread: usize, threads: usize) -> Box<Diag> {
    let help = match threads {
        1 => "the test has one thread, P0".to_string(),
        n => format!("the test has threads P0 to P{}", n.saturating_sub(1)),
    };
    Diag::at(source, span, format!("there is no thread P{thread}")).help(help)
}

/// The name of a place as outcomes have it, `[x]` or `x[1]`, without the brackets around a location.
pub fn bare(label: &str) -> &str {
    label.strip_prefix('[').and_then(|l| l.strip_suffix(']')).unwrap_or(label)
}

/// `0:X1`, `x` or `x[1]`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Reg { thread, name } => write!(f, "{thread}:{name}"),
            Place::Mem { name, index: None } => f.write_str(name),
            Place::Mem { name, index: Some(i) } => write!(f, "{name}[{i}]"),
        }
    }
}
