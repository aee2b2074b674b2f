//! Profiles: compiler, flags, target and model, with inheritance and families.
//!
//! This room does not know whether a compiler is there, nor what it does.

pub mod builds;
pub mod files;
pub mod machine;
pub mod mapping;
pub mod tree;
pub mod types;
pub mod vars;
pub mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::local;
use litmake_lang::Language;
use litmake_litmus::{Arch, Features};

use files::{Files, folder_of, normal};
use mapping::Table;
use types::ProfileFile;
use vars::{Scope, Setting};
use yaml::{Scalar, Sp};

const MAX_INHERITANCE: usize = 16;
const MAX_FAMILY: usize = 10_000;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// The profiles that come with the program: path and text of each file.
        const BUILT_IN: &[(&str, &str)] = &[$((
            concat!("profiles/", $name, ".yaml"),
            include_str!(concat!("../../profiles/", $name, ".yaml")),
        )),*];
    };
}

built_in! {
    "clang++-cross", "clang++", "clang-aarch64-march", "clang-aarch64-new", "clang-aarch64-outline",
    "clang-aarch64-pic", "clang-aarch64", "clang-aarch64be", "clang-armv7-pic", "clang-armv7",
    "clang-armv8", "clang-mips64", "clang-mips64el-pic", "clang-mips64el", "clang-mips64r6el",
    "clang-nvptx-sm90", "clang-nvptx",
    "clang-opencl", "clang-ppc64le-cpu", "clang-ppc64le-pic", "clang-ppc64le", "clang-riscv64-march",
    "clang-riscv64-march19", "clang-riscv64-pic", "clang-riscv64", "clang-spirv", "clang-thumb",
    "clang-x86_64-cx16", "clang-x86_64-march", "clang-x86_64-pic", "clang", "g++",
    "gcc-aarch64-march", "gcc-aarch64-pic", "gcc-aarch64", "gcc-armv7-pic", "gcc-armv7",
    "gcc-armv8", "gcc-mips64", "gcc-mips64el-pic", "gcc-mips64el", "gcc-mips64r6el",
    "gcc-ppc64le-cpu", "gcc-ppc64le-pic", "gcc-ppc64le", "gcc-riscv64-pic", "gcc-riscv64",
    "gcc-thumb", "gcc-x86_64-cx16", "gcc-x86_64-march", "gcc-x86_64-pic", "gcc", "llvm-spirv", "llvm-spirv-15", "rustc-cross",
    "rustc", "spirv-opt", "spirv-opt-pass", "table-aarch64-jvm", "table-ppc64le-leading", "table-ppc64le-trailing",
    "table-riscv64-a6c", "table-riscv64-a6s", "table-riscv64-a7", "zig-aarch64", "zig-aarch64be",
    "zig-armv7", "zig-armv8", "zig-mips64el", "zig-nvptx", "zig-ppc64le", "zig-riscv64", "zig-x86_64",
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    /// How the names of its family are made, and the values of the family's variables here.
    pub family: String,
    pub variables: BTreeMap<String, String>,
    /// Its place among the builds of one compiler that its file lists, oldest first.
    pub build: Option<usize>,
    pub compiler: String,
    pub language: Language,
    pub args: Vec<String>,
    /// Commands with their arguments that work on what the compiler wrote.
    pub then: Vec<Vec<String>>,
    pub arch: Arch,
    /// A name, or the path of a `.cat` file.
    pub model: Option<String>,
    pub env: BTreeMap<String, String>,
    /// Files and folders that count as read by the compiler whether or not it is seen to.
    pub inputs: Vec<PathBuf>,
    pub timeout: Duration,
    pub memory_mib: u64,
    pub mapping: BTreeMap<String, Vec<String>>,
    /// What the runtime library finds out about the machine: the values of its variables, and
    /// the functions that it chooses.
    pub runtime: BTreeMap<String, String>,
    pub source: Source,
    pub span: Span,
}

/// The variable of a family that tells versions of one compiler apart.
const VERSION: &str = "version";

impl Profile {
    pub fn version(&self) -> Option<&str> {
        self.variables.get(VERSION).map(String::as_str)
    }

    /// The compiler's name without its target, its version and its folder: `gcc`.
    pub fn tool(&self) -> &str {
        builds::parts(&self.compiler).1
    }

    /// The family of compilers that it is of, whatever it is called for a language or as a part of
    /// other tools: `gcc` for `g++`, `clang` for `clang++` and for zig's.
    pub fn maker(&self) -> &str {
        match self.tool() {
            "g++" | "cpp" => "gcc",
            "clang++" | "zig" => "clang",
            other => other,
        }
    }

    /// As people call it: `clang 16`.
    pub fn compiler_name(&self) -> String {
        match self.version() {
            Some(version) => format!("{} {version}", self.tool()),
            None => self.tool().to_string(),
        }
    }

    /// The name without the version in it, where there is one: `clang-aarch64-O2`.
    pub fn unversioned(&self) -> Option<String> {
        self.version()?;
        let mut out = self.family.replacen(&format!("-${{{VERSION}}}"), "", 1);
        for (name, value) in &self.variables {
            out = out.replace(&format!("${{{name}}}"), value);
        }
        Some(out)
    }

    /// Versions of one compiler in order: by version, and builds as their file lists them.
    pub fn by_age(&self, other: &Profile) -> std::cmp::Ordering {
        let version = |p: &Profile| p.version().unwrap_or("").to_string();
        self.build.cmp(&other.build).then(by_version(&version(self), &version(other)))
    }

    /// Whether the other profile asks the same of another version or another compiler: the same
    /// code, the same model, and the same variables but for the version.
    pub fn is_sibling(&self, other: &Profile) -> bool {
        let without = |p: &Profile| {
            let mut variables = p.variables.clone();
            variables.remove(VERSION);
            variables
        };
        self.version().is_some()
            && other.version().is_some()
            && self.arch == other.arch
            && self.model == other.model
            && without(self) == without(other)
            && (self.family == other.family || self.tool() != other.tool())
    }
}

/// The version of the architecture that `armv8.4-a` and its like name.
fn arm_version(base: &str) -> Option<(u32, u32)> {
    let digits = base.strip_prefix("armv")?;
    let end = digits.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(digits.len());
    let (major, minor) = digits[..end].split_once('.').unwrap_or((&digits[..end], "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether an architecture or a processor has Armv8.4's single 16-byte accesses.
fn has_lse2(base: &str) -> bool {
    const PROCESSORS: [&str; 6] =
        ["neoverse-v", "neoverse-n2", "neoverse-n3", "neoverse-512tvb", "apple-m", "cortex-x2"];
    arm_version(base).is_some_and(|v| v >= (8, 4)) || PROCESSORS.iter().any(|p| base.starts_with(p))
}

/// Whether an architecture or a processor has LDRD and STRD that are single.
fn has_lpae(base: &str) -> bool {
    let processor = base.strip_prefix("cortex-a").and_then(|n| n.parse::<u32>().ok());
    base.starts_with("armv7ve")
        || arm_version(base).is_some_and(|(major, _)| major >= 8)
        || processor.is_some_and(|n| matches!(n, 7 | 12 | 15 | 17 | 32..))
}

/// Versions in order: numbers by value, wherever they stand (`r9` before `r10`), and before words.
pub fn by_version(a: &str, b: &str) -> std::cmp::Ordering {
    let parts = |s: &str| -> Vec<(u64, String)> {
        let runs = s.as_bytes().chunk_by(|x, y| x.is_ascii_digit() == y.is_ascii_digit());
        let text = runs.map(|run| String::from_utf8_lossy(run).into_owned());
        text.map(|run| (run.parse().unwrap_or(u64::MAX), run)).collect()
    };
    parts(a).cmp(&parts(b))
}

impl Profile {
    /// What the machines have that the compiler makes code for, as its arguments say.
    pub fn features(&self) -> Features {
        let mut features = Features::default();
        for arg in &self.args {
            let value = |key: &str| arg.strip_prefix(key).and_then(|v| v.strip_prefix('='));
            let named = value("-march").or_else(|| value("-mcpu")).or_else(|| value("--target"));
            let Some(named) = named.or_else(|| arg.strip_prefix("-mavx").map(|_| "avx")) else {
                continue;
            };
            let mut parts = named.split('+');
            let base = parts.next().unwrap_or("");
            features.lse2 |=
                self.arch == Arch::AArch64 && (parts.any(|p| p == "lse2") || has_lse2(base));
            features.lpae |= self.arch == Arch::Arm && has_lpae(base);
            features.avx |= matches!(base, "avx" | "x86-64-v3" | "x86-64-v4");
        }
        features
    }

    /// What the profile asks of a compiler. Its name and its model are no part of it, so that
    /// renaming a profile or choosing another model compiles nothing anew.
    pub fn fingerprint(&self) -> Digest {
        let mut key = Keyer::new("profile/1").field("compiler", self.compiler.as_bytes());
        for arg in &self.args {
            key.add("arg", arg.as_bytes());
        }
        for command in &self.then {
            key.add("then", b"");
            for word in command {
                key.add("word", word.as_bytes());
            }
        }
        if self.language != Language::C {
            key.add("language", self.language.name().as_bytes());
        }
        key.add("arch", self.arch.name().as_bytes());
        for (name, value) in &self.env {
            key.add("env", name.as_bytes());
            key.add("value", value.as_bytes());
        }
        for (operation, code) in &self.mapping {
            key.add("operation", operation.as_bytes());
            for line in code {
                key.add("line", line.as_bytes());
            }
        }
        for (name, value) in &self.runtime {
            key.add("runtime", name.as_bytes());
            key.add("value", value.as_bytes());
        }
        key.finish()
    }

    /// Whether another profile means the same.
    fn does_as(&self, other: &Profile) -> bool {
        let rest = |p: &Profile| (p.model.clone(), p.timeout, p.memory_mib);
        self.fingerprint() == other.fingerprint() && rest(self) == rest(other)
    }
}

/// All profiles that a pipeline or command can name.
#[derive(Default)]
pub struct Profiles {
    by_name: BTreeMap<String, Arc<Profile>>,
    /// Files that could not be read, by the names that they might have held.
    #[expect(clippy::vec_box, reason = "they come in boxes")]
    broken: Vec<Box<Diag>>,
}

/// Says that profiles are not taken from files.
pub fn forbidden(path: &Path) -> Box<Diag> {
    Diag::new(format!("the profile {} is not one of litmake's own", path.display())).help(format!(
        "leave out --{} (or {}) to take it",
        local::OPTION,
        local::VARIABLE
    ))
}

/// Whether a profile came with the program, and not from a file that says the same.
fn is_built_in(profile: &Profile) -> bool {
    BUILT_IN
        .iter()
        .any(|(name, text)| *profile.source.name == **name && *profile.source.text == **text)
}

impl Profiles {
    /// Reads the built-in profiles, those of some folders, and some files. A later one replaces
    /// an earlier one of the same name.
    pub fn load(files: &dyn Files, folders: &[PathBuf], extra: &[PathBuf]) -> Profiles {
        let mut out = Profiles::default();
        for (name, text) in BUILT_IN {
            out.add(files, Source::new(*name, *text), Path::new(name), false);
        }
        let folders = if local::is_forbidden() { &[] } else { folders };
        let listed = folders
            .iter()
            .flat_map(|f| files.list(f))
            .filter(|p| p.extension().is_some_and(|e| e == "yaml" || e == "yml"));
        for path in listed.chain(extra.iter().cloned()) {
            match files.read(&path) {
                Ok(text) => {
                    let source = Source::new(path.display().to_string(), text);
                    out.add(files, source, &path, true);
                }
                Err(e) => out
                    .broken
                    .push(Diag::new(format!("cannot read the profile {}: {e}", path.display()))),
            }
        }
        out
    }

    fn add(&mut self, files: &dyn Files, source: Source, path: &Path, on_disk: bool) {
        match family(files, &source, path, on_disk) {
            Ok(list) => {
                let mut hidden: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
                for profile in list {
                    let name = profile.name.clone();
                    let new = Arc::new(profile);
                    if let Some(old) = self.by_name.insert(name.clone(), new.clone())
                        && on_disk
                        && is_built_in(&old)
                        && !new.does_as(&old)
                    {
                        hidden.entry(old.source.name.clone()).or_default().push(name);
                    }
                }
                for (shipped, names) in hidden {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let which = format!("{} of litmake's own {shipped}", shorten(&names));
                    local::hides(&format!("the file {}", path.display()), &which);
                }
            }
            Err(e) => self.broken.push(e),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.by_name.values()
    }

    pub fn broken(&self) -> &[Box<Diag>] {
        &self.broken
    }

    /// A profile by name, or the only one of a file; with `@BUILD` behind that, the same with a build
    /// as its compiler.
    pub fn find(&self, files: &dyn Files, dir: &Path, name: &str) -> Result<Arc<Profile>> {
        if let Some(profile) = self.by_name.get(name) {
            return Ok(profile.clone());
        }
        if let Some((like, build)) = name.split_once('@') {
            return self.of_build(files, dir, like, build);
        }
        if name.ends_with(".yaml") || name.ends_with(".yml") || name.contains('/') {
            let path = normal(&dir.join(name));
            if local::is_forbidden() {
                return Err(forbidden(&path));
            }
            let text = files.read(&path).map_err(|e| {
                Diag::new(format!("cannot read the profile {}: {e}", path.display()))
            })?;
            let source = Source::new(path.display().to_string(), text);
            let mut list = family(files, &source, &path, true)?;
            if list.len() != 1 {
                let names: Vec<&str> = list.iter().map(|p| p.name.as_str()).collect();
                return Err(Diag::new(format!(
                    "{} holds a family of {} profiles",
                    path.display(),
                    list.len()
                ))
                .help(format!("name one of them: {}", shorten(&names))));
            }
            return Ok(Arc::new(list.remove(0)));
        }
        // A profile that cannot be read is a likelier cause than a misspelt name.
        if let Some(broken) = self.broken.first() {
            return Err(broken.clone());
        }
        let diag = Diag::new(format!("there is no profile `{name}`"));
        Err(match nearest(name, self.names()) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => {
                let names: Vec<&str> = self.names().collect();
                diag.help(format!("profiles are {}", shorten(&names)))
            }
        })
    }
}

impl Profiles {
    /// The newest profile of a name without a version, such as `clang-aarch64-O2`.
    pub fn newest(&self, name: &str) -> Option<&Arc<Profile>> {
        let named = |p: &&Arc<Profile>| p.unversioned().is_some_and(|n| n == name);
        self.by_name.values().filter(named).max_by(|a, b| a.by_age(b))
    }

    /// A profile, named with its version or without one, with a build as its compiler.
    fn of_build(
        &self,
        files: &dyn Files,
        dir: &Path,
        like: &str,
        build: &str,
    ) -> Result<Arc<Profile>> {
        let like = match self.newest(like) {
            Some(newest) if !self.by_name.contains_key(like) => newest.clone(),
            _ => self.find(files, dir, like)?,
        };
        if build.contains('/') && local::is_forbidden() {
            return Err(Diag::new(format!("the compiler {build} is not one of litmake's own"))
                .help(format!(
                    "leave out --{} (or {}) to take it",
                    local::OPTION,
                    local::VARIABLE
                )));
        }
        let place = match build.contains('/') {
            true => with_slash(&dir.join(build)),
            false => build.to_string(),
        };
        let compiler = builds::program(files, &place, &like.compiler).ok_or_else(|| {
            let (prefix, tool) = builds::parts(&like.compiler);
            Diag::new(format!("the build {build} has no `{prefix}{tool}`"))
                .help("a build is a folder with a folder `bin`, or a command")
        })?;
        let mut out = Profile::clone(&like);
        out.name = format!("{}@{build}", like.unversioned().unwrap_or_else(|| like.name.clone()));
        out.compiler = compiler;
        out.variables.insert(VERSION.into(), builds::version(build).to_string());
        Ok(Arc::new(out))
    }
}

/// A path that no command can be taken for.
fn with_slash(path: &Path) -> String {
    let path = normal(path).display().to_string();
    if path.contains('/') { path } else { format!("./{path}") }
}

fn shorten(names: &[&str]) -> String {
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{shown}, and {} more", names.len() - 8) } else { shown }
}

/// The keys of a file with those of what it extends under them.
fn inherited(
    files: &dyn Files,
    source: &Source,
    path: &Path,
    on_disk: bool,
    depth: usize,
) -> Result<(ProfileFile, Source, PathBuf)> {
    let mut file: ProfileFile = yaml::read(source)?;
    let dir = folder_of(path);
    if let Some(model) = &mut file.model
        && model.value.ends_with(".cat")
        && on_disk
    {
        model.value = normal(&dir.join(&model.value)).display().to_string();
    }
    if let Some(compiler) = &mut file.compiler
        && compiler.value.starts_with('.')
        && on_disk
    {
        compiler.value = dir.join(&compiler.value).display().to_string();
    }
    for input in &mut file.inputs.0 {
        if on_disk && !input.value.starts_with('$') {
            input.value = normal(&dir.join(&input.value)).display().to_string();
        }
    }
    for build in &mut file.builds.0 {
        if on_disk {
            build.value = with_slash(&dir.join(&build.value));
        }
    }
    let Some(base_name) = file.extends.clone() else {
        return Ok((file, source.clone(), path.to_path_buf()));
    };
    let at = |message: String| Diag::at(source, base_name.span, message);
    if depth >= MAX_INHERITANCE {
        return Err(at("profiles extend each other in a circle".into()));
    }
    let mut base_path = normal(&dir.join(&base_name.value));
    if base_path.extension().is_none() {
        base_path.set_extension("yaml");
    }
    let built_in = BUILT_IN.iter().find(|(n, _)| Path::new(n).file_name() == base_path.file_name());
    // What comes with the program is not changed by what lies around.
    let read = match on_disk {
        true => files.read(&base_path),
        false => Err(std::io::ErrorKind::NotFound.into()),
    };
    let (base_source, base_on_disk) = match (read, built_in) {
        (Ok(text), _) => (Some(Source::new(base_path.display().to_string(), text)), true),
        (Err(_), Some((n, text))) => (Some(Source::new(*n, *text)), false),
        (Err(_), None) => (None, false),
    };
    let base = match base_source {
        Some(source) => inherited(files, &source, &base_path, base_on_disk, depth + 1)?.0,
        None => member(files, &base_name.value, depth + 1).ok_or_else(|| {
            at(format!("there is no profile `{}`, and no file", base_name.value))
                .help(format!("the file would be {}", base_path.display()))
        })?,
    };
    let mut args = base.args.0;
    args.extend(file.args.0);
    file.args.0 = args;
    file.then.0.splice(..0, base.then.0);
    file.inputs.0.splice(..0, base.inputs.0);
    if file.builds.is_empty() {
        file.builds = base.builds;
    }
    file.compiler = file.compiler.or(base.compiler);
    file.language = file.language.or(base.language);
    file.arch = file.arch.or(base.arch);
    file.model = file.model.or(base.model);
    file.timeout = file.timeout.or(base.timeout);
    file.memory = file.memory.or(base.memory);
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
    Ok((file, source.clone(), path.to_path_buf()))
}

/// The built-in family that has a profile of this name, with its matrix cut down to that one.
fn member(files: &dyn Files, name: &str, depth: usize) -> Option<ProfileFile> {
    BUILT_IN.iter().find_map(|(path, text)| {
        let source = Source::new(*path, *text);
        let (mut file, source, _) =
            inherited(files, &source, Path::new(path), false, depth).ok()?;
        let nothing = BTreeMap::new();
        let named = |variables: &BTreeMap<String, String>| {
            let text = |(n, v): (&String, &String)| (n.clone(), Setting::Text(v.clone()));
            let vars = variables.iter().map(text).collect();
            let scope = Scope { vars: &vars, env: &nothing };
            scope.expand(&source, &file.name).is_ok_and(|n| n.value == name)
        };
        let chosen = combinations(&file.matrix, MAX_FAMILY)?.into_iter().find(named)?;
        for (variable, values) in &mut file.matrix {
            values.0.retain(|v| chosen.get(variable) == Some(&v.value));
        }
        Some(file)
    })
}

/// Every combination of the values of a matrix, the last variable changing fastest; nothing where
/// there are more than `most`.
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

/// The names of the builds that a file lists, and the compiler in each.
fn listed_builds(
    files: &dyn Files,
    file: &ProfileFile,
    at: &dyn Fn(Span, String) -> Box<Diag>,
) -> Result<Vec<(String, String)>> {
    let mut out: Vec<(String, String)> = Vec::new();
    let Some(compiler) = file.compiler.as_ref().filter(|_| !file.builds.is_empty()) else {
        return Ok(out);
    };
    for build in file.builds.iter() {
        let all = builds::all(files, &build.value, &compiler.value);
        if all.is_empty() {
            let (prefix, tool) = builds::parts(&compiler.value);
            return Err(at(
                build.span,
                format!("there is no build with `{prefix}{tool}` in {}", build.value),
            )
            .help("name a folder with a folder `bin`, or a folder of such folders"));
        }
        for (name, folder) in all {
            let Some(program) = builds::program(files, &folder, &compiler.value) else { continue };
            if out.iter().any(|(other, _)| *other == name) {
                return Err(at(build.span, format!("two builds are called `{name}`"))
                    .help("a build is called by the name of its folder"));
            }
            out.push((name, program));
        }
    }
    Ok(out)
}

/// The profiles that a file stands for.
fn family(files: &dyn Files, source: &Source, path: &Path, on_disk: bool) -> Result<Vec<Profile>> {
    let (mut file, source, _) = inherited(files, source, path, on_disk, 0)?;
    let at = |span: Span, message: String| Diag::at(&source, span, message);
    let builds = listed_builds(files, &file, &at)?;
    if !builds.is_empty() {
        let named = |(name, _): &(String, String)| Sp { value: name.clone(), span: file.name.span };
        file.matrix.insert(VERSION.into(), yaml::Words(builds.iter().map(named).collect()));
    }
    let file = file;
    let all = combinations(&file.matrix, MAX_FAMILY)
        .ok_or_else(|| at(file.name.span, format!("this family has over {MAX_FAMILY} profiles")))?;
    // A base that is only there to be extended has no compiler, and gives no profile.
    let (Some(compiler), Some(arch)) = (&file.compiler, &file.arch) else {
        let missing = if file.compiler.is_none() { "compiler" } else { "arch" };
        if file.compiler.is_none() && file.mapping.is_empty() {
            return Ok(Vec::new());
        }
        return Err(at(
            file.name.span,
            format!("the profile `{}` has no `{missing}`", file.name.value),
        ));
    };
    let nothing = BTreeMap::new();
    let mut out: Vec<Profile> = Vec::new();
    let mut names = BTreeSet::new();
    for variables in &all {
        let vars = variables.iter().map(|(n, v)| (n.clone(), Setting::Text(v.clone()))).collect();
        let scope = Scope { vars: &vars, env: &nothing };
        let expand = |s: &Sp<String>| scope.expand(&source, s).map(|s| s.value);
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
            // An argument that a variable leaves empty is no argument.
            if !arg.is_empty() {
                args.push(arg);
            }
        }
        let mut then = Vec::new();
        for command in file.then.iter() {
            let text = expand(command)?;
            let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
            let names = |place: &str| words.iter().any(|w| w.contains(place));
            if !words.is_empty() && !(names("{in}") && names("{out}")) {
                return Err(at(command.span, format!("`{text}` does not say what it works on"))
                    .help("write `{in}` and `{out}` where the names of its files stand"));
            }
            if !words.is_empty() {
                then.push(words);
            }
        }
        let mapping: BTreeMap<String, Vec<String>> = file
            .mapping
            .iter()
            .map(|(k, v)| Ok((k.clone(), v.iter().map(expand).collect::<Result<_>>()?)))
            .collect::<Result<_>>()?;
        Table::read(&mapping).map_err(|e| at(file.name.span, format!("mapping: {e}")))?;
        out.push(Profile {
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
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_have_an_order() {
        let list = ["0.9.1", "0.13.0", "9", "13", "22", "22-rc1", "r9", "r10", "r100", "trunk"];
        let mut sorted = list;
        sorted.reverse();
        sorted.sort_by(|a, b| super::by_version(a, b));
        assert_eq!(sorted, list);
    }

    #[test]
    fn every_file_of_the_profiles_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("profiles/{}", entry.unwrap().file_name().display()))
            .collect();
        files.sort();
        let mut built_in: Vec<String> = super::BUILT_IN.iter().map(|f| f.0.to_string()).collect();
        built_in.sort();
        assert_eq!(files, built_in);
    }
}
