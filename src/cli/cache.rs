//! `litmake cache`: describes the cache, checks it, and makes it smaller.

use std::process::ExitCode;
use std::time::Duration;

use litmake::engine::store::GcOptions;

use super::audit;
use super::common::{self, CacheArgs, show_size};

/// Describe the cache, check it, or make it smaller.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Count the entries of the cache
    Stats {
        #[command(flatten)]
        cache: CacheArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read every entry and compare it with its checksum; exit status 1 if any is damaged
    Verify {
        #[command(flatten)]
        cache: CacheArgs,
        /// Drop the damaged entries
        #[arg(long)]
        repair: bool,
    },
    /// Make a random part of the results again and compare, to find what no checksum shows: forged
    /// results, and compilers that depend on more than litmake saw. Exit status 1 if any is wrong
    Audit(audit::Args),
    /// Make the cache smaller: drop duplicate records, then what was unused for longest
    Gc {
        #[command(flatten)]
        cache: CacheArgs,
        /// Drop until the cache is at most this large, such as 500M or 10G [default: 10G, if
        /// --keep-days is left out, too]
        #[arg(long, value_parser = common::size, value_name = "SIZE")]
        max_size: Option<u64>,
        /// Drop what was unused for more than DAYS days [default: 60, if --max-size is left out,
        /// too]
        #[arg(long, value_name = "DAYS")]
        keep_days: Option<u32>,
    },
}

pub fn main(args: Args) -> ExitCode {
    match args.command {
        Command::Stats { cache, json } => stats(&cache, json),
        Command::Verify { cache, repair } => verify(&cache, repair),
        Command::Audit(args) => audit::main(&args),
        Command::Gc { cache, max_size, keep_days } => gc(&cache, max_size, keep_days),
    }
}

fn stats(cache: &CacheArgs, json: bool) -> ExitCode {
    let store = match cache.open() {
        Ok(store) => store,
        Err(e) => return common::fail(&e),
    };
    let stats = store.stats();
    if json {
        let kinds: serde_json::Map<String, serde_json::Value> = stats
            .by_kind
            .iter()
            .map(|(k, (n, b))| (k.to_string(), serde_json::json!({"records": n, "bytes": b})))
            .collect();
        println!(
            "{}",
            serde_json::json!({
                "segments": stats.segments,
                "bytes": stats.bytes,
                "records": stats.records,
                "duplicates": stats.duplicates,
                "kinds": kinds,
            })
        );
        return ExitCode::SUCCESS;
    }
    println!(
        "{}: {} in {} segments, {} records",
        store.dir().display(),
        show_size(stats.bytes),
        stats.segments,
        stats.records
    );
    for (kind, (count, bytes)) in &stats.by_kind {
        println!("  {kind:10} {count:>12}  {}", show_size(*bytes));
    }
    if stats.duplicates > 0 {
        println!("  {} records are there more than once", stats.duplicates);
    }
    for notice in store.take_notices() {
        println!("{notice}");
    }
    ExitCode::SUCCESS
}

fn verify(cache: &CacheArgs, repair: bool) -> ExitCode {
    let store = match cache.open() {
        Ok(store) => store,
        Err(e) => return common::fail(&e),
    };
    let report = store.verify();
    let mut broken = store.take_notices();
    broken.extend(report.broken);
    for line in broken.iter().take(50) {
        println!("{line}");
    }
    if broken.len() > 50 {
        println!("... and {} more", broken.len() - 50);
    }
    println!(
        "{} records in {} segments are sound; {} broken",
        report.records,
        report.segments,
        broken.len()
    );
    if broken.is_empty() {
        return ExitCode::SUCCESS;
    }
    if repair {
        match store.repair() {
            Ok(n) => println!("{n} segments were written anew without what is broken"),
            Err(e) => {
                eprintln!("error: the repair failed: {e}");
                return ExitCode::from(3);
            }
        }
    } else {
        println!("what is broken is computed again when it is needed; --repair drops it now");
    }
    ExitCode::from(1)
}

fn gc(cache: &CacheArgs, max_size: Option<u64>, keep_days: Option<u32>) -> ExitCode {
    let store = match cache.open() {
        Ok(store) => store,
        Err(e) => return common::fail(&e),
    };
    let options = match (max_size, keep_days) {
        (None, None) => {
            GcOptions { max_size: Some(10 << 30), keep: Some(Duration::from_secs(60 * 86_400)) }
        }
        _ => GcOptions {
            max_size,
            keep: keep_days.map(|d| Duration::from_secs(u64::from(d) * 86_400)),
        },
    };
    let mut status = ExitCode::SUCCESS;
    match store.compact() {
        Ok(done) if done.segments > 0 => println!(
            "{} records that are elsewhere too dropped from {} segments, {} freed",
            done.records,
            done.segments,
            show_size(done.freed)
        ),
        Ok(_) => {}
        // A segment that could not be rewritten is unchanged, so whole segments can still be
        // dropped.
        Err(e) => {
            eprintln!("error: the cache cannot be compacted: {e}");
            status = ExitCode::from(3);
        }
    }
    let report = store.gc(&options);
    println!(
        "{} segments dropped, {} freed; {} left in {}",
        report.dropped,
        show_size(report.freed),
        show_size(report.bytes),
        report.kept
    );
    for notice in store.take_notices() {
        eprintln!("{notice}");
    }
    status
}
