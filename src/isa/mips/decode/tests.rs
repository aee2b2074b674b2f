use super::{Release, decoder, without_delay_slots, without_halves};
use crate::machine::{Decoded, Flow, Operand};
use crate::mips::Mips;
use crate::seq::Machine;
use proptest::prelude::*;
use std::collections::BTreeSet;

// Instructions at 0x1000, as an independent assembler encodes them: the text that they give.

#[rustfmt::skip]
const BOTH: &[(&str, u32)] = &[
    ("nop", 0x00000000),
    ("ssnop", 0x00000040),
    ("ehb", 0x000000c0),
    ("sll $2,$3,31", 0x000317c0),
    ("srl $2,$3,1", 0x00031042),
    ("rotr $2,$3,1", 0x00231042),
    ("sra $2,$3,4", 0x00031103),
    ("sllv $2,$3,$4", 0x00831004),
    ("srlv $2,$3,$4", 0x00831006),
    ("rotrv $2,$3,$4", 0x00831046),
    ("srav $2,$3,$4", 0x00831007),
    ("dsll $2,$3,31", 0x000317f8),
    ("dsll $2,$3,33", 0x0003107c),
    ("dsrl $2,$3,32", 0x0003103e),
    ("drotr $2,$3,5", 0x0023117a),
    ("drotr $2,$3,37", 0x0023117e),
    ("dsra $2,$3,63", 0x000317ff),
    ("dsllv $2,$3,$4", 0x00831014),
    ("drotrv $2,$3,$4", 0x00831056),
    ("dsrav $2,$3,$4", 0x00831017),
    ("jalr $25", 0x0320f809),
    ("jalr $2,$25", 0x03201009),
    ("break", 0x0000000d),
    ("break 7", 0x0007000d),
    ("sync", 0x0000000f),
    ("sync 4", 0x0000010f),
    ("add $2,$3,$4", 0x00641020),
    ("addu $2,$3,$4", 0x00641021),
    ("subu $2,$0,$4", 0x00041023),
    ("and $2,$3,$4", 0x00641024),
    ("or $2,$3,$4", 0x00641025),
    ("move $2,$3", 0x00601025),
    ("xor $2,$3,$4", 0x00641026),
    ("nor $2,$3,$0", 0x00601027),
    ("slt $2,$3,$4", 0x0064102a),
    ("sltu $2,$3,$4", 0x0064102b),
    ("daddu $2,$3,$4", 0x0064102d),
    ("move $2,$3", 0x0060102d),
    ("dsubu $2,$3,$4", 0x0064102f),
    ("teq $4,$0,7", 0x008001f4),
    ("teq $0,$0,0", 0x00000034),
    ("bltz $2,0x100c", 0x04400002),
    ("bgez $2,0xffc", 0x0441fffe),
    ("bal 0x100c", 0x04110002),
    ("j 0x2000", 0x08000800),
    ("jal 0x2000", 0x0c000800),
    ("beq $2,$3,0xffffffffffff9004", 0x1043e000),
    ("beq $2,$0,0x1008", 0x10400001),
    ("b 0x1014", 0x10000004),
    ("bne $2,$3,0x1008", 0x14430001),
    ("blez $2,0x1008", 0x18400001),
    ("bgtz $2,0x1008", 0x1c400001),
    ("addiu $2,$3,-1", 0x2462ffff),
    ("li $2,-1", 0x2402ffff),
    ("li $2,65535", 0x3402ffff),
    ("slti $2,$3,-5", 0x2862fffb),
    ("sltiu $2,$3,1", 0x2c620001),
    ("andi $2,$3,65535", 0x3062ffff),
    ("ori $2,$3,1", 0x34620001),
    ("xori $2,$3,1", 0x38620001),
    ("lui $2,65535", 0x3c02ffff),
    ("daddiu $29,$29,-32", 0x67bdffe0),
    ("ext $2,$3,4,5", 0x7c622100),
    ("dext $2,$3,4,5", 0x7c622103),
    ("dext $2,$3,0,40", 0x7c623801),
    ("dext $2,$3,44,3", 0x7c621302),
    ("ins $2,$3,8,6", 0x7c626a04),
    ("dins $2,$3,4,8", 0x7c625907),
    ("dins $2,$3,0,36", 0x7c621805),
    ("dins $2,$3,36,16", 0x7c629906),
    ("wsbh $2,$3", 0x7c0310a0),
    ("seb $2,$3", 0x7c031420),
    ("seh $2,$3", 0x7c031620),
    ("dsbh $2,$3", 0x7c0310a4),
    ("dshd $2,$3", 0x7c031164),
    ("rdhwr $3,$29", 0x7c03e83b),
    ("lb $2,-1($4)", 0x8082ffff),
    ("lh $2,0($4)", 0x84820000),
    ("lw $2,0($4)", 0x8c820000),
    ("lbu $2,0($4)", 0x90820000),
    ("lhu $2,0($4)", 0x94820000),
    ("lwu $2,0($4)", 0x9c820000),
    ("sb $2,0($4)", 0xa0820000),
    ("sh $2,0($4)", 0xa4820000),
    ("sw $0,32767($4)", 0xac807fff),
    ("ld $2,-32768($4)", 0xdc828000),
    ("sd $31,24($29)", 0xffbf0018),
    ("lwc1 $f2,4($4)", 0xc4820004),
    ("sdc1 $f2,4($4)", 0xf4820004),
    ("dmfc1 $2,$f3", 0x44221800),
    ("dmtc1 $2,$f3", 0x44a21800),
    ("mov.d $f2,$f3", 0x46201886),
    ("add.s $f2,$f3,$f4", 0x46041880),
    ("trunc.l.d $f2,$f3", 0x46201889),
];

#[rustfmt::skip]
const OLD: &[(&str, u32)] = &[
    ("movz $2,$3,$4", 0x0064100a),
    ("movn $2,$3,$4", 0x0064100b),
    ("mfhi $2", 0x00001010),
    ("mtlo $2", 0x00400013),
    ("mult $2,$3", 0x00430018),
    ("dmultu $2,$3", 0x0043001d),
    ("div $2,$3", 0x0043001a),
    ("ddivu $2,$3", 0x0043001f),
    ("madd $2,$3", 0x70430000),
    ("msubu $2,$3", 0x70430005),
    ("beql $2,$3,0x100c", 0x50430002),
    ("bnel $2,$0,0x100c", 0x54400002),
    ("bgezl $2,0x100c", 0x04430002),
    ("blezl $2,0x100c", 0x58400002),
    ("bltzal $2,0x100c", 0x04500002),
    ("ldl $2,7($4)", 0x68820007),
    ("swr $2,0($4)", 0xb8820000),
    ("bc1t $fcc0,0x100c", 0x45010002),
    ("c.lt.d $fcc0,$f2,$f3", 0x4623103c),
    ("movf $2,$3,$fcc1", 0x00641001),
    ("jr $31", 0x03e00008),
    ("jr $25", 0x03200008),
    ("ll $2,0($4)", 0xc0820000),
    ("sc $2,-4($4)", 0xe082fffc),
    ("lld $2,0($4)", 0xd0820000),
    ("scd $2,8($4)", 0xf0820008),
    ("pref 4,8($4)", 0xcc840008),
    ("clz $2,$3", 0x70621020),
    ("dclo $2,$3", 0x70621025),
    ("mul $2,$3,$4", 0x70641002),
];

#[rustfmt::skip]
const NEW: &[(&str, u32)] = &[
    ("muh $2,$3,$4", 0x006410d8),
    ("dmulu $2,$3,$4", 0x0064109d),
    ("div $2,$3,$4", 0x0064109a),
    ("dmodu $2,$3,$4", 0x006410df),
    ("lsa $2,$3,$4,1", 0x00641005),
    ("dlsa $2,$3,$4,4", 0x006410d5),
    ("seleqz $2,$3,$4", 0x00641035),
    ("selnez $2,$3,$4", 0x00641037),
    ("aui $2,$3,1", 0x3c620001),
    ("daui $2,$3,65535", 0x7462ffff),
    ("dahi $2,1", 0x04460001),
    ("dati $2,1", 0x045e0001),
    ("align $2,$3,$4,3", 0x7c6412e0),
    ("dalign $2,$3,$4,7", 0x7c6413e4),
    ("bitswap $2,$3", 0x7c031020),
    ("bc 0x1000", 0xcbffffff),
    ("balc 0x100c", 0xe8000002),
    ("jrc $31", 0xd81f0000),
    ("jrc $25", 0xd8190000),
    ("jalrc $25", 0xf8190000),
    ("jic $25,4", 0xd8190004),
    ("jialc $25,4", 0xf8190004),
    ("beqzc $2,0x100c", 0xd8400002),
    ("bnezc $2,0xffc", 0xf85ffffe),
    ("beqc $2,$3,0x100c", 0x20430002),
    ("bnec $2,$3,0x100c", 0x60430002),
    ("bltc $2,$3,0x100c", 0x5c430002),
    ("bgec $2,$3,0x100c", 0x58430002),
    ("bltuc $2,$3,0x100c", 0x1c430002),
    ("bgeuc $2,$3,0x100c", 0x18430002),
    ("blezc $2,0x100c", 0x58020002),
    ("bgezc $2,0x100c", 0x58420002),
    ("bltzc $2,0x100c", 0x5c420002),
    ("bgtzc $2,0x100c", 0x5c020002),
    ("bgezalc $2,0x100c", 0x18420002),
    ("beqzalc $2,0x100c", 0x20020002),
    ("bovc $3,$2,0x100c", 0x20620002),
    ("addiupc $2,0x1008", 0xec400002),
    ("auipc $2,1", 0xec5e0001),
    ("ldpc $2,0x1008", 0xec580001),
    ("bc1nez $f2,0x100c", 0x45a20002),
    ("cmp.lt.d $f2,$f3,$f4", 0x46a41884),
    ("sel.d $f2,$f3,$f4", 0x46241890),
    ("jr $31", 0x03e00009),
    ("jr $25", 0x03200009),
    ("ll $2,0($4)", 0x7c820036),
    ("sc $2,-4($4)", 0x7c82fe26),
    ("lld $2,0($4)", 0x7c820037),
    ("scd $2,8($4)", 0x7c820427),
    ("pref 4,8($4)", 0x7c840435),
    ("clz $2,$3", 0x00601050),
    ("dclo $2,$3", 0x00601053),
    ("mul $2,$3,$4", 0x00641098),
];

fn decode(word: u32, release: Release) -> Result<Decoded, String> {
    let big = decoder(true, release).decode(&word.to_be_bytes(), 0x1000);
    assert_eq!(decoder(false, release).decode(&word.to_le_bytes(), 0x1000), big);
    big
}

fn text(insn: &Decoded) -> String {
    insn.text(decoder(false, Release::R2).style(), &|at| format!("0x{at:x}"))
}

#[test]
fn every_form() {
    for (release, tables) in [(Release::R2, [BOTH, OLD]), (Release::R6, [BOTH, NEW])] {
        for (expected, word) in tables.into_iter().flatten() {
            let got = decode(*word, release).map(|insn| text(&insn));
            assert_eq!(got.as_deref(), Ok(*expected), "0x{word:08x}");
        }
    }
}

#[test]
fn an_encoding_may_mean_something_else_in_release_6() {
    for (word, old, new) in [
        (0x2064_0002, Some("addi $4,$3,2"), Some("beqc $3,$4,0x100c")),
        (0x5864_0002, None, Some("bgec $3,$4,0x100c")),
        (0x5064_0002, Some("beql $3,$4,0x100c"), None),
        (0xd864_0002, None, Some("beqzc $3,0x10100c")),
        (0x0064_0018, Some("mult $3,$4"), None),
    ] {
        let got = |release| decode(word, release).ok().map(|insn| text(&insn));
        assert_eq!((got(Release::R2).as_deref(), got(Release::R6).as_deref()), (old, new));
    }
}

#[test]
fn where_control_goes() {
    for (word, flow) in [
        (0x1000_0003, Flow::Jump),         // b
        (0x0800_0400, Flow::Jump),         // j
        (0x0c00_0400, Flow::Call),         // jal
        (0x0411_0002, Flow::Call),         // bal
        (0x0441_0002, Flow::Branch),       // bgez
        (0x03e0_0009, Flow::Return),       // jr $31, as release 6 has it
        (0x0320_0009, Flow::JumpRegister), // jr $25
        (0x0320_f809, Flow::CallRegister), // jalr $25
        (0x0000_000d, Flow::Trap),         // break
        (0x0000_0034, Flow::Trap),         // teq $0,$0
        (0x0080_01f4, Flow::Next),         // teq $4,$0,7
        (0x0000_000f, Flow::Next),         // sync
    ] {
        let insn = decode(word, Release::R6).expect("is known");
        assert_eq!(insn.flow, flow, "{insn:?}");
        let code = insn.operands.iter().any(|o| matches!(o, Operand::Code(_)));
        assert_eq!(code, matches!(flow, Flow::Jump | Flow::Call | Flow::Branch));
    }
}

#[test]
fn what_is_no_instruction_is_named() {
    let error = |bytes: &[u8]| decoder(false, Release::R2).decode(bytes, 0x1000).unwrap_err();
    assert_eq!(error(&[0, 0, 0]), "the MIPS instruction at 0x1000 is cut off");
    assert_eq!(
        error(&[0xff, 0xff, 0xff, 0x7f]),
        "0x7fffffff at 0x1000 is no instruction of MIPS64 release 2 that is known here"
    );
}

fn listing(code: &[Decoded]) -> String {
    let targets: BTreeSet<u64> = code
        .iter()
        .flat_map(|insn| &insn.operands)
        .filter_map(|o| if let Operand::Code(at) = o { Some(*at) } else { None })
        .collect();
    let mut out = String::new();
    let mut last = None;
    for insn in code {
        if last != Some(insn.at) && targets.contains(&insn.at) {
            out += &format!("L{:x}: ", insn.at);
        }
        last = Some(insn.at);
        out += &insn.text(decoder(false, Release::R2).style(), &|at| format!("L{at:x}"));
        out.push('\n');
    }
    let end = code.last().map_or(0, |i| i.at + u64::from(i.len));
    out + &format!("L{end:x}:")
}

fn decoded(words: &[u32]) -> Vec<Decoded> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let at = |i: usize| decoder(false, Release::R2).decode(&bytes[4 * i..], 4 * i as u64);
    (0..words.len()).map(|i| at(i).expect("is known")).collect()
}

fn straightened(words: &[u32]) -> Result<String, String> {
    without_delay_slots(decoded(words)).map(|code| listing(&code))
}

/// `addiu`
fn add(to: u32, from: u32, n: u32) -> u32 {
    9 << 26 | from << 21 | to << 16 | n
}

/// `beq` and the like, over so many instructions after the slot.
fn branch(opcode: u32, a: u32, b: u32, over: u32) -> u32 {
    opcode << 26 | a << 21 | b << 16 | (over + 1)
}

const BEQ: u32 = 4;
const BNE: u32 = 5;
const BEQL: u32 = 0x14;

#[test]
fn slots_come_before_their_branches() {
    // Nothing to do but to drop a `nop`, or to keep it where something goes to it.
    let code = straightened(&[branch(BEQ, 2, 3, 0), 0, add(4, 4, 1)]);
    assert_eq!(code.as_deref(), Ok("beq $2,$3,L8\nL8: addiu $4,$4,1\nLc:"));
    let code = straightened(&[branch(BEQ, 0, 0, 1), branch(BNE, 2, 3, 0), 0]);
    assert!(code.is_err_and(|e| e.contains("in the delay slot of `b`, is a branch itself")));
    // Moved.
    let code = straightened(&[branch(BNE, 2, 3, 1), add(4, 4, 1), add(5, 5, 1)]);
    assert_eq!(code.as_deref(), Ok("addiu $4,$4,1\nbne $2,$3,Lc\naddiu $5,$5,1\nLc:"));
    // It writes what the branch reads.
    let code = straightened(&[branch(BNE, 2, 3, 1), add(3, 3, 1), add(5, 5, 1)]);
    assert_eq!(
        code.as_deref(),
        Ok("move $26,$3\naddiu $3,$3,1\nbne $2,$26,Lc\naddiu $5,$5,1\nLc:")
    );
    // A jump to the branch runs the slot, too.
    let back = branch(BNE, 2, 3, 0xfffd);
    let code = straightened(&[0, back, add(4, 4, 1)]);
    assert_eq!(code.as_deref(), Ok("L0: nop\naddiu $4,$4,1\nbne $2,$3,L0\nLc:"));
    let back = branch(BNE, 2, 3, 0xfffe);
    let code = straightened(&[back, add(4, 4, 1)]);
    assert_eq!(code.as_deref(), Ok("L0: addiu $4,$4,1\nbne $2,$3,L0\nL8:"));
    // Likely branches.
    let code = straightened(&[branch(BEQL, 2, 3, 1), add(2, 2, 1), add(5, 5, 1)]);
    assert_eq!(code.as_deref(), Ok("bne $2,$3,L8\naddiu $2,$2,1\nb Lc\nL8: addiu $5,$5,1\nLc:"));
    let code = straightened(&[branch(BEQL, 2, 3, 0), 0]);
    assert_eq!(code.as_deref(), Ok("beq $2,$3,L8\nL8:"));
    // Calls and returns: stores and what restores the stack go before them.
    let (jalr, ret) = (0x0320_f809, 0x03e0_0008);
    let code = straightened(&[jalr, add(4, 0, 1), ret, add(29, 29, 32)]);
    assert_eq!(code.as_deref(), Ok("li $4,1\njalr $25\naddiu $29,$29,32\njr $31\nL10:"));
    let code = straightened(&[jalr, add(25, 4, 1)]);
    assert_eq!(code.as_deref(), Ok("move $26,$25\naddiu $25,$4,1\njalr $26\nL8:"));
}

/// Of a value at an aligned address, each half of an unaligned access is the whole (MIPS64's manual, volume II, LDL, LDR,
/// SDL, SDR and those of words).
#[test]
fn halves_of_an_access_are_the_whole() {
    // swl and swr, sdl and sdr, lwl and lwr, ldl and ldr of $2 at an offset from $4.
    let of = |opcode: u32, offset: u32| opcode << 26 | 4 << 21 | 2 << 16 | offset;
    let plain = |words: &[u32], big: bool| listing(&without_halves(decoded(words), big));
    for (high, low, last, name) in
        [(0x2a, 0x2e, 3, "sw"), (0x2c, 0x2d, 7, "sd"), (0x22, 0x26, 3, "lw"), (0x1a, 0x1b, 7, "ld")]
    {
        let little = [of(high, 8 + last), of(low, 8)];
        let big = [of(high, 8), of(low, 8 + last)];
        let both = format!("{name} $2,8($4)\n{name} $2,8($4)\nL8:");
        assert_eq!(plain(&little, false), both);
        assert_eq!(plain(&big, true), both);
        // A value that is not aligned is in two parts.
        let odd = [of(high, 9 + last), of(low, 9)];
        assert!(!plain(&odd, false).contains(&format!("{name} ")));
        // The other half is missing.
        for alone in [[little[0], 0], [0, little[1]], [little[0], big[1]]] {
            assert!(!plain(&alone, false).contains(&format!("{name} ")));
        }
    }
}

#[test]
fn what_cannot_be_put_in_order_is_refused() {
    let error = |words: &[u32]| straightened(words).unwrap_err();
    let into = [branch(BNE, 2, 3, 1), 0, branch(BEQ, 2, 3, 0), add(4, 4, 1)];
    assert_eq!(
        error(&into),
        "a branch goes to 0xc, in the delay slot of `beq` at 0x8; such code cannot be put into \
         the order of its execution"
    );
    assert_eq!(
        error(&[branch(BEQ, 0, 0, 0)]),
        "the code ends at 0x4, in the delay slot of `b` at 0x0"
    );
    assert_eq!(
        error(&[0x0c00_0000, add(4, 31, 0)]),
        "`addiu` at 0x4, in the delay slot of `jal`, uses $31, which holds the return address then"
    );
    assert_eq!(
        error(&[branch(BNE, 2, 3, 0), 0x7c03_e83b]),
        "which registers `rdhwr` at 0x4, in a delay slot, writes is not known here"
    );
    assert_eq!(
        error(&[0x4501_0001, 0]),
        "what `bc1t` at 0x0 does with its delay slot is not known here"
    );
    let busy = [add(26, 27, 1), branch(BNE, 2, 3, 0), add(3, 3, 1)];
    assert!(error(&busy).contains("no register is free for a copy"));
}

/// Whether the simulator does not read it.
fn out_of_scope(insn: &Decoded) -> bool {
    const NAMES: &[&str] = &[
        // Floating point, whose names have a dot but for these.
        "bc1f", "bc1t", "bc1fl", "bc1tl", "bc1eqz", "bc1nez", "movf", "movt", "lwc1", "ldc1",
        "swc1", "sdc1", "mfc1", "dmfc1", "mfhc1", "mtc1", "dmtc1", "mthc1", "cfc1", "ctc1",
        "lwxc1", "ldxc1", "swxc1", "sdxc1", // Unaligned accesses.
        "ldl", "ldr", "lwl", "lwr", "sdl", "sdr", "swl", "swr",
        // Traps under a condition, and the system.
        "tge", "tgeu", "tlt", "tltu", "tne", "tgei", "tgeiu", "tlti", "tltiu", "teqi", "tnei",
        "syscall", "rdhwr", "cache", "sigrie", // What no compiler makes of C.
        "bgezall", "bltzall", "bovc", "bnvc", "beqzalc", "bnezalc", "blezalc", "bgezalc",
        "bgtzalc", "bltzalc", "jic", "jialc", "align", "dalign", "bitswap", "dbitswap",
        // Addresses relative to the code, in place of which lifting puts a location.
        "addiupc", "lwpc", "lwupc", "ldpc", "auipc", "aluipc",
    ];
    let name = insn.mnemonic.as_str();
    NAMES.contains(&name)
        || name.contains('.') && !name.ends_with(".hb")
        || name == "teq" && insn.flow == Flow::Next
}

/// Any 32 bits; and words that have more zeros, as functions of opcodes do.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a & b),
        (any::<u32>(), any::<u32>()).prop_map(|(a, b)| (a & b) & 0x03ff_ffff),
        (any::<u32>(), any::<u32>()).prop_map(|(a, b)| (a & b) & 0x03ff_ffff | 0x7c00_0000),
    ]
}

/// Code without branches into delay slots: what stands there, with or without a branch before
/// it, and over how many of the following such groups that goes.
fn groups() -> impl Strategy<Value = Vec<u32>> {
    let insn = (2u32..5, 2u32..5, 0u32..4).prop_map(|(to, from, n)| match n {
        0 => 0,
        1 => 0x0000_000b | from << 21 | 3 << 16 | to << 11, // movn
        _ => add(to, from, n),
    });
    let opcode = prop::sample::select(vec![BEQ, BNE, BEQL, 0x15]);
    let jump = prop::option::of((opcode, 2u32..5, 0u32..5, 0usize..4));
    prop::collection::vec((insn, jump), 1..12).prop_map(|groups| {
        let lens: Vec<u32> = groups.iter().map(|(_, j)| 1 + u32::from(j.is_some())).collect();
        let mut words = Vec::new();
        for (i, (insn, jump)) in groups.iter().enumerate() {
            if let Some((opcode, a, b, over)) = jump {
                words.push(branch(*opcode, *a, *b, lens[i + 1..].iter().take(*over).sum()));
            }
            words.push(*insn);
        }
        words
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn order_makes_no_difference(words in groups(), regs in prop::array::uniform3(0u128..3)) {
        let run = |slots: bool, text: &str| {
            let mut m = Machine::default();
            for (name, v) in ["$2", "$3", "$4"].iter().zip(regs) {
                m.set(name, v);
            }
            m.run(&Mips { delay_slots: slots }, text);
            ["$2", "$3", "$4"].map(|name| m.reg(name))
        };
        let written = listing(&decoded(&words));
        let code = straightened(&words).expect("is put in order");
        prop_assert_eq!(run(true, &written), run(false, &code), "{}\n--\n{}", written, code);
    }

    #[test]
    fn what_is_decoded_reads_back(word in word()) {
        for release in [Release::R2, Release::R6] {
            if let Ok(insn) = decode(word, release)
                && !out_of_scope(&insn)
            {
                let text = insn.text(decoder(true, release).style(), &|_| "L".to_string());
                let isa = Mips { delay_slots: false };
                let read = Machine::default().code(&isa, &format!("L: {text}"));
                prop_assert!(read.is_ok(), "{word:08x} `{text}`: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..6),
        words in prop::collection::vec(word(), 0..6),
        at in any::<u64>(),
    ) {
        let decoder = decoder(false, Release::R2);
        if let Ok(insn) = decoder.decode(&bytes, at) {
            prop_assert!(usize::from(insn.len) <= bytes.len());
        }
        let code = words.iter().enumerate().filter_map(|(i, word)| {
            decoder.decode(&word.to_le_bytes(), at.wrapping_add(4 * i as u64)).ok()
        });
        let _ = without_delay_slots(code.collect());
    }
}
