//! Writes pieces of bytes one after another, each after its length, and reads them back from data
//! that may be damaged.
//!
//! It does not know what the pieces mean.

use super::digest::Digest;

/// Appends a number of four bytes.
pub fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

/// Appends the length of a piece, then the piece.
pub fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// The bytes that are still to be read. Each method returns `None` where too few bytes are left.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a number.
    pub fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    }

    /// Reads `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a piece after its length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    /// Reads a digest.
    pub fn digest(&mut self) -> Option<Digest> {
        Digest::from_slice(self.take(32)?)
    }
}
