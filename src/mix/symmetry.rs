//! Finds the symmetries of a test: exchanges of threads, with their locations, that leave the test
//! unchanged.
//!
//! Threads are compared by their parts: equal code with consistently renamed locations. Nothing is
//! assumed about compilers, because equal parts are compiled once.

use std::collections::{BTreeMap, BTreeSet};

use super::pieces::{Split, Step};
use litmake_litmus::{InitItem, Place, Test};

/// Tests with more threads are treated as if they had no symmetry.
const MAX_THREADS: usize = 5;

/// For each symmetry other than the identity, the part that each part is mapped to.
pub fn symmetries(test: &Test, split: &Split) -> Vec<Vec<usize>> {
    let threads = split.threads.len();
    // Locations that hold addresses are not followed, so such tests have no symmetry here.
    let plain = test.init.iter().all(|i| !text(i).contains(['&', ':']));
    // Threads with scopes also differ by their place in the hierarchy.
    if threads > MAX_THREADS || !plain || test.scopes.is_some() {
        return Vec::new();
    }
    let mut out = Vec::new();
    permutations(threads, &mut Vec::new(), &mut |order| {
        let moved = order.iter().enumerate().any(|(i, j)| i != *j);
        if moved && let Some(parts) = fits(test, split, order) {
            out.push(parts);
        }
    });
    out
}

fn permutations(n: usize, so_far: &mut Vec<usize>, f: &mut dyn FnMut(&[usize])) {
    if so_far.len() == n {
        return f(so_far);
    }
    for i in 0..n {
        if !so_far.contains(&i) {
            so_far.push(i);
            permutations(n, so_far, f);
            so_far.pop();
        }
    }
}

fn text(item: &InitItem) -> String {
    let mut item = item.clone();
    item.span = Default::default();
    litmake_litmus::init_text(&item)
}

/// The mapping of parts for an exchange of threads, if the exchange leaves the test unchanged.
fn fits(test: &Test, split: &Split, order: &[usize]) -> Option<Vec<usize>> {
    let mut parts: Vec<usize> = (0..split.pieces.len()).collect();
    let join = |from: &str, to: &str, names: &mut BTreeMap<String, String>| {
        names.entry(from.to_string()).or_insert_with(|| to.to_string()) == to
    };
    let mut map: BTreeMap<String, String> = BTreeMap::new();
    for (t, u) in order.iter().enumerate() {
        let (a, b) = (&split.threads[t], &split.threads[*u]);
        if a.len() != b.len() {
            return None;
        }
        for (x, y) in a.iter().zip(b) {
            match (x, y) {
                (Step::Piece(i), Step::Piece(j)) => {
                    let (p, q) = (&split.pieces[*i], &split.pieces[*j]);
                    if p.text != q.text || p.args.len() != q.args.len() {
                        return None;
                    }
                    for ((_, from), (_, to)) in p.args.iter().zip(&q.args) {
                        if !join(from, to, &mut map) {
                            return None;
                        }
                    }
                    parts[*i] = *j;
                }
                (Step::Unless(from, n), Step::Unless(to, m)) => {
                    if n != m || !join(from, to, &mut map) {
                        return None;
                    }
                }
                (x, y) if x == y => {}
                _ => return None,
            }
        }
    }
    // The mapping must be one to one, and must keep the initial state and the observed places.
    let images: BTreeSet<&String> = map.values().collect();
    if images.len() != map.len() {
        return None;
    }
    let to = |name: &str| map.get(name).cloned().unwrap_or_else(|| name.to_string());
    let init: BTreeSet<String> = test.init.iter().map(text).collect();
    let moved: BTreeSet<String> = test
        .init
        .iter()
        .map(|i| {
            let mut i = i.clone();
            if let Place::Mem { name, .. } = &mut i.place {
                *name = to(name);
            }
            text(&i)
        })
        .collect();
    if init != moved {
        return None;
    }
    let places: BTreeSet<Place> = test.shown().into_iter().collect();
    let own = |thread: usize, local: &str| {
        let found = split.observed.iter().find(|(t, l, _)| *t == thread && l == local);
        found.map(|(_, _, place)| place.clone())
    };
    for place in &places {
        let there = match place {
            Place::Mem { name, index } => Place::Mem { name: to(name), index: *index },
            Place::Reg { thread, name } => {
                let image = to(&own(*thread, name)?);
                let (t, l, _) = split.observed.iter().find(|(_, _, p)| *p == image)?;
                Place::Reg { thread: *t, name: l.clone() }
            }
        };
        if !places.contains(&there) {
            return None;
        }
    }
    // Conditions and filters could tell threads apart. Outcomes are compared over all observed
    // places, so only a filter matters.
    test.filter.is_none().then_some(parts)
}
