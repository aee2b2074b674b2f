//! Applies stages to items outside of a run's graph, and keeps the results in the store.

use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Kind, Put, Records};
use litmake_engine::graph::{Context, Map, Outcome};

/// How many items go through a stage together.
const BATCH: usize = 64;

/// How much work there was, and how much of it was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// The items that a result was asked for.
    pub tasks: u64,
    /// The items whose result was not in the store.
    pub executed: u64,
}

/// Applies stages to items outside of the graph.
pub struct Lab<'a> {
    /// The store.
    pub records: &'a dyn Records,
    /// The context that work gets in a run.
    pub context: &'a Context,
}

impl Lab<'_> {
    /// The results of a stage for some items, taken from the store if they are there.
    pub fn apply(
        &self,
        map: &dyn Map,
        fingerprint: Digest,
        items: &[Vec<u8>],
        done: &mut Done,
    ) -> Vec<Outcome> {
        let items: Vec<Vec<Vec<u8>>> = items.iter().map(|i| vec![i.clone()]).collect();
        let keys: Vec<Digest> = items
            .iter()
            .map(|item| {
                let content = map.normal(item).unwrap_or_else(|| Digest::of(&item[0]));
                let key = Keyer::new("mix/1").field("node", &fingerprint.0);
                key.field("content", &content.0).finish()
            })
            .collect();
        done.tasks += items.len() as u64;
        let mut out: Vec<Option<Outcome>> =
            self.records.get(&keys).into_iter().map(|v| v.and_then(|v| decode(&v))).collect();
        let missing: Vec<usize> = (0..items.len()).filter(|i| out[*i].is_none()).collect();
        for chunk in missing.chunks(BATCH) {
            let batch: Vec<Vec<Vec<u8>>> = chunk.iter().map(|i| items[*i].clone()).collect();
            let made = match self.context.stopped() {
                true => vec![Outcome::stopped(); batch.len()],
                false => map.run(&batch, self.context),
            };
            done.executed += chunk.len() as u64;
            for (i, outcome) in chunk.iter().zip(made) {
                if let Some(value) = encode(&outcome) {
                    self.records.put(&[Put { kind: Kind::Action, key: keys[*i], value: &value }]);
                }
                out[*i] = Some(outcome);
            }
        }
        out.into_iter().map(|o| o.unwrap_or_else(Outcome::stopped)).collect()
    }
}

fn encode(outcome: &Outcome) -> Option<Vec<u8>> {
    // A result that should be kept only for a time is not stored: nothing here would compute it
    // again.
    if outcome.lasting() != Lasting::ForGood {
        return None;
    }
    let (tag, content) = match outcome {
        Outcome::Done(content) | Outcome::Finding(content) | Outcome::DoneForNow(content) => {
            (b'+', content.clone())
        }
        Outcome::Failed(failure) => (b'-', failure.encode()),
    };
    Some(std::iter::once(tag).chain(content).collect())
}

fn decode(bytes: &[u8]) -> Option<Outcome> {
    match bytes.split_first()? {
        (b'+', content) => Some(Outcome::Done(content.to_vec())),
        (b'-', content) => Failure::decode(content).map(Outcome::Failed),
        _ => None,
    }
}
