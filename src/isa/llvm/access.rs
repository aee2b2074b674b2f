//! What an instruction accesses at once: its type, and whether it is atomic. It does not know addresses, values or
//! meanings.

use super::types::Type;

/// The word behind the name of an instruction that accesses a number of which the upper byte comes first in memory. It is
/// ours: the language says it of a whole module.
pub const UPPER_FIRST: &str = "bigendian";

/// The access of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// The type of the value in memory.
    pub ty: Type,
    /// Whether the access is atomic as a whole.
    pub atomic: bool,
}

/// The access of an instruction that reads or writes memory itself, where pointers have so many bits.
pub fn accessed(words: &[&str], pointer: u8) -> Option<Accessed> {
    let words = match words {
        [_, "=", rest @ ..] => rest,
        rest => rest,
    };
    let (op, mut rest) = words.split_first()?;
    let mut atomic = match *op {
        "load" | "store" => false,
        "call" => return library(rest),
        // Behind the address.
        "atomicrmw" | "cmpxchg" => {
            rest = &rest[behind_comma(rest)?..];
            true
        }
        _ => return None,
    };
    while let [word @ ("atomic" | "volatile" | "elementwise" | UPPER_FIRST), more @ ..] = rest {
        atomic = (atomic || *word == "atomic") && *word != "elementwise";
        rest = more;
    }
    let (ty, _) = Type::read(rest, pointer).ok()?;
    Some(Accessed { ty, atomic })
}

/// The access of a call of `libatomic`, which has its bytes in its name or as its first argument.
fn library(call: &[&str]) -> Option<Accessed> {
    let at = call.iter().position(|w| w.starts_with("@__atomic_"))?;
    let named = call[at].rsplit_once('_').and_then(|(_, bytes)| bytes.parse::<u8>().ok());
    let given = || call.get(at + 3).and_then(|bytes| bytes.parse().ok());
    let bytes = named.or_else(given).filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8 | 16))?;
    Some(Accessed { ty: Type::Int(8 * bytes), atomic: true })
}

fn behind_comma(words: &[&str]) -> Option<usize> {
    let mut depth = 0usize;
    words
        .iter()
        .position(|word| {
            match *word {
                "(" | "[" | "{" | "<" => depth += 1,
                ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *word == ","
        })?
        .checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokens;
    use super::*;

    #[test]
    fn the_type_behind_the_address_is_accessed() {
        for (text, ty, atomic) in [
            ("%v = load atomic volatile i32, ptr %p monotonic", "i32", true),
            ("store <2 x half> %v, ptr %p", "<2 x half>", false),
            ("store atomic elementwise <2 x i32> %v, ptr %p unordered", "<2 x i32>", false),
            (
                "%v = atomicrmw volatile fadd ptr getelementptr (i8, ptr @x, i64 4), <2 x half> %w monotonic",
                "<2 x half>",
                true,
            ),
            ("%v = call i1 @__atomic_compare_exchange(i64 4, ptr %p, ptr %q)", "i32", true),
            ("call void @__atomic_store_8(ptr %p, i64 %v, i32 5)", "i64", true),
            ("%v = cmpxchg weak ptr %p, i64 %a, i64 %b seq_cst acquire", "i64", true),
        ] {
            let (ty, _) = Type::read(&tokens(ty), 64).expect("a type");
            assert_eq!(accessed(&tokens(text), 64), Some(Accessed { ty, atomic }), "{text}");
        }
        assert_eq!(accessed(&tokens("fence seq_cst"), 64), None);
    }
}
