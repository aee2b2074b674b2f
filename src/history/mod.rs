//! The record of runs that a team keeps: which bugs each run saw, with which compilers, and what became of
//! the bugs since. It is a folder of small files, one a run, that are added and never changed.
//!
//! This room knows reports, and neither how a run goes nor how pages are made.

pub mod folder;
pub mod lives;
pub mod record;
pub mod tell;
