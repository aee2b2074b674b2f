//! Finds every fault of a document, and not only the first: after each, the faulty part is mended or
//! left out, and the rest is read again.
//!
//! This file does not know which keys exist.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::{Reader, Tree, Vars, What, Wrong};
use litmake_base::diag::{Diag, Result, Source, Span};

/// The largest number of faults of one document that are told.
const MOST: usize = 20;

/// The part of a document that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The value at its place.
    Value,
    /// The key at its place, and the name that it was probably meant to have.
    Key(Option<&'static str>),
    /// A key that the map at its place lacks.
    Missing,
}

/// Reads a typed value from a tree; an error with all faults if it cannot be read.
pub fn typed_or_all<T: DeserializeOwned>(
    source: &Source,
    tree: &Tree,
    vars: Vars<'_>,
) -> Result<T> {
    let read = |tree: &Tree| {
        T::deserialize(Reader { source, tree: Cow::Borrowed(tree), vars, put_in: false })
    };
    let mut wrong = match read(tree) {
        Ok(value) => return Ok(value),
        Err(wrong) => wrong,
    };
    let mut rest = tree.clone();
    let mut left_out: Vec<Span> = Vec::new();
    let mut errors: Vec<Box<Diag>> = Vec::new();
    while errors.len() < MOST {
        let Wrong { span, fault, .. } = wrong;
        // What a map lacks after a part of it was left out is no fault of the document.
        let whole = span.and_then(|span| map_at(tree, span)).map(Tree::extent);
        let follows = fault == Fault::Missing
            && whole.is_some_and(|whole| left_out.iter().any(|part| holds(whole, part.start)));
        // A value without its wrong part can be wrong in the same way.
        let diag = wrong.diag(source);
        let is_said = |e: &Diag| e.span == diag.span && e.message == diag.message;
        if !follows && !errors.iter().any(|e| is_said(e)) {
            errors.push(diag);
        }
        let Some(span) = span else { break };
        match mend(&mut rest, span, fault) {
            Mended::Renamed => {}
            Mended::LeftOut(part) => left_out.push(part),
            Mended::Not => break,
        }
        match read(&rest) {
            Ok(_) => break,
            Err(next) => wrong = next,
        }
    }
    errors.sort_by_key(|e| e.span.map(|span| span.start));
    Err(Diag::all(errors).unwrap_or_else(|| Diag::at(source, tree.span, "it cannot be read")))
}

fn holds(part: Span, place: u32) -> bool {
    part.start <= place && place < part.end.max(part.start + 1)
}

impl Tree {
    /// The place of all that is in it; that of a list or a map itself is only its beginning.
    fn extent(&self) -> Span {
        match &self.what {
            What::Nothing | What::Text(..) => self.span,
            What::List(items) => items.iter().fold(self.span, |all, item| all.to(item.extent())),
            What::Map(entries) => {
                entries.iter().fold(self.span, |all, (k, v)| all.to(k.span).to(v.extent()))
            }
        }
    }

    fn is_map_at(&self, span: Span) -> bool {
        matches!(self.what, What::Map(_)) && self.span == span
    }
}

/// The map at a place.
fn map_at(tree: &Tree, span: Span) -> Option<&Tree> {
    if tree.is_map_at(span) {
        return Some(tree);
    }
    match &tree.what {
        What::Nothing | What::Text(..) => None,
        What::List(items) => items.iter().find_map(|item| map_at(item, span)),
        What::Map(entries) => entries.iter().find_map(|(_, value)| map_at(value, span)),
    }
}

/// The change that [`mend`] made.
enum Mended {
    /// A misspelt key has the name that was probably meant.
    Renamed,
    /// The part at this place is no longer in the tree.
    LeftOut(Span),
    /// There is no part that could be left out.
    Not,
}

/// Corrects the part of a tree that an error at a place is about, or leaves it out.
fn mend(tree: &mut Tree, span: Span, fault: Fault) -> Mended {
    // A map that lacks a key is left out by the list or the map around it.
    if fault == Fault::Missing && tree.is_map_at(span) {
        return Mended::Not;
    }
    match &mut tree.what {
        What::Nothing | What::Text(..) => Mended::Not,
        What::List(items) => {
            let Some(at) = items.iter().position(|item| holds(item.extent(), span.start)) else {
                return Mended::Not;
            };
            match mend(&mut items[at], span, fault) {
                Mended::Not => Mended::LeftOut(items.remove(at).extent()),
                done => done,
            }
        }
        What::Map(entries) => {
            let is = |(key, value): &(_, Tree)| {
                let key: &super::Sp<String> = key;
                holds(key.span.to(value.extent()), span.start)
            };
            let Some(at) = entries.iter().position(is) else { return Mended::Not };
            let is_key = holds(entries[at].0.span, span.start);
            if let (Fault::Key(Some(near)), true) = (fault, is_key)
                && !entries.iter().any(|(key, _)| key.value == near)
            {
                entries[at].0.value = near.to_string();
                return Mended::Renamed;
            }
            match mend(&mut entries[at].1, span, fault) {
                Mended::Not => {
                    let (key, value) = entries.remove(at);
                    Mended::LeftOut(key.span.to(value.extent()))
                }
                done => done,
            }
        }
    }
}
