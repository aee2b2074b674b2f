//! Writes a test that showed a violation as files that stand alone: a page for a browser with WebGPU, a
//! script for Amber, and the modules of SPIR-V. Also finds the smallest environment that shows it.
//!
//! It does not know who found it, nor how tests become smaller.

mod amber;

use serde_json::json;

use self::amber::{Buffer, Content, Script};
use super::code::{self, Driver};
use super::environment::{Environment, Iteration, MAX_WORKGROUPS, Scheme, WORKGROUP};
use super::layout::Layout;
use super::oracle::Oracle;
use super::run::Settings;
use super::session::{Prepared, Setup};
use super::variant::{MemoryModel, Scope, Variant};
use super::wgsl::{self, Memory};
use litmake_base::failure::{Failure, FailureKind, Result};
use litmake_devices::Class;
use litmake_devices::random::Rng;

/// An observed violation, with everything that is needed to show it again.
pub struct Case<'a> {
    /// The test that showed it.
    pub test: &'a Prepared,
    /// The test as a litmus file.
    pub text: &'a str,
    /// How the test was run.
    pub setup: &'a Setup,
    /// The device and the driver that ran it, in words.
    pub device: &'a str,
    /// The properties of the device's driver that decide how naga writes.
    pub driver: Driver,
    /// How it showed in the smallest environment.
    pub shown: Shown<'a>,
    /// How it showed in the environment for the script, in which an iteration costs most: each iteration of
    /// a script has pipelines of its own.
    pub script: Shown<'a>,
}

/// The results of a run that showed the violation.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The environment in which it showed.
    pub environment: &'a Environment,
    /// The count of each outcome, by number; the last counts values that no execution gives.
    pub outcomes: &'a [u64],
    /// The number of iterations.
    pub iterations: u32,
}

impl Shown<'_> {
    /// The number of iterations that show forbidden outcomes several times.
    fn enough(&self, oracle: &Oracle) -> u32 {
        let classes = oracle.classes.iter().chain([&Class::Forbidden]);
        let forbidden = classes.zip(self.outcomes).filter(|(c, _)| **c == Class::Forbidden);
        let times: u64 = forbidden.map(|(_, n)| n).sum();
        let iterations = u64::from(self.iterations) * TIMES / times.max(1);
        u32::try_from(iterations + 1).unwrap_or(u32::MAX)
    }
}

/// A file of a reproducer.
pub struct File {
    /// The name of the file.
    pub name: &'static str,
    /// Its content.
    pub content: Vec<u8>,
}

/// The different iterations of a script in which threads wait for each other, each in a place of its own.
const APART: u32 = 16;
/// How often the violation should show to those who repeat the run.
const TIMES: u64 = 10;
/// The most rounds of a script; each makes pipelines anew.
const ROUNDS: u32 = 2_000;
/// The most iterations of a page.
const ITERATIONS: u32 = 1_000_000;

/// The files; the page is left out if WGSL cannot express the test.
pub fn files(case: &Case) -> Result<Vec<File>> {
    let Case { test, setup, script: Shown { environment, outcomes, .. }, .. } = *case;
    let shape = setup.shape(&test.program);
    let no = |why: String| Failure::new(FailureKind::Refused, why);
    let layout = Layout::new(&test.program, &shape, environment).map_err(no)?;
    let text = wgsl::module(&test.program, &test.oracle, &shape);
    let of = |entry: &str| code::naga(&text, entry, Variant::CHECKED, Driver::default());
    let (prepare, count) = (of("prepare")?, of("count")?);
    let run = code::test(&test.program, &test.oracle, &shape, setup.variant, case.driver)?;
    let about = about(case);
    let mut out = Vec::new();
    if shape.check(&test.program, Variant::CHECKED).is_ok() {
        let page = page(case, &text, &about).map_err(no)?;
        out.push(File { name: "page.html", content: page.into_bytes() });
    }
    let waits = environment.barrier_pct > 0;
    let rows = wgsl::rows(&test.program, &shape) as u64;
    let memory = if shape.memory == Memory::Workgroup { 4 } else { u64::from(layout.words) };
    let mut rng = Rng::of(&setup.seed, &["script", &test.key]);
    let (mut roles, mut scratch, mut iterations) = (Vec::new(), Vec::new(), Vec::new());
    let shuffles = environment.shuffle_pct > 0;
    for slot in 0..if waits || shuffles { APART } else { 1 } {
        let it = Iteration::draw(environment, &mut rng);
        let settings = Settings {
            spins: waits,
            target: layout.barrier_target(&shape, layout.testing),
            stressing: WORKGROUP,
        };
        let params = settings.params(environment, &shape, &layout, (slot, roles.len() as u32), &it);
        iterations.push((words(&params.bytes()), it.shuffled.len() as u32));
        roles.extend(&it.shuffled);
        scratch.extend(&it.scratch);
    }
    let forbidden: Vec<(usize, Option<String>)> = names(case)
        .into_iter()
        .enumerate()
        .filter(|(_, (_, class))| *class == Class::Forbidden.name())
        .map(|(i, (text, _))| (i, (outcomes.get(i).copied() > Some(0)).then_some(text)))
        .collect();
    let buffer = |name, content| Buffer { name, content };
    let script = Script {
        about: &about,
        features: match (setup.variant.memory_model(), shape.scope) {
            (MemoryModel::Glsl450, _) => &[],
            (MemoryModel::Vulkan, Scope::Device) => &[
                "VulkanMemoryModelFeatures.vulkanMemoryModel",
                "VulkanMemoryModelFeatures.vulkanMemoryModelDeviceScope",
            ],
            (MemoryModel::Vulkan, _) => &["VulkanMemoryModelFeatures.vulkanMemoryModel"],
        },
        buffers: vec![
            buffer("memory", Content::Zeros(memory)),
            buffer("results", Content::Zeros((rows * u64::from(layout.instances)).max(4))),
            buffer("shuffled", Content::Words(roles)),
            buffer("scratch_words", Content::Words(scratch)),
            buffer("scratch", Content::Zeros(u64::from(environment.scratch_memory_size))),
            buffer("arrivals", Content::Zeros(APART.into())),
            buffer(amber::COUNTERS, Content::Zeros(outcomes.len().max(4) as u64)),
        ],
        repeat: match waits {
            // Nobody sets back who arrived.
            true => 1,
            false => (case.script.enough(&test.oracle) / iterations.len() as u32).clamp(1, ROUNDS),
        },
        iterations,
        all: layout.instances.div_ceil(WORKGROUP),
        modules: ["prepare", "test", "count"],
        forbidden,
    };
    out.push(File { name: "test.amber", content: amber::script(&script).into_bytes() });
    for (name, words) in [("test.spv", &run), ("prepare.spv", &prepare), ("count.spv", &count)] {
        let content = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        out.push(File { name, content });
    }
    Ok(out)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The outcomes by number, with their classes; the last is what no execution gives.
fn names(case: &Case) -> Vec<(String, &'static str)> {
    let oracle = &case.test.oracle;
    let known = oracle.classes.iter().enumerate().map(|(i, c)| (oracle.text(i), c.name()));
    known.chain([("values that no write gives".to_string(), Class::Forbidden.name())]).collect()
}

impl Case<'_> {
    /// The violation in a few lines.
    pub fn about(&self) -> String {
        about(self)
    }
}

fn about(case: &Case) -> String {
    let setup = case.setup.json();
    let word = |key: &str| setup[key].as_str().unwrap_or_default().to_string();
    let seen: Vec<String> = names(case)
        .into_iter()
        .zip(case.shown.outcomes)
        .filter(|((_, class), n)| *class == Class::Forbidden.name() && **n > 0)
        .map(|((text, _), n)| format!("{text} {n} times"))
        .collect();
    format!(
        "{}: {}\nThe memory model {} forbids what {} showed: {}, in {} instances.\nThreads in {}, locations in {} memory, scope {}, code of the variant {}.",
        case.test.name,
        case.test.program.text(),
        case.test.oracle.model,
        case.device,
        seen.join(", "),
        case.shown.outcomes.iter().sum::<u64>(),
        word("reach"),
        word("memory"),
        word("scope"),
        word("variant"),
    )
}

/// A page that needs nothing but a browser.
fn page(case: &Case, text: &str, about: &str) -> std::result::Result<String, String> {
    let shape = case.setup.shape(&case.test.program);
    let Shown { environment, .. } = case.shown;
    let layout = Layout::new(&case.test.program, &shape, environment)?;
    let value = json!({
        "about": about,
        "test": case.text,
        "wgsl": text,
        "outcomes": names(case),
        "environment": environment.params(),
        "params": words(&layout.params.bytes()),
        "instances": layout.instances,
        "memory": if shape.memory == Memory::Workgroup { 4 } else { layout.words },
        "results": wgsl::rows(&case.test.program, &shape) as u32 * layout.instances,
        "barrierTarget": layout.barrier_target(&shape, layout.testing),
        "single": shape.scheme == Scheme::Single,
        "iterations": case.shown.enough(&case.test.oracle).clamp(64, ITERATIONS),
    });
    // Nothing in a string ends the script that it stands in.
    let value = value.to_string().replace("</", "<\\/").replace("<!--", "<\\!--");
    let title: String = case.test.name.chars().filter(|c| !"<>&\"\\".contains(*c)).collect();
    Ok(include_str!("page.html").replace("@TITLE@", &title).replace("@CASE@", &value))
}

/// The environment with as much work in an iteration as possible, and otherwise the same.
pub fn widest(of: &Environment) -> Environment {
    let extra = of.max_workgroups - of.testing_workgroups;
    let testing_workgroups = MAX_WORKGROUPS - extra;
    Environment { testing_workgroups, max_workgroups: MAX_WORKGROUPS, ..*of }
}

/// Simpler environments, the simplest first: without everything, then without one thing at a time.
pub fn simpler(of: &Environment) -> Vec<Environment> {
    let plain = Environment {
        shuffle_pct: 0,
        barrier_pct: 0,
        mem_stress_pct: 0,
        pre_stress_pct: 0,
        max_workgroups: of.testing_workgroups,
        ..*of
    };
    let mut out = vec![Environment { testing_workgroups: 2, max_workgroups: 2, ..plain }, plain];
    out.extend([
        Environment { shuffle_pct: 0, ..*of },
        Environment { barrier_pct: 0, ..*of },
        Environment { mem_stress_pct: 0, max_workgroups: of.testing_workgroups, ..*of },
        Environment { pre_stress_pct: 0, ..*of },
    ]);
    // Fewer workgroups, by halves.
    let mut n = of.testing_workgroups / 2;
    while n >= 2 {
        let extra = of.max_workgroups - of.testing_workgroups;
        out.push(Environment { testing_workgroups: n, max_workgroups: n + extra, ..*of });
        n /= 2;
    }
    // What does not stress needs no scratchpad.
    let stresses = of.mem_stress_pct > 0 || of.pre_stress_pct > 0;
    if !stresses {
        out.push(Environment {
            scratch_memory_size: 4,
            stress_line_size: 4,
            stress_target_lines: 1,
            mem_stress_iterations: 0,
            pre_stress_iterations: 0,
            stress_strategy_balance_pct: 0,
            mem_stress_store_first_pct: 0,
            mem_stress_store_second_pct: 0,
            pre_stress_store_first_pct: 0,
            pre_stress_store_second_pct: 0,
            ..*of
        });
    }
    out.push(Environment { mem_stride: 1, ..*of });
    out.retain(|e| e != of && e.check().is_ok());
    out
}

#[cfg(test)]
mod tests;
