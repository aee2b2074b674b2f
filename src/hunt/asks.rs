//! Reads the atomic operations of a test's source, with their orders, and sequences of three
//! operations.
//!
//! An optimiser can err on two adjacent operations even if the resulting code is common: an
//! exchange with an unused result before a fence becomes the code of a store before a fence. Tests
//! are therefore also drawn for what is new in their sources. This module reads only text.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// The number of operations in a sequence, as for code.
const LENGTH: usize = 3;

/// An atomic operation of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    /// The name with its orders, and whether the result is unused.
    word: String,
    /// The location, if it has one.
    place: String,
}

/// The operations of each thread of a C test, with their orders. Operations in functions count for
/// every thread.
pub fn words(text: &str) -> Vec<BTreeSet<String>> {
    let (threads, shared) = threads(text);
    let all = |thread: &Vec<Asked>| {
        thread.iter().chain(&shared).map(|asked| asked.word.clone()).collect::<BTreeSet<_>>()
    };
    threads.iter().map(all).collect()
}

/// The sequences of operations in the threads and functions of a C test, each as a hash. Sequences
/// that differ only in the names of locations are equal. Sequences at the end of a thread are
/// shorter.
pub fn sequences(text: &str) -> BTreeSet<u64> {
    let (threads, shared) = threads(text);
    let mut out = BTreeSet::new();
    for thread in threads.iter().chain([&shared]) {
        for from in 0..thread.len() {
            let window = &thread[from..thread.len().min(from + LENGTH)];
            let mut hasher = rustc_hash::FxHasher::default();
            let mut places: Vec<&str> = Vec::new();
            for asked in window {
                let known = places.iter().position(|p| *p == asked.place);
                let at = known.unwrap_or_else(|| {
                    places.push(&asked.place);
                    places.len() - 1
                });
                (&asked.word, at).hash(&mut hasher);
            }
            out.insert(hasher.finish());
        }
    }
    out
}

/// The operations of each thread, and the operations of functions.
fn threads(text: &str) -> (Vec<Vec<Asked>>, Vec<Asked>) {
    let mut bodies: Vec<String> = Vec::new();
    let (mut shared, mut rest) = (String::new(), String::new());
    let mut open = false;
    for line in text.lines() {
        let head = line
            .strip_prefix('P')
            .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        if head.is_some_and(|rest| rest.trim_start().starts_with('(')) {
            bodies.push(String::new());
            open = true;
        }
        let into = match (open, bodies.last_mut()) {
            (true, Some(body)) => body,
            (false, Some(_)) => &mut rest,
            _ => &mut shared,
        };
        into.push_str(line);
        into.push('\n');
        open &= line != "}";
    }
    let read =
        |(t, body): (usize, &String)| operations(body, &|local| is_read(body, &rest, t, local));
    // The caller decides about the result of a function's operation.
    let of_functions = operations(&shared, &|_| true);
    (bodies.iter().enumerate().map(read).collect(), of_functions)
}

/// Whether a local that is set once is read by the thread or in the condition.
fn is_read(body: &str, rest: &str, thread: usize, local: &str) -> bool {
    let seen = format!("{thread}:{local}");
    let at_end = rest.match_indices(&seen).any(|(at, _)| {
        let after = rest[at + seen.len()..].chars().next();
        !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let written = |line: &str| {
        let left = line.split_once('=').map_or("", |(left, _)| left);
        left.split_whitespace().last() == Some(local)
    };
    let reads = |line: &str| {
        let right = if written(line) { line.split_once('=').map_or("", |(_, r)| r) } else { line };
        names(right).any(|word| word == local)
    };
    at_end || body.lines().any(reads)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty())
}

/// The atomic operations of some code, in order.
fn operations(body: &str, is_read: &dyn Fn(&str) -> bool) -> Vec<Asked> {
    let mut out: Vec<Asked> = Vec::new();
    for line in body.lines() {
        let first = out.len();
        for (at, _) in line.match_indices("atomic_") {
            let name = names(&line[at..]).next().unwrap_or("");
            let before = line[..at].chars().last();
            let inside = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            if inside || name == "atomic_int" {
                continue;
            }
            let arguments = line[at + name.len()..].trim_start_matches('(');
            let place = match name {
                "atomic_thread_fence" | "atomic_signal_fence" => "",
                _ => names(arguments.split(',').next().unwrap_or("")).last().unwrap_or(""),
            };
            let orders: Vec<&str> =
                names(arguments).filter_map(|w| w.strip_prefix("memory_order_")).collect();
            // The orders of later operations on the line are included, too. That does no harm,
            // because equal lines give equal words.
            let word = format!("{name} {}", orders.join(" ")).trim_end().to_string();
            out.push(Asked { word, place: place.to_string() });
        }
        let start = line.trim_start();
        let unused = match start.split_once('=') {
            _ if start.starts_with("atomic_") => true,
            Some((left, _)) if !left.contains(['(', '*', '[']) => {
                left.split_whitespace().last().is_some_and(|local| !is_read(local))
            }
            _ => false,
        };
        for asked in out[first..].iter_mut().filter(|_| unused) {
            if !asked.word.starts_with("atomic_store") && !asked.place.is_empty() {
                asked.word.push_str(" unused");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{sequences, words};

    fn test(body: &str, exists: &str) -> String {
        format!(
            "C t
{{}}
P0(atomic_int *x, atomic_int *y) {{
{body}}}
exists ({exists})
"
        )
    }

    const LOAD: &str = "  int r0 = atomic_load_explicit(x, memory_order_relaxed);\n";

    #[test]
    fn a_result_is_used_where_something_reads_it() {
        let exchange = "atomic_exchange_explicit(y, 2, memory_order_release);\n";
        let says = |text: &str| {
            words(text)[0].iter().any(|w| w.contains("exchange") && w.ends_with("unused"))
        };
        assert!(says(&test(&format!("  {exchange}{LOAD}"), "0:r0=0")));
        assert!(says(&test(&format!("  int u = {exchange}{LOAD}"), "0:r0=0 /\\ 0:u1=0")));
        assert!(!says(&test(&format!("  int u = {exchange}{LOAD}"), "0:r0=0 /\\ 0:u=0")));
        let read = format!("  int u = {exchange}  if (u == 1) {{\n  {LOAD}  }}\n");
        assert!(!says(&test(&read, "0:r0=0")));
    }

    #[test]
    fn names_of_locations_make_no_sequences() {
        let fence = "  atomic_thread_fence(memory_order_acquire);\n";
        let one = test(&format!("{LOAD}{fence}{LOAD}"), "0:r0=0");
        let other = one.replace("(x,", "(y,");
        assert_eq!(sequences(&one), sequences(&other));
        // It matters whether two locations are the same.
        let two = one.replacen("(x,", "(y,", 1);
        assert_ne!(sequences(&one), sequences(&two));
        assert_eq!(sequences(&one).len(), 3);
    }
}
