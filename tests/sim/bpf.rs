//! BPF: what its memory model allows. Each small program is here for a rule of the model as it was proposed, and says
//! which outcome the rule forbids, or allows where the rule does not hold.

use crate::differ;
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Options, Simulator};

const ENGINES: [Engine; 4] = [Engine::Auto, Engine::Enumerate, Engine::Solve, Engine::Exhaustive];

/// Threads with r1 = x and r2 = y (and r3 = z, for a barrier), an outcome, and whether it is allowed.
type Case<'a> = (&'a [&'a str], &'a str, bool);

fn check(cases: &[Case]) {
    let model = differ::built_in(Arch::Bpf, &["bpf"]).remove(0).1;
    for (threads, condition, allowed) in cases {
        let heads: Vec<String> = (0..threads.len()).map(|t| format!("P{t}")).collect();
        let init = |t: usize| format!("{t}:r1=x; {t}:r2=y; {t}:r3=z; ");
        let init: String = (0..threads.len()).map(init).collect();
        let mut text = format!("BPF t\n{{ uint64_t z=0; {init}}}\n{} ;\n", heads.join(" | "));
        let rows: Vec<Vec<&str>> =
            threads.iter().map(|t| t.split(';').map(str::trim).collect()).collect();
        for row in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
            let cells: Vec<&str> = rows.iter().map(|r| r.get(row).copied().unwrap_or("")).collect();
            text += &format!("{} ;\n", cells.join(" | "));
        }
        text += &format!("exists ({condition})\n");
        let source = Source::new("t.litmus", text.clone());
        let test = litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"));
        for engine in ENGINES {
            let options = Options { engine, ..Options::default() };
            let outcomes = Simulator::default().simulate(&test, &model, &options);
            let outcomes = outcomes.unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert_eq!(outcomes.positive > 0, *allowed, "{engine:?}: {text}");
        }
    }
}

const WRITES: &str = "*(u32 *)(r1 + 0) = 1; *(u32 *)(r2 + 0) = 1";
const READS: &str = "r4 = *(u32 *)(r2 + 0); r5 = *(u32 *)(r1 + 0)";

#[test]
fn message_passing() {
    let release = "*(u32 *)(r1 + 0) = 1; r6 = 1; store_release((u32 *)(r2 + 0), r6)";
    let acquire = "r4 = load_acquire((u32 *)(r2 + 0)); r5 = *(u32 *)(r1 + 0)";
    let addr = "r4 = *(u32 *)(r2 + 0); r6 = r4; r6 ^= r6; r1 += r6; r5 = *(u32 *)(r1 + 0)";
    let ctrl = "r4 = *(u32 *)(r2 + 0); if r4 == r4 goto L; L: r5 = *(u32 *)(r1 + 0)";
    let stale = "1:r4=1 /\\ 1:r5=0";
    check(&[
        (&[WRITES, READS], stale, true),
        (&[release, READS], stale, true),
        (&[WRITES, acquire], stale, true),
        (&[release, acquire], stale, false),
        (&[release, addr], stale, false),
        // Control orders writes alone.
        (&[release, ctrl], stale, true),
    ]);
}

#[test]
fn store_buffering_needs_operations_that_return_a_value() {
    let with = |between: &str| {
        [
            format!("*(u32 *)(r1 + 0) = 1; {between}; r5 = *(u32 *)(r2 + 0)"),
            format!("*(u32 *)(r2 + 0) = 1; {between}; r5 = *(u32 *)(r1 + 0)"),
        ]
    };
    for (between, allowed) in [
        ("r6 = 0", true),
        ("r6 = 1; lock *(u64 *)(r3 + 0) += r6", true),
        ("r6 = 1; r6 = atomic_fetch_add((u64 *)(r3 + 0), r6)", false),
        ("r6 = 1; r6 = xchg_64(r3 + 0, r6)", false),
        // z is never 7, and so it fails.
        ("r0 = 7; r6 = 1; r0 = cmpxchg_64(r3 + 0, r0, r6)", true),
    ] {
        let [a, b] = with(between);
        check(&[(&[&a, &b], "0:r5=0 /\\ 1:r5=0", allowed)]);
    }
    // Of one compare-exchange each that finds what it expects, one for each thread.
    let place = |n: u8| format!("r3 += {n}; r0 = 0; r6 = 1; r0 = cmpxchg_32_32(r3 + 0, r0, r6)");
    let [a, b] = [
        format!("*(u32 *)(r1 + 0) = 1; {}; r5 = *(u32 *)(r2 + 0)", place(0)),
        format!("*(u32 *)(r2 + 0) = 1; {}; r5 = *(u32 *)(r1 + 0)", place(4)),
    ];
    check(&[(&[&a, &b], "0:r5=0 /\\ 1:r5=0", false)]);
}

#[test]
fn dependencies_and_atomicity() {
    let copy =
        |from: u8, to: u8| format!("r4 = *(u32 *)(r{from} + 0); r5 = r4; *(u32 *)(r{to} + 0) = r5");
    let free = |from: u8, to: u8| format!("r4 = *(u32 *)(r{from} + 0); *(u32 *)(r{to} + 0) = 1");
    check(&[
        (&[&copy(1, 2), &free(2, 1)], "0:r4=1 /\\ 1:r4=1", true),
        (&[&free(1, 2), &free(2, 1)], "0:r4=1 /\\ 1:r4=1", true),
        (&[&copy(1, 2), &copy(2, 1), "*(u32 *)(r1 + 0) = 0"], "0:r4=1 /\\ 1:r4=1", false),
    ]);
    let add = "r4 = 1; lock *(u32 *)(r1 + 0) += r4";
    let swap = "r0 = 0; r4 = 2; r0 = cmpxchg32_32(r1 + 0, r0, r4)";
    let from =
        |old: u8, new: u8| format!("r0 = {old}; r4 = {new}; r0 = cmpxchg32_32(r1 + 0, r0, r4)");
    check(&[
        (&[add, add], "x=1", false),
        (&[add, swap], "x=2 /\\ 1:r0=0", false),
        (&[add, swap], "x=3 /\\ 1:r0=0", true),
        (&[swap, swap], "0:r0=0 /\\ 1:r0=0", false),
        // Two do not take from each other what they expect.
        (&[&from(2, 1), &from(1, 2)], "0:r0=2 /\\ 1:r0=1", false),
        // It does not take from itself what it expects.
        (&["r6 = 2; r0 = r6; r4 = 2; r0 = cmpxchg32_32(r1 + 0, r0, r4); r6 = r0"], "x=2", false),
    ]);
}
