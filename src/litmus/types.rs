//! C types in initial states and `locations`: names, sizes, and their text.

use std::sync::Arc;

use super::{Arch, Type, c};

/// More stars and qualifiers than this are an error, so that types stay shallow.
pub const MAX_TYPE_TOKENS: usize = 16;

const fn int(bytes: u8, signed: bool) -> Type {
    Type::Int { bytes, signed }
}

/// The bytes of a pointer, and of `long`, in tests of a dialect.
pub fn pointer_bytes(arch: Arch) -> u8 {
    arch.facts().pointer
}

/// The type that a name of one word stands for. An unknown name becomes a type of that name.
pub fn named(word: &str, arch: Arch) -> Type {
    if let Some(ty) = plain(word, arch) {
        return ty;
    }
    if let Some(rest) = word.strip_prefix("atomic_") {
        let inner = match rest {
            "schar" => Some(int(1, true)),
            "uchar" => Some(int(1, false)),
            "ushort" => Some(int(2, false)),
            "uint" => Some(int(4, false)),
            "ulong" => Some(int(pointer_bytes(arch), false)),
            "llong" => Some(int(8, true)),
            "ullong" => Some(int(8, false)),
            // Linux's type, not C11's.
            "t" => None,
            _ => plain(rest, arch),
        };
        if let Some(inner) = inner {
            return Type::Atomic(Arc::new(inner));
        }
    }
    Type::Named(word.to_string())
}

fn plain(word: &str, arch: Arch) -> Option<Type> {
    Some(match word {
        "void" => Type::Void,
        "char" | "int8_t" => int(1, true),
        "uint8_t" | "bool" | "_Bool" => int(1, false),
        "short" | "int16_t" => int(2, true),
        "uint16_t" => int(2, false),
        "int" | "int32_t" | "signed" => int(4, true),
        "uint32_t" | "unsigned" => int(4, false),
        "int64_t" => int(8, true),
        "uint64_t" => int(8, false),
        "float" => Type::Float { bytes: 4 },
        "double" => Type::Float { bytes: 8 },
        "long" | "intptr_t" | "ptrdiff_t" | "ssize_t" => int(pointer_bytes(arch), true),
        "uintptr_t" | "size_t" => int(pointer_bytes(arch), false),
        "__int128" | "__int128_t" | "int128_t" => int(16, true),
        "__uint128" | "__uint128_t" | "uint128_t" => int(16, false),
        _ => return None,
    })
}

/// A type from the tokens before a declared name: words, `*`, and nothing else. `_Atomic` may
/// come on either side of what it qualifies, as C has it.
pub fn from_tokens(tokens: &[&str], arch: Arch) -> Result<Type, String> {
    if tokens.len() > MAX_TYPE_TOKENS {
        return Err("this type is too long".to_string());
    }
    let stars = tokens.iter().position(|t| *t == "*").unwrap_or(tokens.len());
    let (mut atomic, mut constant, mut volatile) = (false, false, false);
    let (mut sign, mut longs, mut base) = (None, 0, Vec::new());
    for word in &tokens[..stars] {
        match *word {
            "_Atomic" => atomic = true,
            "const" => constant = true,
            "volatile" => volatile = true,
            "signed" => sign = Some(true),
            "unsigned" => sign = Some(false),
            "long" => longs += 1,
            "static" | "extern" | "register" | "(" | ")" => {}
            word => base.push(word),
        }
    }
    // `long int` and `short int` say no more than `long` and `short`.
    if (longs > 0 || base.contains(&"short")) && base.contains(&"int") {
        base.retain(|w| *w != "int");
    }
    let mut ty = match (base.as_slice(), longs) {
        ([], 0) if sign.is_some() => Type::INT,
        ([], 0) => Type::INT,
        ([], 1) => named("long", arch),
        ([], 2) => int(8, true),
        ([word], 0) => named(word, arch),
        (["struct" | "union" | "enum", _], 0) => Type::Named(base.join(" ")),
        _ => {
            return Err(format!("`{}` is not a type", tokens[..stars].join(" ").trim()));
        }
    };
    if let Some(signed) = sign {
        ty = match ty {
            Type::Int { bytes, .. } => int(bytes, signed),
            _ => {
                return Err(format!(
                    "`{}` is not a type: only integers have a sign",
                    tokens[..stars].join(" ")
                ));
            }
        };
    }
    ty = qualify(ty, atomic, constant, volatile);
    for token in &tokens[stars..] {
        ty = match *token {
            "*" => Type::Pointer(Arc::new(ty)),
            "_Atomic" => qualify(ty, true, false, false),
            "const" => qualify(ty, false, true, false),
            "volatile" => qualify(ty, false, false, true),
            "restrict" => Type::Restrict(Arc::new(ty)),
            "(" | ")" => ty,
            other => return Err(format!("`{other}` cannot stand behind `*` in a type")),
        };
    }
    Ok(ty)
}

/// Qualifiers in one order, so that `const volatile` and `volatile const` are one type.
fn qualify(ty: Type, atomic: bool, constant: bool, volatile: bool) -> Type {
    let (a, c, v) = (ty.is_atomic(), ty.is_const(), ty.is_volatile());
    let restrict = ty.is_restrict();
    let mut ty = ty.bare().clone();
    if atomic || a {
        ty = Type::Atomic(Arc::new(ty));
    }
    if restrict {
        ty = Type::Restrict(Arc::new(ty));
    }
    if volatile || v {
        ty = Type::Volatile(Arc::new(ty));
    }
    if constant || c {
        ty = Type::Const(Arc::new(ty));
    }
    ty
}

/// The text of a type as herd reads it; an array's bounds are written behind the name, and
/// are left out here.
pub fn text(ty: &Type) -> String {
    normal_text(&normal(ty))
}

fn normal_text(ty: &Type) -> String {
    match ty {
        Type::Int { bytes: 16, signed: false } => "__uint128".to_string(),
        Type::Int { bytes, signed } => c::types::int_name(*bytes, *signed).to_string(),
        Type::Float { bytes } => float_name(*bytes).to_string(),
        Type::Pointer(t) => format!("{}*", normal_text(t)),
        Type::Array(t, _) => normal_text(t),
        Type::Atomic(t) => match &**t {
            // The only atomic type that herd knows by a name.
            Type::Int { bytes: 4, signed: true } => "atomic_int".to_string(),
            t @ Type::Pointer(_) => format!("{} _Atomic", normal_text(t)),
            t => format!("_Atomic {}", normal_text(t)),
        },
        Type::Const(t) => qualified(t, "const"),
        Type::Volatile(t) => qualified(t, "volatile"),
        Type::Restrict(t) => format!("{} restrict", normal_text(t)),
        Type::Void => "void".to_string(),
        Type::Struct(s) => s.name(),
        Type::Named(name) => name.clone(),
    }
}

fn qualified(ty: &Type, word: &str) -> String {
    match ty.bare() {
        Type::Pointer(_) => format!("{} {word}", normal_text(ty)),
        _ => format!("{word} {}", normal_text(ty)),
    }
}

/// The name of a floating-point type.
pub fn float_name(bytes: u8) -> &'static str {
    if bytes == 4 { "float" } else { "double" }
}

/// An equal type with its qualifiers in one order.
pub fn normal(ty: &Type) -> Type {
    match ty {
        Type::Atomic(t) => qualify(normal(t), true, false, false),
        Type::Const(t) => qualify(normal(t), false, true, false),
        Type::Volatile(t) => qualify(normal(t), false, false, true),
        Type::Restrict(t) => qualify(Type::Restrict(Arc::new(normal(t))), false, false, false),
        Type::Pointer(t) => Type::Pointer(Arc::new(normal(t))),
        Type::Array(t, n) => Type::Array(Arc::new(normal(t)), *n),
        Type::Int { .. } | Type::Float { .. } | Type::Void | Type::Struct(_) | Type::Named(_) => {
            ty.clone()
        }
    }
}
