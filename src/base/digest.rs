//! Digests: names of content.
//!
//! A digest knows the name of its hash function, so that stores and servers that use another one
//! can be told apart. It does not know what was hashed.

use std::fmt;

/// The BLAKE3 digest of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The name of the digest function; stores carry it in their headers.
    pub const FUNCTION: &'static str = "blake3";

    /// The digest of some content.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// A stored digest; `None` where the length is wrong.
    pub fn from_slice(bytes: &[u8]) -> Option<Digest> {
        Some(Digest(bytes.try_into().ok()?))
    }

    /// The first 64 bits, as a number that sorts as digests do.
    pub fn prefix(&self) -> u64 {
        u64::from_be_bytes(self.0[..8].try_into().expect("eight bytes"))
    }

    /// The whole digest in hexadecimal, without the name of the function.
    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The first 12 hexadecimal digits, enough to tell two digests apart on a screen.
    pub fn short(&self) -> String {
        self.0[..6].iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Reads what [`Digest::hex`] writes, with or without the name of the function before it.
    pub fn parse(text: &str) -> Option<Digest> {
        let hex = text.strip_prefix("blake3:").unwrap_or(text);
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Digest(out))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.hex())
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        Digest::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("expected a digest of 64 hexadecimal digits"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Digest::FUNCTION, self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Digest::FUNCTION, self.short())
    }
}

/// Builds a key from named fields. Every field is preceded by its length, so that different lists
/// of fields never give the same input to the hash.
#[derive(Clone)]
pub struct Keyer(blake3::Hasher);

impl Keyer {
    /// Begins a key for some purpose. Keys for different purposes are never equal.
    pub fn new(what: &str) -> Keyer {
        Keyer(blake3::Hasher::new()).field("key", what.as_bytes())
    }

    /// The key with one more field.
    pub fn field(mut self, name: &str, bytes: &[u8]) -> Keyer {
        self.add(name, bytes);
        self
    }

    /// See [`Keyer::field`].
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        self.0.update(&(name.len() as u64).to_le_bytes());
        self.0.update(name.as_bytes());
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The digest of all fields so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_framed() {
        let a = Keyer::new("k").field("ab", b"c").finish();
        let b = Keyer::new("k").field("a", b"bc").finish();
        assert_ne!(a, b);
    }

    #[test]
    fn text_form_carries_the_function_and_reads_back() {
        let d = Digest::of(b"x");
        assert!(d.to_string().starts_with("blake3:"));
        assert_eq!(Digest::parse(&d.to_string()), Some(d));
        assert_eq!(Digest::parse("blake3:zz"), None);
    }
}
