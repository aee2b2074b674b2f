//! The meaning of instructions against a processor: random straight functions, with branches over single
//! instructions, run under qemu-s390x and through their micro-ops. `PROPTEST_CASES` asks for another number of them.

use super::*;
use crate::s390x::table::{Float, bits};
use std::collections::BTreeSet;

/// Functions use registers from 0 up, an index in 10, and memory behind the address in 12. Register 13 has the address
/// of a function's state: the registers, then the memory.
const GENERAL: usize = 10;
const INDEX: u64 = 10;
const POINTER: u64 = 12;
const STATE: u64 = 13;
/// The places of numbers of 8, 4, 2, 1 and 16 bytes: where the first one is, how many there are, and the size of each.
/// A place has one size, because the order of bytes differs between the machine and a test.
const PLACES: [(usize, usize, usize); 5] =
    [(0, 4, 8), (32, 4, 4), (48, 4, 2), (56, 8, 1), (64, 2, 16)];
const MEMORY: usize = 96;
const BLOCK: usize = 8 * GENERAL + MEMORY;
const INSTRUCTIONS: usize = 12;
const VECTORS: u64 = 4;
const BASE: u64 = 0x100_0000;
const HEADER: usize = 64 + 56;

fn value(dice: &mut Dice) -> u64 {
    let special = [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0x8000_0000, 0x7fff_ffff, 0xff80];
    match dice.below(4) {
        0 => special[dice.below(special.len())],
        1 => dice.roll() % 70,
        _ => dice.roll(),
    }
}

/// The bytes that an instruction accesses; none for one that does not go on to what follows, or needs data beside it.
fn accessed(row: &Row) -> Option<usize> {
    if row.fields.iter().any(|field| matches!(field, Field::Data)) {
        return None;
    }
    Some(match row.does {
        Does::Trap
        | Does::Call
        | Does::CallRegister
        | Does::JumpRegister
        | Does::CompareReturn(..) => {
            return None;
        }
        Does::Copy(_, of)
        | Does::Test(_, of)
        | Does::Bin(_, _, of, _)
        | Does::Compare(_, of, _) => usize::from(of.0 / 8),
        Does::LoadIf(_, of) => usize::from(of.0 / 8),
        Does::InsertByte | Does::TestMemory | Does::TestAndSet => 1,
        Does::Store(_, n)
        | Does::StoreIf(_, n)
        | Does::StoreNumber(n)
        | Does::CompareMemory(n, _)
        | Does::Update(_, n, ..)
        | Does::LoadAnd(_, n, _)
        | Does::Exchange(n)
        | Does::ExchangePair(n)
        | Does::LoadMany(n)
        | Does::StoreMany(n) => usize::from(n),
        Does::LoadPair | Does::StorePair => 16,
        Does::MoveBytes | Does::XorBytes => 8,
        Does::Float(Float::Load(n) | Float::Store(n)) => usize::from(n),
        Does::Float(Float::Lengthened) => 4,
        Does::Float(Float::LoadVector | Float::StoreVector) => 16,
        _ => 8,
    })
}

fn put(word: &mut u64, at: u8, count: u8, value: u64) {
    *word = *word & !placed(u64::MAX, at, count) | placed(value, at, count);
}

fn named(name: &str) -> &'static Row {
    ROWS.iter().find(|row| row.name == name).expect(name)
}

/// An instruction with values for the fields that are written in its place.
fn made(name: &str, fields: &[(u8, u8, u64)]) -> (u64, u8) {
    let row = named(name);
    let mut word = row.value;
    fields.iter().for_each(|(at, count, value)| put(&mut word, *at, *count, *value));
    (word, row.len())
}

/// An instruction of a row with random operands that are defined, and what has to come before and behind it.
fn instructions(row: &'static Row, size: usize, dice: &mut Dice) -> Vec<(u64, u8)> {
    let mut word = encoding(row, dice);
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let many = matches!(row.does, Does::LoadMany(_) | Does::StoreMany(_));
    let pair = matches!(
        row.does,
        Does::LoadPair
            | Does::StorePair
            | Does::MulPair
            | Does::Divide(..)
            | Does::ExchangePair(_)
            | Does::Leading
    );
    let (start, count, each) = PLACES.into_iter().find(|place| place.2 == size).expect("a place");
    let place = |dice: &mut Dice| (start + each * dice.below(count)) as u64;
    for field in row.fields {
        match *field {
            Field::R(at) if pair => put(&mut word, at, 4, 2 * dice.below(GENERAL / 2) as u64),
            Field::R(at) => put(&mut word, at, 4, dice.below(GENERAL) as u64),
            Field::F(at) => put(&mut word, at, 4, dice.below(VECTORS as usize) as u64),
            Field::V(at, high) => {
                put(&mut word, at, 4, dice.below(VECTORS as usize) as u64);
                put(&mut word, high, 1, 0);
            }
            Field::Last(at, 4) => put(&mut word, at, 4, 0),
            Field::Mem(at) => {
                put(&mut word, at, 4, POINTER);
                put(&mut word, at + 4, 12, if many { start as u64 } else { place(dice) });
            }
            Field::Mem20 => {
                put(&mut word, 16, 4, POINTER);
                put(&mut word, 20, 12, if many { start as u64 } else { place(dice) });
                put(&mut word, 32, 8, 0);
            }
            Field::Indexed | Field::Indexed20 if row.does == Does::Address => {
                put(&mut word, 12, 4, dice.below(GENERAL) as u64);
                put(&mut word, 16, 4, dice.below(GENERAL) as u64);
            }
            Field::Indexed | Field::Indexed20 => {
                put(&mut word, 12, 4, INDEX);
                put(&mut word, 16, 4, POINTER);
                let at = place(dice);
                put(&mut word, 20, 12, at);
                if *field == Field::Indexed20 {
                    put(&mut word, 20, 12, at.wrapping_sub(8));
                    put(&mut word, 32, 8, at.wrapping_sub(8) >> 12);
                }
                let index = if *field == Field::Indexed20 { 8 } else { 0 };
                before.push(made("lghi", &[(8, 4, INDEX), (16, 16, index)]));
            }
            Field::Bytes => {
                put(&mut word, 8, 8, 7);
                put(&mut word, 16, 4, POINTER);
                put(&mut word, 20, 12, place(dice));
            }
            Field::Count | Field::Count20 => {
                let base = if matches!(row.does, Does::Float(_)) { 0 } else { dice.below(GENERAL) };
                put(&mut word, 16, 4, base as u64);
                put(
                    &mut word,
                    20,
                    12,
                    if base == 0 { dice.below(2) } else { dice.below(70) } as u64,
                );
            }
            // Over the next instruction.
            Field::Near | Field::Far => {
                let count = if *field == Field::Near { 16 } else { 32 };
                put(&mut word, 16, count, u64::from(row.len() + 4) / 2);
                behind.push(made("aghi", &[(16, 16, 1)]));
            }
            _ => {}
        }
    }
    if many {
        let first = dice.below(GENERAL - count + 1);
        put(&mut word, 8, 4, first as u64);
        put(&mut word, 12, 4, (first + dice.below(count)) as u64);
    }
    if row.does == Does::XorBytes {
        let place = bits(word, 16, 16);
        put(&mut word, 32, 16, place);
    }
    // By a number that is positive.
    if matches!(row.does, Does::Divide(..)) {
        let by = bits(word, 28, 4);
        before.push(made("nihf", &[(8, 4, by), (16, 32, 0)]));
        before.push(made("nilf", &[(8, 4, by), (16, 32, 0x7fff_ffff)]));
        before.push(made("oill", &[(8, 4, by), (16, 16, 1)]));
    }
    before.push((word, row.len()));
    before.extend(behind);
    before
}

type Insns = Vec<(u64, u8)>;

fn function(
    rows: &[(&'static Row, usize)],
    dice: &mut Dice,
    met: &mut BTreeSet<&'static str>,
) -> Insns {
    // A condition code to begin with, and registers of vectors.
    let mut words = vec![made("ltr", &[])];
    words.extend((0..VECTORS).map(|i| made("vlvgp", &[(8, 4, i), (12, 4, i), (16, 4, i + 1)])));
    while words.len() < INSTRUCTIONS {
        let (row, size) = rows[dice.below(rows.len())];
        let more = instructions(row, size, dice);
        let known = |(word, len): &(u64, u8)| {
            decoder().decode(&word.to_be_bytes()[2..2 + usize::from(*len)], 0).is_ok()
        };
        if more.iter().all(known) {
            met.insert(row.name);
            words.extend(more);
        }
    }
    // What is left of vectors and the condition code is looked at.
    words
        .extend((0..2).map(|i| made("vst", &[(8, 4, i), (16, 4, POINTER), (20, 12, 64 + 16 * i)])));
    words.push(made("std", &[(8, 4, 2), (16, 4, POINTER), (20, 12, 0)]));
    words.push(made("ipm", &[(24, 4, 9)]));
    words
}

/// The text of a function, as lifting has it.
fn listing(words: &Insns) -> String {
    let (mut text, mut at) = (String::new(), 0);
    for (word, len) in words {
        let insn = decoder().decode(&word.to_be_bytes()[2..2 + usize::from(*len)], at);
        let insn = insn.expect("is known");
        let line = insn.text(decoder().style(), &|to| format!("L{to}"));
        text.push_str(&format!("L{at}: {line}\n"));
        at += u64::from(*len);
    }
    text
}

/// Each place of memory, with its size.
fn places() -> impl Iterator<Item = (usize, usize)> {
    PLACES
        .into_iter()
        .flat_map(|(from, count, size)| (0..count).map(move |i| (from + i * size, size)))
}

fn after(text: &str, before: &[u8]) -> Vec<u8> {
    let mut m = Machine::default();
    let memory = 16 * crate::seq::BASE;
    let (registers, bytes) = before.split_at(8 * GENERAL);
    for (at, size) in places() {
        let value = bytes[at..at + size].iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
        m.poke(memory + at as u128, size as u8, value);
    }
    for (i, value) in registers.chunks(8).enumerate() {
        let value = u64::from_be_bytes(value.try_into().expect("eight bytes"));
        m.set(&format!("r{i}"), value.into());
    }
    m.set(&format!("r{POINTER}"), memory);
    m.run(&S390x, text);
    let general = (0..GENERAL).map(|r| m.reg(&format!("r{r}")) as u64);
    let mut out: Vec<u8> = general.flat_map(u64::to_be_bytes).collect();
    for (at, size) in places() {
        let value = m.peek(memory + at as u128, size as u8);
        out.extend(&value.to_be_bytes()[16 - size..]);
    }
    out
}

/// A static program that puts each state through its function, and writes all of them.
fn program(functions: &[Insns], states: &[u8]) -> Vec<u8> {
    let whole = |name| made(name, &[(8, 4, 0), (12, 4, GENERAL as u64 - 1), (16, 4, STATE)]);
    let constant = |reg: u64, n: u64| made("llilf", &[(8, 4, reg), (16, 32, n)]);
    let add = |to: u64, n: usize| made("la", &[(8, 4, to), (16, 4, STATE), (20, 12, n as u64)]);
    let length = |f: &Insns| f.iter().map(|(_, len)| usize::from(*len)).sum::<usize>();
    let count = functions.iter().map(|f| length(f) + 20).sum::<usize>() + 64;
    let data = (BASE + (HEADER + count) as u64).next_multiple_of(4096);
    let mut code: Insns = vec![constant(STATE, data)];
    for function in functions {
        code.push(whole("lmg"));
        code.push(add(POINTER, 8 * GENERAL));
        code.extend(function);
        code.push(whole("stmg"));
        code.push(add(STATE, BLOCK));
    }
    // write(1, data, all), exit(0).
    let call = |n: u64| (placed(0x0a, 0, 8) | placed(n, 8, 8), 2);
    code.extend([constant(2, 1), constant(3, data), constant(4, states.len() as u64), call(4)]);
    code.extend([constant(2, 0), call(1)]);

    let mut file = Vec::new();
    file.extend(b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0");
    file.extend([2u16, 22].into_iter().flat_map(u16::to_be_bytes));
    file.extend(1u32.to_be_bytes());
    file.extend([BASE + HEADER as u64, 64, 0].into_iter().flat_map(u64::to_be_bytes));
    file.extend(0u32.to_be_bytes());
    file.extend([64u16, 56, 1, 64, 0, 0].into_iter().flat_map(u16::to_be_bytes));
    // One segment that can be read, written and run.
    file.extend([1u32, 7].into_iter().flat_map(u32::to_be_bytes));
    let size = data - BASE + states.len() as u64;
    file.extend([0, BASE, BASE, size, size, 0x1000].into_iter().flat_map(u64::to_be_bytes));
    for (word, len) in code {
        file.extend(&word.to_be_bytes()[2..2 + usize::from(len)]);
    }
    file.resize((data - BASE) as usize, 0);
    file.extend(states);
    file
}

#[test]
fn straight_functions_agree_with_qemu() {
    if !here("qemu-s390x") {
        return;
    }
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let count: usize = asked.unwrap_or(5000);
    let mut dice = Dice(7 + count as u64);
    let rows: Vec<(&Row, usize)> =
        ROWS.iter().filter_map(|row| Some((row, accessed(row)?))).collect();
    let mut met = BTreeSet::new();
    let functions: Vec<Insns> = (0..count).map(|_| function(&rows, &mut dice, &mut met)).collect();
    let mut states = Vec::with_capacity(count * BLOCK);
    for _ in 0..count * BLOCK / 8 {
        states.extend(value(&mut dice).to_be_bytes());
    }
    let output = crate::emulated::output(&["qemu-s390x"], &program(&functions, &states));
    assert_eq!(output.len(), states.len());
    let mut wrong = Vec::new();
    let both = states.chunks(BLOCK).zip(output.chunks(BLOCK));
    for (words, (before, theirs)) in functions.iter().zip(both) {
        let text = listing(words);
        let ours = after(&text, before);
        if ours != theirs {
            let at = (0..BLOCK).filter(|i| ours[*i] != theirs[*i]).collect::<Vec<_>>();
            wrong.push(format!("{text} {at:?}\n {before:02x?}\n {theirs:02x?}\n {ours:02x?}"));
        }
    }
    let first = wrong.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{first}", wrong.len());
    assert!(count < 1000 || met.len() == rows.len(), "only {met:?}");
}
