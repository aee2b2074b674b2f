//! Stand-ins for `memcpy` and `memcmp`, with which libraries copy and compare objects under a lock,
//! and for `memset`, with which compilers initialise structures. The C library has versions for
//! every kind of processor, and any order and size of its accesses is correct; the stand-ins access
//! 8 bytes at a time.
//!
//! It does not know the code around a call.

use litmake_isa::machine::Decoded;
use litmake_isa::rows;
use litmake_isa::target::Target;

/// The largest number of bytes to copy, as where an array starts with constants, and to compare or fill.
const MOST: u64 = 256;
const SMALL: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Copies the number of bytes in the third argument from the second to the first; returns the
    /// first.
    Copy,
    /// Compares the bytes; the result is not 0 if they differ.
    Compare,
    /// Fills the number of bytes in the third argument with the second; returns the first.
    Fill,
}

impl Bytes {
    /// The name of the function.
    pub fn function(self) -> &'static str {
        match self {
            Bytes::Copy => "memcpy",
            Bytes::Compare => "memcmp",
            Bytes::Fill => "memset",
        }
    }
}

/// The work of a function on bytes.
pub fn works_on(function: &str) -> Option<Bytes> {
    match function {
        "memcpy" | "memmove" => Some(Bytes::Copy),
        "memcmp" => Some(Bytes::Compare),
        "memset" => Some(Bytes::Fill),
        _ => None,
    }
}

/// The code for this work on this number of bytes, in registers that calls do not preserve. For the
/// sizes in tests, compilers call the library for nothing else.
pub fn stand_in(target: &Target, work: Bytes, bytes: u64) -> Option<Vec<Decoded>> {
    if bytes > MOST
        || bytes > SMALL && work != Bytes::Copy
        || work != Bytes::Fill && !bytes.is_multiple_of(8)
    {
        return None;
    }
    let rows = match work {
        Bytes::Copy => target.facts().copies.as_ref()?.rows(bytes),
        Bytes::Compare => target.facts().compares.as_ref()?.rows(bytes),
        Bytes::Fill => target.fill(bytes)?,
    };
    Some(rows::decoded(rows.iter().map(String::as_str)).map(|(_, d)| d).collect())
}
