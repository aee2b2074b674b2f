//! Runs a program under an emulator, for the tests of instruction sets. It does not know what the program is.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// The bytes that a static program writes when an emulator, given with its arguments, runs it.
pub fn output(emulator: &[&str], program: &[u8]) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a scratch folder");
    let path = dir.path().join("program");
    std::fs::write(&path, program).expect("the program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let (name, args) = emulator.split_first().expect("an emulator");
    let output = Command::new(name).args(args).arg(&path).output().expect("the emulator runs");
    assert!(output.status.success(), "{:?} {}", output.status, output.stdout.len());
    output.stdout
}
