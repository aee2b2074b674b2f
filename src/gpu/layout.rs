//! Where instances and their locations are: permutations that are checked to be permutations.
//!
//! Thread k of instance i is run by some testing thread, and location x of instance i lies in
//! some cell. Both maps are one-to-one because multipliers are coprime to what they are taken
//! modulo; a multiplier that is not would make instances collide and show outcomes that no
//! memory model allows. So one that is not is replaced.

use super::environment::{Environment, Scheme, WORKGROUP};
use super::program::{MAX_LOCATIONS, Program};
use super::wgsl::{Memory, Params, Shape};

/// The artifact's multiplier, and primes in its place where it does not fit.
const FIRST: [u32; 3] = [109, 107, 113];
const OTHERS: [u32; 8] = [419, 1031, 421, 1033, 431, 1039, 433, 1049];

/// The greatest common divisor.
pub(crate) fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The layout that all iterations of one environment share.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// How many instances an iteration has.
    pub(crate) instances: u32,
    /// How many workgroups run tests.
    pub(crate) testing: u32,
    /// Words of test memory.
    pub(crate) words: u32,
    /// The parameters that do not change between iterations; the others are 0.
    pub(crate) params: Params,
}

impl Layout {
    /// Lays a test out; an error says why the environment does not fit it.
    pub(crate) fn new(
        program: &Program,
        shape: &Shape,
        env: &Environment,
    ) -> Result<Layout, String> {
        env.check()?;
        let locations = program.locations.len().clamp(1, MAX_LOCATIONS);
        let threads = program.threads.len() as u32;
        let first = FIRST.into_iter().find(|m| gcd(*m, WORKGROUP) == 1).unwrap_or(1);
        let mut params = Params { permute_first: first, ..Params::default() };
        if shape.scheme == Scheme::Single {
            if env.testing_workgroups < threads {
                return Err(format!(
                    "{threads} workgroups are needed, and `testingWorkgroups` is {}",
                    env.testing_workgroups
                ));
            }
            // Aliased locations lie on each other.
            let distance = 1u32 << env.mem_stride;
            for x in 0..locations {
                let offset = distance * x as u32;
                params.offset[0][x] = offset;
                params.offset[1][x] = offset;
            }
            params.instances = 1;
            params.testing = threads;
            let words = WORKGROUP * env.testing_workgroups + distance * MAX_LOCATIONS as u32;
            return Ok(Layout { instances: 1, testing: threads, words, params });
        }
        let testing = env.testing_workgroups;
        let instances = testing * WORKGROUP;
        // The multipliers of locations are taken modulo this.
        let ring = if shape.memory == Memory::Workgroup { WORKGROUP } else { instances };
        let mut free = OTHERS.into_iter().filter(|m| gcd(*m, ring) == 1 && fits(*m, ring));
        for x in 0..locations {
            let permute = if x == 0 {
                1
            } else {
                free.next().ok_or("no multiplier is coprime to the instances")?
            };
            for view in 0..2 {
                params.permute[view][x] = permute;
                params.offset[view][x] = env.mem_stride * x as u32;
            }
        }
        params.span = env.mem_stride * locations.max(2) as u32;
        params.instances = instances;
        params.testing = testing;
        Ok(Layout { instances, testing, words: instances * params.span, params })
    }

    /// The threads that the spin barrier waits for, where all of them can be on the device.
    pub fn barrier_target(&self, shape: &Shape, resident: u32) -> u32 {
        match shape.scheme {
            Scheme::Single => self.testing.min(resident),
            Scheme::Parallel => WORKGROUP * self.testing.min(resident),
        }
    }
}

/// Whether products stay below 2^32, which WGSL would wrap at.
fn fits(multiplier: u32, ring: u32) -> bool {
    u64::from(multiplier) * u64::from(ring) < 1 << 32
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{Models, Oracle};
    use super::super::variant::Scope;
    use super::super::wgsl::{self, Reach};
    use super::*;
    use litmake_mutate::mcm;

    fn program(threads: usize, locations: usize) -> Program {
        Program {
            name: "T".into(),
            locations: (0..locations).map(|x| (format!("x{x}"), 0)).collect(),
            threads: vec![Vec::new(); threads],
            registers: Vec::new(),
            views: false,
        }
    }

    fn shape(reach: Reach) -> Shape {
        Shape {
            scheme: Scheme::Parallel,
            reach,
            memory: Memory::Storage,
            aliased: false,
            scope: Scope::Device,
        }
    }

    fn env(testing_workgroups: u32, mem_stride: u32) -> Environment {
        Environment {
            testing_workgroups,
            max_workgroups: testing_workgroups,
            mem_stride,
            stress_line_size: 4,
            stress_target_lines: 1,
            scratch_memory_size: 128,
            ..Environment::default()
        }
    }

    #[test]
    fn locations_of_instances_do_not_meet() {
        // 419 and 838 are the counts at which the artifact's multiplier would fail.
        for testing in [2, 3, 419, 551, 838, 1024] {
            for locations in 1..=4 {
                let l = Layout::new(
                    &program(2, locations),
                    &shape(Reach::Workgroups),
                    &env(testing, 3),
                )
                .unwrap();
                let mut seen = vec![false; l.words as usize];
                for x in 0..locations {
                    for i in 0..l.instances {
                        let at = i.checked_mul(l.params.permute[0][x]).unwrap() % l.instances
                            * l.params.span
                            + l.params.offset[0][x];
                        assert!(!std::mem::replace(&mut seen[at as usize], true));
                    }
                }
            }
        }
    }

    /// The same arithmetic as the shader's.
    fn partner(reach: Reach, p: &Params, k: u32, (g, l): (u32, u32), own: u32) -> (u32, u32) {
        match reach {
            Reach::Workgroups => {
                ((g + 1 + l % (p.testing - 1)) % p.testing, l * p.permute_first % WORKGROUP)
            }
            Reach::Workgroup => (g, (l * p.permute_first + k) % WORKGROUP),
            Reach::Subgroup(n) => (g, own - own % n + ((l % n) * p.permute_first + k) % n),
        }
    }

    #[test]
    fn each_thread_of_each_instance_is_run_once() {
        for reach in [Reach::Workgroups, Reach::Workgroup, Reach::Subgroup(8), Reach::Subgroup(32)]
        {
            for testing in [2, 3, 551] {
                let l = Layout::new(&program(4, 2), &shape(reach), &env(testing, 1)).unwrap();
                let mut seen = vec![vec![false; l.instances as usize]; 4];
                for g in 0..testing {
                    for own in 0..WORKGROUP {
                        let mut at = (g, own);
                        for k in 0..4 {
                            if k > 0 {
                                let next = partner(reach, &l.params, k, at, own);
                                match reach {
                                    Reach::Workgroups => assert_ne!(next.0, at.0),
                                    _ => assert_eq!(next.0, g),
                                }
                                if let Reach::Subgroup(n) = reach {
                                    assert_eq!(next.1 / n, own / n);
                                }
                                at = next;
                            }
                            let id = (at.0 * WORKGROUP + at.1) as usize;
                            assert!(!std::mem::replace(&mut seen[k as usize][id], true));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn multipliers_are_the_artifacts_where_they_fit() {
        let of =
            |t| Layout::new(&program(2, 2), &shape(Reach::Workgroups), &env(t, 1)).unwrap().params;
        assert_eq!((of(551).permute_first, of(551).permute[0]), (109, [1, 419, 0, 0]));
        assert_eq!(of(419).permute[0][1], 1031);
        assert_eq!(gcd(12, 18), 6);
    }

    #[test]
    fn accesses_to_one_location_go_by_two_views() {
        let all = mcm::conformance().unwrap();
        let mut models = Models::new(None).unwrap();
        let mut text = |name: &str| {
            let test = &all.iter().find(|m| m.test.name == name).unwrap().test;
            let program = Program::new(test).unwrap();
            let oracle = Oracle::new(test, &program, &mut models).unwrap();
            wgsl::module(&program, &oracle, &Shape::new(Scheme::Parallel, &program))
        };
        let co = text("MP-CO");
        assert!(
            co.contains("atomicStore(&memory[a0_0_0], 1u);\n    atomicStore(&memory[a0_0_1], 2u);"),
            "{co}"
        );
        assert!(co.contains(
            "let r0 = atomicLoad(&memory[a1_0_1]);\n    let r1 = atomicLoad(&memory[a1_0_0]);"
        ));
        let sw = text("MP-relacq");
        assert!(sw.contains("atomicStore(&memory[a0_0_0], 1u);\n    storageBarrier();\n    atomicStore(&memory[a0_1_0], 1u);"));
    }

    #[test]
    fn small_programs_read_each_of_two_locations_by_two_views() {
        let all =
            litmake_mutate::small::tests(litmake_mutate::small::Size { events: 5, special: 0 });
        let all = all.unwrap();
        let mut models = Models::new(None).unwrap();
        let mut text = |name: &str| {
            let test = all.iter().find(|t| t.name == name).unwrap();
            let program = Program::new(test).unwrap();
            let oracle = Oracle::new(test, &program, &mut models).unwrap();
            wgsl::module(&program, &oracle, &Shape::new(Scheme::Parallel, &program))
        };
        let twice = text("RxRyRx+WxWy");
        assert!(
            twice.contains(
                "let r0 = atomicLoad(&memory[a0_0_0]);\n    let r1 = atomicLoad(&memory[a0_1_0]);\n    \
                 let r2 = atomicLoad(&memory[a0_0_1]);"
            ),
            "{twice}"
        );
        // No thread of this one has a place twice, so that there is nothing to hide.
        let once = text("WxWy+RyRx");
        assert!(!once.contains("_0_1]") && !once.contains("_1_1]"), "{once}");
    }
}
