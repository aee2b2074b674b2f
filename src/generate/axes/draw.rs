//! Draws points at random, and the neighbours of a point, for the hunt.

use super::families::named;
use super::{Axis, Point};

/// Random numbers that depend on the seed alone (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed, from the first on.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Numbers that depend on the seed and on what is drawn for.
    pub fn of(seed: u64, salt: u64) -> Random {
        let mut random = Random(seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.number();
        random
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n.max(1) as u64) as usize
    }
}

/// A random point that has the `fixed` choices, and in which `axes` and a few others are not plain. The
/// shape and the ways to hand over are always drawn. Half of the points with fixed choices have nothing else.
pub fn draw(random: &mut Random, axes: &[Axis], fixed: &[(Axis, usize)]) -> Point {
    let asked: Vec<Axis> =
        axes.iter().copied().chain(fixed.iter().map(|(axis, _)| *axis)).collect();
    let keep = |point| fixed.iter().fold(point, |point: Point, (axis, at)| point.with(*axis, *at));
    loop {
        let is_bare = !fixed.is_empty() && random.below(2) == 0;
        let mut point = Point::default();
        for axis in [Axis::Shape, Axis::Release, Axis::Acquire] {
            // Half of the points have the plain way, so that what is odd is odd alone.
            if axis == Axis::Shape || random.below(2) == 0 {
                point = point.with(axis, random.below(axis.choices()));
            }
        }
        point = keep(point);
        // Where data lies open, most kinds of it would race, and the shape would hardly ever be drawn.
        if super::program::is_open(point.choice(Axis::Shape)) {
            point = point.with(Axis::Kind, super::data::ATOMIC);
        }
        for axis in axes {
            if axis.choices() > 1 {
                point = point.with(*axis, 1 + random.below(axis.choices() - 1));
            }
        }
        while !is_bare && random.below(2) == 0 {
            let axis = Axis::ALL[3 + random.below(Axis::ALL.len() - 3)];
            // What was asked for stays special.
            if !asked.contains(&axis) {
                point = point.with(axis, random.below(axis.choices()));
            }
        }
        point = sinking(random, point);
        point = keep(passing(random, point));
        if super::text(&point).is_some() {
            return if is_bare { point } else { often(random, point, &asked) };
        }
    }
}

/// The axes on which a point is often made special, where that fits: so many times of so many. Compilers do
/// little with constants that are all alike, with data that lies alone, and with objects of which they see
/// only pointers.
const OFTEN: [(Axis, usize, usize); 6] = [
    (Axis::Numbers, 3, 4),
    (Axis::Near, 1, 3),
    (Axis::Storage, 1, 3),
    (Axis::Between, 1, 6),
    (Axis::Operand, 1, 6),
    (Axis::Kept, 1, 3),
];

fn often(random: &mut Random, mut point: Point, drawn: &[Axis]) -> Point {
    for (axis, times, of) in OFTEN {
        if drawn.contains(&axis) || random.below(of) >= times {
            continue;
        }
        let next = point.with(axis, 1 + random.below(axis.choices() - 1));
        if super::text(&next).is_some() {
            point = next;
        }
    }
    point
}

/// Gives a read that is kept late a branch to sink into, a fence before the branch, and half of the
/// time a thread that takes the data over to write it. By chance alone, hardly any test would have
/// all of them.
fn sinking(random: &mut Random, point: Point) -> Point {
    if point.choice(Axis::Early) != "read-sunk" {
        return point;
    }
    let ways = super::sync::releases();
    let fenced: Vec<usize> = (0..ways.len()).filter(|at| ways[*at].fence.is_some()).collect();
    let sync = ["fence-branch", "fence-loop", "expected"][random.below(3)];
    let point = point.with(Axis::Sync, named(Axis::Sync, sync).unwrap_or(0));
    let point = match random.below(2) {
        0 => point.with(Axis::Shape, named(Axis::Shape, "hand").unwrap_or(0)),
        _ => point,
    };
    point.with(Axis::Release, fenced[random.below(fenced.len())])
}

/// Half of the time, a thread that passes what it read to a function reads twice without asking in between:
/// only such loads can move to the call.
fn passing(random: &mut Random, point: Point) -> Point {
    if point.choice(Axis::Kept) != "arguments" || random.below(2) == 0 {
        return point;
    }
    let shape = ["MP-open", "CoRR"][random.below(2)];
    let point = point.with(Axis::Shape, named(Axis::Shape, shape).unwrap_or(0));
    match super::program::is_open(shape) {
        true => point.with(Axis::Kind, super::data::ATOMIC),
        false => point,
    }
}

/// Random points that differ from a point on one axis, each axis in turn.
pub fn neighbours(random: &mut Random, point: &Point, count: usize) -> Vec<Point> {
    let mut out: Vec<Point> = Vec::new();
    for _ in 0..count * 8 {
        if out.len() >= count {
            break;
        }
        let axis = Axis::ALL[random.below(Axis::ALL.len())];
        let next = point.with(axis, random.below(axis.choices()));
        if next != *point && !out.contains(&next) && super::text(&next).is_some() {
            out.push(next);
        }
    }
    out
}
