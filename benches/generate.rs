//! Tests a second, printed and hashed in canonical form, on one thread; and diy7's in the same
//! run, where `DIY` names it.
//!
//!     DIY=diy7 cargo bench --bench generate -- [TESTS]

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Instant;

use litmake::diag::Source;
use litmake::generate::recipe::Recipe;
use litmake::litmus::Arch;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CASES: [(Arch, &str, usize, usize); 5] = [
    (Arch::AArch64, "Pod** DMB.SYd** DpAddrd* DpDatadW DpCtrld* Rfe Fre Coe", 6, 3),
    (
        Arch::AArch64,
        "Pod** DMB.SYd** DMB.LDdR* DMB.STdWW DpAddrd* DpDatadW DpCtrld* DpCtrlIsbdR A L Rfe Fre Coe",
        12,
        3,
    ),
    (
        Arch::C,
        "FenceAcqd** FenceReld** FenceScd** Pod** DpAddrd* DpDatadW DpCtrld* Rfe Fre Coe",
        8,
        4,
    ),
    (Arch::X86_64, "Pod** Pos** MFenced** Exch Rfe Fre Coe", 12, 4),
    (
        Arch::RiscV,
        "Pod** Fence.rw.rwd** Fence.r.rwdR* Fence.rw.wd*W DpAddrd* DpDatadW DpCtrld* Rfe Fre Coe",
        8,
        4,
    ),
];

fn main() {
    let most: u64 = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1_000_000);
    let diy = std::env::var("DIY").ok();
    let mut total = (0u64, 0f64);
    for (arch, words, size, threads) in CASES {
        let recipe = Recipe {
            vocabulary: vec![Source::new("bench", words)],
            size,
            threads,
            ..Recipe::new(arch)
        };
        let prepared = recipe.prepare().expect("the vocabulary reads");
        let (mut text, mut bytes, mut count) = (String::new(), 0usize, 0u64);
        let start = Instant::now();
        let tally = prepared.each(&mut |draft, _| {
            text.clear();
            draft.print(&mut text);
            bytes += text.len();
            count += 1;
            if count >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let seconds = start.elapsed().as_secs_f64();
        let tally = tally.expect("tests are made");
        total = (total.0 + count, total.1 + seconds);
        println!(
            "{:8} {count:8} tests, {:8.0} a second, {:4} bytes each, {} repeats left out",
            arch.name(),
            count as f64 / seconds,
            bytes as u64 / count.max(1),
            tally.repeated()
        );
        if let (Some(diy), true) = (&diy, size <= 6) {
            let start = Instant::now();
            let ran = Command::new(diy)
                .args(["-arch", arch.name(), "-safe", words, "-num", "false", "-stdout"])
                .args(["-size", &size.to_string(), "-nprocs", &threads.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            let other = start.elapsed().as_secs_f64();
            match ran {
                Ok(s) if s.success() => println!(
                    "         diy: {:8.0} a second, so {:.0} times as many",
                    count as f64 / other,
                    other / seconds
                ),
                _ => println!("         {diy} did not run"),
            }
        }
    }
    println!("all      {:8} tests, {:8.0} a second", total.0, total.0 as f64 / total.1);
}
