use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::*;
use litmake_base::diag::Source;
use litmake_litmus as litmus;

fn all(family: &Family) -> Vec<(Point, String, String)> {
    let mut out = Vec::new();
    let _ = each(family, &mut |point, name, text| {
        out.push((point, name, text));
        ControlFlow::Continue(())
    });
    out
}

#[test]
fn every_test_of_every_family_can_be_read_and_printed_again() {
    for family in &FAMILIES {
        let tests = all(family);
        assert!(tests.len() > 300, "{} has {} tests", family.name, tests.len());
        for (_, name, text) in tests.iter().step_by(7) {
            let test = litmus::read(&Source::new(name.clone(), text.clone()));
            let test = test.unwrap_or_else(|e| panic!("{e}\n{text}"));
            let again = litmus::write(&test);
            let read = litmus::read(&Source::new(name.clone(), again.clone()));
            assert_eq!(litmus::write(&read.unwrap_or_else(|e| panic!("{e}\n{again}"))), again);
        }
    }
}

#[test]
fn every_choice_of_every_axis_is_in_some_test() {
    let mut random = Random::new(5);
    let mut missing: BTreeSet<(Axis, usize)> =
        Axis::ALL.into_iter().flat_map(|a| (0..a.choices()).map(move |at| (a, at))).collect();
    for _ in 0..4000 {
        for axis in Axis::ALL {
            let point = draw(&mut random, &[axis], &[]);
            for axis in Axis::ALL {
                missing.remove(&(axis, point.get(axis)));
            }
        }
    }
    let missing: Vec<_> = missing.into_iter().map(|(a, at)| (a, a.choice(at))).collect();
    assert!(missing.is_empty(), "never drawn: {missing:?}");
}

#[test]
fn names_tell_points_apart() {
    let mut random = Random::new(9);
    let mut names = std::collections::HashMap::new();
    for _ in 0..3000 {
        let point = draw(&mut random, &[], &[]);
        let (name, _) = text(&point).unwrap_or_default();
        assert_eq!(*names.entry(name).or_insert(point), point);
    }
    assert!(names.len() > 1000);
}

#[test]
fn draws_depend_on_the_seed_alone() {
    let drawn = |seed| {
        let mut random = Random::new(seed);
        (0..50).map(|_| draw(&mut random, &[Axis::Alias], &[])).collect::<Vec<_>>()
    };
    assert_eq!(drawn(3), drawn(3));
    assert_ne!(drawn(3), drawn(4));
    assert!(drawn(3).iter().all(|p| p.get(Axis::Alias) > 0));
}

#[test]
fn choices_that_are_asked_for_are_kept() {
    let mut random = Random::new(6);
    let shape = super::families::named(Axis::Shape, "back").unwrap_or(0);
    let early = super::families::named(Axis::Early, "read-sunk").unwrap_or(0);
    for _ in 0..200 {
        let point = draw(&mut random, &[Axis::Numbers], &[(Axis::Shape, shape)]);
        assert!(point.choice(Axis::Shape) == "back" && point.get(Axis::Numbers) > 0, "{point:?}");
        assert_eq!(
            draw(&mut random, &[], &[(Axis::Early, early)]).choice(Axis::Early),
            "read-sunk"
        );
    }
}

#[test]
fn neighbours_differ_on_one_axis() {
    let mut random = Random::new(2);
    let point = draw(&mut random, &[Axis::Value], &[]);
    let beside = neighbours(&mut random, &point, 8);
    assert_eq!(beside.len(), 8);
    for next in beside {
        let differ = Axis::ALL.into_iter().filter(|a| next.get(*a) != point.get(*a)).count();
        assert_eq!(differ, 1);
    }
}

/// Plain data is touched by one thread at a time: without a guard there is no plain data.
#[test]
fn what_no_flag_guards_is_atomic() {
    let shape = |name: &str| (0..Axis::Shape.choices()).find(|at| Axis::Shape.choice(*at) == name);
    for name in ["MP-open", "MP-unused"] {
        let point = Point::default().with(Axis::Shape, shape(name).unwrap_or(0));
        assert_eq!(text(&point), None);
    }
}

/// The helper `same` multiplies an `int` by four, and a value that is read as `scaled` is doubled.
#[test]
fn no_value_is_too_large_for_what_is_done_with_it() {
    let mut random = Random::new(12);
    let is = |point: &Point, axis: Axis, name: &str| axis.choice(point.get(axis)) == name;
    let mut near = 0;
    for _ in 0..3000 {
        let point = draw(&mut random, &[Axis::Value, Axis::Read, Axis::Call, Axis::Type], &[]);
        let large = is(&point, Axis::Value, "high-bit");
        let (_, text) = text(&point).unwrap_or_default();
        near += usize::from(large);
        let is_int = text.contains("<< 30 |") || text.contains("<< 31 |");
        assert!(!(large && is_int && text.contains("same((int)")), "{text}");
        let signed = text.contains("<< 30 |") || text.contains("<< 62 |");
        assert!(!(large && signed && text.contains("+ 1) * 2")), "{text}");
    }
    assert!(near > 20, "only {near} draws have a large value");
}

/// A flag is set to small numbers, so that no constant of the data is in the register of one of the flag.
#[test]
fn constants_of_data_are_distinct_and_none_is_a_flags() {
    for choice in super::data::NUMBERS.into_iter().skip(1) {
        for ty in super::data::TYPES.iter().filter(|t| !t.float) {
            let all: BTreeSet<String> =
                (1..15).map(|n| super::data::number(choice, ty, n)).collect();
            assert_eq!(all.len(), 14, "{choice} {}", ty.name);
            let small = all.iter().filter(|n| n.parse::<i64>().is_ok_and(|n| (0..4).contains(&n)));
            assert_eq!(small.count(), 0, "{choice} {}: {all:?}", ty.name);
            // Each fits into its type.
            let most = if ty.bits >= 64 { i128::from(i64::MAX) } else { (1 << (ty.bits - 1)) - 1 };
            let fits = |n: &String| n.parse::<i128>().is_ok_and(|n| n <= most);
            assert!(choice == "negative" || all.iter().all(fits), "{choice} {}: {all:?}", ty.name);
        }
    }
}

/// Where one function is that of all threads, each thread only calls it, and no thread is given the data.
#[test]
fn one_function_is_what_all_threads_run() {
    let mut random = Random::new(3);
    let mut seen = 0;
    for _ in 0..600 {
        let point = draw(&mut random, &[Axis::Storage], &[]);
        let (name, text) = text(&point).unwrap_or_default();
        let test = litmus::read(&Source::new(name, text.clone()));
        let test = test.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let shared = |f: &litmus::c::ast::Function| {
            f.params.iter().any(|p| matches!(p.name.as_str(), "x" | "y" | "z"))
        };
        for body in &test.threads {
            let litmus::Body::C(f) = body else { panic!("{text}") };
            assert!(!shared(f), "{text}");
            if point.choice(Axis::Storage) == "one-function" {
                let calls = f.body.iter().filter(|s| {
                    matches!(&s.kind, litmus::c::ast::StmtKind::Expr(e)
                        if matches!(&e.kind, litmus::c::ast::ExprKind::Call(n, _) if n == "body"))
                });
                assert_eq!(calls.count(), 1, "{text}");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} threads run one function");
}
