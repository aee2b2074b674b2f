//! Symbolic registers: `%x` in code stands for some register that nothing else uses.
//!
//! They are replaced while a test is read, so that nobody else meets them. Which general
//! registers may be given away is a fact of each dialect (`arch`).

use rustc_hash::FxHashSet;

use super::scan::is_ident;
use super::{Body, InitItem, Line, Operand, Place, Prop, Test};
use litmake_base::diag::{Diag, Result};

/// Replaces the symbolic registers of a test. An initialisation of `%x` without a thread holds
/// in each thread that uses it.
pub fn resolve(test: &mut Test) -> Result<()> {
    let pool = test.arch.facts().free;
    if pool.is_empty() {
        return match test.init.iter().find(|i| is_bare(i)) {
            Some(item) => Err(Diag::at(
                &test.source,
                item.span,
                format!("unsupported: symbolic registers in {}", test.arch.name()),
            )
            .help("name a register and its thread, or a location without `%`")),
            None => Ok(()),
        };
    }
    let mut names: Vec<Vec<String>> = Vec::with_capacity(test.threads.len());
    let bare = test.init.iter().any(is_bare);
    for body in &test.threads {
        let mut found = Vec::new();
        if let Body::Asm(lines) = body {
            for line in lines.iter().filter(|l| l.text.contains('%')) {
                symbols(&line.text, |name, _| {
                    if !found.iter().any(|f| f == name) {
                        found.push(name.to_string());
                    }
                });
            }
        }
        names.push(found);
    }
    places(test, &mut |p| {
        if let Place::Reg { thread, name } = p
            && name.starts_with('%')
            && !names[*thread].contains(name)
        {
            names[*thread].push(name.clone());
        }
    });
    if names.iter().all(Vec::is_empty) && !bare {
        return Ok(());
    }
    let mut mentioned = FxHashSet::default();
    places(test, &mut |p| {
        if let Place::Reg { thread, name } = p {
            mentioned.insert((*thread, name.to_ascii_lowercase()));
        }
    });
    // One initialisation for each thread that uses the register.
    let mut init = Vec::with_capacity(test.init.len());
    for item in std::mem::take(&mut test.init) {
        if !is_bare(&item) {
            init.push(item);
            continue;
        }
        let Place::Mem { name, .. } = &item.place else {
            continue;
        };
        for (thread, _) in names.iter().enumerate().filter(|(_, n)| n.contains(name)) {
            let place = Place::Reg { thread, name: name.clone() };
            init.push(InitItem { place, ..item.clone() });
        }
    }
    test.init = init;
    let chosen = choose(test, names, &mentioned)?;
    for (body, map) in test.threads.iter_mut().zip(&chosen) {
        if let Body::Asm(lines) = body {
            for line in lines.iter_mut().filter(|l| l.text.contains('%')) {
                replace(line, map);
            }
        }
    }
    places(test, &mut |place| {
        if let Place::Reg { thread, name } = place
            && let Some((_, register)) = chosen[*thread].iter().find(|(n, _)| n == name)
        {
            *name = register.to_string();
        }
    });
    Ok(())
}

/// Chooses a register that nothing else uses for each symbolic one, by thread.
fn choose(
    test: &Test,
    names: Vec<Vec<String>>,
    mentioned: &FxHashSet<(usize, String)>,
) -> Result<Vec<Vec<(String, &'static str)>>> {
    let pool = test.arch.facts().free;
    let mut chosen: Vec<Vec<(String, &'static str)>> = Vec::with_capacity(names.len());
    for (thread, names) in names.into_iter().enumerate() {
        let lines = match &test.threads[thread] {
            Body::Asm(lines) if !names.is_empty() => lines.as_slice(),
            _ => &[],
        };
        let mut used = FxHashSet::default();
        for line in lines {
            words(&line.text, |w| {
                used.insert(w.to_ascii_lowercase());
            });
        }
        let taken = |name: &str| {
            let name = name.to_ascii_lowercase();
            used.contains(&name) || mentioned.contains(&(thread, name))
        };
        let mut free =
            pool.iter().filter(|f| !taken(f.name) && !f.aliases.iter().any(|a| taken(a)));
        let mut map = Vec::with_capacity(names.len());
        for name in names {
            let Some(register) = free.next() else {
                let span = lines.first().map_or_else(Default::default, |l| l.span);
                return Err(Diag::at(
                    &test.source,
                    span,
                    format!("thread P{thread} has no register left for `{name}`"),
                ));
            };
            map.push((name, register.name));
        }
        chosen.push(map);
    }
    Ok(chosen)
}

fn is_bare(item: &InitItem) -> bool {
    matches!(&item.place, Place::Mem { name, .. } if name.starts_with('%'))
}

/// Each `%name` among the operands of an instruction, with where it begins. It stands alone,
/// but for `X` or `W` before it, which say how wide the register is.
fn symbols(text: &str, mut f: impl FnMut(&str, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        if bytes[start] != b'%' {
            continue;
        }
        let width = start > 0 && matches!(bytes[start - 1], b'X' | b'x' | b'W' | b'w');
        let before = start - usize::from(width);
        let operand = before > 0 && !is_ident(bytes[before - 1]) && bytes[before - 1] != b'%';
        let named = |b: &u8| b.is_ascii_alphabetic() || *b == b'_';
        if operand && bytes.get(at).is_some_and(named) {
            while at < bytes.len() && is_ident(bytes[at]) {
                at += 1;
            }
            f(&text[start..at], start);
        }
    }
}

fn words(text: &str, mut f: impl FnMut(&str)) {
    for word in text.split(|c: char| !c.is_ascii() || !is_ident(c as u8)) {
        if !word.is_empty() {
            f(word);
        }
    }
}

/// `X%a` and `W%a` say how wide the register is that `%a` stands for.
fn replace(line: &mut Line, map: &[(String, &'static str)]) {
    let mut out = String::with_capacity(line.text.len());
    let mut from = 0;
    symbols(&line.text, |name, start| {
        let Some((_, register)) = map.iter().find(|(n, _)| n == name) else {
            return;
        };
        out.push_str(&line.text[from..start]);
        from = start + name.len();
        let width = out.bytes().next_back().filter(|b| matches!(b, b'X' | b'x' | b'W' | b'w'));
        match width {
            Some(w) if register.starts_with('X') => {
                out.pop();
                out.push(w as char);
                out.push_str(&register[1..]);
            }
            _ => out.push_str(register),
        }
    });
    out.push_str(&line.text[from..]);
    line.text = out;
}

/// Every place that a test mentions outside its code.
fn places(test: &mut Test, f: &mut dyn FnMut(&mut Place)) {
    for item in &mut test.init {
        f(&mut item.place);
    }
    for observed in &mut test.locations {
        f(&mut observed.place);
    }
    if let Some(filter) = &mut test.filter {
        prop_places(filter, f);
    }
    prop_places(&mut test.condition.prop, f);
}

fn prop_places(prop: &mut Prop, f: &mut dyn FnMut(&mut Place)) {
    match prop {
        Prop::True | Prop::False => {}
        Prop::Cmp(left, _, right) => {
            f(left);
            if let Operand::Place(right) = right {
                f(right);
            }
        }
        Prop::Not(p) => prop_places(p, f),
        Prop::And(ps) | Prop::Or(ps) => ps.iter_mut().for_each(|p| prop_places(p, f)),
        Prop::Implies(p, q) => {
            prop_places(p, f);
            prop_places(q, f);
        }
    }
}
