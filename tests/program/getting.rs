//! What people install litmake by: the packages that `scripts/package` makes, and what runs it on GitHub
//! and GitLab. The steps of these files run here as they are written.

#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::scratch::Scratch;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_litmake"))
}

fn ok(out: Output) -> String {
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    assert!(out.status.success(), "{said}");
    said
}

fn yaml(file: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// Shell steps in a folder with a pipeline, as a CI server runs them.
struct Job {
    scratch: Scratch,
    env: BTreeMap<String, String>,
}

impl Job {
    fn new() -> Job {
        let scratch = Scratch::with(&[]);
        let (status, said) = scratch.litmake(&["pipelines", "--copy", "litmus", "quickstart"]);
        assert_eq!(status, 0, "{said}");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", program().parent().unwrap().display());
        Job { env: BTreeMap::from([("PATH".into(), path)]), scratch }
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.insert(name.into(), value.into());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn run(&self, script: &str) -> Output {
        let args = ["--noprofile", "--norc", "-eo", "pipefail", "-c", script];
        self.scratch.program("bash", &args).envs(&self.env).output().unwrap()
    }
}

fn compilers_are_here() -> bool {
    ["clang-14", "clang-16"].iter().all(|c| litmake_needs::here(c))
}

/// Runs the steps of the action with these inputs; the last step's result.
fn action(job: &mut Job, inputs: &[(&str, &str)]) -> Output {
    let action = yaml("action.yml");
    let given = |name: &str| {
        let given = inputs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        given.unwrap_or_else(|| action["inputs"][name]["default"].as_str().unwrap().to_string())
    };
    job.set("GITHUB_ACTION_PATH", ROOT);
    job.set("GITHUB_OUTPUT", job.path("output").display().to_string());
    job.set("GITHUB_SHA", "0123abcd");
    let mut last = None;
    for step in action["runs"]["steps"].as_array().unwrap() {
        let Some(script) = step["run"].as_str() else {
            let uses = step["uses"].as_str().unwrap();
            assert!(uses.starts_with("actions/"), "{uses} is no step that every workflow has");
            continue;
        };
        // What a script is made from must not come from outside; it takes inputs as variables.
        assert!(!script.contains("${{") && step["shell"] == "bash", "{script}");
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let input = value.strip_prefix("${{ inputs.").and_then(|v| v.strip_suffix(" }}"));
            job.set(name, input.map_or(value.to_string(), given));
        }
        let out = job.run(script);
        if step["id"] != "run" {
            ok(out);
            continue;
        }
        last = Some(out);
    }
    last.expect("a step that runs litmake")
}

#[test]
fn the_action_runs_a_pipeline_and_says_what_is_new() {
    if !compilers_are_here() {
        return;
    }
    let mut job = Job::new();
    let inputs = [("pipeline", "litmus/quickstart.yaml"), ("packages", "clang-14 clang-16")];
    let out = action(&mut job, &inputs);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read_to_string(job.path("output")).unwrap(), "status=1\n");
    for file in ["report.json", "report.html", "report.sarif", "findings", "pages/bugs.html"] {
        assert!(job.path("litmake-out").join(file).exists(), "{file}");
    }
    let report = std::fs::read_to_string(job.path("litmake-out/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1));
    // The next night: the record has both runs, and nothing fails where that is asked for.
    ok(action(&mut job, &[&inputs[..], &[("fail-on", "never")]].concat()));
    let list = job.run("litmake history list --history litmake-history --json");
    let runs: Value = serde_json::from_slice(&list.stdout).unwrap();
    let runs = runs.as_array().or(runs["runs"].as_array()).unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|r| r["commit"] == "0123abcd"), "{runs:?}");
    // Wrong input always fails.
    let out = action(&mut job, &[("pipeline", "litmus/none.yaml"), ("fail-on", "never")]);
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn the_job_for_gitlab_runs_a_pipeline() {
    if !compilers_are_here() {
        return;
    }
    let template = yaml("templates/litmake.yml");
    let template = &template[".litmake"];
    let mut job = Job::new();
    job.set("CI_PROJECT_DIR", job.path("").display().to_string());
    job.set("CI_COMMIT_SHA", "0123abcd");
    for (name, value) in template["variables"].as_object().unwrap() {
        let value = value.as_str().unwrap().replace("$CI_PROJECT_DIR", &job.env["CI_PROJECT_DIR"]);
        job.set(name, value);
    }
    let lines = |key: &str| {
        let lines = template[key].as_array().unwrap().iter().map(|l| l.as_str().unwrap());
        lines.collect::<Vec<_>>().join("\n")
    };
    let script = format!("{}\n{}", lines("before_script"), lines("script"));
    let out = job.run(&script);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("set LITMAKE_PIPELINE"), "{said}");
    job.set("LITMAKE_PIPELINE", "litmus/quickstart.yaml");
    job.set("LITMAKE_PACKAGES", "clang-14 clang-16");
    let out = job.run(&script);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    for path in [
        "litmake-out/junit.xml",
        "litmake-out/pages/index.html",
        "litmake-cache",
        "litmake-history",
    ] {
        assert!(job.path(path).exists(), "{path}");
    }
}

#[test]
fn packages_have_the_program_and_all_that_belongs_to_it() {
    if !litmake_needs::here("dpkg-deb") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut make = Command::new(Path::new(ROOT).join("scripts/package"));
    make.arg("--binary").arg(program()).arg("--to").arg(dir.path());
    ok(make.output().unwrap());
    let made: Vec<PathBuf> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let ends = |end: &str| {
        let found = made.iter().find(|p| p.to_string_lossy().ends_with(end));
        found.unwrap_or_else(|| panic!("no {end} in {made:?}"))
    };
    let (deb, archive) = (ends(".deb"), ends(".tar.gz"));
    let (system, prefix) = (dir.path().join("system"), dir.path().join("prefix"));
    ok(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&system).output().unwrap());
    std::fs::create_dir(&prefix).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(archive).args(["--strip-components=1", "-C"]).arg(&prefix);
    ok(unpack.output().unwrap());
    let depends = Command::new("dpkg-deb").arg("-f").arg(deb).arg("Depends").output().unwrap();
    assert!(ok(depends).starts_with("libc6 (>= 2."));
    for root in [system.join("usr"), prefix] {
        let installed = root.join("bin/litmake");
        let version = ok(Command::new(&installed).arg("--version").output().unwrap());
        assert_eq!(version, format!("litmake {}\n", env!("CARGO_PKG_VERSION")));
        // It stands alone: models, profiles and pipelines are in it.
        let elsewhere = tempfile::tempdir().unwrap();
        let mut run = Command::new("sh");
        run.args([
            "-ec",
            "litmake pipelines --copy p quickstart && litmake run p/quickstart.yaml source",
        ]);
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        ok(run
            .current_dir(&elsewhere)
            .env("PATH", path)
            .env_remove("LITMAKE_CACHE")
            .output()
            .unwrap());
        for file in [
            "share/man/man1/litmake.1.gz",
            "share/man/man1/litmake-run.1.gz",
            "share/doc/litmake/docs/nightly.md",
            "share/doc/litmake/pipelines/nightly.yaml",
            "share/doc/litmake/LICENSE-MIT",
        ] {
            assert!(root.join(file).is_file(), "{file} is not in {}", root.display());
        }
        for file in [
            "bash-completion/completions/litmake",
            "zsh/vendor-completions/_litmake",
            "fish/vendor_completions.d/litmake.fish",
        ] {
            let text = std::fs::read_to_string(root.join("share").join(file)).unwrap();
            let staged = text.contains("/tmp") || text.contains("target/");
            assert!(text.contains("LITMAKE_COMPLETE") && !staged, "{file}: {text}");
        }
    }
}
