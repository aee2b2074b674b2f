//! `litmake mutate`: makes mutants of tests and of cycles, and rewrites tests.

use std::path::PathBuf;
use std::process::ExitCode;

use litmake::cat::load::{LoadOptions, load};
use litmake::diag::{Diag, Result, Source};
use litmake::generate::{Maker, Tally, dialect, syntax};
use litmake::litmus::{self, Arch, list};
use litmake::mutate::cycles;
use litmake::mutate::disrupt::{Disruptor, usual};
use litmake::mutate::mcm;
use litmake::mutate::rewrite::Rewriting;
use litmake::mutate::weaken::Weakening;
use litmake::sim::{Model, Options, Simulator};
use litmake::stop::{Stop, Stopping};

use super::common;

const EXAMPLES: &str = "\
Examples:
  litmake mutate --mc                          (the 20 conformance tests and 32 mutants of MC Mutants)
  litmake mutate --arch AArch64 --cycle \"DMB.SYdWW Rfe DpAddrdR Fre\" --killable-under aarch64
  litmake mutate --arch X86_64 --cycle \"MFencedWR Fre MFencedWR Fre\" --disrupt \"MFenced** -> Pod**\"
  litmake mutate --rewrite dead-code tests/*.litmus";

/// Make mutants and rewritings of tests.
///
/// Mutants are cycles and C tests that are weakened so that a model allows their outcome; rewritings
/// are C tests of the same meaning.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Print the conformance tests and mutants of MC Mutants, as C tests
    #[arg(long)]
    mc: bool,

    /// The dialect of --cycle
    #[arg(long, value_name = "DIALECT", default_value = "C")]
    arch: String,

    /// A cycle to weaken; may be given several times
    #[arg(long, value_name = "EDGES")]
    cycle: Vec<String>,

    /// An edge to weaken and the edge that replaces it, such as `DMB.SYd** -> Pod**` or `Acq ->
    /// Rlx` [default: all of the dialect]
    #[arg(long, value_name = "A -> B")]
    disrupt: Vec<String>,

    /// Keep only mutants whose outcome this model allows while it forbids that of the original
    #[arg(long, value_name = "MODEL")]
    killable_under: Option<String>,

    /// Rewrite C tests in these ways: dead-code, register-pressure, declarations, loop, blocks,
    /// helpers, or all
    #[arg(long, value_name = "HOW")]
    rewrite: Vec<String>,

    /// Weaken C tests, one place at a time, in these ways: orders (each memory order by one step),
    /// relaxed, fences (dropped), or all; --killable-under keeps those whose outcome becomes
    /// allowed
    #[arg(long, value_name = "HOW")]
    weaken: Vec<String>,

    /// Print only names
    #[arg(long)]
    names: bool,

    /// C tests for --rewrite and --weaken; @FILE is a list of them
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    let mut any = false;
    if args.mc {
        any = true;
        for m in mcm::conformance()?.into_iter().chain(mcm::mutants()?) {
            show(args, &m.test.name, &litmake::litmus::write(&m.test));
        }
    }
    if !args.cycle.is_empty() {
        any = true;
        cycles(args)?;
    }
    if !args.rewrite.is_empty() {
        any = true;
        rewrite(args)?;
    }
    if !args.weaken.is_empty() {
        any = true;
        weaken(args)?;
    }
    if any {
        return Ok(());
    }
    Err(Diag::new("there is nothing to mutate")
        .help("give --mc, --cycle, or --rewrite or --weaken with tests; --help shows examples"))
}

fn show(args: &Args, name: &str, text: &str) {
    if args.names {
        println!("{name}");
    } else {
        println!("{text}");
    }
}

/// Prints the number of mutants, and why others were left out.
fn count(of: &str, from: usize, tally: &Tally) {
    eprintln!("{} mutants of {from} {of}", tally.tests);
    for (why, n) in tally.dropped() {
        eprintln!("{n:>10} left out: {why}");
    }
}

fn cycles(args: &Args) -> Result<()> {
    let arch = Arch::named(&args.arch)
        .ok_or_else(|| Diag::new(format!("`{}` is not a dialect of litmus tests", args.arch)))?;
    let dialect = dialect::of(arch);
    let words = if args.disrupt.is_empty() { usual(dialect) } else { args.disrupt.clone() };
    let disruptors = words
        .iter()
        .map(|w| Disruptor::read(dialect, &Source::new("--disrupt", w.as_str())))
        .collect::<Result<Vec<_>>>()?;
    let model = match &args.killable_under {
        Some(name) => Some(Model::load(&load(name, &LoadOptions::new(arch))?)?),
        None => None,
    };
    let mut simulator = Simulator::default();
    let mut allows = |maker: &Maker| -> Result<Option<bool>> {
        let Some(model) = &model else { return Ok(None) };
        let outcomes = simulator.simulate(&maker.draft.test()?, model, &Options::default())?;
        Ok(Some(outcomes.positive > 0))
    };
    let mut maker = Maker::default();
    let mut tally = Tally::default();
    for text in &args.cycle {
        let cycle = syntax::cycle(dialect, &Source::new("--cycle", text.as_str()))?;
        let made = cycles::weaken(
            dialect,
            &cycle,
            &disruptors,
            &mut maker,
            &mut allows,
            &mut |maker, by| {
                let Some(disruptor) = by else { return Ok(()) };
                let mut out = String::new();
                maker.draft.print(&mut out);
                show(args, &format!("{}: {}", maker.draft.name, disruptor.text), &out);
                Ok(())
            },
            &mut tally,
        )?;
        if made.is_none() {
            eprintln!("{}: its outcome is allowed, so it is no conformance test", maker.draft.name);
        }
    }
    count("cycles", args.cycle.len(), &tally);
    Ok(())
}

/// The values that the words of an option name; `all` names all of them.
fn ways<T: Copy>(words: &[String], names: &[(&'static str, T)], what: &str) -> Result<Vec<T>> {
    let mut out = Vec::new();
    for word in words {
        match names.iter().find(|(n, _)| n == word) {
            Some((_, r)) => out.push(*r),
            None if word == "all" => out.extend(names.iter().map(|(_, r)| *r)),
            None => {
                let all: Vec<&str> = names.iter().map(|(n, _)| *n).collect();
                return Err(Diag::new(format!("`{word}` is no {what} of tests"))
                    .help(format!("there are {}, or all", all.join(", "))));
            }
        }
    }
    Ok(out)
}

/// The tests that the command line names.
fn tests(args: &Args) -> Result<Vec<litmus::Test>> {
    let read = |p: &std::path::Path| litmake::file::read_text(p, litmake::file::MAX_DATA);
    let mut paths: Vec<PathBuf> = Vec::new();
    for t in &args.tests {
        match t.strip_prefix('@') {
            Some(name) => paths.extend(list::read(name.as_ref(), &read)?),
            None => paths.push(t.into()),
        }
    }
    if paths.is_empty() {
        return Err(Diag::new("there are no tests to mutate"));
    }
    let one = |path: PathBuf| {
        let text =
            read(&path).map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
        litmus::read(&Source::new(path.display().to_string(), text))
    };
    paths.into_iter().map(one).collect()
}

/// Ends the program if an interrupt asks for it.
fn going_on(stop: &Stop, at: usize, tests: &[litmus::Test]) {
    if stop.asked() {
        common::stopped_before(at, tests.len(), &tests[at].name);
    }
}

fn rewrite(args: &Args) -> Result<()> {
    let ways = ways(&args.rewrite, &Rewriting::NAMES, "rewriting")?;
    let tests = tests(args)?;
    let mut tally = Tally::default();
    let stop = common::stop_between_results();
    for (i, test) in tests.iter().enumerate() {
        going_on(&stop, i, &tests);
        for way in &ways {
            tally.cycles += 1;
            match way.apply(test) {
                Some(test) => {
                    tally.tests += 1;
                    show(args, &test.name, &litmus::write(&test));
                }
                None => tally.drop("nothing in it can be rewritten so"),
            }
        }
    }
    count("tests", tests.len(), &tally);
    Ok(())
}

fn weaken(args: &Args) -> Result<()> {
    let ways = ways(&args.weaken, &Weakening::NAMES, "weakening")?;
    let model = match &args.killable_under {
        Some(name) => Some(Model::load(&load(name, &LoadOptions::new(Arch::C))?)?),
        None => None,
    };
    let mut simulator = Simulator::default();
    let mut allows = |test: &litmus::Test| -> Result<Option<bool>> {
        let Some(model) = &model else { return Ok(None) };
        let outcomes = simulator.simulate(test, model, &Options::default())?;
        Ok(Some(outcomes.positive > 0))
    };
    let tests = tests(args)?;
    let mut tally = Tally::default();
    let stop = common::stop_between_results();
    for (i, test) in tests.iter().enumerate() {
        going_on(&stop, i, &tests);
        if allows(test)? == Some(true) {
            eprintln!("{}: its outcome is allowed, so nothing shows a mutant", test.name);
            continue;
        }
        for way in &ways {
            for mutant in way.one_by_one(test) {
                tally.cycles += 1;
                if allows(&mutant)? == Some(false) {
                    tally.drop(cycles::FORBIDDEN);
                } else {
                    tally.tests += 1;
                    show(args, &mutant.name, &litmus::write(&mutant));
                }
            }
        }
    }
    count("tests", tests.len(), &tally);
    Ok(())
}
