//! All engines against the reference on tests with the shapes of compiled code, under built-in models, those
//! of users and random ones: equal outcomes and flags, or an error of the reference that names its limit.
//!
//! `LITMAKE_SHAPES=20000` draws as many tests of each dialect (CONTRIBUTING.md has the other variables).

#![allow(clippy::print_stdout, reason = "figures are shown where they are asked for (--nocapture)")]

// Files that the tests of the whole program share name crates as it does.
extern crate self as litmake;
use litmake_base::{diag, file, rel};
use litmake_cat as cat;
use litmake_litmus as litmus;
use litmake_ops as ops;
use litmake_sim as sim;

#[path = "../../../../tests/common/differ.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod differ;
mod drawn;
#[path = "../../../../tests/common/exec.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod exec;
#[path = "../../../../tests/common/wide.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod wide;

use diag::{Diag, Source};
use exec::Rng;
use litmake_base::failure::{FailureKind, Fault};
use litmus::Arch;
use sim::{Engine, Model, Options, Outcomes, Simulator};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How many tests of a dialect are drawn, if nobody says more.
const TESTS: u64 = 600;

/// How many random models are drawn.
const MODELS: u64 = 500;

/// The help of an error that says that only the reference is too small for the test.
const LIMIT: &str = "the other engines have no such limit";

/// So long the reference may take. Few tests need a tenth of it.
const PATIENCE: Duration = Duration::from_secs(2);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number was expected")))
}

/// The outcomes of a simulation as text, as far as the engines must agree on them, and whether turns of loops were cut.
type Answer = Result<(String, bool), Box<Diag>>;

fn answer(test: &litmus::Test, model: &Model, engine: Engine) -> Answer {
    // The others need far less time than the reference, and an answer that they lack is a difference.
    let timeout = if engine == Engine::Exhaustive { PATIENCE } else { 10 * PATIENCE };
    let options = Options { engine, timeout: Some(timeout), ..Options::default() };
    let run = || Simulator::default().simulate(test, model, &options);
    // A panic is no answer, whatever the other engines say.
    let outcomes = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let own = FailureKind::Broken(Fault::Own);
    let outcomes = outcomes.unwrap_or_else(|_| Err(Diag::new("a panic").kind(own)))?;
    let Outcomes { states, positive, negative, mut flags, undefined, cut, .. } = outcomes;
    flags.sort();
    flags.dedup();
    let state = |s: sim::State| s.iter().map(|(k, v)| format!("{k}={v}; ")).collect::<String>();
    let states: Vec<String> = states.iter().map(state).collect();
    let text = format!("{}\n{positive} {negative} {flags:?} {undefined}", states.join("\n"));
    Ok((text, cut))
}

/// How the engines compare on one test.
enum Compared {
    Equal,
    /// All refuse the test, for this reason.
    Refused(String),
    /// The reference has no answer, for this reason.
    GivenUp(String),
    Different(String),
}

/// The words of an error without what is of one test.
fn reason(e: &Diag) -> String {
    let word = |w: &str| match w.chars().any(|c| c.is_ascii_digit() || c == '`' || c == '$') {
        true => "_".to_string(),
        false => w.to_string(),
    };
    let words: Vec<String> = e.message.split_whitespace().map(word).collect();
    let mut words = words;
    // An instruction stands between backquotes.
    if let Some(end) = e.message.rfind("`:") {
        words = e.message[end + 2..].split_whitespace().map(word).collect();
    }
    words.join(" ")
}

fn compare(test: &litmus::Test, model: &Model) -> Compared {
    let reference = answer(test, model, Engine::Exhaustive);
    if let Err(e) = &reference {
        if e.kind == FailureKind::Broken(Fault::OutOfTime) {
            return Compared::GivenUp("time".to_string());
        }
        if e.help.as_deref() == Some(LIMIT) {
            return Compared::GivenUp(reason(e));
        }
    }
    let panics = |a: &Answer| a.as_ref().is_err_and(|e| e.kind == FailureKind::Broken(Fault::Own));
    for engine in [Engine::Auto, Engine::Enumerate, Engine::Solve] {
        let fast = answer(test, model, engine);
        let agree = match (&reference, &fast) {
            // The reference does not know that a loop ends where memory is never written, and cuts it.
            (Ok((a, cut)), Ok((b, also))) => a == b && cut >= also,
            (Err(_), Err(_)) => !panics(&reference) && !panics(&fast),
            _ => false,
        };
        if !agree {
            let show = |r: &Answer| match r {
                Ok((text, cut)) => format!("{text} {cut}"),
                Err(e) => e.to_string(),
            };
            let (reference, fast) = (show(&reference), show(&fast));
            return Compared::Different(format!(
                "{engine:?} differs\nreference:\n{reference}\n{engine:?}:\n{fast}"
            ));
        }
    }
    match reference {
        Ok(_) => Compared::Equal,
        Err(e) => Compared::Refused(reason(&e)),
    }
}

/// The results of the tests of a dialect: their numbers, by reason where there is one, and the differences.
#[derive(Default)]
struct Tally {
    drawn: u64,
    compared: u64,
    equal: u64,
    refused: BTreeMap<String, u64>,
    given_up: BTreeMap<String, u64>,
    different: Vec<String>,
}

impl Tally {
    fn note(&mut self, compared: Compared, what: impl Fn() -> String) {
        self.compared += 1;
        match compared {
            Compared::Equal => self.equal += 1,
            Compared::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
            Compared::GivenUp(reason) => *self.given_up.entry(reason).or_default() += 1,
            Compared::Different(how) => {
                let text = format!("{}: {how}", what());
                if let Ok(folder) = std::env::var("LITMAKE_SHAPES_FOUND") {
                    let name =
                        format!("{}.txt", what().lines().next().unwrap_or("").replace(' ', "-"));
                    file::write(&Path::new(&folder).join(name), &text).expect("a folder");
                }
                self.different.push(text);
            }
        }
    }

    fn end(&self, name: &str) {
        println!(
            "{name}: {} tests, {} comparisons, {} equal, {} refused, {} given up, {} differ",
            self.drawn,
            self.compared,
            self.equal,
            self.refused.values().sum::<u64>(),
            self.given_up.values().sum::<u64>(),
            self.different.len()
        );
        for (kind, all) in [("refused", &self.refused), ("given up", &self.given_up)] {
            all.iter().for_each(|(reason, n)| println!("  {kind} {n}: {reason}"));
        }
        let shown: Vec<&str> = self.different.iter().take(3).map(String::as_str).collect();
        assert!(self.different.is_empty(), "{} differ\n{}", self.different.len(), shown.join("\n"));
        assert!(
            self.equal * 10 >= self.compared * 9,
            "{name}: {} answers to {} questions",
            self.equal,
            self.compared
        );
    }
}

fn read(text: &str) -> litmus::Test {
    let source = Source::new("shape.litmus", text.to_string());
    litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// The dialects in which shapes are written: all but s390x's.
fn dialects() -> impl Iterator<Item = Arch> {
    wide::DIALECTS.into_iter().map(|(arch, _)| arch).filter(|arch| *arch != Arch::S390x)
}

fn dialect(arch: Arch) {
    let (_, names) = wide::DIALECTS.iter().find(|(a, _)| *a == arch).expect("a dialect");
    let mut models = differ::built_in(arch, names);
    models.extend(differ::users(arch));
    let first = number("LITMAKE_SHAPES_FROM").unwrap_or(0);
    let mut tally = Tally::default();
    for seed in first..first + number("LITMAKE_SHAPES").unwrap_or(TESTS) {
        let text = drawn::test(&mut Rng::new(seed), arch, false);
        let test = read(&text);
        tally.drawn += 1;
        // The default model, and for every second test another one, in turn.
        let turn = seed as usize / 2;
        let other = (seed % 2 == 0).then(|| &models[1 + turn % (models.len() - 1)]);
        for (name, model) in other.into_iter().chain([&models[0]]) {
            let what = || format!("{} seed {seed} under {name}\n{text}", arch.name());
            tally.note(compare(&test, model), what);
        }
    }
    tally.end(arch.name());
}

#[test]
fn c() {
    dialect(Arch::C);
}

#[test]
fn aarch64() {
    dialect(Arch::AArch64);
}

#[test]
fn arm() {
    dialect(Arch::Arm);
}

#[test]
fn x86_64() {
    dialect(Arch::X86_64);
}

#[test]
fn x86() {
    dialect(Arch::X86);
}

#[test]
fn riscv() {
    dialect(Arch::RiscV);
}

#[test]
fn ppc() {
    dialect(Arch::Ppc);
}

#[test]
fn loongarch() {
    dialect(Arch::LoongArch);
}

#[test]
fn bpf() {
    dialect(Arch::Bpf);
}

#[test]
fn mips() {
    dialect(Arch::Mips);
}

/// Each model with two tests of the dialect that it is drawn for.
#[test]
fn random_models() {
    let first = number("LITMAKE_SHAPES_FROM").unwrap_or(0);
    let mut tally = Tally::default();
    let mut loaded = 0;
    let all: Vec<Arch> = dialects().collect();
    for seed in first..first + number("LITMAKE_SHAPES_MODELS").unwrap_or(MODELS) {
        let rng = &mut Rng::new(seed);
        let arch = all[seed as usize % all.len()];
        let model = drawn::models::model(rng, arch);
        let own = differ::own(arch, &model);
        loaded += 1;
        for _ in 0..2 {
            let text = drawn::test(rng, arch, false);
            tally.drawn += 1;
            let what = || format!("{} model {seed}\n{model}{text}", arch.name());
            tally.note(compare(&read(&text), &own), what);
        }
    }
    println!("{loaded} models");
    tally.end("random models");
}

/// Each shape that a dialect has is drawn often enough for a test of it.
#[test]
fn each_shape_is_drawn() {
    for arch in dialects() {
        let texts: Vec<String> =
            (0..TESTS).map(|seed| drawn::test(&mut Rng::new(seed), arch, false)).collect();
        let loops = if arch == Arch::C { "while (" } else { "L01:" };
        let shapes = [" t[20]={", " s0=0;", " q=", " a[2]={", loops, "Accesses=parts"];
        // C has no accesses to parts of atomic objects.
        let last = if arch == Arch::C { shapes.len() - 1 } else { shapes.len() };
        for shape in &shapes[..last] {
            let count = texts.iter().filter(|t| t.contains(shape)).count();
            assert!(count >= 20, "{}: {count} tests have `{shape}`", arch.name());
        }
    }
}

/// Writes tests that herd7 reads, too, where a folder is given for them.
#[test]
fn tests_for_herd_are_written() {
    let Ok(folder) = std::env::var("LITMAKE_SHAPES_DIR") else { return };
    for arch in dialects() {
        let first = number("LITMAKE_SHAPES_FROM").unwrap_or(0);
        for seed in first..first + number("LITMAKE_SHAPES").unwrap_or(TESTS) {
            let text = drawn::test(&mut Rng::new(seed), arch, true);
            let name = format!("{}-{seed}", arch.name());
            let text = text.replacen(" shape\n", &format!(" {name}\n"), 1);
            let path = Path::new(&folder).join(format!("{name}.litmus"));
            file::write(&path, text).expect("the folder can be written to");
        }
    }
}

/// Rings of threads that each read what the thread before writes, and write for the next one. Where all of them
/// keep this order, not all of a ring read 1; where one does not, they may.
#[test]
fn rings_have_the_outcomes_that_they_can_have() {
    let model = cat::load("aarch64", &cat::LoadOptions::new(Arch::AArch64)).expect("built in");
    let model = Model::load(&model).expect("built in");
    for (rings, loose) in [(&[9][..], 9), (&[9], 4), (&[2; 5], 10), (&[2; 5], 3), (&[3, 5], 8)] {
        let (mut init, mut code, mut shown) = (String::new(), vec![String::new(); 4], Vec::new());
        let (mut first, mut outcomes) = (0, 1);
        for ring in rings {
            for t in first..first + ring {
                let next = first + (t + 1 - first) % ring;
                init += &format!("{t}:X1=x{t}; {t}:X3=x{next}; {t}:X2=1; ");
                let fence = if t == loose { "NOP" } else { "DMB SY" };
                for (line, text) in code.iter_mut().zip(["LDR W0,[X1]", fence, "STR W2,[X3]"]) {
                    *line += &format!("{}{text} ", if t == 0 { "" } else { "| " });
                }
                code[3] += &format!("{}P{t} ", if t == 0 { "" } else { "| " });
                shown.push(format!("{t}:X0=1"));
            }
            let open = (first..first + ring).contains(&loose);
            outcomes *= (1 << ring) - usize::from(!open);
            first += ring;
        }
        let exists = shown.join(" /\\ ");
        let head = code.pop().expect("threads");
        let body = code.join(";\n");
        let text = format!("AArch64 rings\n{{ {init}}}\n{head};\n{body};\nexists ({exists})\n");
        let test = litmus::read(&Source::new("rings.litmus", text)).expect("a test");
        for engine in [Engine::Auto, Engine::Enumerate] {
            let options = Options { engine, ..Options::default() };
            let found = Simulator::default().simulate(&test, &model, &options).expect("outcomes");
            assert_eq!(found.states.len(), outcomes, "{rings:?} {loose} {engine:?}");
        }
    }
}
