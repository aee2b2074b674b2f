//! Runs a program like [`process`], and records which files it and its descendants looked at: files
//! that were read, run or listed, and paths that did not exist.
//!
//! It uses `ptrace`, which needs no privileges and no helper, and also works for static programs.
//! It does not know what the programs do, nor what the files are used for.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use libc::{c_int, c_long, c_void, pid_t};
use litmake_base::file;
use rustix::event::{PollFd, PollFlags};
use serde::{Deserialize, Serialize};

use super::process::{self, Ended, Request};

/// The kinds of looks at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Look {
    /// Whether there is something: its kind, size and time.
    Kind,
    /// The target of a link.
    Link,
    /// The names in a folder.
    Names,
    /// The content of a file.
    Content,
}

/// The looks of programs.
#[derive(Debug, Default)]
pub struct Trace {
    /// Absolute paths, with the kind of look. A path can have several.
    pub looked: BTreeSet<(PathBuf, Look)>,
    /// Actions that cannot be observed: connections to other programs, and system calls of another
    /// architecture.
    pub unseen: BTreeSet<String>,
}

/// The largest length of a path in bytes.
const PATH_MAX: usize = 4096;

/// Runs and traces a program. Files in `own`, where the program may leave its own files, are not
/// recorded. An error says why the program did not start or cannot be traced.
pub fn run(request: &Request, own: Option<&Path>) -> io::Result<(Ended, Trace)> {
    #[expect(clippy::disallowed_methods, reason = "what is followed has no other parent")]
    let mut command = Command::new(request.program);
    process::close(&mut command, request);
    command.stdin(Stdio::null());
    // SAFETY: the one call between fork and exec is a system call.
    unsafe {
        command.pre_exec(|| match ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let mut child = command.spawn()?;
    process::limit(&child, request);
    let root = child.id() as pid_t;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(move || out.map(read_all).unwrap_or_default());
        let stderr = scope.spawn(move || err.map(read_all).unwrap_or_default());
        let (done, wait) = UnixStream::pair()?;
        let watchdog = scope.spawn(move || end_late(root, request, &wait));
        // Only the thread that started a program may trace it.
        let mut follower = Follower::new(root, request.program, own);
        let status = follower.follow();
        drop(done);
        let late = watchdog.join().unwrap_or(None);
        let stdout = stdout.join().unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
        let ended = match (late, status.code(), status.signal()) {
            (Some(late), ..) => late,
            (_, _, Some(libc::SIGXCPU)) => Ended::TooSlow,
            (_, _, Some(signal)) => Ended::Signal { signal, stderr },
            (_, code, None) => Ended::Exit { code: code.unwrap_or(-1), stdout, stderr },
        };
        Ok((ended, follower.trace))
    })
}

fn read_all(pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pipe = pipe;
    let _ = pipe.by_ref().take(process::MAX_OUTPUT as u64).read_to_end(&mut bytes);
    let _ = io::copy(&mut pipe, &mut io::sink());
    bytes
}

/// Ends a program that takes too long or whose run is stopped, and returns the reason. Returns
/// `None` once the other end of the line is closed.
fn end_late(root: pid_t, request: &Request, done: &UnixStream) -> Option<Ended> {
    let start = Instant::now();
    loop {
        let left = request.timeout.saturating_sub(start.elapsed());
        if process::wait(&[PollFd::new(done, PollFlags::IN)], request.stop, left) {
            return None;
        }
        let late = match (request.stop.asked(), left.is_zero()) {
            (true, _) => Ended::Stopped,
            (_, true) => Ended::TooSlow,
            _ => continue,
        };
        // SAFETY: the follower has not taken the end of this child yet, or there is none to end.
        unsafe { libc::kill(-root, libc::SIGKILL) };
        return Some(late);
    }
}

/// The variadic function of the C library, with arguments of the size that the kernel expects.
///
/// # Safety
///
/// As the request requires: `data` is a valid address if the kernel writes to it.
unsafe fn ptrace(request: libc::c_uint, pid: pid_t, address: usize, data: usize) -> c_long {
    // SAFETY: the caller's.
    unsafe { libc::ptrace(request, pid, address as *mut c_void, data as *mut c_void) }
}

/// A system call that a thread is in.
struct Call {
    number: c_long,
    args: [u64; 6],
    /// The path that it names. It is read before the call, because an exec removes the memory.
    path: Option<PathBuf>,
}

struct Follower {
    root: pid_t,
    own: Option<PathBuf>,
    /// The threads, and the system calls that they are in.
    threads: HashMap<pid_t, Option<Call>>,
    /// Files that programs wrote, which are not evidence if they are read later.
    made: BTreeSet<PathBuf>,
    trace: Trace,
}

impl Follower {
    fn new(root: pid_t, program: &Path, own: Option<&Path>) -> Self {
        let own = own.map(|own| own.canonicalize().unwrap_or(own.to_path_buf()));
        let (threads, made) = (HashMap::new(), BTreeSet::new());
        let mut new = Follower { root, own, threads, made, trace: Trace::default() };
        new.ran(program.to_path_buf());
        new
    }

    /// Traces everything to its end, and returns the status of the first program.
    fn follow(&mut self) -> ExitStatus {
        let mut end = None;
        loop {
            let mut status: c_int = 0;
            // Children of other threads are not ours to wait for.
            // SAFETY: the status outlives the call.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if pid < 0 {
                if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                // No process is left.
                let made = std::mem::take(&mut self.made);
                self.trace.looked.retain(|(path, _)| !made.contains(path));
                return end.unwrap_or(ExitStatus::from_raw(libc::SIGKILL));
            }
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                self.threads.remove(&pid);
                if pid == self.root {
                    end = Some(ExitStatus::from_raw(status));
                    // Its remaining processes would keep its output open for ever.
                    for left in self.threads.keys() {
                        // SAFETY: these are followed, so their numbers are theirs still.
                        unsafe { libc::kill(*left, libc::SIGKILL) };
                    }
                }
                continue;
            }
            if end.is_some() {
                // It was started before the first program ended, and reported itself later.
                // SAFETY: it is traced and stopped, so its number is its own.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                continue;
            }
            let signal = self.stopped(pid, status);
            // SAFETY: a signal's number in place of data, as this request wants it.
            unsafe { ptrace(libc::PTRACE_SYSCALL, pid, 0, signal as usize) };
        }
    }

    /// Handles a stopped thread, and returns the signal to deliver.
    fn stopped(&mut self, pid: pid_t, status: c_int) -> c_int {
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        if let Entry::Vacant(new) = self.threads.entry(pid) {
            new.insert(None);
            if pid == self.root {
                let options = libc::PTRACE_O_TRACESYSGOOD
                    | libc::PTRACE_O_TRACEFORK
                    | libc::PTRACE_O_TRACEVFORK
                    | libc::PTRACE_O_TRACECLONE
                    | libc::PTRACE_O_TRACEEXEC
                    | libc::PTRACE_O_EXITKILL;
                // SAFETY: options in place of data, as this request wants them.
                unsafe { ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options as usize) };
            }
            // The first stop of each thread is the kernel's, and not a signal.
            return 0;
        }
        if signal == libc::SIGTRAP | 0x80 {
            self.called(pid);
            return 0;
        }
        match event {
            0 => signal,
            libc::PTRACE_EVENT_EXEC => {
                // The thread that runs a program becomes the first of its process.
                let call = self.former(pid).and_then(|old| self.threads.remove(&old).flatten());
                let call = call.or_else(|| self.threads.get_mut(&pid).and_then(Option::take));
                if let Some(path) = call.and_then(|call| call.path) {
                    self.ran(path);
                }
                self.threads.insert(pid, None);
                0
            }
            _ => 0,
        }
    }

    /// The former number of the thread that ran a program, if it changed.
    fn former(&self, pid: pid_t) -> Option<pid_t> {
        let mut old: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word.
        let got = unsafe { ptrace(libc::PTRACE_GETEVENTMSG, pid, 0, &raw mut old as usize) };
        (got == 0 && old as pid_t != pid).then_some(old as pid_t)
    }

    /// Handles the start or the end of a system call.
    fn called(&mut self, pid: pid_t) {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        // SAFETY: the kernel writes at most `size` bytes.
        let got =
            unsafe { ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &raw mut info as usize) };
        if got <= 0 {
            self.trace.unseen.insert("system calls that the kernel does not tell of".to_string());
            return;
        }
        if info.arch != NATIVE {
            self.trace.unseen.insert("a program for another kind of processor".to_string());
            return;
        }
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: `op` says which member is valid.
                let entry = unsafe { info.u.entry };
                let (number, args) = (entry.nr as c_long, entry.args);
                let path = path_of(number).and_then(|at| named(pid, at, &args));
                self.threads.insert(pid, Some(Call { number, args, path }));
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                // SAFETY: as above.
                let exit = unsafe { info.u.exit };
                if let Some(call) = self.threads.get_mut(&pid).and_then(Option::take) {
                    self.came_back(pid, call, exit.sval);
                }
            }
            _ => {}
        }
    }

    /// Records a finished call. Of its result, only success matters: the files are looked at again
    /// when all programs have ended.
    fn came_back(&mut self, pid: pid_t, call: Call, result: i64) {
        let Call { number, args, path } = call;
        let fd = || std::fs::read_link(format!("/proc/{pid}/fd/{}", args[0] as i32)).ok();
        match number {
            libc::SYS_getdents64 => {
                if let Some(folder) = fd() {
                    self.look(folder, Look::Names);
                }
            }
            libc::SYS_connect if result == 0 || result == -i64::from(libc::EINPROGRESS) => {
                let peer = peer(pid, args[1], args[2]);
                self.trace.unseen.insert(peer);
            }
            libc::SYS_io_uring_setup if result >= 0 => {
                self.trace.unseen.insert("files that are read through io_uring".to_string());
            }
            libc::SYS_renameat | libc::SYS_renameat2 if result == 0 => {
                self.made.extend(at(pid, args[2], args[3]));
            }
            _ => {}
        }
        if RENAMES.contains(&number) && result == 0 {
            self.made.extend(at(pid, libc::AT_FDCWD as u64, args[1]));
        }
        let Some(path) = path else { return };
        match opening(pid, number, &args) {
            Some(flags) => {
                let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
                if result >= 0 && (writes || flags & (libc::O_CREAT | libc::O_TRUNC) != 0) {
                    self.made.insert(path);
                } else if result >= 0 && flags & libc::O_PATH == 0 {
                    self.look(path, Look::Content);
                } else {
                    self.look(path, Look::Kind);
                }
            }
            None if [libc::SYS_execve, libc::SYS_execveat].contains(&number) => {
                // The call returned, so no program was run.
                self.look(path, Look::Kind);
            }
            None if LINKS.contains(&number) => self.look(path, Look::Link),
            None => self.look(path, Look::Kind),
        }
    }

    /// Records a program that was run: its file, and the files that the kernel reads for it without
    /// a system call.
    fn ran(&mut self, path: PathBuf) {
        let mut next = Some(path);
        for _ in 0..4 {
            let Some(path) = next.take() else { return };
            next = interpreter(&path);
            self.look(path, Look::Content);
        }
    }

    fn look(&mut self, path: PathBuf, look: Look) {
        let kernel = ["/proc", "/sys", "/dev"].iter().any(|k| path.starts_with(k));
        let own = self.own.as_ref().is_some_and(|own| path.starts_with(own));
        if !kernel && !own && path.is_absolute() {
            self.trace.looked.insert((path, look));
        }
    }
}

/// The program that the kernel starts for a file: the interpreter of a script, or the loader of a
/// program.
fn interpreter(path: &Path) -> Option<PathBuf> {
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

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xc000_00f3;
#[cfg(target_arch = "powerpc64")]
const NATIVE: u32 = if cfg!(target_endian = "little") { 0xc000_0015 } else { 0x8000_0015 };

/// Calls with only a path, which newer architectures lack.
#[cfg(target_arch = "x86_64")]
mod old {
    pub const PATHS: [libc::c_long; 8] = [
        libc::SYS_open,
        libc::SYS_creat,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_access,
        libc::SYS_readlink,
        libc::SYS_execve,
        libc::SYS_statfs,
    ];
    pub const LINKS: [libc::c_long; 2] = [libc::SYS_readlink, libc::SYS_readlinkat];
    pub const RENAMES: [libc::c_long; 1] = [libc::SYS_rename];
    pub fn opens(number: libc::c_long, args: &[u64; 6]) -> Option<i32> {
        match number {
            libc::SYS_open => Some(args[1] as i32),
            libc::SYS_creat => Some(libc::O_CREAT | libc::O_WRONLY),
            _ => None,
        }
    }
}
#[cfg(not(target_arch = "x86_64"))]
mod old {
    pub const PATHS: [libc::c_long; 2] = [libc::SYS_execve, libc::SYS_statfs];
    pub const LINKS: [libc::c_long; 1] = [libc::SYS_readlinkat];
    pub const RENAMES: [libc::c_long; 0] = [];
    pub fn opens(_: libc::c_long, _: &[u64; 6]) -> Option<i32> {
        None
    }
}
use old::{LINKS, RENAMES};

/// The arguments of a call that looks at a path: the folder and the path.
fn path_of(number: c_long) -> Option<(Option<usize>, usize)> {
    const AT: [c_long; 8] = [
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_execveat,
    ];
    match number {
        _ if old::PATHS.contains(&number) => Some((None, 0)),
        _ if AT.contains(&number) => Some((Some(0), 1)),
        _ => None,
    }
}

/// The flags with which a call opens a file, if it opens one.
fn opening(pid: pid_t, number: c_long, args: &[u64; 6]) -> Option<i32> {
    match number {
        libc::SYS_openat => Some(args[2] as i32),
        libc::SYS_openat2 => {
            let bytes = memory(pid, args[2], 8);
            Some(u64::from_ne_bytes(bytes.try_into().ok()?) as i32)
        }
        _ => old::opens(number, args),
    }
}

/// The absolute path that a call names.
fn named(pid: pid_t, (folder, path): (Option<usize>, usize), args: &[u64; 6]) -> Option<PathBuf> {
    at(pid, folder.map_or(libc::AT_FDCWD as u64, |f| args[f]), args[path])
}

fn at(pid: pid_t, folder: u64, address: u64) -> Option<PathBuf> {
    let bytes = text(pid, address)?;
    // An empty path stands for an open file.
    if bytes.is_empty() {
        return None;
    }
    let path = PathBuf::from(OsString::from_vec(bytes));
    if path.is_absolute() {
        return Some(path);
    }
    let folder = match folder as i32 {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        fd => format!("/proc/{pid}/fd/{fd}"),
    };
    Some(std::fs::read_link(folder).ok()?.join(path))
}

/// The readable bytes at an address of another process.
fn memory(pid: pid_t, address: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0u8; length];
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: length };
    // SAFETY: what is written is the buffer above; the other address is the other process's.
    let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    out.truncate(usize::try_from(got).unwrap_or(0));
    out
}

/// A text that ends with a zero. It is read page by page, because the next page may not exist.
fn text(pid: pid_t, address: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut address = address;
    while address != 0 && out.len() < PATH_MAX {
        let page = 4096 - address % 4096;
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

/// The program that another program connects to, for people.
fn peer(pid: pid_t, address: u64, length: u64) -> String {
    let bytes = memory(pid, address, length.min(256) as usize);
    let family = bytes.get(..2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]));
    let port = bytes.get(2..4).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    match (i32::from(family), bytes.get(4..8)) {
        (libc::AF_INET, Some([a, b, c, d])) => {
            format!("another program, at {a}.{b}.{c}.{d} port {port}")
        }
        (libc::AF_UNIX, _) => {
            let name = bytes.get(2..).unwrap_or_default();
            let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            format!("another program, at {}", String::from_utf8_lossy(&name[..end]))
        }
        _ => format!("another program, at port {port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn follow(script: &str, dir: &Path) -> (Ended, Trace) {
        let args = ["-c".to_string(), script.to_string()];
        let request = Request {
            program: Path::new("/bin/sh"),
            args: &args,
            env: &Default::default(),
            dir,
            timeout: Duration::from_secs(20),
            memory_mib: 2000,
            processors: 1,
            stop: &AtomicBool::new(false),
        };
        run(&request, Some(dir)).expect("programs can be followed here")
    }

    fn has(trace: &Trace, path: &Path, look: Look) -> bool {
        trace.looked.contains(&(path.to_path_buf(), look))
    }

    #[test]
    fn what_children_of_children_read_run_list_and_miss_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let at = |name: &str| other.path().canonicalize().unwrap().join(name);
        std::fs::write(at("read"), "1").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("read", at("link")).unwrap();
        std::fs::write(at("script"), "#!/bin/cat\nhello\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(at("script"), PermissionsExt::from_mode(0o755)).unwrap();
        let there = at("").display().to_string();
        let script = format!(
            "cd {there}; (sh -c 'cat read; ls folder; readlink link; cat missing; ./script') ; \
             echo x > made; cat made; exit 3"
        );
        let (ended, trace) = follow(&script, dir.path());
        let Ended::Exit { code: 3, stdout, .. } = ended else { panic!("{ended:?}") };
        let text = String::from_utf8(stdout).unwrap();
        assert!(text.contains("hello") && text.ends_with("x\n"), "{text}");
        assert!(has(&trace, &at("read"), Look::Content));
        assert!(has(&trace, &at("folder"), Look::Names));
        assert!(has(&trace, &at("link"), Look::Link));
        assert!(has(&trace, &at("missing"), Look::Kind));
        assert!(has(&trace, &at("script"), Look::Content));
        assert!(has(&trace, Path::new("/bin/cat"), Look::Content), "a script's interpreter");
        assert!(!trace.looked.iter().any(|(p, _)| *p == at("made")), "what it made itself");
        assert!(
            trace.looked.iter().any(|(p, _)| p.to_string_lossy().contains("/ld-linux")),
            "the loader, which the kernel reads"
        );
        assert!(trace.unseen.is_empty(), "{:?}", trace.unseen);
    }

    #[test]
    fn what_lies_in_its_own_folder_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let (_, trace) = follow("echo 1 > a; cat a; cat b", dir.path());
        assert!(!trace.looked.iter().any(|(p, _)| p.starts_with(dir.path())), "{trace:?}");
    }

    #[test]
    fn a_child_that_stays_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (ended, _) = follow("sleep 1000 & echo $!", dir.path());
        let Ended::Exit { code: 0, stdout, .. } = ended else { panic!("{ended:?}") };
        let child: i32 = String::from_utf8(stdout).unwrap().trim().parse().unwrap();
        // The process is gone, or is a zombie that its parent has not waited for.
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }

    /// The first program may end before one of its children has reported itself.
    #[test]
    fn a_child_that_was_only_just_started_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let many = "sleep 1000 & ".repeat(20);
        for _ in 0..20 {
            let (ended, _) = follow(&many, dir.path());
            assert!(matches!(ended, Ended::Exit { code: 0, .. }), "{ended:?}");
        }
    }

    #[test]
    fn threads_that_run_programs_and_signals_do_not_stop_it() {
        let dir = tempfile::tempdir().unwrap();
        let (ended, _) = follow("trap 'exit 7' USR1; kill -USR1 $$; sleep 5; exit 1", dir.path());
        assert!(matches!(ended, Ended::Exit { code: 7, .. }), "{ended:?}");
        let (ended, _) = follow("kill -SEGV $$", dir.path());
        assert!(matches!(ended, Ended::Signal { signal: libc::SIGSEGV, .. }), "{ended:?}");
    }

    #[test]
    fn talking_to_another_program_is_told() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
        );
        let (ended, trace) = follow(&script, dir.path());
        assert!(matches!(ended, Ended::Exit { code: 0, .. }), "{ended:?}");
        let expected = format!("another program, at 127.0.0.1 port {port}");
        assert!(trace.unseen.contains(&expected), "{:?}", trace.unseen);
    }
}
