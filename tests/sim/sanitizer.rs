//! Expressions by chance, and what a compiler's sanitizer for undefined behaviour says of them when they run:
//! which are undefined, and the values of the others.

use std::fmt::Write;
use std::process::Command;

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::generate::axes::Random;
use litmake::litmus;
use litmake::sim::{Model, Options, Simulator};

const COUNT: usize = 3000;

/// The parameters of every function: pointers to one object of each type.
const OBJECTS: [(&str, &str, u32); 11] = [
    ("a", "int8_t", 8),
    ("b", "uint8_t", 8),
    ("c", "int16_t", 16),
    ("d", "uint16_t", 16),
    ("e", "int32_t", 32),
    ("f", "uint32_t", 32),
    ("g", "int64_t", 64),
    ("h", "uint64_t", 64),
    ("s", "float", 0),
    ("t", "double", 0),
    ("zero", "int8_t", 8),
];

const INTEGERS: usize = 8;

fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

/// A value at or near the ends of a type, where arithmetic goes wrong.
fn integer(random: &mut Random, bits: u32, signed: bool) -> i128 {
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let near = random.below(4) as i128;
    match random.below(6) {
        0 => least + near,
        1 => most - near,
        2 => near,
        3 if signed => -near,
        4 => 1i128 << random.below(bits as usize - 1),
        _ => i128::from(random.number()).rem_euclid(most + 1),
    }
}

/// Of floating point: numbers that fit integers of some width, or just do not.
fn float(random: &mut Random) -> String {
    let power =
        one(random, &["127", "128", "255", "256", "32767", "65536", "2147483647", "2147483648"]);
    let large = ["4294967296", "9223372036854775808", "18446744073709551616"];
    let number = if random.below(3) == 0 { one(random, &large) } else { power };
    let sign = one(random, &["", "-"]);
    format!("{sign}{number}.{}", one(random, &["0", "5", "75"]))
}

fn expression(random: &mut Random, depth: u32) -> String {
    if depth == 0 || random.below(6) == 0 {
        return match random.below(4) {
            0 => {
                let count = ["0", "1", "2", "7", "15", "31", "32", "63", "64"];
                let near = ["127", "2147483647", "4294967295", "9223372036854775807", "1073741824"];
                let number =
                    if random.below(2) == 0 { one(random, &count) } else { one(random, &near) };
                // The compiler's sanitizer does not look at conditions that are constant.
                format!("({number}{} + *zero)", one(random, &["", "", "u", "l", "ul"]))
            }
            _ => format!("*{}", OBJECTS[random.below(INTEGERS)].0),
        };
    }
    let mut next = || expression(random, depth - 1);
    let (x, y, z) = (next(), next(), next());
    match random.below(12) {
        0 => format!("({}({x}))", one(random, &["-", "~", "!", "+"])),
        1 | 2 => format!("(({})({x}))", OBJECTS[random.below(INTEGERS)].1),
        3 => format!("(({x}) ? ({y}) : ({z}))"),
        4 => format!("(({x}) {} ({y}))", one(random, &["&&", "||", "<", "==", ">="])),
        // It takes a count for one of the type that is shifted.
        5 => format!("(({x}) {} (int)({y}))", one(random, &["<<", ">>"])),
        6 => format!("(({x}) {} {})", one(random, &["<<", ">>"]), random.below(66)),
        7 => format!("(({x}) {} ({y}))", one(random, &["/", "%"])),
        8 => format!("(({})*{})", OBJECTS[random.below(INTEGERS)].1, one(random, &["s", "t"])),
        9 => format!("(({x}) {} ({y}))", one(random, &["&", "|", "^"])),
        _ => format!("(({x}) {} ({y}))", one(random, &["+", "-", "*"])),
    }
}

/// Code that gives `r` a value.
fn body(random: &mut Random) -> String {
    let (e, f) = (expression(random, 3), expression(random, 1));
    let ty = OBJECTS[random.below(INTEGERS)].1;
    match random.below(4) {
        0 => {
            let op = one(random, &["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "^="]);
            format!("{ty} v = {e}; v {op} (int)({f}); r = v;")
        }
        1 => format!("{ty} v = {e}; {} r = v;", one(random, &["v++;", "v--;", "++v;", "--v;"])),
        2 => format!("if ({f}) {{ r = {e}; }}"),
        _ => format!("r = {e};"),
    }
}

struct Case {
    /// The initial values, in the order of the objects.
    values: Vec<String>,
    body: String,
}

fn case(random: &mut Random) -> Case {
    let values = OBJECTS.iter().map(|(name, ty, bits)| match bits {
        _ if *name == "zero" => "0".to_string(),
        0 => float(random),
        bits => integer(random, *bits, ty.starts_with('i')).to_string(),
    });
    Case { values: values.collect(), body: body(random) }
}

fn parameters() -> String {
    OBJECTS.map(|(name, ty, _)| format!("{ty} *{name}")).join(", ")
}

/// What the program says of each case: `r`, or that it stopped.
fn run(compiler: &str, cases: &[Case]) -> Vec<Option<i64>> {
    let mut code = String::from(
        "#include <setjmp.h>\n#include <signal.h>\n#include <stdint.h>\n#include <stdio.h>\n\
         static sigjmp_buf back;\nstatic void stop(int s) { siglongjmp(back, s); }\n",
    );
    let parameters = parameters();
    for (n, case) in cases.iter().enumerate() {
        let _ = writeln!(
            code,
            "static int64_t f{n}({parameters}) {{ int64_t r = 0; {} return r; }}",
            case.body
        );
    }
    code +=
        "int main(void) {\n  signal(SIGILL, stop); signal(SIGTRAP, stop); signal(SIGFPE, stop);\n";
    for (n, case) in cases.iter().enumerate() {
        code += "  {";
        for ((name, ty, bits), value) in OBJECTS.iter().zip(&case.values) {
            let (bits, sign) = if ty.starts_with('u') { (*bits, "u") } else { (*bits, "") };
            // The least number has no constant of its own.
            let value = match (bits, value.strip_prefix('-')) {
                (0, _) => value.clone(),
                (_, Some("9223372036854775808")) => "-9223372036854775807 - 1".into(),
                _ => format!("{value}{sign}"),
            };
            let _ = write!(code, " {ty} {name} = {value};");
        }
        let args = OBJECTS.map(|(name, ..)| format!("&{name}")).join(", ");
        let _ = writeln!(
            code,
            " if (sigsetjmp(back, 1)) puts(\"-\"); else printf(\"%lld\\n\", (long long)f{n}({args})); }}"
        );
    }
    code += "  return 0;\n}\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("t.c"), &code).expect("the code");
    let made = Command::new(compiler)
        .args(["-std=gnu11", "-O0", "-w", "-fsanitize-trap=all"])
        .arg("-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow")
        .args([path("t.c"), "-o".into(), path("t")])
        .output()
        .expect("a compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let said = Command::new(path("t")).output().expect("a program");
    assert!(said.status.success(), "{:?}", said.status);
    let lines = String::from_utf8(said.stdout).expect("text");
    lines.lines().map(|line| line.parse().ok()).collect()
}

/// What litmake says.
fn simulated(model: &Model, case: &Case) -> Option<i64> {
    let init =
        OBJECTS.iter().zip(&case.values).map(|((name, ty, _), v)| format!("{ty} {name} = {v};"));
    let text = format!(
        "C t
{{ {} }}
P0({}) {{ int64_t r = 0; {} }}
exists (0:r=0)
",
        init.collect::<Vec<_>>().join(" "),
        parameters(),
        case.body
    );
    let test = litmus::read(&Source::new("t.litmus", text)).unwrap_or_else(|e| panic!("{e}"));
    let outcomes = Simulator::default().simulate(&test, model, &Options::default());
    let outcomes = outcomes.unwrap_or_else(|e| panic!("{e}\n{}", case.body));
    assert_eq!(outcomes.states.len(), 1, "{}", case.body);
    let state = outcomes.states.iter().next().expect("a state");
    let (_, value) = &state[0];
    (!outcomes.undefined).then(|| value.parse().expect("a number"))
}

#[test]
fn a_sanitizer_agrees_on_what_is_undefined() {
    let compiler = "clang-16";
    if !litmake_needs::here(compiler) {
        return;
    }
    let mut random = Random::new(24);
    let cases: Vec<Case> = (0..COUNT).map(|_| case(&mut random)).collect();
    let wanted = run(compiler, &cases);
    assert_eq!(wanted.len(), cases.len());
    let plan = cat::load("rc11", &LoadOptions::new(litmus::Arch::C)).expect("a model");
    let model = Model::load(&plan).expect("a model");
    let mut wrong = Vec::new();
    for (case, want) in cases.iter().zip(&wanted) {
        let got = simulated(&model, case);
        if got != *want {
            let values =
                OBJECTS.iter().zip(&case.values).map(|((name, ..), v)| format!("{name}={v}"));
            let values = values.collect::<Vec<_>>().join(" ");
            wrong.push(format!(
                "{}\n  {values}\n  {compiler}: {want:?}, litmake: {got:?}",
                case.body
            ));
        }
    }
    let undefined = wanted.iter().filter(|w| w.is_none()).count();
    assert!(wrong.is_empty(), "{} of {COUNT} differ:\n{}", wrong.len(), wrong.join("\n"));
    // Both are seen often.
    assert!((COUNT / 5..COUNT * 4 / 5).contains(&undefined), "{undefined}");
}
