//! What whoever remembers something asks of a store: small records under digests, many at a time.
//!
//! It does not know where they lie, nor what they mean.

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
