//! Guards results against changes of the files that they depend on beside their inputs: the files
//! of compilers, which may be exchanged during a run. A result from such a moment is not kept,
//! because its compiler is unknown.
//!
//! If the files are as they were, the work is done again at once. If they differ, it is left undone,
//! and whoever runs it identifies the compilers again and goes on with the new keys. Work whose files
//! are touched or changed each time fails, and no other work with it.
//!
//! All tools that the work runs are observed, too. What they look at beyond the evidence, because of
//! a test that is unlike the one with which the compiler was identified, becomes evidence: the work
//! is left undone in the same way, and is done again under a key that has these looks in it.
//!
//! This file does not know what a stage does.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Nowhere, Records};
use litmake_engine::graph::{Context, Map, Outcome, Travels};
use litmake_toolchain::ask::Wider;
use litmake_toolchain::cage::Cage;
use litmake_toolchain::evidence::{Evidence, Looks, Moment, Standing};
use litmake_toolchain::process::{Sight, Watch};
use litmake_toolchain::trace::{Trace, Unseen};

/// How often work is done again whose files are touched while it is on.
const AGAIN: usize = 3;

/// In how many rounds of a run looks beyond the evidence are added to it. A tool that still finds
/// others looks at other paths each time.
const ROUNDS: usize = 3;

/// The question by which a tool was identified.
#[derive(Clone, PartialEq)]
pub struct Asked {
    /// Its key.
    pub question: Digest,
    /// The actions of the tool that are known and cannot be observed; `None` if that does not matter.
    pub unseen: Option<BTreeSet<Unseen>>,
}

/// Evidence that must be unchanged after the work is done, and must have all that the work looks at.
#[derive(Clone, Default)]
pub struct Guard {
    looks: Arc<Looks>,
    evidence: Vec<Arc<Evidence>>,
    asked: Vec<Asked>,
}

/// Two guards are equal if their evidence is; what was looked at does not count.
impl PartialEq for Guard {
    fn eq(&self, other: &Guard) -> bool {
        self.evidence == other.evidence
    }
}

impl Guard {
    /// A guard for evidence.
    pub fn new(looks: &Arc<Looks>, evidence: Vec<Arc<Evidence>>, asked: Asked) -> Guard {
        Guard { looks: looks.clone(), evidence, asked: vec![asked] }
    }

    /// Joins two guards. All guards of a run share what they looked at.
    pub fn and(mut self, other: Guard) -> Guard {
        self.looks = other.looks;
        for evidence in other.evidence {
            if !self.evidence.iter().any(|e| Arc::ptr_eq(e, &evidence)) {
                self.evidence.push(evidence);
            }
        }
        self.asked.extend(other.asked);
        self
    }

    /// Wraps work, so that its results are kept only while the guard holds.
    pub fn around<M: Map>(self, work: M) -> Guarded<M> {
        Guarded { work, guard: self }
    }

    /// The present moment, for work that begins.
    pub fn now(&self) -> Moment {
        self.looks.now()
    }

    /// Whether the results of work since a moment count. If not, the path says why.
    pub fn standing(&self, since: Moment, records: &dyn Records) -> Standing<'_> {
        let mut out = Standing::Unchanged;
        for evidence in &self.evidence {
            match self.looks.standing(evidence, since, records) {
                Standing::Unchanged => {}
                Standing::Touched(path) => out = Standing::Touched(path),
                changed @ Standing::Changed(_) => return changed,
            }
        }
        out
    }

    /// Whether work looked at nothing beyond the evidence. If it did, the looks become evidence when
    /// the tools are identified the next time, and the work has to be done again then.
    pub fn covers(&self, sight: Sight, records: &dyn Records) -> bool {
        let Sight { trace: mut beyond, blind } = sight;
        if let Some(what) = blind.map(Unseen::Blind) {
            let knows = |asked: &Asked| asked.unseen.as_ref().is_none_or(|u| u.contains(&what));
            // Another run may be able to follow it, so this is nothing to keep.
            if !self.asked.iter().any(knows) {
                self.looks.note(format!("results of this run may depend on {what}"));
            }
        }
        for evidence in &self.evidence {
            beyond.looked = evidence.beyond(&beyond.looked);
            beyond.asked = evidence.unasked(&beyond.asked);
        }
        // What work changes itself is no evidence for it.
        let is_told = |path: &PathBuf| {
            let unseen = self.asked.iter().filter_map(|asked| asked.unseen.as_ref());
            unseen.flatten().any(|unseen| unseen.keeps(path))
        };
        let has_looked = |path: &Path| self.evidence.iter().any(|evidence| evidence.has(path));
        let state = beyond.take_state(&has_looked);
        beyond.looked.retain(|(path, _)| !is_told(path));
        let has_inputs = |place: &Path| {
            let is_input = |path: &Path| path.starts_with(place) && path.is_file();
            self.evidence.iter().any(|evidence| evidence.has_file_below(place, &state))
                || beyond.looked.iter().any(|(path, _)| is_input(path))
        };
        let new = state.iter().filter(|path| !is_told(path)).cloned().collect();
        let mut kept = Trace::default();
        kept.keeps(&new, &has_inputs);
        beyond.unseen.extend(kept.unseen);
        for asked in &self.asked {
            match &asked.unseen {
                Some(known) => beyond.unseen.retain(|what| !known.contains(what)),
                None => beyond.unseen.clear(),
            }
        }
        // Whichever tool of several it was: all of them are in the key.
        let is_new = !beyond.is_empty() || !state.is_empty();
        let Some(Asked { question, .. }) = self.asked.first().filter(|_| is_new) else {
            return true;
        };
        static KEEPING: Mutex<()> = Mutex::new(());
        let _one = KEEPING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wider = Wider::of(*question, records);
        if wider.is_restless {
            beyond = Trace { unseen: beyond.unseen, ..Trace::default() };
        }
        let is_kept = |path: &PathBuf| wider.trace.looked.iter().any(|(looked, _)| looked == path);
        if beyond.is_empty() && !state.iter().any(is_kept) {
            return true;
        }
        let first = told(&beyond, &state);
        if self.looks.widen(*question, &first) > ROUNDS {
            wider.is_restless = true;
            wider.trace.unseen.insert(Unseen::Restless(first));
        }
        wider.trace.looked.retain(|(path, _)| !state.contains(path));
        wider.trace.extend(beyond);
        wider.keep(*question, records);
        false
    }

    /// The cage in which the tools run; nothing if they run outside. A tool about which something
    /// cannot be seen does. If no cage can be made, the error says why.
    fn cage(&self) -> Result<Option<Arc<Cage>>, Unseen> {
        let is_whole = |asked: &Asked| asked.unseen.as_ref().is_some_and(BTreeSet::is_empty);
        let is_inside = self.evidence.iter().any(|evidence| evidence.is_in_a_cage());
        if !is_inside || !self.asked.iter().all(is_whole) {
            return Ok(None);
        }
        self.looks.cage(&self.evidence).map(Some).map_err(|e| Unseen::Unfit(Some(e.to_string())))
    }

    /// A path at which the files are known to have changed.
    fn moved(&self) -> Option<PathBuf> {
        self.evidence.iter().find_map(|evidence| self.looks.moved_in(evidence))
    }

    /// The outcome of work that has to be done again with other evidence: it fails if nobody identifies
    /// the compilers again.
    fn undone(&self, changed: impl Display) -> Outcome {
        match self.looks.is_last_round() {
            true => changing(changed),
            false => Outcome::stopped(),
        }
    }

    /// The same where the looks of the work were beyond the evidence.
    fn narrow(&self) -> Outcome {
        self.undone(self.looks.widened().unwrap_or_default())
    }
}

/// Work whose results count only while its guard holds.
pub struct Guarded<M> {
    /// The work.
    pub work: M,
    guard: Guard,
}

impl<M: Map> Map for Guarded<M> {
    fn batch(&self) -> usize {
        self.work.batch()
    }

    fn told(&self, items: usize) {
        self.work.told(items);
    }

    fn travels(&self) -> Travels {
        self.work.travels()
    }

    fn normal(&self, inputs: &[Vec<u8>]) -> Option<Digest> {
        self.work.normal(inputs)
    }

    fn asks_forms(&self) -> bool {
        self.work.asks_forms()
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let records = context.records.as_deref().unwrap_or(&Nowhere);
        let all = |outcome| vec![outcome; items.len()];
        let mut restless = None;
        for _ in 0..AGAIN {
            if let Some(path) = self.guard.moved() {
                return all(self.guard.undone(path.display()));
            }
            let since = self.guard.now();
            let cage = match self.guard.cage() {
                Ok(cage) => cage,
                Err(why) => {
                    let unseen = BTreeSet::from([why]);
                    let trace = Trace { unseen, ..Trace::default() };
                    self.guard.covers(Sight { trace, blind: None }, records);
                    return all(self.guard.narrow());
                }
            };
            let watch = Watch::within(cage);
            let out = self.work.run(items, context);
            let sight = watch.take();
            // Results of work that broke or was stopped are not kept anyway.
            if out.iter().all(|outcome| outcome.lasting() == Lasting::Never) {
                return out;
            }
            if !self.guard.covers(sight, records) {
                return all(self.guard.narrow());
            }
            match self.guard.standing(since, records) {
                Standing::Unchanged => return out,
                Standing::Touched(path) => restless = Some(path),
                Standing::Changed(path) => return all(self.guard.undone(path.display())),
            }
        }
        all(restless.map_or_else(Outcome::stopped, |path| changing(path.display())))
    }
}

/// The outcome of work whose compiler is another one each time.
fn changing(path: impl Display) -> Outcome {
    let message = format!(
        "{path} changes again and again while the run is on, and results of a compiler that changes are \
         not kept; if the compiler writes this file or makes hard links to it, let it work in the folder \
         that TMPDIR names"
    );
    Outcome::Failed(Failure::machine(message))
}

/// The first of some looks, in words.
fn told(beyond: &Trace, state: &BTreeSet<PathBuf>) -> String {
    let looked = beyond.looked.first().map(|(path, _)| path);
    let path = looked.or(state.first()).map(|path| path.display().to_string());
    let asked = || beyond.asked.first().map(|property| property.name().to_string());
    let unseen = || beyond.unseen.first().map(Unseen::to_string);
    path.or_else(asked).or_else(unseen).unwrap_or_default()
}
