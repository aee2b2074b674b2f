//! Temporary folders that do not outlive who made them: they go with their value, and those of a
//! process that was killed go with a later run. It does not know what is in them.
//!
//! Each folder is locked for as long as its process lives, so that one whose lock can be had is
//! surely dead.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;

use tempfile::TempDir;

use litmake_base::file;

/// Other programs, and litmake before it locked its folders, call none so.
const PREFIX: &str = "litmake-scratch-";

/// A temporary folder that no later process takes for one that was left behind.
#[derive(Debug)]
pub struct Scratch {
    // Dropped before the lock.
    dir: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder; at the first one, folders of dead processes are removed.
    pub fn new() -> io::Result<Scratch> {
        static SWEEP: Once = Once::new();
        let parent = std::env::temp_dir();
        SWEEP.call_once(|| sweep(&parent));
        Scratch::new_in(&parent)
    }

    fn new_in(parent: &Path) -> io::Result<Scratch> {
        loop {
            let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let lock = open(dir.path())?;
            // Where locks are not to be had, nobody can take it for dead either.
            let _ = lock.lock();
            // Between its making and its lock it may have been taken for dead.
            let there = std::fs::metadata(dir.path());
            if there.is_ok_and(|m| lock.metadata().is_ok_and(|l| l.ino() == m.ino())) {
                return Ok(Scratch { dir, _lock: lock });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file for a tool to read.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let mut open = File::options();
        let open = open.write(true).create(true).truncate(true);
        open.open(self.path().join(name))?.write_all(content.as_ref())
    }

    /// What a tool left under a name: a file, and not more than anyone needs.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        file::read(&self.path().join(name), file::MAX_DATA)
    }
}

#[expect(clippy::disallowed_methods, reason = "it is a folder, which is opened to be locked")]
fn open(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Removes what dead processes left. What cannot be removed is left to the next.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if !ours || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        // Those of others cannot be opened.
        if let Ok(lock) = open(&entry.path())
            && lock.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_swept() {
        let parent = tempfile::tempdir().expect("a folder");
        let alive = Scratch::new_in(parent.path()).expect("a folder");
        std::fs::write(alive.path().join("file"), "").expect("is written");
        let dead = parent.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir_all(dead.join("inside")).expect("is made");
        let other = parent.path().join("litmake-1234");
        std::fs::create_dir(&other).expect("is made");
        let file = parent.path().join(format!("{PREFIX}file"));
        std::fs::write(&file, "").expect("is written");
        sweep(parent.path());
        assert!(!dead.exists());
        assert!(alive.path().join("file").exists() && other.exists() && file.exists());
        let path = alive.path().to_path_buf();
        drop(alive);
        assert!(!path.exists());
    }
}
