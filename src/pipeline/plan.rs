//! The plan: stages fanned out, their references resolved, in an order in which they can run.
//!
//! The plan is static: it depends on the files of the pipeline alone, never on results. So a dry
//! run and a run have the same one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_profile::machine::on_one_machine;

use super::kinds::{Items, Kind, Options, Stage};
use super::load::{LoadedStage, Pipeline};
use litmake_base::local;
use litmake_profile::files::{Files, normal};
use litmake_profile::tree::{Vars, typed};
use litmake_profile::vars::{Scope, Setting};
use litmake_profile::yaml::Sp;
use litmake_profile::{Profile, Profiles, combinations, forbidden};

const MAX_NODES: usize = 100_000;

/// One instance of a stage.
#[derive(Clone, Debug)]
pub struct Node {
    pub stage: String,
    /// `stage` or `stage[value,...]`.
    pub label: String,
    pub kind: Kind,
    pub axes: BTreeMap<String, String>,
    /// The nodes that it consumes, in the order of [`Options::inputs`].
    pub inputs: Vec<usize>,
    /// The profile that the tests in it were compiled with.
    pub profile: Option<Arc<Profile>>,
    /// The profiles that were mixed in them.
    pub mixed: Vec<Arc<Profile>>,
    /// The folder that its relative paths start from.
    pub dir: PathBuf,
    pub source: Source,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub pipeline: Pipeline,
    /// Each node after those that it consumes.
    pub nodes: Vec<Node>,
}

/// The stages as they are planned from.
struct Stages<'p> {
    pipeline: &'p Pipeline,
    /// What each is, and where it says so.
    kinds: Vec<(Kind, Span)>,
    names: HashMap<&'p str, usize>,
}

impl Stages<'_> {
    fn options(&self, of: usize) -> &dyn Options {
        self.kinds[of].0.options()
    }

    /// What a stage gives. For that it matters what the first that it consumes gives, and no more,
    /// so that stages in a circle have an answer too.
    fn gives(&self, of: usize) -> Items {
        let options = self.options(of);
        let inputs = options.inputs();
        let from = inputs.first().and_then(|name| self.names.get(name.value.as_str()));
        options.gives(from.map(|i| self.options(*i).gives(None)))
    }
}

/// What to do where a stage consumes something else than it should.
fn instead(wanted: Items, given: Items) -> &'static str {
    match (wanted, given) {
        (Items::Outcomes, _) => "put a `simulate` stage between them",
        (Items::Code, Items::Parts) => "put a `compile` stage between them",
        (Items::Code, _) => "name a stage that compiles what a `split` stage gives",
        (_, Items::Parts | Items::Code) => "parts are compiled, and put together by a `link` stage",
        _ => "name a stage that reads, compiles or reduces tests",
    }
}

/// The folders in which profiles are looked for without being mentioned.
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

pub fn plan(files: &dyn Files, pipeline: Pipeline, targets: &[String]) -> Result<Plan> {
    if pipeline.stages.is_empty() {
        return Err(Diag::at(&pipeline.source, Span::default(), "the pipeline has no stages")
            .help("docs/guide.md and pipelines/example.yaml show how one looks"));
    }
    let names = pipeline.stages.iter().enumerate();
    let names = names.map(|(i, s)| (s.stage.name.value.as_str(), i)).collect();
    let stages = Stages { pipeline: &pipeline, kinds: resolve_kinds(&pipeline)?, names };
    let order = sorted(&stages)?;
    let profiles = profiles(files, &pipeline)?;
    let mut nodes: Vec<Node> = Vec::new();
    let mut of_stage: Vec<Vec<usize>> = vec![Vec::new(); stages.kinds.len()];
    for i in order {
        let made = instances(files, &profiles, &stages, i, &nodes, &of_stage)?;
        for node in made {
            if nodes.len() >= MAX_NODES {
                return Err(Diag::at(
                    &node.source,
                    node.span,
                    format!("the pipeline unfolds into over {MAX_NODES} stages"),
                ));
            }
            of_stage[i].push(nodes.len());
            nodes.push(node);
        }
    }
    share_machines(&mut nodes);
    let mut plan = Plan { pipeline, nodes };
    if !targets.is_empty() {
        plan.keep(targets)?;
    }
    Ok(plan)
}

/// What is mixed runs on one machine: the profiles of code that is linked know it as one that runs
/// all of them.
fn share_machines(nodes: &mut [Node]) {
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
                nodes[n].profile = shared.next();
            }
        }
        nodes[link].mixed = on_one_machine(&nodes[link].mixed);
    }
}

/// The profiles that a pipeline can name.
pub fn profiles(files: &dyn Files, pipeline: &Pipeline) -> Result<Profiles> {
    let mut extra = Vec::new();
    for (dir, pattern, source) in &pipeline.profiles {
        let found = expand_profile_paths(files, dir, &pattern.value);
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
    Ok(Profiles::load(files, &profile_folders(&pipeline.dir), &extra))
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

/// The kind of each stage, with the places of what it consumes still as written.
fn resolve_kinds(pipeline: &Pipeline) -> Result<Vec<(Kind, Span)>> {
    let mut out = Vec::new();
    for loaded in &pipeline.stages {
        let mut kinds = loaded.stage.kinds();
        let at = |span, message| Diag::at(&loaded.source, span, message);
        match kinds.len() {
            1 => out.push(kinds.remove(0)),
            0 => {
                return Err(at(
                    loaded.stage.name.span,
                    format!("the stage `{}` has no kind", loaded.stage.name.value),
                )
                .help(format!("add one of {}", Kind::NAMES.join(", "))));
            }
            _ => {
                return Err(at(
                    kinds[1].1,
                    format!(
                        "the stage `{}` has two kinds, `{}` and `{}`",
                        loaded.stage.name.value,
                        kinds[0].0.name(),
                        kinds[1].0.name()
                    ),
                )
                .help("make two stages of it"));
            }
        }
    }
    Ok(out)
}

fn input_stage(stages: &Stages, of: usize, name: &Sp<String>) -> Result<usize> {
    let Stages { pipeline, kinds, names } = stages;
    let loaded = &pipeline.stages[of];
    let Some(found) = names.get(name.value.as_str()).copied() else {
        let diag =
            Diag::at(&loaded.source, name.span, format!("there is no stage `{}`", name.value));
        let names = pipeline.stages.iter().map(|s| s.stage.name.value.as_str());
        return Err(match nearest(&name.value, names.clone()) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help(format!("the stages are {}", names.collect::<Vec<_>>().join(", "))),
        });
    };
    let (given, takes) = (stages.gives(found), stages.options(of).takes());
    if !takes.contains(&given) {
        return Err(Diag::at(
            &loaded.source,
            name.span,
            format!(
                "`{}` consumes {}, but the stage `{}` gives {}",
                kinds[of].0.name(),
                takes[0].name(),
                name.value,
                given.name()
            ),
        )
        .help(instead(takes[0], given)));
    }
    Ok(found)
}

/// The stages, each after those that it consumes.
fn sorted(stages: &Stages) -> Result<Vec<usize>> {
    let kinds = &stages.kinds;
    let mut inputs = Vec::new();
    let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); kinds.len()];
    for (i, (kind, _)) in kinds.iter().enumerate() {
        let list = kind
            .options()
            .inputs()
            .into_iter()
            .map(|name| Ok((input_stage(stages, i, name)?, name.span)))
            .collect::<Result<Vec<_>>>()?;
        list.iter().for_each(|(j, _)| consumers[*j].push(i));
        inputs.push(list);
    }
    let mut open: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut order = Vec::new();
    let mut ready: Vec<usize> = (0..kinds.len()).filter(|i| open[*i] == 0).collect();
    while !ready.is_empty() {
        let mut next = Vec::new();
        for j in &ready {
            for i in &consumers[*j] {
                open[*i] -= 1;
                if open[*i] == 0 {
                    next.push(*i);
                }
            }
        }
        order.append(&mut ready);
        next.sort_unstable();
        ready = next;
    }
    if order.len() < kinds.len() {
        let done: Vec<bool> = open.iter().map(|n| *n == 0).collect();
        return Err(circle(stages.pipeline, &inputs, &done));
    }
    Ok(order)
}

fn circle(pipeline: &Pipeline, inputs: &[Vec<(usize, Span)>], done: &[bool]) -> Box<Diag> {
    let mut path = vec![(0..done.len()).find(|i| !done[*i]).unwrap_or(0)];
    let name = |i: usize| pipeline.stages[i].stage.name.value.as_str();
    loop {
        let last = path[path.len() - 1];
        let Some((next, span)) = inputs[last].iter().find(|(j, _)| !done[*j]) else {
            return Diag::new("the stages consume each other in a circle");
        };
        if let Some(start) = path.iter().position(|i| i == next) {
            let mut names: Vec<&str> = path[start..].iter().map(|i| name(*i)).collect();
            names.push(name(*next));
            return Diag::at(
                &pipeline.stages[last].source,
                *span,
                format!("the stages consume each other in a circle: {}", names.join(" <- ")),
            );
        }
        path.push(*next);
    }
}

type Axes = BTreeMap<String, String>;

/// The union of two assignments, where they agree on what both have.
fn joined(a: &Axes, b: &Axes) -> Option<Axes> {
    let mut out = a.clone();
    for (name, value) in b {
        match out.get(name) {
            Some(other) if other != value => return None,
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    Some(out)
}

/// The instances of one stage: its own combinations, joined with the instances of what it
/// consumes wherever they agree on the variables that they share.
fn instances(
    files: &dyn Files,
    profiles: &Profiles,
    stages: &Stages,
    i: usize,
    nodes: &[Node],
    of_stage: &[Vec<usize>],
) -> Result<Vec<Node>> {
    let pipeline = stages.pipeline;
    let loaded = &pipeline.stages[i];
    let (kind, span) = &stages.kinds[i];
    let source = &loaded.source;
    let own = own_axes(pipeline, i)?;
    let options = kind.options();
    let input_stages = options
        .inputs()
        .into_iter()
        .map(|name| input_stage(stages, i, name))
        .collect::<Result<Vec<_>>>()?;
    let mut combined: Vec<(Axes, Vec<usize>)> =
        own.iter().map(|a| (a.clone(), Vec::new())).collect();
    if let (true, Some(stage)) = (options.gathers(), input_stages.first()) {
        combined = gathered(&own, &of_stage[*stage], nodes);
    }
    for stage in input_stages.iter().filter(|_| !options.gathers()) {
        let mut next = Vec::new();
        for (axes, inputs) in &combined {
            for n in &of_stage[*stage] {
                if let Some(axes) = joined(axes, &nodes[*n].axes) {
                    let mut inputs = inputs.clone();
                    inputs.push(*n);
                    next.push((axes, inputs));
                }
            }
            if next.len() > MAX_NODES {
                break;
            }
        }
        combined = next;
    }
    if combined.is_empty() {
        return Err(Diag::at(
            source,
            loaded.stage.name.span,
            format!(
                "no combination of the stage `{}` agrees with what it consumes",
                loaded.stage.name.value
            ),
        )
        .help("variables of the same name must share values, or be named apart"));
    }
    let mut out = Vec::new();
    for (axes, inputs) in combined {
        let mut vars = pipeline.vars.clone();
        vars.extend(axes.iter().map(|(n, v)| (n.clone(), Setting::Text(v.clone()))));
        let kind = settled(loaded, kind, &Scope { vars: &vars, env: &pipeline.env })?;
        let options = kind.options();
        let mut profile = match options.follows_first() {
            true => inputs.first().and_then(|n| nodes[*n].profile.clone()),
            false => inputs.iter().rev().find_map(|n| nodes[*n].profile.clone()),
        };
        if let Some(name) = options.profile() {
            let found = profiles
                .find(files, &loaded.dir, &name.value)
                .map_err(|e| e.or_at(source, name.span))?;
            profile = Some(found);
        }
        let mut mixed: Vec<Arc<Profile>> = match options.mixes() {
            Some(words) => words
                .iter()
                .flat_map(|p| p.value.split(',').map(move |word| (word.trim(), p.span)))
                .filter(|(word, _)| !word.is_empty())
                .map(|(word, span)| {
                    profiles.find(files, &loaded.dir, word).map_err(|e| e.or_at(source, span))
                })
                .collect::<Result<_>>()?,
            None if options.gathers() => {
                inputs.iter().filter_map(|n| nodes[*n].profile.clone()).collect()
            }
            None => {
                let of_inputs = inputs.iter().rev().map(|n| nodes[*n].mixed.clone());
                of_inputs.into_iter().find(|m| !m.is_empty()).unwrap_or_default()
            }
        };
        if options.gathers() || options.mixes().is_some() {
            profile = None;
            mixed.dedup_by(|a, b| Arc::ptr_eq(a, b));
            let archs: BTreeSet<&str> = mixed.iter().map(|p| p.arch.name()).collect();
            if archs.len() > 1 {
                let archs = archs.into_iter().collect::<Vec<_>>().join(", ");
                return Err(Diag::at(
                    source,
                    *span,
                    format!("code for different machines cannot be mixed: {archs}"),
                )
                .help("a `matrix` over a variable of the profiles' stage keeps machines apart"));
            }
        }
        let mut label = loaded.stage.name.value.clone();
        if !axes.is_empty() {
            let values: Vec<&str> = axes.values().map(String::as_str).collect();
            label = format!("{label}[{}]", values.join(","));
        }
        out.push(Node {
            stage: loaded.stage.name.value.clone(),
            label,
            kind,
            axes,
            inputs,
            profile,
            mixed,
            dir: loaded.dir.clone(),
            source: source.clone(),
            span: *span,
        });
    }
    Ok(out)
}

/// The kind of a stage with its variables put in.
fn settled(loaded: &LoadedStage, kind: &Kind, scope: &Scope) -> Result<Kind> {
    let tree = loaded.tree.only(&["name", kind.name()]);
    let stage: Stage = typed(&loaded.source, &tree, Vars::In(scope))?;
    Ok(stage.kinds().pop().map_or_else(|| kind.clone(), |(kind, _)| kind))
}

/// What goes into one instance of a stage that gathers: for each of the stage's own combinations, and
/// for each list of parts, all code that agrees.
fn gathered(own: &[Axes], code: &[usize], nodes: &[Node]) -> Vec<(Axes, Vec<usize>)> {
    let mut lists: Vec<usize> =
        code.iter().filter_map(|n| nodes[*n].inputs.first().copied()).collect();
    lists.sort_unstable();
    lists.dedup();
    let mut out = Vec::new();
    for axes in own {
        for list in &lists {
            let Some(axes) = joined(axes, &nodes[*list].axes) else { continue };
            let fits = |n: &&usize| {
                nodes[**n].inputs.first() == Some(list) && joined(&axes, &nodes[**n].axes).is_some()
            };
            let group: Vec<usize> = code.iter().filter(fits).copied().collect();
            if !group.is_empty() {
                out.push((axes, group));
            }
        }
    }
    out
}

fn own_axes(pipeline: &Pipeline, i: usize) -> Result<Vec<Axes>> {
    let loaded = &pipeline.stages[i];
    let source = &loaded.source;
    let scope = Scope { vars: &pipeline.vars, env: &pipeline.env };
    let mut matrix = loaded.stage.matrix.clone();
    for (name, values) in &mut matrix {
        let mut expanded = Vec::new();
        for value in scope.expand_words(source, values)? {
            // A text may hold several, so that `--set profiles=a,b` works.
            for part in value.value.split(',').map(str::trim).filter(|p| !p.is_empty()) {
                expanded.push(Sp { value: part.to_string(), span: value.span });
            }
        }
        if expanded.is_empty() {
            return Err(Diag::at(
                source,
                loaded.stage.name.span,
                format!("the matrix variable `{name}` has no values"),
            ));
        }
        values.0 = expanded;
    }
    let many = || {
        Diag::at(
            source,
            loaded.stage.name.span,
            format!("this stage unfolds into over {MAX_NODES} instances"),
        )
    };
    let most = MAX_NODES / loaded.stage.foreach.len().max(1);
    let mut out = combinations(&matrix, most).ok_or_else(many)?;
    if !loaded.stage.foreach.is_empty() {
        let mut each = Vec::new();
        for old in &out {
            for assignment in &loaded.stage.foreach {
                let mut axes = old.clone();
                for (name, value) in assignment {
                    let text = Sp { value: value.value.0.clone(), span: value.span };
                    axes.insert(name.clone(), scope.expand(source, &text)?.value);
                }
                each.push(axes);
            }
        }
        out = each;
    }
    out.dedup();
    Ok(out)
}

impl Plan {
    /// Keeps what the targets need: `stage`, or `stage:value` for the instances in which a
    /// variable has that value (`*` and `?` as in file names).
    fn keep(&mut self, targets: &[String]) -> Result<()> {
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
        self.keep_marked(wanted);
        Ok(())
    }

    /// Keeps the stages with these labels, and what they consume.
    pub fn keep_labels(&mut self, labels: &BTreeSet<&str>) {
        let wanted = self.nodes.iter().map(|n| labels.contains(n.label.as_str())).collect();
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

    /// The boxes of a drawing, two lines each, and which consumes which: a box a stage, or a box an instance.
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

    /// The plan as a Graphviz document, by stages or with each instance of them.
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

    /// The plan as a Mermaid flowchart, by stages or with each instance of them.
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
