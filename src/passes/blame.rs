//! Goes through the passes of one compilation, and finds the first after which the code allows an
//! outcome that its source forbids.
//!
//! Equal code is simulated once. It does not know how code becomes tests, nor how passes are run.

use serde::{Deserialize, Serialize};

use super::cross::{self, Opinion};
use super::ir;
use super::judge::{Court, Source, State, is_wrong};
use super::machine::{self, Change, Suspects};
use super::omit::{self, Rest};
use litmake_base::failure::Failure;
use litmake_litmus::{Arch, Body, Test};
use litmake_toolchain::compile::{Compiler, Frame};
use litmake_toolchain::dumps::{Dump, list};
use litmake_toolchain::kind::Kind;

/// The effects of a compilation's passes on a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Passes {
    /// The number of dumps of intermediate code, and the number of different ones that were
    /// simulated.
    pub dumps: usize,
    /// See `dumps`.
    pub simulated: usize,
    /// The first pass after which the code allows an outcome that the source forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guilty: Option<Guilty>,
    /// The first pass after which the code could not be read as a test, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The pass after which the model of intermediate code no longer applies, because the code
    /// contains instructions of the target, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowered: Option<Refused>,
    /// The effects of passes on machine code, if no intermediate code is wrong.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub machine: Option<Suspects>,
    /// The result of skipping passes, for the suspects on machine code.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub opinion: Option<Opinion>,
    /// Whether all intermediate code is understood and right: of the compilation whose machine code is looked at.
    #[serde(skip)]
    pub right_until_selection: bool,
    /// The results of leaving out passes one by one, up to the first without which the code is
    /// right.
    #[serde(skip)]
    pub omitted: Vec<Omitted>,
}

impl Passes {
    fn is_right(&self) -> bool {
        self.guilty.is_none() && self.refused.is_none() && self.lowered.is_none()
    }
}

/// A pass on machine code that was left out.
#[derive(Clone, Debug)]
pub struct Omitted {
    /// The change that it made to accesses.
    pub change: Change,
    /// The result without the pass, or why it cannot be left out.
    pub opinion: Result<omit::Opinion, String>,
}

/// Code that cannot be read as a test, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The pass after which that is so.
    pub pass: String,
    /// The reason, for people.
    pub why: String,
}

/// The pass to blame, with the code of the threads before and after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guilty {
    /// The compiler's name for the pass, or [`FRONT_END`] if the code is wrong before all passes.
    pub pass: String,
    /// The index of the pass among those that were dumped.
    pub number: usize,
    /// The function that it changed.
    pub function: String,
    /// The outcomes that it adds.
    pub outcomes: Vec<State>,
    /// The threads before the pass.
    pub before: String,
    /// The threads after the pass.
    pub after: String,
    /// The changed functions before the pass, as the compiler printed them.
    #[serde(skip)]
    pub dump_before: String,
    /// The changed functions after the pass, as the compiler printed them.
    #[serde(skip)]
    pub dump_after: String,
    /// Whether the code contains `undef`, which was taken to have one value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Whether the code has the target's constructs, which were taken to order as much as any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lowered: bool,
}

/// The name of the pass if the code is wrong before all passes.
pub const FRONT_END: &str = "the front end";

/// The code of a test before all passes, for compilers that can print it.
pub(crate) fn before_passes(compiler: &Compiler, test: &Test) -> Result<(Frame, String), Failure> {
    match compiler.runtime.kind() {
        Kind::Clang => Ok(compiler.before_passes(test)?),
        Kind::Other => Err(not_llvm(compiler)),
    }
}

pub(super) fn not_llvm(compiler: &Compiler) -> Failure {
    let name = &compiler.profile.compiler;
    Failure::unsupported(format!("the passes of {name}, which are not those of LLVM"))
}

/// Machine code that shows outcomes which its source forbids.
#[derive(Clone, Copy)]
pub struct Final<'a> {
    /// The machine.
    pub arch: Arch,
    /// The outcomes.
    pub shown: &'a [State],
}

/// Finds the pass to blame in the compilation of a test. `shown` are the final code's outcomes that
/// the source forbids, if known: the pass has to introduce one of these. `thread` is the one to
/// blame, if that is known: machine code of others is not looked at.
pub fn blame(
    compiler: &Compiler,
    test: &Test,
    court: &mut Court,
    shown: &[State],
    thread: Option<usize>,
) -> Result<Passes, Failure> {
    let source = court.source(test).map_err(Failure::from)?;
    let (frame, first) = before_passes(compiler, test)?;
    let (_, printed) = compiler.dumps(test)?;
    let dumps = list(&printed);
    let steps = steps(&first, &dumps);
    let points = points(test, &frame, &steps);
    let last = Final { arch: compiler.profile.arch, shown };
    let last = Some(&last).filter(|last| !last.shown.is_empty());
    let mut out = through(&frame, &points, court, &source, last);
    out.right_until_selection = out.is_right();
    if out.guilty.is_none() {
        out.machine = machine::suspects(&dumps, &frame, thread);
        // If the machine code is not known to be wrong, leaving out passes shows nothing.
        if let Some(machine) = out.machine.as_ref().filter(|_| !shown.is_empty()) {
            let asked = cross::Asked { test, source: &source, shown };
            // If no opinion can be had, the suspicion stays as it is.
            out.opinion = cross::opinion(compiler, &asked, court).ok();
            if let Some(Opinion::Names { pass, .. }) = &mut out.opinion
                && let Some(dump) =
                    dumps.iter().find(|d| d.machine && cross::is_called(d.pass, pass))
            {
                *pass = dump.pass.to_string();
            }
            let named = match &out.opinion {
                Some(Opinion::Names { pass, .. }) => pass.as_str(),
                _ => "",
            };
            out.omitted = omitted(compiler, &asked, court, machine, named);
        }
        // The passes that may be skipped are then innocent, so only the others are examined. Their
        // dumps are not those of the compilation that is reported.
        if out.opinion == Some(Opinion::Always) {
            with_least(&mut out, compiler, test, court, &source, (last, thread));
        }
    }
    Ok(out)
}

/// Examines the code where every pass is skipped that may be, which is wrong, too. Only the others can be at fault.
fn with_least(
    out: &mut Passes,
    compiler: &Compiler,
    test: &Test,
    court: &mut Court,
    source: &Source,
    (last, thread): (Option<&Final>, Option<usize>),
) {
    let profile = cross::limited(compiler.profile, 0);
    let least = Compiler { profile: &profile, ..*compiler };
    let Ok((frame, printed)) = least.dumps(test) else { return };
    let dumps = list(&printed);
    let mut machine = machine::suspects(&dumps, &frame, thread);
    for change in machine.iter_mut().flat_map(|m| &mut m.changes) {
        change.dump_before.clear();
        change.dump_after.clear();
    }
    out.machine = machine.or(out.machine.take());
    let Ok((_, first)) = before_passes(&least, test) else { return };
    let steps = steps(&first, &dumps);
    let seen = through(&frame, &points(test, &frame, &steps), court, source, last);
    out.right_until_selection = seen.is_right();
    out.guilty = seen.guilty.map(|mut guilty| {
        guilty.dump_before.clear();
        guilty.dump_after.clear();
        guilty
    });
}

/// Leaves out the passes that changed accesses, one by one, until the code is right: first the one
/// that a limit names.
fn omitted(
    compiler: &Compiler,
    asked: &cross::Asked,
    court: &mut Court,
    machine: &Suspects,
    named: &str,
) -> Vec<Omitted> {
    let rest = Rest::of(compiler);
    let mut out = Vec::new();
    for change in machine.by_suspicion(named).into_iter().take(omit::MOST) {
        let opinion = match &rest {
            Ok(rest) => rest.opinion(asked, court, change).map_err(|e| e.text()),
            Err(e) => Err(e.text()),
        };
        let is_enough = opinion == Ok(omit::Opinion::Right) || rest.is_err();
        out.push(Omitted { change: change.clone(), opinion });
        if is_enough {
            break;
        }
    }
    out
}

/// The intermediate code of a compilation, that of the front end first.
fn steps<'a>(first: &'a str, dumps: &[Dump<'a>]) -> Vec<Dump<'a>> {
    let front = Dump { pass: FRONT_END, on: "", machine: false, text: first };
    std::iter::once(front).chain(dumps.iter().copied()).collect()
}

/// The first pass after which an instruction can write to a location that the source only reads. It
/// need not write in any execution: a compare-exchange that fails still writes on some machines.
pub fn writer(compiler: &Compiler, test: &Test, place: &str) -> Result<Option<Guilty>, Failure> {
    let (frame, first) = before_passes(compiler, test)?;
    let (_, printed) = compiler.dumps(test)?;
    let dumps = list(&printed);
    let mut before: Option<(Test, &str)> = None;
    for (number, step) in steps(&first, &dumps).iter().enumerate().filter(|(_, d)| !d.machine) {
        let made = ir::test(test, &frame, step.text)?;
        if writes(&code(&made), place) {
            let old_text = before.as_ref().map_or("", |(_, text)| text);
            let (dump_before, dump_after) = changed(old_text, step.text);
            return Ok(Some(Guilty {
                pass: step.pass.to_string(),
                number,
                function: named(step.on, &frame),
                outcomes: Vec::new(),
                before: before.as_ref().map(|(test, _)| code(test)).unwrap_or_default(),
                after: code(&made),
                dump_before,
                dump_after,
                open: false,
                lowered: lowers(step.pass),
            }));
        }
        before = Some((made, step.text));
    }
    Ok(None)
}

/// Whether some instruction of intermediate code can write to a location. Its address is the last
/// operand of a store and the first of a read-modify-write.
fn writes(code: &str, place: &str) -> bool {
    let symbol = format!("@{place}");
    code.lines().any(|line| {
        let line = line.trim();
        let line = line.split_once(" = ").map_or(line, |(_, code)| code);
        let address = match line.split(' ').next() {
            Some("store") => line.rsplit(',').next(),
            Some("atomicrmw" | "cmpxchg") => line.split(',').next(),
            _ => None,
        };
        address.is_some_and(|a| a.split([' ', '(', ')']).any(|word| word == symbol))
    })
}

/// The code of a test after a pass.
pub struct Point<'a> {
    /// The index of the pass among those that were dumped.
    pub number: usize,
    /// The dump after the pass.
    pub dump: Dump<'a>,
    /// Whether the code is unchanged by the pass.
    pub repeats: bool,
    /// Makes the test of the code.
    pub made: Box<dyn Fn() -> Result<Test, String> + 'a>,
}

/// The points of all dumps of intermediate code, each of a whole module.
pub fn points<'a>(test: &'a Test, frame: &'a Frame, dumps: &[Dump<'a>]) -> Vec<Point<'a>> {
    let mut last = "";
    let code = dumps.iter().enumerate().filter(|(_, dump)| !dump.machine);
    code.map(|(number, dump)| {
        let text = dump.text;
        let repeats = std::mem::replace(&mut last, text) == text;
        Point { number, dump: *dump, repeats, made: Box::new(move || ir::test(test, frame, text)) }
    })
    .collect()
}

/// Finds the first point at which the code is wrong. Wrong code allows an outcome of the final code, if that is known.
pub fn through(
    frame: &Frame,
    points: &[Point],
    court: &mut Court,
    source: &Source,
    last: Option<&Final>,
) -> Passes {
    let shown = last.map_or(&[][..], |last| last.shown);
    let mut out = Passes::default();
    let simulated = court.simulated();
    let mut before: Option<Test> = None;
    let mut before_text = "";
    let mut lowered = false;
    for point in points {
        let (number, step) = (point.number, &point.dump);
        out.dumps += usize::from(number > 0);
        if point.repeats {
            continue;
        }
        let made = (point.made)();
        // From here on, fences and intrinsics stand for memory orders. The target's instructions
        // order at least as much, so code that forbids the outcome clears the passes before it, and
        // code that allows the outcome says nothing, unless it does so with the strongest orders, too.
        lowered |= lowers(step.pass) && is_lowered(before.as_ref(), made.as_ref());
        let found = made.and_then(|made| {
            let verdict = court.judge(source, &made)?;
            Ok((made, is_wrong(&verdict).then_some(verdict.positive)))
        });
        let pass = step.pass.to_string();
        match found {
            Err(why) if lowered => {
                out.lowered = Some(Refused { pass, why });
                break;
            }
            Ok((made, Some(outcomes)))
                if lowered
                    && is_shown(&outcomes, shown)
                    && !last.is_some_and(|last| is_lost(&made, court, source, last)) =>
            {
                let why = "its fences and intrinsics can mean more on the target".into();
                out.lowered = Some(Refused { pass, why });
                break;
            }
            Err(why) => {
                let refused = Refused { pass, why };
                out.refused.get_or_insert(refused);
            }
            Ok((made, Some(outcomes))) if is_shown(&outcomes, shown) => {
                let (dump_before, dump_after) = changed(before_text, step.text);
                out.guilty = Some(Guilty {
                    pass: step.pass.to_string(),
                    number,
                    function: named(step.on, frame),
                    outcomes,
                    before: before.as_ref().map(code).unwrap_or_default(),
                    after: code(&made),
                    dump_before,
                    dump_after,
                    open: made.info.iter().any(|(key, _)| key == ir::OPEN),
                    lowered,
                });
                break;
            }
            Ok((made, _)) => {
                before = Some(made);
                before_text = step.text;
            }
        }
    }
    out.simulated = court.simulated() - simulated;
    out
}

/// Whether code that was rewritten for a target allows an outcome of the final code even where each fence and each
/// intrinsic orders as much as any. It says nothing of machines that order accesses without either.
fn is_lost(made: &Test, court: &mut Court, source: &Source, last: &Final) -> bool {
    let verdict = match last.arch {
        Arch::X86 | Arch::X86_64 => return false,
        _ => court.judge(source, &ir::strongest(made)),
    };
    verdict.is_ok_and(|verdict| is_wrong(&verdict) && is_shown(&verdict.positive, last.shown))
}

/// The functions that differ between two modules.
fn changed(before: &str, after: &str) -> (String, String) {
    let (old, new) = (functions(before), functions(after));
    let only = |list: &[String], other: &[String]| {
        let own: Vec<&str> =
            list.iter().filter(|f| !other.contains(f)).map(String::as_str).collect();
        own.join("\n\n")
    };
    (only(&old, &new), only(&new, &old))
}

/// The functions of a module, each from `define` to its closing brace.
fn functions(module: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in module.lines() {
        if line.starts_with("define ") {
            out.push(String::new());
            open = true;
        }
        if let Some(function) = out.last_mut().filter(|_| open) {
            if !function.is_empty() {
                function.push('\n');
            }
            function.push_str(line);
        }
        open &= line != "}";
    }
    out
}

/// Whether a pass rewrites atomic instructions for the target.
fn lowers(pass: &str) -> bool {
    pass.contains("atomic-expand") || pass.starts_with("AtomicExpand")
}

/// Whether such a pass added fences, or intrinsics of the target.
fn is_lowered(before: Option<&Test>, after: Result<&Test, &String>) -> bool {
    let fences = |text: &str| text.matches(" fence ").count();
    let intrinsics = |text: &str| TARGETS.iter().any(|target| text.contains(target));
    match after {
        Err(_) => true,
        Ok(after) => {
            let after = code(after);
            let has_more = |before: &Test| fences(&after) > fences(&code(before));
            intrinsics(&after) || before.is_some_and(has_more)
        }
    }
}

/// The beginnings of the names of target intrinsics.
const TARGETS: &[&str] =
    &["@llvm.aarch64.", "@llvm.arm.", "@llvm.ppc.", "@llvm.riscv.", "@llvm.mips.", "@llvm.x86."];

/// The name of the code that a pass ran on, with functions replaced by the names of their threads.
pub(crate) fn named(on: &str, frame: &Frame) -> String {
    let mut on = on.to_string();
    for (thread, (function, _)) in frame.threads.iter().enumerate() {
        on = on.replace(function, &format!("P{thread}"));
    }
    on
}

/// Whether some of the outcomes are among those of the final code.
pub(crate) fn is_shown(outcomes: &[State], shown: &[State]) -> bool {
    let agrees = |a: &State, b: &State| a.iter().all(|(k, v)| b.get(k).is_none_or(|w| w == v));
    shown.is_empty() || outcomes.iter().any(|o| shown.iter().any(|s| agrees(o, s)))
}

/// The code of a test's threads, for people.
pub(crate) fn code(test: &Test) -> String {
    let mut out = String::new();
    for (i, body) in test.threads.iter().enumerate() {
        out.push_str(&format!("P{i}:\n"));
        if let Body::Asm(lines) = body {
            for line in lines {
                for label in &line.labels {
                    out.push_str(&format!("{label}:\n"));
                }
                if !line.text.is_empty() {
                    out.push_str(&format!("  {}\n", line.text));
                }
            }
        }
    }
    out
}

/// The code of a test before all passes, and its outcomes that the source forbids.
pub fn front_end(
    compiler: &Compiler,
    test: &Test,
    court: &mut Court,
) -> Result<(Test, Vec<State>), Failure> {
    let source = court.source(test).map_err(Failure::from)?;
    let (frame, text) = before_passes(compiler, test)?;
    let made = ir::test(test, &frame, &text)?;
    let verdict = court.judge(&source, &made)?;
    let wrong = if is_wrong(&verdict) { verdict.positive } else { Vec::new() };
    Ok((made, wrong))
}

#[cfg(test)]
mod tests {
    use super::writes;

    #[test]
    fn an_address_that_is_stored_is_not_written_to() {
        for (line, expected) in [
            ("%0 = cmpxchg ptr @k, i128 0, i128 0 seq_cst seq_cst", true),
            ("%0 = atomicrmw add i32* @k, i32 1 monotonic", true),
            ("store atomic i32 1, ptr @k release", true),
            ("store ptr @k, ptr @slot", false),
            ("%0 = load atomic i128, ptr @k seq_cst", false),
            ("%0 = cmpxchg ptr @other, ptr @k, ptr null seq_cst seq_cst", false),
        ] {
            assert_eq!(writes(line, "k"), expected, "{line}");
        }
    }
}
