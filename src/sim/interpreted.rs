//! Judges executions with the interpreter of cat: for models that cannot be staged, and as the
//! reference for those that can.
//!
//! It knows no plan, and never cuts a partial execution.

use smallvec::SmallVec;

use super::eval::Choices;
use super::search::{Judge, Look};
use super::skeleton::Skeleton;
use litmake_base::rel::{Rel, Set};
use litmake_cat::exec::{Exec, Verdict};
use litmake_cat::plan::{BaseRel, BaseSet};
use litmake_cat::{self as cat, Model};
use litmake_litmus::scopes::Level;

/// The name of `undefined_unless` among the flags.
pub const UNDEFINED: &str = "undef";

/// The base sets that a skeleton gives; those of annotations and final writes follow.
const SETS: [BaseSet; 16] = [
    BaseSet::R,
    BaseSet::W,
    BaseSet::M,
    BaseSet::F,
    BaseSet::Branch,
    BaseSet::Bcc,
    BaseSet::Pred,
    BaseSet::Rmw,
    BaseSet::Iw,
    BaseSet::Exp,
    BaseSet::Rreg,
    BaseSet::Wreg,
    BaseSet::AddrPort,
    BaseSet::DataPort,
    BaseSet::Const,
    BaseSet::Observed,
];

const RELS: [BaseRel; 30] = [
    BaseRel::Po,
    BaseRel::Loc,
    BaseRel::Int,
    BaseRel::Ext,
    BaseRel::RfReg,
    BaseRel::Addr,
    BaseRel::Data,
    BaseRel::Ctrl,
    BaseRel::PickAddr,
    BaseRel::PickData,
    BaseRel::PickCtrl,
    BaseRel::Amo,
    BaseRel::LxSx,
    BaseRel::SameInstance,
    BaseRel::IicoData,
    BaseRel::IicoCtrl,
    BaseRel::IicoOrder,
    BaseRel::SameAccess,
    BaseRel::SameInstr,
    BaseRel::SameThread,
    BaseRel::SameBarrier,
    BaseRel::SameLevel(Level::Subgroup),
    BaseRel::SameLevel(Level::Workgroup),
    BaseRel::SameLevel(Level::Cluster),
    BaseRel::SameLevel(Level::QueueFamily),
    BaseRel::SameLevel(Level::Device),
    BaseRel::SameLevel(Level::System),
    BaseRel::Id,
    BaseRel::Differ,
    BaseRel::MayDiffer,
];

/// The part of an execution that reads-from and coherence leave unchanged.
pub fn skeleton_exec(skeleton: &Skeleton) -> Exec {
    let n = skeleton.len();
    let mut exec =
        Exec { n, tags: skeleton.events.iter().map(|e| e.tags).collect(), ..Exec::default() };
    for base in SETS {
        let mut set = Set::empty(n);
        skeleton.set(base, &mut set);
        exec.sets.insert(base, set);
    }
    for base in RELS {
        let mut rel = Rel::empty(n);
        skeleton.rel(base, &mut rel);
        exec.rels.insert(base, rel);
    }
    exec
}

/// Completes an execution of a skeleton with reads-from and coherence.
pub fn choose(exec: &mut Exec, rf: &Rel, co: &Rel) {
    exec.rels.insert(BaseRel::Rf, rf.clone());
    exec.rels.insert(BaseRel::Co, co.clone());
}

/// Interprets the model over each execution. Flags are numbered in the order in which they are
/// first raised.
pub struct Interpreted<'m> {
    pub model: &'m Model,
    pub flags: &'m mut Vec<String>,
    /// Whether the model can raise a flag.
    flagging: bool,
    exec: Exec,
}

impl<'m> Interpreted<'m> {
    pub fn new(model: &'m Model, flags: &'m mut Vec<String>) -> Interpreted<'m> {
        // It is enough to look for the words: one in a comment only costs time.
        let flagging = model
            .files
            .iter()
            .any(|f| f.source.text.contains("flag") || f.source.text.contains("undefined_unless"));
        Interpreted { model, flags, flagging, exec: Exec::default() }
    }

    fn number(&mut self, name: &str) -> usize {
        match self.flags.iter().position(|f| f == name) {
            Some(i) => i,
            None => {
                self.flags.push(name.to_string());
                self.flags.len() - 1
            }
        }
    }

    fn numbers(&mut self, verdict: &Verdict) -> SmallVec<[usize; 2]> {
        let mut out: SmallVec<[usize; 2]> = verdict.flags.iter().map(|f| self.number(f)).collect();
        if verdict.undefined {
            out.push(self.number(UNDEFINED));
        }
        out
    }
}

impl Judge for Interpreted<'_> {
    fn bind(&mut self, skeleton: &Skeleton, _: &Choices) -> Result<bool, String> {
        self.exec = skeleton_exec(skeleton);
        Ok(true)
    }

    fn may_allow(&mut self, _: &Choices, _: Look) -> bool {
        true
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        choose(&mut self.exec, &choices.rf_lower, &choices.co_lower);
        let verdict = cat::interpret(self.model, &self.exec).map_err(|e| e.to_string())?;
        Ok(verdict.allowed().then(|| self.numbers(&verdict)))
    }

    fn may_flag(&mut self, _: &Choices, _: &[usize]) -> bool {
        self.flagging
    }
}
