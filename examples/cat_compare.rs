//! Compares models over random executions: `cargo run --example cat_compare -- [-I DIR] ARCH N MODEL [MODEL [TAG..]]`.
//! With one model, its plan against the interpreter; with two, their verdicts, on executions that
//! have none of the tags.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

#[path = "../tests/common/exec.rs"]
mod exec;

use litmake::cat::{interp, load, plan_eval, stage};
use litmake::litmus::Arch;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut options = load::LoadOptions::new(Arch::C);
    while args.first().is_some_and(|a| a == "-I") {
        options.include_dirs.push(args.remove(1).into());
        args.remove(0);
    }
    options.arch = Arch::ALL.into_iter().find(|a| a.name() == args[0]).expect("an architecture");
    let count: u64 = args[1].parse().expect("a number");
    let model = load::load(&args[2], &options).unwrap_or_else(|e| panic!("{e}"));
    let registers = model.catdep();
    let plan = stage::stage(&model).unwrap_or_else(|e| panic!("{e}"));
    let other = args.get(3).map(|m| {
        let mut plain = options.clone();
        plain.include_dirs.clear();
        let model = load::load(m, &plain).unwrap_or_else(|e| panic!("{e}"));
        stage::stage(&model).unwrap_or_else(|e| panic!("{e}"))
    });
    let (mut allowed, mut differ) = (0, 0);
    for seed in 1..=count {
        let exec = exec::random(seed, options.arch, registers);
        let without = |name: &String| {
            let tags = litmake::cat::names::tags_of(options.arch, name).unwrap_or_default();
            exec.tags.iter().all(|t| !t.meets(tags))
        };
        if !args[args.len().min(4)..].iter().all(without) {
            continue;
        }
        let fast = plan_eval::run(&plan, &exec).unwrap_or_else(|e| panic!("{e}"));
        allowed += u64::from(fast.allowed());
        let slow = match &other {
            Some(other) => plan_eval::run(other, &exec),
            None => interp::interpret(&model, &exec),
        }
        .unwrap_or_else(|e| panic!("{e}"));
        let same = fast.allowed() == slow.allowed()
            && (!fast.allowed() || fast.undefined == slow.undefined)
            && (other.is_some() || !fast.allowed() || fast.flags == slow.flags);
        if !same {
            differ += 1;
            if differ <= 2 {
                println!("seed {seed}: {fast:?}\n   against {slow:?}");
            }
        }
    }
    println!("{} {}: {count} executions, {allowed} allowed, {differ} differ", args[0], args[2]);
}
