//! Stores the effects of a compiler's passes on tests.
//!
//! The key of a result covers everything that influences it: the code of this crate and of those
//! that it uses, the compiler and its libraries, the preparation of tests, the models, and the
//! test. It does not know how results are made.

use std::cell::Cell;

use super::blame::Passes;
use super::judge::Court;
use super::survey::Survey;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};
use litmake_litmus::{Test, write};
use litmake_stage::compilers::Tool;
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::evidence::{Moment, Standing};
use litmake_toolchain::fingerprint;
use litmake_toolchain::process::Watch;

/// The stored results of one compiler.
pub struct Known<'a> {
    records: &'a dyn Records,
    tool: &'a Tool,
    /// When the compiler was first used.
    since: Moment,
    /// Sees what compilers look at from then on.
    watch: Watch,
    /// Whether they looked at nothing that the keys lack.
    is_covered: Cell<bool>,
    /// The digest of the common parts of all keys.
    asked: Digest,
}

/// Identifies a compiler that is asked for its passes: it is run as for the passes of a small test, and
/// found again if it looks at more for that than where it only compiles.
pub fn identify(compiler: &Compiler, records: &dyn Records, find: &dyn Fn() -> Tool) -> Tool {
    for _ in 0..ROUNDS {
        let tool = find();
        let key = Keyer::new("passes probed/1").field("compiler", &tool.digest.0).finish();
        if tool.program.is_err() || records.has(&[key])[0] {
            return tool;
        }
        let watch = Watch::within(None);
        if let Ok(test) = fingerprint::probe_test(compiler.profile) {
            Survey::new(compiler).prepare(&[&test]);
        }
        if tool.guard.covers(watch.take(), records) {
            records.put(&[Put { kind: Kind::Alias, key, value: b"" }]);
            return tool;
        }
    }
    find()
}

/// How often a compiler is found again.
const ROUNDS: usize = 3;

impl<'a> Known<'a> {
    /// The results of a compiler, which is a tool on this machine, with the models of a court.
    pub fn new(
        records: &'a dyn Records,
        tool: &'a Tool,
        compiler: &Compiler,
        court: &Court,
    ) -> Known<'a> {
        let Compiler { profile, observe, storage, helpers, .. } = compiler;
        let asked = Keyer::new("passes/1")
            .field("litmake", env!("LITMAKE_CRATE").as_bytes())
            .field("profile", &profile.fingerprint().0)
            .field("compiler", &tool.digest.0)
            .field("libraries", &tool.libraries.0)
            .field("given", format!("{observe:?} {storage:?} {helpers}").as_bytes())
            .field("models", &court.models().0)
            .finish();
        let (watch, is_covered) = (Watch::within(None), Cell::new(true));
        Known { records, tool, since: tool.guard.now(), watch, is_covered, asked }
    }

    fn key(&self, test: &Test) -> Digest {
        let key = Keyer::new("passes of a test/1").field("asked", &self.asked.0);
        key.field("test", write(test).as_bytes()).finish()
    }

    /// The stored results of some tests.
    pub fn get(&self, tests: &[&Test]) -> Vec<Option<Passes>> {
        let keys: Vec<Digest> = tests.iter().map(|test| self.key(test)).collect();
        let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).ok();
        self.records.get(&keys).into_iter().map(|bytes| bytes.and_then(read)).collect()
    }

    /// Stores a result, unless the compiler was exchanged or touched since it was first used, or
    /// looked at something new. This is in the keys of the next run.
    pub fn put(&self, test: &Test, passes: &Passes) {
        let is_covered = self.tool.guard.covers(self.watch.take(), self.records);
        self.is_covered.set(self.is_covered.get() && is_covered);
        if !self.is_covered.get() {
            return;
        }
        if self.tool.guard.standing(self.since, self.records) != Standing::Unchanged {
            return;
        }
        if let Ok(value) = serde_json::to_vec(passes) {
            let key = self.key(test);
            self.records.put(&[Put { kind: Kind::Action, key, value: &value }]);
        }
    }
}
