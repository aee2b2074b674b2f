//! Loads a pipeline: its includes, its variables, and the files that they come from.
//!
//! This file decides nothing about what runs.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use litmake_base::diag::{Diag, Result, Source, Span, nearest};

use super::kinds::{Kind, Stage};
use super::types::PipelineFile;
use super::unread::{Read, check_axes};
use litmake_profile::files::{Files, folder_of, normal};
use litmake_profile::tree::{Tree, Vars, What, typed_or_all};
use litmake_profile::vars::{Scope, Setting};
use litmake_profile::yaml;
use litmake_profile::yaml::Sp;

const MAX_INCLUDE_DEPTH: usize = 32;
/// The largest number and total size of the files that a pipeline includes. A file counts each time
/// that it is included.
const MAX_INCLUDES: usize = 1000;
const MAX_INCLUDED: usize = 32 << 20;

/// A stage, with its file.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedStage {
    /// The file.
    pub source: Source,
    /// The folder that the stage's relative paths start from.
    pub dir: PathBuf,
    /// The name.
    pub name: Sp<String>,
    /// The rest of it.
    pub form: Form,
}

/// The values of the variables that tell an instance from the others of its stage.
pub type Axes = BTreeMap<String, String>;

/// How a stage is given.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a pipeline has a few dozen stages")]
pub enum Form {
    /// As in a file, with variables that are not yet replaced. It is read from its tree again when
    /// their values are known.
    Written(Stage, Tree),
    /// Its instances, without variables. All are of one kind and consume the same stages.
    Made(Vec<(Axes, Kind)>),
}

impl LoadedStage {
    /// The value of a key, as written.
    pub fn key(&self, key: &str) -> Option<&Tree> {
        match &self.form {
            Form::Written(_, tree) => tree.get(key),
            Form::Made(_) => None,
        }
    }
}

/// A pipeline, with the content of the files that it includes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The name in reports; by default that of the file.
    pub name: String,
    /// The purpose of the pipeline, for people.
    pub about: Option<String>,
    /// The folder that the pipeline's own paths start from.
    pub dir: PathBuf,
    /// The file itself, without its includes.
    pub source: Source,
    /// Variables with their values; those of the command line replace those of the file.
    pub vars: BTreeMap<String, Setting>,
    /// The declared environment variables, with the values of those that are set.
    pub env: BTreeMap<String, Option<String>>,
    /// Profile files and globs, with the folder that each is relative to.
    pub profiles: Vec<(PathBuf, Sp<String>, Source)>,
    /// The file of known findings.
    pub baseline: Option<PathBuf>,
    /// The part of the stored results that is made again, of 1.
    pub audit: Option<f64>,
    /// The stages in the order of the files, those of included files first.
    pub stages: Vec<LoadedStage>,
}

impl Pipeline {
    /// A pipeline without stages.
    pub fn empty(path: &Path, source: Source) -> Pipeline {
        let name = path.file_stem().map_or("pipeline".into(), |s| s.to_string_lossy());
        Pipeline {
            name: name.into_owned(),
            about: None,
            dir: folder_of(path),
            source,
            vars: BTreeMap::new(),
            env: BTreeMap::new(),
            profiles: Vec::new(),
            baseline: None,
            audit: None,
            stages: Vec::new(),
        }
    }
}

fn read_source(files: &dyn Files, path: &Path) -> io::Result<Source> {
    Ok(Source::new(path.display().to_string(), files.read(path)?))
}

/// Reads a pipeline; `sets` are the values given on the command line.
pub fn load(files: &dyn Files, path: &Path, sets: &[(String, String)]) -> Result<Pipeline> {
    let source = read_source(files, path)
        .map_err(|e| Diag::new(format!("cannot read the pipeline {}: {e}", path.display())))?;
    load_text(files, path, source, sets)
}

/// Loads a pipeline whose text is `source`.
pub fn load_text(
    files: &dyn Files,
    path: &Path,
    source: Source,
    sets: &[(String, String)],
) -> Result<Pipeline> {
    let mut pipeline = Pipeline::empty(path, source.clone());
    let mut includes = Includes {
        open: vec![normal(path)],
        count: 0,
        bytes: source.text.len(),
        declared: BTreeMap::new(),
    };
    let mut baseline = None;
    take(files, path, source, &mut pipeline, &mut baseline, &mut includes)?;
    let mut read = Read::default();
    // A value that the command line replaces has read what it names.
    for setting in pipeline.vars.values() {
        match setting {
            Setting::Text(text) => read.text(text),
            Setting::List(list) => list.iter().for_each(|text| read.text(text)),
        }
    }
    for (name, value) in sets {
        match pipeline.vars.get_mut(name) {
            Some(old) => *old = old.replaced(value),
            None => {
                let diag = Diag::new(format!("--set {name}: the pipeline has no such variable"));
                let near = nearest(name, pipeline.vars.keys().map(String::as_str));
                return Err(match near {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag.help("variables are declared under `vars`"),
                });
            }
        }
    }
    pipeline.stages.iter().for_each(|stage| read.stage(stage));
    pipeline.profiles.iter().for_each(|(_, pattern, _)| read.text(&pattern.value));
    baseline.iter().for_each(|(_, path, _)| read.text(&path.value));
    for (name, (source, span)) in &includes.declared {
        read.check(name, source, *span)?;
    }
    check_axes(&pipeline.stages, &read)?;
    let scope = Scope { vars: &pipeline.vars, env: &pipeline.env };
    if let Some((dir, path, source)) = baseline {
        let path = scope.expand(&source, &path)?.value;
        pipeline.baseline = (!path.is_empty()).then(|| normal(&dir.join(path)));
    }
    let mut profiles = Vec::new();
    for (dir, pattern, source) in &pipeline.profiles {
        for pattern in scope.expand_words(source, &yaml::Words(vec![pattern.clone()]))? {
            profiles.push((dir.clone(), pattern, source.clone()));
        }
    }
    pipeline.profiles = profiles;
    Ok(pipeline)
}

/// Reads a percentage as a part of 1.
pub fn percentage(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match number {
        Some(number) if number > 0.0 && number <= 100.0 => Ok(number / 100.0),
        _ => Err(format!("`{text}` is no percentage above 0% and up to 100%, such as 1%")),
    }
}

/// The files that were included so far.
struct Includes {
    /// The files that are being read, outermost first.
    open: Vec<PathBuf>,
    count: usize,
    bytes: usize,
    /// Where each variable is declared.
    declared: BTreeMap<String, (Source, Span)>,
}

fn take(
    files: &dyn Files,
    path: &Path,
    source: Source,
    into: &mut Pipeline,
    baseline: &mut Option<(PathBuf, Sp<String>, Source)>,
    includes: &mut Includes,
) -> Result<()> {
    let tree = yaml::tree(&source)?;
    let file: PipelineFile = typed_or_all(&source, &tree, Vars::Later)?;
    let dir = folder_of(path);
    for include in file.include.iter() {
        let target = normal(&dir.join(&include.value));
        if includes.open.contains(&target) {
            return Err(Diag::at(
                &source,
                include.span,
                format!("`{}` includes itself", include.value),
            ));
        }
        if includes.open.len() >= MAX_INCLUDE_DEPTH {
            return Err(Diag::at(&source, include.span, "includes are nested too deep"));
        }
        let included = read_source(files, &target).map_err(|e| {
            Diag::at(&source, include.span, format!("cannot read `{}`: {e}", target.display()))
        })?;
        includes.count += 1;
        includes.bytes += included.text.len();
        if includes.count > MAX_INCLUDES || includes.bytes > MAX_INCLUDED {
            let most = format!("{MAX_INCLUDES} files and {} MiB", MAX_INCLUDED >> 20);
            let message = format!("the pipeline takes in more than {most}");
            return Err(Diag::at(&source, include.span, message)
                .help("each file counts as often as it is included"));
        }
        includes.open.push(target.clone());
        take(files, &target, included, into, baseline, includes)?;
        includes.open.pop();
    }
    if let Some(name) = &file.name {
        into.name = name.value.clone();
    }
    if file.about.is_some() {
        into.about = file.about.clone();
    }
    for (name, value) in &file.vars {
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
            return Err(Diag::at(
                &source,
                value.span,
                format!("`{name}` is no name for a variable"),
            )
            .help("names are made of letters, digits, `_` and `-`"));
        }
        into.vars.insert(name.clone(), value.value.0.clone());
        includes.declared.insert(name.clone(), (source.clone(), value.span));
    }
    for name in file.env.iter() {
        into.env.insert(name.value.clone(), files.env(&name.value));
    }
    for profile in file.profiles.iter() {
        into.profiles.push((dir.clone(), profile.clone(), source.clone()));
    }
    if let Some(part) = file.audit {
        let wrong = |message| Diag::at(&source, part.span, message);
        into.audit = Some(percentage(&part.value).map_err(wrong)?);
    }
    if let Some(path) = file.baseline {
        *baseline = Some((dir.clone(), path, source.clone()));
    }
    let mut named: HashMap<String, usize> =
        into.stages.iter().enumerate().map(|(i, s)| (s.name.value.clone(), i)).collect();
    let trees = match tree.get("stages").map(|t| &t.what) {
        Some(What::List(list)) => list.as_slice(),
        _ => &[],
    };
    for (stage, tree) in file.stages.into_iter().zip(trees) {
        let name = &stage.name;
        if let Some(bad) = name.chars().find(|c| !(c.is_alphanumeric() || "_-.".contains(*c))) {
            return Err(Diag::at(
                &source,
                name.span,
                format!("the stage name `{}` has a `{bad}` in it", name.value),
            )
            .help("names are made of letters, digits, `_`, `-` and `.`"));
        }
        if let Some(other) = named.insert(name.value.clone(), into.stages.len()) {
            let other = &into.stages[other];
            let (line, _) = other.source.line_col(other.name.span.start as usize);
            return Err(Diag::at(
                &source,
                name.span,
                format!("a second stage named `{}`", name.value),
            )
            .help(format!(
                "the first stands in {} line {line}; rename one of them",
                other.source.name
            )));
        }
        into.stages.push(LoadedStage {
            source: source.clone(),
            dir: dir.clone(),
            name: name.clone(),
            form: Form::Written(stage.value, tree.clone()),
        });
    }
    Ok(())
}
