//! Models with all that they include, as queries: a model is read again where one of its files changes, and whoever
//! uses another is left alone.
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

use super::items::relative;
use litmake_base::diag::{Diag, Result};
use litmake_base::digest::Digest;
use litmake_base::file::MAX_TEXT;
use litmake_cat::load::{Files, load_with};
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::Arch;
use litmake_pipeline::query::Db;
use litmake_sim::Model;

/// A model that is read when the plan is made, and compiled when the first test needs it.
pub struct Loaded {
    /// As it was asked for.
    pub name: String,
    /// What was read, or why it cannot be.
    pub cat: Result<cat::Model>,
    ready: OnceLock<Result<Model>>,
}

impl Loaded {
    /// What tells it, with all that it includes, from others.
    pub fn fingerprint(&self) -> Digest {
        match &self.cat {
            Ok(model) => Digest(*model.fingerprint().as_bytes()),
            Err(e) => Digest::of(format!("no model: {e}").as_bytes()),
        }
    }

    /// The model, made ready for the simulator.
    pub fn model(&self) -> std::result::Result<&Model, Box<Diag>> {
        let ready = self.ready.get_or_init(|| match &self.cat {
            Ok(cat) => Model::load(cat),
            Err(e) => Err(e.clone()),
        });
        ready.as_ref().map_err(Clone::clone)
    }
}

impl Loaded {
    /// The model, where it is there.
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

/// A model as tests of an architecture are simulated under it.
#[salsa::interned]
pub struct ModelName<'db> {
    #[returns(ref)]
    pub name: String,
    #[returns(copy)]
    pub arch: Arch,
}

#[salsa::tracked(returns(clone))]
fn model<'db>(db: &'db dyn Db, of: ModelName<'db>) -> Arc<Loaded> {
    let options = LoadOptions::new(of.arch(db));
    Arc::new(Loaded {
        name: of.name(db).clone(),
        cat: load_with(of.name(db), &options, &Noted(db)),
        ready: OnceLock::new(),
    })
}

/// The files of models through the database, so that what is read is noted.
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
    /// The model of a name, as tests of a dialect are simulated under it.
    pub fn get(&self, name: &str, arch: Arch) -> Arc<Loaded> {
        model(self.0, ModelName::new(self.0, name.to_string(), arch))
    }

    /// The name of the model that a file in a folder means by a word: a path where there is such a
    /// file.
    pub fn name(&self, dir: &Path, word: &str) -> String {
        let path = relative(dir, word);
        let is_file = || self.0.file(&path, MAX_TEXT).content(self.0).is_ok();
        match word.ends_with(".cat") && is_file() {
            true => path.display().to_string(),
            false => word.to_string(),
        }
    }
}
