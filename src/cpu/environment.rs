//! Environments of tests on CPUs: how instances are placed in memory, how workers meet, and what
//! disturbs them.
//!
//! It does not know tests.

use std::fmt::Write;

use litmake_devices::environment;
use litmake_devices::parameters::{range, unknown};
use litmake_devices::random::SeedRandom;

environment! {
    /// Instances that run between two meetings of all workers.
    instances "instances",
    /// How workers wait for each other: 0 yields, 1 spins, 2 spins until a common time.
    sync "sync",
    /// The number of instances after which workers meet again; 0 for only at the start of a round.
    sync_every "syncEvery",
    /// The number of instances after which a worker with several threads of an instance turns to
    /// the next thread; 0 for when workers meet.
    turn "turn",
    /// How often a worker polls before it yields.
    spins "spins",
    /// Bytes from one instance to the next.
    stride "stride",
    /// Bytes between locations: inside an instance, or between arrays if each location has its own.
    spacing "spacing",
    /// 1: each location has an array of its own; 0: the locations of an instance lie together.
    apart "apart",
    /// 1: instances are permuted in memory.
    scatter "scatter",
    /// Chance in percent that threads are dealt to workers anew, each round.
    deal_pct "dealPct",
    /// Chance in percent that threads go through the instances in different orders, each round.
    pair_pct "pairPct",
    /// Chance in percent that threads wait between instructions, so that others can act in between,
    /// each round.
    gap_pct "gapPct",
    /// One worker starts later, by at most this many turns of a loop.
    delay "delay",
    /// Chance in percent that workers fetch the locations before they start, for reading or
    /// writing.
    fetch_pct "fetchPct",
    /// Chance in percent that workers flush the locations.
    flush_pct "flushPct",
    /// Who resets locations: 0 each worker a share; 1 and 2 one worker for each location, with a
    /// different assignment; 3 at random.
    reset "reset",
    /// 1: each worker stays on a processor of its own.
    affinity "affinity",
    /// The largest number of workers for one instance; 0 for as many as there are processors.
    workers "workers",
    /// Groups of workers; 0 for as many as fit on the processors.
    groups "groups",
    /// Threads that disturb the tests.
    stress "stress",
    /// Cache lines that these threads use.
    stress_lines "stressLines",
    /// The accesses of these threads: 0 load, load; 1 store, load; 2 load, store; 3 store, store.
    stress_pattern "stressPattern",
}

/// Environments that are known to be good; they come before drawn ones. On x86-64 machines with two
/// processors, every allowed outcome of the usual shapes showed in one of them.
const KNOWN: &[&[(&str, u32)]] = &[
    &[],
    &[("stride", 4)],
    // The locations of an instance on one line, threads in lock step: for three or more threads on
    // two processors.
    &[
        ("instances", 4096),
        ("sync", 2),
        ("syncEvery", 4),
        ("stride", 64),
        ("apart", 0),
        ("dealPct", 100),
        ("gapPct", 100),
        ("delay", 100),
        ("reset", 0),
    ],
    &[
        ("instances", 4096),
        ("syncEvery", 64),
        ("turn", 2),
        ("stride", 128),
        ("apart", 0),
        ("scatter", 1),
        ("dealPct", 100),
        ("delay", 50),
        ("reset", 3),
    ],
    &[
        ("instances", 1024),
        ("sync", 2),
        ("syncEvery", 16),
        ("turn", 2),
        ("apart", 0),
        ("scatter", 1),
        ("dealPct", 100),
        ("delay", 200),
        ("flushPct", 20),
        ("reset", 3),
    ],
    &[
        ("syncEvery", 8),
        ("turn", 4),
        ("stride", 64),
        ("apart", 0),
        ("dealPct", 100),
        ("gapPct", 50),
        ("delay", 400),
        ("flushPct", 20),
        ("reset", 1),
    ],
    // With gaps, for outcomes in which another thread acts between two instructions.
    &[
        ("instances", 1024),
        ("syncEvery", 16),
        ("stride", 64),
        ("apart", 0),
        ("gapPct", 100),
        ("delay", 100),
        ("flushPct", 20),
        ("reset", 3),
    ],
    &[
        ("instances", 1024),
        ("syncEvery", 16),
        ("turn", 2),
        ("stride", 4),
        ("apart", 0),
        ("dealPct", 100),
        ("gapPct", 100),
        ("delay", 50),
        ("reset", 3),
    ],
    &[("sync", 2), ("stride", 64), ("reset", 1)],
    &[("instances", 256), ("sync", 2), ("dealPct", 100), ("reset", 3), ("delay", 400)],
    &[("gapPct", 100), ("dealPct", 100), ("reset", 3), ("sync", 2), ("stride", 64)],
    &[("workers", MORE_WORKERS), ("gapPct", 50), ("dealPct", 100), ("reset", 3), ("stride", 64)],
    &[("instances", 512), ("pairPct", 50), ("dealPct", 100), ("flushPct", 10), ("reset", 0)],
];

/// One worker for each thread even on fewer processors, so that the kernel interrupts them
/// anywhere.
const MORE_WORKERS: u32 = 8;

/// The parameters that the known environments do not set.
const USUAL: Environment = Environment {
    instances: 2048,
    sync: 1,
    sync_every: 0,
    turn: 1,
    spins: 2000,
    stride: 16,
    spacing: 4,
    apart: 1,
    scatter: 0,
    deal_pct: 0,
    pair_pct: 0,
    gap_pct: 0,
    delay: 0,
    fetch_pct: 0,
    flush_pct: 0,
    reset: 2,
    affinity: 1,
    workers: 0,
    groups: 0,
    stress: 0,
    stress_lines: 64,
    stress_pattern: 3,
};

impl Environment {
    /// The first `count` environments: the known ones, then drawn ones.
    pub fn draw(seed: &str, count: u32) -> Vec<Environment> {
        let known = KNOWN.iter().map(|changes| {
            let mut e = USUAL;
            for (name, value) in *changes {
                // The names are those above; a test checks it.
                let _ = e.set(name, *value);
            }
            e
        });
        let drawn = Environment::drawn(seed, count.saturating_sub(KNOWN.len() as u32));
        known.chain(drawn).take(count as usize).collect()
    }

    /// The first `count` drawn environments.
    pub fn drawn(seed: &str, count: u32) -> Vec<Environment> {
        let mut random = SeedRandom::new(seed);
        (0..count).map(|_| Environment::random(&mut random)).collect()
    }

    fn random(random: &mut SeedRandom) -> Environment {
        let pick = |random: &mut SeedRandom, from: &[u32]| {
            let last = from.len().saturating_sub(1) as u32;
            from.get(random.between(0, last) as usize).copied().unwrap_or(0)
        };
        Environment {
            instances: 1 << random.between(6, 13),
            sync: pick(random, &[1, 1, 2, 2, 2, 0]),
            sync_every: pick(random, &[0, 0, 0, 1, 2, 4, 16, 64, 256]),
            turn: pick(random, &[0, 1, 1, 2, 4]),
            spins: USUAL.spins,
            stride: pick(random, &[4, 8, 16, 32, 64, 64, 128, 256]),
            spacing: pick(random, &[4, 8, 32, 64, 64, 128]),
            apart: pick(random, &[1, 1, 0]),
            scatter: random.between(0, 1),
            deal_pct: pick(random, &[0, 50, 100]),
            pair_pct: pick(random, &[0, 0, 0, 20]),
            gap_pct: pick(random, &[0, 0, 50, 100]),
            delay: pick(random, &[0, 0, 50, 200, 1000]),
            fetch_pct: pick(random, &[0, 0, 50, 100]),
            flush_pct: pick(random, &[0, 0, 0, 20]),
            reset: random.between(0, 3),
            affinity: 1,
            workers: pick(random, &[0, 0, 0, 0, MORE_WORKERS]),
            groups: 0,
            stress: pick(random, &[0, 0, 0, 0, 1]),
            stress_lines: 1 << random.between(0, 8),
            stress_pattern: random.between(0, 3),
        }
    }

    /// Checks the parameters; the error names the first that is out of range.
    pub fn check(&self) -> Result<(), String> {
        range("instances", self.instances, 1, 1 << 20)?;
        range("sync", self.sync, 0, 2)?;
        range("syncEvery", self.sync_every, 0, 1 << 20)?;
        range("turn", self.turn, 0, 1 << 20)?;
        range("spins", self.spins, 1, 1 << 30)?;
        range("stride", self.stride, 1, 1 << 16)?;
        range("spacing", self.spacing, 0, 1 << 16)?;
        range("delay", self.delay, 0, 1 << 20)?;
        range("reset", self.reset, 0, 3)?;
        range("workers", self.workers, 0, 64)?;
        range("groups", self.groups, 0, 64)?;
        range("stress", self.stress, 0, 64)?;
        range("stressLines", self.stress_lines, 1, 1 << 20)?;
        range("stressPattern", self.stress_pattern, 0, 3)?;
        for (name, value) in [("apart", self.apart), ("scatter", self.scatter)] {
            range(name, value, 0, 1)?;
        }
        range("affinity", self.affinity, 0, 1)?;
        for (name, value) in [
            ("dealPct", self.deal_pct),
            ("gapPct", self.gap_pct),
            ("pairPct", self.pair_pct),
            ("fetchPct", self.fetch_pct),
            ("flushPct", self.flush_pct),
        ] {
            range(name, value, 0, 100)?;
        }
        Ok(())
    }

    /// The C struct of the parameters, in the order of [`Environment::line`].
    pub fn header() -> String {
        let mut out =
            String::from("// The parameters of an environment.\n\nstruct environment {\n");
        for name in Environment::FIELDS {
            let _ = writeln!(out, "  uint32_t {name};");
        }
        out + "};\n"
    }

    /// The numbers in the order of the fields.
    pub fn line(&self) -> String {
        let numbers: Vec<String> = self.values().iter().map(u32::to_string).collect();
        numbers.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_replay_and_can_run() {
        let drawn = Environment::draw("cpu", 100);
        assert_eq!(drawn, Environment::draw("cpu", 100));
        assert_ne!(drawn[20..], Environment::draw("other", 100)[20..]);
        for env in &drawn {
            assert_eq!(env.check(), Ok(()));
            assert_eq!(Environment::recorded(&env.params()), Some(*env));
        }
        for (env, changes) in drawn.iter().zip(KNOWN) {
            for (name, value) in *changes {
                assert_eq!(env.params()[*name], *value, "{name}");
            }
        }
    }

    #[test]
    fn what_the_harness_reads_is_what_is_written() {
        let fields = Environment::header().matches("uint32_t").count();
        assert_eq!(fields, USUAL.line().split(' ').count());
        assert!(USUAL.line().starts_with("2048 1 0 1 2000 16"));
    }

    #[test]
    fn wrong_parameters_are_said() {
        let mut e = USUAL;
        e.stride = 0;
        assert_eq!(e.check().unwrap_err(), "`stride` is 0, and is to be from 1 to 65536");
    }
}
