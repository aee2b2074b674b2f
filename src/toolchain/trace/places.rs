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

use super::{Look, Property, Unseen};

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
        // A program inherits these from litmake, which has the same in its own file.
        (
            Some("self"),
            Some("coredump_filter" | "loginuid" | "oom_score_adj" | "personality"),
            None,
        ) => Realm::Lasting,
        (Some("sys"), Some("kernel"), Some("random")) => Realm::Passing,
        (None, ..) if look != Look::Names => Realm::Lasting,
        (Some("sys" | "cpuinfo" | "version" | "filesystems"), ..) => Realm::Lasting,
        (Some("self" | "thread-self"), ..) => Realm::Process,
        (Some(name), ..) if name.bytes().all(|b| b.is_ascii_digit()) => Realm::Process,
        _ => Realm::Passing,
    }
}

/// The properties of a process that a file about it in `/proc` has.
pub fn told_in(path: &Path) -> &'static [Property] {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("status") => &[Property::User, Property::Affinity],
        Some("limits" | "stat") => &[Property::Limits],
        _ => &[],
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
    use object::read::ReadRef;
    use object::read::elf::{FileHeader, ProgramHeader};
    fn of<'d, E: FileHeader<Endian = object::Endianness>>(
        data: impl ReadRef<'d>,
    ) -> Option<PathBuf> {
        let elf = E::parse(data).ok()?;
        let endian = elf.endian().ok()?;
        let segments = elf.program_headers(endian, data).ok()?;
        let found = segments.iter().find_map(|s| s.interpreter(endian, data).ok().flatten())?;
        Some(OsString::from_vec(found.to_vec()).into())
    }
    let mut file = file::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref().take(256).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next()?;
        let word = line.trim_ascii().split(|b| b.is_ascii_whitespace()).next()?;
        return Some(OsString::from_vec(word.to_vec()).into());
    }
    // A program may name its loader anywhere: patchelf writes the name behind all else.
    let data = object::read::ReadCache::new(file);
    of::<object::elf::FileHeader64<_>>(&data).or_else(|| of::<object::elf::FileHeader32<_>>(&data))
}

#[cfg(test)]
mod tests {
    use super::interpreter;

    /// A program for x86-64 without code, whose one segment is the name of its loader.
    fn program(loader: &str, at: usize) -> Vec<u8> {
        let mut bytes = vec![0; at];
        let mut put = |to: usize, part: &[u8]| bytes[to..to + part.len()].copy_from_slice(part);
        put(0, b"\x7fELF\x02\x01\x01");
        // A program (2) of x86-64 (62); one program header of 56 bytes behind the header of 64.
        put(16, &[2, 0, 62, 0, 1]);
        put(32, &[64]);
        put(52, &[64, 0, 56, 0, 1]);
        // The interpreter (3): where it lies, and its size.
        put(64, &[3]);
        put(72, &(at as u64).to_le_bytes());
        put(96, &(loader.len() as u64 + 1).to_le_bytes());
        bytes.extend(loader.bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_loader_is_found_wherever_a_program_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        for at in [120, 5 << 20] {
            std::fs::write(&path, program("/lib/loader", at)).unwrap();
            assert_eq!(interpreter(&path).as_deref(), Some("/lib/loader".as_ref()), "{at}");
        }
    }
}
