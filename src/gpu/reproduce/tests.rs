//! Files that stand alone, as far as they can be judged without a device.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use crate::environment::Preset;
use crate::oracle::Models;
use crate::wgsl::Reach;
use litmake_litmus as litmus;
use litmake_mutate::small::Size;
use litmake_mutate::suite::Suite;
use litmake_needs::here;

fn prepared(suite: Suite, name: &str) -> (litmus::Test, Prepared) {
    let test = suite.tests(Size::default()).unwrap().into_iter().find(|t| t.name == name).unwrap();
    let prepared = Prepared::new(&test, Scheme::Parallel, &mut Models::new(None).unwrap()).unwrap();
    (test, prepared)
}

/// The files of a test, of which every forbidden outcome showed once.
fn made(suite: Suite, name: &str, setup: &Setup, environment: &Environment) -> Vec<File> {
    let (test, prepared) = prepared(suite, name);
    let classes = prepared.oracle.classes.iter();
    let mut outcomes: Vec<u64> = classes.map(|c| u64::from(*c == Class::Forbidden)).collect();
    outcomes.push(0);
    let text = litmus::write(&test);
    let times: u64 = outcomes.iter().sum();
    // It shows in one of 40 iterations, so that it takes 400 to show ten times.
    let shown = Shown { environment, outcomes: &outcomes, iterations: 40 * times as u32 };
    let case = Case {
        test: &prepared,
        text: &text,
        setup,
        device: "a device",
        driver: Driver::default(),
        shown,
        script: shown,
    };
    files(&case).unwrap()
}

fn content(files: &[File], name: &str) -> Vec<u8> {
    files.iter().find(|f| f.name == name).unwrap().content.clone()
}

fn text(files: &[File], name: &str) -> String {
    String::from_utf8(content(files, name)).unwrap()
}

fn small() -> Environment {
    Environment {
        testing_workgroups: 2,
        max_workgroups: 2,
        scratch_memory_size: 4,
        mem_stride: 1,
        stress_line_size: 4,
        stress_target_lines: 1,
        ..Environment::default()
    }
}

#[test]
fn a_page_has_the_shader_the_outcomes_and_where_buffers_end() {
    let setup = Setup::new(Preset::Pte);
    let page = text(&made(Suite::Conformance, "CoRR", &setup, &small()), "page.html");
    assert!(!page.contains("@CASE@") && !page.contains("@TITLE@"));
    let start = page.find("const CASE = ").unwrap() + "const CASE = ".len();
    let end = start + page[start..].find(";\n").unwrap();
    let case: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
    assert_eq!((&case["instances"], &case["results"]), (&512.into(), &1024.into()));
    assert_eq!(case["outcomes"][5], json!(["1:r0=1; 1:r1=0; x=1;", "forbidden"]));
    assert!(case["wgsl"].as_str().unwrap().contains("fn test("));
    assert_eq!(case["params"].as_array().unwrap().len(), 32);
    // What ends a script in HTML stands nowhere in the middle of it.
    assert_eq!(page.matches("</script>").count(), 1);
}

#[test]
fn a_test_that_wgsl_cannot_say_has_no_page() {
    let setup = Setup { variant: Variant::named("vulkan").unwrap(), ..Setup::new(Preset::Pte) };
    let files = made(Suite::Orders, "MP-orders", &setup, &small());
    assert!(files.iter().all(|f| f.name != "page.html"));
    let script = text(&files, "test.amber");
    assert!(script.contains("DEVICE_FEATURE VulkanMemoryModelFeatures.vulkanMemoryModel\n"));
    assert!(script.contains("EXPECT counters IDX "), "{script}");
}

#[test]
fn a_script_repeats_what_needs_no_turns_and_has_turns_where_threads_wait() {
    let setup = Setup::new(Preset::Pte);
    let of = |environment: Environment| {
        text(&made(Suite::Conformance, "CoRR", &setup, &environment), "test.amber")
    };
    let plain = of(small());
    assert!(plain.contains("REPEAT 401\nRUN test0 2 1 1\nRUN count0 2 1 1\nEND\n"), "{plain}");
    let waits = of(Environment { barrier_pct: 100, ..small() });
    assert!(waits.contains("REPEAT 1\n") && waits.contains("RUN test15 2 1 1\n"));
    let shuffles = of(Environment { shuffle_pct: 100, ..small() });
    assert!(shuffles.contains("REPEAT 25\n") && shuffles.contains("RUN test15 "));
}

#[test]
fn the_modules_are_valid_in_every_variant() {
    if !here("spirv-val") {
        return;
    }
    for variant in Variant::ALL {
        for (reach, memory) in [
            (Reach::Workgroups, Memory::Storage),
            (Reach::Workgroup, Memory::Storage),
            (Reach::Workgroup, Memory::Workgroup),
        ] {
            let setup = Setup { variant, reach, memory, ..Setup::new(Preset::Pte) };
            let files = made(Suite::Conformance, "MP-relacq", &setup, &small());
            for name in ["test.spv", "prepare.spv", "count.spv"] {
                let mut child = Command::new("spirv-val")
                    .args(["--target-env", "vulkan1.2", "-"])
                    .stdin(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(&content(&files, name)).unwrap();
                let out = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&out.stderr);
                assert!(out.status.success(), "{name} {}: {said}", variant.name());
            }
        }
    }
}

#[test]
fn simpler_environments_are_other_ones_that_can_be_and_end() {
    let mut environment = Preset::Pte.draw("webgpu", 1)[0];
    let mut steps = 0;
    // Whatever is taken, it ends.
    while let Some(next) = simpler(&environment).into_iter().last() {
        assert!(next != environment && next.check().is_ok());
        environment = next;
        steps += 1;
        assert!(steps < 100);
    }
    let wide = widest(&small());
    assert_eq!((wide.testing_workgroups, wide.check()), (1024, Ok(())));
    let least = simpler(&Preset::Pte.draw("webgpu", 1)[0])[0];
    assert_eq!((least.testing_workgroups, least.max_workgroups, least.shuffle_pct), (2, 2, 0));
}
