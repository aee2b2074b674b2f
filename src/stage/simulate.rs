//! `simulate`: computes the outcomes that a model allows for a test.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::building::{Build, Building, Made, gone};
use super::items::read_test;
use super::models::{Loaded, Models};
use litmake_base::diag::{Diag, Result};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind, Fault, Lasting};
use litmake_base::watch;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Travels};
use litmake_lang::compiled::{FAULTS, locals};
use litmake_litmus::{self as litmus, Arch, Test, canon};
use litmake_pipeline::kinds::{self, Kind};
use litmake_pipeline::query::{Db, Part, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::Profile;
use litmake_sim::{Options, Outcomes, Simulator};

/// The result of a simulation, as it is stored. States use the names of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// The final states: names and values, sorted by name. The states are sorted, too.
    pub states: Vec<BTreeMap<String, String>>,
    /// Whether the test has undefined behaviour, so that it may do anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undefined: bool,
    /// If arithmetic is the reason, the flag that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    /// Whether loops were cut, so that states may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether the test has plain accesses to atomic objects: C11 reads them as seq_cst, and herd
    /// as not atomic. Only C11's reading is simulated here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_atomics: bool,
    /// Locations that the compiled code writes and the source only reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl Allowed {
    /// Takes over the outcomes of a test. Locals that a compiled test keeps in memory get their
    /// names in the source.
    pub fn new(test: &Test, outcomes: &Outcomes) -> Allowed {
        let locals = locals(test);
        let mut states: Vec<BTreeMap<String, String>> = outcomes
            .states
            .iter()
            .map(|state| {
                let name = |label: &str| {
                    let bare = litmus::bare(label);
                    locals.get(bare).cloned().unwrap_or_else(|| bare.to_string())
                };
                state.iter().map(|(l, v)| (name(l), v.to_string())).collect()
            })
            .collect();
        states.sort();
        states.dedup();
        let faults = faults(test).map(String::from).collect();
        let races = test.arch == Arch::C && outcomes.flags.iter().any(|f| f == RACE);
        let undefined = outcomes.undefined || races;
        let arithmetic = outcomes.arithmetic.map(String::from);
        let (cut, plain_atomics) = (outcomes.cut, outcomes.plain_atomics);
        Allowed { states, undefined, arithmetic, cut, plain_atomics, faults }
    }

    /// Encodes the result for the store.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes a stored result.
    pub fn decode(bytes: &[u8]) -> std::result::Result<Allowed, Failure> {
        serde_json::from_slice(bytes)
            .map_err(|e| format!("outcomes that cannot be read: {e}").into())
    }
}

/// The flag by which the kernel's model reports a data race.
const RACE: &str = "data-race";

/// The locations that the code of a compiled test writes and its source only reads.
fn faults(test: &Test) -> impl Iterator<Item = &str> {
    let line = test.info.iter().find(|(k, _)| k == FAULTS);
    line.into_iter().flat_map(|(_, v)| v.split_whitespace())
}

/// How many bytes the outcomes of a test may take while they are looked for. As stored states, with a name
/// and a text for each value, they take about a hundred times as much, and a run has several tests at once.
const MEMORY: usize = 16 << 20;

/// The failure that a model is missing or cannot be read.
const BROKEN: FailureKind = FailureKind::Broken(Fault::Missing);

/// The work that simulates tests.
pub struct Stage {
    models: HashMap<Arch, Arc<Loaded>>,
    options: Options,
    /// Whether tests are compiled code, in which nobody can look up a place.
    compiled: bool,
}

impl Build for kinds::Simulate {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (made, name) = simulated(graph.db, graph.part())?;
        graph.models[graph.at] = name;
        let inputs = graph.inputs();
        Ok(graph.add_made(inputs, made))
    }
}

/// The work that simulates for an instance, and the name of its model.
#[salsa::tracked(returns(clone), no_eq)]
fn simulated<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<(Made, Option<String>)> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Simulate(options) = &node.kind else { return Err(gone()) };
    let compiled = match node.mixed.is_empty() {
        true => node.profile.as_slice(),
        false => &node.mixed,
    };
    let (work, fingerprint, name) = stage(&node, options, compiled, Models(db))?;
    Ok((Made { work: Arc::new(work), fingerprint }, name))
}

/// The work that simulates for an instance, its fingerprint, and the name of its model.
pub fn stage(
    node: &Instance,
    options: &kinds::Simulate,
    compiled: &[Arc<Profile>],
    models: Models,
) -> Result<(Stage, Fingerprint, Option<String>)> {
    let named = match (&options.model, compiled) {
        (Some(model), _) => Some(models.name(&node.dir, &model.value)),
        (None, []) => None,
        (None, [profile]) => profile.model.clone(),
        (None, mixed) => Some(common_model(mixed).map_err(|e| {
            Diag::at(&node.source, node.span, e).help(
                "say with `model` (`--target-model` of `check`) which one holds for all of them",
            )
        })?),
    };
    let archs: Vec<Arch> = match compiled.first() {
        Some(profile) => vec![profile.arch],
        None => Arch::ALL.to_vec(),
    };
    let mut fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_SIMULATE"))
        .with_text("stage", "simulate");
    let mut by_arch = HashMap::new();
    for arch in archs {
        let name = named.as_deref().unwrap_or(arch.default_model());
        let loaded = models.get(name, arch);
        // A model that the pipeline names must exist. Of the default models, only those in use
        // must.
        if let (Some(_), Err(e)) = (&named, &loaded.cat) {
            let span = options.model.as_ref().map_or(node.span, |m| m.span);
            return Err(e.clone().or_at(&node.source, span));
        }
        let part = format!("model {name} for {}", arch.name());
        fingerprint = fingerprint.with(&part, loaded.fingerprint());
        by_arch.insert(arch, loaded);
    }
    let told = by_arch.values().find_map(|loaded: &Arc<Loaded>| loaded.unroll);
    let unroll = options.unroll.as_ref().map(|u| u.value).or(told).unwrap_or(2).max(1);
    fingerprint = fingerprint.with_text("unroll", &unroll.to_string());
    let timeout = options.timeout.as_ref().map_or(60, |t| t.value).max(1);
    let name = named.or_else(|| compiled.first().map(|p| p.arch.default_model().to_string()));
    Ok((
        Stage {
            models: by_arch,
            compiled: !compiled.is_empty(),
            options: Options {
                unroll,
                timeout: Some(Duration::from_secs(timeout)),
                memory: MEMORY,
                ..Options::default()
            },
        },
        fingerprint,
        name,
    ))
}

impl Stage {
    fn one(&self, simulator: &mut Simulator, content: &[u8]) -> Outcome {
        let test = match read_test(content) {
            Ok(test) => test,
            Err(failure) => return Outcome::Failed(failure),
        };
        let Some(loaded) = self.models.get(&test.arch) else {
            let message = format!("there is no model here for {} tests", test.arch.name());
            return Outcome::Failed(message.into());
        };
        let _limit = watch::until(self.options.timeout.map(|t| Instant::now() + t));
        let model = match loaded.model() {
            Ok(model) => model,
            Err(e) if e.kind == FailureKind::Broken(Fault::OutOfTime) => {
                return Outcome::Failed(e.into());
            }
            Err(e) => return Outcome::Failed(Failure::from(e).kind(BROKEN)),
        };
        match simulator.simulate(&test, model, &self.options) {
            Ok(outcomes) => Outcome::Done(Allowed::new(&test, &outcomes).encode()),
            Err(e) => match e.kind.lasting() {
                // A simulation that ran out of time may succeed on another machine; any other
                // failure depends only on the test.
                Lasting::Never => Outcome::Failed(e.into()),
                _ if self.compiled => Outcome::Failed(e.into()),
                Lasting::ForGood | Lasting::ForNow => {
                    Outcome::Failed(e.or_at(&test.source, test.condition.span).into())
                }
            },
        }
    }
}

impl Map for Stage {
    fn travels(&self) -> Travels {
        Travels::Alone
    }

    fn asks_forms(&self) -> bool {
        true
    }

    fn normal(&self, inputs: &[Vec<u8>]) -> Option<Digest> {
        let test = read_test(&inputs[0]).ok()?;
        let mut key = Keyer::new("test/1").field("canon", canon::canonical_hash(&test).as_bytes());
        for (place, local) in locals(&test) {
            key.add(&place, local.as_bytes());
        }
        for place in faults(&test) {
            key.add(FAULTS, place.as_bytes());
        }
        Some(key.finish())
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let mut simulator = Simulator::default();
        let mut one = |item: &Vec<Vec<u8>>| match context.stopped() {
            true => Outcome::stopped(),
            false => match self.one(&mut simulator, &item[0]) {
                // Work that was stopped looks like work that ran out of time.
                Outcome::Failed(failure) if failure.is_broken() && context.stopped() => {
                    Outcome::stopped()
                }
                outcome => outcome,
            },
        };
        items.iter().map(&mut one).collect()
    }
}

/// The model that mixed code is simulated under: the common model of all profiles, or, if code for
/// Armv7 meets code for Armv8, the model of a machine that runs both.
pub fn common_model(profiles: &[Arc<Profile>]) -> std::result::Result<String, String> {
    let model =
        |p: &Arc<Profile>| p.model.clone().unwrap_or_else(|| p.arch.default_model().to_string());
    let models: BTreeSet<String> = profiles.iter().map(model).collect();
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    match models.as_slice() {
        [model] => Ok(model.to_string()),
        ["aarch32", "armv7"] => Ok("aarch32".to_string()),
        _ => Err(format!("the mixed profiles have different models: {}", models.join(", "))),
    }
}
