//! Takes a test apart into threads that are compiled separately, and joins their code to one test.
//!
//! Tests of a family share few distinct threads, so a compiler need not see whole tests. The joined
//! test equals the one from compiling everything at once, because a thread reaches its locations
//! through parameters, so that its code cannot depend on other threads. If it can depend on more
//! than its own text, the test is not taken apart. This module does not know what compiles a
//! thread, nor what a model makes of the test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::Failure;
use litmake_lang::c11::emit::observed_locals;
use litmake_lang::c11::members::{members, published};
use litmake_lang::c11::readonly::only_read;
use litmake_lang::c11::variables::variables;
use litmake_lang::compiled::{
    FAULTS, Kept, MAP, composed, declare, is_lock, keeps_nothing, locations, lock_of, locked_by,
    out_name,
};
use litmake_lang::kernel;
use litmake_litmus::c::{print_function, types::size_of};
use litmake_litmus::canon::canonical_hash;
use litmake_litmus::{Body, InitItem, InitValue, Line, Place, Test, Type, Value, types};

use super::pieces::{renamed, words};

/// A thread that is compiled separately: a test of one thread, with locations and locals named in
/// the order of their first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The name in the test, such as `P1`.
    pub name: String,
    /// The text; equal texts are compiled to equal code.
    pub text: String,
    /// The test's name for each location of `text`.
    places: BTreeMap<String, String>,
    /// The thread's name for each local of `text`.
    locals: BTreeMap<String, String>,
}

/// The threads of a test; `None` if a compiler could see more of the test than one thread.
///
/// A thread's code is a function of its text if its locations are behind pointers of known types.
/// The test therefore stays whole in these cases: a parameter is not a pointer; threads share
/// functions, which a compiler may adapt to all callers; a thread of a kernel waits for critical
/// sections of others; the test says where its threads lie, because some languages derive scopes
/// from that; a location is an array, because lifting examines how all threads access its
/// elements; functions name a location directly, whose every use a compiler sees; or memory holds pointers, because lifting examines what they can point to.
pub fn apart(test: &Test) -> Option<Vec<Thread>> {
    if !test.helpers.is_empty() || published(test).is_some() || !members(test).is_empty() {
        return None;
    }
    if !variables(test).is_empty() || kernel::waits(test) || test.scopes.is_some() {
        return None;
    }
    let array = |item: &InitItem| matches!(item.ty.as_ref().map(Type::bare), Some(Type::Array(..)));
    let address =
        |item: &InitItem| !matches!(&item.value, None | Some(InitValue::One(Value::Int(_))));
    let typed = locations(test);
    if typed.iter().any(array) || test.init.iter().any(|i| array(i) || address(i)) {
        return None;
    }
    let observed = observed_locals(test);
    let mut out = Vec::new();
    for (n, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else { return None };
        if f.params.iter().any(|p| !matches!(p.ty.bare(), Type::Pointer(_))) {
            return None;
        }
        let mut own = f.clone();
        own.name = "P0".to_string();
        let text = print_function(&own);
        let neutral = |w: &str, stem: &str| {
            w.strip_prefix(stem).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        };
        let taken = |w: &&str| neutral(w, "loc") || neutral(w, "var");
        let mut declared: BTreeSet<&str> = BTreeSet::new();
        f.each_declarator(&mut |d, _| {
            declared.insert(d.name.as_str());
        });
        // A local that hides a location would be renamed like the location.
        let is_param = |name: &str| f.params.iter().any(|p| p.name == name);
        if declared.iter().any(|d| is_param(d)) {
            return None;
        }
        let mut thread = Thread {
            name: format!("P{n}"),
            text: String::new(),
            places: BTreeMap::new(),
            locals: BTreeMap::new(),
        };
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for word in words(&text) {
            if names.contains_key(word) {
                continue;
            }
            let (list, stem) = match () {
                () if is_param(word) => (&mut thread.places, "loc"),
                () if declared.contains(word) => (&mut thread.locals, "var"),
                // Another name that looks like a neutral name.
                () if taken(&word) => return None,
                () => continue,
            };
            let new = format!("{stem}{}", list.len());
            list.insert(new.clone(), word.to_string());
            names.insert(word.to_string(), new);
        }
        // Lifting needs the width of a location, and another thread may declare it wider.
        let mut init = String::new();
        for (new, place) in &thread.places {
            let is = |i: &&InitItem| matches!(&i.place, Place::Mem { name, .. } if name == place);
            let whole = typed.iter().find(is).and_then(|i| i.ty.as_ref());
            let param = f.params.iter().find(|p| p.name == *place).map(|p| p.ty.bare());
            let seen = match param {
                Some(Type::Pointer(to)) => size_of(to),
                _ => None,
            };
            if let Some(ty) = whole.filter(|ty| size_of(ty) != seen) {
                init += &format!("{} {new}; ", types::text(ty));
            }
        }
        let shown: Vec<String> = observed
            .get(&f.name)
            .into_iter()
            .flatten()
            .filter_map(|local| names.get(local))
            .map(|local| format!("0:{local};"))
            .collect();
        let shown = match shown.is_empty() {
            true => String::new(),
            false => format!("locations [{}]\n", shown.join(" ")),
        };
        let body = renamed(&text, &names);
        thread.text = format!("C thread\n{{{init}}}\n{body}{shown}exists (true)\n");
        out.push(thread);
    }
    (!out.is_empty()).then_some(out)
}

/// Joins the code of threads to a test; `code` has a test of one thread for each.
pub fn together(test: &Test, threads: &[Thread], code: &[&Test]) -> Result<Test, Failure> {
    let arch = code.first().map(|c| c.arch).ok_or("a test without threads")?;
    let mut init = locations(test);
    let (mut locals, mut private, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let mut faults = BTreeSet::new();
    for (n, (thread, code)) in threads.iter().zip(code).enumerate() {
        let (Some(Body::C(f)), [Body::Asm(lines)]) = (test.threads.get(n), code.threads.as_slice())
        else {
            return Err(format!("{} has no code", thread.name).into());
        };
        let mut names: BTreeMap<String, String> = thread.places.clone();
        for (local, place) in pairs(code, MAP) {
            let local = local.strip_prefix("0:").and_then(|l| thread.locals.get(l));
            let Some(local) = local else {
                return Err(format!("{place} is no local's place").into());
            };
            let out = out_name(&f.name, local);
            let is = |i: &&InitItem| matches!(&i.place, Place::Mem { name, .. } if name == place);
            let ty = code.init.iter().find(is).and_then(|i| i.ty.clone());
            declare(&mut init, &out, ty.unwrap_or(Type::INT));
            names.insert(place.to_string(), out.clone());
            locals.push((n, local.clone(), out));
        }
        // Locations that lifting added: locks, stack slots, constants.
        let made: Vec<&InitItem> = code
            .init
            .iter()
            .filter(|i| match &i.place {
                Place::Reg { .. } => true,
                Place::Mem { name, .. } => !names.contains_key(name),
            })
            .collect();
        for item in &made {
            if let Place::Mem { name, .. } = &item.place {
                names.insert(name.clone(), own(name, n, thread));
            }
        }
        for item in made {
            let place = match &item.place {
                Place::Reg { name, .. } => Place::Reg { thread: n, name: name.clone() },
                Place::Mem { name, index } => {
                    Place::Mem { name: names[name].clone(), index: *index }
                }
            };
            // Threads share the locks of their locations.
            if !private.iter().any(|i: &InitItem| i.place == place) {
                let mut item = InitItem { place, ..item.clone() };
                point(&mut item, n, &names);
                private.push(item);
            }
        }
        for label in lines.iter().flat_map(|l| &l.labels) {
            let rest = label.strip_prefix("L0").unwrap_or(label);
            names.insert(label.clone(), format!("L{n}{rest}"));
        }
        let line = |l: &Line| Line {
            labels: l.labels.iter().filter_map(|l| names.get(l).cloned()).collect(),
            text: renamed(&l.text, &names),
            span: l.span,
        };
        bodies.push(Body::Asm(lines.iter().map(line).collect()));
        faults.extend(words_of(code, FAULTS).filter_map(|place| thread.places.get(place)));
    }
    init.extend(private);
    let kept = match code.iter().any(|c| keeps_nothing(c)) {
        true => Kept::Nothing,
        false => Kept::In(&locals),
    };
    let mut out = composed(test, arch, kept, init, bodies)?;
    for code in code {
        out.add_features(code.features());
    }
    if !faults.is_empty() {
        let only = only_read(test);
        let faults: Vec<&str> =
            only.iter().filter(|name| faults.contains(name)).map(String::as_str).collect();
        if !faults.is_empty() {
            out.info.push((FAULTS.to_string(), faults.join(" ")));
        }
    }
    Ok(out)
}

/// What the code of a thread gives to any test that it is joined to, in a short form.
pub struct Form {
    /// A digest of all of it but the test's names.
    digest: Digest,
    /// The locals that it keeps, by its own names.
    locals: Vec<String>,
}

impl Form {
    /// The form of a thread's code.
    pub fn of(code: &Test) -> Form {
        let mut key = Keyer::new("code of a thread/1");
        key.add("canon", canonical_hash(code).as_bytes());
        for word in words_of(code, MAP) {
            key.add(MAP, word.as_bytes());
        }
        for word in words_of(code, FAULTS) {
            key.add(FAULTS, word.as_bytes());
        }
        let local = |(local, _): (&str, &str)| local.strip_prefix("0:").map(String::from);
        Form { digest: key.finish(), locals: pairs(code, MAP).filter_map(local).collect() }
    }

    /// The form of a test whose only part is this one.
    pub fn whole(&self) -> Digest {
        self.digest
    }
}

/// A digest of all that a source gives to the tests that its threads' code is joined to, but names that only
/// people read.
pub fn frame(test: &Test, threads: &[Thread]) -> Result<Digest, Failure> {
    let bodies = vec![Body::Asm(Vec::new()); threads.len()];
    let asked = composed(test, test.arch, Kept::In(&[]), locations(test), bodies)?;
    let mut key = Keyer::new("frame of a test/1");
    key.add("canon", canonical_hash(&asked).as_bytes());
    for name in only_read(test) {
        key.add("only read", name.as_bytes());
    }
    for (body, thread) in test.threads.iter().zip(threads) {
        let name = if let Body::C(f) = body { f.name.as_str() } else { "" };
        key.add("thread", name.as_bytes());
        for (neutral, place) in &thread.places {
            key.add(neutral, place.as_bytes());
        }
    }
    Ok(key.finish())
}

/// A digest that two tests that [`together`] joins share only where they have equal canonical forms, and keep
/// the same locals and faults; `code` has the form of each thread's code.
pub fn form(frame: &Digest, threads: &[Thread], code: &[Arc<Form>]) -> Digest {
    let mut key = Keyer::new("joined test/1").field("frame", &frame.0);
    for (thread, code) in threads.iter().zip(code) {
        key.add("code", &code.digest.0);
        for local in &code.locals {
            key.add(local, thread.locals.get(local).map_or(b"", String::as_bytes));
        }
    }
    key.finish()
}

/// The test's name for a location that lifting added.
fn own(name: &str, n: usize, thread: &Thread) -> String {
    if is_lock(name) {
        let of = locked_by(name).unwrap_or(name);
        return lock_of(thread.places.get(of).map_or(of, String::as_str));
    }
    match name.strip_prefix("P0_") {
        Some(rest) => format!("P{n}_{rest}"),
        None => name.to_string(),
    }
}

/// Replaces a thread's names in an initial value by those of the test.
fn point(item: &mut InitItem, n: usize, names: &BTreeMap<String, String>) {
    let value = |v: &mut Value| match v {
        Value::Addr { name, .. } => {
            if let Some(own) = names.get(name) {
                own.clone_into(name);
            }
        }
        Value::Label { thread: Some(thread), .. } => *thread = n,
        _ => {}
    };
    match &mut item.value {
        Some(InitValue::One(v)) => value(v),
        Some(InitValue::Array(list)) => list.iter_mut().for_each(value),
        None => {}
    }
}

fn words_of<'t>(test: &'t Test, key: &str) -> impl Iterator<Item = &'t str> {
    let line = test.info.iter().find(|(k, _)| k == key);
    line.into_iter().flat_map(|(_, v)| v.split_whitespace())
}

fn pairs<'t>(test: &'t Test, key: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    words_of(test, key).filter_map(|pair| pair.rsplit_once('='))
}
