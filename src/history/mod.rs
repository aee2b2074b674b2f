//! The record of runs that a team keeps: the bugs that each run saw, with the compilers, and the
//! state of each bug since. A record is a folder of small files, one for each run, that are added
//! and never changed.
//!
//! It knows reports. It does not know how runs work, nor how pages are made.

pub mod builds;
pub mod folder;
pub mod lives;
pub mod record;
pub mod tell;
