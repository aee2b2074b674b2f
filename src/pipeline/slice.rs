//! The slice of a stage in the plan: its instances, and which instances of other stages each
//! consumes.
//!
//! This file does not know where profiles come from, or the order in which stages are planned.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_profile::Profile;
use litmake_profile::family::combinations;
use litmake_profile::tree::{Vars, typed};
use litmake_profile::vars::{Scope, Setting};
use litmake_profile::yaml::Sp;

use super::kinds::{Kind, Options, Stage};
use super::load::{Axes, Form, LoadedStage};
use super::stages::{Stages, input_stage};

/// The largest number of instances of a stage, and of a whole plan.
pub const MAX_NODES: usize = 100_000;

/// One instance of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The stage's name.
    pub stage: String,
    /// Its number among the stage's instances.
    pub nth: usize,
    /// Its name: `stage` or `stage[value,...]`.
    pub label: String,
    /// The kind with its options, in which variables are replaced by their values.
    pub kind: Kind,
    /// The values of the variables that tell it from the other instances.
    pub axes: Axes,
    /// The profile that its tests were compiled with.
    pub profile: Option<Arc<Profile>>,
    /// The profiles that are mixed in its tests.
    pub mixed: Vec<Arc<Profile>>,
    /// The folder that its relative paths start from.
    pub dir: PathBuf,
    /// The file that its stage stands in.
    pub source: Source,
    /// The place of its options in the file.
    pub span: Span,
}

/// An instance with the instances that it consumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The instances that it consumes, in the order of [`super::kinds::Options::inputs`].
    pub inputs: Vec<Place>,
}

/// An instance, by the position of its stage and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The stage, by its position in the pipeline.
    pub stage: usize,
    /// The number of the instance in its stage.
    pub nth: usize,
}

/// The instances of one stage.
pub type Slice = Vec<Slot>;

/// The union of two assignments; none if a variable has different values in them.
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

/// The profiles that a word stands for, in order.
pub type Named = Vec<Arc<Profile>>;

/// Planning one stage asks these functions about other stages and profiles.
pub struct Asked<'a> {
    /// The slice of a stage that this one consumes.
    pub slice: &'a dyn Fn(usize) -> Result<Arc<Slice>>,
    /// The profile that a name stands for in a file of this folder.
    pub profile: &'a dyn Fn(&Path, &str) -> Result<Arc<Profile>>,
    /// The profiles that a word stands for in a file of this folder: a pattern means several.
    pub named: &'a dyn Fn(&Path, &str) -> Result<Named>,
}

/// The instances of one stage. Each combination of its own variables is joined with every instance
/// of the consumed stages that has equal values of shared variables.
pub fn of_stage(stages: &Stages, i: usize, asked: &Asked) -> Result<Slice> {
    let pipeline = &stages.pipeline;
    let loaded = &pipeline.stages[i];
    let (kind, span) = &stages.kinds[i];
    let source = &loaded.source;
    let own = own_axes(stages, i, asked)?;
    let options = kind.options();
    let mut inputs: Vec<(usize, Arc<Slice>)> = Vec::new();
    for name in options.inputs() {
        let stage = input_stage(stages, i, name)?;
        inputs.push((stage, (asked.slice)(stage)?));
    }
    let of = |place: &Place| {
        let (_, slice) = inputs.iter().find(|(stage, _)| *stage == place.stage)?;
        slice.get(place.nth).map(|slot| &*slot.instance)
    };
    let mut combined: Vec<(Axes, Vec<Place>)> =
        own.iter().map(|a| (a.clone(), Vec::new())).collect();
    if let (true, Some((stage, code))) = (options.gathers(), inputs.first()) {
        combined = gathered(&own, *stage, code, asked)?;
    }
    for (stage, slice) in inputs.iter().filter(|_| !options.gathers()) {
        let mut next = Vec::new();
        for (axes, inputs) in &combined {
            for (nth, slot) in slice.iter().enumerate() {
                if let Some(axes) = joined(axes, &slot.instance.axes) {
                    let mut inputs = inputs.clone();
                    inputs.push(Place { stage: *stage, nth });
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
            loaded.name.span,
            format!(
                "no combination of the stage `{}` agrees with what it consumes",
                loaded.name.value
            ),
        )
        .help("variables of the same name must share values, or be named apart"));
    }
    let mut out = Slice::new();
    for (axes, inputs) in combined {
        let mut vars = pipeline.vars.clone();
        vars.extend(axes.iter().map(|(n, v)| (n.clone(), Setting::Text(v.clone()))));
        let scope = Scope { vars: &vars, env: &pipeline.env };
        let kind = settled(loaded, kind, &axes, &scope)?;
        let consumed: Vec<&Instance> = inputs.iter().filter_map(of).collect();
        let (profile, mixed) = profiles_of(loaded, (kind.options(), *span), &consumed, asked)?;
        let mut label = loaded.name.value.clone();
        if !axes.is_empty() {
            let values: Vec<&str> = axes.values().map(String::as_str).collect();
            label = format!("{label}[{}]", values.join(","));
        }
        let instance = Arc::new(Instance {
            stage: loaded.name.value.clone(),
            nth: out.len(),
            label,
            kind,
            axes,
            profile,
            mixed,
            dir: loaded.dir.clone(),
            source: source.clone(),
            span: *span,
        });
        out.push(Slot { instance, inputs });
    }
    Ok(out)
}

/// The profile of an instance, and the profiles that are mixed in its tests.
fn profiles_of(
    loaded: &LoadedStage,
    (options, span): (&dyn Options, Span),
    consumed: &[&Instance],
    asked: &Asked,
) -> Result<(Option<Arc<Profile>>, Named)> {
    let source = &loaded.source;
    let mut profile = match options.follows_first() {
        true => consumed.first().and_then(|of| of.profile.clone()),
        false => consumed.iter().rev().find_map(|of| of.profile.clone()),
    };
    if let Some(name) = options.profile() {
        let found = (asked.profile)(&loaded.dir, &name.value);
        profile = Some(found.map_err(|e| e.or_at(source, name.span))?);
    }
    let mut mixed: Named = match options.mixes() {
        Some(words) => words
            .iter()
            .map(|p| (asked.named)(&loaded.dir, &p.value).map_err(|e| e.or_at(source, p.span)))
            .collect::<Result<Vec<_>>>()?
            .concat(),
        None if options.gathers() => consumed.iter().filter_map(|of| of.profile.clone()).collect(),
        None => {
            let mut mixes = consumed.iter().rev().map(|of| &of.mixed);
            mixes.find(|m| !m.is_empty()).cloned().unwrap_or_default()
        }
    };
    if options.gathers() || options.mixes().is_some() {
        profile = None;
        mixed.dedup();
        let archs: BTreeSet<&str> = mixed.iter().map(|p| p.arch.name()).collect();
        if archs.len() > 1 {
            let archs = archs.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("code for different machines cannot be mixed: {archs}");
            return Err(Diag::at(source, span, message)
                .help("a `matrix` over a variable of the profiles' stage keeps machines apart"));
        }
    }
    Ok((profile, mixed))
}

/// The kind of an instance with its options, in which variables are replaced by their values.
fn settled(loaded: &LoadedStage, kind: &Kind, axes: &Axes, scope: &Scope) -> Result<Kind> {
    let tree = match &loaded.form {
        Form::Written(_, tree) => tree.only(&["name", kind.name()]),
        Form::Made(instances) => {
            let is = |own: &Axes| own.iter().all(|(name, value)| axes.get(name) == Some(value));
            let own = instances.iter().find(|(own, _)| is(own));
            return Ok(own.map_or(kind, |(_, kind)| kind).clone());
        }
    };
    let stage: Stage = typed(&loaded.source, &tree, Vars::In(scope))?;
    Ok(stage.kinds().pop().map_or_else(|| kind.clone(), |(kind, _)| kind))
}

/// The inputs of each instance of a stage that gathers: one instance for each combination of its
/// own variables and each list of parts, with all compiled code of these parts that has equal
/// values of shared variables.
fn gathered(
    own: &[Axes],
    stage: usize,
    code: &Slice,
    asked: &Asked,
) -> Result<Vec<(Axes, Vec<Place>)>> {
    let mut lists: Vec<Place> =
        code.iter().filter_map(|slot| slot.inputs.first().copied()).collect();
    lists.sort_unstable();
    lists.dedup();
    let mut out = Vec::new();
    for axes in own {
        for list in &lists {
            let parts = (asked.slice)(list.stage)?;
            let Some(axes) = parts.get(list.nth).and_then(|list| joined(axes, &list.instance.axes))
            else {
                continue;
            };
            let fits = |slot: &Slot| {
                slot.inputs.first() == Some(list) && joined(&axes, &slot.instance.axes).is_some()
            };
            let group: Vec<Place> = code
                .iter()
                .enumerate()
                .filter(|(_, slot)| fits(slot))
                .map(|(nth, _)| Place { stage, nth })
                .collect();
            if !group.is_empty() {
                out.push((axes, group));
            }
        }
    }
    Ok(out)
}

/// The variable that a text is, as in `${profile}`.
fn variable(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}')
}

/// Whether some stage takes the values of a variable as names of profiles.
fn names_profiles(stages: &Stages, variable_name: &str) -> bool {
    let is = |text: &Sp<String>| variable(&text.value) == Some(variable_name);
    stages.kinds.iter().any(|(kind, _)| {
        let options = kind.options();
        options.profile().is_some_and(is)
            || options.mixes().is_some_and(|words| words.iter().any(is))
    })
}

/// The names of the profiles that a value stands for. The value itself if it names a file or a build,
/// or stands for no profile: the error is reported where the profile is used.
fn profiles_named(asked: &Asked, dir: &Path, value: &str) -> Vec<String> {
    if value.contains(['/', '@']) || value.ends_with(".yaml") || value.ends_with(".yml") {
        return vec![value.to_string()];
    }
    match (asked.named)(dir, value) {
        Ok(profiles) => profiles.iter().map(|p| p.name.clone()).collect(),
        Err(_) => vec![value.to_string()],
    }
}

fn own_axes(stages: &Stages, i: usize, asked: &Asked) -> Result<Vec<Axes>> {
    let pipeline = &stages.pipeline;
    let loaded = &pipeline.stages[i];
    let source = &loaded.source;
    let scope = Scope { vars: &pipeline.vars, env: &pipeline.env };
    let stage = match &loaded.form {
        Form::Written(stage, _) => stage,
        Form::Made(instances) => {
            let mut out: Vec<Axes> = instances.iter().map(|(axes, _)| axes.clone()).collect();
            out.dedup();
            return Ok(out);
        }
    };
    let mut matrix = stage.matrix.clone();
    for (name, values) in &mut matrix {
        let mut expanded = Vec::new();
        for value in scope.expand_words(source, values)? {
            // A text may hold several values, so that `--set profiles=a,b` works.
            for part in value.value.split(',').map(str::trim).filter(|p| !p.is_empty()) {
                let meant = match names_profiles(stages, name) {
                    true => profiles_named(asked, &loaded.dir, part),
                    false => vec![part.to_string()],
                };
                for one in meant {
                    if !expanded.iter().any(|e: &Sp<String>| e.value == one) {
                        expanded.push(Sp { value: one, span: value.span });
                    }
                }
            }
        }
        if expanded.is_empty() {
            return Err(Diag::at(
                source,
                loaded.name.span,
                format!("the matrix variable `{name}` has no values"),
            ));
        }
        values.0 = expanded;
    }
    let many = || {
        Diag::at(
            source,
            loaded.name.span,
            format!("this stage unfolds into over {MAX_NODES} instances"),
        )
    };
    let most = MAX_NODES / stage.foreach.len().max(1);
    let mut out = combinations(&matrix, most).ok_or_else(many)?;
    if !stage.foreach.is_empty() {
        let mut each = Vec::new();
        for old in &out {
            for assignment in &stage.foreach {
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
