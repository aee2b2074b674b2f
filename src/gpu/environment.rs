//! Testing environments: the paper's 17 parameters, its presets, and what one iteration draws
//! from them. It knows no device and no test but for how many threads one has.

use litmake_devices::environment;
use litmake_devices::parameters::{range, unknown};
use litmake_devices::random::{Rng, SeedRandom};

/// Threads in a workgroup.
pub const WORKGROUP: u32 = 256;
/// The most workgroups that are dispatched.
pub const MAX_WORKGROUPS: u32 = 1024;

environment! {
    /// Workgroups that run test code.
    testing_workgroups "testingWorkgroups",
    /// At most so many workgroups are dispatched.
    max_workgroups "maxWorkgroups",
    /// In how many percent of iterations workgroups take their roles by chance.
    shuffle_pct "shufflePct",
    /// In how many percent of iterations the threads of a test wait for each other before it.
    barrier_pct "barrierPct",
    /// In how many percent of iterations the workgroups that run no test stress memory.
    mem_stress_pct "memStressPct",
    /// In how many percent of iterations those that run a test stress memory before it.
    pre_stress_pct "preStressPct",
    /// The scratchpad that is stressed, in words.
    scratch_memory_size "scratchMemorySize",
    /// Words between locations.
    mem_stride "memStride",
    /// Words in a line of the scratchpad; one word of a line is stressed.
    stress_line_size "stressLineSize",
    /// How many lines are stressed.
    stress_target_lines "stressTargetLines",
    /// Turns of the loop of those that stress memory beside tests.
    mem_stress_iterations "memStressIterations",
    /// Turns of the loop of those that stress memory before a test.
    pre_stress_iterations "preStressIterations",
    /// In how many percent of iterations workgroups take lines one after the other, else in blocks.
    stress_strategy_balance_pct "stressStrategyBalancePct",
    /// In how many percent of iterations the first access of the stress beside tests is a store.
    mem_stress_store_first_pct "memStressStoreFirstPct",
    /// In how many percent of iterations its second access is a store.
    mem_stress_store_second_pct "memStressStoreSecondPct",
    /// In how many percent of iterations the first access of the stress before tests is a store.
    pre_stress_store_first_pct "preStressStoreFirstPct",
    /// In how many percent of iterations its second access is a store.
    pre_stress_store_second_pct "preStressStoreSecondPct",
}

/// How instances are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// As many instances as testing threads.
    Parallel,
    /// One instance in all.
    Single,
}

/// Where the parameters of an environment come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Drawn; many instances run in each iteration.
    Pte,
    /// Drawn, with smaller numbers of workgroups; one instance runs in each iteration.
    Site,
    /// As [`Preset::Pte`], with all workgroups at once and no stress.
    PteBaseline,
    /// As [`Preset::Site`], with all workgroups at once and no stress.
    SiteBaseline,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 4] =
        [Preset::SiteBaseline, Preset::Site, Preset::PteBaseline, Preset::Pte];

    /// Its name, as users and result files have it.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Pte => "pte",
            Preset::Site => "site",
            Preset::PteBaseline => "pte_baseline",
            Preset::SiteBaseline => "site_baseline",
        }
    }

    /// How instances are laid out in its environments.
    pub fn scheme(self) -> Scheme {
        match self {
            Preset::Pte | Preset::PteBaseline => Scheme::Parallel,
            Preset::Site | Preset::SiteBaseline => Scheme::Single,
        }
    }

    /// How many iterations a test runs in each environment.
    pub(crate) fn iterations(self) -> u32 {
        match self.scheme() {
            Scheme::Parallel => 100,
            Scheme::Single => 300,
        }
    }

    /// How many environments the paper drew.
    pub fn environments(self) -> u32 {
        match self {
            Preset::Pte | Preset::Site => 150,
            Preset::PteBaseline | Preset::SiteBaseline => 1,
        }
    }

    /// The most workgroups that its environments may have: as in the recorded data.
    fn limit(self) -> u32 {
        match self {
            Preset::Pte | Preset::PteBaseline => MAX_WORKGROUPS,
            Preset::Site => 64,
            Preset::SiteBaseline => 32,
        }
    }

    /// The first environments of a seed.
    pub fn draw(self, seed: &str, count: u32) -> Vec<Environment> {
        let mut random = SeedRandom::new(seed);
        let one = |_| {
            let mut e = Environment::draw(&mut random, self.limit());
            if let Preset::PteBaseline | Preset::SiteBaseline = self {
                e.testing_workgroups = self.limit();
                e.max_workgroups = self.limit();
                e.shuffle_pct = 0;
                e.barrier_pct = 0;
                e.mem_stress_pct = 0;
                e.pre_stress_pct = 0;
            }
            e
        };
        (0..count).map(one).collect()
    }
}

impl Environment {
    /// One environment, drawn in the artifact's order.
    pub fn draw(random: &mut SeedRandom, limit: u32) -> Environment {
        let testing_workgroups = random.between(2, limit.max(2));
        let max_workgroups = random.between(testing_workgroups, limit.max(2));
        let stress_line_size = 1 << random.between(2, 10);
        let stress_target_lines = random.between(1, 16);
        let mem_stride = random.between(1, 7);
        let pct = |random: &mut SeedRandom| random.between(0, 1) * 100;
        Environment {
            testing_workgroups,
            max_workgroups,
            stress_line_size,
            stress_target_lines,
            mem_stride,
            scratch_memory_size: 32 * stress_line_size * stress_target_lines,
            shuffle_pct: pct(random),
            barrier_pct: pct(random),
            mem_stress_pct: pct(random),
            pre_stress_pct: pct(random),
            mem_stress_iterations: random.between(0, 1024),
            pre_stress_iterations: random.between(0, 128),
            stress_strategy_balance_pct: pct(random),
            mem_stress_store_first_pct: pct(random),
            mem_stress_store_second_pct: pct(random),
            pre_stress_store_first_pct: pct(random),
            pre_stress_store_second_pct: pct(random),
        }
    }

    /// Checks that it can run; the error says why not.
    pub fn check(&self) -> Result<(), String> {
        range("testingWorkgroups", self.testing_workgroups, 2, MAX_WORKGROUPS)?;
        range("maxWorkgroups", self.max_workgroups, self.testing_workgroups, MAX_WORKGROUPS)?;
        range("memStride", self.mem_stride, 1, 7)?;
        range("stressLineSize", self.stress_line_size, 1, 1 << 16)?;
        range("stressTargetLines", self.stress_target_lines, 1, 64)?;
        let least = self.stress_line_size * self.stress_target_lines;
        range("scratchMemorySize", self.scratch_memory_size, least, 1 << 24)?;
        range("memStressIterations", self.mem_stress_iterations, 0, 1 << 16)?;
        range("preStressIterations", self.pre_stress_iterations, 0, 1 << 16)?;
        for (name, value) in [
            ("shufflePct", self.shuffle_pct),
            ("barrierPct", self.barrier_pct),
            ("memStressPct", self.mem_stress_pct),
            ("preStressPct", self.pre_stress_pct),
            ("stressStrategyBalancePct", self.stress_strategy_balance_pct),
            ("memStressStoreFirstPct", self.mem_stress_store_first_pct),
            ("memStressStoreSecondPct", self.mem_stress_store_second_pct),
            ("preStressStoreFirstPct", self.pre_stress_store_first_pct),
            ("preStressStoreSecondPct", self.pre_stress_store_second_pct),
        ] {
            range(name, value, 0, 100)?;
        }
        Ok(())
    }
}

/// The random choices of one iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The role of each workgroup that is dispatched.
    pub(crate) shuffled: Vec<u32>,
    /// The word of the scratchpad that each workgroup stresses.
    pub(crate) scratch: Vec<u32>,
    /// Whether the threads of a test wait for each other before it.
    pub(crate) barrier: bool,
    /// Whether the workgroups that run no test stress memory.
    pub(crate) mem_stress: bool,
    /// Whether those that run a test stress memory before it.
    pub(crate) pre_stress: bool,
    /// 0: store, store; 1: store, load; 2: load, store; 3: load, load.
    pub(crate) mem_pattern: u32,
    /// The accesses of the stress before tests, counted as those of `mem_pattern` are.
    pub(crate) pre_pattern: u32,
}

impl Iteration {
    /// Draws what an iteration does; the same numbers give the same iteration.
    pub(crate) fn draw(env: &Environment, rng: &mut Rng) -> Iteration {
        let extra = env.max_workgroups.saturating_sub(env.testing_workgroups);
        let count = env.testing_workgroups + rng.below(extra);
        let mut shuffled: Vec<u32> = (0..count).collect();
        if rng.percent(env.shuffle_pct) {
            for i in (1..count).rev() {
                shuffled.swap(i as usize, rng.below(i + 1) as usize);
            }
        }
        let pattern = |rng: &mut Rng, first, second| {
            let load = |store: bool| u32::from(!store);
            2 * load(rng.percent(first)) + load(rng.percent(second))
        };
        Iteration {
            barrier: rng.percent(env.barrier_pct),
            mem_stress: rng.percent(env.mem_stress_pct),
            pre_stress: rng.percent(env.pre_stress_pct),
            mem_pattern: pattern(
                rng,
                env.mem_stress_store_first_pct,
                env.mem_stress_store_second_pct,
            ),
            pre_pattern: pattern(
                rng,
                env.pre_stress_store_first_pct,
                env.pre_stress_store_second_pct,
            ),
            scratch: scratch(env, count, rng),
            shuffled,
        }
    }
}

/// Distinct random regions, a random word in each, and which workgroup takes which: one after
/// the other, or in blocks.
fn scratch(env: &Environment, count: u32, rng: &mut Rng) -> Vec<u32> {
    let regions = (env.scratch_memory_size / env.stress_line_size).max(1);
    let lines = env.stress_target_lines.min(regions);
    let mut taken: Vec<u32> = Vec::new();
    while (taken.len() as u32) < lines {
        let region = rng.below(regions);
        if !taken.contains(&region) {
            taken.push(region);
        }
    }
    let words: Vec<u32> =
        taken.iter().map(|r| r * env.stress_line_size + rng.below(env.stress_line_size)).collect();
    let round_robin = rng.percent(env.stress_strategy_balance_pct);
    let block = count.div_ceil(lines).max(1);
    let word =
        |g: u32| words[if round_robin { g % lines } else { (g / block).min(lines - 1) } as usize];
    (0..count).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_environments_of_the_paper_are_drawn_again() {
        let drawn = Preset::Pte.draw("webgpu", 150);
        let shown = |e: &Environment| -> Vec<u64> {
            e.params().values().filter_map(Value::as_u64).collect()
        };
        assert_eq!(
            shown(&drawn[0]),
            [551, 736, 100, 0, 0, 100, 131072, 5, 1024, 4, 360, 30, 0, 0, 100, 100, 100]
        );
        assert_eq!(
            shown(&drawn[149]),
            [234, 594, 0, 100, 0, 0, 4096, 2, 32, 4, 469, 16, 0, 100, 100, 100, 0]
        );
        let site = Preset::Site.draw("webgpu", 1)[0];
        assert_eq!((site.testing_workgroups, site.max_workgroups), (35, 46));
        assert!(drawn.iter().all(|e| e.check().is_ok()));
        let baseline = Preset::PteBaseline.draw("webgpu", 1)[0];
        assert_eq!((baseline.testing_workgroups, baseline.pre_stress_pct), (1024, 0));
    }

    #[test]
    fn what_tuning_keeps_of_an_environment_is_all_of_it() {
        use litmake_devices::tuning::{Best, Database, Entry};
        let drawn = Preset::Pte.draw("webgpu", 1)[0];
        let best = Best { params: drawn.params(), ..Best::default() };
        let mut kept = Database::default();
        kept.put(Entry { tests: [("A".to_string(), best)].into(), ..Entry::default() });
        let read = Database::read(&kept.write()).unwrap();
        assert_eq!(Environment::recorded(&read.entries[0].tests["A"].params), Some(drawn));
        assert_eq!(Environment::recorded(&Best::default().params), None);
    }

    #[test]
    fn an_iteration_replays_and_stays_in_bounds() {
        for (i, env) in Preset::Pte.draw("webgpu", 40).iter().enumerate() {
            let draw = || Iteration::draw(env, &mut Rng::of("seed", &[&i.to_string()]));
            let it = draw();
            assert_eq!(it, draw());
            let mut sorted = it.shuffled.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(i, g)| i as u32 == *g));
            assert!(it.shuffled.len() >= env.testing_workgroups as usize);
            assert!(it.shuffled.len() <= env.max_workgroups as usize);
            assert_eq!(it.scratch.len(), it.shuffled.len());
            assert!(it.scratch.iter().all(|w| *w < env.scratch_memory_size));
            let distinct: std::collections::BTreeSet<_> = it.scratch.iter().collect();
            assert!(distinct.len() <= env.stress_target_lines as usize);
        }
    }

    #[test]
    fn wrong_parameters_are_said() {
        let mut e = Preset::Pte.draw("webgpu", 1)[0];
        e.mem_stride = 0;
        assert_eq!(e.check().unwrap_err(), "`memStride` is 0, and is to be from 1 to 7");
        assert_eq!(
            e.set("memStrid", 1).unwrap_err(),
            "there is no parameter `memStrid`; did you mean `memStride`?"
        );
        e.set("memStride", 3).unwrap();
        assert!(e.check().is_ok());
    }
}
