//! Makes a litmus test from a module, with the condition of its source.
//!
//! It does not know passes or models.

use litmake_isa::llvm::module::Module;
use litmake_isa::llvm::strong;
use litmake_isa::llvm::thread::{Given, thread};
use litmake_lang::compiled::{Kept, compose};
use litmake_litmus::{Arch, Body, Features, Test};
use litmake_toolchain::compile::Frame;

/// The info line of a test with undetermined values (`undef`, `poison`). They are taken as 0, so
/// that the outcomes are some of those of the code.
pub const OPEN: &str = "Open";

/// The test of a module that was compiled from `source`.
pub fn test(source: &Test, frame: &Frame, module: &str) -> Result<Test, String> {
    let module = Module::read(module)?;
    let modules = vec![&module; frame.threads.len()];
    test_of(source, frame, &modules)
}

/// The same test, if the function of each thread is in a module of its own.
pub fn test_of(source: &Test, frame: &Frame, modules: &[&Module]) -> Result<Test, String> {
    let mut init = frame.init.clone();
    let mut threads = Vec::new();
    let mut open = false;
    for (number, ((function, params), module)) in frame.threads.iter().zip(modules).enumerate() {
        let given = Given { module, thread: number, params, globals: &frame.globals };
        let made = thread(function, &given).map_err(|e| format!("P{number}: {e}"))?;
        for item in made.init {
            // Threads share all locations other than stack slots.
            if !init.iter().any(|i| i.place == item.place) {
                init.push(item);
            }
        }
        open |= made.open;
        threads.push(Body::Asm(made.lines));
    }
    let composed = compose(source, Arch::Llvm, Kept::In(&frame.locals), init, threads);
    let mut out = composed.map_err(|e| e.text())?;
    if modules.iter().any(|module| module.is_narrow()) {
        out.add_features(Features { ptr32: true, ..Features::default() });
    }
    if open {
        out.info.push((OPEN.to_string(), "undef and poison are 0".to_string()));
    }
    Ok(out)
}

/// The same test with each barrier and each ordered access as strong as a target can make it.
pub fn strongest(test: &Test) -> Test {
    let mut out = test.clone();
    for body in &mut out.threads {
        if let Body::Asm(lines) = body {
            for line in lines {
                line.text = strong::strongest(&line.text);
            }
        }
    }
    out
}
