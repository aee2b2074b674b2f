//! `litmake tv`: says whether a change to concurrent code is legal, by looking for a context that tells both apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap_complete::engine::ArgValueCompleter;
use litmake::diag::{Diag, Result};
use litmake::file;
use litmake::isa::llvm::module::Module;
use litmake::isa::target;
use litmake::litmus::list::STDIN;
use litmake::litmus::{self, Arch};
use litmake::toolchain::process::{self, Request};
use litmake::tv::context::Bound;
use litmake::tv::judge::{Answer, Court, Report, Settings};
use litmake::tv::machine::word;
use litmake::tv::pair::{self, Functions, Pair};
use litmake::tv::said;

use super::lift::{self, CodeArgs, Ended};
use super::tv_code::File;
use super::{common, completions};

/// Say whether a change to concurrent code is legal: whether some context tells the function after the
/// change from the function before it.
///
/// The input is LLVM's intermediate code, C, or machine code (assembly, objects, libraries): one file with
/// functions `@src` and `@tgt` (as for Alive2; also `@src1` and `@tgt1`, and so on), or two files with functions
/// of the same names, which may be of different levels and instruction sets. The command finds the
/// memory that the functions reach, and tries all contexts up to a bound: accesses before and after the
/// call, other threads, initial values, pointers that may point to the same memory. A context in which the
/// first function has a race or undefined behaviour excuses everything.
///
/// A refutation is shown with the smallest context, its outcome, and why the first function cannot have it.
/// That a change holds is said of the contexts up to the bound alone: it is no proof.
///
/// Exit status: 0, all changes hold within the bound; 1, one is refuted; 2, wrong input; 3, something is not
/// understood, or was not judged.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake tv change.ll                          @src and @tgt in one file
  litmake tv before.ll after.ll                 functions of equal names in two files
  opt -S -passes=gvn f.ll | litmake tv f.ll -   what a pass did
  litmake tv --passes gvn,dse f.ll              the same; litmake runs opt
  litmake tv before.c after.c                   functions of C; a race before the change excuses all
  litmake tv f.c f.ll                           what a compiler made of C
  litmake tv f.c f.s --profile gcc-12-aarch64   the same of its assembly; also f.ll f.o, f.o f.so
  litmake tv x86.o arm.o --signature 'int f(int *x)'   code and what a translator made of it
  litmake tv --json - < change.ll               for programs")]
pub struct Args {
    /// One file with `@src` and `@tgt`, or two files, before and after: LLVM's intermediate code, C or C++, assembly
    /// (.s, .S), objects or libraries; `-` is intermediate code on standard input
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    inputs: Vec<PathBuf>,

    /// Compare only the functions of this name; with `=`, functions of different names
    ///
    /// The name of `@src1` is `src1`.
    #[arg(long, value_name = "NAME[=AFTER]")]
    function: Vec<String>,

    #[command(flatten)]
    limits: Limits,

    /// The change is what these passes do to the one file, as `opt -passes` has them
    #[arg(long, value_name = "LIST")]
    passes: Option<String>,

    /// The `opt` that runs the passes [default: opt, or the newest opt-N]
    #[arg(long, requires = "passes", value_name = "PROGRAM", hide_short_help = true)]
    tool: Option<String>,

    /// The clang that reads C [default: clang, or the newest clang-N]
    #[arg(long, value_name = "PROGRAM")]
    clang: Option<String>,

    /// The parameters and the result of a function of machine code, as C declares it
    ///
    /// For example `int take(int *x, long n)`. Beside C or intermediate code, it is known. Otherwise all parameters are
    /// pointers, and what the function returns is not compared.
    #[arg(long, value_name = "DECLARATION")]
    signature: Vec<String>,

    /// A library with functions that machine code calls, such as libgcc.a
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    library: Vec<PathBuf>,

    /// The model of machine code [default: that of its instruction set]
    #[arg(long, value_name = "FILE|NAME", hide_short_help = true, add = ArgValueCompleter::new(completions::models))]
    target_model: Option<String>,

    #[command(flatten)]
    code: CodeArgs,

    /// Write the tests of each refutation to this folder, for `litmake sim`
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The model, and the contexts that are tried.
#[derive(clap::Args)]
pub struct Limits {
    /// The model of C and intermediate code [default: llvm-lb, LLVM's with load buffering]
    ///
    /// A built-in name or a cat file. `rc11` and `c11` are those of C. Where all is machine code, it is the model of that.
    #[arg(short, long, value_name = "FILE|NAME", add = ArgValueCompleter::new(completions::models))]
    model: Option<String>,

    /// The largest number of threads, with that of the function
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    threads: u8,

    /// The largest number of accesses of a context
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=6))]
    accesses: u8,

    /// Leave out sizes of contexts once there are more contexts than this
    #[arg(long, default_value_t = 20_000, value_name = "N", hide_short_help = true)]
    contexts: usize,

    /// How often the body of a loop may run
    #[arg(long, default_value_t = 2, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    unroll: u32,

    /// Give up on a pair of functions after S seconds
    #[arg(long, default_value_t = 60.0, value_name = "S", hide_short_help = true)]
    timeout: f64,
}

impl Limits {
    pub fn settings(&self) -> Result<Settings> {
        if !(self.timeout.is_finite() && self.timeout > 0.0) {
            return Err(Diag::new("--timeout wants a number of seconds above 0"));
        }
        let usual = Settings::default();
        Ok(Settings {
            model: self.model.clone().unwrap_or(usual.model),
            machine_model: None,
            bound: Bound { threads: usize::from(self.threads) - 1, accesses: self.accesses.into() },
            contexts: self.contexts,
            unroll: self.unroll,
            timeout: Some(Duration::from_secs_f64(self.timeout.min(1e9))),
        })
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(status) => ExitCode::from(common::status_of(status)),
        Err((status, e)) => {
            eprintln!("{e}");
            ExitCode::from(common::status_of(status))
        }
    }
}

/// Why the command ends with no answer.
fn ended(e: Box<Diag>) -> Ended {
    (common::status_for(&e), e)
}

fn run(args: &Args) -> std::result::Result<u8, Ended> {
    let inputs = inputs(args)?;
    let pairs = pairs(args, &inputs).map_err(ended)?;
    let settings = settings(args, &inputs).map_err(ended)?;
    compare(&pairs, settings, args.tests.as_deref(), args.json).map_err(ended)
}

/// Compares a function of one file of machine code with a function of another one.
pub fn compare_code(
    [before, after]: [(&Path, &str); 2],
    code: &CodeArgs,
    signature: &[String],
) -> std::result::Result<u8, Ended> {
    let open = |path: &Path| File::open(path, &[], code, signature);
    let (one, two) = (open(before.0)?, open(after.0)?);
    let pair = named_pair(&one, &two, (before.1, after.1)).map_err(ended)?;
    compare(&[pair], Settings::default(), None, false).map_err(ended)
}

/// The settings, with the model of machine code.
fn settings(args: &Args, inputs: &[Input]) -> Result<Settings> {
    let settings = args.limits.settings()?;
    let archs: Vec<Option<Arch>> = inputs.iter().map(Input::arch).collect();
    let (model, machine_model) = match (archs.contains(&None), &args.target_model) {
        (false, None) => (Settings::default().model, args.limits.model.clone()),
        (_, model) => (settings.model, model.clone()),
    };
    match (&archs[..], &machine_model) {
        ([Some(one), Some(other)], Some(model)) if one != other => Err(Diag::new(format!(
            "{model} is for one instruction set, and the code is for {} and {}",
            one.name(),
            other.name()
        ))
        .help("leave the model out: each file has that of its own")),
        _ => Ok(Settings { model, machine_model, ..settings }),
    }
}

/// Compares pairs and prints what comes of it; the tests of refutations go to a folder.
fn compare(pairs: &[Pair], settings: Settings, tests: Option<&Path>, json: bool) -> Result<u8> {
    let mut court = Court::new(settings)?;
    let mut model = String::new();
    if let Some(pair) = pairs.first() {
        model = match court.prepare(pair)? {
            [before, after] if before == after => before,
            [before, after] => format!("{before} before and {after} after"),
        };
    }
    let stop = common::stop_between_results();
    let mut reports = Vec::new();
    for (at, pair) in pairs.iter().enumerate() {
        if litmake::stop::Stopping::asked(&stop) {
            common::stopped(&format!(
                "{at} of {} pairs are done, the next is {}",
                pairs.len(),
                pair.name
            ));
        }
        let report = court.judge(pair);
        if let Some(folder) = tests {
            write_tests(folder, &report)?;
        }
        if !json {
            print!("{}", said::text(&report));
        }
        reports.push(report);
    }
    let line = said::line(env!("CARGO_PKG_VERSION"), &model, &reports);
    match json {
        true => {
            let pairs: Vec<said::Data> = reports.iter().map(said::data).collect();
            let document = serde_json::json!({
                "litmake": env!("CARGO_PKG_VERSION"), "pairs": pairs, "summary": line,
            });
            println!("{document:#}");
        }
        false => println!("{line}"),
    }
    Ok(said::status(&reports))
}

/// Writes the tests of a refutation.
pub fn write_tests(folder: &Path, report: &Report) -> Result<()> {
    let Answer::Refuted(refutation) = &report.answer else { return Ok(()) };
    let wrong = |e: std::io::Error| Diag::new(format!("cannot write to {}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = report.name.chars().map(plain).collect();
    for (side, test) in [("before", &refutation.source), ("after", &refutation.target)] {
        file::write(&folder.join(format!("{name}.{side}.litmus")), litmus::write(test))?;
    }
    Ok(())
}

/// An input file.
enum Input {
    /// Intermediate code, with its text.
    Intermediate(Module, String),
    /// Machine code.
    Code(File),
}

impl Input {
    fn functions(&self) -> &dyn Functions {
        match self {
            Input::Intermediate(module, _) => module,
            Input::Code(file) => file,
        }
    }

    /// The instruction set of machine code.
    fn arch(&self) -> Option<Arch> {
        match self {
            Input::Intermediate(..) => None,
            Input::Code(file) => Some(file.arch()),
        }
    }
}

/// Reads the files. C is read for the machine of the code beside it.
fn inputs(args: &Args) -> std::result::Result<Vec<Input>, Ended> {
    let mut codes = Vec::new();
    for path in &args.inputs {
        codes.push(match is_code(path) {
            true => Some(File::open(path, &args.library, &args.code, &args.signature)?),
            false => None,
        });
    }
    let arch = codes.iter().flatten().map(File::arch).next();
    if !args.signature.is_empty() && arch.is_none() {
        let message = "--signature is of machine code, and there is none";
        return Err(ended(Diag::new(message).help("C and intermediate code say it themselves")));
    }
    let each = args.inputs.iter().zip(codes).map(|(path, code)| match code {
        Some(file) => Ok(Input::Code(file)),
        None => {
            let (module, text) = read(args, path, arch).map_err(ended)?;
            Ok(Input::Intermediate(module, text))
        }
    });
    each.collect()
}

/// Whether a file is machine code or assembly: by its name, and by its first bytes.
fn is_code(path: &Path) -> bool {
    const MAGIC: [&[u8]; 2] = [b"\x7fELF", b"!<arch>\n"];
    let begins = |bytes: Vec<u8>| MAGIC.iter().any(|magic| bytes.starts_with(magic));
    lift::is_assembly(path)
        || path != Path::new(STDIN) && file::read(path, file::MAX_DATA).is_ok_and(begins)
}

/// How many functions are named where none fits.
const NAMED: usize = 10;

/// The pairs of functions in the input.
fn pairs(args: &Args, inputs: &[Input]) -> Result<Vec<Pair>> {
    let after;
    let (before, after, what) = match (inputs, &args.passes) {
        ([one], None) => (one.functions(), None, "functions `@src` and `@tgt`"),
        ([Input::Intermediate(module, text)], Some(passes)) => {
            after = after_passes(args, passes, text)?;
            (module as &dyn Functions, Some(&after as &dyn Functions), "functions")
        }
        ([before, after], None) => (
            before.functions(),
            Some(after.functions()),
            "functions of the same name in both files",
        ),
        _ => {
            return Err(Diag::new("--passes takes one file of intermediate code")
                .help("leave out the second file, which is what the passes make"));
        }
    };
    let mut pairs = match after {
        None => pair::within(before),
        Some(after) => pair::between(before, after),
    };
    if !args.function.is_empty() {
        pairs = chosen(args, before, after.unwrap_or(before), &pairs)?;
    }
    let c = args.inputs.first().is_some_and(|path| is_c(path));
    let pairs: Vec<Pair> = pairs.into_iter().map(|pair| Pair { is_c: c, ..pair }).collect();
    match pairs.is_empty() {
        false => Ok(pairs),
        true => {
            let files: Vec<String> = args.inputs.iter().map(|p| p.display().to_string()).collect();
            let found = inputs.iter().flat_map(|one| one.functions().names()).take(NAMED);
            let found: Vec<String> = found.map(|name| format!("`{name}`")).collect();
            let found = match found.is_empty() {
                true => "no function at all".to_string(),
                false => found.join(", "),
            };
            let message = format!("{}: there are no {what}, but {found}", files.join(", "));
            Err(Diag::new(message).help(
                "one file has the functions `@src` and `@tgt`; two files have functions of the same names, \
                 or --function NAME=AFTER says which",
            ))
        }
    }
}

/// The pairs that the user names.
fn chosen(
    args: &Args,
    before: &dyn Functions,
    after: &dyn Functions,
    pairs: &[Pair],
) -> Result<Vec<Pair>> {
    let mut out = Vec::new();
    for word in &args.function {
        if let Some((source, target)) = word.split_once('=') {
            out.push(named_pair(before, after, (source, target))?);
            continue;
        }
        let name = word.trim_start_matches('@');
        let found = pairs.iter().find(|pair| pair.name == name).ok_or_else(|| {
            let all: Vec<&str> = pairs.iter().map(|p| p.name.as_str()).collect();
            Diag::new(format!("there is no pair of functions `{name}`"))
                .help(format!("there are: {}", all.join(", ")))
        })?;
        out.push(found.clone());
    }
    Ok(out)
}

/// A pair of functions by their names.
fn named_pair(
    before: &dyn Functions,
    after: &dyn Functions,
    (source, target): (&str, &str),
) -> Result<Pair> {
    let missing = |when: &str, name: &str| {
        Diag::new(format!("there is no function `{name}` in the file {when} the change"))
    };
    let one = pair::named(before, source).ok_or_else(|| missing("before", source))?;
    let two = pair::named(after, target).ok_or_else(|| missing("after", target))?;
    Ok(pair::pair(before, after, one, two))
}

/// Whether a file is C or C++ by its name.
fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|e| ["c", "cc", "cpp", "cxx"].iter().any(|c| e == *c))
}

/// A module with its text. Of C, it is what clang makes of it before any pass.
fn read(args: &Args, path: &Path, arch: Option<Arch>) -> Result<(Module, String)> {
    let text = match (path == Path::new(STDIN), is_c(path)) {
        (true, _) => std::io::read_to_string(std::io::stdin()),
        (_, false) => file::read_text(path, file::MAX_TEXT),
        (_, true) => Ok(compiled(args, path, arch)?),
    };
    let text = text.map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    let module = Module::read(&text).map_err(|e| Diag::new(format!("{}: {e}", path.display())))?;
    Ok((module, text))
}

/// A program of LLVM: the one that the user names, or its newest version.
fn tool(named: Option<&str>, name: &str, package: &str) -> Result<PathBuf> {
    let program = match named {
        Some(tool) => process::find(tool),
        None => {
            let versions = (13..=40).rev().map(|n| format!("{name}-{n}"));
            std::iter::once(name.to_string()).chain(versions).find_map(|name| process::find(&name))
        }
    };
    program.ok_or_else(|| {
        let tool = named.unwrap_or(name);
        Diag::new(format!("`{tool}` is not installed"))
            .help(format!("Debian has it in `{package}-N`; an option names another program"))
            .kind(litmake::base::failure::FailureKind::Broken(
                litmake::base::failure::Fault::Missing,
            ))
    })
}

/// C as the intermediate code that clang makes of it, for a machine of as many bits as that of the code. No pass has
/// changed it but the one that makes values of local variables, where there is an `opt` of clang's version.
fn compiled(args: &Args, path: &Path, arch: Option<Arch>) -> Result<String> {
    let program = tool(args.clang.as_deref(), "clang", "clang")?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let words = ["-S", "-emit-llvm", "-O0", "-Xclang", "-disable-O0-optnone", "-g0"];
    let more = ["-fno-discard-value-names", "-o", "-"];
    let mut words: Vec<String> = words.iter().chain(&more).map(|w| w.to_string()).collect();
    if let Some(arch) = arch.filter(|arch| word(*arch) == 4) {
        let triple = target::of(arch, false, false, false).and_then(|t| t.linker);
        // The headers of the machine's C library need not be here.
        words.push("-ffreestanding".into());
        words.push(format!("--target={}", triple.unwrap_or("i386-linux-gnu")));
    }
    words.push(path.to_string_lossy().into_owned());
    let text = output(&program, words, None)?;
    // Local variables are memory for clang, whose accesses some models see.
    let name = program.file_name().map(|n| n.to_string_lossy().replace("clang", "opt"));
    match name.and_then(|name| process::find(&name)) {
        Some(opt) => passed(&opt, "mem2reg", &text),
        None => Ok(text),
    }
}

/// The module that passes make of a text.
fn after_passes(args: &Args, passes: &str, text: &str) -> Result<Module> {
    let program = tool(args.tool.as_deref(), "opt", "llvm")?;
    let after = passed(&program, passes, text)?;
    Module::read(&after).map_err(|e| Diag::new(format!("after the passes: {e}")))
}

/// The text that passes of an `opt` make of another.
fn passed(opt: &Path, passes: &str, text: &str) -> Result<String> {
    let words = [&*format!("-passes={passes}"), "-S", "-o", "-", "before.ll"];
    output(opt, words.iter().map(|w| w.to_string()).collect(), Some(text))
}

/// The output of a program, with a text beside it as `before.ll`.
fn output(program: &Path, words: Vec<String>, text: Option<&str>) -> Result<String> {
    let scratch = litmake::toolchain::scratch::Scratch::new()
        .and_then(|dir| dir.write("before.ll", text.unwrap_or_default()).map(|_| dir))
        .map_err(|e| Diag::new(format!("no temporary folder: {e}")))?;
    let stop = common::stop();
    let ended = process::run(&Request {
        program,
        args: &words,
        env: &BTreeMap::new(),
        dir: scratch.path(),
        timeout: Duration::from_secs(60),
        memory_mib: 4096,
        processors: 1,
        stop: &stop,
    });
    match ended {
        process::Ended::Exit { code: 0, stdout, .. } => {
            Ok(String::from_utf8_lossy(&stdout).into_owned())
        }
        process::Ended::Exit { code: _, stderr, .. } => {
            let first = stderr.lines().next().unwrap_or("").to_string();
            Err(Diag::new(format!("{} refused its input: {first}", program.display())))
        }
        ended => {
            let name = program.display().to_string();
            let failed = litmake::toolchain::trouble::judge(&name, ended, Duration::from_secs(60));
            let why = failed.err().map_or_else(|| name.clone(), |f| f.text());
            Err(Diag::new(why).kind(litmake::base::failure::FailureKind::Broken(
                litmake::base::failure::Fault::Open,
            )))
        }
    }
}
