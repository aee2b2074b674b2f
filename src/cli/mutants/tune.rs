//! `litmake mutants tune`: searches a good environment for each mutant, and runs the conformance
//! tests in these environments.

use std::path::PathBuf;
use std::time::Duration;

use litmake::devices::tuning::{Database, Entry, entry};
use litmake::diag::{Diag, Result};
use litmake::gpu::environment::Environment;
use litmake::gpu::run::Request;
use litmake::gpu::session::{Prepared, Session, Setup};
use litmake::gpu::tuning::{OnDevice, key};
use litmake::mutate::small::Size;
use litmake::mutate::suite::Suite;
use litmake::stats::confidence::excluded_rate;
use litmake::stats::merge::{Budget, Target, reproducibility};
use litmake::stats::search::{Bench, Found, Goal, Replay, adaptive, in_order};
use litmake::stop::Stopping;

use super::run::{How, Ready, Tests};

/// Search, for each mutant, an environment that kills it often enough.
///
/// Exit status: 0, done; 1, a conformance test showed a violation, or a mutant that reached the
/// goal under an earlier driver of the device no longer does; 2, wrong input; 3, there is no
/// device, or it failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants tune --budget 4 --limit 600 --db tuning.json --conform
  litmake mutants tune --replay pte/amd.json --budget 4       the search on recorded rates")]
pub struct Tune {
    #[command(flatten)]
    tests: Tests,

    #[command(flatten)]
    how: How,

    /// The reproducibility score to reach, in percent
    #[arg(long, value_name = "R", default_value = "99.999", value_parser = Target::read)]
    rep: Target,

    /// The seconds within which a mutant has to reach that score
    #[arg(long, value_name = "S", default_value = "4", value_parser = Budget::read)]
    budget: Budget,

    /// End after S seconds of device time
    #[arg(long, value_name = "S", default_value_t = 3600.0)]
    limit: f64,

    /// Draw environments one after the other, as in the paper, instead of giving more time to the
    /// better ones
    #[arg(long)]
    random: bool,

    /// The tuning database; it has entries by vendor, device, driver and compile variant
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// After the search, run each conformance test in the environments of its mutants, for the
    /// budget
    #[arg(long)]
    conform: bool,

    /// Search in the recorded rates of these files, each by itself, and compare with random search;
    /// no test runs
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "files")]
    replay: Vec<PathBuf>,

    /// How often to repeat a replay
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    repeat: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn tune(args: &Tune) -> Result<u8> {
    let goal = Goal { target: args.rep.clone(), budget: args.budget.seconds, limit: args.limit };
    if goal.limit.is_nan() || goal.limit <= 0.0 {
        return Err(Diag::new(format!("{} is no time in seconds", goal.limit)));
    }
    if args.replay.is_empty() {
        return on_device(args, &goal);
    }
    let mut out = serde_json::Map::new();
    for path in &args.replay {
        if !args.json && args.replay.len() > 1 {
            println!("{}", litmake::base::plain::path(&path.display().to_string()));
        }
        out.insert(path.display().to_string(), replay(args, path, goal.clone())?);
    }
    // One file needs no name.
    let value = match out.len() {
        1 => out.into_iter().map(|(_, value)| value).next(),
        _ => Some(serde_json::Value::Object(out)),
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&value).unwrap_or_default());
    }
    Ok(0)
}

/// The fixed cost of each run in a replay, in seconds: preparing memory and reading results.
const OVERHEAD: f64 = 0.002;

/// Searches in the rates of a file, and returns what came of it for `--json`.
fn replay(args: &Tune, path: &std::path::Path, goal: Goal) -> Result<serde_json::Value> {
    let results = super::read(path)?;
    let goal = Goal { limit: goal.limit.max(1e7), ..goal };
    let reachable = Replay::new(&results, OVERHEAD, 0).reachable(&goal);
    let mut all: [Vec<Found>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for seed in 0..args.repeat {
        let mut bench = Replay::new(&results, OVERHEAD, seed);
        let order = bench.order();
        all[0].push(in_order(&mut bench, &goal, &order, false).only(&reachable));
        all[1].push(
            in_order(&mut Replay::new(&results, OVERHEAD, seed), &goal, &order, true)
                .only(&reachable),
        );
        all[2].push(adaptive(&mut Replay::new(&results, OVERHEAD, seed), &goal).only(&reachable));
    }
    let mean = |list: &[Found], f: &dyn Fn(&Found) -> f64| {
        list.iter().map(f).sum::<f64>() / list.len().max(1) as f64
    };
    let reachable = reachable.iter().filter(|r| **r).count();
    let names = ["random, whole runs", "random, ended at the goal", "adaptive"];
    let adaptive_last = mean(&all[2], &Found::last);
    let mut out = serde_json::Map::new();
    if !args.json {
        println!(
            "{reachable} mutants have an environment with {} % in {} s",
            args.rep.text, args.budget.text
        );
    }
    for (name, list) in names.iter().zip(&all) {
        let count = mean(list, &|f| f.count() as f64);
        let last = mean(list, &Found::last);
        let same = mean(list, &|f| f.count_at(adaptive_last) as f64);
        out.insert(
            name.to_string(),
            serde_json::json!({
                "reached": count, "seconds": last, "times_adaptive": last / adaptive_last,
                "reached_when_adaptive_is_done": same,
            }),
        );
        if !args.json {
            println!(
                "  {name:26} {count:6.2} reached, the last after {last:>10.2} s of device time ({:.2} times); {same:.2} when adaptive is done",
                last / adaptive_last
            );
        }
    }
    out.insert("reachable".into(), reachable.into());
    Ok(out.into())
}

/// The database in a file; empty if there is no file yet.
pub fn database(path: Option<&PathBuf>) -> Result<Database> {
    let Some(path) = path else { return Ok(Database::default()) };
    match litmake::file::read_text(path, litmake::file::MAX_DATA) {
        Ok(text) => {
            Database::read(&text).map_err(|e| Diag::new(format!("{}: {e}", path.display())))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Database::default()),
        Err(e) => Err(Diag::new(format!("cannot read {}: {e}", path.display()))),
    }
}

fn on_device(args: &Tune, goal: &Goal) -> Result<u8> {
    let mut db = database(args.db.as_ref())?;
    let Ready { tests, mut errors } = args.tests.ready(args.how.preset().scheme())?;
    if tests.is_empty() {
        return Ok(errors.end());
    }
    let mut session = Session::new(args.how.device());
    let info = match session.device() {
        Ok(device) => device.info.clone(),
        Err(failure) => {
            eprintln!("error: {}", failure.text());
            return Ok(3);
        }
    };
    let (setup, environments) = args.how.setup(info.subgroup)?;
    eprintln!("{info}: {} tests, {} environments", tests.len(), environments.len());
    let stop = super::common::stop();
    let stopped = || stop.asked();
    let mut bench = OnDevice::new(&mut session, &tests, &environments, &setup, &stopped);
    let found = match args.random {
        true => {
            let order: Vec<usize> = (0..bench.environments()).collect();
            in_order(&mut bench, goal, &order, true)
        }
        false => adaptive(&mut bench, goal),
    };
    let failures = std::mem::take(&mut bench.failures);
    let tuned = entry(
        key(&info, setup.variant),
        args.rep.share * 100.0,
        goal.budget,
        &tests.iter().map(|t| t.key.clone()).collect::<Vec<_>>(),
        &environments.iter().map(Environment::params).collect::<Vec<_>>(),
        &found,
    );
    if stopped() {
        // A stopped search has partial results, which must not overwrite those of a complete one.
        say(args, &tests, &tuned, &found);
        eprintln!("stopped; the tuning database is as it was");
        return Ok(super::common::status_of(3));
    }
    let changes = db.changes(&tuned);
    let mut status = u8::from(changes.iter().any(|c| c.lost));
    if args.json {
        println!("{}", serde_json::to_string_pretty(&tuned).unwrap_or_default());
    } else {
        say(args, &tests, &tuned, &found);
        for c in &changes {
            let word = if c.lost { "lost" } else { "won" };
            println!(
                "{word} against driver {}: {} ({:.3} /s, was {:.3} /s)",
                c.driver, c.test, c.after, c.before
            );
        }
    }
    if let Some(path) = &args.db {
        db.put(tuned.clone());
        litmake::file::write(path, db.write())?;
    }
    if args.conform {
        status = status.max(conform(args, &mut session, &setup, &tests, &tuned)?);
    }
    for (test, failure) in &failures {
        errors.failed(test, failure);
    }
    Ok(status.max(errors.end()))
}

fn say(args: &Tune, tests: &[Prepared], tuned: &Entry, found: &Found) {
    for test in tests {
        let Some(best) = tuned.tests.get(&test.key) else { continue };
        let again = reproducibility(best.rate(), args.budget.seconds) * 100.0;
        let word = if best.reached { "" } else { "  not reached" };
        println!(
            "  {:44} {:>14.3} /s  {again:>9.5} % in {} s{word}",
            test.key,
            best.rate(),
            args.budget.text
        );
    }
    println!(
        "{} of {} mutants reach {} % in {} s; {:.2} s of device time, {} runs, the last reached after {:.2} s",
        found.count(),
        tests.len(),
        args.rep.text,
        args.budget.text,
        found.spent,
        found.pulls,
        found.last()
    );
}

/// Runs each conformance test in the environments of its mutants.
fn conform(
    args: &Tune,
    session: &mut Session,
    setup: &Setup,
    mutants: &[Prepared],
    tuned: &Entry,
) -> Result<u8> {
    let mut models = args.tests.models()?;
    let mut status = 0;
    for test in Suite::Conformance.tests(Size::default())? {
        let test = Prepared::new(&test, setup.preset.scheme(), &mut models)?;
        // A mutant's name begins with the name of its conformance test.
        let own = |p: &&Prepared| p.name.starts_with(&format!("{}.", test.name));
        let environments: Vec<Environment> = mutants
            .iter()
            .filter(own)
            .filter_map(|p| Environment::recorded(&tuned.tests.get(&p.key)?.params))
            .collect();
        let (mut violations, mut instances, mut seconds) = (0, 0, 0.0);
        for (i, env) in environments.iter().enumerate() {
            let request = Request {
                env: *env,
                iterations: u32::MAX,
                time: Duration::try_from_secs_f64(args.budget.seconds / environments.len() as f64)
                    .ok(),
                batch: setup.batch,
                seed: format!("{}/conform/{i}/{}", setup.seed, test.key),
                spin_anywhere: setup.spin_anywhere,
            };
            match session.measure(&test, setup.shape(&test.program), setup.variant, &request) {
                Ok(m) => {
                    violations += m.violations(&test.oracle);
                    instances += m.instances;
                    seconds += m.seconds;
                }
                Err(failure) => {
                    eprintln!("error: {}: {}", test.name, failure.text());
                    status = 3;
                }
            }
        }
        if environments.is_empty() {
            println!("  {:16} not run: no mutant of it was ever killed", test.name);
        } else if violations > 0 {
            println!("  {:16} {violations} violations in {instances} instances", test.name);
            status = status.max(1);
        } else {
            println!(
                "  {:16} no violation in {instances} instances; at 95 %, none faster than {:.3} /s",
                test.name,
                excluded_rate(seconds, 0.95)
            );
        }
    }
    Ok(status)
}
