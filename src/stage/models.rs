//! Reads models with the files that they include, as queries. A model is read again if one of its
//! files changes, and queries that use other models do not run again.
//!
//! This file does not know what models are used for.

#![allow(
    missing_docs,
    unused_lifetimes,
    reason = "salsa makes functions of inputs, and asks for the lifetime of what is interned"
)]

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::items::relative;
use litmake_base::diag::{Diag, Result, Source};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::file::MAX_TEXT;
use litmake_base::watch;
use litmake_cat::conf::{self, Conf};
use litmake_cat::load::{Files, load_with};
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::Arch;
use litmake_litmus::c::macros::Macros;
use litmake_pipeline::query::Db;
use litmake_sim::Model;

/// The longest time to read or to compile a model, unless less is left.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model that is read when the plan is made, and compiled when the first test needs it.
pub struct Loaded {
    /// The name in the pipeline.
    pub name: String,
    /// The model as read, or why it cannot be read.
    pub cat: Result<cat::Model>,
    /// The macro file, if a configuration file names the model and such a file.
    macros: Option<Source>,
    /// How often the body of a loop may run, if a configuration file sets it.
    pub unroll: Option<u32>,
    ready: OnceLock<Result<Model>>,
}

impl Loaded {
    /// A digest of the model with all files that it includes.
    pub fn fingerprint(&self) -> Digest {
        match &self.cat {
            Ok(model) => match &self.macros {
                None => Digest(*model.fingerprint().as_bytes()),
                Some(macros) => Keyer::new("model with macros/1")
                    .field("model", model.fingerprint().as_bytes())
                    .field("macros", macros.text.as_bytes())
                    .finish(),
            },
            Err(e) => Digest::of(format!("no model: {e}").as_bytes()),
        }
    }

    /// The model, compiled for the simulator at first use.
    pub fn model(&self) -> std::result::Result<&Model, Box<Diag>> {
        let _limit = watch::until(Some(Instant::now() + PATIENCE));
        let ready = self.ready.get_or_init(|| match &self.cat {
            Ok(cat) => match &self.macros {
                None => Model::load(cat),
                Some(source) => {
                    Macros::read(source).and_then(|macros| Model::load_with(cat, macros))
                }
            },
            Err(e) => Err(e.clone()),
        });
        ready.as_ref().map_err(Clone::clone)
    }
}

impl Loaded {
    /// The model, or the error that it cannot be read.
    pub fn there(self: Arc<Self>) -> Result<Arc<Loaded>> {
        match &self.cat {
            Ok(_) => Ok(self),
            Err(e) => Err(e.clone()),
        }
    }
}

impl PartialEq for Loaded {
    fn eq(&self, other: &Loaded) -> bool {
        self.name == other.name && self.fingerprint() == other.fingerprint()
    }
}

/// A model by its name, for tests of a dialect.
#[salsa::interned]
pub struct ModelName<'db> {
    #[returns(ref)]
    pub name: String,
    #[returns(copy)]
    pub arch: Arch,
}

#[salsa::tracked(returns(clone))]
fn model<'db>(db: &'db dyn Db, of: ModelName<'db>) -> Arc<Loaded> {
    let (name, arch, files) = (of.name(db), of.arch(db), Noted(db));
    let _limit = watch::until(Some(Instant::now() + PATIENCE));
    let mut loaded = Loaded {
        name: name.clone(),
        cat: Err(Diag::new("this model was not read")),
        macros: None,
        unroll: None,
        ready: OnceLock::new(),
    };
    loaded.cat = match conf::is(name) {
        false => load_with(name, &LoadOptions::new(arch), &files),
        true => Conf::of_file(name, &files).and_then(|conf| {
            loaded.macros = conf.macros(&files)?;
            loaded.unroll = conf.unroll;
            let model = conf.model.as_deref().unwrap_or_default();
            load_with(model, &conf.options(arch), &files)
        }),
    };
    // Judged by it, every compiler would be right.
    if loaded.cat.as_ref().is_ok_and(|model| !model.requires()) {
        let message =
            format!("the model `{name}` has no requirement, so that it allows everything");
        loaded.cat = Err(Diag::new(message).help("write such as `acyclic po | rf | co | fr`"));
    }
    Arc::new(loaded)
}

/// Reads the files of models through the database, so that queries depend on them.
struct Noted<'db>(&'db dyn Db);

impl Files for Noted<'_> {
    fn read(&self, path: &Path) -> io::Result<Option<String>> {
        match self.0.file(path, MAX_TEXT).content(self.0) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
            Err((io::ErrorKind::NotFound | io::ErrorKind::IsADirectory, _)) => Ok(None),
            Err((kind, message)) => Err(io::Error::new(*kind, message.clone())),
        }
    }
}

/// The models that a pipeline can name.
#[derive(Clone, Copy)]
pub struct Models<'db>(pub &'db dyn Db);

impl Models<'_> {
    /// The model of a name, for tests of a dialect.
    pub fn get(&self, name: &str, arch: Arch) -> Arc<Loaded> {
        model(self.0, ModelName::new(self.0, name.to_string(), arch))
    }

    /// The name of the model that a word means in a file of this folder: a path if there is such a
    /// file.
    pub fn name(&self, dir: &Path, word: &str) -> String {
        let path = relative(dir, word);
        let is_file = || self.0.file(&path, MAX_TEXT).content(self.0).is_ok();
        match (word.ends_with(".cat") || conf::is(word)) && is_file() {
            true => path.display().to_string(),
            false => word.to_string(),
        }
    }
}
