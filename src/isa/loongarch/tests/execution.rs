//! The meaning of instructions against a processor: random straight functions, with branches over single
//! instructions, run under qemu-loongarch64 and through their micro-ops. `PROPTEST_CASES` asks for another
//! number of them.

use super::*;
use crate::loongarch::table::{Does, Field, Op2, ROWS, Row};
use litmake_needs::here;
use std::collections::BTreeSet;

/// Functions use registers from 12 up, and memory behind the address in register 20.
const FIRST: u32 = 12;
const GENERAL: usize = 8;
const POINTER: u32 = 20;
/// The register with the address of a function's state: the registers, then the memory.
const STATE: u32 = 23;
const MEMORY: usize = 64;
const BLOCK: usize = 8 * GENERAL + MEMORY;
const INSTRUCTIONS: usize = 12;
const BASE: u64 = 0x40_0000;
const HEADER: usize = 64 + 56;

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() >> 11) as usize % n
    }

    fn value(&mut self) -> u64 {
        let special = [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0x8000_0000, 0x7fff_ffff, 0xff80];
        match self.below(4) {
            0 => special[self.below(special.len())],
            1 => self.roll() % 70,
            _ => self.roll(),
        }
    }

    /// A register; now and then the one that is 0.
    fn register(&mut self) -> u32 {
        if self.below(10) == 0 { 0 } else { FIRST + self.below(GENERAL) as u32 }
    }
}

/// Whether qemu 7 knows it, and it goes on to what follows.
fn is_plain(row: &Row) -> bool {
    match row.does {
        Does::Trap | Does::Relative | Does::Jump(_) | Does::JumpRegister | Does::Vector(_) => false,
        Does::Cas(..) | Does::StorePair | Does::LoadLinked(_, true) => false,
        Does::StoreConditional(..) => false,
        Does::Amo(_, bytes, _) => bytes >= 4,
        _ => true,
    }
}

fn named(name: &str) -> &'static Row {
    ROWS.iter().find(|row| row.name == name).expect(name)
}

fn put(word: &mut u32, low: u32, bits: u32, value: u32) {
    let mask = ((1 << bits) - 1) << low;
    *word = *word & !mask | value << low & mask;
}

/// An instruction of a row with random operands that are defined, and what has to come before it.
fn instructions(row: &'static Row, dice: &mut Dice) -> Vec<u32> {
    let mut word = row.with(dice.roll() as u32);
    let [rd, rj, rk] = [(); 3].map(|()| dice.register());
    let mut before = Vec::new();
    for field in row.fields {
        match field {
            Field::Rd => put(&mut word, 0, 5, rd),
            Field::Rj => put(&mut word, 5, 5, rj),
            Field::Rk => put(&mut word, 10, 5, rk),
            Field::Base => put(&mut word, 5, 5, POINTER),
            Field::Mem12 => {
                put(&mut word, 5, 5, POINTER);
                put(&mut word, 10, 12, dice.below(MEMORY - 7) as u32);
            }
            Field::Mem14 => {
                put(&mut word, 5, 5, POINTER);
                put(&mut word, 10, 14, 2 * dice.below(MEMORY / 8) as u32);
            }
            Field::Indexed => {
                put(&mut word, 5, 5, POINTER);
                put(&mut word, 10, 5, rk);
                before.push(named("andi").value | 0x38 << 10 | rk << 5 | rk);
            }
            // Over the next instruction.
            Field::Near => put(&mut word, 10, 16, 2),
            Field::Far => {
                put(&mut word, 0, 5, 0);
                put(&mut word, 10, 16, 2);
            }
            _ => {}
        }
    }
    match row.does {
        // Of words that are sign-extended, by what is not 0.
        Does::Op2(Op2::Divide(_), bits) => {
            let rk = FIRST + rk % GENERAL as u32;
            put(&mut word, 10, 5, rk);
            before.push(named("ori").value | 1 << 10 | rk << 5 | rk);
            if bits == 32 {
                before.extend([rj, rk].map(|r| named("addi.w").value | r << 5 | r));
            }
            before.push(word);
        }
        Does::LoadLinked(bytes, _) => {
            let store = named(if bytes == 4 { "sc.w" } else { "sc.d" });
            let rk = FIRST + rk % GENERAL as u32;
            before.extend([word, store.value | word & 0x00ff_ffe0 | rk]);
        }
        Does::Branch(..) | Does::BranchZero(_) => {
            before.extend([word, named("addi.d").value | 1 << 10 | FIRST << 5 | FIRST]);
        }
        // What is read may not go where the operand is.
        Does::Amo(..) if rd == rk && rd != 0 => before.push(named("andi").value),
        _ => before.push(word),
    }
    before
}

/// A function's instructions.
fn function(rows: &[&'static Row], dice: &mut Dice, met: &mut BTreeSet<&'static str>) -> Vec<u32> {
    let mut words = Vec::new();
    while words.len() < INSTRUCTIONS {
        let row = rows[dice.below(rows.len())];
        let more = instructions(row, dice);
        let is_known = more.iter().all(|word| decoder().decode(&word.to_le_bytes(), 0).is_ok());
        if is_known {
            met.insert(row.name);
            words.extend(more);
        }
    }
    // The last one may be skipped.
    words.push(named("andi").value);
    words
}

/// The text of a function, as lifting has it.
fn listing(words: &[u32]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        let at = 4 * i as u64;
        let insn = decoder().decode(&word.to_le_bytes(), at).expect("is known");
        let line = insn.text(decoder().style(), &|to| format!("L{to}"));
        text.push_str(&format!("L{at}: {line}\n"));
    }
    text
}

fn after(text: &str, before: &[u8]) -> Vec<u8> {
    let mut m = Machine::default();
    let memory = 16 * crate::seq::BASE;
    for (i, byte) in before.iter().enumerate().skip(8 * GENERAL) {
        m.poke(memory + (i - 8 * GENERAL) as u128, 1, (*byte).into());
    }
    for (i, value) in before[..8 * GENERAL].chunks(8).enumerate() {
        let value = u64::from_le_bytes(value.try_into().expect("eight bytes"));
        m.set(&format!("$r{}", FIRST as usize + i), value.into());
    }
    m.set(&format!("$r{POINTER}"), memory);
    m.run(&LoongArch, text);
    let general = (FIRST..FIRST + GENERAL as u32).map(|r| m.reg(&format!("$r{r}")) as u64);
    let mut out: Vec<u8> = general.flat_map(u64::to_le_bytes).collect();
    out.extend((0..MEMORY).map(|i| m.peek(memory + i as u128, 1) as u8));
    out
}

/// A static program that puts each state through its function, and writes all of them.
fn program(functions: &[Vec<u32>], states: &[u8]) -> Vec<u8> {
    let row = |name: &str, operands: u32| named(name).value | operands;
    let entries = |name: &'static str| {
        (0..GENERAL as u32).map(move |i| row(name, (8 * i) << 10 | STATE << 5 | (FIRST + i)))
    };
    let constant = |reg: u32, n: u64| {
        let n = n as u32;
        [row("lu12i.w", (n >> 12) << 5 | reg), row("ori", (n & 0xfff) << 10 | reg << 5 | reg)]
    };
    let count = functions.iter().map(|f| f.len() + 2 * GENERAL + 2).sum::<usize>() + 16;
    let data = (BASE + (HEADER + 4 * count) as u64).next_multiple_of(64);
    let mut code: Vec<u32> = constant(STATE, data).to_vec();
    for function in functions {
        code.extend(entries("ld.d"));
        code.push(row("addi.d", (8 * GENERAL as u32) << 10 | STATE << 5 | POINTER));
        code.extend(function);
        code.extend(entries("st.d"));
        code.push(row("addi.d", (BLOCK as u32) << 10 | STATE << 5 | STATE));
    }
    // write(1, data, all), exit(0).
    for (reg, n) in [(4, 1), (5, data), (6, states.len() as u64), (11, 64)] {
        code.extend(constant(reg, n));
    }
    code.push(row("syscall", 0));
    code.extend(constant(4, 0).into_iter().chain(constant(11, 93)));
    code.push(row("syscall", 0));

    let mut file = Vec::new();
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    file.extend([2u16, 258].into_iter().flat_map(u16::to_le_bytes));
    file.extend(1u32.to_le_bytes());
    file.extend([BASE + HEADER as u64, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    // The convention of calls, with 64 bits of floating point.
    file.extend(0x43u32.to_le_bytes());
    file.extend([64u16, 56, 1, 64, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    // One segment that can be read, written and run.
    file.extend([1u32, 7].into_iter().flat_map(u32::to_le_bytes));
    let size = data - BASE + states.len() as u64;
    file.extend([0, BASE, BASE, size, size, 0x1_0000].into_iter().flat_map(u64::to_le_bytes));
    file.extend(code.into_iter().flat_map(u32::to_le_bytes));
    file.resize((data - BASE) as usize, 0);
    file.extend(states);
    file
}

#[test]
fn straight_functions_agree_with_qemu() {
    if !here("qemu-loongarch64") {
        return;
    }
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let count: usize = asked.unwrap_or(5000);
    let mut dice = Dice(7 + count as u64);
    let rows: Vec<&Row> = ROWS.iter().filter(|row| is_plain(row)).collect();
    let mut met = BTreeSet::new();
    let functions: Vec<Vec<u32>> =
        (0..count).map(|_| function(&rows, &mut dice, &mut met)).collect();
    let mut states = Vec::with_capacity(count * BLOCK);
    for _ in 0..count * BLOCK / 8 {
        states.extend(dice.value().to_le_bytes());
    }
    let output = crate::emulated::output(&["qemu-loongarch64"], &program(&functions, &states));
    assert_eq!(output.len(), states.len());
    let mut wrong = Vec::new();
    let both = states.chunks(BLOCK).zip(output.chunks(BLOCK));
    for (words, (before, theirs)) in functions.iter().zip(both) {
        let text = listing(words);
        let ours = after(&text, before);
        if ours != theirs {
            wrong.push(format!("{text} {before:02x?}\n {theirs:02x?}\n {ours:02x?}"));
        }
    }
    let first = wrong.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{first}", wrong.len());
    assert!(count < 1000 || met.len() == rows.len(), "only {met:?}");
}
