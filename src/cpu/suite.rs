//! Makes litmake's own tests of machine code: conformance tests of a machine, and their mutants.
//! The machine's model selects mutants that can be killed.
//!
//! It does not run tests.

use std::ops::ControlFlow;

use litmake_base::diag::{Result, Source};
use litmake_cat::{LoadOptions, load};
use litmake_generate::recipe::Recipe;
use litmake_generate::{Maker, Seen, Tally, dialect, syntax};
use litmake_litmus::{Arch, Test};
use litmake_mutate::cycles::weaken;
use litmake_mutate::disrupt::{Disruptor, usual};
use litmake_sim::{Model, Options, Simulator};

/// The edges of the x86-64 suites: all that orders accesses, in every critical cycle of two or
/// three threads.
const X86_VOCABULARY: &str = "PodWW PodRR PodRW MFencedWR Rfe Fre Coe";
const X86_SIZE: usize = 6;

/// A mutant, or a test that is mutated.
pub struct Weakened {
    /// The test, with its condition.
    pub test: Test,
    /// The disruptor, and the name of the test that it was applied to; `None` for a test that is
    /// mutated.
    pub by: Option<(String, String)>,
}

/// The conformance tests of x86-64 and their mutants under x86-TSO, in the order of their names.
pub fn x86() -> Result<Vec<Weakened>> {
    let arch = Arch::X86_64;
    let dialect = dialect::of(arch);
    let model = Model::load(&load(arch.default_model(), &LoadOptions::new(arch))?)?;
    let mut recipe = Recipe::new(arch);
    recipe.vocabulary = vec![Source::new("x86", X86_VOCABULARY)];
    recipe.size = X86_SIZE;
    recipe.threads = 3;
    let mut cycles = Vec::new();
    recipe.prepare()?.each(&mut |draft, _| {
        cycles.push(draft.doc.clone());
        ControlFlow::Continue(())
    })?;
    let disruptors = usual(dialect)
        .iter()
        .map(|w| Disruptor::read(dialect, &Source::new("x86", w.as_str())))
        .collect::<Result<Vec<_>>>()?;
    let mut simulator = Simulator::default();
    let mut allows = |maker: &Maker| -> Result<Option<bool>> {
        let outcomes = simulator.simulate(&maker.draft.test()?, &model, &Options::default())?;
        Ok(Some(outcomes.positive > 0))
    };
    let mut out: Vec<Weakened> = Vec::new();
    let mut maker = Maker::default();
    let mut seen = Seen::default();
    for text in cycles {
        let cycle = syntax::cycle(dialect, &Source::new("x86", text))?;
        let mut name = String::new();
        let mut keep = |maker: &mut Maker, by: Option<&Disruptor>| {
            if by.is_none() {
                name = maker.draft.name.clone();
            }
            // Several cycles can give the same mutant.
            if !seen.insert(&maker.draft.canonical_hash()) {
                return Ok(());
            }
            let mut test = maker.draft.test()?;
            let by = by.map(|d| (d.text.clone(), name.clone()));
            if let Some((disruptor, of)) = &by {
                test.info.push(("Mutator".into(), disruptor.clone()));
                test.info.push(("Mutates".into(), of.clone()));
            }
            out.push(Weakened { test, by });
            Ok(())
        };
        let mut tally = Tally::default();
        weaken(dialect, &cycle, &disruptors, &mut maker, &mut allows, &mut keep, &mut tally)?;
    }
    out.sort_by(|a, b| a.test.name.cmp(&b.test.name));
    Ok(out)
}

/// The names of the suites.
pub const SUITES: [&str; 3] = ["x86-conformance", "x86-mutants", "x86"];

/// The tests of a suite of machine code; `None` if no suite has the name.
pub fn suite(name: &str) -> Result<Option<Vec<Test>>> {
    let kept: fn(&Weakened) -> bool = match name {
        "x86-conformance" => |w| w.by.is_none(),
        "x86-mutants" => |w| w.by.is_some(),
        "x86" => |_| true,
        _ => return Ok(None),
    };
    Ok(Some(x86()?.into_iter().filter(kept).map(|w| w.test).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_of_x86_can_be_killed() {
        let all = x86().unwrap();
        let names: Vec<&str> = all.iter().map(|w| w.test.name.as_str()).collect();
        for expected in ["SB", "SB+mfences", "SB+mfence+po", "R+po+mfence", "R", "RWC"] {
            assert!(names.contains(&expected), "{expected} in {names:?}");
        }
        let mutants = all.iter().filter(|w| w.by.is_some());
        assert!(mutants.clone().count() >= 10, "{names:?}");
        // No mutant is also a conformance test.
        for mutant in mutants {
            let (_, of) = mutant.by.as_ref().unwrap();
            assert!(all.iter().any(|w| w.by.is_none() && w.test.name == *of), "{of}");
        }
    }
}
