//! A source of items: the tests of built-in suites.

use std::collections::BTreeMap;

use litmake_base::diag::{Diag, Result};
use litmake_base::digest::Digest;
use litmake_base::records::Records;
use litmake_cpu::suite as machine;
use litmake_engine::graph::{self, Counts};
use litmake_engine::rows::Entry;
use litmake_generate::LIMITED;
use litmake_litmus::{self as litmus, Test};
use litmake_mutate::small::{MAX, Size};
use litmake_mutate::suite::Suite;
use litmake_pipeline::kinds::Generate;
use litmake_pipeline::slice::Instance;

/// The tests of some suites, by name.
pub struct Suites {
    tests: BTreeMap<Box<str>, Vec<u8>>,
    counts: Counts,
}

impl Suites {
    /// The tests of the suites that an instance names.
    pub fn new(node: &Instance, options: &Generate) -> Result<Suites> {
        let mut all = BTreeMap::new();
        let size = size(node, options)?;
        for word in options.suite.iter() {
            let mut add = |test: Test| {
                all.insert(test.name.as_str().into(), litmus::write(&test).into_bytes());
            };
            match (Suite::named(&word.value), machine::suite(&word.value)?) {
                (Some(suite), _) => suite.each(size, &mut add)?,
                (None, Some(tests)) => tests.into_iter().for_each(add),
                (None, None) => {
                    let mut names: Vec<&str> = Suite::ALL.iter().map(|s| s.name()).collect();
                    names.extend(machine::SUITES);
                    let message = format!("there is no suite `{}`", word.value);
                    return Err(Diag::at(&node.source, word.span, message)
                        .help(format!("the suites are {}", names.join(", "))));
                }
            }
        }
        let limit = options.limit.as_ref().map_or(usize::MAX, |l| l.value as usize);
        let mut counts = Counts { considered: all.len() as u64, ..Counts::default() };
        counts.drop(LIMITED, all.len().saturating_sub(limit) as u64);
        Ok(Suites { tests: all.into_iter().take(limit).collect(), counts })
    }
}

/// The size limits of an instance's small programs.
fn size(node: &Instance, options: &Generate) -> Result<Size> {
    let mut size = Size::default();
    let keys = [
        ("events", &options.events, &mut size.events, 2, MAX.events),
        ("special", &options.special, &mut size.special, 0, MAX.special),
    ];
    for (key, given, value, least, most) in keys {
        let Some(given) = given else { continue };
        *value = usize::try_from(given.value)
            .ok()
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| {
                let message =
                    format!("`{key}` is {}, and is to be from {least} to {most}", given.value);
                Diag::at(&node.source, given.span, message)
            })?;
        if options.suite.iter().all(|word| word.value != Suite::Exhaustive.name()) {
            let message = format!("`{key}` is for the suite `exhaustive`, which is not named here");
            return Err(Diag::at(&node.source, given.span, message));
        }
    }
    Ok(size)
}

impl graph::Source for Suites {
    fn list(&self, _: &dyn Records) -> Result<Vec<Entry>> {
        let tests = self.tests.iter();
        Ok(tests
            .map(|(name, text)| Entry { name: name.clone(), content: Digest::of(text) })
            .collect())
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        self.tests.get(name).cloned()
    }

    fn counts(&self) -> Counts {
        self.counts.clone()
    }
}
