//! Reads items for stages: tests, and texts and paths of the pipeline. Stages do not know the names
//! of items, so their messages leave them out.

use std::path::Path;

use litmake_base::diag::Source;
use litmake_base::failure::{Failure, FailureKind, Result};
use litmake_litmus::{self as litmus, Test};

/// Reads the content of an item as a test. The failure can be stored, because it does not have the
/// item's name.
pub(crate) fn read_test(content: &[u8]) -> Result<Test> {
    let text = std::str::from_utf8(content).map_err(|e| {
        let message = format!(": it is not UTF-8 at byte {}", e.valid_up_to());
        Failure::after_name(FailureKind::Unreadable, message)
    })?;
    litmus::read(&Source::nameless(text))
        .map_err(|e| Failure::from(e).kind(FailureKind::Unreadable))
}

/// A path in a pipeline, joined with the folder that it is relative to.
pub(crate) fn relative(dir: &Path, text: &str) -> std::path::PathBuf {
    litmake_profile::files::normal(&dir.join(text))
}

/// A text of the pipeline as a source of its own, for diagnostics that point into it.
pub(crate) fn text(source: &Source, word: &litmake_profile::yaml::Sp<String>) -> Source {
    Source::within(source, word.span, word.value.as_str())
}
