//! `litmake mutants run` and `list`: the tests on a device, and the tests themselves.

use std::path::PathBuf;
use std::time::Duration;

use litmake::base::failure::Failure;
use litmake::devices::record::{Record, results};
use litmake::diag::{Diag, Result, Source};
use litmake::gpu::device;
use litmake::gpu::environment::{Environment, Preset};
use litmake::gpu::oracle::Models;
use litmake::gpu::session::{Ending, Prepared, Session, Setup};
use litmake::gpu::spirv;
use litmake::gpu::variant::{Code, MemoryModel, Scope, Variant};
use litmake::gpu::wgsl::{self, Memory, Reach};
use litmake::litmus::{self, Test};
use litmake::mutate::mcm::Suite;
use litmake::stats::score;
use litmake::stop::Stopping;

/// Run tests on a GPU, and count every outcome.
///
/// Exit status: 0, no violation; 1, outcomes that the model forbids; 2, wrong input; 3, there is
/// no device, or it failed (after everything else was done).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants run --out rtx.json                   the paper's mutants in its 150 environments
  litmake mutants run --suite conformance --environments 4
  litmake mutants run --preset site --set testingWorkgroups=8 --environments 1
  litmake mutants run my.litmus --variant unchecked --memory workgroup --reach workgroup")]
pub struct Run {
    #[command(flatten)]
    tests: Tests,

    #[command(flatten)]
    how: How,

    /// Write the results, in the form of the MC Mutants artifact
    #[arg(short, long = "output", alias = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,

    /// Say nothing while running
    #[arg(short, long)]
    quiet: bool,
}

#[derive(clap::Args)]
pub struct Tests {
    /// Litmus tests of the C dialect, in place of a suite
    #[arg(value_name = "TEST")]
    files: Vec<PathBuf>,

    /// The tests of the paper to run: mutants, conformance, scope or all
    #[arg(long, default_value = "mutants", value_name = "SUITE", value_parser = suite)]
    suite: Suite,

    /// Only tests whose name or key has this in it
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// The model that says what is allowed [default: wgsl-rel-acq; where accesses acquire or
    /// release, vulkan]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

#[derive(clap::Args)]
pub struct How {
    /// The device: a part of its name or kind [default: the best]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// The kind of environments: pte, site, pte_baseline or site_baseline
    #[arg(long, default_value = "pte", value_name = "PRESET", value_parser = preset)]
    preset: Preset,

    /// How many environments are drawn [default: the preset's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    environments: Option<u32>,

    /// Iterations a test and environment [default: the preset's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,

    /// Go to the next environment after so many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Iterations a submission; 1 is the published scheme [default: as many as fit in 60 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    batch: Option<u32>,

    /// The seed of everything that is random
    #[arg(long, default_value = "webgpu", value_name = "TEXT")]
    seed: String,

    /// How the code is made: by naga (checked, bounds, loops or unchecked), or as SPIR-V under the
    /// GLSL450 (spirv, spirv-bounds) or the Vulkan memory model (vulkan, vulkan-bounds)
    #[arg(long, default_value = "checked", value_name = "VARIANT", value_parser = variant)]
    variant: Variant,

    /// Where the threads of a test are: workgroups, workgroup or subgroup
    #[arg(long, default_value = "workgroups", value_name = "REACH", value_parser = ["workgroups", "workgroup", "subgroup"])]
    reach: String,

    /// Where the locations are: storage or workgroup
    #[arg(long, default_value = "storage", value_name = "MEMORY", value_parser = ["storage", "workgroup"])]
    memory: String,

    /// How far accesses and fences reach: device, queue, workgroup or subgroup (SPIR-V only)
    #[arg(long, default_value = "device", value_name = "SCOPE", value_parser = scope)]
    scope: Scope,

    /// Use the spin barrier and all of the stress also on CPUs, where workgroups wait for each
    /// other in vain
    #[arg(long)]
    spin: bool,

    /// Give a parameter of the environments another value
    #[arg(long = "set", value_name = "NAME=N", value_parser = super::common::parameter::<u32>)]
    sets: Vec<(String, u32)>,
}

/// Show the tests of the paper, what they may show, and their code.
#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    tests: Tests,

    /// Show the allowed outcomes
    #[arg(long)]
    outcomes: bool,

    /// Show the WGSL
    #[arg(long)]
    wgsl: bool,

    /// Write each test as a litmus file into this folder
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Write the SPIR-V of the variant `vulkan` of each test into this folder
    #[arg(long, value_name = "DIR")]
    spirv: Option<PathBuf>,
}

/// Say which devices are here.
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

impl Tests {
    pub fn read(&self) -> Result<Vec<Test>> {
        let mut out = Vec::new();
        if self.files.is_empty() {
            out.extend(self.suite.tests()?.into_iter().map(|m| m.test));
        }
        for path in &self.files {
            let text = litmake::file::read_text(path, litmake::file::MAX_DATA)
                .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
            out.push(litmus::read(&Source::new(path.display().to_string(), text))?);
        }
        if let Some(part) = &self.only {
            let key = |t: &Test| t.info.iter().any(|(k, v)| k == "Key" && v.contains(part));
            out.retain(|t| t.name.contains(part) || key(t));
        }
        if out.is_empty() {
            return Err(
                Diag::new("no test is left to run").help("`litmake mutants list` shows all")
            );
        }
        Ok(out)
    }

    pub fn models(&self) -> Result<Models> {
        Models::new(self.model.as_deref())
    }
}

impl How {
    pub fn preset(&self) -> Preset {
        self.preset
    }

    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The setup and its environments; the size of subgroups is the device's.
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
        setup.variant = self.variant;
        setup.reach = match self.reach.as_str() {
            "workgroup" => Reach::Workgroup,
            "subgroup" => Reach::Subgroup(subgroup.max(4)),
            _ => Reach::Workgroups,
        };
        setup.memory = if self.memory == "workgroup" { Memory::Workgroup } else { Memory::Storage };
        setup.scope = self.scope;
        setup.spin_anywhere = self.spin;
        setup.overrides.clone_from(&self.sets);
        let environments = setup.draw().map_err(Diag::new)?;
        Ok((setup, environments))
    }
}

/// Says what is wrong with a device; the exit status.
fn no_device(failure: &Failure) -> u8 {
    eprintln!("error: {}", failure.text());
    3
}

pub fn run(args: &Run) -> Result<u8> {
    let tests = args.tests.read()?;
    let mut models = args.tests.models()?;
    let prepared = tests
        .iter()
        .map(|t| Prepared::new(t, args.how.preset.scheme(), &mut models))
        .collect::<Result<Vec<_>>>()?;
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
            Ending::Failed(failure) => {
                eprintln!("error: {}: {}", test.name, failure.text());
                status = 3;
            }
        }
    }
    let params = environments.iter().map(Environment::params);
    let all = results(&records, params, &info.json(), &setup.seed, setup.json());
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
    Ok(status)
}

pub fn list(args: &List) -> Result<u8> {
    let mut models = args.tests.models()?;
    for test in args.tests.read()? {
        if let Some(folder) = &args.write {
            std::fs::create_dir_all(folder)
                .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
            let path = folder.join(format!("{}.litmus", test.name));
            litmake::file::write(&path, litmus::write(&test))?;
            continue;
        }
        let scheme = litmake::gpu::environment::Scheme::Parallel;
        let p = Prepared::new(&test, scheme, &mut models)?;
        if let Some(folder) = &args.spirv {
            let variant = Variant { bounds: false, code: Code::Words(MemoryModel::Vulkan) };
            let shape = wgsl::Shape::new(scheme, &p.program);
            let words = spirv::module(&p.program, &shape, variant);
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let path = folder.join(format!("{}.spv", test.name));
            std::fs::create_dir_all(folder)
                .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
            litmake::file::write(&path, bytes)?;
            continue;
        }
        println!("{:24} {:40} {}", p.name, p.key, p.program.text());
        if args.outcomes {
            for i in 0..p.oracle.classes.len() {
                let class = p.oracle.classes[i].name();
                let target = if p.oracle.target[i] { "  (target)" } else { "" };
                if class != "forbidden" || p.oracle.target[i] {
                    println!("    {class:12} {}{target}", p.oracle.text(i));
                }
            }
        }
        if args.wgsl {
            println!(
                "{}",
                wgsl::module(&p.program, &p.oracle, &wgsl::Shape::new(scheme, &p.program))
            );
        }
    }
    Ok(0)
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
