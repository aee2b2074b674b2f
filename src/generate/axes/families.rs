//! Families: the parts of the grid in which one group of axes takes every choice.

use std::ops::ControlFlow;

use super::{Axis, Point, text};

/// A family. Each of its axes takes every choice: alone, with the shapes, and with a few ways to hand over
/// the data.
pub struct Family {
    /// Its name, as `generate` takes it.
    pub name: &'static str,
    /// Its purpose, in words.
    pub about: &'static str,
    /// The axes of which each takes every choice.
    pub axes: &'static [Axis],
    /// Which points are in it.
    pub has: fn(&Point) -> bool,
}

fn any(_: &Point) -> bool {
    true
}

/// Whether a test has floating point: in the flag, in the data, or in values made from or into the data.
pub fn has_float(point: &Point) -> bool {
    let of_floats = |axis: Axis| match axis {
        Axis::Type | Axis::Flag => matches!(point.choice(axis), "float" | "double"),
        Axis::Value => matches!(point.choice(axis), "float" | "double" | "float-bits"),
        Axis::Read => matches!(point.choice(axis), "as-float" | "float-compared" | "from-bits"),
        _ => false,
    };
    Axis::ALL.into_iter().any(of_floats)
}

/// Every family of the grid.
pub const FAMILIES: [Family; 12] = [
    Family {
        name: "c11-sync",
        about: "every way to release and every way to acquire, around plain and atomic data",
        axes: &[Axis::Release, Axis::Acquire],
        has: any,
    },
    Family {
        name: "c11-values",
        about: "data that is packed, converted, computed from known bits, and taken apart again",
        axes: &[Axis::Value, Axis::Read],
        has: any,
    },
    Family {
        name: "c11-aliasing",
        about: "data behind restrict, const and volatile pointers, elements, chosen pointers, and \
                through another type",
        axes: &[Axis::Alias, Axis::Write],
        has: any,
    },
    Family {
        name: "c11-liveness",
        about: "stores that could merge, sink or be dropped, loads that could move, values used on \
                one way only",
        axes: &[Axis::Write, Axis::Use, Axis::Early],
        has: any,
    },
    Family {
        name: "c11-effects",
        about: "functions that compilers summarise: pure, const, inlined or not, results unused",
        axes: &[Axis::Call, Axis::Sync],
        has: any,
    },
    Family {
        name: "c11-around",
        about: "plain accesses of all widths to other memory around every operation",
        axes: &[Axis::Around],
        has: any,
    },
    Family {
        name: "c11-loops",
        about: "loops that run once around threads, around data and around synchronisation",
        axes: &[Axis::Loop, Axis::Use],
        has: any,
    },
    Family {
        name: "c11-floats",
        about: "flags and data of floating point, numbers that are converted, compared and taken for \
                their bits",
        axes: &[Axis::Type, Axis::Flag, Axis::Value, Axis::Read, Axis::Write, Axis::Use],
        has: has_float,
    },
    Family {
        name: "c11-members",
        about: "data that is a member: beside members that other threads write, that are atomic or \
                const, in structures that are copied, in one structure with the flag, in a union",
        axes: &[Axis::Member, Axis::Write, Axis::Use, Axis::Type],
        has: has_member,
    },
    Family {
        name: "c11-answers",
        about: "updates that decide by a bit of what they found, by a comparison of what they left, or by \
                whether they did",
        axes: &[Axis::Answer, Axis::Acquire, Axis::Flag, Axis::Sync],
        has: |point| point.get(Axis::Answer) > 0,
    },
    Family {
        name: "c11-near",
        about: "a thread's own members beside the data and the flag, and constants that are all distinct",
        axes: &[Axis::Near, Axis::Numbers, Axis::Type],
        has: |point| point.get(Axis::Near) > 0,
    },
    Family {
        name: "c11-statics",
        about: "data and flags that functions name as static variables; one function that all threads run",
        axes: &[Axis::Storage, Axis::Write, Axis::Use, Axis::Numbers],
        has: |point| point.get(Axis::Storage) > 0,
    },
];

/// Whether the data of a test is a member.
fn has_member(point: &Point) -> bool {
    point.get(Axis::Member) > 0
}

/// The axes that a family's tests are also varied on, beside the shapes: so that a choice meets
/// several widths, kinds and ways to hand over.
const BESIDE: [&[(Axis, &str)]; 8] = [
    &[],
    &[(Axis::Type, "int64_t")],
    &[(Axis::Type, "uint8_t"), (Axis::Flag, "int16_t")],
    &[(Axis::Kind, "atomic")],
    &[(Axis::Kind, "volatile"), (Axis::Type, "int16_t")],
    &[(Axis::Release, "fencerel-store-rlx"), (Axis::Acquire, "load-rlx-fenceacq")],
    &[(Axis::Release, "exchange-sc-unused"), (Axis::Acquire, "fetch-add-ar")],
    &[(Axis::Release, "cas-strong-rlx-rel-unused"), (Axis::Acquire, "cas-strong-miss-acq-rlx")],
];

/// The ways to hand over beside which every way of the other side stands.
fn usual(axis: Axis) -> impl Iterator<Item = usize> {
    let ways = BESIDE.iter().flat_map(|list| list.iter()).filter(move |(a, _)| *a == axis);
    std::iter::once(0).chain(ways.filter_map(move |(_, name)| named(axis, name)))
}

/// The place of a choice among those of its axis.
pub(super) fn named(axis: Axis, name: &str) -> Option<usize> {
    (0..axis.choices()).find(|at| axis.choice(*at) == name)
}

/// Calls `f` on every point of a family that is a test, with its name and text, in one order.
pub fn each(
    family: &Family,
    f: &mut dyn FnMut(Point, String, String) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut offer = |point: Point| match (family.has)(&point).then(|| text(&point)).flatten() {
        Some((name, text)) => f(point, name, text),
        None => ControlFlow::Continue(()),
    };
    let crossed = family.axes == [Axis::Release, Axis::Acquire];
    for shape in 0..super::program::IN_FAMILIES {
        let start = Point::default().with(Axis::Shape, shape);
        if crossed {
            for kind in 0..2 {
                let start = start.with(Axis::Kind, kind);
                for release in 0..Axis::Release.choices() {
                    for acquire in usual(Axis::Acquire) {
                        offer(start.with(Axis::Release, release).with(Axis::Acquire, acquire))?;
                    }
                }
                for acquire in 0..Axis::Acquire.choices() {
                    for release in usual(Axis::Release) {
                        offer(start.with(Axis::Release, release).with(Axis::Acquire, acquire))?;
                    }
                }
            }
            continue;
        }
        for beside in BESIDE {
            let mut point = start;
            for (axis, name) in beside {
                if let Some(at) = named(*axis, name) {
                    point = point.with(*axis, at);
                }
            }
            // Each choice of each axis alone, and each pair of choices of two of them.
            for (i, axis) in family.axes.iter().enumerate() {
                for at in 1..axis.choices() {
                    let one = point.with(*axis, at);
                    offer(one)?;
                    for other in &family.axes[i + 1..] {
                        for at in 1..other.choices() {
                            offer(one.with(*other, at))?;
                        }
                    }
                }
            }
        }
    }
    ControlFlow::Continue(())
}
