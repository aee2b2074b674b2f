//! What is left out cannot be told missing: outcomes are those of the engine that leaves out nothing.

use crate::{Engine, Model, Options, Simulator};
use litmake_base::diag::Source;
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{self as litmus, Arch};

fn built_in(arch: Arch, name: &str) -> Model {
    let cat = cat::load(name, &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
    Model::load(&cat).unwrap_or_else(|e| panic!("{e}"))
}

/// How many outcomes there are. The reference finds as many.
fn outcomes(text: &str, model: &Model) -> usize {
    let test = litmus::read(&Source::new("t.litmus", text.to_string()));
    let test = test.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let [found, all] = [Engine::Auto, Engine::Exhaustive].map(|engine| {
        let options = Options { engine, ..Options::default() };
        let found = Simulator::default().simulate(&test, model, &options);
        found.unwrap_or_else(|e| panic!("{e}\n{text}")).states
    });
    assert_eq!(found, all, "{text}");
    found.len()
}

/// A fence that orders only reads after it orders a private read, and so what depends on that one.
/// Expected is what herd7 says where both threads can reach `z`.
#[test]
fn what_depends_on_a_private_read_behind_a_fence_is_ordered() {
    let riscv = |fence: &str| {
        format!(
            "RISCV t\n{{ 0:x6=x; 0:x8=y; 1:x6=x; 1:x8=y; 1:x9=z; }}\nP0 | P1 ;\n\
             ori x5,x0,2 | lw x5,0(x8) ;\nsw x5,0(x6) | {fence} ;\nfence.tso | lw x7,0(x9) ;\n\
             ori x7,x0,1 | xor x10,x7,x7 ;\nsw x7,0(x8) | ori x10,x10,1 ;\n | sw x10,0(x6) ;\n\
             locations [x;]\nexists (x=2 /\\ 1:x5=1)\n"
        )
    };
    let model = built_in(Arch::RiscV, "riscv");
    for (fence, states) in [("fence r,r", 3), ("fence rw,r", 3), ("fence w,w", 4)] {
        assert_eq!(outcomes(&riscv(fence), &model), states, "{fence}");
    }
    let mips = |sync: &str| {
        format!(
            "MIPS t\n{{ 0:$6=x; 0:$8=y; 1:$6=x; 1:$8=y; 1:$9=z; }}\nP0 | P1 ;\n\
             ori $5,$0,2 | lw $5,0($8) ;\nsw $5,0($6) | {sync} ;\nsync | lw $7,0($9) ;\n\
             ori $7,$0,1 | xor $10,$7,$7 ;\nsw $7,0($8) | ori $10,$10,1 ;\n | sw $10,0($6) ;\n\
             locations [x;]\nexists (x=2 /\\ 1:$5=1)\n"
        )
    };
    let model = built_in(Arch::Mips, "mips-weak");
    for (sync, states) in [("sync 0x13", 3), ("sync 0x4", 4)] {
        assert_eq!(outcomes(&mips(sync), &model), states, "{sync}");
    }
}

/// Whether a private place is read hangs on a value: writes after it wait for that value. Load
/// buffering, which that forbids in both threads.
#[test]
fn writes_wait_for_the_condition_of_a_private_read() {
    let thread = |from: &str, to: &str| {
        [
            format!("LDR R0,[{from}]"),
            "CMP R0,#0".into(),
            "LDRNE R4,[R3]".into(),
            "MOV R5,#1".into(),
            format!("STR R5,[{to}]"),
        ]
    };
    let rows: String = thread("R1", "R2")
        .iter()
        .zip(thread("R2", "R1"))
        .map(|(a, b)| format!("{a} | {b} ;\n"))
        .collect();
    let text = format!(
        "ARM t\n{{ 0:R1=x; 0:R2=y; 0:R3=p; 1:R1=x; 1:R2=y; 1:R3=q; }}\nP0 | P1 ;\n{rows}\
         exists (0:R0=1 /\\ 1:R0=1)\n"
    );
    assert_eq!(outcomes(&text, &built_in(Arch::Arm, "aarch32")), 3);
}
