//! What another machine needs to make the plan of a run again: the texts of all files that were read
//! for it, and how they were named.
//!
//! A worker puts the files below a folder of its own, under the same names from the same place, so that
//! what is written relative to one another stays so. It does not know what is executed there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use litmake::base::local;
use litmake::diag::{Diag, Result};
use litmake::file;
use litmake::pipeline::plan::Plan;
use litmake::pipeline::query;
use litmake::profile::files::{Disk, Files, normal};
use litmake::stage::workspace::Workspace;
use serde::{Deserialize, Serialize};

use super::run::PlanArgs;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The folder that the run was started in, as all paths here without the first `/`.
    folder: PathBuf,
    /// The pipeline, from that folder.
    pipeline: PathBuf,
    sets: Vec<(String, String)>,
    targets: Vec<String>,
    /// The variables of the environment that the pipeline declares.
    env: BTreeMap<String, Option<String>>,
    no_local: bool,
    files: Vec<(PathBuf, String)>,
}

/// A path without the first `/`.
fn below(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

impl Recipe {
    /// The recipe of a plan that was made.
    pub fn of(args: &PlanArgs, workspace: &Workspace, plan: &Plan) -> Result<Recipe> {
        let folder = std::env::current_dir()
            .map_err(|e| Diag::new(format!("the working folder is not known: {e}")))?;
        let placed = |path: &Path| below(&normal(&folder.join(path)));
        let files: BTreeMap<PathBuf, String> = workspace
            .files()
            .into_iter()
            .map(|(path, text)| (placed(&path), text.to_string()))
            .collect();
        let pipeline = match args.pipeline.is_absolute() {
            // From the folder to the root, and down again.
            true => {
                let up = below(&folder).components().map(|_| "..").collect::<PathBuf>();
                up.join(below(&args.pipeline))
            }
            false => args.pipeline.clone(),
        };
        Ok(Recipe {
            folder: below(&folder),
            pipeline,
            sets: args.sets.clone(),
            targets: args.targets.clone(),
            env: plan.pipeline.env.clone(),
            no_local: local::is_forbidden(),
            files: files.into_iter().collect(),
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "workers are of the feature"))]
    pub fn decode(bytes: &[u8]) -> Option<Recipe> {
        serde_json::from_slice(bytes).ok()
    }

    /// Puts the files below a folder, and goes to where the run was started.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "workers are of the feature"))]
    pub fn workspace(&self, root: &Path) -> Result<Workspace> {
        if self.no_local {
            local::forbid();
        }
        let cannot = |e: io::Error| Diag::new(format!("cannot unpack the pipeline: {e}"));
        let here = root.join(below(&self.folder));
        std::fs::create_dir_all(&here).map_err(cannot)?;
        for (path, text) in &self.files {
            // Whoever wrote the recipe may have written any path.
            let path = root.join(below(path));
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(cannot)?;
            }
            file::write(&path, text.as_bytes())?;
        }
        std::env::set_current_dir(&here).map_err(cannot)?;
        let files = Arc::new(Unpacked(self.env.clone()));
        Ok(query::Workspace::over(files, &self.pipeline, &self.sets, &self.targets).into())
    }
}

/// The disk, with another environment.
struct Unpacked(BTreeMap<String, Option<String>>);

impl Files for Unpacked {
    fn content(&self, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
        Disk.content(path, most)
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        Disk.list(folder)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_a_recipe_leads_out_of_its_folder() {
        for path in ["/etc/passwd", "../../etc/passwd", "a/../../../b", "./c"] {
            let placed = Path::new("root").join(below(Path::new(path)));
            assert!(placed.starts_with("root"), "{path}");
            assert!(!placed.components().any(|c| c == Component::ParentDir), "{path}");
        }
    }
}
