//! Tests compiled whole against the same tests compiled a thread at a time: on every target and in
//! random tests as well as in those of shipped families, the code that comes out is equal, and so
//! is what cannot be compiled. Equal code has equal outcomes; where the code differed, outcomes are
//! compared before it is said.
//!
//! `LITMAKE_TESTS=5000` compares so many tests for each target.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use litmake::base::failure::Failure;
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::engine::graph::Context;
use litmake::engine::store::{Store, StoreOptions};
use litmake::generate::recipe::Recipe;
use litmake::litmus::canon::canonical_text;
use litmake::litmus::{self, Arch, Test};
use litmake::mix::threads::{Thread, apart, together};
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::profile::{Profile, Profiles};
use litmake::select::collect::{Wanted, collect};
use litmake::select::filter::Filter;
use litmake::sim::{Model, Options, Simulator};
use litmake::stage::compilers::Compilers;
use litmake::toolchain::compile::Compiler;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/exec.rs"]
mod exec;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/wide.rs"]
mod wide;

fn count() -> usize {
    std::env::var("LITMAKE_TESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(120)
}

fn read(name: &str, text: &str) -> Test {
    litmus::read(&Source::new(name, text)).expect("a test that was made")
}

/// The families that use most of C.
const FAMILIES: [&str; 5] =
    ["telechat-table3", "mix-table4", "c11-cas", "c11-mixed-width", "c11-helpers"];

/// The sets of tests: of each target the first two.
const SETS: usize = 3;

/// Half of a set is random, and half is of families.
fn tests(set: usize) -> Vec<Test> {
    let mut rng = exec::Rng::new(set as u64);
    let random = (0..count() / 2).map(|_| read("random", &wide::test(&mut rng, Arch::C, false)));
    random.chain(drawn().iter().skip(set).step_by(SETS).cloned()).collect()
}

/// Tests of the families for all sets, which are drawn once: a draw goes through the whole of a family.
fn drawn() -> &'static [Test] {
    static DRAWN: OnceLock<Vec<Test>> = OnceLock::new();
    DRAWN.get_or_init(|| {
        let keep = Filter::default();
        let sample = Some((SETS * count() / 2 / FAMILIES.len(), 1));
        let wanted = Wanted { sample, ..Wanted::all(&keep) };
        let recipe = Recipe::new(Arch::C);
        let of = |family| collect(&recipe, &[Source::new("family", family)], &wanted, 1);
        let all = FAMILIES.iter().map(|family| of(*family).expect("a family"));
        all.flat_map(|all| all.iter().map(|(name, text)| read(&name, &text)).collect::<Vec<_>>())
            .collect()
    })
}

fn outcomes(test: &Test, model: &Model) -> Result<Vec<litmake::sim::State>, String> {
    let options = Options { timeout: Some(Duration::from_secs(20)), ..Options::default() };
    let found = Simulator::default().simulate(test, model, &options);
    let found = found.map_err(|e| e.message.clone())?;
    let mut states: Vec<_> = found.states.iter().collect();
    states.sort();
    Ok(states)
}

/// Compares both ways with one profile, where its compiler is here.
fn compare(profile: &Profile, tests: &[Test], observe: Observe, store: &Store) -> Option<()> {
    let tool = Compilers::default().tool(profile, store);
    let program = litmake_needs::need(&profile.compiler, tool.program.map_err(|f| f.text()))?;
    let context = Context::default();
    let compiler = Compiler {
        profile,
        program: &program,
        observe,
        storage: Storage::Pointers,
        helpers: false,
        runtime: &tool.runtime,
        stop: &context.stop,
    };
    let both: Vec<(&Test, Vec<Thread>)> =
        tests.iter().filter_map(|t| Some((t, apart(t)?))).collect();
    let whole: Vec<Test> = both.iter().map(|(test, _)| (*test).clone()).collect();
    let whole: Vec<_> = whole.chunks(128).flat_map(|c| compiler.compile(c)).collect();
    let mut texts: Vec<&str> =
        both.iter().flat_map(|(_, t)| t.iter().map(|t| t.text.as_str())).collect();
    texts.sort_unstable();
    texts.dedup();
    let parts: Vec<Test> = texts.iter().map(|t| read("thread", t)).collect();
    let parts: Vec<_> = parts.chunks(128).flat_map(|c| compiler.compile(c)).collect();
    let code = |text: &str| parts[texts.binary_search(&text).unwrap()].as_ref();
    let arch = profile.arch;
    let name = profile.model.clone().unwrap_or_else(|| arch.default_model().to_string());
    let model = Model::load(&cat::load(&name, &LoadOptions::new(arch)).unwrap()).unwrap();
    let mut there = 0;
    for ((test, threads), whole) in both.iter().zip(&whole) {
        let code: Result<Vec<&Test>, &Failure> = threads.iter().map(|t| code(&t.text)).collect();
        let joined = match code {
            Ok(code) => Ok(together(test, threads, &code).unwrap()),
            Err(e) => Err(e),
        };
        match (whole, joined) {
            (Ok(whole), Ok(joined)) => {
                let joined = read("together", &litmus::write(&joined));
                there += 1;
                let same = canonical_text(whole) == canonical_text(&joined);
                assert!(
                    same && whole.info == joined.info,
                    "{}: the code differs, and outcomes are {} for\n{}\nwhole:\n{}\ntogether:\n{}",
                    profile.name,
                    match outcomes(whole, &model) == outcomes(&joined, &model) {
                        true => "equal",
                        false => "different",
                    },
                    litmus::write(test),
                    litmus::write(whole),
                    litmus::write(&joined)
                );
            }
            (Err(_), Err(_)) => {}
            (whole, joined) => panic!(
                "{}: one way alone compiles\n{}\nwhole: {:?}\ntogether: {:?}",
                profile.name,
                litmus::write(test),
                whole.as_ref().map(litmus::write),
                joined.as_ref().map(litmus::write)
            ),
        }
    }
    assert!(there * 10 >= both.len() * 8, "{there} of {} could be compiled", both.len());
    assert!(both.len() * 10 >= tests.len() * 8, "{} of {} came apart", both.len(), tests.len());
    Some(())
}

fn target(name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let all = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    for (set, compiler) in
        [format!("clang-16-{name}-O2"), format!("gcc-12-{name}-O1")].into_iter().enumerate()
    {
        let profile: Arc<Profile> = all.find(&Disk, Path::new("."), &compiler).unwrap();
        compare(&profile, &tests(set), Observe::Condition, &store);
    }
}

#[test]
fn without_locals() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let all = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    for compiler in ["gcc-12-x86_64-O2", "clang-16-aarch64-O1"] {
        let profile: Arc<Profile> = all.find(&Disk, Path::new("."), compiler).unwrap();
        compare(&profile, &tests(SETS - 1), Observe::None, &store);
    }
}

#[test]
fn on_x86_64() {
    target("x86_64");
}

#[test]
fn on_aarch64() {
    target("aarch64");
}

#[test]
fn on_armv7() {
    target("armv7");
}

#[test]
fn on_riscv64() {
    target("riscv64");
}

#[test]
fn on_ppc64le() {
    target("ppc64le");
}

#[test]
fn on_mips64el() {
    target("mips64el");
}
