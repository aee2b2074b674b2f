//! Keeps calls as calls: moves the code of called functions behind the thread, as functions that
//! return.
//!
//! It works on lines only. The code of a call is where the call was, and is entered and left only
//! at its start and end. Code for which that does not hold stays inline. This module does not know
//! values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use litmake_base::diag::Span;
use litmake_isa::target::Target;
use litmake_litmus::{Arch, InitItem, InitValue, Line, Place, Type, Value};

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$.".contains(c)))
        .filter(|w| !w.is_empty())
}

/// The text with some names replaced.
fn renamed(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = match part(first) {
            true => rest.find(|c| !part(c)).unwrap_or(rest.len()),
            false => rest.find(part).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        out.push_str(names.get(word).map_or(word, String::as_str));
        rest = after;
    }
    out
}

/// Makes functions of calls. `calls` has the call of each line, or 0 for the caller's own code.
pub fn keep(
    target: &Target,
    thread: usize,
    calls: &[usize],
    lines: &mut Vec<Line>,
    init: &mut Vec<InitItem>,
) {
    let Some(form) = &target.facts().calls else { return };
    let taken = |text: &str| words(text).any(|w| form.taken.contains(&w.to_lowercase().as_str()));
    let in_register = |i: &InitItem| matches!(&i.place, Place::Reg { name, .. } if taken(name));
    if lines.iter().any(|l| taken(&l.text)) || init.iter().any(in_register) {
        return;
    }
    let line = |labels: Vec<String>, text: String| Line { labels, text, span: Span::default() };
    let (mut out, mut behind) = (Vec::new(), Vec::new());
    let mut from = 0;
    while from < lines.len() {
        let call = calls.get(from).copied().unwrap_or(0);
        let length = calls[from..].iter().take_while(|c| **c == call).count().max(1);
        let to = (from + length).min(lines.len());
        match function(&lines[..], from, to, thread, call) {
            Some((name, mut body)) if call > 0 => {
                let mut labels = lines[from].labels.clone();
                for text in form.call {
                    let text = text.replace("{label}", &name);
                    out.push(line(std::mem::take(&mut labels), text));
                }
                let mut labels = vec![format!("R{thread}{call}r")];
                behind.append(&mut body);
                for text in form.ret {
                    behind.push(line(std::mem::take(&mut labels), text.to_string()));
                }
            }
            _ => out.extend(lines[from..to].iter().cloned()),
        }
        from = to;
    }
    if behind.is_empty() {
        return;
    }
    let end = format!("E{thread}e");
    // The caller's code ends with a jump to the end label.
    out.push(line(Vec::new(), target.jump(&end)));
    out.extend(behind);
    out.push(line(vec![end], String::new()));
    *lines = out;
    if target.arch == Arch::X86_64 {
        let stack = format!("P{thread}_stack");
        let item = |place, ty, value| InitItem { place, ty, value, span: Span::default() };
        let word = Arc::new(Type::Int { bytes: 8, signed: true });
        let place = Place::Mem { name: stack.clone(), index: None };
        init.push(item(place, Some(Type::Array(word, 2)), None));
        let place = Place::Reg { thread, name: target.stack.to_string() };
        let value = InitValue::One(Value::Addr { name: stack, index: 1 });
        init.push(item(place, None, Some(value)));
    }
}

/// The lines of a call as the body of a function, with its name; `None` if jumps enter or leave
/// them elsewhere than at their start and end.
fn function(
    lines: &[Line],
    from: usize,
    to: usize,
    thread: usize,
    call: usize,
) -> Option<(String, Vec<Line>)> {
    let labels_of = |range: &[Line]| -> BTreeSet<String> {
        range.iter().flat_map(|l| l.labels.iter().cloned()).collect()
    };
    let inside = labels_of(&lines[from + 1..to]);
    let first = labels_of(&lines[from..from + 1]);
    let next = lines.get(to).map(|l| labels_of(std::slice::from_ref(l))).unwrap_or_default();
    let elsewhere: BTreeSet<String> = labels_of(lines)
        .into_iter()
        .filter(|l| !inside.contains(l) && !first.contains(l))
        .collect();
    let name = format!("F{thread}{call}f");
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for line in &lines[from..to] {
        for word in words(&line.text) {
            if elsewhere.contains(word) && !next.contains(word) {
                return None;
            }
        }
    }
    let outside = lines[..from].iter().chain(&lines[to..]);
    if outside.flat_map(|l| words(&l.text)).any(|w| inside.contains(w)) {
        return None;
    }
    names.extend(first.into_iter().map(|l| (l, name.clone())));
    names.extend(next.into_iter().map(|l| (l, format!("R{thread}{call}r"))));
    let mut body: Vec<Line> = lines[from..to].to_vec();
    for line in &mut body {
        line.text = renamed(&line.text, &names);
    }
    body[0].labels = vec![name.clone()];
    Some((name, body))
}
