//! The plan of a model: flat operations on sets and relations, which staging makes and the simulator
//! runs.
//!
//! Functions are inlined, variants decided, and names resolved to base sets and relations, to
//! which the simulator gives values. A plan does not know executions.

use litmake_litmus::scopes::Level;
use litmake_ops::{Annotations, TAG_TABLE, Tags};

/// Index of a node. A node refers to earlier nodes only, except through fixpoint variables.
pub type NodeId = u32;

/// The base sets, other than annotations. Names are those of herd's cat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseSet {
    /// `_`
    All,
    /// Memory reads. A read-modify-write of C, which is one event, is a read and a write.
    R,
    /// Memory writes; initial writes are among them.
    W,
    /// Memory reads and writes.
    M,
    /// Fences of any kind.
    F,
    /// Branch events (`B`, `BR`, `PoD`), in the dialects that have them: one for each executed
    /// conditional branch (`BCC`), and one for the decision inside each compare-and-swap and other
    /// conditional effect (`PRED`).
    Branch,
    /// The branch events of conditional branches.
    Bcc,
    /// The branch events of decisions inside instructions.
    Pred,
    /// Events that are both read and write (C11).
    Rmw,
    /// Initial writes.
    Iw,
    /// Writes that are last in coherence order at their place. It depends on co.
    Fw,
    /// Events at places that final states show.
    Observed,
    /// Explicit memory events: here, all but initial writes.
    Exp,
    /// Register reads and writes, which exist only for models that ask for them (`catdep`).
    Rreg,
    /// Register writes; see [`BaseSet::Rreg`].
    Wreg,
    /// Register reads that feed an address.
    AddrPort,
    /// Register reads that feed data.
    DataPort,
    /// Reads and writes of locations declared const.
    Const,
    /// Events that have one of these annotations.
    Tags(Tags),
}

/// The base relations. Names are those of herd's cat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseRel {
    /// Each event and itself.
    Id,
    /// Program order between events of different instructions, memory, fences, branches and
    /// registers alike.
    Po,
    /// Events at overlapping places. For register events: of the same register and thread.
    Loc,
    /// Events of the same thread. Initial writes are of no thread: external to all but each other, as in
    /// herd.
    Int,
    /// Different threads; see [`BaseRel::Int`].
    Ext,
    /// Reads-from, which the search decides.
    Rf,
    /// Reads-from between register events (`rf-reg`).
    RfReg,
    /// The coherence order, which the search decides.
    Co,
    /// Dependencies between memory events (for ctrl, to every later event), as instruction sets give
    /// them.
    Addr,
    /// Dependencies by data; see [`BaseRel::Addr`].
    Data,
    /// Dependencies by control; see [`BaseRel::Addr`].
    Ctrl,
    /// Dependencies through the condition of a conditional select or a compare-and-swap, beyond
    /// the three above.
    PickAddr,
    /// As `PickAddr`, to the value that is written.
    PickData,
    /// As `PickAddr`, to every later event.
    PickCtrl,
    /// The read and the write of one atomic instruction, or of a successful exclusive pair.
    Amo,
    /// The read and the write of a successful exclusive pair.
    LxSx,
    /// Events of the same execution of an instruction.
    SameInstance,
    /// Flow of data and of control inside one instruction. Without register events: from the
    /// read to the write of a read-modify-write, data where the written value is computed
    /// from the read one (not in a swap), control where a comparison decides on the write.
    IicoData,
    /// Flow of control inside one instruction; see [`BaseRel::IicoData`].
    IicoCtrl,
    /// The order of accesses inside one instruction, where its meaning asks for one beside these
    /// flows.
    IicoOrder,
    /// Parts of one access that was split (mixed sizes), identity included: `sm`, and `si`, which herd
    /// computes alike.
    SameAccess,
    /// Events of one instruction.
    SameInstr,
    /// Events of the same thread, identity and initial writes left out.
    SameThread,
    /// Events of different threads at which these wait for each other (`CBAR`): the nth of each of
    /// those with the same annotations.
    SameBarrier,
    /// Events of threads that share a group of a level (`same-workgroup`), identity included. Initial
    /// writes are of no thread and in no group.
    SameLevel(Level),
    /// Memory events whose values differ in every execution. Only for models that ask.
    Differ,
    /// Memory events whose values may differ; see [`BaseRel::Differ`].
    MayDiffer,
}

/// An operation of a plan, or one of its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A base set.
    BaseSet(BaseSet),
    /// A base relation.
    BaseRel(BaseRel),
    /// The set without events.
    EmptySet,
    /// The relation without pairs.
    EmptyRel,
    /// All that is in either of two sets or two relations.
    Union(NodeId, NodeId),
    /// All that is in both.
    Inter(NodeId, NodeId),
    /// All that is in the first and not in the second.
    Diff(NodeId, NodeId),
    /// All that is not in it.
    Complement(NodeId),
    /// One relation after the other.
    Seq(NodeId, NodeId),
    /// The pairs the other way round.
    Inverse(NodeId),
    /// The transitive closure (`+`). Staging makes `*` and `?` from unions with `id`.
    Plus(NodeId),
    /// All pairs of an event of the first set and one of the second.
    Cross(NodeId, NodeId),
    /// Each event of a set and itself.
    IdentityOn(NodeId),
    /// The first events of the pairs.
    Domain(NodeId),
    /// The second events of the pairs.
    Range(NodeId),
    /// `[s]; r`, with the relation as first operand.
    RestrictDomain(NodeId, NodeId),
    /// `r; [s]`, with the relation as first operand.
    RestrictRange(NodeId, NodeId),
    /// The variable of a recursive definition: group, and number in the group.
    FixVar(u32, u32),
    /// The least solution for such a variable; the groups are in [`Plan::groups`].
    Fix(u32, u32),
}

/// The property of a set or a relation that a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// No way through the relation comes back to where it began.
    Acyclic,
    /// No event is related to itself.
    Irreflexive,
    /// Nothing is in it.
    Empty,
}

/// The consequence of a check for an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// An execution that fails it is forbidden.
    Require,
    /// An allowed execution that satisfies it is flagged (`flag`).
    Flag,
    /// An allowed execution that fails it makes the program undefined (`undefined_unless`).
    UndefinedUnless,
    /// If it fails, the model has an error (`assert`).
    Assert,
}

/// A check of a plan.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its consequence for an execution.
    pub kind: CheckKind,
    /// The property that is checked.
    pub shape: Shape,
    /// `~acyclic` and the like.
    pub negated: bool,
    /// The set or relation.
    pub node: NodeId,
    /// The name after `as`, or the text of the check.
    pub name: String,
    /// Where it stands, as `file:line`.
    pub place: String,
}

/// `let rec a = .. and b = ..`: the bodies, in which [`Node::FixVar`] stands for the variables.
#[derive(Clone, Debug)]
pub struct FixGroup {
    /// The values of the variables, in order.
    pub bodies: Vec<NodeId>,
    /// For each of them, whether it is a set (else a relation).
    pub is_set: Vec<bool>,
    /// Whether the group is not monotone in its own variables. It then depends on the program alone, and
    /// its value is that of its bodies evaluated one after the other, from nothing until none gains a
    /// member.
    pub iterated: bool,
}

/// A staged model.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The nodes; each stands behind its operands.
    pub nodes: Vec<Node>,
    /// For each node, whether it is a set (else a relation).
    pub is_set: Vec<bool>,
    /// The recursive definitions; those of [`Node::Fix`] are in them.
    pub groups: Vec<FixGroup>,
    /// The checks, in the order of the model.
    pub checks: Vec<Check>,
    /// Relations to draw, with their names (`show`).
    pub shows: Vec<(String, NodeId)>,
    /// The names of definitions, for people.
    pub names: Vec<(String, NodeId)>,
    /// The model asks for register events.
    pub catdep: bool,
    /// The annotations that the model adds to those of the dialect.
    pub annotations: Annotations,
}

impl Node {
    /// Whether the search decides this node: reads-from, coherence, or the final writes.
    pub fn is_choice(&self) -> bool {
        matches!(self, Node::BaseRel(BaseRel::Rf | BaseRel::Co) | Node::BaseSet(BaseSet::Fw))
    }

    /// The operands of this node. The bodies of a fixpoint are not among them.
    pub fn operands(&self) -> impl Iterator<Item = NodeId> {
        let (a, b) = match *self {
            Node::BaseSet(_)
            | Node::BaseRel(_)
            | Node::EmptySet
            | Node::EmptyRel
            | Node::FixVar(..)
            | Node::Fix(..) => (None, None),
            Node::Complement(a)
            | Node::Inverse(a)
            | Node::Plus(a)
            | Node::IdentityOn(a)
            | Node::Domain(a)
            | Node::Range(a) => (Some(a), None),
            Node::Union(a, b)
            | Node::Inter(a, b)
            | Node::Diff(a, b)
            | Node::Seq(a, b)
            | Node::Cross(a, b)
            | Node::RestrictDomain(a, b)
            | Node::RestrictRange(a, b) => (Some(a), Some(b)),
        };
        a.into_iter().chain(b)
    }

    /// The node with other operands.
    pub fn map(&self, new: impl Fn(NodeId) -> NodeId) -> Node {
        match *self {
            Node::Complement(a) => Node::Complement(new(a)),
            Node::Inverse(a) => Node::Inverse(new(a)),
            Node::Plus(a) => Node::Plus(new(a)),
            Node::IdentityOn(a) => Node::IdentityOn(new(a)),
            Node::Domain(a) => Node::Domain(new(a)),
            Node::Range(a) => Node::Range(new(a)),
            Node::Union(a, b) => Node::Union(new(a), new(b)),
            Node::Inter(a, b) => Node::Inter(new(a), new(b)),
            Node::Diff(a, b) => Node::Diff(new(a), new(b)),
            Node::Seq(a, b) => Node::Seq(new(a), new(b)),
            Node::Cross(a, b) => Node::Cross(new(a), new(b)),
            Node::RestrictDomain(a, b) => Node::RestrictDomain(new(a), new(b)),
            Node::RestrictRange(a, b) => Node::RestrictRange(new(a), new(b)),
            ref leaf => leaf.clone(),
        }
    }
}

impl Plan {
    /// For each node, whether its value depends on reads-from or coherence.
    pub fn varying(&self) -> Vec<bool> {
        let mut nodes = vec![false; self.nodes.len()];
        let mut groups = vec![false; self.groups.len()];
        // A body may refer to a variable before its group is known to vary, so repeat until nothing
        // changes.
        loop {
            let mut changed = false;
            for (i, node) in self.nodes.iter().enumerate() {
                let varies = match node {
                    Node::FixVar(g, _) | Node::Fix(g, _) => groups[*g as usize],
                    other => other.is_choice() || other.operands().any(|c| nodes[c as usize]),
                };
                changed |= varies != nodes[i];
                nodes[i] = varies;
            }
            for (group, varies) in self.groups.iter().zip(&mut groups) {
                let now = group.bodies.iter().any(|b| nodes[*b as usize]);
                changed |= now != *varies;
                *varies = now;
            }
            if !changed {
                return nodes;
            }
        }
    }

    /// The names of annotations, as alternatives.
    pub fn tag_names(&self, tags: Tags) -> String {
        let fixed = TAG_TABLE.iter().filter(|(t, ..)| t.meets(tags)).map(|(_, n, _)| *n);
        fixed.chain(self.annotations.of(tags)).collect::<Vec<_>>().join("|")
    }

    /// A line for each node and each check, for people.
    pub fn dump(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let kind = if self.is_set[i] { 's' } else { 'r' };
            let text = match node {
                Node::BaseSet(BaseSet::Tags(tags)) => self.tag_names(*tags),
                Node::BaseSet(base) => format!("{base:?}"),
                Node::BaseRel(base) => format!("{base:?}"),
                Node::EmptySet => "{}".into(),
                Node::EmptyRel => "0".into(),
                Node::Union(a, b) => format!("{a} | {b}"),
                Node::Inter(a, b) => format!("{a} & {b}"),
                Node::Diff(a, b) => format!("{a} \\ {b}"),
                Node::Complement(a) => format!("~{a}"),
                Node::Seq(a, b) => format!("{a} ; {b}"),
                Node::Inverse(a) => format!("{a}^-1"),
                Node::Plus(a) => format!("{a}+"),
                Node::Cross(a, b) => format!("{a} * {b}"),
                Node::IdentityOn(a) => format!("[{a}]"),
                Node::Domain(a) => format!("domain {a}"),
                Node::Range(a) => format!("range {a}"),
                Node::RestrictDomain(r, s) => format!("[{s}] ; {r}"),
                Node::RestrictRange(r, s) => format!("{r} ; [{s}]"),
                Node::FixVar(g, n) => format!("var {g}.{n}"),
                Node::Fix(g, n) => {
                    let bodies = &self.groups[*g as usize].bodies;
                    format!("fix {g}.{n} of {bodies:?}")
                }
            };
            let _ = writeln!(out, "{i:4} {kind} {text}");
        }
        for c in &self.checks {
            let not = if c.negated { "~" } else { "" };
            let (kind, shape) = (c.kind, c.shape);
            let _ = writeln!(out, "{kind:?} {not}{shape:?} {} as {} ({})", c.node, c.name, c.place);
        }
        for (name, node) in &self.shows {
            let _ = writeln!(out, "show {node} as {name}");
        }
        out
    }
}
