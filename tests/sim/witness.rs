//! What `--explain` says and `--show` draws, on tests of our own.

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Test};
use litmake::report::picture;
use litmake::sim::witness::{self, Answer, with_state};
use litmake::sim::{Model, Options, Simulator};

const MP: &str = r#"AArch64 MP
{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }
P0          | P1                  ;
MOV W0,#1   | LDR W0,[X3]         ;
STR W0,[X1] | EOR W4,W0,W0        ;
DMB SY      | LDR W2,[X1,W4,SXTW] ;
STR W0,[X3] |                     ;
exists (1:X0=1 /\ 1:X2=0)
"#;

fn ask(text: &str, model: &str, state: &str, limit: usize) -> (Test, Model, Answer) {
    let test = litmus::read(&Source::new("mp.litmus", text)).expect("a test");
    let test = with_state(&test, state).expect("a state");
    let model = cat::load(model, &LoadOptions::new(test.arch)).expect("a model");
    let model = Model::load(&model).expect("a model to simulate under");
    let answer = Simulator::default().witness(&test, &model, &Options::default(), limit);
    (test, model, answer.expect("an answer"))
}

fn explain(text: &str, model: &str, state: &str) -> String {
    let (test, model, answer) = ask(text, model, state, 1);
    witness::text(&test, &model, state, &answer)
}

#[test]
fn a_forbidden_outcome_comes_with_its_cycle() {
    let text = explain(MP, "aarch64", "1:X0=1; 1:X2=0");
    let (head, cycle) = text.split_once("The check ").expect("a failed check");
    assert_eq!(
        head,
        "Test MP, model aarch64: 1:X0=1; 1:X2=0 is forbidden.\n\
         Looked at 1 execution that would show it; this one fails fewest checks:\n\
         \x20 a: W[x]=0                initially\n\
         \x20 b: W[y]=0                initially\n\
         \x20 c: W[x]=1                P0, line 5: `STR W0,[X1]`\n\
         \x20 d: F(DMB.SY)             P0, line 6: `DMB SY`\n\
         \x20 e: W[y]=1                P0, line 7: `STR W0,[X3]`\n\
         \x20 f: R[y]=1                P1, line 4: `LDR W0,[X3]`\n\
         \x20 g: R[x]=0                P1, line 6: `LDR W2,[X1,W4,SXTW]`\n\
         \x20 rf: a -> g, e -> f\n\
         \x20 co: a -> c, b -> e\n\
         \x20 final state: 1:X0=1; 1:X2=0;\n"
    );
    assert!(cycle.starts_with("`external` (<built-in>/armv8.cat:"), "{cycle}");
    let edges = cycle.split_once(":\n").map(|(_, e)| e);
    assert_eq!(
        edges,
        Some(
            "  c: W[x]=1\n    -bob (po; [dmb.full]; po)-> e: W[y]=1\n    -obs (rfe)-> f: R[y]=1\n\
             \x20   -addr-dep (addr)-> g: R[x]=0\n    -ca (fr)-> c: W[x]=1\n"
        )
    );
}

#[test]
fn sequential_consistency_is_told_in_base_relations() {
    let text = explain(MP, "sc", "1:X0=1 /\\ 1:X2=0");
    let cycle = text.split_once(":\n  c: W[x]=1\n").map(|(_, e)| e);
    let want =
        "    -po-> e: W[y]=1\n    -rf-> f: R[y]=1\n    -po-> g: R[x]=0\n    -fr-> c: W[x]=1\n";
    assert_eq!(cycle, Some(want), "{text}");
}

#[test]
fn an_allowed_outcome_comes_with_a_witness() {
    let text = explain(MP, "aarch64", "1:X0=1");
    assert!(text.starts_with("Test MP, model aarch64: 1:X0=1 is allowed."), "{text}");
    assert!(text.contains("final state: 1:X0=1;") && !text.contains("The check"), "{text}");
}

#[test]
fn a_state_that_nothing_produces_is_no_matter_of_the_model() {
    let text = explain(MP, "aarch64", "1:X0=5;");
    assert_eq!(text, "Test MP, model aarch64: no execution shows 1:X0=5;, whatever the model.\n");
}

#[test]
fn a_state_that_cannot_be_read_is_an_error() {
    let test = litmus::read(&Source::new("mp.litmus", MP)).expect("a test");
    let error = with_state(&test, "[x]=").expect_err("half a state").to_string();
    assert!(error.starts_with("error: the state cannot be read: expected a value"), "{error}");
}

#[test]
fn the_drawing_for_graphviz_has_the_cycle_in_red() {
    let (test, _, answer) = ask(MP, "aarch64", "1:X0=1; 1:X2=0", 1);
    let dot = picture::dot(&test.name, &answer.executions);
    for line in [
        "  label=\"MP: 1:X0=1; 1:X2=0; (forbidden by external)\";",
        "    label=\"Thread 1\";",
        "    e5 [label=\"f: R[y]=1\"];",
        "  e2 -> e3 [label=\"po\", color=gray, fontcolor=gray];",
        "  e4 -> e5 [label=\"obs (rfe)\", color=red, fontcolor=red, penwidth=2];",
    ] {
        assert!(dot.lines().any(|l| l == line), "{line}\n{dot}");
    }
    assert!(!dot.contains("e2 -> e4 [label=\"po\""), "what follows from po is not drawn\n{dot}");
    assert_eq!(dot.matches(", color=red,").count(), 4);
}

#[test]
fn the_picture_is_bounded_and_escaped() {
    let (_, _, answer) = ask(MP, "aarch64", "true", 2);
    assert_eq!(answer.executions.len(), 2);
    let svg = picture::svg("<\"MP\" & co>", &answer.executions);
    assert!(svg.contains("&lt;&quot;MP&quot; &amp; co&gt;: "), "{svg}");
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    // Each in its heading, and in the picture's name for those who hear it.
    assert_eq!(svg.matches("(allowed)").count(), 2 * 2);
    assert!(svg.ends_with("</svg>\n"));
}
