//! Judges tests by the outcomes of their source, under the models that `check` asks. It does not know
//! where the tests came from.

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

/// A test that takes longer to simulate is given up.
const LONGEST: Duration = Duration::from_secs(20);

/// The model under which threads run step by step.
const INTERLEAVED: &str = "sc";

/// One final state, by the names that the source has.
pub type State = BTreeMap<String, String>;

/// The models, and a simulator for all tests.
pub struct Court {
    /// Of sources: the one that judges, and weaker ones.
    sources: Vec<Model>,
    /// Of the code that passes work on.
    code: Model,
    simulator: Simulator,
    /// Of machine code, by their names and its dialect.
    machines: HashMap<(String, Arch), Model>,
    /// What was found of code, by its text.
    known: HashMap<String, std::result::Result<Code, String>>,
    /// Which of that was given up for want of time or memory.
    broken: HashSet<String>,
    /// How often somebody was told so.
    gave_up: usize,
    /// What tells the models of sources and of code from others.
    models: Digest,
}

/// What intermediate code may do.
#[derive(Clone, Debug)]
pub struct Code {
    /// Its outcomes.
    pub allowed: Allowed,
    /// Whether some read races with a write, so that it gives `undef`.
    pub races: bool,
}

/// The outcomes of a source under each of its models.
pub struct Source(Vec<Allowed>);

impl Court {
    /// For sources under some models, the one that judges first.
    pub fn new(models: &[String]) -> Result<Court> {
        Court::of_code(models, Arch::Llvm.default_model(), Arch::Llvm)
    }

    /// The same for code of another dialect than LLVM's, under a model.
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

    /// What tells its models of sources and of intermediate code from others.
    pub fn models(&self) -> Digest {
        self.models
    }

    /// How often code was not judged for want of time or memory, which another machine may have.
    pub fn gave_up(&self) -> usize {
        self.gave_up
    }

    fn outcomes(simulator: &mut Simulator, test: &Test, model: &Model) -> Result<Outcomes> {
        let options = Options { timeout: Some(LONGEST), ..Options::default() };
        simulator.simulate(test, model, &options)
    }

    /// What a C test may do; none of its compiled forms may do more.
    pub fn source(&mut self, test: &Test) -> Result<Source> {
        let Court { sources, simulator, .. } = self;
        let each = sources.iter().map(|model| {
            Court::outcomes(simulator, test, model).map(|found| Allowed::new(test, &found))
        });
        each.collect::<Result<_>>().map(Source)
    }

    /// What intermediate code may do; equal code is simulated once.
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

    /// What machine code allows under its model and its source forbids.
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

    /// Whether machine code has all outcomes that a test has where its threads run step by step in some order. No barrier
    /// takes these away, so code without them does not do what the test does.
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

    /// How many different pieces of code were simulated.
    pub fn simulated(&self) -> usize {
        self.known.len()
    }

    /// What intermediate code allows and its source forbids.
    pub fn judge(&mut self, source: &Source, code: &Test) -> std::result::Result<Verdict, String> {
        let target = self.code(code)?;
        let (first, weaker) = source.0.split_first().ok_or("there is no model of the source")?;
        judge(first, &target.allowed, weaker).map_err(|e| e.text())
    }
}

/// Whether a verdict is a finding that no weaker model of the source explains away.
pub fn is_wrong(verdict: &Verdict) -> bool {
    verdict.is_finding() && !verdict.also.contains(&0)
}
