//! The command line: one file a subcommand. Only here is anything printed.

#[macro_use]
mod output;

mod abi;
mod baseline;
mod cache;
mod check;
mod common;
mod compile;
mod completions;
mod conf;
mod confidence;
mod cpu;
mod crash;
mod diff;
mod doctor;
mod dry;
mod explain;
mod generate;
mod graph;
mod history;
mod made;
mod merge;
mod mutants;
mod mutate;
mod run;
mod schema;
mod sim;
mod table;
mod watch;

use std::process::ExitCode;

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use litmake::local;

/// The command line with these subcommands, of which only the one that is `asked` for is set up,
/// or all where it is none of them: setting up all takes longer than many a command.
macro_rules! subcommands {
    ($($name:ident)*) => {
        fn command(asked: Option<&str>) -> Command {
            let asked = asked.filter(|asked| [$(stringify!($name)),*].contains(asked));
            let mut command = Command::new("litmake")
                .version(env!("CARGO_PKG_VERSION"))
                .propagate_version(true)
                .about(
                    "A make for litmus tests: finds concurrency bugs in compilers and in \
                     implementations of memory models, and redoes only what changed",
                )
                .subcommand_required(true)
                .arg_required_else_help(true)
                .arg(no_local());
            $(if asked.is_none_or(|asked| asked == stringify!($name)) {
                let own = Command::new(stringify!($name));
                command = command.subcommand($name::Args::augment_args(own));
            })*
            command
        }

        /// Does what the subcommand `asked` for does.
        fn run_subcommand(asked: &str, mut given: clap::ArgMatches) -> ExitCode {
            match asked {
                $(stringify!($name) => match $name::Args::from_arg_matches_mut(&mut given) {
                    Ok(args) => $name::main(args),
                    Err(wrong) => wrong.format(&mut command(Some(asked))).exit(),
                },)*
                _ => unreachable!("clap gives what it was told of"),
            }
        }
    };
}

subcommands! {
    run check abi compile diff sim cpu explain mutants confidence generate graph mutate merge table
    baseline cache doctor schema completions
}

/// For trees that somebody else wrote.
fn no_local() -> Arg {
    Arg::new(local::OPTION)
        .long(local::OPTION)
        .global(true)
        .action(ArgAction::SetTrue)
        .help("Take profiles, tool chains and models by name from litmake alone, and not from the folder that it runs in or from the pipeline [env: LITMAKE_NO_LOCAL]")
}

pub fn main() -> ExitCode {
    let asked = std::env::args_os().nth(1);
    let command = command(asked.as_deref().and_then(|asked| asked.to_str()));
    let mut given = command.get_matches();
    if given.get_flag(local::OPTION) {
        local::forbid();
    }
    local::say_with(|message| eprintln!("warning: {message}"));
    match given.remove_subcommand() {
        Some((asked, given)) => run_subcommand(&asked, given),
        None => unreachable!("one is required"),
    }
}
