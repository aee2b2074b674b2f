//! Places object files in memory: sections get addresses, symbols are resolved (also from
//! libraries), and relocations are applied, so that computations with addresses give numbers.
//!
//! It does not know litmus tests, and of instructions only the fields that relocations fill.

pub mod library;
mod made;
pub mod program;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionIndex, SectionKind, SymbolFlags, SymbolKind, SymbolSection,
};

use library::Member;
use litmake_base::failure::Failure;
use litmake_isa::relocate::{Fill, Fix, Pairs};
use litmake_isa::target::{self, of_machine};
use litmake_litmus::Arch;

/// All addresses are within reach of the shortest calls, and below 2^31.
const SECTIONS: u64 = 0x5a00_0000;
const OFFSETS: u64 = 0x5a80_0000;
const MISSING: u64 = 0x5ac0_0000;
const END: u64 = 0x5b00_0000;
/// The largest table of offsets whose entries its register can all reach.
const MAX_OFFSETS: u64 = 0xf000;
/// The alignment of sections of variables and of common symbols.
const VARIABLES: u64 = 64;
const MAX_OBJECTS: usize = 512;
/// The section with Go's table of functions, which every program of Go has.
const GO_TABLE: &str = ".gopclntab";

/// The content at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Instructions.
    Code,
    /// Data that no thread can change.
    Constant,
    /// Variables.
    Data,
}

struct Section {
    at: u64,
    bytes: Vec<u8>,
    size: u64,
    kind: Kind,
    /// The size of each object, in a section of constants that linkers merge.
    entry: Option<u64>,
}

/// A function of the object code or of a library, or one that linkers write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The symbol.
    pub name: String,
    /// The address of its first instruction.
    pub start: u64,
    /// The address after its last instruction.
    pub end: u64,
    /// Whether it is Thumb code, on Arm.
    pub thumb: bool,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The symbol.
    pub name: String,
    /// The address.
    pub at: u64,
    /// The number of bytes.
    pub size: u64,
}

/// Object code placed in memory, with relocations applied.
pub struct Image {
    /// The instruction set.
    pub arch: Arch,
    /// Whether it is big-endian.
    pub big: bool,
    /// Whether the code is for MIPS release 6, which has its own encodings.
    pub release6: bool,
    sections: Vec<Section>,
    functions: BTreeMap<u64, Function>,
    variables: BTreeMap<u64, Variable>,
    globals: HashMap<String, Symbol>,
    /// Undefined symbols, by their stand-in addresses.
    missing: BTreeMap<u64, String>,
    missing_at: HashMap<String, u64>,
    /// Functions with several versions (ifuncs), with the address of the resolver.
    chosen: HashMap<String, u64>,
    offsets: HashMap<u64, u64>,
    offset_values: Vec<u64>,
    next: u64,
    /// Ranges of code that a linker made.
    stubs: Vec<(u64, u64)>,
    /// The section of Power's table of offsets, from which its register is set.
    toc: Option<u64>,
    /// The difference between addresses here and those that users give.
    base: u64,
    /// Whether functions may have no symbols.
    nameless: bool,
    /// Whether addresses are a linker's, so that any number may equal one by chance.
    linked: bool,
    /// Whether it is a program that Go linked.
    go: bool,
    /// The places outside code that hold addresses.
    addresses: BTreeSet<u64>,
    /// The addresses that relocations in code name, with the places of the relocations.
    named: BTreeSet<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    at: u64,
    thumb: bool,
    /// The distance from the symbol to the entry for callers that share the table of offsets
    /// (Power).
    local_entry: u64,
    weak: bool,
}

struct Loaded {
    symbols: Vec<Option<Symbol>>,
    undefined: Vec<(usize, String)>,
    fixes: Vec<(usize, RawFix)>,
}

struct RawFix {
    offset: u64,
    kind: u32,
    symbol: Option<usize>,
    section: Option<u64>,
    addend: i64,
    implicit: bool,
}

/// The bytes of the word that code accesses around a small value.
const WORD: u64 = 8;

/// The offset in its word of a value with this size, in big-endian code. Any offset is correct; at
/// the end of the word the value is in the word's lowest bits, as it is in little-endian memory at
/// the beginning.
pub fn pad(size: u64) -> u64 {
    match size {
        1 | 2 | 4 => WORD - size,
        _ => 0,
    }
}

impl Image {
    fn empty(arch: Arch) -> Image {
        Image {
            arch,
            big: false,
            release6: false,
            sections: Vec::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            globals: HashMap::new(),
            missing: BTreeMap::new(),
            missing_at: HashMap::new(),
            chosen: HashMap::new(),
            offsets: HashMap::new(),
            offset_values: Vec::new(),
            next: SECTIONS,
            stubs: Vec::new(),
            toc: None,
            base: 0,
            nameless: false,
            linked: false,
            go: false,
            addresses: BTreeSet::new(),
            named: BTreeSet::new(),
        }
    }

    /// The dialect of an object file's code.
    pub fn arch_of(bytes: &[u8]) -> Result<Arch, Failure> {
        let file = object::File::parse(bytes)
            .map_err(|e| format!("it is no object file that can be read: {e}"))?;
        if file.format() != object::BinaryFormat::Elf {
            return Err(Failure::unsupported("object files of other systems; ELF is read"));
        }
        let arch = of_machine(file.architecture());
        let narrow = matches!(file.architecture(), Architecture::I386 | Architecture::Arm);
        match arch {
            Some(arch) if file.is_64() != narrow => Ok(arch),
            _ => Err(Failure::unsupported(format!(
                "code for {:?} of {} bits cannot be lifted",
                file.architecture(),
                if file.is_64() { 64 } else { 32 }
            ))),
        }
    }

    /// Whether an object file is a program or a shared library, with final addresses.
    pub fn is_linked(bytes: &[u8]) -> bool {
        use object::ObjectKind;
        let kind = object::File::parse(bytes).map(|f| f.kind());
        matches!(kind, Ok(ObjectKind::Dynamic | ObjectKind::Executable))
    }

    /// Bare machine code, with addresses that count from its first byte.
    pub fn of_code(arch: Arch, bytes: &[u8]) -> Result<Image, Failure> {
        let mut image = Image::empty(arch);
        let size = bytes.len() as u64;
        image.base = image.place(size, 4096)?;
        image.nameless = true;
        let bytes = bytes.to_vec();
        let (at, kind) = (image.base, Kind::Code);
        image.sections.push(Section { at, bytes, size, kind, entry: None });
        Ok(image)
    }

    /// An object file together with the members of libraries that it needs: `member` is the one that defines a name.
    pub fn new<'l>(
        arch: Arch,
        object: &[u8],
        member: &dyn Fn(&str) -> Option<Member<'l>>,
    ) -> Result<Image, Failure> {
        let mut image = Image::empty(arch);
        let mut loaded = vec![image.load(object, false)?];
        let mut members = HashSet::new();
        let mut done = 0;
        while done < loaded.len() {
            let names: Vec<String> =
                loaded[done].undefined.iter().map(|(_, name)| name.clone()).collect();
            done += 1;
            for name in names {
                if image.globals.contains_key(&name) || loaded.len() >= MAX_OBJECTS {
                    continue;
                }
                if let Some((member, data)) = member(&name)
                    && members.insert(member)
                {
                    loaded.push(image.load(data, false)?);
                }
            }
        }
        for object in &loaded {
            image.fix(object)?;
        }
        Ok(image)
    }

    fn place(&mut self, size: u64, align: u64) -> Result<u64, Failure> {
        let align = align.clamp(1, 4096).next_power_of_two();
        let at = self.next.div_ceil(align) * align;
        self.next = at.saturating_add(size.max(1));
        if self.next >= OFFSETS {
            return Err(Failure::unsupported("the object code is over 8 MiB"));
        }
        Ok(at)
    }

    /// The address of a small variable, which in big-endian code is at the end of its word.
    fn at_end(&mut self, at: u64, size: u64) -> u64 {
        if !self.big || pad(size) == 0 {
            return at;
        }
        self.next = at + WORD;
        at + pad(size)
    }

    /// Loads an object file, or a program with final addresses.
    fn load(&mut self, bytes: &[u8], linked: bool) -> Result<Loaded, Failure> {
        let file = object::File::parse(bytes).map_err(unreadable)?;
        let release6 = match file.flags() {
            object::FileFlags::Elf { e_flags, .. } => matches!(e_flags.0 >> 28, 9 | 10),
            _ => false,
        };
        let other = of_machine(file.architecture()) != Some(self.arch);
        if other && self.sections.is_empty() {
            let name = self.arch.name();
            return Err(Failure::from(format!("the compiler's object code is not for {name}")));
        }
        if self.sections.is_empty() {
            self.big = !file.is_little_endian();
            self.release6 = self.arch == Arch::Mips && release6;
        } else if other || self.arch == Arch::Mips && self.release6 != release6 {
            // A linker refuses to link these.
            let (symbols, undefined, fixes) = Default::default();
            return Ok(Loaded { symbols, undefined, fixes });
        }
        self.linked |= linked;
        let places = self.load_sections(&file, bytes, linked)?;
        let mut out = Loaded { symbols: Vec::new(), undefined: Vec::new(), fixes: Vec::new() };
        self.load_symbols(&file, &places, linked, &mut out)?;
        if !linked {
            load_relocations(&file, &places, &mut out);
        }
        Ok(out)
    }

    /// Gives the sections of an object file their places; returns the address and the number of each.
    fn load_sections(
        &mut self,
        file: &object::File,
        bytes: &[u8],
        linked: bool,
    ) -> Result<HashMap<SectionIndex, (u64, usize)>, Failure> {
        let entries = entry_sizes(bytes);
        let mut places: HashMap<SectionIndex, (u64, usize)> = HashMap::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            let (write, alloc, code) =
                (sh_flags.0 & 1 != 0, sh_flags.0 & 2 != 0, sh_flags.0 & 4 != 0);
            if !alloc || section.kind() == SectionKind::Note {
                continue;
            }
            let name = section.name().unwrap_or_default();
            self.go |= name == GO_TABLE;
            // The linker fills these tables, and nothing writes them later.
            let constant =
                !write || [".toc", ".got", ".data.rel.ro"].iter().any(|p| name.starts_with(p));
            let kind = match (code, constant) {
                (true, _) => Kind::Code,
                (_, true) => Kind::Constant,
                _ => Kind::Data,
            };
            // Data has room around it, so that no other variable shares its word.
            let align = match kind {
                Kind::Data => section.align().max(VARIABLES),
                Kind::Code | Kind::Constant => section.align(),
            };
            let at = if linked { section.address() } else { self.place(section.size(), align)? };
            let at = match kind {
                Kind::Data if !linked => self.at_end(at, section.size()),
                _ => at,
            };
            let bytes = section.data().map_err(unreadable)?.to_vec();
            if name == ".toc" && self.toc.is_none() {
                self.toc = Some(at);
            }
            places.insert(section.index(), (at, self.sections.len()));
            let merged = sh_flags.0 & 0x30 == 0x10;
            let entry = entries.get(section.index().0).copied().filter(|n| merged && *n > 0);
            self.sections.push(Section { at, bytes, size: section.size(), kind, entry });
        }
        Ok(places)
    }

    /// Enters the symbols of an object file: functions, variables, and names that it asks others for.
    fn load_symbols(
        &mut self,
        file: &object::File,
        places: &HashMap<SectionIndex, (u64, usize)>,
        linked: bool,
        out: &mut Loaded,
    ) -> Result<(), Failure> {
        // A shared library may have only dynamic symbols.
        let dynamic = linked.then(|| file.dynamic_symbols()).into_iter().flatten();
        for symbol in file.symbols().chain(dynamic) {
            let index = symbol.index().0;
            out.symbols.resize(out.symbols.len().max(index + 1), None);
            let name = symbol.name().unwrap_or_default().to_string();
            let (st_type, other) = match symbol.flags() {
                SymbolFlags::Elf { st_info, st_other } => (st_info.0 & 15, st_other.0),
                _ => (0, 0),
            };
            let at = match symbol.section() {
                SymbolSection::Section(i) => match places.get(&i) {
                    Some(_) if linked => symbol.address(),
                    Some((at, _)) => at.wrapping_add(symbol.address()),
                    None => continue,
                },
                SymbolSection::Common => {
                    // The address of a common symbol is its alignment.
                    let size = symbol.size();
                    let at = self.place(size, symbol.address().max(VARIABLES))?;
                    let at = self.at_end(at, size);
                    let (bytes, kind) = (Vec::new(), Kind::Data);
                    self.sections.push(Section { at, bytes, size, kind, entry: None });
                    at
                }
                SymbolSection::Absolute => symbol.address(),
                // The name of the source.
                SymbolSection::None => continue,
                _ => {
                    if !name.is_empty() {
                        out.undefined.push((index, name));
                    }
                    continue;
                }
            };
            let thumb = self.arch == Arch::Arm && matches!(st_type, 2 | 10) && at & 1 == 1;
            let at = if thumb { at & !1 } else { at };
            // An ifunc is resolved when the program starts and has no code of its own.
            if st_type == 10 {
                let (start, end) = (at, at.saturating_add(symbol.size()));
                let chooser = Function { name: name.clone(), start, end, thumb };
                self.functions.entry(at).or_insert(chooser);
                self.chosen.insert(name.clone(), at);
                let value = self.stand_in(&name);
                self.globals.insert(name, value);
                out.symbols[index] = Some(value);
                continue;
            }
            let local_entry = match self.arch {
                Arch::Ppc => (1u64 << (other >> 5 & 7)) >> 2 << 2,
                _ => 0,
            };
            let value = Symbol { at, thumb, local_entry, weak: symbol.is_weak() };
            out.symbols[index] = Some(value);
            if symbol.kind() == SymbolKind::Text && st_type == 2 {
                let function = Function {
                    name: name.clone(),
                    start: at,
                    end: at.saturating_add(symbol.size()),
                    thumb,
                };
                let old = self.functions.get(&at);
                if old.is_none_or(|old| old.end < function.end) {
                    self.functions.insert(at, function);
                }
            } else if st_type == 0 && symbol.is_global() && self.kind_at(at) == Some(Kind::Code) {
                // Assembly need not mark functions.
                let (name, start, end) = (name.clone(), at, at);
                self.functions.entry(at).or_insert(Function { name, start, end, thumb });
            } else if matches!(symbol.section(), SymbolSection::Section(_) | SymbolSection::Common)
                && st_type <= 1
                && !name.is_empty()
                && symbol.size() > 0
            {
                let variable = Variable { name: name.clone(), at, size: symbol.size() };
                self.variables.insert(at, variable);
            }
            let known = self.globals.get(&name);
            if symbol.is_global() && !name.is_empty() && known.is_none_or(|old| old.weak) {
                self.globals.insert(name, value);
            } else if !symbol.is_global() && st_type <= 2 && !name.is_empty() {
                self.globals.entry(name).or_insert(Symbol { weak: true, ..value });
            }
        }
        Ok(())
    }

    fn fix(&mut self, object: &Loaded) -> Result<(), Failure> {
        let undefined: HashMap<usize, &str> =
            object.undefined.iter().map(|(i, name)| (*i, name.as_str())).collect();
        let mut fixes = Vec::with_capacity(object.fixes.len());
        for (index, raw) in &object.fixes {
            let name = raw.symbol.and_then(|s| undefined.get(&s).copied());
            let symbol = match (raw.symbol, raw.section) {
                (Some(i), _) => match (object.symbols.get(i).copied().flatten(), name) {
                    (Some(symbol), _) => symbol,
                    (None, Some(name)) => self.find(name),
                    (None, None) => Symbol { at: 0, thumb: false, local_entry: 0, weak: false },
                },
                (None, at) => {
                    Symbol { at: at.unwrap_or(0), thumb: false, local_entry: 0, weak: false }
                }
            };
            let Some(section) = self.sections.get(*index) else {
                continue;
            };
            fixes.push((
                *index,
                raw.offset,
                Fix {
                    kind: raw.kind,
                    place: section.at.wrapping_add(raw.offset),
                    symbol: symbol.at,
                    thumb: symbol.thumb,
                    local_entry: symbol.local_entry,
                    addend: raw.addend,
                    implicit: raw.implicit,
                },
            ));
        }
        let (arch, big, toc) = (self.arch, self.big, self.toc_base());
        let target = target::of(arch, false, big, self.release6);
        let target =
            target.ok_or_else(|| Failure::unsupported(format!("code of {}", arch.name())))?;
        let mut pairs = Pairs::default();
        for (index, _, fix) in &fixes {
            match self.sections[*index].kind {
                Kind::Code => {
                    self.named.extend(named(self.arch, fix).map(|at| (at, fix.place)));
                }
                Kind::Constant | Kind::Data => drop(self.addresses.insert(fix.place)),
            }
        }
        for (_, _, fix) in &fixes {
            target.prepare(fix, &mut pairs);
        }
        for (index, offset, fix) in fixes {
            let Some(section) = self.sections.get_mut(index) else {
                continue;
            };
            let code = section.kind == Kind::Code;
            let Some(bytes) = section.bytes.get_mut(offset as usize..) else {
                continue;
            };
            let (offsets, values) = (&mut self.offsets, &mut self.offset_values);
            let mut slot = |value: u64| -> u64 {
                let next = OFFSETS + 16 + 8 * values.len() as u64;
                *offsets.entry(value).or_insert_with(|| {
                    values.push(value);
                    next
                })
            };
            let mut fill = Fill { big, offsets: OFFSETS, toc, slot: &mut slot, pairs: &mut pairs };
            // Tables for debuggers and unwinders use other kinds of relocations.
            if target.relocate(&fix, bytes, &mut fill).is_none() && code {
                let (kind, arch) = (fix.kind, arch.name());
                return Err(Failure::unsupported(format!(
                    "an ELF relocation of type {kind} for {arch}, which lifting cannot apply \
                     (`readelf -r` shows its name and symbol; options such as -fno-pic may avoid it)"
                )));
            }
        }
        if 8 * self.offset_values.len() as u64 > MAX_OFFSETS {
            return Err(Failure::unsupported("the table of offsets is too large"));
        }
        Ok(())
    }

    /// The value of Power's table register: 0x8000 past the start of the table.
    fn toc_base(&self) -> u64 {
        self.toc.unwrap_or(OFFSETS) + 0x8000
    }

    /// A symbol by name; an undefined one gets a stand-in address.
    fn find(&mut self, name: &str) -> Symbol {
        // Symbols that the linker defines.
        let made = match name {
            ".TOC." => Some(self.toc_base()),
            "_GLOBAL_OFFSET_TABLE_" => Some(OFFSETS),
            "_gp" | "_gp_disp" | "__gnu_local_gp" => Some(OFFSETS + 0x7ff0),
            _ => None,
        };
        if let Some(at) = made {
            return Symbol { at, thumb: false, local_entry: 0, weak: false };
        }
        if let Some(symbol) = self.globals.get(name) {
            return *symbol;
        }
        if let Some(words) = made::code(self.arch, name)
            && let Ok(symbol) = self.add_code(name, &words)
        {
            return symbol;
        }
        self.stand_in(name)
    }

    /// Adds a function that is in no object file.
    fn add_code(&mut self, name: &str, words: &[u32]) -> Result<Symbol, Failure> {
        let size = 4 * words.len() as u64;
        let at = self.place(size, 16)?;
        let bytes = |w: &u32| if self.big { w.to_be_bytes() } else { w.to_le_bytes() };
        let bytes = words.iter().flat_map(bytes).collect();
        self.sections.push(Section { at, bytes, size, kind: Kind::Code, entry: None });
        let (name, start, end) = (name.to_string(), at, at + size);
        let symbol = Symbol { at, thumb: false, local_entry: 0, weak: false };
        self.globals.insert(name.clone(), symbol);
        self.functions.insert(at, Function { name, start, end, thumb: false });
        Ok(symbol)
    }

    /// The stand-in address of an undefined symbol.
    fn stand_in(&mut self, name: &str) -> Symbol {
        let next = MISSING + 64 * self.missing.len() as u64;
        let at = *self.missing_at.entry(name.to_string()).or_insert(next.min(END - 64));
        self.missing.entry(at).or_insert_with(|| name.to_string());
        Symbol { at, thumb: false, local_entry: 0, weak: false }
    }

    /// The function of a symbol, or the function at an address (`0x1240`).
    pub fn function_named(&self, name: &str) -> Option<Function> {
        let address = || u64::from_str_radix(name.strip_prefix("0x")?, 16).ok();
        let (at, thumb) = match self.globals.get(name) {
            Some(symbol) => (symbol.at, symbol.thumb),
            None => (address()?.checked_add(self.base)?, false),
        };
        if let Some(function) = self.functions.get(&at) {
            return Some(self.sized(function.clone()));
        }
        // A symbol without the type of a function ends where the next one begins.
        self.section_at(at).filter(|s| s.kind == Kind::Code)?;
        Some(self.sized(Function { name: name.to_string(), start: at, end: at, thumb }))
    }

    /// Gives a size to a function that has none: it ends at the next function or at the end of its
    /// section.
    fn sized(&self, mut function: Function) -> Function {
        if function.end == function.start
            && let Some(section) = self.section_at(function.start)
        {
            let next = self.functions.range(function.start + 1..).next().map(|(s, _)| *s);
            let end = section.at.saturating_add(section.size);
            function.end = next.map_or(end, |n| n.min(end));
        }
        function
    }

    /// The function that begins at an address of code, if functions may have no symbols.
    pub fn nameless_at(&self, at: u64) -> Option<Function> {
        self.section_at(at).filter(|s| self.nameless && s.kind == Kind::Code)?;
        let name = format!("{:#x}", at.wrapping_sub(self.base));
        Some(self.sized(Function { name, start: at, end: at, thumb: false }))
    }

    /// Whether an address is in code that a linker made.
    pub fn is_stub(&self, at: u64) -> bool {
        self.stubs.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// A place in the code, as text for people.
    pub fn shown(&self, at: u64) -> String {
        match self.function_at(at) {
            Some(f) => format!("`{}`+{:#x}", f.name, at - f.start),
            None => format!("{:#x}", at.wrapping_sub(self.base)),
        }
    }

    /// All functions, in the order of their addresses.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.values()
    }

    /// All variables with symbols, in the order of their addresses.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        let is_data = |v: &&Variable| self.kind_at(v.at) == Some(Kind::Data);
        self.variables.values().filter(is_data)
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.globals.get(name).map(|s| s.at)
    }

    /// The function that contains an address.
    pub fn function_at(&self, at: u64) -> Option<Function> {
        if let Some((from, to)) = self.stubs.iter().find(|(from, to)| (*from..*to).contains(&at)) {
            let name = format!("the linker's code at {from:#x}");
            return Some(Function { name, start: at, end: *to, thumb: false });
        }
        let (_, found) = self.functions.range(..=at).next_back()?;
        let function = self.sized(found.clone());
        (at < function.end).then_some(function)
    }

    fn section_at(&self, at: u64) -> Option<&Section> {
        self.sections.iter().find(|s| (s.at..s.at.saturating_add(s.size)).contains(&at))
    }

    /// The code from an address to the end of its section.
    pub fn code_at(&self, at: u64) -> Option<&[u8]> {
        let section = self.section_at(at).filter(|s| s.kind == Kind::Code)?;
        section.bytes.get((at - section.at) as usize..)
    }

    /// The kind of content at an address, if there is any.
    pub fn kind_at(&self, at: u64) -> Option<Kind> {
        if (OFFSETS..OFFSETS + 0x1_0000).contains(&at) {
            return Some(Kind::Constant);
        }
        self.section_at(at).map(|s| s.kind)
    }

    /// Whether a function is Go's, and not C code beside it: names of Go have their package.
    pub fn is_go(&self, function: &Function) -> bool {
        self.go && function.name.contains('.')
    }

    /// The name of the undefined symbol with this stand-in address.
    pub fn missing_at(&self, at: u64) -> Option<&str> {
        let (start, name) = self.missing.range(..=at).next_back()?;
        (at - start < 64).then_some(name.as_str())
    }

    /// The name of the function that begins at an address, whether or not its code is here.
    pub fn name_at(&self, at: u64) -> Option<String> {
        match self.missing_at(at) {
            Some(name) => Some(name.to_string()),
            None => self.function_at(at).filter(|f| f.start == at).map(|f| f.name),
        }
    }

    /// The resolver of an ifunc.
    pub fn chooser(&self, name: &str) -> Option<Function> {
        self.function_at(*self.chosen.get(name)?)
    }

    /// The variable that contains an address.
    pub fn variable_at(&self, at: u64) -> Option<&Variable> {
        let (_, v) = self.variables.range(..=at).next_back()?;
        (at - v.at < v.size).then_some(v)
    }

    /// Whether addresses are a linker's, so that any number may equal one by chance.
    pub fn is_linked_program(&self) -> bool {
        self.linked
    }

    /// The constant object that contains an address: its first byte and its size. Without a symbol
    /// it is the part of the section that code at these places can mean: the part between objects
    /// that have symbols or that other code names.
    pub fn constant_around(&self, at: u64, is_here: &dyn Fn(u64) -> bool) -> Option<(u64, u64)> {
        let section = self.section_at(at).filter(|s| s.kind == Kind::Constant)?;
        if let Some(v) = self.variable_at(at) {
            return Some((v.at, v.size));
        }
        let end = section.at.saturating_add(section.size);
        if let Some(entry) = section.entry {
            let from = at - (at - section.at) % entry;
            return Some((from, entry.min(end - from)));
        }
        let starts = self.variables.range(section.at..end).map(|(start, _)| *start);
        let ends = self.variables.range(section.at..end).map(|(start, v)| start + v.size);
        let named = self.named.range((section.at, 0)..(end, 0));
        let others = named.filter(|(_, place)| !is_here(*place)).map(|(start, _)| *start);
        let cuts: Vec<u64> = starts.chain(ends).chain(others).collect();
        let from = cuts.iter().filter(|cut| **cut <= at).max().copied().unwrap_or(section.at);
        let to = cuts.iter().filter(|cut| **cut > at).min().copied().unwrap_or(end);
        Some((from, to - from))
    }

    /// Whether a place outside code holds an address.
    pub fn holds_address(&self, at: u64) -> bool {
        self.addresses.contains(&at)
    }

    /// Reads `size` bytes as a number.
    pub fn read(&self, at: u64, size: u8) -> Option<u128> {
        let mut bytes = [0u8; 16];
        let bytes = bytes.get_mut(..usize::from(size))?;
        if (OFFSETS..OFFSETS + 0x1_0000).contains(&at) {
            let entry = usize::try_from((at - OFFSETS).checked_sub(16)? / 8).ok()?;
            let value = self.offset_values.get(entry)?;
            let offset = (at & 7) as usize;
            let all = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
            bytes.copy_from_slice(all.get(offset..offset + usize::from(size))?);
        } else {
            let section = self.section_at(at)?;
            let from = (at - section.at) as usize;
            for (i, b) in bytes.iter_mut().enumerate() {
                *b = section.bytes.get(from + i).copied().unwrap_or(0);
            }
        }
        Some(bytes.iter().enumerate().fold(0, |n, (i, b)| {
            let shift = if self.big { usize::from(size) - 1 - i } else { i };
            n | u128::from(*b) << (8 * shift)
        }))
    }
}

/// The sizes of entries that an object file's section headers give, by the section's index.
fn entry_sizes(bytes: &[u8]) -> Vec<u64> {
    use object::elf::{FileHeader32, FileHeader64};
    use object::read::elf::{FileHeader, SectionHeader};
    fn read<H: FileHeader<Endian = object::Endianness>>(bytes: &[u8]) -> Option<Vec<u64>> {
        let header = H::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.section_headers(endian, bytes).ok()?;
        Some(sections.iter().map(|s| s.sh_entsize(endian).into()).collect())
    }
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32) => read::<FileHeader32<object::Endianness>>(bytes),
        Ok(object::FileKind::Elf64) => read::<FileHeader64<object::Endianness>>(bytes),
        _ => None,
    }
    .unwrap_or_default()
}

/// The address that a relocation in code names, if that can be told without the instruction.
fn named(arch: Arch, fix: &Fix) -> Option<u64> {
    let addend = match (arch, fix.kind) {
        _ if fix.implicit => return None,
        // Distances on x86 count from the end of the instruction, mostly that of the field.
        (Arch::X86_64, 2 | 4) => fix.addend + 4,
        _ => fix.addend,
    };
    Some(fix.symbol.wrapping_add(addend as u64))
}

/// Adds the relocations of an object file.
fn load_relocations(
    file: &object::File,
    places: &HashMap<SectionIndex, (u64, usize)>,
    out: &mut Loaded,
) {
    for section in file.sections() {
        let Some((_, index)) = places.get(&section.index()) else {
            continue;
        };
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let (symbol, section) = match relocation.target() {
                RelocationTarget::Symbol(i) => (Some(i.0), None),
                RelocationTarget::Section(i) => (None, places.get(&i).map(|p| p.0)),
                _ => (None, Some(0)),
            };
            out.fixes.push((
                *index,
                RawFix {
                    offset,
                    kind: r_type.0,
                    symbol,
                    section,
                    addend: relocation.addend(),
                    implicit: relocation.has_implicit_addend(),
                },
            ));
        }
    }
}

fn unreadable(e: object::Error) -> String {
    format!("the object file cannot be read: {e}")
}
