//! `litmake list pipelines`: lists the pipelines that come with litmake, and copies them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result, nearest};

use super::common::{self, CacheArgs};

macro_rules! shipped {
    ($($path:literal),* $(,)?) => {
        /// The files in `pipelines/`. Those in its folders are included or read by pipelines.
        const SHIPPED: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../../pipelines/", $path)))),*];
    };
}

shipped! {
    "abi-arm32.yaml", "abi-armv8-zig.yaml", "abi-armv8.yaml", "abi-armv8be.yaml", "abi-c-rust.yaml",
    "abi-layout.yaml", "abi-power.yaml", "abi-proposed.yaml", "abi-riscv.yaml", "abi-x86.yaml",
    "abi/stages.yaml", "cpu-quick.yaml", "example.yaml", "mcmutants-quick.yaml", "mcmutants.yaml",
    "gpu-compilers.yaml", "gpu-nightly.yaml", "gpu-ptx.yaml", "gpu-shaders.yaml", "kernel.yaml", "kernel/grace-period.litmus",
    "kernel/lock.litmus", "kernel/message-passing.litmus", "kernel/store-buffering.litmus", "nightly.yaml", "quickstart.yaml",
    "quickstart/idempotent-rmw.litmus", "quickstart/message-passing.litmus",
    "quickstart/spin-lock.litmus", "quickstart/store-buffering.litmus", "suite.yaml",
    "telechat-small.yaml", "telechat-table4.yaml", "upgrade.yaml",
}

/// List the pipelines that come with litmake, or search for some.
///
/// `--copy` writes them into a folder, with the files that they use, so that you can run and change
/// them.
///
/// Exit status: 0, done; 2, no pipeline fits, or the folder has a file of that name with another
/// text.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake list pipelines abi
  litmake list pipelines --copy litmus nightly && litmake run litmus/nightly.yaml")]
pub struct Args {
    /// Words that must all be in the pipeline's name or description
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Write the pipelines that fit into this folder
    #[arg(long, value_name = "DIR")]
    copy: Option<PathBuf>,

    /// Print one JSON object a pipeline, one a line
    #[arg(long, conflicts_with = "copy")]
    json: bool,
}

struct Pipeline {
    name: &'static str,
    path: &'static str,
    text: &'static str,
    about: &'static str,
}

/// The text of a pipeline that comes with litmake, by its file's name.
pub fn text(path: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(p, _)| *p == path).map(|(_, text)| *text)
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    let all: Vec<Pipeline> = SHIPPED.iter().filter_map(|(p, t)| pipeline(p, t)).collect();
    // A word that is the whole name of a pipeline means only that one, even if other names contain
    // it.
    let exact = |p: &&Pipeline| matches!(&args.words[..], [word] if word == p.name);
    let has = |p: &Pipeline, word: &str| {
        format!("{} {}", p.name, p.about).to_lowercase().contains(&word.to_lowercase())
    };
    let mut chosen: Vec<&Pipeline> = all.iter().filter(exact).collect();
    if chosen.is_empty() {
        chosen = all.iter().filter(|p| args.words.iter().all(|w| has(p, w))).collect();
    }
    if chosen.is_empty() {
        let (names, help) = (all.iter().map(|p| p.name), "`litmake list pipelines` lists all");
        return Err(common::nothing_fits("pipeline", &args.words, names, help));
    }
    if let Some(folder) = &args.copy {
        return copy(&chosen, folder);
    }
    let width = chosen.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for p in chosen {
        match args.json {
            true => println!("{}", serde_json::json!({ "name": p.name, "about": p.about })),
            false => println!("{:width$}  {}", p.name, p.about),
        }
    }
    Ok(())
}

/// The file of a pipeline that the command line names: a file as it is, or one of litmake's own,
/// which is written beside the cache with the files that it uses. A folder of the same name does not
/// hide it.
pub fn located(path: &Path, cache: &CacheArgs) -> Result<PathBuf> {
    if litmake::litmus::list::is_test(path) && path.is_file() {
        let path = path.display();
        return Err(Diag::new(format!("{path} is a test, and a pipeline is expected here"))
            .help(format!("`litmake check {path}` judges a test without a pipeline")));
    }
    let name = path.to_str().unwrap_or("");
    let is_file = name.contains('/') || name.ends_with(".yaml") || name.ends_with(".yml");
    if path.is_file() || is_file && !path.is_dir() || name.is_empty() {
        return Ok(path.to_path_buf());
    }
    let all: Vec<Pipeline> = SHIPPED.iter().filter_map(|(p, t)| pipeline(p, t)).collect();
    let Some(own) = all.iter().find(|p| p.name == name) else {
        if path.is_dir() {
            let path = path.display();
            return Err(Diag::new(format!("{path} is a folder, and a pipeline is expected here"))
                .help(format!(
                    "name the file in it; `litmake check {path}` judges a folder of tests"
                )));
        }
        let diag = Diag::new(format!("there is no pipeline `{name}`"));
        return Err(match nearest(name, all.iter().map(|p| p.name)) {
            Some(near) => diag.help(format!("did you mean `{near}`, which comes with litmake?")),
            None => diag.help(
                "name a YAML file, or a pipeline that comes with litmake (`litmake list pipelines`)",
            ),
        });
    };
    let folder = cache.dir().join("pipelines");
    for (file, text) in files_of(&[own]) {
        let there = folder.join(file);
        let same = litmake::file::read(&there, litmake::file::MAX_TEXT);
        if same.is_ok_and(|bytes| bytes == text.as_bytes()) {
            continue;
        }
        if let Some(parent) = there.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|e| Diag::new(format!("cannot make {}: {e}", parent.display())))?;
        }
        litmake::file::write(&there, text)?;
    }
    Ok(folder.join(own.path))
}

/// A file as a pipeline. None if it lies in a folder, because it cannot be run by itself.
fn pipeline(path: &'static str, text: &'static str) -> Option<Pipeline> {
    let name = path.strip_suffix(".yaml").filter(|name| !name.contains('/'))?;
    let value = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches('"'))
    };
    value("name")?;
    Some(Pipeline { name, path, text, about: value("about").unwrap_or("") })
}

/// The files of pipelines: themselves, and those in the folders that they name.
fn files_of(chosen: &[&Pipeline]) -> Vec<(&'static str, &'static str)> {
    let mut files: Vec<(&str, &str)> = Vec::new();
    for p in chosen {
        files.push((p.path, p.text));
        files.extend(SHIPPED.iter().filter(|(path, _)| {
            let inner = path.split_once('/').map(|(inner, _)| inner);
            inner.is_some_and(|inner| names(p.text, inner))
        }));
    }
    files.sort_unstable();
    files.dedup();
    files
}

/// The files of a pipeline that comes with litmake: itself, and those that it uses.
pub fn files(name: &str) -> Vec<(&'static str, &'static str)> {
    let all: Vec<Pipeline> = SHIPPED.iter().filter_map(|(p, t)| pipeline(p, t)).collect();
    files_of(&all.iter().filter(|p| p.name == name).collect::<Vec<_>>())
}

/// Writes pipelines, and the files in the folders that they name. Existing files stay: one with
/// another text is an error before anything is written.
fn copy(chosen: &[&Pipeline], folder: &Path) -> Result<()> {
    let files = files_of(chosen);
    let in_the_way = |(path, text): &&(&str, &str)| {
        let there = folder.join(path);
        litmake::file::read(&there, litmake::file::MAX_TEXT).is_ok_and(|b| b != text.as_bytes())
    };
    if let Some((path, _)) = files.iter().find(in_the_way) {
        let there = folder.join(path);
        return Err(Diag::new(format!("{} has another text", there.display()))
            .help("name another folder, or move that file away"));
    }
    for (path, text) in files {
        let there = folder.join(path);
        if let Some(parent) = there.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|e| Diag::new(format!("cannot make {}: {e}", parent.display())))?;
        }
        litmake::file::write(&there, text)?;
        println!("{}", there.display());
    }
    Ok(())
}

/// Whether the pipeline's text, without comments, names a folder beside it.
fn names(text: &str, folder: &str) -> bool {
    let code = text.lines().filter(|l| !l.trim_start().starts_with('#'));
    let mut words =
        code.flat_map(|l| l.split(|c: char| c.is_whitespace() || "\"'[]{},:".contains(c)));
    words.any(|w| w == folder || w.split_once('/').is_some_and(|(first, _)| first == folder))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// litmake must work without its repository, so the program has to contain every file of the
    /// folder.
    #[test]
    fn every_file_is_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines");
        let here: BTreeSet<String> = walkdir::WalkDir::new(&folder)
            .into_iter()
            .map(|e| e.unwrap())
            .filter(|e| e.file_type().is_file())
            .map(|e| e.path().strip_prefix(&folder).unwrap().display().to_string())
            .collect();
        let shipped: BTreeSet<String> = SHIPPED.iter().map(|(p, _)| p.to_string()).collect();
        assert_eq!(here, shipped);
    }

    #[test]
    fn what_a_pipeline_uses_goes_with_it() {
        assert!(names(text("quickstart.yaml").unwrap(), "quickstart"));
        assert!(names(text("abi-x86.yaml").unwrap(), "abi"));
        assert!(names(text("nightly.yaml").unwrap(), "quickstart"));
        assert!(!names(text("telechat-small.yaml").unwrap(), "quickstart"));
        assert!(!names("# quickstart/a\nname: x", "quickstart"));
    }
}
