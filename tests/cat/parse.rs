//! Reading cat: printing and reading again, hostile input, and what errors look like.

use litmake::cat::load::{LoadOptions, built_in_names, load};
use litmake::cat::parse::parse;
use litmake::diag::Source;
use litmake::litmus::Arch;
use proptest::prelude::*;

fn source(text: &str) -> Source {
    Source::new("m.cat", text)
}

fn error(text: &str) -> String {
    match parse(&source(text)) {
        Ok(file) => panic!("read as {file}"),
        Err(e) => e.to_string(),
    }
}

/// The one expression of `let x = ..`, printed with all parentheses.
fn expr(text: &str) -> String {
    let file = parse(&source(&format!("let x = {text}"))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file.body.len(), 1, "{file}");
    let printed = file.to_string();
    printed.trim().trim_start_matches("let x = ").to_string()
}

#[test]
fn precedence_is_that_of_the_manual() {
    assert_eq!(expr("a | b ; c"), "(a | (b ; c))");
    assert_eq!(expr("a ; b & c"), "(a ; (b & c))");
    assert_eq!(expr("a ; b \\ c"), "(a ; (b \\ c))");
    assert_eq!(expr("a \\ b & c"), "(a \\ (b & c))");
    assert_eq!(expr("a & b * c"), "(a & (b * c))");
    assert_eq!(expr("a | b ++ c | d"), "(a | (b ++ c) | d)");
    assert_eq!(expr("a ++ b ; c"), "(a ++ (b ; c))");
    assert_eq!(expr("a \\ b \\ c"), "(a \\ b \\ c)");
    assert_eq!(expr("~a & b"), "((~a) & b)");
    assert_eq!(expr("~a^-1"), "(~(a^-1))");
    assert_eq!(expr("a+?"), "((a+)?)");
    assert_eq!(expr("a* ; b*"), "((a*) ; (b*))");
    assert_eq!(expr("a * b^-1"), "(a * (b^-1))");
    assert_eq!(expr("f x ; g (y, z)"), "(f (x) ; g ((y, z)))");
    assert_eq!(expr("f x y"), "f (x) (y)");
    assert_eq!(expr("a | (b | c)"), "(a | b | c)");
    assert_eq!(expr("[A]; po; [B]"), "([A] ; po ; [B])");
    assert_eq!(expr("0 | {} | _"), "(0 | {} | _)");
}

#[test]
fn signs_of_equal_strength_need_parentheses() {
    assert_eq!(
        error("let x = a * b * c"),
        "m.cat:1:15: error: `*` of sets and `*` have no order of precedence\n \
         1 | let x = a * b * c\n   |               ^\n  \
         help: write parentheses to say which comes first"
    );
    assert!(error("let x = ~a+").contains("no order of precedence"));
}

#[test]
fn a_star_before_an_instruction_is_a_closure() {
    let file = parse(&source("let r = a*\n~empty r as x let s = b*")).unwrap();
    assert_eq!(file.body.len(), 3);
}

#[test]
fn every_construct_reads_back() {
    let text = r#"
        ARM "a title"
        catdep
        enum memorder = || 'rlx || 'acq
        let rec f (a, b) = a | f (b, a) and g _ = 0
        let (x, y) = a, b in
        let rec r = a | r; r when acyclic r as early
        let h = fun (u, v) -> u ; v
        let e = match s with || {} -> {} || e ++ es -> f e ++ es end
        let p = match s with || a | b ++ c -> 0 || {} -> 0 end
        let t = match 'rlx with 'acq -> 0 || _ -> po end
        let q = try x with let z = 0 in z
        let i = if "a" && not "b" || ("c") then a else b
        let j = if a = b then if a subset b then a else b else if a in b then a else b
        let v = if variant "x" then {a, b} else ()
        procedure p (a, b) = empty a \ b end
        procedure rec loop a = call loop (a) end
        call p (a, b) as name
        forall o in memorder do show a as b end
        with co from generate_cos(co0)
        flag ~empty a as odd
        undefined_unless empty a as Dr
        assert irreflexive a
        match 'rlx with || 'rlx -> show a, b || _ -> unshow a end
        if "v" include "x.cat" else acyclic a end
        if not "v" include "y.cat" end
        debug a
        instructions R[{'rlx, 'acq}]
        default W['rlx]
        (* comments (* nest *) "and" *) // to the end
        # also this
        let _RMW = X' | DMB.SY | po-loc
    "#;
    let once = parse(&source(text)).unwrap_or_else(|e| panic!("{e}")).to_string();
    let twice = parse(&source(&once)).unwrap_or_else(|e| panic!("{e}")).to_string();
    assert_eq!(once, twice);
    assert_eq!(once.matches("include").count(), 2);
}

#[test]
fn built_in_models_read_back() {
    for name in built_in_names() {
        let model = load(name, &LoadOptions::new(Arch::C)).unwrap_or_else(|e| panic!("{e}"));
        let once = model.main().ast.to_string();
        let twice = parse(&source(&once)).unwrap_or_else(|e| panic!("{e}")).to_string();
        assert_eq!(once, twice, "{name}");
    }
}

#[test]
fn errors_say_what_was_expected() {
    assert_eq!(
        error("\"T\"\nlet x po"),
        "m.cat:2:9: error: expected `=` and what the name stands for, found the end of the file\n \
         2 | let x po\n   |         ^"
    );
    assert_eq!(
        error("acyclic (po"),
        "m.cat:1:12: error: expected `)`, found the end of the file\n \
         1 | acyclic (po\n   |            ^"
    );
    assert_eq!(
        error("let x = 'a $ b"),
        "m.cat:1:12: error: `$` has no meaning in cat\n 1 | let x = 'a $ b\n   |            ^"
    );
    assert_eq!(
        error("(* open (* closed *)"),
        "m.cat:1:1: error: this comment is never closed\n \
         1 | (* open (* closed *)\n   | ^^\n  help: end it with `*)`; comments nest"
    );
    assert_eq!(
        error("flag unique po"),
        "m.cat:1:6: error: expected `acyclic`, `irreflexive` or `empty`, found `unique`\n \
         1 | flag unique po\n   |      ^^^^^^"
    );
    assert!(error("procedure p() = show a").contains("expected an instruction or `end`"));
    assert!(error("\"M\"\nacyclc po").ends_with("help: did you mean `acyclic`?"));
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("~", ""), ("f (", ")")] {
        let n = 100_000;
        let text = format!("let x = {}a{}", open.repeat(n), close.repeat(n));
        assert!(error(&text).contains("deep"), "{open}");
    }
    assert!(error(&format!("let x = a{}", "?".repeat(1000))).contains("in a row"));
    assert!(error(&format!("let x = f{}", " a".repeat(1000))).contains("fewer arguments"));
    assert!(error(&"if \"a\" ".repeat(10_000)).contains("deep"));
    assert!(error(&format!("if {}\"a\"", "not ".repeat(10_000))).contains("deep"));
    assert!(error("let x = try ").contains("expected"));
    // What is long is not deep.
    let long = format!("let x = a{} acyclic x", " | a; a & a".repeat(20_000));
    assert!(parse(&source(&long)).is_ok());
}

fn token() -> impl Strategy<Value = String> {
    let words = [
        "let",
        "rec",
        "and",
        "in",
        "fun",
        "->",
        "=",
        "a",
        "b",
        "po",
        "'t",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "|",
        "||",
        "&",
        "&&",
        ";",
        "\\",
        "*",
        "+",
        "++",
        "?",
        "^-1",
        "~",
        "0",
        "_",
        ",",
        "match",
        "with",
        "end",
        "try",
        "if",
        "then",
        "else",
        "\"v\"",
        "not",
        "acyclic",
        "empty",
        "as",
        "show",
        "include",
        "procedure",
        "call",
        "forall",
        "do",
        "from",
        "enum",
        "flag",
        "when",
        "subset",
        "instructions",
        "default",
        "debug",
        "begin",
        "catdep",
        "irreflexive",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_string)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&source(&String::from_utf8_lossy(&bytes))).map_err(|e| e.to_string());
    }

    #[test]
    fn any_words_are_read_or_refused_and_read_back(words in proptest::collection::vec(token(), 0..40)) {
        if let Ok(file) = parse(&source(&words.join(" "))) {
            let once = file.to_string();
            let again = parse(&source(&once));
            prop_assert!(again.is_ok(), "{once}\n{:?}", again.err().map(|e| e.to_string()));
            prop_assert_eq!(once, again.map(|f| f.to_string()).unwrap_or_default());
        }
    }
}
