//! Which code counts for which digest.

use super::*;

fn crate_of(files: &[(&str, &str)]) -> Sources {
    files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect()
}

#[test]
fn a_module_reaches_what_it_names_and_what_that_names() {
    let all = crate_of(&[
        ("mod.rs", "mod a; mod b; mod c; mod d; pub fn helper() {} use litmake_report::x;"),
        ("a.rs", "use super::{b::f, c};\nuse litmake_sim::run;"),
        ("b.rs", "// use super::d;\nfn f() { crate::c::g() }"),
        ("c.rs", "use litmake_cat as cat;"),
        ("d.rs", "use super::helper;"),
        ("e/mod.rs", "use super::d;\nmod inner;"),
        ("e/inner.rs", "use super::Here;\nuse super::super::{a::{x, y}, b};"),
        (
            "f/inner.rs",
            "fn f() { super::super::c::g() }\n#[cfg(test)]\nmod tests { use super::*; }",
        ),
    ]);
    let modules = modules(&all);
    let reached = |name: &str| reached(name, &modules).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(reached("a"), "a b c");
    assert_eq!(reached("c"), "c");
    assert_eq!(reached("d"), "d mod", "what stands in the root counts with all of the root");
    assert_eq!(reached("e"), "a b c d e mod");
    assert_eq!(reached("f"), "c f");
    assert_eq!(modules["a"].crates, BTreeSet::from(["sim".to_string()]));
    assert_eq!(modules["c"].crates, BTreeSet::from(["cat".to_string()]));
}

#[test]
fn the_lock_file_counts_as_far_as_it_is_needed() {
    let lock = r#"
version = 4

[[package]]
name = "own"
version = "0.1.0"
dependencies = [
 "decoder",
 "twice 2.0.0",
]

[[package]]
name = "decoder"
version = "1.2.3"
source = "registry"
checksum = "aa"
dependencies = [
 "deep",
]

[[package]]
name = "deep"
version = "0.3.0"
checksum = "bb"

[[package]]
name = "twice"
version = "1.0.0"
checksum = "cc"

[[package]]
name = "twice"
version = "2.0.0"
checksum = "dd"

[[package]]
name = "other"
version = "9.9.9"
checksum = "ee"
"#;
    let lines: Vec<String> = needed("own", lock).into_iter().collect();
    assert_eq!(lines, ["decoder 1.2.3 aa\n", "deep 0.3.0 bb\n", "twice 2.0.0 dd\n"]);
}

#[test]
fn sources_are_all_but_tests_and_other_crates() {
    let folder = std::env::temp_dir().join(format!("litmake-build-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for name in ["mod.rs", "deep/a.rs", "deep/tests.rs", "tests/b.rs", "h.c", "x.md", "in/c.rs"] {
        write(name, name);
    }
    write("in/Cargo.toml", "");
    let found: Vec<String> = sources(&folder).into_keys().collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(found, ["deep/a.rs", "h.c", "mod.rs"]);
}
