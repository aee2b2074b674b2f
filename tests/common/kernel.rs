//! A small model of a kernel, with bell file and macros, and random tests for it.

use super::exec::Rng;
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::Arch;
use litmake::litmus::c::macros::Macros;
use litmake::sim::Model;
use std::fmt::Write;

pub fn folder() -> String {
    // Tests of a room use it, too.
    let root = env!("CARGO_MANIFEST_DIR").trim_end_matches("/src/sim");
    format!("{root}/tests/kernel")
}

/// The model, with what is given of it.
pub fn model(bell: bool, macros: bool) -> Model {
    let mut options = LoadOptions::new(Arch::C);
    options.variants.push("lkmmv2".to_string());
    options.bell = bell.then(|| format!("{}/small.bell", folder()));
    let name = match bell {
        true => format!("{}/small.cat", folder()),
        false => "rc11".to_string(),
    };
    let plan = cat::load(&name, &options).unwrap_or_else(|e| panic!("{e}"));
    let path = format!("{}/small.def", folder());
    let macros = match macros {
        true => {
            let path = std::path::Path::new(&path);
            let text = litmake::file::read_text(path, 1 << 20).expect("the macro file");
            Macros::read(&Source::new("small.def", text)).unwrap_or_else(|e| panic!("{e}"))
        }
        false => Macros::default(),
    };
    Model::load_with(&plan, macros).unwrap_or_else(|e| panic!("{e}"))
}

/// A random test: accesses, read-modify-writes, locks, sections, branches.
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
pub fn test(rng: &mut Rng, threads: usize, length: usize) -> String {
    let mut text = "C random\n{}\n".to_string();
    let mut shown = Vec::new();
    for t in 0..threads {
        let _ = writeln!(text, "P{t} (int *x, int *y, spinlock_t *l) {{");
        let (mut open, mut taken) = (0, false);
        for k in 0..length {
            let p = ["x", "y"][rng.below(2)];
            let v = 1 + rng.below(2);
            let reads = match rng.below(13) {
                0 | 1 => format!("r{k} = get({p});"),
                2 => format!("r{k} = get_acquire({p});"),
                3 => format!("r{k} = *{p};"),
                4 => format!("r{k} = swap({p}, {v});"),
                5 => format!("r{k} = swap_if({p}, 0, {v});"),
                6 => format!("r{k} = added({p}, {v});"),
                7 => format!("r{k} = add_unless({p}, {v}, 1);"),
                8 => format!("r{k} = is_taken(l);"),
                9 if !taken => format!("r{k} = try_take(l); if (r{k}) release(l);"),
                10 => format!("put({p}, {v});"),
                11 => format!("put_release({p}, {v});"),
                _ if taken => {
                    taken = false;
                    "release(l);".to_string()
                }
                _ => {
                    taken = true;
                    "take(l);".to_string()
                }
            };
            if reads.starts_with('r') && reads.contains('=') {
                shown.push(format!("{t}:r{k}"));
            }
            let _ = writeln!(text, "  {reads}");
            if rng.one_in(5) {
                let _ = writeln!(text, "  fence_full();");
            }
            if rng.one_in(6) && reads.starts_with(&format!("r{k}")) {
                let _ = writeln!(text, "  if (r{k} == 1) {{");
                open += 1;
            }
        }
        text.push_str(&"  }\n".repeat(open));
        if taken {
            text.push_str("  release(l);\n");
        }
        text.push_str("}\n");
    }
    shown.truncate(4);
    shown.push("x".to_string());
    let _ = writeln!(text, "locations [{}]\nexists (x=1 /\\ y=2)", shown.join("; "));
    text
}
