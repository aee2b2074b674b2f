//! Integer semantics against Rust's own arithmetic.

use super::*;
use proptest::prelude::*;

/// A C type with its bytes and sign; `_Bool` has no bytes.
const TYPES: &[(&str, u32, bool)] = &[
    ("_Bool", 0, false),
    ("int8_t", 1, true),
    ("unsigned char", 1, false),
    ("short", 2, true),
    ("uint16_t", 2, false),
    ("int", 4, true),
    ("unsigned", 4, false),
    ("long", 8, true),
    ("uint64_t", 8, false),
    ("__int128", 16, true),
    ("unsigned __int128", 16, false),
];

/// A number as the type stores it, as its two's complement in 128 bits.
fn store(v: u128, ty: (&str, u32, bool)) -> u128 {
    match ty.1 {
        0 => u128::from(v != 0),
        1 if ty.2 => v as i8 as u128,
        1 => u128::from(v as u8),
        2 if ty.2 => v as i16 as u128,
        2 => u128::from(v as u16),
        4 if ty.2 => v as i32 as u128,
        4 => u128::from(v as u32),
        8 if ty.2 => v as i64 as u128,
        8 => u128::from(v as u64),
        _ => v,
    }
}

fn promote(ty: (&'static str, u32, bool)) -> (&'static str, u32, bool) {
    if ty.1 < 4 { ("int", 4, true) } else { ty }
}

fn common(a: (&'static str, u32, bool), b: (&'static str, u32, bool)) -> (&'static str, u32, bool) {
    let (a, b) = (promote(a), promote(b));
    if a.1 > b.1 || (a.1 == b.1 && !a.2) { a } else { b }
}

/// The value and the type of `x op y` in C, as two's complement in 128 bits; where C defines none,
/// litmake's choice.
fn reference(
    op: &str,
    x: u128,
    tx: (&'static str, u32, bool),
    y: u128,
    ty: (&'static str, u32, bool),
) -> (u128, (&'static str, u32, bool)) {
    let int = ("int", 4, true);
    if op == "<<" || op == ">>" {
        let t = promote(tx);
        let bits = t.1 * 8;
        let x = store(x, t);
        // The width of the count does not matter while it is small.
        let n = y as u32 % bits;
        let v = match (op, t.2) {
            ("<<", _) => x << n,
            (_, true) => ((x as i128) >> n) as u128,
            (_, false) => x >> n,
        };
        return (store(v, t), t);
    }
    if op == "&&" || op == "||" {
        let v = if op == "&&" { x != 0 && y != 0 } else { x != 0 || y != 0 };
        return (u128::from(v), int);
    }
    let t = common(tx, ty);
    let (x, y) = (store(x, t), store(y, t));
    let (sx, sy) = (x as i128, y as i128);
    let less = |or_equal: bool| match t.2 {
        true => sx < sy || (or_equal && sx == sy),
        false => x < y || (or_equal && x == y),
    };
    let truth = match op {
        "==" => Some(x == y),
        "!=" => Some(x != y),
        "<" => Some(less(false)),
        "<=" => Some(less(true)),
        ">" => Some(!less(true)),
        ">=" => Some(!less(false)),
        _ => None,
    };
    if let Some(v) = truth {
        return (u128::from(v), int);
    }
    let v = match (op, t.2) {
        ("+", _) => x.wrapping_add(y),
        ("-", _) => x.wrapping_sub(y),
        ("*", _) => x.wrapping_mul(y),
        ("/", _) if y == 0 => 0,
        ("%", _) if y == 0 => x,
        ("/", true) => sx.wrapping_div(sy) as u128,
        ("/", false) => x / y,
        ("%", true) => sx.wrapping_rem(sy) as u128,
        ("%", false) => x % y,
        ("&", _) => x & y,
        ("|", _) => x | y,
        ("^", _) => x ^ y,
        (op, _) => panic!("{op}"),
    };
    (store(v, t), t)
}

const OPS: &[&str] = &[
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&",
    "||",
];

fn number() -> impl Strategy<Value = u128> {
    prop_oneof![
        any::<u128>(),
        (0u128..130),
        (1u128..130).prop_map(|n| 0u128.wrapping_sub(n)),
        (0u32..128).prop_map(|n| 1 << n),
        (0u32..128).prop_map(|n| (1u128 << n).wrapping_sub(1)),
    ]
}

fn ty() -> impl Strategy<Value = (&'static str, u32, bool)> {
    (0..TYPES.len()).prop_map(|i| TYPES[i])
}

/// The bytes of a value in memory.
fn in_memory(v: u128, ty: (&str, u32, bool)) -> Val {
    let bits = 8 * ty.1.max(1) as u8;
    Val::Int(mask(store(v, ty), bits))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Operands from memory through typed locals, the result into a typed local and memory, and
    /// the same as a compound assignment and with the operands constant.
    #[test]
    fn binary_operators(
        op in 0..OPS.len(), x in number(), y in number(), tx in ty(), t_y in ty(), tr in ty(),
    ) {
        let op = OPS[op];
        let (x, mut y) = (store(x, tx), store(y, t_y));
        if op == "<<" || op == ">>" {
            y %= u128::from(promote(tx).1 * 8);
            y = store(y, t_y);
        }
        let (value, t) = reference(op, x, tx, y, t_y);
        let text = format!(
            "P0({a}* x, {b}* y, {r}* z) {{ {a} a = *x; {b} b = *y; {r} r = a {op} b; *z = a {op} b; }}",
            a = tx.0, b = t_y.0, r = tr.0,
        );
        let out = run_once(&text, &[("x", in_memory(x, tx)), ("y", in_memory(y, t_y))]);
        prop_assert_eq!(out.reg("r") as u128, store(value, tr), "{} {:x} {} {:x}", text, x, op, y);
        prop_assert_eq!(Val::Int(out.mem("z")), in_memory(value, tr));

        let assigns = !["==", "!=", "<", "<=", ">", ">=", "&&", "||"].contains(&op);
        if assigns {
            let text = format!("P0({}* x, {}* y) {{ *x {op}= *y; }}", tx.0, t_y.0);
            let out = run_once(&text, &[("x", in_memory(x, tx)), ("y", in_memory(y, t_y))]);
            prop_assert_eq!(Val::Int(out.mem("x")), in_memory(value, tx));
            let text = format!("P0(_Atomic {}* x, {}* y) {{ {} r = (*x {op}= *y); }}", tx.0, t_y.0, tx.0);
            let out = run_once(&text, &[("x", in_memory(x, tx)), ("y", in_memory(y, t_y))]);
            prop_assert_eq!(Val::Int(out.mem("x")), in_memory(value, tx));
            prop_assert_eq!(out.reg("r") as u128, store(value, tx));
        }

        let text = format!(
            "P0() {{ {r} r = (({a})0x{x:x}) {op} (({b})0x{y:x}); int s = sizeof(({a})0 {op} ({b})0); }}",
            a = tx.0, b = t_y.0, r = tr.0,
        );
        let out = run_once(&text, &[]);
        prop_assert_eq!(out.reg("r") as u128, store(value, tr), "{}", text);
        prop_assert_eq!(out.reg("s"), i128::from(t.1), "{}", text);
    }

    #[test]
    fn conversions_and_unary_operators(x in number(), tx in ty(), tr in ty()) {
        let x = store(x, tx);
        let t = promote(tx);
        let expected = [
            ("a", x),
            ("-a", store(0u128.wrapping_sub(x), t)),
            ("~a", store(!x, t)),
            ("!a", u128::from(x == 0)),
            ("+a", store(x, t)),
            ("a ? a : -1", {
                let t = common(tx, ("int", 4, true));
                store(if x != 0 { x } else { u128::MAX }, t)
            }),
        ];
        for (e, value) in expected {
            let text = format!("P0({a}* x) {{ {a} a = *x; {r} r = {e}; }}", a = tx.0, r = tr.0);
            let out = run_once(&text, &[("x", in_memory(x, tx))]);
            prop_assert_eq!(out.reg("r") as u128, store(value, tr), "{} {:x}", text, x);
        }
    }

    #[test]
    fn steps(x in number(), tx in ty(), up: bool, prefix: bool, atomic: bool) {
        prop_assume!(tx.1 > 0);
        let x = store(x, tx);
        let next = store(if up { x.wrapping_add(1) } else { x.wrapping_sub(1) }, tx);
        let op = if up { "++" } else { "--" };
        let e = if prefix { format!("{op}*x") } else { format!("(*x){op}") };
        let (q, a) = (if atomic { "_Atomic " } else { "" }, tx.0);
        let text = format!("P0({q}{a}* x) {{ {a} r = {e}; {a} s = r; s{op}; }}");
        let out = run_once(&text, &[("x", in_memory(x, tx))]);
        prop_assert_eq!(Val::Int(out.mem("x")), in_memory(next, tx));
        prop_assert_eq!(out.reg("r") as u128, if prefix { next } else { x });
        prop_assert_eq!(out.trace(), if atomic { "U x" } else { "R x; W x" });
    }
}

#[test]
fn types_of_constants() {
    for (text, bytes, signed) in [
        ("1", 4, true),
        ("2147483647", 4, true),
        ("2147483648", 8, true),
        ("0x80000000", 4, false),
        ("0x100000000", 8, true),
        ("0xffffffffffffffff", 8, false),
        ("9223372036854775808", 16, true),
        ("1u", 4, false),
        ("4294967296u", 8, false),
        ("1l", 8, true),
        ("1ull", 8, false),
        ("0b11", 4, true),
        ("017", 4, true),
        ("'a'", 4, true),
    ] {
        let out = run_once(
            &format!("P0() {{ int s = sizeof({text}); int n = (({text}) * 0 - 1) < 0; }}"),
            &[],
        );
        assert_eq!((out.reg("s"), out.reg("n") != 0), (bytes, signed), "{text}");
    }
    let out = run_once("P0() { int a = 0x1F; int b = 017; int c = 0b101; int d = '\\n'; }", &[]);
    assert_eq!(["a", "b", "c", "d"].map(|r| out.reg(r)), [31, 15, 5, 10]);
}

#[test]
fn undefined_operations_have_one_result() {
    let out = run_once(
        "P0(int* z) { int a = 7 / *z; int b = 7 % *z; int c = 1 << (*z + 32); \
         int d = -8 >> (*z + 40); int e = (-2147483647 - 1) / (*z - 1); int f = 5 / 0; }",
        &[],
    );
    assert_eq!(["a", "b", "c", "d", "e", "f"].map(|r| out.reg(r)), [0, 7, 0, -1, -2147483648, 0]);
}
