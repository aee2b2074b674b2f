use super::decoder;
use crate::machine::{Decoded, Flow, Mem, Operand, Update};
use crate::ppc::Ppc;
use crate::seq::Machine;
use proptest::prelude::*;

mod encodings;

fn decode(big_endian: bool, words: &[u32], at: u64) -> Result<Decoded, String> {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() })
        .collect();
    decoder(big_endian).decode(&bytes, at)
}

fn text(insn: &Decoded) -> String {
    insn.text(decoder(false).style(), &|at| format!("L{at:x}"))
}

#[test]
fn encodings() {
    for (word, expected) in encodings::WORDS {
        for big_endian in [false, true] {
            let insn = decode(big_endian, &[*word], 0x1000).expect(expected);
            assert_eq!((text(&insn).as_str(), insn.len), (*expected, 4), "{word:08x}");
        }
    }
    for (prefix, suffix, expected) in encodings::PREFIXED {
        let insn = decode(false, &[*prefix, *suffix], 0x1000).expect(expected);
        assert_eq!((text(&insn).as_str(), insn.len), (*expected, 8), "{prefix:08x} {suffix:08x}");
    }
}

#[test]
fn parts_that_lifting_rewrites() {
    // stwu r1,-32(r1)
    let insn = decode(false, &[0x9421_ffe0], 0).expect("is known");
    let (base, index) = (Some("r1".to_string()), None);
    let mem = Mem { base, offset: -32, index, update: Update::Pre };
    assert_eq!(insn.operands, [Operand::Reg("r1".to_string()), Operand::Mem(mem)]);
    // lwzx r3,0,r4: no base.
    let insn = decode(false, &[0x7c60_202e], 0).expect("is known");
    let (base, index) = (None, Some("r4".to_string()));
    let mem = Mem { base, offset: 0, index, update: Update::None };
    assert_eq!(insn.operands[1], Operand::Mem(mem));
    // pld r10,16(0),1: relative to the instruction.
    let insn = decode(false, &[0x0410_0000, 0xe540_0010], 0x100).expect("is known");
    assert_eq!(insn.operands[1], Operand::Code(0x110));
}

#[test]
fn flow() {
    let flow = |word: u32| decode(false, &[word], 0x1000).expect("is known").flow;
    assert_eq!(flow(0x4800_0010), Flow::Jump);
    assert_eq!(flow(0x4800_0011), Flow::Call);
    assert_eq!(flow(0x4082_fff8), Flow::Branch);
    assert_eq!(flow(0x4200_fff8), Flow::Branch);
    assert_eq!(flow(0x4e80_0020), Flow::Return);
    assert_eq!(flow(0x4d82_0020), Flow::MayReturn);
    assert_eq!(flow(0x4e80_0420), Flow::JumpRegister);
    assert_eq!(flow(0x4e80_0421), Flow::CallRegister);
    assert_eq!(flow(0x7fe0_0008), Flow::Trap);
    assert_eq!(flow(0x7c08_02a6), Flow::Next);
}

#[test]
fn what_is_not_known_is_said() {
    let error = |words: &[u32]| decode(false, words, 0).expect_err("is refused");
    assert_eq!(error(&[0]), "unknown Power instruction 0x00000000");
    assert_eq!(error(&[]), "0 bytes are no Power instruction");
    assert_eq!(error(&[0x0610_0000]), "nothing follows the prefix 0x06100000");
    assert_eq!(error(&[0x0610_0000, 0]), "unknown Power instruction 0x06100000 0x00000000");
    // An absolute branch, and a load of an odd pair.
    assert!(decode(false, &[0x4800_0012], 0).is_err());
    assert!(decode(false, &[0xe060_0000], 0).is_err());
}

/// Instructions that are decoded and printed, but have no meaning in a litmus test.
const OUTSIDE: &[&str] =
    &["mfspr", "mtspr", "lfs", "stfs", "plfs", "plfd", "pstfs", "pstfd", "plxv", "pstxv"];

/// A decoded instruction reads back, unless it is one of those.
fn reads_back(insn: &Decoded) -> Result<(), TestCaseError> {
    if OUTSIDE.contains(&insn.mnemonic.as_str()) {
        return Ok(());
    }
    let line = insn.text(decoder(false).style(), &|_| "L".to_string());
    // Places of data are locations of the test.
    let read = Machine::default().code(&Ppc, &format!("L: nop\n{line}"));
    prop_assert!(read.is_ok(), "{:?}", read.err());
    Ok(())
}

/// Words of one primary opcode, so that each is met often.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0u32..64, any::<u32>()).prop_map(|(opcode, n)| opcode << 26 | n >> 6),
        (any::<u32>(), 0u32..1024)
            .prop_map(|(n, extended)| 31 << 26 | n & 0x03ff_f800 | extended << 1 | n & 1),
        (any::<u32>(), 0u32..1024)
            .prop_map(|(n, extended)| 19 << 26 | n & 0x03ff_f800 | extended << 1 | n & 1),
        (any::<u32>(), any::<bool>(), any::<bool>()).prop_map(
            |(n, modified, relative)| 0x0400_0000
                | u32::from(modified) << 25
                | u32::from(relative) << 20
                | n >> 14
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..12), at in any::<u64>()
    ) {
        for big_endian in [false, true] {
            if let Ok(insn) = decoder(big_endian).decode(&bytes, at) {
                prop_assert!(usize::from(insn.len) <= bytes.len());
            }
        }
    }

    #[test]
    fn what_is_decoded_reads_back(first in word(), second in word()) {
        if let Ok(insn) = decode(false, &[first, second], 0x1000) {
            reads_back(&insn)?;
        }
    }
}
