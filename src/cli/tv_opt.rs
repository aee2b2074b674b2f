//! `litmake tv-opt`: runs `opt` as it is told, and validates what it did to functions with atomics.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use litmake::diag::{Diag, Result};
use litmake::file;
use litmake::isa::llvm::module::Module;
use litmake::tv::judge::{Answer, Court};
use litmake::tv::pair::{self, Pair};
use litmake::tv::said;

use super::common;
use super::tv::Limits;

/// Run LLVM's `opt` as it is told, and say whether the passes were legal for functions with atomic operations,
/// fences or volatile accesses.
///
/// It stands in for `opt` in LLVM's own tests: the arguments, standard input and standard output are those of `opt`.
/// What it finds goes to standard error, and with --log also to a file. Functions that are not understood are counted
/// there and are no error.
///
/// Exit status: that of `opt`, if it is not 0; else 1, if a change is refuted; else 0.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake tv-opt opt -S -passes=gvn f.ll
  llvm-lit -Dopt='litmake tv-opt --log tv.jsonl opt' llvm/test/Transforms")]
pub struct Args {
    #[command(flatten)]
    limits: Limits,

    /// Append one line of JSON for each function to this file
    #[arg(long, value_name = "FILE", env = "LITMAKE_TV_LOG")]
    log: Option<PathBuf>,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPT"
    )]
    command: Vec<String>,
}

pub fn main(args: Args) -> ExitCode {
    common::ended(run(&args))
}

fn run(args: &Args) -> Result<u8> {
    let input =
        args.command[1..].iter().rev().find(|a| !a.starts_with('-') && Path::new(a).is_file());
    let mut given = Vec::new();
    if input.is_none() {
        std::io::stdin()
            .read_to_end(&mut given)
            .map_err(|e| Diag::new(format!("cannot read standard input: {e}")))?;
    }
    let (status, stdout) = opt(&args.command, &given, true)?;
    // A closed pipe is no error of ours: `opt` would not notice either.
    let _ = std::io::stdout().write_all(&stdout);
    if status != 0 {
        return Ok(status);
    }
    let before = match input {
        Some(path) => file::read_text(path.as_ref(), file::MAX_TEXT).map_err(|e| e.to_string()),
        None => String::from_utf8(given.clone()).map_err(|e| e.to_string()),
    };
    let before = match before.and_then(|text| Module::read(&text)) {
        Ok(module) => module,
        Err(why) => return unread(args, "before", &why),
    };
    // The output may be bitcode, or go to a file.
    let mut again = vec![args.command[0].clone()];
    let mut rest = args.command[1..].iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-o" => drop(rest.next()),
            "-S" | "-disable-output" | "--disable-output" | "-f" => {}
            _ => again.push(word.clone()),
        }
    }
    again.extend(["-S".to_string(), "-o".to_string(), "-".to_string()]);
    let (status, text) = opt(&again, &given, false)?;
    let after = match (status, String::from_utf8(text)) {
        (0, Ok(text)) => Module::read(&text),
        (0, Err(e)) => Err(e.to_string()),
        (status, _) => Err(format!("with -S, {} ends with {status}", args.command[0])),
    };
    let after = match after {
        Ok(module) => module,
        Err(why) => return unread(args, "after", &why),
    };
    let mut pairs = pair::between(&before, &after);
    pairs.retain(Pair::is_concurrent);
    let mut court = Court::new(args.limits.settings()?)?;
    let mut refuted = false;
    for pair in &pairs {
        let report = court.judge(pair);
        if let Answer::Refuted(_) = report.answer {
            eprint_text(&said::text(&report));
            refuted = true;
        }
        append(args, "pair", said::data(&report))?;
    }
    Ok(u8::from(refuted))
}

/// Notes that a module is not understood, which is no error.
fn unread(args: &Args, when: &str, why: &str) -> Result<u8> {
    append(args, "unread", format!("{when} the passes: {why}")).map(|()| 0)
}

fn eprint_text(text: &str) {
    eprintln!("litmake tv-opt: {}", text.trim_end());
}

/// Runs `opt` with the given standard input. Gives its status and its standard output.
#[expect(
    clippy::disallowed_methods,
    reason = "the program is the user's, with its streams and without limits"
)]
fn opt(command: &[String], input: &[u8], shows: bool) -> Result<(u8, Vec<u8>)> {
    let wrong = |e: std::io::Error| Diag::new(format!("cannot run {}: {e}", command[0]));
    let stderr = if shows { Stdio::inherit() } else { Stdio::null() };
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(wrong)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that does not read to the end says itself what is wrong.
            stdin.map(|mut stdin| stdin.write_all(input))
        });
        child.wait_with_output()
    });
    let output = output.map_err(wrong)?;
    let status = output.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(125);
    Ok((status, output.stdout))
}

/// Adds a line to the log, if there is one. Several processes may write to it at once.
fn append(args: &Args, key: &str, what: impl serde::Serialize) -> Result<()> {
    let Some(log) = &args.log else { return Ok(()) };
    let line = serde_json::json!({ "command": args.command, key: what });
    let wrong = |e: std::io::Error| Diag::new(format!("cannot write {}: {e}", log.display()));
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(log).map_err(wrong)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(wrong)
}
