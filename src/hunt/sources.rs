//! The sources of a hunt's tests: the grid of axes, one axis at a time, the families of C tests, and
//! the tests of each question that passes have to ask.
//!
//! It does not know which tests are worth drawing.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use serde::{Deserialize, Serialize};

use litmake_base::diag::Source;
use litmake_generate::Made;
use litmake_generate::axes::{self, AXES, Axis, Point, Random};
use litmake_generate::families;
use litmake_litmus::Arch;

use super::questions::{Asking, QUESTIONS};

/// The families whose lists are sources of their own. Families on the axes of the grid are drawn
/// from the grid.
const LISTED: [&str; 11] = [
    "c11-constructs",
    "c11-cas",
    "c11-unused",
    "c11-idle",
    "c11-volatile",
    "c11-const",
    "c11-array",
    "c11-struct",
    "c11-plain",
    "c11-helpers",
    "c11-pointers",
];

/// The source of tests with floating point.
const FLOATS: &str = "floats";

/// The numbers of axes on which tests from crowds make a special choice.
const CROWDS: [usize; 2] = [4, 7];

/// The position of a test in its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Position {
    /// The choice on each axis.
    Grid([u8; AXES]),
    /// The family, and the index in its list.
    Listed(usize, usize),
}

/// The sources, with the lists that were made so far.
#[derive(Default)]
pub struct Sources {
    lists: HashMap<usize, Vec<Made>>,
}

impl Sources {
    /// The names of all sources, in their order.
    pub fn names() -> Vec<String> {
        let any = ["anything".to_string(), "sync".to_string()];
        let axes = Axis::ALL.into_iter().skip(3).map(|a| format!("axis {}", a.name()));
        let crowds = CROWDS.map(|n| format!("{n} axes"));
        let all = any.into_iter().chain(axes).chain(crowds).chain(LISTED.map(String::from));
        let questions = QUESTIONS.iter().map(|q| q.name.to_string());
        all.chain([FLOATS.to_string()]).chain(questions).collect()
    }

    /// The sources of questions.
    pub fn of_questions() -> Range<usize> {
        let all = Sources::names().len();
        all - QUESTIONS.len()..all
    }

    /// The name of a family whose list is a source.
    pub fn family(at: usize) -> &'static str {
        LISTED.get(at).copied().unwrap_or("")
    }

    /// Draws a random test of a source.
    pub fn draw(&mut self, source: usize, random: &mut Random) -> Option<Position> {
        let axes = AXES - 3;
        let listed = 2 + axes + CROWDS.len();
        match source {
            0 => Some(Position::Grid(axes::draw(random, &[], &[]).0)),
            1 => Some(Position::Grid(axes::draw(random, &[Axis::Release, Axis::Acquire], &[]).0)),
            n if n < 2 + axes => {
                Some(Position::Grid(axes::draw(random, &[Axis::ALL[3 + n - 2]], &[]).0))
            }
            n if n < listed => Some(Position::Grid(crowd(random, CROWDS[n - 2 - axes]).0)),
            n if n < listed + LISTED.len() => self.listed(n - listed, random),
            n if n == listed + LISTED.len() => Some(Position::Grid(floats(random).0)),
            n => match QUESTIONS[n - listed - LISTED.len() - 1].draw(random) {
                Asking::Point(point) => Some(Position::Grid(point.0)),
                Asking::Family(name) => {
                    self.listed(LISTED.iter().position(|known| *known == name)?, random)
                }
            },
        }
    }

    /// A random test of a family.
    fn listed(&mut self, family: usize, random: &mut Random) -> Option<Position> {
        let count = self.list(family).len();
        (count > 0).then(|| Position::Listed(family, random.below(count)))
    }

    /// The name and the text of a test.
    pub fn test(&mut self, place: &Position) -> Option<(String, String)> {
        match place {
            Position::Grid(point) => {
                let (name, text) = axes::text(&Point(*point))?;
                Some((file_name(&name), text))
            }
            Position::Listed(family, at) => {
                let made = self.list(*family).get(*at)?;
                let name = format!("{}.{}", LISTED[*family], made.name);
                Some((file_name(&name), made.text(Arch::C)))
            }
        }
    }

    /// Tests near one: on the grid, tests with another choice on one axis; in a list, tests at near
    /// indices, which differ in the order, the operation or the use of a result.
    pub fn beside(&mut self, place: &Position, random: &mut Random, count: usize) -> Vec<Position> {
        match place {
            Position::Grid(point) => axes::neighbours(random, &Point(*point), count)
                .into_iter()
                .map(|p| Position::Grid(p.0))
                .collect(),
            Position::Listed(family, at) => {
                let last = self.list(*family).len().saturating_sub(1);
                let mut out: Vec<Position> = Vec::new();
                for _ in 0..count * 4 {
                    let near = (at + random.below(24)).saturating_sub(12).min(last);
                    let place = Position::Listed(*family, near);
                    if near != *at && !out.contains(&place) && out.len() < count {
                        out.push(place);
                    }
                }
                out
            }
        }
    }

    fn list(&mut self, family: usize) -> &[Made] {
        self.lists.entry(family).or_insert_with(|| {
            let mut all = Vec::new();
            let name = LISTED.get(family).copied().unwrap_or("");
            // A list that cannot be made is empty, so that nothing is drawn from it.
            let _ = families::each(&Source::new("hunt", name), &mut |made| {
                all.push(made);
                ControlFlow::Continue(())
            });
            all
        })
    }
}

/// A point with special choices on several axes, so that their effects on the code meet.
fn crowd(random: &mut Random, count: usize) -> Point {
    let mut point = axes::draw(random, &[], &[]);
    for _ in 0..count * 2 {
        if point.special().count() >= count {
            break;
        }
        let axis = Axis::ALL[3 + random.below(AXES - 3)];
        let next = point.with(axis, 1 + random.below(axis.choices() - 1));
        // Some choices exclude each other.
        if axes::text(&next).is_some() {
            point = next;
        }
    }
    point
}

/// A point with floating point.
fn floats(random: &mut Random) -> Point {
    let axes = [Axis::Type, Axis::Flag, Axis::Value, Axis::Read];
    loop {
        let axis = axes[random.below(axes.len())];
        let point = axes::draw(random, &[axis], &[]);
        if axes::has_float(&point) {
            return point;
        }
    }
}

/// The longest name of a file.
const LONGEST: usize = 150;

fn file_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c == '/' || c == '*' || c == '?' { '_' } else { c }).collect();
    if plain.len() <= LONGEST {
        return plain;
    }
    let digest = litmake_base::digest::Digest::of(name.as_bytes()).short();
    let mut end = LONGEST - 13;
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{digest}", &plain[..end])
}
