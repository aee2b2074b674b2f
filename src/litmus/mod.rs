//! The one test type: what a litmus test is, in every dialect.
//!
//! This room reads, writes and compares tests. It does not know what an instruction means:
//! assembly is kept as text here, and `isa` gives it meaning.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

mod arch;
pub mod c;
pub mod canon;
mod cond;
pub mod execution;
#[cfg(unix)]
pub mod list;
pub mod log;
#[cfg(unix)]
pub mod pack;
mod print;
mod read;
mod scan;
pub mod scopes;
mod state;
mod symbolic;
mod symbols;
pub mod types;
mod write;

pub use arch::{Arch, Branches, Facts};
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

/// Extensions of the instruction set that the test's machines have, as far as they change which accesses
/// are single or how wide pointers are.
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

    /// The name of every feature, as info lines have it.
    pub(crate) const NAMES: [&str; 4] = ["lse2", "lpae", "avx", "ptr32"];

    fn of(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "lse2" => Some(&mut self.lse2),
            "lpae" => Some(&mut self.lpae),
            "avx" => Some(&mut self.avx),
            "ptr32" => Some(&mut self.ptr32),
            _ => None,
        }
    }

    /// Adds a feature by its name; returns whether the name is known.
    pub fn add(&mut self, name: &str) -> bool {
        self.of(&name.to_ascii_lowercase()).map(|has| *has = true).is_some()
    }

    /// The names of those that are set.
    pub(crate) fn names(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|n| self.of(n).is_some_and(|has| *has)).collect()
    }

    /// The features that either has.
    pub(crate) fn or(self, o: Features) -> Features {
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
    /// The dialect of its code.
    pub arch: Arch,
    /// The word behind the dialect, which other files know it by.
    pub name: String,
    /// The quoted line under the name.
    pub doc: Option<String>,
    /// `Key=value` lines between the name and the initial state, in order.
    pub info: Vec<(String, String)>,
    /// The entries of the initial state, in order.
    pub init: Vec<InitItem>,
    /// The code of each thread, from `P0` on.
    pub threads: Vec<Body>,
    /// C functions that threads call and that are not threads themselves.
    pub helpers: Vec<Function>,
    /// Where the threads lie, if the test says so.
    pub scopes: Option<Scopes>,
    /// The `locations [...]` clause.
    pub locations: Vec<Observed>,
    /// The `filter` clause: states that do not satisfy it do not count.
    pub filter: Option<Prop>,
    /// The condition on its final states.
    pub condition: Condition,
    /// The text that it was read from, for errors to point at.
    pub source: Source,
}

/// The code of one thread.
#[derive(Clone, Debug)]
pub enum Body {
    /// Instructions and labels.
    Asm(Vec<Line>),
    /// A function of C.
    C(Function),
}

impl Body {
    /// The function of C that it is.
    pub fn function(&self) -> Option<&Function> {
        match self {
            Body::C(f) => Some(f),
            Body::Asm(_) => None,
        }
    }

    /// The same, to change it.
    pub fn function_mut(&mut self) -> Option<&mut Function> {
        match self {
            Body::C(f) => Some(f),
            Body::Asm(_) => None,
        }
    }
}

/// One instruction of an assembly thread, or labels at its end (`text` is then empty).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The labels before the instruction.
    pub labels: Vec<String>,
    /// The instruction, without its labels and comments.
    pub text: String,
    /// Where it stands in the test.
    pub span: Span,
}

/// An entry of the initial state, such as `0:X1=x`, `uint64_t x=1` or `int x[2]={0,1}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitItem {
    /// The place.
    pub place: Place,
    /// The type of its declaration, if it has one.
    pub ty: Option<Type>,
    /// The value; without one it is 0.
    pub value: Option<InitValue>,
    /// Where it stands in the test.
    pub span: Span,
}

impl InitItem {
    /// The values that it has: none, one, or those of an array.
    pub fn values(&self) -> &[Value] {
        match &self.value {
            None => &[],
            Some(InitValue::One(value)) => std::slice::from_ref(value),
            Some(InitValue::Array(values)) => values,
        }
    }
}

/// The value of an entry of the initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitValue {
    /// A single value.
    One(Value),
    /// The elements of an array, in order.
    Array(Vec<Value>),
}

/// A constant, as written in an initial state or a condition. That of a number in floating point is
/// its bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Two's complement; a negative literal is sign-extended to 128 bits.
    Int(i128),
    /// The address of a location, plus an offset in elements (`&x[2]`).
    Addr {
        /// The location.
        name: String,
        /// The offset, in elements.
        index: u64,
    },
    /// The address of a label in a thread's code (`P0:L1`).
    Label {
        /// The thread whose label it is; `None` where the text does not say.
        thread: Option<usize>,
        /// The label.
        name: String,
    },
}

/// Something with a final value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A register of a thread, or a local of C.
    Reg {
        /// The number of the thread.
        thread: usize,
        /// Its name, as the test writes it.
        name: String,
    },
    /// A shared location, or an element of one (`x[1]`).
    Mem {
        /// Its name.
        name: String,
        /// The element; `None` for the whole location.
        index: Option<u64>,
    },
}

/// An entry of the `locations` clause, with the type it is to be read as, where given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The place.
    pub place: Place,
    /// The type; `None` where the entry has none.
    pub ty: Option<Type>,
    /// Where it stands in the test.
    pub span: Span,
}

/// A C type as litmus tests use them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An integer.
    Int {
        /// Its size in bytes.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A number in floating point. As a [`Value`] it is its bits.
    Float {
        /// Its size in bytes: 4 or 8.
        bytes: u8,
    },
    /// A pointer to an object of a type.
    Pointer(Arc<Type>),
    /// So many elements of a type.
    Array(Arc<Type>, u64),
    /// `_Atomic`
    Atomic(Arc<Type>),
    /// `const`
    Const(Arc<Type>),
    /// `volatile`
    Volatile(Arc<Type>),
    /// A pointer that its holder alone uses for what it points to, as C has it.
    Restrict(Arc<Type>),
    /// `void`
    Void,
    /// A structure or a union that the test defines.
    Struct(Arc<c::structs::Struct>),
    /// A name this room has no layout for; kept as written.
    Named(String),
}

impl Type {
    /// `int`
    pub const INT: Type = Type::Int { bytes: 4, signed: true };

    /// The type below qualifiers and `_Atomic`.
    pub fn bare(&self) -> &Type {
        match self {
            Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => t.bare(),
            t => t,
        }
    }

    /// Whether `_Atomic` is among its outer qualifiers.
    pub fn is_atomic(&self) -> bool {
        match self {
            Type::Atomic(_) => true,
            Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => t.is_atomic(),
            _ => false,
        }
    }

    /// Whether `const` is among its outer qualifiers.
    pub fn is_const(&self) -> bool {
        match self {
            Type::Const(_) => true,
            Type::Atomic(t) | Type::Volatile(t) | Type::Restrict(t) => t.is_const(),
            _ => false,
        }
    }

    /// Whether `volatile` is among its outer qualifiers.
    pub fn is_volatile(&self) -> bool {
        match self {
            Type::Volatile(_) => true,
            Type::Atomic(t) | Type::Const(t) | Type::Restrict(t) => t.is_volatile(),
            _ => false,
        }
    }

    /// Whether `restrict` is among its outer qualifiers.
    pub fn is_restrict(&self) -> bool {
        match self {
            Type::Restrict(_) => true,
            Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) => t.is_restrict(),
            _ => false,
        }
    }
}

/// A condition on the final states of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which of the states have to satisfy the proposition.
    pub quantifier: Quantifier,
    /// The proposition.
    pub prop: Prop,
    /// Where it stands in the test.
    pub span: Span,
}

/// How many final states satisfy a proposition, for a condition to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// `exists`: some state does.
    Exists,
    /// `~exists`: no state does.
    NotExists,
    /// `forall`: every state does.
    Forall,
}

/// A proposition about a final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prop {
    /// Holds in every state.
    True,
    /// Holds in no state.
    False,
    /// Compares the final value of a place with an operand.
    Cmp(Place, CmpOp, Operand),
    /// Holds where the other does not.
    Not(Box<Prop>),
    /// Holds where all of them do.
    And(Vec<Prop>),
    /// Holds where one of them does.
    Or(Vec<Prop>),
    /// Holds where the first does not, or the second does.
    Implies(Box<Prop>, Box<Prop>),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// The right side of a comparison with the final value of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant.
    Value(Value),
    /// The content of a whole array (`x={0,1}`), under `=` only.
    Array(Vec<Value>),
    /// The final value of another place.
    Place(Place),
}

impl Operand {
    /// The constants that it has: none, one, or those of an array.
    pub fn values(&self) -> &[Value] {
        match self {
            Operand::Value(value) => std::slice::from_ref(value),
            Operand::Array(values) => values,
            Operand::Place(_) => &[],
        }
    }
}

impl Test {
    /// A test of code, which shows these places and asks for nothing.
    pub fn of_code(
        arch: Arch,
        name: String,
        init: Vec<InitItem>,
        threads: Vec<Body>,
        shown: Vec<Place>,
    ) -> Test {
        let span = Span::default();
        let observed = |place| Observed { place, ty: None, span };
        Test {
            arch,
            source: Source::new(name.clone(), ""),
            name,
            doc: None,
            info: Vec::new(),
            init,
            threads,
            helpers: Vec::new(),
            scopes: None,
            locations: shown.into_iter().map(observed).collect(),
            filter: None,
            condition: Condition { quantifier: Quantifier::Exists, prop: Prop::True, span },
        }
    }

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

    /// The functions of a test in C: threads, and those that they call.
    pub fn functions(&self) -> impl Iterator<Item = &c::ast::Function> {
        self.threads.iter().filter_map(Body::function).chain(&self.helpers)
    }

    /// The same, to change them.
    pub fn functions_mut(&mut self) -> impl Iterator<Item = &mut c::ast::Function> {
        self.threads.iter_mut().filter_map(Body::function_mut).chain(&mut self.helpers)
    }

    /// Where its threads lie: as it says, or each in a workgroup of its own.
    pub fn placed(&self) -> Scopes {
        self.scopes.clone().unwrap_or_else(|| Scopes::apart(self.threads.len()))
    }

    /// The features in its info lines: `Features=` or, as herd has it, `Variant=`.
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

    /// Adds features of its machines.
    pub fn add_features(&mut self, more: Features) {
        let all = self.features().or(more);
        if all != self.features() {
            self.info.retain(|(key, _)| key != Features::KEY);
            self.info.push((Features::KEY.to_string(), all.names().join(",")));
        }
    }
}

impl Prop {
    /// The comparisons that it is made of, from left to right.
    pub fn comparisons(&self) -> Vec<(&Place, &Operand)> {
        let mut out = Vec::new();
        let mut todo = vec![self];
        while let Some(prop) = todo.pop() {
            match prop {
                Prop::True | Prop::False => {}
                Prop::Cmp(place, _, operand) => out.push((place, operand)),
                Prop::Not(p) => todo.push(p),
                Prop::And(list) | Prop::Or(list) => todo.extend(list.iter().rev()),
                Prop::Implies(a, b) => todo.extend([&**b, &**a]),
            }
        }
        out
    }

    /// The places that it names, from left to right.
    pub fn places(&self) -> Vec<&Place> {
        let mut out = Vec::new();
        for (place, operand) in self.comparisons() {
            out.push(place);
            if let Operand::Place(other) = operand {
                out.push(other);
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
