//! Lifts object code to litmus tests with symbolic locations and without a stack.
//!
//! All instruction sets take the same steps. `expand` lists the instructions, with calls replaced
//! by the code that they run. `values` follows the contents of registers and stack slots, `flow`
//! decides which instructions stay, and `write` prints them. `target` has the differences between
//! instruction sets. What is not understood is rejected by name, and never guessed. Nothing here
//! knows models.

mod calls;
mod condition;
mod copies;
mod endian;
mod expand;
mod flow;
mod live;
pub mod locks;
mod needed;
mod state;
pub mod stubs;
mod values;
mod write;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::image::{Function, Image, pad};
use endian::Parts;
use expand::{Expand, Kind};
use flow::Analysis;
use litmake_base::failure::Failure;
use litmake_isa::machine::Operand;
use litmake_isa::target::{self, RETURN, Target};
use litmake_lang::c11::members::Members;
use litmake_litmus::{InitItem, Line};
use litmake_ops::Val;
use litmake_profile::machine::MACHINE;
use state::State;
use stubs::Stub;
use values::{Access, Field, Frame, Known, Place, World};

/// The limit on the rounds in which calls through registers are resolved.
const MAX_ROUNDS: usize = 64;

/// The linkers' symbol around which small variables are placed.
const GLOBALS: &str = "__global_pointer$";

/// The facts that are given about a thread's function.
pub struct Given<'a> {
    /// The number of the thread.
    pub thread: usize,
    /// The location behind each pointer parameter, in order.
    pub params: &'a [String],
    /// Pairs of a symbol of the object code and the location that is this variable.
    pub globals: &'a [(String, String)],
    /// The bytes of a location's value, or of its element if it is an array.
    pub unit: &'a dyn Fn(&str) -> u64,
    /// The values of a location by first byte and size, for locations whose values differ in size.
    pub members: &'a Members,
    /// The only location that pointers in memory can point to.
    pub published: Option<&'a str>,
    /// Whether a location has more than one value.
    pub array: &'a dyn Fn(&str) -> bool,
    /// Variables of the runtime library with known values.
    pub flags: &'a BTreeMap<String, u64>,
    /// The function that stands for an ifunc.
    pub instead: &'a dyn Fn(&str) -> Option<String>,
    /// Whether functions that are called stay functions.
    pub calls: bool,
    /// The facts that the user gives about code that was not compiled from the test.
    pub foreign: Option<&'a Foreign>,
    /// Whether to list the result of each instruction.
    pub lists: bool,
}

/// An instruction and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The place: the function, and the offset in it.
    pub place: (String, u64),
    /// The instruction in the object code.
    pub code: String,
    /// The lines of the test that it became.
    pub lines: Vec<String>,
}

/// The facts that a user gives about a function with unknown source.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The parameters that are numbers, by position.
    pub numbers: BTreeMap<usize, u64>,
    /// The parts of locations that are separate locations: first byte, end, name.
    pub fields: BTreeMap<String, Vec<(i64, i64, String)>>,
    /// The size in bytes of the function's result, if it is observed.
    pub result: Option<u8>,
    /// The effects that calls of some functions are taken to have, in place of [`stubs::usual`].
    pub stubs: BTreeMap<String, Stub>,
}

/// A lifted thread.
#[derive(Debug)]
pub struct Lifted {
    /// The code.
    pub lines: Vec<Line>,
    /// The initial values of the thread's registers and private locations.
    pub init: Vec<InitItem>,
    /// The locations that it writes, whatever the value.
    pub written: BTreeSet<String>,
    /// The accesses to locations: name, first byte, and size.
    pub accesses: BTreeSet<(String, i64, u8)>,
    /// The locations whose addresses it uses for something else than an access at a known place: it
    /// stores or compares them, or computes with them.
    pub addresses: BTreeSet<String>,
    /// The register with the function's result, if it is observed.
    pub result: Option<String>,
    /// The result of each instruction, if asked for.
    pub listing: Vec<Listed>,
    /// The functions whose calls were not followed, and what they were taken to do.
    pub stubbed: BTreeMap<String, Stub>,
}

/// Lifts one function.
pub fn lift(image: &Image, function: &str, given: &Given) -> Result<Lifted, Failure> {
    let mut own = Own::default();
    for _ in 0..MAX_ROUNDS {
        match lift_with(image, function, given, &own) {
            Ok(lifted) => return Ok(lifted),
            Err(Need::Failed(failure)) => return Err(failure),
            Err(Need::Frame(from, end)) => own.frame = Some((from, end)),
            Err(Need::Table(table)) => own.tables.push(table),
            Err(Need::Unit(n, unit)) => own.tables[n].unit = unit,
        }
    }
    Err(Failure::unsupported("there are too many tables of constants"))
}

/// Lifts one function that has these locations of its own.
fn lift_with(image: &Image, function: &str, given: &Given, own: &Own) -> Result<Lifted, Need> {
    let function = &image
        .function_named(function)
        .ok_or_else(|| Failure::from(format!("the object file has no function `{function}`")))?;
    let target = target_of(image, function, given)?;
    let mut locations: Vec<String> = given.params.to_vec();
    let mut globals = globals_of(image, given, &mut locations);
    // The locked location may be known by name only.
    if let Some(name) = given.published.filter(|name| !locations.iter().any(|l| l == name)) {
        locations.push(name.to_string());
    }
    let fields = fields(given, &mut locations);
    let shared = locations.len();
    for table in &own.tables {
        globals.push((table.at, table.size, locations.len() as u16));
        locations.push(format!("P{}_t{}", given.thread, locations.len() - shared));
    }
    let frame = own.frame.map(|(from, end)| Frame { loc: locations.len() as u16, from, end });
    locations.extend(frame.map(|_| format!("P{}_frame", given.thread)));
    let unit = |(i, l): (usize, &String)| match own.tables.get(i.wrapping_sub(shared)) {
        Some(table) => table.unit,
        None if i >= shared => 1,
        None => (given.unit)(l),
    };
    let units: Vec<u64> = locations.iter().enumerate().map(unit).collect();
    let parts: Vec<Parts> = locations
        .iter()
        .zip(&units)
        .map(|(l, unit)| match given.members.get(l) {
            Some(list) => Parts::Members(list.clone()),
            None => Parts::Each(*unit),
        })
        .collect();
    let pads: Vec<i64> = locations
        .iter()
        .zip(&units)
        .take(shared)
        .map(|(l, unit)| if image.big && !(given.array)(l) { pad(*unit) as i64 } else { 0 })
        .collect();
    let isa = litmake_isa::of(image.arch).ok_or(Failure::from("C has no machine code"))?;
    let world = World {
        image,
        globals: &globals,
        units: &units,
        parts: &parts,
        pads: &pads,
        fields: &fields,
        flags: given.flags,
        address_bits: isa.address_bits(),
        stack_start: target.stack_start,
        frame,
        dependencies: !target.facts().ordered,
    };
    let stub = |name: &str| {
        let foreign = given.foreign?;
        foreign.stubs.get(name).copied().or_else(|| stubs::usual(name))
    };
    let (mut resolved, mut sizes) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..MAX_ROUNDS {
        let choose = |f: &Function| choose(image, f, &world);
        let stubbed = RefCell::default();
        let expand = Expand {
            image,
            target: &target,
            resolved: &resolved,
            sizes: &sizes,
            instead: given.instead,
            choose: &choose,
            stub: &stub,
            stubbed: &stubbed,
            inlines: true,
        };
        let whole = |failure: Failure| placed(failure, image, function.start, given);
        let mut flat = expand.run(function).map_err(whole)?;
        let mut start =
            start(&mut flat, &target, function.start, &pads[..given.params.len()], image);
        for (param, number) in given.foreign.iter().flat_map(|f| &f.numbers) {
            set_param(&mut flat, &mut start, &target, *param, Known::int(*number));
        }
        let analysis = flow::follow(&flat, &world, start)?;
        let found = open(&flat, &analysis, &world, &target, given)?;
        if found.is_empty() {
            own.suffices(&analysis, shared)?;
            let named = Named { locations: &locations, shared, tables: &own.tables };
            let lifted = write::write(&flat, &analysis, &world, &target, &named, given)?;
            return Ok(Lifted { stubbed: stubbed.into_inner(), ..lifted });
        }
        for found in found {
            // A call of `memcpy` through a register is resolved at one place, and its size at the
            // same place.
            let (known, at, value, what) = match found {
                Found::Target(at, to) => (&mut resolved, at, to, "calls different functions"),
                Found::Size(at, bytes) => (&mut sizes, at, bytes, "copies different sizes"),
            };
            if known.insert(at, value).is_some_and(|old| old != value) {
                let why = format!("the code at {at:#x} {what}");
                return Err(Failure::unsupported(why).into());
            }
        }
    }
    Err(Failure::unsupported("there are too many calls through registers").into())
}

/// The addresses and sizes of the global variables that are locations, each with the number of its location.
fn globals_of(image: &Image, given: &Given, locations: &mut Vec<String>) -> Vec<(u64, u64, u16)> {
    let mut globals = Vec::new();
    for (symbol, location) in given.globals {
        let Some(at) = image.symbol(symbol) else {
            continue;
        };
        let size = image.variable_at(at).map_or(1, |v| v.size);
        let number = match locations.iter().position(|l| l == location) {
            Some(i) => i,
            None => {
                locations.push(location.clone());
                locations.len() - 1
            }
        };
        globals.push((at, size, number as u16));
    }
    globals
}

/// The target of a function, with the convention by which it is called.
fn target_of(image: &Image, function: &Function, given: &Given) -> Result<Target, Failure> {
    let target =
        target::of(image.arch, function.thumb, image.big, image.release6).ok_or_else(|| {
            Failure::unsupported(format!("code for {} cannot be lifted yet", image.arch.name()))
        })?;
    let target = match image.is_go(function) {
        true => target.of_go().ok_or_else(|| {
            Failure::unsupported(format!("Go's convention for calls on {}", image.arch.name()))
        })?,
        false => target,
    };
    if target.result.is_empty() && given.foreign.is_some_and(|f| f.result.is_some()) {
        return Err(Failure::unsupported("the result of a function that returns it on the stack"));
    }
    Ok(target)
}

/// The locations of a thread's own: what it accesses at addresses that it computes.
#[derive(Default)]
struct Own {
    tables: Vec<Table>,
    /// The first byte of the frame and its end, from the stack pointer at the start.
    frame: Option<(i64, i64)>,
}

/// A constant object of the object code.
#[derive(Clone, Copy)]
struct Table {
    at: u64,
    size: u64,
    /// The size of its elements.
    unit: u64,
}

/// The names of all locations; from `shared` on they are the thread's own, the tables first.
struct Named<'a> {
    locations: &'a [String],
    shared: usize,
    tables: &'a [Table],
}

/// A thing that is still needed to lift code, or the failure of lifting.
enum Need {
    /// The frame as a location: its first byte and its end.
    Frame(i64, i64),
    /// A constant object as a location.
    Table(Table),
    /// The size of the elements of a table.
    Unit(usize, u64),
    Failed(Failure),
}

impl From<Failure> for Need {
    fn from(failure: Failure) -> Need {
        Need::Failed(failure)
    }
}

impl Table {
    /// The constant object that contains an address which code of these functions uses.
    fn around(at: u64, image: &Image, code: &expand::Flat, word: u8) -> Option<Table> {
        let functions: Vec<Function> =
            code.nodes.iter().filter_map(|n| image.function_at(n.at)).collect();
        let is_here = |place| functions.iter().any(|f| (f.start..f.end).contains(&place));
        let (at, size) = image.constant_around(at, &is_here)?;
        let addresses = (at..at + size).any(|place| image.holds_address(place));
        let mut unit = if addresses { word.into() } else { 8 };
        while unit > 1 && !(at.is_multiple_of(unit) && size.is_multiple_of(unit)) {
            unit /= 2;
        }
        Some(Table { at, size, unit })
    }
}

impl Own {
    /// Whether code accesses its frame only where that is known, or has it as a location; and
    /// whether it accesses tables by elements.
    fn suffices(&self, analysis: &Analysis, shared: usize) -> Result<(), Need> {
        let accesses = || analysis.facts.iter().flat_map(|f| &f.accesses);
        if self.frame.is_none() && accesses().any(|a| a.place == Place::Frame) {
            let (from, end) = extent(analysis);
            return Err(Need::Frame(from, end));
        }
        for (n, table) in self.tables.iter().enumerate() {
            let here = accesses()
                .filter(|a| a.near.is_some_and(|(loc, _)| usize::from(loc) == shared + n));
            match here.map(|a| u64::from(a.size)).min() {
                Some(unit) if unit < table.unit => return Err(Need::Unit(n, unit)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The first byte of a frame and its end: all places that code accesses there, and all addresses
/// there that it holds.
fn extent(analysis: &Analysis) -> (i64, i64) {
    let place = |a: &Access| match a.place {
        Place::Stack(at) => Some((at, at + i64::from(a.size))),
        _ => None,
    };
    let address = |known: &Known| match known {
        Known::Stack(at) => Some((*at, *at)),
        _ => None,
    };
    let places = analysis.facts.iter().flat_map(|f| &f.accesses).filter_map(place);
    let states = analysis.states.iter().flatten();
    let addresses = states.flat_map(|s| s.regs.iter().flatten()).filter_map(address);
    let own = places.chain(addresses).filter(|(at, _)| *at <= 0);
    let (from, end) = own.fold((0, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    // Elements are aligned as on the stack.
    (from & !15, end)
}

/// The function that an ifunc's resolver chooses on the profile's machine.
fn choose(image: &Image, chooser: &Function, world: &World) -> Option<Function> {
    // A resolver may ask in functions of its own. Most do not, and only call something if nothing
    // is known about the machine.
    [false, true].into_iter().find_map(|inlines| chosen(image, chooser, world, inlines))
}

/// The function at the address that a resolver returns, if the address depends on nothing but the
/// machine.
fn chosen(image: &Image, chooser: &Function, world: &World, inlines: bool) -> Option<Function> {
    let target = target::of(image.arch, chooser.thumb, image.big, image.release6)?;
    let expand = Expand {
        image,
        target: &target,
        resolved: &BTreeMap::new(),
        sizes: &BTreeMap::new(),
        instead: &|_| None,
        choose: &|_| None,
        stub: &|_| None,
        stubbed: &RefCell::default(),
        inlines,
    };
    let mut flat = expand.run(chooser).ok()?;
    let isa = litmake_isa::of(image.arch)?;
    let reg = |flat: &expand::Flat, name: &str| {
        let reg = isa.register(name)?;
        flat.code.regs.iter().position(|r| r.name == reg.name)
    };
    let mut state = start(&mut flat, &target, chooser.start, &[], image);
    if let Some(known) = world.flags.get(MACHINE)
        && let Some(first) = target.params.first().and_then(|first| reg(&flat, first))
    {
        state.regs[first] = Some(Known::int(*known));
    }
    let analysis = flow::follow(&flat, world, state).ok()?;
    let end = analysis.states.last()?.as_ref()?;
    match end.regs.get(reg(&flat, target.result)?).copied().flatten()? {
        Known::Val(Val::Int(at)) => {
            let thumb = u64::from(image.arch == litmake_litmus::Arch::Arm);
            image.function_at(u64::try_from(at).ok()? & !thumb)
        }
        _ => None,
    }
}

/// The known state at the entry of a function; `params` are the offsets in a word to which
/// parameters point.
fn start(
    flat: &mut expand::Flat,
    target: &Target,
    entry: u64,
    params: &[i64],
    image: &Image,
) -> State {
    let globals = image.symbol(GLOBALS);
    let isa = litmake_isa::of(target.arch);
    let reg = |flat: &mut expand::Flat, name: &str| {
        isa.and_then(|i| i.register(name)).map(|r| flat.code.reg(&r.name, r.bits, r.signed))
    };
    let mut known = Vec::new();
    known.extend(reg(flat, target.stack).map(|r| (r, Known::Stack(0))));
    if let Some(name) = target.entry {
        known.extend(reg(flat, name).map(|r| (r, Known::int(entry))));
    }
    if let Some(name) = target.zero {
        known.extend(reg(flat, name).map(|r| (r, Known::int(0))));
    }
    if let (Some(name), Some(at)) = (target.global, globals) {
        known.extend(reg(flat, name).map(|r| (r, Known::int(at))));
    }
    let mut slots = BTreeMap::new();
    for (i, pad) in params.iter().enumerate() {
        let here = Known::Val(Val::Ptr { loc: i as u16, off: *pad });
        match target.params.get(i) {
            Some(name) => known.extend(reg(flat, name).map(|r| (r, here))),
            None => {
                let n = (i - target.params.len()) as i64;
                let at = target.stack_params + n * i64::from(target.word);
                slots.insert(at, (target.word, here));
            }
        }
    }
    // A register that always reads as zero has no entry.
    let mut regs: Vec<Option<Known>> =
        (0..flat.code.regs.len()).map(|r| Some(Known::Start(r as u16))).collect();
    for (reg, val) in &flat.code.reg_init {
        if let Some(r) = regs.get_mut(usize::from(*reg)) {
            *r = Some(Known::Val(*val));
        }
    }
    for (reg, value) in known {
        if let Some(r) = regs.get_mut(usize::from(reg)) {
            *r = Some(value);
        }
    }
    State::new(regs, slots)
}

/// Sets the value of a parameter at the entry of a function.
fn set_param(
    flat: &mut expand::Flat,
    state: &mut State,
    target: &Target,
    param: usize,
    known: Known,
) {
    let Some(name) = target.params.get(param) else {
        let n = (param - target.params.len()) as i64;
        let at = target.stack_params + n * i64::from(target.word);
        state.slots.insert(at, (target.word, known));
        return;
    };
    let isa = litmake_isa::of(target.arch);
    let reg = isa.and_then(|i| i.register(name)).map(|r| flat.code.reg(&r.name, r.bits, r.signed));
    if let Some(slot) = reg.and_then(|r| state.regs.get_mut(usize::from(r))) {
        *slot = Some(known);
    }
}

/// Adds the separate parts of locations to the locations, and returns where they are.
fn fields(given: &Given, locations: &mut Vec<String>) -> Vec<Vec<Field>> {
    let Some(foreign) = given.foreign else { return Vec::new() };
    let mut out = vec![Vec::new(); locations.len()];
    for (name, parts) in &foreign.fields {
        let Some(whole) = locations.iter().position(|l| l == name) else { continue };
        for (from, end, part) in parts {
            let loc = locations.len() as u16;
            locations.push(part.clone());
            out[whole].push(Field { from: *from, end: *end, loc });
        }
    }
    out
}

/// Adds the place to a failure in foreign code.
fn placed(failure: Failure, image: &Image, at: u64, given: &Given) -> Failure {
    match given.foreign {
        Some(_) => failure.of(image.shown(at)),
        None => failure,
    }
}

/// A fact that was found about the instruction at an address.
enum Found {
    /// The address of a jump or call, and its target.
    Target(u64, u64),
    /// The address of a copy, and the number of its bytes.
    Size(u64, u64),
}

/// Whether calls put the address to which they return into a register.
fn calls(target: &Target, register: &str) -> bool {
    let taken = target.facts().calls.iter().flat_map(|calls| calls.taken);
    taken.into_iter().any(|name| *name == register)
}

/// Finds the targets of the reached jumps and calls through registers, and the sizes of copies.
fn open(
    flat: &expand::Flat,
    analysis: &Analysis,
    world: &World,
    target: &Target,
    given: &Given,
) -> Result<Vec<Found>, Failure> {
    let image = world.image;
    let isa = litmake_isa::of(target.arch).ok_or("C has no machine code")?;
    let mut out = Vec::new();
    for (i, (node, state)) in flat.nodes.iter().zip(&analysis.states).enumerate() {
        let Some(state) = state else { continue };
        // If a function is called through a linker's code, the place is that of the call.
        let before = flat.nodes[..=i].iter().rev().map(|n| n.at);
        let at = before.into_iter().find(|at| !image.is_stub(*at)).unwrap_or(node.at);
        let value = |name: &str| {
            let name = name.trim_start_matches(['*', '%']);
            let canonical = isa.register(name).map_or(name.to_string(), |r| r.name);
            let reg = flat.code.regs.iter().position(|r| r.name == canonical)?;
            match state.regs.get(reg).copied().flatten()? {
                Known::Val(Val::Int(n)) => u64::try_from(n).ok(),
                // Code may return through another register than the one in which it was given the address.
                Known::Start(reg) if calls(target, &flat.code.regs[usize::from(reg)].name) => {
                    Some(RETURN)
                }
                _ => None,
            }
        };
        let d = match &node.kind {
            Kind::Open(d) => d,
            Kind::Unclear(why) => return Err(placed(why.clone(), image, at, given)),
            Kind::Copy(size) => {
                let bytes = value(size).ok_or_else(|| {
                    let why =
                        Failure::unsupported("`memcpy`, `memcmp` or `memset` of unknown size");
                    placed(why, image, at, given)
                })?;
                out.push(Found::Size(node.at, bytes));
                continue;
            }
            _ => continue,
        };
        let to = match d.operands.last() {
            Some(Operand::Reg(name) | Operand::Text(name)) => value(name),
            Some(Operand::Mem(mem)) => {
                let base = match &mem.base {
                    Some(name) => value(name),
                    None => Some(0),
                };
                let at = base.map(|b| b.wrapping_add(mem.offset as u64));
                match target.is_x86() {
                    true => at.and_then(|at| image.read(at, target.word)).map(|v| v as u64),
                    false => at,
                }
            }
            None if d.mnemonic.contains("ctr") => value("CTR"),
            _ => None,
        };
        let to = to.ok_or_else(|| {
            let why = Failure::unsupported(format!(
                "the target of the jump `{}` cannot be determined",
                d.mnemonic
            ));
            placed(why, image, at, given)
        })?;
        let thumb = u64::from(target.arch == litmake_litmus::Arch::Arm && to != RETURN);
        out.push(Found::Target(node.at, to & !thumb));
    }
    Ok(out)
}
