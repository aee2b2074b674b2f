//! The type names of the C subset, and what C says about integer types.
//!
//! Sizes are those of LP64; plain `char` is signed. It does not read text: the parser does.

use std::sync::Arc;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::lex::Kind;
use crate::Type;

/// How this room writes C's boolean, for which [`Type`] has no variant of its own.
pub const BOOL: &str = "_Bool";

/// Names of integer types of one word: name, bytes, signed. The names of the `_Atomic` versions
/// in `<stdatomic.h>` follow from [`ATOMIC_NAMES`].
const INT_NAMES: &[(&str, u8, bool)] = &[
    ("int8_t", 1, true),
    ("uint8_t", 1, false),
    ("int16_t", 2, true),
    ("uint16_t", 2, false),
    ("int32_t", 4, true),
    ("uint32_t", 4, false),
    ("int64_t", 8, true),
    ("uint64_t", 8, false),
    ("int128_t", 16, true),
    ("uint128_t", 16, false),
    ("__int128_t", 16, true),
    ("__uint128_t", 16, false),
    ("__uint128", 16, false),
    ("intptr_t", 8, true),
    ("uintptr_t", 8, false),
    ("ptrdiff_t", 8, true),
    ("ssize_t", 8, true),
    ("size_t", 8, false),
    ("intmax_t", 8, true),
    ("uintmax_t", 8, false),
    ("char16_t", 2, false),
    ("char32_t", 4, false),
    ("wchar_t", 4, true),
    ("int_least8_t", 1, true),
    ("uint_least8_t", 1, false),
    ("int_least16_t", 2, true),
    ("uint_least16_t", 2, false),
    ("int_least32_t", 4, true),
    ("uint_least32_t", 4, false),
    ("int_least64_t", 8, true),
    ("uint_least64_t", 8, false),
    ("int_fast8_t", 1, true),
    ("uint_fast8_t", 1, false),
    ("int_fast16_t", 8, true),
    ("uint_fast16_t", 8, false),
    ("int_fast32_t", 8, true),
    ("uint_fast32_t", 8, false),
    ("int_fast64_t", 8, true),
    ("uint_fast64_t", 8, false),
];

/// Names after `atomic_` that are not names of [`INT_NAMES`].
const ATOMIC_NAMES: &[(&str, u8, bool)] = &[
    ("char", 1, true),
    ("schar", 1, true),
    ("uchar", 1, false),
    ("short", 2, true),
    ("ushort", 2, false),
    ("int", 4, true),
    ("uint", 4, false),
    ("long", 8, true),
    ("ulong", 8, false),
    ("llong", 8, true),
    ("ullong", 8, false),
];

/// Words that open a type.
const TYPE_WORDS: &[&str] = &[
    "const",
    "volatile",
    "_Atomic",
    "void",
    "char",
    "short",
    "int",
    "long",
    "signed",
    "unsigned",
    "_Bool",
    "struct",
    "union",
    "enum",
    "static",
    "extern",
    "register",
    "auto",
    "inline",
    "restrict",
    "__restrict",
    "__restrict__",
    "__int128",
    "__signed__",
    "__volatile__",
    "__const",
    "__volatile",
    "_Thread_local",
    "__inline",
    "__inline__",
];

/// Words that no variable may have.
const RESERVED: &[&str] = &[
    "if", "else", "while", "do", "for", "return", "break", "continue", "goto", "switch", "case",
    "default", "sizeof", "typedef", "NULL", "nullptr",
];

/// Words of C, and of compilers, that open what is not read.
pub const UNREAD: &[&str] = &[
    "_Generic",
    "_Static_assert",
    "static_assert",
    "_Alignof",
    "alignof",
    "offsetof",
    "typeof",
    "__typeof__",
    "asm",
    "__asm__",
    "__asm",
];

/// The known words: types with names of one word, and keywords.
struct Words {
    types: FxHashMap<String, Type>,
    kinds: FxHashMap<String, Kind>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let boolean = || Type::Named(BOOL.to_string());
    let mut types = FxHashMap::default();
    types.insert("bool".to_string(), boolean());
    let atomic = |t: Type| Type::Atomic(Arc::new(t));
    for (name, bytes, signed) in INT_NAMES {
        let ty = Type::Int { bytes: *bytes, signed: *signed };
        types.insert(format!("atomic_{name}"), atomic(ty.clone()));
        types.insert(name.to_string(), ty);
    }
    for (name, bytes, signed) in ATOMIC_NAMES {
        let ty = Type::Int { bytes: *bytes, signed: *signed };
        types.insert(format!("atomic_{name}"), atomic(ty));
    }
    for (name, bytes) in [("float", 4), ("double", 8)] {
        types.insert(name.to_string(), Type::Float { bytes });
    }
    for name in ["atomic_bool", "atomic_flag"] {
        types.insert(name.to_string(), atomic(boolean()));
    }
    let mut kinds: FxHashMap<String, Kind> =
        types.keys().map(|name| (name.clone(), Kind::Type)).collect();
    kinds.extend(TYPE_WORDS.iter().map(|w| (w.to_string(), Kind::Type)));
    let reserved = RESERVED.iter().chain(UNREAD);
    kinds.extend(reserved.map(|w| (w.to_string(), Kind::Reserved)));
    Words { types, kinds }
});

/// The type that a name of one word stands for, keywords left out.
pub fn typedef(name: &str) -> Option<Type> {
    WORDS.types.get(name).cloned()
}

/// The use of a word. By convention all names that end in `_t` are of types.
pub fn kind(word: &str) -> Kind {
    let known = WORDS.kinds.get(word).copied();
    known.unwrap_or(if word.ends_with("_t") { Kind::Type } else { Kind::Name })
}

/// How an integer type is written.
pub fn int_name(bytes: u8, signed: bool) -> &'static str {
    match (bytes, signed) {
        (1, true) => "int8_t",
        (1, false) => "uint8_t",
        (2, true) => "int16_t",
        (2, false) => "uint16_t",
        (4, true) => "int",
        (4, false) => "uint32_t",
        (8, true) => "int64_t",
        (8, false) => "uint64_t",
        (_, true) => "__int128",
        (_, false) => "__uint128_t",
    }
}

/// Whether it is the type of booleans, below its qualifiers.
pub fn is_bool(ty: &Type) -> bool {
    matches!(ty.bare(), Type::Named(n) if n == BOOL || n == "bool")
}

/// The type below, with these qualifiers added to the ones it has, in the one order that this
/// room writes them: const, volatile, restrict, atomic.
pub fn qualify(ty: Type, constant: bool, volatile: bool, atomic: bool) -> Type {
    let qualified = !std::ptr::eq(ty.bare(), &ty);
    if !(constant || volatile || atomic || qualified) {
        return ty;
    }
    let (constant, volatile, atomic) =
        (constant || ty.is_const(), volatile || ty.is_volatile(), atomic || ty.is_atomic());
    let restrict = ty.is_restrict();
    let mut out = ty.bare().clone();
    if atomic {
        out = Type::Atomic(Arc::new(out));
    }
    if restrict {
        out = Type::Restrict(Arc::new(out));
    }
    if volatile {
        out = Type::Volatile(Arc::new(out));
    }
    if constant {
        out = Type::Const(Arc::new(out));
    }
    out
}

/// The same type as the rest of the program knows it: booleans are bytes.
pub fn erase(ty: &Type) -> Type {
    if !names(ty) {
        return ty.clone();
    }
    match ty {
        Type::Named(_) if is_bool(ty) => Type::Int { bytes: 1, signed: false },
        Type::Pointer(t) => Type::Pointer(Arc::new(erase(t))),
        Type::Array(t, n) => Type::Array(Arc::new(erase(t)), *n),
        Type::Atomic(t) => Type::Atomic(Arc::new(erase(t))),
        Type::Const(t) => Type::Const(Arc::new(erase(t))),
        Type::Volatile(t) => Type::Volatile(Arc::new(erase(t))),
        Type::Restrict(t) => Type::Restrict(Arc::new(erase(t))),
        t => t.clone(),
    }
}

/// Whether the name of a type stands in a type.
fn names(ty: &Type) -> bool {
    match ty {
        Type::Named(_) => true,
        Type::Pointer(t) | Type::Array(t, _) => names(t),
        Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => names(t),
        Type::Int { .. } | Type::Float { .. } | Type::Void | Type::Struct(_) => false,
    }
}

/// The bytes of the kernel's types for counters and for locks that nothing debugs. Tests do not look into them.
pub fn opaque(name: &str) -> Option<u8> {
    match name {
        "atomic_t" | "spinlock_t" | "raw_spinlock_t" => Some(4),
        "atomic64_t" | "atomic_long_t" => Some(8),
        _ => None,
    }
}

/// The size of an object in bytes, where this room knows it.
pub fn size_of(ty: &Type) -> Option<u64> {
    match ty {
        Type::Int { bytes, .. } | Type::Float { bytes } => Some(u64::from(*bytes)),
        Type::Pointer(_) => Some(8),
        Type::Array(t, n) => size_of(t)?.checked_mul(*n),
        Type::Atomic(t) | Type::Const(t) | Type::Volatile(t) | Type::Restrict(t) => size_of(t),
        Type::Named(_) if is_bool(ty) => Some(1),
        Type::Struct(s) => Some(s.size()),
        Type::Named(name) => opaque(name).map(u64::from),
        Type::Void => None,
    }
}

/// The type of a value: no qualifiers, no arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// An integer.
    Int {
        /// Its size in bytes.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A boolean, of one byte.
    Bool,
    /// A number in floating point.
    Float {
        /// Its size in bytes: 4 or 8.
        bytes: u8,
    },
    /// The type of the object that it points to, with its qualifiers.
    Pointer(Arc<Type>),
    /// No value.
    Void,
}

impl ValueType {
    /// `int`.
    pub const INT: ValueType = ValueType::Int { bytes: 4, signed: true };
    /// `size_t`.
    pub const SIZE: ValueType = ValueType::Int { bytes: 8, signed: false };

    /// The type of a value read from an object of type `ty`; nothing for aggregates.
    pub fn of(ty: &Type) -> Option<ValueType> {
        match ty.bare() {
            Type::Int { bytes, signed } => Some(ValueType::Int { bytes: *bytes, signed: *signed }),
            Type::Float { bytes } => Some(ValueType::Float { bytes: *bytes }),
            Type::Pointer(t) | Type::Array(t, _) => Some(ValueType::Pointer(t.clone())),
            Type::Void => Some(ValueType::Void),
            Type::Named(_) if is_bool(ty) => Some(ValueType::Bool),
            _ => None,
        }
    }

    /// The width of a register that holds the value.
    pub fn bits(&self) -> u8 {
        match self {
            ValueType::Int { bytes, .. } => bytes.saturating_mul(8).clamp(8, 128),
            ValueType::Bool => 8,
            ValueType::Float { bytes } => bytes.saturating_mul(8),
            ValueType::Pointer(_) => 64,
            ValueType::Void => 8,
        }
    }

    /// Whether it is an integer with a sign.
    pub fn signed(&self) -> bool {
        matches!(self, ValueType::Int { signed: true, .. })
    }

    /// Whether arithmetic takes it: an integer, a boolean, or a number in floating point.
    pub fn is_arithmetic(&self) -> bool {
        matches!(self, ValueType::Int { .. } | ValueType::Bool | ValueType::Float { .. })
    }

    /// Whether it is a number in floating point.
    pub fn is_float(&self) -> bool {
        matches!(self, ValueType::Float { .. })
    }

    /// After the integer promotions.
    pub fn promoted(&self) -> ValueType {
        match self {
            ValueType::Bool => ValueType::INT,
            ValueType::Int { bytes, .. } if *bytes < 4 => ValueType::INT,
            t => t.clone(),
        }
    }

    /// The common type of the usual arithmetic conversions.
    pub fn common(&self, other: &ValueType) -> ValueType {
        let (a, b) = (self.promoted(), other.promoted());
        match (&a, &b) {
            (ValueType::Int { bytes: n, signed: s }, ValueType::Int { bytes: m, signed: t }) => {
                match n.cmp(m) {
                    std::cmp::Ordering::Greater => a,
                    std::cmp::Ordering::Less => b,
                    std::cmp::Ordering::Equal => ValueType::Int { bytes: *n, signed: *s && *t },
                }
            }
            (ValueType::Float { bytes: n }, ValueType::Float { bytes: m }) => {
                ValueType::Float { bytes: *n.max(m) }
            }
            (ValueType::Pointer(_) | ValueType::Float { .. }, _) => a,
            _ => b,
        }
    }
}
