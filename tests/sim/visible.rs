//! What a model can see: events that only some dialects have, memory of one thread, values in a
//! circle; and bounds, which give no verdicts.

use crate::{differ, wide};
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Model, Options, Outcomes, Simulator};

const ENGINES: [Engine; 4] = [Engine::Auto, Engine::Enumerate, Engine::Solve, Engine::Exhaustive];

fn simulate(text: &str, model: &Model, engine: Engine) -> Result<Outcomes, String> {
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).expect("a test");
    let options = Options { engine, ..Options::default() };
    Simulator::default().simulate(&test, model, &options).map_err(|e| e.to_string())
}

/// Final states, which every engine finds.
fn states(text: &str, model: &Model) -> Vec<String> {
    let mut all = ENGINES.map(|engine| {
        let outcomes = simulate(text, model, engine).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let line = |s: litmake::sim::State| {
            s.iter().map(|(k, v)| format!("{k}={v};")).collect::<Vec<_>>().join(" ")
        };
        let mut lines: Vec<String> = outcomes.states.iter().map(line).collect();
        lines.sort();
        lines
    });
    for other in &all[1..] {
        assert_eq!(&all[0], other, "{text}");
    }
    std::mem::take(&mut all[0])
}

fn built_in(arch: Arch, name: &str) -> Model {
    differ::built_in(arch, &[name]).remove(0).1
}

/// Expected are herd7's outcomes under its own model for x86.
#[test]
fn instructions_without_lock_do_not_read_each_other_in_a_circle() {
    let inc_dec = |arch: &str, x: &str| {
        format!("{arch} t\n{{ x=5; }}\nP0 | P1 ;\n{x} ;\nlocations [x;]\nexists (x=0)\n")
    };
    for model in ["x86tso", "x86tso-herd2025", "sc"] {
        let text = inc_dec("X86_64", "incl (x) | decl (x)");
        assert_eq!(states(&text, &built_in(Arch::X86_64, model)), ["[x]=4;", "[x]=5;", "[x]=6;"]);
        let text = inc_dec("X86", "INC [x] | DEC [x]");
        assert_eq!(states(&text, &built_in(Arch::X86, model)), ["[x]=4;", "[x]=5;", "[x]=6;"]);
    }
    // Where values need no circle: each compares with what the other writes.
    let text = "X86_64 t
{ x=0; 0:rax=2; 0:rbx=1; 1:rax=1; 1:rbx=2; }
P0 | P1 ;
cmpxchgl %ebx,(x) | cmpxchgl %ebx,(x) ;
locations [x;]
exists (x=1)
";
    for model in ["x86tso", "sc"] {
        assert_eq!(states(text, &built_in(Arch::X86_64, model)), ["[x]=0;"]);
    }
}

#[test]
fn values_in_a_circle_are_no_execution_under_any_model() {
    let none = differ::own(Arch::AArch64, "\"none\"\ninclude \"cos.cat\"\n");
    let text = "AArch64 t
{ x=5; y=5; 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; }
P0 | P1 ;
LDR W0,[X1] | LDR W0,[X1] ;
ADD W0,W0,#1 | SUB W0,W0,#1 ;
STR W0,[X3] | STR W0,[X3] ;
exists (0:X0=1)
";
    // From 5 on: nobody reads 0, or anything else that no store computes.
    assert_eq!(states(text, &none), ["0:X0=5;", "0:X0=6;"]);
    // Through an operation of which the order of writes alone gives the result.
    let none = differ::own(Arch::C, "\"none\"\nlet nothing = 0\n");
    let text = "C t
{ p=0; }
P0(atomic_int *p) {
  int r1 = atomic_load_explicit(p, memory_order_relaxed);
  int r3 = atomic_fetch_and_explicit(p, r1, memory_order_relaxed);
  int r2 = atomic_exchange_explicit(p, r1, memory_order_relaxed);
}
exists (0:r1=0 /\\ 0:r2=0)
";
    assert_eq!(states(text, &none), ["0:r1=0; 0:r2=0;"]);
}

#[test]
fn branches_of_x86_are_no_events() {
    let any = &wide::USERS.iter().find(|(n, _)| *n == "any-event").expect("it is there").1;
    let text = |jump: &str| {
        format!(
            r"X86_64 t
{{ }}
P0 | P1 ;
movl $1,(x) | movl $1,(y) ;
{jump}movl (y),%ebx | movl (x),%ebx ;
exists (0:rbx=0 /\ 1:rbx=0)
"
        )
    };
    let model = differ::own(Arch::X86_64, any);
    let jump = "cmpl $1,%eax | cmpl $1,%eax ;\njne L0 | jne L1 ;\nL0: | L1: ;\n";
    assert_eq!(states(&text(jump), &model).len(), 4);
    // A fence is an event, and such a model orders by it.
    assert_eq!(states(&text("lfence | lfence ;\n"), &model).len(), 3);
    // Those of AArch64 are.
    let model = differ::own(Arch::AArch64, any);
    let text = r"AArch64 t
{ 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; }
P0 | P1 ;
MOV W0,#1 | MOV W0,#1 ;
STR W0,[X1] | STR W0,[X1] ;
CBZ W0,L0 | CBZ W0,L1 ;
L0: | L1: ;
LDR W2,[X3] | LDR W2,[X3] ;
exists (0:X2=0 /\ 1:X2=0)
";
    assert_eq!(states(text, &model).len(), 3);
    // So are the decisions inside its instructions, which are no branches.
    let inside = text.replace(
        "CBZ W0,L0 | CBZ W0,L1 ;
L0: | L1: ;
",
        "CSEL W5,W5,W0,EQ | CSEL W5,W5,W0,EQ ;\n",
    );
    assert_eq!(states(&inside, &model).len(), 3);
    let flags = differ::own(
        Arch::AArch64,
        "\"f\"\ninclude \"cos.cat\"\nflag ~empty PRED as pred\nflag ~empty BCC as bcc\n",
    );
    for (text, flag) in [(text, "bcc"), (inside.as_str(), "pred")] {
        for engine in ENGINES {
            assert_eq!(simulate(text, &flags, engine).expect("an answer").flags, [flag]);
        }
    }
}

/// Expected are herd7's outcomes.
#[test]
fn a_model_of_a_user_sees_the_memory_of_one_thread() {
    let text = r"AArch64 priv
{ 0:X1=x; 0:X3=y; 0:X5=z; 1:X1=x; 1:X3=y; }
P0 | P1 ;
MOV W0,#1 | LDR W0,[X3] ;
STR W0,[X1] | DMB SY ;
STR W0,[X5] | LDR W2,[X1] ;
STR W0,[X3] | ;
exists (1:X0=1 /\ 1:X2=0)
";
    let model = differ::own(Arch::AArch64, wide::USERS[0].1);
    let three = ["1:X0=0; 1:X2=0;", "1:X0=0; 1:X2=1;", "1:X0=1; 1:X2=1;"];
    assert_eq!(states(text, &model), three);
    let text = "AArch64 bra
{ 0:X1=x; 0:X3=y; }
P0 ;
STR W0,[X3] ;
CBZ W0,L0 ;
L0: ;
LDR W2,[X1] ;
exists (0:X2=0)
";
    let model =
        differ::own(Arch::AArch64, "\"e\"\ninclude \"cos.cat\"\nempty ([W]; po; [B]) as e\n");
    assert!(states(text, &model).is_empty());
}

/// Where a store to a stack slot is before a barrier for stores, what was read before the store
/// is ordered too.
#[test]
fn what_a_private_store_orders_is_ordered() {
    let text = |fence: &str| {
        format!(
            r"AArch64 t
{{ 0:X1=x; 0:X3=y; 0:X5=p; 1:X1=y; 1:X3=x; }}
P0 | P1 ;
LDR W0,[X1] | LDR W0,[X1] ;
STR W0,[X5] | DMB SY ;
{fence} | MOV W2,#1 ;
MOV W2,#1 | STR W2,[X3] ;
STR W2,[X3] | ;
exists (0:X0=1 /\ 1:X0=1)
"
        )
    };
    let model = built_in(Arch::AArch64, "aarch64");
    assert_eq!(states(&text("DMB ST"), &model).len(), 3);
    assert_eq!(states(&text("NOP"), &model).len(), 4);
    let text = r"PPC t
{ 0:r1=x; 0:r3=y; 0:r5=p; 1:r1=y; 1:r3=x; }
P0 | P1 ;
lwz r0,0(r1) | lwz r0,0(r1) ;
stw r0,0(r5) | sync ;
li r2,1 | li r2,1 ;
stw r2,0(r5) | stw r2,0(r3) ;
lwz r2,0(r5) | ;
stw r2,0(r3) | ;
exists (0:r0=1 /\ 1:r0=1)
";
    assert_eq!(states(text, &built_in(Arch::Ppc, "ppc")).len(), 3);
}

#[test]
fn under_built_in_models_private_memory_costs_nothing() {
    let mut text = "AArch64 t
{ 0:X1=x; 0:X3=y; 0:X5=p; 1:X1=y; 1:X3=z; 1:X5=q; 2:X1=z; 2:X3=x; 2:X5=r; }
P0 | P1 | P2 ;
"
    .to_string();
    let mut all = |line: &str| text.push_str(&format!("{line} | {line} | {line} ;\n"));
    all("LDR W0,[X1]");
    for slot in 0..24 {
        all(&format!("STR W0,[X5,#{}]", 8 * (slot % 8)));
        all(&format!("LDR W2,[X5,#{}]", 8 * (slot % 8)));
    }
    all("MOV W2,#1");
    all("STR W2,[X3]");
    text.push_str("exists (0:X0=1 /\\ 1:X0=1 /\\ 2:X0=1)\n");
    for name in ["aarch64", "sc"] {
        let found =
            simulate(&text, &built_in(Arch::AArch64, name), Engine::Auto).expect("an answer");
        assert!(found.stats.nodes < 100, "{name}: {}", found.stats.nodes);
    }
}

/// Expected are herd7's outcomes.
#[test]
fn a_place_whose_address_is_overwritten_is_shown() {
    let text = "AArch64 b03
{ 0:X1=x; 1:X1=x; 0:X3=y; int *x=z; int z=7; int y=9; }
P0 | P1 ;
STR X3,[X1] | LDR X0,[X1] ;
 | LDR W2,[X0] ;
locations [1:X2;x;]
exists (1:X0=y)
";
    let two = ["1:X0=y; 1:X2=9; [x]=y;", "1:X0=z; 1:X2=7; [x]=y;"];
    assert_eq!(states(text, &built_in(Arch::AArch64, "aarch64")), two);
}

/// herd7 lets a read return what comes later in its thread, where the model does.
#[test]
fn without_coherence_reads_may_be_early() {
    let text = "AArch64 later
{ 0:X1=x; 1:X1=x; }
P0 | P1 ;
LDR W0,[X1] | ;
MOV W2,#1 | ;
STR W2,[X1] | ;
exists (0:X0=1)
";
    let naked = differ::own(Arch::AArch64, "\"naked\"\ninclude \"cos.cat\"\n");
    assert_eq!(states(text, &naked), ["0:X0=0;", "0:X0=1;"]);
    assert_eq!(states(text, &built_in(Arch::AArch64, "aarch64")), ["0:X0=0;"]);
}

#[test]
fn what_flows_inside_an_instruction_ends_with_it() {
    let text = "AArch64 t
{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }
P0 | P1 ;
LDR W0,[X1] | ;
STR W0,[X3] | ;
exists (0:X0=0)
";
    let model = differ::own(Arch::AArch64, "\"i\"\ninclude \"cos.cat\"\nempty iico_data as none\n");
    assert_eq!(states(text, &model).len(), 1);
}

#[test]
fn straight_code_of_any_length_is_run() {
    let mut text = "AArch64 t
{ 0:X1=x; 1:X1=x; }
P0 | P1 ;
"
    .to_string();
    text.push_str(&"MOV W0,#1 | ;\n".repeat(11_000));
    text.push_str("STR W0,[X1] | LDR W2,[X1] ;\nexists (1:X2=1)\n");
    let model = built_in(Arch::AArch64, "aarch64");
    let found = simulate(&text, &model, Engine::Auto).expect("an answer");
    assert_eq!((found.positive, found.negative, found.cut), (1, 1, false));
}

#[test]
fn a_bound_that_cuts_everything_gives_no_verdict() {
    let model = built_in(Arch::AArch64, "aarch64");
    let spin = "AArch64 t
{ 0:X1=x; 1:X1=x; }
P0 | P1 ;
L: | LDR W2,[X1] ;
LDR W0,[X1] | ;
CBZ W0,L | ;
exists (1:X2=1)
";
    let count = "AArch64 t
{ 0:X1=x; 1:X1=x; }
P0 | P1 ;
MOV W0,#30000 | LDR W2,[X1] ;
L: | ;
SUB W0,W0,#1 | ;
CBNZ W0,L | ;
STR W0,[X1] | ;
exists (1:X2=1)
";
    for (text, wanted) in [(spin, "no answer"), (count, "no answer")] {
        for engine in ENGINES {
            let error = simulate(text, &model, engine).expect_err("it was not looked at");
            assert!(error.contains(wanted), "{error}");
        }
    }
}

/// A private read after an access whose address depends on a read: what a branch on it and an ISB or ISYNC order
/// after it comes after the first read. Expected are herd7's verdicts.
#[test]
fn a_private_read_after_an_address_dependency() {
    let power = r"PPC t
{ 0:r2=x; 0:r4=y; 1:r2=y; 1:r4=z; 1:r7=p; 1:r9=x; }
P0 | P1 ;
li r1,1 | lwz r1,0(r2) ;
stw r1,0(r2) | xor r3,r1,r1 ;
lwsync | li r5,1 ;
li r3,1 | stwx r5,r3,r4 ;
stw r3,0(r4) | lwz r6,0(r7) ;
| cmpw r6,r6 ;
 | beq L ;
 | L: ;
 | isync ;
 | lwz r8,0(r9) ;
exists (1:r1=1 /\ 1:r8=0)
";
    let arm = r"ARM t
{ 0:R2=x; 0:R4=y; 1:R2=y; 1:R4=z; 1:R7=p; 1:R9=x; }
P0 | P1 ;
MOV R1,#1 | LDR R1,[R2] ;
STR R1,[R2] | EOR R3,R1,R1 ;
DMB | MOV R5,#1 ;
MOV R3,#1 | STR R5,[R3,R4] ;
STR R3,[R4] | LDR R6,[R7] ;
| CMP R6,R6 ;
 | BEQ L ;
 | L: ;
 | ISB ;
 | LDR R8,[R9] ;
exists (1:R1=1 /\ 1:R8=0)
";
    for (text, arch, model) in [(power, Arch::Ppc, "ppc"), (arm, Arch::Arm, "armv7")] {
        let found = states(text, &built_in(arch, model));
        assert_eq!(found.len(), 3, "{model}: {found:?}");
    }
}
