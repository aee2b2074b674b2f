//! `litmake cpu`: runs tests on the processors of this machine, prints logs in the format of
//! litmus7, and compares the outcomes with the model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::base::failure::{Failure, Lasting};
use litmake::base::records::Nowhere;
use litmake::cpu::environment::Environment;
use litmake::cpu::judge::{Conclusion, Models, Tally, named, text};
use litmake::cpu::killable::Judge;
use litmake::cpu::session::{Prepared, Ready, Session, Setup, best, unseen, whole};
use litmake::cpu::topology::{self, Smt};
use litmake::cpu::tuning::{OnMachine, key};
use litmake::cpu::{alone, log, suite};
use litmake::devices::Class;
use litmake::devices::record::results;
use litmake::devices::tuning::entry;
use litmake::diag::{Diag, Result, Source};
use litmake::file;
use litmake::litmus::{self, Quantifier, list, pack};
use litmake::mutate::small::Size;
use litmake::mutate::suite::Suite;
use litmake::profile::files::Disk;
use litmake::stats::merge::{Budget, Target, reproducibility};
use litmake::stats::search::{Goal, adaptive, in_order};
use litmake::stop::{Stop, Stopping};

use super::common;

const EXAMPLES: &str = "\
Examples:
  litmake cpu SB.litmus                        a second on this machine, and its log
  litmake cpu --table @tests/@all              what the model says, and what was seen
  litmake cpu --table --suite x86 --total 600 @tests/@all
                                               ten minutes of a suite and of tests
  litmake cpu --profile clang-14-x86_64-O2 bug.litmus
                                               a C test through a compiler
  litmake cpu --code elsewhere/ SB.litmus        C that runs on a machine without litmake
  litmake cpu --on 0,2 SB.litmus               on two processors
  litmake cpu --smt pairs SB.litmus            threads side by side on the hyper-threads of one core
  litmake cpu --environments 1 --set stride=4 --seconds 10 SB.litmus";

/// Run litmus tests on this machine's processors, and compare the results with the model.
///
/// Tests are in this machine's dialect, or in C through a profile. The command prints one block a
/// test, in the format of litmus7's logs.
///
/// Exit status: 0, done; 1, some test showed an outcome that the model forbids, crashed or hung,
/// or, with --tune, no longer reaches a goal that it reached in an earlier entry of the database;
/// 2, wrong input; 3, a compiler is missing or failed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list)
    #[arg(required_unless_present = "suite", value_name = "FILE|FOLDER|@LIST")]
    inputs: Vec<String>,

    /// Run the tests of a suite: x86-mutants, x86-conformance or x86 for both; mutants,
    /// conformance, scope or all of MC Mutants, as C tests. May be given several times
    #[arg(long, value_name = "SUITE")]
    suite: Vec<String>,

    #[command(flatten)]
    how: How,

    /// The model whose outcomes are allowed [default: by dialect; rc11 for C]
    #[arg(short, long, value_name = "FILE|NAME")]
    model: Option<String>,

    /// Print a table of the outcomes that the model allows and of those that were seen, in place of
    /// logs
    #[arg(long)]
    table: bool,

    /// Print one JSON object a test, one a line, with rates by environment
    #[arg(long, conflicts_with = "table")]
    json: bool,

    /// Write rates by test and environment, in the form of the MC Mutants artifact
    #[arg(short, long = "output", alias = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Search, for each test, an environment that shows its condition so often that --budget
    /// seconds in it show it again with --rep percent
    #[arg(long, conflicts_with_all = ["table", "json", "code", "out"])]
    tune: bool,

    #[command(flatten)]
    goal: GoalArgs,

    /// Write C code that runs the tests on another machine into this folder, and run nothing: `sh
    /// run.sh` there compiles it and prints the log. `-` prints the tests' code alone
    #[arg(long, value_name = "DIR", conflicts_with_all = ["table", "json"])]
    code: Option<PathBuf>,
}

#[derive(clap::Args)]
struct GoalArgs {
    /// With --tune: the reproducibility score to reach, in percent
    #[arg(long, value_name = "R", default_value = "99.999", value_parser = Target::read, requires = "tune")]
    rep: Target,

    /// With --tune: the seconds within which a test has to reach that score
    #[arg(long, value_name = "S", default_value = "1", value_parser = Budget::read, requires = "tune")]
    budget: Budget,

    /// With --tune: end after S seconds of running
    #[arg(long, value_name = "S", default_value_t = 600.0, requires = "tune")]
    limit: f64,

    /// With --tune: try the environments in a random order, each for the whole budget or until it
    /// reaches the goal, instead of giving more time to the better ones
    #[arg(long, requires = "tune")]
    random: bool,

    /// With --tune: keep the results in this database
    #[arg(long, value_name = "FILE", requires = "tune")]
    db: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct How {
    /// The profile that tests are built with [default: the machine's own compiler, which `CC`
    /// names, or else `cc`, with -O2 and `CFLAGS`]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub profile: Option<String>,

    /// Seconds a test, over all environments
    #[arg(short, long, value_name = "S", default_value_t = 1.0)]
    pub seconds: f64,

    /// Seconds for all tests together, in place of --seconds
    #[arg(long, value_name = "S", conflicts_with = "seconds")]
    pub total: Option<f64>,

    /// Percent of a test's time for the environment that shows its condition most often
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=99))]
    pub focus: u32,

    /// How many environments a test runs in
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub environments: u32,

    /// Leave out the environments that are known to be good, and only draw environments at random
    #[arg(long)]
    pub drawn: bool,

    /// The largest number of rounds in each environment; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub rounds: u64,

    /// The seed of all random choices
    #[arg(long, default_value = "cpu", value_name = "TEXT")]
    pub seed: String,

    /// The processors that tests run on, such as 0,2-3, in the order in which threads take them
    /// [default: all]
    #[arg(long, value_name = "LIST", value_parser = listed)]
    pub on: Option<Processors>,

    /// Choose processors by cores, among those in --on if it is given: `pairs` puts threads side by
    /// side on the hyper-threads of one core, `cores` takes one processor of each core
    #[arg(long, value_enum, value_name = "HOW")]
    pub smt: Option<SmtArg>,

    /// Give a parameter of the environments another value; may be given several times
    #[arg(long = "set", value_name = "NAME=N", value_parser = common::parameter::<u32>)]
    pub sets: Vec<(String, u32)>,
}

/// A list of processors.
#[derive(Clone, Debug)]
pub struct Processors(Vec<u32>);

fn listed(text: &str) -> std::result::Result<Processors, String> {
    topology::list(text).map(Processors)
}

/// Which hyper-threads of a core are used.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SmtArg {
    /// All of each core that has several
    Pairs,
    /// One of each core
    Cores,
}

impl How {
    /// The processors that the options ask for. None stands for all of them.
    fn processors(&self) -> Result<Option<Vec<u32>>> {
        if self.on.is_none() && self.smt.is_none() {
            return Ok(None);
        }
        let smt = self.smt.map(|smt| match smt {
            SmtArg::Pairs => Smt::Pairs,
            SmtArg::Cores => Smt::Cores,
        });
        let wanted = self.on.as_ref().map(|on| &on.0[..]);
        let sysfs = Path::new(topology::SYSFS);
        let chosen = topology::choose(wanted, smt, &topology::allowed(), sysfs);
        chosen.map(Some).map_err(|e| {
            Diag::new(e)
                .help("`lscpu -e` shows processors and their cores; --on names some of them")
        })
    }

    /// The setup and the environments, with the time divided among so many tests.
    pub fn setup(&self, tests: usize) -> Result<(Setup, Vec<Environment>)> {
        let seconds = self.total.map_or(self.seconds, |total| total / tests.max(1) as f64);
        let mut setup = Setup {
            environments: self.environments,
            rounds: self.rounds,
            seconds: seconds / f64::from(self.environments),
            focus: f64::from(self.focus) / 100.0,
            drawn: self.drawn,
            seed: self.seed.clone(),
            overrides: Vec::new(),
        };
        setup.overrides.clone_from(&self.sets);
        let environments = setup.draw().map_err(Diag::new)?;
        Ok((setup, environments))
    }

    /// The machine and its compiler. The inner error is about what is installed, the outer one
    /// about the input.
    pub fn session(&self) -> Result<std::result::Result<Session, String>> {
        let profile = match &self.profile {
            Some(name) => Some(common::find_profile(&Disk, name)?),
            None => None,
        };
        let on = self.processors()?;
        Ok(Session::new(profile, &Nowhere).map(|mut session| {
            if let Some(on) = on {
                session.machine = session.machine.only(on);
            }
            session
        }))
    }
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

/// Writes the tests as C code: into a folder for another machine, or to the terminal.
fn write_code(args: &Args, tests: &[Prepared], dir: &Path) -> Result<()> {
    if dir == Path::new("-") {
        for test in tests {
            let code = test.code(0)?;
            println!("{}{}", code.bodies, code.driver);
        }
        return Ok(());
    }
    let is_other = std::fs::read_dir(dir).is_ok_and(|mut all| all.next().is_some())
        && !dir.join(alone::START).is_file();
    if is_other {
        return Err(Diag::new(format!("{} has other files", dir.display()))
            .help("name a folder that is not there yet"));
    }
    if args.how.on.is_some() || args.how.smt.is_some() {
        return Err(Diag::new("the processors of another machine are named there")
            .help("leave out --on and --smt, and run the folder with `ON=0,2 sh run.sh`"));
    }
    let (setup, environments) = args.how.setup(tests.len())?;
    let seconds = setup.seconds * f64::from(setup.environments);
    let files = alone::files(tests, &environments, seconds)?;
    std::fs::create_dir_all(dir)
        .map_err(|e| Diag::new(format!("cannot make {}: {e}", dir.display())))?;
    for (name, text) in files {
        file::write(&dir.join(name), text.as_bytes())?;
    }
    eprintln!(
        "{} test{} in {}: `sh {}` compiles and runs them there, and `litmake logs` reads what it prints",
        tests.len(),
        if tests.len() == 1 { "" } else { "s" },
        dir.display(),
        alone::START
    );
    Ok(())
}

fn read(path: &Path) -> Result<litmus::Test> {
    let text = pack::read_to_string(path)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    litmus::read(&Source::new(path.display().to_string(), text))
}

fn run(args: &Args) -> Result<u8> {
    let mut status = 0;
    let stop = common::stop();
    let mut models = Models::new(args.model.as_deref());
    let mut tests = Vec::new();
    for test in inputs(args)? {
        if stop.asked() {
            return Ok(common::status_of(3));
        }
        match test.and_then(|test| Prepared::new(&test, &mut models)) {
            Ok(test) => tests.push(test),
            Err(e) => {
                eprintln!("{e}");
                status = 2;
            }
        }
    }
    if let Some(dir) = &args.code {
        write_code(args, &tests, dir)?;
        return Ok(status);
    }
    let session = match args.how.session()? {
        Ok(session) => session,
        Err(e) => {
            eprintln!("error: {e}");
            return Ok(3);
        }
    };
    let tests = counted(&session, tests, &stop)?;
    let (setup, environments) = args.how.setup(tests.len())?;
    if args.tune {
        return Ok(status.max(tune(args, &session, tests, &setup, &environments, &stop)?));
    }
    let mut records = Vec::new();
    let mut table = Table::default();
    'all: for part in tests.chunks(24) {
        for (test, built) in part.iter().zip(session.build(part, &stop)) {
            if stop.asked() {
                eprintln!("stopped; what ran is in the results");
                break 'all;
            }
            let shown = match built {
                Ok(ready) => {
                    let mut show = |tallies: &[Tally], all: &Tally| {
                        records.push(session.record(test, tallies, &setup));
                        if args.table {
                            table.row(test, all);
                        } else if args.json {
                            let line = json(&session, test, tallies, all, &environments);
                            println!("{line}");
                        } else if args.out.is_none() {
                            print!("{}", log::block(test, all));
                        } else {
                            eprintln!("{}", session.record(test, tallies, &setup).line());
                        }
                    };
                    one(&session, test, &ready, &setup, &environments, &mut show, &stop)
                }
                Err(failure) => Err(failure),
            };
            match shown {
                Ok(found) => status = status.max(u8::from(found)),
                // The test that the stop interrupted.
                Err(_) if stop.asked() => {}
                Err(failure) => {
                    eprintln!("{}", failure.diagnostic(&test.test.name));
                    status = status.max(match failure.kind.lasting() {
                        Lasting::ForGood => 2,
                        Lasting::ForNow | Lasting::Never => 3,
                    });
                }
            }
        }
    }
    if let Some(path) = &args.out {
        let params = environments.iter().map(Environment::params);
        let all = results(&records, params, &session.machine.json(), &setup.seed, setup.json());
        litmake::file::write(path, all.write())?;
    }
    if args.table {
        print!("{}", table.text());
    } else if !args.json && args.out.is_none() {
        print!("{}", log::trailer(&session.machine, &session.profile, &setup, &environments));
    }
    Ok(common::status_of(status))
}

/// The tests that the command line names, those of suites first. A test that cannot be read is an
/// error among them.
fn inputs(args: &Args) -> Result<Vec<Result<litmus::Test>>> {
    let mut out = Vec::new();
    for name in &args.suite {
        out.extend(in_suite(name)?.into_iter().map(Ok));
    }
    let paths = list::tests(&args.inputs)?;
    out.extend(paths.iter().map(|path| read(path)));
    Ok(out)
}

fn in_suite(name: &str) -> Result<Vec<litmus::Test>> {
    if let Some(tests) = suite::suite(name)? {
        return Ok(tests);
    }
    match Suite::named(name) {
        Some(suite) => suite.tests(Size::default()),
        None => {
            let mut names: Vec<&str> = Suite::ALL.iter().map(|s| s.name()).collect();
            names.extend(suite::SUITES);
            Err(Diag::new(format!("there is no suite `{name}`"))
                .help(format!("the suites are {}", names.join(", "))))
        }
    }
}

/// The tests without the mutants that cannot be killed; prints which those are.
fn counted(session: &Session, tests: Vec<Prepared>, stop: &Stop) -> Result<Vec<Prepared>> {
    let mutants = tests.iter().filter(|t| t.is_mutant()).count();
    if mutants == 0 {
        return Ok(tests);
    }
    let mut judge = Judge::new(&session.profile)?;
    let fates = judge.prune(session, &tests, stop);
    let mut out = Vec::new();
    for (test, fate) in tests.into_iter().zip(fates) {
        match judge.why(&fate, session, &test) {
            None => out.push(test),
            Some(why) => eprintln!("left out: {}: {why}", test.key),
        }
    }
    let left = out.iter().filter(|t| t.is_mutant()).count();
    eprintln!("{left} of {mutants} mutants can die");
    Ok(out)
}

/// Runs a test and prints its result; says whether it is a finding.
fn one(
    session: &Session,
    test: &Prepared,
    ready: &Ready,
    setup: &Setup,
    environments: &[Environment],
    show: &mut dyn FnMut(&[Tally], &Tally),
    stop: &Stop,
) -> std::result::Result<bool, Failure> {
    let name = &test.test.name;
    let tallies = match session.tallies(test, ready, environments, setup, stop) {
        Ok(tallies) => tallies,
        Err(failure) if failure.kind.is_crash() => {
            println!("crash: {name}: {}", failure.text());
            return Ok(true);
        }
        Err(failure) => return Err(failure),
    };
    let all = whole(&tallies);
    let emulated = session.machine.emulator.is_some();
    let violated = all.forbidden() > 0 && test.expected.is_binding();
    show(&tallies, &all);
    if violated {
        let word = if emulated { "emulated violation" } else { "violation" };
        let shown = tallies.iter().enumerate().filter(|(_, t)| t.forbidden() > 0);
        let places: Vec<String> = shown.map(|(i, _)| i.to_string()).collect();
        for (state, seen) in all.states.iter().filter(|(_, s)| s.class == Class::Forbidden) {
            eprintln!(
                "{word}: {name}: {} ({} times; {} forbids it; environment {})",
                text(state),
                seen.count,
                test.expected.model,
                places.join(", ")
            );
        }
    }
    Ok(violated && !emulated)
}

/// Searches an environment for each test.
fn tune(
    args: &Args,
    session: &Session,
    tests: Vec<Prepared>,
    setup: &Setup,
    environments: &[Environment],
    stop: &Stop,
) -> Result<u8> {
    let goal = Goal {
        target: args.goal.rep.clone(),
        budget: args.goal.budget.seconds,
        limit: args.goal.limit,
    };
    let mut db = super::mutants::tune::database(args.goal.db.as_ref())?;
    let mut status = 0;
    let mut ready = Vec::new();
    let built = session.build(&tests, stop);
    for (test, built) in tests.into_iter().zip(built) {
        match built {
            Ok(program) => ready.push((test, program)),
            Err(failure) if failure.is_stopped() => status = 3,
            Err(failure) => {
                eprintln!("{}", failure.diagnostic(&test.test.name));
                status = 3;
            }
        }
    }
    let mut bench = OnMachine::new(session, &ready, environments, setup, stop);
    let found = match args.goal.random {
        true => in_order(&mut bench, &goal, &setup.order(), true),
        false => adaptive(&mut bench, &goal),
    };
    for (test, failure) in &bench.failures {
        eprintln!("error: {test}: {}", failure.text());
        status = 3;
    }
    let keys: Vec<String> = ready.iter().map(|(t, _)| t.key.clone()).collect();
    let params: Vec<_> = environments.iter().map(Environment::params).collect();
    let tuned = entry(key(session), goal.target.share * 100.0, goal.budget, &keys, &params, &found);
    for (i, key) in keys.iter().enumerate() {
        let Some(best) = tuned.tests.get(key) else { continue };
        let again = reproducibility(best.rate(), goal.budget) * 100.0;
        let number = found.reached[i].map(|r| r.env).or(found.best[i].map(|(env, _)| env));
        let env = number.map_or("-".to_string(), |n| n.to_string());
        let word = if best.reached { "" } else { "  not reached" };
        println!(
            "  {key:32} env {env:>4} {:>14.1} /s  {again:>9.5} % in {} s{word}",
            best.rate(),
            args.goal.budget.text
        );
    }
    println!(
        "{} of {} reach {} % in {} s; {:.2} s of running, {} runs, the last reached after {:.2} s",
        found.count(),
        keys.len(),
        args.goal.rep.text,
        args.goal.budget.text,
        found.spent,
        found.pulls,
        found.last()
    );
    if stop.asked() {
        // A stopped search has partial results, which must not overwrite those of a complete one.
        eprintln!("stopped; the tuning database is as it was");
        return Ok(common::status_of(3));
    }
    for c in db.changes(&tuned) {
        let word = if c.lost { "lost" } else { "won" };
        println!(
            "{word} against {}: {} ({:.1} /s, was {:.1} /s)",
            c.driver, c.test, c.after, c.before
        );
        status = status.max(u8::from(c.lost));
    }
    if let Some(path) = &args.goal.db {
        db.put(tuned);
        litmake::file::write(path, db.write())?;
    }
    Ok(status)
}

fn json(
    session: &Session,
    test: &Prepared,
    tallies: &[Tally],
    all: &Tally,
    environments: &[Environment],
) -> serde_json::Value {
    let rate = |n: u64, t: &Tally| if t.seconds > 0.0 { n as f64 / t.seconds } else { 0.0 };
    let states: Vec<_> = all
        .states
        .iter()
        .map(|(state, seen)| {
            serde_json::json!({
                "state": named(state),
                "count": seen.count,
                "rate": rate(seen.count, all),
                "witness": seen.holds,
                "class": seen.class.name(),
            })
        })
        .collect();
    let by_environment: Vec<_> = tallies
        .iter()
        .zip(environments)
        .map(|(t, env)| {
            serde_json::json!({
                "params": env.params(),
                "instances": t.total(),
                "seconds": t.seconds,
                "rate": rate(t.total(), t),
                "witnesses": t.positive(),
                "witness_rate": rate(t.positive(), t),
                "weak": t.weak(),
                "forbidden": t.forbidden(),
            })
        })
        .collect();
    serde_json::json!({
        "test": test.test.name,
        "machine": session.machine.json(),
        "compiler": session.profile.compiler,
        "args": session.profile.args,
        "model": test.expected.model,
        "instances": all.total(),
        "seconds": all.seconds,
        "rate": rate(all.total(), all),
        "witnesses": all.positive(),
        "witness_rate": rate(all.positive(), all),
        "weak_rate": rate(all.weak(), all),
        "states": states,
        "unseen": unseen(test, all),
        "lost": all.lost,
        "undefined": test.expected.undefined,
        "best": best(tallies).map(|(i, _)| i),
        "environments": by_environment,
    })
}

/// For each test, the outcomes that the model allows, and those that were seen.
#[derive(Default)]
struct Table {
    rows: Vec<[String; 6]>,
    counts: std::collections::BTreeMap<Conclusion, usize>,
}

impl Table {
    fn row(&mut self, test: &Prepared, tally: &Tally) {
        let expected = &test.expected;
        // The table asks whether the condition's proposition can hold, whatever its quantifier.
        let prop = |state: &_| match tally.states.get(state) {
            Some(seen) => seen.holds,
            None => test.holds(state),
        };
        let allowed = expected.allowed.iter().any(prop);
        let seen = tally.positive() > 0;
        let mut conclusion = Conclusion::new(allowed, seen);
        if tally.forbidden() > 0 {
            conclusion = Conclusion::Unsound;
        }
        if !expected.is_binding() {
            conclusion = Conclusion::Open;
        }
        *self.counts.entry(conclusion).or_default() += 1;
        let known = tally.states.keys().filter(|s| expected.allowed.contains(*s)).count();
        let quantified = match test.test.condition.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        };
        self.rows.push([
            test.test.name.clone(),
            format!("{quantified} {}", if allowed { "allowed" } else { "forbidden" }),
            format!("{} of {}", tally.positive(), tally.total()),
            format!("{known} of {}", expected.allowed.len()),
            format!("{}", tally.forbidden()),
            conclusion.words().to_string(),
        ]);
    }

    fn text(&self) -> String {
        let head = ["test", "model", "seen", "allowed states seen", "forbidden seen", "conclusion"];
        let mut rows = vec![head.map(String::from)];
        rows.extend(self.rows.iter().cloned());
        let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let mut out = String::new();
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(c, w)| format!("{c:w$}")).collect();
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
        }
        let parts: Vec<String> = self
            .counts
            .iter()
            .map(|(c, n)| {
                let which = match c {
                    Conclusion::Agrees => "allowed and seen",
                    Conclusion::Unseen => "allowed and not seen",
                    Conclusion::Unsound => "forbidden and seen",
                    Conclusion::Excluded => "forbidden and not seen",
                    Conclusion::Open => "undefined",
                };
                format!("{n} {which}")
            })
            .collect();
        out + &format!("{} tests: {}\n", self.rows.len(), parts.join(", "))
    }
}
