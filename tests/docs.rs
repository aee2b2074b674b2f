//! The docs say what the program does.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

#[test]
fn the_reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let made = litmake::pipeline::reference::reference();
    assert!(
        written == made,
        "docs/reference.md is not current; run `litmake schema reference > docs/reference.md`"
    );
}

/// Runs the blocks of a page that are marked as commands, one after the other, in a folder that has the
/// pipelines. Statuses of 1 are findings.
#[cfg(target_arch = "x86_64")]
fn run_commands(page: &str) -> std::path::PathBuf {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{root}/docs/{page}")).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    let commands: Vec<&str> = blocks.collect();
    assert!(!commands.is_empty(), "{page} has no commands");
    let script = format!(
        "set -e\nlitmake() {{ command litmake \"$@\" || case $?,$1 in 1,run|1,merge|1,check) ;; \
         *) echo \"failed: litmake $*\"; exit 9 ;; esac; }}\n{}\n",
        commands.join("\n")
    );
    let dir = tempfile::tempdir().unwrap().keep();
    if script.contains(" pipelines/") {
        std::os::unix::fs::symlink(format!("{root}/pipelines"), dir.join("pipelines")).unwrap();
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_litmake"));
    let path = std::env::var("PATH").unwrap();
    let out = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&dir)
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env_remove("LITMAKE_CACHE")
        .env_remove("LITMAKE_HISTORY")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    let said = [out.stdout, out.stderr].concat();
    assert!(out.status.success(), "{page}: {}", String::from_utf8_lossy(&said));
    dir
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_of_the_nightly_run_as_written() {
    if !["clang-14", "clang-16", "gcc-12"].iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let dir = run_commands("nightly.md");
    for file in ["pages/index.html", "nightly/pages/matrix.html", "whole.json"] {
        assert!(dir.join(file).is_file(), "{file} is not there");
    }
    // Two nights of one profile, whose compiler was updated in between.
    let folder = litmake::history::folder::Folder::new(&dir.join("nightly/history"));
    let history = litmake::history::lives::History::of(folder.read().unwrap().kept);
    let versions: Vec<String> =
        history.runs.iter().map(litmake::history::tell::compilers).collect();
    assert_eq!(versions.len(), 2);
    assert!(
        versions[0].starts_with("clang 14.") && versions[1].starts_with("clang 16."),
        "{versions:?}"
    );
    std::fs::remove_dir_all(dir).unwrap();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_commands_of_the_tutorial_run_as_written() {
    if !["clang-14", "clang-16", "gcc-12", "aarch64-linux-gnu-gcc-12"]
        .iter()
        .all(|c| litmake_needs::here(c))
    {
        return;
    }
    let dir = run_commands("tutorial.md");
    let known = std::fs::read_to_string(dir.join("known.json")).unwrap();
    assert!(known.contains("idempotent-rmw"), "{known}");
    assert!(std::fs::read_to_string(dir.join("report.html")).unwrap().contains("idempotent-rmw"));
    assert!(dir.join("findings").read_dir().unwrap().next().is_some());
    std::fs::remove_dir_all(dir).unwrap();
}
