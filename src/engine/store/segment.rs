//! Segments: files of records that only ever grow, one writer each.
//!
//! This file knows the bytes on disk and nothing else: not which records belong together, and
//! not when a segment is opened, sealed or dropped.

use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use litmake_base::digest::Digest;
use litmake_base::records::Kind;

pub const FORMAT_VERSION: u32 = 1;
pub const HEADER_LEN: usize = 64;
pub const RECORD_HEAD: usize = 56;
const SEGMENT_MAGIC: [u8; 8] = *b"LITMSEG\n";
const INDEX_MAGIC: [u8; 8] = *b"LITMIDX\n";
const RECORD_MAGIC: [u8; 4] = *b"rLM1";
const INDEX_ENTRY: usize = 16;
/// Payloads below this are not worth an attempt at compression.
const COMPRESS_FROM: usize = 192;
/// No record may claim more, so that a damaged length never asks for absurd memory.
const MAX_PAYLOAD: usize = 1 << 30;

/// A record as read and found sound.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: Kind,
    pub key: Digest,
    pub value: Vec<u8>,
    /// Bytes it takes in the segment.
    pub footprint: usize,
}

/// Why a record could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    Magic,
    PastEnd,
    Checksum,
    Compression,
    /// The system does not give it; it may be sound.
    Unreadable,
}

impl Broken {
    pub fn why(self) -> &'static str {
        match self {
            Broken::Magic => "no record begins there",
            Broken::PastEnd => "the file ends before the record does",
            Broken::Checksum => "its checksum does not match",
            Broken::Compression => "it does not decompress",
            Broken::Unreadable => "it cannot be read",
        }
    }
}

fn checksum(parts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().as_bytes()[..8].try_into().expect("eight bytes")
}

fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub fn encode_header(created: u64) -> [u8; HEADER_LEN] {
    let mut out = [0; HEADER_LEN];
    out[..8].copy_from_slice(&SEGMENT_MAGIC);
    out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    out[12..12 + Digest::FUNCTION.len()].copy_from_slice(Digest::FUNCTION.as_bytes());
    out[28..36].copy_from_slice(&created.to_le_bytes());
    let sum = checksum(&[&out[..56]]);
    out[56..].copy_from_slice(&sum);
    out
}

/// Why the header of a segment cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// It was damaged after it was written. Its records may be sound: each has a checksum of its own.
    Damaged(&'static str),
    /// Another version of litmake wrote it.
    Foreign(String),
}

/// The creation time of a segment.
pub fn decode_header(bytes: &[u8]) -> Result<u64, BadHeader> {
    if bytes.len() < HEADER_LEN || bytes[..8] != SEGMENT_MAGIC {
        return Err(BadHeader::Damaged("it does not begin like a segment"));
    }
    if checksum(&[&bytes[..56]]) != bytes[56..64] {
        return Err(BadHeader::Damaged("its header is damaged"));
    }
    let version = u32_at(bytes, 8);
    if version != FORMAT_VERSION {
        return Err(BadHeader::Foreign(format!(
            "it has format version {version}, this litmake reads {FORMAT_VERSION}"
        )));
    }
    let function = bytes[12..28].split(|b| *b == 0).next().unwrap_or(&[]);
    if function != Digest::FUNCTION.as_bytes() {
        let function = String::from_utf8_lossy(function);
        return Err(BadHeader::Foreign(format!("its keys are {function} digests")));
    }
    Ok(u64_at(bytes, 28))
}

/// The header of a segment file.
pub fn read_header(file: &File) -> Result<u64, BadHeader> {
    let mut header = [0; HEADER_LEN];
    let got = read_up_to(file, &mut header, 0).unwrap_or(0);
    decode_header(&header[..got])
}

/// Appends one record to a buffer that starts at a multiple of 8.
pub fn encode_record(out: &mut Vec<u8>, kind: Kind, key: &Digest, value: &[u8]) {
    let packed = (value.len() >= COMPRESS_FROM)
        .then(|| lz4_flex::block::compress(value))
        .filter(|c| c.len() + value.len() / 8 < value.len());
    let (codec, payload) = match &packed {
        Some(c) => (1u8, c.as_slice()),
        None => (0u8, value),
    };
    let start = out.len();
    out.extend_from_slice(&RECORD_MAGIC);
    out.extend_from_slice(&[kind as u8, codec, 0, 0]);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(&key.0);
    let sum = checksum(&[&out[start + 4..start + 48], payload]);
    out.extend_from_slice(&sum);
    out.extend_from_slice(payload);
    out.resize(start + RECORD_HEAD + padded(payload.len()), 0);
}

/// The bytes a record takes, read from its head alone.
fn footprint(head: &[u8]) -> Result<usize, Broken> {
    if head.len() < RECORD_HEAD {
        return Err(Broken::PastEnd);
    }
    if head[..4] != RECORD_MAGIC {
        return Err(Broken::Magic);
    }
    let stored = u32_at(head, 8) as usize;
    if stored > MAX_PAYLOAD {
        return Err(Broken::Checksum);
    }
    Ok(RECORD_HEAD + padded(stored))
}

/// Reads the record at the start of `bytes`, checking everything.
pub fn decode_record(bytes: &[u8]) -> Result<Record, Broken> {
    let footprint = footprint(bytes)?;
    let stored = u32_at(bytes, 8) as usize;
    let payload = bytes.get(RECORD_HEAD..RECORD_HEAD + stored).ok_or(Broken::PastEnd)?;
    if checksum(&[&bytes[4..48], payload]) != bytes[48..56] {
        return Err(Broken::Checksum);
    }
    let kind = Kind::from_byte(bytes[4]).ok_or(Broken::Checksum)?;
    let value = match bytes[5] {
        0 => payload.to_vec(),
        1 => lz4_flex::block::decompress(payload, u32_at(bytes, 12) as usize)
            .map_err(|_| Broken::Compression)?,
        _ => return Err(Broken::Compression),
    };
    Ok(Record {
        kind,
        key: Digest::from_slice(&bytes[16..48]).expect("32 bytes"),
        value,
        footprint,
    })
}

/// The result of a scan of part of a segment.
#[derive(Default)]
pub struct Scan {
    /// Where the scan ended: just behind the last whole record.
    pub end: u64,
    /// Damaged stretches that were stepped over: offset, and why.
    pub broken: Vec<(u64, Broken)>,
}

/// Visits the records of `bytes[from..]`. Behind a damaged record it looks for the next sound
/// one, so that one flipped bit costs one record; a torn tail is where nothing sound follows.
pub fn scan(bytes: &[u8], from: u64, mut each: impl FnMut(u64, Record)) -> Scan {
    let mut at = from as usize;
    let mut out = Scan { end: from, broken: Vec::new() };
    let mut pending = None;
    while at + RECORD_HEAD <= bytes.len() {
        match decode_record(&bytes[at..]) {
            Ok(record) if record.footprint <= bytes.len() - at => {
                out.broken.extend(pending.take());
                let next = at + record.footprint;
                each(at as u64, record);
                at = next;
                out.end = at as u64;
            }
            Ok(_) => break,
            Err(why) => {
                pending.get_or_insert((at as u64, why));
                at += 8;
            }
        }
    }
    out
}

/// Where records are, by the first 64 bits of their keys.
pub enum Index {
    /// Sorted entries, as a file has them; made when the segment was sealed.
    Sorted(Vec<u8>),
    Map(FxHashMap<u64, SmallVec<[u64; 1]>>),
}

/// The head of an index file.
pub struct IndexHead {
    /// How long its segment was.
    pub segment_len: u64,
    sum: [u8; 8],
}

impl Index {
    pub fn empty() -> Index {
        Index::Map(FxHashMap::default())
    }

    pub fn insert(&mut self, key: &Digest, offset: u64) {
        if let Index::Map(map) = self {
            match map.entry(key.prefix()) {
                Entry::Occupied(mut e) => e.get_mut().push(offset),
                Entry::Vacant(e) => {
                    e.insert(smallvec![offset]);
                }
            }
        }
    }

    /// Offsets at which a record with this key may be.
    pub fn find(&self, key: &Digest) -> SmallVec<[u64; 1]> {
        let prefix = key.prefix();
        match self {
            Index::Map(map) => map.get(&prefix).cloned().unwrap_or_default(),
            Index::Sorted(entries) => {
                let count = entries.len() / INDEX_ENTRY;
                let at = |i: usize| u64_at(entries, i * INDEX_ENTRY);
                let mut i = lower_bound(count, prefix, at);
                let mut out = SmallVec::new();
                while i < count && at(i) == prefix {
                    out.push(u64_at(entries, i * INDEX_ENTRY + 8));
                    i += 1;
                }
                out
            }
        }
    }

    /// The first 64 bits of the key of every record.
    pub fn prefixes(&self) -> Vec<u64> {
        match self {
            Index::Map(map) => map.iter().flat_map(|(p, at)| at.iter().map(|_| *p)).collect(),
            Index::Sorted(entries) => {
                entries.chunks_exact(INDEX_ENTRY).map(|entry| u64_at(entry, 0)).collect()
            }
        }
    }

    /// All offsets, in key order for a sorted index.
    pub fn offsets(&self) -> Vec<u64> {
        match self {
            Index::Map(map) => map.values().flatten().copied().collect(),
            Index::Sorted(entries) => {
                entries.chunks_exact(INDEX_ENTRY).map(|entry| u64_at(entry, 8)).collect()
            }
        }
    }

    /// Writes the entries beside the segment, whole or not at all.
    pub fn write(&self, path: &Path, segment_len: u64) -> io::Result<()> {
        let Index::Map(map) = self else {
            return Ok(());
        };
        let mut entries: Vec<(u64, u64)> =
            map.iter().flat_map(|(k, offsets)| offsets.iter().map(move |o| (*k, *o))).collect();
        entries.sort_unstable();
        let mut out = vec![0; HEADER_LEN];
        out.reserve(entries.len() * INDEX_ENTRY);
        for (prefix, offset) in entries {
            out.extend_from_slice(&prefix.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        out[..8].copy_from_slice(&INDEX_MAGIC);
        out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&segment_len.to_le_bytes());
        let body = checksum(&[&out[HEADER_LEN..]]);
        out[24..32].copy_from_slice(&body);
        let head = checksum(&[&out[..56]]);
        out[56..64].copy_from_slice(&head);
        let temporary = path.with_extension(format!("idx.{}.tmp", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut f| f.write_all(&out))
            .and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    /// Reads the head of an index file.
    pub fn head(path: &Path) -> io::Result<IndexHead> {
        let file = File::open(path)?;
        let mut head = [0; HEADER_LEN];
        let bad = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let got = read_up_to(&file, &mut head, 0)?;
        if got < HEADER_LEN || head[..8] != INDEX_MAGIC || u32_at(&head, 8) != FORMAT_VERSION {
            return bad("it does not begin like an index");
        }
        if checksum(&[&head[..56]]) != head[56..64] {
            return bad("its header is damaged");
        }
        let sum = head[24..32].try_into().expect("eight bytes");
        Ok(IndexHead { segment_len: u64_at(&head, 16), sum })
    }

    /// Reads an index file whole, and believes it only as it was written: a damaged entry would
    /// hide a sound record.
    pub fn read(path: &Path) -> io::Result<Index> {
        let head = Index::head(path)?;
        let mut entries = std::fs::read(path)?;
        entries.drain(..HEADER_LEN.min(entries.len()));
        if checksum(&[&entries]) != head.sum {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its entries are damaged"));
        }
        Ok(Index::Sorted(entries))
    }
}

/// The first entry not below `prefix`. Keys are spread evenly, so the search starts where the
/// prefix would be and widens from there: a few steps and one or two pages.
fn lower_bound(count: usize, prefix: u64, at: impl Fn(usize) -> u64) -> usize {
    let guess = ((prefix as u128 * count as u128) >> 64) as usize;
    let (mut low, mut high);
    let mut step = 16;
    if guess < count && at(guess) < prefix {
        low = guess + 1;
        high = guess + step;
        while high < count && at(high) < prefix {
            low = high + 1;
            step *= 2;
            high = high.saturating_add(step);
        }
        high = high.min(count);
    } else {
        high = guess.min(count);
        low = high.saturating_sub(step);
        while low > 0 && at(low) >= prefix {
            high = low;
            step *= 2;
            low = low.saturating_sub(step);
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if at(middle) < prefix {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// A segment that can be read. Its bytes are read when they are asked for and never mapped: a file
/// that someone cuts gives short reads, where a mapping would end the program.
pub struct Segment {
    pub path: PathBuf,
    pub file: File,
    /// Where its records are; read when the first is looked for.
    pub index: OnceLock<Index>,
    /// How far a growing segment has been read into the index.
    pub scanned: u64,
    pub used: AtomicBool,
    /// Whether something in it is not as it was written.
    pub damaged: AtomicBool,
}

impl Segment {
    pub fn new(path: &Path, file: File) -> Segment {
        Segment {
            path: path.to_path_buf(),
            file,
            index: OnceLock::new(),
            scanned: HEADER_LEN as u64,
            used: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
        }
    }

    /// A segment that grows, with what is known of it so far.
    pub fn growing(path: &Path, file: File) -> Segment {
        let segment = Segment::new(path, file);
        let _ = segment.index.set(Index::empty());
        segment
    }

    pub fn name(&self) -> String {
        self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// When it was begun, in microseconds, which its name begins with.
    pub fn begun(&self) -> u64 {
        let name = self.name();
        u64::from_str_radix(name.split('-').next().unwrap_or_default(), 16).unwrap_or(0)
    }

    pub fn index_path(&self) -> PathBuf {
        self.path.with_extension("idx")
    }

    pub fn read(&self, offset: u64) -> Result<Record, Broken> {
        read_record(&self.file, offset)
    }

    /// Everything that is in it now.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.file.metadata()?.len() as usize];
        let got = read_up_to(&self.file, &mut bytes, 0)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    pub fn insert(&mut self, key: &Digest, offset: u64) {
        if let Some(index) = self.index.get_mut() {
            index.insert(key, offset);
        }
    }

    /// Brings the index of a growing segment up to its present end.
    pub fn catch_up(&mut self) -> io::Result<Scan> {
        let len = self.file.metadata()?.len();
        let (start, Some(index)) = (self.scanned, self.index.get_mut()) else {
            return Ok(Scan::default());
        };
        if len <= start {
            return Ok(Scan::default());
        }
        let mut bytes = vec![0; (len - start) as usize];
        let got = read_up_to(&self.file, &mut bytes, start)?;
        bytes.truncate(got);
        let mut scan = scan(&bytes, 0, |at, record| {
            index.insert(&record.key, start + at);
        });
        self.scanned = start + scan.end;
        for (at, _) in &mut scan.broken {
            *at += start;
        }
        Ok(scan)
    }
}

/// Reads a record with positioned reads; most fit in the first.
pub fn read_record(file: &File, offset: u64) -> Result<Record, Broken> {
    let mut bytes = vec![0; 1024];
    let got = read_up_to(file, &mut bytes, offset).map_err(|_| Broken::Unreadable)?;
    bytes.truncate(got);
    let whole = footprint(&bytes)?;
    if whole > bytes.len() {
        bytes = vec![0; whole];
        let got = read_up_to(file, &mut bytes, offset).map_err(|_| Broken::Unreadable)?;
        bytes.truncate(got);
    }
    decode_record(&bytes)
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lower_bound_agrees_with_a_linear_search() {
        let mut seed = 7u64;
        for count in [0usize, 1, 2, 3, 50, 1000] {
            let mut keys: Vec<u64> = (0..count)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(99);
                    if seed.is_multiple_of(5) { 42 } else { seed }
                })
                .collect();
            keys.sort_unstable();
            for probe in keys.iter().copied().chain([0, 41, 42, 43, u64::MAX]) {
                let expected = keys.partition_point(|k| *k < probe);
                assert_eq!(lower_bound(count, probe, |i| keys[i]), expected);
            }
        }
    }

    #[test]
    fn a_scan_steps_over_damage_and_stops_at_a_torn_tail() {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for i in 0..10u8 {
            starts.push(bytes.len());
            encode_record(&mut bytes, Kind::Blob, &Digest::of(&[i]), &[i; 40]);
        }
        bytes[starts[3] + 60] ^= 1;
        bytes.truncate(bytes.len() - 5);
        let mut seen = Vec::new();
        let scan = scan(&bytes, 0, |_, r| seen.push(r.value[0]));
        assert_eq!(seen, [0, 1, 2, 4, 5, 6, 7, 8]);
        assert_eq!(scan.broken, [(starts[3] as u64, Broken::Checksum)]);
        assert_eq!(scan.end as usize, starts[9]);
    }

    proptest! {
        #[test]
        fn records_read_back(value in proptest::collection::vec(any::<u8>(), 0..2000), repeat in 1usize..4) {
            let value = value.repeat(repeat);
            let mut out = Vec::new();
            encode_record(&mut out, Kind::Action, &Digest::of(&value), &value);
            let record = decode_record(&out).unwrap();
            prop_assert_eq!(record.footprint, out.len());
            prop_assert_eq!(record.value, value);
        }

        #[test]
        fn any_flipped_bit_is_seen(value in proptest::collection::vec(any::<u8>(), 0..600), bit in any::<prop::sample::Index>()) {
            let mut out = Vec::new();
            encode_record(&mut out, Kind::Blob, &Digest::of(&value), &value);
            let sound = decode_record(&out).unwrap();
            let bit = bit.index(out.len() * 8);
            out[bit / 8] ^= 1 << (bit % 8);
            // Padding and nothing else may change unseen.
            match decode_record(&out) {
                Err(_) => {}
                Ok(record) => prop_assert_eq!(record, sound),
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode_record(&bytes);
            let _ = decode_header(&bytes);
            scan(&bytes, 0, |_, _| {});
        }
    }
}
