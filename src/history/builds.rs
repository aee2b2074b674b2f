//! Orders the builds of compilers in a record, and says between which of them a bug began and ended.
//! Each night's build of a version to come is a build of its own.
//!
//! It does not know runs, nor how results are shown.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

/// A build of a compiler that runs asked; for devices and mixes, the name of the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// The name, with the version and the commit: `clang 23.0.0git 0123456789ab`.
    pub name: String,
    /// The compiler without its version.
    pub tool: String,
    /// The index of the first run that used it; `None` if only examples name it.
    pub first: Option<usize>,
}

impl Build {
    fn new(name: &str, first: Option<usize>) -> Build {
        // The name of a mix has several profiles, and that of a device no version.
        let is_versioned = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let tool = match name.split_once(' ') {
            Some((tool, rest)) if is_versioned(rest) => tool,
            _ => name,
        };
        Build { name: name.to_string(), tool: tool.to_string(), first }
    }

    /// The name without the compiler.
    pub fn version(&self) -> &str {
        self.name.strip_prefix(&*self.tool).unwrap_or(&self.name).trim_start()
    }

    /// Builds stand by compiler, then by the numbers in the version (`9` before `16`), then by the run that
    /// first used them: commits have no order of their own.
    fn key(&self) -> (&str, Vec<u64>, Option<usize>, &str) {
        let version = self.version();
        let number = version.split([' ', '-']).next().unwrap_or_default();
        let digits = |part: &str| -> u64 {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse().unwrap_or(0)
        };
        (&self.tool, number.split('.').map(digits).collect(), self.first, version)
    }
}

/// Numbers builds in the order in which they come up.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    builds: Vec<Build>,
    by_name: HashMap<String, usize>,
}

impl Numbers {
    /// The number of a build that a run used.
    pub(crate) fn used(&mut self, name: &str, run: usize) -> usize {
        let number = self.number(name, Some(run));
        let first = &mut self.builds[number].first;
        *first = Some(first.map_or(run, |known| known.min(run)));
        number
    }

    /// The number of a build that an example names: of the one that runs used, if its version has more digits.
    pub(crate) fn named(&mut self, name: &str) -> usize {
        let longer = format!("{name}.");
        let known = self.builds.iter().position(|b| b.name.starts_with(&longer));
        known.unwrap_or_else(|| self.number(name, None))
    }

    fn number(&mut self, name: &str, first: Option<usize>) -> usize {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        self.builds.push(Build::new(name, first));
        self.by_name.insert(name.to_string(), self.builds.len() - 1);
        self.builds.len() - 1
    }

    /// The builds in their order, and the place of each number in it.
    pub(crate) fn ordered(self) -> (Vec<Build>, Vec<usize>) {
        let mut order: Vec<usize> = (0..self.builds.len()).collect();
        order.sort_by(|a, b| self.builds[*a].key().cmp(&self.builds[*b].key()));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, number)| places[*number] = place);
        (order.iter().map(|n| self.builds[*n].clone()).collect(), places)
    }
}

/// Consecutive builds of one compiler that all show a bug, among those that were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Span {
    /// The compiler without its version.
    pub compiler: String,
    /// The build before, which does not show the bug; absent if no earlier build was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<String>,
    /// The first and the last build that show it.
    pub first_bad: String,
    /// See `first_bad`.
    pub last_bad: String,
    /// The build behind, which does not show it; absent if the bug is in the last build that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_good: Option<String>,
    /// How many builds show it.
    pub builds: usize,
}

impl Span {
    /// The builds in a few words: `clang 14.0.6 to 16.0.6 (3 builds)`.
    pub fn said(&self) -> String {
        let last = self.last_bad.strip_prefix(&*self.compiler).unwrap_or(&self.last_bad);
        match self.builds {
            1 => self.first_bad.clone(),
            2 => format!("{},{last}", self.first_bad),
            n => format!("{} to{last} ({n} builds)", self.first_bad),
        }
    }
}

/// The spans of a bug, by the places of the builds that were asked and whether each shows it.
pub fn spans(builds: &[Build], asked: &BTreeMap<usize, bool>) -> Vec<Span> {
    let list: Vec<(&Build, bool)> = asked.iter().map(|(place, s)| (&builds[*place], *s)).collect();
    let mut out = Vec::new();
    for tool in list.chunk_by(|a, b| a.0.tool == b.0.tool) {
        let groups: Vec<&[(&Build, bool)]> = tool.chunk_by(|a, b| a.1 == b.1).collect();
        for (n, group) in groups.iter().enumerate().filter(|(_, group)| group[0].1) {
            let before = n.checked_sub(1).and_then(|n| groups[n].last());
            let after = groups.get(n + 1).and_then(|group| group.first());
            let name = |build: &Build| build.name.clone();
            out.push(Span {
                compiler: group[0].0.tool.clone(),
                last_good: before.map(|(b, _)| name(b)),
                first_bad: name(group[0].0),
                last_bad: name(group[group.len() - 1].0),
                first_good: after.map(|(b, _)| name(b)),
                builds: group.len(),
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_their_order_and_commits_in_that_of_their_runs() {
        let mut numbers = Numbers::default();
        for (name, run) in [
            ("clang 23.0.0git ffff", 0),
            ("gcc 12.2.0", 0),
            ("clang 23.0.0git aaaa", 1),
            ("clang 16.0.6", 1),
            ("clang 9.0.1", 2),
            ("clang 23.0.0git ffff", 2),
            ("Some device", 0),
            ("clang 24.0.0git 0000", 3),
        ] {
            numbers.used(name, run);
        }
        assert_eq!(numbers.named("clang 16"), numbers.number("clang 16.0.6", None));
        let (builds, places) = numbers.ordered();
        let names: Vec<&str> = builds.iter().map(|b| b.name.as_str()).collect();
        let expected = [
            "Some device",
            "clang 9.0.1",
            "clang 16.0.6",
            "clang 23.0.0git ffff",
            "clang 23.0.0git aaaa",
            "clang 24.0.0git 0000",
            "gcc 12.2.0",
        ];
        assert_eq!(names, expected);
        // The first build that came up is the fourth.
        assert_eq!((places[0], builds[3].first), (3, Some(0)));
    }

    #[test]
    fn a_bug_that_came_and_went_has_two_spans() {
        let names = ["c 1.0", "c 2.0", "c 3.0", "c 4.0", "c 5.0", "c 6.0", "d 1.0"];
        let builds: Vec<Build> = names.iter().map(|n| Build::new(n, None)).collect();
        let asked = [(0, false), (1, true), (2, true), (4, false), (5, true), (6, false)];
        let found = spans(&builds, &asked.into());
        let short: Vec<_> = found
            .iter()
            .map(|s| (s.last_good.as_deref(), s.said(), s.first_good.as_deref()))
            .collect();
        // Version 4 was not asked.
        assert_eq!(
            short,
            [
                (Some("c 1.0"), "c 2.0, 3.0".to_string(), Some("c 5.0")),
                (Some("c 5.0"), "c 6.0".to_string(), None)
            ]
        );
        let all = (0..6).map(|place| (place, true)).collect();
        assert_eq!(spans(&builds, &all)[0].said(), "c 1.0 to 6.0 (6 builds)");
    }
}
