//! The two engines of the simulator find the same: outcomes, flags, and all that follows.

use crate::exec::Rng;
use crate::random;
use crate::random::Size;
use litmake::cat::load::{Files, load_with};
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Model, Options, Outcomes, Simulator};
use std::path::Path;

fn load(arch: Arch, name: &str) -> Model {
    let plan = cat::load(name, &LoadOptions::new(arch)).expect("a built-in model");
    Model::load(&plan).expect("a built-in model can be simulated")
}

/// What a simulation says, as far as the engines must agree.
fn answer(text: &str, model: &Model, engine: Engine) -> Result<String, String> {
    let source = Source::new("random.litmus", text.to_string());
    let test = litmus::read(&source).map_err(|e| panic!("{text}\n{e}")).unwrap();
    let options = Options { engine, ..Options::default() };
    let outcomes = Simulator::default().simulate(&test, model, &options);
    outcomes.map(|o| shown(&o)).map_err(|e| e.to_string())
}

fn shown(o: &Outcomes) -> String {
    format!("{:#?} {} {} {:?} {} {}", o.states, o.positive, o.negative, o.flags, o.undefined, o.cut)
}

fn agree(text: &str, model: &Model) -> bool {
    let one = answer(text, model, Engine::Enumerate);
    let two = answer(text, model, Engine::Solve);
    assert_eq!(one, two, "under {}:\n{text}", model.name);
    one.is_ok()
}

fn size(rng: &mut Rng) -> Size {
    let threads = 2 + rng.below(2);
    Size {
        threads,
        length: if threads == 2 { 2 + rng.below(3) } else { 2 },
        locations: 2 + rng.below(2),
        observed: rng.below(4),
    }
}

#[test]
fn engines_agree_on_c11() {
    let models: Vec<Model> = random::C_MODELS.iter().map(|n| load(Arch::C, n)).collect();
    let mut simulated = 0;
    for seed in 0..300 {
        let rng = &mut Rng::new(seed);
        let size = size(rng);
        let text = random::c11(rng, size);
        simulated += models.iter().filter(|m| agree(&text, m)).count();
    }
    assert!(simulated > 1500, "only {simulated} answers");
}

#[test]
fn engines_agree_on_aarch64() {
    let models = [load(Arch::AArch64, "aarch64"), load(Arch::AArch64, "sc")];
    let mut simulated = 0;
    for seed in 0..400 {
        let rng = &mut Rng::new(seed);
        let size = size(rng);
        let text = random::aarch64(rng, size, seed % 4 == 0);
        simulated += models.iter().filter(|m| agree(&text, m)).count();
    }
    assert!(simulated > 600, "only {simulated} answers");
}

/// A test of three threads drawn from two bodies, so that some can change places; now and then one
/// of their registers is observed.
fn alike(rng: &mut Rng, c: bool) -> String {
    let mut body = || {
        let mut out = String::new();
        // Six stores to one location would be too many for the reference.
        for place in [&["x"][..], &["y"], &["x", "y"]][rng.below(3)] {
            let n = usize::from(*place == "y");
            let reg = n + 1;
            let value = 1 + rng.below(2);
            out += &match (c, rng.below(5)) {
                (true, 0) => {
                    format!("  atomic_store_explicit({place}, {value}, memory_order_release);\n")
                }
                (true, 1) => format!(
                    "  int r{n} = atomic_load_explicit({place}, memory_order_acquire);\n  \
                     atomic_store_explicit({place}, r{n} + 1, memory_order_relaxed);\n"
                ),
                (true, 2) => format!(
                    "  int r{n} = atomic_fetch_add_explicit({place}, {value}, memory_order_relaxed);\n"
                ),
                (true, 3) => format!(
                    "  int r{n} = atomic_exchange_explicit({place}, {value}, memory_order_seq_cst);\n"
                ),
                (true, _) => format!(
                    "  int r{n} = atomic_load_explicit({place}, memory_order_relaxed);\n  \
                     if (r{n} == {value}) {{ atomic_store_explicit({place}, 2, memory_order_relaxed); }}\n"
                ),
                (false, 0 | 1) => format!("MOV W3,#{value};STR W3,[X{reg}];"),
                (false, 2) => format!("LDR W{n},[X{reg}];ADD W3,W{n},#1;STR W3,[X{reg}];"),
                (false, 3) => format!("MOV W3,#{value};LDADDA W3,W{n},[X{reg}];"),
                (false, _) => {
                    format!("LDR W{n},[X{reg}];CBZ W{n},L{n};MOV W3,#2;STR W3,[X{reg}];L{n}:;")
                }
            };
        }
        out
    };
    let bodies = [body(), body()];
    let which: Vec<usize> = (0..3).map(|_| usize::from(rng.below(3) == 0)).collect();
    let seen = match (rng.below(4), c && bodies[which[1]].contains("int r0")) {
        (0, true) => " 1:r0;",
        (0, false) if !c => " 1:X0;",
        _ => "",
    };
    let end = format!("locations [x; y;{seen}]\nexists (x=1 /\\ y=1)\n");
    if c {
        let thread = |(n, b): (usize, &usize)| {
            format!("P{n} (atomic_int* x, atomic_int* y) {{\n{}}}\n", bodies[*b])
        };
        let threads: String = which.iter().enumerate().map(thread).collect();
        return format!(
            "C alike
{{}}
{threads}{end}"
        );
    }
    let init: String = (0..3).map(|t| format!("{t}:X1=x; {t}:X2=y; ")).collect();
    let code: Vec<Vec<&str>> =
        which.iter().map(|b| bodies[*b].split_terminator(';').collect()).collect();
    let rows = code.iter().map(Vec::len).max().unwrap_or(0);
    let mut table = " P0 | P1 | P2 ;\n".to_string();
    for row in 0..rows {
        let cells: Vec<&str> = code.iter().map(|c| c.get(row).copied().unwrap_or("")).collect();
        table += &format!(" {} ;\n", cells.join(" | "));
    }
    format!(
        "AArch64 alike
{{ {init} }}
{table}{end}"
    )
}

/// The reference goes through all executions, those too that differ in the places of threads alone.
#[test]
fn threads_that_can_change_places_have_the_same_outcomes() {
    let models = [load(Arch::C, "rc11"), load(Arch::AArch64, "aarch64"), load(Arch::AArch64, "sc")];
    let mut simulated = 0;
    for seed in 0..120 {
        let rng = &mut Rng::new(seed);
        let c = seed % 2 == 0;
        let text = alike(rng, c);
        for model in models.iter().filter(|m| (m.name == "rc11") == c) {
            let all = answer(&text, model, Engine::Exhaustive);
            assert_eq!(answer(&text, model, Engine::Auto), all, "under {}:\n{text}", model.name);
            simulated += usize::from(agree(&text, model));
        }
    }
    assert!(simulated > 150, "only {simulated} answers");
    // Fewer partial executions than six threads have orders.
    let add = |n| {
        format!(
            "P{n} (atomic_int* x) {{ atomic_fetch_add_explicit(x, 1, memory_order_relaxed); }}\n"
        )
    };
    let threads: String = (0..6).map(add).collect();
    let source = Source::new(
        "six.litmus",
        format!(
            "C six
{{}}
{threads}exists (x=6)
"
        ),
    );
    let options = Options { engine: Engine::Enumerate, ..Options::default() };
    let outcomes =
        Simulator::default().simulate(&litmus::read(&source).unwrap(), &models[0], &options);
    assert!(outcomes.unwrap().stats.nodes < 720);
}

struct OneModel<'a>(&'a str);

impl Files for OneModel<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok((path == Path::new("random.cat")).then(|| self.0.to_string()))
    }
}

/// Models that nobody would write exercise every way to explain.
#[test]
fn engines_agree_on_random_models() {
    let (mut simulated, mut loaded) = (0, 0);
    for seed in 0..1000 {
        let rng = &mut Rng::new(seed);
        let text = random::model(rng);
        let arch = [Arch::C, Arch::AArch64][rng.below(2)];
        let model = load_with("random.cat", &LoadOptions::new(arch), &OneModel(&text));
        let model = model.unwrap_or_else(|e| panic!("{text}\n{e}"));
        let Ok(model) = Model::load(&model) else { continue };
        loaded += 1;
        for _ in 0..4 {
            let size = Size { threads: 2, length: 2 + rng.below(2), locations: 2, observed: 2 };
            let test = match arch {
                Arch::C => random::c11(rng, size),
                _ => random::aarch64(rng, size, false),
            };
            let one = answer(&test, &model, Engine::Enumerate);
            let two = answer(&test, &model, Engine::Solve);
            assert_eq!(one, two, "{text}\n{test}");
            simulated += usize::from(one.is_ok());
        }
    }
    assert!(loaded > 600 && simulated > 2000, "only {loaded} models, {simulated} answers");
}

/// Tests that are too large to be enumerated in good time go from one engine to the other.
#[test]
fn larger_tests_are_handed_over() {
    let (c11, arm) = (load(Arch::C, "rc11"), load(Arch::AArch64, "aarch64"));
    let mut handed = 0;
    for seed in 0..24 {
        let rng = &mut Rng::new(seed);
        let size = Size { threads: 4, length: 4, locations: 2, observed: 3 };
        let (text, model) = match seed % 2 {
            0 => (random::c11(rng, size), &c11),
            _ => (random::aarch64(rng, size, false), &arm),
        };
        let source = Source::new("random.litmus", text.clone());
        let test = litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let one = Options { engine: Engine::Auto, ..Options::default() };
        let two = Options { engine: Engine::Solve, ..Options::default() };
        let one = Simulator::default().simulate(&test, model, &one).expect("an answer");
        let two = Simulator::default().simulate(&test, model, &two).expect("an answer");
        assert_eq!(shown(&one), shown(&two), "{text}");
        handed += usize::from(one.stats.solved > 0);
    }
    assert!(handed > 4, "only {handed} tests were handed over");
}

/// No engine looks for all orders of stores that come to the same.
#[test]
fn many_unordered_stores_are_no_trouble() {
    let stores = "*x = ".repeat(65);
    let text = format!(
        "C t
{{}}
P0 (atomic_int* x) {{ {stores}2; }}
exists ([x]=2)
"
    );
    let test = litmus::read(&Source::new("t.litmus", text)).expect("a test");
    let model = load(Arch::C, "rc11");
    for engine in [Engine::Auto, Engine::Enumerate, Engine::Solve] {
        // So that a search without end fails here.
        let timeout = Some(std::time::Duration::from_secs(300));
        let options = Options { engine, timeout, ..Options::default() };
        let found = Simulator::default().simulate(&test, &model, &options).expect("an answer");
        let one = litmake::sim::State::from([("[x]".into(), "2".into())]);
        assert_eq!(found.states.iter().collect::<Vec<_>>(), [one], "{engine:?}");
    }
}
