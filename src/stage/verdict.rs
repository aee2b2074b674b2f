//! Compares the outcomes of a source and its target: those that only the target allows, and those
//! that only the source allows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::simulate::Allowed;
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome};

/// The result of comparing one test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Outcomes that the target allows and the source forbids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positive: Vec<BTreeMap<String, String>>,
    /// The number of outcomes that the source allows and the target forbids.
    #[serde(default)]
    pub negative: usize,
    /// For each further model of the source, how many of the positive outcomes it forbids too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<usize>,
    /// Whether the source has undefined behaviour. Its differences are recorded, but are no
    /// findings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undefined: bool,
    /// If arithmetic is the reason, the flag that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    /// Whether loops were cut on one side, so that outcomes may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether the source has plain accesses to atomic objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_atomics: bool,
    /// Locations that the target writes and the source only reads: a crash if they are in read-only
    /// memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// If there is a finding, all outcomes that the source allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<BTreeMap<String, String>>,
    /// If there is a finding, all outcomes that the target allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target: Vec<BTreeMap<String, String>>,
}

impl Verdict {
    /// Whether there is a finding.
    pub fn is_finding(&self) -> bool {
        !(self.undefined || self.positive.is_empty() && self.faults.is_empty())
    }

    /// Whether there is a finding of this kind: a forbidden outcome, or else a write to a location
    /// that the source only reads.
    pub fn shows(&self, outcome: bool) -> bool {
        self.is_finding() && outcome != self.positive.is_empty()
    }

    /// Decodes a stored verdict.
    pub fn decode(bytes: &[u8]) -> Result<Verdict, Failure> {
        serde_json::from_slice(bytes)
            .map_err(|e| format!("a verdict that cannot be read: {e}").into())
    }
}

/// Compares two sets of outcomes over the names that both have. If they have no name in common,
/// they cannot be compared.
pub fn compare(source: &Allowed, target: &Allowed) -> Result<Verdict, Failure> {
    for (side, which) in [(source, "source"), (target, "target")] {
        if side.states.is_empty() && !source.undefined {
            return Err(format!(
                "the {which} has no execution under its model, so that there is nothing to compare"
            )
            .into());
        }
    }
    let names = |a: &Allowed| -> BTreeSet<String> {
        a.states.iter().flat_map(|s| s.keys().cloned()).collect()
    };
    let (shown, seen) = (names(source), names(target));
    let common: BTreeSet<&String> = shown.intersection(&seen).collect();
    if shown.is_empty() && seen.is_empty() && !source.undefined && target.faults.is_empty() {
        return Err(
            "the test shows nothing that could be compared; name a shared location or a local in \
                    the condition or in `locations [...]`"
                .into(),
        );
    }
    if common.is_empty() && !(shown.is_empty() && seen.is_empty()) {
        // The source is undefined.
        if source.states.is_empty() || target.states.is_empty() {
            return Ok(Verdict {
                undefined: source.undefined,
                arithmetic: source.arithmetic.clone(),
                cut: source.cut || target.cut,
                plain_atomics: source.plain_atomics,
                faults: target.faults.clone(),
                negative: source.states.len(),
                positive: target.states.clone(),
                source: source.states.clone(),
                target: target.states.clone(),
                also: Vec::new(),
            });
        }
        if seen.is_empty() {
            return Err(format!(
                "the target shows nothing of what the source shows ({}); where locals are not kept \
                 (`observe: none`), name a shared location in the condition or in `locations [...]`",
                shown.into_iter().collect::<Vec<_>>().join(", ")
            )
            .into());
        }
        return Err(
            format!("source and target show nothing in common: {shown:?} and {seen:?}").into()
        );
    }
    let project = |a: &Allowed| -> BTreeSet<BTreeMap<String, String>> {
        let keep = |s: &BTreeMap<String, String>| {
            s.iter()
                .filter(|(k, _)| common.contains(k))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        a.states.iter().map(keep).collect()
    };
    let (allowed, there) = (project(source), project(target));
    let positive: Vec<_> = there.difference(&allowed).cloned().collect();
    let negative = allowed.difference(&there).count();
    let mut verdict = Verdict {
        negative,
        undefined: source.undefined,
        arithmetic: source.arithmetic.clone(),
        cut: source.cut || target.cut,
        plain_atomics: source.plain_atomics,
        faults: target.faults.clone(),
        ..Verdict::default()
    };
    if !positive.is_empty() || !verdict.faults.is_empty() {
        verdict.source = allowed.into_iter().collect();
        verdict.target = there.into_iter().collect();
        verdict.positive = positive;
    }
    Ok(verdict)
}

/// Compares under the source's model and, if there is a difference, under further models.
pub fn judge(source: &Allowed, target: &Allowed, further: &[Allowed]) -> Result<Verdict, Failure> {
    let mut verdict = compare(source, target)?;
    if !verdict.positive.is_empty() {
        for weaker in further {
            verdict.also.push(compare(weaker, target)?.positive.len());
        }
    }
    Ok(verdict)
}

/// The work that compares outcomes of sources and targets.
pub struct Compare;

/// The fingerprint of a comparison.
pub fn fingerprint() -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_VERDICT"))
        .with_text("stage", "compare")
}

impl Map for Compare {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| {
            let verdict = || -> Result<Verdict, Failure> {
                let further: Vec<Allowed> =
                    item[2..].iter().map(|b| Allowed::decode(b)).collect::<Result<_, _>>()?;
                judge(&Allowed::decode(&item[0])?, &Allowed::decode(&item[1])?, &further)
            };
            match verdict() {
                Ok(verdict) => {
                    let bytes = serde_json::to_vec(&verdict).unwrap_or_default();
                    match verdict.is_finding() {
                        true => Outcome::Finding(bytes),
                        false => Outcome::Done(bytes),
                    }
                }
                Err(failure) => Outcome::Failed(failure),
            }
        };
        items.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(states: &[&[(&str, &str)]]) -> Allowed {
        let state =
            |s: &&[(&str, &str)]| s.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Allowed { states: states.iter().map(state).collect(), ..Allowed::default() }
    }

    #[test]
    fn differences_have_a_direction() {
        let source = allowed(&[&[("0:r", "0")], &[("0:r", "1")]]);
        let target = allowed(&[&[("0:r", "1")], &[("0:r", "2")]]);
        let verdict = compare(&source, &target).unwrap();
        assert_eq!(verdict.positive, allowed(&[&[("0:r", "2")]]).states);
        assert_eq!(verdict.negative, 1);
        assert!(verdict.is_finding());
        assert!(!compare(&source, &source).unwrap().is_finding());
    }

    #[test]
    fn undefined_sources_give_no_findings() {
        let mut source = allowed(&[&[("0:r", "0")]]);
        source.undefined = true;
        let verdict = compare(&source, &allowed(&[&[("0:r", "7")]])).unwrap();
        assert_eq!(verdict.positive.len(), 1);
        assert!(!verdict.is_finding());
    }

    #[test]
    fn what_weaker_models_allow_is_counted() {
        let source = allowed(&[&[("0:r", "0")]]);
        let target = allowed(&[&[("0:r", "0")], &[("0:r", "1")], &[("0:r", "2")]]);
        let weaker = allowed(&[&[("0:r", "0")], &[("0:r", "1")]]);
        let verdict = judge(&source, &target, &[weaker, target.clone()]).unwrap();
        assert_eq!(verdict.positive.len(), 2);
        assert_eq!(verdict.also, [1, 0]);
        assert!(judge(&source, &source, &[target]).unwrap().also.is_empty());
    }

    #[test]
    fn only_what_both_show_counts() {
        let source = allowed(&[&[("0:r", "0"), ("x", "1")]]);
        let target = allowed(&[&[("0:r", "0")]]);
        assert!(!compare(&source, &target).unwrap().is_finding());
        assert!(compare(&source, &allowed(&[&[("1:q", "0")]])).is_err());
        let nothing = allowed(&[&[]]);
        assert!(compare(&nothing, &nothing).unwrap_err().text().contains("shows nothing"));
        let undefined = Allowed { undefined: true, ..nothing.clone() };
        assert!(compare(&undefined, &nothing).unwrap().undefined);
        let refused = compare(&source, &allowed(&[&[]])).unwrap_err();
        assert!(refused.text().contains("(0:r, x)"), "{refused:?}");
    }
}
