//! `litmake mutants score`, `merge` and `correlate`: analyse result files.

use std::path::PathBuf;

use litmake::diag::{Diag, Result};
use litmake::report::plot::{self, Panel, Scale};
use litmake::stats::correlate::{Correlation, Of};
use litmake::stats::merge::{Budget, Merged, Table, Target};
use litmake::stats::score::{self, Part};
use serde_json::{Map, Value, json};

use super::{Set, sets};

/// Print mutation scores and average death rates, by mutator and in total.
#[derive(clap::Args)]
pub struct Score {
    /// Result files, one a device
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Treat the files of each folder as a set of their own, such as `pte/*.json site/*.json`
    #[arg(long)]
    sets: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw the scores and rates into this file, as SVG (figure 5 of the paper)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Choose one environment for each test that is good on all devices.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants merge --rep 99.999 --budget 4 pte/*.json
  litmake mutants merge --curve --svg figure6.svg --sets pte/*.json site/*.json")]
pub struct Merge {
    /// The reproducibility score to reach, in percent
    #[arg(long, value_name = "R", default_value = "99.999", value_parser = Target::read)]
    rep: Target,

    /// Seconds for each test, such as 4, 0.5 or 1/1024
    #[arg(long, value_name = "S", default_value = "64", value_parser = Budget::read)]
    budget: Budget,

    /// Result files, one a device
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also count for budgets from 1/1024 s to 64 s and targets of 95 % and 99.999 %
    #[arg(long)]
    curve: bool,

    /// Treat the files of each folder as a set of their own, such as `pte/*.json site/*.json`
    #[arg(long)]
    sets: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw scores over budgets into this file, as SVG (figure 6 of the paper)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Print how the counts of tests correlate over environments.
#[derive(clap::Args)]
pub struct Correlate {
    /// A result file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn print_json(value: &Value) {
    println!("{}", serde_json::to_string_pretty(value).unwrap_or_default());
}

fn write(path: &std::path::Path, text: &str) -> Result<()> {
    litmake::file::write(path, text)
}

struct Scored {
    name: String,
    devices: Vec<(String, score::Score)>,
}

impl Scored {
    fn of(set: &Set) -> Scored {
        let devices = set.devices.iter().map(|(d, r)| (d.clone(), score::score(r))).collect();
        Scored { name: set.name.clone(), devices }
    }

    fn total(&self) -> Part {
        score::total(self.devices.iter().map(|(_, s)| s))
    }
}

pub fn score(args: &Score) -> Result<u8> {
    let scored: Vec<Scored> = sets(&args.files, args.sets)?.iter().map(Scored::of).collect();
    if let Some(path) = &args.svg {
        write(path, &figure5(&scored))?;
    }
    if args.json {
        print_json(&scores_json(&scored, args.sets));
        return Ok(0);
    }
    for set in &scored {
        for (device, s) in &set.devices {
            let name = if args.sets { format!("{}/{device}", set.name) } else { device.clone() };
            println!("{name} ({} environments)", s.environments);
            for (mutator, part) in
                s.parts.iter().map(|(n, p)| (n.as_str(), p)).chain([("all", &s.all)])
            {
                print_part(mutator, part);
            }
        }
        if set.devices.len() > 1 {
            println!(
                "{}",
                if args.sets { format!("{}, all devices", set.name) } else { "all devices".into() }
            );
            print_part("all", &set.total());
        }
    }
    Ok(0)
}

fn print_part(name: &str, p: &Part) {
    println!(
        "  {name:16} {:>3} of {:<3} {:>6.2} %  {:>14.3} /s",
        p.killed, p.of, p.mutation_score_pct, p.avg_death_rate_per_s
    );
}

fn scores_json(scored: &[Scored], by_set: bool) -> Value {
    let device = |s: &score::Score| {
        let mut out = s.json();
        out.insert("per_test_max".into(), s.per_test_json());
        Value::Object(out)
    };
    if let ([Scored { devices, .. }], false) = (scored, by_set) {
        return match &devices[..] {
            [(_, one)] => device(one),
            many => {
                let mut out: Map<String, Value> =
                    many.iter().map(|(d, s)| (d.clone(), device(s))).collect();
                out.insert("total_all_devices".into(), scored[0].total().json());
                Value::Object(out)
            }
        };
    }
    let (mut fig5, mut tests) = (Map::new(), Map::new());
    for set in scored {
        let mut parts: Map<String, Value> =
            set.devices.iter().map(|(d, s)| (d.clone(), Value::Object(s.json()))).collect();
        parts.insert("total_all_devices".into(), set.total().json());
        fig5.insert(set.name.clone(), Value::Object(parts));
        let best = set.devices.iter().map(|(d, s)| (d.clone(), s.per_test_json()));
        tests.insert(set.name.clone(), Value::Object(best.collect()));
    }
    json!({ "fig5": fig5, "per_test_max": tests })
}

/// Draws scores and rates: a row for each mutator and one for all, a group for each device, a
/// colour for each set.
fn figure5(scored: &[Scored]) -> String {
    let mut devices: Vec<&String> = Vec::new();
    let mut mutators: Vec<&str> = Vec::new();
    for (name, s) in scored.iter().flat_map(|s| &s.devices) {
        if !devices.contains(&name) {
            devices.push(name);
        }
        for (m, _) in s.parts.iter().filter(|(_, p)| p.of > 0) {
            if !mutators.contains(&m.as_str()) {
                mutators.push(m);
            }
        }
    }
    let mut panels = Vec::new();
    for mutator in mutators.into_iter().chain(["all"]) {
        let part = |set: &Scored, device: Option<&String>| -> Option<Part> {
            let of = |s: &score::Score| if mutator == "all" { s.all } else { s.part(mutator) };
            match device {
                Some(d) => set.devices.iter().find(|(n, _)| n == d).map(|(_, s)| of(s)),
                None if mutator == "all" => Some(set.total()),
                None => None,
            }
        };
        let mut groups: Vec<Option<&String>> = devices.iter().copied().map(Some).collect();
        if mutator == "all" && devices.len() > 1 {
            groups.push(None);
        }
        let values = |f: &dyn Fn(Part) -> f64| -> Vec<Vec<Option<f64>>> {
            groups.iter().map(|d| scored.iter().map(|s| part(s, *d).map(f)).collect()).collect()
        };
        let names: Vec<String> =
            groups.iter().map(|d| d.map_or("total".into(), |d| d.clone())).collect();
        let panel = |title: &str, scale, values| Panel {
            title: format!("{}: {title}", mutator.replace('_', " ")),
            scale,
            groups: names.clone(),
            values,
            lines: false,
        };
        panels.push(panel("mutation score", Scale::Percent, values(&|p| p.mutation_score_pct)));
        panels.push(panel(
            "average death rate (1/s)",
            Scale::Log,
            values(&|p| p.avg_death_rate_per_s),
        ));
    }
    let series: Vec<String> = scored.iter().map(|s| s.name.clone()).collect();
    plot::svg("Mutation scores and mutant death rates", &series, &panels)
}

pub fn merge(args: &Merge) -> Result<u8> {
    let tables = sets(&args.files, args.sets)?
        .into_iter()
        .map(|set| Ok((set.name, Table::new(&set.devices).map_err(Diag::new)?)))
        .collect::<Result<Vec<_>>>()?;
    let mut targets = vec![
        Target { share: 0.95, text: "95".into() },
        Target { share: 0.99999, text: "99.999".into() },
    ];
    if targets.iter().all(|t| t.observations() != args.rep.observations()) {
        targets.push(args.rep.clone());
    }
    let budgets = Budget::of_figure();
    if let Some(path) = &args.svg {
        write(path, &figure6(&tables, &targets, &budgets))?;
    }
    let mut out = Map::new();
    for (name, table) in &tables {
        let merged = table.merge(&args.rep, &args.budget);
        let curve = args.curve.then(|| table.curve(&targets, &budgets));
        if args.json {
            let mut value = merged.json();
            if let Some(curve) = curve {
                value["curve"] = curve_json(&curve, &budgets);
            }
            out.insert(name.clone(), value);
            continue;
        }
        if args.sets {
            println!("{name}:");
        }
        print_merged(&merged);
        for (target, counts) in curve.iter().flatten() {
            println!("{} %:", target.text);
            for (budget, n) in budgets.iter().zip(counts) {
                println!("  {:>8} s  {n:>4} of {}", budget.text, table.pairs());
            }
        }
    }
    if args.json {
        match (args.sets, out.len()) {
            (false, 1) => print_json(&out.into_iter().next().map_or(Value::Null, |(_, v)| v)),
            _ => print_json(&Value::Object(out)),
        }
    }
    Ok(0)
}

fn curve_json(curve: &[(Target, Vec<usize>)], budgets: &[Budget]) -> Value {
    let one = |(target, counts): &(Target, Vec<usize>)| {
        let points = budgets.iter().zip(counts).map(|(b, n)| (b.text.clone(), Value::from(*n)));
        (target.text.clone(), Value::Object(points.collect()))
    };
    Value::Object(curve.iter().map(one).collect())
}

fn print_merged(m: &Merged) {
    let width = m.tests.iter().map(|t| t.test.chars().count()).max().unwrap_or(0);
    for t in &m.tests {
        let env = t.env.as_deref().unwrap_or("-");
        let rates: Vec<String> =
            t.rates.iter().map(|r| r.map_or_else(|| "-".into(), |r| format!("{r:.3}"))).collect();
        println!(
            "  {:width$}  env {env:>4}  {} of {}  {}",
            t.test,
            t.devices,
            m.devices.len(),
            rates.join(" ")
        );
    }
    println!(
        "{} of {} ({:.2} %) at {} % within {} s a test: a rate of {} /s",
        m.reproducible,
        m.denominator,
        m.score_pct(),
        m.target.text,
        m.budget.text,
        m.ceiling_rate
    );
    for (d, name) in m.devices.iter().enumerate() {
        println!(
            "  {name}: one run shows all that was ever seen there with {:.5} %",
            m.total_reproducibility(d) * 100.0
        );
    }
}

fn figure6(tables: &[(String, Table)], targets: &[Target], budgets: &[Budget]) -> String {
    let mut series = Vec::new();
    let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); budgets.len()];
    for (name, table) in tables {
        for (target, counts) in table.curve(targets, budgets) {
            series.push(format!("{name} {} %", target.text).trim().to_string());
            for (row, n) in values.iter_mut().zip(counts) {
                row.push((table.pairs() > 0).then(|| n as f64 / table.pairs() as f64 * 100.0));
            }
        }
    }
    let panel = Panel {
        title: "mutation score over seconds a test".into(),
        scale: Scale::Percent,
        groups: budgets.iter().map(|b| b.text.clone()).collect(),
        values,
        lines: true,
    };
    plot::svg("Budgets, targets and mutation scores", &series, &[panel])
}

pub fn correlate(args: &Correlate) -> Result<u8> {
    let c = Correlation::new(&super::read(&args.file)?);
    if c.tests.len() > 512 {
        return Err(Diag::new(format!(
            "{} tests are too many to correlate each with each",
            c.tests.len()
        ))
        .help("keep the tests of interest in a file of their own"));
    }
    if args.json {
        print_json(&c.json());
        return Ok(0);
    }
    println!("{} environments", c.environments);
    for a in 0..c.tests.len() {
        for b in a + 1..c.tests.len() {
            let show = |r: Option<f64>| r.map_or_else(|| "     -".into(), |r| format!("{r:6.3}"));
            let (r, n) = c.between(a, b, Of::Counts);
            let ranks = c.between(a, b, Of::Ranks).0;
            println!(
                "  {}  (ranks {}, {n} environments)  {} | {}",
                show(r),
                show(ranks),
                c.tests[a],
                c.tests[b]
            );
        }
    }
    Ok(0)
}
