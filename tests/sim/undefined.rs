//! Arithmetic that C leaves undefined: executions that do it make a test undefined, and leave its
//! outcomes as they are. What is undefined comes from C11 (6.5.5 to 6.5.7, 7.17.7.5).

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus;
use litmake::sim::{Engine, Model, Options, Outcomes, Simulator};

/// What a C test allows, which is the same by every engine.
fn outcomes(text: &str) -> Outcomes {
    let test = litmus::read(&Source::new("t.litmus", text.to_string())).unwrap();
    let plan = cat::load("rc11", &LoadOptions::new(test.arch)).unwrap();
    let model = Model::load(&plan).unwrap();
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        Simulator::default().simulate(&test, &model, &options).unwrap_or_else(|e| panic!("{e}"))
    };
    let found = run(Engine::Auto);
    for engine in [Engine::Enumerate, Engine::Solve, Engine::Exhaustive] {
        let other = run(engine);
        assert_eq!(found.states, other.states, "{engine:?}\n{text}");
        assert_eq!(found.undefined_by, other.undefined_by, "{engine:?}\n{text}");
        assert_eq!(found.undefined, other.undefined, "{engine:?}\n{text}");
    }
    found
}

/// The flags of a thread that works with `a`, which is 1 or what another thread stores.
fn flags(stored: &str, body: &str) -> Vec<String> {
    let text = format!(
        "C t
{{ x = 1; }}
P0(atomic_int *x) {{
  int a = atomic_load_explicit(x, memory_order_relaxed);
  {body}
}}
P1(atomic_int *x) {{ atomic_store_explicit(x, {stored}, memory_order_relaxed); }}
exists (x=1)
"
    );
    outcomes(&text).flags
}

#[test]
fn what_does_not_fit_is_undefined() {
    let overflow = ["signed-overflow"];
    let shift = ["undefined-shift"];
    for (stored, body, want) in [
        ("2147483647", "int r = a + 1;", &overflow[..]),
        ("2147483647", "a++;", &overflow),
        ("2147483647", "a += 1;", &overflow),
        ("-2147483647 - 1", "int r = a - 1;", &overflow),
        ("-2147483647 - 1", "int r = -a;", &overflow),
        ("65536", "int r = a * a;", &overflow),
        ("65535", "unsigned short b = a; int r = b * b;", &overflow),
        ("-2147483647 - 1", "int r = a / (a < 0 ? -1 : 1);", &overflow),
        ("-2147483647 - 1", "int r = a % (a < 0 ? -1 : 1);", &overflow),
        ("4", "long r = 0x4000000000000000l; r = r * a;", &overflow),
        ("2147483647", "if (a > 5) { int r = a + 1; }", &overflow),
        ("2147483647", "int r = a > 5 ? a + 1 : 0;", &overflow),
        ("0", "int r = 7 / a;", &["division-by-zero"]),
        ("0", "unsigned r = 7u % (unsigned)a;", &["division-by-zero"]),
        ("32", "int r = 1 << a;", &shift),
        ("31", "int r = 1 << a;", &shift),
        ("-1", "int r = a << 1;", &shift),
        ("-1", "unsigned r = 1u << a;", &shift),
        ("64", "unsigned long r = 1ul >> a;", &shift),
    ] {
        assert_eq!(flags(stored, body), want, "{stored}: {body}");
    }
}

#[test]
fn what_fits_or_wraps_is_defined() {
    for (stored, body) in [
        ("2147483646", "int r = a + 1;"),
        ("2147483647", "unsigned r = (unsigned)a + 1;"),
        ("2147483647", "unsigned r = a + 1u;"),
        ("2147483647", "char c = a; c++;"),
        ("65536", "long r = (long)a * a;"),
        ("2147483647", "if (a < 5) { int r = a + 1; }"),
        ("2147483647", "int r = a < 5 ? a + 1 : 0;"),
        ("2147483647", "int r = a > 5 ? 0 : a + 1;"),
        ("2147483647", "int r = a < 5 && a + 1;"),
        ("2147483647", "int r = a > 5 || a + 1;"),
        ("0", "int r = a != 0 ? 7 / a : 0;"),
        ("31", "unsigned r = 1u << a;"),
        ("30", "int r = 1 << a;"),
        ("-1", "int r = a >> 31;"),
        ("2147483647", "int r = atomic_fetch_add(x, 1);"),
        ("2147483647", "int r = __atomic_add_fetch(x, 1, __ATOMIC_RELAXED);"),
    ] {
        assert_eq!(flags(stored, body), [""; 0], "{stored}: {body}");
    }
}

#[test]
fn only_allowed_executions_count() {
    let text = |order: &str| {
        format!(
            "C t
{{ y = 2147483647; }}
P0(atomic_int *x, atomic_int *y) {{
  atomic_store_explicit(y, 1, memory_order_relaxed);
  atomic_store_explicit(x, 1, memory_order_{order});
}}
P1(atomic_int *x, atomic_int *y) {{
  if (atomic_load_explicit(x, memory_order_acquire)) {{
    int a = atomic_load_explicit(y, memory_order_relaxed);
    int r = a + 1;
  }}
}}
exists (1:r=0)
"
        )
    };
    let ordered = outcomes(&text("release"));
    assert!(!ordered.undefined, "{:?}", ordered.undefined_by);
    let relaxed = outcomes(&text("relaxed"));
    assert!(relaxed.undefined);
    assert_eq!(relaxed.undefined_by.as_deref(), Some("signed overflow in `int r = a + 1;`"));
    assert!(relaxed.states.iter().any(|s| s.iter().any(|(_, v)| v == "-2147483648")));
}
