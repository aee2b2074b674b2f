//! Tests of the models of SPIR-V, by the rules of the Vulkan specification's memory model and of OpenCL's.

use crate::{Model, Options, Simulator};
use litmake_base::diag::Source;
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{self as litmus, Arch};

/// The answer of a model about a test: whether the outcome that the test asks for is allowed, and whether it races.
fn ask(model: &str, rules: &str, scopes: &str, threads: &[&[&str]], asked: &str) -> (bool, bool) {
    let class = |name: &str| if name == "w" { "Workgroup" } else { "StorageBuffer" };
    let mut columns: Vec<Vec<String>> = Vec::new();
    for code in threads {
        let mut column: Vec<String> = vec![
            format!("OpMemoryModel Logical {rules}"),
            "%uint = OpTypeInt 32 0".into(),
            "%p = OpTypePointer StorageBuffer %uint".into(),
            "%q = OpTypePointer Workgroup %uint".into(),
            "%dv = OpConstant %uint 1".into(),
            "%wg = OpConstant %uint 2".into(),
            "%one = OpConstant %uint 1".into(),
            "%two = OpConstant %uint 2".into(),
            "%none = OpConstant %uint 0".into(),
            "%acq = OpConstant %uint 0x42".into(),
            "%rel = OpConstant %uint 0x44".into(),
            "%acqw = OpConstant %uint 0x102".into(),
            "%relw = OpConstant %uint 0x104".into(),
            "%ar = OpConstant %uint 0x48".into(),
            "%sc = OpConstant %uint 0x50".into(),
            "%bare = OpConstant %uint 0x10".into(),
            "%arav = OpConstant %uint 0x6048".into(),
        ];
        for name in ["x", "y", "w"] {
            let ty = if class(name) == "Workgroup" { "%q" } else { "%p" };
            column.push(format!("%{name} = OpVariable {ty} {}", class(name)));
        }
        column.extend(code.iter().map(ToString::to_string));
        columns.push(column);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |r: usize| {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(r).map_or("", String::as_str)).collect();
        format!(" {} ;\n", cells.join(" | "))
    };
    let heads: Vec<String> = (0..columns.len()).map(|t| format!("P{t}")).collect();
    let body: String = (0..rows).map(row).collect();
    let init = "uint32_t x=0; uint32_t y=0; uint32_t w=0;";
    let text = format!(
        "SPIRV t\n{{ {init} }}\n {} ;\n{body}{scopes}\nexists ({asked})\n",
        heads.join(" | ")
    );
    let test = litmus::read(&Source::new("t.litmus", text.clone()));
    let test = test.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let cat = cat::load(model, &LoadOptions::new(Arch::Spirv)).unwrap_or_else(|e| panic!("{e}"));
    let model = Model::load(&cat).unwrap_or_else(|e| panic!("{e}"));
    let found = Simulator::default().simulate(&test, &model, &Options::default());
    let found = found.unwrap_or_else(|e| panic!("{e}\n{text}"));
    (found.positive > 0, found.undefined)
}

/// The answer of the model for Vulkan about two threads of one workgroup.
fn together(threads: [&[&str]; 2], asked: &str) -> (bool, bool) {
    ask("spirv", "Vulkan", "scopes: (workgroup P0 P1)", &threads, asked)
}

/// The same about two threads each in a workgroup of its own.
fn apart(threads: [&[&str]; 2], asked: &str) -> (bool, bool) {
    ask("spirv", "Vulkan", "", &threads, asked)
}

const WEAK: &str = "1:r0=1 /\\ 1:r1=0";
const FORBIDDEN: (bool, bool) = (false, false);
const ALLOWED: (bool, bool) = (true, false);
const RACY: (bool, bool) = (true, true);

#[test]
fn release_and_acquire_order_what_is_available_and_visible() {
    let available = "OpStore %x %one MakePointerAvailable|NonPrivatePointer %dv";
    let visible = "%r1 = OpLoad %uint %x MakePointerVisible|NonPrivatePointer %dv";
    let release = "OpAtomicStore %y %dv %rel %one";
    let acquire = "%r0 = OpAtomicLoad %uint %y %dv %acq";
    // The reader looks only if the flag is set, so that nothing else races.
    let guarded = |look: &'static str| {
        [
            acquire,
            "%c = OpIEqual %b %r0 %one",
            "OpBranchConditional %c %yes %no",
            "%yes = OpLabel",
            look,
            "OpBranch %no",
            "%no = OpLabel",
        ]
    };
    let with_bool = |look| {
        let mut code = vec!["%b = OpTypeBool", "%top = OpLabel"];
        code.extend(guarded(look));
        code
    };
    let reader = with_bool(visible);
    assert_eq!(apart([&[available, release], &reader], WEAK), FORBIDDEN);
    // Private accesses take no part in what threads order between them.
    let private = with_bool("%r1 = OpLoad %uint %x");
    assert!(apart([&[available, release], &private], WEAK).1, "a private read races");
    assert!(apart([&["OpStore %x %one", release], &reader], WEAK).1, "so does a private write");
    // Nor is it enough to be ordered: the write has to be made available.
    assert!(apart([&["OpStore %x %one NonPrivatePointer", release], &reader], WEAK).1);
    // Neither does an order without the storage class of what is accessed help.
    let other = "OpAtomicStore %y %dv %relw %one";
    assert!(apart([&[available, other], &reader], WEAK).1);
}

#[test]
fn scopes_bound_what_synchronizes() {
    let writer = |scope: &str| {
        [
            format!("OpAtomicStore %x {scope} %none %one"),
            format!("OpAtomicStore %y {scope} %rel %one"),
        ]
    };
    let reader = |scope: &str| {
        [
            format!("%r0 = OpAtomicLoad %uint %y {scope} %acq"),
            format!("%r1 = OpAtomicLoad %uint %x {scope} %none"),
        ]
    };
    let ask = |w: &str, r: &str, near: bool| {
        let (w, r) = (writer(w), reader(r));
        let (w, r) = (w.each_ref().map(String::as_str), r.each_ref().map(String::as_str));
        if near { together([&w, &r], WEAK) } else { apart([&w, &r], WEAK) }
    };
    assert_eq!(ask("%dv", "%dv", false), FORBIDDEN);
    assert_eq!(ask("%wg", "%wg", true), FORBIDDEN);
    assert_eq!(ask("%wg", "%dv", true), FORBIDDEN, "both reach the workgroup");
    assert_eq!(ask("%wg", "%wg", false), RACY, "atomics that are not in each other's scope race");
    assert_eq!(ask("%dv", "%wg", false), RACY);
}

#[test]
fn fences_order_the_storage_classes_that_they_list() {
    let ask = |release: &str, acquire: &str| {
        let w = ["OpAtomicStore %x %dv %none %one", release, "OpAtomicStore %y %dv %none %one"];
        let r = [
            "%r0 = OpAtomicLoad %uint %y %dv %none",
            acquire,
            "%r1 = OpAtomicLoad %uint %x %dv %none",
        ];
        apart([&w, &r], WEAK)
    };
    assert_eq!(ask("OpMemoryBarrier %dv %rel", "OpMemoryBarrier %dv %acq"), FORBIDDEN);
    assert_eq!(ask("OpMemoryBarrier %dv %ar", "OpMemoryBarrier %dv %ar"), FORBIDDEN);
    assert_eq!(ask("OpMemoryBarrier %dv %relw", "OpMemoryBarrier %dv %acq"), ALLOWED);
    assert_eq!(ask("OpMemoryBarrier %dv %rel", "OpMemoryBarrier %dv %acqw"), ALLOWED);
    assert_eq!(ask("OpMemoryBarrier %dv %bare", "OpMemoryBarrier %dv %bare"), ALLOWED);
    assert_eq!(ask("OpMemoryBarrier %dv %acq", "OpMemoryBarrier %dv %rel"), ALLOWED);
}

#[test]
fn a_control_barrier_orders_what_is_before_it_in_one_thread_and_behind_it_in_the_other() {
    let store = "OpStore %x %one NonPrivatePointer";
    let load = "%r1 = OpLoad %uint %x NonPrivatePointer";
    let barrier = "OpControlBarrier %wg %wg %arav";
    assert_eq!(together([&[store, barrier], &[barrier, load]], "1:r1=0"), FORBIDDEN);
    // Barriers of workgroups say nothing to other workgroups.
    assert!(apart([&[store, barrier], &[barrier, load]], "1:r1=0").1);
    // Without semantics, threads meet and nothing is made available.
    let bare = "OpControlBarrier %wg %wg %none";
    assert!(together([&[store, bare], &[bare, load]], "1:r1=0").1);
    // Accesses before both barriers are ordered by neither; a later write comes after an earlier read.
    assert!(together([&[store, barrier], &[load, barrier]], "1:r1=0").1);
    assert_eq!(together([&[barrier, store], &[load, barrier]], "1:r1=1"), FORBIDDEN);
    // The second barrier of a thread meets the second one of the other.
    let twice = [barrier, load, barrier];
    assert_eq!(together([&[barrier, barrier, store], &twice], "1:r1=1"), FORBIDDEN);
}

#[test]
fn atomics_to_one_location_are_coherent_and_read_modify_writes_indivisible() {
    let rmw = "%r0 = OpAtomicIAdd %uint %x %dv %none %one";
    assert_eq!(apart([&[rmw], &[rmw]], "0:r0=0 /\\ 1:r0=0"), FORBIDDEN);
    assert_eq!(apart([&[rmw], &[rmw]], "0:r0=0 /\\ 1:r0=1 /\\ x=2"), ALLOWED);
    let reads = ["%r0 = OpAtomicLoad %uint %x %dv %none", "%r1 = OpAtomicLoad %uint %x %dv %none"];
    let write = ["OpAtomicStore %x %dv %none %one"];
    assert_eq!(apart([&write, &reads], WEAK), FORBIDDEN);
}

#[test]
fn a_release_sequence_goes_on_through_read_modify_writes() {
    let w = ["OpAtomicStore %x %dv %none %one", "OpAtomicStore %y %dv %rel %one"];
    let u = ["%r0 = OpAtomicIAdd %uint %y %dv %none %one"];
    let r = ["%r0 = OpAtomicLoad %uint %y %dv %acq", "%r1 = OpAtomicLoad %uint %x %dv %none"];
    let asked = "1:r0=1 /\\ 2:r0=2 /\\ 2:r1=0";
    let ask3 = |model: &str, rules: &str| ask(model, rules, "", &[&w, &u, &r], asked);
    assert_eq!(ask3("spirv", "Vulkan"), FORBIDDEN);
    // A later store of the same thread goes on with it in OpenCL, as in C11, and not in Vulkan.
    let w = [
        "OpAtomicStore %x %dv %none %one",
        "OpAtomicStore %y %dv %rel %one",
        "OpAtomicStore %y %dv %none %two",
    ];
    let ask2 = |model: &str, rules: &str| ask(model, rules, "", &[&w, &r], "1:r0=2 /\\ 1:r1=0");
    assert_eq!(ask2("spirv", "Vulkan"), ALLOWED);
    assert_eq!(ask2("spirv-opencl", "OpenCL"), FORBIDDEN);
}

#[test]
fn opencl_orders_sequentially_consistent_operations() {
    let thread = |to: &str, order: &str, from: &str| {
        [
            format!("OpAtomicStore %{to} %dv {order} %one"),
            format!("%r0 = OpAtomicLoad %uint %{from} %dv {order}"),
        ]
    };
    let ask = |order: &str, between: Option<&str>| {
        let threads = [thread("x", order, "y"), thread("y", order, "x")];
        let lines: Vec<Vec<&str>> = threads
            .iter()
            .map(|t| {
                t[..1].iter().map(String::as_str).chain(between).chain([t[1].as_str()]).collect()
            })
            .collect();
        let asked = "0:r0=0 /\\ 1:r0=0";
        super::spirv::ask("spirv-opencl", "OpenCL", "", &[&lines[0], &lines[1]], asked)
    };
    assert_eq!(ask("%sc", None), FORBIDDEN);
    assert_eq!(ask("%none", None), ALLOWED);
    assert_eq!(ask("%none", Some("OpMemoryBarrier %dv %sc")), FORBIDDEN);
    assert_eq!(ask("%none", Some("OpMemoryBarrier %dv %bare")), ALLOWED, "it names no memory");
}

#[test]
fn opencl_needs_no_availability() {
    let w = ["OpStore %x %one", "OpAtomicStore %y %dv %rel %one"];
    let r = [
        "%b = OpTypeBool",
        "%top = OpLabel",
        "%r0 = OpAtomicLoad %uint %y %dv %acq",
        "%c = OpIEqual %b %r0 %one",
        "OpBranchConditional %c %yes %no",
        "%yes = OpLabel",
        "%r1 = OpLoad %uint %x",
        "OpBranch %no",
        "%no = OpLabel",
    ];
    assert_eq!(ask("spirv-opencl", "OpenCL", "", &[&w, &r], WEAK), FORBIDDEN);
    // In place of an atomic store, a plain one: nothing orders it, and it races.
    let plain = ["OpStore %x %one", "OpStore %y %one"];
    assert_eq!(ask("spirv-opencl", "OpenCL", "", &[&plain, &r], WEAK), RACY);
}

#[test]
fn threads_have_variables_of_their_own_under_one_name() {
    let code: &[&str] = &[
        "%f = OpTypePointer Function %uint",
        "%v = OpVariable %f Function",
        "%a = OpLoad %uint %v",
        "%n = OpIAdd %uint %a %one",
        "OpStore %v %n",
        "%r0 = OpLoad %uint %v",
    ];
    assert_eq!(together([code, code], "0:r0=2 \\/ 1:r0=2"), FORBIDDEN);
    assert_eq!(together([code, code], "0:r0=1 /\\ 1:r0=1"), ALLOWED);
}
