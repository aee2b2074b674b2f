//! The keys of pipeline files, each defined once.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from these types and their
//! comments. Nothing here knows how a stage does its work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use litmake_profile::types::{Observe, Storage};
use litmake_profile::yaml::{Scalar, Sp, Value, Words};

/// A pipeline: stages through which tests go, and what they share.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineFile {
    /// The name that reports show; the file's name where it is left out.
    #[serde(default)]
    pub name: Option<Sp<String>>,
    /// What the pipeline is for, for people.
    #[serde(default)]
    pub about: Option<String>,
    /// Other pipeline files. Their variables, environment, profiles and stages come before those
    /// of this file; paths are relative to this file.
    #[serde(default)]
    pub include: Words,
    /// Variables and their defaults: texts, numbers, booleans or lists. `${name}` stands for the
    /// value, in any text of a stage and as the whole of a number, a boolean or a list;
    /// `--set name=value` replaces it, with commas between the items of a list. Where a key is
    /// optional, an empty variable is as good as no key.
    #[serde(default)]
    pub vars: BTreeMap<String, Sp<Value>>,
    /// Environment variables that `${env.NAME}` may read. All others are hidden, so that results
    /// do not depend on them; what compilers see is declared by profiles.
    #[serde(default)]
    pub env: Words,
    /// Profile files or globs, relative to this file. Profiles under `profiles/` beside the
    /// pipeline or in the working directory, and those that litmake brings, need no mention.
    #[serde(default)]
    pub profiles: Words,
    /// A file of known findings, relative to this file; only what is not in it counts as new.
    #[serde(default)]
    pub baseline: Option<Sp<String>>,
    /// A place for anchors that stages refer to; its content is not looked at.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub templates: Option<IgnoredAny>,
    /// The stages. Their order does not matter.
    #[serde(default)]
    pub stages: Vec<Sp<Stage>>,
}

/// One stage: a name, exactly one kind with its options, and how it is fanned out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The name by which other stages, targets and reports refer to it.
    pub name: Sp<String>,
    /// What the stage is for, for people.
    #[serde(default)]
    pub about: Option<String>,
    /// Fans the stage out over every combination of the values of these variables. A stage that
    /// consumes it is fanned out likewise.
    #[serde(default)]
    pub matrix: BTreeMap<String, Words>,
    /// Fans the stage out over these assignments of variables, one after the other.
    #[serde(default)]
    pub foreach: Vec<BTreeMap<String, Sp<Scalar>>>,
    /// Kind: reads tests from files, or makes them.
    #[serde(default)]
    pub generate: Option<Sp<Generate>>,
    /// Kind: rewrites C tests so that compilers see something else and the meaning stays.
    #[serde(default)]
    pub mutate: Option<Sp<Mutate>>,
    /// Kind: takes C tests apart, so that their parts are compiled on their own.
    #[serde(default)]
    pub split: Option<Sp<Split>>,
    /// Kind: compiles C tests and lifts the object code back to litmus tests.
    #[serde(default)]
    pub compile: Option<Sp<Compile>>,
    /// Kind: joins compiled parts into every test that profiles make together.
    #[serde(default)]
    pub link: Option<Sp<Link>>,
    /// Kind: computes the outcomes that a model allows.
    #[serde(default)]
    pub simulate: Option<Sp<Simulate>>,
    /// Kind: keeps one of each set of tests that are equal but for names and layout.
    #[serde(default)]
    pub dedupe: Option<Sp<Dedupe>>,
    /// Kind: compares how profiles lay out atomic types.
    #[serde(default)]
    pub layout: Option<Sp<Layout>>,
    /// Kind: compares outcomes of sources with outcomes of targets.
    #[serde(default)]
    pub compare: Option<Sp<Compare>>,
    /// Kind: tells apart what two compilers make of the same tests.
    #[serde(default)]
    pub diff: Option<Sp<Diff>>,
    /// Kind: runs tests on a device and counts what they show.
    #[serde(default)]
    pub run: Option<Sp<Run>>,
}

/// Options of `generate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// Litmus files: paths, globs (`tests/**/*.litmus`), folders (every `.litmus` file below),
    /// lists (`@all`: a path a line, relative to the list), and tar files (every `.litmus` file in
    /// it). Relative to the pipeline file.
    #[serde(default)]
    pub files: Words,
    /// In place of files, tests that litmake makes: `mutants`, `conformance` and `scope` of MC
    /// Mutants, or `all` of them; `x86-mutants` and `x86-conformance`, or `x86` for both.
    #[serde(default)]
    pub suite: Words,
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
    /// `c11-array`, `c11-struct`, `c11-plain`, `c11-helpers`, `c11-pointers`.
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

/// Options of `mutate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutate {
    /// The stage whose C tests are rewritten.
    pub from: Sp<String>,
    /// How, with the same meaning: `dead-code`, `register-pressure`, `declarations`, `loop`,
    /// `blocks` or `helpers`.
    #[serde(default)]
    pub rewrite: Option<Sp<String>>,
    /// Or how they are weakened, in all places at once: `orders` (each memory order by a step),
    /// `relaxed` (all of them, without fences) or `fences` (without them).
    #[serde(default)]
    pub weaken: Option<Sp<String>>,
}

/// Options of `split`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The stage whose C tests are taken apart.
    pub from: Sp<String>,
    /// What is compiled on its own.
    #[serde(default)]
    pub by: SplitBy,
}

/// What is compiled on its own: the whole test, each thread, or each statement, those in branches
/// and loops too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    Whole,
    Thread,
    #[default]
    Instruction,
}

/// Options of `link`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The `compile` stage of parts. All its instances are mixed with each other, but for those
    /// that differ in a variable of this stage's own `matrix`.
    pub from: Sp<String>,
    /// How parts are put together.
    #[serde(default)]
    pub link: LinkBy,
}

/// How parts are put together: `splice` joins their code where it would be called; `ld` has a
/// linker make a program of separately compiled objects, and takes the test out of that, with its
/// calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkBy {
    #[default]
    Splice,
    Ld,
}

/// Options of `layout`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The profiles whose code is to share objects; all for one machine.
    pub profiles: Words,
    /// The types, as C has them without `_Atomic`; where left out, scalars and structures of 1 to
    /// 32 bytes.
    #[serde(default)]
    pub types: Words,
}

/// Options of `compile`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compile {
    /// The stage whose C tests, or parts of tests, are compiled.
    pub from: Sp<String>,
    /// The profile: a name or a file.
    pub profile: Sp<String>,
    /// Which locals are kept alive to the end of a thread, so that their final values can be
    /// compared: those of the condition, all, or none. Keeping them can hide bugs.
    #[serde(default)]
    pub observe: Observe,
    /// Where the shared locations are: behind pointers that threads are given, or variables,
    /// global or static, as programs have them.
    #[serde(default)]
    pub storage: Storage,
    /// Whether each atomic operation is in a helper function that is not inlined, as real code
    /// has them behind the functions of a library.
    #[serde(default)]
    pub helpers: bool,
    /// Compiles one test in so many alone as well, and fails where what stands beside a test
    /// changed what the compiler makes of it.
    #[serde(default)]
    pub alone: Option<Sp<u64>>,
}

/// Options of `simulate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulate {
    /// The stage whose tests are simulated.
    pub from: Sp<String>,
    /// The model: a name or a `.cat` file. Where it is left out, the profile's model for
    /// compiled tests, else the default of the test's architecture.
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// How often a loop is unrolled.
    #[serde(default)]
    pub unroll: Option<Sp<u32>>,
    /// Seconds after which one test is given up.
    #[serde(default)]
    pub timeout: Option<Sp<u64>>,
}

/// Options of `dedupe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dedupe {
    /// The stage whose tests are reduced.
    pub from: Sp<String>,
}

/// Options of `compare`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The `simulate` stage that says what the sources allow.
    pub source: Sp<String>,
    /// The `simulate` stage that says what the targets allow; every mix of a test is a target.
    pub target: Sp<String>,
    /// Further `simulate` stages of the sources, under weaker models. A difference that
    /// disappears under one of them is labelled: `load buffering` where it is `rc11-lb`.
    #[serde(default)]
    pub also: Words,
    /// How many new findings are looked into: reduced, explained, and looked for in other
    /// versions of the compiler; 10 where left out. Labelled ones are explained and no more.
    #[serde(default)]
    pub investigate: Option<Sp<u64>>,
}

/// Options of `diff`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// The `simulate` stage of the code of one compiler, version, level or architecture.
    pub before: Sp<String>,
    /// The `simulate` stage of the code of the other.
    pub after: Sp<String>,
}

/// Options of `run`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The stage whose tests are run.
    pub from: Sp<String>,
    /// What they run on.
    pub device: RunDevice,
    /// On CPUs: the profile that tests are built with; the machine's own compiler where left out.
    #[serde(default)]
    pub profile: Option<Sp<String>>,
    /// A part of the name or kind of the device; the best one where left out.
    #[serde(default)]
    pub adapter: Option<Sp<String>>,
    /// The kind of environments: `pte` (where left out), `site`, `pte_baseline` or
    /// `site_baseline`.
    #[serde(default)]
    pub preset: Option<Sp<String>>,
    /// How many environments are drawn; the preset's number, or 16 on CPUs, where left out.
    #[serde(default)]
    pub environments: Option<Sp<u32>>,
    /// Iterations of a test in an environment (rounds on CPUs); the preset's number, or as many
    /// as there is time for, where left out.
    #[serde(default)]
    pub iterations: Option<Sp<u32>>,
    /// Seconds after which a test leaves an environment, done or not; 1/16 on CPUs where left
    /// out.
    #[serde(default)]
    pub seconds: Option<Sp<f64>>,
    /// Iterations a submission, from 1 to 128; as many as fit into 60 ms where left out.
    #[serde(default)]
    pub batch: Option<Sp<u32>>,
    /// The seed of everything that is random; `webgpu`, as in the paper, or `cpu`, where left
    /// out.
    #[serde(default)]
    pub seed: Option<Sp<String>>,
    /// How the code of tests is made on GPUs: by naga, `checked` (where left out), `bounds`, `loops`
    /// or `unchecked`; or as SPIR-V, `spirv`, `spirv-bounds`, `vulkan` or `vulkan-bounds`.
    #[serde(default)]
    pub variant: Option<Sp<String>>,
    /// How far accesses and fences reach where the code is SPIR-V: `device` (where left out),
    /// `queue`, `workgroup` or `subgroup`.
    #[serde(default)]
    pub scope: Option<Sp<String>>,
    /// Where the threads of a test are.
    #[serde(default)]
    pub reach: RunReach,
    /// Where the locations of a test are.
    #[serde(default)]
    pub memory: RunMemory,
    /// Whether threads wait for each other, and all of them stress memory, also on CPUs, where they
    /// do so in vain.
    #[serde(default)]
    pub spin: bool,
    /// The model that says what is allowed; `wgsl-rel-acq`, or `vulkan` for tests whose accesses
    /// acquire or release, or on CPUs the dialect's own, where left out.
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// Parameters of the environments that take other values than those drawn.
    #[serde(default)]
    pub set: BTreeMap<String, Sp<u32>>,
    /// Another number measures again what is stored.
    #[serde(default)]
    pub again: Option<Sp<u32>>,
    /// A file for the results in the form of the MC Mutants artifact, relative to this file.
    #[serde(default)]
    pub results: Option<Sp<String>>,
}

/// What tests run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunDevice {
    Gpu,
    Cpu,
}

/// Where the threads of a test are: in different workgroups, in one, or side by side in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunReach {
    #[default]
    Workgroups,
    Workgroup,
    Subgroup,
}

/// Where the locations of a test are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMemory {
    #[default]
    Storage,
    Workgroup,
}

/// The kinds of stages, by the key that says each.
#[derive(Clone, Debug)]
pub enum Kind {
    Generate(Generate),
    Mutate(Mutate),
    Split(Split),
    Compile(Compile),
    Link(Link),
    Simulate(Simulate),
    Dedupe(Dedupe),
    Layout(Layout),
    Compare(Compare),
    Diff(Diff),
    Run(Run),
}

impl Kind {
    pub const NAMES: [&str; 11] = [
        "generate", "mutate", "split", "compile", "link", "simulate", "dedupe", "layout",
        "compare", "diff", "run",
    ];

    pub fn name(&self) -> &'static str {
        match self {
            Kind::Generate(_) => "generate",
            Kind::Mutate(_) => "mutate",
            Kind::Split(_) => "split",
            Kind::Compile(_) => "compile",
            Kind::Link(_) => "link",
            Kind::Simulate(_) => "simulate",
            Kind::Dedupe(_) => "dedupe",
            Kind::Layout(_) => "layout",
            Kind::Compare(_) => "compare",
            Kind::Diff(_) => "diff",
            Kind::Run(_) => "run",
        }
    }

    /// The stages that it consumes.
    pub fn inputs(&self) -> Vec<&Sp<String>> {
        match self {
            Kind::Generate(_) | Kind::Layout(_) => vec![],
            Kind::Mutate(m) => vec![&m.from],
            Kind::Split(s) => vec![&s.from],
            Kind::Compile(c) => vec![&c.from],
            Kind::Link(l) => vec![&l.from],
            Kind::Simulate(s) => vec![&s.from],
            Kind::Dedupe(d) => vec![&d.from],
            Kind::Compare(c) => [&c.source, &c.target].into_iter().chain(c.also.iter()).collect(),
            Kind::Diff(d) => vec![&d.before, &d.after],
            Kind::Run(r) => vec![&r.from],
        }
    }

    /// Every string in which variables may stand.
    pub fn strings(&mut self) -> Vec<&mut Sp<String>> {
        match self {
            Kind::Generate(g) => {
                let words = [
                    &mut g.files,
                    &mut g.exclude,
                    &mut g.cycles,
                    &mut g.vocabulary,
                    &mut g.relax,
                    &mut g.reject,
                    &mut g.annotations,
                    &mut g.shapes,
                    &mut g.families,
                    &mut g.suite,
                    &mut g.keep,
                ];
                let single = [
                    &mut g.arch,
                    &mut g.mode,
                    &mut g.observe,
                    &mut g.location_type,
                    &mut g.second_type,
                    &mut g.objects,
                    &mut g.layout,
                    &mut g.helpers,
                ];
                let words = words.into_iter().flat_map(|w| &mut w.0);
                words.chain(single.into_iter().flatten()).collect()
            }
            Kind::Mutate(m) => {
                let how = [&mut m.rewrite, &mut m.weaken];
                std::iter::once(&mut m.from).chain(how.into_iter().flatten()).collect()
            }
            Kind::Split(s) => vec![&mut s.from],
            Kind::Compile(c) => vec![&mut c.from, &mut c.profile],
            Kind::Link(l) => vec![&mut l.from],
            Kind::Simulate(s) => std::iter::once(&mut s.from).chain(&mut s.model).collect(),
            Kind::Dedupe(d) => vec![&mut d.from],
            Kind::Layout(l) => l.profiles.0.iter_mut().chain(&mut l.types.0).collect(),
            Kind::Compare(c) => {
                [&mut c.source, &mut c.target].into_iter().chain(&mut c.also.0).collect()
            }
            Kind::Diff(d) => vec![&mut d.before, &mut d.after],
            Kind::Run(r) => {
                let optional = [
                    &mut r.profile,
                    &mut r.adapter,
                    &mut r.preset,
                    &mut r.seed,
                    &mut r.variant,
                    &mut r.model,
                    &mut r.results,
                ];
                std::iter::once(&mut r.from).chain(optional.into_iter().flatten()).collect()
            }
        }
    }
}

impl Stage {
    /// The kinds that this stage names; a right one names exactly one.
    pub fn kinds(&self) -> Vec<(Kind, litmake_base::diag::Span)> {
        let mut out = Vec::new();
        macro_rules! take {
            ($($field:ident => $kind:ident),*) => {$(
                if let Some(k) = &self.$field {
                    out.push((Kind::$kind(k.value.clone()), k.span));
                }
            )*};
        }
        take!(generate => Generate, mutate => Mutate, split => Split, compile => Compile, link => Link, simulate => Simulate, dedupe => Dedupe, layout => Layout, compare => Compare, diff => Diff, run => Run);
        out
    }
}
