//! This program is started once more, with one test that misses a part: the harness has to say what
//! became of it.

use std::process::Command;

use super::{REQUIRE, here, holds, need, verdict};

/// Plays a test that misses a part; passes where nobody asks it to.
#[test]
fn misses() {
    if std::env::var_os("LITMAKE_TEST_MISSES").is_some() && !here("a-compiler-that-nobody-has") {
        println!("left out");
    }
}

/// Whether the test that misses a part passed, and what was said.
fn run(wanted: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::misses"]).env("LITMAKE_TEST_MISSES", "1").env_remove(REQUIRE);
    command.envs(wanted.map(|value| (REQUIRE, value)));
    let out = command.output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_test_that_misses_a_part_says_so_and_passes() {
    for wanted in [None, Some("")] {
        let (passed, said) = run(wanted);
        assert!(passed, "{said}");
        assert!(said.contains("needs a-compiler-that-nobody-has: it is not here"), "{said}");
        assert!(said.contains("skipped: "), "{said}");
    }
}

#[test]
fn where_all_parts_are_required_it_fails_and_says_how_to_get_them() {
    let (passed, said) = run(Some("all"));
    assert!(!passed, "{said}");
    assert!(said.contains("needs a-compiler-that-nobody-has: it is not here"), "{said}");
    assert!(said.contains("scripts/setup --all"), "{said}");
    let (passed, said) = run(Some("most"));
    assert!(!passed && said.contains("`most`; its one value is `all`"), "{said}");
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
