//! Pipelines: what a file means, and what a wrong one is told.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use litmake::pipeline::kinds::Kind;
use litmake::pipeline::load::load;
use litmake::pipeline::plan::Plan;
use litmake::pipeline::query::{Origin, Workspace};
use litmake::profile::files::Files;
use litmake::profile::types::Observe;
use proptest::prelude::*;

/// A file system in memory.
#[derive(Clone, Default)]
struct Memory(BTreeMap<PathBuf, String>);

impl Memory {
    fn with(mut self, path: &str, text: &str) -> Memory {
        self.0.insert(path.into(), text.into());
        self
    }
}

impl Files for Memory {
    fn content(&self, path: &Path, _: u64) -> io::Result<Arc<[u8]>> {
        match self.0.get(path) {
            Some(text) => Ok(text.as_bytes().into()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        }
    }
    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        self.0.keys().filter(|p| p.parent() == Some(folder)).cloned().collect()
    }
    fn env(&self, name: &str) -> Option<String> {
        (name == "HOST").then(|| "here".into())
    }
    fn installed(&self, compiler: &str) -> bool {
        compiler.starts_with("clang-1")
    }
}

fn planned(files: &Memory, sets: &[(&str, &str)], targets: &[&str]) -> Result<Plan, String> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let targets: Vec<String> = targets.iter().map(|t| t.to_string()).collect();
    let files = Arc::new(files.clone());
    let workspace = Workspace::over(files, Origin::File("p.yaml".into()), &sets, &targets);
    workspace.plan().map(|plan| Plan::clone(&plan)).map_err(|e| e.to_string())
}

fn error(text: &str) -> String {
    let files = Memory::default().with("p.yaml", text);
    planned(&files, &[], &[]).expect_err("an error is expected")
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.nodes.iter().map(|n| n.label.as_str()).collect()
}

const WHOLE: &str = r#"
name: whole
vars:
  dir: tests
  compilers: "gcc-12-x86_64-O1, clang-14-x86_64-O2"
stages:
  - name: verdict
    compare: { source: allowed, target: seen }
  - name: tests
    generate: { files: "${dir}/*.litmus" }
  - name: allowed
    simulate: { from: tests, model: rc11 }
  - name: code
    matrix: { profile: ["${compilers}"] }
    compile: { from: tests, profile: "${profile}" }
  - name: seen
    simulate: { from: code }
"#;

#[test]
fn stages_are_sorted_and_fanned_out_with_what_they_consume() {
    let files = Memory::default().with("p.yaml", WHOLE);
    let plan = planned(&files, &[], &[]).unwrap();
    assert_eq!(
        labels(&plan),
        [
            "tests",
            "allowed",
            "code[gcc-12-x86_64-O1]",
            "code[clang-14-x86_64-O2]",
            "seen[gcc-12-x86_64-O1]",
            "seen[clang-14-x86_64-O2]",
            "verdict[gcc-12-x86_64-O1]",
            "verdict[clang-14-x86_64-O2]",
        ]
    );
    assert_eq!(plan.nodes[7].inputs, [1, 5]);
    let profile = plan.nodes[5].profile.as_ref().unwrap();
    assert_eq!(profile.compiler, "clang-14");
    assert_eq!(profile.args.last().unwrap(), "-O2");
    let Kind::Generate(g) = &plan.nodes[0].kind else { panic!() };
    assert_eq!(g.files.0[0].value, "tests/*.litmus");
}

#[test]
fn set_replaces_a_variable_and_is_checked() {
    let files = Memory::default().with("p.yaml", WHOLE);
    let plan = planned(&files, &[("compilers", "gcc-11-x86_64-O0")], &[]).unwrap();
    assert_eq!(plan.nodes.len(), 5);
    let wrong = planned(&files, &[("compiler", "x")], &[]).unwrap_err();
    assert_eq!(
        wrong,
        "error: --set compiler: the pipeline has no such variable\n  help: did you mean `compilers`?"
    );
}

#[test]
fn targets_keep_only_what_they_need() {
    let files = Memory::default().with("p.yaml", WHOLE);
    let plan = planned(&files, &[], &["seen:gcc*"]).unwrap();
    assert_eq!(labels(&plan), ["tests", "code[gcc-12-x86_64-O1]", "seen[gcc-12-x86_64-O1]"]);
    assert_eq!(plan.nodes[2].inputs, [1]);
    let wrong = planned(&files, &[], &["sean"]).unwrap_err();
    assert!(wrong.contains("did you mean `seen`?"), "{wrong}");
}

#[test]
fn includes_anchors_and_merge_keys_work() {
    let files = Memory::default()
        .with(
            "p.yaml",
            r#"
include: common/base.yaml
templates:
  slow: &slow { from: tests, timeout: 90 }
vars: { dir: mine }
stages:
  - name: a
    simulate: { <<: *slow, model: rc11 }
  - name: b
    simulate: { <<: *slow, model: "${env.HOST}" }
env: HOST
"#,
        )
        .with(
            "common/base.yaml",
            "vars: {dir: theirs, n: 3}\nstages:\n  - {name: tests, generate: {files: '${dir}/${n}'}}\n",
        );
    let plan = planned(&files, &[], &[]).unwrap();
    assert_eq!(labels(&plan), ["tests", "a", "b"]);
    let Kind::Generate(g) = &plan.nodes[0].kind else { panic!() };
    assert_eq!(g.files.0[0].value, "mine/3");
    assert_eq!(plan.nodes[0].dir, Path::new("common"));
    let Kind::Simulate(s) = &plan.nodes[2].kind else { panic!() };
    assert_eq!(s.model.as_ref().unwrap().value, "here");
    assert_eq!(s.timeout.as_ref().unwrap().value, 90);
}

const TYPED: &str = r#"
vars:
  n: 40
  limit: ~
  shapes: [MP, "${more}"]
  more: SB
  spin: true
  observe: all
  seconds: 0.5
  bound: ""
stages:
  - name: t
    matrix: { size: [3, 4] }
    generate:
      arch: C
      vocabulary: [PodWW, Rfe]
      shapes: ["${shapes}", IRIW]
      sample: "${n}"
      size: "${size}"
      limit: "${limit}"
  - name: c
    compile: { from: t, profile: gcc-12-x86_64-O2, observe: "${observe}" }
  - name: s
    simulate: { from: t, model: "${bound}" }
  - name: r
    run: { from: t, device: gpu, spin: "${spin}", seconds: "${seconds}", set: { stressPct: "${n}" } }
"#;

#[test]
fn variables_take_the_type_of_the_key() {
    let files = Memory::default().with("p.yaml", TYPED);
    let plan = planned(&files, &[], &[]).unwrap();
    let Kind::Generate(g) = &plan.nodes[1].kind else { panic!() };
    let words: Vec<&str> = g.shapes.iter().map(|s| s.value.as_str()).collect();
    assert_eq!(words, ["MP", "SB", "IRIW"]);
    assert_eq!(g.sample.as_ref().unwrap().value, 40);
    assert_eq!(g.size.as_ref().unwrap().value, 4);
    assert!(g.limit.is_none(), "empty is as good as absent");
    let of = |stage: &str| plan.nodes.iter().find(|n| n.stage == stage).unwrap();
    let Kind::Compile(c) = &of("c").kind else { panic!() };
    assert_eq!(c.observe, Observe::All);
    let Kind::Simulate(s) = &of("s").kind else { panic!() };
    assert!(s.model.is_none());
    let Kind::Run(r) = &of("r").kind else { panic!() };
    assert!(r.spin);
    assert_eq!(r.seconds.as_ref().unwrap().value, 0.5);
    assert_eq!(r.set["stressPct"].value, 40);
    // The command line gives texts, which are typed where they arrive.
    let sets = [("n", "7"), ("shapes", "LB, S"), ("limit", "0x10")];
    let plan = planned(&files, &sets, &["t:3"]).unwrap();
    let Kind::Generate(g) = &plan.nodes[0].kind else { panic!() };
    let words: Vec<&str> = g.shapes.iter().map(|s| s.value.as_str()).collect();
    assert_eq!(words, ["LB", "S", "IRIW"]);
    assert_eq!(g.sample.as_ref().unwrap().value, 7);
    assert_eq!(g.limit.as_ref().unwrap().value, 16);
}

#[test]
fn a_variable_of_the_wrong_type_is_pointed_at() {
    let files = Memory::default().with("p.yaml", TYPED);
    for (set, value, expected) in [
        (
            "n",
            "many",
            "p.yaml:18:15: error: expected a whole number that is not negative, found `many`\n 18 |       sample: \"${n}\"\n    |               ^^^^^^",
        ),
        (
            "n",
            "-3",
            "p.yaml:18:15: error: expected a whole number that is not negative, found `-3`",
        ),
        ("spin", "yes", "error: expected `true` or `false`, found `yes`"),
        ("observe", "al", "error: unknown value `al`\n"),
        ("observe", "al", "help: did you mean `all`?"),
        ("seconds", "soon", "error: expected a number, found `soon`"),
    ] {
        let message = planned(&files, &[(set, value)], &[]).unwrap_err();
        assert!(message.contains(expected), "{set}={value}\n{message}");
    }
    for (text, expected) in [
        (
            "vars: {l: {a: b}}\nstages: []\n",
            "1:11: error: expected a text or a list of texts, found keys and values",
        ),
        ("stages:\n  - {name: t, generate: {files: x, limit: '12'}}\n", "found `12`"),
        ("stages:\n  - {name: t, generate: {files: x, limit: 1.5}}\n", "found `1.5`"),
        (
            "stages:\n  - {name: t, generate: {files: x, limit: 99999999999999999999}}\n",
            "expected a smaller number",
        ),
        (
            "stages:\n  - {name: t, generate: [x]}\n",
            "2:25: error: expected keys and values, found a list",
        ),
        (
            "stages:\n  - {name: t, generate: {files: {a: b}}}\n",
            "expected a text or a list of texts, found keys and values",
        ),
        ("stages:\n  - {generate: {files: x}}\n", "2:5: error: the key `name` is missing here"),
        (
            "stages:\n  - {name: t, generate: {files: x}}\n  - {name: r, run: {from: t, device: gpo}}\n",
            "3:38: error: unknown value `gpo`",
        ),
        (
            "stages:\n  - {name: t, generate: {files: x}}\n  - {name: r, run: {from: t, device: gpu, spin: yes}}\n",
            "expected `true` or `false`, found `yes`",
        ),
        (
            "vars: {l: [a]}\nstages:\n  - {name: t, generate: {files: 'x-${l}'}}\n",
            "3:33: error: the variable `l` is a list, which cannot stand here",
        ),
    ] {
        let message = error(text);
        assert!(message.contains(expected), "{text}\n{message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
    }
    let files = Memory::default()
        .with("profiles/x.yaml", "name: 'x-${v}'\nmatrix: {v: [1]}\ncompiler: cc\narch: PPC\ntimeout: '${v}'\n")
        .with("p.yaml", "stages:\n  - {name: t, generate: {files: x}}\n  - {name: c, compile: {from: t, profile: x-1}}\n");
    let message = planned(&files, &[], &[]).unwrap_err();
    assert!(message.contains("a variable cannot stand for this key"), "{message}");
}

#[test]
fn baseline_and_profiles_may_be_variables() {
    let files = Memory::default()
        .with("mine/a.yaml", "name: mine-a\ncompiler: cc\narch: PPC\n")
        .with("mine/b.yaml", "name: mine-b\ncompiler: cc\narch: PPC\n")
        .with(
            "p.yaml",
            "vars: {known: '', which: [mine/a.yaml, mine/b.yaml]}\nbaseline: '${known}'\nprofiles: '${which}'\nstages:\n  - {name: t, generate: {files: x}}\n  - {name: c, compile: {from: t, profile: mine-b}}\n",
        );
    let plan = planned(&files, &[], &[]).unwrap();
    assert_eq!(plan.pipeline.baseline, None);
    let plan = planned(&files, &[("known", "k.json")], &[]).unwrap();
    assert_eq!(plan.pipeline.baseline.as_deref(), Some(Path::new("k.json")));
}

#[test]
fn foreach_and_matrix_multiply() {
    let files = Memory::default().with(
        "p.yaml",
        r#"
stages:
  - name: t
    generate: { files: "${set}.litmus" }
    foreach: [{ set: a, model: sc }, { set: b, model: rc11 }]
  - name: s
    simulate: { from: t, model: "${model}", unroll: "${round}" }
    matrix: { model: [sc, rc11, x86tso], round: [1, 2] }
"#,
    );
    let plan = planned(&files, &[], &[]).unwrap();
    assert_eq!(
        labels(&plan),
        ["t[sc,a]", "t[rc11,b]", "s[sc,1,a]", "s[sc,2,a]", "s[rc11,1,b]", "s[rc11,2,b]"],
        "instances join where they agree on what they share"
    );
}

#[test]
fn profiles_inherit_and_form_families() {
    let files = Memory::default()
        .with(
            "profiles/arm.yaml",
            r#"
name: arm-${version}${march}
extends: base
matrix: { version: [13, 22], march: ["", +lse, +rcpc, +lse2, +lse128] }
compiler: clang-${version}
args: ["-march=armv8-a${march}"]
"#,
        )
        .with(
            "profiles/base.yaml",
            "name: base\nargs: [--target=aarch64-linux-gnu, -O2]\narch: AArch64\nenv: {LC_ALL: C}\n",
        )
        .with(
            "p.yaml",
            r#"
stages:
  - {name: t, generate: {files: a.litmus}}
  - {name: c, compile: {from: t, profile: arm-22+lse2}}
"#,
        );
    let plan = planned(&files, &[], &[]).unwrap();
    let profile = plan.nodes[1].profile.as_ref().unwrap();
    assert_eq!(profile.args, ["--target=aarch64-linux-gnu", "-O2", "-march=armv8-a+lse2"]);
    assert_eq!(profile.env["LC_ALL"], "C");
    assert_eq!(profile.arch.name(), "AArch64");
}

#[test]
fn a_profile_extends_one_of_a_family_by_its_name() {
    let with = |base: &str| {
        let files = Memory::default()
            .with("profiles/mine.yaml", &format!("name: mine\nextends: {base}\nargs: [-fPIC]\n"))
            .with(
                "p.yaml",
                "stages:\n  - {name: t, generate: {files: a.litmus}}\n  \
                 - {name: c, compile: {from: t, profile: mine}}\n",
            );
        planned(&files, &[], &[])
    };
    let plan = with("clang-19-aarch64-O1").unwrap();
    let profile = plan.nodes[1].profile.as_ref().unwrap();
    assert_eq!((&*profile.name, &*profile.compiler), ("mine", "clang-19"));
    assert_eq!(profile.args[profile.args.len() - 2..], ["-O1", "-fPIC"]);
    let message = with("clang-19-aarch64-O9").unwrap_err();
    assert!(
        message.starts_with(
            "profiles/mine.yaml:2:10: error: there is no profile `clang-19-aarch64-O9`"
        ),
        "{message}"
    );
}

#[test]
fn an_unknown_key_is_pointed_at() {
    assert_eq!(
        error("stages:\n  - name: a\n    genrate: { files: x }\n"),
        "p.yaml:3:5: error: unknown key `genrate`\n 3 |     genrate: { files: x }\n   |     ^^^^^^^\n  help: did you mean `generate`?"
    );
}

#[test]
fn a_duplicate_key_is_pointed_at() {
    assert_eq!(
        error("vars: { a: 1, b: 2, a: 3 }\n"),
        "p.yaml:1:21: error: the key `a` stands here twice\n 1 | vars: { a: 1, b: 2, a: 3 }\n   |                     ^\n  help: remove one of them"
    );
}

#[test]
fn a_wrong_type_is_pointed_at() {
    let text = "stages:\n  - name: a\n    generate: { files: x, limit: many }\n";
    let message = error(text);
    assert!(message.starts_with("p.yaml:3:34: error: "), "{message}");
    let message = error("stages: 7\n");
    assert!(message.starts_with("p.yaml:1:9: error: "), "{message}");
}

#[test]
fn a_dangling_stage_is_pointed_at() {
    assert_eq!(
        error(
            "stages:\n  - {name: tests, generate: {files: x}}\n  - {name: s, simulate: {from: test}}\n"
        ),
        "p.yaml:3:32: error: there is no stage `test`\n 3 |   - {name: s, simulate: {from: test}}\n   |                                ^^^^\n  help: did you mean `tests`?"
    );
    let message = error(
        "vars: {w: tests}\nstages:\n  - {name: tests, generate: {files: x}}\n  - {name: s, simulate: {from: '${w}'}}\n",
    );
    assert!(
        message
            .ends_with("help: which stage consumes which is fixed: write the stage's name itself"),
        "{message}"
    );
}

#[test]
fn a_circle_is_spelt_out() {
    let message = error(
        "stages:\n  - {name: a, dedupe: {from: b}}\n  - {name: b, dedupe: {from: c}}\n  - {name: c, dedupe: {from: a}}\n",
    );
    assert_eq!(
        message.lines().next().unwrap(),
        "p.yaml:4:30: error: the stages consume each other in a circle: a <- b <- c <- a"
    );
}

#[test]
fn wrong_pipelines_are_explained() {
    for (text, expected) in [
        ("stages:\n  - name: a\n", "2:11: error: the stage `a` has no kind"),
        (
            "stages:\n  - {name: a, generate: {files: x}}\n  - {name: a, generate: {files: x}}\n",
            "3:12: error: a second stage named `a`",
        ),
        (
            "stages:\n  - {name: a, generate: {files: x}, dedupe: {from: a}}\n",
            "has two kinds, `generate` and `dedupe`",
        ),
        ("stages:\n  - {name: a, generate: {files: '${who}'}}\n", "there is no variable `who`"),
        (
            "stages:\n  - {name: a, generate: {files: '${env.HOME}'}}\n",
            "help: add `env: [HOME]` to the pipeline",
        ),
        (
            "vars: {a: '${b}', b: '${a}'}\nstages:\n  - {name: a, generate: {files: '${a}'}}\n",
            "contains itself",
        ),
        (
            "stages:\n  - {name: a, generate: {files: x}}\n  - {name: b, compile: {from: a, profile: clang-14-x86_64-02}}\n",
            "3:43: error: there is no profile `clang-14-x86_64-02`",
        ),
        (
            "stages:\n  - {name: a, generate: {files: x}}\n  - {name: b, compare: {source: a, target: a}}\n",
            "put a `simulate` stage between them",
        ),
        (
            "stages:\n  - {name: a, generate: {files: x}}\n  - {name: s, simulate: {from: a, model: rc11}}\n  - {name: b, diff: {before: s, after: s}}\n",
            "4:40: error: `s` is compared with itself",
        ),
        (
            "stages:\n  - {name: a, generate: {files: x}}\n  - {name: s, simulate: {from: a, model: rc11}}\n  - {name: c, compile: {from: a, profile: clang-14-x86_64-O2}}\n  - {name: t, simulate: {from: c}}\n  - {name: b, compare: {source: t, target: s}}\n",
            "help: write `source: s` and `target: t`",
        ),
        // One mistake is said once.
        (
            "stages:\n  tests:\n    generate: {files: x}\n",
            "p.yaml:2:3: error: expected a list, found keys and values\n 2 |   tests:\n   |   ^\n  help: each item of a list begins with `- `",
        ),
        ("include: p.yaml\n", "`p.yaml` includes itself"),
        ("include: q.yaml\n", "cannot read `q.yaml`: no such file"),
        ("a: [1\n", "p.yaml:"),
        ("", "p.yaml:"),
        ("- 1\n", "p.yaml:1:1: error"),
        (
            "profiles: nowhere/*.yaml\nstages:\n  - {name: a, generate: {files: x}}\n",
            "no profile file matches",
        ),
    ] {
        let message = error(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
}

#[test]
fn a_bomb_is_refused_quickly() {
    let mut text = String::from("templates:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..30 {
        let list = vec![format!("*a{}", i - 1); 9].join(", ");
        text += &format!("  a{i}: &a{i} [{list}]\n");
    }
    // Unfolded it would be 9^30 nodes; any end at all shows that it was not.
    let message = error(&text);
    assert!(message.contains("unfolds into too much"), "{message}");
    let deep = format!("templates: {}1{}\n", "[".repeat(5000), "]".repeat(5000));
    error(&deep);
}

#[test]
fn a_large_pipeline_is_no_bomb() {
    let mut text = String::from("stages:\n  - {name: t, generate: {files: x}}\n");
    for i in 0..20_000 {
        text += &format!("  - {{name: s{i}, dedupe: {{from: t}}}}\n");
    }
    let files = Memory::default().with("p.yaml", &text);
    assert_eq!(load(&files, Path::new("p.yaml"), &[]).unwrap().stages.len(), 20_001);
}

#[test]
fn the_schema_lets_variables_stand_for_any_value() {
    let schema = litmake::pipeline::reference::pipeline_schema();
    let key = |stage: &str, key: &str| schema["$defs"][stage]["properties"][key].clone();
    let variable = serde_json::json!({ "type": "string", "pattern": "\\$\\{" });
    let has = |v: &serde_json::Value| v["anyOf"].as_array().unwrap().contains(&variable);
    assert!(has(&key("Generate", "limit")));
    assert!(has(&key("Run", "spin")));
    assert!(has(&schema["$defs"]["Observe"]));
    assert!(key("Generate", "limit")["description"].is_string());
    assert!(schema["properties"]["vars"].is_object());
}

#[test]
fn the_graph_is_drawn() {
    let files = Memory::default().with("p.yaml", WHOLE);
    let plan = planned(&files, &[], &["allowed"]).unwrap();
    assert_eq!(
        plan.mermaid(false),
        "flowchart LR\n  n0[\"tests<br>generate\"]\n  n1[\"allowed<br>simulate\"]\n  n0 --> n1\n"
    );
    assert!(plan.dot(false).contains("n0 -> n1;"));
}

proptest! {
    #[test]
    fn broken_pipelines_never_panic(cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), junk in "[ -~\n\t]{0,6}") {
        let mut text = WHOLE.to_string();
        let at = at.index(text.len());
        let end = (at + cut.index(12)).min(text.len());
        text.replace_range(at..end, &junk);
        let files = Memory::default().with("p.yaml", &text);
        let _ = planned(&files, &[], &[]);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}") {
        let files = Memory::default().with("p.yaml", &text);
        let _ = planned(&files, &[], &[]);
    }
}

#[test]
fn includes_that_repeat_without_a_circle_are_counted() {
    let mut files = Memory::default().with("p.yaml", "include: [i0.yaml, i0.yaml]\nstages: []\n");
    for i in 0..30 {
        let text = format!("include: [i{0}.yaml, i{0}.yaml]\nvars: {{ v{i}: x }}\n", i + 1);
        files = files.with(&format!("i{i}.yaml"), &text);
    }
    files = files.with("i30.yaml", "vars: { last: x }\n");
    let error = planned(&files, &[], &[]).unwrap_err();
    assert!(error.contains("takes in more than 1000 files"), "{error}");
}

#[test]
fn a_matrix_is_counted_before_it_is_multiplied_out() {
    let values = (0..2000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "stages:\n  - name: t\n    matrix: {{ a: [{values}], b: [{values}], c: [{values}] }}\n    generate: {{ files: \"${{a}}${{b}}${{c}}\" }}\n"
    );
    let said = error(&text);
    assert!(said.contains("unfolds into over 100000 instances"), "{said}");
    let foreach: String = (0..2000).map(|i| format!("{{ c: {i} }}, ")).collect();
    let text = format!(
        "stages:\n  - name: t\n    matrix: {{ a: [{values}] }}\n    foreach: [{foreach}]\n    generate: {{ files: \"${{a}}${{c}}\" }}\n"
    );
    assert!(error(&text).contains("unfolds into over 100000 instances"));
    let family = format!(
        "name: f-${{a}}-${{b}}\nmatrix: {{ a: [{values}], b: [{values}] }}\ncompiler: cc\narch: X86_64\n"
    );
    let text = "stages:\n  - { name: t, generate: { files: x } }\n  - { name: c, compile: { from: t, profile: f.yaml } }\n";
    let files = Memory::default().with("p.yaml", text).with("f.yaml", &family);
    let said = planned(&files, &[], &[]).unwrap_err();
    assert!(said.contains("this family has over 10000 profiles"), "{said}");
}

#[test]
fn what_comes_with_the_program_extends_nothing_that_lies_around() {
    let text = "stages:\n  - { name: t, generate: { files: x } }\n  - { name: c, compile: { from: t, profile: gcc-12-x86_64-O2 } }\n";
    let files = |base: &str| Memory::default().with("p.yaml", text).with("profiles/gcc.yaml", base);
    let plain = planned(&files("name: unused\n"), &[], &[]).unwrap();
    let hostile = planned(
        &files("name: unused\nargs: ['-fplugin=evil.so']\nextends: nothing-at-all\n"),
        &[],
        &[],
    )
    .unwrap();
    let profile = |plan: &Plan| plan.nodes[1].profile.clone().unwrap();
    assert_eq!(profile(&plain).args, profile(&hostile).args);
    assert!(!profile(&plain).args.is_empty());
}

#[test]
fn a_drawing_has_a_box_for_each_stage_and_instances_where_asked() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("pipelines/telechat-table4.yaml");
    let draw = |more: &[&str]| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_litmake"))
            .arg("graph")
            .arg(&path)
            .args(more)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let stages = draw(&[]);
    assert_eq!(stages.matches("[label=").count(), 9, "{stages}");
    assert!(stages.contains("clang-code\\ncompile (24 instances)"), "{stages}");
    assert_eq!(stages.lines().count(), 4 + 9 + 12, "{stages}");
    assert!(draw(&["--format", "mermaid"]).contains("gcc<br>compare (30 instances)"));
    assert_eq!(draw(&["--instances"]).matches("[label=").count(), 3 + 3 * (24 + 30));
}
