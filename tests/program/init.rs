//! `litmake init` on machines with other compilers: commands in a folder that is the whole PATH.

#![cfg(target_arch = "x86_64")]

use std::process::Command;

use crate::scratch::{Scratch, streams};

/// A machine with some commands, each a link to one of this machine; none if one is missing here.
fn machine(commands: &[(&str, &str)]) -> Option<Scratch> {
    let s = Scratch::with(&[]);
    std::fs::create_dir(s.path("bin")).unwrap();
    let tools = [("sh", "sh"), ("env", "env"), ("as", "as"), ("ld", "ld"), ("objdump", "objdump")];
    for (name, command) in commands.iter().chain(&tools) {
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path).map(|dir| dir.join(command)).find(|p| p.is_file());
        let Some(found) = found else {
            assert!(!tools.contains(&(*name, *command)), "{command}");
            return None;
        };
        std::os::unix::fs::symlink(found.canonicalize().unwrap(), s.path("bin").join(name))
            .unwrap();
    }
    Some(s)
}

fn init(s: &Scratch, args: &[&str]) -> (i32, String) {
    let (status, out, err) = streams(at(s, &mut s.command(&[&["init"], args].concat())));
    (status, out + &err)
}

fn at<'a>(s: &Scratch, command: &'a mut Command) -> &'a mut Command {
    command.env("PATH", s.path("bin")).env("HOME", s.dir())
}

#[test]
fn a_nightly_is_set_up_with_whatever_compiler_is_there() {
    let gcc = &[("gcc", "gcc-12")][..];
    let clang = &[("clang-14", "clang-14")][..];
    for (compilers, words) in [
        (gcc, &["gcc-x86_64-O2@gcc"][..]),
        (clang, &["clang-x86_64-O2", "clang-aarch64-O2"]),
        (&[gcc, clang].concat(), &["gcc-x86_64-O2@gcc", "clang-riscv64-O2"]),
    ] {
        let Some(s) = machine(compilers) else { continue };
        let (status, said) = init(&s, &["--sample", "12"]);
        assert_eq!(status, 0, "{said}");
        let pipeline = s.read("litmus/nightly.yaml");
        for word in words {
            assert!(said.contains(word) && pipeline.contains(word), "{word}: {said}\n{pipeline}");
        }
        assert!(s.read("litmus/known.json").contains("\"baseline\""));
        assert!(s.read("litmake-out/report.html").contains("<html"));
        // What the first night found is known to the next one.
        let mut again = s.command(&["run", "litmus/nightly.yaml"]);
        let (status, out, err) = streams(at(&s, &mut again));
        assert_eq!(status, 0, "{out}{err}");
    }
}

#[test]
fn a_machine_without_compilers_is_told_what_to_install() {
    let s = machine(&[]).unwrap();
    let (status, said) = init(&s, &[]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("apt-get install clang gcc"), "{said}");
    assert!(!s.path("litmus").exists());
}

/// Nothing is known of a night that judged nothing.
#[test]
fn a_first_night_that_fails_is_no_baseline() {
    let s = machine(&[]).unwrap();
    let (status, said) = init(&s, &["--profile", "gcc-12", "--sample", "2"]);
    assert!(status == 3 && said.contains("nothing is recorded as known"), "{said}");
    assert!(!s.path("litmus/known.json").exists());
}

#[test]
fn the_job_of_a_ci_server_names_the_pipeline_and_the_packages() {
    let Some(s) =
        machine(&[("gcc", "gcc-12"), ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc-12")])
    else {
        return;
    };
    let args = ["--ci", "github", "--source", "me/litmake@v1", "--no-run"];
    let (status, said) = init(&s, &args);
    assert_eq!(status, 0, "{said}");
    let workflow = s.read(".github/workflows/litmake.yml");
    let workflow: serde_json::Value = serde_saphyr::from_str(&workflow).unwrap();
    let step = &workflow["jobs"]["litmus"]["steps"][1];
    assert_eq!(step["uses"], "me/litmake@v1");
    assert_eq!(step["with"]["pipeline"], "litmus/nightly.yaml");
    assert_eq!(step["with"]["packages"], "gcc gcc-aarch64-linux-gnu");
    // The same again changes nothing; a file with another text is never changed.
    assert_eq!(init(&s, &args).0, 0);
    s.write("litmus/nightly.yaml", "mine");
    let (status, said) = init(&s, &args);
    assert!(status == 2 && said.contains("is there already"), "{said}");
    assert_eq!(s.read("litmus/nightly.yaml"), "mine");
    let (status, said) = init(&s, &["ci", "--ci", "gitlab", "--no-run"]);
    assert_eq!(status, 0, "{said}");
    let job = s.read(".gitlab-ci.yml");
    let job: serde_json::Value = serde_saphyr::from_str(&job).unwrap();
    assert_eq!(job["nightly"]["variables"]["LITMAKE_PIPELINE"], "ci/nightly.yaml");
    let local = s.read(".gitlab/litmake.yml");
    assert!(local.contains("\n.litmake:\n"));
    assert!(said.contains("put the place of litmake's repository"), "{said}");
}
