//! What lies at a path: for how long it stays what it is, whether it flows from elsewhere, and which
//! program the kernel starts for it.
//!
//! It does not know who looks at it.

use std::ffi::OsString;
use std::fs::FileType;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use litmake_base::file;

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
    use object::read::elf::{FileHeader, ProgramHeader};
    fn of<E: FileHeader<Endian = object::Endianness>>(
        elf: &E,
        endian: object::Endianness,
        data: &[u8],
    ) -> Option<PathBuf> {
        let segments = elf.program_headers(endian, data).ok()?;
        let found = segments.iter().find_map(|s| s.interpreter(endian, data).ok().flatten())?;
        Some(OsString::from_vec(found.to_vec()).into())
    }
    let mut head = Vec::new();
    let file = file::open(path).ok()?;
    // Every known program names its interpreter in the first page.
    file.take(1 << 16).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next()?;
        let word = line.trim_ascii().split(|b| b.is_ascii_whitespace()).next()?;
        return Some(OsString::from_vec(word.to_vec()).into());
    }
    if let Ok(elf) = object::elf::FileHeader64::<object::Endianness>::parse(&*head) {
        let endian = elf.endian().ok()?;
        return of(elf, endian, &head);
    }
    let elf = object::elf::FileHeader32::<object::Endianness>::parse(&*head).ok()?;
    let endian = elf.endian().ok()?;
    of(elf, endian, &head)
}
