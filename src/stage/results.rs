//! The files with what devices showed that `run` stages ask for. Nothing here decides a result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use litmake_devices::record::{Record, results};
use litmake_engine::rows::State;
use litmake_engine::run::Engine;
use litmake_pipeline::plan::{Node, Plan};
use litmake_pipeline::types::{self, RunDevice};

use super::Built;
use super::items::relative;
use super::run::{cpu, gpu};

/// The result files that the run stages of a plan ask for, in the artifact's form.
pub fn files(plan: &Plan, built: &Built, engine: &Engine) -> Vec<(PathBuf, String)> {
    let mut wanted: BTreeMap<usize, (&Node, &types::Run)> = BTreeMap::new();
    for (i, node) in plan.nodes.iter().enumerate() {
        if let types::Kind::Run(options) = &node.kind
            && options.results.is_some()
        {
            wanted.insert(built.node_of[i], (node, options));
        }
    }
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut records: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    for found in engine.found(&[State::Done, State::Finding]) {
        if wanted.contains_key(&found.node)
            && let Ok(record) = serde_json::from_slice(&found.content)
        {
            records.entry(found.node).or_default().push(record);
        }
    }
    let mut out = Vec::new();
    for (at, records) in records {
        let Some((node, options)) = wanted.get(&at) else { continue };
        let Some(path) = &options.results else { continue };
        let setup = match options.device {
            RunDevice::Gpu => gpu::setup(node, options, 4).map(|(setup, environments)| {
                let params: Vec<_> = environments.iter().map(|e| e.params()).collect();
                (params, setup.seed.clone(), setup.json())
            }),
            RunDevice::Cpu => cpu::setup(node, options).map(|(setup, environments)| {
                let params = environments.iter().map(|e| e.params()).collect();
                (params, setup.seed.clone(), setup.json())
            }),
        };
        let Ok((params, seed, setup)) = setup else { continue };
        let device = records.first().map_or(String::new(), |r| r.device.clone());
        let text = results(&records, params, &device.into(), &seed, setup).write();
        out.push((relative(&node.dir, &path.value), text));
    }
    out
}
