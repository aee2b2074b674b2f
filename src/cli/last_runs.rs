//! Keeps what the last two runs of a pipeline read and ran, for `explain` and `--dry-run`. The
//! files lie in the cache. The record of runs that a team keeps is `history`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use litmake::base::digest::Digest;
use litmake::base::records::{Kind, Put, Records};
use litmake::diag::{Diag, Result};
use litmake::engine::graph::Fingerprint;
use litmake::engine::rows::encode_entries;
use litmake::engine::run::Engine;
use litmake::engine::store::Store;
use litmake::file;
use litmake::pipeline::plan::Plan;
use litmake::profile::files::normal;
use litmake::stage::Built;
use litmake::toolchain::fingerprint::seen_by;

pub const LAST: &str = "last";
pub const BEFORE: &str = "before";

#[derive(Serialize, Deserialize)]
pub struct LastRun {
    pub nodes: Vec<NodeRun>,
}

#[derive(Serialize, Deserialize)]
pub struct NodeRun {
    pub label: String,
    pub kind: String,
    pub inputs: Vec<usize>,
    /// The nodes whose results it joins, each with a digest of all of them.
    #[serde(default)]
    pub joined: Vec<(usize, String)>,
    /// The node whose list this one works on.
    pub root: usize,
    /// The parts of its fingerprint.
    pub parts: BTreeMap<String, String>,
    /// The digest of the rows of each shard.
    pub shards: Vec<String>,
    /// The rows that ran, by shard.
    pub executed: Vec<(u32, Vec<u32>)>,
    /// The rows among these that other machines ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<(u32, Vec<u32>)>,
    /// The rows that came from a remote cache, by shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<(u32, Vec<u32>)>,
}

impl NodeRun {
    /// The changed parts of the fingerprint; for a compiler, also the files that changed.
    pub fn changes(&self, now: &Fingerprint, known: &dyn Records) -> Vec<String> {
        let mut out = Vec::new();
        for (name, digest) in &now.parts {
            match self.parts.get(name) {
                Some(old) if *old == digest.hex() => {}
                Some(old) => {
                    out.push(format!(
                        "{name} changed, from {} to {}",
                        &old[..old.len().min(12)],
                        digest.short()
                    ));
                    out.extend(looks(old, *digest, known));
                }
                None => out.push(format!("{name} is new ({})", digest.short())),
            }
        }
        for name in self.parts.keys().filter(|n| !now.parts.contains_key(*n)) {
            out.push(format!("{name} is gone"));
        }
        out
    }

    pub fn fingerprint(&self) -> Fingerprint {
        let parts = self.parts.iter();
        Fingerprint {
            parts: parts.filter_map(|(n, d)| Some((n.clone(), Digest::parse(d)?))).collect(),
        }
    }
}

/// A line for each path that two compilers saw differently, or that only one of them looked at.
/// Empty if the looks of one of them are not recorded.
fn looks(old: &str, new: Digest, known: &dyn Records) -> Vec<String> {
    let of = |digest| seen_by(digest, known);
    let (Some(old), Some(new)) = (Digest::parse(old).and_then(of), of(new)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (path, seen) in &new {
        match old.get(path) {
            Some(before) if before == seen => {}
            Some(_) => out.push(format!("  {} changed", path.display())),
            None => out.push(format!("  {} is looked at now", path.display())),
        }
    }
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        out.push(format!("  {} is looked at no more", path.display()));
    }
    out
}

fn path(store: &Store, plan: &Plan, which: &str) -> PathBuf {
    place(store, Path::new(&*plan.pipeline.source.name), which)
}

/// The file about a pipeline.
fn place(store: &Store, pipeline: &Path, which: &str) -> PathBuf {
    let absolute = std::path::absolute(pipeline).unwrap_or(pipeline.to_path_buf());
    let key = Digest::of(normal(&absolute).as_os_str().as_encoded_bytes());
    store.dir().join("runs").join(format!("{}.{which}.json", key.short()))
}

/// How a pipeline was run, so that it can be planned again.
#[derive(Serialize, Deserialize)]
pub struct Remembered {
    /// The working folder.
    pub folder: PathBuf,
    /// The pipeline, from there.
    pub pipeline: PathBuf,
    pub sets: Vec<(String, String)>,
    pub targets: Vec<String>,
}

const ASKED: &str = "asked";

impl Remembered {
    /// A pipeline in the working folder.
    pub fn here(pipeline: &Path, sets: &[(String, String)], targets: &[String]) -> Result<Self> {
        let folder = std::env::current_dir()
            .map_err(|e| Diag::new(format!("the working folder is not known: {e}")))?;
        let (sets, targets) = (sets.to_vec(), targets.to_vec());
        Ok(Remembered { folder, pipeline: pipeline.to_path_buf(), sets, targets })
    }

    /// Keeps it in a cache. Errors are ignored, since no result depends on it.
    pub fn keep(&self, store: &Store) {
        let _ = std::fs::create_dir_all(store.dir().join("runs"));
        if let (false, Ok(text)) = (store.is_read_only(), serde_json::to_vec(self)) {
            let _ = file::write(&place(store, &self.pipeline, ASKED), &text);
        }
    }

    /// All that are kept in a cache, in the order of their pipelines.
    pub fn all(store: &Store) -> Vec<Remembered> {
        let files = std::fs::read_dir(store.dir().join("runs")).into_iter().flatten().flatten();
        let of = |entry: std::fs::DirEntry| {
            let path = entry.path();
            path.file_name()?.to_str()?.ends_with(&format!(".{ASKED}.json")).then_some(())?;
            let text = file::read_text(&path, file::MAX_TEXT).ok()?;
            serde_json::from_str(&text).ok()
        };
        let mut all: Vec<Remembered> = files.filter_map(of).collect();
        all.sort_by(|a, b| (&a.folder, &a.pipeline).cmp(&(&b.folder, &b.pipeline)));
        all
    }
}

impl LastRun {
    pub fn read(store: &Store, plan: &Plan, which: &str) -> Option<LastRun> {
        let text = file::read_text(&path(store, plan, which), file::MAX_DATA).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Writes what this run read and ran. Errors are ignored, since no result depends on it.
pub fn keep(plan: &Plan, built: &Built, engine: &Engine, store: &Store) {
    if store.is_read_only() {
        return;
    }
    let mut nodes = Vec::new();
    let roots = built.graph.roots();
    for (i, node) in built.graph.nodes.iter().enumerate() {
        let root = roots[i];
        let shards: Vec<Digest> = if root == i {
            let Some(table) = engine.root_table(i) else { return };
            for shard in 0..table.shards() {
                let key = table.digests[shard];
                if !store.has(&[key])[0] {
                    let value = encode_entries(table.rows(shard));
                    store.put(&[Put { kind: Kind::Blob, key, value: &value }]);
                }
            }
            table.digests.clone()
        } else {
            engine.shards_of(i).iter().map(|s| s.unwrap_or_default().digest).collect()
        };
        // Its keys have the item itself, too.
        let seen = engine.sees_beyond_forms(i).then_some(root);
        nodes.push(NodeRun {
            label: node.label.clone(),
            kind: node.kind.clone(),
            inputs: node.inputs.iter().copied().chain(seen).collect(),
            joined: node
                .joined
                .iter()
                .map(|j| (*j, engine.whole_digest(*j).map_or(String::new(), |d| d.hex())))
                .collect(),
            root,
            parts: node.fingerprint.parts.iter().map(|(n, d)| (n.clone(), d.hex())).collect(),
            shards: shards.iter().map(Digest::hex).collect(),
            executed: engine.executed_rows(i),
            elsewhere: engine.elsewhere_rows(i),
            fetched: engine.fetched_rows(i),
        });
    }
    let (last, before) = (path(store, plan, LAST), path(store, plan, BEFORE));
    let Ok(text) = serde_json::to_string(&LastRun { nodes }) else { return };
    let temporary = last.with_extension(format!("{}.tmp", std::process::id()));
    let _ = std::fs::create_dir_all(store.dir().join("runs"));
    #[expect(
        clippy::disallowed_methods,
        reason = "what was last becomes what was before in between"
    )]
    if std::fs::write(&temporary, text).is_ok() {
        let _ = std::fs::rename(&last, &before);
        let _ = std::fs::rename(&temporary, &last);
    }
}
