//! Searches for the smallest tests that two models tell apart.
//!
//! The models may be of two dialects; each program is then written in both, and outcomes are
//! compared by place. This module does not know how models judge.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use litmake_base::diag::{Diag, Result};
use litmake_cat::load::{LoadOptions, load};
use litmake_generate::cycle::{self, Workshop};
use litmake_generate::dialect::{self, Dialect};
use litmake_generate::draft::{Draft, Shown, reg_name};
use litmake_generate::edge::{Atom, DepKind, Order};
use litmake_generate::emit::Base;
use litmake_generate::exhaustive::{self, Between, Bounds, MAX_EVENTS, Program};
use litmake_litmus::{self as litmus, Arch};
use litmake_sim::{Model, Options, Simulator};

/// A model, and the dialect of the tests that it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The name or the file of the model.
    pub model: String,
    /// The dialect.
    pub arch: Arch,
}

/// The dialect of a model, by the model's name.
pub fn arch_of(model: &str) -> Option<Arch> {
    Some(match model.trim_end_matches(".cat") {
        "x86tso-herd2025" => Arch::X86_64,
        "armv8" => Arch::AArch64,
        "aarch32" => Arch::Arm,
        "herding-cats" => Arch::Ppc,
        "mips-sync" | "mips-weak" => Arch::Mips,
        "rc11-lb" | "c11" | "opencl" | "go" | "wgsl-sc-per-loc" | "wgsl-rel-acq" | "vulkan" => {
            Arch::C
        }
        "llvm-lb" => Arch::Llvm,
        "spirv-opencl" => Arch::Spirv,
        name => return Arch::ALL.into_iter().find(|arch| arch.default_model() == name),
    })
}

/// Reads `sc`, `x86tso` or `sc:AArch64`. A model without a dialect gets that of the other model.
pub fn sides(a: &str, b: &str) -> Result<[Side; 2]> {
    let one = |text: &str| -> Result<(String, Option<Arch>)> {
        match text.rsplit_once(':') {
            Some((model, arch)) => {
                let arch = Arch::named(arch.trim()).ok_or_else(|| {
                    Diag::new(format!("`{arch}` is not a dialect of litmus tests"))
                })?;
                Ok((model.trim().to_string(), Some(arch)))
            }
            None => Ok((text.trim().to_string(), arch_of(text.trim()))),
        }
    };
    let ((a, x), (b, y)) = (one(a)?, one(b)?);
    let (x, y) = match (x, y) {
        (Some(x), Some(y)) => (x, y),
        (Some(x), None) | (None, Some(x)) => (x, x),
        (None, None) => {
            return Err(Diag::new(format!("`{a}` and `{b}` are models of no dialect"))
                .help("say one, as in `sc:X86_64`"));
        }
    };
    Ok([Side { model: a, arch: x }, Side { model: b, arch: y }])
}

/// A test that the models tell apart.
#[derive(Clone, Debug)]
pub struct Telling {
    /// The name, which is the same on both sides.
    pub name: String,
    /// The number of accesses, without the initial writes.
    pub events: usize,
    /// The text of the test for each side.
    pub texts: [String; 2],
    /// For each side, the number of outcomes that it allows and the other forbids.
    pub only: [usize; 2],
    /// One such outcome, as the condition of the test.
    pub example: String,
    /// The side that allows this outcome: 0 or 1.
    pub allowed_by: usize,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The smallest tests that were found.
    pub found: Vec<Telling>,
    /// The number of programs that were compared.
    pub compared: u64,
    /// The time that the search took.
    pub time: Duration,
    /// Whether the search ended before its time was up.
    pub complete: bool,
}

/// The limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of threads.
    pub threads: usize,
    /// The largest number of accesses.
    pub events: usize,
    /// The largest number of locations.
    pub locations: usize,
    /// The time after which the search gives up; `None` for never.
    pub timeout: Option<Duration>,
    /// Whether to find all tests of the smallest size, and not only those with the fewest ordering
    /// features.
    pub all: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            threads: 3,
            events: 5,
            locations: 2,
            timeout: Some(Duration::from_secs(60)),
            all: false,
        }
    }
}

/// The programs that both dialects can express.
fn words(sides: &[Side; 2], limits: &Limits) -> Bounds {
    let dialects = [dialect::of(sides[0].arch), dialect::of(sides[1].arch)];
    let mut bounds = Bounds::new(limits.threads, limits.events, limits.locations);
    let both = |f: &dyn Fn(&Dialect) -> bool| dialects.iter().all(|d| f(d));
    if both(&|d| d.strong.is_some()) {
        bounds.between.push(Between::Fence);
    }
    for kind in [DepKind::Addr, DepKind::Data, DepKind::Ctrl, DepKind::CtrlIsb] {
        if both(&|d| d.deps.iter().any(|(_, x)| x.kind == kind && !x.csel)) {
            bounds.between.push(Between::Dep(kind));
        }
    }
    if sides[0].arch == sides[1].arch {
        let strong = dialects[0].strong;
        let fences = (0..dialects[0].fences.len() as u8).filter(|f| Some(*f) != strong).take(6);
        bounds.between.extend(fences.map(Between::Weak));
    }
    let orders = [Order::Acq, Order::Rel];
    for order in orders {
        let atom = Atom::Order(order);
        if both(&|d| d.atoms.iter().any(|(_, a)| *a == atom)) {
            bounds.atoms.push(Some(atom));
        }
    }
    if sides.iter().all(|s| s.arch == Arch::C) {
        // All accesses are atomic, so that no program has undefined behaviour.
        bounds.atoms =
            [Order::Rlx, Order::Acq, Order::Rel, Order::Sc].map(|o| Some(Atom::Order(o))).to_vec();
        bounds.between.retain(|b| !matches!(b, Between::Dep(_)));
    }
    bounds
}

struct Judge {
    sides: [Side; 2],
    models: [Model; 2],
    simulator: Simulator,
    shop: Workshop,
    draft: Draft,
}

type States = BTreeSet<Vec<i64>>;

impl Judge {
    fn new(sides: &[Side; 2]) -> Result<Judge> {
        let model = |s: &Side| -> Result<Model> {
            Model::load(&load(&s.model, &LoadOptions::new(s.arch))?)
        };
        Ok(Judge {
            sides: sides.clone(),
            models: [model(&sides[0])?, model(&sides[1])?],
            simulator: Simulator::default(),
            shop: Workshop::default(),
            draft: Draft::default(),
        })
    }

    /// The final states that a side allows, as the observed values in order. `None` if the program
    /// cannot be written in its dialect, or is undefined or cut.
    fn states(&mut self, side: usize, program: &Program) -> Option<(States, String)> {
        let dialect = dialect::of(self.sides[side].arch);
        exhaustive::emit(dialect, program, Base::default(), &mut self.shop, &mut self.draft)
            .ok()?;
        self.draft.name = exhaustive::name(dialect, program);
        let mut text = String::new();
        self.draft.print(&mut text);
        let test = self.draft.test().ok()?;
        let options = Options { timeout: Some(Duration::from_secs(5)), ..Options::default() };
        let outcomes = self.simulator.simulate(&test, &self.models[side], &options).ok()?;
        if outcomes.undefined || outcomes.cut {
            return None;
        }
        let labels: Vec<String> = self.draft.shown.iter().map(|(s, _)| self.label(*s)).collect();
        let mut out = States::new();
        for state in &outcomes.states {
            let value = |label: &String| {
                let (_, v) = state.iter().find(|(l, _)| litmus::bare(l) == label)?;
                v.parse::<i64>().ok()
            };
            out.insert(labels.iter().map(value).collect::<Option<Vec<i64>>>()?);
        }
        Some((out, text))
    }

    fn label(&self, shown: Shown) -> String {
        match shown {
            Shown::Loc(loc) => cycle::LOCS[usize::from(loc)].to_string(),
            Shown::Reg(thread, reg) => {
                let mut out = format!("{thread}:");
                reg_name(self.draft.arch.unwrap_or(Arch::C), reg, &mut out);
                out
            }
        }
    }

    fn compare(&mut self, program: &Program) -> Option<Telling> {
        let (a, first) = self.states(0, program)?;
        let (b, second) = self.states(1, program)?;
        if a == b {
            return None;
        }
        let only = [a.difference(&b).count(), b.difference(&a).count()];
        let allowed_by = usize::from(only[0] == 0);
        let (mine, other) = if allowed_by == 0 { (&a, &b) } else { (&b, &a) };
        let values = mine.difference(other).next()?.clone();
        // Writes the program again for the side that allows the outcome, whose names the condition
        // uses.
        let _ = self.states(allowed_by, program)?;
        let parts: Vec<String> = self
            .draft
            .shown
            .iter()
            .zip(&values)
            .map(|((s, _), v)| match s {
                Shown::Loc(_) => format!("[{}]={v}", self.label(*s)),
                Shown::Reg(..) => format!("{}={v}", self.label(*s)),
            })
            .collect();
        Some(Telling {
            name: exhaustive::name(dialect::of(self.sides[0].arch), program),
            events: program.iter().map(Vec::len).sum(),
            texts: [first, second],
            only,
            example: parts.join(" /\\ "),
            allowed_by,
        })
    }
}

/// Searches programs by size, and programs of one size by the number of ordering features.
pub fn search(sides: &[Side; 2], limits: &Limits) -> Result<Report> {
    let start = Instant::now();
    let bounds = words(sides, limits);
    let mut judge = Judge::new(sides)?;
    let mut report =
        Report { found: Vec::new(), compared: 0, time: start.elapsed(), complete: true };
    'sizes: for events in 2..=limits.events.min(MAX_EVENTS) {
        for ordered in 0..=2 * events {
            let flow = exhaustive::each(&bounds, events, ordered, &mut |program| {
                if limits.timeout.is_some_and(|t| start.elapsed() > t) {
                    report.complete = false;
                    return ControlFlow::Break(());
                }
                report.compared += 1;
                report.found.extend(judge.compare(program));
                ControlFlow::Continue(())
            });
            if flow.is_break() || !report.found.is_empty() && !limits.all {
                break 'sizes;
            }
        }
        if !report.found.is_empty() {
            break;
        }
    }
    report.time = start.elapsed();
    Ok(report)
}
