//! Lists the tests that a run judged: those of each comparison, and of each stage that runs tests.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Ran, each_row};
use litmake_devices::record::Record;
use litmake_engine::rows::State;
use litmake_engine::run::Root;
use litmake_pipeline::kinds::Kind;
use litmake_report::coverage::{Coverage, Gather, TestNumber};

/// The tests that were judged, and those that differ. None if nothing was judged.
pub fn coverage(run: &Ran) -> Option<Coverage> {
    let mut out = Gather::default();
    let mut lists = Lists::default();
    for (i, node) in run.plan.nodes.iter().enumerate() {
        if !node.kind.options().judges() {
            continue;
        }
        let at = run.built.node_of[i];
        let Some(root) = run.engine.root_table(at) else { continue };
        let known = lists.known(&root, &mut out);
        let mut tests = Vec::with_capacity(known.len());
        for (s, shard) in run.engine.shards_of(at).into_iter().enumerate() {
            let (Some(_), Ok(cells)) = (shard, run.engine.cells(at, s)) else { continue };
            let places = known[root.bounds[s]..root.bounds[s + 1]].iter();
            let usable = places.zip(&cells).filter(|(_, cell)| cell.state.usable());
            tests.extend(usable.map(|(test, cell)| (*test, cell.state == State::Finding)));
        }
        match (&node.profile, &node.mixed[..]) {
            (Some(profile), []) => {
                out.add_known(std::slice::from_ref(&profile.name), false, tests.into_iter());
            }
            (None, []) if matches!(node.kind, Kind::Run(_)) => {
                // The tests of a device are listed under its name, like its findings.
                let differs: HashSet<TestNumber> =
                    tests.into_iter().filter(|(_, differs)| *differs).map(|(t, _)| t).collect();
                let mut devices: BTreeMap<String, Vec<(TestNumber, bool)>> = BTreeMap::new();
                let read =
                    |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| e.to_string().into());
                each_row(
                    run.engine,
                    at,
                    &mut super::Decoded::default(),
                    read,
                    |name, record: &Record| {
                        let test = out.test(name);
                        let seen = (test, differs.contains(&test));
                        devices.entry(record.device.clone()).or_default().push(seen);
                    },
                );
                for (device, tests) in devices {
                    out.add_known(std::slice::from_ref(&device), false, tests.into_iter());
                }
            }
            (None, []) => out.add_known(&[], false, tests.into_iter()),
            (_, mixed) => {
                let names: Vec<String> = mixed.iter().map(|p| p.name.clone()).collect();
                out.add_known(&names, true, tests.into_iter());
            }
        }
    }
    out.finish()
}

/// The lists of tests so far. The comparisons of a campaign share a list.
#[derive(Default)]
struct Lists(Vec<(Arc<Root>, Arc<[TestNumber]>)>);

impl Lists {
    fn known(&mut self, root: &Arc<Root>, all: &mut Gather) -> Arc<[TestNumber]> {
        if let Some((_, known)) = self.0.iter().find(|(r, _)| Arc::ptr_eq(r, root)) {
            return known.clone();
        }
        let known: Arc<[TestNumber]> = root.entries.iter().map(|e| all.test(&e.name)).collect();
        self.0.push((root.clone(), known.clone()));
        known
    }
}
