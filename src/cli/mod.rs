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
mod later;
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

use clap::{Parser, Subcommand};
use later::Later;

/// A make for litmus tests: finds concurrency bugs in compilers and in implementations of
/// memory models, and redoes only what changed.
#[derive(Parser)]
#[command(name = "litmake", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Later<run::Args>),
    Check(Later<check::Args>),
    Abi(Later<abi::Args>),
    Compile(Later<compile::Args>),
    Diff(Later<diff::Args>),
    Sim(Later<sim::Args>),
    Cpu(Later<cpu::Args>),
    Explain(Later<explain::Args>),
    Mutants(Later<mutants::Args>),
    Confidence(Later<confidence::Args>),
    Generate(Later<generate::Args>),
    Graph(Later<graph::Args>),
    Mutate(Later<mutate::Args>),
    Merge(Later<merge::Args>),
    Table(Later<table::Args>),
    Baseline(Later<baseline::Args>),
    Cache(Later<cache::Args>),
    Doctor(Later<doctor::Args>),
    Schema(Later<schema::Args>),
    Completions(Later<completions::Args>),
}

pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::main(args.0),
        Command::Check(args) => check::main(args.0),
        Command::Abi(args) => abi::main(args.0),
        Command::Compile(args) => compile::main(args.0),
        Command::Diff(args) => diff::main(args.0),
        Command::Sim(args) => sim::main(args.0),
        Command::Cpu(args) => cpu::main(args.0),
        Command::Explain(args) => explain::main(args.0),
        Command::Mutants(args) => mutants::main(args.0),
        Command::Confidence(args) => confidence::main(args.0),
        Command::Generate(args) => generate::main(args.0),
        Command::Graph(args) => graph::main(args.0),
        Command::Mutate(args) => mutate::main(args.0),
        Command::Merge(args) => merge::main(args.0),
        Command::Table(args) => table::main(args.0),
        Command::Baseline(args) => baseline::main(args.0),
        Command::Cache(args) => cache::main(args.0),
        Command::Doctor(args) => doctor::main(args.0),
        Command::Schema(args) => schema::main(args.0),
        Command::Completions(args) => completions::main(args.0),
    }
}
