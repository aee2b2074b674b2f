//! Control flow, order of evaluation, names and helper functions.

use std::sync::Arc;

use super::*;

fn with(list: &[(&'static str, u128)]) -> Vec<(&'static str, Val)> {
    list.iter().map(|(n, v)| (*n, Val::Int(*v))).collect()
}

#[test]
fn control_flow() {
    let text = "P0(int* x) {
      int sum = 0;
      for (int i = 0; i < 10; i++) {
        if (i == 2) continue;
        if (i > 6) break;
        sum += i;
      }
      int n = 0;
      while (1) { if (++n >= 4) break; }
      int d = 0;
      do d += 2; while (d < 5 && *x);
      int e = 0;
      again: e++;
      if (e < 3) goto again;
      int f;
      if (*x == 1) f = 1; else if (*x == 2) f = 2; else f = 3;
      return;
      f = 9;
    }";
    let out = run_once(text, &with(&[("x", 2)]));
    let values = ["sum", "n", "d", "e", "f"].map(|r| out.reg(r));
    assert_eq!(values, [19, 4, 6, 3, 2]);
    let out = run_once(text, &with(&[("x", 0)]));
    assert_eq!(["d", "f"].map(|r| out.reg(r)), [2, 3]);
}

/// Operands that `&&`, `||` and `?:` skip have no effect.
#[test]
fn short_circuit() {
    let text = "P0(int* x, int* y, int* z) {
      int a = *x && *y;
      int b = *x || *y;
      int c = *x ? *y : (*z = 7);
      if (*x && !*y || *z) { *z = 8; }
    }";
    let out = run_once(text, &with(&[("x", 0), ("y", 5)]));
    assert_eq!(out.trace(), "R x; R x; R y; R x; W z; R x; R z; W z");
    assert_eq!(["a", "b", "c"].map(|r| out.reg(r)), [0, 1, 7]);
    let out = run_once(text, &with(&[("x", 3), ("y", 5)]));
    assert_eq!(out.trace(), "R x; R y; R x; R x; R y; R x; R y; R z");
    assert_eq!(["a", "b", "c"].map(|r| out.reg(r)), [1, 1, 5]);
}

/// Nothing branches where only locals are computed with.
#[test]
fn pure_conditions_do_not_branch() {
    let code = lower("P0() { int a = 1; int b = a && a > 0 || !a; int c = a ? b : a + 1; }");
    let branches = code
        .insts
        .iter()
        .flat_map(|i| &i.ops)
        .filter(|o| matches!(o, Op::Branch { .. } | Op::Jump { .. }));
    assert_eq!(branches.count(), 0);
}

/// Events in one instruction are unordered; the others are in order.
#[test]
fn order_of_evaluation() {
    let steps = |text: &str| -> Vec<(String, usize)> {
        let out = run_once(text, &[]);
        let first = out.events.first().map_or(0, |e| e.step);
        let event = |e: &Event| (format!("{} {}", e.what, e.place), e.step - first);
        out.events.iter().map(event).collect()
    };
    let is = |list: &[(&str, usize)]| -> Vec<(String, usize)> {
        list.iter().map(|(e, s)| (e.to_string(), *s)).collect()
    };
    // C leaves the two reads unsequenced; the write comes after both.
    assert_eq!(
        steps("P0(int* x, int* y, int* z) { *z = *x + *y; }"),
        is(&[("R x", 0), ("R y", 0), ("W z", 1)])
    );
    assert_eq!(
        steps("P0(atomic_int* x, atomic_int* y) { atomic_store(x, atomic_load(y) | 1); }"),
        is(&[("R y", 0), ("W x", 1)])
    );
    assert_eq!(
        steps("P0(atomic_int* x, atomic_int* y) { *x += *y; }"),
        is(&[("R y", 0), ("U x", 1)])
    );
    assert_eq!(steps("P0(int* x, int* y) { int a = (*x, *y); }"), is(&[("R x", 0), ("R y", 1)]));
    assert_eq!(
        steps("P0(int* x, int* y, int* z) { *x = *y = *z; }"),
        is(&[("R z", 0), ("W y", 1), ("W x", 2)])
    );
}

#[test]
fn a_branch_is_an_instruction_of_its_own() {
    let code = lower("P0(int* x, int* y) { if (*x == 1) *y = 1; }");
    let shape: Vec<&str> = code
        .insts
        .iter()
        .map(|i| {
            let has = |f: &dyn Fn(&Op) -> bool| i.ops.iter().any(f);
            match () {
                () if has(&|o| matches!(o, Op::Load { .. })) => "load",
                () if has(&|o| matches!(o, Op::Store { .. })) => "store",
                () if has(&|o| matches!(o, Op::Branch { .. })) => "branch",
                () => "other",
            }
        })
        .collect();
    assert_eq!(shape, ["load", "branch", "store"]);
}

#[test]
fn names_of_registers() {
    // The function's own variable has the plain name, wherever it stands.
    let out = run_once("P0() { { int a = 1; } int a = 2; { int a = 3; } }", &[]);
    assert_eq!(out.reg("a"), 2);
    // Without one, those that do not shadow one another share it.
    let text = "P0(int* x) { if (*x) { int a = 1; } else { int a = 2; { int a = 5; } } }";
    assert_eq!(run_once(text, &[]).reg("a"), 2);
    assert_eq!(run_once(text, &with(&[("x", 1)])).reg("a"), 1);
    // Unless their types differ.
    let out = run_once("P0() { { int a = -1; } { unsigned char a = 7; } }", &[]);
    assert_eq!(out.reg("a"), -1);
    let code = lower("P0(int* x) { uint8_t a; __int128 b; int* c; bool d; }");
    let info = |n: &str| {
        let r = code.regs.iter().find(|r| r.name == n);
        r.map(|r| (r.bits, r.signed))
    };
    assert_eq!(
        ["a", "b", "c", "d", "x"].map(info),
        [(8, false), (128, true), (64, false), (8, false), (64, false)].map(Some)
    );
}

#[test]
fn locals_begin_at_zero() {
    let out = run_once("P0() { int a; int b = a + 1; }", &[]);
    assert_eq!((out.reg("a"), out.reg("b")), (0, 1));
}

#[test]
fn helper_functions() {
    let texts = [
        "P0(atomic_int* x, int* y) { int r = 1; int s = get(x, 4) + get(x, 5); set(&r, y); \
         int* p = &r; *p += 100; }",
        "static inline int get(atomic_int* p, int d) { int r = atomic_load(p); \
         if (r == 0) return d; return twice(r) + d; }",
        "int twice(int a) { a += a; return a; }",
        "void set(int* to, int* from) { *to = *from; *from = 3; }",
    ];
    let (code, names) = lower_with(&texts, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let out = run(&code, &names, &with(&[("x", 0), ("y", 8)])).remove(0);
    assert_eq!((out.reg("r"), out.reg("s"), out.mem("y")), (108, 9, 3));
    assert_eq!(out.trace(), "R x; R x; R y; W y");
    let out = run(&code, &names, &with(&[("x", 10)])).remove(0);
    assert_eq!(out.reg("s"), 49);
}

#[test]
fn functions_may_call_themselves() {
    let texts = [
        "P0(int* x) { int r = sum(3, x); int s = even(3); }",
        "int sum(int n, int* x) { if (n == 0) return *x; return n + sum(n - 1, x); }",
        "int even(int n) { if (n == 0) return 1; return odd(n - 1); }",
        "int odd(int n) { if (n == 0) return 0; return even(n - 1); }",
    ];
    let (code, names) = lower_with(&texts, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let out = run(&code, &names, &with(&[("x", 10)])).remove(0);
    assert_eq!((out.reg("r"), out.reg("s")), (16, 0));
    assert_eq!(out.trace(), "R x");
}

#[test]
fn helpers_are_bounded() {
    assert!(refusal(&["P0() { f(1); }", "void f() {}"]).contains("takes 0 arguments, found 1"));
    // Each calls the next one a hundred times, and none does anything.
    let mut texts = vec!["P0() { f0(); }".to_string()];
    for i in 0..8 {
        texts.push(format!("void f{i}() {{ {} }}", format!("f{}();", i + 1).repeat(100)));
    }
    texts.push("void f8() {}".to_string());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert!(refusal(&texts).contains("too many calls of helper functions"));
}

/// C leaves undefined what a caller gets where there is no `return`.
#[test]
fn helpers_return_the_values_that_they_have() {
    let with = |body: &str| format!("int f(int a) {{ {body} }}");
    for body in [
        "",
        "if (a) return 1;",
        "if (a) return 1; else a = 2;",
        "while (1) { if (a) break; return 2; }",
        "while (a) return 1;",
    ] {
        let got = refusal(&["P0() { int r = f(1); }", &with(body)]);
        assert!(got.contains("`f` can reach its end without returning a value"), "{body}: {got}");
    }
    for body in [
        "return a;",
        "if (a) return 1; else { a = 2; return a; }",
        "while (1) { if (a) return 2; }",
        "for (;;) { while (a) break; return 1; }",
        "do { return 1; } while (a);",
        "end: if (a == 1) { a = 2; goto end; } return a;",
    ] {
        let texts = ["P0() { int r = f(1); }".to_string(), with(body)];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        lower_with(&texts, Options::default()).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
}

#[test]
fn refused_statements() {
    for (body, message) in [
        ("break;", "there is no loop around this"),
        ("goto a;", "there is no label `a` in this function"),
        ("a: ; a: ;", "label `a` is placed twice"),
        ("int a; int a;", "`a` is declared twice in one block"),
        ("float a[2];", "variables of type `float [2]` are not supported"),
        ("int a[2] = {1, 2, 3};", "`a` has 2 elements"),
        ("int a = {1};", "only arrays and structures start with a list"),
        ("struct s t;", "variables of type `struct s` are not supported"),
        ("int q = *p;", "`p` is not declared here"),
    ] {
        let got = refusal(&[&format!("P0(int* x) {{ {body} }}")]);
        assert!(got.contains(&format!("error: {message}")), "{body}: {got}");
    }
}

#[test]
fn locations_are_declared_with_their_types() {
    let (code, names) = lower_with(
        &["P0(const atomic_bool* x, volatile uint64_t* y, int n, int z[]) { }"],
        Options::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let byte = Type::Int { bytes: 1, signed: false };
    assert_eq!(
        names.0,
        [
            ("x".to_string(), Type::Const(Arc::new(Type::Atomic(Arc::new(byte))))),
            ("y".to_string(), Type::Volatile(Arc::new(Type::Int { bytes: 8, signed: false }))),
            ("z".to_string(), Type::INT),
        ]
    );
    let names_of: Vec<&str> =
        code.reg_init.iter().map(|(r, _)| code.regs[*r as usize].name.as_str()).collect();
    assert_eq!(names_of, ["x", "y", "z"]);
}
