//! The build script of every crate of the workspace: hands the crate's digest on to those that
//! use it.

#[expect(clippy::print_stdout, reason = "cargo listens there")]
fn main() {
    println!("cargo::metadata=digest={}", litmake_build::of_crate());
}
