//! Lifting: from object code back to litmus tests, with symbolic locations and no stack.
//!
//! One file an instruction set. What is not understood is refused by name and never guessed. It
//! does not know compilers' options nor models.

pub mod x86;

use crate::litmus::{InitItem, Line};

/// What a thread's function is given: the location behind each pointer parameter, in order.
pub struct Given<'a> {
    pub thread: usize,
    pub params: &'a [String],
}

/// A lifted thread.
#[derive(Debug)]
pub struct Lifted {
    pub lines: Vec<Line>,
    /// What the thread's registers and private locations hold at the start.
    pub init: Vec<InitItem>,
}
