//! Structures and unions of C tests: what their members hold, and what is refused. Where members lie is
//! that of the ABIs of 64-bit machines; the rest is C11 (6.5.2.3, 6.5.16.1, 6.7.2.1).

use crate::finals;

/// Every final state of a test that is not undefined.
fn states(text: &str) -> Result<Vec<String>, String> {
    let (states, undefined) = finals::states(text)?;
    assert!(!undefined, "{text}");
    Ok(states)
}

/// The final value of `r` after some code.
fn value(structs: &str, ty: &str, body: &str) -> Result<String, String> {
    let text = format!(
        "C t
{{ {ty} x; {ty} y; }}
{structs}
P0({ty} *x, {ty} *y, int *k) {{
  long r = 0;
  {body}
}}
exists (0:r=0)
"
    );
    let found = states(&text)?;
    assert_eq!(found.len(), 1, "{text}");
    Ok(found[0].trim_start_matches("0:r=").trim_end_matches(';').to_string())
}

#[test]
fn members_are_read_and_written() {
    let s = "struct I { short a; int b[2]; };\n\
             struct S { int8_t a; struct I in; _Atomic long c; const int d; uint8_t e; };";
    for (body, want) in [
        ("x->a = 5; r = x->a;", "5"),
        ("(*x).a = -1; r = x->a;", "-1"),
        ("x->e = -1; r = x->e;", "255"),
        (
            "x->a = 1; x->in.a = 2; x->in.b[1] = 3; x->e = 4; r = x->a + x->in.a * 10 + x->in.b[1] * 100;",
            "321",
        ),
        ("x->in.b[0] = 7; int *p = x->in.b; p[1] = 8; r = *p * 10 + x->in.b[1];", "78"),
        ("int *p = &x->in.b[1]; *p = 6; r = x->in.b[1];", "6"),
        ("atomic_store_explicit(&x->c, 9, memory_order_release); r = x->c;", "9"),
        ("x->c = 3; r = atomic_fetch_add(&x->c, 2) * 10; r = r + x->c;", "35"),
        ("x->a++; x->a += 4; r = x->a--;", "5"),
        ("x->a = 1; y->a = 2; r = x->a * 10 + y->a;", "12"),
        ("r = x->d;", "0"),
        // The members before `e`: 1 byte, 12 at 4, 8 at 16, 4 at 24.
        ("((uint8_t *)x)[28] = 4; r = x->e;", "4"),
        ("((int *)x)[2] = 5; r = x->in.b[0];", "5"),
        ("r = sizeof(struct S) * 100 + sizeof(x->in);", "3212"),
        ("x[0].a = 3; r = x->a;", "3"),
    ] {
        assert_eq!(value(s, "struct S", body).as_deref(), Ok(want), "{body}");
    }
}

#[test]
fn structures_are_copied_value_by_value() {
    let s = "struct I { short a; };\nstruct S { int8_t a; struct I in; int b[2]; };\n\
             static int sum(struct S *p) { return p->a * 10 + p->b; }";
    let plain = "struct S { int8_t a; short b; long c; };\n\
                 static int sum(struct S *p) { return p->a * 10 + p->b; }";
    for (body, want) in [
        (
            "x->a = 1; x->in.a = 2; x->b[1] = 3; *y = *x; r = y->a * 100 + y->in.a * 10 + y->b[1];",
            "123",
        ),
        ("x->a = 1; *y = *x; x->a = 2; r = y->a;", "1"),
        (
            "struct S s = {1, {2}, {3, 4}}; *x = s; r = x->a * 1000 + x->in.a * 100 + x->b[0] * 10 + x->b[1];",
            "1234",
        ),
        (
            "struct S s = {1, 2, 3, 4}; *x = s; r = x->a * 1000 + x->in.a * 100 + x->b[0] * 10 + x->b[1];",
            "1234",
        ),
        (
            "struct S s = {.b = {3}, .in = {.a = 2}}; *x = s; r = x->a * 1000 + x->in.a * 100 + x->b[0] * 10;",
            "230",
        ),
        ("x->b[1] = 7; memset(x, 0, sizeof(*x)); r = x->b[1];", "0"),
        ("memset(&x->in, 1, sizeof(x->in)); r = x->a * 1000 + x->in.a;", "257"),
        ("memset(x->b, 1, 4); r = x->b[0] - x->b[1];", "16843009"),
    ] {
        assert_eq!(
            value(&s.replace("p->b", "p->b[0]"), "struct S", body).as_deref(),
            Ok(want),
            "{body}"
        );
    }
    for (body, want) in [
        ("struct S s; r = s.a + s.b;", "0"),
        ("struct S s; s.a = 1; s.c = 2; *x = s; r = x->a * 10 + x->c;", "12"),
        ("x->b = 4; struct S s = *x; x->b = 5; r = s.b;", "4"),
        ("struct S s; s.a = 1; struct S t = s; s.a = 2; r = t.a * 10 + s.a;", "12"),
        ("struct S s; s.a = 300; r = s.a;", "44"),
        ("struct S s = {1, 2, 3}; r = s.a * 100 + s.b * 10 + s.c;", "123"),
        ("struct S s = {1,}; r = s.a * 100 + s.b * 10 + s.c;", "100"),
        ("struct S s = {.b = 2, 3}; r = s.a * 100 + s.b * 10 + s.c;", "23"),
        ("struct S s = {0}; r = s.a + s.b + s.c;", "0"),
        ("struct S s = {300, *k}; r = s.a;", "44"),
        (
            "struct S s = {1, 2, 3}; memset(&s, -1, sizeof(s)); r = s.a * 100 + s.b * 10 + s.c;",
            "-111",
        ),
        ("int l[3] = {1, 2, 3}; memset(l, 0, 8); r = l[0] * 100 + l[1] * 10 + l[2];", "3"),
        ("struct S s; s.a = 3; s.b = 4; r = sum(&s);", "34"),
        ("x->a = 3; x->b = 4; r = sum(x);", "34"),
        ("struct S s; struct S *p = &s; p->a = 3; r = s.a;", "3"),
        ("struct S s; if (*k == 0) { s.a = 7; } r = s.a;", "7"),
    ] {
        assert_eq!(value(plain, "struct S", body).as_deref(), Ok(want), "{body}");
    }
}

#[test]
fn members_of_a_union_share_their_bytes() {
    let u = "union U { uint32_t a; int b; uint8_t c[4]; short d; };";
    for (body, want) in [
        ("x->a = 0xffffffff; r = x->b;", "-1"),
        ("x->a = 0x01020304; r = x->c[3] * 10 + x->c[0];", "14"),
        ("x->c[1] = 1; r = x->d;", "256"),
        ("r = sizeof(union U);", "4"),
    ] {
        assert_eq!(value(u, "union U", body).as_deref(), Ok(want), "{body}");
    }
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    for (structs, body, want) in [
        ("struct S { int a : 3; };", "", "bit-fields are not read"),
        ("struct S { int a; } __attribute__((packed));", "", "attributes of structures"),
        ("struct S { int *a; };", "", "members that are pointers"),
        ("struct S { int a[]; };", "", "an array without a size"),
        ("struct S { struct T t; };", "", "members of type `struct T`"),
        ("struct S { int a; int a; };", "", "the member `a` is there twice"),
        ("struct S { };", "", "expected a member"),
        ("struct S { int a; }", "", "expected a function"),
        ("struct S { int a; };\nstruct S { int b; };", "", "`S` is defined twice"),
        ("struct S { int abc; };", "r = x->abd;", "no member `abd`"),
        ("struct S { int a; };", "r = *x;", "values of type `struct S` are not supported"),
        ("struct S { atomic_int a; };", "*x = *y;", "a copy of `struct S` is not supported"),
        ("struct S { atomic_int a; };", "struct S s;", "a local of type `struct S`"),
        ("struct S { int a; };", "*x = 1;", "is made of a `int`"),
        ("struct S { int a; };", "r = k->a;", "`int` has no members"),
        ("struct S { int a; };", "struct S s = {1, 2};", "this list has more than 1 parts"),
        ("struct S { int a; };", "struct S s = {.b = 1};", "no member `b`"),
        ("struct S { int a; int b; };", "memset(x, 0, 4);", "`memset` of part of an object"),
        ("struct S { int a; };", "memset(x, *k, 4);", "its byte and its size are constants"),
        (
            "struct S { atomic_int a; };",
            "memset(x, 0, 4);",
            "`memset` of this object is not supported",
        ),
    ] {
        let got = value(structs, "struct S", body).expect_err(body);
        assert!(got.contains(want), "{structs} {body}: {got}");
    }
    // A place that is taken for another one makes a wrong answer without a word.
    for (init, condition, want) in [
        ("struct S x = 1;", "true", "initial values of structures"),
        ("struct S x; x.a = 1;", "true", "initial values of members, as of `x.a`, are not read"),
        ("struct S x;", "x.a=1", "a condition cannot ask for a member, as for `x.a`"),
        ("", "x.a=1", "a condition cannot ask for a member, as for `x.a`"),
        ("int *p = x.a;", "true", "the address of a member, as of `x.a`"),
        ("int *p;", "p=x.a", "the address of a member, as of `x.a`"),
        ("struct S x;", "x=1", "`x` is a structure, and no number to compare"),
        ("", "x=1", "`x` is a structure, and no number to compare"),
    ] {
        let text = format!(
            "C t
{{ {init} }}
struct S {{ int a; }};
P0(struct S *x) {{ x->a = 1; }}
exists ({condition})
"
        );
        let got = states(&text).expect_err(&text);
        assert!(got.contains(want), "{text}: {got}");
    }
}

#[test]
fn a_structure_is_published_through_a_member() {
    let text = "C t
{ struct S x; }
struct S { int8_t a; atomic_int f; int8_t b; };
P0(struct S *x) { x->a = 1; atomic_store_explicit(&x->f, 1, memory_order_release); }
P1(struct S *x) {
  int r0 = atomic_load_explicit(&x->f, memory_order_acquire);
  int r1 = 1;
  if (r0) { r1 = x->a; }
  x->b = 2;
  int r2 = x->b;
}
locations [1:r0; 1:r1; 1:r2;]
exists (1:r1=0)
";
    let want = ["1:r0=0; 1:r1=1; 1:r2=2;", "1:r0=1; 1:r1=1; 1:r2=2;"];
    assert_eq!(states(text).as_deref(), Ok(&want.map(String::from)[..]));
}
