//! The build script of a crate whose results are kept in a store by its own digest: tells it that, and hands it on
//! to those that use the crate.

#[expect(clippy::print_stdout, reason = "cargo listens there")]
fn main() {
    let digest = litmake_build::of_crate();
    println!("cargo::metadata=digest={digest}");
    println!("cargo::rustc-env=LITMAKE_CRATE={digest}");
}
