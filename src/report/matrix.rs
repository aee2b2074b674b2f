//! Writes the compatibility matrix for a terminal: which profiles may be linked with which.
//!
//! Profiles with equal rows share one row. It does not know how pairs were judged.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Compatibility, Judged};

/// Larger matrices are shown as a list of clashes.
const WIDE: usize = 24;

/// Writes the matrix. Profiles that behave alike share a row, unless `all` is set.
pub fn matrix(c: &Compatibility, all: bool, out: &mut String) {
    let n = c.profiles.len();
    let number = |name: &String| c.profiles.iter().position(|p| p == name);
    let mut cells: BTreeMap<(usize, usize), &Judged> = BTreeMap::new();
    for judged in &c.judged {
        let Some(first) = judged.profiles.first().and_then(number) else { continue };
        let last = judged.profiles.last().and_then(number).unwrap_or(first);
        cells.insert((first.min(last), first.max(last)), judged);
    }
    let text = |p: usize, q: usize| match cells.get(&(p.min(q), p.max(q))) {
        None => String::new(),
        Some(j) if j.tests == 0 => "?".to_string(),
        Some(j) if j.found == 0 => ".".to_string(),
        Some(j) => j.found.to_string(),
    };
    // Profiles are alike if they have equal results with every other profile, with themselves and
    // with each other.
    let alike = |p: usize, q: usize| {
        (0..n).all(|r| r == p || r == q || text(p, r) == text(q, r))
            && text(p, p) == text(q, q)
            && text(p, q) == text(p, p)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for p in 0..n {
        match groups.iter_mut().find(|g| !all && g.iter().all(|q| alike(*q, p))) {
            Some(group) => group.push(p),
            None => groups.push(vec![p]),
        }
    }
    let _ = writeln!(
        out,
        "{}: {} profiles on {} tests, {} mixes, {} of distinct code, {} distinct tests",
        c.stage, n, c.tests, c.assignments, c.combinations, c.mixes
    );
    if groups.len() <= WIDE {
        let width = (0..groups.len())
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .map(|(i, j)| text(groups[i][0], groups[j][0]).len())
            .max()
            .unwrap_or(1)
            .max(2);
        for (i, group) in groups.iter().enumerate() {
            let _ = write!(out, "  {:>2}", i + 1);
            for other in groups.iter().take(i + 1) {
                let _ = write!(out, " {:>width$}", text(group[0], other[0]));
            }
            let names: Vec<&str> = group.iter().map(|p| c.profiles[*p].as_str()).collect();
            let _ = writeln!(out, "  {}", names.join(", "));
        }
        let _ = write!(out, "    ");
        for i in 0..groups.len() {
            let _ = write!(out, " {:>width$}", i + 1);
        }
        out.push('\n');
    } else {
        for ((p, q), judged) in cells.iter().filter(|(_, j)| j.found > 0) {
            let _ = writeln!(
                out,
                "  {} with {}: {} of {} tests",
                c.profiles[*p], c.profiles[*q], judged.found, judged.tests
            );
        }
    }
    let _ = writeln!(
        out,
        "  (tests with a finding, of a profile alone or of two together; `.`: none, `?`: not judged)"
    );
    if !c.adds_nothing.is_empty() {
        let _ = writeln!(out, "  never new code from {}", c.adds_nothing.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_profiles_share_a_row() {
        let judged = |profiles: &[&str], found| Judged {
            profiles: profiles.iter().map(|p| p.to_string()).collect(),
            tests: 3,
            found,
            first: None,
        };
        let c = Compatibility {
            stage: "compare".into(),
            profiles: ["a", "b", "c"].map(String::from).to_vec(),
            tests: 3,
            assignments: "81".into(),
            combinations: "16".into(),
            mixes: 10,
            judged: vec![
                judged(&["a"], 0),
                judged(&["a", "b"], 2),
                judged(&["a", "c"], 2),
                judged(&["b"], 0),
                judged(&["b", "c"], 0),
                judged(&["c"], 0),
            ],
            ..Compatibility::default()
        };
        let mut out = String::new();
        matrix(&c, false, &mut out);
        let rows: Vec<&str> = out.lines().collect();
        assert_eq!(rows[1], "   1  .  a");
        assert_eq!(rows[2], "   2  2  .  b, c");
        let mut out = String::new();
        matrix(&c, true, &mut out);
        assert_eq!(out.lines().count(), 6);
    }
}
