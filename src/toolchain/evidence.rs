//! Records what programs looked at in the file system, and checks whether it is unchanged. This
//! evidence says whether an answer still holds, and tells compilers apart.
//!
//! It does not know which programs looked, nor why.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::trace::Look;
use litmake_base::content::{Stamp, content_of};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::Records;

/// The step in which file systems record times.
const STEP: Duration = Duration::from_millis(10);

/// What a look saw at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// The path does not exist.
    Nothing,
    /// A folder; its content was not looked at.
    Folder,
    /// A file; its content was not looked at.
    File,
    /// The digest of the names in a folder, of the target of a link, or of the content of a file.
    Digest(Digest),
}

/// Paths, the kinds of looks, and what was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence(BTreeMap<PathBuf, BTreeMap<Look, Seen>>);

impl Evidence {
    /// Looks at these paths now.
    pub fn collect(
        looked: impl IntoIterator<Item = (PathBuf, Look)>,
        looks: &Looks,
        known: &dyn Records,
    ) -> Evidence {
        let mut out = Evidence::default();
        for (path, look) in looked {
            let seen = looks.see_anew(&path, look, known);
            out.0.entry(path).or_default().insert(look, seen);
        }
        out
    }

    /// Whether everything is unchanged.
    pub fn holds(&self, looks: &Looks, known: &dyn Records) -> bool {
        self.iter().all(|(path, look, seen)| looks.see(path, look, known) == *seen)
    }

    fn iter(&self) -> impl Iterator<Item = (&Path, Look, &Seen)> {
        self.0.iter().flat_map(|(path, seen)| {
            seen.iter().map(move |(look, seen)| (path.as_path(), *look, seen))
        })
    }

    /// The union of this and other evidence.
    pub fn with(mut self, other: Evidence) -> Evidence {
        for (path, seen) in other.0 {
            self.0.entry(path).or_default().extend(seen);
        }
        self
    }

    /// The files whose content was read.
    pub fn contents(&self) -> impl Iterator<Item = (&Path, Digest)> {
        self.iter().filter_map(|(path, look, seen)| match (look, seen) {
            (Look::Content, Seen::Digest(digest)) => Some((path, *digest)),
            _ => None,
        })
    }

    /// Whether a file changed after a time, or so shortly before it that the times cannot tell.
    pub fn changed_since(&self, time: SystemTime) -> bool {
        let time = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.contents().any(|(path, _)| {
            std::fs::metadata(path).is_ok_and(|m| {
                let changed = Duration::new(m.ctime().max(0) as u64, m.ctime_nsec().max(0) as u32);
                changed + STEP >= time
            })
        })
    }
}

/// What was seen at each path, and the stamp of the file then.
type Sights = HashMap<(PathBuf, Look), (Seen, Option<Stamp>)>;

/// Looks at paths, and remembers what it saw.
#[derive(Default)]
pub struct Looks {
    seen: Mutex<Sights>,
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, Sights> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, path: &Path, look: Look, known: &dyn Records) -> Seen {
        let key = (path.to_path_buf(), look);
        if let Some((seen, _)) = self.lock().get(&key) {
            return seen.clone();
        }
        self.see_anew(path, look, known)
    }

    fn see_anew(&self, path: &Path, look: Look, known: &dyn Records) -> Seen {
        let now = see(path, look, known);
        self.lock().insert((path.to_path_buf(), look), now.clone());
        now.0
    }

    /// The first path of some evidence that changed since it was looked at.
    pub fn changed<'e>(&self, evidence: &'e Evidence, known: &dyn Records) -> Option<&'e Path> {
        for (path, look, seen) in evidence.iter() {
            let stamp = metadata(path, look).as_ref().map(Stamp::of);
            let as_it_was = match self.lock().get(&(path.to_path_buf(), look)) {
                Some((before, at)) => before == seen && *at == stamp,
                None => false,
            };
            if !as_it_was && self.see_anew(path, look, known) != *seen {
                return Some(path);
            }
        }
        None
    }
}

fn metadata(path: &Path, look: Look) -> Option<Metadata> {
    match look {
        Look::Link => std::fs::symlink_metadata(path).ok(),
        _ => std::fs::metadata(path).ok(),
    }
}

/// What is at a path, and the stamp from before the look.
fn see(path: &Path, look: Look, known: &dyn Records) -> (Seen, Option<Stamp>) {
    let Some(meta) = metadata(path, look) else { return (Seen::Nothing, None) };
    let stamp = Some(Stamp::of(&meta));
    let kind = if meta.is_dir() { Seen::Folder } else { Seen::File };
    let digest = match look {
        Look::Link => leads(path).map(|to| Digest::of(to.as_os_str().as_encoded_bytes())),
        Look::Names if meta.is_dir() => names(path),
        // A program that asks for the size and time of a file wants to know whether the file
        // changed.
        Look::Kind | Look::Content if meta.is_file() => content_of(path, known).ok(),
        Look::Kind | Look::Names | Look::Content => None,
    };
    (digest.map_or(kind, Seen::Digest), stamp)
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
pub(super) fn below_usr(real: PathBuf) -> PathBuf {
    let Ok(name) = real.strip_prefix("/") else { return real };
    let below = Path::new("/usr").join(name);
    let which = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    match which(&below) {
        Some(file) if which(&real) == Some(file) => below,
        _ => real,
    }
}

fn names(folder: &Path) -> Option<Digest> {
    let names: BTreeSet<_> =
        std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.file_name())).collect();
    let mut key = Keyer::new("names/1");
    for name in names {
        key.add("name", name.as_encoded_bytes());
    }
    Some(key.finish())
}
