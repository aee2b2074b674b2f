//! Runs on the device that is here, if there is one: what no model allows must not show.

use std::time::Duration;

use super::device::Device;
use super::environment::{Environment, Preset, Scheme};
use super::oracle::{Models, Oracle};
use super::program::Program;
use super::run::{Buffers, Loaded, Measured, Request};
use super::session::{Ending, Prepared, Session, Setup};
use super::variant::{Code, MemoryModel, Scope, Variant};
use super::wgsl::{Memory, Reach, Shape};
use litmake_base::diag::Source;
use litmake_base::failure::{FailureKind, Fault};
use litmake_devices::record::Cell;
use litmake_litmus::{self as litmus, Test};
use litmake_mutate::mcm;
use litmake_needs::need;

const MISSING: FailureKind = FailureKind::Broken(Fault::Missing);
const LOST: FailureKind = FailureKind::Broken(Fault::Lost);

fn device() -> Option<Device> {
    match Device::open(None) {
        Err(failure) if failure.kind == MISSING => need("a Vulkan device", Err(failure.text())),
        opened => Some(opened.unwrap()),
    }
}

/// Whether the device can run what a variant makes of tests.
fn takes(device: &Device, variant: Variant, scope: Scope) -> bool {
    let name = format!("a Vulkan device for the variant `{}`", variant.name());
    need(&name, device.takes(variant, scope).map_err(|f| f.text())).is_some()
}

fn environment() -> Environment {
    Environment {
        testing_workgroups: 4,
        max_workgroups: 8,
        shuffle_pct: 100,
        mem_stress_pct: 50,
        pre_stress_pct: 50,
        scratch_memory_size: 1024,
        mem_stride: 3,
        stress_line_size: 16,
        stress_target_lines: 2,
        mem_stress_iterations: 16,
        pre_stress_iterations: 8,
        ..Environment::default()
    }
}

fn request(env: Environment, iterations: u32) -> Request {
    Request { env, iterations, time: None, batch: 0, seed: "test".into(), spin_anywhere: false }
}

fn run(
    device: &Device,
    models: &mut Models,
    test: &Test,
    shape: impl Fn(&Program) -> Shape,
    variant: Variant,
    request: &Request,
) -> (Measured, Oracle) {
    let program = Program::new(test).unwrap();
    let oracle = Oracle::new(test, &program, models).unwrap();
    let shape = shape(&program);
    let loaded = Loaded::new(device, program, oracle, shape, variant).unwrap();
    let measured = loaded.measure(device, &mut Buffers::default(), request).unwrap();
    let of = |i: usize| format!("{} of {}", measured.outcomes[i], loaded.oracle.text(i));
    let violations = measured.violations(&loaded.oracle);
    let shown: Vec<String> =
        (0..loaded.oracle.classes.len()).filter(|i| measured.outcomes[*i] > 0).map(of).collect();
    assert_eq!(violations, 0, "{} ({shape:?}): {shown:?}", test.name);
    assert_eq!(measured.total(), measured.instances, "{}", test.name);
    assert_eq!(measured.iterations, request.iterations);
    (measured, loaded.oracle)
}

const UNCHECKED: Variant = Variant { bounds: false, code: Code::Naga { loops: false } };
const VULKAN: Variant = Variant { bounds: false, code: Code::Words(MemoryModel::Vulkan) };

#[test]
fn all_tests_of_the_paper_show_what_is_allowed() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let tests = mcm::conformance().unwrap().into_iter().chain(mcm::mutants().unwrap());
    for m in tests.chain(mcm::scope_mutants().unwrap()) {
        let shape = |p: &Program| Shape::new(Scheme::Parallel, p);
        let (measured, oracle) =
            run(&device, &mut models, &m.test, shape, UNCHECKED, &request(environment(), 6));
        assert_eq!(measured.instances, 4 * 256 * 6);
        let counts = measured.counts(&oracle, m.mutates.is_some());
        assert_eq!(counts.instances(), measured.instances);
        assert!(counts.seq > 0, "{}", m.test.name);
    }
}

#[test]
fn words_of_our_own_show_what_is_allowed() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let tests = mcm::conformance().unwrap().into_iter().chain(mcm::mutants().unwrap());
    let tests = tests.chain(mcm::scope_mutants().unwrap());
    let tests: Vec<_> = tests.chain(mcm::orders().unwrap()).collect();
    for variant in Variant::ALL.into_iter().filter(|v| v.has_words()) {
        if !takes(&device, variant, Scope::Device) {
            continue;
        }
        for m in &tests {
            let shape = |p: &Program| Shape::new(Scheme::Parallel, p);
            let (measured, oracle) =
                run(&device, &mut models, &m.test, shape, variant, &request(environment(), 4));
            let counts = measured.counts(&oracle, m.mutates.is_some());
            assert_eq!(counts.instances(), 4 * 256 * 4);
            assert!(counts.seq > 0, "{}", m.test.name);
        }
    }
}

#[test]
fn a_variant_that_the_device_lacks_is_an_error_of_the_test() {
    let Some(mut device) = device() else { return };
    device.lacks_the_memory_model();
    let test = &mcm::conformance().unwrap()[0].test;
    let program = Program::new(test).unwrap();
    let oracle = Oracle::new(test, &program, &mut Models::new(None).unwrap()).unwrap();
    let shape = Shape::new(Scheme::Parallel, &program);
    let error = Loaded::new(&device, program, oracle, shape, VULKAN).err().unwrap();
    assert_eq!(error.kind, FailureKind::Refused);
    let lacks = "has no `vulkanMemoryModel`, which the variant `vulkan` needs";
    assert!(error.text().contains(lacks), "{error:?}");
}

#[test]
fn single_instances_and_other_reaches_and_memories() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let tests = mcm::conformance().unwrap();
    let picked =
        tests.iter().filter(|m| ["MP-CO", "SB-relacq", "CoWW-RMW"].contains(&m.test.name.as_str()));
    for m in picked {
        let site = |p: &Program| Shape::new(Scheme::Single, p);
        for variant in [UNCHECKED, VULKAN] {
            if !takes(&device, variant, Scope::Device) {
                continue;
            }
            let (measured, _) =
                run(&device, &mut models, &m.test, site, variant, &request(environment(), 20));
            assert_eq!(measured.instances, 20);
        }
        for (reach, memory) in [
            (Reach::Workgroup, Memory::Storage),
            (Reach::Workgroup, Memory::Workgroup),
            (Reach::Subgroup(device.info.subgroup.max(4)), Memory::Storage),
            (Reach::Subgroup(device.info.subgroup.max(4)), Memory::Workgroup),
        ] {
            let of = |scope| {
                move |p: &Program| Shape { reach, memory, scope, ..Shape::new(Scheme::Parallel, p) }
            };
            let request = request(environment(), 3);
            run(&device, &mut models, &m.test, of(Scope::Device), Variant::CHECKED, &request);
            let scope = match reach {
                Reach::Subgroup(_) => Scope::Subgroup,
                _ => Scope::Workgroup,
            };
            if takes(&device, VULKAN, scope) {
                run(&device, &mut models, &m.test, of(scope), VULKAN, &request);
            }
        }
    }
}

const IRIW: &str = "C IRIW
{ x=0; y=5; }
P0(atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
P1(atomic_int* x, atomic_int* y) {
  int a = atomic_load_explicit(x, memory_order_relaxed);
  atomic_thread_fence(memory_order_acq_rel);
  int b = atomic_load_explicit(y, memory_order_relaxed);
}
P2(atomic_int* y) { atomic_fetch_add_explicit(y, 2, memory_order_relaxed); }
P3(atomic_int* x, atomic_int* y, atomic_int* z) {
  int a = atomic_load_explicit(y, memory_order_relaxed);
  atomic_thread_fence(memory_order_acq_rel);
  int b = atomic_load_explicit(x, memory_order_relaxed);
  atomic_store_explicit(z, a, memory_order_relaxed);
}
exists (1:a=1 /\\ 1:b=5 /\\ 3:a=7 /\\ 3:b=0)
";

#[test]
fn four_threads_three_locations_and_other_initial_values() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let test = litmus::read(&Source::new("t", IRIW)).unwrap();
    let shape = |p: &Program| Shape::new(Scheme::Parallel, p);
    let (measured, oracle) =
        run(&device, &mut models, &test, shape, UNCHECKED, &request(environment(), 5));
    assert_eq!(oracle.observed.len(), 7);
    assert!(measured.counts(&oracle, true).seq > 0);
}

#[test]
fn batches_and_time_limits_change_no_sums() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let test = &mcm::mutants().unwrap()[0].test;
    let program = Program::new(test).unwrap();
    let oracle = Oracle::new(test, &program, &mut models).unwrap();
    let shape = Shape::new(Scheme::Parallel, &program);
    let loaded = Loaded::new(&device, program, oracle, shape, UNCHECKED).unwrap();
    let mut buffers = Buffers::default();
    for (batch, submissions) in [(1, 7), (3, 3), (100, 1)] {
        let r = Request { batch, ..request(environment(), 7) };
        let m = loaded.measure(&device, &mut buffers, &r).unwrap();
        assert_eq!((m.total(), m.submissions), (7 * 1024, submissions));
    }
    let r = Request { time: Some(Duration::ZERO), ..request(environment(), 7) };
    assert_eq!(loaded.measure(&device, &mut buffers, &r).unwrap().iterations, 1);
    let env = Environment { testing_workgroups: 1, ..environment() };
    let error = loaded.measure(&device, &mut buffers, &request(env, 1)).unwrap_err();
    assert!(error.text().contains("`testingWorkgroups` is 1"), "{error:?}");
}

#[test]
fn environments_of_the_paper_run() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let test = &mcm::conformance().unwrap()[0].test;
    let envs = Preset::Pte.draw("webgpu", 12);
    let env = envs.iter().min_by_key(|e| e.testing_workgroups).unwrap();
    let shape = |p: &Program| Shape::new(Scheme::Parallel, p);
    run(&device, &mut models, test, shape, Variant::CHECKED, &request(*env, 2));
}

#[test]
fn a_device_that_does_not_answer_is_given_up_and_the_next_test_runs() {
    if device().is_none() {
        return;
    }
    let mut models = Models::new(None).unwrap();
    let test =
        Prepared::new(&mcm::conformance().unwrap()[1].test, Scheme::Parallel, &mut models).unwrap();
    let shape = Shape::new(Scheme::Parallel, &test.program);
    let mut session = Session::new(None);
    session.timeout = Duration::from_nanos(1);
    let env = Environment { testing_workgroups: 512, max_workgroups: 512, ..environment() };
    let error = session.measure(&test, shape, UNCHECKED, &request(env, 50)).unwrap_err();
    assert!(error.text().contains("is taken as hanging"), "{error:?}");
    assert_eq!(error.kind, LOST);
    assert_eq!(session.lost, 1);
    session.timeout = Duration::from_secs(120);
    let measured = session.measure(&test, shape, UNCHECKED, &request(environment(), 2)).unwrap();
    assert_eq!(measured.violations(&test.oracle), 0);
}

#[test]
fn a_device_that_vanishes_costs_one_test() {
    if device().is_none() {
        return;
    }
    let mut models = Models::new(None).unwrap();
    let test =
        Prepared::new(&mcm::conformance().unwrap()[1].test, Scheme::Parallel, &mut models).unwrap();
    let shape = Shape::new(Scheme::Parallel, &test.program);
    let mut session = Session::new(None);
    let request = request(environment(), 2);
    session.measure(&test, shape, UNCHECKED, &request).unwrap();
    session.device().unwrap().device.destroy();
    let error = session.measure(&test, shape, UNCHECKED, &request).unwrap_err();
    assert_eq!(error.kind, LOST, "{error:?}");
    assert_eq!(session.lost, 1);
    let measured = session.measure(&test, shape, UNCHECKED, &request).unwrap();
    assert_eq!(measured.violations(&test.oracle), 0);
}

#[test]
fn tests_of_one_name_are_not_taken_for_each_other() {
    if device().is_none() {
        return;
    }
    let mut models = Models::new(None).unwrap();
    let mut session = Session::new(None);
    for value in ["1", "2"] {
        let text = format!(
            "C twice
{{}}
P0(atomic_int* x) {{ atomic_store_explicit(x, {value}, memory_order_relaxed); }}
P1(atomic_int* x) {{ int a = atomic_load_explicit(x, memory_order_relaxed); }}
exists (1:a=0)
"
        );
        let test = litmus::read(&Source::new("t", text.as_str())).unwrap();
        let test = Prepared::new(&test, Scheme::Parallel, &mut models).unwrap();
        let shape = Shape::new(Scheme::Parallel, &test.program);
        let measured =
            session.measure(&test, shape, UNCHECKED, &request(environment(), 2)).unwrap();
        assert_eq!(measured.violations(&test.oracle), 0);
        assert_eq!(measured.outcomes.len(), test.oracle.classes.len() + 1);
    }
}

#[test]
fn what_ran_before_a_device_vanished_is_kept() {
    if device().is_none() {
        return;
    }
    let mut models = Models::new(None).unwrap();
    let test =
        Prepared::new(&mcm::conformance().unwrap()[1].test, Scheme::Parallel, &mut models).unwrap();
    let setup = Setup { iterations: 1, ..Setup::new(Preset::Pte) };
    let mut session = Session::new(None);
    let opened = session.device().unwrap();
    let asked = std::cell::Cell::new(0);
    // It vanishes before the third environment.
    let vanish = || {
        asked.set(asked.get() + 1);
        if asked.get() == 3 {
            opened.device.destroy();
        }
        false
    };
    let environments = [environment(); 4];
    let mut kept = vec![None; 4];
    let mut keep = |i: usize, cell: &Cell| kept[i] = Some(cell.clone());
    let (record, ending) =
        session.record(&test, &setup, &environments, Vec::new(), &vanish, &mut keep);
    assert!(matches!(&ending, Ending::Failed(e) if e.kind == LOST), "{ending:?}");
    assert_eq!(record.cells.len(), 2);
    assert_eq!(kept, [Some(record.cells[0].clone()), Some(record.cells[1].clone()), None, None]);
    // The next goes on from there.
    let mut ran = Vec::new();
    let mut note = |i: usize, _: &Cell| ran.push(i);
    let (next, ending) = session.record(&test, &setup, &environments, kept, &|| false, &mut note);
    assert_eq!((ran, ending), (vec![2, 3], Ending::Whole));
    assert_eq!((next.cells.len(), &next.cells[..2]), (4, &record.cells[..]));
    let (record, ending) =
        session.record(&test, &setup, &environments, Vec::new(), &|| true, &mut |_, _| {});
    assert_eq!((record.cells.len(), ending), (0, Ending::Stopped));
}

#[test]
fn all_of_the_stress_and_the_spin_barrier_run_where_asked_for() {
    let Some(device) = device() else { return };
    let mut models = Models::new(None).unwrap();
    let test = &mcm::conformance().unwrap()[0].test;
    let shape = |p: &Program| Shape::new(Scheme::Parallel, p);
    let env = Environment { barrier_pct: 100, ..environment() };
    let request = Request { spin_anywhere: true, ..request(env, 2) };
    for variant in [UNCHECKED, VULKAN] {
        if takes(&device, variant, Scope::Device) {
            run(&device, &mut models, test, shape, variant, &request);
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_said() {
    let error = Device::open(Some("no such device")).err().unwrap().text();
    assert!(
        error.contains("no such device") || error.contains("there is no Vulkan device"),
        "{error}"
    );
}
