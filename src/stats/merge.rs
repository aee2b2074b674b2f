//! Chooses one environment for each test that works on many devices (algorithm 1 and figure 6 of
//! the paper).
//!
//! It does not know how the results were obtained.

use serde_json::{Map, Value, json};

use super::results::Results;
use super::score::env_json;
use super::sum;

/// A target reproducibility between 0 and 1, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The target, between 0 and 1.
    pub share: f64,
    /// The text as written.
    pub text: String,
}

impl Target {
    /// Reads `99.999` (percent) or `0.99999`.
    pub fn read(text: &str) -> Result<Target, String> {
        let text = text.trim().trim_end_matches('%');
        let number: f64 =
            text.parse().map_err(|_| format!("`{text}` is no number, as 95 or 99.999"))?;
        let share = if number > 1.0 { number / 100.0 } else { number };
        if share > 0.0 && share < 1.0 {
            Ok(Target { share, text: text.to_string() })
        } else {
            Err(format!("`{text}` is no target: give a percentage between 0 and 100, as 99.999"))
        }
    }

    /// The number of observations that a run needs on average, so that the next run has at least
    /// one with the target's chance.
    pub fn observations(&self) -> f64 {
        (-(1.0 - self.share).ln()).ceil()
    }
}

/// A time in seconds, and its text: `4`, `0.5` or `1/1024`.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The time, more than 0.
    pub seconds: f64,
    /// The text as written.
    pub text: String,
}

impl Budget {
    /// Reads `4`, `0.5` or `1/1024`, with or without an `s`.
    pub fn read(text: &str) -> Result<Budget, String> {
        let text = text.trim().trim_end_matches('s');
        let number = |t: &str| t.trim().parse::<f64>().ok();
        let seconds = match text.split_once('/') {
            Some((a, b)) => number(a).zip(number(b)).map(|(a, b)| a / b),
            None => number(text),
        };
        match seconds {
            Some(s) if s > 0.0 && s.is_finite() => {
                Ok(Budget { seconds: s, text: text.to_string() })
            }
            _ => Err(format!("`{text}` is no time in seconds, as 4, 0.5 or 1/1024")),
        }
    }

    /// The budgets of figure 6: from 1/1024 s to 64 s, each twice the one before.
    pub fn of_figure() -> Vec<Budget> {
        let text =
            |e: i32| if e < 0 { format!("1/{}", 1u32 << -e) } else { (1u32 << e).to_string() };
        (-10..=6).map(|e| Budget { seconds: 2f64.powi(e), text: text(e) }).collect()
    }
}

/// The share of runs of this length in which a behaviour with this rate shows.
pub fn reproducibility(rate: f64, seconds: f64) -> f64 {
    -(-rate * seconds).exp_m1()
}

/// The environment that was chosen for a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The test's name.
    pub test: String,
    /// The environment; `None` if no environment reaches the target on any device.
    pub env: Option<String>,
    /// The number of devices that reach the target in it.
    pub devices: usize,
    /// Its rate on each device that ran it, in the order of the devices.
    pub rates: Vec<Option<f64>>,
}

/// The chosen environments, in which each test is reproducible on as many devices as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The devices, in the order of the files.
    pub devices: Vec<String>,
    /// The reproducibility that was asked for.
    pub target: Target,
    /// The time budget.
    pub budget: Budget,
    /// The rate that reaches the target within the budget.
    pub ceiling_rate: f64,
    /// The choice for each test.
    pub tests: Vec<Chosen>,
    /// The number of pairs of a test and a device that are reproducible.
    pub reproducible: usize,
    /// The number of all pairs.
    pub denominator: usize,
}

/// Rates by test, environment and device, in the order of the files.
pub struct Table {
    devices: Vec<String>,
    envs: Vec<String>,
    tests: Vec<String>,
    /// The number of devices that have each test.
    present: Vec<usize>,
    rates: Vec<Option<f64>>,
}

impl Table {
    /// Makes a table; an error if the files contain too many rates.
    pub fn new(devices: &[(String, Results)]) -> Result<Table, String> {
        let mut envs = Order::default();
        let mut tests = Order::default();
        for (_, results) in devices {
            for env in &results.environments {
                envs.add(&env.key);
                for (name, _) in env.tests.iter().filter(|(n, _)| results.is_mutant(n)) {
                    tests.add(name);
                }
            }
        }
        let cells =
            tests.names.len().saturating_mul(envs.names.len()).saturating_mul(devices.len());
        if cells > MAX_CELLS {
            return Err(format!(
                "{} tests in {} environments on {} devices are too many to merge",
                tests.names.len(),
                envs.names.len(),
                devices.len()
            ));
        }
        let mut table = Table {
            devices: devices.iter().map(|(name, _)| name.clone()).collect(),
            present: vec![0; tests.names.len()],
            rates: vec![None; cells],
            envs: Vec::new(),
            tests: Vec::new(),
        };
        for (d, (_, results)) in devices.iter().enumerate() {
            for test in results.tests().into_iter().filter(|t| results.is_mutant(t)) {
                table.present[tests.at[test]] += 1;
            }
            for env in &results.environments {
                for (name, counts) in env.tests.iter().filter(|(n, _)| results.is_mutant(n)) {
                    let (t, e) = (tests.at[name.as_str()], envs.at[env.key.as_str()]);
                    table.rates[(t * envs.names.len() + e) * devices.len() + d] =
                        Some(counts.rate());
                }
            }
        }
        table.envs = envs.names;
        table.tests = tests.names;
        Ok(table)
    }

    fn row(&self, test: usize, env: usize) -> &[Option<f64>] {
        let n = self.devices.len();
        let start = (test * self.envs.len() + env) * n;
        &self.rates[start..start + n]
    }

    /// Chooses an environment for each test: the one in which most devices reach the target; among
    /// these, the one with the highest rate on its slowest device; among equal ones, the first.
    pub fn merge(&self, target: &Target, budget: &Budget) -> Merged {
        let ceiling_rate = target.observations() / budget.seconds;
        let tests: Vec<Chosen> = (0..self.tests.len())
            .map(|t| {
                let mut best: (usize, f64, Option<usize>) = (0, NO_RATE, None);
                for e in 0..self.envs.len() {
                    let row = self.row(t, e);
                    let reached = row.iter().flatten().filter(|r| **r >= ceiling_rate).count();
                    let least =
                        row.iter().flatten().copied().filter(|r| *r > 0.0).fold(NO_RATE, f64::min);
                    if reached > best.0 || (reached == best.0 && least > best.1) {
                        best = (reached, least, Some(e));
                    }
                }
                let (devices, _, env) = best;
                let rates = env.map_or(vec![None; self.devices.len()], |e| self.row(t, e).to_vec());
                Chosen {
                    test: self.tests[t].clone(),
                    env: env.map(|e| self.envs[e].clone()),
                    devices,
                    rates,
                }
            })
            .collect();
        Merged {
            devices: self.devices.clone(),
            target: target.clone(),
            budget: budget.clone(),
            ceiling_rate,
            reproducible: tests.iter().map(|t| t.devices).sum(),
            denominator: self.present.iter().sum(),
            tests,
        }
    }

    /// The number of reproducible pairs for each target at each budget.
    pub fn curve(&self, targets: &[Target], budgets: &[Budget]) -> Vec<(Target, Vec<usize>)> {
        targets
            .iter()
            .map(|target| {
                let counts = budgets.iter().map(|b| self.merge(target, b).reproducible).collect();
                (target.clone(), counts)
            })
            .collect()
    }

    /// The number of pairs of a test and a device with any result.
    pub fn pairs(&self) -> usize {
        self.present.iter().sum()
    }
}

const MAX_CELLS: usize = 1 << 26;

/// Stands for the smallest rate if no device has one. No real rate is larger.
const NO_RATE: f64 = 1e10;

/// Names in the order of their first use.
#[derive(Default)]
struct Order {
    names: Vec<String>,
    at: rustc_hash::FxHashMap<String, usize>,
}

impl Order {
    fn add(&mut self, name: &str) {
        if !self.at.contains_key(name) {
            self.at.insert(name.to_string(), self.names.len());
            self.names.push(name.to_string());
        }
    }
}

impl Merged {
    /// The reproducible share of all pairs, in percent.
    pub fn score_pct(&self) -> f64 {
        match self.denominator {
            0 => 0.0,
            n => self.reproducible as f64 / n as f64 * 100.0,
        }
    }

    /// The chance that one run of all tests of a device, each in its environment for the budget,
    /// shows every behaviour that ever showed there.
    pub fn total_reproducibility(&self, device: usize) -> f64 {
        let seen = self.tests.iter().filter_map(|t| t.rates.get(device).copied().flatten());
        // Sums of logarithms keep digits that products of many factors near 1 would lose.
        let logs = seen.filter(|r| *r > 0.0).map(|r| reproducibility(r, self.budget.seconds).ln());
        sum(logs).exp()
    }

    /// The form that the command prints for programs.
    pub fn json(&self) -> Value {
        let mut tests = Map::new();
        for t in &self.tests {
            let by_device = |f: &dyn Fn(f64) -> Value| -> Value {
                let pairs = self.devices.iter().zip(&t.rates);
                Value::Object(pairs.map(|(d, r)| (d.clone(), r.map_or(Value::Null, f))).collect())
            };
            let value = json!({
                "chosen_env": t.env.as_deref().map_or(Value::Null, env_json),
                "devices": t.devices,
                "rates": by_device(&Value::from),
                "reproducibility": by_device(&|r| reproducibility(r, self.budget.seconds).into()),
            });
            tests.insert(t.test.clone(), value);
        }
        let totals: Map<String, Value> = (0..self.devices.len())
            .map(|d| (self.devices[d].clone(), self.total_reproducibility(d).into()))
            .collect();
        json!({
            "rep": self.target.share * 100.0,
            "budget": self.budget.seconds,
            "ceiling_rate": self.ceiling_rate,
            "reproducible_tests": self.reproducible,
            "denominator": self.denominator,
            "mutation_score_pct": self.score_pct(),
            "target_total_reproducibility": self.target.share.powi(self.tests.len().min(1 << 20) as i32),
            "total_reproducibility": totals,
            "tests": tests,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, text: &str) -> (String, Results) {
        (name.to_string(), Results::read(text).unwrap())
    }

    fn two() -> Table {
        Table::new(&[
            device(
                "a",
                r#"{"0": {"T": {"weak": 9, "durationSeconds": 1}},
                    "1": {"T": {"weak": 5, "durationSeconds": 1}},
                    "2": {"T": {"weak": 5, "durationSeconds": 1}, "U": {"weak": 1, "durationSeconds": 1}}}"#,
            ),
            device(
                "b",
                r#"{"0": {"T": {"weak": 0, "durationSeconds": 1}},
                    "1": {"T": {"weak": 3, "durationSeconds": 1}},
                    "2": {"T": {"weak": 3, "durationSeconds": 1}}}"#,
            ),
        ])
        .unwrap()
    }

    #[test]
    fn most_devices_then_the_slowest_then_the_first() {
        let target = Target::read("95").unwrap();
        let merged = two().merge(&target, &Budget::read("1").unwrap());
        assert_eq!(merged.ceiling_rate, 3.0);
        assert_eq!(merged.tests[0].env.as_deref(), Some("1"));
        assert_eq!(merged.tests[0].rates, [Some(5.0), Some(3.0)]);
        // U never reaches the target, and its rate is below the start value.
        assert_eq!(merged.tests[1].env, None);
        assert_eq!((merged.reproducible, merged.denominator), (2, 3));
        let merged = two().merge(&target, &Budget::read("1/2").unwrap());
        assert_eq!(merged.tests[0].env.as_deref(), Some("0"));
    }

    #[test]
    fn targets_and_budgets_are_read() {
        assert_eq!(Target::read("99.999").unwrap().observations(), 12.0);
        assert_eq!(Target::read(".99999").unwrap().observations(), 12.0);
        assert_eq!(Target::read("95%").unwrap().observations(), 3.0);
        assert!(Target::read("100").is_err());
        assert!(Target::read("1").is_err());
        assert!(Target::read("-3").is_err());
        assert_eq!(Budget::read("1/1024").unwrap().seconds, 1.0 / 1024.0);
        assert!(Budget::read("1/0").is_err());
        assert!(Budget::read("0").is_err());
        let figure = Budget::of_figure();
        assert_eq!(
            (figure.len(), figure[0].text.as_str(), figure[16].seconds),
            (17, "1/1024", 64.0)
        );
    }

    #[test]
    fn reproducibility_of_three_observations_is_95_percent() {
        assert!((reproducibility(3.0, 1.0) - 0.950_212_931_632_136).abs() < 1e-15);
        assert_eq!(reproducibility(0.0, 64.0), 0.0);
        assert_eq!(reproducibility(1e300, 64.0), 1.0);
    }
}
