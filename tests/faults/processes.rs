//! Tools that leave processes behind, and programs that leave tools behind.

use serde_json::Value;

use crate::scene::Scene;

/// Starts a process that leaves the tool's group and session and holds its outputs.
const LEAVES: &str = "setsid sleep 600 &";

fn report(s: &Scene, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(s.path(name)).unwrap()).unwrap()
}

#[test]
fn what_a_compiler_leaves_behind_ends_with_it() {
    let s = Scene::new(LEAVES);
    let (with, _, _) = s.run("compiled.yaml", "cache");
    assert_eq!(s.processes(), [""; 0]);
    assert_eq!(s.left(), [""; 0].map(std::path::PathBuf::from));
    s.compiler("");
    let (without, _, _) = s.run("compiled.yaml", "other");
    assert_eq!(with, without);
}

#[test]
fn a_compiler_that_hangs_is_given_up_with_all_that_it_started() {
    let s = Scene::new(&format!("test -f test.c && {{ {LEAVES} sleep 600; }}"));
    let profile = std::fs::read_to_string(s.path("profiles/mine.yaml")).unwrap();
    s.write("profiles/mine.yaml", &(profile + "timeout: 1\n"));
    let (status, text) = s.litmake(&["run", "compiled.yaml", "--report", "report.json"]);
    assert_eq!(status, 3, "{text}");
    assert_eq!(s.processes(), [""; 0]);
    let errors = report(&s, "report.json")["errors"].to_string();
    assert!(errors.contains("hung: it took over 1 s"), "{errors}");
}

#[test]
fn tools_end_with_a_program_that_is_killed_and_folders_with_the_next() {
    let s = Scene::new(&format!("test -f test.c && {{ {LEAVES} sleep 600; }}"));
    let mut child = s.start("compiled.yaml", "cache");
    s.until("the compiler has started", || {
        s.processes().iter().filter(|p| p.ends_with("sleep 600 ")).count() >= 2
    });
    child.kill().unwrap();
    child.wait().unwrap();
    s.nobody_is_left();
    assert!(!s.left().is_empty(), "nobody could remove them");
    s.compiler("");
    s.run("compiled.yaml", "cache");
    assert_eq!(s.left(), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn how_a_tool_ends_is_seen_through_its_supervisor() {
    for (how, said) in [
        ("kill -SEGV $$", "crashed (signal 11)"),
        ("kill -KILL $$", "crashed (signal 9)"),
        ("kill -PIPE $$", "crashed (signal 13)"),
        ("echo no >&2; exit 7", "failed with status 7: no"),
        // It ends its whole group.
        ("kill -KILL 0", "crashed (signal 9)"),
    ] {
        let s = Scene::new(&format!("test -f test.c && {{ {how}; }}"));
        let (status, text) = s.litmake(&["compile", "--profile", "mine", "tests/t1.litmus"]);
        assert_eq!(status, 3, "{text}");
        assert!(text.contains(said), "{how}: {text}");
    }
    let s = Scene::new("");
    s.write("cc.sh", "#!/no/such/interpreter\n");
    let (status, text) = s.litmake(&["compile", "--profile", "mine", "tests/t1.litmus"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("did not start: No such file or directory"), "{text}");
}

/// They are there before the tool starts.
#[test]
fn tools_are_limited() {
    let s =
        Scene::new("test -f test.c && { ulimit -v >&2; ulimit -c >&2; ulimit -t >&2; exit 1; }");
    let profile = std::fs::read_to_string(s.path("profiles/mine.yaml")).unwrap();
    s.write("profiles/mine.yaml", &(profile + "timeout: 10\nmemory: 1000\n"));
    let (_, text) = s.litmake(&["compile", "--profile", "mine", "tests/t1.litmus"]);
    assert!(text.contains("failed with status 1: 1024000"), "{text}");
}
