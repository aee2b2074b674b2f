//! `--details FILE`: writes every difference of a run as a line of JSON, with the id of its bug. It
//! holds one difference at a time.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use litmake::diag::{Diag, Result};
use litmake::report::Finding;
use litmake::stage::collect::{Collected, Ran};

/// Writes the differences of a run. A difference that was not looked into has no `id`.
pub fn write(path: &Path, run: &Ran, found: &Collected) -> Result<()> {
    let failed = |e: std::io::Error| Diag::new(format!("cannot write {}: {e}", path.display()));
    #[expect(clippy::disallowed_methods, reason = "what may be millions of lines is never held")]
    let mut out = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    let open: HashMap<(usize, usize, usize), Option<usize>> =
        found.open.iter().map(|o| ((o.node, o.shard, o.row), o.bug)).collect();
    let id = |bug: Option<usize>| bug.map(|b| found.bugs.finding(b).id.clone());
    let mut error = None;
    run.each_difference(&mut |finding, _, place| {
        let known = match finding.id.is_empty() {
            true => id(open.get(&(place.node, place.shard, place.row)).copied().flatten()),
            false => Some(finding.id.clone()),
        };
        if error.is_none() {
            error = line(&mut out, known, &finding).err();
        }
    });
    for (_, finding, bug) in &found.mixes {
        if error.is_none() {
            error = line(&mut out, id(*bug), finding).err();
        }
    }
    match error.map_or_else(|| out.flush(), Err) {
        Ok(()) => Ok(()),
        Err(e) => Err(failed(e)),
    }
}

fn line(out: &mut impl Write, id: Option<String>, f: &Finding) -> std::io::Result<()> {
    let value = serde_json::json!({
        "id": id,
        "class": f.class,
        "family": f.family,
        "label": f.label,
        "test": f.test,
        "profiles": f.profiles,
        "preparation": f.preparation,
        "model_source": f.model_source,
        "model_target": f.model_target,
        "outcomes": f.outcomes,
        "faults": f.faults,
    });
    writeln!(out, "{value}")
}
