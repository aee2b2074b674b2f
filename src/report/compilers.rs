//! Names compilers by what they say of themselves. It does not know how they are asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The compiler of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compiler {
    /// The profile's name.
    pub profile: String,
    /// The compiler with its version, such as `clang 16`.
    pub compiler: String,
    /// The dialect of its code.
    pub arch: String,
    /// The version as the compiler prints it: `Debian clang version 16.0.6`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The beginning of the digest of all files that the compiler reads. Two builds of one version
    /// differ in it. Empty in a stable report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
}

impl Compiler {
    /// The name of this build: [`compiler_name`], with the build where a version that is not released says
    /// no commit.
    pub fn name(&self) -> String {
        let name = compiler_name(&self.compiler, &self.version);
        let is_told = commit(&self.version).is_some() || self.build.is_empty();
        match is_unreleased(&self.version) && !is_told {
            true => format!("{name} build {}", self.build.chars().take(8).collect::<String>()),
            false => name,
        }
    }
}

/// A compiler's name: its command with the number of the version that it says, and the commit that it
/// is built from if it says one: builds between two releases have one number. The profile's name may
/// have another number, which it took over from a profile that it extends.
pub fn compiler_name(compiler: &str, version: &str) -> String {
    let tool = compiler.split(' ').next().unwrap_or(compiler);
    let is_number = |word: &&str| {
        let (major, rest) = word.split_once('.').unwrap_or((word, ""));
        let digits = |t: &str| t.starts_with(|c: char| c.is_ascii_digit());
        !major.is_empty() && major.chars().all(|c| c.is_ascii_digit()) && digits(rest)
    };
    // The packager's version is in parentheses.
    let outside: String = version
        .split('(')
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once(')').map_or("", |p| p.1) })
        .collect();
    let number = outside.split_whitespace().find(is_number);
    match number.map(|n| n.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())) {
        Some(number) => match commit(version) {
            Some(commit) => format!("{tool} {number} {commit}"),
            None => format!("{tool} {number}"),
        },
        None => compiler.to_string(),
    }
}

/// Whether a version is of no release, so that each build of it differs.
fn is_unreleased(version: &str) -> bool {
    let marks = ["experimental", "prerelease", "nightly", "dev", "devel"];
    // Clang says `23.0.0git`.
    let is_git = |w: &str| w.ends_with("git") && w.starts_with(|c: char| c.is_ascii_digit());
    let mut words = version.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|w| marks.contains(&w) || is_git(w))
}

/// The commit in a version, as compilers print it: `(https://github.com/x.git HASH)`, and
/// `(++20261101+HASH-1)` in packages of Debian; gcc's `[master r17-123-gHASH]` with its number; the short
/// hash of `rustc 1.95.0-nightly (HASH 2026-11-01)`. A gcc that was built without its revision says the day.
fn commit(version: &str) -> Option<&str> {
    const SHOWN: usize = 12;
    let is_unreleased = is_unreleased(version);
    let least = if is_unreleased { 7 } else { SHOWN };
    let words = || version.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let hash = |word: &&str| {
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        word.len() >= least && word.chars().all(is_hex) && word.contains(|c| c > '9')
    };
    let revision = |word: &&str| {
        let parts: Vec<&str> = word.split('-').collect();
        matches!(&parts[..], [r, _, g] if r.starts_with('r') && g.starts_with('g'))
    };
    let own = words().find(revision);
    let day = |word: &&str| {
        is_unreleased && word.len() == 8 && word.starts_with("20") && word.parse::<u32>().is_ok()
    };
    let short = |hash: &'_ str| hash.len().min(SHOWN);
    own.or_else(|| {
        words().flat_map(|word| word.split('-')).find(hash).map(|hash| &hash[..short(hash)])
    })
    .or_else(|| words().find(day))
}
