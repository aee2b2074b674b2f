//! Mappings that somebody wrote by hand as tables, judged by small tests. It does not know what tables say.

use crate::scratch::Scratch;

/// Two threads of two statements, and what they may not read.
fn program(name: &str, threads: [&str; 2], never: &str) -> String {
    let [first, second] = threads.map(|code| {
        let mut code = code.to_string();
        for (short, long) in [
            ("R", "memory_order_relaxed"),
            ("A", "memory_order_acquire"),
            ("L", "memory_order_release"),
            ("S", "memory_order_seq_cst"),
        ] {
            code = code.replace(&format!(",{short})"), &format!(", {long})"));
            code = code.replace(&format!("fence({short})"), &format!("fence({long})"));
        }
        let code = code.replace("load(", "atomic_load_explicit(");
        let code = code.replace("store(", "atomic_store_explicit(");
        let code = code.replace("swap(", "atomic_exchange_explicit(");
        let code = code.replace("add(", "atomic_fetch_add_explicit(");
        code.replace("fence(", "atomic_thread_fence(")
    });
    format!(
        "C {name}\n{{}}\nP0 (atomic_int* x, atomic_int* y) {{ {first} }}\n\
         P1 (atomic_int* x, atomic_int* y) {{ {second} }}\nexists ({never})\n"
    )
}

/// Judges tables named `mine` by some tests, each with its name, its threads and what they may not read.
pub fn judge(tests: &[(&str, [&str; 2], &str)]) -> impl Fn(&str) -> (i32, String) {
    let s = Scratch::with(&[]);
    for (name, threads, never) in tests {
        s.write(&format!("tests/{name}.litmus"), &program(name, *threads, never));
    }
    move |table| {
        s.write("mine.yaml", table);
        s.litmake(&["check", "--investigate", "0", "--profile", "./mine.yaml", "tests"])
    }
}
