//! Lists the instructions of a compiled test: the disassembly beside the lifted lines, with the
//! source line of each.
//!
//! Source lines refer to the text that the compiler was given, and come from the line table of a
//! compilation with debug information. This module does not know how the listing is printed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use gimli::{EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use super::compile::Compiler;
use super::image::Image;
use super::layout::{Slice, gimli_sections, section};
use super::lift::Listed;
use litmake_base::failure::Failure;
use litmake_isa::target;
use litmake_lang::Language;
use litmake_litmus::Test;

/// The instructions of a compiled test.
pub struct Listing {
    /// The text that the compiler was given.
    pub source: String,
    /// The instructions of each thread, in the order in which they run.
    pub threads: Vec<Vec<Listed>>,
    /// The source lines of places in functions.
    lines: Lines,
}

/// For each function, the source lines by the offsets at which they begin.
type Lines = HashMap<String, BTreeMap<u64, u64>>;

impl Listing {
    /// The number of the source line of an instruction, counted from 1.
    pub fn line(&self, of: &Listed) -> Option<u64> {
        let (function, offset) = &of.place;
        let (_, line) = self.lines.get(function)?.range(..=*offset).next_back()?;
        (*line > 0).then_some(*line)
    }
}

impl Compiler<'_> {
    /// Compiles a test with debug information, and lists its instructions.
    pub fn listed(&self, test: &Test) -> Result<Listing, Failure> {
        let arch = self.profile.arch;
        if arch.facts().text {
            let what = format!("code for {} is text: it has no disassembly", arch.name());
            return Err(Failure::unsupported(what));
        }
        let units = [(0, self.unit(test)?)];
        let given = RefCell::new(String::new());
        let text = |header: &str| {
            let text = self.text(header, &units)?;
            given.replace(text.clone());
            Ok(text)
        };
        let mut extra = self.extra();
        extra.retain(|word| *word != "-g0");
        extra.push("-g1");
        let object = self.emit(&text, &extra, self.profile.timeout)?;
        let image = self.image(&object)?;
        let mut threads = Vec::new();
        self.lifted(&units[0].1, 0, &image, Some(&mut threads))?;
        for listed in threads.iter_mut().flatten() {
            if !image.is_linked_program() {
                named(&mut listed.code, &image);
            }
            // Calls of a function as a whole.
            let length = listed.code.trim_end_matches("+0x0").len();
            listed.code.truncate(length);
        }
        let lines = match self.profile.language {
            // Where the linker shortens code, line tables have relocations that are not applied.
            Language::C | Language::Cpp if !target::facts(arch).is_some_and(|f| f.relaxes) => {
                lines(&object).unwrap_or_default()
            }
            _ => Lines::new(),
        };
        Ok(Listing { source: given.into_inner(), threads, lines })
    }
}

/// Puts the names of variables in place of their addresses. Before linking, addresses are litmake's
/// own, and no number of the code equals one by chance.
fn named(code: &mut String, image: &Image) {
    let mut out = String::new();
    for word in code.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let number = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let variable = number.parse().ok().and_then(|at: u64| image.variable_at(at).zip(Some(at)));
        match variable {
            Some((variable, at)) if at == variable.at => out += &variable.name,
            Some((variable, at)) => {
                out += &format!("{}+{}", variable.name, at - variable.at);
            }
            None => out += number,
        }
        out += &word[number.len()..];
    }
    *code = out;
}

/// The distance between sections while lines are looked up: a section's address is its number times
/// this.
const APART: u64 = 1 << 24;

/// The line table of an object file.
fn lines(object: &[u8]) -> Result<Lines, gimli::Error> {
    let mut out = Lines::new();
    let Ok(file) = object::File::parse(object) else { return Ok(out) };
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    // Tables refer to each other by offsets.
    let is_text = |i: &object::SectionIndex| {
        file.section_by_index(*i).is_ok_and(|s| s.kind() == SectionKind::Text)
    };
    let base = |s: &object::Symbol| {
        let apart = s.section_index().filter(is_text).map_or(0, |i| i.0 as u64 * APART);
        apart.wrapping_add(s.address())
    };
    // Addresses of Thumb functions are odd.
    let thumb = u64::from(file.architecture() == object::Architecture::Arm);
    let is_code = |s: &object::Symbol| s.kind() == SymbolKind::Text && s.size() > 0;
    let mut functions: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for symbol in file.symbols().filter(is_code) {
        let name = symbol.name().unwrap_or_default().to_string();
        functions.insert(base(&symbol) & !thumb, (symbol.size(), name));
    }
    let sections: BTreeMap<&str, Vec<u8>> = gimli_sections()
        .into_iter()
        .map(|name| (name, section(&file, name, &base).unwrap_or_default()))
        .collect();
    let load = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        let bytes = sections.get(id.name()).map_or(&[][..], Vec::as_slice);
        Ok(EndianSlice::new(bytes, endian))
    };
    let dwarf = gimli::Dwarf::load(load)?;
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = unit.line_program.clone() else { continue };
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            let at = row.address() & !thumb;
            let Some((start, (size, name))) = functions.range(..=at).next_back() else { continue };
            if row.end_sequence() || at - start >= *size {
                continue;
            }
            let line = row.line().map_or(0, std::num::NonZeroU64::get);
            out.entry(name.clone()).or_default().insert(at - start, line);
        }
    }
    Ok(out)
}
