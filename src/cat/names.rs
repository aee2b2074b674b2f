//! The names that are bound for every model: base sets and relations of each dialect.
//!
//! (`models/stdlib.cat` binds the names that are defined in terms of others.)

use super::plan::{BaseRel, BaseSet};
use litmake_litmus::Arch;
use litmake_litmus::scopes::Level;
use litmake_ops::{TAG_TABLE, Tags};

/// The meaning of a base name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The set.
    Set(BaseSet),
    /// The complement of the set.
    NotSet(BaseSet),
    /// Either of the two.
    EitherSet(BaseSet, BaseSet),
    /// The relation.
    Rel(BaseRel),
    /// Either of the two.
    EitherRel(BaseRel, BaseRel),
    /// Nothing: events that litmake does not have.
    EmptySet,
    /// Nothing: relations of events that litmake does not have.
    EmptyRel,
    /// The order on writes that is known before coherence is searched.
    Co0,
}

const SETS: &[(&str, BaseSet)] = &[
    ("R", BaseSet::R),
    ("W", BaseSet::W),
    ("M", BaseSet::M),
    ("EXEC", BaseSet::M),
    ("F", BaseSet::F),
    ("B", BaseSet::Branch),
    ("BCC", BaseSet::Bcc),
    ("PRED", BaseSet::Pred),
    ("IW", BaseSet::Iw),
    ("FW", BaseSet::Fw),
    ("Exp", BaseSet::Exp),
    ("Rreg", BaseSet::Rreg),
    ("Wreg", BaseSet::Wreg),
    ("ADDR", BaseSet::AddrPort),
    ("DATA", BaseSet::DataPort),
    ("Const", BaseSet::Const),
];

const RELS: &[(&str, BaseRel)] = &[
    ("id", BaseRel::Id),
    ("po", BaseRel::Po),
    ("loc", BaseRel::Loc),
    ("int", BaseRel::Int),
    ("ext", BaseRel::Ext),
    ("rf", BaseRel::Rf),
    ("rf-reg", BaseRel::RfReg),
    ("co", BaseRel::Co),
    ("addr", BaseRel::Addr),
    ("data", BaseRel::Data),
    ("ctrl", BaseRel::Ctrl),
    ("pick-addr", BaseRel::PickAddr),
    ("pick-data", BaseRel::PickData),
    ("pick-ctrl", BaseRel::PickCtrl),
    ("amo", BaseRel::Amo),
    ("lxsx", BaseRel::LxSx),
    ("same-instance", BaseRel::SameInstance),
    ("iico_data", BaseRel::IicoData),
    ("iico_ctrl", BaseRel::IicoCtrl),
    ("iico_order", BaseRel::IicoOrder),
    ("sm", BaseRel::SameAccess),
    ("si", BaseRel::SameAccess),
    ("same-instr", BaseRel::SameInstr),
    ("same-thread", BaseRel::SameThread),
    ("same-barrier", BaseRel::SameBarrier),
    ("same-subgroup", BaseRel::SameLevel(Level::Subgroup)),
    ("same-workgroup", BaseRel::SameLevel(Level::Workgroup)),
    ("same-cta", BaseRel::SameLevel(Level::Workgroup)),
    ("same-cluster", BaseRel::SameLevel(Level::Cluster)),
    ("same-queuefamily", BaseRel::SameLevel(Level::QueueFamily)),
    ("same-device", BaseRel::SameLevel(Level::Device)),
    ("same-gpu", BaseRel::SameLevel(Level::Device)),
    ("same-system", BaseRel::SameLevel(Level::System)),
    ("same-low-order-bits", BaseRel::Loc),
];

/// Sets of herd that are always empty here: litmake has no such events (translation, tags, faults,
/// cache maintenance, locks, speculation).
const EMPTY_SETS: &[&str] = &[
    "NExp",
    "SPEC",
    "SPURIOUS",
    "T",
    "GCS",
    "TLBI",
    "TLBIIS",
    "TLBInXS",
    "CutOff",
    "PA",
    "PTE",
    "D-PTE",
    "I-PTE",
    "PTEV",
    "PTEINV",
    "PTEAF0",
    "PTEDB0",
    "PTEMemAttr",
    "ReadOnly",
    "AF",
    "DB",
    "MMU",
    "D-MMU",
    "I-MMU",
    "Translation",
    "AccessFlag",
    "Permission",
    "TagCheck",
    "SVC",
    "UDF",
    "BTI",
    "PacCheck",
    "SupervisorCall",
    "UndefinedInstruction",
    "FAULT",
    "FAULT-RD",
    "FAULT-WR",
    "EXC-ENTRY",
    "EXC-RET",
    "IC.IVAU",
    "IC.IALLU",
    "IC.IALLUIS",
    "DC.CVAU",
    "DC.CVAC",
    "DC.CVAP",
    "DC.IVAC",
    "DC.CIVAC",
    "DC.ZVA",
    "Instr",
    "Restricted-CMODX",
    "LK",
    "LKR",
    "LKW",
    "LS",
    "LF",
    "UL",
    "RL",
    "RU",
];

const EMPTY_RELS: &[&str] = &["inv-domain", "PTEtoPA"];

/// Other names of annotations, as herd has them.
const TAG_ALIASES: &[(Arch, &str, &str)] =
    &[(Arch::X86_64, "NT", "NTW"), (Arch::X86, "NT", "NTW"), (Arch::Arm, "AL", "A")];

/// The meaning of `name` in tests of `arch`, if it is a base name there.
pub fn base(arch: Arch, name: &str) -> Option<Base> {
    if name == "co0" || name == "pco" {
        return Some(Base::Co0);
    }
    if name == "rmw" {
        // Older libraries define the two parts from it.
        return Some(Base::EitherRel(BaseRel::Amo, BaseRel::LxSx));
    }
    if matches!(arch, Arch::C | Arch::Llvm | Arch::Spirv) {
        let tag = |n| tags_of(arch, n).map(BaseSet::Tags);
        match name {
            "X" | "RMW" => return Some(Base::EitherSet(BaseSet::Rmw, tag("X")?)),
            "NA" => return Some(Base::NotSet(tag("A")?)),
            _ => {}
        }
    }
    if let Some((_, set)) = SETS.iter().find(|(n, _)| *n == name) {
        return Some(Base::Set(*set));
    }
    if let Some((_, rel)) = RELS.iter().find(|(n, _)| *n == name) {
        return Some(Base::Rel(*rel));
    }
    let alias = TAG_ALIASES
        .iter()
        .find(|(a, n, _)| *a == arch && *n == name)
        .map_or(name, |(_, _, target)| target);
    if let Some(tags) = tags_of(arch, alias)
        && tags != Tags::NONE
    {
        return Some(Base::Set(BaseSet::Tags(tags)));
    }
    if EMPTY_SETS.contains(&name) {
        return Some(Base::EmptySet);
    }
    if EMPTY_RELS.contains(&name) {
        return Some(Base::EmptyRel);
    }
    None
}

/// Whether another dialect has an annotation of this name.
pub fn elsewhere(arch: Arch, name: &str) -> Option<Arch> {
    Arch::ALL
        .into_iter()
        .filter(|a| *a != arch)
        .find(|a| tags_of(*a, name).is_some_and(|t| t != Tags::NONE))
}

/// All base names, for suggestions.
pub fn all() -> impl Iterator<Item = &'static str> {
    let tags = TAG_TABLE.iter().map(|(_, name, _)| *name);
    let sets = SETS.iter().map(|(n, _)| *n);
    sets.chain(RELS.iter().map(|(n, _)| *n)).chain(tags)
}

/// The annotations that a cat name stands for in tests of a dialect; `None` if no dialect has such an
/// annotation.
pub fn tags_of(arch: Arch, name: &str) -> Option<Tags> {
    let mut known = None;
    for (tags, tag_name, archs) in TAG_TABLE {
        if *tag_name == name {
            let here = *archs == "*" || archs.split(' ').any(|a| a == arch.name());
            let sum = known.unwrap_or(Tags::NONE);
            known = Some(if here { sum | *tags } else { sum });
        }
    }
    known
}
