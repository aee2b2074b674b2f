//! Finds and reads the files of a model: its own, those that it includes, and the library.
//!
//! Includes are resolved only here, so nothing else looks at files. A built-in model includes only
//! built-in files, and so means the same everywhere. For other models, the folders given with `-I` come
//! first.

use super::ast::{CheckedExpr, File, Ins, InsKind, Variant};
use super::parse::parse;
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::Arch;
use litmake_ops::{Annotations, Tags};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to find and read a model.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Folders in which files are looked for first; built-in models look in none of them.
    pub include_dirs: Vec<PathBuf>,
    /// The variants that are set, besides the name of the dialect.
    pub variants: Vec<String>,
    /// The bell file, which declares annotations and is run before the model.
    pub bell: Option<String>,
    /// Checks that are left out of the model, by the names that they have in it.
    pub skip: Vec<String>,
    /// The dialect of the tests that it is for.
    pub arch: Arch,
}

impl LoadOptions {
    /// Options for a dialect, without folders, variants or a bell file.
    pub fn new(arch: Arch) -> LoadOptions {
        LoadOptions {
            include_dirs: Vec::new(),
            variants: Vec::new(),
            bell: None,
            skip: Vec::new(),
            arch,
        }
    }
}

/// A model with everything that it includes.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name or the path by which it was asked for.
    pub name: String,
    /// The dialect of the tests that it is for.
    pub(crate) arch: Arch,
    /// The variants that are set, besides the name of the dialect.
    pub(crate) variants: Vec<String>,
    /// Checks that were left out, by name.
    skipped: Vec<String>,
    /// The files, its own and those included.
    pub files: Vec<Loaded>,
    /// Indices of the files that are run, in order: the library, the bell file, the model.
    pub(super) roots: Vec<usize>,
    /// The declarations of the bell file, if there is one.
    bell: Option<Annotations>,
    /// The name of the model, if it is built in.
    built_in: Option<&'static str>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name and its text.
    pub source: Source,
    /// Its syntax tree.
    pub ast: Arc<File>,
    /// For each include instruction, by the start of its span, the index of its file.
    pub(super) includes: HashMap<u32, usize>,
}

impl Model {
    /// Whether it forbids anything.
    pub fn requires(&self) -> bool {
        self.files.iter().any(|file| file.ast.requires())
    }

    /// A hash over all files, and over everything else that decides their meaning.
    pub fn fingerprint(&self) -> blake3::Hash {
        let mut hash = blake3::Hasher::new();
        let mut field = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(self.arch.name());
        let mut variants: Vec<_> = self.variants.iter().map(|v| v.to_lowercase()).collect();
        variants.sort();
        variants.dedup();
        field(&variants.join("\n"));
        field(&self.skipped.join("\n"));
        for file in &self.files {
            field(&file.source.text);
            let mut targets: Vec<_> = file.includes.iter().collect();
            targets.sort();
            field(&format!("{targets:?}"));
        }
        field(&format!("{:?}", self.roots));
        hash.finalize()
    }

    /// The file that was asked for.
    pub fn main(&self) -> &Loaded {
        &self.files[*self.roots.last().unwrap_or(&0)]
    }

    /// The name of the model, if it is built in, no bell file adds to it, and it is whole.
    pub fn built_in(&self) -> Option<&'static str> {
        self.built_in.filter(|_| self.bell.is_none() && self.skipped.is_empty())
    }

    /// Whether any file asks for dependencies to be computed by the model.
    pub fn catdep(&self) -> bool {
        self.files.iter().any(|f| f.ast.catdep)
    }

    /// Whether the model has a bell file.
    pub fn has_bell(&self) -> bool {
        self.bell.is_some()
    }

    /// Whether it compares the values of events.
    pub fn compares_values(&self) -> bool {
        self.files.iter().any(|f| f.source.text.contains("different-values"))
    }

    /// The annotations that the bell file declares.
    pub fn annotations(&self) -> Annotations {
        self.bell.clone().unwrap_or_default()
    }

    /// The annotation of a set's events. The name of the set is that of the annotation with a capital.
    pub(super) fn annotation(&self, set: &str) -> Option<Tags> {
        let bell = self.bell.as_ref()?;
        let (first, rest) = set.split_at_checked(1)?;
        let name = bell.names().find(|n| {
            n.get(..1).is_some_and(|f| f.to_ascii_uppercase() == first) && n.get(1..) == Some(rest)
        })?;
        bell.get(name)
    }

    /// Whether a variant is set; case does not count, but for the name of the dialect.
    pub fn has_variant(&self, name: &str) -> bool {
        name == self.arch.name() || self.variants.iter().any(|v| v.eq_ignore_ascii_case(name))
    }
}

/// A source of files. Tests have one with texts of their own.
pub trait Files {
    /// The text of a file, or nothing where there is none.
    fn read(&self, path: &Path) -> std::io::Result<Option<String>>;

    /// Whether the name of a built-in model always means that model, whatever files there are.
    fn built_in_first(&self) -> bool {
        false
    }

    /// Is told that a file was taken in place of a built-in model of another content.
    fn hides(&self, _file: &str, _built_in: &str) {}
}

/// The file system; in a browser there is none, and so no file.
pub struct Disk;

#[cfg(not(unix))]
impl Files for Disk {
    fn read(&self, _: &Path) -> std::io::Result<Option<String>> {
        Ok(None)
    }
}

#[cfg(unix)]
impl Files for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        use litmake_base::{file, local};
        local::within(path)?;
        match file::read(path, file::MAX_TEXT) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(_) if path.is_dir() => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn built_in_first(&self) -> bool {
        litmake_base::local::is_forbidden()
    }

    fn hides(&self, file: &str, built_in: &str) {
        litmake_base::local::hides(file, built_in);
    }
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// The models and libraries that are part of the program, by file name.
        const BUILT_IN: &[(&str, &str)] =
            &[$((concat!($name, ".cat"), include_str!(concat!("../../models/", $name, ".cat")))),*];
    };
}

built_in! {
    "stdlib", "cos", "cos-opt", "cross", "sc", "rc11", "rc11-lb", "c11", "go", "armv8", "aarch64", "aarch32", "armv7",
    "herding-cats", "ppc", "riscv", "spirv-axioms", "spirv", "spirv-opencl", "x86tso", "x86tso-herd2025", "mips", "mips-sync",
    "mips-weak", "wgsl-sc-per-loc", "wgsl-rel-acq", "vulkan", "const-write", "llvm", "llvm-axioms",
    "llvm-lb", "llvm-undef", "ptx", "bpf", "opencl", "litmake-loongarch", "litmake-loongarch-ld-seq-sa", "litmake-s390x",
    "amdgcn", "gfx90a", "gfx942", "gfx11", "gfx12",
}

/// The names of the built-in models, libraries included.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    built_in().map(|(name, _)| name)
}

/// The built-in models, libraries included: name and text.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().map(|(name, text)| (name.trim_end_matches(".cat"), *text))
}

/// Loads a model by its name or path.
pub fn load(name_or_path: &str, options: &LoadOptions) -> Result<Model> {
    load_with(name_or_path, options, &Disk)
}

/// Loads a model by its name or path, with files from a source.
pub fn load_with(name_or_path: &str, options: &LoadOptions, files: &dyn Files) -> Result<Model> {
    let mut loader =
        Loader { options, files, loaded: Vec::new(), by_key: HashMap::new(), open: Vec::new() };
    let main = loader.find_main(name_or_path)?;
    let library = loader.find("stdlib.cat", &main)?.ok_or_else(|| {
        Diag::new("the library stdlib.cat is missing") // It is built in.
    })?;
    let mut roots = vec![loader.read(library)?];
    if let Some(name) = &options.bell {
        let bell = loader.find_bell(name)?;
        roots.push(loader.read(bell)?);
    }
    let built_in = main.built_in;
    roots.push(loader.read(main)?);
    let bell = match &options.bell {
        Some(_) => Some(super::bell::declared(&loader.loaded, roots[1])?),
        None => None,
    };

    let mut loaded: Vec<Loaded> = loader.loaded.into_iter().map(|f| f.1).collect();
    leave_out(&mut loaded, &options.skip, name_or_path)?;

    Ok(Model {
        name: name_or_path.to_string(),
        arch: options.arch,
        variants: options.variants.clone(),
        skipped: options.skip.clone(),
        files: loaded,
        roots,
        bell,
        built_in,
    })
}

/// Takes the checks of these names out of a model's files. A name that no check has is an error.
fn leave_out(files: &mut [Loaded], skip: &[String], model: &str) -> Result<()> {
    if skip.is_empty() {
        return Ok(());
    }
    let mut names = Vec::new();
    for file in files.iter_mut() {
        checks_without(&mut Arc::make_mut(&mut file.ast).body, skip, &mut names);
    }
    match skip.iter().find(|s| !names.contains(s)) {
        None => Ok(()),
        Some(unknown) => {
            let diag = Diag::new(format!("the model {model} has no check named `{unknown}`"));
            Err(match nearest(unknown, names.iter().map(String::as_str)) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None if names.is_empty() => diag.help("none of its checks has a name"),
                None => diag.help(format!("its checks are {}", names.join(", "))),
            })
        }
    }
}

/// Instructions without the checks of these names; all names of checks go into `names`.
fn checks_without(body: &mut Vec<Ins>, skip: &[String], names: &mut Vec<String>) {
    body.retain_mut(|ins| {
        let name = match &mut ins.kind {
            InsKind::Check(_, CheckedExpr { name: Some(name), .. })
            | InsKind::Call { name: Some(name), .. } => name.to_string(),
            InsKind::Match { arms, default, .. } => {
                let bodies = arms.iter_mut().map(|(_, body)| body).chain(default.as_mut());
                bodies.for_each(|body| checks_without(body, skip, names));
                return true;
            }
            InsKind::Procedure { body, .. } => {
                checks_without(body, skip, names);
                return true;
            }
            _ => return true,
        };
        let stays = !skip.contains(&name);
        if !names.contains(&name) {
            names.push(name);
        }
        stays
    });
}

/// A file that was found.
#[derive(Clone, Debug)]
struct FoundFile {
    /// Identifies the file.
    key: String,
    /// Its folder, unless it is built in.
    folder: Option<PathBuf>,
    text: String,
    /// Its name, if it is built in.
    built_in: Option<&'static str>,
}

struct Loader<'a> {
    options: &'a LoadOptions,
    files: &'a dyn Files,
    loaded: Vec<(String, Loaded)>,
    by_key: HashMap<String, usize>,
    /// Keys of the files that are being read, outermost first.
    open: Vec<String>,
}

/// No model has so many files. It bounds what a hostile tree of includes can cost.
const MAX_FILES: usize = 500;
const MAX_NESTING: usize = 40;

impl Loader<'_> {
    fn try_path(&self, path: &Path) -> Result<Option<FoundFile>> {
        let text = self
            .files
            .read(path)
            .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
        Ok(text.map(|text| FoundFile {
            key: path.display().to_string(),
            folder: Some(path.parent().unwrap_or(Path::new("")).to_path_buf()),
            text,
            built_in: None,
        }))
    }

    /// The file of this name in the first of the folders after `-I` that has one.
    fn in_folders(&self, file: &str) -> Result<Option<FoundFile>> {
        for dir in &self.options.include_dirs {
            if let Some(found) = self.try_path(&dir.join(file))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn try_built_in(&self, file: &str) -> Option<FoundFile> {
        let (name, text) = BUILT_IN.iter().find(|(name, _)| *name == file)?;
        Some(FoundFile {
            key: format!("<built-in>/{name}"),
            folder: None,
            text: text.to_string(),
            built_in: Some(name.trim_end_matches(".cat")),
        })
    }

    fn find_main(&self, name: &str) -> Result<FoundFile> {
        let is_path = name.contains('/') || name.ends_with(".cat");
        let file = if is_path { name.to_string() } else { format!("{name}.cat") };
        // With --no-local, the name of a built-in model never means a file here.
        let ours = self.try_built_in(name).filter(|_| self.files.built_in_first());
        if is_path
            && ours.is_none()
            && let Some(found) = self.try_path(Path::new(name))?
        {
            if self.try_built_in(name).is_some_and(|ours| ours.text != found.text) {
                let built_in = name.trim_end_matches(".cat");
                let built_in = format!("the built-in `{built_in}`");
                self.files.hides(&format!("the model {name}"), &built_in);
            }
            return Ok(found);
        }
        if let Some(found) = self.in_folders(&file)? {
            return Ok(found);
        }
        if let Some(found) = self.try_built_in(&file) {
            return Ok(found);
        }
        if !is_path
            && !self.files.built_in_first()
            && let Some(found) = self.try_path(Path::new(name))?
        {
            return Ok(found);
        }
        let diag = Diag::new(format!("there is no model `{name}`"));
        let is_file = name.ends_with(".cat");
        Err(match nearest(name, built_in_names()) {
            Some(near) if !is_file => diag.help(format!("did you mean `{near}`?")),
            _ => diag.help(
                "give the path of a .cat file, the name of a built-in model, or `-I` with the \
                 folder that holds it",
            ),
        })
    }

    fn find_bell(&self, name: &str) -> Result<FoundFile> {
        if let Some(found) = self.try_path(Path::new(name))? {
            return Ok(found);
        }
        if let Some(found) = self.in_folders(name)? {
            return Ok(found);
        }
        Err(Diag::new(format!("there is no bell file `{name}`"))
            .help("give its path, or `-I` with the folder that holds it"))
    }

    /// The file that `name` means inside the file `from`.
    fn find(&self, name: &str, from: &FoundFile) -> Result<Option<FoundFile>> {
        let Some(folder) = &from.folder else {
            return Ok(self.try_built_in(name));
        };
        if let Some(found) = self.in_folders(name)? {
            return Ok(Some(found));
        }
        if let Some(found) = self.try_path(&folder.join(name))? {
            return Ok(Some(found));
        }
        Ok(self.try_built_in(name))
    }

    /// Reads a file and all that it includes, and gives its index.
    fn read(&mut self, found: FoundFile) -> Result<usize> {
        if let Some(&index) = self.by_key.get(&found.key) {
            return Ok(index);
        }
        let source = Source::new(found.key.as_str(), found.text.as_str());
        let ast = Arc::new(parse(&source)?);
        let mut wanted = Vec::new();
        self.includes(&ast.body, &mut wanted);
        self.open.push(found.key.clone());
        let mut includes = HashMap::new();
        for (name, span) in wanted {
            let at = |diag: Box<Diag>| diag.or_at(&source, span);
            if name.as_ref() == "stdlib.cat" {
                continue; // It is there already.
            }
            let Some(target) = self.find(&name, &found).map_err(at)? else {
                return Err(self.missing(&name, &source, span));
            };
            if let Some(start) = self.open.iter().position(|k| *k == target.key) {
                let mut chain = self.open[start..].to_vec();
                chain.push(target.key);
                return Err(Diag::at(&source, span, "this include closes a circle")
                    .help(chain.join(" includes ")));
            }
            if self.open.len() >= MAX_NESTING || self.loaded.len() >= MAX_FILES {
                return Err(Diag::at(&source, span, "too many included files"));
            }
            includes.insert(span.start, self.read(target)?);
        }
        self.open.pop();
        let index = self.loaded.len();
        self.by_key.insert(found.key.clone(), index);
        self.loaded.push((found.key, Loaded { source, ast, includes }));
        Ok(index)
    }

    fn missing(&self, name: &str, source: &Source, span: Span) -> Box<Diag> {
        let diag = Diag::at(source, span, format!("there is no file `{name}`"));
        match nearest(name, BUILT_IN.iter().map(|(n, _)| *n)) {
            Some(near) => diag.help(format!("did you mean \"{near}\"?")),
            None => diag.help("give the folder that holds it with `-I`"),
        }
    }

    /// The includes of instructions that are not ruled out by a variant.
    fn includes(&self, body: &[Ins], out: &mut Vec<(super::ast::Name, Span)>) {
        for ins in body {
            match &ins.kind {
                InsKind::Include(name) => out.push((name.clone(), ins.span)),
                InsKind::If(cond, yes, no) => {
                    self.includes(if self.holds(cond) { yes } else { no }, out);
                }
                InsKind::Procedure { body, .. } | InsKind::Forall { body, .. } => {
                    self.includes(body, out);
                }
                InsKind::Match { arms, default, .. } => {
                    for (_, body) in arms {
                        self.includes(body, out);
                    }
                    if let Some(body) = default {
                        self.includes(body, out);
                    }
                }
                _ => {}
            }
        }
    }

    fn holds(&self, cond: &Variant) -> bool {
        variant_holds(cond, &|name| {
            name == self.options.arch.name()
                || self.options.variants.iter().any(|v| v.eq_ignore_ascii_case(name))
        })
    }
}

pub(super) fn variant_holds(cond: &Variant, set: &dyn Fn(&str) -> bool) -> bool {
    match cond {
        Variant::Name(name) => set(name),
        Variant::Not(v) => !variant_holds(v, set),
        Variant::And(a, b) => variant_holds(a, set) && variant_holds(b, set),
        Variant::Or(a, b) => variant_holds(a, set) || variant_holds(b, set),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_models_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().display().to_string())
            .filter(|name| name.ends_with(".cat"))
            .collect();
        files.sort();
        let mut built_in: Vec<String> = super::BUILT_IN.iter().map(|f| f.0.to_string()).collect();
        built_in.sort();
        assert_eq!(files, built_in);
    }
}
