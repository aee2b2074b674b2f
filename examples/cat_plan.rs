//! Prints what a model is staged to: `cargo run --example cat_plan -- [-I DIR] [-v VARIANT] ARCH MODEL...`

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

use litmake::cat::{load, stage};
use litmake::litmus::Arch;
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut options = load::LoadOptions::new(Arch::C);
    let mut quiet = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-I" => options.include_dirs.extend(args.next().map(Into::into)),
            "-v" => options.variants.extend(args.next()),
            "-q" => quiet = true,
            name => {
                if let Some(arch) = Arch::ALL.into_iter().find(|a| a.name() == name) {
                    options.arch = arch;
                    continue;
                }
                let start = Instant::now();
                let model = match load::load(name, &options) {
                    Ok(model) => model,
                    Err(e) => {
                        println!("== {name}: load: {e}");
                        continue;
                    }
                };
                let loaded = start.elapsed();
                match stage::stage(&model) {
                    Ok(plan) => {
                        let all = start.elapsed();
                        println!(
                            "== {name}: {} nodes, {} groups, {} checks, loaded {loaded:?}, all {all:?}",
                            plan.nodes.len(),
                            plan.groups.len(),
                            plan.checks.len()
                        );
                        if !quiet {
                            print!("{}", plan.dump());
                        }
                    }
                    Err(stage::StageError::Unstageable(e)) => {
                        println!("== {name}: unstageable: {e}")
                    }
                    Err(stage::StageError::Invalid(e)) => println!("== {name}: invalid: {e}"),
                }
            }
        }
    }
}
