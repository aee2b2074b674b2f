//! `litmake completions`: prints the scripts by which shells complete command lines. A script asks
//! litmake itself, which knows profiles, models and the stages of a pipeline.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;
use litmake::pipeline::load::load;
use litmake::pipeline::plan::profile_folders;
use litmake::profile::Profiles;
use litmake::profile::files::Disk;

/// The environment variable by which a shell's script asks litmake for completions.
pub const VARIABLE: &str = "LITMAKE_COMPLETE";

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake completions bash > ~/.local/share/bash-completion/completions/litmake
  litmake completions fish > ~/.config/fish/completions/litmake.fish")]
pub struct Args {
    /// The shell that reads the script
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub fn main(args: Args) -> ExitCode {
    let shells = Shells::builtins();
    let mut script = Vec::new();
    let written = shells
        .completer(&args.shell)
        .map(|s| s.write_registration(VARIABLE, "litmake", "litmake", "litmake", &mut script));
    match written {
        Some(Ok(())) => {
            print!("{}", String::from_utf8_lossy(&script));
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(3),
    }
}

fn candidates(names: impl Iterator<Item = String>, begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy().into_owned();
    names.filter(|name| name.starts_with(&begun)).map(CompletionCandidate::new).collect()
}

/// The profiles whose names begin with `begun`.
pub fn profiles(begun: &OsStr) -> Vec<CompletionCandidate> {
    let known = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    candidates(known.names().map(String::from), begun)
}

/// The built-in models whose names begin with `begun`.
pub fn models(begun: &OsStr) -> Vec<CompletionCandidate> {
    candidates(litmake::cat::load::built_in_names().map(String::from), begun)
}

/// The stages of the pipeline that the command line names.
pub fn stages(begun: &OsStr) -> Vec<CompletionCandidate> {
    let is_pipeline = |word: &String| word.ends_with(".yaml") || word.ends_with(".yml");
    let Some(pipeline) = std::env::args().find(is_pipeline) else { return Vec::new() };
    let Ok(pipeline) = load(&Disk, Path::new(&pipeline), &[]) else { return Vec::new() };
    candidates(pipeline.stages.iter().map(|s| s.name.value.clone()), begun)
}
