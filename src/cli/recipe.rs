//! Packs everything that another machine needs to make the plan of a run again: the texts of all
//! files that were read for it, with their names.
//!
//! A worker reads the files from memory, under the same names and from the same folder, so that
//! relative paths still work. This file does not know what is executed there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use litmake::base::local;
use litmake::diag::{Diag, Result};
use litmake::pipeline::plan::Plan;
use litmake::pipeline::query::{self, Origin};
use litmake::profile::files::{Files, normal};
use litmake::stage::workspace::Workspace;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The folder that the run was started in. All paths here lack the first `/`.
    folder: PathBuf,
    /// The pipeline; its path starts from that folder.
    pipeline: Origin,
    sets: Vec<(String, String)>,
    targets: Vec<String>,
    /// The environment variables that the pipeline declares.
    env: BTreeMap<String, Option<String>>,
    /// The compilers that planning looked for, with whether they are installed there.
    compilers: BTreeMap<String, bool>,
    no_local: bool,
    files: Vec<(PathBuf, String)>,
}

/// A path without the first `/`.
fn below(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

impl Recipe {
    /// The recipe of a finished plan.
    pub fn of(workspace: &Workspace, plan: &Plan) -> Result<Recipe> {
        let folder = std::env::current_dir()
            .map_err(|e| Diag::new(format!("the working folder is not known: {e}")))?;
        let placed = |path: &Path| below(&normal(&folder.join(path)));
        let files: BTreeMap<PathBuf, String> = workspace
            .files()
            .into_iter()
            .map(|(path, text)| (placed(&path), text.to_string()))
            .collect();
        let (pipeline, sets, targets) = workspace.asked();
        let pipeline = match pipeline {
            // From the folder up to the root, and down again.
            Origin::File(path) if path.is_absolute() => {
                let up = below(&folder).components().map(|_| "..").collect::<PathBuf>();
                Origin::File(up.join(below(path)))
            }
            other => other.clone(),
        };
        Ok(Recipe {
            folder: below(&folder),
            pipeline,
            sets: sets.to_vec(),
            targets: targets.to_vec(),
            env: plan.pipeline.env.clone(),
            compilers: workspace.installed(),
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

    /// The pipeline as the other machine plans it.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "workers are of the feature"))]
    pub fn workspace(self) -> Workspace {
        if self.no_local {
            local::forbid();
        }
        let root = Path::new("/");
        let files = self.files.into_iter();
        let unpacked = Unpacked {
            folder: root.join(self.folder),
            files: files
                .map(|(path, text)| (root.join(path), Arc::from(text.as_bytes())))
                .collect(),
            env: self.env,
            compilers: self.compilers,
        };
        let files = Arc::new(unpacked);
        query::Workspace::over(files, self.pipeline, &self.sets, &self.targets).into()
    }
}

/// The files of a recipe, and the environment that it brings.
struct Unpacked {
    /// The folder that relative paths start from.
    folder: PathBuf,
    files: BTreeMap<PathBuf, Arc<[u8]>>,
    env: BTreeMap<String, Option<String>>,
    compilers: BTreeMap<String, bool>,
}

impl Unpacked {
    fn placed(&self, path: &Path) -> PathBuf {
        normal(&self.folder.join(path))
    }
}

impl Files for Unpacked {
    fn content(&self, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
        let content = self.files.get(&self.placed(path)).ok_or(io::ErrorKind::NotFound)?;
        match content.len() as u64 <= most {
            true => Ok(content.clone()),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let placed = self.placed(folder);
        let inside = self.files.keys().filter(|path| path.parent() == Some(&placed));
        inside.filter_map(|path| Some(folder.join(path.file_name()?))).collect()
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned().flatten()
    }

    fn installed(&self, compiler: &str) -> bool {
        self.compilers.get(compiler).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use litmake::pipeline::kinds::{Compile, Generate};
    use litmake::pipeline::made::Made;

    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            folder: "work".into(),
            pipeline: Origin::File("night/p.yaml".into()),
            sets: vec![("n".into(), "3".into())],
            targets: Vec::new(),
            env: BTreeMap::from([("CC".into(), Some("cc".into())), ("CXX".into(), None)]),
            compilers: BTreeMap::from([("gcc-12".into(), true)]),
            no_local: false,
            files: vec![
                ("profiles/gcc.yaml".into(), "name: gcc".into()),
                ("work/night/p.yaml".into(), "stages: []".into()),
            ],
        }
    }

    #[test]
    fn files_of_a_recipe_are_found_by_the_names_that_led_to_them() {
        let Recipe { folder, files, env, compilers, .. } = recipe();
        let root = Path::new("/");
        let text = |text: String| Arc::from(text.into_bytes());
        let files = files.into_iter().map(|(path, t)| (root.join(path), text(t))).collect();
        let there = Unpacked { folder: root.join(folder), files, env, compilers };
        let read = |path: &str| there.read(Path::new(path)).map(|t| t.to_string()).ok();
        assert_eq!(read("night/p.yaml").as_deref(), Some("stages: []"));
        assert_eq!(read("./night/../../profiles/gcc.yaml").as_deref(), Some("name: gcc"));
        assert_eq!(read("/profiles/gcc.yaml").as_deref(), Some("name: gcc"));
        // A file of the other machine is never read in place of one that was not sent.
        assert_eq!(read("/etc/passwd"), None);
        assert_eq!(there.list(Path::new("../profiles")), [Path::new("../profiles/gcc.yaml")]);
        assert_eq!(there.env("CC").as_deref(), Some("cc"));
        assert_eq!(there.env("PATH"), None);
        // A family means the same profile there, whatever that machine has.
        assert_eq!((there.installed("gcc-12"), there.installed("gcc-13")), (true, false));
    }

    #[test]
    fn a_pipeline_that_a_command_made_travels_whole() {
        let mut made = Made::new("check");
        let file = "a ${not a variable}.litmus";
        let files = [file].into_iter().collect();
        made.add("tests", Generate { files, limit: Some(3.into()), ..Generate::default() });
        made.add_for("code", ("profile", &["p".into(), "q".into()]), |profile| Compile {
            from: "tests".into(),
            profile: profile.into(),
            ..Compile::default()
        });
        let sent = Recipe { pipeline: Origin::Made(made), ..recipe() };
        assert_eq!(Recipe::decode(&sent.encode()), Some(sent));
    }
}
