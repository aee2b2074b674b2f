//! A source of items: tests from files. It reads them as content, not as tests, and does not know
//! how words lead to files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use globset::GlobSet;

use super::building::gone;
use super::items::relative;
use super::words::{Found, base, excluded, found, glob, is_pattern, short};
use litmake_base::content::{contents_of, remembered};
use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::file;
use litmake_base::records::Records;
use litmake_engine::graph::{self, Counts};
use litmake_engine::rows::Entry;
use litmake_generate::{EXCLUDED, FILTERED, LIMITED};
use litmake_litmus::pack::{self, Member};
use litmake_pipeline::kinds::{Generate, Kind};
use litmake_pipeline::query::{Db, Part, absolute, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::yaml::Sp;
use litmake_select::filter::Filter;

/// The files of one `generate` stage.
pub struct Files {
    dir: PathBuf,
    source: Source,
    patterns: Vec<Sp<String>>,
    exclude: GlobSet,
    keep: Filter,
    /// The filter, as written.
    keep_words: Vec<Sp<String>>,
    limit: usize,
    found: Result<Arc<Found>>,
    listed: Mutex<Places>,
    counts: Mutex<Counts>,
    /// The last listing, kept while the files are watched.
    memo: Mutex<Option<Listing>>,
    watched: AtomicBool,
}

/// The places of items in the last listing that their names do not tell.
#[derive(Default)]
struct Places {
    /// Files whose paths are not UTF-8.
    odd: BTreeMap<Box<str>, PathBuf>,
    archives: Vec<Archive>,
}

/// The items, sorted by name.
struct Listing {
    entries: Vec<Entry>,
    /// Items with a `..` in their name, by absolute path.
    roundabout: HashMap<PathBuf, usize>,
}

impl Listing {
    fn new(entries: Vec<Entry>) -> Listing {
        let named = entries.iter().enumerate();
        let roundabout = named
            .filter(|(_, e)| e.name.contains(".."))
            .map(|(at, e)| (absolute(Path::new(&*e.name)), at));
        Listing { roundabout: roundabout.collect(), entries }
    }

    /// The position of the item that a file gives.
    fn place(&self, path: &Path) -> Option<usize> {
        let named = |name: &str| self.entries.binary_search_by(|e| (*e.name).cmp(name)).ok();
        let names = [short(path), Some(path)].into_iter().flatten().filter_map(Path::to_str);
        names.into_iter().find_map(named).or_else(|| self.roundabout.get(path).copied())
    }
}

/// Folders whose changes matter.
#[derive(Default)]
pub struct Folders {
    /// Folders in which every change below matters.
    pub whole: BTreeSet<PathBuf>,
    /// Folders in which only changes of their direct content matter.
    pub own: BTreeSet<PathBuf>,
}

/// An archive, with its members as [`members_of`] encodes them.
struct Archive {
    path: PathBuf,
    encoded: Vec<u8>,
    by_name: OnceLock<HashMap<String, Member>>,
}

/// An error if `keep` leaves none of the tests.
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

/// The files of an instance. A word that leads to no file is an error only when a run asks for the
/// files.
#[salsa::tracked(returns(clone), no_eq)]
pub fn listed<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<Arc<Files>> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Generate(options) = &node.kind else { return Err(gone()) };
    Files::new(&node, options, || found(db, of)).map(Arc::new)
}

impl Files {
    fn new(
        node: &Instance,
        options: &Generate,
        found: impl FnOnce() -> Result<Arc<Found>>,
    ) -> Result<Files> {
        let at = |span: Span, e: String| Diag::at(&node.source, span, e);
        let exclude = excluded(node, options)?;
        if options.files.is_empty() {
            return Err(at(node.span, "there are no `files`, and no `suite`".into()));
        }
        for pattern in options.files.iter() {
            if pattern.value.trim().is_empty() {
                let message = "an empty text names no file, folder or list".to_string();
                return Err(at(pattern.span, message));
            }
            if is_pattern(&pattern.value) && !relative(&node.dir, &pattern.value).is_file() {
                glob(&pattern.value).map_err(|e| at(pattern.span, e))?;
            }
        }
        Ok(Files {
            dir: node.dir.clone(),
            source: node.source.clone(),
            patterns: options.files.0.clone(),
            exclude,
            keep: filter(&node.source, options)?,
            keep_words: options.keep.0.clone(),
            limit: options.limit.as_ref().map_or(usize::MAX, |l| l.value as usize),
            found: found(),
            listed: Mutex::default(),
            counts: Mutex::default(),
            memo: Mutex::default(),
            watched: AtomicBool::new(false),
        })
    }

    /// The folders in which files of this stage can appear and disappear, and those of the files
    /// that lists name.
    pub fn folders(&self) -> Folders {
        let mut out = Folders::default();
        for pattern in self.patterns.iter().filter(|p| !p.value.starts_with('@')) {
            let path = relative(&self.dir, &pattern.value);
            out.whole.insert(absolute(&base(&path)));
            if !is_pattern(&pattern.value) {
                out.whole.insert(absolute(&path));
            }
        }
        if let Ok(found) = &self.found {
            let archives = found.archives.iter().map(|(path, _)| path);
            for path in found.files.iter().chain(archives) {
                out.own.extend(path.parent().map(absolute));
            }
        }
        out
    }

    /// From now on listings are kept, and [`Files::touched`] compares with them.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Reads the changed files among those of the last listing again; says whether the content of
    /// any has changed.
    pub fn touched<'p>(&self, changed: impl Iterator<Item = &'p PathBuf>) -> bool {
        let Ok(mut memo) = self.memo.lock() else { return true };
        let Ok(found) = &self.found else { return false };
        let mut matters = false;
        for path in changed {
            // The root stands for any change.
            if path.parent().is_none() {
                (matters, *memo) = (true, None);
                continue;
            }
            let is_archive =
                || found.archives.iter().any(|(archive, _)| absolute(archive) == *path);
            let place = memo.as_ref().and_then(|listed| listed.place(path));
            let content = place.and_then(|_| test(path));
            match (place, content, &mut *memo) {
                // With a filter, only a new listing shows which tests are kept.
                (Some(at), Some(content), Some(listed)) if self.keep.is_empty() => {
                    let content = Digest::of(&content);
                    matters |= listed.entries[at].content != content;
                    listed.entries[at].content = content;
                }
                // The file is gone, or the filter may now decide differently.
                (Some(_), ..) => (matters, *memo) = (true, None),
                _ if is_archive() || (!self.keep.is_empty() && found.has(path)) => {
                    (matters, *memo) = (true, None);
                }
                _ => {}
            }
        }
        matters
    }

    /// Whether the filter keeps a test. One that cannot be read is kept, so that a later stage
    /// reports it.
    fn keeps(&self, content: Option<Vec<u8>>) -> bool {
        match content.map(|bytes| super::items::read_test(&bytes)) {
            Some(Ok(test)) => self.keep.keeps(&test),
            _ => true,
        }
    }

    /// A digest that identifies this list of files.
    fn place(&self) -> Digest {
        let here = std::path::absolute(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let mut key = Keyer::new("place").field("dir", here.as_os_str().as_encoded_bytes());
        for pattern in &self.patterns {
            key.add("pattern", pattern.value.as_bytes());
        }
        key.finish()
    }

    /// Adds the tests in an archive, as entries.
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
pub fn filter(source: &Source, options: &Generate) -> Result<Filter> {
    let words: Vec<Source> = options.keep.iter().map(|w| super::items::text(source, w)).collect();
    Filter::read(&words)
}

/// The members of an archive with the digests of their contents, encoded for the store: sorted by
/// name, and the last one of each name.
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

/// Why a file cannot be read; of a link, that what it leads to is missing.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no such file, or a link that leads nowhere".into()
        }
        _ => error.to_string(),
    }
}

/// The content of a file that is a test.
fn test(path: &Path) -> Option<Vec<u8>> {
    file::read(path, pack::MAX_MEMBER).ok()
}

impl graph::Source for Files {
    fn list(&self, known: &dyn Records) -> Result<Vec<Entry>> {
        if let Ok(memo) = self.memo.lock()
            && let (true, Some(listing)) = (self.watched.load(Ordering::Relaxed), &*memo)
        {
            return Ok(listing.entries.clone());
        }
        self.keep.begin();
        let mut found = Found::clone(&*self.found.clone()?);
        let considered = (found.files.len() + found.excluded) as u64;
        let unreadable = found.unreadable.clone();
        let mut counts = Counts { considered, unreadable, ..Counts::default() };
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
        let mut listed = Places::default();
        let cannot = |path: &Path, e: std::io::Error| {
            (path.display().to_string(), format!("cannot read it: {}", reason(&e)))
        };
        for (path, digest) in found.files.into_iter().zip(digests) {
            let content = match digest {
                Ok(content) => content,
                Err(e) => {
                    counts.unreadable.push(cannot(&path, e));
                    continue;
                }
            };
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
            let encoded = match members_of(&path, known) {
                Ok(encoded) => encoded,
                Err(e) => {
                    counts.unreadable.push(cannot(&path, e));
                    continue;
                }
            };
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
        // Entries from one place are sorted already.
        if !entries.is_sorted_by(|a, b| a.name < b.name) {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let before = entries.len();
            entries.dedup_by(|a, b| a.name == b.name);
            counts.considered -= (before - entries.len()) as u64;
        }
        counts.drop(LIMITED, entries.len().saturating_sub(self.limit) as u64);
        entries.truncate(self.limit);
        check_kept(&self.source, &self.keep_words, counts.considered, entries.len())?;
        if !entries.is_empty() {
            self.keep.check_held()?;
        }
        if let Ok(mut place) = self.counts.lock() {
            *place = counts;
        }
        if let Ok(mut place) = self.listed.lock() {
            *place = listed;
        }
        if self.watched.load(Ordering::Relaxed)
            && let Ok(mut memo) = self.memo.lock()
        {
            *memo = Some(Listing::new(entries.clone()));
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
