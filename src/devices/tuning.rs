//! Stores the results of tuning: the best environment of each test, by vendor, device, driver and
//! compile variant. The results of a new driver version are compared with those of the one before.
//!
//! It does not know how tuning works.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use litmake_stats::search::Found;

/// The device and driver to which results belong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The vendor's number in Vulkan; 0 for a processor.
    pub vendor: u32,
    /// The vendor's number for the device.
    pub device: u32,
    /// The name that the driver gives.
    pub name: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's version.
    pub driver_info: String,
    /// The way in which tests were compiled.
    pub variant: String,
}

impl Key {
    /// Whether hardware and compile variant are equal, whatever the driver.
    fn is_akin(&self, other: &Key) -> bool {
        (self.vendor, self.device, &self.variant) == (other.vendor, other.device, &other.variant)
    }

    fn driver(&self) -> String {
        format!("{} {}", self.driver, self.driver_info)
    }
}

/// The best environment of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Whether the goal was reached in this environment.
    pub reached: bool,
    /// The number of kills in this environment.
    pub kills: u64,
    /// The time that the test ran.
    pub seconds: f64,
    /// The parameters of the environment.
    pub params: Map<String, Value>,
}

impl Best {
    /// Kills per second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.kills as f64 / self.seconds } else { 0.0 }
    }
}

/// The result of tuning one device for one goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The device.
    pub key: Key,
    /// The goal: the reproducibility in percent, and the seconds in which it is to be reached.
    pub rep: f64,
    /// See `rep`.
    pub budget: f64,
    /// The best environments, by the name of the test in results.
    pub tests: BTreeMap<String, Best>,
}

/// The best environments of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// The entries, the oldest first.
    pub entries: Vec<Entry>,
}

/// A test whose result differs from that under another driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The test's name.
    pub test: String,
    /// Kills per second under the other driver.
    pub before: f64,
    /// Kills per second now.
    pub after: f64,
    /// Whether the goal was reached then and is not now; otherwise it is the other way round.
    pub lost: bool,
    /// The other driver.
    pub driver: String,
}

impl Database {
    /// Reads what [`Database::write`] wrote.
    pub fn read(text: &str) -> Result<Database, String> {
        serde_json::from_str(text).map_err(|e| format!("this is no tuning database: {e}"))
    }

    /// The database as JSON, for a file that people can read.
    pub fn write(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The entry for exactly this device and driver.
    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == *key)
    }

    /// The tests that reach the goal now and did not under the last other driver of the device, or
    /// the other way round.
    pub fn changes(&self, entry: &Entry) -> Vec<Change> {
        let before =
            self.entries.iter().rev().find(|e| e.key.is_akin(&entry.key) && e.key != entry.key);
        let Some(before) = before else { return Vec::new() };
        let mut out = Vec::new();
        for (test, old) in &before.tests {
            let Some(new) = entry.tests.get(test) else { continue };
            if old.reached != new.reached {
                out.push(Change {
                    test: test.clone(),
                    before: old.rate(),
                    after: new.rate(),
                    lost: old.reached,
                    driver: before.key.driver(),
                });
            }
        }
        out
    }

    /// Adds an entry, in place of one with the same key.
    pub fn put(&mut self, entry: Entry) {
        self.entries.retain(|e| e.key != entry.key);
        self.entries.push(entry);
    }
}

/// The result of a search as an entry; tests are given by key, environments by their parameters.
pub fn entry(
    key: Key,
    rep: f64,
    budget: f64,
    tests: &[String],
    environments: &[Map<String, Value>],
    found: &Found,
) -> Entry {
    let mut out = Entry { key, rep, budget, tests: BTreeMap::new() };
    for (i, test) in tests.iter().enumerate() {
        let best = match (found.reached[i], found.best[i]) {
            (Some(r), _) => Some((r.env, r.seen, true)),
            (None, Some((env, seen))) => Some((env, seen, false)),
            (None, None) => None,
        };
        let value = best.map_or(Best::default(), |(env, seen, reached)| Best {
            reached,
            kills: seen.kills,
            seconds: seen.seconds,
            params: environments[env].clone(),
        });
        out.tests.insert(test.clone(), value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(driver: &str, reached: bool) -> Entry {
        let key = Key { driver: driver.into(), name: "GPU".into(), ..Key::default() };
        let params = Map::from_iter([("stride".to_string(), 3.into())]);
        let best = Best { reached, kills: u64::from(reached) * 12, seconds: 2.0, params };
        Entry { key, rep: 99.999, budget: 4.0, tests: BTreeMap::from([("A".into(), best)]) }
    }

    #[test]
    fn another_driver_is_compared_with_the_last() {
        let mut db = Database::default();
        db.put(entry_of("1", true));
        db.put(entry_of("1", true));
        assert_eq!(db.entries.len(), 1);
        assert!(db.changes(&entry_of("1", false)).is_empty());
        let changes = db.changes(&entry_of("2", false));
        assert_eq!(changes.len(), 1);
        assert!(changes[0].lost && changes[0].before == 6.0 && changes[0].driver == "1 ");
        db.put(entry_of("2", false));
        assert_eq!(Database::read(&db.write()).unwrap(), db);
    }
}
