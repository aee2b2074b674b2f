use std::ops::ControlFlow;

use proptest::prelude::*;

use super::recipe::Recipe;
use super::{dialect, syntax};
use litmake_base::diag::Source;
use litmake_litmus::{self as litmus, Arch, canon};

fn text(t: &str) -> Source {
    Source::new("test", t)
}

fn vocabulary(arch: Arch, words: &str, size: usize, threads: usize) -> Recipe {
    Recipe { vocabulary: vec![text(words)], size, threads, ..Recipe::new(arch) }
}

fn one(arch: Arch, cycle: &str) -> String {
    let recipe = Recipe { cycles: vec![text(cycle)], ..Recipe::new(arch) };
    let (made, _) = recipe.prepare().expect("reads").all(1).expect("is made");
    assert_eq!(made.len(), 1);
    made[0].text(arch)
}

fn names(recipe: &Recipe) -> Vec<String> {
    let mut out = Vec::new();
    let prepared = recipe.prepare().expect("reads");
    prepared
        .each(&mut |draft, _| {
            out.push(draft.name.clone());
            ControlFlow::Continue(())
        })
        .expect("are made");
    out.sort();
    out
}

/// Vocabularies that use most of each dialect.
const RICH: [(Arch, &str); 11] = [
    (Arch::C, "Pod** Pos** Acq Rel Sc Rlx Exch Fetch.Add Cas FenceScd** Rfe Fre Coe"),
    (Arch::C, "Pod** DpAddrd* DpDatadW DpCtrld* FenceARd** Rfe Fre Coe Rfi"),
    (
        Arch::AArch64,
        "Pod** A L X XAL Pa PaA PaL Amo.Swp Amo.Cas Amo.LdAdd Amo.StAdd LxSx DpAddrd* DpCtrlIsbdR \
                     DpDataCseldW DMB.SYd** Rfe Fre Coe",
    ),
    (Arch::AArch64, "Pod** Pos** DpAddrd* DpDatadW h0 h2 w0 A L Rfe Fre Coe"),
    (Arch::RiscV, "Pod** Pos** DpAddrd* DpDatadW h0 h2 w0 Rfe Fre Coe"),
    (Arch::X86_64, "Pod** Pos** h0 h2 w0 Rfe Fre Coe"),
    (Arch::X86_64, "Pod** Pos** MFenced** A Exch Rfe Fre Coe"),
    (Arch::RiscV, "Pod** Aq Rl X XAqRl Exch DpAddrd* DpDatadW DpCtrlFenceIdR Rfe Fre Coe"),
    (Arch::Arm, "Pod** A LxSx DpAddrd* DpDatadW DpCtrlIsbdR DMBd** Rfe Fre Coe"),
    (Arch::Ppc, "Pod** A LxSx DpAddrd* DpDatadW DpCtrlIsyncdR LwSyncd** Rfe Fre Coe"),
    (Arch::Mips, "Pod** A LxSx DpAddrd* DpDatadW DpCtrld* Syncd** Rfe Fre Coe"),
];

#[test]
fn what_is_printed_reads_back_with_the_same_canonical_form() {
    for (arch, words) in RICH {
        for observe in ["avoid", "accept", "both", "local"] {
            let recipe = Recipe { observe: text(observe), ..vocabulary(arch, words, 6, 2) };
            let mut printed = String::new();
            let mut count = 0;
            recipe
                .prepare()
                .expect("reads")
                .each(&mut |draft, hash| {
                    count += 1;
                    // Every seventh, to keep the test short.
                    if count % 7 != 1 {
                        return ControlFlow::Continue(());
                    }
                    printed.clear();
                    draft.print(&mut printed);
                    let test =
                        litmus::read(&text(&printed)).unwrap_or_else(|e| panic!("{e}\n{printed}"));
                    assert_eq!(
                        canon::canonical_hash(&test),
                        *hash,
                        "{printed}\n{}",
                        canon::canonical_text(&test)
                    );
                    if count > 2000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
                .expect("are made");
            assert!(count > 50, "{} gives {count} tests", arch.name());
        }
    }
}

#[test]
fn the_families_of_three_threads_and_six_edges() {
    let expected = [
        "2+2W", "3.2W", "3.LB", "3.SB", "IRIW", "IRRWIW", "IRWIW", "ISA2", "LB", "MP", "R", "RWC",
        "S", "SB", "W+RWC", "WRC", "WRR+2W", "WRW+2W", "WRW+WR", "WWC", "Z6.0", "Z6.1", "Z6.2",
        "Z6.3", "Z6.4", "Z6.5",
    ];
    for arch in Arch::ALL {
        assert_eq!(names(&vocabulary(arch, "Pod** Rfe Fre Coe", 6, 4)), expected);
    }
}

/// How many tests diy7 (7.58) gives, without those that are equal but for renaming.
#[test]
fn as_many_as_diy() {
    let expected = [
        (Arch::AArch64, "Pod** DMB.SYd** Rfe Fre Coe", 6, 3, 121),
        (Arch::AArch64, "Pod** DpAddrd* DpDatadW DpCtrld* Rfe Fre Coe", 6, 3, 657),
        (Arch::AArch64, "Pod** A L Rfe Fre Coe", 6, 2, 72),
        (Arch::AArch64, "Pod** Amo.Swp Amo.Cas Amo.LdAdd Amo.StAdd Rfe Fre Coe", 6, 2, 201),
        (Arch::AArch64, "PodWWPX PodRRXP PodRW Rfe Fre XL XAL X", 6, 2, 61),
        (Arch::C, "Pod** Sc Rlx Rfe Fre Coe", 6, 2, 78),
        (Arch::C, "Pod** Exch Sc Rfe Fre Coe", 7, 2, 33),
        (Arch::C, "FenceAcqdR* FenceReld*W FenceARd** Rlx Rfe Fre Coe", 6, 2, 202),
        (Arch::X86_64, "Pod** Exch Rfe Fre Coe", 6, 3, 65),
        (Arch::X86_64, "[Rfi,PodRR] [Rfi,PodRW] Pod** Rfe Fre Coe", 5, 3, 40),
        (Arch::RiscV, "Pod** Aq Rl Rfe Fre Coe", 6, 2, 72),
        (Arch::RiscV, "[Rfe,Fence.rw.wdRW] [Fence.rw.rwdWW,Rfe] Pod** Fre Coe Rfe", 5, 4, 56),
        (Arch::Ppc, "ACLwSyncdRW BCLwSyncdWW Syncd** DpAddrdR Rfe Fre Coe", 5, 4, 69),
        (Arch::Arm, "Pod** DpAddrd* DpDatadW DpCtrld* DpCtrlIsbdR Rfe Fre Coe", 6, 2, 447),
        (Arch::Mips, "Pod** LxSx Rfe Fre Coe", 6, 2, 33),
    ];
    for (arch, words, size, threads, count) in expected {
        let found = names(&vocabulary(arch, words, size, threads)).len();
        assert_eq!(found, count, "{} {words}", arch.name());
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_jobs() {
    let recipe = vocabulary(Arch::AArch64, "Pod** Pos** DMB.SYd** DpAddrd* Rfe Fre Coe Rfi", 5, 3);
    let prepared = recipe.prepare().expect("reads");
    let texts = |jobs| -> Vec<String> {
        let (made, _) = prepared.all(jobs).expect("are made");
        made.iter().map(|m| m.text(Arch::AArch64)).collect()
    };
    let alone = texts(1);
    assert_eq!(alone, texts(3));
    let mut streamed = Vec::new();
    prepared
        .each(&mut |draft, _| {
            let mut t = String::new();
            draft.print(&mut t);
            streamed.push(t);
            ControlFlow::Continue(())
        })
        .expect("are made");
    assert_eq!(alone, streamed);
    let mut unique = alone.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), alone.len());
}

#[test]
fn a_test_of_each_sort() {
    assert_eq!(
        one(Arch::AArch64, "DpAddrdRPA Fre PodWW Rfe"),
        "\
AArch64 MP+po+addrpa
\"PodWW Rfe DpAddrdRPA FreAP\"
{
 0:X1=x; 0:X3=y;
 1:X1=x; 1:X3=y;
}
 P0          | P1                ;
 MOV W0,#1   | LDR W0,[X3]       ;
 STR W0,[X1] | EOR W2,W0,W0      ;
 MOV W2,#1   | ADD X5,X1,W2,SXTW ;
 STR W2,[X3] | LDAR W4,[X5]      ;
exists (1:X0=1 /\\ 1:X4=0)
"
    );
    assert_eq!(
        one(Arch::C, "DpCtrldW Rfe DpAddrdR Fre PodWW Rfe"),
        "\
C ISA2+po+ctrl+addr
\"PodWW Rfe DpCtrldW Rfe DpAddrdR Fre\"
{}
P0(volatile int *y, volatile int *x) {
  *x = 1;
  *y = 1;
}
P1(volatile int *z, volatile int *y) {
  int r0 = *y;
  if (r0 == 1) {
    *z = 1;
  }
}
P2(volatile int *z, volatile int *x) {
  int r0 = *z;
  int r1 = *(x + (r0 & 128));
}
exists (1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0)
"
    );
    let coherence = one(Arch::AArch64, "Rfe PosRR Fre");
    assert!(coherence.starts_with("AArch64 CoRR\n"), "{coherence}");
    let rmw = one(Arch::AArch64, "PodWW Rfe Amo.LdAdd PodWR Fre");
    assert!(rmw.contains("LDADD") && rmw.contains("[y]=3"), "{rmw}");
}

/// Registers that loops need are none that the thread has already given away.
#[test]
fn scratch_registers_are_free() {
    let test = one(Arch::Arm, "PodWW Rfe PodRR DpAddrdWNaA PodWRANa Fre");
    assert!(
        test.contains("1:R1=x; 1:R3=y; 1:R4=z; 1:R6=a;")
            && test.contains("EOR R5,R2,R2")
            && test.contains("ADD R10,R5,R6")
            && test.contains("STREX R11,R7,[R10]")
            && test.contains("LDR R9,[R1]"),
        "{test}"
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |arch, cycle: &str| {
        let recipe = Recipe { cycles: vec![text(cycle)], ..Recipe::new(arch) };
        match recipe.prepare() {
            Err(e) => e.to_string(),
            Ok(p) => p.all(1).err().map_or(String::new(), |e| e.to_string()),
        }
    };
    assert_eq!(
        error(Arch::AArch64, "PodWW Rfee"),
        "test:1:7: error: `Rfee` is no relaxation of AArch64\n 1 | PodWW Rfee\n   |       ^^^^\n  \
         help: did you mean `Rfe`?"
    );
    assert!(error(Arch::X86_64, "DpAddrdR Fre PodWW Rfe").contains("no relaxation of X86_64"));
    assert!(error(Arch::C, "[PodWW Rfe").contains("never closed"));
    assert!(error(Arch::C, "PodWW Rfe PodWW Rfe").contains("makes no test"));
    assert!(error(Arch::C, "").contains("expected a relaxation"));
    let shapes = Recipe { shapes: vec![text("MPP")], ..vocabulary(Arch::C, "Pod**", 4, 2) };
    assert!(shapes.prepare().err().is_some_and(|e| e.to_string().contains("did you mean `MP`")));
}

#[test]
fn names_of_relaxations_read_back() {
    for arch in Arch::ALL {
        let d = dialect::of(arch);
        for name in syntax::names(d) {
            if matches!(name.as_str(), "R" | "W") {
                continue;
            }
            let read = syntax::cycle(d, &text(&name)).unwrap_or_else(|e| panic!("{e}"));
            let printed = syntax::print(d, &read);
            let again = syntax::cycle(d, &text(&printed)).expect("reads back");
            assert_eq!(read, again, "{} {name}", arch.name());
        }
    }
}

#[test]
fn sizes_and_pairs() {
    let told = |arch, cycle: &str| {
        let text = one(arch, cycle);
        text.lines().last().unwrap_or_default().to_string()
    };
    // The upper half of a word that was zero, and the lower half of one that was overwritten.
    assert_eq!(
        told(Arch::X86_64, "PodWWh0h2 Rfeh2w0 PodRRw0h0 Freh0h0"),
        "exists (1:rbx=16842752 /\\ 1:rcx=0)"
    );
    assert_eq!(
        told(Arch::AArch64, "PodWWh0h0 Coeh0h0 PodWWh0h2 Coeh2w0 PodWWw0w0 Coew0h0"),
        "exists ([x]=16843266 /\\ [y]=514 /\\ [z]=33686018)"
    );
    assert_eq!(
        told(Arch::AArch64, "PodWWPaPaL RfePaLPaA DpDatadWPaAPa Coe"),
        "exists (x={3,4} /\\ 1:X1=3)"
    );
    let refused = |arch, cycle: &str| {
        let recipe = Recipe { cycles: vec![text(cycle)], ..Recipe::new(arch) };
        recipe.prepare().and_then(|p| p.all(1)).is_err()
    };
    assert!(refused(Arch::AArch64, "PodWWh0h0 Rfeh0h2 PodRRh2h0 Fre"), "no byte in common");
    assert!(refused(Arch::AArch64, "PodWWh0X Rfe PodRR Fre"), "a loop has one size");
    assert!(refused(Arch::C, "PodWWh0h0 Rfe PodRR Fre"));
    assert!(!refused(Arch::AArch64, "PodWWPL Rfeh0A PodRRAP Fre"), "a strength and a size");
}

/// Counts come from an enumeration of every way to annotate both ends of each relaxation.
#[test]
fn varied_annotations_give_each_test_once() {
    let expected = [
        (Arch::C, "Pod** Rfe Fre Coe", "all", 4, 666),
        (Arch::C, "Pod** Rfe Fre Coe", "Na Sc Rlx", 4, 120),
        (Arch::C, "Pod** Exch Rfe Fre Coe", "Na Sc Rlx", 5, 300),
        (Arch::RiscV, "Pod** Rfe Fre Coe", "P Aq Rl X", 4, 378),
        (Arch::X86_64, "Pod** Rfe Fre Coe", "all", 6, 120),
        (Arch::AArch64, "Pod** PodWWPL Rfe Fre Coe", "P A", 4, 25),
    ];
    for (arch, words, annotations, size, count) in expected {
        let recipe =
            Recipe { annotations: vec![text(annotations)], ..vocabulary(arch, words, size, 2) };
        let tally = recipe.prepare().expect("reads").all(1).expect("are made").1;
        assert_eq!(tally.tests, count, "{} {words} {annotations}", arch.name());
        if !words.contains("Exch") && !words.contains("PL") {
            // SB, LB and 2+2W are met once for each of their rotations.
            assert!(tally.cycles < 2 * count, "{tally:?}");
        }
    }
    let words = "[PodWW,Rfe,PodRR,Fre,PodWW,Rfe,PodRR,Fre]";
    let recipe = Recipe { annotations: vec![text("all")], ..vocabulary(Arch::RiscV, words, 4, 2) };
    assert!(recipe.prepare().is_err(), "too much is refused");
}

#[test]
fn programs_are_met_once_up_to_symmetry() {
    use super::exhaustive::{Bounds, each};
    let count = |threads, events, locations| {
        let mut n = 0;
        let bounds = Bounds::new(threads, events, locations);
        let _ = each(&bounds, events, 0, &mut |_| {
            n += 1;
            ControlFlow::Continue(())
        });
        n
    };
    // One location: W|W and W|R.
    assert_eq!(count(2, 2, 1), 2);
    // Threads of two and one event, with a write somewhere: all but R R | R.
    assert_eq!(count(2, 3, 1), 7);
    // Three and one: 16 but for R R R | R. Two and two: ten pairs but for R R | R R.
    assert_eq!(count(2, 4, 1), 15 + 9);
}

/// Every family prints what reads back with the canonical form that it was deduplicated by.
#[test]
fn families_hash_as_they_read() {
    for (name, _) in super::families::NAMES {
        let mut count = 0u32;
        super::families::each(&text(name), &mut |made| {
            count += 1;
            if count % 97 == 1 {
                let printed = made.text(Arch::C);
                let test =
                    litmus::read(&text(&printed)).unwrap_or_else(|e| panic!("{e}\n{printed}"));
                assert_eq!(
                    super::short(&canon::canonical_hash(&test)),
                    made.hash,
                    "{name}\n{printed}\n{}",
                    canon::canonical_text(&test)
                );
            }
            if count > 30_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("are made");
        assert!(count > 500, "{name} gives {count} tests");
    }
}

#[test]
fn objects_layouts_and_helpers() {
    let make = |change: &dyn Fn(&mut Recipe)| {
        let cycle = "FenceReldWWRlxRlx Rfe DpAddrdRAcqRlx Fre";
        let mut recipe = Recipe { cycles: vec![text(cycle)], ..Recipe::new(Arch::C) };
        change(&mut recipe);
        let (made, _) = recipe.prepare().expect("reads").all(1).expect("is made");
        let printed = made[0].text(Arch::C);
        let test = litmus::read(&text(&printed)).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        let hash = super::short(&canon::canonical_hash(&test));
        assert_eq!(hash, made[0].hash, "{printed}\n{}", canon::canonical_text(&test));
        printed.lines().skip(2).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        make(&|r| r.layout = text("array")),
        "\
{
 atomic_int s[2];
}
P0(atomic_int *s) {
  atomic_store_explicit(s, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(s + 1, 1, memory_order_relaxed);
}
P1(atomic_int *s) {
  int r0 = atomic_load_explicit(s + 1, memory_order_acquire);
  int r1 = atomic_load_explicit(s + (r0 & 128), memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)"
    );
    assert_eq!(
        make(&|r| {
            r.layout = text("struct");
            r.second = text("uint16_t");
            r.base = text("int8_t");
            r.objects = text("volatile");
        }),
        "\
{
 uint8_t s[16];
}
P0(uint8_t *s) {
  atomic_store_explicit((volatile _Atomic int8_t *)s, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit((volatile _Atomic uint16_t *)(s + 2), 1, memory_order_relaxed);
}
P1(uint8_t *s) {
  uint16_t r0 = atomic_load_explicit((volatile _Atomic uint16_t *)(s + 2), memory_order_acquire);
  int8_t r1 = atomic_load_explicit((volatile _Atomic int8_t *)(s + (r0 & 128)), \
memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)"
    );
    assert_eq!(
        make(&|r| r.helpers = text("all")),
        "\
{}
void h0(atomic_int *p, int v) {
  atomic_store_explicit(p, v, memory_order_relaxed);
}
void h1() {
  atomic_thread_fence(memory_order_release);
}
int h2(atomic_int *p) {
  return atomic_load_explicit(p, memory_order_acquire);
}
int h3(atomic_int *p) {
  return atomic_load_explicit(p, memory_order_relaxed);
}
P0(atomic_int *y, atomic_int *x) {
  h0(x, 1);
  h1();
  h0(y, 1);
}
P1(atomic_int *y, atomic_int *x) {
  int r0 = h2(y);
  int r1 = h3(x + (r0 & 128));
}
exists (1:r0=1 /\\ 1:r1=0)"
    );
}

proptest! {
    #[test]
    fn no_text_upsets_the_reader(words in "([A-Za-z*.,|?\\[\\]]{0,6}|Pod\\*\\*|Rfe|Fre|\\[|\\]|\\||\\?| ){0,12}") {
        for arch in Arch::ALL {
            let recipe = Recipe {
                cycles: vec![text(&words)],
                vocabulary: vec![text(&words)],
                size: 3,
                ..Recipe::new(arch)
            };
            if let Ok(prepared) = recipe.prepare() {
                let mut n = 0;
                let _ = prepared.each(&mut |_, _| {
                    n += 1;
                    if n > 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
        }
    }
}
