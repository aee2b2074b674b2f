use super::decoder;
use crate::arm::Arm;
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, State, Update};
use crate::seq::Machine;
use proptest::prelude::*;

mod encodings;

fn a32(word: u32, at: u64) -> Result<Decoded, String> {
    decoder(false).decode(&word.to_le_bytes(), at)
}

fn bytes_of(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|h| h.to_le_bytes()).collect()
}

fn t32(state: &mut State, halves: &[u16], at: u64) -> Result<Decoded, String> {
    decoder(true).decode_after(state, &bytes_of(halves), at)
}

fn text(insn: &Decoded) -> String {
    insn.text(decoder(false).style(), &|at| format!("L{at:x}"))
}

#[test]
fn encodings() {
    for (word, expected) in encodings::A32 {
        let insn = a32(*word, 0x1000).expect(expected);
        assert_eq!((text(&insn).as_str(), insn.len), (*expected, 4), "{word:08x}");
    }
    for (half, expected) in encodings::T16 {
        let insn = t32(&mut State::default(), &[*half, 0], 0x1000).expect(expected);
        assert_eq!((text(&insn).as_str(), insn.len), (*expected, 2), "{half:04x}");
    }
    for (first, second, expected) in encodings::T32 {
        let insn = t32(&mut State::default(), &[*first, *second], 0x1000).expect(expected);
        assert_eq!((text(&insn).as_str(), insn.len), (*expected, 4), "{first:04x} {second:04x}");
    }
}

#[test]
fn it_blocks_become_conditions() {
    // cmp r0,#0; itet ne; addne r0,r0,r1; moveq r2,#1; movwne r3,#4660; adds r0,r0,r1
    let code = [0x2800, 0xbf16, 0x1840, 0x2201, 0xf241, 0x2334, 0x1840];
    let bytes = bytes_of(&code);
    let (mut state, mut at, mut lines) = (State::default(), 0, Vec::new());
    while at < bytes.len() {
        let insn = decoder(true).decode_after(&mut state, &bytes[at..], at as u64);
        let insn = insn.expect("is known");
        at += usize::from(insn.len);
        lines.push(text(&insn));
    }
    let expected =
        ["CMP R0,#0", "NOP", "ADDNE R0,R0,R1", "MOVEQ R2,#1", "MOVWNE R3,#4660", "ADDS R0,R0,R1"];
    assert_eq!(lines, expected);
    assert_eq!(state, State::default());
    // A block of four; a conditional return; a return in a block.
    let mut state = State::default();
    t32(&mut state, &[0xbf08], 0).expect("is known");
    let insn = t32(&mut state, &[0x4770], 2).expect("is known");
    assert_eq!((text(&insn).as_str(), insn.flow), ("BXEQ LR", Flow::MayReturn));
}

#[test]
fn parts_that_lifting_rewrites() {
    // LDR R3,[PC,#12]
    let insn = a32(0xe59f_300c, 0x1000).expect("is known");
    assert_eq!(insn.operands, [Operand::Reg("R3".to_string()), Operand::Code(0x1014)]);
    // STR R1,[R2],#-4
    let insn = a32(0xe402_1004, 0).expect("is known");
    let (base, index) = (Some("R2".to_string()), None);
    let mem = Mem { base, offset: -4, index, update: Update::Post };
    assert_eq!(insn.operands[1], Operand::Mem(mem));
    // ldr r1,[pc,#4] at 2 of 4: PC is rounded down.
    let insn = t32(&mut State::default(), &[0x4901], 0x1002).expect("is known");
    assert_eq!(insn.operands[1], Operand::Code(0x1008));
}

#[test]
fn flow() {
    let flow = |word: u32| a32(word, 0x1000).expect("is known").flow;
    assert_eq!(flow(0xea00_0000), Flow::Jump);
    assert_eq!(flow(0x1a00_0000), Flow::Branch);
    assert_eq!(flow(0xeb00_0000), Flow::Call);
    assert_eq!(flow(0x1b00_0000), Flow::Call);
    assert_eq!(flow(0xfa00_0000), Flow::Call);
    assert_eq!(flow(0xe12f_ff1e), Flow::Return);
    assert_eq!(flow(0x112f_ff1e), Flow::MayReturn);
    assert_eq!(flow(0xe12f_ff13), Flow::JumpRegister);
    assert_eq!(flow(0xe12f_ff33), Flow::CallRegister);
    assert_eq!(flow(0xe8bd_8010), Flow::Return);
    assert_eq!(flow(0x08bd_8010), Flow::MayReturn);
    // LDMDB R11,{R11,SP,PC}, as code with frame pointers returns.
    assert_eq!(flow(0xe91b_a800), Flow::Return);
    assert_eq!(flow(0xe49d_f004), Flow::Return);
    assert_eq!(flow(0xe1a0_f00e), Flow::Return);
    assert_eq!(flow(0xe08f_f103), Flow::JumpRegister);
    assert_eq!(flow(0xe28e_f000), Flow::Return);
    assert_eq!(flow(0xe49d_f018), Flow::Return);
    assert_eq!(flow(0xe59d_f018), Flow::JumpRegister);
    assert_eq!(flow(0xe28e_f004), Flow::JumpRegister);
    assert_eq!(flow(0xe281_f000), Flow::JumpRegister);
    assert_eq!(flow(0xe59f_f004), Flow::JumpRegister);
    assert_eq!(flow(0xe7f0_00f0), Flow::Trap);
    assert_eq!(flow(0xe8bd_0010), Flow::Next);
    let flow = |halves: &[u16]| t32(&mut State::default(), halves, 0).expect("is known").flow;
    assert_eq!(flow(&[0xd0fe]), Flow::Branch);
    assert_eq!(flow(&[0xe7fe]), Flow::Jump);
    assert_eq!(flow(&[0xb110]), Flow::Branch);
    assert_eq!(flow(&[0xbd10]), Flow::Return);
    assert_eq!(flow(&[0xbc10]), Flow::Next);
    assert_eq!(flow(&[0xe8bd, 0x8010]), Flow::Return);
    assert_eq!(flow(&[0xe8bd, 0x0c10]), Flow::Next);
    assert_eq!(flow(&[0xf85d, 0xfb04]), Flow::Return);
    assert_eq!(flow(&[0xf000, 0xf800]), Flow::Call);
    assert_eq!(flow(&[0xe8df, 0xf003]), Flow::JumpRegister);
    assert_eq!(flow(&[0xde00]), Flow::Trap);
}

#[test]
fn what_is_not_known_is_said() {
    assert_eq!(a32(0xffff_ffff, 0).expect_err("is refused"), "unknown Arm instruction 0xffffffff");
    let error = |halves: &[u16]| t32(&mut State::default(), halves, 0).expect_err("is refused");
    assert_eq!(error(&[0xb6ff]), "unknown Thumb instruction 0xb6ff");
    assert_eq!(error(&[0xffff, 0]), "unknown Thumb instruction 0xffff 0x0000");
    assert_eq!(error(&[0xf000]), "nothing follows the half 0xf000 of Thumb code");
    assert_eq!(error(&[]), "0 bytes are no Thumb instruction");
    // movs r0,#4 rotated to 1: its carry would not be that of its text.
    assert!(a32(0xe3b0_0f04, 0).is_err());
}

/// Whether it is decoded and printed, but has no meaning in a litmus test: system registers and calls,
/// tables of distances, and PC as a number.
fn is_outside(insn: &Decoded) -> bool {
    let line = insn.text(decoder(false).style(), &|_| "L".to_string());
    let (mnemonic, operands) = line.split_once(' ').unwrap_or((&line, ""));
    let heads = ["MRC", "MCR", "MRS", "SVC", "TBB", "TBH"];
    let literal =
        ["LDRD", "VLDR"].iter().any(|m| mnemonic.starts_with(m)) && operands.ends_with(",L");
    let stepped = mnemonic.starts_with('V') && operands.contains("],");
    heads.iter().any(|head| mnemonic.starts_with(head))
        || operands.contains("PC")
        || literal
        || stepped
}

fn reads_back(insn: &Decoded, decoder: &dyn Decoder) -> Result<(), TestCaseError> {
    if is_outside(insn) {
        return Ok(());
    }
    let line = insn.text(decoder.style(), &|_| "L".to_string());
    let code = format!("B L\n{line}\nL: .word 7");
    let read = Machine::default().code(&Arm { lpae: false }, &code);
    prop_assert!(read.is_ok(), "{:?}", read.err());
    Ok(())
}

fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        any::<u32>().prop_map(|n| 0xe000_0000 | n >> 4),
        // Registers in their usual places and little else.
        any::<u32>().prop_map(|n| 0xe000_0f9f | n & 0x01ff_f060),
        any::<u32>().prop_map(|n| 0xe000_f010 | n & 0x0fff_0fef),
    ]
}

fn halves() -> impl Strategy<Value = [u16; 2]> {
    let long = (0xe800u16..=0xffff, any::<u16>());
    let exclusive =
        (any::<u8>(), any::<u16>()).prop_map(|(n, m)| (0xe840 | u16::from(n) & 0xdf, m));
    prop_oneof![
        any::<[u16; 2]>(),
        long.prop_map(<[u16; 2]>::from),
        exclusive.prop_map(<[u16; 2]>::from)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..8), at in any::<u64>(), state in any::<u8>()
    ) {
        for thumb in [false, true] {
            if let Ok(insn) = decoder(thumb).decode_after(&mut State(state), &bytes, at) {
                prop_assert!(usize::from(insn.len) <= bytes.len());
            }
        }
    }

    #[test]
    fn what_a32_decodes_reads_back(word in word()) {
        if let Ok(insn) = a32(word, 0x1000) {
            reads_back(&insn, decoder(false))?;
        }
    }

    #[test]
    fn what_t32_decodes_reads_back(halves in halves(), in_block in any::<bool>()) {
        let mut state = State(if in_block { 0x18 } else { 0 });
        if let Ok(insn) = t32(&mut state, &halves, 0x1000) {
            reads_back(&insn, decoder(true))?;
        }
    }
}
