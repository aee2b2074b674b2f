//! `litmake compile`: prints a compiler's code for a test as a litmus test.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::engine::ArgValueCompleter;
use litmake::base::failure::{Failure, Lasting};
use litmake::diag::{Diag, Result, Source};
use litmake::litmus::{self, pack};
use litmake::mix::{self, By, Compiled};
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::lift::Listed;
use litmake::toolchain::listing::Listing;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use super::check::Split;
use super::{common, completions};

/// Compile a C test and print the object code as a litmus test.
#[derive(clap::Args)]
pub struct Args {
    /// The profile: a name or parts of it (`clang`, `gcc-aarch64`), or a file [default: the newest
    /// installed clang, or else gcc, for this machine]
    #[arg(short, long, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    profile: Option<String>,

    /// The parts that are compiled separately
    #[arg(long, value_enum, default_value = "whole")]
    split: Split,

    /// How the test reaches the shared locations: through pointers that threads are given, or as
    /// variables
    #[arg(long, value_enum, default_value = "pointers")]
    storage: StorageArg,

    /// Put each atomic operation into a helper function that is not inlined
    #[arg(long)]
    helpers: bool,

    /// Print the source that the compiler gets, in the profile's language, and compile nothing
    #[arg(long, conflicts_with = "split")]
    source: bool,

    /// Print the disassembly: each instruction beside the lines of the test that it became, and
    /// below the line of the source that it was made from
    #[arg(long, conflicts_with_all = ["split", "source"])]
    show_asm: bool,

    /// The C test
    #[arg(value_name = "TEST")]
    test: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StorageArg {
    /// Through pointers that threads are given
    Pointers,
    /// As global variables
    Globals,
    /// As static variables
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
    common::ended_as(run(&args).map(|text| {
        print!("{text}");
        0
    }))
}

fn run(args: &Args) -> std::result::Result<String, (u8, Box<Diag>)> {
    let input = |e| (2, e);
    // Compilers run from here on: the first one is run to identify it.
    let stop = common::stop();
    let profile = match &args.profile {
        Some(name) => common::find_profile(&Disk, name),
        None => common::usual_profile(),
    };
    let profile = profile.map_err(|e| (common::status_for(&e), e))?;
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
    if args.show_asm {
        let listing = compiler.listed(&test).map_err(|failure| {
            let message = format!("{}: {}", args.test.display(), failure.text());
            (common::status_of(3), Diag::new(message))
        })?;
        return Ok(beside(&listing));
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

/// The lines of the source. Below each are the instructions made from it, and beside these the
/// lines of the test that they became.
fn beside(listing: &Listing) -> String {
    let source: Vec<&str> = listing.source.lines().collect();
    let codes = listing.threads.iter().flatten();
    let wide = codes.clone().map(|i| i.code.chars().count()).max().unwrap_or(0).min(48);
    let place = |i: &Listed| format!("{}+{:#x}", i.place.0, i.place.1);
    let left = codes.map(|i| place(i).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (n, thread) in listing.threads.iter().enumerate() {
        let _ = writeln!(out, "{}P{n}", if n > 0 { "\n" } else { "" });
        let mut last = None;
        for instruction in thread {
            let line = listing.line(instruction);
            if line != last
                && let Some(number) = line
            {
                let text = source.get(number as usize - 1).map_or("", |l| l.trim());
                let _ = writeln!(out, "{number:>4}: {text}");
            }
            last = line;
            let (at, code) = (place(instruction), &instruction.code);
            let mut became = instruction.lines.iter();
            let first = became.next().map_or("", String::as_str);
            let row = format!("      {at:left$}  {code:wide$}  | {first}");
            let _ = writeln!(out, "{}", row.trim_end());
            for more in became {
                let _ = writeln!(out, "      {:left$}  {:wide$}  | {more}", "", "");
            }
        }
    }
    out
}

/// Compiles the parts of a test separately, and joins their code.
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
