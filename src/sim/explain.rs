//! Explains why a check of a model fails on one execution: by the cycle, or by the pair that should
//! be absent, with each edge derived down to relations that people know.
//!
//! It knows plans and executions, but no tests, nor how executions are searched for.

use rustc_hash::{FxHashMap, FxHashSet};

use litmake_base::diag::Result;
use litmake_base::rel::Rel;
use litmake_cat::exec::{Exec, rel_has};
use litmake_cat::plan::{BaseRel, BaseSet, CheckKind, Node, NodeId, Plan, Shape};
use litmake_cat::plan_eval::{Value, values};
use litmake_litmus::execution::{Edge, Failure};

/// Relations that need no further explanation.
const KNOWN: [&str; 17] = [
    "rf", "rfe", "rfi", "co", "coe", "coi", "fr", "fre", "fri", "po", "po-loc", "addr", "data",
    "ctrl", "rmw", "amo", "lxsx",
];

/// How many edges one answer may take.
const BUDGET: usize = 20_000;
/// How deep definitions are followed.
const DEPTH: usize = 200;

/// A relation that the model draws, by its name.
type Drawn = (String, Rel);

/// The checks of a kind that an execution fails (of flags: those that it raises), and the relations that the model draws.
pub fn failures(plan: &Plan, exec: &Exec, kind: CheckKind) -> Result<(Vec<Failure>, Vec<Drawn>)> {
    let values = values(plan, exec)?;
    let names = plan.names.iter().map(|(n, id)| (*id, n.as_str())).collect();
    let mut out = Vec::new();
    for check in plan.checks.iter().filter(|c| c.kind == kind) {
        let answer = match &values[check.node as usize] {
            Value::Set(s) => s.iter().next().map_or(Ok(()), |e| Err(vec![e])),
            Value::Rel(r) => rel_has(check.shape, r),
        };
        // A flag is raised by what other checks ask for.
        if (answer.is_ok() != check.negated) == (kind != CheckKind::Flag) {
            continue;
        }
        let events = answer.err().unwrap_or_default();
        let mut d = Deriver {
            plan,
            values: &values,
            names: &names,
            open: Default::default(),
            left: BUDGET,
        };
        let chains = match (check.shape, &events[..]) {
            (Shape::Acyclic, all @ [first, ..]) if !plan.is_set[check.node as usize] => {
                let next = all.iter().skip(1).chain([first]);
                vec![all.iter().zip(next).flat_map(|(a, b)| d.edge(check.node, *a, *b)).collect()]
            }
            (Shape::Irreflexive, [e]) => vec![d.edge(check.node, *e, *e)],
            (Shape::Empty, [a, b]) => d.sides(check.node, *a, *b),
            _ => Vec::new(),
        };
        out.push(Failure {
            name: check.name.clone(),
            place: check.place.clone(),
            chains,
            events,
            is_cycle: check.shape != Shape::Empty,
            negated: check.negated,
        });
    }
    let shows = plan.shows.iter().filter_map(|(name, id)| match &values[*id as usize] {
        Value::Rel(r) => Some((name.clone(), r.clone())),
        Value::Set(_) => None,
    });
    Ok((out, shows.collect()))
}

struct Deriver<'p> {
    plan: &'p Plan,
    values: &'p [Value],
    names: &'p FxHashMap<NodeId, &'p str>,
    /// Edges that are being derived. No edge is derived from itself.
    open: FxHashSet<(NodeId, usize, usize)>,
    left: usize,
}

impl Deriver<'_> {
    /// Derives one edge of a check's relation; an edge that cannot be derived stays as it is.
    fn edge(&mut self, node: NodeId, a: usize, b: usize) -> Vec<Edge> {
        let found = self.chain(node, a, b).filter(|c| !c.is_empty());
        let label = self.names.get(&node).map_or("the checked relation", |n| n).to_string();
        found.unwrap_or_else(|| vec![Edge { from: a, to: b, label, named: false }])
    }

    /// For an intersection, the derivations of one pair by each side.
    fn sides(&mut self, node: NodeId, a: usize, b: usize) -> Vec<Vec<Edge>> {
        match self.plan.nodes[node as usize] {
            Node::Inter(x, y) if !self.is_plain(x) && !self.is_plain(y) => {
                vec![self.edge(x, a, b), self.edge(y, a, b)]
            }
            Node::Diff(x, _) => self.sides(x, a, b),
            _ => vec![self.edge(node, a, b)],
        }
    }

    fn has(&self, node: NodeId, a: usize, b: usize) -> bool {
        matches!(&self.values[node as usize], Value::Rel(r) if r.contains(a, b))
    }

    /// Relations that say little about an edge: where its ends are, and what they are.
    fn is_plain(&self, node: NodeId) -> bool {
        match self.plan.nodes[node as usize] {
            Node::BaseRel(base) => matches!(
                base,
                BaseRel::Loc
                    | BaseRel::Int
                    | BaseRel::Ext
                    | BaseRel::Id
                    | BaseRel::SameThread
                    | BaseRel::SameLevel(_)
            ),
            Node::Cross(..) | Node::Complement(_) => true,
            Node::Union(x, y) | Node::Inter(x, y) => self.is_plain(x) && self.is_plain(y),
            Node::RestrictDomain(rel, _) | Node::RestrictRange(rel, _) => self.is_plain(rel),
            _ => false,
        }
    }

    fn chain(&mut self, node: NodeId, a: usize, b: usize) -> Option<Vec<Edge>> {
        let one =
            |label: &str| vec![Edge { from: a, to: b, label: label.to_string(), named: false }];
        let name = self.names.get(&node).copied();
        if let Some(name) = name.filter(|n| KNOWN.contains(n)) {
            return Some(one(name));
        }
        if self.left == 0 || self.open.len() > DEPTH || !self.open.insert((node, a, b)) {
            return None;
        }
        self.left -= 1;
        let inner = self.structure(node, a, b);
        self.open.remove(&(node, a, b));
        let inner = inner?;
        let Some(name) = name.filter(|_| !inner.is_empty()) else { return Some(inner) };
        // From an event to itself only the way there says something.
        if a == b && inner.len() > 1 {
            return Some(inner);
        }
        if inner.iter().all(|e| e.named) || inner.iter().all(|e| e.label == name) {
            return Some(inner);
        }
        let short = |e: &Edge| e.label.split(" (").next().unwrap_or("").to_string();
        let parts: Vec<String> = inner.iter().map(short).collect();
        let label = format!("{name} ({})", parts.join("; "));
        Some(vec![Edge { from: a, to: b, label, named: true }])
    }

    fn structure(&mut self, node: NodeId, a: usize, b: usize) -> Option<Vec<Edge>> {
        let one = |label: String| Some(vec![Edge { from: a, to: b, label, named: false }]);
        match self.plan.nodes[node as usize] {
            Node::BaseRel(BaseRel::Id) | Node::IdentityOn(_) => (a == b).then(Vec::new),
            // An access is the same as itself, which says nothing.
            Node::BaseRel(BaseRel::SameAccess) if a == b => Some(Vec::new()),
            Node::BaseRel(base) => one(base_name(base)),
            Node::Union(x, y) => {
                for side in [x, y] {
                    if self.has(side, a, b)
                        && let Some(found) = self.chain(side, a, b)
                    {
                        return Some(found);
                    }
                }
                None
            }
            Node::Inter(x, y) => match (self.is_plain(x), self.is_plain(y)) {
                (true, false) => self.chain(y, a, b),
                _ => self.chain(x, a, b),
            },
            Node::Diff(x, _) => self.chain(x, a, b),
            Node::Seq(x, y) => {
                let n = match &self.values[x as usize] {
                    Value::Rel(r) => r.universe(),
                    Value::Set(_) => return None,
                };
                for m in 0..n {
                    if self.has(x, a, m)
                        && self.has(y, m, b)
                        && let Some(mut first) = self.chain(x, a, m)
                        && let Some(second) = self.chain(y, m, b)
                    {
                        first.extend(second);
                        return Some(first);
                    }
                }
                None
            }
            Node::Inverse(x) => {
                let mut found = self.chain(x, b, a)?;
                found.reverse();
                for e in &mut found {
                    (e.from, e.to) = (e.to, e.from);
                    e.label.push_str("^-1");
                }
                Some(found)
            }
            Node::Plus(x) => {
                let mut out = Vec::new();
                for (a, b) in self.path(x, a, b)? {
                    out.extend(self.chain(x, a, b)?);
                }
                Some(out)
            }
            Node::RestrictDomain(r, s) => {
                let mut found = self.chain(r, a, b)?;
                if let (Some(first), Some(set)) = (found.first_mut(), self.set_name(s)) {
                    first.label = format!("[{set}]; {}", first.label);
                }
                Some(found)
            }
            Node::RestrictRange(r, s) => {
                let mut found = self.chain(r, a, b)?;
                if let (Some(last), Some(set)) = (found.last_mut(), self.set_name(s)) {
                    last.label = format!("{}; [{set}]", last.label);
                }
                Some(found)
            }
            Node::FixVar(g, i) | Node::Fix(g, i) => {
                let body = *self.plan.groups.get(g as usize)?.bodies.get(i as usize)?;
                self.chain(body, a, b)
            }
            Node::Cross(x, y) => {
                let set = |s| self.set_name(s).unwrap_or_else(|| "_".to_string());
                one(format!("{} * {}", set(x), set(y)))
            }
            Node::Complement(x) => one(format!("~{}", self.names.get(&x).map_or("(..)", |n| n))),
            _ => one("in the model's terms".to_string()),
        }
    }

    /// A shortest path from `a` to `b` of at least one step.
    fn path(&self, node: NodeId, a: usize, b: usize) -> Option<Vec<(usize, usize)>> {
        let Value::Rel(r) = &self.values[node as usize] else { return None };
        let mut from = vec![usize::MAX; r.universe()];
        let mut todo = std::collections::VecDeque::from([a]);
        while let Some(x) = todo.pop_front() {
            for y in r.successors(x) {
                if from[y] != usize::MAX {
                    continue;
                }
                from[y] = x;
                if y == b {
                    let mut out = vec![(x, y)];
                    while out[out.len() - 1].0 != a {
                        let x = out[out.len() - 1].0;
                        out.push((from[x], x));
                    }
                    out.reverse();
                    return Some(out);
                }
                todo.push_back(y);
            }
        }
        None
    }

    /// The name of a set that says more than the kind of its events.
    fn set_name(&self, set: NodeId) -> Option<String> {
        if let Some(name) = self.names.get(&set) {
            return Some(name.to_string());
        }
        match &self.plan.nodes[set as usize] {
            Node::BaseSet(BaseSet::Tags(tags)) => Some(self.plan.tag_names(*tags)),
            _ => None,
        }
    }
}

fn base_name(base: BaseRel) -> String {
    match base {
        BaseRel::LxSx => "lxsx".into(),
        BaseRel::SameInstance => "same-instance".into(),
        BaseRel::SameAccess => "same-access".into(),
        BaseRel::SameInstr => "same-instr".into(),
        BaseRel::SameThread => "same-thread".into(),
        BaseRel::SameBarrier => "same-barrier".into(),
        BaseRel::SameLevel(level) => format!("same-{}", level.name()),
        BaseRel::RfReg => "rf-reg".into(),
        BaseRel::PickAddr => "pick-addr".into(),
        BaseRel::PickData => "pick-data".into(),
        BaseRel::PickCtrl => "pick-ctrl".into(),
        BaseRel::IicoData => "iico_data".into(),
        BaseRel::IicoCtrl => "iico_ctrl".into(),
        BaseRel::IicoOrder => "iico_order".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}
