//! `run --watch`: an edit runs again what it touches, wherever the edited file lies.

use super::*;

/// A run that stays, and the report that it writes again and again.
struct Watching<'a> {
    scene: &'a Scratch,
    child: std::process::Child,
}

impl<'a> Watching<'a> {
    fn new(scene: &'a Scratch, pipeline: &str) -> Watching<'a> {
        let child = scene
            .command(&["run", pipeline, "--watch", "--report", "report.json", "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Watching { scene, child }
    }

    fn report(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.scene.path("report.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Waits for a report of which something is true.
    fn wait(&self, what: &dyn Fn(&Value) -> bool) -> bool {
        for _ in 0..30_000 {
            if self.report().is_some_and(|r| what(&r)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watching_runs_what_an_edit_touches() {
    let s = project(BUGGY);
    let watching = Watching::new(&s, "p.yaml");
    assert!(watching.wait(&|r| statuses(r).len() == 1));
    s.write("tests/sb.litmus", &SB.replace("seq_cst", "relaxed"));
    assert!(watching.wait(&|r| statuses(r).is_empty()), "the edit was seen");
    let after = watching.report().map(|r| executed(&r));
    assert!(after.is_some_and(|n| n <= 8), "only what the edit touches ran: {after:?}");
    // Its own report and cache are no edits, nor is a touch.
    let written = || std::fs::metadata(s.path("report.json")).unwrap().modified().unwrap();
    let mut last = written();
    let mut rests = || {
        std::thread::sleep(Duration::from_millis(400));
        std::mem::replace(&mut last, written()) == last
    };
    assert!((0..1500).any(|_| rests()), "it comes to rest");
    s.write("tests/later.litmus", MP);
    assert!(watching.wait(&|r| r["stages"][0]["tasks"] == 3), "a new file is seen");
}

/// The stages of which anything ran.
fn ran(report: &Value) -> Vec<&str> {
    let stages = report["stages"].as_array().unwrap().iter();
    stages.filter(|s| s["executed"] != 0).map(|s| s["name"].as_str().unwrap()).collect()
}

#[test]
fn watching_sees_whatever_the_pipeline_is_made_of() {
    let s = project(SOUND);
    s.write(
        "deep/p.yaml",
        "profiles: ../compilers/mine.yaml
stages:
  - { name: named, generate: { files: '@../lists/all' } }
  - { name: found, generate: { files: '../folder/**/*.litmus' } }
  - { name: source, simulate: { from: named, model: ../models/own.cat } }
  - { name: code, compile: { from: named, profile: own } }
",
    );
    s.write("lists/all", "../elsewhere/sb.litmus\n");
    s.write("elsewhere/sb.litmus", SB);
    s.write("folder/one.litmus", SB);
    s.write("models/own.cat", "\"Own\"\ninclude \"parts/common.cat\"\nacyclic common as own\n");
    s.write("models/parts/common.cat", "\"Common\"\nlet common = po\n");
    s.write("compilers/mine.yaml", "name: own\nextends: parents/parent\narch: X86_64\n");
    let parent = |level: &str| {
        let compiler = s.path("cc.sh").display().to_string();
        format!("name: parent\ncompiler: {compiler}\nargs: ['-{level}']\narch: X86_64\n")
    };
    s.write("compilers/parents/parent.yaml", &parent("O1"));
    let watching = Watching::new(&s, "deep/p.yaml");
    let runs = |what: &str, expected: &[&str]| {
        let seen = watching.wait(&|r| ran(r) == expected);
        assert!(seen, "{what}: {:?}", watching.report().map(|r| r["stages"].clone()));
    };
    runs("the first time", &["source", "code"]);
    s.write("models/parts/common.cat", "\"Common\"\nlet common = po | rf\n");
    runs("a file that a model includes", &["source"]);
    s.write("compilers/parents/parent.yaml", &parent("O2"));
    runs("a profile's parent", &["code"]);
    s.write("elsewhere/sb.litmus", &SB.replace("seq_cst", "relaxed"));
    runs("a test that a list names", &["source", "code"]);
    s.write("models/own.cat", "\"Own\"\nacyclic po as own\n");
    runs("a model", &["source"]);
    let tasks = |stage: usize, n: u64| {
        let seen = watching.wait(&|r| r["stages"][stage]["tasks"] == n);
        assert!(seen, "{:?}", watching.report().map(|r| r["stages"].clone()));
    };
    s.write("folder/new/two.litmus", MP);
    tasks(1, 2);
    s.write("lists/all", "../elsewhere/sb.litmus\n../folder/one.litmus\n");
    tasks(0, 2);
    // What is wrong is said, and what was there before stays until it is mended.
    s.write("models/own.cat", "\"Own\"\nacyclic nothing as own\n");
    s.write("folder/new/three.litmus", MP);
    tasks(1, 3);
    s.write("models/own.cat", "\"Own\"\nacyclic po | rf as own\n");
    runs("a model that was mended", &["source"]);
}
