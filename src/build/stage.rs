//! The build script of the stages: tells each file of this crate the digest of what it can call, so
//! that a stage's results are keyed by the code that can have a part in them.

#[expect(clippy::print_stdout, reason = "cargo listens there")]
fn main() {
    for (file, digest) in litmake_build::of_files() {
        println!("cargo::rustc-env=LITMAKE_STAGE_{}={digest}", file.to_uppercase());
    }
}
