//! `compare` for mixes: finds the profiles that are wrong alone and those that are wrong together,
//! and counts the mixes.

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

/// The work. Its items are the output of `link`, the test, the outcomes of the source, and the
/// outcomes of each mix.
pub struct Stage {
    /// How tests were taken apart.
    pub by: By,
}

/// The fingerprint of a comparison of mixes.
pub fn fingerprint(by: By) -> Fingerprint {
    super::verdict::fingerprint()
        .with_text("litmake", env!("LITMAKE_STAGE_MIXES"))
        .with_text("stage", "compare mixes")
        .with_text("by", &format!("{by:?}"))
}

/// The results for the mixes of one test. Profiles are numbered in the order of the link's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mixed {
    /// The number of choices of a profile for each part, as text, because it can be large.
    pub assignments: String,
    /// The number of distinct code sequences of each part.
    pub sequences: Vec<(String, usize)>,
    /// The number of choices of a code sequence for each part.
    pub combinations: String,
    /// How many of these differ as tests.
    pub tests: u64,
    /// How many of these have no verdict.
    #[serde(default)]
    pub unknown: u64,
    /// The profiles that compile every part of the test.
    pub usable: Vec<usize>,
    /// Of each set of profiles with the same code, one that is right alone.
    pub clean: Vec<usize>,
    /// The profiles whose code sequences all come from earlier profiles, too.
    pub adds_nothing: Vec<usize>,
    /// The reasons for which mixes could not be joined.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Whether the source has plain accesses to atomic objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_atomics: bool,
    /// Whether the source has undefined behaviour, so that no mix is wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undefined: bool,
    /// The number of threads of the test.
    pub threads: usize,
    /// The operations of the test, with each code of an operation and the profiles that make it.
    pub operations: BTreeMap<String, Vec<(String, Vec<usize>)>>,
    /// Wrong mixes, the smallest of each kind.
    pub faults: Vec<Fault>,
}

/// The smallest wrong mix of some profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The profiles that are mixed.
    pub profiles: Vec<usize>,
    /// For each of these, the profiles that compile this test to the same code.
    pub alike: Vec<Vec<usize>>,
    /// The mix, in which `{n}` stands for a profile.
    pub mix: String,
    /// The position of its test among the mixes.
    pub test: usize,
    /// The parts that the profiles compile differently: part, statement, and the code of each.
    pub clash: Vec<(String, String, Vec<String>)>,
    /// The verdict of comparing it with its source.
    pub verdict: Verdict,
}

impl Mixed {
    /// Decodes a stored result.
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
        // A difference that a weaker model of the source allows must not hide one that no model
        // allows.
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
            undefined: source.undefined,
            plain_atomics: source.plain_atomics,
            threads: test.threads.len(),
            operations: BTreeMap::new(),
            faults: Vec::new(),
        };
        if !linked.asked.is_empty() {
            // Mixes that the pipeline does not name were not judged.
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
