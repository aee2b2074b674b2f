//! Mixing: one test whose parts come from different compilers.
//!
//! `pieces` takes a test apart, `count` says which mixes of compiled parts differ, `symmetry`
//! which of those are one and the same, `splice` joins parts into a test, and `link` does so for
//! all mixes; `threads` does both where one compiler makes all of a test. `meaning` says which parts do the same, `driver` is the program that calls parts, and
//! `mend` knows barriers that parts could have. What compiled them is not known here, nor what a
//! model makes of the result.

pub mod count;
pub mod driver;
pub mod link;
pub mod meaning;
pub mod mend;
pub mod pieces;
pub mod splice;
pub mod symmetry;
#[cfg(test)]
mod tests;
pub mod threads;

pub use pieces::{By, Piece, Split, split};
pub use splice::{Compiled, splice};

/// A mix in the paper's notation: `(c1(P0_0); c2(P0_1)) || (c1(P1_0))`.
pub fn notation(split: &Split, name: &dyn Fn(usize) -> String) -> String {
    if split.whole {
        return format!("{}({})", name(0), split.pieces[0].name);
    }
    let threads: Vec<String> = (0..split.threads.len())
        .map(|t| {
            let parts: Vec<String> = (0..split.pieces.len())
                .filter(|i| split.pieces[*i].thread == t && split.pieces[*i].chosen)
                .map(|i| format!("{}({})", name(i), split.pieces[i].name))
                .collect();
            format!("({})", parts.join("; "))
        })
        .collect();
    threads.join(" || ")
}
