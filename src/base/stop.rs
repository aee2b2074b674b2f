//! A request to stop: long work polls it, or waits for it together with other events.
//!
//! It does not know who asks for the stop, nor why.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A request to stop. It cannot be withdrawn, and clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    asked: AtomicBool,
    /// Becomes readable once a stop is asked for. `None` where the process has no descriptors left;
    /// a waiting thread then notices the stop only after its wait.
    event: Option<OwnedFd>,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { asked: AtomicBool::new(false), event: event::new() }
    }
}

impl Stop {
    /// Waits until a stop is asked for.
    pub fn wait(&self) {
        while !self.asked() {
            match &self.0.event {
                Some(event) => event::wait(event),
                None => std::thread::park(),
            }
        }
    }

    /// Asks for a stop, and wakes every thread that waits for one.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
        if let Some(event) = &self.0.event {
            event::signal(event);
        }
    }
}

/// A descriptor that becomes readable.
#[cfg(unix)]
mod event {
    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
    use std::os::fd::OwnedFd;

    pub fn new() -> Option<OwnedFd> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()
    }

    pub fn wait(event: &OwnedFd) {
        let _ = poll(&mut [PollFd::new(event, PollFlags::IN)], None);
    }

    pub fn signal(event: &OwnedFd) {
        // The write fails only when the counter is full, and a full counter is readable too.
        let _ = rustix::io::write(event, &1u64.to_ne_bytes());
    }
}

/// There are none.
#[cfg(not(unix))]
mod event {
    use std::os::fd::OwnedFd;

    pub fn new() -> Option<OwnedFd> {
        None
    }

    pub fn wait(_: &OwnedFd) {}

    pub fn signal(_: &OwnedFd) {}
}

/// The request to stop the whole process, which a signal makes. Code that is given no other request
/// polls this one.
pub fn of_the_process() -> &'static Stop {
    static STOP: OnceLock<Stop> = OnceLock::new();
    STOP.get_or_init(Stop::default)
}

/// A source of requests to stop.
pub trait Stopping: Sync {
    /// Whether the work is to end.
    fn asked(&self) -> bool;

    /// A descriptor that becomes readable once a stop is asked for; `None` where a request cannot
    /// end a wait.
    fn event(&self) -> Option<BorrowedFd<'_>>;
}

impl Stopping for Stop {
    fn asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.event.as_ref().map(|event| event.as_fd())
    }
}

/// A flag that can only be polled between waits.
impl Stopping for AtomicBool {
    fn asked(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    fn event(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn who_waits_is_woken_by_a_copy() {
        let stop = Stop::default();
        let waits = stop.clone();
        assert!(!waits.asked());
        let waiting = std::thread::spawn(move || {
            waits.wait();
            waits.asked()
        });
        stop.ask();
        stop.ask();
        assert!(waiting.join().expect("no panic"));
        // A later wait sees the request, too.
        let event = stop.event().expect("there are descriptors");
        let mut fds = [PollFd::from_borrowed_fd(event, PollFlags::IN)];
        assert_eq!(poll(&mut fds, None), Ok(1));
    }
}
