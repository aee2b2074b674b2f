//! `litmake bisect`: finds the build of a compiler in which a bug began or ended.

use std::path::Path;
use std::process::ExitCode;

use clap_complete::engine::ArgValueCompleter;
use litmake::diag::{Diag, Result};
use litmake::litmus::list;
use litmake::profile::builds;
use litmake::profile::files::Disk;
use litmake::report::{Report, Status};
use litmake::stop::Stopping;
use litmake::toolchain::process;

use super::check::{self, Question};
use super::common::{self, CacheArgs};
use super::compile::StorageArg;
use super::{completions, made};

/// Find the build of a compiler in which a bug began or ended, by halving.
///
/// A build is bad if it compiles one of the tests to code that allows an outcome which the source
/// forbids. The oldest and the newest build are tried first; if they differ, the build in the
/// middle is tried, and so on. A build that cannot tell, because it is missing or refuses the test,
/// is skipped.
///
/// With `--git`, one build is tried, with the exit statuses that `git bisect run` expects: 0, the
/// build is good; 1, it is bad; 125, it cannot tell; 128, the command line is wrong, which ends the
/// bisection.
///
/// Exit status without `--git`: 0, the build was found; 1, all builds that were tried say the same;
/// 2, wrong input; 3, too few builds could tell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake bisect --profile clang-riscv64-O2 test.litmus
  litmake bisect --profile clang-aarch64-O2 --build /srv/llvm/builds/ test.litmus
  litmake bisect --profile gcc-aarch64-O2 --build gcc-11 --build gcc-12 --build ./build test.litmus
  git bisect run sh -c 'ninja -C build clang || exit 125
    litmake bisect --git --profile clang-riscv64-O2@./build test.litmus'")]
pub struct Args {
    /// The profile, by its name or parts of it (`clang-riscv64`); with --git, the profile of the
    /// build to try
    #[arg(short, long, required = true, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    profile: String,

    /// A build: a command, a folder with `bin/clang` or the like, or a folder of such folders, in
    /// the order of their versions. Give several, oldest first [default: the installed versions and
    /// the builds that the profile lists]
    #[arg(long, value_name = "BUILD", conflicts_with = "git")]
    build: Vec<String>,

    /// Try the one build of the profile, as the command of `git bisect run`
    #[arg(long)]
    git: bool,

    /// How tests reach the shared locations: through pointers that threads are given, or as
    /// variables
    #[arg(long, value_enum, default_value = "pointers")]
    storage: StorageArg,

    /// Put each atomic operation into a helper function that is not inlined
    #[arg(long)]
    helpers: bool,

    /// The model of the sources. An outcome that a further model allows does not count [default:
    /// rc11, and rc11-lb; vulkan for shaders]
    #[arg(long, value_name = "MODEL", add = ArgValueCompleter::new(completions::models))]
    source_model: Vec<String>,

    /// Print the verdict on each build as JSON
    #[arg(long, conflicts_with = "git")]
    json: bool,

    #[command(flatten)]
    cache: CacheArgs,

    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line,
    /// relative to the list)
    #[arg(required = true, value_name = "FILE|FOLDER|@LIST")]
    inputs: Vec<String>,
}

/// The verdict on a build.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    Good,
    Bad,
    /// The build cannot tell, and why.
    Unknown(String),
}

impl Says {
    fn name(&self) -> &'static str {
        match self {
            Says::Good => "good",
            Says::Bad => "bad",
            Says::Unknown(_) => "unknown",
        }
    }
}

/// The exit statuses by which `git bisect run` skips a build, and ends the bisection.
const SKIP: u8 = 125;
pub const ABORT: u8 = 128;

pub fn main(args: Args) -> ExitCode {
    let done = match args.git {
        true => git(&args),
        false => builds_of(&args).and_then(|builds| bisect(&args, &builds)),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(e) if args.git => {
            eprintln!("{e}");
            ExitCode::from(ABORT)
        }
        Err(e) => common::fail(&e),
    }
}

fn git(args: &Args) -> Result<u8> {
    list::existing(&args.inputs)?;
    // A build in a folder may be missing because it could not be made. An unknown name is a
    // mistake.
    let is_build = args.profile.contains('@');
    let profile = common::find_profile(&Disk, &args.profile);
    let says = match profile {
        Err(e) if is_build => Says::Unknown(e.to_string()),
        Err(e) => return Err(e),
        Ok(_) => ask(args, &args.profile)?,
    };
    println!("{}: {}", args.profile, says.name());
    Ok(match says {
        Says::Good => 0,
        Says::Bad => 1,
        Says::Unknown(why) => {
            eprintln!("{why}");
            SKIP
        }
    })
}

/// The profiles of the builds, oldest first.
fn builds_of(args: &Args) -> Result<Vec<String>> {
    let known = common::known_profiles();
    let name = &args.profile;
    if args.build.is_empty() {
        let profile = known.find(&Disk, Path::new("."), name)?;
        let base = profile.unversioned().unwrap_or_else(|| name.clone());
        let mut own: Vec<_> =
            known.iter().filter(|p| p.unversioned().as_ref() == Some(&base)).collect();
        own.retain(|p| process::find(&p.compiler).is_some());
        own.sort_by(|a, b| a.by_age(b));
        return enough(own.into_iter().map(|p| p.name.clone()).collect(), name);
    }
    let like = known.find(&Disk, Path::new("."), name)?;
    let mut out = Vec::new();
    for build in &args.build {
        let all = match build.contains('/') {
            true => builds::all(&Disk, build, &like.compiler),
            false => vec![(String::new(), build.clone())],
        };
        if all.is_empty() && Path::new(build).is_dir() {
            return Err(Diag::new(format!("there is no build of {} in {build}", like.tool()))
                .help("a build is a folder with `bin/clang`, `bin/gcc` or the like"));
        }
        let folders = match all.is_empty() {
            true => vec![build.clone()],
            false => all.into_iter().map(|(_, folder)| folder).collect(),
        };
        out.extend(folders.into_iter().map(|folder| format!("{name}@{folder}")));
    }
    enough(out, name)
}

fn enough(builds: Vec<String>, name: &str) -> Result<Vec<String>> {
    match builds.len() {
        0 | 1 => Err(Diag::new(format!(
            "two builds are needed to bisect, and `{name}` has {}",
            builds.len()
        ))
        .help("name a folder of builds with --build, or several; `litmake doctor` says what is installed")),
        _ => Ok(builds),
    }
}

fn bisect(args: &Args, builds: &[String]) -> Result<u8> {
    list::existing(&args.inputs)?;
    let stop = common::stop();
    let mut asked: Vec<(usize, Says)> = Vec::new();
    let place = halved(builds.len(), &mut |n| {
        if stop.asked() {
            common::stopped("no place was found");
        }
        let says = ask(args, &builds[n])?;
        if !args.json {
            match &says {
                Says::Unknown(why) => {
                    println!("{}: unknown: {}", builds[n], why.lines().next().unwrap_or(""));
                }
                other => println!("{}: {}", builds[n], other.name()),
            }
        }
        asked.push((n, says.clone()));
        Ok(says)
    })?;
    asked.sort_by_key(|(n, _)| *n);
    if args.json {
        let asked: Vec<_> = asked
            .iter()
            .map(|(n, says)| {
                let mut one = serde_json::json!({ "build": builds[*n], "says": says.name() });
                if let Says::Unknown(why) = says {
                    one["why"] = why.as_str().into();
                }
                one
            })
            .collect();
        let mut out = serde_json::json!({ "builds": builds.len(), "asked": asked });
        if let Place::Between { last, first, bad } = place {
            out["change"] = if bad { "began" } else { "ended" }.into();
            out["last"] = builds[last].as_str().into();
            out["first"] = builds[first].as_str().into();
        }
        println!("{out}");
    } else {
        let (of, all) = (asked.len(), builds.len());
        match &place {
            Place::Between { last, first, bad } => {
                let (is, was) = if *bad { ("bad", "good") } else { ("good", "bad") };
                println!(
                    "the first {is} build is {}; the last {was} one is {}",
                    builds[*first], builds[*last]
                );
                if first - last > 1 {
                    println!("the {} between them cannot tell", first - last - 1);
                }
            }
            Place::Same(says) => {
                println!("the oldest and the newest build that can tell are {}", says.name());
                println!("a bug that came and went between them is not looked for");
            }
            Place::Nowhere => println!("fewer than two builds can tell"),
        }
        println!("asked {of} of {all} builds");
    }
    Ok(common::status_of(match place {
        Place::Between { .. } => 0,
        Place::Same(_) => 1,
        Place::Nowhere => 3,
    }))
}

/// The verdict on a profile's compiler: whether it compiles one of the tests wrongly.
fn ask(args: &Args, profile: &str) -> Result<Says> {
    let missing = |e: &Diag| Says::Unknown(e.to_string());
    match common::find_profile(&Disk, profile) {
        Ok(found) if process::find(&found.compiler).is_some() => {}
        Ok(found) => {
            return Ok(Says::Unknown(format!(
                "the compiler `{}` is not installed",
                found.compiler
            )));
        }
        Err(e) => return Ok(missing(&e)),
    }
    let profiles = [profile.to_string()];
    let models = check::models(&args.source_model, &profiles).map_err(|e| *e)?;
    let question = Question {
        investigate: 0,
        ..Question::whole(&profiles, vec![(args.storage, args.helpers)], &models)
    };
    let paths = list::existing(&args.inputs)?;
    let report = made::answer(check::pipeline(&question, &paths), &args.cache)?;
    Ok(says(&report))
}

/// The verdict that a report gives.
fn says(report: &Report) -> Says {
    if report.stopped {
        common::stopped("no place was found");
    }
    let is_bad = |f: &&litmake::report::Finding| f.status == Status::New && f.label.is_empty();
    match (report.findings.iter().any(|f| is_bad(&f)), report.errors.first()) {
        (true, _) => Says::Bad,
        (false, Some(e)) => Says::Unknown(format!("{}: {}", e.test, e.message)),
        (false, None) if report.unexplored() > 0 => Says::Bad,
        (false, None) => Says::Good,
    }
}

/// The result of halving.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// The builds between `last` and `first` cannot tell. `bad` says whether `first` is the bad
    /// one.
    Between {
        last: usize,
        first: usize,
        bad: bool,
    },
    /// The first and the last build that can tell agree on this verdict.
    Same(Says),
    Nowhere,
}

/// Halves a row of builds until two neighbours, among those that can tell, differ.
fn halved(count: usize, ask: &mut dyn FnMut(usize) -> Result<Says>) -> Result<Place> {
    let mut known: Vec<Option<Says>> = vec![None; count];
    let mut told = |n: usize| -> Result<Option<Says>> {
        if known[n].is_none() {
            known[n] = Some(ask(n)?);
        }
        Ok(known[n].clone().filter(|s| !matches!(s, Says::Unknown(_))))
    };
    // The first and the last build that can tell.
    let mut ends = (None, None);
    for n in 0..count {
        if let Some(says) = told(n)? {
            ends.0 = Some((n, says));
            break;
        }
    }
    let Some((mut last, old)) = ends.0 else { return Ok(Place::Nowhere) };
    for n in (last + 1..count).rev() {
        if let Some(says) = told(n)? {
            ends.1 = Some((n, says));
            break;
        }
    }
    let Some((mut first, new)) = ends.1 else { return Ok(Place::Nowhere) };
    if old == new {
        return Ok(Place::Same(old));
    }
    loop {
        // From the middle outwards, until one can tell.
        let middle = last + (first - last) / 2;
        let mut between: Vec<usize> = (last + 1..first).collect();
        between.sort_by_key(|n| n.abs_diff(middle));
        let mut found = None;
        for n in between {
            if let Some(says) = told(n)? {
                found = Some((n, says));
                break;
            }
        }
        match found {
            None => return Ok(Place::Between { last, first, bad: new == Says::Bad }),
            Some((n, says)) if says == old => last = n,
            Some((n, _)) => first = n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place, and how many builds were tried: `g`ood, `b`ad, or `?`.
    fn place(row: &str) -> (Place, usize) {
        let row: Vec<char> = row.chars().collect();
        let mut asked = Vec::new();
        let place = halved(row.len(), &mut |n| {
            assert!(!asked.contains(&n), "{n} is asked twice");
            asked.push(n);
            Ok(match row[n] {
                'g' => Says::Good,
                'b' => Says::Bad,
                _ => Says::Unknown("?".into()),
            })
        });
        (place.unwrap_or_else(|e| panic!("{e}")), asked.len())
    }

    #[test]
    fn the_first_bad_build_is_found_wherever_it_is() {
        for count in 2..40 {
            for at in 1..count {
                for (before, after) in [('g', 'b'), ('b', 'g')] {
                    let row: String =
                        (0..count).map(|n| if n < at { before } else { after }).collect();
                    let (found, asked) = place(&row);
                    let expected = Place::Between { last: at - 1, first: at, bad: after == 'b' };
                    assert_eq!(found, expected, "{row}");
                    // Both ends, and one more for each halving.
                    assert!(asked <= 2 + count.ilog2() as usize + 1, "{row}: {asked}");
                }
            }
        }
    }

    #[test]
    fn builds_that_cannot_tell_are_passed_over() {
        let between = |last, first| Place::Between { last, first, bad: true };
        for (row, expected) in [
            ("g??b", between(0, 3)),
            ("?g?b?", between(1, 3)),
            ("gg??????b", between(1, 8)),
            ("g???g?bb", between(4, 6)),
            ("ggg", Place::Same(Says::Good)),
            ("b?b", Place::Same(Says::Bad)),
            ("???", Place::Nowhere),
            ("?g?", Place::Nowhere),
        ] {
            assert_eq!(place(row).0, expected, "{row}");
        }
    }
}
