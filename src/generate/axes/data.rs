//! The choices of the axes of data: its type, the values that are written, and how they are reached.

use std::sync::LazyLock;

/// A type of the data.
pub struct Type {
    /// As C writes it.
    pub name: &'static str,
    pub bits: u32,
    pub unsigned: bool,
    /// The type of the other sign; of floating point, the integer type that its values are made in.
    pub other: &'static str,
    pub float: bool,
}

static TYPE_NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| TYPES.iter().map(|ty| label(ty.name)).collect());
static FLAG_NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| FLAGS.iter().map(|ty| label(ty)).collect());

pub fn type_names() -> &'static [&'static str] {
    &TYPE_NAMES
}

pub fn flag_names() -> &'static [&'static str] {
    &FLAG_NAMES
}

/// A type as the names of tests have it: one word.
fn label(ty: &'static str) -> &'static str {
    match ty {
        "unsigned __int128" => "uint128",
        "__int128" => "int128",
        name => name,
    }
}

const fn int(name: &'static str, bits: u32, unsigned: bool, other: &'static str) -> Type {
    Type { name, bits, unsigned, other, float: false }
}

const fn float(name: &'static str, bits: u32, other: &'static str) -> Type {
    Type { name, bits, unsigned: false, other, float: true }
}

pub const TYPES: [Type; 12] = [
    int("int", 32, false, "uint32_t"),
    int("int64_t", 64, false, "uint64_t"),
    int("uint8_t", 8, true, "int8_t"),
    int("int16_t", 16, false, "uint16_t"),
    int("uint32_t", 32, true, "int"),
    int("uint64_t", 64, true, "int64_t"),
    int("int8_t", 8, false, "uint8_t"),
    int("uint16_t", 16, true, "int16_t"),
    float("float", 32, "int"),
    float("double", 64, "int64_t"),
    int("__int128", 128, false, "unsigned __int128"),
    int("unsigned __int128", 128, true, "__int128"),
];

/// Types of flags.
pub const FLAGS: [&str; 7] = ["int", "int8_t", "int16_t", "int64_t", "float", "double", "__int128"];

/// The kinds of data. Plain objects are never accessed as volatile ones, so that compilers may optimise
/// them.
pub const KINDS: [&str; 3] = ["plain", "atomic", "volatile"];

/// The place of `atomic` among them.
pub const ATOMIC: usize = 1;

/// Where a value that is written comes from. `*k` is 1, which no compiler knows.
pub const VALUES: [&str; 22] = [
    "constant",
    "loaded",
    "packed",
    "packed-bytes",
    "sign-extended",
    "narrowed",
    "folds",
    "known-bits",
    "masked",
    "compared",
    "selected",
    "inverted",
    "truth",
    "high-bit",
    "divided",
    "through-memory",
    "kept-bits",
    "float",
    "double",
    "float-bits",
    "integer-and-float",
    "float-and-integer",
];

/// The constants that are written. Small ones are also those that flags are set to.
pub const NUMBERS: [&str; 5] = ["small", "distinct", "large", "negative", "shifted"];

/// The constant that stands for `n`; flags are set to small ones. Different for small different `n`.
pub fn number(choice: &str, ty: &Type, n: u32) -> String {
    let top = ty.bits.min(64) - 8;
    match choice {
        "distinct" => format!("{}", 64 + n),
        // So many bits that machines need several instructions, or a load.
        "large" => match ty.bits {
            8 => format!("{}", 0x50 + n),
            16 => format!("{}", 0x5a40 + n),
            32 => format!("{}", 0x5a3c_1e40 + n),
            _ => format!("{}", 0x1234_5678_9abc_de40_u64 + u64::from(n)),
        },
        "negative" if !ty.unsigned => format!("-{}", 64 + n),
        "negative" => format!("({})-{}", ty.name, 64 + n),
        "shifted" if ty.bits == 8 => format!("{}", n << 3),
        "shifted" => format!("{}", u64::from(16 + n) << top),
        _ => n.to_string(),
    }
}

/// How a value that was read is taken apart.
pub const READS: [&str; 18] = [
    "whole",
    "low-byte",
    "high-half",
    "masked",
    "is-zero",
    "selected",
    "scaled",
    "sign",
    "widened",
    "two-parts",
    "twice",
    "reassembled",
    "compared",
    "low-bit",
    "as-float",
    "float-compared",
    "from-bits",
    "integer-and-float",
];

/// How the data is reached.
pub const ALIASES: [&str; 12] = [
    "direct",
    "const",
    "volatile-once",
    "restrict-call",
    "restrict-inline",
    "may-alias-call",
    "chosen-pointer",
    "element",
    "index",
    "other-sign",
    "bytes-between",
    "local-pointer",
];

/// Where the data lives: alone, or as the member `m` of a structure or a union, with other members
/// beside it.
pub const MEMBERS: [&str; 10] = [
    "alone",
    "between",
    "neighbours",
    "neighbours-8",
    "beside-atomic",
    "beside-const",
    "copied",
    "copied-after",
    "flag-inside",
    "union",
];

/// The code around a write of the data.
pub const WRITES: [&str; 10] = [
    "once",
    "dead-before",
    "half-dead",
    "diamond-same",
    "diamond",
    "read-first",
    "added",
    "stepped",
    "written-back",
    "halves",
];

/// The code around a read of the data.
pub const USES: [&str; 9] = [
    "once",
    "one-way",
    "diamond-same",
    "diamond",
    "unused-too",
    "halves",
    "likely",
    "both-sides",
    "stored-on",
];

/// Functions that compilers summarise, around the accesses of the data.
pub const CALLS: [&str; 12] = [
    "none",
    "noinline",
    "inline",
    "pure",
    "pure-unused",
    "const",
    "out-local",
    "two-levels",
    "cold",
    "returns-flag",
    "scratch-call",
    "recursive",
];

/// Plain accesses to memory of the thread alone, or atomic loads of an object that nobody writes,
/// around each operation.
pub const AROUNDS: [&str; 15] = [
    "none",
    "stores-8",
    "stores-16",
    "stores-32",
    "stores-64",
    "loads-8",
    "loads-16",
    "loads-32",
    "loads-64",
    "copies",
    "steps",
    "spans",
    "table-32",
    "table-64",
    "table-128",
];

/// The earlier accesses of the owner to the data.
pub const EARLIES: [&str; 5] = ["nothing", "read", "read-kept", "written", "read-sunk"];

/// Whether the halves of a value are in registers of two kinds: an integer and a floating-point number of
/// 32 bits each.
pub fn has_halves(choice: &str) -> bool {
    matches!(choice, "integer-and-float" | "float-and-integer")
}

/// Loops that run once, around what a thread does.
pub const LOOPS: [&str; 7] =
    ["none", "counted", "while", "do-once", "do-known", "around-data", "breaks"];

/// Functions that give the bits of a number in floating point, and the number of bits: their names
/// and their texts.
pub const BITS: [(&str, &str); 4] = [
    (
        "bits32",
        "uint32_t bits32(float f) {\nuint32_t u = 0;\n__builtin_memcpy(&u, &f, sizeof(u));\nreturn u;\n}\n",
    ),
    (
        "bits64",
        "uint64_t bits64(double f) {\nuint64_t u = 0;\n__builtin_memcpy(&u, &f, sizeof(u));\nreturn u;\n}\n",
    ),
    (
        "float32",
        "float float32(uint32_t u) {\nfloat f = 0;\n__builtin_memcpy(&f, &u, sizeof(f));\nreturn f;\n}\n",
    ),
    (
        "float64",
        "double float64(uint64_t u) {\ndouble f = 0;\n__builtin_memcpy(&f, &u, sizeof(f));\nreturn f;\n}\n",
    ),
];

/// A value in floating point: an integer that is converted, or bits. Some values have more digits than
/// a number keeps.
fn float_value(choice: &str, numbers: &str, ty: &Type, n: u32, thread: usize) -> String {
    let whole = int(ty.other, ty.bits, false, "");
    let t = ty.name;
    match choice {
        "constant" => {
            let n = if numbers == "small" { n } else { 64 + n };
            format!("{n}.0{}", if ty.bits == 32 { "f" } else { "" })
        }
        "float-bits" if ty.bits == 32 => {
            format!("float32((uint32_t)*k * 0x3f800000u + ({n}u << 20))")
        }
        "float-bits" => format!("float64((uint64_t)*k * 0x3ff0000000000000u + ({n}ul << 49))"),
        _ => format!("({t}){}", value(choice, numbers, &whole, n, thread)),
    }
}

/// An expression for a value that is not 0, of a type, and different for small different `n`.
/// `numbers` says which constant stands for `n` where the value is one.
pub fn value(choice: &str, numbers: &str, ty: &Type, n: u32, thread: usize) -> String {
    let t = ty.name;
    let half = ty.bits / 2;
    if ty.float {
        return float_value(choice, numbers, ty, n, thread);
    }
    match choice {
        "float" => format!("({t})((float)*k + {}.0f)", n - 1),
        "double" => format!("({t})((double)(*k + {}) * 0.5)", 2 * n - 1),
        "float-bits" if ty.bits >= 64 => format!("({t})bits64((double)(*k + {}))", n - 1),
        "float-bits" => format!("({t})(bits32((float)(*k + {})) >> {})", n - 1, 32 - ty.bits),
        "integer-and-float" => format!(
            "({t})((uint64_t)(uint32_t)(*k + {n}) | (uint64_t)bits32((float)*k + {n}.0f) << 32)"
        ),
        "float-and-integer" => format!(
            "({t})((uint64_t)bits32((float)*k + {n}.0f) | (uint64_t)(uint32_t)(*k + {n}) << 32)"
        ),
        "loaded" => format!("({t})(*k + {})", n - 1),
        "packed" if ty.bits == 8 => format!("({t})((*k & 7) << 4 | {n})"),
        "packed" => format!("({t})(({t})(uint8_t)*k << {half} | ({t})(uint8_t)(*k + {}))", n - 1),
        "packed-bytes" if ty.bits < 32 => format!("({t})((uint8_t)*k << 1 ^ (uint8_t)({n} << 2))"),
        "packed-bytes" => {
            format!("({t})((uint8_t)*k | (uint8_t){n} << 8 | (uint16_t)(*k + 1) << 16)")
        }
        "sign-extended" => format!("({t})(int8_t)(*k - {})", n + 1),
        "narrowed" => format!("({t})(uint8_t)(int16_t)(*k * 257 + {})", n - 1),
        "folds" => format!("({t})(({n} * 8 + 4) / 4 - {n})"),
        "known-bits" => format!("({t})((*k & 1) | {})", n << 1),
        "masked" => format!("({t})((*k | 14) & {})", n << 1 | 1),
        "compared" => format!("({t})((*k == 1) + {})", n - 1),
        "selected" => format!("({t})(*k ? {n} : {})", n + 8),
        "inverted" => format!("({t})~(*k + {n})"),
        "truth" => format!("({t})(!!*k * {n})"),
        "high-bit" if ty.unsigned => format!("({t})(({t})*k << {} | {n})", ty.bits - 1),
        "high-bit" => format!("({t})(({t})*k << {} | {n})", ty.bits - 2),
        "divided" => format!("({t})((*k * 10 + {}) / 10)", n * 10),
        "through-memory" => format!("(*v{thread} = *k + {n}, ({t})*v{thread})"),
        "kept-bits" => format!("({t})((*k & ~{0}) | ({n} & {0}))", n << 1 | 1),
        _ => number(numbers, ty, n),
    }
}

/// `parts` for a floating-point value.
fn float_parts(choice: &str, ty: &Type, of: &str) -> Vec<String> {
    let bits = if ty.bits == 32 { "bits32" } else { "bits64" };
    let number = if ty.bits == 32 { "float32" } else { "float64" };
    let half = ty.bits / 2;
    match choice {
        "low-byte" => vec![format!("(uint8_t)(int){of}")],
        "high-half" => vec![format!("{bits}({of}) >> {half}")],
        "masked" => vec![format!("(int){of} & 3")],
        "is-zero" => vec![format!("!{of}")],
        "selected" => vec![format!("{of} ? 3 : 4")],
        "scaled" => vec![format!("{of} * 2")],
        "sign" => vec![format!("{of} < 0"), format!("{of} != 0")],
        "widened" => vec![format!("(int64_t)(double){of}")],
        "two-parts" => {
            vec![format!("(uint16_t){bits}({of})"), format!("{bits}({of}) >> {half}")]
        }
        "reassembled" => vec![format!("{number}({bits}({of}) | 1)")],
        "compared" => vec![format!("{of} == 1")],
        "low-bit" => vec![format!("(int){of} & 1"), format!("{of} == 0")],
        "as-float" => vec![format!("{of} - 1.0f")],
        "float-compared" => vec![format!("{of} > 1.5f")],
        "from-bits" => vec![format!("{number}({bits}({of}) ^ {bits}(2.0f)) < 1.0f")],
        _ => vec![of.to_string()],
    }
}

/// Expressions over a value that was read; the result of each is kept in a local.
pub fn parts(choice: &str, ty: &Type, of: &str) -> Vec<String> {
    let half = ty.bits / 2;
    if ty.float {
        return float_parts(choice, ty, of);
    }
    match choice {
        // Halves of what an integer can be are in its range.
        "as-float" => vec![format!("(float){of} * 0.5f")],
        "float-compared" => vec![format!("(float){of} > 1.5f")],
        "from-bits" if ty.bits >= 64 => vec![format!("float64((uint64_t){of}) < 1.0")],
        "from-bits" => vec![format!("float32((uint32_t){of}) < 1.0f")],
        "integer-and-float" => vec![
            format!("(int)(uint32_t){of}"),
            format!("float32((uint32_t)((uint64_t){of} >> 32)) > 1.5f"),
        ],
        "low-byte" => vec![format!("(uint8_t){of}")],
        "high-half" => vec![format!("(uint8_t)({of} >> {half})")],
        "masked" => vec![format!("{of} & 3")],
        "is-zero" => vec![format!("!{of}")],
        "selected" => vec![format!("{of} ? 3 : 4")],
        "scaled" => vec![format!("({of} + 1) * 2")],
        "sign" if ty.unsigned => vec![format!("{of} >> {}", ty.bits - 1), format!("{of} != 0")],
        "sign" => vec![format!("{of} < 0"), format!("{of} != 0")],
        "widened" => vec![format!("(int64_t){of}")],
        "two-parts" => vec![format!("(uint8_t){of}"), format!("(uint8_t)({of} >> {half})")],
        "reassembled" => {
            let whole = if ty.bits > 64 { "unsigned __int128" } else { "uint64_t" };
            vec![format!(
                "({0})(({whole})({0})(({whole}){of} >> {half}) << {half} | (uint8_t){of})",
                ty.name
            )]
        }
        "compared" => vec![format!("{of} == 1")],
        "low-bit" => vec![format!("{of} & 1"), format!("{of} == 0")],
        _ => vec![of.to_string()],
    }
}
