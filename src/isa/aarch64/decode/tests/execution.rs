//! The meaning of single instructions against a processor: random registers and flags go through
//! an instruction under qemu-aarch64 and through its micro-ops. Without qemu nothing is compared,
//! which the test says. `PROPTEST_CASES` asks for more of them than usual.

use super::*;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// General and vector registers that instructions may use; others hold addresses.
const GENERAL: usize = 16;
const VECTORS: usize = 8;
/// Bytes of one state: general registers, vector registers, flags.
const STATE: usize = 8 * GENERAL + 16 * VECTORS + 8;
const BASE: u64 = 0x40_0000;
const HEADER: usize = 64 + 56;

#[derive(Clone, Debug, PartialEq)]
struct State {
    general: [u64; GENERAL],
    vectors: [u128; VECTORS],
    flags: u64,
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
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(STATE);
        self.general.iter().for_each(|n| out.extend(n.to_le_bytes()));
        self.vectors.iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(self.flags.to_le_bytes());
        out
    }

    fn from(bytes: &[u8]) -> State {
        let general = |i: usize| u64::from_le_bytes(bytes[8 * i..][..8].try_into().unwrap());
        let vector =
            |i: usize| u128::from_le_bytes(bytes[8 * GENERAL + 16 * i..][..16].try_into().unwrap());
        State {
            general: std::array::from_fn(general),
            vectors: std::array::from_fn(vector),
            flags: general(GENERAL + 2 * VECTORS),
        }
    }

    /// What the micro-ops make of it.
    fn after(&self, text: &str) -> State {
        let mut m = Machine::default();
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
        State {
            general: std::array::from_fn(|i| m.reg(&format!("X{i}")) as u64),
            vectors: std::array::from_fn(|i| m.reg(&format!("V{i}"))),
            flags: m.reg("X28") as u64,
        }
    }
}

/// An instruction on registers that the states have, without memory and without jumps.
fn usable(word: u32) -> Option<String> {
    let decoded = decoder().decode(&word.to_le_bytes(), 0).ok()?;
    // qemu 7 lacks FEAT_CSSC.
    const NEW: [&str; 7] = ["SMAX", "SMIN", "UMAX", "UMIN", "CTZ", "CNT", "ABS"];
    if outside(&decoded) || NEW.contains(&decoded.mnemonic.as_str()) {
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
        Operand::Imm(_) | Operand::Text(_) => true,
        Operand::Code(_) | Operand::Mem(_) => false,
    };
    // Half-precision moves are an extension too.
    let half = |o: &Operand| matches!(o, Operand::Reg(r) if r.starts_with('H'));
    let moves_half = decoded.mnemonic.starts_with('F') && decoded.operands.iter().any(half);
    let usable = decoded.operands.iter().all(fine) && !moves_half;
    usable.then(|| decoded.text(decoder().style(), &|at| at.to_string()))
}

/// A static program that puts each state through its instruction and writes what came out.
fn program(cases: &[(u32, State)]) -> Vec<u8> {
    const IN: u32 = 29;
    const OUT: u32 = 30;
    let each = (GENERAL / 2 + VECTORS / 2 + 2) * 2 + 1;
    let length = HEADER + 4 * (each * cases.len() + 32);
    let input = BASE + length as u64;
    let output = input + (STATE * cases.len()) as u64;
    let total = (STATE * cases.len()) as u64;
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
    for (word, _) in cases {
        pairs(&mut code, 0xa8c0_0000, GENERAL, IN);
        pairs(&mut code, 0xacc0_0000, VECTORS, IN);
        code.extend([0xf840_0400 | 8 << 12 | IN << 5 | 28, 0xd51b_4200 | 28, *word]);
        code.push(0xd53b_4200 | 28);
        pairs(&mut code, 0xa880_0000, GENERAL, OUT);
        pairs(&mut code, 0xac80_0000, VECTORS, OUT);
        code.push(0xf800_0400 | 8 << 12 | OUT << 5 | 28);
    }
    // write(1, output, total), exit(0).
    constant(&mut code, 0, 1);
    constant(&mut code, 1, output);
    constant(&mut code, 2, total);
    constant(&mut code, 8, 64);
    code.push(0xd400_0001);
    constant(&mut code, 0, 0);
    constant(&mut code, 8, 93);
    code.push(0xd400_0001);

    let mut file = Vec::with_capacity(length);
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
    for n in [0, BASE, BASE, length as u64 + total, length as u64 + 2 * total, 0x1000] {
        file.extend(n.to_le_bytes());
    }
    code.iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.resize(length, 0);
    cases.iter().for_each(|(_, state)| file.extend(state.bytes()));
    file
}

#[test]
fn meaning_agrees_with_qemu() {
    if Command::new("qemu-aarch64").arg("--version").output().is_err() {
        eprintln!("skipped: qemu-aarch64 (Debian's qemu-user) is not installed");
        return;
    }
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let count: usize = asked.unwrap_or(4000);
    let mut dice = Dice(7 + count as u64);
    let rows: Vec<&Row> =
        [imm::ROWS, reg::ROWS, simd::ROWS, fp::ROWS].iter().flat_map(|rows| rows.iter()).collect();
    let mut cases = Vec::new();
    let mut texts = Vec::new();
    while cases.len() < count {
        let row = rows[dice.roll() as usize % rows.len()];
        let mut word = dice.word(row);
        // Registers with high numbers would be refused.
        for (at, high) in [(0, 4), (5, 4), (10, 4), (16, 4)] {
            if dice.roll() % 4 != 0 {
                word &= !(1 << (at + high)) | row.mask;
            }
        }
        if let Some(text) = usable(word) {
            cases.push((word, State::random(&mut dice)));
            texts.push(text);
        }
    }
    let dir = tempfile::tempdir().expect("a scratch folder");
    let path = dir.path().join("cases");
    std::fs::write(&path, program(&cases)).expect("the program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let output =
        Command::new("qemu-aarch64").args(["-cpu", "max"]).arg(&path).output().expect("qemu runs");
    assert!(output.status.success(), "{:?} {}", output.status, output.stdout.len());
    assert_eq!(output.stdout.len(), STATE * cases.len());
    let mut wrong = Vec::new();
    for (((word, before), text), bytes) in cases.iter().zip(&texts).zip(output.stdout.chunks(STATE))
    {
        let (expected, got) = (State::from(bytes), before.after(text));
        if expected != got {
            wrong.push(format!("{word:08x} {text}\n {before:x?}\n {expected:x?}\n {got:x?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}
