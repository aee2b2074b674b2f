//! What is said about texts that are not tests: place, expectation, and what to do.

use crate::try_read;

#[track_caller]
fn says(text: &str, expected: &str) {
    let error = match try_read(text) {
        Ok(test) => panic!("read as {test:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error, expected.trim_start_matches('\n'), "\n{error}\n");
}

#[test]
fn unknown_dialect() {
    says(
        "AArhc64 MP\n{}\n",
        "
t.litmus:1:1: error: `AArhc64` is not a dialect of litmus tests
 1 | AArhc64 MP
   | ^^^^^^^
  help: did you mean `AArch64`? The dialects are C, AArch64, ARM, X86_64, X86, RISCV, PPC, MIPS, LLVM, SPIRV",
    );
}

#[test]
fn dialect_of_another_tool() {
    says(
        "LISA MP\n{}\n",
        "
t.litmus:1:1: error: unsupported: tests in LISA
 1 | LISA MP
   | ^^^^
  help: the dialects are C, AArch64, ARM, X86_64, X86, RISCV, PPC, MIPS, LLVM, SPIRV",
    );
}

#[test]
fn empty_file() {
    says(
        "",
        "
t.litmus:1:1: error: expected the dialect of the test (C, AArch64, ARM, X86_64, X86, RISCV, PPC, MIPS, LLVM, SPIRV), found the end of the file
 1 | 
   | ^",
    );
}

#[test]
fn missing_name() {
    says(
        "RISCV\n{}\n P0 ;\n",
        "
t.litmus:1:6: error: expected the name of the test, found the end of the line
 1 | RISCV
   |      ^
  help: a test opens with its dialect and its name, as in `AArch64 MP`",
    );
}

#[test]
fn missing_initial_state() {
    says(
        "RISCV MP\n P0 ;\n nop ;\nexists (0:x5=1)\n",
        "
t.litmus:2:2: error: expected `{`, which opens the initial state, found `P0`
 2 |  P0 ;
   |  ^^
  help: between a test's name and `{` stand a quoted title and `Key=value` lines",
    );
}

#[test]
fn comment_without_end() {
    says(
        "RISCV MP\n{ (* x=1; (* y=2; *) }\n P0 ;\n nop ;\nexists (0:x5=1)\n",
        "
t.litmus:2:3: error: this comment is not closed
 2 | { (* x=1; (* y=2; *) }
   |   ^^
  help: write `*)` where it ends (`(*` comments nest)",
    );
}

#[test]
fn initial_state_without_end() {
    says(
        "RISCV MP\n{ x=1; y=2;\n",
        "
t.litmus:2:1: error: the initial state is not closed
 2 | { x=1; y=2;
   | ^
  help: write `}` where it ends",
    );
}

#[test]
fn comma_between_initialisations() {
    says(
        "PPC MP\n{ 0:r1=x, 0:r2=y; }\n P0 ;\n sync ;\n",
        "
t.litmus:2:9: error: expected `;` or `}` behind an initialisation, found `,`
 2 | { 0:r1=x, 0:r2=y; }
   |         ^
  help: initialisations are separated by `;`",
    );
}

#[test]
fn initialised_twice() {
    says(
        "PPC MP\n{ 0:r1=x; P0:r1=y; }\n P0 ;\n sync ;\n",
        "
t.litmus:2:11: error: 0:r1 is initialised more than once
 2 | { 0:r1=x; P0:r1=y; }
   |           ^^^^^^^
  help: keep one of the initialisations",
    );
}

#[test]
fn bad_number() {
    says(
        "PPC MP\n{ x=0xfg; }\n P0 ;\n sync ;\n",
        "
t.litmus:2:5: error: `0xfg` is not an integer
 2 | { x=0xfg; }
   |     ^^^^
  help: integers are decimal, 0x (hexadecimal), 0o (octal) or 0b (binary)",
    );
}

#[test]
fn number_too_large() {
    says(
        "C MP\n{ x=0x100000000000000000000000000000000; }\nP0 () {}\n",
        "
t.litmus:2:5: error: this integer does not fit in 128 bits
 2 | { x=0x100000000000000000000000000000000; }
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: the widest type of a litmus test has 128 bits",
    );
}

#[test]
fn array_of_another_size() {
    says(
        "C MP\n{ int x[3]={1,2}; }\nP0 () {}\n",
        "
t.litmus:2:12: error: x has 3 elements, and 2 values
 2 | { int x[3]={1,2}; }
   |            ^^^^^",
    );
}

#[test]
fn huge_array() {
    says(
        "C MP\n{ int x[99999999999]; }\nP0 () {}\n",
        "
t.litmus:2:9: error: an array index is at most 65536 here
 2 | { int x[99999999999]; }
   |         ^^^^^^^^^^^",
    );
}

#[test]
fn no_type() {
    says(
        "C MP\n{ unsigned void x=1; }\nP0 () {}\n",
        "
t.litmus:2:3: error: `unsigned void` is not a type: only integers have a sign
 2 | { unsigned void x=1; }
   |   ^^^^^^^^^^^^^",
    );
}

#[test]
fn label_that_is_not_there() {
    says(
        "AArch64 MP\n{ 0:X0=P0:L1; }\n P0 ;\n L0: NOP ;\nexists (0:X0=1)\n",
        "
t.litmus:2:3: error: thread P0 has no label `L1`
 2 | { 0:X0=P0:L1; }
   |   ^^^^^^^^^^
  help: a value `P0:L` is the address of the label L in thread P0",
    );
}

#[test]
fn system_level_tests() {
    says(
        "AArch64 MP\n{ [PTE(x)]=(valid:0); }\n P0 ;\n NOP ;\n",
        "
t.litmus:2:4: error: unsupported: page-table entries
 2 | { [PTE(x)]=(valid:0); }
   |    ^^^
  help: tests of user-level code are read: no virtual memory, faults, tags, vectors or code as data",
    );
    says(
        "AArch64 MP\n{ }\n P0 ;\n NOP ;\nexists (fault(P0:L0,x))",
        "
t.litmus:5:9: error: unsupported: faults
 5 | exists (fault(P0:L0,x))
   |         ^^^^^
  help: tests of user-level code are read: no virtual memory, faults, tags, vectors or code as data",
    );
    says(
        "AArch64 MP\n{ 0:X1=x:green; }\n P0 ;\n NOP ;\n",
        "
t.litmus:2:8: error: unsupported: memory tags
 2 | { 0:X1=x:green; }
   |        ^
  help: tests of user-level code are read: no virtual memory, faults, tags, vectors or code as data",
    );
}

#[test]
fn thread_names() {
    says(
        "X86 SB\n{}\n P0 | P0 ;\n MFENCE | MFENCE ;\n",
        "
t.litmus:3:7: error: thread P0 is there twice
 3 |  P0 | P0 ;
   |       ^^
  help: threads are P0, P1, ... in order",
    );
    says(
        "X86 SB\n{}\n P0 | P2 ;\n MFENCE | MFENCE ;\n",
        "
t.litmus:3:7: error: expected thread P1, found P2
 3 |  P0 | P2 ;
   |       ^^
  help: threads are P0, P1, ... in order",
    );
    says(
        "X86 SB\n{}\n MFENCE | MFENCE ;\n",
        "
t.litmus:3:2: error: expected `P0`, the name of a thread, found `MFENCE`
 3 |  MFENCE | MFENCE ;
   |  ^^^^^^
  help: the code opens with a row of threads, as in `P0 | P1 ;`",
    );
}

#[test]
fn too_many_threads() {
    let heads: Vec<String> = (0..65).map(|i| format!("P{i}")).collect();
    let text = format!("X86 SB\n{{}}\n{} ;\n", heads.join("|"));
    let error = try_read(&text).unwrap_err();
    assert_eq!(error.message, "a test has at most 64 threads");
    assert_eq!(&text[error.span.unwrap().start as usize..][..3], "P64");
}

#[test]
fn rows_of_other_lengths() {
    says(
        "MIPS SB\n{}\n P0 | P1 ;\n sync | sync | sync ;\n",
        "
t.litmus:4:16: error: this row has more cells than there are threads (2)
 4 |  sync | sync | sync ;
   |                ^^^^
  help: a row has one cell for each thread, separated by `|`, and ends with `;`",
    );
    says(
        "MIPS SB\n{}\n P0 | P1 ;\n sync ;\n",
        "
t.litmus:4:2: error: this row has 1 of 2 cells
 4 |  sync ;
   |  ^^^^^^
  help: a row has one cell for each thread, separated by `|`, and ends with `;`",
    );
}

#[test]
fn row_without_end() {
    says(
        "MIPS SB\n{}\n P0 | P1 ;\n sync | sync\nexists (0:$8=1)\n",
        "
t.litmus:4:13: error: expected `|` or `;` behind an instruction, found the end of the line
 4 |  sync | sync
   |             ^
  help: a row has one cell for each thread, separated by `|`, and ends with `;`",
    );
}

#[test]
fn label_twice() {
    says(
        "MIPS SB\n{}\n P0 ;\n L0: sync ;\n L0: sync ;\n",
        "
t.litmus:5:6: error: the label `L0` is defined twice in this thread
 5 |  L0: sync ;
   |      ^^^^
  help: give one of them another name",
    );
}

#[test]
fn register_of_no_thread() {
    says(
        "ARM SB\n{}\n P0 | P1 ;\n DMB | DMB ;\nexists (0:R0=1 /\\ 2:R1=0)\n",
        "
t.litmus:5:19: error: there is no thread P2
 5 | exists (0:R0=1 /\\ 2:R1=0)
   |                   ^^^^
  help: the test has threads P0 to P1",
    );
    says(
        "ARM SB\n{ 1:R0=x; }\n P0 ;\n DMB ;\n",
        "
t.litmus:2:3: error: there is no thread P1
 2 | { 1:R0=x; }
   |   ^^^^^^
  help: the test has one thread, P0",
    );
}

#[test]
fn conditions() {
    says(
        "ARM SB\n{}\n P0 ;\n DMB ;\nexists (0:R0=1 /\\ )\n",
        "
t.litmus:5:19: error: expected a proposition, such as `0:X1=1`, `x=2` or `not (...)`, found `)`
 5 | exists (0:R0=1 /\\ )
   |                   ^",
    );
    says(
        "ARM SB\n{}\n P0 ;\n DMB ;\nexists (0:R0=1 &&\n 0:R1=1)\n",
        "
t.litmus:5:16: error: expected `)`, `/\\`, `\\/` or `=>`, found `&`
 5 | exists (0:R0=1 &&
   |                ^
  help: the parenthesis opened at line 5, column 8",
    );
    says(
        "ARM SB\n{}\n P0 ;\n DMB ;\nexists (0:R0 1)\n",
        "
t.litmus:5:14: error: expected `=`, `!=` or another comparison, found `1`
 5 | exists (0:R0 1)
   |              ^",
    );
    says(
        "ARM SB\n{}\n P0 ;\n DMB ;\n~ (0:R0=1)\n",
        "
t.litmus:5:3: error: expected `exists` behind `~`, found `(`
 5 | ~ (0:R0=1)
   |   ^",
    );
    says(
        "ARM SB\n{}\n P0 ;\n DMB ;\nexists (0:R0=1)\nfilter (x=1)\n",
        "
t.litmus:6:1: error: expected the end of the test, or `/\\`, `\\/` or `=>`, found `filter`
 6 | filter (x=1)
   | ^^^^^^
  help: `locations` and `filter` come before the condition",
    );
}

#[test]
fn nested_too_deeply() {
    for (open, close) in [("(", ")"), ("~ ", ""), ("x=1 => ", "")] {
        let text = format!(
            "ARM SB\n{{}}\n P0 ;\n DMB ;\nexists {}x=1{}\n",
            open.repeat(5000),
            close.repeat(5000)
        );
        let text = text.replace("exists ~", "exists ( ~").replace("x=1\n", "x=1)\n");
        let error = try_read(&text).unwrap_err();
        assert_eq!(error.message, "this proposition is nested too deeply");
    }
}

#[test]
fn c_programs() {
    says(
        "C MP\n{}\nP0 (int *x) {\n  *x = 1;\nexists (x=1)\n",
        "
t.litmus:3:13: error: this brace is not closed
 3 | P0 (int *x) {
   |             ^
  help: write `}` where the body ends",
    );
    says(
        "C MP\n{}\nint x = 1;\nP0 () {}\nexists (x=1)\n",
        "
t.litmus:3:1: error: this declaration is no function
 3 | int x = 1;
   | ^^^^^^^^^^
  help: declare shared locations in the initial state, and give functions a body",
    );
    says(
        "C MP\n{}\nP0 (int *x) { *x = 1; }\nP0 (int *x) { *x = 2; }\nexists (x=1)\n",
        "
t.litmus:4:1: error: thread P0 is there twice
 4 | P0 (int *x) { *x = 2; }
   | ^^^^^^^^^^^
  help: threads are P0, P1, ... in order",
    );
    says(
        "C MP\n{}\nexists (x=1)\n",
        "
t.litmus:3:1: error: expected the function of thread P0, found `exists`
 3 | exists (x=1)
   | ^^^^^^
  help: a thread is a function named P0, P1, ..., as in `P0 (atomic_int* x) { ... }`",
    );
}
