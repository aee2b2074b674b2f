//! Which tests a run judged: those of each comparison, and of each stage that runs tests.

use std::collections::BTreeMap;

use super::{Ran, each_row};
use litmake_devices::record::Record;
use litmake_engine::rows::State;
use litmake_pipeline::kinds::Kind;
use litmake_report::coverage::{Coverage, Gather};

/// What was judged, and what differs; nothing where nothing was.
pub fn coverage(run: &Ran) -> Option<Coverage> {
    let mut out = Gather::default();
    for (i, node) in run.plan.nodes.iter().enumerate() {
        if !node.kind.options().judges() {
            continue;
        }
        let at = run.built.node_of[i];
        let Some(root) = run.engine.root_table(at) else { continue };
        let shards = run.engine.shards_of(at).into_iter().enumerate();
        let cells = shards.filter_map(|(s, shard)| {
            shard?;
            Some((s, run.engine.cells(at, s).ok()?))
        });
        let rows = cells.flat_map(|(s, cells)| {
            let names = root.rows(s).iter().map(|row| &*row.name);
            let states = cells.iter().map(|c| c.state).collect::<Vec<_>>();
            names.zip(states).filter(|(_, state)| state.usable())
        });
        let tests = rows.map(|(name, state)| (name, state == State::Finding));
        match (&node.profile, &node.mixed[..]) {
            (Some(profile), []) => out.add(std::slice::from_ref(&profile.name), false, tests),
            (None, []) if matches!(node.kind, Kind::Run(_)) => {
                // Tests of a device are counted under its name, as its findings are.
                let differs: BTreeMap<&str, bool> = tests.collect();
                let mut devices: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
                let read =
                    |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| e.to_string().into());
                each_row(run.engine, at, read, |name, record: &Record| {
                    let differs = differs.get(name).copied().unwrap_or_default();
                    devices.entry(record.device.clone()).or_default().push((name.into(), differs));
                });
                for (device, tests) in devices {
                    out.add(
                        std::slice::from_ref(&device),
                        false,
                        tests.iter().map(|(n, d)| (n.as_str(), *d)),
                    );
                }
            }
            (None, []) => out.add(&[], false, tests),
            (_, mixed) => {
                let names: Vec<String> = mixed.iter().map(|p| p.name.clone()).collect();
                out.add(&names, true, tests);
            }
        }
    }
    out.finish()
}
