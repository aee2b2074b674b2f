//! Signals and kills at random moments.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::time::{Duration, Instant};

use crate::scene::{Random, Scene, rounds};

/// A compiler that takes its time, and leaves something behind.
const SLOW: &str = "setsid sleep 600 & sleep 0.05";

const SIGNALS: [(i32, i32); 3] = [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)];

fn send(child: &std::process::Child, signal: i32) {
    // SAFETY: it is not waited for yet.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// The report of a clean run, the number of its tasks, and how long it takes.
fn clean(s: &Scene) -> (String, u64, u64) {
    let start = Instant::now();
    let (clean, _, tasks) = s.run("compiled.yaml", "clean");
    (clean, tasks, start.elapsed().as_micros() as u64)
}

#[test]
fn kills_lose_nothing_and_leave_nothing() {
    let s = Scene::new(SLOW);
    let mut random = Random::new(1);
    let (clean, tasks, length) = clean(&s);
    let (mut early, mut kept) = (0, 0);
    for round in 0..rounds(5) {
        let cache = format!("killed-{round}");
        let mut child = s.start("compiled.yaml", &cache);
        std::thread::sleep(Duration::from_micros(random.below(length * 9 / 8)));
        child.kill().unwrap();
        early += u64::from(child.wait().unwrap().code().is_none());
        s.nobody_is_left();
        let done = s.reported(&format!("{cache}.jsonl"));
        kept += done;
        let (report, _, again) = s.run("compiled.yaml", &cache);
        assert_eq!(report, clean, "{round}");
        assert!(done + again <= tasks, "{round}: {done} were done, {again} of {tasks} ran after");
        let (status, text) = s.litmake(&["cache", "verify", "--cache", &cache]);
        assert_eq!(status, 0, "{round}: {text}");
        // A run that finds all compiled has no temporary folders, and removes none of others.
        if !s.left().is_empty() {
            s.run("compiled.yaml", &format!("after-{round}"));
        }
        assert!(s.left().is_empty(), "{round}: {:?}", s.left());
    }
    println!("{} kills, {early} before the end; {kept} tasks kept", rounds(5));
}

#[test]
fn signals_end_a_run_with_what_it_has() {
    let s = Scene::new(SLOW);
    let mut random = Random::new(2);
    let (clean, tasks, length) = clean(&s);
    let (mut stopped, mut before, mut whole) = (0, 0, 0);
    for round in 0..rounds(3) {
        let cache = format!("stopped-{round}");
        let (signal, expected) = SIGNALS[round as usize % 3];
        let mut child = s.start("compiled.yaml", &cache);
        std::thread::sleep(Duration::from_micros(random.below(length * 9 / 8)));
        send(&child, signal);
        let status = child.wait().unwrap();
        s.nobody_is_left();
        assert!(s.left().is_empty(), "{round}: {:?}", s.left());
        let done = s.reported(&format!("{cache}.jsonl"));
        match (status.code(), status.signal()) {
            (Some(code), _) if code == expected => {
                stopped += 1;
                let report = std::fs::read_to_string(s.path(&format!("{cache}.json"))).unwrap();
                let report: serde_json::Value = serde_json::from_str(&report).unwrap();
                assert_eq!(report["errors"].as_array().map(Vec::len), Some(0), "{report}");
            }
            // It came before there was anything to keep, or too late.
            (None, Some(by)) if by == signal && done == 0 => before += 1,
            (Some(0 | 1), _) => whole += 1,
            other => panic!("{round}: {other:?} after signal {signal}"),
        }
        let (report, _, again) = s.run("compiled.yaml", &cache);
        assert_eq!(report, clean, "{round}");
        assert!(done + again <= tasks, "{round}: {done} were done, {again} of {tasks} ran after");
    }
    println!("{stopped} stopped, {before} before the start, {whole} behind the end");
}

/// While a tool runs, which cannot end by itself, every signal stops what takes long.
#[test]
fn every_signal_stops_every_command_that_runs_tools() {
    for (signal, expected) in SIGNALS {
        for args in [
            &["run", "compiled.yaml", "--report", "report.json"][..],
            &["check", "--profile", "mine", "tests/t1.litmus"],
            &["compile", "--profile", "mine", "tests/t1.litmus"],
            &["diff", "--profile", "mine", "--profile", "mine", "tests/t1.litmus"],
            &["cpu", "--profile", "mine", "tests/t1.litmus"],
            &["run", "compiled.yaml", "--watch", "--report", "report.json"],
        ] {
            let s = Scene::new("case \"$*\" in *-print*) exit 1;; esac\nsleep 600");
            let mut child = s.command(args).spawn().unwrap();
            s.until("the compiler has started", || {
                s.processes().iter().any(|p| p.ends_with("sleep 600 "))
            });
            send(&child, signal);
            assert_eq!(child.wait().unwrap().code(), Some(expected), "{args:?}");
            s.nobody_is_left();
            assert!(s.left().is_empty(), "{args:?}: {:?}", s.left());
            if args.contains(&"--report") {
                let report = std::fs::read_to_string(s.path("report.json")).unwrap();
                let report: serde_json::Value = serde_json::from_str(&report).unwrap();
                assert_eq!(report["stopped"], true, "{report}");
            }
        }
    }
}

#[test]
fn a_hang_up_that_is_ignored_stops_nothing() {
    let s = Scene::new("test -f test.c && sleep 1");
    let mut command = s.command(&["run", "compiled.yaml", "-q"]);
    // SAFETY: a child may say what it ignores.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    s.until("the compiler has started", || s.processes().iter().any(|p| p.ends_with("sleep 1 ")));
    send(&child, libc::SIGHUP);
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)));
}
