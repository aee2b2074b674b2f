//! Makes compilers print the code after each pass, and splits the output into dumps.
//!
//! A compiler runs as for lifting, with flags that make it print. This module does not know what
//! code means, nor which pass is to blame.

use std::cell::RefCell;
use std::path::Path;

use super::bench::Bench;
use super::compile::{Compiler, Frame};
use super::process::{self, Ended, Request};
use litmake_base::failure::Failure;
use litmake_base::file;
use litmake_lang::Language;
use litmake_litmus::Test;

/// The code after a pass, or before all passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump<'a> {
    /// The compiler's name of the pass, without what it ran on.
    pub pass: &'a str,
    /// The name of the code that the pass ran on: a function, a loop, or everything.
    pub on: &'a str,
    /// Whether it is machine code of one function; otherwise it is a whole module.
    pub machine: bool,
    /// The code.
    pub text: &'a str,
}

/// The code after a pass of gcc, which writes a file for each pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of the pass.
    pub number: u32,
    /// gcc's name of the pass.
    pub pass: String,
    /// Whether the code is RTL; otherwise it is trees.
    pub rtl: bool,
    /// The content of the file, with all functions.
    pub text: String,
}

/// Makes gcc write the code after each pass on trees and on RTL.
const WRITE: [&str; 2] = ["-fdump-tree-all", "-fdump-rtl-all"];

/// The file in a compilation's folder that receives the compiler's output.
const FILE: &str = "dumps.txt";

/// The largest size of a dump that is read.
const MOST: u64 = 256 << 20;

/// Makes LLVM print whole modules.
const WHOLE: [&str; 2] = ["-mllvm", "-print-module-scope"];

/// Makes LLVM print after each pass, intermediate and machine code.
const ALL: [&str; 2] = ["-mllvm", "-print-after-all"];

/// Makes LLVM print the first code, the changes of each pass of the optimiser, and the code at two
/// points of code generation: where atomic operations are expanded, and after the last pass that
/// may move accesses before instruction selection. Printing after all passes takes much longer than
/// compiling, because LLVM writes a word at a time. No machine code is made, because newer versions
/// would print it, too.
const CHANGED: [&str; 6] = [
    "-mllvm",
    "-print-changed",
    "-mllvm",
    "-print-after=atomic-expand,codegenprepare",
    "-mllvm",
    "-stop-after=stack-protector",
];

/// The name of the pass for the first code that a compiler prints.
pub const START: &str = "";

/// Runs no pass of the optimiser, and prints once: after the first step of code generation, which
/// does not change the code of tests.
const NONE: [&str; 4] =
    ["-Xclang", "-disable-llvm-passes", "-mllvm", "-print-after=pre-isel-intrinsic-lowering"];

/// Skips no pass, and makes LLVM number the passes that may be skipped.
const NUMBERS: [&str; 2] = ["-mllvm", "-opt-bisect-limit=-1"];

impl Compiler<'_> {
    /// The output of the compilation of a test, pass by pass. Passes on functions that keep
    /// variables alive and that the test does not run are left out.
    pub fn dumps(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &ALL)
    }

    /// The first code, the code after each pass of the optimiser that changed it, and the code at
    /// two points of code generation.
    pub fn changes(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &CHANGED)
    }

    /// The same for several tests in one module, with different names. For a pass, only the
    /// function that it ran on is printed; the first code is the whole module.
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

    /// The frame of a test that is compiled alone.
    pub fn frame_of(&self, test: &Test) -> Result<Frame, Failure> {
        self.frame(&self.unit(test)?, 0)
    }

    /// The module as the front end makes it, before all passes.
    pub fn before_passes(&self, test: &Test) -> Result<(Frame, String), Failure> {
        let (frame, printed) = self.printed(test, &NONE)?;
        let first = list(&printed).into_iter().find(|d| !d.machine);
        let text = first.map(|d| d.text.to_string()).ok_or_else(|| {
            let name = &self.profile.compiler;
            Failure::unsupported(format!("{name} prints no code after its passes"))
        })?;
        Ok((frame, text))
    }

    /// LLVM's list of the passes that may be skipped, with their numbers.
    pub fn numbered(&self, test: &Test) -> Result<(Frame, String), Failure> {
        self.printed(test, &NUMBERS)
    }

    /// The files that gcc writes for a test, pass by pass.
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
            Language::Go => Err(Failure::unsupported("passes of Go's compiler")),
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
        // Code that is printed once is a module for other tools, and needs all declarations.
        let is_once = when == NONE || when == NUMBERS;
        let filter: &[&str] = if is_once { &[] } else { &["-mllvm", &only] };
        let extra = [&self.extra()[..], &WHOLE, when, filter].concat();
        Ok((frame, self.said(&extra, &text)?))
    }

    /// The text that the compiler prints to standard error about a source.
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

/// The number, the kind and the name of a file's pass: `test.c.253r.expand`.
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

/// Runs a program with its standard error in a file, because the output may be large.
pub fn printing(request: &Request) -> (Ended, String) {
    // The shell becomes the compiler, so that the limits on time and memory apply to the compiler.
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
    // A pass that removes its function prints nothing.
    out.retain(|d| !d.text.trim().is_empty());
    out
}

/// All passes that a compiler named, in order; `text` is empty for those without code.
pub fn told(printed: &str) -> Vec<Dump<'_>> {
    let mut out: Vec<Dump> = Vec::new();
    let mut at = 0;
    let mut open: Option<(Dump, usize)> = None;
    for line in printed.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(Head { pass, on, machine, opens }) = head(line.trim_end()) {
            // Some of these lines only say that a pass changed nothing. They end the code before
            // them, too.
            if let Some((dump, from)) = open.take() {
                out.push(Dump { text: &printed[from..at], ..dump });
            }
            let dump = Dump { pass, on, machine, text: "" };
            if opens { open = Some((dump, next)) } else { out.push(dump) }
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
    /// Whether code follows.
    opens: bool,
}

/// Reads a line that names a pass and what it ran on: `; *** IR Dump After GVNPass on f ***`, `***
/// IR Dump After Expand Atomic instructions (atomic-expand) *** (function: f)`, `# *** IR Dump
/// After Machine code sinking (machine-sink) ***:`, `*** IR Dump After GVNPass on f omitted because
/// no change ***` or `*** IR Pass PassManager<Function> on f ignored ***`.
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
    // The instruction selectors of all targets had one id, so that the short name may be another
    // target's: `AArch64 Instruction Selection (amdgpu-isel)`.
    let own = name.rsplit_once(" (").filter(|(_, short)| short.ends_with("-isel)"));
    let pass = own.map_or(name, |(own, _)| own);
    Some(Head { pass, on, machine, opens })
}

/// The words of compilers for a pass without printed code.
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
                "# *** IR Dump After AArch64 Instruction Selection (amdgpu-isel) ***:",
                ("AArch64 Instruction Selection", "", true),
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
