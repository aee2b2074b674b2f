//! The keys of profile files, and what compilers can be asked beside them, each defined once.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from these types and their
//! comments. Nothing here knows what a compiler does.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::yaml::{Scalar, Sp, Words};
use litmake_litmus::Arch;

/// A profile, or a family of them: compiler, flags, target and model.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// The name. In a family it says how the names are made, such as `clang-${version}-O2`.
    pub name: Sp<String>,
    /// What the profile is for, for people.
    #[serde(default)]
    pub about: Option<String>,
    /// A profile (name, or file relative to this one) whose keys hold where this one has none;
    /// `args` are appended to its `args`, `env` and `mapping` are merged.
    #[serde(default)]
    pub extends: Option<Sp<String>>,
    /// Makes a family: one profile for each combination of the values of these variables.
    #[serde(default)]
    pub matrix: BTreeMap<String, Words>,
    /// The compiler: a command or a path.
    #[serde(default)]
    pub compiler: Option<Sp<String>>,
    /// Builds of that compiler, oldest first: folders with `bin/clang` or the like, or a folder of such
    /// folders, which come in order of their names' versions. Relative to this file. Each gives a profile
    /// in which `version` is the name of the build's folder, and findings say in which builds they
    /// are.
    #[serde(default)]
    pub builds: Words,
    /// The language in which it is given tests: `c`, `c++`, `cuda`, `rust`, `opencl`, `glsl`, `wgsl`, or `kernel` for tests of the
    /// Linux kernel's primitives; `c` where left out.
    #[serde(default)]
    pub language: Option<Sp<String>>,
    /// For the language `kernel`: the folder of a configured kernel (`include/generated/autoconf.h` is in it), or of the
    /// headers of one. Relative to this file. Where it is left out, that of `LITMAKE_KERNEL`, or the headers that
    /// `scripts/setup --kernel` brings.
    #[serde(default)]
    pub kernel: Option<Sp<String>>,
    /// Its arguments.
    #[serde(default)]
    pub args: Words,
    /// Commands that work on what the compiler wrote, one after the other, each on what the one before
    /// wrote: `llvm-spirv-14 {in} -o {out}`, `spirv-opt -O {in} -o {out}`. One that variables leave
    /// empty is left out.
    #[serde(default)]
    pub then: Words,
    /// The litmus dialect of the code it emits.
    #[serde(default)]
    pub arch: Option<Sp<Dialect>>,
    /// The model under which that code is simulated: a name or a `.cat` file. Where it is left
    /// out, the default of the architecture.
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// Environment variables that the compiler sees besides `PATH`, with their values.
    #[serde(default)]
    pub env: BTreeMap<String, Sp<Scalar>>,
    /// Files and folders that decide what the compiler makes and that cannot be seen when it runs:
    /// of a compiler behind a server, for example. Relative to this file. All else that the
    /// compiler reads is found without being named.
    #[serde(default)]
    pub inputs: Words,
    /// Seconds after which the compiler is ended; 60 where left out.
    #[serde(default)]
    pub timeout: Option<Sp<u64>>,
    /// MiB of memory that one compiler may take; 4096 where left out.
    #[serde(default)]
    pub memory: Option<Sp<u64>>,
    /// What the runtime library finds out about the machine when a program starts: a number for
    /// a variable of it (`__aarch64_have_lse_atomics: 1`), or a function's name for one that it
    /// chooses (`__atomic_load_16: libat_load_16_i1`). By default what the arguments imply.
    #[serde(default)]
    pub runtime: BTreeMap<String, Sp<Scalar>>,
    /// A table from atomic operations (`load seq_cst 32`, `rmw * 32|64`) to assembly, for mappings
    /// that no compiler implements yet. All else is left to the compiler, or refused with
    /// `"*": refuse`.
    #[serde(default)]
    pub mapping: BTreeMap<String, Words>,
    /// A place for anchors; its content is not looked at.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub templates: Option<IgnoredAny>,
}

/// A litmus dialect, as herd's users write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum Dialect {
    AArch64,
    ARM,
    #[serde(rename = "X86_64")]
    X86_64,
    X86,
    RISCV,
    PPC,
    MIPS,
    PTX,
    SPIRV,
}

impl Dialect {
    /// The dialect that it names.
    pub fn arch(self) -> Arch {
        match self {
            Dialect::AArch64 => Arch::AArch64,
            Dialect::ARM => Arch::Arm,
            Dialect::X86_64 => Arch::X86_64,
            Dialect::X86 => Arch::X86,
            Dialect::RISCV => Arch::RiscV,
            Dialect::PPC => Arch::Ppc,
            Dialect::MIPS => Arch::Mips,
            Dialect::PTX => Arch::Ptx,
            Dialect::SPIRV => Arch::Spirv,
        }
    }
}

/// Where shared locations are.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum Storage {
    #[default]
    Pointers,
    Globals,
    Statics,
}

/// Which locals are kept alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum Observe {
    #[default]
    Condition,
    All,
    None,
}
