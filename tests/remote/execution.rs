//! Remote execution from end to end, on a real server with workers: buildbox-casd, as `scripts/remote`
//! starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use litmake::base::records::Nowhere;
use litmake::toolchain::evidence::{Evidence, Looks};
use litmake::toolchain::trace::Look;

use crate::common::{COMPILER, PIPELINE, Scratch, Server, flip, free_port, system};

/// A server whose workers see the compiler of the scratch folder, and that folder.
fn workers(count: usize) -> Option<(Server, Scratch)> {
    let s = Scratch::new();
    let here = s.dir.path();
    Some((Server::with(count, &[(here, here)])?, s))
}

/// Everything that workers can do is left to them.
fn elsewhere<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["--remote-executor", url, "--jobs", "0"], more].concat()
}

/// The processes that a server has started, by their ids and their first words.
fn below(server: &Server) -> Vec<(i32, String)> {
    let Some(child) = &server.child else { return Vec::new() };
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let root = child.id() as i32;
    let mut out = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else {
            continue;
        };
        let mut up = parent(pid);
        while let Some(above) = up.filter(|p| *p > 1 && *p != root) {
            up = parent(above);
        }
        if up == Some(root) {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            out.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    out
}

#[test]
fn what_workers_do_is_what_would_have_been_done_here() {
    let Some((server, s)) = workers(2) else { return };
    let local = s.local();
    let url = server.url();
    let first = s.run("first", &elsewhere(&url, &[]));
    assert_eq!((first.status, &first.stable), (1, &local.stable), "{}", first.text);
    // Compiling and simulating are done elsewhere, lists and comparisons may be done here.
    let ran = first.count("elsewhere");
    assert!(ran > 2400, "{}", first.text);
    // Equal work of two stages is done once here, and may be done twice elsewhere.
    assert!(first.count("executed") >= local.count("executed"), "{}", first.text);
    assert!(first.text.contains("jobs were done elsewhere"), "{}", first.text);
    // A finding says of an execution that it cannot be.
    let troubles = first.text.replace("that cannot be:", "");
    for said in ["refuses", "broke", "tried once more", "cannot"] {
        assert!(!troubles.contains(said), "{}", first.text);
    }
    // What workers made is in the cache as if it had been computed here and uploaded.
    let second = s.run("second", &["--remote-cache", &url]);
    assert_eq!((second.status, second.count("executed")), (1, 0), "{}", second.text);
    assert!(second.count("fetched") > 2400, "{}", second.text);
    assert_eq!(second.stable, local.stable);
}

#[test]
fn a_worker_that_a_person_starts_says_who_starts_workers() {
    let s = Scratch::new();
    let (status, text) = s.litmake(&["worker"]);
    assert_eq!((status, text.lines().count()), (71, 1), "{text}");
    assert!(text.contains("servers that execute actions start workers"), "{text}");
}

#[test]
fn it_is_told_what_ran_elsewhere() {
    let Some((server, s)) = workers(1) else { return };
    let url = server.url();
    let args = elsewhere(&url, &["--cache", "asked"]);
    let (status, text) = s.litmake(&[&["run", "p.yaml"], &args[..]].concat());
    assert_eq!(status, 1, "{text}");
    let (_, text) = s.litmake(&["explain", "p.yaml", "sb", "--cache", "asked"]);
    assert!(text.contains("(on another machine)"), "{text}");
}

#[test]
fn work_goes_on_here_beside_it() {
    let Some((server, s)) = workers(1) else { return };
    let local = s.local();
    let url = server.url();
    let args = ["--remote-executor", &url, "--jobs", "1"];
    let ran = s.run("both", &args);
    assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
}

#[test]
fn a_worker_that_is_killed_loses_nothing() {
    let Some((server, s)) = workers(2) else { return };
    let local = s.local();
    let url = server.url();
    let mut killed = 0;
    for round in 0..6 {
        let client = format!("client{round}");
        // Nothing of the rounds before is used.
        let args = elsewhere(&url, &["--remote-accept-cached=false"]);
        let mut child = s.begin(&client, &args, 3 + round % 5);
        'look: while child.try_wait().unwrap().is_none() {
            for (pid, line) in below(&server) {
                if line.starts_with("./litmake worker") {
                    let done = Command::new("kill").args(["-9", &pid.to_string()]).status();
                    killed += usize::from(done.unwrap().success());
                    break 'look;
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let ran = s.end(&client, child);
        assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    }
    assert!(killed > 0, "no worker was met");
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let Some((mut server, s)) = workers(2) else { return };
    let local = s.local();
    let url = server.url();
    for round in 0..5 {
        let client = format!("client{round}");
        let args = elsewhere(&url, &["--remote-accept-cached=false"]);
        let child = s.begin(&client, &args, 4 + round * 4);
        server.kill();
        std::thread::sleep(Duration::from_millis(100));
        server.begin();
        let ran = s.end(&client, child);
        assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    }
}

#[test]
fn a_server_that_goes_for_good_is_said_and_work_is_done_here() {
    let Some((mut server, s)) = workers(1) else { return };
    let local = s.local();
    let url = server.url();
    let child = s.begin("client", &elsewhere(&url, &["--remote-retries", "0"]), 4);
    server.kill();
    let ran = s.end("client", child);
    assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    assert!(ran.text.contains("work goes on here"), "{}", ran.text);
}

#[test]
fn a_worker_with_another_compiler_is_refused() {
    let s = Scratch::new();
    let local = s.local();
    // At the place of the compiler, workers have one that is right.
    let other = Scratch::new();
    let right = COMPILER.lines().filter(|line| !line.contains("sed")).collect::<Vec<_>>();
    other.write("cc.sh", &(right.join("\n") + "\n"));
    let Some(server) = Server::with(1, &[(other.dir.path(), s.dir.path())]) else { return };
    let url = server.url();
    let ran = s.run("first", &elsewhere(&url, &[]));
    assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    let said = "refuses a job: `code[mine-O";
    assert!(ran.text.contains(said), "{}", ran.text);
    assert!(ran.text.contains("such work is done here"), "{}", ran.text);
    // What needs no compiler is done there all the same.
    assert!(ran.count("elsewhere") >= 2400, "{}", ran.text);
}

#[test]
fn a_check_of_a_few_tests_is_done_elsewhere_as_well() {
    let Some((server, s)) = workers(1) else { return };
    let url = server.url();
    let check = |more: &[&str]| -> (i32, serde_json::Value, String) {
        let own = ["check", "--profile", "mine-O1", "--investigate", "0", "--json"];
        let args = [&own[..], more, &["tests/sb.litmus"]].concat();
        let out = s.command(&args).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        let json = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
        (out.status.code().unwrap(), json, said)
    };
    let (status, here, _) = check(&["--cache", "here"]);
    assert_eq!(status, 1);
    let more = elsewhere(&url, &["--cache", "there"]);
    let (status, there, said) = check(&more);
    assert_eq!((status, &there), (1, &here), "{said}");
    assert!(said.contains("jobs were done elsewhere"), "{said}");
}

#[test]
fn an_edit_that_is_watched_is_done_elsewhere_with_the_plan_as_it_is_then() {
    let Some((server, s)) = workers(1) else { return };
    let url = server.url();
    let args = Scratch::args("watched", &elsewhere(&url, &["--watch"]));
    let mut command = s.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // What ran elsewhere of what ran at all, in the last report.
    let ran = || -> Option<(u64, u64)> {
        let text = std::fs::read_to_string(s.dir.path().join("watched.json")).ok()?;
        let report: serde_json::Value = serde_json::from_str(&text).ok()?;
        let of = |word: &str| {
            let stages = report["stages"].as_array()?.iter();
            Some(stages.filter_map(|stage| stage[word].as_u64()).sum::<u64>())
        };
        Some((of("elsewhere")?, of("executed")?))
    };
    let mut wait = |what: &str, is_so: &dyn Fn(u64, u64) -> bool| {
        for _ in 0..3000 {
            if ran().is_some_and(|(elsewhere, executed)| is_so(elsewhere, executed)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        panic!("{what}: {:?}", ran());
    };
    wait("the first time", &|elsewhere, _| elsewhere > 2400);
    // Workers plan with the model as it is now: else they would refuse.
    s.write("own.cat", "\"Own\"\nlet fr = rf^-1; co\nacyclic po | rf | co | fr as own\n");
    s.write("p.yaml", &PIPELINE.replace("rc11-lb, sc", "rc11-lb, own.cat"));
    wait("an edit", &|elsewhere, executed| elsewhere > 400 && executed < 2400);
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn a_hunt_elsewhere_finds_what_it_would_have_found_here() {
    let Some((server, s)) = workers(1) else { return };
    let url = server.url();
    let hunt = |state: &str, more: &[&str]| -> serde_json::Value {
        let own =
            ["hunt", "--profile", "mine-O1", "--budget", "10m", "--rounds", "2", "--round", "32"];
        let own = [&own[..], &["--json", "--state", state, "--cache", state], more].concat();
        let out = s.command(&own).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(matches!(out.status.code(), Some(0 | 1)), "{said}");
        assert_eq!(said.contains("jobs were done elsewhere"), !more.is_empty(), "{said}");
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
    };
    let (here, there) = (hunt("here", &[]), hunt("there", &elsewhere(&url, &[])));
    for place in ["/hunt/tests", "/hunt/sequences", "/hunt/cover", "/hunt/tally/compared"] {
        let (here, there) = (here.pointer(place), there.pointer(place));
        assert!(here.is_some_and(|value| !value.is_null()), "{place}");
        assert_eq!(here, there, "{place}");
    }
}

/// What became of the tasks of each stage.
fn counts(report: &serde_json::Value) -> Vec<String> {
    let stages = report["stages"].as_array().unwrap().iter();
    let words = ["label", "tasks", "findings", "failed", "broke"];
    stages.map(|stage| words.map(|word| stage[word].to_string()).join(" ")).collect()
}

#[test]
fn a_client_without_the_compiler_uses_that_of_the_workers() {
    let s = Scratch::new();
    let local = s.local();
    let workers = Scratch::new();
    std::fs::remove_file(s.dir.path().join("cc.sh")).unwrap();
    let Some(server) = Server::with(1, &[(workers.dir.path(), s.dir.path())]) else { return };
    let url = server.url();
    // Workers of this machine are at work beside them, and leave what they cannot do.
    let args = Scratch::args("away", &["--remote-executor", &url]);
    let (status, text) = s.litmake(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(status, 1, "{text}");
    assert!(!text.contains("not installed"), "{text}");
    let report = std::fs::read_to_string(s.dir.path().join("away.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(counts(&report), counts(&local.report), "{text}");
    // It is known which compilers these were.
    let builds = |report: &serde_json::Value| -> Vec<String> {
        let all = report["compilers"].as_array().unwrap().iter();
        all.map(|c| format!("{} {} {}", c["profile"], c["build"], c["version"])).collect()
    };
    assert_eq!(builds(&report), builds(&local.report));
    assert!(!builds(&report).is_empty());
    // Nobody has it: that is said, and nothing is taken for done.
    std::fs::remove_file(workers.dir.path().join("cc.sh")).unwrap();
    let mut args = Scratch::args("nobody", &elsewhere(&url, &[]));
    args.push("--remote-accept-cached=false".into());
    let (status, text) = s.litmake(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("workers lack a compiler, too"), "{text}");
}

#[test]
fn flipped_bits_in_what_a_server_keeps_never_reach_a_report() {
    let Some((mut server, s)) = workers(1) else { return };
    let local = s.local();
    let url = server.url();
    s.run("first", &elsewhere(&url, &[]));
    // The inputs of actions, the program among them, actions, commands, folders, results.
    server.kill();
    let flipped = flip(&server.files("cas/objects"));
    assert!(flipped >= 100, "{flipped}");
    server.begin();
    let second = s.run("second", &elsewhere(&url, &["--remote-accept-cached=false"]));
    assert_eq!((second.status, &second.stable), (1, &local.stable), "{}", second.text);
    let third = s.run("third", &elsewhere(&url, &[]));
    assert_eq!((third.status, &third.stable), (1, &local.stable), "{}", third.text);
}

/// A program that is no litmake, and does what a script says.
fn script(s: &Scratch, name: &str, text: &str) -> String {
    s.write(name, &format!("#!/bin/sh\n{text}\n"));
    let path = s.dir.path().join(name);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.display().to_string()
}

#[test]
fn workers_that_fail_or_lie_are_said_and_the_work_is_done_here() {
    let s = Scratch::new();
    let real = env!("CARGO_BIN_EXE_litmake");
    let (here, folder) = (s.dir.path(), Path::new(real).parent().unwrap());
    let Some(server) = Server::with(1, &[(here, here), (folder, folder)]) else { return };
    let local = s.local();
    let url = server.url();
    for (name, text, said) in [
        ("fails", "echo 'no room here' >&2; exit 3".to_string(), "status 3: no room here"),
        ("nothing", "exit 0".into(), "it has no `told`"),
        ("rubbish", "echo rubbish > told".into(), "`told`: it is too short"),
        ("slow", "exec sleep 1000".into(), "longer than 1 s"),
        // A result that is right, of a program that was not sent.
        ("other", format!("exec {real} \"$@\""), "another program has run than was sent"),
    ] {
        let program = script(&s, name, &text);
        let args = ["--remote-executor", &url, "--jobs", "0", "--remote-worker", &program];
        let limit = ["--remote-execution-timeout", if name == "slow" { "1" } else { "600" }];
        // Each begins with nothing: not with what was uploaded after the one before.
        let nothing = ["--remote-accept-cached=false"];
        let ran = s.run(name, &[&args[..], &limit, &nothing].concat());
        assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{name}: {}", ran.text);
        assert!(ran.text.contains(said), "{name}: {}", ran.text);
        assert!(ran.text.contains("done here"), "{name}: {}", ran.text);
        assert_eq!(ran.count("elsewhere"), 0, "{name}: {}", ran.text);
    }
}

#[test]
fn an_endpoint_that_executes_nothing_is_said_and_work_goes_on_or_not_as_asked() {
    let Some(server) = Server::start() else { return };
    let s = Scratch::new();
    let local = s.local();
    let url = server.url();
    let ran = s.run("first", &elsewhere(&url, &[]));
    assert_eq!((ran.status, &ran.stable), (1, &local.stable), "{}", ran.text);
    assert!(ran.text.contains("it executes no actions for this client"), "{}", ran.text);
    let nobody = format!("grpc://127.0.0.1:{}", free_port());
    for url in [&url, &nobody] {
        let args = elsewhere(url, &["--remote-local-fallback=false"]);
        let (status, text) = s.litmake(&[&["run", "p.yaml"], &args[..]].concat());
        assert_eq!(status, 3, "{text}");
        assert!(text.contains("--remote-local-fallback=false asks for it"), "{text}");
    }
    for (args, words) in [
        (&["--jobs", "0"][..], "--remote-executor"),
        (&["--remote-platform", "os=linux"], "--remote-executor"),
        (&["--remote-executor", &nobody, "--remote-worker", "none"], "is no file"),
        (&["--remote-executor", "http://localhost:1"], "another protocol"),
    ] {
        let (status, text) = s.litmake(&[&["run", "p.yaml"], args].concat());
        assert_eq!(status, 2, "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
    }
}

/// Names the file with what another process saw.
const SEEN: &str = "LITMAKE_TEST_SEEN";

/// A compiler that was asked here is not asked again by each worker, where a worker has the same files: also where
/// `/lib` is a link here, and there a mount.
#[test]
fn what_was_seen_here_holds_in_a_sandbox_with_the_same_files() {
    if !litmake_needs::here("bwrap") {
        return;
    }
    let looks = ["/lib", "/lib64", "/bin", "/usr"].map(|place| (PathBuf::from(place), Look::Link));
    let others = [
        ("/opt", Look::Names),
        ("/lib", Look::Kind),
        ("/bin/sh", Look::Content),
        ("/usr/bin/env", Look::Kind),
        ("/nothing", Look::Link),
    ];
    let others = others.map(|(path, look)| (PathBuf::from(path), look));
    let seen = Evidence::collect(looks.into_iter().chain(others), [], &Looks::default(), &Nowhere);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seen");
    std::fs::write(&file, serde_json::to_string(&seen).unwrap()).unwrap();
    let this = std::env::current_exe().unwrap();
    let holds = |mounts: &[(PathBuf, PathBuf)]| {
        let mut command = Command::new("bwrap");
        command.args(["--dev", "/dev", "--proc", "/proc"]);
        for (here, there) in mounts {
            command.arg("--ro-bind").args([here, there]);
        }
        command.arg("--ro-bind").args([dir.path(), dir.path()]);
        command.arg("--ro-bind").args([&this, &dir.path().with_extension("test")]);
        command.arg(dir.path().with_extension("test")).env(SEEN, &file);
        command.args(["--exact", "--ignored", "execution::what_is_seen_holds"]);
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(said.contains("1 passed") || said.contains("1 failed"), "{ended:?}");
        ended.status.success()
    };
    assert!(holds(&system()));
    // Another folder in the place of one is seen.
    let mut other = system();
    other.iter_mut().filter(|(_, there)| there == Path::new("/opt")).for_each(|(here, _)| {
        *here = dir.path().to_path_buf();
    });
    if Path::new("/opt").is_dir() {
        assert!(!holds(&other));
    }
}

#[test]
#[ignore = "the test above runs it, in a sandbox"]
fn what_is_seen_holds() {
    let text = std::fs::read_to_string(std::env::var_os(SEEN).unwrap()).unwrap();
    let seen: Evidence = serde_json::from_str(&text).unwrap();
    assert!(seen.holds(&Looks::default(), &Nowhere));
}
