//! The initial state, and the places and values that it shares with conditions.
//!
//! Registers are kept as written; which of them exist is for `isa` to say.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::c::ast::FloatLit;
use super::scan::Scanner;
use super::types::{self, MAX_TYPE_TOKENS};
use super::{Arch, InitItem, InitValue, MAX_THREADS, Place, Type, Value};
use litmake_base::diag::{Diag, Result, Span};
use litmake_base::failure::FailureKind;

/// The longest array that a test may declare.
pub const MAX_ARRAY: u64 = 1 << 16;

/// Features of other users of the format, each with what to say about it.
const FOREIGN: &[(&str, &str)] = &[
    ("PTE", "page-table entries"),
    ("TTD", "page-table entries"),
    ("PA", "physical addresses"),
    ("TAG", "memory tags"),
    ("tag", "memory tags"),
    ("pac", "pointer authentication"),
    ("pacda", "pointer authentication"),
    ("pacdb", "pointer authentication"),
    ("pacia", "pointer authentication"),
    ("pacib", "pointer authentication"),
    ("SS", "shadow stacks"),
    ("SSCap", "shadow stacks"),
    ("ssval_t", "shadow stacks"),
    ("parel1_t", "address-translation registers"),
    ("PAREL1_T", "address-translation registers"),
    ("fault", "faults"),
    ("Fault", "faults"),
];

/// An error for a feature that is known, and not read.
#[cold]
pub fn unsupported(s: &Scanner, span: Span, what: &str) -> Box<Diag> {
    s.error(span, format!("unsupported: {what}"))
        .kind(FailureKind::Unsupported)
        .help("tests of user-level code are read: no virtual memory, faults, tags, vectors or code as data")
}

/// Refuses a word that opens a construct of system-level tests.
fn refuse_foreign(s: &Scanner, word: &str, start: usize) -> Result<()> {
    if matches!(s.peek(), Some(b'(' | b':'))
        && let Some((_, what)) = FOREIGN.iter().find(|(name, _)| *name == word)
    {
        return Err(unsupported(s, s.span_from(start), what));
    }
    Ok(())
}

/// A colon behind a name: a memory tag, or a register with a thread's name misspelt.
fn refuse_colon(s: &Scanner, name: &str, span: Span) -> Result<()> {
    if s.peek() != Some(b':') {
        return Ok(());
    }
    if s.peek_at(1).is_some_and(|b| b.is_ascii_lowercase()) {
        return Err(unsupported(s, span, "memory tags"));
    }
    Err(s
        .error(span, format!("`{name}:` opens neither a register nor a location"))
        .help("write a register as `0:X1` or `P0:X1`"))
}

/// `%x` without a thread: a register that herd would choose, the same in each thread.
fn refuse_symbolic(s: &Scanner, name: &str, span: Span) -> Result<()> {
    if !name.starts_with('%') {
        return Ok(());
    }
    Err(s
        .error(span, "unsupported: symbolic registers without a thread")
        .help(format!("say which thread it belongs to, as in `0:{name}`")))
}

/// A thread before a colon, `0:` or `P0:`, where one is here; the colon is taken too.
pub fn thread_prefix(s: &mut Scanner) -> Result<Option<(usize, Span)>> {
    let start = s.pos;
    let p = s.peek() == Some(b'P');
    let digits = start + usize::from(p);
    let bytes = s.bytes();
    let mut end = digits;
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    if end == digits {
        return Ok(None);
    }
    let mut colon = end;
    while matches!(bytes.get(colon), Some(b' ' | b'\t')) {
        colon += 1;
    }
    if bytes.get(colon) != Some(&b':') {
        return Ok(None);
    }
    let span = Span::new(start, end);
    let thread = s.slice(digits, end).parse().unwrap_or(usize::MAX);
    if thread >= MAX_THREADS {
        return Err(s
            .error(span, format!("thread {} is too large", s.slice(digits, end)))
            .help(format!("a test has at most {MAX_THREADS} threads")));
    }
    s.pos = colon + 1;
    s.blanks()?;
    Ok(Some((thread, span)))
}

/// A register's name: `X1`, `EAX`, `$8`, `%rax`, or a symbolic one (`%a`).
fn register(s: &mut Scanner) -> Result<String> {
    if s.peek() == Some(b'$') && s.peek_at(1).is_some_and(|b| b.is_ascii_digit()) {
        let start = s.pos;
        s.pos += 1;
        while s.peek().is_some_and(|b| b.is_ascii_digit()) {
            s.pos += 1;
        }
        return Ok(s.slice(start, s.pos).to_string());
    }
    match s.name() {
        Some(".reg") => Err(s.expected("a register")),
        Some(name) => Ok(name.to_string()),
        None => Err(s.expected("a register")),
    }
}

/// `NULL` is a value.
fn refuse_null(s: &Scanner, name: &str, span: Span) -> Result<()> {
    match name {
        "NULL" => Err(s
            .error(span, "`NULL` is the null pointer, and no location")
            .help("it is a value: `p = NULL`")),
        _ => Ok(()),
    }
}

/// A location's name, not followed by what makes it another kind of thing.
fn location(s: &mut Scanner, what: &str) -> Result<String> {
    let start = s.pos;
    let Some(name) = s.name() else {
        return Err(s.expected(what));
    };
    let end = s.pos;
    s.blanks()?;
    refuse_null(s, name, Span::new(start, end))?;
    refuse_foreign(s, name, start)?;
    refuse_colon(s, name, Span::new(start, end))?;
    refuse_symbolic(s, name, Span::new(start, end))?;
    Ok(name.to_string())
}

/// `[n]`, where it is here.
pub fn index(s: &mut Scanner) -> Result<Option<u64>> {
    if !s.eat(b'[') {
        return Ok(None);
    }
    s.blanks()?;
    let n = s.small("an array index", MAX_ARRAY)?;
    s.blanks()?;
    s.expect(b']', "behind the index")?;
    Ok(Some(n))
}

/// A register, a location, an element of one, `[x]` or `*x`. Trailing blanks are taken.
pub fn place(s: &mut Scanner) -> Result<Place> {
    let star = s.eat(b'*');
    if star {
        s.blanks()?;
    }
    if let Some((thread, _)) = thread_prefix(s)? {
        let name = register(s)?;
        s.blanks()?;
        return Ok(Place::Reg { thread, name });
    }
    if s.eat(b'[') {
        s.blanks()?;
        let name = location(s, "a location")?;
        let index = index(s)?;
        s.expect(b']', "behind the location")?;
        return Ok(Place::Mem { name, index });
    }
    let name = location(s, "a register (`0:X1`) or a location (`x`)")?;
    let index = index(s)?;
    Ok(Place::Mem { name, index })
}

/// The section in which a value stands; it decides what the value may be besides a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    Init,
    Condition,
}

/// A number in floating point, as C writes it, or an integer, which becomes one. It is kept as bits.
fn float(s: &mut Scanner, bytes: u8) -> Result<Value> {
    let start = s.pos;
    while s.peek().is_some_and(|b| {
        let exponent = s.pos > start && matches!(s.bytes()[s.pos - 1], b'e' | b'E');
        b.is_ascii_alphanumeric()
            || b == b'.'
            || (s.pos == start || exponent) && matches!(b, b'+' | b'-')
    }) {
        s.pos += 1;
    }
    let text = s.slice(start, s.pos);
    let digits = text.strip_suffix(['f', 'F']).unwrap_or(text);
    let Some(lit) = FloatLit::parse(digits, bytes) else {
        let name = types::float_name(bytes);
        s.pos = start;
        return Err(s.expected(format!("a number of type `{name}`, such as `1.5`")));
    };
    s.blanks()?;
    Ok(Value::Int(lit.bits.into()))
}

/// A value. Trailing blanks are taken. In a condition, `1:X2` is not a label but a register,
/// and is left to the caller.
pub fn value(s: &mut Scanner, at: At) -> Result<Value> {
    let start = s.pos;
    let v = match s.peek() {
        Some(b'&') => {
            s.pos += 1;
            s.blanks()?;
            let name = location(s, "a location behind `&`")?;
            let index = index(s)?.unwrap_or(0);
            return Ok(Value::Addr { name, index });
        }
        Some(b'`') => return Err(unsupported(s, s.here(), "back-quoted values")),
        Some(b'(') => {
            s.pos += 1;
            s.blanks()?;
            if s.at_int() {
                let v = Value::Int(s.int()?);
                s.blanks()?;
                s.expect(b')', "behind the value")?;
                return Ok(v);
            }
            return Err(unsupported(s, Span::new(start, start + 1), "page-table entries"));
        }
        Some(b':') => return Err(unsupported(s, s.here(), "memory tags")),
        _ => {
            if at == At::Init
                && let Some((thread, _)) = thread_prefix(s)?
            {
                if s.at_int() {
                    return Err(unsupported(s, s.span_from(start), "capabilities"));
                }
                let Some(name) = s.name() else {
                    return Err(s.expected("a label"));
                };
                Value::Label { thread: Some(thread), name: name.to_string() }
            } else if s.at_int() {
                let n = s.int()?;
                if s.peek() == Some(b'.') {
                    return Err(no_float(s, start));
                }
                Value::Int(n)
            } else {
                return word_value(s, at);
            }
        }
    };
    s.blanks()?;
    Ok(v)
}

/// A number with a point where only an integer can stand.
#[cold]
fn no_float(s: &mut Scanner, start: usize) -> Box<Diag> {
    while s.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.') {
        s.pos += 1;
    }
    s.error(s.span_from(start), "this is no integer").help(
        "the final value of a `float` or `double` is its bits, as an integer: 0x3f800000 for `1.0f`; \
         an initial value may be `float x = 1.0`",
    )
}

fn word_value(s: &mut Scanner, at: At) -> Result<Value> {
    let start = s.pos;
    match s.peek_word() {
        "label" if s.rest().get(5) == Some(&b':') => {
            s.pos += 6;
            return quoted_label(s);
        }
        "instr" if s.rest().get(5) == Some(&b':') => {
            s.pos += 5;
            return Err(unsupported(s, s.span_from(start), "instructions as values"));
        }
        word @ ("NOP" | "nop") => {
            s.pos += word.len();
            return Err(unsupported(s, s.span_from(start), "instructions as values"));
        }
        "NULL" => {
            s.pos += 4;
            s.blanks()?;
            return Ok(Value::Int(0));
        }
        word @ ("ATOMIC_INIT" | "ATOMIC_VAR_INIT") => {
            s.pos += word.len();
            s.blanks()?;
            s.expect(b'(', &format!("behind `{word}`"))?;
            // One level: a nested one is no value.
            if ["ATOMIC_INIT", "ATOMIC_VAR_INIT"].contains(&s.peek_word()) {
                return Err(s.expected("a value"));
            }
            let v = value(s, at)?;
            s.expect(b')', "behind the value")?;
            return Ok(v);
        }
        _ => {}
    }
    let what = match at {
        At::Init => "a value: a number, a location or a label (`P0:L1`)",
        At::Condition => "a value: a number or a location",
    };
    let name = location(s, what)?;
    let index = index(s)?.unwrap_or(0);
    Ok(Value::Addr { name, index })
}

/// `"P0:L1"`, behind `label:`.
fn quoted_label(s: &mut Scanner) -> Result<Value> {
    let start = s.pos;
    if s.peek() != Some(b'"') {
        return Err(s.expected("a label in quotes, as in `label:\"P0:L1\"`"));
    }
    let text = s.quoted()?;
    let span = s.span_from(start);
    s.blanks()?;
    let parsed = text.split_once(':').and_then(|(p, name)| {
        let thread: usize = p.strip_prefix('P').unwrap_or(p).parse().ok()?;
        let well = name.bytes().next().is_some_and(super::scan::is_name_start)
            && name.bytes().all(super::scan::is_ident);
        (thread < MAX_THREADS && well).then(|| (thread, name.to_string()))
    });
    match parsed {
        Some((thread, name)) => Ok(Value::Label { thread: Some(thread), name }),
        None => Err(s
            .error(span, "this is not a label")
            .help("write the thread and the label, as in `label:\"P0:L1\"`")),
    }
}

/// Values between braces. The next byte is the opening brace.
pub fn array(s: &mut Scanner, at: At) -> Result<Vec<Value>> {
    values(s, &mut |s| value(s, at))
}

fn values(
    s: &mut Scanner,
    value: &mut dyn FnMut(&mut Scanner) -> Result<Value>,
) -> Result<Vec<Value>> {
    let start = s.pos;
    s.expect(b'{', "before the values")?;
    let mut values = Vec::new();
    loop {
        if values.len() as u64 >= MAX_ARRAY {
            return Err(s.error(s.span_from(start), too_long()));
        }
        values.push(value(s)?);
        match s.peek() {
            Some(b',') => s.pos += 1,
            Some(b'}') => break,
            _ => return Err(s.expected("`,` or `}` in the array's values")),
        }
        s.blanks()?;
        // C allows a comma behind the last value.
        if s.peek() == Some(b'}') {
            break;
        }
    }
    s.expect(b'}', "behind the values")?;
    Ok(values)
}

fn too_long() -> String {
    format!("arrays have at most {MAX_ARRAY} elements")
}

/// The first initialisation of a place that has one before it.
fn repeated(items: &[InitItem]) -> Option<&InitItem> {
    // Of a few, each is compared with each sooner than put into a set.
    if items.len() <= 16 {
        let before = |i: usize| items[..i].iter().any(|other| other.place == items[i].place);
        return (0..items.len()).find(|i| before(*i)).map(|i| &items[i]);
    }
    let mut seen = FxHashSet::default();
    items.iter().find(|item| !seen.insert(&item.place))
}

/// The initial state, from behind its opening brace to behind its closing one.
pub fn init(s: &mut Scanner, arch: Arch, open: usize) -> Result<Vec<InitItem>> {
    let mut items: Vec<InitItem> = Vec::new();
    s.blanks()?;
    loop {
        match s.peek() {
            None => {
                return Err(s
                    .error(Span::new(open, open + 1), "the initial state is not closed")
                    .help("write `}` where it ends"));
            }
            Some(b'}') => {
                s.pos += 1;
                if arch == Arch::AArch64
                    && let Some(item) = items.iter().find(|item| names_an_entry(item))
                {
                    return Err(unsupported(s, item.span, "page-table entries"));
                }
                return match repeated(&items) {
                    Some(item) => Err(s
                        .error(item.span, format!("{} is initialised more than once", item.place))
                        .help("keep one of the initialisations")),
                    None => Ok(items),
                };
            }
            Some(b';') => {
                s.pos += 1;
                s.blanks()?;
                continue;
            }
            _ => {}
        }
        items.push(item(s, arch)?);
        match s.peek() {
            Some(b';' | b'}') | None => {}
            Some(b',') => {
                return Err(s
                    .expected("`;` or `}` behind an initialisation")
                    .help("initialisations are separated by `;`"));
            }
            _ => return Err(s.expected("`;` or `}` behind an initialisation")),
        }
    }
}

/// Whether it names the page-table entry of a location, as herd's tests of virtual memory do.
fn names_an_entry(item: &InitItem) -> bool {
    let entry = |name: &str| name.starts_with("pte_");
    let value = |v: &Value| matches!(v, Value::Addr { name, .. } if entry(name));
    item.values().iter().any(value) || matches!(&item.place, Place::Mem { name, .. } if entry(name))
}

fn item(s: &mut Scanner, arch: Arch) -> Result<InitItem> {
    let start = s.pos;
    let mut tokens: Vec<(&str, Span)> = Vec::new();
    // Everything before the place: words and stars. The last word may turn out to be the place.
    let mut place = loop {
        let here = s.pos;
        if tokens.len() > MAX_TYPE_TOKENS {
            return Err(s.error(s.span_from(start), "this initialisation is too long"));
        }
        if let Some((thread, _)) = thread_prefix(s)? {
            let name = register(s)?;
            break Some(Place::Reg { thread, name });
        }
        match s.peek() {
            Some(b'*') => {
                s.pos += 1;
                tokens.push(("*", s.span_from(here)));
            }
            Some(b @ (b'(' | b')'))
                if tokens.last().is_some_and(|(t, _)| *t == "_Atomic") && b == b'('
                    || b == b')' && tokens.iter().any(|(t, _)| *t == "(") =>
            {
                s.pos += 1;
                tokens.push((if b == b'(' { "(" } else { ")" }, s.span_from(here)));
            }
            // `[x]`; behind a word it is an array's bound.
            Some(b'[')
                if tokens.last().is_none_or(|(t, _)| {
                    *t == "*" || *t == ")" || !s.peek_at(1).is_some_and(|b| b.is_ascii_digit())
                }) =>
            {
                s.pos += 1;
                s.blanks()?;
                let name = location(s, "a location")?;
                s.expect(b']', "behind the location")?;
                break Some(Place::Mem { name, index: None });
            }
            Some(b) if super::scan::is_name_start(b) => {
                let Some(word) = s.name() else {
                    return Err(s.expected("a location or a register"));
                };
                let end = s.pos;
                s.blanks()?;
                refuse_null(s, word, Span::new(here, end))?;
                refuse_foreign(s, word, here)?;
                refuse_colon(s, word, Span::new(here, end))?;
                tokens.push((word, Span::new(here, end)));
            }
            _ => break None,
        }
        s.blanks()?;
    };
    s.blanks()?;
    if place.is_none()
        && s.peek() == Some(b'{')
        && let Some((word @ ("struct" | "union" | "enum"), span)) = tokens.first().copied()
    {
        return Err(super::c::no_definitions(s.source, span, word));
    }
    if place.is_none() {
        place = match tokens.pop() {
            Some((word, _)) if !matches!(word, "*" | "(" | ")") => {
                Some(Place::Mem { name: word.to_string(), index: None })
            }
            _ => None,
        };
    }
    let Some(place) = place else {
        return Err(s.expected("an initialisation, such as `0:X1=x`, `x=1` or `int y[2]={0,1}`"));
    };
    let mut ty = match tokens.first() {
        None => None,
        Some((first, span)) => {
            let words: Vec<&str> = tokens.iter().map(|(t, _)| *t).collect();
            let whole = tokens.last().map_or(*span, |(_, last)| span.to(*last));
            // `*x=y` says that x is a pointer, and not to what.
            let ty = if *first == "*" && words.iter().all(|w| *w == "*") {
                words.iter().fold(Type::Void, |t, _| Type::Pointer(Arc::new(t)))
            } else {
                types::from_tokens(&words, arch).map_err(|m| s.error(whole, m))?
            };
            Some(ty)
        }
    };
    if s.peek() == Some(b'[') {
        ty = Some(array_type(s, start, &place, ty)?);
    }
    let end = s.pos;
    let value = if s.eat(b'=') {
        s.blanks()?;
        Some(initial_value(s, start, &place, &mut ty)?)
    } else {
        None
    };
    let mut end = if value.is_some() { s.pos } else { end };
    while end > start && s.bytes()[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    Ok(InitItem { place, ty, value, span: Span::new(start, end) })
}

/// The bounds behind a declared name. The next byte is the opening bracket.
fn array_type(s: &mut Scanner, start: usize, place: &Place, ty: Option<Type>) -> Result<Type> {
    let bracket = s.pos;
    let n = index(s)?.unwrap_or(0);
    let span = s.span_from(bracket);
    let Some(elem) = ty else {
        return Err(s
            .error(s.span_from(start), "this array has no element type")
            .help("declare it whole, as in `int x[2]={0,1}`"));
    };
    if n == 0 {
        return Err(s.error(span, "an array has at least one element"));
    }
    if !matches!(place, Place::Mem { .. }) {
        return Err(s.error(span, "a register is no array"));
    }
    if s.peek() == Some(b'[') {
        return Err(s.error(s.here(), "arrays have one dimension here"));
    }
    Ok(Type::Array(Arc::new(elem), n))
}

fn initial_value(
    s: &mut Scanner,
    start: usize,
    place: &Place,
    ty: &mut Option<Type>,
) -> Result<InitValue> {
    // The kind of the values follows from the type.
    let bare = ty.as_ref().map(Type::bare);
    let element = match bare {
        Some(Type::Array(element, _)) => Some(element.bare()),
        bare => bare,
    };
    let float_bytes = match element {
        Some(Type::Float { bytes }) => Some(*bytes),
        _ => None,
    };
    let mut one = |s: &mut Scanner| match float_bytes {
        Some(bytes) => float(s, bytes),
        None => value(s, At::Init),
    };
    if s.peek() != Some(b'{') {
        if let Some(Type::Array(..)) = ty {
            return Err(s.expected("`{` before an array's values").help("write `int x[2]={0,1}`"));
        }
        return Ok(InitValue::One(one(s)?));
    }
    let open = s.pos;
    if matches!(s.peek_at(1), Some(b':')) {
        return Err(unsupported(s, s.here(), "memory tags"));
    }
    let values = values(s, &mut one)?;
    match ty {
        Some(Type::Array(_, n)) if *n == values.len() as u64 => {}
        Some(Type::Array(_, n)) => {
            return Err(s.error(
                s.span_from(open),
                format!("{place} has {n} elements, and {} values", values.len()),
            ));
        }
        _ => {
            return Err(s
                .error(s.span_from(start), format!("{place} is no array"))
                .help(format!("give its size: `int {place}[{}]={{...}}`", values.len())));
        }
    }
    Ok(InitValue::Array(values))
}
