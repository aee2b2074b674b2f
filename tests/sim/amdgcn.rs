//! AMD's GPUs: the models of the generations, held against C11 by the mapping in LLVM's tables.
//!
//! Small programs are written in C and, by the mapping, as code. No outcome of the code may be one that RC11 forbids; and
//! the mapping without any one of its instructions, or without the bits of its accesses, must show one that it forbids.

use std::collections::BTreeSet;

use crate::differ;
use crate::ptx::checked;
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Model, Options, Simulator};

/// An operation of a program, on a location by its number.
#[derive(Clone, Copy, PartialEq)]
enum Do {
    Write(usize, Order),
    Read(usize, Order),
    /// Adds to it; whether the result is wanted.
    Add(usize, Order, bool),
    Fence(Order),
    /// The rest of the thread runs if its last read gave other than 0.
    If,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Plain,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
}

use Do::{Add, Fence, If, Read, Write};
use Order::{AcqRel, Acquire, Plain, Relaxed, Release, Sc};

type Program = Vec<Vec<Do>>;

const PLACES: [&str; 3] = ["x", "y", "z"];

/// The mapping of LLVM's tables for the scope of the system, from "Memory Model" in its user guide for AMDGPU.
#[derive(Clone)]
struct Mapping {
    model: &'static str,
    /// The endings of the names of loads, stores and additions.
    load: &'static str,
    store: &'static str,
    add: &'static str,
    /// The bits of atomic ones, and of an addition with a result.
    load_bits: &'static str,
    store_bits: &'static str,
    add_bits: &'static str,
    result_bits: &'static str,
    /// What comes before and behind, by row.
    rows: Vec<Row>,
}

/// The instructions before and behind an operation with an order.
#[derive(Clone)]
struct Row {
    of: &'static str,
    before: Vec<&'static str>,
    behind: Vec<&'static str>,
}

fn row(of: &'static str, before: &[&[&'static str]], behind: &[&[&'static str]]) -> Row {
    Row { of, before: before.concat(), behind: behind.concat() }
}

/// The rows, of the instructions of a generation: its write-back, its waits for all that is under way, for what gave a
/// value, and for stores and additions without a result, and its invalidation.
///
/// Two instructions of the tables are left out, since no program of C can miss them. A sequentially consistent load
/// also waits for loads before it, but those that count have waited themselves. An addition that acquires without a
/// result also invalidates, but nothing plain may depend on what nobody sees.
fn rows(
    wb: &[&'static str],
    all: &[&'static str],
    value: &[&'static str],
    silent: &[&'static str],
    inv: &[&'static str],
) -> Vec<Row> {
    vec![
        row("load acquire", &[], &[value, inv]),
        row("load sc", &[silent], &[value, inv]),
        row("store release", &[wb, all], &[]),
        row("add acquire", &[], &[value, inv]),
        row("add release", &[wb, all], &[]),
        row("add acq_rel", &[wb, all], &[value, inv]),
        row("silent acquire", &[], &[silent]),
        row("fence acquire", &[all, inv], &[]),
        row("fence release", &[wb, all], &[]),
        row("fence acq_rel", &[wb, all, inv], &[]),
    ]
}

fn mappings() -> [Mapping; 4] {
    let vm: &[&str] = &["s_waitcnt vmcnt(0)"];
    let vs: &[&str] = &["s_waitcnt_vscnt null, 0x0"];
    let (loads, stores): (&[&str], &[&str]) = (&["s_wait_loadcnt 0x0"], &["s_wait_storecnt 0x0"]);
    let invalidate: &[&str] = &["buffer_invl2", "buffer_wbinvl1_vol"];
    let gfx9 = Mapping {
        model: "gfx90a",
        load: "dword",
        store: "dword",
        add: "add",
        load_bits: "glc",
        store_bits: "",
        add_bits: "",
        result_bits: "glc",
        rows: rows(&["buffer_wbl2"], vm, vm, vm, invalidate),
    };
    let gfx942 = Mapping {
        model: "gfx942",
        load_bits: "sc0 sc1",
        store_bits: "sc0 sc1",
        add_bits: "sc1",
        result_bits: "sc0",
        rows: rows(&["buffer_wbl2 sc0 sc1"], vm, vm, vm, &["buffer_inv sc0 sc1"]),
        ..gfx9.clone()
    };
    let gfx11 = Mapping {
        model: "gfx11",
        load: "b32",
        store: "b32",
        add: "add_u32",
        rows: rows(&[], &[vm, vs].concat(), vm, vs, &["buffer_gl1_inv", "buffer_gl0_inv"]),
        ..gfx9.clone()
    };
    let all = [loads, stores].concat();
    let gfx12 = Mapping {
        model: "gfx12",
        load_bits: "scope:SCOPE_SYS",
        store_bits: "scope:SCOPE_SYS",
        add_bits: "scope:SCOPE_SYS",
        result_bits: "th:TH_ATOMIC_RETURN",
        rows: rows(
            &["global_wb scope:SCOPE_SYS"],
            &all,
            loads,
            stores,
            &["global_inv scope:SCOPE_SYS"],
        ),
        ..gfx11.clone()
    };
    [gfx9, gfx942, gfx11, gfx12]
}

impl Mapping {
    fn row(&self, of: &str) -> (&[&'static str], &[&'static str]) {
        let row = self.rows.iter().find(|row| row.of == of);
        row.map_or((&[], &[]), |row| (&row.before, &row.behind))
    }

    fn lines(&self, op: Do, result: usize) -> Vec<String> {
        let at = |place: usize| format!("v[{}:{}]", 2 * place, 2 * place + 1);
        let (row, text) = match op {
            Read(place, order) => {
                let bits = if order == Plain { "" } else { self.load_bits };
                let row = match order {
                    Acquire => "load acquire",
                    Sc => "load sc",
                    _ => "",
                };
                (row, format!("flat_load_{} v{result}, {} {bits}", self.load, at(place)))
            }
            Write(place, order) => {
                let bits = if order == Plain { "" } else { self.store_bits };
                let row = if matches!(order, Release | Sc) { "store release" } else { "" };
                (row, format!("flat_store_{} {}, v6 {bits}", self.store, at(place)))
            }
            Add(place, order, wanted) => {
                let row = match (order, wanted) {
                    (Acquire, true) => "add acquire",
                    (Acquire, false) => "silent acquire",
                    (Release, _) => "add release",
                    (AcqRel | Sc, _) => "add acq_rel",
                    _ => "",
                };
                let dst = if wanted { format!("v{result}, ") } else { String::new() };
                let bits =
                    format!("{} {}", if wanted { self.result_bits } else { "" }, self.add_bits);
                (row, format!("flat_atomic_{} {dst}{}, v6 {bits}", self.add, at(place)))
            }
            Fence(order) => {
                let row = match order {
                    Acquire => "fence acquire",
                    Release => "fence release",
                    _ => "fence acq_rel",
                };
                (row, String::new())
            }
            If => {
                let test = format!("v_cmp_ne_u32_e32 vcc, 0, v{}", result - 1);
                return vec![test, "s_cbranch_vccz END".to_string()];
            }
        };
        let (before, behind) = self.row(row);
        let owned = |lines: &[&str]| lines.iter().map(|l| l.to_string()).collect::<Vec<_>>();
        let text = Some(text).filter(|text| !text.is_empty());
        [owned(before), text.into_iter().collect(), owned(behind)].concat()
    }

    /// The mapping without one of its instructions, or without the bits of one kind of access, with a name for each.
    fn mutants(&self) -> Vec<(String, Mapping)> {
        let mut out = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            for (m, line) in row.before.iter().enumerate() {
                let mut less = self.clone();
                less.rows[n].before.remove(m);
                out.push((format!("{}: {} without {line}", self.model, row.of), less));
            }
            for (m, line) in row.behind.iter().enumerate() {
                let mut less = self.clone();
                less.rows[n].behind.remove(m);
                out.push((format!("{}: {} without {line}", self.model, row.of), less));
            }
        }
        let mut bits = |name: &str, had: &str, less: Mapping| {
            if !had.is_empty() {
                out.push((format!("{}: {name} without {had}", self.model), less));
            }
        };
        bits("load", self.load_bits, Mapping { load_bits: "", ..self.clone() });
        bits("store", self.store_bits, Mapping { store_bits: "", ..self.clone() });
        bits("add", self.add_bits, Mapping { add_bits: "", ..self.clone() });
        out
    }

    fn code(&self, program: &Program) -> String {
        let mut init = String::new();
        let mut threads = Vec::new();
        for (t, thread) in program.iter().enumerate() {
            init += &format!("{t}:v0=x; {t}:v2=y; {t}:v4=z; {t}:v6={}; ", t + 1);
            let (mut lines, mut reads) = (Vec::new(), 8);
            for op in thread {
                lines.extend(self.lines(*op, reads));
                reads += usize::from(gives(*op));
            }
            lines.push("END: s_endpgm".to_string());
            threads.push(lines);
        }
        let devices: String = (0..program.len()).map(|t| format!(" (device P{t})")).collect();
        let tail = format!("scopes: (system{devices})\n{}", observed(program, "v", 8));
        test("AMDGCN", &init, &threads, &tail)
    }
}

/// Whether a program sees the result of an operation.
fn gives(op: Do) -> bool {
    matches!(op, Read(..) | Add(_, _, true))
}

fn observed(program: &Program, letter: &str, first: usize) -> String {
    let mut out = "locations [x; y; z;".to_string();
    for (t, thread) in program.iter().enumerate() {
        for n in 0..thread.iter().filter(|op| gives(**op)).count() {
            out += &format!(" {t}:{letter}{};", first + n);
        }
    }
    out + "]\nexists (true)\n"
}

fn test(arch: &str, init: &str, threads: &[Vec<String>], tail: &str) -> String {
    let heads: Vec<String> = (0..threads.len()).map(|t| format!("P{t}")).collect();
    let mut text = format!("{arch} t\n{{ {init} }}\n{} ;\n", heads.join(" | "));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cell = |t: &Vec<String>| t.get(row).cloned().unwrap_or_default();
        text += &format!("{} ;\n", threads.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    text + tail
}

fn source(program: &Program) -> String {
    let order = |order: Order| match order {
        Plain | Relaxed => "memory_order_relaxed",
        Acquire => "memory_order_acquire",
        Release => "memory_order_release",
        AcqRel => "memory_order_acq_rel",
        Sc => "memory_order_seq_cst",
    };
    let mut text = "C t\n{ x=0; y=0; z=0; }\n".to_string();
    for (t, thread) in program.iter().enumerate() {
        text += &format!("P{t} (atomic_int* x, atomic_int* y, int* z) {{\n");
        let (mut reads, mut open, value) = (0, 0, t + 1);
        for n in 0..thread.iter().filter(|op| gives(**op)).count() {
            text += &format!("int r{n} = 0;\n");
        }
        for op in thread {
            text += &match *op {
                Write(place, Plain) => format!("*{} = {value};\n", PLACES[place]),
                Write(place, o) => {
                    format!("atomic_store_explicit({}, {value}, {});\n", PLACES[place], order(o))
                }
                Read(place, Plain) => format!("r{reads} = *{};\n", PLACES[place]),
                Read(place, o) => {
                    format!("r{reads} = atomic_load_explicit({}, {});\n", PLACES[place], order(o))
                }
                Add(place, o, wanted) => {
                    let into = if wanted { format!("r{reads} = ") } else { String::new() };
                    let (place, order) = (PLACES[place], order(o));
                    format!("{into}atomic_fetch_add_explicit({place}, {value}, {order});\n")
                }
                Fence(o) => format!("atomic_thread_fence({});\n", order(o)),
                If => format!("if (r{} != 0) {{\n", reads - 1),
            };
            reads += usize::from(gives(*op));
            open += usize::from(*op == If);
        }
        text += &"}\n".repeat(open + 1);
    }
    text + &observed(program, "r", 0)
}

/// The outcomes of a test; registers by the order in which threads read.
fn outcomes(text: &str, model: &Model, first: usize) -> BTreeSet<String> {
    let source = Source::new("t.litmus", text.to_string());
    let test = litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let outcomes = Simulator::default().simulate(&test, model, &Options::default());
    let outcomes = outcomes.unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert!(!outcomes.undefined, "{text}");
    let name = |key: &str| match key.split_once(":v") {
        Some((thread, number)) => {
            format!("{thread}:r{}", number.parse::<usize>().expect("a number") - first)
        }
        None => key.to_string(),
    };
    let state = |s: &Vec<(String, String)>| {
        let mut parts: Vec<String> = s.iter().map(|(k, v)| format!("{}={v}", name(k))).collect();
        parts.sort();
        parts.join(" ")
    };
    outcomes
        .states
        .iter()
        .map(|s| state(&s.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()))
        .collect()
}

/// Programs in which data is handed over, and those of the classical shapes with every order.
fn programs() -> Vec<Program> {
    let (x, y, z) = (0, 1, 2);
    let mut out = Vec::new();
    let data = Write(z, Plain);
    let sends: [&[Do]; 6] = [
        &[Write(y, Release)],
        &[Write(y, Sc)],
        &[Fence(Release), Write(y, Relaxed)],
        &[Fence(AcqRel), Write(y, Relaxed)],
        &[Add(y, Release, false)],
        &[Add(y, AcqRel, true)],
    ];
    let receives: [&[Do]; 6] = [
        &[Read(y, Acquire)],
        &[Read(y, Sc)],
        &[Read(y, Relaxed), Fence(Acquire)],
        &[Read(y, Relaxed), Fence(AcqRel)],
        &[Add(y, Acquire, true)],
        &[Add(y, AcqRel, true)],
    ];
    for (n, send) in sends.iter().enumerate() {
        for (m, receive) in receives.iter().enumerate() {
            // Each way to send with the first way to receive, and the other way round.
            if n == 0 || m == 0 {
                let receiver = [receive, &[If, Read(z, Plain)][..]].concat();
                out.push(vec![[&[data], *send].concat(), receiver]);
                // What the receiver did before comes before what the sender does behind.
                out.push(vec![
                    [&[Read(x, Relaxed)], *send].concat(),
                    [receive, &[Write(x, Relaxed)][..]].concat(),
                ]);
            }
        }
    }
    // By way of a third thread, and behind a load that was waited for.
    let relay = vec![Read(x, Acquire), If, Write(y, Release)];
    let last = vec![Read(y, Acquire), If, Read(z, Plain)];
    out.push(vec![vec![data, Write(x, Release)], relay.clone(), last.clone()]);
    out.push(vec![vec![data, Read(x, Acquire), Write(y, Release)], last]);
    // An addition whose result nobody wants takes part as well.
    for receive in [&[Add(y, Acquire, false)][..], &[Add(y, Relaxed, false), Fence(Acquire)]] {
        out.push(vec![
            vec![Write(x, Relaxed), Write(y, Release)],
            [receive, &[Read(x, Relaxed)][..]].concat(),
        ]);
    }
    out.push(vec![vec![Add(x, Relaxed, false)], vec![Add(x, Relaxed, true)]]);
    let sc = |a: Do| vec![a];
    let reads = |a, b| vec![Read(a, Sc), Read(b, Sc)];
    out.push(vec![sc(Write(x, Sc)), sc(Write(y, Sc)), reads(x, y), reads(y, x)]);
    // MP, SB, LB, S, R and 2+2W.
    let shapes = [
        [(true, x), (true, y), (false, y), (false, x)],
        [(true, x), (false, y), (true, y), (false, x)],
        [(false, x), (true, y), (false, y), (true, x)],
        [(true, x), (true, y), (false, y), (true, x)],
        [(true, x), (true, y), (true, y), (false, x)],
        [(true, x), (true, y), (true, y), (true, x)],
    ];
    for shape in shapes {
        for strong in 0..16 {
            let access = |n: usize| match (shape[n], strong >> n & 1) {
                ((true, place), 0) => Write(place, Release),
                ((true, place), _) => Write(place, Sc),
                ((false, place), 0) => Read(place, Acquire),
                ((false, place), _) => Read(place, Sc),
            };
            out.push(vec![vec![access(0), access(1)], vec![access(2), access(3)]]);
        }
        for fence in [Acquire, Release, AcqRel, Sc] {
            let access = |n: usize| match shape[n] {
                (true, place) => Write(place, Relaxed),
                (false, place) => Read(place, Relaxed),
            };
            let thread = |n| vec![access(n), Fence(fence), access(n + 1)];
            out.push(vec![thread(0), thread(2)]);
        }
    }
    out
}

fn model(name: &str) -> Model {
    differ::built_in(Arch::AmdGcn, &[name]).remove(0).1
}

/// LLVM before 23 leaves a wait behind a write-back out where loads and stores have been waited for already.
#[test]
fn a_wait_that_is_missing_behind_a_write_back_is_found() {
    if !litmake_needs::here("clang-22") {
        return;
    }
    let test = "C late
{ x=0; y=0; z=0; }
P0 (atomic_int* x, atomic_int* y, int* z) {
  *z = 1;
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* y, int* z) {
  int r1 = atomic_load_explicit(y, memory_order_acquire);
  int r2 = 2;
  if (r1) r2 = *z;
}
exists (1:r1=1 /\\ 1:r2=0)
";
    for (profile, status) in
        [("clang-22-gfx942-O2", 1), ("clang-22-gfx1100-O2", 0), ("clang-22-gfx1200-O2", 0)]
    {
        let (found, out) = checked(profile, &[("late.litmus", test)]);
        assert_eq!(found, Some(status), "{profile}: {out}");
    }
}

/// Whether code shows that the last thread found its first value and not its second one. v[0:1] is x, v[2:3] y, v[4:5]
/// z, and v6 is 1; the values are in v8 and v9.
fn stale(threads: &[String], scopes: &str, model: &Model) -> bool {
    let last = threads.len() - 1;
    let init: String =
        (0..=last).map(|t| format!("{t}:v0=x; {t}:v2=y; {t}:v4=z; {t}:v6=1; ")).collect();
    let code: Vec<Vec<String>> =
        threads.iter().map(|t| t.split("; ").map(str::to_string).collect()).collect();
    let tail = format!("scopes: {scopes}\nlocations [{last}:v8; {last}:v9;]\nexists (true)\n");
    let found = outcomes(&test("AMDGCN", &init, &code, &tail), model, 8);
    found.contains(&format!("{last}:r0=1 {last}:r1=0"))
}

/// A release and an acquire order what is in their scopes, and no more.
#[test]
fn messages_pass_within_scopes() {
    let places = [
        "(system (device (workgroup P0 P1)))",
        "(system (device (workgroup P0) (workgroup P1)))",
        "(system (device P0) (device P1))",
    ];
    let gfx942 = (
        "flat_store_dword v[0:1], v6; buffer_wbl2 B; s_waitcnt vmcnt(0); flat_store_dword v[2:3], v6 B",
        "flat_load_dword v8, v[2:3] B; s_waitcnt vmcnt(0); buffer_inv B; flat_load_dword v9, v[0:1]",
    );
    let gfx12 = (
        "flat_store_b32 v[0:1], v6; global_wb B; s_wait_storecnt 0x0; flat_store_b32 v[2:3], v6 B",
        "flat_load_b32 v8, v[2:3] B; s_wait_loadcnt 0x0; global_inv B; flat_load_b32 v9, v[0:1]",
    );
    let scopes = ["scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS"];
    for (name, bits, (send, receive)) in
        [("gfx942", ["sc0", "sc1", "sc0 sc1"], gfx942), ("gfx12", scopes, gfx12)]
    {
        let model = model(name);
        for (reach, bits) in bits.into_iter().enumerate() {
            let threads = [send, receive].map(|t| t.replace('B', bits));
            for (distance, place) in places.into_iter().enumerate() {
                let stale = stale(&threads, place, &model);
                assert_eq!(stale, reach < distance, "{name}, {bits}, {place}");
            }
        }
    }
}

/// What a thread got within its device, its write-back takes to the system.
#[test]
fn a_write_back_takes_what_others_left_in_the_cache() {
    let relay = "flat_load_dword v7, v[2:3] sc1; s_waitcnt vmcnt(0); buffer_inv sc1; \
        v_cmp_eq_u32_e32 vcc, 1, v7; s_cbranch_vccz END; buffer_wbl2 BITS; s_waitcnt vmcnt(0); \
        flat_store_dword v[4:5], v6 sc0 sc1; END: s_endpgm";
    let send = "flat_store_dword v[0:1], v6; buffer_wbl2 sc1; s_waitcnt vmcnt(0); \
        flat_store_dword v[2:3], v6 sc1";
    let receive = "flat_load_dword v8, v[4:5] sc0 sc1; s_waitcnt vmcnt(0); buffer_inv sc0 sc1; \
        flat_load_dword v9, v[0:1]";
    for (bits, allowed) in [("sc0 sc1", false), ("sc1", true)] {
        let threads = [send.to_string(), relay.replace("BITS", bits), receive.to_string()];
        let place = "(system (device (workgroup P0) (workgroup P1)) (device P2))";
        assert_eq!(stale(&threads, place, &model("gfx942")), allowed, "{bits}");
    }
}

#[test]
fn bits_of_another_generation_are_flagged() {
    let message =
        vec![vec![Write(2, Plain), Write(1, Release)], vec![Read(1, Acquire), If, Read(2, Plain)]];
    for mapping in mappings() {
        let text = mapping.code(&message);
        let test = litmus::read(&Source::new("t.litmus", text.clone())).expect("reads");
        for other in mappings() {
            let outcomes =
                Simulator::default().simulate(&test, &model(other.model), &Options::default());
            let flagged = !outcomes.expect("outcomes").flags.is_empty();
            assert_eq!(flagged, other.model != mapping.model, "{}: {text}", other.model);
        }
    }
}

#[test]
fn the_mapping_is_right_and_needs_each_of_its_instructions() {
    let c = differ::built_in(Arch::C, &["rc11-lb"]).remove(0).1;
    let programs: Vec<(Program, BTreeSet<String>)> = programs()
        .into_iter()
        .map(|program| {
            let allowed = outcomes(&source(&program), &c, 0);
            (program, allowed)
        })
        .collect();
    for mapping in mappings() {
        let model = model(mapping.model);
        let wrong = |mapping: &Mapping| {
            programs.iter().find_map(|(program, allowed)| {
                let code = mapping.code(program);
                let more = outcomes(&code, &model, 8).into_iter().find(|o| !allowed.contains(o));
                more.map(|outcome| format!("{outcome}\n{code}"))
            })
        };
        assert_eq!(wrong(&mapping), None, "{}", mapping.model);
        let unseen: Vec<String> = mapping
            .mutants()
            .into_iter()
            .filter(|(_, mutant)| wrong(mutant).is_none())
            .map(|(name, _)| name)
            .collect();
        assert_eq!(unseen, Vec::<String>::new());
    }
}
