//! Printing then reading gives the same test; no text makes the reader panic or hang.

use std::sync::Arc;

use litmake::diag::{Source, Span};
use litmake::litmus::c;
use litmake::litmus::canon::canonical_hash;
use litmake::litmus::scopes::Scopes;
use litmake::litmus::{
    Arch, Body, CmpOp, Condition, InitItem, InitValue, Line, Observed, Operand, Place, Prop,
    Quantifier, Test, Type, Value, log, read, write,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn arch() -> impl Strategy<Value = Arch> {
    proptest::sample::select(Arch::ALL.to_vec())
}

/// The name of a location; in C a dot is before a member.
fn location(arch: Arch) -> impl Strategy<Value = String> {
    let longer = if arch == Arch::C { "[a-z_][a-z0-9_]{0,4}" } else { "[a-z_][a-z0-9_.]{0,4}" };
    prop_oneof!["[xyz]", longer].prop_filter("a word of the format", |s| {
        !matches!(
            s.as_str(),
            "not"
                | "true"
                | "false"
                | "exists"
                | "forall"
                | "final"
                | "with"
                | "and"
                | "filter"
                | "int"
                | "const"
                | "label"
                | "instr"
                | "nop"
                | "tag"
                | "pac"
                | "fault"
                | "void"
                | "long"
                | "short"
                | "signed"
                | "char"
                | "bool"
                | "static"
                | "extern"
        ) && !s.ends_with('.')
    })
}

fn register(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::C => &["r0", "r1", "tmp"],
        Arch::AArch64 => &["X0", "W1", "X30"],
        Arch::Arm => &["R0", "R1", "R12"],
        Arch::X86_64 => &["rax", "%rbx", "ecx"],
        Arch::X86 => &["EAX", "EBX"],
        Arch::RiscV => &["x5", "a0", "t1"],
        Arch::Ppc => &["r1", "r31"],
        Arch::Mips => &["$8", "$t1", "$31"],
        Arch::Llvm | Arch::Spirv => &["r0", "r1"],
        Arch::Ptx => &["r0", "%r1", "%rd2"],
        Arch::AmdGcn => &["v0", "s3", "v12"],
        Arch::Bpf => &["r0", "w1", "r9"],
        Arch::LoongArch => &["$r4", "$a0", "$t8"],
        Arch::S390x => &["r2", "r15"],
    }
}

fn instructions(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::C => &[
            "atomic_store_explicit(x, 1, memory_order_relaxed);",
            "int r0 = atomic_load_explicit(y, memory_order_acquire);",
        ],
        Arch::AArch64 => &["LDR W0,[X1, #8]!", "B.NE L0", "DMB SY", "CASP X0,X1,X2,X3,[X4]"],
        Arch::Arm => &["LDREX R0,[R1]", "BNE L0", "STMIA R0!,{R1,R2}"],
        Arch::X86_64 => &["lock cmpxchgq %rbx,(%rcx)", "jne L0", "movl $-1,8(x,%rax)"],
        Arch::X86 => &["MOV EAX,[x]", "JNE L0"],
        Arch::RiscV => &["amoadd.w.aq x5,x6,(x7)", "bne x5,x0,L0", "fence rw,rw"],
        Arch::Ppc => &["stwcx. r1,r0,r2", "bne L0", "cmpw cr0,r1,r2"],
        Arch::Mips => &["sc $2,0($3)", "bne $2,$0,L0", "sync"],
        Arch::LoongArch => &["amadd_db.w $r4,$r5,$r6", "bne $r4,$r0,L0", "dbar 0x700"],
        Arch::S390x => &["laa r2,r3,0(r4)", "jlh L0", "bcr 14,r0"],
        Arch::Bpf => &["lock *(u64 *)(r1 + 0) += r2", "if r1 == r2 goto L0", "r1 = 1"],
        Arch::Llvm => &[
            "%0 = load atomic i32, ptr @x acquire",
            "br i1 %1, label %L0, label %L1",
            "%2 = phi { i32, i1 } [ %3, %L0 ], [ poison, %L1 ]",
        ],
        Arch::Ptx => &[
            "ld.acquire.sys.global.u32 %r1, [x]",
            "@%p1 bra L0",
            "atom.acq_rel.gpu.global.add.u32 %r2, [x+4], 1",
        ],
        Arch::AmdGcn => &[
            "flat_load_dword v4, v[0:1] offset:4 sc0 sc1",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "s_branch L0",
        ],
        Arch::Spirv => &[
            "%0 = OpLoad %uint %x Volatile|Aligned 4",
            "OpAtomicStore %x %uint_1 %uint_66 %0",
            "%1 = OpLabel",
        ],
    }
}

fn int() -> impl Strategy<Value = i128> {
    prop_oneof![
        -2i128..5,
        any::<i128>(),
        any::<u64>().prop_map(i128::from),
        Just(i128::MIN),
        Just(i128::MAX)
    ]
}

fn value(arch: Arch) -> impl Strategy<Value = Value> {
    prop_oneof![
        int().prop_map(Value::Int),
        (location(arch), 0u64..4).prop_map(|(name, index)| Value::Addr { name, index }),
    ]
}

fn ty() -> impl Strategy<Value = Type> {
    let base = prop_oneof![
        (proptest::sample::select(vec![1u8, 2, 4, 8, 16]), any::<bool>())
            .prop_map(|(bytes, signed)| Type::Int { bytes, signed }),
        Just(Type::Named("spinlock_t".to_string())),
        Just(Type::Named("struct s".to_string())),
        Just(Type::Pointer(Arc::new(Type::Void))),
    ];
    base.prop_recursive(3, 6, 1, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| Type::Pointer(Arc::new(t))),
            inner.clone().prop_map(|t| Type::Atomic(Arc::new(t))),
            inner.clone().prop_map(|t| Type::Const(Arc::new(t))),
            inner.prop_map(|t| Type::Volatile(Arc::new(t))),
        ]
    })
}

fn place(arch: Arch, threads: usize, index: bool) -> impl Strategy<Value = Place> {
    prop_oneof![
        (0..threads, proptest::sample::select(register(arch)))
            .prop_map(|(thread, name)| { Place::Reg { thread, name: name.to_string() } }),
        (location(arch), option::of(0u64..4))
            .prop_map(move |(name, i)| Place::Mem { name, index: i.filter(|_| index) }),
    ]
}

fn init_item(arch: Arch, threads: usize) -> impl Strategy<Value = InitItem> {
    let scalar = (place(arch, threads, false), option::of(ty()), option::of(value(arch))).prop_map(
        |(place, ty, value)| InitItem {
            place,
            ty,
            value: value.map(InitValue::One),
            span: Span::default(),
        },
    );
    let array = (location(arch), ty(), vec(value(arch), 1..4), any::<bool>()).prop_map(
        |(name, ty, values, given)| InitItem {
            place: Place::Mem { name, index: None },
            ty: Some(Type::Array(Arc::new(ty), values.len() as u64)),
            value: given.then_some(InitValue::Array(values)),
            span: Span::default(),
        },
    );
    prop_oneof![3 => scalar, 1 => array]
}

fn prop(arch: Arch, threads: usize) -> impl Strategy<Value = Prop> {
    use CmpOp::*;
    let place = || place(arch, threads, true);
    let op = || proptest::sample::select(vec![Eq, Eq, Eq, Ne, Lt, Le, Gt, Ge]);
    let atom = prop_oneof![
        8 => (place(), op(), prop_oneof![
            3 => value(arch).prop_map(Operand::Value),
            1 => place().prop_map(Operand::Place),
        ]).prop_map(|(p, op, v)| Prop::Cmp(p, op, v)),
        1 => (location(arch), vec(value(arch), 1..4)).prop_map(|(name, vs)| {
            Prop::Cmp(Place::Mem { name, index: None }, Eq, Operand::Array(vs))
        }),
        1 => Just(Prop::True),
        1 => Just(Prop::False),
    ];
    atom.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|p| Prop::Not(Box::new(p))),
            vec(inner.clone(), 0..4).prop_map(Prop::And),
            vec(inner.clone(), 0..4).prop_map(Prop::Or),
            (inner.clone(), inner).prop_map(|(p, q)| Prop::Implies(Box::new(p), Box::new(q))),
        ]
    })
}

/// A thread; labels are numbered, so that none is there twice.
fn body(arch: Arch, thread: usize) -> BoxedStrategy<Body> {
    if arch == Arch::C {
        return vec(proptest::sample::select(instructions(arch)), 0..2)
            .prop_map(move |lines| {
                let mut lines = lines;
                lines.dedup();
                Body::C(function(&format!(
                    "P{thread} (atomic_int* x, atomic_int* y) {{ {} }}",
                    lines.join(" ")
                )))
            })
            .boxed();
    }
    let line = (proptest::sample::select(instructions(arch)), 0..3usize);
    (vec(line, 0..4), 0..3usize)
        .prop_map(|(lines, last)| {
            let mut next = 0;
            let mut labels = |n: usize| {
                next += n;
                (next - n..next).map(|i| format!("L{i}")).collect()
            };
            let mut body: Vec<Line> = lines
                .into_iter()
                .map(|(text, n)| Line {
                    labels: labels(n),
                    text: text.to_string(),
                    span: Span::default(),
                })
                .collect();
            if last > 0 {
                body.push(Line {
                    labels: labels(last),
                    text: String::new(),
                    span: Span::default(),
                });
            }
            Body::Asm(body)
        })
        .boxed()
}

fn function(text: &str) -> c::ast::Function {
    c::parse_function(&Source::new("f", text), Span::new(0, text.len())).unwrap()
}

fn test() -> impl Strategy<Value = Test> {
    (arch(), 1..4usize).prop_flat_map(|(arch, n)| {
        let bodies: Vec<_> = (0..n).map(|i| body(arch, i)).collect();
        let observed = (place(arch, n, true), option::of(ty())).prop_map(|(place, ty)| Observed {
            place,
            ty,
            span: Span::default(),
        });
        (
            (
                "[A-Za-z0-9][A-Za-z0-9+.\\[\\]_-]{0,12}",
                option::of("[ -!#-~]{1,12}"),
                vec(("[A-Z][a-z]{0,5}", "[ -~]{0,12}"), 0..3),
            ),
            vec(init_item(arch, n), 0..5),
            bodies,
            vec(observed, 0..3),
            option::of(prop(arch, n)),
            proptest::sample::select(vec![
                Quantifier::Exists,
                Quantifier::NotExists,
                Quantifier::Forall,
            ]),
            prop(arch, n),
            any::<bool>(),
            scopes(n),
        )
            .prop_map(
                move |(
                    head,
                    init,
                    threads,
                    locations,
                    filter,
                    quantifier,
                    prop,
                    helper,
                    scopes,
                )| {
                    let mut seen = std::collections::HashSet::new();
                    let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
                    let help = arch == Arch::C && helper;
                    Test {
                        arch,
                        name: head.0,
                        doc: head.1.map(|d| words(&d)),
                        info: head.2.into_iter().map(|(k, v)| (k, v.trim().to_string())).collect(),
                        init: init.into_iter().filter(|i| seen.insert(i.place.clone())).collect(),
                        threads,
                        helpers: help
                            .then(|| function("int f(int a) { return a; }"))
                            .into_iter()
                            .collect(),
                        scopes,
                        locations,
                        filter,
                        condition: Condition { quantifier, prop, span: Span::default() },
                        source: Source::new("generated", ""),
                    }
                },
            )
    })
}

/// A tree of scopes for so many threads, in up to four workgroups of devices of their own.
fn scopes(threads: usize) -> impl Strategy<Value = Option<Scopes>> {
    option::of(vec((0..2u8, 0..2u8), threads)).prop_map(|of| {
        let of = of?;
        let mut text = String::from("C t {} ");
        (0..of.len()).for_each(|t| text += &format!("void P{t}() {{}} "));
        text += "scopes: (system";
        for device in 0..2 {
            for group in 0..2 {
                text += " (device (workgroup";
                for (t, _) in of.iter().enumerate().filter(|(_, o)| **o == (device, group)) {
                    text += &format!(" P{t}");
                }
                text += "))";
            }
        }
        let test = read(&Source::new("scopes", text + ") exists (true)"));
        test.unwrap_or_else(|e| panic!("{e}")).scopes
    })
}

/// Texts near to tests: pieces of them in any order, with holes and doublings.
fn mutated() -> impl Strategy<Value = String> {
    let cut = (test(), vec((any::<prop::sample::Index>(), 0..8usize, "[ -~\\n\u{e9}]{0,3}"), 1..6));
    cut.prop_map(|(test, edits)| {
        let mut text = write(&test);
        for (at, len, new) in edits {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + len).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, &new);
        }
        text
    })
}

proptest! {
    #[test]
    fn printing_then_reading(test in test()) {
        let text = write(&test);
        let back = read(&Source::new("t", text.as_str()));
        let back = back.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(test.same_as(&back), "{text}\n{test:#?}\n{back:#?}");
        prop_assert_eq!(canonical_hash(&test), canonical_hash(&back));
        prop_assert_eq!(write(&back), text);
    }

    #[test]
    fn broken_tests_do_not_panic(text in mutated()) {
        let source = Source::new("t", text.as_str());
        match read(&source) {
            // What C functions look like in print is tested where they are read.
            Ok(test) if test.arch == Arch::C => {
                prop_assert!(!write(&test).is_empty());
            }
            Ok(test) => {
                let text = write(&test);
                let back = read(&Source::new("t", text.as_str()));
                let back = back.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
                prop_assert_eq!(canonical_hash(&test), canonical_hash(&back), "{}", text);
            }
            Err(error) => {
                let span = error.span.expect("a place");
                prop_assert!(span.start <= span.end && span.start as usize <= text.len());
                prop_assert!(error.to_string().contains("error: "));
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}", tail in any::<Vec<u8>>()) {
        let tail = String::from_utf8_lossy(&tail).into_owned();
        for head in ["", "C T\n{", "AArch64 T
{}
 P0 ;
", "X86 T
{}
 P0 ;
 NOP ;
exists ("] {
            let _ = read(&Source::new("t", format!("{head}{text}{tail}")));
        }
        let _ = log::read(&Source::new("t", format!("Test A Allowed\nStates 2\n{text}\n{tail}")));
        let _ = log::normal_state(&text);
    }
}

/// What fuzzing found: printing must not nest deeper than what is read, nor take `&` from a word
/// that means something else without it.
#[test]
fn what_is_read_can_be_printed_and_read() {
    let test = |init: &str, condition: &str| {
        format!(
            "AArch64 t
{{ {init} }}
 P0 ;
 LDR W0,[X1] ;
exists {condition}
"
        )
    };
    let nots = |n: usize, inner: &str| format!("{}({inner})", "not ".repeat(n));
    let texts = [
        test("0:X1=&NOP; 0:X2=&nop;", "0:X0=1"),
        test("0:X1=x; 0:X2=&ATOMIC_INIT;", "0:X0=1 /\\ 0:X3=&NOP"),
        test("0:X1=x;", &nots(100, "0:X0=1")),
        test("0:X1=x;", &nots(126, "0:X0!=1")),
        test("0:X1=x;", &nots(127, "0:X0=1")),
        test("0:X1=x;", &format!("(0:X0=1 \\/ {}) /\\ 0:X0=2", nots(124, "0:X0!=1"))),
        test("0:X1=x;", &format!("{}0:X0=1", "0:X0=2 => ".repeat(126))),
        test("0:X1=x;", &format!("{}0:X0!=1{}", "(".repeat(127), ")".repeat(127))),
    ];
    for text in texts {
        let source = |text: String| Source::new("t.litmus", text);
        let first = match read(&source(text.clone())) {
            Ok(test) => test,
            Err(e) => {
                assert!(e.to_string().contains("nested too deeply"), "{text}: {e}");
                continue;
            }
        };
        let printed = write(&first);
        let again = read(&source(printed.clone())).unwrap_or_else(|e| panic!("{printed}: {e}"));
        assert_eq!(canonical_hash(&first), canonical_hash(&again), "{printed}");
        assert_eq!(printed, write(&again));
    }
    assert!(read(&Source::new("t.litmus", test("0:X1=x;", &nots(100, "0:X0=1")))).is_ok());
}
