//! Reads logs of herd7, litmus7 and klitmus7.
//!
//! Lines that say nothing about outcomes (warnings, generated assembly, topologies) are
//! passed over; a log that breaks off gives the tests before the break and an error.

use super::{Kind, LogEntry, Observation, Seen, Verdict};
use litmake_base::diag::{Diag, Result, Source, Span};

/// All tests of a log, in order.
pub fn read(source: &Source) -> Result<Vec<LogEntry>> {
    let mut reader =
        Reader { source, lines: source.text.split_inclusive('\n'), offset: 0, entries: Vec::new() };
    while let Some((line, span)) = reader.next() {
        reader.line(line, span)?;
    }
    Ok(reader.entries)
}

struct Reader<'a> {
    source: &'a Source,
    lines: std::str::SplitInclusive<'a, char>,
    offset: usize,
    entries: Vec<LogEntry>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<(&'a str, Span)> {
        let line = self.lines.next()?;
        let start = self.offset;
        self.offset += line.len();
        let line = line.trim_end();
        Some((line, Span::new(start, start + line.len().max(1))))
    }

    fn line(&mut self, line: &str, span: Span) -> Result<()> {
        if let Some(rest) = line.strip_prefix("Test ") {
            let mut words = rest.split_whitespace();
            let name = words.next().unwrap_or("");
            let kind = match words.next() {
                Some("Allowed" | "Allow") => Kind::Allowed,
                Some("Forbidden" | "Forbid") => Kind::Forbidden,
                Some("Required" | "Require") => Kind::Required,
                None | Some("Final" | "Unknown" | "???" | "---") => Kind::Final,
                // `Test x not found` and the like.
                Some(_) => return Ok(()),
            };
            self.entries.push(LogEntry {
                name: name.strip_suffix(".litmus").unwrap_or(name).to_string(),
                kind,
                states: Vec::new(),
                seen: Vec::new(),
                verdict: Verdict::Unknown,
                cut: false,
                positive: 0,
                negative: 0,
                flags: Vec::new(),
                condition: String::new(),
                observation: None,
                seconds: None,
                hash: None,
            });
            return Ok(());
        }
        if self.entries.is_empty() {
            return Ok(());
        }
        let count = line
            .strip_prefix("States ")
            .or_else(|| line.strip_prefix("Histogram (").and_then(|l| l.strip_suffix(" states)")));
        if let Some(count) = count {
            let Ok(count) = count.trim().parse::<usize>() else {
                return Err(Diag::at(
                    self.source,
                    span,
                    format!("expected a number of states, found `{count}`"),
                ));
            };
            return self.states(count, span);
        }
        let Some(entry) = self.entries.last_mut() else {
            return Ok(());
        };
        let (cut, word) = match line.strip_prefix("Loop ") {
            Some(word) => (true, word),
            None => (false, line),
        };
        let verdict = match word {
            "Ok" | "Yes" | "Succeeded" => Some(Verdict::Ok),
            "No" | "Failed" => Some(Verdict::No),
            "Undef" => Some(Verdict::Undef),
            _ => None,
        };
        if let Some(verdict) = verdict {
            entry.cut |= cut;
            if entry.verdict == Verdict::Unknown {
                entry.verdict = verdict;
            }
        } else if let Some(rest) = line.strip_prefix("Positive: ") {
            counts(entry, rest);
        } else if let Some(rest) = line.strip_prefix("Flag ") {
            let name = rest.split(':').next().unwrap_or(rest).trim();
            entry.flags.push(name.to_string());
        } else if let Some(rest) = line.strip_prefix("Condition ") {
            let text = rest
                .strip_suffix(" is NOT validated")
                .or_else(|| rest.strip_suffix(" is validated"))
                .unwrap_or(rest);
            entry.condition = text.to_string();
        } else if let Some(rest) = line.strip_prefix("Observation ") {
            entry.observation = match rest.split_whitespace().nth(1) {
                Some("Never") => Some(Observation::Never),
                Some("Sometimes") => Some(Observation::Sometimes),
                Some("Always") => Some(Observation::Always),
                _ => None,
            };
        } else if let Some(rest) = line.strip_prefix("Time ") {
            entry.seconds = rest
                .split_whitespace()
                .nth(1)
                .and_then(|s| s.parse().ok())
                .filter(|s: &f64| s.is_finite());
        } else if let Some(rest) = line.strip_prefix("Hash=") {
            entry.hash = Some(rest.trim().to_string());
        }
        Ok(())
    }

    /// The lines of states; litmus7 counts each (`12:>0:EAX=0;`, `3*>0:EAX=1;`).
    fn states(&mut self, count: usize, span: Span) -> Result<()> {
        let mut states = Vec::new();
        let mut all_seen = Vec::new();
        for _ in 0..count {
            let Some((line, _)) = self.next() else {
                return Err(Diag::at(
                    self.source,
                    span,
                    format!("the log ends after {} of {count} states", states.len()),
                )
                .help("the log was cut off; run the last test again"));
            };
            let (seen, state) = match line.find(":>").or_else(|| line.find("*>")) {
                Some(at) if line[..at].trim().bytes().all(|b| b.is_ascii_digit()) => {
                    let holds = line[at..].starts_with('*');
                    let count = line[..at].trim().parse();
                    (count.ok().map(|count| Seen { count, holds }), &line[at + 2..])
                }
                _ => (None, line),
            };
            states.push(state.trim().to_string());
            all_seen.extend(seen);
        }
        if let Some(entry) = self.entries.last_mut() {
            // Counts of some states are none that can be added up.
            entry.seen = if all_seen.len() == states.len() { all_seen } else { Vec::new() };
            entry.states = states;
        }
        Ok(())
    }
}

/// `3 Negative: 4`, or with a comma.
fn counts(entry: &mut LogEntry, rest: &str) {
    let mut numbers = rest
        .split(|c: char| !c.is_ascii_digit())
        .filter(|s| !s.is_empty())
        .filter_map(|s| s.parse().ok());
    let (Some(a), Some(b)) = (numbers.next(), numbers.next()) else {
        return;
    };
    (entry.positive, entry.negative) = match entry.kind {
        Kind::Forbidden => (b, a),
        _ => (a, b),
    };
}
