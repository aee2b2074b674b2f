//! `litmake compile`: what a compiler makes of a test, as a litmus test.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::base::failure::{Failure, Lasting};
use litmake::diag::{Diag, Result, Source};
use litmake::litmus::{self, pack};
use litmake::mix::{self, By, Compiled};
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use super::check::Split;
use super::common;

/// Compile a C test and print the litmus test that the object code makes.
#[derive(clap::Args)]
pub struct Args {
    /// The profile: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    profile: String,

    /// What is compiled on its own
    #[arg(long, value_enum, default_value = "whole")]
    split: Split,

    /// Where the shared locations are: behind pointers that threads are given, or variables
    #[arg(long, value_enum, default_value = "pointers")]
    storage: StorageArg,

    /// Put each atomic operation into a helper function that is not inlined
    #[arg(long)]
    helpers: bool,

    /// Print what the compiler is given, in the profile's language, and compile nothing
    #[arg(long, conflicts_with = "split")]
    source: bool,

    #[arg(value_name = "TEST")]
    test: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StorageArg {
    Pointers,
    Globals,
    Statics,
}

impl From<StorageArg> for Storage {
    fn from(arg: StorageArg) -> Storage {
        match arg {
            StorageArg::Pointers => Storage::Pointers,
            StorageArg::Globals => Storage::Globals,
            StorageArg::Statics => Storage::Statics,
        }
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err((status, e)) => {
            eprintln!("{e}");
            ExitCode::from(status)
        }
    }
}

fn run(args: &Args) -> std::result::Result<String, (u8, Box<Diag>)> {
    let input = |e| (2, e);
    // Compilers run from here on, the first of them to be asked what they are.
    let stop = common::stop();
    let profile = common::find_profile(&Disk, &args.profile).map_err(input)?;
    let test = read(&args.test).map_err(input)?;
    let program = process::find(&profile.compiler).ok_or_else(|| {
        let message = format!("the compiler `{}` is not installed", profile.compiler);
        (3, Diag::new(message).help("`litmake doctor` says how to get it"))
    })?;
    let runtime = Runtime::of(&profile, &program);
    let compiler = Compiler {
        profile: &profile,
        program: &program,
        observe: Observe::Condition,
        storage: args.storage.into(),
        helpers: args.helpers,
        runtime: &runtime,
        stop: &stop,
    };
    if args.source {
        let failed = |failure: Failure| {
            input(Diag::new(format!("{}: {}", args.test.display(), failure.text())))
        };
        return compiler.source(&test).map_err(failed);
    }
    let result = match args.split.by() {
        None => compiler.compile(&[test]).pop().unwrap_or_else(|| Err(Failure::stopped())),
        Some(by) => in_parts(&compiler, &test, by),
    };
    match result {
        Ok(test) => Ok(litmus::write(&test)),
        Err(failure) if failure.is_stopped() => {
            Err((common::status_of(3), Diag::new(failure.text())))
        }
        Err(failure) => {
            let message = format!("{}: {}", args.test.display(), failure.text());
            Err((3, Diag::new(message)))
        }
    }
}

/// The test out of parts that were compiled on their own.
fn in_parts(
    compiler: &Compiler,
    test: &litmus::Test,
    by: By,
) -> std::result::Result<litmus::Test, Failure> {
    let split = mix::split(test, by)?;
    let parts = split
        .pieces
        .iter()
        .map(|p| litmus::read(&Source::new(p.name.clone(), p.text.clone())))
        .collect::<Result<Vec<_>>>()?;
    let mut compiled = Vec::new();
    for (piece, part) in split.pieces.iter().zip(compiler.compile(&parts)) {
        let part = part.map_err(|failure| match failure.kind.lasting() {
            Lasting::ForGood => failure.of(&piece.name),
            Lasting::ForNow | Lasting::Never => failure,
        })?;
        compiled.push(Compiled::new(&part).map_err(|failure| failure.of(&piece.name))?);
    }
    let parts: Vec<&Compiled> = compiled.iter().collect();
    mix::splice(test, &split, &parts)
}

fn read(path: &Path) -> Result<litmus::Test> {
    let text = pack::read_to_string(path)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    litmus::read(&Source::new(path.display().to_string(), text))
}
