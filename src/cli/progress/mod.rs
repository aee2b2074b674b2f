//! Shows the progress of a run: changing lines on a terminal, and a line now and then in a log.
//!
//! The text comes from [`lines`]. This file does not know stages.

mod lines;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use litmake::engine::events::{Event, Listener, Silent};
use litmake::plain;

use lines::State;

/// The time between two drawings on a terminal.
const DRAWN_EVERY: Duration = Duration::from_millis(125);
/// The time between two lines in a log.
const SAID_EVERY: Duration = Duration::from_secs(10);
/// Rows of a terminal that progress leaves to other text.
const ROWS_LEFT: usize = 4;

/// A listener that shows progress, unless the user asked for quiet.
pub fn listener(quiet: bool) -> Box<dyn Listener> {
    // Hidden: standard error is no terminal, or one that cannot go back to the start of a line.
    match ProgressDrawTarget::stderr().is_hidden() {
        _ if quiet => Box::new(Silent),
        true => Box::new(Log::new()),
        false => Box::new(Terminal::new()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changing lines on a terminal, one for each stage.
struct Terminal {
    start: Instant,
    state: Arc<Mutex<State>>,
    /// Draws while the run is busy.
    drawn: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    fn new() -> Terminal {
        Terminal { start: Instant::now(), state: Arc::default(), drawn: Mutex::default() }
    }

    /// A bar that draws the state at every tick. Each line is made for the width that the terminal
    /// has at that moment.
    fn draw(&self) -> ProgressBar {
        let (start, state) = (self.start, self.state.clone());
        let lines = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let (rows, columns) = Term::stderr().size();
            let height = usize::from(rows).saturating_sub(ROWS_LEFT).max(2);
            let lines = lock(&state).lines(start.elapsed(), columns.into(), height);
            let _ = out.write_str(&lines.join("\n"));
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template("{lines}") {
            bar.set_style(style.with_key("lines", lines));
        }
        bar.enable_steady_tick(DRAWN_EVERY);
        bar
    }
}

impl Listener for Terminal {
    fn event(&self, event: &Event) {
        let busy = {
            let mut state = lock(&self.state);
            state.take(event, self.start.elapsed());
            state.is_busy()
        };
        // The drawing takes the lock of the state, so that lock is released before.
        let mut drawn = lock(&self.drawn);
        if let Event::Notice { message } = event {
            let text = plain::text(message);
            match &*drawn {
                Some(bar) => bar.println(text),
                None => eprintln!("litmake: {text}"),
            }
        }
        match (busy, drawn.is_some()) {
            (true, false) => *drawn = Some(self.draw()),
            (false, true) => {
                if let Some(bar) = drawn.take() {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(bar) = lock(&self.drawn).take() {
            bar.finish_and_clear();
        }
    }
}

/// Writes a line to a log every now and then, even if nothing has happened since the last one.
struct Log {
    shared: Arc<Shared>,
    teller: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    start: Instant,
    state: Mutex<(State, bool)>,
    /// Notified when the run ends.
    ended: Condvar,
}

impl Log {
    fn new() -> Log {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        let teller = std::thread::Builder::new().name("progress".into()).spawn({
            let shared = shared.clone();
            move || shared.tell()
        });
        Log { shared, teller: teller.ok() }
    }
}

impl Shared {
    fn tell(&self) {
        let mut state = lock(&self.state);
        while !state.1 {
            let (now, waited) =
                self.ended.wait_timeout(state, SAID_EVERY).unwrap_or_else(PoisonError::into_inner);
            state = now;
            if waited.timed_out() && state.0.is_busy() {
                eprintln!("litmake: {}", state.0.summary(self.start.elapsed()));
            }
        }
    }
}

impl Listener for Log {
    fn event(&self, event: &Event) {
        lock(&self.shared.state).0.take(event, self.shared.start.elapsed());
        if let Event::Notice { message } = event {
            eprintln!("litmake: {message}");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        lock(&self.shared.state).1 = true;
        self.shared.ended.notify_all();
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
    }
}
