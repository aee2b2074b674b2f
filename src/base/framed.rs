//! Pieces of bytes one after another, each behind its length, and reading them back from what may be
//! damaged.
//!
//! It does not know what is in them.

use super::digest::Digest;

/// Puts a number.
pub fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

/// Puts a piece behind its length.
pub fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// What is left to be read. Each step gives nothing where the bytes end before it does.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number.
    pub fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    }

    /// So many bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A piece behind its length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    /// A digest.
    pub fn digest(&mut self) -> Option<Digest> {
        Digest::from_slice(self.take(32)?)
    }
}
