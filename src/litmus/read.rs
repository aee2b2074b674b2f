//! Reads a litmus test of any dialect.
//!
//! Instructions stay text: it finds where each begins and ends, and what labels it has. C
//! functions are handed to `c`, once their extent is known.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arch::OPENCL;
use super::c;
use super::scan::{Comments, Scanner, clip, is_ident};
use super::{
    Arch, Body, InitItem, InitValue, Line, MAX_THREADS, Place, Prop, Test, Type, Value, cond,
    scopes, state,
};
use crate::c::ast::{Declarator, Expr, ExprKind, Function, UnaryOp};
use crate::c::structs::{Struct, define};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_base::failure::FailureKind;

/// Texts longer than this are not read.
pub const MAX_BYTES: usize = 1 << 26;

/// Dialects of herd that are none of ours.
const FOREIGN_DIALECTS: &[&str] = &["ASL", "Bell", "CPP", "GPU_PTX", "JAVA", "Java", "KVM", "LISA"];

/// Reads one test.
pub fn read(source: &Source) -> Result<Test> {
    if source.text.len() > MAX_BYTES {
        return Err(Diag::at(source, Span::default(), "this file is too large for a litmus test")
            .help("tests have at most 64 MiB"));
    }
    let mut s = Scanner::new(source, 0, Comments::All);
    let head = header(&mut s)?;
    let open = s.pos;
    s.pos += 1;
    s.set_comments(Comments::All);
    let mut init = state::init(&mut s, head.arch, open)?;
    let mut on = Vec::new();
    let (mut threads, mut helpers) = if head.arch == Arch::C {
        c_program(&mut s, &mut init, &mut on)?
    } else {
        s.set_comments(Comments::Litmus);
        s.blanks()?;
        (table(&mut s, head.arch)?, Vec::new())
    };
    s.set_comments(Comments::All);
    s.blanks()?;
    let scopes = match scopes::begins(&s) {
        true => Some(scopes::read(&mut s, threads.len())?),
        false => scopes::heads(&s, &on)?,
    };
    if head.is_opencl {
        let functions = threads.iter_mut().filter_map(Body::function_mut);
        // OpenCL C's own scope.
        let unsaid = &mut || c::scoped::Reach::Device;
        functions.chain(&mut helpers).for_each(|f| c::scoped::say_each(f, unsaid));
    }
    refuse_levels(&s)?;
    let last = cond::read(&mut s, head.arch, threads.len())?;
    let mut test = Test {
        arch: head.arch,
        name: head.name,
        doc: head.doc,
        info: head.info,
        init,
        threads,
        helpers,
        scopes,
        locations: last.locations,
        filter: last.filter,
        condition: last.condition,
        source: source.clone(),
    };
    check(&mut test)?;
    super::symbolic::resolve(&mut test)?;
    Ok(test)
}

struct Header {
    arch: Arch,
    /// Operations without a scope reach the device.
    is_opencl: bool,
    name: String,
    doc: Option<String>,
    info: Vec<(String, String)>,
}

/// From the start to the brace that opens the initial state.
fn header(s: &mut Scanner) -> Result<Header> {
    s.eat_text("\u{feff}");
    s.blanks()?;
    let is_opencl = s.peek_word() == OPENCL;
    let arch = dialect(s)?;
    s.line_blanks()?;
    let name = test_name(s)?;
    s.line_blanks()?;
    // A name for typesetting, which herd takes and nobody uses.
    if s.peek() == Some(b'(') {
        let start = s.pos;
        s.pos += 1;
        if s.name().is_none() || !s.eat(b')') {
            s.pos = start;
            return Err(s.expected("a quoted title, `Key=value` lines or `{`"));
        }
    }
    let mut doc = None;
    let mut info = Vec::new();
    // Lines that are none of a header's are passed over, as herd does; where no brace comes,
    // the first of them is what went wrong.
    let mut stray: Option<Box<Diag>> = None;
    let mut broken = 0;
    loop {
        header_blanks(s, &mut broken)?;
        match s.peek() {
            Some(b'{') => break,
            Some(b'"') if doc.is_none() && s.rest()[1..].contains(&b'"') => {
                let text = s.quoted()?;
                doc = Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            Some(b) if b.is_ascii_alphabetic() && at_info_line(s) => info.push(info_line(s)?),
            Some(b';') => s.pos += 1,
            Some(_) => {
                let error = s.expected("`{`, which opens the initial state").help(
                    "between a test's name and `{` stand a quoted title and `Key=value` lines",
                );
                if s.peek_word() == "P0" {
                    return Err(error);
                }
                stray.get_or_insert(error);
                let rest = s.rest();
                s.pos += rest.iter().position(|b| matches!(b, b'\n' | b'{')).unwrap_or(rest.len());
            }
            None => {
                return Err(stray.unwrap_or_else(|| {
                    s.expected("`{`, which opens the initial state")
                        .help("an initial state may be empty: `{}`")
                }));
            }
        }
    }
    Ok(Header { arch, is_opencl, name, doc, info })
}

/// Advice for whoever gives a program in the place of a test.
const PROGRAM: &str = "this is a program, and no litmus test. A C test begins with a line `C NAME` and \
    an initial state `{ }`, has threads such as `P0(atomic_int* x) { ... }`, and ends with a condition \
    such as `exists (1:r0=1 /\\ 1:r1=0)`; `litmake show --arch C MP` prints one to begin with. Tests of \
    compiled functions are made by `litmake lift`";

/// Whether the text comes from a file that is named like a program.
fn is_program(s: &Scanner) -> bool {
    let name = &*s.source.name;
    [".c", ".h", ".cc", ".cpp", ".rs", ".go"].iter().any(|end| name.ends_with(end))
}

fn dialect(s: &mut Scanner) -> Result<Arch> {
    let word = s.peek_word();
    if let Some(arch) = Arch::named(word) {
        s.pos += word.len();
        return Ok(arch);
    }
    let names = || Arch::ALL.iter().map(|a| a.name());
    let known = names().collect::<Vec<_>>().join(", ");
    if word.is_empty() {
        let error = s.expected(format!("the dialect of the test ({known})"));
        let is_program = is_program(s) || s.rest().starts_with(b"#") || s.rest().starts_with(b"//");
        return Err(if is_program { error.help(PROGRAM) } else { error });
    }
    let span = s.here();
    if is_program(s) {
        return Err(s.expected("the dialect of the test, `C`").help(PROGRAM));
    }
    if FOREIGN_DIALECTS.contains(&word) {
        return Err(s
            .error(span, format!("unsupported: tests in {word}"))
            .help(format!("the dialects are {known}")));
    }
    let near = Some(word).filter(|w| w.len() <= 16);
    let help = match near.and_then(|w| nearest(w, names())) {
        Some(name) => format!("did you mean `{name}`? The dialects are {known}"),
        None => format!("the dialects are {known}"),
    };
    Err(s.error(span, format!("`{word}` is not a dialect of litmus tests")).help(help))
}

fn test_name(s: &mut Scanner) -> Result<String> {
    let start = s.pos;
    while s.peek().is_some_and(|b| {
        b.is_ascii_graphic() && !matches!(b, b'"' | b'{' | b'}' | b';' | b'(' | b')' | b'=')
    }) {
        s.pos += 1;
    }
    let name = s.slice(start, s.pos);
    let name = name.strip_suffix(".litmus").unwrap_or(name);
    if name == "--" {
        // herd takes the file's name then.
        let file = &*s.source.name;
        let file = file.rsplit('/').next().unwrap_or(file);
        return Ok(file.strip_suffix(".litmus").unwrap_or(file).to_string());
    }
    if name.is_empty() {
        return Err(s
            .expected("the name of the test")
            .help("a test opens with its dialect and its name, as in `AArch64 MP`"));
    }
    Ok(name.to_string())
}

/// Blanks and comments; a comment that is not closed is a stray line.
/// Each costs a look through the rest of the text, so that few are forgiven.
fn header_blanks(s: &mut Scanner, broken: &mut usize) -> Result<()> {
    let mut ahead = s.clone();
    while let Err(error) = ahead.blanks() {
        *broken += 1;
        if *broken > 16 {
            return Err(error);
        }
        let rest = ahead.rest();
        let line = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let brace = rest[..line].iter().position(|b| *b == b'{');
        ahead.pos += brace.unwrap_or(line);
        if brace.is_some() || ahead.at_end() {
            break;
        }
    }
    s.pos = ahead.pos;
    Ok(())
}

/// The end of the word here and of the blanks behind it.
fn key_end(s: &Scanner) -> (usize, usize) {
    let bytes = s.bytes();
    let mut end = s.pos;
    while bytes.get(end).is_some_and(|b| is_ident(*b) || matches!(b, b'-' | b'/')) {
        end += 1;
    }
    let mut equals = end;
    while matches!(bytes.get(equals), Some(b' ' | b'\t')) {
        equals += 1;
    }
    (end, equals)
}

fn at_info_line(s: &Scanner) -> bool {
    s.bytes().get(key_end(s).1) == Some(&b'=')
}

/// `Key=value`, up to the end of the line.
fn info_line(s: &mut Scanner) -> Result<(String, String)> {
    let (end, equals) = key_end(s);
    let key = s.slice(s.pos, end).to_string();
    s.pos = equals + 1;
    let from = s.pos;
    let rest = s.rest();
    s.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    Ok((key, s.slice(from, s.pos).trim().to_string()))
}

/// The threads of an assembly test: a row of names, then rows of instructions.
fn table(s: &mut Scanner, arch: Arch) -> Result<Vec<Body>> {
    s.eat(b';');
    s.blanks()?;
    let count = heads(s)?;
    let mut columns: Vec<Vec<Line>> = vec![Vec::new(); count];
    let mut pending: Vec<Vec<(String, Span)>> = vec![Vec::new(); count];
    let mut row_start;
    loop {
        s.blanks()?;
        if s.at_end() || cond::at_final(s) || scopes::begins(s) {
            break;
        }
        refuse_levels(s)?;
        row_start = s.pos;
        let mut column = 0;
        loop {
            let (cell, close) = cell(s, arch)?;
            if column == count {
                return Err(s
                    .error(
                        Span::new(cell.start, cell.end.max(cell.start + 1)),
                        format!("this row has more cells than there are threads ({count})"),
                    )
                    .help(
                        "a row has one cell for each thread, separated by `|`, and ends with `;`",
                    ));
            }
            instruction(s, cell, &mut columns[column], &mut pending[column])?;
            column += 1;
            match close {
                Close::Bar => {}
                Close::Row if column == count || (column == 1 && cell.start == cell.end) => break,
                Close::Row => {
                    return Err(s
                        .error(
                            Span::new(row_start, s.pos),
                            format!("this row has {column} of {count} cells"),
                        )
                        .help("a row has one cell for each thread, separated by `|`, and ends with `;`"));
                }
            }
        }
    }
    for (column, pending) in columns.iter_mut().zip(pending) {
        let Some((_, first)) = pending.first() else {
            continue;
        };
        let span = pending.iter().fold(*first, |a, (_, b)| a.to(*b));
        column.push(Line {
            labels: pending.into_iter().map(|(l, _)| l).collect(),
            text: String::new(),
            span,
        });
    }
    columns
        .into_iter()
        .map(|lines| {
            check_labels(s, &lines)?;
            Ok(Body::Asm(lines))
        })
        .collect()
}

/// Refuses sections behind the code of a test for GPUs that are not read: all but scopes.
fn refuse_levels(s: &Scanner) -> Result<()> {
    let word = s.peek_word();
    if matches!(word, "levels" | "regions")
        && s.rest()[word.len()..].trim_ascii_start().first() == Some(&b':')
    {
        let what = format!("{word} of GPU models");
        return Err(state::unsupported(s, s.here(), &what));
    }
    Ok(())
}

/// The row of thread names; gives their number.
fn heads(s: &mut Scanner) -> Result<usize> {
    let mut count = 0;
    loop {
        s.blanks()?;
        let start = s.pos;
        let word = s.peek_word();
        let number = word.strip_prefix('P').and_then(|n| n.parse::<usize>().ok());
        let Some(number) = number else {
            return Err(s
                .expected(format!("`P{count}`, the name of a thread"))
                .help("the code opens with a row of threads, as in `P0 | P1 ;`"));
        };
        s.pos += word.len();
        let span = s.span_from(start);
        if s.rest().starts_with(b".F") {
            s.pos += 2;
            return Err(state::unsupported(s, s.span_from(start), "fault handlers"));
        }
        if number != count {
            let error = s.error(
                span,
                if number < count {
                    format!("thread P{number} is there twice")
                } else {
                    format!("expected thread P{count}, found P{number}")
                },
            );
            return Err(error.help("threads are P0, P1, ... in order"));
        }
        if count == MAX_THREADS {
            return Err(s.error(span, format!("a test has at most {MAX_THREADS} threads")));
        }
        count += 1;
        s.blanks()?;
        // Annotations (`P0:A,B`) group threads for models that no dialect here has.
        if s.eat(b':') {
            s.blanks()?;
            if s.peek().is_some_and(is_ident) {
                return Err(state::unsupported(s, s.here(), "annotated threads"));
            }
        }
        if s.eat(b';') {
            return Ok(count);
        }
        if !s.eat(b'|') {
            return Err(s.expected("`|` or `;` behind the name of a thread"));
        }
    }
}

#[derive(Clone, Copy)]
struct Cell {
    /// Without the blanks around it.
    start: usize,
    end: usize,
    /// Whether a comment or a line's end lies inside.
    ragged: bool,
}

enum Close {
    Bar,
    Row,
}

/// One cell of a row and what closes it.
fn cell(s: &mut Scanner, arch: Arch) -> Result<(Cell, Close)> {
    s.blanks()?;
    let start = s.pos;
    let bytes = s.bytes();
    let mut end = start;
    let mut ragged = false;
    loop {
        match s.peek() {
            // `Volatile|Aligned` is one operand.
            Some(b'|') if arch == Arch::Spirv && between_words(bytes, s.pos) => s.pos += 1,
            // No cell begins with `=`.
            Some(b'|') if bytes.get(s.pos + 1) == Some(&b'=') => s.pos += 1,
            Some(close @ (b'|' | b';')) => {
                s.pos += 1;
                let close = if close == b'|' { Close::Bar } else { Close::Row };
                return Ok((Cell { start, end, ragged }, close));
            }
            Some(b' ' | b'\t' | b'\r') => s.pos += 1,
            Some(b'\n') => {
                s.blanks()?;
                if s.at_end() || cond::at_final(s) {
                    return Err(unfinished(s, start, end));
                }
                ragged = true;
            }
            Some(b'(') if bytes.get(s.pos + 1) == Some(&b'*') => {
                s.blanks()?;
                ragged = true;
            }
            Some(b'"') => {
                s.quoted()?;
                end = s.pos;
            }
            Some(b) if b < 0x20 || b == 0x7f => {
                return Err(s.expected("an instruction"));
            }
            Some(_) => {
                s.pos += 1;
                end = s.pos;
            }
            None => return Err(unfinished(s, start, end)),
        }
    }
}

/// Whether a sign has a word directly before and behind it.
fn between_words(bytes: &[u8], at: usize) -> bool {
    let word = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(|b| is_ident(*b));
    word(at.checked_sub(1)) && word(Some(at + 1))
}

#[cold]
fn unfinished(s: &Scanner, start: usize, end: usize) -> Box<Diag> {
    let mut at = s.clone();
    if end > start {
        at.pos = end;
    }
    at.expected("`|` or `;` behind an instruction")
        .help("a row has one cell for each thread, separated by `|`, and ends with `;`")
}

/// Splits a cell into labels and an instruction. Labels without one wait for the next.
fn instruction(
    s: &Scanner,
    cell: Cell,
    column: &mut Vec<Line>,
    pending: &mut Vec<(String, Span)>,
) -> Result<()> {
    let bytes = s.bytes();
    let mut at = cell.start;
    while at < cell.end {
        let mut end = at;
        while end < cell.end && is_ident(bytes[end]) {
            end += 1;
        }
        let mut colon = end;
        while colon < cell.end && bytes[colon].is_ascii_whitespace() {
            colon += 1;
        }
        let label = end > at && colon < cell.end && bytes[colon] == b':';
        if !label {
            break;
        }
        pending.push((s.slice(at, end).to_string(), Span::new(at, end)));
        let mut next = Scanner::new(s.source, colon + 1, Comments::Litmus);
        next.blanks()?;
        at = next.pos.min(cell.end);
    }
    if at >= cell.end {
        return Ok(());
    }
    // A register of LLVM opens the instruction that assigns it; a predicate of PTX, one that it guards;
    // a dot, a declaration of PTX; a star, the place that a store of BPF writes.
    if !is_ident(bytes[at]) && !matches!(bytes[at], b'%' | b'@' | b'.' | b'*') {
        let mut here = s.clone();
        here.pos = at;
        return Err(here.expected("an instruction or a label"));
    }
    let text = s.slice(at, cell.end);
    let text = if cell.ragged { without_comments(s, at, cell.end)? } else { text.to_string() };
    column.push(Line {
        labels: pending.drain(..).map(|(label, _)| label).collect(),
        text,
        span: Span::new(at, cell.end),
    });
    Ok(())
}

/// A text with each comment and run of blanks that spans lines made one space.
fn without_comments(s: &Scanner, start: usize, end: usize) -> Result<String> {
    let mut out = String::with_capacity(end - start);
    let mut at = Scanner::new(s.source, start, Comments::Litmus);
    let mut from = start;
    while at.pos < end {
        let here = at.pos;
        match at.peek() {
            Some(b'\n' | b'(') => {
                at.blanks()?;
                if at.pos > here {
                    out.push_str(s.slice(from, here).trim_end());
                    out.push(' ');
                    from = at.pos;
                } else {
                    at.pos += 1;
                }
            }
            Some(b'"') => {
                at.quoted()?;
            }
            _ => at.pos += 1,
        }
    }
    out.push_str(s.slice(from, end));
    Ok(out.trim().to_string())
}

fn check_labels(s: &Scanner, lines: &[Line]) -> Result<()> {
    let mut seen = FxHashMap::default();
    for line in lines {
        for label in &line.labels {
            if seen.insert(label.as_str(), line.span).is_some() {
                return Err(s
                    .error(
                        line.span,
                        format!("the label `{label}` is defined twice in this thread"),
                    )
                    .help("give one of them another name"));
            }
        }
    }
    Ok(())
}

/// The functions of a C test: threads, and what they call.
/// The threads and the functions that they call; `on` gets the places of the threads, where their heads say them.
fn c_program(
    s: &mut Scanner,
    init: &mut Vec<InitItem>,
    on: &mut Vec<Option<c::On>>,
) -> Result<(Vec<Body>, Vec<Function>)> {
    let mut structs: Vec<Arc<Struct>> = Vec::new();
    let mut defines = c::Defines::default();
    let mut threads = Vec::new();
    let mut helpers: Vec<Function> = Vec::new();
    loop {
        s.set_comments(Comments::All);
        s.blanks()?;
        if s.at_end() || cond::at_final(s) || scopes::begins(s) {
            break;
        }
        refuse_levels(s)?;
        if s.peek() == Some(b'#') {
            let line = preprocessor_extent(s);
            defines.line(s.source, line)?;
            continue;
        }
        refuse_definition(s)?;
        let is_definition = at_structure(s);
        let span = function_extent(s)?;
        let is_declaration = s.slice(span.start as usize, span.end as usize).ends_with(';');
        if is_declaration && !is_definition {
            for variable in c::parse_variables(s.source, span, &structs, &defines)? {
                add_variable(s, init, variable)?;
            }
            continue;
        }
        if is_declaration {
            let new = c::parse_definition(s.source, span, &structs, &defines)?;
            if structs.iter().any(|o| o.tag == new.tag) {
                return Err(s.error(span, format!("`{}` is defined twice", new.tag)));
            }
            if structs.len() == MAX_THREADS {
                return Err(s.error(span, "this test has too many structures"));
            }
            structs.push(Arc::new(new));
            continue;
        }
        let (function, variables, place) =
            c::parse_function_with(s.source, span, &structs, &defines)?;
        for variable in variables {
            add_variable(s, init, variable)?;
        }
        let head = head_span(s, span);
        let number = thread_number(&function.name);
        if number.is_some() && function.told.inline {
            return Err(s
                .error(head, "a thread is no inline function")
                .help("leave `inline` out, or give the function a name other than P0, P1, ..."));
        }
        match number {
            Some(n) if n == threads.len() && n < MAX_THREADS => {
                threads.push(Body::C(function));
                on.push(place);
            }
            Some(n) if n >= MAX_THREADS => {
                return Err(s.error(head, format!("a test has at most {MAX_THREADS} threads")));
            }
            Some(n) => {
                let message = if n < threads.len() {
                    format!("thread P{n} is there twice")
                } else {
                    format!("expected thread P{}, found P{n}", threads.len())
                };
                return Err(s.error(head, message).help("threads are P0, P1, ... in order"));
            }
            None if place.is_some() => {
                return Err(s.error(head, "only threads are in a workgroup by their heads"));
            }
            None => {
                if helpers.iter().any(|h| h.name == function.name) {
                    return Err(
                        s.error(head, format!("the function `{}` is there twice", function.name))
                    );
                }
                if helpers.len() == MAX_THREADS {
                    return Err(s.error(head, "this test has too many functions"));
                }
                helpers.push(function);
            }
        }
    }
    if threads.is_empty() {
        return Err(s
            .expected("the function of thread P0")
            .help("a thread is a function named P0, P1, ..., as in `P0 (atomic_int* x) { ... }`"));
    }
    for item in init {
        let Some(ty) = &mut item.ty else { continue };
        define(ty, &structs);
        if matches!(ty.bare(), Type::Struct(_)) && item.value.is_some() {
            return Err(state::unsupported(s, item.span, "initial values of structures"));
        }
    }
    Ok((threads, helpers))
}

/// Adds a variable that functions name directly to the initial state, where all locations are.
fn add_variable(s: &Scanner, init: &mut Vec<InitItem>, d: Declarator) -> Result<()> {
    let place = Place::Mem { name: d.name.clone(), index: None };
    if init.iter().any(|i| i.place == place) {
        let message = format!("there are two locations with the name `{}`", d.name);
        return Err(s.error(d.span, message).help("rename one of them"));
    }
    let mut ty = d.ty;
    let value = match d.init {
        None => None,
        Some(Expr { kind: ExprKind::List(all), span, .. }) => {
            let mut values: Vec<Value> = Vec::new();
            for e in &all {
                values.push(constant(s, e)?);
            }
            let is_zero = values.iter().all(|v| *v == Value::Int(0));
            if let Type::Array(element, n) = ty.bare() {
                let length = if *n == 0 { values.len() as u64 } else { *n };
                if values.len() as u64 > length {
                    return Err(s.error(span, format!("`{}` has {length} elements", d.name)));
                }
                values.resize(length as usize, Value::Int(0));
                ty = Type::Array(element.clone(), length);
            }
            // Structures begin as zeros, and with nothing else.
            let is_said = !(is_zero && matches!(ty.bare(), Type::Struct(_)));
            is_said.then_some(InitValue::Array(values))
        }
        Some(e) => Some(InitValue::One(constant(s, &e)?)),
    };
    init.push(InitItem { place, ty: Some(ty), value, span: d.span });
    Ok(())
}

/// The constant that a variable starts with.
fn constant(s: &Scanner, e: &Expr) -> Result<Value> {
    Ok(Value::Int(match &e.kind {
        ExprKind::Int(lit) => lit.value as i128,
        ExprKind::Float(lit) => lit.bits.into(),
        ExprKind::Unary(UnaryOp::Neg, a) => match &a.kind {
            ExprKind::Int(lit) => (lit.value as i128).wrapping_neg(),
            _ => return Err(no_constant(s, e)),
        },
        _ => return Err(no_constant(s, e)),
    }))
}

#[cold]
fn no_constant(s: &Scanner, e: &Expr) -> Box<Diag> {
    s.error(e.span, "a variable that outlives its function starts with a constant")
        .help("write a number, or a list of numbers for an array")
}

/// Refuses the definition of a type between functions.
fn refuse_definition(s: &Scanner) -> Result<()> {
    let word = s.peek_word();
    let mut ahead = s.clone();
    ahead.pos += word.len();
    ahead.blanks()?;
    ahead.name();
    ahead.blanks()?;
    let defines = match word {
        "enum" => matches!(ahead.peek(), Some(b'{' | b';')),
        word => word == "typedef",
    };
    match defines {
        true => {
            let span = Span::new(s.pos, s.pos + word.len());
            Err(c::no_definitions(s.source, span, word))
        }
        false => Ok(()),
    }
}

/// A function without its body, on one line: what an error about it points at.
fn head_span(s: &Scanner, span: Span) -> Span {
    let text = s.slice(span.start as usize, span.end as usize);
    let len = text.find(['{', '\n']).unwrap_or(text.len());
    Span::new(span.start as usize, span.start as usize + text[..len].trim_end().len().max(1))
}

fn thread_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('P')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(usize::MAX))
}

/// Whether the definition of a structure or a union begins here.
fn at_structure(s: &Scanner) -> bool {
    let word = s.peek_word();
    let mut ahead = s.clone();
    ahead.pos += word.len();
    matches!(word, "struct" | "union")
        && ahead.blanks().is_ok()
        && {
            ahead.name();
            ahead.blanks().is_ok()
        }
        && matches!(ahead.peek(), Some(b'{' | b';'))
}

/// To the end of a line, with those that a `\` joins to it.
fn preprocessor_extent(s: &mut Scanner) -> Span {
    let start = s.pos;
    while let Some(byte) = s.peek() {
        if byte == b'\n' && !s.slice(start, s.pos).trim_end_matches('\r').ends_with('\\') {
            break;
        }
        s.pos += 1;
    }
    s.span_from(start)
}

/// From a function's first word to the brace that closes its body; of a structure or a variable, to the
/// semicolon behind it.
fn function_extent(s: &mut Scanner) -> Result<Span> {
    let start = s.pos;
    let structure = at_structure(s);
    if s.peek() == Some(b'{') {
        return Err(state::unsupported(s, s.here(), "blocks of code outside functions"));
    }
    s.set_comments(Comments::C);
    let mut depth = 0usize;
    let mut parens = 0usize;
    // Whether a variable gets its value here: braces in it are no body.
    let mut initial = false;
    let mut open = start;
    loop {
        match s.peek() {
            None => {
                if depth > 0 {
                    return Err(s
                        .error(Span::new(open, open + 1), "this brace is not closed")
                        .help("write `}` where the body ends"));
                }
                s.pos = start;
                let diag = s.expected("a function, or `exists`, `~exists` or `forall`");
                return Err(match nearest(s.peek_word(), ["exists", "forall", "locations"]) {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag,
                });
            }
            Some(b'"') => {
                quoted_c(s, b'"')?;
                continue;
            }
            Some(b'\'') => {
                quoted_c(s, b'\'')?;
                continue;
            }
            Some(b'/') => {
                if s.comment()? {
                    continue;
                }
            }
            Some(b'(') => parens += 1,
            Some(b')') => parens = parens.saturating_sub(1),
            Some(b'=') if depth == 0 && parens == 0 => initial = true,
            Some(b';') if depth == 0 && structure => {
                s.pos += 1;
                return Ok(s.span_from(start));
            }
            Some(b';') if depth == 0 && parens == 0 => {
                s.pos += 1;
                return Ok(s.span_from(start));
            }
            Some(b'{') => {
                if depth == 0 {
                    open = s.pos;
                }
                depth += 1;
            }
            Some(b'}') => {
                if depth == 0 {
                    return Err(s.expected("a function"));
                }
                depth -= 1;
                if depth == 0 && !structure && !initial {
                    s.pos += 1;
                    return Ok(s.span_from(start));
                }
            }
            Some(_) => {}
        }
        s.pos += 1;
    }
}

/// A string or character of C, with its escapes.
fn quoted_c(s: &mut Scanner, quote: u8) -> Result<()> {
    let start = s.pos;
    s.pos += 1;
    loop {
        match s.peek() {
            Some(b'\\') => s.pos += 2,
            Some(b'\n') | None => {
                return Err(s
                    .error(Span::new(start, start + 1), "this quote is not closed")
                    .help("close it on the same line"));
            }
            Some(b) => {
                s.pos += 1;
                if b == quote {
                    return Ok(());
                }
            }
        }
    }
}

/// Checks that the initial state and the condition of a test in C name no member of a structure, and take no structure
/// for a number: these would be taken for other locations, and for a byte.
fn check_members(test: &Test) -> Result<()> {
    let refuse = |span: Span, message: String, help: &str| {
        Err(Diag::at(&test.source, span, message).kind(FailureKind::Unsupported).help(help))
    };
    for item in &test.init {
        if let Place::Mem { name, .. } = &item.place
            && name.contains('.')
        {
            let message = format!("initial values of members, as of `{name}`, are not read");
            let help = "structures begin as zeros: let a thread store what it needs";
            return refuse(item.span, message, help);
        }
    }
    let props = || test.filter.iter().chain([&test.condition.prop]);
    let begin = test.init.iter().flat_map(|item| item.values().iter().map(|v| (v, item.span)));
    let operands = props().flat_map(Prop::comparisons).flat_map(|(_, operand)| operand.values());
    for (value, span) in begin.chain(operands.map(|v| (v, test.condition.span))) {
        if let Value::Addr { name, .. } = value
            && name.contains('.')
        {
            let message = format!("the address of a member, as of `{name}`, cannot be named here");
            return refuse(span, message, "let a thread take it: `int *p = &s->a;`");
        }
    }
    let help = "read the member into a local, and ask for the local: `0:r0=1`";
    let listed = test.locations.iter().map(|o| (&o.place, o.span, false));
    let compared = props().flat_map(Prop::places).map(|place| (place, test.condition.span, true));
    for (place, span, is_compared) in listed.chain(compared) {
        let Place::Mem { name, index } = place else { continue };
        if name.contains('.') {
            let message = format!("a condition cannot ask for a member, as for `{name}`");
            return refuse(span, message, help);
        }
        if is_compared && index.is_none() && is_structure(test, name) {
            let message = format!("`{name}` is a structure, and no number to compare");
            return refuse(span, message, help);
        }
    }
    Ok(())
}

/// Whether the initial state or a parameter says that a location is a structure.
fn is_structure(test: &Test, location: &str) -> bool {
    let is = |ty: &Type| matches!(ty.bare(), Type::Struct(_));
    let at = |place: &Place| matches!(place, Place::Mem { name, .. } if name == location);
    let points = |ty: &Type| match ty.bare() {
        Type::Pointer(to) => is(to),
        _ => is(ty),
    };
    test.init.iter().any(|item| at(&item.place) && item.ty.as_ref().is_some_and(is))
        || test.functions().flat_map(|f| &f.params).any(|p| p.name == location && points(&p.ty))
}

/// Checks that the threads and labels that the initial state and the condition name are there.
fn check(test: &mut Test) -> Result<()> {
    if test.arch == Arch::C {
        check_members(test)?;
    }
    let threads = test.threads.len();
    let labels: Vec<Vec<&str>> = test
        .threads
        .iter()
        .map(|body| match body {
            Body::Asm(lines) => {
                let mut all: Vec<&str> =
                    lines.iter().flat_map(|l| l.labels.iter().map(String::as_str)).collect();
                all.sort_unstable();
                all
            }
            Body::C(_) => Vec::new(),
        })
        .collect();
    let is_label = |thread: usize, name: &str| {
        labels.get(thread).is_some_and(|all| all.binary_search(&name).is_ok())
    };
    for item in &test.init {
        if let Place::Reg { thread, .. } = item.place
            && thread >= threads
        {
            return Err(super::no_such_thread(&test.source, item.span, thread, threads));
        }
        for value in item.values() {
            if let Value::Label { thread: Some(thread), name } = value
                && !is_label(*thread, name)
            {
                return Err(Diag::at(
                    &test.source,
                    item.span,
                    clip(format!("thread P{thread} has no label `{name}`")),
                )
                .help("a value `P0:L` is the address of the label L in thread P0"));
            }
        }
    }
    if test.arch != Arch::C {
        cond::resolve_labels(&mut test.condition.prop, &is_label);
        if let Some(filter) = &mut test.filter {
            cond::resolve_labels(filter, &is_label);
        }
    }
    Ok(())
}
