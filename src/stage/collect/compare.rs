//! Reports the results of `compare`: the differences of each test, or of the mixes of each test.

use super::super::verdict::Verdict;
use super::{Ran, Reported, each_row, family, label, mixed};
use litmake_base::plain;
use litmake_engine::run::Found;
use litmake_pipeline::kinds::{Compare, Kind};
use litmake_pipeline::plan::Plan;
use litmake_profile::types::Storage;
use litmake_report::evidence::Differences;
use litmake_report::{Class, Finding, Outcomes, Report};

/// Whether a node of the graph compares mixes, which are reported together.
fn is_mixed(run: &Ran, node: usize) -> bool {
    !run.built.graph.nodes[node].joined.is_empty()
}

impl Reported for Compare {
    fn findings(&self, run: &Ran, found: &Found) -> Vec<Finding> {
        if is_mixed(run, found.node) {
            return Vec::new();
        }
        let i = run.built.of_plan[found.node];
        let node = &run.plan.nodes[i];
        let Ok(verdict) = Verdict::decode(&found.content) else { return Vec::new() };
        let profiles: Vec<String> = node.profile.iter().map(|p| p.name.clone()).collect();
        let model_source = run.model(i, 0).unwrap_or_else(|| "rc11".into());
        let model_target = run.model(i, 1).unwrap_or_default();
        let further = run.further(i);
        let mut command = String::from("litmake check");
        for profile in &profiles {
            command += &format!(" --profile {}", plain::word(profile));
        }
        let (preparation, flags) = preparation(run.plan, i);
        command += &flags;
        for model in [&model_source].into_iter().chain(&further) {
            command += &format!(" --source-model {}", plain::word(model));
        }
        command += &format!(" {}", plain::path(&found.item));
        let gone = further.into_iter().zip(&verdict.also).filter(|(_, left)| **left == 0);
        let allowed_by: Vec<String> = gone.map(|(model, _)| model).collect();
        let label = label(&allowed_by);
        let finding = Finding {
            class: match verdict.positive.is_empty() {
                _ if profiles.is_empty() => Class::Model,
                // The only fault is a write to a location that may be in read-only memory.
                true => Class::RuntimeCrash,
                false => Class::Concurrency,
            },
            test: found.item.clone(),
            family: family(node.profile.iter().map(|p| &**p)),
            profiles,
            preparation,
            faults: verdict.faults,
            model_source,
            model_target,
            outcomes: Outcomes {
                forbidden: verdict.positive,
                source: verdict.source,
                target: verdict.target,
            },
            label,
            allowed_by,
            command,
            ..Finding::default()
        };
        // All differences that a weaker model allows are one bug, which has an id already. For any
        // other difference, the test alone does not show which bug it is.
        vec![match finding.label.is_empty() {
            true => finding,
            false => finding.identify(""),
        }]
    }

    fn example(&self, run: &Ran, i: usize, finding: &mut Finding) {
        if !finding.source.is_empty() {
            return;
        }
        finding.source = run.simulated(i, 0, &finding.test).unwrap_or_default();
        finding.target = run.simulated(i, 1, &finding.test).unwrap_or_default();
        finding.reproducer = finding.source.clone();
    }

    fn whole(&self, run: &Ran, i: usize, report: &mut Report) -> Vec<Finding> {
        if is_mixed(run, run.built.node_of[i]) {
            return mixed::collect(run, i, report);
        }
        report.differences.push(differences(run, i));
        Vec::new()
    }
}

/// How the target of a comparison was prepared for its compiler, unless it uses pointers only: as
/// text for people, and as options of the command line.
fn preparation(plan: &Plan, compare: usize) -> (String, String) {
    let mut at = plan.nodes[compare].inputs.get(1).copied();
    while let Some(i) = at {
        let node = &plan.nodes[i];
        let Kind::Compile(options) = &node.kind else {
            at = node.inputs.first().copied();
            continue;
        };
        let (mut words, mut flags) = (Vec::new(), String::new());
        match options.storage {
            Storage::Pointers => {}
            Storage::Globals => {
                words.push("global variables");
                flags += " --storage globals";
            }
            Storage::Statics => {
                words.push("static variables");
                flags += " --storage statics";
            }
        }
        if options.helpers {
            words.push("atomic operations in functions");
            flags += " --helpers";
        }
        return (words.join(", "), flags);
    }
    Default::default()
}

/// The counts of a stage's comparisons.
fn differences(run: &Ran, i: usize) -> Differences {
    let node = &run.plan.nodes[i];
    let models: Vec<String> = run.further(i);
    let mut out = Differences {
        stage: node.label.clone(),
        model_source: run.model(i, 0).unwrap_or_else(|| "rc11".into()),
        positive_under: models.iter().map(|m| (m.clone(), 0)).collect(),
        ..Differences::default()
    };
    if let Some(profile) = &node.profile {
        out.profile = profile.name.clone();
        out.compiler = profile.tool().to_string();
        out.arch = profile.arch.name().to_string();
        out.variables = profile.variables.clone();
    }
    let known = &mut run.verdicts.borrow_mut();
    each_row(run.engine, run.built.node_of[i], known, Verdict::decode, |_, verdict| {
        out.compared += 1;
        let positive = u64::from(!verdict.positive.is_empty());
        if verdict.undefined {
            out.undefined += 1;
            out.undefined_positive += positive;
            if let Some(flag) = &verdict.arithmetic {
                *out.undefined_by.entry(flag.clone()).or_default() += 1;
            }
            return;
        }
        out.positive += positive;
        out.negative += u64::from(verdict.negative > 0);
        for (model, left) in models.iter().zip(&verdict.also) {
            if let Some(n) = out.positive_under.get_mut(model) {
                *n += u64::from(*left > 0);
            }
        }
    });
    out
}
