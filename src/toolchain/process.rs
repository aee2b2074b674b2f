//! Running other programs: with a time limit, a memory limit, a closed environment, and an end
//! when the run is stopped. It does not know what they are.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::local;

/// More output than this is cut.
pub(super) const MAX_OUTPUT: u64 = 1 << 20;

pub struct Request<'a> {
    pub program: &'a Path,
    pub args: &'a [String],
    /// Everything that the program sees besides `PATH`, `LC_ALL`, `TMPDIR` and `CCACHE_DISABLE`.
    pub env: &'a BTreeMap<String, String>,
    pub dir: &'a Path,
    pub timeout: Duration,
    pub memory_mib: u64,
    /// How many processors it may keep busy for as long as the time limit.
    pub processors: u64,
    pub stop: &'a AtomicBool,
}

#[derive(Debug)]
pub enum Ended {
    /// It ended by itself, with success or not.
    Exit {
        code: i32,
        stdout: Vec<u8>,
        stderr: String,
    },
    /// It was ended by a signal that we did not send.
    Signal {
        signal: i32,
        stderr: String,
    },
    TooSlow,
    /// The run is being stopped.
    Stopped,
    NotStarted(std::io::Error),
}

/// Runs a program, and once more where it did not fail by itself: where it could not be started
/// for a moment, or was ended from outside. What a program does of its own accord it would do
/// again, and is never tried twice.
pub fn run(request: &Request) -> Ended {
    let mut pause = Duration::from_millis(20);
    let mut attempt = 0;
    loop {
        let ended = once(request);
        let again = match &ended {
            // It is being written, or there was no room for one more process.
            Ended::NotStarted(e) => attempt < 5 && is_passing(e),
            Ended::Signal { signal, .. } => {
                attempt == 0 && matches!(*signal, libc::SIGKILL | libc::SIGTERM)
            }
            // So do drivers say it whose parts were ended.
            Ended::Exit { code, stderr, .. } => {
                attempt == 0
                    && *code != 0
                    && (stderr.contains("Killed signal terminated program")
                        || stderr.contains("unable to execute command: Killed"))
            }
            Ended::TooSlow | Ended::Stopped => false,
        };
        if !again || request.stop.load(Ordering::Relaxed) {
            return ended;
        }
        std::thread::sleep(pause);
        pause *= 2;
        attempt += 1;
    }
}

/// Whether what kept a program from starting passes by itself.
pub(super) fn is_passing(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ETXTBSY | libc::EAGAIN | libc::ENOMEM))
}

/// Limits memory and processor time of a program that has just started. From outside: a program
/// that limits itself before it starts needs a copy of this process first, which costs a tenth of the
/// time that reducing a finding takes.
pub(super) fn limit(child: &Child, request: &Request) {
    let memory = request.memory_mib.saturating_mul(1 << 20);
    let cpu = (request.timeout.as_secs() + 2).saturating_mul(request.processors.max(1));
    // The second limit on processor time ends what does not heed the first.
    for (what, soft, hard) in [
        (libc::RLIMIT_AS, memory, memory),
        (libc::RLIMIT_CPU, cpu, cpu + 5),
        (libc::RLIMIT_CORE, 0, 0),
    ] {
        let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: the limit outlives the call, and the child, not waited for yet, keeps its number.
        unsafe {
            libc::prlimit(child.id() as libc::pid_t, what, &limit, std::ptr::null_mut());
        }
    }
}

/// How a program is started: in a closed environment, its output ours, a group of its own.
pub(super) fn command(request: &Request) -> Command {
    let mut command = Command::new(request.program);
    command
        .args(request.args)
        .current_dir(request.dir)
        .env_clear()
        .env("LC_ALL", "C")
        .env("TMPDIR", request.dir)
        // A cache between us and the compiler would answer without telling what its answer rests on.
        .env("CCACHE_DISABLE", "1")
        .envs(request.env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that a driver's children end with it.
        .process_group(0);
    if let Some(path) = std::env::var_os("PATH")
        && !request.env.contains_key("PATH")
    {
        command.env("PATH", path);
    }
    command
}

fn once(request: &Request) -> Ended {
    let mut child = match command(request).spawn() {
        Ok(child) => child,
        Err(e) => return Ended::NotStarted(e),
    };
    limit(&child, request);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            scope.spawn(move || {
                let mut bytes = Vec::new();
                if let Some(mut pipe) = pipe {
                    let _ = pipe.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
                    // A program must not hang because nobody reads the rest.
                    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
                }
                bytes
            })
        };
        let stdout = read(out.map(|p| Box::new(p) as Box<dyn Read + Send>));
        let stderr = read(err.map(|p| Box::new(p) as Box<dyn Read + Send>));
        let start = Instant::now();
        let mut pause = Duration::from_micros(500);
        let mut ended_by_us = None;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) => {}
                Err(_) => break None,
            }
            if request.stop.load(Ordering::Relaxed) {
                ended_by_us = Some(Ended::Stopped);
            } else if start.elapsed() > request.timeout {
                ended_by_us = Some(Ended::TooSlow);
            }
            if ended_by_us.is_some() {
                // SAFETY: the child is not waited for yet, so its group is still its own.
                unsafe {
                    libc::kill(-(child.id() as i32), libc::SIGKILL);
                }
                break child.wait().ok();
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(Duration::from_millis(10));
        };
        let stdout = stdout.join().unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
        if let Some(ended) = ended_by_us {
            return ended;
        }
        match status {
            Some(status) => match (status.code(), status.signal()) {
                // SIGXCPU: the limit on processor time.
                (_, Some(libc::SIGXCPU)) => Ended::TooSlow,
                (_, Some(signal)) => Ended::Signal { signal, stderr },
                (code, None) => Ended::Exit { code: code.unwrap_or(-1), stdout, stderr },
            },
            None => Ended::Signal { signal: 0, stderr },
        }
    })
}

/// The program that a command runs: where [`locate`] finds it, or what rustup starts there.
pub fn find(command: &str) -> Option<PathBuf> {
    let found = locate(command)?;
    if !is_rustup(&found) {
        return Some(found);
    }
    let said =
        Command::new(&found).args(["--print", "sysroot"]).stdin(Stdio::null()).output().ok()?;
    Some(in_sysroot(&found, &said.stdout).unwrap_or(found))
}

/// Where a command is, as a shell would find it; a compiler that comes as a Python wheel
/// (`zig-0.13.0`) is in one of the [`toolchains`] too.
pub fn locate(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        let path = PathBuf::from(command);
        return path.is_file().then(|| std::path::absolute(&path).unwrap_or(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(command)).find(|p| p.is_file());
    let in_wheel = || {
        let (_, _, program) = wheel(command)?;
        let inside = Path::new(command).join(program);
        let mut all = toolchains().into_iter().map(|dir| dir.join(&inside)).filter(|p| p.is_file());
        let found = all.next()?;
        if let Some(hidden) = all.next()
            && std::path::absolute("toolchains").is_ok_and(|here| found.starts_with(here))
        {
            let name = |p: &Path| format!("the tool chain {}", p.display());
            local::hides(&name(&found), &name(&hidden));
        }
        Some(found)
    };
    found.or_else(in_wheel)
}

/// The wheel that a command comes in: its name, its version, and where in it the program lies.
pub fn wheel(command: &str) -> Option<(&'static str, &str, &'static str)> {
    let version = command.strip_prefix("zig-")?;
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(("ziglang", version, "ziglang/zig"))
}

/// Folders with a folder for each compiler that no package system installs: that of the variable
/// `LITMAKE_TOOLCHAINS`, `toolchains` here where that is allowed, and one of the user's. New ones go into the first.
pub fn toolchains() -> Vec<PathBuf> {
    let home =
        std::env::var_os("HOME").map(|h| Path::new(&h).join(".local/share/litmake/toolchains"));
    let named = std::env::var_os("LITMAKE_TOOLCHAINS").map(PathBuf::from);
    let here = std::path::absolute("toolchains").ok();
    let here = here.filter(|p| p.is_dir() && !local::is_forbidden());
    [named, here, home].into_iter().flatten().collect()
}

/// Whether a program is a proxy of rustup: it starts a compiler that depends on an environment
/// which compilers are not given, and has to be asked for it.
pub(super) fn is_rustup(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real.file_name().is_some_and(|name| name == "rustup"))
}

/// The compiler behind a proxy that said where its toolchain is.
pub(super) fn in_sysroot(proxy: &Path, said: &[u8]) -> Option<PathBuf> {
    let sysroot = std::str::from_utf8(said).ok()?;
    let program = Path::new(sysroot.trim()).join("bin").join(proxy.file_name()?);
    program.is_file().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Duration, memory_mib: u64) -> Ended {
        let stop = AtomicBool::new(false);
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
        let stop = AtomicBool::new(true);
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
            // The first time alone.
            ("test $(wc -l < $C) = 1 && kill -KILL $$; exit 0", "Exit { code: 0", 2),
            (
                "test $(wc -l < $C) = 1 && { echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1; }; exit 0",
                "Exit { code: 0",
                2,
            ),
            ("kill -KILL $$", "Signal { signal: 9", 2),
            ("kill -SEGV $$", "Signal { signal: 11", 1),
            ("exit 1", "Exit { code: 1", 1),
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
        let stop = AtomicBool::new(false);
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
}
