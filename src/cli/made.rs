//! Pipelines that commands make for themselves.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use litmake::diag::{Diag, Result};
use litmake::pipeline::load::{Disk, Files, load};
use litmake::pipeline::plan::{self, Plan};

/// The name by which errors would call such a pipeline.
const NAME: &str = "made by the command";

/// The file system, with one pipeline beside it.
struct Made {
    path: PathBuf,
    text: Arc<str>,
}

impl Files for Made {
    fn read(&self, path: &Path) -> io::Result<Arc<str>> {
        match path == self.path {
            true => Ok(self.text.clone()),
            false => Disk.read(path),
        }
    }
    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        Disk.list(folder)
    }
    fn env(&self, name: &str) -> Option<String> {
        Disk.env(name)
    }
}

/// The plan of a pipeline that nobody wrote.
pub fn plan(pipeline: &serde_json::Value) -> Result<Plan> {
    let made = Made { path: NAME.into(), text: pipeline.to_string().into() };
    let pipeline = load(&made, &made.path, &[])?;
    plan::plan(&made, pipeline, &[]).map_err(plain_error)
}

/// Errors point into the command's own pipeline, which nobody wrote.
pub fn plain_error(mut e: Box<Diag>) -> Box<Diag> {
    if e.source.as_ref().is_some_and(|s| &*s.name == NAME) {
        e.source = None;
        e.span = None;
    }
    e
}

/// A text as it is: in a pipeline `${` begins a variable.
pub fn plain(text: &str) -> String {
    text.replace("${", "$${")
}
