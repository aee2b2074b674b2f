//! Tests from files, as a source of items. It does not read them as tests, only as content.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::WalkDir;

use litmake_base::content::{contents_of, remembered};
use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::file;
use litmake_base::records::Records;
use litmake_engine::graph::{self, Counts};
use litmake_engine::rows::Entry;
use litmake_generate::{EXCLUDED, FILTERED, LIMITED};
use litmake_litmus::list;
use litmake_litmus::pack::{self, Member};
use litmake_pipeline::kinds::Generate;
use litmake_pipeline::plan::Node;
use litmake_profile::yaml::Sp;
use litmake_select::filter::Filter;

/// The files of all stages that read some, for whoever wants to know what changes in them.
#[derive(Default)]
pub struct Listed(pub Vec<Arc<Files>>);

/// The files of one `generate` stage.
pub struct Files {
    dir: PathBuf,
    source: Source,
    patterns: Vec<Sp<String>>,
    exclude: GlobSet,
    keep: Filter,
    /// The same as it was written.
    keep_words: Vec<Sp<String>>,
    limit: usize,
    listed: Mutex<Places>,
    counts: Mutex<Counts>,
    /// The last listing, while someone tells what changes.
    memo: Mutex<Option<Vec<Entry>>>,
    watched: AtomicBool,
}

/// Where items lie whose names do not tell, as the last listing found them.
#[derive(Default)]
struct Places {
    /// Files whose paths are not UTF-8.
    odd: BTreeMap<Box<str>, PathBuf>,
    archives: Vec<Archive>,
    /// Lists that were read, by their absolute paths.
    lists: Vec<PathBuf>,
}

/// An archive, with its members as they were encoded by [`members_of`].
struct Archive {
    path: PathBuf,
    encoded: Vec<u8>,
    by_name: OnceLock<HashMap<String, Member>>,
}

/// What the patterns lead to: files, and archives with the one member that is meant, if any.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    archives: Vec<(PathBuf, Option<String>)>,
    /// Lists that were read on the way.
    lists: Vec<PathBuf>,
    /// Files that patterns lead to and others exclude.
    excluded: usize,
}

impl Found {
    fn add(&mut self, path: PathBuf) {
        match pack::is_archive(&path) {
            true => self.archives.push((path, None)),
            false => self.files.push(path),
        }
    }

    fn len(&self) -> usize {
        self.files.len() + self.archives.len()
    }
}

/// Refuses a `keep` that leaves nothing of some tests.
pub(super) fn check_kept(
    source: &Source,
    keep: &[Sp<String>],
    considered: u64,
    left: usize,
) -> Result<()> {
    match keep.first() {
        Some(first) if left == 0 && considered > 0 => {
            let words: Vec<&str> = keep.iter().map(|w| w.value.as_str()).collect();
            let message = format!("none of {considered} tests has {}", words.join(", "));
            Err(Diag::at(source, first.span, message)
                .help("each condition of `keep` must hold; of several names or dialects, one"))
        }
        _ => Ok(()),
    }
}

fn glob(text: &str) -> std::result::Result<globset::Glob, String> {
    GlobBuilder::new(text).literal_separator(true).build().map_err(|e| e.kind().to_string())
}

fn absolute(path: &Path) -> PathBuf {
    litmake_profile::files::normal(&std::path::absolute(path).unwrap_or(path.into()))
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

impl Files {
    pub fn new(node: &Node, options: &Generate) -> Result<Files> {
        let at = |span: Span, e: String| Diag::at(&node.source, span, e);
        let mut exclude = GlobSetBuilder::new();
        for pattern in options.exclude.iter() {
            let path = super::items::relative(&node.dir, &pattern.value);
            exclude.add(glob(&path.to_string_lossy()).map_err(|e| at(pattern.span, e))?);
        }
        if options.files.is_empty() {
            return Err(at(node.span, "there are no `files`, and no `suite`".into()));
        }
        for pattern in options.files.iter() {
            if pattern.value.trim().is_empty() {
                let message = "an empty text names no file, folder or list".to_string();
                return Err(at(pattern.span, message));
            }
            if is_pattern(&pattern.value)
                && !super::items::relative(&node.dir, &pattern.value).is_file()
            {
                glob(&pattern.value).map_err(|e| at(pattern.span, e))?;
            }
        }
        Ok(Files {
            dir: node.dir.clone(),
            source: node.source.clone(),
            patterns: options.files.0.clone(),
            exclude: exclude.build().map_err(|e| at(node.span, e.to_string()))?,
            keep: filter(node, options)?,
            keep_words: options.keep.0.clone(),
            limit: options.limit.as_ref().map_or(usize::MAX, |l| l.value as usize),
            listed: Mutex::default(),
            counts: Mutex::default(),
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
                base(&super::items::relative(&self.dir, text))
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
    /// was added or removed makes the whole list anew. Gives whether any of them matters here.
    pub fn touched<'p>(&self, changed: impl Iterator<Item = &'p PathBuf>) -> bool {
        let Ok(mut memo) = self.memo.lock() else { return true };
        let here = absolute(Path::new("."));
        let mut matters = false;
        for path in changed {
            let path = absolute(path);
            let short = path.strip_prefix(&here).unwrap_or(&path);
            let place = memo.as_ref().and_then(|entries| {
                [short, &path]
                    .into_iter()
                    .filter_map(|p| p.to_str())
                    .find_map(|name| entries.binary_search_by(|e| (*e.name).cmp(name)).ok())
            });
            let content = place.and_then(|_| test(&path));
            // What a change makes of a filter only a new list tells.
            if let (Some(at), Some(entries), Some(content)) = (place, memo.as_mut(), content)
                && self.keep.is_empty()
            {
                let content = Digest::of(&content);
                matters |= entries[at].content != content;
                entries[at].content = content;
            } else if place.is_some() || self.concerned(&path, short) {
                matters = true;
                *memo = None;
            }
        }
        matters
    }

    /// Whether a file that is not in the list might come into it, or decide what is in it.
    fn concerned(&self, path: &Path, short: &Path) -> bool {
        if self.listed.lock().is_ok_and(|l| l.lists.iter().any(|list| list == path)) {
            return true;
        }
        self.patterns.iter().any(|pattern| {
            let text = pattern.value.strip_prefix('@').unwrap_or(&pattern.value);
            let pattern = super::items::relative(&self.dir, text);
            let whole = absolute(&pattern);
            let below = match is_pattern(text) {
                true => path.starts_with(absolute(&base(&pattern))),
                false => path.starts_with(&whole),
            };
            // A folder that came or went may hold anything.
            let folder = path.is_dir() || (path.extension().is_none() && !path.exists());
            if path == whole || (below && folder) {
                return true;
            }
            if is_pattern(text) {
                let matcher = glob(&pattern.to_string_lossy()).map(|g| g.compile_matcher());
                return matcher.is_ok_and(|m| m.is_match(short) || m.is_match(path));
            }
            below && list::is_test(path)
        })
    }

    fn find(&self) -> Result<Found> {
        let mut out = Found::default();
        for pattern in &self.patterns {
            let before = out.len();
            let at = |message: String| Diag::at(&self.source, pattern.span, message);
            if let Some(name) = pattern.value.strip_prefix('@') {
                let path = super::items::relative(&self.dir, name);
                let lists = RefCell::new(Vec::new());
                let read = |p: &Path| {
                    lists.borrow_mut().push(absolute(p));
                    file::read_text(p, file::MAX_DATA)
                };
                let listed =
                    list::read(&path, &read).map_err(|e| e.or_at(&self.source, pattern.span))?;
                listed.into_iter().for_each(|p| out.add(p));
                out.lists.extend(lists.into_inner());
            } else {
                let path = super::items::relative(&self.dir, &pattern.value);
                // Names of tests have brackets in them: `MP+dmb.sy-[fence]`.
                if path.is_file() {
                    out.add(path);
                } else if let Some((archive, member)) = pack::member_of(&path) {
                    out.archives.push((archive, Some(member)));
                } else if is_pattern(&pattern.value) {
                    let matcher = glob(&path.to_string_lossy()).map_err(at)?.compile_matcher();
                    walk(&base(&path), |p| matcher.is_match(p), &mut out);
                } else if path.is_dir() {
                    walk(&path, list::is_test, &mut out);
                }
            }
            if out.len() == before {
                return Err(at(format!("no file matches `{}`", pattern.value))
                    .help(format!("paths are relative to {}", self.dir.display())));
            }
        }
        // By bytes: comparing paths by their parts takes ten times as long.
        out.files.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        out.files.dedup();
        if !self.exclude.is_empty() {
            let before = out.files.len();
            out.files.retain(|p| !self.exclude.is_match(p));
            out.archives.retain(|(p, _)| !self.exclude.is_match(p));
            out.excluded = before - out.files.len();
        }
        Ok(out)
    }

    /// What is kept by what it says. What cannot be read stays: whoever consumes it says why.
    fn keeps(&self, content: Option<Vec<u8>>) -> bool {
        match content.map(|bytes| super::items::read_test(&bytes)) {
            Some(Ok(test)) => self.keep.keeps(&test),
            _ => true,
        }
    }

    /// What tells this list of files from another.
    fn place(&self) -> Digest {
        let here = std::path::absolute(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let mut key = Keyer::new("place").field("dir", here.as_os_str().as_encoded_bytes());
        for pattern in &self.patterns {
            key.add("pattern", pattern.value.as_bytes());
        }
        key.finish()
    }

    /// The tests in an archive, as entries.
    fn tests_in(&self, archive: &Archive, only: Option<&str>, out: &mut Vec<Entry>) -> Option<()> {
        let prefix = archive.path.to_string_lossy();
        decode_members(&archive.encoded, |member, _, _, content| {
            let wanted = match only {
                Some(name) => member == name,
                None => member.ends_with(".litmus"),
            };
            if !wanted {
                return;
            }
            let mut name = String::with_capacity(prefix.len() + 1 + member.len());
            name.push_str(&prefix);
            name.push('/');
            name.push_str(member);
            if self.exclude.is_empty() || !self.exclude.is_match(&name) {
                out.push(Entry { name: name.into(), content });
            }
        })
    }
}

/// The filter of a stage.
pub fn filter(node: &Node, options: &Generate) -> Result<Filter> {
    let words: Vec<Source> = options.keep.iter().map(|w| super::items::text(node, w)).collect();
    Filter::read(&words)
}

/// The members of an archive with the digests of their contents, as bytes to be remembered:
/// sorted by name, the last of each name.
fn members_of(path: &Path, known: &dyn Records) -> std::io::Result<Vec<u8>> {
    remembered("archive/2", path, known, |file| {
        let mut all = BTreeMap::new();
        pack::members(file, |member, content| {
            all.insert(member.name, (member.offset, member.len, Digest::of(content)));
        })?;
        let mut out = Vec::new();
        for (name, (offset, len, digest)) in all {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(&digest.0);
        }
        Ok(out)
    })
}

fn decode_members<'a>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(&'a str, u64, u64, Digest),
) -> Option<()> {
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let name = std::str::from_utf8(name).ok()?;
        each(name, u64::from_le_bytes(*offset), u64::from_le_bytes(*len), Digest(*digest));
        bytes = rest;
    }
    Some(())
}

impl Archive {
    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        let by_name = self.by_name.get_or_init(|| {
            let mut out = HashMap::new();
            decode_members(&self.encoded, |name, offset, len, _| {
                out.insert(name.to_string(), Member { name: name.to_string(), offset, len });
            });
            out
        });
        pack::read_member(&file::open(&self.path).ok()?, by_name.get(name)?).ok()
    }
}

/// The content of a file that is a test.
fn test(path: &Path) -> Option<Vec<u8>> {
    file::read(path, pack::MAX_MEMBER).ok()
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

fn walk(dir: &Path, keep: impl Fn(&Path) -> bool, out: &mut Found) {
    for entry in WalkDir::new(dir).into_iter().flatten() {
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

impl graph::Source for Files {
    fn list(&self, known: &dyn Records) -> Result<Vec<Entry>> {
        if let Ok(memo) = self.memo.lock()
            && let (true, Some(entries)) = (self.watched.load(Ordering::Relaxed), &*memo)
        {
            return Ok(entries.clone());
        }
        let mut found = self.find()?;
        let considered = (found.files.len() + found.excluded) as u64;
        let mut counts = Counts { considered, ..Counts::default() };
        counts.drop(EXCLUDED, found.excluded as u64);
        if !self.keep.is_empty() {
            let before = found.files.len();
            found.files.retain(|path| self.keeps(test(path)));
            counts.drop(FILTERED, (before - found.files.len()) as u64);
        }
        if found.archives.is_empty() {
            counts.drop(LIMITED, found.files.len().saturating_sub(self.limit) as u64);
            found.files.truncate(self.limit);
        }
        let digests = contents_of(&found.files, &self.place(), known);
        let mut entries = Vec::with_capacity(found.files.len());
        let mut listed = Places { lists: found.lists, ..Places::default() };
        let cannot = |path: &Path, e: std::io::Error| {
            Diag::new(format!("cannot read {}: {e}", path.display()))
        };
        for (path, digest) in found.files.into_iter().zip(digests) {
            let content = digest.map_err(|e| cannot(&path, e))?;
            let name: Box<str> = match path.into_os_string().into_string() {
                Ok(name) => name.into(),
                Err(odd) => {
                    let name: Box<str> = odd.to_string_lossy().into();
                    listed.odd.insert(name.clone(), odd.into());
                    name
                }
            };
            entries.push(Entry { name, content });
        }
        for (path, only) in found.archives {
            let encoded = members_of(&path, known).map_err(|e| cannot(&path, e))?;
            let archive = Archive { path, encoded, by_name: OnceLock::new() };
            let before = entries.len();
            self.tests_in(&archive, only.as_deref(), &mut entries);
            counts.considered += (entries.len() - before) as u64;
            if !self.keep.is_empty() {
                let prefix = format!("{}/", archive.path.to_string_lossy());
                let members = entries.split_off(before);
                let all = members.len();
                entries.extend(members.into_iter().filter(|e| {
                    self.keeps(e.name.strip_prefix(&prefix).and_then(|name| archive.fetch(name)))
                }));
                counts.drop(FILTERED, (all + before - entries.len()) as u64);
            }
            listed.archives.push(archive);
        }
        // What comes from one place is sorted already.
        if !entries.is_sorted_by(|a, b| a.name < b.name) {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let before = entries.len();
            entries.dedup_by(|a, b| a.name == b.name);
            counts.considered -= (before - entries.len()) as u64;
        }
        counts.drop(LIMITED, entries.len().saturating_sub(self.limit) as u64);
        entries.truncate(self.limit);
        check_kept(&self.source, &self.keep_words, counts.considered, entries.len())?;
        if let Ok(mut place) = self.counts.lock() {
            *place = counts;
        }
        if let Ok(mut place) = self.listed.lock() {
            *place = listed;
        }
        if self.watched.load(Ordering::Relaxed)
            && let Ok(mut memo) = self.memo.lock()
        {
            *memo = Some(entries.clone());
        }
        Ok(entries)
    }

    fn counts(&self) -> Counts {
        self.counts.lock().map(|c| c.clone()).unwrap_or_default()
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        let listed = self.listed.lock().ok()?;
        if let Some(odd) = listed.odd.get(name) {
            return test(odd);
        }
        for archive in &listed.archives {
            let inside = name.strip_prefix(&*archive.path.to_string_lossy());
            if let Some(member) = inside.and_then(|n| n.strip_prefix('/')) {
                return archive.fetch(member);
            }
        }
        drop(listed);
        test(Path::new(name))
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
