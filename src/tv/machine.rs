//! Writes a function of machine code in a context as a litmus test of its instruction set.
//!
//! The function's own thread is its lifted code, between the accesses of the context. Outcomes get the names that the same
//! context has around intermediate code (`program`), so that functions of different languages can be compared. It does not
//! know object files: who gives a function also lifts it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use litmake_base::diag::{Source, Span};
use litmake_isa::target::{self, Target};
use litmake_litmus::{
    Anything, Arch, Body, CmpOp, InitItem, InitValue, Line, Operand, Place, Prop, Test, Type,
    Value, and, bare,
};
use litmake_sim::{Outcomes, State};

use super::context::{Around, Context, Kind, Op, Order};
use super::ir::{Param, Read, Scalar, Signature};
use super::observe::{Observed, UNDEFINED};
use super::program::{self, place};
use super::setting::{Location, Setting, mask};
use super::written::{self, Written};

/// A function of machine code, lifted as it is called.
pub trait Lifts: fmt::Debug {
    /// Its instruction set.
    fn arch(&self) -> Arch;

    /// The code of a call.
    fn lift(&self, call: &Call) -> Read<Lifted>;
}

/// A function of machine code, and what is known of its parameters.
#[derive(Clone, Debug)]
pub struct Function {
    /// The code.
    pub lifts: Rc<dyn Lifts>,
    /// Its parameters and result, where someone says what they are.
    pub signature: Option<Signature>,
}

/// A function that is ready to be called.
pub struct Callee {
    /// The code.
    pub lifts: Rc<dyn Lifts>,
    /// The code with pointers to places that nothing else is known of.
    pub first: Lifted,
    /// Whether nobody says what its parameters and its result are: all are pointers, and the result is not looked at.
    pub guessed: bool,
}

impl Function {
    /// The function, called as `other` is, or as its own signature says.
    pub fn subject(&self, name: &str, other: Option<&Signature>) -> Read<program::Subject> {
        let arch = self.lifts.arch();
        known(arch)?;
        let said = self.signature.as_ref().or(other);
        let signature = said.cloned().unwrap_or_else(guess);
        let args: Vec<Argument> = signature
            .params
            .iter()
            .enumerate()
            .map(|(i, param)| match param.scalar {
                Scalar::Pointer => Argument::Location(argument(i)),
                _ => Argument::Number(1),
            })
            .collect();
        let call =
            Call { args: &args, variables: None, unit: &|_| 1, array: &|_| true, result: None };
        let first = self.lifts.lift(&call)?;
        let machine = Callee { lifts: self.lifts.clone(), first, guessed: said.is_none() };
        Ok(program::Subject {
            function: name.to_string(),
            signature,
            observed: Observed::nothing(word(arch) == 4),
            machine: Some(machine),
        })
    }
}

/// The location behind an argument while nothing else is known.
fn argument(i: usize) -> String {
    format!("argument_{i}")
}

/// A signature where nobody says one: as many pointers as there may be, and no result.
fn guess() -> Signature {
    let name = |name: &str| Param {
        name: name.to_string(),
        scalar: Scalar::Pointer,
        lanes: None,
        noalias: false,
    };
    let params = ["x", "y", "z", "u", "v", "w", "a", "b"].into_iter().map(name).collect();
    Signature { params, returns: "void".into(), results: Vec::new() }
}

impl Callee {
    /// How many parameters the code uses.
    pub fn uses(&self) -> usize {
        let used = |i: &usize| self.first.used.contains(&argument(*i));
        (0..8).rev().find(used).map_or(0, |last| last + 1)
    }

    /// The numbers that the code names, and of these those that it may compare something with.
    pub fn numbers(&self) -> (Vec<u64>, Vec<u64>) {
        const CHOOSES: [&str; 2] = ["cmp", "cas"];
        const NAMES: [&str; 5] = ["cmp", "mov", "li", "ori", "addi"];
        let is_mips = self.lifts.arch() == Arch::Mips;
        let words = |line: &Line| line.text.to_ascii_lowercase();
        let names = |text: &str, list: &[&str]| list.iter().any(|name| text.contains(name));
        let number = |word: &str| {
            let word = match (word.strip_prefix('$'), is_mips) {
                (Some(_), true) => return None,
                (Some(rest), false) => rest,
                (None, _) => word.trim_start_matches('#'),
            };
            match word.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => word.parse::<i64>().ok().map(|n| n as u64),
            }
        };
        let chooses = |line: &Line| !line.labels.is_empty() || names(&words(line), &CHOOSES);
        let chooses = self.first.lines.iter().any(chooses);
        let (mut named, mut compared) = (Vec::new(), Vec::new());
        for line in &self.first.lines {
            let text = words(line);
            let separates = |c: char| c.is_whitespace() || ",()[]{}".contains(c);
            let found: Vec<u64> = text.split(separates).filter_map(number).collect();
            if chooses && names(&text, &NAMES) && !text.contains(['(', '[']) {
                compared.extend(&found);
            }
            named.extend(found);
        }
        (named, compared)
    }

    /// Whether the code has a fence.
    pub fn has_fence(&self) -> bool {
        const FENCES: [&str; 7] = ["dmb", "dsb", "mfence", "lock", "fence", "sync", "eieio"];
        let is = |line: &Line| FENCES.iter().any(|f| line.text.to_ascii_lowercase().contains(f));
        self.first.lines.iter().any(is)
    }
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of a location.
    Location(String),
    /// A number.
    Number(u64),
}

/// How a function is called.
pub struct Call<'a> {
    /// The arguments, in order.
    pub args: &'a [Argument],
    /// The variables that are locations, each with its symbol and its location. Without them, every variable is one.
    pub variables: Option<&'a [(String, String)]>,
    /// The bytes of a location's value, or of its element if it is an array.
    pub unit: &'a dyn Fn(&str) -> u64,
    /// Whether a location has more than one value.
    pub array: &'a dyn Fn(&str) -> bool,
    /// The bytes of the result, if it is looked at.
    pub result: Option<u8>,
}

/// The lifted code of a function.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The code.
    pub lines: Vec<Line>,
    /// The first values of registers and of memory of the function's own.
    pub init: Vec<InitItem>,
    /// The register with the result, if it is looked at.
    pub result: Option<String>,
    /// The variables that it uses, each with its symbol and its location.
    pub variables: Vec<(String, String)>,
    /// The locations that it uses.
    pub used: BTreeSet<String>,
}

/// The name of a test's place in the outcomes that are compared, and its number of bytes.
#[derive(Clone, Debug)]
pub struct Name {
    /// The place.
    pub place: Place,
    /// The name.
    pub name: String,
    bytes: u8,
}

/// The function's own thread.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its code.
    pub lines: Vec<Line>,
    /// The first values of its registers, and further locations.
    pub init: Vec<InitItem>,
    shown: Vec<Name>,
}

/// The bytes of a pointer.
pub fn word(arch: Arch) -> u8 {
    target::of(arch, false, false, false).map_or(8, |t| t.word)
}

/// The code of a function in a setting; `None` of a function that is no machine code.
pub fn lifted(subject: &program::Subject, setting: &Setting) -> Read<Option<Rc<Lifted>>> {
    let Some(machine) = &subject.machine else { return Ok(None) };
    let location = |name: &str| setting.locations.iter().find(|l| l.name == name);
    let unit = |name: &str| location(name).map_or(1, |l| l.unit.into());
    let array = |name: &str| location(name).is_none_or(|l| l.count > 1);
    call(machine, subject, setting, &unit, &array).map(|code| Some(code.into()))
}

fn call(
    machine: &Callee,
    subject: &program::Subject,
    setting: &Setting,
    unit: &dyn Fn(&str) -> u64,
    array: &dyn Fn(&str) -> bool,
) -> Read<Lifted> {
    let mut args = Vec::new();
    for (param, operand) in subject.signature.params.iter().zip(&setting.operands) {
        let number = match operand.as_str() {
            "true" => Some(1),
            "false" => Some(0),
            operand => operand.parse().ok(),
        };
        args.push(match (param.scalar, operand.strip_prefix('@'), number) {
            (Scalar::Pointer, Some(name), _) => Argument::Location(name.to_string()),
            (Scalar::Int(_), _, Some(number)) if param.lanes.is_none() => Argument::Number(number),
            _ => {
                return Err(format!(
                    "unsupported: the parameter {} of machine code, which is no integer or pointer",
                    param.name
                ));
            }
        });
    }
    let result = match &subject.signature.results[..] {
        [] => None,
        [(at, scalar @ (Scalar::Int(_) | Scalar::Pointer))] if at.is_empty() => {
            Some(scalar.bytes(8 * setting.word))
        }
        _ => {
            let words = "unsupported: a result of machine code that is no integer or pointer";
            return Err(words.into());
        }
    };
    let variables = Some(&setting.globals[..]);
    machine.lifts.lift(&Call { args: &args, variables, unit, array, result })
}

/// The test of a function that is called alone, in which locations have so many bytes and hold a value.
pub fn alone(
    machine: &Callee,
    subject: &program::Subject,
    setting: &Setting,
    bytes: u64,
    initial: u64,
) -> Read<Test> {
    // An address within a location is that of an element; the largest elements that allow all addresses do.
    let mut refusal = None;
    for unit in [8, 4, 2, 1].into_iter().filter(|unit| *unit <= u64::from(setting.word)) {
        let code = match call(machine, subject, setting, &|_| unit, &|_| true) {
            Ok(code) => code,
            Err(why) => {
                refusal.get_or_insert(why);
                continue;
            }
        };
        let one = Type::Int { bytes: unit as u8, signed: false };
        let ty = Type::Array(one.into(), bytes / unit);
        let whole = |item: InitItem| {
            let value = item.value.filter(|_| unit == u64::from(setting.word));
            InitItem { ty: Some(ty.clone()), value, ..item }
        };
        let mut init: Vec<InitItem> = setting.items(initial).into_iter().map(whole).collect();
        init.extend(code.init);
        let arch = machine.lifts.arch();
        let (name, threads) = (subject.function.clone(), vec![Body::Asm(code.lines)]);
        return Ok(Test::of_code(arch, name, init, threads, Vec::new()));
    }
    Err(refusal.unwrap_or_default())
}

/// Registers that are free for accesses of a context.
struct Spare {
    names: Vec<&'static str>,
    next: usize,
}

impl Spare {
    /// The registers that no line uses.
    fn beside(target: &Target, lines: &[Line]) -> Read<Spare> {
        let isa = litmake_isa::of(target.arch).ok_or("an instruction set is missing")?;
        let code = isa
            .thread(&Source::new("lifted", ""), lines, &mut Anything)
            .map_err(|e| e.message.to_string())?;
        let used: BTreeSet<&str> = code.regs.iter().map(|r| r.name.as_str()).collect();
        let free = |name: &&&str| match isa.register(name) {
            Some(reg) => !used.contains(reg.name.as_str()),
            None => false,
        };
        Ok(Spare { names: target.spare.iter().filter(free).copied().collect(), next: 0 })
    }

    fn take(&mut self) -> Read<&'static str> {
        let name = self.names.get(self.next).copied();
        self.next += 1;
        name.ok_or_else(|| "unsupported: the code leaves too few registers for contexts".into())
    }
}

/// A thread that is written, with what its registers hold at first.
struct Writer<'a> {
    written: &'static Written,
    setting: &'a Setting,
    thread: usize,
    spare: Spare,
    /// Registers that hold the addresses of places.
    addresses: Vec<(usize, &'static str)>,
    lines: Vec<Line>,
    init: Vec<InitItem>,
}

impl Writer<'_> {
    fn row(&mut self, text: String) {
        self.lines.push(Line { labels: Vec::new(), text, span: Span::default() });
    }

    fn holds(&mut self, name: &str, ty: Option<Type>, value: Option<Value>) -> Place {
        let place = Place::Reg { thread: self.thread, name: name.to_string() };
        let value = value.map(InitValue::One);
        self.init.push(InitItem { place: place.clone(), ty, value, span: Span::default() });
        place
    }

    /// A register with the address of a place.
    fn address(&mut self, spot: usize) -> Read<&'static str> {
        if let Some((_, register)) = self.addresses.iter().find(|(known, _)| *known == spot) {
            return Ok(register);
        }
        let place = &self.setting.spots[spot];
        let Location { name, unit, .. } = &self.setting.locations[place.location];
        let register = self.spare.take()?;
        let index = u64::from(place.off / u32::from(*unit));
        self.holds(register, None, Some(Value::Addr { name: name.clone(), index }));
        self.addresses.push((spot, register));
        Ok(register)
    }

    /// Writes an access. Returns the place that has what it read.
    fn access(&mut self, op: &Op, strong: bool) -> Read<Option<Place>> {
        let spot = &self.setting.spots[op.spot];
        let at = self.address(op.spot)?;
        let ty = Type::Int { bytes: spot.size, signed: false };
        let adds = matches!(op.kind, Kind::Add(_));
        let uses = |name: &str| adds && self.written.adds_with(name);
        let (apart, sum, status) = (uses("{value}"), uses("{sum}"), uses("{status}"));
        let mut number = match op.kind {
            Kind::Write(number) | Kind::Add(number) => Some(Value::Int(number.into())),
            Kind::Read | Kind::Await => None,
        };
        let mut value = "";
        if apart || matches!(op.kind, Kind::Write(_)) {
            value = self.spare.take()?;
            self.holds(value, Some(ty.clone()), number.take());
        }
        let (mut read, mut to) = (None, "");
        if !matches!(op.kind, Kind::Write(_)) {
            to = self.spare.take()?;
            read = Some(self.holds(to, Some(ty), number));
        }
        let mut more = |used: bool| if used { self.spare.take() } else { Ok("") };
        let spare = [more(sum)?, more(status)?];
        let again = format!("L{}_{}", self.thread, self.lines.len());
        let place = written::Place { at, value, to, spare, again: &again };
        let rows = match op.kind {
            Kind::Read | Kind::Await => self.written.load(spot.size, strong, &place),
            Kind::Write(_) => self.written.store(spot.size, strong, &place),
            Kind::Add(_) => self.written.add(spot.size, &place),
        };
        let first = self.lines.len();
        rows.into_iter().for_each(|row| self.row(row));
        if adds {
            self.lines[first].labels.push(again);
        }
        Ok(read)
    }
}

/// The function's own thread: its code between accesses.
pub fn own(
    machine: &Callee,
    subject: &program::Subject,
    code: &Lifted,
    setting: &Setting,
    around: &Around,
) -> Read<Own> {
    let (target, written) = known(machine.lifts.arch())?;
    let mut writer = Writer {
        written,
        setting,
        thread: 0,
        spare: Spare::beside(&target, &code.lines)?,
        addresses: Vec::new(),
        lines: Vec::new(),
        init: code.init.clone(),
    };
    let mut shown = Vec::new();
    if let Some(register) = &code.result {
        let scalar = subject.signature.results.first().map(|(_, scalar)| *scalar);
        let bytes = scalar.map_or(8, |scalar| scalar.bytes(8 * setting.word));
        shown.push(result(register, bytes, &mut writer.init)?);
    }
    let mut seen = 0;
    for (ops, before) in [(&around.before, true), (&around.after, false)] {
        if !before {
            writer.lines.extend(code.lines.iter().cloned());
        }
        for op in ops {
            let fences = match (setting.fenced, op.order, op.kind.writes()) {
                (true, ..) => [Some(written.fence); 2],
                (false, Order::Fenced, true) => [None, written.release],
                (false, Order::Fenced, false) => [written.acquire, None],
                _ => [None; 2],
            };
            fences[0].into_iter().for_each(|fence| writer.row(fence.to_string()));
            let read = writer.access(op, op.order == Order::Strong && !setting.fenced)?;
            fences[1].into_iter().for_each(|fence| writer.row(fence.to_string()));
            if let Some(place) = read {
                let bytes = setting.spots[op.spot].size;
                shown.push(Name { place, name: format!("seen_{seen}"), bytes });
                seen += 1;
            }
        }
    }
    Ok(Own { lines: writer.lines, init: writer.init, shown })
}

/// The place of the result. A register that holds an address at first shows a number as the dialect does.
fn result(register: &str, bytes: u8, init: &mut Vec<InitItem>) -> Read<Name> {
    let place = Place::Reg { thread: 0, name: register.to_string() };
    let ty = Type::Int { bytes, signed: false };
    match init.iter_mut().find(|i| i.place == place) {
        Some(item) if bytes == 8 => item.ty = Some(ty),
        Some(_) if bytes == 4 => {}
        Some(_) => {
            return Err(format!(
                "unsupported: a result of {bytes} bytes in {register}, which begins with an address"
            ));
        }
        None => init.push(InitItem {
            place: place.clone(),
            ty: Some(ty),
            value: None,
            span: Span::default(),
        }),
    }
    Ok(Name { place, name: "returned_0".into(), bytes })
}

/// The target of an instruction set, and how it writes accesses.
pub fn known(arch: Arch) -> Read<(Target, &'static Written)> {
    target::of(arch, false, false, false)
        .zip(Written::of(arch))
        .ok_or_else(|| format!("unsupported: contexts of {}", arch.name()))
}

/// The test of a function in a context, with the names of what it shows.
pub fn test(
    machine: &Callee,
    subject: &program::Subject,
    setting: &Setting,
    context: &Context,
    own: &Own,
    initial: u64,
) -> Read<(Test, Vec<Name>)> {
    let arch = machine.lifts.arch();
    let (target, written) = known(arch)?;
    let mut init = setting.items(initial);
    let mut shown: Vec<Place> = init.iter().map(|i| i.place.clone()).collect();
    init.extend(own.init.iter().cloned());
    let mut names = own.shown.clone();
    if subject.observed.undefined {
        let item = place(UNDEFINED, 1, 1);
        shown.push(item.place.clone());
        init.push(item);
    }
    let mut waits = Vec::new();
    let mut threads = vec![own.lines.clone()];
    for (number, ops) in context.others.iter().enumerate() {
        let spare = Spare { names: target.spare.to_vec(), next: 0 };
        let (addresses, lines) = (Vec::new(), Vec::new());
        let mut writer =
            Writer { written, setting, thread: number + 1, spare, addresses, lines, init };
        let mut reads = 0;
        for (n, op) in ops.iter().enumerate() {
            // Nothing is stronger than a fence between accesses.
            if n > 0 {
                writer.row(written.fence.to_string());
            }
            let Some(place) = writer.access(op, false)? else { continue };
            let bytes = setting.spots[op.spot].size;
            if op.kind == Kind::Await {
                let first = Operand::Value(Value::Int((initial & mask(8 * bytes)).into()));
                waits.push(Prop::Cmp(place.clone(), CmpOp::Ne, first));
            }
            names.push(Name { place, name: format!("{}:%r{reads}", number + 1), bytes });
            reads += 1;
        }
        init = writer.init;
        threads.push(writer.lines);
    }
    shown.extend(names.iter().map(|n| n.place.clone()));
    let filter = (!waits.is_empty()).then(|| and(waits));
    let threads = threads.into_iter().map(Body::Asm).collect();
    let test = Test::of_code(arch, subject.function.clone(), init, threads, shown);
    Ok((Test { filter, ..test }, names))
}

/// The states of a test under the names that are compared, in their order.
pub fn states(outcomes: &Outcomes, names: &[Name]) -> Vec<State> {
    let renamed = |(label, value): (&str, Cow<str>)| {
        let label = bare(label);
        let Some(known) = names.iter().find(|n| n.place.to_string() == label) else {
            return (label.into(), value.into());
        };
        // A register may show a number with a sign.
        let number = value.parse::<i64>().ok().filter(|n| *n < 0);
        let value = match number {
            Some(number) => (number as u64 & mask(8 * known.bytes)).to_string().into(),
            None => value.into(),
        };
        (known.name.as_str().into(), value)
    };
    let state = |row: &mut dyn Iterator<Item = (&str, Cow<str>)>| {
        let mut state: State = row.map(renamed).collect();
        state.sort();
        state
    };
    outcomes.states.rows().map(|mut row| state(&mut row)).collect()
}
