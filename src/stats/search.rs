//! Searches for an environment that kills each mutant often enough: drawn one after the other, as
//! in the paper, or adaptively.
//!
//! A mutant is done when one environment has killed it often enough, and at a sufficient rate, for
//! a run of the budget's length to kill it again with the target's chance. The cost of a search is
//! device time. Runs are behind a trait: it does not know whether a device runs or recorded rates
//! are replayed.

use super::merge::Target;

/// Runs tests in environments.
pub trait Bench {
    /// The number of tests.
    fn tests(&self) -> usize;
    /// The number of environments.
    fn environments(&self) -> usize;

    /// The group of a test. An environment that is good for one test of a group is likely good for
    /// the others.
    fn group(&self, _test: usize) -> usize {
        0
    }

    /// Runs a test in an environment for about this time. Returns the number of kills and the time
    /// taken, or `None` if it could not run.
    fn pull(&mut self, test: usize, env: usize, seconds: f64) -> Option<(u64, f64)>;
}

/// The goal of a search.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The reproducibility that every test should have.
    pub target: Target,
    /// The seconds in which one environment has to reach the target.
    pub budget: f64,
    /// The device time after which the search ends.
    pub limit: f64,
}

/// The counts of one test in one environment during a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The number of kills.
    pub kills: u64,
    /// The time that it ran.
    pub seconds: f64,
}

/// The environment in which a test reached the goal, and the device time until then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The environment.
    pub env: usize,
    /// The counts when the goal was reached.
    pub seen: Seen,
    /// The device time until then.
    pub at: f64,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// For each test, the environment that reached the goal.
    pub reached: Vec<Option<Reached>>,
    /// For each test, the environment with the highest rate of kills.
    pub best: Vec<Option<(usize, Seen)>>,
    /// The device time of the whole search.
    pub spent: f64,
    /// The number of runs of a test in an environment.
    pub pulls: u64,
}

impl Found {
    /// The number of tests that reached the goal.
    pub fn count(&self) -> usize {
        self.reached.iter().flatten().count()
    }

    /// The number of tests that reached the goal within this device time.
    pub fn count_at(&self, spent: f64) -> usize {
        self.reached.iter().flatten().filter(|r| r.at <= spent).count()
    }

    /// The device time until the last test reached the goal.
    pub fn last(&self) -> f64 {
        self.reached.iter().flatten().map(|r| r.at).fold(0.0, f64::max)
    }

    /// The result without the tests that reached the goal by luck.
    pub fn only(mut self, kept: &[bool]) -> Found {
        for (reached, kept) in self.reached.iter_mut().zip(kept) {
            *reached = reached.filter(|_| *kept);
        }
        self
    }
}

/// A search in progress.
struct Search<'b, B> {
    bench: &'b mut B,
    goal: &'b Goal,
    kills: u64,
    seen: Vec<Vec<Seen>>,
    dead: Vec<Vec<bool>>,
    found: Found,
}

impl<'b, B: Bench> Search<'b, B> {
    fn new(bench: &'b mut B, goal: &'b Goal) -> Search<'b, B> {
        let (tests, envs) = (bench.tests(), bench.environments());
        Search {
            kills: goal.target.observations().max(1.0) as u64,
            seen: vec![vec![Seen::default(); envs]; tests],
            dead: vec![vec![false; envs]; tests],
            found: Found {
                reached: vec![None; tests],
                best: vec![None; tests],
                ..Found::default()
            },
            bench,
            goal,
        }
    }

    fn over(&self) -> bool {
        self.found.spent >= self.goal.limit
    }

    fn open(&self, test: usize) -> bool {
        self.found.reached[test].is_none()
    }

    fn pull(&mut self, test: usize, env: usize, seconds: f64) {
        let Some((kills, took)) = self.bench.pull(test, env, seconds) else {
            self.dead[test][env] = true;
            return;
        };
        self.found.spent += took;
        self.found.pulls += 1;
        let seen = &mut self.seen[test][env];
        seen.kills = seen.kills.saturating_add(kills);
        seen.seconds += took;
        // The budget sets a rate; a run may be longer than the budget.
        let enough = self.kills as f64 / self.goal.budget;
        if seen.kills >= self.kills && seen.kills as f64 >= enough * seen.seconds {
            let at = self.found.spent;
            self.found.reached[test].get_or_insert(Reached { env, seen: *seen, at });
        } else if seen.seconds >= self.goal.budget {
            self.dead[test][env] = true;
        }
    }

    fn finish(mut self) -> Found {
        for (test, row) in self.seen.iter().enumerate() {
            let rate = |s: &Seen| if s.seconds > 0.0 { s.kills as f64 / s.seconds } else { 0.0 };
            let best = row.iter().enumerate().filter(|(_, s)| s.kills > 0);
            self.found.best[test] =
                best.max_by(|a, b| rate(a.1).total_cmp(&rate(b.1))).map(|(e, s)| (e, *s));
        }
        self.found
    }
}

/// Tries environments in a given order: runs every test in each for the whole budget, or, if
/// `early`, until the goal is reached. Tests that reached the goal are left out from then on.
pub fn in_order<B: Bench>(bench: &mut B, goal: &Goal, order: &[usize], early: bool) -> Found {
    let mut search = Search::new(bench, goal);
    let parts = if early { 64 } else { 1 };
    for env in order {
        for test in 0..search.bench.tests() {
            for _ in 0..parts {
                if search.over() {
                    return search.finish();
                }
                if !search.open(test) || search.dead[test][*env] {
                    break;
                }
                search.pull(test, *env, goal.budget / f64::from(parts));
            }
        }
    }
    search.finish()
}

/// The time of the first look at an environment, as a share of the budget, and the factor for the
/// next look.
const FIRST: f64 = 1.0 / 256.0;
const LONGER: f64 = 4.0;
/// An environment is dropped if its count is too low for the rate that the goal needs, by this many
/// standard deviations: a chance of 5 %.
const DROPPED: f64 = 1.645;
/// An environment waits for the next pass if its count is too low by this many: a chance of 30 %.
/// Many environments are nearly good enough, and excluding one of them takes longer than finding a
/// better one.
const LEFT: f64 = 0.5;

/// The state of a test in an adaptive search.
#[derive(Clone, Copy, Default)]
struct Course {
    /// The time of each look in this pass.
    look: f64,
    /// The environment that has shown kills and is run further.
    pursued: Option<usize>,
    spent: f64,
    done: bool,
}

/// Searches adaptively, in passes. In each pass a test looks at every environment for a short time,
/// four times as long as in the pass before. An environment with a kill is run further, for twice
/// as long each time, while its rate is likely enough to meet the goal. An environment whose rate
/// cannot meet the goal is dropped, and one in between waits for the next pass. Environments that
/// were good for other tests, and most of all for those of the same group, come first. Turns
/// alternate between the open test that has used the least time and the one that is nearest to the
/// goal.
pub fn adaptive<B: Bench>(bench: &mut B, goal: &Goal) -> Found {
    let mut search = Search::new(bench, goal);
    let tests = search.bench.tests();
    let envs = search.bench.environments();
    let needed = search.kills as f64 / goal.budget;
    let shortest = goal.budget * FIRST;
    let mut courses = vec![Course { look: shortest, ..Course::default() }; tests];
    // How good environments were for other tests, relative to their other environments, and the
    // weight of that.
    let mut credit = vec![vec![0.0f64; envs]; tests];
    let mut weight = vec![vec![0.0f64; envs]; tests];
    // Device time of the turns that went to the test with the least time.
    let mut fair = 0.0;
    while !search.over() {
        let open = || (0..tests).filter(|t| search.open(*t) && !courses[*t].done);
        // Half of the time goes to the test that is nearest to the goal. The other half makes sure
        // that no test waits for tests that never reach it.
        let is_fair = fair <= search.found.spent - fair;
        let nearest = || {
            let pursued = open().filter_map(|t| Some((t, search.seen[t][courses[t].pursued?])));
            let near = pursued.map(|(t, s)| (t, (s.kills as f64 + 0.4) / s.seconds.max(1e-9)));
            near.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(t, _)| t)
        };
        let least = || open().min_by(|a, b| courses[*a].spent.total_cmp(&courses[*b].spent));
        let Some(test) = (if is_fair { None } else { nearest() }).or_else(least) else {
            break;
        };
        let liking = |env: usize| (0.1 + credit[test][env]) / (0.1 + weight[test][env]);
        let course = courses[test];
        let waits =
            |env: &usize| !search.dead[test][*env] && search.seen[test][*env].seconds < course.look;
        let next = course.pursued.or_else(|| {
            (0..envs).filter(waits).max_by(|a, b| liking(*a).total_cmp(&liking(*b)).then(b.cmp(a)))
        });
        let Some(env) = next else {
            // The pass is over. After a pass with the whole budget nothing is left.
            courses[test].done = course.look >= goal.budget;
            courses[test].look = (course.look * LONGER).min(goal.budget);
            continue;
        };
        let seen = search.seen[test][env];
        let seconds = match course.pursued {
            None => course.look - seen.seconds,
            Some(_) => {
                let rate = (seen.kills as f64 / seen.seconds.max(1e-9)).max(needed);
                let left = search.kills.saturating_sub(seen.kills).max(1) as f64;
                (left / rate * 1.1).min(seen.seconds).min(goal.budget - seen.seconds)
            }
        };
        let before = search.found.spent;
        search.pull(test, env, seconds.max(shortest));
        let took = search.found.spent - before;
        courses[test].spent += took;
        if is_fair {
            fair += took;
        }
        let seen = search.seen[test][env];
        let may_reach = |deviations| most(seen.kills, deviations) >= needed * seen.seconds;
        if !may_reach(DROPPED) {
            search.dead[test][env] = true;
        }
        let goes_on = seen.kills > 0 && !search.dead[test][env] && may_reach(LEFT);
        courses[test].pursued = goes_on.then_some(env);
        share(&search.seen, test, env, search.bench, &mut credit, &mut weight);
    }
    search.finish()
}

/// The largest mean for which a count is at most this many standard deviations too low.
fn most(count: u64, deviations: f64) -> f64 {
    let k = count as f64 + 1.0;
    k * (1.0 - 1.0 / (9.0 * k) + deviations / (3.0 * k.sqrt())).powi(3)
}

/// Credits an environment for the other tests, by how good it was for one.
fn share<B: Bench>(
    seen: &[Vec<Seen>],
    test: usize,
    env: usize,
    bench: &B,
    credit: &mut [Vec<f64>],
    weight: &mut [Vec<f64>],
) {
    let kills: u64 = seen[test].iter().map(|s| s.kills).sum();
    let seconds: f64 = seen[test].iter().map(|s| s.seconds).sum();
    let here = seen[test][env];
    if kills == 0 || seconds <= 0.0 || here.seconds <= 0.0 {
        return;
    }
    let relative = (here.kills as f64 / here.seconds) / (kills as f64 / seconds);
    let relative = relative.clamp(0.0, 32.0);
    for other in 0..seen.len() {
        if other != test {
            let near = if bench.group(other) == bench.group(test) { 0.5 } else { 0.1 };
            credit[other][env] += near * relative;
            weight[other][env] += near;
        }
    }
}

/// The random numbers of a replay; they depend only on the seed.
struct Random(u64);

impl Random {
    /// A number between 0 and 1, both excluded.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1.0 / (1u64 << 54) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn poisson(&mut self, mean: f64) -> u64 {
        if mean > 64.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0) as u64;
        }
        let floor = (-mean).exp();
        let (mut n, mut left) = (0, self.unit());
        while left > floor {
            left *= self.unit();
            n += 1;
        }
        n
    }
}

/// Replays recorded rates: kills come at random at the recorded rate.
pub struct Replay {
    names: Vec<String>,
    groups: Vec<usize>,
    rates: Vec<Vec<f64>>,
    /// The additional time of each run.
    pub overhead: f64,
    random: Random,
}

impl Replay {
    /// A replay of some results, in which each run takes `overhead` more seconds.
    pub fn new(results: &super::results::Results, overhead: f64, seed: u64) -> Replay {
        let names: Vec<String> = results.tests().into_iter().map(str::to_string).collect();
        let told = results.mutators();
        let group = |name: &String| {
            let mutator = told.get(name.as_str()).copied();
            let mutator = mutator.unwrap_or_else(|| super::score::mutator_by_name(name));
            super::score::MUTATORS.iter().position(|m| *m == mutator).unwrap_or(usize::MAX)
        };
        let rate = |name: &String| {
            let of = |e: &super::results::Environment| {
                e.test(name).filter(|c| c.is_timed()).map_or(0.0, |c| c.weak as f64 / c.seconds)
            };
            results.environments.iter().map(of).collect()
        };
        Replay {
            groups: names.iter().map(group).collect(),
            rates: names.iter().map(rate).collect(),
            names,
            overhead,
            random: Random(seed),
        }
    }

    /// The names of the tests.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For each test, whether some environment can reach the goal.
    pub fn reachable(&self, goal: &Goal) -> Vec<bool> {
        let enough = goal.target.observations() / goal.budget;
        self.rates.iter().map(|r| r.iter().any(|r| *r >= enough)).collect()
    }

    /// All environments in a random order.
    pub fn order(&mut self) -> Vec<usize> {
        let mut out: Vec<usize> = (0..self.environments()).collect();
        for i in (1..out.len()).rev() {
            out.swap(i, (self.random.unit() * (i + 1) as f64) as usize);
        }
        out
    }
}

impl Bench for Replay {
    fn tests(&self) -> usize {
        self.names.len()
    }

    fn environments(&self) -> usize {
        self.rates.first().map_or(0, Vec::len)
    }

    fn group(&self, test: usize) -> usize {
        self.groups[test]
    }

    fn pull(&mut self, test: usize, env: usize, seconds: f64) -> Option<(u64, f64)> {
        let kills = self.random.poisson(self.rates[test][env] * seconds);
        Some((kills, seconds + self.overhead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Results;

    fn results() -> Results {
        // One good environment in sixty for each test, the same one for tests of a group.
        let envs: Vec<String> = (0..60)
            .map(|e| {
                let test = |name: &str, good: bool| {
                    format!(
                        "\"{name}\": {{\"weak\": {}, \"durationSeconds\": 1}}",
                        if good { 40 } else { 0 }
                    )
                };
                format!(
                    "\"{e}\": {{{}, {}, {}, {}}}",
                    test("A Coherency", e == 50),
                    test("B Coherency", e == 50 || e == 10),
                    test("C", e == 20),
                    test("D", false)
                )
            })
            .collect();
        Results::read(&format!("{{{}}}", envs.join(","))).unwrap()
    }

    fn goal() -> Goal {
        Goal { target: Target::read("99.999").unwrap(), budget: 4.0, limit: 1e6 }
    }

    #[test]
    fn both_searches_find_what_is_there() {
        let results = results();
        let mut bench = Replay::new(&results, 0.001, 7);
        assert_eq!(bench.reachable(&goal()), [true, true, true, false]);
        let order: Vec<usize> = (0..60).collect();
        let plain = in_order(&mut bench, &goal(), &order, true);
        let clever = adaptive(&mut Replay::new(&results, 0.001, 7), &goal());
        for found in [&plain, &clever] {
            assert_eq!(found.count(), 3);
            assert!([10, 50].contains(&found.reached[1].unwrap().env));
            assert_eq!(found.reached[3], None);
            let r = found.reached[0].unwrap();
            assert!(r.seen.kills >= 12 && r.env == 50 && r.at <= found.spent);
            assert_eq!(found.count_at(found.last()), 3);
        }
        assert!(clever.last() < plain.last(), "{} {}", clever.last(), plain.last());
    }

    #[test]
    fn a_search_ends_at_its_limit() {
        let goal = Goal { limit: 3.0, ..goal() };
        let found = adaptive(&mut Replay::new(&results(), 0.001, 7), &goal);
        assert!(found.spent < 8.0);
        let none = Results::read(r#"{"0": {}}"#).unwrap();
        assert_eq!(adaptive(&mut Replay::new(&none, 0.0, 1), &goal).count(), 0);
    }

    #[test]
    fn draws_have_their_means() {
        let mut r = Random(1);
        for mean in [0.1, 3.0, 200.0] {
            let got = (0..20_000).map(|_| r.poisson(mean) as f64).sum::<f64>() / 20_000.0;
            assert!((got - mean).abs() < 0.1 * mean, "{got} {mean}");
        }
    }
}
