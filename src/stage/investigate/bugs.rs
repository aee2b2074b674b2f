//! Finds the bug of each difference.
//!
//! The smallest difference whose bug is not known is reduced to a test and its core
//! (`reduce::core`): that is a bug. Differences whose mechanism is that of a known bug wait until all
//! others were looked at. Then every difference that is still open gets a cheap check:
//! does its test still show the difference if it keeps only what this core needs? This takes a few
//! tests, where reducing takes hundreds. A difference that none of them shows is another bug, or
//! the next one to reduce. Differences that the budget does not reach stay open and are counted as
//! such. A difference is never joined with a bug that it was not seen to show, nor with one of
//! another mechanism: a smaller test may show another bug than the whole one.
//!
//! A mix in which one profile made every part is a difference of that profile like any other. Most
//! of these show if the test is compiled as a whole, and are then checked in that way.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hidden;
use super::{CANDIDATES, Chain, FINDINGS, Investigator, places};
use crate::collect::{Collected, Open, Ran, form};
use crate::verdict::Verdict;
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_engine::events::Event;
use litmake_litmus::{self as litmus, Test, canon};
use litmake_pipeline::kinds::Kind;
use litmake_profile::Profile;
use litmake_reduce::within::Needs;
use litmake_reduce::{Core, asking, core, normal, settle, within};
use litmake_report::bugs::{Rest, rank};
use litmake_report::evidence::Reduced;
use litmake_report::mechanism::Mechanism;
use litmake_report::{Class, Finding, Outcomes};

/// Limits of an investigation, and what is known before it.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The longest time.
    pub time: Duration,
    /// The longest time in which a difference is reduced, if that is limited.
    pub each: Option<Duration>,
    /// The largest number of tests that check whether a difference shows a known bug.
    pub questions: usize,
    /// The mechanisms of bugs that are known already.
    pub known: Vec<Mechanism>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { time: Duration::from_secs(600), each: None, questions: 50_000, known: Vec::new() }
    }
}

/// The number of differences that are checked together.
const TOGETHER: usize = 256;

/// The largest number of tests that become bugs of their own if nothing is reduced.
const FORMS: usize = 1000;

/// A bug that was reduced.
struct ReducedBug {
    bug: usize,
    class: Class,
    family: String,
    /// The form of the test that it was found with, before reduction.
    form: u64,
    mechanism: Option<Mechanism>,
    test: Test,
    core: Core,
    needs: Needs,
}

/// One of the collected differences, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Open(usize),
    Mix(usize),
}

impl At {
    fn difference(self, found: &Collected, run: &Ran) -> Option<(usize, Finding)> {
        match self {
            At::Open(i) => run.difference(&found.open[i]),
            At::Mix(i) => found.mixes.get(i).map(|(stage, finding, _)| (*stage, finding.clone())),
        }
    }

    fn bug(self, found: &mut Collected) -> &mut Option<usize> {
        match self {
            At::Open(i) => &mut found.open[i].bug,
            At::Mix(i) => &mut found.mixes[i].2,
        }
    }
}

/// An open difference, with what its test needs if that is known.
struct Case {
    open: At,
    stage: usize,
    finding: Finding,
    needs: Option<Needs>,
    /// The form of its test, before reduction.
    form: u64,
}

/// The state of an investigation.
struct Search<'a, 'r> {
    run: &'a Ran<'r>,
    budget: Budget,
    started: Instant,
    /// Says how many differences are done, and the test of the next one.
    tell: &'a dyn Fn(u64, &str),
    done: u64,
    /// So many tests may still be asked whether they show a known bug.
    questions: usize,
    known: Vec<ReducedBug>,
    /// The mechanisms of differences, as far as they were asked for.
    mechanisms: HashMap<At, Vec<Mechanism>>,
    /// How many differences of each stage were reduced.
    tried: BTreeMap<usize, u64>,
    /// The needs and the form of the tests that were asked.
    kinds: HashMap<At, (Option<Needs>, u64)>,
    /// The tests that are bugs of their own, since nothing is reduced.
    forms: usize,
    /// Bugs whose tests have no form in common, by class and family.
    survivors: BTreeMap<(Class, String), usize>,
}

/// The result of looking at a difference.
enum Looked {
    /// It is no difference any more.
    Gone,
    /// It may not be reduced.
    Waits,
    /// It is an occurrence of a bug.
    Is(usize),
    /// It is the first of a bug.
    New(Box<ReducedBug>),
}

/// How much of a difference's mechanism is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Familiar {
    New,
    /// The mechanism is that of bugs of other targets.
    Elsewhere,
    /// The mechanism is that of bugs of its target.
    Known,
}

/// A reduced difference.
struct Smaller {
    form: u64,
    reduced: Reduced,
    test: Test,
    core: Core,
}

impl Investigator<'_> {
    /// Finds the bug of each open difference.
    pub fn bugs(&mut self, found: &mut Collected, run: &Ran, budget: Budget) {
        let listener = self.listener;
        let all = in_order(found, run);
        let time = budget.time;
        let of = (all.len() + found.mixes.len()) as u64;
        let tell = |done: u64, test: &str| {
            if of > 0 {
                listener.event(&Event::Investigating { done, findings: of, test });
            }
        };
        let mut search = Search {
            run,
            questions: budget.questions,
            budget,
            started: Instant::now(),
            tell: &tell,
            done: 0,
            known: Vec::new(),
            mechanisms: HashMap::new(),
            tried: BTreeMap::new(),
            kinds: HashMap::new(),
            forms: 0,
            survivors: BTreeMap::new(),
        };
        // `left` are the differences that were not looked at yet, by how much of their mechanism was known
        // when they were asked; `waiting` may not be reduced any more.
        let mut left: [VecDeque<At>; 3] = [all.into(), VecDeque::new(), VecDeque::new()];
        let mut waiting: Vec<At> = Vec::new();
        while let Some(turn) = left.iter().position(|queue| !queue.is_empty())
            && let Some(first) = left[turn].pop_front()
        {
            if self.is_over(&search) {
                waiting.push(first);
                break;
            }
            let familiar = self.familiar(&mut search, found, first) as usize;
            if familiar > turn {
                left[familiar].push_back(first);
                continue;
            }
            match self.look(&mut search, found, first) {
                Looked::Gone => {}
                Looked::Waits => waiting.push(first),
                Looked::Is(bug) => {
                    search.done += 1;
                    *first.bug(found) = Some(bug);
                }
                Looked::New(known) => {
                    search.done += 1;
                    *first.bug(found) = Some(known.bug);
                    let open: Vec<At> = left.iter().flatten().chain(&waiting).copied().collect();
                    self.against(&mut search, found, &known, open);
                    search.known.push(*known);
                    let mut is_open = |at: &At| at.bug(found).is_none();
                    left.iter_mut().for_each(|queue| queue.retain(&mut is_open));
                    waiting.retain(&mut is_open);
                }
            }
        }
        waiting.extend(left.into_iter().flatten());
        let done = search.done;
        self.mixes(found, &search.started, time, &|n, test| tell(done + n, test));
        let mut rest = Rest::new(found.report.kept_occurrences);
        for at in waiting {
            // Mixes follow below.
            let At::Open(i) = at else { continue };
            let Some((_, f)) = run.difference(&found.open[i]) else { continue };
            let outcomes = f.outcomes;
            rest.add((f.class, &f.family), (&f.test, &f.profiles), || outcomes);
        }
        for (_, f, _) in found.mixes.iter().filter(|(_, _, bug)| bug.is_none()) {
            rest.add((f.class, &f.family), (&f.test, &f.profiles), || f.outcomes.clone());
        }
        found.report.not_looked_into = rest.finish();
        tell(of, "");
    }

    /// How much of a difference's mechanism is known: nothing, or all of it from bugs of another target, or from
    /// bugs of its own. Nothing is asked while no bug is known.
    fn familiar(&self, search: &mut Search, found: &Collected, at: At) -> Familiar {
        let Search { run, budget, known, mechanisms, .. } = search;
        let reduced = known.iter().filter_map(|bug| bug.mechanism.as_ref());
        let known: Vec<&Mechanism> = budget.known.iter().chain(reduced).collect();
        if known.is_empty() {
            return Familiar::New;
        }
        let own = mechanisms.entry(at).or_insert_with(|| self.told_by(run, found, at));
        let all = |is: &dyn Fn(&Mechanism, &Mechanism) -> bool| {
            !own.is_empty() && own.iter().all(|own| known.iter().any(|known| is(own, known)))
        };
        match () {
            () if all(&|own, known| own.is(known)) => Familiar::Known,
            () if all(&|own, known| own.is_alike(known)) => Familiar::Elsewhere,
            () => Familiar::New,
        }
    }

    /// The mechanisms that the whole test of a difference can have.
    fn told_by(&self, run: &Ran, found: &Collected, at: At) -> Vec<Mechanism> {
        let Some((stage, finding)) = at.difference(found, run) else { return Vec::new() };
        let Some(chain) = self.chain(stage).filter(|_| finding.mix.is_empty()) else {
            return Vec::new();
        };
        let Some(profile) = self.plan.nodes[chain.compile].profile.clone() else {
            return Vec::new();
        };
        self.mechanisms(&(chain, profile), &run.example(stage, finding))
    }

    fn is_over(&self, search: &Search) -> bool {
        self.context.stopped() || search.started.elapsed() > search.budget.time
    }

    /// Finds the bug of one difference, by reducing its test.
    fn look(&mut self, search: &mut Search, found: &mut Collected, first: At) -> Looked {
        let run = search.run;
        let Some((stage, finding)) = first.difference(found, run) else { return Looked::Gone };
        (search.tell)(search.done, &finding.test);
        let most = self.most(stage);
        let way = self.alone(stage, &finding);
        if most == 0 {
            // Nothing is reduced: each test is a bug, whatever its name.
            search.forms += 1;
            if search.forms > FORMS {
                return Looked::Waits;
            }
        }
        let hidden = way.as_ref().is_some_and(|way| {
            let test = self.source(&way.0, &finding, run);
            test.is_some_and(|test| self.survives(way, &finding, &test))
        });
        let kind = (finding.class, finding.family.clone());
        if let (true, Some(bug)) = (hidden, search.survivors.get(&kind)) {
            return Looked::Is(count(found, *bug, &finding));
        }
        if most == 0 {
            let finding = run.example(stage, finding);
            if !hidden {
                return self.described(found, stage, finding, way);
            }
            let bug = add_hidden(found, stage, finding);
            search.survivors.insert(kind, bug);
            return Looked::Is(bug);
        }
        let tried = search.tried.entry(stage).or_default();
        if *tried >= most {
            return Looked::Waits;
        }
        *tried += 1;
        let finding = run.example(stage, finding);
        let mut until = search.started + search.budget.time;
        if let Some(each) = search.budget.each {
            until = until.min(Instant::now() + each);
        }
        let smaller = way.as_ref().and_then(|way| self.reduced(way, &finding, run, until));
        if self.context.stopped() {
            return Looked::Waits;
        }
        let Some(smaller) = smaller else {
            // The difference does not show again, or there is no way to take the test apart.
            return self.described(found, stage, finding, way);
        };
        if hidden {
            let reduced = smaller.reduced;
            let reproducer = reduced.source.clone();
            let finding = Finding { reproducer, reduced: Some(reduced), ..finding };
            let bug = add_hidden(found, stage, finding);
            search.survivors.insert(kind, bug);
            return Looked::Is(bug);
        }
        // The reduced test may show an earlier bug that other operations hid.
        if let Some(bug) = self.within_reduced(&search.known, stage, &finding, &smaller.test) {
            return Looked::Is(count(found, bug, &finding));
        }
        let Smaller { form, reduced, test, core } = smaller;
        let finding = match way {
            Some((Chain { parts: None, .. }, _)) => without_mix(finding),
            _ => finding,
        };
        let finding = Finding {
            reproducer: reduced.source.clone(),
            reduced: Some(reduced),
            cause: cause(&test, &core),
            ..finding
        };
        let mechanism = way.and_then(|way| self.mechanism(&way, &finding));
        let finding = Finding { mechanism: mechanism.clone(), ..finding };
        let bug = add(found, stage, finding, &|_| core.key.clone());
        let needs = Needs::of_core(&core);
        let (class, family) = kind;
        let known = ReducedBug { bug, class, family, form, mechanism, test, core, needs };
        Looked::New(Box::new(known))
    }

    /// Adds a difference as the bug of its own test.
    fn described(
        &mut self,
        found: &mut Collected,
        stage: usize,
        finding: Finding,
        way: Option<(Chain, Arc<Profile>)>,
    ) -> Looked {
        let mechanism = way.and_then(|way| self.mechanism(&way, &finding));
        let finding = Finding { mechanism, ..finding };
        Looked::Is(add(found, stage, finding, &|f| form(&f.source)))
    }

    /// Checks open differences against a new bug.
    fn against(
        &mut self,
        search: &mut Search,
        found: &mut Collected,
        newest: &ReducedBug,
        open: Vec<At>,
    ) {
        let mut cases: Vec<Case> = Vec::new();
        for i in open {
            let Some((stage, finding)) = i.difference(found, search.run) else { continue };
            if (finding.class, &finding.family) != (newest.class, &newest.family) {
                continue;
            }
            let known_kind = search.kinds.get(&i).copied();
            if let Some((Some(needs), form)) = known_kind
                && !needs.has(newest.needs)
                && form != newest.form
            {
                continue;
            }
            let (needs, form) = known_kind.unwrap_or((None, 0));
            cases.push(Case { open: i, stage, finding, needs, form });
            if cases.len() == TOGETHER {
                self.ask(search, found, newest, &cases);
                cases.clear();
                (search.tell)(search.done, &found.bugs.finding(newest.bug).test);
                if search.questions == 0 || self.is_over(search) {
                    break;
                }
            }
        }
        self.ask(search, found, newest, &cases);
    }

    /// The known bug that a difference shows if its reduced test keeps only what that bug needs.
    fn within_reduced(
        &mut self,
        known: &[ReducedBug],
        stage: usize,
        finding: &Finding,
        reduced: &Test,
    ) -> Option<usize> {
        let way = self.alone(stage, finding)?;
        let own = self.mechanisms(&way, finding);
        let has = |m: &Mechanism| own.is_empty() || own.iter().any(|own| own.is(m));
        let (chain, profile) = way;
        let needs = Needs::of(reduced);
        let of_its_kind = known
            .iter()
            .filter(|k| k.class == finding.class && k.family == finding.family)
            .filter(|k| needs.has(k.needs) && k.mechanism.as_ref().is_none_or(&has));
        let (bugs, tests): (Vec<usize>, Vec<Test>) = of_its_kind
            .flat_map(|k| within(reduced, &k.core).into_iter().map(|t| (k.bug, t)))
            .unzip();
        let verdicts = self.verdicts(&chain, &profile, &tests);
        bugs.into_iter().zip(verdicts).find(|(_, v)| shows(v, finding)).map(|(bug, _)| bug)
    }

    /// How many differences of a stage may be reduced.
    fn most(&self, stage: usize) -> u64 {
        match &self.plan.nodes[stage].kind {
            Kind::Compare(options) => options.investigate.as_ref().map_or(FINDINGS, |n| n.value),
            _ => FINDINGS,
        }
    }

    /// Checks which of some differences show a known bug, and counts those as its occurrences.
    fn ask(
        &mut self,
        search: &mut Search,
        found: &mut Collected,
        known: &ReducedBug,
        cases: &[Case],
    ) {
        let run = search.run;
        // Candidates with the number of their case, by stage of the plan, profile and whether tests
        // are taken apart.
        type Asked = (Chain, Arc<Profile>, Vec<(usize, Test)>);
        let mut asked: BTreeMap<(usize, String, bool), Asked> = BTreeMap::new();
        for (n, case) in cases.iter().enumerate() {
            let Some((chain, profile)) = self.alone(case.stage, &case.finding) else { continue };
            let Some(test) = self.source(&chain, &case.finding, run) else { continue };
            let needs = case.needs.unwrap_or_else(|| Needs::of(&test));
            let form = if case.needs.is_some() { case.form } else { form_of(&normal(&test)) };
            search.kinds.insert(case.open, (Some(needs), form));
            let mut candidates = Vec::new();
            if form == known.form {
                candidates.push(known.test.clone());
            }
            if needs.has(known.needs) {
                candidates.extend(within(&test, &known.core));
            }
            candidates.truncate(search.questions);
            search.questions -= candidates.len();
            let key = (case.stage, profile.name.clone(), chain.parts.is_some());
            let (_, _, all) = asked.entry(key).or_insert((chain, profile, Vec::new()));
            all.extend(candidates.into_iter().map(|t| (n, t)));
        }
        let mut shown: Vec<bool> = vec![false; cases.len()];
        for (chain, profile, candidates) in asked.into_values() {
            let tests: Vec<Test> = candidates.iter().map(|(_, t)| t.clone()).collect();
            let verdicts = self.verdicts(&chain, &profile, &tests);
            for ((n, _), verdict) in candidates.iter().zip(verdicts) {
                shown[*n] |= shows(&verdict, &cases[*n].finding);
            }
        }
        for (case, _) in cases.iter().zip(shown).filter(|(_, shown)| *shown) {
            if !self.has(run, case, known.mechanism.as_ref()) {
                continue;
            }
            *case.open.bug(found) = Some(count(found, known.bug, &case.finding));
            search.done += 1;
        }
    }

    /// Whether the whole test of a difference has a mechanism, or tells none.
    fn has(&mut self, run: &Ran, case: &Case, mechanism: Option<&Mechanism>) -> bool {
        let Some(mechanism) = mechanism else { return true };
        let Some(way) = self.alone(case.stage, &case.finding) else { return true };
        let finding = run.example(case.stage, case.finding.clone());
        let own = self.mechanisms(&way, &finding);
        own.is_empty() || own.iter().any(|own| own.is(mechanism))
    }

    /// The source of a finding.
    fn source(&self, chain: &Chain, finding: &Finding, run: &Ran) -> Option<Test> {
        let text = match finding.mix.is_empty() {
            true => {
                let tests = *self.plan.nodes[chain.compile].inputs.first()?;
                crate::collect::content(run.engine, run.built.node_of[tests], &finding.test)?
            }
            // The stage compiles parts, so the test is taken from the finding.
            false => finding.source.clone(),
        };
        litmus::read(&Source::new(finding.test.clone(), text)).ok()
    }

    /// The smallest test that shows the same as a finding, and its core. Where the time is over, it is the smallest
    /// so far.
    fn reduced(
        &mut self,
        (chain, profile): &(Chain, Arc<Profile>),
        finding: &Finding,
        run: &Ran,
        until: Instant,
    ) -> Option<Smaller> {
        let test = self.source(chain, finding, run)?;
        let way = (chain.clone(), profile.clone());
        let wanted = self.mechanisms(&way, finding);
        let me = std::cell::RefCell::new(self);
        let ask = |tests: &[Test]| -> Vec<bool> {
            let mut me = me.borrow_mut();
            let verdicts = me.verdicts(chain, profile, tests);
            let all = tests.iter().zip(&verdicts);
            all.map(|(t, v)| shows(v, finding) && me.keeps(&way, finding, (t, v), &wanted))
                .collect()
        };
        let outcomes = finding.outcomes.forbidden.iter();
        let asked = outcomes.filter_map(|o| asking(&test, &places(o)?));
        let asked: Vec<Test> = match finding.outcomes.forbidden.is_empty() {
            true => vec![test.clone()],
            false => asked.collect(),
        };
        let start = asked.into_iter().find(|asked| ask(std::slice::from_ref(asked))[0])?;
        let mut ask = |tests: &[Test]| match Instant::now() < until {
            true => ask(tests),
            false => vec![false; tests.len()],
        };
        let best = settle(&start, CANDIDATES, &mut ask);
        // Compilers and models treat the normal form alike, but only a test that was checked is
        // printed.
        let tidy = normal(&best);
        let best = if ask(std::slice::from_ref(&tidy))[0] { tidy } else { best };
        let core = core(&best, CANDIDATES, &mut ask);
        let mut verdicts = me.borrow_mut().verdicts(chain, profile, std::slice::from_ref(&best));
        let verdict = verdicts.pop()?.ok()?;
        // The condition asks for a wrong outcome of the reduced test, which can differ from that of
        // the first test.
        let asked = verdict.positive.first().and_then(|o| asking(&best, &places(o)?));
        let best = asked.unwrap_or(best);
        let target = me.borrow_mut().compiled(chain, profile, &best).unwrap_or_default();
        let reduced = Reduced {
            source: litmus::write(&best),
            mix: String::new(),
            target,
            thread: match core.threads[..] {
                [one] if best.threads.len() > 1 => u16::try_from(one).ok(),
                _ => None,
            },
            outcomes: Outcomes {
                forbidden: verdict.positive,
                source: verdict.source,
                target: verdict.target,
            },
            digest: canon::canonical_hash(&best).to_hex()[..16].to_string(),
        };
        Some(Smaller { form: form_of(&normal(&test)), reduced, test: best, core })
    }

    /// The dialect that the profiles of a mix compile to.
    fn target(&self, finding: &Finding) -> String {
        let own = |p: &&std::sync::Arc<litmake_profile::Profile>| {
            finding.profiles.first().is_some_and(|name| *name == p.name)
        };
        let all = self.plan.nodes.iter().flat_map(|n| n.profile.iter().chain(&n.mixed));
        all.into_iter().find(own).map_or(String::new(), |p| p.arch.name().to_string())
    }

    /// Groups wrong mixes by bug: mixes of one test, whatever its name, between the same families
    /// of compilers that compile the same operations of it differently.
    fn mixes(
        &mut self,
        found: &mut Collected,
        started: &Instant,
        time: Duration,
        tell: &dyn Fn(u64, &str),
    ) {
        let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        // Differences of a single profile were handled above.
        let is_left = |f: &Finding| f.class != Class::Concurrency || !f.label.is_empty();
        for (n, (_, f, _)) in found.mixes.iter().enumerate().filter(|(_, m)| is_left(&m.1)) {
            let mut key = vec![
                f.class.name().to_string(),
                self.target(f),
                f.family.clone(),
                f.label.clone(),
                // All differences that a weaker model allows are one bug.
                if f.label.is_empty() { form(&f.source) } else { String::new() },
            ];
            if f.label.is_empty() {
                key.extend(f.clash.iter().map(|c| c.source.clone()));
            }
            groups.entry(key).or_default().push(n);
        }
        let mut tried: BTreeMap<usize, u64> = BTreeMap::new();
        let mut order: Vec<Vec<usize>> = groups.into_values().collect();
        order.sort_by_cached_key(|group| {
            let f = &found.mixes[group[0]].1;
            (f.source.len(), f.test.clone(), f.profiles.clone())
        });
        let mut done = 0;
        for group in order {
            let (stage, finding, _) = &found.mixes[group[0]];
            tell(done, &finding.test);
            done += group.len() as u64;
            let (stage, mut finding) = (*stage, finding.clone());
            let count = tried.entry(stage).or_default();
            let most = self.most(stage);
            let is_over = self.context.stopped() || started.elapsed() > time;
            if finding.label.is_empty() && most > 0 {
                if is_over || *count >= most {
                    continue;
                }
                *count += 1;
                if finding.class == Class::Mixing {
                    self.mixing(&mut finding, stage);
                }
            }
            // Which barriers fit together is a convention of each machine.
            let target = self.target(&finding);
            let bug = add(found, stage, finding, &|f| match (&f.reduced, f.label.is_empty()) {
                (_, false) => String::new(),
                (Some(reduced), _) => format!("{target}\n{}", form(&reduced.source)),
                (None, _) => format!("{target}\n{}", form(&f.source)),
            });
            found.mixes[group[0]].2 = Some(bug);
            for n in &group[1..] {
                let (_, f, to) = &mut found.mixes[*n];
                *to = Some(bug);
                found.bugs.count(bug, &f.test, &f.profiles, || f.outcomes.clone());
            }
        }
    }
}

/// The open differences in the order in which they are looked at: small tests first, which reduce
/// quickly, and to the same form as large ones; and whole tests before mixes.
fn in_order(found: &Collected, run: &Ran) -> Vec<At> {
    let alone = |(_, f, _): &(usize, Finding, Option<usize>)| {
        f.class == Class::Concurrency && f.label.is_empty()
    };
    let mixes = (0..found.mixes.len()).filter(|i| alone(&found.mixes[*i])).map(At::Mix);
    let mut all: Vec<At> = (0..found.open.len()).map(At::Open).chain(mixes).collect();
    let name = |o: &Open| {
        let root = run.engine.root_table(o.node);
        root.map(|r| r.rows(o.shard)[o.row].name.to_string())
    };
    all.sort_by_cached_key(|at| match at {
        At::Open(i) => {
            let o = &found.open[*i];
            (false, o.rank, name(o), o.node, Vec::new())
        }
        At::Mix(i) => {
            let (stage, f, _) = &found.mixes[*i];
            (true, rank(&f.test, &f.outcomes), Some(f.test.clone()), *stage, f.profiles.clone())
        }
    });
    all
}

/// Counts a finding as an occurrence of a bug.
fn count(found: &mut Collected, bug: usize, f: &Finding) -> usize {
    found.bugs.count(bug, &f.test, &f.profiles, || f.outcomes.clone());
    bug
}

/// Adds a finding as the example of a bug with this form, or as an occurrence if the bug is known.
fn add(
    found: &mut Collected,
    stage: usize,
    finding: Finding,
    form: &dyn Fn(&Finding) -> String,
) -> usize {
    let form = form(&finding);
    let finding = finding.identify(&form);
    let id = finding.id.clone();
    found.origins.entry(id.clone()).or_insert(stage);
    let (test, profiles, outcomes) =
        (finding.test.clone(), finding.profiles.clone(), finding.outcomes.clone());
    found.bugs.add(&id, (&test, &profiles), &outcomes, || finding)
}

/// Adds a finding of the bug that `hidden` recognises.
fn add_hidden(found: &mut Collected, stage: usize, finding: Finding) -> usize {
    let (cause, mechanism) = (hidden::CAUSE.to_string(), Some(hidden::mechanism()));
    add(found, stage, Finding { cause, mechanism, ..finding }, &|_| hidden::CAUSE.to_string())
}

/// Whether a test shows the same kind of difference as a finding. A difference that a weaker model
/// of the source allows must not take the place of one that it forbids.
pub(super) fn shows(verdict: &Result<Verdict, Failure>, finding: &Finding) -> bool {
    verdict.as_ref().is_ok_and(|v| {
        // A source without allowed outcomes shows nothing. An open difference has no label, so the
        // first weaker model forbids some of it.
        v.shows(!finding.outcomes.forbidden.is_empty())
            && !v.source.is_empty()
            && (finding.outcomes.forbidden.is_empty() || v.also.iter().all(|n| *n > 0))
    })
}

/// A finding whose difference shows in the whole test, described without its mix.
fn without_mix(finding: Finding) -> Finding {
    let command = ["thread", "instruction", "whole"]
        .iter()
        .fold(finding.command, |c, by| c.replacen(&format!(" --split {by}"), "", 1));
    Finding { command, mix: String::new(), alike: BTreeMap::new(), clash: Vec::new(), ..finding }
}

/// A text about the cause: whether the code of one thread alone is to blame.
fn cause(test: &Test, core: &Core) -> String {
    match &core.threads[..] {
        [_] if test.threads.len() > 1 => {
            format!(
                "the code of one thread alone: the outcome is still there when every access of the other \
                 threads is sequentially consistent. With what the thread needs:\n{}",
                core.key.trim()
            )
        }
        _ => String::new(),
    }
}

fn form_of(test: &Test) -> u64 {
    let digest = canon::canonical_hash(test);
    u64::from_le_bytes(digest.as_bytes()[..8].try_into().unwrap_or_default())
}
