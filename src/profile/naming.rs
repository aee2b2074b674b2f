//! The profiles that a word stands for: a name, its parts in any order, a pattern, or a list.
//!
//! A word such as `clang-aarch64` has some parts of a profile's name. What it leaves out is taken to
//! be the newest installed version, this machine's target, and the level O2. This file does not know
//! how compilers are found: it asks [`Files::installed`].

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use litmake_base::diag::{Diag, Result, nearest};

use super::family::Library;
use super::files::Files;
use super::{Profile, Profiles, builds, shorten};

/// The level of words that name none.
const LEVEL: &str = "O2";

/// The compilers that are asked if nobody names any, and the targets that are common.
const USUAL: [&str; 2] = ["clang", "gcc"];
const COMMON: [&str; 4] = ["x86_64", "aarch64", "armv7", "riscv64"];

/// This machine's target, as profiles call it.
pub fn host() -> &'static str {
    match std::env::consts::ARCH {
        "arm" => "armv7",
        "x86" => "i386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

/// Other names of targets, by which people know them.
const ALIASES: [(&str, &str); 8] = [
    ("arm64", "aarch64"),
    ("amd64", "x86_64"),
    ("x64", "x86_64"),
    ("arm", "armv7"),
    ("riscv", "riscv64"),
    ("ppc64el", "ppc64le"),
    ("powerpc64le", "ppc64le"),
    ("i686", "i386"),
];

fn parts(name: &str) -> Vec<&str> {
    name.split('-').filter(|part| !part.is_empty()).collect()
}

/// The parts that a word asks for, with targets as profiles call them.
fn parts_asked(word: &str) -> Vec<&str> {
    let alias = |part: &str| ALIASES.iter().find(|(other, _)| *other == part).map(|(_, own)| *own);
    parts(word).into_iter().map(|part| alias(part).unwrap_or(part)).collect()
}

/// The parts of `all` without those of `some`; none if it lacks one of these.
fn without<'a>(all: &[&'a str], some: &[&str]) -> Option<Vec<&'a str>> {
    let mut rest = all.to_vec();
    for part in some {
        rest.remove(rest.iter().position(|p| p == part)?);
    }
    Some(rest)
}

fn is_level(part: &str) -> bool {
    part.len() > 1 && part.starts_with('O')
}

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '{', '['])
}

fn is_path(word: &str) -> bool {
    word.ends_with(".yaml") || word.ends_with(".yml") || word.contains('/')
}

impl Profile {
    /// The parts of the name that tell families apart: all but the version and the level.
    fn kind(&self) -> Vec<&str> {
        let mut out = parts(&self.name);
        if let Some(at) = self.version().and_then(|v| out.iter().position(|p| *p == v)) {
            out.remove(at);
        }
        out.retain(|part| !is_level(part));
        out
    }

    fn level(&self) -> Option<&str> {
        parts(&self.name).into_iter().rfind(|part| is_level(part))
    }
}

impl Profiles {
    /// The profiles that a word stands for, in order: one for a name or some of its parts, the
    /// installed ones that fit for a pattern, and those of each word in a list.
    pub fn named(
        &self,
        library: &dyn Library,
        dir: &Path,
        word: &str,
    ) -> Result<Vec<Arc<Profile>>> {
        if let Some(profile) = self.get(word) {
            return Ok(vec![profile]);
        }
        if is_path(word) {
            return Ok(vec![self.find(library, dir, word)?]);
        }
        if word.trim().is_empty() {
            return Ok(Vec::new());
        }
        // A pattern may have commas between its braces.
        if word.contains(',') && !word.contains('{') {
            let words = word.split(',').map(str::trim).filter(|w| !w.is_empty());
            let mut out: Vec<Arc<Profile>> = Vec::new();
            for one in words {
                out.extend(self.named(library, dir, one)?);
            }
            return Ok(out);
        }
        match is_pattern(word) {
            true => self.matching(library.files(), word),
            false => Ok(vec![self.find(library, dir, word)?]),
        }
    }

    /// The installed profiles that fit a pattern, each family in the order of its versions.
    fn matching(&self, files: &dyn Files, pattern: &str) -> Result<Vec<Arc<Profile>>> {
        let glob = globset::Glob::new(pattern)
            .map_err(|e| Diag::new(format!("the pattern `{pattern}`: {e}")))?
            .compile_matcher();
        let fits: Vec<&Arc<Profile>> = self.iter().filter(|p| glob.is_match(&p.name)).collect();
        let mut found: Vec<Arc<Profile>> = installed(files, &fits);
        found.sort_by(|a, b| a.family.cmp(&b.family).then(a.by_age(b)).then(a.name.cmp(&b.name)));
        if !found.is_empty() {
            return Ok(found);
        }
        let diag = Diag::new(format!("no installed compiler has a profile `{pattern}`"));
        Err(match (fits.first(), nearest(pattern, self.names())) {
            (Some(one), _) => diag.help(format!(
                "{} would fit, but `{}` is not installed; `litmake doctor` says how to get it",
                one.name, one.compiler
            )),
            (None, Some(near)) => diag.help(format!("there is `{near}`")),
            (None, None) => diag.help("`litmake list profiles` lists the families"),
        })
    }

    /// The one profile with these parts in its name: the newest installed version, for this
    /// machine's target and at O2 if the word does not say otherwise.
    pub(super) fn by_parts(
        &self,
        library: &dyn Library,
        dir: &Path,
        word: &str,
    ) -> Result<Arc<Profile>> {
        if is_pattern(word) {
            let found = self.matching(library.files(), word)?;
            return match &found[..] {
                [one] => Ok(one.clone()),
                _ => Err(Diag::new(format!("`{word}` stands for {} profiles", found.len()))
                    .help(format!("name one of them: {}", names(found.iter())))),
            };
        }
        let asked = parts_asked(word);
        if asked.is_empty() {
            return Err(self.unknown(word));
        }
        let mut fits: Vec<&Arc<Profile>> =
            self.iter().filter(|p| without(&parts(&p.name), &asked).is_some()).collect();
        if fits.is_empty() {
            return self.unlisted(library, dir, word);
        }
        fits = self.of_one_family(word, &asked, fits)?;
        let there = installed(library.files(), &fits);
        let newest =
            |all: &mut dyn Iterator<Item = &Arc<Profile>>| all.max_by(|a, b| a.by_age(b)).cloned();
        if let Some(one) = newest(&mut there.iter()) {
            return Ok(one);
        }
        let one = newest(&mut fits.into_iter()).ok_or_else(|| self.unknown(word))?;
        // A compiler without a version in its name, as most distributions have it.
        let says_version = one.version().is_none_or(|version| asked.contains(&version));
        let plain = builds::parts(&one.compiler).1;
        match self.of_build(library, dir, &one.name, plain) {
            Ok(build) if !says_version && library.files().installed(&build.compiler) => Ok(build),
            _ => Ok(one),
        }
    }

    /// Of the profiles that fit, those of the family with the fewest further parts in its name, at
    /// one level.
    fn of_one_family<'a>(
        &self,
        word: &str,
        asked: &[&str],
        mut fits: Vec<&'a Arc<Profile>>,
    ) -> Result<Vec<&'a Arc<Profile>>> {
        let further = |p: &Profile| {
            let kind = p.kind().join("-");
            parts(&kind).into_iter().filter(|part| !asked.contains(part)).count()
        };
        let least = fits.iter().map(|p| further(p)).min().unwrap_or(0);
        fits.retain(|p| further(p) == least);
        let kinds = |fits: &[&Arc<Profile>]| -> BTreeSet<String> {
            fits.iter().map(|p| p.kind().join("-")).collect()
        };
        if kinds(&fits).len() > 1 && fits.iter().any(|p| p.kind().contains(&host())) {
            fits.retain(|p| p.kind().contains(&host()));
        }
        let several = kinds(&fits);
        if several.len() > 1 {
            let several: Vec<&str> = several.iter().map(String::as_str).collect();
            return Err(Diag::new(format!("`{word}` fits several profiles"))
                .help(format!("say which: {}", shorten(&several))));
        }
        if fits.iter().any(|p| p.level() == Some(LEVEL)) && !asked.iter().any(|a| is_level(a)) {
            fits.retain(|p| p.level() == Some(LEVEL));
        }
        let levels: BTreeSet<Option<&str>> = fits.iter().map(|p| p.level()).collect();
        match levels.len() {
            0 | 1 => Ok(fits),
            _ => Err(Diag::new(format!("`{word}` fits several profiles"))
                .help(format!("say which: {}", names(fits.into_iter())))),
        }
    }

    /// A version of a compiler that no profile lists, if it is installed.
    fn unlisted(&self, library: &dyn Library, dir: &Path, word: &str) -> Result<Arc<Profile>> {
        let asked = parts_asked(word);
        let is_version = |part: &&&str| part.starts_with(|c: char| c.is_ascii_digit());
        let Some(version) = asked.iter().find(is_version) else { return Err(self.unknown(word)) };
        let rest: Vec<&str> = asked.iter().filter(|p| *p != version).copied().collect();
        let Ok(like) = self.by_parts(library, dir, &rest.join("-")) else {
            return Err(self.unknown(word));
        };
        if like.version().is_none() {
            return Err(self.unknown(word));
        }
        let tool = builds::parts(&like.compiler).1;
        let base = like.name.split('@').next().unwrap_or(&like.name);
        let build = self.of_build(library, dir, base, &format!("{tool}-{version}"))?;
        if library.files().installed(&build.compiler) {
            return Ok(build);
        }
        let of_family = |p: &&Arc<Profile>| p.kind() == like.kind() && p.level() == like.level();
        let mut known: Vec<&Arc<Profile>> = self.iter().filter(of_family).collect();
        known.sort_by(|a, b| a.by_age(b));
        let versions = |all: &mut dyn Iterator<Item = &Arc<Profile>>| {
            all.filter_map(|p| p.version()).collect::<Vec<_>>().join(", ")
        };
        let there = installed(library.files(), &known);
        let help = match there.is_empty() {
            true => format!("profiles have the versions {}", versions(&mut known.into_iter())),
            false => format!("installed are {}", versions(&mut there.iter())),
        };
        Err(Diag::new(format!(
            "there is no profile `{word}`, and no `{}` is installed",
            build.compiler
        ))
        .help(help))
    }

    /// The error that no profile has such a name.
    fn unknown(&self, word: &str) -> Box<Diag> {
        // A misspelt name is less likely than a profile that cannot be read.
        if let Some(broken) = self.broken.first() {
            return broken.clone();
        }
        let diag = Diag::new(format!("there is no profile `{word}`"));
        let all: BTreeSet<&str> = self.names().flat_map(parts).collect();
        let asked = parts_asked(word);
        let strange: Vec<&&str> = asked.iter().filter(|part| !all.contains(**part)).collect();
        if let [part] = strange[..]
            && let Some(near) = self.meant(part, &asked)
        {
            let meant: Vec<&str> =
                asked.iter().map(|p| if p == part { &*near } else { p }).collect();
            return diag.help(format!("did you mean `{}`?", meant.join("-")));
        }
        if let (true, Some(near)) = (strange.is_empty(), nearest(word, self.names())) {
            return diag.help(format!("did you mean `{near}`?"));
        }
        diag.help(match strange.first() {
            Some(part) => format!(
                "no profile has the part `{part}`; `litmake list profiles` lists what there is"
            ),
            None => "no profile has all of these parts; `litmake list profiles WORD...` searches"
                .to_string(),
        })
    }

    /// The part that a misspelt one was probably meant to be: among those that go together with the
    /// other parts.
    fn meant(&self, part: &str, asked: &[&str]) -> Option<String> {
        // `clang22`, without a dash.
        let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        if digits < part.len() && self.iter().any(|p| p.tool() == &part[..digits]) {
            return Some(format!("{}-{}", &part[..digits], &part[digits..]));
        }
        let others: Vec<&str> = asked.iter().filter(|p| **p != part).copied().collect();
        let beside = self.names().filter_map(|name| without(&parts(name), &others));
        nearest(part, beside.flatten().collect::<BTreeSet<&str>>()).map(String::from)
    }

    /// The profiles that are asked if nobody names any: clang and gcc, the newest installed
    /// versions, for this machine's target and the common ones, at O2. Without both, zig's clang.
    pub fn usual(&self, library: &dyn Library) -> Vec<Arc<Profile>> {
        let targets: BTreeSet<&str> = COMMON.into_iter().filter(|t| *t != host()).collect();
        let targets = || std::iter::once(host()).chain(targets.iter().copied());
        let of = |tools: &[&str]| -> Vec<Arc<Profile>> {
            let words = tools.iter().flat_map(|tool| targets().map(move |t| format!("{tool}-{t}")));
            let found = words.filter_map(|word| self.find(library, Path::new("."), &word).ok());
            found.filter(|p| library.files().installed(&p.compiler)).collect()
        };
        let usual = of(&USUAL);
        if usual.is_empty() { of(&["zig"]) } else { usual }
    }
}

/// Those of some profiles whose compilers are installed.
fn installed(files: &dyn Files, profiles: &[&Arc<Profile>]) -> Vec<Arc<Profile>> {
    let mut known: std::collections::HashMap<&str, bool> = std::collections::HashMap::new();
    let mut there = |p: &Profile, compiler| {
        *known.entry(compiler).or_insert_with(|| files.installed(&p.compiler))
    };
    profiles.iter().filter(|p| there(p, &p.compiler)).map(|p| Arc::clone(p)).collect()
}

fn names<'a>(profiles: impl Iterator<Item = &'a Arc<Profile>>) -> String {
    let names: Vec<&str> = profiles.map(|p| p.name.as_str()).collect();
    shorten(&names)
}

#[cfg(test)]
mod tests;
