//! Runs single passes of `spirv-opt` on the module that the compiler made of a test, and checks
//! whether a pass adds outcomes.
//!
//! It does not know where tests come from, nor what passes do.

use std::fmt::Write;
use std::path::Path;

use super::alone::{Effect, Step};
use super::judge::Court;
use litmake_base::failure::Failure;
use litmake_base::stop::Stopping;
use litmake_litmus::Test;
use litmake_toolchain::compile::{Compiler, request};
use litmake_toolchain::process;
use litmake_toolchain::scratch::Scratch;
use litmake_toolchain::trouble;

/// Options that `spirv-opt --help` lists among its passes.
const NO_PASSES: [&str; 16] = [
    "before-hlsl-legalization",
    "help",
    "loop-peeling-threshold",
    "preserve-bindings",
    "preserve-spec-constants",
    "print-all",
    "relax-block-layout",
    "relax-logical-pointer",
    "relax-struct-store",
    "scalar-block-layout",
    "skip-block-layout",
    "skip-validation",
    "time-report",
    "validate-after-all",
    "version",
    "workgroup-scalar-block-layout",
];

/// Passes that need a number, with one that lets them act.
const NUMBERED: [(&str, &str); 3] =
    [("loop-fission", "1"), ("loop-fusion", "100"), ("loop-unroll-partial", "2")];

/// The programs that are used.
pub struct Tools<'a> {
    /// `spirv-opt`, which runs passes.
    pub opt: &'a Path,
    /// `spirv-as`, which assembles a module from text.
    pub assembler: &'a Path,
    /// `spirv-dis`, which disassembles a module.
    pub disassembler: &'a Path,
    /// `spirv-val`, which validates a module.
    pub validator: &'a Path,
    /// The request to stop that ends them.
    pub stop: &'a dyn Stopping,
}

/// The passes that `spirv-opt` lists and that need no number, in its order.
pub fn listed(help: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in help.lines() {
        // Options are indented by two spaces, and their descriptions by more.
        let Some(option) = line.strip_prefix("  --") else { continue };
        let name = option.split('[').next().unwrap_or("").trim();
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if is_name && !NO_PASSES.contains(&name) && !out.iter().any(|n| n == name) {
            out.push(name.to_string());
        }
    }
    out
}

/// The option for a pass: `O` and `Os` are its own selections.
fn option(pass: &str) -> String {
    match (pass, NUMBERED.iter().find(|(name, _)| *name == pass)) {
        ("O" | "Os", _) => format!("-{pass}"),
        (_, Some((_, number))) => format!("--{pass}={number}"),
        _ => format!("--{pass}"),
    }
}

/// The effect of each pass on the module that the compiler makes of a test.
pub fn run(
    compiler: &Compiler,
    tools: &Tools,
    passes: &[String],
    test: &Test,
    court: &mut Court,
) -> Result<Vec<Step>, Failure> {
    let (modules, text) = compiler.module(test)?;
    let before = modules.test(&text)?;
    let bench = Folder { compiler, tools, dir: folder()? };
    bench.write("module.txt", &text)?;
    // The names must stay, because passes depend on their order, and so must the version.
    let version = format!("spv{}", version(&text));
    let words =
        ["--preserve-numeric-ids", "--target-env", &version, "module.txt", "-o", "module.spv"];
    bench.step(tools.assembler, &words)?;
    let module = bench.read("module.spv")?;
    bench.passes(passes)?;
    let mut out = Vec::new();
    for (number, pass) in passes.iter().enumerate() {
        let effect = match bench.passed(number, &module) {
            Ok(None) => Effect::Nothing,
            Ok(Some(text)) => {
                let effect = match modules.test(&text) {
                    Ok(after) => court.step(&before, &after),
                    Err(e) => Effect::Refused { why: e.text() },
                };
                match effect {
                    Effect::Refused { why } => bench.invalid(number, why)?,
                    effect => effect,
                }
            }
            Err(e) if e.is_stopped() => return Err(e),
            Err(e) => Effect::Refused { why: format!("{pass}: {}", e.text()) },
        };
        out.push(Step { pass: pass.clone(), effect });
    }
    Ok(out)
}

fn folder() -> Result<Scratch, Failure> {
    Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))
}

/// A folder with a module.
struct Folder<'a> {
    compiler: &'a Compiler<'a>,
    tools: &'a Tools<'a>,
    dir: Scratch,
}

impl Folder<'_> {
    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.dir
            .write(name, text)
            .map_err(|e| Failure::machine(format!("the module cannot be written: {e}")))
    }

    /// Runs all passes, each on the module. A shell starts them, because starting each under a
    /// supervisor would take longer than most passes.
    fn passes(&self, passes: &[String]) -> Result<(), Failure> {
        let mut script = String::new();
        for (number, pass) in passes.iter().enumerate() {
            let option = option(pass);
            let _ = writeln!(
                script,
                "\"$0\" {option} module.spv -o {number}.spv 2>{number}.err; echo $? >{number}.status"
            );
        }
        let shell = process::find("sh").ok_or_else(|| Failure::machine("there is no `sh`"))?;
        let opt = self.tools.opt.to_string_lossy();
        self.step(&shell, &["-c", &script, &opt])
    }

    /// The module after a pass, as text; `None` if it is unchanged.
    fn passed(&self, number: usize, module: &[u8]) -> Result<Option<String>, Failure> {
        let text = |end: &str| {
            let bytes = self.read(&format!("{number}.{end}"))?;
            Ok::<_, Failure>(String::from_utf8_lossy(&bytes).trim().to_string())
        };
        match text("status")?.parse() {
            Ok(0) => {}
            // The status by which a shell reports that a signal ended a program.
            Ok(code @ 129..) => {
                let what = format!("it was ended by signal {}", code - 128);
                return Err(Failure::unsupported(what));
            }
            Ok(_) | Err(_) => {
                let said = text("err")?;
                let line = said.lines().next().unwrap_or("it said nothing");
                return Err(Failure::unsupported(format!("it failed: {}", anywhere(line))));
            }
        }
        let after = format!("{number}.spv");
        if same(module, &self.read(&after)?) {
            return Ok(None);
        }
        self.step(self.tools.disassembler, &["--raw-id", &after, "-o", "after.txt"])?;
        Ok(Some(String::from_utf8_lossy(&self.read("after.txt")?).into_owned()))
    }

    /// The effect of a pass whose result cannot be read. If the module was valid before and is not
    /// any more, the pass is to blame.
    fn invalid(&self, number: usize, why: String) -> Result<Effect, Failure> {
        let check = |module: &str| self.step(self.tools.validator, &[module]);
        match check(&format!("{number}.spv")) {
            Err(e) if e.is_stopped() => Err(e),
            Err(e) if trouble::is_open(&e) && check("module.spv").is_ok() => {
                Ok(Effect::Invalid { why: anywhere(&e.text()) })
            }
            _ => Ok(Effect::Refused { why }),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        self.dir.read(name).map_err(|e| Failure::unsupported(format!("there is no `{name}`: {e}")))
    }

    /// Runs a program.
    fn step(&self, program: &Path, words: &[&str]) -> Result<(), Failure> {
        let args: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        let profile = self.compiler.profile;
        let name = program.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
        let ended =
            process::run(&request(profile, program, &args, self.dir.path(), self.tools.stop));
        trouble::judge(&name, ended, profile.timeout)
    }
}

/// The version of SPIR-V in a comment of the module.
fn version(text: &str) -> &str {
    let version = text.lines().find_map(|line| line.strip_prefix("; Version: "));
    version.map_or("1.0", str::trim)
}

/// A message without its line and names, so that equal messages about two modules are equal.
fn anywhere(said: &str) -> String {
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = match words.split_once("error: line ") {
        Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, what)| what).to_string(),
        None => words,
    };
    if let Some(at) = out.find(" %") {
        out.truncate(at);
    }
    out
}

/// Whether two modules are equal apart from the generator and the bound of ids in the first five
/// words.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.get(20..) == b.get(20..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_read_off_the_help_and_options_are_not() {
        let help = "Options (in lexicographical order):\n  --ccp\n               Apply it.\n                \
            --inline-entry-points-exhaustive \\\n  --max-id-bound=<n>\n  --scalar-replacement[=<n>]\n  \
            --print-all\n  --set-spec-const-default-value \"<id>\"\n  -O\n  --ccp\n  -h, --help\n  --version\n";
        assert_eq!(listed(help), ["ccp", "scalar-replacement"]);
        assert_eq!(["O", "ccp", "loop-fusion"].map(option), ["-O", "--ccp", "--loop-fusion=100"]);
    }

    #[test]
    fn what_tools_say_is_the_same_of_all_modules() {
        let said =
            "error: line 47: Expected int scalar as operand: IAdd\n  %57 = OpIAdd %uint %101 %2\n";
        assert_eq!(anywhere(said), "Expected int scalar as operand: IAdd");
        assert_eq!(anywhere("cannot open"), "cannot open");
        assert_eq!(version("; SPIR-V\n; Version: 1.3\n; Generator: x"), "1.3");
    }

    #[test]
    fn who_wrote_a_module_is_no_difference() {
        let module = |generator: u8, last: u8| {
            let mut out = vec![0; 24];
            (out[8], out[23]) = (generator, last);
            out
        };
        assert!(same(&module(1, 7), &module(2, 7)));
        assert!(!same(&module(1, 7), &module(1, 8)));
        assert!(!same(&module(1, 7), &[module(1, 7), vec![0]].concat()));
    }
}
