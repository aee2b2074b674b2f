//! Bundles: a result that is a list of parts, each of which becomes an item of its own.
//!
//! A stage that takes items apart gives bundles; the engine makes a list of all their parts, one
//! of each that are equal. What a part is, is not known here.

/// A list of named parts, and what else the stage has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// The parts, by name and content.
    pub parts: Vec<(String, Vec<u8>)>,
    /// What the stage says beside the parts.
    pub rest: Vec<u8>,
}

impl Bundle {
    /// The bytes that [`Bundle::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = (self.parts.len() as u32).to_le_bytes().to_vec();
        for (name, content) in &self.parts {
            put(&mut out, name.as_bytes());
            put(&mut out, content);
        }
        out.extend_from_slice(&self.rest);
        out
    }

    /// Reads a bundle; `None` where the bytes are not one.
    pub fn decode(mut bytes: &[u8]) -> Option<Bundle> {
        let count = number(&mut bytes)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            let name = std::str::from_utf8(take(&mut bytes)?).ok()?.to_string();
            parts.push((name, take(&mut bytes)?.to_vec()));
        }
        Some(Bundle { parts, rest: bytes.to_vec() })
    }
}

/// What became of the parts of an item in one node: content, where there is one.
pub fn encode_results(results: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::new();
    for result in results {
        out.push(u8::from(result.is_some()));
        put(&mut out, result.as_deref().unwrap_or_default());
    }
    out
}

/// Reads what [`encode_results`] wrote; `None` where the bytes are not that.
pub fn decode_results(mut bytes: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut out = Vec::new();
    while let Some((there, rest)) = bytes.split_first() {
        bytes = rest;
        let content = take(&mut bytes)?;
        out.push((*there != 0).then(|| content.to_vec()));
    }
    Some(out)
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (head, rest) = bytes.split_at_checked(4)?;
    *bytes = rest;
    Some(u32::from_le_bytes(head.try_into().ok()?) as usize)
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, rest) = {
        let length = number(bytes)?;
        bytes.split_at_checked(length)?
    };
    *bytes = rest;
    Some(head)
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
