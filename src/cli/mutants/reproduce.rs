//! `litmake mutants reproduce`: reduces a test that shows a forbidden outcome on a device, by
//! running it, and writes it as self-contained files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use litmake::base::failure::Failure;
use litmake::diag::{Diag, Result};
use litmake::gpu::environment::Environment;
use litmake::gpu::oracle::Models;
use litmake::gpu::reproduce::{Case, Shown, files, simpler, widest};
use litmake::gpu::run::{Measured, Request};
use litmake::gpu::session::{Prepared, Session, Setup};
use litmake::litmus::{self, Test};
use litmake::reduce::reduce;
use litmake::stop::{Stop, Stopping};

use super::run::{Errors, How, Tests};

/// Reduce a test that shows a forbidden outcome on a device, and write it as files that need no
/// litmake: a page for a browser with WebGPU, a script for Amber, and the SPIR-V.
///
/// Each test has a folder. The test, its environment and its parameters are made simpler as long as
/// the device still shows an outcome that the model forbids.
///
/// Exit status: 0, no test showed a forbidden outcome, and nothing was written; 1, some did; 2,
/// wrong input; 3, there is no device, or it failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mutants reproduce --suite conformance --only CoRR --variant spirv-bounds -o report
  litmake mutants reproduce bug.litmus --reach workgroup --memory workgroup -o report")]
pub struct Reproduce {
    #[command(flatten)]
    tests: Tests,

    #[command(flatten)]
    how: How,

    /// The folder that gets a folder for each test
    #[arg(short, long = "output", value_name = "DIR")]
    out: PathBuf,

    /// Seconds after which a test counts as one that shows nothing forbidden
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    patience: f64,
}

fn seconds(word: &str) -> std::result::Result<f64, String> {
    let seconds = word.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
    seconds.ok_or_else(|| "a number of seconds is expected".to_string())
}

/// The largest number of candidates to reduce a test.
const CANDIDATES: usize = 300;
/// A candidate may run this many times as long as the test before it needed.
const LONGER: u32 = 4;
/// A candidate may take at most this part of the patience.
const PART: u32 = 4;
/// The shortest time for a candidate.
const LEAST: Duration = Duration::from_millis(300);

pub fn reproduce(args: &Reproduce) -> Result<u8> {
    let mut errors = Errors::default();
    let tests = args.tests.read(&mut errors)?;
    let mut session = Session::new(args.how.device());
    let info = match session.device() {
        Ok(device) => device.info.clone(),
        Err(failure) => return Ok(super::run::no_device(&failure)),
    };
    let (setup, environments) = args.how.setup(info.subgroup)?;
    let stop = super::common::stop();
    let mut lab = Lab { session, models: args.tests.models()?, setup, stop, runs: 0 };
    let mut status = 0;
    for test in &tests {
        if lab.stop.asked() {
            return Ok(super::common::status_of(3));
        }
        match lab.test(test, &environments, Duration::from_secs_f64(args.patience)) {
            Ok(Some(small)) => {
                let folder = args.out.join(&test.name);
                lab.write(&small, &info.to_string(), &folder)?;
                println!(
                    "{}: {} in {}; {}",
                    test.name,
                    small.prepared.program.text(),
                    folder.display(),
                    rate(&small)
                );
                status = 1;
            }
            Ok(None) => eprintln!("{}: nothing forbidden showed in {} s", test.name, args.patience),
            Err(failure) => errors.failed(&test.name, &failure),
        }
    }
    Ok(status.max(errors.end()))
}

/// How often the forbidden outcomes showed, as text.
fn rate(small: &Small) -> String {
    let violations = small.seen.violations(&small.prepared.oracle);
    format!("{violations} of {} instances show what is forbidden", small.seen.instances)
}

/// The reduced test, and its reduced environment.
pub struct Small {
    test: Test,
    prepared: Prepared,
    environment: Environment,
    /// The results of the last run.
    seen: Measured,
    /// The environment in which one iteration does the most, with its results.
    wide: Option<(Environment, Measured)>,
}

/// Runs candidates on the device.
struct Lab {
    session: Session,
    models: Models,
    setup: Setup,
    stop: Stop,
    runs: u64,
}

impl Lab {
    /// The reduced form of a test that still shows a forbidden outcome. None if the test never
    /// shows one.
    fn test(
        &mut self,
        test: &Test,
        environments: &[Environment],
        patience: Duration,
    ) -> std::result::Result<Option<Small>, Failure> {
        let prepared = self.prepare(test)?;
        let start = Instant::now();
        let mut found = None;
        // Goes through all environments again and again, with twice the time in each round.
        let mut share = patience / 64;
        while found.is_none() && start.elapsed() < patience && !self.stop.asked() {
            for environment in environments {
                if let Some(seen) = self.shows(&prepared, environment, share)? {
                    found = Some((*environment, seen));
                    break;
                }
                if start.elapsed() >= patience || self.stop.asked() {
                    break;
                }
            }
            share *= 2;
        }
        let Some((environment, seen)) = found else { return Ok(None) };
        let mut small = Small { test: test.clone(), prepared, environment, seen, wide: None };
        self.calmer(&mut small, patience);
        let share = self.share(&small, patience);
        let environment = small.environment;
        let reduced = reduce(&small.test, CANDIDATES, &mut |tests| {
            // Once a candidate shows it, the others need not run.
            let mut shown = false;
            let mut one = |test: &Test| {
                shown = !shown && !self.stop.asked() && self.holds(test, &environment, share);
                shown
            };
            tests.iter().map(&mut one).collect()
        });
        if let Ok(prepared) = self.prepare(&reduced)
            && let Ok(Some(seen)) = self.shows(&prepared, &environment, patience)
        {
            small = Small { test: reduced, prepared, environment, seen, wide: None };
        }
        self.calmer(&mut small, patience);
        // A run that ends at the first forbidden outcome does not tell the rate, so another run
        // measures it.
        if let Ok(seen) = self.measure(&small.prepared, &small.environment, share.max(LEAST))
            && seen.violations(&small.prepared.oracle) > 0
        {
            small.seen = seen;
        }
        let wide = widest(&small.environment);
        small.wide = self.shows(&small.prepared, &wide, patience)?.map(|seen| (wide, seen));
        Ok(Some(small))
    }

    fn prepare(&mut self, test: &Test) -> std::result::Result<Prepared, Failure> {
        let prepared = Prepared::new(test, self.setup.preset.scheme(), &mut self.models);
        prepared.map_err(|e| e.or_at(&test.source, test.condition.span).into())
    }

    /// Whether a smaller candidate is a valid test and shows a forbidden outcome.
    fn holds(&mut self, test: &Test, environment: &Environment, share: Duration) -> bool {
        let Ok(prepared) = self.prepare(test) else { return false };
        self.shows(&prepared, environment, share).is_ok_and(|seen| seen.is_some())
    }

    /// The time for a smaller candidate.
    fn share(&self, small: &Small, patience: Duration) -> Duration {
        let took = Duration::try_from_secs_f64(small.seen.seconds).unwrap_or_default();
        (took * LONGER).clamp(LEAST.min(patience / PART), patience / PART)
    }

    /// Makes the environment simpler as long as the forbidden outcome shows.
    fn calmer(&mut self, small: &mut Small, patience: Duration) {
        let mut refused: Vec<Environment> = Vec::new();
        'calmer: loop {
            let share = self.share(small, patience);
            for candidate in simpler(&small.environment) {
                if self.stop.asked() {
                    return;
                }
                if refused.contains(&candidate) {
                    continue;
                }
                match self.shows(&small.prepared, &candidate, share) {
                    Ok(Some(seen)) => {
                        (small.environment, small.seen) = (candidate, seen);
                        continue 'calmer;
                    }
                    _ => refused.push(candidate),
                }
            }
            return;
        }
    }

    /// The results with a forbidden outcome. None if the time ends before one shows.
    fn shows(
        &mut self,
        prepared: &Prepared,
        environment: &Environment,
        share: Duration,
    ) -> std::result::Result<Option<Measured>, Failure> {
        let start = Instant::now();
        let mut slice = share / 16;
        let mut all = Measured::default();
        loop {
            let seen = self.measure(prepared, environment, slice)?;
            if all.outcomes.is_empty() {
                all.outcomes = vec![0; seen.outcomes.len()];
            }
            all.outcomes.iter_mut().zip(&seen.outcomes).for_each(|(n, more)| *n += more);
            all.iterations = all.iterations.saturating_add(seen.iterations);
            all.instances += seen.instances;
            all.seconds += seen.seconds;
            if all.violations(&prepared.oracle) > 0 {
                return Ok(Some(all));
            }
            if start.elapsed() >= share || self.stop.asked() {
                return Ok(None);
            }
            slice *= 2;
        }
    }

    fn measure(
        &mut self,
        prepared: &Prepared,
        environment: &Environment,
        time: Duration,
    ) -> std::result::Result<Measured, Failure> {
        self.runs += 1;
        let request = Request {
            env: *environment,
            iterations: u32::MAX,
            time: Some(time),
            batch: self.setup.batch,
            // Every run draws different random numbers.
            seed: format!("{}/reproduce/{}", self.setup.seed, self.runs),
            spin_anywhere: self.setup.spin_anywhere,
        };
        let shape = self.setup.shape(&prepared.program);
        self.session.measure(prepared, shape, self.setup.variant, &request)
    }

    /// Writes the files for the reduced test.
    fn write(&mut self, small: &Small, device: &str, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
        let text = litmus::write(&small.test);
        let driver = self.session.device().map(|d| d.driver()).unwrap_or_default();
        fn shown<'a>(environment: &'a Environment, seen: &'a Measured) -> Shown<'a> {
            Shown { environment, outcomes: &seen.outcomes, iterations: seen.iterations }
        }
        let own = shown(&small.environment, &small.seen);
        let case = Case {
            test: &small.prepared,
            text: &text,
            setup: &self.setup,
            device,
            driver,
            shown: own,
            script: small.wide.as_ref().map_or(own, |(environment, seen)| shown(environment, seen)),
        };
        let made = files(&case).map_err(|failure| Diag::new(failure.text()))?;
        for file in &made {
            litmake::file::write(&folder.join(file.name), &file.content)?;
        }
        litmake::file::write(&folder.join("reduced.litmus"), &text)?;
        let has_page = made.iter().any(|file| file.name == "page.html");
        litmake::file::write(&folder.join("README.md"), readme(&case, has_page))
    }
}

/// How to run the files, for somebody who gets only the folder.
fn readme(case: &Case, has_page: bool) -> String {
    let mut out = format!("# {}\n\n", case.test.name);
    for line in case.about().lines() {
        out += &format!("{line}\n\n");
    }
    out += &format!("```\n{}```\n\n| file | what |\n| --- | --- |\n", case.text);
    if has_page {
        out += "| `page.html` | open it in a browser with WebGPU: it runs the test, counts outcomes, and marks what is forbidden. The browser compiles the WGSL its own way |\n";
    }
    out += "| `test.amber` | `amber -d -v 1.2 test.amber`, in this folder ([Amber](https://github.com/google/amber)) fails where the device counts what is forbidden |\n";
    out += "| `test.spv` | the pass that runs the test, as it went to the driver; `prepare.spv` and `count.spv` are what runs before and after |\n";
    out += "| `reduced.litmus` | the test, for `litmake mutants run` |\n";
    out
}

/// The options of `mutants run` that decide how a test runs, and that the command of a finding
/// repeats.
const OPTIONS: [&str; 7] =
    ["--preset", "--seed", "--variant", "--reach", "--memory", "--scope", "--set"];

#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    args: Reproduce,
}

/// Writes these files for a finding that has a folder, from its test and the options in its
/// command. Says whether the forbidden outcome showed again.
pub fn finding(command: &str, test: &Path, device: &str, folder: &Path) -> Result<bool> {
    let words = shlex::split(command).unwrap_or_default();
    let mut all = vec!["reproduce".to_string(), test.display().to_string()];
    for pair in words.windows(2) {
        if OPTIONS.contains(&pair[0].as_str()) {
            all.extend(pair.iter().cloned());
        }
    }
    for word in ["--environments", "8", "--device", device, "-o"] {
        all.push(word.to_string());
    }
    all.push(folder.display().to_string());
    let alone = <Alone as clap::Parser>::try_parse_from(all)
        .map_err(|e| Diag::new(format!("the command of a finding is not understood: {e}")))?;
    Ok(reproduce(&alone.args)? == 1)
}
