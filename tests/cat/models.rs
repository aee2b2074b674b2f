//! What our models say of well-known executions, one by one.

use litmake::cat::exec::Exec;
use litmake::cat::interp::interpret;
use litmake::cat::load::{LoadOptions, load};
use litmake::cat::plan::{BaseRel, BaseSet};
use litmake::cat::plan_eval;
use litmake::cat::stage::stage;
use litmake::litmus::Arch;
use litmake::ops::{Tags, tag};
use litmake::rel::{Rel, Set};

#[derive(Clone, Copy)]
enum What {
    R,
    W,
    F,
    /// Read and write in one event.
    U,
}
use What::{F, R, U, W};

/// An execution under construction: two places `x` (0) and `y` (1), initial writes first.
struct Test {
    events: Vec<(What, usize, usize, usize, Tags)>,
    rf: Vec<(usize, usize)>,
    co: Vec<(usize, usize)>,
    deps: Vec<(BaseRel, usize, usize)>,
    amo: Vec<(usize, usize)>,
}

const X: usize = 0;
const Y: usize = 1;
const INIT: usize = usize::MAX;

impl Test {
    fn new() -> Test {
        let init = |loc| (W, INIT, loc, loc, Tags::NONE);
        Test {
            events: vec![init(X), init(Y)],
            rf: Vec::new(),
            co: Vec::new(),
            deps: Vec::new(),
            amo: Vec::new(),
        }
    }

    /// Adds an instruction of one event and gives its number.
    fn event(&mut self, thread: usize, what: What, loc: usize, tags: Tags) -> usize {
        let inst = 10 + self.events.len();
        self.events.push((what, thread, loc, inst, tags));
        self.events.len() - 1
    }

    /// A read and a write of one instruction.
    fn atomic(&mut self, thread: usize, loc: usize, tags: Tags) -> (usize, usize) {
        let r = self.event(thread, R, loc, tags | tag::X);
        let w = self.event(thread, W, loc, tags | tag::X);
        self.events[w].3 = self.events[r].3;
        self.amo.push((r, w));
        (r, w)
    }

    fn exec(&self) -> Exec {
        let n = self.events.len();
        let ev = &self.events;
        let set = |f: &dyn Fn(usize) -> bool| Set::of(n, (0..n).filter(|e| f(*e)));
        let rel = |f: &dyn Fn(usize, usize) -> bool| {
            let all = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            Rel::of(n, all.filter(|(a, b)| f(*a, *b)))
        };
        let reads = set(&|e| matches!(ev[e].0, R | U));
        let writes = set(&|e| matches!(ev[e].0, W | U));
        let mem = reads.union(&writes);
        let loc = rel(&|a, b| mem.contains(a) && mem.contains(b) && ev[a].2 == ev[b].2);
        let int = rel(&|a, b| ev[a].1 == ev[b].1 && ev[a].1 != INIT);
        let mut co = Rel::of(n, self.co.iter().copied());
        for w in writes.iter().filter(|w| *w > 1) {
            co.insert(ev[w].2, w);
        }
        co.close();
        let mut rf = Rel::of(n, self.rf.iter().copied());
        for r in reads.iter() {
            if !rf.range().contains(r) {
                rf.insert(ev[r].2, r);
            }
        }
        let mut exec = Exec { n, tags: ev.iter().map(|e| e.4).collect(), ..Exec::default() };
        exec.sets.extend([
            (BaseSet::R, reads.clone()),
            (BaseSet::W, writes.clone()),
            (BaseSet::M, mem.clone()),
            (BaseSet::F, set(&|e| matches!(ev[e].0, F))),
            (BaseSet::Rmw, reads.inter(&writes)),
            (BaseSet::Iw, set(&|e| e < 2)),
            (BaseSet::Exp, mem.diff(&set(&|e| e < 2))),
        ]);
        exec.rels.extend([
            (BaseRel::Po, rel(&|a, b| int.contains(a, b) && a < b && ev[a].3 != ev[b].3)),
            (BaseRel::Ext, rel(&|a, b| ev[a].1 != ev[b].1)),
            (BaseRel::SameInstance, rel(&|a, b| ev[a].3 == ev[b].3)),
            (BaseRel::SameAccess, Rel::identity_on(&mem)),
            (BaseRel::Amo, Rel::of(n, self.amo.iter().copied())),
            (BaseRel::Int, int.clone()),
            (BaseRel::Loc, loc),
            (BaseRel::Rf, rf),
            (BaseRel::Co, co),
        ]);
        for (base, a, b) in &self.deps {
            let rel = exec.rels.entry(*base).or_insert_with(|| Rel::empty(n));
            rel.insert(*a, *b);
        }
        exec
    }

    /// What a model says, by its plan and by interpretation.
    fn allowed(&self, model: &str, arch: Arch) -> bool {
        let exec = self.exec();
        let model = load(model, &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
        let slow = interpret(&model, &exec).unwrap_or_else(|e| panic!("{e}"));
        let plan = stage(&model).unwrap_or_else(|e| panic!("{e}"));
        let fast = plan_eval::run(&plan, &exec).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(slow.allowed(), fast.allowed());
        slow.allowed()
    }

    fn undefined(&self, model: &str) -> bool {
        let model = load(model, &LoadOptions::new(Arch::C)).unwrap_or_else(|e| panic!("{e}"));
        interpret(&model, &self.exec()).unwrap_or_else(|e| panic!("{e}")).undefined
    }
}

const NONE: Tags = Tags::NONE;
const RLX: Tags = tag::C_RLX.with(tag::C_A);
const ACQ: Tags = tag::C_ACQ.with(tag::C_A);
const REL: Tags = tag::C_REL.with(tag::C_A);
const SC: Tags = tag::C_SC.with(tag::C_A);

/// Store buffering: both threads write, then read the other place as it was.
fn store_buffering(access: Tags, fence: Option<Tags>) -> Test {
    let mut t = Test::new();
    for (thread, a, b) in [(0, X, Y), (1, Y, X)] {
        t.event(thread, W, a, access);
        if let Some(tags) = fence {
            t.event(thread, F, 9, tags);
        }
        t.event(thread, R, b, access);
    }
    t
}

/// Message passing: the flag is seen, the message is not.
fn message_passing(write: Tags, read: Tags, data: Tags, fences: [Option<Tags>; 2]) -> Test {
    let mut t = Test::new();
    t.event(0, W, X, data);
    if let Some(tags) = fences[0] {
        t.event(0, F, 9, tags);
    }
    let flag = t.event(0, W, Y, write);
    let seen = t.event(1, R, Y, read);
    if let Some(tags) = fences[1] {
        t.event(1, F, 9, tags);
    }
    t.event(1, R, X, data);
    t.rf.push((flag, seen));
    t
}

/// Load buffering: both threads read what the other writes later.
fn load_buffering(tags: Tags) -> Test {
    let mut t = Test::new();
    let a = t.event(0, R, X, tags);
    let b = t.event(0, W, Y, tags);
    let c = t.event(1, R, Y, tags);
    let d = t.event(1, W, X, tags);
    t.rf.extend([(b, c), (d, a)]);
    t
}

#[test]
fn store_buffering_by_model() {
    let plain = store_buffering(NONE, None);
    assert!(!plain.allowed("sc", Arch::X86_64));
    for (model, arch) in [
        ("x86tso", Arch::X86_64),
        ("x86tso-herd2025", Arch::X86_64),
        ("aarch64", Arch::AArch64),
        ("armv7", Arch::Arm),
        ("riscv", Arch::RiscV),
        ("ppc", Arch::Ppc),
        ("mips", Arch::Mips),
    ] {
        assert!(plain.allowed(model, arch), "{model}");
    }
    for (model, arch, fence) in [
        ("x86tso", Arch::X86_64, tag::MFENCE),
        ("aarch64", Arch::AArch64, tag::DMB_ISH),
        ("aarch64", Arch::AArch64, tag::DSB_SY),
        ("aarch32", Arch::Arm, tag::ARM_DMB_ISH),
        ("armv7", Arch::Arm, tag::DMB),
        ("riscv", Arch::RiscV, tag::Fence_rw_rw),
        ("ppc", Arch::Ppc, tag::PPC_SYNC),
        ("mips", Arch::Mips, tag::MIPS_SYNC),
        ("mips-weak", Arch::Mips, tag::MIPS_SYNC),
    ] {
        assert!(!store_buffering(NONE, Some(fence)).allowed(model, arch), "{model}");
    }
    for (model, arch, fence) in [
        ("x86tso", Arch::X86_64, tag::SFENCE),
        ("aarch64", Arch::AArch64, tag::DMB_ISHST),
        ("riscv", Arch::RiscV, tag::Fence_tso),
        ("ppc", Arch::Ppc, tag::LWSYNC),
    ] {
        assert!(store_buffering(NONE, Some(fence)).allowed(model, arch), "{model}");
    }
    // The model of 2025 lets order go through any event.
    assert!(!store_buffering(NONE, Some(tag::SFENCE)).allowed("x86tso-herd2025", Arch::X86_64));
    for model in ["rc11", "c11"] {
        assert!(!store_buffering(SC, None).allowed(model, Arch::C));
        assert!(store_buffering(ACQ, None).allowed(model, Arch::C));
        assert!(!store_buffering(RLX, Some(tag::C_SC)).allowed(model, Arch::C));
        assert!(store_buffering(RLX, Some(tag::C_SC | tag::C_SIGNAL)).allowed(model, Arch::C));
    }
    assert!(store_buffering(SC, None).allowed("wgsl-sc-per-loc", Arch::C));
}

#[test]
fn message_passing_by_model() {
    let plain = message_passing(NONE, NONE, NONE, [None, None]);
    assert!(!plain.allowed("x86tso", Arch::X86_64));
    for (model, arch) in [
        ("aarch64", Arch::AArch64),
        ("aarch32", Arch::Arm),
        ("armv7", Arch::Arm),
        ("riscv", Arch::RiscV),
        ("ppc", Arch::Ppc),
        ("mips", Arch::Mips),
        ("mips-weak", Arch::Mips),
    ] {
        assert!(plain.allowed(model, arch), "{model}");
    }
    let sync = message_passing(NONE, NONE, NONE, [Some(tag::MIPS_SYNC), None]);
    assert!(!sync.allowed("mips", Arch::Mips));
    assert!(sync.allowed("mips-weak", Arch::Mips));
    for (model, arch) in [("aarch64", Arch::AArch64), ("aarch32", Arch::Arm)] {
        assert!(!message_passing(tag::L, tag::A, NONE, [None, None]).allowed(model, arch));
        assert!(message_passing(NONE, tag::A, NONE, [None, None]).allowed(model, arch));
    }
    let acquire_pc = message_passing(tag::L, tag::Q, NONE, [None, None]);
    assert!(!acquire_pc.allowed("aarch64", Arch::AArch64));
    for model in ["rc11", "rc11-lb", "c11"] {
        let ordered = message_passing(REL, ACQ, tag::C_NA, [None, None]);
        assert!(!ordered.allowed(model, Arch::C), "{model}");
        let relaxed = message_passing(RLX, RLX, tag::C_NA, [None, None]);
        assert!(relaxed.undefined(model), "{model}");
        assert!(message_passing(RLX, RLX, RLX, [None, None]).allowed(model, Arch::C));
        let fences = [Some(tag::C_REL), Some(tag::C_ACQ)];
        assert!(!message_passing(RLX, RLX, RLX, fences).allowed(model, Arch::C));
    }
    let fences = [Some(tag::C_ACQ_REL); 2];
    let fenced = message_passing(RLX, RLX, RLX, fences);
    assert!(fenced.allowed("wgsl-sc-per-loc", Arch::C));
    assert!(!fenced.allowed("wgsl-rel-acq", Arch::C));
    assert!(message_passing(RLX, RLX, RLX, [fences[0], None]).allowed("wgsl-rel-acq", Arch::C));
}

#[test]
fn load_buffering_by_model() {
    assert!(!load_buffering(RLX).allowed("rc11", Arch::C));
    assert!(load_buffering(RLX).allowed("rc11-lb", Arch::C));
    assert!(load_buffering(RLX).allowed("c11", Arch::C));
    assert!(!load_buffering(NONE).allowed("x86tso", Arch::X86));
    assert!(load_buffering(NONE).allowed("aarch64", Arch::AArch64));
    for dep in [BaseRel::Data, BaseRel::Ctrl, BaseRel::PickData, BaseRel::PickCtrl] {
        let mut t = load_buffering(NONE);
        t.deps.extend([(dep, 2, 3), (dep, 4, 5)]);
        assert!(!t.allowed("aarch64", Arch::AArch64), "{dep:?}");
    }
    let mut t = load_buffering(NONE);
    t.deps.extend([(BaseRel::Data, 2, 3), (BaseRel::Data, 4, 5)]);
    for (model, arch) in [
        ("riscv", Arch::RiscV),
        ("ppc", Arch::Ppc),
        ("armv7", Arch::Arm),
        ("mips-weak", Arch::Mips),
    ] {
        assert!(!t.allowed(model, arch), "{model}");
    }
}

/// A thread writes; another sees it and writes; a third sees that and not the first.
#[test]
fn only_power_and_armv7_show_writes_to_one_thread_before_another() {
    let mut t = Test::new();
    let a = t.event(0, W, X, NONE);
    let b = t.event(1, R, X, NONE);
    let c = t.event(1, W, Y, NONE);
    let d = t.event(2, R, Y, NONE);
    let e = t.event(2, R, X, NONE);
    t.rf.extend([(a, b), (c, d)]);
    t.deps.extend([(BaseRel::Data, b, c), (BaseRel::Addr, d, e)]);
    assert!(t.allowed("ppc", Arch::Ppc));
    assert!(t.allowed("armv7", Arch::Arm));
    for (model, arch) in [
        ("aarch32", Arch::Arm),
        ("aarch64", Arch::AArch64),
        ("riscv", Arch::RiscV),
        ("mips-weak", Arch::Mips),
    ] {
        assert!(!t.allowed(model, arch), "{model}");
    }
}

#[test]
fn annotated_plain_accesses_of_riscv_are_rcsc() {
    let mut t = Test::new();
    for (thread, a, b) in [(0, X, Y), (1, Y, X)] {
        t.event(thread, W, a, tag::RV_Rel);
        t.event(thread, R, b, tag::RV_Acq);
    }
    assert!(!t.allowed("riscv", Arch::RiscV));
}

#[test]
fn a_failed_compare_and_swap_of_riscv_does_not_release() {
    let pass = |fails: bool| {
        let mut t = Test::new();
        let a = t.event(0, R, X, NONE);
        let b = if fails {
            t.event(0, R, Y, tag::X | tag::RV_Rel)
        } else {
            t.atomic(0, Y, tag::RV_Rel).0
        };
        let c = t.event(1, W, Y, NONE);
        let d = t.event(1, W, X, tag::RV_Rel);
        t.rf.extend([(d, a)]);
        // The swap comes before the other thread's write of its place.
        t.co.extend(t.amo.iter().map(|(_, w)| (*w, c)));
        assert!(t.exec().rel(BaseRel::Rf).contains(Y, b));
        t.allowed("riscv", Arch::RiscV)
    };
    assert!(pass(true));
    assert!(!pass(false));
}

#[test]
fn an_exchange_reads_only_what_came_before_it() {
    let mut t = Test::new();
    let (r, w) = t.atomic(0, X, NONE);
    t.rf.push((w, r));
    assert!(!t.allowed("x86tso", Arch::X86_64));
    assert!(t.allowed("x86tso-herd2025", Arch::X86_64));
}

#[test]
fn nothing_comes_between_an_atomic_read_and_its_write() {
    let split = |first: bool| {
        let mut t = Test::new();
        let other = t.event(1, W, X, NONE);
        let (_, w) = t.atomic(0, X, NONE);
        t.co.push(if first { (other, w) } else { (w, other) });
        t
    };
    for (model, arch) in [
        ("aarch64", Arch::AArch64),
        ("armv7", Arch::Arm),
        ("riscv", Arch::RiscV),
        ("x86tso", Arch::X86),
        ("ppc", Arch::Ppc),
        ("mips", Arch::Mips),
        ("mips-weak", Arch::Mips),
        ("sc", Arch::Mips),
    ] {
        assert!(!split(true).allowed(model, arch), "{model}");
        assert!(split(false).allowed(model, arch), "{model}");
    }
    let update = |first: bool| {
        let mut t = Test::new();
        let other = t.event(1, W, X, RLX);
        let u = t.event(0, U, X, RLX);
        t.co.push(if first { (other, u) } else { (u, other) });
        t
    };
    for model in ["rc11", "rc11-lb", "c11", "wgsl-sc-per-loc", "wgsl-rel-acq", "sc"] {
        assert!(!update(true).allowed(model, Arch::C), "{model}");
        assert!(update(false).allowed(model, Arch::C), "{model}");
    }
}

#[test]
fn reads_of_one_place_do_not_go_back() {
    let mut t = Test::new();
    let w = t.event(0, W, X, RLX);
    let r = t.event(1, R, X, RLX);
    t.event(1, R, X, RLX);
    t.rf.push((w, r));
    for model in ["rc11", "c11", "wgsl-sc-per-loc"] {
        assert!(!t.allowed(model, Arch::C), "{model}");
    }
    let mut t = Test::new();
    let w = t.event(0, W, X, NONE);
    let r = t.event(1, R, X, NONE);
    t.event(1, R, X, NONE);
    t.rf.push((w, r));
    for (model, arch) in [
        ("aarch64", Arch::AArch64),
        ("armv7", Arch::Arm),
        ("riscv", Arch::RiscV),
        ("x86tso", Arch::X86),
        ("ppc", Arch::Ppc),
        ("mips-weak", Arch::Mips),
    ] {
        assert!(!t.allowed(model, arch), "{model}");
    }
}

#[test]
fn stores_to_const_memory_are_flagged() {
    for arch in Arch::ALL {
        let mut t = Test::new();
        t.event(0, W, X, NONE);
        let mut exec = t.exec();
        let model = load("const-write", &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
        let flags = |exec: &Exec| interpret(&model, exec).unwrap_or_else(|e| panic!("{e}")).flags;
        assert!(flags(&exec).is_empty());
        exec.sets.insert(BaseSet::Const, Set::of(exec.n, [X, 2]));
        assert!(flags(&exec).contains("const-write"));
    }
}
