//! Variables that functions name directly: each is one object, whichever thread runs the function (C11, 6.2.4 and
//! 6.7.9). Outcomes come from reasoning over the interleavings.

use crate::finals::states;

fn found(text: &str) -> Vec<String> {
    let (states, undefined) = states(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(!undefined, "{text}");
    states
}

#[test]
fn all_threads_that_run_a_function_share_its_statics() {
    let text = "C t\n{}\nstatic int body(int id) {\n  static int d = 5;\n  static atomic_int f;\n\
                if (id == 0) { d = 7; atomic_store_explicit(&f, 1, memory_order_release); return d; }\n\
                if (atomic_load_explicit(&f, memory_order_acquire)) { return d; }\n  return 9;\n}\n\
                P0() { int r = body(0); }\nP1() { int r = body(1); }\nexists (1:r=7)\n";
    assert_eq!(found(text), ["1:r=7;", "1:r=9;"]);
}

#[test]
fn variables_have_initial_values_and_final_ones() {
    let text = "C t\n{}\nstruct S { int a; int b; };\nstatic int d = -3;\nstatic struct S s;\n\
                double w = 0.5;\n\
                P0() { static int v[3] = {4, 5}; d += v[0] + v[1] + v[2]; s.b = d; int *p = &s.a; *p = 2; int r = s.a + s.b; int q = w < 1; }\n\
                exists (d=6 /\\ 0:r=8 /\\ 0:q=1)\n";
    assert_eq!(found(text), ["0:q=1; 0:r=8; [d]=6;"]);
}

#[test]
fn tables_stand_between_functions() {
    let text = "C t\n{}\nstatic const int table[4] = {1, 2, 3, 4};\nint v[3] = {0, 5}, w = 1;\n\
                atomic_int x = 3;\n\
                static int get(int i) { return table[i]; }\n\
                P0() { v[1] += get(atomic_load_explicit(&x, memory_order_relaxed)) + w; }\n\
                P1() { atomic_store_explicit(&x, 2, memory_order_relaxed); }\n\
                exists (v[1]=9)\n";
    assert_eq!(found(text), ["v[1]=9;", "v[1]=10;"]);
}

/// What `&&` and `?:` leave out is not read: a variable is in memory, and reading it may race.
#[test]
fn a_variable_that_is_left_out_is_not_read() {
    for value in ["r && d", "r ? d : 0"] {
        let text = format!(
            "C t\n{{}}\nstatic int d;\nstatic atomic_int f;\n\
             P0() {{ d = 1; atomic_store_explicit(&f, 1, memory_order_release); }}\n\
             P1() {{ int r = atomic_load_explicit(&f, memory_order_acquire); int q = {value}; }}\n\
             exists (1:q=1)\n"
        );
        assert_eq!(found(&text), ["1:q=0;", "1:q=1;"]);
    }
}

#[test]
fn threads_without_order_race_on_a_variable() {
    let text = "C t\n{}\nstatic int d;\nP0() { d = 1; }\nP1() { int r = d; }\nexists (1:r=1)\n";
    assert!(states(text).expect("states").1);
}

#[test]
fn what_is_no_variable_is_said() {
    for (code, message) in [
        ("static int d; static int d;\nP0() { d = 1; }", "two locations with the name `d`"),
        ("static int d = e;\nP0() { d = 1; }", "starts with a constant"),
        ("extern int d;\nP0() { d = 1; }", "`extern` are not read"),
        ("static _Thread_local int d;\nP0() { d = 1; }", "`_Thread_local` are not read"),
        ("P0(static int *d) { *d = 1; }", "`static` stands here before no variable"),
        ("P0() { d = 1; }", "`d` is not declared here"),
        // A name that a function declares is no variable in any of them.
        ("static int d;\nP0(int *d) { *d = 1; }\nP1() { d = 1; }", "`d` is not declared here"),
    ] {
        let text = format!("C t\n{{}}\n{code}\nexists (true)\n");
        let error = states(&text).expect_err(code);
        assert!(error.contains(message), "{code}: {error}");
    }
}
