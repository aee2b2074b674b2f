//! Temporary folders that are removed with their value. All those of a process lie in one folder,
//! and what a killed process leaves behind is removed by a later run.
//!
//! That folder is locked while its process lives, so one whose lock is free belongs to a dead
//! process. This module does not know what the folders contain.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

use tempfile::TempDir;

use litmake_base::file;

/// The prefix of the folders' names. Neither other programs nor versions of litmake without locks
/// use it.
const PREFIX: &str = "litmake-scratch-";

/// Whether a path is that of a folder in which the temporary folders of some process lie.
pub fn is_place(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
}

/// The folder in which the temporary folders of a process lie. No later process mistakes it for one
/// that was left behind.
#[derive(Debug)]
pub struct Parent {
    // Dropped before the lock.
    dir: TempDir,
    _lock: File,
}

impl Parent {
    /// The folder of this process. It stays as long as somebody uses it. The first call also removes
    /// the folders of dead processes.
    pub fn of_the_process() -> io::Result<Arc<Parent>> {
        static SWEEP: Once = Once::new();
        static PLACE: Mutex<Weak<Parent>> = Mutex::new(Weak::new());
        let parent = std::path::absolute(std::env::temp_dir())?;
        SWEEP.call_once(|| sweep(&parent));
        let mut known = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.upgrade() {
            return Ok(place);
        }
        let place = Arc::new(Parent::new_in(&parent)?);
        *known = Arc::downgrade(&place);
        Ok(place)
    }

    fn new_in(parent: &Path) -> io::Result<Parent> {
        loop {
            let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            // Another process may remove the folder before it is locked.
            let lock = match open(dir.path()) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            // If locks are not supported, no other process can take the lock either.
            let _ = lock.lock();
            let there = std::fs::metadata(dir.path());
            if there.is_ok_and(|m| lock.metadata().is_ok_and(|l| l.ino() == m.ino())) {
                return Ok(Parent { dir, _lock: lock });
            }
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// A temporary folder.
#[derive(Debug)]
pub struct Scratch {
    // Dropped before the place.
    dir: TempDir,
    _place: Arc<Parent>,
}

impl Scratch {
    /// Makes a folder.
    pub fn new() -> io::Result<Scratch> {
        let place = Parent::of_the_process()?;
        let dir = tempfile::Builder::new().prefix("").tempdir_in(place.path())?;
        Ok(Scratch { dir, _place: place })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file for a tool.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let mut open = File::options();
        let open = open.write(true).create(true).truncate(true);
        open.open(self.path().join(name))?.write_all(content.as_ref())
    }

    /// Reads a file that a tool wrote, up to the usual limit of size.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        file::read(&self.path().join(name), file::MAX_DATA)
    }
}

#[expect(clippy::disallowed_methods, reason = "it is a folder, which is opened to be locked")]
fn open(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Removes the folders of dead processes. What cannot be removed is left to the next run.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if !ours || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        // Folders of other users cannot be opened.
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
    fn a_folder_that_is_swept_before_it_is_locked_is_made_again() {
        let parent = tempfile::tempdir().expect("a folder");
        let done = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(relaxed) {
                    sweep(parent.path());
                }
            });
            for _ in 0..2000 {
                let made = Parent::new_in(parent.path()).map(|made| made.path().is_dir());
                assert!(matches!(made, Ok(true)), "{made:?}");
            }
            done.store(true, relaxed);
        });
    }

    #[test]
    fn only_folders_of_the_dead_are_swept() {
        let parent = tempfile::tempdir().expect("a folder");
        let alive = Parent::new_in(parent.path()).expect("a folder");
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
