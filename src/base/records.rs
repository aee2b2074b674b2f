//! What whoever remembers something asks of a store: small records under digests, many at a time.
//!
//! It does not know where they lie, nor what they mean.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::digest::Digest;

/// What a record is; statistics count them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// An action's key, and the digest of what it gave.
    Action = 1,
    /// Content, under its own digest.
    Blob = 2,
    /// What a whole shard gave.
    Manifest = 3,
    /// A value known under a second key.
    Alias = 4,
}

impl Kind {
    /// In the order of their bytes.
    pub const ALL: [Kind; 4] = [Kind::Action, Kind::Blob, Kind::Manifest, Kind::Alias];

    /// As statistics call them.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Action => "actions",
            Kind::Blob => "blobs",
            Kind::Manifest => "manifests",
            Kind::Alias => "aliases",
        }
    }

    /// What [`Kind`] a stored byte stands for.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| *k as u8 == byte)
    }
}

/// One record to be put.
pub struct Put<'a> {
    /// What it is.
    pub kind: Kind,
    /// What it is found by.
    pub key: Digest,
    /// What is remembered.
    pub value: &'a [u8],
}

/// The batched interface that the engine works through.
pub trait Records: Send + Sync {
    /// For each key, whether a record is there.
    fn has(&self, keys: &[Digest]) -> Vec<bool>;
    /// For each key, its record where one is there.
    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>>;
    /// Remembers. A record under a key that is there already is the same one.
    fn put(&self, records: &[Put]);
}

/// Remembers nothing.
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

/// Other records, and what of them was read or written so far, so that another machine can be told.
pub struct Noting<'a> {
    records: &'a dyn Records,
    noted: Mutex<BTreeMap<Digest, Vec<u8>>>,
}

impl<'a> Noting<'a> {
    /// Nothing of them is noted yet.
    pub fn new(records: &'a dyn Records) -> Noting<'a> {
        Noting { records, noted: Mutex::default() }
    }

    /// What was read or written, by what it is found by.
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
