//! Reading and printing, and what is said about text that is not C.

use std::sync::Arc;

use super::*;
use litmake_litmus::c::ast::*;
use litmake_litmus::c::types::{BOOL, qualify};
use litmake_litmus::c::{parse_type, print_function, print_type};
use proptest::prelude::*;

fn error(text: &str) -> String {
    match parse(text) {
        Ok(f) => panic!("accepted: {f:?}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn diagnostics() {
    let cases = [
        (
            "P0(int* x) {\n  int r0 = *x\n}",
            "t.litmus:3:1: error: expected `;` after the declaration, found `}`\n \
             3 | }\n   | ^",
        ),
        (
            "P0(int* x) {\n  atomic_store(x, 1;\n}",
            "t.litmus:2:20: error: expected `,` or `)` after an argument, found `;`\n \
             2 |   atomic_store(x, 1;\n   |                    ^",
        ),
        (
            "P0(int* x) { #define A 1\n}",
            "t.litmus:1:14: error: preprocessor lines are not supported\n \
             1 | P0(int* x) { #define A 1\n   |              ^\n  help: write out what they stand for",
        ),
        (
            "P0(int* x) { switch (*x) {} }",
            "t.litmus:1:14: error: expected an expression, found `switch`\n \
             1 | P0(int* x) { switch (*x) {} }\n   |              ^^^^^^\n  \
             help: `switch` is not part of the C subset; use `if`",
        ),
        (
            "P0(int* x) { x = 0x1.8p1; }",
            "t.litmus:1:18: error: hexadecimal numbers in floating point are not supported\n \
             1 | P0(int* x) { x = 0x1.8p1; }\n   |                  ^^^^^^^",
        ),
        (
            "P0(int* x) { long double d; }",
            "t.litmus:1:19: error: values of type `long double` are not supported\n \
             1 | P0(int* x) { long double d; }\n   |                   ^^^^^^\n  help: use `double`",
        ),
        (
            "P0(int* x) { int r = __load(*x); }",
            "t.litmus:1:28: error: expected `{` and annotations behind `__load`, found `(`\n \
             1 | P0(int* x) { int r = __load(*x); }\n   |                            ^",
        ),
        (
            "P0(int* x) { __store{once}(*x); }",
            "t.litmus:1:14: error: `__store` takes 2 arguments, found 1\n \
             1 | P0(int* x) { __store{once}(*x); }\n   |              ^^^^^^^^^^^^^^^^^",
        ),
        (
            "P0(int* x) { __atomic_op{once}(x, 1, 2); }",
            "t.litmus:1:35: error: expected an operator: `+`, `-`, `&`, `|`, `^` or `&~`, found `1`\n \
             1 | P0(int* x) { __atomic_op{once}(x, 1, 2); }\n   |                                   ^",
        ),
        (
            "P0(int* x, int x) { }",
            "t.litmus:1:16: error: parameter `x` is declared twice\n \
             1 | P0(int* x, int x) { }\n   |                ^\n  help: rename one of them",
        ),
        (
            "P0(int* x) { /* }",
            "t.litmus:1:14: error: this comment is never closed\n \
             1 | P0(int* x) { /* }\n   |              ^^\n  help: close it with `*/`",
        ),
        (
            "P0(int* x) { while (1) { }",
            "t.litmus:1:27: error: expected `}` at the end of the block, found the end\n \
             1 | P0(int* x) { while (1) { }\n   |                           ^",
        ),
        (
            "P0(* x) { }",
            "t.litmus:1:4: error: expected a type, found `*`\n \
             1 | P0(* x) { }\n   |    ^",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn printing() {
    let text = "P0(atomic_int* x, volatile int *y, _Atomic(int*) *p, uint64_t (*a)[2]) {
      int r0 = atomic_load_explicit(x, memory_order_relaxed), *q;
      if (r0 == 1) *y = 1 + (r0 ^ r0); else { r0++; }
      for (int i = 0; i < 2; ++i) { continue; }
      do { r0 = -(-1) - -1; } while (!(r0 & 1) && r0 - (1 - 2) || (r0, 1));
      r0 = r0 ? (q = 0, 1) : 0x10u; L: (void)*y;
    }";
    let f = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        print_function(&f),
        "P0(atomic_int *x, volatile int *y, int *_Atomic *p, uint64_t (*a)[2]) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed), *q;
  if (r0 == 1)
    *y = 1 + (r0 ^ r0);
  else {
    r0++;
  }
  for (int i = 0; i < 2; ++i) {
    continue;
  }
  do {
    r0 = - -1 - -1;
  }
  while (!(r0 & 1) && r0 - (1 - 2) || (r0, 1));
  r0 = r0 ? q = 0, 1 : 0x10u;
  L:
  (void)*y;
}
"
    );
    assert_eq!(
        print_function(
            &parse("static inline int f(void) { return 1; }").unwrap_or_else(|e| panic!("{e}"))
        ),
        "inline int f() {\n  return 1;\n}\n"
    );
}

/// `atomic<` begins a type or a comparison.
#[test]
fn a_variable_named_atomic_is_compared() {
    let text = "int f() {
  int atomic = 1, n = 2;
  atomic_int r = 1 + (atomic < n);
  atomic < n;
  _Atomic node p = 0;
  return (atomic_int)n;
}
";
    let f = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print_function(&f), text);
    let types = text.replace("_Atomic node", "atomic<node>").replace("atomic_int", "atomic<int>");
    assert_eq!(parse(&types).unwrap_or_else(|e| panic!("{e}")), f);
}

/// An expression that is read is printed no deeper than it was.
#[test]
fn deep_expressions_read_back() {
    for op in ["+ ", "- ", "& *", "!", "~"] {
        let text = format!("P0(int* x) {{ int r0 = {}*x; }}", op.repeat(40));
        let f = parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let printed = print_function(&f);
        let again = parse(&printed).unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!(print_function(&again), printed);
    }
}

#[test]
fn types() {
    let int = |bytes, signed| Type::Int { bytes, signed };
    let atomic = |t| Type::Atomic(Arc::new(t));
    let pointer = |t| Type::Pointer(Arc::new(t));
    for (text, ty) in [
        ("int", int(4, true)),
        ("unsigned", int(4, false)),
        ("long unsigned int", int(8, false)),
        ("long long", int(8, true)),
        ("signed char", int(1, true)),
        ("unsigned __int128", int(16, false)),
        ("__uint128_t", int(16, false)),
        ("atomic_uint_least16_t", atomic(int(2, false))),
        ("_Atomic uint8_t", atomic(int(1, false))),
        ("std::atomic<int>*", pointer(atomic(int(4, true)))),
        ("atomic<long>", atomic(int(8, true))),
        ("_Atomic(int*)", atomic(pointer(int(4, true)))),
        ("int * _Atomic *", pointer(atomic(pointer(int(4, true))))),
        ("(int volatile)*", pointer(Type::Volatile(Arc::new(int(4, true))))),
        (
            "volatile const _Atomic int",
            Type::Const(Arc::new(Type::Volatile(Arc::new(atomic(int(4, true)))))),
        ),
        ("bool", Type::Named(BOOL.to_string())),
        ("struct foo*", pointer(Type::Named("struct foo".to_string()))),
        ("mtx_t", Type::Named("mtx_t".to_string())),
    ] {
        let (source, span) = source(text);
        assert_eq!(parse_type(&source, span).unwrap_or_else(|e| panic!("{e}")), ty, "{text}");
    }
}

/// Long chains and deep nests are refused and do not exhaust the stack.
#[test]
fn nesting_is_bounded() {
    let n = 100_000;
    for body in [
        "(".repeat(n),
        "-".repeat(n),
        "{".repeat(n),
        "if(1)".repeat(n),
        "if(1);else ".repeat(n),
        "a:".repeat(n),
        format!("x = {};", "1+".repeat(n) + "1"),
        format!("x = {};", "1?1:".repeat(n) + "1"),
        format!("{}1;", "x=".repeat(n)),
        format!("{}1;", "x,".repeat(n)),
        format!("x{};", "[0]".repeat(n)),
        format!("x{};", "++".repeat(n)),
        format!("int {}x;", "*".repeat(n)),
        format!("int {}x;", "(*".repeat(n)),
        format!("int x{};", "[1]".repeat(n)),
        format!("{}int x;", "_Atomic(".repeat(n)),
        format!("x = {}1;", "(int)".repeat(n)),
        format!("x = {}1;", "sizeof ".repeat(n)),
        format!("x = {}1;", "f(".repeat(n)),
    ] {
        let got = error(&format!("P0(int* x) {{ {body} }}"));
        assert!(got.contains("too deeply") || got.contains("expected"), "{got:.200}");
    }
}

#[test]
fn spans_point_into_the_text() {
    let text = "..P0(int* x) { *x = 1; }..";
    let source = Source::new("t", text);
    let span = Span::new(2, text.len() - 2);
    let f = parse_function(&source, span).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(f.span, span);
    let at = |s: Span| &text[s.start as usize..s.end as usize];
    assert_eq!(at(f.params[0].span), "int* x");
    assert_eq!(at(f.body[0].span), "*x = 1;");
    for bad in [Span::new(5, 2), Span::new(0, 99)] {
        assert!(parse_function(&source, bad).is_err());
    }
}

fn qualified(ty: BoxedStrategy<Type>) -> BoxedStrategy<Type> {
    (ty, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(t, c, v, a)| qualify(t, c, v, a))
        .boxed()
}

/// A type that is no pointer and no array.
fn some_specifier() -> BoxedStrategy<Type> {
    let bare = prop_oneof![
        (0u32..5, any::<bool>()).prop_map(|(n, signed)| Type::Int { bytes: 1 << n, signed }),
        Just(Type::Named(BOOL.to_string())),
        prop::sample::select(vec![4, 8]).prop_map(|bytes| Type::Float { bytes }),
        Just(Type::Named("struct s".to_string())),
        Just(Type::Void),
    ];
    qualified(bare.boxed())
}

fn some_type() -> impl Strategy<Value = Type> {
    some_specifier().prop_recursive(4, 8, 1, |inner| {
        let pointer = inner.clone().prop_map(|t| Type::Pointer(Arc::new(t)));
        prop_oneof![
            qualified(pointer.boxed()),
            (inner, 1u64..5).prop_map(|(t, n)| Type::Array(Arc::new(t), n)),
        ]
    })
}

/// Whether C has no other use for a word.
fn is_name(word: &str) -> bool {
    let name =
        |s: &Stmt| matches!(&s.kind, StmtKind::Expr(e) if matches!(e.kind, ExprKind::Name(_)));
    parse(&format!("P0() {{ {word}; }}")).is_ok_and(|f| f.body.iter().all(name))
}

fn some_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,3}[0-9]?".prop_filter("a word of C", |s| is_name(s) && s != "std"),
        Just("r0".to_string()),
    ]
}

fn some_expr() -> impl Strategy<Value = Expr> {
    let new = |kind| Expr::new(kind, Span::default());
    let leaf = prop_oneof![
        (any::<u128>(), 0u32..128, any::<[bool; 3]>()).prop_map(move |(v, n, [d, u, l])| {
            new(ExprKind::Int(IntLit { value: v >> n, decimal: d, unsigned: u, long: l }))
        }),
        (0.0f64..1e30)
            .prop_map(move |x| { new(ExprKind::Float(FloatLit { bits: x.to_bits(), bytes: 8 })) }),
        (0.0f32..1e30).prop_map(move |x| {
            new(ExprKind::Float(FloatLit { bits: x.to_bits().into(), bytes: 4 }))
        }),
        some_name().prop_map(|n| Expr::name(&n)),
        some_type().prop_map(move |t| new(ExprKind::SizeofType(t))),
    ];
    leaf.prop_recursive(5, 40, 3, move |e| {
        let b = |e: Expr| Box::new(e);
        let all: Vec<BinaryOp> = BinaryOp::all().collect();
        let op = (0..all.len()).prop_map(move |i| all[i]);
        let unary = prop_oneof![
            Just(UnaryOp::Plus),
            Just(UnaryOp::Neg),
            Just(UnaryOp::Not),
            Just(UnaryOp::LogicalNot),
            Just(UnaryOp::Deref),
            Just(UnaryOp::Addr),
        ];
        prop_oneof![
            (unary, e.clone()).prop_map(move |(op, a)| new(ExprKind::Unary(op, b(a)))),
            (any::<bool>(), any::<bool>(), e.clone()).prop_map(move |(up, prefix, a)| {
                new(ExprKind::Step { up, prefix, target: b(a) })
            }),
            (op.clone(), e.clone(), e.clone()).prop_map(move |(op, x, y)| new(ExprKind::Binary(
                op,
                b(x),
                b(y)
            ))),
            (prop::option::of(op), e.clone(), e.clone()).prop_map(move |(op, x, y)| {
                let op = op.filter(|o| o.assigns());
                new(ExprKind::Assign(op, b(x), b(y)))
            }),
            (e.clone(), e.clone(), e.clone()).prop_map(move |(x, y, z)| new(ExprKind::Cond(
                b(x),
                b(y),
                b(z)
            ))),
            (e.clone(), e.clone()).prop_map(move |(x, y)| new(ExprKind::Comma(b(x), b(y)))),
            (e.clone(), e.clone()).prop_map(move |(x, y)| new(ExprKind::Index(b(x), b(y)))),
            (some_type(), e.clone()).prop_map(move |(t, x)| new(ExprKind::Cast(t, b(x)))),
            e.clone().prop_map(move |x| new(ExprKind::SizeofExpr(b(x)))),
            (some_name(), prop::collection::vec(e.clone(), 0..3))
                .prop_map(|(f, args)| Expr::call(&f, args)),
            (some_primitive(), prop::collection::vec("[a-z]{1,3}(-[a-z]{1,3})?", 1..3), e.clone())
                .prop_map(move |((primitive, op), tags, x)| {
                    let tags = match primitive.braces() {
                        Some(false) => Vec::new(),
                        _ => tags,
                    };
                    let op = op.filter(|_| primitive.changes());
                    let op = op.or(primitive.changes().then_some(Change::Clear));
                    let args = vec![x; primitive.arity()];
                    let own = Annotated { primitive, tags, op, args };
                    new(ExprKind::Annotated(Box::new(own)))
                }),
            (e, any::<bool>(), some_name()).prop_map(move |(x, arrow, name)| {
                new(ExprKind::Member { base: b(x), arrow, name })
            }),
        ]
    })
}

fn some_primitive() -> impl Strategy<Value = (Primitive, Option<Change>)> {
    let primitive = prop::sample::select(vec![
        Primitive::Load,
        Primitive::Store,
        Primitive::Fence,
        Primitive::Op,
        Primitive::FetchOp,
        Primitive::AddUnless,
        Primitive::TryLock,
    ]);
    let op = prop::sample::select(vec![BinaryOp::Add, BinaryOp::Or]);
    (primitive, prop::option::of(op.prop_map(Change::Op)))
}

fn some_statement() -> impl Strategy<Value = Stmt> {
    let new = |kind| Stmt::new(kind, Span::default());
    // Declarators that share a specifier: the type, a pointer to it and an array of it.
    let decl = (
        some_specifier(),
        prop::collection::vec((some_name(), prop::option::of(some_expr()), 0u8..3), 1..3),
    )
        .prop_map(move |(ty, list)| {
            let list = list.into_iter().map(|(name, init, shape)| Declarator {
                name,
                ty: match shape {
                    0 => ty.clone(),
                    1 => Type::Pointer(Arc::new(ty.clone())),
                    _ => Type::Array(Arc::new(ty.clone()), 2),
                },
                init,
                span: Span::default(),
            });
            new(StmtKind::Decl(list.collect()))
        });
    let leaf = prop_oneof![
        decl,
        some_expr().prop_map(move |e| new(StmtKind::Expr(e))),
        prop::option::of(some_expr()).prop_map(move |e| new(StmtKind::Return(e))),
        Just(new(StmtKind::Break)),
        Just(new(StmtKind::Continue)),
        Just(new(StmtKind::Empty)),
        some_name().prop_map(move |n| new(StmtKind::Goto(n))),
    ];
    leaf.prop_recursive(3, 12, 3, move |s| {
        let b = |s: Stmt| Box::new(s);
        let block =
            prop::collection::vec(s.clone(), 0..3).prop_map(move |list| new(StmtKind::Block(list)));
        let simple = prop_oneof![
            Just(new(StmtKind::Empty)),
            some_expr().prop_map(move |e| new(StmtKind::Expr(e))),
        ];
        prop_oneof![
            block.clone(),
            // An `if` with an `else` holds a block, which no other `else` can get into.
            (some_expr(), block, prop::option::of(s.clone())).prop_map(move |(cond, y, n)| {
                new(StmtKind::If { cond, yes: b(y), no: n.map(b) })
            }),
            (some_expr(), s.clone())
                .prop_map(move |(cond, s)| new(StmtKind::While { cond, body: b(s) })),
            (some_expr(), s.clone())
                .prop_map(move |(cond, s)| new(StmtKind::DoWhile { cond, body: b(s) })),
            (simple, prop::option::of(some_expr()), prop::option::of(some_expr()), s.clone())
                .prop_map(move |(init, cond, step, body)| {
                    new(StmtKind::For { init: b(init), cond, step, body: b(body) })
                }),
            (some_name(), s).prop_map(move |(n, s)| new(StmtKind::Label(n, b(s)))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn printed_functions_read_back(
        body in prop::collection::vec(some_statement(), 0..5),
        params in prop::collection::vec(some_type(), 0..3),
        ret in some_specifier(),
    ) {
        let params = params.into_iter().enumerate().map(|(i, ty)| Param {
            name: format!("p{i}"),
            ty: match ty { Type::Array(t, _) => Type::Pointer(t), t => t },
            local: i == 1,
            span: Span::default(),
        });
        let f = Function { name: "f".into(), told: Default::default(), params: params.collect(), ret, body, span: Span::default() };
        let text = print_function(&f);
        match parse(&text) {
            Ok(g) => {
                prop_assert_eq!(&f, &g, "{}", text);
                prop_assert_eq!(text, print_function(&g));
            }
            Err(e) => prop_assert!(false, "{}\n{}", e, text),
        }
    }

    #[test]
    fn printed_types_read_back(ty in some_type()) {
        let text = print_type(&ty);
        let (source, span) = source(&text);
        prop_assert_eq!(parse_type(&source, span).map_err(|e| e.to_string()), Ok(ty), "{}", text);
    }

    /// Whatever the text, there is an answer.
    #[test]
    fn arbitrary_text(text in ".{0,200}") {
        let _ = lower_with(&[&text], Options::default());
        let _ = lower_with(&[&format!("P0(int* x) {{ {text} }}")], Options::default());
    }

    #[test]
    fn arbitrary_tokens(list in prop::collection::vec(0..TOKENS.len(), 0..60)) {
        let words: Vec<&str> = list.into_iter().map(|i| TOKENS[i]).collect();
        let text = format!("P0(atomic_int* x, int* y, int** p, bool* b) {{ int r0; int *q = &r0; {} }}", words.join(" "));
        let _ = lower_with(&[&text, "int f(int a, int* b) { return a + *b; }"], Options::default());
    }

    /// Trees that no text need have are lowered or refused.
    #[test]
    fn arbitrary_trees(body in prop::collection::vec(some_statement(), 0..4)) {
        let f = Function { name: "P0".into(), told: Default::default(), params: Vec::new(), ret: Type::Void, body, span: Span::default() };
        let (source, _) = source("");
        let _ = thread(&source, &f, &[], &mut Names::default(), Options::default());
    }

    #[test]
    fn mutated_text(at in 0..MUTATED.len(), len in 0usize..8, with in ".{0,6}") {
        let (start, end) = (at, (at + len).min(MUTATED.len()));
        let text = format!("{}{}{}", &MUTATED[..start], with, &MUTATED[end..]);
        let _ = lower_with(&[&text, "int f(int a) { return a; }"], Options::default());
    }
}

const TOKENS: &[&str] = &[
    "x",
    "y",
    "p",
    "b",
    "q",
    "r0",
    "f",
    "int",
    "bool",
    "uint64_t",
    "__int128",
    "(",
    ")",
    "(",
    ")",
    "{",
    "}",
    ";",
    ";",
    ",",
    "=",
    "+=",
    "/=",
    "<<=",
    "+",
    "-",
    "*",
    "*",
    "&",
    "&",
    "&&",
    "||",
    "?",
    ":",
    "!",
    "~",
    "++",
    "--",
    "<",
    "==",
    "[",
    "]",
    "0",
    "1",
    "-1",
    "0xffffffffffffffff",
    "if",
    "else",
    "while",
    "do",
    "for",
    "return",
    "break",
    "continue",
    "goto",
    "sizeof",
    "a :",
    "goto a ;",
    "int a = ",
    "(int)",
    "(bool)",
    "(__int128)",
    "atomic_load(x)",
    "atomic_compare_exchange_weak(x, &r0, 1)",
    "atomic_compare_exchange_strong(x, y, 1)",
    "atomic_fetch_add_explicit(",
    "memory_order_acquire",
    "__atomic_exchange(",
    "f(",
    "f(1, &r0)",
    "f(1, q)",
    "&r0",
    "*q",
];

const MUTATED: &str = "P0(atomic_int* x, volatile int* y, int** p) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  for (int i = 0; i < 3 && r0; i++) { if (i % 2) continue; *y += f(i) << 1; }
  int l = 0x10;
  while (!atomic_compare_exchange_weak(x, &l, r0 ? 1 : (*p)[2])) { l--; }
  do { goto out; } while (sizeof(int) == 4u);
  out: **p = (uint8_t)~r0;
}";
