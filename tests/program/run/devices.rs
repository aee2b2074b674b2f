//! Tests on GPUs as a stage of a pipeline, and the analysis of results.

use super::*;

const RESULTS: &str = r#"{
  "0": {"RR Mutations Default": {"seq": 10, "interleaved": 0, "weak": 3, "durationSeconds": 1.5},
        "Store Coherency": {"seq": 10, "interleaved": 0, "weak": 1, "durationSeconds": 16}},
  "randomSeed": "webgpu"
}"#;

#[test]
fn results_of_mutants_are_analysed() {
    let s = project(SOUND);
    s.write("a.json", RESULTS);
    s.write("b.json", &RESULTS.replace("\"weak\": 3", "\"weak\": 30"));
    let json = |args: &[&str]| -> Value {
        let (status, text) = s.litmake(args);
        assert_eq!(status, 0, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let score = json(&["mutants", "score", "a.json", "--json", "--svg", "five.svg"]);
    assert_eq!(score["reversing_po"]["killed"], 1);
    assert_eq!(score["weakening_po"]["avg_death_rate_per_s"], 0.062);
    assert_eq!(score["all"]["of"], 2);
    assert!(std::fs::read_to_string(s.path("five.svg")).unwrap().starts_with("<svg"));
    let merge =
        json(&["mutants", "merge", "--rep", "95", "--budget", "1/2", "a.json", "b.json", "--json"]);
    assert_eq!(merge["reproducible_tests"], 1);
    assert_eq!(merge["denominator"], 4);
    assert_eq!(merge["tests"]["RR Mutations Default"]["rates"]["b"], 20.0);
    let correlate = json(&["mutants", "correlate", "a.json", "--json"]);
    assert_eq!(correlate["n_envs"], 1);
    let confidence = json(&["confidence", "--budget", "6", "b.json", "--json"]);
    assert_eq!(confidence["reached"], 1);
    let (status, text) = s.litmake(&["mutants", "score", "p.yaml"]);
    assert_eq!(status, 2);
    assert!(text.contains("p.yaml: this is no JSON"), "{text}");
}

const GPU: &str = "stages:
  - { name: tests, generate: { suite: conformance, limit: 2 } }
  - name: run
    run: { from: tests, device: gpu, preset: site, environments: 1, iterations: 3, results: r.json }
";

fn has_gpu(s: &Scratch) -> bool {
    let (status, text) = s.litmake(&["mutants", "devices"]);
    need("a Vulkan device", if status == 0 { Ok(()) } else { Err(text) }).is_some()
}

#[test]
fn tests_run_on_a_gpu_once_and_write_results() {
    let s = project(SOUND);
    s.write("p.yaml", GPU);
    if !has_gpu(&s) {
        return;
    }
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 2), "{report}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap();
    assert_eq!(results["0"]["2+2W-CO"]["weak"], 0);
    assert_eq!(results["randomSeed"], "webgpu");
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 0));
}

#[test]
fn more_environments_on_a_gpu_measure_the_new_ones_alone_and_variants_apart() {
    let s = project(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let results = |environments: &str, variant: &str| -> Value {
        let with = format!("environments: {environments}, variant: {variant}");
        s.write("p.yaml", &GPU.replace("environments: 1", &with));
        let (status, report) = s.run(&[]);
        assert_eq!((status, executed(&report)), (0, 2), "{report}");
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap()
    };
    let (one, three) = (results("1", "checked"), results("3", "checked"));
    assert_eq!(one["0"], three["0"]);
    assert!(three["2"]["2+2W-CO"]["durationSeconds"].as_f64().unwrap() > 0.0);
    let other = results("1", "spirv");
    assert_eq!(other["setup"]["variant"], "spirv");
    assert_ne!(other["0"], one["0"]);
}

#[test]
fn without_a_gpu_the_run_says_so_and_loses_nothing() {
    let s = project(SOUND);
    s.write(
        "p.yaml",
        &format!(
            "{GPU}  - {{ name: simulate, simulate: {{ from: tests, model: wgsl-rel-acq }} }}\n"
        ),
    );
    let out = s
        .command(&["run", "p.yaml", "--report", "report.json"])
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(3), "{}", String::from_utf8_lossy(&out.stderr));
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("report.json")).unwrap()).unwrap();
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("there is no Vulkan device here"), "{message}");
    let simulated =
        report["stages"].as_array().unwrap().iter().find(|x| x["name"] == "simulate").unwrap();
    assert_eq!((simulated["tasks"].as_u64(), simulated["failed"].as_u64()), (Some(2), Some(0)));
    let out = s
        .command(&["mutants", "run"])
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("install the driver of the GPU"));
}

/// A test of the C dialect with one access in each of two threads.
fn small(name: &str, ty: &str, access: &str) -> String {
    format!(
        "C {name}\n{{}}\nP0({ty}* x) {{ atomic_store_explicit(x, 1, memory_order_relaxed); }}\nP1({ty}* x) {{ int a = {access}; }}\nexists (1:a=0)\n"
    )
}

const LOAD: &str = "atomic_load_explicit(x, memory_order_relaxed)";

/// Tests of which some cannot run on a GPU, by the names of their files.
fn mixed(s: &Scratch) -> Vec<&'static str> {
    let exchange = "atomic_fetch_add_explicit(x, 0, memory_order_seq_cst)";
    for (name, ty, access) in [
        ("good1", "atomic_int", LOAD),
        ("good2", "atomic_uint", LOAD),
        ("ordered", "atomic_int", exchange),
        ("wide", "atomic_llong", LOAD),
        ("narrow", "atomic_short", LOAD),
    ] {
        s.write(&format!("t/{name}.litmus"), &small(name, ty, access));
    }
    vec!["t/good1.litmus", "t/good2.litmus", "t/ordered.litmus", "t/wide.litmus", "t/narrow.litmus"]
}

const QUICK: [&str; 6] =
    ["--environments", "1", "--iterations", "2", "--set", "testingWorkgroups=2"];

#[test]
fn a_test_that_cannot_run_costs_nobody_elses_turn() {
    let s = project(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let files = mixed(&s);
    let args = [&["mutants", "run", "-o", "r.json", "--set", "maxWorkgroups=2"], &QUICK[..], &files];
    let (status, said) = s.litmake(&args.concat());
    assert_eq!(status, 3, "{said}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap();
    let ran = results["0"].as_object().unwrap().keys().filter(|k| k.starts_with("good")).count();
    assert_eq!(ran, 2, "{results}");
    let errors = results["errors"].as_object().unwrap();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["ordered", "wide", "narrow"]);
    let said = |name: &str| errors[name].as_str().unwrap();
    assert!(said("wide").contains("the location `x` has 64 bits"), "{errors:?}");
    assert!(said("narrow").contains("the location `x` has 16 bits"), "{errors:?}");
    assert!(said("ordered").contains("sequentially consistent"), "{errors:?}");
    // A file that is no test is wrong input, and the others run all the same.
    s.write("t/broken.litmus", "C broken\n");
    let args = [&["mutants", "run", "t/broken.litmus"], &QUICK[..], &files[..2]];
    let (status, said) = s.litmake(&args.concat());
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("2 tests ran, 1 did not or failed"), "{said}");
    // In a pipeline, too.
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { files: t } }
  - name: run
    run: { from: tests, device: gpu, environments: 1, iterations: 2, set: { testingWorkgroups: 2 } }
",
    );
    std::fs::remove_file(s.path("t/broken.litmus")).unwrap();
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3, "{report}");
    assert_eq!((executed(&report), report["errors"].as_array().unwrap().len()), (5, 3), "{report}");
}

#[test]
fn tuning_goes_on_without_a_test_that_cannot_run() {
    let s = project(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let files = mixed(&s);
    let tune = ["mutants", "tune", "--limit", "0.1", "--budget", "1", "--json"];
    let (status, said) = s.litmake(&[&tune, &QUICK[..2], &QUICK[4..], &files[1..4]].concat());
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("good2") && said.contains("the location `x` has 64 bits"), "{said}");
}
