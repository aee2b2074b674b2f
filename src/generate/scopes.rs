//! Variants of a C test that name scopes: where its threads lie, and the scope of each atomic operation, are drawn.
//!
//! It does not know what scopes mean; most of the drawn ones have all threads, since operations that do not reach each
//! other race, and a test that races says nothing.

use super::axes::Random;
use litmake_base::diag::Source;
use litmake_litmus::c::scoped::{Reach, say_each};
use litmake_litmus::scopes::{Level, Scopes};
use litmake_litmus::{read, write};

/// The scopes that every language for GPUs has.
const REACHES: [Reach; 3] = [Reach::Workgroup, Reach::Device, Reach::System];

/// The name of a variant.
pub fn name(test: &str, variant: u64) -> String {
    format!("{test}+scopes{variant}")
}

/// The test and the number that a name of a variant is made of.
pub fn base(name: &str) -> Option<(&str, u64)> {
    let (test, number) = name.rsplit_once("+scopes")?;
    Some((test, number.parse().ok()?))
}

/// A variant of a test, which depends on the numbers alone; `None` if the test has no atomic operation in C.
pub fn variant(text: &str, number: u64, seed: u64) -> Option<String> {
    let mut test = read(&Source::new("generated", text)).ok()?;
    let salt = text.bytes().fold(number, |n, b| n.wrapping_mul(31).wrapping_add(b.into()));
    let mut random = Random::of(seed, salt);
    let scopes = place(&mut random, test.threads.len());
    let fits = narrowest(&scopes, test.threads.len());
    test.name = name(&test.name, number);
    test.scopes = Some(scopes);
    let mut drawn = 0;
    let mut draw = || {
        drawn += 1;
        match random.below(4) {
            0 => REACHES[random.below(REACHES.len())],
            _ => fits,
        }
    };
    test.functions_mut().for_each(|f| say_each(f, &mut draw));
    (drawn > 0).then(|| write(&test))
}

/// One workgroup, two on one device, one each, or two devices.
fn place(random: &mut Random, threads: usize) -> Scopes {
    let kind = random.below(8);
    let group = |random: &mut Random, t: usize| match kind {
        0 | 1 => (0, 0),
        2..=5 => (random.below(2) as u16, 0),
        6 => (t as u16, 0),
        _ => (0, random.below(2) as u16),
    };
    let on: Vec<(u16, u16)> = (0..threads).map(|t| group(random, t)).collect();
    Scopes::on(&on)
}

/// The narrowest scope that has all threads.
fn narrowest(scopes: &Scopes, threads: usize) -> Reach {
    let together = |level: Level| (1..threads).all(|t| scopes.share(level, 0, t));
    match () {
        () if together(Level::Workgroup) => Reach::Workgroup,
        () if together(Level::Device) => Reach::Device,
        () => Reach::System,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "C MP
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store(y, 1);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
";

    #[test]
    fn each_operation_names_a_scope_and_each_thread_has_a_place() {
        let drawn: Vec<String> = (0..40).filter_map(|n| variant(TEST, n, 1)).collect();
        assert_eq!(drawn.len(), 40);
        for text in &drawn {
            let calls = text.matches("atomic_").count() - text.matches("atomic_int").count();
            assert_eq!(text.matches("memory_scope_").count(), calls, "{text}");
            assert!(read(&Source::new("t", text.as_str())).expect("reads").scopes.is_some());
        }
        for word in ["work_group", "device", "all_svm_devices"] {
            assert!(drawn.iter().any(|t| t.contains(word)), "{word}");
        }
        assert_eq!(variant(TEST, 3, 1), variant(TEST, 3, 1));
        assert_ne!(variant(TEST, 3, 1), variant(TEST, 3, 2));
        assert_eq!(variant("C t\n{}\nP0 (int* x) {\n  *x = 1;\n}\nexists (x=1)\n", 0, 0), None);
    }

    #[test]
    fn names_of_variants_lead_back() {
        assert_eq!(base(&name("MP+a", 12)), Some(("MP+a", 12)));
        assert_eq!(base("MP"), None);
    }
}
