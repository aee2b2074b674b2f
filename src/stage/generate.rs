//! `generate`: tests from files. It does not read them as tests, only as content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::WalkDir;

use crate::diag::{Diag, Result, Source, Span};
use crate::engine::digest::Digest;
use crate::engine::graph;
use crate::engine::rows::Entry;
use crate::generate::filter::Filter;
use crate::litmus::list;
use crate::pipeline::plan::Node;
use crate::pipeline::types::Generate;
use crate::pipeline::yaml::Sp;

/// The files of one `generate` stage.
pub struct Files {
    dir: PathBuf,
    source: Source,
    patterns: Vec<Sp<String>>,
    exclude: GlobSet,
    keep: Filter,
    limit: usize,
    /// Paths by item name, of the last listing.
    paths: Mutex<BTreeMap<Box<str>, PathBuf>>,
    /// The last listing, while someone tells what changes.
    memo: Mutex<Option<Vec<Entry>>>,
    watched: AtomicBool,
}

fn glob(text: &str) -> std::result::Result<globset::Glob, String> {
    GlobBuilder::new(text).literal_separator(true).build().map_err(|e| e.kind().to_string())
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

impl Files {
    pub fn new(node: &Node, options: &Generate) -> Result<Files> {
        let at = |span: Span, e: String| Diag::at(&node.source, span, e);
        let mut exclude = GlobSetBuilder::new();
        for pattern in options.exclude.iter() {
            let path = super::relative(&node.dir, &pattern.value);
            exclude.add(glob(&path.to_string_lossy()).map_err(|e| at(pattern.span, e))?);
        }
        if options.files.is_empty() {
            return Err(at(node.span, "there are no `files`, and no `suite`".into()));
        }
        for pattern in options.files.iter() {
            if is_pattern(&pattern.value) && !super::relative(&node.dir, &pattern.value).is_file() {
                glob(&pattern.value).map_err(|e| at(pattern.span, e))?;
            }
        }
        Ok(Files {
            dir: node.dir.clone(),
            source: node.source.clone(),
            patterns: options.files.0.clone(),
            exclude: exclude.build().map_err(|e| at(node.span, e.to_string()))?,
            keep: filter(node, options)?,
            limit: options.limit.as_ref().map_or(usize::MAX, |l| l.value as usize),
            paths: Mutex::default(),
            memo: Mutex::default(),
            watched: AtomicBool::new(false),
        })
    }

    /// The folders below which this stage's files lie.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut out: Vec<PathBuf> = self
            .patterns
            .iter()
            .map(|p| {
                let text = p.value.strip_prefix('@').unwrap_or(&p.value);
                base(&super::relative(&self.dir, text))
            })
            .collect();
        out.sort();
        out.dedup();
        out
    }

    /// From now on listings are remembered, and [`Files::touched`] says what changes.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Says which files may have changed since the last listing: only they are read again. What
    /// was added or removed makes the whole list anew.
    pub fn touched<'p>(&self, changed: impl Iterator<Item = &'p PathBuf>) {
        let (Ok(paths), Ok(mut memo)) = (self.paths.lock(), self.memo.lock()) else {
            return;
        };
        let Some(entries) = memo.as_mut() else { return };
        let absolute =
            |p: &Path| crate::pipeline::load::normal(&std::path::absolute(p).unwrap_or(p.into()));
        let here = absolute(Path::new("."));
        for path in changed {
            let path = absolute(path);
            let short = path.strip_prefix(&here).unwrap_or(&path);
            let name = [short, &path]
                .into_iter()
                .map(|p| p.to_string_lossy())
                .find(|n| paths.contains_key(&**n));
            let read = std::fs::read(&path);
            match (name, read) {
                // What a change makes of a filter only a new list tells.
                (Some(name), Ok(bytes)) if self.keep.is_empty() => {
                    if let Ok(at) = entries.binary_search_by(|e| (*e.name).cmp(&*name)) {
                        entries[at].content = Digest::of(&bytes);
                    }
                }
                _ => {
                    *memo = None;
                    return;
                }
            }
        }
    }

    /// The paths of all files, sorted, each once.
    fn find(&self) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        for pattern in &self.patterns {
            let before = out.len();
            let at = |message: String| Diag::at(&self.source, pattern.span, message);
            if let Some(name) = pattern.value.strip_prefix('@') {
                let path = super::relative(&self.dir, name);
                let read = |p: &Path| std::fs::read_to_string(p);
                let listed =
                    list::read(&path, &read).map_err(|e| e.or_at(&self.source, pattern.span))?;
                out.extend(listed);
            } else {
                let path = super::relative(&self.dir, &pattern.value);
                // Names of tests have brackets in them: `MP+dmb.sy-[fence]`.
                if path.is_file() {
                    out.push(path);
                } else if is_pattern(&pattern.value) {
                    let matcher = glob(&path.to_string_lossy()).map_err(at)?.compile_matcher();
                    walk(&base(&path), |p| matcher.is_match(p), &mut out);
                } else if path.is_dir() {
                    let litmus = |p: &Path| p.extension().is_some_and(|e| e == "litmus");
                    walk(&path, litmus, &mut out);
                }
            }
            if out.len() == before {
                return Err(at(format!("no file matches `{}`", pattern.value))
                    .help(format!("paths are relative to {}", self.dir.display())));
            }
        }
        out.retain(|p| !self.exclude.is_match(p));
        out.sort();
        out.dedup();
        if !self.keep.is_empty() {
            out = self.kept(out);
        }
        out.truncate(self.limit);
        Ok(out)
    }

    /// What cannot be read stays: whoever consumes it says why.
    fn kept(&self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let keeps = |path: &PathBuf| match std::fs::read(path) {
            Ok(bytes) => super::read_test(&bytes).map_or(true, |t| self.keep.keeps(&t)),
            Err(_) => true,
        };
        paths.into_iter().filter(keeps).collect()
    }
}

/// The filter of a stage.
pub fn filter(node: &Node, options: &Generate) -> Result<Filter> {
    let words: Vec<Source> = options.keep.iter().map(|w| super::text(node, w)).collect();
    Filter::read(&words)
}

/// The part of a path before its first pattern.
fn base(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if is_pattern(&part.as_os_str().to_string_lossy()) {
            break;
        }
        out.push(part);
    }
    if out == path {
        out.pop();
    }
    if out.as_os_str().is_empty() {
        out.push(".");
    }
    out
}

fn walk(dir: &Path, keep: impl Fn(&Path) -> bool, out: &mut Vec<PathBuf>) {
    for entry in WalkDir::new(dir).into_iter().flatten() {
        if entry.file_type().is_dir() {
            continue;
        }
        let path = crate::pipeline::load::normal(entry.path());
        if keep(&path) {
            out.push(path);
        }
    }
}

/// Reads and hashes files on all cores. Content is all that counts: times are not looked at.
fn hash(paths: &[PathBuf]) -> Vec<std::io::Result<Digest>> {
    let next = AtomicUsize::new(0);
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    let parts: Vec<Vec<(usize, std::io::Result<Digest>)>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                scope.spawn(|| {
                    let mut out = Vec::new();
                    loop {
                        let from = next.fetch_add(256, Ordering::Relaxed);
                        if from >= paths.len() {
                            return out;
                        }
                        let to = (from + 256).min(paths.len());
                        for (i, path) in paths.iter().enumerate().take(to).skip(from) {
                            out.push((i, std::fs::read(path).map(|b| Digest::of(&b))));
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap_or_default()).collect()
    });
    let mut all: Vec<(usize, std::io::Result<Digest>)> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(i, _)| *i);
    all.into_iter().map(|(_, d)| d).collect()
}

impl graph::Source for Files {
    fn list(&self) -> Result<Vec<Entry>> {
        if let Ok(memo) = self.memo.lock()
            && let (true, Some(entries)) = (self.watched.load(Ordering::Relaxed), &*memo)
        {
            return Ok(entries.clone());
        }
        let paths = self.find()?;
        let digests = hash(&paths);
        let mut entries = Vec::with_capacity(paths.len());
        let mut known = BTreeMap::new();
        for (path, digest) in paths.into_iter().zip(digests) {
            let name: Box<str> = path.to_string_lossy().into();
            let content =
                digest.map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
            entries.push(Entry { name: name.clone(), content });
            known.insert(name, path);
        }
        if let Ok(mut paths) = self.paths.lock() {
            *paths = known;
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if self.watched.load(Ordering::Relaxed)
            && let Ok(mut memo) = self.memo.lock()
        {
            *memo = Some(entries.clone());
        }
        Ok(entries)
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.paths.lock().ok()?.get(name).cloned();
        std::fs::read(path.unwrap_or_else(|| name.into())).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_of_a_pattern_is_its_plain_part() {
        assert_eq!(base(Path::new("a/b/*.litmus")), Path::new("a/b"));
        assert_eq!(base(Path::new("a/**/x")), Path::new("a"));
        assert_eq!(base(Path::new("*.litmus")), Path::new("."));
        assert_eq!(base(Path::new("a/b.litmus")), Path::new("a"));
    }
}
