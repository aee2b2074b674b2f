//! Correlates the counts of tests over environments (table 4 of the paper).
//!
//! It does not know what the tests do.

use serde_json::{Map, Value, json};

use super::results::{Counts, Results};
use super::{rounded, special, sum};

/// The values of two tests that are correlated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// How often the behaviour showed.
    Counts,
    /// How often the behaviour showed per second.
    Rates,
    /// The rank of the count among those of all environments.
    Ranks,
}

/// The correlations of all pairs of tests, over the environments in which both ran.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// The tests, in the order of the results.
    pub tests: Vec<String>,
    /// The number of environments in the results.
    pub environments: usize,
    columns: Vec<Vec<Option<Counts>>>,
}

/// Pearson's coefficient; `None` if one side does not vary.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len().min(y.len()) as f64;
    let mean = |v: &[f64]| sum(v.iter().copied()) / n;
    let (mx, my) = (mean(x), mean(y));
    let pairs = || x.iter().zip(y).map(|(a, b)| (a - mx, b - my));
    let both = sum(pairs().map(|(a, b)| a * b));
    let (xx, yy) = (sum(pairs().map(|(a, _)| a * a)), sum(pairs().map(|(_, b)| b * b)));
    let r = both / (xx * yy).sqrt();
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// Ranks from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut out = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = |i: &&usize| values[**i] == values[order[start]];
        let end = start + order[start..].iter().take_while(same).count().max(1);
        for i in &order[start..end] {
            out[*i] = (start + end - 1) as f64 / 2.0 + 1.0;
        }
        start = end;
    }
    out
}

/// The chance that unrelated values give a coefficient at least this far from 0, for `n` pairs.
pub fn p_value(r: f64, n: usize) -> Option<f64> {
    (n > 2).then(|| special::beta_i((1.0 - r) * (1.0 + r), (n as f64 - 2.0) / 2.0, 0.5))
}

impl Correlation {
    /// The correlations of the tests of one device.
    pub fn new(results: &Results) -> Correlation {
        let tests: Vec<String> = results.tests().into_iter().map(str::to_string).collect();
        let column = |t: &String| results.environments.iter().map(|e| e.test(t).copied()).collect();
        let columns = tests.iter().map(column).collect();
        Correlation { environments: results.environments.len(), tests, columns }
    }

    /// The coefficient of two tests, and the number of environments.
    pub fn between(&self, a: usize, b: usize, of: Of) -> (Option<f64>, usize) {
        let pairs = self.columns[a].iter().zip(&self.columns[b]);
        let (xs, ys): (Vec<&Counts>, Vec<&Counts>) =
            pairs.filter_map(|(x, y)| x.as_ref().zip(y.as_ref())).unzip();
        let values = |c: Vec<&Counts>| -> Vec<f64> {
            let one = |c: &Counts| match of {
                Of::Rates if c.is_timed() => c.weak as f64 / c.seconds,
                Of::Rates => 0.0,
                Of::Counts | Of::Ranks => c.weak as f64,
            };
            let plain: Vec<f64> = c.into_iter().map(one).collect();
            if of == Of::Ranks { ranks(&plain) } else { plain }
        };
        let n = xs.len();
        (pearson(&values(xs), &values(ys)), n)
    }

    /// The matrix with ten digits, as the published script prints it.
    pub fn matrix_json(&self) -> Value {
        let row = |a: usize| -> Value {
            let cell = |b: usize| {
                let r = self.between(a, b, Of::Counts).0;
                (self.tests[b].clone(), r.map_or(Value::Null, |r| rounded(r, 10).into()))
            };
            Value::Object((0..self.tests.len()).map(cell).collect())
        };
        Value::Object((0..self.tests.len()).map(|a| (self.tests[a].clone(), row(a))).collect())
    }

    /// The form that the command prints for programs.
    pub fn json(&self) -> Value {
        let mut pairs = Vec::new();
        for a in 0..self.tests.len() {
            for b in a + 1..self.tests.len() {
                let (r, n) = self.between(a, b, Of::Counts);
                pairs.push(json!({
                    "tests": [self.tests[a], self.tests[b]],
                    "pcc_script_10dp": r.map(|r| rounded(r, 10)),
                    "pcc_full_double": r,
                    "n_envs": n,
                    "pcc_if_rates_instead_of_counts": self.between(a, b, Of::Rates).0,
                    "spearman_counts": self.between(a, b, Of::Ranks).0,
                    "p_value": r.and_then(|r| p_value(r, n)),
                }));
            }
        }
        let mut tests = Map::new();
        for (name, column) in self.tests.iter().zip(&self.columns) {
            let seen = || column.iter().flatten();
            let rate = |c: &Counts| c.weak as f64 / c.seconds;
            tests.insert(
                name.clone(),
                json!({
                    "total": seen().fold(0u64, |n, c| n.saturating_add(c.weak)),
                    "envs_nonzero": seen().filter(|c| c.weak > 0).count(),
                    "max_rate_per_s": seen().filter(|c| c.is_timed()).map(rate).fold(0.0, f64::max),
                }),
            );
        }
        json!({
            "n_envs": self.environments,
            "full_matrix": self.matrix_json(),
            "pairs": pairs,
            "tests": tests,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_have_known_values() {
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), Some(1.0));
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(pearson(&[1.0, 1.0], &[3.0, 2.0]), None);
        assert_eq!(pearson(&[], &[]), None);
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 0.0]), [3.5, 2.0, 3.5, 1.0]);
        // Student's t at 4 degrees of freedom: r = 0.811 is 5 percent.
        let p = p_value(0.811_401, 6).unwrap();
        assert!((p - 0.05).abs() < 1e-5, "{p}");
        assert_eq!(p_value(0.5, 2), None);
    }

    #[test]
    fn only_environments_with_both_tests_count() {
        let r = Results::read(
            r#"{"0": {"A": {"weak": 1, "durationSeconds": 1}, "B": {"weak": 2, "durationSeconds": 1}},
                "1": {"A": {"weak": 100, "durationSeconds": 1}},
                "2": {"A": {"weak": 2, "durationSeconds": 1}, "B": {"weak": 4, "durationSeconds": 0}}}"#,
        )
        .unwrap();
        let c = Correlation::new(&r);
        assert_eq!(c.between(0, 1, Of::Counts), (Some(1.0), 2));
        assert_eq!(c.between(0, 1, Of::Rates), (Some(-1.0), 2));
        assert_eq!(c.matrix_json()["B"]["B"], 1.0);
    }
}
