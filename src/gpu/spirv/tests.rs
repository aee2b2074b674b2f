//! Tests of the words that can do without a device.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use litmake_base::diag::Source;
use litmake_litmus as litmus;
use litmake_mutate::mcm;
use litmake_needs::here;

const VULKAN: Variant =
    Variant { bounds: false, code: super::super::variant::Code::Words(MemoryModel::Vulkan) };

/// An instruction: its opcode and operands.
fn instructions(words: &[u32]) -> Vec<(u16, Vec<u32>)> {
    let (mut out, mut at) = (Vec::new(), 5);
    while let Some(first) = words.get(at) {
        let length = (first >> 16) as usize;
        assert!(length > 0 && at + length <= words.len());
        out.push(((first & 0xffff) as u16, words[at + 1..at + length].to_vec()));
        at += length;
    }
    out
}

/// The constants that the operands of the instructions with an opcode name.
fn numbers(words: &[u32], opcode: u16) -> Vec<Vec<Option<u32>>> {
    let all = instructions(words);
    let number = |id: u32| {
        let of = |(o, operands): &(u16, Vec<u32>)| {
            (*o == op::CONSTANT && operands[1] == id).then(|| operands[2])
        };
        all.iter().find_map(of)
    };
    let with = all.iter().filter(|(o, _)| *o == opcode);
    with.map(|(_, operands)| operands.iter().map(|id| number(*id)).collect()).collect()
}

fn program(name: &str) -> Program {
    let all = mcm::conformance().unwrap().into_iter().chain(mcm::scope_mutants().unwrap());
    let test = all.map(|m| m.test).find(|t| t.name == name).unwrap();
    Program::new(&test).unwrap()
}

#[test]
fn fences_are_fences_and_say_how_far_they_reach() {
    let program = program("MP-relacq");
    let fences = |scope: Scope, variant| {
        let shape = Shape { scope, ..Shape::new(Scheme::Parallel, &program) };
        let words = module(&program, &shape, variant);
        assert!(numbers(&words, op::CONTROL_BARRIER).is_empty());
        numbers(&words, op::MEMORY_BARRIER)
    };
    assert_eq!(fences(Scope::Device, VULKAN), vec![vec![Some(1), Some(0x6048)]; 2]);
    assert_eq!(fences(Scope::QueueFamily, VULKAN), vec![vec![Some(5), Some(0x6048)]; 2]);
    let plain = Variant::named("spirv").unwrap();
    assert_eq!(fences(Scope::Device, plain), vec![vec![Some(1), Some(0x48)]; 2]);
}

#[test]
fn near_fences_reach_the_workgroup() {
    let all = mcm::scope_mutants().unwrap();
    for m in &all {
        let program = Program::new(&m.test).unwrap();
        let words = module(&program, &Shape::new(Scheme::Parallel, &program), VULKAN);
        let near = numbers(&words, op::MEMORY_BARRIER).iter().filter(|f| f[0] == Some(2)).count();
        let expected = program.threads.iter().flatten();
        let expected = expected.filter(|op| matches!(op, Op::Fence { near: true, .. })).count();
        assert_eq!(near, expected, "{}", m.test.name);
        assert!(near > 0);
    }
}

const ORDERED: &str = "C ordered
{}
P0(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1(atomic_int* x, atomic_int* y) {
  int a = atomic_load_explicit(y, memory_order_acquire);
  atomic_thread_fence(memory_order_acquire);
  int b = atomic_fetch_add_explicit(x, 0, memory_order_acq_rel);
}
exists (1:a=1 /\\ 1:b=0)
";

#[test]
fn accesses_acquire_and_release() {
    let test = litmus::read(&Source::new("t", ORDERED)).unwrap();
    let program = Program::new(&test).unwrap();
    assert!(program.has_ordered_accesses());
    assert_eq!(program.text(), "W x=1 ; W.rel y=1 || a=R.acq y ; F.acq ; b=ADD.acqrel x,0");
    let shape = Shape::new(Scheme::Parallel, &program);
    let words = module(&program, &shape, VULKAN);
    let stores = numbers(&words, op::ATOMIC_STORE);
    assert_eq!(stores[0][1..], [Some(1), Some(0), Some(1)]);
    assert_eq!(stores[1][1..], [Some(1), Some(0x2044), Some(1)]);
    assert_eq!(numbers(&words, op::ATOMIC_LOAD)[0][3..], [Some(1), Some(0x4042)]);
    assert_eq!(numbers(&words, op::MEMORY_BARRIER), [[Some(1), Some(0x4042)]]);
    let adds = numbers(&words, op::ATOMIC_I_ADD);
    assert_eq!(adds.last().unwrap()[3..], [Some(1), Some(0x6048), Some(0)]);
    let refused = shape.check(&program, Variant::CHECKED).unwrap_err();
    assert!(refused.contains("WGSL has no words"), "{refused}");
    assert!(shape.check(&program, VULKAN).is_ok());
}

#[test]
fn scopes_that_do_not_reach_are_refused() {
    let program = program("MP-relacq");
    let of = |reach, scope, variant: &str| {
        let shape = Shape { reach, scope, ..Shape::new(Scheme::Parallel, &program) };
        shape.check(&program, Variant::named(variant).unwrap()).err()
    };
    assert_eq!(of(Reach::Workgroup, Scope::Workgroup, "spirv"), None);
    assert_eq!(of(Reach::Workgroups, Scope::QueueFamily, "vulkan"), None);
    assert_eq!(
        of(Reach::Workgroups, Scope::Workgroup, "vulkan").unwrap(),
        "its threads are further apart than the scope `workgroup` reaches; give `--reach workgroup`"
    );
    assert!(of(Reach::Workgroup, Scope::Subgroup, "vulkan").unwrap().contains("--reach subgroup"));
    assert!(of(Reach::Workgroups, Scope::QueueFamily, "spirv").unwrap().contains("`vulkan`"));
    assert!(of(Reach::Workgroup, Scope::Workgroup, "checked").unwrap().contains("no words for"));
}

/// Every shape that a program can have.
fn shapes(program: &Program) -> Vec<Shape> {
    let mut out = Vec::new();
    for scheme in [Scheme::Parallel, Scheme::Single] {
        for reach in [Reach::Workgroups, Reach::Workgroup, Reach::Subgroup(8)] {
            for memory in [Memory::Storage, Memory::Workgroup] {
                for scope in Scope::ALL {
                    out.push(Shape { reach, memory, scope, ..Shape::new(scheme, program) });
                }
            }
        }
    }
    out
}

#[test]
fn the_validator_has_nothing_to_say() {
    if !here("spirv-val") {
        return;
    }
    let ordered = litmus::read(&Source::new("t", ORDERED)).unwrap();
    let mut programs = vec![Program::new(&ordered).unwrap()];
    programs.extend(["CoRR", "CoWW-RMW", "MP-relacq", "S-relacq"].map(program));
    let (mut checked, mut seen) = (0, std::collections::HashSet::new());
    for program in &programs {
        for variant in Variant::ALL.into_iter().filter(|v| v.has_words()) {
            for shape in shapes(program) {
                if shape.check(program, variant).is_err() {
                    continue;
                }
                let words = module(program, &shape, variant);
                if !seen.insert(words.clone()) {
                    continue;
                }
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let mut child = Command::new("spirv-val")
                    .args(["--target-env", "vulkan1.2", "-"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(&bytes).unwrap();
                let out = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&out.stderr);
                assert!(
                    out.status.success(),
                    "{} {shape:?} {}: {said}",
                    program.name,
                    variant.name()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}
