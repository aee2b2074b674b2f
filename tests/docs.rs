//! The docs say what the program does.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

#[test]
fn the_reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let made = litmake::pipeline::reference::reference();
    assert!(
        written == made,
        "docs/reference.md is not current; run `litmake schema reference > docs/reference.md`"
    );
}
