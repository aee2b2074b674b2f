//! `litmake man`: writes manual pages from the definition of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use litmake::diag::Diag;

use super::{commands, common};

/// Write manual pages into a folder: one for litmake, and one for each subcommand.
#[derive(clap::Args)]
pub struct Args {
    /// The folder, such as `~/.local/share/man/man1`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn main(args: Args) -> ExitCode {
    let written = std::fs::create_dir_all(&args.folder).and_then(|()| {
        clap_mangen::generate_to(commands::with_all(super::Cli::command()), &args.folder)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let folder = args.folder.display();
            common::fail(&Diag::new(format!("cannot write manual pages into {folder}: {e}")))
        }
    }
}
