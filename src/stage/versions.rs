//! Which compilers a run asked, in the words that they use for themselves.
//!
//! A compiler says its version once; the answer is kept under the digest of the compiler. No result depends
//! on it: it is for people and for the record of runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::compilers::Compilers;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::plain;
use litmake_base::records::{Kind, Put, Records};
use litmake_base::stop;
use litmake_pipeline::plan::Plan;
use litmake_profile::Profile;
use litmake_report::Compiler;
use litmake_toolchain::process::{self, Ended, Request};

/// Longer answers are cut.
const LONG: usize = 120;

/// The compilers of a plan, by the names of its profiles.
pub fn compilers(plan: &Plan, known: &Compilers, records: &dyn Records) -> Vec<Compiler> {
    let all = plan.nodes.iter().flat_map(|n| n.profile.iter().chain(&n.mixed));
    let profiles: BTreeMap<&str, &Arc<Profile>> = all.map(|p| (p.name.as_str(), p)).collect();
    profiles.into_values().map(|profile| compiler(profile, known, records)).collect()
}

fn compiler(profile: &Profile, known: &Compilers, records: &dyn Records) -> Compiler {
    let mut out = Compiler {
        profile: profile.name.clone(),
        compiler: profile.compiler_name(),
        arch: profile.arch.name().to_string(),
        ..Compiler::default()
    };
    let tool = known.tool(profile, records);
    let version = match &tool.program {
        Ok(program) => Some(said(profile, program, tool.digest, records)),
        Err(_) => known.version_away(profile).map(str::to_string),
    };
    if let Some(version) = version {
        out.build = tool.digest.short();
        out.version = version;
    }
    out
}

/// What a compiler of a digest says of its version; empty where it said nothing.
pub fn said(profile: &Profile, program: &Path, digest: Digest, records: &dyn Records) -> String {
    let key = Keyer::new("compiler's version/1").field("digest", &digest.0).finish();
    let kept = records.get(&[key]).pop().flatten().and_then(|b| String::from_utf8(b).ok());
    kept.unwrap_or_else(|| {
        let said = version(profile, program);
        if let Some(said) = &said {
            records.put(&[Put { kind: Kind::Alias, key, value: said.as_bytes() }]);
        }
        said.unwrap_or_default()
    })
}

/// The first line that a compiler says of its version; empty where it does not know the question, and
/// nothing where it did not answer.
fn version(profile: &Profile, program: &Path) -> Option<String> {
    // What comes before options says which tool it is: `zig cc`.
    let which = profile.args.iter().take_while(|a| !a.starts_with('-')).cloned();
    let args: Vec<String> = which.chain(["--version".to_string()]).collect();
    let request = Request {
        program,
        args: &args,
        env: &profile.env,
        dir: Path::new("/"),
        timeout: Duration::from_secs(10),
        memory_mib: profile.memory_mib,
        processors: 1,
        stop: stop::of_the_process(),
    };
    let stdout = match process::run(&request) {
        Ended::Exit { code: 0, stdout, .. } => stdout,
        Ended::Exit { .. } => return Some(String::new()),
        _ => return None,
    };
    let text = String::from_utf8_lossy(&stdout);
    let line = plain::line(text.lines().next().unwrap_or("").trim()).into_owned();
    Some(line.chars().take(LONG).collect())
}
