//! Finds the cycle of a classical test by its name, such as `MP+dmb.sy+addr`. It inverts `name`, and asks
//! it for the name of each relaxation, so that no name is stated twice.

use super::dialect::Dialect;
use super::edge::{Dir, Edge};
use super::name::{self, families, threads_of};
use super::syntax;
use litmake_base::diag::{Diag, Result, Source, nearest};

/// The cycle of a test, by its family and a part for each of its threads with two accesses. Parts are
/// names of single relaxations; accesses may be annotated (`MP+popl+poap` in AArch64).
pub fn cycle(dialect: &Dialect, test: &str) -> Result<Vec<Edge>> {
    let (family, rest) = family(test).ok_or_else(|| {
        let begin = test.split('+').next().unwrap_or(test);
        let diag = Diag::new(format!("`{test}` begins with no family's name"));
        match nearest(begin, families()) {
            Some(near) => diag.help(format!("did you mean `{near}`? Families: {}", all_families())),
            None => diag.help(format!("families: {}", all_families())),
        }
    })?;
    let threads: Vec<Vec<Dir>> = threads_of(family)
        .unwrap_or_default()
        .split('+')
        .map(|t| t.chars().map(|c| if c == 'W' { Dir::W } else { Dir::R }).collect())
        .collect();
    let inner = threads.iter().filter(|t| t.len() == 2).count();
    let one_location = name::is_at_one_location(family);
    let parts = parts(rest, inner, if one_location { "pos" } else { "po" }).ok_or_else(|| {
        Diag::new(format!("`{test}` has not one part for each of {inner} threads")).help(format!(
            "as in `{family}{}`, or `{family}` for program order alone",
            "+po".repeat(inner)
        ))
    })?;
    let mut parts = parts.into_iter();
    let mut out = Vec::new();
    for (i, thread) in threads.iter().enumerate() {
        if let [from, to] = thread[..]
            && let Some(part) = parts.next()
        {
            out.push(relaxation(dialect, part, from, to)?);
        }
        let next = &threads[(i + 1) % threads.len()];
        let back = match (thread.last(), next.first()) {
            (Some(Dir::W), Some(Dir::R)) => ["Rfe", "Rfi"],
            (Some(Dir::R), _) => ["Fre", "Fri"],
            _ => ["Coe", "Coi"],
        };
        // One thread goes against itself.
        out.extend(edges(dialect, back[usize::from(threads.len() == 1)]));
    }
    Ok(out)
}

fn all_families() -> String {
    families().collect::<Vec<_>>().join(", ")
}

/// The family at the beginning of a name, the longest that fits, and what is behind it.
fn family(test: &str) -> Option<(&'static str, &str)> {
    let fits = |f: &&'static str| {
        test.strip_prefix(*f).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
    };
    let longest = families().filter(fits).max_by_key(|f| f.len())?;
    Some((longest, &test[longest.len()..]))
}

/// One part for each thread. Without any part, all are program order; one part with an `s` behind it stands
/// for all.
fn parts<'a>(rest: &'a str, count: usize, default: &'a str) -> Option<Vec<&'a str>> {
    let Some(rest) = rest.strip_prefix('+') else { return Some(vec![default; count]) };
    let parts: Vec<&str> = rest.split('+').collect();
    match (&parts[..], count) {
        (_, n) if parts.len() == n => Some(parts),
        ([all], _) => all.strip_suffix('s').map(|part| vec![part; count]),
        _ => None,
    }
}

/// The edges of words that have no wildcard.
fn edges(dialect: &Dialect, word: &str) -> Vec<Edge> {
    syntax::cycle(dialect, &Source::new("", word)).unwrap_or_default()
}

/// The relaxation of a name between two accesses.
fn relaxation(dialect: &Dialect, part: &str, from: Dir, to: Dir) -> Result<Edge> {
    let mut called: Vec<String> = Vec::new();
    for word in syntax::names(dialect) {
        let [edge] = edges(dialect, &word)[..] else { continue };
        let fits = edge.source().is_none_or(|d| d == from) && edge.target().is_none_or(|d| d == to);
        if !fits || edge.is_com() || !edge.is_real() {
            continue;
        }
        let atoms = || std::iter::once(None).chain(dialect.atoms.iter().map(|(_, a)| Some(*a)));
        for a1 in atoms() {
            for a2 in atoms() {
                let edge = Edge { a1, a2, ..edge };
                let name = name::part(dialect, &[edge]);
                if name == part {
                    return Ok(edge);
                }
                if a1.is_none() && a2.is_none() {
                    called.push(name);
                }
            }
        }
    }
    called.sort_unstable();
    called.dedup();
    let diag = Diag::new(format!("{} has nothing called `{part}` here", dialect.arch.name()));
    let list = called.join(", ");
    Err(match nearest(part, called.iter().map(String::as_str)) {
        Some(near) => diag.help(format!("did you mean `{near}`? There are {list}")),
        None => diag.help(format!("there are {list}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::Shape;
    use crate::emit::Style;
    use crate::{Maker, dialect};
    use litmake_litmus::Arch;

    fn shown(arch: Arch, name: &str) -> std::result::Result<String, String> {
        let dialect = dialect::of(arch);
        let cycle = cycle(dialect, name).map_err(|e| e.to_string())?;
        let mut maker = Maker::default();
        maker.make(dialect, &cycle, &Shape::ANY, &Style::default()).map_err(str::to_string)?;
        Ok(maker.draft.name)
    }

    /// A name leads to a cycle, and the cycle back to that name.
    #[test]
    fn names_lead_to_tests_of_these_names() {
        for arch in Arch::ALL.iter().copied().filter(|a| dialect::of(*a).arch == *a) {
            for family in families() {
                // A thread that goes against itself is called by how it comes back, too.
                let shown = shown(arch, family).unwrap_or_else(|e| panic!("{family}: {e}"));
                let (first, _) = shown.split_once("+pos-").unwrap_or((&shown, ""));
                assert_eq!(first, family, "{}", arch.name());
            }
        }
        for (arch, name) in [
            (Arch::AArch64, "MP+dmb.sy+addr"),
            (Arch::AArch64, "MP+popl+poap"),
            (Arch::AArch64, "SB+dmb.sys"),
            (Arch::AArch64, "WRC+data+addr"),
            (Arch::AArch64, "2+2W+dmb.sys"),
            (Arch::AArch64, "IRIW+addrs"),
            (Arch::AArch64, "ISA2+dmb.sy+data+addr"),
            (Arch::AArch64, "CoRR"),
            (Arch::X86_64, "SB+mfences"),
            (Arch::X86_64, "R+po+mfence"),
            (Arch::RiscV, "LB+data+ctrl"),
            (Arch::Ppc, "MP+lwsync+addr"),
            (Arch::Arm, "MP+dmb+ctrl"),
        ] {
            assert_eq!(shown(arch, name).as_deref(), Ok(name), "{}", arch.name());
        }
        assert_eq!(shown(Arch::AArch64, "MP+dmb.sy+dmb.sy").as_deref(), Ok("MP+dmb.sys"));
    }

    #[test]
    fn what_is_no_name_is_answered() {
        let error = |name: &str| shown(Arch::AArch64, name).unwrap_err();
        assert!(error("MPP").contains("did you mean `MP`?"), "{}", error("MPP"));
        assert!(
            error("MP+dmb.sy+adr").contains("did you mean `addr`?"),
            "{}",
            error("MP+dmb.sy+adr")
        );
        assert!(error("MP+dmb.sy+addr+po").contains("one part for each of 2 threads"));
    }
}
