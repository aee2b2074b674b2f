//! Types of SPIR-V: what instructions declare, and where the parts of values lie in memory.
//!
//! Offsets and strides are those that decorations give (Vulkan), and else as C has them (OpenCL). It does not
//! know instructions that compute.

use std::rc::Rc;

/// A value of more scalars is refused.
const MOST_SCALARS: u64 = 64;

/// A storage class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One invocation's own (`Function`, `Private`).
    Own,
    /// `Uniform`, `StorageBuffer` and `PhysicalStorageBuffer`: what the semantics call UniformMemory.
    Uniform,
    Workgroup,
    CrossWorkgroup,
    /// Any of the classes, which the address tells.
    Generic,
}

impl Class {
    pub fn named(word: &str) -> Result<Class, String> {
        Ok(match word {
            "Function" | "Private" => Class::Own,
            "Uniform" | "StorageBuffer" | "PhysicalStorageBuffer" | "PhysicalStorageBufferEXT" => {
                Class::Uniform
            }
            "Workgroup" => Class::Workgroup,
            "CrossWorkgroup" => Class::CrossWorkgroup,
            "Generic" => Class::Generic,
            _ => return Err(format!("unsupported: the storage class {word}")),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Type {
    Void,
    Bool,
    Int(u8),
    /// To a type by its id, which may be declared later; with the distance of elements, if it says so.
    Pointer {
        class: Result<Class, String>,
        to: String,
        stride: Option<u64>,
    },
    /// An array or a vector. A length of 0 is open.
    Array {
        of: Rc<Type>,
        len: u64,
        stride: u64,
    },
    Struct(Vec<(Rc<Type>, u64)>),
    /// A type that only declarations and signatures name; says why values of it are refused.
    Other(String),
}

/// A scalar in a value: its bits, and where its bytes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub bits: u8,
    pub at: u64,
}

impl Type {
    /// A structure whose fields lie where the decorations say, or one behind the other.
    pub fn structure(fields: Vec<(Rc<Type>, Option<u64>)>) -> Type {
        let mut at = 0;
        let mut out = Vec::with_capacity(fields.len());
        for (ty, said) in fields {
            at = said.unwrap_or_else(|| round(at, ty.align()));
            let size = ty.size();
            out.push((ty, at));
            at += size;
        }
        Type::Struct(out)
    }

    pub fn size(&self) -> u64 {
        match self {
            Type::Void | Type::Other(_) => 0,
            Type::Bool => 1,
            Type::Int(bits) => u64::from(bits.div_ceil(8)).next_power_of_two(),
            Type::Pointer { .. } => 8,
            Type::Array { len, stride, .. } => stride.saturating_mul(*len),
            Type::Struct(fields) => {
                let end = fields.iter().map(|(ty, at)| at + ty.size()).max().unwrap_or(0);
                round(end, self.align())
            }
        }
    }

    pub fn align(&self) -> u64 {
        match self {
            Type::Array { of, .. } => of.align(),
            Type::Struct(fields) => fields.iter().map(|(ty, _)| ty.align()).max().unwrap_or(1),
            ty => ty.size().max(1),
        }
    }

    /// A part by its number, and where it begins.
    pub fn part(&self, index: u64) -> Option<(&Rc<Type>, u64)> {
        match self {
            Type::Array { of, len, stride } if index < *len || *len == 0 => {
                Some((of, stride.saturating_mul(index)))
            }
            Type::Struct(fields) => {
                let (ty, at) = fields.get(usize::try_from(index).ok()?)?;
                Some((ty, *at))
            }
            _ => None,
        }
    }

    fn parts(&self) -> u64 {
        match self {
            Type::Array { len, .. } => *len,
            Type::Struct(fields) => fields.len() as u64,
            _ => 0,
        }
    }

    /// How many scalars a value has.
    pub fn count(&self) -> u64 {
        match self {
            Type::Void | Type::Other(_) => 0,
            Type::Bool | Type::Int(_) | Type::Pointer { .. } => 1,
            Type::Array { of, len, .. } => of.count().saturating_mul(*len),
            Type::Struct(fields) => fields.iter().map(|(ty, _)| ty.count()).sum(),
        }
    }

    /// The scalars that a value is made of, in order.
    pub fn scalars(&self) -> Result<Vec<Scalar>, String> {
        if self.count() > MOST_SCALARS {
            return Err(format!("unsupported: a value of more than {MOST_SCALARS} parts"));
        }
        let mut out = Vec::new();
        self.collect(0, &mut out)?;
        Ok(out)
    }

    fn collect(&self, at: u64, out: &mut Vec<Scalar>) -> Result<(), String> {
        match self {
            Type::Void => {}
            Type::Other(why) => return Err(why.clone()),
            Type::Bool => out.push(Scalar { bits: 1, at }),
            Type::Int(bits) => out.push(Scalar { bits: *bits, at }),
            Type::Pointer { .. } => out.push(Scalar { bits: 64, at }),
            Type::Array { .. } | Type::Struct(_) => {
                for (ty, offset) in (0..self.parts()).filter_map(|i| self.part(i)) {
                    ty.collect(at + offset, out)?;
                }
            }
        }
        Ok(())
    }

    /// The scalars of a part, by the numbers of the parts around it.
    pub fn range(&self, indices: &[u64]) -> Result<(std::ops::Range<usize>, &Type), String> {
        let (mut ty, mut first) = (self, 0);
        for index in indices {
            for before in 0..(*index).min(ty.parts()) {
                first += ty.part(before).map_or(0, |(ty, _)| ty.count());
            }
            let (part, _) = ty.part(*index).ok_or_else(|| format!("there is no part {index}"))?;
            ty = part;
        }
        Ok((first as usize..(first + ty.count()) as usize, ty))
    }
}

fn round(at: u64, align: u64) -> u64 {
    at.div_ceil(align.max(1)).saturating_mul(align.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_decorations_say_or_as_in_c() {
        let int = |bits| Rc::new(Type::Int(bits));
        let plain = Type::structure(vec![(int(8), None), (int(32), None), (int(64), None)]);
        let at = |ty: &Type| (0..3).map(|i| ty.part(i).expect("there").1).collect::<Vec<_>>();
        assert_eq!((at(&plain), plain.size()), (vec![0, 4, 8], 16));
        let said = Type::structure(vec![(int(8), Some(4)), (int(32), Some(16)), (int(64), None)]);
        assert_eq!(at(&said), [4, 16, 24]);
        assert_eq!(plain.range(&[1]).expect("there").0, 1..2);
        assert!(plain.range(&[3]).is_err());
    }

    #[test]
    fn what_is_not_known_is_named() {
        let e = Class::named("Input").expect_err("no memory");
        assert!(e.contains("unsupported") && e.contains("Input"), "{e}");
    }
}
