//! What happens to the program from outside: signals and kills at any moment, tools that leave
//! processes behind, damaged caches, full disks, many processes on one cache. Whatever happens, the
//! next run comes to the report of a run to which nothing happened, and nothing is left lying about.
//!
//! Moments and places are drawn from a seed (`LITMAKE_SEED`). `LITMAKE_FAULTS=N` makes N times as
//! many rounds: 12 gives 108 damages, 18 processes, 60 kills, 36 signals and 24 full disks.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]
#![allow(clippy::print_stdout, reason = "what a test met at random is said")]

mod damage;
mod disk;
mod processes;
mod program;
mod scene;
mod signals;
