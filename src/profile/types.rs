//! The keys of profile files, and the choices that compile stages have, each defined once.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from these types and their
//! comments. This file does not know what a compiler does.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::yaml::{Scalar, Sp, Words};
use litmake_litmus::Arch;

/// A profile, or a family of profiles: compiler, arguments, target and model.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// The name. For a family it is a pattern, such as `clang-${version}-O2`.
    pub name: Sp<String>,
    /// The purpose of the profile, for people.
    #[serde(default)]
    pub about: Option<String>,
    /// A profile (a name, or a file relative to this one) that gives the keys which this one leaves
    /// out. `args`, `then`, `inputs` and `libraries` are appended to its lists; `matrix`, `env`, `runtime` and
    /// `mapping` are merged with its entries.
    #[serde(default)]
    pub extends: Option<Sp<String>>,
    /// Makes a family: one profile for each combination of the values of these variables.
    #[serde(default)]
    pub matrix: BTreeMap<String, Words>,
    /// The compiler: a command or a path.
    #[serde(default)]
    pub compiler: Option<Sp<String>>,
    /// Builds of the compiler, oldest first, relative to this file: folders with `bin/clang` or the
    /// like, or a folder of such folders, which are taken in the order of their versions. Each
    /// build gives a profile in which `version` is the name of the build's folder, and findings
    /// name the builds that show them.
    #[serde(default)]
    pub builds: Words,
    /// The language of the tests that the compiler gets: `c` (the default), `c++`, `cuda`,
    /// `rust`, `go`, `opencl`, `glsl`, `wgsl`, or `kernel` for tests of the Linux kernel's primitives.
    #[serde(default)]
    pub language: Option<Sp<String>>,
    /// For the language `kernel`: the folder of a configured kernel (with
    /// `include/generated/autoconf.h`), or of a kernel's headers, relative to this file (default:
    /// the folder in `LITMAKE_KERNEL`, or the headers that `scripts/setup --kernel` installs).
    #[serde(default)]
    pub kernel: Option<Sp<String>>,
    /// The compiler's arguments.
    #[serde(default)]
    pub args: Words,
    /// Commands that process the compiler's output, one after the other, each on the output of the
    /// one before: `llvm-spirv-14 {in} -o {out}`, `spirv-opt -O {in} -o {out}`. A command that
    /// variables leave empty is left out.
    #[serde(default)]
    pub then: Words,
    /// The litmus dialect of the code.
    #[serde(default)]
    pub arch: Option<Sp<Dialect>>,
    /// The model under which the code is simulated: a name or a `.cat` file (default: that of the
    /// dialect).
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// Environment variables of the compiler, with their values. Otherwise it sees only `PATH` and
    /// a few fixed ones.
    #[serde(default)]
    pub env: BTreeMap<String, Sp<Scalar>>,
    /// Files and folders, relative to this file, that decide the compiler's output and that tracing
    /// cannot see: those of a compiler behind a server, for example. All other files that the
    /// compiler reads are found without being listed.
    #[serde(default)]
    pub inputs: Words,
    /// Seconds after which the compiler is ended (default: 60).
    #[serde(default)]
    pub timeout: Option<Sp<u64>>,
    /// MiB of memory that the compiler may use (default: 4096).
    #[serde(default)]
    pub memory: Option<Sp<u64>>,
    /// The properties of the machine that the runtime library detects when a program starts: a
    /// number for one of its variables (`__aarch64_have_lse_atomics: 1`), or the name of the
    /// function that it chooses for another (`__atomic_load_16: libat_load_16_i1`). By default the
    /// compiler's arguments decide.
    #[serde(default)]
    pub runtime: BTreeMap<String, Sp<Scalar>>,
    /// Static libraries whose code is taken in where it is called, before `libgcc` and `libatomic`: a
    /// name, as the compiler finds it (`libatomic_ops.a`), or a path, relative to this file.
    #[serde(default)]
    pub libraries: Words,
    /// A table from atomic operations (`load seq_cst 32`, `rmw * 32|64`) to assembly, or to calls of a
    /// library's functions (`{result} = __atomic_load_4({address}, {order})`). The compiler decides about
    /// all other operations, or they are refused with `"*": refuse`.
    #[serde(default)]
    pub mapping: BTreeMap<String, Words>,
    /// A place for YAML anchors; its content is ignored.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub templates: Option<IgnoredAny>,
}

/// A litmus dialect, as herd names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect(Arch);

/// The names of the dialects that compilers make of C.
static DIALECTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let made = |arch: &Arch| !matches!(arch, Arch::C | Arch::Llvm);
    Arch::ALL.into_iter().filter(made).map(Arch::name).collect()
});

impl Dialect {
    /// The dialect in litmake's own type.
    pub fn arch(self) -> Arch {
        self.0
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Dialect, D::Error> {
        let word = String::deserialize(from)?;
        let known = DIALECTS.contains(&word.as_str()).then(|| Arch::named(&word)).flatten();
        known.map(Dialect).ok_or_else(|| D::Error::unknown_variant(&word, &DIALECTS))
    }
}

impl JsonSchema for Dialect {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dialect".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A litmus dialect, as herd names it.",
            "type": "string",
            "enum": *DIALECTS,
        })
    }
}

/// How tests reach the shared locations.
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

/// The locals that are kept to the end of a thread.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum Observe {
    #[default]
    Condition,
    All,
    None,
}
