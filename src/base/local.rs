//! Decides whether files of the working folder may replace files of the same name that come with
//! litmake. A foreign source tree can contain profiles, and a profile says which program is run.
//!
//! In a run on a foreign tree, whatever the tree names has to lie in it, and the tree sees no
//! variable of the environment but those that the user names.
//!
//! It only holds the answers; the code that looks files up asks for them.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

/// The option that forbids such files.
pub const OPTION: &str = "no-local";
/// The environment variable that forbids such files.
pub const VARIABLE: &str = "LITMAKE_NO_LOCAL";

static FORBIDDEN: AtomicBool = AtomicBool::new(false);
static SAY: OnceLock<fn(&str)> = OnceLock::new();
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Forbids files of the working folder from now on.
pub fn forbid() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether the option was given or the variable is set.
pub fn is_forbidden() -> bool {
    let by_variable = || std::env::var_os(VARIABLE).is_some_and(|v| !v.is_empty() && v != "0");
    FORBIDDEN.load(Ordering::Relaxed) || by_variable()
}

/// A tree that others wrote.
struct Tree {
    root: PathBuf,
    folder: OwnedFd,
    variables: BTreeSet<String>,
}

static TREE: OnceLock<Tree> = OnceLock::new();

/// From now on the files of the working folder are a foreign tree, which may read these variables.
pub fn bound(variables: impl IntoIterator<Item = String>) -> io::Result<()> {
    forbid();
    let root = std::env::current_dir()?;
    let folder = open(&root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let _ = TREE.set(Tree { root, folder, variables: variables.into_iter().collect() });
    Ok(())
}

/// Whether the working folder is a foreign tree.
pub fn is_foreign() -> bool {
    TREE.get().is_some()
}

/// An error if the working folder is a foreign tree and a path leads out of it, by its parts or by
/// links. What is missing is for whoever reads it to report.
pub fn within(path: &Path) -> io::Result<()> {
    let Some(tree) = TREE.get() else { return Ok(()) };
    let outside = || {
        let why = "it lies outside of the tree, of which nothing may be used with --foreign";
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    };
    let whole = std::path::absolute(path)?;
    let inner = whole.strip_prefix(&tree.root).map_err(|_| outside())?;
    let inner = if inner.as_os_str().is_empty() { Path::new(".") } else { inner };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(&tree.folder, inner, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(Errno::XDEV | Errno::LOOP) => Err(outside()),
        Err(e) => Err(e.into()),
    }
}

/// An error if a path in a foreign tree leads out of it by links. Other paths are not the tree's.
pub fn keeps(path: &Path) -> io::Result<()> {
    match TREE.get() {
        Some(tree) if std::path::absolute(path)?.starts_with(&tree.root) => within(path),
        _ => Ok(()),
    }
}

/// Whether what the working folder says may read a variable of the environment.
pub fn may_read(variable: &str) -> bool {
    TREE.get().is_none_or(|tree| tree.variables.contains(variable))
}

/// Sets the function that prints the warnings of [`hides`].
pub fn say_with(say: fn(&str)) {
    let _ = SAY.set(say);
}

/// Warns, once for each message, that a file of the working folder hides one that comes with
/// litmake.
pub fn hides(local: &str, shipped: &str) {
    let message =
        format!("{local} hides {shipped}; --{OPTION} takes nothing from the working folder");
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(message.clone())
        && let Some(say) = SAY.get()
    {
        say(&message);
    }
}
