//! Counts the constructs, memory orders and widths in the tests of a hunt.
//!
//! It reads text and does not know what the tests do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The number of tests that contain each of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// Statements and operators of C.
    pub constructs: BTreeMap<String, u64>,
    /// Memory orders.
    pub orders: BTreeMap<String, u64>,
    /// Types of locations.
    pub widths: BTreeMap<String, u64>,
}

const CONSTRUCTS: [&str; 14] = [
    "if",
    "for",
    "while",
    "do",
    "restrict",
    "const",
    "volatile",
    "pure",
    "noinline",
    "always_inline",
    "__builtin_expect",
    "goto",
    "struct",
    "union",
];

impl Cover {
    /// Counts the words of a C test.
    pub fn add(&mut self, text: &str) {
        let words: BTreeSet<&str> = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|w| !w.is_empty())
            .collect();
        let mut count = |map: fn(&mut Cover) -> &mut BTreeMap<String, u64>, word: &str| {
            *map(self).entry(word.to_string()).or_default() += 1;
        };
        for word in words {
            if let Some(order) = word.strip_prefix("memory_order_") {
                count(|c| &mut c.orders, order);
            } else if let Some(width) = width(word) {
                count(|c| &mut c.widths, width);
            } else if CONSTRUCTS.contains(&word)
                || (word.starts_with("atomic_") && word != "atomic_int")
            {
                count(|c| &mut c.constructs, word.trim_end_matches("_explicit"));
            }
        }
    }
}

fn width(word: &str) -> Option<&'static str> {
    Some(match word {
        "int8_t" | "uint8_t" => "8",
        "int16_t" | "uint16_t" => "16",
        "int" | "atomic_int" | "uint32_t" => "32",
        "int64_t" | "uint64_t" => "64",
        "__int128" | "__uint128_t" | "__uint128" => "128",
        _ => return None,
    })
}
