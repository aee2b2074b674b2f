//! Builds programs that run tests. A program has many tests, so that a compiler starts once for
//! all; a batch that fails is halved until the test to blame is found.
//!
//! Compilers run as in `toolchain`, with a time limit and a closed environment. This module does
//! not know models.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::emit::{self, Code};
use super::environment::Environment;
use super::machine::Machine;
use litmake_base::failure::Failure;
use litmake_base::stop::Stopping;
use litmake_lang::c11::emit::HEADER;
use litmake_litmus::Arch;
use litmake_profile::Profile;
use litmake_profile::mapping::Table;
use litmake_toolchain::bench::PLAIN;
use litmake_toolchain::compile::{arguments, request};
use litmake_toolchain::fingerprint::not_installed;
use litmake_toolchain::process::{self};
use litmake_toolchain::runtime::Runtime;
use litmake_toolchain::scratch::Scratch;
use litmake_toolchain::trouble;
use litmake_toolchain::{execute, table};

pub(super) const HARNESS_H: &str = include_str!("harness/harness.h");
pub(super) const HARNESS_C: &str = include_str!("harness/harness.c");
const BARE_C: &str = include_str!("harness/bare.c");

/// A program on disk, with the temporary folder that holds it.
#[derive(Debug)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    folder: Arc<Scratch>,
}

impl Program {
    /// A folder for files that the program reads.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Builds programs for a machine with a profile's compiler.
pub struct Builder {
    /// The machine.
    pub machine: Machine,
    /// The profile.
    pub profile: Arc<Profile>,
    compiler: PathBuf,
    /// The runtime that programs for an emulator are linked with, in place of a C library.
    runtime: Option<Runtime>,
    folder: Arc<Scratch>,
    /// The object file of the harness, built once.
    harness: OnceLock<Result<PathBuf, Failure>>,
    made: std::sync::atomic::AtomicUsize,
}

type Built = Result<(Arc<Program>, usize), Failure>;

impl Builder {
    /// A builder; an error if the compiler is missing.
    pub fn new(machine: Machine, profile: Arc<Profile>) -> Result<Builder, String> {
        let compiler = process::find(&profile.compiler)
            .ok_or_else(|| not_installed(&profile.compiler).text())?;
        let folder = Scratch::new().map_err(|e| format!("no temporary folder: {e}"))?;
        let runtime = machine.emulator.as_ref().map(|_| Runtime::of(&profile, &compiler));
        Ok(Builder {
            machine,
            profile,
            compiler,
            runtime,
            folder: Arc::new(folder),
            harness: OnceLock::new(),
            made: Default::default(),
        })
    }

    /// Builds programs of some tests. The result for each test is the program that has it, and its
    /// number in the program. `code` emits a test under a number.
    pub fn build(
        &self,
        count: usize,
        code: &dyn Fn(usize, usize) -> Result<Code, Failure>,
        stop: &dyn Stopping,
    ) -> Vec<Built> {
        let mut out: Vec<Built> = (0..count).map(|_| Err(Failure::stopped())).collect();
        let all: Vec<usize> = (0..count).collect();
        self.batch(&all, code, stop, &mut out);
        out
    }

    fn batch(
        &self,
        tests: &[usize],
        code: &dyn Fn(usize, usize) -> Result<Code, Failure>,
        stop: &dyn Stopping,
        out: &mut [Built],
    ) {
        let mut fine = Vec::new();
        let mut codes = Vec::new();
        for test in tests {
            match code(*test, codes.len()) {
                Ok(c) => {
                    fine.push(*test);
                    codes.push(c);
                }
                Err(failure) => out[*test] = Err(failure),
            }
        }
        if fine.is_empty() {
            return;
        }
        match self.program(&codes, stop) {
            Ok(program) => {
                for (n, test) in fine.iter().enumerate() {
                    out[*test] = Ok((program.clone(), n));
                }
            }
            Err(failure) if failure.is_stopped() => {}
            Err(failure) if fine.len() == 1 => out[fine[0]] = Err(failure),
            Err(_) => {
                let (a, b) = fine.split_at(fine.len() / 2);
                self.batch(a, code, stop, out);
                self.batch(b, code, stop, out);
            }
        }
    }

    fn program(&self, codes: &[Code], stop: &dyn Stopping) -> Result<Arc<Program>, Failure> {
        let harness = self.harness.get_or_init(|| self.harness(stop)).clone()?;
        let n = self.made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = |stem: &str, end: &str| format!("{stem}{n}{end}");
        let mut driver = emit::DRIVER_HEADER.to_string();
        let mut bodies = String::new();
        for code in codes {
            driver.push_str(&code.driver);
            bodies.push_str(code.bodies.strip_prefix(HEADER).unwrap_or(&code.bodies));
        }
        driver.push_str(&emit::table(codes.len()));
        let (tests_c, tests_o) = (name("tests", ".c"), name("tests", ".o"));
        self.write(&tests_c, &driver)?;
        self.compile(&self.driver_flags(&["-c", &tests_c, "-o", &tests_o]), stop)?;
        let mut objects = vec![tests_o, harness.display().to_string()];
        if !bodies.is_empty() {
            let (bodies_c, bodies_o) = (name("bodies", ".c"), name("bodies", ".o"));
            if !self.profile.mapping.is_empty() {
                let table = Table::read(&self.profile.mapping)?;
                let before = table::preamble(&table, self.profile.arch, &bodies);
                bodies = before? + &bodies;
            }
            self.write(&bodies_c, &format!("{HEADER}{bodies}"))?;
            self.bodies(&["-c", &bodies_c, "-o", &bodies_o], stop)?;
            objects.push(bodies_o);
        }
        let path = name("run", "");
        if let Some(runtime) = &self.runtime {
            self.link_bare(runtime, &objects, &path, stop)?;
            let path = self.folder.path().join(path);
            return Ok(Arc::new(Program { path, folder: self.folder.clone() }));
        }
        let mut last: Vec<&str> = objects.iter().map(String::as_str).collect();
        last.extend(["-o", &path, "-pthread"]);
        if let Err(trouble) = self.compile(&arguments(&self.profile, &[], &last), stop) {
            // The library of atomic operations may be missing.
            last.push("-latomic");
            self.compile(&arguments(&self.profile, &[], &last), stop).map_err(|_| trouble)?;
        }
        let path = self.folder.path().join(path);
        Ok(Arc::new(Program { path, folder: self.folder.clone() }))
    }

    /// Compiles the code under test with the profile's compiler. If the target's library is
    /// missing, the compiler's own headers are used.
    fn bodies(&self, files: &[&str], stop: &dyn Stopping) -> Result<(), Failure> {
        let mut ours = vec!["-w", "-g0", "-fno-stack-protector"];
        let first = self.compile(&arguments(&self.profile, &ours, files), stop);
        match &first {
            Err(failure) if trouble::is_open(failure) && self.runtime.is_some() => {
                self.write("plain.c", &format!("{HEADER}{PLAIN}"))?;
                let plain = arguments(&self.profile, &ours, &["-c", "plain.c", "-o", "plain.o"]);
                if self.compile(&plain, stop).is_ok() {
                    return first;
                }
                ours.push("-ffreestanding");
                self.compile(&arguments(&self.profile, &ours, files), stop)
            }
            _ => first,
        }
    }

    /// Links a program without a C library, because there is none for emulated machines.
    fn link_bare(
        &self,
        runtime: &Runtime,
        objects: &[String],
        path: &str,
        stop: &dyn Stopping,
    ) -> Result<(), Failure> {
        let mut last: Vec<String> = objects.to_vec();
        last.extend(["-o", path, "-static"].map(String::from));
        last.extend(runtime.paths().iter().map(|p| p.display().to_string()));
        last.extend(["-nostdlib", "-Wl,-e,_start"].map(String::from));
        last.extend(execute::linker_for(&self.profile, runtime.kind()));
        let last: Vec<&str> = last.iter().map(String::as_str).collect();
        self.compile(&arguments(&self.profile, &["-w"], &last), stop)?;
        let program = self.folder.read(path).unwrap_or_default();
        match program.get(5) {
            Some(2) => Err("programs of big-endian machines are not run".into()),
            _ => Ok(()),
        }
    }

    fn harness(&self, stop: &dyn Stopping) -> Result<PathBuf, Failure> {
        self.write("harness.h", HARNESS_H)?;
        if self.runtime.is_some() {
            self.write("bare.c", BARE_C)?;
            self.compile(&self.driver_flags(&["-c", "bare.c", "-o", "bare.o"]), stop)?;
            return Ok(self.folder.path().join("bare.o"));
        }
        self.write("harness.c", HARNESS_C)?;
        self.write("environment.h", &Environment::header())?;
        self.compile(&self.driver_flags(&["-c", "harness.c", "-o", "harness.o"]), stop)?;
        Ok(self.folder.path().join("harness.o"))
    }

    /// The flags of the harness, which is always optimised, whatever the profile tests.
    fn driver_flags(&self, files: &[&str]) -> Vec<String> {
        let mut last = vec!["-std=gnu11", "-O2", "-fno-strict-aliasing", "-fomit-frame-pointer"];
        // Bodies of tests may push and call.
        if self.profile.arch == Arch::X86_64 {
            last.push("-mno-red-zone");
        }
        let library = match self.runtime {
            Some(_) => ["-ffreestanding", "-fno-stack-protector"],
            None => ["-g0", "-pthread"],
        };
        last.extend(library);
        last.extend(files);
        arguments(&self.profile, &["-w", "-g0"], &last)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.folder
            .write(name, text)
            .map_err(|e| Failure::machine(format!("{name} cannot be written: {e}")))
    }

    fn compile(&self, args: &[String], stop: &dyn Stopping) -> Result<(), Failure> {
        let folder = self.folder.path();
        let ended = process::run(&request(&self.profile, &self.compiler, args, folder, stop));
        trouble::judge(&self.profile.compiler, ended, self.profile.timeout)
    }
}
