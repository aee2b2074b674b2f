//! Publication: a thread makes an object and stores a pointer to it, another loads the pointer
//! and accesses what it points to, be it the new object or the one that was there before.
//!
//! No cycle says that: the value that is read is an address.

/// How the pointer is stored.
const PUBLISH: [(&str, &str); 7] = [
    ("store-rlx", "atomic_store_explicit(<p>, <v>, memory_order_relaxed);"),
    ("store-rel", "atomic_store_explicit(<p>, <v>, memory_order_release);"),
    ("store-sc", "atomic_store_explicit(<p>, <v>, memory_order_seq_cst);"),
    ("exchange-rlx", "atomic_exchange_explicit(<p>, <v>, memory_order_relaxed);"),
    ("exchange-rel", "atomic_exchange_explicit(<p>, <v>, memory_order_release);"),
    ("exchange-ar", "atomic_exchange_explicit(<p>, <v>, memory_order_acq_rel);"),
    ("exchange-sc", "atomic_exchange_explicit(<p>, <v>, memory_order_seq_cst);"),
];

const BEFORE: [(&str, &str); 3] = [
    ("", ""),
    ("fencerel", "atomic_thread_fence(memory_order_release);"),
    ("fencesc", "atomic_thread_fence(memory_order_seq_cst);"),
];

const LOAD: [(&str, &str); 4] = [
    ("rlx", "memory_order_relaxed"),
    ("con", "memory_order_consume"),
    ("acq", "memory_order_acquire"),
    ("sc", "memory_order_seq_cst"),
];

const AFTER: [(&str, &str); 3] = [
    ("", ""),
    ("fenceacq", "atomic_thread_fence(memory_order_acquire);"),
    ("fencesc", "atomic_thread_fence(memory_order_seq_cst);"),
];

/// Each name and text, in one order.
pub fn texts() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (shape, _) in SHAPES {
        for (member, at) in [("", 0), (".member", 1)] {
            for (data, plain) in [("", false), (".plain", true)] {
                for (publish, _) in PUBLISH {
                    for (before, _) in BEFORE {
                        for (load, _) in LOAD {
                            for (after, _) in AFTER {
                                let parts = [publish, before, load, after];
                                let parts: Vec<&str> =
                                    parts.into_iter().filter(|p| !p.is_empty()).collect();
                                let name = format!("{shape}+{}{data}{member}", parts.join("-"));
                                let text =
                                    one(&name, shape, [publish, before, load, after], plain, at);
                                out.push((name, text));
                            }
                        }
                    }
                }
            }
        }
    }
    out
}

const SHAPES: [(&str, &str); 3] = [
    (
        "MP-pointer",
        "P0(int64_t *_Atomic *y, <object> *x) {\n<set x 1>\n<before>\n<publish y (int64_t *)x>\n}\n\
         P1(int64_t *_Atomic *y) {\nint64_t *r0 = <load y>;\n<after>\nint64_t r1 = <get r0>;\n}\n\
         exists (1:r0=x /\\ 1:r1=0)\n",
    ),
    (
        "S-pointer",
        "P0(int64_t *_Atomic *y, <object> *x) {\n<set x 2>\n<before>\n<publish y (int64_t *)x>\n}\n\
         P1(int64_t *_Atomic *y) {\nint64_t *r0 = <load y>;\n<after>\n<set r0 1>\n}\n\
         exists (1:r0=x /\\ <final x>=2)\n",
    ),
    (
        "ISA2-pointer",
        "P0(int64_t *_Atomic *y, <object> *x) {\n<set x 1>\n<before>\n<publish y (int64_t *)x>\n}\n\
         P1(int64_t *_Atomic *y, int64_t *_Atomic *a) {\nint64_t *r0 = <load y>;\n\
         <after>\n<before>\n<publish a r0>\n}\n\
         P2(int64_t *_Atomic *a) {\nint64_t *r0 = <load a>;\n<after>\nint64_t r1 = <get r0>;\n}\n\
         exists (1:r0=x /\\ 2:r0=x /\\ 2:r1=0)\n",
    ),
];

fn find(list: &[(&'static str, &'static str)], name: &str) -> &'static str {
    list.iter().find(|(n, _)| *n == name).map_or("", |(_, t)| t)
}

fn one(
    name: &str,
    shape: &str,
    [publish, before, load, after]: [&str; 4],
    plain: bool,
    member: usize,
) -> String {
    let atomic = "(_Atomic int64_t *)";
    let mut out = find(&SHAPES, shape).to_string();
    let mut replace = |from: &str, to: String| out = out.replace(from, &to);
    replace("<object>", if plain { "int64_t" } else { "_Atomic int64_t" }.to_string());
    replace("<before>", find(&BEFORE, before).to_string());
    replace("<after>", find(&AFTER, after).to_string());
    for p in ["y", "a"] {
        for v in ["(int64_t *)x", "r0"] {
            let publish = find(&PUBLISH, publish).replace("<p>", p).replace("<v>", v);
            replace(&format!("<publish {p} {v}>"), publish);
        }
        let order = find(&LOAD, load);
        replace(&format!("<load {p}>"), format!("atomic_load_explicit({p}, {order})"));
    }
    for (p, value) in [("x", 1), ("x", 2), ("r0", 1)] {
        let set = match plain {
            true => format!("{p}[{member}] = {value};"),
            false => {
                let cast = if p == "x" { "" } else { atomic };
                format!(
                    "atomic_store_explicit({}, {value}, memory_order_relaxed);",
                    sum(cast, p, member)
                )
            }
        };
        replace(&format!("<set {p} {value}>"), set);
    }
    let get = match plain {
        true => format!("r0[{member}]"),
        false => {
            format!("atomic_load_explicit({}, memory_order_relaxed)", sum(atomic, "r0", member))
        }
    };
    replace("<get r0>", get);
    replace("<final x>", if member == 0 { "[x]".into() } else { format!("x[{member}]") });
    let objects = match member {
        0 => "int64_t x; int64_t z;",
        _ => "int64_t x[2]; int64_t z[2];",
    };
    let second = if shape == "ISA2-pointer" { " int64_t *a = z;" } else { "" };
    format!("C {name}\n{{ {objects} int64_t *y = z;{second} }}\n{out}")
}

fn sum(cast: &str, p: &str, member: usize) -> String {
    if member == 0 { format!("{cast}{p}") } else { format!("{cast}{p} + {member}") }
}
