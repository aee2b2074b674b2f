//! Finds the files that the words of a `generate` stage lead to, as queries. The files of a word
//! are an input, which is computed again when files appear or disappear.
//!
//! This file does not know what is in the files.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use salsa::Setter;
use walkdir::WalkDir;

use super::building::gone;
use super::items::relative;
use litmake_base::diag::{Diag, Result, Span};
use litmake_base::digest::Keyer;
use litmake_base::{file, local};
use litmake_litmus::{list, pack};
use litmake_pipeline::kinds::{Generate, Kind};
use litmake_pipeline::query::{Db, Noted, Part, absolute, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::files::Files;

/// The files of some words, and archives, each with the member that the word names, if any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Sorted.
    pub files: Vec<PathBuf>,
    pub archives: Vec<(PathBuf, Option<String>)>,
    /// How many of the files other words exclude.
    pub excluded: usize,
    /// Folders that cannot be listed, and files that may not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

impl Found {
    /// The files of a word that is no list: a file, a folder, a pattern, or a member of an archive.
    fn of(path: &Path, is_pattern: bool) -> Found {
        let mut out = Found::default();
        if !out.may_use(path) {
            return out;
        }
        // Names of tests can have brackets, which are no pattern: `MP+dmb.sy-[fence]`.
        if path.is_file() || path.is_symlink() && !path.exists() {
            // A link that leads nowhere is an error of that file alone.
            out.add(path.to_path_buf());
        } else if let Some((archive, member)) = pack::member_of(path) {
            if out.may_use(&archive) {
                out.archives.push((archive, Some(member)));
            }
        } else if is_pattern {
            // An invalid pattern was refused before.
            if let Ok(matcher) = glob(&path.to_string_lossy()).map(|g| g.compile_matcher()) {
                walk(&base(path), |p| matcher.is_match(p), &mut out);
            }
        } else if path.is_dir() {
            walk(path, list::is_test, &mut out);
        }
        out.sort();
        out
    }

    // Compares bytes: comparing paths by their parts takes ten times as long.
    fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        self.files.dedup();
        self.unreadable.sort();
        self.unreadable.dedup();
    }

    /// Whether the file at an absolute path is one of the files.
    pub fn has(&self, path: &Path) -> bool {
        let named = |path: &Path| {
            self.files.binary_search_by(|p| p.as_os_str().cmp(path.as_os_str())).is_ok()
        };
        let roundabout = |p: &&PathBuf| p.components().any(|c| c == Component::ParentDir);
        named(path)
            || short(path).is_some_and(named)
            || self.files.iter().filter(roundabout).any(|p| absolute(p) == path)
    }

    fn add(&mut self, path: PathBuf) {
        if !self.may_use(&path) {
            return;
        }
        match pack::is_archive(&path) {
            true => self.archives.push((path, None)),
            false => self.files.push(path),
        }
    }

    /// Whether a path may be used; notes the reason if not.
    fn may_use(&mut self, path: &Path) -> bool {
        let refused = local::within(path).map_err(|e| e.to_string()).err();
        self.unreadable.extend(refused.iter().map(|why| (path.display().to_string(), why.clone())));
        refused.is_none()
    }

    fn len(&self) -> usize {
        self.files.len() + self.archives.len() + self.unreadable.len()
    }
}

pub fn glob(text: &str) -> std::result::Result<globset::Glob, String> {
    GlobBuilder::new(text).literal_separator(true).build().map_err(|e| e.kind().to_string())
}

pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

const WORD: &str = "word";

/// The files of a word, as an input of queries.
#[salsa::input]
struct Word {
    #[returns(ref)]
    path: PathBuf,
    #[returns(copy)]
    is_pattern: bool,
    #[returns(ref)]
    found: Arc<Found>,
}

fn word(db: &dyn Db, path: &Path, is_pattern: bool) -> Word {
    let key = Keyer::new("word")
        .field("path", path.as_os_str().as_encoded_bytes())
        .field("pattern", &[is_pattern.into()])
        .finish();
    db.others().of(WORD, key, || {
        let found = Arc::new(Found::of(path, is_pattern));
        Word::new(db, path.to_path_buf(), is_pattern, found)
    })
}

/// Computes the files of words again that a change at one of these paths can concern; says whether
/// any of them changed.
pub fn changed(db: &mut dyn Db, paths: &BTreeSet<PathBuf>) -> bool {
    let mut changed = false;
    for word in db.others().all::<Word>(WORD) {
        if !paths.iter().any(|path| concerns(db, word, path)) {
            continue;
        }
        let now = Arc::new(Found::of(word.path(db), word.is_pattern(db)));
        if *word.found(db) != now {
            drop(word.set_found(db).to(now));
            changed = true;
        }
    }
    changed
}

/// Whether a change at a path can add files to a word or remove some. A change of a file's content
/// does neither.
fn concerns(db: &dyn Db, word: Word, path: &Path) -> bool {
    let whole = absolute(word.path(db));
    let comes_or_goes = || word.found(db).has(path) != path.is_file();
    // A folder that appears or disappears may contain anything.
    let folder = path.is_dir() || (path.extension().is_none() && !path.exists());
    if word.is_pattern(db) && !whole.is_file() {
        let base = absolute(&base(word.path(db)));
        if folder {
            return path.starts_with(&base) || base.starts_with(path);
        }
        let matcher = glob(&whole.to_string_lossy()).map(|g| g.compile_matcher());
        return matcher.is_ok_and(|m| m.is_match(path)) && comes_or_goes();
    }
    // The word's own path, a folder above it, or something in it.
    whole.starts_with(path)
        || (path.starts_with(&whole) && (folder || (list::is_test(path) && comes_or_goes())))
}

/// A path below the working directory, made relative to it.
pub fn short(path: &Path) -> Option<&Path> {
    let here = std::env::current_dir().ok()?;
    path.strip_prefix(here).ok()
}

/// The files of all words of an instance.
#[salsa::tracked(returns(clone))]
pub fn found<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<Arc<Found>> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Generate(options) = &node.kind else { return Err(gone()) };
    let mut out = Found::default();
    for pattern in options.files.iter() {
        let before = out.len();
        if let Some(name) = pattern.value.strip_prefix('@') {
            let path = relative(&node.dir, name);
            let read = |p: &Path| {
                file::text(Noted(db).content(p, file::MAX_DATA)?).map(|text| text.to_string())
            };
            let listed =
                list::read(&path, &read).map_err(|e| e.or_at(&node.source, pattern.span))?;
            listed.into_iter().for_each(|p| out.add(p));
        } else {
            let path = relative(&node.dir, &pattern.value);
            let led = word(db, &path, is_pattern(&pattern.value)).found(db);
            out.files.extend(led.files.iter().cloned());
            out.archives.extend(led.archives.iter().cloned());
            out.unreadable.extend(led.unreadable.iter().cloned());
        }
        if out.len() == before {
            let message = format!("no file matches `{}`", pattern.value);
            return Err(Diag::at(&node.source, pattern.span, message)
                .help(format!("paths are relative to {}", node.dir.display())));
        }
    }
    out.sort();
    let exclude = excluded(&node, options)?;
    if !exclude.is_empty() {
        let before = out.files.len();
        out.files.retain(|p| !exclude.is_match(p));
        out.archives.retain(|(p, _)| !exclude.is_match(p));
        out.excluded = before - out.files.len();
    }
    Ok(Arc::new(out))
}

/// The patterns that an instance excludes.
pub fn excluded(node: &Instance, options: &Generate) -> Result<GlobSet> {
    let at = |span: Span, e: String| Diag::at(&node.source, span, e);
    let mut out = GlobSetBuilder::new();
    for pattern in options.exclude.iter() {
        let path = relative(&node.dir, &pattern.value);
        out.add(glob(&path.to_string_lossy()).map_err(|e| at(pattern.span, e))?);
    }
    out.build().map_err(|e| at(node.span, e.to_string()))
}

/// The part of a path before its first pattern.
pub fn base(path: &Path) -> PathBuf {
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

fn walk(dir: &Path, keep: impl Fn(&Path) -> bool, out: &mut Found) {
    for entry in WalkDir::new(dir) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                // A folder that is not there has no files.
                let is_gone =
                    e.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound);
                if !is_gone {
                    let at = e.path().unwrap_or(dir).display().to_string();
                    let why = e.io_error().map_or_else(|| e.to_string(), |e| e.to_string());
                    out.unreadable.push((at, format!("cannot list it: {why}")));
                }
                continue;
            }
        };
        if entry.file_type().is_dir() {
            continue;
        }
        let path = match dir == Path::new(".") {
            true => entry.path().strip_prefix(".").unwrap_or(entry.path()).to_path_buf(),
            false => entry.into_path(),
        };
        if keep(&path) {
            out.add(path);
        }
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
