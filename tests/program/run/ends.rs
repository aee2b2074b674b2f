//! How runs end that are killed, interrupted or disturbed, and runs that share a cache.

use super::*;

/// Tasks that each line of an event file says to have run.
fn reported(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let events = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    events.map(|e| e["executed"].as_u64().unwrap_or(0)).sum()
}

/// `LITMAKE_KILLS` says how often; each time at a random moment of a run on a cache of its own,
/// after which a normal run must come to what a clean one does, and must not do again what was
/// reported done.
#[test]
fn killed_runs_end_well() {
    let rounds: u64 = std::env::var("LITMAKE_KILLS").map_or(4, |n| n.parse().unwrap());
    let s = project(BUGGY);
    for i in 0..30 {
        let text = if i % 2 == 0 { SB } else { MP };
        s.write(&format!("tests/t{i}.litmus"), &text.replace("= 42", &format!("= {}", 100 + i)));
    }
    let start = std::time::Instant::now();
    let (status, whole) = s.run(&["--cache", "timed"]);
    let length = start.elapsed().as_micros() as u64;
    let stages = whole["stages"].as_array().unwrap().iter().skip(1);
    let tasks: u64 = stages.map(|s| s["tasks"].as_u64().unwrap()).sum();
    s.run(&["--stable", "--cache", "clean"]);
    let clean = std::fs::read_to_string(s.path("report.json")).unwrap();
    let mut seed = 20_261_121u64;
    let (mut early, mut reported_done) = (0, 0);
    for round in 0..rounds {
        let cache = format!("killed-{round}");
        // What is killed before it has begun writes none.
        let _ = std::fs::remove_file(s.path("killed.jsonl"));
        let mut child = s
            .command(&["run", "p.yaml", "-q", "--cache", &cache, "--events", "killed.jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((seed >> 33) % (length * 9 / 8)));
        child.kill().unwrap();
        early += u64::from(child.wait().unwrap().code().is_none());
        let done = reported(&s.path("killed.jsonl"));
        reported_done += done;
        assert_eq!(s.run(&["--stable", "--cache", &cache, "--events", "after.jsonl"]).0, status);
        assert_eq!(std::fs::read_to_string(s.path("report.json")).unwrap(), clean, "{round}");
        let again = reported(&s.path("after.jsonl"));
        assert!(done + again <= tasks, "{round}: {done} were done, {again} ran after");
        let (status, text) = s.litmake(&["cache", "verify", "--cache", &cache]);
        assert_eq!(status, 0, "{round}: {text}");
        std::fs::remove_dir_all(s.path(&cache)).unwrap();
    }
    println!("{rounds} kills, {early} of them before the end; {reported_done} tasks reported done");
}

#[test]
fn two_processes_on_one_cache_agree() {
    let s = project(BUGGY);
    let children: Vec<_> = ["a.json", "b.json"]
        .map(|name| {
            s.command(&["run", "p.yaml", "--stable", "--report", name])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
    let text = |n: &str| std::fs::read_to_string(s.path(n)).unwrap();
    assert_eq!(text("a.json"), text("b.json"));
}

#[test]
fn two_processes_do_all_of_the_work() {
    let s = project(SOUND);
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { arch: AArch64, vocabulary: 'Pod** DMB.SYd** DpAddrd* DpDatadW Rfe Fre Coe', size: 7, threads: 4 } }
  - { name: allowed, simulate: { from: tests, model: aarch64 } }
",
    );
    let children: Vec<_> = ["a.json", "b.json"]
        .map(|name| {
            s.command(&["run", "p.yaml", "-q", "--jobs", "1", "--report", name])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let read = |n: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(s.path(n)).unwrap()).unwrap()
    };
    let (a, b) = (read("a.json"), read("b.json"));
    let tasks = a["stages"][1]["tasks"].as_u64().unwrap();
    assert_eq!(a["stages"][1]["tasks"], b["stages"][1]["tasks"]);
    let [a, b] = [a, b].map(|r| r["stages"][1]["executed"].as_u64().unwrap());
    let sum = a + b;
    println!("{a} and {b} of {tasks} tasks");
    // How much is shared depends on when each of them learns of the other.
    assert!(sum >= tasks && sum <= 2 * tasks, "{sum} of {tasks}");
}

#[test]
fn a_cache_that_was_cut_is_said_and_made_whole() {
    let s = project(SOUND);
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { arch: C, vocabulary: 'Pod** Rfe Fre Coe', size: 6, threads: 3 } }
  - { name: allowed, simulate: { from: tests } }
",
    );
    let (_, whole) = s.run(&["--stable"]);
    let folder = s.path("cache/segments");
    let files = |extension: &str| -> Vec<PathBuf> {
        let all = folder.read_dir().unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.extension().is_some_and(|e| e == extension)).collect()
    };
    let segments = files("seg");
    assert_eq!(segments.len(), files("idx").len(), "a run that ended has closed its cache");
    let file = std::fs::File::options().write(true).open(&segments[0]).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let (status, text) = s.litmake(&["run", "p.yaml", "--stable", "--report", "report.json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains(" was cut from "), "{text}");
    let again = std::fs::read_to_string(s.path("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), whole);
}

#[test]
fn an_interrupt_keeps_what_was_done() {
    // It sleeps when it sees a test of ours, of which the small one that it is known by has nothing.
    let s = project("#!/bin/sh\ngrep -q seq_cst test.c 2>/dev/null && sleep 600\nexec cc \"$@\"\n");
    let mut child = s
        .command(&["run", "p.yaml", "--events", "e.jsonl"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cache = s.path("cache/segments");
    while !cache.read_dir().is_ok_and(|mut d| d.next().is_some()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: it is not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (status, text) = s.litmake(&["cache", "verify"]);
    assert_eq!(status, 0, "{text}");
}

/// Files that are opened do not take the places of outputs that are closed.
#[test]
fn closed_outputs_do_no_harm() {
    use std::os::unix::process::CommandExt;
    let s = project(BUGGY);
    let mut command = s.command(&["run", "p.yaml"]);
    // SAFETY: closing is what a child may do.
    unsafe {
        command.pre_exec(|| {
            (0..3).for_each(|fd| {
                libc::close(fd);
            });
            Ok(())
        });
    }
    assert_eq!(command.status().unwrap().code(), Some(1));
    let (status, text) = s.litmake(&["cache", "verify"]);
    assert_eq!(status, 0, "{text}");
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 1, "{text}");
}

/// As with `| head`; and a full disk is an error that says so.
#[test]
fn a_reader_may_leave() {
    let s = project(BUGGY);
    s.write("one.litmus", SB);
    let full = Path::new("/dev/full");
    for (args, wanted) in [
        (&["--help"][..], 0),
        (&["completions", "zsh"], 0),
        (&["schema", "reference"], 0),
        (&["graph", "p.yaml"], 0),
        (&["sim", "one.litmus"], 0),
        (&["run", "p.yaml"], 1),
        (&["run", "p.yaml", "--dry-run"], 0),
        (&["sim", "none.litmus"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status =
            s.command(args).stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(wanted), "{args:?}");
        if wanted == 0 && full.exists() {
            let full = std::fs::File::options().write(true).open(full).unwrap();
            let out = s.command(args).stdout(full).output().unwrap();
            let text = String::from_utf8_lossy(&out.stderr);
            assert!(!text.contains("panicked"), "{args:?}: {text}");
            if args[0] != "--help" {
                assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
                assert!(text.contains("cannot write the results"), "{args:?}: {text}");
            }
        }
    }
}

/// An interrupt ends a command that prints as it goes, with what it printed whole.
#[test]
fn an_interrupt_leaves_whole_results() {
    let s = project(SOUND);
    for i in 0..4000 {
        s.write(&format!("many/t{i}.litmus"), &SB.replacen("SB", &format!("SB{i}"), 1));
    }
    let list: String = (0..4000).map(|i| format!("many/t{i}.litmus\n").repeat(50)).collect();
    s.write("list", &list);
    for jobs in ["-j1", "-j2"] {
        let out = std::fs::File::create(s.path("out")).unwrap();
        let mut child =
            s.command(&["sim", jobs, "@list"]).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        while std::fs::metadata(s.path("out")).unwrap().len() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: it is not waited for yet.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert!(said.contains("stopped"), "{said}");
        let text = std::fs::read_to_string(s.path("out")).unwrap();
        let blocks = text.matches("\nHash=").count();
        assert!(text.ends_with("\n\n") && blocks == text.matches("Test ").count(), "{jobs}");
    }
}

#[test]
fn a_list_of_what_is_known_survives_a_disk_that_is_full() {
    let s = project(BUGGY);
    assert_eq!(s.run(&[]).0, 1);
    let update = "baseline update report.json --baseline known.json";
    assert_eq!(s.litmake(&update.split(' ').collect::<Vec<_>>()).0, 0);
    let before = std::fs::read(s.path("known.json")).unwrap();
    // Files may not grow beyond a block, and who writes more is told so.
    let script =
        format!("trap '' XFSZ; ulimit -f 1; exec {} {update}", env!("CARGO_BIN_EXE_litmake"));
    let out = Command::new("sh").args(["-c", &script]).current_dir(s.dir()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write known.json"), "{said}");
    assert_eq!(std::fs::read(s.path("known.json")).unwrap(), before);
    let left =
        |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let names: Vec<String> = std::fs::read_dir(s.dir()).unwrap().map(left).collect();
    assert!(!names.iter().any(|n| n.ends_with(".tmp")), "{names:?}");
}

#[test]
fn events_that_cannot_be_written_are_no_silent_loss() {
    let s = project(SOUND);
    let (status, said) = s.litmake(&["run", "p.yaml", "--events", "/dev/full"]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("cannot write events to /dev/full"), "{said}");
}
