//! Reads the sequences of three instructions in code, with neutral names.
//!
//! Three, because the effect of a compiler on an ordered access shows in the access and its two
//! neighbours: a barrier before and after, or the load and the store of a loop around an exchange.
//! New pairs soon stop appearing, and nearly every test has new sequences of four, so neither
//! number can steer a hunt.
//!
//! Registers are numbered by their first use in the sequence, which shows whether an address or a
//! value comes from the previous instruction. Locations are numbered in the same way. All numbers
//! other than 0 are equal. It does not know which sequences are new.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use litmake_litmus::{Arch, Body, Line, Test};

/// The number of instructions in a sequence.
pub const LENGTH: usize = 3;

/// The features of a test's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The sequences of each thread, each as a hash that is equal for tests that differ only in
    /// names.
    pub threads: Vec<BTreeSet<u64>>,
    /// The number of instructions.
    pub size: u64,
    /// The estimated cost of the simulation, in instructions.
    pub weight: u64,
}

/// The form of a test's code.
pub fn form(test: &Test) -> Form {
    let mut out = Form::default();
    let mut jumps = 0;
    for body in &test.threads {
        let mut grams = BTreeSet::new();
        if let Body::Asm(lines) = body {
            let tokens: Vec<Vec<Token>> =
                lines.iter().filter(|l| !l.text.is_empty()).map(|l| tokens(test.arch, l)).collect();
            for window in tokens.windows(LENGTH) {
                let mut hasher = rustc_hash::FxHasher::default();
                sequence(window).hash(&mut hasher);
                grams.insert(hasher.finish());
            }
            out.size += tokens.len() as u64;
            jumps += tokens.iter().filter(|t| t.contains(&Token::Word("L".into()))).count() as u32;
        }
        out.threads.push(grams);
    }
    // Three more jumps double the estimate: each jump has two outcomes, and most are determined.
    out.weight = (out.size / 4).max(1) << (jumps / 3).min(20);
    out
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A mnemonic or punctuation.
    Word(String),
    /// A register: its class, and its name without the class.
    Register(&'static str, String),
    Location(String),
    Number,
    Zero,
}

/// A sequence as text.
fn sequence(window: &[Vec<Token>]) -> String {
    let (mut registers, mut locations): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut out = String::new();
    for instruction in window {
        for token in instruction {
            out.push(' ');
            match token {
                Token::Word(word) => out.push_str(word),
                Token::Register(class, name) => {
                    out.push_str(class);
                    out.push_str(&place(&mut registers, name).to_string());
                }
                Token::Location(name) => {
                    out.push('@');
                    out.push_str(&place(&mut locations, name).to_string());
                }
                Token::Number => out.push('#'),
                Token::Zero => out.push('0'),
            }
        }
        out.push(';');
    }
    out
}

fn place<'t>(list: &mut Vec<&'t str>, name: &'t str) -> usize {
    match list.iter().position(|n| *n == name) {
        Some(at) => at,
        None => {
            list.push(name);
            list.len() - 1
        }
    }
}

fn tokens(arch: Arch, line: &Line) -> Vec<Token> {
    let mut out = Vec::new();
    let text = line.text.trim();
    let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    out.push(Token::Word(mnemonic.to_ascii_lowercase()));
    let mut word = String::new();
    for c in rest.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '%' | '$' | '#' | '.') {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push(token(arch, &word));
            word.clear();
        }
        if matches!(c, '[' | ']' | '(' | ')' | '!') {
            out.push(Token::Word(c.to_string()));
        }
    }
    out
}

/// The token for a word of an operand.
fn token(arch: Arch, word: &str) -> Token {
    let digits = word.trim_start_matches(['#', '$']);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    // On MIPS, `$2` is a register.
    if is_number && !(arch == Arch::Mips && word.starts_with('$')) {
        return if digits.trim_start_matches("0x").bytes().all(|b| b == b'0') {
            Token::Zero
        } else {
            Token::Number
        };
    }
    let lower = word.to_ascii_lowercase();
    let numbered = |letters: &[&'static str]| -> Option<Token> {
        letters.iter().find_map(|class| {
            let rest = lower.strip_prefix(class)?;
            let is = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
            is.then(|| Token::Register(class, rest.to_string()))
        })
    };
    let named = |names: &[&'static str]| -> Option<Token> {
        let name = names.iter().find(|n| **n == lower)?;
        Some(Token::Word(name.to_string()))
    };
    // Conditions and shifts are part of the instruction.
    let words = [
        "lsl", "lsr", "asr", "uxtw", "sxtw", "eq", "ne", "lt", "gt", "le", "ge", "hs", "lo", "hi",
        "ls", "mi", "pl", "cs", "cc", "sy", "ish", "ishld", "ishst", "r", "w", "rw", "i", "o",
    ];
    let register = match arch {
        Arch::X86 | Arch::X86_64 if word.starts_with('%') => Some(x86(&lower[1..])),
        Arch::X86 if !lower.starts_with('r') => {
            Some(x86(&lower)).filter(|token| !matches!(token, Token::Register("%", _)))
        }
        Arch::AArch64 => numbered(&["w", "x", "q", "v", "d", "s", "h", "b"])
            .or_else(|| named(&["wzr", "xzr", "sp"])),
        Arch::Arm => numbered(&["r", "d", "q"]).or_else(|| named(&["sp", "lr", "ip"])),
        Arch::RiscV => numbered(&["a", "s", "t", "x"]).or_else(|| named(&["zero", "ra", "sp"])),
        Arch::S390x => numbered(&["r", "f", "v"]),
        Arch::Ppc => numbered(&["r", "cr", "v"]),
        Arch::Mips | Arch::LoongArch if word.starts_with('$') => {
            Some(Token::Register("$", lower[1..].to_string()))
        }
        _ => None,
    };
    let is_label = lower.strip_prefix('l').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    match register {
        Some(token) => token,
        None if is_label && !lower[1..].is_empty() => Token::Word("L".into()),
        None if words.contains(&lower.as_str()) => Token::Word(lower),
        None => Token::Location(lower),
    }
}

/// A register of x86: its width, and the full register that it is part of.
fn x86(name: &str) -> Token {
    let legacy = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
    for base in legacy {
        let narrow = base.strip_suffix('x').unwrap_or(base);
        for (class, text) in [
            ("r", format!("r{base}")),
            ("e", format!("e{base}")),
            ("h", base.to_string()),
            ("b", format!("{narrow}l")),
        ] {
            if name == text {
                return Token::Register(class, base.to_string());
            }
        }
    }
    let (number, class) = match name.as_bytes() {
        [b'r', .., b'd'] => (&name[1..name.len() - 1], "e"),
        [b'r', .., b'w'] => (&name[1..name.len() - 1], "h"),
        [b'r', .., b'b'] => (&name[1..name.len() - 1], "b"),
        [b'r', ..] => (&name[1..], "r"),
        _ => (name, "%"),
    };
    Token::Register(class, number.to_string())
}
