//! `litmake run --dry-run`: prints what would run, and why.

use litmake::diag::Result;
use litmake::engine::events::Silent;
use litmake::engine::graph::Work;
use litmake::engine::run::{Engine, Options};
use litmake::engine::store::Store;
use litmake::stage::workspace::Prepared;

use super::last_runs::{LAST, LastRun};

pub fn run(
    Prepared { plan, built }: &Prepared,
    store: &Store,
    options: Options,
    verbose: bool,
) -> Result<u8> {
    let engine = Engine::new(&built.graph, store, options, &Silent)?;
    let predictions = engine.predict()?;
    let before = LastRun::read(store, plan, LAST);
    let width = plan.nodes.iter().map(|n| n.label.chars().count()).max().unwrap_or(0).min(48);
    let (mut run, mut maybe) = (0, 0);
    for (i, node) in built.graph.nodes.iter().enumerate() {
        // A list of parts is the output of the stage before it, and a result that is not stored is
        // made when it is read. Neither is a task.
        match &node.work {
            Work::Parts => continue,
            Work::Map(work) if !work.keeps() => continue,
            _ => {}
        }
        let p = &predictions[i];
        if node.hidden && p.run + p.maybe == 0 {
            continue;
        }
        run += p.run;
        maybe += p.maybe;
        print!("{:width$}  {:>8} tasks  {:>8} run", node.label, p.tasks, p.run);
        if p.maybe > 0 {
            print!("  {:>8} if their inputs come out differently", p.maybe);
        }
        println!();
        if p.run > 0 {
            for line in reasons(node, before.as_ref(), store) {
                println!("{:width$}    {line}", "");
            }
            let shown = if verbose { p.names.len() } else { 2 };
            for name in p.names.iter().take(shown) {
                println!("{:width$}    {name}", "");
            }
        }
    }
    match (run, maybe) {
        (0, 0) => println!("nothing to run"),
        (run, 0) => println!("{run} tasks would run"),
        (run, maybe) => println!("{run} tasks would run, and up to {maybe} after them"),
    }
    for notice in store.take_notices() {
        eprintln!("litmake: {notice}");
    }
    Ok(0)
}

/// The differences from the last run of the pipeline on this cache.
fn reasons(
    node: &litmake::engine::graph::Node,
    before: Option<&LastRun>,
    store: &Store,
) -> Vec<String> {
    let Some(before) = before else {
        return vec!["no earlier run of this pipeline is known here".into()];
    };
    let Some(old) = before.nodes.iter().find(|n| n.label == node.label && n.kind == node.kind)
    else {
        return vec!["the last run had no such stage".into()];
    };
    let changed = old.changes(&node.fingerprint, store);
    if changed.is_empty() { vec!["tests are new or changed".into()] } else { changed }
}
