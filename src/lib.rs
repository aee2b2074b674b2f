//! litmake as a library: litmus tests, memory models, compilers and devices, without pipelines or with them.
//!
//! A test is read, simulated under a model, and its final states are looked at:
//!
//! ```
//! use litmake::cat::{self, LoadOptions};
//! use litmake::diag::Source;
//! use litmake::litmus;
//! use litmake::sim::{Model, Options, Simulator};
//!
//! let text = "X86_64 SB
//! { x=0; y=0; }
//!  P0           | P1            ;
//!  movl $1,(x)  | movl $1,(y)   ;
//!  movl (y),%eax | movl (x),%eax ;
//! exists (0:rax=0 /\\ 1:rax=0)
//! ";
//! let test = litmus::read(&Source::new("sb.litmus", text))?;
//! let mut simulator = Simulator::default();
//! let mut states = |name: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
//!     let model = Model::load(&cat::load(name, &LoadOptions::new(test.arch))?)?;
//!     let outcomes = simulator.simulate(&test, &model, &Options::default())?;
//!     let shown = |(name, value): &(_, _)| format!("{name}={value}");
//!     let state = |s: litmake::sim::State| s.iter().map(shown).collect::<Vec<_>>().join("; ");
//!     Ok(outcomes.states.iter().map(state).collect())
//! };
//!
//! // Stores wait in a buffer on x86: both threads may read what was there before either store.
//! assert_eq!(states("sc")?.len(), 3);
//! assert_eq!(states("x86tso")?.len(), 4);
//! assert!(states("x86tso")?.contains(&"0:rax=0; 1:rax=0".to_string()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/simulate.rs` is this as a program.
//!
//! # Where to begin
//!
//! | to | see |
//! | --- | --- |
//! | read and write tests, in every dialect | [`litmus::read`], [`litmus::write`] |
//! | load a memory model | [`cat::load()`] |
//! | simulate a test under one | [`sim::Simulator`] |
//! | generate tests from cycles of relaxations | [`generate`] |
//! | make mutants of tests | [`mutate`] |
//! | compile a test, and lift the code to a test again | [`toolchain::compile::Compiler`] |
//! | run tests on processors and on GPUs | [`cpu`], [`gpu`] |
//! | plan and run a pipeline | [`pipeline`], [`engine`], [`stage`] |
//! | read and write reports | [`report`] |
//! | keep a record of runs, and make pages of it | [`history`], [`site`] |
//!
//! Each of these modules is a crate of the workspace, put under one name here. Errors are [`diag::Diag`]: what
//! is wrong, where in which text, and what to do about it.
//!
//! Data flows one way: pipeline -> plan -> stages -> library -> store -> report. `ARCHITECTURE.md` has the
//! map, which module may know what, and the invariants.

pub use litmake_base as base;
pub use litmake_base::{diag, file, local, plain, rel, stop};
pub use litmake_cat as cat;
pub use litmake_certificate as certificate;
pub use litmake_cpu as cpu;
pub use litmake_devices as devices;
pub use litmake_engine as engine;
pub use litmake_generate as generate;
pub use litmake_gpu as gpu;
pub use litmake_history as history;
pub use litmake_hunt as hunt;
pub use litmake_isa as isa;
pub use litmake_lang as lang;
pub use litmake_litmus as litmus;
pub use litmake_mix as mix;
pub use litmake_mutate as mutate;
pub use litmake_ops as ops;
pub use litmake_passes as passes;
pub use litmake_pipeline as pipeline;
pub use litmake_profile as profile;
pub use litmake_reduce as reduce;
#[cfg(feature = "remote")]
pub use litmake_remote as remote;
pub use litmake_report as report;
pub use litmake_select as select;
pub use litmake_sim as sim;
pub use litmake_site as site;
pub use litmake_stage as stage;
pub use litmake_stats as stats;
pub use litmake_toolchain as toolchain;
pub use litmake_tv as tv;
