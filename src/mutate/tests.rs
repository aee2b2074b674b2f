use super::mcm::{Mutator, conformance, mutants};
use super::rewrite::Rewriting;
use litmake_base::diag::Source;
use litmake_cat::load::{LoadOptions, load};
use litmake_litmus::{self as litmus, Arch, Body, Test};
use litmake_sim::{Model, Options, Simulator};

fn model(name: &str) -> Model {
    let cat = load(name, &LoadOptions::new(Arch::C)).expect("a built-in model");
    Model::load(&cat).expect("a sound model")
}

fn test(text: &str) -> Test {
    litmus::read(&Source::new("test", text)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn conformance_outcomes_are_forbidden_and_those_of_mutants_allowed() {
    let (per_location, strong, sc) = (model("wgsl-sc-per-loc"), model("wgsl-rel-acq"), model("sc"));
    let mut simulator = Simulator::default();
    let mut positive = |test: &Test, model: &Model| {
        simulator.simulate(test, model, &Options::default()).expect("simulates").positive
    };
    for t in conformance().expect("templates read") {
        let weakest = if t.mutator == Mutator::WeakeningSw { &strong } else { &per_location };
        assert_eq!(positive(&t.test, weakest), 0, "{}", t.key);
        assert_eq!(positive(&t.test, &strong), 0, "{}", t.key);
    }
    for t in mutants().expect("templates read") {
        assert!(positive(&t.test, &strong) > 0, "{}", t.key);
        // Targets of the first mutator are interleavings; all others are weak.
        let interleaved = positive(&t.test, &sc) > 0;
        assert_eq!(interleaved, t.mutator == Mutator::ReversingPoLoc, "{}", t.key);
    }
}

/// Whether a rewriting keeps all variables; it may only add some.
fn keeps_observed(before: &Test, after: &Test) -> bool {
    let regs = |t: &Test| -> Vec<(usize, String)> {
        let mut out = Vec::new();
        for (i, body) in t.threads.iter().enumerate() {
            if let Body::C(f) = body {
                f.each_declarator(&mut |d, _| out.push((i, d.name.clone())));
            }
        }
        out
    };
    let after = regs(after);
    regs(before).iter().all(|r| after.contains(r))
}

#[test]
fn rewritings_keep_every_outcome() {
    let rc11 = model("rc11");
    let texts = [
        r"C MP
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1(atomic_int *x, atomic_int *y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\ 1:r1=0)
",
        r"C SB
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1(atomic_int *x, atomic_int *y) {
  atomic_fetch_add_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\ 1:r0=0)
",
    ];
    let mut simulator = Simulator::default();
    for text in texts {
        let before = test(text);
        let states =
            simulator.simulate(&before, &rc11, &Options::default()).expect("simulates").states;
        for (name, rewriting) in Rewriting::NAMES {
            let Some(after) = rewriting.apply(&before) else { panic!("{name} does nothing") };
            assert!(keeps_observed(&before, &after), "{name}");
            let printed = litmus::write(&after);
            let read = test(&printed);
            let same = simulator.simulate(&read, &rc11, &Options::default());
            let same = same.unwrap_or_else(|e| panic!("{name}: {e}\n{printed}"));
            assert_eq!(same.states, states, "{name}\n{printed}");
        }
    }
}

const RELEASE: &str = r"C MP
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_acq_rel);
  atomic_store(y, 1);
}
P1(atomic_int *x, atomic_int *y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\ 1:r1=0)
";

#[test]
fn weakenings() {
    use super::weaken::Weakening;
    let test = litmus::read(&Source::new("MP", RELEASE)).expect("reads");
    let texts: Vec<String> =
        Weakening::Orders.one_by_one(&test).iter().map(litmus::write).collect();
    // The fence to acquire and to release, the store to release, the load to relaxed.
    let wanted = [
        "atomic_thread_fence(memory_order_acquire)",
        "atomic_thread_fence(memory_order_release)",
        "atomic_store_explicit(y, 1, memory_order_release)",
        "atomic_load_explicit(y, memory_order_relaxed)",
    ];
    assert_eq!(texts.len(), wanted.len());
    for (text, wanted) in texts.iter().zip(wanted) {
        assert!(text.contains(wanted), "{text}");
        litmus::read(&Source::new("mutant", text.as_str())).unwrap_or_else(|e| panic!("{e}"));
    }
    let relaxed = Weakening::Relaxed.everywhere(&test).map(|t| litmus::write(&t));
    let relaxed = relaxed.expect("there is something");
    assert!(!relaxed.contains("fence(") && !relaxed.contains("acquire"), "{relaxed}");
    assert!(relaxed.contains("atomic_store_explicit(y, 1, memory_order_relaxed)"), "{relaxed}");
    let again = litmus::read(&Source::new("relaxed", relaxed)).expect("reads");
    assert!(Weakening::Relaxed.everywhere(&again).is_none());
    assert!(Weakening::Fences.one_by_one(&again).is_empty());
}
