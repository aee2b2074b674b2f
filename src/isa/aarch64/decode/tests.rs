//! Encodings and their text; every row of the tables is reached, and what is decoded can be read.

use super::*;
use crate::aarch64::AArch64;
use crate::seq::Machine;
use proptest::prelude::*;

mod execution;

fn text_at(word: u32, at: u64) -> Result<String, String> {
    let decoded = decoder().decode(&word.to_le_bytes(), at)?;
    Ok(decoded.text(decoder().style(), &|at| format!("{at:#x}")))
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A word of a row, its free bits as they fall.
    fn word(&mut self, row: &Row) -> u32 {
        row.pattern.value | ((self.roll() >> 32) as u32 & !row.pattern.mask)
    }
}

/// Instructions that are decoded so that code around them can be, and that have no meaning here: some
/// floating-point arithmetic, most vector arithmetic, and those for operating systems.
const OUTSIDE: &[&str] = &[
    "FCVTNS", "FCVTNU", "FCVTAS", "FCVTAU", "FCVTPS", "FCVTPU", "FCVTMS", "FCVTMU", "FSQRT",
    "FRINTN", "FRINTP", "FRINTM", "FRINTZ", "FRINTA", "FRINTX", "FRINTI", "FMAX", "FMIN", "FMAXNM",
    "FMINNM", "FMADD", "FMSUB", "FNMADD", "FNMSUB", "BSL", "BIT", "BIF", "CMTST", "CMEQ", "CMGT",
    "CMGE", "CMHI", "CMHS", "CMLT", "UMAXP", "ADDP", "UMAXV", "UMINV", "EXT", "UZP1", "UZP2",
    "TRN1", "TRN2", "ZIP1", "ZIP2", "XTN", "XTN2", "SSRA", "USRA", "SHRN", "SVC", "DC", "IC",
    "SHADD", "UHADD", "SRHADD", "URHADD", "SQADD", "UQADD", "SQSUB", "UQSUB", "SSHL", "USHL",
    "SABD", "UABD", "SABA", "UABA", "MLA", "MLS", "SMAXP", "SMINP", "UMINP", "SADDLP", "UADDLP",
    "SADALP", "UADALP", "CMLE", "SMAXV", "SMINV", "SADDLV", "SADDL2", "SADDL", "UADDL2", "UADDL",
    "SSUBL2", "SSUBL", "USUBL2", "USUBL", "SABAL2", "SABAL", "UABAL2", "UABAL", "SABDL2", "SABDL",
    "UABDL2", "UABDL", "SMLAL2", "SMLAL", "UMLAL2", "UMLAL", "SMLSL2", "SMLSL", "UMLSL2", "UMLSL",
    "SMULL2", "UMULL2", "SADDW", "SADDW2", "UADDW", "UADDW2", "SSUBW", "SSUBW2", "USUBW", "USUBW2",
    "TBL", "TBX", "SRI", "SLI", "SSHLL2", "USHLL2", "SHRN2", "CPYFP", "CPYFM", "CPYFE", "CPYP",
    "CPYM", "CPYE", "SETP", "SETM", "SETE",
];

/// The same, of floating point on halves.
const OUTSIDE_ON_HALVES: &[&str] = &[
    "SCVTF", "UCVTF", "FCVTZS", "FCVTZU", "FCVT", "FABS", "FNEG", "FMUL", "FDIV", "FADD", "FSUB",
    "FNMUL", "FCMP", "FCMPE", "FCCMP", "FCCMPE",
];

/// The same, of mnemonics whose other forms have a meaning.
const OUTSIDE_ON_VECTORS: &[&str] = &[
    "MUL", "SMAX", "SMIN", "UMAX", "UMIN", "NEG", "ABS", "REV64", "REV32", "REV16", "CLS", "CLZ",
    "RBIT", "SMULL", "UMULL",
];

fn outside(d: &Decoded) -> bool {
    let name = d.mnemonic.as_str();
    let vector = |o: &Operand| matches!(o, Operand::Reg(r) if r.starts_with('V'));
    let half = |o: &Operand| matches!(o, Operand::Reg(r) if r.starts_with('H'));
    OUTSIDE.contains(&name)
        || (OUTSIDE_ON_HALVES.contains(&name)
            && d.operands.iter().any(half))
        || (OUTSIDE_ON_VECTORS.contains(&name) && d.operands.iter().any(vector))
        // Other system registers than the flags and the thread pointer.
        || matches!(name, "MRS" | "MSR")
}

/// Reads the text back, as an instruction before a label `L0`; data in the code has the name of
/// a location.
fn read(d: &Decoded) -> Result<(), String> {
    let data = matches!(d.flow, Flow::Next);
    let name = if data { "data" } else { "L0" };
    let text = d.text(decoder().style(), &|_| name.to_string());
    let text = format!("{text}\nL0: NOP");
    Machine::default().code(&AArch64 { lse2: false }, &text).map(|_| ())
}

fn check(word: u32) -> Result<Option<Decoded>, String> {
    let Ok(decoded) = decoder().decode(&word.to_le_bytes(), 0x4000) else { return Ok(None) };
    let code = decoded.operands.iter().any(|o| matches!(o, Operand::Code(_)));
    let leaves = matches!(decoded.flow, Flow::Jump | Flow::Branch | Flow::Call);
    if leaves && !code {
        return Err(format!("{word:#010x}: {decoded:?} goes nowhere"));
    }
    match read(&decoded) {
        Err(why) if !outside(&decoded) => Err(format!("{word:#010x}: {why}")),
        _ => Ok(Some(decoded)),
    }
}

#[test]
fn every_row_is_reached_and_read_back() {
    let mut dice = Dice(1);
    for row in GROUPS.iter().flat_map(|rows| rows.iter()) {
        // Rows that ask for fields that agree, or are zero, are met by few words.
        let mut reached = false;
        for i in 0..100_000 {
            if i >= 200 && reached {
                break;
            }
            let word = match i % 2 {
                0 => dice.word(row),
                _ => dice.word(row) & dice.word(row) & dice.word(row),
            };
            let decoded = check(word).unwrap_or_else(|why| panic!("{}: {why}", row.name));
            reached |= decoded.is_some_and(|d| d.mnemonic.starts_with(row.name));
        }
        assert!(reached, "{} {:08x}", row.name, row.pattern.value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..8), at in any::<u64>()) {
        if let Ok(decoded) = decoder().decode(&bytes, at) {
            prop_assert_eq!((decoded.len, decoded.at), (4, at));
        }
    }

    #[test]
    fn any_word_reads_back(word in any::<u32>()) {
        if let Err(why) = check(word) {
            return Err(TestCaseError::fail(why));
        }
    }
}

#[test]
fn text_of_encodings() {
    for line in TEXTS.lines() {
        let (word, text) = line.split_once(' ').expect("a word and a text");
        let word = u32::from_str_radix(word, 16).expect("a word");
        assert_eq!(text_at(word, 0x1000).as_deref(), Ok(text), "{word:08x}");
    }
}

#[test]
fn what_is_no_instruction() {
    assert_eq!(
        decoder().decode(&[1, 2], 0x10),
        Err("2 bytes at 0x10 are no instruction of 4".to_string())
    );
    assert_eq!(
        decoder().decode(&0xffff_ffff_u32.to_le_bytes(), 0x10),
        Err("unknown AArch64 instruction 0xffffffff at 0x10".to_string())
    );
    // 32-bit shifts and fields beyond the register, CASP of an odd register.
    for word in [0x0b01_8000, 0x5300_fc00, 0x0861_7c40, 0x1200_fc00_u32] {
        assert!(text_at(word, 0).is_err(), "{word:08x}");
    }
}

#[test]
fn flow() {
    let cases = [
        (0x1400_0001, Flow::Jump),
        (0x9400_0001, Flow::Call),
        (0x5400_0021, Flow::Branch),
        (0xb400_0020, Flow::Branch),
        (0x3700_0020, Flow::Branch),
        (0xd61f_0200, Flow::JumpRegister),
        (0xd61f_03c0, Flow::Return),
        (0xd63f_0200, Flow::CallRegister),
        (0xd65f_03c0, Flow::Return),
        (0xd65f_0bff, Flow::Return),
        (0xd420_7d00, Flow::Trap),
        (0x0000_0000, Flow::Trap),
        (0xd503_201f, Flow::Next),
        (0x5800_0020, Flow::Next),
    ];
    for (word, flow) in cases {
        let decoded = decoder().decode(&u32::to_le_bytes(word), 0).expect("an instruction");
        assert_eq!(decoded.flow, flow, "{word:08x}");
    }
}

/// Words as llvm-mc 22 assembles them, at 0x1000.
const TEXTS: &str = include_str!("tests/texts.txt");
