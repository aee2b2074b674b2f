//! Tests drawn widely in every dialect, under built-in models and those of users: what the engines
//! find is what the exhaustive reference finds, which leaves no event out.
//!
//! `cargo run --example differential` does the same with as many tests as one likes.

use crate::exec::Rng;
use crate::{differ, wide};
use litmake::litmus::Arch;
use litmake::sim::Engine;

const SEEDS: std::ops::Range<u64> = 0..150;

fn dialect(arch: Arch) {
    let (_, names) = wide::DIALECTS.iter().find(|(a, _)| *a == arch).expect("a dialect");
    let mut models = differ::built_in(arch, names);
    models.extend(differ::users(arch));
    let mut answers = 0;
    let mut trouble = String::new();
    for seed in SEEDS {
        let text = wide::test(&mut Rng::new(seed), arch, false);
        for (name, model) in &models {
            match differ::compare(&text, model) {
                Ok(answered) => answers += usize::from(answered),
                Err(difference) => panic!("seed {seed} under {name}: {difference}\n{text}"),
            }
        }
        if let Err(e) = differ::answer(&text, &models[0].1, Engine::Auto) {
            trouble = format!("{e}\n{text}");
        }
    }
    let all = models.len() * SEEDS.count();
    assert!(answers * 10 > all * 9, "only {answers} answers of {all}: {trouble}");
}

#[test]
fn c() {
    dialect(Arch::C);
}

#[test]
fn aarch64() {
    dialect(Arch::AArch64);
}

#[test]
fn arm() {
    dialect(Arch::Arm);
}

#[test]
fn x86_64() {
    dialect(Arch::X86_64);
}

#[test]
fn x86() {
    dialect(Arch::X86);
}

#[test]
fn riscv() {
    dialect(Arch::RiscV);
}

#[test]
fn ppc() {
    dialect(Arch::Ppc);
}

#[test]
fn loongarch() {
    dialect(Arch::LoongArch);
}

#[test]
fn s390x() {
    dialect(Arch::S390x);
}

#[test]
fn bpf() {
    dialect(Arch::Bpf);
}

#[test]
fn mips() {
    dialect(Arch::Mips);
}
