//! Tells the program what its own meaning is: a digest over the sources that decide what tests
//! and models mean, so that a cache never outlives a change to them.

use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok().map(|e| e.path()))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "c" || e == "h") {
            out.push(path);
        }
    }
}

fn digest(rooms: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for room in rooms {
        println!("cargo::rerun-if-changed={room}");
        let mut list = Vec::new();
        match Path::new(room) {
            file if file.is_file() => list.push(file.to_path_buf()),
            dir => files(dir, &mut list),
        }
        for path in list {
            let text = std::fs::read(&path).unwrap_or_default();
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(&text);
        }
    }
    hasher.finalize().to_hex()[..32].to_string()
}

fn main() {
    let tests = ["src/litmus", "src/lang", "src/isa", "src/ops", "src/rel.rs"];
    let mutate = [&tests[..], &["src/mutate", "src/stage/mutate.rs"]].concat();
    let simulate = [&tests[..], &["src/cat", "src/sim", "src/stage/simulate.rs"]].concat();
    let profile = ["src/profile/machine.rs", "src/profile/mapping.rs"];
    let compile = [&tests[..], &profile, &["src/toolchain", "src/stage/compile.rs"]].concat();
    let gpu = [&simulate[..], &["src/devices", "src/gpu", "src/stage/run"]].concat();
    let cpu = [&simulate[..], &["src/devices", "src/cpu", "src/stage/run"]].concat();
    let mix = [
        &tests[..],
        &[
            "src/mix",
            "src/stage/split.rs",
            "src/stage/link.rs",
            "src/stage/ld.rs",
            "src/stage/mixes.rs",
        ],
    ];
    let layout = [
        "src/toolchain/layout.rs",
        "src/toolchain/compile.rs",
        "src/lang/compiled.rs",
        "src/stage/layout.rs",
    ];
    println!("cargo::rustc-env=LITMAKE_LAYOUT={}", digest(&layout));
    println!("cargo::rustc-env=LITMAKE_MIX={}", digest(&mix.concat()));
    let generate =
        [&tests[..], &["src/generate", "src/mutate", "src/select", "src/stage/generated.rs"]]
            .concat();
    println!("cargo::rustc-env=LITMAKE_GENERATE={}", digest(&generate));
    println!("cargo::rustc-env=LITMAKE_TESTS={}", digest(&tests));
    println!("cargo::rustc-env=LITMAKE_MUTATE={}", digest(&mutate));
    println!("cargo::rustc-env=LITMAKE_SIMULATE={}", digest(&simulate));
    println!("cargo::rustc-env=LITMAKE_COMPILE={}", digest(&compile));
    println!("cargo::rustc-env=LITMAKE_GPU={}", digest(&gpu));
    println!("cargo::rustc-env=LITMAKE_CPU={}", digest(&cpu));
}
