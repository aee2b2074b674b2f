//! The concrete syntax of edges, cycles and vocabularies, which is diy's.
//!
//! An edge is a name with, optionally, the annotations of its two ends (`PodWWPL`). `*` stands for
//! every direction or location. Edges in brackets are one relaxation; `|` is a choice and `?` makes
//! what stands before it optional. In a cycle blanks and commas are sequence; at the top of a
//! vocabulary they are choice.

use super::dialect::Dialect;
use super::edge::{Atom, Com, Dep, DepKind, Dir, Edge, Ie, Kind, Rmw, Sd, may_precede, settled};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};

/// A sequence of edges that stands as one in a vocabulary.
pub type Relaxation = Vec<Edge>;

/// Vocabularies that stand for more relaxations than this are refused.
pub const MAX_RELAXATIONS: usize = 20_000;
const MAX_DEPTH: usize = 32;
/// Longer sequences have no use as tests.
pub const MAX_EDGES: usize = 48;

/// Reads one cycle: it must stand for exactly one.
pub fn cycle(dialect: &Dialect, source: &Source) -> Result<Vec<Edge>> {
    let mut found = Parser::new(dialect, source).all(false)?;
    let whole = Span::new(0, source.text.len());
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        n => Err(Diag::at(source, whole, format!("this stands for {n} cycles, expected one"))
            .help("a cycle has no choices (`|`, `?`, `*`); `--vocabulary` takes those")),
    }
}

/// Reads every cycle that a text stands for.
pub fn cycles(dialect: &Dialect, source: &Source) -> Result<Vec<Vec<Edge>>> {
    let mut found = Parser::new(dialect, source).all(false)?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Reads a vocabulary: its relaxations sorted, each once, without those that cannot occur.
pub fn vocabulary(dialect: &Dialect, source: &Source) -> Result<Vec<Relaxation>> {
    let mut out = Parser::new(dialect, source).all(true)?;
    tidy(&mut out);
    Ok(out)
}

/// Sorts, and drops repeats and relaxations whose parts do not fit together.
pub fn tidy(relaxations: &mut Vec<Relaxation>) {
    relaxations.retain(|r| {
        let real: Vec<Edge> = r.iter().copied().filter(|e| e.is_real()).collect();
        !r.is_empty() && real.windows(2).all(|w| may_precede(w[0], w[1]))
    });
    relaxations.sort_unstable();
    relaxations.dedup();
}

/// How annotations are varied in a vocabulary.
pub struct Variation<'a> {
    dialect: &'a Dialect,
    atoms: Vec<Option<Atom>>,
    /// Whether annotations are left out that do not fit the direction of an access. Read-modify-writes are
    /// checked elsewhere.
    by_direction: bool,
}

impl<'a> Variation<'a> {
    /// Varies over a list of annotations, where `None` is a plain access. If the vocabulary has no
    /// annotation, each access gets an explicit one, so that each test comes from one cycle. Otherwise an
    /// access without annotation takes its neighbour's.
    pub fn new(dialect: &'a Dialect, atoms: &[Option<Atom>], vocabulary: &[Relaxation]) -> Self {
        let edges = || vocabulary.iter().flatten();
        let open = edges().any(|e| e.a1.is_some() || e.a2.is_some() || e.kind == Kind::Id);
        let plain = if open { None } else { Some(Atom::PLAIN) };
        Variation {
            dialect,
            atoms: atoms.iter().map(|a| a.or(plain)).collect(),
            by_direction: !edges().any(|e| e.is_rmw()),
        }
    }

    fn fits(&self, atom: Option<Atom>, dir: Option<Dir>) -> bool {
        match (settled(atom), dir) {
            (Some(atom), Some(dir)) if self.by_direction => self.dialect.applies(atom, dir),
            _ => true,
        }
    }
}

/// Varies the annotations that relaxations leave open. Neighbours inside a relaxation share
/// theirs. Gives nothing where that stands for too many relaxations.
pub fn vary(relaxations: &[Relaxation], variation: &Variation) -> Option<Vec<Relaxation>> {
    let mut out = Vec::new();
    for relaxation in relaxations {
        let mut made: Vec<Relaxation> = vec![relaxation.clone()];
        // Ends and inner nodes, from the last to the first, as each is filled in.
        for node in (0..=relaxation.len()).rev() {
            let mut next = Vec::new();
            for r in made {
                let before = node.checked_sub(1);
                let left = before.map(|i| r[i].a2);
                let right = r.get(node).map(|e| e.a1);
                let open = left.flatten().is_none() && right.flatten().is_none();
                if !open {
                    next.push(r);
                    continue;
                }
                let to = before.and_then(|i| r[i].target());
                let dir = to.or_else(|| r.get(node).and_then(|e| e.source()));
                for atom in variation.atoms.iter().filter(|a| variation.fits(**a, dir)) {
                    // The write of a read-modify-write is as strong as what was chosen for it.
                    let fits = r.get(node).is_none_or(|e| !e.is_rmw() || e.a2 == *atom);
                    if !fits {
                        continue;
                    }
                    let mut r = r.clone();
                    if let Some(i) = before {
                        r[i].a2 = *atom;
                    }
                    if let Some(e) = r.get_mut(node) {
                        e.a1 = *atom;
                    }
                    next.push(r);
                }
            }
            made = next;
            if made.len() + out.len() > MAX_RELAXATIONS {
                return None;
            }
        }
        out.extend(made);
    }
    Some(out)
}

struct Parser<'a> {
    dialect: &'a Dialect,
    source: &'a Source,
    bytes: &'a [u8],
    at: usize,
}

/// The sequences of edges that a part of the text stands for.
type Choice = Vec<Vec<Edge>>;

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'*')
}

impl<'a> Parser<'a> {
    fn new(dialect: &'a Dialect, source: &'a Source) -> Parser<'a> {
        Parser { dialect, source, bytes: source.text.as_bytes(), at: 0 }
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(|b| b.is_ascii_whitespace() || *b == b',') {
            self.at += 1;
        }
    }

    fn error(&self, start: usize, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, Span::new(start, self.at.max(start + 1)), message)
    }

    /// The whole text; at its top, items are alternatives or follow one another.
    fn all(&mut self, alternatives: bool) -> Result<Choice> {
        let out = self.items(alternatives, 0)?;
        if self.at < self.bytes.len() {
            return Err(self.error(self.at, "this `]` closes nothing"));
        }
        if out.iter().all(Vec::is_empty) {
            return Err(Diag::at(self.source, Span::default(), "expected a relaxation")
                .help("such as `PodWW`, `Rfe` or `[Fre,Rfe]`; `--list` shows all"));
        }
        Ok(out)
    }

    fn items(&mut self, alternatives: bool, depth: usize) -> Result<Choice> {
        let start = self.at;
        let mut out: Choice = if alternatives { Vec::new() } else { vec![Vec::new()] };
        loop {
            self.blanks();
            match self.bytes.get(self.at) {
                None | Some(b']') => return Ok(out),
                _ => {}
            }
            let item = self.choice(depth)?;
            if alternatives {
                out.extend(item);
            } else {
                let mut next = Vec::new();
                for a in &out {
                    for b in &item {
                        if next.len() > MAX_RELAXATIONS || a.len() + b.len() > MAX_EDGES {
                            return Err(self
                                .error(start, "this has too many or too long alternatives")
                                .help(format!(
                                    "at most {MAX_RELAXATIONS} relaxations of {MAX_EDGES} edges"
                                )));
                        }
                        next.push(a.iter().chain(b).copied().collect());
                    }
                }
                out = next;
            }
            if out.len() > MAX_RELAXATIONS {
                return Err(self
                    .error(start, "this has too many alternatives")
                    .help(format!("at most {MAX_RELAXATIONS} relaxations")));
            }
        }
    }

    /// Items joined by `|`.
    fn choice(&mut self, depth: usize) -> Result<Choice> {
        let mut out = self.suffixed(depth)?;
        loop {
            let before = self.at;
            while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            if self.bytes.get(self.at) != Some(&b'|') {
                self.at = before;
                return Ok(out);
            }
            self.at += 1;
            while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            out.extend(self.suffixed(depth)?);
        }
    }

    fn suffixed(&mut self, depth: usize) -> Result<Choice> {
        let start = self.at;
        let mut out = match self.bytes.get(self.at) {
            Some(b'[') if depth >= MAX_DEPTH => {
                return Err(self.error(start, "brackets are nested too deeply"));
            }
            Some(b'[') => {
                self.at += 1;
                let inner = self.items(false, depth + 1)?;
                if self.bytes.get(self.at) != Some(&b']') {
                    return Err(self.error(start, "this `[` is never closed"));
                }
                self.at += 1;
                inner
            }
            Some(b) if is_word(*b) => {
                while self.bytes.get(self.at).is_some_and(|b| is_word(*b)) {
                    self.at += 1;
                }
                self.word(start)?
            }
            Some(_) => {
                let c = self.source.text[start..].chars().next().unwrap_or(' ');
                self.at += c.len_utf8();
                return Err(self.error(start, format!("expected a relaxation, found `{c}`")));
            }
            None => return Err(self.error(start, "expected a relaxation, found the end")),
        };
        loop {
            let before = self.at;
            while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            if self.bytes.get(self.at) != Some(&b'?') {
                self.at = before;
                return Ok(out);
            }
            self.at += 1;
            out.insert(0, Vec::new());
        }
    }

    fn word(&self, start: usize) -> Result<Choice> {
        let word = &self.source.text[start..self.at];
        if let Some(found) = macros(self.dialect, word).or_else(|| edges(self.dialect, word)) {
            return Ok(found);
        }
        let diag =
            self.error(start, format!("`{word}` is no relaxation of {}", self.dialect.arch.name()));
        let known = ["Store", "Hat", "R", "W", "Read", "Write"];
        if known.contains(&word) || word.ends_with("Leave") || word.ends_with("Back") {
            return Err(diag.help(format!(
                "`{word}` is one of diy's that litmake does not have; an annotation R is written \
                 with the other end's, as in PodRRNaR"
            )));
        }
        let names = names(self.dialect);
        Err(match nearest(word, names.iter().map(String::as_str)) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help(
                "an edge is such as Rfe, PodRW or a fence or dependency with s or d and directions; \
                 `--list` shows all",
            ),
        })
    }
}

/// Names that stand for several relaxations, and the older ones for cumulativity.
fn macros(dialect: &Dialect, word: &str) -> Option<Choice> {
    let rfe = Edge::plain(Kind::Com(Com::Rf, Ie::Ext));
    for (prefix, before, after) in [("ABC", true, true), ("AC", true, false), ("BC", false, true)] {
        let Some(rest) = word.strip_prefix(prefix) else { continue };
        let inner = edges(dialect, rest)?;
        let fits = |e: &Edge| match e.kind {
            Kind::Fenced(..) => true,
            Kind::Dp(_, _, Dir::W) => after && !before,
            _ => false,
        };
        if !inner.iter().all(|r| matches!(r.as_slice(), [e] if fits(e))) {
            return None;
        }
        let mut out = Vec::new();
        for r in inner {
            let mut made = Vec::new();
            made.extend(before.then_some(rfe));
            made.extend(r);
            made.extend(after.then_some(rfe));
            out.push(made);
        }
        return Some(out);
    }
    let (all, rest) = match (word.strip_prefix("all"), word.strip_prefix("some")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let dir = |b: u8| match b {
        b'R' => Some(Dir::R),
        b'W' => Some(Dir::W),
        _ => None,
    };
    let [s, t] = rest.as_bytes() else { return None };
    let (s, t) = (dir(*s)?, dir(*t)?);
    let mut out = vec![vec![Edge::plain(Kind::Po(Sd::Diff, s, t))]];
    for fence in 0..dialect.fences.len() as u8 {
        out.push(vec![Edge::plain(Kind::Fenced(fence, Sd::Diff, s, t))]);
    }
    if s == Dir::R {
        for (_, dep) in dialect.deps {
            let default = dialect.default_dep.map(|d| if t == Dir::R { d[0] } else { d[1] });
            let kept = all || !dep.csel && Some(dep.kind) == default;
            if kept && (dep.kind != DepKind::Data || t == Dir::W) {
                out.push(vec![Edge::plain(Kind::Dp(*dep, Sd::Diff, t))]);
            }
        }
    }
    Some(out)
}

/// An edge with its annotations, or an annotation alone, as single-edge sequences.
fn edges(dialect: &Dialect, word: &str) -> Option<Choice> {
    let single = |edge: Edge| vec![edge];
    for end in (1..=word.len()).rev() {
        if !word.is_char_boundary(end) {
            continue;
        }
        let Some(kinds) = kinds(dialect, &word[..end]) else { continue };
        let suffix = &word[end..];
        if suffix.is_empty() {
            return Some(kinds.into_iter().map(|k| single(Edge::plain(k))).collect());
        }
        // Only the longest name of an edge counts; what follows it must be two annotations.
        if let Some((a1, a2)) = two_atoms(dialect, suffix) {
            let edge = |kind| single(Edge { kind, a1, a2 });
            return Some(kinds.into_iter().map(edge).collect());
        }
        break;
    }
    // Alone, these are events in diy.
    if matches!(word, "R" | "W") {
        return None;
    }
    let atom = atom(dialect, word)?;
    Some(vec![single(Edge { kind: Kind::Id, a1: atom, a2: atom })])
}

/// The annotation of this name; the inner `None` is that of a plain access.
pub fn atom(dialect: &Dialect, word: &str) -> Option<Option<Atom>> {
    if word == dialect.plain {
        return Some(None);
    }
    let mut all = dialect.annotations();
    all.find(|(n, _)| *n == word).map(|(_, a)| Some(*a))
}

fn two_atoms(dialect: &Dialect, text: &str) -> Option<(Option<Atom>, Option<Atom>)> {
    for end in (1..text.len()).rev() {
        if let Some(first) = text.get(..end).and_then(|t| atom(dialect, t)) {
            return Some((first, atom(dialect, &text[end..])?));
        }
    }
    None
}

/// Alternatives for one letter: itself, or every one for `*`.
fn sds(b: Option<&u8>) -> Option<&'static [Sd]> {
    match b? {
        b's' => Some(&[Sd::Same]),
        b'd' => Some(&[Sd::Diff]),
        b'*' => Some(&[Sd::Same, Sd::Diff]),
        _ => None,
    }
}

fn dirs(b: Option<&u8>) -> Option<&'static [Dir]> {
    match b? {
        b'R' => Some(&[Dir::R]),
        b'W' => Some(&[Dir::W]),
        b'*' => Some(&[Dir::W, Dir::R]),
        _ => None,
    }
}

const BOTH_SD: &[Sd] = &[Sd::Same, Sd::Diff];
const BOTH_DIR: &[Dir] = &[Dir::W, Dir::R];

/// Location and directions as in `dRW`.
fn ends(text: &str) -> Option<(&'static [Sd], &'static [Dir], &'static [Dir])> {
    let b = text.as_bytes();
    if b.len() != 3 {
        return None;
    }
    Some((sds(b.first())?, dirs(b.get(1))?, dirs(b.get(2))?))
}

fn between(
    (sd, from, to): (&[Sd], &[Dir], &[Dir]),
    make: impl Fn(Sd, Dir, Dir) -> Kind,
) -> Vec<Kind> {
    let mut out = Vec::new();
    for s in sd {
        for a in from {
            for b in to {
                out.push(make(*s, *a, *b));
            }
        }
    }
    out
}

fn dependency(dep: Dep, sd: &[Sd], to: &[Dir]) -> Vec<Kind> {
    let mut out = Vec::new();
    for s in sd {
        for d in to {
            // There is no data dependency to a read; `*` does not stand for one.
            if *d == Dir::W || dep.kind != DepKind::Data {
                out.push(Kind::Dp(dep, *s, *d));
            }
        }
    }
    out
}

/// The kinds of edges that a name without annotations stands for.
fn kinds(dialect: &Dialect, name: &str) -> Option<Vec<Kind>> {
    for (text, com) in [("Rf", Com::Rf), ("Fr", Com::Fr), ("Co", Com::Co), ("Ws", Com::Co)] {
        let ies: &[Ie] = match name.strip_prefix(text) {
            Some("i") => &[Ie::Int],
            Some("e") => &[Ie::Ext],
            Some("") => &[Ie::Int, Ie::Ext],
            _ => continue,
        };
        return Some(ies.iter().map(|ie| Kind::Com(com, *ie)).collect());
    }
    if let Some((_, rmw)) = dialect.rmws.iter().find(|(n, _)| *n == name) {
        return Some(vec![Kind::Rmw(*rmw)]);
    }
    match name {
        "Rmw" => return Some(vec![Kind::Rmw(dialect.rmw)]),
        "Amo" | "Amo.Safe" if dialect.rmws.iter().any(|(n, _)| n.starts_with("Amo.")) => {
            let safe = ["Amo.Swp", "Amo.Cas", "Amo.LdAdd", "Amo.StAdd"];
            let kept = |n: &str| n.starts_with("Amo.") && (name == "Amo" || safe.contains(&n));
            let amos = dialect.rmws.iter().filter(|(n, _)| kept(n));
            return Some(amos.map(|(_, r)| Kind::Rmw(*r)).collect());
        }
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("Po") {
        if rest.is_empty() {
            return Some(between((BOTH_SD, BOTH_DIR, BOTH_DIR), Kind::Po));
        }
        return ends(rest).map(|e| between(e, Kind::Po));
    }
    for (i, fence) in dialect.fences.iter().enumerate() {
        let i = i as u8;
        match name.strip_prefix(fence.name) {
            Some("") => return Some(vec![Kind::Insert(i)]),
            Some(rest) => {
                if let Some(e) = ends(rest) {
                    return Some(between(e, |s, a, b| Kind::Fenced(i, s, a, b)));
                }
            }
            None => {}
        }
    }
    if let Some(strong) = dialect.strong
        && let Some(e) = name.strip_prefix("Fence").and_then(ends)
    {
        return Some(between(e, |s, a, b| Kind::Fenced(strong, s, a, b)));
    }
    if let Some(rest) = name.strip_prefix("Dp") {
        for (text, dep) in dialect.deps {
            let found = match rest.strip_prefix(text).map(str::as_bytes) {
                Some([]) => dependency(*dep, BOTH_SD, BOTH_DIR),
                Some([s, d]) => match (sds(Some(s)), dirs(Some(d))) {
                    (Some(s), Some(d)) => dependency(*dep, s, d),
                    _ => continue,
                },
                _ => continue,
            };
            return Some(found).filter(|f| !f.is_empty());
        }
        return default_dependency(dialect, rest, false);
    }
    name.strip_prefix("Ctrl").and_then(|rest| default_dependency(dialect, rest, true))
}

/// `DpdR`, `CtrlsW`: the dialect's usual dependency.
fn default_dependency(dialect: &Dialect, rest: &str, ctrl: bool) -> Option<Vec<Kind>> {
    let defaults = dialect.default_dep?;
    let [s, d] = rest.as_bytes() else { return None };
    let (sds, dirs) = (sds(Some(s))?, dirs(Some(d))?);
    let mut out = Vec::new();
    for sd in sds {
        for dir in dirs {
            let kind = defaults[2 * usize::from(ctrl) + usize::from(*dir == Dir::W)];
            out.push(Kind::Dp(Dep { kind, csel: false }, *sd, *dir));
        }
    }
    Some(out)
}

/// Every name of an edge without wildcards, and every annotation.
pub fn names(dialect: &Dialect) -> Vec<String> {
    let mut out: Vec<String> =
        ["Rfe", "Rfi", "Fre", "Fri", "Coe", "Coi"].map(str::to_string).to_vec();
    let mut add = |prefix: &str, from: &[&str], to: &[&str]| {
        for sd in ["d", "s"] {
            for a in from {
                for b in to {
                    out.push(format!("{prefix}{sd}{a}{b}"));
                }
            }
        }
    };
    add("Po", &["R", "W"], &["R", "W"]);
    for fence in dialect.fences {
        add(fence.name, &["R", "W"], &["R", "W"]);
    }
    for (name, dep) in dialect.deps {
        let to: &[&str] = if dep.kind == DepKind::Data { &["W"] } else { &["R", "W"] };
        add(&format!("Dp{name}"), &[""], to);
    }
    out.extend(dialect.rmws.iter().map(|(n, _)| n.to_string()));
    out.extend(dialect.annotations().map(|(n, _)| n.to_string()));
    out
}

/// The letter of a direction.
pub(crate) fn dir_text(dir: Dir) -> &'static str {
    match dir {
        Dir::W => "W",
        Dir::R => "R",
    }
}

/// An edge as a cycle has it.
pub fn print_edge(dialect: &Dialect, edge: Edge, out: &mut String) {
    let sd = |sd| if sd == Sd::Same { "s" } else { "d" };
    match edge.kind {
        Kind::Com(com, ie) => {
            out.push_str(match com {
                Com::Rf => "Rf",
                Com::Fr => "Fr",
                Com::Co => "Co",
            });
            out.push(if ie == Ie::Ext { 'e' } else { 'i' });
        }
        Kind::Po(s, a, b) => {
            for part in ["Po", sd(s), dir_text(a), dir_text(b)] {
                out.push_str(part);
            }
        }
        Kind::Fenced(f, s, a, b) => {
            for part in [dialect.fence(f).name, sd(s), dir_text(a), dir_text(b)] {
                out.push_str(part);
            }
        }
        Kind::Dp(dep, s, d) => {
            for part in ["Dp", dialect.dep_name(dep), sd(s), dir_text(d)] {
                out.push_str(part);
            }
        }
        Kind::Insert(f) => out.push_str(dialect.fence(f).name),
        Kind::Rmw(rmw) => out.push_str(rmw_cycle_name(dialect, rmw)),
        Kind::Id => {
            out.push_str(dialect.atom_name(edge.a1));
            return;
        }
    }
    if edge.a1.is_some() || edge.a2.is_some() {
        out.push_str(dialect.atom_name(edge.a1));
        out.push_str(dialect.atom_name(edge.a2));
    }
}

fn rmw_cycle_name(dialect: &Dialect, rmw: Rmw) -> &'static str {
    dialect.rmw_name(rmw)
}

/// Edges with blanks between.
pub fn print(dialect: &Dialect, edges: &[Edge]) -> String {
    let mut out = String::new();
    for edge in edges {
        if !out.is_empty() {
            out.push(' ');
        }
        print_edge(dialect, *edge, &mut out);
    }
    out
}
