//! Reading and printing of operands, names of registers, diagnostics.

use super::*;

#[test]
fn any_case_and_spacing() {
    for text in ["ldr w0,[x1,#4]", "LDR W0, [X1, #4]", "Ldr  w0 , [ X1 , 4 ] // a comment"] {
        let m = Machine::new(&[("X1", 0x1000)]).run(BASE, text);
        assert_eq!(m.log(), [(false, 0x1004, 4, Tags::NONE)], "{text}");
    }
}

#[test]
fn every_mnemonic_is_read_back_as_itself() {
    for name in table().keys() {
        let parts = parse(name).expect("a mnemonic");
        assert_eq!(lookup(&parts).ok(), table().get(name).copied());
        let lower = parse(&name.to_lowercase()).expect("a mnemonic");
        assert!(lookup(&lower).is_ok(), "{name}");
    }
}

#[test]
fn names_of_registers() {
    let shown = |name: &str| BASE.register(name).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(shown("X0"), Some(("X0".into(), 64, 64)));
    assert_eq!(shown("w12"), Some(("X12".into(), 64, 32)));
    assert_eq!(shown("LR"), Some(("X30".into(), 64, 64)));
    assert_eq!(shown("V3.4S"), Some(("V3".into(), 128, 128)));
    assert_eq!(shown("D3"), Some(("V3".into(), 128, 64)));
    assert_eq!(shown("X%a"), Some(("%a".into(), 64, 64)));
    assert_eq!(shown("PSTATE.Z"), Some(("PSTATE.Z".into(), 1, 1)));
    assert_eq!(shown("XZR"), Some(("XZR".into(), 64, 64)));
    assert_eq!(shown("WZR"), Some(("WZR".into(), 64, 32)));
    for no in ["X31", "x", "y", "X01", "r0", "", "V32", "x.4S", "%", "é"] {
        assert_eq!(shown(no), None, "{no}");
    }
}

#[test]
fn symbolic_registers() {
    let m = Machine::new(&[("%x", 0x1000)]).run(BASE, "MOV W%v,#3; STR W%v,[X%x]");
    assert_eq!(m.peek(0x1000, 4), 3);
}

#[test]
fn diagnostics() {
    assert_eq!(
        refusal("NOP; STLRX W0,[X1]"),
        "t.litmus:1:6: error: unknown instruction `STLRX`\n \
         1 | NOP; STLRX W0,[X1]\n   |      ^^^^^\n  help: did you mean `STLR`?"
    );
    assert_eq!(
        refusal("ADD X0,X1,W2"),
        "t.litmus:1:11: error: `ADD`: expected an X register here\n \
         1 | ADD X0,X1,W2\n   |           ^^"
    );
    assert_eq!(
        refusal("LDR W0,[W1]"),
        "t.litmus:1:9: error: expected a 64-bit base register, such as `X1`\n \
         1 | LDR W0,[W1]\n   |         ^^"
    );
    assert_eq!(
        refusal("LP0: NOP; CBZ W0,LP1"),
        "t.litmus:1:18: error: `CBZ`: no label `LP1` in this thread\n \
         1 | LP0: NOP; CBZ W0,LP1\n   |                  ^^^\n  help: did you mean `LP0`?"
    );
    assert_eq!(
        refusal("DMB ISHLS"),
        "t.litmus:1:5: error: `DMB`: expected a barrier's option, such as `SY`, `ISH` or `ISHLD`\n \
         1 | DMB ISHLS\n   |     ^^^^^\n  help: did you mean `ISHLD`?"
    );
    assert_eq!(
        refusal("TLBI VAE1IS,X1"),
        "t.litmus:1:1: error: unknown instruction `TLBI`\n \
         1 | TLBI VAE1IS,X1\n   | ^^^^\n  help: maintenance of caches and translations is out of scope"
    );
}

#[test]
fn refused() {
    let cases = [
        ("MOV X0", "expected a register or an immediate"),
        ("MOV X0,#1,#2", "one operand too many"),
        ("LDXR W0,[X1,#4]", "without offset"),
        ("STXR X0,X1,[X2]", "a W register for the status"),
        ("CASP X1,X2,X4,X5,[X6]", "an even register"),
        ("LDP X0,W1,[X2]", "one kind and width"),
        ("UBFX W0,W1,#30,#4", "1 to 2"),
        ("CSEL X0,X1,X2,XX", "a condition"),
        ("LDR X0,[X1,X2],#8", "a post-index goes with"),
        ("LDR X0,[X1,#8],#8", "a post-index goes with"),
        ("BL puts", "no label `puts`"),
        ("B .-4", "a branch out of the thread"),
        ("MRS X0,FPCR", "not supported"),
        ("ADD X0,X1,:tprel_lo12:x", "not supported here"),
        ("L: LDR X0,L", "reading instructions as data"),
        ("L: NOP; L: NOP", "here twice"),
        ("LDR X0,[X1", "expected `]`"),
        ("LDR X0,[X1,[X2]]", "expected an offset"),
        ("MOV X0,#99999999999999999999", "at most 64 bits"),
        ("LD2 {V0.2D},[X1]", "a list of 2 registers"),
        ("MOV V0.D[2],X1", "no such lane"),
        (",", "expected an instruction"),
    ];
    for (text, message) in cases {
        let diag = refusal(text);
        assert!(diag.contains(message), "{text}: {diag}");
    }
}

#[test]
fn a_line_that_is_not_verbatim_is_marked_whole() {
    let source = Source::new("t.litmus", "frob\tX0, X1 | NOP");
    let line = Line { labels: Vec::new(), text: "frob X0,X1".into(), span: Span::new(0, 11) };
    let diag = BASE.thread(&source, &[line], &mut Locations::default()).expect_err("unknown");
    assert_eq!(diag.span, Some(Span::new(0, 11)));
}

fn views() -> impl Strategy<Value = View> {
    prop_oneof![
        (0u8..31, prop::sample::select(vec!["X", "W"])).prop_map(|(n, p)| format!("{p}{n}")),
        (0u8..32, prop::sample::select(vec!["B", "H", "S", "D", "Q"]))
            .prop_map(|(n, p)| format!("{p}{n}")),
        prop::sample::select(vec!["SP", "WSP", "XZR", "WZR", "X%a", "W%b_1"])
            .prop_map(String::from),
    ]
    .prop_map(|s| View::parse(&s).expect("a register"))
}

fn bases() -> impl Strategy<Value = View> {
    (0u8..31).prop_map(View::x)
}

fn shifts() -> impl Strategy<Value = (Shift, Option<u8>)> {
    let kinds = vec![Shift::Lsl, Shift::Asr, Shift::Ror, Shift::Uxtb, Shift::Sxtw, Shift::Sxtx];
    (prop::sample::select(kinds), prop::option::of(0u8..64))
}

fn symbols() -> impl Strategy<Value = Symbol> {
    (prop::option::of("lo12|got|got_lo12"), "[a-z_]{3,6}", -64i64..64)
        .prop_map(|(modifier, name, offset)| Symbol { modifier, name: format!("{name}_"), offset })
}

fn operands() -> impl Strategy<Value = Operand> {
    let index = prop_oneof![
        (-4096i64..4096).prop_map(Index::Imm),
        (bases(), prop::option::of(shifts())).prop_map(|(v, s)| Index::Reg(v, s)),
        symbols()
            .prop_filter("a plain name is no index", |s| s.modifier.is_some())
            .prop_map(Index::Symbol),
    ];
    let mem =
        (bases(), index, any::<bool>()).prop_map(|(base, index, pre)| Mem { base, index, pre });
    let vector = (
        0u8..32,
        prop::sample::select(vec![(8u8, 16u8), (16, 4), (32, 4), (64, 2), (64, 0)]),
        prop::option::of(0u8..2),
    )
        .prop_map(|(reg, (elem, count), lane)| Vector { reg, elem, count, lane });
    prop_oneof![
        views().prop_map(Operand::Reg),
        any::<i64>().prop_map(|n| Operand::Imm(n.into())),
        shifts().prop_map(|(s, n)| Operand::Shift(s, n)),
        mem.prop_map(Operand::Mem),
        symbols().prop_map(|s| match (&s.modifier, s.offset) {
            (None, 0) => Operand::Word(s.name),
            _ => Operand::Symbol(s),
        }),
        symbols().prop_map(Operand::Literal),
        vector.clone().prop_map(Operand::Vector),
        prop::collection::vec(vector, 1..4).prop_map(|list| {
            let first = list[0];
            Operand::List(list.iter().map(|v| Vector { lane: first.lane, ..*v }).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn printing_then_reading_gives_the_same(
        mnemonic in "[A-Z]{1,6}(\\.[A-Z]{2})?",
        operands in prop::collection::vec(operands(), 0..5),
    ) {
        let text = Parts { mnemonic: mnemonic.clone(), operands: operands.clone(), ..Parts::default() }.to_string();
        let back = parse(&text).map_err(|f| TestCaseError::fail(format!("{text}: {f:?}")))?;
        prop_assert_eq!(back.mnemonic, mnemonic);
        prop_assert_eq!(back.operands, operands, "{}", text);
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,60}") {
        let _ = lowered(BASE, &text);
    }

    #[test]
    fn arbitrary_operands_never_panic(
        pick in any::<prop::sample::Index>(),
        operands in prop::collection::vec(operands(), 0..6),
        lse2 in any::<bool>(),
    ) {
        let mut all: Vec<&String> = table().keys().collect();
        all.sort();
        let mnemonic = pick.get(&all).to_string();
        let text = Parts { mnemonic, operands, ..Parts::default() }.to_string();
        if let Ok(code) = lowered(AArch64 { lse2 }, &text) {
            prop_assert_eq!(code.insts.len(), 1);
        }
    }
}
