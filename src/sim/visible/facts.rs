//! Certain facts about two events of an execution: whether they are in a set or relation of a plan.
//!
//! The answer has three values, since most of an execution is not known here. It knows plans and
//! which events there are, and nothing of what is left out.

use litmake_cat::plan::{BaseRel, BaseSet, Node, NodeId, Plan};
use litmake_litmus::Arch;
use litmake_ops::{BARRIERS, Tags, tag};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    No,
    Open,
    Yes,
}

impl Truth {
    fn of(known: bool) -> Truth {
        if known { Truth::Yes } else { Truth::No }
    }

    fn and(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::No, _) | (_, Truth::No) => Truth::No,
            (Truth::Yes, Truth::Yes) => Truth::Yes,
            _ => Truth::Open,
        }
    }

    pub fn not(self) -> Truth {
        match self {
            Truth::No => Truth::Yes,
            Truth::Open => Truth::Open,
            Truth::Yes => Truth::No,
        }
    }

    fn or(self, other: Truth) -> Truth {
        self.not().and(other.not()).not()
    }

    pub fn possible(self) -> bool {
        self != Truth::No
    }
}

/// The kind of an event. The last three are the kinds of events of private memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Read,
    Write,
    /// A read-modify-write that is one event.
    Update,
    Fence,
    Branch,
    /// An event at a place that it neither reads nor writes.
    Touch,
    PrivateRead,
    PrivateWrite,
    PrivateInit,
}

impl Kind {
    pub fn is_private(self) -> bool {
        matches!(self, Kind::PrivateRead | Kind::PrivateWrite | Kind::PrivateInit)
    }

    fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::Update | Kind::PrivateRead)
    }

    fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::Update | Kind::PrivateWrite | Kind::PrivateInit)
    }

    fn is_memory(self) -> bool {
        self.reads() || self.writes()
    }

    /// The kinds of events that a dialect has, but for private ones.
    pub fn all(arch: Arch) -> SmallVec<[Kind; 6]> {
        let mut all = SmallVec::from_slice(&[Kind::Read, Kind::Write, Kind::Fence]);
        if arch.facts().updates {
            all.push(Kind::Update);
        }
        if arch.facts().branches.conditional() {
            all.push(Kind::Branch);
        }
        if !arch.facts().machine {
            all.push(Kind::Touch);
        }
        all
    }
}

/// An event, with the sets in which it is known to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    pub kind: Kind,
    pub known: SmallVec<[NodeId; 4]>,
    /// Something depends on what it returned.
    pub source: bool,
}

impl Event {
    pub fn new(kind: Kind) -> Event {
        Event { kind, known: SmallVec::new(), source: false }
    }
}

/// The base relations by which one event is related to another: those that hold, and those of which
/// it is open. No other one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    yes: u64,
    open: u64,
}

/// Stands for from-reads, which is no base relation of plans.
const FR: u64 = 1;

fn bit(rel: BaseRel) -> u64 {
    use BaseRel as B;
    1 << match rel {
        B::Id => 1,
        B::Po => 2,
        B::Loc => 3,
        B::Int => 4,
        B::Ext => 5,
        B::Rf => 6,
        B::Co => 7,
        B::Addr => 8,
        B::Data => 9,
        B::Ctrl => 10,
        B::PickAddr => 11,
        B::PickData => 12,
        B::PickCtrl => 13,
        B::Amo => 14,
        B::LxSx => 15,
        B::SameInstance => 16,
        B::SameInstr => 17,
        B::IicoData => 18,
        B::IicoCtrl => 19,
        B::IicoOrder => 20,
        B::SameAccess => 21,
        B::SameThread => 22,
        B::SameBarrier => 23,
        B::SameLevel(_) => 24,
        B::RfReg => 25,
        B::Differ => 26,
        B::MayDiffer => 27,
    }
}

fn bits(rels: &[BaseRel]) -> u64 {
    rels.iter().fold(0, |sum, r| sum | bit(*r))
}

/// The dependencies.
pub const DEPENDENCIES: [BaseRel; 6] = {
    use BaseRel as B;
    [B::Addr, B::Data, B::Ctrl, B::PickAddr, B::PickData, B::PickCtrl]
};

const THREAD: [BaseRel; 3] = {
    use BaseRel as B;
    [B::Int, B::SameThread, B::SameLevel(litmake_litmus::scopes::Level::System)]
};
const VALUES: [BaseRel; 2] = [BaseRel::Differ, BaseRel::MayDiffer];

impl Link {
    fn new(yes: &[BaseRel], open: &[BaseRel]) -> Link {
        Link { yes: bits(yes), open: bits(open) | bits(&VALUES) }
    }

    /// Of which nothing is known.
    pub fn any() -> Link {
        Link { yes: 0, open: u64::MAX }
    }

    /// The same, between an event of private memory and one that is not.
    pub fn any_private() -> Link {
        use BaseRel as B;
        let none = [B::Id, B::Loc, B::Rf, B::Co, B::Amo, B::LxSx, B::SameInstance, B::SameInstr];
        let flow = [B::IicoData, B::IicoCtrl, B::IicoOrder, B::SameAccess, B::SameBarrier];
        Link { yes: 0, open: !(bits(&none) | bits(&flow) | FR) }
    }

    /// Related by these, too.
    pub fn with(mut self, more: &[BaseRel]) -> Link {
        self.yes |= bits(more);
        self
    }

    pub fn with_fr(mut self) -> Link {
        self.yes |= FR;
        self
    }

    pub fn or_open(mut self, more: &[BaseRel]) -> Link {
        self.open |= bits(more);
        self
    }

    /// Of one thread, without program order between them.
    pub fn thread() -> Link {
        Link::new(&THREAD, &[])
    }

    /// From an event to a later one of its thread.
    pub fn later() -> Link {
        Link::thread().with(&[BaseRel::Po])
    }

    /// Of two threads.
    pub fn apart() -> Link {
        Link::new(&[BaseRel::Ext], &[BaseRel::SameLevel(litmake_litmus::scopes::Level::System)])
    }

    /// Of one instruction.
    pub fn instruction() -> Link {
        Link::thread().with(&[BaseRel::SameInstance, BaseRel::SameInstr])
    }
}

/// Two events, with what relates the first to the second and the second to the first.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'e> {
    pub from: &'e Event,
    pub to: &'e Event,
    pub link: Link,
    pub back: Link,
    /// How the two are on one private place, if they are.
    pub near: Option<Near>,
}

/// How two events on a private place follow one another, the first before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Near {
    /// The read returns what was written.
    Flow,
    /// Something else was written between.
    Hidden,
    Overwrites,
    /// A write after a read.
    WriteAfter,
    /// Both read the same write.
    Same,
    /// Between the two reads there is a write.
    Changed,
}

impl Near {
    pub const ALL: [Near; 6] =
        [Near::Flow, Near::Hidden, Near::Overwrites, Near::WriteAfter, Near::Same, Near::Changed];

    pub fn ends(self) -> (Kind, Kind) {
        let (r, w) = (Kind::PrivateRead, Kind::PrivateWrite);
        match self {
            Near::Flow | Near::Hidden => (w, r),
            Near::Overwrites => (w, w),
            Near::WriteAfter => (r, w),
            Near::Same | Near::Changed => (r, r),
        }
    }

    /// The relations at one place, of an event and of a later one.
    pub fn link(self) -> Link {
        use BaseRel as B;
        let link = Link::later().with(&[B::Loc]);
        match self {
            Near::Flow => link.with(&[B::Rf]),
            Near::Overwrites => link.with(&[B::Co]),
            Near::WriteAfter => link.with_fr(),
            Near::Hidden | Near::Same | Near::Changed => link,
        }
    }

    /// The ways in which there can be a third event of the place between the two.
    fn splits(self) -> &'static [(Near, Near)] {
        use Near as N;
        match self {
            N::Flow => &[(N::Flow, N::Same)],
            N::Hidden => &[
                (N::Overwrites, N::Flow),
                (N::Overwrites, N::Hidden),
                (N::Flow, N::Changed),
                (N::Hidden, N::Same),
                (N::Hidden, N::Changed),
            ],
            N::Overwrites => &[
                (N::Overwrites, N::Overwrites),
                (N::Flow, N::WriteAfter),
                (N::Hidden, N::WriteAfter),
            ],
            N::WriteAfter => &[
                (N::WriteAfter, N::Overwrites),
                (N::Same, N::WriteAfter),
                (N::Changed, N::WriteAfter),
            ],
            N::Same => &[(N::Same, N::Same)],
            N::Changed => &[
                (N::WriteAfter, N::Flow),
                (N::WriteAfter, N::Hidden),
                (N::Same, N::Changed),
                (N::Changed, N::Same),
                (N::Changed, N::Changed),
            ],
        }
    }

    /// One of these ways, if there always is such a third event.
    fn always(self) -> Option<(Near, Near)> {
        match self {
            Near::Hidden => Some((Near::Overwrites, Near::Flow)),
            Near::Changed => Some((Near::WriteAfter, Near::Flow)),
            _ => None,
        }
    }
}

pub fn at_one_place() -> Link {
    Link::thread().with(&[BaseRel::Loc])
}

/// Two events of private memory that are one access: the same event, or its part at another place.
pub fn one_access() -> [Link; 2] {
    use BaseRel as B;
    let parts = Link::instruction().with(&[B::SameAccess]);
    [parts, parts.with(&[B::Id, B::Loc])]
}

/// The relations that may hold, there and back, between two events of one thread that are not private, the first before
/// the second.
pub fn visible_later() -> (Link, Link) {
    use BaseRel as B;
    let open = [B::Loc, B::Rf, B::Co, B::LxSx];
    let link = Link::later().or_open(&open).or_open(&DEPENDENCIES);
    let back = Link::thread().or_open(&[B::Loc, B::Co]);
    (Link { open: link.open | FR, ..link }, Link { open: back.open | FR, ..back })
}

/// The same between events of two threads.
pub fn visible_apart() -> (Link, Link) {
    use BaseRel as B;
    let link = Link::apart().or_open(&[B::Loc, B::Rf, B::Co, B::SameBarrier]);
    let link = Link { open: link.open | FR, ..link };
    (link, link)
}

/// The same between events of one instruction.
pub fn visible_instruction() -> (Link, Link) {
    use BaseRel as B;
    let flow =
        [B::IicoData, B::IicoCtrl, B::IicoOrder, B::Amo, B::SameAccess, B::Loc, B::Co, B::LxSx];
    let link = Link::instruction().or_open(&flow).or_open(&DEPENDENCIES);
    let link = Link { open: link.open | FR, ..link };
    (link, link)
}

pub struct Facts<'p> {
    pub plan: &'p Plan,
    pub kinds: SmallVec<[Kind; 6]>,
    /// No event has one of these annotations.
    pub without: Tags,
    /// Whether dependencies begin at exclusive writes, too.
    statuses: bool,
    /// For relations, whether one can lead from an event of private memory to anywhere, or the other way;
    /// whether to or from one that is not private.
    leads: RefCell<FxHashMap<(NodeId, Kind, bool), bool>>,
    exact: RefCell<FxHashMap<NodeId, bool>>,
}

impl<'p> Facts<'p> {
    pub fn new(plan: &'p Plan, arch: Arch, without: Tags) -> Facts<'p> {
        let (leads, exact) = (RefCell::default(), RefCell::default());
        let statuses = arch.facts().statuses;
        Facts { plan, kinds: Kind::all(arch), without, statuses, leads, exact }
    }

    pub fn node(&self, id: NodeId) -> &'p Node {
        &self.plan.nodes[id as usize]
    }

    pub fn is_program_order(&self, id: NodeId) -> bool {
        *self.node(id) == Node::BaseRel(BaseRel::Po)
    }

    pub fn is_set(&self, id: NodeId) -> bool {
        self.plan.is_set[id as usize]
    }

    /// Whether an event is in a set.
    pub fn contains(&self, set: NodeId, e: &Event) -> Truth {
        if e.known.contains(&set) {
            return Truth::Yes;
        }
        match *self.node(set) {
            Node::BaseSet(base) => self.base_set(base, e),
            Node::EmptySet => Truth::No,
            Node::Union(a, b) => self.contains(a, e).or(self.contains(b, e)),
            Node::Inter(a, b) => self.contains(a, e).and(self.contains(b, e)),
            Node::Diff(a, b) => self.contains(a, e).and(self.contains(b, e).not()),
            Node::Complement(a) => self.contains(a, e).not(),
            Node::Domain(r) if e.kind.is_private() && !self.leads(r, e.kind, true) => Truth::No,
            Node::Range(r) if e.kind.is_private() && !self.leads(r, e.kind, false) => Truth::No,
            _ => Truth::Open,
        }
    }

    fn base_set(&self, base: BaseSet, e: &Event) -> Truth {
        use BaseSet as B;
        let kind = e.kind;
        let open = |possible: bool| if possible { Truth::Open } else { Truth::No };
        match base {
            B::All => Truth::Yes,
            B::R => Truth::of(kind.reads()),
            B::W => Truth::of(kind.writes()),
            B::M => Truth::of(kind.is_memory()),
            B::F => Truth::of(kind == Kind::Fence),
            B::Branch => Truth::of(kind == Kind::Branch),
            B::Bcc | B::Pred => open(kind == Kind::Branch),
            B::Rmw => Truth::of(kind == Kind::Update),
            // Initial writes that are not private are no part of a thread, so none is looked at.
            B::Iw => Truth::of(kind == Kind::PrivateInit),
            B::Fw => open(kind.writes()),
            B::Observed | B::Const => open(kind.is_memory() && !kind.is_private()),
            B::Exp => Truth::of(kind.is_memory() && kind != Kind::PrivateInit),
            B::Rreg | B::Wreg | B::AddrPort | B::DataPort => Truth::No,
            B::Tags(_) if kind.is_private() || kind == Kind::Branch => Truth::No,
            B::Tags(tags) => {
                // Nothing depends on a value that is thrown away.
                let mut not = self.without;
                if e.source {
                    not = not | tag::NoRet;
                }
                if kind != Kind::Fence {
                    not = not | BARRIERS;
                }
                open(tags.without(not) != Tags::NONE)
            }
        }
    }

    /// The event, with what follows from its being inside a set (or outside of it); `None` if it is not.
    pub fn learn(&self, e: &Event, set: NodeId, inside: bool) -> Option<Event> {
        let truth = self.contains(set, e);
        match if inside { truth } else { truth.not() } {
            Truth::No => return None,
            Truth::Yes => return Some(e.clone()),
            Truth::Open => {}
        }
        let mut e = e.clone();
        if inside {
            self.note(&mut e, set);
        }
        Some(e)
    }

    fn note(&self, e: &mut Event, set: NodeId) {
        if self.contains(set, e) == Truth::Yes {
            return;
        }
        e.known.push(set);
        match *self.node(set) {
            Node::Inter(a, b) => {
                self.note(e, a);
                self.note(e, b);
            }
            Node::Diff(a, _) => self.note(e, a),
            Node::Union(a, b) => {
                for (x, y) in [(a, b), (b, a)] {
                    if !self.contains(x, e).possible() {
                        self.note(e, y);
                    }
                }
            }
            _ => {}
        }
        e.known.sort_unstable();
    }

    /// The annotations by which a set is made.
    pub fn annotations(&self, set: NodeId) -> Tags {
        match *self.node(set) {
            Node::BaseSet(BaseSet::Tags(tags)) => tags,
            Node::Union(a, b) | Node::Inter(a, b) => self.annotations(a) | self.annotations(b),
            Node::Diff(a, _) => self.annotations(a),
            _ => Tags::NONE,
        }
    }

    /// Whether the first event of a pair is related to the second.
    pub fn holds(&self, rel: NodeId, pair: &Pair) -> Truth {
        match *self.node(rel) {
            Node::BaseRel(base) => self.base_rel(bit(base), base, pair),
            Node::EmptyRel => Truth::No,
            Node::Union(a, b) => self.holds(a, pair).or(self.holds(b, pair)),
            Node::Inter(a, b) => self.holds(a, pair).and(self.holds(b, pair)),
            Node::Diff(a, b) => match self.holds(a, pair) {
                Truth::No => Truth::No,
                truth => truth.and(self.holds(b, pair).not()),
            },
            Node::Complement(a) => self.holds(a, pair).not(),
            Node::Cross(a, b) => self.contains(a, pair.from).and(self.contains(b, pair.to)),
            Node::IdentityOn(s) => {
                let id = Truth::of(pair.link.yes & bit(BaseRel::Id) != 0);
                id.and(self.contains(s, pair.from))
            }
            Node::RestrictDomain(r, s) => self.contains(s, pair.from).and(self.holds(r, pair)),
            Node::RestrictRange(r, s) => self.contains(s, pair.to).and(self.holds(r, pair)),
            Node::Inverse(r) => {
                let (from, to, near) = (pair.to, pair.from, None);
                self.holds(r, &Pair { from, to, link: pair.back, back: pair.link, near })
            }
            Node::Seq(..) if self.is_from_reads(rel) => self.base_rel(FR, BaseRel::Co, pair),
            Node::Seq(a, b) => self.sequence(a, b, pair),
            Node::Plus(a) if self.holds(a, pair) == Truth::Yes => Truth::Yes,
            Node::Plus(a) => self.unless_closed(a, a, pair),
            Node::Fix(group, var) | Node::FixVar(group, var) => self.defined(group, var, pair),
            _ => Truth::Open,
        }
    }

    /// Of a recursive definition, whether one of its parts relates the two events without it.
    fn defined(&self, group: u32, var: u32, pair: &Pair) -> Truth {
        let mut todo = vec![self.plan.groups[group as usize].bodies[var as usize]];
        let mut seen = vec![];
        while let Some(part) = todo.pop() {
            match *self.node(part) {
                Node::Union(a, b) => todo.extend([a, b]),
                Node::FixVar(g, i) if !seen.contains(&(g, i)) => {
                    seen.push((g, i));
                    todo.push(self.plan.groups[g as usize].bodies[i as usize]);
                }
                Node::BaseRel(_) if self.holds(part, pair) == Truth::Yes => return Truth::Yes,
                _ => {}
            }
        }
        Truth::Open
    }

    /// `rf^-1; co`.
    pub fn is_from_reads(&self, rel: NodeId) -> bool {
        let Node::Seq(a, b) = *self.node(rel) else { return false };
        let Node::Inverse(a) = *self.node(a) else { return false };
        let base = |id, of| *self.node(id) == Node::BaseRel(of);
        base(a, BaseRel::Rf) && base(b, BaseRel::Co)
    }

    fn base_rel(&self, bit: u64, base: BaseRel, pair: &Pair) -> Truth {
        use BaseRel as B;
        let (from, to) = (pair.from.kind, pair.to.kind);
        let placed = |k: Kind| k.is_memory() || k == Kind::Touch;
        let fits = match base {
            _ if bit == FR => from.reads() && to.writes(),
            B::Rf => from.writes() && to.reads(),
            B::Co => from.writes() && to.writes(),
            B::Amo | B::LxSx => from.reads() && to.writes(),
            B::Loc | B::SameAccess => placed(from) && placed(to),
            B::Addr | B::PickAddr => self.is_source(from) && placed(to),
            // A value that depends on whether an exclusive write was done is not kept in private memory.
            B::Data | B::PickData => {
                self.is_source(from) && to.writes() && (from.reads() || !to.is_private())
            }
            B::Ctrl | B::PickCtrl => self.is_source(from),
            B::SameBarrier => from == Kind::Fence && to == Kind::Fence,
            _ => true,
        };
        match () {
            () if fits && pair.link.yes & bit != 0 => Truth::Yes,
            () if fits && pair.link.open & bit != 0 => Truth::Open,
            () => Truth::No,
        }
    }

    /// Whether something can depend on an event: on a read, or on whether an exclusive write was done.
    pub fn is_source(&self, kind: Kind) -> bool {
        kind.reads() || self.statuses && kind.writes() && !kind.is_private()
    }

    /// No, if the pair cannot be related by way of a third event, since nothing leads away from the one or
    /// to the other.
    fn unless_closed(&self, a: NodeId, b: NodeId, pair: &Pair) -> Truth {
        let (from, to) = (pair.from.kind, pair.to.kind);
        let closed = from.is_private() && !self.leads(a, from, true)
            || to.is_private() && !self.leads(b, to, false);
        if closed { Truth::No } else { Truth::Open }
    }

    fn sequence(&self, a: NodeId, b: NodeId, pair: &Pair) -> Truth {
        let open = self.unless_closed(a, b, pair);
        let Some(near) = pair.near.filter(|_| open.possible()) else { return open };
        let part = |rel: NodeId, near: Near| {
            let (from, to) = near.ends();
            let (from, to) = (Event::new(from), Event::new(to));
            let (link, back) = (near.link(), at_one_place());
            self.holds(rel, &Pair { from: &from, to: &to, link, back, near: Some(near) })
        };
        let stay = |rel: NodeId, e: &Event| {
            let [_, link] = one_access();
            self.holds(rel, &Pair { from: e, to: e, link, back: link, near: None })
        };
        let by_itself =
            stay(a, pair.from).and(part(b, near)).or(part(a, near).and(stay(b, pair.to)));
        let always = near.always().map_or(Truth::No, |(x, y)| part(a, x).and(part(b, y)));
        if by_itself == Truth::Yes || always == Truth::Yes {
            return Truth::Yes;
        }
        let split = |(x, y): &(Near, Near)| part(a, *x).and(part(b, *y)).possible();
        let inside = self.stays_near(a, pair.from, true) && self.stays_near(b, pair.to, false);
        let none = inside && !by_itself.possible() && !near.splits().iter().any(split);
        if none { Truth::No } else { Truth::Open }
    }

    /// Whether a relation leads from an event of private memory only to later ones at its place or to itself
    /// (or to it from earlier ones).
    fn stays_near(&self, rel: NodeId, e: &Event, away: bool) -> bool {
        let mut stays = true;
        self.each_pair(e.kind, away, &mut |pair| {
            let itself = pair.link.yes & bit(BaseRel::Id) != 0;
            stays &= pair.near.is_some() || itself || !self.holds(rel, pair).possible();
        });
        stays
    }

    /// Whether a relation can lead from an event of private memory to any other event, or the other way.
    fn leads(&self, rel: NodeId, kind: Kind, away: bool) -> bool {
        if let Some(known) = self.leads.borrow().get(&(rel, kind, away)) {
            return *known;
        }
        let mut leads = false;
        self.each_pair(kind, away, &mut |pair| {
            leads = leads || self.holds(rel, pair).possible();
        });
        self.leads.borrow_mut().insert((rel, kind, away), leads);
        leads
    }

    /// Every pair of a private event and another one, private or not. With `away` the private event is the
    /// first of the pair, else the second.
    fn each_pair(&self, kind: Kind, away: bool, f: &mut dyn FnMut(&Pair)) {
        use BaseRel as B;
        let own = Event::new(kind);
        let mut pair = |other: &Event, link: Link, back: Link, near: Option<Near>| {
            let (from, to) = if away { (&own, other) } else { (other, &own) };
            f(&Pair { from, to, link, back, near });
        };
        let (later, earlier) = (Link::later().or_open(&DEPENDENCIES), Link::thread());
        for kind in &self.kinds {
            let other = Event::new(*kind);
            pair(&other, later, earlier, None);
            pair(&other, earlier, later, None);
            pair(&other, Link::apart(), Link::apart(), None);
        }
        for private in private_pairs() {
            let (first, second) = private.ends;
            let flow = [B::IicoData, B::IicoCtrl];
            let mut link = private.link.or_open(&DEPENDENCIES);
            if private.is_inside() {
                link = link.or_open(&flow);
            }
            if (if away { first } else { second }) == kind {
                let other = Event::new(if away { second } else { first });
                pair(&other, link, private.back, private.near);
            }
            if (if away { second } else { first }) == kind {
                let other = Event::new(if away { first } else { second });
                pair(&other, private.back, link, None);
            }
        }
        if kind != Kind::PrivateInit {
            for link in one_access() {
                pair(&own, link, link, None);
            }
        }
    }

    /// Whether a set or relation has the same members among the events that are not private, whether or not
    /// there are private ones.
    pub fn is_exact(&self, id: NodeId) -> bool {
        if let Some(known) = self.exact.borrow().get(&id) {
            return *known;
        }
        let exact = match *self.node(id) {
            Node::BaseRel(base) => !DEPENDENCIES.contains(&base) && !VALUES.contains(&base),
            Node::BaseSet(_) | Node::EmptySet | Node::EmptyRel => true,
            Node::Fix(..) | Node::FixVar(..) => false,
            Node::Seq(a, b) => {
                self.is_exact(a)
                    && self.is_exact(b)
                    && (self.is_from_reads(id) || !self.passes(a, b))
            }
            Node::Plus(a) => self.is_exact(a) && !self.passes(a, a),
            Node::Domain(r) => self.is_exact(r) && !self.touches(r, true),
            Node::Range(r) => self.is_exact(r) && !self.touches(r, false),
            ref node => node.operands().all(|o| self.is_exact(o)),
        };
        self.exact.borrow_mut().insert(id, exact);
        exact
    }

    /// Whether a way through two relations can lead through private memory.
    fn passes(&self, a: NodeId, b: NodeId) -> bool {
        self.touches(a, true) && self.touches(b, false)
    }

    /// Whether a relation can lead to private memory from elsewhere, or from there to elsewhere.
    fn touches(&self, rel: NodeId, into: bool) -> bool {
        let mut found = false;
        for kind in [Kind::PrivateRead, Kind::PrivateWrite, Kind::PrivateInit] {
            self.each_pair(kind, !into, &mut |pair| {
                let inside = pair.from.kind.is_private() && pair.to.kind.is_private();
                found = found || (!inside && self.holds(rel, pair).possible());
            });
        }
        found
    }

    /// Whether a relation, or a set, has no member with a private event.
    pub fn is_without_private(&self, id: NodeId) -> bool {
        let kinds = [Kind::PrivateRead, Kind::PrivateWrite, Kind::PrivateInit];
        if self.is_set(id) {
            return kinds.iter().all(|k| !self.contains(id, &Event::new(*k)).possible());
        }
        kinds.iter().all(|k| !self.leads(id, *k, true) && !self.leads(id, *k, false))
    }
}

/// Two events of private memory, the first before the second, or an initial write and another.
pub struct PrivatePair {
    pub ends: (Kind, Kind),
    pub link: Link,
    pub back: Link,
    pub near: Option<Near>,
}

impl PrivatePair {
    /// Whether the first is a read and the second a write of the same instruction, so that there can be flow.
    pub fn is_inside(&self) -> bool {
        self.link.yes & bit(BaseRel::SameInstance) != 0
            && self.ends == (Kind::PrivateRead, Kind::PrivateWrite)
    }

    /// The first related to the second by these, too, and by the flow inside an instruction that goes with it.
    pub fn link_by(&self, by: &[BaseRel]) -> Link {
        use BaseRel as B;
        let link = self.link.with(by);
        match (self.is_inside(), by) {
            (true, [B::Data]) => link.or_open(&[B::IicoData, B::IicoCtrl]),
            (true, [B::PickData]) => link.or_open(&[B::IicoCtrl]),
            _ => link,
        }
    }
}

pub fn private_pairs() -> Vec<PrivatePair> {
    use BaseRel as B;
    let (r, w, init) = (Kind::PrivateRead, Kind::PrivateWrite, Kind::PrivateInit);
    let mut all: Vec<PrivatePair> = Vec::new();
    let mut add = |ends, link, back, near| all.push(PrivatePair { ends, link, back, near });
    for near in Near::ALL {
        add(near.ends(), near.link(), at_one_place(), Some(near));
    }
    for ends in [(r, r), (r, w), (w, r), (w, w)] {
        add(ends, Link::later(), Link::thread(), None);
        // Of one instruction: flow goes forward.
        let (link, back) = (Link::instruction(), Link::instruction());
        add(ends, link, back, None);
        let (link, back) = (link.with(&[B::Loc]), back.with(&[B::Loc]));
        match ends {
            (x, y) if x == r && y == w => add(ends, link.with_fr(), back, None),
            (x, y) if x == r && y == r => add(ends, link, back, None),
            _ => {}
        }
    }
    let apart = Link::apart();
    let place = apart.with(&[B::Loc]);
    for to in [r, w] {
        add((init, to), apart, apart, None);
    }
    add((init, r), place.with(&[B::Rf]), place, None);
    add((init, r), place, place, None);
    add((init, w), place.with(&[B::Co]), place, None);
    all
}
