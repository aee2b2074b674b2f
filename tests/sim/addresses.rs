//! Addresses that are computed from what is read, by every engine: own tables, large arrays, offsets of any
//! size, tags. What leads nowhere is an error, and so is a test without an execution.

use crate::differ;
use litmake::diag::Source;
use litmake::litmus;
use litmake::sim::{Empty, Engine, Options, Outcomes, Simulator};

const ENGINES: [Engine; 4] = [Engine::Auto, Engine::Enumerate, Engine::Solve, Engine::Exhaustive];

/// What each engine says, under the default model or one that is given.
fn answers(text: &str, model: Option<&str>) -> [Result<Outcomes, String>; 4] {
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).expect("a test");
    let (_, model) = match model {
        Some(text) => (String::new(), differ::own(test.arch, text)),
        None => differ::built_in(test.arch, &[test.arch.default_model()]).remove(0),
    };
    ENGINES.map(|engine| {
        let options = Options { engine, ..Options::default() };
        Simulator::default().simulate(&test, &model, &options).map_err(|e| e.to_string())
    })
}

fn expect(text: &str, want: &[&str]) {
    expect_under(None, text, want);
}

fn expect_under(model: Option<&str>, text: &str, want: &[&str]) {
    for (answer, engine) in answers(text, model).into_iter().zip(ENGINES) {
        let outcomes = answer.unwrap_or_else(|e| panic!("{engine:?}:\n{text}\n{e}"));
        let line = |s: litmake::sim::State| {
            s.iter().map(|(k, v)| format!("{k}={v};")).collect::<Vec<_>>().join(" ")
        };
        let mut found: Vec<String> = outcomes.states.iter().map(line).collect();
        found.sort();
        assert_eq!(found, want, "{engine:?}:\n{text}");
    }
}

fn refused(text: &str, because: &str) {
    for (answer, engine) in answers(text, None).into_iter().zip(ENGINES) {
        let error = answer.map(|o| o.states).expect_err("an error");
        assert!(error.contains(because), "{engine:?}: {error}\n{text}");
    }
}

/// A table of one thread's own, at an index that is read. Expected are herd7's outcomes.
#[test]
fn a_table_of_the_own_thread() {
    expect(
        "AArch64 t\n{ uint64_t t[3]={3,5,8}; 0:X1=k; 1:X1=k; 1:X3=t; }\nP0 | P1 ;\n\
         MOV W0,#2 | LDR W0,[X1] ;\nSTR W0,[X1] | LDR X2,[X3,X0,LSL #3] ;\nexists (1:X2=8)\n",
        &["1:X2=3;", "1:X2=8;"],
    );
    expect(
        "ARM t\n{ int t[2]={7,9}; 0:R1=k; 1:R1=k; 1:R3=t; }\nP0 | P1 ;\n\
         MOV R0,#4 | LDR R0,[R1] ;\nSTR R0,[R1] | LDR R2,[R3,R0] ;\nexists (1:R2=9)\n",
        &["1:R2=7;", "1:R2=9;"],
    );
    expect(
        "X86_64 t\n{ uint64_t t[2]={7,9}; 1:rdx=t; }\nP0 | P1 ;\n\
         movq $1,(k) | movq (k),%rax ;\n | movq (%rdx,%rax,8),%rbx ;\nexists (1:rbx=9)\n",
        &["1:rbx=7;", "1:rbx=9;"],
    );
    expect(
        "RISCV t\n{ int64_t t[2]={7,9}; 0:x6=k; 1:x6=k; 1:x7=t; }\nP0 | P1 ;\n\
         ori x5,x0,8 | ld x5,0(x6) ;\nsd x5,0(x6) | add x8,x7,x5 ;\n | ld x9,0(x8) ;\n\
         exists (1:x9=9)\n",
        &["1:x9=7;", "1:x9=9;"],
    );
}

/// What the thread stored to its table before it reads there.
#[test]
fn a_table_that_is_filled_first() {
    expect(
        "AArch64 t\n{ uint64_t t[2]; 0:X1=k; 1:X1=k; 1:X3=t; }\nP0 | P1 ;\n\
         MOV W0,#1 | MOV X4,#6 ;\nSTR W0,[X1] | STR X4,[X3,#8] ;\n | LDR W0,[X1] ;\n\
         | LDR X2,[X3,X0,LSL #3] ;\nexists (1:X2=6)\n",
        &["1:X2=0;", "1:X2=6;"],
    );
}

#[test]
fn every_element_of_an_array() {
    let index = |at: u32| {
        expect(
            &format!(
                "C t\n{{ int m[40]; atomic_int k=0; }}\n\
                 P0(atomic_int* k) {{ atomic_store_explicit(k, {at}, memory_order_relaxed); }}\n\
                 P1(int* m, atomic_int* k) {{ m[{at}] = 1;\n\
                 int i = atomic_load_explicit(k, memory_order_relaxed); int r0 = m[i]; }}\n\
                 exists (1:r0=1)\n"
            ),
            &["1:r0=0;", "1:r0=1;"],
        );
    };
    [15, 16, 17, 39].into_iter().for_each(index);
}

/// The bytes of 0x1122334455667788 from the second on.
#[test]
fn an_offset_that_is_no_multiple_of_the_size() {
    expect(
        "AArch64 t\n{ uint64_t x=0x1122334455667788; uint64_t k=0; 0:X1=k; 1:X1=k; 1:X3=x; }\n\
         P0 | P1 ;\nMOV X0,#1 | LDR X0,[X1] ;\nSTR X0,[X1] | ADD X5,X3,X0 ;\n | LDRH W4,[X5] ;\n\
         exists (1:X4=26231)\n",
        &["1:X4=26231;", "1:X4=30600;"],
    );
}

/// A flag in the low bit of an address, as lists without locks have it.
#[test]
fn a_tagged_pointer() {
    expect(
        "AArch64 t\n{ 0:X1=p; 0:X2=x; 1:X1=p; int x=7; uint64_t p=y; int y=5; }\nP0 | P1 ;\n\
         ORR X3,X2,#1 | LDR X4,[X1] ;\nSTR X3,[X1] | AND X5,X4,#-2 ;\n | AND X6,X4,#1 ;\n\
         | LDR W7,[X5] ;\nexists (1:X6=1 /\\ 1:X7=7)\n",
        &["1:X6=0; 1:X7=5;", "1:X6=1; 1:X7=7;"],
    );
}

#[test]
fn an_address_that_leads_nowhere_is_an_error() {
    // Past the end, in one execution of two.
    refused(
        "AArch64 t\n{ uint64_t t[2]={7,9}; 0:X1=k; 1:X1=k; 1:X3=t; }\nP0 | P1 ;\n\
         MOV W0,#2 | LDR W0,[X1] ;\nSTR W0,[X1] | LDR X2,[X3,X0,LSL #3] ;\nexists (1:X2=9)\n",
        "t+16 is outside of it",
    );
    // A null pointer.
    refused(
        "AArch64 t\n{ uint64_t p=0; 0:X1=p; 0:X2=x; 1:X1=p; int x=7; }\nP0 | P1 ;\n\
         STR X2,[X1] | LDR X4,[X1] ;\n | LDR W5,[X4] ;\nexists (1:X5=7)\n",
        "",
    );
}

/// A loop that tries until it succeeds and counts how often it did is cut as one that does not count; a
/// loop that a counter ends is not cut.
#[test]
fn a_counter_of_tries_ends_no_loop() {
    let thread = |n: u32, count: &str| {
        format!(
            "P{n}(atomic_int* x) {{ int e = 0; int n = 0; while (!atomic_compare_exchange_weak_explicit(\
             x, &e, e + 1, memory_order_acq_rel, memory_order_relaxed)) {{ {count} }} }}\n"
        )
    };
    for count in ["", "n++;"] {
        let text = format!("C t\n{{ }}\n{}{}exists (x=2)\n", thread(0, count), thread(1, count));
        for answer in answers(&text, None) {
            let outcomes = answer.expect("an answer");
            assert!(outcomes.cut && outcomes.states.len() == 1, "{text}\n{:?}", outcomes.states);
        }
    }
    let text = "C t\n{ }\nP0(atomic_int* x) { int r0 = 0; for (int i = 0; i < 4; i++) { if (\
        atomic_load_explicit(x, memory_order_relaxed)) r0++; } }\n\
        P1(atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }\nexists (0:r0=4)\n";
    for answer in &answers(text, None)[..3] {
        let outcomes = answer.as_ref().expect("an answer");
        assert!(!outcomes.cut && outcomes.states.len() == 5, "{:?}", outcomes.states);
    }
}

/// The status of a store-conditional on Power gives a dependency under the built-in model, and none under
/// models that were written for herd, which has none. All engines see the same.
#[test]
fn a_branch_on_a_store_conditional() {
    let power = "PPC t\n{ 0:r2=x; 0:r4=y; 1:r2=x; 1:r4=y; }\nP0 | P1 ;\nlwz r1,0(r2) | li r3,2 ;\n\
        xor r3,r1,r1 | lwarx r1,r0,r4 ;\naddi r3,r3,1 | stwcx. r3,r0,r4 ;\nstw r3,0(r4) | bne L ;\n\
        | li r5,1 ;\n | stw r5,0(r2) ;\n | L: ;\nexists (y=2 /\\ 0:r1=1 /\\ 1:r1=1)\n";
    let riscv = "RISCV t\n{ 0:x6=x; 1:x6=x; 1:x8=y; }\nP0 | P1 ;\nli x5,1 | li x9,1 ;\n\
        sw x5,0(x6) | lr.w x5,0(x6) ;\n | sc.w x7,x9,0(x6) ;\n | bne x7,x0,L ;\n | sw x9,0(x8) ;\n | L: ;\n\
        exists (1:x7=0 /\\ 1:x5=1)\n";
    let raised = |text: &str, model: &str| {
        answers(text, Some(model)).map(|answer| {
            let mut flags = answer.expect("an answer").flags;
            flags.sort();
            flags.join(" ")
        })
    };
    let model = "\"t\"\nflag ~empty ([W]; ctrl) as from-write\nflag ~empty ctrl as any\n";
    assert_eq!(raised(power, model), [""; 4].map(String::from));
    assert_eq!(raised(riscv, model), ["any from-write"; 4].map(String::from));
}

#[test]
fn a_test_without_an_outcome_says_why() {
    let text = "AArch64 t\n{ 0:X1=x; }\nP0 ;\nMOV W0,#1 ;\nSTR W0,[X1] ;\nexists (x=1)\n";
    let model = "\"t\"\nempty W as nothing-is-written\n";
    for answer in answers(text, Some(model)) {
        let Some(Empty::Forbidden(checks)) = answer.expect("an answer").empty else {
            panic!("no reason")
        };
        assert_eq!(checks[0].0, "nothing-is-written");
    }
}

/// Arrays that are local variables: of the thread, of a helper, jumped back over; lists shorter than the array.
#[test]
fn arrays_that_are_local_variables() {
    let with = |helpers: &str, body: &str| {
        format!(
            "C t\n{{ atomic_int k=0; int y=5; }}\n{helpers}\n\
             P0(atomic_int* k) {{ atomic_store_explicit(k, 2, memory_order_relaxed); }}\n\
             P1(atomic_int* k, int* y) {{ {body} }}\nexists (1:r0=6)\n"
        )
    };
    let load = "int i = atomic_load_explicit(k, memory_order_relaxed);";
    expect(
        &with("", &format!("int a[4] = {{7, 1}}; {load} a[2] = 6; int r0 = a[i];")),
        &["1:r0=6;", "1:r0=7;"],
    );
    expect(
        &with(
            "int pick(int i) { int t[3] = {4, 5, 6}; return t[i]; }",
            &format!("{load} int r0 = pick(i);"),
        ),
        &["1:r0=4;", "1:r0=6;"],
    );
    expect(
        &with(
            "",
            &format!(
                "int n = 0; again: ; int a[3] = {{n}}; {load} int r0 = a[i]; n++; if (n < 2) goto again;"
            ),
        ),
        &["1:r0=0;", "1:r0=1;"],
    );
    expect(
        &with("", &format!("int* p[2] = {{y, y}}; {load} *y = 3; int r0 = *p[i >> 1];")),
        &["1:r0=3;"],
    );
}

/// Half of an aligned store is not read by an aligned load of both halves, under models that say nothing of
/// parts. Expected are herd7's outcomes with `-variant mixed`.
#[test]
fn aligned_accesses_are_whole() {
    let riscv = "RISCV t\n{ uint32_t x=0; 0:x6=x; 1:x6=x; 0:x5=0x10001; }\nP0 | P1 ;\n\
        sw x5,0(x6) | lw x5,0(x6) ;\n | lhu x7,2(x6) ;\nlocations [1:x5; 1:x7;]\nexists (1:x5=1)\n";
    let power = "PPC t\n{ uint32_t x=0; 0:r6=x; 1:r6=x; 0:r5=0x10001; }\nP0 | P1 ;\n\
        stw r5,0(r6) | lwz r5,0(r6) ;\n | lhz r7,2(r6) ;\nlocations [1:r5; 1:r7;]\nexists (1:r5=1)\n";
    for model in
        [None, Some("\"t\"\ninclude \"cos.cat\"\nacyclic po-loc | rf | fr | co as coherence\n")]
    {
        expect_under(model, riscv, &["1:x5=0; 1:x7=0;", "1:x5=0; 1:x7=1;", "1:x5=65537; 1:x7=1;"]);
        expect_under(model, power, &["1:r5=0; 1:r7=0;", "1:r5=0; 1:r7=1;", "1:r5=65537; 1:r7=1;"]);
    }
}

/// What a path assumes of a read, to know an address, does not bear itself out: a value in a circle is no
/// execution, under a model without any order, too.
#[test]
fn an_assumption_does_not_bear_itself_out() {
    let text = "RISCV t\n{ uint32_t x=0; uint16_t t[4]={1,2,3,4}; 0:x20=x; 0:x22=t; 1:x20=x; }\nP0 | P1 ;\n\
        lw x5,0(x20) | ori x15,x0,6 ;\nandi x6,x5,2 | sw x15,0(x20) ;\nadd x16,x22,x5 | ;\nsh x6,0(x16) | ;\n\
        sw x6,0(x20) | ;\nlocations [0:x5; x;]\nexists (0:x5=2)\n";
    expect_under(
        Some("\"t\"\n"),
        text,
        &["0:x5=0; [x]=0;", "0:x5=0; [x]=6;", "0:x5=6; [x]=2;", "0:x5=6; [x]=6;"],
    );
}
