//! Small random executions for tests of models: well-formed as the contract of plans says, but
//! not the executions of any program in particular.

use litmake::cat::exec::Exec;
use litmake::cat::plan::{BaseRel, BaseSet};
use litmake::litmus::Arch;
use litmake::ops::{TAG_TABLE, Tags, tag};
use litmake::rel::{Rel, Set};

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) as usize) % n.max(1)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Init,
    R,
    W,
    Rmw,
    F,
    Branch,
    Rreg,
    Wreg,
}

struct Event {
    kind: Kind,
    thread: usize,
    inst: usize,
    loc: usize,
    tags: Tags,
    /// Address or data port, for register reads.
    port: usize,
}

fn is_fence_tag(arch: Arch, name: &str) -> bool {
    const FENCES: [&str; 11] = [
        "DMB", "DSB", "ISB", "MFENCE", "LFENCE", "SFENCE", "Fence", "SYNC", "LWSYNC", "EIEIO",
        "ISYNC",
    ];
    FENCES.iter().any(|f| name.starts_with(f))
        || (arch == Arch::C && matches!(name, "ACQ" | "REL" | "ACQ_REL" | "SC" | "SIGNAL"))
}

fn pick_tags(rng: &mut Rng, arch: Arch, fence: bool) -> Tags {
    let here = |archs: &str| archs.split(' ').any(|a| a == arch.name());
    let some: Vec<_> = TAG_TABLE
        .iter()
        .filter(|(_, name, archs)| {
            here(archs) && (is_fence_tag(arch, name) || arch == Arch::C) >= fence
        })
        .filter(|(_, name, _)| fence == is_fence_tag(arch, name) || arch == Arch::C)
        .collect();
    if some.is_empty() {
        return Tags::NONE;
    }
    let (t, name, _) = some[rng.below(some.len())];
    match arch {
        Arch::C if !fence && !matches!(*name, "NA" | "VOLATILE" | "SIGNAL") => *t | tag::C_A,
        _ => *t,
    }
}

/// An execution; with register events where `registers` says so.
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
pub fn random(seed: u64, arch: Arch, registers: bool) -> Exec {
    let rng = &mut Rng::new(seed);
    let locs = 1 + rng.below(3);
    let mut events = Vec::new();
    let event = |kind, thread, inst, loc, tags| Event { kind, thread, inst, loc, tags, port: 0 };
    for loc in 0..locs {
        events.push(event(Kind::Init, usize::MAX, loc, loc, Tags::NONE));
    }
    let threads = 1 + rng.below(3);
    let mut inst = locs;
    let mut amo = Vec::new();
    for thread in 0..threads {
        for _ in 0..1 + rng.below(if registers { 3 } else { 4 }) {
            inst += 1;
            let loc = rng.below(locs);
            let tags = if rng.one_in(2) { Tags::NONE } else { pick_tags(rng, arch, false) };
            let register = |rng: &mut Rng| 100 + 10 * thread + rng.below(2);
            if registers {
                for _ in 0..rng.below(3) {
                    let r = register(rng);
                    let mut e = event(Kind::Rreg, thread, inst, r, Tags::NONE);
                    e.port = rng.below(3);
                    events.push(e);
                }
            }
            match rng.below(8) {
                0 | 1 => {
                    let ex = if rng.one_in(3) { tag::EX } else { Tags::NONE };
                    events.push(event(Kind::R, thread, inst, loc, tags | ex));
                    if registers {
                        let r = register(rng);
                        events.push(event(Kind::Wreg, thread, inst, r, Tags::NONE));
                    }
                }
                2 | 3 => {
                    let ex = if rng.one_in(3) { tag::EX } else { Tags::NONE };
                    events.push(event(Kind::W, thread, inst, loc, tags | ex));
                }
                4 if arch == Arch::C => {
                    events.push(event(Kind::Rmw, thread, inst, loc, tags | tag::C_A));
                }
                4 => {
                    amo.push((events.len(), events.len() + 1));
                    events.push(event(Kind::R, thread, inst, loc, tags | tag::X));
                    events.push(event(Kind::W, thread, inst, loc, tags | tag::X));
                }
                5 | 6 => {
                    let tags = pick_tags(rng, arch, true);
                    events.push(event(Kind::F, thread, inst, usize::MAX, tags));
                }
                _ => events.push(event(Kind::Branch, thread, inst, usize::MAX, Tags::NONE)),
            }
        }
    }

    assemble(rng, locs, events, amo)
}

/// The relations over some events; dependencies and order inside instructions at random.
fn assemble(rng: &mut Rng, locs: usize, events: Vec<Event>, amo: Vec<(usize, usize)>) -> Exec {
    let n = events.len();
    let is = |kinds: &[Kind]| Set::of(n, (0..n).filter(|e| kinds.contains(&events[*e].kind)));
    let rel = |f: &dyn Fn(&Event, &Event, usize, usize) -> bool| {
        let all = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
        Rel::of(n, all.filter(|&(a, b)| f(&events[a], &events[b], a, b)))
    };
    let reads = is(&[Kind::R, Kind::Rmw]);
    let writes = is(&[Kind::Init, Kind::W, Kind::Rmw]);
    let mem = reads.union(&writes);
    let init = is(&[Kind::Init]);
    let thread = |e: &Event| (e.kind != Kind::Init).then_some(e.thread);
    let int = rel(&|a, b, _, _| thread(a).is_some() && thread(a) == thread(b));
    let ext = rel(&|a, b, _, _| thread(a) != thread(b));
    let po = rel(&|a, b, x, y| {
        thread(a).is_some() && thread(a) == thread(b) && a.inst != b.inst && x < y
    });
    let loc = rel(&|a, b, _, _| a.loc != usize::MAX && a.loc == b.loc);
    let same_instance = rel(&|a, b, _, _| a.inst == b.inst);

    let (rf, co) = communication(rng, locs, &events, &reads, &writes);
    let mut some_of = |from: &Rel, sources: &Set, targets: &Set, one_in: usize| {
        let pairs = from.iter().filter(|(a, b)| sources.contains(*a) && targets.contains(*b));
        Rel::of(n, pairs.filter(|_| rng.one_in(one_in)))
    };
    let all = Set::full(n);
    let addr = some_of(&po, &reads, &mem, 4);
    let data = some_of(&po, &reads, &writes, 4);
    let mut ctrl = some_of(&po, &reads, &all, 8);
    let later = ctrl.seq(&po);
    ctrl.add(&later);
    let pick_addr = some_of(&po, &reads, &mem, 8).diff(&addr);
    let pick_data = some_of(&po, &reads, &writes, 8).diff(&data);
    let mut pick_ctrl = some_of(&po, &reads, &all, 12);
    let later = pick_ctrl.seq(&po);
    pick_ctrl.add(&later);
    let forward = rel(&|a, b, x, y| a.inst == b.inst && x < y);
    let iico_data = some_of(&forward, &all, &all, 2);
    let iico_ctrl = some_of(&forward, &all, &all, 5);
    let iico_order = some_of(&forward, &mem, &mem, 6);
    let rreg = is(&[Kind::Rreg]);
    let wreg = is(&[Kind::Wreg]);
    let rf_reg = some_of(&loc, &wreg, &rreg, 2);

    let ex = Set::of(n, mem.iter().filter(|e| events[*e].tags.meets(tag::EX)));
    let lxsx = exclusives(&po, &ex, &reads, &writes);
    let branch = is(&[Kind::Branch]);
    let bcc = Set::of(n, branch.iter().filter(|e| e % 2 == 0));
    let port = |p| Set::of(n, rreg.iter().filter(|e| events[*e].port == p));
    let constant = Set::of(n, mem.iter().filter(|e| events[*e].loc == 0));

    let mut exec = Exec { n, tags: events.iter().map(|e| e.tags).collect(), ..Exec::default() };
    exec.sets.extend([
        (BaseSet::R, reads.clone()),
        (BaseSet::W, writes.clone()),
        (BaseSet::M, mem.clone()),
        (BaseSet::F, is(&[Kind::F])),
        (BaseSet::Pred, branch.diff(&bcc)),
        (BaseSet::Branch, branch),
        (BaseSet::Bcc, bcc),
        (BaseSet::Rmw, is(&[Kind::Rmw])),
        (BaseSet::Iw, init.clone()),
        (BaseSet::Exp, mem.diff(&init)),
        (BaseSet::Rreg, rreg.clone()),
        (BaseSet::Wreg, wreg),
        (BaseSet::AddrPort, port(1)),
        (BaseSet::DataPort, port(2)),
        (BaseSet::Const, constant),
    ]);
    let same_thread = int.diff(&Rel::identity(n));
    exec.rels.extend([
        (BaseRel::Po, po),
        (BaseRel::Loc, loc),
        (BaseRel::Int, int),
        (BaseRel::Ext, ext),
        (BaseRel::Rf, rf),
        (BaseRel::RfReg, rf_reg),
        (BaseRel::Co, co),
        (BaseRel::Addr, addr),
        (BaseRel::Data, data),
        (BaseRel::Ctrl, ctrl),
        (BaseRel::PickAddr, pick_addr),
        (BaseRel::PickData, pick_data),
        (BaseRel::PickCtrl, pick_ctrl),
        (BaseRel::Amo, Rel::of(n, amo)),
        (BaseRel::LxSx, lxsx),
        (BaseRel::SameInstance, same_instance.clone()),
        (BaseRel::SameInstr, same_instance),
        (BaseRel::IicoData, iico_data),
        (BaseRel::IicoCtrl, iico_ctrl),
        (BaseRel::IicoOrder, iico_order),
        (BaseRel::SameAccess, Rel::identity_on(&mem)),
        (BaseRel::SameThread, same_thread),
    ]);
    exec
}

/// The exclusive reads, each with the next exclusive access where that is a write.
fn exclusives(po: &Rel, ex: &Set, reads: &Set, writes: &Set) -> Rel {
    let n = po.universe();
    let mut to = Rel::empty(n);
    to.set_restrict_range(po, ex);
    let step = po.diff(&to.seq(po));
    let ok = |&(a, b): &(usize, usize)| {
        ex.contains(a) && ex.contains(b) && reads.contains(a) && writes.contains(b)
    };
    Rel::of(n, step.iter().filter(ok))
}

/// Reads-from and coherence at random.
fn communication(
    rng: &mut Rng,
    locs: usize,
    events: &[Event],
    reads: &Set,
    writes: &Set,
) -> (Rel, Rel) {
    let n = events.len();
    let mut co = Rel::empty(n);
    for place in 0..locs {
        let mut order: Vec<usize> = writes.iter().filter(|w| events[*w].loc == place).collect();
        for i in (2..order.len()).rev() {
            order.swap(i, 1 + rng.below(i));
        }
        for (i, a) in order.iter().enumerate() {
            order[i + 1..].iter().for_each(|b| co.insert(*a, *b));
        }
    }
    let mut rf = Rel::empty(n);
    for r in reads.iter() {
        let from: Vec<usize> =
            writes.iter().filter(|w| *w != r && events[*w].loc == events[r].loc).collect();
        rf.insert(from[rng.below(from.len())], r);
    }
    (rf, co)
}

/// An AArch64 execution whose order inside instructions is that of real instructions, with
/// register events: dependencies follow from them.
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
pub fn structured(seed: u64) -> Exec {
    let rng = &mut Rng::new(seed);
    let locs = 1 + rng.below(2);
    let mut events: Vec<Event> = Vec::new();
    let (mut amo, mut data, mut ctrl) = (Vec::new(), Vec::new(), Vec::new());
    for loc in 0..locs {
        let thread = usize::MAX;
        let (kind, tags, port) = (Kind::Init, Tags::NONE, 0);
        events.push(Event { kind, thread, inst: loc, loc, tags, port });
    }
    let mut inst = locs;
    let mut bcc = Vec::new();
    for thread in 0..2 + rng.below(2) {
        for _ in 0..2 + rng.below(4) {
            inst += 1;
            let loc = rng.below(locs);
            let mut add = |kind, loc, tags, port| {
                events.push(Event { kind, thread, inst, loc, tags, port });
                events.len() - 1
            };
            let reg = |r: usize| 100 + 10 * thread + r;
            let (ra, rb, rd) = (reg(rng.below(2)), reg(rng.below(2)), reg(rng.below(2)));
            let flags = reg(5);
            let none = Tags::NONE;
            let acquire = [none, none, tag::A, tag::Q][rng.below(4)];
            let release = [none, none, tag::L][rng.below(3)];
            match rng.below(14) {
                0..=2 => {
                    let ex = if rng.one_in(4) { tag::EX } else { none };
                    let a = add(Kind::Rreg, ra, none, 1);
                    let r = add(Kind::R, loc, acquire | ex, 0);
                    let w = add(Kind::Wreg, rd, none, 0);
                    data.extend([(a, r), (r, w)]);
                }
                3..=5 => {
                    let ex = if rng.one_in(4) { tag::EX } else { none };
                    let a = add(Kind::Rreg, ra, none, 1);
                    let b = add(Kind::Rreg, rb, none, 2);
                    let w = add(Kind::W, loc, release | ex, 0);
                    data.extend([(a, w), (b, w)]);
                }
                6 | 7 => {
                    let swap = rng.one_in(2);
                    let a = add(Kind::Rreg, ra, none, 1);
                    let b = add(Kind::Rreg, rb, none, 2);
                    let r = add(Kind::R, loc, acquire.without(tag::Q) | tag::X, 0);
                    let w = add(Kind::W, loc, release | tag::X, 0);
                    let d = add(Kind::Wreg, rd, none, 0);
                    data.extend([(a, r), (a, w), (b, w), (r, d)]);
                    if !swap {
                        data.push((r, w));
                    }
                    amo.push((r, w));
                }
                8 => {
                    let fails = rng.one_in(3);
                    let a = add(Kind::Rreg, ra, none, 1);
                    let c = add(Kind::Rreg, rd, none, 2);
                    let b = add(Kind::Rreg, rb, none, 2);
                    let r = add(Kind::R, loc, acquire.without(tag::Q) | tag::X, 0);
                    let p = add(Kind::Branch, usize::MAX, none, 0);
                    data.extend([(a, r), (c, p), (r, p)]);
                    if !fails {
                        let w = add(Kind::W, loc, release | tag::X, 0);
                        data.extend([(a, w), (b, w)]);
                        ctrl.push((p, w));
                        amo.push((r, w));
                    }
                    let d = add(Kind::Wreg, rd, none, 0);
                    data.push((r, d));
                }
                10 => {
                    let f = add(Kind::Rreg, flags, none, 0);
                    let p = add(Kind::Branch, usize::MAX, none, 0);
                    let a = add(Kind::Rreg, ra, none, 0);
                    let w = add(Kind::Wreg, rd, none, 0);
                    data.extend([(f, p), (a, w)]);
                    ctrl.push((p, w));
                }
                kind @ (9 | 11) => {
                    let a = add(Kind::Rreg, ra, none, 0);
                    let w = add(Kind::Wreg, if kind == 9 { rd } else { flags }, none, 0);
                    data.push((a, w));
                }
                12 => {
                    let f = add(Kind::Rreg, flags, none, 0);
                    let p = add(Kind::Branch, usize::MAX, none, 0);
                    data.push((f, p));
                    bcc.push(p);
                }
                _ => {
                    let tags = pick_tags(rng, Arch::AArch64, true);
                    add(Kind::F, usize::MAX, tags, 0);
                }
            }
        }
    }
    with_order(assemble(rng, locs, events, amo), bcc, data, ctrl)
}

/// Puts the branches and the order inside instructions into an execution.
fn with_order(
    mut exec: Exec,
    bcc: Vec<usize>,
    data: Vec<(usize, usize)>,
    ctrl: Vec<(usize, usize)>,
) -> Exec {
    let n = exec.n;
    let bcc = Set::of(n, bcc);
    let decisions = exec.sets[&BaseSet::Branch].diff(&bcc);
    exec.sets.insert(BaseSet::Pred, decisions);
    exec.sets.insert(BaseSet::Bcc, bcc);
    exec.rels.insert(BaseRel::IicoData, Rel::of(n, data));
    exec.rels.insert(BaseRel::IicoCtrl, Rel::of(n, ctrl));
    exec.rels.insert(BaseRel::IicoOrder, Rel::empty(n));
    exec
}
