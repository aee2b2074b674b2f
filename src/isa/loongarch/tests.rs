//! LoongArch: what instructions compute, which events they make, and what depends on what.

mod execution;

use super::LoongArch;
use super::decode::decoder;
use crate::Isa;
use crate::machine::{Flow, Operand};
use crate::seq::{BASE, Deps, Machine, What};
use litmake_ops::{Tags, tag};
use proptest::prelude::*;

/// Runs with memory and registers prepared; $r10 and $r11 hold the addresses of two locations.
fn run(text: &str, prepare: impl FnOnce(&mut Machine)) -> Machine {
    let mut m = Machine::default();
    m.choose = true;
    m.set("$r10", 16 * BASE);
    m.set("$r11", 17 * BASE);
    prepare(&mut m);
    m.run(&LoongArch, text);
    m
}

fn error(text: &str) -> String {
    Machine::default().code(&LoongArch, text).expect_err(text)
}

/// Instructions at 0x1000 as clang 22 assembles them, and the text that they give.
#[rustfmt::skip]
const WORDS: &[(&str, u32)] = &[
    ("nop", 0x03400000),
    ("move $r4,$r5", 0x001500a4),
    ("ret", 0x4c000020),
    ("jr $r12", 0x4c000180),
    ("jirl $r1,$r12,16", 0x4c001181),
    ("b 0x1800", 0x50080000),
    ("bl 0xffc", 0x57ffffff),
    ("beqz $r4,0x1008", 0x40000880),
    ("bnez $r4,0xff8", 0x47fff89f),
    ("beq $r4,$r5,0x1010", 0x58001085),
    ("bne $r4,$r0,0xff0", 0x5ffff080),
    ("blt $r4,$r5,0x100c", 0x60000c85),
    ("bge $r4,$r5,0x100c", 0x64000c85),
    ("bltu $r4,$r5,0x100c", 0x68000c85),
    ("bgeu $r4,$r5,0x100c", 0x6c000c85),
    ("break 0", 0x002a0000),
    ("ud 0", 0x38600400),
    ("syscall 1", 0x002b0001),
    ("dbar 20", 0x38720014),
    ("dbar 1792", 0x38720700),
    ("ibar 0", 0x38728000),
    ("ld.b $r4,$r5,-1", 0x283ffca4),
    ("ld.hu $r4,$r5,2047", 0x2a5ffca4),
    ("ld.d $r4,$r5,-2048", 0x28e000a4),
    ("st.w $r0,$r5,4", 0x298010a0),
    ("ldptr.w $r4,$r5,8", 0x240008a4),
    ("stptr.d $r4,$r5,-32768", 0x278000a4),
    ("ldx.wu $r4,$r5,$r6", 0x382818a4),
    ("stx.b $r4,$r5,$r6", 0x381018a4),
    ("preld 8,$r5,64", 0x2ac100a8),
    ("ll.w $r4,$r5,0", 0x200000a4),
    ("ll.d $r4,$r5,-4", 0x22fffca4),
    ("sc.d $r4,$r5,8", 0x230008a4),
    ("sc.q $r4,$r6,$r5,0", 0x385718a4),
    ("llacq.w $r4,$r5,0", 0x385780a4),
    ("screl.d $r4,$r5,0", 0x38578ca4),
    ("amswap.w $r4,$r6,$r5,0", 0x386018a4),
    ("amadd_db.d $r4,$r6,$r5,0", 0x386a98a4),
    ("ammin_db.du $r4,$r6,$r5,0", 0x387198a4),
    ("ammax.wu $r4,$r6,$r5,0", 0x386718a4),
    ("amadd_db.b $r4,$r6,$r5,0", 0x385f18a4),
    ("amcas.h $r4,$r6,$r5,0", 0x385898a4),
    ("amcas_db.d $r4,$r6,$r5,0", 0x385b98a4),
    ("add.w $r4,$r5,$r6", 0x001018a4),
    ("sub.d $r4,$r0,$r6", 0x00119804),
    ("maskeqz $r4,$r5,$r6", 0x001318a4),
    ("masknez $r4,$r5,$r6", 0x001398a4),
    ("nor $r4,$r0,$r6", 0x00141804),
    ("orn $r4,$r5,$r6", 0x001618a4),
    ("rotr.d $r4,$r5,$r6", 0x001b98a4),
    ("mulh.du $r4,$r5,$r6", 0x001e98a4),
    ("mulw.d.wu $r4,$r5,$r6", 0x001f98a4),
    ("mod.wu $r4,$r5,$r6", 0x002198a4),
    ("alsl.w $r4,$r5,$r6,1", 0x000418a4),
    ("alsl.wu $r4,$r5,$r6,4", 0x000798a4),
    ("alsl.d $r4,$r5,$r6,3", 0x002d18a4),
    ("bytepick.w $r4,$r5,$r6,3", 0x000998a4),
    ("bytepick.d $r4,$r5,$r6,7", 0x000f98a4),
    ("slli.w $r4,$r5,31", 0x0040fca4),
    ("srai.d $r4,$r5,63", 0x0049fca4),
    ("rotri.d $r4,$r5,1", 0x004d04a4),
    ("bstrins.w $r4,$r5,31,1", 0x007f04a4),
    ("bstrpick.d $r4,$r5,63,1", 0x00ff04a4),
    ("bstrins.d $r4,$r0,1,0", 0x00810004),
    ("slti $r4,$r5,-3", 0x023ff4a4),
    ("sltui $r4,$r5,1", 0x024004a4),
    ("addi.w $r4,$r0,1", 0x02800404),
    ("addi.d $r3,$r3,-32", 0x02ff8063),
    ("lu52i.d $r4,$r5,-1", 0x033ffca4),
    ("ori $r4,$r0,4095", 0x03bffc04),
    ("xori $r4,$r5,1", 0x03c004a4),
    ("addu16i.d $r4,$r5,-1", 0x13fffca4),
    ("lu12i.w $r4,-1", 0x15ffffe4),
    ("lu32i.d $r4,524287", 0x16ffffe4),
    ("pcaddu18i $r1,0", 0x1e000001),
    ("pcalau12i $r4,-1", 0x1bffffe4),
    ("clo.w $r4,$r5", 0x000010a4),
    ("ctz.d $r4,$r5", 0x00002ca4),
    ("revb.2h $r4,$r5", 0x000030a4),
    ("revb.d $r4,$r5", 0x00003ca4),
    ("bitrev.w $r4,$r5", 0x000050a4),
    ("ext.w.b $r4,$r5", 0x00005ca4),
    ("ext.w.h $r4,$r5", 0x000058a4),
    ("fld.s $f1,$r5,4", 0x2b0010a1),
    ("fst.s $f1,$r5,4", 0x2b4010a1),
    ("fld.d $f1,$r5,8", 0x2b8020a1),
    ("fst.d $f1,$r5,-8", 0x2bffe0a1),
    ("fldx.s $f1,$r5,$r6", 0x383018a1),
    ("fldx.d $f1,$r5,$r6", 0x383418a1),
    ("fstx.s $f1,$r5,$r6", 0x383818a1),
    ("fstx.d $f1,$r5,$r6", 0x383c18a1),
    ("movgr2fr.w $f1,$r5", 0x0114a4a1),
    ("movgr2fr.d $f1,$r5", 0x0114a8a1),
    ("movfr2gr.s $r4,$f1", 0x0114b424),
    ("movfr2gr.d $r4,$f1", 0x0114b824),
    ("fmov.s $f1,$f2", 0x01149441),
    ("fmov.d $f1,$f2", 0x01149841),
    ("vld $vr1,$r5,16", 0x2c0040a1),
    ("vst $vr1,$r5,-16", 0x2c7fc0a1),
    ("vldx $vr1,$r5,$r6", 0x384018a1),
    ("vstx $vr1,$r5,$r6", 0x384418a1),
    ("vstelm.d $vr1,$r5,-8,1", 0x3117fca1),
    ("vpickve2gr.d $r4,$vr1,1", 0x72eff424),
    ("vpickve2gr.du $r4,$vr1,0", 0x72f3f024),
    ("vinsgr2vr.d $vr1,$r5,1", 0x72ebf4a1),
    ("vreplgr2vr.d $vr1,$r5", 0x729f0ca1),
    ("vldi $vr1,0", 0x73e00001),
    ("vldi $vr1,3079", 0x73e180e1),
];

fn text(word: u32) -> Result<String, String> {
    let insn = decoder().decode(&word.to_le_bytes(), 0x1000)?;
    Ok(insn.text(decoder().style(), &|at| format!("0x{at:x}")))
}

#[test]
fn every_form_is_decoded() {
    for (expected, word) in WORDS {
        assert_eq!(text(*word).as_deref(), Ok(*expected), "0x{word:x}");
    }
}

#[test]
fn where_control_goes() {
    for (expected, flow) in [
        ("b 0x1800", Flow::Jump),
        ("bl 0xffc", Flow::Call),
        ("beqz $r4,0x1008", Flow::Branch),
        ("bgeu $r4,$r5,0x100c", Flow::Branch),
        ("ret", Flow::Return),
        ("jr $r12", Flow::JumpRegister),
        ("jirl $r1,$r12,16", Flow::CallRegister),
        ("break 0", Flow::Trap),
        ("ud 0", Flow::Trap),
        ("dbar 20", Flow::Next),
    ] {
        let (_, word) = WORDS.iter().find(|(text, _)| *text == expected).expect(expected);
        let insn = decoder().decode(&word.to_le_bytes(), 0x1000).expect("is known");
        assert_eq!(insn.flow, flow, "{expected}");
        let code = insn.operands.iter().any(|o| matches!(o, Operand::Code(_)));
        assert_eq!(code, matches!(flow, Flow::Jump | Flow::Call | Flow::Branch), "{expected}");
    }
}

#[test]
fn what_is_no_instruction_is_named() {
    let decode = |bytes: &[u8]| decoder().decode(bytes, 0x1000).map(|d| d.mnemonic);
    assert_eq!(
        decode(&[1, 2, 3]),
        Err("the LoongArch instruction at 0x1000 is cut off".to_string())
    );
    assert_eq!(
        decode(&[0xff; 4]),
        Err("0xffffffff at 0x1000 is no LoongArch instruction that is known here".to_string())
    );
}

/// No word is two instructions.
#[test]
fn encodings_are_apart() {
    let rows = super::table::ROWS;
    for row in rows {
        let same: Vec<&str> = rows.iter().filter(|r| r.is(row.value)).map(|r| r.name).collect();
        assert_eq!(same, [row.name]);
        assert_eq!(rows.iter().filter(|r| r.name == row.name).count(), 1, "{}", row.name);
    }
}

/// Any 32 bits, or an instruction with random operands.
fn word() -> impl Strategy<Value = u32> {
    let row = (0..super::table::ROWS.len(), any::<u32>());
    prop_oneof![any::<u32>(), row.prop_map(|(at, bits)| super::table::ROWS[at].with(bits))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// But addresses that are relative to the code, which lifting replaces by a location.
    #[test]
    fn what_is_decoded_reads_back(word in word()) {
        if let Ok(insn) = decoder().decode(&word.to_le_bytes(), 0x1000)
            && !insn.mnemonic.starts_with("pca")
        {
            let text = insn.text(decoder().style(), &|_| "L".to_string());
            let read = Machine::default().code(&LoongArch, &format!("L: {text}"));
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

    #[test]
    fn arbitrary_lines_never_panic(text in "[a-z0-9._]{0,9} ?[ -~é\n]{0,24}") {
        let _ = Machine::default().code(&LoongArch, &text);
    }

    #[test]
    fn near_misses_never_panic(
        name in prop::sample::select(vec![
            "add.d", "ld.w", "st.w", "amadd.w", "amcas_db.d", "ll.w", "sc.q", "dbar", "addi.d",
            "pcalau12i", "jirl", "bl", "beqz", "la.local", "bstrins.d", "alsl.d", "li.d", "jr",
        ]),
        args in prop::collection::vec(
            prop::sample::select(vec![
                "$r5", "$a0", "$zero", "8", "%pc_lo12(x)", "%pc_hi20(x+4)", "%got_pc_lo12(x)", "x",
                "x+", "1f", "-1", "99999999999999999999", "", "%", "%pc_hi20", "(", ")", "0x", "300",
            ]),
            0..5,
        ),
    ) {
        let _ = Machine::default().code(&LoongArch, &format!("{name} {}", args.join(",")));
    }
}

#[test]
fn annotations() {
    let tags = |line: &str| -> Vec<Tags> {
        let m = run(line, |_| {});
        m.events.iter().map(|e| e.tags).collect()
    };
    let (x, ex) = (tag::X, tag::EX);
    for (line, expected) in [
        ("ld.w $r5,$r10,0", Tags::NONE),
        ("stx.d $r5,$r10,$r0", Tags::NONE),
        ("ll.w $r5,$r10,0", ex),
        ("llacq.d $r5,$r10", ex | tag::RV_Acq),
        ("sc.w $r5,$r10,0", ex),
        ("screl.w $r5,$r10", ex | tag::RV_Rel),
        ("sc.q $r5,$r6,$r10", ex),
        ("amswap.w $r0,$r5,$r10", x),
        ("amadd_db.d $r5,$r6,$r10,0", x | tag::AMDB),
        // The hints in the order of their bits, which leave out earlier reads and writes, and later ones.
        ("dbar 0b10000", tag::DBAR_rw_rw),
        ("dbar 0b10001", tag::DBAR_rw_r),
        ("dbar 0b10010", tag::DBAR_rw_w),
        ("dbar 0b10100", tag::DBAR_r_rw),
        ("dbar 0b10101", tag::DBAR_r_r),
        ("dbar 0b10110", tag::DBAR_r_w),
        ("dbar 0b11000", tag::DBAR_w_rw),
        ("dbar 0b11001", tag::DBAR_w_r),
        ("dbar 0b11010", tag::DBAR_w_w),
        ("dbar 0b00101", tag::DBAR_r_r),
        ("dbar 0", tag::DBAR_rw_rw),
        ("dbar 0x700", tag::DBAR_SAME),
        // A hint that has no meaning is a full barrier.
        ("dbar 0x1234", tag::DBAR_rw_rw),
    ] {
        assert_eq!(tags(line), [expected], "{line}");
    }
    for nothing in ["dbar 0b11100", "dbar 0b10011", "ibar 0", "nop", "preld 0,$r10,0"] {
        assert_eq!(tags(nothing), [], "{nothing}");
    }
}

#[test]
fn loads_extend_and_stores_cut() {
    let m = run(
        "ld.b $r20,$r10,0\nld.bu $r21,$r10,0\nld.h $r22,$r10,0\nldx.hu $r23,$r10,$r0\n\
         ldptr.w $r24,$r10,0\nld.wu $r25,$r10,0\nldptr.d $r26,$r10,0\nld.w $r27,$r10,4\n\
         st.b $r26,$r11,0\nst.h $r26,$r11,8\nstptr.w $r26,$r11,-8",
        |m| m.poke(16 * BASE, 8, 0x1234_5678_ffff_ff80),
    );
    let regs: Vec<u64> = (20..28).map(|i| m.reg(&format!("$r{i}")) as u64).collect();
    let minus = -128i64 as u64;
    let whole = 0x1234_5678_ffff_ff80;
    assert_eq!(regs, [minus, 0x80, minus, 0xff80, minus, 0xffff_ff80, whole, 0x1234_5678]);
    assert_eq!(m.peek(17 * BASE, 8), 0x80);
    assert_eq!(m.peek(17 * BASE + 8, 8), 0xff80);
    assert_eq!(m.peek(17 * BASE - 8, 8), 0xffff_ff80);
}

#[test]
fn dependencies_are_syntactic() {
    // The address depends on the load although the value cancels; the register 0 carries nothing.
    let m = run(
        "ld.w $r5,$r10,0\nxor $r6,$r5,$r5\nadd.d $r7,$r11,$r6\nst.w $r0,$r7,0\n\
         and $r8,$r5,$r0\nst.d $r8,$r11,8\nadd.d $r0,$r5,$r5\nst.d $r0,$r11,16\n\
         masknez $r9,$r8,$r5\nst.d $r9,$r11,24",
        |_| {},
    );
    let deps = |i: usize| (m.events[i].addr_deps.clone(), m.events[i].data_deps.clone());
    let first = Deps::from([0]);
    assert_eq!(deps(1), (first.clone(), Deps::new()));
    assert_eq!(deps(2), (Deps::new(), first.clone()));
    assert_eq!(deps(3), (Deps::new(), Deps::new()));
    assert_eq!(deps(4), (Deps::new(), first));
    let m = run("ld.w $r5,$r10,0\nbne $r5,$r0,L\nL: st.w $r6,$r11,0", |_| {});
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
}

#[test]
fn a_store_conditional_says_whether_it_succeeded() {
    let text = "ll.w $r5,$r10,0\nmove $r6,$r7\nsc.w $r6,$r10,0\nst.w $r6,$r11,0";
    for (fail, status, held) in [(false, 1, 3), (true, 0, 0)] {
        let m = run(text, |m| {
            m.set("$r7", 3);
            m.fail = fail;
        });
        assert_eq!((m.reg("$r6"), m.peek(16 * BASE, 4)), (status, held));
    }
    let m = run("sc.q $r5,$r6,$r10", |m| {
        m.set("$r5", 1);
        m.set("$r6", 2);
    });
    assert_eq!((m.reg("$r5"), m.peek(16 * BASE, 16), m.events[0].size), (1, 2 << 64 | 1, 16));
}

#[test]
fn am_instructions_are_one_event() {
    let m = run("amadd_db.w $r7,$r6,$r10", |m| {
        m.set("$r6", 2);
        m.poke(16 * BASE, 4, 0xffff_fffe);
    });
    assert_eq!((m.events.len(), &m.events[0].what), (1, &What::Rmw));
    assert_eq!((m.reg("$r7") as i64, m.peek(16 * BASE, 8)), (-2, 0));
}

#[test]
fn compare_and_swap() {
    for (expected, success) in [(-5i64 as u64, true), (6, false)] {
        let run = |choose| {
            run("amcas_db.w $r6,$r7,$r10", |m| {
                m.set("$r6", expected.into());
                m.set("$r7", 9);
                m.poke(16 * BASE, 4, -5i32 as u32 as u128);
                m.choose = choose;
            })
        };
        let m = run(success);
        assert!(!m.dropped);
        assert_eq!(m.reg("$r6") as i64, -5);
        assert_eq!(m.peek(16 * BASE, 4) as i32, if success { 9 } else { -5 });
        let what = if success { What::Rmw } else { What::Load };
        assert_eq!((&m.events[0].what, m.events[0].tags), (&what, tag::X | tag::AMDB));
        // The other guess is no execution.
        assert!(run(!success).dropped);
    }
    let m = run("ld.w $r6,$r11,0\namcas.w $r6,$r7,$r10", |_| {});
    assert_eq!(m.events[1].data_deps, Deps::from([0]));
}

#[test]
fn locations_have_addresses() {
    let mut m = Machine::default();
    m.poke(2 * BASE, 8, 7);
    m.run(
        &LoongArch,
        "la.local $r5,y\npcalau12i $r6,%pc_hi20(x)\naddi.d $r6,$r6,%pc_lo12(x)\nld.w $r7,$r6,0\n\
         pcalau12i $r8,%got_pc_hi20(y)\nld.d $r8,$r8,%got_pc_lo12(y)\n\
         pcalau12i $r9,%pc_hi20(x)\nld.w $r20,$r9,%pc_lo12(x)\nst.d $r5,$r8,8",
    );
    assert_eq!(m.names.0, ["y", "x"]);
    assert_eq!((m.reg("$r5"), m.reg("$r6"), m.reg("$r7")), (BASE, 2 * BASE, 7));
    assert_eq!(m.reg("$r8"), BASE, "the offset table's entry is no event");
    assert_eq!(m.reg("$r20"), 7);
    assert_eq!(m.peek(BASE + 8, 8), BASE);
    assert_eq!(m.events.len(), 3);
}

#[test]
fn addresses_are_aligned_and_selected() {
    let mut m = Machine::default();
    m.run(&LoongArch, "la.local $r5,x\naddi.d $r5,$r5,3\nbstrins.d $r5,$r0,1,0\nori $r6,$r0,1");
    assert_eq!(m.reg("$r5"), BASE);
}

#[test]
fn vectors_are_moved() {
    let m = run(
        "vld $vr1,$r10,0\nvst $vr1,$r11,0\nvpickve2gr.d $r20,$vr1,1\nvinsgr2vr.d $vr1,$r0,0\n\
         vst $vr1,$r11,16\nvldi $vr2,3079\nvpickve2gr.du $r21,$vr2,1\nfld.s $fa0,$r10,4\n\
         movfr2gr.s $r22,$fa0\nvreplgr2vr.d $vr4,$r20\nvst $vr4,$r11,32\n\
         vinsgr2vr.d $vr4,$r21,0\nvstelm.d $vr4,$r11,48,0\nvstelm.d $vr4,$r11,56,1",
        |m| {
            m.poke(16 * BASE, 8, 0x8123_4567_0000_0001);
            m.poke(16 * BASE + 8, 8, 2);
        },
    );
    assert_eq!(m.peek(17 * BASE, 16), 2 << 64 | 0x8123_4567_0000_0001);
    assert_eq!(m.peek(17 * BASE + 16, 16), 2 << 64);
    assert_eq!(m.peek(17 * BASE + 32, 16), 2 << 64 | 2);
    assert_eq!(m.peek(17 * BASE + 48, 16), 2 << 64 | 7);
    assert_eq!((m.reg("$r20"), m.reg("$r21")), (2, 7));
    assert_eq!(m.reg("$r22") as i64, i64::from(0x8123_4567u32 as i32));
    assert_eq!(m.events[0].size, 16);
}

#[test]
fn calls_come_back_and_a_last_return_ends() {
    let m = run("bl f\nori $r20,$r0,1\nb end\nf: ori $r21,$r0,1\nret\nend: nop", |_| {});
    assert_eq!((m.reg("$r20"), m.reg("$r21")), (1, 1));
    let m = run("ori $r20,$r0,1\njr $ra\nori $r21,$r0,1", |_| {});
    assert_eq!((m.reg("$r20"), m.reg("$r21")), (1, 0));
}

#[test]
fn branches_compare() {
    for (line, a, b, taken) in [
        ("beq $r5,$r6,1f", 1, 1, true),
        ("blt $r5,$r6,1f", -1, 0, true),
        ("bltu $r5,$r6,1f", -1, 0, false),
        ("bge $r5,$r6,1f", 0, 0, true),
        ("bgt $r5,$r6,1f", 1, 0, true),
        ("bleu $r5,$r6,1f", -1, 0, false),
        ("bgtz $r5,1f", 1, 0, true),
        ("blez $r5,1f", 1, 0, false),
        ("bltz $r5,1f", -1, 0, true),
        ("bgez $r5,1f", -1, 0, false),
        ("bnez $r5,1f", 0, 0, false),
    ] {
        let m = run(&format!("{line}\nori $r7,$r0,1\n1: nop"), |m| {
            m.set("$r5", (a as i64 as u64).into());
            m.set("$r6", (b as i64 as u64).into());
        });
        assert_eq!(m.reg("$r7") == 0, taken, "{line}");
    }
}

#[test]
fn registers_of_conditions() {
    let r = |n| LoongArch.register(n).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(r("$r5"), Some(("$r5".to_string(), 64, 64)));
    assert_eq!(r("$a0"), Some(("$r4".to_string(), 64, 64)));
    assert_eq!(r("x5"), None);
    assert_eq!(LoongArch.address_bits(), 64);
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(
        error("nop\n  ld.ww $r5,$r6,0"),
        "t.litmus:2:3: error: unknown LoongArch instruction `ld.ww`\n \
         2 |   ld.ww $r5,$r6,0\n   |   ^^^^^^^^^^^^^^^\n  help: did you mean `ld.w`?"
    );
    for (line, message) in [
        ("ld.w $r5,0($r6)", "`0($r6)` is no register"),
        ("ld.w $r5", "`` is no register"),
        ("ld.w $r32,$r5,0", "`$r32` is no register"),
        ("add.d $r5,$r6,$r7,$r8", "`add.d` takes a register, a register, a register"),
        ("amadd.w $r5,$r6,$r7,4", "`amadd.w` takes a register, a register, a base register"),
        ("beqz $r5,nowhere", "no label `nowhere` in this thread"),
        ("pcalau12i $r5,1", "`pcalau12i` with a number has no meaning"),
        ("lu12i.w $r5,%pc_hi20(x)", "`lu12i.w` takes no such part of an address"),
        ("bstrins.d $r5,$r6,3,4", "`bstrins.d` takes the highest bit and then the lowest"),
        ("bl puts", "no label `puts`"),
        ("la.local $r5,.LC0", "`.LC0` is an assembler's own label"),
        ("li.d $r5,y", "`y` is no 64-bit constant"),
        ("L: nop\nL: nop", "label `L` is defined twice"),
    ] {
        let text = error(line);
        assert!(text.contains(message), "{line}: {text}");
    }
}
