//! The build script of every crate of the workspace: tells the crate its own digest, and hands it on
//! to those that use it.

fn main() {
    let digest = litmake_build::of_crate();
    println!("cargo::metadata=digest={digest}");
    println!("cargo::rustc-env=LITMAKE_DIGEST={digest}");
}
