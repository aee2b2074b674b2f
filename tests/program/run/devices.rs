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
        "C {name}
{{}}
P0({ty}* x) {{ atomic_store_explicit(x, 1, memory_order_relaxed); }}
P1({ty}* x) {{ int a = {access}; }}
exists (1:a=0)
"
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
    let compare = "atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_relaxed, memory_order_relaxed)";
    s.write(
        "t/compare.litmus",
        &small("compare", "atomic_int", compare).replace("int a", "int e = 0; int a"),
    );
    vec![
        "t/good1.litmus",
        "t/good2.litmus",
        "t/ordered.litmus",
        "t/wide.litmus",
        "t/narrow.litmus",
        "t/compare.litmus",
    ]
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
    let args =
        [&["mutants", "run", "-o", "r.json", "--set", "maxWorkgroups=2"], &QUICK[..], &files];
    let (status, said) = s.litmake(&args.concat());
    assert_eq!(status, 3, "{said}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap();
    let ran = results["0"].as_object().unwrap().keys().filter(|k| k.starts_with("good")).count();
    assert_eq!(ran, 2, "{results}");
    let errors = results["errors"].as_object().unwrap();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["ordered", "wide", "narrow", "compare"]);
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
    assert_eq!((executed(&report), report["errors"].as_array().unwrap().len()), (6, 4), "{report}");
}

#[test]
fn a_stage_says_how_much_of_the_device_its_tests_use() {
    let s = project(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let run = |speed: bool| -> (Value, Value, String) {
        s.write(
            "p.yaml",
            &format!(
                "stages:
  - {{ name: tests, generate: {{ suite: exhaustive, events: 3, special: 0 }} }}
  - name: run
    run:
      from: tests
      device: gpu
      environments: 1
      iterations: 2
      speed: {speed}
      set: {{ testingWorkgroups: 2 }}
      results: r.json
"
            ),
        );
        let (status, report) = s.run(&[]);
        assert_eq!(status, 0, "{report}");
        let text = std::fs::read_to_string(s.path("r.json")).unwrap();
        let (_, said) = s.litmake(&["run", "p.yaml"]);
        (report, serde_json::from_str(&text).unwrap(), said)
    };
    let stage = |report: &Value| {
        let stages = report["stages"].as_array().unwrap();
        stages.iter().find(|s| s["name"] == "run").unwrap()["device"].clone()
    };
    let (report, results, _) = run(false);
    assert!(stage(&report).is_null() && results["speed"].is_null(), "{report}");
    let (report, results, said) = run(true);
    let used = stage(&report);
    assert_eq!(used["tests"], 10, "{used}");
    for part in ["memory", "operations", "atomics"] {
        let share = |what: &str| used[part][what].as_f64().unwrap();
        assert!(0.0 < share("median") && share("median") <= share("most"), "{used}");
        // The largest share is that of some test.
        let tests = results["speed"]["reached"].as_object().unwrap();
        assert_eq!(tests.len(), 10, "{results}");
        let most = tests.values().map(|t| t[part].as_f64().unwrap()).fold(0.0, f64::max);
        assert!((most - share("most")).abs() <= 1e-9 * most, "{used} {results}");
    }
    assert_eq!(used["bytes_per_second"], results["speed"]["best"]["bytesPerSecond"]);
    let limits = used["limits"].as_object().unwrap().values();
    assert_eq!(limits.map(|n| n.as_u64().unwrap()).sum::<u64>(), 10);
    assert!(said.contains("of a copy's memory"), "{said}");
    // What is measured is kept.
    let (report, ..) = run(true);
    assert_eq!((executed(&report), stage(&report)), (0, used));
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

#[test]
fn tests_share_a_budget_by_rounds_and_each_runs_once_whatever_it_is() {
    let s = project(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let results = |budget: &str| -> (Value, Value) {
        s.write(
            "p.yaml",
            &format!(
                "stages:
  - {{ name: tests, generate: {{ suite: exhaustive, events: 3, special: 0 }} }}
  - name: run
    run:
      from: tests
      device: gpu
      environments: 2
      iterations: 2
      budget: {budget}
      set: {{ testingWorkgroups: 2 }}
      results: r.json
"
            ),
        );
        let (status, report) = s.run(&[]);
        assert_eq!(status, 0, "{report}");
        let text = std::fs::read_to_string(s.path("r.json")).unwrap();
        (report, serde_json::from_str(&text).unwrap())
    };
    let ran = |results: &Value, environment: &str| {
        let tests = results[environment].as_object().unwrap().keys();
        tests.filter(|k| k.contains('+')).count()
    };
    let (report, scarce) = results("0");
    assert_eq!(executed(&report), 10);
    assert_eq!((ran(&scarce, "0"), ran(&scarce, "1")), (10, 0), "{scarce}");
    assert_eq!(scarce["setup"]["budget"], 0.0);
    // What ran for another budget is another measurement.
    let (report, ample) = results("1000");
    assert_eq!((executed(&report), ran(&ample, "0"), ran(&ample, "1")), (10, 10, 10), "{ample}");
    let (report, _) = results("1000");
    assert_eq!(executed(&report), 0);
}

#[test]
fn small_programs_have_a_size_and_no_other_suite_has() {
    let s = project(SOUND);
    let run = |options: &str| {
        s.write("p.yaml", &format!("stages:\n  - {{ name: t, generate: {{ {options} }} }}\n"));
        s.litmake(&["run", "p.yaml", "--dry-run"])
    };
    let (status, said) = run("suite: exhaustive, events: 7");
    assert!(status == 2 && said.contains("`events` is 7, and is to be from 2 to 6"), "{said}");
    let (status, said) = run("suite: mutants, special: 1");
    assert!(status == 2 && said.contains("which is not named here"), "{said}");
    assert_eq!(run("suite: [orders, exhaustive], events: 3").0, 0);
    let (status, said) = s.litmake(&["mutants", "list", "--suite", "exhaustive", "--special", "9"]);
    assert!(status == 2 && said.contains("a number from 0 to 4 is expected"), "{said}");
}

#[test]
fn code_is_listed_as_it_runs() {
    let s = project(SOUND);
    let near = ["--reach", "workgroup", "--memory", "workgroup"];
    let list = |more: &[&str]| {
        s.litmake(
            &[&["mutants", "list", "--suite", "conformance", "--only", "CoWR"], more].concat(),
        )
    };
    let (status, text) = list(&["--wgsl"]);
    assert!(status == 0 && !text.contains("var<workgroup> near"), "{text}");
    let (status, text) = list(&[&["--wgsl"], &near[..]].concat());
    assert!(status == 0 && text.contains("var<workgroup> near"), "{text}");
    let bytes = |folder: &str, more: &[&str]| {
        let (status, text) = list(&[&["--spirv", folder], more].concat());
        assert_eq!(status, 0, "{text}");
        std::fs::read(s.path(&format!("{folder}/CoWR.spv"))).unwrap()
    };
    let plain = bytes("a", &[]);
    assert_eq!(plain[..4], [3, 2, 0x23, 7]);
    let variants = ["checked", "unchecked", "spirv", "spirv-bounds", "vulkan-bounds"];
    let mut all: Vec<Vec<u8>> = variants.iter().map(|v| bytes(v, &["--variant", v])).collect();
    all.push(bytes("near", &near));
    all.push(plain.clone());
    all.sort();
    all.dedup();
    assert_eq!(all.len(), variants.len() + 2);
    assert_eq!(bytes("b", &["--variant", "vulkan"]), plain);
    // What cannot be is said of each test.
    let (status, said) = list(&["--wgsl", "--memory", "workgroup"]);
    assert!(status == 3 && said.contains("share no workgroup memory"), "{said}");
    // The help names every suite.
    let (_, help) = s.litmake(&["mutants", "run", "--help"]);
    for suite in ["mutants", "conformance", "scope", "orders", "all", "updates", "exhaustive"] {
        assert!(help.contains(suite), "{suite}: {help}");
    }
}

#[test]
fn the_nightly_of_gpus_covers_where_threads_are_memory_variants_and_scopes() {
    let s = project(SOUND);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pipelines/gpu-nightly.yaml");
    let (status, said) = s.litmake(&["run", path, "--dry-run"]);
    assert_eq!(status, 0, "{said}");
    for part in ["far[checked]", "near[workgroup,checked]", "near-words[storage,vulkan-bounds]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        said.contains("narrow[workgroup,spirv]") && said.contains("narrowest[storage]"),
        "{said}"
    );
}

/// A driver made wrong on purpose: a layer before the real one that swaps two atomic loads whose
/// addresses are clamped, or tears exchanges. Gives the variables that put it there.
fn wrong_driver(s: &Scratch) -> Option<[(&'static str, String); 2]> {
    if !here("cc") {
        return None;
    }
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong_driver");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", &s.path("libwrong_driver.so").display().to_string()])
        .arg(format!("{from}/layer.c"))
        .status();
    assert!(built.unwrap().success());
    let manifest = std::fs::read_to_string(format!("{from}/layer.json")).unwrap();
    s.write("layer.json", &manifest);
    let folder = s.path("").display().to_string();
    let name = "VK_LAYER_LITMAKE_wrong_driver".to_string();
    Some([("VK_LAYER_PATH", folder), ("VK_INSTANCE_LAYERS", name)])
}

/// A torn exchange is in the code of every variant, `checked` among them. Whether another thread writes in between
/// while the test runs is chance; that such an outcome is forbidden is tested where the suite is made.
#[test]
fn a_driver_that_tears_exchanges_changes_code_of_every_kind() {
    let s = project(SOUND);
    let Some(wrong) = has_gpu(&s).then(|| wrong_driver(&s)).flatten() else { return };
    for variant in ["checked", "spirv"] {
        let folder = s.path(variant);
        std::fs::create_dir_all(&folder).unwrap();
        let run = ["mutants", "run", "--suite", "updates", "--only", "torn_exchange"];
        let how = ["--variant", variant, "--environments", "1", "--seconds", "0.3", "--spin"];
        let torn = s
            .command(&[&run[..], &how].concat())
            .args(["--set", "testingWorkgroups=16"])
            .envs(wrong.clone())
            .env("WRONG_DRIVER_TORN", "1")
            .env("WRONG_DRIVER_DUMP", &folder)
            .output()
            .unwrap();
        let said = [&torn.stdout[..], &torn.stderr].map(String::from_utf8_lossy).concat();
        let found = said.contains("violation: torn_exchange_");
        assert_eq!(torn.status.code(), Some(i32::from(found)), "{variant}: {said}");
        let changed = std::fs::read_dir(&folder).unwrap().count();
        assert!(changed > 0, "{variant}: {said}");
    }
}

#[test]
fn a_wrong_driver_is_found_and_what_shows_it_stands_alone() {
    let s = project(SOUND);
    let Some(wrong) = has_gpu(&s).then(|| wrong_driver(&s)).flatten() else { return };
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { suite: exhaustive, events: 3, special: 0 } }
  - name: run
    matrix: { variant: [spirv, spirv-bounds] }
    run:
      from: tests
      device: gpu
      variant: \"${variant}\"
      environments: 4
      budget: 4
      set: { testingWorkgroups: 2 }
",
    );
    let args = ["run", "p.yaml", "--report", "report.json", "--findings", "found"];
    let out = s.command(&args).envs(wrong.clone()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("report.json")).unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    // Only where indices are clamped, and only where there are two loads to swap: of one thread of a
    // test, or of two, since a thread of the device runs both, each for another instance.
    // One bug for each pair of accesses whose order is lost, whatever the tests that show it.
    let titles: Vec<&str> = findings.iter().filter_map(|f| f["title"].as_str()).collect();
    let lost = |t: &&str| t.ends_with("of one location come in the wrong order");
    assert!(titles.iter().all(lost), "{titles:?}");
    assert!(
        titles.iter().collect::<std::collections::HashSet<_>>().len() == findings.len(),
        "{titles:?}"
    );
    for finding in findings {
        assert!(finding["evidence"]["source"]["fails"].is_array(), "{finding}");
        assert!(finding["test"].as_str().unwrap().matches('R').count() > 1, "{finding}");
        let folder = std::path::PathBuf::from(finding["folder"].as_str().unwrap());
        let command = finding["command"].as_str().unwrap();
        let script = std::fs::read_to_string(s.path(&format!("{}/repro.sh", folder.display())));
        let script = script.unwrap();
        assert!(script.contains("--variant spirv-bounds"), "{command}: {script}");
    }
    // Whether it shows again is chance; where it did, all files are there, in a folder with the test's name.
    let folders = findings.iter().map(|f| {
        let word = |key: &str| f[key].as_str().unwrap();
        format!("{}/{}", word("folder"), word("test"))
    });
    let is_shown = |folder: &String| s.path(&format!("{folder}/test.amber")).is_file();
    let shown: Vec<String> = folders.filter(is_shown).collect();
    assert!(!shown.is_empty(), "{said}");
    for folder in shown {
        for file in ["page.html", "test.spv", "prepare.spv", "count.spv", "README.md"] {
            assert!(s.path(&format!("{folder}/{file}")).is_file(), "{file}");
        }
        let script = std::fs::read_to_string(s.path(&format!("{folder}/test.amber"))).unwrap();
        assert!(script.starts_with("#!amber\n") && script.contains("EXPECT counters IDX"));
    }
    // The real driver shows nothing.
    let (status, _) = s.run(&["--cache", "other"]);
    assert_eq!(status, 0);
}
