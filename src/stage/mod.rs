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
pub mod guard;
pub mod investigate;
pub mod items;
pub mod layout;
pub mod ld;
pub mod link;
pub mod mixed;
pub mod mixes;
pub mod mutate;
pub mod results;
pub mod run;
pub mod simulate;
pub mod split;
pub mod suite;

use std::collections::BTreeMap;
use std::sync::Arc;

use litmake_base::diag::{Diag, Result};
use litmake_base::records::Records;
use litmake_engine::graph::{Fingerprint, Graph, Node, Work};
use litmake_mix::By;
use litmake_pipeline::plan::{Node as PlanNode, Plan};
use litmake_pipeline::types::Kind;

/// A graph, and for each of its nodes the node of the plan that it came from.
pub struct Built {
    pub graph: Graph,
    pub of_plan: Vec<usize>,
    /// For each node of the plan, the graph's node that others consume.
    pub node_of: Vec<usize>,
    /// The models by which simulate nodes go, by node of the plan.
    pub models: Vec<Option<String>>,
    /// How the tests of a list of parts were taken apart, by the graph's node.
    pub splits: BTreeMap<usize, By>,
    /// For a list of mixes, the graph's nodes that linked and split them.
    pub mixes: BTreeMap<usize, Mixes>,
    /// The generators, by node of the graph, for whoever wants to know the files.
    pub generators: Vec<Option<Arc<generate::Files>>>,
    /// What cannot be known and may decide results, for people.
    pub notes: Vec<String>,
}

/// What a list of mixes was made by.
#[derive(Clone, Copy, Debug)]
pub struct Mixes {
    pub by: By,
    /// The node of the plan.
    pub plan: usize,
    /// The graph's nodes that link, and that say what the tests are.
    pub link: usize,
    pub tests: usize,
}

impl Built {
    fn add(
        &mut self,
        of: (usize, &PlanNode),
        inputs: Vec<usize>,
        fingerprint: Fingerprint,
        work: Work,
        hidden: bool,
    ) -> usize {
        self.graph.nodes.push(Node {
            label: of.1.label.clone(),
            kind: of.1.kind.name().to_string(),
            inputs,
            joined: Vec::new(),
            fingerprint,
            work,
            hidden,
        });
        self.of_plan.push(of.0);
        self.generators.push(None);
        self.graph.nodes.len() - 1
    }
}

/// Turns a plan into a graph. Compilers and models are looked up here, since what they are is
/// part of every key.
pub fn build(plan: &Plan, records: &dyn Records) -> Result<Built> {
    let mut out = Built {
        graph: Graph::default(),
        of_plan: Vec::new(),
        node_of: Vec::new(),
        models: vec![None; plan.nodes.len()],
        splits: BTreeMap::new(),
        mixes: BTreeMap::new(),
        generators: Vec::new(),
        notes: Vec::new(),
    };
    let mut compilers = compile::Compilers::default();
    let mut models = simulate::Models::default();
    for (i, node) in plan.nodes.iter().enumerate() {
        let inputs: Vec<usize> = node.inputs.iter().map(|j| out.node_of[*j]).collect();
        // What the tests are whose outcomes are consumed.
        let code: Vec<usize> =
            inputs.iter().filter_map(|s| out.graph.nodes[*s].inputs.first().copied()).collect();
        let of = (i, node);
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
                out.add(of, inputs, Fingerprint::default(), Work::Source(suites), false)
            }
            Kind::Generate(options) if options.files.is_empty() => {
                let made = Arc::new(generated::Generated::new(node, options)?);
                out.add(of, inputs, Fingerprint::default(), Work::Source(made), false)
            }
            Kind::Mutate(options) => {
                let (work, fingerprint) = mutate::stage(node, options)?;
                out.add(of, inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Generate(options) => {
                let files = Arc::new(generate::Files::new(node, options)?);
                let at =
                    out.add(of, inputs, Fingerprint::default(), Work::Source(files.clone()), false);
                out.generators[at] = Some(files);
                at
            }
            Kind::Compile(options) => {
                let (work, fingerprint) = compile::stage(node, options, &mut compilers, records)?;
                out.add(of, inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Simulate(options) => {
                let compiled = match node.mixed.is_empty() {
                    true => node.profile.as_slice(),
                    false => &node.mixed,
                };
                let (work, fingerprint, name) =
                    simulate::stage(node, options, compiled, &mut models)?;
                out.models[i] = name;
                out.add(of, inputs, fingerprint, Work::Map(Arc::new(work)), false)
            }
            Kind::Dedupe(_) => {
                let canon = out.add(
                    of,
                    inputs.clone(),
                    dedupe::fingerprint(),
                    Work::Map(Arc::new(dedupe::Canon)),
                    true,
                );
                let both = vec![inputs[0], canon];
                out.add(of, both, Fingerprint::default(), Work::Distinct, false)
            }
            Kind::Run(options) => {
                let (work, fingerprint, model) =
                    run::stage(node, options, &mut compilers, records)?;
                out.models[i] = Some(model);
                out.add(of, inputs, fingerprint, Work::Map(work), false)
            }
            Kind::Diff(_) => {
                let work = Work::Map(Arc::new(diff::Diff));
                out.add(of, [inputs, code].concat(), diff::fingerprint(), work, false)
            }
            Kind::Layout(options) => {
                let given = options.types.iter().map(|t| t.value.clone()).collect();
                let types = Work::Source(Arc::new(layout::Types::new(given)));
                let types = out.add(of, inputs, Fingerprint::default(), types, false);
                let mut all = vec![types];
                for profile in &node.mixed {
                    let (work, fingerprint) = layout::stage(profile, &mut compilers, records);
                    let work = Work::Map(Arc::new(work));
                    all.push(out.add(of, vec![types], fingerprint, work, false));
                }
                let work = Work::Map(Arc::new(layout::Compare));
                out.add(of, all, layout::fingerprint(), work, false)
            }
            Kind::Split(options) => {
                let work = split::Stage { by: split::by(options.by) };
                let fingerprint = split::fingerprint(options.by);
                let whole = out.add(of, inputs, fingerprint, Work::Map(Arc::new(work)), false);
                out.splits.insert(out.graph.nodes.len(), split::by(options.by));
                out.add(of, vec![whole], Fingerprint::default(), Work::Parts, true)
            }
            Kind::Link(options) => {
                let missing = || Diag::at(&node.source, node.span, "there are no parts to link");
                let parts = inputs.first().map(|j| out.graph.root(*j)).ok_or_else(missing)?;
                let by = *out.splits.get(&parts).ok_or_else(missing)?;
                let whole = out.graph.nodes[parts].inputs[0];
                let tests = out.graph.nodes[whole].inputs[0];
                let (work, fingerprint) =
                    link::stage(plan, node, options, by, &mut compilers, records)?;
                let work = Work::Map(Arc::new(work));
                let at = out.add(of, vec![whole, tests], fingerprint, work, false);
                out.graph.nodes[at].joined = inputs;
                let mixes = Mixes { by, plan: i, link: at, tests };
                out.mixes.insert(out.graph.nodes.len(), mixes);
                out.add(of, vec![at], Fingerprint::default(), Work::Parts, true)
            }
            Kind::Compare(_) => match out.mixes.get(&out.graph.root(inputs[1])).copied() {
                Some(m) => {
                    let work = Work::Map(Arc::new(mixes::Stage { by: m.by }));
                    let sources = [&inputs[..1], &inputs[2..]].concat();
                    let from = [&[m.link, m.tests], &sources[..]].concat();
                    let at = out.add(of, from, mixes::fingerprint(m.by), work, false);
                    out.graph.nodes[at].joined = vec![inputs[1]];
                    at
                }
                None => {
                    let work = Work::Map(Arc::new(compare::Compare));
                    out.add(of, inputs, compare::fingerprint(), work, false)
                }
            },
        };
        out.node_of.push(last);
    }
    let roots = out.graph.roots();
    for (i, node) in plan.nodes.iter().enumerate() {
        let at = out.node_of[i];
        let mut inputs = out.graph.nodes[at].inputs.iter();
        if let Some(first) = inputs.next() {
            let root = roots[*first];
            if inputs.any(|j| roots[*j] != root) {
                return Err(Diag::at(
                    &node.source,
                    node.span,
                    "source and target are made from different lists of tests",
                )
                .help(
                    "reduce tests with `dedupe` before they are compiled, not between; mixes are \
                     compared with what their own tests allow",
                ));
            }
        }
    }
    out.graph.check().map_err(Diag::new)?;
    out.notes = compilers.notes.into_iter().collect();
    Ok(out)
}
