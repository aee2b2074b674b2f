//! Determines how a compiler lays out atomic types: size, alignment and padding from debug
//! information, and the way of loads and stores from the code.
//!
//! It does not know other compilers, nor which layout is right.

use litmake_base::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};

use gimli::{AttributeValue, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSymbol, RelocationKind, RelocationTarget};
use serde::{Deserialize, Serialize};

/// The layout of an atomic type, and how a compiler accesses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Layout {
    /// The number of bytes.
    pub size: u64,
    /// The alignment of its address.
    pub align: u64,
    /// The number of bytes that the type has in addition to the plain type.
    pub padding: u64,
    /// The functions that a load and a store call; empty if the access is inline.
    pub load: BTreeSet<String>,
    /// See `load`.
    pub store: BTreeSet<String>,
}

/// The ways of accessing an atomic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// With instructions.
    Inline,
    /// With a library function for the size.
    Sized,
    /// With a library function for any size, which may take a lock.
    Any,
}

impl Layout {
    /// The way of an access that calls these functions.
    pub fn way(calls: &BTreeSet<String>) -> Way {
        let sized = |c: &String| c.rsplit('_').next().is_some_and(|n| n.parse::<u8>().is_ok());
        match (calls.is_empty(), calls.iter().all(sized)) {
            (true, _) => Way::Inline,
            (false, true) => Way::Sized,
            (false, false) => Way::Any,
        }
    }

    /// Whether an access can take a lock. A function for any size takes none if machines have
    /// instructions for the size and alignment of the object.
    pub fn locks(&self, calls: &BTreeSet<String>) -> bool {
        let fits = self.size.is_power_of_two() && self.size <= 16 && self.align >= self.size;
        Layout::way(calls) == Way::Any && !fits
    }

    /// A description in one line.
    pub fn text(&self) -> String {
        let mut out = format!("size {}, alignment {}", self.size, self.align);
        if self.padding > 0 {
            out += &format!(", {} of padding", self.padding);
        }
        for (name, calls) in [("load", &self.load), ("store", &self.store)] {
            let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
            let how = if calls.is_empty() { "inline".to_string() } else { calls.join(", ") };
            out += &format!(", {name} {how}");
        }
        out
    }
}

/// The default types: scalars, and structures of 1 to 32 bytes with members of one type and of
/// several.
pub fn types() -> Vec<String> {
    let mut out: Vec<String> = [
        "_Bool",
        "char",
        "short",
        "int",
        "long",
        "long long",
        "__int128",
        "float",
        "double",
        "void *",
    ]
    .map(String::from)
    .to_vec();
    for (member, bytes) in [("char", 1), ("short", 2), ("int", 4), ("long long", 8)] {
        for n in 1..=32 / bytes {
            out.push(format!("struct {{ {member} a[{n}]; }}"));
        }
    }
    for members in [
        "char a; short b",
        "char a; int b",
        "int a; char b",
        "short a; char b",
        "char a; long long b",
        "long long a; char b",
    ] {
        out.push(format!("struct {{ {members}; }}"));
    }
    out
}

/// A translation unit that shows the layout of some types. It uses the offset of a member `after`,
/// because some compilers describe members of atomic types wrongly, but not plain members.
pub fn source(types: &[String]) -> String {
    let mut out = String::new();
    for (i, ty) in types.iter().enumerate() {
        out += &format!(
            "typedef {ty} plain_{i};\n\
             typedef _Atomic(plain_{i}) type_{i};\n\
             struct first_{i} {{ type_{i} field; char after; }} first_object_{i};\n\
             struct second_{i} {{ char before; type_{i} field; char after; }} second_object_{i};\n\
             struct bare_{i} {{ plain_{i} field; char after; }} bare_object_{i};\n\
             plain_{i} load_{i}(type_{i} *p) {{ return *p; }}\n\
             void store_{i}(type_{i} *p, plain_{i} v) {{ *p = v; }}\n\n"
        );
    }
    out
}

pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Reads the layouts of `count` types from an object file.
pub fn read(object: &[u8], count: usize) -> Result<Vec<Layout>, Failure> {
    let file =
        object::File::parse(object).map_err(|e| format!("an object that cannot be read: {e}"))?;
    let offsets = offsets(&file)?;
    let mut out = Vec::new();
    for i in 0..count {
        let after = |name: &str| {
            let missing = || format!("the debug information does not have type {i}");
            offsets.get(&format!("{name}_{i}")).copied().ok_or_else(missing)
        };
        let size = after("first")?;
        out.push(Layout {
            size,
            align: after("second")?.saturating_sub(size),
            padding: size.saturating_sub(after("bare")?),
            load: calls(&file, &format!("load_{i}")),
            store: calls(&file, &format!("store_{i}")),
        });
    }
    Ok(out)
}

fn name_of<'a>(
    dwarf: &gimli::Dwarf<Slice<'a>>,
    unit: &gimli::Unit<Slice<'a>>,
    entry: &gimli::DebuggingInformationEntry<Slice<'a>>,
) -> Option<String> {
    let value = entry.attr_value(gimli::DW_AT_name).ok()??;
    let text = dwarf.attr_string(unit, value).ok()?;
    Some(text.to_string_lossy().into_owned())
}

/// The offset of `after` in each structure of an object file.
fn offsets(file: &object::File) -> Result<BTreeMap<String, u64>, Failure> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let sections: BTreeMap<&str, Vec<u8>> = gimli_sections()
        .into_iter()
        .map(|name| (name, section(file, name, &|s| s.address()).unwrap_or_default()))
        .collect();
    let wrong = |e: gimli::Error| format!("debug information that cannot be read: {e}");
    let load = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        let bytes = sections.get(id.name()).map_or(&[][..], Vec::as_slice);
        Ok(EndianSlice::new(bytes, endian))
    };
    let dwarf = gimli::Dwarf::load(load).map_err(wrong)?;
    let mut out = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(wrong)? {
        let unit = dwarf.unit(header).map_err(wrong)?;
        let mut entries = unit.entries();
        let mut depth = 0isize;
        // The structure that contains the members, and its depth.
        let mut current: Option<(String, isize)> = None;
        while let Some((delta, entry)) = entries.next_dfs().map_err(wrong)? {
            depth += delta;
            if current.as_ref().is_some_and(|(_, at)| depth <= *at) {
                current = None;
            }
            match entry.tag() {
                gimli::DW_TAG_structure_type if current.is_none() => {
                    current = name_of(&dwarf, &unit, entry).map(|name| (name, depth));
                }
                gimli::DW_TAG_member => {
                    let Some((name, at)) = &current else { continue };
                    if depth != at + 1 {
                        continue;
                    }
                    let offset =
                        match entry.attr_value(gimli::DW_AT_data_member_location).map_err(wrong)? {
                            Some(AttributeValue::Exprloc(_)) | None => continue,
                            Some(value) => value.udata_value().unwrap_or(0),
                        };
                    if name_of(&dwarf, &unit, entry).as_deref() == Some("after") {
                        out.insert(name.clone(), offset);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(out)
}

pub(super) fn gimli_sections() -> [&'static str; 9] {
    [
        ".debug_abbrev",
        ".debug_addr",
        ".debug_info",
        ".debug_line",
        ".debug_line_str",
        ".debug_str",
        ".debug_str_offsets",
        ".debug_types",
        ".debug_rnglists",
    ]
}

/// The content of a section, with relocations that are plain addresses applied. `base` gives the
/// address of a symbol.
pub(super) fn section(
    file: &object::File,
    name: &str,
    base: &dyn Fn(&object::Symbol) -> u64,
) -> Option<Vec<u8>> {
    let section = file.section_by_name(name)?;
    let mut bytes = section.uncompressed_data().ok()?.into_owned();
    for (offset, relocation) in section.relocations() {
        let size = usize::from(relocation.size() / 8);
        if relocation.kind() != RelocationKind::Absolute || !matches!(size, 4 | 8) {
            continue;
        }
        let base = match relocation.target() {
            RelocationTarget::Symbol(index) => base(&file.symbol_by_index(index).ok()?),
            _ => 0,
        };
        let Some(place) =
            usize::try_from(offset).ok().and_then(|o| bytes.get_mut(o..o.checked_add(size)?))
        else {
            continue;
        };
        let little = file.is_little_endian();
        let mut old = [0u8; 8];
        match little {
            true => old[..size].copy_from_slice(place),
            false => old[8 - size..].copy_from_slice(place),
        }
        let there = if little { u64::from_le_bytes(old) } else { u64::from_be_bytes(old) };
        let implicit = if relocation.has_implicit_addend() { there } else { 0 };
        let value = base.wrapping_add(implicit).wrapping_add(relocation.addend() as u64);
        match little {
            true => place.copy_from_slice(&value.to_le_bytes()[..size]),
            false => place.copy_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
    Some(bytes)
}

/// The library functions for atomics that a function of an object file calls.
fn calls(file: &object::File, function: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let Some(symbol) = file.symbols().find(|s| s.name() == Ok(function)) else { return out };
    let Some(section) = symbol.section_index().and_then(|i| file.section_by_index(i).ok()) else {
        return out;
    };
    // Addresses of Thumb functions are odd.
    let start = symbol.address() & !1;
    let end = start.saturating_add(symbol.size());
    for (offset, relocation) in section.relocations() {
        if offset < start || offset >= end {
            continue;
        }
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let Some(name) = file.symbol_by_index(index).ok().and_then(|s| s.name().ok()) else {
            continue;
        };
        if name.starts_with("__atomic_") || name.starts_with("__sync_") {
            out.insert(name.to_string());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_told_apart() {
        let set = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<BTreeSet<_>>();
        assert_eq!(Layout::way(&set(&[])), Way::Inline);
        assert_eq!(Layout::way(&set(&["__atomic_load_16"])), Way::Sized);
        let any = set(&["__atomic_load"]);
        assert_eq!(Layout::way(&any), Way::Any);
        let layout = |size, align| Layout { size, align, ..Layout::default() };
        assert!(layout(5, 1).locks(&any) && layout(16, 1).locks(&any));
        assert!(!layout(16, 16).locks(&any) && !layout(5, 1).locks(&set(&[])));
    }

    #[test]
    fn types_are_from_one_to_thirty_two_bytes() {
        let types = types();
        assert!(types.contains(&"struct { char a[5]; }".to_string()));
        assert!(types.contains(&"struct { char a[32]; }".to_string()));
        assert!(!types.contains(&"struct { char a[33]; }".to_string()));
        let distinct: BTreeSet<&String> = types.iter().collect();
        assert_eq!(distinct.len(), types.len());
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(read(b"\x7fELF and no more", 1).is_err());
    }
}
