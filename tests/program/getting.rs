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
        let scratch = Scratch::among(&["clang-14", "clang-16"], &[]);
        let (status, said) = scratch.litmake(&["pipelines", "--copy", "litmus", "quickstart"]);
        assert_eq!(status, 0, "{said}");
        let path = scratch.search_path();
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
        // A server leaves out the steps behind a failed one, except those that always run.
        let is_red = last.as_ref().is_some_and(|out: &Output| !out.status.success());
        if is_red && step["if"] != "always()" {
            continue;
        }
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

/// A pull request brings a cache, a record and a link in the place of results.
#[test]
fn the_action_believes_nothing_of_a_foreign_tree() {
    if !compilers_are_here() {
        return;
    }
    let mut job = Job::new();
    let outside = Scratch::with(&[("kept", "kept")]);
    job.set("RUNNER_TEMP", outside.dir().display().to_string());
    job.scratch.write("litmake-cache/segments/forged", "forged");
    job.scratch.write("litmake-history/litmake-known.json", "forged");
    std::os::unix::fs::symlink(outside.dir(), job.path("litmake-out")).unwrap();
    let inputs = [("pipeline", "litmus/quickstart.yaml"), ("foreign", "true")];
    let out = action(&mut job, &inputs);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(outside.path("litmake-cache/segments").is_dir(), "the cache lies outside");
    assert!(!outside.path("report.json").exists(), "results stay in the tree");
    assert!(job.path("litmake-out/report.json").is_file());
    let record = std::fs::read_dir(job.path("litmake-history")).unwrap().count();
    assert_eq!(record, 1, "nothing is added to its record");
}

/// The script of the job for GitLab, and its variables.
fn gitlab(template: &Value, job: &Job) -> (String, BTreeMap<String, String>) {
    let folder = job.path("").display().to_string();
    let mut env = BTreeMap::from([
        ("CI_PROJECT_DIR".to_string(), folder.clone()),
        ("CI_COMMIT_SHA".to_string(), "0123abcd".to_string()),
    ]);
    for (name, value) in template["variables"].as_object().unwrap() {
        env.insert(name.clone(), value.as_str().unwrap().replace("$CI_PROJECT_DIR", &folder));
    }
    let lines = |key: &str| {
        let lines = template[key].as_array().unwrap().iter().map(|l| l.as_str().unwrap());
        lines.collect::<Vec<_>>().join("\n")
    };
    (format!("{}\n{}", lines("before_script"), lines("script")), env)
}

#[test]
fn the_job_for_gitlab_runs_a_pipeline() {
    if !compilers_are_here() {
        return;
    }
    let template = yaml("templates/litmake.yml");
    let template = &template[".litmake"];
    let mut job = Job::new();
    let (script, env) = gitlab(template, &job);
    job.env.extend(env);
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

/// A pipeline over one profile, whose compiler is a script that a test exchanges.
const NIGHTS: &str = "name: nights
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: weaker, simulate: { from: tests, model: rc11-lb } }
  - { name: code, compile: { from: tests, profile: head.yaml } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, also: weaker, target: target } }
";

const MP: &str = "C mp
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y) {
  int a = atomic_load_explicit(y, memory_order_acquire);
  int b = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:a=1 /\\ 1:b=0)
";

/// A compiler that changes the code of tests before it compiles them.
fn compiler(change: &str) -> String {
    format!("#!/bin/sh\ntest -f test.c && sed -i '{change}' test.c\nexec cc \"$@\"\n")
}

/// Takes sequentially consistent stores for relaxed ones.
const ONE_BUG: &str = "s/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/";
/// The same, and swaps the stores of `MP`.
const TWO_BUGS: &str = "s/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/;\
/memory_order_relaxed);/{N;s/\\(.*memory_order_relaxed);\\)\\n\\(.*memory_order_release);\\)/\\2\\n\\1/}";

/// Three nights on fresh machines: each has the project as git has it, and what a CI server keeps.
struct Nights {
    scratch: Scratch,
    kept: Vec<&'static str>,
}

impl Nights {
    fn new(kept: &[&'static str]) -> Nights {
        let scratch = Scratch::with(&[]);
        let git = |args: &[&str]| {
            ok(scratch.program("git", args).output().unwrap());
        };
        git(&["init", "-q", "--bare", "origin.git"]);
        Nights { scratch, kept: kept.to_vec() }
    }

    /// The folder of a night, with the compiler of that night.
    fn night(&self, n: usize, change: &str) -> Job {
        let mut job = Job::new();
        for (name, text) in [("tests/sb.litmus", crate::scratch::SB), ("tests/mp.litmus", MP)] {
            job.scratch.write(name, text);
        }
        job.scratch.write("nights.yaml", NIGHTS);
        job.scratch.write("cc.sh", &compiler(change));
        job.scratch.write(
            "head.yaml",
            "name: head\ncompiler: ./cc.sh\nargs: ['-O2']\narch: X86_64\nmodel: x86tso\n",
        );
        let origin = self.scratch.path("origin.git").display().to_string();
        for args in [&["init", "-q"][..], &["remote", "add", "origin", &origin]] {
            ok(job.scratch.program("git", args).output().unwrap());
        }
        // What the cache of the CI server kept from the night before.
        let cache = self.scratch.path("cache");
        for name in self.kept.iter().filter(|name| n > 1 && cache.join(name).exists()) {
            let to = job.path("").join(name);
            copy(&cache.join(name), &to);
        }
        job.set("GITHUB_PATH", job.path("path").display().to_string());
        job
    }

    /// The end of a night: the CI server keeps what the steps say.
    fn end(&self, job: &Job) {
        for name in self.kept.iter().filter(|name| job.path(name).exists()) {
            copy(&job.path(name), &self.scratch.path("cache").join(name));
        }
    }

    /// The runs in the record on the branch.
    fn runs(&self) -> usize {
        let args = ["--git-dir", "origin.git", "ls-tree", "-r", "--name-only", "litmake-history"];
        let said = ok(self.scratch.program("git", &args).output().unwrap());
        said.lines().filter(|l| l.starts_with("runs/")).count()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    ok(Command::new("cp").args(["-rT"]).arg(from).arg(to).output().unwrap());
}

/// The bugs that a report calls new.
fn new_bugs(job: &Job) -> usize {
    let report = std::fs::read_to_string(job.path("litmake-out/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    report["findings"].as_array().unwrap().iter().filter(|f| f["status"] == "new").count()
}

const STATUSES: [(&str, i32, usize); 3] = [(ONE_BUG, 1, 1), (ONE_BUG, 0, 0), (TWO_BUGS, 1, 1)];

/// The first night is red, the second shows the same, the third has a compiler with one bug more.
#[test]
fn three_nights_of_the_action_are_red_green_and_red_for_what_is_new() {
    // Red or green, the cache is saved by a step that always runs.
    let file = yaml("action.yml");
    let steps = file["runs"]["steps"].as_array().unwrap();
    let step = |uses: &str| {
        let found = steps.iter().find(|s| s["uses"].as_str().is_some_and(|u| u.starts_with(uses)));
        found.unwrap_or_else(|| panic!("no step uses {uses}"))
    };
    assert_eq!(step("actions/upload-artifact@")["if"], "always()");
    assert_eq!(step("actions/cache/save@")["if"], "always() && inputs.foreign != 'true'");
    assert_eq!(step("actions/cache/restore@")["if"], "inputs.foreign != 'true'");
    assert_eq!(
        step("actions/cache/save@")["with"]["key"],
        step("actions/cache/restore@")["with"]["key"]
    );
    let nights = Nights::new(&["litmake-cache"]);
    for (n, (change, status, new)) in STATUSES.into_iter().enumerate() {
        let mut job = nights.night(n + 1, change);
        let inputs = [("pipeline", "nights.yaml"), ("pages-branch", "pages")];
        let out = action(&mut job, &inputs);
        let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
        assert_eq!(out.status.code(), Some(status), "night {}: {said}", n + 1);
        assert_eq!(new_bugs(&job), new, "night {}: {said}", n + 1);
        nights.end(&job);
        assert_eq!(nights.runs(), n + 1);
    }
    let args = ["--git-dir", "origin.git", "show", "pages:index.html"];
    assert!(ok(nights.scratch.program("git", &args).output().unwrap()).contains("<html"));
}

#[test]
fn three_nights_of_the_job_for_gitlab_are_red_green_and_red_for_what_is_new() {
    let template = yaml("templates/litmake.yml");
    let template = &template[".litmake"];
    assert_eq!(
        (&template["cache"]["when"], &template["artifacts"]["when"]),
        (&"always".into(), &"always".into())
    );
    let nights = Nights::new(&["litmake-cache"]);
    for (n, (change, status, new)) in STATUSES.into_iter().enumerate() {
        let mut job = nights.night(n + 1, change);
        let (script, env) = gitlab(template, &job);
        job.env.extend(env);
        job.set("LITMAKE_PIPELINE", "nights.yaml");
        job.set("LITMAKE_HISTORY_REMOTE", nights.scratch.path("origin.git").display().to_string());
        let out = job.run(&script);
        let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
        assert_eq!(out.status.code(), Some(status), "night {}: {said}", n + 1);
        assert_eq!(new_bugs(&job), new, "night {}: {said}", n + 1);
        assert!(job.path("public/index.html").exists());
        nights.end(&job);
        assert_eq!(nights.runs(), n + 1);
    }
}

/// A wheel brings the program as a command, and takes nothing from a network.
fn installed_by_pip(wheel: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--disable-pip-version-check",
        "--prefix",
    ]);
    let version = Command::new("python3").args(["-m", "pip", "--version"]).output().unwrap();
    if !litmake_needs::holds("pip", version.status.success()) {
        return;
    }
    ok(pip.arg(dir.path()).arg(wheel).output().unwrap());
    let command = dir.path().join("bin/litmake");
    let version = ok(Command::new(&command).arg("--version").output().unwrap());
    assert_eq!(version, format!("litmake {}\n", env!("CARGO_PKG_VERSION")));
    // The reader's own test, judged by what is there: three commands.
    let s = Scratch::among(&["clang-14"], &[("mine.litmus", crate::scratch::IDEMPOTENT)]);
    let mut check = s.program(&command, &["check", "mine.litmus", "-p", "clang-14"]);
    let (status, out, err) = crate::scratch::streams(&mut check);
    let found = if litmake_needs::here("clang-14") { 1 } else { return };
    assert!(status == found && out.contains("1 finding"), "{out}{err}");
    let site =
        ok(Command::new("find").arg(dir.path()).args(["-name", "litmake.py"]).output().unwrap());
    let site = Path::new(site.trim()).parent().unwrap().to_path_buf();
    let said = ok(Command::new("python3")
        .args(["-c", NOTEBOOK])
        .arg(crate::scratch::IDEMPOTENT)
        .env("PATH", s.search_path())
        .env("PYTHONPATH", site)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(s.dir())
        .output()
        .unwrap());
    assert_eq!(said, "3 False forbidden\n1 1\nrefuted holds\nno test\n");
}

/// The cells of a notebook: each function of the module, and an error.
const NOTEBOOK: &str = r#"
import sys, litmake
def sb(order):
    threads = [(0, "x", "y"), (1, "y", "x")]
    body = ("P{} (atomic_int* x, atomic_int* y) {{ atomic_store_explicit({}, 1, memory_order_{o});"
            " int r = atomic_load_explicit({}, memory_order_{o}); }}\n")
    return "C sb\n{}\n" + "".join(body.format(*thread, o=order) for thread in threads) + "exists (0:r=0 /\\ 1:r=0)\n"
got = litmake.simulate(sb("seq_cst"))
print(len(got["states"]), got["holds"], "forbidden" if "is forbidden" in litmake.explain(sb("seq_cst")) else "?")
report = litmake.check(sys.argv[1], "clang-14")
print(len(report["findings"]), litmake.simulate(sb("relaxed"), "rc11")["positive"])
def store(order, name):
    return f"define void @{name}(ptr %x) {{\n  store atomic i32 1, ptr %x {order}, align 4\n  ret void\n}}\n"
change = store("release", "src") + store("monotonic", "tgt")
same = litmake.tv(store("monotonic", "f"), store("release", "f"))
print(litmake.tv(change)["pairs"][0]["verdict"], same["pairs"][0]["verdict"])
try:
    litmake.simulate("nothing")
except litmake.Error as error:
    print("no test" if "error" in str(error) else error)
"#;

#[test]
fn packages_have_the_program_and_all_that_belongs_to_it() {
    if !litmake_needs::here("dpkg-deb") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut make = Command::new(Path::new(ROOT).join("scripts/package"));
    make.arg("--binary").arg(program()).arg("--to").arg(dir.path());
    // A program with checks in it is large, and nobody downloads this one.
    make.env("DPKG_DEB_COMPRESSOR_LEVEL", "0").env("GZIP", "-1");
    ok(make.output().unwrap());
    let made: Vec<PathBuf> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let ends = |end: &str| {
        let found = made.iter().find(|p| p.to_string_lossy().ends_with(end));
        found.unwrap_or_else(|| panic!("no {end} in {made:?}"))
    };
    let (deb, archive) = (ends(".deb"), ends(".tar.gz"));
    if litmake_needs::here("python3") {
        installed_by_pip(ends(".whl"));
    }
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
        run.args(["-ec", "litmake run quickstart source"]);
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
