//! Whether a compiler is told to make code for the processor on which it runs.
//!
//! It does not know how compilers are told other things.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use litmake_base::file;

use super::Property;

/// The kind of the processor, if arguments of a compiler, or a file of arguments that they name, ask for
/// code for it: the compiler gets to know it without a system call.
pub fn asks_processor(
    args: impl IntoIterator<Item = impl AsRef<[u8]>>,
    folder: &Path,
) -> Option<Property> {
    let asks = |arg: &[u8]| match arg.strip_prefix(b"@") {
        Some(name) => has_native(&folder.join(OsStr::from_bytes(name))),
        None => is_native(arg),
    };
    args.into_iter().any(|arg| asks(arg.as_ref())).then_some(Property::Processor)
}

/// The same for a file in which a compiler finds arguments by itself.
pub fn asks_processor_in(path: &Path) -> Option<Property> {
    let kind = path.extension().or(path.file_name())?;
    (["cfg", "specs"].iter().any(|known| kind == *known) && has_native(path))
        .then_some(Property::Processor)
}

fn has_native(path: &Path) -> bool {
    file::read(path, file::MAX_TEXT).is_ok_and(|text| is_native(&text))
}

/// Whether a text has the word for the machine's own processor in arguments of compilers.
fn is_native(text: &[u8]) -> bool {
    const WORD: &[u8] = b"native";
    text.windows(WORD.len()).any(|part| part == WORD)
}
