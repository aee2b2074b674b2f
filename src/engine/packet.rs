//! Packets: the results of some hundred items as one piece of bytes that another machine can use.
//!
//! A packet is made of keys and results alone. It has no time, no name and no place in it, so the
//! same work gives the same bytes. Whoever reads one believes nothing: every content in it is checked
//! against its digest. A packet does not know where it is kept.

use std::ops::Range;

use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::Kind;
use rustc_hash::FxHashSet;

use super::rows::{Cell, State};

/// Packets hold about this many results. A list is cut by the content of its items alone, so that an
/// item that is added changes one packet, and all work on a list is cut at the same places.
const MEAN_ITEMS: u64 = 128;
const MAX_ITEMS: usize = 512;

/// Results that are kept for a day count as made at the start of their day, in UTC.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Where to cut a list of items, by the digests of their content. A piece of it that stands alone is
/// not cut again.
pub fn cut(items: impl ExactSizeIterator<Item = Digest>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    let len = items.len();
    for (i, item) in items.enumerate() {
        let end = i + 1;
        if item.prefix().is_multiple_of(MEAN_ITEMS) || end - start >= MAX_ITEMS || end == len {
            out.push(start..end);
            start = end;
        }
    }
    out
}

/// The key under which the results of some actions are kept together.
pub fn key(actions: &[Digest]) -> Digest {
    let mut key = Keyer::new("packet/1");
    for action in actions {
        key.add("action", &action.0);
    }
    key.finish()
}

/// The day of a time in milliseconds since 1970.
pub fn day(milliseconds: u64) -> u32 {
    u32::try_from(milliseconds / DAY).unwrap_or(u32::MAX)
}

/// The time at which a day's results count as made.
pub fn begin_of(day: u32) -> u64 {
    u64::from(day) * DAY
}

/// The known result of one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Result {
    /// The result.
    pub cell: Cell,
    /// Whether it is kept for a day only, from the day of the packet on.
    pub for_now: bool,
}

/// The results of some actions, in the order of their keys; some may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The day of the results that are kept for a day only; 0 if there are none.
    pub day: u32,
    /// One for each action; `None` where none is known.
    pub results: Vec<Option<Result>>,
    /// The contents of all cells, each once.
    pub contents: Vec<(Digest, Vec<u8>)>,
}

const MISSING: u8 = 0;
const FOR_GOOD: u8 = 1;
const FOR_NOW: u8 = 2;

impl Packet {
    /// The bytes that [`Packet::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.day.to_le_bytes().to_vec();
        for result in &self.results {
            match result {
                None => out.push(MISSING),
                Some(Result { cell, for_now }) => {
                    out.push(if *for_now { FOR_NOW } else { FOR_GOOD });
                    out.extend_from_slice(&cell.encode());
                }
            }
        }
        for (_, content) in &self.contents {
            out.extend_from_slice(&(content.len() as u32).to_le_bytes());
            out.extend_from_slice(content);
        }
        out
    }

    /// Reads a packet of so many actions. It is whole, or it is nothing: each content that a result
    /// names is there, and has the digest by which it is named.
    pub fn decode(bytes: &[u8], count: usize) -> Option<Packet> {
        let (day, mut rest) = bytes.split_first_chunk()?;
        let day = u32::from_le_bytes(*day);
        let mut results = Vec::new();
        let mut wanted = Vec::new();
        let mut seen = FxHashSet::default();
        for _ in 0..count {
            let (tag, after) = rest.split_first()?;
            rest = after;
            if *tag == MISSING {
                results.push(None);
                continue;
            }
            let (cell, after) = rest.split_at_checked(33)?;
            rest = after;
            let cell = Cell::decode(cell)?;
            let for_now = match *tag {
                FOR_GOOD => false,
                FOR_NOW => true,
                _ => return None,
            };
            // The others are never kept.
            if !matches!(cell.state, State::Done | State::Finding | State::Failed) {
                return None;
            }
            if seen.insert(cell.content) {
                wanted.push(cell.content);
            }
            results.push(Some(Result { cell, for_now }));
        }
        let mut contents = Vec::new();
        for digest in wanted {
            let (len, after) = rest.split_first_chunk()?;
            let (content, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            rest = after;
            if Digest::of(content) != digest {
                return None;
            }
            contents.push((digest, content.to_vec()));
        }
        rest.is_empty().then_some(Packet { day, results, contents })
    }
}

/// One record, for those that are no results of actions.
pub struct Single<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its content.
    pub value: &'a [u8],
}

impl<'a> Single<'a> {
    /// The key of the packet in which the record under a key travels.
    pub fn key(record: &Digest) -> Digest {
        Keyer::new("record/1").field("record", &record.0).finish()
    }

    /// The bytes that [`Single::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        [&[self.kind as u8][..], self.value].concat()
    }

    /// Reads a record; `None` where the bytes are not one, or are a blob.
    pub fn decode(bytes: &'a [u8]) -> Option<Single<'a>> {
        let (kind, value) = bytes.split_first()?;
        // A blob is told by its content, and never travels alone.
        let kind = Kind::from_byte(*kind).filter(|k| *k != Kind::Blob)?;
        Some(Single { kind, value })
    }
}

/// Records under their keys, in the order of these.
pub struct Bag(pub Vec<(Digest, Vec<u8>)>);

impl Bag {
    /// The bytes that [`Bag::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (key, value) in &self.0 {
            out.extend_from_slice(&key.0);
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value);
        }
        out
    }

    /// Reads records; `None` where the bytes end within one.
    pub fn decode(mut bytes: &[u8]) -> Option<Bag> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let (key, after) = bytes.split_at_checked(32)?;
            let (len, after) = after.split_first_chunk()?;
            let (value, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            out.push((Digest::from_slice(key)?, value.to_vec()));
            bytes = after;
        }
        Some(Bag(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Packet {
        let contents = [b"one".to_vec(), Vec::new(), vec![7; 500]];
        let contents: Vec<_> = contents.into_iter().map(|c| (Digest::of(&c), c)).collect();
        let result = |state, at: usize, for_now| {
            Some(Result { cell: Cell { state, content: contents[at].0 }, for_now })
        };
        let results = vec![
            result(State::Done, 0, false),
            None,
            result(State::Finding, 1, false),
            result(State::Failed, 2, true),
            result(State::Done, 0, false),
        ];
        Packet { day: 20_000, results, contents }
    }

    #[test]
    fn a_packet_reads_back() {
        let packet = packet();
        let bytes = packet.encode();
        assert_eq!(Packet::decode(&bytes, 5), Some(packet.clone()));
        assert_eq!(Packet::decode(&bytes, 4), None);
        assert_eq!(Packet::decode(&bytes, 6), None);
        assert_eq!(Packet::decode(&bytes[..bytes.len() - 1], 5), None);
        assert_eq!(Packet::decode(&[&bytes[..], b"x"].concat(), 5), None);
    }

    #[test]
    fn no_flipped_bit_gives_another_content_under_the_same_digest() {
        let packet = packet();
        let bytes = packet.encode();
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let Some(read) = Packet::decode(&bytes, 5) else { continue };
            assert!(read.contents.iter().all(|(digest, c)| Digest::of(c) == *digest));
        }
    }

    #[test]
    fn what_is_never_kept_is_in_no_packet() {
        for state in [State::Skipped, State::Broke] {
            let mut packet = packet();
            packet.results[0].as_mut().unwrap().cell.state = state;
            assert_eq!(Packet::decode(&packet.encode(), 5), None);
        }
    }

    #[test]
    fn an_added_key_changes_one_packet() {
        let keys: Vec<Digest> = (0..5000u32).map(|i| Digest::of(&i.to_le_bytes())).collect();
        let packets = |keys: &[Digest]| -> Vec<Digest> {
            let cut = cut(keys.iter().copied());
            cut.into_iter().map(|range| key(&keys[range])).collect()
        };
        let before = packets(&keys);
        assert!(before.len() > 15 && before.len() < 100, "{}", before.len());
        let mut more = keys.clone();
        more.insert(2500, Digest::of(b"new"));
        let new = packets(&more).iter().filter(|k| !before.contains(k)).count();
        assert!((1..=2).contains(&new), "{new} packets changed");
        let pieces = cut(keys.iter().copied());
        let all: usize = pieces.iter().map(|range| range.len()).sum();
        assert_eq!(all, keys.len());
        for piece in pieces {
            let len = piece.len();
            assert_eq!(cut(keys[piece].iter().copied()), vec![0..len]);
        }
    }

    #[test]
    fn records_read_back() {
        let single = Single { kind: Kind::Alias, value: b"list" }.encode();
        assert_eq!(
            Single::decode(&single).map(|s| (s.kind, s.value)),
            Some((Kind::Alias, &b"list"[..]))
        );
        let blob = Single { kind: Kind::Blob, value: b"list" }.encode();
        assert!(Single::decode(&blob).is_none());
        assert!(Single::decode(&[]).is_none());
        let bag = vec![(Digest::of(b"a"), b"x".to_vec()), (Digest::of(b"b"), Vec::new())];
        let bytes = Bag(bag.clone()).encode();
        assert_eq!(Bag::decode(&bytes).unwrap().0, bag);
        assert!(Bag::decode(&bytes[1..]).is_none());
    }
}
