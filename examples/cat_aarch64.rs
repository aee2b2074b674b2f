//! Compares an AArch64 model that computes dependencies from register events with the built-in
//! one, which is given them: `cargo run --example cat_aarch64 -- DIR N`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

#[path = "../tests/common/exec.rs"]
mod exec;

use litmake::cat::plan::{BaseRel, Plan};
use litmake::cat::{load, plan_eval, stage};
use litmake::litmus::Arch;
use litmake::rel::Rel;

/// What an instruction set says of dependencies, from register events.
const DEPENDENCIES: &str = r#"
    catdep
    let same-gpr = [Rreg|Wreg]; po & loc; [Rreg|Wreg]
    let lrrs = [Wreg]; same-gpr \ (same-gpr; [Wreg]; same-gpr); [Rreg]
    let plain = (lrrs | iico_data)+
    let pick = (lrrs | iico_data | iico_ctrl)+
    let to-address = [Rreg & ADDR]; iico_data+; [M]
    let to-data = [Rreg & DATA]; iico_data+; [W]
    let to-picked-data = [Rreg & DATA]; (iico_data | iico_ctrl)+; [W]
    let source(d) = [R]; d & po; [Rreg]
    let a = source(plain); to-address
    let d = source(plain); to-data
    let c = source(plain); iico_data+; [BCC]; po
    show a as addr
    show d as data
    show c as ctrl
    show (source(pick); to-address) \ a as pick-addr
    show (source(pick); to-picked-data) \ d as pick-data
    show (source(pick); iico_data+; [BCC]; po) \ c as pick-ctrl
    show [R]; iico_data+; [W] as iico_data
    show [R]; (iico_data | iico_ctrl)+; [W] as iico_ctrl
"#;

fn staged(name: &str, dirs: &[String]) -> Plan {
    let mut options = load::LoadOptions::new(Arch::AArch64);
    options.include_dirs = dirs.iter().map(Into::into).collect();
    let model = load::load(name, &options).unwrap_or_else(|e| panic!("{e}"));
    stage::stage(&model).unwrap_or_else(|e| panic!("{e}"))
}

/// The order inside threads, which the two models must agree on pair by pair.
const THEIR_ORDER: &str = r#"
    include "aarch64hwreqs.cat"
    show [M]; local-hw-reqs; [M] as order
"#;
const OUR_ORDER: &str = r#"
    include "aarch64.cat"
    show [M]; local-order; [M] as order
"#;

struct Text(&'static str);

impl load::Files for Text {
    fn read(&self, path: &std::path::Path) -> std::io::Result<Option<String>> {
        if path.ends_with("d.cat") {
            return Ok(Some(self.0.to_string()));
        }
        load::Disk.read(path)
    }
}

fn text(text: &'static str, dirs: &[String]) -> Plan {
    let mut options = load::LoadOptions::new(Arch::AArch64);
    options.include_dirs = dirs.iter().map(Into::into).collect();
    let model = load::load_with("d.cat", &options, &Text(text)).unwrap_or_else(|e| panic!("{e}"));
    stage::stage(&model).unwrap_or_else(|e| panic!("{e}"))
}

fn shown(plan: &Plan, exec: &litmake::cat::exec::Exec, name: &str) -> Rel {
    let values = plan_eval::values(plan, exec).unwrap_or_else(|e| panic!("{e}"));
    let node = plan.shows.iter().find(|(n, _)| n == name).map(|(_, id)| *id as usize);
    match node.map(|id| &values[id]) {
        Some(plan_eval::Value::Rel(r)) => r.clone(),
        _ => Rel::empty(exec.n),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count: u64 = args[1].parse().expect("a number");
    let theirs = staged("aarch64", &args[..1]);
    let ours = staged("aarch64", &[]);
    let deps = text(DEPENDENCIES, &[]);
    let their_order = text(THEIR_ORDER, &args[..1]);
    let our_order = text(OUR_ORDER, &[]);
    let mut order_differs = 0;
    let (mut allowed, mut differ) = (0, 0);
    for seed in 1..=count {
        let mut exec = exec::structured(seed);
        let slow = plan_eval::run(&theirs, &exec).unwrap_or_else(|e| panic!("{e}"));
        let slow_order = shown(&their_order, &exec, "order");
        let values = plan_eval::values(&deps, &exec).unwrap_or_else(|e| panic!("{e}"));
        let empty = Rel::empty(exec.n);
        let base = |name: &str| {
            let node = deps.shows.iter().find(|(n, _)| n == name).map(|(_, id)| *id as usize);
            match node.map(|id| &values[id]) {
                Some(plan_eval::Value::Rel(r)) => r.clone(),
                _ => empty.clone(),
            }
        };
        for (name, rel) in [
            ("addr", BaseRel::Addr),
            ("data", BaseRel::Data),
            ("ctrl", BaseRel::Ctrl),
            ("pick-addr", BaseRel::PickAddr),
            ("pick-data", BaseRel::PickData),
            ("pick-ctrl", BaseRel::PickCtrl),
            ("iico_data", BaseRel::IicoData),
            ("iico_ctrl", BaseRel::IicoCtrl),
        ] {
            exec.rels.insert(rel, base(name));
        }
        let fast = plan_eval::run(&ours, &exec).unwrap_or_else(|e| panic!("{e}"));
        let fast_order = shown(&our_order, &exec, "order");
        let same_order = slow_order == fast_order;
        order_differs += u64::from(!same_order);
        if !same_order && order_differs == 1 {
            println!(
                "seed {seed}: only theirs {:?}, only ours {:?}",
                slow_order.diff(&fast_order),
                fast_order.diff(&slow_order)
            );
        }
        allowed += u64::from(slow.allowed());
        let same = fast.allowed() == slow.allowed();
        differ += u64::from(!same);
        if !same && differ == 1 {
            println!("seed {seed}: {fast:?}\n   against {slow:?}");
        }
    }
    println!(
        "{count} executions, {allowed} allowed, {differ} differ, {order_differs} in local order"
    );
}
