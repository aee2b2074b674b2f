use super::*;
use litmake_base::diag::Source;
use litmake_litmus as litmus;

fn code(text: &str) -> litmus::Test {
    litmus::read(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"))
}

fn grams(test: &litmus::Test) -> BTreeSet<u64> {
    sequences::form(test).threads.into_iter().flatten().collect()
}

fn x86(first: &str) -> litmus::Test {
    code(&format!(
        "X86_64 t
{{ x=0; y=0; }}
 P0 ;
 {first} ;
 movl %ebx,(y) ;
 mfence ;
exists (x=0)
"
    ))
}

#[test]
fn names_of_registers_and_locations_make_no_other_sequence() {
    let one = code(
        "AArch64 t
{ 0:X1=x; }
 P0 ;
 LDR W0,[X1] ;
 ADD W0,W0,#1 ;
 STR W0,[X1] ;
exists (x=0)
",
    );
    let two = code(
        "AArch64 t
{ 0:X4=y; }
 P0 ;
 LDR W3,[X4] ;
 ADD W3,W3,#7 ;
 STR W3,[X4] ;
exists (y=0)
",
    );
    assert_eq!(grams(&one), grams(&two));
    assert_eq!(grams(&one).len(), 1);
    // Another flow of values gives another sequence, and so do another width and another order.
    for other in [
        "LDR W0,[X1] ;\n ADD W2,W0,#1 ;\n STR W0,[X1]",
        "LDR X0,[X1] ;\n ADD W0,W0,#1 ;\n STR W0,[X1]",
        "LDAR W0,[X1] ;\n ADD W0,W0,#1 ;\n STR W0,[X1]",
        "LDR W0,[X1] ;\n ADD W0,W0,#0 ;\n STR W0,[X1]",
    ] {
        let other = code(&format!(
            "AArch64 t
{{ 0:X1=x; }}
 P0 ;
 {other} ;
exists (x=0)
"
        ));
        assert_ne!(grams(&one), grams(&other));
    }
}

#[test]
fn a_part_of_a_register_of_x86_is_that_register() {
    let reads = |name: &str| {
        grams(&code(&format!(
            "X86_64 t
{{ x=0; y=0; }}
 P0 ;
 movl (x),%eax ;
 movb %{name},(y) ;
 mfence ;
exists (x=0)
"
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
        // Code that is new for every third test.
        let code: Vec<(usize, litmus::Test)> = (0..drawn.len())
            .filter(|i| i % 3 == 0)
            .map(|i| {
                (i, x86(&format!("addl ${},%ebx ;\n nop{}", hunt.tests, hunt.tests as usize + i)))
            })
            .collect();
        let chosen = hunt.learn(sources, &drawn, &code);
        // Sequences of tests that were not compared stay unjudged.
        let before = hunt.unjudged();
        hunt.judged(&drawn, &chosen, &chosen.tests.iter().map(|at| (*at, "X86_64")).collect());
        assert!(before > 0 && hunt.unjudged() == 0);
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

/// A test that was given up has a cost, and tests near it are not tried.
#[test]
fn nothing_is_drawn_beside_a_test_that_was_given_up() {
    let (mut hunt, mut sources) = (Hunt::new(3, false), Sources::default());
    let drawn = hunt.draw(&mut sources, 12);
    let code: Vec<(usize, litmus::Test)> =
        (0..drawn.len()).map(|i| (i, x86(&format!("addl $1,%ebx ;\n nop{i} ;\n nop")))).collect();
    let chosen = hunt.learn(&mut sources, &drawn, &code);
    let (leads, first) = (hunt.leads(), chosen.tests[0]);
    let of_first = chosen.leads[&first].clone().count();
    assert!(of_first > 0 && chosen.tests.len() > 1 && leads > of_first);
    let cost = |hunt: &Hunt| hunt.arms[drawn[first].arm].cost;
    let before = cost(&hunt);
    hunt.judged(&drawn, &chosen, &chosen.tests[1..].iter().map(|at| (*at, "X86_64")).collect());
    assert_eq!(hunt.leads(), leads - of_first);
    assert_eq!(cost(&hunt), before + choose::MOST);
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
    assert_eq!(arm.weight(1000), 128);
    for _ in 0..200 {
        arm.seen(0, 40);
    }
    assert!(arm.is_left());
    assert_eq!(arm.weight(1000), 1);
    arm.seen(90, 40);
    assert!(!arm.is_left());
    assert!(arm.weight(arm.worth()) > 1);
}

/// A source that brings as much for half the cost is drawn from more often.
#[test]
fn sources_are_drawn_from_by_what_they_bring_for_what_they_cost() {
    let (mut cheap, mut dear) = (Arm::default(), Arm::default());
    for _ in 0..100 {
        cheap.seen(3, 50);
        dear.seen(3, 100);
    }
    let best = cheap.worth();
    assert!(dear.worth() * 2 <= best + 1 && best <= dear.worth() * 2 + 2);
    assert_eq!(cheap.weight(best), 256);
    assert!((60..70).contains(&dear.weight(best)));
}

fn drawn(text: &str) -> Drawn {
    Drawn { name: "t".into(), text: text.into(), arm: 0, place: Position::Listed(0, 0) }
}

/// The cheapest tests that together have everything new are compared; a test with something that no
/// other has is never left out.
#[test]
fn what_is_new_is_compared_and_what_is_known_is_not() {
    let text = "C t
{}
P0(atomic_int *x) {
atomic_store_explicit(x, 1, memory_order_relaxed);
}
";
    let code = |at, first: &str| Code::of(at, &x86(first));
    let all = [
        code(0, "addl $1,%ebx"),
        code(1, "addl $1,%ebx ;\n xorl %eax,%eax"),
        code(2, "addl $1,%ebx"),
        code(3, "nop"),
    ];
    let drawn: Vec<Drawn> = (0..4).map(|_| drawn(text)).collect();
    let mut unjudged: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for code in &all {
        unjudged.entry(code.arch.into()).or_default().extend(&code.grams);
    }
    let mut uses = Uses::default();
    let chosen = uses.choose(&drawn, all.to_vec(), &unjudged);
    let has = |gram: &u64| chosen.tests.iter().any(|at| all[*at].grams.contains(gram));
    assert!(unjudged["X86_64"].iter().all(has));
    assert!(chosen.tests.contains(&1) && chosen.tests.contains(&3));
    // An operation is compared with a sequence twice although none is new, and then no more.
    let again = |uses: &mut Uses| uses.choose(&drawn, all.to_vec(), &BTreeMap::new()).tests;
    let counts: Vec<usize> = (0..4).map(|_| again(&mut uses).len()).collect();
    assert!(counts[0] >= 1 && counts[0] <= 1 + drawn.len() / 4, "{counts:?}");
    assert_eq!(counts[3], 0, "{counts:?}");
    // Another order is worth a look again.
    let other: Vec<Drawn> =
        drawn.iter().map(|d| self::drawn(&d.text.replace("relaxed", "release"))).collect();
    assert_eq!(uses.choose(&other, all.to_vec(), &BTreeMap::new()).tests.len(), 1);
}

#[test]
fn what_a_thread_asks_for_is_its_operations_with_their_orders() {
    let text = "C t
{ int x; }
static void give(_Atomic int *f) {
atomic_thread_fence(memory_order_release);
}
P0(_Atomic int *x) {
atomic_compare_exchange_weak_explicit(x, &e, 1, memory_order_acq_rel, memory_order_relaxed);
}
P1 (atomic_int* x) {
int r = atomic_load(x);
}
exists (1:r=0)
";
    let words: Vec<Vec<String>> =
        asks::words(text).into_iter().map(|w| w.into_iter().collect()).collect();
    let fence = "atomic_thread_fence release";
    let cas = "atomic_compare_exchange_weak_explicit acq_rel relaxed unused";
    assert_eq!(words, [[cas, fence], ["atomic_load", fence]]);
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

/// The names in a question exist: choices on the axes, and families that are sources. Each is asked by many of
/// the drawn tests.
#[test]
fn every_question_is_asked() {
    use super::questions::QUESTIONS;
    let names = Sources::names();
    let mut sources = Sources::default();
    let mut random = Random::new(4);
    let places: Vec<Position> =
        (0..names.len() * 60).filter_map(|n| sources.draw(n % names.len(), &mut random)).collect();
    for question in &QUESTIONS {
        for (axis, choices) in question.ways.iter().copied().flatten() {
            for name in *choices {
                let known = (0..axis.choices()).any(|at| axis.choice(at) == *name);
                assert!(known, "{}: {} has no {name}", question.name, axis.name());
            }
        }
        for family in question.families {
            assert!(names.iter().any(|n| n == family), "{}: {family}", question.name);
        }
        let source = names.iter().position(|n| n == question.name).unwrap_or(0);
        for _ in 0..20 {
            let place = sources.draw(source, &mut random);
            let is_asked =
                place.as_ref().is_some_and(|p| question.is_asked_by(p, &Sources::family));
            assert!(is_asked, "{}: {place:?}", question.name);
        }
        let asked = places.iter().filter(|p| question.is_asked_by(p, &Sources::family)).count();
        assert!(asked >= 20, "{}: {asked} of {}", question.name, places.len());
    }
}

/// First each name has its turn, in so few rounds that a round has two names of a group on average. Then a round has
/// two names of each group, and each name its turn in as many rounds as it takes.
#[test]
fn each_name_has_its_turn_and_changing_company() {
    let groups = [("a", 5), ("b", 1), ("c", 2), ("d", 4)];
    let names: Vec<(String, &str)> =
        groups.iter().flat_map(|(g, n)| (0..*n).map(move |i| (format!("{g}{i}"), *g))).collect();
    let turns = turns::Turns::of(names.iter().map(|(name, group)| (name.as_str(), *group)));
    assert_eq!(turns.first(), 2);
    assert_eq!(turns.round(0), ["a0", "a1", "a2", "b0", "c0", "d0", "d1"]);
    assert_eq!(turns.round(1), ["a3", "a4", "a0", "b0", "c1", "d2", "d3"]);
    let mut company: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for cycle in 0..6 {
        let mut had = BTreeSet::new();
        for round in 2 + cycle * 3..5 + cycle * 3 {
            assert_eq!(turns.cycle(round), 1 + cycle);
            let all = turns.round(round);
            for (group, n) in groups {
                let of: Vec<&&str> = all.iter().filter(|name| name.starts_with(group)).collect();
                assert!((1..=2.min(n)).contains(&of.len()), "{all:?}");
                company.insert(of.iter().map(|name| name.to_string()).collect());
            }
            had.extend(all.into_iter().map(String::from));
        }
        assert_eq!(had.len(), names.len(), "in cycle {cycle}");
    }
    assert!(company.iter().filter(|of| of.iter().any(|name| name == "a0")).count() > 2);
}
