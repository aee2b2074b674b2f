//! The kind `generate`: reads tests from files, or makes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::{Sp, Words};

/// Options of `generate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Generate {
    /// Litmus files: paths, globs (`tests/**/*.litmus`), folders (every `.litmus` file below),
    /// lists (`@all`: one path a line, relative to the list), and tar files (every `.litmus` file
    /// in them). Relative to the pipeline file.
    pub files: Words,
    /// Instead of files, tests that litmake makes: `mutants`, `conformance` and `scope` of MC
    /// Mutants, or `all` three; `orders`, accesses that acquire and release; `updates`,
    /// read-modify-writes that a device could tear in two; `exhaustive`, every small program for
    /// GPUs; `x86-mutants` and `x86-conformance`, or `x86` for both.
    pub suite: Words,
    /// In the suite `exhaustive`: the largest number of accesses in a program, 2 to 6 (default: 5).
    pub events: Option<Sp<u64>>,
    /// In the suite `exhaustive`: the largest number of read-modify-writes, orders and fences in a
    /// program, 0 to 4 (default: 1). Such programs have one access less.
    pub special: Option<Sp<u64>>,
    /// Globs over the paths of files, or over the names of tests that are made: these tests are
    /// left out.
    pub exclude: Words,
    /// Keeps only tests with these properties, whether they are read or made: `name=MP*`, `arch=C`,
    /// `threads=2..3`, `events=..6`, `locations=2`, `uses=atomic_fetch_*`, `without=*_seq_cst`.
    /// Several names are alternatives, and so are several dialects. A test that cannot be read is
    /// kept, so that later stages report it.
    pub keep: Words,
    /// The largest number of tests; the first ones by name are taken.
    pub limit: Option<Sp<u64>>,
    /// Makes tests instead of reading them, in this dialect: `C`, `AArch64`, `ARM`, `X86_64`, `X86`,
    /// `RISCV`, `PPC`, `MIPS`, `LoongArch`, `S390x` or `BPF`.
    pub arch: Option<Sp<String>>,
    /// Cycles of relaxations, such as `PodWW Rfe PodRR Fre`. Each gives one test.
    pub cycles: Words,
    /// Relaxations, such as `Pod** Rfe Fre Coe`. Every cycle of them up to `size` gives a test.
    pub vocabulary: Words,
    /// Relaxations of which each cycle must have one.
    pub relax: Words,
    /// Sequences of relaxations that no cycle may contain.
    pub reject: Words,
    /// Annotations to try on each access that has none; `all` is every annotation.
    pub annotations: Words,
    /// Keeps only cycles of these shapes: `MP`, `IRIW`, `W+RR+WR`.
    pub shapes: Words,
    /// Ready-made families of C tests. `litmake generate --family list` describes them:
    /// `telechat-table3`, `mix-table4`, `mix-accesses`, `c11-constructs`, `c11-cas`, `sc-operations`,
    /// `c11-unused`, `c11-idle`, `c11-volatile`, `c11-const`, `c11-mixed-width`, `c11-array`,
    /// `c11-struct`, `c11-plain`, `c11-helpers`, `c11-pointers`, `c11-sync`, `c11-values`,
    /// `c11-aliasing`, `c11-liveness`, `c11-effects`, `c11-around`, `c11-loops`, `c11-floats`,
    /// `c11-members`, `c11-answers`, `c11-near`, `c11-statics`.
    pub families: Words,
    /// The largest number of relaxations in a cycle (default: 6).
    pub size: Option<Sp<u64>>,
    /// Makes only cycles of exactly that size.
    pub exact_size: bool,
    /// The largest number of threads (default: 4).
    pub threads: Option<Sp<u64>>,
    /// Makes only tests with exactly that many threads.
    pub exact_threads: bool,
    /// The largest number of events in a thread (default: 4).
    pub per_thread: Option<Sp<u64>>,
    /// How many different relaxations of `relax` a cycle may have, such as `1-3` (default: 1).
    pub mix: Option<Sp<String>>,
    /// Allows cycles at one location.
    pub one_location: bool,
    /// Which edges may follow each other: `default`, `sc`, `critical`, `free`, `uni`, `total`.
    pub mode: Option<Sp<String>>,
    /// How the condition of a test observes the outcome: `avoid`, `accept`, `force`, `local`, `both`, `final`,
    /// `registers`.
    pub observe: Option<Sp<String>>,
    /// Makes tests that list all outcomes instead of asking for one.
    pub every_outcome: bool,
    /// The type of locations in C (default: `int`).
    pub location_type: Option<Sp<String>>,
    /// The type of every second location in C (default: the same type).
    pub second_type: Option<Sp<String>>,
    /// Which objects of C tests are volatile: `usual` (those that are not atomic, as in diy),
    /// `volatile` (all), `plain` (none).
    pub objects: Option<Sp<String>>,
    /// How the locations of C tests are declared: `separate`, `array` (elements of one), `struct`
    /// (members of one object, at offsets).
    pub layout: Option<Sp<String>>,
    /// The parts of C tests that are in helper functions which are not inlined: `none`, `fences`, `accesses`, `all`.
    pub helpers: Option<Sp<String>>,
    /// In C: this many variants of each test in its place, in which every atomic operation names a
    /// scope and the threads lie in workgroups and on devices. Both are drawn, the same each time
    /// for one `seed`. Tests without atomic operations are left out.
    pub scopes: Option<Sp<u64>>,
    /// Takes a sample of this many tests, which contains every construct. The sample is random,
    /// but the same each time.
    pub sample: Option<Sp<u64>>,
    /// The seed of `sample` and of `scopes`.
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
