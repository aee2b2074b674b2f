//! Compares the decoder of an instruction set with llvm-objdump, instruction by instruction.
//!
//! `cargo run --example decode_against_objdump -- --arch AArch64 a.o libatomic.a`
//!
//! objdump runs twice, with its aliases and without; the decoder's text must be one of the two
//! after both went through the same normal form (case, spaces, base of numbers) and through what
//! [`Rules`] says of the instruction set. Only differences, instructions that one of the two does
//! not know, and totals are printed. Exit status 1 where anything differs. With `--read`, the
//! text is also given to the litmus reader, and what it refuses is counted by mnemonic.
//!
//! A new instruction set needs an entry in [`RULES`]. x86 has none: its decoder is `iced-x86`, with that crate's own
//! spelling. What objdump does not know and the decoder does is counted apart where it is longer than objdump has it.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

mod aarch64;
mod arm;
mod loongarch;
mod mips;
mod ppc;
mod riscv;
mod s390x;

use clap::Parser;
use litmake::diag::{Source, Span};
use litmake::isa;
use litmake::isa::machine::{Decoder, State};
use litmake::isa::mips::decode::Release;
use litmake::litmus::{Arch, Line};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Parser)]
struct Args {
    /// The name of an entry in the table of instruction sets.
    #[arg(long)]
    arch: String,
    #[arg(long, default_value = "llvm-objdump-22")]
    objdump: String,
    /// For objdump, in place of what the instruction set's rules say.
    #[arg(long)]
    mattr: Option<String>,
    /// How many differences to print.
    #[arg(long, default_value_t = 20)]
    show: usize,
    /// What the decoder does not know is counted and is no failure (for random words).
    #[arg(long)]
    partial: bool,
    /// Also read the text as a litmus test's.
    #[arg(long)]
    read: bool,
    /// Print every instruction: its bytes and the decoder's text.
    #[arg(long)]
    list: bool,
    /// Object files and archives.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// What is particular to an instruction set.
struct Rules {
    /// What `--arch` says: the dialect, with the mode where there are several.
    name: &'static str,
    /// Whose reader takes the text.
    arch: Arch,
    decoder: fn() -> &'static dyn Decoder,
    /// objdump's `--mattr`.
    mattr: &'static str,
    /// objdump's options for names of registers as the decoder has them.
    always: &'static [&'static str],
    /// objdump's option for output without aliases, where it has one.
    plain: &'static [&'static str],
    /// Whether objdump writes where a branch goes as a distance.
    distances: bool,
    /// Rewrites the decoder's text, in normal form, where objdump leaves something out.
    ours: fn(&str) -> String,
    /// Rewrites objdump's text, in normal form, where the decoder prints another of several
    /// spellings that mean the same.
    respell: fn(&str) -> String,
}

const NO_ALIASES: &[&str] = &["-M", "no-aliases"];

const RULES: &[Rules] = &[
    Rules {
        name: "AArch64",
        arch: Arch::AArch64,
        decoder: isa::aarch64::decode::decoder,
        mattr: "+all",
        always: &[],
        plain: NO_ALIASES,
        distances: false,
        ours: str::to_string,
        respell: aarch64::respell,
    },
    Rules {
        name: "ARM",
        arch: Arch::Arm,
        decoder: || isa::arm::decode::decoder(false),
        mattr: "+v8a,+crc,+neon,+fp-armv8,+fullfp16,+dotprod",
        always: &[],
        plain: &[],
        distances: false,
        ours: str::to_string,
        respell: arm::respell,
    },
    Rules {
        name: "Thumb",
        arch: Arch::Arm,
        decoder: || isa::arm::decode::decoder(true),
        mattr: "+v8a,+crc,+neon,+fp-armv8,+fullfp16,+dotprod",
        always: &[],
        plain: &[],
        distances: false,
        ours: str::to_string,
        respell: arm::respell,
    },
    Rules {
        name: "RISCV",
        arch: Arch::RiscV,
        decoder: isa::riscv::decode::decoder,
        mattr: "+m,+a,+f,+d,+c,+zba,+zbb,+zacas,+zabha,+experimental-zalasr",
        always: &["-M", "numeric"],
        plain: NO_ALIASES,
        distances: false,
        ours: str::to_string,
        respell: riscv::respell,
    },
    Rules {
        name: "LoongArch",
        arch: Arch::LoongArch,
        decoder: isa::loongarch::decode::decoder,
        mattr: "+lamcas,+lam-bh,+scq",
        always: &["-M", "numeric"],
        plain: NO_ALIASES,
        distances: true,
        ours: loongarch::without_offsets,
        respell: str::to_string,
    },
    Rules {
        name: "S390x",
        arch: Arch::S390x,
        decoder: isa::s390x::decode::decoder,
        mattr: "",
        always: &["--mcpu=arch14"],
        plain: &[],
        distances: false,
        ours: str::to_string,
        respell: s390x::respell,
    },
    Rules {
        name: "PPC",
        arch: Arch::Ppc,
        decoder: || isa::ppc::decode::decoder(false),
        mattr: "",
        always: &[],
        plain: &[],
        distances: false,
        ours: ppc::without_names,
        respell: ppc::respell,
    },
    Rules {
        name: "MIPS",
        arch: Arch::Mips,
        decoder: || isa::mips::decode::decoder(false, Release::R2),
        mattr: "",
        always: &[],
        plain: &[],
        distances: false,
        ours: mips::as_moves,
        respell: mips::respell,
    },
    Rules {
        name: "MIPS-big",
        arch: Arch::Mips,
        decoder: || isa::mips::decode::decoder(true, Release::R2),
        mattr: "",
        always: &[],
        plain: &[],
        distances: false,
        ours: mips::as_moves,
        respell: mips::respell,
    },
    Rules {
        name: "MIPS-r6",
        arch: Arch::Mips,
        decoder: || isa::mips::decode::decoder(false, Release::R6),
        mattr: "",
        always: &[],
        plain: &[],
        distances: false,
        ours: mips::as_moves,
        respell: mips::respell,
    },
];

/// One line of objdump's.
struct Shown {
    at: u64,
    bytes: Vec<u8>,
    text: String,
}

#[derive(Default)]
struct Totals {
    instructions: u64,
    words: std::collections::BTreeSet<Vec<u8>>,
    data: u64,
    differ: u64,
    /// objdump knows it and the decoder does not, by objdump's mnemonic.
    unknown: BTreeMap<String, u64>,
    /// The other way round.
    invented: u64,
    /// Known to the decoder alone, and longer than objdump takes it for.
    taken_apart: u64,
    refused: BTreeMap<String, (u64, String)>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(rules) = RULES.iter().find(|r| r.name.eq_ignore_ascii_case(&args.arch)) else {
        let names: Vec<&str> = RULES.iter().map(|r| r.name).collect();
        eprintln!("no rules for `{}`: expected one of {}", args.arch, names.join(", "));
        return ExitCode::from(2);
    };
    let decoder = (rules.decoder)();
    let mut totals = Totals::default();
    for file in &args.files {
        let listing = |plain: bool| objdump(&args, rules, plain, file);
        match (listing(false), listing(true)) {
            (Ok(with), Ok(without)) if with.len() == without.len() => {
                let mut state = State::default();
                let mut skip = false;
                for (k, (a, b)) in with.iter().zip(&without).enumerate() {
                    if std::mem::take(&mut skip) {
                        continue;
                    }
                    // objdump reads what it does not know as several.
                    if let Some(next) = with.get(k + 1).filter(|_| a.text.contains("unknown")) {
                        let both = [a.bytes.clone(), next.bytes.clone()].concat();
                        let decoded = decoder.decode(&both, a.at);
                        skip = decoded.is_ok_and(|d| usize::from(d.len) == both.len());
                        totals.taken_apart += u64::from(skip);
                        if skip {
                            continue;
                        }
                    }
                    compare(&args, rules, (decoder, &mut state), a, b, &mut totals);
                }
            }
            (Ok(_), Ok(_)) => {
                eprintln!("{}: the two listings differ in length", file.display());
                return ExitCode::from(2);
            }
            (Err(e), _) | (_, Err(e)) => {
                eprintln!("{}: {e}", file.display());
                return ExitCode::from(2);
            }
        }
    }
    report(&args, &totals)
}

fn report(args: &Args, t: &Totals) -> ExitCode {
    let unknown: u64 = t.unknown.values().sum();
    println!(
        "{} instructions ({} distinct encodings), {} differ, {unknown} unknown, {} decoded where \
         objdump has nothing, {} longer than objdump knows, {} lines of data skipped",
        t.instructions,
        t.words.len(),
        t.differ,
        t.invented,
        t.taken_apart,
        t.data
    );
    let mut by_count: Vec<_> = t.unknown.iter().collect();
    by_count.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    if !args.partial {
        for (mnemonic, n) in by_count {
            println!("  unknown: {mnemonic} {n}");
        }
    }
    for (mnemonic, (n, example)) in &t.refused {
        println!("  not read back: {mnemonic} {n}, such as {example}");
    }
    let failed = t.differ + t.invented > 0 || (unknown > 0 && !args.partial);
    ExitCode::from(u8::from(failed))
}

fn objdump(args: &Args, rules: &Rules, plain: bool, file: &PathBuf) -> Result<Vec<Shown>, String> {
    let mut command = Command::new(&args.objdump);
    command.args(["-d", "-z"]);
    let mattr = args.mattr.as_deref().unwrap_or(rules.mattr);
    if !mattr.is_empty() {
        command.arg(format!("--mattr={mattr}"));
    }
    command.args(rules.always);
    if plain {
        command.args(rules.plain);
    }
    let output = command.arg(file).output().map_err(|e| format!("{}: {e}", args.objdump))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(shown).collect())
}

/// `      14: 52800540     \tmov\tw0, #0x2a // =42`. The bytes are in groups: a group of more than
/// one byte is a number, lowest byte first in memory.
fn shown(line: &str) -> Option<Shown> {
    let (at, rest) = line.trim_start().split_once(": ")?;
    let at = u64::from_str_radix(at, 16).ok()?;
    let (raw, text) = rest.split_once('\t')?;
    let mut bytes = Vec::new();
    for group in raw.split_whitespace() {
        let digits = group.as_bytes();
        if digits.len() % 2 != 0 {
            return None;
        }
        for pair in digits.chunks(2).rev() {
            bytes.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
        }
    }
    Some(Shown { at, bytes, text: text.to_string() })
}

fn compare(
    args: &Args,
    rules: &Rules,
    (decoder, state): (&dyn Decoder, &mut State),
    with: &Shown,
    without: &Shown,
    t: &mut Totals,
) {
    if with.text.starts_with('.') {
        t.data += 1;
        *state = State::default();
        return;
    }
    t.instructions += 1;
    t.words.insert(with.bytes.clone());
    let theirs = normal(&with.text);
    let known = !theirs.contains("unknown");
    let decoded = match decoder.decode_after(state, &with.bytes, with.at) {
        Ok(decoded) => decoded,
        Err(_) if !known => return,
        Err(error) => {
            let mnemonic = theirs.split(' ').next().unwrap_or("").to_string();
            let count = t.unknown.entry(mnemonic).or_default();
            *count += 1;
            if *count == 1 && !args.partial {
                println!("unknown: {:02x?} {} ({error})", with.bytes, with.text);
            }
            return;
        }
    };
    let from = if rules.distances { with.at } else { 0 };
    let text = decoded.text(decoder.style(), &|at| format!("{:#x}", at.wrapping_sub(from) as i64));
    if args.list {
        println!("{:02x?} {text}", with.bytes);
    }
    let ours = (rules.ours)(&normal(&text));
    if !known {
        t.invented += 1;
        if t.invented as usize <= args.show {
            println!("objdump has nothing: {:02x?} {text}", with.bytes);
        }
        return;
    }
    let theirs = [(rules.respell)(&theirs), (rules.respell)(&normal(&without.text))];
    if !theirs.contains(&ours) || usize::from(decoded.len) != with.bytes.len() {
        t.differ += 1;
        if t.differ as usize <= args.show {
            println!(
                "differs: {:02x?} at {:x}: {text}\n    {ours}\n    {}\n    {}",
                with.bytes, with.at, theirs[0], theirs[1]
            );
        }
        return;
    }
    if args.read {
        let text = decoded.text(decoder.style(), &|_| "L0".to_string());
        if let Err(why) = read(rules.arch, &text) {
            let entry = t.refused.entry(decoded.mnemonic).or_insert((0, format!("{text}: {why}")));
            entry.0 += 1;
        }
    }
}

/// Lower case, one space after the mnemonic and none elsewhere, numbers in decimal as 64 bits,
/// without comments, names of addresses, and signs before numbers.
fn normal(text: &str) -> String {
    let text = text.to_lowercase().replace('\t', " ");
    let text = text.split("//").next().unwrap_or("");
    let text = text.split(" @ ").next().unwrap_or("");
    let text = text.split(" <").next().unwrap_or("").trim();
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mut out = String::new();
    let mut rest = operands;
    let mut word = false;
    while let Some(c) = rest.chars().next() {
        let number = rest.strip_prefix('-').unwrap_or(rest);
        if !word && number.starts_with(|c: char| c.is_ascii_digit()) {
            let len = number
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
                .unwrap_or(number.len());
            out.push_str(&value(&number[..len], number.len() != rest.len()));
            rest = &number[len..];
            continue;
        }
        word = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        match c {
            '#' => {}
            // A space counts between words only (`lsl 3`).
            ' ' if out.ends_with(|c: char| c.is_ascii_alphanumeric())
                && !rest.trim_start().starts_with(['}', ']', ',']) =>
            {
                out.push(' ')
            }
            ' ' => {}
            _ => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    format!("{mnemonic} {}", out.trim()).trim().to_string()
}

fn value(digits: &str, negative: bool) -> String {
    let parsed = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    match parsed {
        Some(n) if negative => (n as i64).wrapping_neg().to_string(),
        Some(n) => (n as i64).to_string(),
        None => match digits.parse::<f64>() {
            Ok(n) => format!("{}", if negative { -n } else { n }),
            Err(_) => digits.to_string(),
        },
    }
}

fn read(arch: Arch, text: &str) -> Result<(), String> {
    let Some(isa) = isa::of(arch) else { return Ok(()) };
    let source = Source::new("decoded", text);
    let line = |labels: &[&str], text: &str| Line {
        labels: labels.iter().map(|l| l.to_string()).collect(),
        text: text.to_string(),
        span: Span::new(0, text.len()),
    };
    let lines = [line(&[], text), line(&["L0"], "NOP")];
    match isa.thread(&source, &lines, &mut litmake::litmus::Anything) {
        Ok(_) => Ok(()),
        Err(diag) => Err(diag.message.clone()),
    }
}
