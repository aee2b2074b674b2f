//! The binary: hands over to the command line.

mod cli;

/// Simulating a small test makes many small allocations, which this serves faster. Without huge
/// pages (its feature `no_thp`): short runs would spend their time on clearing them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
