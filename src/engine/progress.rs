//! Showing a run while it goes: bars on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::events::{Event, Listener};
use litmake_base::plain;

/// More bars than this do not fit a screen; then there is one for all.
const MAX_BARS: usize = 12;
/// The label of the bar for investigations after the run.
const INVESTIGATING: &str = "investigating";
const LINE_EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Totals {
    size: u64,
    done: u64,
    executed: u64,
    findings: u64,
    failed: u64,
}

struct Bars {
    all: MultiProgress,
    bars: BTreeMap<String, ProgressBar>,
    one: Option<ProgressBar>,
    totals: Totals,
}

/// Bars, one a stage.
pub struct Terminal(Mutex<Bars>);

impl Terminal {
    pub fn new() -> Terminal {
        Terminal(Mutex::new(Bars {
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8)),
            bars: BTreeMap::new(),
            one: None,
            totals: Totals::default(),
        }))
    }
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal::new()
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template(
        "{prefix:30!} {bar:24} {human_pos:>9}/{human_len:9} {per_sec:>12} {eta:>4} {msg}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Listener for Terminal {
    fn event(&self, event: &Event) {
        let mut bars = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bars = &mut *bars;
        match event {
            Event::Started { nodes } => {
                let mut names: Vec<&String> = nodes.iter().collect();
                names.dedup();
                let make = |name: &str| {
                    let bar = bars.all.add(ProgressBar::new(0).with_style(style()));
                    bar.set_prefix(plain::line(name).into_owned());
                    bar
                };
                if names.len() > MAX_BARS {
                    bars.one = Some(make("all stages"));
                } else {
                    let made: Vec<_> = names.iter().map(|n| (n.to_string(), make(n))).collect();
                    bars.bars.extend(made);
                }
            }
            Event::Sized { node, tasks } => {
                bars.totals.size += tasks;
                if let Some(bar) = bars.bars.get(*node).or(bars.one.as_ref()) {
                    bar.inc_length(*tasks);
                }
            }
            Event::Progress { node, tasks, findings, .. } => {
                bars.totals.findings += findings;
                if let Some(bar) = bars.bars.get(*node).or(bars.one.as_ref()) {
                    bar.inc(*tasks);
                    if *findings > 0 {
                        bar.set_message(format!("{} findings", bars.totals.findings));
                    }
                }
            }
            Event::Notice { message } => {
                let _ = bars.all.println(plain::text(message));
            }
            Event::Failed { .. } => {}
            Event::Investigating { done, of, findings } => {
                let bar = bars.bars.entry(INVESTIGATING.to_string()).or_insert_with(|| {
                    let bar = bars.all.add(ProgressBar::new(*of).with_style(style()));
                    bar.set_prefix(INVESTIGATING);
                    bar
                });
                bar.set_length(*of);
                bar.set_position(*done);
                bar.set_message(format!("{findings} findings"));
                if done == of {
                    bar.finish_and_clear();
                }
            }
            Event::Finished { .. } => {
                for bar in bars.bars.values().chain(&bars.one) {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

/// A line now and then, for logs.
pub struct Plain {
    state: Mutex<(Totals, Instant)>,
}

impl Plain {
    pub fn new() -> Plain {
        Plain { state: Mutex::new((Totals::default(), Instant::now())) }
    }
}

impl Default for Plain {
    fn default() -> Plain {
        Plain::new()
    }
}

/// Prints a line; an error of the output does not end the run.
fn say(what: std::fmt::Arguments) {
    let _ = writeln!(std::io::stderr(), "litmake: {what}");
}

impl Listener for Plain {
    fn event(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (totals, last) = &mut *state;
        match event {
            Event::Sized { tasks, .. } => totals.size += tasks,
            Event::Progress { tasks, executed, findings, failed, .. } => {
                totals.done += tasks;
                totals.executed += executed;
                totals.findings += findings;
                totals.failed += failed;
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    say(format_args!(
                        "{} of {} tasks, {} of them run, {} findings, {} failed",
                        totals.done, totals.size, totals.executed, totals.findings, totals.failed
                    ));
                }
            }
            Event::Notice { message } => say(format_args!("{}", plain::text(message))),
            Event::Investigating { done, of, findings } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                say(format_args!("investigating: {done} of {of} differences, {findings} findings"));
            }
            _ => {}
        }
    }
}
