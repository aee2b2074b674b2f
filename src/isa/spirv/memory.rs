//! The annotations of accesses and barriers: orders, scopes, storage classes, availability and visibility.
//!
//! Models see nothing else of how SPIR-V writes them. It does not know values.

use super::declare::{Declared, Rules, literal};
use super::types::{Class, Type};
use litmake_ops::{Tags, tag};

type Read<T> = Result<T, String>;

/// The parts of a memory-semantics operand.
#[derive(Clone, Copy, Debug)]
pub struct Semantics {
    pub acquire: bool,
    pub release: bool,
    sequential: bool,
    /// Storage classes, and volatility.
    common: Tags,
    available: bool,
    visible: bool,
}

const ACQUIRE: u128 = 0x2;
const RELEASE: u128 = 0x4;
const ACQUIRE_RELEASE: u128 = 0x8;
const SEQUENTIAL: u128 = 0x10;
const MAKE_AVAILABLE: u128 = 0x2000;
const MAKE_VISIBLE: u128 = 0x4000;
/// Storage classes whose memory no test has: sub-groups' own, counters, images, outputs.
const ELSEWHERE: u128 = 0x80 | 0x400 | 0x800 | 0x1000;

const CLASSES: [(u128, Tags); 4] = [
    (0x40, tag::SEM_UNIFORM),
    (0x100, tag::SEM_WORKGROUP),
    (0x200, tag::SEM_CROSSWORKGROUP),
    (0x8000, tag::C_VOLATILE),
];

impl Semantics {
    pub fn read(declared: &Declared, id: &str) -> Read<Semantics> {
        let bits = declared.number(id)?;
        let has = |bit: u128| bits & bit != 0;
        let orders = ACQUIRE | RELEASE | ACQUIRE_RELEASE | SEQUENTIAL;
        if (bits & orders).count_ones() > 1 {
            return Err(format!("semantics have at most one order: {bits:#x}"));
        }
        let known = CLASSES.iter().fold(orders | MAKE_AVAILABLE | MAKE_VISIBLE, |k, (b, _)| k | b);
        if bits & !(known | ELSEWHERE) != 0 {
            return Err(format!("unsupported: the semantics {bits:#x}"));
        }
        let common = CLASSES.iter().filter(|(b, _)| has(*b));
        Ok(Semantics {
            acquire: has(ACQUIRE | ACQUIRE_RELEASE | SEQUENTIAL),
            release: has(RELEASE | ACQUIRE_RELEASE | SEQUENTIAL),
            sequential: has(SEQUENTIAL),
            common: common.fold(Tags::NONE, |all, (_, tag)| all | *tag),
            available: has(MAKE_AVAILABLE),
            visible: has(MAKE_VISIBLE),
        })
    }

    /// The annotations of an event that may acquire, release, or both.
    fn tags(&self, acquires: bool, releases: bool) -> Tags {
        let (acquire, release) = (self.acquire && acquires, self.release && releases);
        let of = |set: bool, tags: Tags| if set { tags } else { Tags::NONE };
        of(acquire, tag::C_ACQ)
            | of(release, tag::C_REL)
            | of(self.sequential, tag::C_SC)
            | of(acquire || release, self.common)
            | of(self.common.meets(tag::C_VOLATILE), tag::C_VOLATILE)
            | of(release && self.available, tag::SEMAV)
            | of(acquire && self.visible, tag::SEMVIS)
    }

    /// The tags of an atomic operation, which is available and visible by itself.
    pub fn atomic(&self, scope: Tags, reads: bool, writes: bool) -> Tags {
        let of = |set: bool, tags: Tags| if set { tags } else { Tags::NONE };
        tag::C_A
            | tag::NONPRIV
            | scope
            | of(reads, tag::VIS)
            | of(writes, tag::AV)
            | self.tags(reads, writes)
    }

    /// The tags of a barrier, or of one half of it.
    pub fn barrier(&self, scope: Tags, acquires: bool, releases: bool) -> Tags {
        scope | self.tags(acquires, releases)
    }

    pub fn orders(&self) -> bool {
        self.acquire || self.release
    }
}

/// A scope by its constant. The scope of one invocation reaches no other event.
pub fn scope(declared: &Declared, id: &str) -> Read<Tags> {
    Ok(match declared.number(id)? {
        0 => tag::SY,
        1 => tag::DV,
        2 => tag::WG,
        3 => tag::SG,
        4 => Tags::NONE,
        5 => tag::QF,
        n => return Err(format!("unsupported: the scope {n}")),
    })
}

/// The annotations of a plain access by its memory operands. What belongs to the invocation alone has none of
/// those by which other threads see something.
pub fn plain(declared: &Declared, pointer: &str, operands: &[&str], writes: bool) -> Read<Tags> {
    let own = matches!(&**declared.type_of(pointer)?, Type::Pointer { class: Ok(Class::Own), .. });
    let mut tags = match (declared.rules, writes) {
        _ if own => Tags::NONE,
        (Rules::Vulkan, _) => Tags::NONE,
        (Rules::OpenCl, true) => tag::NONPRIV | tag::SY | tag::AV,
        (Rules::OpenCl, false) => tag::NONPRIV | tag::SY | tag::VIS,
    };
    let Some((mask, mut rest)) = operands.split_first() else { return Ok(tags) };
    let mut names: Vec<&str> = mask.split('|').map(|n| n.trim_end_matches("KHR")).collect();
    // The operands of the names come in the order of their bits.
    let order =
        ["Volatile", "Aligned", "Nontemporal", "MakePointerAvailable", "MakePointerVisible"];
    names.sort_by_key(|n| order.iter().position(|o| o == n).unwrap_or(order.len()));
    for name in names {
        let mut next = || match rest.split_first() {
            Some((first, others)) => {
                rest = others;
                Ok(*first)
            }
            None => Err(format!("the operand of {name} is missing")),
        };
        tags = tags
            | match name {
                "None" | "Nontemporal" => Tags::NONE,
                "Volatile" => tag::C_VOLATILE,
                "Aligned" => literal(next()?).map(|_| Tags::NONE)?,
                "NonPrivatePointer" => tag::NONPRIV,
                "MakePointerAvailable" => tag::AV | scope(declared, next()?)?,
                "MakePointerVisible" => tag::VIS | scope(declared, next()?)?,
                _ => return Err(format!("unsupported: the memory operand {name}")),
            };
    }
    match rest {
        [] => Ok(tags),
        [more, ..] => Err(format!("unsupported: a second memory operand ({more})")),
    }
}
