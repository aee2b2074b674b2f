//! One question on standard input, its answer on standard output. Compiled to WebAssembly, this is what the page runs.

#![allow(clippy::print_stdout, reason = "the answer goes there")]

fn main() -> std::io::Result<()> {
    println!("{}", litmake_page::answer(&std::io::read_to_string(std::io::stdin())?));
    Ok(())
}
