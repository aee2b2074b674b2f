//! The remote cache from end to end.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Scratch, Server, flip, free_port};

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
    assert!(second.count("fetched") > 2400, "{}", second.text);
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
    assert!(again.count("executed") > 2400, "{}", again.text);
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
    let sb = include_str!("../common/sb.litmus");
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
    assert!(flipped >= 40, "{flipped}");
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
        // The server goes at another place of each run.
        let child = s.begin(&client, &["--remote-cache", &url], 3 + round * 6);
        server.kill();
        std::thread::sleep(Duration::from_millis(100));
        server.begin();
        let ran = s.end(&client, child);
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
    // The server makes the blob of nothing itself, some time after it has begun.
    let blobs = |files: BTreeMap<PathBuf, Vec<u8>>| -> Vec<PathBuf> {
        let filled = files.into_iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(path, _)| path);
        filled.filter(|p| p.to_string_lossy().contains("/cas/objects/")).collect()
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
