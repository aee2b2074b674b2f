use super::collect::{Wanted, collect};
use super::distinguish::{Limits, search, sides};
use super::filter::Filter;
use litmake_base::diag::Source;
use litmake_generate::recipe::Recipe;
use litmake_generate::{self as generate, families};
use litmake_litmus::{self as litmus, Arch};

fn text(t: &str) -> Source {
    Source::new("test", t)
}

fn vocabulary(arch: Arch, words: &str, size: usize, threads: usize) -> Recipe {
    Recipe { vocabulary: vec![text(words)], size, threads, ..Recipe::new(arch) }
}

#[test]
fn the_smallest_tests_that_tell_models_apart() {
    let limits = Limits { timeout: None, ..Limits::default() };
    let find = |a: &str, b: &str| {
        let report = search(&sides(a, b).expect("models"), &limits).expect("runs");
        assert!(!report.found.is_empty(), "{a} and {b}");
        let events = report.found[0].events;
        let names: Vec<String> = report.found.into_iter().map(|t| t.name).collect();
        (events, names)
    };
    // R and store buffering, and nothing else of their size.
    let names = ["WxWy+WyRx", "WxRy+WyRx"].map(str::to_string).to_vec();
    assert_eq!(find("sc", "x86tso"), (4, names));
    // All other shapes of four events without ordering features.
    let (events, names) = find("x86tso", "aarch64");
    assert_eq!(events, 4);
    assert!(names.contains(&"WxWy+RyRx".to_string()), "{names:?}");
    assert!(names.iter().any(|n| n == "RxWy+RyWx"), "{names:?}");
    assert!(!names.contains(&"WxRy+WyRx".to_string()), "{names:?}");
    // Load buffering.
    let (events, names) = find("rc11", "c11");
    assert_eq!((events, names), (4, vec!["RxrlxWyrlx+RyrlxWxrlx".to_string()]));
    assert!(find("riscv", "aarch64").0 <= 5);
}

#[test]
fn everything_that_was_looked_at_is_a_test_or_was_dropped_for_a_reason() {
    let mut recipe = vocabulary(Arch::C, "Pod** Na Sc Rlx Rfe Fre Coe", 6, 2);
    recipe.shapes = vec![text("SB")];
    let all = |recipe: &Recipe, sample, limit| {
        let keep = Filter::read(&[text("without=*_seq_cst")]).expect("reads");
        let excluded = |name: &str| name.len().is_multiple_of(5);
        let wanted = Wanted { excluded: &excluded, keep: &keep, sample, limit, scopes: None };
        let made = collect(recipe, &[text("c11-const")], &wanted, 1).expect("are made");
        assert!(made.iter().all(|(name, _)| !excluded(&name)));
        made.tally
    };
    for (sample, limit) in [(None, usize::MAX), (Some((40, 1)), usize::MAX), (None, 10)] {
        let tally = all(&recipe, sample, limit);
        let dropped: u64 = tally.dropped().iter().map(|(_, n)| n).sum();
        assert_eq!(tally.cycles, tally.tests + dropped, "{tally:?}");
        let why: Vec<&str> = tally.dropped().iter().map(|(w, _)| *w).collect();
        assert!(why.contains(&generate::EXCLUDED), "{why:?}");
        assert!(
            why.contains(&generate::FILTERED) && why.contains(&generate::OTHER_FAMILY),
            "{why:?}"
        );
        assert_eq!(why.contains(&generate::SAMPLED), sample.is_some());
        assert_eq!(why.contains(&generate::LIMITED), limit == 10);
    }
}

#[test]
fn families_of_constructs() {
    let all = |name: &str, sample| {
        let recipe = Recipe::new(Arch::C);
        let keep = Filter::default();
        let wanted = Wanted { sample, ..Wanted::all(&keep) };
        collect(&recipe, &[text(name)], &wanted, 1).expect("is made")
    };
    let unused = all("c11-unused", None);
    // This test shows a lost acquire only through the final value.
    let known =
        unused.iter().find(|(n, _)| n.starts_with("MP+fencearrlxrlxs.2.fetch-add-rlx-unused"));
    let (_, content) = known.expect("there");
    assert!(
        content.contains("  atomic_fetch_add_explicit(y, 1, memory_order_relaxed);"),
        "{content}"
    );
    assert!(content.ends_with("exists ([y]=2 /\\ 1:r0=0)\n"), "{content}");
    for (name, _) in families::NAMES {
        let some = all(name, Some((60, 7)));
        assert_eq!(some.len(), 60, "{name}");
        let again = all(name, Some((60, 7)));
        assert!(some.iter().eq(again.iter()), "{name}");
        for (n, content) in some.iter() {
            let test =
                litmus::read(&text(&content)).unwrap_or_else(|e| panic!("{n}: {e}\n{content}"));
            litmake_sim::program::Program::new(&test)
                .unwrap_or_else(|e| panic!("{n}: {e}\n{content}"));
        }
    }
}
