//! A folder with pipelines, tests and a compiler, and what can be asked about it from outside.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Store buffering, sequentially consistent.
const SB: &str = include_str!("../common/sb.litmus");

/// Compiles tests, and compares what comes out.
const COMPILED: &str = "stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, compile: { from: tests, profile: mine } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
";

/// Runs no tool.
const SIMULATED: &str = "stages:
  - { name: tests, generate: { arch: C, vocabulary: 'Pod** Rfe Fre Coe', size: 6, threads: 3 } }
  - { name: allowed, simulate: { from: tests } }
";

/// Small reproducible random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(salt: u64) -> Random {
        let seed = std::env::var("LITMAKE_SEED").map_or(20_261_122, |n| n.parse().unwrap());
        println!("seed {seed}");
        Random((seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n.max(1)
    }
}

/// How many rounds a test makes.
pub fn rounds(usual: u64) -> u64 {
    std::env::var("LITMAKE_FAULTS").map_or(1, |n| n.parse::<u64>().unwrap()) * usual
}

pub struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    /// With a compiler that does `first`, then what `cc` does.
    pub fn new(first: &str) -> Scene {
        let s = Scene { dir: tempfile::tempdir().unwrap() };
        s.write("compiled.yaml", COMPILED);
        s.write("simulated.yaml", SIMULATED);
        for i in 0..12 {
            s.write(&format!("tests/t{i}.litmus"), &SB.replace("x, 1", &format!("x, {}", i + 1)));
        }
        s.compiler(first);
        let profile = format!(
            "name: mine\ncompiler: {}\nargs: ['-O1']\narch: X86_64\n",
            s.path("cc.sh").display()
        );
        s.write("profiles/mine.yaml", &profile);
        std::fs::create_dir(s.path("tmp")).unwrap();
        s
    }

    pub fn compiler(&self, first: &str) {
        self.write("cc.sh", &format!("#!/bin/sh\n{first}\nexec cc \"$@\"\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path("cc.sh"), mode).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmake"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("GITHUB_ACTIONS")
            .env_remove("LITMAKE_CACHE")
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null());
        // Where whoever runs the tests ignores a signal, litmake would too.
        // SAFETY: between fork and exec there are only system calls.
        unsafe {
            command.pre_exec(|| {
                for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        command
    }

    pub fn litmake(&self, args: &[&str]) -> (i32, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        (status.code().unwrap_or(-1), text)
    }

    /// Runs a pipeline on a cache: the report, what it said, and how many tasks ran.
    pub fn run(&self, pipeline: &str, cache: &str) -> (String, String, u64) {
        let report = format!("{cache}.json");
        let events = format!("{cache}.jsonl");
        let _ = std::fs::remove_file(self.path(&report));
        let args = ["run", pipeline, "--stable", "--cache", cache, "--report", &report];
        let (status, text) = self.litmake(&[&args[..], &["--events", &events]].concat());
        assert!(status == 0 || status == 1, "{status}: {text}");
        let report = std::fs::read_to_string(self.path(&report)).unwrap();
        (report, text, self.reported(&events))
    }

    /// Starts a run that says what it did in `<cache>.jsonl`.
    pub fn start(&self, pipeline: &str, cache: &str) -> Child {
        let (report, events) = (format!("{cache}.json"), format!("{cache}.jsonl"));
        let args = ["run", pipeline, "-q", "--stable", "--cache", cache, "--report", &report];
        self.command(&[&args[..], &["--events", &events]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// How many tasks have run, as an event file has it.
    pub fn reported(&self, events: &str) -> u64 {
        let text = std::fs::read_to_string(self.path(events)).unwrap_or_default();
        let events = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
        events.map(|e| e["executed"].as_u64().unwrap_or(0)).sum()
    }

    /// The files below a folder.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => out.push(entry.path()),
                }
            }
        }
        out.sort();
        out
    }

    /// Temporary folders that are there now.
    pub fn left(&self) -> Vec<PathBuf> {
        self.path("tmp").read_dir().unwrap().map(|e| e.unwrap().path()).collect()
    }

    /// Processes that run in this scene, or have it in their environment.
    pub fn processes(&self) -> Vec<String> {
        let own = self.dir.path().as_os_str().as_encoded_bytes();
        let has = |bytes: &[u8]| bytes.windows(own.len()).any(|w| w == own);
        let mut out = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            if has(cwd.as_os_str().as_encoded_bytes()) || has(&read("environ")) {
                let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                out.push(format!("{pid}: {line}"));
            }
        }
        out
    }

    /// Waits until no process of this scene is left; those that stay are an error.
    pub fn nobody_is_left(&self) {
        let start = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(600), "{left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(600), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn copy(&self, from: &str, to: &str) {
        let (from, to) = (self.path(from), self.path(to));
        let _ = std::fs::remove_dir_all(&to);
        copy_all(&from, &to);
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_all(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
