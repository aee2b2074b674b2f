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
        "AArch64 t
{ uint64_t t[3]={3,5,8}; 0:X1=k; 1:X1=k; 1:X3=t; }
P0 | P1 ;
MOV W0,#2 | LDR W0,[X1] ;
STR W0,[X1] | LDR X2,[X3,X0,LSL #3] ;
exists (1:X2=8)
",
        &["1:X2=3;", "1:X2=8;"],
    );
    expect(
        "ARM t
{ int t[2]={7,9}; 0:R1=k; 1:R1=k; 1:R3=t; }
P0 | P1 ;
MOV R0,#4 | LDR R0,[R1] ;
STR R0,[R1] | LDR R2,[R3,R0] ;
exists (1:R2=9)
",
        &["1:R2=7;", "1:R2=9;"],
    );
    expect(
        "X86_64 t
{ uint64_t t[2]={7,9}; 1:rdx=t; }
P0 | P1 ;
movq $1,(k) | movq (k),%rax ;
 | movq (%rdx,%rax,8),%rbx ;
exists (1:rbx=9)
",
        &["1:rbx=7;", "1:rbx=9;"],
    );
    expect(
        "RISCV t
{ int64_t t[2]={7,9}; 0:x6=k; 1:x6=k; 1:x7=t; }
P0 | P1 ;
ori x5,x0,8 | ld x5,0(x6) ;
sd x5,0(x6) | add x8,x7,x5 ;
 | ld x9,0(x8) ;
exists (1:x9=9)
",
        &["1:x9=7;", "1:x9=9;"],
    );
}

/// What the thread stored to its table before it reads there.
#[test]
fn a_table_that_is_filled_first() {
    expect(
        "AArch64 t
{ uint64_t t[2]; 0:X1=k; 1:X1=k; 1:X3=t; }
P0 | P1 ;
MOV W0,#1 | MOV X4,#6 ;
STR W0,[X1] | STR X4,[X3,#8] ;
 | LDR W0,[X1] ;
| LDR X2,[X3,X0,LSL #3] ;
exists (1:X2=6)
",
        &["1:X2=0;", "1:X2=6;"],
    );
}

#[test]
fn every_element_of_an_array() {
    let index = |at: u32| {
        expect(
            &format!(
                "C t
{{ int m[40]; atomic_int k=0; }}
P0(atomic_int* k) {{ atomic_store_explicit(k, {at}, memory_order_relaxed); }}
P1(int* m, atomic_int* k) {{ m[{at}] = 1;
int i = atomic_load_explicit(k, memory_order_relaxed); int r0 = m[i]; }}
exists (1:r0=1)
"
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
        "AArch64 t
{ uint64_t x=0x1122334455667788; uint64_t k=0; 0:X1=k; 1:X1=k; 1:X3=x; }
P0 | P1 ;
MOV X0,#1 | LDR X0,[X1] ;
STR X0,[X1] | ADD X5,X3,X0 ;
 | LDRH W4,[X5] ;
exists (1:X4=26231)
",
        &["1:X4=26231;", "1:X4=30600;"],
    );
}

/// A flag in the low bit of an address, as lists without locks have it.
#[test]
fn a_tagged_pointer() {
    expect(
        r"AArch64 t
{ 0:X1=p; 0:X2=x; 1:X1=p; int x=7; uint64_t p=y; int y=5; }
P0 | P1 ;
ORR X3,X2,#1 | LDR X4,[X1] ;
STR X3,[X1] | AND X5,X4,#-2 ;
 | AND X6,X4,#1 ;
| LDR W7,[X5] ;
exists (1:X6=1 /\ 1:X7=7)
",
        &["1:X6=0; 1:X7=5;", "1:X6=1; 1:X7=7;"],
    );
}

#[test]
fn an_address_that_leads_nowhere_is_an_error() {
    // Past the end, in one execution of two.
    refused(
        "AArch64 t
{ uint64_t t[2]={7,9}; 0:X1=k; 1:X1=k; 1:X3=t; }
P0 | P1 ;
MOV W0,#2 | LDR W0,[X1] ;
STR W0,[X1] | LDR X2,[X3,X0,LSL #3] ;
exists (1:X2=9)
",
        "t+16 is outside of it",
    );
    // A null pointer.
    refused(
        "AArch64 t
{ uint64_t p=0; 0:X1=p; 0:X2=x; 1:X1=p; int x=7; }
P0 | P1 ;
STR X2,[X1] | LDR X4,[X1] ;
 | LDR W5,[X4] ;
exists (1:X5=7)
",
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
        let text = format!(
            "C t
{{ }}
{}{}exists (x=2)
",
            thread(0, count),
            thread(1, count)
        );
        for answer in answers(&text, None) {
            let outcomes = answer.expect("an answer");
            assert!(outcomes.cut && outcomes.states.len() == 1, "{text}\n{:?}", outcomes.states);
        }
    }
    let text = "C t
{ }
P0(atomic_int* x) { int r0 = 0; for (int i = 0; i < 4; i++) { if (atomic_load_explicit(x, memory_order_relaxed)) r0++; } }
P1(atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (0:r0=4)
";
    for answer in &answers(text, None)[..3] {
        let outcomes = answer.as_ref().expect("an answer");
        assert!(!outcomes.cut && outcomes.states.len() == 5, "{:?}", outcomes.states);
    }
}

/// The status of a store-conditional on Power gives a dependency under the built-in model, and none under
/// models that were written for herd, which has none. All engines see the same.
#[test]
fn a_branch_on_a_store_conditional() {
    let power = r"PPC t
{ 0:r2=x; 0:r4=y; 1:r2=x; 1:r4=y; }
P0 | P1 ;
lwz r1,0(r2) | li r3,2 ;
xor r3,r1,r1 | lwarx r1,r0,r4 ;
addi r3,r3,1 | stwcx. r3,r0,r4 ;
stw r3,0(r4) | bne L ;
| li r5,1 ;
 | stw r5,0(r2) ;
 | L: ;
exists (y=2 /\ 0:r1=1 /\ 1:r1=1)
";
    let riscv = r"RISCV t
{ 0:x6=x; 1:x6=x; 1:x8=y; }
P0 | P1 ;
li x5,1 | li x9,1 ;
sw x5,0(x6) | lr.w x5,0(x6) ;
 | sc.w x7,x9,0(x6) ;
 | bne x7,x0,L ;
 | sw x9,0(x8) ;
 | L: ;
exists (1:x7=0 /\ 1:x5=1)
";
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
    let text = "AArch64 t
{ 0:X1=x; }
P0 ;
MOV W0,#1 ;
STR W0,[X1] ;
exists (x=1)
";
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
            "C t
{{ atomic_int k=0; int y=5; }}
{helpers}
P0(atomic_int* k) {{ atomic_store_explicit(k, 2, memory_order_relaxed); }}
P1(atomic_int* k, int* y) {{ {body} }}
exists (1:r0=6)
"
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
    let riscv = "RISCV t
{ uint32_t x=0; 0:x6=x; 1:x6=x; 0:x5=0x10001; }
P0 | P1 ;
sw x5,0(x6) | lw x5,0(x6) ;
 | lhu x7,2(x6) ;
locations [1:x5; 1:x7;]
exists (1:x5=1)
";
    let power = "PPC t
{ uint32_t x=0; 0:r6=x; 1:r6=x; 0:r5=0x10001; }
P0 | P1 ;
stw r5,0(r6) | lwz r5,0(r6) ;
 | lhz r7,2(r6) ;
locations [1:r5; 1:r7;]
exists (1:r5=1)
";
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
    let text = "RISCV t
{ uint32_t x=0; uint16_t t[4]={1,2,3,4}; 0:x20=x; 0:x22=t; 1:x20=x; }
P0 | P1 ;
lw x5,0(x20) | ori x15,x0,6 ;
andi x6,x5,2 | sw x15,0(x20) ;
add x16,x22,x5 | ;
sh x6,0(x16) | ;
sw x6,0(x20) | ;
locations [0:x5; x;]
exists (0:x5=2)
";
    expect_under(
        Some("\"t\"\n"),
        text,
        &["0:x5=0; [x]=0;", "0:x5=0; [x]=6;", "0:x5=6; [x]=2;", "0:x5=6; [x]=6;"],
    );
}
