use super::*;
use litmake_base::diag::Source;
use litmake_litmus as litmus;

fn code(text: &str) -> litmus::Test {
    litmus::read(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"))
}

fn x86(first: &str) -> litmus::Test {
    code(&format!(
        "X86_64 t\n{{ x=0; y=0; }}\n P0 ;\n {first} ;\n movl %ebx,(y) ;\n mfence ;\nexists (x=0)\n"
    ))
}

#[test]
fn names_of_registers_and_locations_make_no_other_sequence() {
    let one = code(
        "AArch64 t\n{ 0:X1=x; }\n P0 ;\n LDR W0,[X1] ;\n ADD W0,W0,#1 ;\n STR W0,[X1] ;\nexists (x=0)\n",
    );
    let two = code(
        "AArch64 t\n{ 0:X4=y; }\n P0 ;\n LDR W3,[X4] ;\n ADD W3,W3,#7 ;\n STR W3,[X4] ;\nexists (y=0)\n",
    );
    assert_eq!(grams(&one), grams(&two));
    assert_eq!(grams(&one).len(), 1);
    // Another flow of values is another sequence, and so are another width and another order.
    for other in [
        "LDR W0,[X1] ;\n ADD W2,W0,#1 ;\n STR W0,[X1]",
        "LDR X0,[X1] ;\n ADD W0,W0,#1 ;\n STR W0,[X1]",
        "LDAR W0,[X1] ;\n ADD W0,W0,#1 ;\n STR W0,[X1]",
        "LDR W0,[X1] ;\n ADD W0,W0,#0 ;\n STR W0,[X1]",
    ] {
        let other = code(&format!("AArch64 t\n{{ 0:X1=x; }}\n P0 ;\n {other} ;\nexists (x=0)\n"));
        assert_ne!(grams(&one), grams(&other));
    }
}

#[test]
fn a_part_of_a_register_of_x86_is_that_register() {
    let reads = |name: &str| {
        grams(&code(&format!(
            "X86_64 t\n{{ x=0; y=0; }}\n P0 ;\n movl (x),%eax ;\n movb %{name},(y) ;\n mfence ;\nexists (x=0)\n"
        )))
    };
    assert_ne!(reads("al"), reads("bl"));
    assert_eq!(reads("bl"), reads("cl"));
}

/// The same seed and the same code give the same tests, also after the state was written and read.
#[test]
fn draws_are_the_same_for_the_same_seed_and_go_on_where_they_were() {
    let round = |hunt: &mut Hunt, sources: &mut Sources| {
        let drawn = hunt.draw(sources, 12);
        // Stands for code that is new for every third test.
        let code: Vec<(usize, litmus::Test)> = (0..drawn.len())
            .filter(|i| i % 3 == 0)
            .map(|i| {
                (i, x86(&format!("addl ${},%ebx ;\n nop{}", hunt.tests, hunt.tests as usize + i)))
            })
            .collect();
        hunt.learn(sources, &drawn, &code);
        drawn.into_iter().map(|d| (d.name, d.text)).collect::<Vec<_>>()
    };
    let (mut one, mut sources) = (Hunt::new(3, false), Sources::default());
    let first: Vec<_> = (0..3).map(|_| round(&mut one, &mut sources)).collect();
    let kept = one.clone();
    let next = round(&mut one, &mut sources);
    let (mut again, mut fresh) = (Hunt::new(3, false), Sources::default());
    let second: Vec<_> = (0..3).map(|_| round(&mut again, &mut fresh)).collect();
    assert_eq!(first, second);
    assert_eq!(again, kept);
    assert_eq!(round(&mut again, &mut Sources::default()), next);
    let other = round(&mut Hunt::new(4, false), &mut fresh);
    assert_ne!(first[0], other);
}

#[test]
fn no_test_is_drawn_twice() {
    let (mut hunt, mut sources) = (Hunt::new(1, false), Sources::default());
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        for drawn in hunt.draw(&mut sources, 16) {
            assert!(seen.insert(drawn.text), "{} came twice", drawn.name);
        }
    }
    assert!(seen.len() > 300);
}

#[test]
fn a_source_of_which_all_code_is_known_is_left() {
    let mut arm = Arm::default();
    assert_eq!(arm.weight(), 64);
    for _ in 0..40 {
        arm.seen(false);
    }
    assert!(arm.is_left());
    assert_eq!(arm.weight(), 1);
    arm.seen(true);
    assert!(!arm.is_left());
    assert!(arm.weight() > 1);
}

#[test]
fn what_is_covered_is_counted_in_tests() {
    let mut cover = Cover::default();
    cover.add("P0(int8_t *x) { atomic_fetch_add_explicit(y, 1, memory_order_release); if (1) {} if (2) {} }");
    assert_eq!(cover.constructs.get("atomic_fetch_add"), Some(&1));
    assert_eq!(cover.constructs.get("if"), Some(&1));
    assert_eq!(cover.orders.get("release"), Some(&1));
    assert_eq!(cover.widths.get("8"), Some(&1));
}
