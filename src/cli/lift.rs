//! `litmake lift`: makes a litmus test from existing code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::engine::ArgValueCompleter;
use litmake::base::failure::Failure;
use litmake::diag::{Diag, Result, Source};
use litmake::litmus::{self, Arch, Body, Place, Test, Type};
use litmake::passes::judge::Court;
use litmake::profile::Profile;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::toolchain::assemble::assemble;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::foreign::{Argument, Asked, CALLS, Code, Returns, Thread, read_file};
use litmake::toolchain::lift::stubs::Stub;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;
use litmake::{file, plain};

use super::{common, completions};

/// Make a litmus test from existing code: assembly, objects, libraries, programs, dumps.
///
/// Each `--function` is a thread. By the ABI of the target, its parameters are pointers to the
/// locations `x`, `y`, `z`, `u`, `v`, `w`, `a`, `b`, which all threads share; `--arg` gives a
/// parameter another meaning. Variables of the code are locations under their own names, with their
/// own initial values. Parts of an object that are accessed separately become locations of their
/// own, named by their offset in bytes (`x`, `x_8`), unless the code uses the object's address. The
/// target comes from the file. An error names the function, the place in it that cannot be lifted,
/// and the reason.
///
/// Exit status: 0, done; 1, with --against or --pair, the code allows an outcome that the other forbids; 2,
/// wrong input; 3, the code cannot be lifted, or a tool failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake lift --list libck.a                      which functions can be lifted, and why others cannot
  litmake lift libx.so --function push --function pop --result 'long P1' | litmake sim -
  litmake lift lock.s --profile gcc-12-aarch64-O2 --function P0=lock --function P1=lock
  litmake lift x.o --function P0=send --function P1=receive --arg P0:1=7 --result P1=r0 --against mp.litmus
  litmake lift x.o --function P0=pop --init 'int64_t x=n; int64_t n[2]={7,0}' --result 'long P0' \\
      --condition 'exists (0:rax=0)'
  litmake lift --pair old.so:push new.so:push      whether the new version shows what the old one does not
  litmake lift --raw AArch64 dump.bin --function P0=0x0 --function P1=0x40")]
pub struct Args {
    /// Assembly (.s, .S), object files, shared libraries, programs and static libraries, all for
    /// one target. Functions that the others call are also taken from static libraries
    #[arg(required_unless_present = "pair", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The function of a thread: its symbol (static ones, too), or its address in a linked file
    /// (0x1240). Without `P0=`, it is the function of the next thread
    #[arg(short, long, value_name = "[P0=]NAME", required_unless_present_any = ["list", "pair"])]
    function: Vec<String>,

    /// The value of a parameter, counted from 0: the address of a location (`P0:1=y`), a number
    /// (`P0:1=7`), or, with --against, the address of memory for a local of the source
    /// (`P0:1=0:r0`) [default: the address of x, y, z, ...; with --against, the address of the
    /// source thread's parameter]
    #[arg(long, value_name = "P0:N=WHAT")]
    arg: Vec<String>,

    /// Observe the value that a thread's function returns, as this C type; with --against, as the
    /// local of the source that takes it [default type: int]
    #[arg(long, value_name = "[TYPE] P0[=LOCAL]")]
    result: Vec<String>,

    /// The initial state, as in a test between braces. A location with a type has the width of this
    /// type, and an array stays one location
    #[arg(long, value_name = "STATE", conflicts_with = "against", default_value = "")]
    init: String,

    /// The condition, as at the end of a test [default: `exists (true)`, and the test shows
    /// everything that threads write or return]
    #[arg(long, value_name = "CONDITION", conflicts_with = "against")]
    condition: Option<String>,

    #[command(flatten)]
    code: CodeArgs,

    /// Compare a function with another one in all small contexts, as `litmake tv` does: an old version and a new one, or
    /// code and what a translator of binaries made of it
    #[arg(
        long, num_args = 2, value_name = "FILE:FUNCTION",
        conflicts_with_all = ["files", "function", "arg", "result", "init", "condition", "against", "raw", "list", "name", "output"]
    )]
    pair: Vec<String>,

    /// With --pair, the parameters and the result of a function, as C declares them: `int take(int *x, long n)`
    /// [default: all parameters are pointers, and the result is not compared]
    #[arg(long, value_name = "DECLARATION", requires = "pair")]
    signature: Vec<String>,

    /// A C test with one thread for each function. It gives the condition, the locations and the
    /// parameters, and litmake compares the outcomes of the code with those of this source
    #[arg(long, value_name = "TEST", conflicts_with = "list")]
    against: Option<PathBuf>,

    /// The model of the source
    #[arg(long, value_name = "MODEL", default_value = "rc11", requires = "against", add = ArgValueCompleter::new(completions::models))]
    source_model: String,

    /// The model of the code [default: that of the profile or of the dialect]
    #[arg(long, value_name = "MODEL", requires = "against", add = ArgValueCompleter::new(completions::models))]
    target_model: Option<String>,

    /// The file is only machine code, of this dialect; functions are named by their offset in it
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    raw: Option<Arch>,

    /// List the functions, and whether each can be lifted with default parameters
    #[arg(long, conflicts_with_all = ["function", "arg", "result", "init", "condition"])]
    list: bool,

    /// The name of the test [default: the functions' names]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Write the test into this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How existing code is read.
#[derive(clap::Args)]
pub struct CodeArgs {
    /// The value of a variable that the code reads, such as __aarch64_have_lse_atomics=1. The
    /// variable is then no location
    #[arg(long, value_name = "NAME=N", hide_short_help = true, value_parser = common::parameter::<u64>)]
    pub known: Vec<(String, u64)>,

    /// The effect that calls of a function are taken to have, in place of its code
    ///
    /// `nothing` (it accesses no memory and gives 0), `never` (it does not return), or the number that it gives.
    /// Functions that end the program (abort, __assert_fail) never return, and those that write to files or wait
    /// (printf, g_log, poll) do nothing, unless this says otherwise; the test names them.
    #[arg(long, value_name = "NAME=nothing|never|N", value_parser = stub)]
    pub call: Vec<(String, Stub)>,

    /// The profile whose assembler reads assembly, and whose target says what the machine has
    #[arg(short, long, value_name = "NAME|FILE", add = ArgValueCompleter::new(completions::profiles))]
    pub profile: Option<String>,
}

impl CodeArgs {
    /// The profile, if one is named.
    pub fn profile(&self) -> Result<Option<std::sync::Arc<Profile>>> {
        self.profile.as_ref().map(|name| common::find_profile(&Disk, name)).transpose()
    }
}

fn dialect(word: &str) -> std::result::Result<Arch, String> {
    let lifted = |arch: &Arch| litmake::isa::target::of(*arch, false, false, false).is_some();
    let known: Vec<Arch> = Arch::ALL.iter().copied().filter(lifted).collect();
    known.iter().copied().find(|a| a.name().eq_ignore_ascii_case(word)).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|a| a.name()).collect();
        format!("dialects are {}", names.join(", "))
    })
}

/// Why the command ends: its exit status, and the message.
pub type Ended = (u8, Box<Diag>);

pub fn main(args: Args) -> ExitCode {
    common::ended_as(run(&args))
}

fn input(e: Box<Diag>) -> Ended {
    (2, e)
}

/// The end of a command whose code cannot be lifted, or whose tool failed.
fn refused(failure: &Failure) -> Ended {
    let status = if failure.is_stopped() { common::status_of(3) } else { 3 };
    (status, Diag::new(failure.text()))
}

fn run(args: &Args) -> std::result::Result<u8, Ended> {
    if let [before, after] = &args.pair[..] {
        let parts = |word: &str| match word.rsplit_once(':') {
            Some((file, function)) => Ok((PathBuf::from(file), function.to_string())),
            None => Err(input(
                Diag::new(format!("--pair {word}: the form is FILE:FUNCTION"))
                    .help("such as --pair old.so:push new.so:push"),
            )),
        };
        let (before, after) = (parts(before)?, parts(after)?);
        let sides = [(&*before.0, &*before.1), (&*after.0, &*after.1)];
        return super::tv::compare_code(sides, &args.code, &args.signature);
    }
    let profile = args.code.profile().map_err(input)?;
    let code = open(&args.files, args.raw, profile.as_deref())?;
    let known: BTreeMap<String, u64> = args.code.known.iter().cloned().collect();
    let stubs: BTreeMap<String, Stub> = args.code.call.iter().cloned().collect();
    if args.list {
        return list(&code, profile.as_deref(), &known, &stubs).map_err(|e| refused(&e));
    }
    let source = args.against.as_deref().map(read_source).transpose().map_err(input)?;
    let threads = threads(args, source.as_ref()).map_err(input)?;
    let stated = stated(args, code.arch, threads.len()).map_err(input)?;
    let names: Vec<&str> = threads.iter().map(|t| t.function.as_str()).collect();
    let name = args.name.clone().unwrap_or_else(|| names.join("+"));
    let test = code
        .test(&Asked {
            name: &name,
            threads: &threads,
            stated: source.is_none().then_some(&stated),
            source: source.as_ref(),
            profile: profile.as_deref(),
            known: &known,
            stubs: &stubs,
        })
        .map_err(|e| refused(&e))?;
    match &args.output {
        Some(path) => {
            file::write(path, litmus::write(&test).as_bytes()).map_err(|e| (3, e))?;
        }
        None if source.is_none() => print!("{}", litmus::write(&test)),
        None => {}
    }
    match source {
        Some(source) => compare(args, &source, &test, profile.as_deref()),
        None => Ok(0),
    }
}

/// Opens the code of the files, which is of the profile's dialect; assembly is assembled first.
pub fn open(
    paths: &[PathBuf],
    raw: Option<Arch>,
    profile: Option<&Profile>,
) -> std::result::Result<Code, Ended> {
    let code = opened(paths, raw, profile)?;
    if let Some(profile) = &profile
        && profile.arch != code.arch
    {
        let (own, other) = (profile.arch.name(), code.arch.name());
        let message = format!("{} is for {own}, and the code is for {other}", profile.name);
        return Err(input(Diag::new(message)));
    }
    Ok(code)
}

fn opened(
    paths: &[PathBuf],
    raw: Option<Arch>,
    profile: Option<&Profile>,
) -> std::result::Result<Code, Ended> {
    let mut files = Vec::new();
    for path in paths {
        let content = read_file(path).map_err(|e| input(Diag::new(e.text())))?;
        let name = path.display().to_string();
        if let Some(arch) = raw {
            if paths.len() > 1 {
                return Err(input(Diag::new("--raw takes one file")));
            }
            return Ok(Code::raw(arch, &name, content));
        }
        if path.extension().is_some_and(|e| e == "c" || e == "cc" || e == "cpp" || e == "rs") {
            let with = path.with_extension("o");
            return Err(input(
                Diag::new(format!("{name} is a program's source, and no code")).help(format!(
                    "compile it first, as with `gcc -O2 -c {name}`, and name {}",
                    with.display()
                )),
            ));
        }
        let content = match is_assembly(path) {
            true => assembled(path, &content, profile)?,
            false => content,
        };
        files.push((name, content));
    }
    Code::open(files).map_err(|e| input(Diag::new(e.text())))
}

/// Whether a file is assembly by its name.
pub fn is_assembly(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "s" || e == "S" || e == "asm")
}

fn assembled(
    path: &Path,
    text: &[u8],
    profile: Option<&Profile>,
) -> std::result::Result<Vec<u8>, Ended> {
    let profile = profile.ok_or_else(|| {
        let message = format!("{} needs an assembler for its target", path.display());
        input(Diag::new(message).help(
            "say whose: --profile gcc-12-aarch64-O2, clang-16-riscv64-O2 or the like; \
             `litmake doctor` lists what is installed",
        ))
    })?;
    let program = process::find(&profile.compiler).ok_or_else(|| {
        let message = format!("the compiler `{}` is not installed", profile.compiler);
        (3, Diag::new(message).help("`litmake doctor` says how to get it"))
    })?;
    let (runtime, stop) = (Runtime::default(), common::stop());
    let compiler = Compiler {
        profile,
        program: &program,
        observe: Observe::None,
        storage: Storage::Pointers,
        helpers: false,
        runtime: &runtime,
        stop: &stop,
    };
    assemble(&compiler, path, text).map_err(|e| refused(&e.of(path.display())))
}

/// Parses `NAME=nothing`, `NAME=never` or `NAME=N`.
fn stub(text: &str) -> std::result::Result<(String, Stub), String> {
    let (name, stub) = common::assignment(text)?;
    Ok((name, stub.trim().parse()?))
}

fn read_source(path: &Path) -> Result<Test> {
    let text = litmus::pack::read_to_string(path)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    let test = litmus::read(&Source::new(path.display().to_string(), text))?;
    match test.threads.iter().all(|t| matches!(t, Body::C(_))) {
        true => Ok(test),
        false => Err(Diag::new(format!("{} is no C test", path.display()))
            .help("code is compared with a source; compare two assembly tests by `litmake sim`")),
    }
}

/// Splits `P0...` into the thread's number and the rest.
fn thread_of(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix('P')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// The threads, as the command line describes them.
fn threads(args: &Args, source: Option<&Test>) -> Result<Vec<Thread>> {
    let mut out: BTreeMap<usize, Thread> = BTreeMap::new();
    for word in &args.function {
        let named = thread_of(word).and_then(|(n, rest)| Some((n, rest.strip_prefix('=')?)));
        let next = out.keys().next_back().map_or(0, |last| last + 1);
        let (n, name) = named.unwrap_or((next, word));
        let thread = Thread { function: name.to_string(), ..Thread::default() };
        if name.is_empty() || out.insert(n, thread).is_some() {
            return Err(Diag::new(format!("--function {word}: P{n} has one function")));
        }
    }
    if let Some((missing, _)) = (0..).zip(out.keys()).find(|(n, key)| n != *key) {
        return Err(Diag::new(format!("there is no --function for P{missing}")));
    }
    if let Some(source) = source.filter(|s| s.threads.len() != out.len()) {
        let (own, other) = (out.len(), source.threads.len());
        return Err(Diag::new(format!(
            "{} has {other} threads, and --function names {own}: one for each is needed",
            source.name
        )));
    }
    for word in &args.arg {
        let form = || {
            Diag::new(format!("--arg {word}: the form is P0:N=WHAT"))
                .help("WHAT is a location (x), a number (7), or a local of the source (0:r0)")
        };
        let (n, rest) = thread_of(word).ok_or_else(form)?;
        let (place, what) =
            rest.strip_prefix(':').and_then(|r| r.split_once('=')).ok_or_else(form)?;
        let place: usize = place.trim().parse().map_err(|_| form())?;
        let thread = out
            .get_mut(&n)
            .ok_or_else(|| Diag::new(format!("--arg {word}: there is no --function for P{n}")))?;
        let what = argument(what.trim(), n, source).ok_or_else(form)?;
        if place >= 64 || thread.args.insert(place, what).is_some() {
            return Err(form());
        }
    }
    for word in &args.result {
        let (n, returns) = result(word).ok_or_else(|| {
            Diag::new(format!("--result {word}: the form is [TYPE] P0[=LOCAL]"))
                .help("such as P0, 'bool P1', 'long P0=r0'")
        })?;
        let thread = out.get_mut(&n).ok_or_else(|| {
            Diag::new(format!("--result {word}: there is no --function for P{n}"))
        })?;
        match (source.is_some(), &returns.local) {
            (true, None) => {
                return Err(Diag::new(format!(
                    "--result {word}: which local of the source takes it?"
                ))
                .help(format!("--result P{n}=r0")));
            }
            (false, Some(_)) => {
                return Err(Diag::new(format!(
                    "--result {word}: there is no source whose local takes it"
                ))
                .help("leave out the local, or give the source by --against"));
            }
            _ => thread.result = Some(returns),
        }
    }
    if let Some(source) = source {
        by_default(&mut out, source);
    }
    Ok(out.into_values().collect())
}

/// If the source observes one local of a thread, the function returns that one by default.
fn by_default(threads: &mut BTreeMap<usize, Thread>, source: &Test) {
    for (n, thread) in threads {
        let said = |a: &Argument| matches!(a, Argument::Local(_));
        if thread.result.is_some() || thread.args.values().any(said) {
            continue;
        }
        let shown = source.shown();
        let mut locals = shown.iter().filter_map(|p| match p {
            Place::Reg { thread, name } if thread == n => Some(name),
            _ => None,
        });
        if let (Some(local), None) = (locals.next(), locals.next())
            && let Some(Body::C(f)) = source.threads.get(*n)
        {
            let ty = litmake::lang::c11::emit::local_type(f, local).map(|t| t.bare().clone());
            let ty = ty.unwrap_or(Type::INT);
            thread.result = Some(Returns { ty, local: Some(local.clone()) });
        }
    }
}

fn argument(what: &str, n: usize, source: Option<&Test>) -> Option<Argument> {
    let number = match (what.strip_prefix("0x"), what.strip_prefix('-')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
        (_, Some(digits)) => digits.parse::<i64>().ok().map(|n| n.wrapping_neg() as u64),
        _ => what.parse().ok(),
    };
    let is_name = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match (number, what.split_once(':')) {
        (Some(number), _) => Some(Argument::Number(number)),
        (None, Some((thread, local))) => {
            let own = thread.parse() == Ok(n) && is_name(local) && source.is_some();
            own.then(|| Argument::Local(local.to_string()))
        }
        (None, None) => is_name(what).then(|| Argument::Location(what.to_string())),
    }
}

fn result(word: &str) -> Option<(usize, Returns)> {
    let (what, local) = match word.split_once('=') {
        Some((what, local)) => (what.trim(), Some(local.trim().to_string())),
        None => (word.trim(), None),
    };
    let (ty, thread) = what.rsplit_once(' ').unwrap_or(("int", what));
    let (n, "") = thread_of(thread)? else { return None };
    let stars = ty.replace('*', " * ");
    let tokens: Vec<&str> = stars.split_whitespace().collect();
    let ty = litmus::types::from_tokens(&tokens, Arch::C).ok()?;
    Some((n, Returns { ty, local }))
}

/// The initial state and the condition, as a test of the dialect without code.
fn stated(args: &Args, arch: Arch, threads: usize) -> Result<Test> {
    let heads: Vec<String> = (0..threads).map(|n| format!(" P{n} ")).collect();
    let condition = args.condition.as_deref().unwrap_or("exists (true)");
    let text = format!(
        "{} t\n{{ {} }}\n{};\n{};\n{condition}\n",
        arch.name(),
        args.init,
        heads.join("|"),
        vec![" "; threads].join("|"),
    );
    let test = litmus::read(&Source::new("--init and --condition", text))?;
    match test.init.iter().find(|i| matches!(i.place, Place::Reg { .. })) {
        Some(item) => Err(Diag::new(format!("--init sets the register {}", item.place))
            .help("what functions are given, --arg says: --arg P0:1=7")),
        None => Ok(test),
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Prints for each function whether it can be lifted.
fn list(
    code: &Code,
    profile: Option<&Profile>,
    known: &BTreeMap<String, u64>,
    stubs: &BTreeMap<String, Stub>,
) -> std::result::Result<u8, Failure> {
    let stated =
        Source::new("list", format!("{} t\n{{}}\n P0 ;\n ;\nexists (true)\n", code.arch.name()));
    let stated = litmus::read(&stated)?;
    let (mut lifted, mut all) = (0, 0);
    let mut file = String::new();
    for (function, unit) in code.functions()? {
        if unit != file {
            println!("{}:", plain::text(&unit));
            file = unit;
        }
        all += 1;
        let threads = [Thread { function: function.clone(), ..Thread::default() }];
        let made = code.test(&Asked {
            name: &function,
            threads: &threads,
            stated: Some(&stated),
            source: None,
            profile,
            known,
            stubs,
        });
        let name = plain::text(&function);
        match made {
            Ok(test) => {
                lifted += 1;
                let lines = test.threads.iter().map(|t| match t {
                    Body::Asm(lines) => lines.iter().filter(|l| !l.text.is_empty()).count(),
                    Body::C(_) => 0,
                });
                let calls = test.info.iter().find(|(key, _)| key == CALLS);
                let calls =
                    calls.map_or(String::new(), |(_, said)| format!(" ({})", plain::text(said)));
                println!("  {name}: lifted, {}{calls}", counted(lines.sum(), "instruction"));
            }
            Err(failure) => println!("  {name}: {}", plain::text(&failure.text())),
        }
    }
    if all == 0 {
        return Err("there is no function in what was given".into());
    }
    println!("{lifted} of {} can be lifted", counted(all, "function"));
    Ok(0)
}

/// Compares the outcomes of the code with those of its source.
fn compare(
    args: &Args,
    source: &Test,
    test: &Test,
    profile: Option<&Profile>,
) -> std::result::Result<u8, Ended> {
    let mut court = Court::new(std::slice::from_ref(&args.source_model)).map_err(input)?;
    let own = args.target_model.clone().or_else(|| profile.and_then(|p| p.model.clone()));
    let model = own.unwrap_or_else(|| test.arch.default_model().to_string());
    let allowed = court.source(source).map_err(input)?;
    let verdict = court.judge_machine(&allowed, test, &model).map_err(|e| refused(&e))?;
    let under = format!("{} under {model}, {} under {}", test.name, source.name, args.source_model);
    if verdict.undefined {
        println!("{under}: the source has undefined behaviour, and may do anything");
        return Ok(0);
    }
    let cut = if verdict.cut { " (loops were cut: outcomes may be missing)" } else { "" };
    if !verdict.is_finding() {
        let lost = match verdict.negative {
            0 => String::new(),
            n => format!("; {} of the source cannot be seen", counted(n, "outcome")),
        };
        println!("{under}: the code allows nothing that the source forbids{lost}{cut}");
        return Ok(0);
    }
    println!("{under}: the code allows what the source forbids{cut}");
    for state in &verdict.positive {
        let cells: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v}")).collect();
        println!("  + {}", cells.join("; "));
    }
    for name in &verdict.faults {
        println!("  + the code writes {name}, which the source only reads");
    }
    Ok(1)
}
