//! The binary: hands over to the command line.

// On Linux, `start` has the program's own start.
#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

mod cli;
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start;

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    cli::main()
}
