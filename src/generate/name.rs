//! The names of tests: the family of a cycle, and what its threads are made of, as diy has them.

use super::dialect::Dialect;
use super::edge::{Com, Dir, Edge, Ie, Kind, Sd};
use super::syntax::dir_text;

/// The families with names of their own, by the first and last direction of each thread.
const FAMILIES: [(&str, &str); 36] = [
    ("WW+RR", "MP"),
    ("WR+WR", "SB"),
    ("WR+WR+WR", "3.SB"),
    ("WR+WR+WR+WR", "4.SB"),
    ("W+RW+RR", "WRC"),
    ("W+RR+WR", "RWC"),
    ("RW+RW", "LB"),
    ("RW+RW+RW", "3.LB"),
    ("RW+RW+RW+RW", "4.LB"),
    ("WW+WR", "R"),
    ("W+RW+WR", "WRW+WR"),
    ("W+RR+WW", "WRR+2W"),
    ("WW+RW", "S"),
    ("W+RW+RW", "WWC"),
    ("WW+WW", "2+2W"),
    ("WW+WW+WW", "3.2W"),
    ("WW+WW+WW+WW", "4.2W"),
    ("W+RW+WW", "WRW+2W"),
    ("WW+RR+WR", "W+RWC"),
    ("WW+RW+RR", "ISA2"),
    ("W+RR+W+RR", "IRIW"),
    ("W+RR+W+RW", "IRRWIW"),
    ("W+RW+W+RR", "IRRWIW"),
    ("W+RW+W+RW", "IRWIW"),
    ("WW+RW+WR", "Z6.0"),
    ("WW+WW+RW", "Z6.1"),
    ("WW+RW+RW", "Z6.2"),
    ("WW+WW+RR", "Z6.3"),
    ("WW+WR+WR", "Z6.4"),
    ("WW+WW+WR", "Z6.5"),
    ("W+RW", "CoRW2"),
    ("W+WR", "CoWR"),
    ("W+RR", "CoRR"),
    ("WW", "CoWW"),
    ("RW", "CoRW1"),
    ("WR", "CoWR0"),
];

/// How many of the families are named so only where all accesses are at one location.
const ONE_LOCATION: usize = 6;

/// The threads of a family, by its name.
pub fn threads_of(family: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, n)| *n == family).map(|(t, _)| *t)
}

/// The names of all families.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(_, n)| *n)
}

/// Whether a family is one only where all accesses are at one location.
pub fn is_at_one_location(family: &str) -> bool {
    FAMILIES[FAMILIES.len() - ONE_LOCATION..].iter().any(|(_, n)| *n == family)
}

/// The part of a test's name for a thread of these edges.
pub fn part(dialect: &Dialect, edges: &[Edge]) -> String {
    let mut namer = Namer::default();
    namer.thread(dialect, edges);
    namer.parts
}

/// Writes names in buffers that are used again.
#[derive(Default)]
pub struct Namer {
    key: String,
    parts: String,
    ends: Vec<usize>,
}

impl Namer {
    /// The name of the test of a merged cycle in normal rotation.
    pub fn name(&mut self, dialect: &Dialect, edges: &[Edge], out: &mut String) {
        self.family(edges, out);
        self.thread_names(dialect, edges);
        let isolated = isolated(dialect, edges);
        let count = self.ends.len();
        let part = |i: usize| &self.parts[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]];
        let same = (1..count).all(|i| part(i) == part(0));
        let first = if count > 0 { part(0) } else { "" };
        match (same && count > 0, first, count) {
            (true, "po", _) | (true, "pos", 1) => {}
            (true, name, 1) => {
                out.push('+');
                out.push_str(name);
            }
            (true, name, _) => {
                out.push('+');
                out.push_str(name);
                out.push('s');
            }
            (false, ..) => {
                for i in 0..count {
                    out.push('+');
                    out.push_str(part(i));
                }
            }
        }
        if !isolated.is_empty() {
            out.push('+');
            out.push_str(&isolated);
        }
    }

    /// The name of the family.
    pub fn family(&mut self, edges: &[Edge], out: &mut String) {
        self.key.clear();
        // The last event of the thread, where it has more than one.
        let mut last: Option<Dir> = None;
        let mut inside = false;
        for edge in edges.iter().filter(|e| e.is_real()) {
            let Some(dir) = edge.source() else { continue };
            if inside {
                last = Some(dir);
            } else {
                if !self.key.is_empty() {
                    self.key.push('+');
                }
                self.key.push_str(dir_text(dir));
                inside = true;
            }
            if edge.is_ext() {
                self.key.push_str(last.map_or("", dir_text));
                (last, inside) = (None, false);
            }
        }
        self.key.push_str(last.map_or("", dir_text));
        let one = edges.iter().all(|e| e.sd() == Sd::Same);
        let known = FAMILIES.iter().position(|(k, _)| *k == self.key);
        let named = known.filter(|i| one || *i < FAMILIES.len() - ONE_LOCATION);
        out.push_str(named.map_or(&self.key, |i| FAMILIES[i].1));
    }

    /// The parts of the name, one for each thread.
    fn thread_names(&mut self, dialect: &Dialect, edges: &[Edge]) {
        self.parts.clear();
        self.ends.clear();
        let mut start = 0;
        for (i, edge) in edges.iter().enumerate() {
            if edge.is_ext() {
                self.thread(dialect, &edges[start..i]);
                start = i + 1;
            }
        }
        self.thread(dialect, &edges[start..]);
    }

    fn thread(&mut self, dialect: &Dialect, edges: &[Edge]) {
        if edges.is_empty() {
            return;
        }
        for (i, edge) in edges.iter().enumerate() {
            if i > 0 {
                self.parts.push('-');
            }
            // The direction between two edges is said where neither says it.
            let between = edges.get(i + 1).is_some_and(|next| {
                matches!(edge.kind, Kind::Po(..) | Kind::Fenced(..) | Kind::Dp(..))
                    && matches!(next.kind, Kind::Po(..) | Kind::Fenced(..))
            });
            edge_name(dialect, *edge, &mut self.parts);
            if between && let Some(dir) = edge.target() {
                self.parts.push_str(dir_text(dir));
            }
            if edge.a1.is_some() || edge.a2.is_some() {
                for atom in [edge.a1, edge.a2] {
                    lower(dialect.atom_name(atom), &mut self.parts);
                }
            }
        }
        self.ends.push(self.parts.len());
    }
}

fn lower(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| c.to_ascii_lowercase()));
}

fn edge_name(dialect: &Dialect, edge: Edge, out: &mut String) {
    let mut same = false;
    match edge.kind {
        Kind::Po(sd, ..) => {
            out.push_str("po");
            same = sd == Sd::Same;
        }
        Kind::Fenced(f, sd, ..) => {
            out.push_str(dialect.fence(f).lower);
            same = sd == Sd::Same;
        }
        Kind::Dp(dep, sd, _) => {
            lower(dialect.dep_name(dep), out);
            same = sd == Sd::Same;
        }
        Kind::Com(com, ie) => {
            out.push_str(match com {
                Com::Rf => "rf",
                Com::Fr => "fr",
                Com::Co => "co",
            });
            out.push(if ie == Ie::Ext { 'e' } else { 'i' });
        }
        Kind::Rmw(rmw) if rmw == dialect.rmw => out.push_str("rmw"),
        Kind::Rmw(rmw) => lower(dialect.rmw_name(rmw), out),
        Kind::Insert(f) => {
            out.push('[');
            out.push_str(dialect.fence(f).lower);
            out.push(']');
        }
        Kind::Id => {}
    }
    if same {
        out.push('s');
    }
}

/// The annotations of events that are threads of their own.
fn isolated(dialect: &Dialect, edges: &[Edge]) -> String {
    let lone = |a: &Edge, b: &Edge| a.is_ext() && b.is_ext() && a.a2.is_some() == b.a1.is_some();
    let accesses = || edges.iter().filter(|e| !matches!(e.kind, Kind::Insert(_)));
    // The first event of all stands first.
    let around = accesses().next_back().into_iter().chain(accesses()).zip(accesses());
    let found = || around.clone().filter(|(a, b)| lone(a, b)).map(|(a, _)| a.a2);
    if found().all(|a| a.is_none()) {
        return String::new();
    }
    // A plain one is `Na` here in every dialect.
    found().map(|a| a.map_or("Na", |a| dialect.atom_name(Some(a)))).collect()
}
