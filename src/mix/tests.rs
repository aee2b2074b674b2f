//! Tests of mixes of hand-made parts, and of the laws of counting.

use proptest::prelude::*;

use super::count::Table;
use super::pieces::Step;
use super::symmetry::symmetries;
use super::{By, Compiled, Split, Written, notation, splice, split};
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{self as litmus, Arch, Test};
use litmake_sim::{Model, Options, Simulator};

const SB: &str = r"C SB
{}
P0 (atomic_int* x, atomic_int* y) {
atomic_store_explicit(x, 1, memory_order_seq_cst);
int r0 = atomic_load_explicit(y, memory_order_seq_cst);
}
P1 (atomic_int* x, atomic_int* y) {
atomic_store_explicit(y, 1, memory_order_seq_cst);
int r0 = atomic_load_explicit(x, memory_order_seq_cst);
}
exists (0:r0=0 /\ 1:r0=0)
";

fn test(text: &str) -> Test {
    litmus::read(&Source::new("test", text)).unwrap()
}

/// Two mappings of seq_cst to RISC-V: a barrier after the store, or before the load.
fn riscv(part: &str, before_loads: bool) -> Compiled {
    let store = part.contains("atomic_store");
    let code = match (store, before_loads) {
        (true, true) => "ori x5,x0,1; fence rw,w; sw x5,0(x10);",
        (true, false) => "ori x5,x0,1; fence rw,w; sw x5,0(x10); fence rw,rw;",
        (false, true) => "fence rw,rw; lw x6,0(x11); fence r,rw; sw x6,0(x10);",
        (false, false) => "lw x6,0(x11); fence r,rw; sw x6,0(x10);",
    };
    let init = match store {
        true => "0:x10=loc0;",
        false => "0:x10=own0; 0:x11=loc0;",
    };
    let lines = code.replace(';', " ;\n");
    let text = format!(
        "RISCV part
{{ {init} }}
P0 ;
{lines}exists (true)
"
    );
    Compiled::new(&test(&text)).unwrap()
}

fn outcomes(mixed: &Test, model: &str) -> Vec<String> {
    let cat = cat::load(model, &LoadOptions::new(mixed.arch)).unwrap();
    let model = Model::load(&cat).unwrap();
    let out = Simulator::default().simulate(mixed, &model, &Options::default()).unwrap();
    let mut states: Vec<String> = out
        .states
        .iter()
        .map(|s| s.iter().map(|(k, v)| format!("{k}={v};")).collect::<String>())
        .collect();
    states.sort();
    states
}

#[test]
fn two_correct_mappings_that_clash_when_mixed() {
    let sb = test(SB);
    let parts = split(&sb, By::Instruction).unwrap();
    let mix = |before: [bool; 4]| {
        let made: Vec<Compiled> =
            parts.pieces.iter().zip(before).map(|(p, b)| riscv(&p.text, b)).collect();
        let all: Vec<&Compiled> = made.iter().collect();
        outcomes(&splice(&sb, &parts, &all).unwrap(), "riscv").len()
    };
    assert_eq!(mix([true; 4]), 3, "barriers before loads");
    assert_eq!(mix([false; 4]), 3, "barriers behind stores");
    // A store without its barrier, and then a load without one.
    assert_eq!(mix([true, false, true, true]), 4);
    assert_eq!(mix([true, false, false, true]), 4);
    // Too many barriers are no harm.
    assert_eq!(mix([false, true, false, true]), 3);
}

#[test]
fn equal_code_is_one_part_wherever_it_stands() {
    let parts = split(&test(SB), By::Instruction).unwrap();
    let names: Vec<&str> = parts.pieces.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["P0_0", "P0_1", "P1_0", "P1_1"]);
    assert_eq!(parts.pieces[0].text, parts.pieces[2].text);
    assert_eq!(parts.pieces[1].text, parts.pieces[3].text);
    assert_eq!(
        notation(&parts, &|i| if i == 1 { "c2".into() } else { "c1".into() }),
        "(c1(P0_0); c2(P0_1)) || (c1(P1_0); c1(P1_1))"
    );
}

#[test]
fn statements_inside_branches_and_loops_are_parts() {
    let text = "C T
{}
P0 (atomic_int* x) {
int r0 = atomic_load_explicit(x, memory_order_relaxed);
while (atomic_load_explicit(x, memory_order_acquire) == 0) {
if (r0 == 1) { atomic_store_explicit(x, 2, memory_order_release); break; }
}
}
exists (0:r0=1)
";
    let parts = split(&test(text), By::Instruction).unwrap();
    let seen: Vec<(&str, bool)> =
        parts.pieces.iter().map(|p| (p.name.as_str(), p.chosen)).collect();
    // Other threads can observe the condition of the loop, but not that of the branch.
    assert_eq!(seen, [("P0_0", true), ("P0_1", true), ("P0_2", false), ("P0_3", true)]);
    let jumps = parts.threads[0].iter().filter(|s| matches!(s, Step::Jump(_))).count();
    assert_eq!(jumps, 2);
}

#[test]
fn what_cannot_be_split_is_refused_by_name() {
    let text = "C T
{}
P0 (atomic_int* x) { atomic_int* p = x; }
exists (true)
";
    let message = split(&test(text), By::Instruction).unwrap_err();
    let why = "P0 cannot be split: the local `p` holds no integer";
    assert_eq!(message, Failure::unsupported(why));
    let text = "C T
{}
P0 (atomic_int* x) { int var0 = *x; }
exists (true)
";
    let message = split(&test(text), By::Thread).unwrap_err();
    let why = "P0 cannot be split: the name `var0` is needed for a part of it";
    assert_eq!(message, Failure::unsupported(why));
}

#[test]
fn store_buffering_is_symmetric_until_something_tells_its_threads_apart() {
    let parts = |t: &Test| -> Split { split(t, By::Instruction).unwrap() };
    let sb = test(SB);
    assert_eq!(symmetries(&sb, &parts(&sb)), [[2, 3, 0, 1]]);
    let other = test(&SB.replace("{}", "{ x = 3; }"));
    assert!(symmetries(&other, &parts(&other)).is_empty());
    let other = test(&SB.replace("(0:r0=0 /\\ 1:r0=0)", "(0:r0=0)"));
    assert!(symmetries(&other, &parts(&other)).is_empty());
}

#[test]
fn only_one_machine() {
    let text = "AArch64 part
{ 0:X0=loc0; }
P0 ;
STR WZR,[X0] ;
exists (true)
";
    let arm = Compiled::new(&test(text)).unwrap();
    assert_eq!(test(text).arch, Arch::AArch64);
    let sb = test(SB);
    let parts = split(&sb, By::Instruction).unwrap();
    let risc = riscv("atomic_store", true);
    let message = splice(&sb, &parts, &[&risc, &arm, &risc, &risc]).unwrap_err();
    assert_eq!(message.text(), "code for RISCV and code for AArch64 cannot be mixed");
}

/// Parts of store buffering for Arm, with more code in the stores.
fn arm(part: &str, more: &str) -> Compiled {
    let (init, code) = match part.contains("atomic_store") {
        true => ("0:R0=loc0;", format!("MOV R2,#1; {more} STR R2,[R0];")),
        false => ("0:R0=own0; 0:R1=loc0;", "LDR R3,[R1]; STR R3,[R0];".to_string()),
    };
    let lines = code.replace(';', " ;\n");
    let text = format!(
        "ARM part
{{ {init} }}
P0 ;
{lines}exists (true)
"
    );
    Compiled::new(&test(&text)).unwrap()
}

fn mixed(source: &str, more: &str) -> Test {
    let source = test(source);
    let parts = split(&source, By::Instruction).unwrap();
    let made: Vec<Compiled> = parts.pieces.iter().map(|p| arm(&p.text, more)).collect();
    splice(&source, &parts, &made.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn registers_that_are_changed_under_a_condition_hold_no_location() {
    let joined = mixed(SB, "CMP R2,#1; MOVEQ R4,#7; MOVEQ R5,#7;");
    let text = litmus::write(&joined);
    assert!(!text.contains(":R4=") && !text.contains(":R5="), "{text}");
    assert_eq!(outcomes(&joined, "armv7"), outcomes(&mixed(SB, ""), "armv7"));
}

#[test]
fn where_registers_do_not_suffice_addresses_lie_in_memory() {
    let three =
        SB.replacen("int r0", "atomic_store_explicit(z, 1, memory_order_seq_cst); int r0", 1);
    let three = three.replacen("P0 (", "P0 (atomic_int* z, ", 1);
    let all = (4..12).map(|n| format!("MOV R{n},#0; ")).collect::<String>();
    let joined = mixed(&three, &all);
    let text = litmus::write(&joined);
    assert!(text.contains("P0_addresses[2]"), "{text}");
    assert!(!text.contains("P1_addresses"), "{text}");
    let few = outcomes(&mixed(&three, ""), "armv7");
    assert_eq!(outcomes(&joined, "armv7"), few);
    assert_eq!(few.len(), 4);
}

/// How a machine's code accesses `x` and `y`, whose addresses are in the first two registers, and
/// how it calls functions.
struct Machine {
    arch: &'static str,
    model: &'static str,
    /// The initial state of a thread; `T` stands for its number.
    init: &'static str,
    /// Loads `@l` into the register `@n`.
    load: &'static str,
    store: &'static str,
    places: [&'static str; 2],
    values: [&'static str; 2],
    call: &'static str,
    ret: &'static str,
    jump: &'static str,
}

const MACHINES: [Machine; 6] = [
    Machine {
        arch: "AArch64",
        model: "aarch64",
        init: "T:X10=x; T:X11=y;",
        load: "LDR @n,[@l]",
        store: "MOV W5,#1; STR W5,[@l]",
        places: ["X10", "X11"],
        values: ["W0", "W1"],
        call: "BL F",
        ret: "RET",
        jump: "B E",
    },
    Machine {
        arch: "ARM",
        model: "armv7",
        init: "T:R10=x; T:R11=y;",
        load: "LDR @n,[@l]",
        store: "MOV R5,#1; STR R5,[@l]",
        places: ["R10", "R11"],
        values: ["R0", "R1"],
        call: "BL F",
        ret: "BX LR",
        jump: "B E",
    },
    Machine {
        arch: "RISCV",
        model: "riscv",
        init: "T:x10=x; T:x11=y;",
        load: "lw @n,0(@l)",
        store: "ori x7,x0,1; sw x7,0(@l)",
        places: ["x10", "x11"],
        values: ["x12", "x13"],
        call: "call F",
        ret: "ret",
        jump: "j E",
    },
    Machine {
        arch: "PPC",
        model: "ppc",
        init: "T:r10=x; T:r11=y;",
        load: "lwz @n,0(@l)",
        store: "li r7,1; stw r7,0(@l)",
        places: ["r10", "r11"],
        values: ["r3", "r4"],
        call: "bl F",
        ret: "blr",
        jump: "b E",
    },
    Machine {
        arch: "MIPS",
        model: "mips",
        init: "T:$10=x; T:$11=y;",
        load: "lw @n,0(@l)",
        store: "ori $7,$0,1; sw $7,0(@l)",
        places: ["$10", "$11"],
        values: ["$2", "$3"],
        call: "jal F; nop",
        ret: "jr $31; nop",
        jump: "b E",
    },
    Machine {
        arch: "X86_64",
        model: "x86tso",
        init: "int64_t PT_stack[2]; T:rsp=PT_stack[1];",
        load: "movl (@l),@n",
        store: "movl $1,(@l)",
        places: ["x", "y"],
        values: ["%eax", "%ebx"],
        call: "call F",
        ret: "ret",
        jump: "jmp E",
    },
];

impl Machine {
    /// A test of two threads with two accesses each (`Rx` loads `x`), in functions or in place.
    fn test(&self, threads: [[&str; 2]; 2], calls: bool) -> Test {
        let mut init = String::new();
        let (mut columns, mut shown): (Vec<Vec<String>>, String) = (Vec::new(), String::new());
        for (t, accesses) in threads.iter().enumerate() {
            init += &self.init.replace('T', &t.to_string());
            let (mut lines, mut behind) = (Vec::new(), Vec::new());
            for (n, access) in accesses.iter().enumerate() {
                let place = self.places[usize::from(access.ends_with('y'))];
                let code = match access.starts_with('R') {
                    true => {
                        let register = self.values[n].trim_start_matches('%');
                        shown += &format!("{t}:{}; ", register.replace('e', "r").replace('W', "X"));
                        self.load.replace("@n", self.values[n])
                    }
                    false => self.store.to_string(),
                };
                let code = code.replace("@l", place);
                match calls {
                    true => {
                        lines.push(self.call.replace('F', &format!("F{t}{n}")));
                        behind.push(format!("F{t}{n}: {code}; {}", self.ret));
                    }
                    false => lines.push(code),
                }
            }
            if calls {
                lines.push(self.jump.replace('E', &format!("E{t}")));
                lines.append(&mut behind);
                lines.push(format!("E{t}: "));
            }
            let lines = lines.iter().flat_map(|l| l.split("; ")).map(str::to_string);
            columns.push(lines.collect());
        }
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |t: usize, row: usize| columns[t].get(row).map_or("", String::as_str);
        let lines: String =
            (0..rows).map(|row| format!("{} | {} ;\n", cell(0, row), cell(1, row))).collect();
        test(&format!(
            "{} T\n{{ {init} x=0; y=0; }}\nP0 | P1 ;\n{lines}locations [x; y; {shown}]\nexists (true)\n",
            self.arch
        ))
    }
}

#[test]
fn calls_order_nothing() {
    let shapes = [
        ("MP", [["Wx", "Wy"], ["Ry", "Rx"]]),
        ("SB", [["Wx", "Ry"], ["Wy", "Rx"]]),
        ("LB", [["Rx", "Wy"], ["Ry", "Wx"]]),
        ("R", [["Wx", "Wy"], ["Wy", "Rx"]]),
        ("S", [["Wx", "Wy"], ["Ry", "Wx"]]),
        ("2+2W", [["Wx", "Wy"], ["Wy", "Wx"]]),
    ];
    for machine in &MACHINES {
        for (name, threads) in shapes {
            let [called, in_place] =
                [true, false].map(|calls| outcomes(&machine.test(threads, calls), machine.model));
            assert_eq!(called, in_place, "{name} on {}", machine.arch);
            // If calls ordered accesses, this would show: the machine's reordering is visible
            // across calls, too.
            let weak = machine.arch != "X86_64" || name == "SB";
            if weak && ["SB", "LB"].contains(&name) && machine.model != "mips" {
                assert_eq!(called.len(), 4, "{name} on {}", machine.arch);
            }
        }
    }
}

fn tables() -> impl Strategy<Value = Table> {
    (1usize..5, 1usize..5).prop_flat_map(|(parts, profiles)| {
        let row = prop::collection::vec(0u32..3, profiles);
        let rows = prop::collection::vec(row, parts);
        (rows, prop::collection::vec(any::<bool>(), parts))
            .prop_map(|(sequences, chosen)| Table { sequences, chosen })
    })
}

proptest! {
    #[test]
    fn every_assignment_is_one_of_the_combinations(table in tables()) {
        let mut seen = std::collections::BTreeSet::new();
        table.each(&[], &mut |c| seen.insert(c.clone()));
        prop_assert_eq!(seen.len() as u128, table.combinations());
        prop_assert!(table.combinations() <= table.assignments());
        let all: Vec<usize> = (0..table.profiles()).collect();
        for p in 0..table.profiles() {
            prop_assert!(seen.contains(&table.uniform(p)));
        }
        for c in &seen {
            // The given mixes make the combination, with no superfluous profile.
            let sets = table.smallest(c, &all);
            prop_assert!(!sets.is_empty());
            for (set, assignment) in sets {
                prop_assert!(set.iter().all(|p| assignment.contains(p)));
                for (i, p) in assignment.iter().enumerate() {
                    prop_assert!(!table.chosen[i] || table.sequences[i][*p] == c[i]);
                }
            }
        }
    }

    #[test]
    fn symmetric_combinations_are_seen_once(rows in prop::collection::vec(prop::collection::vec(0u32..3, 3), 2)) {
        // Two threads with the same parts.
        let sequences = [rows.clone(), rows].concat();
        let table = Table { chosen: vec![true; 4], sequences };
        let swap = vec![2, 3, 0, 1];
        let mut seen = std::collections::BTreeSet::new();
        table.each(std::slice::from_ref(&swap), &mut |c| seen.insert(c.clone()));
        table.each(&[], &mut |c| {
            let other: Vec<u32> = swap.iter().map(|i| c[*i]).collect();
            assert_eq!(usize::from(seen.contains(c)) + usize::from(seen.contains(&other)),
                1 + usize::from(*c == other));
            true
        });
    }

    #[test]
    fn counting_is_going_through_all(
        pair in prop::collection::vec(prop::collection::vec(0u32..4, 3), 2),
        one in prop::collection::vec(0u32..4, 3),
    ) {
        let count = |rows: &[&Vec<u32>], symmetries: &[Vec<usize>]| {
            let sequences: Vec<Vec<u32>> = rows.iter().map(|r| r.to_vec()).collect();
            let table = Table { chosen: vec![true; sequences.len()], sequences };
            let mut seen = 0u128;
            table.each(symmetries, &mut |_| { seen += 1; true });
            assert_eq!(table.up_to(symmetries), seen);
        };
        count(&[&pair[0], &pair[1], &one], &[]);
        count(&[&pair[0], &pair[1], &pair[0], &pair[1]], &[vec![2, 3, 0, 1]]);
        // Three threads that can all be exchanged.
        let mut all = vec![vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]];
        count(&[&one, &one, &one], &all);
        all.iter_mut().for_each(|s| s.push(3));
        count(&[&one, &one, &one, &pair[0]], &all);
    }
}

fn written(text: &str) -> Written {
    Written::read(&Source::new("mix", text)).unwrap()
}

/// The message, and the underlined text.
fn wrong<T: std::fmt::Debug>(
    text: &str,
    result: litmake_base::diag::Result<T>,
) -> (String, String) {
    let diag = result.unwrap_err();
    let span = diag.span.unwrap();
    (diag.message, text[span.start as usize..span.end as usize].to_string())
}

#[test]
fn what_is_written_of_a_mix_is_read_back() {
    let known = ["gcc-12-O2".to_string(), "clang[16]".to_string(), "A".to_string()];
    for (by, parts) in [(By::Whole, 1), (By::Thread, 2), (By::Instruction, 4)] {
        let split = split(&test(SB), by).unwrap();
        assert_eq!(split.pieces.len(), parts);
        // Every choice of profiles.
        for n in 0..3usize.pow(parts as u32) {
            let choice: Vec<usize> = (0..parts as u32).map(|i| n / 3usize.pow(i) % 3).collect();
            let text = notation(&split, &|i| known[choice[i]].clone());
            let mix = written(&text);
            assert_eq!(mix.by().unwrap(), by, "{text}");
            let profiles = mix.profiles(&known).unwrap();
            assert_eq!(mix.assignment(&split, &profiles).unwrap(), choice, "{text}");
        }
    }
}

#[test]
fn a_profile_of_a_mix_is_a_name_or_a_place() {
    let known = ["one".to_string(), "two".to_string(), "c1".to_string()];
    let profiles = |text: &str| written(text).profiles(&known).unwrap();
    assert_eq!(
        profiles("(comp_1(P0_0); comp_2(P0_1)) || (comp_1(P1_0); comp_2(P1_1))"),
        [0, 1, 0, 1]
    );
    assert_eq!(profiles("(A(P0_0)) || (B(P1_0))"), [0, 1]);
    assert_eq!(profiles("A ( P0 )||C(P1)"), [0, 2]);
    // Names take precedence over positions.
    assert_eq!(profiles("(c1(P0); two(P0); c2(P0); comp3(P0); c_1(P0))"), [2, 1, 1, 2, 0]);
    for (text, message, place) in [
        ("(A(P0)) || (D(P1))", "`D` stands for profile 4, and there are 3", "D"),
        ("(c9(P0))", "`c9` stands for profile 9, and there are 3", "c9"),
        ("(c0(P0))", "there is no profile `c0` to mix", "c0"),
        ("(tow(P0))", "there is no profile `tow` to mix", "tow"),
        ("(a(P0))", "there is no profile `a` to mix", "a"),
    ] {
        let (said, at) = wrong(text, written(text).profiles(&known));
        assert_eq!((&*said, &*at), (message, place), "{text}");
    }
}

#[test]
fn a_mix_that_cannot_be_read_is_pointed_at() {
    for (text, message, place) in [
        ("(A(P0_0)) || (B(P1_0)", "this bracket is not closed", "("),
        ("(A(P0_0) || (B(P1_0))", "`;` and another part, or `)` should be here, and not `|`", "|"),
        ("(A(P0_0", "this bracket is not closed", "("),
        ("(A P0_0)", "`(` and a part of the test should be here, and not `P`", "P"),
        (
            "(A(P0_0)) (B(P1_0))",
            "`||` and another thread, or the end should be here, and not `(`",
            "(",
        ),
        ("(A(P0_0);)", "the name of a profile should be here, and not `)`", ")"),
        ("(A(P0_0)) ||", "the name of a profile should be here, and not the end", ""),
        ("(A(x))", "`x` is no part of a test", "x"),
        ("(A(P0_))", "`P0_` is no part of a test", "P0_"),
        ("(A())", "a part of the test, such as `P0_1`, should be here, and not `)`", ")"),
        ("(A(P0_0); A(P1))", "`P0_0` and `P1` are not made by one way of taking tests apart", "P1"),
        ("", "the name of a profile should be here, and not the end", ""),
        ("() || ()", "the mix has no parts", ""),
    ] {
        let (said, at) = wrong(text, Written::read(&Source::new("mix", text)));
        assert_eq!((&*said, &*at), (message, place), "{text}");
    }
}

#[test]
fn a_mix_that_does_not_fit_the_test_is_pointed_at() {
    let split = split(&test(SB), By::Instruction).unwrap();
    let known = ["one".to_string(), "two".to_string()];
    for (text, message, place) in [
        ("(A(P0_0); B(P0_1)) || (A(P1_0); B(P1_2))", "the test has no part `P1_2`", "P1_2"),
        ("(A(P0_0); B(P0_1)) || (A(P1_0))", "the mix does not say what compiles `P1_1`", ""),
        ("(A(P0_0); B(P0_0))", "`P0_0` stands here twice", "P0_0"),
        ("(A(P0_1); B(P0_0)) || (A(P1_0); B(P1_1))", "`P0_0` does not stand where it runs", "P0_0"),
        ("(A(P0_0); B(P0_1); A(P1_0); B(P1_1))", "`P1_0` does not stand where it runs", "P1_0"),
        (
            "(A(P0_0)) || (B(P0_1)) || (A(P1_0); B(P1_1))",
            "`P0_1` does not stand where it runs",
            "P0_1",
        ),
        ("(A(P0)) || (B(P1))", "the test has no part `P0`", "P0"),
    ] {
        let mix = written(text);
        let profiles = mix.profiles(&known).unwrap();
        let (said, at) = wrong(text, mix.assignment(&split, &profiles));
        assert_eq!((&*said, &*at), (message, place), "{text}");
    }
}

#[test]
fn a_test_that_says_where_its_threads_lie_stays_whole() {
    let text = "C t
{ }
P0 (atomic_int* x) {
  atomic_store(x, 1);
}
P1 (atomic_int* x) {
  int r0 = atomic_load(x);
}
exists (1:r0=1)
";
    let threads = |text: &str| {
        let test = test(text);
        crate::threads::apart(&test).map(|threads| threads.len())
    };
    assert_eq!(threads(text), Some(2));
    let near = text.replace("exists", "scopes: (device (workgroup P0 P1))\nexists");
    assert_eq!(threads(&near), None);
}

/// Tests from the same threads' code in other frames: what their names, places, locals and conditions are.
#[test]
fn forms_are_equal_where_joined_tests_are() {
    let mut found = Vec::new();
    for (name, local, place, value, immediate) in choices() {
        let source = test(&format!(
            "C {name}\n{{}}\nP0(atomic_int *{place}, atomic_int *y) {{ int {local} = atomic_load({place}); *y = 1; }}\n\
             P1(atomic_int *y) {{ *y = 2; }}\nexists (0:{local}={value})\n"
        ));
        let threads = crate::threads::apart(&source).unwrap();
        let reads = test(
            "AArch64 thread\nLocals=0:var0=out\n{ 0:X0=loc0; 0:X1=loc1; 0:X2=out; int loc0; int loc1; int out; }\n\
             P0 ;\n LDR W3,[X0] ;\n STR W3,[X2] ;\n MOV W4,#1 ;\n STR W4,[X1] ;\nexists (true)\n",
        );
        let writes = test(&format!(
            "AArch64 thread\n{{ 0:X0=loc0; int loc0; }}\n P0 ;\n MOV W4,#{immediate} ;\n STR W4,[X0] ;\nexists (true)\n"
        ));
        let code = [&reads, &writes];
        let joined = crate::threads::together(&source, &threads, &code).unwrap();
        let frame = crate::threads::frame(&source, &threads).unwrap();
        let forms = code.map(|code| std::sync::Arc::new(crate::threads::Form::of(code)));
        let form = crate::threads::form(&frame, &threads, &forms);
        found.push((form, (litmus::canon::canonical_text(&joined), joined.info)));
    }
    for (form, joined) in &found {
        for (other_form, other) in &found {
            assert_eq!(form == other_form, joined == other, "{joined:?}\n{other:?}");
        }
    }
    let forms: std::collections::BTreeSet<_> = found.iter().map(|(form, _)| form).collect();
    assert_eq!((found.len(), forms.len()), (32, 16), "names alone make no difference");
}

/// All ways to choose a name, a local, a place, a value and an immediate.
fn choices() -> impl Iterator<Item = (&'static str, &'static str, &'static str, u32, u32)> {
    (0..32usize).map(|n| {
        let bit = |at: usize| n >> at & 1;
        (
            ["one", "other"][bit(0)],
            ["r0", "r1"][bit(1)],
            ["x", "z"][bit(2)],
            bit(3) as u32,
            2 + bit(4) as u32,
        )
    })
}
