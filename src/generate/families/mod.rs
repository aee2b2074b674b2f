//! Ready-made families of C tests: the constructs of C11 one by one, and the campaigns of two
//! papers, as closely as they tell what they are made of.

mod pointers;
mod shapes;

use std::ops::ControlFlow;

use super::axes;
use super::cycle::Shape;
use super::dialect;
use super::edge::{Edge, RmwOp};
use super::emit::{Base, Helpers, Idle, Layout, Made as Way, Objects, Operation, Style};
use super::recipe::Recipe;
use super::{Made, Maker, Names, REPEATED, Tally, made, short, syntax};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::{self as litmus, Arch, canon};
use rustc_hash::FxHashSet;

/// Families that are no part of the grid of axes.
const LISTED: usize = 16;

/// Names of families, and what each is.
pub const NAMES: [(&str, &str); 28] = [
    (
        "telechat-table3",
        "the constructs of Telechat's Table III in integers of 8 to 64 bits: atomics with fences \
         and control flow on two threads, plain accesses with fences on three and with control \
         flow on five",
    ),
    (
        "mix-table4",
        "the constructs of mix testing's Table 4 in integers of 8 to 128 bits: every operation, \
         order and use of its result, in each place of the shapes with two threads",
    ),
    (
        "mix-accesses",
        "the loads, stores and fences of mix-table4, and a few of its read-modify-writes in `int` \
         and `int64_t`",
    ),
    ("c11-constructs", "mix-table4 in `int` alone"),
    (
        "c11-cas",
        "compare-exchange that succeeds and that fails, weak and strong, used and unused, with \
         every pair of orders of C23",
    ),
    (
        "sc-operations",
        "sequentially consistent loads, stores, read-modify-writes and compare-exchanges, which \
         succeed and fail without saying what they found, in `int` and `int64_t`: for languages \
         and libraries that have one order",
    ),
    ("c11-unused", "read-modify-writes whose results are unused, seen through final values"),
    (
        "c11-idle",
        "read-modify-writes that change nothing and that nobody looks at, beside accesses",
    ),
    ("c11-volatile", "c11-constructs on volatile objects"),
    ("c11-const", "loads through pointers to const, 8 to 128 bits"),
    ("c11-mixed-width", "locations of different widths in one test"),
    ("c11-array", "locations that are elements of one array, 8 to 128 bits"),
    ("c11-struct", "locations that are members of one object, in every pair of types"),
    (
        "c11-plain",
        "plain accesses, not volatile, that an atomic flag keeps from racing, in one object and \
         in several",
    ),
    ("c11-helpers", "fences and accesses inside helper functions that are not inlined"),
    ("c11-pointers", "objects that are published by a pointer and accessed through it"),
    of_axes(0),
    of_axes(1),
    of_axes(2),
    of_axes(3),
    of_axes(4),
    of_axes(5),
    of_axes(6),
    of_axes(7),
    of_axes(8),
    of_axes(9),
    of_axes(10),
    of_axes(11),
];

const _: () = assert!(NAMES.len() == LISTED + axes::FAMILIES.len(), "each family has a name");

const fn of_axes(at: usize) -> (&'static str, &'static str) {
    (axes::FAMILIES[at].name, axes::FAMILIES[at].about)
}

/// Says what is wrong with a name that is none of a family.
pub fn check(name: &Source) -> Result<()> {
    if NAMES.iter().any(|(n, _)| *n == &*name.text) {
        return Ok(());
    }
    let all = NAMES.iter().map(|(n, _)| *n);
    let whole = Span::new(0, name.text.len());
    let diag = Diag::at(name, whole, format!("`{}` is no family of tests", name.text));
    Err(match nearest(&name.text, all.clone()) {
        Some(near) => diag.help(format!("did you mean `{near}`?")),
        None => diag.help(format!("families are {}", all.collect::<Vec<_>>().join(", "))),
    })
}

/// The integer types of a campaign, up to a width.
fn types(bytes: u8) -> impl Iterator<Item = (&'static str, Base)> {
    Base::NAMES.into_iter().filter(move |(_, b)| b.bytes <= bytes)
}

/// Calls `f` on every test of a family.
pub fn each(name: &Source, f: &mut dyn FnMut(Made) -> ControlFlow<()>) -> Result<Tally> {
    check(name)?;
    let mut run = Run {
        maker: Maker::default(),
        seen: FxHashSet::default(),
        names: Names::default(),
        tally: Tally::default(),
        f,
    };
    let all = shapes::ways();
    let ways = |kept: &dyn Fn(&Way) -> bool| -> Vec<(String, Way)> {
        all.iter().filter(|(_, w)| kept(w)).cloned().collect()
    };
    let plain = Style::default();
    // Whoever stops it knows.
    let _ = match &*name.text {
        "telechat-table3" => run.telechat()?,
        "mix-table4" => run.table4(&all),
        "mix-accesses" => run.accesses(&shapes::few_ways()),
        "c11-constructs" => run.constructs(&[], plain, true, &all),
        "c11-cas" => run.constructs(&[], plain, false, &ways(&|w| matches!(w, Way::Cas { .. }))),
        "sc-operations" => run.sequential(),
        "c11-unused" => {
            let unused = ways(&|w| matches!(w, Way::Rmw { used: false, .. }));
            run.constructs(&[], plain, false, &unused)
        }
        "c11-idle" => run.idle(),
        "c11-volatile" => {
            let style = Style { objects: Objects::Volatile, ..plain };
            run.constructs(&["volatile"], style, true, &ways(&|w| *w != Way::Volatile))
        }
        "c11-const" => run.constants(),
        "c11-mixed-width" => run.mixed_width(),
        "c11-array" => run.arrays(),
        "c11-struct" => run.structures(),
        "c11-plain" => run.plain(&ways(&|w| !matches!(w, Way::Const | Way::Volatile))),
        "c11-helpers" => run.helpers(&ways(&|w| *w != Way::Volatile)),
        name => match axes::FAMILIES.iter().find(|f| f.name == name) {
            Some(family) => run.axes(family)?,
            None => run.pointers()?,
        },
    };
    Ok(run.tally)
}

struct Run<'a> {
    maker: Maker,
    seen: FxHashSet<u128>,
    names: Names,
    tally: Tally,
    f: &'a mut dyn FnMut(Made) -> ControlFlow<()>,
}

const PLACES: [&str; 6] = ["0", "1", "2", "3", "4", "5"];

impl Run<'_> {
    /// The cycles that some texts say, each with its number of events.
    fn cycles(texts: Vec<String>) -> Vec<(Vec<Edge>, usize)> {
        let dialect = dialect::of(Arch::C);
        let read = |text: String| {
            let cycle = syntax::cycle(dialect, &Source::new("shape", text)).ok()?;
            let events = cycle.iter().filter(|e| e.is_real()).count();
            Some((cycle, events.min(PLACES.len())))
        };
        texts.into_iter().filter_map(read).collect()
    }

    fn offer(&mut self, suffix: &[&str]) -> ControlFlow<()> {
        let hash = self.maker.draft.canonical_hash();
        if !self.seen.insert(short(&hash)) {
            self.tally.drop(REPEATED);
            return ControlFlow::Continue(());
        }
        let name = &mut self.maker.draft.name;
        for part in suffix.iter().filter(|s| !s.is_empty()) {
            name.push('.');
            name.push_str(part);
        }
        self.names.unique(name);
        self.tally.tests += 1;
        (self.f)(made(&self.maker.draft, &hash))
    }

    fn one(&mut self, cycle: &[Edge], style: &Style, suffix: &[&str]) -> ControlFlow<()> {
        self.tally.cycles += 1;
        match self.maker.make(dialect::of(Arch::C), cycle, &Shape::ANY, style) {
            Ok(()) => self.offer(suffix),
            Err(why) => {
                self.tally.drop(why);
                ControlFlow::Continue(())
            }
        }
    }

    /// Each way to make an access, in each place of a cycle; all others are made as usual.
    fn ways(
        &mut self,
        (cycle, places): &(Vec<Edge>, usize),
        style: Style,
        ways: &[(String, Way)],
        label: &[&str],
    ) -> ControlFlow<()> {
        for (at, place) in PLACES.iter().enumerate().take(*places) {
            for (name, how) in ways {
                let mut style = style;
                style.made[at] = *how;
                self.one(cycle, &style, &[label, &[place, name]].concat())?;
            }
        }
        ControlFlow::Continue(())
    }

    /// For each shape: its tests with one access made in another way, and with `bare` the shape itself.
    fn constructs(
        &mut self,
        label: &[&str],
        style: Style,
        bare: bool,
        ways: &[(String, Way)],
    ) -> ControlFlow<()> {
        for shape in Run::cycles(shapes::shapes()) {
            if bare {
                self.one(&shape.0, &style, label)?;
            }
            self.ways(&shape, style, ways, label)?;
        }
        ControlFlow::Continue(())
    }

    fn table4(&mut self, ways: &[(String, Way)]) -> ControlFlow<()> {
        for (label, base) in types(16) {
            self.constructs(&[label], Style { base, ..Style::default() }, true, ways)?;
        }
        ControlFlow::Continue(())
    }

    fn accesses(&mut self, ways: &[(String, Way)]) -> ControlFlow<()> {
        for (label, base) in types(16) {
            let some = if ["int", "int64_t"].contains(&label) { ways } else { &[] };
            self.constructs(&[label], Style { base, ..Style::default() }, true, some)?;
        }
        ControlFlow::Continue(())
    }

    /// Up to two accesses of each shape made in another way, all of them sequentially consistent.
    fn sequential(&mut self) -> ControlFlow<()> {
        let is_sc = |text: &String| {
            !["Rlx", "Rel", "Acq", "Fence", "DpAddr"].iter().any(|w| text.contains(w))
        };
        let kept = |texts: Vec<String>| Run::cycles(texts.into_iter().filter(is_sc).collect());
        let (free, guarded) = (kept(shapes::shapes()), kept(shapes::guarded()));
        let ways = shapes::sequential_ways();
        for (label, base) in types(8).filter(|(name, _)| ["int", "int64_t"].contains(name)) {
            let atomic = Style { base, ..Style::default() };
            let plain = Style { objects: Objects::Plain, ..atomic };
            let all = free.iter().map(|c| (c, atomic)).chain(guarded.iter().map(|c| (c, plain)));
            for ((cycle, places), usual) in all {
                self.one(cycle, &usual, &[label])?;
                for (a, first) in PLACES.iter().enumerate().take(*places) {
                    for (name, how) in &ways {
                        let mut style = usual;
                        style.made[a] = *how;
                        self.one(cycle, &style, &[label, first, name])?;
                        for (b, second) in PLACES.iter().enumerate().take(*places).skip(a + 1) {
                            for (other, how) in &ways {
                                style.made[b] = *how;
                                self.one(cycle, &style, &[label, first, name, second, other])?;
                            }
                            style.made[b] = Way::Usual;
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn idle(&mut self) -> ControlFlow<()> {
        for (cycle, places) in Run::cycles(shapes::shapes()) {
            for (before, place) in PLACES.iter().enumerate().take(places) {
                for (name, op) in Operation::ALL {
                    // An exchange leaves what it is given, whatever was there.
                    if op == Operation::Exchange {
                        continue;
                    }
                    for (o, order) in shapes::ORDERS {
                        let idle = Some(Idle { before, op, order });
                        let name = format!("idle-{}-{o}", name.replace('_', "-"));
                        let style = Style { idle, ..Style::default() };
                        self.one(&cycle, &style, &[place, &name])?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Every choice of loads that are const.
    fn constants(&mut self) -> ControlFlow<()> {
        for (cycle, places) in Run::cycles(shapes::shapes()) {
            for (label, base) in types(16) {
                for mask in 1..1u32 << places {
                    let mut style = Style { base, ..Style::default() };
                    let chosen = (0..places).filter(|at| mask & 1 << at != 0);
                    let mut places = String::new();
                    for at in chosen {
                        style.made[at] = Way::Const;
                        places.push_str(PLACES[at]);
                    }
                    self.one(&cycle, &style, &[label, &places, "const"])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Two types in one test, each pair of different widths.
    fn mixed_width(&mut self) -> ControlFlow<()> {
        use super::edge::Order;
        let swap = Way::Rmw { op: Operation::Exchange, order: Order::AcqRel, used: true };
        let add = Way::Rmw { op: Operation::Fetch(RmwOp::Add), order: Order::Sc, used: true };
        let ways = [("exchange".to_string(), swap), ("fetch-add".to_string(), add)];
        for shape in Run::cycles(shapes::shapes()) {
            for (a, first) in types(16) {
                for (b, second) in types(16).filter(|(_, s)| s.bytes != first.bytes) {
                    let style = Style { base: first, second: Some(second), ..Style::default() };
                    self.one(&shape.0, &style, &[a, b])?;
                    self.ways(&shape, style, &ways, &[a, b])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn arrays(&mut self) -> ControlFlow<()> {
        let ways = shapes::few_ways();
        for shape in Run::cycles(shapes::shapes()) {
            for (label, base) in types(16) {
                let style = Style { base, layout: Layout::Array, ..Style::default() };
                self.one(&shape.0, &style, &[label, "array"])?;
                self.ways(&shape, style, &ways, &[label, "array"])?;
            }
        }
        ControlFlow::Continue(())
    }

    fn structures(&mut self) -> ControlFlow<()> {
        let guarded = Run::cycles(shapes::guarded());
        let shapes = Run::cycles(shapes::shapes());
        for (a, first) in types(16) {
            for (b, second) in types(16) {
                let second = Some(second);
                let style =
                    Style { base: first, second, layout: Layout::Struct, ..Style::default() };
                for (cycle, _) in &shapes {
                    self.one(cycle, &style, &[a, b, "struct"])?;
                }
                let style = Style { objects: Objects::Plain, ..style };
                for (cycle, _) in &guarded {
                    self.one(cycle, &style, &[a, b, "struct"])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn plain(&mut self, ways: &[(String, Way)]) -> ControlFlow<()> {
        for shape in Run::cycles(shapes::guarded()) {
            for (label, base) in types(16) {
                let style = Style { base, objects: Objects::Plain, ..Style::default() };
                self.one(&shape.0, &style, &[label, "plain"])?;
            }
            let style = Style { objects: Objects::Plain, ..Style::default() };
            self.ways(&shape, style, ways, &["plain"])?;
            let style = Style { helpers: Helpers::Accesses, ..style };
            self.one(&shape.0, &style, &["helpers", "plain"])?;
        }
        ControlFlow::Continue(())
    }

    fn helpers(&mut self, ways: &[(String, Way)]) -> ControlFlow<()> {
        for shape in Run::cycles(shapes::shapes()) {
            for (label, helpers) in Helpers::NAMES {
                if helpers == Helpers::None {
                    continue;
                }
                let label = format!("helpers-{label}");
                let style = Style { helpers, ..Style::default() };
                self.one(&shape.0, &style, &[&label])?;
                if helpers == Helpers::Accesses {
                    self.ways(&shape, style, ways, &[&label])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pointers(&mut self) -> Result<ControlFlow<()>> {
        for (name, text) in pointers::texts() {
            self.tally.cycles += 1;
            let test = litmus::read(&Source::new("c11-pointers", text))?;
            let hash = short(&canon::canonical_hash(&test));
            if !self.seen.insert(hash) {
                self.tally.drop(REPEATED);
                continue;
            }
            self.tally.tests += 1;
            let text = litmus::write(&test);
            if (self.f)(Made::new(Arch::C, name, &text, hash)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn axes(&mut self, family: &axes::Family) -> Result<ControlFlow<()>> {
        let mut wrong = None;
        let flow = axes::each(family, &mut |_, name, text| {
            self.tally.cycles += 1;
            let test = match litmus::read(&Source::new(family.name, text)) {
                Ok(test) => test,
                Err(e) => {
                    wrong = Some(e);
                    return ControlFlow::Break(());
                }
            };
            let hash = short(&canon::canonical_hash(&test));
            if !self.seen.insert(hash) {
                self.tally.drop(REPEATED);
                return ControlFlow::Continue(());
            }
            self.tally.tests += 1;
            (self.f)(Made::new(Arch::C, name, &litmus::write(&test), hash))
        });
        wrong.map_or(Ok(flow), Err)
    }

    fn telechat(&mut self) -> Result<ControlFlow<()>> {
        let text = |t: &str| vec![Source::new("telechat-table3", t)];
        let parts = [
            (
                "Pod** Rfe Fre Coe FenceAcqd** FenceReld** FenceARd** FenceScd** DpCtrld*",
                "Rlx Acq Rel Sc",
                4,
                2,
            ),
            ("Pod** Rfe Fre Coe FenceAcqd** FenceReld** FenceARd** FenceScd** DpCtrld*", "", 6, 3),
            ("Pod** Rfe Fre Coe DpCtrld*", "", 10, 5),
        ];
        for (label, base) in types(8) {
            for (words, annotations, size, threads) in parts {
                let recipe = Recipe {
                    vocabulary: text(words),
                    annotations: if annotations.is_empty() { vec![] } else { text(annotations) },
                    size,
                    threads,
                    ..Recipe::new(Arch::C)
                };
                let mut prepared = recipe.prepare()?;
                prepared.style.base = base;
                let search = super::Search::new(prepared.dialect, &prepared.family);
                let shape = prepared.family.shape;
                let flow = search.each(None, &mut |cycle| {
                    self.tally.cycles += 1;
                    match self.maker.make(prepared.dialect, cycle, &shape, &prepared.style) {
                        Ok(()) => self.offer(&[label]),
                        Err(why) => {
                            self.tally.drop(why);
                            ControlFlow::Continue(())
                        }
                    }
                });
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
