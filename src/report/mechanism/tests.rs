//! Mechanisms of recorded and of small executions.

use super::*;
use crate::evidence::{Edge, Event, Evidence, Execution, Failed};
use litmake_litmus::scopes::Level;

/// An execution from lines `THREAD ID CODE | EVENT`, with communication and one failed cycle.
fn run(lines: &str, rf: &[(&str, &str)], cycle: &str) -> Execution {
    let events = lines.lines().map(|line| {
        let (head, event) = line.split_once(" | ").unwrap();
        let words: Vec<&str> = head.split(' ').collect();
        Event {
            id: words[1].into(),
            thread: words[0].parse().ok(),
            line: 1,
            code: words[2..].join(" "),
            event: event.into(),
        }
    });
    let ids: Vec<&str> = cycle.split(' ').filter(|w| !w.is_empty()).collect();
    let edge = |n: usize| Edge {
        from: ids[n].into(),
        edge: String::new(),
        to: ids[(n + 1) % ids.len()].into(),
    };
    let fails = vec![Failed {
        is_cycle: true,
        edges: (0..ids.len()).map(edge).collect(),
        ..Failed::default()
    }];
    Execution {
        events: events.collect(),
        rf: rf.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        fails: if ids.is_empty() { Vec::new() } else { fails },
        ..Execution::default()
    }
}

fn only(source: Execution, code: &str) -> Mechanism {
    let target = Some(run(code, &[], ""));
    let evidence = Evidence { source: Some(source), target, ..Evidence::default() };
    let mut all = told(&evidence, &Objects::default());
    assert_eq!(all.len(), 1, "{all:#?}");
    Mechanism { target: "AArch64".into(), ..all.remove(0).1 }
}

/// A plain load before a release store, as a source with names and values of its own.
fn pair(field: &str, value: &str) -> Mechanism {
    let source = run(
        &format!(
            "0 b r0 | R(NA)[{field}]={value}\n0 c s | W(REL,A)[f]=1\n0 d r1 | R(NA)[z]=0\n\
             1 e l | R(ACQ,A)[f]=1\n1 f s | W(NA)[{field}]={value}"
        ),
        &[("c", "e"), ("f", "b")],
        "b c e f",
    );
    let code = format!(
        "0 b STLR | W(L)[f]=1\n0 c LDP | R[{field}]={value}\n0 d LDP | R[z]=0\n\
         1 e LDAR | R(A)[f]=1\n1 f CBZ | B\n1 g STR | W[{field}]={value}"
    );
    only(source, &code)
}

#[test]
fn an_access_that_moves_below_a_release_says_so() {
    let one = pair("x", "1");
    assert_eq!(one.said("clang"), "AArch64: a plain load moves below a release store");
    assert_eq!(one.key(), pair("s+4", "7").key());
    // A store across an update is the same fault.
    let source = run(
        "0 c s | W(NA)[x]=2\n0 d u | RW(REL,A)[f]=0->1\n0 e s | W(NA)[y]=0\n\
         1 f l | R(ACQ,A)[f]=1\n1 g l | R(NA)[x]=0",
        &[("d", "f")],
        "c d f g",
    );
    let code = "0 c LDADDL | R(X)[f]=0\n0 d LDADDL | W(X,L)[f]=1\n0 e STP | W[x]=2\n\
                0 f STP | W[y]=0\n1 g LDAR | R(A)[f]=1\n1 i LDR | R[x]=0";
    let other = only(source, code);
    let said = "AArch64: a plain store moves below a release read-modify-write";
    assert_eq!(other.said("clang"), said);
    assert_eq!(one.key(), other.key());
    let arm = Mechanism { target: "ARM".into(), ..other };
    assert_ne!(one.key(), arm.key());
    let shown = Mechanism { pass: "aarch64-ldst-opt".into(), ..one.clone() };
    assert_ne!(one.key(), shown.key());
    assert!(shown.said("clang").ends_with("a release store (aarch64-ldst-opt)"));
}

/// Message passing by fences: the second thread is an update, a fence and a load.
fn fenced(update: &str, code: &str) -> Mechanism {
    let source = run(
        &format!(
            "0 b s | W(RLX,A)[x]=1\n0 c f | F(REL)\n0 d s | W(RLX,A)[y]=1\n{update}\n\
             1 f f | F(ACQ)\n1 g l | R(RLX,A)[x]=0"
        ),
        &[("d", "e")],
        "b c f g",
    );
    let first = "0 b STR | W[x]=1\n0 c DMB | F(DMB.ISH)\n0 d STR | W[y]=1\n";
    let evidence = Evidence {
        source: Some(source),
        target: Some(run(&format!("{first}{code}"), &[], "")),
        ..Evidence::default()
    };
    let mut all = told(&evidence, &Objects::default());
    all.retain(|(thread, _)| *thread == Some(1));
    Mechanism { target: "AArch64".into(), ..all.remove(0).1 }
}

#[test]
fn an_update_that_loses_a_half_says_which() {
    let update = "1 e u | RW(RLX,A)[y]=1->2";
    let load = "1 g LDR | R[x]=0";
    let store = fenced(update, &format!("1 e STR | W[y]=2\n{load}"));
    assert_eq!(store.said(""), "AArch64: a relaxed read-modify-write becomes a store");
    let idle = fenced("1 e u | RW(RLX,A)[y]=1->1", &format!("1 e LDR | R[y]=1\n{load}"));
    assert_eq!(idle.said(""), "AArch64: a relaxed read-modify-write becomes a load");
    let whole = format!("1 e SWP | R(X)[y]=1\n1 h SWP | W(X)[y]=2\n{load}");
    let whole = fenced(update, &whole);
    assert_eq!(
        whole.said(""),
        "AArch64: an acquire fence does not order an earlier relaxed read-modify-write"
    );
    assert!(!store.is_alike(&idle) && !store.is_alike(&whole) && !idle.is_alike(&whole));
}

#[test]
fn a_device_that_reads_backwards_is_incoherent() {
    // A larger test, in which other accesses are in order, shows the same.
    let small = run(
        "0 a s | W(RLX,A)[x]=1\n1 b l | R(RLX,A)[x]=1\n1 c l | R(RLX,A)[x]=0",
        &[("a", "b")],
        "b c a",
    );
    let large = run(
        "0 a s | W(RLX,A)[x]=1\n0 b s | W(RLX,A)[x]=2\n0 c l | R(RLX,A)[x]=2\n\
         0 d l | R(RLX,A)[x]=1",
        &[("b", "c"), ("a", "d")],
        "c d b",
    );
    let one = seen(&small).unwrap();
    assert_eq!(one.said("GPU"), "GPU: two relaxed loads of one location come in the wrong order");
    assert_eq!(one.key(), seen(&large).unwrap().key());
    // Message passing is another bug: its fence does not order.
    let passing = run(
        "0 a s | W(RLX,A)[x]=1\n0 b f | F(REL)\n0 c s | W(RLX,A)[y]=1\n\
         1 d l | R(RLX,A)[y]=1\n1 e f | F(ACQ)\n1 f l | R(RLX,A)[x]=0",
        &[("c", "d")],
        "a c d f",
    );
    let other = seen(&passing).unwrap();
    assert!(matches!(other.change, Change::Earlier | Change::Later), "{other:?}");
    assert_ne!(one.key(), other.key());
}

#[test]
fn an_order_that_is_lost_in_place_is_that_of_an_operation() {
    let source = run(
        "0 b s | W(RLX,A)[x]=1\n0 c s | W(REL,A)[y]=1\n\
         1 d atomic_compare_exchange_strong_explicit(y) | R(ACQ,A)[y]=1\n\
         1 e l | R(RLX,A)[x]=0",
        &[("c", "d")],
        "b c d e",
    );
    let code = "0 b stw | W[x]=1\n0 c lwsync | F(LWSYNC)\n0 d stw | W[y]=1\n\
                1 f lwarx | R(EX)[y]=1\n1 h lwz | R[x]=0";
    let target = Some(run(code, &[], ""));
    let evidence = Evidence { source: Some(source), target, ..Evidence::default() };
    let said: Vec<String> =
        told(&evidence, &Objects::default()).iter().map(|(_, m)| m.said("gcc")).collect();
    assert_eq!(
        said,
        [
            "gcc: a failing acquire compare-exchange does not order a later relaxed load",
            "gcc: a release store does not order an earlier relaxed store",
        ]
    );
}

/// Message passing by an update that acquires and releases, which is one of the two threads' side.
fn updated(thread: u16, code: &str, narrow: &[Level]) -> Mechanism {
    let (source, rf, cycle) = match thread {
        0 => (
            "0 b s | W(RLX,A)[x]=1\n0 c u | RW(ACQ_REL,A)[y]=0->1\n\
             1 d l | R(ACQ,A)[y]=1\n1 e l | R(RLX,A)[x]=0",
            ("c", "d"),
            "b c d e",
        ),
        _ => (
            "0 b s | W(RLX,A)[x]=1\n0 c s | W(REL,A)[y]=1\n\
             1 d u | RW(ACQ_REL,A)[y]=1->2\n1 e l | R(RLX,A)[x]=0",
            ("c", "d"),
            "b c d e",
        ),
    };
    let target = Some(run(code, &[], ""));
    let evidence =
        Evidence { source: Some(run(source, &[rf], cycle)), target, ..Evidence::default() };
    let objects = Objects { narrow: narrow.to_vec(), ..Objects::default() };
    let mut all = told(&evidence, &objects);
    all.retain(|(t, _)| *t == Some(thread));
    all.remove(0).1
}

/// A test shows one side of an update that lost its order, and another test the other.
#[test]
fn an_update_that_lost_its_order_is_one_bug_on_both_sides() {
    let earlier =
        "0 b st | W[x]=1\n0 c amo | R[y]=0\n0 d amo | W[y]=1\n1 e l | R[y]=1\n1 f l | R[x]=0";
    let later =
        "0 b st | W[x]=1\n0 c st | W[y]=1\n1 d amo | R[y]=1\n1 e amo | W[y]=2\n1 f l | R[x]=0";
    let (earlier, later) = (updated(0, earlier, &[]), updated(1, later, &[]));
    assert_eq!((earlier.change, later.change), (Change::Earlier, Change::Later));
    assert_eq!(earlier.key(), later.key());
    assert!(later.said("gcc").contains("does not order a later relaxed load"));
}

/// A target makes one barrier of every operation that releases.
#[test]
fn a_barrier_that_does_not_suffice_is_one_bug_whatever_it_is_for() {
    let code = |update: &str| {
        format!("0 b st | W[x]=1\n0 c wb | F(WB)\n{update}1 e l | R[y]=1\n1 f l | R[x]=0")
    };
    let update = updated(0, &code("0 d amo | R[y]=0\n0 e amo | W[y]=1\n"), &[]);
    assert!(update.fenced && update.change == Change::Earlier, "{update:?}");
    let of = |crossed: &str| Mechanism { crossed: crossed.into(), ..update.clone() }.key();
    assert_eq!(update.key(), of("release store"));
    assert_eq!(update.key(), of("release fence"));
    let without = Mechanism { fenced: false, ..update.clone() };
    assert_ne!(update.key(), without.key());
}

/// In place, but among too few threads, or plain: that is the fault, and not an order.
#[test]
fn an_access_of_a_narrow_scope_and_a_plain_one_say_so() {
    let code = |update: &str, store: &str| {
        format!(
            "0 b st | W({store},NONPRIV)[x]=1\n0 c u | R({update},NONPRIV)[y]=0\n\
             0 d u | W({update},NONPRIV)[y]=1\n1 e l | R(ACQ,A,DV,NONPRIV)[y]=1\n\
             1 f l | R(RLX,A,DV,NONPRIV)[x]=0"
        )
    };
    let (atomic, narrow) = ("RLX,A,DV", [Level::Subgroup, Level::Workgroup]);
    let of = |update: &str, store: &str, narrow: &[Level]| {
        updated(0, &code(update, store), narrow).said("LLVM")
    };
    let ordered = "ACQ_REL,A,WG";
    let scope = "LLVM: an acquire-release read-modify-write has too narrow a scope";
    assert_eq!(of(ordered, atomic, &narrow), scope);
    // All threads share the workgroup, or the order is lost as well.
    let order =
        "LLVM: an acquire-release read-modify-write does not order an earlier relaxed store";
    assert_eq!(of(ordered, atomic, &[]), order);
    assert_eq!(of("RLX,A,WG", atomic, &narrow), order);
    assert_eq!(of(ordered, "DV", &narrow), "LLVM: a relaxed store becomes a plain one");
    // Two updates that both read the value before them: no order is lost, only their wholeness.
    let source = run("0 b u | RW(RLX,A)[y]=0->1\n1 c u | RW(SC,A)[y]=0->2", &[], "b c");
    let code = "0 b u | R(X,RLX,WG)[y]=0\n0 c u | W(X,RLX,WG)[y]=1\n\
                1 d u | R(X,RLX,WG)[y]=0\n1 e u | W(X,RLX,WG)[y]=2";
    let evidence =
        Evidence { source: Some(source), target: Some(run(code, &[], "")), ..Evidence::default() };
    let objects = Objects { narrow: narrow.to_vec(), ..Objects::default() };
    let told = told(&evidence, &objects);
    let said =
        told.iter().map(|(_, m)| Mechanism { target: "PTX".into(), ..m.clone() }.said("clang"));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "PTX: a seq_cst read-modify-write has too narrow a scope",
            "PTX: a relaxed read-modify-write has too narrow a scope"
        ]
    );
}

/// A load before a release fence, in code that has the fence before or behind the load.
#[test]
fn an_access_that_leaves_its_side_of_a_fence_moves_across_it() {
    let source = |field: &str| {
        let events = format!(
            "0 b l | R(RLX,A)[x]=1\n0 c l | R(NA)[{field}]=1\n0 d f | F(REL)\n0 e s | W(RLX,A)[z]=1\n\
             1 f l | R(ACQ,A)[z]=1\n1 g s | W(NA)[{field}]=1"
        );
        run(&events, &[("e", "f"), ("g", "c")], "c d f g")
    };
    let code = |before: &str, behind: &str| {
        format!(
            "0 a lw | R[x]=1\n{before}0 b fence | F(Fence.rw.w)\n{behind}0 d sw | W[z]=1\n\
             1 e lw | R[z]=1\n1 f fence | F(Fence.r.rw)\n1 h sw | W[y]=1"
        )
    };
    let load = "0 c lw | R[y]=1\n";
    let moved = only(source("y"), &code("", load));
    assert_eq!(moved.said(""), "AArch64: a plain load moves below a release fence");
    let in_place = {
        let target = Some(run(&code(load, ""), &[], ""));
        let evidence = Evidence { source: Some(source("y")), target, ..Evidence::default() };
        told(&evidence, &Objects::default())
    };
    assert!(in_place.iter().all(|(_, m)| m.change != Change::Below), "{in_place:#?}");
}

#[test]
fn a_store_that_is_made_of_two_says_so_whatever_its_order() {
    let objects = Objects { scalars: ["z".to_string()].into(), ..Objects::default() };
    let code = |value: &str, load: &str| Evidence {
        target: Some({
            let events = format!(
                "0 b movl | W[z]={value}\n0 c movss | W[z+4]=1065353216\n{load}| R[z]={value}\n{load}| R[z+4]=0"
            );
            let mut code = run(&events, &[("b", "d"), ("a", "e")], "");
            let initial = Event { id: "a".into(), event: "W[z+4]=0".into(), ..Event::default() };
            code.events.insert(0, initial);
            for (n, event) in code.events.iter_mut().enumerate() {
                event.line = n.min(3);
            }
            code.events[4].id = "e".into();
            code
        }),
        ..Evidence::default()
    };
    let one = told(&code("1", "1 d movq "), &objects);
    assert_eq!(one[0].1.said("clang"), "clang: an atomic store becomes several smaller ones");
    assert_eq!(one[0].1.key(), told(&code("7", "1 d mov "), &objects)[0].1.key());
    // Members of a structure are objects of their own.
    let members = told(&code("1", "1 d movq "), &Objects::default());
    assert_eq!(members[0].1.change, Change::Value);
}

#[test]
fn a_wrong_value_is_that_of_the_special_access() {
    let of = |special: &str| {
        let objects = Objects { special: special.into(), ..Objects::default() };
        let evidence = Evidence { target: Some(Execution::default()), ..Evidence::default() };
        told(&evidence, &objects).remove(0).1
    };
    let (wide, narrow) = (of("128-bit access"), of("8- or 16-bit access"));
    assert_eq!(wide.said("gcc"), "gcc: a 128-bit access has a wrong value");
    assert!(narrow.said("gcc").contains(": an 8- or 16-bit access has"), "{narrow:?}");
    assert_ne!(wide.key(), narrow.key());
    // A smaller test may lack the special access.
    assert!(wide.is_alike(&narrow));
}

/// Store buffering in which everything is seq_cst.
fn buffered(first: &str, last: &str, wide: &[&str]) -> Mechanism {
    let source = run(
        &format!("0 c {first}\n0 d {last}\n1 e s | W(SC,A)[y]=1\n1 f l | R(SC,A)[x]=0"),
        &[],
        "c d e f",
    );
    let target = run(
        "0 a a | R[x]=0\n0 d a | W[x]=1\n0 f b | R[y]=0\n1 j c | W[y]=1\n1 k d | R[x]=0",
        &[],
        "",
    );
    let evidence = Evidence { source: Some(source), target: Some(target), ..Evidence::default() };
    let wide = wide.iter().map(|w| w.to_string()).collect();
    let objects = Objects { wide, ..Objects::default() };
    let mut all = told(&evidence, &objects);
    all.retain(|(thread, _)| *thread == Some(0));
    Mechanism { target: "PPC".into(), ..all.remove(0).1 }
}

#[test]
fn of_two_seq_cst_accesses_the_special_one_is_named() {
    let (store, load) = ("s | W(SC,A)[x]=1", "l | R(SC,A)[y]=0");
    let failing = "atomic_compare_exchange(y) | R(SC,A)[y]=0";
    let said = |m: Mechanism| m.said("");
    let plain = buffered(store, load, &[]);
    let odd = buffered(store, failing, &[]);
    let wide = buffered(store, load, &["y"]);
    assert_ne!(plain.key(), odd.key());
    assert_ne!(plain.key(), wide.key());
    let update = buffered("u | RW(SC,A)[x]=0->1", load, &["x", "y"]);
    assert_eq!(wide.key(), update.key());
    assert_eq!(said(plain), "PPC: a seq_cst store does not order a later seq_cst load");
    assert_eq!(
        said(odd),
        "PPC: a failing seq_cst compare-exchange does not order an earlier seq_cst store"
    );
    assert_eq!(said(wide), "PPC: a seq_cst 128-bit load does not order an earlier seq_cst store");
}

#[test]
fn a_pass_behind_the_selector_is_one_for_all_selectors() {
    let of = |target: &str, pass: &str, is_of_target: bool| {
        let mut m = Mechanism { target: target.into(), ..pair("x", "1") };
        m.shown(pass, is_of_target);
        m.key()
    };
    assert_eq!(of("AArch64 (GlobalISel)", "ldst-opt", true), of("AArch64", "ldst-opt", true));
    assert_ne!(of("AArch64", "ldst-opt", true), of("ARM", "ldst-opt", true));
    assert_eq!(of("AArch64", "LICMPass", false), of("ARM", "LICMPass", false));
}

/// Data that is handed over and back, in code that keeps the first value.
#[test]
fn an_access_that_the_code_lacks_is_removed() {
    let source = |value: &str| {
        run(
            &format!(
                "0 a s | W(NA)[d]=1\n0 b s | W(REL,A)[f]=1\n0 c l | R(ACQ,A)[g]=1\n\
                 0 d l | R(NA)[d]=1\n1 e l | R(ACQ,A)[f]=1\n1 f s | W(NA)[d]={value}\n\
                 1 g s | W(REL,A)[g]=1"
            ),
            &[("b", "e"), ("g", "c"), ("a", "d")],
            "f g c d",
        )
    };
    let other = "1 e l | R(A)[f]=1\n1 f s | W[d]=2\n1 g s | W(L)[g]=1";
    let code = format!("0 a s | W[d]=1\n0 b s | W(L)[f]=1\n0 c l | R(A)[g]=1\n{other}");
    let kept = only(source("2"), &code);
    assert_eq!(kept.said("clang"), "AArch64: a plain load behind an acquire load is removed");
    // The same behind an operation that acquires where it fails is another pass's fault.
    let failing = |op: Event| match op.id == "c" {
        true => Event { code: "r = atomic_compare_exchange_strong(g, e, 2);".into(), ..op },
        false => op,
    };
    let mut failed = source("2");
    failed.events = failed.events.into_iter().map(failing).collect();
    let failed = only(failed, &code);
    let said = "AArch64: a plain load behind a failing acquire compare-exchange is removed";
    assert_eq!(failed.said("clang"), said);
    assert_ne!(failed.key(), kept.key());
    // Neither thread has an access to the data left.
    let none = "0 b s | W(L)[f]=1\n0 c l | R(A)[g]=1\n1 e l | R(A)[f]=1\n1 g s | W(L)[g]=1";
    let target = Some(run(none, &[], ""));
    let evidence = Evidence { source: Some(source("2")), target, ..Evidence::default() };
    let all = told(&evidence, &Objects::default());
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|(_, m)| m.change == Change::Removed), "{all:#?}");
}

/// Two threads hand a plain location over and back. The code keeps it to itself; `way` is the cycle of the
/// source.
fn handed(way: &str, order: &str) -> Execution {
    let lines = "0 b s | W(NA)[x]=1\n0 c s | W(REL,A)[f]=1\n0 d l | R(ACQ,A)[f]=2\n0 e l | R(NA)[x]=1\n\
                 1 g l | R(ACQ,A)[f]=1\n1 h s | W(NA)[x]=2\n1 i s | W(REL,A)[f]=2";
    let co = order.split_once(' ').map(|(a, b)| (a.to_string(), b.to_string()));
    Execution { co: co.into_iter().collect(), ..run(lines, &[("c", "g"), ("i", "d")], way) }
}

const KEPT: &str = "0 b STLR | W(L)[f]=1\n0 c LDAR | R(A)[f]=2\n\
                    1 d LDAR | R(A)[f]=1\n1 e STLR | W(L)[f]=2";

#[test]
fn of_the_checks_that_fail_one_tells_by_what_the_code_lost() {
    // The order of the accesses that are all there comes first.
    let (in_place, lost) = (handed("g i", "c i"), handed("h i d e", "c i"));
    let source = Execution { fails: [in_place.fails, lost.fails.clone()].concat(), ..lost };
    let evidence =
        Evidence { source: Some(source), target: Some(run(KEPT, &[], "")), ..Evidence::default() };
    let all = told(&evidence, &Objects::default());
    assert!(all.iter().all(|(_, m)| m.change == Change::Removed), "{all:#?}");
    assert!(all.iter().any(|(_, m)| m.moved == "plain load"), "{all:#?}");
}

#[test]
fn the_nearest_execution_has_what_the_code_has_in_its_order() {
    let code = Execution { co: vec![("b".into(), "e".into())], ..run(KEPT, &[], "") };
    let (near, turned) = (handed("", "c i"), handed("", "i c"));
    // One more turn of a loop, which the code does not take.
    let mut longer = near.clone();
    let turn = Event { id: "t".into(), event: "R(ACQ,A)[f]=0".into(), ..near.events[2].clone() };
    longer.events.insert(2, turn);
    assert!(distance(&near, &code) < distance(&turned, &code));
    assert!(distance(&turned, &code) < distance(&longer, &code));
}
