//! Tables of differences in the form of Telechat's Table IV: a block for each architecture, a
//! column for each level, and in each cell a number for each compiler.
//!
//! It does not know how the numbers were computed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::evidence::{Changes, Differences};
use super::{Report, state_text};

/// The variable of profiles that makes the columns.
const LEVEL: &str = "level";

/// The levels, in the order of the paper.
const LEVELS: [&str; 7] = ["O0", "O1", "O2", "O3", "Ofast", "Og", "Os"];

/// The number of changed tests that a summary lists.
const SHOWN: usize = 5;

/// The compiler, with its version if the profile has one.
fn compiler(d: &Differences) -> String {
    match d.variables.get("version") {
        Some(version) => format!("{} {version}", d.compiler),
        None => d.compiler.clone(),
    }
}

fn level(d: &Differences) -> String {
    d.variables.get(LEVEL).cloned().unwrap_or_else(|| "-".into())
}

/// The other variables that tell profiles of one compiler apart, such as `march`.
fn variant(d: &Differences) -> String {
    let rest = d.variables.iter().filter(|(k, _)| !["version", LEVEL].contains(&k.as_str()));
    let words: Vec<&str> = rest.map(|(_, v)| v.as_str()).filter(|v| !v.is_empty()).collect();
    words.join(" ")
}

/// The differences by architecture, compiler and level; empty if nothing was compiled.
pub fn differences(report: &Report) -> String {
    let list: Vec<&Differences> =
        report.differences.iter().filter(|d| !d.profile.is_empty()).collect();
    if list.is_empty() {
        return String::new();
    }
    let mut levels: Vec<String> =
        list.iter().map(|d| level(d)).collect::<BTreeSet<_>>().into_iter().collect();
    let rank = |l: &String| LEVELS.iter().position(|x| x == l).unwrap_or(LEVELS.len());
    levels.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.cmp(b)));
    let mut blocks: BTreeMap<(String, String), Vec<&Differences>> = BTreeMap::new();
    for d in &list {
        blocks.entry((d.arch.clone(), variant(d))).or_default().push(d);
    }
    // A row is a title, then a cell for each level.
    let mut rows: Vec<Vec<String>> = vec![
        std::iter::once(String::new())
            .chain(levels.iter().map(|l| format!("-{l}")))
            .chain(["share".into()])
            .collect(),
    ];
    for ((arch, variant), members) in &blocks {
        let compilers: Vec<String> =
            members.iter().map(|d| compiler(d)).collect::<BTreeSet<_>>().into_iter().collect();
        let title = [arch.as_str(), variant].join(" ");
        rows.push(vec![format!("{} ({})", title.trim(), compilers.join(" / "))]);
        let compared: u64 = members.iter().map(|d| d.compared).sum();
        let mut row = |name: String, f: &dyn Fn(&Differences) -> u64| {
            let mut cells = vec![name];
            for l in &levels {
                let cell: Vec<String> = compilers
                    .iter()
                    .map(|c| {
                        let of: Vec<&&Differences> = members
                            .iter()
                            .filter(|d| compiler(d) == *c && level(d) == *l)
                            .collect();
                        match of.is_empty() {
                            true => "-".to_string(),
                            false => of.iter().map(|d| f(d)).sum::<u64>().to_string(),
                        }
                    })
                    .collect();
                cells.push(cell.join("/"));
            }
            let sum: u64 = members.iter().map(|d| f(d)).sum();
            cells.push(match compared {
                0 => "-".into(),
                n => format!("{:.2}%", 100.0 * sum as f64 / n as f64),
            });
            rows.push(cells);
        };
        row(format!("  +ve {}", members[0].model_source), &|d| d.positive);
        let weaker: BTreeSet<&String> =
            members.iter().flat_map(|d| d.positive_under.keys()).collect();
        for model in weaker {
            row(format!("  +ve {model}"), &|d| d.positive_under.get(model).copied().unwrap_or(0));
        }
        row("  -ve".to_string(), &|d| d.negative);
    }
    let mut out = aligned(&rows);
    let sum = |f: &dyn Fn(&Differences) -> u64| list.iter().map(|d| f(d)).sum::<u64>();
    let mut by: BTreeMap<&str, u64> = BTreeMap::new();
    for (flag, n) in list.iter().flat_map(|d| &d.undefined_by) {
        *by.entry(flag).or_default() += n;
    }
    let by: Vec<String> = by.iter().map(|(flag, n)| format!("{flag} {n}")).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    let _ = writeln!(
        out,
        "{} comparisons; {} of undefined sources set aside{by}, {} of them differ",
        sum(&|d| d.compared),
        sum(&|d| d.undefined),
        sum(&|d| d.undefined_positive)
    );
    out
}

/// The changes from one compiler to another, and which of them the baseline does not know. With
/// `all`, lists all changed tests.
pub fn changes(list: &[Changes], all: bool) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut rows: Vec<Vec<String>> = vec![
        ["", "tests", "other code", "other outcomes", "gained", "lost"].map(String::from).to_vec(),
    ];
    for c in list {
        let numbers = [c.compared, c.code, c.outcomes, c.gained, c.lost];
        let name = format!("{} -> {}", c.before, c.after);
        rows.push(std::iter::once(name).chain(numbers.map(|n| n.to_string())).collect());
    }
    let mut out = aligned(&rows);
    for c in list {
        let known = c.tests.iter().filter(|t| t.known).count();
        if known > 0 {
            let _ = writeln!(
                out,
                "{} -> {}: the baseline knows the other outcomes of {} of {}",
                c.before,
                c.after,
                known,
                super::number(c.outcomes, "test")
            );
        }
        for test in &c.gone {
            let _ = writeln!(
                out,
                "{test}: what the baseline knows of {} -> {} is gone; `litmake report baseline` forgets it",
                c.before, c.after
            );
        }
        let shown = c.tests.iter().filter(|t| all || t.moved() && !t.known);
        for t in shown.take(if all { usize::MAX } else { SHOWN }) {
            let code = if t.code { "other code" } else { "the same code" };
            let known = if t.known { " (known)" } else { "" };
            let _ = writeln!(out, "{}: {code} from {} and {}{known}", t.test, c.before, c.after);
            for (sign, states) in [('+', &t.gained), ('-', &t.lost)] {
                for state in states {
                    let _ = writeln!(out, "  {sign} {}", state_text(state));
                }
            }
            if t.code {
                for (name, text) in [(&c.before, &t.code_before), (&c.after, &t.code_after)] {
                    threads(name, text, &mut out);
                }
            }
        }
    }
    out
}

/// The threads of a compiled test, without the rest of its text.
fn threads(name: &str, text: &str, out: &mut String) {
    let rows: Vec<&str> =
        text.lines().filter(|l| l.trim_end().ends_with(';') && l.starts_with(' ')).collect();
    let Some(first) = rows.iter().position(|l| l.trim_start().starts_with("P0")) else { return };
    let _ = writeln!(out, "  {name}:");
    for row in rows[first..].iter().take(60) {
        let _ = writeln!(out, "    {}", row.trim_end());
    }
}

/// Columns of equal width, the first aligned to the left and the others to the right. A row of one
/// cell is a title.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = rows.iter().filter(|r| r.len() > 1).filter_map(|r| r.get(c));
        cells.map(|t| t.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            match c {
                0 if row.len() == 1 => line.push_str(cell),
                0 => {
                    let _ = write!(line, "{cell:<w$}", w = widths[0]);
                }
                _ => {
                    let _ = write!(line, "  {cell:>w$}", w = widths[c]);
                }
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
