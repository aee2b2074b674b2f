//! The digest of a crate of this workspace: over its own sources, over the digests of the crates that it
//! uses, and over the entries in `Cargo.lock` for everything published that it needs. A result's key takes
//! the digest of the code that computes it, so that no cache outlives a change to that code.
//!
//! Nothing is listed by hand. Cargo hands digests on from build script to build script, and only those of
//! crates that a manifest names: a crate that the manifest does not name cannot be used, and does not
//! count.
//!
//! Files of tests do not count. It does not know what any crate does.

#![expect(clippy::disallowed_methods, reason = "a build script reads the sources")]
#![expect(clippy::print_stdout, reason = "cargo listens there")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The digest of the crate whose build script calls this.
pub fn of_crate() -> String {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, &sources(&manifest()));
    for (name, digest) in used() {
        hasher.update(name.as_bytes());
        hasher.update(digest.as_bytes());
    }
    for line in published() {
        hasher.update(line.as_bytes());
    }
    text(&hasher)
}

/// For each module at the top of the crate whose build script calls this, a digest of the modules
/// that it names, whatever those name in turn, and the crates that any of them names.
pub fn of_files() -> BTreeMap<String, String> {
    let (all, used, published) = (sources(&manifest()), used(), published());
    let modules = modules(&all);
    let mut out = BTreeMap::new();
    for name in modules.keys() {
        let mut hasher = blake3::Hasher::new();
        let mut crates = BTreeSet::new();
        for module in reached(name, &modules) {
            add(&mut hasher, &modules[&module].sources);
            crates.extend(modules[&module].crates.iter().cloned());
        }
        for name in crates {
            let digest = used.get(&name).unwrap_or_else(|| {
                panic!("`litmake_{name}` is named here, and is not among what this crate uses")
            });
            hasher.update(name.as_bytes());
            hasher.update(digest.as_bytes());
        }
        // Which of these a module uses is not looked at.
        for line in &published {
            hasher.update(line.as_bytes());
        }
        out.insert(name.clone(), text(&hasher));
    }
    out
}

fn manifest() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs this"))
}

fn text(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..32].to_string()
}

/// Sources by their path in the crate.
type Sources = BTreeMap<String, String>;

fn add(hasher: &mut blake3::Hasher, sources: &Sources) {
    for (path, text) in sources {
        for part in [path, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
}

/// The sources of a crate without its tests.
fn sources(folder: &Path) -> Sources {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut out = Sources::new();
    find(folder, folder, &mut out);
    out
}

fn find(root: &Path, folder: &Path, out: &mut Sources) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            // A crate inside of this one is its own.
            if name != "tests" && !path.join("Cargo.toml").exists() {
                find(root, &path, out);
            }
        } else if name != "tests.rs" && [".rs", ".c", ".h"].iter().any(|end| name.ends_with(end)) {
            let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            out.insert(inside, std::fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// The digests of the crates of this workspace that this one uses, by their names.
fn used() -> BTreeMap<String, String> {
    std::env::vars()
        .filter_map(|(name, value)| {
            let name = name.strip_prefix("DEP_LITMAKE_")?.strip_suffix("_DIGEST")?;
            Some((name.to_ascii_lowercase(), value))
        })
        .collect()
}

/// The entries in the lock file for all published crates that this one needs.
fn published() -> BTreeSet<String> {
    let found = manifest().ancestors().map(|dir| dir.join("Cargo.lock")).find(|p| p.is_file());
    let Some(path) = found else { return BTreeSet::new() };
    println!("cargo::rerun-if-changed={}", path.display());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    needed(&std::env::var("CARGO_PKG_NAME").unwrap_or_default(), &text)
}

/// A package of a lock file: name and version, checksum, and the first words of what it needs.
struct Package {
    name: String,
    version: String,
    checksum: String,
    needs: Vec<String>,
}

fn packages(lock: &str) -> Vec<Package> {
    let quoted = |line: &str| line.split('"').nth(1).unwrap_or_default().to_string();
    lock.split("[[package]]")
        .skip(1)
        .map(|part| {
            let value = |key: &str| {
                part.lines().find(|l| l.starts_with(key)).map(quoted).unwrap_or_default()
            };
            let needs = part.lines().filter(|l| l.starts_with(" \"")).map(quoted).collect();
            let (name, version) = (value("name = "), value("version = "));
            Package { name, version, checksum: value("checksum = "), needs }
        })
        .collect()
}

fn needed(root: &str, lock: &str) -> BTreeSet<String> {
    let packages = packages(lock);
    // A need is a name, with its version where there are several of that name.
    let of = |need: &str| -> Vec<usize> {
        let mut words = need.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let fits = |p: &Package| p.name == name && version.is_none_or(|v| v == p.version);
        (0..packages.len()).filter(|i| fits(&packages[*i])).collect()
    };
    let mut seen = BTreeSet::new();
    let mut todo = of(root);
    while let Some(at) = todo.pop() {
        if seen.insert(at) {
            todo.extend(packages[at].needs.iter().flat_map(|need| of(need)));
        }
    }
    let line = |p: &Package| format!("{} {} {}\n", p.name, p.version, p.checksum);
    seen.into_iter().map(|at| &packages[at]).filter(|p| !p.checksum.is_empty()).map(line).collect()
}

/// A module at the top of a crate, with all that lies in its folder.
#[derive(Default)]
struct Module {
    sources: Sources,
    /// Other modules at the top that it names.
    modules: BTreeSet<String>,
    /// Crates of this workspace that it names.
    crates: BTreeSet<String>,
}

const ROOT: &str = "mod";

fn modules(all: &Sources) -> BTreeMap<String, Module> {
    let top = |path: &str| -> String {
        path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_string()
    };
    let names: BTreeSet<String> = all.keys().map(|path| top(path)).collect();
    let mut out: BTreeMap<String, Module> = BTreeMap::new();
    for (path, text) in all {
        let module = out.entry(top(path)).or_default();
        let code = shipped(text);
        // How many times `super` leads to the root.
        let depth = match path.strip_suffix("/mod.rs") {
            Some(folder) => folder.split('/').count(),
            None => path.split('/').count(),
        };
        for (ups, word) in named(&code) {
            match (ups >= depth, names.contains(&word)) {
                (true, true) => drop(module.modules.insert(word)),
                // The root's items are reached from everywhere, and reach everything.
                (true, false) => drop(module.modules.insert(ROOT.to_string())),
                (false, _) => {}
            }
        }
        for rest in code.split("litmake_").skip(1) {
            module.crates.insert(word(rest).to_string());
        }
        module.sources.insert(path.clone(), text.clone());
    }
    out
}

/// The code of a source without its comments and its tests, which stand at the end.
fn shipped(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The name that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The names behind `super::` and `crate::`, alone or in braces, and how many times `super` stands
/// before each; `crate` leads to the root from anywhere.
fn named(code: &str) -> BTreeSet<(usize, String)> {
    let mut out = BTreeSet::new();
    for (start, once) in [("super::", 1), ("crate::", usize::MAX)] {
        let mut rest = code;
        while let Some(at) = rest.find(start) {
            rest = &rest[at + start.len()..];
            let mut ups = once;
            while let Some(behind) = rest.strip_prefix("super::") {
                rest = behind;
                ups += 1;
            }
            let words = if rest.starts_with('{') { in_braces(rest) } else { vec![word(rest)] };
            for word in words.into_iter().filter(|w| !["", "self"].contains(w)) {
                out.insert((ups, word.to_string()));
            }
        }
    }
    out
}

/// The names with which the parts of a group in braces begin.
fn in_braces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(c, '{' | ',') {
            out.push(word(text[i + 1..].trim_start()));
        }
    }
    out
}

/// A module and all that it reaches.
fn reached(name: &str, modules: &BTreeMap<String, Module>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![name.to_string()];
    while let Some(name) = todo.pop() {
        if modules.contains_key(&name) && seen.insert(name.clone()) {
            todo.extend(modules[&name].modules.iter().cloned());
        }
    }
    seen
}

#[cfg(test)]
mod tests;
