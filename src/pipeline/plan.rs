//! The plan: the instances of all stages in one list, in an order in which they can run.
//!
//! The plan depends only on the files of the pipeline, and on the compilers that are installed where
//! it names families of profiles; never on results. So a dry run and a run have the same plan.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use litmake_base::diag::{Diag, Result, nearest};
use litmake_profile::machine::on_one_machine;

use super::load::Pipeline;
use super::slice::{Instance, MAX_NODES, Slice};
use super::stages::Stages;
use litmake_base::local;
use litmake_profile::family::Library;
use litmake_profile::files::{Files, normal};
use litmake_profile::{Profile, Profiles, forbidden};

/// One instance of a stage, and the nodes that it consumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The nodes that it consumes, in the order of [`super::kinds::Options::inputs`].
    pub inputs: Vec<usize>,
}

impl Deref for Node {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

/// All instances of all stages, or of those that the targets need.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The pipeline that this is the plan of.
    pub pipeline: Arc<Pipeline>,
    /// The nodes, in an order in which each comes after those that it consumes.
    pub nodes: Vec<Node>,
    /// The targets, if stages that judge are left out of the plan.
    pub only: Vec<String>,
    /// For each stage of the pipeline, its first node.
    firsts: Vec<usize>,
}

/// The folders in which profiles are looked for by default.
pub fn profile_folders(pipeline_dir: &Path) -> Vec<PathBuf> {
    let mut out = vec![PathBuf::from("profiles")];
    for beside in [pipeline_dir.join("profiles"), pipeline_dir.join("../profiles")] {
        let beside = normal(&beside);
        if !out.contains(&beside) {
            out.push(beside);
        }
    }
    out
}

impl Plan {
    /// Makes the plan from the slices of the stages.
    pub fn new(stages: &Stages, slice: &dyn Fn(usize) -> Result<Arc<Slice>>) -> Result<Plan> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut firsts = vec![0; stages.kinds.len()];
        for i in &stages.order {
            firsts[*i] = nodes.len();
            for slot in slice(*i)?.iter() {
                if nodes.len() >= MAX_NODES {
                    return Err(Diag::at(
                        &slot.instance.source,
                        slot.instance.span,
                        format!("the pipeline unfolds into over {MAX_NODES} stages"),
                    ));
                }
                let inputs = slot.inputs.iter().map(|at| firsts[at.stage] + at.nth).collect();
                nodes.push(Node { instance: slot.instance.clone(), inputs });
            }
        }
        share_machines(&mut nodes);
        Ok(Plan { pipeline: stages.pipeline.clone(), nodes, only: Vec::new(), firsts })
    }

    /// An instance of a stage, by its position; only valid while nothing is left out of the plan.
    pub fn node(&self, stage: usize, nth: usize) -> Option<&Node> {
        self.nodes.get(self.firsts.get(stage)? + nth)
    }

    /// Keeps only what the targets need. A target is `stage`, or `stage:value` for the instances in
    /// which a variable has that value (`*` and `?` as in file names).
    pub fn keep(&mut self, targets: &[String]) -> Result<()> {
        let mut wanted = vec![false; self.nodes.len()];
        for target in targets {
            let (stage, value) = match target.split_once(':') {
                Some((s, v)) => (s, Some(v)),
                None => (target.as_str(), None),
            };
            let matcher = value
                .map(|v| {
                    globset::Glob::new(v)
                        .map(|g| g.compile_matcher())
                        .map_err(|e| Diag::new(format!("the target `{target}`: {e}")))
                })
                .transpose()?;
            let mut any = false;
            for (i, node) in self.nodes.iter().enumerate() {
                let fits = match &matcher {
                    Some(m) => node.axes.values().any(|v| m.is_match(v)),
                    None => true,
                };
                if (node.stage == stage || node.label == *target) && fits {
                    wanted[i] = true;
                    any = true;
                }
            }
            if !any {
                let diag = Diag::new(format!("no stage fits the target `{target}`"));
                let names = self.nodes.iter().map(|n| n.stage.as_str());
                return Err(match nearest(stage, names) {
                    Some(near) if near != stage => diag.help(format!("did you mean `{near}`?")),
                    _ => {
                        let mut labels: Vec<&str> =
                            self.nodes.iter().map(|n| n.label.as_str()).collect();
                        labels.truncate(12);
                        diag.help(format!("the stages are {}", labels.join(", ")))
                    }
                });
            }
        }
        let judging = |plan: &Plan| plan.nodes.iter().filter(|n| n.kind.judges()).count();
        let before = judging(self);
        self.keep_marked(wanted);
        if judging(self) < before {
            self.only = targets.to_vec();
        }
        Ok(())
    }

    /// Keeps only the instances with these labels, and those that they consume.
    pub fn keep_labels(&mut self, labels: &BTreeSet<String>) {
        let wanted = self.nodes.iter().map(|n| labels.contains(&n.label)).collect();
        self.keep_marked(wanted);
    }

    fn keep_marked(&mut self, mut wanted: Vec<bool>) {
        for i in (0..self.nodes.len()).rev() {
            if wanted[i] {
                for j in self.nodes[i].inputs.clone() {
                    wanted[j] = true;
                }
            }
        }
        let mut new_index = vec![0; self.nodes.len()];
        let mut kept = Vec::new();
        for (i, mut node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if wanted[i] {
                new_index[i] = kept.len();
                for j in &mut node.inputs {
                    *j = new_index[*j];
                }
                kept.push(node);
            }
        }
        self.nodes = kept;
    }

    /// The boxes of a drawing, two lines each, and the edges from consumed boxes: one box for each
    /// stage, or for each instance.
    fn boxes(&self, instances: bool) -> (Vec<[String; 2]>, BTreeSet<(usize, usize)>) {
        let mut names: Vec<&str> = Vec::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut kinds: Vec<&'static str> = Vec::new();
        let mut of: Vec<usize> = Vec::new();
        for node in &self.nodes {
            let name = if instances { &node.label } else { &node.stage };
            let known = names.iter().position(|n| n == name).filter(|_| !instances);
            let at = known.unwrap_or_else(|| {
                names.push(name);
                counts.push(0);
                kinds.push(node.kind.name());
                names.len() - 1
            });
            counts[at] += 1;
            of.push(at);
        }
        let edges = self.nodes.iter().zip(&of).flat_map(|(node, to)| {
            node.inputs.iter().map(|from| (of[*from], *to)).collect::<Vec<_>>()
        });
        let lines = names.iter().zip(kinds).zip(counts).map(|((name, kind), n)| {
            let times = if n > 1 { format!(" ({n} instances)") } else { String::new() };
            [name.to_string(), format!("{kind}{times}")]
        });
        (lines.collect(), edges.collect())
    }

    /// The plan as a Graphviz document, with a box for each stage or each instance.
    pub fn dot(&self, instances: bool) -> String {
        let (boxes, edges) = self.boxes(instances);
        let mut out =
            format!("digraph {:?} {{\n  rankdir=LR;\n  node [shape=box];\n", self.pipeline.name);
        for (i, [name, what]) in boxes.iter().enumerate() {
            out += &format!("  n{i} [label=\"{name}\\n{what}\"];\n");
        }
        for (from, to) in edges {
            out += &format!("  n{from} -> n{to};\n");
        }
        out + "}\n"
    }

    /// The plan as a Mermaid flowchart, with a box for each stage or each instance.
    pub fn mermaid(&self, instances: bool) -> String {
        let (boxes, edges) = self.boxes(instances);
        let mut out = String::from("flowchart LR\n");
        for (i, [name, what]) in boxes.iter().enumerate() {
            out += &format!("  n{i}[\"{name}<br>{what}\"]\n");
        }
        for (from, to) in edges {
            out += &format!("  n{from} --> n{to}\n");
        }
        out
    }
}

/// Mixed code runs on one machine. So the profiles of code that is linked are changed to one
/// machine that runs all of it.
fn share_machines(nodes: &mut [Node]) {
    let change = |node: &mut Node, to: &dyn Fn(&mut Instance)| {
        to(Arc::make_mut(&mut node.instance));
    };
    for link in 0..nodes.len() {
        if !nodes[link].kind.options().gathers() {
            continue;
        }
        let inputs = nodes[link].inputs.clone();
        let of = |n: &usize| nodes[*n].profile.clone();
        let own: Vec<Arc<Profile>> = inputs.iter().filter_map(of).collect();
        let mut shared = on_one_machine(&own).into_iter();
        for n in inputs {
            if nodes[n].profile.is_some() {
                let profile = shared.next();
                change(&mut nodes[n], &|instance| instance.profile.clone_from(&profile));
            }
        }
        let mixed = on_one_machine(&nodes[link].mixed);
        change(&mut nodes[link], &|instance| instance.mixed.clone_from(&mixed));
    }
}

/// The profiles that a pipeline can name.
pub fn profiles(library: &dyn Library, pipeline: &Pipeline) -> Result<Profiles> {
    let mut extra = Vec::new();
    for (dir, pattern, source) in &pipeline.profiles {
        let found = expand_profile_paths(library.files(), dir, &pattern.value);
        if found.is_empty() {
            return Err(Diag::at(
                source,
                pattern.span,
                format!("no profile file matches `{}`", pattern.value),
            ));
        }
        if local::is_forbidden() {
            return Err(forbidden(&found[0]).or_at(source, pattern.span));
        }
        extra.extend(found);
    }
    Ok(Profiles::load(library, &profile_folders(&pipeline.dir), &extra))
}

fn expand_profile_paths(files: &dyn Files, dir: &Path, pattern: &str) -> Vec<PathBuf> {
    let path = normal(&dir.join(pattern));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.contains(['*', '?', '[', '{']) {
        return if files.read(&path).is_ok() { vec![path] } else { Vec::new() };
    }
    let Ok(glob) = globset::Glob::new(&name) else {
        return Vec::new();
    };
    let matcher = glob.compile_matcher();
    files
        .list(&litmake_profile::files::folder_of(&path))
        .into_iter()
        .filter(|p| p.file_name().is_some_and(|n| matcher.is_match(n)))
        .collect()
}
