//! `litmake lift`: code that is there already. What tests allow is known from the machines' manuals: x86 lets a load go
//! before an earlier store, and a fence keeps it behind.

use crate::scratch::Scratch;
use litmake_needs::here;
use std::process::Command;

/// Two functions by hand, one of them with a fence; nothing says that they are functions.
const POST: &str = "
    .text
    .globl post, fenced
post:
    movl $1, (%rdi)
    movl (%rsi), %eax
    ret
fenced:
    movl $1, (%rdi)
    mfence
again:
    movl (%rsi), %eax
    ret
    .globl asks
asks:
    movl $1, (%rdi)
    cpuid
    movl %eax, (%rdi)
    ret
";

const SB: &str = "C sb
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store(x, 1);
  int r0 = atomic_load(y);
}
P1 (atomic_int* y, atomic_int* x) {
  atomic_store(y, 1);
  int r0 = atomic_load(x);
}
exists (0:r0=0 /\\ 1:r0=0)
";

const PROFILE: &str = "gcc-12-x86_64-O2";

fn scratch() -> Option<Scratch> {
    here("gcc-12").then(|| Scratch::with(&[("post.s", POST), ("sb.litmus", SB)]))
}

/// Makes a file of C by a compiler of this machine.
fn compiled(s: &Scratch, args: &[&str]) {
    let done = Command::new("gcc-12").args(args).current_dir(s.dir()).status().unwrap();
    assert!(done.success(), "{args:?}");
}

/// What `litmake sim` says of a lifted test.
fn observed(s: &Scratch, text: &str) -> String {
    s.write("lifted.litmus", text);
    let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
    assert_eq!(status, 0, "{text}");
    text
}

#[test]
fn assembly_by_hand_becomes_a_test() {
    let Some(s) = scratch() else { return };
    for (function, wanted) in [("post", "Sometimes 1 3"), ("fenced", "Never 0 3")] {
        let (first, second) = (format!("P0={function}"), format!("P1={function}"));
        let condition = "exists (0:rax=0 /\\ 1:rax=0)";
        let mut args = vec!["lift", "post.s", "--profile", PROFILE, "-f", &first, "-f", &second];
        args.extend(["--arg", "P1:0=y", "--arg", "P1:1=x", "--result", "P0", "--result", "P1"]);
        args.extend(["--condition", condition, "--name", "hand"]);
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 0, "{text}");
        let text = observed(&s, &text);
        assert!(text.contains(&format!("Observation hand {wanted}")), "{text}");
    }
}

#[test]
fn code_is_compared_with_its_source() {
    let Some(s) = scratch() else { return };
    for (function, status, wanted) in
        [("post", 1, "+ 0:r0=0; 1:r0=0"), ("fenced", 0, "allows nothing that the source forbids")]
    {
        let mut args = vec!["lift", "post.s", "--profile", PROFILE, "--against", "sb.litmus"];
        args.extend(["-f", function, "-f", function]);
        let (found, text) = s.litmake(&args);
        assert_eq!(found, status, "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn what_cannot_be_lifted_is_refused_with_its_place() {
    let Some(s) = scratch() else { return };
    let lift = |more: &[&str]| s.litmake(&[&["lift", "post.s"][..], more].concat());
    let (status, text) = lift(&["--profile", PROFILE, "-f", "asks"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("P0: `asks`+0x6: ") && text.contains("cpuid"), "{text}");
    // Nobody says for which machine the text is, what is not there is named, and so is what is wrong.
    let (status, text) = lift(&["-f", "post"]);
    assert!(status == 2 && text.contains("--profile gcc-12-aarch64-O2"), "{text}");
    let (status, text) = lift(&["--profile", PROFILE, "-f", "pots"]);
    assert!(status == 3 && text.contains("no function `pots`"), "{text}");
    for (word, more) in [
        ("P1:0=x", &["--arg", "P1:0=x"][..]),
        ("P0:x=y", &["--arg", "P0:x=y"]),
        ("is of type `float`", &["--result", "float P0"]),
        ("there is no --function for P1", &["-f", "P2=post"]),
        ("sets the register", &["--init", "0:rax=1"]),
    ] {
        let (status, text) = lift(&[&["--profile", PROFILE, "-f", "P0=post"], more].concat());
        assert!(matches!(status, 2 | 3) && text.contains(word), "{more:?}: {text}");
    }
}

#[test]
fn functions_are_listed() {
    let Some(s) = scratch() else { return };
    let (status, text) = s.litmake(&["lift", "post.s", "--profile", PROFILE, "--list"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("  post: lifted, 2 instructions\n"), "{text}");
    assert!(text.contains("  asks: P0: `asks`+0x6: "), "{text}");
    assert!(text.contains("2 of 3 functions can be lifted"), "{text}");
}

/// A ring of one slot, whose two ends lie apart, and a counter.
const RING: &str = "#include <stdatomic.h>
struct ring { _Alignas(64) atomic_int head; _Alignas(64) atomic_int tail; int slot; };
atomic_int counter = 3;
static int calls;
__attribute__((noinline)) void count(void) { atomic_fetch_add(&counter, 1); }
void send(struct ring *r, int value) {
  r->slot = value;
  atomic_store_explicit(&r->tail, 1, memory_order_release);
  count();
}
int receive(struct ring *r) {
  if (!atomic_load_explicit(&r->tail, memory_order_acquire)) return -1;
  return r->slot;
}
";

#[test]
fn parts_of_objects_variables_and_calls_between_functions_of_a_library_are_followed() {
    let Some(s) = scratch() else { return };
    s.write("ring.c", RING);
    compiled(&s, &["-O2", "-fPIC", "-shared", "-s", "-o", "libring.so", "ring.c"]);
    compiled(&s, &["-O2", "-c", "-o", "ring.o", "ring.c"]);
    compiled(&s, &["-O0", "-fPIC", "-c", "-o", "plain.o", "ring.c"]);
    std::fs::remove_file(s.path("ring.c")).unwrap();
    for file in ["libring.so", "ring.o", "plain.o"] {
        let args = ["-f", "send", "-f", "receive", "--arg", "P0:1=7", "--result", "P1"];
        let (status, text) = s.litmake(&[&["lift", file, "--name", "ring"][..], &args].concat());
        assert_eq!(status, 0, "{file}: {text}");
        for wanted in ["x_64", "x_68", "counter=3"] {
            assert!(text.contains(wanted), "{file}: {text}");
        }
        let text = observed(&s, &text);
        let states: Vec<&str> = text.lines().filter(|l| l.contains("[counter]=4")).collect();
        let one = |value: &str| states.iter().filter(|s| s.contains(value)).count() == 1;
        assert!(states.len() == 2 && one("1:rax=-1;") && one("1:rax=7;"), "{file}: {text}");
    }
}

#[test]
fn pointers_in_memory_are_followed_where_the_initial_state_has_them() {
    let Some(s) = scratch() else { return };
    // A list whose first node is taken off by whoever comes first.
    s.write(
        "stack.c",
        "#include <stdatomic.h>
struct node { struct node *next; long value; };
long pop(_Atomic(struct node *) *top) {
  struct node *first = atomic_load(top);
  do {
    if (!first) return -1;
  } while (!atomic_compare_exchange_strong(top, &first, first->next));
  return first->value;
}
",
    );
    compiled(&s, &["-O2", "-c", "stack.c"]);
    let mut args = vec!["lift", "stack.o", "-f", "pop", "-f", "pop", "--name", "stack"];
    args.extend(["--init", "int64_t x=n; int64_t n[2]={0,7}"]);
    args.extend(["--result", "long P0", "--result", "long P1"]);
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 0, "{text}");
    let text = observed(&s, &text);
    assert!(text.contains("States 2\n"), "{text}");
    assert!(text.contains("0:rax=-1; 1:rax=7;") && text.contains("0:rax=7; 1:rax=-1;"), "{text}");
}

#[test]
fn a_dump_has_functions_by_where_they_begin() {
    let s = Scratch::with(&[]);
    // `movl $1,(%rdi); ret`, and `movl (%rdi),%eax; ret`.
    let code = [0xc7, 0x07, 1, 0, 0, 0, 0xc3, 0x8b, 0x07, 0xc3];
    std::fs::write(s.path("dump.bin"), code).unwrap();
    let mut args = vec!["lift", "--raw", "x86_64", "dump.bin", "-f", "0x0", "-f", "0x7"];
    args.extend(["--result", "P1", "--name", "dump", "--condition", "exists (1:rax=1)"]);
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 0, "{text}");
    assert!(observed(&s, &text).contains("Observation dump Sometimes 1 1"), "{text}");
}

#[test]
fn code_for_other_machines_is_lifted() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("bad.s", "    .globl enter\nenter:\n    ldr w0, [x0]\n    ldr w1, [x19]\n    ret\n");
    let args = ["lift", "bad.s", "--profile", "clang-16-aarch64-O2", "-f", "enter"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("`enter`+0x4: ") && text.contains("X19"), "{text}");
    // A lock by hand, with and without the acquire.
    for (acquire, wanted) in [("a", "Never"), ("", "Sometimes")] {
        let text = format!(
            "
    .globl enter, leave
enter:
    mov w2, #1
1:  ld{acquire}xr w3, [x0]
    cbnz w3, 2f
    stxr w3, w2, [x0]
    cbnz w3, 2f
    ldr w0, [x1, #64]
    ret
2:  mov w0, #9
    ret
leave:
    mov w2, #1
    str w2, [x1, #64]
    stlr wzr, [x0]
    ret
"
        );
        s.write("lock.s", &text);
        let mut args = vec!["lift", "lock.s", "--profile", "clang-16-aarch64-O2"];
        args.extend(["-f", "enter", "-f", "leave", "--result", "P0", "--init", "x=1"]);
        args.extend(["--condition", "exists (0:X0=0)", "--name", "lock"]);
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 0, "{text}");
        let text = observed(&s, &text);
        assert!(text.contains(&format!("Observation lock {wanted}")), "{text}");
    }
}

#[test]
fn a_stripped_library_s_own_functions_and_calls_that_do_not_return_are_followed() {
    let Some(s) = scratch() else { return };
    s.write(
        "own.c",
        "#include <stdatomic.h>
#include <signal.h>
#include <stdlib.h>
__attribute__((noinline)) static void own(atomic_int *x) { atomic_store(x, 5); }
void twice(atomic_int *x) { own(x); atomic_fetch_add(x, 1); }
void never(atomic_int *x) { if (atomic_load(x)) abort(); }
void unknown(atomic_int *x) { if (atomic_load(x)) raise(6); }
",
    );
    compiled(&s, &["-O1", "-fPIC", "-shared", "-s", "-o", "libown.so", "own.c"]);
    let (status, text) = s.litmake(&["lift", "libown.so", "-f", "twice", "--name", "own"]);
    assert_eq!(status, 0, "{text}");
    assert!(observed(&s, &text).contains("[x]=6;"), "{text}");
    // What is known to end the program ends executions, and the test says so.
    let (status, text) = s.litmake(&["lift", "libown.so", "-f", "never"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("\nCalls=abort=never\n"), "{text}");
    assert!(observed(&s, &text).contains("States 1"), "{text}");
    let (status, text) = s.litmake(&["lift", "libown.so", "-f", "unknown"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("`unknown`+0x") && text.contains("a call of `raise`"), "{text}");
}

#[test]
fn the_disassembly_stands_beside_what_it_became_and_the_source() {
    let Some(s) = scratch() else { return };
    // The source's line, the code made of it, and what that became.
    for (profile, code, became) in [
        (PROFILE, "(%rdi)", "(x)"),
        ("gcc-12-aarch64-O2", "STLR W", "STLR W"),
        ("clang-16-ppc64le-O2", "stw r6,0(r3)", "stw r6,0(r"),
    ] {
        let (status, text) =
            s.litmake(&["compile", "--show-asm", "--profile", profile, "sb.litmus"]);
        if status == 3 && text.contains("is not installed") {
            continue;
        }
        assert_eq!(status, 0, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let sides = lines.iter().filter_map(|l| l.split_once('|'));
        let is_there =
            |(a, b): (&str, &str)| a.contains("t0_P0+0x") && a.contains(code) && b.contains(became);
        assert!(sides.clone().any(is_there), "{profile}: {text}");
        let is_source = |l: &&&str| !l.contains('|') && l.contains(": ") && l.contains("atomic_");
        assert!(lines.iter().filter(is_source).count() >= 2, "{profile}: {text}");
    }
}

/// Code that checks something before it stores, and says what it did.
const CHECKED: &str = "extern void abort(void);\nextern int printf(const char *, ...);\n\
extern int asked(int *);\n\
void checked(int *x, int *y) {\n  if (*x == 7) abort();\n  __atomic_store_n(y, 1, __ATOMIC_RELEASE);\n  \
printf(\"done\");\n}\n\
int asks(int *x) {\n  return asked(x) + *x;\n}\n";

#[test]
fn calls_do_what_is_said_of_them() {
    if !here("gcc-12") {
        return;
    }
    let s = Scratch::with(&[("checked.c", CHECKED)]);
    compiled(&s, &["-O2", "-fno-stack-protector", "-c", "checked.c"]);
    let (status, text) = s.litmake(&["lift", "checked.o", "-f", "checked"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("Calls=abort=never printf=nothing"), "{text}");
    // Whoever finds 7 never gets to the store.
    let (status, text) = s.litmake(&[
        "lift",
        "checked.o",
        "-f",
        "checked",
        "--init",
        "int x=7",
        "-o",
        "seven.litmus",
    ]);
    assert_eq!(status, 0, "{text}");
    let (_, text) = s.litmake(&["sim", "seven.litmus"]);
    assert!(!text.contains("y=1"), "{text}");
    let (status, text) = s.litmake(&["lift", "checked.o", "-f", "asks"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("a call of `asked`"), "{text}");
    let lifted = [
        "lift",
        "checked.o",
        "-f",
        "asks",
        "--call",
        "asked=40",
        "--init",
        "int x=2",
        "--result",
        "P0",
    ];
    let (status, text) = s.litmake(&[&lifted[..], &["-o", "asks.litmus"]].concat());
    assert_eq!(status, 0, "{text}");
    let (_, text) = s.litmake(&["sim", "asks.litmus"]);
    assert!(text.contains("=42;"), "{text}");
    let (status, text) = s.litmake(&["lift", "checked.o", "-f", "asks", "--call", "asked=soon"]);
    assert!(status == 2 && text.contains("`soon` is not `nothing`, `never` or a number"), "{text}");
}
