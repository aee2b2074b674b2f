//! s390x: encodings, what instructions compute, and which events they make.

mod execution;

use super::S390x;
use super::decode::decoder;
use super::table::{Does, Field, ROWS, Row, placed};
use crate::machine::{Decoded, Flow, Operand};
use crate::seq::{BASE, Machine, What};
use litmake_needs::here;
use litmake_ops::tag;
use std::process::Command;

/// Runs with memory and registers prepared; r10 and r11 hold the addresses of two locations.
fn run(text: &str, prepare: impl FnOnce(&mut Machine)) -> Machine {
    let mut m = Machine::default();
    m.set("r10", 16 * BASE);
    m.set("r11", 17 * BASE);
    prepare(&mut m);
    m.run(&S390x, text);
    m
}

fn error(text: &str) -> String {
    Machine::default().code(&S390x, text).expect_err(text)
}

/// Random bits, the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() >> 11) as usize % n
    }
}

/// An encoding of a row with random bits for its operands.
fn encoding(row: &Row, dice: &mut Dice) -> u64 {
    let mut word = row.value | dice.roll() & row.taken();
    // A return is to the address in register 14.
    if matches!(row.does, Does::CompareReturn(..)) {
        word = word & !placed(0xffff, 16, 16) | placed(14 << 12, 16, 16);
    }
    for field in row.fields {
        if let Field::Cond(at) = field {
            let masks: &[u64] = match row.does {
                Does::Branch | Does::JumpRegister => &[1, 2, 4, 6, 7, 8, 10, 12, 14, 15],
                _ => &[2, 4, 6, 8, 10, 12],
            };
            word = word & !placed(15, *at, 4) | placed(masks[dice.below(masks.len())], *at, 4);
        }
    }
    word
}

fn decoded(row: &Row, word: u64, at: u64) -> Option<Decoded> {
    let bytes = word.to_be_bytes();
    decoder().decode(&bytes[2..2 + usize::from(row.len())], at).ok()
}

/// Each row's encodings are printed, read, and assembled by GNU's assembler to the same again.
#[test]
fn rows_are_what_an_assembler_has() {
    if !here("s390x-linux-gnu-as") {
        return;
    }
    let mut dice = Dice(3);
    let (mut source, mut wanted, mut names) = (String::new(), Vec::new(), Vec::new());
    for row in ROWS {
        // A trap is a jump into itself, for which there is no name; older assemblers have no name for two more.
        if matches!(row.does, Does::Trap) || ["risbhgz", "risblgz"].contains(&row.name) {
            continue;
        }
        let mut found = 0;
        for _ in 0..400 {
            let word = encoding(row, &mut dice);
            let Some(d) = decoded(row, word, 0).filter(|d| d.flow != Flow::Trap) else { continue };
            let label = |to: u64| format!(".{:+}", to as i64);
            let text = d.text(decoder().style(), &label);
            let readable = d.text(decoder().style(), &|_| "x".to_string());
            let known = crate::s390x::read::line(&readable);
            if known.as_ref().is_err_and(|e| e.message.contains("even register")) {
                continue;
            }
            known.unwrap_or_else(|e| panic!("{readable}: {}", e.message));
            found += 1;
            let (name, operands) = text.split_once(' ').unwrap_or((&text, ""));
            let mut operands = operands.to_string();
            for letter in ['r', 'f', 'v'] {
                for digit in '0'..='9' {
                    let (plain, sign) = (format!("{letter}{digit}"), format!("%{letter}{digit}"));
                    operands = operands.replace(&plain, &sign);
                }
            }
            source.push_str(&format!("{name} {operands}\n"));
            wanted.push(word >> (48 - 8 * u32::from(row.len())));
            names.push((text, row.len()));
            if found == 6 {
                break;
            }
        }
        assert!(found > 0, "{}", row.name);
    }
    let dir = tempfile::tempdir().expect("a scratch folder");
    let [input, object, flat] = ["in.s", "out.o", "flat"].map(|name| dir.path().join(name));
    std::fs::write(&input, source).expect("the source");
    let output = Command::new("s390x-linux-gnu-as")
        .args(["-m64", "-march=arch14", "-o"])
        .args([&object, &input])
        .output()
        .expect("the assembler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let copied = Command::new("s390x-linux-gnu-objcopy")
        .args(["-O", "binary", "-j", ".text"])
        .args([&object, &flat])
        .status();
    assert!(copied.expect("objcopy runs").success());
    let all = std::fs::read(&flat).expect("the code");
    let mut rest = all.as_slice();
    for (word, (text, len)) in wanted.iter().zip(&names) {
        let (own, more) = rest.split_at(usize::from(*len));
        let theirs = own.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        assert_eq!(theirs, *word, "{text}: {theirs:012x} {word:012x}");
        rest = more;
    }
    // The assembler fills the section up.
    assert!(rest.len() < 8, "{}", rest.len());
}

#[test]
fn control_goes_where_the_manual_says() {
    let flow = |bytes: &[u8]| decoder().decode(bytes, 0x1000).map(|d| d.flow);
    assert_eq!(flow(&[0x07, 0xfe]), Ok(Flow::Return));
    assert_eq!(flow(&[0x07, 0x8e]), Ok(Flow::MayReturn));
    assert_eq!(flow(&[0x07, 0xf1]), Ok(Flow::JumpRegister));
    assert_eq!(flow(&[0x07, 0xe0]), Ok(Flow::Next));
    assert_eq!(flow(&[0x07, 0x07]), Ok(Flow::Next));
    assert_eq!(flow(&[0x0d, 0xe1]), Ok(Flow::CallRegister));
    assert_eq!(flow(&[0xa7, 0xf4, 0, 1]), Ok(Flow::Trap));
    assert_eq!(flow(&[0xa7, 0xf4, 0, 2]), Ok(Flow::Jump));
    assert_eq!(flow(&[0xa7, 0x84, 0, 2]), Ok(Flow::Branch));
    assert_eq!(flow(&[0xc0, 0xe5, 0, 0, 0, 2]), Ok(Flow::Call));
    let jump = decoder().decode(&[0xa7, 0x84, 0xff, 0xff], 0x1000).unwrap();
    assert_eq!((jump.mnemonic.as_str(), jump.operands), ("je", vec![Operand::Code(0xffe)]));
    // Under a condition to an address in any register; cut off; unknown.
    for bad in [&[0x07, 0x81][..], &[0xe3, 0x10], &[0xff; 6], &[]] {
        assert!(flow(bad).is_err(), "{bad:x?}");
    }
}

/// What others write of them, and what has no meaning.
#[test]
fn other_spellings_are_read() {
    let m = run("larl %r1,x+4\nmvhi 0(%r1),7\nlgrl %r2,x@GOTENT\nl %r3,4(%r2)", |_| {});
    assert_eq!((m.names.0.as_slice(), m.reg("r3") as u32), (&["x".to_string()][..], 7));
    let m = run("lghi r1,1\ncghi r1,1\njz over\nlghi r1,5\nover: nopr r7", |_| {});
    assert_eq!(m.reg("r1"), 1);
    for (text, part) in [
        ("lgg r1,r2", "did you mean"),
        ("lg r1", "takes a register, an address"),
        ("lg r1,0(x)", "no address"),
        ("lg r16,0(r1)", "no register"),
        ("lgr r1,r2,r3", "takes a register, a register"),
        ("mvc 0(r1),0(r2)", "a number of bytes"),
        ("lpq r1,0(r2)", "even register"),
        ("j nowhere", "nowhere"),
    ] {
        assert!(error(text).contains(part), "{text}: {}", error(text));
    }
}

#[test]
fn events_and_their_annotations() {
    let m =
        run("lghi r1,3\nlghi r2,5\nlaa r3,r1,0(r10)\ncs r3,r2,0(r10)\nbcr 14,r0\nbcr 0,r0", |m| {
            m.poke(16 * BASE, 4, 1);
        });
    let kinds: Vec<_> = m.events.iter().map(|e| (e.what.clone(), e.tags.meets(tag::X))).collect();
    // The comparison fails: 1 was there before the addition.
    let wanted =
        [(What::Load, true), (What::Store, true), (What::Load, true), (What::Fence, false)];
    assert_eq!(kinds, wanted);
    assert_eq!((m.peek(16 * BASE, 4), m.reg("r3") as u32), (4, 4));
    // A pair is one access, and the even register has its upper half.
    let m = run("lghi r2,1\nlghi r3,2\nstpq r2,0(r10)\nlpq r4,0(r10)", |_| {});
    let sizes: Vec<u8> = m.events.iter().map(|e| e.size).collect();
    assert_eq!((sizes, m.peek(16 * BASE, 16)), (vec![16, 16], 1 << 64 | 2));
    assert_eq!((m.reg("r4"), m.reg("r5")), (1, 2));
    // Bytes of a number are updated apart, and so is what is copied.
    let m = run("oi 0(r10),1\nmvc 0(4,r11),0(r10)\nxc 0(12,r11),0(r11)", |_| {});
    let all: Vec<_> = m.events.iter().map(|e| (e.what.clone(), e.size)).collect();
    let (load, store) = (|size| (What::Load, size), |size| (What::Store, size));
    assert_eq!(all, [load(1), store(1), load(4), store(4), store(8), store(4)]);
    assert!(m.events.iter().all(|e| !e.tags.meets(tag::X)));
}
