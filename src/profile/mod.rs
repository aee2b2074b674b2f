//! Profiles: compiler, arguments, target and model, with inheritance and families.
//!
//! This crate does not know whether a compiler is installed, or what it does.

pub mod builds;
pub mod family;
pub mod files;
pub mod machine;
pub mod mapping;
mod naming;
pub mod shipped;
pub mod tree;
pub mod types;
pub mod vars;
pub mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::local;
use litmake_lang::Language;
use litmake_litmus::{Arch, Features};

use family::{Family, Library};
use files::normal;

/// A compiler with its arguments, target and model; a file with a matrix defines several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name in pipelines and on the command line.
    pub name: String,
    /// The pattern of the names in its family, such as `clang-${version}-O2`.
    pub family: String,
    /// The values of the family's variables in this profile.
    pub variables: BTreeMap<String, String>,
    /// Its position among the builds that its file lists, oldest first.
    pub build: Option<usize>,
    /// The compiler: a command or a path.
    pub compiler: String,
    /// The language of the tests that the compiler gets.
    pub language: Language,
    /// The folder of the kernel whose headers the compiler gets, if the profile names one.
    pub kernel: Option<PathBuf>,
    /// The compiler's arguments, with variables replaced.
    pub args: Vec<String>,
    /// Commands that process the compiler's output, with their arguments.
    pub then: Vec<Vec<String>>,
    /// The dialect of the code.
    pub arch: Arch,
    /// The model of the code: a name, or the path of a `.cat` file.
    pub model: Option<String>,
    /// The environment variables of the compiler.
    pub env: BTreeMap<String, String>,
    /// Files and folders that count as read by the compiler, even if tracing does not see that.
    pub inputs: Vec<PathBuf>,
    /// Static libraries that the code is linked with, before those that the compiler always links: names, or
    /// paths.
    pub libraries: Vec<String>,
    /// The time limit for one run of the compiler.
    pub timeout: Duration,
    /// The memory limit of the compiler, in MiB.
    pub memory_mib: u64,
    /// A table of code that replaces the compiler's own for some operations ([`mapping`]).
    pub mapping: BTreeMap<String, Vec<String>>,
    /// The properties of the machine that the runtime library detects: values of its variables, and
    /// functions that it chooses.
    pub runtime: BTreeMap<String, String>,
    /// The file that defines it.
    pub source: Source,
    /// The place of its name in the file.
    pub span: Span,
}

/// The variable of a family that holds the version of the compiler.
const VERSION: &str = "version";

impl Profile {
    /// The version of the compiler, if the family has several.
    pub fn version(&self) -> Option<&str> {
        self.variables.get(VERSION).map(String::as_str)
    }

    /// The name of the compiler without target, version and folder: `gcc`.
    pub fn tool(&self) -> &str {
        builds::parts(&self.compiler).1
    }

    /// The family of compilers: `gcc` for `g++` too, `clang` for `clang++` and zig too.
    pub fn maker(&self) -> &str {
        match self.tool() {
            "g++" | "cpp" => "gcc",
            "clang++" | "zig" => "clang",
            other => other,
        }
    }

    /// The name of the compiler for people: `clang 16`.
    pub fn compiler_name(&self) -> String {
        match self.version() {
            Some(version) => format!("{} {version}", self.tool()),
            None => self.tool().to_string(),
        }
    }

    /// The name without the version: `clang-aarch64-O2`. None if the profile has no version.
    pub fn unversioned(&self) -> Option<String> {
        self.version()?;
        let mut out = self.family.replacen(&format!("-${{{VERSION}}}"), "", 1);
        for (name, value) in &self.variables {
            out = out.replace(&format!("${{{name}}}"), value);
        }
        Some(out)
    }

    /// The order of the versions of one compiler: by version, and builds as their file lists them.
    pub fn by_age(&self, other: &Profile) -> std::cmp::Ordering {
        let version = |p: &Profile| p.version().unwrap_or("").to_string();
        self.build.cmp(&other.build).then(by_version(&version(self), &version(other)))
    }

    /// Whether the other profile differs only in the version or the compiler: it has the same
    /// dialect, the same model, and the same variables apart from the version.
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
            // Only profiles for the kernel read the kernel's C.
            && (self.language == Language::Kernel) == (other.language == Language::Kernel)
    }
}

/// The version of the architecture in `armv8.4-a` and similar names.
fn arm_version(base: &str) -> Option<(u32, u32)> {
    let digits = base.strip_prefix("armv")?;
    let end = digits.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(digits.len());
    let (major, minor) = digits[..end].split_once('.').unwrap_or((&digits[..end], "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether an architecture or a processor has the single 16-byte accesses of Armv8.4.
fn has_lse2(base: &str) -> bool {
    const PROCESSORS: [&str; 6] =
        ["neoverse-v", "neoverse-n2", "neoverse-n3", "neoverse-512tvb", "apple-m", "cortex-x2"];
    arm_version(base).is_some_and(|v| v >= (8, 4)) || PROCESSORS.iter().any(|p| base.starts_with(p))
}

/// Whether an architecture or a processor has single LDRD and STRD.
fn has_lpae(base: &str) -> bool {
    let processor = base.strip_prefix("cortex-a").and_then(|n| n.parse::<u32>().ok());
    base.starts_with("armv7ve")
        || arm_version(base).is_some_and(|(major, _)| major >= 8)
        || processor.is_some_and(|n| matches!(n, 7 | 12 | 15 | 17 | 32..))
}

/// The order of versions: numbers by value, wherever they stand (`r9` before `r10`), and before
/// words.
pub fn by_version(a: &str, b: &str) -> std::cmp::Ordering {
    let parts = |s: &str| -> Vec<(u64, String)> {
        let runs = s.as_bytes().chunk_by(|x, y| x.is_ascii_digit() == y.is_ascii_digit());
        let text = runs.map(|run| String::from_utf8_lossy(run).into_owned());
        text.map(|run| (run.parse().unwrap_or(u64::MAX), run)).collect()
    };
    parts(a).cmp(&parts(b))
}

impl Profile {
    /// The features of the target machine, as the compiler's arguments imply them.
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

    /// A digest of everything that decides the compiler's code. The profile's name and its model
    /// are left out, so that renaming it or choosing another model compiles nothing again.
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
        if let Some(kernel) = &self.kernel {
            key.add("kernel", kernel.as_os_str().as_encoded_bytes());
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
        for library in &self.libraries {
            key.add("library", library.as_bytes());
        }
        for (name, value) in &self.runtime {
            key.add("runtime", name.as_bytes());
            key.add("value", value.as_bytes());
        }
        key.finish()
    }

    /// Whether another profile has the same meaning under whatever name.
    fn does_as(&self, other: &Profile) -> bool {
        let rest = |p: &Profile| (p.model.clone(), p.timeout, p.memory_mib);
        self.fingerprint() == other.fingerprint() && rest(self) == rest(other)
    }
}

/// All profiles that a pipeline or a command can name. litmake's own are many: one is made when it is asked for, and
/// all of them only for who looks through them.
#[derive(Default)]
pub struct Profiles {
    /// Those of files on the disk.
    own: BTreeMap<String, Arc<Profile>>,
    /// Those and litmake's.
    all: OnceLock<BTreeMap<String, Arc<Profile>>>,
    /// Errors of files that could not be read, which might define a missing name.
    #[expect(clippy::vec_box, reason = "they come in boxes")]
    broken: Vec<Box<Diag>>,
}

impl PartialEq for Profiles {
    fn eq(&self, other: &Profiles) -> bool {
        self.own == other.own && self.broken == other.broken
    }
}

/// The error that a profile from a file is forbidden (`--no-local`).
pub fn forbidden(path: &Path) -> Box<Diag> {
    Diag::new(format!("the profile {} is not one of litmake's own", path.display())).help(format!(
        "leave out --{} (or {}) to take it",
        local::OPTION,
        local::VARIABLE
    ))
}

impl Profiles {
    /// Reads the built-in profiles, those in some folders, and some more files. A later profile
    /// replaces an earlier one of the same name.
    pub fn load(library: &dyn Library, folders: &[PathBuf], extra: &[PathBuf]) -> Profiles {
        let mut out = Profiles::default();
        let folders = if local::is_forbidden() { &[] } else { folders };
        let listed = folders
            .iter()
            .flat_map(|f| library.files().list(f))
            .filter(|p| p.extension().is_some_and(|e| e == "yaml" || e == "yml"));
        for path in listed.chain(extra.iter().cloned()) {
            match library.family(&path) {
                Ok(family) => out.add(&family, &path),
                Err(e) => out.broken.push(e),
            }
        }
        out
    }

    /// Adds the profiles of a file on the disk, and warns if they hide different built-in ones.
    fn add(&mut self, family: &Family, path: &Path) {
        let mut hidden: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
        for (name, new) in by_name(family) {
            let before = self.own.insert(name.clone(), new.clone());
            if let (None, Some(old)) = (before, shipped::profile(&name))
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

    fn all(&self) -> &BTreeMap<String, Arc<Profile>> {
        self.all.get_or_init(|| {
            let shipped = shipped::families().iter().filter_map(|(_, family)| family.as_ref().ok());
            let mut out: BTreeMap<_, _> = shipped.flat_map(by_name).collect();
            out.extend(self.own.iter().map(|(name, profile)| (name.clone(), profile.clone())));
            out
        })
    }

    /// The names of all profiles, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().keys().map(String::as_str)
    }

    /// All profiles, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.all().values()
    }

    /// The profile of exactly this name.
    pub fn get(&self, name: &str) -> Option<Arc<Profile>> {
        self.own.get(name).cloned().or_else(|| shipped::profile(name))
    }

    /// The errors of files that could not be read.
    pub fn broken(&self) -> &[Box<Diag>] {
        &self.broken
    }

    /// A profile by its name, by some parts of it ([`naming`]), or the only profile of a file. With
    /// `@BUILD` at the end, its compiler is that of a build.
    pub fn find(&self, library: &dyn Library, dir: &Path, name: &str) -> Result<Arc<Profile>> {
        if let Some(profile) = self.get(name) {
            return Ok(profile);
        }
        if let Some((like, build)) = name.split_once('@') {
            return self.of_build(library, dir, like, build);
        }
        if name.ends_with(".yaml") || name.ends_with(".yml") || name.contains('/') {
            let path = normal(&dir.join(name));
            if local::is_forbidden() {
                return Err(forbidden(&path));
            }
            let tool = builds::parts(name).1;
            let is_compiler = self.iter().any(|p| p.tool() == tool);
            let family = match library.family(&path) {
                Err(_) if is_compiler && path.extension().is_none_or(|e| e != "yaml") => {
                    return Err(Diag::new(format!("{name} is a compiler, and no profile"))
                        .help(format!("a profile with this compiler is `{tool}@{name}`")));
                }
                family => family?,
            };
            if let [one] = &*family {
                return Ok(one.clone());
            }
            let names: Vec<&str> = family.iter().map(|p| p.name.as_str()).collect();
            let message = format!("{} holds a family of {} profiles", path.display(), family.len());
            return Err(Diag::new(message).help(format!("name one of them: {}", shorten(&names))));
        }
        self.by_parts(library, dir, name)
    }
}

impl Profiles {
    /// A profile, named with or without its version, whose compiler is that of a build.
    fn of_build(
        &self,
        library: &dyn Library,
        dir: &Path,
        like: &str,
        build: &str,
    ) -> Result<Arc<Profile>> {
        let like = self.find(library, dir, like)?;
        // Any command could be named as a build.
        if local::is_foreign() || build.contains('/') && local::is_forbidden() {
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
        let compiler =
            builds::program(library.files(), &place, &like.compiler).ok_or_else(|| {
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

/// A path that cannot be mistaken for a command.
fn with_slash(path: &Path) -> String {
    let path = normal(path).display().to_string();
    if path.contains('/') { path } else { format!("./{path}") }
}

fn shorten(names: &[&str]) -> String {
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{shown}, and {} more", names.len() - 8) } else { shown }
}

fn by_name(family: &Family) -> impl Iterator<Item = (String, Arc<Profile>)> {
    family.iter().map(|p| (p.name.clone(), p.clone()))
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
}
