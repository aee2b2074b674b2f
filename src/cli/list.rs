//! `litmake list`: the profiles, models and pipelines that litmake knows.

use std::process::ExitCode;

use super::{models, pipelines, profiles};

/// List or search the profiles, models and pipelines that come with litmake.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake list profiles --installed           the compilers that can be used here
  litmake list profiles aarch64 O2            the profiles with both words in their names
  litmake list pipelines --copy litmus nightly")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Profiles(profiles::Args),
    Models(models::Args),
    Pipelines(pipelines::Args),
}

pub fn main(args: Args) -> ExitCode {
    match args.command {
        Command::Profiles(args) => profiles::main(args),
        Command::Models(args) => models::main(args),
        Command::Pipelines(args) => pipelines::main(args),
    }
}
