//! Read-modify-writes of one location by three and more, which commute or not, whose results are looked at
//! or not, among other accesses and fences that order them: every engine finds what the exhaustive one
//! finds, under models that make them atomic and under models that do not.

use crate::differ;
use crate::exec::Rng;
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Model, Options, Outcomes, Simulator};
use std::fmt::Write;

/// Models under which read-modify-writes are atomic by half, or not at all.
const LOOSE: [(&str, &str); 4] = [
    ("none", "\"none\"\ninclude \"cos.cat\"\nacyclic po | rf as order\n"),
    ("ordered", "\"ordered\"\ninclude \"cos.cat\"\nacyclic po-loc | rf | co as coherence\n"),
    ("apart", "\"apart\"\ninclude \"cos.cat\"\nacyclic po-loc | rf | fr | co as coherence\n"),
    (
        "atomic",
        "\"atomic\"\ninclude \"cos.cat\"\nempty rmw & (fre; coe) as atomic\nacyclic po-loc | rf | co as c\n\
         flag ~empty (fr; fr) as twice\n",
    ),
];

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len())]
}

/// How many things each of some threads does: the reference goes through every execution, so it is few.
fn lengths(rng: &mut Rng) -> Vec<usize> {
    let mut lengths = vec![1; 2 + rng.below(3)];
    for _ in 0..5 - lengths.len() {
        let thread = rng.below(lengths.len());
        lengths[thread] += 1;
    }
    lengths
}

/// Which of the things are read-modify-writes of `x`: three of them.
fn updates(rng: &mut Rng, count: usize) -> Vec<bool> {
    let mut updates = vec![false; count];
    while updates.iter().filter(|u| **u).count() < 3 {
        updates[rng.below(count)] = true;
    }
    updates
}

fn c(rng: &mut Rng) -> String {
    let lengths = lengths(rng);
    let updates = updates(rng, lengths.iter().sum());
    let mixed = rng.one_in(3);
    let one = pick(rng, &["add", "sub", "or", "and", "xor"]);
    let mut at = 0;
    let mut threads = String::new();
    let mut seen = Vec::new();
    for (t, length) in lengths.iter().enumerate() {
        let mut body = String::new();
        for n in 0..*length {
            let order = pick(rng, &["relaxed", "acquire", "release", "acq_rel", "seq_cst"]);
            let amount = pick(rng, &[1, 2, 2, 3, 5]);
            if updates[at] {
                let op = match (mixed, rng.below(4)) {
                    (true, 0) => "exchange",
                    (true, 1) => pick(rng, &["add", "or", "and", "xor"]),
                    _ if one == "sub" => pick(rng, &["add", "sub"]),
                    _ => one,
                };
                let call = if op == "exchange" { "atomic_exchange" } else { "atomic_fetch_" };
                let op = if op == "exchange" { "" } else { op };
                let _ = writeln!(
                    body,
                    "  int r{n} = {call}{op}_explicit(x, {amount}, memory_order_{order});"
                );
                match rng.below(6) {
                    0 => seen.push(format!("{t}:r{n};")),
                    1 => {
                        let _ = writeln!(body, "  *y = r{n};");
                    }
                    2 => {
                        let _ = writeln!(body, "  if (r{n} == {amount}) {{ *y = 1; }}");
                    }
                    _ => {}
                }
            } else {
                let place = pick(rng, &["x", "y", "y"]);
                let _ = match rng.below(4) {
                    0 => writeln!(body, "  atomic_thread_fence(memory_order_{order});"),
                    1 => {
                        writeln!(body, "  atomic_store_explicit({place}, 4, memory_order_release);")
                    }
                    _ => {
                        if !rng.one_in(3) {
                            seen.push(format!("{t}:r{n};"));
                        }
                        writeln!(
                            body,
                            "  int r{n} = atomic_load_explicit({place}, memory_order_acquire);"
                        )
                    }
                };
            }
            at += 1;
        }
        let _ = write!(threads, "P{t} (atomic_int* x, atomic_int* y) {{\n{body}}}\n");
    }
    let first = pick(rng, &[0, 0, 7]);
    let places = pick(rng, &["x;", "x; y;", "y;"]);
    format!(
        "C t
{{ x={first}; }}
{threads}locations [{places} {}]
exists (y=1)
",
        seen.join(" ")
    )
}

fn aarch64(rng: &mut Rng) -> String {
    let lengths = lengths(rng);
    let updates = updates(rng, lengths.iter().sum());
    let mixed = rng.one_in(3);
    let one = pick(rng, &["LDADD", "LDSET", "LDCLR", "LDEOR"]);
    let size = pick(rng, &["", "", "B"]);
    let mut at = 0;
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut seen = Vec::new();
    for (t, length) in lengths.iter().enumerate() {
        let mut code = Vec::new();
        for n in 0..*length {
            let r = 2 + n;
            if updates[at] {
                let op = if mixed && rng.one_in(2) {
                    pick(rng, &["SWP", "LDADD", "LDSET"])
                } else {
                    one
                };
                let order = pick(rng, &["", "A", "L", "AL"]);
                let amount = pick(rng, &[1, 2, 3, 200]);
                code.push(format!("MOV W9,#{amount}"));
                if size.is_empty() && one == "LDADD" && rng.one_in(6) {
                    code.push(format!("LDXR W{r},[X0]"));
                    code.push(format!("ADD W9,W{r},W9"));
                    code.push("STXR W8,W9,[X0]".to_string());
                } else {
                    code.push(format!("{op}{order}{size} W9,W{r},[X0]"));
                }
                match rng.below(6) {
                    0 => seen.push(format!("{t}:X{r};")),
                    1 => code.push(format!("STR W{r},[X1]")),
                    2 => {
                        code.push(format!("CBZ W{r},L{n}"));
                        code.push("STR W9,[X1]".to_string());
                        code.push(format!("L{n}:"));
                    }
                    _ => {}
                }
            } else {
                let place = pick(rng, &["X0", "X1", "X1"]);
                match rng.below(4) {
                    0 => code.push(pick(rng, &["DMB SY", "DMB LD", "DMB ST"]).to_string()),
                    1 => {
                        code.push("MOV W9,#4".to_string());
                        code.push(format!(
                            "STR{} W9,[{place}]",
                            if place == "X0" { size } else { "" }
                        ));
                    }
                    _ => {
                        code.push(format!(
                            "LDR{} W{r},[{place}]",
                            if place == "X0" { size } else { "" }
                        ));
                        seen.push(format!("{t}:X{r};"));
                    }
                }
            }
            at += 1;
        }
        columns.push(code);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let line = |cells: Vec<&str>| format!(" {} ;\n", cells.join(" | "));
    let names: Vec<String> = (0..columns.len()).map(|t| format!("P{t}")).collect();
    let mut table = line(names.iter().map(String::as_str).collect());
    for row in 0..rows {
        table += &line(columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect());
    }
    let init: String = (0..columns.len()).map(|t| format!("{t}:X0=x; {t}:X1=y; ")).collect();
    let places = pick(rng, &["x;", "x; y;", "y;"]);
    format!(
        "AArch64 t
{{ {init} }}
{table}locations [{places} {}]
exists (y=1)
",
        seen.join(" ")
    )
}

fn agree(arch: Arch, names: &[&str], seeds: u64, test: fn(&mut Rng) -> String) {
    let mut models = differ::built_in(arch, names);
    models.extend(LOOSE.map(|(name, text)| (name.to_string(), differ::own(arch, text))));
    let mut answers = 0;
    for seed in 0..seeds {
        let text = test(&mut Rng::new(seed));
        for (name, model) in &models {
            match differ::compare(&text, model) {
                Ok(answered) => answers += u64::from(answered),
                Err(difference) => panic!("seed {seed} under {name}: {difference}\n{text}"),
            }
        }
    }
    let all = models.len() as u64 * seeds;
    assert!(answers * 10 > all * 9, "only {answers} answers of {all}");
}

#[test]
fn c_agrees_with_the_reference() {
    agree(Arch::C, &["rc11", "c11", "sc"], 100, c);
}

#[test]
fn aarch64_agrees_with_the_reference() {
    agree(Arch::AArch64, &["aarch64", "sc"], 100, aarch64);
}

/// Each of some threads updates `x`, by its number in an operation; some look at what was there.
fn family(threads: usize, op: &str, looks: impl Fn(usize) -> bool, reader: bool) -> Outcomes {
    let options = Options { engine: Engine::Enumerate, ..Options::default() };
    simulated(threads, op, looks, reader, &options).expect("an answer")
}

fn simulated(
    threads: usize,
    op: &str,
    looks: impl Fn(usize) -> bool,
    reader: bool,
    options: &Options,
) -> Result<Outcomes, String> {
    let mut text = "C family
{ x=0; }
"
    .to_string();
    let mut seen = String::new();
    for t in 0..threads {
        let _ = write!(
            text,
            "P{t} (atomic_int* x) {{\n  int r0 = atomic_fetch_{op}_explicit(x, {}, memory_order_acq_rel);\n}}\n",
            1 << t,
        );
        if looks(t) {
            let _ = write!(seen, " {t}:r0;");
        }
    }
    if reader {
        let _ = write!(
            text,
            "P{threads} (atomic_int* x) {{\n  int r1 = atomic_load_explicit(x, memory_order_acquire);\n}}\n"
        );
        let _ = write!(seen, " {threads}:r1;");
    }
    let _ = write!(text, "locations [x;{seen}]\nexists (x=1)\n");
    let test = litmus::read(&Source::new("family.litmus", text)).expect("a test");
    let model = cat::load("rc11", &LoadOptions::new(Arch::C)).expect("a built-in model");
    let model = Model::load(&model).expect("a built-in model can be simulated");
    Simulator::default().simulate(&test, &model, options).map_err(|e| e.to_string())
}

/// Orders that nobody observes are one: what is enumerated is what is observed.
#[test]
fn the_order_of_what_commutes_is_not_enumerated() {
    for op in ["add", "sub", "or", "xor"] {
        let found = family(12, op, |_| false, false);
        assert_eq!(found.states.len(), 1, "{op}");
        assert!(found.stats.nodes < 100, "{op}: {} partial executions", found.stats.nodes);
    }
    // One of nine sees any set of the other eight.
    let found = family(9, "add", |t| t == 4, false);
    assert_eq!(found.states.len(), 1 << 8);
    assert!(found.stats.nodes < 1 << 13, "{} partial executions", found.stats.nodes);
    // A reader that is none of nine sees any set of them.
    let found = family(9, "add", |_| false, true);
    assert_eq!(found.states.len(), 1 << 9);
    assert!(found.stats.nodes < 1 << 14, "{} partial executions", found.stats.nodes);
    // Everybody looks: every order is an outcome, and little else is gone through.
    let found = family(6, "add", |_| true, false);
    assert_eq!(found.states.len(), 720);
    assert!(found.stats.nodes < 5 * 720, "{} partial executions", found.stats.nodes);
}

/// Outcomes that take more memory than they may are an error of the test, which says how much that is.
#[test]
fn outcomes_take_so_much_memory_and_no_more() {
    for engine in [Engine::Auto, Engine::Enumerate, Engine::Solve] {
        let few = Options { engine, memory: 1 << 20, ..Options::default() };
        let found = simulated(6, "add", |_| true, false, &few).expect("an answer");
        assert_eq!(found.states.len(), 720, "{engine:?}");
        let none = Options { engine, memory: 1 << 12, ..Options::default() };
        let error = simulated(7, "add", |_| true, false, &none).expect_err("too many outcomes");
        assert!(error.contains("no answer within 4 KiB for outcomes"), "{engine:?}: {error}");
        assert!(error.contains("--memory"), "{engine:?}: {error}");
    }
}
