//! Judges code by the outcomes of its source, under the models of a command.
//!
//! It does not know where the tests come from.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use litmake_base::diag::Result;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind};
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{Arch, Test, write};
use litmake_sim::{Model, Options, Outcomes, Simulator};
use litmake_stage::simulate::Allowed;
use litmake_stage::verdict::{Verdict, judge};

/// The longest simulation of a test.
const LONGEST: Duration = Duration::from_secs(20);

/// The turns of loops in code that has no answer with fewer. A front end keeps the counter of a loop in memory, where
/// the simulator does not see that it moves.
const MORE_TURNS: u32 = 8;

/// The model that only allows interleavings.
const INTERLEAVED: &str = "sc";

/// A final state, by the names of the source.
pub type State = BTreeMap<String, String>;

/// The models, and one simulator for all tests.
pub struct Court {
    /// The models of sources: the one that judges, then weaker ones.
    sources: Vec<Model>,
    /// The model of the code that passes work on.
    code: Model,
    simulator: Simulator,
    /// The models of machine code, by their names and the dialect.
    machines: HashMap<(String, Arch), Model>,
    /// The outcomes of code, by its text.
    known: HashMap<String, std::result::Result<Code, String>>,
    /// The code whose simulation exceeded its time or memory.
    broken: HashSet<String>,
    /// How often code was not judged for this reason.
    gave_up: usize,
    /// Identifies the models of sources and of code.
    models: Digest,
}

/// The outcomes of intermediate code.
#[derive(Clone, Debug)]
pub struct Code {
    /// The allowed outcomes.
    pub allowed: Allowed,
    /// Whether some read races with a write and so returns `undef`.
    pub races: bool,
}

/// The outcomes of a source under each of its models.
pub struct Source(Vec<Allowed>);

impl Court {
    /// A court for these models of sources; the first one judges.
    pub fn new(models: &[String]) -> Result<Court> {
        Court::of_code(models, Arch::Llvm.default_model(), Arch::Llvm)
    }

    /// A court for code of another dialect than LLVM's, with the model of that code.
    pub fn of_code(models: &[String], code: &str, arch: Arch) -> Result<Court> {
        let mut key = Keyer::new("models of a court/1");
        let mut load = |name: &str, arch: Arch| {
            let read = cat::load(name, &LoadOptions::new(arch))?;
            key.add(name, read.fingerprint().as_bytes());
            Model::load(&read)
        };
        let sources = models.iter().map(|m| load(m, Arch::C)).collect::<Result<_>>()?;
        let code = load(code, arch)?;
        Ok(Court {
            sources,
            code,
            simulator: Simulator::default(),
            machines: HashMap::new(),
            known: HashMap::new(),
            broken: HashSet::new(),
            gave_up: 0,
            models: key.finish(),
        })
    }

    /// Identifies the models of sources and of intermediate code.
    pub fn models(&self) -> Digest {
        self.models
    }

    /// How often code was not judged for lack of time or memory; another machine may have more.
    pub fn gave_up(&self) -> usize {
        self.gave_up
    }

    fn outcomes(simulator: &mut Simulator, test: &Test, model: &Model) -> Result<Outcomes> {
        let options = Options { timeout: Some(LONGEST), ..Options::default() };
        let found = simulator.simulate(test, model, &options);
        if found.as_ref().is_err_and(|e| e.kind == FailureKind::Item) {
            let longer = Options { unroll: MORE_TURNS, ..options };
            return simulator.simulate(test, model, &longer).or(found);
        }
        found
    }

    /// The outcomes of a C test, which are all that its compiled forms may have.
    pub fn source(&mut self, test: &Test) -> Result<Source> {
        let Court { sources, simulator, .. } = self;
        let each = sources.iter().map(|model| {
            Court::outcomes(simulator, test, model).map(|found| Allowed::new(test, &found))
        });
        each.collect::<Result<_>>().map(Source)
    }

    /// The outcomes of intermediate code; equal code is simulated once.
    pub fn code(&mut self, test: &Test) -> std::result::Result<Code, String> {
        let text = write(test);
        self.gave_up += usize::from(self.broken.contains(&text));
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let found = Court::outcomes(&mut self.simulator, test, &self.code);
        if found.as_ref().is_err_and(|e| matches!(e.kind, FailureKind::Broken(_))) {
            self.broken.insert(text.clone());
            self.gave_up += 1;
        }
        let found = found
            .map(|found| Code {
                allowed: Allowed::new(test, &found),
                races: !found.flags.is_empty(),
            })
            .map_err(|e| e.message.to_string());
        self.known.insert(text, found.clone());
        found
    }

    /// Compares the outcomes of machine code, under its model, with those of its source.
    pub fn judge_machine(
        &mut self,
        source: &Source,
        code: &Test,
        model: &str,
    ) -> std::result::Result<Verdict, Failure> {
        let Court { simulator, machines, .. } = self;
        let model = match machines.entry((model.to_string(), code.arch)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(Model::load(&cat::load(model, &LoadOptions::new(code.arch))?)?)
            }
        };
        let target = Allowed::new(code, &Court::outcomes(simulator, code, model)?);
        let (first, weaker) = source.0.split_first().ok_or("there is no model of the source")?;
        judge(first, &target, weaker)
    }

    /// Whether machine code has all outcomes of the test's interleavings. No barrier removes these,
    /// so code that lacks some does not implement the test.
    pub fn can_interleave(
        &mut self,
        test: &Test,
        code: &Test,
        model: &str,
    ) -> std::result::Result<bool, Failure> {
        let steps = Model::load(&cat::load(INTERLEAVED, &LoadOptions::new(test.arch))?)?;
        let asked = Allowed::new(test, &Court::outcomes(&mut self.simulator, test, &steps)?);
        let verdict = self.judge_machine(&Source(vec![asked]), code, model)?;
        Ok(verdict.negative == 0)
    }

    /// The number of different pieces of code that were simulated.
    pub fn simulated(&self) -> usize {
        self.known.len()
    }

    /// Compares the outcomes of intermediate code with those of its source.
    pub fn judge(&mut self, source: &Source, code: &Test) -> std::result::Result<Verdict, String> {
        let target = self.code(code)?;
        let (first, weaker) = source.0.split_first().ok_or("there is no model of the source")?;
        judge(first, &target.allowed, weaker).map_err(|e| e.text())
    }
}

/// Whether a verdict is a finding that no weaker model of the source allows.
pub fn is_wrong(verdict: &Verdict) -> bool {
    verdict.is_finding() && !verdict.also.contains(&0)
}

#[cfg(test)]
mod tests {
    use litmake_base::diag::Source as Text;

    use super::*;

    #[test]
    fn loops_with_their_counter_in_memory_have_an_answer() {
        let test = litmake_litmus::read(&Text::new(
            "counted",
            "LLVM counted
{ int n; int x; }
 P0                              ;
 L0:                             ;
 store i32 1, ptr @x             ;
 %0 = load i32, ptr @n           ;
 %1 = add i32 %0, 1              ;
 store i32 %1, ptr @n            ;
 %2 = icmp slt i32 %1, 4         ;
 br i1 %2, label %L0, label %L1  ;
 L1:                             ;
 ret void                        ;
exists (n=4)
",
        ));
        let mut court = Court::new(&["rc11".to_string()]).expect("models");
        court.code(&test.expect("a test")).expect("an answer");
    }
}
