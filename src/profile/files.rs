//! Reads the files of profiles and pipelines, and handles the paths between them.
//!
//! All files are read through [`Files`], so that planning can record what was read. This file does
//! not know what is in them.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use litmake_base::{file, local};

/// The source of the files and variables that planning reads.
pub trait Files {
    /// The content of a file of at most `most` bytes.
    fn content(&self, path: &Path, most: u64) -> io::Result<Arc<[u8]>>;

    /// The text of a pipeline, a profile or a model.
    fn read(&self, path: &Path) -> io::Result<Arc<str>> {
        file::text(self.content(path, file::MAX_TEXT)?)
    }

    /// The files in a folder, sorted; empty if there is no such folder.
    fn list(&self, folder: &Path) -> Vec<PathBuf>;
    /// The value of an environment variable.
    fn env(&self, name: &str) -> Option<String>;
    /// Whether a compiler of this name is installed.
    fn installed(&self, compiler: &str) -> bool;
}

static FINDS: OnceLock<fn(&str) -> bool> = OnceLock::new();

/// Sets how [`Disk`] looks for compilers. Before, none is installed.
pub fn find_compilers_with(find: fn(&str) -> bool) {
    let _ = FINDS.set(find);
}

/// The real file system.
pub struct Disk;

impl Files for Disk {
    fn content(&self, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
        local::within(path)?;
        file::read(path, most).map(Into::into)
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        if local::within(folder).is_err() {
            return Vec::new();
        }
        let mut out: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|e| e.ok().map(|e| e.path()))
            .collect();
        out.sort();
        out
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|_| local::may_read(name))
    }

    fn installed(&self, compiler: &str) -> bool {
        FINDS.get().is_some_and(|find| find(compiler))
    }
}

/// Removes `.` and `..` from a path without asking the file system.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    if out.as_os_str().is_empty() {
        out.push(".");
    }
    out
}

/// The folder that relative paths in a file start from.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
