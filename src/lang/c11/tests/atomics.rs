//! Each operation of `<stdatomic.h>`: its events, their annotations and its result.

use std::cell::Cell;

use super::super::PlainAtomic;
use super::*;
use litmake_ops::tag;

fn ints(list: &[(&'static str, u128)]) -> Vec<(&'static str, Val)> {
    list.iter().map(|(n, v)| (*n, Val::Int(*v))).collect()
}

fn tags(out: &Outcome) -> Vec<Tags> {
    out.events.iter().map(|e| e.tags).collect()
}

const SC: Tags = tag::C_A.with(tag::C_SC);
const RLX: Tags = tag::C_A.with(tag::C_RLX);
const ACQ: Tags = tag::C_A.with(tag::C_ACQ);
const REL: Tags = tag::C_A.with(tag::C_REL);
const ACQ_REL: Tags = tag::C_A.with(tag::C_ACQ_REL);
const CON: Tags = tag::C_A.with(tag::C_CON);
const NA: Tags = tag::C_NA;

/// A call on `x` that holds 6, its event, what `x` holds after, and what it gives.
#[test]
fn each_operation() {
    let cases: &[(&str, &str, Tags, u128, i128)] = &[
        ("atomic_load(x)", "R x", SC, 6, 6),
        ("atomic_load_explicit(x, memory_order_acquire)", "R x", ACQ, 6, 6),
        ("atomic_load_explicit(x, memory_order_consume)", "R x", CON, 6, 6),
        ("atomic_load_explicit(x, memory_order::relaxed)", "R x", RLX, 6, 6),
        ("std::atomic_load_explicit(x, std::memory_order_acquire)", "R x", ACQ, 6, 6),
        ("atomic_exchange(x, 9)", "U x", SC, 9, 6),
        ("atomic_exchange_explicit(x, 9, memory_order_release)", "U x", REL, 9, 6),
        ("atomic_fetch_add(x, 3)", "U x", SC, 9, 6),
        ("atomic_fetch_add_explicit(x, 0, memory_order_relaxed)", "U x", RLX, 6, 6),
        ("atomic_fetch_sub_explicit(x, 7, memory_order_acq_rel)", "U x", ACQ_REL, 0xffff_ffff, 6),
        ("atomic_fetch_and_explicit(x, 3, memory_order_acquire)", "U x", ACQ, 2, 6),
        ("atomic_fetch_or(x, 1)", "U x", SC, 7, 6),
        ("atomic_fetch_xor(x, 2)", "U x", SC, 4, 6),
        ("*x += 2", "U x", SC, 8, 8),
        ("*x <<= 1", "U x", SC, 12, 12),
        ("(*x)--", "U x", SC, 5, 6),
        ("__atomic_load_n(x, __ATOMIC_ACQUIRE)", "R x", ACQ, 6, 6),
        ("__atomic_exchange_n(x, 1, __ATOMIC_ACQ_REL)", "U x", ACQ_REL, 1, 6),
        ("__atomic_fetch_add(x, 1, 0)", "U x", RLX, 7, 6),
        ("__atomic_add_fetch(x, 1, __ATOMIC_SEQ_CST)", "U x", SC, 7, 7),
        ("__atomic_fetch_nand(x, 2, __ATOMIC_RELEASE)", "U x", REL, 0xffff_fffd, 6),
        ("__atomic_test_and_set((char*)x, __ATOMIC_ACQUIRE)", "U x", ACQ, 1, 1),
        ("atomic_flag_test_and_set((atomic_flag*)x)", "U x", SC, 1, 1),
    ];
    for (call, event, tags_of_it, memory, result) in cases {
        let text = format!("P0(atomic_int* x) {{ int r = {call}; }}");
        let out = run_once(&text, &ints(&[("x", 6)]));
        assert_eq!(out.trace(), *event, "{call}");
        assert_eq!(tags(&out), [*tags_of_it], "{call}");
        assert_eq!((out.mem("x"), out.reg("r")), (*memory, *result), "{call}");
    }
    let stores: &[(&str, Tags, u128)] = &[
        ("atomic_store(x, 5)", SC, 5),
        ("atomic_store_explicit(x, 5, memory_order_release)", REL, 5),
        ("__atomic_store_n(x, 5, __ATOMIC_RELAXED)", RLX, 5),
        ("atomic_init(x, 5)", NA, 5),
        ("atomic_flag_clear_explicit((atomic_flag*)x, memory_order_release)", REL, 0),
        ("__atomic_clear((bool*)x, __ATOMIC_SEQ_CST)", SC, 0),
        ("*x = 5", SC, 5),
    ];
    for (call, tags_of_it, memory) in stores {
        let out = run_once(&format!("P0(atomic_int* x) {{ {call}; }}"), &ints(&[("x", 6)]));
        assert_eq!(out.trace(), "W x", "{call}");
        assert_eq!(tags(&out), [*tags_of_it], "{call}");
        assert_eq!(out.mem("x"), *memory, "{call}");
    }
}

#[test]
fn fences() {
    let out = run_once(
        "P0() { atomic_thread_fence(memory_order_acq_rel); atomic_thread_fence(memory_order_relaxed); \
         atomic_signal_fence(memory_order_seq_cst); __atomic_thread_fence(__ATOMIC_SEQ_CST); }",
        &[],
    );
    assert_eq!(tags(&out), [tag::C_ACQ_REL, tag::C_RLX, tag::C_SIGNAL, tag::C_SC]);
    let steps: Vec<usize> = out.events.iter().map(|e| e.step).collect();
    assert_eq!(steps, [1, 2, 3, 4]);
}

#[test]
fn operations_through_pointers_to_values() {
    let out = run_once(
        "P0(atomic_int* x, int* y) { int a = 3; int b = 0; __atomic_store(x, &a, 3); \
         __atomic_load(x, &b, 2); __atomic_load(x, y, 0); __atomic_exchange(x, y, &a, 5); }",
        &ints(&[("x", 6)]),
    );
    assert_eq!(out.trace(), "W x; R x; R x; W y; R y; U x");
    assert_eq!(tags(&out), [REL, ACQ, RLX, NA, NA, SC]);
    assert_eq!((out.reg("a"), out.reg("b"), out.mem("y")), (3, 3, 3));
}

#[test]
fn plain_accesses() {
    let text = "P0(int* x, volatile int* y, atomic_int* z, volatile atomic_int* v) \
                { *x = 1; *y = *x; int a = *z; atomic_store_explicit(v, 1, memory_order_relaxed); }";
    let volatile = tag::C_VOLATILE;
    let out = run_once(text, &[]);
    assert_eq!(tags(&out), [NA, NA, NA | volatile, SC, RLX | volatile]);
    let met = Cell::new(false);
    let herd = Options { plain_atomic: PlainAtomic::NonAtomic, met: Some(&met), variables: &[] };
    let (code, names) = lower_with(&[text], herd).unwrap_or_else(|e| panic!("{e}"));
    let out = run(&code, &names, &[]);
    assert_eq!(tags(&out[0]), [NA, NA, NA | volatile, NA, RLX | volatile]);
    assert!(met.get());
    // What is read alike by all is not told.
    met.set(false);
    let alike = "P0(int* x, atomic_int* z) { *x = 1; *z += 1; (*z)++; atomic_store(z, 1); }";
    lower_with(&[alike], herd).unwrap_or_else(|e| panic!("{e}"));
    assert!(!met.get());
}

/// The traces and results of a compare-exchange on `x` = 6.
fn cas(expected: &str, call: &str, e: u128) -> Vec<(String, i128, u128, u128, Vec<Tags>)> {
    let text = format!("P0(atomic_int* x, int* e) {{ {expected}; int r = {call}; }}");
    run_text(&text, &ints(&[("x", 6), ("e", e)]))
        .into_iter()
        .map(|o| {
            let e = match o.regs.get("l") {
                Some(Val::Int(v)) => *v,
                _ => o.mem("e"),
            };
            (o.trace(), o.reg("r"), o.mem("x"), e, tags(&o))
        })
        .collect()
}

#[test]
fn compare_exchange_with_a_local() {
    let strong = "atomic_compare_exchange_strong_explicit(x, &l, 9, memory_order_acq_rel, memory_order_acquire)";
    let weak = "atomic_compare_exchange_weak_explicit(x, &l, 9, memory_order_release, memory_order_relaxed)";
    let s = |t: &str| t.to_string();
    assert_eq!(cas("int l = 6", strong, 0), [(s("U x"), 1, 9, 6, vec![ACQ_REL])]);
    assert_eq!(cas("int l = 5", strong, 0), [(s("R x"), 0, 6, 6, vec![ACQ])]);
    assert_eq!(
        cas("int l = 6", weak, 0),
        [(s("R x"), 0, 6, 6, vec![RLX]), (s("U x"), 1, 9, 6, vec![REL]),]
    );
    assert_eq!(cas("int l = 5", weak, 0), [(s("R x"), 0, 6, 6, vec![RLX])]);
    assert_eq!(
        cas("int l = 5", "atomic_compare_exchange_strong(x, &l, 9)", 0),
        [(s("R x"), 0, 6, 6, vec![SC])]
    );
    let gcc = "__atomic_compare_exchange_n(x, &l, 9, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)";
    assert_eq!(cas("int l = 5", gcc, 0), [(s("R x"), 0, 6, 6, vec![RLX])]);
    assert_eq!(cas("int l = 6", gcc, 0), [(s("U x"), 1, 9, 6, vec![ACQ])]);
}

#[test]
fn compare_and_swap_by_value() {
    let all = [
        ("__sync_bool_compare_and_swap(x, 6, 9)", "U x", 1, 9),
        ("__sync_bool_compare_and_swap(x, 5, 9)", "R x", 0, 6),
        ("__sync_val_compare_and_swap(x, 6, 9)", "U x", 6, 9),
        ("__sync_val_compare_and_swap(x, 5, 9)", "R x", 6, 6),
    ];
    for (call, event, result, memory) in all {
        let found = cas("int l = 5", call, 0);
        assert_eq!(found, [(event.to_string(), result, memory, 5, vec![SC])], "{call}");
    }
}

#[test]
fn compare_exchange_with_memory() {
    let call = "atomic_compare_exchange_strong_explicit(x, e, 9, memory_order_seq_cst, memory_order_relaxed)";
    let s = |t: &str| t.to_string();
    assert_eq!(cas("", call, 6), [(s("R e; U x"), 1, 9, 6, vec![NA, SC])]);
    assert_eq!(cas("", call, 5), [(s("R e; R x; W e"), 0, 6, 6, vec![NA, RLX, NA])]);
    // Each event is in an instruction of its own, in this order.
    let out =
        run_text(&format!("P0(atomic_int* x, int* e) {{ int r = {call}; }}"), &ints(&[("x", 1)]));
    let steps: Vec<usize> = out[0].events.iter().map(|e| e.step).collect();
    assert_eq!(steps, [1, 2, 3]);
}

#[test]
fn sizes() {
    for (ty, size) in [
        ("atomic_bool", 1),
        ("_Atomic int8_t", 1),
        ("atomic_ushort", 2),
        ("atomic_int", 4),
        ("_Atomic(long)", 8),
        ("_Atomic __int128", 16),
        ("int *_Atomic", 8),
    ] {
        let text = format!("P0({ty}* x, {ty}* y) {{ atomic_store(x, atomic_load(y)); }}");
        let out = run_once(&text, &[]);
        assert_eq!(out.events[0].size, size, "{ty}");
        assert_eq!(out.events[1].size, size, "{ty}");
    }
}

#[test]
fn pointers() {
    let at = |loc, off| Val::Ptr { loc, off };
    let (code, names) = lower_with(
        &["P0(int** p, int* x, int* y) { int* q = *p; *q = 1; *p = y; **p = 2; x[1] = 3; \
           *(x + 2) = 4; int* r = &x[3]; *--r = 5; int n = r - x; int c = (r == x) + 2 * (p != 0); }"],
        Options::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(names.0.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["p", "x", "y"]);
    let out = run(&code, &names, &[("p", at(1, 0))]).remove(0);
    assert_eq!(out.trace(), "R p; W x; W p; R p; W y; W x+4; W x+8; W x+8");
    assert_eq!((out.mem("x"), out.mem("y"), out.reg("c")), (1, 2, 2));
}

#[test]
fn refused_calls() {
    assert_eq!(
        refusal(&["P0(atomic_int* x) { int r = atomic_laod(x); }"]),
        "t.litmus:1:29: error: unknown function `atomic_laod`\n \
         1 | P0(atomic_int* x) { int r = atomic_laod(x); }\n   \
         |                             ^^^^^^^^^^^^^^\n  \
         help: did you mean `atomic_load`?"
    );
    for (body, message, help) in [
        (
            "atomic_load_explicit(x)",
            "`atomic_load_explicit` takes 1 argument and 1 memory order, found 1 in all",
            "",
        ),
        (
            "atomic_compare_exchange_weak_explicit(x, &l, 1, memory_order_seq_cst)",
            "takes 3 arguments and 2 memory orders, found 4 in all",
            "",
        ),
        (
            "atomic_load_explicit(x, memory_order_aquire)",
            "expected a memory order",
            "did you mean `memory_order_acquire`?",
        ),
        (
            "atomic_store_explicit(x, 1, memory_order_acquire)",
            "a store cannot have this order: its behaviour is undefined",
            "it can be relaxed, release or seq_cst",
        ),
        (
            "__atomic_compare_exchange_n(x, &l, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQ_REL)",
            "a compare-exchange that fails cannot have this order",
            "it can be relaxed, consume, acquire or seq_cst",
        ),
        (
            "READ_ONCE(*x)",
            "`READ_ONCE` is a primitive of the Linux kernel",
            "`--model linux-kernel.cat --bell linux-kernel.bell --macros linux-kernel.def`",
        ),
        (
            "__store{once}(*x, 1)",
            "annotated primitives mean something under a model with a bell file only",
            "`--conf linux-kernel.cfg`",
        ),
        ("atomic_load(l)", "this is no pointer", "declare it as one"),
        ("atomic_load(&l)", "on a local variable", "use a shared location"),
        ("x->next", "`atomic_int` has no members that are known here", "define a structure"),
        ("foo", "`foo` is not declared here", "shared locations are parameters"),
        ("y", "`y` is not declared here", "shared locations are parameters"),
        ("&l + 1", "the address of a local variable is used as a value", "locals are registers"),
        ("5 = 6", "this is no place in memory", "expected a variable"),
        ("atomic_store(x, atomic_store(x, 1))", "this has no value", ""),
    ] {
        let text = format!("P0(atomic_int* x) {{ int l; {body}; }}");
        let got = refusal(&[&text]);
        assert!(got.contains(message), "{body}: {got}");
        assert!(got.contains(help), "{body}: {got}");
    }
}
