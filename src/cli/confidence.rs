//! `litmake mutants confidence`: computes how likely a time budget is to show a test's behaviour again.

use std::path::PathBuf;
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::stats::confidence::{excluded_rate, promises};
use litmake::stats::merge::{Budget, Target};

use super::common;

/// Say how likely a time budget on a device is to show a behaviour again, from earlier results.
///
/// Each test counts in its best environment. The first figure is the chance that a run of this
/// length sees the test's behaviour again; the second one is the same for the lower end of the
/// rate's confidence interval. A conformance test that ran as long without a violation excludes
/// violations that are more frequent.
#[derive(clap::Args)]
pub struct Args {
    /// Result files in the form of the MC Mutants artifact
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Seconds for each test
    #[arg(long, value_name = "S", default_value = "4", value_parser = Budget::read)]
    budget: Budget,

    /// The reproducibility score to reach, in percent
    #[arg(long, value_name = "R", default_value = "99.999", value_parser = Target::read)]
    rep: Target,

    /// The level of confidence intervals, in percent
    #[arg(long, value_name = "P", default_value_t = 95.0)]
    level: f64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

pub fn run(args: &Args) -> Result<()> {
    if !(args.level > 0.0 && args.level < 100.0) {
        return Err(Diag::new(format!("{} is no level; give a percentage, as 95", args.level)));
    }
    let level = args.level / 100.0;
    let mut out = serde_json::Map::new();
    for path in &args.files {
        let results = super::mutants::read(path)?;
        let p = promises(&results, args.budget.seconds, level, &args.rep);
        let name = path.display().to_string();
        if args.json {
            out.insert(name, p.json());
            continue;
        }
        println!("{name}: {} s a test", args.budget.text);
        let width = p.tests.iter().map(|t| t.best.test.chars().count()).max().unwrap_or(0);
        for t in &p.tests {
            let interval =
                t.interval.map_or_else(String::new, |(l, h)| format!("[{l:.3}, {h:.3}]"));
            let needs = t.needs.map_or_else(
                || "never seen".into(),
                |s| format!("{} % in {s:.4} s", args.rep.text),
            );
            println!(
                "  {:width$}  {:>14.3} /s {interval:24} {:>9.5} % (at least {:.5} %)  {needs}",
                t.best.test,
                t.best.rate,
                t.reproducibility * 100.0,
                t.reproducibility_at_least * 100.0
            );
        }
        println!("  {} of {} tests reach {} %", p.reached(), p.tests.len(), args.rep.text);
        println!("  one run shows all that was ever seen with {:.5} %", p.total() * 100.0);
        println!("  {:.3} s for all of them at {} % each", p.needed(), args.rep.text);
        println!(
            "  a conformance test that shows no violation in {} s excludes, at {} %, violations faster than {:.4} /s",
            args.budget.text,
            args.level,
            excluded_rate(args.budget.seconds, level)
        );
    }
    if args.json {
        let text = match (out.len(), out.values().next()) {
            (1, Some(one)) => serde_json::to_string_pretty(one),
            _ => serde_json::to_string_pretty(&out),
        };
        println!("{}", text.unwrap_or_default());
    }
    Ok(())
}
