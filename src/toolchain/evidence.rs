//! Records what programs looked at, and checks whether it is unchanged. This evidence says whether
//! an answer still holds, and tells compilers apart.
//!
//! It does not know which programs looked, nor why.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CStr;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::cage::{self, Cage, Cages, Shown};
use super::supervisor;
use super::trace::{LIMITS, Look, Property};
use litmake_base::content::{Stamp, content_of};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::file;
use litmake_base::records::Records;
use rustix::thread::CpuSet;

/// The step in which file systems record times.
const STEP: Duration = Duration::from_millis(10);

/// The number of symbolic links that are followed, as in the kernel.
const LINKS: usize = 40;

/// The result of a look at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// The path does not exist.
    Nothing,
    /// There is something.
    There {
        /// The type and, unless it is a folder, the permissions, as `st_mode` has them.
        mode: u32,
        /// The digest of the names in a folder, of the target of a link, of extended attributes, or
        /// of the content of a file.
        digest: Option<Digest>,
    },
}

/// Paths, the kinds of looks, and what was seen; and properties of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    paths: BTreeMap<PathBuf, BTreeMap<Look, Seen>>,
    process: BTreeMap<Property, Digest>,
}

impl Evidence {
    /// The looks that this evidence does not cover.
    pub fn beyond(&self, looked: &BTreeSet<(PathBuf, Look)>) -> BTreeSet<(PathBuf, Look)> {
        looked.iter().filter(|(path, look)| !self.covers(path, *look)).cloned().collect()
    }

    /// The properties of the process that this evidence does not cover.
    pub fn unasked(&self, asked: &BTreeSet<Property>) -> BTreeSet<Property> {
        asked.iter().filter(|property| !self.process.contains_key(property)).copied().collect()
    }

    /// The same evidence for a tool that runs in a [`cage`].
    pub fn in_a_cage(mut self) -> Evidence {
        self.process.insert(Property::Cage, value(Property::Cage));
        self
    }

    /// Whether the tool runs in a cage.
    pub fn is_in_a_cage(&self) -> bool {
        self.process.contains_key(&Property::Cage)
    }

    /// Whether a tool with this evidence may see that it runs in a cage: it asked for the names that are fixed there.
    pub(super) fn tells_cages(&self) -> bool {
        let named = |property: &Property| matches!(property, Property::System | Property::User);
        self.process.keys().any(named)
    }

    /// The paths that were looked at, and how a cage shows them.
    pub(super) fn shown(&self) -> impl Iterator<Item = (PathBuf, Shown)> {
        let shown = |look| match look {
            Look::Link => Shown::Link,
            Look::Names => Shown::Names,
            Look::Kind | Look::Content | Look::Attributes | Look::Owner | Look::Identity => {
                Shown::Whole
            }
        };
        let there = self.iter().filter(|(_, _, seen)| **seen != Seen::Nothing);
        there.map(move |(path, look, _)| (path.to_path_buf(), shown(look)))
    }

    /// A digest of all of it.
    pub fn digest(&self) -> Digest {
        let mut key = Keyer::new("evidence/1");
        for (name, digest) in self.seen() {
            key.add("name", name.as_os_str().as_encoded_bytes());
            key.add("seen", &digest.0);
        }
        key.finish()
    }

    /// Whether there was a look at a path.
    pub fn has(&self, path: &Path) -> bool {
        self.paths.contains_key(path)
    }

    /// Whether there is a file below a folder that was looked at and is none of these.
    pub fn has_file_below(&self, folder: &Path, except: &BTreeSet<PathBuf>) -> bool {
        let is_file = |seen: &Seen| matches!(seen, Seen::There { mode, .. } if mode & libc::S_IFMT == libc::S_IFREG);
        let below = self.paths.range(folder.to_path_buf()..);
        below
            .take_while(|(path, _)| path.starts_with(folder))
            .any(|(path, seen)| seen.values().any(is_file) && !except.contains(path))
    }

    /// Whether this evidence covers a look.
    pub(super) fn covers(&self, path: &Path, look: Look) -> bool {
        let Some(seen) = self.paths.get(path) else { return false };
        let at = |look| seen.get(&look);
        let whole = || at(Look::Content).or(at(Look::Kind));
        match look {
            // Both have the kind and the content.
            Look::Kind | Look::Content => whole().is_some(),
            // Links on the way to what is there are evidence, too.
            Look::Link => at(look).is_some() || whole().is_some_and(|s| *s != Seen::Nothing),
            Look::Owner => at(look).or(at(Look::Identity)).is_some(),
            Look::Names | Look::Attributes | Look::Identity => at(look).is_some(),
        }
    }

    /// Looks at these paths now, and at all links and folders on the way to them.
    pub fn collect(
        looked: impl IntoIterator<Item = (PathBuf, Look)>,
        asked: impl IntoIterator<Item = Property>,
        looks: &Looks,
        known: &dyn Records,
    ) -> Evidence {
        let mut out = Evidence::default();
        let mut see = |path: PathBuf, look: Look| {
            let seen = looks.see_anew(&path, look, known);
            let is_there = seen != Seen::Nothing;
            out.paths.entry(path).or_default().insert(look, seen);
            is_there
        };
        let mut way = BTreeMap::new();
        for (path, look) in looked {
            // Whatever leads to a path that is missing, it is missing.
            if see(path.clone(), look) {
                follow(&path, &mut way);
            }
        }
        for (path, step) in way {
            if let Some(look) = step.look() {
                see(path, look);
            }
        }
        out.process = asked.into_iter().map(|property| (property, value(property))).collect();
        out
    }

    /// Whether everything is unchanged.
    pub fn holds(&self, looks: &Looks, known: &dyn Records) -> bool {
        self.iter().all(|(path, look, seen)| looks.see(path, look, known) == *seen)
            && self.process.iter().all(|(property, seen)| value(*property) == *seen)
    }

    fn iter(&self) -> impl Iterator<Item = (&Path, Look, &Seen)> {
        self.paths.iter().flat_map(|(path, seen)| {
            seen.iter().map(move |(look, seen)| (path.as_path(), *look, seen))
        })
    }

    /// The union of this and other evidence.
    pub fn with(mut self, other: Evidence) -> Evidence {
        for (path, seen) in other.paths {
            self.paths.entry(path).or_default().extend(seen);
        }
        self.process.extend(other.process);
        self
    }

    /// Everything that was seen, by name: a path, or a property of the process.
    pub fn seen(&self) -> BTreeMap<PathBuf, Digest> {
        let at = |seen: &BTreeMap<Look, Seen>| {
            let mut key = Keyer::new("seen/1");
            for (look, seen) in seen {
                key.add("look", format!("{look:?}").as_bytes());
                match seen {
                    Seen::Nothing => key.add("nothing", b""),
                    Seen::There { mode, digest } => {
                        key.add("mode", &mode.to_le_bytes());
                        key.add("is", digest.as_ref().map_or(&[][..], |digest| &digest.0))
                    }
                };
            }
            key.finish()
        };
        let paths = self.paths.iter().map(|(path, seen)| (path.clone(), at(seen)));
        let process = self.process.iter().map(|(property, value)| (property.name().into(), *value));
        paths.chain(process).collect()
    }

    /// Whether something changed after a time, or so shortly before it that the times cannot tell.
    pub fn changed_since(&self, time: SystemTime) -> bool {
        let time = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.iter().any(|(path, look, _)| {
            metadata(path, look).filter(|meta| has_times(path, look, meta)).is_some_and(|m| {
                let changed = Duration::new(m.ctime().max(0) as u64, m.ctime_nsec().max(0) as u32);
                changed + STEP >= time
            })
        })
    }
}

/// A part of the way to a path.
enum Step {
    /// A link, with its target.
    Link(PathBuf),
    /// A folder.
    Folder,
    /// Anything else, or nothing.
    Other,
}

impl Step {
    fn at(path: &Path) -> Step {
        match leads(path) {
            Some(to) => Step::Link(to),
            None if path.is_dir() => Step::Folder,
            None => Step::Other,
        }
    }

    /// How it is evidence.
    fn look(&self) -> Option<Look> {
        match self {
            Step::Link(_) => Some(Look::Link),
            Step::Folder => Some(Look::Kind),
            Step::Other => None,
        }
    }
}

/// Adds the links and folders on the way to a path.
fn follow(path: &Path, way: &mut BTreeMap<PathBuf, Step>) {
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| part.as_os_str().into()).collect()
    };
    let mut left = parts(path);
    let mut at = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => _ = at.pop(),
            // The root replaces what was before it.
            _ => at.push(part),
        }
        if is_kernels(&at) {
            return;
        }
        let step = way.entry(at.clone()).or_insert_with(|| Step::at(&at));
        if let Step::Link(to) = step {
            followed += 1;
            if followed > LINKS {
                return;
            }
            left.extend(parts(to));
            at.pop();
        }
    }
}

/// The result of the look at each path, and the stamp that the file had then.
#[derive(Default)]
struct Sights {
    seen: HashMap<(PathBuf, Look), Sight>,
    /// How often something had changed when it was looked at again.
    changes: u64,
    /// Paths at which evidence was found to be wrong.
    moved: BTreeSet<PathBuf>,
    /// For each question, how often its evidence was found to be too narrow, and in this round the
    /// first look beyond it.
    widened: HashMap<Digest, (usize, Option<String>)>,
    /// Warnings for people.
    notes: BTreeSet<String>,
}

struct Sight {
    seen: Seen,
    stamp: Option<Stamp>,
    /// The number of the change after which it was this.
    since: u64,
}

/// A moment in the history of what was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

/// How evidence stands after some work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<'e> {
    /// Nothing has changed.
    Unchanged,
    /// This path is as it was, and may have been something else in between.
    Touched(&'e Path),
    /// This path has changed.
    Changed(&'e Path),
}

/// Looks at paths, and remembers what it saw.
#[derive(Default)]
pub struct Looks {
    sights: Mutex<Sights>,
    cages: Mutex<Cages>,
    is_last_round: AtomicBool,
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, Sights> {
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, path: &Path, look: Look, known: &dyn Records) -> Seen {
        let key = (path.to_path_buf(), look);
        if let Some(sight) = self.lock().seen.get(&key) {
            return sight.seen.clone();
        }
        self.see_anew(path, look, known)
    }

    fn see_anew(&self, path: &Path, look: Look, known: &dyn Records) -> Seen {
        let (seen, stamp) = see(path, look, known);
        let sights = &mut *self.lock();
        let key = (path.to_path_buf(), look);
        let since = match sights.seen.get(&key) {
            None => 0,
            Some(before) if before.stamp == stamp && before.seen == seen => before.since,
            Some(_) => {
                sights.changes += 1;
                sights.changes
            }
        };
        sights.seen.insert(key, Sight { seen: seen.clone(), stamp, since });
        seen
    }

    /// Forgets everything that was seen, before compilers are identified again.
    pub fn begin_anew(&self) {
        let sights = &mut *self.lock();
        let mut widened = std::mem::take(&mut sights.widened);
        widened.values_mut().for_each(|(_, first)| *first = None);
        let notes = std::mem::take(&mut sights.notes);
        *sights = Sights { widened, notes, ..Sights::default() };
    }

    /// The cage for some evidence.
    pub fn cage(&self, evidence: &[Arc<Evidence>]) -> std::io::Result<Arc<Cage>> {
        self.cages.lock().unwrap_or_else(PoisonError::into_inner).made(evidence)
    }

    /// Adds a warning for people.
    pub fn note(&self, what: String) {
        self.lock().notes.insert(what);
    }

    /// The warnings so far.
    pub fn notes(&self) -> BTreeSet<String> {
        self.lock().notes.clone()
    }

    /// Records a look beyond the evidence of a question, in words. Returns how many rounds of the
    /// run had such looks.
    pub fn widen(&self, question: Digest, beyond: &str) -> usize {
        let sights = &mut *self.lock();
        let (rounds, first) = sights.widened.entry(question).or_default();
        if first.is_none() {
            *rounds += 1;
            *first = Some(beyond.to_string());
        }
        *rounds
    }

    /// A look beyond some evidence, if there was one.
    pub fn widened(&self) -> Option<String> {
        self.lock().widened.values().find_map(|(_, first)| first.clone())
    }

    /// Says whether compilers are identified again if evidence turns out to be wrong.
    pub fn set_last_round(&self, is_last: bool) {
        self.is_last_round.store(is_last, Ordering::Relaxed);
    }

    /// Whether compilers are not identified again.
    pub fn is_last_round(&self) -> bool {
        self.is_last_round.load(Ordering::Relaxed)
    }

    /// The present moment. Work that begins now is guarded by [`Looks::standing`].
    pub fn now(&self) -> Moment {
        Moment(self.lock().changes)
    }

    /// Looks at the paths of some evidence again, and says how it stands since a moment.
    pub fn standing<'e>(
        &self,
        evidence: &'e Evidence,
        since: Moment,
        known: &dyn Records,
    ) -> Standing<'e> {
        let mut touched = None;
        for (path, look, seen) in evidence.iter() {
            let now = metadata(path, look).and_then(|meta| stamp(path, look, &meta));
            let key = (path.to_path_buf(), look);
            let as_it_was = self.lock().seen.get(&key).is_some_and(|sight| sight.stamp == now);
            if !as_it_was || is_kernels(path) {
                self.see_anew(path, look, known);
            }
            let mut sights = self.lock();
            match sights.seen.get(&key) {
                Some(sight) if sight.seen == *seen && sight.since <= since.0 => {}
                Some(sight) if sight.seen == *seen => touched = Some(path),
                _ => {
                    sights.moved.insert(path.to_path_buf());
                    return Standing::Changed(path);
                }
            }
        }
        touched.map_or(Standing::Unchanged, Standing::Touched)
    }

    /// A path at which some evidence was found to be wrong.
    pub fn moved(&self) -> Option<PathBuf> {
        self.lock().moved.first().cloned()
    }

    /// The path at which some evidence is known to be wrong.
    pub fn moved_in(&self, evidence: &Evidence) -> Option<PathBuf> {
        self.lock().moved.iter().find(|path| evidence.paths.contains_key(*path)).cloned()
    }
}

fn metadata(path: &Path, look: Look) -> Option<Metadata> {
    match look {
        Look::Link => std::fs::symlink_metadata(path).ok(),
        _ => std::fs::metadata(path).ok(),
    }
}

/// Whether the kernel makes what is at a path when it is read, so that its times say nothing.
fn is_kernels(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

/// Whether the times of what is at a path tell that what was looked at has changed. Those of a
/// folder only do where its names were listed.
fn has_times(path: &Path, look: Look, meta: &Metadata) -> bool {
    let is_asked = matches!(look, Look::Names | Look::Owner | Look::Identity);
    let is_read = meta.is_file() || meta.is_symlink() || is_asked;
    is_read && !is_kernels(path)
}

/// The stamp of what is at a path; `None` if it has none.
fn stamp(path: &Path, look: Look, meta: &Metadata) -> Option<Stamp> {
    match has_times(path, look, meta) {
        true => Some(Stamp::of(meta)),
        false if meta.is_dir() => Some(Stamp::of_place(meta)),
        false => None,
    }
}

/// The result of a look at a path, and the stamp from before the look.
fn see(path: &Path, look: Look, known: &dyn Records) -> (Seen, Option<Stamp>) {
    let Some(meta) = metadata(path, look) else { return (Seen::Nothing, None) };
    let stamp = stamp(path, look, &meta);
    // The permissions of a folder show in what can be reached and made in it, which is looked at itself.
    let mut mode = if meta.is_dir() { libc::S_IFDIR } else { meta.mode() };
    let digest = match look {
        Look::Names => meta.is_dir().then(|| names(path)).flatten(),
        Look::Attributes => Some(attributes(path)),
        Look::Owner | Look::Identity => Some(marks(path, look == Look::Identity)),
        Look::Link => match leads(path) {
            Some(to) => {
                // A mount in the place of a link counts as the link.
                mode = libc::S_IFLNK | 0o777;
                Some(Digest::of(to.as_os_str().as_encoded_bytes()))
            }
            None => content(path, &meta, known),
        },
        Look::Kind | Look::Content => content(path, &meta, known),
    };
    (Seen::There { mode, digest }, stamp)
}

/// The digest of the content of a file.
fn content(path: &Path, meta: &Metadata, known: &dyn Records) -> Option<Digest> {
    if path == Path::new("/proc/cpuinfo") {
        return Some(Digest::of(cpuinfo().as_bytes()));
    }
    meta.is_file().then(|| content_of(path, known).ok()).flatten()
}

/// The target of a link. `/lib` and similar folders are links to `/usr/lib`, or mounts of it in
/// sandboxes. Their content is the same, so both count as the link.
fn leads(path: &Path) -> Option<PathBuf> {
    let is_top = path.parent() == Some(Path::new("/"));
    let below = is_top.then(|| below_usr(path.to_path_buf())).filter(|below| below != path);
    match below {
        Some(below) => below.strip_prefix("/").ok().map(Path::to_path_buf),
        None => std::fs::read_link(path).ok(),
    }
}

/// The path of a file below `/usr`, if it has one. `/bin`, `/lib` and similar folders lead there by
/// links, or by mounts in sandboxes, which the path does not show.
fn below_usr(real: PathBuf) -> PathBuf {
    let Ok(name) = real.strip_prefix("/") else { return real };
    let below = Path::new("/usr").join(name);
    let which = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    match which(&below) {
        Some(file) if which(&real) == Some(file) => below,
        _ => real,
    }
}

fn names(folder: &Path) -> Option<Digest> {
    // Programs get to know the kinds with the names.
    let kind = |entry: &DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_file() => "file",
        Ok(kind) if kind.is_symlink() || leads(&entry.path()).is_some() => "link",
        Ok(kind) if kind.is_dir() => "folder",
        _ => "other",
    };
    let names: BTreeMap<_, _> =
        std::fs::read_dir(folder).ok()?.flatten().map(|e| (e.file_name(), kind(&e))).collect();
    let mut key = Keyer::new("names/2");
    for (name, kind) in names {
        key.add("name", name.as_encoded_bytes());
        key.add("kind", kind.as_bytes());
    }
    Some(key.finish())
}

/// A digest of the times and the owner of what is at a path, and of a link there; and of all else
/// that tells it from an equal file.
fn marks(path: &Path, is_identity: bool) -> Digest {
    let mut key = Keyer::new("marks/1");
    for meta in [std::fs::symlink_metadata(path), std::fs::metadata(path)].into_iter().flatten() {
        key.add("changed", format!("{} {}", meta.mtime(), meta.mtime_nsec()).as_bytes());
        key.add("owner", format!("{} {}", meta.uid(), meta.gid()).as_bytes());
        if is_identity {
            let told = [meta.ino() as i64, meta.nlink() as i64, meta.ctime(), meta.ctime_nsec()];
            key.add("identity", format!("{told:?} {}", meta.blocks()).as_bytes());
        }
    }
    key.finish()
}

/// A digest of the extended attributes of a file, by their names.
fn attributes(path: &Path) -> Digest {
    let mut key = Keyer::new("attributes/1");
    let mut list = vec![0; 1 << 16];
    let length = rustix::fs::listxattr(path, &mut list).unwrap_or(0);
    let names = list[..length].split_inclusive(|byte| *byte == 0);
    let names: BTreeSet<_> = names.filter_map(|n| CStr::from_bytes_with_nul(n).ok()).collect();
    let mut value = vec![0; 1 << 16];
    for name in names {
        let length = rustix::fs::getxattr(path, name, &mut value).unwrap_or(0);
        key.add("name", name.to_bytes());
        key.add("value", &value[..length]);
    }
    key.finish()
}

/// The value of a property of this process, which the programs that it runs have, too.
fn value(property: Property) -> Digest {
    let mut key = Keyer::new("property/1");
    match property {
        Property::System => {
            let told = rustix::system::uname();
            for part in [told.sysname(), told.nodename(), told.release(), told.version()] {
                key.add("part", part.to_bytes());
            }
            key.add("part", told.machine().to_bytes());
        }
        Property::User => {
            key.add("user", &rustix::process::getuid().as_raw().to_le_bytes());
            key.add("group", &rustix::process::getgid().as_raw().to_le_bytes());
            for group in rustix::process::getgroups().unwrap_or_default() {
                key.add("other", &group.as_raw().to_le_bytes());
            }
        }
        Property::Processors => {
            let may_use = rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count());
            key.add("count", &may_use.to_le_bytes());
        }
        Property::Affinity => {
            let may_use = rustix::thread::sched_getaffinity(None).unwrap_or_default();
            let all = (0..CpuSet::MAX_CPU).filter(|n| may_use.is_set(*n));
            key.add("which", format!("{:?}", all.collect::<Vec<_>>()).as_bytes());
        }
        Property::Processor => key.add("processor", processor().as_bytes()),
        Property::Limits => {
            for which in LIMITS {
                let limit = rustix::process::getrlimit(which);
                key.add("limit", format!("{which:?} {limit:?}").as_bytes());
            }
            key.add("lowered", format!("{:?}", supervisor::lowered()).as_bytes());
            let priority = rustix::process::getpriority_process(None);
            key.add("priority", format!("{priority:?}").as_bytes());
        }
        Property::Namespaces => key.add("granted", cage::granted().as_bytes()),
        Property::Cage => key.add("version", b"1"),
    }
    key.finish()
}

/// The file about the processors, without what changes by itself.
fn cpuinfo() -> String {
    let text = file::read_text(Path::new("/proc/cpuinfo"), file::MAX_TEXT).unwrap_or_default();
    let is_passing = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.starts_with("cpu mhz") || line.starts_with("bogomips")
    };
    text.lines().filter(|line| !is_passing(line)).collect::<Vec<_>>().join("\n")
}

/// A description of this machine's processor and its features.
fn processor() -> String {
    let text = cpuinfo();
    let told = ["vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "isa", "cpu\t"];
    let lines: BTreeSet<&str> =
        text.lines().filter(|l| told.iter().any(|t| l.starts_with(t))).collect();
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use litmake_base::records::Nowhere;

    #[test]
    fn a_file_has_one_name_whichever_way_leads_to_it() {
        let name = below_usr(PathBuf::from("/bin/sh"));
        let file = |path: &Path| std::fs::metadata(path).map(|m| (m.dev(), m.ino())).unwrap();
        assert_eq!(file(&name), file(Path::new("/bin/sh")));
        if Path::new("/usr/bin/sh").canonicalize().ok() == Path::new("/bin/sh").canonicalize().ok()
        {
            assert_eq!(name, Path::new("/usr/bin/sh"));
        }
        assert_eq!(below_usr("/usr/bin/env".into()), Path::new("/usr/bin/env"));
        assert_eq!(below_usr("/etc/passwd".into()), Path::new("/etc/passwd"));
        assert_eq!(below_usr("/no/such/file".into()), Path::new("/no/such/file"));
    }

    /// A folder with a file `real/file`, and a link `way` to `real`.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        std::fs::create_dir(at.join("real")).unwrap();
        std::fs::write(at.join("real/file"), "1").unwrap();
        symlink("real", at.join("way")).unwrap();
        (dir, at)
    }

    fn seen(path: &Path, look: Look) -> Evidence {
        Evidence::collect([(path.to_path_buf(), look)], [], &Looks::default(), &Nowhere)
    }

    #[test]
    fn links_and_folders_on_the_way_are_evidence() {
        let (_dir, at) = place();
        let found = seen(&at.join("way/../way/file"), Look::Content);
        let looked: Vec<(&Path, Look)> = found.iter().map(|(path, look, _)| (path, look)).collect();
        assert!(looked.contains(&(&at.join("way"), Look::Link)), "{looked:?}");
        assert!(looked.contains(&(&at.join("real"), Look::Kind)), "{looked:?}");
        assert!(!looked.iter().any(|(path, _)| *path == at.join("real/file")), "{looked:?}");
        let missing = seen(&at.join("way/none"), Look::Kind);
        assert_eq!(
            missing.iter().count(),
            1,
            "a path that is missing is missing whatever leads to it"
        );
        // Another link to the same file is other evidence.
        symlink("real", at.join("other")).unwrap();
        let other = seen(&at.join("other/file"), Look::Content);
        assert_ne!(found.seen(), other.seen());
    }

    #[test]
    fn what_was_touched_what_was_exchanged_and_what_stayed_are_told_apart() {
        let (_dir, at) = place();
        let file = at.join("way/file");
        let looks = Looks::default();
        let looked = [(file.clone(), Look::Content), (at.clone(), Look::Names)];
        let evidence = Evidence::collect(looked, [], &looks, &Nowhere);
        let begin = looks.now();
        let standing = |since| looks.standing(&evidence, since, &Nowhere);
        assert_eq!(standing(begin), Standing::Unchanged);
        // Written again with equal content: as if another had been there in between.
        std::fs::write(at.join("new"), "1").unwrap();
        std::fs::rename(at.join("new"), at.join("real/file")).unwrap();
        assert_eq!(standing(begin), Standing::Touched(&file));
        assert_eq!(standing(looks.now()), Standing::Unchanged, "for work that begins now");
        assert_eq!(standing(begin), Standing::Touched(&file), "for all work that had begun before");
        // The folder in which it lies is exchanged and put back.
        let begin = looks.now();
        std::fs::rename(at.join("real"), at.join("kept")).unwrap();
        std::fs::rename(at.join("kept"), at.join("real")).unwrap();
        assert!(matches!(standing(begin), Standing::Touched(_)));
        assert_eq!(looks.moved(), None);
        std::fs::write(at.join("more"), "").unwrap();
        assert_eq!(standing(looks.now()), Standing::Changed(&at), "a name more in a listed folder");
        assert_eq!(looks.moved(), Some(at.clone()));
        assert_eq!(looks.moved_in(&evidence), Some(at));
        looks.begin_anew();
        assert_eq!(looks.moved_in(&evidence), None);
    }
}
