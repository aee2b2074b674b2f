//! The build script of the program: one of the dev profile is linked for a fixed address. Its 190,000 pointers are then
//! made by the linker once, and not at each start, of which that is half; tests start it for each compiler that runs.

#[expect(clippy::print_stdout, reason = "cargo listens there")]
fn main() {
    println!("cargo::rerun-if-changed=src/build/program.rs");
    let has = |name: &str, value: &str| std::env::var(name).is_ok_and(|is| is == value);
    if has("PROFILE", "debug") && has("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
