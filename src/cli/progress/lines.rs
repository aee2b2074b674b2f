//! Turns a run's events into lines of text about its progress. A state takes in the events; the
//! lines depend only on the state, the time and the size of the terminal.
//!
//! This file does not draw, and does not read a clock.

use std::borrow::Cow;
use std::time::Duration;

use console::{measure_text_width, truncate_str};
use litmake::base::numbers::grouped;
use litmake::engine::events::Event;
use litmake::plain;

/// The widest column for names.
const MAX_NAME: usize = 32;
const MIN_BAR: usize = 8;
const MAX_BAR: usize = 24;
/// The largest number of stages at work that a log names.
const NAMED: usize = 3;

/// The tasks of one stage, of all its instances together.
#[derive(Clone, Debug, Default)]
struct Stage {
    name: String,
    instances: usize,
    tasks: u64,
    done: u64,
    findings: u64,
    failed: u64,
    /// When the first tasks were done, and how many there were then: those came from the cache or a
    /// list.
    began: Option<(Duration, u64)>,
}

/// The progress of a run.
#[derive(Clone, Debug, Default)]
pub struct State {
    stages: Vec<Stage>,
    /// Whether tasks are being done.
    running: bool,
    /// Jobs on other machines, if there are any: waiting, running, finished.
    elsewhere: Option<(u64, u64, u64)>,
    investigation: Option<Investigation>,
}

/// The progress of the investigation of findings.
#[derive(Clone, Debug)]
struct Investigation {
    done: u64,
    findings: u64,
    test: String,
    since: Duration,
}

/// The stage of an instance: `compile` of `compile[gcc-12]`.
fn stage_of(label: &str) -> &str {
    label.split('[').next().unwrap_or(label)
}

impl State {
    /// Takes in an event that came at time `now`.
    pub fn take(&mut self, event: &Event, now: Duration) {
        match event {
            Event::Started { nodes } => {
                *self = State { running: true, ..State::default() };
                let mut labels: Vec<&String> = nodes.iter().collect();
                // A stage may have hidden nodes with the same label.
                labels.dedup();
                for label in labels {
                    self.stage(label).instances += 1;
                }
            }
            Event::Sized { node, tasks } => self.stage(node).tasks += tasks,
            Event::Progress { node, tasks, findings, failed, .. } => {
                let stage = self.stage(node);
                stage.done += tasks;
                stage.findings += findings;
                stage.failed += failed;
                stage.began.get_or_insert((now, *tasks));
            }
            Event::Elsewhere { queued, running, fetched } => {
                self.elsewhere = Some((*queued, *running, *fetched));
            }
            Event::Finished { .. } => self.running = false,
            Event::Investigating { done, findings, .. } if done == findings => {
                self.investigation = None;
            }
            Event::Investigating { done, findings, test } => {
                self.investigation = Some(Investigation {
                    done: *done,
                    findings: *findings,
                    test: plain::line(test).into_owned(),
                    since: now,
                });
            }
            Event::Failed { .. } | Event::Notice { .. } => {}
        }
    }

    /// Whether tasks are being done, or findings are being investigated.
    pub fn is_busy(&self) -> bool {
        self.running || self.investigation.is_some()
    }

    fn stage(&mut self, label: &str) -> &mut Stage {
        let name = stage_of(label);
        let at = self.stages.iter().position(|s| s.name == name).unwrap_or_else(|| {
            self.stages.push(Stage { name: name.to_string(), ..Stage::default() });
            self.stages.len() - 1
        });
        &mut self.stages[at]
    }

    /// At most `height` lines of at most `width` columns: one for each stage. If there are more
    /// stages, those at work are shown, and the others are counted.
    pub fn lines(&self, now: Duration, width: usize, height: usize) -> Vec<String> {
        if let Some(investigation) = &self.investigation {
            return vec![investigation.line(now, width)];
        }
        if !self.running {
            return Vec::new();
        }
        let elsewhere = self.elsewhere().map(|text| cut(&text, width).into_owned());
        let height = height.saturating_sub(elsewhere.iter().count());
        if self.stages.len() <= height {
            let mut out = table(&self.stages.iter().collect::<Vec<_>>(), now, width);
            out.extend(elsewhere);
            return out;
        }
        let busy: Vec<&Stage> = self.stages.iter().filter(|s| s.is_under_way()).collect();
        let shown = &busy[..busy.len().min(height.saturating_sub(1))];
        let done = self.stages.iter().filter(|s| s.is_done()).count();
        let others = self.stages.len() - shown.len() - done;
        let rest =
            format!("{} done, {} more", counted(done as u64, "stage"), grouped(others as u64));
        let mut out = table(shown, now, width);
        out.push(cut(&rest, width).into_owned());
        out.extend(elsewhere);
        out
    }

    /// The jobs on other machines, as text.
    fn elsewhere(&self) -> Option<String> {
        let (queued, running, fetched) = self.elsewhere?;
        let (running, fetched) = (grouped(running), grouped(fetched));
        Some(format!(
            "elsewhere: {} queued, {running} running, {fetched} fetched",
            counted(queued, "job")
        ))
    }

    /// One line for a log.
    pub fn summary(&self, now: Duration) -> String {
        if let Some(i) = &self.investigation {
            let (at, all) = (grouped(i.done + 1), counted(i.findings, "finding"));
            let time = clock(now.saturating_sub(i.since));
            return format!("investigating {at} of {all}: {} ({time})", i.test);
        }
        let sum = |of: fn(&Stage) -> u64| self.stages.iter().map(of).sum::<u64>();
        let tasks = (grouped(sum(|s| s.done)), grouped(sum(|s| s.tasks)));
        let mut out = format!("{} of {} tasks", tasks.0, tasks.1);
        let busy: Vec<&Stage> = self.stages.iter().filter(|s| s.is_under_way()).collect();
        for (i, stage) in busy.iter().take(NAMED).enumerate() {
            out += if i == 0 { ": " } else { ", " };
            out += &format!("{} {}/{}", stage.name, grouped(stage.done), grouped(stage.tasks));
        }
        if busy.len() > NAMED {
            out += &format!(" and {}", counted((busy.len() - NAMED) as u64, "more stage"));
        }
        if let Some(elsewhere) = self.elsewhere() {
            out += &format!("; {elsewhere}");
        }
        let news = news(sum(|s| s.findings), sum(|s| s.failed));
        if !news.is_empty() {
            out += &format!("; {news}");
        }
        out
    }
}

impl Stage {
    /// Whether all tasks so far are done. More may still be added.
    fn is_done(&self) -> bool {
        self.tasks > 0 && self.done >= self.tasks
    }

    fn is_under_way(&self) -> bool {
        self.done < self.tasks
    }

    /// Tasks a second, since the first ones were done.
    fn rate(&self, now: Duration) -> Option<f64> {
        let (since, first) = self.began?;
        let seconds = now.saturating_sub(since).as_secs_f64();
        (seconds >= 1.0 && self.done > first).then(|| (self.done - first) as f64 / seconds)
    }

    fn name(&self) -> String {
        match self.instances {
            0 | 1 => self.name.clone(),
            n => format!("{} x{}", self.name, grouped(n as u64)),
        }
    }

    fn counts(&self) -> String {
        match self.tasks {
            0 => String::new(),
            tasks => format!("{}/{}", grouped(self.done), grouped(tasks)),
        }
    }

    fn speed(&self, now: Duration) -> String {
        match self.rate(now) {
            Some(rate) if self.is_under_way() => format!("{}/s", grouped(rate.round() as u64)),
            _ => String::new(),
        }
    }

    /// An estimate of the remaining time, at the present rate.
    fn left(&self, now: Duration) -> String {
        match self.rate(now) {
            Some(rate) if self.is_under_way() => {
                clock(Duration::from_secs(((self.tasks - self.done) as f64 / rate) as u64))
            }
            _ => String::new(),
        }
    }
}

impl Investigation {
    fn line(&self, now: Duration, width: usize) -> String {
        let time = clock(now.saturating_sub(self.since));
        let at = format!("investigating {}/{}", grouped(self.done + 1), grouped(self.findings));
        let before = format!("{at}  {time}  ");
        let room = width.saturating_sub(measure_text_width(&before));
        cut(&(before + &end_of(&self.test, room)), width).into_owned()
    }
}

/// Stages as lines with aligned columns. If the width is too small, the bar shrinks and disappears
/// first, then the remaining time, then the rate.
fn table(stages: &[&Stage], now: Duration, width: usize) -> Vec<String> {
    let widest = |of: &dyn Fn(&Stage) -> String| {
        stages.iter().map(|s| measure_text_width(&of(s))).max().unwrap_or(0)
    };
    let news = |s: &Stage| news(s.findings, s.failed);
    let name = widest(&Stage::name).min(MAX_NAME).min(width / 3);
    let counts = widest(&Stage::counts);
    let column = |n: usize| if n == 0 { 0 } else { n + 2 };
    let mut room = width.saturating_sub(name + column(counts) + column(widest(&news)));
    let mut take = |wanted: usize| {
        let fits = wanted > 0 && column(wanted) <= room;
        room -= if fits { column(wanted) } else { 0 };
        if fits { wanted } else { 0 }
    };
    let speed = take(widest(&|s| s.speed(now)));
    let left = take(widest(&|s| s.left(now)));
    let bar = match room.saturating_sub(2).min(MAX_BAR) {
        bar if bar >= MIN_BAR => bar,
        _ => 0,
    };
    let line = |s: &&Stage| {
        let mut out = padded(&cut(&plain::line(&s.name()), name), name);
        let mut add = |text: &str, width: usize| {
            if width > 0 {
                out += "  ";
                out += &" ".repeat(width.saturating_sub(measure_text_width(text)));
                out += text;
            }
        };
        add(&drawn(s.done, s.tasks, bar), bar);
        add(&s.counts(), counts);
        add(&s.speed(now), speed);
        add(&s.left(now), left);
        if !news(s).is_empty() {
            out += "  ";
            out += &news(s);
        }
        cut(out.trim_end(), width).into_owned()
    };
    stages.iter().map(line).collect()
}

/// A bar of `width` columns.
fn drawn(done: u64, tasks: u64, width: usize) -> String {
    if tasks == 0 {
        return String::new();
    }
    let full = (u128::from(done.min(tasks)) * width as u128 / u128::from(tasks)) as usize;
    "█".repeat(full) + &"░".repeat(width - full)
}

fn news(findings: u64, failed: u64) -> String {
    let mut out = Vec::new();
    if findings > 0 {
        out.push(counted(findings, "finding"));
    }
    if failed > 0 {
        out.push(format!("{} failed", grouped(failed)));
    }
    out.join(", ")
}

/// A number with its noun: `1 finding`, `2 findings`.
fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Minutes and seconds, and hours if there are any.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3600);
    match hours {
        0 => format!("{minutes}:{:02}", seconds % 60),
        _ => format!("{hours}:{minutes:02}:{:02}", seconds % 60),
    }
}

fn cut(text: &str, width: usize) -> Cow<'_, str> {
    truncate_str(text, width, "…")
}

/// The end of a text that is too long: the end of a path says most.
fn end_of(text: &str, width: usize) -> Cow<'_, str> {
    if measure_text_width(text) <= width {
        return text.into();
    }
    let starts = text.char_indices().map(|(i, _)| &text[i..]);
    let fits = starts.skip(1).find(|end| measure_text_width(end) < width);
    format!("…{}", fits.unwrap_or("")).into()
}

fn padded(text: &str, width: usize) -> String {
    text.to_string() + &" ".repeat(width.saturating_sub(measure_text_width(text)))
}
