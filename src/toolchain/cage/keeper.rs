//! The process that makes cages. It does not know what they are for.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, utimensat};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Order, Shown};

/// Where the files of the machine are while a cage is made.
const MACHINE: &str = "/.machine";

/// The name of the host in all cages.
const HOST: &[u8] = b"litmake";

/// The number of the user and of the group in all cages. It is not that of root, so that programs
/// have no rights there.
const USER: u32 = 1000;

/// The devices that are in every cage.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Links in `/dev` that are in every cage where the machine has them.
const LINKS: [&str; 4] = ["fd", "stdin", "stdout", "stderr"];

/// The number of symbolic links that are followed, as in the kernel.
const FOLLOWED: usize = 40;

/// Makes cages until the line is closed. Says after each step whether it went well.
pub fn keep() -> ExitCode {
    match kept() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn kept() -> io::Result<()> {
    // Standard input is the line, in both directions.
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut orders = BufReader::new(line.try_clone()?);
    let tell = |word: io::Result<()>| -> io::Result<()> {
        let why = word.as_ref().err().map(ToString::to_string);
        let mut text = serde_json::to_vec(&why)?;
        text.push(b'\n');
        (&line).write_all(&text)?;
        word
    };
    let outside = move_out();
    let word = outside.as_ref().map(|_| ()).map_err(|e| io::Error::other(e.to_string()));
    tell(word)?;
    let outside = outside?;
    let mut text = String::new();
    while orders.read_line(&mut text)? > 0 {
        let order: Order = serde_json::from_str(&text)?;
        // What fails is said, and the next order begins anew.
        let _ = tell(make(&order, &outside));
        text.clear();
    }
    Ok(())
}

/// Moves this process into namespaces of its own, and returns the one of mounts.
fn move_out() -> io::Result<OwnedFd> {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(
        libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWNET,
    )?;
    for (file, text) in [
        ("setgroups", "deny".to_string()),
        ("uid_map", format!("{USER} {user} 1")),
        ("gid_map", format!("{USER} {group} 1")),
    ] {
        let mut file = fs::File::options().write(true).open(format!("/proc/self/{file}"))?;
        file.write_all(text.as_bytes()).map_err(|e| named("uid_map", e))?;
    }
    rustix::system::sethostname(HOST)?;
    rustix::system::setdomainname(b"")?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/proc/self/ns/mnt", flags, Mode::empty())?)
}

/// Makes a cage, and leaves this process in it.
fn make(order: &Order, outside: &OwnedFd) -> io::Result<()> {
    move_into_link_name_space(outside.as_fd(), Some(LinkNameSpaceType::Mount))?;
    unshare(libc::CLONE_NEWNS)?;
    mount(None, Path::new("/"), libc::MS_REC | libc::MS_PRIVATE)?;
    // Any folder will do, since it becomes the root.
    let at = order.place.parent().unwrap_or(Path::new("/tmp"));
    mount_empty(at)?;
    let machine = at.join(&MACHINE[1..]);
    fs::create_dir(&machine)?;
    pivot_root(at, &machine)?;
    rustix::process::chdir("/")?;
    for (path, shown) in &order.paths {
        show(path, *shown)?;
    }
    fs::create_dir_all("/dev")?;
    for device in DEVICES {
        show(&Path::new("/dev").join(device), Shown::Whole)?;
    }
    for link in LINKS {
        show(&Path::new("/dev").join(link), Shown::Link)?;
    }
    fs::create_dir_all("/proc")?;
    mount(Some(&of_machine(Path::new("/proc"))), Path::new("/proc"), libc::MS_BIND | libc::MS_REC)?;
    let place = show(&order.place, Shown::Whole)?.ok_or(io::ErrorKind::NotFound)?;
    mount(Some(&of_machine(&place)), &place, libc::MS_BIND)?;
    unmount(Path::new(MACHINE))?;
    fs::remove_dir(MACHINE)?;
    fix_times(&place)?;
    make_read_only(Path::new("/"), true)?;
    make_read_only(&place, false)
}

/// Where a path of the machine is while a cage is made.
fn of_machine(path: &Path) -> PathBuf {
    Path::new(MACHINE).join(path.strip_prefix("/").unwrap_or(path))
}

/// Shows a path as the machine has it, with all links on the way. Returns where the way ends, if
/// there is something.
fn show(path: &Path, shown: Shown) -> io::Result<Option<PathBuf>> {
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| part.as_os_str().into()).collect()
    };
    let mut left = parts(path);
    let mut at = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => _ = at.pop(),
            // The root replaces what was before it.
            _ => at.push(part),
        }
        if at.starts_with("/proc") {
            return Ok(None);
        }
        let there = of_machine(&at);
        let meta = match there.symlink_metadata() {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(named(&at.display().to_string(), e)),
        };
        if meta.is_symlink() {
            let to = fs::read_link(&there)?;
            unless_there(symlink(&to, &at))?;
            followed += 1;
            if followed > FOLLOWED || (left.is_empty() && shown == Shown::Link) {
                return Ok(None);
            }
            left.extend(parts(&to));
            at.pop();
        } else if meta.is_dir() {
            // The mask gives all folders the same permissions.
            unless_there(fs::create_dir(&at))?;
        } else {
            show_file(&at)?;
        }
    }
    if shown == Shown::Names {
        show_names(&at)?;
    }
    Ok(Some(at))
}

/// Shows a file, or whatever else is no folder and no link.
fn show_file(at: &Path) -> io::Result<()> {
    let is_shown = fs::symlink_metadata(at).is_ok_and(|new| !is_stand_in(&new));
    if is_shown {
        return Ok(());
    }
    let there = of_machine(at);
    if there.is_file() {
        // In a cage root has the rights of a usual user, who may not read everything.
        let may_read = rustix::fs::access(&there, Access::READ_OK);
        may_read.map_err(|e| named(&at.display().to_string(), e.into()))?;
    }
    stand_in(at)?;
    mount(Some(&there), at, libc::MS_BIND)
}

/// Whether it stands for a file that is not shown.
fn is_stand_in(meta: &fs::Metadata) -> bool {
    meta.is_file() && meta.len() == 0 && meta.permissions().mode() & 0o7777 == STAND_IN
}

/// The permissions of a name without a content. No program comes to see them: a look at it is
/// beyond the evidence.
const STAND_IN: u32 = 0o200;

fn stand_in(at: &Path) -> io::Result<()> {
    let made = fs::File::options().write(true).create_new(true).open(at);
    match made {
        Ok(file) => file.set_permissions(PermissionsExt::from_mode(STAND_IN)),
        Err(e) => unless_there(Err(e)),
    }
}

/// Shows the names in a folder.
fn show_names(folder: &Path) -> io::Result<()> {
    let Ok(entries) = of_machine(folder).read_dir() else { return Ok(()) };
    // Their order decides in which order a program finds them.
    let entries: BTreeMap<_, _> = entries.flatten().map(|e| (e.file_name(), e)).collect();
    for (name, entry) in entries {
        let at = folder.join(name);
        match entry.file_type()? {
            kind if kind.is_dir() => unless_there(fs::create_dir(&at))?,
            kind if kind.is_symlink() => unless_there(symlink(fs::read_link(entry.path())?, &at))?,
            kind if kind.is_file() => stand_in(&at)?,
            _ => show_file(&at)?,
        }
    }
    Ok(())
}

/// Gives the folders and links of a cage the same times each time.
fn fix_times(place: &Path) -> io::Result<()> {
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let times = Timestamps { last_access: zero, last_modification: zero };
    let is_mounted = |e: &walkdir::DirEntry| e.path() == Path::new("/proc") || e.path() == place;
    let all = walkdir::WalkDir::new("/").same_file_system(true).contents_first(true);
    for entry in all.into_iter().filter_entry(|entry| !is_mounted(entry)).flatten() {
        let kind = entry.file_type();
        if kind.is_dir() || kind.is_symlink() {
            utimensat(CWD, entry.path(), &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    Ok(())
}

fn unless_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// An error with the name of what failed.
fn named(what: &str, e: io::Error) -> io::Error {
    io::Error::other(format!("{what}: {e}"))
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn done(result: i64, what: &str) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(named(what, io::Error::last_os_error())) }
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: it has no address, and this process has one thread and shares nothing with others.
    done(unsafe { libc::unshare(what) }.into(), "unshare")
}

/// Mounts what is at a path at another one, or changes a mount.
fn mount(from: Option<&Path>, to: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let what = format!("mount {}", to.display());
    let (from, to) = (from.map(text).transpose()?, text(to)?);
    let from = from.as_deref().map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the texts outlive the call; the others may be null.
    let result =
        unsafe { libc::mount(from, to.as_ptr(), std::ptr::null(), flags, std::ptr::null()) };
    done(result.into(), &what)
}

/// Mounts an empty folder.
fn mount_empty(at: &Path) -> io::Result<()> {
    let at = text(at)?;
    let (kind, options) = (c"tmpfs", c"mode=755");
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: the texts outlive the call.
    let result = unsafe {
        libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast())
    };
    done(result.into(), "mount tmpfs")
}

fn unmount(at: &Path) -> io::Result<()> {
    let at = text(at)?;
    // SAFETY: the text outlives the call.
    done(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) }.into(), "umount")
}

fn pivot_root(root: &Path, old: &Path) -> io::Result<()> {
    let (root, old) = (text(root)?, text(old)?);
    // SAFETY: the texts outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_pivot_root, root.as_ptr(), old.as_ptr()) };
    done(result, "pivot_root")
}

/// Forbids to write to a mount and all below it, or allows it for one.
fn make_read_only(at: &Path, is_forbidden: bool) -> io::Result<()> {
    let at = text(at)?;
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut change: libc::mount_attr = unsafe { std::mem::zeroed() };
    let flags = match is_forbidden {
        true => {
            change.attr_set = libc::MOUNT_ATTR_RDONLY;
            libc::AT_RECURSIVE
        }
        false => {
            change.attr_clr = libc::MOUNT_ATTR_RDONLY;
            0
        }
    };
    let size = size_of_val(&change);
    let call = libc::SYS_mount_setattr;
    // SAFETY: the text and the structure outlive the call, which reads `size` bytes.
    let result =
        unsafe { libc::syscall(call, libc::AT_FDCWD, at.as_ptr(), flags, &raw const change, size) };
    done(result, "mount_setattr")
}
