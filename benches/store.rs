//! The store against redb, a well-kept embedded store: batched writes, random reads, reopening,
//! size, and a second process.
//!
//!     cargo bench --bench store -- [RECORDS]

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use litmake::base::digest::Digest;
use litmake::base::records::{Kind, Put, Records};
use litmake::engine::store::{Store, StoreOptions};
use redb::{Database, ReadableDatabase, TableDefinition};

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");
const BATCH: u64 = 1000;

fn key(i: u64) -> Digest {
    Digest::of(&i.to_le_bytes())
}

/// About 200 bytes, as an outcome set has.
fn value(i: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(220);
    for state in 0..6 {
        out.extend_from_slice(format!("0:r0={};1:r1={};x={i};", state & 1, state >> 1).as_bytes());
    }
    out.extend_from_slice(&key(i).0);
    out
}

fn size(dir: &Path) -> u64 {
    let mut total = 0;
    for entry in walkdir::WalkDir::new(dir).into_iter().flatten() {
        total += entry.metadata().map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    }
    total
}

struct Figures {
    name: &'static str,
    insert: Duration,
    get: Duration,
    missing: Duration,
    open: Duration,
    bytes: u64,
    second: String,
}

fn order(n: u64) -> Vec<u64> {
    let mut seed = 1u64;
    (0..200_000.min(n))
        .map(|_| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 20) % n
        })
        .collect()
}

fn segments(dir: &Path, n: u64) -> Figures {
    let open = || Store::open(dir, &StoreOptions::default()).expect("opens");
    let start = Instant::now();
    let store = open();
    write_segments(&store, 0..n);
    drop(store);
    let insert = start.elapsed();
    let start = Instant::now();
    let store = open();
    let opened = start.elapsed();
    let reads = order(n);
    let start = Instant::now();
    for i in &reads {
        assert!(store.get_one(&key(*i)).is_some());
    }
    let get = start.elapsed() / reads.len() as u32;
    let start = Instant::now();
    for i in &reads {
        assert!(store.get_one(&key(n + *i)).is_none());
    }
    let missing = start.elapsed() / reads.len() as u32;
    // This process and another write at once, and this one reads what the other wrote.
    let start = Instant::now();
    let exe = std::env::current_exe().expect("has a path");
    let mut other =
        Command::new(exe).arg("--write").arg(dir).arg((2 * n).to_string()).spawn().expect("starts");
    write_segments(&store, n..n + n / 4);
    other.wait().expect("ends");
    let both = start.elapsed();
    store.refresh(Duration::ZERO);
    assert!(store.get_one(&key(2 * n + 5)).is_some());
    Figures {
        name: "segments",
        insert,
        get,
        missing,
        open: opened,
        bytes: size(dir),
        second: format!("{:.0}/s together", (n / 4 * 2) as f64 / both.as_secs_f64()),
    }
}

fn write_segments(store: &Store, range: std::ops::Range<u64>) {
    let mut from = range.start;
    while from < range.end {
        let to = (from + BATCH).min(range.end);
        let values: Vec<Vec<u8>> = (from..to).map(value).collect();
        let batch: Vec<Put> = (from..to)
            .zip(&values)
            .map(|(i, v)| Put { kind: Kind::Action, key: key(i), value: v })
            .collect();
        store.put(&batch);
        from = to;
    }
}

fn redb(dir: &Path, n: u64) -> Figures {
    let path = dir.join("redb");
    let start = Instant::now();
    let db = Database::create(&path).expect("creates");
    let mut from = 0;
    while from < n {
        let mut tx = db.begin_write().expect("begins");
        tx.set_durability(redb::Durability::None).expect("settable");
        {
            let mut table = tx.open_table(TABLE).expect("opens");
            for i in from..(from + BATCH).min(n) {
                table.insert(key(i).0.as_slice(), value(i).as_slice()).expect("inserts");
            }
        }
        tx.commit().expect("commits");
        from += BATCH;
    }
    let tx = db.begin_write().expect("begins");
    tx.commit().expect("commits");
    drop(db);
    let insert = start.elapsed();
    let start = Instant::now();
    let db = Database::open(&path).expect("opens");
    let opened = start.elapsed();
    let reads = order(n);
    let tx = db.begin_read().expect("begins");
    let table = tx.open_table(TABLE).expect("opens");
    let start = Instant::now();
    for i in &reads {
        let got = table.get(key(*i).0.as_slice()).expect("reads");
        assert!(got.map(|v| v.value().to_vec()).is_some());
    }
    let get = start.elapsed() / reads.len() as u32;
    let start = Instant::now();
    for i in &reads {
        assert!(table.get(key(n + *i).0.as_slice()).expect("reads").is_none());
    }
    let missing = start.elapsed() / reads.len() as u32;
    let second = match Database::open(&path) {
        Ok(_) => "opened twice".to_string(),
        Err(e) => format!("refused: {e}"),
    };
    Figures { name: "redb", insert, get, missing, open: opened, bytes: size(dir), second }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.first().is_some_and(|a| a == "--write") {
        let from: u64 = args[2].parse().expect("a number");
        let store = Store::open(Path::new(&args[1]), &StoreOptions::default()).expect("opens");
        write_segments(&store, from..from + from / 8);
        return;
    }
    let n: u64 = args.first().map_or(200_000, |a| a.parse().expect("a number"));
    println!("{n} records of about 200 bytes, batches of {BATCH}");
    println!("store     inserts/s   get      absent   open      MB    a second process");
    for run in [segments, redb] {
        let dir = tempfile::tempdir().expect("a folder");
        let f = run(dir.path(), n);
        println!(
            "{:8} {:>9.0}   {:>5.1} us {:>5.1} us {:>6.1} ms {:>5}   {}",
            f.name,
            n as f64 / f.insert.as_secs_f64(),
            f.get.as_secs_f64() * 1e6,
            f.missing.as_secs_f64() * 1e6,
            f.open.as_secs_f64() * 1e3,
            f.bytes >> 20,
            f.second
        );
    }
}
