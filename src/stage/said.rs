//! The version of each compiler, in its own words.
//!
//! A compiler is asked once; the answer is stored under the compiler's digest. No result depends on
//! it.

use std::path::Path;

use litmake_base::digest::{Digest, Keyer};
use litmake_base::plain;
use litmake_base::records::{Kind, Put, Records};
use litmake_profile::Profile;
use litmake_toolchain::compile::question;
use litmake_toolchain::process::{self, Ended};

/// Longer answers are cut.
const LONG: usize = 120;

/// The words of the compiler with this digest about its version; empty if it says nothing.
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

/// The first line of a compiler's answer to `--version`: empty if it does not know the option, none
/// if it could not be run.
fn version(profile: &Profile, program: &Path) -> Option<String> {
    // Words before the first option choose a tool: `zig cc`.
    let which = profile.args.iter().take_while(|a| !a.starts_with('-')).cloned();
    let args: Vec<String> = which.chain(["--version".to_string()]).collect();
    let stdout = match process::run(&question(profile, program, &args, Path::new("/"))) {
        Ended::Exit { code: 0, stdout, .. } => stdout,
        Ended::Exit { .. } => return Some(String::new()),
        _ => return None,
    };
    let text = String::from_utf8_lossy(&stdout);
    let line = plain::line(text.lines().next().unwrap_or("").trim()).into_owned();
    Some(line.chars().take(LONG).collect())
}
