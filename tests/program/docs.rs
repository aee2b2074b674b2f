//! The docs say what the program does.

use crate::promoted;
#[cfg(target_arch = "x86_64")]
use crate::scratch::{Scratch, streams};

#[test]
fn the_reference_is_current() {
    promoted::is("docs/reference.md", &litmake::pipeline::reference::reference());
}

/// The blocks of a page that are marked with a word.
#[cfg(target_arch = "x86_64")]
fn blocks(page: &str, word: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{}/docs/{page}", env!("CARGO_MANIFEST_DIR")));
    let text = text.unwrap();
    let blocks = text.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(own, _)| *own == word).map(|(_, lines)| lines.to_string()).collect()
}

/// Runs the blocks of a page that are marked as commands, one after the other, in a folder that has the
/// pipelines. Statuses of 1 are findings. Returns the folder and what was printed.
#[cfg(target_arch = "x86_64")]
fn run_commands(page: &str) -> (Scratch, String) {
    let root = env!("CARGO_MANIFEST_DIR");
    let commands = blocks(page, "sh");
    assert!(!commands.is_empty(), "{page} has no commands");
    let script = format!(
        "set -e\nlitmake() {{ command litmake \"$@\" || case $?,$1 in 1,run|1,report|1,check) ;; \
         *) echo \"failed: litmake $*\"; exit 9 ;; esac; }}\n{}\n",
        commands.join("\n")
    );
    let s = Scratch::with(&[]);
    if script.contains(" pipelines/") {
        std::os::unix::fs::symlink(format!("{root}/pipelines"), s.path("pipelines")).unwrap();
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_litmake")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let (status, out, err) = streams(s.program("sh", &["-c", &script]).env("PATH", path));
    assert_eq!(status, 0, "{page}: {out}{err}");
    (s, out)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_of_the_nightly_run_as_written() {
    if !["clang-14", "clang-16", "gcc-12"].iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let (s, _) = run_commands("nightly.md");
    for file in ["pages/index.html", "nightly/pages/matrix.html", "whole.json"] {
        assert!(s.path(file).is_file(), "{file} is not there");
    }
    // Two nights of one profile, whose compiler was updated in between.
    let folder = litmake::history::folder::Folder::new(&s.path("nightly/history"));
    let history = litmake::history::lives::History::of(folder.read().unwrap().kept);
    let versions: Vec<String> =
        history.runs.iter().map(litmake::history::tell::compilers).collect();
    assert_eq!(versions.len(), 2);
    assert!(
        versions[0].starts_with("clang 14.") && versions[1].starts_with("clang 16."),
        "{versions:?}"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_of_the_tutorial_run_as_written() {
    if !["clang-14", "clang-16", "gcc-12"].iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let (s, _) = run_commands("tutorial.md");
    let known = s.read("known.json");
    assert!(known.contains("idempotent-rmw"), "{known}");
    assert!(s.read("report.html").contains("idempotent-rmw"));
    assert!(s.path("findings").read_dir().unwrap().next().is_some());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_about_a_finding_run_as_written() {
    if !["clang-14", "clang-16"].iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let (s, said) = run_commands("reading-a-finding.md");
    let said: Vec<&str> = said.lines().map(str::trim).collect();
    let quoted = blocks("reading-a-finding.md", "");
    assert!(quoted.len() > 4, "{quoted:?}");
    for line in quoted.iter().flat_map(|block| block.lines()) {
        assert!(said.contains(&line.trim()), "{line} is not in {said:#?}");
    }
    assert!(s.read("finding.html").contains("a relaxed read-modify-write becomes a load"));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_about_existing_code_run_as_written() {
    if !litmake_needs::here("gcc-12") {
        return;
    }
    let (s, _) = run_commands("existing-code.md");
    let (status, test) =
        s.litmake(&["lift", "post.o", "-f", "send", "-f", "receive", "--result", "P1"]);
    assert_eq!(status, 0, "{test}");
    s.write("post.litmus", &test);
    // What the page says: the reader never sees the flag and misses the data.
    let (_, said) = s.litmake(&["sim", "post.litmus"]);
    assert!(said.contains("States 2"), "{said}");
}
