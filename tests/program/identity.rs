//! One bug, one identity: each known bug through several forms of its test and several profiles, and
//! no two bugs with one identity. Which bugs are distinct is known from their descriptions
//! (`../shared/bugs`, `../shared/bugs-2026`).

#![cfg(target_arch = "x86_64")]

use std::collections::{BTreeMap, BTreeSet};

use litmake::report::baseline::{Baseline, Seen};
use litmake::report::{Report, Status};
use serde_json::Value;

use crate::scratch::{IDEMPOTENT, Scratch, streams};

/// A bug: its name, the compilers that it needs, the fault that titles say, the profiles that have
/// it, and forms of a test that show it, each with the locations' storage.
struct Bug {
    name: &'static str,
    needs: &'static [&'static str],
    fault: &'static str,
    profiles: [&'static str; 2],
    forms: &'static [(&'static str, &'static str)],
    /// The type qualifier that stands for `QUALIFIED ` in the forms.
    qualifier: &'static str,
}

impl Bug {
    /// A form of the test, and the storage of its locations.
    fn form(&self, n: usize) -> (&'static str, String) {
        let (storage, form) = self.forms[n];
        (storage, form.replace("QUALIFIED ", self.qualifier))
    }
}

/// An exchange whose result nobody uses, on an object with a qualifier or without one.
const EXCHANGES: &[(&str, &str)] = &[
    (
        "pointers",
        "C exchange
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, QUALIFIED atomic_int* y) {
  int u = atomic_exchange_explicit(y, 2, memory_order_release);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=0 /\\ y=2)
",
    ),
    (
        "globals",
        "C renamed
{ atomic_long turn = 0; }
P0 (QUALIFIED atomic_long* turn, atomic_long* data) {
  long gone = atomic_exchange_explicit(turn, 9, memory_order_release);
  atomic_thread_fence(memory_order_acquire);
  long got = atomic_load_explicit(data, memory_order_relaxed);
}
P1 (atomic_long* turn, atomic_long* data) {
  atomic_store_explicit(data, 4, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(turn, 5, memory_order_relaxed);
}
exists (0:got=0 /\\ turn=9)
",
    ),
];

const BUGS: &[Bug] = &[
    // Two accesses become one pair, on the wrong side of an operation that is between them.
    Bug {
        name: "pair",
        needs: &["clang-19", "clang-22"],
        fault: "AArch64: a plain load moves below a release store",
        profiles: ["clang-22-aarch64-O2", "clang-19-aarch64-O2"],
        forms: &[
            (
                "pointers",
                "C pair
{ struct S s; }
struct S { int a; int b; atomic_int f; };
P0 (struct S* s) {
  int r0 = s->a;
  atomic_store_explicit(&s->f, 1, memory_order_release);
  int r1 = s->b;
}
P1 (struct S* s) {
  int r2 = atomic_load_explicit(&s->f, memory_order_acquire);
  if (r2) { s->a = 1; }
}
exists (0:r0=1 /\\ 0:r1=0)
",
            ),
            // Another order of fields, other names, values and widths, a stronger store, and threads
            // the other way round.
            (
                "pointers",
                "C turned
{ struct T data; }
struct T { atomic_long flag; long second; long first; };
P0 (struct T* data) {
  long seen = atomic_load_explicit(&data->flag, memory_order_acquire);
  if (seen == 7) { data->first = 3; }
}
P1 (struct T* data) {
  long one = data->first;
  atomic_store_explicit(&data->flag, 7, memory_order_seq_cst);
  long two = data->second;
}
exists (1:one=3 /\\ 1:two=0)
",
            ),
            (
                "globals",
                "C named
{ struct S box; }
struct S { int a; int b; atomic_int f; };
P0 (struct S* box) {
  int r0 = box->a;
  atomic_store_explicit(&box->f, 1, memory_order_release);
  int r1 = box->b;
}
P1 (struct S* box) {
  if (atomic_load_explicit(&box->f, memory_order_acquire)) { box->a = 1; }
}
exists (0:r0=1 /\\ 0:r1=0)
",
            ),
        ],
        qualifier: "",
    },
    // LLVM 56450: an update that changes nothing becomes a load.
    Bug {
        name: "idempotent",
        needs: &["clang-14", "clang-15"],
        fault: "X86: a relaxed read-modify-write becomes a load",
        profiles: ["clang-14-x86_64-O2", "clang-15-x86_64-O1"],
        forms: &[
            ("pointers", IDEMPOTENT),
            (
                "globals",
                "C or
{ [lock]=0; }
P0 (atomic_long* lock, atomic_int* flag, atomic_int* data) {
  atomic_store_explicit(flag, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  long old = atomic_exchange_explicit(lock, 3, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  int seen = atomic_load_explicit(data, memory_order_acquire);
}
P1 (atomic_int* flag, atomic_int* data, atomic_long* lock) {
  atomic_store_explicit(data, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  long old = atomic_fetch_or_explicit(lock, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int seen = atomic_load_explicit(flag, memory_order_relaxed);
}
exists (0:seen=0 /\\ 1:seen=0)
",
            ),
        ],
        qualifier: "",
    },
    // An exchange whose result nobody uses becomes a store, which the acquire fence behind it does
    // not order.
    Bug {
        name: "unread",
        needs: &["clang-14"],
        fault: "AArch64: a relaxed read-modify-write becomes a store",
        profiles: ["clang-14-aarch64-armv8.1-a-O2", "clang-14-aarch64-armv8.1-a-O1"],
        forms: EXCHANGES,
        qualifier: "",
    },
    // LLVM 68428: the same exchange stays one on a volatile object, and escapes the fence because its
    // result goes into the zero register.
    Bug {
        name: "dropped",
        needs: &["clang-14"],
        fault: "AArch64: an acquire fence does not order an earlier relaxed read-modify-write",
        profiles: ["clang-14-aarch64-armv8.1-a-O2", "clang-14-aarch64-armv8.1-a-O1"],
        forms: EXCHANGES,
        qualifier: "volatile ",
    },
    // The failing side of a compare-exchange does not acquire.
    Bug {
        name: "failing",
        needs: &["powerpc64le-linux-gnu-gcc-11", "powerpc64le-linux-gnu-gcc-12"],
        fault: "PPC: a failing acquire compare-exchange does not order a later relaxed load",
        profiles: ["gcc-11-ppc64le-O1", "gcc-12-ppc64le-O2"],
        forms: &[
            (
                "pointers",
                "C compare
{ e=5; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y, int* e) {
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 2, memory_order_release, memory_order_acquire);
  int r1 = *e;
  int r2 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r1=1 /\\ 1:r2=0)
",
            ),
            // The expected value is a local, and the first two statements are threads of their own.
            (
                "globals",
                "C local
{}
P0 (atomic_long* flag, atomic_long* data) {
  long seen = 8;
  int ok = atomic_compare_exchange_strong_explicit(flag, &seen, 3, memory_order_release, memory_order_acquire);
  long got = atomic_load_explicit(data, memory_order_relaxed);
}
P1 (atomic_long* data, atomic_long* flag) {
  atomic_store_explicit(data, 6, memory_order_relaxed);
  atomic_store_explicit(flag, 2, memory_order_release);
}
exists (0:seen=2 /\\ 0:got=0)
",
            ),
        ],
        qualifier: "",
    },
    // A compare-exchange that acquires and releases loses its release.
    Bug {
        name: "released",
        needs: &["riscv64-linux-gnu-gcc-12"],
        // That it acquires is not needed, so the smallest test does not.
        fault: "RISCV: a release compare-exchange does not order an earlier relaxed store",
        profiles: ["gcc-12-riscv64-O2", "gcc-12-riscv64-O1"],
        forms: &[
            (
                "pointers",
                "C publish
{ e=0; }
P0 (atomic_int* x, atomic_int* y, int* e) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 1, memory_order_acq_rel, memory_order_acquire);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
",
            ),
            (
                "globals",
                "C local
{}
P0 (atomic_long* flag, atomic_long* data) {
  long seen = atomic_load_explicit(flag, memory_order_acquire);
  long got = atomic_load_explicit(data, memory_order_relaxed);
}
P1 (atomic_long* data, atomic_long* flag) {
  long expected = 0;
  atomic_store_explicit(data, 6, memory_order_relaxed);
  int ok = atomic_compare_exchange_strong_explicit(flag, &expected, 3, memory_order_acq_rel, memory_order_acquire);
}
exists (0:seen=3 /\\ 0:got=0)
",
            ),
            // It loses its acquire as well, which other tests show.
            (
                "pointers",
                "C acquire
{ e=3; }
P0 (atomic_int* x, atomic_int* y, int* e) {
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 4, memory_order_acq_rel, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 3, memory_order_release);
}
exists (0:r0=1 /\\ 0:r1=0)
",
            ),
        ],
        qualifier: "",
    },
    // LLVM 215572: the order of a load is taken for its scope.
    Bug {
        name: "narrow",
        needs: &["clang-22"],
        fault: "SPIRV: an acquire load has too narrow a scope",
        profiles: ["clang-22-opencl-O2", "clang-22-opencl-O1"],
        forms: &[(
            "pointers",
            "C plain
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = 3;
  if (r0) r1 = *x;
}
exists (1:r0=1 /\\ 1:r1=0)
",
        )],
        qualifier: "",
    },
    // A load leaves its side of a release fence.
    Bug {
        name: "sunk",
        needs: &["clang-16", "clang-22"],
        fault: "RISCV: a plain load moves below a release fence",
        profiles: ["clang-22-riscv64-O2", "clang-16-riscv64-Os"],
        forms: &[(
            "pointers",
            "C sunk
{ c=1; }
P0 (atomic_int* x, int* d, int* c) {
  int r0 = 9;
  int k = *c;
  int t = *d;
  atomic_thread_fence(memory_order_release);
  if (k) {
    atomic_store_explicit(x, 1, memory_order_relaxed);
    r0 = t;
  }
}
P1 (atomic_int* x, int* d) {
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1) *d = 1;
}
exists (0:r0=1)
",
        )],
        qualifier: "",
    },
    // A store of a value that is put together from two becomes two stores.
    Bug {
        name: "split",
        needs: &["clang-19", "clang-22"],
        fault: "X86: an atomic store becomes several smaller ones",
        profiles: ["clang-22-x86_64-O2", "clang-19-x86_64-Os"],
        forms: &[(
            "globals",
            "C split
{ a=5; float b=1.5; }
P0 (_Atomic uint64_t* x, uint32_t* a, float* b) {
  uint32_t lo = *a;
  float f = *b + 1.0f;
  uint32_t hi;
  memcpy(&hi, &f, sizeof(hi));
  uint64_t v = (uint64_t)lo | ((uint64_t)hi << 0x20);
  atomic_store_explicit(x, v, memory_order_release);
}
P1 (_Atomic uint64_t* x) {
  uint64_t r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=5)
",
        )],
        qualifier: "",
    },
    // A compare-exchange that fails is not ordered behind an earlier store.
    Bug {
        name: "reordered",
        needs: &["clang-22"],
        fault: "PPC: a failing seq_cst compare-exchange does not order an earlier seq_cst store",
        profiles: ["clang-22-ppc64le-O2", "clang-22-ppc64le-O1"],
        forms: &[(
            "pointers",
            "C both
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 3, memory_order_seq_cst);
  int r0 = atomic_load_explicit(y, memory_order_seq_cst);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 6, memory_order_seq_cst);
  int r1 = 7;
  atomic_compare_exchange_strong_explicit(x, &r1, 8, memory_order_seq_cst, memory_order_seq_cst);
}
exists (0:r0=0 /\\ 1:r1=0)
",
        )],
        qualifier: "",
    },
    // A thread reads what it wrote before it handed the object over. Two orders of the writes lead to the
    // outcome, and only one of them is that of the code.
    Bug {
        name: "own",
        needs: &["clang-19", "clang-22"],
        fault: "AArch64: a plain load behind an acquire load is removed",
        profiles: ["clang-22-aarch64-O2", "clang-19-aarch64-O2"],
        forms: &[(
            "globals",
            "C own
{ struct S s; }
struct S { int x; atomic_int f; atomic_int g; };
P0 (struct S* s) {
  int r2 = 3;
  s->x = r2;
  atomic_store_explicit(&s->g, 1, memory_order_release);
  int r0 = atomic_load_explicit(&s->f, memory_order_acquire);
  int r1 = 4;
  if (r0) r1 = s->x;
}
P1 (struct S* s) {
  int r3 = atomic_load_explicit(&s->g, memory_order_acquire);
  if (r3) { s->x = 2; atomic_store_explicit(&s->f, 1, memory_order_release); }
}
exists (0:r0=1 /\\ 0:r1=3 /\\ 0:r2=3)
",
        )],
        qualifier: "",
    },
    // A load from an object that nothing writes is made of instructions that write.
    Bug {
        name: "constant",
        needs: &["clang-14", "clang-16"],
        fault: "X86: a load writes to what it reads",
        profiles: ["clang-14-x86_64-cx16-O2", "clang-16-x86_64-cx16-O1"],
        forms: &[
            (
                "pointers",
                "C constant
{ k=7; }
P0 (_Atomic __int128* k) { __int128 r0 = atomic_load_explicit(k, memory_order_seq_cst); }
exists (not (0:r0=7))
",
            ),
            (
                "globals",
                "C other
{ limit=3; }
P0 (_Atomic __int128* limit) { __int128 got = atomic_load_explicit(limit, memory_order_acquire); }
exists (not (0:got=3))
",
            ),
        ],
        qualifier: "",
    },
];

/// Replaces the words of a text. A word is made of letters, digits and underscores.
fn by_word(text: &str, replace: impl Fn(&str, char) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(start) = rest.find(is_part) {
        let length = rest[start..].find(|c| !is_part(c)).unwrap_or(rest.len() - start);
        let (word, after) = rest[start..].split_at(length);
        out += &rest[..start];
        out += &replace(word, after.chars().next().unwrap_or(' ')).unwrap_or(word.to_string());
        rest = after;
    }
    out + rest
}

/// The same test with other names of locations and locals.
fn renamed(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_type = |w: &str| {
        let bare = w.trim_start_matches('(').trim_end_matches('*');
        ["int", "long", "atomic_int", "atomic_long", "__int128", "S", "T"].contains(&bare)
    };
    let bare = |w: &str| w.trim_end_matches([',', ')', ';']).to_string();
    let names: BTreeSet<String> =
        words.windows(2).filter(|w| is_type(w[0])).map(|w| bare(w[1])).collect();
    by_word(text, |word, _| names.contains(word).then(|| format!("{word}_other")))
}

/// The same test with other values than 0. Numbers before a colon are threads.
fn with_other_values(text: &str) -> String {
    by_word(text, |word, after| match word.parse::<u64>() {
        Ok(n) if n > 0 && after != ':' => Some((n + 10).to_string()),
        _ => None,
    })
}

/// The same test with the other width of integers.
fn with_other_widths(text: &str) -> String {
    by_word(text, |word, _| {
        let turned = match word {
            "int" => "long",
            "long" => "int",
            "atomic_int" => "atomic_long",
            "atomic_long" => "atomic_int",
            _ => return None,
        };
        Some(turned.to_string())
    })
}

/// The same test with its threads in the other order.
fn turned(text: &str) -> String {
    by_word(text, |word, after| match (word, after) {
        ("P0", _) => Some("P1".into()),
        ("P1", _) if text.contains("P0 (") => Some("P0".into()),
        ("0", ':') => Some("1".into()),
        ("1", ':') => Some("0".into()),
        _ => None,
    })
}

/// A form and its variants. A test of one thread has no other order, and 128 bits have no other width.
fn variants(form: &str) -> Vec<String> {
    let mut out = vec![form.to_string(), renamed(form), with_other_values(form)];
    if form.contains("P1 (") {
        out.push(in_order(&turned(form)));
    }
    let wide = with_other_widths(form);
    if wide != form {
        out.push(wide);
    }
    out
}

/// A test whose first thread is `P1`, with its threads in their order.
fn in_order(text: &str) -> String {
    let (head, rest) = text.split_once("P1 (").unwrap();
    let (second, rest) = rest.split_once("P0 (").unwrap();
    let (first, end) = rest.split_once("exists").unwrap();
    format!("{head}P0 ({first}P1 ({second}exists{end}")
}

/// The findings of a check, with arguments.
fn checked(s: &Scratch, args: &[&str]) -> Value {
    let (_, report) = s.json(&[&["check", "-q", "--json"], args].concat());
    report
}

fn ids(report: &Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["id"].as_str().unwrap().to_string()).collect()
}

fn here(bug: &Bug) -> bool {
    bug.needs.iter().all(|compiler| litmake_needs::here(compiler))
}

/// The id of each bug that can be shown here. The whole tests tell it, without reduction. Each form is also
/// tried with other names, values and widths, and with its threads in another order.
#[test]
fn each_bug_has_one_identity_in_all_its_forms_and_no_two_share_one() {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for bug in BUGS.iter().filter(|bug| here(bug)) {
        let s = Scratch::with(&[]);
        let mut own = BTreeSet::new();
        for storage in ["pointers", "globals"] {
            let mut args = vec!["--investigate", "0", "--storage", storage];
            args.extend(bug.profiles.iter().flat_map(|p| ["--profile", p]));
            let mut names = Vec::new();
            for n in (0..bug.forms.len()).filter(|n| bug.forms[*n].0 == storage) {
                for (v, form) in variants(&bug.form(n).1).iter().enumerate() {
                    names.push(format!("{storage}{n}-{v}.litmus"));
                    s.write(&names[names.len() - 1], form);
                }
            }
            if names.is_empty() {
                continue;
            }
            args.extend(names.iter().map(String::as_str));
            let report = checked(&s, &args);
            let count: u64 = report["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| f["count"].as_u64().unwrap())
                .sum();
            let expected = (names.len() * bug.profiles.len()) as u64;
            assert_eq!(count, expected, "{} {storage}: each shows it: {report:#}", bug.name);
            own.extend(ids(&report));
        }
        assert_eq!(own.len(), 1, "{}: {own:?}", bug.name);
        for id in own {
            assert_eq!(known.insert(id, bug.name), None, "two bugs have one identity");
        }
    }
}

/// What reduction finds, what folders and scripts say, and what titles say, is the same bug.
#[test]
fn a_reduced_bug_is_the_one_that_was_found_and_says_its_fault() {
    for bug in BUGS.iter().filter(|bug| here(bug)) {
        let (storage, form) = bug.form(0);
        let s = Scratch::among(bug.needs, &[("a.litmus", &form)]);
        let how = ["--storage", storage, "--profile", bug.profiles[0]];
        let whole = checked(&s, &[&how[..], &["--investigate", "0", "a.litmus"]].concat());
        let reduced = checked(&s, &[&how[..], &["--findings", "found", "a.litmus"]].concat());
        assert_eq!(ids(&whole), ids(&reduced), "{}: {reduced:#}", bug.name);
        let finding = &reduced["findings"][0];
        let id = finding["id"].as_str().unwrap();
        let folder = finding["folder"].as_str().unwrap();
        assert!(folder.ends_with(id), "{folder} {id}");
        let (_, said, _) = streams(&mut s.shell(&[&format!("{folder}/repro.sh")]));
        assert!(said.contains(&format!("({id})")), "{}: {said}", bug.name);
        let issue = s.read(&format!("{folder}/issue.md"));
        let title = issue.lines().next().unwrap_or_default().to_string();
        assert!(said.contains(bug.fault) || title.contains(bug.fault), "{title}\n{said}");
    }
}

/// The pass that did it is in the title and in the identity where the code is right without it.
#[test]
fn a_pass_that_is_shown_is_part_of_title_and_identity() {
    let shown = [
        ("pair", "aarch64-ldst-opt"),
        ("unread", "InstCombinePass"),
        ("dropped", "aarch64-dead-defs"),
        ("idempotent", "InstCombinePass"),
        ("reordered", "atomic-expand"),
        ("constant", "atomic-expand"),
    ];
    for (name, pass) in shown {
        let Some(bug) = BUGS.iter().find(|bug| bug.name == name).filter(|bug| here(bug)) else {
            continue;
        };
        let (storage, form) = bug.form(0);
        let s = Scratch::with(&[("a.litmus", &form)]);
        let check = |more: &[&str]| {
            let how = ["--investigate", "0", "--storage", storage, "--profile", bug.profiles[0]];
            checked(&s, &[&how[..], more, &["a.litmus"]].concat())["findings"][0].clone()
        };
        let (without, with) = (check(&[]), check(&["--passes", "--findings", "found"]));
        assert_eq!(with["mechanism"]["pass"], pass, "{name}: {with:#}");
        assert_eq!(with["pass"]["sure"], "shown", "{name}: {with:#}");
        assert_ne!(with["id"], without["id"]);
        assert_eq!(with["forms"], serde_json::json!([without["id"]]));
        let folder = with["folder"].as_str().unwrap();
        let title = s.read(&format!("{folder}/issue.md"));
        let title = title.lines().next().unwrap_or_default().to_string();
        assert!(title.ends_with(&format!(" ({pass})")), "{title}");
        let (_, said, _) = streams(&mut s.shell(&[&format!("{folder}/repro.sh")]));
        assert!(said.contains(with["id"].as_str().unwrap()), "{name}: {said}");
    }
}

/// A baseline with any one bug leaves the others new.
#[test]
fn a_known_bug_hides_no_other() {
    let all: Vec<&Bug> = BUGS.iter().filter(|bug| here(bug)).collect();
    let reports: Vec<Report> = all
        .iter()
        .map(|bug| {
            let (storage, form) = bug.form(0);
            let s = Scratch::with(&[("a.litmus", &form)]);
            let how = ["--investigate", "0", "--storage", storage, "--profile", bug.profiles[0]];
            serde_json::from_value(checked(&s, &[&how[..], &["a.litmus"]].concat())).unwrap()
        })
        .collect();
    for (bug, known) in all.iter().zip(&reports) {
        let baseline = Baseline::default().update(known);
        for (other, report) in all.iter().zip(&reports) {
            let mut report = report.clone();
            // What a baseline has and a run did not look for is no finding of the run.
            baseline.apply(&mut report, |_, _| Seen::Nothing);
            let statuses: Vec<Status> = report.findings.iter().map(|f| f.status).collect();
            let expected = if bug.name == other.name { Status::Known } else { Status::New };
            assert_eq!(statuses, [expected], "{} with {}", other.name, bug.name);
        }
    }
}
