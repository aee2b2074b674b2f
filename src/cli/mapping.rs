//! `litmake mapping`: judges the atomic operations of a library, a runtime or a proposal, which a table names.
//!
//! The table is a profile. This file only chooses the tests, and the compilers that the table is mixed with.

use std::process::ExitCode;
use std::sync::Arc;

use clap_complete::engine::ArgValueCompleter;
use litmake::diag::{Diag, Result};
use litmake::lang::Language;
use litmake::pipeline::kinds::{Compare, Compile, Generate, Link, Simulate, Split, split::SplitBy};
use litmake::pipeline::load::Axes;
use litmake::pipeline::made::Made;
use litmake::profile::Profile;
use litmake::profile::files::Disk;
use litmake::profile::mapping::Table;
use litmake::profile::yaml::Words;
use litmake::report::statement;

use super::{common, completions, made};

/// Judge the atomic operations of a library, a runtime or a proposal, which a table names
///
/// All small tests over the table's operations are compiled with it, alone and mixed with a compiler's own
/// code, and compared with the language's model. The table is a profile with `mapping`, which says for each operation, order and width the assembly or the
/// function of a library that implements it. A profile of a language whose library has the operations, such
/// as Go, is judged in the same way.
///
/// Prints a statement in Markdown (what fits together, the code of each operation, what was tested), and the
/// findings.
///
/// Exit status: 0, everything that was asked was judged, and there are no new findings; 1, new findings; 2,
/// wrong input; 3, something that the command needs failed, or not everything was judged.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake mapping go-1.27.3-ppc64le
  litmake mapping table-aarch64-jvm --with gcc-12-aarch64-O2
  litmake mapping my-library.yaml > STATEMENT.md

A table of two rows, in my-library.yaml:
  name: my-library
  compiler: gcc-12
  args: [-O2]
  arch: X86_64
  libraries: [libmine.a]
  mapping:
    \"load seq_cst 32\": \"{result} = my_load({address})\"
    \"store seq_cst 32\": \"movl {value}, ({address}); mfence\"")]
pub struct Args {
    /// The table: a profile, by its name or its file
    #[arg(value_name = "TABLE", add = ArgValueCompleter::new(completions::profiles))]
    table: String,

    /// A profile whose own code is mixed with the table's. May be given several times [default: the table's
    /// compiler with the same arguments, without the table]
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    with: Vec<String>,

    /// Judge the table alone
    #[arg(long, conflicts_with = "with")]
    alone: bool,

    /// A family of tests (`litmake generate --help` lists them). May be given several times [default:
    /// sc-operations for a table with one order; else also mix-accesses, and samples of c11-cas and
    /// c11-mixed-width]
    #[arg(long, value_name = "NAME")]
    family: Vec<String>,

    /// How many tests of each family to take at most
    #[arg(long, value_name = "N")]
    sample: Option<u64>,

    /// The model of the sources [default: that of the language; for C rc11-lb, which allows load buffering]
    #[arg(long, value_name = "MODEL", add = ArgValueCompleter::new(completions::models))]
    source_model: Option<String>,

    /// The model of the machine [default: the profiles']
    #[arg(long, value_name = "MODEL", add = ArgValueCompleter::new(completions::models))]
    target_model: Option<String>,

    /// How many differences of each stage to look into: to make their tests smaller, and to explain them
    /// [default: 3; 20 for a table with one order]
    #[arg(long, value_name = "N")]
    investigate: Option<u64>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    how: made::How,
}

/// How many tests are taken of families that are not about mappings alone.
const SAMPLE: u64 = 400;

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let table = common::find_profile(&Disk, &args.table)?;
    let rows = Table::read(&table.mapping).map_err(Diag::new)?;
    if rows.is_empty() && table.language.source_model().is_none() {
        return Err(Diag::new(format!("the profile {} has no table", table.name)).help(
            "give it the key `mapping`, with rows such as \"load seq_cst *\": \"ldar{size} {result}, [{address}]\"; \
             `litmake mapping --help` shows a whole one",
        ));
    }
    let profiles = profiles(args, &table)?;
    let one_order = table.language == Language::Go || rows.has_one_order();
    let pipeline = pipeline(args, &table, &profiles, one_order);
    let report = made::run(pipeline, &args.how, None, |report, used| {
        args.how.place(report, used)?;
        if !args.json {
            println!("{}", statement::document(report));
        }
        made::print(report, args.json);
        Ok(())
    })?;
    Ok(common::status_of(report.exit_status()))
}

/// The table, and the profiles that it is mixed with.
fn profiles(args: &Args, table: &Arc<Profile>) -> Result<Vec<String>> {
    let mut out = common::named_profiles(std::slice::from_ref(&args.table))?;
    if args.alone || !args.with.is_empty() {
        out.extend(common::named_profiles(&args.with)?);
        return Ok(out);
    }
    if table.mapping.is_empty() {
        return Ok(out);
    }
    let plain =
        Profile { mapping: Default::default(), libraries: Vec::new(), ..Profile::clone(table) };
    let known = common::known_profiles();
    match known.iter().find(|p| p.fingerprint() == plain.fingerprint()) {
        Some(own) => out.push(own.name.clone()),
        None if !args.how.quiet => eprintln!(
            "note: no profile has the table's compiler with the same arguments, so the table is judged alone; \
             --with names one to mix it with"
        ),
        None => {}
    }
    Ok(out)
}

/// The stages that judge the table.
fn pipeline(args: &Args, table: &Profile, profiles: &[String], one_order: bool) -> Made {
    let investigate = args.investigate.unwrap_or(if one_order { 20 } else { 3 });
    let source = args.source_model.as_deref().or(table.language.source_model());
    let families: Vec<(String, Option<u64>)> = match (&args.family[..], one_order) {
        ([], true) => vec![("sc-operations".into(), args.sample)],
        ([], false) => {
            let some = Some(args.sample.unwrap_or(SAMPLE));
            let sampled = ["c11-cas", "c11-mixed-width"].map(|family| (family.to_string(), some));
            let whole = ["mix-accesses", "sc-operations"].map(|f| (f.to_string(), args.sample));
            whole.into_iter().chain(sampled).collect()
        }
        (named, _) => named.iter().map(|f| (f.clone(), args.sample)).collect(),
    };
    let tests = |exclude: &[&str]| {
        let exclude: Words = exclude.iter().copied().collect();
        let one = |(family, sample): &(String, Option<u64>)| {
            let take = sample.map_or(String::new(), |n| n.to_string());
            let axes = Axes::from([("family".into(), family.clone()), ("take".into(), take)]);
            let families = [family.as_str()].into_iter().collect();
            let (sample, exclude) = (sample.map(Into::into), exclude.clone());
            (axes, Generate { families, sample, exclude, ..Generate::default() })
        };
        families.iter().map(one).collect::<Vec<_>>()
    };
    let simulate = |from: &str| {
        let model = Some(source.unwrap_or("rc11-lb").into());
        Simulate { from: from.into(), model, ..Simulate::default() }
    };
    let target = |from: &str| {
        let model = args.target_model.as_deref().map(Into::into);
        Simulate { from: from.into(), model, unroll: Some(1.into()), ..Simulate::default() }
    };
    let compile = |from: &'static str| {
        move |profile: &str| Compile {
            from: from.into(),
            profile: profile.into(),
            ..Compile::default()
        }
    };
    let compare = |source: &str, target: &str| {
        let investigate = Some(investigate.into());
        Compare { source: source.into(), target: target.into(), investigate, ..Compare::default() }
    };
    let mut out = Made::new(&table.name);
    // Rows have at most 64 bits.
    let mut exclude = vec!["*int128*"];
    if table.language == Language::Go {
        // In a part, whoever asks for the value that a compare-exchange found cannot be seen. So these are
        // only judged in whole tests.
        out.add_each("whole", tests(&exclude));
        out.add("whole-source", simulate("whole"));
        out.add_for(
            "whole-code",
            ("profile", &profiles[..profiles.len().min(1)]),
            compile("whole"),
        );
        out.add("whole-target", target("whole-code"));
        out.add("whole-compare", compare("whole-source", "whole-target"));
        exclude.push("*cas*");
    }
    out.add_each("tests", tests(&exclude));
    out.add("source", simulate("tests"));
    out.add("parts", Split { from: "tests".into(), by: SplitBy::Instruction });
    out.add_for("code", ("profile", profiles), compile("parts"));
    out.add("mixes", Link { from: "code".into(), ..Link::default() });
    out.add("target", target("mixes"));
    out.add("compare", compare("source", "target"));
    out
}
