//! The stages of a pipeline file: the kind of each, the stages that it consumes, and an order in
//! which they can be planned.
//!
//! This file does not know instances or profiles.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use litmake_base::diag::{Diag, Result, Span, nearest};
use litmake_profile::yaml::Sp;

use super::kinds::{Items, Kind, Options};
use super::load::{Form, Pipeline};

/// The stages of a pipeline, before planning.
#[derive(Debug, PartialEq)]
pub struct Stages {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// The kind of each stage, and the place of its key in the file.
    pub kinds: Vec<(Kind, Span)>,
    /// The position of each stage in the pipeline, by name.
    pub names: HashMap<String, usize>,
    /// The stages in an order in which each comes after those that it consumes.
    pub order: Vec<usize>,
}

impl Stages {
    /// The stages of a pipeline; an error if one has no kind, or if stages consume each other in a
    /// circle.
    pub fn new(pipeline: Arc<Pipeline>) -> Result<Stages> {
        if pipeline.stages.is_empty() {
            return Err(Diag::at(&pipeline.source, Span::default(), "the pipeline has no stages")
                .help("docs/guide.md and pipelines/example.yaml show how one looks"));
        }
        let names = pipeline.stages.iter().enumerate();
        let names = names.map(|(i, s)| (s.name.value.clone(), i)).collect();
        let kinds = resolve_kinds(&pipeline)?;
        let mut out = Stages { pipeline, kinds, names, order: Vec::new() };
        out.order = sorted(&out)?;
        Ok(out)
    }

    /// The name of a stage, by its position.
    pub fn name(&self, of: usize) -> &str {
        &self.pipeline.stages[of].name.value
    }

    /// The options of a stage, in which variables are not yet replaced.
    pub fn options(&self, of: usize) -> &dyn Options {
        self.kinds[of].0.options()
    }

    /// The items that a stage gives. They depend only on the first stage that it consumes, without
    /// that one's own inputs, so that stages in a circle have an answer too.
    fn gives(&self, of: usize) -> Items {
        let options = self.options(of);
        let inputs = options.inputs();
        let from = inputs.first().and_then(|name| self.names.get(name.value.as_str()));
        options.gives(from.map(|i| self.options(*i).gives(None)))
    }
}

/// Advice for a stage that consumes the wrong items.
fn instead(wanted: Items, given: Items) -> &'static str {
    match (wanted, given) {
        (Items::Outcomes, _) => "put a `simulate` stage between them",
        (Items::Code, Items::Parts) => "put a `compile` stage between them",
        (Items::Code, _) => "name a stage that compiles what a `split` stage gives",
        (_, Items::Parts | Items::Code) => "parts are compiled, and put together by a `link` stage",
        _ => "name a stage that reads, compiles or reduces tests",
    }
}

/// The kind of each stage, with the names of consumed stages as written.
fn resolve_kinds(pipeline: &Pipeline) -> Result<Vec<(Kind, Span)>> {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for loaded in &pipeline.stages {
        let mut kinds = match &loaded.form {
            Form::Written(stage, _) => stage.kinds(),
            Form::Made(instances) => {
                instances.iter().take(1).map(|(_, kind)| (kind.clone(), Span::default())).collect()
            }
        };
        let at = |span, message| Diag::at(&loaded.source, span, message);
        match kinds.len() {
            1 => out.push(kinds.remove(0)),
            0 => errors.push(
                at(loaded.name.span, format!("the stage `{}` has no kind", loaded.name.value))
                    .help(format!("add one of {}", Kind::NAMES.join(", "))),
            ),
            _ => errors.push(
                at(
                    kinds[1].1,
                    format!(
                        "the stage `{}` has two kinds, `{}` and `{}`",
                        loaded.name.value,
                        kinds[0].0.name(),
                        kinds[1].0.name()
                    ),
                )
                .help("make two stages of it"),
            ),
        }
    }
    Diag::all(errors).map_or(Ok(out), Err)
}

/// The stage that another one consumes under a name; an error if its items do not fit.
pub fn input_stage(stages: &Stages, of: usize, name: &Sp<String>) -> Result<usize> {
    let Stages { pipeline, kinds, names, .. } = stages;
    let loaded = &pipeline.stages[of];
    let Some(found) = names.get(name.value.as_str()).copied() else {
        let diag =
            Diag::at(&loaded.source, name.span, format!("there is no stage `{}`", name.value));
        let names = pipeline.stages.iter().map(|s| s.name.value.as_str());
        return Err(match nearest(&name.value, names.clone()) {
            _ if name.value.contains("${") => {
                diag.help("which stage consumes which is fixed: write the stage's name itself")
            }
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

/// The stages in an order in which each comes after those that it consumes.
fn sorted(stages: &Stages) -> Result<Vec<usize>> {
    let kinds = &stages.kinds;
    let (mut inputs, mut errors) = (Vec::new(), Vec::new());
    let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); kinds.len()];
    for (i, (kind, _)) in kinds.iter().enumerate() {
        let mut list = Vec::new();
        for name in kind.options().inputs() {
            match input_stage(stages, i, name) {
                Ok(stage) => list.push((stage, name.span)),
                Err(e) => errors.push(e),
            }
        }
        list.iter().for_each(|(j, _)| consumers[*j].push(i));
        inputs.push(list);
    }
    if let Some(errors) = Diag::all(errors) {
        return Err(errors);
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
        return Err(circle(&stages.pipeline, &inputs, &done));
    }
    check_sides(stages, &inputs)?;
    Ok(order)
}

/// Refuses comparisons that can never find anything: of a stage with itself, and of sources that are the compiled
/// targets. Stages do not consume each other in a circle here.
fn check_sides(stages: &Stages, inputs: &[Vec<(usize, Span)>]) -> Result<()> {
    let below = |of: usize| {
        let (mut all, mut rest) = (BTreeSet::new(), vec![of]);
        while let Some(stage) = rest.pop() {
            if all.insert(stage) {
                rest.extend(inputs[stage].iter().map(|(input, _)| *input));
            }
        }
        all
    };
    let compiles = |of: &usize| matches!(stages.kinds[*of].0, Kind::Compile(_));
    let mut errors = Vec::new();
    for (i, (kind, _)) in stages.kinds.iter().enumerate() {
        let (Kind::Compare(_) | Kind::Diff(_)) = kind else { continue };
        let [(first, _), (second, span), ..] = inputs[i][..] else { continue };
        let at = |message| Diag::at(&stages.pipeline.stages[i].source, span, message);
        if first == second {
            let message = format!("`{}` is compared with itself", stages.name(first));
            errors.push(at(message).help("name two stages"));
        }
        // The tests of the targets, and what was compiled from them.
        let Some((tests, _)) = inputs[second].first() else { continue };
        let is_compiled = |of: &usize| compiles(of) && below(*of).contains(tests);
        if matches!(kind, Kind::Compare(_))
            && below(first).iter().any(is_compiled)
            && !below(second).iter().any(compiles)
        {
            let (source, target) = (stages.name(first), stages.name(second));
            let message = format!("`{source}` is compiled from the tests of `{target}`");
            errors
                .push(at(message).help(format!("write `source: {target}` and `target: {source}`")));
        }
    }
    Diag::all(errors).map_or(Ok(()), Err)
}

fn circle(pipeline: &Pipeline, inputs: &[Vec<(usize, Span)>], done: &[bool]) -> Box<Diag> {
    let mut path = vec![(0..done.len()).find(|i| !done[*i]).unwrap_or(0)];
    let name = |i: usize| pipeline.stages[i].name.value.as_str();
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
