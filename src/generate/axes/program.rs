//! From a point of the grid to the text of its test: the threads of the shape, with what each axis
//! puts into them.
//!
//! `*k` is 1 and is never written. `a`, `d`, `s` and `v` with the number of a thread are memory of that
//! thread alone. So of all that threads share, only the data, flags and locks matter. Where the data is
//! a member, `x` is the structure, the data its member `m`, and `n` with the number of a thread a member
//! of that thread alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::data::{self, Type};
use super::sync::{self, Way};
use super::{Axis, Point};

/// The shapes: which threads hand data to which.
pub const SHAPES: [&str; 15] = [
    "MP",
    "S",
    "hand",
    "back",
    "ISA2",
    "lock",
    "pair",
    "MP-open",
    "MP-unused",
    "SB",
    "R",
    "CoRR",
    "SB-idle",
    "SB-used",
    "relay",
];

/// The first shapes, in which families take every choice.
pub const IN_FAMILIES: usize = 14;

/// Shapes of flags alone.
fn has_data(shape: &str) -> bool {
    !matches!(shape, "SB" | "R" | "CoRR" | "SB-idle" | "SB-used")
}

/// Shapes in which the data may be accessed while it is handed over.
pub fn is_open(shape: &str) -> bool {
    matches!(shape, "MP-open" | "MP-unused")
}

/// The test of a point, with its name; none where the choices do not go together.
pub fn text(point: &Point) -> Option<(String, String)> {
    let mut program = Program::new(point);
    program.fits().then_some(())?;
    program.shape()?;
    program.pass_as_arguments()?;
    let statics = program.stored()?;
    let name = point.name();
    let text = program.print(&name, &statics.concat());
    Some((name, text))
}

#[derive(Default)]
pub(super) struct Thread {
    pub(super) body: String,
    /// Locals of the outermost block, with their types, in order.
    pub(super) locals: Vec<(String, String)>,
    /// The locations that it is given, by name: their declarations as parameters.
    pub(super) params: BTreeMap<String, String>,
    /// The locals whose final values are observed.
    pub(super) observed: Vec<String>,
}

pub(super) struct Program<'p> {
    pub(super) point: &'p Point,
    pub(super) shape: &'static str,
    pub(super) ty: &'static Type,
    pub(super) flag: &'static str,
    kind: &'static str,
    alias: &'static str,
    call: &'static str,
    pub(super) member: &'static str,
    pub(super) threads: Vec<Thread>,
    pub(super) helpers: BTreeMap<String, String>,
    /// The final values that the condition names.
    pub(super) finals: Vec<String>,
    /// The local of the current thread for the value that it read early, to be used once it hands over.
    sunk: String,
    /// The index of the current thread.
    pub(super) at: usize,
    fresh: usize,
}

impl<'p> Program<'p> {
    fn new(point: &'p Point) -> Program<'p> {
        Program {
            point,
            shape: point.choice(Axis::Shape),
            ty: &data::TYPES[point.get(Axis::Type).min(data::TYPES.len() - 1)],
            flag: data::FLAGS[point.get(Axis::Flag).min(data::FLAGS.len() - 1)],
            kind: point.choice(Axis::Kind),
            alias: point.choice(Axis::Alias),
            call: point.choice(Axis::Call),
            member: match (point.get(Axis::Member), point.get(Axis::Near)) {
                (0, 1..) => "near",
                _ => point.choice(Axis::Member),
            },
            threads: Vec::new(),
            helpers: BTreeMap::new(),
            finals: Vec::new(),
            sunk: String::new(),
            at: 0,
            fresh: 0,
        }
    }

    pub(super) fn choice(&self, axis: Axis) -> &'static str {
        self.point.choice(axis)
    }

    fn release(&self) -> &'static Way {
        &sync::releases()[self.point.get(Axis::Release).min(sync::releases().len() - 1)]
    }

    fn acquire(&self) -> &'static Way {
        &sync::acquires()[self.point.get(Axis::Acquire).min(sync::acquires().len() - 1)]
    }

    /// Whether the data is in an array: as the second element, and for halves also as the third.
    pub(super) fn array(&self) -> bool {
        self.shape == "pair" || self.halves() || matches!(self.alias, "element" | "index")
    }

    fn halves(&self) -> bool {
        self.choice(Axis::Write) == "halves" || self.choice(Axis::Use) == "halves"
    }

    fn float_flag(&self) -> bool {
        matches!(self.flag, "float" | "double")
    }

    /// Whether the choices go together.
    fn fits(&self) -> bool {
        let atomic = self.kind == "atomic";
        if !self.fits_flag() || !self.fits_kept() {
            return false;
        }
        if !has_data(self.shape) {
            let of_data = [
                Axis::Numbers,
                Axis::Near,
                Axis::Type,
                Axis::Kind,
                Axis::Value,
                Axis::Read,
                Axis::Alias,
                Axis::Write,
                Axis::Use,
                Axis::Call,
                Axis::Early,
                Axis::Member,
            ];
            return of_data.iter().all(|a| self.point.get(*a) == 0)
                && self.choice(Axis::Kept) != "written"
                && self.choice(Axis::Sync) != "with-data";
        }
        let value = self.choice(Axis::Value);
        // As numbers in floating point these are the same for all that a test tells apart; the bits
        // of a number of 32 bits differ in its upper half.
        if self.ty.float && value == "high-bit" || value == "float-bits" && self.ty.bits == 8 {
            return false;
        }
        let halves = [value, self.choice(Axis::Read)].into_iter().any(data::has_halves);
        if halves && (self.ty.bits != 64 || self.ty.float) {
            return false;
        }
        // Arithmetic that overflows is undefined, and compilers count on that.
        let numbers = self.choice(Axis::Numbers);
        let is_large = matches!(value, "high-bit" | "float-bits")
            || data::has_halves(value)
            || value == "constant" && matches!(numbers, "large" | "shifted");
        let scaled = self.choice(Axis::Read) == "scaled" && !self.ty.unsigned && self.ty.bits >= 32;
        if is_large
            && (scaled || self.call == "const" && (self.ty.bits == 32 || numbers != "small"))
        {
            return false;
        }
        if !self.fits_in_structure() || !self.fits_stored() {
            return false;
        }
        // Only constants are drawn, and only data alone has members of threads beside it.
        if numbers != "small" && value != "constant"
            || self.point.get(Axis::Near) > 0 && self.point.get(Axis::Member) > 0
        {
            return false;
        }
        // What is stepped and gets bits is an integer.
        if self.ty.float && self.choice(Axis::Write) == "stepped" {
            return false;
        }
        // Without the flag in between, only atomic data does not race.
        if is_open(self.shape) && !atomic {
            return false;
        }
        if self.shape == "MP-unused" && self.acquire().unused("y", 2).is_none() {
            return false;
        }
        if self.shape == "lock" && !self.acquire().takes() {
            return false;
        }
        // `restrict` promises that nobody else changes the object meanwhile, which holds for owners.
        let restricted = matches!(self.alias, "restrict-call" | "restrict-inline");
        if restricted && self.kind != "plain" {
            return false;
        }
        // Objects of two types are compatible with their qualified versions alone.
        if self.alias == "other-sign" && (atomic || self.ty.float) {
            return false;
        }
        let by_call = restricted || self.alias == "may-alias-call";
        let calls_get = !matches!(self.call, "none" | "const" | "returns-flag" | "scratch-call");
        if by_call && calls_get {
            return false;
        }
        // A pure function reads what nobody changes meanwhile.
        if matches!(self.call, "pure" | "pure-unused") && self.kind != "plain" {
            return false;
        }
        let halved = self.shape == "pair" || self.halves();
        !halved || matches!(self.alias, "direct" | "element")
    }

    /// Whether the choices of the flag go together.
    fn fits_flag(&self) -> bool {
        // Read-modify-writes of parts of words are loops on some machines, and three of them too much.
        let narrow = matches!(self.flag, "int8_t" | "int16_t" | "__int128");
        // Only where nobody asks for the flag again may the answer change it.
        let answer = self.choice(Axis::Answer);
        let answers = self.acquire().answer(answer, "y", self.flag, "r").is_some();
        let asked_once = matches!(self.shape, "MP" | "S" | "hand" | "pair" | "ISA2" | "MP-open");
        if answer != "whole" && !(answers && asked_once && !self.float_flag()) {
            return false;
        }
        // There has to be a fence that stands apart.
        let sync = self.choice(Axis::Sync);
        let apart = matches!(sync, "fence-branch" | "fence-loop");
        if apart && self.release().fence.is_none() && self.acquire().fence.is_none() {
            return false;
        }
        if self.choice(Axis::Early) == "read-sunk" && !(apart || sync == "expected") {
            return false;
        }
        // C fetches and changes integers alone.
        let fetches = |way: &Way| matches!(way.operation, sync::Operation::Fetch(_));
        if self.float_flag() && (fetches(self.release()) || fetches(self.acquire())) {
            return false;
        }
        if narrow && matches!(self.shape, "lock" | "back" | "ISA2" | "relay") {
            return false;
        }
        // The update in between fetches and adds.
        if self.float_flag() && self.shape == "relay" {
            return false;
        }
        if self.shape.starts_with("SB-") && !self.acquire().is_update() {
            return false;
        }
        true
    }

    pub(super) fn is_member(&self) -> bool {
        self.member != "alone"
    }

    /// Whether the data can be the member that the point asks for.
    fn fits_in_structure(&self) -> bool {
        // The final value of a member is not looked at: some thread has to read it.
        if self.is_member() && self.shape == "S" {
            return false;
        }
        match self.member {
            "copied" | "copied-after" => {
                self.kind == "plain"
                    && !self.array()
                    && self.alias == "direct"
                    && self.call == "none"
            }
            "union" => {
                self.kind == "plain"
                    && !self.array()
                    && self.alias == "direct"
                    && matches!(self.call, "none" | "scratch-call" | "returns-flag" | "const")
                    && !self.ty.float
                    && self.choice(Axis::Write) != "stepped"
            }
            // A flag that functions are given is a parameter of theirs.
            "near" => !self.array(),
            "flag-inside" => matches!(self.shape, "MP" | "hand" | "back" | "pair" | "MP-open"),
            _ => true,
        }
    }

    // Threads.

    fn thread(&mut self) -> &mut Thread {
        &mut self.threads[self.at]
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    /// A new local whose final value is observed.
    pub(super) fn observed(&mut self, ty: &str) -> String {
        let at = self.threads[self.at].locals.len();
        let name = format!("r{at}");
        let thread = self.thread();
        thread.locals.push((ty.to_string(), name.clone()));
        thread.observed.push(name.clone());
        name
    }

    /// A type that holds whatever is kept of the data.
    fn wide(&self) -> &'static str {
        // A number that is kept whole is seen by its bits.
        let kept = matches!(self.choice(Axis::Read), "whole" | "twice");
        let is_large = self.ty.bits > 64;
        if self.ty.float && kept
            || is_large && (kept || matches!(self.choice(Axis::Read), "scaled" | "reassembled"))
        {
            return self.ty.name;
        }
        match self.ty.bits == 64
            || self.ty.name == "uint32_t"
            || self.choice(Axis::Read) == "widened"
        {
            true => "int64_t",
            false => "int",
        }
    }

    pub(super) fn scratch(&mut self, name: &str, ty: &str) -> String {
        let name = format!("{name}{}", self.at);
        let declaration = format!("{ty} *{name}");
        self.thread().params.insert(name.clone(), declaration);
        name
    }

    /// Adds the parameters of the thread that some code uses.
    fn need(&mut self, code: &str) {
        if code.contains("*k") {
            self.thread().params.insert("k".into(), "int *k".into());
        }
        let v = format!("*v{}", self.at);
        if code.contains(&v) {
            self.scratch("v", "int");
        }
        for (name, text) in data::BITS {
            if code.contains(&format!("{name}(")) {
                let text = format!("static inline __attribute__((always_inline)) {text}");
                self.helper(name, text);
            }
        }
    }

    fn helper(&mut self, name: &str, text: String) -> String {
        self.helpers.insert(name.to_string(), text);
        name.to_string()
    }

    // The data.

    /// The type of the data with its qualifiers.
    fn object(&self) -> String {
        match self.kind {
            "atomic" => format!("_Atomic {}", self.ty.name),
            "volatile" => format!("volatile {}", self.ty.name),
            _ => self.ty.name.to_string(),
        }
    }

    /// The data's address as an expression: of the element `which` where it is an array. What has to
    /// stand before goes to `before`.
    fn address(&mut self, which: usize, before: &mut String, reads: bool) -> String {
        let object = self.object();
        let x = self.data();
        if self.array() && self.alias != "index" {
            return format!("({x} + {which})");
        }
        match self.alias {
            "index" => format!("({x} + *k)"),
            "const" if reads => format!("(const {object} *){x}"),
            "volatile-once" if self.kind != "volatile" => format!("(volatile {object} *){x}"),
            "other-sign" => {
                let volatile = if self.kind == "volatile" { "volatile " } else { "" };
                format!("({volatile}{} *){x}", self.ty.other)
            }
            "chosen-pointer" => {
                let other = self.scratch("s", &object);
                let p = self.fresh("p");
                let _ = writeln!(before, "{object} *{p} = *k ? {x} : {other};");
                p
            }
            "local-pointer" => {
                let p = self.fresh("p");
                let _ = writeln!(before, "{object} *{p} = {x};");
                p
            }
            // What the union holds as one type is read as the other.
            _ if self.member == "union" && reads => "(&x->o)".into(),
            _ => x.into(),
        }
    }

    /// The data's address, or that of its first element.
    fn data(&mut self) -> &'static str {
        if !self.is_member() {
            let declaration = format!("{} *x", self.object());
            self.thread().params.insert("x".into(), declaration);
            return "x";
        }
        self.structure();
        if self.array() { "x->m" } else { "(&x->m)" }
    }

    /// The thread is given the structure that the data is in.
    pub(super) fn structure(&mut self) {
        let word = if self.member == "union" { "union" } else { "struct" };
        self.thread().params.insert("x".into(), format!("{word} D *x"));
    }

    /// The definition of that structure.
    fn definition(&self) -> Option<String> {
        if !self.is_member() {
            return None;
        }
        let (object, ty) = (self.object(), self.ty.name);
        let size = if self.array() { "[4]" } else { "" };
        let m = format!("{object} m{size};");
        let own = |ty: &str| -> Vec<String> {
            (0..self.threads.len()).map(|n| format!("{ty} n{n};")).collect()
        };
        let around = |members: Vec<String>| {
            let (first, rest) = members.split_at(1);
            format!("{} {m} {}", first.join(" "), rest.join(" "))
        };
        Some(match self.member {
            "neighbours" => format!("struct D {{ {} }};", around(own(ty))),
            "neighbours-8" => format!("struct D {{ {} }};", around(own("int8_t"))),
            "beside-atomic" => format!("struct D {{ {m} _Atomic {} c; }};", self.whole()),
            "beside-const" => format!("struct D {{ const {} c; {m} }};", self.whole()),
            "flag-inside" => format!("struct D {{ {m} _Atomic {} f; }};", self.flag),
            "near" => self.near_definition(&m),
            "union" => format!("union D {{ {m} {} o; }};", self.ty.other),
            _ => format!("struct D {{ int8_t a; {m} int8_t b; }};"),
        })
    }

    /// The integer type of the data's width.
    fn whole(&self) -> &'static str {
        if self.ty.float { self.ty.other } else { self.ty.name }
    }

    /// The thread's accesses to other members of the structure, before and after all else.
    fn beside(&mut self) -> (String, String) {
        let n = self.at;
        match self.member {
            "neighbours" | "neighbours-8" => {
                self.structure();
                let ty = if self.member == "neighbours" { self.wide_of_data() } else { "int" };
                let r = self.observed(ty);
                (format!("x->n{n} = 5;\n"), format!("{r} = x->n{n};\n"))
            }
            "beside-atomic" => {
                self.structure();
                let r = self.observed("int64_t");
                let start =
                    format!("atomic_store_explicit(&x->c, {}, memory_order_relaxed);\n", n + 1);
                (start, format!("{r} = atomic_load_explicit(&x->c, memory_order_relaxed);\n"))
            }
            "beside-const" => {
                self.structure();
                let r = self.observed("int64_t");
                (String::new(), format!("{r} = x->c;\n"))
            }
            "flag-inside" => (self.flag_inside(), String::new()),
            "near" => {
                let (first, last) = self.near();
                let flag = if self.has_flag_inside() { self.flag_inside() } else { String::new() };
                (flag + &first, last)
            }
            _ => (String::new(), String::new()),
        }
    }

    /// The declaration of the flag as the member that it is.
    fn flag_inside(&mut self) -> String {
        self.structure();
        format!("_Atomic {} *y = &x->f;\n", self.flag)
    }

    /// A type that holds the data whole.
    pub(super) fn wide_of_data(&self) -> &'static str {
        match (self.ty.float, self.ty.bits) {
            (true, _) | (_, 128) => self.ty.name,
            (_, 64) => "int64_t",
            _ if self.ty.name == "uint32_t" => "int64_t",
            _ => "int",
        }
    }

    fn attributes(&self) -> &'static str {
        match self.call {
            "inline" => "static inline __attribute__((always_inline))",
            "cold" => "static __attribute__((noinline, cold))",
            _ => "static __attribute__((noinline))",
        }
    }

    /// The parameter through which an object is reached, whether it is read or written.
    fn pointer(&self, object: &str) -> String {
        match self.alias {
            "volatile-once" if self.kind != "volatile" => format!("volatile {object} *p"),
            "other-sign" if self.kind == "volatile" => format!("volatile {} *p", self.ty.other),
            "other-sign" => format!("{} *p", self.ty.other),
            _ => format!("{object} *p"),
        }
    }

    /// How a function that has two pointers begins, and the word that its pointers have.
    fn head_of_call(&self) -> (&'static str, &'static str) {
        match self.alias {
            "restrict-call" => ("static __attribute__((noinline))", "restrict "),
            "restrict-inline" => ("static inline __attribute__((always_inline))", "restrict "),
            _ => ("static __attribute__((noinline))", ""),
        }
    }

    /// A load of the data: what stands before, and the value's expression.
    fn load(&mut self, which: usize) -> (String, String) {
        let mut before = String::new();
        if self.member == "copied" {
            self.structure();
            let c = self.fresh("c");
            return (format!("struct D {c} = *x;\n"), format!("{c}.m"));
        }
        let at = self.address(which, &mut before, true);
        let (object, ty) = (self.object(), self.ty.name);
        let plain = match self.kind {
            "atomic" => "atomic_load_explicit(p, memory_order_relaxed)".to_string(),
            _ => "*p".to_string(),
        };
        // What is reached through a cast is handed on as that.
        let parameter = match self.alias {
            "const" => format!("const {object} *p"),
            _ => self.pointer(&object),
        };
        match self.alias {
            "restrict-call" | "restrict-inline" | "may-alias-call" => {
                let scratch = self.scratch("s", &object);
                let (head, word) = self.head_of_call();
                let set = match self.kind {
                    "atomic" => "atomic_store_explicit(q, 5, memory_order_relaxed)",
                    _ => "*q = 5",
                };
                let text = format!(
                    "{head} {ty} get({object} *{word}p, {object} *{word}q) {{\n{ty} t = {plain};\n\
                     {set};\nreturn t;\n}}\n"
                );
                let get = self.helper("get", text);
                return (before, format!("{get}({at}, {scratch})"));
            }
            _ => {}
        }
        let head = self.attributes();
        match self.call {
            "noinline" | "inline" | "cold" => {
                let text = format!("{head} {ty} get({parameter}) {{\nreturn {plain};\n}}\n");
                let get = self.helper("get", text);
                (before, format!("{get}({at})"))
            }
            "recursive" => {
                let text = format!(
                    "static inline {ty} get({parameter}, int n) {{\n\
                     if (n > 0) {{\nreturn get(p, n - 1);\n}}\nreturn {plain};\n}}\n"
                );
                let get = self.helper("get", text);
                (before, format!("{get}({at}, *k)"))
            }
            "pure" | "pure-unused" => {
                let text = format!(
                    "static __attribute__((noinline, pure)) {ty} get({parameter}) {{\nreturn {plain};\n}}\n"
                );
                let get = self.helper("get", text);
                if self.call == "pure-unused" {
                    let _ = writeln!(before, "{get}({at});");
                }
                (before, format!("{get}({at})"))
            }
            "two-levels" => {
                let text = format!("{head} {ty} get({parameter}) {{\nreturn {plain};\n}}\n");
                self.helper("get", text);
                let text = format!("{head} {ty} get2({parameter}) {{\nreturn get(p) + 1;\n}}\n");
                let get = self.helper("get2", text);
                (before, format!("{get}({at})"))
            }
            "out-local" => {
                let o = self.fresh("o");
                let text =
                    format!("{head} void fetch({parameter}, {ty} *o) {{\n*o = {plain};\n}}\n");
                let fetch = self.helper("fetch", text);
                let _ = writeln!(before, "{ty} {o} = 0;\n{fetch}({at}, &{o});");
                (before, o)
            }
            _ if self.kind == "atomic" => {
                (before, format!("atomic_load_explicit({at}, memory_order_relaxed)"))
            }
            _ => (before, format!("*{at}")),
        }
    }

    /// A store of a value to the data.
    fn store(&mut self, which: usize, value: &str) -> String {
        let mut out = String::new();
        if self.member == "copied" {
            self.structure();
            let c = self.fresh("c");
            return format!("struct D {c};\n{c}.m = {value};\n*x = {c};\n");
        }
        let at = self.address(which, &mut out, false);
        let (object, ty) = (self.object(), self.ty.name);
        let mut value = value.to_string();
        let plain = match self.kind {
            "atomic" => "atomic_store_explicit(p, w, memory_order_relaxed)",
            _ => "*p = w",
        };
        let parameter = self.pointer(&object);
        match self.alias {
            "restrict-call" | "restrict-inline" | "may-alias-call" => {
                let scratch = self.scratch("s", &object);
                let (head, word) = self.head_of_call();
                let set = match self.kind {
                    "atomic" => "atomic_store_explicit(q, w, memory_order_relaxed)",
                    _ => "*q = w",
                };
                let text = format!(
                    "{head} void put({object} *{word}p, {object} *{word}q, {ty} w) {{\n{set};\n{plain};\n}}\n"
                );
                let put = self.helper("put", text);
                let _ = writeln!(out, "{put}({at}, {scratch}, {value});");
                return out;
            }
            _ => {}
        }
        let head = self.attributes();
        match self.call {
            "const" => {
                let text = "static __attribute__((noinline, const)) int same(int w) {\n\
                            return (w * 4 + 4) / 4 - 1;\n}\n";
                let same = self.helper("same", text.into());
                value = format!("({ty}){same}((int){value})");
            }
            "noinline" | "inline" | "cold" => {
                let text = format!("{head} void put({parameter}, {ty} w) {{\n{plain};\n}}\n");
                let put = self.helper("put", text);
                let _ = writeln!(out, "{put}({at}, {value});");
                return out;
            }
            "recursive" => {
                let text = format!(
                    "static inline void put({parameter}, {ty} w, int n) {{\n\
                     if (n > 0) {{\nput(p, w, n - 1);\nreturn;\n}}\n{plain};\n}}\n"
                );
                let put = self.helper("put", text);
                let _ = writeln!(out, "{put}({at}, {value}, *k);");
                return out;
            }
            "two-levels" => {
                let text = format!("{head} void put({parameter}, {ty} w) {{\n{plain};\n}}\n");
                self.helper("put", text);
                let text =
                    format!("{head} void put2({parameter}, {ty} w) {{\nput(p, w + 1);\n}}\n");
                let put = self.helper("put2", text);
                let _ = writeln!(out, "{put}({at}, {value});");
                return out;
            }
            _ => {}
        }
        let _ = match self.kind {
            "atomic" => {
                writeln!(out, "atomic_store_explicit({at}, {value}, memory_order_relaxed);")
            }
            _ => writeln!(out, "*{at} = {value};"),
        };
        out
    }

    fn braced(code: &str) -> String {
        format!("{{\n{code}}}\n")
    }

    /// One store of the value that belongs to `n`, with what the alias axis puts after it.
    fn put(&mut self, which: usize, n: u32) -> String {
        let numbers = self.choice(Axis::Numbers);
        let value = data::value(self.choice(Axis::Value), numbers, self.ty, n, self.at);
        let mut out = match self.choice(Axis::Kept) {
            "written" => {
                let r = self.observed(self.wide_of_data());
                format!("{r} = {value};\n{}", self.store(which, &format!("({}){r}", self.ty.name)))
            }
            _ => self.store(which, &value),
        };
        if self.alias == "bytes-between" {
            let c = self.scratch("c", "int8_t");
            let _ = writeln!(out, "*{c} = {n};");
        }
        if self.call == "scratch-call" {
            out.push_str(&self.touch());
        }
        out
    }

    /// A call of a function that knows nothing of the data.
    fn touch(&mut self) -> String {
        let s = self.scratch("d", "int");
        let text = "static __attribute__((noinline)) void touch(int *p) {\n*p = *p + 1;\n}\n";
        let touch = self.helper("touch", text.into());
        format!("{touch}({s});\n")
    }

    /// The write of the data that belongs to `n`.
    fn write(&mut self, n: u32) -> String {
        let mut out = match self.choice(Axis::Write) {
            "dead-before" => self.put(1, n + 3) + &self.put(1, n),
            "half-dead" => {
                let dead = self.put(1, n + 3);
                format!("{dead}if (*k) {}", Self::braced(&self.put(1, n)))
            }
            "diamond-same" => {
                let yes = Self::braced(&self.put(1, n));
                format!("if (*k) {yes}else {}", Self::braced(&self.put(1, n)))
            }
            "diamond" => {
                let yes = Self::braced(&self.put(1, n));
                format!("if (*k) {yes}else {}", Self::braced(&self.put(1, n + 3)))
            }
            "read-first" => {
                let r = self.observed(self.wide());
                let (before, value) = self.load(1);
                format!("{before}{r} = {value};\n{}", self.put(1, n))
            }
            "added" => {
                let (before, value) = self.load(1);
                before + &self.store(1, &format!("{value} + {n}"))
            }
            "stepped" if self.kind == "plain" && matches!(self.alias, "direct" | "element") => {
                let mut before = String::new();
                let at = self.address(1, &mut before, false);
                format!("{before}++*{at};\n*{at} |= {};\n", n << 1)
            }
            "written-back" => {
                let (before, value) = self.load(1);
                before + &self.store(1, &value) + &self.put(1, n)
            }
            "halves" => self.put(1, n) + &self.put(2, n + 1),
            _ => self.put(1, n),
        };
        if self.shape == "pair" {
            out += &self.put(2, n + 1);
        }
        out += &self.copy();
        if self.choice(Axis::Loop) == "around-data" {
            out = format!("for (int i = 0; i < *k; i++) {}", Self::braced(&out));
        }
        self.around(out)
    }

    /// The read of the data, into locals that are looked at.
    fn read(&mut self) -> String {
        let mut out = String::new();
        if self.call == "scratch-call" {
            out.push_str(&self.touch());
        }
        out += &match self.choice(Axis::Use) {
            "one-way" => {
                let t = self.fresh("t");
                let (before, value) = self.load(1);
                let ty = self.ty.name;
                let keep = self.keep(&t);
                format!("{before}{ty} {t} = {value};\nif (*k) {}", Self::braced(&keep))
            }
            "diamond-same" => {
                let (r, wide) = (self.observed(self.wide()), self.wide());
                let _ = wide;
                let (before, value) = self.load(1);
                let (again, same) = self.load(1);
                format!(
                    "if (*k) {{\n{before}{r} = {value};\n}} else {{\n{again}{r} = {same};\n}}\n"
                )
            }
            "diamond" => {
                let r = self.observed(self.wide());
                let (before, value) = self.load(1);
                let (again, same) = self.load(1);
                format!(
                    "if (*k) {{\n{before}{r} = {value};\n}} else {{\n{again}{r} = {same} + 1;\n}}\n"
                )
            }
            "unused-too" => {
                let (before, value) = self.load(1);
                let rest = self.get(1);
                format!("{before}{value};\n{rest}")
            }
            "halves" => self.get(1) + &self.get(2),
            "likely" => {
                let inner = Self::braced(&self.get(1));
                format!("if (__builtin_expect(*k == 1, 1)) {inner}")
            }
            "both-sides" => {
                let first = self.get(1);
                let d = self.scratch("d", "int");
                let second = self.get(1);
                format!("{first}*{d} = 3;\n{second}")
            }
            "stored-on" => {
                let (before, value) = self.load(1);
                let ty = self.ty.name;
                let s = self.scratch("h", ty);
                let keep = self.keep(&format!("*{s}"));
                format!("{before}*{s} = {value};\n{keep}")
            }
            _ => self.get(1),
        };
        if self.shape == "pair" {
            out += &self.get(2);
        }
        out += &self.copy();
        if self.choice(Axis::Loop) == "around-data" {
            out = format!("for (int i = 0; i < *k; i++) {}", Self::braced(&out));
        }
        self.around(out)
    }

    /// The owner copies the structure to memory of its own, and looks at the copy.
    fn copy(&mut self) -> String {
        if self.member != "copied-after" {
            return String::new();
        }
        self.structure();
        let e = self.scratch("e", "struct D");
        let r = self.observed(self.wide_of_data());
        format!("*{e} = *x;\n{r} = {e}->m;\n")
    }

    /// The parts of a value go to locals that are looked at.
    fn keep(&mut self, value: &str) -> String {
        let mut out = String::new();
        for part in data::parts(self.choice(Axis::Read), self.ty, value) {
            let r = self.observed(self.wide());
            let _ = writeln!(out, "{r} = {part};");
        }
        out
    }

    /// Loads the data, and keeps what the axis of reads says.
    fn get(&mut self, which: usize) -> String {
        let (before, value) = self.load(which);
        let read = self.choice(Axis::Read);
        let parts = data::parts(read, self.ty, "v").len();
        let mut out = before;
        if read == "twice" {
            let (again, same) = self.load(which);
            let keep = self.keep(&value);
            return out + &keep + &again + &self.keep(&same);
        }
        match parts {
            1 if read != "reassembled" => out += &self.keep(&value),
            _ => {
                let t = self.fresh("t");
                let _ = writeln!(out, "{} {t} = {value};", self.ty.name);
                out += &self.keep(&t);
            }
        }
        if self.alias == "bytes-between" {
            let c = self.scratch("c", "int8_t");
            let _ = writeln!(out, "*{c} = 9;");
            let (again, same) = self.load(which);
            out += &again;
            out += &self.keep(&same);
        }
        out
    }

    /// An operation with plain accesses to the thread's own memory around it.
    fn around(&mut self, code: String) -> String {
        let choice = self.choice(Axis::Around);
        let ty = match choice.rsplit('-').next() {
            Some("8") => "uint8_t",
            Some("16") => "int16_t",
            Some("64") => "int64_t",
            Some("128") => "__int128",
            _ => "int",
        };
        match choice {
            "none" => code,
            "copies" => {
                let (a, b) = (self.scratch("a", "int64_t"), self.scratch("b", "int"));
                format!("*{a} = *{b};\n{code}*{b} = *{a} + 1;\n")
            }
            "steps" => {
                let a = self.scratch("a", "int");
                format!("++*{a};\n{code}++*{a};\n")
            }
            "spans" => {
                let a = self.scratch("a", "int");
                let r = self.observed("int");
                format!("*{a} = 2;\n{code}{r} = *{a};\n")
            }
            // A load of what is const must not write, however a machine loads so many bytes at once.
            choice if choice.starts_with("table") => {
                let q = self.scratch("q", &format!("const _Atomic {ty}"));
                let r = self.observed(ty);
                format!("{code}{r} = atomic_load_explicit({q}, memory_order_relaxed);\n")
            }
            choice if choice.starts_with("stores") => {
                let a = self.scratch("a", ty);
                format!("*{a} = 1;\n{code}*{a} = 2;\n")
            }
            _ => {
                let (a, b) = (self.scratch("a", ty), self.scratch("b", ty));
                let t = self.fresh("t");
                format!("{ty} {t} = *{a};\n{code}*{b} = {t};\n")
            }
        }
    }

    // The flag.

    fn flag_parameter(&mut self, flag: &str) {
        if self.has_flag_inside() {
            return;
        }
        let declaration = format!("_Atomic {} *{flag}", self.flag);
        self.thread().params.insert(flag.into(), declaration);
    }

    /// An operation on the flag where the axis says that it stands. `kept` is the local that it
    /// assigns, and `name` what a function with it is called.
    fn wrapped(&mut self, code: String, flag: &str, kept: Option<&str>, name: &str) -> String {
        let wrap = match (self.choice(Axis::Sync), self.call) {
            ("straight", "returns-flag") => "noinline",
            (wrap, _) => wrap,
        };
        let sunk = match name {
            "give" => std::mem::take(&mut self.sunk),
            _ => String::new(),
        };
        match wrap {
            "fence-branch" | "fence-loop" => {
                // The fence stays outside, before what is released or after what is acquired.
                let is_fence = |line: &str| line.starts_with("atomic_thread_fence");
                let lines: Vec<&str> = code.split_inclusive('\n').collect();
                let (before, rest) = match lines.split_first() {
                    Some((first, rest)) if is_fence(first) => (*first, rest),
                    _ => ("", &lines[..]),
                };
                let (after, rest) = match rest.split_last() {
                    Some((last, rest)) if before.is_empty() && is_fence(last) => (*last, rest),
                    _ => ("", rest),
                };
                let inner = rest.concat() + &sunk;
                if before.is_empty() && after.is_empty() {
                    return inner;
                }
                let head = match wrap {
                    "fence-loop" => "for (int i = 0; i < *k; i++) ",
                    _ => "if (*k) ",
                };
                format!("{before}{head}{}{after}", Self::braced(&inner))
            }
            "diamond" => {
                let both = Self::braced(&code);
                format!("if (*k) {both}else {both}")
            }
            "loop" => format!("for (int i = 0; i < *k; i++) {}", Self::braced(&code)),
            "expected" => {
                let inner = Self::braced(&(code + &sunk));
                format!("if (__builtin_expect(*k == 1, 1)) {inner}")
            }
            "noinline" | "inline" | "recursive" => {
                let head = match wrap {
                    "inline" => "static inline __attribute__((always_inline))",
                    "recursive" => "static inline",
                    _ => "static __attribute__((noinline))",
                };
                let ty = self.flag;
                // What the operation needs beside the flag, and what a function that calls itself is given.
                let needs_k = code.contains("*k");
                self.need(&code);
                let mut given = if needs_k { ", k" } else { "" }.to_string();
                let mut params = if needs_k { ", int *k" } else { "" }.to_string();
                if wrap == "recursive" {
                    params.push_str(", int n");
                }
                // In the function the flag is `f` and the result `r`.
                let inner = rename(&code, flag, "f");
                let text = |own: &str| match kept {
                    Some(kept) => {
                        let inner = rename(&rename(&inner, kept, "r"), &format!("{kept}e"), "re");
                        let first = match wrap {
                            "recursive" => {
                                format!("if (n > 0) {{\nreturn {own}(f{given}, n - 1);\n}}\n")
                            }
                            _ => String::new(),
                        };
                        format!(
                            "{head} {ty} {own}(_Atomic {ty} *f{params}) {{\n{first}{ty} r = 0;\n{inner}\
                             return r;\n}}\n"
                        )
                    }
                    None => {
                        let first = match wrap {
                            "recursive" => {
                                format!("if (n > 0) {{\n{own}(f{given}, n - 1);\nreturn;\n}}\n")
                            }
                            _ => String::new(),
                        };
                        format!("{head} void {own}(_Atomic {ty} *f{params}) {{\n{first}{inner}}}\n")
                    }
                };
                // Two operations that differ are two functions.
                let mut own = name.to_string();
                while self.helpers.get(&own).is_some_and(|t| *t != text(&own)) {
                    own.push('x');
                }
                let text = text(&own);
                let call = self.helper(&own, text);
                if wrap == "recursive" {
                    given.push_str(", *k");
                }
                match kept {
                    Some(kept) => format!("{kept} = {call}({flag}{given});\n"),
                    None => format!("{call}({flag}{given});\n"),
                }
            }
            _ => code,
        }
    }

    fn give(&mut self, flag: &str, old: u32, new: u32) -> String {
        self.flag_parameter(flag);
        let way = self.release();
        let used = way.used && way.operation != sync::Operation::Store;
        let kept = if used { self.observed(self.flag) } else { self.fresh("u") };
        let operand = self.choice(Axis::Operand);
        let code = way.release(operand, (flag, self.flag), (old, new), &kept);
        let code = self.wrapped(code, flag, used.then_some(kept.as_str()), "give");
        let code = self.between(code);
        self.around(code)
    }

    /// An acquire of the flag: its code, and the local that receives the flag's value.
    fn take(&mut self, flag: &str, set: u32) -> (String, String) {
        self.flag_parameter(flag);
        let into = self.observed(self.flag);
        let way = self.acquire();
        let code = match way.answer(self.choice(Axis::Answer), flag, self.flag, &into) {
            Some(code) => code,
            None => way.acquire(flag, self.flag, set, &into),
        };
        let code = self.wrapped(code, flag, Some(&into), "take");
        let code = self.between(code);
        (self.around(code), into)
    }

    // Shapes.

    /// Writes the next thread. An owner first accesses its data as the axis `early` says.
    fn next(&mut self, owner: bool, f: impl FnOnce(&mut Self) -> String) {
        self.threads.push(Thread::default());
        self.at = self.threads.len() - 1;
        let (mut start, mut end) = (String::new(), String::new());
        if owner {
            match self.choice(Axis::Early) {
                "read" => {
                    let r = self.observed(self.wide());
                    let (before, value) = self.load(1);
                    start = format!("{before}{r} = {value};\n");
                }
                "read-kept" => {
                    let (r, t) = (self.observed(self.wide()), self.fresh("t"));
                    let (before, value) = self.load(1);
                    start = format!("{before}{} {t} = {value};\n", self.ty.name);
                    end = format!("{r} = {t};\n");
                }
                "read-sunk" => {
                    let (r, t) = (self.observed(self.wide()), self.fresh("t"));
                    let (before, value) = self.load(1);
                    start = format!("{before}{} {t} = {value};\n", self.ty.name);
                    self.sunk = format!("{r} = {t};\n");
                }
                "written" => start = self.put(1, 6),
                _ => {}
            }
        }
        let (first, last) = self.beside();
        let body = format!("{start}{}{end}", f(self));
        // The flag's name stands before all that uses it.
        let named = self.has_flag_inside();
        let (name, first) = match first.split_once('\n') {
            Some((name, rest)) if named => (format!("{name}\n"), rest.to_string()),
            _ => (String::new(), first),
        };
        let body = format!("{first}{body}{last}");
        let body = match self.choice(Axis::Loop) {
            "counted" => format!("for (int j = 0; j < *k; j++) {}", Self::braced(&body)),
            "while" => format!("int n = *k & 1;\nwhile (n) {{\n{body}n = n - 1;\n}}\n"),
            "do-once" => format!("do {{\n{body}}} while (0);\n"),
            "do-known" => format!("do {{\n{body}}} while (*k > 1);\n"),
            "breaks" => {
                format!("for (int j = 0; j < 2; j++) {{\n{body}if (*k) {{\nbreak;\n}}\n}}\n")
            }
            _ => body,
        };
        let body = name + &body;
        self.need(&body);
        self.thread().body = body;
    }

    /// A write and the release after it, on both ways of a branch where the axis says so.
    fn write_and_give(&mut self, n: u32, flag: &str, old: u32, new: u32) -> String {
        let (write, give) = (self.write(n), self.give(flag, old, new));
        match self.choice(Axis::Sync) {
            "with-data" => {
                let other = self.put(1, n + 3);
                format!("if (*k) {{\n{write}{give}}} else {{\n{other}{give}}}\n")
            }
            _ => write + &give,
        }
    }

    /// An acquire, and what is done where the flag was found set.
    fn take_and(&mut self, flag: &str, set: u32, f: impl FnOnce(&mut Self) -> String) -> String {
        let (take, r) = self.take(flag, set);
        let inner = f(self);
        let code = format!("{take}if ({r} == {set}) {}", Self::braced(&inner));
        match self.choice(Axis::Sync) {
            "with-data" => format!("if (*k) {{\n{code}}} else {{\n{code}}}\n"),
            _ => code,
        }
    }

    fn shape(&mut self) -> Option<()> {
        let data = if self.array() { "x[1]" } else { "x" };
        if has_data(self.shape) && !self.is_member() {
            self.finals.push(data.into());
        }
        match self.shape {
            "MP" | "pair" => {
                self.next(true, |p| p.write_and_give(1, "y", 0, 1));
                self.next(false, |p| p.take_and("y", 1, |p| p.read()));
            }
            "S" => {
                self.next(true, |p| p.write_and_give(2, "y", 0, 1));
                self.next(false, |p| p.take_and("y", 1, |p| p.write(1)));
            }
            "hand" => {
                // A read that is to sink is the only one, or the other one would hold it in its place.
                let sinks = self.choice(Axis::Early) == "read-sunk";
                self.next(true, |p| {
                    let read = if sinks { String::new() } else { p.read() };
                    read + &p.give("y", 0, 1)
                });
                self.next(false, |p| p.take_and("y", 1, |p| p.write(1)));
            }
            "back" => {
                self.next(true, |p| {
                    let there = p.write_and_give(1, "y", 0, 1);
                    there + &p.take_and("y", 3, |p| p.read())
                });
                self.next(false, |p| p.take_and("y", 1, |p| p.write_and_give(2, "y", 1, 3)));
            }
            "ISA2" => {
                self.next(true, |p| p.write_and_give(1, "y", 0, 1));
                self.next(false, |p| p.take_and("y", 1, |p| p.give("z", 0, 1)));
                self.next(false, |p| p.take_and("z", 1, |p| p.read()));
            }
            // What is released is seen also by whom reads what an update made of it, relaxed as the update may be.
            "relay" => {
                self.next(true, |p| p.write_and_give(1, "y", 0, 1));
                self.next(false, |p| {
                    p.flag_parameter("y");
                    let r = p.observed(p.flag);
                    let update = "atomic_fetch_add_explicit(y, 2, memory_order_relaxed)";
                    p.between(format!("{r} = {update};\n"))
                });
                self.next(false, |p| p.take_and("y", 3, |p| p.read()));
            }
            "lock" => self.lock(),
            "MP-open" => {
                self.next(true, |p| p.write_and_give(1, "y", 0, 1));
                self.next(false, |p| p.take("y", 1).0 + &p.read());
            }
            "MP-unused" => {
                self.finals.push("y".into());
                self.next(true, |p| p.write_and_give(1, "y", 0, 1));
                let code = self.acquire().unused("y", 2)?;
                self.next(false, |p| {
                    p.flag_parameter("y");
                    let code = p.wrapped(code, "y", None, "take");
                    p.around(code) + &p.read()
                });
            }
            "SB" => {
                self.next(false, |p| p.give("x", 0, 1) + &p.take("y", 1).0);
                self.next(false, |p| p.give("y", 0, 1) + &p.take("x", 1).0);
            }
            "SB-idle" | "SB-used" => self.store_buffering_with_update(),
            "R" => {
                self.finals.push("y".into());
                self.next(false, |p| p.give("x", 0, 1) + &p.give("y", 0, 1));
                self.next(false, |p| p.give("y", 0, 3) + &p.take("x", 1).0);
            }
            _ => {
                self.next(false, |p| p.give("y", 0, 1));
                self.next(false, |p| p.take("y", 1).0 + &p.take("y", 1).0);
            }
        }
        Some(())
    }

    /// Two threads that each take a lock, and write.
    fn lock(&mut self) {
        for n in [1, 2] {
            self.next(false, |p| {
                p.flag_parameter("y");
                let into = p.observed(p.flag);
                let take = p.acquire().take("y", p.flag, &into);
                let take = p.wrapped(take, "y", Some(&into), "take");
                let read = p.read();
                let write = p.write(n);
                // Whoever has the lock alone knows what it holds, so a store gives it back.
                let order = match p.release().order {
                    "relaxed" => "release",
                    "acq_rel" => "release",
                    order => order,
                };
                let give = format!("atomic_store_explicit(y, 0, memory_order_{order});\n");
                let give = p.wrapped(give, "y", None, "give");
                format!("{take}if ({into} == 0) {{\n{read}{write}{give}}}\n")
            });
        }
    }

    /// Store buffering with an update in between that both threads make of one location: the second
    /// of them reads from the first, so one thread sees what the other wrote.
    fn store_buffering_with_update(&mut self) {
        for (own, other) in [("x", "y"), ("y", "x")] {
            self.next(false, |p| {
                for flag in [own, other, "z"] {
                    p.flag_parameter(flag);
                }
                let store = format!("atomic_store_explicit({own}, 1, memory_order_relaxed);\n");
                let kept = match p.shape {
                    "SB-used" => Some(p.observed(p.flag)),
                    _ => None,
                };
                let update = p.acquire().update("z", kept.as_deref());
                let update = p.wrapped(update, "z", kept.as_deref(), "update");
                let r = p.observed(p.flag);
                let load = format!("{r} = atomic_load_explicit({other}, memory_order_relaxed);\n");
                store + &p.around(update) + &load
            });
        }
    }

    fn print(&self, name: &str, statics: &str) -> String {
        let mut init: BTreeMap<String, String> = BTreeMap::new();
        for thread in &self.threads {
            for (name, declaration) in &thread.params {
                let ty = declaration.rsplit_once(" *").map_or("int", |(ty, _)| ty);
                let ty = ty.trim_start_matches("const ").trim_start_matches("volatile ");
                let ty = ty.trim_start_matches("_Atomic ");
                let text = match name.as_str() {
                    name if name.starts_with('q') => format!("{ty} {name} = 7;"),
                    "k" => "int k = 1;".to_string(),
                    name if name.starts_with('i') => format!("int {name} = {};", &name[1..]),
                    "x" if has_data(self.shape) && self.array() && !self.is_member() => {
                        format!("{ty} x[4];")
                    }
                    name => format!("{ty} {name};"),
                };
                init.insert(name.clone(), text);
            }
        }
        let init: Vec<String> = init.into_values().collect();
        let mut out = format!("C {name}\n{{ {} }}\n", init.join(" "));
        if let Some(definition) = self.definition() {
            let _ = writeln!(out, "{definition}");
        }
        out.push_str(statics);
        for helper in self.helpers.values() {
            out.push_str(helper);
        }
        let mut observed = Vec::new();
        for (i, thread) in self.threads.iter().enumerate() {
            let params: Vec<&str> = thread.params.values().map(String::as_str).collect();
            let _ = writeln!(out, "P{i}({}) {{", params.join(", "));
            for (ty, name) in &thread.locals {
                let _ = writeln!(out, "{ty} {name} = 0;");
            }
            out.push_str(&thread.body);
            out.push_str("}\n");
            observed.extend(thread.observed.iter().map(|r| format!("{i}:{r}")));
        }
        observed.extend(self.finals.iter().cloned());
        let first: Vec<String> = observed
            .iter()
            .take(1)
            .map(|o| if o.contains(':') { format!("{o}=0") } else { format!("[{o}]=0") })
            .collect();
        let _ = writeln!(out, "locations [{};]", observed.join("; "));
        let _ = writeln!(out, "exists ({})", first.join(" /\\ "));
        out
    }
}

/// The code with one name in place of another, whole words alone.
fn rename(code: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut word = String::new();
    for c in code.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out.push_str(if word == from { to } else { &word });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
