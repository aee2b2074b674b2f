//! Bundles: a result that is a list of parts, each of which becomes an item of its own.
//!
//! A stage that takes items apart makes bundles. The engine makes one list of all their distinct parts.
//! This module does not know the content of a part.

use litmake_base::framed::{Reader, put, put_number};

/// A list of named parts, with further content of the stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// The parts, by name and content.
    pub parts: Vec<(String, Vec<u8>)>,
    /// The further content.
    pub rest: Vec<u8>,
}

impl Bundle {
    /// The bytes that [`Bundle::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, self.parts.len());
        for (name, content) in &self.parts {
            put(&mut out, name.as_bytes());
            put(&mut out, content);
        }
        out.extend_from_slice(&self.rest);
        out
    }

    /// Reads a bundle; `None` where the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Bundle> {
        let mut reader = Reader(bytes);
        let mut parts = Vec::new();
        for _ in 0..reader.number()? {
            let name = std::str::from_utf8(reader.bytes()?).ok()?.to_string();
            parts.push((name, reader.bytes()?.to_vec()));
        }
        Some(Bundle { parts, rest: reader.0.to_vec() })
    }
}

/// Encodes the results of an item's parts in one node; `None` stands for a part without a result.
pub fn encode_results(results: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::new();
    for result in results {
        out.push(u8::from(result.is_some()));
        put(&mut out, result.as_deref().unwrap_or_default());
    }
    out
}

/// Reads what [`encode_results`] wrote; `None` where the bytes are not that.
pub fn decode_results(bytes: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut reader = Reader(bytes);
    let mut out = Vec::new();
    while !reader.is_empty() {
        let there = reader.take(1)?[0];
        let content = reader.bytes()?;
        out.push((there != 0).then(|| content.to_vec()));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bundles_come_back(
            parts in prop::collection::vec(("[a-z]{0,5}", prop::collection::vec(any::<u8>(), 0..9)), 0..6),
            rest in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let bundle = Bundle { parts, rest };
            prop_assert_eq!(Bundle::decode(&bundle.encode()), Some(bundle));
        }

        #[test]
        fn results_come_back(
            results in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..9)), 0..6),
        ) {
            prop_assert_eq!(decode_results(&encode_results(&results)), Some(results));
        }

        #[test]
        fn no_bytes_are_a_reason_to_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (Bundle::decode(&bytes), decode_results(&bytes));
        }
    }
}
