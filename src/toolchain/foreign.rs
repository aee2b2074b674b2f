//! Makes tests from existing code: functions of object files, libraries and memory dumps become the
//! threads of a test.
//!
//! Their source is unknown. The user says what the arguments are; the code shows which parts of
//! objects it accesses, and how wide they are. This module does not know models, nor command lines.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};

use super::image::Image;
use super::image::library::{self, Library};
use super::lift::stubs::Stub;
use super::lift::{self, Foreign, Given, Lifted};
use litmake_base::diag::Span;
use litmake_base::failure::Failure;
use litmake_base::file;
use litmake_isa::target;
use litmake_lang::c11::emit::local_type;
use litmake_lang::compiled::{Kept, composed, declare, is_array, locations, out_name, unit_of};
use litmake_litmus::c::types::size_of;
use litmake_litmus::{
    Arch, Body, InitItem, InitValue, Observed, Place, Prop, Test, Type, Value, read, types, write,
};
use litmake_profile::Profile;
use litmake_profile::machine;

/// The names of locations behind parameters that the user does not describe, in order.
pub const NAMES: [&str; 8] = ["x", "y", "z", "u", "v", "w", "a", "b"];

/// The information about a test that names the calls which were not followed, and what they are taken to do.
pub const CALLS: &str = "Calls";

/// The largest number of parts of an object; an object with more stays one location.
const MAX_FIELDS: usize = 32;

/// An argument of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of a location.
    Location(String),
    /// A number.
    Number(u64),
    /// The address of a place that stands for a local of the source.
    Local(String),
}

/// The observed result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returns {
    /// The type.
    pub ty: Type,
    /// The local of the source that receives it.
    pub local: Option<String>,
}

/// A function that becomes a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The symbol, or the address, such as `0x1240`.
    pub function: String,
    /// The described parameters, by position.
    pub args: BTreeMap<usize, Argument>,
    /// The observed result, if any.
    pub result: Option<Returns>,
}

/// An object file, library, program or dump.
struct Unit {
    name: String,
    bytes: Vec<u8>,
    linked: bool,
    image: OnceCell<Result<Image, Failure>>,
}

/// Existing code for one instruction set.
pub struct Code {
    /// The instruction set.
    pub arch: Arch,
    units: Vec<Unit>,
    libraries: Vec<Library>,
    /// Whether the code is bare bytes without a header.
    raw: bool,
}

impl Code {
    /// Bare machine code without symbols; functions are named by their offsets.
    pub fn raw(arch: Arch, name: &str, bytes: Vec<u8>) -> Code {
        let (name, image) = (name.to_string(), OnceCell::new());
        let unit = Unit { name, bytes, linked: false, image };
        Code { arch, units: vec![unit], libraries: Vec::new(), raw: true }
    }

    /// The code of object files, shared libraries, programs and static libraries, each given by
    /// name and content. Static libraries also provide functions that others call.
    pub fn open(files: Vec<(String, Vec<u8>)>) -> Result<Code, Failure> {
        let (mut units, mut libraries) = (Vec::new(), Vec::new());
        for (name, bytes) in files {
            let bad = |e: object::Error| Failure::from(format!("{name}: {e}"));
            if !bytes.starts_with(b"!<arch>\n") {
                let linked = Image::is_linked(&bytes);
                units.push(Unit { name, bytes, linked, image: OnceCell::new() });
                continue;
            }
            let archive = ArchiveFile::parse(bytes.as_slice()).map_err(bad)?;
            for member in archive.members() {
                let member = member.map_err(bad)?;
                let bytes = member.data(bytes.as_slice()).map_err(bad)?.to_vec();
                // An archive may contain other files.
                if Image::arch_of(&bytes).is_ok() {
                    let name = format!("{name}({})", String::from_utf8_lossy(member.name()));
                    units.push(Unit { name, bytes, linked: false, image: OnceCell::new() });
                }
            }
            libraries.push(Library::open(Path::new(&name))?);
        }
        let mut archs = Vec::new();
        for unit in &units {
            archs.push(Image::arch_of(&unit.bytes).map_err(|e| e.of(&unit.name))?);
        }
        let first = *archs.first().ok_or("there is no object file in what was given")?;
        if let Some(other) = archs.iter().position(|a| *a != first) {
            let (other, own) = (archs[other].name(), &units[other].name);
            let name = &units[0].name;
            let what = format!("{name} is for {}, and {own} for {other}", first.name());
            return Err(what.into());
        }
        Ok(Code { arch: first, units, libraries, raw: false })
    }

    /// The functions that have code, each with the name of its file.
    pub fn functions(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut out = Vec::new();
        for unit in &self.units {
            let image = self.image(unit)?;
            // Functions from a library are listed with the library.
            let own = |name: &str| self.raw || defines(&unit.bytes, name);
            let mut names: Vec<&str> = image.functions().map(|f| f.name.as_str()).collect();
            names.retain(|n| !n.is_empty() && own(n));
            out.extend(names.into_iter().map(|n| (n.to_string(), unit.name.clone())));
        }
        Ok(out)
    }

    fn image<'u>(&self, unit: &'u Unit) -> Result<&'u Image, Failure> {
        let made = unit.image.get_or_init(|| match (self.raw, unit.linked) {
            (true, _) => Image::of_code(self.arch, &unit.bytes),
            (false, true) => Image::of_shared(self.arch, &unit.bytes),
            (false, false) => {
                Image::new(self.arch, &unit.bytes, &|name| library::member(&self.libraries, name))
            }
        });
        match made {
            Ok(image) if image.big => Err(Failure::unsupported(
                "big-endian code whose source is not known: what of a value an access is of, its source says",
            )),
            Ok(image) => Ok(image),
            Err(failure) => Err(failure.clone().of(&unit.name)),
        }
    }

    /// The image that contains a function.
    fn with(&self, function: &str) -> Result<&Image, Failure> {
        let is_address = function.starts_with("0x");
        let of = |u: &&Unit| self.raw || is_address && u.linked || defines(&u.bytes, function);
        let unit = self.units.iter().find(of).ok_or_else(|| {
            let files: Vec<&str> = self.units.iter().map(|u| u.name.as_str()).collect();
            let most = files.len().min(3);
            let more = if files.len() > most { ", ..." } else { "" };
            Failure::from(format!(
                "no function `{function}` in {}{more}; `--list` says what there is",
                files[..most].join(", ")
            ))
        })?;
        self.image(unit)
    }
}

/// Whether an object file defines a name.
fn defines(bytes: &[u8], name: &str) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let is = |s: &object::Symbol| s.is_definition() && s.name() == Ok(name);
    file.symbols().any(|s| is(&s)) || file.dynamic_symbols().any(|s| is(&s))
}

/// The test that the user asks for.
pub struct Asked<'a> {
    /// The name of the test.
    pub name: &'a str,
    /// The functions, one for each thread.
    pub threads: &'a [Thread],
    /// The initial state and the condition in the dialect, as a test with empty threads.
    pub stated: Option<&'a Test>,
    /// The C test that the code should implement.
    pub source: Option<&'a Test>,
    /// The profile, which describes the machine: its features, and what libraries find out about
    /// it.
    pub profile: Option<&'a Profile>,
    /// Variables of the code with known values.
    pub known: &'a BTreeMap<String, u64>,
    /// The effects that calls of some functions are taken to have.
    pub stubs: &'a BTreeMap<String, Stub>,
}

/// A call of a function whose code is to be part of tests that are made elsewhere.
pub struct Call<'a> {
    /// The symbol, or the address.
    pub function: &'a str,
    /// The arguments, in order.
    pub args: &'a [Argument],
    /// Each variable that is a location: its symbol and the location. Without them, every variable is one.
    pub variables: Option<&'a [(String, String)]>,
    /// The bytes of a location's value, or of its element if it is an array.
    pub unit: &'a dyn Fn(&str) -> u64,
    /// Whether a location has more than one value.
    pub array: &'a dyn Fn(&str) -> bool,
    /// The bytes of the result, if it is observed.
    pub result: Option<u8>,
    /// The profile, as in [`Asked`].
    pub profile: Option<&'a Profile>,
    /// Variables of the code with known values.
    pub known: &'a BTreeMap<String, u64>,
    /// The effects that calls of some functions are taken to have.
    pub stubs: &'a BTreeMap<String, Stub>,
}

/// A thread with everything that is needed to lift it.
struct Bound<'c> {
    image: &'c Image,
    function: String,
    params: Vec<String>,
    foreign: Foreign,
    globals: Vec<(String, String)>,
}

impl Code {
    /// The code of a function that is called as the caller says, as the first thread of a test. With it come the variables
    /// that it uses, each with its symbol and its location.
    pub fn called(&self, call: &Call) -> Result<(Lifted, Vec<(String, String)>), Failure> {
        let image = self.with(call.function)?;
        let mut foreign =
            Foreign { result: call.result, stubs: call.stubs.clone(), ..Foreign::default() };
        let mut params = Vec::new();
        for (i, argument) in call.args.iter().enumerate() {
            params.push(match argument {
                Argument::Location(name) | Argument::Local(name) => name.clone(),
                Argument::Number(number) => {
                    foreign.numbers.insert(i, *number);
                    String::new()
                }
            });
        }
        let flags = flags(call.profile, call.known);
        let globals = match call.variables {
            Some(variables) => variables.to_vec(),
            None => variables(image, &flags),
        };
        let bound = Bound { image, function: call.function.to_string(), params, foreign, globals };
        let lifted = lifted(&bound, 0, call.profile, &flags, call.unit, call.array)?;
        let uses = |name: &String| {
            lifted.addresses.contains(name) || lifted.accesses.iter().any(|a| a.0 == *name)
        };
        let used = bound.globals.iter().filter(|(_, name)| uses(name)).cloned().collect();
        Ok((lifted, used))
    }

    /// The test of some functions.
    pub fn test(&self, asked: &Asked) -> Result<Test, Failure> {
        let mut locals: Vec<(usize, String, String)> = Vec::new();
        let mut bound = Vec::new();
        for (n, thread) in asked.threads.iter().enumerate() {
            bound.push(self.bind(n, thread, asked, &mut locals).map_err(|e| e.of_thread(n))?);
        }
        // Locations that the user or the source declares have the declared width.
        let mut init = match asked.source {
            Some(source) => locations(source),
            None => asked.stated.map(|s| s.init.clone()).unwrap_or_default(),
        };
        for (thread, local, out) in &locals {
            let f = asked.source.and_then(|s| s.threads.get(*thread));
            let ty = match f {
                Some(Body::C(f)) => local_type(f, local).map(|t| t.bare().clone()),
                _ => None,
            };
            declare(&mut init, out, ty.unwrap_or(Type::INT));
        }
        let whole = self.lifted(asked, &bound, None)?;
        let shapes = shapes(&whole, &init);
        for b in &mut bound {
            for (name, shape) in &shapes {
                if !shape.fields.is_empty() {
                    b.foreign.fields.insert(name.clone(), shape.fields.clone());
                }
            }
        }
        let mut types = init.clone();
        for (name, shape) in &shapes {
            match shape.fields.is_empty() {
                false => {
                    for (from, end, field) in &shape.fields {
                        declare(&mut types, field, integer((end - from) as u8));
                    }
                }
                true => declare(&mut types, name, shape.ty.clone()),
            }
        }
        let lifted = self.lifted(asked, &bound, Some(&types))?;
        self.finish(asked, &bound, lifted, init, &types, &shapes, locals)
    }

    /// Binds the parameters of a thread.
    fn bind(
        &self,
        n: usize,
        thread: &Thread,
        asked: &Asked,
        locals: &mut Vec<(usize, String, String)>,
    ) -> Result<Bound<'_>, Failure> {
        let image = self.with(&thread.function)?;
        let mut foreign = Foreign {
            result: thread.result.as_ref().and_then(|r| in_register(&r.ty)),
            stubs: asked.stubs.clone(),
            ..Foreign::default()
        };
        if let (Some(r), None) = (&thread.result, foreign.result) {
            return Err(format!(
                "the result is of type `{}`, and no integer or address",
                types::text(&r.ty)
            )
            .into());
        }
        let registers = target::of(self.arch, false, false, false).map_or(0, |t| t.params.len());
        let source = match asked.source.and_then(|s| s.threads.get(n)) {
            Some(Body::C(f)) => Some(f),
            _ => None,
        };
        let count = match source {
            Some(f) => f.params.len(),
            None => registers.max(4).min(NAMES.len()),
        };
        let last = thread.args.keys().next_back().map_or(0, |last| last + 1);
        let mut params = Vec::new();
        for i in 0..count.max(last) {
            params.push(match (thread.args.get(&i), source.and_then(|f| f.params.get(i))) {
                (Some(Argument::Location(name)), _) => name.clone(),
                (Some(Argument::Local(local)), _) => {
                    let function = source.map_or_else(|| format!("P{n}"), |f| f.name.clone());
                    let out = out_name(&function, local);
                    locals.push((n, local.clone(), out.clone()));
                    out
                }
                (Some(Argument::Number(number)), _) => {
                    foreign.numbers.insert(i, *number);
                    String::new()
                }
                (None, Some(param)) => param.name.clone(),
                (None, None) => NAMES.get(i).map_or_else(|| format!("p{i}"), |n| n.to_string()),
            });
        }
        let globals = variables(image, &flags(asked.profile, asked.known));
        Ok(Bound { image, function: thread.function.clone(), params, foreign, globals })
    }

    /// Lifts the threads, with the widths in `types`; without these, to see what the threads
    /// access.
    fn lifted(
        &self,
        asked: &Asked,
        bound: &[Bound],
        types: Option<&[InitItem]>,
    ) -> Result<Vec<Lifted>, Failure> {
        let flags = flags(asked.profile, asked.known);
        let unit = |name: &str| types.map_or(1, |t| unit_of(t, name));
        let array = |name: &str| types.is_none_or(|t| is_array(t, name));
        let lift =
            |(thread, b): (usize, &Bound)| lifted(b, thread, asked.profile, &flags, &unit, &array);
        bound.iter().enumerate().map(lift).collect()
    }

    /// Makes the test from lifted threads.
    #[expect(clippy::too_many_arguments, reason = "all that a test is made of")]
    fn finish(
        &self,
        asked: &Asked,
        bound: &[Bound],
        lifted: Vec<Lifted>,
        mut init: Vec<InitItem>,
        types: &[InitItem],
        shapes: &BTreeMap<String, Shape>,
        mut locals: Vec<(usize, String, String)>,
    ) -> Result<Test, Failure> {
        let used: BTreeSet<String> = lifted
            .iter()
            .flat_map(|l| l.accesses.iter().map(|a| &a.0).chain(&l.addresses))
            .cloned()
            .collect();
        for name in &used {
            if let Some(ty) = type_in(types, name) {
                declare(&mut init, name, ty.clone());
            }
        }
        for b in bound {
            start_of_variables(b, shapes, &used, &mut init);
        }
        let stubbed: BTreeMap<String, Stub> =
            lifted.iter().flat_map(|l| l.stubbed.clone()).collect();
        let written: BTreeSet<&String> = lifted.iter().flat_map(|l| &l.written).collect();
        let mut shown: Vec<Place> = written
            .into_iter()
            .filter(|name| !is_array(&init, name))
            .map(|name| Place::Mem { name: name.clone(), index: None })
            .collect();
        let (mut threads, mut private) = (Vec::new(), Vec::new());
        for (n, l) in lifted.into_iter().enumerate() {
            super::compile::share(&mut private, l.init);
            threads.push(Body::Asm(l.lines));
            let Some((register, returns)) = l.result.zip(asked.threads[n].result.as_ref()) else {
                continue;
            };
            let place = Place::Reg { thread: n, name: register.clone() };
            let wide = bytes(&returns.ty) != Some(4);
            match private.iter_mut().find(|i| i.place == place) {
                Some(_) if wide && bytes(&returns.ty) != Some(8) => {
                    return Err(Failure::unsupported(format!(
                        "the result is a part of {register}, which begins with an address"
                    ))
                    .of_thread(n));
                }
                Some(item) if wide => item.ty = Some(returns.ty.bare().clone()),
                Some(_) => {}
                None if wide => private.push(InitItem {
                    place: place.clone(),
                    ty: Some(returns.ty.bare().clone()),
                    value: None,
                    span: Span::default(),
                }),
                None => {}
            }
            if let Some(local) = &returns.local {
                locals.push((n, local.clone(), format!("{n}:{register}")));
            }
            shown.push(place);
        }
        init.extend(private);
        let mut out = match (asked.source, asked.stated) {
            (Some(source), _) => {
                check_locals(source, &locals)?;
                composed(source, self.arch, Kept::In(&locals), init, threads)?
            }
            (None, Some(stated)) => {
                let mut out =
                    Test { arch: self.arch, init, threads, info: Vec::new(), ..stated.clone() };
                let observe = |place: Place| Observed { place, ty: None, span: Span::default() };
                if stated.shown().is_empty() && stated.condition.prop == Prop::True {
                    out.locations = shown.into_iter().map(observe).collect();
                }
                out
            }
            (None, None) => return Err("neither a condition nor a source is given".into()),
        };
        out.name = asked.name.to_string();
        if !stubbed.is_empty() {
            let words: Vec<String> =
                stubbed.iter().map(|(name, stub)| format!("{name}={stub}")).collect();
            out.info.push((CALLS.to_string(), words.join(" ")));
        }
        if let Some(profile) = asked.profile {
            super::compile::tell_features(&mut out, profile);
        }
        // The printed form is what users will read.
        let text = write(&out);
        let mut test =
            read(&litmake_base::diag::Source::new(format!("{} (lifted)", out.name), text))?;
        test.doc = None;
        Ok(test)
    }
}

/// An error if a source asks for a local that the code does not leave anywhere.
fn check_locals(source: &Test, locals: &[(usize, String, String)]) -> Result<(), Failure> {
    let filtered = source.filter.iter().flat_map(Prop::places).cloned();
    for place in source.shown().into_iter().chain(filtered) {
        if let Place::Reg { thread, name } = place
            && !locals.iter().any(|(of, local, _)| (*of, local) == (thread, &name))
        {
            return Err(format!(
                "the source asks for `{thread}:{name}`; say where the code leaves it: \
                 `--result P{thread}={name}`, or `--arg P{thread}:N={thread}:{name}`"
            )
            .into());
        }
    }
    Ok(())
}

/// Lifts a thread, with the size of each location's values, and whether it is an array.
fn lifted(
    bound: &Bound,
    thread: usize,
    profile: Option<&Profile>,
    flags: &BTreeMap<String, u64>,
    unit: &dyn Fn(&str) -> u64,
    array: &dyn Fn(&str) -> bool,
) -> Result<Lifted, Failure> {
    let chosen = profile.map(machine::chosen).unwrap_or_default();
    let given = Given {
        thread,
        params: &bound.params,
        globals: &bound.globals,
        unit,
        members: &BTreeMap::new(),
        published: None,
        array,
        flags,
        instead: &|name| chosen.get(name).cloned(),
        calls: false,
        foreign: Some(&bound.foreign),
        lists: false,
    };
    lift::lift(bound.image, &bound.function, &given).map_err(|e| e.of_thread(thread))
}

/// Variables with known values.
fn flags(profile: Option<&Profile>, known: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut out = profile.map(machine::flags).unwrap_or_default();
    out.extend(known.iter().map(|(k, v)| (k.clone(), *v)));
    out
}

/// The variables of an image whose values are not known, each with its location, which has its name as tests can write it.
fn variables(image: &Image, known: &BTreeMap<String, u64>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for variable in image.variables().filter(|v| !known.contains_key(&v.name)) {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = variable.name.chars().map(plain).collect();
        if out.iter().all(|(_, other)| *other != name) {
            out.push((variable.name.clone(), name));
        }
    }
    out
}

/// The size in bytes of a result in a register for integers and addresses.
fn in_register(ty: &Type) -> Option<u8> {
    bytes(ty).filter(|_| !matches!(ty.bare(), Type::Float { .. }))
}

fn bytes(ty: &Type) -> Option<u8> {
    match ty.bare() {
        Type::Pointer(_) => Some(8),
        ty => size_of(ty).and_then(|n| u8::try_from(n).ok()).filter(|n| matches!(n, 1 | 2 | 4 | 8)),
    }
}

fn integer(bytes: u8) -> Type {
    Type::Int { bytes, signed: true }
}

fn type_in<'i>(init: &'i [InitItem], name: &str) -> Option<&'i Type> {
    let named =
        |i: &&InitItem| matches!(&i.place, Place::Mem { name: n, index: None } if n == name);
    init.iter().filter(named).find_map(|i| i.ty.as_ref())
}

/// The shape of an object according to the code.
#[derive(Clone, Debug)]
struct Shape {
    /// The type, if it is one location.
    ty: Type,
    /// The locations of its parts, if its address is not used: first byte, end, name.
    fields: Vec<(i64, i64, String)>,
}

/// The shapes of the locations that nobody declared, from the accesses of all threads.
fn shapes(lifted: &[Lifted], typed: &[InitItem]) -> BTreeMap<String, Shape> {
    let mut accesses: BTreeMap<&str, BTreeSet<(i64, u8)>> = BTreeMap::new();
    let mut addresses: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for l in lifted {
        for (name, at, size) in &l.accesses {
            accesses.entry(name).or_default().insert((*at, *size));
        }
        for name in &l.addresses {
            addresses.entry(name).or_default();
        }
        // In this round an element is a byte.
        for item in &l.init {
            if let Some(InitValue::One(Value::Addr { name, index })) = &item.value
                && let Some(known) = addresses.get_mut(name.as_str())
            {
                known.insert(*index as i64);
            }
        }
    }
    let names: BTreeSet<&str> = accesses.keys().chain(addresses.keys()).copied().collect();
    let mut out = BTreeMap::new();
    for name in names {
        if type_in(typed, name).is_some() {
            continue;
        }
        let own = accesses.get(name).cloned().unwrap_or_default();
        let fields = match addresses.contains_key(name) {
            true => Vec::new(),
            false => fields(name, &own, typed),
        };
        let starts = addresses.get(name).into_iter().flatten().copied();
        let ends = own.iter().map(|(at, size)| at + i64::from(*size));
        let end = ends.chain(starts.clone().map(|at| at + 1)).max().unwrap_or(8).max(1);
        let marks = own.iter().flat_map(|(at, size)| [*at, i64::from(*size)]).chain(starts);
        let unit = marks.fold(8i64, |unit, mark| unit.min(1 << mark.trailing_zeros().min(3)));
        let ty = match (own.len(), own.first()) {
            (1, Some((0, size @ (1 | 2 | 4 | 8 | 16)))) => integer(*size),
            _ if own.is_empty() && end <= 8 => integer(8),
            _ if end <= unit => integer(unit as u8),
            _ => Type::Array(Arc::new(integer(unit as u8)), (end as u64).div_ceil(unit as u64)),
        };
        out.insert(name.to_string(), Shape { ty, fields });
    }
    out
}

/// The separately accessed parts of an object as locations: `x`, `x_8`. Empty if they cannot be
/// separate locations.
fn fields(name: &str, own: &BTreeSet<(i64, u8)>, typed: &[InitItem]) -> Vec<(i64, i64, String)> {
    let mut out: Vec<(i64, i64, String)> = Vec::new();
    for (at, size) in own {
        let end = at + i64::from(*size);
        match out.last_mut() {
            Some((_, last, _)) if at < last => *last = end.max(*last),
            _ => {
                let part = match at {
                    0 => name.to_string(),
                    1.. => format!("{name}_{at}"),
                    _ => format!("{name}_m{}", -at),
                };
                out.push((*at, end, part));
            }
        }
    }
    let plain = |(from, end, _): &(i64, i64, String)| {
        let size = end - from;
        matches!(size, 1 | 2 | 4 | 8 | 16) && from % size == 0
    };
    let moved = out.len() > 1 || out.first().is_some_and(|f| f.0 != 0);
    let taken = |f: &(i64, i64, String)| {
        f.2 != name && type_in(typed, &f.2).is_some_and(|t| size_of(t) != Some((f.1 - f.0) as u64))
    };
    match moved && out.len() <= MAX_FIELDS && out.iter().all(plain) && !out.iter().any(taken) {
        true => out,
        false => Vec::new(),
    }
}

/// Sets the initial values of variables from the object code, if they are not given.
fn start_of_variables(
    bound: &Bound,
    shapes: &BTreeMap<String, Shape>,
    used: &BTreeSet<String>,
    init: &mut [InitItem],
) {
    for (symbol, name) in &bound.globals {
        let Some(at) = bound.image.symbol(symbol) else { continue };
        let whole = vec![(0, 0, name.clone())];
        let fields = shapes.get(name).map(|s| &s.fields).filter(|f| !f.is_empty());
        for (from, _, part) in fields.unwrap_or(&whole).iter().filter(|f| used.contains(&f.2)) {
            let named = |i: &&mut InitItem| matches!(&i.place, Place::Mem { name: n, index: None } if n == part);
            let Some(item) = init.iter_mut().find(named).filter(|i| i.value.is_none()) else {
                continue;
            };
            let read = |at: u64, size: u64| -> Option<Value> {
                let number = bound.image.read(at, u8::try_from(size).ok()?)?;
                let to = u64::try_from(number).ok().and_then(|n| bound.image.variable_at(n));
                let to = to.filter(|v| u128::from(v.at) == number && size == 8);
                let to = to.and_then(|v| bound.globals.iter().find(|(s, _)| *s == v.name));
                Some(match to {
                    Some((_, name)) if used.contains(name) => {
                        Value::Addr { name: name.clone(), index: 0 }
                    }
                    _ => {
                        let spare = 128 - 8 * size.min(16) as u32;
                        Value::Int((number << spare) as i128 >> spare)
                    }
                })
            };
            let at = at.wrapping_add_signed(*from);
            item.value = match item.ty.as_ref().map(Type::bare) {
                Some(Type::Array(of, n)) => {
                    let size = size_of(of).unwrap_or(1);
                    let all: Option<Vec<Value>> =
                        (0..*n).map(|i| read(at + i * size, size)).collect();
                    all.filter(|all| all.iter().any(|v| *v != Value::Int(0))).map(InitValue::Array)
                }
                Some(ty) => {
                    let value = size_of(ty).and_then(|size| read(at, size));
                    value.filter(|v| *v != Value::Int(0)).map(InitValue::One)
                }
                None => None,
            };
        }
    }
}

/// The content of a file.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    file::read(path, file::MAX_DATA)
        .map_err(|e| format!("cannot read {}: {e}", path.display()).into())
}
