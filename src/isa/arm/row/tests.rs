//! All encodings of all rows: what is decoded is printed, read and assembled to the same again.

use super::*;
use crate::arm::decode::decoder;
use crate::microcode::Labels;
use object::{Object, ObjectSection};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::process::Command;

/// A word for each number that is given, with registers that are not PC.
fn words(code: &'static Code, runner: &mut TestRunner, count: usize) -> Vec<u32> {
    let mut any = || any::<u32>().new_tree(runner).expect("a number").current();
    let bits: Vec<u8> =
        code.bits.split(';').next().unwrap_or("").bytes().filter(|b| *b != b' ').collect();
    let one = |_| {
        let mut word = code.fixed.value | any() & !code.fixed.mask;
        for letter in *b"cdnmastu" {
            let at: Vec<usize> =
                (0..bits.len()).filter(|i| bits[bits.len() - 1 - i] == letter).collect();
            let n = if letter == b'c' { 14 - any() % 4 / 3 * 13 } else { any() % 13 };
            for (k, i) in at.into_iter().enumerate() {
                word = word & !(1 << i) | (n >> k & 1) << i;
            }
        }
        word & if code.set == Set::T16 { 0xffff } else { u32::MAX }
    };
    (0..count).map(one).collect()
}

/// Every encoding with the sets that it is of.
fn encodings() -> Vec<(&'static Row, &'static Code, Set)> {
    let mut out = Vec::new();
    for row in all() {
        for code in row
            .codes
            .iter()
            .copied()
            .flatten()
            .filter(|code| code.fixed.value & !code.fixed.mask == 0)
        {
            match code.set {
                Set::Both => out.extend([(row, code, Set::A32), (row, code, Set::T32)]),
                set => out.push((row, code, set)),
            }
        }
    }
    out
}

/// The text of an instruction, in which places are relative to it.
fn relative(d: &Decoded, at: u64) -> String {
    d.text(decoder(false).style(), &|to| format!(".{:+}", to.wrapping_sub(at) as i32))
}

/// The text of what is decoded at an address.
fn text_of(set: Set, word: u32, at: u64) -> Option<String> {
    let (row, fields) = decode(set, word, at, None)?;
    Some(relative(&row.decoded(fields, at, 4), at))
}

/// Instructions that are decoded, and refused by their names when they are read.
fn is_outside(line: &str) -> bool {
    let place = line.ends_with(",L");
    ["MRS", "SVC", "MRC", "MCR", "TB", "PLD"].iter().any(|head| line.starts_with(head))
        || place && ["LDRD", "VLDR"].iter().any(|head| line.starts_with(head))
        || line.starts_with('V') && line.contains("],")
        || line.contains("PC")
}

#[test]
fn mnemonics_are_split_into_base_flags_and_condition() {
    let is = |word: &str, base: &str, flags: bool, cond: &str| {
        let found = split(word).expect(word);
        assert_eq!(found.names[0].text, base, "{word}");
        assert_eq!((found.flags, found.cond.name()), (flags, cond), "{word}");
    };
    is("bls", "b", false, "ls");
    is("blt", "b", false, "lt");
    is("blle", "bl", false, "le");
    is("bics", "bic", true, "al");
    is("teq", "teq", false, "al");
    is("teqeq", "teq", false, "eq");
    is("movs", "mov", true, "al");
    is("movseq", "mov", true, "eq");
    is("moveqs", "mov", true, "eq");
    is("movteq", "movt", false, "eq");
    is("movlt", "mov", false, "lt");
    is("strhs", "str", false, "cs");
    is("mlals", "mla", false, "ls");
    is("smlals", "smlal", true, "al");
    is("ldrsheq", "ldrsh", false, "eq");
    is("bne.w", "b", false, "ne");
    is("lsls", "lsl", true, "al");
    is("adcs", "adc", true, "al");
    is("strexeq", "strex", false, "eq");
    is("vmoveq.f64", "vmov", false, "eq");
    for none in ["cmps", "ldrs", "ités", "cbzeq", "add.f32"] {
        assert!(split(none).is_none(), "{none}");
    }
}

#[test]
fn every_encoding_is_decoded_as_its_row_and_reads_back() {
    let mut runner = TestRunner::deterministic();
    for (row, code, set) in encodings() {
        let mut found = 0;
        for word in words(code, &mut runner, 200) {
            let Some((decoded, mut fields)) = decode(set, word, 0x1000, None) else {
                continue;
            };
            if !std::ptr::eq(decoded, row) {
                continue;
            }
            found += 1;
            let is_place = fields.place != Place::None;
            let d = decoded.decoded(fields.clone(), 0x1000, 4);
            let line = d.text(decoder(false).style(), &|_| "L".to_string());
            if is_outside(&line) {
                continue;
            }
            let (source, lines) = crate::seq::lines(&format!("{line}\nL: .word 7"));
            let labels = Labels::new(&source, &lines).expect("has labels");
            let mut names = crate::lex::Names::default();
            let cursor = crate::lex::Cursor::new(&source, &lines[0], '@');
            let read = crate::arm::read::Parser::new(cursor, &mut names, &labels, 0).instruction();
            let mut read = read.unwrap_or_else(|d| panic!("{line}: {d}"));
            if is_place {
                (fields.place, read.fields.place) = (Place::None, Place::None);
            }
            assert!(std::ptr::eq(read.row, row), "{line} is read as {}", read.row.spelling);
            assert_eq!(read.fields, fields, "{line}");
        }
        assert!(found > 0, "{}: no word is `{}`", row.spelling, code.bits);
    }
}

/// The code that GNU's assembler makes of lines, each 8 bytes from the last; nothing where it refuses one.
fn assembled(arch: &str, state: &str, lines: &[String]) -> Vec<Option<Vec<u8>>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, object) = (folder.path().join("t.s"), folder.path().join("t.o"));
    let mut refused = vec![false; lines.len()];
    loop {
        let mut all = format!(".syntax unified; .arch {arch}; .fpu neon-fp-armv8; .{state}\n");
        for (i, line) in lines.iter().enumerate() {
            let _ = writeln!(all, ".org {}; {}", 8 * i, if refused[i] { "" } else { line });
        }
        std::fs::write(&text, &all).expect("is written");
        let run = Command::new("arm-linux-gnueabihf-as").arg(&text).arg("-o").arg(&object).output();
        let said = String::from_utf8_lossy(&run.expect("runs").stderr).to_string();
        let errors = said.lines().filter(|line| line.contains("Error:"));
        let wrong: Vec<usize> =
            errors.filter_map(|line| line.split(':').nth(1)?.parse::<usize>().ok()).collect();
        if wrong.is_empty() {
            let file = std::fs::read(&object).unwrap_or_else(|e| panic!("{e}: {said}"));
            let file = object::File::parse(&*file).expect("is an object");
            let code = file.section_by_name(".text").and_then(|section| section.data().ok());
            let code = code.expect("has code");
            let at = |i: usize| Some(code.get(8 * i..)?.iter().copied().take(4).collect());
            return (0..lines.len()).map(|i| at(i).filter(|_| !refused[i])).collect();
        }
        // Line 1 has the directives.
        for i in wrong {
            assert!(!std::mem::replace(&mut refused[i - 2], true), "{said}");
        }
    }
}

#[test]
fn what_is_printed_assembles_to_the_same() {
    if !litmake_needs::here("arm-linux-gnueabihf-as") {
        return;
    }
    let mut runner = TestRunner::deterministic();
    for state in ["arm", "thumb"] {
        let mut lines = Vec::new();
        let mut patterns = Vec::new();
        for (_, code, set) in encodings() {
            if (set == Set::A32) != (state == "arm") {
                continue;
            }
            for word in words(code, &mut runner, 12) {
                if let Some(line) = text_of(set, word, 8 * lines.len() as u64) {
                    patterns.push(code.bits);
                    lines.push(line);
                }
            }
        }
        let mut agree = HashSet::new();
        // The older one has SWP, and not all of Thumb.
        let archs: &[&str] = if state == "arm" { &["armv8-a", "armv6"] } else { &["armv8-a"] };
        for arch in archs {
            for (i, bytes) in assembled(arch, state, &lines).into_iter().enumerate() {
                let Some(bytes) = bytes else {
                    continue;
                };
                let at = 8 * i as u64;
                let d = decoder(state == "thumb")
                    .decode(&bytes, at)
                    .unwrap_or_else(|e| panic!("{}: {e}", lines[i]));
                assert_eq!(relative(&d, at), lines[i], "{bytes:02x?}");
                agree.insert(patterns[i]);
            }
        }
        for pattern in patterns {
            assert!(
                agree.contains(pattern),
                "the assembler refuses every instruction of `{pattern}`"
            );
        }
    }
}
