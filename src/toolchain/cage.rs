//! Cages: mount namespaces in which a tool finds what its evidence has, and nothing else.
//!
//! A keeper, one process for a run, makes them (`keeper`). It lives in namespaces of its own for the
//! user, the name of the host, the network and shared memory, and all cages share these. A cage needs
//! no process: an open file keeps it, and each tool enters it before it starts. The evidence's files
//! lie at their usual paths and cannot be written; a folder that was listed has its names; `/proc` and
//! the usual devices are there; temporary folders of this process can be written.
//!
//! This module does not know how tools are run, nor what becomes of one that misses something.

mod keeper;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::process::DumpableBehavior;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::scratch::Parent;
use super::supervisor;
use super::trace::{Look, Trace};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::file;

pub use keeper::keep;

/// The first argument of a keeper.
pub const MARK: &str = "--keep-cages";

/// The namespaces of a keeper that cages share, in the order in which they are entered.
const SHARED: [&str; 4] = ["user", "uts", "ipc", "net"];

/// An order to a keeper.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The folder that can be written.
    place: PathBuf,
    /// Paths, and how they are shown.
    paths: Vec<(PathBuf, Shown)>,
}

/// How a path is shown in a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shown {
    /// A link, without what it leads to; anything else like [`Shown::Whole`].
    Link,
    /// A file with its content, or an empty folder; and all links on the way.
    Whole,
    /// A folder with its names, and nothing behind them.
    Names,
}

/// A cage.
#[derive(Debug)]
pub struct Cage {
    shared: Arc<[OwnedFd]>,
    mounts: OwnedFd,
    place: Arc<Parent>,
    evidence: Vec<Arc<Evidence>>,
}

impl Cage {
    /// Whether a tool can work in a folder there.
    pub fn has(&self, folder: &Path) -> bool {
        folder == Path::new("/") || folder.starts_with(self.place.path())
    }

    /// Whether all that programs looked at is there.
    pub fn shows(&self, trace: &Trace) -> bool {
        let is_seen = |(path, look): &(PathBuf, Look)| {
            self.evidence.iter().any(|evidence| evidence.covers(path, *look))
        };
        let asked = self.evidence.iter().fold(trace.asked.clone(), |left, e| e.unasked(&left));
        let is_all = trace.unseen.is_empty() && trace.left.is_empty() && asked.is_empty();
        is_all && trace.looked.iter().all(is_seen)
    }

    /// The way in, as an argument of another process of this user.
    pub fn argument(&self) -> OsString {
        let own = std::process::id();
        let all = self.shared.iter().chain([&self.mounts]);
        let paths: Vec<String> =
            all.map(|fd| format!("/proc/{own}/fd/{}", fd.as_raw_fd())).collect();
        paths.join(":").into()
    }
}

/// The facts by which a system grants namespaces to a process or denies them, as text.
pub(super) fn granted() -> String {
    let mut out = format!("{:?}", rustix::process::geteuid());
    for path in [
        "sys/user/max_user_namespaces",
        "sys/user/max_mnt_namespaces",
        "sys/user/max_net_namespaces",
        "sys/kernel/unprivileged_userns_clone",
        "sys/kernel/apparmor_restrict_unprivileged_userns",
        "self/attr/current",
        "self/uid_map",
    ] {
        let text = file::read_text(&Path::new("/proc").join(path), file::MAX_TEXT);
        out += &text.unwrap_or_default();
    }
    let status = file::read_text(Path::new("/proc/self/status"), file::MAX_TEXT);
    let is_told =
        |line: &&str| ["Cap", "NoNewPrivs", "Seccomp:"].iter().any(|t| line.starts_with(t));
    out.extend(status.unwrap_or_default().lines().filter(is_told));
    out
}

/// The way into a cage, for a process that becomes a tool.
#[derive(Debug)]
pub struct Entrance {
    namespaces: Vec<OwnedFd>,
    folder: PathBuf,
}

impl Entrance {
    /// From the argument, for the present working folder. An empty argument is no cage.
    pub fn read(argument: &OsStr) -> io::Result<Option<Entrance>> {
        if argument.is_empty() {
            return Ok(None);
        }
        let text = argument.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let open = |path| rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let namespaces = text.split(':').map(open).collect::<Result<_, _>>()?;
        Ok(Some(Entrance { namespaces, folder: std::env::current_dir()? }))
    }

    /// Enters. The process must have one thread. Between fork and exec this is safe: there are system
    /// calls alone.
    pub fn enter(&self) -> io::Result<()> {
        use LinkNameSpaceType as Kind;
        let kinds = [Kind::User, Kind::HostNameAndNISDomainName, Kind::InterProcessCommunication];
        for (fd, kind) in
            self.namespaces.iter().zip(kinds.into_iter().chain([Kind::Network, Kind::Mount]))
        {
            move_into_link_name_space(fd.as_fd(), Some(kind))?;
        }
        rustix::process::chdir(&self.folder)?;
        // A process that takes another user's rights hides its memory, until it runs a program.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        Ok(())
    }
}

/// The cages of a run, by their evidence, and their keeper.
#[derive(Debug, Default)]
pub struct Cages {
    keeper: Option<Keeper>,
    made: HashMap<Digest, Arc<Cage>>,
}

impl Cages {
    /// The cage for some evidence.
    pub fn made(&mut self, evidence: &[Arc<Evidence>]) -> io::Result<Arc<Cage>> {
        let mut key = Keyer::new("cage/1");
        evidence.iter().for_each(|evidence| key.add("evidence", &evidence.digest().0));
        let key = key.finish();
        if let Some(cage) = self.made.get(&key) {
            return Ok(cage.clone());
        }
        let place = Parent::of_the_process()?;
        let paths = evidence.iter().flat_map(|evidence| evidence.shown()).collect();
        let order = Order { place: place.path().to_path_buf(), paths };
        // A keeper may have been killed.
        let (shared, mounts) = self.ordered(&order).or_else(|_| self.ordered(&order))?;
        let cage = Arc::new(Cage { shared, mounts, place, evidence: evidence.to_vec() });
        self.made.insert(key, cage.clone());
        Ok(cage)
    }

    fn ordered(&mut self, order: &Order) -> io::Result<(Arc<[OwnedFd]>, OwnedFd)> {
        let mut keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::start()?,
        };
        let mounts = keeper.make(order)?;
        let shared = keeper.shared.clone();
        self.keeper = Some(keeper);
        Ok((shared, mounts))
    }
}

/// A running keeper. It ends once its line is closed.
#[derive(Debug)]
struct Keeper {
    child: Child,
    line: BufReader<UnixStream>,
    shared: Arc<[OwnedFd]>,
}

impl Keeper {
    fn start() -> io::Result<Keeper> {
        let program = supervisor::program().ok_or(io::ErrorKind::Unsupported)?;
        let (ours, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "the keeper of all cages is no tool")]
        let mut command = Command::new(program);
        command.arg(MARK).env_clear().stdin(OwnedFd::from(theirs));
        let child = command.spawn()?;
        let mut keeper = Keeper { child, line: BufReader::new(ours), shared: Arc::new([]) };
        keeper.hear()?;
        keeper.shared =
            SHARED.iter().map(|name| keeper.namespace(name)).collect::<Result<_, _>>()?;
        Ok(keeper)
    }

    fn make(&mut self, order: &Order) -> io::Result<OwnedFd> {
        let mut text = serde_json::to_vec(order)?;
        text.push(b'\n');
        self.line.get_mut().write_all(&text)?;
        self.hear()?;
        self.namespace("mnt")
    }

    /// Waits for the keeper's word.
    fn hear(&mut self) -> io::Result<()> {
        let mut word = String::new();
        self.line.read_line(&mut word)?;
        match serde_json::from_str::<Option<String>>(&word) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(io::Error::other(why)),
            Err(_) => Err(io::Error::other("the process that makes them ended")),
        }
    }

    fn namespace(&self, name: &str) -> io::Result<OwnedFd> {
        #[expect(
            clippy::disallowed_methods,
            reason = "it is a namespace, which is opened to be kept"
        )]
        let file = File::open(format!("/proc/{}/ns/{name}", self.child.id()))?;
        Ok(file.into())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.line.get_ref().shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}
