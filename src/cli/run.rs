//! `litmake run`: runs a pipeline and reports its findings.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap_complete::engine::ArgValueCompleter;
use litmake::base::digest::Keyer;
use litmake::base::local;
use litmake::base::records::Records;
use litmake::diag::{Diag, Result};
use litmake::engine::events::{All, Lines, Listener};
use litmake::engine::remote::Gathered;
use litmake::engine::run::audit::Sample;
use litmake::engine::run::{Engine, Options};
use litmake::engine::store::Store;
use litmake::file::write;
use litmake::pipeline::plan::Plan;
use litmake::plain;
use litmake::report::baseline::{Baseline, Seen};
use litmake::report::terminal::{Style, summary};
use litmake::report::{Report, Status, github, html, junit, sarif};
use litmake::stage::collect::Ran;
use litmake::stage::compilers::Moved;
use litmake::stage::investigate::Investigator;
use litmake::stage::workspace::{Prepared, Workspace};
use litmake::stage::{collect, versions};

use super::common::{self, CacheArgs};
use super::last_runs::Remembered;
use super::remote::{ExecutionArgs, RemoteArgs};
use super::{audit, away, completions, details, findings, history, output, pipelines, progress};

/// Run a pipeline, doing only what was not done before.
///
/// Exit status: 0, everything that was asked was judged, and there are no new findings; 1, new
/// findings, or differences that were not looked into; 2, the pipeline or its inputs are wrong; 3,
/// something that the run needs failed, and everything that does not depend on it is done; or not
/// everything was judged.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake run quickstart                    a pipeline that comes with litmake
  litmake run p.yaml compare:gcc-12*        only what these instances need
  litmake run p.yaml --set tests='my/*.litmus' --report report.json
  litmake run p.yaml --shard 2/8 --report part2.json")]
pub struct Args {
    #[command(flatten)]
    pub plan: PlanArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// Workers on this machine [default: one a core]
    ///
    /// With --remote-executor, 0 leaves everything to other machines that they can do
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1024))]
    jobs: Option<u32>,

    #[command(flatten)]
    formats: Formats,

    #[command(flatten)]
    pub ask: findings::Ask,

    /// A file of known findings, which do not make the run fail [default: the pipeline's
    /// `baseline`]
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Add the run to the record of runs in this folder [env: LITMAKE_HISTORY]
    ///
    /// `litmake history` and `litmake site` show the record. Without this option, and with `--watch`,
    /// none is kept
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,

    #[command(flatten)]
    about: history::About,

    /// Write each event of the run as a line of JSON, while it runs
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Run a pipeline of a tree that others wrote, which is the working folder: read and write
    /// nothing outside of it that it names, use no profile, tool chain, build or cache in it, and
    /// hide the environment. It needs a cache elsewhere. See SECURITY.md
    #[arg(long)]
    foreign: bool,

    /// With --foreign, a variable of the environment that the pipeline may read; may be given
    /// several times
    #[arg(long, value_name = "NAME", requires = "foreign")]
    foreign_env: Vec<String>,

    /// Run part I of N of the tests; `litmake report merge` joins the reports of all parts
    #[arg(long, value_name = "I/N", value_parser = common::part)]
    shard: Option<(u32, u32)>,

    /// Say what would run and why, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Continue with other items when one fails (the default)
    #[arg(short, long, overrides_with = "fail_fast")]
    keep_going: bool,

    /// Stop as soon as something that the run needs fails
    #[arg(long)]
    fail_fast: bool,

    /// Ask tools again about inputs that they refused in earlier runs; without this option they are
    /// asked again after a day
    #[arg(long)]
    ask_again: bool,

    /// Keep running, and after each saved edit run the steps that depend on it
    #[arg(long)]
    watch: bool,

    /// Show no progress and no notes, and print a shorter summary
    #[arg(short, long)]
    quiet: bool,

    /// Print more: with a dry run every task, otherwise a longer summary
    #[arg(short, long)]
    verbose: bool,

    // These are last, since their headings would count for what follows.
    #[command(flatten)]
    pub remote: RemoteArgs,

    #[command(flatten)]
    pub execution: ExecutionArgs,
}

#[derive(clap::Args)]
pub struct PlanArgs {
    /// The pipeline: a YAML file, or the name of one that comes with litmake, such as `nightly`
    #[arg(value_name = "PIPELINE")]
    pub pipeline: PathBuf,

    /// Stages to run, with everything that they need: STAGE, or STAGE:VALUE for the instances in
    /// which a variable has that value [default: all]
    #[arg(value_name = "TARGET", add = ArgValueCompleter::new(completions::stages))]
    pub targets: Vec<String>,

    /// Give a variable of the pipeline another value; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = common::assignment)]
    pub sets: Vec<(String, String)>,
}

impl PlanArgs {
    pub fn workspace(&self) -> Workspace {
        Workspace::new(&self.pipeline, &self.sets, &self.targets)
    }

    pub fn plan(&self) -> Result<Arc<Plan>> {
        self.workspace().plan()
    }
}

pub fn main(mut args: Args) -> ExitCode {
    match run(&mut args) {
        Ok(status) => ExitCode::from(status),
        Err(diag) => common::fail(&diag),
    }
}

pub fn run(args: &mut Args) -> Result<u8> {
    if args.quiet {
        output::hush();
    }
    if args.foreign {
        args.cache.is_elsewhere()?;
        local::bound(args.foreign_env.iter().cloned())
            .map_err(|e| Diag::new(format!("cannot open the working folder: {e}")))?;
    }
    args.plan.pipeline = pipelines::located(&args.plan.pipeline, &args.cache)?;
    let args = &*args;
    let mut workspace = args.plan.workspace();
    // Errors in the pipeline are reported before anything is opened.
    workspace.plan()?;
    let store = Arc::new(args.cache.open()?);
    let mut options = Options {
        part: args.shard,
        fail_fast: args.fail_fast,
        ask_again: args.ask_again,
        ..Options::default()
    };
    args.execution.set_jobs(args.jobs, &mut options)?;
    options.context.stop = common::stop();
    if args.dry_run && (args.remote.is_given() || args.execution.is_given()) {
        eprintln!(
            "note: a dry run does not ask the remote cache, and takes what that has as missing"
        );
    }
    let Some(remote) = args.remote.open_for(&args.execution, args.dry_run)? else { return Ok(3) };
    options.remote = remote.cache();
    options.elsewhere = remote.elsewhere();
    if args.watch {
        let status = super::watch::run(args, workspace, &store, options, &remote);
        remote.end(&common::stop(), args.quiet);
        return status;
    }
    let stop = options.context.stop.clone();
    let mut prepared = away::prepare(&remote, &mut workspace, &*store, true)?;
    if args.dry_run {
        return super::dry::run(&prepared, &store, options, args.verbose);
    }
    let listener = listener(args)?;
    let prepare = |workspace: &mut Workspace| away::prepare(&remote, workspace, &*store, false);
    let running = Running {
        store: &store,
        options,
        listener: &*listener,
        baseline: args.baseline.as_ref(),
        ask: &args.ask,
        prepare: &prepare,
    };
    let mut report = running.run(&mut workspace, &mut prepared, Eyes::default())?;
    Remembered::here(&args.plan.pipeline, &args.plan.sets, &args.plan.targets)?.keep(&store);
    let used = findings::used(&prepared.plan);
    findings::place(&mut report, &used, args.ask.findings.as_deref())?;
    say(args, &report)?;
    let history = args.history.clone().or_else(|| common::variable("LITMAKE_HISTORY"));
    let added = history.as_ref().map(|folder| history::add(folder, &report, &args.about));
    end(&store);
    remote.end(&stop, args.quiet);
    if let Some(said) = added.transpose()?
        && !args.quiet
    {
        eprintln!("{said}");
    }
    Ok(common::status_of(heard(args, &*listener).unwrap_or(report.exit_status())))
}

/// The exit status of a run whose events could not all be written, after an error message. None if
/// they were written.
pub fn heard(args: &Args, listener: &dyn Listener) -> Option<u8> {
    let (error, path) = (listener.trouble()?, args.events.as_ref()?);
    eprintln!("error: cannot write events to {}: {error}", path.display());
    Some(3)
}

pub fn listener(args: &Args) -> Result<Box<dyn Listener>> {
    let mut all = vec![progress::listener(args.quiet)];
    if let Some(path) = &args.events {
        #[expect(clippy::disallowed_methods, reason = "events are read while they are written")]
        let file = local::keeps(path)
            .and_then(|()| std::fs::File::create(path))
            .map_err(|e| Diag::new(format!("cannot write {}: {e}", path.display())))?;
        all.push(Box::new(Lines::new(std::io::BufWriter::new(file))));
    }
    Ok(Box::new(All(all)))
}

/// Closes the cache at the end of a run, and says what is wrong with it: reports read records after
/// the last event of the run. After a stop, says how to continue.
pub fn end(store: &Store) {
    for notice in store.take_notices() {
        eprintln!("litmake: {notice}");
    }
    match common::stopped_status() {
        None => common::reduce(store),
        Some(_) => {
            store.close();
            eprintln!(
                "\nlitmake: stopped; what was done is kept, and the same command goes on from here"
            );
        }
    }
}

/// Adds to the bugs of a report, before the baseline says which of them are known.
pub type Look<'a> = &'a mut dyn FnMut(&mut Report, &mut Investigator) -> Result<()>;

/// Functions that look at a run before its report is finished.
#[derive(Default)]
pub struct Eyes<'a> {
    /// Called with the results of the run, before its differences are investigated.
    pub ran: Option<&'a mut dyn FnMut(&Ran)>,
    pub report: Option<Look<'a>>,
}

/// How often in a row a run goes on with compilers that were identified anew, if it gets nowhere.
const ROUNDS: usize = 10;

/// The same where it is the same path that changes.
const OF_ONE: usize = 3;

/// A round that takes longer than this got somewhere.
const SOMEWHERE: Duration = Duration::from_secs(60);

/// The store, the options and the callbacks that a run needs besides its plan.
pub struct Running<'a> {
    pub store: &'a Arc<Store>,
    pub options: Options,
    pub listener: &'a dyn Listener,
    pub baseline: Option<&'a PathBuf>,
    pub ask: &'a findings::Ask,
    /// Plans the run again.
    pub prepare: &'a dyn Fn(&mut Workspace) -> Result<Prepared>,
}

impl Running<'_> {
    /// Runs a graph, and returns its report. If a compiler changes in the meantime, the run is
    /// planned again, and goes on from what is done; if one changes each time, what it makes are errors.
    pub fn run(
        &self,
        workspace: &mut Workspace,
        prepared: &mut Prepared,
        mut eyes: Eyes,
    ) -> Result<Report> {
        let mut rounds = 0;
        let mut changes: BTreeMap<PathBuf, usize> = BTreeMap::new();
        loop {
            let is_one = changes.values().any(|times| *times == OF_ONE);
            workspace.compilers().set_last_round(rounds == ROUNDS || is_one);
            let start = Instant::now();
            let round = Eyes {
                ran: match &mut eyes.ran {
                    Some(look) => Some(&mut **look),
                    None => None,
                },
                report: match &mut eyes.report {
                    Some(look) => Some(&mut **look),
                    None => None,
                },
            };
            let report = self.once(workspace, prepared, round)?;
            common::warn(workspace);
            if let Some(report) = report {
                return Ok(report);
            }
            match workspace.compilers().moved() {
                Some(Moved::Changed(path)) => {
                    note!(
                        "{} changed while the run was on; compilers are identified again, and what \
                         depends on the change is done again",
                        path.display()
                    );
                    *changes.entry(path).or_default() += 1;
                }
                Some(Moved::LooksElsewhere(at)) => note!(
                    "for some tests a compiler looks further than for others, first at {at}; its \
                     results depend on that from now on, and are made again"
                ),
                None => {}
            }
            rounds += 1;
            if start.elapsed() > SOMEWHERE {
                rounds = 0;
                changes.clear();
            }
            *prepared = (self.prepare)(workspace)?;
            common::warn(workspace);
        }
    }

    /// The baseline that the user names, or else the pipeline.
    fn known(&self, plan: &Plan) -> Result<Option<Baseline>> {
        if let (None, Some(path)) = (self.baseline, &plan.pipeline.baseline) {
            let refused = |e| Diag::new(format!("cannot read {}: {e}", path.display()));
            local::within(path).map_err(refused)?;
        }
        self.baseline
            .or(plan.pipeline.baseline.as_ref())
            .map(|path| Baseline::read(path))
            .transpose()
    }

    /// Runs a graph once. There is no report if a compiler changed in the meantime.
    fn once(
        &self,
        workspace: &Workspace,
        Prepared { plan, built }: &Prepared,
        eyes: Eyes,
    ) -> Result<Option<Report>> {
        let Running { store, listener, baseline, ask, .. } = *self;
        let mut options = self.options.clone();
        // Where compilers look further than before, it is kept for the next round.
        options.context.records = Some(store.clone());
        if let Some(path) = baseline.filter(|path| !path.exists()) {
            return Err(no_baseline(path));
        }
        let part = options.part;
        let engine = Engine::new(&built.graph, store, options, listener)?;
        let finished = engine.run();
        if workspace.compilers().moved().is_some() && finished {
            return Ok(None);
        }
        let ran = Ran::new(plan, built, &engine);
        if let Some(look) = eyes.ran {
            look(&ran);
        }
        let mut found = collect::collect(&ran, ask.occurrences());
        collect::files(&ran).iter().try_for_each(|(path, text)| put(path, text))?;
        let stopped = !finished && common::stopped_status().is_some();
        if !stopped {
            super::last_runs::keep(plan, built, &engine, store);
        }
        let context = &engine.options.context;
        let gathered = engine.options.remote.as_deref().map(|remote| {
            let mut about = Keyer::new("investigation/1");
            for node in 0..built.graph.nodes.len() {
                about.add("node", &engine.whole_digest(node).unwrap_or_default().0);
            }
            Gathered::begin(store, remote, &about)
        });
        let records: &dyn Records = match &gathered {
            Some(gathered) => gathered,
            None => &**store,
        };
        let mut investigator = Investigator::new(workspace, plan, records, context, listener)?;
        let until = ask.limit().map(|time| Instant::now() + time);
        investigator.bugs(&mut found, &ran, ask.budget());
        if let Some(path) = &ask.details {
            details::write(path, &ran, &found)?;
        }
        let (mut report, origins) = found.finish();
        let (verdict, undefined) = collect::verdict(&ran, stopped);
        report.verdict = verdict;
        report.compilers = versions::compilers(plan, workspace.compilers(), &**store);
        report.coverage = collect::coverage(&ran);
        investigator.devices(&mut report);
        if let Some(look) = eyes.report {
            look(&mut report, &mut investigator)?;
        }
        if let Some(known) = self.known(plan)? {
            // The run did not judge a test that failed. A stopped run may not have judged any given
            // test.
            let failed: BTreeSet<String> = report.errors.iter().map(|e| e.test.clone()).collect();
            known.apply(&mut report, |test, profiles| {
                let in_part = part.is_none_or(|p| litmake::engine::run::in_part(test, p));
                match stopped || failed.contains(test) || !in_part {
                    true => Seen::Nothing,
                    false => seen(&ran, test, profiles),
                }
            });
            let compared = |stage: &str, test: &str| {
                let i = plan.nodes.iter().position(|node| node.label == stage);
                !stopped && i.is_some_and(|i| ran.saw(i, test) == Seen::Clean)
            };
            litmake::report::changes::mark(&known.changes, &mut report, compared);
            litmake::report::merge::sort(&mut report);
        }
        if finished {
            investigator.judge(&mut report);
        }
        if finished && (report.count(Status::New) > 0 || !report.errors.is_empty()) {
            let content =
                |node: usize, item: &str| collect::content(&engine, built.node_of[node], item);
            investigator.report(&mut report, &origins, &content, until);
        }
        investigator.undefined(&mut report, &ran, &undefined);
        drop(investigator);
        if let Some(gathered) = gathered {
            gathered.end();
        }
        if let Some(part) = plan.pipeline.audit.filter(|_| finished) {
            let sample = Sample { part, seed: audit::any_seed() };
            let audited = engine.audit(sample, &mut HashSet::new());
            report.verdict.audit = Some(audit::told(&audited));
            report.errors.extend(audit::errors(&audited));
        }
        if workspace.compilers().moved().is_some() && finished {
            return Ok(None);
        }
        litmake::report::baseline::calibrate(&mut report);
        report.entitle();
        report.stopped = common::stopped_status().is_some();
        report.settle();
        Ok(Some(report))
    }
}

/// Writes a file that a stage asks for.
fn put(path: &Path, text: &str) -> Result<()> {
    local::within(path).map_err(|e| Diag::new(format!("cannot write {}: {e}", path.display())))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
    }
    write(path, text)
}

/// The error that a baseline given on the command line does not exist.
fn no_baseline(path: &Path) -> Box<Diag> {
    Diag::new(format!("there is no baseline {}", path.display()))
        .help("`litmake report baseline REPORT --baseline FILE` writes one from a report")
}

/// The result of a run for a test with some profiles, in any of its stages.
fn seen(run: &Ran, test: &str, profiles: &[String]) -> Seen {
    let of = |i: &usize| {
        let node = &run.plan.nodes[*i];
        node.kind.options().judges()
            && match node.mixed.is_empty() {
                true => node.profile.iter().map(|p| &p.name).eq(profiles.iter()),
                false => profiles.iter().all(|p| node.mixed.iter().any(|m| m.name == *p)),
            }
    };
    let all: Vec<Seen> = (0..run.plan.nodes.len()).filter(of).map(|i| run.saw(i, test)).collect();
    let first = [Seen::Differs, Seen::Clean].into_iter().find(|s| all.contains(s));
    first.unwrap_or(Seen::Nothing)
}

pub fn on_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true")
}

pub fn job_summary(report: &Report) {
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let file = std::fs::File::options().append(true).create(true).open(path);
        let written = file.and_then(|mut f| f.write_all(github::summary(report).as_bytes()));
        if let Err(e) = written {
            eprintln!("warning: the summary of the job cannot be written: {e}");
        }
    }
}

/// Prints the summary at the end. Names and messages are made harmless before the text is coloured.
pub fn say_summary(report: &Report, style: Style) {
    let text = summary(&report.harmless(), style);
    if on_github() { output::raw(&plain::no_commands(&text)) } else { output::raw(&text) }
}

pub fn say(args: &Args, report: &Report) -> Result<()> {
    let style = Style { color: common::stdout_color(), verbose: args.verbose, quiet: args.quiet };
    say_summary(report, style);
    if on_github() {
        output::raw(&github::annotations(report));
        job_summary(report);
    }
    args.formats.write(report)
}

/// The files that a report is written to.
#[derive(clap::Args)]
pub struct Formats {
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Leave times and cache counts out of the report, so that equal results give equal bytes
    #[arg(long)]
    stable: bool,

    /// Write the report as one self-contained page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the findings as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write the findings as SARIF, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

impl Formats {
    pub fn write(&self, report: &Report) -> Result<()> {
        if let Some(path) = &self.report {
            let report = if self.stable { report.clone().stable() } else { report.clone() };
            write(path, report.json())?;
        }
        if let Some(path) = &self.junit {
            write(path, junit::junit(report))?;
        }
        if let Some(path) = &self.html {
            write(path, html::html(report))?;
        }
        if let Some(path) = &self.sarif {
            write(path, sarif::sarif(report))?;
        }
        Ok(())
    }
}
