//! Stages: one file a kind. A stage turns items of the plan into calls of the library, and says
//! what its results depend on. It does not know how results are stored, nor when it runs.

pub mod apply;
pub mod collect;
pub mod compare;
pub mod compile;
pub mod dedupe;
pub mod diff;
pub mod generate;
pub mod generated;
pub mod investigate;
pub mod mix;
pub mod mutate;
pub mod run;
pub mod simulate;
pub mod suite;

use std::path::Path;
use std::sync::Arc;

use crate::diag::{Diag, Result, Source};
use crate::engine::graph::{Fingerprint, Graph, Node, Work};
use crate::engine::store::Records;
use crate::litmus::{self, Test};
use crate::pipeline::plan::Plan;
use crate::pipeline::types::Kind;

/// Stands for the item's name in messages that are stored, since work does not know names.
pub const ITEM: &str = "@";

/// How messages about tests that are wrong in themselves begin.
pub const UNREADABLE: &str = "cannot be read: ";

/// A graph, and for each of its nodes the node of the plan that it came from.
pub struct Built {
    pub graph: Graph,
    pub of_plan: Vec<usize>,
    /// For each node of the plan, the graph's node that others consume.
    pub node_of: Vec<usize>,
    /// The models by which simulate nodes go, by node of the plan.
    pub models: Vec<Option<String>>,
    /// The generators, by node of the graph, for whoever wants to know the files.
    pub generators: Vec<Option<Arc<generate::Files>>>,
}

/// Turns a plan into a graph. Compilers and models are looked up here, since what they are is
/// part of every key.
pub fn build(plan: &Plan, records: &dyn Records) -> Result<Built> {
    let mut out = Built {
        graph: Graph::default(),
        of_plan: Vec::new(),
        node_of: Vec::new(),
        models: vec![None; plan.nodes.len()],
        generators: Vec::new(),
    };
    let mut compilers = compile::Compilers::default();
    let mut models = simulate::Models::default();
    for (i, node) in plan.nodes.iter().enumerate() {
        let inputs: Vec<usize> = node.inputs.iter().map(|j| out.node_of[*j]).collect();
        // What the tests are whose outcomes are consumed.
        let code: Vec<usize> =
            inputs.iter().filter_map(|s| out.graph.nodes[*s].inputs.first().copied()).collect();
        let mut add = |inputs: Vec<usize>, fingerprint: Fingerprint, work: Work, hidden| {
            out.graph.nodes.push(Node {
                label: node.label.clone(),
                kind: node.kind.name().to_string(),
                inputs,
                fingerprint,
                work,
                hidden,
            });
            out.of_plan.push(i);
            out.generators.push(None);
            out.graph.nodes.len() - 1
        };
        let last = match &node.kind {
            Kind::Generate(options) if !options.suite.is_empty() => {
                if !options.files.is_empty() {
                    return Err(Diag::at(
                        &node.source,
                        node.span,
                        "tests come from files or from a suite, not from both",
                    )
                    .help("make two stages of it"));
                }
                let suites = Arc::new(suite::Suites::new(node, options)?);
                add(inputs, Fingerprint::default(), Work::Source(suites), false)
            }
            Kind::Generate(options) if options.files.is_empty() => {
                let made = Arc::new(generated::Generated::new(node, options)?);
                add(inputs, Fingerprint::default(), Work::Source(made), false)
            }
            Kind::Mutate(options) => {
                let (work, fingerprint) = mutate::stage(node, options)?;
                add(inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Generate(options) => {
                let files = Arc::new(generate::Files::new(node, options)?);
                let at = add(inputs, Fingerprint::default(), Work::Source(files.clone()), false);
                out.generators[at] = Some(files);
                at
            }
            Kind::Compile(options) => {
                let (work, fingerprint) = compile::stage(node, options, &mut compilers, records)?;
                add(inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Simulate(options) => {
                let compiled = node.profile.as_deref();
                let (work, fingerprint, name) =
                    simulate::stage(node, options, compiled, &mut models)?;
                out.models[i] = name;
                add(inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Dedupe(_) => {
                let canon = add(
                    inputs.clone(),
                    dedupe::fingerprint(),
                    Work::Map(Arc::new(dedupe::Canon)),
                    true,
                );
                let both = vec![inputs[0], canon];
                add(both, Fingerprint::default(), Work::Distinct, false)
            }
            Kind::Run(options) => {
                let (work, fingerprint, model) = run::stage(node, options)?;
                out.models[i] = Some(model);
                add(inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Diff(_) => add(
                [inputs, code].concat(),
                diff::fingerprint(),
                Work::Map(Arc::new(diff::Diff)),
                false,
            ),
            Kind::Compare(_) => {
                add(inputs, compare::fingerprint(), Work::Map(Arc::new(compare::Compare)), false)
            }
        };
        out.node_of.push(last);
    }
    for (i, node) in plan.nodes.iter().enumerate() {
        let at = out.node_of[i];
        let mut inputs = out.graph.nodes[at].inputs.iter();
        if let Some(first) = inputs.next() {
            let root = out.graph.root(*first);
            if inputs.any(|j| out.graph.root(*j) != root) {
                return Err(Diag::at(
                    &node.source,
                    node.span,
                    "source and target are made from different lists of tests",
                )
                .help("reduce tests with `dedupe` before they are compiled, not between"));
            }
        }
    }
    out.graph.check().map_err(Diag::new)?;
    Ok(out)
}

/// Reads the content of an item as a test; the message is fit to be stored.
fn read_test(content: &[u8]) -> std::result::Result<Test, String> {
    let text = std::str::from_utf8(content)
        .map_err(|e| format!("{UNREADABLE}{ITEM}: it is not UTF-8 at byte {}", e.valid_up_to()))?;
    litmus::read(&Source::new(ITEM, text)).map_err(|e| format!("{UNREADABLE}{e}"))
}

/// A path as a pipeline writes it, from the folder that it is relative to.
fn relative(dir: &Path, text: &str) -> std::path::PathBuf {
    crate::pipeline::load::normal(&dir.join(text))
}
