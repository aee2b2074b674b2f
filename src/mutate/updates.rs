//! Tests of read-modify-writes that a device tears in two: another thread writes between the read and the write.
//!
//! Each operation runs beside a store, and beside itself. The target is what only a torn one can show: it reads the
//! first value, and the other thread's write is lost. The file does not check targets against a model.

use litmake_base::diag::{Result, Source};
use litmake_litmus::{self as litmus, Test};

/// The first value of the location, and the value of the store.
const FIRST: u32 = 0;
const STORED: u32 = 8;

/// Each operation, its operand, and the value that it makes of the first one, which differs from the first value and from
/// the stored one. Workgroup memory starts as 0, of which `and` makes nothing else; subtractions can give numbers of any
/// size, more than a device counts.
const UPDATES: [(&str, u32, u32); 4] =
    [("exchange", 4, 4), ("fetch_add", 4, 4), ("fetch_or", 4, 4), ("fetch_xor", 4, 4)];

/// The tests, two of each operation.
pub fn tests() -> Result<Vec<Test>> {
    let mut out = Vec::new();
    for (name, operand, new) in UPDATES {
        let update = |register: &str| {
            format!(
                "uint32_t {register} = atomic_{name}_explicit(x, {operand}, memory_order_relaxed);"
            )
        };
        let store = format!("atomic_store_explicit(x, {STORED}, memory_order_relaxed);");
        let short = name.trim_start_matches("fetch_");
        let beside_store = format!("0:r0={FIRST} /\\ x={new}");
        let beside_itself = format!("0:r0={FIRST} /\\ 1:r1={FIRST}");
        for (other, second, target) in
            [("store", store, beside_store), (short, update("r1"), beside_itself)]
        {
            let text = format!(
                "C torn_{short}_{other}\n{{ atomic_uint x = {FIRST}; }}\nP0 (atomic_uint* x) {{\n  {}\n}}\nP1 (atomic_uint* x) {{\n  {second}\n}}\nexists ({target})\n",
                update("r0")
            );
            out.push(litmus::read(&Source::new("torn", text))?);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_cat::load::{LoadOptions, load};
    use litmake_litmus::Arch;
    use litmake_sim::{Model, Options, Simulator};

    /// What a whole update cannot show, one that is torn can: a load, the same operation on its value, a store.
    #[test]
    fn only_torn_updates_show_the_targets() {
        let cat = load("wgsl-sc-per-loc", &LoadOptions::new(Arch::C)).expect("a built-in model");
        let model = Model::load(&cat).expect("a sound model");
        let mut simulator = Simulator::default();
        let mut positive = |test: &Test| {
            simulator.simulate(test, &model, &Options::default()).expect("simulates").positive
        };
        let all = tests().expect("the tests read");
        assert_eq!(all.len(), 8);
        for test in all {
            assert_eq!(positive(&test), 0, "{}", test.name);
            let mut torn = litmus::write(&test);
            for (name, sign) in
                [("exchange", ""), ("fetch_add", "+"), ("fetch_or", "|"), ("fetch_xor", "^")]
            {
                for register in ["r0", "r1"] {
                    let call = format!("uint32_t {register} = atomic_{name}_explicit(x, ");
                    let Some(at) = torn.find(&call) else { continue };
                    let operand = &torn[at + call.len()..][..1].to_string();
                    let end = at + torn[at..].find(';').expect("a statement") + 1;
                    let value = if sign.is_empty() {
                        operand.clone()
                    } else {
                        format!("{register} {sign} {operand}")
                    };
                    let parts = format!(
                        "uint32_t {register} = atomic_load_explicit(x, memory_order_relaxed);\n  \
                         atomic_store_explicit(x, {value}, memory_order_relaxed);"
                    );
                    torn.replace_range(at..end, &parts);
                }
            }
            let torn = litmus::read(&Source::new("torn", torn)).expect("reads");
            assert!(positive(&torn) > 0, "{}", litmus::write(&torn));
        }
    }
}
