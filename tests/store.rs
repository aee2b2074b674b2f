//! The store under faults: flipped bits, cut files, sudden death, full disks, read-only
//! folders, several processes.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use litmake::base::digest::Digest;
use litmake::base::records::{Kind, Put, Records};
use litmake::engine::store::{GcOptions, Store, StoreOptions};

fn key(i: u64) -> Digest {
    Digest::of(&i.to_le_bytes())
}

/// A value of a length that depends on its number, part of it compressible.
fn value(i: u64) -> Vec<u8> {
    let mut out = format!("value {i} ").repeat(1 + (i % 40) as usize).into_bytes();
    out.extend_from_slice(&key(i).0);
    out
}

fn open(dir: &Path) -> Store {
    Store::open(dir, &StoreOptions::default()).unwrap()
}

fn put_range(store: &Store, range: std::ops::Range<u64>) {
    let values: Vec<Vec<u8>> = range.clone().map(value).collect();
    let batch: Vec<Put> = range
        .zip(&values)
        .map(|(i, v)| Put { kind: Kind::Action, key: key(i), value: v })
        .collect();
    store.put(&batch);
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(dir.join("segments"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    out.sort();
    out
}

/// Small reproducible random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn what_was_put_is_there_now_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put_range(&store, 0..500);
    assert_eq!(store.get(&[key(7)]), [Some(value(7))]);
    assert_eq!(store.has(&[key(499), key(500)]), [true, false]);
    drop(store);
    let store = open(dir.path());
    for i in 0..500 {
        assert_eq!(store.get_one(&key(i)), Some(value(i)), "{i}");
    }
    assert_eq!(store.get_one(&key(500)), None);
    let stats = store.stats();
    assert_eq!((stats.records, stats.segments), (500, 1));
    assert!(store.verify().broken.is_empty());
    assert!(store.take_notices().is_empty());
}

#[test]
fn flipped_bits_in_200_entries_are_said_and_never_believed() {
    let dir = tempfile::tempdir().unwrap();
    let n = 1000u64;
    put_range(&open(dir.path()), 0..n);
    let segment = files(dir.path(), "seg").remove(0);
    let clean = std::fs::read(&segment).unwrap();
    // Every fifth record: find where each begins by its key.
    let mut random = Random(0x5eed);
    let mut broken = clean.clone();
    let mut hit = Vec::new();
    for i in (0..n).step_by(5) {
        let at =
            clean.windows(32).position(|w| w == key(i).0).expect("its key is in the segment") - 16;
        let stored = u32::from_le_bytes(clean[at + 8..at + 12].try_into().unwrap()) as u64;
        let bit = random.below((56 + stored) * 8);
        broken[at + (bit / 8) as usize] ^= 1 << (bit % 8);
        hit.push(i);
    }
    assert_eq!(hit.len(), 200);
    std::fs::write(&segment, &broken).unwrap();
    let store = open(dir.path());
    for i in 0..n {
        let got = store.get_one(&key(i));
        if hit.contains(&i) {
            assert_eq!(got, None, "record {i} is damaged");
        } else {
            assert_eq!(got, Some(value(i)), "record {i} is sound");
        }
    }
    // A flip inside the stored key is a record under another key; all others are named.
    let report = store.verify();
    assert!(!report.broken.is_empty());
    assert_eq!(store.broken(), 200);
    let notices = store.take_notices();
    assert!(notices[0].contains("broken entry"), "{notices:?}");
    assert!(notices.len() <= 11, "only the first are spelt out");
    // Computed again, it is right again, in this process and the next.
    for i in hit {
        put_range(&store, i..i + 1);
    }
    drop(store);
    let store = open(dir.path());
    assert!((0..n).all(|i| store.get_one(&key(i)) == Some(value(i))));
    assert!(store.repair().unwrap() >= 1);
    drop(store);
    let store = open(dir.path());
    assert!(store.verify().broken.is_empty(), "{:?}", store.verify());
    assert!((0..n).all(|i| store.get_one(&key(i)) == Some(value(i))));
}

#[test]
fn cut_segments_and_indexes_lose_only_what_is_cut() {
    let mut random = Random(77);
    for round in 0..30 {
        let dir = tempfile::tempdir().unwrap();
        put_range(&open(dir.path()), 0..300);
        let (extension, index_too) = match round % 3 {
            0 => ("seg", false),
            1 => ("seg", true),
            _ => ("idx", false),
        };
        let path = files(dir.path(), extension).remove(0);
        let len = std::fs::metadata(&path).unwrap().len();
        let cut = random.below(len);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(cut).unwrap();
        if index_too {
            std::fs::remove_file(path.with_extension("idx")).unwrap();
        }
        let store = open(dir.path());
        let mut found = 0;
        for i in 0..300 {
            if let Some(got) = store.get_one(&key(i)) {
                assert_eq!(got, value(i));
                found += 1;
            }
        }
        if extension == "idx" {
            assert_eq!(found, 300, "an index is only a shortcut");
        } else if cut > 2000 {
            assert!(found > 0 && found < 300, "{found} after a cut at {cut} of {len}");
        }
        put_range(&store, 0..300);
        assert!((0..300).all(|i| store.get_one(&key(i)) == Some(value(i))));
    }
}

/// The other side of the tests that need a second process; does nothing in a normal run.
#[test]
fn child_process() {
    let Ok(task) = std::env::var("LITMAKE_TEST_CHILD") else {
        return;
    };
    let dir = PathBuf::from(std::env::var("LITMAKE_TEST_DIR").unwrap());
    let (task, from) = task.split_once(' ').unwrap();
    let from: u64 = from.parse().unwrap();
    match task {
        // Writes for ever, and says after each batch how far it has come.
        "write" => {
            let store = open(&dir);
            let mut out = std::io::stdout();
            for batch in 0.. {
                let start = from + batch * 10;
                put_range(&store, start..start + 10);
                writeln!(out, "done {}", start + 10).unwrap();
                out.flush().unwrap();
            }
        }
        "fill" => {
            let store = open(&dir);
            for start in (from..from + 2000).step_by(50) {
                put_range(&store, start..start + 50);
            }
        }
        // The kernel refuses to let files grow past 64 KiB, as a full disk would.
        "full" => {
            // SAFETY: this process may limit itself, and say what it ignores.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
            }
            let store = open(&dir);
            for start in (0..2000).step_by(50) {
                put_range(&store, start..start + 50);
            }
            for i in 0..2000 {
                assert_eq!(store.get_one(&key(i)), Some(value(i)), "kept in memory");
            }
            let notices = store.take_notices();
            assert_eq!(notices.len(), 1, "{notices:?}");
            assert!(notices[0].contains("in memory only"), "{notices:?}");
        }
        // As the task above, while a cache is compacted.
        "compact-full" => {
            // SAFETY: this process may limit itself, and say what it ignores.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                let limit = libc::rlimit { rlim_cur: 16 << 10, rlim_max: 16 << 10 };
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
            }
            assert!(open(&dir).compact().is_err());
        }
        "compact" => {
            let store = open(&dir);
            println!("ready");
            std::io::stdout().flush().unwrap();
            store.compact().unwrap();
        }
        other => panic!("unknown task {other}"),
    }
}

fn child(task: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture"])
        .env("LITMAKE_TEST_CHILD", task)
        .env("LITMAKE_TEST_DIR", dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    // More rounds where someone asks for them; each kills at another moment.
    let rounds = std::env::var("LITMAKE_KILLS").map_or(12, |n| n.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(std::process::id() as u64 | 1);
    let mut acknowledged: Vec<(u64, u64)> = Vec::new();
    for round in 0..rounds {
        let from = round * 1_000_000;
        let mut child = child(&format!("write {from}"), dir.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last = from;
        let until = random.below(40);
        for _ in 0..until {
            let line = lines.next().unwrap().unwrap();
            if let Some(n) = line.split("done ").nth(1) {
                last = n.trim().parse().unwrap();
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(3000)));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            if let Some(n) = line.split("done ").nth(1)
                && line.ends_with('0')
            {
                last = n.trim().parse().unwrap_or(last);
            }
        }
        acknowledged.push((from, last));
    }
    let store = open(dir.path());
    for (from, to) in acknowledged {
        for i in from..to {
            assert_eq!(store.get_one(&key(i)), Some(value(i)), "{i} of {from}..{to}");
        }
    }
    assert!(store.verify().broken.is_empty());
}

#[test]
fn two_processes_write_and_read_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut a = child("fill 10000", dir.path());
    let mut b = child("fill 20000", dir.path());
    put_range(&store, 0..2000);
    assert!(a.wait().unwrap().success());
    assert!(b.wait().unwrap().success());
    store.refresh(Duration::ZERO);
    for i in (0..2000).chain(10000..12000).chain(20000..22000) {
        assert_eq!(store.get_one(&key(i)), Some(value(i)), "{i}");
    }
}

#[test]
fn records_of_a_living_process_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let writer = open(dir.path());
    put_range(&writer, 0..10);
    let reader = open(dir.path());
    assert_eq!(reader.get_one(&key(3)), Some(value(3)));
    assert!(reader.has_company());
    put_range(&writer, 10..20);
    assert_eq!(reader.get_one(&key(13)), None);
    reader.refresh(Duration::ZERO);
    assert_eq!(reader.get_one(&key(13)), Some(value(13)));
    drop(writer);
    reader.refresh(Duration::ZERO);
    assert_eq!(reader.get_one(&key(13)), Some(value(13)));
    assert!(!reader.has_company());
}

#[test]
fn a_full_disk_is_said_and_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut full = child("full 0", dir.path());
    assert!(full.wait().unwrap().success());
    let store = open(dir.path());
    assert!(store.verify().broken.is_empty());
    let kept = (0..2000).filter(|i| store.get_one(&key(*i)).is_some());
    assert!(kept.count() > 100, "what fitted is still there");
}

#[test]
fn a_store_that_can_not_be_written_still_answers() {
    let dir = tempfile::tempdir().unwrap();
    put_range(&open(dir.path()), 0..100);
    let store = Store::open(dir.path(), &StoreOptions { read_only: true, shared: None }).unwrap();
    put_range(&store, 100..200);
    assert!((0..200).all(|i| store.get_one(&key(i)) == Some(value(i))));
    drop(store);
    assert_eq!(open(dir.path()).has(&[key(99), key(100)]), [true, false]);

    // A file where the folder should be.
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let store = open(&file.join("cache"));
    put_range(&store, 0..10);
    assert_eq!(store.get_one(&key(3)), Some(value(3)));
    assert!(store.take_notices()[0].contains("in memory only"));
}

#[test]
fn the_shared_layer_is_read_through_and_kept() {
    let shared = tempfile::tempdir().unwrap();
    let own = tempfile::tempdir().unwrap();
    put_range(&open(shared.path()), 0..50);
    let before = files(shared.path(), "seg");
    let options = StoreOptions { read_only: false, shared: Some(shared.path().to_path_buf()) };
    let store = Store::open(own.path(), &options).unwrap();
    assert_eq!(store.has(&[key(1), key(60)]), [true, false]);
    assert_eq!(store.get_one(&key(1)), Some(value(1)));
    drop(store);
    assert_eq!(files(shared.path(), "seg"), before);
    let store = open(own.path());
    assert_eq!(store.has(&[key(1), key(2)]), [true, false]);
}

#[test]
fn many_short_runs_leave_few_files() {
    let dir = tempfile::tempdir().unwrap();
    for run in 0..40 {
        put_range(&open(dir.path()), run * 10..run * 10 + 10);
    }
    assert!(files(dir.path(), "seg").len() < 20);
    let store = open(dir.path());
    assert!((0..400).all(|i| store.get_one(&key(i)) == Some(value(i))));
    assert!(store.verify().broken.is_empty());
}

/// Merging keeps the order of age: what a large segment has is not hidden by what was written before it.
#[test]
fn merging_keeps_the_newest_record() {
    let dir = tempfile::tempdir().unwrap();
    let put = |store: &Store, i: u64, value: &[u8]| {
        store.put(&[Put { kind: Kind::Action, key: key(i), value }]);
    };
    let short = |from: u64| {
        for n in from..from + 30 {
            put(&open(dir.path()), n, &value(n));
        }
    };
    put(&open(dir.path()), 1, b"old");
    short(1000);
    {
        let store = open(dir.path());
        put(&store, 1, b"new");
        // Bytes that are all alike would be packed.
        let mut random = Random(7);
        let noise: Vec<u8> = (0..10 << 20).map(|_| random.below(256) as u8).collect();
        put(&store, 2, &noise);
    }
    let large = files(dir.path(), "seg");
    assert!(large.iter().any(|f| f.metadata().unwrap().len() > 8 << 20));
    short(2000);
    assert!(files(dir.path(), "seg").len() < 40);
    let store = open(dir.path());
    assert_eq!(store.get_one(&key(1)).as_deref(), Some(&b"new"[..]));
    assert!(
        (0..30)
            .all(|n| [1000, 2000].iter().all(|k| store.get_one(&key(k + n)) == Some(value(k + n))))
    );
}

#[test]
fn gc_drops_the_least_recently_used_and_nothing_in_use() {
    let dir = tempfile::tempdir().unwrap();
    for run in 0..4 {
        put_range(&open(dir.path()), run * 100..run * 100 + 100);
    }
    let segments = files(dir.path(), "seg");
    let day = Duration::from_secs(86_400);
    for (age, path) in segments.iter().enumerate() {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        let used = std::time::SystemTime::now() - day * (10 - age as u32);
        file.set_modified(used).unwrap();
    }
    let store = open(dir.path());
    // Reading from the oldest keeps it.
    assert!(store.get_one(&key(5)).is_some());
    let report = store.gc(&GcOptions { max_size: None, keep: Some(day * 17 / 2) });
    assert_eq!((report.dropped, report.kept), (1, 3));
    assert_eq!(store.has(&[key(5), key(105), key(205)]), [true, false, true]);
    let report = store.gc(&GcOptions { max_size: Some(0), keep: None });
    assert_eq!(report.dropped, 1, "the others are in use by now");
    drop(store);
    let report = open(dir.path()).gc(&GcOptions { max_size: Some(0), keep: None });
    assert_eq!(report.kept, 0);
    assert!(files(dir.path(), "seg").is_empty() && files(dir.path(), "idx").is_empty());
}

/// Two processes that write the same records at the same time: neither sees what the other one has.
fn written_twice(dir: &Path, records: std::ops::Range<u64>) {
    let (a, b) = (open(dir), open(dir));
    put_range(&a, records.clone());
    put_range(&b, records);
}

#[test]
fn compacting_drops_what_is_there_twice_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    written_twice(dir.path(), 0..1000);
    put_range(&open(dir.path()), 1000..1500);
    let store = open(dir.path());
    let before = store.stats();
    assert_eq!((before.records, before.duplicates), (2500, 1000));
    let done = store.compact().unwrap();
    assert_eq!((done.segments, done.records), (1, 1000));
    // This process and the next see the same.
    for store in [store, open(dir.path())] {
        let after = store.stats();
        assert_eq!((after.records, after.duplicates), (1500, 0));
        assert_eq!(after.bytes, before.bytes - done.freed);
        assert!((0..1500).all(|i| store.get_one(&key(i)) == Some(value(i))));
        assert!(store.verify().broken.is_empty());
        assert_eq!(store.compact().unwrap(), Default::default(), "there is nothing more to do");
    }
}

/// Of two records with one key the newer one counts, before and after.
#[test]
fn compacting_keeps_the_newest_sound_record() {
    let put = |store: &Store, i: u64, value: &[u8]| {
        store.put(&[Put { kind: Kind::Action, key: key(i), value }]);
    };
    for damaged in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        for (n, round) in ["first", "second", "third"].into_iter().enumerate() {
            let store = open(dir.path());
            put(&store, 1, round.as_bytes());
            // The last one has the key twice.
            put(&store, 1, format!("{round} again").as_bytes());
            put(&store, 10 + n as u64, round.as_bytes());
        }
        if damaged {
            // Both records of the newest segment under that key.
            let newest = files(dir.path(), "seg").pop().unwrap();
            let mut bytes = std::fs::read(&newest).unwrap();
            let at = |text: &[u8]| bytes.windows(text.len()).position(|w| w == text).unwrap();
            let again = at(b"third again");
            let first = at(b"third");
            bytes[again] ^= 1;
            bytes[first] ^= 1;
            std::fs::write(&newest, bytes).unwrap();
        }
        let expected: &[u8] = if damaged { b"second again" } else { b"third again" };
        let store = open(dir.path());
        assert_eq!(store.get_one(&key(1)).as_deref(), Some(expected));
        store.compact().unwrap();
        for store in [store, open(dir.path())] {
            assert_eq!(store.get_one(&key(1)).as_deref(), Some(expected));
            for (n, round) in ["first", "second", "third"].into_iter().enumerate() {
                assert_eq!(store.get_one(&key(10 + n as u64)).as_deref(), Some(round.as_bytes()));
            }
        }
        // What a process writes from now on counts before all of that.
        let store = open(dir.path());
        put(&store, 1, b"new");
        drop(store);
        open(dir.path()).compact().unwrap();
        assert_eq!(open(dir.path()).get_one(&key(1)).as_deref(), Some(&b"new"[..]));
    }
}

#[test]
fn compacting_that_is_killed_loses_nothing() {
    let rounds = std::env::var("LITMAKE_KILLS").map_or(12, |n| n.parse().unwrap());
    let mut random = Random(std::process::id() as u64 | 1);
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        for part in 0..4 {
            // Half of a segment is to be kept.
            let (a, b) = (open(dir.path()), open(dir.path()));
            put_range(&a, part * 1000..part * 1000 + 1000);
            put_range(&b, part * 1000..part * 1000 + 500);
        }
        let mut child = child("compact 0", dir.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().ends_with("ready") {}
        std::thread::sleep(Duration::from_micros(random.below(30_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(dir.path());
        assert!((0..4000).all(|i| store.get_one(&key(i)) == Some(value(i))), "{round}");
        assert!(store.verify().broken.is_empty(), "{round}");
        // It is done again from where it was.
        store.compact().unwrap();
        let store = open(dir.path());
        let stats = store.stats();
        assert_eq!((stats.records, stats.duplicates), (4000, 0), "{round}");
        assert!((0..4000).all(|i| store.get_one(&key(i)) == Some(value(i))), "{round}");
    }
}

#[test]
fn compacting_on_a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    {
        let (a, b) = (open(dir.path()), open(dir.path()));
        put_range(&a, 0..1000);
        put_range(&b, 0..500);
    }
    let segments = files(dir.path(), "seg");
    assert!(child("compact-full 0", dir.path()).wait().unwrap().success());
    assert_eq!(files(dir.path(), "seg"), segments);
    let store = open(dir.path());
    assert!((0..1000).all(|i| store.get_one(&key(i)) == Some(value(i))));
}

/// What another process is writing is left alone, and what it has open stays readable.
#[test]
fn compacting_beside_a_process_that_writes_and_reads() {
    let dir = tempfile::tempdir().unwrap();
    written_twice(dir.path(), 0..500);
    let other = open(dir.path());
    put_range(&other, 0..100);
    let done = open(dir.path()).compact().unwrap();
    assert_eq!(done.records, 500);
    assert!((0..500).all(|i| other.get_one(&key(i)) == Some(value(i))));
    put_range(&other, 500..600);
    drop(other);
    let store = open(dir.path());
    assert!((0..600).all(|i| store.get_one(&key(i)) == Some(value(i))));
}

#[test]
fn a_segment_of_another_version_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    put_range(&open(dir.path()), 0..10);
    let path = files(dir.path(), "seg").remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 99;
    let sum = blake3::hash(&bytes[..56]);
    bytes[56..64].copy_from_slice(&sum.as_bytes()[..8]);
    std::fs::write(&path, &bytes).unwrap();
    let store = open(dir.path());
    assert_eq!(store.get_one(&key(1)), None);
    assert!(store.take_notices()[0].contains("format version 99"));
    assert!(path.exists());
}

/// Whoever cuts a file that is open costs its records, and not the process.
#[test]
fn files_that_are_cut_while_they_are_open_cost_their_records() {
    for extension in ["seg", "idx"] {
        for looked_before in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            put_range(&open(dir.path()), 0..3000);
            let store = open(dir.path());
            if looked_before {
                assert_eq!(store.get_one(&key(1)), Some(value(1)));
            }
            let path = files(dir.path(), extension).remove(0);
            std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
            let found = (0..3000).filter(|i| store.get_one(&key(*i)).is_some()).count();
            let said = store.take_notices();
            match (extension, looked_before) {
                ("seg", _) => {
                    assert!(found < 2, "{found} of a file of 100 bytes");
                    assert!(said[0].contains("the file ends before"), "{said:?}");
                }
                // It was read before it was cut.
                (_, true) => assert_eq!((found, said.len()), (3000, 0)),
                (_, false) => {
                    assert_eq!(found, 3000, "an index is only a shortcut");
                    assert_eq!(said.len(), 1, "{said:?}");
                }
            }
            put_range(&store, 0..3000);
            assert!((0..3000).all(|i| store.get_one(&key(i)) == Some(value(i))));
            store.heal().unwrap();
            drop(store);
            let store = open(dir.path());
            assert!(store.take_notices().is_empty(), "it is said once");
            assert!(store.verify().broken.is_empty());
            assert!((0..3000).all(|i| store.get_one(&key(i)) == Some(value(i))));
        }
    }
}

/// Records say of themselves whether they are sound.
#[test]
fn a_damaged_header_costs_nothing_and_is_repaired() {
    for cut in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        put_range(&open(dir.path()), 0..300);
        let path = files(dir.path(), "seg").remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[30] ^= 1;
        if cut {
            bytes.truncate(20);
        }
        std::fs::write(&path, bytes).unwrap();
        let store = open(dir.path());
        let found = (0..300).filter(|i| store.get_one(&key(*i)) == Some(value(*i))).count();
        assert_eq!(found, if cut { 0 } else { 300 });
        assert!(store.take_notices()[0].contains("begin like a segment") == cut);
        assert_eq!(store.repair().unwrap(), 1);
        drop(store);
        let store = open(dir.path());
        assert!(store.take_notices().is_empty());
        assert!(store.verify().broken.is_empty());
        let found = (0..300).filter(|i| store.get_one(&key(*i)) == Some(value(*i))).count();
        assert_eq!(found, if cut { 0 } else { 300 });
        assert_eq!(files(dir.path(), "seg").len(), usize::from(!cut));
    }
}
