//! s390x: objdump has a sign before registers, leaves out a base register that is none, and names a few instructions as
//! older manuals do.

/// The names that objdump has for what the decoder names otherwise.
const NAMES: &[(&str, &str)] = &[
    ("br 0", "bcr 15,r0"),
    ("bnor r0", "bcr 14,r0"),
    ("br r0", "bcr 15,r0"),
    ("nop", "nopr r0"),
    ("nopr", "nopr r0"),
];

pub fn respell(text: &str) -> String {
    let text = text.replace('%', "");
    match NAMES.iter().find(|(theirs, _)| *theirs == text) {
        Some((_, ours)) => ours.to_string(),
        None => text,
    }
}
