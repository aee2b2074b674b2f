//! PTX: what its memory model allows, and what compilers make of C tests.
//!
//! Each small program is here for a rule of the text ("Memory Consistency Model" in NVIDIA's manual of PTX), and says
//! which outcome the rule forbids, or allows where the rule does not hold.

use crate::differ;
use litmake::diag::Source;
use litmake::litmus::{self, Arch, Test};
use litmake::sim::{Engine, Model, Options, Simulator};

const ENGINES: [Engine; 4] = [Engine::Auto, Engine::Enumerate, Engine::Solve, Engine::Exhaustive];

fn test(threads: &[&str], scopes: &str, condition: &str) -> Test {
    let rows: Vec<Vec<&str>> =
        threads.iter().map(|t| t.split(';').map(str::trim).collect()).collect();
    let heads: Vec<String> = (0..threads.len()).map(|t| format!("P{t}")).collect();
    let mut text = format!(
        "PTX t
{{ }}
{} ;
",
        heads.join(" | ")
    );
    for row in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = rows.iter().map(|r| r.get(row).copied().unwrap_or("")).collect();
        text += &format!("{} ;\n", cells.join(" | "));
    }
    if !scopes.is_empty() {
        text += &format!("scopes: {scopes}\n");
    }
    text += &format!("exists ({condition})\n");
    litmus::read(&Source::new("t.litmus", text.clone())).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn model() -> Model {
    differ::built_in(Arch::Ptx, &["ptx"]).remove(0).1
}

/// Whether some execution shows the condition; all engines agree.
fn shows(test: &Test, model: &Model) -> bool {
    let found = ENGINES.map(|engine| {
        let options = Options { engine, ..Options::default() };
        let outcomes = Simulator::default().simulate(test, model, &options);
        let outcomes = outcomes.unwrap_or_else(|e| panic!("{}\n{e}", litmus::write(test)));
        outcomes.positive > 0
    });
    assert!(found.iter().all(|f| *f == found[0]), "engines: {}", litmus::write(test));
    found[0]
}

/// Threads, where they lie, an outcome, and whether it is allowed.
type Case<'a> = (&'a [&'a str], &'a str, &'a str, bool);

fn check(cases: &[Case]) {
    let model = model();
    for (threads, scopes, condition, allowed) in cases {
        let test = test(threads, scopes, condition);
        assert_eq!(shows(&test, &model), *allowed, "{}", litmus::write(&test));
    }
}

const CTA: &str = "(system (gpu (cta P0 P1)))";
const CLUSTER: &str = "(system (gpu (cluster (cta P0) (cta P1))))";
const GPU: &str = "(system (gpu (cta P0) (cta P1)))";
const SYSTEM: &str = "(system (gpu (cta P0)) (gpu (cta P1)))";

/// A release pattern synchronizes with an acquire pattern whose read sees its write, if each names a scope that
/// has the other's thread in it.
#[test]
fn messages_pass_within_scopes() {
    let model = model();
    let places = [CTA, CLUSTER, GPU, SYSTEM];
    for (reach, scope) in ["cta", "cluster", "gpu", "sys"].into_iter().enumerate() {
        for (distance, place) in places.into_iter().enumerate() {
            for (send, receive) in [
                ("st.release.S.u32 [y], 1", "ld.acquire.S.u32 r0, [y]"),
                (
                    "fence.acq_rel.S; st.relaxed.S.u32 [y], 1",
                    "ld.relaxed.S.u32 r0, [y]; fence.acq_rel.S",
                ),
                (
                    "fence.release.S; st.relaxed.S.u32 [y], 1",
                    "ld.relaxed.S.u32 r0, [y]; fence.acquire.S",
                ),
                ("fence.sc.S; st.relaxed.S.u32 [y], 1", "ld.acquire.S.u32 r0, [y]"),
                ("atom.release.S.exch.b32 r5, [y], 1", "atom.acquire.S.add.u32 r0, [y], 0"),
                ("red.release.S.add.u32 [y], 1", "ld.acquire.S.u32 r0, [y]"),
                (
                    "st.release.S.u32 [y], 1; st.relaxed.S.u32 [y], 1",
                    "ld.relaxed.S.u32 r0, [y]; ld.acquire.S.u32 r0, [y]",
                ),
            ] {
                let send =
                    format!("st.weak.u32 [x], 1; {send}").replace(".S", &format!(".{scope}"));
                let receive =
                    format!("{receive}; ld.weak.u32 r1, [x]").replace(".S", &format!(".{scope}"));
                let test = test(&[&send, &receive], place, "1:r0=1 /\\ 1:r1=0");
                assert_eq!(shows(&test, &model), reach < distance, "{}", litmus::write(&test));
            }
        }
    }
}

/// Without a pattern on one of the sides there is no order: weak and volatile accesses are in none, and what a
/// reduction reads is not seen.
#[test]
fn what_is_no_pattern_orders_nothing() {
    let stale = "1:r0=1 /\\ 1:r1=0";
    let send = "st.weak.u32 [x], 1; st.release.sys.u32 [y], 1";
    let receive = "ld.acquire.sys.u32 r0, [y]; ld.weak.u32 r1, [x]";
    check(&[
        (&[send, receive], "", stale, false),
        (&["st.weak.u32 [x], 1; st.weak.u32 [y], 1", receive], "", stale, true),
        (&["st.weak.u32 [x], 1; st.volatile.u32 [y], 1", receive], "", stale, true),
        (&["st.weak.u32 [x], 1; st.relaxed.sys.u32 [y], 1", receive], "", stale, true),
        (&[send, "ld.weak.u32 r0, [y]; fence.acq_rel.sys; ld.weak.u32 r1, [x]"], "", stale, true),
        (
            &[send, "ld.volatile.u32 r0, [y]; fence.acq_rel.sys; ld.weak.u32 r1, [x]"],
            "",
            stale,
            false,
        ),
        (&[send, "ld.volatile.u32 r0, [y]; ld.weak.u32 r1, [x]"], "", stale, true),
        // The reduction of P1 reads what P0 released, and shows it by what it leaves.
        (
            &[send, "red.relaxed.sys.add.u32 [y], 1; fence.acq_rel.sys; ld.weak.u32 r1, [x]"],
            "",
            "y=2 /\\ 1:r1=0",
            true,
        ),
        (
            &[send, "atom.relaxed.sys.add.u32 r0, [y], 1; fence.acq_rel.sys; ld.weak.u32 r1, [x]"],
            "",
            "y=2 /\\ 1:r1=0",
            false,
        ),
    ]);
}

/// Observation goes on through atomic operations, and causality from thread to thread.
#[test]
fn causality_is_transitive() {
    let three = "(system (gpu (cta P0) (cta P1) (cta P2)))";
    check(&[
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1",
                "atom.relaxed.gpu.add.u32 r0, [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=2 /\\ 2:r1=0",
            false,
        ),
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1",
                "ld.relaxed.gpu.u32 r0, [y]; st.relaxed.gpu.u32 [y], 2",
                "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=2 /\\ 2:r1=0",
            true,
        ),
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; st.release.gpu.u32 [z], 1",
                "ld.acquire.gpu.u32 r0, [z]; ld.weak.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0",
            false,
        ),
        // The second link reaches less far than it would have to.
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; st.release.cta.u32 [z], 1",
                "ld.acquire.gpu.u32 r0, [z]; ld.weak.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0",
            true,
        ),
        // What is strong is seen by a third thread in its order, too.
        (
            &[
                "st.relaxed.gpu.u32 [x], 1",
                "ld.relaxed.gpu.u32 r0, [x]; st.release.gpu.u32 [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; ld.relaxed.gpu.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0",
            false,
        ),
        // Here the read of P1 does not observe the weak write.
        (
            &[
                "st.weak.u32 [x], 1",
                "ld.weak.u32 r0, [x]; st.release.gpu.u32 [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            three,
            "1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0",
            true,
        ),
    ]);
}

/// Fence-SC order: fences that reach each other are in one order, which causality does not contradict.
#[test]
fn fences_of_sequential_consistency_are_in_an_order() {
    let sides = |fence: &str| -> [String; 2] {
        let side = |a: &str, b: &str| {
            format!("st.relaxed.sys.u32 [{a}], 1; {fence}; ld.relaxed.sys.u32 r0, [{b}]")
        };
        [side("x", "y"), side("y", "x")]
    };
    let model = model();
    for (fence, place, allowed) in [
        ("fence.sc.sys", SYSTEM, false),
        ("fence.sc.gpu", SYSTEM, true),
        ("fence.sc.gpu", GPU, false),
        ("fence.sc.cluster", GPU, true),
        ("fence.sc.cluster", CLUSTER, false),
        ("fence.sc.cta", CTA, false),
        ("fence.sc.cta", GPU, true),
        ("membar.gl", GPU, false),
        ("fence.acq_rel.sys", CTA, true),
    ] {
        let [a, b] = sides(fence);
        let test = test(&[&a, &b], place, "0:r0=0 /\\ 1:r0=0");
        assert_eq!(shows(&test, &model), allowed, "{}", litmus::write(&test));
    }
    // Independent reads of independent writes, and two writes to each of two places.
    let reader = |a: &str, b: &str, fence: &str| {
        format!("ld.relaxed.gpu.u32 r0, [{a}]; {fence}; ld.relaxed.gpu.u32 r1, [{b}]")
    };
    let writer = |a: &str, b: &str, fence: &str| {
        format!("st.relaxed.gpu.u32 [{a}], 1; {fence}; st.relaxed.gpu.u32 [{b}], 2")
    };
    for (fence, allowed) in [("fence.sc.gpu", false), ("fence.acq_rel.gpu", true)] {
        let (a, b) = (reader("x", "y", fence), reader("y", "x", fence));
        let threads = ["st.relaxed.gpu.u32 [x], 1", &a, "st.relaxed.gpu.u32 [y], 1", &b];
        let iriw = test(&threads, "", "1:r0=1 /\\ 1:r1=0 /\\ 3:r0=1 /\\ 3:r1=0");
        assert_eq!(shows(&iriw, &model), allowed, "{}", litmus::write(&iriw));
        let (a, b) = (writer("x", "y", fence), writer("y", "x", fence));
        let both = test(&[&a, &b], "", "x=1 /\\ y=1");
        assert_eq!(shows(&both, &model), allowed, "{}", litmus::write(&both));
    }
}

/// Sequential consistency per location holds for what is morally strong; weak accesses of two threads race.
#[test]
fn places_are_coherent_for_what_is_strong() {
    let read = |word: &str| format!("ld.{word}.u32 r0, [x]; ld.{word}.u32 r1, [x]");
    let (weak, strong) = (read("weak"), read("relaxed.gpu"));
    check(&[
        (&["st.relaxed.gpu.u32 [x], 1", &strong], GPU, "1:r0=1 /\\ 1:r1=0", false),
        (&["st.relaxed.gpu.u32 [x], 1", &strong], SYSTEM, "1:r0=1 /\\ 1:r1=0", true),
        (&["st.weak.u32 [x], 1", &strong], GPU, "1:r0=1 /\\ 1:r1=0", true),
        (&["st.relaxed.gpu.u32 [x], 1", &weak], GPU, "1:r0=1 /\\ 1:r1=0", true),
        // A thread alone sees its own writes in order, however weak they are.
        (&["st.weak.u32 [x], 1; st.weak.u32 [x], 2; ld.weak.u32 r0, [x]"], "", "0:r0=1", false),
        (&["st.weak.u32 [x], 1; st.weak.u32 [x], 2"], "", "x=1", false),
        (&["ld.weak.u32 r0, [x]; st.weak.u32 [x], 1"], "", "0:r0=1", false),
        // Two readers agree on the order of two strong writes, and need not on weak ones.
        (
            &["st.relaxed.gpu.u32 [x], 1", "st.relaxed.gpu.u32 [x], 2", &strong, &strong],
            "",
            "2:r0=1 /\\ 2:r1=2 /\\ 3:r0=2 /\\ 3:r1=1",
            false,
        ),
        (
            &["st.weak.u32 [x], 1", "st.weak.u32 [x], 2", &strong, &strong],
            "",
            "2:r0=1 /\\ 2:r1=2 /\\ 3:r0=2 /\\ 3:r1=1",
            true,
        ),
    ]);
}

/// Atomic operations that reach each other are atomic; others may lose an update.
#[test]
fn atomicity_needs_scopes() {
    let add = |words: &str| format!("atom{words}.add.u32 r0, [x], 1");
    let (sys, gpu, cta) = (add(".relaxed.sys"), add(""), add(".relaxed.cta"));
    check(&[
        (&[&sys, &sys], SYSTEM, "x=1", false),
        (&[&gpu, &gpu], GPU, "x=1", false),
        (&[&gpu, &gpu], SYSTEM, "x=1", true),
        (&[&cta, &gpu], GPU, "x=1", true),
        (&[&cta, &gpu], CTA, "x=1", false),
        (&[&gpu, "st.relaxed.gpu.u32 [x], 5"], GPU, "0:r0=0 /\\ x=1", false),
        (&[&gpu, "st.weak.u32 [x], 5"], GPU, "0:r0=0 /\\ x=1", true),
        // A compare-exchange that fails is no write operation.
        (
            &[
                "st.weak.u32 [x], 1; atom.release.gpu.cas.b32 r0, [y], 1, 2",
                "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            GPU,
            "1:r0=0 /\\ 1:r1=0",
            true,
        ),
    ]);
}

/// Accesses of different widths are not morally strong, however strong each is.
#[test]
fn widths_that_differ_do_not_synchronize() {
    let stale = "1:r0=1 /\\ 1:r1=0";
    check(&[
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u8 [y], 1",
                "ld.acquire.gpu.u8 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            GPU,
            stale,
            false,
        ),
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1",
                "ld.acquire.gpu.u8 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            GPU,
            stale,
            true,
        ),
        (
            &[
                "st.weak.u32 [x], 1; st.release.gpu.u8 [y], 1",
                "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x]",
            ],
            GPU,
            stale,
            true,
        ),
    ]);
}

/// Load buffering is allowed, but no value comes out of thin air: not through data, not through control, not by
/// a choice between values.
#[test]
fn no_value_comes_out_of_thin_air() {
    let side = |a: &str, b: &str, how: &str| {
        format!("ld.relaxed.gpu.u32 r0, [{a}]; {how}").replace("[B]", &format!("[{b}]"))
    };
    let model = model();
    for (how, allowed) in [
        ("st.relaxed.gpu.u32 [B], 1", true),
        ("st.relaxed.gpu.u32 [B], r0", false),
        ("setp.eq.u32 p0, r0, 1; @p0 st.relaxed.gpu.u32 [B], 1", false),
        ("setp.eq.u32 p0, r0, 1; selp.b32 r1, 1, 0, p0; st.relaxed.gpu.u32 [B], r1", false),
        ("setp.ne.u32 p0, r0, 1; @p0 bra L0; st.relaxed.gpu.u32 [B], 1; L0:", false),
    ] {
        let (a, b) = (side("x", "y", how), side("y", "x", how));
        let test = test(&[&a, &b], "", "0:r0=1 /\\ 1:r0=1");
        assert_eq!(shows(&test, &model), allowed, "{}", litmus::write(&test));
    }
}

/// A barrier synchronizes the threads of one CTA that reach it at the same turn.
#[test]
fn barriers_synchronize_a_cta() {
    let side = |a: &str, b: &str, barrier: &str| {
        format!("st.weak.u32 [{a}], 1; {barrier}; ld.weak.u32 r0, [{b}]")
    };
    let model = model();
    for (barriers, place, allowed) in [
        (["bar.sync 0", "bar.sync 0"], CTA, false),
        (["bar.sync 0", "barrier.cta.sync.aligned 0"], CTA, false),
        (["bar.sync 0", "bar.sync 1"], CTA, true),
        (["bar.sync 0", "bar.sync 0"], GPU, true),
    ] {
        let (a, b) = (side("x", "y", barriers[0]), side("y", "x", barriers[1]));
        let test = test(&[&a, &b], place, "0:r0=0 /\\ 1:r0=0");
        assert_eq!(shows(&test, &model), allowed, "{}", litmus::write(&test));
    }
    // What comes after the first turn need not be there at the second one of another.
    check(&[
        (
            &[
                "bar.sync 0; st.weak.u32 [x], 1; bar.sync 0",
                "bar.sync 0; ld.weak.u32 r0, [x]; bar.sync 0",
            ],
            CTA,
            "1:r0=0",
            true,
        ),
        (
            &[
                "bar.sync 0; st.weak.u32 [x], 1; bar.sync 0",
                "bar.sync 0; bar.sync 0; ld.weak.u32 r0, [x]",
            ],
            CTA,
            "1:r0=0",
            false,
        ),
        (
            &[
                "st.weak.u32 [x], 1; bar.sync 0; bar.sync 0",
                "bar.sync 0; ld.weak.u32 r0, [x]; bar.sync 0",
            ],
            CTA,
            "1:r0=0",
            false,
        ),
    ]);
}

/// Runs `litmake check` on C tests, in a folder of its own: its exit status, and what it printed.
pub(crate) fn checked(profile: &str, tests: &[(&str, &str)]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in tests {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_litmake"))
        .args(["check", "--quiet", "--no-local", "--profile", profile])
        .args(tests.iter().map(|(name, _)| name))
        .current_dir(dir.path())
        .env("LITMAKE_CACHE", dir.path().join("cache"))
        .env_remove("LITMAKE_CACHE_SHARED")
        .output()
        .expect("litmake runs");
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.code(), text)
}

/// A message that is sent and received with these operations.
fn message(name: &str, send: &str, receive: &str, scopes: &str) -> String {
    format!(
        r"C {name}
{{ x=0; y=0; }}
P0 (int* x, atomic_int* y) {{
  *x = 1;
  {send};
}}
P1 (int* x, atomic_int* y) {{
  int r0 = {receive};
  int r1 = 2;
  if (r0) r1 = *x;
}}
{scopes}
exists (1:r0=1 /\ 1:r1=0)
"
    )
}

const STORE: &str = "atomic_store_explicit(y, 1, memory_order_release)";
const LOAD: &str = "atomic_load_explicit(y, memory_order_acquire)";

#[test]
fn loads_and_stores_keep_their_orders() {
    let profiles = ["clang-22-nvptx-O0", "clang-22-nvptx-O2", "clang-22-nvptx-sm90-O3"];
    if !litmake_needs::here("clang-22") {
        return;
    }
    let tests = [
        ("mp.litmus", message("mp", STORE, LOAD, "")),
        (
            "fences.litmus",
            message(
                "fences",
                "atomic_thread_fence(memory_order_release);\n  \
                 atomic_store_explicit(y, 1, memory_order_relaxed)",
                "atomic_load_explicit(y, memory_order_relaxed);\n  \
                 atomic_thread_fence(memory_order_acquire)",
                "",
            ),
        ),
        (
            "sb.litmus",
            r"C sb
{ x=0; y=0; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store(x, 1);
  int r0 = atomic_load(y);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store(y, 1);
  int r0 = atomic_load(x);
}
exists (0:r0=0 /\ 1:r0=0)
"
            .to_string(),
        ),
    ];
    let tests: Vec<(&str, &str)> = tests.iter().map(|(n, t)| (*n, t.as_str())).collect();
    for profile in profiles {
        let (status, out) = checked(profile, &tests);
        assert_eq!(status, Some(0), "{profile}: {out}");
    }
}

/// LLVM before 23 gives read-modify-writes neither their order nor their scope: the first shows on one GPU, the second
/// between two.
#[test]
fn read_modify_writes_that_lost_their_order_and_scope_are_found() {
    if !litmake_needs::here("clang-22") {
        return;
    }
    let add = "atomic_fetch_add_explicit(y, 1, memory_order_release)";
    let here = "scopes: (system (device P0 P1))";
    let (status, out) =
        checked("clang-22-nvptx-O2", &[("order.litmus", &message("order", add, LOAD, here))]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("1:r0=1; 1:r1=0;"), "{out}");

    let side = |n: usize| {
        format!(
            "P{n} (atomic_int* x) {{\n  atomic_fetch_add_explicit(x, 1, memory_order_relaxed);\n}}\n"
        )
    };
    let scope = |name: &str, scopes: &str| {
        format!(
            "C {name}
{{ x=0; }}
{}{}{scopes}
exists (x=1)
",
            side(0),
            side(1)
        )
    };
    let (status, out) = checked("clang-22-nvptx-O2", &[("near.litmus", &scope("near", here))]);
    assert_eq!(status, Some(0), "{out}");
    let (status, out) = checked("clang-22-nvptx-O2", &[("far.litmus", &scope("far", ""))]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("x=1;"), "{out}");
}
