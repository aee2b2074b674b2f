//! Statistics of test runs: rates, scores, confidence, merging, correlation.
//!
//! It works on counts of outcomes and on times, and knows no device, no test and no memory model.
//! The definitions are those of the MC Mutants paper and its published analysis, including the
//! rounding of numbers, so that figures can be compared digit for digit.

pub mod confidence;
pub mod correlate;
pub mod merge;
pub mod results;
pub mod score;
pub mod search;
mod special;

/// Rounds to a number of decimal digits: the exact binary value, ties to even. Multiplying and
/// rounding would give another digit at ties such as 0.0625.
pub fn rounded(value: f64, digits: usize) -> f64 {
    if !value.is_finite() {
        return value;
    }
    format!("{value:.digits$}").parse().unwrap_or(value)
}

/// The sum from left to right, without compensation, as in the published analysis.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = 0.0;
    for value in values {
        total += value;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_round_as_decimals() {
        assert_eq!(rounded(0.0625, 3), 0.062);
        assert_eq!(rounded(1.0005, 3), 1.0);
        assert_eq!(rounded(0.1875, 3), 0.188);
        assert_eq!(rounded(2.0 / 3.0, 10), 0.6666666667);
        assert_eq!(rounded(f64::INFINITY, 3), f64::INFINITY);
    }
}
