//! What lies at a path: for how long it stays what it is, whether it flows from elsewhere, and which
//! program the kernel starts for it.
//!
//! It does not know who looks at it.

use std::ffi::OsString;
use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use litmake_base::file;
use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

use super::{Look, Unseen};

/// For how long what is at a path is what it is.
pub enum Realm {
    /// Until it is changed.
    Lasting,
    /// It describes the process itself.
    Process,
    /// It changes all the time.
    Passing,
}

/// For how long what a look at a path finds is what it is.
pub fn realm(path: &Path, look: Look) -> Realm {
    let Ok(inner) = path.strip_prefix("/proc") else { return Realm::Lasting };
    let mut parts = inner.iter().filter_map(|part| part.to_str());
    match (parts.next(), parts.next(), parts.next()) {
        (Some("sys"), Some("kernel"), Some("random")) => Realm::Passing,
        (None, ..) if look != Look::Names => Realm::Lasting,
        (Some("sys" | "cpuinfo" | "version" | "filesystems"), ..) => Realm::Lasting,
        (Some("self" | "thread-self"), ..) => Realm::Process,
        (Some(name), ..) if name.bytes().all(|b| b.is_ascii_digit()) => Realm::Process,
        _ => Realm::Passing,
    }
}

/// The words for a file whose content comes from elsewhere while it is read.
pub fn flows(path: &Path, kind: FileType) -> Option<Unseen> {
    // Random numbers name temporary files; most programs ask for them by a call of their own.
    let usual = ["null", "zero", "full", "tty", "urandom", "random"]
        .map(|name| Path::new("/dev").join(name));
    match () {
        () if kind.is_fifo() => {
            Some(Unseen::Program(format!("through the named pipe {}", path.display())))
        }
        () if kind.is_char_device() && !usual.iter().any(|usual| usual == path) => {
            Some(Unseen::Device(path.to_path_buf()))
        }
        () => None,
    }
}

/// The program that the kernel starts for a file: the interpreter of a script, or the loader of a
/// program.
pub fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut file = file::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref().take(SHEBANG).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next()?;
        let word = line.trim_ascii().split(|b| b.is_ascii_whitespace()).next()?;
        return Some(OsString::from_vec(word.to_vec()).into());
    }
    // Tools that change a program move the name to its end.
    let file = ReadCache::new(file);
    loader::<FileHeader64<Endianness>>(&file).or_else(|| loader::<FileHeader32<Endianness>>(&file))
}

/// How much of a script's first line the kernel reads.
const SHEBANG: u64 = 256;

/// The loader that a program names.
fn loader<E: FileHeader<Endian = Endianness>>(file: &ReadCache<File>) -> Option<PathBuf> {
    let elf = E::parse(file).ok()?;
    let endian = elf.endian().ok()?;
    let segments = elf.program_headers(endian, file).ok()?;
    let found = segments.iter().find_map(|s| s.interpreter(endian, file).ok().flatten())?;
    Some(OsString::from_vec(found.to_vec()).into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::interpreter;

    /// `patchelf` and others put the name of the loader behind everything else.
    #[test]
    fn a_loader_is_found_wherever_its_name_stands() {
        let shell = Path::new("/bin/sh");
        let usual = interpreter(shell).expect("a shell has a loader");
        let mut program = std::fs::read(shell).expect("there is a shell");
        let name = usual.to_str().expect("it is text").as_bytes();
        let at = program.windows(name.len()).position(|part| part == name).expect("it is named");
        // The segment's place in the file, in the program header that says so.
        let segment = (at as u64).to_le_bytes();
        let header = program.windows(8).position(|part| part == segment).expect("a header says it");
        program.resize(200_000, 0);
        let end = program.len() as u64;
        program[at..at + name.len()].fill(b'x');
        program[header..header + 8].copy_from_slice(&end.to_le_bytes());
        program.extend(usual.to_str().expect("it is text").bytes().chain([0]));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let moved = folder.path().join("moved");
        std::fs::write(&moved, program).expect("it is written");
        assert_eq!(interpreter(&moved), Some(usual));
    }
}
