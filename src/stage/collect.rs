//! From what a run found to its report.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::compare::Verdict;
use super::diff::Change;
use super::items::{DROPPED, ITEM, UNREADABLE};
use super::{Built, layout, mixed};
use litmake_base::digest::Digest;
use litmake_base::plain;
use litmake_devices::record::Record;
use litmake_engine::graph::{Counts, Work};
use litmake_engine::rows::State;
use litmake_engine::run::{Engine, Found};
use litmake_generate::REPEATED;
use litmake_gpu::environment::Preset;
use litmake_gpu::session::Setup;
use litmake_mutate::mcm::Suite;
use litmake_pipeline::plan::{Node, Plan};
use litmake_pipeline::types::{Kind, RunDevice};
use litmake_profile::types::Storage;
use litmake_report::evidence::{Changed, Changes, Differences};
use litmake_report::{self as report, Cause, Class, Error, Finding, Outcomes, Report};

/// Puts the item's name into a message that was stored without it.
fn named(message: &str, item: &str) -> String {
    let message = message.strip_prefix(UNREADABLE).unwrap_or(message);
    match message.strip_prefix(ITEM) {
        Some(rest) if rest.starts_with([':', ' ']) => format!("{item}{rest}"),
        _ => message.to_string(),
    }
}

/// The plan's nodes that findings came from, by the findings' identities.
pub type Origins = BTreeMap<String, usize>;

/// Whether a node compares mixes.
fn is_mixed(built: &Built, node: usize) -> bool {
    let node = &built.graph.nodes[node];
    node.kind == "compare" && !node.joined.is_empty()
}

/// The report of a run that came to its end.
pub fn collect(plan: &Plan, built: &Built, engine: &Engine) -> (Report, Origins) {
    let mut origins = Origins::new();
    let mut out = Report {
        litmake: env!("CARGO_PKG_VERSION").to_string(),
        pipeline: plan.pipeline.name.clone(),
        ..Report::default()
    };
    // What a stage left out on purpose is counted, and did not fail.
    let (left_out, failed): (Vec<Found>, Vec<Found>) = engine
        .found(&[State::Failed, State::Broke])
        .into_iter()
        .partition(|f| f.state == State::Failed && f.content.starts_with(DROPPED.as_bytes()));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    for (at, i) in built.of_plan.iter().enumerate() {
        parts[*i].push(at);
    }
    for (node, parts) in plan.nodes.iter().zip(parts) {
        let mut stage = report::Stage {
            name: node.label.clone(),
            kind: node.kind.name().to_string(),
            ..report::Stage::default()
        };
        let (mut executed, mut seconds) = (0, 0.0);
        for at in parts {
            // A list of parts is what the work made of the tasks.
            if let Work::Parts = built.graph.nodes[at].work {
                continue;
            }
            let summary = engine.summary(at);
            // What failed because something before it did is counted there.
            stage.failed += failed.iter().filter(|f| f.node == at).count() as u64;
            executed += summary.executed;
            seconds += summary.time.as_secs_f64();
            // A stage of two nodes counts the tasks of the one that does the work.
            stage.tasks = stage.tasks.max(summary.tasks);
            // What is broken is handed on as broken.
            let own = |f: &&Found| f.node == at && f.state == State::Broke;
            let skipped =
                summary.skipped + summary.broke - failed.iter().filter(own).count() as u64;
            stage.skipped = stage.skipped.max(skipped);
            for (why, n) in dropped(built, engine, at, &left_out, &mut stage.considered) {
                *stage.dropped.entry(why).or_default() += n;
            }
        }
        stage.executed = Some(executed);
        stage.cached = Some(stage.tasks.saturating_sub(executed + stage.skipped));
        stage.seconds = Some((seconds * 1000.0).round() / 1000.0);
        out.stages.push(stage);
    }
    let mut subjects: HashMap<u64, Vec<usize>> = HashMap::new();
    for found in engine.found(&[State::Finding]) {
        if is_mixed(built, found.node) {
            continue;
        }
        let i = built.of_plan[found.node];
        if let Kind::Layout(_) = plan.nodes[i].kind {
            let profiles: Vec<String> =
                plan.nodes[i].mixed.iter().map(|p| p.name.clone()).collect();
            out.findings.extend(layout::findings(&found.item, &profiles, &found.content));
            continue;
        }
        if let Some(finding) = finding(plan, built, engine, &found) {
            let alike = subjects.entry(subject(&finding)).or_default();
            if alike.iter().any(|i| covers(&out.findings[*i], &finding)) {
                continue;
            }
            alike.push(out.findings.len());
            origins.insert(finding.id.clone(), built.of_plan[found.node]);
            out.findings.push(finding);
        }
    }
    for (i, node) in plan.nodes.iter().enumerate() {
        match node.kind {
            Kind::Compare(_) if is_mixed(built, built.node_of[i]) => {
                for finding in mixed::collect(plan, built, engine, i, &mut out) {
                    origins.insert(finding.id.clone(), i);
                    out.findings.push(finding);
                }
            }
            Kind::Compare(_) => out.differences.push(differences(plan, built, engine, i)),
            Kind::Diff(_) => out.changes.push(changes(plan, built, engine, i)),
            _ => {}
        }
    }
    let mut said = BTreeSet::new();
    for found in failed {
        let text = String::from_utf8_lossy(&found.content).into_owned();
        // A test that cannot be read fails in every stage that reads it; once is enough.
        let unreadable = text.starts_with(UNREADABLE);
        if unreadable && !said.insert((found.item.clone(), text.clone())) {
            continue;
        }
        let (test, part) = match built.graph.nodes[built.graph.root(found.node)].work {
            Work::Parts => found.item.rsplit_once('#').unwrap_or((&found.item, "")),
            _ => (found.item.as_str(), ""),
        };
        let message = named(&text, &found.item);
        out.errors.push(Error {
            stage: engine.graph.nodes[found.node].label.clone(),
            message: if part.is_empty() { message } else { format!("{part}: {message}") },
            test: test.to_string(),
            cause: if unreadable { Cause::Input } else { Cause::Run },
            ..Error::default()
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
    (out, origins)
}

/// A hash of what a finding is about: test, compilers, models.
fn subject(f: &Finding) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&f.test, &f.profiles, &f.model_source, &f.model_target).hash(&mut hasher);
    hasher.finish()
}

/// What a node left out, by reason, of how much.
fn dropped(
    built: &Built,
    engine: &Engine,
    at: usize,
    left_out: &[Found],
    considered: &mut u64,
) -> BTreeMap<String, u64> {
    let mut counts = Counts::default();
    match &built.graph.nodes[at].work {
        Work::Source(source) => counts = source.counts(),
        Work::Distinct => {
            let before = engine.summary(built.graph.nodes[at].inputs[1]);
            counts.considered = before.tasks - before.failed - before.broke - before.skipped;
            let kept = engine.summary(at).tasks;
            counts.drop(REPEATED, counts.considered.saturating_sub(kept));
        }
        Work::Map(_) => {
            for found in left_out.iter().filter(|f| f.node == at) {
                let why = String::from_utf8_lossy(&found.content[DROPPED.len()..]).into_owned();
                counts.drop(&why, 1);
            }
            if !counts.dropped.is_empty() {
                counts.considered = engine.summary(at).tasks;
            }
        }
        Work::Parts => {}
    }
    *considered += counts.considered;
    counts.dropped
}

/// Whether a finding says all that another one says: the same test through the same compiler, put
/// to it in another way, shows no more.
fn covers(old: &Finding, new: &Finding) -> bool {
    old.preparation != new.preparation
        && old.class == new.class
        && old.test == new.test
        && old.profiles == new.profiles
        && old.model_source == new.model_source
        && old.model_target == new.model_target
        && new.outcomes.forbidden.iter().all(|o| old.outcomes.forbidden.contains(o))
}

/// How the target of a comparison was put to its compiler, where that is not behind pointers
/// alone: for people, and as options of the command line.
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

/// Calls `f` for each row of a node that came to something, with its name. Most rows of a
/// comparison have one of a few contents, so each is read and decoded once.
fn each_row<T>(
    engine: &Engine,
    node: usize,
    decode: impl Fn(&[u8]) -> Result<T, String>,
    mut f: impl FnMut(&str, &T),
) {
    let Some(root) = engine.root_table(node) else { return };
    let mut known: HashMap<Digest, Rc<T>> = HashMap::new();
    for (s, shard) in engine.shards_of(node).into_iter().enumerate() {
        let Some(cells) = shard.and_then(|_| engine.cells(node, s).ok()) else { continue };
        for (row, cell) in cells.iter().enumerate().filter(|(_, c)| c.state.usable()) {
            let value = match known.get(&cell.content) {
                Some(value) => value.clone(),
                None => {
                    let content = engine.content(node, s, row, *cell);
                    let Ok(value) = content.and_then(|bytes| decode(&bytes)) else { continue };
                    let value = Rc::new(value);
                    // A bound, for campaigns in which all contents differ.
                    if known.len() < 1 << 16 {
                        known.insert(cell.content, value.clone());
                    }
                    value
                }
            };
            f(&root.rows(s)[row].name, &value);
        }
    }
}

/// What the comparisons of a stage came to.
fn differences(plan: &Plan, built: &Built, engine: &Engine, i: usize) -> Differences {
    let node = &plan.nodes[i];
    let models: Vec<String> = further(plan, built, i);
    let mut out = Differences {
        stage: node.label.clone(),
        model_source: model(plan, built, i, 0).unwrap_or_else(|| "rc11".into()),
        positive_under: models.iter().map(|m| (m.clone(), 0)).collect(),
        ..Differences::default()
    };
    if let Some(profile) = &node.profile {
        out.profile = profile.name.clone();
        out.compiler = profile.tool().to_string();
        out.arch = profile.arch.name().to_string();
        out.variables = profile.variables.clone();
    }
    each_row(engine, built.node_of[i], Verdict::decode, |_, verdict| {
        out.compared += 1;
        let positive = u64::from(!verdict.positive.is_empty());
        if verdict.undefined {
            out.undefined += 1;
            out.undefined_positive += positive;
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

/// Of so many changed tests a diff shows the code.
const CODE_SHOWN: usize = 10;

/// What a diff stage came to.
fn changes(plan: &Plan, built: &Built, engine: &Engine, i: usize) -> Changes {
    let node = &plan.nodes[i];
    let name = |input: usize| {
        let of = &plan.nodes[node.inputs[input]];
        of.profile.as_ref().map_or(of.label.clone(), |p| p.name.clone())
    };
    let mut out = Changes {
        stage: node.label.clone(),
        before: name(0),
        after: name(1),
        ..Changes::default()
    };
    each_row(engine, built.node_of[i], Change::decode, |test, change| {
        out.compared += 1;
        out.code += u64::from(change.code);
        out.gained += u64::from(!change.gained.is_empty());
        out.lost += u64::from(!change.lost.is_empty());
        out.outcomes += u64::from(!change.gained.is_empty() || !change.lost.is_empty());
        if *change != Change::default() {
            out.tests.push(Changed {
                test: test.to_string(),
                code: change.code,
                gained: change.gained.clone(),
                lost: change.lost.clone(),
                ..Changed::default()
            });
        }
    });
    // Code is shown for a few, those whose outcomes changed before others.
    let moved = |t: &Changed| !t.gained.is_empty() || !t.lost.is_empty();
    let mut first: Vec<usize> = (0..out.tests.len()).collect();
    first.sort_by_key(|n| !moved(&out.tests[*n]));
    for n in first.into_iter().take(CODE_SHOWN) {
        let text = |input: usize| {
            let simulate = built.node_of[node.inputs[input]];
            let code = *engine.graph.nodes[simulate].inputs.first()?;
            content(engine, code, &out.tests[n].test)
        };
        let (before, after) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
        out.tests[n].code_before = before;
        out.tests[n].code_after = after;
    }
    out
}

/// The model by which an input of a comparison goes.
pub fn model(plan: &Plan, built: &Built, i: usize, input: usize) -> Option<String> {
    built.models[*plan.nodes[i].inputs.get(input)?].clone()
}

/// The further models of a comparison's sources.
pub fn further(plan: &Plan, built: &Built, i: usize) -> Vec<String> {
    (2..plan.nodes[i].inputs.len())
        .map(|input| model(plan, built, i, input).unwrap_or_else(|| "rc11".into()))
        .collect()
}

/// What a difference that a model allows is called.
pub fn label(allowed_by: &[String]) -> String {
    let name = |m: &String| {
        let file = m.rsplit('/').next().unwrap_or(m);
        file.strip_suffix(".cat").unwrap_or(file).to_string()
    };
    match allowed_by.first().map(name).as_deref() {
        None => String::new(),
        Some("rc11-lb") => "load buffering".into(),
        Some(other) => format!("allowed by {other}"),
    }
}

/// A device that showed what the model forbids.
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
    let finding = Finding {
        class: if record.crash.is_some() { Class::RuntimeCrash } else { Class::Conformance },
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
        // Where a profile built the test, also what it ran on.
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
    Some(finding.identify())
}

/// What runs a test on a GPU again, as far as its setup was not the usual one.
fn gpu_command(record: &Record, item: &str) -> String {
    let has = |suite: &Suite| {
        suite.tests().is_ok_and(|tests| tests.iter().any(|t| t.test.name == record.test))
    };
    let mut out = match [Suite::All, Suite::Orders].into_iter().find(has) {
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
        let value = record.setup.get(key).filter(|v| usual.get(key) != Some(v));
        // The size of a subgroup is the device's.
        let word = value.and_then(|v| v.as_str()?.split(' ').next());
        if let Some(word) = word {
            out += &format!(" --{key} {}", plain::word(word));
        }
    }
    out
}

fn finding(plan: &Plan, built: &Built, engine: &Engine, found: &Found) -> Option<Finding> {
    let i = built.of_plan[found.node];
    let node = &plan.nodes[i];
    if let Kind::Run(options) = &node.kind {
        let tests = *engine.graph.nodes[found.node].inputs.first()?;
        let text = content(engine, tests, &found.item).unwrap_or_default();
        return violation(node, options.device, built.models[i].clone(), found, text);
    }
    let verdict = Verdict::decode(&found.content).ok()?;
    let profiles: Vec<String> = node.profile.iter().map(|p| p.name.clone()).collect();
    let model_source = model(plan, built, i, 0).unwrap_or_else(|| "rc11".into());
    let model_target = model(plan, built, i, 1).unwrap_or_default();
    let further = further(plan, built, i);
    let mut command = String::from("litmake check");
    for profile in &profiles {
        command += &format!(" --profile {}", plain::word(profile));
    }
    let (preparation, flags) = preparation(plan, i);
    command += &flags;
    for model in [&model_source].into_iter().chain(&further) {
        command += &format!(" --source-model {}", plain::word(model));
    }
    command += &format!(" {}", plain::path(&found.item));
    let gone = further.into_iter().zip(&verdict.also).filter(|(_, left)| **left == 0);
    let allowed_by: Vec<String> = gone.map(|(model, _)| model).collect();
    // The tests of both sides, for people: what the simulated stages consumed.
    let text = |input: usize| -> Option<String> {
        let simulate = built.node_of[*node.inputs.get(input)?];
        let tests = *engine.graph.nodes[simulate].inputs.first()?;
        content(engine, tests, &found.item)
    };
    let source = text(0).unwrap_or_default();
    let finding = Finding {
        class: match verdict.positive.is_empty() {
            _ if profiles.is_empty() => Class::Model,
            // Nothing is wrong but that a location is written which may be constant.
            true => Class::RuntimeCrash,
            false => Class::Concurrency,
        },
        test: found.item.clone(),
        reproducer: source.clone(),
        source,
        target: text(1).unwrap_or_default(),
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
        label: label(&allowed_by),
        allowed_by,
        command,
        ..Finding::default()
    };
    Some(finding.identify())
}

/// The text of an item in a node.
pub fn content(engine: &Engine, node: usize, item: &str) -> Option<String> {
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
        assert_eq!(command("own", usual), "litmake mutants run dir/t.litmus");
        let hostile = Record { test: "own".into(), ..Record::default() };
        let words = shlex::split(&gpu_command(&hostile, "-a $(b)'.litmus")).unwrap();
        assert_eq!(words, ["litmake", "mutants", "run", "./-a $(b)'.litmus"]);
    }
}
