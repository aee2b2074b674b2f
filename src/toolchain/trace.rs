//! Runs a program like [`process`], and records what it and its descendants looked at: files that
//! were read, run or listed, paths that did not exist, and properties of the process.
//!
//! It uses `ptrace`, which needs no privileges and no helper, and also works for static programs.
//! It does not know what the programs do, nor what the files are used for.

mod askers;
mod calls;
pub(super) mod filter;
mod native;
mod places;
mod unseen;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use libc::{c_int, c_long, c_void, pid_t};
use litmake_base::content::Stamp;
use rustix::event::{PollFd, PollFlags};
use rustix::process::Resource;
use serde::{Deserialize, Serialize};

use super::process::{self, Ended, Request};
use super::scratch;
use super::supervisor;
use calls::{
    NATIVE, Named, Use, hides, lists, named, opened, peer, property, runs_for_processor,
    wants_to_write,
};
use places::{Realm, flows, interpreter, realm, told_in};
pub use unseen::Unseen;

/// The kinds of looks at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Look {
    /// Whether there is something, and its kind and size.
    Kind,
    /// The same without following a link; the target of a link.
    Link,
    /// The names in a folder.
    Names,
    /// The content of a file.
    Content,
    /// The extended attributes.
    Attributes,
    /// When the content changed, and whose it is.
    Owner,
    /// The same, and all else that tells equal files apart: inode, links, and the last change.
    Identity,
}

/// A property of a process or its machine that a program can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Property {
    /// The name of the machine, and its kernel.
    System,
    /// The user and the groups.
    User,
    /// The number of processors that may be used.
    Processors,
    /// Which processors may be used.
    Affinity,
    /// The kind of the processor and its features.
    Processor,
    /// Those of [`LIMITS`], limits that are lower than usual, and the priority.
    Limits,
    /// The means by which the system grants or denies namespaces.
    Namespaces,
    /// The construction of the cages in which tools run. No call asks for it.
    Cage,
}

impl Property {
    /// The name of a property, for people.
    pub fn name(self) -> &'static str {
        match self {
            Property::System => "(the name and the kernel of the machine)",
            Property::User => "(the user)",
            Property::Processors => "(the number of processors)",
            Property::Affinity => "(the processors that it may use)",
            Property::Processor => "(the kind of the processor)",
            Property::Limits => "(the limits and the priority of the process)",
            Property::Namespaces => "(the namespaces that the system grants)",
            Property::Cage => "(the namespaces in which it runs)",
        }
    }
}

/// The limits that tools ask for and that litmake leaves as they are.
pub(super) const LIMITS: [Resource; 11] = [
    Resource::Fsize,
    Resource::Data,
    Resource::Nproc,
    Resource::Memlock,
    Resource::Rss,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

/// The looks of programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Absolute paths, with the kind of look. A path can have several.
    pub looked: BTreeSet<(PathBuf, Look)>,
    /// The properties that were asked for.
    pub asked: BTreeSet<Property>,
    /// Actions that cannot be observed.
    pub unseen: BTreeSet<Unseen>,
    /// Paths that programs changed and left so. Looks at them before the change are in `looked`.
    pub left: BTreeSet<PathBuf>,
    /// Paths elsewhere that programs wanted to change, and were not allowed to.
    pub refused: BTreeSet<PathBuf>,
}

impl Trace {
    /// Adds the looks of another program.
    pub fn extend(&mut self, other: Trace) {
        self.looked.extend(other.looked);
        self.asked.extend(other.asked);
        self.unseen.extend(other.unseen);
        self.left.extend(other.left);
        self.refused.extend(other.refused);
    }

    /// Takes out the paths that programs changed themselves and looked at, here or where `has_looked`
    /// knows it. The other changed paths are forgotten.
    pub fn take_state(&mut self, has_looked: &dyn Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
        let mut state = std::mem::take(&mut self.left);
        state.retain(|path| {
            let next = self.looked.range((path.clone(), Look::Kind)..).next();
            next.is_some_and(|(next, _)| next == path) || has_looked(path)
        });
        self.looked.retain(|(path, _)| !state.contains(path));
        state
    }

    /// Tells that programs look at what they changed themselves: a run leaves something for the next.
    /// Names the folder of all of it, unless that has inputs, too.
    pub fn keeps(&mut self, state: &BTreeSet<PathBuf>, has_inputs: &dyn Fn(&Path) -> bool) {
        let Some(place) = common(state) else { return };
        let is_deep = place.components().count() > 2;
        match is_deep && !has_inputs(&place) {
            true => _ = self.unseen.insert(Unseen::Keeps(place)),
            false => self.unseen.extend(state.iter().cloned().map(Unseen::Keeps)),
        }
    }

    /// Whether there were no looks at all.
    pub fn is_empty(&self) -> bool {
        self.looked.is_empty() && self.asked.is_empty() && self.unseen.is_empty()
    }
}

/// The path, or the folder of all of several paths.
fn common(paths: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut out = paths.first()?.clone();
    while !paths.iter().all(|path| path.starts_with(&out)) {
        out.pop();
    }
    Some(out)
}

/// Traces a program that this thread started, which waits in a stop and has a [`filter`]. Returns
/// its status once it and all its descendants have ended.
pub fn follow(root: pid_t, program: &Path, own: Option<&Path>) -> (ExitStatus, Trace) {
    let mut follower = Follower::new(root, program, own, Stops::Chosen);
    let status = follower.follow();
    (status, follower.trace)
}

/// Lets the parent's thread trace this process, and waits until it does.
pub fn stop_for_tracer() -> io::Result<()> {
    // SAFETY: neither call has an address.
    let is_done =
        unsafe { ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 && libc::raise(libc::SIGSTOP) == 0 };
    if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs and traces a program. Files in `own`, where the program may leave its own files, are not
/// recorded. An error says why the program did not start or cannot be traced.
pub fn run(request: &Request, own: Option<&Path>) -> io::Result<(Ended, Trace)> {
    #[expect(clippy::disallowed_methods, reason = "what is followed has no other parent")]
    let mut command = Command::new(request.program);
    process::close(&mut command, request);
    command.stdin(Stdio::null());
    // SAFETY: between fork and exec there are only system calls.
    unsafe {
        command.pre_exec(|| {
            supervisor::settle();
            match ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
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
        let mut follower = Follower::new(root, request.program, own, Stops::All);
        // The call that runs the program comes before the first stop.
        let args = request.args.iter().map(String::as_bytes);
        follower.trace.asked.extend(native::asks_processor(args, request.dir));
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
    /// The paths that it names, and what there was before. They are read before the call, because an
    /// exec removes the memory.
    named: Vec<(Named, Option<Stamp>)>,
}

impl Call {
    fn read(pid: pid_t, number: u64, args: [u64; 6]) -> Call {
        let number = number as c_long;
        let stamp = |named: Named| {
            let there = named.path.metadata().ok();
            (named, there.map(|there| Stamp::of(&there)))
        };
        let named = named(pid, number, &args).into_iter().map(stamp).collect();
        Call { number, args, named }
    }

    /// Whether something depends on how it ends.
    fn end_matters(&self, pid: pid_t) -> bool {
        let changes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
        self.number == libc::SYS_connect
            || hides(pid, self.number, &self.args).is_some()
            || self.named.iter().any(|(named, _)| match named.used {
                Use::Looks(_) => false,
                Use::Opens(flags) => flags & changes != libc::O_RDONLY,
                Use::Runs | Use::Makes | Use::Removes => true,
            })
    }
}

/// The errors by which a change is refused that could be made elsewhere, or by another user.
const REFUSED: [c_int; 4] = [libc::EROFS, libc::EXDEV, libc::EPERM, libc::EACCES];

/// The calls at which threads stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stops {
    /// At the begin and the end of each.
    All,
    /// At the begin of those that the filter chooses, and at their end where it is asked for.
    Chosen,
}

struct Follower {
    root: pid_t,
    stops: Stops,
    own: Option<PathBuf>,
    /// The threads, and the system calls that they are in.
    threads: HashMap<pid_t, Option<Call>>,
    /// Paths that programs wrote or made, and what there was before. Later looks at them are no
    /// evidence.
    made: BTreeMap<PathBuf, Option<Stamp>>,
    /// Paths at which the first look found nothing.
    missed: BTreeSet<PathBuf>,
    trace: Trace,
}

impl Follower {
    fn new(root: pid_t, program: &Path, own: Option<&Path>, stops: Stops) -> Self {
        let own = own.map(|own| own.canonicalize().unwrap_or(own.to_path_buf()));
        let (threads, made, missed) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        let trace = Trace::default();
        let mut new = Follower { root, stops, own, threads, made, missed, trace };
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
                self.tidy();
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
            let to = match (self.stops, self.threads.get(&pid)) {
                (Stops::Chosen, None | Some(None)) => libc::PTRACE_CONT,
                _ => libc::PTRACE_SYSCALL,
            };
            // SAFETY: a signal's number in place of data, as this request wants it.
            unsafe { ptrace(to, pid, 0, signal as usize) };
        }
    }

    /// Once no process is left, sorts what they made: temporary files that are gone again had names of
    /// their own.
    fn tidy(&mut self) {
        for (path, before) in std::mem::take(&mut self.made) {
            let is_gone = path.symlink_metadata().is_err();
            let now = path.metadata().ok();
            if is_gone && self.missed.contains(&path) {
                self.trace.looked.retain(|(looked, _)| *looked != path);
            } else if now.map(|now| Stamp::of(&now)) != before {
                self.trace.left.insert(path);
            }
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
                    | libc::PTRACE_O_TRACESECCOMP
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
            libc::PTRACE_EVENT_SECCOMP => {
                self.called(pid);
                0
            }
            libc::PTRACE_EVENT_EXEC => {
                // The thread that runs a program becomes the first of its process.
                let call = self.former(pid).and_then(|old| self.threads.remove(&old).flatten());
                let call = call.or_else(|| self.threads.get_mut(&pid).and_then(Option::take));
                let named = call.and_then(|call| call.named.into_iter().next());
                if let Some((Named { path, .. }, _)) = named {
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
            self.trace
                .unseen
                .insert(Unseen::Files("system calls that the kernel does not tell of".into()));
            return;
        }
        if info.arch != NATIVE {
            self.trace
                .unseen
                .insert(Unseen::Files("files of a program for another kind of processor".into()));
            return;
        }
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: `op` says which member is valid.
                let entry = unsafe { info.u.entry };
                let call = self.begins(pid, entry.nr, entry.args);
                self.threads.insert(pid, Some(call));
            }
            libc::PTRACE_SYSCALL_INFO_SECCOMP => {
                // SAFETY: as above.
                let entry = unsafe { info.u.seccomp };
                let call = self.begins(pid, entry.nr, entry.args);
                if call.end_matters(pid) {
                    self.threads.insert(pid, Some(call));
                } else {
                    self.came_back(pid, call, None);
                }
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                // SAFETY: as above.
                let exit = unsafe { info.u.exit };
                if let Some(call) = self.threads.get_mut(&pid).and_then(Option::take) {
                    self.came_back(pid, call, Some(exit.sval));
                }
            }
            _ => {}
        }
    }

    /// A call that begins. The arguments of a program that it runs are gone when it ends.
    fn begins(&mut self, pid: pid_t, number: u64, args: [u64; 6]) -> Call {
        let call = Call::read(pid, number, args);
        self.trace.asked.extend(runs_for_processor(pid, call.number, &call.args));
        call
    }

    /// Records a call with its result. Of this, only success matters: the files are looked at again
    /// when all programs have ended. A call whose end does not matter comes here without a result;
    /// it fails if there is nothing at its path.
    fn came_back(&mut self, pid: pid_t, call: Call, result: Option<i64>) {
        let Call { number, args, named } = call;
        match number {
            _ if lists(number) => {
                if let Some(folder) = opened(pid, args[0]) {
                    self.look(folder, Look::Names, false);
                }
            }
            libc::SYS_fgetxattr | libc::SYS_flistxattr => {
                if let Some(path) = opened(pid, args[0]) {
                    self.look(path, Look::Attributes, false);
                }
            }
            // A path that is missing is evidence; any other answer comes from elsewhere.
            libc::SYS_connect if result != Some(-i64::from(libc::ENOENT)) => {
                let peer = peer(pid, args[1], args[2]);
                self.trace.unseen.insert(Unseen::Program(peer));
            }
            libc::SYS_sendto if args[4] != 0 => {
                let peer = peer(pid, args[4], args[5]);
                self.trace.unseen.insert(Unseen::Program(peer));
            }
            _ => {}
        }
        self.trace.asked.extend(property(pid, number, &args));
        let hidden = hides(pid, number, &args);
        let counts = |hidden: &Unseen| result >= Some(0) || matches!(hidden, Unseen::Program(_));
        self.trace.unseen.extend(hidden.filter(counts));
        let is_refused = |errno: &c_int| result == Some(-i64::from(*errno));
        let is_refused = REFUSED.iter().any(is_refused) || wants_to_write(number, &args);
        for (Named { path, used }, before) in named {
            let existed = before.is_some();
            let failed = result.map_or(!existed, |result| result < 0);
            let path = self.plain(path);
            if is_refused && used != Use::Runs && !self.is_own(&path) {
                self.trace.refused.insert(path.clone());
            }
            match used {
                Use::Looks(Look::Owner | Look::Identity) if failed => {}
                Use::Looks(look) => self.look(path, look, failed),
                // A call that returned ran no program.
                Use::Runs => self.look(path, Look::Kind, failed),
                Use::Makes | Use::Removes if failed => self.fails_to_make(path, existed),
                Use::Makes => self.makes(path, before),
                Use::Removes => {
                    self.look(path.clone(), Look::Link, false);
                    self.makes(path, before);
                }
                Use::Opens(flags) => self.opens(path, flags, before, failed),
            }
        }
    }

    /// Records that something could not be made or removed, for which its folder can be the reason.
    fn fails_to_make(&mut self, path: PathBuf, existed: bool) {
        if let Some(folder) = path.parent() {
            self.look(folder.to_path_buf(), Look::Kind, !folder.exists());
        }
        self.look(path, Look::Kind, !existed);
    }

    /// Records that a file was opened. What is read before the program itself writes it counts.
    fn opens(&mut self, path: PathBuf, flags: c_int, before: Option<Stamp>, failed: bool) {
        let existed = before.is_some();
        let has = |flag| flags & flag != 0;
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let reads = flags & libc::O_ACCMODE != libc::O_WRONLY && !has(libc::O_TRUNC);
        if failed && has(libc::O_CREAT) {
            return self.fails_to_make(path, existed);
        }
        if failed {
            let look = if has(libc::O_NOFOLLOW) { Look::Link } else { Look::Kind };
            return self.look(path, look, !existed);
        }
        let makes = writes || has(libc::O_CREAT | libc::O_TRUNC);
        match (has(libc::O_PATH), makes) {
            (true, _) => self.look(path, Look::Kind, false),
            (_, false) => {
                self.trace.asked.extend(native::asks_processor_in(&path));
                self.look(path, Look::Content, false);
            }
            (_, true) => {
                if reads && existed {
                    self.look(path.clone(), Look::Content, false);
                }
                self.makes(path, before);
            }
        }
    }

    /// Records that something was made or changed; in the own folder this means nothing.
    fn makes(&mut self, path: PathBuf, before: Option<Stamp>) {
        if !self.is_own(&path) {
            self.made.entry(path).or_insert(before);
        }
    }

    fn is_own(&self, path: &Path) -> bool {
        self.own.as_ref().is_some_and(|own| path.starts_with(own))
    }

    /// Records a program that was run: its file, and the files that the kernel reads for it without
    /// a system call.
    fn ran(&mut self, path: PathBuf) {
        let mut next = Some(path);
        for _ in 0..4 {
            let Some(path) = next.take() else { return };
            next = interpreter(&path);
            if askers::tells_time(&path) {
                self.trace.unseen.insert(Unseen::Clock);
            }
            let path = self.plain(path);
            self.look(path, Look::Content, false);
        }
    }

    /// A path without `..`, if it begins in the own folder, whose name means nothing elsewhere.
    fn plain(&self, path: PathBuf) -> PathBuf {
        match &self.own {
            Some(own) if path.starts_with(own) => without_parents(&path),
            _ => path,
        }
    }

    fn look(&mut self, path: PathBuf, look: Look, missed: bool) {
        if self.is_own(&path) || !path.is_absolute() || self.made.contains_key(&path) {
            return;
        }
        // The folder around the own one has another name each time, and nothing else to find.
        let around = self.own.as_ref().and_then(|own| own.parent());
        if let Some(around) = around.filter(|around| scratch::is_place(around))
            && (missed && path.starts_with(around) || path == around && look != Look::Names)
        {
            return;
        }
        match realm(&path, look) {
            Realm::Process => {
                self.trace.asked.extend(told_in(&path));
                return;
            }
            Realm::Passing => {
                self.trace.unseen.insert(Unseen::Machine(path));
                return;
            }
            Realm::Lasting => {}
        }
        let kind = path.metadata().ok().map(|meta| meta.file_type());
        if look == Look::Content
            && let Some(what) = kind.and_then(|kind| flows(&path, kind))
        {
            self.trace.unseen.insert(what);
        }
        if missed && !self.has_looked(&path) {
            self.missed.insert(path.clone());
        }
        self.trace.looked.insert((path, look));
    }

    fn has_looked(&self, path: &Path) -> bool {
        let from = (path.to_path_buf(), Look::Kind);
        self.trace.looked.range(from..).next().is_some_and(|(next, _)| next == path)
    }
}

fn without_parents(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    out
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
        let expected = Unseen::Program(format!("at 127.0.0.1 port {port}"));
        assert!(trace.unseen.contains(&expected), "{:?}", trace.unseen);
    }
}
