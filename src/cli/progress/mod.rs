//! Showing a run while it goes: lines that change on a terminal, a line now and then elsewhere.
//!
//! What the lines say is in [`lines`]. This file does not know stages.

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

/// How often a terminal shows something new.
const DRAWN_EVERY: Duration = Duration::from_millis(125);
/// How often a log gets a line while a run goes on.
const SAID_EVERY: Duration = Duration::from_secs(10);
/// Rows of a terminal that progress leaves to other text.
const ROWS_LEFT: usize = 4;

/// Progress for people, where they did not ask for less.
pub fn listener(quiet: bool) -> Box<dyn Listener> {
    // Whether there is a terminal, and one that can go back to the start of a line.
    match ProgressDrawTarget::stderr().is_hidden() {
        _ if quiet => Box::new(Silent),
        true => Box::new(Log::new()),
        false => Box::new(Terminal::new()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lines that change, one a stage.
struct Terminal {
    start: Instant,
    state: Arc<Mutex<State>>,
    /// What draws, while something is going on.
    drawn: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    fn new() -> Terminal {
        Terminal { start: Instant::now(), state: Arc::default(), drawn: Mutex::default() }
    }

    /// One that draws the state anew again and again: each line is made for the width that the
    /// terminal has then.
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
        // Whoever draws takes the state's lock, so it is free by now.
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

/// A line now and then, for logs, whether or not something has happened since the last one.
struct Log {
    shared: Arc<Shared>,
    teller: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    start: Instant,
    state: Mutex<(State, bool)>,
    /// Told when the run ends.
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
