//! Outcome sets of small tests, as they must be: what is shown, and which values it has.

use crate::kernel;
use litmake::base::failure::{FailureKind, Fault};
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus;
use litmake::sim::{Engine, Model, Options, Simulator};

/// Every final state of a test under its default model, by all of some engines.
fn states(text: &str, engines: &[Engine]) -> Result<Vec<String>, String> {
    let source = Source::new("t.litmus", text.to_string());
    let test = litmus::read(&source).map_err(|e| e.to_string())?;
    let name = test.arch.default_model();
    let plan = cat::load(name, &LoadOptions::new(test.arch)).map_err(|e| e.to_string())?;
    let model = Model::load(&plan).map_err(|e| e.to_string())?;
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        let outcomes = Simulator::default().simulate(&test, &model, &options);
        let outcomes = outcomes.map_err(|e| e.to_string())?;
        // The reference does not find out by itself which loops end.
        assert!(!outcomes.cut || engine == Engine::Exhaustive, "cut:\n{text}");
        let line = |s: litmake::sim::State| {
            s.iter().map(|(k, v)| format!("{k}={v};")).collect::<Vec<_>>().join(" ")
        };
        Ok::<_, String>(outcomes.states.iter().map(line).collect::<Vec<_>>())
    };
    let found = run(Engine::Enumerate)?;
    for engine in engines {
        assert_eq!(found, run(*engine)?, "{engine:?}:\n{text}");
    }
    Ok(found)
}

fn expect(text: &str, want: &[&str]) {
    expect_of(&[Engine::Solve], text, want);
}

fn expect_of(engines: &[Engine], text: &str, want: &[&str]) {
    let mut found = states(text, engines).unwrap_or_else(|e| panic!("{text}\n{e}"));
    found.sort();
    assert_eq!(found, want, "{text}");
}

#[test]
fn what_has_no_type_is_an_int() {
    expect(
        "AArch64 t
{ uint64_t x=0x100000001; 0:X1=x; int64_t 0:X3; 0:X5=0xffffffff; 0:X7=y; }
P0 ;
 LDR X2,[X1] ;
 LDR X3,[X1] ;
 STR X2,[X7] ;
locations [x; y; 0:X3; 0:X5]
exists (0:X2=1)
",
        &["0:X2=1; 0:X3=4294967297; 0:X5=-1; [x]=4294967297; [y]=1;"],
    );
    expect(
        "RISCV t
{ uint64_t x=0x1ffffffff; 0:x6=x; }
P0 ;
 ld x5,0(x6) ;
exists (0:x5=-1)
",
        &["0:x5=-1;"],
    );
}

#[test]
fn arrays_are_shown_whole() {
    expect(
        "AArch64 t
{ int v[3]={1,2,3}; 0:X2=v; }
P0 ;
 LDR W0,[X2] ;
 STR W0,[X2,#8] ;
locations [v;]
exists (v[1]=2)
",
        &["v={1,2,1}; v[1]=2;"],
    );
    expect(
        "AArch64 t
{ int v[2]={0,0}; 0:X2=v; }
P0 ;
 MOV W0,#5 ;
 STR W0,[X2,#4] ;
exists (v={0,5})
",
        &["v={0,5};"],
    );
}

#[test]
fn the_second_half_of_a_pair_is_its_own() {
    expect(
        r"AArch64 t
{ uint64_t v[2]; 0:X2=v; }
P0 ;
 MOV X0,#3 ;
 MOV X1,#4 ;
LDXP X5,X6,[X2] ;
 STXP W9,X0,X1,[X2] ;
exists (v[0]=3 /\ v[1]=4 /\ 0:X9=0)
",
        &["0:X9=0; v[0]=3; v[1]=4;", "0:X9=1; v[0]=0; v[1]=0;"],
    );
}

#[test]
fn an_address_read_in_two_pieces_is_one() {
    // The path on which the second load goes to `p` splits it, and cannot happen.
    expect(
        "AArch64 t
{ int x=2; int y=1; int *p=&x; 0:X2=p; 1:X4=p; 1:X0=y; }
P0 | P1 ;
 LDR X2,[X2] | STR X0,[X4] ;
 LDR W0,[X2] | ;
exists (0:X0=1)
",
        &["0:X0=1;", "0:X0=2;"],
    );
}

#[test]
fn a_loop_with_a_known_count_runs_to_its_end() {
    expect(
        "AArch64 t
{ }
P0 ;
 MOV W0,#10 ;
 MOV W1,#0 ;
L0: ;
 ADD W1,W1,#1 ;
SUB W0,W0,#1 ;
 CBNZ W0,L0 ;
forall (0:X1=10)
",
        &["0:X1=10;"],
    );
}

/// As herd prints them.
#[test]
fn addresses_of_code_are_shown_by_label() {
    expect(
        r#"AArch64 t
{ }
P0 | P1 ;
 NOP | BL L1 ;
L0: | NOP ;
 ADR X0,L0 | L1: ;
forall (0:X0=label:"P0:L0" /\ 1:X30=1:L1)
"#,
        &["0:X0=label:\"P0:L0\"; 1:X30=label:1;"],
    );
}

#[test]
fn the_zero_register_is_zero() {
    expect(
        r"AArch64 t
{ 0:X1=1; }
P0 ;
 CMP XZR,X1 ;
 MOV X2,XZR ;
forall (0:XZR=0 /\ 0:WZR=0)
",
        &["0:WZR=0; 0:XZR=0;"],
    );
}

/// A number in which all bits are set by an instruction is one, whatever the register held.
#[test]
fn a_register_that_is_filled_with_ones_holds_a_number() {
    expect(
        "X86_64 t
{ 0:rsi=x; }
P0 | P1 ;
 orl $-1,%esi | movl (y),%eax ;
 negl %esi | ;
 lock xaddl %esi,(y) | ;
exists (1:rax=0)
",
        &["1:rax=0;", "1:rax=1;"],
    );
}

/// A value that means nothing is not taken for any of those that another store writes.
#[test]
fn arithmetic_on_addresses_that_means_nothing_is_refused() {
    for text in [
        "X86_64 t
{ 0:rsi=x; }
P0 | P1 ;
 orq $256,%rsi | movl (y),%eax ;
 movl %esi,(y) | ;
exists (1:rax=0)
",
        "AArch64 t
{ 0:X0=x; 0:X1=y; }
P0 ;
 MUL X0,X0,X0 ;
 STR X0,[X1] ;
 LDR X2,[X1] ;
exists (0:X2=0)
",
    ] {
        let error = states(text, &[Engine::Solve]).unwrap_err();
        assert!(error.contains("cannot be computed"), "{error}");
    }
}

/// Arm leaves open whether it succeeds; herd has it fail.
#[test]
fn a_store_exclusive_of_another_size_fails() {
    let test = |load: &str| {
        format!(
            "AArch64 t
{{ uint64_t x=0; 0:X1=x; }}
P0 ;
 MOV X2,#1 ;
 {load} ;
 STXR W4,X2,[X1] ;
forall ([x]=0)
"
        )
    };
    expect(&test("LDXR W3,[X1]"), &["[x]=0;"]);
    expect(&test("LDXR X3,[X1]"), &["[x]=0;", "[x]=1;"]);
}

#[test]
fn code_of_another_thread_is_refused() {
    let text = "AArch64 t
{ 0:X1=P1:L1; }
P0 | P1 ;
 BR X1 | NOP ;
 | L1: ;
| MOV W0,#1 ;
exists (0:X0=1)
";
    let error = states(text, &[Engine::Solve]).unwrap_err();
    assert!(error.contains("another thread's code"), "{error}");
}

#[test]
fn a_push_of_an_ordered_pair_stores_the_upper_half_first() {
    expect(
        r"AArch64 t
{ int64_t x[2]; 0:X2=x; 1:X2=x; }
P0 | P1 ;
 ADD X2,X2,#16 | LDR X1,[X2] ;
MOV X0,#1 | DMB LD ;
 MOV X1,#2 | LDR X0,[X2,#8] ;
 STILP X0,X1,[X2,#-16]! | ;
exists (1:X1=1 /\ 1:X0=0)
",
        &["1:X0=0; 1:X1=0;", "1:X0=2; 1:X1=0;", "1:X0=2; 1:X1=1;"],
    );
}

/// A loop whose turns decide nothing ends by itself, whatever `unroll` says.
#[test]
fn a_loop_with_a_known_counter_in_c_is_not_cut() {
    let text = "C counted
{}
P0 (atomic_int* x) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  int r1 = 0;
  for (int i = 0; i < 5; i++) { r1 = r1 + r0 + 1; }
  int r2 = 0;
  do { r2 = r2 + 2; } while (r2 < 8);
}
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (0:r1=10 /\\ 0:r2=8)
";
    expect(text, &["0:r1=10; 0:r2=8;", "0:r1=5; 0:r2=8;"]);
}

/// A loop that is left early, too, where what it reads decides: in C, and in code that keeps the counter in
/// a register or in a variable of the thread.
#[test]
fn a_loop_with_a_counter_is_not_cut_where_it_may_be_left_early() {
    let text = "C left
{}
P0 (atomic_int* x) {
  int r1 = 0;
  int r2 = 1;
  for (int i = 0; i < 4; i++) {
    r1 = atomic_load_explicit(x, memory_order_relaxed);
    if (r1) { r2 = 0; break; }
  }
}
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (0:r2=1)
";
    expect(text, &["0:r2=0;", "0:r2=1;"]);
    let text = "AArch64 left
{ 0:X0=x; 0:X4=P0_m4; 1:X0=x; int P0_m4 = 0; }
 P0               | P1          ;
 L0: LDR W1,[X0]  | MOV W1,#1   ;
 CBNZ W1,L1       | STR W1,[X0] ;
 LDR W2,[X4]      |             ;
 ADD W2,W2,#1     |             ;
 STR W2,[X4]      |             ;
 CMP W2,#4        |             ;
 B.NE L0          |             ;
 L1:              |             ;
exists (0:X1=0)
";
    expect(text, &["0:X1=0;", "0:X1=1;"]);
}

/// Where the ways through such a loop are too many, it is cut as other loops are.
#[test]
fn a_loop_with_a_counter_and_too_many_ways_is_cut() {
    let text = "C many
{}
P0 (atomic_int* x) {
  int r1 = 0;
  for (int i = 0; i < 60; i++) {
    if (atomic_load_explicit(x, memory_order_relaxed)) r1 = r1 + 1;
  }
}
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (0:r1=1)
";
    let test = litmus::read(&Source::new("t.litmus", text)).expect("reads");
    let plan = cat::load("rc11", &LoadOptions::new(test.arch)).expect("loads");
    let model = Model::load(&plan).expect("stages");
    let outcomes = Simulator::default().simulate(&test, &model, &Options::default());
    // No way through the loop ends within two turns.
    assert!(outcomes.expect_err("cut").to_string().contains("no answer: every execution"));
}

/// Pieces of different addresses make no address: not even one that a path hangs on.
#[test]
fn torn_addresses_are_no_addresses() {
    expect(
        "C t
{ int *p = z; atomic_int z=0; atomic_int x=0; }
P0(int* _Atomic *p, atomic_int *x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(p, (int*)x, memory_order_release);
}
P1(int* _Atomic *p) {
  int *r0 = atomic_load_explicit(p, memory_order_relaxed);
  int r1 = atomic_load_explicit((atomic_int*)r0, memory_order_relaxed);
}
exists (1:r0=x /\\ 1:r1=0)
",
        &["1:r0=x; 1:r1=0;", "1:r0=x; 1:r1=1;", "1:r0=z; 1:r1=0;"],
    );
}

/// Shifts and masks that code computes from an address are known, though the address is not.
#[test]
fn low_bits_of_addresses_are_known() {
    expect(
        "RISCV t
{ _Atomic int8_t s[4]; int8_t out; 0:x9=s; 1:x18=s; 1:x11=out; }
 P0                   | P1            ;
 addi x9,x9,1         | li x12,2      ;
 andi x10,x9,-4       | sb x12,0(x18) ;
 slli x12,x9,3        | fence rw,rw   ;
 li x13,255           | lb x10,1(x18) ;
 sllw x13,x13,x12     | sb x10,0(x11) ;
 li x16,1             |               ;
 sllw x12,x16,x12     |               ;
 lr.w x15,0(x10)      |               ;
 add x14,x15,x12      |               ;
 xor x14,x14,x15      |               ;
 and x14,x14,x13      |               ;
 xor x14,x14,x15      |               ;
 sc.w x17,x14,0(x10)  |               ;
 fence rw,rw          |               ;
 sb x16,0(x10)        |               ;
exists (s[0]=2 /\\ [out]=2)
",
        &["[out]=0; s[0]=1;", "[out]=0; s[0]=2;", "[out]=1; s[0]=1;", "[out]=1; s[0]=2;"],
    );
}

/// Compilers put blocks out of the way: a jump back to what was not executed is no turn of a loop.
#[test]
fn a_block_that_stands_before_is_no_loop() {
    let text = r"AArch64 t
{ 0:X1=x; 1:X1=x; }
 P0             | P1          ;
 B L1           | MOV W0,#1   ;
 L0: MOV W2,#2  | STR W0,[X1] ;
 B L2           |             ;
 L1: LDR W0,[X1] |            ;
 CBNZ W0,L0     |             ;
 L2: MOV W3,#3  |             ;
exists (0:X2=2 /\ 0:X3=3)
";
    let test = litmus::read(&Source::new("t.litmus", text)).unwrap();
    let plan = cat::load("aarch64", &LoadOptions::new(test.arch)).unwrap();
    let model = Model::load(&plan).unwrap();
    let options = Options { unroll: 1, ..Options::default() };
    let outcomes = Simulator::default().simulate(&test, &model, &options).unwrap();
    assert!(!outcomes.cut && outcomes.states.len() == 2, "{:?}", outcomes.states);
}

/// A failed store-exclusive is a choice, not a count: its loop runs as often as `unroll` says.
#[test]
fn a_loop_of_exclusives_counts_against_unrolling() {
    let text = "AArch64 t
{ 0:X1=x; 0:X2=y; }
P0 ;
 L0: LDXR W3,[X1] ;
 STXR W4,W3,[X1] ;
CBNZ W4,L0 ;
 L1: LDXR W5,[X2] ;
 STXR W4,W5,[X2] ;
 CBNZ W4,L1 ;
exists (0:X3=0)
";
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).expect("reads");
    let cat = cat::load("aarch64", &LoadOptions::new(test.arch)).expect("loads");
    let model = Model::load(&cat).expect("stages");
    for unroll in 1..4 {
        let options = Options { unroll, ..Options::default() };
        let outcomes = Simulator::default().simulate(&test, &model, &options).expect("simulates");
        assert!(outcomes.cut);
        assert_eq!(outcomes.stats.skeletons, u64::from(unroll * unroll));
        assert_eq!(outcomes.states.len(), 1);
    }
}

/// A register that holds an address on one side of a condition is used only on that side.
#[test]
fn a_condition_and_its_negation_are_one_question() {
    expect(
        "ARM t
{ 0:R0=x; 0:R1=y; 1:R0=x; 1:R4=y; }
P0 | P1 ;
 MOV R3,#1 | LDR R1,[R4] ;
 STR R3,[R0] | CMP R1,#1 ;
DMB ISH | MOVNE R0,#0 ;
 STR R3,[R1] | LDREQ R0,[R0] ;
locations [1:R0;]
exists (1:R1=1)
",
        &["1:R0=0; 1:R1=0;", "1:R0=0; 1:R1=1;", "1:R0=1; 1:R1=1;"],
    );
}

/// A pair is two accesses, but on machines that promise more.
#[test]
fn what_machines_have_makes_accesses_single() {
    let test = |info: &str| {
        format!(
            "AArch64 t
{info}{{ uint64_t x[2]; 0:X0=x; 1:X0=x; }}
P0 | P1 ;
 MOV X1,#1 | LDP X1,X2,[X0] ;
 STP X1,X1,[X0] | ;
locations [1:X1; 1:X2;]
exists (1:X1=1)
"
        )
    };
    let torn = ["1:X1=0; 1:X2=0;", "1:X1=0; 1:X2=1;", "1:X1=1; 1:X2=0;", "1:X1=1; 1:X2=1;"];
    expect(&test(""), &torn);
    expect(&test("Features=lse2\n"), &[torn[0], torn[3]]);
    expect(&test("Variant=mixed,LSE2\n"), &[torn[0], torn[3]]);
    let read = |text: String| litmus::read(&Source::new("t.litmus", text)).expect("reads");
    let hash = |info| litmus::canon::canonical_hash(&read(test(info)));
    assert_ne!(hash(""), hash("Features=lse2\n"));
    assert_eq!(hash("Features=lse2\n"), hash("Variant=mixed,LSE2\n"));
    assert_eq!(hash(""), hash("Orig=lse2\n"));
}

struct One(&'static str);

impl cat::load::Files for One {
    fn read(&self, path: &std::path::Path) -> std::io::Result<Option<String>> {
        Ok(path.ends_with("one.cat").then(|| self.0.to_string()))
    }
}

/// Models of users see memory that one thread alone uses, whether or not they follow values from
/// register to register.
#[test]
fn models_of_users_see_private_memory() {
    let text = "AArch64 t
{ 0:X1=z; 0:X3=x; }
P0 ;
 MOV W0,#1 ;
 STR W0,[X1] ;
 LDR W2,[X1] ;
 STR W2,[X3] ;
exists (x=1)
";
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).expect("reads");
    let flags = |model: &'static str| {
        let options = LoadOptions::new(test.arch);
        let cat = cat::load::load_with("one.cat", &options, &One(model)).expect("loads");
        let model = Model::load(&cat).expect("stages");
        let outcomes = Simulator::default().simulate(&test, &model, &Options::default());
        outcomes.expect("simulates").flags
    };
    assert_eq!(flags("catdep\nflag ~empty rf & int as through-memory\n"), ["through-memory"]);
    assert_eq!(flags("flag ~empty rf & int as through-memory\n"), ["through-memory"]);
}

#[test]
fn an_access_that_does_not_fit_is_an_error_only_where_it_happens() {
    // Two words behind a pointer: of the locations, `x` alone has room for them.
    let text = |pointee: &str| {
        format!(
            "ARM t\n{{ uint64_t x=0x500000003; int y=7; x* p=x; int out; 0:R1=p; 0:R4={pointee}; \
             1:R1=p; 1:R5=out; }}\n\
             P0           | P1            ;\n\
             STR R4,[R1]  | LDR R0,[R1]   ;\n\
             \u{20}            | LDRD R2,R3,[R0] ;\n\
             exists (1:R2=3)\n"
        )
    };
    expect(&text("x"), &["1:R2=3;"]);
    let error = states(&text("y"), &[Engine::Solve]).unwrap_err();
    assert!(error.contains("an access of 4 bytes at y+4 is outside of it"), "{error}");
    // A part of a location is found as its start is.
    let part = text("x").replace("LDRD R2,R3,[R0]", "LDR R2,[R0,#4]").replace("1:R2=3", "1:R2=5");
    expect(&part, &["1:R2=5;"]);
    // On the other side of a branch that nobody takes it does not happen either.
    expect(
        "ARM t
{ int y=7; int z=0; 0:R1=y; 0:R2=z; }
P0           ;
LDR R0,[R2]  ;
CMP R0,#1    ;
BNE L0       ;
LDR R0,[R1,#4] ;
L0:          ;
exists (0:R0=0)
",
        &["0:R0=0;"],
    );
}

#[test]
fn a_prefixed_quadword_of_power_lies_in_memory_as_its_registers_follow() {
    // `lq` and `stq` have the high half in the first register.
    expect(
        "PPC t
{ uint128_t x=0; uint128_t y=0; 0:r3=x; 0:r4=y; 0:r8=2; 0:r9=1; }
P0 ;
 pstq r8,0(r3) ;
 stq r8,0(r4) ;
 plq r10,0(r4) ;
 lq r12,0(r4) ;
locations [x; y; 0:r10; 0:r11; 0:r12; 0:r13]
exists (true)
",
        &[
            "0:r10=1; 0:r11=2; 0:r12=2; 0:r13=1; [x]=18446744073709551618; [y]=36893488147419103233;",
        ],
    );
}

/// Every final state of a kernel-style test, and the flags that it raises.
fn kernel_answer(text: &str, model: &Model) -> Result<(Vec<String>, Vec<String>), String> {
    let source = Source::new("t.litmus", text.to_string());
    let test = litmus::read(&source).map_err(|e| e.to_string())?;
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        let outcomes = Simulator::default().simulate(&test, model, &options);
        let outcomes = outcomes.map_err(|e| e.to_string())?;
        let line = |s: litmake::sim::State| {
            s.iter().map(|(k, v)| format!("{k}={v};")).collect::<Vec<_>>().join(" ")
        };
        let states = outcomes.states.iter().map(line).collect::<Vec<_>>();
        let mut flags = outcomes.flags;
        flags.sort();
        flags.dedup();
        Ok::<_, String>((states, flags))
    };
    let found = run(Engine::Enumerate)?;
    for engine in [Engine::Solve, Engine::Exhaustive] {
        assert_eq!(found, run(engine)?, "{engine:?}:\n{text}");
    }
    Ok(found)
}

fn expect_kernel(text: &str, states: &[&str], flags: &[&str]) {
    let model = kernel::model(true, true);
    let found = kernel_answer(text, &model).unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert_eq!(found.0, states, "{text}");
    assert_eq!(found.1, flags, "{text}");
}

#[test]
fn annotations_order_what_a_model_says() {
    let mp = |put: &str, get: &str| {
        format!(
            r"C MP
{{}}
P0(int *x, int *y) {{ put(x, 1); {put}(y, 1); }}
P1(int *x, int *y) {{ int a = {get}(y); int b = get(x); }}
exists (1:a=1 /\ 1:b=0)
"
        )
    };
    let all = ["1:a=0; 1:b=0;", "1:a=0; 1:b=1;", "1:a=1; 1:b=0;", "1:a=1; 1:b=1;"];
    let ordered = [all[0], all[1], all[3]];
    expect_kernel(&mp("put", "get"), &all, &[]);
    expect_kernel(&mp("put_release", "get_acquire"), &ordered, &[]);
}

#[test]
fn sections_under_a_lock_are_not_mixed() {
    expect_kernel(
        "C locks
{}
P0(int *x, spinlock_t *l) { take(l); put_twice(x, 1); release(l); }
P1(int *x, spinlock_t *l) { take(l); int a = get(x); int b = get(x); release(l); }
exists (1:a=1)
",
        &["1:a=0;", "1:a=2;"],
        &[],
    );
    expect_kernel(
        r"C looks
{}
P0(spinlock_t *l) { a = is_taken(l); take(l); b = is_taken(l); c = try_take(l); release(l); d = try_take(l); }
forall (0:a=0 /\ 0:b=1 /\ 0:c=0 /\ 0:d=1)
",
        &["0:a=0; 0:b=1; 0:c=0; 0:d=1;"],
        &[],
    );
    // Who asks for a lock that it holds waits for ever.
    expect_kernel(
        "C stuck
{}
P0(spinlock_t *l) { take(l); take(l); int a = 1; }
exists (0:a=1)
",
        &[],
        &[],
    );
    expect_kernel(
        "C shown
{}
P0(spinlock_t *l) { take(l); release(l); }
exists (l=0)
",
        &["[l]=0;"],
        &["lock-shown"],
    );
}

#[test]
fn read_modify_writes_change_what_they_say() {
    let test = |body: &str, shown: &str, state: &str| {
        let text = format!(
            "C rmw
{{ atomic_t x = ATOMIC_INIT(6); }}
P0(atomic_t *x) {{ {body} }}
locations [{shown}]
exists (x=1)
"
        );
        expect_kernel(&text, &[state], &[]);
    };
    test("add(x, 1); clear(x, 2); a = added(x, 1);", "0:a", "0:a=6; [x]=6;");
    test("a = add_after(x, 1); b = swap(x, 3);", "0:a; 0:b", "0:a=6; 0:b=7; [x]=3;");
    test("a = swap_if(x, 6, 1); b = swap_if(x, 6, 9);", "0:a; 0:b", "0:a=6; 0:b=1; [x]=1;");
    test("a = add_unless(x, 1, 6); b = add_unless(x, 1, 7);", "0:a; 0:b", "0:a=0; 0:b=1; [x]=7;");
    test(
        "a = is_last(x); b = added(x, 0 - 4); c = is_last(x);",
        "0:a; 0:c",
        "0:a=0; 0:c=1; [x]=0;",
    );
    let inc = "C inc
{}
P0(int *x) { a = added(x, 1); }
P1(int *x) { a = added(x, 1); }
exists (x=2)
";
    expect_kernel(inc, &["[x]=2;"], &[]);
}

#[test]
fn sections_are_matched_from_the_inside() {
    let test = |body: &str| {
        format!(
            "C s
{{}}
P0(int *x) {{ {body} }}
exists (x=0)
"
        )
    };
    let x = ["[x]=0;"];
    expect_kernel(&test("begin(); begin(); end(); end();"), &x, &[]);
    expect_kernel(&test("begin(); begin(); end();"), &x, &["open-section"]);
    expect_kernel(&test("end(); begin(); end();"), &x, &["stray-end"]);
    expect_kernel(&test("begin(); wait_all(x); end();"), &x, &["wait-inside"]);
}

#[test]
fn values_are_compared_where_a_model_asks() {
    let test = |end: &str| {
        format!(
            "C s
{{}}
P0(struct srcu_struct *s) {{ a = sleep_begin(s); {end} }}
exists (0:a=0)
"
        )
    };
    expect_kernel(&test("sleep_end(s, a);"), &["0:a=0;"], &[]);
    expect_kernel(&test("sleep_end(s, a + 1);"), &["0:a=0;"], &["wrong-sleep"]);
    expect_kernel(&test("sleep_end(s, a - a);"), &["0:a=0;"], &[]);
}

/// What a branch decides does not reach past what it branches around.
#[test]
fn control_dependencies_end_with_the_branch() {
    let lb = |close: &str, open: &str| {
        let thread = |a: &str, b: &str| {
            format!("{{ int r = get({a}); if (r == 1) {{ {close} put({b}, 1); {open} }}")
        };
        let (first, second) = (thread("x", "y"), thread("y", "x"));
        format!(
            r"C LB
{{}}
P0(int *x, int *y) {first}
P1(int *x, int *y) {second}
exists (0:r=1 /\ 1:r=1)
"
        )
    };
    let (zero, one) = ("0:r=0; 1:r=0;", "0:r=1; 1:r=1;");
    expect_kernel(&lb("", "}"), &[zero], &[]);
    expect_kernel(&lb("} {", "}"), &[zero, "0:r=0; 1:r=1;", "0:r=1; 1:r=0;", one], &[]);
}

/// Addresses lie in plain variables, and locals need no declaration.
#[test]
fn variables_have_no_types() {
    expect_kernel(
        r"C list
{ int *y=z; int *x=y; int z=7; }
P0(int *x, int *y, int *z) { p = get(x); if (p == y) q = get(p); r = get(q); }
exists (0:p=y /\ 0:q=z /\ 0:r=7)
",
        &["0:p=y; 0:q=z; 0:r=7;"],
        &[],
    );
}

#[test]
fn what_is_missing_for_a_kernel_style_test_is_said() {
    let test = |body: &str| {
        format!(
            "C t
{{}}
P0(int *x) {{
  {body}
}}
exists (x=0)
"
        )
    };
    let cases = [
        (
            false,
            false,
            "READ_ONCE(*x);",
            "`READ_ONCE` is a primitive of the Linux kernel",
            "--conf",
        ),
        (false, true, "put(x, 1);", "the annotation `once` needs a bell file", "--bell FILE"),
        (true, false, "__load{twice}(*x);", "declares no annotation `twice`", "it declares once,"),
        (true, false, "__load{onse}(*x);", "declares no annotation `onse`", "did you mean `once`?"),
        (true, true, "gett(x);", "unknown function `gett`", "did you mean `get` of small.def?"),
        (true, true, "put(x);", "`put` takes 2 arguments, found 1", "a macro of small.def"),
        (true, true, "int r = put(x, 1);", "`put` gives no value", "let it stand alone"),
        (true, true, "__load{once}(x);", "expected what a pointer points to", "write `*x`"),
        (true, true, "float r = 1;", "no floating point in the kernel's C", "is an `int`"),
        (true, true, "put(x, (double *)0 == 0);", "no floating point", "is an `int`"),
    ];
    for (bell, macros, body, message, help) in cases {
        let error = kernel_answer(&test(body), &kernel::model(bell, macros)).unwrap_err();
        assert!(error.starts_with("t.litmus:4:"), "{body}: {error}");
        assert!(error.contains(message) && error.contains(help), "{body}: {error}");
    }
}

/// What a place holds that is a lock and something else is for no model to say.
#[test]
fn a_lock_that_is_something_else_too_is_refused() {
    let model = kernel::model(true, true);
    let test = |body: &str| {
        format!(
            "C t
{{}}
P0(int *x, int *y) {{
  {body}
}}
exists (x=0)
"
        )
    };
    for body in [
        "put(x, 1); __lock(x);",
        "__lock(x); int r = get(x);",
        "__unlock(x); __lock(x); put(x, 1);",
    ] {
        let error = kernel_answer(&test(body), &model).unwrap_err();
        assert!(error.contains("`x` is a lock, and is read or written as well"), "{body}: {error}");
        assert!(error.contains("a location of its own"), "{body}: {error}");
    }
    for body in
        ["put(y, 1); __lock(x); __unlock(x);", "__lock(x); int r = __islocked(x); __unlock(x);"]
    {
        kernel_answer(&test(body), &model).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
}

/// What `isel` goes by is used to compute what is stored, so the store is behind the load: no load buffering.
#[test]
fn a_selected_value_depends_on_what_selects_it_on_power() {
    let thread = |selected: &str| {
        format!(
            r"PPC t
{{ 0:r2=x; 0:r4=y; 0:r8=1; 0:r9=2; 1:r2=y; 1:r4=x; 1:r8=1; 1:r9=2; }}
 P0 | P1 ;
 lwz r1,0(r2) | lwz r1,0(r2) ;
 cmpwi r1,0 | cmpwi r1,0 ;
 isel r5,r9,r8,eq | isel r5,r9,r8,eq ;
 stw {selected},0(r4) | stw {selected},0(r4) ;
exists (0:r1=1 /\ 1:r1=1)
"
        )
    };
    expect(&thread("r5"), &["0:r1=0; 1:r1=0;", "0:r1=0; 1:r1=2;", "0:r1=2; 1:r1=0;"]);
    // Where something else is stored, nothing keeps the load in front.
    assert!(
        states(&thread("r8"), &[Engine::Solve]).unwrap().contains(&"0:r1=1; 1:r1=1;".to_string())
    );
}

/// As C has it: it is equal to 0 and to no location, and there is nothing behind it.
#[test]
fn null_is_the_null_pointer_and_no_location() {
    let c = |init: &str, body: &str, condition: &str| {
        format!(
            "C t
{{ {init} }}
P0 (int** p, int* x) {{ {body} }}
P1 (int** p, int* x) {{ }}
exists ({condition})
"
        )
    };
    let tested = "int* r = *p; int v = 5; if (r != NULL) v = *r; else v = 7;";
    expect(&c("p = NULL; x = 1;", tested, "0:v=7"), &["0:v=7;"]);
    expect(&c("p = x; x = 1;", tested, "0:v=7"), &["0:v=1;"]);
    expect(&c("p = x;", "*p = NULL;", "p=NULL"), &["[p]=0;"]);
    expect(&c("p = x;", "*p = nullptr;", "p=0"), &["[p]=0;"]);
    expect(&c("", "int* r = NULL; if (!r) *x = 3;", "x=3"), &["[x]=3;"]);
    expect(&c("x = ATOMIC_VAR_INIT(2);", "*x = ATOMIC_VAR_INIT(*x + 1);", "x=3"), &["[x]=3;"]);
    // What reads there ends the test with an error.
    let error =
        states(&c("p = NULL;", "int* r = *p; int v = *r;", "0:v=0"), &[]).expect_err("none");
    assert!(error.contains("not the address of a location"), "{error}");
    // In assembly it is no location either.
    expect(
        "AArch64 t
{ 0:X1=NULL; }
P0 ;
 ADD X1,X1,#2 ;
exists (0:X1=2)
",
        &["0:X1=2;"],
    );
}

#[test]
fn published_pointers_may_be_null() {
    let text = "C t
{ p = NULL; x = 0; }
P0 (int* _Atomic * p, int* x) { *x = 1; atomic_store_explicit(p, x, memory_order_release); }
P1 (int* _Atomic * p) { int* r = atomic_load_explicit(p, memory_order_acquire); int v = 5; if (r) v = *r; }
exists (1:v=0)
";
    expect(text, &["1:v=1;", "1:v=5;"]);
}

/// The time of a test holds while paths are looked for, too: those that are cut end nothing by their number.
#[test]
fn paths_are_looked_for_within_the_time() {
    let text = "C waits
{}
P0 (atomic_int* x, atomic_int* y) {
  while (atomic_load(x) != 1) {
    while (atomic_load(y) != 1) { }
  }
}
P1 (atomic_int* x, atomic_int* y) { atomic_store(x, 1); atomic_store(y, 1); }
exists (x=0)
";
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).expect("a test");
    let plan = cat::load("rc11", &LoadOptions::new(test.arch)).expect("a model");
    let model = Model::load(&plan).expect("a model");
    let timeout = Some(std::time::Duration::ZERO);
    let options = Options { unroll: 40, timeout, ..Options::default() };
    let error = Simulator::default().simulate(&test, &model, &options).expect_err("no time");
    assert_eq!(error.kind, FailureKind::Broken(Fault::OutOfTime), "{error}");
    assert!(error.to_string().contains("thread 0 has more paths"), "{error}");
}

/// Where an address leads is followed through memory and tables, and what is never written is what it was at
/// first: all engines agree with the one that follows nothing. Dependencies stay.
#[test]
fn what_is_never_written_is_known() {
    let engines = [Engine::Solve, Engine::Exhaustive];
    let tables = "C t
{ int k = 1; int m[3]; int* p = k; int x; }
P0 (int* k, int m[3], int** p, atomic_int* x) {
  for (int j = 0; j < **p; j++) {
    m[*k + 1] = 7;
    atomic_store_explicit(x, *k, memory_order_release);
  }
}
P1 (int* k, int m[3], atomic_int* x) {
  int r = atomic_load_explicit(x, memory_order_acquire);
  int v = 9;
  if (r) v = m[*k + r];
}
locations [1:r]
exists (1:v=7)
";
    expect_of(&engines, tables, &["1:r=0; 1:v=9;", "1:r=1; 1:v=7;"]);
    // An address out of a table that is only read is an error, known or not.
    let outside = "C t
{ int k = 9; int m[3]; int x; }
P0 (int* k, int m[3]) { int v = m[*k]; }
P1 (int* x) { *x = 1; }
exists (0:v=0)
";
    let error = states(outside, &[]).expect_err("an address out of a table");
    assert!(error.contains("outside of it"), "{error}");
    // The index orders the reads on AArch64, though it is always 0.
    let ordered = |second: &str| {
        format!(
            r"AArch64 t
{{ 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; 1:X5=k; }}
 P0 | P1 ;
 MOV W0,#1 | LDR W0,[X1] ;
 STR W0,[X1] | LDR W4,[X5] ;
 DMB ISH | {second} ;
 STR W0,[X3] | LDR W2,[X3,W6,SXTW] ;
exists (1:X0=1 /\ 1:X2=0)
"
        )
    };
    let all = ["1:X0=0; 1:X2=0;", "1:X0=0; 1:X2=1;", "1:X0=1; 1:X2=0;", "1:X0=1; 1:X2=1;"];
    expect_of(&engines, &ordered("EOR W6,W0,W0"), &[all[0], all[1], all[3]]);
    expect_of(&engines, &ordered("EOR W6,W4,W4"), &all);
}
