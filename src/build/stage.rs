//! The build script of the stages: tells each file of this crate the digest of what it can call, so
//! that a stage's results are keyed by the code that can have a part in them. Crates that use this one are told the digest
//! of the whole.

#[expect(clippy::print_stdout, reason = "cargo listens there")]
fn main() {
    println!("cargo::metadata=digest={}", litmake_build::of_crate());
    for (file, digest) in litmake_build::of_files() {
        println!("cargo::rustc-env=LITMAKE_STAGE_{}={digest}", file.to_uppercase());
    }
}
