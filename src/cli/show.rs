//! `litmake show`: prints classical tests by their names.

use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::generate::cycle::Shape;
use litmake::generate::emit::Style;
use litmake::generate::{Maker, dialect, name, named};
use litmake::litmus::Arch;

use super::common;

/// Print classical tests by their names, such as MP+dmb.sy+addr.
///
/// A name is a family (MP, SB, LB, WRC, IRIW, ...), and what stands between the two accesses of each
/// thread.
///
/// Exit status: 0, done; 2, there is no test of a name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake show MP+dmb.sy+addr
  litmake show --arch PPC MP+lwsync+addr IRIW+syncs
  litmake show SB+mfences | litmake sim -
  litmake show --list                         the families")]
pub struct Args {
    /// Names of tests: `SB` (plain program order), `SB+dmb.sys` (the same in all threads),
    /// `MP+popl+poap`
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,

    /// The dialect [default: the first of AArch64, X86_64, RISCV, PPC, ARM, MIPS and C that has all
    /// parts of the name]
    #[arg(long, value_name = "DIALECT", value_parser = arch)]
    arch: Option<Arch>,

    /// List the families, with the accesses of their threads
    #[arg(long, conflicts_with = "names")]
    list: bool,
}

/// Without `--arch`, the first of these that has all parts of a name is used.
const ORDER: [Arch; 7] =
    [Arch::AArch64, Arch::X86_64, Arch::RiscV, Arch::Ppc, Arch::Arm, Arch::Mips, Arch::C];

fn arch(word: &str) -> std::result::Result<Arch, String> {
    dialect::named(word).ok_or_else(|| format!("dialects are {}", dialect::names().join(", ")))
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    if args.list {
        for family in name::families() {
            println!("{family:8} {}", name::threads_of(family).unwrap_or_default());
        }
        return Ok(());
    }
    let mut maker = Maker::default();
    for wanted in &args.names {
        let archs = args.arch.as_ref().map_or(&ORDER[..], std::slice::from_ref);
        let mut first = None;
        let found = archs.iter().find_map(|arch| match named::cycle(dialect::of(*arch), wanted) {
            Ok(cycle) => Some((*arch, cycle)),
            Err(e) => {
                first.get_or_insert(e);
                None
            }
        });
        let Some((arch, cycle)) = found else {
            return Err(first.unwrap_or_else(|| Diag::new("there is no dialect")));
        };
        maker
            .make(dialect::of(arch), &cycle, &Shape::ANY, &Style::default())
            .map_err(|why| Diag::new(format!("{wanted} is no test: {why}")))?;
        maker.draft.name.clone_from(wanted);
        let mut text = String::new();
        maker.draft.print(&mut text);
        print!("{text}");
    }
    Ok(())
}
