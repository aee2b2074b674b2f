//! `litmake generate`: makes tests from cycles, vocabularies and families.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use litmake::base::failure::Failure;
use litmake::diag::{Diag, Result, Source};
use litmake::generate::cycle::Workshop;
use litmake::generate::draft::{Ask, Draft};
use litmake::generate::emit::Base;
use litmake::generate::exhaustive::{self, Bounds};
use litmake::generate::recipe::Recipe;
use litmake::generate::{Tally, dialect, syntax};
use litmake::lang::Language;
use litmake::lang::c11::emit::{EmitOptions, observed_locals};
use litmake::litmus::{self, Arch, Body};
use litmake::select::collect::{Wanted, collect};
use litmake::select::distinguish;
use litmake::select::distinguish::Limits;
use litmake::select::filter::Filter;
use litmake::stop::{Stop, Stopping};

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
  litmake generate --arch RISCV --list
  litmake generate --families c11-unused --out tests       (C tests, ready made)
  litmake generate --distinguish x86tso,aarch64             (the smallest tests that tell them apart)";

/// Make litmus tests from cycles, vocabularies of relaxations, or ready-made families.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The dialect: C, AArch64, X86_64, RISCV, ARM, PPC, MIPS, X86
    #[arg(long, value_name = "DIALECT", value_parser = arch, default_value = "C")]
    arch: Arch,

    /// A cycle, as edges; may be given several times
    #[arg(long, value_name = "EDGES")]
    cycle: Vec<String>,

    /// Relaxations. Every cycle of them up to the size is made
    #[arg(long, value_name = "RELAXATIONS")]
    vocabulary: Vec<String>,

    /// Relaxations of which each cycle must have one; the other edges come from the vocabulary
    #[arg(long, value_name = "RELAXATIONS")]
    relax: Vec<String>,

    /// Sequences of relaxations that no cycle may contain
    #[arg(long, value_name = "RELAXATIONS")]
    reject: Vec<String>,

    /// Annotations (or `all`) to try on each access that has none
    #[arg(long, value_name = "ANNOTATIONS")]
    annotations: Vec<String>,

    /// Keep only cycles of these shapes: MP, SB, LB, IRIW, W+RR+WR, ...
    #[arg(long, value_name = "NAME")]
    shape: Vec<String>,

    /// Ready-made families of C tests; `--family list` lists them
    #[arg(long = "family", alias = "families", value_name = "NAME")]
    families: Vec<String>,

    /// Search for the smallest tests that two models tell apart, as MODEL,MODEL; a model may name
    /// its dialect (sc:AArch64)
    #[arg(long, value_name = "A,B", conflicts_with_all = ["cycle", "vocabulary", "families"])]
    distinguish: Option<String>,

    /// With --distinguish and --exhaustive: the largest number of events of a program
    #[arg(long, value_name = "N", default_value_t = 5)]
    events: usize,

    /// With --distinguish and --exhaustive: the largest number of locations of a program
    #[arg(long, value_name = "N", default_value_t = 2)]
    locations: usize,

    /// Seconds after which --distinguish gives up
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,

    /// Make every program of plain accesses with exactly --events events, up to symmetry
    #[arg(long, conflicts_with_all = ["cycle", "vocabulary", "families", "distinguish"])]
    exhaustive: bool,

    /// Keep tests with this property, as KEY=VALUE: name=MP*, arch=C, threads=2..3, events=..6,
    /// locations=2, uses=atomic_fetch_*, without=*_seq_cst; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    keep: Vec<String>,

    /// Take a sample of N tests that contains every construct
    #[arg(long, value_name = "N")]
    sample: Option<usize>,

    /// The seed of --sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The largest number of relaxations in a cycle
    #[arg(long, value_name = "N", default_value_t = 6)]
    size: usize,

    /// Make only cycles of exactly that size
    #[arg(long)]
    exact_size: bool,

    /// The largest number of threads
    #[arg(long, value_name = "N", default_value_t = 4)]
    threads: usize,

    /// Make only tests with exactly that many threads
    #[arg(long)]
    exact_threads: bool,

    /// The largest number of events in a thread
    #[arg(long, value_name = "N", default_value_t = 4)]
    per_thread: usize,

    /// How many different relaxations of --relax a cycle may have, as MIN-MAX
    #[arg(long, value_name = "MIN-MAX", value_parser = range)]
    mix: Option<(usize, usize)>,

    /// Which edges may follow each other: default, sc, critical, free, uni, total
    #[arg(long, value_name = "MODE", default_value = "default")]
    mode: String,

    /// How the condition observes the outcome: avoid (registers, and final values where needed), accept or force
    /// (observer threads), local, both, final, registers
    #[arg(long, value_name = "HOW", default_value = "avoid")]
    observe: String,

    /// Make tests that list all outcomes instead of asking for one
    #[arg(long)]
    every_outcome: bool,

    /// The type of locations in C
    #[arg(long = "type", value_name = "TYPE", default_value = "int")]
    base: String,

    /// The type of every second location in C [default: that of --type]
    #[arg(long, value_name = "TYPE", default_value = "", hide_default_value = true)]
    second_type: String,

    /// Which objects of C tests are volatile: usual (those that are not atomic, as in diy),
    /// volatile (all), plain (none)
    #[arg(long, value_name = "WHICH", default_value = "usual")]
    objects: String,

    /// How the locations of C tests are declared: separate, array (elements of one), struct
    /// (members of one object)
    #[arg(long, value_name = "HOW", default_value = "separate")]
    layout: String,

    /// The parts of C tests that are in helper functions which are not inlined: none, fences, accesses, all
    #[arg(long, value_name = "WHAT", default_value = "none")]
    helpers: String,

    /// Allow cycles at one location
    #[arg(long)]
    one_location: bool,

    /// Write C tests in the form that compilers take: c, c++, rust, opencl, glsl or wgsl
    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    language: Option<Language>,

    /// Make at most N tests
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Leave out the first N tests; the order of tests is the same each time
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip: u64,

    /// Write one file a test into this folder, and a list of them in `@all`
    #[arg(short, long = "output", alias = "out", value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print the names and cycles only
    #[arg(long)]
    names: bool,

    /// Print the number of tests, and why other cycles gave none
    #[arg(long)]
    count: bool,

    /// Print every relaxation of the dialect
    #[arg(long)]
    list: bool,
}

fn language(text: &str) -> std::result::Result<Language, String> {
    Language::named(text).ok_or_else(|| {
        let names: Vec<&str> = Language::NAMES.iter().map(|(name, _)| *name).collect();
        format!("languages are {}", names.join(", "))
    })
}

fn arch(text: &str) -> std::result::Result<Arch, String> {
    dialect::named(text).ok_or_else(|| format!("the dialects are {}", dialect::names().join(", ")))
}

fn range(text: &str) -> std::result::Result<(usize, usize), String> {
    let (a, b) = text.split_once('-').unwrap_or((text, text));
    match (a.trim().parse(), b.trim().parse()) {
        (Ok(a), Ok(b)) if a <= b => Ok((a, b)),
        _ => Err("expected MIN-MAX, such as 1-3".into()),
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&sorted(args)) {
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
        shapes: texts("--shape", &args.shape),
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
        second: Source::new("--second-type", args.second_type.as_str()),
        objects: Source::new("--objects", args.objects.as_str()),
        layout: Source::new("--layout", args.layout.as_str()),
        helpers: Source::new("--helpers", args.helpers.as_str()),
        one_location: args.one_location,
        ..Recipe::new(args.arch)
    }
}

/// Accepts shapes in --family, where they once belonged: moves them to `shape`.
fn sorted(mut args: Args) -> Args {
    let is_ready = |name: &String| {
        name == "list" || litmake::generate::families::NAMES.iter().any(|(n, _)| n == name)
    };
    let is_shape = |name: &String| !is_ready(name) && name.starts_with(|c: char| !c.is_lowercase());
    let (shapes, families) = args.families.into_iter().partition(is_shape);
    args.families = families;
    args.shape.extend::<Vec<String>>(shapes);
    args
}

fn run(args: &Args) -> Result<()> {
    if args.list {
        for name in syntax::names(dialect::of(args.arch)) {
            println!("{name}");
        }
        return Ok(());
    }
    if args.families.iter().any(|f| f == "list") {
        for (name, what) in litmake::generate::families::NAMES {
            println!("{name}: {what}");
        }
        return Ok(());
    }
    if let Some(pair) = &args.distinguish {
        return distinguish(args, pair);
    }
    if args.exhaustive {
        return exhaustive(args);
    }
    let recipe = recipe(args);
    if !args.families.is_empty() || args.sample.is_some() || !args.keep.is_empty() {
        return collected(args, &recipe);
    }
    let prepared = recipe.prepare()?;
    if prepared.cycles.is_empty()
        && prepared.family.safe.is_empty()
        && prepared.family.relax.is_empty()
    {
        return Err(Diag::new("there is nothing to make tests from")
            .help("give --cycle or --vocabulary; --help shows examples"));
    }
    let mut out = Out::open(args)?;
    let mut failed = Ok(());
    let tally = prepared.each(&mut |draft, _| match out.put(draft) {
        Ok(flow) => flow,
        Err(e) => {
            failed = Err(e);
            ControlFlow::Break(())
        }
    })?;
    let written = out.written;
    finish(failed.and_then(|()| out.close()))?;
    if args.count {
        count(&tally);
    } else if args.out.is_some() {
        eprintln!("{written} tests");
    }
    Ok(())
}

/// Prints the number of tests, and why other cycles gave none.
fn count(tally: &Tally) {
    println!("{} tests from {} cycles", tally.tests, tally.cycles);
    for (why, n) in tally.dropped() {
        println!("{n:>10} {why}");
    }
}

/// Makes the families and samples, which are complete before anything is written.
fn collected(args: &Args, recipe: &Recipe) -> Result<()> {
    let families: Vec<Source> =
        args.families.iter().map(|t| Source::new("--family", t.as_str())).collect();
    let sample = args.sample.map(|n| (n, args.seed));
    let limit = args.limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    let keep: Vec<Source> = args.keep.iter().map(|t| Source::new("--keep", t.as_str())).collect();
    let keep = Filter::read(&keep)?;
    let wanted = Wanted { sample, limit, ..Wanted::all(&keep) };
    let all = collect(recipe, &families, &wanted, jobs)?;
    if all.iter().next().is_none() && !args.keep.is_empty() && !args.count {
        return Err(Diag::new(format!("no test has {}", args.keep.join(", ")))
            .help("each --keep must hold, of several names or dialects one; --count says more"));
    }
    if args.count {
        count(&all.tally);
        return Ok(());
    }
    let mut out = Out::open(args)?;
    let mut write = || -> std::io::Result<()> {
        for (name, text) in all.iter() {
            if out.turn() && out.text(name, text.as_bytes())?.is_break() {
                break;
            }
        }
        Ok(())
    };
    finish(write().and_then(|()| out.close()))
}

/// A closed pipe is no error: its reader has seen enough.
fn finish(result: std::io::Result<()>) -> Result<()> {
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Diag::new(format!("cannot write: {e}")))
        }
        _ => Ok(()),
    }
}

fn exhaustive(args: &Args) -> Result<()> {
    let dialect = dialect::of(args.arch);
    let bounds = Bounds::new(args.threads, args.events, args.locations);
    let (mut shop, mut draft) = (Workshop::default(), Draft::default());
    let mut out = Out::open(args)?;
    let (mut tally, mut result) = (Tally::default(), Ok(()));
    let _ = exhaustive::each(&bounds, args.events, 0, &mut |program| {
        tally.cycles += 1;
        let made = exhaustive::emit(dialect, program, Base::default(), &mut shop, &mut draft);
        if let Err(why) = made {
            tally.drop(why);
            return ControlFlow::Continue(());
        }
        draft.name = exhaustive::name(dialect, program);
        tally.tests += 1;
        match out.put(&draft) {
            Ok(flow) => flow,
            Err(e) => {
                result = Err(e);
                ControlFlow::Break(())
            }
        }
    });
    finish(result.and_then(|()| out.close()))?;
    if args.count {
        println!("{} programs of {} events up to symmetry", tally.tests, args.events);
        for (why, n) in tally.dropped() {
            println!("{n:>10} {why}");
        }
    }
    Ok(())
}

fn distinguish(args: &Args, pair: &str) -> Result<()> {
    let Some((a, b)) = pair.split_once(',') else {
        return Err(Diag::new("`--distinguish` takes two models").help("as in `sc,x86tso`"));
    };
    let sides = distinguish::sides(a, b)?;
    let limits = Limits {
        threads: args.threads,
        events: args.events,
        locations: args.locations,
        timeout: Some(Duration::from_secs(args.timeout)),
        all: false,
    };
    let report = distinguish::search(&sides, &limits)?;
    let tests = report.found.len() as u64;
    for t in report.found.iter().take(args.limit.unwrap_or(u64::MAX) as usize) {
        let (yes, no) = (&sides[t.allowed_by], &sides[1 - t.allowed_by]);
        println!("{}: {} allows and {} forbids {}", t.name, yes.model, no.model, t.example);
        if !args.names {
            println!("{}", t.texts[t.allowed_by]);
        }
    }
    eprintln!(
        "{tests} tests of {} events; {} programs compared in {:.1} s{}",
        report.found.first().map_or(args.events, |t| t.events),
        report.compared,
        report.time.as_secs_f64(),
        if report.complete { "" } else { ", then time was up" }
    );
    Ok(())
}

/// A test in a compiler's language. The values that its condition asks for are kept to the end of
/// each thread.
fn in_language(language: Language, name: &str, text: &str) -> std::result::Result<String, Failure> {
    let test = litmus::read(&Source::new(name, text))?;
    let options = EmitOptions { observe: observed_locals(&test), ..EmitOptions::default() };
    let threads: Vec<(usize, String)> = test
        .threads
        .iter()
        .enumerate()
        .filter_map(|(n, body)| match body {
            Body::C(f) => Some((n, options.function_name(&f.name))),
            Body::Asm(_) => None,
        })
        .collect();
    let text = language.emit(&test, &options)?;
    Ok(format!("{}{text}{}", language.header(), language.footer(&threads)))
}

/// The destination of tests: a folder, or the terminal.
struct Out<'a> {
    args: &'a Args,
    stdout: BufWriter<std::io::Stdout>,
    list: Option<BufWriter<std::fs::File>>,
    text: String,
    /// So many tests are still to be left out.
    skip: u64,
    written: u64,
    stop: Stop,
}

impl Out<'_> {
    fn open(args: &Args) -> Result<Out<'_>> {
        let mut list = None;
        if let Some(dir) = &args.out {
            let fail = |e| Diag::new(format!("cannot write into {}: {e}", dir.display()));
            std::fs::create_dir_all(dir).map_err(fail)?;
            let mut open = std::fs::File::options();
            // The tests that are left out were written by an earlier command.
            match args.skip {
                0 => open.write(true).truncate(true),
                _ => open.append(true),
            };
            let file = open.create(true).open(dir.join("@all")).map_err(fail)?;
            list = Some(BufWriter::new(file));
        }
        let stop = common::stop_between_results();
        let stdout = BufWriter::new(std::io::stdout());
        let (skip, written) = (args.skip, 0);
        Ok(Out { args, stdout, list, text: String::new(), skip, written, stop })
    }

    /// Whether the next test is written.
    fn turn(&mut self) -> bool {
        let turn = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        turn
    }

    /// Whether to continue after a test.
    fn flow(&mut self) -> ControlFlow<()> {
        self.written += 1;
        let enough = self.args.limit.is_some_and(|l| self.written >= l);
        match enough || self.stop.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn put(&mut self, draft: &Draft) -> std::io::Result<ControlFlow<()>> {
        if !self.turn() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.args.count {
            return Ok(self.flow());
        }
        if self.args.names {
            writeln!(self.stdout, "{}: {}", draft.name, draft.doc)?;
            return Ok(self.flow());
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        draft.print(&mut text);
        let result = self.text(&draft.name, text.as_bytes());
        self.text = text;
        result
    }

    fn text(&mut self, name: &str, text: &[u8]) -> std::io::Result<ControlFlow<()>> {
        if self.args.names {
            writeln!(self.stdout, "{name}")?;
            return Ok(self.flow());
        }
        let mut extension = "litmus";
        let mut written = std::borrow::Cow::Borrowed(text);
        if let Some(language) = self.args.language {
            let program = String::from_utf8_lossy(text);
            match in_language(language, name, &program) {
                Ok(program) => written = program.into_bytes().into(),
                Err(failure) => {
                    eprintln!("{name}: {}", failure.text());
                    return Ok(self.flow());
                }
            }
            extension = language.extension();
        }
        let text = &*written;
        match (&self.args.out, &mut self.list) {
            (Some(dir), Some(list)) => {
                let file = format!("{name}.{extension}");
                #[expect(
                    clippy::disallowed_methods,
                    reason = "thousands are not waited for one by one"
                )]
                std::fs::write(Path::new(dir).join(&file), text)?;
                writeln!(list, "{file}")?;
            }
            _ => {
                self.stdout.write_all(text)?;
                self.stdout.write_all(b"\n")?;
            }
        }
        Ok(self.flow())
    }

    /// Writes what is left in buffers. After an interrupt, says how to continue.
    fn close(mut self) -> std::io::Result<()> {
        self.stdout.flush()?;
        if let Some(list) = &mut self.list {
            list.flush()?;
        }
        if self.stop.asked() {
            let done = self.args.skip + self.written;
            common::stopped(&format!(
                "{} tests are whole, and the same command with `--skip {done}` goes on from here",
                self.written
            ));
        }
        Ok(())
    }
}
