//! The types in the last dotted words of an instruction. It does not know instructions.

/// The kind of value that the bits of a type hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number without a sign.
    Unsigned,
    /// A number with a sign.
    Signed,
    /// Bits without a meaning (`b32`), or those of a number that is only copied (`f32`).
    Bits,
    /// A predicate, of one bit.
    Pred,
}

/// The type of a register or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The kind of value that its bits hold.
    pub kind: Kind,
    /// How many bits it has.
    pub bits: u8,
}

impl Type {
    /// `.pred`.
    pub(crate) const PRED: Type = Type { kind: Kind::Pred, bits: 1 };

    /// The type that a word names.
    pub fn named(word: &str) -> Option<Type> {
        if word == "pred" {
            return Some(Type::PRED);
        }
        let kind = match word.as_bytes().first()? {
            b'u' => Kind::Unsigned,
            b's' => Kind::Signed,
            b'b' => Kind::Bits,
            b'f' if matches!(word, "f32" | "f64") => Kind::Bits,
            _ => return None,
        };
        let bits = match &word[1..] {
            "8" => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            _ => return None,
        };
        Some(Type { kind, bits })
    }

    /// Whether it is a number with a sign.
    pub fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// The bytes of an access of this type.
    pub(crate) fn bytes(self) -> u8 {
        self.bits.div_ceil(8)
    }
}
