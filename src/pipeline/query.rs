//! Planning as queries: what is read is an input, and the plan is derived from it, so that a
//! change replans only where a file that the plan read has other content.
//!
//! This file does not know what runs. Compilers and devices never run inside a query.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use salsa::Setter;

use super::load::load;
use super::plan::{Plan, plan};
use litmake_base::diag::Result;
use litmake_profile::files::{Disk, Files};

/// A file that planning looked at; the text, or why there is none.
#[salsa::input]
pub struct File {
    #[returns(ref)]
    pub path: PathBuf,
    #[returns(ref)]
    pub text: std::result::Result<Arc<str>, (io::ErrorKind, String)>,
}

/// A folder that planning listed.
#[salsa::input]
pub struct Folder {
    #[returns(ref)]
    pub path: PathBuf,
    #[returns(ref)]
    pub files: Vec<PathBuf>,
}

/// What is to be planned.
#[salsa::input]
pub struct Request {
    #[returns(ref)]
    pub pipeline: PathBuf,
    #[returns(ref)]
    pub sets: Vec<(String, String)>,
    #[returns(ref)]
    pub targets: Vec<String>,
}

#[salsa::db]
pub trait Db: salsa::Database {
    fn file(&self, path: &Path) -> File;
    fn folder(&self, path: &Path) -> Folder;
}

/// Files through the database, so that what is read is noted.
struct Tracked<'db>(&'db dyn Db);

impl Files for Tracked<'_> {
    fn read(&self, path: &Path) -> io::Result<Arc<str>> {
        match self.0.file(path).text(self.0) {
            Ok(text) => Ok(text.clone()),
            Err((kind, message)) => Err(io::Error::new(*kind, message.clone())),
        }
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        self.0.folder(folder).files(self.0).clone()
    }

    // The environment of a process is fixed when it starts.
    fn env(&self, name: &str) -> Option<String> {
        Disk.env(name)
    }
}

type Planned = Arc<Result<Plan>>;

#[salsa::tracked(returns(clone), no_eq)]
fn planned(db: &dyn Db, request: Request) -> Planned {
    let files = Tracked(db);
    let made = load(&files, request.pipeline(db), request.sets(db))
        .and_then(|pipeline| plan(&files, pipeline, request.targets(db)));
    Arc::new(made)
}

#[salsa::db]
#[derive(Clone)]
struct Database {
    storage: salsa::Storage<Database>,
    files: Arc<Mutex<HashMap<PathBuf, File>>>,
    folders: Arc<Mutex<HashMap<PathBuf, Folder>>>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn file(&self, path: &Path) -> File {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        *files
            .entry(path.to_path_buf())
            .or_insert_with(|| File::new(self, path.to_path_buf(), read(path)))
    }

    fn folder(&self, path: &Path) -> Folder {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        *folders
            .entry(path.to_path_buf())
            .or_insert_with(|| Folder::new(self, path.to_path_buf(), Disk.list(path)))
    }
}

fn read(path: &Path) -> std::result::Result<Arc<str>, (io::ErrorKind, String)> {
    Disk.read(path).map_err(|e| (e.kind(), e.to_string()))
}

/// A pipeline that is planned again and again.
pub struct Workspace {
    db: Database,
    request: Request,
}

impl Workspace {
    pub fn new(pipeline: &Path, sets: &[(String, String)], targets: &[String]) -> Workspace {
        let db = Database {
            storage: salsa::Storage::default(),
            files: Arc::default(),
            folders: Arc::default(),
        };
        let request = Request::new(&db, pipeline.to_path_buf(), sets.to_vec(), targets.to_vec());
        Workspace { db, request }
    }

    /// The plan of what was read last. The same plan comes back while nothing in it changes.
    pub fn plan(&self) -> Arc<Result<Plan>> {
        planned(&self.db, self.request)
    }

    /// The files that the plan was made from, with their texts.
    pub fn files(&self) -> Vec<(PathBuf, Arc<str>)> {
        let files = self.db.files.lock().unwrap_or_else(PoisonError::into_inner);
        let read = files.values().filter_map(|file| {
            let text = file.text(&self.db).as_ref().ok()?;
            Some((file.path(&self.db).clone(), text.clone()))
        });
        let mut out: Vec<(PathBuf, Arc<str>)> = read.collect();
        out.sort();
        out
    }

    /// Reads again what the plan was made from; gives whether any of it is not as it was. Only
    /// other content counts as a change: setting an input to an equal value would.
    pub fn refresh(&mut self) -> bool {
        let mut changed = false;
        let files: Vec<File> = {
            let files = self.db.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.values().copied().collect()
        };
        for file in files {
            let now = read(file.path(&self.db));
            if *file.text(&self.db) != now {
                let _ = file.set_text(&mut self.db).to(now);
                changed = true;
            }
        }
        let folders: Vec<Folder> = {
            let folders = self.db.folders.lock().unwrap_or_else(PoisonError::into_inner);
            folders.values().copied().collect()
        };
        for folder in folders {
            let now = Disk.list(folder.path(&self.db));
            if *folder.files(&self.db) != now {
                let _ = folder.set_files(&mut self.db).to(now);
                changed = true;
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_content_plans_again() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("p.yaml", "include: q.yaml\nstages:\n  - {name: s, simulate: {from: t}}\n");
        write("q.yaml", "stages:\n  - {name: t, generate: {files: a}}\n");
        let mut workspace = Workspace::new(&dir.path().join("p.yaml"), &[], &[]);
        let first = workspace.plan();
        assert_eq!(first.as_ref().as_ref().unwrap().nodes.len(), 2);
        // Nothing, a touch, and a file that the plan does not read.
        write("q.yaml", "stages:\n  - {name: t, generate: {files: a}}\n");
        write("a.litmus", "C a");
        assert!(!workspace.refresh());
        assert!(Arc::ptr_eq(&workspace.plan(), &first), "not planned again");
        write("q.yaml", "stages:\n  - {name: u, generate: {files: a}}\n");
        assert!(workspace.refresh());
        let second = workspace.plan();
        assert!(!Arc::ptr_eq(&second, &first));
        let error = second.as_ref().as_ref().unwrap_err().to_string();
        assert!(error.contains("there is no stage `t`"), "{error}");
        // A file that was missing appears.
        write("p.yaml", "include: [q.yaml, r.yaml]\nstages: []\n");
        workspace.refresh();
        assert!(workspace.plan().is_err());
        write("r.yaml", "stages: []\n");
        workspace.refresh();
        assert!(workspace.plan().is_ok());
    }
}
