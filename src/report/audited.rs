//! The part of a cache that an audit covered, in numbers and in words.
//!
//! It does not know how results are made again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An audit promises how likely it finds out a cache in which one result in so many is wrong.
pub const FORGED: u64 = 10_000;

/// How many of the stored results were made again, and how many of them were wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// The stored results that could be made again: none of devices.
    pub claims: u64,
    /// Those that were made again, chosen by chance.
    pub made: u64,
    /// Those that were chosen and could not be made, because a tool or an input is missing or breaks.
    pub not_made: u64,
    /// Those that were made and are not what was stored.
    pub wrong: u64,
}

impl Audited {
    /// How likely such an audit finds something, if one of [`FORGED`] results is wrong, and at least
    /// one.
    pub fn rate(&self) -> f64 {
        let forged = self.claims.div_ceil(FORGED).max(1);
        match self.claims {
            0 => 0.0,
            claims => 1.0 - (1.0 - self.made as f64 / claims as f64).powf(forged as f64),
        }
    }

    /// Adds another audit, of other results.
    pub fn add(&mut self, other: Audited) {
        self.claims += other.claims;
        self.made += other.made;
        self.not_made += other.not_made;
        self.wrong += other.wrong;
    }

    /// The part that was covered, in one line.
    pub fn words(&self) -> String {
        let found = match self.wrong {
            0 => "all equal".to_string(),
            n => format!("{n} wrong"),
        };
        let mut out = format!(
            "{} of {} stored results made again, {found}; a cache with one forged result in {FORGED} \
             is found out with a probability of {:.1}%",
            self.made,
            self.claims,
            self.rate() * 100.0
        );
        if self.not_made > 0 {
            out += &format!("; {} more were chosen and could not be made", self.not_made);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_drawing_without_the_forged_ones() {
        let of = |claims, made| Audited { claims, made, ..Audited::default() }.rate();
        assert_eq!(of(0, 0), 0.0);
        assert_eq!(of(50, 50), 1.0);
        assert!((of(1000, 10) - 0.01).abs() < 1e-9, "one of 1,000 is forged at least");
        // Ten of 100,000 are forged; each is missed with a probability of 0.9.
        assert!((of(100_000, 10_000) - (1.0 - 0.9f64.powi(10))).abs() < 1e-9);
    }
}
