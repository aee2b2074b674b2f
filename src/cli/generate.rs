//! `litmake generate`: makes tests from cycles, vocabularies and families.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use litmake::base::failure::Failure;
use litmake::diag::{Diag, Result, Source, Span};
use litmake::generate::cycle::Workshop;
use litmake::generate::draft::Draft;
use litmake::generate::emit::Base;
use litmake::generate::exhaustive::{self, Bounds};
use litmake::generate::recipe::Recipe;
use litmake::generate::{Tally, dialect, syntax};
use litmake::lang::Language;
use litmake::lang::c11::emit::{EmitOptions, observed_locals};
use litmake::litmus::{self, Arch};
use litmake::pipeline::kinds::Generate;
use litmake::profile::yaml::{Sp, Words};
use litmake::select::distinguish;
use litmake::select::distinguish::Limits;
use litmake::stage::generated::{self, Generated};
use litmake::stop::{Stop, Stopping};

use super::common;
use super::keys::{Flags, Keys};

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
    #[command(flatten)]
    keys: Keys<Generate>,

    /// Search for the smallest tests that two models tell apart, as MODEL,MODEL; a model may name
    /// its dialect (sc:AArch64)
    #[arg(long, value_name = "A,B", conflicts_with_all = ["cycles", "vocabulary", "families"])]
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
    #[arg(long, conflicts_with_all = ["cycles", "vocabulary", "families", "distinguish"])]
    exhaustive: bool,

    /// Write C tests in the form that compilers take: c, c++, rust, opencl, glsl or wgsl
    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    language: Option<Language>,

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

/// The options of the command: those of a `generate` stage, and those of the command alone.
struct Asked<'a> {
    args: &'a Args,
    /// The flags as a text, for diagnostics.
    source: Source,
    options: Generate,
}

impl Flags for Generate {
    const LEFT_OUT: &[&str] = &["files", "suite", "events", "special"];
    const NAMES: &[(&str, &str)] = &[
        ("cycles", "cycle"),
        ("families", "family"),
        ("shapes", "shape"),
        ("location_type", "type"),
    ];
}

fn language(text: &str) -> std::result::Result<Language, String> {
    Language::named(text).ok_or_else(|| {
        let names: Vec<&str> = Language::NAMES.iter().map(|(name, _)| *name).collect();
        format!("languages are {}", names.join(", "))
    })
}

pub fn main(args: Args) -> ExitCode {
    common::done(asked(&args).and_then(|asked| run(&asked)))
}

fn asked(args: &Args) -> Result<Asked<'_>> {
    let (source, mut options) = args.keys.read()?;
    options.arch.get_or_insert("C".into());
    // Shapes once belonged to --family.
    let is_ready = |name: &str| {
        name == "list" || litmake::generate::families::NAMES.iter().any(|(n, _)| *n == name)
    };
    let is_shape =
        |name: &Sp<String>| !is_ready(name) && name.starts_with(|c: char| !c.is_lowercase());
    let (shapes, families) = options.families.0.into_iter().partition(is_shape);
    options.families = Words(families);
    options.shapes.0.extend::<Vec<_>>(shapes);
    Ok(Asked { args, source, options })
}

impl Asked<'_> {
    fn arch(&self) -> Result<Arch> {
        self.options.arch.as_ref().map_or(Ok(Arch::C), |word| generated::arch(&self.source, word))
    }

    fn limit(&self) -> Option<u64> {
        self.options.limit.as_ref().map(|n| n.value)
    }

    fn threads(&self) -> usize {
        let threads = self.options.threads.as_ref().map(|n| n.value);
        threads.map_or(Recipe::new(Arch::C).threads, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }
}

fn run(asked: &Asked) -> Result<()> {
    let Asked { args, source, options } = asked;
    if args.list {
        for name in syntax::names(dialect::of(asked.arch()?)) {
            println!("{name}");
        }
        return Ok(());
    }
    if options.families.iter().any(|f| f.value == "list") {
        for (name, what) in litmake::generate::families::NAMES {
            println!("{name}: {what}");
        }
        return Ok(());
    }
    if let Some(pair) = &args.distinguish {
        return distinguish(asked, pair);
    }
    if args.exhaustive {
        return exhaustive(asked);
    }
    let Generate { cycles, vocabulary, relax, families, sample, keep, exclude, .. } = options;
    if [cycles, vocabulary, relax, families].iter().all(|words| words.is_empty()) {
        return Err(Diag::new("there is nothing to make tests from")
            .help("give --cycle, --vocabulary or --family; --help shows examples"));
    }
    let generated = Generated::new(source, Span::default(), options)?;
    if !families.is_empty() || sample.is_some() || !keep.is_empty() || !exclude.is_empty() {
        return collected(asked, &generated);
    }
    let mut out = Out::open(asked)?;
    let mut failed = Ok(());
    let tally = generated.recipe.prepare()?.each(&mut |draft, _| match out.put(draft) {
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
fn collected(asked: &Asked, generated: &Generated) -> Result<()> {
    let args = asked.args;
    let all = generated.collect()?;
    if all.is_empty() && !asked.options.keep.is_empty() && !args.count {
        let keep: Vec<&str> = asked.options.keep.iter().map(|w| w.value.as_str()).collect();
        return Err(Diag::new(format!("no test has {}", keep.join(", ")))
            .help("each --keep must hold, of several names or dialects one; --count says more"));
    }
    if args.count {
        count(&all.tally);
        return Ok(());
    }
    let mut out = Out::open(asked)?;
    let mut write = || -> std::io::Result<()> {
        for (name, text) in all.iter() {
            if out.turn() && out.text(&name, text.as_bytes())?.is_break() {
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

fn exhaustive(asked: &Asked) -> Result<()> {
    let args = asked.args;
    let dialect = dialect::of(asked.arch()?);
    let bounds = Bounds::new(asked.threads(), args.events, args.locations);
    let (mut shop, mut draft) = (Workshop::default(), Draft::default());
    let mut out = Out::open(asked)?;
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

fn distinguish(asked: &Asked, pair: &str) -> Result<()> {
    let args = asked.args;
    let Some((a, b)) = pair.split_once(',') else {
        return Err(Diag::new("`--distinguish` takes two models").help("as in `sc,x86tso`"));
    };
    let sides = distinguish::sides(a, b)?;
    let limits = Limits {
        threads: asked.threads(),
        events: args.events,
        locations: args.locations,
        timeout: Some(Duration::from_secs(args.timeout)),
        all: false,
    };
    let report = distinguish::search(&sides, &limits)?;
    let tests = report.found.len() as u64;
    for t in report.found.iter().take(asked.limit().unwrap_or(u64::MAX) as usize) {
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
        .filter_map(|(n, body)| Some((n, options.function_name(&body.function()?.name))))
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
    limit: Option<u64>,
    /// So many tests are still to be left out.
    skip: u64,
    written: u64,
    stop: Stop,
}

impl Out<'_> {
    fn open<'a>(asked: &Asked<'a>) -> Result<Out<'a>> {
        let args = asked.args;
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
        let (limit, skip, written) = (asked.limit(), args.skip, 0);
        Ok(Out { args, stdout, list, text: String::new(), limit, skip, written, stop })
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
        let enough = self.limit.is_some_and(|l| self.written >= l);
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
