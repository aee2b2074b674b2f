//! The same mixes linked in both ways: by joining the parts' code, and by linking separately
//! compiled objects and lifting the program. What both allow must be equal.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use litmake::base::failure::Failure;
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::engine::graph::{Context, Fingerprint};
use litmake::engine::store::{Store, StoreOptions};
use litmake::generate::recipe::Recipe;
use litmake::litmus::{self, Arch, Test};
use litmake::mix::{By, Compiled, Split, notation, splice, split};
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::machine::on_one_machine;
use litmake::profile::types::{Observe, Storage};
use litmake::profile::{Profile, Profiles};
use litmake::select::collect::{Wanted, collect};
use litmake::select::filter::Filter;
use litmake::sim::{Model, Options, Simulator};
use litmake::stage::compilers::Compilers;
use litmake::stage::ld::{self, Ld};
use litmake::stage::simulate::common_model;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::ld::{Linker, linkers};

#[derive(Debug, Default)]
pub struct Counts {
    pub equal: usize,
    /// How many of these have calls that are kept.
    pub with_calls: usize,
    /// Mixes whose outcomes differ: the mix, and both tests.
    pub different: Vec<(String, String, String)>,
    /// What one of both ways cannot do, by its reason.
    pub refused: BTreeMap<String, usize>,
    #[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
    pub seconds: [f64; 2],
}

pub struct Request<'a> {
    pub profiles: &'a [String],
    /// How many mixes are compared.
    pub mixes: usize,
    /// Of how many tests of each family.
    pub tests: usize,
    /// GNU ld, and not lld.
    pub gnu: bool,
    pub by: By,
    /// When to stop with what was compared so far.
    pub until: Option<Instant>,
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) as usize) % n.max(1)
    }
}

type States = Vec<litmake::sim::State>;

fn simulate(test: &Test, model: &Model, unroll: u32) -> Result<States, String> {
    let options = Options { unroll, timeout: Some(Duration::from_secs(20)), ..Options::default() };
    let out = Simulator::default()
        .simulate(test, model, &options)
        .map_err(|e| format!("a simulation: {}", e.message))?;
    let mut states: States = out.states.iter().collect();
    states.sort();
    Ok(states)
}

fn tests(sample: usize) -> Vec<Test> {
    let mut out = Vec::new();
    for family in ["mix-accesses", "mix-table4"] {
        let recipe = Recipe::new(Arch::C);
        let family = [Source::new("family", family)];
        let keep = Filter::default();
        let wanted = Wanted { sample: Some((sample, 1)), ..Wanted::all(&keep) };
        let all = collect(&recipe, &family, &wanted, 1);
        for (name, content) in all.expect("a family").iter() {
            out.push(litmus::read(&Source::new(name, content)).expect("a test"));
        }
    }
    out
}

/// A test whose parts every profile has compiled.
struct Prepared {
    test: Test,
    split: Split,
    /// By profile, then by part.
    parts: Vec<Vec<Result<Compiled, Failure>>>,
}

fn prepare(
    tests: Vec<Test>,
    by: By,
    profiles: &[Arc<Profile>],
    compilers: &Compilers,
    store: &Store,
) -> Result<Vec<Prepared>, String> {
    let context = Context::default();
    let mut out: Vec<Prepared> = Vec::new();
    for test in tests {
        let Ok(split) = split(&test, by) else { continue };
        out.push(Prepared { test, split, parts: Vec::new() });
    }
    let texts: Vec<Test> = out
        .iter()
        .flat_map(|p| &p.split.pieces)
        .map(|p| litmus::read(&Source::new("part", p.text.as_str())).expect("a part reads"))
        .collect();
    for profile in profiles {
        let tool = compilers.tool(profile, store);
        let program = tool.program.map_err(|e| e.text())?;
        let runtime = tool.runtime;
        let compiler = Compiler {
            profile,
            program: &program,
            observe: Observe::Condition,
            storage: Storage::Pointers,
            helpers: false,
            runtime: &runtime,
            stop: &context.stop,
        };
        let made: Vec<_> = texts.chunks(128).flat_map(|c| compiler.compile(c)).collect();
        let mut made = made.into_iter();
        for p in &mut out {
            let mut own = Vec::new();
            for _ in &p.split.pieces {
                own.push(match made.next() {
                    Some(Ok(part)) => Compiled::new(&part),
                    Some(Err(e)) if !e.is_stopped() => Err(e),
                    _ => return Err("compiling was stopped".into()),
                });
            }
            p.parts.push(own);
        }
    }
    Ok(out)
}

/// The profiles of a request, as they are on one machine.
pub fn profiles(request: &Request) -> Result<Vec<Arc<Profile>>, String> {
    let found = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    let profiles: Vec<Arc<Profile>> = request
        .profiles
        .iter()
        .map(|name| found.find(&Disk, Path::new("."), name).map_err(|e| e.message.clone()))
        .collect::<Result<_, _>>()?;
    Ok(on_one_machine(&profiles))
}

/// The linker that a request asks for, where the machine has it.
pub fn linker(request: &Request, arch: Arch) -> Option<Linker> {
    linkers(arch, false).into_iter().find(|l| l.lld != request.gnu)
}

/// Compares so many mixes.
pub fn compare(request: &Request) -> Result<Counts, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let store = Store::open(dir.path(), &StoreOptions::default()).map_err(|e| e.to_string())?;
    let profiles = profiles(request)?;
    let arch = profiles.first().ok_or("no profiles")?.arch;
    let linker = linker(request, arch).ok_or("there is no such linker")?;
    let name = common_model(&profiles)?;
    let model = cat::load(&name, &LoadOptions::new(arch)).map_err(|e| e.message.clone())?;
    let model = Model::load(&model).map_err(|e| e.message.clone())?;
    let compilers = Compilers::default();
    let context = Context::default();
    let linker = ld::Found::new(Some(linker), &compilers, &store);
    let tool = |p: &Arc<Profile>| (p.clone(), Arc::new(compilers.tool(p, &store)));
    let tools: Vec<_> = profiles.iter().map(tool).collect();
    let (ld, ..) = Ld::new(Fingerprint::default(), &tools, &linker);
    let prepared = prepare(tests(request.tests), request.by, &profiles, &compilers, &store)?;
    let mut rng = Rng(1);
    let mut out = Counts::default();
    let mut refuse = |message: String| {
        let first = message.lines().next().unwrap_or("").to_string();
        *out.refused.entry(first).or_default() += 1;
    };
    let (mut at, mut tried) = (0, 0);
    let late = || request.until.is_some_and(|until| Instant::now() >= until);
    while out.equal + out.different.len() < request.mixes && tried < 20 * request.mixes && !late() {
        let p = &prepared[at % prepared.len()];
        (at, tried) = (at + 1, tried + 1);
        let assignment: Vec<usize> =
            p.split.pieces.iter().map(|_| rng.below(profiles.len())).collect();
        let parts: Result<Vec<&Compiled>, &Failure> =
            assignment.iter().enumerate().map(|(i, q)| p.parts[*q][i].as_ref()).collect();
        // What a profile cannot compile is in no mix.
        let Ok(parts) = parts else { continue };
        let start = Instant::now();
        let spliced = match splice(&p.test, &p.split, &parts) {
            Ok(test) => test,
            Err(e) => {
                refuse(format!("splice: {}", e.text()));
                continue;
            }
        };
        out.seconds[0] += start.elapsed().as_secs_f64();
        let start = Instant::now();
        let linked = ld.link(&p.test, &p.split, &assignment, &context).and_then(|linked| {
            let test = |calls| ld.test(&p.test, &p.split, &linked, calls);
            Ok((test(false)?, test(true)?))
        });
        let (linked, called) = match linked {
            Ok(tests) => tests,
            Err(e) if !e.is_stopped() => {
                refuse(format!("ld: {}", e.text()));
                continue;
            }
            Err(e) => return Err(e.text()),
        };
        out.seconds[1] += start.elapsed().as_secs_f64();
        // A return goes back, which counts as a turn of a loop.
        let all = [(&spliced, 1), (&linked, 1), (&called, 2)];
        let all: Result<Vec<States>, String> =
            all.iter().map(|(test, unroll)| simulate(test, &model, *unroll)).collect();
        let texts = [&linked, &called].map(litmus::write);
        match all {
            // What is cut sooner, is cut sooner in all.
            Ok(all)
                if all[0] == all[1]
                    && (all[0] == all[2]
                        || simulate(&spliced, &model, 2).ok() == all.get(2).cloned())
                    && !all[2].is_empty() =>
            {
                out.equal += 1;
                out.with_calls += usize::from(texts[0] != texts[1]);
            }
            Ok(_) => {
                let name = |i: usize| profiles[assignment[i]].name.clone();
                let mix = format!("{}: {}", p.test.name, notation(&p.split, &name));
                out.different.push((mix, litmus::write(&spliced), texts.join("\n")));
            }
            Err(e) => refuse(e),
        }
    }
    Ok(out)
}
