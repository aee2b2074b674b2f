//! `litmake diff`: what changes from one compiler, version, level or architecture to another.

use std::path::Path;
use std::process::ExitCode;

use litmake::diag::{Diag, Result, nearest};
use litmake::litmus::list;
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::{Profiles, by_version};
use litmake::report::table;
use litmake::report::terminal::Style;

use super::{common, made};

/// Say of which tests the code changes from one profile to the next, and with it the outcomes.
///
/// Exit status: 0, no outcomes differ; 1, some do; 2, bad input; 3, something needed failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake diff --profile clang-19-aarch64-O2 --profile clang-22-aarch64-O2 tests/*.litmus
  litmake diff --profile 'clang-*-riscv64-O2' --family telechat-table3 --sample 500
  litmake diff --profile gcc-12-ppc64le-O1 --profile gcc-12-ppc64le-O3 @tests/@all")]
pub struct Args {
    /// Profiles, each compared with the one before it: names, files, or patterns such as
    /// `clang-*-aarch64-O2`, which stand for the installed ones in order of their versions
    #[arg(long, required = true, value_name = "NAME|FILE|PATTERN")]
    profile: Vec<String>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Name every test whose code changed
    #[arg(short, long)]
    verbose: bool,

    /// Tests that litmake makes, such as `telechat-table3`
    #[arg(long, value_name = "NAME", required_unless_present = "inputs")]
    family: Option<String>,

    /// Of those, so many, with every construct kept
    #[arg(long, default_value_t = 500, value_name = "N", requires = "family")]
    sample: u64,

    /// Tests, folders or archives (.tar) of tests, or lists of them (@LIST: one path a line, relative
    /// to the list)
    #[arg(value_name = "FILE|FOLDER|@LIST", conflicts_with = "family")]
    inputs: Vec<String>,

    #[command(flatten)]
    how: made::How,
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(status) => ExitCode::from(status),
        Err(e) => common::fail(&e),
    }
}

fn run(args: &Args) -> Result<u8> {
    let profiles = profiles(&args.profile)?;
    let tests = tests(args)?;
    let report = made::run(&pipeline(&profiles, tests), &args.how, |report| {
        if args.json {
            print!("{}", report.json());
            return Ok(());
        }
        print!("{}", table::changes(&report.changes, args.verbose));
        if !report.errors.is_empty() {
            let style = Style { color: common::stdout_color(), quiet: true, ..Style::default() };
            let mut errors = report.clone();
            errors.changes.clear();
            super::run::say_summary(&errors, style);
        }
        Ok(())
    })?;
    Ok(common::status_of(match report.exit_status() {
        0 => u8::from(report.changes.iter().any(|c| c.outcomes > 0)),
        other => other,
    }))
}

/// The profiles that words stand for, in order.
fn profiles(words: &[String]) -> Result<Vec<String>> {
    let known = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    let mut out: Vec<String> = Vec::new();
    for word in words {
        if !word.contains(['*', '?', '{']) {
            out.push(word.clone());
            continue;
        }
        let glob = globset::Glob::new(word)
            .map_err(|e| Diag::new(format!("the pattern `{word}`: {e}")))?
            .compile_matcher();
        let mut found: Vec<_> = known.iter().filter(|p| glob.is_match(&p.name)).collect();
        found.retain(|p| litmake::toolchain::process::find(&p.compiler).is_some());
        found.sort_by(|a, b| {
            let version = |v: Option<&str>| v.unwrap_or("").to_string();
            a.family
                .cmp(&b.family)
                .then(by_version(&version(a.version()), &version(b.version())))
                .then(a.name.cmp(&b.name))
        });
        if found.is_empty() {
            let diag = Diag::new(format!("no installed compiler has a profile `{word}`"));
            return Err(match nearest(word, known.names()) {
                Some(near) => diag.help(format!("there is `{near}`")),
                None => diag.help("`litmake doctor` says what is installed"),
            });
        }
        out.extend(found.into_iter().map(|p| p.name.clone()));
    }
    match out.len() {
        0 | 1 => Err(Diag::new("two profiles are needed to tell apart what they make")
            .help("name another --profile, or a pattern such as `clang-*-aarch64-O2`")),
        _ => Ok(out),
    }
}

/// The options of the stage that gives the tests.
fn tests(args: &Args) -> Result<serde_json::Value> {
    if let Some(family) = &args.family {
        let made = serde_json::json!({ "families": family, "sample": args.sample, "seed": 1 });
        return Ok(made);
    }
    let paths = list::existing(&args.inputs)?;
    let files: Vec<String> = paths.iter().map(|p| made::plain(&p.to_string_lossy())).collect();
    Ok(serde_json::json!({ "files": files }))
}

fn pipeline(profiles: &[String], tests: serde_json::Value) -> serde_json::Value {
    let mut stages = vec![serde_json::json!({ "name": "tests", "generate": tests })];
    for (i, profile) in profiles.iter().enumerate() {
        let profile = made::plain(profile);
        let code = format!("code-{i}");
        let outcomes = format!("outcomes-{i}");
        let compile = serde_json::json!({ "from": "tests", "profile": profile });
        stages.push(serde_json::json!({ "name": code, "compile": compile }));
        stages.push(serde_json::json!({ "name": outcomes, "simulate": { "from": code } }));
        if let Some(before) = i.checked_sub(1) {
            let diff = serde_json::json!({
                "before": format!("outcomes-{before}"),
                "after": outcomes,
            });
            stages.push(serde_json::json!({ "name": format!("diff-{i}"), "diff": diff }));
        }
    }
    serde_json::json!({ "name": "diff", "stages": stages })
}
