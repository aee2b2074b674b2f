//! `litmake explain`: says why a test ran in the last run of a pipeline, or why it did not.

use std::process::ExitCode;

use litmake::base::digest::{Digest, Keyer};
use litmake::base::records::Records;
use litmake::diag::{Diag, Result, nearest};
use litmake::engine::rows::{Cell, decode_cells, decode_entries};
use litmake::engine::store::Store;
use litmake::stage::threads::KIND as THREADS;

use super::common::{self, CacheArgs};
use super::last_runs::{BEFORE, LAST, LastRun, NodeRun};
use super::pipelines;
use super::run::PlanArgs;

/// Say why a test ran in the last run of a pipeline, or why it did not.
///
/// It names the input that changed, with the key before and after.
#[derive(clap::Args)]
pub struct Args {
    /// The pipeline, a YAML file
    #[arg(value_name = "PIPELINE")]
    pipeline: std::path::PathBuf,

    /// A test, by its path or the end of its path, or a stage
    #[arg(value_name = "TASK|TEST")]
    what: String,

    #[command(flatten)]
    cache: CacheArgs,
}

/// The largest number of tests that one call explains.
const SHOWN: usize = 10;
/// For a name that fits nothing, a similar one is looked for among this many tests.
const COMPARED: usize = 50_000;

pub fn main(args: Args) -> ExitCode {
    common::done(run(args))
}

/// The state of a test at one node in one run.
struct Seen {
    inputs: Vec<(String, Cell)>,
    key: Digest,
    ran: bool,
    /// Whether another machine ran it.
    elsewhere: bool,
    /// Whether it came from a remote cache.
    fetched: bool,
}

struct Look<'a> {
    store: &'a Store,
    run: &'a LastRun,
}

impl Look<'_> {
    fn digest(text: &str) -> Option<Digest> {
        Digest::parse(text)
    }

    /// The shard and the row of a test.
    fn place(&self, root: usize, item: &str) -> Option<(usize, usize)> {
        for (s, digest) in self.run.nodes[root].shards.iter().enumerate() {
            let bytes = self.store.get_one(&Self::digest(digest)?)?;
            let entries = decode_entries(&bytes)?;
            if let Some(row) = entries.iter().position(|e| &*e.name == item) {
                return Some((s, row));
            }
        }
        None
    }

    fn cell(&self, node: usize, shard: usize, row: usize) -> Option<Cell> {
        let then = &self.run.nodes[node];
        let bytes = self.store.get_one(&Self::digest(then.shards.get(shard)?)?)?;
        if then.root == node {
            let entry = decode_entries(&bytes)?.into_iter().nth(row)?;
            return Some(Cell {
                state: litmake::engine::rows::State::Done,
                content: entry.content,
            });
        }
        decode_cells(&bytes)?.get(row).copied()
    }

    fn seen(&self, label: &str, kind: &str, item: &str) -> Option<Seen> {
        let nodes = &self.run.nodes;
        let at = nodes
            .iter()
            .position(|n| n.label == label && n.kind == kind && n.root != usize::MAX)?;
        let node = &nodes[at];
        let (shard, row) = self.place(node.root, item)?;
        let mut inputs = Vec::new();
        for input in &node.inputs {
            inputs.push((nodes[*input].label.clone(), self.cell(*input, shard, row)?));
        }
        for (joined, digest) in &node.joined {
            let content = Self::digest(digest)?;
            let cell = Cell { state: litmake::engine::rows::State::Done, content };
            inputs.push((nodes[*joined].label.clone(), cell));
        }
        let mut key = Keyer::new("action/1").field("node", &node.fingerprint().digest().0);
        for (_, cell) in &inputs {
            key.add("input", &cell.content.0);
        }
        let is_among = |rows: &[(u32, Vec<u32>)]| {
            rows.iter().any(|(s, rows)| *s as usize == shard && rows.contains(&(row as u32)))
        };
        let (ran, fetched) = (is_among(&node.executed), is_among(&node.fetched));
        let elsewhere = is_among(&node.elsewhere);
        Some(Seen { inputs, key: key.finish(), ran, elsewhere, fetched })
    }

    /// The names in a list for which `fits` holds.
    fn names(&self, root: usize, fits: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut out = Vec::new();
        for digest in &self.run.nodes[root].shards {
            let entries = Self::digest(digest)
                .and_then(|d| self.store.get_one(&d))
                .and_then(|b| decode_entries(&b))
                .unwrap_or_default();
            out.extend(entries.iter().filter(|e| fits(&e.name)).map(|e| e.name.to_string()));
        }
        out
    }

    /// The names of all tests for which `fits` holds.
    fn items(&self, fits: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut out = Vec::new();
        for (i, node) in self.run.nodes.iter().enumerate() {
            if node.root == i {
                out.extend(self.names(i, fits));
            }
        }
        out.sort();
        out.dedup();
        out
    }
}

fn run(args: Args) -> Result<()> {
    let pipeline = pipelines::located(&args.pipeline, &args.cache)?;
    let plan_args = PlanArgs { pipeline, targets: Vec::new(), sets: Vec::new() };
    let plan = plan_args.plan()?;
    let store = args.cache.open()?;
    let last = LastRun::read(&store, &plan, LAST).ok_or_else(|| {
        Diag::new("no run of this pipeline is known to this cache").help("run it first")
    })?;
    let before = LastRun::read(&store, &plan, BEFORE);
    let now = Look { store: &store, run: &last };
    let then = before.as_ref().map(|run| Look { store: &store, run });
    // The name of a stage means all of its instances.
    let instance = format!("{}[", args.what);
    let mut labels: Vec<&str> = last.nodes.iter().map(|n| n.label.as_str()).collect();
    labels.retain(|label| *label == args.what || label.starts_with(&instance));
    labels.dedup();
    if !labels.is_empty() {
        for label in labels {
            stage(&last, before.as_ref(), label, &store);
        }
        return Ok(());
    }
    let short = |name: &str| name.strip_suffix(".litmus").unwrap_or(name).to_string();
    let what = short(&args.what);
    let below = format!("/{what}");
    let items = now.items(&|n| {
        let name = n.strip_suffix(".litmus").unwrap_or(n);
        name == what || name.ends_with(&below)
    });
    if items.is_empty() {
        let diag = Diag::new(format!("the last run had no test and no stage `{}`", args.what));
        let tests = now.items(&|_| true);
        let stages = last.nodes.iter().map(|n| n.label.clone());
        let names: Vec<String> =
            stages.chain(tests.iter().take(COMPARED).map(|t| short(t))).collect();
        return Err(match nearest(&what, names.iter().map(String::as_str)) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help("name a stage, or a test as the run or its file names it"),
        });
    }
    for item in items.iter().take(SHOWN) {
        println!("{item}");
        for (i, node) in last.nodes.iter().enumerate() {
            if node.root == i {
                continue;
            }
            // Nodes that take tests apart and join them are internal.
            if node.kind == THREADS {
                continue;
            }
            let by_thread = last.nodes[node.root].kind == THREADS;
            let names = match by_thread {
                true => now.names(node.root, &|name| {
                    name.strip_prefix(item.as_str()).is_some_and(|rest| rest.starts_with('#'))
                }),
                false => vec![item.clone()],
            };
            if by_thread && names.is_empty() {
                println!("  {} compiled its threads for another test", node.label);
            }
            for name in names {
                let Some(seen) = now.seen(&node.label, &node.kind, &name) else {
                    continue;
                };
                let old = then.as_ref().and_then(|t| t.seen(&node.label, &node.kind, &name));
                let why = changed(node, &seen, old.as_ref(), before.as_ref(), &store);
                let part = name.strip_prefix(item.as_str()).unwrap_or("").trim_start_matches('#');
                let space = if part.is_empty() { "" } else { " " };
                let verdict = verdict(&seen, old.as_ref(), before.is_some());
                let place = if seen.elsewhere { " (on another machine)" } else { "" };
                println!("  {}{space}{part} {verdict}{place}", node.label);
                why.iter().for_each(|w| println!("    {w}"));
                match &old {
                    // A node that joins parts has a key for its own parts, which is not the key of
                    // the whole test.
                    _ if !node.joined.is_empty() => {}
                    Some(old) if old.key != seen.key => {
                        println!("    key {} -> {}", old.key, seen.key);
                    }
                    _ => println!("    key {}", seen.key),
                }
            }
        }
    }
    if items.len() > SHOWN {
        println!("... and {} more tests", items.len() - SHOWN);
    }
    Ok(())
}

/// The inputs of a task that changed since the run before.
fn changed(
    node: &NodeRun,
    seen: &Seen,
    old: Option<&Seen>,
    before: Option<&LastRun>,
    store: &Store,
) -> Vec<String> {
    let same = |n: &&NodeRun| n.label == node.label && n.kind == node.kind;
    let old_node = before.and_then(|b| b.nodes.iter().find(same));
    let mut why = Vec::new();
    if let Some(old_node) = old_node {
        why.extend(old_node.changes(&node.fingerprint(), store));
    }
    if let Some(old) = old {
        for ((label, new), (_, old)) in seen.inputs.iter().zip(&old.inputs) {
            if new.content != old.content {
                why.push(format!(
                    "what `{label}` gave changed, from {} to {}",
                    old.content.short(),
                    new.content.short()
                ));
            }
        }
    }
    why
}

fn verdict(seen: &Seen, old: Option<&Seen>, had_before: bool) -> &'static str {
    if seen.fetched {
        return "did not run: its result came from the remote cache";
    }
    match (seen.ran, old) {
        (true, None) if had_before => "ran: the run before had no such task",
        (true, None) => "ran: it is the first run that is known here",
        (true, Some(old)) if old.key == seen.key => {
            "ran: its key is the same, but its result was not in the cache (it failed, or was dropped)"
        }
        (true, Some(_)) => "ran: what it reads changed",
        (false, Some(old)) if old.key == seen.key => "did not run: nothing that it reads changed",
        (false, _) => "did not run: its result was in the cache already, from an equal task",
    }
}

fn stage(last: &LastRun, before: Option<&LastRun>, label: &str, known: &dyn Records) {
    for node in last.nodes.iter().filter(|n| n.label == label && n.kind != THREADS) {
        let ran: usize = node.executed.iter().map(|(_, r)| r.len()).sum();
        println!("{label} ({}): {ran} tasks ran in the last run", node.kind);
        let elsewhere: usize = node.elsewhere.iter().map(|(_, r)| r.len()).sum();
        if elsewhere > 0 {
            println!("  {elsewhere} of them ran on other machines");
        }
        let fetched: usize = node.fetched.iter().map(|(_, r)| r.len()).sum();
        if fetched > 0 {
            println!("  {fetched} tasks came from the remote cache");
        }
        let same = |n: &&NodeRun| n.label == label && n.kind == node.kind;
        let old = before.and_then(|b| b.nodes.iter().find(same));
        match old {
            Some(old) => {
                let changes = old.changes(&node.fingerprint(), known);
                if changes.is_empty() {
                    println!("  its own options, tools and models are as they were");
                }
                changes.iter().for_each(|c| println!("  {c}"));
                let new = node.shards.iter().filter(|s| !old.shards.contains(s)).count();
                println!("  {new} of {} shards of results are different", node.shards.len());
            }
            None => println!("  no run before it is known"),
        }
    }
}
