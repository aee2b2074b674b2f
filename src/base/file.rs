//! Reads and writes files safely. Reading rejects devices and files that are too large; writing
//! leaves either the old content or all of the new.
//!
//! It does not know what the files contain.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diag, Result};
use crate::local;

/// The number of symbolic links that are followed, as in the kernel.
const LINKS: usize = 40;

/// The largest size of a pipeline, profile or model.
pub const MAX_TEXT: u64 = 16 << 20;

/// The largest size of a list, report or result.
pub const MAX_DATA: u64 = 1 << 30;

/// Whether a path names an open descriptor. The user who names one wants to wait for its data.
fn is_open_already(path: &Path) -> bool {
    let named = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    named.iter().any(|n| path.starts_with(n))
}

/// Opens a regular file to be read. Devices and pipes are rejected: they may have no end, or block.
pub fn open(path: &Path) -> io::Result<File> {
    if is_open_already(path) {
        #[expect(
            clippy::disallowed_methods,
            reason = "somebody opened it, and means to wait for it"
        )]
        return File::open(path);
    }
    local::keeps(path)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false if kind.is_dir() => Err(io::Error::from_raw_os_error(libc::EISDIR)),
        false => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it is a device or a pipe, not a file"))
        }
    }
}

/// Reads a file of at most `most` bytes. A larger one is not read at all, if its size is known.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata().map_or(0, |meta| meta.len());
    if size > most {
        return Err(too_large(most));
    }
    let mut out = Vec::with_capacity(size as usize);
    file.take(most.saturating_add(1)).read_to_end(&mut out)?;
    match out.len() as u64 > most {
        true => Err(too_large(most)),
        false => Ok(out),
    }
}

/// The error for a file that is larger than `most` bytes.
pub fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", most >> 20))
}

/// Like [`read`], for texts.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| not_utf8())
}

/// Content as text.
pub fn text(content: Arc<[u8]>) -> io::Result<Arc<str>> {
    std::str::from_utf8(&content).map(Arc::from).map_err(|_| not_utf8())
}

fn not_utf8() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it is not UTF-8")
}

/// Replaces a whole file. A symbolic link stays, and the file that it leads to is replaced; a
/// device or a pipe is written directly.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    put(path, content.as_ref()).map_err(|e| {
        let help = match e.kind() {
            ErrorKind::NotFound => "the folder has to be there",
            _ => "what was there before is as it was",
        };
        Diag::new(format!("cannot write {}: {e}", path.display())).help(help)
    })
}

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    // Through the handles of this process, so that the order with what it prints is kept.
    match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => {
            let mut out = io::stdout().lock();
            return out.write_all(content).and_then(|()| out.flush());
        }
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => {
            return io::stderr().lock().write_all(content);
        }
        _ => {}
    }
    local::keeps(path)?;
    let path = behind_links(path)?;
    let old = match fs::metadata(&path) {
        Ok(old) if !old.is_file() || path.starts_with("/dev") || path.starts_with("/proc") => {
            return through(&path, content);
        }
        Ok(old) => Some(old.permissions()),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A file without write permission must not be replaced either.
    if old.is_some() {
        OpenOptions::new().write(true).open(&path)?;
    }
    let new = tempfile::Builder::new()
        .prefix(".litmake-")
        .suffix(".tmp")
        // The mode of any new file, before the user's mask.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    let mut new = match new {
        Ok(new) => new,
        // A file may be writable in a folder that is not.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && old.is_some() => {
            return through(&path, content);
        }
        Err(e) => return Err(unnamed(e)),
    };
    new.write_all(content).map_err(unnamed)?;
    if let Some(permissions) = old {
        new.as_file().set_permissions(permissions)?;
    }
    new.as_file().sync_all()?;
    match new.persist(&path) {
        Ok(_) => {}
        // A file that is a mount point cannot be replaced.
        Err(e) if e.error.kind() == ErrorKind::ResourceBusy => return through(&path, content),
        Err(e) => return Err(e.error),
    }
    // The new name survives a crash only if the folder is synced. A failure here is ignored.
    #[expect(clippy::disallowed_methods, reason = "it is a folder")]
    let _ = File::open(folder).and_then(|f| f.sync_all());
    Ok(())
}

/// The error without the path of the temporary file, which would tell the user nothing.
fn unnamed(e: io::Error) -> io::Error {
    io::Error::from(e.kind())
}

fn through(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(content)
}

/// The path behind symbolic links, whether or not a file is there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_written_replaces_what_was_there_and_keeps_who_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.json");
        write(&path, "one").unwrap();
        // A file as other programs make it.
        fs::write(dir.path().join("usual"), "").unwrap();
        assert_eq!(mode(&path), mode(&dir.path().join("usual")));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, "two").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("two", 0o640));
        assert_eq!(names(dir.path()), ["report.json", "usual"]);
    }

    #[test]
    fn what_is_read_is_a_file_that_is_not_too_large() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a NUL.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [dir.path(), &pipe, Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(read(path, 10).is_err(), "{}", path.display());
        }
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        // It would not fit into memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&path, 1 << 39).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn links_stay_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("folder/real", at("second")).unwrap();
        std::os::unix::fs::symlink("second", at("first")).unwrap();
        for text in ["new", "newer"] {
            write(&at("first"), text).unwrap();
            assert_eq!(fs::read_to_string(at("folder/real")).unwrap(), text);
            assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
            assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
        }
        std::os::unix::fs::symlink("circle", at("circle")).unwrap();
        assert!(write(&at("circle"), "x").is_err());
    }

    #[test]
    fn devices_and_pipes_are_written_through_and_folders_are_not_written() {
        write(Path::new("/dev/null"), "x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(Path::new("/dev/full"), "x").is_err());
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), "x").is_err());
        let error = write(&dir.path().join("none/x"), "x").unwrap_err();
        assert_eq!(error.help.as_deref(), Some("the folder has to be there"));
        let pipe = dir.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a NUL.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
    }
}
