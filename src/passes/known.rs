//! Stores the effects of a compiler's passes on tests.
//!
//! The key of a result covers everything that influences it: the code of this crate and of those
//! that it uses, the compiler and its libraries, the preparation of tests, the models, and the
//! test. It does not know how results are made.

use super::blame::Passes;
use super::judge::Court;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};
use litmake_litmus::{Test, write};
use litmake_stage::compilers::Tool;
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::evidence::{Moment, Standing};

/// The stored results of one compiler.
pub struct Known<'a> {
    records: &'a dyn Records,
    tool: &'a Tool,
    /// When the compiler was first used.
    since: Moment,
    /// The digest of the common parts of all keys.
    asked: Digest,
}

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
        Known { records, tool, since: tool.guard.now(), asked }
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

    /// Stores a result, unless the compiler was exchanged or touched since it was first used.
    pub fn put(&self, test: &Test, passes: &Passes) {
        if self.tool.guard.standing(self.since, self.records) != Standing::Unchanged {
            return;
        }
        if let Ok(value) = serde_json::to_vec(passes) {
            let key = self.key(test);
            self.records.put(&[Put { kind: Kind::Action, key, value: &value }]);
        }
    }
}
