//! Work that other machines do or have done, on a real server: buildbox-casd, as `scripts/remote`
//! installs it.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

mod cache;
mod common;
mod execution;
