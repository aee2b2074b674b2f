//! The binary: hands over to the command line.

mod cli;

use std::process::ExitCode;

/// Simulating a small test makes many small allocations, which this one serves faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
