//! `litmake run --watch`: stays, and runs again what a saved edit touches.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use litmake::diag::{Diag, Result};
use litmake::engine::run::Options;
use litmake::engine::store::Store;
use litmake::litmus::list::is_test;
use litmake::pipeline::plan::Plan;
use litmake::pipeline::query::Workspace;
use litmake::stage::{self, Built};
use notify::{RecursiveMode, Watcher};

use super::run::{self, Args};
use super::{common, findings};

/// Editors save in several steps; what comes within this time is one edit.
const SETTLE: Duration = Duration::from_millis(15);

pub fn run(args: &Args, mut workspace: Workspace, store: &Store, options: Options) -> Result<u8> {
    let mut plan = Arc::unwrap_or_clone(workspace.plan())?;
    let mut built = common::build(&plan, store)?;
    let (send, receive) = channel();
    let stop = options.context.stop.clone();
    let stopped = send.clone();
    std::thread::spawn(move || {
        stop.wait();
        let _ = stopped.send(None);
    });
    let mut watcher = notify::recommended_watcher(move |event| {
        let _ = send.send(Some(event));
    })
    .map_err(|e| Diag::new(format!("cannot watch files: {e}")))?;
    let mut watched: BTreeSet<PathBuf> = BTreeSet::new();
    let mut status;
    let cache = std::path::absolute(store.dir()).unwrap_or_else(|_| store.dir().to_path_buf());
    let cache = litmake::profile::files::normal(&cache);
    let listener = run::listener(args)?;
    loop {
        built.files().iter().for_each(|f| f.watch());
        for folder in folders(&plan, &built) {
            if folder.is_dir() && watched.insert(folder.clone()) {
                let _ = watcher.watch(&folder, RecursiveMode::Recursive);
            }
        }
        let start = Instant::now();
        match run::once(
            &plan,
            &built,
            store,
            options.clone(),
            &*listener,
            args.baseline.as_ref(),
            &args.ask,
            run::Eyes::default(),
        ) {
            Ok(mut report) => {
                let folder = args.ask.findings.as_deref();
                findings::place(&mut report, &findings::used(&plan), folder)?;
                run::say(args, &report)?;
                status = run::heard(args, &*listener).unwrap_or(report.exit_status());
            }
            Err(e) => {
                eprintln!("{e}");
                status = 2;
            }
        }
        eprintln!("litmake: done in {} ms; watching", start.elapsed().as_millis());
        // What the run itself writes, and what nothing reads, is no reason for another one.
        loop {
            let Some(mut changed) = changes(&receive) else { return Ok(common::status_of(status)) };
            changed.retain(|p| !p.starts_with(&cache));
            let mut tests = false;
            for files in built.files() {
                tests |= files.touched(changed.iter());
            }
            let has = |extension: &str| {
                changed.iter().any(|p| p.extension().is_some_and(|e| e == extension))
            };
            let only_tests = changed.iter().all(|p| is_test(p));
            if !only_tests && (workspace.refresh() || has("cat")) {
                // The pipeline, a profile or a model: plan again, from what is there now.
                let planned = Arc::unwrap_or_clone(workspace.plan());
                match planned.and_then(|p| Ok((stage::build(&p, store)?, p))) {
                    Ok((b, p)) => (plan, built) = (p, b),
                    Err(e) => eprintln!("{e}\nlitmake: going on with what was there before"),
                }
                break;
            }
            if tests {
                break;
            }
        }
    }
}

/// The files of the next edit; nothing where the run is stopped.
fn changes(receive: &Receiver<Option<notify::Result<notify::Event>>>) -> Option<BTreeSet<PathBuf>> {
    let mut out = BTreeSet::new();
    while out.is_empty() {
        let event = receive.recv().ok()??;
        out.extend(event.into_iter().filter(is_change).flat_map(|e| e.paths));
    }
    let start = Instant::now();
    while start.elapsed() < 10 * SETTLE
        && let Ok(event) = receive.recv_timeout(SETTLE)
    {
        out.extend(event?.into_iter().filter(is_change).flat_map(|e| e.paths));
    }
    Some(out)
}

fn is_change(event: &notify::Event) -> bool {
    !matches!(event.kind, notify::EventKind::Access(_))
}

fn folders(plan: &Plan, built: &Built) -> Vec<PathBuf> {
    let mut out = vec![plan.pipeline.dir.clone()];
    out.extend(plan.nodes.iter().map(|n| n.dir.clone()));
    out.extend(litmake::pipeline::plan::profile_folders(&plan.pipeline.dir));
    out.push("models".into());
    for files in built.files() {
        out.extend(files.folders());
    }
    out
}
