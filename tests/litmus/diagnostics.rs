//! What is said about texts that are not tests (`diagnostics.txt`), and about such as are too long to stand there.

use crate::{promoted, try_read};

/// Begins a block of the file.
const BLOCK: &str = "\n======== ";

/// Stands between a text and what is said about it.
const BAR: &str = "--------\n";

#[test]
fn what_is_no_test_is_pointed_at() {
    let (about, blocks) = include_str!("diagnostics.txt").split_once(BLOCK).expect("a block");
    let mut made = about.to_string();
    for block in blocks.split(BLOCK) {
        let (title, rest) = block.split_once('\n').expect("a title");
        let (text, _) = rest.split_once(BAR).unwrap_or_else(|| panic!("{title}: no bar"));
        let said = match try_read(text) {
            Ok(test) => panic!("{title}: it is read as {test:?}"),
            Err(error) => error.to_string(),
        };
        made += &format!("{BLOCK}{title}\n{text}{BAR}{said}\n");
    }
    promoted::is("tests/litmus/diagnostics.txt", &made);
}

#[test]
fn too_many_threads() {
    let heads: Vec<String> = (0..65).map(|i| format!("P{i}")).collect();
    let text = format!(
        "X86 SB
{{}}
{} ;
",
        heads.join("|")
    );
    let error = try_read(&text).unwrap_err();
    assert_eq!(error.message, "a test has at most 64 threads");
    assert_eq!(&text[error.span.unwrap().start as usize..][..3], "P64");
}

#[test]
fn nested_too_deeply() {
    for (open, close) in [("(", ")"), ("~ ", ""), ("x=1 => ", "")] {
        let text = format!(
            "ARM SB
{{}}
 P0 ;
 DMB ;
exists {}x=1{}
",
            open.repeat(5000),
            close.repeat(5000)
        );
        let text = text.replace("exists ~", "exists ( ~").replace("x=1\n", "x=1)\n");
        let error = try_read(&text).unwrap_err();
        assert_eq!(error.message, "this proposition is nested too deeply");
    }
}
