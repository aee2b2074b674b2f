//! Writes the text of an issue about a bug in the form that the compiler's tracker expects.
//!
//! LLVM's tracker renders Markdown; gcc's shows plain text. It does not know how findings were
//! made, nor where the text is sent.

use std::fmt::Write;

use super::evidence::{Event, Execution, Failed, presence_lines};
use super::github::block;
use super::passes::{Culprit, Sure};
use super::{Finding, State, state_text};
use litmake_base::plain;

/// The bug trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// LLVM's, in Markdown.
    Llvm,
    /// gcc's Bugzilla, in plain text.
    Gcc,
}

impl Tracker {
    /// The family of compilers that uses the tracker.
    pub fn family(self) -> &'static str {
        match self {
            Tracker::Llvm => "clang",
            Tracker::Gcc => "gcc",
        }
    }
}

/// A compilation that shows the bug.
pub struct Compilation {
    /// The profile's name.
    pub profile: String,
    /// The version as the compiler prints it.
    pub version: String,
    /// The command line that compiles the source to assembly.
    pub command: String,
    /// The options that make the compiler print the code after each pass.
    pub dumps: String,
    /// The name of the compiled file, such as `source.c`.
    pub file: String,
    /// The content of that file.
    pub source: String,
    /// The link that opens the file in Compiler Explorer.
    pub link: String,
}

/// The content of an issue.
pub struct Issue<'a> {
    /// The bug.
    pub finding: &'a Finding,
    /// The compilations, one for each profile of the example.
    pub compilations: &'a [Compilation],
    /// The command that shows the bug again.
    pub again: &'a str,
}

/// A text with headings, in the tracker's format.
struct Page {
    tracker: Tracker,
    out: String,
}

impl Page {
    fn title(&mut self, text: &str) {
        let _ = match self.tracker {
            Tracker::Llvm => writeln!(self.out, "# {}\n", plain::line(text)),
            Tracker::Gcc => writeln!(self.out, "Summary: {}\n", plain::line(text)),
        };
    }

    fn head(&mut self, text: &str) {
        let text = plain::line(text);
        let _ = match self.tracker {
            Tracker::Llvm => writeln!(self.out, "## {text}\n"),
            Tracker::Gcc => writeln!(self.out, "{text}\n{}\n", "-".repeat(text.chars().count())),
        };
    }

    fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}\n", plain::text(text.trim_end()));
    }

    fn block(&mut self, language: &str, text: &str) {
        match self.tracker {
            Tracker::Llvm => block(language, text, &mut self.out),
            Tracker::Gcc => {
                for line in plain::text(text.trim_end()).lines() {
                    let _ = writeln!(self.out, "{}", format!("    {line}").trim_end());
                }
                self.out.push('\n');
            }
        }
    }

    /// Writes a heading and a text, or nothing if the text is empty.
    fn part(&mut self, head: &str, language: &str, text: &str) {
        if !text.trim().is_empty() {
            self.head(head);
            self.block(language, text);
        }
    }
}

impl Issue<'_> {
    /// The text in the tracker's format.
    pub fn text(&self, tracker: Tracker) -> String {
        let f = self.finding;
        let mut page = Page { tracker, out: String::new() };
        page.title(&f.fault());
        page.paragraph(&format!("{}:", f.claim()));
        // With the names of the test that is shown.
        let wrong = match f.reduced.as_ref().map(|r| &r.outcomes.forbidden) {
            Some(states) if !states.is_empty() => states.iter().map(state_text).collect(),
            _ => f.wrong(),
        };
        if !wrong.is_empty() {
            page.block("", &wrong.join("\n"));
        }
        for c in self.compilations.iter().filter(|c| !c.link.is_empty()) {
            page.paragraph(&format!("Compiler Explorer ({}): {}", c.profile, c.link));
        }
        let (_, target, outcomes) = f.smallest();
        page.part("Litmus test", "c", &f.reproducer);
        let mut last = "";
        for c in self.compilations {
            if c.source != last {
                page.part(&format!("Source ({})", c.file), "c", &c.source);
            }
            last = &c.source;
        }
        for c in self.compilations {
            let version = match c.version.is_empty() {
                true => String::new(),
                false => format!("# {}\n", c.version),
            };
            let text = format!("{version}{}", c.command);
            page.part(&format!("Compiled with {}", c.profile), "sh", &text);
        }
        page.part("What the compiler makes of it", "", target);
        self.pass(&mut page);
        if !outcomes.source.is_empty() {
            let states =
                |list: &[State]| list.iter().map(state_text).collect::<Vec<_>>().join("\n");
            page.part(&format!("Allowed by {}", f.model_source), "", &states(&outcomes.source));
            page.part(&format!("Allowed by {}", f.model_target), "", &states(&outcomes.target));
        }
        self.why(&mut page);
        page.part("Versions", "", &presence_lines(&f.presence).join("\n"));
        let mut known: Vec<String> = f.facts();
        if !f.cause.is_empty() {
            known.insert(0, f.cause.clone());
        }
        page.part("What else is known", "", &known.join("\n"));
        page.part("Again", "sh", self.again);
        page.out
    }

    /// The pass to blame, with the code before and after it, if it is shown. A maintainer can do
    /// nothing with a suspicion.
    fn pass(&self, page: &mut Page) {
        let is_shown = |culprit: &&Culprit| culprit.sure == Sure::Shown;
        let Some(culprit) = self.finding.pass.as_ref().filter(is_shown) else { return };
        page.head(&culprit.head());
        page.paragraph(&culprit.why);
        let dumps = |own: &str, lifted: &str| match own.is_empty() {
            true => lifted.to_string(),
            false => own.to_string(),
        };
        let language = if culprit.is_llvm() { "llvm" } else { "" };
        page.part("Before it", language, &dumps(&culprit.dump_before, &culprit.before));
        page.part("After it", language, &dumps(&culprit.dump_after, &culprit.after));
        if let Some(c) = self.compilations.first().filter(|c| !c.dumps.is_empty()) {
            page.part("Printed by", "sh", &format!("{} {}", c.command, c.dumps));
        }
    }

    /// Why the source forbids it.
    fn why(&self, page: &mut Page) {
        let f = self.finding;
        let Some(evidence) = &f.evidence else { return };
        let Some(run) = &evidence.source else {
            if !f.outcomes.source.is_empty() {
                page.head(&format!("Why {} forbids it", f.model_source));
                page.paragraph("No execution of the source shows it, whatever the model.");
            }
            return;
        };
        for failed in &run.fails {
            page.head(&format!("Why {} forbids it", f.model_source));
            page.paragraph(&format!(
                "{} would need an execution in which all of this holds:",
                state_text(&evidence.outcome)
            ));
            page.block("", &in_words(run, failed).join("\n"));
            let closed = match failed.is_cycle {
                true => "This leads back to where it began",
                false => "This is a pair",
            };
            let check = &failed.check;
            page.paragraph(&format!("{closed}, which `{check}` forbids ({}).", failed.place));
        }
    }
}

/// A failed check in words: its events, then a sentence for each edge.
pub fn in_words(run: &Execution, failed: &Failed) -> Vec<String> {
    let has = |id: &str| failed.edges.iter().any(|e| e.from == id || e.to == id);
    let events = run.events.iter().filter(|e| has(&e.id)).map(named);
    let edges = failed.edges.iter().map(|e| sentence(&e.edge, &e.from, &e.to));
    events.chain(edges).collect()
}

/// An event with its letter, thread and code.
fn named(e: &Event) -> String {
    let code = e.code.trim().trim_end_matches(';');
    match e.thread {
        None => format!("({}) the initial {}", e.id, e.event),
        Some(t) if code.is_empty() => format!("({}) {} of P{t}", e.id, e.event),
        Some(t) => format!("({}) `{code}` of P{t}: {}", e.id, e.event),
    }
}

/// The sentence for an edge. A label is the model's relation, followed in brackets by the relation
/// that it is made of.
fn sentence(label: &str, from: &str, to: &str) -> String {
    let (name, made) = match label.split_once(" (") {
        Some((name, made)) => (name, made.trim_end_matches(')')),
        None => (label, ""),
    };
    let basic = |word: &str| {
        Some(match word {
            "po" | "sb" => format!("({from}) comes before ({to}) in the program"),
            "rf" => format!("({to}) reads what ({from}) writes"),
            "co" | "mo" => format!("({to}) overwrites ({from})"),
            "fr" | "rb" => format!("({from}) reads what was there before ({to})"),
            "sw" => format!("({from}) synchronises with ({to})"),
            "hb" => format!("({from}) happens before ({to})"),
            _ => return None,
        })
    };
    match (basic(made), basic(name)) {
        (Some(said), _) => format!("{said}."),
        (None, Some(said)) if made.is_empty() => format!("{said}."),
        (None, Some(said)) => format!("{said}, by {made}."),
        (None, None) => format!("({from}) is ordered before ({to}), by {label}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use crate::evidence::{Edge, Evidence, Presence, Shows};
    use crate::mechanism::{Change, Mechanism};

    fn finding() -> Finding {
        let event = |id: &str, thread, code: &str, event: &str| Event {
            id: id.into(),
            thread,
            line: 1,
            code: code.into(),
            event: event.into(),
        };
        let edge = |from: &str, edge: &str, to: &str| Edge {
            from: from.into(),
            edge: edge.into(),
            to: to.into(),
        };
        let run = Execution {
            model: "rc11".into(),
            events: vec![
                event("a", None, "", "W[x]=0"),
                event("b", Some(0), "atomic_store(x, 1);", "W(RLX)[x]=1"),
                event("c", Some(1), "int r = atomic_load(x);", "R(RLX)[x]=0"),
            ],
            fails: vec![Failed {
                check: "coherence".into(),
                place: "m.cat:3".into(),
                is_cycle: true,
                edges: vec![
                    edge("b", "sw ([fence]; sb; rf)", "c"),
                    edge("c", "eco (fr)", "b"),
                    edge("b", "psc-base", "b"),
                ],
            }],
            ..Execution::default()
        };
        Finding {
            id: "1".into(),
            class: Class::Concurrency,
            family: "clang".into(),
            profiles: vec!["p".into()],
            model_source: "rc11".into(),
            model_target: "tso".into(),
            reproducer: "C test".into(),
            evidence: Some(Evidence { source: Some(run), ..Evidence::default() }),
            presence: vec![Presence {
                compiler: "clang 15".into(),
                shows: Shows::Present,
                ..Presence::default()
            }],
            mechanism: Some(Mechanism {
                pass: "SomePass".into(),
                change: Change::Load,
                moved: "relaxed read-modify-write".into(),
                ..Mechanism::default()
            }),
            pass: Some(Culprit {
                pass: "SomePass".into(),
                sure: Sure::Shown,
                why: "shown: ...".into(),
                dump_before: "define before".into(),
                dump_after: "define after".into(),
                ..Culprit::default()
            }),
            ..Finding::default()
        }
    }

    #[test]
    fn a_cycle_is_told_in_words() {
        let f = finding();
        let run = f.evidence.as_ref().and_then(|e| e.source.as_ref()).expect("an execution");
        assert_eq!(
            in_words(run, &run.fails[0]),
            [
                "(b) `atomic_store(x, 1)` of P0: W(RLX)[x]=1",
                "(c) `int r = atomic_load(x)` of P1: R(RLX)[x]=0",
                "(b) synchronises with (c), by [fence]; sb; rf.",
                "(c) reads what was there before (b).",
                "(b) is ordered before (b), by psc-base.",
            ]
        );
    }

    #[test]
    fn a_suspicion_is_in_no_issue() {
        let mut f = finding();
        f.mechanism.as_mut().unwrap().pass.clear();
        f.pass.as_mut().unwrap().sure = Sure::Possible;
        let text = Issue { finding: &f, compilations: &[], again: "" }.text(Tracker::Llvm);
        assert!(!text.contains("SomePass") && !text.contains("define"), "{text}");
        // An outcome that is not known is no empty block.
        assert!(!text.contains("```\n\n```") && !text.contains("```\n```"), "{text}");
    }

    #[test]
    fn each_tracker_gets_all_of_it_in_its_form() {
        let f = finding();
        let compilation = Compilation {
            profile: "p".into(),
            version: "clang version 15".into(),
            command: "clang -S source.c".into(),
            dumps: "-mllvm -print-after-all".into(),
            file: "source.c".into(),
            source: "int x;".into(),
            link: "https://example/".into(),
        };
        let issue = Issue { finding: &f, compilations: &[compilation], again: "litmake check" };
        for tracker in [Tracker::Llvm, Tracker::Gcc] {
            let text = issue.text(tracker);
            for part in [
                "clang: a relaxed read-modify-write becomes a load (SomePass)",
                "https://example/",
                "int x;",
                "clang version 15",
                "clang -S source.c -mllvm -print-after-all",
                "define before",
                "define after",
                "synchronises with",
                "present in clang 15",
                "litmake check",
            ] {
                assert!(text.contains(part), "{part} is not in\n{text}");
            }
            assert_eq!(text.contains("```"), tracker == Tracker::Llvm, "{text}");
            assert_eq!(text.starts_with("# "), tracker == Tracker::Llvm, "{text}");
        }
    }
}
