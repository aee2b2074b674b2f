//! The command line: one file for each subcommand. Only this folder prints.

#[macro_use]
mod output;

mod abi;
mod audit;
mod away;
mod baseline;
mod bisect;
mod byname;
mod cache;
mod certificate;
mod check;
mod commands;
mod common;
mod compile;
mod completions;
mod confidence;
mod cpu;
mod crash;
mod culprits;
mod details;
mod diff;
mod doctor;
mod doors;
mod dry;
mod explain;
mod findings;
mod generate;
mod graph;
mod history;
mod hunt;
mod init;
mod keys;
mod last_runs;
mod lift;
mod list;
mod logs;
mod made;
mod man;
mod mapping;
mod merge;
mod mistakes;
mod models;
mod mutants;
mod mutate;
mod passes;
mod pipelines;
mod profiles;
mod progress;
mod quotable;
mod recipe;
mod remote;
mod report;
mod run;
mod schema;
mod show;
mod sim;
mod site;
mod stream;
mod table;
mod tv;
mod tv_code;
mod tv_opt;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use clap_complete::CompleteEnv;
use litmake::local;

/// A make for litmus tests: finds concurrency bugs in compilers and redoes only what changed
#[derive(Parser)]
#[command(name = "litmake", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Read no profiles from files, ignore the folder `toolchains`, and take the built-in model for
    /// every built-in name [env: LITMAKE_NO_LOCAL]
    #[arg(long, global = true, hide_short_help = true, display_order = 900)]
    no_local: bool,

    #[command(subcommand)]
    command: Command,
}

/// The commands; `commands` says in which order they are listed.
#[derive(clap::Subcommand)]
enum Command {
    Init(init::Args),
    Doctor(doctor::Args),
    List(list::Args),
    Check(check::Args),
    Run(run::Args),
    Hunt(hunt::Args),
    Diff(diff::Args),
    Bisect(bisect::Args),
    Passes(passes::Args),
    Abi(abi::Args),
    Mapping(mapping::Args),
    Compile(compile::Args),
    Lift(lift::Args),
    Sim(sim::Args),
    Generate(generate::Args),
    Mutate(mutate::Args),
    Cpu(cpu::Args),
    Mutants(mutants::Args),
    Logs(logs::Args),
    Explain(explain::Args),
    Report(report::Args),
    Tv(tv::Args),
    #[command(name = "tv-opt")]
    TvOpt(tv_opt::Args),
    History(history::Args),
    Site(site::Args),
    Cache(cache::Args),
    Certificate(certificate::Args),
    Graph(graph::Args),
    Show(show::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
    Worker(worker::Args),
    Merge(merge::Args),
    Table(table::Args),
    Baseline(baseline::Args),
    Profiles(profiles::Args),
    Models(models::Args),
    Pipelines(pipelines::Args),
    Confidence(confidence::Args),
}

/// The definition of the command line.
fn definition() -> clap::Command {
    commands::grouped(Cli::command())
}

/// Parses a command line.
fn parsed<T: Into<std::ffi::OsString> + Clone>(
    words: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let mut matches = definition().try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Prints the error of a command line, or the help that it asks for; returns the exit status.
fn refused(error: clap::Error, words: &[String]) -> ExitCode {
    let error = mistakes::reworded(error, &mut definition());
    // A failed print is ignored: there is no other place to report it.
    let _ = error.print();
    let asked_by_git = words.iter().any(|w| w == "bisect") && words.iter().any(|w| w == "--git");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        // `git bisect run` would take a small number for a bad build.
        _ if asked_by_git => ExitCode::from(bisect::ABORT),
        status => ExitCode::from(u8::try_from(status).unwrap_or(2)),
    }
}

pub fn main() -> ExitCode {
    CompleteEnv::with_factory(definition).var(completions::VARIABLE).complete();
    let words = std::env::args_os().map(|word| word.into_string());
    let cli = match words.collect::<Result<Vec<String>, _>>() {
        Ok(words) => match doors::translated(words) {
            Ok(words) => match parsed(&words) {
                Ok(cli) => cli,
                Err(e) => return refused(e, &words),
            },
            Err(e) => return common::fail(&e),
        },
        // Only clap reads words that are not UTF-8: they are no options of other tools.
        Err(_) => match parsed(std::env::args_os()) {
            Ok(cli) => cli,
            Err(e) => return refused(e, &[]),
        },
    };
    if cli.no_local {
        local::forbid();
    }
    local::say_with(|message| eprintln!("warning: {message}"));
    match cli.command {
        Command::Init(args) => init::main(args),
        Command::Doctor(args) => doctor::main(args),
        Command::List(args) => list::main(args),
        Command::Check(args) => check::main(args),
        Command::Run(args) => run::main(args),
        Command::Hunt(args) => hunt::main(args),
        Command::Diff(args) => diff::main(args),
        Command::Bisect(args) => bisect::main(args),
        Command::Passes(args) => passes::main(args),
        Command::Abi(args) => abi::main(args),
        Command::Mapping(args) => mapping::main(args),
        Command::Compile(args) => compile::main(args),
        Command::Lift(args) => lift::main(args),
        Command::Sim(args) => sim::main(args),
        Command::Generate(args) => generate::main(args),
        Command::Mutate(args) => mutate::main(args),
        Command::Cpu(args) => cpu::main(args),
        Command::Mutants(args) => mutants::main(args),
        Command::Logs(args) => logs::main(args),
        Command::Explain(args) => explain::main(args),
        Command::Report(args) => report::main(args),
        Command::Tv(args) => tv::main(args),
        Command::TvOpt(args) => tv_opt::main(args),
        Command::History(args) => history::main(args),
        Command::Site(args) => site::main(args),
        Command::Cache(args) => cache::main(args),
        Command::Certificate(args) => certificate::main(&args),
        Command::Graph(args) => graph::main(args),
        Command::Show(args) => show::main(args),
        Command::Schema(args) => schema::main(args),
        Command::Completions(args) => completions::main(args),
        Command::Man(args) => man::main(args),
        Command::Worker(args) => worker::main(&args),
        Command::Merge(args) => merge::main(args),
        Command::Table(args) => table::main(args),
        Command::Baseline(args) => baseline::main(args),
        Command::Profiles(args) => profiles::main(args),
        Command::Models(args) => models::main(args),
        Command::Pipelines(args) => pipelines::main(args),
        Command::Confidence(args) => confidence::main(args),
    }
}
