//! Housekeeping of the store: statistics, verification, merging, compacting and dropping of segments.
//!
//! Of records with one key the newest sound one is kept. Whole segments are dropped, least recently useful
//! first. It does not decide what is worth keeping in any other way.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Opened;
use super::segment::{self, HEADER_LEN, Index, Segment};
use super::{Store, read, write};
use litmake_base::digest::Digest;
use litmake_base::records::Kind;

/// Merging starts when this many small segments lie about.
const MERGE_FROM: usize = 16;
const SMALL: u64 = 8 << 20;
/// A segment is compacted if at least one record in so many is elsewhere too.
const WORTH: usize = 20;
const STALE_TEMPORARY: Duration = Duration::from_secs(3600);

/// The size and content of a store, in numbers.
#[derive(Debug, Default, Clone)]
pub struct Stats {
    /// How many files there are.
    pub segments: usize,
    /// Their size, with that of their indices.
    pub bytes: u64,
    /// How many records can be read.
    pub records: u64,
    /// By the name of their kind: how many records, and how many bytes they take.
    pub by_kind: BTreeMap<&'static str, (u64, u64)>,
    /// Records whose key appears once more.
    pub duplicates: u64,
    /// When the segment was used that has not been used for the longest time.
    pub oldest: Option<SystemTime>,
}

/// The result of reading a whole store.
#[derive(Debug, Default, Clone)]
pub struct VerifyReport {
    /// How many segments were read.
    pub segments: usize,
    /// How many records are sound.
    pub records: u64,
    /// One line for each damaged part.
    pub broken: Vec<String>,
}

/// Which segments [`Store::gc`] drops.
#[derive(Debug, Default, Clone)]
pub struct GcOptions {
    /// While the store is larger than so many bytes, the least recently used segments are dropped.
    pub max_size: Option<u64>,
    /// Segments that were not used for so long are dropped.
    pub keep: Option<Duration>,
}

/// The work of [`Store::gc`], in numbers.
#[derive(Debug, Default, Clone)]
pub struct GcReport {
    /// How many segments were dropped.
    pub dropped: usize,
    /// The bytes that they took.
    pub freed: u64,
    /// How many segments are still there.
    pub kept: usize,
    /// The bytes that these take.
    pub bytes: u64,
}

/// The work of [`Store::compact`], in numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Segments that were rewritten.
    pub segments: usize,
    /// Records that were dropped because a newer one has the same key.
    pub records: u64,
    /// The bytes that this saved.
    pub freed: u64,
}

fn size_of(segment: &Segment) -> u64 {
    let size = |p: PathBuf| fs::metadata(p).map_or(0, |m| m.len());
    size(segment.path.clone()) + size(segment.path.with_extension("idx"))
}

fn last_used(segment: &Segment) -> SystemTime {
    fs::metadata(&segment.path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

impl Store {
    fn everything(&self) -> Vec<Arc<Segment>> {
        read(&self.sealed).clone()
    }

    /// Counts what is there. Live segments of other processes count by size alone.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        let mut keys = FxHashSet::default();
        for segment in self.everything() {
            stats.segments += 1;
            stats.bytes += size_of(&segment);
            let used = last_used(&segment);
            stats.oldest = Some(stats.oldest.map_or(used, |o| o.min(used)));
            for offset in self.index_of(&segment).offsets() {
                let Ok(record) = segment.read(offset) else {
                    continue;
                };
                stats.records += 1;
                let entry = stats.by_kind.entry(record.kind.name()).or_default();
                entry.0 += 1;
                entry.1 += record.footprint as u64;
                if !keys.insert(record.key.prefix()) {
                    stats.duplicates += 1;
                }
            }
        }
        for segment in read(&self.live).iter() {
            stats.segments += 1;
            stats.bytes += size_of(segment);
        }
        stats
    }

    /// Reads every record of every segment, and every index.
    pub fn verify(&self) -> VerifyReport {
        let mut report = VerifyReport::default();
        for segment in self.everything() {
            report.segments += 1;
            let name = segment.name();
            let offsets: FxHashSet<u64> = self.index_of(&segment).offsets().into_iter().collect();
            let mut good = FxHashSet::default();
            for &offset in &offsets {
                match segment.read(offset) {
                    Ok(record) => {
                        report.records += 1;
                        good.insert(offset);
                        if record.kind == Kind::Blob && Digest::of(&record.value) != record.key {
                            report.broken.push(format!(
                                "{name}, byte {offset}: the content is not what its digest says"
                            ));
                        }
                    }
                    Err(why) => report.broken.push(format!("{name}, byte {offset}: {}", why.why())),
                }
            }
            let Ok(bytes) = segment.bytes() else {
                report.broken.push(format!("{name}: it cannot be read"));
                continue;
            };
            let mut unindexed = 0;
            let scan = segment::scan(&bytes, HEADER_LEN as u64, |at, _| {
                unindexed += u64::from(!good.contains(&at));
            });
            if unindexed > 0 {
                report.broken.push(format!(
                    "{name}: {unindexed} sound records that the index does not lead to"
                ));
            }
            for (at, why) in scan.broken.iter().filter(|(at, _)| !offsets.contains(at)) {
                report.broken.push(format!("{name}, byte {at}: {}", why.why()));
            }
        }
        report.broken.sort_unstable();
        report
    }

    /// Rewrites every segment that has something broken, with what is sound in it.
    pub fn repair(&self) -> io::Result<usize> {
        self.replace_where(|segment| {
            let offsets = self.index_of(segment).offsets();
            let mut whole = offsets.iter().all(|o| segment.read(*o).is_ok());
            whole &= segment.bytes().is_ok_and(|bytes| {
                let mut n = 0;
                let scan = segment::scan(&bytes, HEADER_LEN as u64, |_, _| n += 1);
                n == offsets.len() && scan.broken.is_empty()
            });
            !whole
        })
    }

    /// Rewrites the segments of which it has shown that something in them is broken, so that it is
    /// said once.
    pub fn heal(&self) -> io::Result<usize> {
        match self.is_read_only() {
            true => Ok(0),
            false => self.replace_where(|_| false),
        }
    }

    /// Rewrites the segments that are damaged, and those that are found to be.
    fn replace_where(&self, found: impl Fn(&Segment) -> bool) -> io::Result<usize> {
        let mut replaced = 0;
        for segment in self.everything() {
            if !(segment.damaged.load(Ordering::Relaxed) || found(&segment)) {
                continue;
            }
            // One process does so at a time; the lock goes with the file handle.
            let guard = File::create(self.dir.join("merge.lock"))?;
            guard.lock()?;
            if segment.path.exists() {
                self.replace(std::slice::from_ref(&segment), &segment, &|_| false)?;
                replaced += 1;
            }
        }
        Ok(replaced)
    }

    /// Merges small segments, so that a thousand short runs do not leave a thousand files. Only those are merged that
    /// follow each other in age: a record in a segment between them is newer than that of the older ones.
    pub(super) fn merge_small(&self) -> io::Result<()> {
        let all = self.everything();
        let is_small = |s: &Arc<Segment>| s.path.exists() && size_of(s) < SMALL;
        let small = all.iter().filter(|s| is_small(s)).count();
        if small < MERGE_FROM || self.is_read_only() {
            return Ok(());
        }
        // One process merges at a time; the lock goes with the file handle.
        let guard = File::create(self.dir.join("merge.lock"))?;
        if guard.try_lock().is_err() {
            return Ok(());
        }
        for run in all.chunk_by(|a, b| is_small(a) && is_small(b)) {
            if let [newest, _, ..] = run {
                self.replace(run, newest, &|_| false)?;
            }
        }
        Ok(())
    }

    /// Drops records of which a newer segment has a sound one under the same key, and those that are twice in a
    /// segment. Each segment is written anew before the old one goes, and the new one takes its place in the order of
    /// age, so that whoever ends this in the middle loses nothing. Segments that are being written are left alone.
    pub fn compact(&self) -> io::Result<Compacted> {
        let mut out = Compacted::default();
        if self.is_read_only() {
            return Ok(out);
        }
        // One process does so at a time; the lock goes with the file handle.
        let guard = File::create(self.dir.join("merge.lock"))?;
        guard.lock()?;
        let mut seen = FxHashSet::default();
        for segment in self.everything() {
            let prefixes = self.index_of(&segment).prefixes();
            let repeated: Vec<u64> =
                prefixes.iter().copied().filter(|p| !seen.insert(*p)).collect();
            let is_worth_it = !repeated.is_empty() && repeated.len() * WORTH >= prefixes.len();
            // Another process may have merged it away.
            if !is_worth_it || !segment.path.exists() {
                continue;
            }
            let repeated: FxHashSet<u64> = repeated.into_iter().collect();
            let mut newer = self.everything();
            newer.truncate(newer.iter().position(|s| s.path == segment.path).unwrap_or(0));
            newer.retain(|s| s.path.exists());
            let is_elsewhere = |key: &Digest| {
                repeated.contains(&key.prefix()) && newer.iter().any(|s| self.holds(s, key))
            };
            let before = size_of(&segment);
            let (kept, after) =
                self.replace(std::slice::from_ref(&segment), &segment, &is_elsewhere)?;
            out.segments += 1;
            out.records += (prefixes.len() as u64).saturating_sub(kept);
            out.freed += before.saturating_sub(after);
        }
        Ok(out)
    }

    /// Whether a segment has a sound record under a key.
    fn holds(&self, segment: &Segment, key: &Digest) -> bool {
        let is_it = |offset| segment.read(offset).is_ok_and(|record| record.key == *key);
        self.index_of(segment).find(key).into_iter().any(is_it)
    }

    /// Writes the sound records of some segments into a new one, then drops the old ones. Left out are keys that are
    /// `elsewhere`. The new segment is as old as `age`. Gives how many records and bytes it has.
    fn replace(
        &self,
        old: &[Arc<Segment>],
        age: &Segment,
        elsewhere: &dyn Fn(&Digest) -> bool,
    ) -> io::Result<(u64, u64)> {
        let mut seen = FxHashSet::default();
        let mut batch: Vec<(Kind, Digest, Vec<u8>)> = Vec::new();
        let mut writer = self.begin_at(age.begun())?;
        let mut index = Index::empty();
        let mut flush = |batch: &mut Vec<(Kind, Digest, Vec<u8>)>, index: &mut Index| {
            let mut buffer = Vec::new();
            for (kind, key, value) in batch.iter() {
                index.insert(key, writer.len + buffer.len() as u64);
                segment::encode_record(&mut buffer, *kind, key, value);
            }
            batch.clear();
            std::os::unix::fs::FileExt::write_all_at(&writer.file, &buffer, writer.len)?;
            writer.len += buffer.len() as u64;
            io::Result::Ok(writer.len)
        };
        let mut kept = 0;
        let copied = (|| {
            for segment in old {
                let bytes = segment.bytes()?;
                let mut places = Vec::new();
                segment::scan(&bytes, HEADER_LEN as u64, |at, _| places.push(at as usize));
                // The last record of a key counts.
                for at in places.into_iter().rev() {
                    let Ok(record) = segment::decode_record(&bytes[at..]) else { continue };
                    if seen.insert(record.key) && !elsewhere(&record.key) {
                        kept += 1;
                        batch.push((record.kind, record.key, record.value));
                        if batch.len() >= 1024 {
                            flush(&mut batch, &mut index)?;
                        }
                    }
                }
            }
            flush(&mut batch, &mut index)
        })();
        let path = writer.path.clone();
        let indexed = copied.and_then(|len| match len == HEADER_LEN as u64 {
            // There is nothing to keep.
            true => fs::remove_file(&path),
            false => index.write(&path.with_extension("idx"), len),
        });
        if let Err(e) = indexed {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(path.with_extension("idx"));
            return Err(e);
        }
        if let Ok(newest) = old.iter().map(|s| last_used(s)).max().ok_or(()) {
            let _ = writer.file.set_modified(newest);
        }
        drop(writer);
        let merged = match path.exists() {
            true => self.open_segment(&path)?,
            false => None,
        };
        let gone: FxHashSet<PathBuf> = old.iter().map(|s| s.path.clone()).collect();
        let mut size = 0;
        {
            let mut sealed = write(&self.sealed);
            let place = sealed.iter().position(|s| gone.contains(&s.path));
            sealed.retain(|s| !gone.contains(&s.path));
            if let Some(Opened::Sealed(merged)) = merged {
                size = size_of(&merged);
                sealed.insert(place.unwrap_or(0), Arc::new(merged));
            }
        }
        for path in gone {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(path.with_extension("idx"));
        }
        Ok((kept, size))
    }

    /// Drops whole segments: those not used for `keep`, then the least recently used until the
    /// rest fits `max_size`. Segments that are being written, and those that this process has
    /// used, stay.
    pub fn gc(&self, options: &GcOptions) -> GcReport {
        let mut report = GcReport::default();
        let now = SystemTime::now();
        let mut all: Vec<(SystemTime, u64, Arc<Segment>)> =
            self.everything().into_iter().map(|s| (last_used(&s), size_of(&s), s)).collect();
        all.sort_by_key(|(used, _, _)| *used);
        let mut total: u64 = all.iter().map(|(_, size, _)| size).sum();
        let mut gone = FxHashMap::default();
        for (used, size, segment) in &all {
            let old = options
                .keep
                .is_some_and(|keep| now.duration_since(*used).unwrap_or_default() > keep);
            let large = options.max_size.is_some_and(|max| total > max);
            if !(old || large) || segment.used.load(Ordering::Relaxed) {
                report.kept += 1;
                report.bytes += size;
                continue;
            }
            if !self.is_read_only() && fs::remove_file(&segment.path).is_ok() {
                let _ = fs::remove_file(segment.path.with_extension("idx"));
                total -= size;
                report.dropped += 1;
                report.freed += size;
                gone.insert(segment.path.clone(), ());
            }
        }
        write(&self.sealed).retain(|s| !gone.contains_key(&s.path));
        self.sweep_temporaries(now);
        report
    }

    /// Removes the unfinished files of processes that died long ago.
    fn sweep_temporaries(&self, now: SystemTime) {
        let Ok(entries) = fs::read_dir(self.segments_dir()) else {
            return;
        };
        for path in entries.filter_map(|e| e.ok().map(|e| e.path())) {
            let name = path.to_string_lossy().into_owned();
            let index_of_nothing = name.ends_with(".idx") && !path.with_extension("seg").exists();
            let stale = fs::metadata(&path)
                .and_then(|m| m.modified())
                .is_ok_and(|m| now.duration_since(m).unwrap_or_default() > STALE_TEMPORARY);
            if (name.ends_with(".tmp") || index_of_nothing) && stale {
                let _ = fs::remove_file(path);
            }
        }
    }
}
