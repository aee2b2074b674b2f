//! A test on standard input: it becomes a file of a temporary folder, which has the cache, too, so that a tool of a web
//! page needs no folder of its own. Reports name it as the user does. It does not know what is done with the test.

use std::io;

use litmake::diag::{Diag, Result};
use litmake::litmus::list::STDIN;
use litmake::report::Report;
use litmake::toolchain::scratch::Scratch;

use super::common::CacheArgs;

const FILE: &str = "stdin.litmus";

/// The folder of a test from standard input, for as long as it is needed.
pub struct Stream {
    scratch: Scratch,
}

impl Stream {
    /// Reads the test, if an input is `-`, and puts its file in the place of that. The cache is beside it unless the
    /// user names one.
    pub fn of(inputs: &mut [String], cache: &mut CacheArgs) -> Result<Option<Stream>> {
        let Some(input) = inputs.iter_mut().find(|i| *i == STDIN) else { return Ok(None) };
        let text = io::read_to_string(io::stdin())
            .map_err(|e| Diag::new(format!("cannot read standard input: {e}")))?;
        let made = Scratch::new().and_then(|scratch| {
            scratch.write(FILE, &text)?;
            Ok(Stream { scratch })
        });
        let stream = made.map_err(|e| {
            let dir = std::env::temp_dir();
            Diag::new(format!("cannot write to the temporary folder {}: {e}", dir.display()))
                .help("TMPDIR names another one")
        })?;
        *input = stream.path();
        cache.or(stream.scratch.path().join("cache"));
        Ok(Some(stream))
    }

    fn path(&self) -> String {
        self.scratch.path().join(FILE).to_string_lossy().into_owned()
    }

    /// The report with `-` for the file.
    pub fn named(&self, report: &Report) -> Report {
        let text = serde_json::to_string(report).unwrap_or_default();
        let text = text.replace(&self.path(), STDIN);
        serde_json::from_str(&text).unwrap_or_else(|_| report.clone())
    }
}
