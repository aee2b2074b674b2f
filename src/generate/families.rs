//! Ready-made families of C tests: the constructs of C11 one by one, and the campaigns of two
//! papers, as closely as they tell what they are made of.

use std::ops::ControlFlow;

use super::dialect;
use super::draft::Draft;
use super::edge::{Order, RmwOp};
use super::emit::{Base, Made, Operation, Style};
use super::recipe::Recipe;
use super::{Maker, Names, Seen, Tally, syntax};
use crate::diag::{Diag, Result, Source, Span, nearest};
use crate::generate::cycle::Shape;
use crate::litmus::Arch;

/// Names of families, and what each is.
pub const NAMES: [(&str, &str); 6] = [
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
    ("c11-constructs", "mix-table4 in `int` alone"),
    (
        "c11-cas",
        "compare-exchange that succeeds and that fails, weak and strong, with every pair of \
         orders of C23",
    ),
    ("c11-unused", "read-modify-writes whose results are unused, seen through final values"),
    ("c11-mixed-width", "locations of different widths in one test"),
];

/// The integer types of a campaign, up to a width.
fn types(bytes: u8) -> impl Iterator<Item = (&'static str, Base)> {
    Base::NAMES.into_iter().filter(move |(_, b)| b.bytes <= bytes)
}

/// Calls `f` on every test of a family.
pub fn each(
    name: &Source,
    f: &mut dyn FnMut(&Draft, &blake3::Hash) -> ControlFlow<()>,
) -> Result<Tally> {
    let mut run = Run {
        maker: Maker::default(),
        seen: Seen::default(),
        names: Names::default(),
        tally: Tally::default(),
        f,
    };
    let int = Base::default();
    // Whoever stops it knows.
    let _ = match &*name.text {
        "telechat-table3" => run.telechat()?,
        "mix-table4" => {
            let mut flow = ControlFlow::Continue(());
            for (label, base) in types(16) {
                flow = run.constructs(label, base, &|_| true);
                if flow.is_break() {
                    break;
                }
            }
            flow
        }
        "c11-constructs" => run.constructs("", int, &|_| true),
        "c11-cas" => run.constructs("", int, &|m| matches!(m, Made::Cas { .. })),
        "c11-unused" => run.constructs("", int, &|m| matches!(m, Made::Rmw { used: false, .. })),
        "c11-mixed-width" => run.mixed_width(),
        other => {
            let all = NAMES.iter().map(|(n, _)| *n);
            let diag = Diag::at(
                name,
                Span::new(0, name.text.len()),
                format!("`{other}` is no family of tests"),
            );
            return Err(match nearest(other, all.clone()) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None => diag.help(format!("families are {}", all.collect::<Vec<_>>().join(", "))),
            });
        }
    };
    Ok(run.tally)
}

/// Whether a name is that of a family.
pub fn known(name: &str) -> bool {
    NAMES.iter().any(|(n, _)| *n == name)
}

/// The shapes with two threads, with a place for the annotation of each access, and for what
/// stands between two.
const SHAPES: [&str; 6] = [
    "<b>dWW<w><w> Rfe <b>dRR<r><r> Fre",
    "<b>dWR<w><r> Fre <b>dWR<w><r> Fre",
    "<b>dRW<r><w> Rfe <b>dRW<r><w> Rfe",
    "<b>dWW<w><w> Rfe <b>dRW<r><w> Coe",
    "<b>dWW<w><w> Coe <b>dWR<w><r> Fre",
    "<b>dWW<w><w> Coe <b>dWW<w><w> Coe",
];

/// Annotations of writes and reads.
const STRENGTHS: [(&str, &str); 3] = [("Rlx", "Rlx"), ("Rel", "Acq"), ("Sc", "Sc")];

const BETWEEN: [&str; 3] = ["Po", "FenceSc", "FenceAR"];

fn shapes() -> Vec<String> {
    let mut out = Vec::new();
    for shape in SHAPES {
        for (w, r) in STRENGTHS {
            for between in BETWEEN {
                out.push(shape.replace("<b>", between).replace("<w>", w).replace("<r>", r));
            }
        }
    }
    // The load of a pair of dependent accesses, too.
    for (w, r) in STRENGTHS {
        out.push(format!("DpDatadW{r}{w} Rfe DpCtrldW{r}{w} Rfe"));
        out.push(format!("PodWW{w}{w} Rfe DpAddrdR{r}{r} Fre"));
    }
    out
}

/// Every way to make an access that is not a plain load or store.
fn ways() -> Vec<(String, Made)> {
    const ORDERS: [(&str, Order); 5] = [
        ("rlx", Order::Rlx),
        ("acq", Order::Acq),
        ("rel", Order::Rel),
        ("ar", Order::AcqRel),
        ("sc", Order::Sc),
    ];
    let mut out = Vec::new();
    for (name, op) in Operation::ALL {
        for (o, order) in ORDERS {
            for used in [true, false] {
                let unused = if used { "" } else { "-unused" };
                let name = format!("{}-{o}{unused}", name.replace('_', "-"));
                out.push((name, Made::Rmw { op, order, used }));
            }
        }
    }
    for weak in [false, true] {
        for (s, success) in ORDERS {
            // C23 and C++17 take every order for failure that a load can have.
            for (l, failure) in
                ORDERS.into_iter().filter(|(_, o)| matches!(o, Order::Rlx | Order::Acq | Order::Sc))
            {
                let name = if weak { "weak" } else { "strong" };
                out.push((format!("cas-{name}-{s}-{l}"), Made::Cas { weak, success, failure }));
            }
        }
    }
    out.push(("const".into(), Made::Const));
    out.push(("volatile".into(), Made::Volatile));
    out
}

struct Run<'a> {
    maker: Maker,
    seen: Seen,
    names: Names,
    tally: Tally,
    f: &'a mut dyn FnMut(&Draft, &blake3::Hash) -> ControlFlow<()>,
}

impl Run<'_> {
    fn offer(&mut self, suffix: &[&str]) -> ControlFlow<()> {
        let hash = self.maker.draft.canonical_hash();
        if !self.seen.insert(&hash) {
            self.tally.repeated += 1;
            return ControlFlow::Continue(());
        }
        let name = &mut self.maker.draft.name;
        for part in suffix.iter().filter(|s| !s.is_empty()) {
            name.push('.');
            name.push_str(part);
        }
        self.names.unique(name);
        self.tally.tests += 1;
        (self.f)(&self.maker.draft, &hash)
    }

    /// Each way to make an access, in each place of each shape; all others are made as usual.
    fn constructs(
        &mut self,
        label: &str,
        base: Base,
        kept: &dyn Fn(&Made) -> bool,
    ) -> ControlFlow<()> {
        let dialect = dialect::of(Arch::C);
        let ways = ways();
        let plain = Style { base, ..Style::default() };
        for text in shapes() {
            let Ok(cycle) = syntax::cycle(dialect, &Source::new("shape", text)) else { continue };
            if kept(&Made::Usual) {
                self.one(&cycle, &plain, &[label])?;
            }
            for at in 0..4 {
                for (name, how) in ways.iter().filter(|(_, m)| kept(m)) {
                    let mut style = plain;
                    style.made[at] = *how;
                    let place = ["0", "1", "2", "3"][at];
                    self.one(&cycle, &style, &[label, place, name])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn one(
        &mut self,
        cycle: &[super::edge::Edge],
        style: &Style,
        suffix: &[&str],
    ) -> ControlFlow<()> {
        self.tally.cycles += 1;
        match self.maker.make(dialect::of(Arch::C), cycle, &Shape::ANY, style) {
            Ok(()) => self.offer(suffix),
            Err(_) => {
                self.tally.refused += 1;
                ControlFlow::Continue(())
            }
        }
    }

    /// Two types in one test, each pair of different widths.
    fn mixed_width(&mut self) -> ControlFlow<()> {
        let dialect = dialect::of(Arch::C);
        let swap = Made::Rmw { op: Operation::Exchange, order: Order::AcqRel, used: true };
        let add = Made::Rmw { op: Operation::Fetch(RmwOp::Add), order: Order::Sc, used: true };
        for text in shapes() {
            let Ok(cycle) = syntax::cycle(dialect, &Source::new("shape", text)) else { continue };
            for (a, first) in types(16) {
                for (b, second) in types(16).filter(|(_, s)| s.bytes != first.bytes) {
                    let mut style = Style { base: first, second: Some(second), ..Style::default() };
                    self.one(&cycle, &style, &[a, b])?;
                    for at in 0..4 {
                        for (name, how) in [("exchange", swap), ("fetch-add", add)] {
                            style.made = Default::default();
                            style.made[at] = how;
                            let place = ["0", "1", "2", "3"][at];
                            self.one(&cycle, &style, &[a, b, place, name])?;
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
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
                        Err(_) => {
                            self.tally.refused += 1;
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
