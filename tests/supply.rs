//! What the program is built from: where it comes from, under which licences, and that the lock file
//! pins it. It reads what cargo knows already and asks no network.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that go with our own.
const LICENCES: [&str; 11] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
];

/// The program has no other C library than the allocator's, and one way to a network.
const BANNED: [&str; 9] = [
    "curl",
    "git2",
    "native-tls",
    "openssl",
    "openssl-sys",
    "quinn",
    "reqwest",
    "serde_yaml",
    "ureq",
];

/// That way is the feature `remote`. Without it the program has no network.
const NETWORK: [&str; 6] = ["h2", "hyper", "litmake-remote", "rustls", "tokio", "tonic"];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Whether an expression of licences can be met by those that are allowed. It has `OR`, or `/` as
/// before, `AND`, and parentheses.
fn is_met(expression: &str) -> bool {
    let text = expression.replace('/', " OR ");
    let (met, rest) = any(text.trim());
    met && rest.is_empty()
}

fn any(text: &str) -> (bool, &str) {
    let (mut met, mut rest) = all(text);
    while let Some(more) = rest.strip_prefix("OR ") {
        let (next, after) = all(more.trim_start());
        (met, rest) = (met | next, after);
    }
    (met, rest)
}

fn all(text: &str) -> (bool, &str) {
    let (mut met, mut rest) = one(text);
    while let Some(more) = rest.strip_prefix("AND ") {
        let (next, after) = one(more.trim_start());
        (met, rest) = (met & next, after);
    }
    (met, rest)
}

fn one(text: &str) -> (bool, &str) {
    if let Some(inner) = text.strip_prefix('(') {
        let (met, rest) = any(inner.trim_start());
        return match rest.strip_prefix(')') {
            Some(rest) => (met, rest.trim_start()),
            None => (false, rest),
        };
    }
    let end = [" OR ", " AND ", ")"].iter().filter_map(|s| text.find(s)).min();
    let (licence, rest) = text.split_at(end.unwrap_or(text.len()));
    (LICENCES.contains(&licence.trim()), rest.trim_start())
}

#[test]
fn expressions_of_licences_are_understood() {
    for met in ["MIT", "GPL-3.0 OR MIT", "X/Apache-2.0", "(X OR MIT) AND Unicode-3.0"] {
        assert!(is_met(met), "{met}");
    }
    for not in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT", "Apache-2.0 WITH X", "", "MIT extra"] {
        assert!(!is_met(not), "{not}");
    }
}

#[test]
fn what_is_built_in_comes_from_one_place_under_licences_that_fit() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        // What is for other systems need not be here.
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{}", packages.len());
    let members = metadata["workspace_members"].as_array().unwrap();
    let mut wrong = Vec::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let name = text("name");
        if !members.contains(&package["id"]) && text("source") != REGISTRY {
            wrong.push(format!("{name} comes from {:?}", text("source")));
        }
        if !is_met(text("license")) {
            wrong.push(format!("{name} has the licence {:?}", text("license")));
        }
        if BANNED.contains(&name) {
            wrong.push(format!("{name} is not to be built in"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The crates that the program is built from, by name.
fn built_from(more: &[&str]) -> Vec<String> {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "litmake", "--edges", "normal,build"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--prefix", "none", "--format", "{p}"])
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let mut names: Vec<String> =
        text.lines().filter_map(|l| Some(l.split(' ').next()?.to_string())).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_network_comes_with_its_feature_alone() {
    let without = built_from(&[]);
    assert!(without.len() > 50, "{without:?}");
    let found = |names: &[String]| -> Vec<String> {
        names.iter().filter(|n| NETWORK.contains(&n.as_str())).cloned().collect()
    };
    assert_eq!(found(&without), Vec::<String>::new());
    assert_eq!(found(&built_from(&["--features", "remote"])), NETWORK);
}

#[test]
fn the_lock_file_pins_the_content_of_all_that_is_not_ours() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock");
    let text = std::fs::read_to_string(path).unwrap();
    let packages: Vec<&str> = text.split("[[package]]").skip(1).collect();
    assert!(packages.len() > 50);
    for package in packages {
        let name = package.split('"').nth(1).unwrap_or_default();
        let room = name.strip_prefix("litmake-").map(|room| format!("src/{room}/Cargo.toml"));
        let manifest = room.unwrap_or("Cargo.toml".to_string());
        let ours = name.starts_with("litmake")
            && Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest).is_file();
        let pinned = package.contains("\nchecksum = \"")
            && package.contains(&format!("\nsource = \"{REGISTRY}\"\n"));
        assert!(ours != pinned, "{package}");
    }
}
