//! `litmake run --watch`: keeps running, and runs again what a saved edit affects.
//!
//! The workspace decides that: an edit counts if the plan or its graph read the file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use litmake::diag::{Diag, Result};
use litmake::engine::run::Options;
use litmake::engine::store::Store;
use litmake::pipeline::query::absolute;
use litmake::stage::files::Folders;
use litmake::stage::workspace::Workspace;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::remote::Connection;
use super::run::{self, Args};
use super::{away, common, findings};

/// Editors save in several steps; changes within this time are one edit.
const SETTLE: Duration = Duration::from_millis(15);

pub fn run(
    args: &Args,
    mut workspace: Workspace,
    store: &Arc<Store>,
    options: Options,
    remote: &Connection,
) -> Result<u8> {
    // Each new plan is sent to the workers.
    let prepare =
        |workspace: &mut Workspace, notes| away::prepare(remote, workspace, &**store, notes);
    let mut prepared = prepare(&mut workspace, true)?;
    let (send, receive) = channel();
    let stop = options.context.stop.clone();
    let stopped = send.clone();
    std::thread::spawn(move || {
        stop.wait();
        let _ = stopped.send(None);
    });
    let watcher = notify::recommended_watcher(move |event| {
        let _ = send.send(Some(event));
    });
    let watcher = watcher.map_err(|e| Diag::new(format!("cannot watch files: {e}")))?;
    let mut watched = Watched::new(watcher);
    let mut status;
    let mut failed = false;
    let cache = absolute(store.dir());
    let listener = run::listener(args)?;
    let running = run::Running {
        store,
        options,
        listener: &*listener,
        baseline: args.baseline.as_ref(),
        ask: &args.ask,
        prepare: &|workspace| prepare(workspace, false),
    };
    loop {
        prepared.built.files().iter().for_each(|f| f.watch());
        watched.add(workspace.folders(&prepared.built));
        let start = Instant::now();
        match running.run(&mut workspace, &mut prepared, run::Eyes::default()) {
            Ok(mut report) => {
                let folder = args.ask.findings.as_deref();
                findings::place(&mut report, &findings::used(&prepared.plan), folder)?;
                run::say(args, &report)?;
                // A compiler may have been exchanged during the run, so after errors it is
                // identified again before the next run.
                failed = !report.errors.is_empty();
                status = run::heard(args, &*listener).unwrap_or(report.exit_status());
            }
            Err(e) => {
                eprintln!("{e}");
                status = 2;
            }
        }
        eprintln!("litmake: done in {} ms; watching", start.elapsed().as_millis());
        // Files that the run itself writes, and files that nothing reads, start no other run.
        loop {
            let Some(mut changed) = changes(&receive) else { return Ok(common::status_of(status)) };
            changed.retain(|p| !p.starts_with(&cache));
            changed.extend(watched.come());
            let mut again = false;
            for files in prepared.built.files() {
                again |= files.touched(changed.iter());
            }
            if workspace.changed(&changed) || (again && failed) {
                match prepare(&mut workspace, false) {
                    Ok(now) => {
                        again |= !now.is(&prepared);
                        prepared = now;
                    }
                    Err(e) => eprintln!("{e}\nlitmake: going on with what was there before"),
                }
                // The new plan may depend on files in other folders.
                watched.add(workspace.folders(&prepared.built));
            }
            if again {
                break;
            }
        }
    }
}

/// The folders whose changes are reported.
struct Watched {
    watcher: RecommendedWatcher,
    whole: BTreeSet<PathBuf>,
    own: BTreeSet<PathBuf>,
    /// Folders that do not exist yet.
    awaited: Folders,
}

impl Watched {
    fn new(watcher: RecommendedWatcher) -> Watched {
        Watched {
            watcher,
            whole: BTreeSet::new(),
            own: BTreeSet::new(),
            awaited: Folders::default(),
        }
    }

    fn add(&mut self, folders: Folders) {
        for folder in folders.whole {
            if !folder.is_dir() {
                self.await_in(&folder);
                self.awaited.whole.insert(folder);
            } else if !self.has(&folder)
                && self.watcher.watch(&folder, RecursiveMode::Recursive).is_ok()
            {
                self.whole.insert(folder);
            }
        }
        for folder in folders.own {
            if !folder.is_dir() {
                self.await_in(&folder);
                self.awaited.own.insert(folder);
            } else {
                self.add_own(&folder);
            }
        }
    }

    /// The awaited folders that exist now, which are watched from here on. Their files appeared
    /// unseen, so they count as changed.
    fn come(&mut self) -> BTreeSet<PathBuf> {
        let awaited = std::mem::take(&mut self.awaited);
        let all = awaited.whole.iter().chain(&awaited.own);
        let out = all.filter(|folder| folder.is_dir()).cloned().collect();
        self.add(awaited);
        out
    }

    /// Watches the nearest existing folder above, in which `folder` or one of its parents will
    /// appear.
    fn await_in(&mut self, folder: &Path) {
        if let Some(above) = folder.ancestors().skip(1).find(|above| above.is_dir()) {
            self.add_own(above);
        }
    }

    fn add_own(&mut self, folder: &Path) {
        if !self.has(folder)
            && !self.own.contains(folder)
            && self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        {
            self.own.insert(folder.to_path_buf());
        }
    }

    /// Whether a folder is watched, with everything below it.
    fn has(&self, folder: &Path) -> bool {
        folder.ancestors().any(|above| self.whole.contains(above))
    }
}

/// The files of the next edit; none if the run is stopped.
fn changes(receive: &Receiver<Option<notify::Result<notify::Event>>>) -> Option<BTreeSet<PathBuf>> {
    let mut out = BTreeSet::new();
    while out.is_empty() {
        let event = receive.recv().ok()??;
        out.extend(event.into_iter().flat_map(paths));
    }
    let start = Instant::now();
    while start.elapsed() < 10 * SETTLE
        && let Ok(event) = receive.recv_timeout(SETTLE)
    {
        out.extend(event?.into_iter().flat_map(paths));
    }
    Some(out)
}

/// The paths of an event. If events were lost, the root stands for everything.
fn paths(event: notify::Event) -> Vec<PathBuf> {
    match event.kind {
        _ if event.need_rescan() => vec![PathBuf::from("/")],
        notify::EventKind::Access(_) => Vec::new(),
        _ => event.paths,
    }
}
