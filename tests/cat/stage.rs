//! Staging and running models: what folds, what is refused, and that plans and the interpreter
//! say the same.

use crate::exec;
use litmake::cat::define::NEVER_SETTLES;
use litmake::cat::exec::{Exec, Verdict};
use litmake::cat::interp::interpret;
use litmake::cat::load::{Files, LoadOptions, Model, load_with};
use litmake::cat::plan::{BaseRel, BaseSet, CheckKind, Node, Plan, Shape};
use litmake::cat::plan_eval;
use litmake::cat::stage::{StageError, stage};
use litmake::litmus::Arch;
use litmake::rel::{Rel, Set};
use proptest::prelude::*;
use std::path::Path;

struct One(String);

impl Files for One {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok((path == Path::new("m.cat")).then(|| self.0.clone()))
    }
}

fn model_for(arch: Arch, text: &str) -> Model {
    let options = LoadOptions::new(arch);
    load_with("m.cat", &options, &One(text.to_string())).unwrap_or_else(|e| panic!("{e}"))
}

fn model(text: &str) -> Model {
    model_for(Arch::AArch64, text)
}

fn plan(text: &str) -> Plan {
    stage(&model(text)).unwrap_or_else(|e| panic!("{e}"))
}

/// The nodes of a plan, without checks.
fn nodes(text: &str) -> String {
    let dump = plan(text).dump();
    let lines = dump.lines().filter(|l| l.starts_with(' '));
    let texts = lines.map(|l| l.trim_start().splitn(3, ' ').last().unwrap_or("").to_string());
    texts.collect::<Vec<_>>().join(", ")
}

fn invalid(text: &str) -> String {
    match stage(&model(text)) {
        Err(StageError::Invalid(e)) => e.to_string(),
        other => panic!("{other:?}"),
    }
}

fn unstageable(text: &str) -> String {
    match stage(&model(text)) {
        Err(StageError::Unstageable(e)) => e.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn terms_fold() {
    for empty in [
        "empty 0 | {}",
        "empty po & 0",
        "empty po; 0; rf",
        "empty po \\ po",
        "empty po & id",
        "empty int & ext",
        "empty [T]; po",
        "empty rf & (emptyset * W)",
        "empty (R & W) * M",
        "irreflexive po",
        "empty range(rf) & IW",
        "flag ~empty PTE as never",
        "empty if \"vmsa\" then po else 0",
        "empty R \\ M",
        "empty ~_",
        "empty [R]; co",
    ] {
        assert_eq!(plan(empty).checks.len(), 0, "{empty}");
        assert_eq!(plan(empty).nodes.len(), 0, "{empty}");
    }
    assert_eq!(nodes("acyclic po^-1^-1"), "Po");
    assert_eq!(nodes("acyclic (rf+)+"), "Rf");
    assert_eq!(nodes("empty (rf+)+"), "Rf, 0+");
    assert_eq!(nodes("acyclic id; po; id; [_]"), "Po");
    assert_eq!(nodes("empty po & (R * W)"), "R, W, Po, 2 ; [1], [0] ; 3");
    assert_eq!(nodes("empty [R]; po; [W]"), "R, W, Po, 2 ; [1], [0] ; 3");
    assert_eq!(nodes("empty po & ~loc"), "Loc, Po, 1 \\ 0");
    assert_eq!(nodes("empty (po & loc)^-1"), "Loc, Po, 1 & 0, 2^-1");
    assert_eq!(nodes("empty rf | rf | (rf & po)"), "Rf");
    assert_eq!(nodes("empty M & R & Exp"), "R");
}

#[test]
fn recursion_becomes_closure_where_it_can() {
    assert_eq!(nodes("let rec r = po | rf | r; r empty r"), "Rf, Po, 1 | 0, 2+");
    assert_eq!(nodes("let rec r = rf | r; rf empty r").matches("fix").count(), 0);
    assert_eq!(nodes("let rec r = rf | co; r empty r").matches("fix").count(), 0);
    let two = plan("let rec a = rf | b; po and b = co | a; rf empty a");
    assert_eq!(two.groups.len(), 1);
    assert_eq!(two.groups[0].bodies.len(), 2);
    let set = plan("let rec s = IW | range([s]; rf) empty s");
    assert_eq!(set.groups[0].is_set, [true]);
    assert_eq!(nodes("let rec r = po empty r"), "Po");
    assert!(unstageable("let rec r = rf \\ r empty r").contains("does not grow"));
}

#[test]
fn bodies_come_before_their_solution() {
    let p = plan("let rec a = rf | a; po; a and b = a | b; co empty [W]; b");
    for (id, node) in p.nodes.iter().enumerate() {
        assert!(node.operands().all(|o| (o as usize) < id));
        if let Node::Fix(g, _) = node {
            assert!(p.groups[*g as usize].bodies.iter().all(|b| (*b as usize) < id));
        }
    }
}

#[test]
fn coherence_is_the_order_that_is_searched() {
    let plain = plan("include \"cross.cat\" with mo from generate_cos(co0) acyclic mo | rf");
    assert_eq!(plain.checks.len(), 1);
    let asked = plan("with mo from generate_cos(co0 | po-loc & (W * W)) acyclic mo");
    assert_eq!(asked.checks[0].name, "coherence");
    assert_eq!(asked.checks[0].shape, Shape::Empty);
    assert_eq!(asked.checks[0].kind, CheckKind::Require);
    let some = plan("with mo from generate_orders(W & L, pco) empty mo");
    assert!(some.nodes.contains(&Node::BaseRel(BaseRel::Co)));
    let none = plan("with lo from generate_orders(TLBI, po) empty lo");
    assert_eq!(none.checks.len(), 0);
    assert!(unstageable("with o from generate_orders(F, po) empty o").contains("only writes"));
    assert!(unstageable("with o from linearisations(A, po) empty o").contains("not known"));
}

#[test]
fn matches_on_constant_sets_are_decided() {
    let text = "let rec count S = match S with || {} -> 0 || e ++ S -> count S | po end
        enum t = 'a || 'b
        let f x = match x with 'a -> po || _ -> rf end
        let g = map (fun r -> (r | co)) {f 'a, f 'b}
        let rec pick S = match S with || {} -> 0 || e ++ S -> e | pick S end
        empty count TLBI as one
        empty pick g as two";
    let p = plan(text);
    assert_eq!(p.checks.len(), 1);
    assert_eq!(p.checks[0].name, "two");
    assert!(
        unstageable("let f = match W with || {} -> 0 || e ++ s -> po end empty f")
            .contains("m.cat:1:15")
    );
    let tags =
        "enum t = 'a || 'b forall x in t do empty (match x with 'a -> po || 'b -> rf end) as c end";
    assert_eq!(plan(tags).checks.len(), 2);
    assert_eq!(plan("enum t = 'a || 'b forall x in ~{'a} do empty po end").checks.len(), 1);
}

#[test]
fn what_goes_wrong_matters_only_where_it_is_used() {
    assert_eq!(nodes("let x = nonsense let y = po acyclic y"), "Po");
    assert_eq!(nodes("let x = try nonsense with po acyclic x"), "Po");
    assert_eq!(nodes("let x = try let f y = z in f 0 with po acyclic x"), "Po");
    // What cannot be staged is no error that `try` could catch.
    unstageable("let x = try match W with || {} -> 0 || e ++ s -> po end with po acyclic x");
}

#[test]
fn errors_point_at_the_place() {
    assert_eq!(
        invalid("M\nlet x = po-lco\nacyclic x | rf"),
        "m.cat:2:9: error: `po-lco` is not defined\n 2 | let x = po-lco\n   |         ^^^^^^\n  \
         help: did you mean `po-loc`?"
    );
    assert_eq!(
        invalid("acyclic po | W"),
        "m.cat:1:14: error: `|` cannot join a relation and a set of events\n \
         1 | acyclic po | W\n   |              ^"
    );
    assert_eq!(
        invalid("empty RLX"),
        "m.cat:1:7: error: `RLX` is an annotation of C tests, and this test is AArch64\n \
         1 | empty RLX\n   |       ^^^\n  \
         help: choose a model of this architecture, or write `try .. with emptyset`"
    );
    assert!(invalid("acyclic R").contains("expected a relation, found a set"));
    assert!(invalid("let f(a, b) = a empty f po").contains("f takes 2 arguments"));
    assert!(invalid("let f x = g x empty f po").contains("m.cat:1:11: error: `g` is not defined"));
    assert!(invalid("procedure p(a, b) = empty a end call p(po)").contains("other arguments"));
    assert!(invalid("empty 'x").contains("no enumeration has the tag"));
    assert!(invalid("let rec f x = f x empty f po").contains("too deep"));
    assert!(invalid("~empty 0 & po let x = 0 empty (fun y -> y)").contains("expected a relation"));
}

#[test]
fn names_and_places_of_checks() {
    let p = plan("M\nprocedure p(r) =\n acyclic r as named\nend\ncall p(rf)\n  empty   rf |\n co");
    let checks: Vec<_> = p.checks.iter().map(|c| (c.name.as_str(), c.place.as_str())).collect();
    assert_eq!(checks, [("named", "m.cat:3"), ("empty rf | co", "m.cat:6")]);
}

#[test]
fn registers_are_asked_for() {
    assert!(plan("catdep acyclic po").catdep);
    assert!(!plan("acyclic po").catdep);
}

// Running.

/// Two threads, one write each to one place, after the initial write.
fn two_writes() -> Exec {
    let n = 3;
    let w = Set::full(n);
    let mut exec = Exec { n, ..Exec::default() };
    exec.sets.insert(BaseSet::W, w.clone());
    exec.sets.insert(BaseSet::M, w.clone());
    exec.sets.insert(BaseSet::Iw, Set::of(n, [0]));
    exec.rels.insert(BaseRel::Loc, Rel::full(n));
    exec.rels.insert(BaseRel::Co, Rel::of(n, [(0, 1), (0, 2), (1, 2)]));
    exec.rels.insert(BaseRel::Ext, Rel::full(n).diff(&Rel::identity(n)));
    exec
}

fn run(text: &str) -> Verdict {
    interpret(&model(text), &two_writes()).unwrap_or_else(|e| panic!("{e}"))
}

/// A definition that does not grow with itself has its value where a round has nothing new.
#[test]
fn what_does_not_grow_ends_with_nothing_new() {
    let text = "let rec s = IW \\ s flag ~empty s as some flag empty s as none";
    let plan = plan(text);
    agree(&model(text), &plan, &two_writes());
    let flags = plan_eval::run(&plan, &two_writes()).unwrap().flags;
    assert_eq!(flags.into_iter().collect::<Vec<_>>(), ["none"]);
}

#[test]
fn the_interpreter_takes_sets_apart() {
    let text = "let rec size S = match S with || {} -> {} || e ++ S -> (size S) ++ (size S) end
        let rec all S = match S with || {} -> 0 || a | e ++ b -> [e] | all a | all b end
        empty all W \\ [W] as same
        empty [W] \\ all W as equal
        flag ~empty all W as some";
    let v = run(text);
    assert!(v.allowed());
    assert_eq!(v.flags.into_iter().collect::<Vec<_>>(), ["some"]);
}

#[test]
fn the_interpreter_tries_every_member() {
    // One order of the writes has (2, 1): it alone satisfies the check.
    assert!(run("with s from linearisations(W, 0) empty [W\\IW]; co \\ s^-1; [W\\IW]").allowed());
    assert!(
        !run("with s from linearisations(W, co) empty [W \\ IW]; s; [W \\ IW] as none").allowed()
    );
    assert!(!run("with s from {} empty 0").allowed());
    let v = run(
        "with s from linearisations(W, 0) with t from linearisations(W, 0) empty s & t flag ~empty t as t",
    );
    assert!(v.allowed());
}

#[test]
fn the_interpreter_takes_the_given_coherence() {
    assert!(run("with co from generate_cos(co0) empty (co0 \\ co) | (co & id)").allowed());
    let v = run("with co from generate_cos(co^-1) empty 0");
    let failed = v.failed.unwrap();
    assert_eq!((failed.name.as_str(), failed.events), ("coherence", vec![1, 0]));
}

#[test]
fn cycles_are_reported_in_order() {
    let v = run("acyclic co | [FW]; co^-1; [IW] as ring");
    let failed = v.failed.unwrap();
    assert_eq!(failed.name, "ring");
    assert_eq!(failed.place, "m.cat:1");
    assert_eq!(failed.events, [0, 2]);
}

#[test]
fn classes_and_lifting() {
    assert!(run("let c = classes-loc W let r = lift(c, co) let d = deliftinter(co, r) empty (co \\ d) | (d \\ co)").allowed());
    assert!(run("let rec n S = match S with || {} -> 0 || c ++ S -> (c * c) | n S end empty loc \\ n (partition W)").allowed());
}

#[test]
fn assertions_and_undefined() {
    assert!(interpret(&model("assert empty W as a"), &two_writes()).is_err());
    assert!(run("undefined_unless empty W as u").undefined);
    assert!(!run("undefined_unless empty R as u").undefined);
}

#[test]
fn hostile_models_end() {
    for text in [
        "let rec f x = f (f x) empty f 0",
        "let rec f x = (x | f x) and g y = f y empty g 0",
        "let rec r = ~r empty r",
        "let f x = x x empty f f",
        "let rec p x = match {0, rf, co} with || {} -> 0 || e ++ s -> p (p e) end empty p 0",
        "procedure rec p x = call p (x) call p (x) end call p (0)",
        "with a from linearisations(W, 0) with b from linearisations(W, 0) with c from linearisations(W, 0) \
         with d from linearisations(W, 0) with e from linearisations(W, 0) with f from linearisations(W, 0) \
         with g from linearisations(W, 0) with h from linearisations(W, 0) ~empty 0",
    ] {
        let model = model(text);
        let _ = stage(&model).map_err(|e| e.to_string());
        let _ = interpret(&model, &two_writes()).map_err(|e| e.to_string());
    }
}

const TEXTS: &[&str] = &[
    "let rec a = rf | b; po and b = co | a; rf & loc acyclic a irreflexive a; b as two",
    "let rec s = IW | range([s]; rf) and r = [s]; po | r; rf empty s & F as s irreflexive r; co",
    "let rec outer = rf | (let rec inner = outer; po | inner; co in inner) | outer; outer acyclic outer",
    "flag ~empty (po \\ loc) & (R * W) as f undefined_unless empty ((W * M) & ext & loc) \\ (po | rf)+ as u",
    "empty ~(po | po^-1 | id) & int as total flag ~acyclic rf; co^-1; po as g",
    "with mo from generate_cos(co0 | ([W]; po-loc; [W])) acyclic mo | po-loc | rf",
    "with mo from generate_orders(W & (L | IW), co0) irreflexive mo; po; rf^-1? as q",
    "let f(x, y) = [x]; po; [y] | fencerel(F) let g = map (fun r -> r+) {rf, co} \
     forall r in g do acyclic r | f(R, W) | f(W, M) end",
    "empty (domain(po) * range(rf)) \\ (M * R) \\ (F * _) \\ (B * _) flag ~empty domain(po) as d flag empty range(addr) & W as e",
    "let x = ((~(R | F)) * ~W) & po irreflexive x; x^-1; co empty x & (x; x) \\ loc",
    "acyclic ([M]; sm?; [M] | rf; co?)* \\ id flag ~irreflexive (po*)^-1; (rf|id)+ as p",
];

fn agree(model: &Model, plan: &Plan, exec: &Exec) {
    let (slow, fast) = match (interpret(model, exec), plan_eval::run(plan, exec)) {
        (Ok(slow), Ok(fast)) => (slow, fast),
        (Err(slow), Err(fast))
            if [&slow, &fast].map(|e| e.message == NEVER_SETTLES) == [true; 2] =>
        {
            return;
        }
        (slow, fast) => panic!(
            "{}\nfast: {:?}\nslow: {:?}\n{exec:?}",
            model.name,
            fast.map_err(|e| e.to_string()),
            slow.map_err(|e| e.to_string())
        ),
    };
    assert_eq!(fast.allowed(), slow.allowed(), "{}\n{fast:?}\n{slow:?}\n{exec:?}", model.name);
    if fast.allowed() {
        assert_eq!(fast, slow);
    }
}

fn staged(text: &str, arch: Arch) -> (Model, Plan) {
    let model = model_for(arch, text);
    let plan = stage(&model).unwrap_or_else(|e| panic!("{text}: {e}"));
    (model, plan)
}

fn built_in(name: &str, arch: Arch) -> (Model, Plan) {
    let model =
        litmake::cat::load::load(name, &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
    let plan = stage(&model).unwrap_or_else(|e| panic!("{name}: {e}"));
    (model, plan)
}

/// The text of a random set.
fn set_text() -> BoxedStrategy<String> {
    let names =
        ["R", "W", "M", "F", "B", "IW", "FW", "Exp", "X", "L", "emptyset", "_", "s", "Const"];
    let leaf = proptest::sample::select(names.to_vec()).prop_map(str::to_string);
    leaf.prop_recursive(2, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (two, proptest::sample::select(vec!["|", "&", "\\"]))
                .prop_map(|((a, b), op)| format!("({a} {op} {b})")),
            inner.prop_map(|a| format!("(~{a})")),
            proptest::sample::select(vec![
                "domain(r)",
                "range(r)",
                "domain(rf & ext)",
                "range(po; [F])",
                "range(co+)"
            ])
            .prop_map(str::to_string),
        ]
    })
    .boxed()
}

/// The text of a random relation; `v` grows with what it stands for.
fn rel_text() -> BoxedStrategy<String> {
    let names = [
        "po",
        "rf",
        "co",
        "fr",
        "loc",
        "int",
        "ext",
        "id",
        "addr",
        "rmw",
        "amo",
        "po-loc",
        "0",
        "r",
        "same-instance",
        "rfe",
        "co0",
        "v",
    ];
    let leaf = proptest::sample::select(names.to_vec()).prop_map(str::to_string);
    leaf.prop_recursive(4, 24, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        let with_set = (inner.clone(), set_text());
        prop_oneof![
            4 => (two, proptest::sample::select(vec!["|", "&", ";", "\\"])).prop_map(|((a, b), op)| format!("({a} {op} {b})")),
            2 => (inner.clone(), proptest::sample::select(vec!["+", "*", "?", "^-1"])).prop_map(|(a, op)| format!("({a}{op})")),
            1 => inner.prop_map(|a| format!("(~{a})")),
            2 => with_set.clone().prop_map(|(r, s)| format!("([{s}]; {r})")),
            2 => with_set.prop_map(|(r, s)| format!("({r}; [{s}])")),
            1 => (set_text(), set_text()).prop_map(|(a, b)| format!("({a} * {b})")),
            1 => set_text().prop_map(|a| format!("[{a}]")),
        ]
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn folding_never_changes_a_verdict(
        (s, r, v, check) in (set_text(), rel_text(), rel_text(), rel_text()),
        seed in any::<u32>(),
    ) {
        let (s, r) = (format!("let s = IW let r = rf let s = {s}"), format!("let v = po let r = {r}"));
        let text = format!(
            "include \"cos.cat\" {s} {r} let rec v = {v} | v; v \
             flag ~empty v as it flag ~empty {check} as some flag acyclic {check} as ordered flag ~irreflexive {check} as loops \
             flag ~empty domain({check}) as sources"
        );
        for arch in [Arch::AArch64, Arch::C] {
            let text = if arch == Arch::C { text.replace('L', "SC") } else { text.clone() };
            let model = model_for(arch, &text);
            let plan = match stage(&model) {
                Ok(plan) => plan,
                Err(StageError::Unstageable(_)) => continue,
                Err(StageError::Invalid(e)) => { prop_assert!(false, "{e}"); continue }
            };
            for i in 0..4 {
                agree(&model, &plan, &exec::random(u64::from(seed) + i, arch, false));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn plans_of_small_models_agree_with_the_interpreter(seed in any::<u32>()) {
        for text in TEXTS {
            for (registers, arch) in [(false, Arch::AArch64), (true, Arch::AArch64)] {
                let (model, plan) = staged(text, arch);
                for i in 0..20 {
                    agree(&model, &plan, &exec::random(u64::from(seed) + i, arch, registers));
                }
            }
        }
    }

    #[test]
    fn plans_of_our_models_agree_with_the_interpreter(seed in any::<u32>()) {
        for (name, arch) in [
            ("sc", Arch::C), ("sc", Arch::Mips), ("rc11", Arch::C), ("rc11-lb", Arch::C),
            ("c11", Arch::C), ("opencl", Arch::C), ("wgsl-sc-per-loc", Arch::C), ("wgsl-rel-acq", Arch::C), ("vulkan", Arch::C),
            ("const-write", Arch::X86), ("aarch64", Arch::AArch64), ("aarch32", Arch::Arm),
            ("armv7", Arch::Arm), ("riscv", Arch::RiscV), ("x86tso", Arch::X86_64),
            ("x86tso-herd2025", Arch::X86_64), ("ppc", Arch::Ppc), ("mips", Arch::Mips),
            ("mips-weak", Arch::Mips),
        ] {
            let (model, plan) = built_in(name, arch);
            for i in 0..10 {
                agree(&model, &plan, &exec::random(u64::from(seed) + i, arch, false));
            }
        }
    }
}

#[test]
fn long_chains_are_refused_and_not_walked() {
    // Each operand is another one, so that nothing folds.
    let relations: Vec<&str> = (0..20_000).map(|i| ["rf", "co^-1"][i % 2]).collect();
    let wide = format!("let r = po;{}\nacyclic r\n", relations.join(";"));
    assert!(invalid(&wide).contains("more than 1000 deep"));
    let mut long = String::from("let r0 = po\n");
    for i in 1..20_000 {
        long += &format!("let r{i} = r{};{}\n", i - 1, ["rf", "co^-1"][i % 2]);
    }
    assert!(invalid(&(long + "acyclic r19999\n")).contains("more than 1000 deep"));
    // What folds is as short as it is.
    let union = vec!["rf"; 20_000].join(" | ");
    assert_eq!(nodes(&format!("let r = {union}\nacyclic r\n")), nodes("let r = rf\nacyclic r\n"));
}
