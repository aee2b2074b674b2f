//! The machine that runs tests: this one, or an emulated one, and the compiler that builds programs
//! for it.
//!
//! It does not know tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::topology;
use litmake_base::diag::{Source, Span};
use litmake_base::file;
use litmake_base::records::Records;
use litmake_isa::target;
use litmake_litmus::Arch;
use litmake_profile::Profile;
use litmake_toolchain::evidence::Looks;
use litmake_toolchain::host::{self, Host};
use litmake_toolchain::process;

/// The dialect of this machine's processors, if their tests can run.
pub fn host() -> Option<Arch> {
    match std::env::consts::ARCH {
        "x86_64" => Some(Arch::X86_64),
        "aarch64" => Some(Arch::AArch64),
        _ => None,
    }
}

/// A machine that runs programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The dialect of the code that it runs.
    pub arch: Arch,
    /// The processor's name.
    pub name: String,
    /// The number of threads that run at once.
    pub processors: u64,
    /// The processors for tests, in the order in which workers use them; empty for all.
    pub on: Vec<u32>,
    /// The emulator, if the code is foreign. Under an emulator, values and crashes are meaningful;
    /// rates and weak outcomes are the emulator's own.
    pub emulator: Option<PathBuf>,
}

impl Machine {
    /// The machine that runs code of a dialect: this one, or an emulator.
    pub fn of(arch: Arch) -> Result<Machine, String> {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let name = processor_name();
        if host() == Some(arch) {
            return Ok(Machine { arch, name, processors, on: Vec::new(), emulator: None });
        }
        let target = target::of(arch, false, false, false).filter(|_| arch != Arch::X86);
        let command = target
            .and_then(|target| target.emulator)
            .ok_or_else(|| format!("code of {} is not run on this machine", arch.name()))?;
        match process::find(command) {
            Some(path) => {
                Ok(Machine { arch, name, processors, on: Vec::new(), emulator: Some(path) })
            }
            None => Err(format!(
                "code of {} does not run on this machine, and its emulator `{command}` is not installed",
                arch.name()
            )),
        }
    }

    /// The same machine, with tests restricted to these processors.
    pub fn only(self, on: Vec<u32>) -> Machine {
        Machine { processors: on.len() as u64, on, ..self }
    }

    /// The form in results and keys.
    pub fn json(&self) -> Value {
        let mut out = json!({
            "name": self.name,
            "type": "cpu",
            "arch": self.arch.name(),
            "processors": self.processors,
        });
        if !self.on.is_empty() {
            out["on"] = topology::text(&self.on).into();
        }
        if let Some(path) = &self.emulator {
            out["emulator"] = path.display().to_string().into();
        }
        out
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.emulator {
            None if !self.on.is_empty() => {
                let on = topology::text(&self.on);
                write!(f, "{} ({}, processors {on})", self.name, self.arch.name())
            }
            None => {
                write!(f, "{} ({}, {} processors)", self.name, self.arch.name(), self.processors)
            }
            Some(path) => {
                let program = path.file_name().unwrap_or_default().to_string_lossy();
                write!(f, "{} emulated by {program} on {}", self.arch.name(), self.name)
            }
        }
    }
}

/// The name that the kernel gives, or `unknown processor`.
fn processor_name() -> String {
    let text = file::read_text(Path::new("/proc/cpuinfo"), file::MAX_TEXT).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    value("model name")
        .or_else(|| {
            Some(format!("implementer {} part {}", value("CPU implementer")?, value("CPU part")?))
        })
        .unwrap_or_else(|| "unknown processor".into())
}

/// The profile for building tests if none is named: the machine's own compiler.
pub fn own_profile(known: &dyn Records) -> Result<Arc<Profile>, String> {
    let arch =
        host().ok_or("tests do not run on processors of this kind; name a profile of another")?;
    let Host { command, mut args } = host::find(&Looks::default(), known)?;
    // The flags of `CFLAGS` come later and take precedence.
    let commands = args.iter().take_while(|a| !a.starts_with('-')).count();
    args.insert(commands, "-O2".into());
    let name = command.rsplit('/').next().unwrap_or(&command).to_string();
    Ok(Arc::new(Profile {
        family: name.clone(),
        source: Source::new(name.as_str(), ""),
        name,
        variables: BTreeMap::new(),
        build: None,
        compiler: command,
        args,
        then: Vec::new(),
        arch,
        model: None,
        language: Default::default(),
        kernel: None,
        env: BTreeMap::new(),
        inputs: Vec::new(),
        libraries: Vec::new(),
        timeout: Duration::from_secs(60),
        memory_mib: 4096,
        mapping: BTreeMap::new(),
        runtime: BTreeMap::new(),
        span: Span::default(),
    }))
}
