//! litmake, a make for litmus tests.
//!
//! Data flows one way: pipeline -> plan -> stages -> library -> store -> report. See
//! `ARCHITECTURE.md` for the map and the invariants.

pub mod base;
pub mod cat;
pub mod cpu;
pub mod devices;
pub mod diag;
pub mod engine;
pub mod file;
pub mod generate;
pub mod gpu;
pub mod isa;
pub mod lang;
pub mod litmus;
pub mod local;
pub mod mix;
pub mod mutate;
pub mod ops;
pub mod pipeline;
pub mod plain;
pub mod profile;
pub mod reduce;
pub mod rel;
pub mod report;
pub mod select;
pub mod sim;
pub mod stage;
pub mod stats;
pub mod stop;
pub mod toolchain;
