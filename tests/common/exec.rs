//! Small random executions for tests of models: well-formed as the contract of plans says, but
//! not the executions of any program in particular.

use litmake::cat::exec::Exec;
use litmake::cat::plan::{BaseRel, BaseSet};
use litmake::isa::ops::{TAG_TABLE, Tags, tag};
use litmake::litmus::Arch;
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
pub fn random(seed: u64, arch: Arch, registers: bool) -> Exec {
    let rng = &mut Rng::new(seed);
    let locs = 1 + rng.below(3);
    let mut events = Vec::new();
    let event = |kind, thread, inst, loc, tags| Event {
        kind,
        thread,
        inst,
        loc,
        tags,
        port: 0,
    };
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
            let tags = if rng.one_in(2) {
                Tags::NONE
            } else {
                pick_tags(rng, arch, false)
            };
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
        let from: Vec<usize> = writes
            .iter()
            .filter(|w| *w != r && events[*w].loc == events[r].loc)
            .collect();
        rf.insert(from[rng.below(from.len())], r);
    }
    let mut some_of = |from: &Rel, sources: &Set, targets: &Set, one_in: usize| {
        let pairs = from
            .iter()
            .filter(|(a, b)| sources.contains(*a) && targets.contains(*b));
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
    let step = {
        let mut to = Rel::empty(n);
        to.set_restrict_range(&po, &ex);
        po.diff(&to.seq(&po))
    };
    let lxsx = {
        let pairs = step.iter();
        let ok = |&(a, b): &(usize, usize)| {
            ex.contains(a) && ex.contains(b) && reads.contains(a) && writes.contains(b)
        };
        Rel::of(n, pairs.filter(ok))
    };
    let branch = is(&[Kind::Branch]);
    let bcc = Set::of(n, branch.iter().filter(|e| e % 2 == 0));
    let port = |p| Set::of(n, rreg.iter().filter(|e| events[*e].port == p));
    let constant = Set::of(n, mem.iter().filter(|e| events[*e].loc == 0));

    let mut exec = Exec {
        n,
        tags: events.iter().map(|e| e.tags).collect(),
        ..Exec::default()
    };
    exec.sets.extend([
        (BaseSet::R, reads.clone()),
        (BaseSet::W, writes.clone()),
        (BaseSet::M, mem.clone()),
        (BaseSet::F, is(&[Kind::F])),
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
