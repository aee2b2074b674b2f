//! `diff`: compares the code and the outcomes of two compilers for the same test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::building::{Build, Building};
use super::changed::differ;
use super::simulate::Allowed;
use litmake_base::diag;
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_pipeline::kinds;

type State = BTreeMap<String, String>;

/// The changes in one test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Whether the code differs in more than blanks and the names of labels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub code: bool,
    /// Outcomes that only the second one allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<State>,
    /// Outcomes that only the first one allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<State>,
}

impl Change {
    /// Decodes a stored change.
    pub fn decode(bytes: &[u8]) -> Result<Change, Failure> {
        serde_json::from_slice(bytes)
            .map_err(|e| format!("a change that cannot be read: {e}").into())
    }
}

/// The outcomes that only the second one allows, and those that only the first one allows, over the
/// names that both have.
fn outcomes(before: &Allowed, after: &Allowed) -> (Vec<State>, Vec<State>) {
    let names = |a: &Allowed| -> BTreeSet<String> {
        a.states.iter().flat_map(|s| s.keys().cloned()).collect()
    };
    let common: BTreeSet<String> = names(before).intersection(&names(after)).cloned().collect();
    let project = |a: &Allowed| -> BTreeSet<State> {
        let mut states: BTreeSet<State> = a.states.iter().cloned().collect();
        if states.iter().any(|s| s.len() != common.len()) {
            let keep = |mut s: State| {
                s.retain(|k, _| common.contains(k));
                s
            };
            states = states.into_iter().map(keep).collect();
        }
        states
    };
    let (old, new) = (project(before), project(after));
    (new.difference(&old).cloned().collect(), old.difference(&new).cloned().collect())
}

fn change(item: &[Vec<u8>]) -> Result<Change, Failure> {
    let [before, after, old, new] = item else {
        return Err("a diff needs outcomes and code of both sides".into());
    };
    let (gained, lost) = outcomes(&Allowed::decode(before)?, &Allowed::decode(after)?);
    Ok(Change { code: differ(old, new)?, gained, lost })
}

impl Build for kinds::Diff {
    fn build(&self, graph: &mut Building) -> diag::Result<usize> {
        let outcomes = graph.inputs();
        // The nodes whose tests were simulated.
        let code: Vec<usize> =
            outcomes.iter().filter_map(|s| graph.graph.nodes[*s].inputs.first().copied()).collect();
        let work = Work::Map(Arc::new(Diff));
        Ok(graph.add([outcomes, code].concat(), fingerprint(), work))
    }
}

struct Diff;

fn fingerprint() -> Fingerprint {
    Fingerprint::default()
        .with_text("stage", "diff")
        .with_text("litmake", env!("LITMAKE_STAGE_DIFF"))
}

impl Map for Diff {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match change(item) {
            Ok(change) => Outcome::Done(serde_json::to_vec(&change).unwrap_or_default()),
            Err(failure) => Outcome::Failed(failure),
        };
        items.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "X86_64 t
{}
 P0         ;
 movl $1,(x) ;
exists (x=1)
";

    fn allowed(states: &[&[(&str, &str)]]) -> Vec<u8> {
        let state =
            |s: &&[(&str, &str)]| s.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Allowed { states: states.iter().map(state).collect(), ..Allowed::default() }.encode()
    }

    #[test]
    fn code_and_outcomes_are_told_apart() {
        let (one, two) = (allowed(&[&[("x", "1")]]), allowed(&[&[("x", "2")]]));
        let code = |text: &str| text.as_bytes().to_vec();
        let item = |a: &[u8], b: &[u8], old: &str, new: &str| {
            change(&[a.to_vec(), b.to_vec(), code(old), code(new)]).unwrap()
        };
        assert_eq!(item(&one, &one, CODE, CODE), Change::default());
        let blanks = CODE.replace("t\n{}", "other\n{}").replace("$1,(x) ", "$1, (x)");
        assert_eq!(item(&one, &one, CODE, &blanks), Change::default());
        let other = item(&one, &two, CODE, &CODE.replace("$1", "$2"));
        assert!(other.code);
        assert_eq!(other.gained, [BTreeMap::from([("x".to_string(), "2".to_string())])]);
        assert_eq!(other.lost, [BTreeMap::from([("x".to_string(), "1".to_string())])]);
    }
}
