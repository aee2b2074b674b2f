//! Runs the pipelines that commands make for themselves, such as `check` and `diff`.

use std::path::PathBuf;
use std::sync::Arc;

use litmake::diag::{Diag, Result};
use litmake::engine::run::Options;
use litmake::engine::store::Store;
use litmake::pipeline::kinds::Generate;
use litmake::pipeline::made::{Made, NAME};
use litmake::report::Report;
use litmake::report::terminal::Style;
use litmake::stage::collect::Ran;
use litmake::stage::workspace::{Prepared, Workspace};
use litmake::stop::Stop;

use super::common::{self, CacheArgs};
use super::findings::Used;
use super::remote::{Connection, ExecutionArgs, RemoteArgs};
use super::run::{Eyes, Formats, Look, Running};
use super::{away, findings, output, progress};

/// The options of a command that makes a pipeline: how to run it.
#[derive(clap::Args)]
pub struct How {
    /// Workers on this machine [default: one a core]
    ///
    /// 0 leaves to other machines everything that --remote-executor can do
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1024))]
    jobs: Option<u32>,

    /// Show no progress and no notes
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub cache: CacheArgs,

    #[command(flatten)]
    pub ask: findings::Ask,

    /// A file of known findings, which do not count for the exit status
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    #[command(flatten)]
    pub formats: Formats,

    // These are last, since their headings would count for what follows.
    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    execution: ExecutionArgs,
}

impl How {
    /// With `--quiet`, suppresses all notes from here on.
    pub fn hush(&self) {
        if self.quiet {
            output::hush();
        }
    }
}

/// Runs a pipeline that a command made. `say` gets the report and the profiles that it used; it
/// places the findings ([`How::place`]) and prints the report.
pub fn run(
    pipeline: Made,
    how: &How,
    look: Option<Look>,
    say: impl FnOnce(&mut Report, &Used) -> Result<()>,
) -> Result<Report> {
    how.hush();
    let mut workspace = workspace(pipeline)?;
    let place = how.open()?;
    let mut prepared = place.prepare(&mut workspace, true)?;
    let listener = progress::listener(how.quiet);
    let running = Running {
        store: &place.store,
        options: how.options(&place)?,
        listener: &*listener,
        baseline: how.baseline.as_ref(),
        ask: &how.ask,
        prepare: &|workspace| place.prepare(workspace, false),
    };
    let eyes = Eyes { ran: None, report: look };
    let mut report = running.run(&mut workspace, &mut prepared, eyes)?;
    say(&mut report, &findings::used(&prepared.plan))?;
    how.formats.write(&report)?;
    place.end(how.quiet);
    Ok(report)
}

/// The report of a pipeline that a command made, without progress or messages.
pub fn answer(pipeline: Made, cache: &CacheArgs) -> Result<Report> {
    let mut workspace = workspace(pipeline)?;
    let store = Arc::new(cache.open()?);
    let mut options = Options::default();
    options.context.stop = common::stop();
    let mut prepared = common::prepare(&mut workspace, &*store).map_err(plain_error)?;
    let running = Running {
        store: &store,
        options,
        listener: &*progress::listener(true),
        baseline: None,
        ask: &findings::Ask::default(),
        prepare: &|workspace| workspace.prepare(&*store).map_err(plain_error),
    };
    let report = running.run(&mut workspace, &mut prepared, Eyes::default())?;
    super::run::end(&store);
    Ok(report)
}

/// Where such pipelines run: an open cache, and other machines if they are asked for.
pub struct Place {
    store: Arc<Store>,
    remote: Connection,
    /// Set up before the first compiler runs.
    stop: Stop,
}

impl Place {
    /// Prepares a pipeline. With `notes`, warns about compilers that cannot be identified
    /// completely.
    fn prepare(&self, workspace: &mut Workspace, notes: bool) -> Result<Prepared> {
        away::prepare(&self.remote, workspace, &*self.store, notes).map_err(plain_error)
    }

    pub fn end(&self, quiet: bool) {
        super::run::end(&self.store);
        self.remote.end(&self.stop, quiet);
    }
}

impl How {
    pub fn open(&self) -> Result<Place> {
        let stop = common::stop();
        let store = Arc::new(self.cache.open()?);
        let Some(remote) = self.remote.open_for(&self.execution, false)? else {
            // The cause is printed already.
            return Err(Diag::new("the remote cache cannot be used"));
        };
        Ok(Place { store, remote, stop })
    }

    fn options(&self, place: &Place) -> Result<Options> {
        let mut options = Options::default();
        options.context.stop = place.stop.clone();
        self.execution.set_jobs(self.jobs, &mut options)?;
        options.remote = place.remote.cache();
        options.elsewhere = place.remote.elsewhere();
        Ok(options)
    }

    /// Gives findings their files and commands.
    pub fn place(&self, report: &mut Report, used: &Used) -> Result<()> {
        findings::place(report, used, self.ask.findings.as_deref())
    }
}

/// Runs one of several pipelines that a command made, in one place: its report, and the profiles
/// that findings name. `look` sees the results of the run. With `notes`, warns about compilers that
/// cannot be identified completely.
pub fn part(
    pipeline: Made,
    how: &How,
    ask: &findings::Ask,
    place: &Place,
    notes: bool,
    look: &mut dyn FnMut(&Ran),
) -> Result<(Report, findings::Used)> {
    let mut workspace = workspace(pipeline)?;
    let mut prepared = place.prepare(&mut workspace, notes)?;
    let running = Running {
        store: &place.store,
        options: how.options(place)?,
        listener: &*progress::listener(true),
        baseline: how.baseline.as_ref(),
        ask,
        prepare: &|workspace| place.prepare(workspace, false),
    };
    let eyes = Eyes { ran: Some(look), report: None };
    let mut report = running.run(&mut workspace, &mut prepared, eyes)?;
    let used = findings::used(&prepared.plan);
    findings::place(&mut report, &used, ask.findings.as_deref())?;
    Ok((report, used))
}

/// Prints a report: as JSON for programs, or in full for people.
pub fn print(report: &Report, json: bool) {
    match json {
        true => print!("{}", report.clone().stable().json()),
        false => {
            let style = Style { color: common::stdout_color(), verbose: true, quiet: true };
            super::run::say_summary(report, style);
        }
    }
}

/// A workspace with a pipeline that a command made; an error if it cannot be planned.
fn workspace(pipeline: Made) -> Result<Workspace> {
    let workspace = Workspace::made(pipeline);
    workspace.plan().map_err(plain_error)?;
    Ok(workspace)
}

/// The options of a stage that reads these tests.
pub fn tests<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Generate {
    let files = paths.into_iter().map(|path| path.to_string_lossy().into_owned());
    Generate { files: files.collect(), ..Generate::default() }
}

/// An error without its place if that is in the command's own pipeline, which the user cannot see.
fn plain_error(mut e: Box<Diag>) -> Box<Diag> {
    if e.source.as_ref().is_some_and(|s| &*s.name == NAME) {
        e.source = None;
        e.span = None;
    }
    e
}
