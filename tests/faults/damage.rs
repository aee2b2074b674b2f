//! Damage to the cache.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::scene::{Random, Scene, rounds};

const KINDS: [&str; 6] = ["truncate", "flip", "zero", "delete", "append", "head"];

/// Damages a file in place.
fn damage(path: &Path, kind: &str, random: &mut Random) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let len = file.metadata().unwrap().len();
    let at = random.below(len);
    match kind {
        "truncate" => file.set_len(at).unwrap(),
        "zero" => {
            let zeros = vec![0; (1 + random.below(4096)).min(len - at) as usize];
            file.write_all_at(&zeros, at).unwrap();
        }
        "append" => {
            let garbage: Vec<u8> =
                (0..1 + random.below(4096)).map(|_| random.below(256) as u8).collect();
            file.write_all_at(&garbage, len).unwrap();
        }
        "delete" => std::fs::remove_file(path).unwrap(),
        // Of one bit, anywhere or in the header.
        _ => {
            let at = if kind == "head" { random.below(len.min(64)) } else { at };
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            byte[0] ^= 1 << random.below(8);
            file.write_all_at(&byte, at).unwrap();
        }
    }
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

#[test]
fn damage_costs_what_was_damaged_and_is_said_once() {
    let s = Scene::new("");
    let mut random = Random::new(3);
    // Two segments: what the one run wrote, and what the other did.
    s.run("compiled.yaml", "whole");
    let (clean, _, tasks) = s.run("simulated.yaml", "whole");
    let (mut said, mut ran) = (0, 0);
    for round in 0..rounds(9) {
        s.copy("whole", "cache");
        let files = s.files("cache");
        let path: PathBuf = files[random.below(files.len() as u64) as usize].clone();
        let kind = KINDS[round as usize % KINDS.len()];
        let len = std::fs::metadata(&path).unwrap().len();
        if len == 0 {
            continue;
        }
        damage(&path, kind, &mut random);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let what = format!("{round}: {kind} {name} of {len} bytes");
        let (report, text, again) = s.run("simulated.yaml", "cache");
        assert_eq!(report, clean, "{what}");
        // An index holds nothing that its segment does not, and a bit is in one record.
        if is(&path, "idx") {
            assert_eq!(again, 0, "{what}: {text}");
        } else if matches!(kind, "flip" | "head" | "append") {
            assert!(again < tasks, "{what}: {again} of {tasks} ran: {text}");
        }
        if again > 0 && kind != "delete" {
            assert!(text.contains("cache: "), "{what}: {again} ran: {text}");
        }
        said += u64::from(text.contains("cache: "));
        ran += again;
        let (report, text, again) = s.run("simulated.yaml", "cache");
        assert_eq!((report.as_str(), again), (clean.as_str(), 0), "{what}: {text}");
        assert!(!text.contains("cache: "), "{what} is said again: {text}");
    }
    println!("{} damages, {said} of them said; {ran} of {tasks} tasks a run ran again", rounds(9));
}

#[test]
fn a_repair_leaves_a_sound_cache_with_all_that_was_sound() {
    let s = Scene::new("");
    let mut random = Random::new(4);
    let (clean, _, tasks) = s.run("simulated.yaml", "whole");
    for round in 0..rounds(6) {
        s.copy("whole", "cache");
        let files = s.files("cache/segments");
        let path = files[random.below(files.len() as u64) as usize].clone();
        let kind = KINDS[round as usize % KINDS.len()];
        damage(&path, kind, &mut random);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let what = format!("{round}: {kind} {name}");
        let (_, found) = s.litmake(&["cache", "verify", "--cache", "cache"]);
        let (_, text) = s.litmake(&["cache", "verify", "--repair", "--cache", "cache"]);
        let (status, after) = s.litmake(&["cache", "verify", "--cache", "cache"]);
        assert_eq!(status, 0, "{what}: {found}{text}{after}");
        let (report, text, again) = s.run("simulated.yaml", "cache");
        assert_eq!(report, clean, "{what}: {text}");
        if kind == "head" || is(&path, "idx") {
            assert_eq!(again, 0, "{what}: {again} of {tasks} ran: {found}{text}");
        }
        assert!(!text.contains("cache: "), "{what}: {text}");
    }
}

#[test]
fn processes_on_one_cache_agree_while_it_is_reduced() {
    let s = Scene::new("");
    let mut random = Random::new(5);
    let (clean, ..) = s.run("compiled.yaml", "clean");
    let count = rounds(3).min(18) / 2 * 2;
    let mut children = Vec::new();
    for i in 0..count.max(4) {
        let report = format!("report-{i}.json");
        let args = ["run", "compiled.yaml", "-q", "--stable", "--report", &report];
        let mut command = s.command(&args);
        let out = std::fs::File::create(s.path(&format!("said-{i}"))).unwrap();
        let child = command.stdout(std::process::Stdio::null()).stderr(out).spawn().unwrap();
        children.push((i, report, child));
    }
    let mut reductions = 0;
    for (i, report, mut child) in children {
        while child.try_wait().unwrap().is_none() {
            let size = random.below(200_000).to_string();
            let (status, text) = s.litmake(&["cache", "gc", "--max-size", &size]);
            assert_eq!(status, 0, "{text}");
            reductions += 1;
        }
        let said = std::fs::read_to_string(s.path(&format!("said-{i}"))).unwrap();
        assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{i}: {said}");
        assert!(!said.contains("broken"), "{i}: {said}");
        assert_eq!(std::fs::read_to_string(s.path(&report)).unwrap(), clean, "{i}: {said}");
    }
    println!("{count} processes, {reductions} reductions meanwhile");
    let (status, text) = s.litmake(&["cache", "verify"]);
    assert_eq!(status, 0, "{text}");
    assert_eq!(s.run("compiled.yaml", "cache").0, clean);
}

/// Two runs at the same time write the same results; `gc` drops them once, and may be killed while it does.
#[test]
fn compacting_that_is_killed_costs_nothing() {
    let s = Scene::new("");
    let mut random = Random::new(6);
    let (clean, ..) = s.run("compiled.yaml", "clean");
    for round in 0..rounds(3) {
        // Each of two caches has all of the results; their segments in one folder are a cache with all of them twice.
        let cache = format!("twice-{round}");
        s.copy("clean", &cache);
        s.run("compiled.yaml", "other");
        for file in s.files("other/segments") {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            std::fs::copy(&file, s.path(&format!("{cache}/segments")).join(name)).unwrap();
        }
        let stats = |cache: &str| -> serde_json::Value {
            let (status, text) = s.litmake(&["cache", "stats", "--json", "--cache", cache]);
            assert_eq!(status, 0, "{text}");
            serde_json::from_str(&text).unwrap()
        };
        let before = stats(&cache);
        assert!(before["duplicates"].as_u64().unwrap() > 10, "{before}");
        let gc = ["cache", "gc", "--max-size", "1G", "--cache", &cache];
        let mut child = s.command(&gc).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(random.below(40_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let (report, _, again) = s.run("compiled.yaml", &cache);
        assert_eq!(
            (report == clean, again),
            (true, 0),
            "{round}: what was there is computed again"
        );
        let (status, text) = s.litmake(&gc);
        assert_eq!(status, 0, "{text}");
        let after = stats(&cache);
        assert!(after["bytes"].as_u64() < before["bytes"].as_u64(), "{before} {after}");
        let few = after["duplicates"].as_u64().unwrap() * 20 <= after["records"].as_u64().unwrap();
        assert!(few, "{after}");
        let (report, _, again) = s.run("compiled.yaml", &cache);
        assert_eq!((report == clean, again), (true, 0), "{round}");
        let (status, text) = s.litmake(&["cache", "verify", "--cache", &cache]);
        assert_eq!(status, 0, "{text}");
    }
}
