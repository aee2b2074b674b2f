//! `litmake mutants run`, `list` and `devices`: runs tests on a device, prints the tests, and lists
//! the devices.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use litmake::base::failure::{Failure, FailureKind};
use litmake::devices::record::{Record, results};
use litmake::diag::{Diag, Result, Source};
use litmake::gpu::code::{self, Driver};
use litmake::gpu::device;
use litmake::gpu::environment::{Environment, Preset, Scheme};
use litmake::gpu::oracle::Models;
use litmake::gpu::session::{Ending, Prepared, Session, Setup};
use litmake::gpu::variant::{Code, MemoryModel, Scope, Variant};
use litmake::gpu::wgsl::{self, Memory, Reach};
use litmake::litmus::{self, Test};
use litmake::mutate::small::{MAX, Size};
use litmake::mutate::suite::Suite;
use litmake::stats::score;
use litmake::stop::Stopping;

/// Run tests on a GPU, and count every outcome.
///
/// Exit status: 0, no violation; 1, some test showed an outcome that the model forbids; 2, wrong
/// input; 3, there is no device, or it failed (after everything else was done).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants run --output rtx.json                the paper's mutants in its 150 environments
  litmake mutants run --suite conformance --environments 4
  litmake mutants run --preset site --set testingWorkgroups=8 --environments 1
  litmake mutants run my.litmus --variant unchecked --memory workgroup --reach workgroup
  litmake mutants run --suite exhaustive --events 4 --special 0 --environments 2 --seconds 0.1
  litmake mutants run --suite mutants --environments 4 --speed      what limits the tests")]
pub struct Run {
    #[command(flatten)]
    tests: Tests,

    #[command(flatten)]
    how: How,

    /// Write the results in the form of the MC Mutants artifact
    #[arg(short, long = "output", alias = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Also measure the device's best speed (bytes copied, operations, atomic operations), and say
    /// which part of it each test reached and what limits the test
    #[arg(long)]
    speed: bool,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,

    /// Print nothing while tests run
    #[arg(short, long)]
    quiet: bool,
}

#[derive(clap::Args)]
pub struct Tests {
    /// Litmus tests of the C dialect, instead of a suite
    #[arg(value_name = "TEST")]
    files: Vec<PathBuf>,

    /// The suite to run: the paper's (mutants, conformance), mutants whose fences reach less far
    /// (scope), all of these (all), accesses that acquire and release (orders), read-modify-writes
    /// that a device could tear in two (updates), or every small program (exhaustive)
    #[arg(long, default_value = "mutants", value_name = "SUITE", value_parser = suite)]
    suite: Suite,

    /// In the suite exhaustive: the largest number of accesses in a program
    #[arg(long, value_name = "N", default_value_t = Size::default().events, value_parser = up_to(2, MAX.events))]
    events: usize,

    /// In the suite exhaustive: the largest number of read-modify-writes, orders and fences in a
    /// program; such programs have one access less
    #[arg(long, value_name = "N", default_value_t = Size::default().special, value_parser = up_to(0, MAX.special))]
    special: usize,

    /// Run only tests whose name or key contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// The model whose outcomes are allowed [default: wgsl-rel-acq; vulkan where accesses acquire
    /// or release]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

/// How the code of tests is made, and where their threads and locations are.
#[derive(clap::Args)]
pub struct Made {
    /// How the code is made: by naga (checked, bounds, loops or unchecked), or as SPIR-V under the
    /// GLSL450 (spirv, spirv-bounds) or the Vulkan memory model (vulkan, vulkan-bounds)
    /// [default: checked; for `list --spirv`, vulkan]
    #[arg(long, value_name = "VARIANT", value_parser = variant)]
    variant: Option<Variant>,

    /// Where the threads of a test are: in different workgroups, in one workgroup or in one
    /// subgroup
    #[arg(long, default_value = "workgroups", value_name = "REACH", value_parser = ["workgroups", "workgroup", "subgroup"])]
    reach: String,

    /// Where the locations are: storage or workgroup
    #[arg(long, default_value = "storage", value_name = "MEMORY", value_parser = ["storage", "workgroup"])]
    memory: String,

    /// How far accesses and fences reach: device, queue, workgroup or subgroup (SPIR-V only)
    #[arg(long, default_value = "device", value_name = "SCOPE", value_parser = scope)]
    scope: Scope,
}

impl Made {
    /// Puts the options into a setup; the size of subgroups comes from the device.
    fn put(&self, setup: &mut Setup, subgroup: u32) {
        setup.variant = self.variant.unwrap_or(setup.variant);
        setup.reach = match self.reach.as_str() {
            "workgroup" => Reach::Workgroup,
            "subgroup" => Reach::Subgroup(subgroup.max(4)),
            _ => Reach::Workgroups,
        };
        setup.memory = if self.memory == "workgroup" { Memory::Workgroup } else { Memory::Storage };
        setup.scope = self.scope;
    }
}

#[derive(clap::Args)]
pub struct How {
    /// The device, by a part of its name or kind [default: the best one]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// The kind of environments: pte, site, pte_baseline or site_baseline
    #[arg(long, default_value = "pte", value_name = "PRESET", value_parser = preset)]
    preset: Preset,

    /// How many environments to draw [default: the preset's number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    environments: Option<u32>,

    /// Iterations of a test in each environment [default: the preset's number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,

    /// Go to the next environment after S seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Iterations in each submission to the device; 1 as in the paper [default: as many as fit in
    /// 60 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    batch: Option<u32>,

    /// The seed of all random choices
    #[arg(long, default_value = "webgpu", value_name = "TEXT")]
    seed: String,

    #[command(flatten)]
    made: Made,

    /// Use the spin barrier and all of the stress also on a device that a driver emulates on a CPU,
    /// where workgroups wait for each other in vain
    #[arg(long)]
    spin: bool,

    /// Give a parameter of the environments another value; may be given several times
    #[arg(long = "set", value_name = "NAME=N", value_parser = super::common::parameter::<u32>)]
    sets: Vec<(String, u32)>,
}

/// Print the tests of the paper, their allowed outcomes, and their code.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants list --suite conformance --outcomes
  litmake mutants list --only CoRR --wgsl --reach workgroup --memory workgroup
  litmake mutants list --only CoRR --spirv code --variant spirv-bounds --memory workgroup --reach workgroup
  litmake mutants list --suite exhaustive --events 4 --special 0")]
pub struct List {
    #[command(flatten)]
    tests: Tests,

    /// Print the allowed outcomes
    #[arg(long)]
    outcomes: bool,

    /// Print the WGSL
    #[arg(long)]
    wgsl: bool,

    /// Write each test as a litmus file into this folder
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Write the SPIR-V of the pass that runs each test into this folder
    #[arg(long, value_name = "DIR")]
    spirv: Option<PathBuf>,

    #[command(flatten)]
    made: Made,
}

/// The size of a subgroup in printed code, which is made without a device.
const SUBGROUP: u32 = 32;

/// List the devices of this machine.
#[derive(clap::Args)]
pub struct Devices {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn named<T: Copy>(
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> std::result::Result<T, String> {
    let found = all.iter().copied().find(|x| name(*x) == word);
    found.ok_or_else(|| {
        format!("one of {}", all.iter().map(|x| name(*x)).collect::<Vec<_>>().join(", "))
    })
}

/// A parser of numbers within bounds.
fn up_to(
    least: usize,
    most: usize,
) -> impl Fn(&str) -> std::result::Result<usize, String> + Clone + Send + Sync + 'static {
    move |word| {
        let number = word.parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| format!("a number from {least} to {most} is expected"))
    }
}

fn suite(word: &str) -> std::result::Result<Suite, String> {
    named(word, &Suite::ALL, Suite::name)
}

fn preset(word: &str) -> std::result::Result<Preset, String> {
    named(word, &Preset::ALL, Preset::name)
}

fn variant(word: &str) -> std::result::Result<Variant, String> {
    named(word, &Variant::ALL, Variant::name)
}

fn scope(word: &str) -> std::result::Result<Scope, String> {
    named(word, &Scope::ALL, Scope::name)
}

/// The tests of a command that are ready to run, and the errors of the others. A test that cannot
/// run does not stop the rest.
pub struct Ready {
    pub tests: Vec<Prepared>,
    pub errors: Errors,
}

/// Errors of tests, with the name of the test.
#[derive(Default)]
pub struct Errors {
    said: Vec<(String, String)>,
    /// The tests that failed in one way: the first is printed at once, the others are counted.
    alike: BTreeMap<String, usize>,
    /// The exit status for these errors.
    status: u8,
}

impl Errors {
    /// Prints and records the error of a test.
    pub fn add(&mut self, test: &str, why: String, status: u8) {
        eprintln!("{why}");
        self.record(test, why, status);
    }

    /// The same for a failure, which does not name its test. Equal ones are printed once.
    pub fn failed(&mut self, test: &str, failure: &Failure) {
        let why = failure.text();
        let count = self.alike.entry(why.clone()).or_default();
        *count += 1;
        let said = format!("error: {test}: {why}");
        match count {
            1 => self.add(test, said, 3),
            _ => self.record(test, said, 3),
        }
    }

    fn record(&mut self, test: &str, why: String, status: u8) {
        self.said.push((test.to_string(), why));
        self.status = self.status.max(status);
    }

    /// Says how many tests failed like others, and returns the exit status.
    pub fn end(&self) -> u8 {
        for (why, count) in self.alike.iter().filter(|(_, count)| **count > 1) {
            let more = litmake::report::number(*count as u64 - 1, "more test");
            eprintln!("error: {more}, the same: {why}");
        }
        self.status
    }

    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// The errors as result files have them.
    fn json(&self) -> serde_json::Value {
        let said = self.said.iter().map(|(test, why)| (test.clone(), why.clone().into()));
        serde_json::Value::Object(said.collect())
    }
}

impl Tests {
    /// The tests that can be read; the others become errors.
    pub fn read(&self, errors: &mut Errors) -> Result<Vec<Test>> {
        let mut out = Vec::new();
        if self.files.is_empty() {
            out.extend(self.suite.tests(Size { events: self.events, special: self.special })?);
        }
        let read = |path: &PathBuf| {
            let text = litmake::file::read_text(path, litmake::file::MAX_DATA)
                .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
            litmus::read(&Source::new(path.display().to_string(), text))
        };
        for path in &self.files {
            match read(path) {
                Ok(test) => out.push(test),
                Err(e) => errors.add(&path.display().to_string(), e.to_string(), 2),
            }
        }
        if let Some(part) = &self.only {
            let key = |t: &Test| t.info.iter().any(|(k, v)| k == "Key" && v.contains(part));
            out.retain(|t| t.name.contains(part) || key(t));
        }
        if out.is_empty() && errors.len() == 0 {
            return Err(
                Diag::new("no test is left to run").help("`litmake mutants list` shows all")
            );
        }
        Ok(out)
    }

    pub fn models(&self) -> Result<Models> {
        Models::new(self.model.as_deref())
    }

    /// The tests, ready to run in a scheme.
    pub fn ready(&self, scheme: Scheme) -> Result<Ready> {
        let mut models = self.models()?;
        let mut errors = Errors::default();
        let mut tests = Vec::new();
        for test in self.read(&mut errors)? {
            match Prepared::new(&test, scheme, &mut models) {
                Ok(prepared) => tests.push(prepared),
                Err(e) => {
                    let e = e.or_at(&test.source, test.condition.span);
                    errors.add(&test.name, e.to_string(), 3);
                }
            }
        }
        Ok(Ready { tests, errors })
    }
}

impl How {
    pub fn preset(&self) -> Preset {
        self.preset
    }

    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The setup and its environments; the size of subgroups comes from the device.
    pub fn setup(&self, subgroup: u32) -> Result<(Setup, Vec<Environment>)> {
        let mut setup = Setup::new(self.preset);
        setup.environments = self.environments.unwrap_or(setup.environments);
        setup.iterations = self.iterations.unwrap_or(setup.iterations);
        setup.time = match self.seconds {
            None => None,
            Some(s) => Some(
                Duration::try_from_secs_f64(s)
                    .map_err(|_| Diag::new(format!("{s} is no time in seconds")))?,
            ),
        };
        setup.batch = self.batch.unwrap_or(0);
        setup.seed = self.seed.clone();
        self.made.put(&mut setup, subgroup);
        setup.spin_anywhere = self.spin;
        setup.overrides.clone_from(&self.sets);
        let environments = setup.draw().map_err(Diag::new)?;
        Ok((setup, environments))
    }
}

/// Prints a device's error, and returns the exit status.
pub fn no_device(failure: &Failure) -> u8 {
    eprintln!("error: {}", failure.text());
    3
}

pub fn run(args: &Run) -> Result<u8> {
    let Ready { tests: prepared, mut errors } = args.tests.ready(args.how.preset.scheme())?;
    if prepared.is_empty() {
        return Ok(errors.end());
    }
    let mut session = Session::new(args.how.device.as_deref());
    let info = match session.device() {
        Ok(device) => device.info.clone(),
        Err(e) => return Ok(no_device(&e)),
    };
    let (setup, environments) = args.how.setup(info.subgroup)?;
    let say = |text: String| {
        if !args.quiet {
            eprintln!("{text}");
        }
    };
    say(format!("{info}: {} tests in {} environments", prepared.len(), environments.len()));
    let mut records: Vec<Record> = Vec::new();
    let mut status = 0;
    let stop = super::common::stop();
    let stopped = || stop.asked();
    for test in &prepared {
        let (record, ending) =
            session.record(test, &setup, &environments, Vec::new(), &stopped, &mut |_, _| {});
        if !record.cells.is_empty() {
            say(record.line());
            if !record.violations.is_empty() {
                status = 1.max(status);
            }
            records.push(record);
        }
        match ending {
            Ending::Whole => {}
            Ending::Stopped => {
                eprintln!("stopped; what ran is in the results");
                status = super::common::status_of(3);
                break;
            }
            Ending::Failed(failure) => errors.failed(&test.name, &failure),
        }
    }
    status = status.max(errors.end());
    if args.speed {
        match speed(&mut session, &prepared, &setup, &mut records) {
            Ok(lines) => lines.into_iter().for_each(&say),
            Err(failure) => status = status.max(no_device(&failure)),
        }
    }
    let params = environments.iter().map(Environment::params);
    let mut all = results(&records, params, &info.json(), &setup.seed, setup.json());
    if errors.len() > 0 {
        all.other.insert("errors".into(), errors.json());
    }
    if let Some(path) = &args.out {
        litmake::file::write(path, all.write())?;
    }
    if args.json {
        print!("{}", all.write());
        return Ok(status);
    }
    for record in &records {
        for state in &record.violations {
            println!("violation: {}: {}", record.test, litmake::report::state_text(state));
        }
    }
    if prepared.iter().any(Prepared::is_mutant) {
        let s = score::score(&all);
        println!(
            "mutants: {} of {} killed, {:.3} a second on average",
            s.all.killed, s.all.of, s.all.avg_death_rate_per_s
        );
    }
    let conformance = records.iter().filter(|r| r.mutator.is_none()).count();
    if conformance > 0 {
        let bad =
            records.iter().filter(|r| r.mutator.is_none() && !r.violations.is_empty()).count();
        println!("conformance: {conformance} tests, {bad} with violations");
    }
    if errors.len() > 0 {
        println!("{} tests ran, {} did not or failed", records.len(), errors.len());
    }
    Ok(status)
}

/// Measures the device's best speed and the part of it that each test reached; adds them to the
/// records and prints them.
fn speed(
    session: &mut Session,
    tests: &[Prepared],
    setup: &Setup,
    records: &mut [Record],
) -> litmake::base::failure::Result<Vec<String>> {
    let mut lines = Vec::new();
    for record in records {
        let Some(test) = tests.iter().find(|t| t.name == record.test) else { continue };
        let Some((best, reached)) = session.speed(test, setup, record)? else { continue };
        if lines.is_empty() {
            lines.push(best.line());
        }
        lines.push(format!("  {:44} {}", record.key, reached.line()));
        record.speed = Some(reached.with(&best));
    }
    Ok(lines)
}

pub fn list(args: &List) -> Result<u8> {
    if let Some(folder) = &args.write {
        let mut errors = Errors::default();
        make(folder)?;
        for test in args.tests.read(&mut errors)? {
            let path = folder.join(format!("{}.litmus", test.name));
            litmake::file::write(&path, litmus::write(&test))?;
        }
        return Ok(errors.end());
    }
    let mut setup = Setup::new(Preset::Pte);
    if args.spirv.is_some() {
        setup.variant = Variant { bounds: false, code: Code::Words(MemoryModel::Vulkan) };
    }
    args.made.put(&mut setup, SUBGROUP);
    let Ready { tests, mut errors } = args.tests.ready(setup.preset.scheme())?;
    if let Some(folder) = &args.spirv {
        make(folder)?;
    }
    for p in tests {
        let shape = setup.shape(&p.program);
        let code = args.wgsl || args.spirv.is_some();
        if let (true, Err(why)) = (code, shape.check(&p.program, setup.variant)) {
            errors.failed(&p.name, &Failure::new(FailureKind::Refused, why));
            continue;
        }
        if let Some(folder) = &args.spirv {
            let made = code::test(&p.program, &p.oracle, &shape, setup.variant, Driver::default());
            let words = match made {
                Ok(words) => words,
                Err(failure) => {
                    errors.failed(&p.name, &failure);
                    continue;
                }
            };
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            litmake::file::write(&folder.join(format!("{}.spv", p.name)), bytes)?;
            continue;
        }
        println!("{:24} {:40} {}", p.name, p.key, p.program.text());
        if args.outcomes {
            // If a test asks for every outcome, none of them counts as the target.
            let every = p.oracle.target.iter().all(|t| *t);
            for i in 0..p.oracle.classes.len() {
                let class = p.oracle.classes[i].name();
                let is_target = p.oracle.target[i] && !every;
                let target = if is_target { "  (target)" } else { "" };
                if class != "forbidden" || is_target {
                    println!("    {class:12} {}{target}", p.oracle.text(i));
                }
            }
        }
        if args.wgsl {
            println!("{}", wgsl::module(&p.program, &p.oracle, &shape));
        }
    }
    Ok(errors.end())
}

fn make(folder: &std::path::Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))
}

pub fn devices(args: &Devices) -> Result<u8> {
    let all = device::list();
    if args.json {
        let list: Vec<_> = all.iter().map(device::Info::json).collect();
        println!("{}", serde_json::to_string_pretty(&list).unwrap_or_default());
    } else {
        all.iter().for_each(|d| println!("{d}"));
    }
    match all.is_empty() {
        false => Ok(0),
        true => Ok(device::choose(None).err().map_or(0, |e| no_device(&e))),
    }
}
