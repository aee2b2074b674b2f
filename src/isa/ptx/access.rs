//! The words behind the dots of loads, stores, atomic operations and fences: order, scope, state space,
//! type. It does not know what the instructions do.

use super::types::Type;
use litmake_ops::{Tags, tag};

/// The words behind the dots of an access.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Access<'a> {
    order: Option<&'a str>,
    scope: Option<Tags>,
    /// The operation of an atomic instruction, such as `add`.
    pub operation: Option<&'a str>,
    ty: Option<Type>,
    mmio: bool,
    /// The number of elements of a vector, each of which is an access.
    parts: Option<usize>,
}

/// Which instruction an access is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Load,
    Store,
    Atomic,
    Reduction,
}

impl Of {
    /// The orders that its instruction can have.
    fn orders(self) -> &'static [&'static str] {
        match self {
            Of::Load => &["weak", "relaxed", "acquire", "volatile"],
            Of::Store => &["weak", "relaxed", "release", "volatile"],
            Of::Atomic => &["relaxed", "acquire", "release", "acq_rel"],
            Of::Reduction => &["relaxed", "release"],
        }
    }
}

/// The scope that a word names.
pub(super) fn scope(word: &str) -> Option<Tags> {
    Some(match word {
        "cta" => tag::PTX_CTA,
        "cluster" => tag::PTX_CLUSTER,
        "gpu" => tag::PTX_GPU,
        "sys" => tag::PTX_SYS,
        _ => return None,
    })
}

/// How many elements a vector has.
fn vector(word: &str) -> Option<usize> {
    Some(match word {
        "v2" => 2,
        "v4" => 4,
        "v8" => 8,
        _ => return None,
    })
}

const OPERATIONS: &[&str] = &["and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"];

/// State spaces whose memory threads can share or that holds what is a thread's own. They change no order.
const SPACES: &[&str] = &["global", "shared", "shared::cta", "shared::cluster", "local"];

/// Hints for caches, which "have no effect on the memory consistency".
const HINTS: &[&str] = &["ca", "cg", "cs", "lu", "cv", "wb", "wt"];

impl<'a> Access<'a> {
    pub(super) fn read(of: Of, mods: &[&'a str]) -> Result<Access<'a>, String> {
        let mut out = Access::default();
        let atomic = matches!(of, Of::Atomic | Of::Reduction);
        for &word in mods {
            let again = if of.orders().contains(&word) {
                out.order.replace(word).is_some()
            } else if let Some(scope) = scope(word) {
                out.scope.replace(scope).is_some()
            } else if atomic && OPERATIONS.contains(&word) {
                out.operation.replace(word).is_some()
            } else if let Some(ty) = Type::named(word) {
                out.ty.replace(ty).is_some()
            } else if word == "mmio" && !atomic {
                std::mem::replace(&mut out.mmio, true)
            } else if let Some(parts) = vector(word).filter(|_| !atomic) {
                out.parts.replace(parts).is_some()
            } else {
                let known = SPACES.contains(&word) || (!atomic && HINTS.contains(&word));
                if !known {
                    return Err(format!("unsupported: `.{word}`"));
                }
                false
            };
            if again {
                return Err(format!("`.{word}` says again what is said before it"));
            }
        }
        out.check(of)
    }

    fn check(self, of: Of) -> Result<Access<'a>, String> {
        let scoped = matches!(self.order, Some("relaxed" | "acquire" | "release" | "acq_rel"));
        let atomic = matches!(of, Of::Atomic | Of::Reduction);
        if self.mmio && (self.order != Some("relaxed") || self.scope != Some(tag::PTX_SYS)) {
            return Err("`.mmio` goes with `.relaxed.sys`".into());
        }
        // The elements are accessed in any order, which an order of the whole would have to hold for.
        if self.parts.is_some() && matches!(self.order, Some("acquire" | "release")) {
            return Err("unsupported: a vector that is acquired or released".into());
        }
        match (scoped, self.scope) {
            (true, None) if !atomic => {
                Err("expected a scope (`.cta`, `.cluster`, `.gpu`, `.sys`) behind the order".into())
            }
            (false, Some(_)) if !atomic => {
                Err("a scope goes with `.relaxed`, `.acquire` or `.release`".into())
            }
            _ if atomic && self.operation.is_none() => {
                Err("expected an operation, such as `.add`".into())
            }
            _ => Ok(self),
        }
    }

    /// How many elements it has, where it is a vector.
    pub(super) fn parts(&self) -> Option<usize> {
        self.parts
    }

    pub(super) fn ty(&self) -> Result<Type, String> {
        let ty = self.ty.filter(|ty| ty.bits >= 8);
        ty.ok_or_else(|| "expected a type of 8 to 64 bits, such as `.u32`".into())
    }

    /// The annotations of what it reads and of what it writes. A weak access has none; a volatile one
    /// is relaxed at the scope of the system; an atomic operation that does not say is relaxed at the
    /// scope of the GPU.
    pub(super) fn tags(&self, of: Of) -> (Tags, Tags) {
        let relaxed = tag::C_RLX;
        let (read, write) = match self.order {
            Some("volatile") => return (relaxed | tag::PTX_SYS, relaxed | tag::PTX_SYS),
            Some("acquire") => (tag::C_ACQ, relaxed),
            Some("release") => (relaxed, tag::C_REL),
            Some("acq_rel") => (tag::C_ACQ, tag::C_REL),
            Some("relaxed") => (relaxed, relaxed),
            _ if matches!(of, Of::Load | Of::Store) => return (Tags::NONE, Tags::NONE),
            _ => (relaxed, relaxed),
        };
        let scope = self.scope.unwrap_or(tag::PTX_GPU);
        match of {
            Of::Load | Of::Store => (read | scope, write | scope),
            Of::Atomic => (read | scope | tag::X, write | scope | tag::X),
            Of::Reduction => (read | scope | tag::X | tag::NoRet, write | scope | tag::X),
        }
    }
}

/// The annotations of a fence from the words behind its dots.
pub(super) fn fence(name: &str, mods: &[&str]) -> Result<Tags, String> {
    let unsupported = |word: &str| Err(format!("unsupported: `{name}.{word}`"));
    if name == "membar" {
        let scope = match mods {
            ["cta"] => tag::PTX_CTA,
            ["gl"] => tag::PTX_GPU,
            ["sys"] => tag::PTX_SYS,
            [word, ..] => return unsupported(word),
            [] => return Err("expected a level, as in `membar.gl`".into()),
        };
        return Ok(tag::C_SC | scope);
    }
    let (order, rest) = match mods {
        ["sc", rest @ ..] => (tag::C_SC, rest),
        ["acq_rel", rest @ ..] => (tag::C_ACQ_REL, rest),
        ["acquire", rest @ ..] => (tag::C_ACQ, rest),
        ["release", rest @ ..] => (tag::C_REL, rest),
        rest => (tag::C_ACQ_REL, rest),
    };
    match rest {
        [word] => match scope(word) {
            Some(scope) => Ok(order | scope),
            None => unsupported(word),
        },
        [word, ..] if scope(word).is_none() => unsupported(word),
        [_, word, ..] => unsupported(word),
        [] => Err("expected a scope, as in `fence.sc.gpu`".into()),
    }
}
