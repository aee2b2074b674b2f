//! `generate`: tests from files, or made.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::{Sp, Words};

/// Options of `generate`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// Litmus files: paths, globs (`tests/**/*.litmus`), folders (every `.litmus` file below),
    /// lists (`@all`: a path a line, relative to the list), and tar files (every `.litmus` file in
    /// it). Relative to the pipeline file.
    #[serde(default)]
    pub files: Words,
    /// In place of files, tests that litmake makes: `mutants`, `conformance` and `scope` of MC
    /// Mutants, or `all` of them; `orders`, accesses that acquire and release; `exhaustive`, every small program
    /// for GPUs; `x86-mutants` and `x86-conformance`, or `x86` for both.
    #[serde(default)]
    pub suite: Words,
    /// In the suite `exhaustive`: accesses of a program, at most (2 to 6); 5 where left out.
    #[serde(default)]
    pub events: Option<Sp<u64>>,
    /// In the suite `exhaustive`: read-modify-writes, orders and fences of a program, at most (0 to 4), in programs
    /// with one access less; 1 where left out.
    #[serde(default)]
    pub special: Option<Sp<u64>>,
    /// Globs over paths, or over the names of tests that are made, to leave out.
    #[serde(default)]
    pub exclude: Words,
    /// Keeps tests of which all this holds, whether they are read or made: `name=MP*`, `arch=C`,
    /// `threads=2..3`, `events=..6`, `locations=2`, `uses=atomic_fetch_*`, `without=*_seq_cst`.
    /// Names and dialects are alternatives. What cannot be read is kept, and said by later stages.
    #[serde(default)]
    pub keep: Words,
    /// At most this many tests, the first in order of their names.
    #[serde(default)]
    pub limit: Option<Sp<u64>>,
    /// Makes tests instead of reading them: the dialect, such as `C` or `AArch64`.
    #[serde(default)]
    pub arch: Option<Sp<String>>,
    /// Cycles of relaxations, such as `PodWW Rfe PodRR Fre`: one test each.
    #[serde(default)]
    pub cycles: Words,
    /// Relaxations of which every cycle up to `size` is made, such as `Pod** Rfe Fre Coe`.
    #[serde(default)]
    pub vocabulary: Words,
    /// Relaxations of which each cycle must have one.
    #[serde(default)]
    pub relax: Words,
    /// Sequences that no cycle may have.
    #[serde(default)]
    pub reject: Words,
    /// Annotations over which accesses that say nothing of themselves are varied; `all` is every
    /// one.
    #[serde(default)]
    pub annotations: Words,
    /// Only these families of cycles are kept: `MP`, `IRIW`, `W+RR+WR`.
    #[serde(default)]
    pub shapes: Words,
    /// Ready-made families of C tests: `telechat-table3`, `mix-table4`, `mix-accesses`, `c11-constructs`,
    /// `c11-cas`, `c11-unused`, `c11-idle`, `c11-volatile`, `c11-const`, `c11-mixed-width`,
    /// `c11-array`, `c11-struct`, `c11-plain`, `c11-helpers`, `c11-pointers`, `c11-sync`,
    /// `c11-values`, `c11-aliasing`, `c11-liveness`, `c11-effects`, `c11-around`, `c11-loops`, `c11-floats`,
    /// `c11-members`, `c11-answers`.
    #[serde(default)]
    pub families: Words,
    /// Relaxations in a cycle, at most; 6 where left out.
    #[serde(default)]
    pub size: Option<Sp<u64>>,
    /// Threads, at most; 4 where left out.
    #[serde(default)]
    pub threads: Option<Sp<u64>>,
    /// Events in a thread, at most; 4 where left out.
    #[serde(default)]
    pub per_thread: Option<Sp<u64>>,
    /// What may follow what: `default`, `sc`, `critical`, `free`, `uni`, `total`.
    #[serde(default)]
    pub mode: Option<Sp<String>>,
    /// What tests observe: `avoid`, `accept`, `force`, `local`, `both`, `final`, `registers`.
    #[serde(default)]
    pub observe: Option<Sp<String>>,
    /// The type of locations in C; `int` where left out.
    #[serde(default)]
    pub location_type: Option<Sp<String>>,
    /// The type of every second location in C, where it is another.
    #[serde(default)]
    pub second_type: Option<Sp<String>>,
    /// Which objects of C tests are volatile: `usual` (those that are not atomic, as diy has it),
    /// `volatile` (all), `plain` (none).
    #[serde(default)]
    pub objects: Option<Sp<String>>,
    /// Where locations of C tests are: `separate`, `array` (elements of one), `struct` (members
    /// of one object, at offsets).
    #[serde(default)]
    pub layout: Option<Sp<String>>,
    /// What C tests do in helper functions that are not inlined: `none`, `fences`, `accesses`,
    /// `all`.
    #[serde(default)]
    pub helpers: Option<Sp<String>>,
    /// Takes so many of the tests that there are, by chance but the same each time, with every
    /// construct kept.
    #[serde(default)]
    pub sample: Option<Sp<u64>>,
    /// The seed of `sample`.
    #[serde(default)]
    pub seed: Option<Sp<u64>>,
}

impl Options for Generate {
    fn about() -> &'static str {
        "reads tests from files, or makes them."
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }
}
