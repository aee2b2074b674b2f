//! Computes digests of files, and remembers them for files that have not changed.
//!
//! A digest is stored together with a stamp of its file: device, inode, size, and the times of the
//! last change of the content and of the inode. Programs cannot set the last of these. A file with
//! an equal stamp is not read; one with another stamp is read, so that touching or copying a file
//! changes no digest. Two rules keep this safe: a digest is not stored if the file changed so
//! shortly before it was read that another change could leave the same stamp, and a stored digest
//! is checked again after a day.
//!
//! It does not know what the files contain.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cuts::cuts;
use super::digest::{Digest, Keyer};
use super::records::{Kind, Put, Records};
use crate::file;

/// The age at which a stored digest is checked again.
const TRUSTED: Duration = Duration::from_secs(24 * 3600);
/// A single file below this size is read as fast as it is looked up.
const LARGE: u64 = 1 << 16;

const STAMP_LEN: usize = 48;

/// The state of a file when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp([u8; STAMP_LEN]);

impl Stamp {
    /// Place, size and times, which differ after a later change.
    pub fn of(meta: &Metadata) -> Stamp {
        let fields = [
            meta.dev(),
            meta.ino(),
            meta.size(),
            meta.mtime() as u64,
            meta.ctime() as u64,
            (meta.mtime_nsec() as u64) << 32 | meta.ctime_nsec() as u64,
        ];
        Stamp::new(fields)
    }

    /// The place of a folder, whatever is made and removed in it. If only the time of its inode
    /// changed, it was renamed.
    pub fn of_place(meta: &Metadata) -> Stamp {
        let changed = (meta.ctime(), meta.ctime_nsec());
        let renamed = if changed == (meta.mtime(), meta.mtime_nsec()) { (0, 0) } else { changed };
        let fields = [meta.dev(), meta.ino(), renamed.0 as u64, renamed.1 as u64, 0, 0];
        Stamp::new(fields)
    }

    fn new(fields: [u64; 6]) -> Stamp {
        let mut out = [0; STAMP_LEN];
        for (place, field) in out.chunks_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        Stamp(out)
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Whether every later change would change the stamp. File systems round times: to milliseconds or
/// less if a time has a fraction of a millisecond, else to up to two seconds.
fn settled(meta: &Metadata, now: Duration) -> bool {
    let changed = Duration::new(meta.ctime().max(0) as u64, meta.ctime_nsec().max(0) as u32);
    let step = match meta.ctime_nsec() % 1_000_000 {
        0 => Duration::from_millis(2100),
        _ => Duration::from_millis(100),
    };
    now.saturating_sub(changed) > step
}

#[expect(clippy::disallowed_methods, reason = "a file's stamp is a time of day, and ages")]
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The digest of one file.
pub fn content_of(path: &Path, known: &dyn Records) -> io::Result<Digest> {
    let digest = remembered("digest", path, known, |file| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        Ok(hasher.finalize().as_bytes().to_vec())
    })?;
    Digest::from_slice(&digest).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The result of `make` on one file, remembered where the file is large.
pub fn remembered(
    what: &str,
    path: &Path,
    known: &dyn Records,
    make: impl FnOnce(&File) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    let file = crate::file::open(path)?;
    let meta = file.metadata()?;
    let key = Keyer::new("file/1")
        .field("what", what.as_bytes())
        .field("path", std::path::absolute(path)?.as_os_str().as_encoded_bytes())
        .field("stamp", Stamp::of(&meta).bytes())
        .finish();
    let now = now();
    if let Some(mut value) = known.get(&[key]).pop().flatten()
        && value.len() >= 8
        && fresh(&value[..8], now)
    {
        value.drain(..8);
        return Ok(value);
    }
    let made = make(&file)?;
    if settled(&meta, now) && meta.size() > LARGE {
        let value = [&now.as_secs().to_le_bytes(), &made[..]].concat();
        known.put(&[Put { kind: Kind::Alias, key, value: &value }]);
    }
    Ok(made)
}

fn fresh(time: &[u8], now: Duration) -> bool {
    let read = u64::from_le_bytes(time.try_into().unwrap_or_default());
    read <= now.as_secs() && now.as_secs() - read < TRUSTED.as_secs()
}

/// The digests of many files, in the order of their paths. They are stored in pieces, so that one
/// changed file rewrites one piece. `place` tells lists of files apart.
pub fn contents_of(
    paths: &[PathBuf],
    place: &Digest,
    known: &dyn Records,
) -> Vec<io::Result<Digest>> {
    let names: Vec<_> = paths.iter().map(|p| p.to_string_lossy()).collect();
    let mut bounds = vec![0];
    bounds.extend(cuts(names.iter().map(|n| &**n)));
    let next = AtomicUsize::new(0);
    let out = Mutex::new(Vec::with_capacity(bounds.len()));
    let work = || {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = bounds.get(piece..piece + 2) else { return };
            let (from, to) = (range[0], range[1]);
            let names: Vec<&str> = names[from..to].iter().map(|n| &**n).collect();
            let digests = piece_of(&paths[from..to], &names, place, known);
            if let Ok(mut out) = out.lock() {
                out.push((piece, digests));
            }
        }
    };
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(bounds.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut out = out.into_inner().unwrap_or_default();
    out.sort_by_key(|(piece, _)| *piece);
    out.into_iter().flat_map(|(_, digests)| digests).collect()
}

/// The stored digest of a file.
struct Seen<'a> {
    name: &'a [u8],
    stamp: &'a [u8],
    digest: &'a [u8],
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Seen<'_>>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let rest = bytes.get(4..)?;
        if rest.len() < len + STAMP_LEN + 32 {
            return None;
        }
        let (name, rest) = rest.split_at(len);
        let (stamp, rest) = rest.split_at(STAMP_LEN);
        let (digest, rest) = rest.split_at(32);
        out.push(Seen { name, stamp, digest });
        bytes = rest;
    }
    Some(out)
}

fn piece_of(
    paths: &[PathBuf],
    names: &[&str],
    place: &Digest,
    known: &dyn Records,
) -> Vec<io::Result<Digest>> {
    let first = names.first().map_or("", |n| n);
    let key =
        Keyer::new("files/1").field("place", &place.0).field("first", first.as_bytes()).finish();
    let now = now();
    let value = known.get(&[key]).pop().flatten().unwrap_or_default();
    let (time, body) = value.split_at(value.len().min(8));
    let seen = match fresh(time, now) {
        true => decode(body).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut seen_iter = seen.iter().peekable();
    let mut out = Vec::with_capacity(paths.len());
    let mut to_keep = Vec::with_capacity(value.len());
    let mut buffer = Vec::new();
    for (path, name) in paths.iter().zip(names) {
        while seen_iter.next_if(|s| s.name < name.as_bytes()).is_some() {}
        let before = seen_iter.next_if(|s| s.name == name.as_bytes());
        let one = one_of(path, before, &mut buffer);
        if let Ok((digest, meta, was_read)) = &one
            && (!was_read || settled(meta, now))
        {
            to_keep.extend_from_slice(&(name.len() as u32).to_le_bytes());
            to_keep.extend_from_slice(name.as_bytes());
            to_keep.extend_from_slice(Stamp::of(meta).bytes());
            to_keep.extend_from_slice(&digest.0);
        }
        out.push(one.map(|(digest, ..)| digest));
    }
    let renewed = seen.is_empty() && !to_keep.is_empty();
    if to_keep != body || renewed {
        // The day starts at the oldest reading in the piece.
        let time = match renewed {
            true => now.as_secs().to_le_bytes(),
            false => time.try_into().unwrap_or_default(),
        };
        known.put(&[Put { kind: Kind::Alias, key, value: &[&time[..], &to_keep].concat() }]);
    }
    out
}

/// The digest and metadata of a file, and whether it was read.
fn one_of(
    path: &Path,
    before: Option<&Seen>,
    buffer: &mut Vec<u8>,
) -> io::Result<(Digest, Metadata, bool)> {
    if let Some(before) = before {
        let meta = std::fs::metadata(path)?;
        if Stamp::of(&meta).bytes() == before.stamp
            && let Some(digest) = Digest::from_slice(before.digest)
        {
            return Ok((digest, meta, false));
        }
    }
    // Metadata of the opened file, taken before it is read: a change during the reading then gives
    // another stamp.
    let mut file = file::open(path)?;
    let meta = file.metadata()?;
    buffer.clear();
    file.read_to_end(buffer)?;
    Ok((Digest::of(buffer), meta, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::os::unix::fs::FileExt;

    /// Records in memory, and the number of records that were put.
    #[derive(Default)]
    struct Memory(Mutex<(HashMap<Digest, Vec<u8>>, u64)>);

    impl Memory {
        fn written(&self) -> u64 {
            self.0.lock().unwrap().1
        }
    }

    impl Records for Memory {
        fn has(&self, keys: &[Digest]) -> Vec<bool> {
            let inner = self.0.lock().unwrap();
            keys.iter().map(|k| inner.0.contains_key(k)).collect()
        }

        fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
            let inner = self.0.lock().unwrap();
            keys.iter().map(|k| inner.0.get(k).cloned()).collect()
        }

        fn put(&self, records: &[Put]) {
            let mut inner = self.0.lock().unwrap();
            for record in records {
                inner.0.insert(record.key, record.value.to_vec());
                inner.1 += 1;
            }
        }
    }

    fn aged(path: &Path) {
        // Wait until the stamp of a file that was just written is trusted.
        while !settled(&std::fs::metadata(path).unwrap(), now()) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn what_is_as_it_was_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Memory::default();
        let paths: Vec<PathBuf> =
            (0..2000).map(|i| dir.path().join(format!("{i:04}.litmus"))).collect();
        for (i, path) in paths.iter().enumerate() {
            std::fs::write(path, format!("test {i}")).unwrap();
        }
        let place = Digest::of(b"place");
        let all = || -> Vec<Digest> {
            contents_of(&paths, &place, &store).into_iter().map(Result::unwrap).collect()
        };
        let expected: Vec<Digest> =
            (0..2000).map(|i| Digest::of(format!("test {i}").as_bytes())).collect();
        aged(paths.last().unwrap());
        assert_eq!(all(), expected);
        let written = store.written();
        assert!(written > 0, "the list is remembered");
        assert_eq!(all(), expected);
        assert_eq!(store.written(), written, "nothing is new");
        // Other content of the same length, with the time set back: the time of the inode shows the
        // change.
        let meta = std::fs::metadata(&paths[77]).unwrap();
        let file = File::options().write(true).open(&paths[77]).unwrap();
        file.write_all_at(b"TEST", 0).unwrap();
        file.set_modified(meta.modified().unwrap()).unwrap();
        let now = all();
        assert_eq!(now[77], Digest::of(b"TEST 77"));
        assert_eq!(now[..77], expected[..77]);
        assert_eq!(now[78..], expected[78..]);
        // Once its stamp is trusted, only the piece with this file is rewritten.
        aged(&paths[77]);
        assert_eq!(all()[77], Digest::of(b"TEST 77"));
        assert!(store.written() <= written + 2);
        std::fs::remove_file(&paths[5]).unwrap();
        assert!(contents_of(&paths, &place, &store)[5].is_err());
    }

    #[test]
    fn what_changed_just_before_it_was_read_is_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let store = Memory::default();
        let path = dir.path().join("a");
        let place = Digest::of(b"place");
        // Every change is noticed, however quickly changes follow each other.
        for i in 0..200u32 {
            std::fs::write(&path, i.to_le_bytes()).unwrap();
            let got = contents_of(std::slice::from_ref(&path), &place, &store);
            assert_eq!(*got[0].as_ref().unwrap(), Digest::of(&i.to_le_bytes()));
        }
    }
}
