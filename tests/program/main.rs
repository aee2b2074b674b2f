//! The program from end to end, in scratch folders: as one binary, since each that is linked holds the whole
//! program.
//!
//!     cargo test --test program                  # all of it
//!     cargo test --test program run::watch::     # one file

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

mod audit;
mod bisect;
mod cases;
mod certificates;
mod docs;
mod evidence;
mod findings;
mod foreign;
mod getting;
mod history;
mod hunt;
mod identity;
mod init;
mod judge;
mod judged;
mod kernel;
mod less;
mod lift;
mod loongarch;
mod manners;
mod mapping;
mod mistakes;
#[path = "../common/mixes.rs"]
mod mixes;
mod naming;
mod newer;
mod passes;
#[path = "../common/promoted.rs"]
mod promoted;
mod run;
mod s390x;
#[path = "../common/scratch.rs"]
mod scratch;
mod shards;
mod stale;
mod strangers;
mod tv;
mod written;
