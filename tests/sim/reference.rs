//! The engines against the reference, which goes through every candidate and interprets the
//! model over each: the same outcomes, verdicts and flags.

use crate::exec::Rng;
use crate::random::Size;
use crate::{kernel, listings, random};
use litmake::cat::load::{Files, load_with};
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Model, Options, Simulator};
use std::path::Path;

fn load(arch: Arch, name: &str) -> Model {
    let model = cat::load(name, &LoadOptions::new(arch)).expect("a built-in model");
    Model::load(&model).expect("a built-in model can be simulated")
}

struct OneModel<'a>(&'a str);

impl Files for OneModel<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok((path == Path::new("own.cat")).then(|| self.0.to_string()))
    }
}

fn own(arch: Arch, text: &str) -> Model {
    let model = load_with("own.cat", &LoadOptions::new(arch), &OneModel(text));
    let model = model.unwrap_or_else(|e| panic!("{text}\n{e}"));
    Model::load(&model).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn answer(text: &str, model: &Model, engine: Engine) -> Result<String, String> {
    let source = Source::new("random.litmus", text.to_string());
    let test = litmus::read(&source).map_err(|e| panic!("{text}\n{e}")).unwrap();
    let options = Options { engine, ..Options::default() };
    let o = Simulator::default().simulate(&test, model, &options).map_err(|e| e.to_string())?;
    let mut flags = o.flags;
    flags.sort();
    flags.dedup();
    Ok(format!("{:#?} {} {} {flags:?} {} {}", o.states, o.positive, o.negative, o.undefined, o.cut))
}

/// Whether the test was simulated at all.
fn agree(text: &str, model: &Model, note: &str) -> bool {
    let reference = answer(text, model, Engine::Exhaustive);
    for engine in [Engine::Enumerate, Engine::Solve] {
        let fast = answer(text, model, engine);
        if reference.is_err() && fast.is_err() {
            continue;
        }
        assert_eq!(reference, fast, "{engine:?} under {}:\n{note}\n{text}", model.name);
    }
    reference.is_ok()
}

/// How many tests of each kind: more where a person asks for it.
fn rounds(usual: u64) -> u64 {
    let more = std::env::var("LITMAKE_REFERENCE_ROUNDS").ok();
    more.and_then(|n| n.parse::<u64>().ok()).map_or(usual, |n| usual * n)
}

fn small(rng: &mut Rng) -> Size {
    let threads = 2 + rng.below(2);
    Size {
        threads,
        length: if threads == 2 { 2 } else { 1 + rng.below(2) },
        locations: 2,
        observed: rng.below(4),
    }
}

fn built_in(arch: Arch, names: &[&str], rounds: u64, test: impl Fn(&mut Rng, u64) -> String) {
    let models: Vec<Model> = names.iter().map(|n| load(arch, n)).collect();
    let mut simulated = 0;
    let mut trouble = None;
    for seed in 0..rounds {
        let rng = &mut Rng::new(seed);
        let text = test(rng, seed);
        simulated += models.iter().filter(|m| agree(&text, m, "")).count();
        let last = answer(&text, &models[0], Engine::Enumerate).err();
        trouble = last.map(|e| format!("{text}{e}")).or(trouble);
    }
    assert!(
        simulated as u64 * 2 > rounds * names.len() as u64,
        "only {simulated} answers: {}",
        trouble.unwrap_or_default()
    );
}

#[test]
fn c11() {
    built_in(Arch::C, &random::C_MODELS, rounds(60), |rng, _| {
        let size = small(rng);
        random::c11(rng, size)
    });
}

#[test]
fn aarch64() {
    built_in(Arch::AArch64, &["aarch64", "sc"], rounds(60), |rng, seed| {
        let size = small(rng);
        random::aarch64(rng, size, seed % 8 == 0)
    });
}

#[test]
fn other_dialects() {
    let dialects: [(Arch, &[&str]); 6] = [
        (Arch::Arm, &["armv7", "aarch32", "sc"]),
        (Arch::X86_64, &["x86tso", "x86tso-herd2025", "sc"]),
        (Arch::X86, &["x86tso", "sc"]),
        (Arch::RiscV, &["riscv", "sc"]),
        (Arch::Ppc, &["ppc", "sc"]),
        (Arch::Mips, &["mips", "mips-weak", "mips-sync", "sc"]),
    ];
    for (arch, names) in dialects {
        built_in(arch, names, rounds(40), |rng, _| {
            let size = small(rng);
            listings::listing(rng, arch, size)
        });
    }
}

#[test]
fn random_models() {
    let archs = [Arch::C, Arch::AArch64, Arch::X86_64, Arch::RiscV];
    let mut simulated = 0;
    for seed in 0..rounds(150) {
        let rng = &mut Rng::new(1000 + seed);
        let text = random::model(rng);
        let arch = archs[rng.below(archs.len())];
        let Ok(model) = load_with("own.cat", &LoadOptions::new(arch), &OneModel(&text)) else {
            panic!("{text}");
        };
        let Ok(model) = Model::load(&model) else { continue };
        for _ in 0..3 {
            let size = Size { threads: 2, length: 2, locations: 2, observed: 2 };
            let test = match arch {
                Arch::C => random::c11(rng, size),
                Arch::AArch64 => random::aarch64(rng, size, false),
                _ => listings::listing(rng, arch, size),
            };
            simulated += usize::from(agree(&test, &model, &text));
        }
    }
    assert!(simulated > 150, "only {simulated} answers");
}

/// A recursive definition that does not grow with itself has no plan, only an interpretation.
#[test]
fn a_model_that_cannot_be_staged_is_interpreted() {
    let text = "\"Own\"\ninclude \"cos.cat\"\n\
        let rec odd = po \\ (odd; rf)\n\
        acyclic odd | rf | co | fr as order\n\
        flag ~empty (rf & ext) as communication\n";
    let model = own(Arch::AArch64, text);
    assert!(model.is_interpreted());
    for seed in 0..20 {
        let rng = &mut Rng::new(seed);
        let size = small(rng);
        assert!(agree(&random::aarch64(rng, size, false), &model, text));
    }
    let test = r"AArch64 SB
{ 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; }
P0 | P1 ;
MOV W0,#1 | MOV W0,#1 ;
STR W0,[X1] | STR W0,[X1] ;
LDR W2,[X3] | LDR W2,[X3] ;
exists (0:X2=0 /\ 1:X2=0)
";
    let answer = answer(test, &model, Engine::Auto).expect("it can be interpreted");
    assert!(answer.ends_with(" 0 3 [\"communication\"] false false"), "{answer}");
}

/// What only a flag asks for that no execution can raise is not computed; the others are raised
/// where they were.
#[test]
fn flags_that_cannot_be_raised_hide_no_others() {
    let text = "\"Own\"\ninclude \"cos.cat\"\nlet hb = (po | rf)+\n\
        let none = (F * F) & loc\nlet conflict = ext & loc & (W * W) \\ ((IW * _) | (_ * IW))\n\
        acyclic po-loc | rf | co | fr as coherence\n\
        flag ~empty (none \\ (hb | hb^-1)) as never\n\
        undefined_unless empty (none & (hb | hb^-1)) as never-either\n\
        flag empty none & hb as always\n\
        flag ~empty (conflict \\ (hb | hb^-1)) as race\n\
        flag ~empty (po & (rf^-1; co)) as odd\n\
        flag ~empty (R & W & F) as never-set\n\
        flag ~empty W as writes\n\
        undefined_unless ~empty IW as inits\n\
        flag ~empty (F & (R | W | F)) as fences\n\
        undefined_unless empty ((rf & ext) \\ (co; po)) as communication\n";
    let mut seen: std::collections::BTreeSet<&str> = Default::default();
    for arch in [Arch::AArch64, Arch::C] {
        let model = own(arch, text);
        assert!(!model.is_interpreted());
        for seed in 0..60 {
            let rng = &mut Rng::new(seed);
            let size = small(rng);
            let test = match arch {
                Arch::C => random::c11(rng, size),
                _ => random::aarch64(rng, size, false),
            };
            if agree(&test, &model, text)
                && let Ok(answer) = answer(&test, &model, Engine::Enumerate)
            {
                let flags = ["never", "always", "race", "odd", "undef", "writes", "fences"];
                seen.extend(flags.into_iter().filter(|f| answer.contains(&format!("\"{f}"))));
            }
        }
    }
    assert!(
        ["always", "race", "undef", "writes", "fences"].iter().all(|f| seen.contains(f)),
        "{seen:?}"
    );
    assert!(!seen.contains(&"never"), "{seen:?}");
}

/// Definitions that use each other, some of which share a part: however often each is worked out,
/// all come to the same.
#[test]
fn definitions_that_use_each_other() {
    let text = "\"Own\"\ninclude \"cos.cat\"\n\
        let rec a = (po & loc) | (b; c) | (rf & ext) | ([s]; d)\n\
        and b = (b; c) | (a & loc) | co | (d; a)\n\
        and c = (fr & ext) | (b; c) | ([s]; po; d)\n\
        and s = range (a; rf) | F | domain (c & po)\n\
        and d = (po \\ rf) & (a; po | rf | c)\n\
        acyclic po-loc | rf | co | fr as coherence\n\
        acyclic a & ext | d as order\n\
        irreflexive b; c; rf as other\n\
        flag ~empty (s & R) as some-reads\n\
        flag ~empty (c; d) as chained\n";
    let mut simulated = 0;
    for arch in [Arch::AArch64, Arch::C] {
        let model = own(arch, text);
        assert!(!model.is_interpreted());
        for seed in 0..80 {
            let rng = &mut Rng::new(7000 + seed);
            let size = small(rng);
            let test = match arch {
                Arch::C => random::c11(rng, size),
                _ => random::aarch64(rng, size, false),
            };
            simulated += usize::from(agree(&test, &model, text));
        }
    }
    assert!(simulated > 100, "only {simulated} answers");
}

/// A definition over the program alone may shrink with itself: it ends where a round has nothing
/// new, and has no value where every round has.
#[test]
fn what_does_not_grow_ends_or_is_refused() {
    let ends = "\"Own\"\ninclude \"cos.cat\"\nlet rec odd = po \\ odd\n\
        acyclic odd | rf | co | fr as order\nflag ~empty odd as some\n";
    let never = "\"Own\"\ninclude \"cos.cat\"\nlet next = po \\ (po; po)\n\
        let rec odd = (next \\ odd) | odd; odd\nflag ~empty odd as some\n";
    let test = r"AArch64 three
{ 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; }
P0 | P1 ;
MOV W0,#1 | MOV W0,#1 ;
STR W0,[X1] | STR W0,[X1] ;
LDR W2,[X3] | LDR W2,[X3] ;
LDR W4,[X3] | ;
exists (0:X2=0 /\ 1:X2=0)
";
    let model = own(Arch::AArch64, ends);
    assert!(!model.is_interpreted());
    assert!(agree(test, &model, ends));
    let found = answer(test, &model, Engine::Auto).expect("it can be simulated");
    assert!(found.ends_with(" [] false false"), "{found}");
    let model = own(Arch::AArch64, never);
    assert!(!model.is_interpreted());
    for engine in [Engine::Auto, Engine::Exhaustive, Engine::Enumerate, Engine::Solve] {
        let error = answer(test, &model, engine).expect_err("no value to give it");
        assert!(error.contains("never settles"), "{engine:?}: {error}");
    }
}

/// An AMO is one event, which both reads and writes.
#[test]
fn a_riscv_amo_is_one_event_for_the_model() {
    let test = "RISCV amo
{ 0:x8=x; }
P0 ;
li x6,1 ;
amoswap.w.aq x5,x6,(x8) ;
exists (0:x5=0)
";
    for (check, allowed) in [("empty (IW * W) & rf", 0), ("empty (R & W) \\ R", 1)] {
        let model = own(Arch::RiscV, &format!("\"Own\"\ninclude \"cos.cat\"\n{check} as it\n"));
        assert!(agree(test, &model, check));
        let found = answer(test, &model, Engine::Auto).expect("it can be simulated");
        assert!(found.ends_with(&format!(" {allowed} 0 [] false false")), "{check}: {found}");
    }
}

/// A model with a bell file: locks, whose order and sources the model itself asks for, and
/// read-modify-writes of two events.
#[test]
fn kernel_style() {
    let model = kernel::model(true, true);
    assert!(!model.is_interpreted());
    let mut simulated = 0;
    for seed in 0..rounds(120) {
        let rng = &mut Rng::new(seed);
        let length = 2 + rng.below(2);
        simulated += usize::from(agree(&kernel::test(rng, 2, length), &model, ""));
    }
    assert!(simulated > 100, "only {simulated} answers");
}
