//! Investigates a wrong mix: finds a smaller test that shows it between the same profiles, and a
//! barrier that makes every mix right if one profile adds it to all of its code for an operation.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{CANDIDATES, Chain, Investigator, places};
use crate::simulate::Allowed;
use crate::split;
use crate::verdict::{Verdict, judge};
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_litmus::{self as litmus, Test, canon};
use litmake_mix::link::{Faults, Linked, faults, link};
use litmake_mix::mend::{barriers, with_barrier};
use litmake_mix::{self as mix, By, Split, notation};
use litmake_pipeline::kinds::Kind;
use litmake_profile::Profile;
use litmake_reduce::{asking, settle};
use litmake_report::evidence::{Mend, Reduced};
use litmake_report::{Finding, Outcomes};

/// A test with more mixes than this is not investigated.
const MIXES: usize = 256;

/// The largest number of barriers that are tried.
const TRIALS: usize = 96;

/// The largest number of candidates to reduce one test; all mixes of each candidate are judged.
const SMALLER: usize = CANDIDATES / 4;

/// The stages behind a comparison of mixes, for the profiles of one finding.
pub(super) struct Way {
    pub(super) by: By,
    /// The `compile` node of each profile, in the plan.
    pub(super) compiles: Vec<(usize, Arc<Profile>)>,
    target: usize,
    sources: Vec<usize>,
}

/// A test in parts, the code of each profile for these, and the outcomes that the models of the
/// source allow.
struct Case {
    test: Test,
    split: Split,
    /// By profile, then by part.
    parts: Vec<Vec<Option<Test>>>,
    allowed: Vec<Allowed>,
}

/// All mixes of a case, with their verdicts.
struct Judged {
    linked: Linked,
    texts: Vec<String>,
    verdicts: Vec<Option<Verdict>>,
    faults: Faults,
}

impl Investigator<'_> {
    /// Investigates a wrong mix, and adds the results to the finding.
    pub(super) fn mixing(&mut self, finding: &mut Finding, compare: usize) {
        let Some(way) = self.way(finding, compare) else { return };
        let read = litmus::read(&Source::new(finding.test.clone(), finding.source.as_str()));
        let Ok(test) = read else { return };
        let Some(case) = self.case(&way, &test) else { return };
        let Some(judged) = self.judged(&way, &case, &case.parts) else { return };
        let Some(strict) = wrong(&judged, &[], way.compiles.len()) else { return };
        let strict: Vec<bool> = strict.also.iter().map(|n| *n > 0).collect();
        let small = self.smaller(&way, &test, finding, &strict);
        let case = match small.as_ref().and_then(|test| self.case(&way, test)) {
            Some(case) => {
                self.told(&way, &case, &strict, finding);
                case
            }
            None => case,
        };
        finding.mends = self.mends(&way, &case);
    }

    /// The verdict on a test that one profile compiles in parts.
    pub(super) fn in_parts(
        &mut self,
        chain: &Chain,
        by: By,
        profile: &Arc<Profile>,
        test: &Test,
    ) -> Result<Verdict, Failure> {
        let way = Way {
            by,
            compiles: vec![(chain.compile, profile.clone())],
            target: chain.target,
            sources: chain.sources.clone(),
        };
        let case = self.case(&way, test).ok_or("the test cannot be taken apart")?;
        let judged = self.judged(&way, &case, &case.parts).ok_or("its parts cannot be joined")?;
        judged.verdicts.into_iter().flatten().next().ok_or_else(|| "nothing was judged".into())
    }

    pub(super) fn way(&self, finding: &Finding, compare: usize) -> Option<Way> {
        let nodes = &self.plan.nodes;
        let inputs = &nodes[compare].inputs;
        let (source, target) = (*inputs.first()?, *inputs.get(1)?);
        let link = &nodes[*nodes[target].inputs.first()?];
        // Mixes that a linker joined are investigated by splicing, which allows the same outcomes.
        let Kind::Link(_) = &link.kind else { return None };
        let mut compiles = Vec::new();
        for name in &finding.profiles {
            let of = |n: &&usize| nodes[**n].profile.as_ref().is_some_and(|p| p.name == *name);
            let node = *link.inputs.iter().find(of)?;
            compiles.push((node, nodes[node].profile.clone()?));
        }
        let split = *nodes[compiles.first()?.0].inputs.first()?;
        let Kind::Split(options) = &nodes[split].kind else { return None };
        let sources = [source].into_iter().chain(inputs[2..].iter().copied()).collect();
        Some(Way { by: split::by(options.by), compiles, target, sources })
    }

    fn case(&mut self, way: &Way, test: &Test) -> Option<Case> {
        let split = mix::split(test, way.by).ok()?;
        let text = litmus::write(test).into_bytes();
        let mut allowed = Vec::new();
        for node in &way.sources {
            let piece = self.piece(*node, None);
            let outcome = self.apply(piece, std::slice::from_ref(&text)).pop()?.ok()?;
            allowed.push(Allowed::decode(&outcome).ok()?);
        }
        let texts: Vec<Vec<u8>> =
            split.pieces.iter().map(|p| p.text.clone().into_bytes()).collect();
        let mut parts = Vec::new();
        for (node, profile) in &way.compiles {
            let piece = self.piece(*node, Some(profile));
            let code = self.apply(piece, &texts);
            let read = |code: Result<Vec<u8>, Failure>| {
                let text = String::from_utf8(code.ok()?).ok()?;
                litmus::read(&Source::new("part", text)).ok()
            };
            parts.push(code.into_iter().map(read).collect());
        }
        Some(Case { test: test.clone(), split, parts, allowed })
    }

    /// Judges all mixes of a case in which its parts have this code.
    fn judged(&mut self, way: &Way, case: &Case, parts: &[Vec<Option<Test>>]) -> Option<Judged> {
        let context = self.context;
        let stop = || context.stopped();
        let (linked, texts) = link(&case.test, &case.split, parts, None, None, &stop)?;
        if texts.len() > MIXES || linked.usable.len() < parts.len() {
            return None;
        }
        let piece = self.piece(way.target, None);
        let items: Vec<Vec<u8>> = texts.iter().map(|t| t.clone().into_bytes()).collect();
        let (first, further) = case.allowed.split_first()?;
        let verdict = |outcome: Result<Vec<u8>, Failure>| {
            judge(first, &Allowed::decode(&outcome.ok()?).ok()?, further).ok()
        };
        let verdicts: Vec<Option<Verdict>> =
            self.apply(piece, &items).into_iter().map(verdict).collect();
        let bad = |at: usize| verdicts[at].as_ref().is_some_and(Verdict::is_finding);
        let faults = faults(&linked, &case.test, &case.split, &bad);
        Some(Judged { linked, texts, verdicts, faults })
    }

    /// A smaller test that shows the same between the same profiles.
    fn smaller(
        &mut self,
        way: &Way,
        test: &Test,
        finding: &Finding,
        strict: &[bool],
    ) -> Option<Test> {
        let shows = |me: &mut Self, test: &Test| {
            let judged = me.case(way, test).and_then(|c| me.judged(way, &c, &c.parts));
            judged.is_some_and(|j| {
                wrong(&j, strict, way.compiles.len()).is_some_and(|v| !v.source.is_empty())
            })
        };
        let forbidden = finding.outcomes.forbidden.iter();
        let start = forbidden
            .filter_map(|outcome| asking(test, &places(outcome)?))
            .find(|asked| shows(self, asked))?;
        Some(settle(&start, SMALLER, &mut |tests| {
            tests.iter().map(|t| !self.context.stopped() && shows(self, t)).collect()
        }))
    }

    /// Puts a smaller test and its wrong mix into the finding.
    fn told(&mut self, way: &Way, case: &Case, strict: &[bool], finding: &mut Finding) {
        let all = way.compiles.len();
        let Some(judged) = self.judged(way, case, &case.parts) else { return };
        let Some(at) = fault(&judged, strict, all) else { return };
        let (_, assignment, test) = &judged.faults.faults[at];
        let Some(verdict) = judged.verdicts[*test].clone() else { return };
        let best = verdict.positive.first().and_then(|o| asking(&case.test, &places(o)?));
        let best = best.unwrap_or_else(|| case.test.clone());
        let source = litmus::write(&best);
        let name = |i: usize| way.compiles[judged.linked.usable[assignment[i]]].1.name.clone();
        finding.reproducer = source.clone();
        finding.reduced = Some(Reduced {
            source,
            mix: notation(&case.split, &name),
            target: judged.texts[*test].clone(),
            thread: None,
            outcomes: Outcomes {
                forbidden: verdict.positive,
                source: verdict.source,
                target: verdict.target,
            },
            digest: canon::canonical_hash(&best).to_hex()[..16].to_string(),
        });
    }

    /// The barriers that make every mix of the profiles right, the weakest one at each place.
    fn mends(&mut self, way: &Way, case: &Case) -> Vec<Mend> {
        let Some(arch) = way.compiles.first().map(|(_, p)| p.arch) else { return Vec::new() };
        let barriers = barriers(arch);
        let Some((strongest, weaker)) = barriers.split_last() else { return Vec::new() };
        let mut out: Vec<(usize, Mend)> = Vec::new();
        let mut trials = TRIALS;
        let mut seen = BTreeSet::new();
        for (i, piece) in case.split.pieces.iter().enumerate().filter(|(_, p)| p.chosen) {
            for (p, (_, profile)) in way.compiles.iter().enumerate() {
                let text = |q: usize| case.parts[q][i].as_ref().map(canon::canonical_text);
                let differs = (0..way.compiles.len()).any(|q| text(q) != text(p));
                if !differs || !seen.insert((p, piece.text.clone())) {
                    continue;
                }
                for before in [true, false] {
                    let mut mended = |me: &mut Self, barrier: &str| {
                        trials = trials.saturating_sub(1);
                        trials > 0 && me.mended(way, case, (p, &piece.text), barrier, before)
                    };
                    if !mended(self, strongest) {
                        continue;
                    }
                    let found = weaker.iter().position(|b| mended(self, b));
                    let n = found.unwrap_or(weaker.len());
                    let operation = piece.operation(&case.test);
                    out.push((
                        n,
                        Mend {
                            profile: profile.name.clone(),
                            operation: operation.unwrap_or_else(|| piece.source.clone()),
                            barrier: barriers[n].to_string(),
                            before,
                        },
                    ));
                }
            }
        }
        out.sort_by_key(|(n, _)| *n);
        out.into_iter().map(|(_, mend)| mend).collect()
    }

    /// Whether all mixes are right if one profile's code for a part has one more barrier.
    fn mended(
        &mut self,
        way: &Way,
        case: &Case,
        (profile, text): (usize, &str),
        barrier: &str,
        before: bool,
    ) -> bool {
        let mut parts = case.parts.clone();
        for (piece, part) in case.split.pieces.iter().zip(&mut parts[profile]) {
            if piece.text == text {
                *part = part.as_ref().map(|part| with_barrier(part, barrier, before));
            }
        }
        self.judged(way, case, &parts).is_some_and(|judged| {
            judged.verdicts.iter().all(|v| v.as_ref().is_some_and(|v| !v.is_finding()))
        })
    }
}

/// A fault that needs all profiles together; `strict` marks the weaker models that must forbid it
/// too.
fn fault(judged: &Judged, strict: &[bool], profiles: usize) -> Option<usize> {
    judged.faults.faults.iter().position(|(set, _, at)| {
        set.len() == profiles
            && judged.verdicts[*at].as_ref().is_some_and(|v| {
                !v.positive.is_empty() && v.also.iter().zip(strict).all(|(n, s)| !s || *n > 0)
            })
    })
}

fn wrong<'a>(judged: &'a Judged, strict: &[bool], profiles: usize) -> Option<&'a Verdict> {
    let at = fault(judged, strict, profiles)?;
    judged.verdicts[judged.faults.faults[at].2].as_ref()
}
