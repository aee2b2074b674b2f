//! Emission as C.

use super::super::emit::{EmitOptions, Storage, emit_body, emit_c, observed_locals};
use super::super::outline::outline;
use super::*;
use litmake_litmus::c::{parse_type, print_function};
use litmake_litmus::{
    Arch, Body, CmpOp, Condition, InitItem, InitValue, Operand, Place, Prop, Quantifier, Test,
    Value,
};

fn reg(thread: usize, name: &str) -> Prop {
    let place = Place::Reg { thread, name: name.to_string() };
    Prop::Cmp(place, CmpOp::Eq, Operand::Value(Value::Int(1)))
}

fn test(threads: &[&str], helpers: &[&str], prop: Prop) -> Test {
    let function = |t: &&str| parse(t).unwrap_or_else(|e| panic!("{e}"));
    Test {
        arch: Arch::C,
        name: "t".to_string(),
        doc: None,
        info: Vec::new(),
        init: vec![InitItem {
            place: Place::Mem { name: "y".to_string(), index: None },
            ty: None,
            value: Some(InitValue::One(Value::Int(-3))),
            span: Span::default(),
        }],
        threads: threads.iter().map(|t| Body::C(function(t))).collect(),
        helpers: helpers.iter().map(function).collect(),
        scopes: None,
        locations: Vec::new(),
        filter: None,
        condition: Condition { quantifier: Quantifier::Exists, prop, span: Span::default() },
        source: source("").0,
    }
}

#[test]
fn a_test_with_parameters() {
    let t = test(
        &[
            "P0(atomic_int* x, volatile int* y) { *x = 1; int r0 = get(x); if (r0) { int r1 = *y; } }",
            "P1(atomic_int* y, int* e) { atomic_compare_exchange_weak(y, e, 1); return; }",
        ],
        &["int get(atomic_int* p) { return atomic_load_explicit(p, memory_order_acquire); }"],
        Prop::And(vec![reg(0, "r0"), reg(0, "r1"), reg(1, "none")]),
    );
    let options = EmitOptions {
        observe: observed_locals(&t),
        prefix: "t7_".to_string(),
        ..EmitOptions::default()
    };
    assert_eq!(
        emit_c(&t, &options),
        "#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static __attribute__((noinline)) int t7_get(atomic_int *p);

static __attribute__((noinline)) int t7_get(atomic_int *p) {
  return atomic_load_explicit(p, memory_order_acquire);
}

void t7_P0(atomic_int *x, volatile int *y, int *out_P0_r0, int *out_P0_r1) {
  int r1 = 0;
  *x = 1;
  int r0 = t7_get(x);
  if (r0) {
    r1 = *y;
  }
  *out_P0_r0 = r0;
  *out_P0_r1 = r1;
}

void t7_P1(atomic_int *y, int *e) {
  atomic_compare_exchange_weak(y, e, 1);
  return;
}
"
    );
}

#[test]
fn a_test_with_variables() {
    let t = test(
        &[
            "P0(int* x, atomic_int* y) { int r0; if (!*x) return; r0 = atomic_load(x); }",
            "P1(_Atomic __int128* x) { atomic_store(x, 0x10000000000000002); }",
        ],
        &[],
        reg(0, "r0"),
    );
    let mut options = EmitOptions {
        storage: Storage::Globals,
        observe: observed_locals(&t),
        ..EmitOptions::default()
    };
    let text = emit_c(&t, &options);
    assert_eq!(
        text.split_once("\n\n").map(|(_, t)| t),
        Some(
            "_Atomic __int128 loc_x;
atomic_int loc_y = -3;

void P0(int *out_P0_r0) {
  int *x = (int *)&loc_x;
  atomic_int *y = (atomic_int *)&loc_y;
  int r0 = 0;
  r0 = 0;
  if (!*x)
    goto end_P0;
  r0 = atomic_load((atomic_int *)x);
  end_P0:
  *out_P0_r0 = r0;
}

void P1() {
  _Atomic __int128 *x = (_Atomic __int128 *)&loc_x;
  atomic_store(x, (__int128)((__uint128_t)0x1ul << 64 | 0x2ul));
}
"
        )
    );
    options.storage = Storage::Statics;
    let text = emit_c(&t, &options);
    for line in [
        "static atomic_int loc_y = -3;",
        "int get_loc_y(void) { return *(int *)&loc_y; }",
        "void set_loc_y(int v) { *(int *)&loc_y = v; }",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{text}");
    }
}

#[test]
fn operations_in_functions_of_their_own() {
    let t = test(
        &["P0(int* x, atomic_int* y) {
               int e = 0;
               int r0 = atomic_load_explicit(y, memory_order_acquire) + *x;
               atomic_thread_fence(memory_order_seq_cst);
               if (atomic_compare_exchange_strong(y, &e, r0)) atomic_store(y, r0 + 1);
             }"],
        &[],
        reg(0, "r0"),
    );
    let functions = |variables: bool| -> Vec<String> {
        let out = outline(&t, variables);
        let threads = out.threads.iter().filter_map(|b| match b {
            Body::C(f) => Some(f),
            _ => None,
        });
        threads.chain(&out.helpers).map(print_function).collect()
    };
    assert_eq!(
        functions(false).concat(),
        "P0(int *x, atomic_int *y) {
  int e = 0;
  int r0 = do_P0_0(y) + *x;
  do_P0_1();
  if (do_P0_2(y, &e, r0))
    do_P0_3(y, r0 + 1);
}
int do_P0_0(atomic_int *y) {
  return atomic_load_explicit(y, memory_order_acquire);
}
void do_P0_1() {
  atomic_thread_fence(memory_order_seq_cst);
}
int do_P0_2(atomic_int *y, int *e, int r0) {
  return atomic_compare_exchange_strong(y, e, r0);
}
void do_P0_3(atomic_int *y, int value_1) {
  atomic_store(y, value_1);
}
"
    );
    let named = functions(true).concat();
    assert!(named.contains("do_P0_0() + *x") && named.contains("do_P0_2(&e, r0)"), "{named}");
}

/// A helper names a location by the type that its thread has for it, or is handed it.
#[test]
fn helpers_see_locations_as_their_threads_do() {
    let mut t = test(
        &[
            "P0(atomic_int* x, atomic_int* s) { atomic_store(s + 1, 1); atomic_store(s, 1); }",
            "P1(atomic_short* x) { int r0 = atomic_load(x); }",
            "P2(atomic_int* x) { int r0 = atomic_load(x); }",
        ],
        &[],
        reg(2, "r0"),
    );
    let (array, span) = source("atomic_int[2]");
    t.init.push(InitItem {
        place: Place::Mem { name: "s".to_string(), index: None },
        ty: Some(parse_type(&array, span).unwrap_or_else(|e| panic!("{e}"))),
        value: None,
        span: Span::default(),
    });
    let options = EmitOptions { storage: Storage::Statics, ..EmitOptions::default() };
    let text = emit_c(&outline(&t, true), &options);
    for part in [
        "\n_Alignas(16) static atomic_int loc_s[2];\n",
        "atomic_int *s = (atomic_int *)&loc_s;\n  atomic_store(s, 1);",
        "do_P1_1(_Atomic int16_t *x) {\n  return atomic_load(x);",
        "do_P2_2(void) {\n  atomic_int *x = (atomic_int *)&loc_x;\n  return atomic_load(x);",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn operations_get_the_types_that_compilers_want() {
    let options = EmitOptions::default();
    for (ty, statement, expected) in [
        ("int", "atomic_store(x, 1);", "atomic_store((atomic_int *)x, 1);"),
        ("volatile int", "atomic_load(x);", "atomic_load((volatile atomic_int *)x);"),
        ("atomic_int", "int a = *(x + 1);", "int a = *(x + 1);"),
        ("atomic_int", "x[1] = 2;", "x[1] = 2;"),
        ("atomic_int", "*x = *y;", "*x = *y;"),
        ("atomic_int", "*x += 2;", "*x += 2;"),
        ("atomic_int", "atomic_load(&*x);", "atomic_load(x);"),
        (
            "atomic_int",
            "__atomic_load_n(x, __ATOMIC_RELAXED);",
            "__atomic_load_n((int *)x, __ATOMIC_RELAXED);",
        ),
        (
            "atomic_int",
            "SCAS(y, x, 1);",
            "atomic_compare_exchange_strong((atomic_int *)y, (int *)x, 1);",
        ),
        ("atomic_flag", "atomic_flag_clear(x);", "atomic_flag_clear((atomic_flag *)x);"),
    ] {
        let f = parse(&format!("P0({ty}* x, int* y) {{ {statement} }}"));
        let f = f.unwrap_or_else(|e| panic!("{e}"));
        let text = emit_body(&f, "body", &[], &options);
        let body = text.lines().nth(1).unwrap_or("").trim().to_string();
        assert_eq!(body, expected);
    }
    let called = EmitOptions { calls: true, ..options };
    for (statement, expected) in [
        ("*x = 1;", "atomic_store(x, 1);"),
        ("y[1] = *x;", "atomic_store(&y[1], atomic_load(x));"),
        ("int r = (*x)++;", "int r = atomic_fetch_add(x, 1);"),
        ("int r = --*x;", "int r = (int)(atomic_fetch_sub(x, 1) - 1);"),
        ("*x |= 2;", "(int)(atomic_fetch_or(x, 2) | 2);"),
        ("*x *= 2;", "*x *= 2;"),
        ("*z = *x;", "*z = atomic_load(x);"),
    ] {
        let f = parse(&format!("P0(atomic_int* x, atomic_int* y, int* z) {{ {statement} }}"));
        let text = emit_body(&f.unwrap_or_else(|e| panic!("{e}")), "f", &[], &called);
        assert_eq!(text.lines().nth(1).unwrap_or("").trim(), expected);
    }
}

/// A variable that functions name is a static of the unit; one that the condition names has accessors, so that
/// code outside of the unit reads it.
#[test]
fn variables_that_functions_name_are_statics() {
    let text = "C t\n{ int d = 3; atomic_int f; }\nint get(int i) { if (i) { return d; } return d++; }\n\
                P0() { int r0 = get(1); atomic_store(&f, 1); }\nexists (0:r0=1)\n";
    let test = litmake_litmus::read(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"));
    let options = EmitOptions { prefix: "t_".into(), ..EmitOptions::default() };
    let out = emit_c(&test, &options);
    for line in [
        "static int t_loc_d = 3;",
        "static atomic_int t_loc_f;",
        "return t_loc_d;",
        "return t_loc_d++;",
        "atomic_store(&t_loc_f, 1);",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(!out.contains("get_t_loc"), "{out}");
    let text = text.replace("0:r0=1", "d=1");
    let test = litmake_litmus::read(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"));
    let out = emit_c(&test, &options);
    assert!(out.contains("int get_t_loc_d(void)") && !out.contains("get_t_loc_f"), "{out}");
}
