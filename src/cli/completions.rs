//! `litmake completions`: what shells need to complete command lines.

use std::process::ExitCode;

use clap::CommandFactory;

/// Print a completion script for a shell.
#[derive(clap::Args)]
pub struct Args {
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub fn main(args: Args) -> ExitCode {
    let mut command = super::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "litmake", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
