//! `litmake init`: sets up a nightly in the working folder. It does not know how a run goes: the first
//! night is the command that every later night is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::profile::files::{Disk, Files};
use litmake::profile::{Profile, builds};

use super::{common, doctor, pipelines};

/// Set up a nightly here: a pipeline for your compilers, a CI job, and a baseline.
///
/// It looks for compilers, writes a pipeline that judges them, runs it once, and records the bugs of
/// that first night as known. From then on a run fails only for new bugs. Files that exist are never
/// changed.
///
/// Exit status: 0, done; 2, wrong input, or a file is in the way; 3, there is no compiler, or the first
/// night could not judge everything.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake init                              a pipeline in the folder `litmus`, and a first night
  litmake init --ci github                  and a workflow that runs it each night
  litmake init --profile gcc-aarch64 --profile clang-aarch64@/srv/llvm/main")]
pub struct Args {
    /// The folder for the pipeline
    #[arg(value_name = "DIR", default_value = "litmus")]
    folder: PathBuf,

    /// Also write the job of a CI server: a workflow for GitHub, or a job for GitLab
    #[arg(long, value_enum, value_name = "SERVER")]
    ci: Option<Server>,

    /// Profiles to judge: names or parts of them (`clang-aarch64`), patterns, files [default: clang and
    /// gcc, as they are installed, for this machine and the common targets]
    #[arg(short, long, value_name = "NAME|FILE")]
    profile: Vec<String>,

    /// How many tests a night takes. All nights take the same ones
    #[arg(long, value_name = "N", default_value_t = 300)]
    sample: u32,

    /// Where the CI server gets litmake from: OWNER/REPOSITORY@REVISION on GitHub, and what git can clone
    /// on GitLab
    #[arg(long, value_name = "REPOSITORY", requires = "ci")]
    source: Option<String>,

    /// Write the files, and run nothing
    #[arg(long)]
    no_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Server {
    Github,
    Gitlab,
}

/// The results of the first night.
const OUT: &str = "litmake-out";

/// A file to be written, from the working folder.
struct Written {
    path: PathBuf,
    text: String,
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let profiles = match args.profile.is_empty() {
        true => common::usual()?.iter().map(|p| lasting(p)).collect(),
        false => {
            common::named_profiles(&args.profile)?;
            args.profile.clone()
        }
    };
    println!("compilers:");
    for word in &profiles {
        for name in common::named_profiles(std::slice::from_ref(word))? {
            let profile = common::find_profile(&Disk, &name)?;
            println!("  {word:32} {}", profile.compiler);
        }
    }
    let mut files = pipeline(args, &profiles);
    files.extend(job(args, &profiles)?);
    write(&files)?;
    let path = args.folder.join("nightly.yaml");
    if args.no_run {
        println!("the first night: litmake run {}", path.display());
    } else {
        let status = first_night(&path, &args.folder.join("known.json"))?;
        if status != 0 {
            return Ok(status);
        }
    }
    say_next(args, &path);
    Ok(0)
}

/// A word for the compiler of a profile that stays the same when the compiler is updated: the command
/// without a version where there is one, or else the newest version that is installed.
fn lasting(profile: &Profile) -> String {
    let name = profile.unversioned().unwrap_or_else(|| profile.name.clone());
    let (prefix, tool) = builds::parts(&profile.compiler);
    match Disk.installed(&format!("{prefix}{tool}")) {
        true if profile.version().is_some() => format!("{name}@{tool}"),
        _ => name,
    }
}

/// The pipeline with the files that it uses.
fn pipeline(args: &Args, profiles: &[String]) -> Vec<Written> {
    let mut out = Vec::new();
    for (path, text) in pipelines::files("nightly") {
        let mut text = text.to_string();
        if path == "nightly.yaml" {
            let value = |line: &str| {
                let line = match line.trim_start().split_once(':')?.0 {
                    "profiles" if line.starts_with(' ') => {
                        format!("  profiles: {}", profiles.join(", "))
                    }
                    "sample" if line.starts_with(' ') => format!("  sample: {}", args.sample),
                    "about" => format!(
                        "{line}\n# The bugs of the first night. `litmake report baseline` adds to them.\nbaseline: known.json"
                    ),
                    _ => return None,
                };
                Some(line)
            };
            let head = text.split("\nstages:").next().unwrap_or("").len();
            let (head, stages) = text.split_at(head);
            let head: Vec<String> =
                head.split('\n').map(|l| value(l).unwrap_or_else(|| l.to_string())).collect();
            text = head
                .join("\n")
                .replace("pipelines/nightly.yaml", &args.folder.join(path).display().to_string())
                + stages;
        }
        out.push(Written { path: args.folder.join(path), text });
    }
    out
}

/// The files of the CI server's job.
fn job(args: &Args, profiles: &[String]) -> Result<Vec<Written>> {
    let Some(server) = args.ci else { return Ok(Vec::new()) };
    let mut packages = BTreeSet::new();
    for name in common::named_profiles(profiles)? {
        packages.extend(doctor::package(&common::find_profile(&Disk, &name)?.compiler));
    }
    let packages: Vec<String> = packages.into_iter().filter(|p| !p.contains('/')).collect();
    let version = env!("CARGO_PKG_VERSION");
    let (path, text, source) = match server {
        Server::Github => (
            ".github/workflows/litmake.yml",
            include_str!("../../templates/github.yml"),
            format!("OWNER/litmake@v{version}"),
        ),
        Server::Gitlab => (
            ".gitlab-ci.yml",
            include_str!("../../templates/gitlab.yml"),
            "https://HOST/GROUP/litmake.git".to_string(),
        ),
    };
    let text = text
        .replace("@SOURCE@", args.source.as_ref().unwrap_or(&source))
        .replace("@PIPELINE@", &args.folder.join("nightly.yaml").display().to_string())
        .replace("@PACKAGES@", &packages.join(" "));
    let mut out = Vec::new();
    if server == Server::Gitlab {
        let text = include_str!("../../templates/litmake.yml").to_string();
        out.push(Written { path: ".gitlab/litmake.yml".into(), text });
    }
    out.push(Written { path: path.into(), text });
    Ok(out)
}

/// Writes files. One that is there with another text is an error before anything is written.
fn write(files: &[Written]) -> Result<()> {
    let in_the_way = |file: &&Written| {
        file.path.exists()
            && litmake::file::read_text(&file.path, litmake::file::MAX_TEXT)
                .is_ok_and(|text| text != file.text)
    };
    if let Some(file) = files.iter().find(in_the_way) {
        return Err(Diag::new(format!("{} is there already", file.path.display()))
            .help("`litmake init` changes no file: move that one away, or name another folder"));
    }
    println!("written:");
    for file in files {
        if let Some(folder) = file.path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|e| Diag::new(format!("cannot make {}: {e}", folder.display())))?;
        }
        litmake::file::write(&file.path, &file.text)?;
        println!("  {}", file.path.display());
    }
    Ok(())
}

/// Runs the pipeline, and records what it finds as known. The status: 0 if everything was judged.
fn first_night(pipeline: &Path, known: &Path) -> Result<u8> {
    println!("the first night:");
    let shown = pipeline.display().to_string();
    let (report, html) = (format!("{OUT}/report.json"), format!("{OUT}/report.html"));
    let words = [
        "litmake",
        "run",
        &shown,
        "--report",
        &report,
        "--html",
        &html,
        "--findings",
        OUT_FINDINGS,
    ];
    std::fs::create_dir_all(OUT).map_err(|e| Diag::new(format!("cannot make {OUT}: {e}")))?;
    let command = super::parsed(words).map_err(|e| Diag::new(e.to_string()))?.command;
    let super::Command::Run(mut args) = command else { return Ok(3) };
    let status = super::run::run(&mut args)?;
    if status > 1 {
        println!(
            "nothing is recorded as known, since not everything was judged: correct what is wrong,"
        );
        println!(
            "then run `litmake run {shown} --report {report}` and `litmake report baseline {report} --baseline {}`",
            known.display()
        );
        return Ok(status);
    }
    let recorded = super::baseline::write(Path::new(&report), known)?;
    println!("{}: {} known", known.display(), litmake::report::number(recorded.0 as u64, "bug"));
    Ok(0)
}

const OUT_FINDINGS: &str = "litmake-out/findings";

/// Says what to do next.
fn say_next(args: &Args, pipeline: &Path) {
    println!("next:");
    if !args.no_run {
        println!("  open {OUT}/report.html in a browser: what the first night found");
    }
    println!("  commit {}; `cache` and `{OUT}` can be ignored", args.folder.display());
    match args.ci {
        None => println!(
            "  each night: litmake run {} --history history && litmake site pages",
            pipeline.display()
        ),
        Some(server) => {
            let (file, place) = match server {
                Server::Github => (".github/workflows/litmake.yml", "OWNER/litmake"),
                Server::Gitlab => (".gitlab-ci.yml", "HOST/GROUP"),
            };
            if args.source.is_none() {
                println!("  in {file}, put the place of litmake's repository for {place}");
            }
            println!("  push: {file} runs the pipeline each night");
        }
    }
}
