//! A process between litmake and a tool. It sets the tool's limits before the tool starts, and ends
//! the tool and all its descendants once litmake asks for that or has ended, however it ended.
//!
//! Orphaned descendants become the supervisor's children, whatever group or session they moved to,
//! so nothing outlives the supervisor except processes that it may not kill (programs of another
//! user). If the supervisor itself is killed, the tool dies with it, but not the tool's children.
//! This module does not know what tools do.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;

use litmake_base::file;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::process::{self, Pid, Resource, Rlimit, Signal, WaitOptions};

/// The first argument of a supervisor. The limits, the tool and the tool's arguments follow.
const MARK: &str = "--look-after";

static PROGRAM: OnceLock<&'static Path> = OnceLock::new();

/// The limits of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Address space, in bytes.
    pub memory: u64,
    /// Processor time, in seconds.
    pub cpu: u64,
}

impl Limits {
    /// The limits. The hard limit on processor time ends a tool that ignores the soft one. Where a
    /// tool could ask for a limit of the user's, it gets the same for every user.
    pub fn all(self) -> [(Resource, Rlimit); 5] {
        let limit = |soft, hard| Rlimit { current: Some(soft), maximum: Some(hard) };
        let usual = |what, soft: u64| {
            let maximum = process::getrlimit(what).maximum;
            (what, Rlimit { current: Some(maximum.map_or(soft, |hard| hard.min(soft))), maximum })
        };
        [
            (Resource::As, limit(self.memory, self.memory)),
            (Resource::Cpu, limit(self.cpu, self.cpu.saturating_add(5))),
            (Resource::Core, limit(0, 0)),
            usual(Resource::Stack, 8 << 20),
            usual(Resource::Nofile, 1024),
        ]
    }
}

/// Gives this process the mask of permissions that every tool has. It is a system call alone.
pub(super) fn set_mask() {
    process::umask(Mode::from_raw_mode(0o022));
}

/// Declares that this program calls [`asked`] when it starts, so that it can be its own supervisor.
pub fn is_this_program() {
    // The path leads to the running program even if its file was replaced.
    let path = Path::new("/proc/self/exe");
    if path.exists() {
        let _ = PROGRAM.set(path);
    }
}

/// A command that runs a tool under a supervisor, and the line to the supervisor: closing it ends
/// everything. The tool's arguments are to be added. `None` if this program cannot be a supervisor.
pub fn command(tool: &Path, limits: Limits) -> io::Result<Option<(Command, UnixStream)>> {
    let Some(program) = PROGRAM.get() else { return Ok(None) };
    let (ours, theirs) = UnixStream::pair()?;
    #[expect(clippy::disallowed_methods, reason = "the supervisor of all tools is no tool")]
    let mut command = Command::new(program);
    command.arg(MARK).arg(limits.memory.to_string()).arg(limits.cpu.to_string()).arg(tool);
    command.stdin(OwnedFd::from(theirs));
    Ok(Some((command, ours)))
}

/// The number of the error with which a tool failed to start, as its supervisor reports it.
pub fn not_started(line: &UnixStream) -> Option<i32> {
    let mut number = [0; 4];
    match rustix::io::read(line, &mut number) {
        Ok(4) => Some(i32::from_ne_bytes(number)),
        _ => None,
    }
}

/// If this process was started as a supervisor, does its work and returns the exit code.
pub fn asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != MARK {
        return None;
    }
    let mut number = || args.next()?.to_str()?.parse().ok();
    let (Some(memory), Some(cpu)) = (number(), number()) else { return Some(ExitCode::from(2)) };
    let Some(tool) = args.next() else { return Some(ExitCode::from(2)) };
    Some(match look_after(tool, args, Limits { memory, cpu }) {
        Ok(status) => end_like(status),
        Err(e) => {
            let number = e.raw_os_error().unwrap_or(libc::EINVAL);
            let _ = rustix::io::write(io::stdin().as_fd(), &number.to_ne_bytes());
            ExitCode::from(127)
        }
    })
}

/// The status with which the tool ended; `None` if the supervisor ended it.
fn look_after(
    tool: OsString,
    args: impl Iterator<Item = OsString>,
    limits: Limits,
) -> io::Result<Option<ExitStatus>> {
    let own = process::getpid();
    process::set_child_subreaper(Some(own))?;
    #[expect(clippy::disallowed_methods, reason = "a supervisor runs the one tool it looks after")]
    let mut command = Command::new(tool);
    command.args(args).stdin(Stdio::null()).process_group(0);
    let prepare = move || {
        for (what, limit) in limits.all() {
            // A limit that is already lower stays.
            let _ = process::setrlimit(what, limit);
        }
        set_mask();
        process::set_parent_process_death_signal(Some(Signal::KILL))?;
        match process::getppid() == Some(own) {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    // SAFETY: between fork and exec there are only system calls.
    unsafe { command.pre_exec(prepare) };
    let mut child = command.spawn()?;
    let ended = match process::pidfd_open(Pid::from_child(&child), process::PidfdFlags::empty()) {
        Ok(ended) => ended,
        Err(e) => {
            end_all();
            return Err(e.into());
        }
    };
    let line = io::stdin();
    let line = line.as_fd();
    let status = loop {
        let mut fds =
            [PollFd::from_borrowed_fd(line, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[1].revents().is_empty() => break Some(child.wait()?),
            Ok(_) if fds[0].revents().is_empty() => {}
            Err(rustix::io::Errno::INTR) => {}
            _ => break None,
        }
    };
    end_all();
    Ok(status)
}

/// Kills the children of this process, and their children, which become its own, until none is
/// left.
fn end_all() {
    loop {
        match process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        let children = children();
        for child in &children {
            let _ = process::kill_process(*child, Signal::KILL);
        }
        if children.is_empty() || process::wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

fn children() -> Vec<Pid> {
    let own = process::getpid().as_raw_nonzero().get();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent(*pid) == Some(own)).filter_map(Pid::from_raw).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let path = format!("/proc/{pid}/stat");
    let stat = file::read_text(Path::new(&path), file::MAX_TEXT).ok()?;
    // The program's name is in parentheses, and may contain some.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Ends this process in the way in which the tool ended, for the process that waits for it.
fn end_like(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else { return ExitCode::SUCCESS };
    if let Some(signal) = status.signal() {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let _ = process::setrlimit(Resource::Core, none);
        // SAFETY: it has no handlers, and no other threads.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    ExitCode::from(status.code().map_or(u8::MAX, |code| code as u8))
}
