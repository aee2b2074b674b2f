//! The types of LLVM's intermediate representation, and how their values lie in memory.
//!
//! An aggregate is the list of its scalars. The layout is that of targets whose integers are aligned to their size; how
//! many bits a pointer has is told. It does not know instructions.

/// More elements than this are refused: each is a register of its own.
const MOST_SCALARS: u64 = 256;

/// The deepest type that is read.
const DEEPEST: usize = 32;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// No value.
    Void,
    /// An integer of so many bits.
    Int(u8),
    /// Of so many bits.
    Pointer(u8),
    /// A number in floating point.
    Float(Float),
    /// So many elements of a type.
    Array(u64, Box<Type>),
    /// The same, to compute with: so many lanes of whole bytes.
    Vector(u64, Box<Type>),
    /// Fields, one after the other.
    Struct {
        /// The types of the fields.
        fields: Vec<Type>,
        /// Whether they lie without gaps between them.
        packed: bool,
    },
}

/// A format of numbers in floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// 16 bits, of which 10 are digits.
    Half,
    /// 16 bits, the upper half of [`Float::Single`].
    Brain,
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

impl Float {
    const ALL: [Float; 4] = [Float::Half, Float::Brain, Float::Single, Float::Double];

    /// The word of the language.
    pub fn name(self) -> &'static str {
        match self {
            Float::Half => "half",
            Float::Brain => "bfloat",
            Float::Single => "float",
            Float::Double => "double",
        }
    }

    fn named(word: &str) -> Option<Float> {
        Float::ALL.into_iter().find(|format| format.name() == word)
    }

    /// How many bits a number has.
    pub fn bits(self) -> u8 {
        match self {
            Float::Half | Float::Brain => 16,
            Float::Single => 32,
            Float::Double => 64,
        }
    }
}

/// A part of a value that is no aggregate: its bits, and its place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The width of the value.
    pub bits: u8,
    /// Where it begins, in bytes from the start of the whole.
    pub at: u64,
}

/// Whether a token begins a type.
pub fn begins(token: &str) -> bool {
    matches!(token, "void" | "ptr" | "{" | "[" | "<" | "metadata")
        || Float::named(token).is_some()
        || integer(token).is_some()
}

fn integer(token: &str) -> Option<u32> {
    token.strip_prefix('i')?.parse().ok()
}

impl Type {
    /// Reads the type that tokens begin with, where pointers have so many bits; gives it with the number of its tokens.
    pub fn read(tokens: &[&str], pointer: u8) -> Result<(Type, usize), String> {
        read(tokens, pointer, 0)
    }

    /// Bytes from one element of an array to the next.
    pub fn size(&self) -> u64 {
        match self {
            Type::Void => 0,
            Type::Int(bits) => u64::from(bits.div_ceil(8)).next_power_of_two(),
            Type::Pointer(bits) => u64::from(bits / 8),
            Type::Float(format) => u64::from(format.bits() / 8),
            Type::Array(n, of) => of.size().saturating_mul(*n),
            Type::Vector(n, of) => of.size().saturating_mul(*n).next_power_of_two(),
            Type::Struct { .. } => round(self.end(), self.align()),
        }
    }

    fn align(&self) -> u64 {
        match self {
            Type::Void => 1,
            Type::Int(_) | Type::Pointer(_) | Type::Float(_) => self.size().min(16),
            Type::Vector(..) => self.size(),
            Type::Array(_, of) => of.align(),
            Type::Struct { packed: true, .. } => 1,
            Type::Struct { fields, .. } => fields.iter().map(Type::align).max().unwrap_or(1),
        }
    }

    /// Where the bytes of a structure's last field end; of another type, its size.
    fn end(&self) -> u64 {
        match self {
            Type::Struct { fields, .. } => {
                fields.len().checked_sub(1).map_or(0, |i| self.offset(i) + fields[i].size())
            }
            ty => ty.size(),
        }
    }

    /// Where an element or a field begins.
    pub fn offset(&self, index: usize) -> u64 {
        match self {
            Type::Array(_, of) | Type::Vector(_, of) => of.size().saturating_mul(index as u64),
            Type::Struct { fields, packed } => {
                let mut at: u64 = 0;
                for (i, field) in fields.iter().enumerate() {
                    at = round(at, if *packed { 1 } else { field.align() });
                    if i == index {
                        break;
                    }
                    at += field.size();
                }
                at
            }
            _ => 0,
        }
    }

    /// The type of an element or a field.
    pub fn part(&self, index: usize) -> Option<&Type> {
        match self {
            Type::Array(n, of) | Type::Vector(n, of) if (index as u64) < *n => Some(of),
            Type::Struct { fields, .. } => fields.get(index),
            _ => None,
        }
    }

    /// How many parts an aggregate has.
    pub fn parts(&self) -> usize {
        match self {
            Type::Array(n, _) | Type::Vector(n, _) => *n as usize,
            Type::Struct { fields, .. } => fields.len(),
            _ => 0,
        }
    }

    /// The scalars that it is made of, in order.
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut out = Vec::new();
        self.collect(0, &mut out);
        out
    }

    fn collect(&self, at: u64, out: &mut Vec<Scalar>) {
        match self {
            Type::Void => {}
            Type::Int(bits) | Type::Pointer(bits) => out.push(Scalar { bits: *bits, at }),
            Type::Float(format) => out.push(Scalar { bits: format.bits(), at }),
            Type::Array(..) | Type::Vector(..) | Type::Struct { .. } => {
                for i in 0..self.parts() {
                    if let Some(part) = self.part(i) {
                        part.collect(at + self.offset(i), out);
                    }
                }
            }
        }
    }

    /// The format of a number in floating point, or of a vector's lanes.
    pub fn format(&self) -> Option<Float> {
        match self {
            Type::Float(format) => Some(*format),
            Type::Vector(_, of) => of.format(),
            _ => None,
        }
    }

    /// How many scalars it has.
    pub fn count(&self) -> u64 {
        match self {
            Type::Void => 0,
            Type::Int(_) | Type::Pointer(_) | Type::Float(_) => 1,
            Type::Array(n, of) | Type::Vector(n, of) => of.count().saturating_mul(*n),
            Type::Struct { fields, .. } => fields.iter().map(Type::count).sum(),
        }
    }
}

fn round(at: u64, align: u64) -> u64 {
    at.div_ceil(align.max(1)).saturating_mul(align.max(1))
}

fn read(tokens: &[&str], pointer: u8, depth: usize) -> Result<(Type, usize), String> {
    if depth > DEEPEST {
        return Err("unsupported: a type of so many levels".into());
    }
    let (mut ty, mut n) = plain(tokens, pointer, depth)?;
    // Pointers of LLVM before 15, to whatever: what is loaded through them is said elsewhere.
    loop {
        match tokens.get(n..).unwrap_or(&[]) {
            ["*", ..] => (ty, n) = (Type::Pointer(pointer), n + 1),
            ["addrspace", "(", _, ")", ..] => n += 4,
            // A function's type, behind which stands its star.
            ["(", ..] => match skip(&tokens[n..]) {
                Some(len) if tokens.get(n + len) == Some(&"*") => n += len,
                _ => return Ok((ty, n)),
            },
            _ => return Ok((ty, n)),
        }
    }
}

/// The number of tokens of a parenthesis that tokens begin with.
pub fn skip(tokens: &[&str]) -> Option<usize> {
    let mut open = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" | "<" => open += 1,
            ")" | "]" | "}" | ">" => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(i + 1);
        }
    }
    None
}

fn plain(tokens: &[&str], pointer: u8, depth: usize) -> Result<(Type, usize), String> {
    let bounded = |ty: Type, n| match ty.count() > MOST_SCALARS {
        true => Err(format!("unsupported: a value of more than {MOST_SCALARS} parts")),
        false => Ok((ty, n)),
    };
    match tokens {
        ["void", ..] => Ok((Type::Void, 1)),
        ["ptr", ..] => Ok((Type::Pointer(pointer), 1)),
        ["{", ..] => {
            let (fields, n) = list(&tokens[1..], "}", pointer, depth)?;
            bounded(Type::Struct { fields, packed: false }, n + 1)
        }
        ["<", "{", ..] => {
            let (fields, n) = list(&tokens[2..], "}", pointer, depth)?;
            match tokens.get(n + 2) {
                Some(&">") => bounded(Type::Struct { fields, packed: true }, n + 3),
                _ => Err("expected `>` behind a packed structure".into()),
            }
        }
        ["<", "vscale", ..] => {
            Err("unsupported: vectors of a length that the machine tells".into())
        }
        ["<", count, "x", ..] => {
            let count = count.parse().map_err(|_| format!("`{count}` is no number of lanes"))?;
            let (of, n) = read(&tokens[3..], pointer, depth + 1)?;
            match (&of, tokens.get(n + 3)) {
                (Type::Int(bits), _) if bits % 8 != 0 => {
                    Err("unsupported: vectors of lanes that are no bytes".into())
                }
                (Type::Int(_) | Type::Pointer(_) | Type::Float(_), Some(&">")) => {
                    bounded(Type::Vector(count, Box::new(of)), n + 4)
                }
                _ => Err("expected `>` behind a vector's type".into()),
            }
        }
        ["[", count, "x", ..] => {
            let count = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
            let (of, n) = read(&tokens[3..], pointer, depth + 1)?;
            match tokens.get(n + 3) {
                Some(&"]") => bounded(Type::Array(count, Box::new(of)), n + 4),
                _ => Err("expected `]` behind an array's type".into()),
            }
        }
        [word, ..] => match (Float::named(word), integer(word)) {
            (Some(format), _) => Ok((Type::Float(format), 1)),
            (_, Some(bits @ 1..=128)) => Ok((Type::Int(bits as u8), 1)),
            (_, Some(_)) => Err(format!("unsupported: integers such as `{word}`")),
            (_, None) if word.starts_with('%') => {
                Err(format!("the type `{word}` is not defined: write it out"))
            }
            (_, None) => Err(format!("unsupported: the type `{word}`")),
        },
        [] => Err("expected a type".into()),
    }
}

fn list(
    tokens: &[&str],
    close: &str,
    pointer: u8,
    depth: usize,
) -> Result<(Vec<Type>, usize), String> {
    let mut fields = Vec::new();
    let mut n = 0;
    if tokens.first() == Some(&close) {
        return Ok((fields, 1));
    }
    loop {
        let (ty, len) = read(tokens.get(n..).unwrap_or(&[]), pointer, depth + 1)?;
        fields.push(ty);
        n += len + 1;
        match tokens.get(n - 1) {
            Some(&",") => {}
            Some(found) if *found == close => return Ok((fields, n)),
            _ => return Err(format!("expected `,` or `{close}` in a structure's type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokens;
    use super::*;

    fn ty(text: &str) -> Type {
        of(text, 64)
    }

    fn of(text: &str, pointer: u8) -> Type {
        let tokens = tokens(text);
        let (ty, n) = Type::read(&tokens, pointer).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(n, tokens.len(), "{text}");
        ty
    }

    #[test]
    fn fields_are_aligned_to_their_size() {
        let pair = ty("{ i8, i32, [2 x i16], ptr }");
        assert_eq!((0..4).map(|i| pair.offset(i)).collect::<Vec<_>>(), [0, 4, 8, 16]);
        assert_eq!(pair.size(), 24);
        let pair = of("{ i8, i32, [2 x i16], ptr, i64 }", 32);
        assert_eq!((0..5).map(|i| pair.offset(i)).collect::<Vec<_>>(), [0, 4, 8, 12, 16]);
        assert_eq!(ty("<{ i8, i32 }>").size(), 5);
        assert_eq!((ty("<3 x i32>").size(), ty("{ i8, <2 x i32> }").offset(1)), (16, 8));
        assert_eq!(
            ty("{ i32, i1 }").scalars(),
            [Scalar { bits: 32, at: 0 }, Scalar { bits: 1, at: 4 }]
        );
    }

    #[test]
    fn pointers_have_one_type() {
        for text in ["ptr", "i32*", "{ i32 }**", "void (i32*, ...)*", "i8 addrspace(1)*"] {
            assert_eq!(ty(text), Type::Pointer(64), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (text, why) in [
            ("<vscale x 2 x i32>", "vectors"),
            ("<8 x i1>", "lanes"),
            ("fp128", "fp128"),
            ("i256", "i256"),
        ] {
            let e = Type::read(&tokens(text), 64).expect_err(text);
            assert!(e.contains("unsupported") && e.contains(why), "{e}");
        }
        assert!(Type::read(&tokens("[999999 x i32]"), 64).is_err());
        assert!(Type::read(&tokens(&"[ 1 x ".repeat(100)), 64).is_err());
    }
}
