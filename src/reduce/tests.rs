use super::*;

fn test(text: &str) -> Test {
    litmus::read(&Source::new("t", text)).unwrap()
}

const MP: &str = "C mp
{ x=0; y=0; unused=3; }
int both(atomic_int* p) { return atomic_load_explicit(p, memory_order_acquire); }
P0 (atomic_int* x, atomic_int* y, atomic_int* unused) {
  atomic_store_explicit(x, 7, memory_order_seq_cst);
  if (1) {
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(y, 1, memory_order_release);
  }
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = both(y);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
  int r2 = r0 + r1 * 2;
}
P2 (atomic_int* x) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0 /\\ 2:r0=0)
";

/// Reduces a test while its text contains all of `needs`.
fn reduced(text: &str, needs: &[&str]) -> String {
    let mut asked = 0;
    let out = reduce(&test(text), 5000, &mut |tests| {
        asked += tests.len();
        tests.iter().map(|t| needs.iter().all(|n| litmus::write(t).contains(n))).collect()
    });
    assert!(asked > 0);
    litmus::write(&out)
}

#[test]
fn all_goes_that_is_not_needed() {
    assert_eq!(
        reduced(MP, &["atomic_store_explicit(y", "atomic_load_explicit(x"]),
        "C mp
{}
P0(atomic_int *y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1(atomic_int *x) {
  atomic_load_explicit(x, memory_order_relaxed);
}
exists (true)
"
    );
}

#[test]
fn threads_that_go_renumber_the_rest() {
    let text = reduced(MP, &["2:r0", "P1"]);
    assert!(text.contains("exists (2:r0=0)") || text.contains("P2"), "{text}");
    let text = reduced(MP, &["r0=0", "seq_cst"]);
    assert!(text.contains("seq_cst") && text.contains("r0=0"), "{text}");
    assert!(!text.contains("P2"), "{text}");
}

#[test]
fn a_budget_ends_it() {
    let mut asked = 0;
    reduce(&test(MP), 10, &mut |tests| {
        asked += tests.len();
        vec![false; tests.len()]
    });
    assert_eq!(asked, 10);
}

#[test]
fn candidates_are_smaller_and_can_be_read() {
    let first = test(MP);
    let candidates = smaller(&first);
    assert!(candidates.len() > 20);
    // Threads are cut first, then statements.
    assert!(candidates[..3].iter().all(|t| t.threads.len() == 2));
    for candidate in &candidates {
        assert!(!candidate.same_as(&first));
        let places = candidate.shown();
        let declared = names::declared(candidate);
        for place in places {
            if let Place::Reg { thread, name } = place {
                assert!(declared[thread].contains(&name), "{}", litmus::write(candidate));
            }
        }
    }
}

/// Message passing through an update that should release, and `S` through the same update, with
/// other names and the threads swapped.
const UPDATE_MP: &str = "C mp
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int u = atomic_fetch_add_explicit(y, 1, memory_order_acq_rel);
}
P1 (atomic_int* x, atomic_int* y) {
  int a = atomic_load_explicit(y, memory_order_acquire);
  int b = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:a=1 /\\ 1:b=0)
";

const UPDATE_S: &str = "C s
{ flag=0; }
P0 (volatile atomic_long* flag, volatile atomic_long* data) {
  long got = atomic_load_explicit(flag, memory_order_seq_cst);
  atomic_store_explicit(data, 1, memory_order_relaxed);
}
P1 (volatile atomic_long* data, volatile atomic_long* flag) {
  atomic_store_explicit(data, 2, memory_order_release);
  atomic_fetch_sub_explicit(flag, 3, memory_order_seq_cst);
}
exists (0:got=1 /\\ data=2)
";

/// A compiler that forgets the release of updates: one thread writes and then updates another
/// location, and one thread reads the second location in order before it accesses the first.
fn forgets_release(test: &Test) -> bool {
    let text = litmus::write(test);
    let threads: Vec<&str> = text.split("\nP").skip(1).collect();
    let position =
        |t: &str, words: &[&str]| t.lines().position(|l| words.iter().all(|w| l.contains(w)));
    threads.iter().any(|writer| {
        let update = writer.lines().position(|l| {
            l.contains("atomic_fetch")
                && ["acq_rel", "release", "seq_cst"]
                    .iter()
                    .any(|o| l.contains(&format!("order_{o}")))
        });
        let Some(update) = update else { return false };
        let place = |l: &str| l.split(['(', ',']).nth(1).unwrap_or("").trim().to_string();
        let lines: Vec<&str> = writer.lines().collect();
        let flag = place(lines[update]);
        let fence = lines[1..update].iter().rposition(|l| l.contains("atomic_thread_fence"));
        let first = fence.map_or(1, |at| at + 2);
        lines[first..update].iter().filter(|l| l.contains("atomic_store")).any(|store| {
            let data = place(store);
            threads.iter().filter(|t| *t != writer).any(|watcher| {
                let first = position(
                    watcher,
                    &["atomic_load_explicit", &format!("({flag}, memory_order_")],
                );
                let then = watcher.lines().position(|l| l.contains(&format!("explicit({data},")));
                matches!((first, then), (Some(a), Some(b)) if a < b
                    && !watcher.lines().nth(a).unwrap_or("").contains("relaxed"))
            })
        })
    })
}

#[test]
fn a_normal_form_has_neither_names_nor_an_order_of_threads() {
    let other = "C other
{}
P0 (atomic_int* data, atomic_int* flag) {
  int seen = atomic_load_explicit(flag, memory_order_acquire);
  int got = atomic_load_explicit(data, memory_order_relaxed);
}
P1 (atomic_int* flag, atomic_int* data) {
  atomic_store_explicit(data, 1, memory_order_relaxed);
  int r9 = atomic_fetch_add_explicit(flag, 1, memory_order_acq_rel);
}
exists (0:got=0 /\\ 0:seen=1)
";
    let (a, b) = (normal(&test(UPDATE_MP)), normal(&test(other)));
    assert_eq!(litmus::write(&a), litmus::write(&b));
    assert_eq!(litmus::write(&normal(&a)), litmus::write(&a));
    let weaker = other.replace("acq_rel", "release");
    assert_ne!(litmus::write(&normal(&test(&weaker))), litmus::write(&a));
    // The initial state is the same, however much of it is said.
    let from = |init: &str| litmus::write(&normal(&test(&other.replace("{}", init))));
    assert_eq!(from("{ atomic_int data = 0; flag = 0; }"), litmus::write(&a));
    assert_eq!(from("{ atomic_int data = 7; atomic_int flag; }"), from("{ data = 7; }"));
    assert_ne!(from("{ data = 7; }"), litmus::write(&a));
}

#[test]
fn one_core_is_found_from_different_shapes() {
    let mut shows = |tests: &[Test]| tests.iter().map(forgets_release).collect::<Vec<_>>();
    let mut cores = Vec::new();
    for text in [UPDATE_MP, UPDATE_S] {
        let start = test(text);
        assert!(forgets_release(&start), "{text}");
        let reduced = normal(&settle(&start, 2000, &mut shows));
        let core = core(&reduced, 2000, &mut shows);
        assert_eq!(core.threads.len(), 1, "{}", core.key);
        // Both the reduced test and the tests within the first one show it.
        assert!(forgets_release(&reduced));
        let kept = within(&start, &core);
        assert!(
            kept.iter().any(forgets_release),
            "{:?}",
            kept.iter().map(litmus::write).collect::<Vec<_>>()
        );
        cores.push(core.key);
    }
    assert_eq!(cores[0], cores[1]);
    let expected = "P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(y, 1, memory_order_release);
}
";
    assert_eq!(cores[0].trim(), expected.trim());
}

#[test]
fn what_is_not_within_a_test_is_not_kept() {
    let mut shows = |tests: &[Test]| tests.iter().map(forgets_release).collect::<Vec<_>>();
    let reduced = normal(&settle(&test(UPDATE_MP), 2000, &mut shows));
    let core = core(&reduced, 2000, &mut shows);
    // The update does not release, or there is none.
    for (from, to) in [("acq_rel", "acquire"), ("atomic_fetch_add_", "atomic_exchange_")] {
        let other = test(&UPDATE_MP.replace(from, to));
        let kept = within(&other, &core);
        let texts: Vec<String> = kept.iter().map(litmus::write).collect();
        assert!(!kept.iter().any(forgets_release), "{}\n{}", core.key, texts.concat());
    }
}

#[test]
fn what_is_expected_in_a_location_of_one_thread_is_expected_in_a_local() {
    let text = "C cas
{ e=5; }
P0 (atomic_int* x, int* e) {
  int r0 = atomic_compare_exchange_strong_explicit(x, e, 2, memory_order_release, memory_order_acquire);
  int r1 = *e;
}
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_release); }
exists (0:r1=1)
";
    let settled = |text: &str| {
        let out = settle(&test(text), 2000, &mut |tests| {
            let needs = ["atomic_compare_exchange", "order_release, memory_order_acquire", "0:r1"];
            let has = |text: &str| {
                let is_there = ["int *e", "int e ="].iter().any(|e| text.contains(e));
                is_there && needs.iter().all(|n| text.contains(n))
            };
            tests.iter().map(|t| has(&litmus::write(t))).collect()
        });
        litmus::write(&normal(&out))
    };
    let local = text
        .replace("{ e=5; }", "{}")
        .replace(", int* e) {", ") {\n  int e = 5;")
        .replace("(x, e,", "(x, &e,")
        .replace("= *e", "= e");
    assert_eq!(settled(text), settled(&local));
    assert!(settled(text).contains("&r0"), "{}", settled(text));
    // Not a location that another thread uses, or that is observed.
    for shared in [
        text.replace("P1 (atomic_int* x)", "P1 (atomic_int* x, int* e)"),
        text.replace("0:r1=1", "0:r1=1 /\\ e=1"),
    ] {
        let list = types::plainer(&test(&shared));
        assert!(list.iter().all(|t| !litmus::write(t).contains("&e")), "{shared}");
    }
}

/// The place where the expected value of a compare-exchange is declared is irrelevant to a bug.
#[test]
fn a_constant_has_one_place_in_the_normal_form() {
    let form = |before: &str, between: &str| {
        let text = format!(
            "C t
{{}}
P0 (atomic_int* x, atomic_int* y) {{
{before}  atomic_store_explicit(x, 1, memory_order_relaxed);
{between}  int r0 = atomic_compare_exchange_strong_explicit(y, &e, 1, memory_order_release, memory_order_relaxed);
}}
exists (0:r0=0)
"
        );
        litmus::write(&normal(&test(&text)))
    };
    assert_eq!(form("  int e = 5;\n", ""), form("", "  int e = 5;\n"));
    let order = |first: &str, second: &str| {
        form(
            &format!("  int {first};\n  int {second};\n"),
            "  atomic_store_explicit(x, f, memory_order_relaxed);\n",
        )
    };
    assert_eq!(order("e = 5", "f = 2"), order("f = 2", "e = 5"));
    assert_ne!(form("  int e = 5;\n", ""), form("  int e = 6;\n", ""));
}

/// Tests that access their data through functions, elements and pointers reduce to the same test as
/// others, so that their bug has the same form.
#[test]
fn ways_to_the_data_that_do_not_matter_go() {
    let settled = |init: &str, helper: &str, write: &str| {
        let text = format!(
            "C t
{{ {init} }}
{helper}
P0(int *x, atomic_int *y) {{
{write}
atomic_store_explicit(y, 1, memory_order_release);
}}
exists (x=0)
"
        );
        // A store of 1 to x before the release, in whatever form.
        let out = settle(&test(&text), 5000, &mut |tests| {
            let one = |t: &Test| {
                let text = litmus::write(t);
                let body = text.split("P0(").nth(1).unwrap_or("");
                let store = ["*x = 1", "explicit(x, 1", "*(x + 1) = 1"];
                let called = text.contains("*p = w") && body.contains("put(x, 1");
                let pointed = body.contains("*p = x") && body.contains("*p = 1");
                (called || pointed || store.iter().any(|s| body.contains(s)))
                    && body.contains("y, 1, memory_order_release")
            };
            tests.iter().map(one).collect()
        });
        canon::canonical_text(&normal(&out))
    };
    let direct = settled("", "", "*x = 1;");
    assert!(direct.contains("atomic_store_explicit"), "{direct}");
    let put =
        "static __attribute__((noinline, cold)) void put(int *__restrict p, int w) { *p = w; }";
    assert_eq!(settled("", put, "put(x, 1);"), direct);
    assert_eq!(settled("", "", "int *p = x; *p = 1;"), direct);
    assert_eq!(settled("int x[4];", "", "*(x + 1) = 1;"), direct);
}

/// A location that is only read is replaced by its value in all threads at once; replacing it in
/// one thread would access another element.
#[test]
fn what_is_only_read_is_its_number() {
    let text = |init: &str, read: &str, written: &str| {
        format!(
            "C t
{{ {init} }}
P0(int *x, atomic_int *k, atomic_int *y) {{
int r0 = *(x + {read});
atomic_store_explicit(y, 1, memory_order_release);
}}
P1(int *x, atomic_int *k, atomic_int *y) {{
if (atomic_load_explicit(y, memory_order_acquire)) {{
*(x + {read}) = 1;
{written}}}
}}
exists (0:r0=1)
"
        )
    };
    let load = "atomic_load_explicit(k, memory_order_relaxed)";
    let known = text("int x[4]; atomic_int k = 1;", "1", "");
    let known = canon::canonical_text(&normal(&test(&known)));
    let all = |text: &str| {
        let tries = reach::simpler(&test(text));
        tries.iter().any(|t| canon::canonical_text(&normal(t)) == known)
    };
    assert!(all(&text("int x[4]; atomic_int k = 1;", load, "")));
    // Not a location that a thread writes.
    for written in
        ["atomic_store_explicit(k, 2, memory_order_relaxed);\n", "*k = 2;\n", "(*k)++;\n"]
    {
        let tries = reach::simpler(&test(&text("int x[4]; atomic_int k = 1;", load, written)));
        assert!(tries.iter().all(|t| litmus::write(t).contains(load)), "{written}");
    }
}

/// A compare-exchange that is needed for its write or its read becomes a store or a load with the
/// strongest order that it had.
#[test]
fn a_compare_exchange_becomes_what_it_is_there_for() {
    let start = test(
        r"C t
{}
P0(atomic_int *x, atomic_int *y) { int e = 0; atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_acq_rel, memory_order_acquire); atomic_store_explicit(y, 1, memory_order_release); }
exists (x=1 /\ y=1)
",
    );
    let list: Vec<String> = smaller(&start).iter().map(litmus::write).collect();
    for wanted in
        ["load_explicit(x, memory_order_acquire)", "store_explicit(x, 1, memory_order_release)"]
    {
        assert!(list.iter().any(|t| t.contains(wanted)), "{wanted}: {list:?}");
    }
}

/// Compound assignments become plain ones.
#[test]
fn assignments_that_add_become_plain_ones() {
    let start = test(
        r"C t
{}
P0(int *x, int *y) { *x |= 3; (*y)++; }
exists (x=1 /\ y=1)
",
    );
    let list: Vec<String> = smaller(&start).iter().map(litmus::write).collect();
    for wanted in ["*x = 3;", "*y = 1;"] {
        assert!(list.iter().any(|t| t.contains(wanted)), "{wanted}: {list:?}");
    }
}

/// The value that a compare-exchange read shows whether it failed.
#[test]
fn what_a_compare_exchange_says_is_what_it_found() {
    let start = |said: &str| {
        test(&format!(
            "C t
{{}}
P0(atomic_int *x) {{ int e = 1; int r = atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_acq_rel, memory_order_acquire){said} }}
P1(atomic_int *x) {{ *x = 2; }}
exists (0:r=1)
"
        ))
    };
    for said in [";", " ? 1 : 0;"] {
        let list: Vec<String> = reach::simpler(&start(said)).iter().map(litmus::write).collect();
        let is_it = |t: &String| !t.contains("int r") && t.contains("exists (0:e=1)");
        assert!(list.iter().any(is_it), "{list:?}");
    }
    // Not if the result is used.
    let used = reach::simpler(&start("; if (r) *x = 3;"));
    assert!(used.iter().all(|t| litmus::write(t).contains("int r = atomic")));
}

/// Floating-point numbers become whole numbers if nothing needs them.
#[test]
fn numbers_in_floating_point_become_whole_ones() {
    let start = test(
        "C t
{}
P0(atomic_int *x, float *y) { atomic_store_explicit(x, 1.5f, memory_order_relaxed); *y = 0.0; }
exists (x=1)
",
    );
    let list: Vec<String> = reach::simpler(&start).iter().map(litmus::write).collect();
    assert!(list.iter().any(|t| t.contains("(x, 1, ") && t.contains("*y = 0;")), "{list:?}");
}

/// A function that only another thread calls is not part of a core.
#[test]
fn a_core_has_the_functions_of_its_threads_alone() {
    let text = r"C t
{}
int half(int w) {
  return w;
}
int put(int w) {
  return half(w);
}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, put(1), memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1(atomic_int *x, atomic_int *y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\ 1:r1=0)
";
    // The thread that keeps its orders is to blame.
    let blamed = |weak: &str| {
        core(&test(text), 0, &mut |tests| {
            tests.iter().map(|t| litmus::write(t).contains(weak)).collect()
        })
    };
    let reads = blamed("r0 = atomic_load_explicit(y, memory_order_acquire)").key;
    assert!(reads.contains("load") && !reads.contains("half") && !reads.contains("put"), "{reads}");
    let writes = blamed("y, 1, memory_order_release").key;
    assert!(writes.contains("half") && writes.contains("put"), "{writes}");
}

/// A compiler that forgets the acquire of a failing compare-exchange: the expected value is never
/// there, and another location is read afterwards. Both values are observed, and another thread
/// writes.
fn forgets_a_failed_acquire(test: &Test) -> bool {
    let text = litmus::write(test);
    let Some((thread, watcher)) = text.split_once("\nP1(") else { return false };
    let Some((before, after)) = thread.split_once("atomic_compare_exchange_") else { return false };
    let Some((call, after)) = after.split_once("memory_order_acquire)") else { return false };
    let expected = call.split(['&', ',']).nth(2).unwrap_or("").trim();
    let missed = [77, 2].iter().any(|n| before.contains(&format!(" {expected} = {n};")));
    let places = ["load_explicit(y", "= *y", "= get(y)", "= *(y + 1)"];
    // A local that is observed, or that is copied to an observed one.
    let observed = |name: &str| {
        let seen = |name: &str| watcher.contains(&format!("0:{name}="));
        let copies = after.lines().filter_map(|l| l.trim().split_once(&format!(" = {name};")));
        seen(name) || copies.into_iter().any(|(to, _)| seen(to))
    };
    let reads = after.lines().any(|l| {
        let Some((to, from)) = l.split_once(" = ") else { return false };
        let to = to.split_whitespace().next_back().unwrap_or("");
        observed(to) && places.iter().any(|r| format!("= {from}").contains(r))
    });
    let observed = observed(expected);
    let called = !text.contains("get(") || text.contains("return *p;");
    missed
        && reads
        && observed
        && called
        && watcher.contains("(x, 1")
        && watcher.matches("0:").count() == 2
}

/// Widths, copies, helpers, elements, casts, loops of one round and numbers do not change the core.
#[test]
fn ways_to_write_one_bug_have_one_core() {
    let key = |locals: &str, body: &str, params: &str, init: &str, helper: &str| {
        let text = format!(
            r"C t
{{ {init} }}
{helper}
P0({params}) {{
{locals}
{body}
}}
P1({params}) {{
 atomic_store_explicit(x, 1, memory_order_release);
}}
exists (0:r0=1 /\ 0:r1=0)
"
        );
        let start = test(&text);
        assert!(forgets_a_failed_acquire(&start), "{text}");
        let mut shows =
            |tests: &[Test]| tests.iter().map(forgets_a_failed_acquire).collect::<Vec<_>>();
        let settled = normal(&settle(&start, 5000, &mut shows));
        core(&settled, 5000, &mut shows).key
    };
    let cas = |t: &str| {
        format!(
            "{t} e = 77; atomic_compare_exchange_weak_explicit(x, &e, 5, memory_order_release, memory_order_acquire); r0 = e;"
        )
    };
    let plain = "atomic_int *x, atomic_int *y";
    let int = cas("int");
    let read = "r1 = atomic_load_explicit(y, memory_order_relaxed);";
    let simple = key("int r0 = 0; int r1 = 0;", &format!("{int} {read}"), plain, "", "");
    assert!(simple.contains("&r0, 1,"), "{simple}");
    let short = cas("int16_t");
    let forms = [
        key("int r0 = 0; int r1 = 0;", &format!("{int} {read}"), plain, "atomic_int x;", ""),
        key(
            "int16_t r0 = 0; int64_t r1 = 0;",
            &format!("{short} int c = atomic_load_explicit(y, memory_order_relaxed); r1 = c;"),
            "_Atomic int16_t *x, atomic_int *y",
            "int16_t x;",
            "",
        ),
        key(
            "int r0 = 0; int r1 = 0;",
            &format!("for (int i = 0; i < 2; i++) {{ {int} if (r0) {read} break; }}"),
            plain,
            "",
            "",
        ),
        key(
            "int r0 = 0; int r1 = 0;",
            &format!("{int} if (r0) {{ r1 = get(y); }}"),
            "atomic_int *x, int *y",
            "",
            "__attribute__((noinline)) int get(int *p) { return *p; }",
        ),
        key(
            "int r0 = 0; int r1 = 0;",
            &format!("{int} if (r0) r1 = *(y + 1);"),
            "atomic_int *x, int *y",
            "int y[4];",
            "",
        ),
    ];
    for form in &forms {
        assert_eq!(form, &simple);
    }
}

#[test]
fn what_is_stored_to_be_read_back_and_casts_go() {
    let start = test(
        "C t
{ int x[32]; }
int get(int *p) { return *p; }
P0(int *x, int *y, atomic_int *z) {
__uint128_t r2 = atomic_load_explicit((_Atomic __uint128_t *)(x + 16), memory_order_relaxed);
atomic_store_explicit(z, get(y), memory_order_relaxed);
int r0 = atomic_load_explicit(z, memory_order_relaxed);
}
exists (0:r0=0)
",
    );
    let list: Vec<String> = simpler(&start).iter().map(litmus::write).collect();
    let has = |word: &str| list.iter().any(|text| text.contains(word));
    assert!(has("int r0 = get(y);"), "{list:?}");
    assert!(has("atomic_store_explicit(z, *y, memory_order_relaxed)"), "{list:?}");
    assert!(has("_Atomic __uint128_t *x"), "{list:?}");
    assert!(has("__int128 r2"), "{list:?}");
}

/// If both threads have the same fault, the fault of one counts only if it shows beside threads
/// that are strongly ordered, inside branches and loops, too.
#[test]
fn watchers_are_strong_everywhere() {
    let text = "C t
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1(atomic_int *x, atomic_int *y) {
  for (int i = 0; i < 2; i++) {
    if (atomic_load_explicit(x, memory_order_relaxed))
      atomic_store_explicit(y, 1, memory_order_relaxed);
    break;
  }
}
exists (y=1)
";
    let strong = litmus::write(&core::strengthened(&test(text), &[0]).unwrap());
    let (own, watcher) = strong.split_once("P1(").unwrap();
    assert!(!own.contains("fence"), "{strong}");
    assert!(!watcher.contains("relaxed"), "{strong}");
    assert_eq!(watcher.matches("atomic_thread_fence(memory_order_seq_cst)").count(), 3, "{strong}");
}

/// A compiler that gets updates wrong gets those of a thread that watches wrong, too. The thread to
/// blame shows it beside a thread that loads.
#[test]
fn an_update_of_a_watching_thread_is_not_to_blame_on_the_other() {
    let text = "C t
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1(atomic_int *x, atomic_int *y) {
  int r0 = atomic_fetch_add_explicit(y, 1, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
";
    let mut asked = String::new();
    let mut shows = |tests: &[Test]| -> Vec<bool> {
        let texts = tests.iter().map(litmus::write);
        texts
            .map(|text| {
                asked += &text;
                text.contains("fetch_add")
            })
            .collect()
    };
    assert_eq!(core::surest(&test(text), vec![0, 1], &mut shows), [1]);
    assert!(asked.contains("int r0 = atomic_load_explicit(y, memory_order_seq_cst)"), "{asked}");
    assert!(
        asked.contains("atomic_store_explicit(y, 1, memory_order_seq_cst);\n  atomic_thread"),
        "{asked}"
    );
    // Where no thread shows it so, all that were asked about stay.
    assert_eq!(core::surest(&test(text), vec![0], &mut |_| panic!()), [0]);
}

/// A thread that should release is watched by one that stores only after it has read: load
/// buffering. That the thread reads before its release, and does not write, is irrelevant to the
/// bug.
#[test]
fn load_buffering_and_message_passing_have_one_core() {
    let text = "C lb
{}
P0 (atomic_int* x, atomic_int* y) {
  int a = atomic_load_explicit(x, memory_order_acquire);
  if (a == 3) {
    atomic_store_explicit(y, 1, memory_order_relaxed);
  }
}
P1 (atomic_int* x, atomic_int* y) {
  int b = 0;
  b = atomic_load_explicit(y, memory_order_relaxed);
  int e = atomic_fetch_add_explicit(x, 3, memory_order_release);
}
exists (1:b=1)
";
    // The fault needs another thread that reads in order, and does not order its accesses by a
    // branch as well.
    let watched = |test: &Test| {
        let text = litmus::write(test);
        let Some((a, b)) = text.split_once("P1(") else { return false };
        let (own, other) = if a.contains("atomic_fetch_add_explicit") { (a, b) } else { (b, a) };
        let own = own.contains("order_release")
            && own.contains("relaxed")
            && own.matches("atomic_").count() >= 4;
        let reads = other.matches("atomic_load_explicit").count();
        let stores = other.contains("if (") && other.contains("atomic_store_explicit(");
        let strong = !other.contains("relaxed") || other.contains("if (");
        let observed = text.rsplit("exists").next().unwrap_or("").matches('=').count();
        own && strong && (reads >= 2 && observed >= 2 || reads == 1 && stores)
    };
    let mut shows = |tests: &[Test]| tests.iter().map(watched).collect::<Vec<_>>();
    let start = test(text);
    assert!(watched(&start));
    let core = core(&normal(&start), 5000, &mut shows);
    assert!(
        core.key.contains("atomic_store_explicit(x, 1, memory_order_relaxed);"),
        "{}",
        core.key
    );
    assert!(!core.key.contains("atomic_load"), "{}", core.key);
}

#[test]
fn a_number_that_two_threads_have_stays_one_number() {
    let start = test(
        "C t
{}
P0(atomic_int *x) { atomic_store_explicit(x, 3, memory_order_relaxed); }
P1(atomic_int *x) { int e = 3; atomic_compare_exchange_strong_explicit(x, &e, 5, memory_order_relaxed, memory_order_relaxed); }
exists (x=5)
",
    );
    let list: Vec<String> = simpler(&start).iter().map(litmus::write).collect();
    assert!(list.iter().any(|t| t.contains("(x, 1, ") && t.contains("e = 1;")), "{list:?}");
}

#[test]
fn what_a_load_gives_at_the_end_is_in_memory() {
    let start = test(
        "C t
{}
P0(_Atomic __int128 *x) { atomic_store_explicit(x, 1, memory_order_relaxed); int r0 = atomic_load_explicit(x, memory_order_relaxed); }
exists (0:r0=0)
",
    );
    let list: Vec<String> = simpler(&start).iter().map(litmus::write).collect();
    let is_it = |t: &String| !t.contains("atomic_load") && t.contains("exists ([x]=0)");
    assert!(list.iter().any(is_it), "{list:?}");
    // A value that is used is still read.
    let used = test(
        "C t
{}
P0(atomic_int *x, atomic_int *y) { int r0 = atomic_load_explicit(x, memory_order_relaxed); atomic_store_explicit(y, r0, memory_order_relaxed); }
P1(atomic_int *x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (0:r0=0)
",
    );
    let list: Vec<String> = simpler(&used).iter().map(litmus::write).collect();
    assert!(list.iter().all(|t| t.contains("atomic_load")), "{list:?}");
}

#[test]
fn what_a_function_gives_can_be_observed_once_its_body_stands_in_its_place() {
    let start = test(
        "C t
{}
int give(atomic_int *f) { int r = 0; r = atomic_fetch_add_explicit(f, 1, memory_order_relaxed); return r; }
P0(atomic_int *x) { give(x); }
exists (x=0)
",
    );
    let list: Vec<String> = simpler(&start).iter().map(litmus::write).collect();
    let is_it = |t: &String| !t.contains("give") && t.contains("0:r_1=1");
    assert!(list.iter().any(is_it), "{list:?}");
}

#[test]
fn a_core_of_one_width_is_looked_for_in_that_width_and_seen_as_it_was() {
    let core_test = test(
        "C t
{}
P0(_Atomic __int128 *x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
exists (x=0)
",
    );
    let core = core(&core_test, 0, &mut |tests| vec![false; tests.len()]);
    let larger = test(
        "C t
{}
P0(atomic_int *y, _Atomic __int128 *z) { atomic_store_explicit(y, 1, memory_order_relaxed); atomic_store_explicit(z, 1, memory_order_relaxed); int r0 = atomic_load_explicit(z, memory_order_relaxed); }
exists (0:r0=0)
",
    );
    let list: Vec<String> = within(&larger, &core).iter().map(litmus::write).collect();
    let stores: Vec<&String> = list.iter().filter(|t| t.contains("atomic_store")).collect();
    assert!(!stores.is_empty(), "{list:?}");
    assert!(stores.iter().all(|t| t.contains("(z, 1") && t.contains("[z]=")), "{list:?}");
    assert!(list.iter().all(|t| !t.contains("(y, 1")), "{list:?}");
}

#[test]
fn a_core_of_int_is_looked_for_with_int_whatever_the_width_of_the_test() {
    let mut shows = |tests: &[Test]| tests.iter().map(forgets_release).collect::<Vec<_>>();
    let reduced = normal(&settle(&test(UPDATE_MP), 2000, &mut shows));
    let core = core(&reduced, 2000, &mut shows);
    let wide = UPDATE_MP.replace("atomic_int", "_Atomic __int128").replace("  int ", "  __int128 ");
    assert!(wide.contains("__int128"), "{wide}");
    let list: Vec<Test> = within(&test(&wide), &core);
    assert!(list.iter().any(forgets_release), "{}", core.key);
    let texts: Vec<String> = list.iter().map(litmus::write).collect();
    assert!(texts.iter().all(|t| !t.contains("__int128")), "{}", texts.concat());
}

const STRUCTURE: &str = "C s
{ struct S x; }
struct T { int16_t a; int16_t b; };
struct S { int8_t n; struct T t; volatile int8_t v[2]; _Atomic int64_t f; };
static void set(struct T *p) { p->a = 1; }
P0 (struct S *x) {
  x->n = 5;
  set(&x->t);
  x->v[1] = 2;
  atomic_store_explicit(&x->f, 1, memory_order_release);
}
P1 (struct S *x) {
  int r0 = atomic_load_explicit(&x->f, memory_order_acquire);
  int r1 = x->n;
}
exists (1:r0=1 /\\ 1:r1=0)
";

#[test]
fn members_that_nobody_names_go() {
    let text = reduced(STRUCTURE, &["x->n = 5", "x->f"]);
    assert!(text.contains("struct S { int8_t n; _Atomic int64_t f; };"), "{text}");
    assert!(!text.contains("struct T"), "{text}");
}

#[test]
fn members_become_locations() {
    let settled = |needs: &[&str]| {
        let out = settle(&test(STRUCTURE), 5000, &mut |tests| {
            tests.iter().map(|t| needs.iter().all(|n| litmus::write(t).contains(n))).collect()
        });
        litmus::write(&out)
    };
    let text = settled(&["= 5;", "atomic_load_explicit("]);
    assert!(!text.contains("struct"), "{text}");
    // If the structure matters, its members become as plain as possible.
    let text = settled(&["x->n = 5", "x->f"]);
    assert!(text.contains("struct S { int n; atomic_int f; };"), "{text}");
}

#[test]
fn members_of_structures_lie_apart() {
    let all = super::members::simpler(&test(STRUCTURE));
    let texts: Vec<String> = all.iter().map(litmus::write).collect();
    let apart = texts.iter().find(|t| !t.contains("struct S")).expect("a test without it");
    for part in [
        "int8_t x_n;",
        "struct T x_t;",
        "volatile int8_t x_v[2];",
        "_Atomic int64_t x_f;",
        "*x_n = 5;",
        "set(x_t);",
        "x_v[1] = 2;",
        "atomic_store_explicit(x_f, 1, memory_order_release);",
    ] {
        assert!(apart.contains(part), "{part}\n{apart}");
    }
    // Two used members of a union share their bytes.
    let union = STRUCTURE.replace("struct S", "union S");
    let all = super::members::simpler(&test(&union));
    assert!(all.iter().all(|t| litmus::write(t).contains("union S")));
}
