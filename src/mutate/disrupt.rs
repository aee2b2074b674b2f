//! Mutators as data: a disruptor says how an edge or an annotation of a cycle is weakened.
//!
//! `DMB.SYd** -> Pod**` removes a fence and keeps the directions, `Pos** -> Pod**` moves an access
//! to another location, and `Acq -> Rlx` weakens an access. A disruptor is applied at each place
//! alone, and at all places together. It does not know models.

use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_generate::dialect::Dialect;
use litmake_generate::edge::{Atom, Dir, Edge, Kind, Sd};
use litmake_generate::syntax;

/// A weakening: an edge, and the edges that may replace it.
#[derive(Clone, Debug)]
pub struct Disruptor {
    from: Vec<Edge>,
    to: Vec<Edge>,
    /// The text as written.
    pub text: String,
}

impl Disruptor {
    /// Reads `DMB.SYd** -> Pod**`, with the edges of a dialect.
    pub fn read(dialect: &Dialect, source: &Source) -> Result<Disruptor> {
        let whole = Span::new(0, source.text.len());
        let Some((from, to)) = source.text.split_once("->") else {
            return Err(Diag::at(
                source,
                whole,
                "expected two edges or annotations with `->` between them",
            )
            .help("such as `DMB.SYd** -> Pod**` or `Acq -> Rlx`"));
        };
        let side = |text: &str| -> Result<Vec<Edge>> {
            let part = Source::new(source.name.clone(), text.trim());
            let found = syntax::vocabulary(dialect, &part)?;
            found
                .into_iter()
                .map(|r| match r.as_slice() {
                    [edge] => Ok(*edge),
                    _ => Err(Diag::at(
                        source,
                        whole,
                        "a disruptor weakens single edges, not sequences",
                    )),
                })
                .collect()
        };
        let (from, to) = (side(from)?, side(to)?);
        let annotations = |list: &[Edge]| list.iter().all(|e| e.kind == Kind::Id);
        if annotations(&from) != annotations(&to) {
            return Err(Diag::at(
                source,
                whole,
                "an edge is weakened to an edge, and an \
                                                annotation to an annotation",
            ));
        }
        Ok(Disruptor { from, to, text: source.text.to_string() })
    }

    /// The weaker edge, if the disruptor applies.
    fn edge(&self, edge: Edge) -> Option<Edge> {
        let plain = Edge::plain(edge.kind);
        if !self.from.iter().any(|f| Edge::plain(f.kind) == plain && f.kind != Kind::Id) {
            return None;
        }
        let ends = |e: Edge| (e.source(), e.target());
        let fits = |t: &&Edge| ends(**t) == ends(edge);
        let to = self
            .to
            .iter()
            .filter(fits)
            .find(|t| t.sd() == edge.sd())
            .or_else(|| self.to.iter().find(fits))?;
        Some(Edge { kind: to.kind, ..edge })
    }

    fn atom(&self, atom: Option<Atom>) -> Option<Option<Atom>> {
        let here = self.from.iter().any(|f| f.kind == Kind::Id && f.a1 == atom);
        let to = self.to.first().filter(|t| here && t.kind == Kind::Id)?;
        Some(to.a1)
    }

    /// The mutants of a cycle with merged annotations: one for each place, and one for all places
    /// together if there are several.
    pub fn apply(&self, cycle: &[Edge]) -> Vec<Vec<Edge>> {
        let n = cycle.len();
        let mut places: Vec<Vec<Edge>> = Vec::new();
        let mut all = cycle.to_vec();
        for i in 0..n {
            if let Some(edge) = self.edge(cycle[i]) {
                let mut one = cycle.to_vec();
                one[i] = edge;
                all[i] = Edge { kind: edge.kind, ..all[i] };
                places.push(one);
            }
            // The annotation of the event before edge i.
            if let Some(atom) = self.atom(cycle[i].a1)
                && cycle[i].is_real()
            {
                let before = (0..n).map(|k| (i + n - 1 - k) % n).find(|k| cycle[*k].is_real());
                let mut one = cycle.to_vec();
                for edges in [&mut one, &mut all] {
                    edges[i].a1 = atom;
                    if let Some(b) = before {
                        edges[b].a2 = atom;
                    }
                }
                places.push(one);
            }
        }
        if places.len() > 1 {
            places.push(all);
        }
        places.dedup();
        places
    }
}

/// The usual disruptors of a dialect: of program order on one location, fences, dependencies and
/// annotations.
pub fn usual(dialect: &Dialect) -> Vec<String> {
    let mut out = vec!["Pos** -> Pod**".to_string()];
    out.extend(dialect.fences.iter().map(|f| format!("{}d** -> Pod**", f.name)));
    for (name, _) in dialect.deps {
        out.push(format!("Dp{name}d* -> Pod**"));
    }
    for (name, _) in dialect.atoms {
        out.push(format!("{name} -> {}", dialect.plain));
    }
    out
}

/// Whether an edge orders its events, so that a cycle with it can be disrupted.
pub fn is_ordered(edge: Edge) -> bool {
    match edge.kind {
        Kind::Po(sd, a, b) => sd == Sd::Same && (a, b) != (Dir::R, Dir::R),
        Kind::Fenced(..) | Kind::Dp(..) | Kind::Rmw(_) | Kind::Insert(_) => true,
        Kind::Com(..) | Kind::Id => edge.a1.is_some() || edge.a2.is_some(),
    }
}
