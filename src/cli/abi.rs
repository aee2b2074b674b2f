//! `litmake abi`: compares how compilers lay out atomic types, without a pipeline.

use std::process::ExitCode;

use clap_complete::engine::ArgValueCompleter;
use litmake::diag::{Diag, Result};
use litmake::pipeline::kinds::Layout;
use litmake::pipeline::made::Made;

use super::{common, completions, made};

/// Compare how compilers lay out atomic types.
///
/// Sizes, alignments, and whether code accesses them by instructions or under a library's lock.
///
/// Exit status: 0, the compilers agree, except for findings that the `--baseline` has; 1, they do
/// not agree; 2, wrong input; 3, something that the command needs failed, or not everything was
/// judged.
#[derive(clap::Args)]
pub struct Args {
    /// A profile: a name or parts of it (`clang`, `gcc-aarch64`), a pattern, or a file. Give the
    /// option several times
    #[arg(short, long, required = true, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    profile: Vec<String>,

    /// A type, as C names it without `_Atomic` [default: scalars, and structures of 1 to 32 bytes]
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    how: made::How,
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let profiles = common::named_profiles(&args.profile)?;
    if profiles.len() < 2 {
        return Err(Diag::new("two profiles are needed, whose layouts are compared")
            .help("name another --profile, as in `litmake abi -p clang -p gcc`"));
    }
    let types = args.types.iter().cloned().collect();
    let mut pipeline = Made::new("abi");
    pipeline.add("layout", Layout { profiles: profiles.into_iter().collect(), types });
    let report = made::run(pipeline, &args.how, None, |report, used| {
        args.how.place(report, used)?;
        made::print(report, args.json);
        Ok(())
    })?;
    Ok(common::status_of(report.exit_status()))
}
