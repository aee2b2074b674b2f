//! `compare` where the targets are mixes: which profiles are wrong alone, which are wrong
//! together, and how the mixes were counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::items::read_test;
use super::link;
use super::simulate::Allowed;
use super::verdict::{Verdict, judge};
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome};
use litmake_engine::parts::decode_results;
use litmake_mix::link::faults;
use litmake_mix::{self as mix, By, notation};

/// Its items are what `link` gave, the test, what the source allows, and what each mix allows.
pub struct Stage {
    /// How tests were taken apart.
    pub by: By,
}

/// What a comparison of mixes depends on, beside its inputs.
pub fn fingerprint(by: By) -> Fingerprint {
    super::verdict::fingerprint()
        .with_text("litmake", env!("LITMAKE_STAGE_MIXES"))
        .with_text("stage", "compare mixes")
        .with_text("by", &format!("{by:?}"))
}

/// What the mixes of one test came to. Profiles are numbers, in the order of the link's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mixed {
    /// How many choices of profiles there are, as a text for its size.
    pub assignments: String,
    /// Distinct code sequences, by part.
    pub sequences: Vec<(String, usize)>,
    /// How many choices of distinct sequences there are.
    pub combinations: String,
    /// How many of those differ as tests.
    pub tests: u64,
    /// Tests whose outcomes are not known.
    #[serde(default)]
    pub unknown: u64,
    /// Profiles that compile all of the test.
    pub usable: Vec<usize>,
    /// One of each set of alike profiles that is right alone.
    pub clean: Vec<usize>,
    /// Profiles that make no sequence which those before them do not make.
    pub adds_nothing: Vec<usize>,
    /// Why mixes could not be put together.
    #[serde(default)]
    pub messages: Vec<String>,
    /// How many threads the test has.
    pub threads: usize,
    /// The operations of the test, with the code of each and the profiles that make it.
    pub operations: BTreeMap<String, Vec<(String, Vec<usize>)>>,
    /// Wrong mixes, the smallest of each kind.
    pub faults: Vec<Fault>,
}

/// The smallest mix of some profiles that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Those that are mixed.
    pub profiles: Vec<usize>,
    /// For each of them those that make of this test what it makes of it.
    pub alike: Vec<Vec<usize>>,
    /// The mix, where `{n}` stands for a profile.
    pub mix: String,
    /// Its test among the mixes.
    pub test: usize,
    /// The parts that the profiles make differently: part, statement, and the code of each.
    pub clash: Vec<(String, String, Vec<String>)>,
    /// What comparing it with its source said.
    pub verdict: Verdict,
}

impl Mixed {
    /// Reads what is stored.
    pub fn decode(bytes: &[u8]) -> Result<Mixed, Failure> {
        serde_json::from_slice(bytes)
            .map_err(|e| format!("a verdict that cannot be read: {e}").into())
    }
}

impl Stage {
    fn one(&self, item: &[Vec<u8>]) -> Result<Mixed, Failure> {
        let [linked, test, source, further @ .., outcomes] = item else {
            return Err("there is something missing to compare".into());
        };
        let further: Vec<Allowed> =
            further.iter().map(|b| Allowed::decode(b)).collect::<Result<_, _>>()?;
        let (bundle, linked) = link::read(linked)?;
        let test = read_test(test)?;
        let split = mix::split(&test, self.by)?;
        let source = Allowed::decode(source)?;
        let outcomes = decode_results(outcomes).ok_or("outcomes that cannot be read")?;
        let mut verdicts: Vec<Option<Verdict>> = Vec::new();
        for bytes in outcomes {
            let target = bytes.map(|b| Allowed::decode(&b)).transpose()?;
            verdicts.push(target.map(|t| judge(&source, &t, &further)).transpose()?);
        }
        let verdict = |at: usize| verdicts.get(at).and_then(Option::as_ref);
        let bad = |at: usize| verdict(at).is_some_and(Verdict::is_finding);
        let found = faults(&linked, &test, &split, &bad);
        // What a weaker model of the source allows must not hide what none allows.
        let worse =
            |at: usize| bad(at) && verdict(at).is_some_and(|v| v.also.iter().all(|n| *n > 0));
        let strict = faults(&linked, &test, &split, &worse);
        let mut all = strict.faults;
        for fault in &found.faults {
            if !all.iter().any(|f| f.0 == fault.0) {
                all.push(fault.clone());
            }
        }
        all.sort();
        let table = &linked.table;
        let profile = |p: usize| linked.usable[p];
        let mut out = Mixed {
            assignments: table.assignments().to_string(),
            sequences: (0..split.pieces.len())
                .filter(|i| split.pieces[*i].chosen)
                .map(|i| (split.pieces[i].name.clone(), table.distinct(i).len()))
                .collect(),
            combinations: table.combinations().to_string(),
            tests: bundle.parts.len() as u64,
            unknown: verdicts.iter().filter(|v| v.is_none()).count() as u64,
            usable: linked.usable.clone(),
            clean: found.clean.iter().map(|p| profile(*p)).collect(),
            adds_nothing: table.adds_nothing().into_iter().map(profile).collect(),
            messages: linked.messages.iter().cloned().collect(),
            threads: test.threads.len(),
            operations: BTreeMap::new(),
            faults: Vec::new(),
        };
        if !linked.asked.is_empty() {
            // What was not asked for was not looked at.
            out.assignments = linked.asked.len().to_string();
            out.combinations.clone_from(&out.assignments);
        }
        for (i, piece) in split.pieces.iter().enumerate() {
            let Some(operation) = piece.operation(&test) else { continue };
            let codes = out.operations.entry(operation).or_default();
            for (n, p) in table.sequences[i].iter().zip(&linked.usable) {
                let code = linked.code.get(n).cloned().unwrap_or_default();
                match codes.iter_mut().find(|(c, _)| *c == code) {
                    Some((_, profiles)) if !profiles.contains(p) => profiles.push(*p),
                    Some(_) => {}
                    None => codes.push((code, vec![*p])),
                }
            }
        }
        for (set, assignment, at) in all {
            let Some(verdict) = verdicts[at].clone() else { continue };
            let mut clash = Vec::new();
            for (i, piece) in split.pieces.iter().enumerate().filter(|(_, p)| p.chosen) {
                let sequences: Vec<u32> = set.iter().map(|p| table.sequences[i][*p]).collect();
                let text = |n: &u32| linked.code.get(n).cloned().unwrap_or_default();
                if set.len() > 1 && sequences.iter().any(|s| *s != sequences[0]) {
                    let code = sequences.iter().map(text).collect();
                    clash.push((piece.name.clone(), piece.source.clone(), code));
                }
            }
            let alike = |p: &usize| {
                linked.alike(*p).into_iter().filter(|q| q != p).map(profile).collect::<Vec<_>>()
            };
            out.faults.push(Fault {
                profiles: set.iter().map(|p| profile(*p)).collect(),
                alike: set.iter().map(alike).collect(),
                mix: notation(&split, &|i| format!("{{{}}}", profile(assignment[i]))),
                test: at,
                clash,
                verdict,
            });
        }
        Ok(out)
    }
}

impl Map for Stage {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match self.one(item) {
            Ok(mixed) => {
                let bytes = serde_json::to_vec(&mixed).unwrap_or_default();
                match mixed.faults.is_empty() {
                    true => Outcome::Done(bytes),
                    false => Outcome::Finding(bytes),
                }
            }
            Err(failure) => Outcome::Failed(failure),
        };
        items.iter().map(one).collect()
    }
}
