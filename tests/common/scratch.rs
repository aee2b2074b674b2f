//! A folder in which a test runs the program, and what the program said there.
//!
//! It does not know what is tested.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Store buffering, sequentially consistent.
pub const SB: &str = include_str!("sb.litmus");

/// LLVM 56450: an update that changes nothing becomes a load (clang 13 to 15).
pub const IDEMPOTENT: &str = include_str!("idempotent.litmus");

/// A folder of one test, which is gone after it.
pub struct Scratch {
    dir: tempfile::TempDir,
    /// The folder of the programs that can be found, where these are not all of the machine's.
    programs: Option<tempfile::TempDir>,
}

/// Whether a program is a compiler with a version in its name.
fn is_numbered(name: &str) -> bool {
    let Some((stem, version)) = name.rsplit_once('-') else { return false };
    let kind = stem.rsplit('-').next().unwrap_or_default();
    let is_compiler = ["clang", "clang++", "gcc", "g++"].contains(&kind);
    is_compiler && version.bytes().all(|b| b.is_ascii_digit())
}

impl Scratch {
    /// One with some files.
    pub fn with(files: &[(&str, &str)]) -> Scratch {
        let out = Scratch { dir: tempfile::tempdir().expect("a temporary folder"), programs: None };
        files.iter().for_each(|(name, text)| out.write(name, text));
        out
    }

    /// The same on a machine that has no numbered compilers but some. Every compiler that is installed is asked
    /// whether it has a bug that was found, and most tests are not about that.
    #[allow(dead_code, reason = "several programs of tests share it, and not each uses all of it")]
    pub fn among(compilers: &[&str], files: &[(&str, &str)]) -> Scratch {
        let programs = tempfile::tempdir().expect("a temporary folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).filter_map(|folder| folder.read_dir().ok());
        for program in folders.flatten().flatten() {
            let name = program.file_name();
            let name = name.to_string_lossy();
            if !is_numbered(&name) || compilers.contains(&&*name) {
                // The first of a name is the one that is found.
                let _ = std::os::unix::fs::symlink(program.path(), programs.path().join(&*name));
            }
        }
        Scratch { programs: Some(programs), ..Scratch::with(files) }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes a file, and the folders above it. What begins like a script can be run.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{name}: {e}"));
        if text.starts_with("#!") {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, mode).expect("a mode");
        }
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A program in the folder. It hears nothing of how whoever runs the tests uses litmake.
    pub fn program(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir()).stdin(Stdio::null());
        command.env_remove("GITHUB_ACTIONS");
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"LITMAKE") {
                command.env_remove(name);
            }
        }
        if let Some(programs) = &self.programs {
            // More compilers lie below the home of the user.
            command.env("PATH", self.search_path()).env("HOME", programs.path());
        }
        command
    }

    /// The folders in which programs are found.
    pub fn search_path(&self) -> String {
        match &self.programs {
            Some(programs) => programs.path().display().to_string(),
            None => std::env::var("PATH").expect("a search path"),
        }
    }

    /// The program that is tested.
    pub fn command(&self, args: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_litmake"), args)
    }

    /// A shell in the folder, as a reader of a finding has it: the program that is tested is `LITMAKE`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "findings are of x86-64"))]
    pub fn shell(&self, args: &[&str]) -> Command {
        let mut command = self.program("sh", args);
        command.env("LITMAKE", env!("CARGO_BIN_EXE_litmake"));
        command
    }

    /// Its status, and what it said on standard output and behind that on standard error.
    pub fn litmake(&self, args: &[&str]) -> (i32, String) {
        let (status, out, err) = self.streams(args);
        (status, out + &err)
    }

    /// Its status, standard output and standard error.
    pub fn streams(&self, args: &[&str]) -> (i32, String, String) {
        streams(&mut self.command(args))
    }

    /// Its status, and the JSON that it printed.
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let (status, out, err) = self.streams(args);
        (status, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}\n{out}\n{err}")))
    }

    /// Runs `p.yaml`: its status, and the report.
    pub fn run(&self, more: &[&str]) -> (i32, Value) {
        let args = [&["run", "p.yaml", "--report", "report.json"], more].concat();
        let (status, said) = self.litmake(&args);
        let report = std::fs::read_to_string(self.path("report.json"));
        let report = report.unwrap_or_else(|_| panic!("no report: {said}"));
        (status, serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e}\n{report}")))
    }
}

/// What became of a command: its status (-1 where a signal ended it), standard output and standard error.
pub fn streams(command: &mut Command) -> (i32, String, String) {
    let out = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}
