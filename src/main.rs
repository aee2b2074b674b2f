//! The binary: hands over to the command line.

mod cli;

use std::process::ExitCode;

use litmake::profile::files;
use litmake::toolchain::{process, supervisor};

/// Simulating a small test makes many small allocations, which this one serves faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The program starts itself to look after each tool that it runs, and to make their cages.
    if let Some(status) = supervisor::asked() {
        return status;
    }
    supervisor::is_this_program();
    files::find_compilers_with(|compiler| process::locate(compiler).is_some());
    cli::main()
}
