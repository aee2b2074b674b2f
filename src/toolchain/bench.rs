//! Runs one compiler in one folder: a text goes in, an object file comes out. If a text is
//! rejected, it also finds out whether the headers of the target's library are missing.
//!
//! It does not know what the texts are.

use std::path::Path;
use std::time::Duration;

use super::compile::{Compiler, arguments, later, request, subcommands};
use super::kind::Kind;
use super::process::{self, Ended, Request};
use super::scratch::Scratch;
use super::trouble;
use litmake_base::failure::{Failure, Fault};
use litmake_lang::{Language, cpp};
use litmake_litmus::Arch;

/// A text that every compiler of C and C++ accepts.
pub const PLAIN: &str = "int plain;\n";

/// The file that naga writes.
const SPV: &str = "test.spv";

type Text<'t> = &'t dyn Fn(&str) -> Result<String, Failure>;

/// The function that runs a program.
pub type Run<'r> = &'r dyn Fn(&Request) -> Ended;

/// A folder in which a compiler is given texts, one after the other.
pub struct Bench<'a> {
    compiler: &'a Compiler<'a>,
    dir: Scratch,
    args: Vec<String>,
    /// The time limit for a text.
    timeout: Duration,
    run: Run<'a>,
    /// Whether the result must be an object file.
    is_read: bool,
}

impl<'a> Bench<'a> {
    /// A bench with these arguments in addition to the profile's own.
    pub fn new(
        compiler: &'a Compiler<'a>,
        extra: &[&str],
        timeout: Duration,
    ) -> Result<Bench<'a>, Failure> {
        let dir =
            Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
        let language = compiler.profile.language;
        let (mut ours, mut files): (Vec<&str>, Vec<&str>) = match language {
            Language::C | Language::Cpp | Language::OpenCl | Language::Kernel => {
                // Where the code is read as text, there are no object files.
                let text = matches!(compiler.profile.arch, Arch::Ptx | Arch::AmdGcn);
                let made = if text { "-S" } else { "-c" };
                (vec!["-w", "-fno-stack-protector"], vec![made, "-o", "test.o"])
            }
            // Functions that nobody calls are kept where units are linked later.
            Language::Cuda => match compiler.runtime.kind() {
                Kind::Clang => {
                    (vec!["-w", "--cuda-device-only", "-fgpu-rdc"], vec!["-S", "-o", "test.o"])
                }
                Kind::Other => (vec!["-w", "-rdc=true"], vec!["-ptx", "-o", "test.o"]),
            },
            Language::Glsl => (Vec::new(), vec!["-o", "test.o"]),
            // naga derives the format from the name of the output file, which comes last.
            Language::Wgsl => (Vec::new(), Vec::new()),
            // A command of the profile links it.
            Language::Go => (Vec::new(), vec!["-p", "main", "-o", "test.o"]),
            Language::Rust => (
                vec!["--edition=2021", "--crate-type=lib", "-Cpanic=abort", "-Ccodegen-units=1"],
                vec!["-Cdebuginfo=0", "--crate-name=test", "--emit=obj=test.o"],
            ),
        };
        let takes_options = !matches!(language, Language::Rust | Language::Cuda | Language::Go);
        if takes_options && language.shader().is_none() {
            ours.extend(extra);
        }
        let file = format!("test.{}", language.extension());
        files.push(&file);
        if language == Language::Wgsl {
            files.push(SPV);
        }
        let args = arguments(compiler.profile, &ours, &files);
        Ok(Bench { compiler, dir, args, timeout, run: &process::run, is_read: true })
    }

    /// The same bench, with another function that runs programs.
    pub fn by(self, run: Run<'a>) -> Bench<'a> {
        Bench { run, ..self }
    }

    /// The same bench, for a result that is not read and need not be an object file.
    pub fn unread(self) -> Bench<'a> {
        Bench { is_read: false, ..self }
    }

    /// The object code of a text. If the headers of the target's library are missing, the headers
    /// of the compiler and of litmake are used.
    pub fn emit(&self, text: Text) -> Result<Vec<u8>, Failure> {
        // Whatever the text, it includes headers that are known to be missing.
        if self.compiler.runtime.lacks_headers.get() == Some(&true) {
            return self.bare(text);
        }
        let made = self.hosted(text);
        match &made {
            Err(failure) if trouble::is_open(failure) && self.lacks_headers() => self.bare(text),
            _ => made,
        }
    }

    fn hosted(&self, text: Text) -> Result<Vec<u8>, Failure> {
        let text = text(self.compiler.profile.language.header())?;
        self.compile(&text, &self.args)
    }

    fn bare(&self, text: Text) -> Result<Vec<u8>, Failure> {
        let profile = self.compiler.profile;
        let header = match profile.language {
            Language::Cpp => cpp::BARE_HEADER,
            language => language.header(),
        };
        let text = text(header)?;
        let mut args = self.args.clone();
        args.insert(subcommands(profile), "-ffreestanding".to_string());
        self.compile(&text, &args)
    }

    /// Whether the headers of the target's library are missing: a text that only includes headers
    /// is rejected twice, and accepted with the compiler's own headers. The answer is stored only
    /// if the compiler's own headers are accepted.
    fn lacks_headers(&self) -> bool {
        let given = || self.args.iter().any(|a| a == "-ffreestanding");
        match self.compiler.profile.language {
            Language::Cuda
            | Language::Rust
            | Language::Go
            | Language::OpenCl
            | Language::Glsl
            | Language::Wgsl
            | Language::Kernel => return false,
            Language::C if given() => return false,
            Language::C | Language::Cpp => {}
        }
        let known = &self.compiler.runtime.lacks_headers;
        if let Some(known) = known.get() {
            return *known;
        }
        let headers: Text = &|header| Ok(format!("{header}{PLAIN}"));
        // A compiler that fails on its own headers is broken, or has none.
        if self.bare(headers).is_err() {
            return false;
        }
        let refused = || self.hosted(headers).is_err_and(|failure| trouble::is_open(&failure));
        match self.hosted(headers) {
            Ok(_) => *known.get_or_init(|| false),
            Err(failure) if trouble::is_open(&failure) && refused() => *known.get_or_init(|| true),
            Err(_) => false,
        }
    }

    fn compile(&self, text: &str, args: &[String]) -> Result<Vec<u8>, Failure> {
        let Compiler { profile, program, .. } = self.compiler;
        let file = format!("test.{}", profile.language.extension());
        let object = if profile.language == Language::Wgsl { SPV } else { "test.o" };
        self.dir
            .write(&file, text)
            .map_err(|e| Failure::machine(format!("the source cannot be written: {e}")))?;
        let mut bytes = self.step(&profile.compiler, program, args, object)?;
        let mut last = object.to_string();
        for (n, words) in later(profile).iter().enumerate() {
            let [command, rest @ ..] = &words[..] else { continue };
            let program = process::find(command).ok_or_else(|| {
                let what =
                    format!("`{command}` is not installed; `litmake doctor` says how to get it");
                Failure::broken(Fault::Missing, what)
            })?;
            let next = format!("test.{n}");
            let word = |word: &String| word.replace("{in}", &last).replace("{out}", &next);
            let args: Vec<String> = rest.iter().map(word).collect();
            bytes = self.step(command, &program, &args, &next)?;
            last = next;
        }
        match profile.arch {
            arch if arch.facts().text => Ok(bytes),
            _ if !self.is_read => Ok(bytes),
            _ => match object::File::parse(&*bytes) {
                Err(e) => {
                    let what = format!("wrote an object file that cannot be read: {e}");
                    Err(Failure::broken(Fault::Output, format!("{} {what}", profile.compiler)))
                }
                Ok(_) => Ok(bytes),
            },
        }
    }

    /// Runs one program, and returns the content of the file that it wrote.
    fn step(
        &self,
        name: &str,
        program: &Path,
        args: &[String],
        file: &str,
    ) -> Result<Vec<u8>, Failure> {
        // The file of an earlier text must not be mistaken for the result of this one.
        let _ = std::fs::remove_file(self.dir.path().join(file));
        let Compiler { profile, stop, .. } = self.compiler;
        let ended = (self.run)(&Request {
            timeout: self.timeout,
            ..request(profile, program, args, self.dir.path(), *stop)
        });
        trouble::judge(name, ended, self.timeout)?;
        self.dir
            .read(file)
            .map_err(|e| Failure::broken(Fault::Output, format!("{name} left no object file: {e}")))
    }
}
