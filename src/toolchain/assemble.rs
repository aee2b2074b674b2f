//! Assembles a text with a profile's compiler, which brings an assembler for its target.
//!
//! It does not know what the text means.

use std::path::Path;

use super::compile::{Compiler, arguments, request};
use super::process;
use super::scratch::Scratch;
use super::trouble;
use litmake_base::failure::{Failure, Fault};
use litmake_lang::Language;

/// The object file of a text. A `.S` file is preprocessed first.
pub fn assemble(compiler: &Compiler, path: &Path, text: &[u8]) -> Result<Vec<u8>, Failure> {
    let profile = compiler.profile;
    if !matches!(profile.language, Language::C | Language::Cpp) {
        let what = format!("{} is no assembler: take a profile of gcc or clang", profile.compiler);
        return Err(what.into());
    }
    let dir = Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
    let file = if path.extension().is_some_and(|e| e == "S") { "code.S" } else { "code.s" };
    dir.write(file, text)
        .map_err(|e| Failure::machine(format!("the text cannot be written: {e}")))?;
    let args = arguments(profile, &["-w"], &["-c", "-o", "code.o", file]);
    let ended = process::run(&request(profile, compiler.program, &args, dir.path(), compiler.stop));
    trouble::judge(&profile.compiler, ended, profile.timeout)?;
    dir.read("code.o").map_err(|e| {
        Failure::broken(Fault::Output, format!("{} left no object file: {e}", profile.compiler))
    })
}
