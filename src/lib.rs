//! litmake, a make for litmus tests: all of its rooms under one name, for tests, benches and examples.
//!
//! Data flows one way: pipeline -> plan -> stages -> library -> store -> report. See
//! `ARCHITECTURE.md` for the map and the invariants.

pub use litmake_base as base;
pub use litmake_base::{diag, file, local, plain, rel, stop};
pub use litmake_cat as cat;
pub use litmake_cpu as cpu;
pub use litmake_devices as devices;
pub use litmake_engine as engine;
pub use litmake_generate as generate;
pub use litmake_gpu as gpu;
pub use litmake_isa as isa;
pub use litmake_lang as lang;
pub use litmake_litmus as litmus;
pub use litmake_mix as mix;
pub use litmake_mutate as mutate;
pub use litmake_ops as ops;
pub use litmake_pipeline as pipeline;
pub use litmake_profile as profile;
pub use litmake_reduce as reduce;
pub use litmake_report as report;
pub use litmake_select as select;
pub use litmake_sim as sim;
pub use litmake_stage as stage;
pub use litmake_stats as stats;
pub use litmake_toolchain as toolchain;
