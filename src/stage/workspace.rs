//! A pipeline with its plan and its graph, for every command: a run, a dry run, an explanation and
//! a watch use the same. The plan and the graph are derived from files and from answers of
//! compilers; after a change only the affected part is computed again.
//!
//! This file runs nothing, except for questions to compilers, machines and devices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compilers::{Away, Compilers};
use super::files::Folders;
use super::models::Models;
use super::probes::Question;
use super::run::{cpu, gpu};
use super::{Built, built, compilers, kinds, ld, words};
use litmake_base::diag::Result;
use litmake_base::records::Records;
use litmake_pipeline::made::Made;
use litmake_pipeline::plan::Plan;
use litmake_pipeline::query::{self, Origin};
use litmake_profile::files::Disk;
use litmake_profile::{Profile, Profiles};

/// A pipeline that is planned again after each change.
pub struct Workspace {
    planning: query::Workspace,
    /// The compilers, as looked up last.
    compilers: Arc<Compilers>,
    /// If given, only the compilers of the profiles with these names are looked up.
    only: Option<BTreeSet<String>>,
    /// Compilers that this machine lacks and other machines have.
    away: BTreeMap<String, Away>,
}

/// The plan and the graph of a pipeline. They are the same objects as before while nothing that
/// they depend on changes.
#[derive(Clone)]
pub struct Prepared {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The graph of the plan.
    pub built: Arc<Built>,
}

impl Prepared {
    /// Whether the graph is the same, so that nothing can have to run.
    pub fn is(&self, other: &Prepared) -> bool {
        Arc::ptr_eq(&self.built, &other.built)
    }
}

impl Workspace {
    /// A workspace whose files are on the disk.
    pub fn new(pipeline: &Path, sets: &[(String, String)], targets: &[String]) -> Workspace {
        query::Workspace::new(pipeline, sets, targets).into()
    }

    /// A workspace of a pipeline that a command made.
    pub fn made(pipeline: Made) -> Workspace {
        query::Workspace::over(Arc::new(Disk), Origin::Made(pipeline), &[], &[]).into()
    }

    /// The pipeline that is planned, with the user's variables and targets.
    pub fn asked(&self) -> (&Origin, &[(String, String)], &[String]) {
        let (db, request) = (self.planning.db(), self.planning.request());
        (request.pipeline(db), request.sets(db), request.targets(db))
    }

    /// Keeps only the instances with these labels, and those that they consume, and looks up only
    /// the compilers of the former.
    pub fn keep_labels(&mut self, labels: &BTreeSet<String>) -> Result<()> {
        self.planning.keep_labels(labels.clone());
        let plan = self.plan()?;
        let wanted = plan.nodes.iter().filter(|node| labels.contains(&node.label));
        let profiles = wanted.flat_map(|node| node.profile.iter().chain(&node.mixed));
        self.only = Some(profiles.map(|profile| profile.name.clone()).collect());
        Ok(())
    }

    /// The profiles of a plan whose compilers this machine lacks.
    pub fn missing(&self, plan: &Plan, records: &dyn Records) -> Vec<Arc<Profile>> {
        let all = plan.nodes.iter().flat_map(|node| node.profile.iter().chain(&node.mixed));
        let all: BTreeMap<&str, _> = all.map(|profile| (profile.name.as_str(), profile)).collect();
        let missing = all.into_values().filter(|p| self.compilers.lacks(p, records));
        missing.cloned().collect()
    }

    /// Uses compilers of other machines, by the name of the profile, where this machine lacks them.
    pub fn set_away(&mut self, away: BTreeMap<String, Away>) {
        self.away = away;
    }

    /// The files that were read for the plan and the graph, with their texts.
    pub fn files(&self) -> Vec<(PathBuf, Arc<str>)> {
        self.planning.files()
    }

    /// The compilers that planning looked for, to find out what families stand for, with whether
    /// they are installed.
    pub fn installed(&self) -> BTreeMap<String, bool> {
        self.planning.compilers()
    }

    /// The plan for the last content of the files.
    pub fn plan(&self) -> Result<Arc<Plan>> {
        self.planning.plan()
    }

    /// The profiles that the pipeline can name.
    pub fn profiles(&self) -> Result<Arc<Profiles>> {
        self.planning.profiles()
    }

    /// The models that the pipeline can name.
    pub fn models(&self) -> Models<'_> {
        Models(self.planning.db())
    }

    /// The compilers that were looked up.
    pub fn compilers(&self) -> &Compilers {
        &self.compilers
    }

    /// The plan with its graph. Compilers are identified again; this starts no process while the
    /// files that they read are unchanged.
    pub fn prepare(&mut self, records: &dyn Records) -> Result<Prepared> {
        let plan = self.plan()?;
        let (mut questions, mut profiles) = (Vec::new(), Vec::new());
        for node in &plan.nodes {
            let consumed: Vec<_> = node.inputs.iter().map(|j| &*plan.nodes[*j].instance).collect();
            let asked = kinds::of(&node.kind).build.asks(node, &consumed);
            if !asked.is_empty() {
                profiles.extend(node.profile.iter().chain(&node.mixed).cloned());
            }
            questions.extend(asked);
        }
        let mut found = Compilers::default();
        if let Some(only) = &self.only {
            found.only(only.clone());
        }
        found.goes_on_from(&self.compilers);
        found.away(self.away.clone());
        found.look_up(&profiles, records);
        let db = self.planning.db_mut();
        let mut asked = BTreeSet::new();
        questions.retain(|question| asked.insert(question.key()));
        for question in questions {
            match question {
                Question::Compiler(profile) => compilers::ask(db, &profile, &found, records),
                Question::Linker(arch) => ld::ask(db, arch, &found, records),
                Question::Machine(profile) => cpu::ask(db, profile.as_ref(), &found, records),
                Question::Device(wanted) => gpu::ask(db, wanted.as_deref()),
            }
        }
        self.compilers = Arc::new(found);
        let built = built(self.planning.db(), self.planning.request())?;
        Ok(Prepared { plan, built })
    }

    /// Reads the files and folders at these paths again; says whether any of them changed.
    pub fn changed(&mut self, paths: &BTreeSet<PathBuf>) -> bool {
        let read = self.planning.changed(paths);
        words::changed(self.planning.db_mut(), paths) || read
    }

    /// The folders whose changes can matter.
    pub fn folders(&self, built: &Built) -> Folders {
        let mut out = Folders { own: self.planning.folders(), ..Folders::default() };
        for files in built.files() {
            let folders = files.folders();
            out.whole.extend(folders.whole);
            out.own.extend(folders.own);
        }
        out
    }
}

impl From<query::Workspace> for Workspace {
    fn from(planning: query::Workspace) -> Workspace {
        Workspace { planning, compilers: Arc::default(), only: None, away: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests;
