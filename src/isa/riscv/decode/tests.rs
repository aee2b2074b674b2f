use super::decoder;
use crate::machine::{Decoded, Flow, Operand};
use crate::riscv::RiscV;
use crate::seq::Machine;
use proptest::prelude::*;

/// Instructions at 0x1000, as an independent assembler encodes them: the text that they give.
#[rustfmt::skip]
const WORDS: &[(&str, u32)] = &[
    ("nop", 0x00000013),
    ("li x10,5", 0x00500513),
    ("li x5,-2048", 0x80000293),
    ("mv x10,x11", 0x00058513),
    ("addi x10,x11,-1", 0xfff58513),
    ("lui x10,1048575", 0xfffff537),
    ("auipc x1,0", 0x00000097),
    ("j 0x1800", 0x0010006f),
    ("jal x1,0xffc", 0xffdff0ef),
    ("ret", 0x00008067),
    ("jr x5", 0x00028067),
    ("jalr x0,16(x6)", 0x01030067),
    ("jalr x1,-16(x6)", 0xff0300e7),
    ("beq x10,x0,0x1008", 0x00050463),
    ("bne x10,x11,0xff8", 0xfeb51ce3),
    ("blt x10,x11,0x1ffe", 0x7eb54fe3),
    ("bge x10,x11,0x0", 0x80b55063),
    ("bltu x10,x11,0x100c", 0x00b56663),
    ("bgeu x10,x11,0x100c", 0x00b57663),
    ("lb x10,-1(x11)", 0xfff58503),
    ("lh x10,2047(x11)", 0x7ff59503),
    ("lw x10,0(x11)", 0x0005a503),
    ("ld x10,8(x2)", 0x00813503),
    ("lbu x10,0(x11)", 0x0005c503),
    ("lhu x10,0(x11)", 0x0005d503),
    ("lwu x10,0(x11)", 0x0005e503),
    ("sb x10,-2048(x11)", 0x80a58023),
    ("sh x10,31(x11)", 0x00a59fa3),
    ("sw x0,0(x11)", 0x0005a023),
    ("sd x1,24(x2)", 0x00113c23),
    ("slti x10,x11,3", 0x0035a513),
    ("sltiu x10,x11,1", 0x0015b513),
    ("xori x10,x11,-1", 0xfff5c513),
    ("ori x10,x11,1", 0x0015e513),
    ("andi x10,x11,255", 0x0ff5f513),
    ("slli x10,x11,63", 0x03f59513),
    ("srli x10,x11,32", 0x0205d513),
    ("srai x10,x11,1", 0x4015d513),
    ("addiw x10,x11,1", 0x0015851b),
    ("sext.w x10,x11", 0x0005851b),
    ("slliw x10,x11,31", 0x01f5951b),
    ("srliw x10,x11,1", 0x0015d51b),
    ("sraiw x10,x11,24", 0x4185d51b),
    ("add x10,x11,x12", 0x00c58533),
    ("sub x10,x0,x12", 0x40c00533),
    ("sll x10,x11,x12", 0x00c59533),
    ("slt x10,x11,x12", 0x00c5a533),
    ("sltu x10,x0,x12", 0x00c03533),
    ("xor x10,x11,x12", 0x00c5c533),
    ("srl x10,x11,x12", 0x00c5d533),
    ("sra x10,x11,x12", 0x40c5d533),
    ("or x10,x11,x12", 0x00c5e533),
    ("and x10,x11,x12", 0x00c5f533),
    ("addw x10,x11,x12", 0x00c5853b),
    ("subw x10,x11,x12", 0x40c5853b),
    ("sllw x10,x11,x12", 0x00c5953b),
    ("srlw x10,x11,x12", 0x00c5d53b),
    ("sraw x10,x11,x12", 0x40c5d53b),
    ("mul x10,x11,x12", 0x02c58533),
    ("mulh x10,x11,x12", 0x02c59533),
    ("mulhsu x10,x11,x12", 0x02c5a533),
    ("mulhu x10,x11,x12", 0x02c5b533),
    ("div x10,x11,x12", 0x02c5c533),
    ("divu x10,x11,x12", 0x02c5d533),
    ("rem x10,x11,x12", 0x02c5e533),
    ("remu x10,x11,x12", 0x02c5f533),
    ("mulw x10,x11,x12", 0x02c5853b),
    ("divw x10,x11,x12", 0x02c5c53b),
    ("divuw x10,x11,x12", 0x02c5d53b),
    ("remw x10,x11,x12", 0x02c5e53b),
    ("remuw x10,x11,x12", 0x02c5f53b),
    ("fence rw,rw", 0x0330000f),
    ("fence iorw,iorw", 0x0ff0000f),
    ("fence r,rw", 0x0230000f),
    ("fence rw,w", 0x0310000f),
    ("fence w,o", 0x0140000f),
    ("fence.tso", 0x8330000f),
    ("fence.i", 0x0000100f),
    ("pause", 0x0100000f),
    ("ecall", 0x00000073),
    ("ebreak", 0x00100073),
    ("unimp", 0xc0001073),
    ("wrs.nto", 0x00d00073),
    ("csrrs x10,fflags,x0", 0x00102573),
    ("csrrwi x0,fcsr,3", 0x0031d073),
    ("lr.w x10,0(x11)", 0x1005a52f),
    ("lr.d.aqrl x10,0(x11)", 0x1605b52f),
    ("sc.w.rl x10,x12,0(x11)", 0x1ac5a52f),
    ("sc.d x10,x12,0(x11)", 0x18c5b52f),
    ("amoswap.w.aq x5,x6,0(x7)", 0x0c63a2af),
    ("amoadd.d.aqrl x0,x6,0(x7)", 0x0663b02f),
    ("amoxor.b x5,x6,0(x7)", 0x206382af),
    ("amoor.h.rl x5,x6,0(x7)", 0x426392af),
    ("amoand.w x5,x6,0(x7)", 0x6063a2af),
    ("amomin.d x5,x6,0(x7)", 0x8063b2af),
    ("amomax.w x5,x6,0(x7)", 0xa063a2af),
    ("amominu.b.aq x5,x6,0(x7)", 0xc46382af),
    ("amomaxu.w x5,x6,0(x7)", 0xe063a2af),
    ("amocas.b x5,x6,0(x7)", 0x286382af),
    ("amocas.h.aq x5,x6,0(x7)", 0x2c6392af),
    ("amocas.w.rl x5,x6,0(x7)", 0x2a63a2af),
    ("amocas.d.aqrl x5,x6,0(x7)", 0x2e63b2af),
    ("amocas.q.aqrl x6,x10,0(x7)", 0x2ea3c32f),
    ("lb.aq x10,0(x11)", 0x3405852f),
    ("lw.aq x10,0(x11)", 0x3405a52f),
    ("ld.aqrl x10,0(x11)", 0x3605b52f),
    ("sh.rl x10,0(x11)", 0x3aa5902f),
    ("sd.aqrl x10,0(x11)", 0x3ea5b02f),
    ("andn x10,x11,x12", 0x40c5f533),
    ("orn x10,x11,x12", 0x40c5e533),
    ("xnor x10,x11,x12", 0x40c5c533),
    ("min x10,x11,x12", 0x0ac5c533),
    ("minu x10,x11,x12", 0x0ac5d533),
    ("max x10,x11,x12", 0x0ac5e533),
    ("maxu x10,x11,x12", 0x0ac5f533),
    ("rol x10,x11,x12", 0x60c59533),
    ("ror x10,x11,x12", 0x60c5d533),
    ("rolw x10,x11,x12", 0x60c5953b),
    ("rorw x10,x11,x12", 0x60c5d53b),
    ("rori x10,x11,33", 0x6215d513),
    ("roriw x10,x11,3", 0x6035d51b),
    ("clz x10,x11", 0x60059513),
    ("clzw x10,x11", 0x6005951b),
    ("ctz x10,x11", 0x60159513),
    ("ctzw x10,x11", 0x6015951b),
    ("cpop x10,x11", 0x60259513),
    ("cpopw x10,x11", 0x6025951b),
    ("sext.b x10,x11", 0x60459513),
    ("sext.h x10,x11", 0x60559513),
    ("zext.h x10,x11", 0x0805c53b),
    ("add.uw x10,x11,x0", 0x0805853b),
    ("rev8 x10,x11", 0x6b85d513),
    ("orc.b x10,x11", 0x2875d513),
    ("sh1add x10,x11,x12", 0x20c5a533),
    ("sh2add x10,x11,x12", 0x20c5c533),
    ("sh3add x10,x11,x12", 0x20c5e533),
    ("sh1add.uw x10,x11,x12", 0x20c5a53b),
    ("sh3add.uw x10,x11,x12", 0x20c5e53b),
    ("slli.uw x10,x11,33", 0x0a15951b),
    ("bset x10,x11,x12", 0x28c59533),
    ("bclri x10,x11,40", 0x4a859513),
    ("binvi x10,x11,40", 0x6a859513),
    ("bext x10,x11,x12", 0x48c5d533),
    ("bexti x10,x11,63", 0x4bf5d513),
    ("bseti x10,x11,1", 0x28159513),
    ("czero.eqz x10,x11,x12", 0x0ec5d533),
    ("czero.nez x10,x11,x12", 0x0ec5f533),
    ("flw f10,4(x11)", 0x0045a507),
    ("fsd f10,-8(x11)", 0xfea5bc27),
    ("fmv.x.d x10,f11", 0xe2058553),
    ("fmv.d.x f10,x11", 0xf2058553),
    ("fmv.w.x f10,x11", 0xf0058553),
    ("fsgnj.d f10,f11,f11", 0x22b58553),
    ("fadd.d f10,f11,f12", 0x02c5f553),
    ("fmadd.s f10,f11,f12,f13", 0x68c5f543),
    ("fcvt.w.d x10,f11,rtz", 0xc2059553),
    ("fcvt.d.w f10,x11", 0xd2058553),
    ("feq.d x10,f11,f12", 0xa2c5a553),
    ("unimp", 0x0000),
    ("nop", 0x0001),
    ("addi x10,x2,1020", 0x1fe8),
    ("fld f10,248(x11)", 0x3de8),
    ("lw x10,124(x11)", 0x5de8),
    ("ld x10,248(x11)", 0x7de8),
    ("fsd f10,8(x11)", 0xa588),
    ("sw x10,64(x11)", 0xc1a8),
    ("sd x10,128(x11)", 0xe1c8),
    ("lbu x10,3(x11)", 0x81e8),
    ("lhu x10,2(x11)", 0x85a8),
    ("lh x10,2(x11)", 0x85e8),
    ("sb x10,1(x11)", 0x89c8),
    ("sh x10,2(x11)", 0x8da8),
    ("addi x10,x10,-32", 0x1501),
    ("addiw x10,x10,31", 0x257d),
    ("sext.w x10,x10", 0x2501),
    ("li x31,-1", 0x5ffd),
    ("addi x2,x2,-512", 0x7101),
    ("addi x2,x2,496", 0x617d),
    ("lui x10,1048544", 0x7501),
    ("lui x10,31", 0x657d),
    ("srli x10,x10,63", 0x917d),
    ("srai x10,x10,32", 0x9501),
    ("andi x10,x10,-2", 0x9979),
    ("sub x10,x10,x11", 0x8d0d),
    ("xor x10,x10,x11", 0x8d2d),
    ("or x10,x10,x11", 0x8d4d),
    ("and x10,x10,x11", 0x8d6d),
    ("subw x10,x10,x11", 0x9d0d),
    ("addw x10,x10,x11", 0x9d2d),
    ("mul x10,x10,x11", 0x9d4d),
    ("andi x10,x10,255", 0x9d61),
    ("sext.b x10,x10", 0x9d65),
    ("zext.h x10,x10", 0x9d69),
    ("sext.h x10,x10", 0x9d6d),
    ("add.uw x10,x10,x0", 0x9d71),
    ("xori x10,x10,-1", 0x9d75),
    ("j 0x800", 0xb001),
    ("j 0x17fe", 0xaffd),
    ("beq x10,x0,0x10fe", 0xcd7d),
    ("bne x10,x0,0xf00", 0xf101),
    ("slli x18,x18,63", 0x197e),
    ("fld f10,504(x2)", 0x357e),
    ("lw x10,252(x2)", 0x557e),
    ("ld x1,504(x2)", 0x70fe),
    ("ret", 0x8082),
    ("jr x10", 0x8502),
    ("mv x10,x27", 0x856e),
    ("ebreak", 0x9002),
    ("jalr x1,0(x15)", 0x9782),
    ("add x10,x10,x27", 0x956e),
    ("fsd f10,8(x2)", 0xa42a),
    ("sw x10,252(x2)", 0xdfaa),
    ("sd x1,504(x2)", 0xff86),
];

fn bytes(word: u32) -> Vec<u8> {
    let len = if word & 3 == 3 { 4 } else { 2 };
    word.to_le_bytes()[..len].to_vec()
}

fn text(bytes: &[u8]) -> Result<String, String> {
    let insn = decoder().decode(bytes, 0x1000)?;
    assert_eq!(insn.len, if bytes[0] & 3 == 3 { 4 } else { 2 });
    Ok(insn.text(decoder().style(), &|at| format!("0x{at:x}")))
}

#[test]
fn every_form() {
    for (expected, word) in WORDS {
        assert_eq!(text(&bytes(*word)).as_deref(), Ok(*expected), "0x{word:x}");
    }
}

#[test]
fn where_control_goes() {
    for (word, flow) in [
        (0xa001, Flow::Jump),              // c.j
        (0x0000_00ef, Flow::Call),         // jal ra
        (0x0005_0463, Flow::Branch),       // beqz a0
        (0x8082, Flow::Return),            // ret
        (0x8282, Flow::JumpRegister),      // jr t0
        (0x9782, Flow::CallRegister),      // jalr a5
        (0x0000_8067, Flow::Return),       // ret, not compressed
        (0x0100_8067, Flow::JumpRegister), // 16 past the return address
        (0x9002, Flow::Trap),              // ebreak
        (0xc000_1073, Flow::Trap),         // unimp
        (0x0330_000f, Flow::Next),         // fence rw,rw
    ] {
        let insn = decoder().decode(&bytes(word), 0x1000).expect("is known");
        assert_eq!(insn.flow, flow, "{insn:?}");
        let code = insn.operands.iter().any(|o| matches!(o, Operand::Code(_)));
        assert_eq!(code, matches!(flow, Flow::Jump | Flow::Call | Flow::Branch));
    }
}

#[test]
fn what_is_no_instruction_is_named() {
    for (bytes, message) in [
        (&[][..], "the RISC-V instruction at 0x1000 is cut off"),
        (&[0x13, 0, 0], "the RISC-V instruction at 0x1000 is cut off"),
        (&[0x00, 0x9c], "0x9c00 at 0x1000 is no compressed RISC-V instruction"),
        (&[0xff; 4], "0xffffffff at 0x1000 is no RISC-V instruction that is known here"),
        // A load that does not acquire; a pair that starts at an odd register.
        (
            &[0x2f, 0xa5, 0x05, 0x30],
            "0x3005a52f at 0x1000 is no RISC-V instruction that is known here",
        ),
        (
            &[0xaf, 0xc2, 0xc3, 0x28],
            "0x28c3c2af at 0x1000 is no RISC-V instruction that is known here",
        ),
    ] {
        assert_eq!(text(bytes), Err(message.to_string()));
    }
}

/// Whether the simulator does not read it: floating point that is fused, rounded otherwise, or more than
/// arithmetic; the machine's state; and addresses that are relative to the code, which lifting replaces by
/// a location.
fn out_of_scope(insn: &Decoded) -> bool {
    let mnemonic = insn.mnemonic.as_str();
    let stem = mnemonic.split_once('.').map_or(mnemonic, |(stem, _)| stem);
    let unknown = ["fmadd", "fmsub", "fnmadd", "fnmsub", "fsqrt", "fmin", "fmax", "fclass"];
    let rounded = insn.operands.iter().any(|o| match o {
        Operand::Text(mode) => {
            ["rne", "rtz", "rdn", "rup", "rmm", "5", "6"].contains(&mode.as_str())
        }
        _ => false,
    });
    let to_integer = ["fcvt.w", "fcvt.l"].iter().any(|p| mnemonic.starts_with(p));
    unknown.contains(&stem)
        || stem.starts_with('f') && stem != "fence" && (rounded || to_integer)
        || mnemonic.starts_with("csr")
        || mnemonic == "auipc"
}

/// Any 32 bits that give an instruction: either as they are, or as one of the common opcodes.
fn word() -> impl Strategy<Value = u32> {
    let opcode = prop::sample::select(vec![
        0x03u32, 0x0f, 0x13, 0x17, 0x1b, 0x23, 0x2f, 0x33, 0x37, 0x3b, 0x63, 0x67, 0x6f, 0x73,
    ]);
    let funct = prop::sample::select(vec![0u32, 1, 2, 4, 5, 7, 0x10, 0x14, 0x20, 0x24, 0x30, 0x34]);
    prop_oneof![
        any::<u32>(),
        (any::<u32>(), opcode.clone()).prop_map(|(w, o)| w & !0x7f | o),
        (any::<u32>(), opcode, funct).prop_map(|(w, o, f)| w & 0x01ff_ff80 | o | f << 25),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_is_decoded_reads_back(word in word()) {
        let bytes = word.to_le_bytes();
        if let Ok(insn) = decoder().decode(&bytes, 0x1000)
            && !out_of_scope(&insn)
        {
            let text = insn.text(decoder().style(), &|_| "L".to_string());
            let read = Machine::default().code(&RiscV, &format!("L: {text}"));
            prop_assert!(read.is_ok(), "{word:08x} `{text}`: {}", read.unwrap_err());
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..6),
        at in any::<u64>(),
    ) {
        if let Ok(insn) = decoder().decode(&bytes, at) {
            prop_assert!(usize::from(insn.len) <= bytes.len());
        }
    }
}
