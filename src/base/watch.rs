//! A limit of time on what a thread does. Whoever starts the work sets it, and code far below polls
//! it: the reader and the interpreter of models, which know no options.
//!
//! It does not know what the work is.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::diag::{Diag, Result};
use crate::failure::{FailureKind, Fault};
use crate::stop::{self, Stopping};

thread_local! {
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Ends the limit, and sets the one before again.
#[must_use = "the limit ends with it"]
pub struct Limit {
    before: Option<Instant>,
}

impl Drop for Limit {
    fn drop(&mut self) {
        UNTIL.set(self.before);
    }
}

/// Limits this thread until a time; the earlier one holds if there is a limit already.
pub fn until(time: Option<Instant>) -> Limit {
    let before = UNTIL.get();
    let earlier = match (before, time) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    UNTIL.set(earlier);
    Limit { before }
}

/// How long work may go on after the process was asked to stop. What takes less, as reading the models of a
/// pipeline does, comes to its end, and the run to its report.
const GRACE: Duration = Duration::from_millis(500);

/// Whether this thread has to end its work: its time is up, or the process was asked to stop.
pub fn is_over() -> bool {
    static ASKED: OnceLock<Instant> = OnceLock::new();
    let late = || UNTIL.get().is_some_and(|time| Instant::now() > time);
    let stopped = || ASKED.get_or_init(Instant::now).elapsed() > GRACE;
    stop::of_the_process().asked() && stopped() || late()
}

/// An error if the work has to end. Only every 64th call looks at the clock.
pub fn poll() -> Result<()> {
    let calls = CALLS.get().wrapping_add(1);
    CALLS.set(calls);
    match calls.is_multiple_of(64) && is_over() {
        true => Err(over()),
        false => Ok(()),
    }
}

/// The error of work that has to end.
pub fn over() -> Box<Diag> {
    Diag::new("the model takes too long").kind(FailureKind::Broken(Fault::OutOfTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_limit_holds_and_ends_with_its_guard() {
        assert!(!is_over());
        let late = Instant::now() - Duration::from_millis(1);
        let hour = Instant::now() + Duration::from_secs(3600);
        {
            let _short = until(Some(late));
            let _long = until(Some(hour));
            assert!(is_over());
            assert!((0..64).any(|_| poll().is_err()));
        }
        let _long = until(Some(hour));
        assert!(!is_over() && (0..64).all(|_| poll().is_ok()));
    }
}
