//! Writes tests as a folder of C that needs only a compiler and a shell, for machines without
//! litmake. The folder's program prints what `litmake cpu` prints.
//!
//! It does not know the machine on which the folder will run.

use std::fmt::Write;

use super::build::{HARNESS_C, HARNESS_H};
use super::emit;
use super::environment::Environment;
use super::log;
use super::session::Prepared;
use litmake_base::diag::{Diag, Result};
use litmake_lang::c11::emit::HEADER;
use litmake_litmus::log::LogEntry;
use litmake_litmus::{Arch, CmpOp, Quantifier};
use litmake_ops::{Val, mask};
use litmake_sim::program::{Cond, Rhs};
use litmake_sim::show;

const LOG_C: &str = include_str!("harness/log.c");
const RUN_SH: &str = include_str!("harness/run.sh");

/// The script that starts the run.
pub const START: &str = "run.sh";

/// The files of the folder, with their names.
pub fn files(
    tests: &[Prepared],
    environments: &[Environment],
    seconds: f64,
) -> Result<Vec<(&'static str, String)>> {
    let Some(first) = tests.first() else {
        return Err(Diag::new("there is no test to write"));
    };
    let mut driver = emit::DRIVER_HEADER.to_string();
    let mut bodies = String::new();
    let mut states = String::new();
    for (n, test) in tests.iter().enumerate() {
        let (own, other) = (test.test.arch, first.test.arch);
        if !matches!(own, Arch::C | Arch::X86_64 | Arch::X86 | Arch::AArch64) {
            let message = format!("{}: a test of {}", test.test.name, own.name());
            return Err(
                Diag::new(message).help("C is written for tests of C, X86_64, X86 and AArch64")
            );
        }
        if own != other && !(is_x86(own) && is_x86(other)) {
            let message = format!(
                "{} is of {}, and {} of {}",
                test.test.name,
                own.name(),
                first.test.name,
                other.name()
            );
            return Err(Diag::new(message).help("a folder has tests of one dialect"));
        }
        let code = test.code(n)?;
        driver.push_str(&code.driver);
        bodies.push_str(code.bodies.strip_prefix(HEADER).unwrap_or(&code.bodies));
        states.push_str(&shown(test, n)?);
    }
    driver.push_str(&emit::table(tests.len()));
    let all: Vec<String> = (0..tests.len()).map(|n| format!("&s{n}")).collect();
    let _ = writeln!(
        states,
        "static const struct states *const all_states[] = {{{}}};\nenum {{ state_count = {} }};",
        all.join(", "),
        tests.len()
    );
    let lines: Vec<String> = environments.iter().map(Environment::line).collect();
    let run = RUN_SH
        .replace("@TESTS@", &tests.len().to_string())
        .replace("@ENVIRONMENTS@", &environments.len().to_string())
        .replace("@SECONDS@", &seconds.to_string());
    let mut out = vec![
        ("harness.h", HARNESS_H.to_string()),
        ("harness.c", HARNESS_C.to_string()),
        ("environment.h", Environment::header()),
        ("environments", lines.join("\n") + "\n"),
        ("tests.c", driver),
        ("states.h", states),
        ("log.c", LOG_C.to_string()),
        (START, run),
    ];
    if !bodies.is_empty() {
        out.push(("bodies.c", format!("{HEADER}{bodies}")));
    }
    Ok(out)
}

fn is_x86(arch: Arch) -> bool {
    matches!(arch, Arch::X86 | Arch::X86_64)
}

/// A text as a string of C.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}

/// The C tables and functions that show the outcomes of a test and evaluate its condition.
fn shown(test: &Prepared, n: usize) -> Result<String> {
    let Prepared { program, columns, .. } = test;
    let mut out = format!("// {}\n", test.test.name.replace(['\n', '\\'], " "));
    let mut rows = Vec::new();
    for (c, values) in columns.values.iter().enumerate() {
        let observed = &program.observed[c];
        if observed.bits > 64 {
            let message = format!("{}: `{}` has over 64 bits", test.test.name, observed.label);
            return Err(Diag::new(message).help("such tests are run by `litmake cpu` itself"));
        }
        let texts: Vec<String> =
            values.iter().map(|v| quoted(&show(program, *v, observed))).collect();
        let numbers: Vec<String> = values
            .iter()
            .map(|v| match v {
                Val::Int(n) => format!("{:#x}u", n & mask(observed.bits)),
                _ => "0".to_string(),
            })
            .collect();
        let kinds: Vec<String> =
            values.iter().map(|v| u32::from(matches!(v, Val::Int(_))).to_string()).collect();
        let _ = writeln!(out, "static const char *const s{n}_t{c}[] = {{{}}};", texts.join(", "));
        let _ = writeln!(out, "static const uint64_t s{n}_v{c}[] = {{{}}};", numbers.join(", "));
        let _ = writeln!(out, "static const uint32_t s{n}_k{c}[] = {{{}}};", kinds.join(", "));
        rows.push(format!(
            "{{{}, {}, {}, s{n}_t{c}, s{n}_v{c}, s{n}_k{c}}}",
            observed.bits,
            u32::from(observed.signed),
            values.len()
        ));
    }
    let mut parts = Vec::new();
    let mut shows = Vec::new();
    for s in &program.shown {
        let (label, array) = (quoted(&s.label), u32::from(s.array));
        shows.push(format!("{{{label}, {array}, {}, {}}}", parts.len(), s.parts.len()));
        parts.extend(s.parts.iter().map(usize::to_string));
    }
    // C has no empty lists.
    let list = |rows: &[String]| if rows.is_empty() { "0".to_string() } else { rows.join(", ") };
    let braced =
        |rows: &[String]| if rows.is_empty() { "{0}".to_string() } else { rows.join(", ") };
    let filter = program.filter.as_ref().map_or("1".to_string(), |f| truth(f, test, n));
    let entry = LogEntry::new(
        &test.test.name,
        test.test.condition.quantifier,
        log::condition(test),
        Vec::new(),
        (0, 0),
    );
    let quantifier = match test.test.condition.quantifier {
        Quantifier::Exists => "EXISTS",
        Quantifier::NotExists => "NOT_EXISTS",
        Quantifier::Forall => "FORALL",
    };
    let _ = write!(
        out,
        "static const struct column s{n}_columns[] = {{{}}};\n\
         static const struct shown s{n}_shows[] = {{{}}};\n\
         static const uint32_t s{n}_parts[] = {{{}}};\n\
         static int s{n}_kept(const struct outcome *o) {{ return {filter}; }}\n\
         static int s{n}_holds(const struct outcome *o) {{ return {}; }}\n\
         static const struct states s{n} = {{\n  {}, {}, {},\n  {quantifier}, {}, {}, s{n}_columns, s{n}_shows, \
         s{n}_parts, s{n}_kept, s{n}_holds,\n}};\n\n",
        braced(&rows),
        braced(&shows),
        list(&parts),
        truth(&program.condition, test, n),
        quoted(&entry.name),
        quoted(entry.kind.word()),
        quoted(&entry.condition),
        columns.values.len(),
        program.shown.len(),
    );
    Ok(out)
}

/// A proposition as C, with the result of [`litmake_sim::results::holds`].
fn truth(cond: &Cond, test: &Prepared, n: usize) -> String {
    let all = |list: &[Cond], with: &str, none: &str| match list.is_empty() {
        true => none.to_string(),
        false => {
            let parts: Vec<String> = list.iter().map(|c| truth(c, test, n)).collect();
            format!("({})", parts.join(with))
        }
    };
    match cond {
        Cond::Const(b) => u32::from(*b).to_string(),
        Cond::Not(c) => format!("!{}", truth(c, test, n)),
        Cond::And(list) => all(list, " && ", "1"),
        Cond::Or(list) => all(list, " || ", "0"),
        Cond::Cmp(column, op, rhs) => compared(*column, *op, rhs, test, n),
    }
}

fn compared(column: usize, op: CmpOp, rhs: &Rhs, test: &Prepared, n: usize) -> String {
    let observed = &test.program.observed;
    let Some(own) = observed.get(column) else { return "0".into() };
    let sign = |c: &str| match op {
        CmpOp::Eq => format!("{c} =="),
        CmpOp::Ne => format!("{c} !="),
        CmpOp::Lt => format!("{c} <"),
        CmpOp::Le => format!("{c} <="),
        CmpOp::Gt => format!("{c} >"),
        CmpOp::Ge => format!("{c} >="),
    };
    let how = if own.signed { "as_signed" } else { "as_unsigned" };
    let value = |c: usize| format!("{how}(o, {c}, {})", observed[c].bits);
    let unequal = u32::from(op == CmpOp::Ne);
    match rhs {
        Rhs::Val(Val::Int(value_of)) => {
            let bits = own.bits;
            let raw = value_of & mask(bits);
            let constant = match own.signed {
                true => format!("widen({raw:#x}u, {bits})"),
                false => format!("{raw:#x}u"),
            };
            let both = format!("{} {constant}", sign(&value(column)));
            format!("(number_is(o, {column}) ? {both} : {unequal})")
        }
        Rhs::Val(v) => {
            let number = test.columns.values[column].iter().position(|other| other == v);
            match (number, op) {
                (Some(k), CmpOp::Eq) => format!("(o->number[{column}] == {k})"),
                (Some(k), CmpOp::Ne) => format!("(o->number[{column}] != {k})"),
                (_, op) => u32::from(op == CmpOp::Ne).to_string(),
            }
        }
        Rhs::Observable(other) => {
            let both = format!("{} {}", sign(&value(column)), value(*other));
            let same = format!("same_address(s{n}_columns, o, {column}, {other})");
            let addresses = match op {
                CmpOp::Eq => same,
                CmpOp::Ne => format!("!{same}"),
                _ => "0".to_string(),
            };
            format!("(number_is(o, {column}) && number_is(o, {other}) ? {both} : {addresses})")
        }
    }
}
