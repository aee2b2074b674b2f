//! `litmake cache audit`: makes a random part again of what the cache claims, and compares.
//!
//! It goes through the pipelines whose last runs the cache knows, as they are planned now.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use litmake::base::digest::Digest;
use litmake::diag::{Diag, Result};
use litmake::engine::events::Silent;
use litmake::engine::graph::Context;
use litmake::engine::run::audit::{Audit, Sample, Wrong};
use litmake::engine::run::{Engine, Options};
use litmake::engine::store::Store;
use litmake::pipeline::load::percentage;
use litmake::report::audited::{Audited, FORGED};
use litmake::report::{Cause, Error};
use litmake::stage::workspace::Workspace;

use super::common::{self, CacheArgs};
use super::last_runs::Remembered;
use super::progress;

/// A part of the results that is missing, from which on a pipeline counts as changed.
const MISSING: f64 = 0.5;

/// At most so many wrong results are listed.
const SHOWN: usize = 50;

#[derive(clap::Args)]
pub struct Args {
    /// Audit only the results of this pipeline [default: of all whose last run is in the cache]
    #[arg(value_name = "PIPELINE")]
    pipeline: Option<PathBuf>,

    /// With a pipeline, give a variable of it another value; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "pipeline", value_parser = common::assignment)]
    sets: Vec<(String, String)>,

    #[command(flatten)]
    cache: CacheArgs,

    /// How much of the results is made again, such as 1% or 100%
    #[arg(long, value_name = "P%", default_value = "1%", value_parser = percentage)]
    sample: f64,

    /// Choose the same results as the audit that printed this number [default: other ones each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A seed that nobody knows before.
pub fn any_seed() -> u64 {
    RandomState::new().hash_one(())
}

pub fn main(args: &Args) -> ExitCode {
    match audit(args) {
        Ok(status) => ExitCode::from(common::status_of(status)),
        Err(diag) => common::fail(&diag),
    }
}

fn audit(args: &Args) -> Result<u8> {
    // Pipelines are planned in their folders, and the cache stays where it is.
    let store = Arc::new(args.cache.in_place().open()?);
    let runs = match &args.pipeline {
        Some(pipeline) => vec![Remembered::here(pipeline, &args.sets, &[])?],
        None => Remembered::all(&store),
    };
    if runs.is_empty() {
        return Err(Diag::new("the cache knows of no run of a pipeline")
            .help("name the pipeline: `litmake cache audit PIPELINE.yaml`"));
    }
    let sample = Sample { part: args.sample, seed: args.seed.unwrap_or_else(any_seed) };
    let (mut total, mut seen, mut left_out) = (Audit::default(), HashSet::default(), 0);
    let stop = common::stop();
    for run in &runs {
        let options = Options {
            context: Context { records: Some(store.clone()), stop: stop.clone() },
            ..Options::default()
        };
        match one(run, &store, options, sample, &mut seen) {
            Ok(audit) => total = total.and(audit),
            Err(diag) => {
                left_out += 1;
                eprintln!("{diag}");
            }
        }
    }
    let results = store.stats().by_kind.get("actions").map_or(0, |(count, _)| *count);
    match args.json {
        true => println!("{}", json(&total, sample, results, left_out)),
        false => say(&total, sample, results, left_out),
    }
    super::run::end(&store);
    Ok(match (total.wrong.is_empty(), left_out + total.not_made) {
        (false, _) => 1,
        (true, 0) => 0,
        (true, _) => 3,
    })
}

/// Audits the results of one pipeline.
fn one(
    run: &Remembered,
    store: &Store,
    options: Options,
    sample: Sample,
    seen: &mut HashSet<Digest>,
) -> Result<Audit> {
    let at = |e| Diag::new(format!("cannot enter {}: {e}", run.folder.display()));
    std::env::set_current_dir(&run.folder).map_err(at)?;
    let mut workspace = Workspace::new(&run.pipeline, &run.sets, &run.targets);
    let prepared = common::prepare(&mut workspace, store)?;
    let built = &prepared.built;
    let predicted = Engine::new(&built.graph, store, options.clone(), &Silent)?.predict()?;
    let tasks: u64 = predicted.iter().map(|p| p.tasks).sum();
    let missing: u64 = predicted.iter().map(|p| p.run + p.maybe).sum();
    let name = run.pipeline.display();
    if missing as f64 > tasks as f64 * MISSING {
        return Err(Diag::new(format!(
            "{name} is not audited: {missing} of its {tasks} results are not in the cache, since the \
             pipeline, a compiler or litmake is another one now"
        ))
        .help("run it first"));
    }
    if missing > 0 {
        note!("{missing} results of {name} are not in the cache, and are made first");
    }
    let listener = progress::listener(true);
    let engine = Engine::new(&built.graph, store, options, &*listener)?;
    if !engine.run() {
        return Err(Diag::new(format!("the audit of {name} was stopped")));
    }
    let out = engine.audit(sample, seen);
    match workspace.compilers().moved() {
        None => Ok(out),
        Some(_) => Err(Diag::new(format!("a compiler of {name} changed during the audit"))
            .help("run the pipeline, and audit it again")),
    }
}

fn json(audit: &Audit, sample: Sample, results: u64, left_out: u64) -> serde_json::Value {
    let wrong: Vec<_> = audit
        .wrong
        .iter()
        .map(|w| {
            serde_json::json!({
                "stage": w.node, "item": w.item, "key": w.key.hex(),
                "claimed": w.claimed, "made": w.made,
            })
        })
        .collect();
    serde_json::json!({
        "sample": sample.part, "seed": sample.seed, "results": results, "claims": audit.claims,
        "made": audit.made, "not_made": audit.not_made, "pipelines_left_out": left_out,
        "finds_one_in": FORGED, "with_probability": told(audit).rate(), "wrong": wrong,
    })
}

/// The numbers of an audit.
pub fn told(audit: &Audit) -> Audited {
    let Audit { claims, made, not_made, wrong } = audit;
    Audited { claims: *claims, made: *made, not_made: *not_made, wrong: wrong.len() as u64 }
}

/// An error for each wrong result, which names its record.
pub fn errors(audit: &Audit) -> Vec<Error> {
    let error = |w: &Wrong| Error {
        stage: w.node.clone(),
        test: w.item.clone(),
        message: format!(
            "the record {} in the cache was wrong: it said {}, and the stage makes {}; it is \
             corrected, so run again",
            w.key.short(),
            w.claimed,
            w.made
        ),
        cause: Cause::Run,
        ..Error::default()
    };
    audit.wrong.iter().map(error).collect()
}

fn say(audit: &Audit, sample: Sample, results: u64, left_out: u64) {
    let wrong = errors(audit);
    for error in wrong.iter().take(SHOWN) {
        println!("{}: {}", error.stage, error.told());
    }
    if wrong.len() > SHOWN {
        println!("... and {} more", wrong.len() - SHOWN);
    }
    println!("{} (seed {})", told(audit).words(), sample.seed);
    if left_out > 0 {
        println!("pipelines that were not audited: {left_out}");
    }
    let others = results.saturating_sub(audit.claims);
    if others > 0 {
        println!(
            "not covered: {others} more results in the cache, of other runs, devices, or older versions"
        );
    }
}
