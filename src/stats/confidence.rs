//! Computes what counts say about a rate: exact Poisson intervals, and how likely a time budget is
//! to show a behaviour again.
//!
//! It does not know how counts were obtained.

use serde_json::{Map, Value, json};

use super::merge::{Target, reproducibility};
use super::results::{Counts, Results};
use super::score::{Best, best_of, env_json};
use super::{special, sum};

/// Larger counts are treated as normally distributed.
const LARGE: u64 = 10_000_000;

/// A two-sided confidence interval for the mean of a Poisson variable from one observation, at a
/// level such as 0.95. It is Garwood's interval, which contains the mean at least this often.
pub fn poisson_interval(count: u64, level: f64) -> (f64, f64) {
    let tail = (1.0 - level.clamp(0.0, 1.0)) / 2.0;
    if count > LARGE {
        // The cube of a shifted normal variable (Wilson and Hilferty).
        let z = normal_quantile(tail);
        let cube = |k: f64, z: f64| k * (1.0 - 1.0 / (9.0 * k) + z / (3.0 * k.sqrt())).powi(3);
        return (cube(count as f64, z), cube(count as f64 + 1.0, -z));
    }
    let k = count as f64;
    let low = if count == 0 { 0.0 } else { special::gamma_p_inverse(k, tail) };
    (low, special::gamma_p_inverse(k + 1.0, 1.0 - tail))
}

/// The quantile of the standard normal distribution, for shares up to a half.
fn normal_quantile(share: f64) -> f64 {
    // A gamma variable with shape 1/2 is half the square of a normal one.
    -(2.0 * special::gamma_p_inverse(0.5, (1.0 - 2.0 * share).clamp(0.0, 1.0))).sqrt()
}

/// A confidence interval for the rate of some counts; `None` if no time was measured.
pub fn rate_interval(counts: &Counts, level: f64) -> Option<(f64, f64)> {
    if !counts.is_timed() {
        return None;
    }
    let (low, high) = poisson_interval(counts.weak, level);
    Some((low / counts.seconds, high / counts.seconds))
}

/// The largest rate that is still possible after this time without an observation, at a one-sided
/// level: a higher rate would have shown with this chance.
pub fn excluded_rate(seconds: f64, level: f64) -> f64 {
    if seconds > 0.0 { -(1.0 - level).ln() / seconds } else { f64::INFINITY }
}

/// How likely a budget is to show one test's behaviour in its best environment.
#[derive(Clone, Debug)]
pub struct Promise {
    /// The environment in which the behaviour shows most often.
    pub best: Best,
    /// The confidence interval of the rate.
    pub interval: Option<(f64, f64)>,
    /// The share of runs with this budget in which the behaviour shows.
    pub reproducibility: f64,
    /// The same for the lower end of the interval.
    pub reproducibility_at_least: f64,
    /// The seconds that the target needs; `None` if the behaviour never showed.
    pub needs: Option<f64>,
}

/// How likely a budget is to show the behaviours of all tests on a device.
#[derive(Clone, Debug)]
pub struct Promises {
    /// The budget of one test, in seconds.
    pub seconds: f64,
    /// The level of the intervals, between 0 and 1.
    pub level: f64,
    /// The target reproducibility.
    pub target: Target,
    /// The tests, in the order of the results.
    pub tests: Vec<Promise>,
}

/// Computes how likely a budget for each test is to show the tests' behaviours on this device.
pub fn promises(results: &Results, seconds: f64, level: f64, target: &Target) -> Promises {
    let one = |best: Best| {
        let interval = rate_interval(&best.counts, level);
        Promise {
            reproducibility: reproducibility(best.rate, seconds),
            reproducibility_at_least: interval.map_or(0.0, |(l, _)| reproducibility(l, seconds)),
            needs: (best.rate > 0.0).then(|| target.observations() / best.rate),
            interval,
            best,
        }
    };
    Promises {
        seconds,
        level,
        target: target.clone(),
        tests: best_of(results).into_iter().map(one).collect(),
    }
}

impl Promises {
    /// The number of tests that reach the target.
    pub fn reached(&self) -> usize {
        let enough = self.target.observations() / self.seconds;
        self.tests.iter().filter(|t| t.best.rate >= enough).count()
    }

    /// The chance that one run of all tests that were ever killed kills all of them again.
    pub fn total(&self) -> f64 {
        let seen = self.tests.iter().filter(|t| t.best.rate > 0.0);
        sum(seen.map(|t| t.reproducibility.ln())).exp()
    }

    /// The seconds for all tests together if each gets the time that its target needs, without
    /// tests that were never killed.
    pub fn needed(&self) -> f64 {
        sum(self.tests.iter().filter_map(|t| t.needs))
    }

    /// The form that the command prints for programs.
    pub fn json(&self) -> Value {
        let mut tests = Map::new();
        for t in &self.tests {
            let value = json!({
                "env": env_json(&t.best.env),
                "weak": t.best.counts.weak,
                "durationSeconds": t.best.counts.seconds,
                "rate": t.best.rate,
                "rate_interval": t.interval.map(|(l, h)| [l, h]),
                "reproducibility": t.reproducibility,
                "reproducibility_at_least": t.reproducibility_at_least,
                "seconds_for_target": t.needs,
            });
            tests.insert(t.best.test.clone(), value);
        }
        json!({
            "budget": self.seconds,
            "level": self.level,
            "rep": self.target.share * 100.0,
            "reached": self.reached(),
            "of": self.tests.len(),
            "total_reproducibility": self.total(),
            "seconds_for_target": self.needed(),
            "excluded_rate": excluded_rate(self.seconds, self.level),
            "tests": tests,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn intervals_are_those_of_tables() {
        for (k, low, high) in [(0, 0.0, 3.6889), (1, 0.0253, 5.5716), (10, 4.7954, 18.3904)] {
            let (l, h) = poisson_interval(k, 0.95);
            near(l, low);
            near(h, high);
        }
        let (l, h) = poisson_interval(100, 0.99);
        near(l, 76.12);
        near(h, 128.76);
        // The two methods agree where one replaces the other.
        let exact = poisson_interval(LARGE, 0.95);
        let normal = poisson_interval(LARGE + 1, 0.95);
        assert!((normal.0 - exact.0 - 1.0).abs() < 0.01, "{exact:?} {normal:?}");
        assert!((normal.1 - exact.1 - 1.0).abs() < 0.01, "{exact:?} {normal:?}");
    }

    #[test]
    fn a_budget_promises_what_the_rate_gives() {
        let r = Results::read(
            r#"{"0": {"A": {"weak": 30, "durationSeconds": 10}, "B": {"weak": 0, "durationSeconds": 1}}}"#,
        )
        .unwrap();
        let p = promises(&r, 1.0, 0.95, &Target::read("95").unwrap());
        assert_eq!(p.reached(), 1);
        near(p.total(), 0.950_213);
        assert_eq!(p.tests[0].needs, Some(1.0));
        assert_eq!(p.tests[1].needs, None);
        assert!(p.tests[0].reproducibility_at_least < p.tests[0].reproducibility);
        near(excluded_rate(3.0, 0.95), 0.998_577);
    }
}
