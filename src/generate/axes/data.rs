//! What is written and read, and how the data is reached: the choices of the axes of data.

/// An integer type of the data.
pub struct Type {
    pub name: &'static str,
    pub bits: u32,
    pub unsigned: bool,
    /// The type of the other sign.
    pub other: &'static str,
}

pub const TYPES: [Type; 8] = [
    Type { name: "int", bits: 32, unsigned: false, other: "uint32_t" },
    Type { name: "int64_t", bits: 64, unsigned: false, other: "uint64_t" },
    Type { name: "uint8_t", bits: 8, unsigned: true, other: "int8_t" },
    Type { name: "int16_t", bits: 16, unsigned: false, other: "uint16_t" },
    Type { name: "uint32_t", bits: 32, unsigned: true, other: "int" },
    Type { name: "uint64_t", bits: 64, unsigned: true, other: "int64_t" },
    Type { name: "int8_t", bits: 8, unsigned: false, other: "uint8_t" },
    Type { name: "uint16_t", bits: 16, unsigned: true, other: "int16_t" },
];

/// Types of flags.
pub const FLAGS: [&str; 4] = ["int", "int8_t", "int16_t", "int64_t"];

/// What the data is: plain objects are volatile nowhere, so that compilers may act on them.
pub const KINDS: [&str; 3] = ["plain", "atomic", "volatile"];

/// Where a value that is written comes from. `*k` is 1, which no compiler knows.
pub const VALUES: [&str; 17] = [
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
];

/// How a value that was read is taken apart.
pub const READS: [&str; 14] = [
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

/// What is around a write of the data.
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

/// What is around a read of the data.
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
pub const CALLS: [&str; 11] = [
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

/// What the owner did with the data before.
pub const EARLIES: [&str; 4] = ["nothing", "read", "read-kept", "written"];

/// Loops that run once, around what a thread does.
pub const LOOPS: [&str; 7] =
    ["none", "counted", "while", "do-once", "do-known", "around-data", "breaks"];

/// An expression for a value that is not 0, of a type, and different for small different `n`.
pub fn value(choice: &str, ty: &Type, n: u32, thread: usize) -> String {
    let t = ty.name;
    let half = ty.bits / 2;
    match choice {
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
        _ => n.to_string(),
    }
}

/// What is kept of a value that was read, as expressions over it; each goes to a local.
pub fn parts(choice: &str, ty: &Type, of: &str) -> Vec<String> {
    let half = ty.bits / 2;
    match choice {
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
            vec![format!(
                "({0})(({0})((uint64_t){of} >> {half}) << {half} | (uint8_t){of})",
                ty.name
            )]
        }
        "compared" => vec![format!("{of} == 1")],
        "low-bit" => vec![format!("{of} & 1"), format!("{of} == 0")],
        _ => vec![of.to_string()],
    }
}
