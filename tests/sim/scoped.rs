//! Operations of C that name scopes, barriers, and the memory of workgroups. What is allowed and what races comes from
//! the definitions of inclusive scopes: Lustig, Sahasrabuddhe, Giroux (ASPLOS 2019, section 5) for `rc11`, the OpenCL
//! API Specification ("Memory Ordering Rules") for `opencl`.

use litmake::cat::{self, LoadOptions};
use litmake::diag::{Diag, Source};
use litmake::litmus;
use litmake::sim::{Engine, Model, Options, Outcomes, Simulator};

/// What a model allows, which is the same by every engine.
fn simulate(model: &str, text: &str) -> Result<Outcomes, Box<Diag>> {
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).unwrap();
    let model = Model::load(&cat::load(model, &LoadOptions::new(test.arch)).unwrap()).unwrap();
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        Simulator::default().simulate(&test, &model, &options)
    };
    let found = run(Engine::Auto)?;
    for engine in [Engine::Enumerate, Engine::Solve, Engine::Exhaustive] {
        let other = run(engine)?;
        assert_eq!(found.states, other.states, "{engine:?}\n{text}");
        assert_eq!(found.undefined, other.undefined, "{engine:?}\n{text}");
    }
    Ok(found)
}

/// Whether a test is undefined, and whether the outcome that it asks for is allowed.
fn answer(model: &str, text: &str) -> (bool, bool) {
    let found = simulate(model, text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (found.undefined, found.positive > 0)
}

/// Message passing of plain data, with the scopes of the flag's store and load.
fn message(store: &str, load: &str, tree: &str) -> String {
    format!(
        "C MP
{{}}
P0 (int* x, atomic_int* y) {{
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release, memory_scope_{store});
}}
P1 (int* x, atomic_int* y) {{
  int r0 = atomic_load_explicit(y, memory_order_acquire, memory_scope_{load});
  int r1 = 1;
  if (r0) {{ r1 = *x; }}
}}
scopes: (system {tree})
exists (1:r0=1 /\\ 1:r1=0)
"
    )
}

const TOGETHER: &str = "(device (workgroup P0 P1))";
const APART: &str = "(device (workgroup P0) (workgroup P1))";
const FAR: &str = "(device (workgroup P0)) (device (workgroup P1))";

#[test]
fn operations_race_unless_each_reaches_the_other() {
    let (wg, dv, all) = ("work_group", "device", "all_svm_devices");
    for (store, load, tree, rc11, opencl) in [
        (wg, wg, TOGETHER, true, true),
        (wg, wg, APART, false, false),
        (dv, dv, APART, true, true),
        (dv, dv, FAR, false, false),
        (all, all, FAR, true, true),
        // In both each reaches the other; OpenCL asks for the same scope, too.
        (wg, dv, TOGETHER, true, false),
        (dv, all, APART, true, false),
        // One does not reach the other.
        (wg, dv, APART, false, false),
        (dv, wg, APART, false, false),
        (all, dv, FAR, false, false),
        ("work_item", all, TOGETHER, false, false),
        ("sub_group", "sub_group", TOGETHER, false, false),
        ("sub_group", "sub_group", "(device (workgroup (subgroup P0 P1)))", true, true),
    ] {
        let text = message(store, load, tree);
        for (model, ordered) in [("rc11", rc11), ("rc11-lb", rc11), ("opencl", opencl)] {
            // Ordered: no race, and the message arrives.
            let (undefined, stale) = answer(model, &text);
            assert_eq!(undefined, !ordered, "{model}\n{text}");
            assert!(!(ordered && stale), "{model}\n{text}");
        }
    }
}

#[test]
fn an_operation_without_a_scope_reaches_all_threads() {
    let unscoped = message("all_svm_devices", "all_svm_devices", FAR)
        .replace(", memory_scope_all_svm_devices", "");
    for model in ["rc11", "opencl"] {
        assert_eq!(answer(model, &unscoped), (false, false), "{model}");
    }
    // The words of OpenCL C reach the device.
    let opencl = unscoped.replace("C MP", "OPENCL MP");
    assert!(answer("opencl", &opencl).0);
    let near = opencl.replace(FAR, APART);
    assert_eq!(answer("opencl", &near), (false, false));
}

#[test]
fn sequentially_consistent_operations_are_ordered_within_their_scopes() {
    let test = |scope: &str, tree: &str| {
        let call = |name: &str, args: &str| {
            format!("atomic_{name}_explicit({args}, memory_order_seq_cst, memory_scope_{scope})")
        };
        format!(
            "C SB
{{}}
P0 (atomic_int* x, atomic_int* y) {{
  {};
  int r0 = {};
}}
P1 (atomic_int* x, atomic_int* y) {{
  {};
  int r1 = {};
}}
scopes: (system {tree})
exists (0:r0=0 /\\ 1:r1=0)
",
            call("store", "x, 1"),
            call("load", "y"),
            call("store", "y, 1"),
            call("load", "x"),
        )
    };
    for model in ["rc11", "opencl"] {
        assert_eq!(answer(model, &test("device", APART)), (false, false), "{model}");
        assert_eq!(answer(model, &test("work_group", TOGETHER)), (false, false), "{model}");
        assert_eq!(answer(model, &test("work_group", APART)), (true, true), "{model}");
    }
}

#[test]
fn fences_have_scopes_and_memories() {
    let test = |flags: &str, scope: &str, local: &str| {
        let fence = |order: &str| {
            format!("atomic_work_item_fence({flags}, memory_order_{order}, memory_scope_{scope})")
        };
        format!(
            "C MP
{{}}
P0 ({local}int* x, atomic_int* y) {{
  *x = 1;
  {};
  atomic_store_explicit(y, 1, memory_order_relaxed, memory_scope_device);
}}
P1 ({local}int* x, atomic_int* y) {{
  int r0 = atomic_load_explicit(y, memory_order_relaxed, memory_scope_device);
  {};
  int r1 = 1;
  if (r0) {{ r1 = *x; }}
}}
scopes: (system (device (workgroup P0 P1)))
exists (1:r0=1 /\\ 1:r1=0)
",
            fence("release"),
            fence("acquire"),
        )
    };
    let (global, local) = ("CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE");
    let both = &format!("{global} | {local}");
    for (flags, scope, space, ordered) in [
        (global, "work_group", "", true),
        (both, "device", "", true),
        (local, "device", "", false),
        (global, "work_item", "", false),
        // The data is in a workgroup's memory, the flag in the device's: the fences have to be of both.
        (both, "device", "local ", true),
        (global, "device", "local ", false),
        (local, "device", "local ", false),
    ] {
        let text = test(flags, scope, space);
        let undefined = |model: &str| answer(model, &text).0;
        assert_eq!(undefined("opencl"), !ordered, "{text}");
        if space.is_empty() {
            assert_eq!(undefined("rc11"), !ordered, "{text}");
        }
    }
}

#[test]
fn threads_of_a_workgroup_meet_at_barriers() {
    let test = |tree: &str| {
        format!(
            "C MP
{{}}
P0 (int* x) {{
  *x = 1;
  barrier(CLK_GLOBAL_MEM_FENCE);
}}
P1 (int* x) {{
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  int r0 = *x;
}}
scopes: (system {tree})
exists (1:r0=0)
"
        )
    };
    for model in ["rc11", "opencl"] {
        assert_eq!(answer(model, &test(TOGETHER)), (false, false), "{model}");
        assert!(answer(model, &test(APART)).0, "{model}");
    }
    let wider = test(TOGETHER).replace("work_group_barrier", "barrier");
    let subgroup = wider.replace("barrier", "sub_group_barrier");
    assert!(answer("opencl", &subgroup).0 && answer("rc11", &subgroup).0);
}

#[test]
fn other_languages_words_are_the_same_operations() {
    let body = |load: &str, store: &str, fence: &str| {
        format!(
            "C t\n{{}}\nP0 (int* x) {{\n  {fence};\n  int r0 = {load};\n  {store};\n}}\nexists (x=1)\n"
        )
    };
    let printed = |text: &str| litmus::write(&litmus::read(&Source::new("t", text)).unwrap());
    let opencl = printed(&body(
        "atomic_load_explicit(x, memory_order_acquire, memory_scope_work_group)",
        "atomic_store_explicit(x, 1, memory_order_relaxed, memory_scope_device)",
        "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_order_seq_cst, memory_scope_all_svm_devices)",
    ));
    let clang = printed(&body(
        "__scoped_atomic_load_n(x, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_WRKGRP)",
        "__scoped_atomic_store_n(x, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)",
        "__scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM)",
    ));
    assert_eq!(clang, opencl);
    let hip = printed(&body(
        "__hip_atomic_load(x, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)",
        "__hip_atomic_store(x, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
        "__scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM)",
    ));
    assert_eq!(hip, opencl);
    assert_eq!(printed(&opencl), opencl);
}

#[test]
fn heads_of_opencl_say_where_threads_lie() {
    let text = "OPENCL t
{ [x] = 0; }
P0@wg 0, dev 0 (global atomic_int* x) { atomic_store(x, 1); }
P1@wg 0, dev 0 (global atomic_int* x) { atomic_store_explicit(x, 2, memory_order_relaxed); }
P2@wg 1, dev 0 (global atomic_int* x) {}
exists (x=1)
";
    let test = litmus::read(&Source::new("t", text)).unwrap();
    let printed = litmus::write(&test);
    for part in [
        "C t\n",
        "scopes: (system (workgroup P0 P1) (workgroup P2))",
        "(x, 1, memory_order_seq_cst, memory_scope_device)",
        "(x, 2, memory_order_relaxed, memory_scope_device)",
    ] {
        assert!(printed.contains(part), "{part}\n{printed}");
    }
    for (wrong, why) in [
        (text.replace("P1@wg 0, dev 0", "P1"), "does not say in which workgroup"),
        (text.replace("wg 1, dev", "wg 1, device"), "expected `dev`"),
        (text.replace("wg 1,", "wg 100000,"), "a number of 16 bits"),
    ] {
        let e = litmus::read(&Source::new("t", wrong)).expect_err(why).to_string();
        assert!(e.contains(why), "{why}: {e}");
    }
}

#[test]
fn models_that_do_not_know_what_a_test_says_refuse_it() {
    let scoped = message("device", "device", APART);
    let local = scoped.replace("int* x", "local int* x");
    for (model, text, what) in [
        ("c11", &scoped, "does not know scopes of operations"),
        ("rc11", &local, "does not know the memory of a workgroup"),
    ] {
        let e = simulate(model, text).expect_err(what).to_string();
        assert!(e.contains(what), "{e}");
    }
    assert!(simulate("opencl", &local).is_ok());
}
