//! Runs on trees that others wrote (`--foreign`): whatever such a tree tries, nothing outside of it
//! is read, written, run or believed.

use std::path::PathBuf;

use crate::scratch::{SB, Scratch, streams};

/// What lies outside and must not get out.
const SECRET: &str = "C secret
{ hunter2 }
P0 (atomic_int* x) { nonsense hunter2 }
exists (0:r0=1)
";

/// A tree in a folder, with files beside it.
struct Tree(Scratch);

impl Tree {
    fn new() -> Tree {
        let out = Tree(Scratch::with(&[]));
        out.0.write("outside/secret.litmus", SECRET);
        out.0.write("outside/secret.cat", "\"hunter2\" nonsense hunter2\n");
        out.0.write("outside/secret.yaml", "name: hunter2\nhunter2: 1\n");
        out.0.write("outside/list", "hunter2.litmus\n");
        out.0.write("tree/sb.litmus", SB);
        out
    }

    fn at(&self, name: &str) -> String {
        self.0.path(name).display().to_string()
    }

    fn pipeline(&self, text: &str) {
        self.0.write("tree/p.yaml", &text.replace('%', &self.at("outside")));
    }

    fn link(&self, name: &str, to: &str) {
        std::os::unix::fs::symlink(self.0.path(to), self.0.path(name)).unwrap();
    }

    fn run(&self, more: &[&str]) -> (i32, String) {
        let cache = self.at("cache");
        let args = ["run", "p.yaml", "--foreign", "--cache", &cache, "--report", "out.json"];
        let mut command = self.0.command(&[&args[..], more].concat());
        command.current_dir(self.0.path("tree")).env("HUNTER", "hunter2");
        command.env("HOME", self.0.dir());
        let (status, out, err) = streams(&mut command);
        let report = std::fs::read_to_string(self.0.path("tree/out.json")).unwrap_or_default();
        (status, format!("{out}\n{err}\n{report}"))
    }
}

/// Simulates tests from some words.
fn simulates(files: &str) -> String {
    format!(
        "name: p\nstages:\n  - {{ name: tests, generate: {{ files: [{files}] }} }}\n  \
         - {{ name: source, simulate: {{ from: tests, model: rc11 }} }}\n"
    )
}

#[test]
fn a_tree_that_asks_for_nothing_is_run() {
    let tree = Tree::new();
    tree.pipeline(&simulates("sb.litmus"));
    let (status, said) = tree.run(&[]);
    assert_eq!(status, 0, "{said}");
    tree.0.write("tree/in/sb.litmus", SB);
    tree.link("tree/link.litmus", "tree/sb.litmus");
    tree.0.write("tree/list", "in/sb.litmus\n");
    std::os::unix::fs::symlink("sb.litmus", tree.0.path("tree/near.litmus")).unwrap();
    for files in ["in", "'*.litmus'", "'@list'", "./in/../sb.litmus", "near.litmus"] {
        let _ = std::fs::remove_file(tree.0.path("tree/link.litmus"));
        tree.pipeline(&simulates(files));
        let (status, said) = tree.run(&[]);
        assert_eq!(status, 0, "{files}: {said}");
    }
}

#[test]
fn nothing_outside_is_read() {
    let simulates_with = |model: &str| {
        format!(
            "name: p\nstages:\n  - {{ name: tests, generate: {{ files: sb.litmus }} }}\n  \
             - {{ name: source, simulate: {{ from: tests, model: {model} }} }}\n"
        )
    };
    let attempts = [
        simulates("'%/secret.litmus'"),
        simulates("../outside/secret.litmus"),
        simulates("../outside"),
        simulates("'../outside/*.litmus'"),
        simulates("'%/**/*.litmus'"),
        simulates("a-link.litmus"),
        simulates("'a-*.litmus'"),
        simulates("folder-link"),
        simulates("folder-link/secret.litmus"),
        simulates("'folder-link/*'"),
        simulates("'@../outside/list'"),
        simulates("'@list-link'"),
        simulates("'@list-of-others'"),
        simulates("/proc/self/environ"),
        simulates("/proc/self/cwd/../outside/secret.litmus"),
        simulates("/dev/fd/0"),
        simulates_with("'%/secret.cat'"),
        simulates_with("../outside/secret.cat"),
        simulates_with("model-link.cat"),
        simulates_with("includes.cat"),
        simulates_with("includes-link.cat"),
        format!("include: ['%/secret.yaml']\n{}", simulates("sb.litmus")),
        format!("include: [../outside/secret.yaml]\n{}", simulates("sb.litmus")),
        format!("include: [pipeline-link.yaml]\n{}", simulates("sb.litmus")),
        format!("baseline: '%/secret.yaml'\n{}", simulates("sb.litmus")),
        format!("baseline: pipeline-link.yaml\n{}", simulates("sb.litmus")),
    ];
    for attempt in attempts {
        let tree = Tree::new();
        tree.link("tree/a-link.litmus", "outside/secret.litmus");
        tree.link("tree/folder-link", "outside");
        tree.link("tree/list-link", "outside/list");
        tree.link("tree/model-link.cat", "outside/secret.cat");
        tree.link("tree/pipeline-link.yaml", "outside/secret.yaml");
        tree.0.write("tree/list-of-others", "../outside/secret.litmus\n");
        let path = tree.at("outside/secret.cat");
        tree.0.write("tree/includes.cat", &format!("\"m\"\ninclude \"{path}\"\n"));
        tree.0.write("tree/includes-link.cat", "\"m\"\ninclude \"model-link.cat\"\n");
        tree.pipeline(&attempt);
        let (status, said) = tree.run(&[]);
        assert!(status > 1, "{attempt}: {status}\n{said}");
        assert!(!said.contains("hunter2"), "{attempt}\n{said}");
        assert!(said.contains("--foreign"), "the refusal says why: {attempt}\n{said}");
    }
}

#[test]
fn nothing_outside_is_written() {
    for (name, options) in [
        ("out.json", &[][..]),
        ("out.xml", &["--junit", "out.xml"]),
        ("events", &["--events", "events"]),
        ("in/out.html", &["--html", "in/out.html"]),
    ] {
        let tree = Tree::new();
        tree.0.write("outside/kept", "kept");
        tree.pipeline(&simulates("sb.litmus"));
        match name.split_once('/') {
            Some((folder, file)) => {
                tree.link(&format!("tree/{folder}"), "outside");
                std::fs::rename(tree.0.path("outside/kept"), tree.0.path("outside").join(file))
                    .unwrap();
            }
            None => tree.link(&format!("tree/{name}"), "outside/kept"),
        }
        let (status, said) = tree.run(options);
        assert!(status > 1 && said.contains("--foreign"), "{name}: {said}");
        let kept = ["kept", "out.html"].map(|name| tree.0.path("outside").join(name));
        let kept = kept.iter().find_map(|path| std::fs::read_to_string(path).ok());
        assert_eq!(kept.as_deref(), Some("kept"), "{name}");
    }
}

#[test]
fn the_environment_is_hidden() {
    let tree = Tree::new();
    let text = simulates("'${env.HUNTER}.litmus'");
    tree.pipeline(&format!("env: [HUNTER]\n{text}"));
    let (status, said) = tree.run(&[]);
    assert!(status > 1 && !said.contains("hunter2"), "{status}: {said}");
    let (_, said) = tree.run(&["--foreign-env", "HUNTER"]);
    assert!(said.contains("hunter2"), "whoever names it may show it: {said}");
}

#[test]
fn nothing_of_the_tree_is_run_or_believed() {
    let compiles = |profile: &str| {
        format!(
            "name: p\nstages:\n  - {{ name: tests, generate: {{ files: sb.litmus }} }}\n  \
             - {{ name: code, compile: {{ from: tests, profile: '{profile}' }} }}\n"
        )
    };
    let tree = Tree::new();
    let ran: PathBuf = tree.0.path("ran");
    let script = format!("#!/bin/sh\ntouch {}\nexec gcc \"$@\"\n", ran.display());
    for name in ["cc.sh", "build/bin/clang", "build/bin/gcc", "toolchains/zig-0.13.0/ziglang/zig"] {
        tree.0.write(&format!("tree/{name}"), &script);
    }
    let profile = "name: mine\narch: X86_64\ncompiler: ./cc.sh\nargs: [-O2]\n";
    tree.0.write("tree/profiles/mine.yaml", profile);
    tree.0.write("tree/profiles/gcc.yaml", &profile.replace("mine", "gcc-12-x86-O2"));
    for profile in [
        "mine",
        "profiles/mine.yaml",
        "clang-aarch64-O2@./build",
        "clang-aarch64-O2@build",
        "clang-aarch64-O2@sh",
        "zig-0.13.0-aarch64-v8a-O2",
    ] {
        tree.pipeline(&compiles(profile));
        tree.run(&[]);
        assert!(!ran.exists(), "{profile}");
    }
    tree.pipeline(&simulates("sb.litmus"));
    for cache in ["cache", "./some/cache", tree.at("tree/cache").as_str()] {
        let args = ["run", "p.yaml", "--foreign", "--cache", cache];
        let (status, _, err) = streams(tree.0.command(&args).current_dir(tree.0.path("tree")));
        assert_eq!(status, 2, "{err}");
        assert!(err.contains("not believed with --foreign"), "{err}");
    }
    let args = ["run", "p.yaml", "--foreign"];
    let (status, _, err) = streams(tree.0.command(&args).current_dir(tree.0.path("tree")));
    assert!(status == 2 && err.contains("--cache"), "{err}");
}
