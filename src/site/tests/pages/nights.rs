//! Made-up reports of nights: bugs appear, are fixed and come back, and compilers are updated. The
//! reports have a realistic size, and are not results of anything.

#![allow(dead_code, reason = "who makes nights up uses some of this")]

use litmake_history::record::Date;
use litmake_report::bugs::{Occurrence, id};
use litmake_report::coverage::Gather;
use litmake_report::evidence::{Differences, Edge, Event, Evidence, Execution, Failed};
use litmake_report::{Class, Compiler, Finding, Outcomes, Report, Stage, State};

const SOURCE: &str = "C made-up
{}
P0 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
exists (0:r0=1 /\\ 1:r0=1)
";

const CODE: &str = "AArch64 made-up
{ 0:X0=x; 0:X1=y; 1:X0=x; 1:X1=y; }
 P0          | P1          ;
 LDR W2,[X0] | LDR W2,[X1] ;
 MOV W3,#1   | MOV W3,#1   ;
 STR W3,[X1] | STR W3,[X0] ;
exists (0:X2=1 /\\ 1:X2=1)
";

/// The date of a night.
pub fn date(night: usize) -> Date {
    let first: Date = "2025-11-24T02:00:00Z".parse().expect("a date");
    Date(first.0 + night as u64 * 86_400)
}

pub fn profile(number: usize) -> String {
    format!(
        "{}-target-{}",
        ["clang-head", "gcc-head"][number % 2],
        ["O1", "O2", "O3"][number / 2 % 3]
    )
}

/// Numbers that look random and are reproducible.
fn mix(a: usize, b: usize) -> usize {
    let mut x = (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (b as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ (x >> 29)) as usize
}

pub struct Nights {
    bugs: usize,
}

impl Nights {
    pub fn new(bugs: usize) -> Nights {
        Nights { bugs }
    }

    /// Whether a bug shows in a night with a profile: from its first night on, and for most bugs
    /// until they are fixed; a few come back.
    fn shows(&self, bug: usize, night: usize, nights: usize, profile: usize) -> bool {
        let begin = mix(bug, 1) % nights.max(1);
        let long = 10 + mix(bug, 2) % 200;
        let back = bug.is_multiple_of(9) && night > begin + long + 20;
        let on = bug.is_multiple_of(2) == profile.is_multiple_of(2)
            && !mix(bug, profile).is_multiple_of(3);
        on && night >= begin && (night < begin + long || back)
    }

    /// The report of a night.
    pub fn night(&mut self, night: usize, nights: usize) -> Report {
        let profiles: Vec<String> = (0..6).map(profile).collect();
        let mut coverage = Gather::default();
        let tests: Vec<String> =
            (0..self.bugs).map(|b| format!("tests/made-up-{b}.litmus")).collect();
        let mut findings = Vec::new();
        for (p, name) in profiles.iter().enumerate() {
            let seen = tests
                .iter()
                .enumerate()
                .map(|(b, t)| (t.as_str(), self.shows(b, night, nights, p)));
            coverage.add(std::slice::from_ref(name), false, seen);
        }
        for (bug, test) in tests.iter().enumerate() {
            let on: Vec<&String> = profiles
                .iter()
                .enumerate()
                .filter(|(p, _)| self.shows(bug, night, nights, *p))
                .map(|(_, name)| name)
                .collect();
            if !on.is_empty() {
                findings.push(finding(bug, test, &on));
            }
        }
        // Both compilers are built from HEAD each night, so that each night has another commit.
        let compiler = |name: &String| {
            let is_clang = name.starts_with("clang");
            let (a, b) = (mix(night, 5) as u64, mix(night, 6) as u64 & 0xffff_ffff);
            let hash = format!("a{a:016x}{b:08x}{a:015x}");
            let (tool, version) = match is_clang {
                true => (
                    "clang",
                    format!(
                        "clang version 23.0.0git (https://github.com/llvm/llvm-project.git {})",
                        &hash[..40]
                    ),
                ),
                false => (
                    "gcc",
                    format!(
                        "gcc (GCC) 17.0.0 20260101 (experimental) [master r17-{}-g{}]",
                        1000 + 20 * night,
                        &hash[..14]
                    ),
                ),
            };
            Compiler {
                profile: name.clone(),
                compiler: tool.into(),
                arch: "AArch64".into(),
                build: format!("{:012x}", mix(usize::from(is_clang), night) & 0xffff_ffff_ffff),
                version,
            }
        };
        Report {
            litmake: "0.1.0".into(),
            pipeline: "nightly".into(),
            stages: vec![Stage {
                name: "target".into(),
                kind: "simulate".into(),
                tasks: 6 * tests.len() as u64,
                executed: Some(mix(night, 3) as u64 % 300),
                seconds: Some(60.0 + (mix(night, 4) % 100) as f64),
                ..Stage::default()
            }],
            differences: vec![Differences {
                compared: 6 * tests.len() as u64,
                ..Differences::default()
            }],
            compilers: profiles.iter().map(compiler).collect(),
            coverage: coverage.finish(),
            findings,
            ..Report::default()
        }
    }
}

fn state(values: [u64; 2]) -> State {
    ["0:r0", "1:r0"].iter().zip(values).map(|(n, v)| (n.to_string(), v.to_string())).collect()
}

fn finding(bug: usize, test: &str, on: &[&String]) -> Finding {
    let family = if bug.is_multiple_of(2) { "clang" } else { "gcc" };
    let outcomes = Outcomes {
        forbidden: vec![state([1, 1])],
        source: vec![state([0, 0]), state([0, 1]), state([1, 0])],
        target: vec![state([0, 0]), state([0, 1]), state([1, 0]), state([1, 1])],
    };
    let profiles = |name: &str| vec![name.to_string()];
    Finding {
        id: id(Class::Concurrency, family, "", test),
        class: Class::Concurrency,
        family: family.into(),
        cause: format!("made-up operation {bug}"),
        count: on.len() as u64,
        by_profile: on.iter().map(|name| (name.to_string(), 1)).collect(),
        occurrences: on
            .iter()
            .map(|name| Occurrence {
                test: test.into(),
                profiles: profiles(name),
                outcomes: outcomes.clone(),
            })
            .collect(),
        test: test.into(),
        source: SOURCE.into(),
        target: CODE.into(),
        reproducer: SOURCE.into(),
        profiles: profiles(on[0]),
        model_source: "rc11".into(),
        model_target: "aarch64".into(),
        outcomes,
        command: format!("litmake check --profile {} {test}", on[0]),
        evidence: Some(evidence()),
        ..Finding::default()
    }
}

/// Load buffering, under two models.
pub fn evidence() -> Evidence {
    let event = |id: &str, thread, event: &str, code: &str| Event {
        id: id.into(),
        thread: Some(thread),
        line: 4,
        code: code.into(),
        event: event.into(),
    };
    let execution = |model: &str, reads: &str, writes: &str, fails| Execution {
        model: model.into(),
        events: vec![
            event("a", 0, &format!("{reads}[x]=1"), "LDR W2,[X0]"),
            event("b", 0, &format!("{writes}[y]=1"), "STR W3,[X1]"),
            event("c", 1, &format!("{reads}[y]=1"), "LDR W2,[X1]"),
            event("d", 1, &format!("{writes}[x]=1"), "STR W3,[X0]"),
        ],
        rf: vec![("b".into(), "c".into()), ("d".into(), "a".into())],
        co: Vec::new(),
        fails,
    };
    let edge = |from: &str, edge: &str, to: &str| Edge {
        from: from.into(),
        edge: edge.into(),
        to: to.into(),
    };
    let failed = Failed {
        check: "no-thin-air".into(),
        place: "rc11.cat:40".into(),
        is_cycle: true,
        edges: vec![
            edge("a", "sb", "b"),
            edge("b", "rf", "c"),
            edge("c", "sb", "d"),
            edge("d", "rf", "a"),
        ],
    };
    Evidence {
        outcome: state([1, 1]),
        target: Some(execution("aarch64", "R", "W", Vec::new())),
        source: Some(execution("rc11", "R(ACQ)", "W(RLX)", vec![failed])),
    }
}
