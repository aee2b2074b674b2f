//! Items as stages read them: tests, and texts and paths of the pipeline. What stages say of an item
//! does not have its name, which they do not know.

use std::path::Path;

use litmake_base::diag::Source;
use litmake_litmus::{self as litmus, Test};

/// Stands for the item's name in messages that are stored, since work does not know names.
pub const ITEM: &str = "@";

/// How messages about tests that are wrong in themselves begin.
pub const UNREADABLE: &str = "cannot be read: ";

/// How the reason begins why work leaves an item out, which is no failure.
pub const DROPPED: &str = "left out: ";

/// Reads the content of an item as a test; the message is fit to be stored.
pub(crate) fn read_test(content: &[u8]) -> std::result::Result<Test, String> {
    let text = std::str::from_utf8(content)
        .map_err(|e| format!("{UNREADABLE}{ITEM}: it is not UTF-8 at byte {}", e.valid_up_to()))?;
    litmus::read(&Source::new(ITEM, text)).map_err(|e| format!("{UNREADABLE}{e}"))
}

/// A path as a pipeline writes it, from the folder that it is relative to.
pub(crate) fn relative(dir: &Path, text: &str) -> std::path::PathBuf {
    litmake_profile::files::normal(&dir.join(text))
}

/// A text of the pipeline as a source of its own, for diagnostics that point into it.
pub(crate) fn text(
    node: &litmake_pipeline::plan::Node,
    word: &litmake_profile::yaml::Sp<String>,
) -> Source {
    Source::within(&node.source, word.span, word.value.as_str())
}
