//! The store: small immutable records under digests, shared by processes and machines.
//!
//! Records live in append-only segments. A process appends to one segment that is its own and
//! locked, so writers never contend; a sealed segment has a sorted index beside it and never
//! changes again. Files are read and never mapped, so that whoever cuts one costs its records and not
//! the program. Everything is checked when it is read: a record that is not as it was written
//! counts as absent, and is said to be broken. The store does not know what its values mean.
//!
//! Invariants:
//! - what `put` accepted survives the death of the process: it was written to the file before
//!   `put` returned, or the store has said that it keeps results in memory only;
//! - a segment's name is published only when its header is written and its lock is held, so an
//!   unlocked segment without an index was left by a process that died;
//! - no published file is ever written over; files only appear and disappear whole.

#![expect(
    clippy::disallowed_methods,
    reason = "files of the store are its own, and ordered by time"
)]

mod gc;
mod segment;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustc_hash::{FxHashMap, FxHashSet};

pub use gc::{Compacted, GcOptions, GcReport, Stats, VerifyReport};
use litmake_base::digest::Digest;
pub use litmake_base::records::Kind;
use litmake_base::records::{Put, Records};
use segment::{BadHeader, Broken, IndexHead};
use segment::{HEADER_LEN, Index, Segment};

/// A segment is sealed and a new one begun at this size or count, which bounds the memory that
/// the index of an open one takes.
const SEAL_BYTES: u64 = 96 << 20;
const SEAL_RECORDS: usize = 400_000;
/// Results that can not be written are kept in memory up to this much.
const OVERLAY_BYTES: u64 = 512 << 20;
const NOTICES_SHOWN: usize = 10;

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// Never write, not even to recover what a dead process left.
    pub read_only: bool,
    /// A second store that is read where this one has nothing.
    pub shared: Option<PathBuf>,
}

/// The cache on disk: records under their keys, in a folder of segments that several processes
/// share.
pub struct Store {
    dir: PathBuf,
    read_only: AtomicBool,
    /// Newest first; live segments of other processes are among them.
    sealed: RwLock<Vec<Arc<Segment>>>,
    live: RwLock<Vec<Segment>>,
    writer: Mutex<Option<Writer>>,
    /// The index of this process's open segment, and its file to read from.
    open: RwLock<Option<Segment>>,
    overlay: RwLock<Overlay>,
    shared: Option<Box<Store>>,
    notices: Mutex<Notices>,
    refreshed: Mutex<Instant>,
    written: AtomicU64,
}

#[derive(Default)]
struct Overlay {
    records: FxHashMap<Digest, Arc<[u8]>>,
    bytes: u64,
    dropped: u64,
}

#[derive(Default)]
struct Notices {
    pending: Vec<String>,
    seen: FxHashSet<(String, u64)>,
    broken: u64,
}

/// A segment that was found on disk.
enum Opened {
    Sealed(Segment),
    /// Another process is writing it.
    Live(Segment),
}

struct Writer {
    file: File,
    path: PathBuf,
    len: u64,
    records: usize,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the store in a folder, made where it is missing. A folder that can not be written
    /// gives a store that only reads; that is said, and is no error.
    pub fn open(dir: &Path, options: &StoreOptions) -> io::Result<Store> {
        let store = Store {
            dir: dir.to_path_buf(),
            read_only: AtomicBool::new(options.read_only),
            sealed: RwLock::default(),
            live: RwLock::default(),
            writer: Mutex::default(),
            open: RwLock::default(),
            overlay: RwLock::default(),
            shared: match &options.shared {
                Some(path) if path.is_dir() => Some(Box::new(Store::open(
                    path,
                    &StoreOptions { read_only: true, shared: None },
                )?)),
                _ => None,
            },
            notices: Mutex::default(),
            refreshed: Mutex::new(Instant::now()),
            written: AtomicU64::new(0),
        };
        if let (Some(path), None) = (&options.shared, &store.shared) {
            store.notice(format!(
                "shared cache {}: there is no such folder; going on without it",
                path.display()
            ));
        }
        if !options.read_only
            && let Err(e) = fs::create_dir_all(store.segments_dir())
        {
            store.only_memory("its folder can not be made", &e);
        }
        if !dir.is_dir() && store.is_read_only() {
            return Ok(store);
        }
        store.load()?;
        Ok(store)
    }

    /// The folder in which it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn segments_dir(&self) -> PathBuf {
        self.dir.join("segments")
    }

    /// Whether nothing is written: that was asked for, or writing has failed.
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Messages for the user, each once.
    pub fn take_notices(&self) -> Vec<String> {
        let mut out = match &self.shared {
            Some(shared) => shared.take_notices(),
            None => Vec::new(),
        };
        let mut notices = lock(&self.notices);
        out.append(&mut notices.pending);
        out
    }

    /// How many broken entries were met since the store was opened.
    pub fn broken(&self) -> u64 {
        lock(&self.notices).broken + self.shared.as_ref().map_or(0, |s| s.broken())
    }

    /// Records that this process wrote.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Results that fitted neither the disk nor the memory set aside for them.
    pub fn dropped(&self) -> u64 {
        read(&self.overlay).dropped
    }

    fn notice(&self, text: String) {
        lock(&self.notices).pending.push(text);
    }

    fn broken_at(&self, segment: &Segment, offset: u64, why: Broken) {
        if why != Broken::Unreadable {
            segment.damaged.store(true, Ordering::Relaxed);
        }
        let why = why.why();
        let mut notices = lock(&self.notices);
        if !notices.seen.insert((segment.name(), offset)) {
            return;
        }
        notices.broken += 1;
        if notices.broken as usize <= NOTICES_SHOWN {
            let text = format!(
                "cache: broken entry in {} at byte {offset}: {why}; it is computed again",
                segment.name()
            );
            notices.pending.push(text);
        } else if notices.broken as usize == NOTICES_SHOWN + 1 {
            let text = "cache: more broken entries; `litmake cache verify` counts them".into();
            notices.pending.push(text);
        }
    }

    /// Reads the list of segments; seals those that dead processes left behind.
    fn load(&self) -> io::Result<()> {
        let known: FxHashSet<PathBuf> = read(&self.sealed)
            .iter()
            .map(|s| s.path.clone())
            .chain(read(&self.live).iter().map(|s| s.path.clone()))
            .chain(read(&self.open).iter().map(|s| s.path.clone()))
            .collect();
        let entries = match fs::read_dir(self.segments_dir()) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "seg") && !known.contains(p))
            .collect();
        paths.sort();
        for path in paths {
            match self.open_segment(&path) {
                Ok(Some(Opened::Sealed(segment))) => {
                    write(&self.sealed).insert(0, Arc::new(segment));
                }
                Ok(Some(Opened::Live(segment))) => write(&self.live).push(segment),
                Ok(None) => {}
                // Another process may have merged it away between the listing and now.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => self.notice(format!("cache: {} is left out: {e}", path.display())),
            }
        }
        Ok(())
    }

    fn open_segment(&self, path: &Path) -> io::Result<Option<Opened>> {
        let file = File::open(path)?;
        let damaged = match segment::read_header(&file) {
            Ok(_) => false,
            Err(BadHeader::Foreign(why)) => {
                self.notice(format!("cache: {} is left out: {why}", path.display()));
                return Ok(None);
            }
            Err(BadHeader::Damaged(why)) => {
                self.notice(format!(
                    "cache: {}: {why}; what is sound in it is used",
                    path.display()
                ));
                true
            }
        };
        let real = file.metadata()?.len();
        let segment = Segment::new(path, file);
        segment.damaged.store(damaged, Ordering::Relaxed);
        let index_path = segment.index_path();
        match Index::head(&index_path) {
            Ok(head) if head.segment_len == real => {}
            Ok(IndexHead { segment_len: len, .. }) => {
                segment.damaged.store(true, Ordering::Relaxed);
                let path = path.display();
                self.notice(match real < len {
                    true => format!(
                        "cache: {path} was cut from {len} to {real} bytes; what is gone is computed again"
                    ),
                    false => format!(
                        "cache: {path} has {real} bytes, of which {len} were written; the rest is not used"
                    ),
                });
            }
            Err(e) => {
                if e.kind() != io::ErrorKind::NotFound {
                    self.notice(format!("cache: {}: {e}; it is made anew", index_path.display()));
                } else if segment.file.try_lock_shared().is_err() {
                    let mut segment = Segment::growing(path, segment.file);
                    segment.catch_up()?;
                    return Ok(Some(Opened::Live(segment)));
                }
                let _ = segment.index.set(self.rebuilt(&segment)?);
                let _ = segment.file.unlock();
            }
        }
        Ok(Some(Opened::Sealed(segment)))
    }

    /// The index of a segment, which is read when it is needed.
    fn index_of<'s>(&self, segment: &'s Segment) -> &'s Index {
        segment.index.get_or_init(|| {
            Index::read(&segment.index_path()).unwrap_or_else(|e| {
                // Where it is gone, another process has merged the segment into another.
                if e.kind() != io::ErrorKind::NotFound {
                    let path = segment.index_path();
                    self.notice(format!("cache: {}: {e}; it is made anew", path.display()));
                }
                self.rebuilt(segment).unwrap_or_else(|_| Index::empty())
            })
        })
    }

    /// Makes the index of a segment out of its records, and keeps it where that is allowed.
    fn rebuilt(&self, segment: &Segment) -> io::Result<Index> {
        let bytes = segment.bytes()?;
        let mut index = Index::empty();
        let scan = segment::scan(&bytes, HEADER_LEN as u64, |at, record| {
            index.insert(&record.key, at);
        });
        for (at, why) in &scan.broken {
            self.broken_at(segment, *at, *why);
        }
        if !self.is_read_only() && segment.path.exists() {
            let path = segment.index_path();
            // A record that was half written when its process died is part of the length.
            if index.write(&path, bytes.len() as u64).is_ok()
                && let Ok(sorted) = Index::read(&path)
            {
                index = sorted;
            }
        }
        Ok(index)
    }

    /// Looks for what other processes have written meanwhile; cheap, and at most every
    /// `interval`.
    pub fn refresh(&self, interval: Duration) {
        {
            let mut last = lock(&self.refreshed);
            if last.elapsed() < interval {
                return;
            }
            *last = Instant::now();
        }
        let mut finished = Vec::new();
        for segment in write(&self.live).iter_mut() {
            let _ = segment.catch_up();
            if segment.path.with_extension("idx").exists() || !segment.path.exists() {
                finished.push(segment.path.clone());
            }
        }
        write(&self.live).retain(|s| !finished.contains(&s.path));
        let _ = self.load();
    }

    /// Whether another process is writing to this store at this moment.
    pub fn has_company(&self) -> bool {
        !read(&self.live).is_empty()
    }

    /// Whether another process that is writing comes before this one, in an order that both know.
    pub fn is_later(&self) -> bool {
        let own = lock(&self.writer).as_ref().map(|w| w.path.clone());
        let live = read(&self.live);
        live.iter().any(|other| own.as_ref().is_none_or(|own| other.path < *own))
    }

    /// One record: the newest sound one under the key.
    fn find<T>(&self, key: &Digest, mut take: impl FnMut(segment::Record) -> T) -> Option<T> {
        if let Some(open) = read(&self.open).as_ref()
            && let Some(out) = self.find_in(open, key, &mut take)
        {
            return Some(out);
        }
        for segment in read(&self.sealed).iter() {
            if let Some(out) = self.find_in(segment, key, &mut take) {
                return Some(out);
            }
        }
        for segment in read(&self.live).iter() {
            if let Some(out) = self.find_in(segment, key, &mut take) {
                return Some(out);
            }
        }
        None
    }

    fn find_in<T>(
        &self,
        segment: &Segment,
        key: &Digest,
        take: &mut impl FnMut(segment::Record) -> T,
    ) -> Option<T> {
        // The last record of a key counts.
        for offset in self.index_of(segment).find(key).into_iter().rev() {
            match segment.read(offset) {
                Ok(record) if record.key == *key => {
                    segment.used.store(true, Ordering::Relaxed);
                    return Some(take(record));
                }
                // Two keys may share their first 64 bits.
                Ok(_) => {}
                Err(why) => self.broken_at(segment, offset, why),
            }
        }
        None
    }

    fn in_overlay(&self, key: &Digest) -> Option<Arc<[u8]>> {
        read(&self.overlay).records.get(key).cloned()
    }

    /// The value under a key, where there is one.
    pub fn get_one(&self, key: &Digest) -> Option<Vec<u8>> {
        if let Some(value) = self.find(key, |r| r.value) {
            return Some(value);
        }
        if let Some(value) = self.in_overlay(key) {
            return Some(value.to_vec());
        }
        let (kind, value) = self.shared.as_ref()?.find(key, |r| (r.kind, r.value))?;
        // A record of the shared layer is kept here too, since that layer may not be there next time.
        self.put(&[Put { kind, key: *key, value: &value }]);
        Some(value)
    }

    /// The kind of the record under a key, if the store has the record in its folder.
    pub fn kind_of(&self, key: &Digest) -> Option<Kind> {
        self.find(key, |r| r.kind)
    }

    /// From now on results are kept in memory only.
    fn only_memory(&self, what: &str, error: &io::Error) {
        if !self.read_only.swap(true, Ordering::Relaxed) {
            self.notice(format!(
                "cache {}: {what}: {error}; results of this run are kept in memory only, and the next run computes them again",
                self.dir.display()
            ));
        }
    }

    fn begin(&self) -> io::Result<Writer> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.begin_at(now.as_micros() as u64)
    }

    /// Begins a segment as old as one that was begun at a time, in microseconds.
    fn begin_at(&self, micros: u64) -> io::Result<Writer> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let path = self.segments_dir().join(format!(
            "{micros:016x}-{:08x}-{:04x}.seg",
            std::process::id(),
            COUNTER.fetch_add(1, Ordering::Relaxed)
        ));
        let temporary = path.with_extension("seg.tmp");
        let mut file =
            OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        let ready = file
            .lock()
            .and_then(|()| file.write_all(&segment::encode_header(micros / 1_000_000)))
            .and_then(|()| fs::rename(&temporary, &path));
        if let Err(e) = ready {
            let _ = fs::remove_file(&temporary);
            return Err(e);
        }
        Ok(Writer { file, path, len: HEADER_LEN as u64, records: 0 })
    }

    /// Appends a batch. The first failure to write turns the store into one that keeps results
    /// in memory, so that the run can end.
    fn append(&self, records: &[Put]) {
        if self.is_read_only() {
            self.keep_in_memory(records);
            return;
        }
        let mut guard = lock(&self.writer);
        if guard.is_none() {
            match self.begin() {
                Ok(writer) => {
                    let Ok(file) = writer.file.try_clone() else {
                        return self.keep_in_memory(records);
                    };
                    *write(&self.open) = Some(Segment::growing(&writer.path, file));
                    *guard = Some(writer);
                }
                Err(e) => {
                    self.only_memory("it can not be written", &e);
                    drop(guard);
                    return self.keep_in_memory(records);
                }
            }
        }
        let Some(writer) = guard.as_mut() else {
            return;
        };
        let mut buffer = Vec::new();
        let mut places = Vec::with_capacity(records.len());
        for record in records {
            places.push(writer.len + buffer.len() as u64);
            segment::encode_record(&mut buffer, record.kind, &record.key, record.value);
        }
        if let Err(e) = writer.file.write_all_at(&buffer, writer.len) {
            // A half-written record is cut off again; readers would step over it anyhow.
            let _ = writer.file.set_len(writer.len);
            self.only_memory("writing failed", &e);
            drop(guard);
            return self.keep_in_memory(records);
        }
        writer.len += buffer.len() as u64;
        writer.records += records.len();
        if let Some(open) = write(&self.open).as_mut() {
            for (record, place) in records.iter().zip(places) {
                open.insert(&record.key, place);
            }
        }
        self.written.fetch_add(records.len() as u64, Ordering::Relaxed);
        if writer.len >= SEAL_BYTES || writer.records >= SEAL_RECORDS {
            let writer = guard.take();
            drop(guard);
            if let Some(writer) = writer {
                self.seal(writer);
            }
        }
    }

    fn keep_in_memory(&self, records: &[Put]) {
        let mut overlay = write(&self.overlay);
        for record in records {
            let size = record.value.len() as u64 + 64;
            if overlay.bytes + size > OVERLAY_BYTES {
                overlay.dropped += 1;
                continue;
            }
            if overlay.records.insert(record.key, record.value.into()).is_none() {
                overlay.bytes += size;
            }
        }
    }

    /// Ends this process's segment: the index is written, then the lock goes.
    fn seal(&self, writer: Writer) {
        let Some(open) = write(&self.open).take() else {
            return;
        };
        let index_path = writer.path.with_extension("idx");
        let mut segment = Segment::new(&open.path, open.file);
        segment.used = AtomicBool::new(true);
        let index = open.index.into_inner().unwrap_or_else(Index::empty);
        // Without an index file the next process makes one; this one has it in memory.
        let index = match index.write(&index_path, writer.len) {
            Ok(()) => Index::read(&index_path).unwrap_or(index),
            Err(_) => index,
        };
        let _ = segment.index.set(index);
        // The descriptor that stays open for reading shares the lock.
        let _ = writer.file.unlock();
        write(&self.sealed).insert(0, Arc::new(segment));
    }

    /// Seals what is open and notes which segments were of use, which is what gc goes by.
    pub fn close(&self) {
        let writer = lock(&self.writer).take();
        if let Some(writer) = writer {
            self.seal(writer);
        }
        if self.is_read_only() {
            return;
        }
        let now = SystemTime::now();
        for segment in read(&self.sealed).iter() {
            if segment.used.swap(false, Ordering::Relaxed) {
                let _ = File::options()
                    .append(true)
                    .open(&segment.path)
                    .and_then(|f| f.set_modified(now));
            }
        }
        let _ = self.merge_small();
    }
}

impl Records for Store {
    fn has(&self, keys: &[Digest]) -> Vec<bool> {
        keys.iter()
            .map(|key| {
                self.find(key, |_| ()).is_some()
                    || self.in_overlay(key).is_some()
                    || self.shared.as_ref().is_some_and(|s| s.find(key, |_| ()).is_some())
            })
            .collect()
    }

    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
        keys.iter().map(|key| self.get_one(key)).collect()
    }

    fn put(&self, records: &[Put]) {
        if !records.is_empty() {
            self.append(records);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
