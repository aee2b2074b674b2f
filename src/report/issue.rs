//! Writes the text of an issue about a bug in the form that the compiler's tracker expects.
//!
//! LLVM's tracker renders Markdown; gcc's shows plain text. It does not know how findings were
//! made, nor where the text is sent.

use std::fmt::Write;

use super::evidence::presence_lines;
use super::github::block;
use super::passes::{Culprit, Sure};
use super::{Class, Finding, State, clause, state_text};
use litmake_base::diag::Source;
use litmake_base::plain;
use litmake_litmus::{self as litmus, Body, InitItem, InitValue, Place, Value};

/// The bug trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// LLVM's, in Markdown.
    Llvm,
    /// gcc's Bugzilla, in plain text.
    Gcc,
}

impl Tracker {
    /// The tracker for bugs of a family of compilers.
    pub fn of(family: &str) -> Tracker {
        if family == "gcc" { Tracker::Gcc } else { Tracker::Llvm }
    }

    /// The family of compilers that uses the tracker.
    pub fn family(self) -> &'static str {
        match self {
            Tracker::Llvm => "clang",
            Tracker::Gcc => "gcc",
        }
    }
}

/// The threads of a test in assembly as a compiler's author reads them: what the registers hold at
/// first, and the instructions. Another text stays as it is.
fn assembly(text: &str) -> String {
    let Ok(test) = litmus::read(&Source::new("code", text)) else { return text.to_string() };
    let mut out = String::new();
    for (n, thread) in test.threads.iter().enumerate() {
        let Body::Asm(lines) = thread else { return text.to_string() };
        let is_own = |i: &&InitItem| matches!(&i.place, Place::Reg { thread, .. } if *thread == n);
        let own = test.init.iter().filter(is_own).map(litmus::init_text);
        let own: Vec<String> = own
            .filter_map(|i| Some(i.split_once(':')?.1.trim_end_matches(';').to_string()))
            .collect();
        let holds = if own.is_empty() { String::new() } else { format!(" ({})", own.join(", ")) };
        let _ = writeln!(out, "P{n}{holds}:");
        for line in lines {
            line.labels.iter().for_each(|label| out += &format!("  {label}:\n"));
            let _ = writeln!(out, "    {}", line.text);
        }
    }
    out
}

/// The content of an issue.
pub struct Issue<'a> {
    /// The bug.
    pub finding: &'a Finding,
    /// The command that shows the bug again; empty if there is none that others can run.
    pub again: String,
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

/// A final state in words: `r0 = 0` in P1 and `x = 2` in memory.
fn final_values(state: &State) -> String {
    let one = |(name, value): (&String, &String)| match name.split_once(':') {
        Some((thread, local)) => format!("`{local} = {value}` in P{thread}"),
        None => format!("`{name} = {value}` in memory"),
    };
    let mut parts: Vec<String> = state.iter().map(one).collect();
    match parts.pop() {
        Some(last) if parts.is_empty() => last,
        Some(last) => format!("{} and {last}", parts.join(", ")),
        None => String::new(),
    }
}

/// The text with a capital letter.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// The name of the litmus test in commands.
const TEST: &str = "test.litmus";
/// Larger sets of outcomes are only in reports.
const STATES: usize = 16;

impl<'a> Issue<'a> {
    /// The issue of a finding. A script beside the finding is nothing that others can run, and the path of the
    /// test is nothing to them: the issue's own test has its place.
    pub fn of(finding: &'a Finding) -> Issue<'a> {
        let own = Some(&finding.command).filter(|c| c.starts_with("litmake "));
        let again = own.map_or(String::new(), |command| {
            let path = litmake_base::plain::path(&finding.test);
            match command.strip_suffix(&*path).filter(|_| finding.class != Class::AbiLayout) {
                Some(before) => format!("{before}{TEST}"),
                None => command.clone(),
            }
        });
        Issue { finding, again }
    }

    /// The text in the tracker's format. What a maintainer reads first stands first, and the long link
    /// last.
    pub fn text(&self, tracker: Tracker) -> String {
        let f = self.finding;
        let mut page = Page { tracker, out: String::new() };
        page.title(&self.title());
        page.paragraph(&self.summary().join("\n"));
        match f.class {
            Class::AbiLayout => self.layouts(&mut page),
            Class::Mixing => self.parts(&mut page),
            _ => {}
        }
        let mut last = "";
        for c in &f.compilations {
            if c.source != last {
                page.part(&format!("Source ({})", c.file), "c", &c.source);
            }
            last = &c.source;
        }
        let is_whole = f.compilations.iter().all(|c| c.source.is_empty());
        if is_whole {
            page.part("Source", "c", &f.reproducer);
        } else {
            self.beginning(&mut page);
        }
        self.code(&mut page);
        self.outcomes(&mut page);
        self.machine(&mut page);
        self.why(&mut page);
        self.pass(&mut page);
        page.part("Versions", "", &presence_lines(&f.presence).join("\n"));
        self.again(&mut page);
        page.out
    }

    /// The objects that do not begin as zeros, which the source as the compiler has it does not say.
    fn beginning(&self, page: &mut Page) {
        let (source, ..) = self.finding.smallest();
        let Ok(test) = litmus::read(&Source::new("source", source)) else { return };
        let is_zero = |i: &InitItem| matches!(i.value, None | Some(InitValue::One(Value::Int(0))));
        let is_said = |i: &&InitItem| matches!(i.place, Place::Mem { .. }) && !is_zero(i);
        let all: Vec<String> = test
            .init
            .iter()
            .filter(is_said)
            .map(|i| format!("`{}`", litmus::init_text(i).trim_end_matches(';')))
            .collect();
        if !all.is_empty() {
            page.paragraph(&format!(
                "Before the threads run, {}. All other objects are 0.",
                all.join(" and ")
            ));
        }
    }

    fn title(&self) -> String {
        let f = self.finding;
        match (f.class, &f.mechanism) {
            (Class::Conformance, None) => {
                format!("{}: shows an outcome that {} forbids", f.family, law(&f.model_source))
            }
            _ => f.fault(),
        }
    }

    /// The bug in at most ten lines.
    fn summary(&self) -> Vec<String> {
        let f = self.finding;
        let law = law(&f.model_source);
        let outcome = self.wrong().into_iter().next().unwrap_or("a wrong result".into());
        let by: Vec<String> = f.compilations.iter().map(|c| format!("`{}`", c.command)).collect();
        let by = if by.is_empty() { f.profiles.join(" and ") } else { by.join(" and ") };
        let mut out = Vec::new();
        match f.class {
            Class::AbiLayout => out.push(format!(
                "{by} do not agree on the layout of an atomic type, so that objects of it cannot be shared."
            )),
            Class::Mixing => out.push(format!(
                "Code of {by} is right alone. Linked together, it can end with {outcome}, which {law} forbids."
            )),
            Class::Conformance => {
                out.push(format!("{by} showed {outcome}, which {law} forbids."));
            }
            Class::RuntimeCrash if !f.faults.is_empty() => out.push(format!(
                "The code that {by} makes of the source below writes to an object that the source only reads: \
                 it crashes where the object is in read-only memory."
            )),
            Class::RuntimeCrash => out.push(format!("The code that {by} makes of it crashes.")),
            Class::Concurrency | Class::Model => out.push(format!(
                "The code that {by} makes of the source below can end with {outcome}, which {law} forbids."
            )),
        }
        let failed = f
            .evidence
            .iter()
            .filter_map(|e| e.source.as_ref())
            .find_map(|run| Some(clause::sentence(run, run.fails.first()?)));
        out.extend(failed.map(|cycle| format!("It would need that {cycle}")));
        if let Some(culprit) = self.shown() {
            out.push(format!("The pass `{}` does it: {}.", culprit.pass, culprit.argument()));
        }
        // Present in, absent from; the rest is below.
        let known = presence_lines(&f.presence).into_iter();
        let known = known.filter(|l| l.starts_with("present in") || l.starts_with("absent from"));
        out.extend(known.map(|line| format!("It is {line}.")));
        out
    }

    /// The wrong outcomes in words, with the names of the test that is shown.
    fn wrong(&self) -> Vec<String> {
        let f = self.finding;
        let reduced = f.reduced.as_ref().map(|r| &r.outcomes.forbidden);
        match reduced.unwrap_or(&f.outcomes.forbidden) {
            states if !states.is_empty() => states.iter().map(final_values).collect(),
            _ => f.wrong(),
        }
    }

    /// The layouts of a type with two compilers.
    fn layouts(&self, page: &mut Page) {
        for clash in &self.finding.clash {
            page.head(&format!("Layouts of {}", clash.source));
            let lines: Vec<String> =
                clash.code.iter().map(|(profile, layout)| format!("{profile}: {layout}")).collect();
            page.block("", &lines.join("\n"));
        }
    }

    /// The parts of a mix whose code differs, and the barriers that would mend it.
    fn parts(&self, page: &mut Page) {
        let f = self.finding;
        let mut lines = Vec::new();
        // Of a reduced test the code is shown as it is; the parts are those of the test before.
        for clash in f.clash.iter().filter(|_| f.reduced.is_none()) {
            lines.push(format!("{}: {}", clash.part, clash.source));
            lines.extend(clash.code.iter().map(|(profile, code)| format!("    {profile}: {code}")));
        }
        page.part("Code that differs", "", &lines.join("\n"));
        if !f.mix.is_empty() {
            page.part("The wrong mix: the compiler of each part", "", &f.mix);
        }
        let mends: Vec<String> = f
            .mends
            .iter()
            .map(|m| {
                let place = if m.before { "before" } else { "behind" };
                format!("`{}` {place} each `{}` of {}", m.barrier, m.operation, m.profile)
            })
            .collect();
        page.part("Each of these would mend it", "", &mends.join("\n"));
    }

    /// The instructions, as the compiler made them; as lifted if they are not known.
    fn code(&self, page: &mut Page) {
        let f = self.finding;
        let known: Vec<_> = f.compilations.iter().filter(|c| !c.threads.is_empty()).collect();
        for c in &known {
            let version = if c.version.is_empty() { &c.profile } else { &c.version };
            page.part(&format!("Code ({version})"), "asm", &c.code());
        }
        // The message of a crash is in its place.
        if known.is_empty() {
            page.part("Code", "", &assembly(f.smallest().1));
        }
    }

    fn outcomes(&self, page: &mut Page) {
        let f = self.finding;
        let (_, _, outcomes) = f.smallest();
        let list = |states: &[State]| -> Vec<String> {
            let wrong =
                |s: &State| if outcomes.forbidden.contains(s) { "  <- forbidden" } else { "" };
            let mut out: Vec<String> = states
                .iter()
                .take(STATES)
                .map(|s| format!("{}{}", state_text(s), wrong(s)))
                .collect();
            if states.len() > STATES {
                out.push(format!("and {} more", states.len() - STATES));
            }
            out
        };
        page.part(
            &format!("Final states that {} allows", law(&f.model_source)),
            "",
            &list(&outcomes.source).join("\n"),
        );
        page.part("Final states that the code allows", "", &list(&outcomes.target).join("\n"));
    }

    /// The execution of the machine.
    fn machine(&self, page: &mut Page) {
        let Some(run) = self.finding.evidence.as_ref().and_then(|e| e.target.as_ref()) else {
            return;
        };
        // Branches and the like have no part in what memory does.
        let shown = run.events.iter().filter(|e| e.event.contains(['[', '(']));
        let mut lines: Vec<String> = shown.map(clause::named).collect();
        let initial = |id: &str| run.events.iter().any(|e| e.id == id && e.thread.is_none());
        lines.extend(run.rf.iter().map(|(from, to)| match initial(from) {
            true => format!("({to}) reads the initial value."),
            false => format!("({to}) reads what ({from}) writes."),
        }));
        lines.extend(run.co.iter().map(|(a, b)| format!("({b}) overwrites ({a}).")));
        page.part(&format!("How the code gets there (under {})", run.model), "", &lines.join("\n"));
    }

    /// Why the source forbids it.
    fn why(&self, page: &mut Page) {
        let f = self.finding;
        let Some(evidence) = &f.evidence else { return };
        let head = format!("Why {} forbids it", law(&f.model_source));
        let Some(run) = &evidence.source else {
            if !f.outcomes.source.is_empty() {
                page.head(&head);
                page.paragraph(
                    "No execution of the source shows it, in whatever order its accesses are.",
                );
            }
            return;
        };
        for failed in run.fails.iter().take(1) {
            let told = clause::argument(run, failed);
            page.head(&head);
            let outcome = match evidence.outcome.is_empty() {
                true => "in this way".to_string(),
                false => format!("with {}", final_values(&evidence.outcome)),
            };
            page.paragraph(&format!("To end {outcome}, an execution would need all of this:"));
            let steps = told.steps.iter().map(|step| format!("{step}."));
            let lines: Vec<String> = told.events.iter().cloned().chain(steps).collect();
            page.block("", &lines.join("\n"));
            page.paragraph(&format!("That cannot be: {}.", told.clause));
        }
    }

    /// The pass to blame, if it is shown. A maintainer can do nothing with a suspicion.
    fn shown(&self) -> Option<&'a Culprit> {
        self.finding.pass.as_ref().filter(|culprit| culprit.sure == Sure::Shown)
    }

    /// The pass, with the compiler's code before and after it.
    fn pass(&self, page: &mut Page) {
        let Some(culprit) = self.shown() else { return };
        page.head(&format!("The pass: {}", culprit.pass));
        page.paragraph(&format!("{}.", capital(culprit.argument())));
        let dumps = |own: &str, lifted: &str| match own.is_empty() {
            true => lifted.to_string(),
            false => own.to_string(),
        };
        let language = if culprit.is_llvm() { "llvm" } else { "" };
        page.part("Before it", language, &dumps(&culprit.dump_before, &culprit.before));
        page.part("After it", language, &dumps(&culprit.dump_after, &culprit.after));
        let printed = self.finding.compilations.first().filter(|c| !c.dumps.is_empty());
        if let Some(c) = printed.filter(|_| !culprit.dump_before.is_empty()) {
            page.part("Printed by", "sh", &format!("{} {}", c.command, c.dumps));
        }
    }

    /// The commands that show the bug again, the test for litmake and herd7, and links.
    fn again(&self, page: &mut Page) {
        let f = self.finding;
        let mut lines: Vec<String> = Vec::new();
        for c in &f.compilations {
            if !c.version.is_empty() {
                lines.push(format!("# {}", c.version));
            }
            lines.push(c.command.clone());
        }
        if !self.again.is_empty() {
            let does = match f.class {
                Class::AbiLayout => "compares the layouts",
                _ => "compiles, simulates both sides and compares",
            };
            lines.push(format!("# litmake {does}:"));
            lines.push(self.again.clone());
        }
        page.part("To reproduce", "sh", &lines.join("\n"));
        let is_shown = f.compilations.iter().all(|c| c.source.is_empty());
        if !is_shown {
            page.part(&format!("The same as a litmus test ({TEST})"), "c", &f.reproducer);
        }
        for c in f.compilations.iter().filter(|c| !c.link.is_empty()) {
            page.paragraph(&format!("Compiler Explorer ({}): {}", c.profile, c.link));
        }
    }
}

/// The law that a model of sources states, in a maintainer's words.
fn law(model: &str) -> String {
    match model {
        "rc11" | "rc11-lb" | "c11" => "C11".to_string(),
        "" => "the language".to_string(),
        other => format!("the model {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clash;
    use crate::compilation::{Compilation, Instruction};
    use crate::evidence::Mend;
    use crate::evidence::{Edge, Event, Evidence, Execution, Failed, Presence, Shows};
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
                edges: vec![edge("b", "sw ([fence]; sb; rf)", "c"), edge("c", "eco (fr)", "b")],
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
    fn a_suspicion_is_in_no_issue() {
        let mut f = finding();
        f.mechanism.as_mut().unwrap().pass.clear();
        f.pass.as_mut().unwrap().sure = Sure::Possible;
        let text = Issue::of(&f).text(Tracker::Llvm);
        assert!(!text.contains("SomePass") && !text.contains("define"), "{text}");
        // An outcome that is not known is no empty block.
        assert!(!text.contains("```\n\n```") && !text.contains("```\n```"), "{text}");
    }

    #[test]
    fn each_tracker_gets_all_of_it_in_its_form() {
        let mut f = finding();
        let instruction = |code: &str| Instruction { code: code.into(), ..Instruction::default() };
        f.compilations = vec![Compilation {
            profile: "p".into(),
            version: "clang version 15".into(),
            command: "clang -S source.c".into(),
            dumps: "-mllvm -print-after-all".into(),
            file: "source.c".into(),
            source: "int x;".into(),
            link: "https://example/".into(),
            threads: vec![vec![instruction("mov eax, 1")], vec![instruction("mfence")]],
        }];
        f.source =
            "C t\n{ int k[2]={3,0}; z=0; }\nP0(int *k) { k[1] = 1; }\nexists (k[1]=1)\n".into();
        f.test = "/mine/t.litmus".into();
        f.command = "litmake check --profile p /mine/t.litmus".into();
        let issue = Issue::of(&f);
        for tracker in [Tracker::Llvm, Tracker::Gcc] {
            let text = issue.text(tracker);
            for part in [
                "clang: a relaxed read-modify-write becomes a load (SomePass)",
                "https://example/",
                "int x;",
                "Before the threads run, `int k[2]={3,0}`. All other objects are 0.",
                "clang version 15",
                "clang -S source.c -mllvm -print-after-all",
                "define before",
                "define after",
                "synchronises with",
                "C11 5.1.2.4p11",
                "P0:\n",
                "mov eax, 1",
                "present in clang 15",
                "litmake check --profile p test.litmus",
            ] {
                assert!(text.contains(part), "{part} is not in\n{text}");
            }
            assert_eq!(text.contains("```"), tracker == Tracker::Llvm, "{text}");
            assert_eq!(text.starts_with("# "), tracker == Tracker::Llvm, "{text}");
            // The long link is the last line, and what a maintainer reads first has ten lines at most.
            assert!(text.trim_end().ends_with("https://example/"), "{text}");
            let summary: Vec<&str> = text.lines().skip(2).take_while(|l| !l.is_empty()).collect();
            assert!((2..=10).contains(&summary.len()), "{text}");
            assert!(!text.contains("m.cat") && !text.contains("/mine"), "{text}");
            // No block and no part is empty.
            assert!(!text.contains("```\n```") && !text.contains("\n\n\n"), "{text}");
        }
    }

    #[test]
    fn layouts_and_mixes_have_forms_of_their_own() {
        let clash = |part: &str, source: &str, code: [(&str, &str); 2]| Clash {
            part: part.into(),
            source: source.into(),
            code: code.map(|(p, c)| (p.to_string(), c.to_string())).into(),
        };
        let codes = [("clang-16", "size 4"), ("gcc-12", "size 3")];
        let layout = Finding {
            class: Class::AbiLayout,
            family: "clang, gcc".into(),
            profiles: vec!["clang-16".into(), "gcc-12".into()],
            clash: vec![clash("size", "_Atomic(struct s)", codes)],
            reproducer: "_Atomic(struct s) x;".into(),
            command: "litmake abi --type s".into(),
            ..Finding::default()
        };
        let text = Issue::of(&layout).text(Tracker::Gcc);
        let title =
            "Summary: clang, gcc: size of `_Atomic(struct s)` differs between clang-16 and gcc-12";
        assert!(text.starts_with(title), "{text}");
        assert!(text.contains("clang-16: size 4") && text.contains("gcc-12: size 3"), "{text}");
        assert!(!text.contains("can end with") && !text.contains("Why"), "{text}");
        assert!(text.contains("_Atomic(struct s) x;"), "{text}");
        let mixing = Finding {
            class: Class::Mixing,
            mix: "(clang-16(P0_0))".into(),
            target: "AArch64 t\n{ 0:X0=x; }\n P0          ;\n L0: LDXR W1,[X0] ;\n CBZ W1,L0 ;\nexists (0:X1=1)\n"
                .into(),
            mends: vec![Mend {
                profile: "clang-16".into(),
                operation: "load seq_cst 32".into(),
                barrier: "dmb ish".into(),
                before: true,
            }],
            model_source: "rc11".into(),
            ..layout
        };
        let text = Issue::of(&mixing).text(Tracker::Llvm);
        assert!(
            text.contains("`load seq_cst 32` of clang-16 is too weak beside code of gcc-12"),
            "{text}"
        );
        let code = "P0 (X0=x):\n  L0:\n    LDXR W1,[X0]\n    CBZ W1,L0\n";
        for part in
            ["is right alone", "`dmb ish` before each", "(clang-16(P0_0))", "gcc-12: size 3", code]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
