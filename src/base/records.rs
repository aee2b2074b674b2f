//! The interface of a store: small records under digests, many at a time.
//!
//! It does not know where the records are stored, nor what they mean.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::digest::Digest;

/// The kinds of records; statistics count each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The digest of an action's result, under the action's key.
    Action = 1,
    /// Content, under its own digest.
    Blob = 2,
    /// The results of a whole shard in one node, under its manifest key.
    Manifest = 3,
    /// A value that can be found under a second key.
    Alias = 4,
}

impl Kind {
    /// All kinds, in the order of their bytes.
    pub const ALL: [Kind; 4] = [Kind::Action, Kind::Blob, Kind::Manifest, Kind::Alias];

    /// The name of the kind in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Action => "actions",
            Kind::Blob => "blobs",
            Kind::Manifest => "manifests",
            Kind::Alias => "aliases",
        }
    }

    /// The kind that a stored byte stands for.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| *k as u8 == byte)
    }
}

/// A record to be stored.
pub struct Put<'a> {
    /// The kind of the record.
    pub kind: Kind,
    /// The key under which the record is stored.
    pub key: Digest,
    /// The content of the record.
    pub value: &'a [u8],
}

/// A store of records, read and written in batches.
pub trait Records: Send + Sync {
    /// For each key, whether the store has a record.
    fn has(&self, keys: &[Digest]) -> Vec<bool>;
    /// For each key, its record, if the store has one.
    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>>;
    /// Stores records. A key that is stored already has the same record.
    fn put(&self, records: &[Put]);
}

/// A store that stores nothing.
pub struct Nowhere;

impl Records for Nowhere {
    fn has(&self, keys: &[Digest]) -> Vec<bool> {
        vec![false; keys.len()]
    }

    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
        vec![None; keys.len()]
    }

    fn put(&self, _: &[Put]) {}
}

/// A store that also notes which records were read or written, so that they can be sent to another
/// machine.
pub struct Noting<'a> {
    records: &'a dyn Records,
    noted: Mutex<BTreeMap<Digest, Vec<u8>>>,
}

impl<'a> Noting<'a> {
    /// Wraps a store; nothing is noted yet.
    pub fn new(records: &'a dyn Records) -> Noting<'a> {
        Noting { records, noted: Mutex::default() }
    }

    /// The records that were read or written, by their keys.
    pub fn noted(self) -> BTreeMap<Digest, Vec<u8>> {
        self.noted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, key: Digest, value: &[u8]) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert(key, value.to_vec());
    }
}

impl Records for Noting<'_> {
    fn has(&self, keys: &[Digest]) -> Vec<bool> {
        self.records.has(keys)
    }

    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
        let found = self.records.get(keys);
        for (key, value) in keys.iter().zip(&found) {
            if let Some(value) = value {
                self.note(*key, value);
            }
        }
        found
    }

    fn put(&self, records: &[Put]) {
        records.iter().for_each(|record| self.note(record.key, record.value));
        self.records.put(records);
    }
}
