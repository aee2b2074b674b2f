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

/// What is looked for is found by its text alone.
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
    // Threads first, then statements.
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
