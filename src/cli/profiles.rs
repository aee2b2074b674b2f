//! `litmake list profiles`: lists the profiles, and says which of their compilers are installed.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use litmake::diag::{Diag, Result, nearest};
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::{Profile, Profiles};
use litmake::toolchain::process;

use super::common;

/// List profiles, or search for some, and say whether their compilers are installed.
///
/// Exit status: 0, done; 2, no profile fits.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake list profiles                            the families, with their versions
  litmake list profiles aarch64 O2 --installed     the profiles with both words in their names
  litmake list profiles --family gcc --json")]
pub struct Args {
    /// Words that must all be in the profile's name
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Only profiles of this compiler: clang, gcc, rustc, ...
    #[arg(long, value_name = "COMPILER")]
    family: Option<String>,

    /// Only profiles for this target: a dialect (AArch64), or a word between `-` in the profile's
    /// name (aarch64)
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,

    /// Only profiles at this level, such as O2
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,

    /// Only profiles whose compiler is installed
    #[arg(long)]
    installed: bool,

    /// Print one JSON object a profile, one a line
    #[arg(long)]
    json: bool,
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    let known = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    // Many profiles share a compiler, so each is looked for once.
    let mut found: HashMap<String, bool> = HashMap::new();
    let mut chosen: Vec<(&Profile, bool)> = Vec::new();
    for profile in known.iter().filter(|p| fits(args, p)) {
        let compiler = profile.compiler.clone();
        let is_there =
            *found.entry(compiler).or_insert_with(|| process::find(&profile.compiler).is_some());
        if is_there || !args.installed {
            chosen.push((profile, is_there));
        }
    }
    chosen.sort_by(|(a, _), (b, _)| {
        a.family.cmp(&b.family).then(a.by_age(b)).then(a.name.cmp(&b.name))
    });
    if chosen.is_empty() {
        let diag = Diag::new("no profile fits");
        let near = args.words.first().and_then(|word| nearest(word, known.names()));
        return Err(match near {
            Some(near) => diag.help(format!("there is `{near}`")),
            None => diag.help("`litmake list profiles` lists the families"),
        });
    }
    for broken in known.broken() {
        eprintln!("{broken}");
    }
    let is_asked = !args.words.is_empty() || args.level.is_some() || args.target.is_some();
    match (args.json, is_asked) {
        (true, _) => chosen.iter().for_each(|(p, is_there)| println!("{}", json(p, *is_there))),
        (false, true) => each(&chosen),
        (false, false) => families(&chosen),
    }
    Ok(())
}

fn fits(args: &Args, p: &Profile) -> bool {
    let is = |asked: &Option<String>, f: &dyn Fn(&str) -> bool| asked.as_deref().is_none_or(f);
    args.words.iter().all(|word| p.name.contains(word.as_str()))
        && is(&args.family, &|family| family == p.tool() || family == p.maker())
        && is(&args.target, &|target| {
            p.arch.name().eq_ignore_ascii_case(target) || p.name.split('-').any(|w| w == target)
        })
        && is(&args.level, &|level| level_of(p) == level)
}

/// The level, such as `O2`: the variable `level`, or else the last word of the name.
fn level_of(p: &Profile) -> &str {
    match p.variables.get("level") {
        Some(level) if level.len() > 1 => level,
        _ => p.name.rsplit('-').next().unwrap_or(""),
    }
}

fn json(p: &Profile, is_there: bool) -> serde_json::Value {
    serde_json::json!({
        "name": p.name,
        "family": p.maker(),
        "version": p.version(),
        "compiler": p.compiler,
        "language": p.language.name(),
        "arch": p.arch.name(),
        "level": level_of(p),
        "model": p.model.as_deref().unwrap_or(p.arch.default_model()),
        "args": p.args,
        "installed": is_there,
        "file": &*p.source.name,
    })
}

/// Prints a line for each profile.
fn each(chosen: &[(&Profile, bool)]) {
    let width = chosen.iter().map(|(p, _)| p.name.chars().count()).max().unwrap_or(0);
    for (p, is_there) in chosen {
        let state = if *is_there { "installed" } else { "missing" };
        println!("{:width$}  {:9}  {:7}  {}", p.name, state, p.arch.name(), p.compiler);
    }
}

/// Prints a line for each family: the pattern of its names, and the installed versions of its
/// compiler.
fn families(chosen: &[(&Profile, bool)]) {
    let mut rows: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for group in chosen.chunk_by(|a, b| a.0.family == b.0.family) {
        let mut versions: Vec<&str> = Vec::new();
        for (p, _) in group.iter().filter(|(_, is_there)| *is_there) {
            let version = p.version().unwrap_or("installed");
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        rows.push((&group[0].0.family, group.len(), versions));
    }
    let width = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
    for (family, count, versions) in rows {
        let versions = match versions.is_empty() {
            true => "missing".to_string(),
            false => versions.join(" "),
        };
        println!("{family:width$}  {count:>4}  {versions}");
    }
}
