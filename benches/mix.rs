//! How fast mixes are accounted for: assignments of profiles to the instructions of a test, a
//! second, on one core. Ten profiles, six instructions; how many of the profiles differ varies.
//!
//!     cargo bench --bench mix

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::time::Instant;

use litmake::diag::Source;
use litmake::litmus::{self, Test};
use litmake::mix::link::link;
use litmake::mix::symmetry::symmetries;
use litmake::mix::{By, split};

const PROFILES: usize = 10;

fn test(text: &str) -> Test {
    litmus::read(&Source::new("bench", text)).expect("a test that reads")
}

/// A part as some mapping to RISC-V has it; `n` chooses the mapping.
fn part(text: &str, n: usize) -> Test {
    let before = ["", "fence rw,rw;", "fence rw,w;", "fence r,rw;", "fence.tso;"][n % 5];
    let after = ["", "fence rw,rw;"][n / 5 % 2];
    let (init, code) = match text.contains("atomic_store") {
        true => ("0:x10=loc0;", "ori x5,x0,1; BEFORE sw x5,0(x10); AFTER"),
        false => ("0:x10=own0; 0:x11=loc0;", "BEFORE lw x6,0(x11); AFTER sw x6,0(x10);"),
    };
    let code = code.replace("BEFORE", before).replace("AFTER", after).replace(';', " ;\n");
    test(&format!("RISCV part\n{{ {init} }}\nP0 ;\n{code}exists (true)\n"))
}

fn main() {
    let thread = |n: usize, a: &str, b: &str| {
        format!(
            "P{n} (atomic_int* x, atomic_int* y) {{\n\
             atomic_store_explicit({a}, 1, memory_order_seq_cst);\n\
             int r0 = atomic_load_explicit({b}, memory_order_seq_cst);\n\
             int r1 = atomic_load_explicit({b}, memory_order_acquire);\n}}\n"
        )
    };
    let (a, b) = (thread(0, "x", "y"), thread(1, "y", "x"));
    let six =
        test(&format!("C six\n{{}}\n{a}{b}exists (0:r0=0 /\\ 1:r0=0 /\\ 0:r1=0 /\\ 1:r1=0)\n"));
    let parts = split(&six, By::Instruction).expect("a test that splits");
    for distinct in [1, 2, 3, 4, 5, 10] {
        let made: Vec<Vec<Option<Test>>> = (0..PROFILES)
            .map(|p| parts.pieces.iter().map(|i| Some(part(&i.text, p % distinct))).collect())
            .collect();
        let start = Instant::now();
        let (linked, tests) =
            link(&six, &parts, &made, None, None, &|| false).expect("nobody stops it");
        let seconds = start.elapsed().as_secs_f64();
        let all = linked.table.assignments();
        let start = Instant::now();
        let counted = linked.table.up_to(&symmetries(&six, &parts));
        let counting = start.elapsed().as_secs_f64();
        println!(
            "{distinct:>2} mappings: {all} mixes, {} combinations, {} tests in {seconds:.3} s: {:.0} mixes \
             and {:.0} tests a second; {counted} combinations up to symmetry, counted in {:.1} us",
            linked.table.combinations(),
            tests.len(),
            all as f64 / seconds,
            tests.len() as f64 / seconds,
            counting * 1e6
        );
    }
}
