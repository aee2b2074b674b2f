//! Reports the results of `run`: outcomes that a device showed and the model forbids, and the files
//! of results that stages ask for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::super::items::relative;
use super::super::run::{cpu, gpu};
use super::{Decoded, Ran, Reported, content, each_row};
use litmake_base::plain;
use litmake_devices::record::{Record, results};
use litmake_engine::run::Found;
use litmake_gpu::environment::Preset;
use litmake_gpu::session::Setup;
use litmake_mutate::small::Size;
use litmake_mutate::suite::Suite;
use litmake_pipeline::kinds::Run;
use litmake_pipeline::kinds::run::RunDevice;
use litmake_pipeline::plan::Node;
use litmake_report::mechanism::Mechanism;
use litmake_report::{Class, DeviceUse, Finding, Outcomes, Report, Share};

impl Reported for Run {
    fn findings(&self, run: &Ran, found: &Found) -> Vec<Finding> {
        let i = run.built.of_plan[found.node];
        let tests = run.engine.graph.nodes[found.node].inputs.first();
        let text = tests.and_then(|tests| content(run.engine, *tests, &found.item));
        let model = run.built.models[i].clone();
        let finding =
            violation(&run.plan.nodes[i], self.device, model, found, text.unwrap_or_default());
        finding.into_iter().collect()
    }

    /// Adds which part of the device's speed the tests used.
    fn whole(&self, run: &Ran, i: usize, report: &mut Report) -> Vec<Finding> {
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| e.to_string().into());
        let mut speeds = Vec::new();
        if self.speed {
            each_row(
                run.engine,
                run.built.node_of[i],
                &mut Decoded::default(),
                read,
                |_, record: &Record| {
                    speeds.extend(record.speed.clone());
                },
            );
        }
        if let Some(stage) = report.stages.get_mut(i) {
            stage.device = used(&speeds);
        }
        Vec::new()
    }

    /// The results of the device, in the form of the MC Mutants artifact.
    fn files(&self, run: &Ran, i: usize) -> Vec<(PathBuf, String)> {
        let node = &run.plan.nodes[i];
        let Some(path) = &self.results else { return Vec::new() };
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| e.to_string().into());
        let mut records: Vec<Record> = Vec::new();
        each_row(
            run.engine,
            run.built.node_of[i],
            &mut Decoded::default(),
            read,
            |_, record: &Record| {
                records.push(record.clone());
            },
        );
        let setup = match self.device {
            RunDevice::Gpu => gpu::setup(node, self, 4).map(|(setup, environments)| {
                let params: Vec<_> = environments.iter().map(|e| e.params()).collect();
                (params, setup.seed.clone(), setup.json())
            }),
            RunDevice::Cpu => cpu::setup(node, self).map(|(setup, environments)| {
                let params = environments.iter().map(|e| e.params()).collect();
                (params, setup.seed.clone(), setup.json())
            }),
        };
        let (Some(first), Ok((params, seed, setup))) = (records.first(), setup) else {
            return Vec::new();
        };
        let device = first.device.clone();
        let text = results(&records, params, &device.into(), &seed, setup).write();
        vec![(relative(&node.dir, &path.value), text)]
    }
}

/// Joins the records of how much of a device the tests used.
fn used(speeds: &[Value]) -> Option<DeviceUse> {
    let best = speeds.first()?.get("best")?;
    let rate = |name: &str| best.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let each = |name: &'static str| {
        let of = move |speed: &Value| speed.get("reached")?.get(name)?.as_f64();
        Share::of(speeds.iter().filter_map(of).collect())
    };
    let mut limits = BTreeMap::new();
    for limit in speeds.iter().filter_map(|s| s.get("reached")?.get("limit")?.as_str()) {
        *limits.entry(limit.to_string()).or_default() += 1;
    }
    Some(DeviceUse {
        tests: speeds.len() as u64,
        bytes_per_second: rate("bytesPerSecond"),
        operations_per_second: rate("operationsPerSecond"),
        atomics_per_second: rate("atomicsPerSecond"),
        memory: each("memory"),
        operations: each("operations"),
        atomics: each("atomics"),
        limits,
    })
}

/// The finding that a device showed an outcome which the model forbids.
fn violation(
    node: &Node,
    device: RunDevice,
    model: Option<String>,
    found: &Found,
    source: String,
) -> Option<Finding> {
    let record: Record = serde_json::from_slice(&found.content).ok()?;
    let on_cpu = device == RunDevice::Cpu;
    let item = plain::path(&found.item);
    let command = match (on_cpu, &node.profile) {
        (false, _) => gpu_command(&record, &found.item),
        (true, None) => format!("litmake cpu --seconds 10 {item}"),
        (true, Some(p)) => {
            format!("litmake cpu --seconds 10 --profile {} {item}", plain::word(&p.name))
        }
    };
    let class = if record.crash.is_some() { Class::RuntimeCrash } else { Class::Conformance };
    let family = match &node.profile {
        Some(profile) => format!("{} on {}", profile.maker(), record.device),
        // The name of a GPU ends with its driver, which changes with each update.
        None => record.device.split(" (").next().unwrap_or_default().to_string(),
    };
    let finding = Finding {
        class,
        mechanism: (class == Class::Conformance).then(|| Mechanism {
            target: match word(&record, "memory") {
                Some(memory) => format!("{family}, {memory} memory"),
                None => family.clone(),
            },
            ..Mechanism::default()
        }),
        family,
        preparation: preparation(&record),
        test: found.item.clone(),
        reproducer: source.clone(),
        source,
        profiles: match &node.profile {
            Some(profile) => vec![profile.name.clone()],
            None => vec![record.device.clone()],
        },
        model_source: match record.model.is_empty() {
            true => model.unwrap_or_default(),
            false => record.model.clone(),
        },
        // If a profile built the test, also the device that it ran on.
        model_target: match &node.profile {
            Some(_) if on_cpu => record.device.clone(),
            _ => String::new(),
        },
        target: record.crash.clone().unwrap_or_default(),
        outcomes: Outcomes {
            forbidden: record.violations,
            source: record.allowed,
            target: Vec::new(),
        },
        command,
        ..Finding::default()
    };
    let form = super::form(&finding.source);
    Some(finding.identify(&form))
}

/// A word of the settings of a run on a GPU. The size of a subgroup, which follows it, comes from the
/// device.
fn word<'a>(record: &'a Record, key: &str) -> Option<&'a str> {
    record.setup.get(key)?.as_str()?.split(' ').next()
}

/// Where the threads and the locations of a test on a GPU were, and how its code was made.
fn preparation(record: &Record) -> String {
    match (word(record, "reach"), word(record, "memory"), word(record, "variant")) {
        (Some(reach), Some(memory), Some(variant)) => {
            let place = match reach {
                "workgroups" => "different workgroups".to_string(),
                one => format!("one {one}"),
            };
            format!("threads in {place}, locations in {memory} memory, variant {variant}")
        }
        _ => String::new(),
    }
}

/// The command that runs a test on a GPU again, with the options that differ from the defaults.
fn gpu_command(record: &Record, item: &str) -> String {
    let has = |suite: &Suite| {
        let tests = suite.tests(Size::default());
        tests.is_ok_and(|tests| tests.iter().any(|t| t.name == record.test))
    };
    // In the suite of small programs, a part of a name can fit many tests.
    let mut out = match [Suite::All, Suite::Orders, Suite::Updates].into_iter().find(has) {
        Some(suite) => {
            format!(
                "litmake mutants run --suite {} --only {}",
                suite.name(),
                plain::word(&record.test)
            )
        }
        None => format!("litmake mutants run {}", plain::path(item)),
    };
    let usual = Setup::new(Preset::Pte).json();
    for key in ["preset", "seed", "variant", "reach", "memory", "scope"] {
        let is_usual = record.setup.get(key) == usual.get(key);
        if let Some(word) = word(record, key).filter(|_| !is_usual) {
            out += &format!(" --{key} {}", plain::word(word));
        }
    }
    for (name, value) in record.setup.get("set").and_then(|v| v.as_object()).into_iter().flatten() {
        out += &format!(" --set {}", plain::word(&format!("{name}={value}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_runs_again_names_the_suite_and_what_was_not_usual() {
        let command = |test: &str, setup| {
            let record = Record { test: test.into(), setup, ..Record::default() };
            gpu_command(&record, "dir/t.litmus")
        };
        let usual = Setup::new(Preset::Pte).json();
        assert_eq!(
            command("MP-relacq", usual.clone()),
            "litmake mutants run --suite all --only MP-relacq"
        );
        let setup = json!({ "variant": "vulkan", "reach": "subgroup of 8", "memory": "storage" });
        assert_eq!(
            command("MP-orders.rel", setup),
            "litmake mutants run --suite orders --only MP-orders.rel --variant vulkan --reach subgroup"
        );
        let set = json!({ "set": { "testingWorkgroups": 128 } });
        assert_eq!(
            command("own", set),
            "litmake mutants run dir/t.litmus --set 'testingWorkgroups=128'"
        );
        assert_eq!(command("own", usual), "litmake mutants run dir/t.litmus");
        let hostile = Record { test: "own".into(), ..Record::default() };
        let words = shlex::split(&gpu_command(&hostile, "-a $(b)'.litmus")).unwrap();
        assert_eq!(words, ["litmake", "mutants", "run", "./-a $(b)'.litmus"]);
    }
}
