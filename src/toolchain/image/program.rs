//! Linked programs in memory: all addresses are the linker's, except those of ifuncs, which are
//! resolved when the program starts.
//!
//! It does not know how programs are linked.

use object::elf::RelocationType;
use object::read::elf::{FileHeader, SectionHeader};

use super::{Image, MISSING, SECTIONS};
use litmake_base::failure::Failure;
use litmake_isa::target;
use litmake_litmus::Arch;

/// The first address of a linked program.
pub const BASE: u64 = SECTIONS;

/// The stand-in address of the undefined symbol with this number.
pub fn stand_in(n: usize) -> u64 {
    MISSING + 64 * n as u64
}

/// A place that takes the address of a resolved ifunc.
struct Chosen {
    place: u64,
    /// The resolver, if the relocation names it; otherwise its address is stored at the place.
    chooser: Option<u64>,
}

impl Image {
    /// A linked program. `missing` are undefined names with the addresses that the linker used for
    /// them.
    pub fn of_program(
        arch: Arch,
        bytes: &[u8],
        missing: &[(String, u64)],
    ) -> Result<Image, Failure> {
        let mut image = Image::empty(arch);
        image.load(bytes, true)?;
        for (name, at) in missing {
            image.missing.insert(*at, name.clone());
            image.missing_at.insert(name.clone(), *at);
        }
        let bad = |e: object::Error| format!("the program cannot be read: {e}");
        let (chosen, stubs) = match object::FileKind::parse(bytes).map_err(bad)? {
            object::FileKind::Elf32 => {
                read::<object::elf::FileHeader32<object::Endianness>>(arch, bytes)
            }
            _ => read::<object::elf::FileHeader64<object::Endianness>>(arch, bytes),
        }
        .map_err(bad)?;
        image.stubs = stubs;
        for Chosen { place, chooser } in chosen {
            let size = if matches!(arch, Arch::Arm | Arch::X86) { 4 } else { 8 };
            let at = match chooser {
                Some(at) => at,
                None => image.read(place, size).unwrap_or(0) as u64,
            };
            let at = if arch == Arch::Arm { at & !1 } else { at };
            let known = image.chosen.iter().filter(|(_, a)| **a == at).map(|(n, _)| n).min();
            let name = known.cloned().unwrap_or_else(|| format!("chosen_by_{at:x}"));
            image.chosen.entry(name.clone()).or_insert(at);
            let value = image.stand_in(&name).at;
            image.put(place, size, value);
        }
        Ok(image)
    }

    /// A shared library, or a position-independent program, with the relocations applied that a
    /// loader would apply.
    pub fn of_shared(arch: Arch, bytes: &[u8]) -> Result<Image, Failure> {
        use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget};
        let mut image = Image::of_program(arch, bytes, &[])?;
        image.nameless = true;
        let bad = |e: object::Error| format!("the library cannot be read: {e}");
        let file = object::File::parse(bytes).map_err(bad)?;
        let size = if file.is_64() { 8 } else { 4 };
        let symbols = file.dynamic_symbol_table();
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let addend = match relocation.has_implicit_addend() {
                true => image.read(place, size).unwrap_or(0) as u64,
                false => relocation.addend() as u64,
            };
            let name = match relocation.target() {
                RelocationTarget::Symbol(i) => {
                    let symbol = symbols.as_ref().and_then(|t| t.symbol_by_index(i).ok());
                    symbol.and_then(|s| s.name().ok().map(String::from))
                }
                _ => None,
            };
            let value = match (filled(arch, r_type.0), name.filter(|n| !n.is_empty())) {
                (Some(Fills::Address), Some(name)) => {
                    // Entries of the table of offsets have no addend.
                    let table = image.kind_at(place) == Some(super::Kind::Constant);
                    let addend = if relocation.has_implicit_addend() && table { 0 } else { addend };
                    let at = match image.globals.get(&name) {
                        Some(symbol) => symbol.at,
                        None => image.stand_in(&name).at,
                    };
                    at.wrapping_add(addend)
                }
                (Some(Fills::Base), _) => addend,
                _ => continue,
            };
            image.put(place, size, value);
        }
        Ok(image)
    }

    fn put(&mut self, at: u64, size: u8, value: u64) {
        let big = self.big;
        let inside = |s: &&mut super::Section| (s.at..s.at.saturating_add(s.size)).contains(&at);
        let Some(section) = self.sections.iter_mut().find(inside) else { return };
        let from = (at - section.at) as usize;
        for i in 0..usize::from(size) {
            let shift = if big { usize::from(size) - 1 - i } else { i };
            if let Some(byte) = section.bytes.get_mut(from + i) {
                *byte = (value >> (8 * shift)) as u8;
            }
        }
    }
}

/// The relocations that a loader applies.
enum Fills {
    /// The address of a symbol.
    Address,
    /// An address in the library itself.
    Base,
}

/// The meaning of a relocation in a library, by its number.
fn filled(arch: Arch, kind: u32) -> Option<Fills> {
    let loader = target::facts(arch)?.loader.as_ref()?;
    match RelocationType(kind) {
        kind if kind == loader.base => Some(Fills::Base),
        kind if loader.address.contains(&kind) => Some(Fills::Address),
        _ => None,
    }
}

/// Whether a relocation is for an ifunc.
fn is_chosen(arch: Arch, kind: u32) -> bool {
    let loader = target::facts(arch).and_then(|facts| facts.loader.as_ref());
    loader.is_some_and(|loader| loader.chosen == Some(RelocationType(kind)))
}

type Found = (Vec<Chosen>, Vec<(u64, u64)>);

/// The relocations of ifuncs, and the sections of jumps that the linker made.
fn read<H: FileHeader<Endian = object::Endianness>>(
    arch: Arch,
    bytes: &[u8],
) -> Result<Found, object::Error> {
    let header = H::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let (mut chosen, mut stubs) = (Vec::new(), Vec::new());
    for section in sections.iter() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        if [&b".plt"[..], b".iplt"].iter().any(|p| name.starts_with(p)) {
            let at: u64 = section.sh_addr(endian).into();
            stubs.push((at, at.saturating_add(section.sh_size(endian).into())));
        }
        if let Some((list, _)) = section.rela(endian, bytes)? {
            for r in list {
                use object::read::elf::Rela;
                if is_chosen(arch, r.r_type(endian, false).0) {
                    let addend: i64 = r.r_addend(endian).into();
                    let place: u64 = r.r_offset(endian).into();
                    chosen.push(Chosen { place, chooser: Some(addend as u64) });
                }
            }
        }
        if let Some((list, _)) = section.rel(endian, bytes)? {
            for r in list {
                use object::read::elf::Rel;
                if is_chosen(arch, r.r_type(endian).0) {
                    chosen.push(Chosen { place: r.r_offset(endian).into(), chooser: None });
                }
            }
        }
    }
    Ok((chosen, stubs))
}
