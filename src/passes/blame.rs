//! Goes through the passes of one compilation, and finds the first after which the code allows what its
//! source forbids.
//!
//! Equal code is simulated once. It does not know how code becomes tests, nor how passes are run.

use serde::{Deserialize, Serialize};

use super::cross::{self, Opinion};
use super::ir;
use super::judge::{Court, Source, State, is_wrong};
use super::machine::{self, Change, Suspects};
use super::omit::{self, Rest};
use litmake_base::failure::Failure;
use litmake_litmus::{Body, Test};
use litmake_toolchain::compile::{Compiler, Frame};
use litmake_toolchain::dumps::{Dump, list};
use litmake_toolchain::kind::Kind;

/// What the passes of a compilation did to a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Passes {
    /// How many dumps there are of intermediate code, and how many different ones were simulated.
    pub dumps: usize,
    /// See `dumps`.
    pub simulated: usize,
    /// The first pass after which there is an outcome that the source forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guilty: Option<Guilty>,
    /// The first pass whose code was not understood, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// Where code that is the target's own cannot be measured any more by the model of intermediate code: the pass
    /// behind which that is so, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowered: Option<Refused>,
    /// Where no intermediate code is wrong: what the passes on machine code did.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub machine: Option<Suspects>,
    /// What skipping passes says of that.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub opinion: Option<Opinion>,
    /// What leaving out passes says, one after the other, up to one without which the code is right.
    #[serde(skip)]
    pub omitted: Vec<Omitted>,
}

/// A pass on machine code that was left out.
#[derive(Clone, Debug)]
pub struct Omitted {
    /// What it did to accesses.
    pub change: Change,
    /// What is known without it, or why that cannot be asked.
    pub opinion: Result<omit::Opinion, String>,
}

/// Code that is not followed, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The pass that made it.
    pub pass: String,
    /// What is not understood, for people.
    pub why: String,
}

/// A pass, with the code of the threads before and after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guilty {
    /// As the compiler calls it; [`FRONT_END`] where no pass had run.
    pub pass: String,
    /// Which pass it is, by order, of those that were dumped.
    pub number: usize,
    /// The function that it changed.
    pub function: String,
    /// The outcomes that it adds.
    pub outcomes: Vec<State>,
    /// The test of the code before the pass.
    pub before: String,
    /// The test of the code after it.
    pub after: String,
    /// The functions that it changed, as the compiler printed them.
    #[serde(skip)]
    pub dump_before: String,
    /// The same after the pass.
    #[serde(skip)]
    pub dump_after: String,
    /// Whether the code is open: `undef` is in it, of which one value was looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// What stands for the pass where the code is wrong before all passes.
pub const FRONT_END: &str = "the front end";

/// The code of a test before all passes, of a compiler that can print it.
pub(crate) fn before_passes(compiler: &Compiler, test: &Test) -> Result<(Frame, String), Failure> {
    match compiler.runtime.kind {
        Kind::Clang => Ok(compiler.before_passes(test)?),
        Kind::Other => Err(not_llvm(compiler)),
    }
}

pub(super) fn not_llvm(compiler: &Compiler) -> Failure {
    let name = &compiler.profile.compiler;
    Failure::unsupported(format!("the passes of {name}, which are not those of LLVM"))
}

/// The passes of the compilation of a test. `shown` are the outcomes that the code shows in the end
/// and the source forbids, where that is known: a pass is to blame for one of these.
pub fn blame(
    compiler: &Compiler,
    test: &Test,
    court: &mut Court,
    shown: &[State],
) -> Result<Passes, Failure> {
    let source = court.source(test).map_err(Failure::from)?;
    let (frame, first) = before_passes(compiler, test)?;
    let (_, printed) = compiler.dumps(test)?;
    let dumps = list(&printed);
    let steps = steps(&first, &dumps);
    let points = points(test, &frame, &steps);
    let mut out = through(&frame, &points, court, &source, shown);
    if out.guilty.is_none() {
        out.machine = machine::suspects(&dumps, &frame);
        // Where it is not known that the machine code is wrong, there is nothing to ask.
        if let Some(machine) = out.machine.as_ref().filter(|_| !shown.is_empty()) {
            // What cannot be asked leaves the suspicion as it is.
            let asked = cross::Asked { test, source: &source, shown };
            out.omitted = omitted(compiler, &asked, court, machine);
            out.opinion = cross::opinion(compiler, &asked, court).ok();
        }
        // Then passes that may be skipped are not needed for it, and those that ran all the same are looked at alone.
        if out.opinion == Some(Opinion::Always) {
            let profile = cross::limited(compiler.profile, 0);
            let least = Compiler { profile: &profile, ..*compiler };
            if let Ok((frame, printed)) = least.dumps(test) {
                out.machine = machine::suspects(&list(&printed), &frame).or(out.machine);
            }
        }
    }
    Ok(out)
}

/// Leaves out one pass after the other of those that changed accesses, until the code is right.
fn omitted(
    compiler: &Compiler,
    asked: &cross::Asked,
    court: &mut Court,
    machine: &Suspects,
) -> Vec<Omitted> {
    let rest = Rest::of(compiler);
    let mut out = Vec::new();
    for change in machine.by_suspicion().into_iter().take(omit::MOST) {
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

/// All intermediate code of a compilation, what the front end made first.
fn steps<'a>(first: &'a str, dumps: &[Dump<'a>]) -> Vec<Dump<'a>> {
    let front = Dump { pass: FRONT_END, on: "", machine: false, text: first };
    std::iter::once(front).chain(dumps.iter().copied()).collect()
}

/// The first pass after which the code has an instruction that writes to a location which the source only reads, whether or
/// not that write can happen: machines write with a compare-exchange that fails.
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
            }));
        }
        before = Some((made, step.text));
    }
    Ok(None)
}

/// Whether some instruction of intermediate code can write to a location, whose address is the last operand of a store and
/// the first one of what reads and writes.
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
    /// Which pass it is, by order, of those that were dumped.
    pub number: usize,
    /// What was printed.
    pub dump: Dump<'a>,
    /// Whether the code is that of the pass before.
    pub repeats: bool,
    /// Makes the test that the code is.
    pub made: Box<dyn Fn() -> Result<Test, String> + 'a>,
}

/// The intermediate code that dumps are of, each of a whole module.
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

/// The first of some steps after which the code is wrong.
pub fn through(
    frame: &Frame,
    points: &[Point],
    court: &mut Court,
    source: &Source,
    shown: &[State],
) -> Passes {
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
        // Fences and intrinsics stand for orders from there on. They mean at most what the target's instructions do, so
        // that code which forbids the outcome excludes its passes, and code which allows it says nothing.
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
            Ok((_, Some(outcomes))) if lowered && is_shown(&outcomes, shown) => {
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

/// The functions of two modules that are not the same in both.
fn changed(before: &str, after: &str) -> (String, String) {
    let (old, new) = (functions(before), functions(after));
    let only = |list: &[String], other: &[String]| {
        let own: Vec<&str> =
            list.iter().filter(|f| !other.contains(f)).map(String::as_str).collect();
        own.join("\n\n")
    };
    (only(&old, &new), only(&new, &old))
}

/// The functions of a module, each from `define` to the brace that closes it.
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

/// Whether a pass writes atomic instructions as the target has them.
fn lowers(pass: &str) -> bool {
    pass.contains("atomic-expand") || pass.starts_with("AtomicExpand")
}

/// Whether such a pass has put fences beside accesses, or what only the target knows.
fn is_lowered(before: Option<&Test>, after: Result<&Test, &String>) -> bool {
    let fences = |text: &str| text.matches(" fence ").count();
    let intrinsics = |text: &str| TARGETS.iter().any(|target| text.contains(target));
    match after {
        Err(_) => true,
        Ok(after) => {
            let after = code(after);
            let fewer = |before: &Test| fences(&after) > fences(&code(before));
            intrinsics(&after) || before.is_some_and(fewer)
        }
    }
}

/// The beginnings of the names of targets' own intrinsics.
const TARGETS: &[&str] =
    &["@llvm.aarch64.", "@llvm.arm.", "@llvm.ppc.", "@llvm.riscv.", "@llvm.mips.", "@llvm.x86."];

/// What a pass ran on, by the threads' own names.
pub(crate) fn named(on: &str, frame: &Frame) -> String {
    let mut on = on.to_string();
    for (thread, (function, _)) in frame.threads.iter().enumerate() {
        on = on.replace(function, &format!("P{thread}"));
    }
    on
}

/// Whether outcomes are among those that the code shows in the end.
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

/// A test's code without passes, and the outcomes that its source forbids.
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
