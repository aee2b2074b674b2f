//! The program that workers run, as it is sent: what a loader reads of it.
//!
//! Most of a program's file is names and lines for debuggers, behind everything that is loaded. Each job
//! has the program copied and read, so that this is left out. It does not know how programs travel.

use std::path::Path;

use litmake_base::file;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, pod};

/// No program of litmake's is larger.
const MAX: u64 = 1 << 30;

/// Reads a program, with so many bytes behind its end, which nobody reads.
pub fn read(path: &Path, padding: usize) -> Result<Vec<u8>, String> {
    let bytes = file::read(path, MAX).map_err(|e| e.to_string())?;
    let mut out = loaded(&bytes).unwrap_or(bytes);
    out.resize(out.len() + padding, 0);
    Ok(out)
}

/// The part of a program that is loaded; nothing where the file is of another kind than those that are known here.
fn loaded(bytes: &[u8]) -> Option<Vec<u8>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?;
    let sizes = (header.e_phnum.get(endian), header.e_phentsize.get(endian));
    let table = header.e_phoff.get(endian).checked_add(u64::from(sizes.0) * u64::from(sizes.1))?;
    let ends = headers.iter().map(|h| h.p_offset(endian).saturating_add(h.p_filesz(endian)));
    let end = usize::try_from(ends.max()?.max(table)).ok()?;
    let mut out = bytes.get(..end)?.to_vec();
    // The table of sections lies behind that, so the header must not name it.
    let (header, _) = pod::from_bytes_mut::<FileHeader64<LittleEndian>>(&mut out).ok()?;
    header.e_shoff.set(endian, 0);
    header.e_shnum.set(endian, 0);
    header.e_shstrndx.set(endian, elf::SHN_UNDEF);
    Some(out)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_loaded_of_a_program_runs_as_the_program_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let this = std::env::current_exe().expect("this program");
        let whole = std::fs::metadata(&this).expect("this program").len();
        let bytes = read(&this, 3).expect("it is read");
        assert!((bytes.len() as u64) < whole + 3, "nothing was left out");
        let path = folder.path().join("program");
        file::write(&path, bytes).expect("it is written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it may run");
        let run = |program: &Path| {
            let out = Command::new(program).arg("--list").output().expect("it runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            out.stdout
        };
        assert_eq!(run(&path), run(&this));
    }

    #[test]
    fn what_is_no_program_is_sent_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        let mut cut = std::fs::read(std::env::current_exe().expect("this program")).expect("read");
        cut.truncate(4000);
        for text in [b"#!/bin/sh\n".to_vec(), b"\x7fELF".to_vec(), Vec::new(), cut] {
            file::write(&path, &text).expect("it is written");
            assert_eq!(read(&path, 0).as_deref(), Ok(&text[..]));
        }
    }
}
