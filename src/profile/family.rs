//! Reads profile files: the keys of each, completed by those of the profile that it extends, and
//! the family of profiles that they define.
//!
//! This file does not know which other profiles exist.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::files::{Files, folder_of, normal};
use super::mapping::Table;
use super::types::ProfileFile;
use super::vars::{Scope, Setting};
use super::yaml::{self, Scalar, Sp};
use super::{Profile, VERSION, builds, shipped, with_slash};
use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_lang::Language;

const MAX_INHERITANCE: usize = 16;
pub(super) const MAX_FAMILY: usize = 10_000;

/// The profiles that a file defines.
pub type Family = Arc<[Arc<Profile>]>;

/// Reads profile files. Planning has an implementation that remembers files; the one for [`Files`]
/// reads everything anew.
pub trait Library {
    /// The files below.
    fn files(&self) -> &dyn Files;

    /// The keys in a file, without those of the profile that it extends.
    fn own(&self, path: &Path) -> Result<Arc<Keys>>;

    /// The keys of a file, completed by those of the profile that it extends.
    fn chain(&self, path: &Path) -> Result<Arc<Keys>>;

    /// The profiles that a file defines.
    fn family(&self, path: &Path) -> Result<Family>;
}

/// The keys of a profile file, and the text that diagnostics point into.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys {
    /// The keys, as written.
    pub file: ProfileFile,
    /// The file.
    pub source: Source,
}

impl Keys {
    /// Parses the keys in a text.
    pub fn read(source: Source) -> Result<Keys> {
        Ok(Keys { file: yaml::read(&source)?, source })
    }

    /// Completes these keys by those of a base.
    pub(super) fn over(mut self, base: &Keys) -> Keys {
        let (file, base) = (&mut self.file, base.file.clone());
        let mut args = base.args.0;
        args.append(&mut file.args.0);
        file.args.0 = args;
        file.then.0.splice(..0, base.then.0);
        file.inputs.0.splice(..0, base.inputs.0);
        file.libraries.0.splice(..0, base.libraries.0);
        if file.builds.is_empty() {
            file.builds = base.builds;
        }
        file.compiler = file.compiler.take().or(base.compiler);
        file.language = file.language.take().or(base.language);
        file.kernel = file.kernel.take().or(base.kernel);
        file.arch = file.arch.take().or(base.arch);
        file.model = file.model.take().or(base.model);
        file.timeout = file.timeout.take().or(base.timeout);
        file.memory = file.memory.take().or(base.memory);
        for (name, value) in base.matrix {
            file.matrix.entry(name).or_insert(value);
        }
        for (name, value) in base.env {
            file.env.entry(name).or_insert(value);
        }
        for (name, value) in base.mapping {
            file.mapping.entry(name).or_insert(value);
        }
        for (name, value) in base.runtime {
            file.runtime.entry(name).or_insert(value);
        }
        self
    }
}

/// The keys in a file, without those of the profile that it extends.
pub fn own(files: &dyn Files, path: &Path) -> Result<Keys> {
    let text = files
        .read(path)
        .map_err(|e| Diag::new(format!("cannot read the profile {}: {e}", path.display())))?;
    Keys::read(Source::new(path.display().to_string(), text))
}

/// The keys of a file, completed by those of the profile that it extends. Relative paths are
/// changed to start from the working directory.
pub fn chain(library: &dyn Library, path: &Path) -> Result<Keys> {
    let mut own = Keys::clone(&*library.own(path)?);
    place(&mut own.file, &folder_of(path));
    let Some(base) = own.file.extends.clone() else { return Ok(own) };
    let at = |e: Box<Diag>| e.or_at(&own.source, base.span);
    let path = base_path(path, &base.value);
    let under = match library.files().read(&path) {
        Ok(_) => Keys::clone(&*library.chain(&path).map_err(at)?),
        Err(_) => match shipped::file(&path) {
            Some(keys) => keys?,
            None => shipped::member(&base.value).ok_or_else(|| at(no_base(&base.value, &path)))?,
        },
    };
    Ok(own.over(&under))
}

/// Changes paths that are relative to a file, so that they start from the working directory.
fn place(file: &mut ProfileFile, dir: &Path) {
    if let Some(model) = &mut file.model
        && model.value.ends_with(".cat")
    {
        model.value = normal(&dir.join(&model.value)).display().to_string();
    }
    if let Some(compiler) = &mut file.compiler
        && compiler.value.starts_with('.')
    {
        compiler.value = dir.join(&compiler.value).display().to_string();
    }
    if let Some(kernel) = &mut file.kernel
        && !kernel.value.starts_with('$')
    {
        kernel.value = normal(&dir.join(&kernel.value)).display().to_string();
    }
    for input in &mut file.inputs.0 {
        if !input.value.starts_with('$') {
            input.value = normal(&dir.join(&input.value)).display().to_string();
        }
    }
    for library in &mut file.libraries.0 {
        // A name alone is the compiler's to find.
        if library.value.contains('/') && !library.value.starts_with('$') {
            let path = normal(&dir.join(&library.value)).display().to_string();
            // It stays one that is no name alone.
            library.value = if path.contains('/') { path } else { format!("./{path}") };
        }
    }
    for build in &mut file.builds.0 {
        build.value = with_slash(&dir.join(&build.value));
    }
}

/// The path of the file that `extends: name` in the file at `path` would mean.
pub(super) fn base_path(path: &Path, name: &str) -> PathBuf {
    let mut out = normal(&folder_of(path).join(name));
    if out.extension().is_none() {
        out.set_extension("yaml");
    }
    out
}

/// The error about a profile that extends itself. The caller adds its place.
pub fn circle() -> Box<Diag> {
    Diag::new("profiles extend each other in a circle")
}

pub(super) fn no_base(name: &str, path: &Path) -> Box<Diag> {
    Diag::new(format!("there is no profile `{name}`, and no file"))
        .help(format!("the file would be {}", path.display()))
}

impl<F: Files> Library for F {
    fn files(&self) -> &dyn Files {
        self
    }

    fn own(&self, path: &Path) -> Result<Arc<Keys>> {
        own(self, path).map(Arc::new)
    }

    fn chain(&self, path: &Path) -> Result<Arc<Keys>> {
        Reading { files: self, depth: Cell::new(0) }.chain(path)
    }

    fn family(&self, path: &Path) -> Result<Family> {
        expand(self.files(), &*self.chain(path)?)
    }
}

/// Reads chains of profiles, and stops at a circle.
struct Reading<'a> {
    files: &'a dyn Files,
    depth: Cell<usize>,
}

impl Library for Reading<'_> {
    fn files(&self) -> &dyn Files {
        self.files
    }

    fn own(&self, path: &Path) -> Result<Arc<Keys>> {
        own(self.files, path).map(Arc::new)
    }

    fn chain(&self, path: &Path) -> Result<Arc<Keys>> {
        if self.depth.get() > MAX_INHERITANCE {
            return Err(circle());
        }
        self.depth.set(self.depth.get() + 1);
        chain(self, path).map(Arc::new)
    }

    fn family(&self, path: &Path) -> Result<Family> {
        expand(self.files(), &*self.chain(path)?)
    }
}

/// Every combination of the values of a matrix; the last variable changes fastest. None if there
/// are more than `most`.
pub fn combinations(
    matrix: &BTreeMap<String, yaml::Words>,
    most: usize,
) -> Option<Vec<BTreeMap<String, String>>> {
    let count = matrix.values().try_fold(1usize, |n, values| n.checked_mul(values.0.len()))?;
    if count > most {
        return None;
    }
    let mut out = vec![BTreeMap::new()];
    for (name, values) in matrix {
        let mut next = Vec::with_capacity(out.len() * values.0.len());
        for old in &out {
            for value in values.iter() {
                let mut new = old.clone();
                new.insert(name.clone(), value.value.clone());
                next.push(new);
            }
        }
        out = next;
    }
    Some(out)
}

/// The names of the builds that a file lists, and the compiler of each.
fn listed_builds(files: &dyn Files, Keys { file, source }: &Keys) -> Result<Vec<(String, String)>> {
    let mut out: Vec<(String, String)> = Vec::new();
    let Some(compiler) = file.compiler.as_ref().filter(|_| !file.builds.is_empty()) else {
        return Ok(out);
    };
    for build in file.builds.iter() {
        let all = builds::all(files, &build.value, &compiler.value);
        if all.is_empty() {
            let (prefix, tool) = builds::parts(&compiler.value);
            return Err(Diag::at(
                source,
                build.span,
                format!("there is no build with `{prefix}{tool}` in {}", build.value),
            )
            .help("name a folder with a folder `bin`, or a folder of such folders"));
        }
        for (name, folder) in all {
            let Some(program) = builds::program(files, &folder, &compiler.value) else { continue };
            if out.iter().any(|(other, _)| *other == name) {
                return Err(Diag::at(
                    source,
                    build.span,
                    format!("two builds are called `{name}`"),
                )
                .help("a build is called by the name of its folder"));
            }
            out.push((name, program));
        }
    }
    Ok(out)
}

/// The profiles that a file with these keys defines, with one for each build that it lists.
pub fn expand(files: &dyn Files, keys: &Keys) -> Result<Family> {
    let builds = listed_builds(files, keys)?;
    if builds.is_empty() {
        return with_builds(keys, &builds);
    }
    let mut keys = keys.clone();
    let span = keys.file.name.span;
    let named = |(name, _): &(String, String)| Sp { value: name.clone(), span };
    keys.file.matrix.insert(VERSION.into(), yaml::Words(builds.iter().map(named).collect()));
    with_builds(&keys, &builds)
}

/// The profiles of a file. `builds` are the names of the builds that it lists, and the compiler of
/// each.
pub(super) fn with_builds(keys: &Keys, builds: &[(String, String)]) -> Result<Family> {
    let Keys { file, source } = keys;
    let at = |span: Span, message: String| Diag::at(source, span, message);
    let all = combinations(&file.matrix, MAX_FAMILY)
        .ok_or_else(|| at(file.name.span, format!("this family has over {MAX_FAMILY} profiles")))?;
    // A base that only serves to be extended has no compiler, and defines no profile.
    let (Some(compiler), Some(arch)) = (&file.compiler, &file.arch) else {
        let missing = if file.compiler.is_none() { "compiler" } else { "arch" };
        if file.compiler.is_none() && file.mapping.is_empty() {
            return Ok(Family::default());
        }
        return Err(at(
            file.name.span,
            format!("the profile `{}` has no `{missing}`", file.name.value),
        ));
    };
    let nothing = BTreeMap::new();
    let mut out: Vec<Arc<Profile>> = Vec::new();
    let mut names = BTreeSet::new();
    for variables in &all {
        let vars = variables.iter().map(|(n, v)| (n.clone(), Setting::Text(v.clone()))).collect();
        let scope = Scope { vars: &vars, env: &nothing };
        let expand = |s: &Sp<String>| scope.expand(source, s).map(|s| s.value);
        let scalar = |s: &Sp<Scalar>| expand(&Sp { value: s.value.0.clone(), span: s.span });
        let build = variables.get(VERSION).and_then(|v| builds.iter().position(|(n, _)| n == v));
        let compiler = match build {
            Some(n) => builds[n].1.clone(),
            None => expand(compiler)?,
        };
        let name = expand(&file.name)?;
        if !names.insert(name.clone()) {
            return Err(at(
                file.name.span,
                format!("two profiles of this family are named `{name}`"),
            )
            .help("put every variable of the matrix into the name"));
        }
        let mut args = Vec::new();
        for arg in file.args.iter() {
            let arg = expand(arg)?;
            // An argument that a variable leaves empty is left out.
            if !arg.is_empty() {
                args.push(arg);
            }
        }
        let then = commands(keys, &expand)?;
        let mapping: BTreeMap<String, Vec<String>> = file
            .mapping
            .iter()
            .map(|(k, v)| Ok((k.clone(), v.iter().map(expand).collect::<Result<_>>()?)))
            .collect::<Result<_>>()?;
        Table::read(&mapping).map_err(|e| at(file.name.span, format!("mapping: {e}")))?;
        out.push(Arc::new(Profile {
            name,
            family: file.name.value.clone(),
            variables: variables.clone(),
            build,
            compiler,
            language: match &file.language {
                None => Language::C,
                Some(word) => Language::named(&expand(word)?).ok_or_else(|| {
                    let names: Vec<&str> = Language::NAMES.iter().map(|(n, _)| *n).collect();
                    at(word.span, format!("`{}` is no language of tests", word.value))
                        .help(format!("languages are {}", names.join(", ")))
                })?,
            },
            kernel: file.kernel.as_ref().map(expand).transpose()?.map(PathBuf::from),
            args,
            then,
            arch: arch.value.arch(),
            model: file.model.as_ref().map(expand).transpose()?,
            env: file
                .env
                .iter()
                .map(|(k, v)| Ok((k.clone(), scalar(v)?)))
                .collect::<Result<_>>()?,
            inputs: file
                .inputs
                .iter()
                .map(|input| Ok(PathBuf::from(expand(input)?)))
                .collect::<Result<_>>()?,
            libraries: file.libraries.iter().map(expand).collect::<Result<_>>()?,
            timeout: Duration::from_secs(file.timeout.as_ref().map_or(60, |t| t.value)),
            memory_mib: file.memory.as_ref().map_or(4096, |m| m.value),
            runtime: file
                .runtime
                .iter()
                .map(|(k, v)| Ok((k.clone(), scalar(v)?)))
                .collect::<Result<_>>()?,
            mapping,
            source: source.clone(),
            span: file.name.span,
        }));
    }
    Ok(out.into())
}

/// The commands that work on the compiler's output, with their variables replaced.
fn commands(
    Keys { file, source }: &Keys,
    expand: &dyn Fn(&Sp<String>) -> Result<String>,
) -> Result<Vec<Vec<String>>> {
    let mut then = Vec::new();
    for command in file.then.iter() {
        let text = expand(command)?;
        let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        let names = |place: &str| words.iter().any(|w| w.contains(place));
        if !(words.is_empty() || names("{in}") && names("{out}")) {
            return Err(Diag::at(
                source,
                command.span,
                format!("`{text}` does not say what it works on"),
            )
            .help("write `{in}` and `{out}` where the names of its files stand"));
        }
        if !words.is_empty() {
            then.push(words);
        }
    }
    Ok(then)
}
