//! Planning as queries: files are inputs, and each part of the plan is derived from the inputs that
//! it uses. So after a change, only what uses the changed file is planned again.
//!
//! This file does not know what runs. Compilers and devices never run inside a query. Inputs that
//! are no files ([`Db::others`]) belong to the crates above.

#![allow(
    missing_docs,
    unused_lifetimes,
    reason = "salsa makes functions of inputs, and asks for the lifetime of what is interned"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use salsa::plumbing::{AsId, FromId};
use salsa::{Database as _, DatabaseKeyIndex, EventKind, Setter};
use serde::{Deserialize, Serialize};

use super::load::load;
use super::made::Made;
use super::plan::{self, Plan};
use super::slice::{Asked, Instance, Slice, of_stage};
use super::stages::Stages;
use litmake_base::diag::Result;
use litmake_base::digest::Digest;
use litmake_profile::family::{self, Family, Keys, Library};
use litmake_profile::files::{Disk, Files, folder_of, normal};
use litmake_profile::{Profile, Profiles};

/// The content of a file, or why it cannot be read.
pub type Content = std::result::Result<Arc<[u8]>, (io::ErrorKind, String)>;

/// A file that a query read or looked for, whether or not it exists.
#[salsa::input]
pub struct File {
    /// The path, as the query named it.
    #[returns(ref)]
    pub path: PathBuf,
    /// At most so many bytes are read.
    #[returns(copy)]
    pub most: u64,
    /// The content.
    #[returns(ref)]
    pub content: Content,
}

/// A folder that a query listed.
#[salsa::input]
pub struct Folder {
    /// The path, as the query named it.
    #[returns(ref)]
    pub path: PathBuf,
    /// The files in it, sorted.
    #[returns(ref)]
    pub files: Vec<PathBuf>,
}

/// Where a pipeline comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Origin {
    /// From a file.
    File(PathBuf),
    /// From a command.
    Made(Made),
}

/// A request for a plan: a pipeline, with the user's variables and targets.
#[salsa::input]
pub struct Request {
    /// The pipeline.
    #[returns(ref)]
    pub pipeline: Origin,
    /// Values of variables from the command line.
    #[returns(ref)]
    pub sets: Vec<(String, String)>,
    /// The targets; empty for all stages.
    #[returns(ref)]
    pub targets: Vec<String>,
    /// Labels of instances: if given, only these are planned, with what they consume.
    #[returns(ref)]
    pub labels: Option<BTreeSet<String>>,
}

/// A stage of a request, by its name.
#[salsa::interned]
pub struct StageName<'db> {
    /// The request.
    #[returns(copy)]
    pub request: Request,
    /// The stage's name.
    #[returns(ref)]
    pub name: String,
}

/// One instance of a stage.
#[salsa::interned]
pub struct Part<'db> {
    /// The stage.
    #[returns(copy)]
    pub stage: StageName<'db>,
    /// The number of the instance in its stage.
    #[returns(copy)]
    pub nth: usize,
}

/// A profile as a file in some folder names it.
#[salsa::interned]
pub struct ProfileName<'db> {
    /// The request.
    #[returns(copy)]
    pub request: Request,
    /// The folder that the name is relative to.
    #[returns(ref)]
    pub dir: PathBuf,
    /// The name of a profile, or its file.
    #[returns(ref)]
    pub name: String,
}

/// Gives queries their inputs. An input is made when a query asks for it first.
#[salsa::db]
pub trait Db: salsa::Database {
    /// A file, of which at most `most` bytes are read.
    fn file(&self, path: &Path, most: u64) -> File;
    /// The files in a folder.
    fn folder(&self, path: &Path) -> Folder;
    /// The value of an environment variable.
    fn env(&self, name: &str) -> Option<String>;
    /// Whether a compiler of this name is installed.
    fn installed(&self, compiler: &str) -> bool;
    /// Inputs that are no files.
    fn others(&self) -> &Others;
}

/// The inputs of the crates above, by their kind and key.
#[derive(Default)]
pub struct Others(Mutex<BTreeMap<(&'static str, Digest), salsa::Id>>);

impl Others {
    /// The input of a kind with a key, which is made at first use.
    pub fn of<T: AsId + FromId>(
        &self,
        kind: &'static str,
        key: Digest,
        make: impl FnOnce() -> T,
    ) -> T {
        T::from_id(*lock(&self.0).entry((kind, key)).or_insert_with(|| make().as_id()))
    }

    /// All inputs of a kind.
    pub fn all<T: FromId>(&self, kind: &'static str) -> Vec<T> {
        let ids = lock(&self.0);
        ids.iter().filter(|((of, _), _)| *of == kind).map(|(_, id)| T::from_id(*id)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads files through the database, so that queries depend on them.
pub struct Noted<'db>(pub &'db dyn Db);

impl Files for Noted<'_> {
    fn content(&self, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
        match self.0.file(path, most).content(self.0) {
            Ok(content) => Ok(content.clone()),
            Err((kind, message)) => Err(io::Error::new(*kind, message.clone())),
        }
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        self.0.folder(folder).files(self.0).clone()
    }

    fn env(&self, name: &str) -> Option<String> {
        self.0.env(name)
    }

    fn installed(&self, compiler: &str) -> bool {
        self.0.installed(compiler)
    }
}

/// Reads profile files through the database, so that each is read once.
struct Remembered<'db> {
    db: &'db dyn Db,
    files: Noted<'db>,
}

impl<'db> Remembered<'db> {
    fn new(db: &'db dyn Db) -> Remembered<'db> {
        Remembered { db, files: Noted(db) }
    }

    fn file(&self, path: &Path) -> File {
        self.db.file(path, litmake_base::file::MAX_TEXT)
    }
}

impl Library for Remembered<'_> {
    fn files(&self) -> &dyn Files {
        &self.files
    }

    fn own(&self, path: &Path) -> Result<Arc<Keys>> {
        profile_file(self.db, self.file(path))
    }

    fn chain(&self, path: &Path) -> Result<Arc<Keys>> {
        profile_chain(self.db, self.file(path))
    }

    fn family(&self, path: &Path) -> Result<Family> {
        profile_family(self.db, self.file(path))
    }
}

/// The keys of a profile file.
#[salsa::tracked(returns(clone))]
fn profile_file(db: &dyn Db, file: File) -> Result<Arc<Keys>> {
    family::own(&Noted(db), file.path(db)).map(Arc::new)
}

/// The keys of a profile file, completed by those of the profile that it extends.
#[salsa::tracked(returns(clone), cycle_result = in_circle)]
fn profile_chain(db: &dyn Db, file: File) -> Result<Arc<Keys>> {
    family::chain(&Remembered::new(db), file.path(db)).map(Arc::new)
}

fn in_circle(db: &dyn Db, _: salsa::Id, file: File) -> Result<Arc<Keys>> {
    let own = profile_file(db, file)?;
    let place = own.file.extends.as_ref().map(|base| base.span).unwrap_or_default();
    Err(family::circle().or_at(&own.source, place))
}

/// The profiles that a file defines.
#[salsa::tracked(returns(clone))]
fn profile_family(db: &dyn Db, file: File) -> Result<Family> {
    family::expand(&Noted(db), &*profile_chain(db, file)?)
}

/// The stages of the pipeline, with its includes.
#[salsa::tracked(returns(clone))]
fn stages(db: &dyn Db, request: Request) -> Result<Arc<Stages>> {
    let pipeline = match request.pipeline(db) {
        Origin::File(path) => load(&Noted(db), path, request.sets(db))?,
        Origin::Made(made) => made.pipeline(&Noted(db))?,
    };
    Stages::new(Arc::new(pipeline)).map(Arc::new)
}

/// All profiles that the pipeline can name.
#[salsa::tracked(returns(clone))]
fn profiles(db: &dyn Db, request: Request) -> Result<Arc<Profiles>> {
    let stages = stages(db, request)?;
    plan::profiles(&Remembered::new(db), &stages.pipeline).map(Arc::new)
}

/// One profile. A query that uses it does not depend on the other profiles.
#[salsa::tracked(returns(clone))]
fn profile<'db>(db: &'db dyn Db, of: ProfileName<'db>) -> Result<Arc<Profile>> {
    profiles(db, of.request(db))?.find(&Remembered::new(db), of.dir(db), of.name(db))
}

/// The profiles that a word stands for.
#[salsa::tracked(returns(clone))]
fn named<'db>(db: &'db dyn Db, of: ProfileName<'db>) -> Result<Vec<Arc<Profile>>> {
    profiles(db, of.request(db))?.named(&Remembered::new(db), of.dir(db), of.name(db))
}

/// The instances of one stage.
#[salsa::tracked(returns(clone))]
fn slice<'db>(db: &'db dyn Db, of: StageName<'db>) -> Result<Arc<Slice>> {
    let request = of.request(db);
    let stages = stages(db, request)?;
    let Some(at) = stages.names.get(of.name(db)) else { return Ok(Arc::default()) };
    let asked = Asked {
        slice: &|stage| slice(db, StageName::new(db, request, stages.name(stage).to_string())),
        profile: &|dir, name| {
            profile(db, ProfileName::new(db, request, dir.to_path_buf(), name.to_string()))
        },
        named: &|dir, word| {
            named(db, ProfileName::new(db, request, dir.to_path_buf(), word.to_string()))
        },
    };
    of_stage(&stages, *at, &asked).map(Arc::new)
}

/// The whole plan, with stages that no target needs.
#[salsa::tracked(returns(clone))]
fn whole(db: &dyn Db, request: Request) -> Result<Arc<Plan>> {
    let stages = stages(db, request)?;
    // Errors in profiles are reported even if no stage uses a profile.
    profiles(db, request)?;
    let slice = |stage| slice(db, StageName::new(db, request, stages.name(stage).to_string()));
    Plan::new(&stages, &slice).map(Arc::new)
}

/// The part of the plan that the targets need.
#[salsa::tracked(returns(clone))]
pub fn planned(db: &dyn Db, request: Request) -> Result<Arc<Plan>> {
    let whole = whole(db, request)?;
    let (targets, labels) = (request.targets(db), request.labels(db));
    if targets.is_empty() && labels.is_none() {
        return Ok(whole);
    }
    let mut plan = Plan::clone(&whole);
    if !targets.is_empty() {
        plan.keep(targets)?;
    }
    if let Some(labels) = labels {
        plan.keep_labels(labels);
    }
    Ok(Arc::new(plan))
}

/// One instance in the plan. A query that uses it does not depend on the other instances.
#[salsa::tracked(returns(clone))]
pub fn instance<'db>(db: &'db dyn Db, of: Part<'db>) -> Option<Arc<Instance>> {
    let node = node(db, of)?;
    Some(node.0)
}

/// The instances that an instance consumes.
#[salsa::tracked(returns(clone))]
pub fn consumed<'db>(db: &'db dyn Db, of: Part<'db>) -> Vec<Arc<Instance>> {
    node(db, of).map(|node| node.1).unwrap_or_default()
}

fn node<'db>(db: &'db dyn Db, of: Part<'db>) -> Option<(Arc<Instance>, Vec<Arc<Instance>>)> {
    let (stage, nth) = (of.stage(db), of.nth(db));
    let stages = stages(db, stage.request(db)).ok()?;
    let whole = whole(db, stage.request(db)).ok()?;
    let node = whole.node(*stages.names.get(stage.name(db))?, nth)?;
    let inputs = node.inputs.iter().map(|j| whole.nodes[*j].instance.clone()).collect();
    Some((node.instance.clone(), inputs))
}

/// The key of an instance, for queries about it.
pub fn part<'db>(db: &'db dyn Db, request: Request, instance: &Instance) -> Part<'db> {
    Part::new(db, StageName::new(db, request, instance.stage.clone()), instance.nth)
}

type Executed = Arc<Mutex<Vec<DatabaseKeyIndex>>>;

#[salsa::db]
#[derive(Clone)]
struct Database {
    storage: salsa::Storage<Database>,
    source: Arc<dyn Files + Send + Sync>,
    files: Arc<Mutex<HashMap<(PathBuf, u64), File>>>,
    folders: Arc<Mutex<HashMap<PathBuf, Folder>>>,
    compilers: Arc<Mutex<BTreeMap<String, bool>>>,
    others: Arc<Others>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn file(&self, path: &Path, most: u64) -> File {
        let mut files = lock(&self.files);
        *files.entry((path.to_path_buf(), most)).or_insert_with(|| {
            File::new(self, path.to_path_buf(), most, content(&*self.source, path, most))
        })
    }

    fn folder(&self, path: &Path) -> Folder {
        let mut folders = lock(&self.folders);
        *folders
            .entry(path.to_path_buf())
            .or_insert_with(|| Folder::new(self, path.to_path_buf(), self.source.list(path)))
    }

    // The environment of a process does not change.
    fn env(&self, name: &str) -> Option<String> {
        self.source.env(name)
    }

    // Asked once while litmake runs, so that a plan does not change under its run.
    fn installed(&self, compiler: &str) -> bool {
        let mut known = lock(&self.compilers);
        match known.get(compiler) {
            Some(there) => *there,
            None => {
                let there = self.source.installed(compiler);
                known.insert(compiler.to_string(), there);
                there
            }
        }
    }

    fn others(&self) -> &Others {
        &self.others
    }
}

fn content(source: &dyn Files, path: &Path, most: u64) -> Content {
    source.content(path, most).map_err(|e| (e.kind(), e.to_string()))
}

/// A path as change events name it: from the root, without `.` and `..`.
pub fn absolute(path: &Path) -> PathBuf {
    normal(&std::path::absolute(path).unwrap_or(path.into()))
}

/// A pipeline that is planned again after each change of its files.
pub struct Workspace {
    db: Database,
    request: Request,
    executed: Option<Executed>,
}

impl Workspace {
    /// A workspace that reads from the disk.
    pub fn new(pipeline: &Path, sets: &[(String, String)], targets: &[String]) -> Workspace {
        Workspace::over(Arc::new(Disk), Origin::File(pipeline.into()), sets, targets)
    }

    /// A workspace that reads from `source`.
    pub fn over(
        source: Arc<dyn Files + Send + Sync>,
        pipeline: Origin,
        sets: &[(String, String)],
        targets: &[String],
    ) -> Workspace {
        let storage = salsa::Storage::default();
        Workspace::with(storage, None, source, (pipeline, sets, targets))
    }

    /// A workspace that records which queries run, for [`Workspace::executed`].
    pub fn noting(source: Arc<dyn Files + Send + Sync>, pipeline: &Path) -> Workspace {
        let executed = Executed::default();
        let note = executed.clone();
        let storage = salsa::Storage::new(Some(Box::new(move |event| {
            if let EventKind::WillExecute { database_key } = event.kind {
                lock(&note).push(database_key);
            }
        })));
        Workspace::with(storage, Some(executed), source, (Origin::File(pipeline.into()), &[], &[]))
    }

    fn with(
        storage: salsa::Storage<Database>,
        executed: Option<Executed>,
        source: Arc<dyn Files + Send + Sync>,
        (pipeline, sets, targets): (Origin, &[(String, String)], &[String]),
    ) -> Workspace {
        let db = Database {
            storage,
            source,
            files: Arc::default(),
            folders: Arc::default(),
            compilers: Arc::default(),
            others: Arc::default(),
        };
        let request = Request::new(&db, pipeline, sets.to_vec(), targets.to_vec(), None);
        Workspace { db, request, executed }
    }

    /// The database, for queries of the crates above.
    pub fn db(&self) -> &dyn Db {
        &self.db
    }

    /// The database, to set inputs of the crates above. No query may be running.
    pub fn db_mut(&mut self) -> &mut dyn Db {
        &mut self.db
    }

    /// The request that is planned.
    pub fn request(&self) -> Request {
        self.request
    }

    /// Keeps only the instances with these labels, and those that they consume.
    pub fn keep_labels(&mut self, labels: BTreeSet<String>) {
        self.request.set_labels(&mut self.db).to(Some(labels));
    }

    /// The files that were read for the plan and for results derived from it, with their texts.
    pub fn files(&self) -> Vec<(PathBuf, Arc<str>)> {
        let files: Vec<File> = lock(&self.db.files).values().copied().collect();
        let text = |file: &File| {
            let bytes = file.content(&self.db).as_ref().ok()?;
            Some((file.path(&self.db).clone(), std::str::from_utf8(bytes).ok()?.into()))
        };
        let mut out: Vec<(PathBuf, Arc<str>)> = files.iter().filter_map(text).collect();
        out.sort();
        out
    }

    /// The compilers that planning looked for, with whether they are installed.
    pub fn compilers(&self) -> BTreeMap<String, bool> {
        lock(&self.db.compilers).clone()
    }

    /// The plan for the last content of the files. While nothing in it changes, it is the same
    /// object.
    pub fn plan(&self) -> Result<Arc<Plan>> {
        planned(&self.db, self.request)
    }

    /// The profiles that the pipeline can name.
    pub fn profiles(&self) -> Result<Arc<Profiles>> {
        profiles(&self.db, self.request)
    }

    /// Reads the inputs at these paths again; says whether the content of any has changed. Inputs
    /// with equal content are not set, because setting one always counts as a change.
    pub fn changed(&mut self, paths: &BTreeSet<PathBuf>) -> bool {
        let at = |path: &Path| {
            let path = absolute(path);
            // Everything below a folder that appears or disappears changes with it.
            path.ancestors().any(|above| paths.contains(above))
        };
        let listed = |folder: &Path| {
            let folder = absolute(folder);
            paths.iter().any(|path| path.parent() == Some(&folder))
        };
        let files: Vec<File> = lock(&self.db.files).values().copied().collect();
        let folders: Vec<Folder> = lock(&self.db.folders).values().copied().collect();
        let mut changed = false;
        for file in files {
            let (path, most) = (file.path(&self.db), file.most(&self.db));
            if !at(path) {
                continue;
            }
            let now = content(&*self.db.source, path, most);
            if *file.content(&self.db) != now {
                drop(file.set_content(&mut self.db).to(now));
                changed = true;
            }
        }
        for folder in folders {
            let path = folder.path(&self.db);
            if !at(path) && !listed(path) {
                continue;
            }
            let now = self.db.source.list(path);
            if *folder.files(&self.db) != now {
                drop(folder.set_files(&mut self.db).to(now));
                changed = true;
            }
        }
        changed
    }

    /// The folders whose changes can matter: those of all files and folders that were read.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let files = lock(&self.db.files);
        let files = files.keys().map(|(path, _)| folder_of(path));
        let folders = lock(&self.db.folders);
        files.chain(folders.keys().cloned()).map(|path| absolute(&path)).collect()
    }

    /// The queries that ran since the last call, each with its name and its key; only for a
    /// workspace that records them.
    pub fn executed(&self) -> Vec<(String, salsa::Id)> {
        let keys = self.executed.as_ref().map(|keys| std::mem::take(&mut *lock(keys)));
        let name = |key: DatabaseKeyIndex| {
            let query = self.db.ingredient_debug_name(key.ingredient_index()).into_owned();
            (query, key.key_index())
        };
        keys.unwrap_or_default().into_iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests;
