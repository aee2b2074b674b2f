//! `litmake generate`: tests from cycles and vocabularies.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result, Source};
use litmake::generate::draft::Ask;
use litmake::generate::recipe::Recipe;
use litmake::generate::{dialect, syntax};
use litmake::litmus::Arch;

use super::common;

const EXAMPLES: &str = "\
A cycle is a sequence of relaxations that comes back to where it began. Each says how two events
are related: Rfe (read from another thread), Fre, Coe (or Wse), program order such as PodWR (to
another location, from a write to a read) or PosRR (the same location), fences (DMB.SYdWW,
MFencedWR, FenceScdWR) and dependencies (DpAddrdR, DpCtrldW). Annotations stand behind, one for each
end: PodWWPL, PodRRAcqRlx. Brackets make several relaxations one.

Examples:
  litmake generate --arch AArch64 --cycle \"PodWW Rfe PodRR Fre\"
  litmake generate --arch X86_64 --vocabulary \"Pod** MFencedWR Rfe Fre Coe\" --size 6 --count
  litmake generate --arch C --vocabulary \"Pod** Rfe Fre Coe\" --annotations \"Rlx Acq Rel Sc\" \\
      --size 4 --threads 2 --out tests
  litmake generate --arch RISCV --list";

/// Make litmus tests from cycles of relaxations, or from a vocabulary of them.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The dialect: C, AArch64, X86_64, RISCV, ARM, PPC, MIPS, X86
    #[arg(long, value_name = "DIALECT", value_parser = arch)]
    arch: Arch,

    /// A cycle; may be given several times
    #[arg(long, value_name = "EDGES")]
    cycle: Vec<String>,

    /// Relaxations of which every cycle up to the size is made
    #[arg(long, value_name = "RELAXATIONS")]
    vocabulary: Vec<String>,

    /// Relaxations of which each cycle must have one; the vocabulary gives the others
    #[arg(long, value_name = "RELAXATIONS")]
    relax: Vec<String>,

    /// Sequences that no cycle may have
    #[arg(long, value_name = "RELAXATIONS")]
    reject: Vec<String>,

    /// Vary what accesses say nothing of themselves over these annotations (or `all`)
    #[arg(long, value_name = "ANNOTATIONS")]
    annotations: Vec<String>,

    /// Keep only these families of cycles: MP, SB, LB, IRIW, W+RR+WR, ...
    #[arg(long, value_name = "NAME")]
    family: Vec<String>,

    /// Relaxations in a cycle, at most
    #[arg(long, value_name = "N", default_value_t = 6)]
    size: usize,

    /// Cycles have exactly that size
    #[arg(long)]
    exact_size: bool,

    /// Threads, at most
    #[arg(long, value_name = "N", default_value_t = 4)]
    threads: usize,

    /// Tests have exactly that many threads
    #[arg(long)]
    exact_threads: bool,

    /// Events in a thread, at most
    #[arg(long, value_name = "N", default_value_t = 4)]
    per_thread: usize,

    /// How many different relaxations of --relax a cycle may have, as MIN-MAX
    #[arg(long, value_name = "MIN-MAX", value_parser = range)]
    mix: Option<(usize, usize)>,

    /// What may follow what: default, sc, critical, free, uni, total
    #[arg(long, value_name = "MODE", default_value = "default")]
    mode: String,

    /// What is observed: avoid (registers, and final values where needed), accept or force
    /// (observer threads), local, both, final, registers
    #[arg(long, value_name = "HOW", default_value = "avoid")]
    observe: String,

    /// Tests list all outcomes instead of asking for one
    #[arg(long)]
    every_outcome: bool,

    /// The type of locations in C
    #[arg(long = "type", value_name = "TYPE", default_value = "int")]
    base: String,

    /// Cycles may be at one location
    #[arg(long)]
    one_location: bool,

    /// At most so many tests
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Write one file a test into this folder, and their names into `@all`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print the names and cycles only
    #[arg(long)]
    names: bool,

    /// Print how many tests there are, and why not more
    #[arg(long)]
    count: bool,

    /// Print every relaxation of the dialect
    #[arg(long)]
    list: bool,
}

fn arch(text: &str) -> std::result::Result<Arch, String> {
    Arch::named(text).ok_or_else(|| {
        let all: Vec<&str> = Arch::ALL.iter().map(|a| a.name()).collect();
        format!("the dialects are {}", all.join(", "))
    })
}

fn range(text: &str) -> std::result::Result<(usize, usize), String> {
    let (a, b) = text.split_once('-').unwrap_or((text, text));
    match (a.trim().parse(), b.trim().parse()) {
        (Ok(a), Ok(b)) if a <= b => Ok((a, b)),
        _ => Err("expected MIN-MAX, such as 1-3".into()),
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => common::fail(&e),
    }
}

fn recipe(args: &Args) -> Recipe {
    let texts = |flag: &str, list: &[String]| -> Vec<Source> {
        list.iter().map(|t| Source::new(flag, t.as_str())).collect()
    };
    Recipe {
        cycles: texts("--cycle", &args.cycle),
        vocabulary: texts("--vocabulary", &args.vocabulary),
        relax: texts("--relax", &args.relax),
        reject: texts("--reject", &args.reject),
        annotations: texts("--annotations", &args.annotations),
        shapes: texts("--family", &args.family),
        size: args.size,
        exact_size: args.exact_size,
        threads: args.threads,
        exact_threads: args.exact_threads,
        per_thread: args.per_thread,
        mix: args.mix,
        mode: Source::new("--mode", args.mode.as_str()),
        observe: Source::new("--observe", args.observe.as_str()),
        ask: if args.every_outcome { Ask::Every } else { Ask::Exists },
        base: Source::new("--type", args.base.as_str()),
        one_location: args.one_location,
        ..Recipe::new(args.arch)
    }
}

fn run(args: &Args) -> Result<()> {
    if args.list {
        for name in syntax::names(dialect::of(args.arch)) {
            println!("{name}");
        }
        return Ok(());
    }
    let recipe = recipe(args);
    let prepared = recipe.prepare()?;
    if prepared.cycles.is_empty()
        && prepared.family.safe.is_empty()
        && prepared.family.relax.is_empty()
    {
        return Err(Diag::new("there is nothing to make tests from")
            .help("give --cycle or --vocabulary; --help shows examples"));
    }
    let mut out = Out::open(args)?;
    let mut written = 0;
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut failed = None;
    let tally = prepared.each(&mut |draft, _| {
        if written >= limit {
            return ControlFlow::Break(());
        }
        written += 1;
        match out.put(draft) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(e) = failed.or(out.close().err()) {
        // Whoever closed the pipe has seen enough.
        if e.kind() == std::io::ErrorKind::BrokenPipe {
            return Ok(());
        }
        return Err(Diag::new(format!("cannot write: {e}")));
    }
    if args.count {
        println!(
            "{} tests from {} cycles; {} cycles make no test, {} repeat another",
            tally.tests, tally.cycles, tally.refused, tally.repeated
        );
    } else if args.out.is_some() {
        eprintln!("{written} tests");
    }
    Ok(())
}

/// Where tests go.
struct Out<'a> {
    args: &'a Args,
    stdout: BufWriter<std::io::Stdout>,
    list: Option<BufWriter<std::fs::File>>,
    text: String,
}

impl Out<'_> {
    fn open(args: &Args) -> Result<Out<'_>> {
        let mut list = None;
        if let Some(dir) = &args.out {
            let fail = |e| Diag::new(format!("cannot write into {}: {e}", dir.display()));
            std::fs::create_dir_all(dir).map_err(fail)?;
            list = Some(BufWriter::new(std::fs::File::create(dir.join("@all")).map_err(fail)?));
        }
        Ok(Out { args, stdout: BufWriter::new(std::io::stdout()), list, text: String::new() })
    }

    fn put(&mut self, draft: &litmake::generate::draft::Draft) -> std::io::Result<()> {
        if self.args.count {
            return Ok(());
        }
        if self.args.names {
            return writeln!(self.stdout, "{}: {}", draft.name, draft.doc);
        }
        self.text.clear();
        draft.print(&mut self.text);
        match (&self.args.out, &mut self.list) {
            (Some(dir), Some(list)) => {
                let file = format!("{}.litmus", draft.name);
                std::fs::write(Path::new(dir).join(&file), &self.text)?;
                writeln!(list, "{file}")
            }
            _ => {
                self.text.push('\n');
                self.stdout.write_all(self.text.as_bytes())
            }
        }
    }

    fn close(mut self) -> std::io::Result<()> {
        self.stdout.flush()?;
        match &mut self.list {
            Some(list) => list.flush(),
            None => Ok(()),
        }
    }
}
