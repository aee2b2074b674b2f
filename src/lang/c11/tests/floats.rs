//! Floating point: conversions and arithmetic against Rust's, which are IEEE's, and what is refused.

use super::super::emit::{EmitOptions, Storage, emit_c};
use super::*;
use litmake_litmus as litmus;
use proptest::prelude::*;

/// The value of the local `r` after a body in which `i` is an `int`, `f` a `float` and `d` a `double`.
fn result(body: &str, i: i32, f: f32, d: f64) -> u128 {
    let text = format!(
        "P0(int* x, float* y, double* z) {{ int i = *x; float f = *y; double d = *z; {body} }}"
    );
    let (code, names) =
        lower_with(&[&text], Options::default()).unwrap_or_else(|e| panic!("{body}: {e}"));
    let memory = [
        ("x", Val::Int(i as u32 as u128)),
        ("y", Val::Int(f.to_bits().into())),
        ("z", Val::Int(d.to_bits().into())),
    ];
    let out = run(&code, &names, &memory);
    assert_eq!(out.len(), 1, "{body}");
    match out[0].regs.get("r") {
        Some(Val::Int(n)) => *n,
        other => panic!("{body}: {other:?}"),
    }
}

fn single(x: f32) -> u128 {
    x.to_bits().into()
}

fn double(x: f64) -> u128 {
    x.to_bits().into()
}

proptest! {
    #[test]
    fn numbers_are_computed_as_rust_does(i: i32, f in -1e30f32..1e30, d in -1e300f64..1e300) {
        for (body, wanted) in [
            ("float r = i;", single(i as f32)),
            ("double r = i;", double(f64::from(i))),
            ("double r = (unsigned)i;", double(f64::from(i as u32))),
            ("float r = (uint64_t)(int64_t)i;", single(i64::from(i) as u64 as f32)),
            ("double r = f;", double(f64::from(f))),
            ("float r = d;", single(d as f32)),
            ("float r = f + f;", single(f + f)),
            // The usual conversions: to the wider, and from integers.
            ("double r = f + d;", double(f64::from(f) + d)),
            ("float r = f - i;", single(f - i as f32)),
            ("double r = d * i;", double(d * f64::from(i))),
            ("float r = f / 3;", single(f / 3.0)),
            ("float r = -f;", single(-f)),
            ("float r = f; r += 0.1;", single((f64::from(f) + 0.1) as f32)),
            ("float r = f; r++;", single(f + 1.0)),
            ("int r = f < d;", u128::from(f64::from(f) < d)),
            ("int r = f >= i;", u128::from(f >= i as f32)),
            ("int r = f != f;", 0),
            ("int r = f == 1.5f;", u128::from(f == 1.5)),
            ("int r = !f;", u128::from(f == 0.0)),
            ("float r = i ? f : 2;", single(if i != 0 { f } else { 2.0 })),
            ("_Bool r = 0.1f;", 1),
            ("uint32_t r; memcpy(&r, &f, sizeof(r));", single(f)),
            ("double r; uint64_t u; memcpy(&u, &d, 8); memcpy(&r, &u, 8);", double(d)),
            ("uint32_t r; __builtin_memcpy(&r, y, 4);", single(f)),
        ] {
            prop_assert_eq!(result(body, i, f, d), wanted, "{}", body);
        }
        let small = f % 1e9;
        let cut = result("int r = f;", 0, small, 0.0) as u32 as i32;
        prop_assert_eq!(cut, small as i32);
    }
}

/// A condition asks whether a number is zero, and not whether its bits are.
#[test]
fn minus_zero_is_false() {
    for body in [
        "int r = 1; if (f) r = 2;",
        "int r = f ? 2 : 1;",
        "int r = !(f && i) + !f - 1;",
        "_Bool b = f; int r = 1 + b;",
        "int r = 1; while (f) { r = 2; break; }",
    ] {
        assert_eq!(result(body, 1, -0.0, 0.0), 1, "{body}");
    }
}

#[test]
fn refused() {
    for (body, message) in [
        ("int r = ~f;", "this operator takes an integer"),
        ("int r = f % 2;", "`%` takes integers"),
        ("int r = i << f;", "`<<` takes integers"),
        ("int r = *(x + f);", "does not take pointers"),
        ("__int128 r = f;", "a conversion from `float` to `__int128` is not supported"),
        ("int *p = (int *)f;", "a conversion from `float` to `int *` is not supported"),
        ("atomic_fetch_add(a, 1.0f);", "C has no `atomic_fetch_` operations on numbers"),
        ("memcpy(&f, &f, 2);", "`memcpy` of part of an object is not supported"),
        ("double d; memcpy(&d, &f, 8);", "`memcpy` of part of an object is not supported"),
        ("memcpy(&f, a, 4);", "`memcpy` of an atomic object is not supported"),
        ("float r = 1e999f;", "`1e999f` is no number that `float` has"),
        ("float r = 1.0q;", "`q` is no suffix of a number in floating point"),
        ("double long r;", "this is no type"),
    ] {
        let text = format!("P0(int* x, _Atomic float* a) {{ int i; float f; {body} }}");
        let got = match parse(&text) {
            Err(e) => e.to_string(),
            Ok(_) => refusal(&[&text]),
        };
        assert!(got.contains(message), "{body}: {got}");
    }
}

#[test]
fn a_test_reads_back_and_reaches_the_compiler_as_it_was_written() {
    let text = "C t
{
 float x=1.5; double y=-0.1; float z[2]={1.0,0.0}; _Atomic float a;
}

P0(float *x, _Atomic float *a) {
  float r0 = *x + 0.1f;
  memcpy(x, &r0, 4);
  atomic_store_explicit(a, 1e10f, memory_order_release);
}

exists (0:r0=1065353216)
";
    let read = |text: &str| litmus::read(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"));
    let test = read(text);
    let again = litmus::write(&test);
    assert_eq!(litmus::write(&read(&again)), again);
    for part in
        ["float x=1.5f", "double y=-0.1", "float z[2]={1.0f,0.0f}", "*x + 0.1f", "10000000000.0f"]
    {
        assert!(again.contains(part), "no {part}: {again}");
    }
    let options = EmitOptions { storage: Storage::Globals, ..EmitOptions::default() };
    let c = emit_c(&test, &options);
    for part in [
        "float loc_x = 1.5f;",
        "double loc_y = -0.1;",
        "_Atomic float loc_a",
        "__builtin_memcpy(x, &r0, 4)",
    ] {
        assert!(c.contains(part), "no {part}: {c}");
    }
    let wrong = litmus::read(&Source::new("t", text.replace("1065353216", "1.0")));
    assert!(wrong.expect_err("bits").to_string().contains("0x3f800000"));
    let wrong = litmus::read(&Source::new("t", text.replace("=1.5;", "=x;")));
    assert!(wrong.expect_err("a number").to_string().contains("a number of type `float`"));
}
