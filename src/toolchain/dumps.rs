//! What LLVM's compilers print of their own work: the code after each pass.
//!
//! A compiler is run as for lifting, with flags that make it print, and what it prints is cut into
//! dumps. This file does not know what code means, nor which pass is to blame.

use std::cell::RefCell;
use std::path::Path;

use super::bench::Bench;
use super::compile::{Compiler, Frame};
use super::process::{self, Ended, Request};
use litmake_base::failure::Failure;
use litmake_base::file;
use litmake_lang::Language;
use litmake_litmus::Test;

/// The code after one pass, or what came before all passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump<'a> {
    /// As the compiler calls it, without what it ran on.
    pub pass: &'a str,
    /// What it ran on: a function, a loop, or everything.
    pub on: &'a str,
    /// Whether it is machine code, of one function; else it is the whole module.
    pub machine: bool,
    /// The code.
    pub text: &'a str,
}

/// The code after one pass of gcc, which writes a file for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its place among all passes.
    pub number: u32,
    /// As gcc calls it.
    pub pass: String,
    /// Whether it is RTL; else trees.
    pub rtl: bool,
    /// All functions of the file.
    pub text: String,
}

/// Makes gcc write the code after each pass on trees and on RTL.
const WRITE: [&str; 2] = ["-fdump-tree-all", "-fdump-rtl-all"];

/// The file in a compilation's folder that takes what the compiler prints.
const FILE: &str = "dumps.txt";

/// More than this is not read.
const MOST: u64 = 256 << 20;

/// Makes a compiler print the whole module.
const WHOLE: [&str; 2] = ["-mllvm", "-print-module-scope"];

/// Makes a compiler print after each pass, on intermediate and on machine code.
const ALL: [&str; 2] = ["-mllvm", "-print-after-all"];

/// Makes a compiler print what it begins with and what each pass of the optimiser changes, and at two points of code
/// generation: where atomic operations are expanded, and after what may move accesses before
/// instructions are selected. To print after all passes costs much more than compiling, since compilers
/// write that a word at a time. No machine code is made, which newer compilers would print, too.
const CHANGED: [&str; 6] = [
    "-mllvm",
    "-print-changed",
    "-mllvm",
    "-print-after=atomic-expand,codegenprepare",
    "-mllvm",
    "-stop-after=stack-protector",
];

/// What stands for the pass in front of what a compiler begins with.
pub const START: &str = "";

/// Has no pass of the optimiser run, and makes a compiler print once: after the first step of code
/// generation, which changes no code that tests have.
const NONE: [&str; 4] =
    ["-Xclang", "-disable-llvm-passes", "-mllvm", "-print-after=pre-isel-intrinsic-lowering"];

/// Skips no pass, and makes a compiler number those that may be skipped.
const NUMBERS: [&str; 2] = ["-mllvm", "-opt-bisect-limit=-1"];

impl Compiler<'_> {
    /// What the compiler prints of the compilation of a test, pass by pass. Passes on functions that
    /// the test does not run (those that keep variables alive) are left out.
    pub fn dumps(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &ALL)
    }

    /// What the compiler begins with, the code after each pass of its optimiser that changed some, and the code at two
    /// points of code generation.
    pub fn changes(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &CHANGED)
    }

    /// The same of several tests in one module, whose names are apart. Of a pass, only the function that it ran on is
    /// printed; the whole module is what the compiler begins with.
    pub fn changes_of(&self, tests: &[&Test]) -> Result<(Vec<Frame>, String), Failure> {
        self.has_passes()?;
        let units = tests.iter().enumerate().map(|(n, test)| Ok((n, self.unit(test)?)));
        let units = units.collect::<Result<Vec<_>, Failure>>()?;
        let frames = units.iter().map(|(n, unit)| self.frame(unit, *n));
        let frames = frames.collect::<Result<_, Failure>>()?;
        let text = |header: &str| self.text(header, &units);
        let printed = self.said(&[&self.extra()[..], &CHANGED].concat(), &text)?;
        Ok((frames, printed))
    }

    /// What a test's functions are given, where it is compiled alone.
    pub fn frame_of(&self, test: &Test) -> Result<Frame, Failure> {
        self.frame(&self.unit(test)?, 0)
    }

    /// The module as the compiler's front end makes it, which no pass has seen.
    pub fn before_passes(&self, test: &Test) -> Result<(Frame, String), Failure> {
        let (frame, printed) = self.printed(test, &NONE)?;
        let first = list(&printed).into_iter().find(|d| !d.machine);
        let text = first.map(|d| d.text.to_string()).ok_or_else(|| {
            let name = &self.profile.compiler;
            Failure::unsupported(format!("{name} prints no code after its passes"))
        })?;
        Ok((frame, text))
    }

    /// What a compiler of LLVM prints of the passes that may be skipped, each with its number.
    pub fn numbered(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &NUMBERS)
    }

    /// What gcc writes of the compilation of a test, pass by pass.
    pub fn written(&self, test: &Test) -> Result<(Frame, Vec<Written>), Failure> {
        let unit = self.unit(test)?;
        let frame = self.frame(&unit, 0)?;
        let text = |header: &str| self.text(header, &[(0, unit.clone())]);
        let extra = [&self.extra()[..], &WRITE].concat();
        let out = RefCell::new(Vec::new());
        let run = |request: &Request| {
            let ended = process::run(request);
            *out.borrow_mut() = files(request.dir);
            ended
        };
        Bench::new(self, &extra, self.profile.timeout)?.by(&run).emit(&text)?;
        Ok((frame, out.into_inner()))
    }

    fn has_passes(&self) -> Result<(), Failure> {
        match self.profile.language {
            Language::Rust => Err(Failure::unsupported("passes of rustc")),
            _ => Ok(()),
        }
    }

    fn printed(&self, test: &Test, when: &[&str]) -> Result<(Frame, String), Failure> {
        self.has_passes()?;
        let unit = self.unit(test)?;
        let frame = self.frame(&unit, 0)?;
        let functions: Vec<String> = frame
            .threads
            .iter()
            .map(|(function, _)| function.clone())
            .chain(self.helpers_of(&unit))
            .collect();
        let only = format!("-filter-print-funcs={}", functions.join(","));
        let text = |header: &str| self.text(header, &[(0, unit.clone())]);
        // What is printed once is a module that other tools can read, with all that it declares.
        let is_once = when == NONE || when == NUMBERS;
        let filter: &[&str] = if is_once { &[] } else { &["-mllvm", &only] };
        let extra = [&self.extra()[..], &WHOLE, when, filter].concat();
        Ok((frame, self.said(&extra, &text)?))
    }

    /// What the compiler prints of a text as errors.
    fn said(
        &self,
        extra: &[&str],
        text: &dyn Fn(&str) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let printed = RefCell::new(String::new());
        let run = |request: &Request| {
            let (ended, text) = printing(request);
            *printed.borrow_mut() = text;
            ended
        };
        Bench::new(self, extra, self.profile.timeout)?.unread().by(&run).emit(text)?;
        Ok(printed.into_inner())
    }
}

/// The dumps in a folder, in the order of the passes.
fn files(folder: &Path) -> Vec<Written> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut out: Vec<Written> = names
        .filter_map(|entry| {
            let (number, rtl, pass) = of_file(&entry.file_name().to_string_lossy())?;
            let bytes = file::read(&entry.path(), MOST).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some(Written { number, pass, rtl, text })
        })
        .collect();
    out.sort_by_key(|w| w.number);
    out
}

/// The number, the kind and the name of the pass that a file is of: `test.c.253r.expand`.
fn of_file(name: &str) -> Option<(u32, bool, String)> {
    let mut parts = name.split('.').skip_while(|part| !is_number(part));
    let number = parts.next()?;
    let (number, kind) = number.split_at(number.len() - 1);
    let pass = parts.collect::<Vec<_>>().join(".");
    match (kind, pass.is_empty()) {
        ("t" | "r", false) => Some((number.parse().ok()?, kind == "r", pass)),
        _ => None,
    }
}

fn is_number(part: &str) -> bool {
    part.len() == 4 && part.is_char_boundary(3) && part[..3].bytes().all(|b| b.is_ascii_digit())
}

/// Runs a program with a file for what it prints as errors, which may be much.
pub fn printing(request: &Request) -> (Ended, String) {
    // The shell becomes the compiler, so that time and memory are the compiler's.
    let script = format!("exec \"$0\" \"$@\" 2>{FILE}");
    let program = request.program.to_string_lossy().into_owned();
    let mut args = vec!["-c".to_string(), script, program];
    args.extend(request.args.iter().cloned());
    let ended = process::run(&Request { program: Path::new("/bin/sh"), args: &args, ..*request });
    let bytes = file::read(&request.dir.join(FILE), MOST).unwrap_or_default();
    let printed = String::from_utf8_lossy(&bytes).into_owned();
    let ended = match ended {
        Ended::Exit { code, stdout, stderr } if code != 0 => {
            let errors = printed.lines().filter(|l| l.contains("error")).take(20);
            let said: Vec<&str> = errors.chain(printed.lines().take(1)).collect();
            let stderr = if stderr.is_empty() { said.join("\n") } else { stderr };
            Ended::Exit { code, stdout, stderr }
        }
        other => other,
    };
    (ended, printed)
}

/// The dumps that a compiler printed, in order.
pub fn list(printed: &str) -> Vec<Dump<'_>> {
    let mut out = told(printed);
    // A pass that removes what it ran on prints nothing.
    out.retain(|d| !d.text.trim().is_empty());
    out
}

/// All passes that a compiler named, in order; those of which it printed no code have none.
pub fn told(printed: &str) -> Vec<Dump<'_>> {
    let mut out: Vec<Dump> = Vec::new();
    let mut at = 0;
    let mut open: Option<(Dump, usize)> = None;
    for line in printed.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(Head { pass, on, machine, opens }) = head(line.trim_end()) {
            // Some of these lines only say that a pass changed nothing; the code before them ends there, too.
            if let Some((dump, from)) = open.take() {
                out.push(Dump { text: &printed[from..at], ..dump });
            }
            let dump = Dump { pass, on, machine, text: "" };
            match opens {
                true => open = Some((dump, next)),
                false => out.push(dump),
            }
        }
        at = next;
    }
    if let Some((dump, from)) = open {
        out.push(Dump { text: &printed[from..], ..dump });
    }
    for dump in &mut out {
        dump.machine |= dump.text.trim_start().starts_with("# Machine code");
    }
    out
}

/// A line that names a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head<'a> {
    pass: &'a str,
    on: &'a str,
    machine: bool,
    /// Whether code stands below it.
    opens: bool,
}

/// The pass and what it ran on, where a line names them: `; *** IR Dump After GVNPass on f ***`,
/// `*** IR Dump After Expand Atomic instructions (atomic-expand) *** (function: f)`,
/// `# *** IR Dump After Machine code sinking (machine-sink) ***:`, `*** IR Dump After GVNPass on f omitted because no change ***`
/// or `*** IR Pass PassManager<Function> on f ignored ***`.
fn head(line: &str) -> Option<Head<'_>> {
    let machine = line.starts_with('#');
    let rest = line.trim_start_matches(['#', ';', ' ']).strip_prefix("*** IR ")?;
    if rest.starts_with("Dump At Start") {
        return Some(Head { pass: START, on: "", machine: false, opens: true });
    }
    let (behind, opens) = match rest.strip_prefix("Dump After ") {
        Some(behind) => (behind, true),
        None => (rest.split_once(' ')?.1, false),
    };
    let (name, behind) = behind.rsplit_once("***").unwrap_or((behind, ""));
    let name = name.trim();
    let idle = NOTHING.iter().find_map(|said| name.strip_suffix(said));
    let (name, opens) = (idle.unwrap_or(name), opens && idle.is_none());
    if let Some((pass, on)) = name.split_once(" on ") {
        return Some(Head { pass, on: on.trim_end_matches(" (invalidated)"), machine, opens });
    }
    let on = behind.trim().strip_prefix("(function: ").map_or("", |on| on.trim_end_matches(')'));
    Some(Head { pass: name, on, machine, opens })
}

/// What compilers say of a pass of which they print no code.
const NOTHING: [&str; 3] = [" omitted because no change", " ignored", " filtered out"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_head_is_read() {
        for (line, expected) in [
            ("; *** IR Dump After GVNPass on f ***", ("GVNPass", "f", false)),
            ("; *** IR Dump After InlinerPass on (f) ***", ("InlinerPass", "(f)", false)),
            (
                "*** IR Dump After Expand Atomic instructions (atomic-expand) *** (function: f)",
                ("Expand Atomic instructions (atomic-expand)", "f", false),
            ),
            (
                "# *** IR Dump After Machine code sinking (machine-sink) ***:",
                ("Machine code sinking (machine-sink)", "", true),
            ),
            (
                "*** IR Dump After Module Verifier (verify) ***",
                ("Module Verifier (verify)", "", false),
            ),
        ] {
            let (pass, on, machine) = expected;
            assert_eq!(head(line), Some(Head { pass, on, machine, opens: true }), "{line}");
        }
        let start = Head { pass: START, on: "", machine: false, opens: true };
        assert_eq!(head("*** IR Dump At Start ***"), Some(start));
        assert_eq!(head("; *** something else ***"), None);
        for (line, pass, on) in [
            ("*** IR Pass PassManager<Function> on f ignored ***", "PassManager<Function>", "f"),
            ("*** IR Dump After GVNPass on f omitted because no change ***", "GVNPass", "f"),
            ("*** IR Dump After ADCEPass on f filtered out ***", "ADCEPass", "f"),
        ] {
            assert_eq!(head(line), Some(Head { pass, on, machine: false, opens: false }), "{line}");
        }
    }

    #[test]
    fn files_of_gcc_say_which_pass_they_are_of() {
        for (name, expected) in [
            ("test.c.253r.expand", Some((253, true, "expand".to_string()))),
            ("test.c.005t.original", Some((5, false, "original".to_string()))),
            ("test.cpp.031t.einline", Some((31, false, "einline".to_string()))),
            ("test.c.000i.cgraph", None),
            ("test.c", None),
            ("test.o", None),
        ] {
            assert_eq!(of_file(name), expected, "{name}");
        }
    }

    #[test]
    fn dumps_end_where_the_next_begins() {
        let printed = "; *** IR Dump After A on f ***\none\n; *** IR Dump After B on f ***\n\
                       # *** IR Dump After C ***:\ntwo\nthree\n";
        let dumps = list(printed);
        let texts: Vec<_> = dumps.iter().map(|d| (d.pass, d.text)).collect();
        assert_eq!(texts, [("A", "one\n"), ("C", "two\nthree\n")]);
    }

    #[test]
    fn lines_about_passes_that_changed_nothing_are_no_code() {
        let printed = "*** IR Dump At Start ***\none\n*** IR Dump After A on f omitted because no change ***\n\
                       *** IR Dump After B on f ***\ntwo\n*** IR Pass C on f ignored ***\n\
                       *** IR Dump After D (d) on f ***\n# Machine code for function f:\n";
        let dumps = list(printed);
        let told: Vec<_> = dumps.iter().map(|d| (d.pass, d.machine, d.text)).collect();
        let machine = "# Machine code for function f:\n";
        assert_eq!(
            told,
            [(START, false, "one\n"), ("B", false, "two\n"), ("D (d)", true, machine)]
        );
        let passes: Vec<_> = super::told(printed).iter().map(|d| (d.pass, d.text.len())).collect();
        assert_eq!(passes, [(START, 4), ("A", 0), ("B", 4), ("C", 0), ("D (d)", machine.len())]);
    }
}
