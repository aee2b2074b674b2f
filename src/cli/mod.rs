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
mod last_runs;
mod lift;
mod logs;
mod made;
mod man;
mod merge;
mod models;
mod mutants;
mod mutate;
mod passes;
mod pipelines;
mod profiles;
mod progress;
mod recipe;
mod remote;
mod run;
mod schema;
mod show;
mod sim;
mod site;
mod table;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use litmake::local;

/// A make for litmus tests: finds concurrency bugs in compilers and in implementations of memory
/// models, and redoes only what changed
#[derive(Parser)]
#[command(name = "litmake", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Read no profiles from files, ignore the folder `toolchains`, and take the built-in model for
    /// every built-in name [env: LITMAKE_NO_LOCAL]
    #[arg(long, global = true)]
    no_local: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(run::Args),
    Check(check::Args),
    Abi(abi::Args),
    Compile(compile::Args),
    Lift(lift::Args),
    Diff(diff::Args),
    Bisect(bisect::Args),
    Sim(sim::Args),
    Certificate(certificate::Args),
    Cpu(cpu::Args),
    Explain(explain::Args),
    Mutants(mutants::Args),
    Confidence(confidence::Args),
    Generate(generate::Args),
    Graph(graph::Args),
    Mutate(mutate::Args),
    Show(show::Args),
    Logs(logs::Args),
    Passes(passes::Args),
    Merge(merge::Args),
    Table(table::Args),
    Baseline(baseline::Args),
    History(history::Args),
    Hunt(hunt::Args),
    Site(site::Args),
    Cache(cache::Args),
    Doctor(doctor::Args),
    Schema(schema::Args),
    Profiles(profiles::Args),
    Pipelines(pipelines::Args),
    Models(models::Args),
    Completions(completions::Args),
    Man(man::Args),
    Worker(worker::Args),
}

/// Prints the error of a command line, or the help that it asks for; returns the exit status.
fn refused(error: &clap::Error, words: &[String]) -> ExitCode {
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
    CompleteEnv::with_factory(Cli::command).var(completions::VARIABLE).complete();
    let words = std::env::args_os().map(|word| word.into_string());
    let cli = match words.collect::<Result<Vec<String>, _>>() {
        Ok(words) => match doors::translated(words) {
            Ok(words) => match Cli::try_parse_from(&words) {
                Ok(cli) => cli,
                Err(e) => return refused(&e, &words),
            },
            Err(e) => return common::fail(&e),
        },
        // Only clap reads words that are not UTF-8: they are no options of other tools.
        Err(_) => Cli::parse(),
    };
    if cli.no_local {
        local::forbid();
    }
    local::say_with(|message| eprintln!("warning: {message}"));
    match cli.command {
        Command::Run(args) => run::main(args),
        Command::Check(args) => check::main(args),
        Command::Abi(args) => abi::main(args),
        Command::Compile(args) => compile::main(args),
        Command::Lift(args) => lift::main(args),
        Command::Diff(args) => diff::main(args),
        Command::Bisect(args) => bisect::main(args),
        Command::Sim(args) => sim::main(args),
        Command::Certificate(args) => certificate::main(&args),
        Command::Cpu(args) => cpu::main(args),
        Command::Explain(args) => explain::main(args),
        Command::Mutants(args) => mutants::main(args),
        Command::Confidence(args) => confidence::main(args),
        Command::Generate(args) => generate::main(args),
        Command::Graph(args) => graph::main(args),
        Command::Mutate(args) => mutate::main(args),
        Command::Show(args) => show::main(args),
        Command::Logs(args) => logs::main(args),
        Command::Passes(args) => passes::main(args),
        Command::Merge(args) => merge::main(args),
        Command::Table(args) => table::main(args),
        Command::Baseline(args) => baseline::main(args),
        Command::History(args) => history::main(args),
        Command::Hunt(args) => hunt::main(args),
        Command::Site(args) => site::main(args),
        Command::Cache(args) => cache::main(args),
        Command::Doctor(args) => doctor::main(args),
        Command::Schema(args) => schema::main(args),
        Command::Profiles(args) => profiles::main(args),
        Command::Pipelines(args) => pipelines::main(args),
        Command::Models(args) => models::main(args),
        Command::Completions(args) => completions::main(args),
        Command::Man(args) => man::main(args),
        Command::Worker(args) => worker::main(&args),
    }
}
