//! The meaning of the system calls of a stopped thread: the paths that they name, and whether they
//! open, make or hide something.
//!
//! It does not know what is recorded of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use libc::{c_int, c_long, c_void, pid_t};

use super::native::asks_processor;
use super::{LIMITS, Look, Property, Unseen, askers, supervisor};

/// The largest length of a path in bytes.
const PATH_MAX: usize = 4096;

#[cfg(target_arch = "x86_64")]
pub const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub const NATIVE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
pub const NATIVE: u32 = 0xc000_00f3;
#[cfg(target_arch = "powerpc64")]
pub const NATIVE: u32 = if cfg!(target_endian = "little") { 0xc000_0015 } else { 0x8000_0015 };

/// The calls that mean something here.
pub const CALLS: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_statfs,
    libc::SYS_chdir,
    libc::SYS_chroot,
    libc::SYS_getxattr,
    libc::SYS_listxattr,
    libc::SYS_lgetxattr,
    libc::SYS_llistxattr,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_utimensat,
    libc::SYS_getdents64,
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_uname,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_sched_getaffinity,
    libc::SYS_prlimit64,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_io_uring_setup,
    libc::SYS_open_by_handle_at,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_getpriority,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_name_to_handle_at,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
];

/// How a call uses a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It only looks.
    Looks(Look),
    /// It opens a file with these flags.
    Opens(c_int),
    /// It runs a program.
    Runs,
    /// It makes a file, a folder or a link.
    Makes,
    /// It removes one.
    Removes,
}

/// A path in the arguments of a call.
pub struct Named {
    pub path: PathBuf,
    pub used: Use,
}

/// Where a call has a path: the argument with the folder, if there is one, and that with the path.
type PathArguments = (Option<usize>, usize);

/// The paths that a call names, before it runs.
pub fn named(pid: pid_t, number: c_long, args: &[u64; 6]) -> Vec<Named> {
    let flags = |at: usize| args[at] as c_int;
    let kind = |at: usize| match flags(at) & libc::AT_SYMLINK_NOFOLLOW {
        0 => Use::Looks(Look::Kind),
        _ => Use::Looks(Look::Link),
    };
    let places: Vec<(PathArguments, Use)> = match number {
        libc::SYS_openat => vec![((Some(0), 1), Use::Opens(flags(2)))],
        libc::SYS_openat2 => {
            let how = memory(pid, args[2], 8);
            let how = how.try_into().map_or(0, u64::from_ne_bytes);
            vec![((Some(0), 1), Use::Opens(how as c_int))]
        }
        libc::SYS_newfstatat => vec![((Some(0), 1), kind(3))],
        libc::SYS_statx => vec![((Some(0), 1), kind(2))],
        libc::SYS_faccessat => vec![((Some(0), 1), Use::Looks(Look::Kind))],
        libc::SYS_faccessat2 => vec![((Some(0), 1), kind(3))],
        libc::SYS_readlinkat => vec![((Some(0), 1), Use::Looks(Look::Link))],
        libc::SYS_statfs | libc::SYS_chdir | libc::SYS_chroot => {
            vec![((None, 0), Use::Looks(Look::Kind))]
        }
        libc::SYS_getxattr | libc::SYS_listxattr | libc::SYS_lgetxattr | libc::SYS_llistxattr => {
            vec![((None, 0), Use::Looks(Look::Attributes))]
        }
        libc::SYS_execve => vec![((None, 0), Use::Runs)],
        libc::SYS_execveat => vec![((Some(0), 1), Use::Runs)],
        libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_fchmodat
        | libc::SYS_fchmodat2
        | libc::SYS_fchownat => vec![((Some(0), 1), Use::Makes)],
        libc::SYS_truncate
        | libc::SYS_setxattr
        | libc::SYS_lsetxattr
        | libc::SYS_removexattr
        | libc::SYS_lremovexattr => vec![((None, 0), Use::Makes)],
        libc::SYS_inotify_add_watch => vec![((None, 1), Use::Looks(Look::Kind))],
        libc::SYS_name_to_handle_at => vec![((Some(0), 1), Use::Looks(Look::Kind))],
        libc::SYS_connect => {
            let path = socket(pid, args[1], args[2]);
            return path
                .into_iter()
                .map(|path| Named { path, used: Use::Looks(Look::Kind) })
                .collect();
        }
        libc::SYS_symlinkat => vec![((Some(1), 2), Use::Makes)],
        libc::SYS_linkat => {
            vec![((Some(0), 1), Use::Looks(Look::Link)), ((Some(2), 3), Use::Makes)]
        }
        libc::SYS_unlinkat => vec![((Some(0), 1), Use::Removes)],
        libc::SYS_renameat2 => vec![((Some(0), 1), Use::Removes), ((Some(2), 3), Use::Makes)],
        // Without a path it is about an open file.
        libc::SYS_utimensat if args[1] == 0 => {
            let file = opened(pid, args[0]);
            return file.into_iter().map(|path| Named { path, used: Use::Makes }).collect();
        }
        libc::SYS_utimensat => vec![((Some(0), 1), Use::Makes)],
        _ => old::places(number, args),
    };
    let path = |(folder, path): PathArguments| {
        at(pid, folder.map_or(libc::AT_FDCWD as u64, |folder| args[folder]), args[path])
    };
    let named =
        places.into_iter().filter_map(|(place, used)| Some(Named { path: path(place)?, used }));
    let mut named: Vec<Named> = named.collect();
    if let Some((look, is_exact)) = askers::asked(pid, number, args) {
        let more = named.iter().filter(|named| is_exact || !named.path.is_dir());
        let more: Vec<_> =
            more.map(|n| Named { path: n.path.clone(), used: Use::Looks(look) }).collect();
        named.extend(more);
    }
    named
}

/// Calls with only a path, which newer architectures lack.
#[cfg(target_arch = "x86_64")]
mod old {
    use super::{Look, PathArguments, Use};

    pub fn places(number: libc::c_long, args: &[u64; 6]) -> Vec<(PathArguments, Use)> {
        let first = |used| vec![((None, 0), used)];
        match number {
            libc::SYS_open => first(Use::Opens(args[1] as i32)),
            libc::SYS_creat => first(Use::Opens(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC)),
            libc::SYS_stat | libc::SYS_access => first(Use::Looks(Look::Kind)),
            libc::SYS_lstat | libc::SYS_readlink => first(Use::Looks(Look::Link)),
            libc::SYS_mkdir
            | libc::SYS_mknod
            | libc::SYS_utime
            | libc::SYS_utimes
            | libc::SYS_chmod
            | libc::SYS_chown
            | libc::SYS_lchown => first(Use::Makes),
            libc::SYS_symlink => vec![((None, 1), Use::Makes)],
            libc::SYS_unlink | libc::SYS_rmdir => first(Use::Removes),
            libc::SYS_link => {
                vec![((None, 0), Use::Looks(Look::Link)), ((None, 1), Use::Makes)]
            }
            libc::SYS_rename => vec![((None, 0), Use::Removes), ((None, 1), Use::Makes)],
            libc::SYS_renameat => {
                vec![((Some(0), 1), Use::Removes), ((Some(2), 3), Use::Makes)]
            }
            _ => Vec::new(),
        }
    }

    pub const LISTS: libc::c_long = libc::SYS_getdents;
}
#[cfg(not(target_arch = "x86_64"))]
mod old {
    use super::{PathArguments, Use};

    pub fn places(_: libc::c_long, _: &[u64; 6]) -> Vec<(PathArguments, Use)> {
        Vec::new()
    }

    pub const LISTS: libc::c_long = libc::SYS_getdents64;
}

/// Whether a call asks if something can be written.
pub fn wants_to_write(number: c_long, args: &[u64; 6]) -> bool {
    let mode = match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => args[1],
        libc::SYS_faccessat | libc::SYS_faccessat2 => args[2],
        _ => 0,
    };
    mode & libc::W_OK as u64 != 0
}

/// Whether a call lists a folder.
pub fn lists(number: c_long) -> bool {
    number == libc::SYS_getdents64 || number == old::LISTS
}

/// The property of the process or of its machine that a call asks for.
pub fn property(pid: pid_t, number: c_long, args: &[u64; 6]) -> Option<Property> {
    match number {
        libc::SYS_prlimit64 => limit(args[1]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_getrlimit => limit(args[0]),
        libc::SYS_getpriority => Some(Property::Limits),
        libc::SYS_uname => Some(Property::System),
        libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_getresuid
        | libc::SYS_getresgid
        | libc::SYS_getgroups => (!is_dash(pid)).then_some(Property::User),
        // Compilers count them, to know how many threads to start.
        libc::SYS_sched_getaffinity if askers::is_compiler(pid) => Some(Property::Processors),
        libc::SYS_sched_getaffinity => Some(Property::Affinity),
        _ => None,
    }
}

/// The kind of the processor, if a call runs a program that is told to make code for it. It is asked
/// before the call, because an exec removes the arguments.
pub fn runs_for_processor(pid: pid_t, number: c_long, args: &[u64; 6]) -> Option<Property> {
    let address = match number {
        libc::SYS_execve => args[1],
        libc::SYS_execveat => args[2],
        _ => return None,
    };
    asks_processor(arguments(pid, address).iter(), &working(pid)?)
}

/// A limit that a call asks for, if it can decide something and litmake does not set it itself.
fn limit(which: u64) -> Option<Property> {
    let is_own = LIMITS.iter().any(|known| *known as u64 == which);
    let is_lowered = || supervisor::lowered().iter().any(|(known, _)| *known as u64 == which);
    (is_own || is_lowered()).then_some(Property::Limits)
}

/// The arguments of a program that is about to run.
fn arguments(pid: pid_t, address: u64) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut address = address;
    loop {
        let page = (PAGE - address % PAGE) as usize;
        let bytes = memory(pid, address, page);
        for pointer in bytes.chunks_exact(8) {
            let pointer = pointer.try_into().map_or(0, u64::from_ne_bytes);
            match text(pid, pointer) {
                Some(arg) if out.len() < MAX_ARGUMENTS => out.push(arg),
                _ => return out,
            }
        }
        if bytes.len() < page {
            return out;
        }
        address += page as u64;
    }
}

/// The number of arguments that are read.
const MAX_ARGUMENTS: usize = 10_000;

/// The size in which memory is read: what follows may not exist.
const PAGE: u64 = 4096;

fn working(pid: pid_t) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Whether a process runs Debian's `sh`. It asks who its user is when it starts, and has no variable that
/// tells a script: a script that wants to know runs another program.
fn is_dash(pid: pid_t) -> bool {
    askers::program(pid).is_some_and(|name| name == "dash")
}

/// The later actions that a call hides from this tracer.
pub fn hides(pid: pid_t, number: c_long, args: &[u64; 6]) -> Option<Unseen> {
    let files = |which: &str| Some(Unseen::Files(which.into()));
    let flags = match number {
        libc::SYS_clone | libc::SYS_unshare => args[0],
        libc::SYS_clone3 => memory(pid, args[0], 8).try_into().map_or(0, u64::from_ne_bytes),
        libc::SYS_statx if askers::wants_last_read(pid, args) => {
            return Some(Unseen::LastRead);
        }
        libc::SYS_setns => return files("files in a namespace of another program"),
        libc::SYS_chroot | libc::SYS_pivot_root => return files("files below a root of its own"),
        libc::SYS_mount | libc::SYS_move_mount => return files("files that it mounts itself"),
        libc::SYS_io_uring_setup => return files("files that are read through io_uring"),
        libc::SYS_open_by_handle_at => return files("files that it opens by their handles"),
        libc::SYS_shmget | libc::SYS_msgget | libc::SYS_semget | libc::SYS_mq_open => {
            return Some(Unseen::Program("through shared memory".into()));
        }
        _ => 0,
    };
    match flags & libc::CLONE_NEWNS as u64 {
        0 => None,
        _ => files("files in a mount namespace of its own"),
    }
}

/// The path behind an open file of a thread.
pub fn opened(pid: pid_t, fd: u64) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/fd/{}", fd as i32)).ok()
}

fn at(pid: pid_t, folder: u64, address: u64) -> Option<PathBuf> {
    let bytes = text(pid, address)?;
    // An empty path stands for an open file.
    if bytes.is_empty() {
        return None;
    }
    let path = PathBuf::from(OsString::from_vec(bytes));
    if let Ok(inner) = path.strip_prefix("/") {
        // A program may have a root of its own.
        let root = std::fs::read_link(format!("/proc/{pid}/root")).unwrap_or("/".into());
        return Some(through_own(pid, root.join(inner)));
    }
    let folder = match folder as i32 {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        fd => format!("/proc/{pid}/fd/{fd}"),
    };
    Some(std::fs::read_link(folder).ok()?.join(path))
}

/// A path that leads through a link about the process itself, such as `/proc/self/root` and `/dev/fd/3`,
/// as one that leads to the same from elsewhere.
fn through_own(pid: pid_t, path: PathBuf) -> PathBuf {
    let text: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let (link, parts) = match text[..] {
        [_, "dev", "fd", fd, _, ..] => (format!("/proc/{pid}/fd/{fd}"), 4),
        [_, "proc", "self" | "thread-self", "fd", fd, _, ..] => (format!("/proc/{pid}/fd/{fd}"), 5),
        [_, "proc", "self" | "thread-self", link @ ("root" | "cwd"), _, ..] => {
            (format!("/proc/{pid}/{link}"), 4)
        }
        [_, "proc", other, link @ ("root" | "cwd"), _, ..]
            if other.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (format!("/proc/{other}/{link}"), 4)
        }
        _ => return path,
    };
    let Ok(to) = std::fs::read_link(link) else { return path };
    path.iter().skip(parts).fold(to, |to, part| to.join(part))
}

/// The readable bytes at an address of another process.
pub fn memory(pid: pid_t, address: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0u8; length];
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: length };
    // SAFETY: what is written is the buffer above; the other address is the other process's.
    let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    out.truncate(usize::try_from(got).unwrap_or(0));
    out
}

/// A text that ends with a zero. It is read page by page.
fn text(pid: pid_t, address: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut address = address;
    while address != 0 && out.len() < PATH_MAX {
        let page = PAGE - address % PAGE;
        let bytes = memory(pid, address, page as usize);
        if bytes.is_empty() {
            return None;
        }
        if let Some(end) = bytes.iter().position(|b| *b == 0) {
            out.extend_from_slice(&bytes[..end]);
            return Some(out);
        }
        address += bytes.len() as u64;
        out.extend(bytes);
    }
    None
}

/// The path of the socket at an address, if it has one.
fn socket(pid: pid_t, address: u64, length: u64) -> Option<PathBuf> {
    let (family, bytes) = family(pid, address, length);
    let name = bytes.get(2..).filter(|_| family == libc::AF_UNIX)?;
    let name = name.split(|byte| *byte == 0).next().filter(|name| !name.is_empty())?;
    Some(working(pid)?.join(OsStr::from_bytes(name)))
}

/// The address of a socket, and its family.
fn family(pid: pid_t, address: u64, length: u64) -> (c_int, Vec<u8>) {
    let bytes = memory(pid, address, length.min(256) as usize);
    (bytes.get(..2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]])).into(), bytes)
}

/// The program that another program connects to, for people.
pub fn peer(pid: pid_t, address: u64, length: u64) -> String {
    let (family, bytes) = family(pid, address, length);
    let port = bytes.get(2..4).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    match (family, bytes.get(4..8)) {
        (libc::AF_INET, Some([a, b, c, d])) => {
            format!("at {a}.{b}.{c}.{d} port {port}")
        }
        (libc::AF_UNIX, _) => {
            let name = bytes.get(2..).unwrap_or_default();
            let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            match String::from_utf8_lossy(&name[..end]) {
                path if path.is_empty() => "at a name that is no file".to_string(),
                path => format!("at {path}"),
            }
        }
        _ => format!("at port {port}"),
    }
}
