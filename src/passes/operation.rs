//! Names the operation that a pass removed, replaced or moved: its kind, order and width, in C's
//! terms.
//!
//! An operation has the same name in intermediate code and in machine code. What it computes is
//! read from the names of instructions. It does not know passes or models.

use super::machine::DROPPED;

/// Separates an operation from the name of its instruction.
pub(crate) const BY: &str = " by ";

/// The computations of instructions on memory, by parts of their names in small letters. The first
/// match counts: a `compare_and_swap` is not a swap, and a `test_and_set` is not an `and`.
const COMPUTED: &[(&str, &str)] = &[
    ("cmpxchg", "compare-exchange"),
    ("compare_exchange", "compare-exchange"),
    ("compare_and_swap", "compare-exchange"),
    ("cmp_swap", "compare-exchange"),
    ("cmpswap", "compare-exchange"),
    ("cas", "compare-exchange"),
    ("exchange", "exchange"),
    ("xchg", "exchange"),
    ("test_and_set", "exchange"),
    ("swap", "exchange"),
    ("swp", "exchange"),
    ("nand", "nand"),
    ("umax", "umax"),
    ("umin", "umin"),
    ("max", "max"),
    ("min", "min"),
    ("add", "add"),
    ("inc", "add"),
    ("sub", "sub"),
    ("dec", "sub"),
    ("xor", "xor"),
    ("eor", "xor"),
    ("clr", "and-not"),
    ("bic", "and-not"),
    ("and", "and"),
    ("ldset", "or"),
    ("amoor", "or"),
];

/// The computation of an instruction, pattern or built-in function, according to its name:
/// `sync_old_nand_12`, `LDADDALW`, `atomic_fetch_iorsi`.
pub(crate) fn computed(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if let Some((_, what)) = COMPUTED.iter().find(|(part, _)| name.contains(part)) {
        return Some(what);
    }
    // Many other words contain these letters; here, only a width follows them.
    let is_or = |word: &str| {
        let rest = word.strip_prefix('i').unwrap_or(word).strip_prefix("or");
        rest.is_some_and(|rest| {
            matches!(rest, "" | "qi" | "hi" | "si" | "di" | "ti")
                || rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    name.split('_').any(is_or).then_some("or")
}

/// An operation without the name of its instruction.
pub(crate) fn plain(operation: &str) -> &str {
    operation.split_once(BY).map_or(operation, |(plain, _)| plain)
}

/// Whether two operations are known to compute different things.
pub(crate) fn differ(before: &str, after: &str) -> bool {
    let what = |operation: &str| operation.split_once(BY).and_then(|(_, name)| computed(name));
    matches!((what(before), what(after)), (Some(old), Some(new)) if old != new)
}

/// The operations of a thread's intermediate code, in order.
pub fn of_code(code: &str) -> Vec<String> {
    code.lines().filter_map(of_line).collect()
}

/// The operation in a line of intermediate code: `read-modify-write relaxed 32`.
fn of_line(line: &str) -> Option<String> {
    let line = line.trim();
    let code = line.split_once(" = ").map_or(line, |(_, code)| code);
    let mut words = code.split([' ', ',']).filter(|w| !w.is_empty());
    let kind = match words.next()? {
        "load" => "load",
        "store" => "store",
        "atomicrmw" => "read-modify-write",
        "cmpxchg" => "compare-exchange",
        "fence" => "fence",
        _ => return None,
    };
    let mut orders = Vec::new();
    let mut width = None;
    for word in words {
        match order(word) {
            Some(order) => orders.push(order),
            // The first integer type is that of the value; only older releases give one for
            // pointers.
            None => width = width.or_else(|| bits(word)),
        }
    }
    Some(said(kind, &orders, width))
}

fn bits(word: &str) -> Option<u32> {
    match word {
        "ptr" => None,
        _ => word.strip_prefix('i')?.trim_end_matches('*').parse().ok(),
    }
}

/// A memory order in C's terms.
fn order(word: &str) -> Option<&str> {
    Some(match word {
        "monotonic" => "relaxed",
        "unordered" | "acquire" | "release" | "acq_rel" | "seq_cst" => word,
        _ => return None,
    })
}

fn said(kind: &str, orders: &[&str], width: Option<u32>) -> String {
    let width = width.map(|w| w.to_string());
    let words = std::iter::once(kind).chain(orders.iter().copied());
    words.chain(width.as_deref()).collect::<Vec<_>>().join(" ")
}

/// The operation of an access of machine code in the form of `machine`:
/// `load store release (s32) by SWPLW`.
fn of_access(access: &str) -> String {
    let access = access.trim_end_matches(DROPPED);
    let (memory, name) = access.split_once(BY).unwrap_or((access, ""));
    let words: Vec<&str> = memory.split([' ', '(', ')']).filter(|w| !w.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    let compares = ["CAS", "CMPXCHG", "CMP_SWAP", "CmpSwap"].iter().any(|c| name.contains(c));
    let kind = match (has("load"), has("store")) {
        (true, true) if compares => "compare-exchange",
        (true, true) => "read-modify-write",
        (true, false) => "load",
        (false, true) => "store",
        (false, false) => return format!("barrier {memory}"),
    };
    let mut orders: Vec<&str> = words.iter().filter_map(|w| order(w)).collect();
    if !compares {
        orders.truncate(1);
    }
    // The size is `s32`, or a number of bytes before LLVM 13.
    let sized = words.iter().find_map(|w| w.strip_prefix('s')?.parse().ok());
    let bytes = || words.iter().find_map(|w| w.parse::<u32>().ok()).map(|n| n * 8);
    said(kind, &orders, sized.or_else(bytes))
}

/// The operation of `before` that `after` lacks, or has at another place.
fn lost<'a>(before: &'a [String], after: &[String]) -> Option<&'a String> {
    let mut left = after.to_vec();
    let mut gone: Vec<&String> = Vec::new();
    for operation in before {
        match left.iter().position(|o| o == operation) {
            Some(at) => drop(left.remove(at)),
            None => gone.push(operation),
        }
    }
    if gone.is_empty() {
        let moved = before.iter().zip(after).find(|(a, b)| a != b);
        return moved.map(|(a, _)| a);
    }
    // A read-modify-write is preferred, because it says more than a read.
    gone.into_iter().max_by_key(|o| (o.contains("read-modify") || o.contains("compare"), *o))
}

/// The operation that intermediate code lost between two texts; empty if none can be named.
pub fn lost_of_code(before: &str, after: &str) -> String {
    lost(&of_code(before), &of_code(after)).cloned().unwrap_or_default()
}

/// The operation that the code gained.
pub fn gained_of_code(before: &str, after: &str) -> String {
    lost_of_code(after, before)
}

/// The operation that the accesses of machine code lost.
pub fn lost_of_accesses(before: &[String], after: &[String]) -> String {
    lost(before, after).map(|access| of_access(access)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_kind_order_and_width() {
        for (line, expected) in [
            ("  %0 = atomicrmw add ptr @y, i32 0 monotonic", Some("read-modify-write relaxed 32")),
            ("%0 = load atomic i32, ptr @y acquire", Some("load acquire 32")),
            ("%0 = load i64, i64* @y", Some("load 64")),
            ("store atomic i16 1, ptr @x release", Some("store release 16")),
            (
                "%2 = cmpxchg ptr @x, i32 0, i32 1 acq_rel acquire",
                Some("compare-exchange acq_rel acquire 32"),
            ),
            ("fence seq_cst", Some("fence seq_cst")),
            ("%3 = add i32 %1, 1", None),
            ("P0:", None),
        ] {
            assert_eq!(of_line(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn machine_code_has_the_same_words() {
        for (access, expected) in [
            ("load store release (s32) by SWPLW", "read-modify-write release 32"),
            ("load store release monotonic (s32) by SWPLW", "read-modify-write release 32"),
            ("load store acq_rel acquire (s64) by CASALX", "compare-exchange acq_rel acquire 64"),
            ("store release (s8)", "store release 8"),
            ("load monotonic 4", "load relaxed 32"),
            ("DMB 9", "barrier DMB 9"),
        ] {
            assert_eq!(of_access(access), expected, "{access}");
        }
        let dropped = format!("load store release (s32) by SWPLW{DROPPED}");
        assert_eq!(of_access(&dropped), "read-modify-write release 32");
    }

    #[test]
    fn names_say_what_is_computed() {
        for (name, expected) in [
            ("sync_old_nand_12", Some("nand")),
            ("sync_old_add_12", Some("add")),
            ("atomic_fetch_iorsi", Some("or")),
            ("sync_old_ior_12", Some("or")),
            ("LOCK_OR32mr", Some("or")),
            ("AMOXOR_W_AQ_RL", Some("xor")),
            ("AMOOR_D", Some("or")),
            ("LDSETALW", Some("or")),
            ("LDEORW", Some("xor")),
            ("LDCLRLX", Some("and-not")),
            ("atomic_compare_and_swapsi_1", Some("compare-exchange")),
            ("sync_lock_test_and_setsi", Some("exchange")),
            ("SWPLW", Some("exchange")),
            ("LCMPXCHG32", Some("compare-exchange")),
            ("atomic_storesi", None),
            ("load_lockedsi", None),
            ("store_conditionaldi", None),
            ("STLXRW", None),
        ] {
            assert_eq!(computed(name), expected, "{name}");
        }
        assert!(differ("rmw by LDADDW", "rmw by LDCLRW"));
        assert!(!differ("rmw by LDADDW", "rmw by LDADDALW"));
        assert!(!differ("rmw by LDADDW", "rmw"));
        assert_eq!(plain("read-modify-write relaxed 8 by add"), "read-modify-write relaxed 8");
    }

    #[test]
    fn what_is_lost_is_gone_replaced_or_moved() {
        let idle = "%0 = atomicrmw add ptr @y, i32 0 monotonic\nfence acquire\n";
        let load = "%0 = load atomic i32, ptr @y monotonic\nfence acquire\n";
        assert_eq!(lost_of_code(idle, load), "read-modify-write relaxed 32");
        assert_eq!(lost_of_code(load, load), "");
        let turned = "fence acquire\n%0 = load atomic i32, ptr @y monotonic\n";
        assert_eq!(lost_of_code(load, turned), "load relaxed 32");
    }
}
