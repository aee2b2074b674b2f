//! A process between litmake and a tool. It sets the tool's limits before the tool starts, and ends
//! the tool and all its descendants once litmake asks for that or has ended, however it ended.
//!
//! Orphaned descendants become the supervisor's children, whatever group or session they moved to,
//! so nothing outlives the supervisor except processes that it may not kill (programs of another
//! user). If the supervisor itself is killed, the tool dies with it; the tool's children do if they
//! are observed.
//!
//! If litmake asks for it, the supervisor also observes what all of them look at, and tells at the
//! end. This module does not know what tools do, nor what becomes of what is observed.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use litmake_base::file;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::process::{self, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use super::cage::{self, Cage, Entrance};
use super::trace::{self, Trace, filter};

/// The first argument of a supervisor. The limits, what it observes, the way into a cage, the tool and
/// the tool's arguments follow.
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
        let [stack, files] = fixed();
        [
            (Resource::As, limit(self.memory, self.memory)),
            (Resource::Cpu, limit(self.cpu, self.cpu.saturating_add(5))),
            (Resource::Core, limit(0, 0)),
            stack,
            files,
        ]
    }
}

/// The limits that a tool could ask for and that are the same for every user who has at least these.
/// gcc raises its stack to the hard limit, and Go's compiler its number of files.
const FIXED: [(Resource, u64, u64); 2] =
    [(Resource::Stack, 8 << 20, 64 << 20), (Resource::Nofile, 1024, 4096)];

/// The limits of [`FIXED`], as tools get them here.
pub(super) fn fixed() -> [(Resource, Rlimit); 2] {
    FIXED.map(|(what, soft, hard)| {
        let hard = process::getrlimit(what).maximum.map_or(hard, |own| own.min(hard));
        (what, Rlimit { current: Some(soft.min(hard)), maximum: Some(hard) })
    })
}

/// The limits that a profile decides, unless the user has less.
const GIVEN: [Resource; 2] = [Resource::As, Resource::Cpu];

/// The limits of which tools may get less here than elsewhere.
pub(super) fn lowered() -> Vec<(Resource, Rlimit)> {
    let fixed = fixed().into_iter().zip(FIXED);
    let fixed = fixed.filter(|((_, limit), (.., hard))| limit.maximum < Some(*hard));
    let given = GIVEN.map(|what| (what, process::getrlimit(what)));
    let given = given.into_iter().filter(|(_, limit)| limit.maximum.is_some());
    fixed.map(|(limit, _)| limit).chain(given).collect()
}

/// Gives this process what every tool has: the mask of permissions, no open files but its outputs,
/// and no signals that are ignored. These are system calls alone.
pub(super) fn settle() {
    process::umask(Mode::from_raw_mode(0o022));
    let (first, last) = (3, libc::c_uint::MAX);
    // SAFETY: neither call has an address.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC);
        for signal in 1..=SIGNALS {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// The largest number of a signal.
const SIGNALS: libc::c_int = 64;

/// Declares that this program calls [`asked`] when it starts, so that it can be its own supervisor.
pub fn is_this_program() {
    // The path leads to the running program even if its file was replaced.
    let path = Path::new("/proc/self/exe");
    if path.exists() {
        let _ = PROGRAM.set(path);
    }
}

/// Whether a supervisor observes its tool.
#[derive(Clone, Copy, Debug)]
pub enum Observe<'a> {
    /// It does not.
    No,
    /// It does, except for files in the tool's own folder, if it has one.
    Outside(Option<&'a Path>),
}

impl Observe<'_> {
    /// As an argument of a supervisor: nothing, or a sign and the folder.
    fn argument(self) -> OsString {
        match self {
            Observe::No => OsString::new(),
            Observe::Outside(own) => {
                let mut out = OsString::from("+");
                out.push(own.map(Path::as_os_str).unwrap_or_default());
                out
            }
        }
    }
}

/// The last words of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said {
    /// The tool did not start, with the number of the error.
    NotStarted(i32),
    /// The tool and its descendants looked at this.
    Saw(Trace),
    /// The tool ran, but for this reason it could not be observed.
    Blind(String),
}

impl Said {
    /// From the bytes that came over the line.
    pub fn read(bytes: &[u8]) -> Option<Said> {
        serde_json::from_slice(bytes).ok()
    }

    fn tell(&self) {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let mut left = &bytes[..];
        while !left.is_empty() {
            match rustix::io::write(io::stdin().as_fd(), left) {
                Ok(n) => left = &left[n..],
                Err(rustix::io::Errno::INTR) => {}
                // Nobody listens any more.
                Err(_) => return,
            }
        }
    }
}

/// Whether this program can be a supervisor.
pub fn is_possible() -> bool {
    PROGRAM.get().is_some()
}

/// A command that runs a tool under a supervisor, and the line to the supervisor: closing it ends
/// everything. The tool's arguments are to be added. `None` if this program cannot be a supervisor.
pub fn command(
    tool: &Path,
    limits: Limits,
    observe: Observe,
    cage: Option<&Cage>,
) -> io::Result<Option<(Command, UnixStream)>> {
    let Some(program) = program() else { return Ok(None) };
    let (ours, theirs) = UnixStream::pair()?;
    #[expect(clippy::disallowed_methods, reason = "the supervisor of all tools is no tool")]
    let mut command = Command::new(program);
    command.arg(MARK).arg(limits.memory.to_string()).arg(limits.cpu.to_string());
    command.arg(observe.argument()).arg(cage.map(Cage::argument).unwrap_or_default()).arg(tool);
    command.stdin(OwnedFd::from(theirs));
    Ok(Some((command, ours)))
}

/// The path of the running program, if it can be its own supervisor.
pub(super) fn program() -> Option<&'static Path> {
    PROGRAM.get().copied()
}

/// If this process was started as a supervisor or to make cages, does its work and returns the exit
/// code.
pub fn asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()? {
        mark if mark == cage::MARK => return Some(cage::keep()),
        mark if mark != MARK => return None,
        _ => {}
    }
    let wrong = Some(ExitCode::from(2));
    let mut number = || args.next()?.to_str()?.parse().ok();
    let (Some(memory), Some(cpu)) = (number(), number()) else { return wrong };
    let (Some(observe), Some(cage), Some(tool)) = (args.next(), args.next(), args.next()) else {
        return wrong;
    };
    let Ok(cage) = Entrance::read(&cage) else { return wrong };
    let task = Task {
        tool,
        args: args.collect(),
        limits: Limits { memory, cpu },
        cage: cage.map(Arc::new),
    };
    let own = observe.as_encoded_bytes().strip_prefix(b"+").map(OsStr::from_bytes);
    let ended = match own {
        None => task.look_after(),
        Some(own) => task.observe((!own.is_empty()).then_some(Path::new(own))),
    };
    Some(match ended {
        Ok(status) => end_like(status),
        Err(e) => {
            Said::NotStarted(e.raw_os_error().unwrap_or(libc::EINVAL)).tell();
            ExitCode::from(127)
        }
    })
}

/// A tool to run.
struct Task {
    tool: OsString,
    args: Vec<OsString>,
    limits: Limits,
    cage: Option<Arc<Entrance>>,
}

impl Task {
    /// The command that runs the tool; `then` is done last in its process.
    fn command(&self, then: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Command {
        let (own, limits, cage) = (process::getpid(), self.limits, self.cage.clone());
        #[expect(clippy::disallowed_methods, reason = "a supervisor runs the tool it looks after")]
        let mut command = Command::new(&self.tool);
        command.args(&self.args).stdin(Stdio::null());
        let prepare = move || {
            for (what, limit) in limits.all() {
                // A limit that is already lower stays.
                let _ = process::setrlimit(what, limit);
            }
            settle();
            // Without a terminal that it could ask, and apart from the supervisor.
            process::setsid()?;
            if let Some(cage) = &cage {
                cage.enter()?;
            }
            process::set_parent_process_death_signal(Some(Signal::KILL))?;
            match process::getppid() == Some(own) {
                true => then(),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        };
        // SAFETY: between fork and exec there are only system calls.
        unsafe { command.pre_exec(prepare) };
        command
    }

    /// The status with which the tool ended; `None` if the supervisor ended it.
    fn look_after(&self) -> io::Result<Option<ExitStatus>> {
        process::set_child_subreaper(Some(process::getpid()))?;
        let mut child = self.command(|| Ok(())).spawn()?;
        let ended = match process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(ended) => ended,
            Err(e) => {
                end_all();
                return Err(e.into());
            }
        };
        let status = if is_closed_before(&ended) { None } else { Some(child.wait()?) };
        end_all();
        Ok(status)
    }

    /// The same, with everything observed that the tool and its descendants look at.
    fn observe(&self, own: Option<&Path>) -> io::Result<Option<ExitStatus>> {
        process::set_child_subreaper(Some(process::getpid()))?;
        let filter = filter::program();
        let then = move || {
            trace::stop_for_tracer()?;
            filter::install(&filter)?;
            IS_TRACED.store(true, Ordering::Relaxed);
            Ok(())
        };
        let mut command = self.command(then);
        let (mut failed, fail) = io::pipe()?;
        // SAFETY: this process has no other thread, so its copy is whole.
        let root = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                let e = command.exec();
                let word = (IS_TRACED.load(Ordering::Relaxed), e.raw_os_error());
                let _ = serde_json::to_writer(&fail, &word);
                // SAFETY: it ends this copy without ending what belongs to the other one.
                unsafe { libc::_exit(127) }
            }
            root => root,
        };
        drop(fail);
        let Some(pid) = Pid::from_raw(root) else { return Err(io::ErrorKind::NotFound.into()) };
        let ended = process::pidfd_open(pid, PidfdFlags::empty()).inspect_err(|_| end_all())?;
        let is_over = Arc::new(AtomicBool::new(false));
        std::thread::spawn({
            let is_over = is_over.clone();
            move || {
                if is_closed_before(&ended) {
                    is_over.store(true, Ordering::Relaxed);
                    let _ = process::pidfd_send_signal(&ended, Signal::KILL);
                }
            }
        });
        let (status, trace) = trace::follow(root, Path::new(&self.tool), own);
        end_all();
        if is_over.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut word = Vec::new();
        failed.read_to_end(&mut word)?;
        match serde_json::from_slice::<(bool, Option<i32>)>(&word) {
            Err(_) => Said::Saw(trace).tell(),
            Ok((true, number)) => Said::NotStarted(number.unwrap_or(libc::EINVAL)).tell(),
            Ok((false, number)) => {
                let why = io::Error::from_raw_os_error(number.unwrap_or(libc::EINVAL));
                let status = self.look_after()?;
                Said::Blind(why.to_string()).tell();
                return Ok(status);
            }
        }
        Ok(Some(status))
    }
}

/// Whether the process that becomes the tool has asked to be traced.
static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// Waits until the tool has ended or litmake has closed the line; says whether the line was first.
fn is_closed_before(ended: &OwnedFd) -> bool {
    let line = io::stdin();
    loop {
        let mut fds = [PollFd::new(&line, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[1].revents().is_empty() => return false,
            Ok(_) if fds[0].revents().is_empty() => {}
            Err(rustix::io::Errno::INTR) => {}
            _ => return true,
        }
    }
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
