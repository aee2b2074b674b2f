//! Builds the nodes of a plan: equal terms share a node, and terms are simplified.
//!
//! Every rule is an identity of sets and relations, or a fact about base names that
//! [`super::plan`] states. It knows nothing of the cat language.

use super::plan::{BaseRel, BaseSet, Node, NodeId};
use litmake_litmus::Arch;
use litmake_ops::Tags;
use rustc_hash::FxHashMap;

pub struct Graph {
    pub nodes: Vec<Node>,
    pub is_set: Vec<bool>,
    /// For each node, whether a skeleton determines its value: it depends on no reads-from, coherence
    /// or recursive definition.
    fixed: Vec<bool>,
    /// The depth of each node.
    depth: Vec<u32>,
    /// Set when a node would be too deep. Such a node is not made.
    pub too_deep: bool,
    ids: FxHashMap<Node, NodeId>,
    /// Whether reads and writes are different events, so that no event is a read-modify-write.
    split_rmw: bool,
    /// Whether dependencies start at reads only. If not, they also start at store-conditionals, which
    /// return whether they succeeded.
    only_reads_give: bool,
    locks: bool,
    /// The sets in which the ends of base relations lie.
    r: NodeId,
    w: NodeId,
    rreg: NodeId,
    wreg: NodeId,
}

/// The greatest depth of a node. It bounds the stack of whatever walks a plan.
pub const MAX_DEPTH: u32 = 1000;

/// How deep the search for facts about sets looks.
pub const DEPTH: usize = 6;

impl Graph {
    /// With `locks`, reads-from and coherence also relate events that are neither reads nor writes.
    pub fn new(arch: Arch, locks: bool) -> Graph {
        let mut graph = Graph {
            nodes: Vec::new(),
            is_set: Vec::new(),
            fixed: Vec::new(),
            depth: Vec::new(),
            too_deep: false,
            ids: FxHashMap::default(),
            split_rmw: !arch.facts().updates,
            only_reads_give: !arch.facts().statuses,
            locks,
            r: 0,
            w: 0,
            rreg: 0,
            wreg: 0,
        };
        graph.r = graph.base_set(BaseSet::R);
        graph.w = graph.base_set(BaseSet::W);
        graph.rreg = graph.base_set(BaseSet::Rreg);
        graph.wreg = graph.base_set(BaseSet::Wreg);
        graph
    }

    fn node(&mut self, node: Node, is_set: bool) -> NodeId {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let below = node.operands().map(|c| self.depth[c as usize]).max();
        let depth = below.map_or(0, |d| d + 1);
        if depth > MAX_DEPTH {
            self.too_deep = true;
            return if is_set { self.empty_set() } else { self.empty_rel() };
        }
        let id = self.nodes.len() as NodeId;
        self.depth.push(depth);
        let fixed = match node {
            Node::FixVar(..) | Node::Fix(..) => false,
            _ => !node.is_choice() && node.operands().all(|c| self.fixed[c as usize]),
        };
        self.ids.insert(node.clone(), id);
        self.fixed.push(fixed);
        self.nodes.push(node);
        self.is_set.push(is_set);
        id
    }

    pub fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn empty_set(&mut self) -> NodeId {
        self.node(Node::EmptySet, true)
    }

    pub fn empty_rel(&mut self) -> NodeId {
        self.node(Node::EmptyRel, false)
    }

    pub fn is_empty(&self, id: NodeId) -> bool {
        matches!(self.get(id), Node::EmptySet | Node::EmptyRel)
    }

    pub fn base_set(&mut self, base: BaseSet) -> NodeId {
        if self.split_rmw && base == BaseSet::Rmw {
            return self.empty_set();
        }
        self.node(Node::BaseSet(base), true)
    }

    pub fn base_rel(&mut self, base: BaseRel) -> NodeId {
        self.node(Node::BaseRel(base), false)
    }

    pub fn full_rel(&mut self) -> NodeId {
        let all = self.base_set(BaseSet::All);
        self.cross(all, all)
    }

    pub fn fix_var(&mut self, group: u32, index: u32, is_set: bool) -> NodeId {
        self.node(Node::FixVar(group, index), is_set)
    }

    pub fn fix(&mut self, group: u32, index: u32, is_set: bool) -> NodeId {
        self.node(Node::Fix(group, index), is_set)
    }

    fn empty_like(&mut self, id: NodeId) -> NodeId {
        if self.is_set[id as usize] { self.empty_set() } else { self.empty_rel() }
    }

    pub fn union(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.is_empty(a) || self.within(a, b, DEPTH) {
            return b;
        }
        if self.is_empty(b) || self.within(b, a, DEPTH) {
            return a;
        }
        // Join fixed terms first, so that they are joined once.
        for (x, y) in [(a, b), (b, a)] {
            if let Node::Union(p, q) = *self.get(x)
                && self.fixed[y as usize]
                && self.fixed[p as usize] != self.fixed[q as usize]
            {
                let (fixed, varying) = if self.fixed[p as usize] { (p, q) } else { (q, p) };
                let fixed = self.union(fixed, y);
                return self.union(fixed, varying);
            }
        }
        let is_set = self.is_set[a as usize];
        let (a, b) = (a.min(b), a.max(b));
        self.node(Node::Union(a, b), is_set)
    }

    pub fn inter(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.is_empty(a) || self.within(a, b, DEPTH) {
            return a;
        }
        if self.is_empty(b) || self.within(b, a, DEPTH) {
            return b;
        }
        if self.disjoint(a, b, DEPTH) {
            return self.empty_like(a);
        }
        for (x, y) in [(a, b), (b, a)] {
            match *self.get(y) {
                Node::Cross(s, t) => {
                    let r = self.restrict_domain(x, s);
                    return self.restrict_range(r, t);
                }
                Node::Complement(c) => return self.diff(x, c),
                // Restrictions commute with intersection: only the cores are met.
                Node::RestrictDomain(r, s) => {
                    let r = self.inter(x, r);
                    return self.restrict_domain(r, s);
                }
                Node::RestrictRange(r, s) => {
                    let r = self.inter(x, r);
                    return self.restrict_range(r, s);
                }
                _ => {}
            }
        }
        // (x \ y) & z is (x & z) \ y: differences come last.
        if let Node::Diff(x, y) = *self.get(a) {
            let x = self.inter(x, b);
            return self.diff(x, y);
        }
        if let Node::Diff(x, y) = *self.get(b) {
            let x = self.inter(a, x);
            return self.diff(x, y);
        }
        let is_set = self.is_set[a as usize];
        let (a, b) = (a.min(b), a.max(b));
        self.node(Node::Inter(a, b), is_set)
    }

    pub fn diff(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.is_empty(a) || self.within(a, b, DEPTH) {
            return self.empty_like(a);
        }
        if self.is_empty(b) || self.disjoint(a, b, DEPTH) {
            return a;
        }
        if let Node::Complement(c) = *self.get(b) {
            return self.inter(a, c);
        }
        // (x \ y) \ z is (x \ z) \ y: subtract fixed terms first.
        if let Node::Diff(x, y) = *self.get(a)
            && self.fixed[b as usize]
            && !self.fixed[y as usize]
        {
            let x = self.diff(x, b);
            return self.diff(x, y);
        }
        let is_set = self.is_set[a as usize];
        if is_set && *self.get(a) == Node::BaseSet(BaseSet::All) {
            return self.node(Node::Complement(b), true);
        }
        if !is_set && a == self.full_rel() {
            return self.node(Node::Complement(b), false);
        }
        self.node(Node::Diff(a, b), is_set)
    }

    pub fn seq(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.is_empty(a) || self.is_empty(b) {
            return self.empty_rel();
        }
        match *self.get(a) {
            Node::BaseRel(BaseRel::Id) => return b,
            Node::IdentityOn(s) => return self.restrict_domain(b, s),
            _ => {}
        }
        match *self.get(b) {
            Node::BaseRel(BaseRel::Id) => return a,
            Node::IdentityOn(s) => return self.restrict_range(a, s),
            _ => {}
        }
        if a == b && self.is_transitive(a) && self.is_reflexive(a) {
            return a;
        }
        self.node(Node::Seq(a, b), false)
    }

    pub fn inverse(&mut self, a: NodeId) -> NodeId {
        use BaseRel as B;
        match *self.get(a) {
            Node::EmptyRel | Node::IdentityOn(_) => a,
            Node::BaseRel(
                B::Id
                | B::Loc
                | B::Int
                | B::Ext
                | B::SameInstance
                | B::SameAccess
                | B::SameInstr
                | B::SameThread
                | B::SameBarrier
                | B::SameLevel(_),
            ) => a,
            Node::Inverse(x) => x,
            Node::Cross(s, t) => self.cross(t, s),
            Node::RestrictDomain(r, s) => {
                let r = self.inverse(r);
                self.restrict_range(r, s)
            }
            Node::RestrictRange(r, s) => {
                let r = self.inverse(r);
                self.restrict_domain(r, s)
            }
            _ => self.node(Node::Inverse(a), false),
        }
    }

    pub fn plus(&mut self, a: NodeId) -> NodeId {
        if self.is_transitive(a) {
            return a;
        }
        // The closure of a union with the identity: the identity apart.
        let id = self.base_rel(BaseRel::Id);
        let mut parts = self.union_parts(a);
        if let Some(i) = parts.iter().position(|p| *p == id) {
            parts.remove(i);
            let rest = self.union_of(&parts);
            let rest = self.plus(rest);
            return self.union(rest, id);
        }
        self.node(Node::Plus(a), false)
    }

    fn is_transitive(&self, a: NodeId) -> bool {
        use BaseRel as B;
        match *self.get(a) {
            Node::EmptyRel | Node::IdentityOn(_) | Node::Plus(_) => true,
            Node::BaseRel(B::Id | B::Po | B::Int | B::Co | B::SameInstance) => true,
            Node::Cross(..) => true,
            // Restricting both ends of a transitive relation keeps it so.
            Node::RestrictDomain(r, _) | Node::RestrictRange(r, _) => self.is_transitive(r),
            Node::Inverse(r) => self.is_transitive(r),
            Node::Union(x, y) => {
                let id = Node::BaseRel(B::Id);
                (*self.get(x) == id && self.is_transitive(y))
                    || (*self.get(y) == id && self.is_transitive(x))
            }
            _ => false,
        }
    }

    fn is_reflexive(&self, a: NodeId) -> bool {
        match *self.get(a) {
            Node::BaseRel(BaseRel::Id) => true,
            Node::Union(x, y) => self.is_reflexive(x) || self.is_reflexive(y),
            _ => false,
        }
    }

    pub fn cross(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.is_empty(a) || self.is_empty(b) {
            return self.empty_rel();
        }
        self.node(Node::Cross(a, b), false)
    }

    pub fn identity_on(&mut self, s: NodeId) -> NodeId {
        match self.get(s) {
            Node::EmptySet => self.empty_rel(),
            Node::BaseSet(BaseSet::All) => self.base_rel(BaseRel::Id),
            _ => self.node(Node::IdentityOn(s), false),
        }
    }

    pub fn domain(&mut self, a: NodeId) -> NodeId {
        self.side(a, false)
    }

    pub fn range(&mut self, a: NodeId) -> NodeId {
        self.side(a, true)
    }

    /// The range, or else the domain.
    fn side(&mut self, a: NodeId, is_range: bool) -> NodeId {
        match *self.get(a) {
            Node::EmptyRel => self.empty_set(),
            Node::IdentityOn(s) => s,
            Node::BaseRel(BaseRel::Id) => self.base_set(BaseSet::All),
            Node::Inverse(r) => self.side(r, !is_range),
            Node::Plus(r) => self.side(r, is_range),
            Node::RestrictDomain(r, s) if !is_range => self.side_within(r, s, is_range),
            Node::RestrictRange(r, s) if is_range => self.side_within(r, s, is_range),
            _ if is_range => self.node(Node::Range(a), true),
            _ => self.node(Node::Domain(a), true),
        }
    }

    fn side_within(&mut self, r: NodeId, s: NodeId, is_range: bool) -> NodeId {
        let side = self.side(r, is_range);
        self.inter(side, s)
    }

    pub fn restrict_domain(&mut self, r: NodeId, s: NodeId) -> NodeId {
        self.restrict(r, s, false)
    }

    pub fn restrict_range(&mut self, r: NodeId, s: NodeId) -> NodeId {
        self.restrict(r, s, true)
    }

    /// `[s]; r`, or with `range` `r; [s]`.
    fn restrict(&mut self, r: NodeId, s: NodeId, range: bool) -> NodeId {
        if self.is_empty(r) || self.is_empty(s) {
            return self.empty_rel();
        }
        if self.ends_within(r, s, range, DEPTH) {
            return r;
        }
        if self.ends_outside(r, s, range, DEPTH) {
            return self.empty_rel();
        }
        match (self.get(r).clone(), range) {
            (Node::BaseRel(BaseRel::Id), _) => self.identity_on(s),
            (Node::IdentityOn(t), _) => {
                let both = self.inter(t, s);
                self.identity_on(both)
            }
            (Node::RestrictDomain(r, t), false) | (Node::RestrictRange(r, t), true) => {
                let both = self.inter(t, s);
                self.restrict(r, both, range)
            }
            // The order of the two restrictions is fixed: the domain outside.
            (Node::RestrictDomain(r, t), true) => {
                let r = self.restrict_range(r, s);
                self.restrict_domain(r, t)
            }
            (Node::Cross(a, b), false) => {
                let a = self.inter(a, s);
                self.cross(a, b)
            }
            (Node::Cross(a, b), true) => {
                let b = self.inter(b, s);
                self.cross(a, b)
            }
            // Inward, to where the terms depend on less.
            (Node::Seq(a, b), false) => {
                let a = self.restrict_domain(a, s);
                self.seq(a, b)
            }
            (Node::Seq(a, b), true) => {
                let b = self.restrict_range(b, s);
                self.seq(a, b)
            }
            (_, false) => self.node(Node::RestrictDomain(r, s), false),
            (_, true) => self.node(Node::RestrictRange(r, s), false),
        }
    }

    /// The parts of a union, each once, in a fixed order.
    pub fn union_parts(&self, a: NodeId) -> Vec<NodeId> {
        let (mut parts, mut todo) = (Vec::new(), vec![a]);
        while let Some(id) = todo.pop() {
            match *self.get(id) {
                Node::Union(x, y) => todo.extend([y, x]),
                _ if parts.contains(&id) => {}
                _ => parts.push(id),
            }
        }
        parts
    }

    /// The union of relations.
    pub fn union_of(&mut self, parts: &[NodeId]) -> NodeId {
        let mut out = self.empty_rel();
        for part in parts {
            out = self.union(out, *part);
        }
        out
    }

    /// Whether `a` is certainly a subset of `b`.
    pub fn within(&self, a: NodeId, b: NodeId, depth: usize) -> bool {
        self.whole_within(a, b, depth).unwrap_or_else(|| {
            let d = depth - 1;
            let by_parts = match *self.get(a) {
                Node::Union(x, y) => return self.within(x, b, d) && self.within(y, b, d),
                Node::Inter(x, y) => self.within(x, b, d) || self.within(y, b, d),
                Node::Domain(r) => self.ends_within(r, b, false, d),
                Node::Range(r) => self.ends_within(r, b, true, d),
                Node::Diff(x, _) | Node::RestrictDomain(x, _) | Node::RestrictRange(x, _) => {
                    self.within(x, b, d)
                }
                _ => false,
            };
            by_parts || self.within_parts(a, b, d)
        })
    }

    /// Whether `a` is a subset of `b`, if that shows without looking into the operands of either.
    fn whole_within(&self, a: NodeId, b: NodeId, depth: usize) -> Option<bool> {
        if a == b || self.is_empty(a) {
            return Some(true);
        }
        if depth == 0 {
            return Some(false);
        }
        match (self.get(a), self.get(b)) {
            (Node::BaseSet(x), Node::BaseSet(y)) => Some(self.base_within(*x, *y)),
            (_, Node::BaseSet(BaseSet::All)) => Some(true),
            _ => None,
        }
    }

    /// Whether `a` is certainly a subset of `b` by the operands of `b`, if the operands of `a` do not show
    /// it.
    fn within_parts(&self, a: NodeId, b: NodeId, d: usize) -> bool {
        // The operands of `a` need no second look: they are not subsets of `b`.
        let whole = |x| match self.whole_within(a, x, d) {
            Some(known) => known,
            None => self.within_parts(a, x, d - 1),
        };
        match *self.get(b) {
            Node::Union(x, y) => whole(x) || whole(y),
            Node::Inter(x, y) => self.within(a, x, d) && self.within(a, y, d),
            Node::Diff(x, y) => self.within(a, x, d) && self.disjoint(a, y, d),
            Node::Complement(x) => self.disjoint(a, x, d),
            Node::Plus(x) => whole(x),
            _ => false,
        }
    }

    fn base_within(&self, a: BaseSet, b: BaseSet) -> bool {
        use BaseSet as B;
        if let (B::Tags(a), B::Tags(b)) = (a, b) {
            return a.without(b) == Tags::NONE;
        }
        matches!(
            (a, b),
            (_, B::All)
                | (B::R | B::W | B::Iw | B::Fw | B::Rmw | B::Exp | B::Const, B::M)
                | (B::R | B::Rmw, B::Exp)
                | (B::Iw | B::Fw, B::W)
                | (B::Rmw, B::R | B::W)
                | (B::Bcc | B::Pred, B::Branch)
        )
    }

    /// Whether `a` and `b` are certainly disjoint.
    pub fn disjoint(&self, a: NodeId, b: NodeId, depth: usize) -> bool {
        if self.is_empty(a) || self.is_empty(b) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let d = depth - 1;
        if let (Node::BaseSet(x), Node::BaseSet(y)) = (self.get(a), self.get(b)) {
            return self.base_disjoint(*x, *y) || self.base_disjoint(*y, *x);
        }
        if let (Node::BaseRel(x), Node::BaseRel(y)) = (self.get(a), self.get(b)) {
            return matches!(
                (x, y),
                (BaseRel::Int, BaseRel::Ext)
                    | (BaseRel::Ext, BaseRel::Int)
                    | (BaseRel::Ext, BaseRel::Po | BaseRel::Id)
                    | (BaseRel::Po | BaseRel::Id, BaseRel::Ext)
                    | (BaseRel::Po, BaseRel::Id | BaseRel::SameInstance)
                    | (BaseRel::Id | BaseRel::SameInstance, BaseRel::Po)
                    | (BaseRel::Co | BaseRel::Addr | BaseRel::Data | BaseRel::Ctrl, BaseRel::Id)
                    | (BaseRel::Id, BaseRel::Co | BaseRel::Addr | BaseRel::Data | BaseRel::Ctrl)
            );
        }
        let half = |x: NodeId, y: NodeId| match *self.get(x) {
            Node::Union(p, q) => self.disjoint(p, y, d) && self.disjoint(q, y, d),
            Node::Inter(p, q) => self.disjoint(p, y, d) || self.disjoint(q, y, d),
            Node::Diff(p, q) => self.disjoint(p, y, d) || self.within(y, q, d),
            Node::Complement(q) => self.within(y, q, d),
            Node::Domain(r) => self.ends_outside(r, y, false, d),
            Node::Range(r) => self.ends_outside(r, y, true, d),
            Node::RestrictDomain(p, _) | Node::RestrictRange(p, _) => self.disjoint(p, y, d),
            _ => false,
        };
        half(a, b) || half(b, a)
    }

    fn base_disjoint(&self, a: BaseSet, b: BaseSet) -> bool {
        use BaseSet as B;
        match (a, b) {
            (B::R, B::W | B::Fw) => self.split_rmw,
            (B::Iw, B::R | B::Rmw | B::Exp) => true,
            (
                B::M | B::R | B::W | B::Iw | B::Fw | B::Rmw | B::Exp | B::Const,
                B::F | B::Branch | B::Bcc | B::Pred | B::Rreg | B::Wreg | B::AddrPort | B::DataPort,
            ) => true,
            (
                B::F,
                B::Branch | B::Bcc | B::Pred | B::Rreg | B::Wreg | B::AddrPort | B::DataPort,
            ) => true,
            (B::Bcc, B::Pred) => true,
            (B::Branch | B::Bcc | B::Pred, B::Rreg | B::Wreg | B::AddrPort | B::DataPort) => true,
            (B::Wreg, B::Rreg | B::AddrPort | B::DataPort) => true,
            _ => false,
        }
    }

    /// Whether all sources (or targets) of `r` certainly lie in `s`.
    fn ends_within(&self, r: NodeId, s: NodeId, target: bool, depth: usize) -> bool {
        *self.get(s) == Node::BaseSet(BaseSet::All)
            || self.ends(r, target, depth, &|set, depth| self.within(set, s, depth))
    }

    /// Whether all sources (or targets) of `r` certainly lie outside `s`.
    fn ends_outside(&self, r: NodeId, s: NodeId, target: bool, depth: usize) -> bool {
        self.ends(r, target, depth, &|set, depth| self.disjoint(set, s, depth))
    }

    /// Whether all sources (or targets) of `r` certainly lie in a set that fits.
    fn ends(
        &self,
        r: NodeId,
        target: bool,
        depth: usize,
        fits: &dyn Fn(NodeId, usize) -> bool,
    ) -> bool {
        if depth == 0 {
            return false;
        }
        let d = depth - 1;
        let ends = |x, target| self.ends(x, target, d, fits);
        match *self.get(r) {
            Node::EmptyRel => true,
            Node::IdentityOn(t) => fits(t, d),
            Node::Cross(a, b) => fits(if target { b } else { a }, d),
            Node::Union(x, y) => ends(x, target) && ends(y, target),
            Node::Inter(x, y) => ends(x, target) || ends(y, target),
            Node::Diff(x, _) | Node::Plus(x) => ends(x, target),
            Node::Inverse(x) => ends(x, !target),
            Node::Seq(x, y) => ends(if target { y } else { x }, target),
            Node::RestrictDomain(x, t) => (!target && fits(t, d)) || ends(x, target),
            Node::RestrictRange(x, t) => (target && fits(t, d)) || ends(x, target),
            Node::BaseRel(base) => self.base_ends(base, target).is_some_and(|end| fits(end, d)),
            _ => false,
        }
    }

    /// The set in which the sources (or targets) of a base relation lie.
    fn base_ends(&self, base: BaseRel, target: bool) -> Option<NodeId> {
        use BaseRel as B;
        let searched = matches!(base, B::Rf | B::Co | B::Addr | B::Data | B::Ctrl);
        if self.locks && searched {
            return None;
        }
        Some(match (base, target) {
            (B::Rf, false) | (B::Co, _) | (B::Amo | B::LxSx, true) => self.w,
            (B::Rf, true) | (B::Amo | B::LxSx, false) => self.r,
            (B::Addr | B::Data | B::Ctrl, false) if self.only_reads_give => self.r,
            (B::PickAddr | B::PickData | B::PickCtrl, false) if self.only_reads_give => self.r,
            (B::RfReg, false) => self.wreg,
            (B::RfReg, true) => self.rreg,
            _ => return None,
        })
    }
}
