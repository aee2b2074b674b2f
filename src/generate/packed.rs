//! Compresses the texts of generated tests, with a typical text of the dialect as dictionary.
//!
//! It does not know the content of the texts.

use std::sync::OnceLock;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};

use super::cycle::Shape;
use super::emit::Style;
use super::{Maker, dialect, syntax};
use litmake_base::diag::Source;
use litmake_litmus::Arch;

/// The text of a test behind the line with its name.
#[derive(Clone, Debug)]
pub struct Packed(Box<[u8]>);

impl Packed {
    pub fn new(arch: Arch, text: &str) -> Packed {
        Packed(compress_prepend_size_with_dict(text.as_bytes(), model(arch)).into())
    }

    pub fn text(&self, arch: Arch) -> String {
        // Nothing but this program's memory was in between.
        let bytes = decompress_size_prepended_with_dict(&self.0, model(arch)).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// A text like those of a dialect's tests, as a dictionary for compression.
fn model(arch: Arch) -> &'static [u8] {
    const CYCLES: [&str; 2] = ["PodWW Rfe PodRW Rfe PodRR Fre", "PodWR Fre PodWR Fre"];
    static MODELS: [OnceLock<Vec<u8>>; Arch::ALL.len()] =
        [const { OnceLock::new() }; Arch::ALL.len()];
    let place = Arch::ALL.iter().position(|a| *a == arch).unwrap_or(0);
    MODELS[place].get_or_init(|| {
        let (dialect, mut maker) = (dialect::of(arch), Maker::default());
        let mut out = String::new();
        for text in CYCLES {
            let cycle = syntax::cycle(dialect, &Source::new("model", text)).unwrap_or_default();
            if maker.make(dialect, &cycle, &Shape::ANY, &Style::default()).is_ok() {
                maker.draft.print(&mut out);
            }
        }
        out.into_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for arch in Arch::ALL {
            for text in ["", "{}\n", "\"PodWW\"\n{ x; }\nexists (0:r0=1)\n", &"ü".repeat(5000)] {
                assert_eq!(Packed::new(arch, text).text(arch), text);
            }
        }
    }
}
