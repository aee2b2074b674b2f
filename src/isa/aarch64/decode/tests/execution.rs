//! The meaning of single instructions against a processor: random registers, flags and memory go
//! through an instruction under qemu-aarch64 and through its micro-ops. `PROPTEST_CASES` asks for more of
//! them than usual.

use super::*;
use crate::seq::Event;
use litmake_needs::here;
use std::collections::BTreeSet;

/// General and vector registers that instructions may use; others hold addresses.
const GENERAL: usize = 16;
const VECTORS: usize = 8;
/// Bytes of one state: general registers, vector registers, flags.
const STATE: usize = 8 * GENERAL + 16 * VECTORS + 8;
const BASE: u64 = 0x40_0000;
const HEADER: usize = 64 + 56;
/// Bytes of memory around the address in [`POINTER`], as far as short offsets reach.
const WINDOW: usize = 576;
const POINTER: usize = 15;

/// Whether random operands may make it give a NaN, which has no value here.
fn may_be_no_number(d: &Decoded) -> bool {
    let scaled = d.operands.iter().any(|o| matches!(o, Operand::Imm(_)));
    match d.mnemonic.as_str() {
        "FADD" | "FSUB" | "FMUL" | "FDIV" | "FNMUL" | "FCVT" => true,
        "FCVTZS" | "FCVTZU" => scaled,
        _ => false,
    }
}

struct Case {
    word: u32,
    text: String,
    before: State,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    general: [u64; GENERAL],
    vectors: [u128; VECTORS],
    flags: u64,
    /// Empty where the instruction does not access any.
    memory: Vec<u8>,
}

impl State {
    fn random(dice: &mut Dice) -> State {
        let special = [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0x8000_0000, 0x7fff_ffff, 0xff80];
        let mut any = || match dice.roll() % 4 {
            0 => special[dice.roll() as usize % special.len()],
            1 => dice.roll() % 70,
            _ => dice.roll(),
        };
        State {
            general: std::array::from_fn(|_| any()),
            vectors: std::array::from_fn(|_| u128::from(any()) << 64 | u128::from(any())),
            flags: any() & 0xf000_0000,
            memory: Vec::new(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(STATE);
        self.general.iter().for_each(|n| out.extend(n.to_le_bytes()));
        self.vectors.iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(self.flags.to_le_bytes());
        out
    }

    fn from(bytes: &[u8], memory: &[u8]) -> State {
        let general = |i: usize| u64::from_le_bytes(bytes[8 * i..][..8].try_into().unwrap());
        let vector =
            |i: usize| u128::from_le_bytes(bytes[8 * GENERAL + 16 * i..][..16].try_into().unwrap());
        State {
            general: std::array::from_fn(general),
            vectors: std::array::from_fn(vector),
            flags: general(GENERAL + 2 * VECTORS),
            memory: memory.to_vec(),
        }
    }

    /// The state after the micro-ops of an instruction; `None` if they access other memory, or if an access
    /// must be aligned and is not.
    fn after(&self, text: &str, aligned: bool) -> Option<State> {
        let mut m = Machine::default();
        // No store-conditional has a reservation.
        m.fail = true;
        let start = u128::from(self.general[POINTER]).wrapping_sub(WINDOW as u128 / 2);
        for (i, byte) in self.memory.iter().enumerate() {
            m.poke(start + i as u128, 1, (*byte).into());
        }
        for (i, n) in self.general.iter().enumerate() {
            m.set(&format!("X{i}"), (*n).into());
        }
        for (i, n) in self.vectors.iter().enumerate() {
            m.set(&format!("V{i}"), *n);
        }
        for (i, flag) in ["N", "Z", "C", "V"].iter().enumerate() {
            m.set(&format!("PSTATE.{flag}"), (self.flags >> (31 - i) & 1).into());
        }
        // Reading the flags keeps what writes them.
        m.run(&AArch64 { lse2: false }, &format!("{text}\nMRS X28,NZCV"));
        let window = start..start + self.memory.len() as u128;
        let inside = |e: &Event| {
            let (addr, size) = (e.addr, u128::from(e.size));
            let there = window.contains(&addr) && addr + size <= window.end;
            (size == 0 || there) && (!aligned || size == 0 || addr % size == 0)
        };
        m.events.iter().all(inside).then(|| State {
            general: std::array::from_fn(|i| m.reg(&format!("X{i}")) as u64),
            vectors: std::array::from_fn(|i| m.reg(&format!("V{i}"))),
            flags: m.reg("X28") as u64,
            memory: window.map(|at| m.peek(at, 1) as u8).collect(),
        })
    }
}

/// Whether accesses must be aligned: all but the plain ones.
fn wants_alignment(text: &str) -> bool {
    const PLAIN: [&str; 10] =
        ["LDR", "LDP", "LDN", "LD1", "LD2", "LD3", "LD4", "STR", "STP", "STN"];
    !PLAIN.iter().any(|p| text.starts_with(p))
}

/// Whether qemu 7 does not know it: LSE128 and RCPC3, the latter in other forms of older instructions.
fn too_new(d: &Decoded) -> bool {
    const NEW: [&str; 10] =
        ["LDIAPP", "STILP", "LDAPP", "STLP", "LDAP1", "STL1", "LDCLRP", "LDSETP", "SWPP", "LDAP"];
    let name = d.mnemonic.as_str();
    let steps = d.operands.iter().any(|o| matches!(o, Operand::Mem(m) if m.update != Update::None));
    let vector = matches!(d.operands.first(), Some(Operand::Reg(r)) if !r.starts_with(['X', 'W']));
    let pairs = ["LDCLRP", "LDSETP", "SWPP"].iter().any(|p| name.starts_with(p));
    NEW.contains(&name)
        || pairs
        || (matches!(name, "LDAPR" | "STLR") && steps)
        || (matches!(name, "LDAPUR" | "STLUR") && vector)
}

/// Accesses whose registers overlap as the architecture does not define.
fn undefined(d: &Decoded) -> bool {
    let number = |o: &Operand| match o {
        Operand::Reg(r) if r.starts_with(['X', 'W']) => r.get(1..).and_then(|n| n.parse().ok()),
        _ => None::<usize>,
    };
    let regs: Vec<&Operand> = d.operands.iter().filter(|o| matches!(o, Operand::Reg(_))).collect();
    let steps = d.operands.iter().any(|o| matches!(o, Operand::Mem(m) if m.update != Update::None));
    let name = d.mnemonic.as_str();
    let same = |i: usize, j: usize| regs.get(i).is_some() && regs.get(i) == regs.get(j);
    let status = name.starts_with("STX") || name.starts_with("STLX");
    let status_again = || {
        let first = regs.first().and_then(|o| number(o));
        first == Some(POINTER) || regs[1..].iter().any(|o| number(o) == first)
    };
    (steps && regs.iter().any(|o| number(o) == Some(POINTER)))
        || (name.starts_with("LD") && name.contains('P') && same(0, 1))
        || (status && status_again())
}

/// An instruction on registers that the states have, and on memory only where `memory` says,
/// without jumps.
fn usable(word: u32, memory: bool) -> Option<String> {
    let decoded = decoder().decode(&word.to_le_bytes(), 0).ok()?;
    // qemu 7 lacks FEAT_CSSC, and signs addresses and strips signatures, which here is nothing.
    const NEW: [&str; 13] = [
        "SMAX", "SMIN", "UMAX", "UMIN", "CTZ", "CNT", "ABS", "XPACI", "XPACD", "PACIA", "PACIB",
        "AUTIA", "AUTIB",
    ];
    let vector = matches!(decoded.operands.first(), Some(Operand::Reg(r)) if r.starts_with('V'));
    if outside(&decoded)
        || may_be_no_number(&decoded)
        || (NEW.contains(&decoded.mnemonic.as_str()) && !vector)
    {
        return None;
    }
    let known = |name: &str| {
        let number = |n: &str| n.split('.').next().and_then(|n| n.parse::<usize>().ok());
        matches!(name, "XZR" | "WZR")
            || match name.split_at_checked(1) {
                Some(("X" | "W", n)) => number(n).is_some_and(|n| n < GENERAL),
                Some((_, n)) => number(n).is_some_and(|n| n < VECTORS),
                None => false,
            }
    };
    let fine = |o: &Operand| match o {
        Operand::Reg(name) => known(name),
        // `{V0.2D,V1.2D}[1]`
        Operand::Text(list) if list.starts_with('{') => {
            list.trim_matches(['{', '}']).split(['}', ',']).all(|v| v.starts_with('[') || known(v))
        }
        Operand::Imm(_) | Operand::Text(_) => true,
        Operand::Code(_) => false,
        Operand::Mem(m) => {
            memory
                && m.base.as_deref().is_some_and(|b| b == format!("X{POINTER}"))
                && m.index.as_deref().is_none_or(|i| known(i.split(',').next().unwrap_or(i)))
        }
    };
    if memory && (too_new(&decoded) || undefined(&decoded)) {
        return None;
    }
    // Half-precision moves are an extension too.
    let half = |o: &Operand| matches!(o, Operand::Reg(r) if r.starts_with('H'));
    let moves_half = decoded.mnemonic.starts_with('F') && decoded.operands.iter().any(half);
    let usable = decoded.operands.iter().all(fine) && !moves_half;
    usable.then(|| decoded.text(decoder().style(), &|at| at.to_string()))
}

/// Where the parts of a program with so many cases are: input, memory, output.
fn layout(cases: usize, window: usize) -> (u64, u64, u64) {
    let each = (GENERAL / 2 + VECTORS / 2 + 2) * 2 + 1;
    let input = BASE + (HEADER + 4 * (each * cases + 32)) as u64;
    let memory = (input + (STATE * cases) as u64).next_multiple_of(16);
    (input, memory, memory + (window * cases) as u64)
}

/// A static program that puts each state through its instruction and writes the memory and what
/// came out.
fn program(cases: &[Case], window: usize) -> Vec<u8> {
    const IN: u32 = 29;
    const OUT: u32 = 30;
    let (input, memory, output) = layout(cases.len(), window);
    let results = (STATE * cases.len()) as u64;
    let mut code: Vec<u32> = Vec::new();
    let constant = |code: &mut Vec<u32>, reg: u32, n: u64| {
        for (i, op) in [0xd280_0000_u32, 0xf2a0_0000].iter().enumerate() {
            code.push(op | ((n >> (16 * i)) as u32 & 0xffff) << 5 | reg);
        }
    };
    constant(&mut code, IN, input);
    constant(&mut code, OUT, output);
    // LDP, STP, LDR, STR with a post-index; MSR and MRS of NZCV through X28.
    let pairs = |code: &mut Vec<u32>, op: u32, count: usize, base: u32| {
        for i in (0..count as u32).step_by(2) {
            code.push(op | 2 << 15 | (i + 1) << 10 | base << 5 | i);
        }
    };
    for case in cases {
        pairs(&mut code, 0xa8c0_0000, GENERAL, IN);
        pairs(&mut code, 0xacc0_0000, VECTORS, IN);
        code.extend([0xf840_0400 | 8 << 12 | IN << 5 | 28, 0xd51b_4200 | 28, case.word]);
        code.push(0xd53b_4200 | 28);
        pairs(&mut code, 0xa880_0000, GENERAL, OUT);
        pairs(&mut code, 0xac80_0000, VECTORS, OUT);
        code.push(0xf800_0400 | 8 << 12 | OUT << 5 | 28);
    }
    // write(1, memory, all), exit(0).
    constant(&mut code, 0, 1);
    constant(&mut code, 1, memory);
    constant(&mut code, 2, output - memory + results);
    constant(&mut code, 8, 64);
    code.push(0xd400_0001);
    constant(&mut code, 0, 0);
    constant(&mut code, 8, 93);
    code.push(0xd400_0001);

    let mut file = Vec::with_capacity((output - BASE) as usize);
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [2u16, 183] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for n in [BASE + HEADER as u64, 64, 0] {
        file.extend(n.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // One segment that can be read, written and run.
    for n in [1u32, 7] {
        file.extend(n.to_le_bytes());
    }
    let filled = output - BASE;
    for n in [0, BASE, BASE, filled, filled + results, 0x1000] {
        file.extend(n.to_le_bytes());
    }
    code.iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.resize((input - BASE) as usize, 0);
    cases.iter().for_each(|case| file.extend(case.before.bytes()));
    file.resize((memory - BASE) as usize, 0);
    cases.iter().for_each(|case| file.extend(&case.before.memory));
    file
}

/// Compares on random instructions of the rows.
fn compare(groups: &[&'static [Row]], window: usize) {
    let mut met = BTreeSet::new();
    if !here("qemu-aarch64") {
        return;
    }
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let count: usize = asked.unwrap_or(4000);
    let (_, memory, _) = layout(count, window);
    let mut dice = Dice(7 + count as u64);
    let rows: Vec<&Row> = groups.iter().flat_map(|rows| rows.iter()).collect();
    let mut cases: Vec<Case> = Vec::new();
    let mut expected = Vec::new();
    while cases.len() < count {
        let row = rows[dice.roll() as usize % rows.len()];
        let mut word = dice.word(row);
        // Registers with high numbers would be refused, and long offsets.
        let mut free = |bits: u32, odds: u64| {
            if !dice.roll().is_multiple_of(odds) {
                word &= !bits | row.pattern.mask;
            }
        };
        [0, 5, 10, 16].iter().for_each(|at| free(1 << (at + 4), 4));
        if window != 0 {
            free(0x003e_0000, 3);
            word = word & !(0x1f << 5) | (POINTER as u32) << 5;
        }
        let Some(text) = usable(word, window != 0) else { continue };
        let mut before = State::random(&mut dice);
        if window != 0 {
            before.memory = (0..window).map(|_| dice.roll() as u8).collect();
            let start = memory + (window * cases.len()) as u64;
            before.general[POINTER] = start + window as u64 / 2;
            // A comparison with memory holds now and then.
            let at = window / 2;
            let there = u64::from_le_bytes(before.memory[at..][..8].try_into().unwrap());
            before.general[dice.roll() as usize % 4] = there;
        }
        let Some(after) = before.after(&text, wants_alignment(&text)) else { continue };
        met.insert(text.split(' ').next().unwrap_or("").to_string());
        expected.push(after);
        cases.push(Case { word, text, before });
    }
    let emulator = ["qemu-aarch64", "-cpu", "max"];
    let output = crate::emulated::output(&emulator, &program(&cases, window));
    assert_eq!(output.len(), (window + STATE) * cases.len());
    let (memory, states) = output.split_at(window * cases.len());
    let mut wrong = Vec::new();
    for (i, (case, ours)) in cases.iter().zip(&expected).enumerate() {
        let theirs = State::from(&states[STATE * i..][..STATE], &memory[window * i..][..window]);
        if theirs != *ours {
            let Case { word, text, before } = case;
            wrong.push(format!("{word:08x} {text}\n {before:x?}\n {theirs:x?}\n {ours:x?}"));
        }
    }
    let first = wrong.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{first}", wrong.len());
    assert!(met.len() > 60, "only {met:?}");
}

#[test]
fn arithmetic_agrees_with_qemu() {
    compare(&[imm::ROWS, reg::ROWS, simd::ROWS, fp::ROWS], 0);
}

#[test]
fn accesses_agree_with_qemu() {
    compare(&[mem::ROWS, simd_mem::ROWS], WINDOW);
}
