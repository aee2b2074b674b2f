//! The reader, the writer, the canonical form, logs and lists, from the outside.

mod canon;
mod diagnostics;
mod logs;
#[path = "../common/promoted.rs"]
mod promoted;
mod reading;
mod roundtrip;

use litmake::diag::{Result, Source};
use litmake::litmus::{self, Test};

fn try_read(text: &str) -> Result<Test> {
    litmus::read(&Source::new("t.litmus", text))
}

fn read(text: &str) -> Test {
    match try_read(text) {
        Ok(test) => test,
        Err(error) => panic!("{error}\n{text}"),
    }
}
