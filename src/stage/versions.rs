//! Lists the compilers of a run, with their versions in their own words.
//!
//! No result depends on it: it is for people and for the record of runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compilers::Compilers;
use super::said::said;
use litmake_base::records::Records;
use litmake_pipeline::plan::Plan;
use litmake_profile::Profile;
use litmake_report::Compiler;

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
