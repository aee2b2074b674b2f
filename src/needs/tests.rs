//! This program is started once more, with one test that misses a part: the harness has to say what
//! became of it.

use std::process::Command;

use super::{REQUIRE, beside, here, holds, need, verdict};

/// Plays a test that misses a part; passes where nobody asks it to.
#[test]
fn misses() {
    if std::env::var_os("LITMAKE_TEST_MISSES").is_some() && !here("a-compiler-that-nobody-has") {
        println!("left out");
    }
}

/// Plays a test whose material is not there, in the same way.
#[test]
fn lacks() {
    if std::env::var_os("LITMAKE_TEST_MISSES").is_some() {
        assert!(!beside("a-folder-that-nobody-has", false));
    }
}

/// Whether a test that misses a part passed, and what was said.
fn run(test: &str, wanted: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env("LITMAKE_TEST_MISSES", "1").env_remove(REQUIRE);
    command.envs(wanted.map(|value| (REQUIRE, value)));
    let out = command.output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_test_that_misses_a_part_says_so_and_passes() {
    for wanted in [None, Some("")] {
        let (passed, said) = run("tests::misses", wanted);
        assert!(passed, "{said}");
        assert!(said.contains("needs a-compiler-that-nobody-has: it is not here"), "{said}");
        assert!(said.contains("skipped: "), "{said}");
    }
}

#[test]
fn where_all_parts_are_required_it_fails_and_says_how_to_get_them() {
    let (passed, said) = run("tests::misses", Some("all"));
    assert!(!passed, "{said}");
    assert!(said.contains("needs a-compiler-that-nobody-has: it is not here"), "{said}");
    assert!(said.contains("scripts/setup --all"), "{said}");
    let (passed, said) = run("tests::misses", Some("most"));
    assert!(!passed && said.contains("`most`; its one value is `all`"), "{said}");
}

#[test]
fn material_that_is_not_there_is_said_and_never_required() {
    let (passed, said) = run("tests::lacks", Some("all"));
    let skipped = "skipped: tests::lacks needs a-folder-that-nobody-has: it is not here";
    assert!(passed && said.contains(skipped), "{said}");
}

#[test]
fn a_part_that_is_there_is_handed_on() {
    assert!(here("sh") && holds("a part", true));
    assert_eq!(need::<_, &str>("a part", Ok(7)), Some(7));
}

#[test]
fn the_reason_is_said() {
    let said = verdict(None, "t", "a GPU", "no driver").unwrap();
    assert_eq!(said, "skipped: t needs a GPU: no driver");
}
