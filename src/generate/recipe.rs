//! A user's request in words, and its translation to the generator's terms.
//!
//! The command line and the pipeline both fill in a [`Recipe`]; the meaning of the words is decided here
//! once.

use std::ops::ControlFlow;

use super::cycle::{MAX_LOCS, Shape};
use super::dialect::{self, Dialect};
use super::draft::{Ask, Draft};
use super::edge::Edge;
use super::emit::{Base, Helpers, Layout, Objects, Style};
use super::enumerate::{Family, MAX_SIZE, Mode};
use super::observe::Observe;
use super::syntax::{self, Relaxation, Variation};
use super::{Made, Maker, Names, OTHER_FAMILY, REPEATED, Seen, Tally, all_tests, each_test, name};
use litmake_base::diag::{Diag, Result, Source, nearest};
use litmake_litmus::Arch;

/// A user's text with its place, for diagnostics.
pub type Text = Source;

/// A user's request. Its texts are read when it is prepared.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The dialect of the tests.
    pub arch: Arch,
    /// Cycles that are written out.
    pub cycles: Vec<Text>,
    /// Relaxations that cycles may be made of.
    pub vocabulary: Vec<Text>,
    /// Relaxations of which each cycle must have one.
    pub relax: Vec<Text>,
    /// Sequences of relaxations that no cycle may have.
    pub reject: Vec<Text>,
    /// The annotations that accesses without one take in turn.
    pub annotations: Vec<Text>,
    /// Names of families (`MP`, `IRIW`); only their tests are kept.
    pub shapes: Vec<Text>,
    /// How many relaxations a cycle has at most.
    pub size: usize,
    /// Whether it has exactly as many.
    pub exact_size: bool,
    /// How many threads a test has at most.
    pub threads: usize,
    /// Whether it has exactly as many.
    pub exact_threads: bool,
    /// How many events and separate fences a thread has at most.
    pub per_thread: usize,
    /// How many different relaxations of `relax` a cycle has, at least and at most; one where it is
    /// `None`.
    pub mix: Option<(usize, usize)>,
    /// The name of a [`Mode`].
    pub mode: Text,
    /// The name of an [`Observe`].
    pub observe: Text,
    /// How the condition asks for the outcome of a cycle.
    pub ask: Ask,
    /// The C type of locations.
    pub base: Text,
    /// The type of every second location; empty if all have one type.
    pub second: Text,
    /// The name of an [`Objects`].
    pub objects: Text,
    /// The name of a [`Layout`].
    pub layout: Text,
    /// The name of a [`Helpers`].
    pub helpers: Text,
    /// Whether all events may be at one location.
    pub one_location: bool,
}

fn text(value: &str) -> Text {
    Source::new("", value)
}

impl Recipe {
    /// A recipe for no test, with every option at its default.
    pub fn new(arch: Arch) -> Recipe {
        Recipe {
            arch,
            cycles: Vec::new(),
            vocabulary: Vec::new(),
            relax: Vec::new(),
            reject: Vec::new(),
            annotations: Vec::new(),
            shapes: Vec::new(),
            size: 6,
            exact_size: false,
            threads: 4,
            exact_threads: false,
            per_thread: 4,
            mix: None,
            mode: text("default"),
            observe: text("avoid"),
            ask: Ask::Exists,
            base: text("int"),
            second: text(""),
            objects: text("usual"),
            layout: text("separate"),
            helpers: text("none"),
            one_location: false,
        }
    }

    /// Whether it asks for no test.
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty() && self.vocabulary.is_empty() && self.relax.is_empty()
    }

    /// Reads the texts; an error where one is not understood.
    pub fn prepare(&self) -> Result<Prepared> {
        let dialect = dialect::of(self.arch);
        let mode = choose(&self.mode, "mode", &Mode::NAMES)?;
        let observe = choose(&self.observe, "way to observe", &Observe::NAMES)?;
        let base = choose(&self.base, "type of locations", &Base::NAMES)?;
        let second = match self.second.text.is_empty() {
            true => None,
            false => Some(choose(&self.second, "type of locations", &Base::NAMES)?),
        };
        let objects = choose(&self.objects, "sort of objects", &Objects::NAMES)?;
        let layout = choose(&self.layout, "layout of locations", &Layout::NAMES)?;
        let helpers = choose(&self.helpers, "use of helper functions", &Helpers::NAMES)?;
        let style = Style {
            observe,
            ask: self.ask,
            base,
            second,
            objects,
            layout,
            helpers,
            ..Style::default()
        };
        let read = |texts: &[Text]| -> Result<Vec<Relaxation>> {
            let mut out = Vec::new();
            for t in texts {
                out.extend(syntax::vocabulary(dialect, t)?);
            }
            Ok(out)
        };
        let mut safe = read(&self.vocabulary)?;
        let mut relax = read(&self.relax)?;
        let reject = read(&self.reject)?;
        if !self.annotations.is_empty() {
            let atoms = atoms(dialect, &self.annotations)?;
            let all = [&safe[..], &relax[..]].concat();
            let variation = Variation::new(dialect, &atoms, &all);
            let vary = |relaxations: &[Relaxation]| {
                syntax::vary(relaxations, &variation).ok_or_else(|| {
                    let most = syntax::MAX_RELAXATIONS;
                    Diag::new("the vocabulary with these annotations has too many relaxations")
                        .help(format!("at most {most} relaxations; name fewer annotations"))
                })
            };
            safe = vary(&safe)?;
            relax = vary(&relax)?;
        }
        syntax::tidy(&mut safe);
        syntax::tidy(&mut relax);
        let mut cycles = Vec::new();
        for t in &self.cycles {
            cycles.extend(syntax::cycles(dialect, t)?);
        }
        self.shapes.iter().try_for_each(check_shape)?;
        if self.size > MAX_SIZE {
            return Err(Diag::new(format!("cycles have at most {MAX_SIZE} relaxations")));
        }
        let shape = Shape {
            threads: self.threads.min(16),
            exact_threads: self.exact_threads,
            per_thread: self.per_thread.min(MAX_LOCS),
            allow_back: mode.allows_back(),
            one_location: self.one_location || mode == Mode::Uni,
        };
        let mix = self.mix.unwrap_or((1, 1));
        Ok(Prepared {
            dialect,
            style,
            cycles,
            family: Family {
                relax,
                safe,
                reject,
                size: self.size,
                exact_size: self.exact_size,
                mix,
                mode,
                cumulative: true,
                shape,
            },
            shapes: self.shapes.iter().map(|t| t.text.to_string()).collect(),
        })
    }
}

/// An error if a text names no shape of cycles.
fn check_shape(t: &Text) -> Result<()> {
    let is_spelt =
        |p: &str| matches!(p.len(), 1 | 2) && p.bytes().all(|b| matches!(b, b'R' | b'W'));
    if name::threads_of(&t.text).is_some() || t.text.split('+').all(is_spelt) {
        return Ok(());
    }
    let diag = Diag::at(
        t,
        litmake_base::diag::Span::new(0, t.text.len()),
        format!("`{}` is no family of cycles", t.text),
    );
    Err(match nearest(&t.text, name::families()) {
        Some(near) => diag.help(format!("did you mean `{near}`?")),
        None => diag.help(
            "families are such as MP, SB or IRIW, or the first and last direction of each thread, \
             such as W+RR+WR",
        ),
    })
}

/// The annotations that a list names; `all` is every one, and plain accesses.
fn atoms(dialect: &Dialect, texts: &[Text]) -> Result<Vec<Option<super::edge::Atom>>> {
    let mut out = Vec::new();
    for t in texts {
        for word in t.text.split([' ', ',', '\t', '\n']).filter(|w| !w.is_empty()) {
            if word == "all" {
                out.push(None);
                out.extend(dialect.atoms.iter().map(|(_, a)| Some(*a)));
                continue;
            }
            match syntax::atom(dialect, word) {
                Some(atom) => out.push(atom),
                None => {
                    let names: Vec<&str> = std::iter::once(dialect.plain)
                        .chain(dialect.annotations().map(|(n, _)| *n))
                        .collect();
                    return Err(Diag::at(
                        t,
                        litmake_base::diag::Span::new(0, t.text.len()),
                        format!("`{word}` is no annotation of {}", dialect.arch.name()),
                    )
                    .help(format!("annotations are {}, or `all`", names.join(", "))));
                }
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// The choice that a text names.
pub fn choose<T: Copy>(t: &Text, what: &str, names: &[(&'static str, T)]) -> Result<T> {
    match names.iter().find(|(n, _)| *n == &*t.text) {
        Some((_, value)) => Ok(*value),
        None => {
            let all: Vec<&str> = names.iter().map(|(n, _)| *n).collect();
            let diag = Diag::at(
                t,
                litmake_base::diag::Span::new(0, t.text.len()),
                format!("`{}` is no {what}", t.text),
            );
            Err(match nearest(&t.text, all.iter().copied()) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None => diag.help(format!("expected one of {}", all.join(", "))),
            })
        }
    }
}

/// A recipe that has been understood.
pub struct Prepared {
    /// The vocabulary of cycles.
    pub dialect: &'static Dialect,
    /// How a cycle is made into a test.
    pub style: Style,
    /// The cycles that were written out.
    pub cycles: Vec<Vec<Edge>>,
    /// The cycles to enumerate besides those.
    pub family: Family,
    /// The families of which tests are kept; all where it is empty.
    pub shapes: Vec<String>,
}

/// Cycles that were asked for by name may be at one location and of any length.
const EXPLICIT: Shape = Shape::ANY;

impl Prepared {
    /// Whether a test is of a family that is kept.
    fn kept(&self, name: &str) -> bool {
        self.shapes.is_empty() || self.shapes.iter().any(|s| family_is(name, s))
    }

    /// Calls `f` on every test, in an order that depends on the recipe alone.
    pub fn each(
        &self,
        f: &mut dyn FnMut(&Draft, &blake3::Hash) -> ControlFlow<()>,
    ) -> Result<Tally> {
        let mut tally = self.explicit(f)?;
        if !self.family.safe.is_empty() || !self.family.relax.is_empty() {
            let mut dropped = 0;
            let enumerated =
                each_test(self.dialect, &self.family, &self.style, &mut |draft, hash| {
                    if !self.kept(&draft.name) {
                        dropped += 1;
                        return ControlFlow::Continue(());
                    }
                    f(draft, hash)
                });
            tally.add(&enumerated);
            tally.take_out(OTHER_FAMILY, dropped);
        }
        Ok(tally)
    }

    /// The cycles that were written out.
    fn explicit(
        &self,
        f: &mut dyn FnMut(&Draft, &blake3::Hash) -> ControlFlow<()>,
    ) -> Result<Tally> {
        let mut maker = Maker::default();
        let mut seen = Seen::default();
        let mut names = Names::default();
        let mut tally = Tally::default();
        for cycle in &self.cycles {
            tally.cycles += 1;
            maker.make(self.dialect, cycle, &EXPLICIT, &self.style).map_err(|why| {
                Diag::new(format!(
                    "the cycle `{}` makes no test: {why}",
                    syntax::print(self.dialect, cycle)
                ))
            })?;
            let hash = maker.draft.canonical_hash();
            if !seen.insert(&hash) {
                tally.drop(REPEATED);
                continue;
            }
            names.unique(&mut maker.draft.name);
            tally.tests += 1;
            if f(&maker.draft, &hash).is_break() {
                break;
            }
        }
        Ok(tally)
    }

    /// All tests, on several cores.
    pub fn all(&self, jobs: usize) -> Result<(Vec<Made>, Tally)> {
        let mut out = Vec::new();
        let mut tally = self.explicit(&mut |draft, hash| {
            out.push(super::made(draft, hash));
            ControlFlow::Continue(())
        })?;
        if !self.family.safe.is_empty() || !self.family.relax.is_empty() {
            let (mut made, enumerated) = all_tests(self.dialect, &self.family, &self.style, jobs);
            let before = made.len();
            made.retain(|m| self.kept(&m.name));
            tally.add(&enumerated);
            tally.take_out(OTHER_FAMILY, (before - made.len()) as u64);
            out.extend(made);
        }
        Ok((out, tally))
    }
}

/// Whether a test's name is that of a family, or begins with it.
fn family_is(name: &str, family: &str) -> bool {
    let known = name::threads_of(family).is_some();
    match name.strip_prefix(family) {
        Some("") => true,
        // W+RWC begins as W+RW does; only a name that is whole counts.
        Some(rest) if known => {
            rest.starts_with('+')
                && name::families().all(|f| f.len() <= family.len() || !name.starts_with(f))
        }
        Some(rest) => rest.starts_with('+'),
        None => false,
    }
}
