//! Writes the ABI statement as Markdown: which compilers' code fits together, the code that they
//! make of each operation, and what was tested.
//!
//! It does not know how any of it was computed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::matrix::matrix;
use super::{Compatibility, Compiler, Judged, Report};

/// The statements of all stages in a report; empty if nothing was mixed.
pub fn document(report: &Report) -> String {
    let mut out = String::new();
    for c in &report.compatibility {
        if !out.is_empty() {
            out.push('\n');
        }
        statement(c, report, &mut out);
    }
    out
}

fn statement(c: &Compatibility, report: &Report, out: &mut String) {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let _ = writeln!(out, "# ABI of atomic operations: {}\n", cell(&report.pipeline));
    let verdict = &report.verdict;
    let whole = verdict.is_complete() && verdict.part().is_none();
    if !whole {
        let _ = writeln!(out, "**This statement is not whole.** {}.\n", cell(&verdict.words()));
    }
    let _ = writeln!(
        out,
        "Code of these compilers was mixed in {}, of at most {} and {}, {} apart. {}: {} choices of \
         compilers, {} of them of code that differs, {} as tests. Sources have the model `{}`, the machine on which all of a \
         mix runs has `{}`. litmake {}.",
        count(c.tests as usize, "test"),
        count(c.threads, "thread"),
        count(c.parts, "part"),
        match c.split.as_str() {
            "thread" => "taken by threads",
            _ => "taken by statements",
        },
        if whole { "Every mix was judged" } else { "Not every mix was judged" },
        c.assignments,
        c.combinations,
        c.mixes,
        c.model_source,
        c.model_target,
        report.litmake,
    );
    fits(c, whole, out);
    compilers(c, report, out);
    mappings(c, report, out);
}

/// The profiles that fit together, those that do not, and those that are wrong alone.
fn fits(c: &Compatibility, whole: bool, out: &mut String) {
    let found = |j: &&Judged| j.found > 0;
    let (alone, pairs): (Vec<&Judged>, Vec<&Judged>) =
        c.judged.iter().partition(|j| j.profiles.len() == 1);
    let _ = writeln!(out, "\n## What fits together\n");
    let bad: Vec<&Judged> = alone.iter().copied().filter(found).collect();
    let clashes: Vec<&Judged> = pairs.iter().copied().filter(found).collect();
    let open = c.judged.iter().filter(|j| j.tests == 0).count();
    match (bad.is_empty(), clashes.is_empty()) {
        (_, true) if c.tests == 0 || open == c.judged.len() => {
            let _ = writeln!(out, "Nothing is known: no mix was judged.");
        }
        (_, true) if !whole || open > 0 => {
            let _ = writeln!(out, "In what was judged, no two profiles are wrong together.");
        }
        (true, true) => {
            let _ = writeln!(out, "No profile is wrong alone, and no two are wrong together.");
        }
        (_, true) => {
            let _ = writeln!(out, "No two profiles that are right alone are wrong together.");
        }
        _ => {
            let _ =
                writeln!(out, "| do not fit together | tests | the first |\n| --- | ---: | --- |");
            for j in clashes {
                row(j, out);
            }
        }
    }
    if !bad.is_empty() {
        let _ = writeln!(out, "\n| wrong alone | tests | the first |\n| --- | ---: | --- |");
        for j in bad {
            row(j, out);
        }
    }
    if open > 0 {
        let _ = writeln!(
            out,
            "\nOf {open} profiles or pairs nothing is known: no test was compiled by all of them."
        );
    }
    let mut text = String::new();
    matrix(c, false, &mut text);
    let _ = writeln!(out, "\n```\n{}```", text.replace("```", ""));
}

fn row(j: &Judged, out: &mut String) {
    let names: Vec<String> = j.profiles.iter().map(|p| format!("`{}`", cell(p))).collect();
    let first = j.first.as_deref().unwrap_or_default();
    let _ = writeln!(
        out,
        "| {} | {} of {} | {} |",
        names.join(" with "),
        j.found,
        j.tests,
        cell(first)
    );
}

fn compilers(c: &Compatibility, report: &Report, out: &mut String) {
    let _ =
        writeln!(out, "\n## Compilers\n\n| profile | compiler | version |\n| --- | --- | --- |");
    for profile in &c.profiles {
        let own = report.compilers.iter().find(|x| x.profile == *profile);
        let (name, version) =
            own.map_or(("", ""), |x: &Compiler| (x.compiler.as_str(), x.version.as_str()));
        let _ = writeln!(out, "| `{}` | {} | {} |", cell(profile), cell(name), cell(version));
    }
}

/// The code of each operation, with the compilers that make it.
fn mappings(c: &Compatibility, report: &Report, out: &mut String) {
    if c.mappings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Mappings\n\n| operation | code | compilers |\n| --- | --- | --- |");
    for (operation, codes) in &c.mappings {
        for (n, coded) in codes.iter().enumerate() {
            let name = if n == 0 { format!("`{}`", cell(operation)) } else { String::new() };
            let code = match coded.code.trim() {
                "" => "nothing".to_string(),
                code => format!("`{}`", cell(code)),
            };
            let _ = writeln!(out, "| {name} | {code} | {} |", named(&coded.profiles, report));
        }
    }
}

/// Profiles grouped by compiler: `clang 16: a, b`.
fn named(profiles: &[String], report: &Report) -> String {
    let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for profile in profiles {
        let own = report.compilers.iter().find(|x| x.profile == *profile);
        by.entry(own.map_or("", |x| &x.compiler)).or_default().push(format!("`{}`", cell(profile)));
    }
    let one = |(compiler, profiles): (&str, Vec<String>)| match compiler {
        "" => profiles.join(", "),
        compiler => format!("{}: {}", cell(compiler), profiles.join(", ")),
    };
    by.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    litmake_base::plain::line(text).replace('|', "\\|").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coded;

    fn report() -> Report {
        let judged = |profiles: &[&str], found, first: Option<&str>| Judged {
            profiles: profiles.iter().map(|p| p.to_string()).collect(),
            tests: 3,
            found,
            first: first.map(String::from),
        };
        let compiler = |profile: &str, compiler: &str| Compiler {
            profile: profile.into(),
            compiler: compiler.into(),
            version: format!("{compiler}.0.1"),
            ..Compiler::default()
        };
        let coded = |code: &str, profiles: &[&str]| Coded {
            code: code.into(),
            profiles: profiles.iter().map(|p| p.to_string()).collect(),
            ..Coded::default()
        };
        let c = Compatibility {
            profiles: vec!["old".into(), "new".into()],
            tests: 3,
            threads: 2,
            parts: 1,
            model_source: "rc11".into(),
            model_target: "riscv".into(),
            judged: vec![
                judged(&["old"], 0, None),
                judged(&["old", "new"], 2, Some("sb|1.litmus")),
                judged(&["new"], 1, Some("mp.litmus")),
            ],
            mappings: BTreeMap::from([(
                "store seq_cst 32".to_string(),
                vec![coded("fence rw,w; sw x11,0(x10)", &["old"]), coded("", &["new"])],
            )]),
            ..Compatibility::default()
        };
        Report {
            pipeline: "abi".into(),
            compilers: vec![compiler("old", "clang 16"), compiler("new", "clang 22")],
            compatibility: vec![c],
            verdict: crate::verdict::Verdict::of_judged(3),
            ..Report::default()
        }
    }

    #[test]
    fn a_statement_says_what_fits_by_what_mapping_and_what_was_tried() {
        let text = document(&report());
        for wanted in [
            "in 3 tests, of at most 2 threads and 1 part,",
            "| `old` with `new` | 2 of 3 | sb\\|1.litmus |",
            "| `new` | 1 of 3 | mp.litmus |",
            "| `old` | clang 16 | clang 16.0.1 |",
            "| `store seq_cst 32` | `fence rw,w; sw x11,0(x10)` | clang 16: `old` |",
            "|  | nothing | clang 22: `new` |",
        ] {
            assert!(text.contains(wanted), "{wanted}:\n{text}");
        }
        assert_eq!(document(&Report::default()), "");
    }

    #[test]
    fn what_all_fits_is_said() {
        let mut report = report();
        for judged in &mut report.compatibility[0].judged {
            judged.found = 0;
        }
        let text = document(&report);
        assert!(
            text.contains("No profile is wrong alone, and no two are wrong together."),
            "{text}"
        );
    }
}
