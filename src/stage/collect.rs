//! From what a run found to its report.

use std::collections::BTreeSet;

use super::compare::Verdict;
use super::{Built, ITEM, UNREADABLE};
use crate::engine::rows::State;
use crate::engine::run::{Engine, Found};
use crate::gpu::session::Record;
use crate::pipeline::plan::Plan;
use crate::pipeline::types::Kind;
use crate::report::{self, Cause, Class, Error, Finding, Outcomes, Report};

/// Puts the item's name into a message that was stored without it.
fn named(message: &str, item: &str) -> String {
    let message = message.strip_prefix(UNREADABLE).unwrap_or(message);
    match message.strip_prefix(ITEM) {
        Some(rest) if rest.starts_with([':', ' ']) => format!("{item}{rest}"),
        _ => message.to_string(),
    }
}

/// The report of a run that came to its end.
pub fn collect(plan: &Plan, built: &Built, engine: &Engine) -> Report {
    let mut out = Report {
        litmake: env!("CARGO_PKG_VERSION").to_string(),
        pipeline: plan.pipeline.name.clone(),
        ..Report::default()
    };
    let failed = engine.found(&[State::Failed, State::Broke]);
    for (i, node) in plan.nodes.iter().enumerate() {
        let mut stage = report::Stage {
            name: node.label.clone(),
            kind: node.kind.name().to_string(),
            ..report::Stage::default()
        };
        let (mut executed, mut seconds) = (0, 0.0);
        for at in (0..built.of_plan.len()).filter(|n| built.of_plan[*n] == i) {
            let summary = engine.summary(at);
            // What failed because something before it did is counted there.
            stage.failed += failed.iter().filter(|f| f.node == at).count() as u64;
            executed += summary.executed;
            seconds += summary.time.as_secs_f64();
            // A stage of two nodes counts the tasks of the one that does the work.
            stage.tasks = stage.tasks.max(summary.tasks);
        }
        stage.executed = Some(executed);
        stage.cached = Some(stage.tasks.saturating_sub(executed));
        stage.seconds = Some((seconds * 1000.0).round() / 1000.0);
        out.stages.push(stage);
    }
    for found in engine.found(&[State::Finding]) {
        out.findings.extend(finding(plan, built, engine, &found));
    }
    let mut said = BTreeSet::new();
    for found in failed {
        let text = String::from_utf8_lossy(&found.content).into_owned();
        // A test that cannot be read fails in every stage that reads it; once is enough.
        let unreadable = text.starts_with(UNREADABLE);
        if unreadable && !said.insert((found.item.clone(), text.clone())) {
            continue;
        }
        out.errors.push(Error {
            stage: engine.graph.nodes[found.node].label.clone(),
            message: named(&text, &found.item),
            test: found.item,
            cause: if unreadable { Cause::Input } else { Cause::Run },
        });
    }
    for error in engine.take_errors() {
        out.errors.push(Error {
            message: error.to_string(),
            cause: Cause::Input,
            ..Error::default()
        });
    }
    report::merge::sort(&mut out);
    out
}

/// A device that showed what the model forbids.
fn violation(model: Option<String>, found: &Found, source: String) -> Option<Finding> {
    let record: Record = serde_json::from_slice(&found.content).ok()?;
    let finding = Finding {
        class: Class::Conformance,
        test: found.item.clone(),
        source,
        profiles: vec![record.device.clone()],
        model_source: model.unwrap_or_default(),
        outcomes: Outcomes {
            forbidden: record.violations,
            source: record.allowed,
            target: Vec::new(),
        },
        reproducer: format!("litmake mutants run --suite all --only {}", record.test),
        ..Finding::default()
    };
    Some(finding.identify())
}

fn finding(plan: &Plan, built: &Built, engine: &Engine, found: &Found) -> Option<Finding> {
    let i = built.of_plan[found.node];
    let node = &plan.nodes[i];
    if let Kind::Run(_) = node.kind {
        let tests = *engine.graph.nodes[found.node].inputs.first()?;
        let text = content(engine, tests, &found.item).unwrap_or_default();
        return violation(built.models[i].clone(), found, text);
    }
    let verdict = Verdict::decode(&found.content).ok()?;
    let model = |input: usize| {
        let stage = node.inputs.get(input)?;
        built.models[*stage].clone()
    };
    let profiles: Vec<String> = node.profile.iter().map(|p| p.name.clone()).collect();
    let model_source = model(0).unwrap_or_else(|| "rc11".into());
    let model_target = model(1).unwrap_or_default();
    let mut reproducer = String::from("litmake check");
    for profile in &profiles {
        reproducer += &format!(" --profile {profile}");
    }
    reproducer += &format!(" --source-model {model_source} {}", found.item);
    // The tests of both sides, for people: what the simulated stages consumed.
    let text = |input: usize| -> Option<String> {
        let simulate = built.node_of[*node.inputs.get(input)?];
        let tests = *engine.graph.nodes[simulate].inputs.first()?;
        content(engine, tests, &found.item)
    };
    let finding = Finding {
        class: if profiles.is_empty() { Class::Model } else { Class::Concurrency },
        test: found.item.clone(),
        source: text(0).unwrap_or_default(),
        target: text(1).unwrap_or_default(),
        profiles,
        model_source,
        model_target,
        outcomes: Outcomes {
            forbidden: verdict.positive,
            source: verdict.source,
            target: verdict.target,
        },
        reproducer,
        ..Finding::default()
    };
    Some(finding.identify())
}

/// The text of an item in a node.
fn content(engine: &Engine, node: usize, item: &str) -> Option<String> {
    let (shard, row) = place(engine, node, item)?;
    let cell = *engine.cells(node, shard).ok()?.get(row)?;
    let bytes = engine.content(node, shard, row, cell).ok()?;
    String::from_utf8(bytes).ok()
}

/// Where an item stands in a node's list.
pub fn place(engine: &Engine, node: usize, item: &str) -> Option<(usize, usize)> {
    let root = engine.root_table(node)?;
    let at = root.entries.binary_search_by(|e| (*e.name).cmp(item)).ok()?;
    let shard = root.bounds.partition_point(|b| *b <= at) - 1;
    Some((shard, at - root.bounds[shard]))
}
